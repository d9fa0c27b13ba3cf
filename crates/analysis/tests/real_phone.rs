//! A real phone on a real core, as `tests/captures/README.md` says: what is read of it, beside what tshark says.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_analysis::record::{BlockContents, Direction, Fcs, Kind, LlPdu, Packet, Proof, Record, Seen};
use gannet_analysis::view::journey;
use gannet_analysis::view::rows::{Chooser, Who};
use gannet_analysis::{Reading, Settings};
use gannet_testkit::Need;
use gannet_testkit::tshark::dissect_file;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("gb_and_gn_are_what_tshark_says", &[Need::Tshark], core),
        ("every_packet_of_gb_is_on_gn", &[], joined),
        ("the_phone_has_its_names", &[], names),
        ("blocks_become_ll_pdus_that_gb_has", &[], radio),
        ("blocks_are_what_tshark_says", &[Need::Tshark], blocks),
        ("each_ping_has_its_way", &[], pings),
        ("a_mobile_has_its_rows_of_all_layers", &[], rows),
        ("procedures_last_as_tshark_says", &[Need::Tshark], procedures),
    ])
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

const CORE: &str = "real-phone-core.pcapng.gz";
const UM: &str = "real-phone-um.pcapng.gz";

fn read(names: &[&str]) -> (Vec<Seen<Record>>, Reading) {
    let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
    let mut reading = Reading::open(&paths, Settings::default()).unwrap();
    let records: Vec<_> = reading.by_ref().collect();
    assert!(reading.damages().is_empty());
    (records, reading)
}

/// Frames in which tshark finds a field, by its protocol.
fn tshark(name: &str, field: &str) -> usize {
    let options = ["-d", "udp.port==23000,gprs-ns"];
    dissect_file(path(name).to_str().unwrap(), &options, &[field])
        .iter()
        .filter(|row| !row[0].is_empty())
        .count()
}

fn core() {
    let (records, reading) = read(&[CORE]);
    let count = |layer: &str| records.iter().filter(|seen| seen.what.layer() == layer).count();
    assert_eq!(count("BSSGP"), tshark(CORE, "bssgp.pdu_type"));
    assert_eq!(count("LLC"), tshark(CORE, "llcgprs.sapi"));
    assert_eq!(count("SNDCP"), tshark(CORE, "sndcp.nsapi"));
    assert_eq!(count("GMM/SM"), tshark(CORE, "gsm_a.L3_protocol_discriminator"));
    let at = |kind| {
        let places = reading.places();
        let there = move |seen: &&Seen<Record>| places[usize::from(seen.place)].kind == kind;
        records.iter().filter(there).filter(|seen| matches!(seen.what, Record::Packet(_))).count()
    };
    // 104 packets went each way of the core; tshark counts the same on Gn and, once all segments are there, on Gb.
    assert_eq!((at(Kind::Gn), at(Kind::Gb)), (104, 104));
    let wrong =
        records.iter().filter(|seen| matches!(&seen.what, Record::Llc(it) if it.fcs == Fcs::Wrong)).count();
    // The phone's XID response, whose FCS is wrong on the wire.
    assert_eq!(wrong, 1);
    assert_eq!(reading.counts().n_pdus_lost, 0);
    assert!(records.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

fn packets<'a>(records: &'a [Seen<Record>], reading: &Reading, kind: Kind) -> Vec<&'a Packet> {
    let places = reading.places();
    let there = records.iter().filter(|seen| places[usize::from(seen.place)].kind == kind);
    there
        .filter_map(|seen| if let Record::Packet(packet) = &seen.what { Some(packet) } else { None })
        .collect()
}

fn joined() {
    let (records, reading) = read(&[CORE]);
    let mut digests = BTreeMap::new();
    for packet in packets(&records, &reading, Kind::Gb) {
        *digests.entry(packet.digest.unwrap()).or_insert(0) += 1;
    }
    for packet in packets(&records, &reading, Kind::Gn) {
        *digests.entry(packet.digest.unwrap()).or_insert(0) -= 1;
    }
    assert_eq!(digests.len(), 104);
    assert!(digests.values().all(|difference| *difference == 0));
}

fn names() {
    let (records, reading) = read(&[CORE]);
    let mobiles: Vec<_> = reading.mobiles().all().collect();
    let [(index, mobile)] = mobiles[..] else { panic!("one phone, not {}", mobiles.len()) };
    assert!(mobile.imsi.is_some() && mobile.tllis.len() >= 2 && mobile.tunnels.len() == 2);
    assert_eq!(mobile.addresses.len(), 1);
    for kind in [Kind::Gb, Kind::Gn] {
        let all = packets(&records, &reading, kind);
        assert!(
            all.iter().all(|packet| packet.mobile.map(|it| reading.mobiles().canonical(it)) == Some(index))
        );
        let up = |packet: &&&Packet| packet.ip.unwrap().source == mobile.addresses[0];
        for packet in all.iter().filter(up) {
            assert_eq!(packet.direction, Some(Direction::Up));
        }
        assert!(all.iter().filter(|it| !up(it)).all(|packet| packet.direction == Some(Direction::Down)));
    }
}

