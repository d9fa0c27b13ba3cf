//! What a BSS says of a mobile counts where it may speak of it: by each PDU that names one.

use super::bench::*;
use super::uplink::sn_pdu;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{Cause, FlushAction, Granularity, RaCapUpdCause, RadioCause};
use gannet_wire::bssgp::signalling::{FlowControlMs, FlushLlAck, LlcDiscarded, MobileRef};
use gannet_wire::id::{Bvci, CellId, Nsei, Rai, Sapi};
use gannet_wire::l3::ie::MobileIdentity;

/// NSE 3 serves a routing area of its own; phone 0 is attached in cell 0 of NSE 1.
fn with_an_nse_elsewhere(active: bool) -> Bench {
    let mut bench = Bench::attached(active);
    bench.start_ns(Nsei(3));
    bench.reset_bvc(Nsei(3), Bvci::SIGNALLING, None);
    bench.reset_bvc(Nsei(3), Bvci(2), Some(CellId { rai: rai(9), ci: 30 }));
    bench
}

fn says(bench: &mut Bench, nsei: u16, message: &Message) -> Message {
    bench.bssgp(Nsei(nsei), Bvci::SIGNALLING, message);
    bench.next_bssgp()
}

fn suspend(bench: &mut Bench, nsei: u16, rai: Rai) -> Option<u8> {
    let tlli = bench.phones[0].tlli;
    match says(bench, nsei, &Message::Suspend { tlli, rai }) {
        Message::SuspendAck { reference, .. } => Some(reference),
        Message::SuspendNack { cause: Some(Cause::UnknownMs), .. } => None,
        other => panic!("{other:?}"),
    }
}

fn resume(bench: &mut Bench, nsei: u16, rai: Rai, reference: u8) -> bool {
    let tlli = bench.phones[0].tlli;
    match says(bench, nsei, &Message::Resume { tlli, rai, reference }) {
        Message::ResumeAck { .. } => true,
        Message::ResumeNack { cause: Some(Cause::UnknownMs), .. } => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn suspend_and_resume_of_a_ready_mobile() {
    let mut bench = with_an_nse_elsewhere(true);
    // NSE 2 has a cell in the routing area, but the mobile is READY in one of NSE 1.
    for (nsei, area) in [(3, 1), (3, 9), (2, 1), (1, 2), (1, 9)] {
        assert_eq!(suspend(&mut bench, nsei, rai(area)), None, "NSE {nsei}, routing area {area}");
        assert!(!bench.mobile(0).gmm.is_suspended());
    }
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 5)]);
    let reference = suspend(&mut bench, 1, rai(1)).unwrap();
    for (nsei, area, given) in [(3, 1, reference), (1, 9, reference), (1, 1, reference.wrapping_add(1))] {
        assert!(!resume(&mut bench, nsei, rai(area), given), "NSE {nsei}, routing area {area}");
        assert!(bench.mobile(0).gmm.is_suspended());
    }
    assert!(resume(&mut bench, 1, rai(1), reference));
    assert!(!bench.mobile(0).gmm.is_suspended());
    bench.downlink(0, NSAPI, b"down");
    assert!(bench.hear(0).1.ends_with(b"down"));
}

/// In STANDBY it may be in any cell of its routing area.
#[test]
fn suspend_of_a_mobile_in_standby() {
    let mut bench = with_an_nse_elsewhere(true);
    bench.pass_secs(45);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    assert_eq!(suspend(&mut bench, 3, rai(1)), None);
    let reference = suspend(&mut bench, 2, rai(1)).unwrap();
    assert!(!resume(&mut bench, 3, rai(1), reference));
    assert!(resume(&mut bench, 2, rai(1), reference));
}

#[test]
fn suspend_of_nobody_and_of_a_mobile_that_attaches() {
    let mut bench = Bench::new(|_| ());
    bench.phones[0].uses(Tlli(0xc000_0001));
    assert_eq!(suspend(&mut bench, 1, rai(1)), None);
    bench.phones[0].power_cycle(Tlli::random(1));
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.sent.clear();
    let ptmsi = bench.sgsn.mobiles().find_map(|(_, mobile)| mobile.gmm.new_ptmsi()).unwrap();
    bench.phones[0].uses(Tlli::local(ptmsi));
    assert_eq!(suspend(&mut bench, 1, rai(1)), None);
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 2)]);
}

#[test]
fn flow_control_of_a_mobile_from_another_cell() {
    let mut bench = with_an_nse_elsewhere(true);
    let tlli = bench.phones[0].tlli;
    let slow = FlowControlMs {
        tlli,
        tag: 1,
        bucket_size: 1,
        leak_rate: 0,
        bucket_full_ratio: Some(255),
        granularity: Granularity::default(),
    };
    for (nsei, bvci) in [(3, 2), (2, 2), (1, 3)] {
        bench.bssgp(Nsei(nsei), Bvci(bvci), &Message::FlowControlMs(slow));
        assert!(bench.is_silent(), "NSE {nsei} BVC {bvci}");
    }
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 3)]);
    bench.downlink(0, NSAPI, b"down");
    assert!(bench.hear(0).1.ends_with(b"down"), "at the rate that it had");
    bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlMs(FlowControlMs { bucket_full_ratio: None, ..slow }));
    assert_eq!(bench.next_bssgp(), Message::FlowControlMsAck { tlli, tag: 1 });
}

