//! A mobile between two cells, and one that the radio has lost.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::bvc::FEATURE_INR;
use gannet_proto::gmm::MmState;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{Cause, FlushAction, RadioCause};
use gannet_wire::bssgp::signalling::{FlushLlAck, MobileRef};
use gannet_wire::id::{Bvci, Nsei};

fn ack(bench: &Bench, action: FlushAction, new_bvci: Option<u16>, octets: u32) -> FlushLlAck {
    let (tlli, new_bvci) = (bench.phones[0].tlli, new_bvci.map(Bvci));
    FlushLlAck { tlli, action, new_bvci, octets, new_nsei: None }
}

/// The BSS has moved so many octets of phone 0.
pub fn moved(bench: &mut Bench, bvci: u16, octets: u32) {
    let ack = ack(bench, FlushAction::Transferred, Some(bvci), octets);
    bench.signal(&Message::FlushLlAck(ack));
}

/// The BSS had nothing for the mobile of a TLLI.
pub fn deleted(bench: &mut Bench, tlli: Tlli) {
    let none = ack(bench, FlushAction::Deleted, None, 0);
    bench.signal(&Message::FlushLlAck(FlushLlAck { tlli, ..none }));
}

/// Three N-PDUs wait for phone 0, whose cell is blocked.
fn queued_with(change: impl FnOnce(&mut SgsnConfig)) -> Bench {
    let mut bench = Bench::new(change);
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    for number in 0..3 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    bench.sent.clear();
    bench
}

fn moves_to(bench: &mut Bench, cell: usize) -> Message {
    bench.phones[0].cell = cell;
    bench.beacon(0);
    bench.next_bssgp()
}

fn flush(bench: &Bench, old: u16, new_bvci: Option<u16>, new_nsei: Option<u16>) -> Message {
    let tlli = bench.phones[0].tlli;
    let (new_bvci, new_nsei) = (new_bvci.map(Bvci), new_nsei.map(Nsei));
    Message::FlushLl { tlli, old_bvci: Bvci(old), new_bvci, new_nsei }
}

fn numbers(bench: &mut Bench, count: usize) -> Vec<u8> {
    (0..count).map(|_| bench.hear(0).1[4]).collect()
}

fn level(bench: &Bench, cell: u32) -> u64 {
    bench.sgsn.gb().flow.cell_view(bench.around.now, cell).unwrap().level_octets
}

/// A driver lets what is not patient go first.
#[test]
fn flush_ll_is_as_patient_as_the_user_data_before_it() {
    let mut bench = Bench::new(|_| ());
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.busy = true;
    bench.phones[0].cell = 1;
    bench.beacon(0);
    let mut outputs = Batch::default();
    bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
    let mut flushes = Vec::new();
    while let Some(output) = outputs.pop() {
        // Behind the header of NS.
        if let Output::Transmit { frame, .. } = output
            && frame.get(4) == Some(&0x2a)
        {
            flushes.push(frame.is_patient());
        }
    }
    assert_eq!(flushes, [true]);
}

#[test]
fn what_waits_here_goes_after_what_the_bss_has_moved() {
    let mut bench = queued_with(|_| ());
    assert_eq!(moves_to(&mut bench, 1), flush(&bench, 2, Some(3), None));
    assert_eq!(bench.mobile(0).gmm.cell(), cell(1));
    bench.downlink(0, NSAPI, &[3; 40]);
    assert!(bench.is_silent(), "the BSS moves what it has first");
    // Another's answer, and another BSS's.
    let mut other = ack(&bench, FlushAction::Transferred, Some(3), 9);
    bench.bssgp(Nsei(2), Bvci::SIGNALLING, &Message::FlushLlAck(other));
    other.tlli = Tlli(0xc000_0001);
    bench.signal(&Message::FlushLlAck(other));
    assert!(bench.is_silent());
    let before = level(&bench, 1);
    bench.busy = true;
    moved(&mut bench, 3, 250);
    let sent: u64 = 4 * 50;
    assert!(
        (before + 250..=before + 250 + sent).contains(&level(&bench, 1)),
        "it is in the new cell's bucket"
    );
    bench.busy = false;
    bench.collect();
    assert_eq!(numbers(&mut bench, 4), [0, 1, 2, 3]);
    assert_eq!(bench.drops(), [(Drop::SgsnFlushUnexpected, 2)]);
    let stats = bench.sgsn.stats();
    assert_eq!((stats.flushes, stats.octets_moved, stats.octets_deleted), (1, 250, 0));
    assert_eq!(bench.sgsn.gb().cells_flushing(), 0);
}

