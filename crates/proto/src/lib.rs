//! Sans-IO behaviour of one protocol entity at a time.
//!
//! Nothing here reads a clock, throws dice, opens a socket or starts a thread: time and randomness arrive in
//! [`gannet_machine::Context`], octets arrive in [`gannet_machine::frame::Frame`]s, and what is to be sent is given back. The same code
//! therefore serves the mobile and the network, the simulator and the real-time driver.
//!
//! Layers meet at the service access points of their specifications: one enum per SAP with request, indication,
//! response and confirm. An entity's state is plain data that can be serialised; frames that must be held (a
//! reassembly, a queue) live beside it, reached by index, so that a mobile can be moved without them. What acknowledged mode keeps
//! stands in memory of the node ([`gannet_machine::kept`]), and is serialised as octets.

// So that a harness of the tests in `tests/` serves those in here too.
#[cfg(test)]
extern crate self as gannet_proto;

pub mod about;
pub mod adaptation;
mod allowance;
pub mod auth;
pub mod bearer;
pub mod bssgp;
pub mod by_nsapi;
pub mod classifier;
pub mod few;
pub mod flow_rule;
pub mod forwarding;
pub mod gmm;
pub mod gsup;
pub mod gtp;
pub mod ipa_stream;
pub mod llc;
pub mod ns;
pub mod octet_queue;
pub mod reselection;
pub mod rlcmac;
pub mod rule_book;
pub mod several;
pub mod sm;
pub mod sndcp;
pub mod um;
pub mod user_plane;
