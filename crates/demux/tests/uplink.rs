//! The model of Gb by vectors.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the tests of Gn use more of it")]
mod common;

use common::frames::{self, OWN_V4, OWN_V6, PEER_V4};
use gannet_demux::model::{UplinkModel, Verdict};
use gannet_demux::{Classify, Config, Metadata, Ring, UplinkConfig};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Policer, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::{Bvci, Nsei, Tlli};
use std::net::SocketAddr;

const LOCAL: u32 = 0xc000_0011;
const FOREIGN: u32 = 0x8000_0011;
const RANDOM: u32 = 0x7800_0011;
const AUXILIARY: u32 = 0x7000_0011;
/// UI frames of SAPI 3 and SAPI 1.
const DATA: u8 = 0x03;
const GMM: u8 = 0x01;

fn config() -> UplinkConfig {
    let base =
        Config { addresses: vec![OWN_V4.into(), OWN_V6.into()], samples_per_s: 0, ..Config::default() };
    UplinkConfig { base, signalling_per_s: 10, signalling_at_once: 2, ..UplinkConfig::default() }
}

fn cell_key(tlli: u32) -> Key {
    Key::CellTlli { nsei: Nsei(7), bvci: Bvci(2), tlli: Tlli(tlli) }
}

fn rule(key: Key, name: u32) -> Rule {
    Rule { key, name, class: Class::RealTime, precedence: Precedence::High, policer: None, source: None }
}

fn peer(nsei: Option<Nsei>) -> RuleChange {
    RuleChange::Peer { address: SocketAddr::new(PEER_V4.into(), 12345), nsei }
}

fn model(config: UplinkConfig) -> UplinkModel {
    let mut model = UplinkModel::new(config).unwrap();
    model.apply(&peer(Some(Nsei(7)))).unwrap();
    for key in [Key::LocalTlli(Tlli(LOCAL)), cell_key(FOREIGN), cell_key(RANDOM)] {
        model.apply(&RuleChange::Install(rule(key, 9))).unwrap();
    }
    model
}

fn llc(address: u8) -> (u8, Vec<u8>) {
    (0x0e, [vec![address, 0xc0], vec![0x55; 148]].concat())
}

fn from(bvci: u16, tlli: u32, address: u8) -> Vec<u8> {
    frames::usual(23000, &frames::ul_unitdata(bvci, tlli, &[frames::cell(), (0x00, vec![]), llc(address)]))
}

fn ring(verdict: Verdict) -> Option<Class> {
    match verdict {
        Verdict::Redirect(metadata) => Some(metadata.class),
        Verdict::Pass | Verdict::Drop(_) => None,
    }
}

#[test]
fn a_mobile_is_known_by_each_of_its_names() {
    let mut model = model(config());
    for tlli in [LOCAL, FOREIGN, RANDOM] {
        // Ethernet, IPv4, UDP: 42. NS 4, BSSGP 8, cell 10, alignment 2, LLC-PDU with two octets of length 3.
        let expected = Metadata {
            name: 9,
            pdu_offset: 42,
            pdu_len: 4 + 8 + 10 + 2 + 3 + 150,
            class: Class::RealTime,
            precedence: Precedence::High,
            shard: 2,
            ring: Ring::RealTime,
            llc_offset: 42 + 27,
            llc_len: 150,
        };
        let frame = from(2, tlli, DATA);
        assert_eq!(model.classify(&frame, 2, 0), Verdict::Redirect(expected));
        // The parser of the node finds the same LL-PDU.
        let (header, range) = UlUnitdata::parse(&frame[46..]).unwrap();
        assert_eq!((header.tlli, range), (Tlli(tlli), 69 - 46..69 - 46 + 150));
    }
    // A local TLLI is the SGSN's own, wherever it comes from; the others are of one cell.
    assert_eq!(ring(model.classify(&from(3, LOCAL, DATA), 0, 0)), Some(Class::RealTime));
    for (bvci, tlli) in [(3, FOREIGN), (2, AUXILIARY), (2, LOCAL + 1), (2, 0x1234_5678)] {
        let verdict = model.classify(&from(bvci, tlli, DATA), 0, 0);
        assert_eq!(verdict, Verdict::Drop(Drop::DemuxUnknownTlli), "{bvci} {tlli:x}");
    }
    assert_eq!(model.totals().of(Drop::DemuxUnknownTlli), 4);
    // Its names go one by one, and the mobile with the last.
    model.apply(&RuleChange::Remove(cell_key(FOREIGN))).unwrap();
    model.apply(&RuleChange::Remove(cell_key(RANDOM))).unwrap();
    assert_eq!(ring(model.classify(&from(2, LOCAL, DATA), 0, 0)), Some(Class::RealTime));
    assert!(model.of_flow(9).is_some());
    model.apply(&RuleChange::Remove(Key::LocalTlli(Tlli(LOCAL)))).unwrap();
    assert_eq!(model.of_flow(9), None);
    // An address that is no NS-VC's: the node knows more about it.
    model.apply(&peer(None)).unwrap();
    assert_eq!(model.classify(&from(2, FOREIGN, DATA), 0, 0), Verdict::Pass);
}