#[test]
fn a_bss_that_does_not_answer_is_not_waited_for_for_ever() {
    let mut bench = queued_with(|_| ());
    moves_to(&mut bench, 1);
    bench.pass(Duration::from_millis(1999));
    assert!(bench.is_silent());
    bench.pass(Duration::from_millis(1));
    assert_eq!(numbers(&mut bench, 3), [0, 1, 2]);
    assert_eq!((bench.drops(), bench.sgsn.gb().cells_flushing()), (vec![(Drop::SgsnFlushUnanswered, 1)], 0));
    moved(&mut bench, 3, 0);
    assert_eq!(bench.dropped(Drop::SgsnFlushUnexpected), 1, "too late");
}

#[test]
fn who_changes_cells_again_waits_for_all_answers() {
    let mut bench = queued_with(|_| ());
    assert_eq!(moves_to(&mut bench, 1), flush(&bench, 2, Some(3), None));
    bench.signal(&Message::BvcUnblock { bvci: Bvci(2) });
    bench.sent.clear();
    assert_eq!(moves_to(&mut bench, 0), flush(&bench, 3, Some(2), None));
    moved(&mut bench, 3, 0);
    assert!(bench.is_silent());
    moved(&mut bench, 2, 0);
    assert_eq!(numbers(&mut bench, 3), [0, 1, 2]);
    // So often that nobody waits for the first answers any more.
    for change in 0..9 {
        moves_to(&mut bench, (change + 1) % 2);
    }
    assert_eq!(bench.drops(), [(Drop::SgsnFlushUnanswered, 1)]);
    assert_eq!(bench.sgsn.gb().cells_flushing(), 1);
    bench.pass_secs(2);
    assert_eq!(bench.drops(), [(Drop::SgsnFlushUnanswered, 9)]);
    assert_eq!(bench.sgsn.gb().cells_flushing(), 0);
}

#[test]
fn a_bss_deletes_where_the_operator_wants_it() {
    let mut bench = queued_with(|config| config.cell_change.left_behind = LeftBehind::Delete);
    assert_eq!(moves_to(&mut bench, 1), flush(&bench, 2, None, None));
    assert_eq!(numbers(&mut bench, 3), [0, 1, 2], "nothing is there to wait for");
    let deleted = ack(&bench, FlushAction::Deleted, None, 700);
    bench.signal(&Message::FlushLlAck(deleted));
    assert_eq!((bench.drops(), bench.sgsn.stats().octets_deleted), (vec![(Drop::SgsnDeletedByBss, 1)], 700));
}

#[test]
fn what_waits_is_discarded_where_the_operator_wants_it() {
    let mut bench = queued_with(|config| config.cell_change.left_behind = LeftBehind::Discard);
    assert_eq!(moves_to(&mut bench, 1), flush(&bench, 2, None, None));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::FlowFlushed, 3)]);
    bench.downlink(0, NSAPI, &[3; 40]);
    assert_eq!(numbers(&mut bench, 1), [3], "the new cell is served at once");
}

