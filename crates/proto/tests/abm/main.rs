//! Acknowledged mode of LLC (04.64 clauses 8.5 to 8.8 [44.064]): two ends over a bad path, and one end against a model of the
//! clauses.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod asking;
mod bad_path;
mod goodput;
mod model;
mod order;
mod pair;
mod procedures;
mod stalls;
