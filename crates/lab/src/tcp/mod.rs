//! TCP for virtual time: a sender and a receiver without clock and sockets.
//!
//! An [`Endpoint`] takes IP packets and gives IP packets, real octets with checksums, and says when it wants to be woken. So its
//! packets can cross simulated nodes as N-PDUs. [`config`] has the switches and the named profiles. [`path`] joins two ends by the
//! model of the link emulator.
//!
//! | RFC | what | where |
//! |---|---|---|
//! | 9293 | handshake, data, FIN, RST, zero window, R2 | `endpoint.rs`, `sender.rs`, `receiver.rs` |
//! | 5681, 6582 | slow start, congestion avoidance, fast retransmit and recovery | `sender.rs`, `window.rs` |
//! | 2018, 2883, 6675 | selective acknowledgements and recovery with them | `receiver.rs`, `board.rs`, `sender.rs` |
//! | 6298, 5682 | timeout, F-RTO | `timeout.rs`, `sender.rs` |
//! | 7323 | window scaling, timestamps, PAWS | `endpoint.rs` |
//! | 3042, 2861, 3522 | limited transmit, window validation, Eifel detection | `sender.rs`, `window.rs` |
//! | 1122 | delayed acknowledgements, Nagle's rule | `receiver.rs`, `sender.rs` |
//! | 6937, 8985, 9438 | proportional rate reduction, RACK, Cubic: what a present-day Linux does | `window.rs`, `board.rs` |
//!
//! Not there: urgent data, keep-alive, a simultaneous open, ECN, tail loss probes, path MTU discovery.

mod board;
pub mod config;
mod endpoint;
pub mod path;
mod receiver;
mod record;
pub mod segment;
mod sender;
#[cfg(test)]
mod tests;
mod timeout;
mod window;

pub use endpoint::{Ending, Endpoint, Refused, State};
pub use record::{Point, Reason, Record};
pub use timeout::Timeout;
pub use window::Window;
