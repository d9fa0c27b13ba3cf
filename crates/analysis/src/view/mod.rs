//! What a person reads of a capture: what is in it, the way of one packet, a row for each record.

pub mod contents;
pub mod journey;
pub mod rows;
mod words;

pub use words::{kind, mobile, words};