#[test]
fn other_pdus_go_to_the_node() {
    let mut model = model(config());
    let good = frames::ul_unitdata(2, LOCAL, &[frames::cell(), llc(DATA)]);
    let changed = |at: usize, to: u8| {
        let mut ns = good.clone();
        ns[at] = to;
        ns
    };
    let many: Vec<_> = core::iter::repeat_n((0x12, vec![0]), 8).chain([llc(DATA)]).collect();
    let for_the_node = [
        vec![0x0a],
        // NS-RESET, BVCI of signalling and of point-to-multipoint, DL-UNITDATA, RA-CAPABILITY.
        changed(0, 0x02),
        changed(3, 0),
        changed(3, 1),
        changed(4, 0x00),
        changed(4, 0x03),
        // Cut short, no LL-PDU, an empty one, one behind too many elements.
        good[..11].to_vec(),
        good[..60].to_vec(),
        frames::ul_unitdata(2, LOCAL, &[frames::cell()]),
        frames::ul_unitdata(2, LOCAL, &[frames::cell(), (0x0e, vec![])]),
        frames::ul_unitdata(2, LOCAL, &many),
    ];
    for ns in &for_the_node {
        assert_eq!(model.classify(&frames::usual(23000, ns), 0, 0), Verdict::Pass, "{ns:02x?}");
    }
    assert_eq!(model.totals().to_kernel(), for_the_node.len() as u64);
    assert_eq!(model.classify(&frames::usual(23001, &good), 0, 0), Verdict::Pass);
    assert_eq!(model.totals().to_kernel(), for_the_node.len() as u64);
    assert!(ring(model.classify(&frames::usual(23000, &good), 0, 0)).is_some());
}

#[test]
fn a_storm_of_data_leaves_signalling_whole() {
    let mut model = model(config());
    let policer = Some(Policer { rate_octets_per_s: 1000, burst_octets: 300 });
    let install = Rule { policer, ..rule(Key::LocalTlli(Tlli(LOCAL)), 9) };
    model.apply(&RuleChange::Install(install)).unwrap();
    let (data, signalling) = (from(2, LOCAL, DATA), from(2, LOCAL, GMM));
    let mut verdicts = Vec::new();
    for _ in 0..4 {
        verdicts.push(ring(model.classify(&data, 0, 5_000_000_000)));
    }
    assert_eq!(verdicts, [Some(Class::RealTime), Some(Class::RealTime), None, None]);
    // 140 octets of N-PDU each. Neither the storm nor a block stands in the way of signalling, which has a limit of its own.
    model.apply(&RuleChange::Block(Key::Name(9), Block::QueueFull)).unwrap();
    let mut sent = |now_ns| ring(model.classify(&signalling, 0, now_ns));
    assert_eq!([sent(5_000_000_000), sent(5_000_000_000)], [Some(Class::Signalling); 2]);
    assert_eq!([sent(5_000_000_000), sent(5_099_999_999)], [None; 2]);
    assert_eq!(sent(5_100_000_000), Some(Class::Signalling));
    assert_eq!(model.classify(&data, 0, 6_000_000_000), Verdict::Drop(Drop::DemuxQueueFull));
    let counters = model.of_flow(9).unwrap();
    assert_eq!((counters.passed, counters.over_rate, counters.queue_full), (5, 4, 1));
}

