//! Drives nodes in virtual time: the same machines as in real time, over links that lose, double, delay and reorder.
//!
//! The same seed gives the same octets: events are ordered by time, then by the order of asking, and all dice come
//! from one seed.

pub mod driven;
pub mod gprs;
pub mod processor;
pub mod replay;

pub use gannet_machine::fabric::{link, queue};
