//! RLC/MAC end to end: a cell, its mobiles and the air between them, in virtual time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "numbers of a test are small")]

mod apart;
mod control_ack;
mod drain;
mod mobile;
mod network;
mod paging;
mod preemption;
mod several;
mod tap;
mod transfer;
mod world;
