//! Changes of cell, as Gb shows them.

use super::compressed::segment;
use super::followed::data;
use super::gb::{BSS, Link, Made, S, SGSN, cell, found, layer3, number, ping, sn_unitdata};
use super::procedures::{refused, update, updated};
use gannet_analysis::mobility::Reselection;
use gannet_analysis::mobility::report::{Ending, Type};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::FlushAction;
use gannet_wire::bssgp::signalling::FlushLlAck;
use gannet_wire::id::{Bvci, Sapi, Tlli};
use gannet_wire::l3::ie::{GmmCause, UpdateKind};
use gannet_wire::sndcp::Compression;

const TLLI: u32 = 0xc000_0042;

fn frame(is_up: bool, number: u16) -> Vec<u8> {
    let mut link = Link { count: number.into(), ..Link::new(is_up, Sapi::DATA3) };
    link.ui(&sn_unitdata(number, Compression::NONE, &ping(is_up, number, 10)))
}

/// Pings in cell 1 until 2 s; then nine frames go to nobody.
fn left() -> Made {
    let mut made = Made::default();
    for number in 0..3 {
        made.at(u64::from(number) * S);
        data(&mut made, true, TLLI, number);
        data(&mut made, false, TLLI, number);
    }
    for number in 3..12 {
        made.down(TLLI, 1, None, &frame(false, number));
    }
    made
}

fn flush(made: &mut Made, old: u16, new: Option<u16>, octets: u32) {
    let (tlli, old_bvci, new_bvci) = (Tlli(TLLI), Bvci(old), new.map(Bvci));
    made.signalling(false, &Message::FlushLl { tlli, old_bvci, new_bvci, new_nsei: None });
    let action = if new.is_some() { FlushAction::Transferred } else { FlushAction::Deleted };
    made.signalling(
        true,
        &Message::FlushLlAck(FlushLlAck { tlli, action, new_bvci, octets, new_nsei: None }),
    );
}

fn only(made: &Made) -> Reselection {
    let report = made.report();
    let [one] = &report.mobility.reselections[..] else { panic!("{:?}", report.mobility) };
    one.clone()
}

#[test]
fn a_cell_update_with_its_outage_and_what_was_lost() {
    let mut made = left();
    // Two of its frames are missing, and the first comes twice.
    made.at(5 * S).up(TLLI, cell(2), &frame(true, 5));
    flush(&mut made, 1, Some(2), 700);
    made.at(6 * S).up(TLLI, cell(2), &frame(true, 5));
    made.down(TLLI, 2, None, &frame(false, 12));
    let it = only(&made);
    assert_eq!((it.kind, it.ending), (Type::CellUpdate, Ending::Stayed));
    assert_eq!((it.from.bvci, it.to.bvci), (Some(1), Some(2)));
    assert_eq!((it.silence_ns(), it.outage_ns()), (3_000_000_000, Some(3_000_000_000)));
    // With the answer to its last ping ten went to the old cell.
    assert_eq!((it.late_frames, it.lost_up, it.doubled_up), (10, 2, 0));
    assert_eq!((it.left.1.frame, it.arrived.1.frame), (5, 16));
    let [flush] = it.flushes[..] else { panic!() };
    let (_, proof, is_transferred, octets) = flush.answer.unwrap();
    assert_eq!((flush.proof.frame, proof.frame, is_transferred, octets), (17, 18, true, 700));
    let report = made.report();
    for kind in ["flush-wrong-cell", "flush-missing", "sent-to-wrong-cell"] {
        assert!(found(&report, kind).is_empty(), "{kind}");
    }
    assert_eq!(number(found(&report, "flush-moved")[0], "octets").to_bits(), 700.0_f64.to_bits());
}

#[test]
fn with_a_routing_area_update_user_data_goes_on_later() {
    let mut made = left();
    layer3(made.at(5 * S), true, TLLI, 2, update(UpdateKind::Ra));
    layer3(made.at(8 * S), false, TLLI, 2, updated());
    made.at(9 * S).down(TLLI, 2, None, &frame(false, 12));
    let it = only(&made);
    assert_eq!((it.kind, it.ending), (Type::WithUpdate, Ending::Stayed));
    assert_eq!(
        (it.silence_ns(), it.update_ns(), it.outage_ns()),
        (3 * 1_000_000_000, Some(3_000_000_000), Some(7_000_000_000))
    );
    // Nobody flushed the old cell.
    assert_eq!(found(&made.report(), "flush-missing").len(), 1);
}

#[test]
fn what_fails() {
    let refuses = |made: &mut Made| layer3(made.at(6 * S), false, TLLI, 2, refused(GmmCause::NetworkFailure));
    let goes_back = |made: &mut Made| made.at(7 * S).up(TLLI, cell(1), &frame(true, 6));
    for ending in [Ending::Refused, Ending::Unanswered, Ending::WentBack] {
        let mut made = left();
        if ending == Ending::WentBack {
            made.at(5 * S).up(TLLI, cell(2), &frame(true, 5));
        } else {
            layer3(made.at(5 * S), true, TLLI, 2, update(UpdateKind::Ra));
        }
        match ending {
            Ending::Refused => refuses(&mut made),
            Ending::WentBack => goes_back(&mut made),
            Ending::Stayed | Ending::Unanswered => {}
        }
        let report = made.report();
        let first = &report.mobility.reselections[0];
        assert_eq!((first.kind, first.ending), (Type::Failed, ending));
    }
}

