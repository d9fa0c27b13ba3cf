//! The nodes as processes: command line and configuration, operation, and the whole chain in network namespaces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod commands;
mod common;
mod end_to_end;
mod ip_sns;
mod ipv6;
mod laboratory;
mod load;
mod operation;
mod osmo_auth;
mod osmo_bss;
mod statistics;
mod uplink;

use std::process::ExitCode;

fn main() -> ExitCode {
    let of_nodes = [commands::CASES, end_to_end::CASES, operation::CASES];
    gannet_testkit::main(
        &[
            of_nodes.concat(),
            [
                ip_sns::CASES,
                ipv6::CASES,
                laboratory::CASES,
                load::CASES,
                osmo_auth::CASES,
                osmo_bss::CASES,
                statistics::CASES,
                uplink::CASES,
            ]
            .concat(),
        ]
        .concat(),
    )
}
