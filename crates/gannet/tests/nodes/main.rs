//! The nodes as processes: command line and configuration, operation, and the whole chain in network namespaces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod commands;
mod common;
mod end_to_end;
mod laboratory;
mod load;
mod operation;
mod uplink;

use std::process::ExitCode;

fn main() -> ExitCode {
    let of_nodes = [commands::CASES, end_to_end::CASES, operation::CASES];
    gannet_testkit::main(
        &[of_nodes.concat(), [laboratory::CASES, load::CASES, uplink::CASES].concat()].concat(),
    )
}
