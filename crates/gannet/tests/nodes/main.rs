//! The nodes as processes: command line and configuration, operation, and the whole chain in network namespaces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod bearers;
mod commands;
mod common;
mod debian;
mod edge;
mod edge_chapter;
mod edge_rings;
mod end_to_end;
mod gateway;
mod internet;
mod interop;
mod ip_sns;
mod ipv6;
mod laboratory;
mod link;
mod load;
mod memory;
mod mobile_station;
mod ms_chapter;
mod one_process;
mod operation;
mod osmocom;
mod radio;
#[path = "../../../wire/tests/radio_fields/mod.rs"]
mod radio_fields;
mod recording;
mod shaping;
mod statistics;
mod tracing;
mod transfers;
mod unsteady;
mod upkeep;
mod uplink;
mod user_plane;
mod virtual_um;

use std::process::ExitCode;

fn main() -> ExitCode {
    let of_nodes = [commands::CASES, end_to_end::CASES, operation::CASES];
    gannet_testkit::main(
        &[
            of_nodes.concat(),
            [
                bearers::CASES,
                debian::CASES,
                edge::CASES,
                gateway::CASES,
                edge_chapter::CASES,
                edge_rings::CASES,
                internet::CASES,
                interop::CASES,
                ip_sns::CASES,
                ipv6::CASES,
                laboratory::CASES,
                link::CASES,
                load::CASES,
                memory::CASES,
                mobile_station::CASES,
                ms_chapter::CASES,
                one_process::CASES,
                osmocom::CASES,
                radio::CASES,
                recording::CASES,
                shaping::CASES,
                statistics::CASES,
                tracing::CASES,
                transfers::CASES,
                unsteady::CASES,
                uplink::CASES,
                upkeep::CASES,
                user_plane::CASES,
                virtual_um::CASES,
            ]
            .concat(),
        ]
        .concat(),
    )
}
