//! Conformance of GMM with 04.08 clause 4.7 [24.008], procedure by procedure and side by side: the normal case, the
//! abnormal cases that the clause lists, each timer. `docs/conformance.md` is the table of contents.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attach_mobile;
mod attach_network;
mod authentication_mobile;
mod authentication_network;
mod combined_mobile;
mod detach_by_mobile;
mod detach_by_network;
mod harness;
mod identification;
mod information;
mod paging;
mod ptmsi_reallocation;
mod routing_area_update_mobile;
mod routing_area_update_network;
mod status;
mod timers;
