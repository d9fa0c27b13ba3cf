//! Osmocom's control interface: lines of text in IPA messages, for programs that ask and set variables by name.
//!
//! `GET ID VARIABLE` is answered with `GET_REPLY ID VARIABLE VALUE`, `SET ID VARIABLE VALUE` with `SET_REPLY …`, and what
//! cannot be done with `ERROR ID REASON`. `TRAP 0 VARIABLE VALUE` is what a server says of itself. [`Message`] is one line;
//! [`Control`] what a node answers; [`Dialogue`] one connection.
//!
//! Variables: `rate_ctr.(abs|per_sec|per_min|per_hour|per_day).GROUP.INDEX[.NAME]` for the counters and
//! `stat_item.last.GROUP.INDEX.NAME` for the gauges of [`crate::metrics`], and those of the element. What Osmocom's servers
//! answer to what they do not know is answered here in the same words.

mod dialogue;
mod message;
mod variables;

pub use dialogue::{Dialogue, LIMITS};
pub use message::{Malformed, Message};
pub use variables::Query;

use crate::metrics::{Rates, Source};

/// Osmocom's extension of IPA for this.
pub const EXTENSION: u8 = 0x00;
/// What is answered for a variable that nobody knows.
pub const UNKNOWN: &str = "Command not found";
/// What is answered to who would set what can only be read.
pub const READ_ONLY: &str = "Read Only attribute";

/// A node as the control interface asks it.
pub trait Control: Source {
    /// A variable of the element; `None` where it has none of that name.
    ///
    /// # Errors
    /// The reason that is answered.
    fn get(&mut self, variable: &str) -> Option<Result<String, String>>;

    /// The rates of the node's counters.
    fn rates(&self) -> &Rates;

    /// What the element says of itself, to all who are connected: variables with their values. What was given is gone.
    fn traps(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
