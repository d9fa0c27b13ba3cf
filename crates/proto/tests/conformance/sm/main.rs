//! Conformance of session management with 04.08 clause 6.1 [24.008]: a file for each procedure, with its normal case, each
//! abnormal case that the clause lists, and each timer's expiry and repeats, for network and mobile.
//!
//! `docs/conformance-sm.md` says which test shows which clause.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "test code fails by panicking"
)]

mod activation;
mod bench;
mod deactivation_by_mobile;
mod deactivation_by_network;
mod modification_by_mobile;
mod modification_by_network;
mod requested;
mod secondary;
mod status;
mod table;
