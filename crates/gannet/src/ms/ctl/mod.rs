//! `gannet ms ctl`: orders and questions to running mobiles over a UNIX socket.
//!
//! A client sends one line and reads the answer to its end:
//!
//! ```text
//! request    FORMAT SP MOBILE SP COMMAND LF      FORMAT is text or json, MOBILE a number from 1 or -
//! answer     STATUS LF what was asked for        STATUS is ok or error
//! ```
//!
//! The answer to `watch` has no end: it goes on with a line for each event.

mod client;
mod request;
mod service;

pub use client::{CtlArguments, run};
pub use service::{CtlService, News, open};

/// Octets of the longest request.
const REQUEST_MAX: usize = 1024;