fn radio() {
    let (records, reading) = read(&[UM, CORE]);
    let places = reading.places();
    let is_radio = |seen: &Seen<Record>| places[usize::from(seen.place)].kind == Kind::Radio;
    let ll_pdus = records.iter().filter_map(|seen| match &seen.what {
        Record::Llc(ll_pdu) => Some((is_radio(seen), ll_pdu)),
        _ => None,
    });
    let (um, gb): (Vec<_>, Vec<_>) = ll_pdus.partition(|(is_radio, _)| *is_radio);
    let key = |ll_pdu: &LlPdu| (ll_pdu.direction == Direction::Up, ll_pdu.digest);
    let at_gb: BTreeSet<_> = gb.iter().map(|(_, ll_pdu)| key(ll_pdu)).collect();
    let (both, alone): (Vec<_>, Vec<_>) = um.iter().partition(|(_, ll_pdu)| at_gb.contains(&key(ll_pdu)));
    // 11 of GMM and SM, two of XID, and 15 pings with their answers, each once on Gb and once on the radio.
    assert_eq!(both.len(), 43);
    assert_eq!(both.iter().filter(|(_, ll_pdu)| ll_pdu.fcs == Fcs::Right).count(), 42);
    assert!(both.iter().all(|(_, ll_pdu)| ll_pdu.blocks > 0 && ll_pdu.mobile.is_some()));
    // The PCU keeps a downlink TBF up by LL-PDUs of its own, whose FCS is none.
    assert_eq!(alone.len(), 78);
    assert!(alone.iter().all(|(_, it)| it.direction == Direction::Down && it.fcs == Fcs::Wrong));
    let rlc = reading.counts().rlc;
    assert_eq!((rlc.tbfs, rlc.missing, rlc.lost), (21, 0, 0));
    let here = packets(&records, &reading, Kind::Radio);
    assert_eq!(here.len(), 30);
    for packet in here {
        assert_eq!(packet.ip.unwrap().protocol, 1);
        assert!(packets(&records, &reading, Kind::Gn).iter().any(|other| other.digest == packet.digest));
    }
}

fn blocks() {
    let (records, _) = read(&[UM]);
    let mut ours = BTreeMap::new();
    for seen in &records {
        let Record::Radio(block) = &seen.what else { continue };
        let is_up = block.direction == Direction::Up;
        if let BlockContents::Data(data) = &block.contents {
            *ours.entry((is_up, Some((data.tfi, data.bsn)))).or_insert(0) += 1;
        } else if !matches!(block.contents, BlockContents::Access) {
            let is_common = matches!(&block.contents, BlockContents::Assignment(it) if it.is_common)
                || matches!(block.contents, BlockContents::Control { name: "Paging Request Type 1", .. });
            if !is_common {
                *ours.entry((is_up, None)).or_insert(0) += 1;
            }
        }
    }
    let fields = [
        "gsmtap.uplink",
        "gsm_rlcmac.dl_payload_type",
        "gsm_rlcmac.ul_payload_type",
        "gsm_rlcmac.dl.tfi",
        "gsm_rlcmac.ul.tfi",
        "gsm_rlcmac.bsn",
    ];
    let mut theirs = BTreeMap::new();
    for row in dissect_file(path(UM).to_str().unwrap(), &[], &fields) {
        let [uplink, down, up, down_tfi, up_tfi, bsn] = &row[..] else { panic!("{row:?}") };
        let (is_up, payload) = (uplink == "1", if uplink == "1" { up } else { down });
        let number = |text: &str| text.parse::<u8>().unwrap();
        match payload.as_str() {
            "" => {}
            "0" => {
                let tfi = number(if is_up { up_tfi } else { down_tfi });
                *theirs.entry((is_up, Some((tfi, number(bsn))))).or_insert(0) += 1;
            }
            _ => *theirs.entry((is_up, None)).or_insert(0) += 1,
        }
    }
    assert_eq!(ours, theirs);
}

fn way(frame: u64) -> Vec<(Kind, u64, u64)> {
    let mut reading = Reading::open(&[path(UM), path(CORE)], Settings::default()).unwrap();
    let journey = journey::find(&mut reading, Proof { file: 1, frame }).unwrap();
    assert!(journey.words().contains("echo re"));
    let kind = |place: u16| reading.places()[usize::from(place)].kind;
    journey.sightings.iter().map(|it| (kind(it.place), it.proof.frame, it.at.0)).collect()
}