#[test]
fn llc_discarded_by_the_bss_of_another_cell() {
    let mut bench = with_an_nse_elsewhere(true);
    let tlli = bench.phones[0].tlli;
    let discarded = LlcDiscarded { tlli, frames: 200, bvci: Bvci(2), octets: 300 };
    for nsei in [2, 3] {
        bench.bssgp(Nsei(nsei), Bvci::SIGNALLING, &Message::LlcDiscarded(discarded));
    }
    bench.signal(&Message::LlcDiscarded(LlcDiscarded { bvci: Bvci(3), ..discarded }));
    bench.signal(&Message::LlcDiscarded(LlcDiscarded { tlli: Tlli(0xc000_0001), ..discarded }));
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 4)]);
    // The cell that it has left, until FLUSH-LL is answered.
    bench.phones[0].cell = 1;
    bench.beacon(0);
    bench.sent.clear();
    bench.signal(&Message::LlcDiscarded(LlcDiscarded { frames: 2, ..discarded }));
    assert_eq!(bench.dropped(Drop::SgsnDiscardedByBss), 2);
    bench.pass_secs(3);
    bench.signal(&Message::LlcDiscarded(discarded));
    assert_eq!((bench.dropped(Drop::SgsnDiscardedByBss), bench.dropped(Drop::BssgpForeignMobile)), (2, 5));
}

#[test]
fn radio_status_from_another_cell() {
    let mut bench = with_an_nse_elsewhere(true);
    let (tlli, ptmsi) = (bench.phones[0].tlli, bench.phones[0].ptmsi.unwrap());
    let names = [MobileRef::Tlli(tlli), MobileRef::Imsi(imsi(0)), MobileRef::Tmsi(ptmsi.0)];
    for mobile in names {
        for (nsei, bvci) in [(3, 2), (2, 2), (1, 3)] {
            let lost = Message::RadioStatus { mobile, cause: RadioCause::ContactLost };
            bench.bssgp(Nsei(nsei), Bvci(bvci), &lost);
        }
    }
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 9)]);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    let lost = Message::RadioStatus { mobile: names[2], cause: RadioCause::ContactLost };
    bench.bssgp(Nsei(1), Bvci(2), &lost);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
}

/// Who asks for the radio access capability learns the IMSI.
#[test]
fn the_imsi_is_told_to_who_has_the_mobile_within_reach() {
    let mut bench = with_an_nse_elsewhere(false);
    let tlli = bench.phones[0].tlli;
    let ask = |bench: &mut Bench, nsei, bvci| {
        bench.bssgp(Nsei(nsei), Bvci(bvci), &Message::RaCapabilityUpdate { tlli, tag: 5 });
        match bench.next_bssgp() {
            Message::RaCapabilityUpdateAck(ack) => (ack.cause, ack.imsi, ack.ms_ra_capability.is_some()),
            other => panic!("{other:?}"),
        }
    };
    let nobody = (RaCapUpdCause::TlliUnknown, None, false);
    let known = (RaCapUpdCause::Ok, Some(imsi(0)), true);
    for (nsei, bvci, answer) in [(3, 2, nobody), (2, 2, nobody), (1, 2, known), (1, 3, known)] {
        assert_eq!(ask(&mut bench, nsei, bvci), answer, "NSE {nsei} BVC {bvci}");
    }
    bench.pass_secs(45);
    for (nsei, bvci, answer) in [(3, 2, nobody), (2, 2, known)] {
        assert_eq!(ask(&mut bench, nsei, bvci), answer, "in STANDBY the routing area counts");
    }
}

#[test]
fn flush_ll_ack_with_another_way_than_that_of_flush_ll() {
    for (new_bvci, new_nsei) in [(2, Some(3)), (2, None), (3, Some(2))] {
        let mut bench = with_an_nse_elsewhere(true);
        let tlli = bench.phones[0].tlli;
        bench.phones[0].cell = 1;
        bench.beacon(0);
        assert!(matches!(bench.next_bssgp(), Message::FlushLl { new_bvci: Some(Bvci(3)), .. }));
        let level = |bench: &Bench, cell| {
            bench.sgsn.gb().flow.cell_view(bench.around.now, cell).map(|view| view.level_octets)
        };
        let before: Vec<_> = (0..5).map(|cell| level(&bench, cell)).collect();
        let ack = FlushLlAck {
            tlli,
            action: FlushAction::Transferred,
            new_bvci: Some(Bvci(new_bvci)),
            octets: 60_000,
            new_nsei: new_nsei.map(Nsei),
        };
        bench.signal(&Message::FlushLlAck(ack));
        assert!((0..5).zip(&before).all(|(cell, before)| level(&bench, cell) <= *before));
        assert_eq!((bench.dropped(Drop::SgsnFlushUnexpected), bench.sgsn.stats().octets_moved), (1, 0));
    }
}

/// A cell that is not the BVC's moves no mobile to another routing area; its user data go on.
#[test]
fn ul_unitdata_that_names_another_cell() {
    let mut bench = Bench::attached(true);
    let ll_pdu = bench.ll_pdu(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, b"up"));
    bench.up_naming(0, &ll_pdu, CellId { rai: rai(0x55), ci: 1 });
    assert_eq!(bench.next_user().2, b"up");
    assert_eq!(bench.mobile(0).gmm.cell(), cell(0));
    assert_eq!(bench.drops(), [(Drop::BssgpOtherCell, 1)]);
}

#[test]
fn the_line_names_who_and_where() {
    let mut bench = with_an_nse_elsewhere(false);
    let tlli = bench.phones[0].tlli;
    bench.around.trace.is_listening = true;
    suspend(&mut bench, 3, rai(1));
    let lines = &bench.around.trace.lines;
    let line = lines.iter().find(|line| line.starts_with("SUSPEND")).expect("a line");
    for part in [format!("TLLI {tlli}"), format!("IMSI {}", imsi(0)), "NSEI 3".into(), "NSEI 1 BVCI 2".into()]
    {
        assert!(line.contains(&part), "{part}: {line}");
    }
}