/// The SGSN that the tracing study has seen.
#[test]
fn flush_ll_to_the_new_cell_is_a_fault_that_is_counted() {
    let mut bench = queued_with(|config| config.cell_change.flushes_new_cell = true);
    assert_eq!(moves_to(&mut bench, 1), flush(&bench, 3, None, None));
    let stats = bench.sgsn.stats();
    assert_eq!((stats.flushes, stats.flushes_misdirected), (1, 1));
    assert_eq!(numbers(&mut bench, 3), [0, 1, 2]);
    let tlli = bench.phones[0].tlli;
    deleted(&mut bench, tlli);
    assert_eq!(bench.drops(), []);
}

#[test]
fn between_two_nses_ll_pdus_move_where_both_can_do_that() {
    let mut bench = Bench::new(|_| ());
    for nsei in [1, 2].map(Nsei) {
        let (bvci, cause, features) = (Bvci::SIGNALLING, Cause::OamIntervention, Some(FEATURE_INR));
        bench.bssgp(nsei, bvci, &Message::BvcReset { bvci, cause, cell: None, features });
        assert_eq!(bench.next_bssgp(), Message::BvcResetAck { bvci, cell: None, features });
    }
    for n in 0..4 {
        bench.reset_bvc(cell(n).nsei, cell(n).bvci, Some(cell(n).id));
    }
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    bench.downlink(0, NSAPI, &[7; 40]);
    bench.sent.clear();
    assert_eq!(moves_to(&mut bench, 2), flush(&bench, 2, Some(2), Some(2)));
    assert!(bench.is_silent());
    let before = level(&bench, 2);
    let moved = ack(&bench, FlushAction::Transferred, Some(2), 400);
    bench.signal(&Message::FlushLlAck(FlushLlAck { new_nsei: Some(Nsei(2)), ..moved }));
    assert!(level(&bench, 2) >= before + 400, "in the bucket of the other NSE's cell");
    assert_eq!(numbers(&mut bench, 1), [7]);
    // Not to another routing area.
    let ptmsi = bench.phones[0].ptmsi.unwrap();
    assert_eq!(bench.mobile(0).gmm.ptmsi(), Some(ptmsi));
    let left = flush(&bench, 2, None, None);
    super::places::move_to_other_area(&mut bench, gannet_wire::l3::ie::UpdateKind::Ra);
    assert_eq!(bench.next_bssgp(), left);
}

fn status(bench: &mut Bench, cause: RadioCause) {
    let mobile = MobileRef::Tlli(bench.phones[0].tlli);
    bench.bssgp(Nsei(1), Bvci(2), &Message::RadioStatus { mobile, cause });
}

#[test]
fn a_mobile_that_the_radio_has_lost_is_paged_and_then_gets_what_waited() {
    for cause in [RadioCause::ContactLost, RadioCause::LinkQualityInsufficient] {
        let mut bench = Bench::attached(true);
        status(&mut bench, cause);
        assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
        assert!(bench.is_silent(), "nothing is there for it");
        bench.downlink(0, NSAPI, &[1; 40]);
        for nsei in [1, 2].map(Nsei) {
            assert!(
                matches!(bench.next(), Sent::Bssgp(n, Bvci::SIGNALLING, Message::PagingPs(_)) if n == nsei)
            );
        }
        // T3313: once more through each of them.
        bench.pass_secs(10);
        assert_eq!((bench.sent.len(), bench.sgsn.stats().pagings), (2, 4));
        bench.sent.clear();
        bench.beacon(0);
        assert_eq!(numbers(&mut bench, 1), [1]);
        assert_eq!(
            (bench.drops(), bench.sgsn.gb().mobiles_out_of_reach()),
            (vec![(Drop::SgsnRadioStatus, 1)], 0)
        );
    }
}

/// LL-PDUs wait for the bucket of phone 0 when the radio loses it; gives how many.
fn lost_with_backlog(change: impl FnOnce(&mut SgsnConfig)) -> (Bench, u32) {
    let mut bench = Bench::new(|config| {
        config.ingress = Ingress::Fifo;
        change(config);
    });
    bench.attach(0);
    bench.activate(0, NSAPI);
    let tlli = bench.phones[0].tlli;
    let small = gannet_proto::bssgp::flow_control::Bucket { bmax_octets: 100, rate_bit_per_s: 800 };
    bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlMs(small.to_message(tlli, 5)));
    for number in 0..6 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    bench.sent.clear();
    status(&mut bench, RadioCause::ContactLost);
    let left = bench.sgsn.gb().flow.queued_pdus();
    assert!(left > 1, "{left}");
    (bench, left)
}

