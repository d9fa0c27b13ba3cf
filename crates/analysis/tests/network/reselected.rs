//! Changes of cell, as Gb shows them.

use super::followed::data;
use super::gb::{Link, Made, S, cell, found, layer3, number, ping, sn_unitdata};
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