fn pings() {
    // Frames of the first ping on Gb and Gn, up and down, as Wireshark numbers them.
    let [(Kind::Radio, _, um), (Kind::Gb, 41, gb), (Kind::Gn, 42, gn)] = way(41)[..] else { panic!() };
    assert!(um <= gb);
    assert_eq!(gn - gb, 79_458);
    assert_eq!(way(42), way(41));
    let [(Kind::Gn, 43, gn), (Kind::Gb, 44, gb), (Kind::Radio, _, um)] = way(44)[..] else { panic!() };
    assert_eq!(gb - gn, 51_250);
    // Octets for a line of 20 ms blocks.
    assert!(um - gb > 10_000_000);
    let (records, reading) = read(&[UM, CORE]);
    let echoes = records.iter().filter_map(|seen| match &seen.what {
        Record::Packet(packet) if packet.ip.is_some_and(|ip| ip.protocol == 1) => {
            Some((packet.digest, seen.place))
        }
        _ => None,
    });
    let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (digest, place) in echoes {
        places.entry(digest).or_default().push(reading.places()[usize::from(place)].kind);
    }
    assert_eq!(places.len(), 30);
    for kinds in places.values_mut() {
        kinds.sort_unstable();
        assert_eq!(kinds[..], [Kind::Radio, Kind::Gb, Kind::Gn]);
    }
}

fn rows() {
    let (records, known) = read(&[UM, CORE]);
    let (_, mobile) = known.mobiles().all().find(|(_, mobile)| mobile.imsi.is_some()).unwrap();
    let names = [
        mobile.imsi.unwrap().to_string(),
        mobile.addresses[0].to_string(),
        format!("{:08x}", mobile.tllis[0]),
    ];
    let chosen = names.map(|name| Who::named(&name, &known).unwrap());
    assert!(chosen.iter().all(|who| *who == chosen[0]));
    assert_eq!(Who::named("999999999999999", &known), None);
    let mut chooser = Chooser::new(chosen[0], &known);
    let mut layers: BTreeMap<_, usize> = BTreeMap::new();
    for seen in records.iter().filter(|seen| chooser.takes(seen)) {
        *layers.entry(seen.what.layer()).or_default() += 1;
    }
    // All of both files but signalling of no mobile: 15 pings each way on Um, and what the first 400 frames of the core have.
    assert_eq!((layers["SNDCP"], layers["GMM/SM"], layers["TCP"], layers["GTP"]), (30 + 233, 22, 148, 2));
    assert!(layers["RLC/MAC"] > 76);
}

/// Each procedure of the attach and the activation: its frames and times are those of the messages that tshark finds.
fn procedures() {
    let mut reading = Reading::open(&[path(CORE)], Settings::default()).unwrap();
    let report = gannet_analysis::findings::analyze(&mut reading);
    let fields = [
        "frame.number",
        "frame.time_epoch",
        "gsm_a.dtap.msg_gmm_type",
        "gsm_a.dtap.msg_sm_type",
        "gtp.message",
    ];
    let options = ["-d", "udp.port==23000,gprs-ns"];
    let mut messages = BTreeMap::new();
    for row in dissect_file(path(CORE).to_str().unwrap(), &options, &fields) {
        let [number, time, gmm, sm, gtp] = &row[..] else { panic!("{row:?}") };
        let (seconds, fraction) = time.split_once('.').unwrap();
        let ns: u64 = format!("{seconds}{fraction:0<9}").parse().unwrap();
        messages.insert(number.parse::<u64>().unwrap(), (ns, format!("{gmm}{sm}{gtp}")));
    }
    let seen: Vec<_> = report
        .procedures
        .procedures
        .iter()
        .map(|it| {
            let ((began, first), (answered, last)) = (it.began, it.answered.unwrap());
            let ((from, request), (to, answer)) = (&messages[&first.frame], &messages[&last.frame]);
            assert_eq!((began.0, answered.0), (*from, *to));
            (it.kind.name(), request.clone(), answer.clone(), it.ending().starts_with("accepted"))
        })
        .collect();
    let expected = [
        ("attach", "0x01", "0x02"),
        ("identification", "0x15", "0x16"),
        ("identification", "0x15", "0x16"),
        ("authentication", "0x12", "0x13"),
        ("activation", "0x41", "0x42"),
        ("Create PDP Context", "0x10", "0x11"),
    ];
    let expected = expected.map(|(name, from, to)| (name, from.to_owned(), to.to_owned(), true));
    assert_eq!(seen, expected);
    assert!(report.mobility.reselections.is_empty() && report.mobility.strays.is_empty());
    let attach = &report.procedures.procedures[0];
    assert_eq!((attach.repeats, messages[&attach.completed.unwrap().1.frame].1.as_str()), (0, "0x03"));
}