#[test]
fn what_waits_for_a_bucket_waits_for_its_mobile_too_and_has_it_paged() {
    let (mut bench, left) = lost_with_backlog(|_| ());
    assert!(bench.sent.iter().all(|sent| matches!(sent, Sent::Bssgp(_, _, Message::PagingPs(_)))));
    assert_eq!(bench.sent.len(), 2, "through both NSEs of the routing area");
    bench.pass_secs(5);
    assert_eq!(bench.sgsn.gb().flow.queued_pdus(), left, "although its bucket has long been empty");
    bench.sent.clear();
    bench.beacon(0);
    assert!(matches!(bench.next(), Sent::Down(_)));
}

#[test]
fn a_mobile_that_is_not_found_again_loses_what_waited() {
    let (mut bench, left) = lost_with_backlog(|config| {
        (config.pdu_lifetime, config.gmm.paging_tries) = (PduLifetimes::all(None), 2);
    });
    bench.pass_secs(19);
    assert_eq!((bench.sgsn.gb().flow.queued_pdus(), bench.sgsn.stats().pagings), (left, 4));
    bench.pass_secs(11);
    assert_eq!((bench.sgsn.gb().flow.queued_pdus(), bench.sgsn.gb().mobiles_out_of_reach()), (0, 0));
    assert_eq!(bench.dropped(Drop::FlowFlushed), u64::from(left));
    assert_eq!(bench.dropped(Drop::GmmPagingFailed), 1);
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn a_mobile_that_was_ordered_to_another_cell_is_waited_for() {
    let mut bench = Bench::attached(true);
    status(&mut bench, RadioCause::CellReselectionOrdered);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    for number in 0..3 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    bench.pass(Duration::from_millis(4999));
    assert!(bench.is_silent());
    bench.phones[0].cell = 1;
    bench.beacon(0);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
    moved(&mut bench, 3, 0);
    assert_eq!(numbers(&mut bench, 3), [0, 1, 2]);
    // What the cell says that it has left means nothing any more.
    status(&mut bench, RadioCause::ContactLost);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 1), (Drop::SgsnRadioStatus, 1)]);
}

#[test]
fn a_mobile_that_does_not_come_to_the_cell_to_which_it_was_ordered_is_paged() {
    let mut bench = Bench::attached(true);
    status(&mut bench, RadioCause::CellReselectionOrdered);
    bench.downlink(0, NSAPI, &[1; 40]);
    bench.pass_secs(5);
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    bench.sent.clear();
    bench.beacon(0);
    assert_eq!(numbers(&mut bench, 1), [1]);
    // Of later releases, and nothing for us to do.
    for cause in [RadioCause::CellReselectionPrepare, RadioCause::CellReselectionFailure] {
        status(&mut bench, cause);
        bench.downlink(0, NSAPI, &[2; 40]);
        assert_eq!(numbers(&mut bench, 1), [2]);
    }
}

#[test]
fn what_a_mobile_sent_before_it_moved_does_not_take_it_back() {
    let mut bench = Bench::attached(true);
    bench.busy = true;
    let data = bench.ll_pdu(0, gannet_wire::id::Sapi::DATA3, &[0x65, 0, 0, 0, 1, 2, 3]);
    bench.up(0, &data);
    bench.phones[0].cell = 1;
    bench.beacon(0);
    bench.busy = false;
    bench.collect();
    assert_eq!((bench.mobile(0).gmm.cell(), bench.sgsn.stats().flushes), (cell(1), 1));
    assert_eq!(bench.sgsn.stats().n_pdu_uplink, 1);
}
