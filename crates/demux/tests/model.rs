//! The model by vectors: each rule of classification once, with octets that Wireshark reads the same way.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::frames::{self, OWN_V4, OWN_V6};
use common::vectors::{self, TEID, TID};
use gannet_demux::model::{Model, Owner, Parsed, Verdict, parse};
use gannet_demux::{Classify, Config, Metadata, Ring};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Policer, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::gtp::header::Header;
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};

fn config() -> Config {
    Config { addresses: vec![OWN_V4.into(), OWN_V6.into()], samples_per_s: 0, ..Config::default() }
}

fn rule(key: Key, name: u32) -> Rule {
    Rule { key, name, class: Class::BestEffort, precedence: Precedence::Normal, policer: None, source: None }
}

fn tid() -> Tid {
    let tid = Tid { imsi: Imsi::from_digits([0, 0, 1, 0, 1, 1, 2, 3]).unwrap(), nsapi: Nsapi(5) };
    assert_eq!(tid.to_u64(), TID);
    tid
}

/// A model that knows the contexts of the vectors.
fn model(config: Config) -> Model {
    let mut model = Model::new(config).unwrap();
    model.apply(&RuleChange::Install(rule(Key::Teid(Teid(TEID)), TEID))).unwrap();
    model.apply(&RuleChange::Install(rule(Key::Tid(tid()), 0x0500_0009))).unwrap();
    model
}

fn only(model: &Model, drop: Drop, count: u64) {
    for (name, counted) in model.totals().drops() {
        assert_eq!(counted, if name == drop { count } else { 0 }, "{name:?}");
    }
}

#[test]
fn every_vector() {
    for vector in vectors::all() {
        let parsed = parse(&vector.frame, &Config { verify_udp_checksum: true, ..config() });
        let Parsed::GPdu(pdu) = parsed else { panic!("{}: {parsed:?}", vector.name) };
        let expected = vector.teid.map_or(Owner::Tid(TID), |teid| Owner::Teid(Teid(teid)));
        assert_eq!(pdu.owner, expected, "{}", vector.name);
        let t_pdu = &vector.frame[usize::from(pdu.at)..][..usize::from(pdu.len)];
        assert_eq!(t_pdu, vector.t_pdu, "{}", vector.name);
        let name = if vector.teid.is_some() { TEID } else { 0x0500_0009 };
        let verdict = model(config()).classify(&vector.frame, 1, 0);
        let metadata = Metadata {
            name,
            pdu_offset: pdu.at,
            pdu_len: pdu.len,
            class: Class::BestEffort,
            precedence: Precedence::Normal,
            shard: 1,
            ring: Ring::BestEffort,
            llc_offset: 0,
            llc_len: 0,
        };
        assert_eq!(verdict, Verdict::Redirect(metadata), "{}", vector.name);
    }
}

#[test]
fn what_is_not_user_data_goes_to_the_kernel() {
    let ours = |gtp: &[u8]| frames::usual(2152, gtp);
    let g_pdu = frames::gtp_v1(255, TEID, (None, None), &[], &[0x45; 20]);
    let udp = frames::udp(OWN_V4.into(), 2152, true, &g_pdu);
    let for_the_node = [
        ours(&frames::gtp_v1(1, 0, (Some(1), None), &[], &[])),
        ours(&frames::gtp_v1(26, 0, (None, None), &[], &[16, 0, 0, 0, 1])),
        ours(&frames::gtp_v1(254, TEID, (None, None), &[], &[])),
        // GTP', and a version to come.
        ours(&[0x20; 12]),
        ours(&[0x50; 12]),
        // An extension header that must be comprehended and is not; a chain of nine.
        ours(&frames::gtp_v1(255, TEID, (None, None), &[(0x81, vec![0; 2])], &[0x45; 20])),
        ours(&frames::gtp_v1(255, TEID, (None, None), &vec![(0x40, vec![0; 2]); 9], &[0x45; 20])),
        frames::usual(3386, &frames::gtp_v0(1, TID, &[])),
    ];
    let not_ours = [
        frames::usual(2123, &g_pdu),
        frames::ethernet(&[], 0x0806, &[0; 28]),
        frames::ethernet(&[1, 2, 3], 0x0800, &frames::ipv4(OWN_V4, 17, 0, 0, &udp)),
        frames::ethernet(&[], 0x0800, &frames::ipv4([192, 0, 2, 8].into(), 17, 0, 0, &udp)),
        // The first and a later fragment; TCP; IPv6 with a routing header; a header cut short.
        frames::ethernet(&[], 0x0800, &frames::ipv4(OWN_V4, 17, 0x2000, 0, &udp)),
        frames::ethernet(&[], 0x0800, &frames::ipv4(OWN_V4, 17, 0x0010, 0, &udp)),
        frames::ethernet(&[], 0x0800, &frames::ipv4(OWN_V4, 6, 0, 0, &udp)),
        frames::ethernet(&[], 0x86dd, &frames::ipv6(OWN_V6, 43, &udp)),
        frames::usual(2152, &g_pdu)[..41].to_vec(),
        // Too long for a chunk.
        frames::usual(2152, &frames::gtp_v1(255, TEID, (None, None), &[], &[0; 1743])),
    ];
    let mut model = model(config());
    for frame in &for_the_node {
        assert_eq!(model.classify(frame, 0, 0), Verdict::Pass, "{frame:02x?}");
    }
    assert_eq!(model.totals().to_kernel(), for_the_node.len() as u64);
    for frame in &not_ours {
        assert_eq!(model.classify(frame, 0, 0), Verdict::Pass, "{frame:02x?}");
    }
    assert_eq!(model.totals().to_kernel(), for_the_node.len() as u64);
    // One octet shorter fits.
    let longest = frames::usual(2152, &frames::gtp_v1(255, TEID, (None, None), &[], &[0; 1742]));
    assert_eq!(longest.len(), gannet_demux::FRAME_MAX);
    assert!(matches!(model.classify(&longest, 0, 0), Verdict::Redirect(_)));
}

