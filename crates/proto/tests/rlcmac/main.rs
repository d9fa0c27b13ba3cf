//! RLC/MAC end to end: a cell, its mobiles and the air between them, in virtual time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod mobile;
mod network;
mod several;
mod transfer;
mod world;
