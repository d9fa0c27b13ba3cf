//! The RLC sublayer of one TBF against a slow, obvious model, over channels that lose blocks and reports, and against the blocks of
//! others.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers, or any octet will do")]

mod countdown;
mod model;
mod real;
mod segments;
mod transfer;
mod windows;
mod world;