#[test]
fn what_cannot_be_read_is_dropped() {
    let short = |gtp: &[u8]| frames::usual(2152, gtp);
    let mut too_long = frames::gtp_v1(255, TEID, (None, None), &[], &[0x45; 20]);
    too_long[3] += 1;
    let mut no_unit = frames::gtp_v1(255, TEID, (None, None), &[(0x40, vec![0; 2])], &[0x45; 20]);
    no_unit[12] = 0;
    let mut beyond = no_unit.clone();
    beyond[12] = 7;
    let mut udp_too_long = frames::usual(2152, &too_long);
    udp_too_long[39] += 1;
    let bad = [
        short(&[]),
        short(&[0x30, 255, 0]),
        short(&too_long),
        short(&[0x32, 255, 0, 2, 0, 0, 0, 1, 0, 1]),
        short(&no_unit),
        short(&beyond),
        udp_too_long,
        frames::usual(3386, &frames::gtp_v0(255, TID, &[])[..19]),
    ];
    for frame in &bad {
        let mut model = model(config());
        assert_eq!(model.classify(frame, 0, 0), Verdict::Drop(Drop::DemuxMalformed), "{frame:02x?}");
        only(&model, Drop::DemuxMalformed, 1);
    }
    let mut bad_header = vectors::all().swap_remove(0).frame;
    bad_header[22] -= 1;
    let mut at = model(config());
    assert_eq!(at.classify(&bad_header, 0, 0), Verdict::Drop(Drop::DemuxBadIpChecksum));
    only(&at, Drop::DemuxBadIpChecksum, 1);
}

#[test]
fn the_udp_checksum_is_trusted_or_verified() {
    let g_pdu = frames::gtp_v1(255, TEID, (None, None), &[], &[0x45; 21]);
    let mut wrong = frames::usual(2152, &g_pdu);
    *wrong.last_mut().unwrap() ^= 1;
    let none_v4 = frames::ethernet(
        &[],
        0x0800,
        &frames::ipv4(OWN_V4, 17, 0, 0, &frames::udp(OWN_V4.into(), 2152, false, &g_pdu)),
    );
    let none_v6 = frames::ethernet(
        &[],
        0x86dd,
        &frames::ipv6(OWN_V6, 17, &frames::udp(OWN_V6.into(), 2152, false, &g_pdu)),
    );
    let right_v6 = frames::ethernet(
        &[],
        0x86dd,
        &frames::ipv6(OWN_V6, 17, &frames::udp(OWN_V6.into(), 2152, true, &g_pdu)),
    );
    let mut trusting = model(config());
    let mut verifying = model(Config { verify_udp_checksum: true, ..config() });
    for (frame, is_right) in [(wrong, false), (none_v4, true), (none_v6, false), (right_v6, true)] {
        assert!(matches!(trusting.classify(&frame, 0, 0), Verdict::Redirect(_)));
        let verdict = verifying.classify(&frame, 0, 0);
        assert_eq!(verdict == Verdict::Drop(Drop::DemuxBadUdpChecksum), !is_right, "{frame:02x?}");
        assert_eq!(matches!(verdict, Verdict::Redirect(_)), is_right);
    }
    only(&verifying, Drop::DemuxBadUdpChecksum, 2);
}

