//! Whatever a cell and its mobiles say to each other, in each coding scheme, against Wireshark: field by field, block by block.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code fails by panicking"
)]
#![allow(clippy::cast_possible_truncation, reason = "numbers of a test are small")]
#![allow(dead_code, reason = "the world has more than is asked of it here")]

#[path = "../../wire/tests/radio_fields/mod.rs"]
mod radio_fields;
#[path = "rlcmac/world.rs"]
mod world;

use gannet_machine::time::Duration;
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::tap::{Kind, Scope, Tap};
use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::gsmtap::UDP_PORT;
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::value::AckType;
use std::collections::BTreeMap;
use std::process::ExitCode;
use world::{PDCHS, Plan, World, octets};

const MOBILES: u32 = 4;

/// Traffic both ways over a channel that loses: blocks are sent again, polled and acknowledged. One half has access in two phases and
/// acknowledgements by access bursts.
fn blocks_of(scheme: CodingScheme) {
    let mut capture = Capture::new();
    let mut seen = Vec::new();
    for force_two_phase in [false, true] {
        let network = NetworkConfig { force_two_phase, ..NetworkConfig::new(PDCHS, scheme) };
        // A mobile that keeps its TBF without data sends dummy blocks.
        let extended_uplink = Duration::from_millis(if force_two_phase { 500 } else { 0 });
        let control_ack = if force_two_phase { AckType::AccessBursts } else { AckType::ControlBlock };
        let is_short = matches!(scheme, CodingScheme::Cs1 | CodingScheme::Cs3);
        let access_burst = if is_short { AccessBurst::Bits8 } else { AccessBurst::Bits11 };
        let options = CellOptions { extended_uplink, control_ack, access_burst, ..CellOptions::default() };
        let plan = Plan { mobiles: MOBILES, network, options, link: Link::with_rate(0.1), ..Plan::default() };
        let mut world = World::new(&plan);
        world.cell.set_tap(Some(Tap::new(Scope::Both, 871, Some(14))));
        for round in 0..4 {
            for mobile in 0..MOBILES {
                world.up(mobile, &octets(mobile + 100 * round, 500));
                world.down(mobile, &octets(50 + mobile + 100 * round, 900));
            }
            world.pass(Duration::from_secs(3));
            seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
        }
        world.settle();
        seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
    }
    for sighting in &seen {
        capture.add_udp(UDP_PORT, UDP_PORT, &sighting.datagram());
    }
    let read = radio_fields::compare(|fields| capture.dissect(&[], fields));
    assert_eq!(read.len(), seen.len());
    let mut kinds = BTreeMap::new();
    for (sighting, read) in seen.iter().zip(&read) {
        assert_eq!((&sighting.octets, sighting.gsmtap()), (&read.octets, read.header));
        if matches!(sighting.kind, Kind::DownlinkData | Kind::UplinkData) {
            assert_eq!(CodingScheme::of_block(read.octets.len()), Some(scheme));
        }
        *kinds.entry(sighting.kind).or_insert(0_u32) += 1;
    }
    let is_there = |kind: &Kind| *kind == Kind::Pch || kinds.contains_key(kind);
    assert!(Kind::ALL.iter().all(is_there), "every kind is there: {kinds:?}");
    let bursts =
        seen.iter().filter(|sighting| sighting.kind == Kind::UplinkControl && sighting.octets.len() <= 2);
    assert!(bursts.count() > 10, "acknowledgements by access bursts");
}

fn cs_1() {
    blocks_of(CodingScheme::Cs1);
}

fn cs_2() {
    blocks_of(CodingScheme::Cs2);
}

fn cs_3() {
    blocks_of(CodingScheme::Cs3);
}

fn cs_4() {
    blocks_of(CodingScheme::Cs4);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("blocks_of_cs_1_are_what_tshark_reads", &[Need::Tshark], cs_1),
        ("blocks_of_cs_2_are_what_tshark_reads", &[Need::Tshark], cs_2),
        ("blocks_of_cs_3_are_what_tshark_reads", &[Need::Tshark], cs_3),
        ("blocks_of_cs_4_are_what_tshark_reads", &[Need::Tshark], cs_4),
    ])
}
