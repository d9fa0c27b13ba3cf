//! Captures of Gb that are made here: what is ciphered, compressed and on the way is followed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

mod ciphered;
mod compressed;
mod followed;
mod gb;
mod hostile;
mod procedures;
mod reselected;