#[test]
fn what_is_not_from_the_end_of_its_tunnel_goes_to_the_node() {
    let g_pdu = frames::gtp_v1(255, TEID, (None, None), &[], &[0x45; 20]);
    let over_v4 = frames::usual(2152, &g_pdu);
    let over_v6 = frames::ethernet(
        &[],
        0x86dd,
        &frames::ipv6(frames::OWN_V6, 17, &frames::udp(frames::OWN_V6.into(), 2152, true, &g_pdu)),
    );
    for (source, v4_passes, v6_passes) in [
        (None, true, true),
        (Some(frames::PEER_V4.into()), true, false),
        (Some(std::net::IpAddr::from([192, 0, 2, 99])), false, false),
        (Some(frames::PEER_V6.into()), false, false),
    ] {
        let mut model = model(config());
        model.apply(&RuleChange::Install(Rule { source, ..rule(Key::Teid(Teid(TEID)), TEID) })).unwrap();
        for (frame, passes) in [(&over_v4, v4_passes), (&over_v6, v6_passes)] {
            let verdict = model.classify(frame, 0, 0);
            assert_eq!(matches!(verdict, Verdict::Redirect(_)), passes, "{source:?}");
            assert!(passes || verdict == Verdict::Pass, "{source:?}: {verdict:?}");
        }
        let stopped = u64::from(!v4_passes) + u64::from(!v6_passes);
        assert_eq!(model.totals().to_kernel(), stopped);
        // At a socket of its own the node sees from where a datagram comes.
        assert!(matches!(model.classify_datagram(&over_v4[34..], 0), Verdict::Redirect(_)));
    }
}

#[test]
fn a_place_has_one_generation_at_a_time() {
    let to = |teid| frames::usual(2152, &frames::gtp_v1(255, teid, (None, None), &[], &[0x45; 20]));
    let mut model = model(config());
    let other = TEID ^ 0x0100_0000;
    assert_eq!(model.classify(&to(other), 0, 0), Verdict::Drop(Drop::DemuxStaleGeneration));
    assert_eq!(model.classify(&to(TEID + 1), 0, 0), Verdict::Drop(Drop::DemuxUnknownContext));
    // Nor does a context of GTPv0 answer to a TEID.
    assert_eq!(model.classify(&to(0x0500_0009), 0, 0), Verdict::Drop(Drop::DemuxUnknownContext));
    // The next generation takes the place; changes for the last one touch it no more.
    model.apply(&RuleChange::Install(rule(Key::Teid(Teid(other)), other))).unwrap();
    model.apply(&RuleChange::Block(Key::Teid(Teid(TEID)), Block::QueueFull)).unwrap();
    model.apply(&RuleChange::Remove(Key::Teid(Teid(TEID)))).unwrap();
    assert!(matches!(model.classify(&to(other), 0, 0), Verdict::Redirect(_)));
    assert_eq!(model.classify(&to(TEID), 0, 0), Verdict::Drop(Drop::DemuxStaleGeneration));
    assert_eq!((model.of_flow(TEID), model.of_flow(other).unwrap().passed), (None, 1));
    model.apply(&RuleChange::Remove(Key::Teid(Teid(other)))).unwrap();
    assert_eq!(model.classify(&to(other), 0, 0), Verdict::Drop(Drop::DemuxUnknownContext));
    assert!(model.apply(&RuleChange::Install(rule(Key::Teid(Teid(1024)), 1024))).is_err());
}

#[test]
fn feedback_blocks_by_two_reasons() {
    let frame = vectors::all().swap_remove(0).frame;
    let key = Key::Teid(Teid(TEID));
    let mut model = model(config());
    model.apply(&RuleChange::Block(key, Block::QueueFull)).unwrap();
    assert_eq!(model.classify(&frame, 0, 0), Verdict::Drop(Drop::DemuxQueueFull));
    model.apply(&RuleChange::Block(key, Block::FlowControl)).unwrap();
    assert_eq!(model.classify(&frame, 0, 0), Verdict::Drop(Drop::DemuxBlocked));
    model.apply(&RuleChange::Unblock(key, Block::QueueFull)).unwrap();
    assert_eq!(model.classify(&frame, 0, 0), Verdict::Drop(Drop::DemuxBlocked));
    model.apply(&RuleChange::Unblock(key, Block::FlowControl)).unwrap();
    assert!(matches!(model.classify(&frame, 0, 0), Verdict::Redirect(_)));
    let flow = model.of_flow(TEID).unwrap();
    assert_eq!((flow.blocked, flow.queue_full, flow.passed, flow.passed_octets), (2, 1, 1, 20));
    // A new rule is unblocked.
    model.apply(&RuleChange::Block(key, Block::QueueFull)).unwrap();
    model.apply(&RuleChange::Install(rule(key, TEID))).unwrap();
    assert!(matches!(model.classify(&frame, 0, 0), Verdict::Redirect(_)));
    assert_eq!(model.of_flow(TEID).unwrap().passed, 2);
}

