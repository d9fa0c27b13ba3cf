//! Generator and sink of `gannet load`: what they make is what the formats ask for, and each defect is counted under its
//! name. What needs the kernel makes its own namespaces.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod acknowledged;
mod ciphered;
mod count;
mod ends;
mod forward;
mod frames;
mod order;
mod reflector;

use gannet_lab::load::traffic::{CellSpec, FlowSpec, Side, TrafficConfig};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need};
use std::net::Ipv4Addr;
use std::process::ExitCode;

const KERNEL: &[Need] = &[Need::NetAdmin, Need::That(gannet_demux::bpf::missing)];

const KERNEL_AND_TSHARK: &[Need] = &[Need::NetAdmin, Need::That(gannet_demux::bpf::missing), Need::Tshark];

const CASES: &[Case] = &[
    ("forward::each_destination_in_turn", KERNEL, forward::each_destination_in_turn),
    ("forward::what_a_router_changes", KERNEL, forward::what_a_router_changes),
    ("order::depends_on_the_seed_alone", &[], order::depends_on_the_seed_alone),
    ("order::is_fair", &[], order::is_fair),
    ("order::a_burst_has_users_in_random_order", &[], order::a_burst_has_users_in_random_order),
    ("frames::kernel_and_calendar_agree", KERNEL, frames::kernel_and_calendar_agree),
    ("frames::g_pdus_are_right", KERNEL, frames::g_pdus_are_right),
    ("frames::uplink_is_right", KERNEL, frames::uplink_is_right),
    ("frames::each_defect_has_its_counter", KERNEL, frames::each_defect_has_its_counter),
    (
        "frames::what_is_inside_the_window_is_counted_apart",
        KERNEL,
        frames::what_is_inside_the_window_is_counted_apart,
    ),
    ("frames::segments_are_put_together", KERNEL, frames::segments_are_put_together),
    ("frames::what_is_not_ours_passes", KERNEL, frames::what_is_not_ours_passes),
    ("ciphered::all_are_counted_and_some_are_read", KERNEL, ciphered::all_are_counted_and_some_are_read),
    ("ciphered::each_mark_of_some_is_read", KERNEL, ciphered::each_mark_of_some_is_read),
    (
        "ciphered::each_defect_of_what_is_read_has_its_counter",
        KERNEL,
        ciphered::each_defect_of_what_is_read_has_its_counter,
    ),
    ("ciphered::a_new_key_begins_anew", KERNEL, ciphered::a_new_key_begins_anew),
    ("ciphered::what_cannot_be_read_is_refused", &[], ciphered::what_cannot_be_read_is_refused),
    (
        "acknowledged::each_i_frame_is_delivered_and_answered",
        KERNEL,
        acknowledged::each_i_frame_is_delivered_and_answered,
    ),
    (
        "acknowledged::only_the_next_i_frame_is_delivered",
        KERNEL,
        acknowledged::only_the_next_i_frame_is_delivered,
    ),
    ("acknowledged::answers_may_come_later", KERNEL, acknowledged::answers_may_come_later),
    (
        "acknowledged::a_damaged_i_frame_does_not_count",
        KERNEL,
        acknowledged::a_damaged_i_frame_does_not_count,
    ),
    ("acknowledged::what_belongs_to_the_link", KERNEL, acknowledged::what_belongs_to_the_link),
    ("acknowledged::links_go_on_from_step_to_step", KERNEL, acknowledged::links_go_on_from_step_to_step),
    ("acknowledged::wireshark_agrees", KERNEL_AND_TSHARK, acknowledged::wireshark_agrees),
    (
        "acknowledged::what_cannot_be_answered_is_refused",
        &[],
        acknowledged::what_cannot_be_answered_is_refused,
    ),
    ("count::t_pdus_of_one_kind_alone", KERNEL, count::t_pdus_of_one_kind_alone),
    ("count::t_pdus_in_g_pdus_alone", KERNEL, count::t_pdus_in_g_pdus_alone),
    ("ends::both_directions_between_namespaces", KERNEL, ends::both_directions_between_namespaces),
];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}

const GN: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 98, 1, 1), Ipv4Addr::new(10, 98, 1, 2));
const GB: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 98, 2, 1), Ipv4Addr::new(10, 98, 2, 2));

/// Downlink flows, each in a cell of its own choice, of which there are four.
fn config(flows: u32, pps: f64) -> TrafficConfig {
    let side = |device: &str, (local, peer)| Side {
        device: device.to_owned(),
        local,
        peer,
        peer_mac: Some([2, 0, 0, 0, 0, 2]),
    };
    let mut config = TrafficConfig::new(side("gn0", GN), side("gb0", GB));
    config.cells = (0..4_u8)
        .map(|cell| CellSpec {
            bvci: 2 + u16::from(cell),
            port: 22_000,
            identifier: [0x00, 0xf1, 0x10, 0, 1, 1, 0, cell],
        })
        .collect();
    config.flows = (0..flows)
        .map(|user| {
            let address = Ipv4Addr::from_bits(0x0a00_0002 + user);
            FlowSpec::down(teid_of(user), tlli_of(user), user % 4, address, pps)
        })
        .collect();
    config
}

const fn teid_of(user: u32) -> u32 {
    0x0100_0000 + user
}

const fn tlli_of(user: u32) -> u32 {
    0xc000_0000 | user
}

/// Runs `body` on a thread of its own in a namespace with our two devices; their other ends are in another one.
fn between_namespaces(body: impl FnOnce(&Netns) + Send) {
    let (load, sgsn) = (Netns::new("load"), Netns::new("sgsn"));
    for (number, device, peer) in [(1, "gn0", "gn1"), (2, "gb0", "gb1")] {
        load.join((device, &format!("10.98.{number}.1/24")), &sgsn, (peer, &format!("10.98.{number}.2/24")));
    }
    enter_and(&load, || body(&sgsn));
}

fn enter_and(netns: &Netns, body: impl FnOnce() + Send) {
    let netns = gannet_rig::NetworkNamespace::named(netns.name()).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            netns.enter().unwrap();
            body();
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}