#[test]
fn flushes_that_name_another_cell_are_found() {
    let cases = [((3, Some(2)), 1), ((1, Some(3)), 1), ((1, None), 0), ((1, Some(2)), 0)];
    for ((old, new), wrong) in cases {
        let mut made = left();
        made.at(5 * S).up(TLLI, cell(2), &frame(true, 3));
        flush(&mut made, old, new, 90);
        let report = made.report();
        assert_eq!(found(&report, "flush-wrong-cell").len(), wrong, "{old} {new:?}");
        let deleted = found(&report, "flush-deleted").len();
        assert_eq!(deleted, usize::from(new.is_none()));
    }
    // And one without any reason.
    let mut made = left();
    flush(&mut made, 1, None, 0);
    assert_eq!(found(&made.report(), "flush-stray").len(), 1);
}

#[test]
fn what_goes_on_to_the_old_cell_is_found() {
    let mut made = left();
    made.at(5 * S).up(TLLI, cell(2), &frame(true, 3));
    for number in 12..16 {
        made.down(TLLI, 1, None, &frame(false, number));
    }
    let report = made.report();
    let [finding] = found(&report, "sent-to-wrong-cell")[..] else { panic!() };
    assert_eq!(number(finding, "frames").to_bits(), 4.0_f64.to_bits());
    assert_eq!(finding.proofs.last().unwrap().frame, 20);
}

/// The acknowledgement of a download's first segments.
fn acknowledgement(segments: u32) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    packet.extend(BSS);
    packet.extend(SGSN);
    packet.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 9]);
    packet.extend((1000 + segments * 100).to_be_bytes());
    packet.extend([0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    packet
}

#[test]
fn tcp_that_stood_still_meanwhile_is_told() {
    let mut made = Made::default();
    let (mut down, mut up) = (Link::new(false, Sapi::DATA3), Link::new(true, Sapi::DATA3));
    let mut packet = |made: &mut Made, at, is_up: bool, octets: &[u8], in_cell: u16| {
        let link = if is_up { &mut up } else { &mut down };
        let frame = link.ui(&sn_unitdata(link.count as u16, Compression::NONE, octets));
        made.at(at);
        if is_up { made.up(TLLI, cell(in_cell), &frame) } else { made.down(TLLI, in_cell, None, &frame) }
    };
    for n in 0..4 {
        packet(&mut made, u64::from(n) * S, false, &segment(n), 1);
        packet(&mut made, u64::from(n) * S + S / 10, true, &acknowledgement(n + 1), 1);
    }
    for n in 4..7 {
        packet(&mut made, 4 * S + u64::from(n), false, &segment(n), 1);
    }
    packet(&mut made, 6 * S, false, &segment(4), 1);
    packet(&mut made, 9 * S, true, &acknowledgement(6), 2);
    packet(&mut made, 9 * S + S / 2, true, &acknowledgement(7), 2);
    let it = only(&made);
    let tcp = it.tcp.unwrap();
    // Since the acknowledgement at 3.1 s; nothing was outstanding before 4 s.
    assert_eq!(tcp.between.1.frame, 13);
    assert!((5_000_000_000 - 10_000..=5_900_000_000).contains(&tcp.outage_ns), "{tcp:?}");
    assert_eq!((tcp.timeouts, tcp.sent_again), (1, 1));
    assert_eq!(tcp.recovery_ns, Some(500_000_000));
    let report = made.report();
    let of_kind = found(&report, "reselections");
    let outage = number(of_kind[0], "tcp_outage_median_s");
    assert!((outage - tcp.outage_ns as f64 / 1e9).abs() < 1e-6);
}

/// On the radio the frequency of the blocks that name the mobile tells the cell.
#[test]
fn on_the_radio_the_frequency_tells_the_cell() {
    use gannet_analysis::mobility::{Mobility, Name};
    use gannet_analysis::record::{
        BlockContents, DataBlock, Direction, Proof, RadioBlock, Record, Seen, Stamp,
    };
    let mut mobility = Mobility::default();
    let cells = [
        (1, 871, TLLI),
        (2, 871, TLLI),
        (3, 871, TLLI + 1),
        (6, 868, TLLI),
        (7, 868, TLLI),
        (8, 871, TLLI + 1),
    ];
    for (second, arfcn, tlli) in cells {
        let (tlli, proof) = (Some(tlli), Proof { file: 0, frame: second });
        let data = DataBlock {
            scheme: None,
            tfi: 1,
            bsn: 0,
            countdown: 15,
            polls_or_stalls: false,
            rrbp: None,
            goes_on: false,
            ends_before: false,
            is_filler: false,
            tlli,
            user_octets: 20,
            digest: second,
        };
        let contents = BlockContents::Data(data);
        let (timeslot, frame_number, direction) = (4, 0, Direction::Up);
        let block = RadioBlock { arfcn, timeslot, frame_number, direction, contents };
        let at = Stamp(second * 1_000_000_000);
        mobility.take(&Seen { at, proof, place: 0, what: Record::Radio(block) });
    }
    let report = mobility.finish(&[], |mobile| mobile);
    let [one] = &report.reselections[..] else { panic!("{report:?}") };
    assert_eq!((one.from.name, one.to.name), (Name::Arfcn(871), Name::Arfcn(868)));
    assert_eq!((one.tlli, one.silence_ns()), (TLLI, 4_000_000_000));
    assert_eq!((one.left.1.frame, one.arrived.1.frame), (2, 6));
}