#[test]
fn strangers_are_let_in_one_by_one_and_their_signalling_apart() {
    let base = Config { samples_per_s: 10, samples_at_once: 3, ..config().base };
    let mut model = model(UplinkConfig { base, strangers_per_s: 10, strangers_at_once: 5, ..config() });
    let mut passed = |address| {
        let frames = (0..100).map(|n| from(2, RANDOM + 1 + n, address));
        frames.filter(|frame| model.classify(frame, 0, 7) == Verdict::Pass).count()
    };
    assert_eq!([passed(DATA), passed(GMM), passed(GMM)], [3, 5, 0]);
    assert_eq!((model.totals().sampled(), model.totals().of(Drop::DemuxUnknownTlli)), (8, 292));
}

#[test]
fn a_local_tlli_of_another_sgsn_is_one_of_its_cell() {
    let mut model = model(config());
    let other = LOCAL + 7;
    model.apply(&RuleChange::Install(rule(cell_key(other), 4))).unwrap();
    let mut owner = |bvci| match model.classify(&from(bvci, other, DATA), 0, 0) {
        Verdict::Redirect(metadata) => Some(metadata.name),
        Verdict::Pass | Verdict::Drop(_) => None,
    };
    assert_eq!([owner(2), owner(3)], [Some(4), None]);
    // As soon as it is assigned here it is that mobile's in every cell.
    model.apply(&RuleChange::Install(rule(Key::LocalTlli(Tlli(other)), 5))).unwrap();
    let mut owner = |bvci| match model.classify(&from(bvci, other, DATA), 0, 0) {
        Verdict::Redirect(metadata) => Some(metadata.name),
        Verdict::Pass | Verdict::Drop(_) => None,
    };
    assert_eq!([owner(2), owner(3)], [Some(5), Some(5)]);
}

#[test]
fn what_llc_says_on_a_sapi_for_data_is_signalling_but_for_acknowledged_mode() {
    let mut model = model(config());
    model.apply(&RuleChange::Block(Key::LocalTlli(Tlli(LOCAL)), Block::QueueFull)).unwrap();
    // XID and NULL; DM, DISC, UA, SABM and FRMR, which keep their places among the others; a UI frame, an I frame, RR; an LL-PDU
    // of one octet.
    for (second, (ll_pdu, expected)) in (1..).zip([
        (&[DATA, 0xfb][..], Some(Class::Signalling)),
        (&[DATA, 0xe0], Some(Class::Signalling)),
        (&[DATA, 0xf1], None),
        (&[DATA, 0xf4], None),
        (&[DATA, 0xf6], None),
        (&[DATA, 0xf7], None),
        (&[DATA, 0xe8], None),
        (&[DATA, 0xc0], None),
        (&[DATA, 0x41, 0x20, 0x00], None),
        (&[DATA, 0x81, 0x04], None),
        (&[DATA], Some(Class::Signalling)),
    ]) {
        let elements = [frames::cell(), (0x0e, ll_pdu.to_vec())];
        let frame = frames::usual(23000, &frames::ul_unitdata(2, LOCAL, &elements));
        assert_eq!(ring(model.classify(&frame, 0, second * 1_000_000_000)), expected, "{ll_pdu:02x?}");
    }
}

#[test]
fn acknowledgements_have_the_limit_of_user_data() {
    let mut model = model(config());
    let policer = Some(Policer { rate_octets_per_s: 1000, burst_octets: 300 });
    model.apply(&RuleChange::Install(Rule { policer, ..rule(Key::LocalTlli(Tlli(LOCAL)), 9) })).unwrap();
    let elements = [frames::cell(), (0x0e, vec![DATA | 0x40, 0x81, 0x04, 1, 2, 3])];
    let frame = frames::usual(23000, &frames::ul_unitdata(2, LOCAL, &elements));
    // Each takes ten octets of 300 at once and 1000 a second.
    let mut passed = |now| {
        let rings = (0..1000).map(|_| ring(model.classify(&frame, 0, now)));
        rings.filter(|ring| *ring == Some(Class::RealTime)).count()
    };
    assert_eq!([passed(5_000_000_000), passed(5_100_000_000)], [30, 10]);
}
