//! The nodes as processes: command line and configuration, operation, and the whole chain in network namespaces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod commands;
mod common;
mod end_to_end;
mod load;
mod operation;

use std::process::ExitCode;

fn main() -> ExitCode {
    gannet_testkit::main(&[commands::CASES, end_to_end::CASES, load::CASES, operation::CASES].concat())
}