#[test]
fn a_rate_is_kept_with_its_burst() {
    // 20 octets are 20 ms at 1000 octets/s; the burst is two packets and a half.
    let policer = Some(Policer { rate_octets_per_s: 1000, burst_octets: 50 });
    let frame = vectors::all().swap_remove(0).frame;
    let mut model = model(config());
    let install = RuleChange::Install(Rule { policer, ..rule(Key::Teid(Teid(TEID)), TEID) });
    model.apply(&install).unwrap();
    let mut passes = |at_ms: u64| match model.classify(&frame, 0, at_ms * 1_000_000) {
        Verdict::Redirect(_) => true,
        Verdict::Drop(Drop::DemuxOverRate) => false,
        other => panic!("{other:?}"),
    };
    assert_eq!([passes(1000), passes(1000), passes(1000)], [true, true, false]);
    assert_eq!([passes(1009), passes(1010), passes(1010)], [false, true, false]);
    // A pause gives back the burst and no more.
    assert_eq!([passes(9000), passes(9000), passes(9000)], [true, true, false]);
    // The same rule again forgets nothing; another rate starts afresh.
    model.apply(&install).unwrap();
    assert_eq!(model.classify(&frame, 0, 9_000_000_000), Verdict::Drop(Drop::DemuxOverRate));
    let policer = Some(Policer { rate_octets_per_s: 1001, burst_octets: 50 });
    model.apply(&RuleChange::Install(Rule { policer, ..rule(Key::Teid(Teid(TEID)), TEID) })).unwrap();
    assert!(matches!(model.classify(&frame, 0, 9_000_000_000), Verdict::Redirect(_)));
    assert_eq!(model.of_flow(TEID).unwrap().over_rate, 5);
}

#[test]
fn a_sample_of_the_unknown_goes_to_the_node() {
    let frame = frames::usual(2152, &frames::gtp_v1(255, 3, (None, None), &[], &[0x45; 20]));
    let mut model = model(Config { samples_per_s: 10, samples_at_once: 2, ..config() });
    let mut goes_up = |at_ms: u64| match model.classify(&frame, 0, at_ms * 1_000_000) {
        Verdict::Pass => true,
        Verdict::Drop(Drop::DemuxUnknownContext) => false,
        other => panic!("{other:?}"),
    };
    assert_eq!([goes_up(5000), goes_up(5000), goes_up(5000), goes_up(5099)], [true, true, false, false]);
    assert_eq!([goes_up(5100), goes_up(5199)], [true, false]);
    assert_eq!(model.totals().sampled(), 3);
    only(&model, Drop::DemuxUnknownContext, 3);
}

/// What the model takes for user data, the node's own parser takes too, with the same T-PDU; and what the model calls
/// malformed the node's parser refuses.
#[test]
fn the_model_and_the_nodes_parser_agree() {
    let teids = vec![1, 2, 3];
    let mut generator =
        frames::Generator { rng: fastrand::Rng::with_seed(7), teids, tids: vec![TID], tllis: vec![] };
    let config = config();
    let (mut found, mut bad) = (0, 0);
    for _ in 0..60_000 {
        let frame = generator.frame();
        // The usual place of the GTP header, and a UDP length that leaves nothing behind it.
        let (Some(gtp), true) = (frame.get(42..), frame.len() > 42 && frame[12..15] == [8, 0, 0x45]) else {
            continue;
        };
        let udp_len = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        let total_len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let is_whole = udp_len == gtp.len() + 8 && total_len == udp_len + 20;
        if frame[36..38] != 2152_u16.to_be_bytes() || !is_whole {
            continue;
        }
        match (parse(&frame, &config), Header::parse(gtp)) {
            (Parsed::GPdu(pdu), header) => {
                let header = header.unwrap();
                assert_eq!(pdu.owner, Owner::Teid(header.teid));
                let range = header.payload_range();
                assert_eq!(
                    usize::from(pdu.at)..usize::from(pdu.at + pdu.len),
                    range.start + 42..range.end + 42
                );
                assert_eq!(header.extensions.not_comprehended, None);
                found += 1;
            }
            (Parsed::Bad(Drop::DemuxMalformed), header) => {
                assert!(header.is_err(), "{frame:02x?}");
                bad += 1;
            }
            _ => {}
        }
    }
    assert!(found > 1000 && bad > 100, "{found} {bad}");
}
