//! What only a kernel can show: programs that load, maps that are shared, attachments that leave with their process.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
#[path = "../common/mod.rs"]
mod common;
mod edge;
mod exchange;
mod gateway;
mod leaving;
mod life;
mod loading;
mod rings;
mod sockets;
mod vectors;

use gannet_demux::bpf;
use gannet_testkit::{Case, Need};
use std::process::ExitCode;

/// Namespaces; and the right to load programs, a kernel that takes them, and a build with clang.
const KERNEL: &[Need] = &[Need::NetAdmin, Need::That(bpf::missing)];

const CASES: &[Case] = &[
    ("loading::maps_and_programs", KERNEL, loading::maps_and_programs),
    ("loading::errors_say_what_is_wrong", KERNEL, loading::errors_say_what_is_wrong),
    (
        "agreement::program_and_model_agree_on_a_million_frames",
        KERNEL,
        agreement::program_and_model_agree_on_a_million_frames,
    ),
    ("agreement::uplink_program_and_model_agree", KERNEL, agreement::uplink_program_and_model_agree),
    ("agreement::filter_and_model_agree", KERNEL, agreement::filter_and_model_agree),
    ("gateway::programs_and_model_agree", KERNEL, gateway::programs_and_model_agree),
    (
        "edge::what_the_kernel_would_forward_goes_to_the_ring",
        &[Need::NetAdmin, Need::That(bpf::missing), Need::Program("ethtool")],
        edge::what_the_kernel_would_forward_goes_to_the_ring,
    ),
    ("rings::uplink_arrives_by_ring", KERNEL, rings::uplink_arrives_by_ring),
    ("rings::downlink_arrives_by_ring", KERNEL, rings::downlink_arrives_by_ring),
    ("exchange::what_arrives_is_in_its_slot", KERNEL, exchange::what_arrives_is_in_its_slot),
    (
        "exchange::a_ring_takes_no_more_than_its_length",
        KERNEL,
        exchange::a_ring_takes_no_more_than_its_length,
    ),
    ("exchange::a_page_leaves_with_the_next_frame", KERNEL, exchange::a_page_leaves_with_the_next_frame),
    (
        "exchange::what_no_page_comes_for_is_taken_back",
        KERNEL,
        exchange::what_no_page_comes_for_is_taken_back,
    ),
    (
        "leaving::what_is_left_is_decided_as_by_the_program",
        KERNEL,
        leaving::what_is_left_is_decided_as_by_the_program,
    ),
    ("leaving::nothing_overtakes_where_it_begins", KERNEL, leaving::nothing_overtakes_where_it_begins),
    ("sockets::steered_by_ring", KERNEL, sockets::steered_by_ring),
    ("life::packets_instances_and_what_is_left", KERNEL, life::packets_instances_and_what_is_left),
    ("life::an_interface_comes_back", KERNEL, life::an_interface_comes_back),
    (
        "life::without_rights",
        &[Need::NetAdmin, Need::That(bpf::missing), Need::Program("setpriv")],
        life::without_rights,
    ),
    ("vectors::wireshark_reads_the_same", &[Need::Tshark], vectors::wireshark_reads_the_same),
    ("vectors::wireshark_reads_the_uplink", &[Need::Tshark], vectors::wireshark_reads_the_uplink),
];

fn main() -> ExitCode {
    life::child().unwrap_or_else(|| gannet_testkit::main(CASES))
}
