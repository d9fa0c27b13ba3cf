//! SNDCP of a mobile and of an SGSN over LLC, in acknowledged mode, in unacknowledged mode and in both, with and without
//! compression, over a path in virtual time that loses, doubles and damages.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod accounts;
mod harness;
mod links;
mod names;
mod rules;
mod tcp;
mod transfers;
mod windows;
