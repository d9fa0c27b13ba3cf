//! A mobile that moves: cell updates and routing area updates.

use super::bench::*;
use super::uplink::sn_pdu;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::id::{Bvci, Nsei, PTmsi, Plmn, Rai, Sapi};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

pub fn update_request(bench: &Bench, phone: usize, kind: UpdateKind) -> RauRequest {
    RauRequest {
        update_type: UpdateType { kind, follow_on: false },
        cksn: Cksn::NO_KEY,
        old_rai: rai(1),
        ms_radio_access_capability: MsRadioAccessCapability(CAPABILITY.to_vec()),
        old_ptmsi_signature: bench.phones[phone].signature,
        requested_ready_timer: None,
        drx: None,
        tmsi_status: None,
        ptmsi: None,
        ms_network_capability: None,
        pdp_context_status: None,
    }
}

pub fn accept_of(message: GmmMessage) -> RauAccept {
    match message {
        GmmMessage::RauAccept(accept) => accept,
        other => panic!("{other:?}"),
    }
}

/// The phone moves to cell 3, which is of another routing area, and says so.
pub fn move_to_other_area(bench: &mut Bench, kind: UpdateKind) {
    bench.phones[0].cell = 3;
    let ptmsi = bench.phones[0].ptmsi.unwrap();
    bench.phones[0].uses(Tlli::foreign(ptmsi));
    let request = update_request(bench, 0, kind);
    bench.gmm(0, request);
}

/// Two LL-PDUs wait for phone 0, whose cell is blocked.
fn queued() -> Bench {
    let mut bench = Bench::attached(true);
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    bench.downlink(0, NSAPI, b"one");
    bench.downlink(0, NSAPI, b"two");
    bench.sent.clear();
    bench
}

#[test]
fn a_cell_update_to_another_nse_of_the_routing_area_moves_the_queue_too() {
    let mut bench = queued();
    let tlli = bench.phones[0].tlli;
    bench.phones[0].cell = 2;
    bench.beacon(0);
    // The old BSS deletes what it has.
    let flush = Message::FlushLl { tlli, old_bvci: Bvci(2), new_bvci: None, new_nsei: None };
    assert_eq!(bench.next(), Sent::Bssgp(Nsei(1), Bvci::SIGNALLING, flush));
    assert_eq!(bench.hear(0).1[4..], *b"one");
    assert_eq!(bench.hear(0).1[4..], *b"two");
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_change_of_the_routing_area_flushes() {
    let mut bench = queued();
    move_to_other_area(&mut bench, UpdateKind::Ra);
    let flush = bench.next();
    assert!(matches!(
        flush,
        Sent::Bssgp(Nsei(1), Bvci::SIGNALLING, Message::FlushLl { old_bvci: Bvci(2), new_bvci: None, .. })
    ));
    assert_eq!(bench.drops(), [(Drop::FlowFlushed, 2)]);
    let accept = accept_of(bench.hear_gmm(0));
    assert_eq!(accept.rai, rai(2));
}

#[test]
fn a_routing_area_update() {
    let mut bench = Bench::attached(true);
    let former = bench.phones[0].ptmsi;
    move_to_other_area(&mut bench, UpdateKind::Ra);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
    let accept = accept_of(bench.hear_gmm(0));
    super::cell_change::deleted(&mut bench, Tlli::local(former.unwrap()));
    assert_eq!((accept.rai, accept.result, accept.gmm_cause), (rai(2), UpdateResult::Ra, None));
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    assert_ne!(bench.phones[0].ptmsi, former, "its TLLI is local again");
    bench.gmm(0, RauComplete { receive_npdu_numbers: None });
    let mobile = bench.mobile(0);
    assert_eq!((mobile.gmm.routing_area(), mobile.gmm.ptmsi()), (rai(2), bench.phones[0].ptmsi));
    assert_eq!(mobile.foreign(), None);
    // It is paged where it is now, through the one NSE that has cells there.
    bench.pass_secs(45);
    bench.downlink(0, NSAPI, b"n-pdu");
    assert!(matches!(bench.next(), Sent::Bssgp(Nsei(2), Bvci::SIGNALLING, Message::PagingPs(_))));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_combined_update_succeeds_for_gprs_alone() {
    let mut bench = Bench::attached(false);
    move_to_other_area(&mut bench, UpdateKind::Combined);
    bench.next_bssgp();
    let accept = accept_of(bench.hear_gmm(0));
    assert_eq!((accept.result, accept.gmm_cause), (UpdateResult::Ra, Some(GmmCause::MscNotReachable)));
}

#[test]
fn a_periodic_update_keeps_the_ptmsi_and_makes_ready() {
    let mut bench = Bench::attached(true);
    bench.pass_secs(50 * 60);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    let request = update_request(&bench, 0, UpdateKind::Periodic);
    bench.gmm(0, request);
    let accept = accept_of(bench.hear_gmm(0));
    assert_eq!((accept.rai, accept.allocated_ptmsi), (rai(1), None));
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    assert_eq!(bench.mobile(0).bearers().count(), 1);
    // And it starts the mobile reachable timer anew.
    bench.pass_secs(50 * 60);
    bench.downlink(0, NSAPI, b"n-pdu");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
}

#[test]
fn contexts_that_the_mobile_does_not_know_end() {
    let mut bench = Bench::attached(true);
    bench.activate(0, Nsapi(6));
    let mut status = PdpContextStatus::default();
    status.set(Nsapi(6));
    let request =
        RauRequest { pdp_context_status: Some(status), ..update_request(&bench, 0, UpdateKind::Periodic) };
    bench.gmm(0, request);
    bench.delete_answer(NSAPI);
    assert_eq!(accept_of(bench.hear_gmm(0)).pdp_context_status, Some(status));
    assert_eq!(bench.mobile(0).sm().status(), status);
    assert_eq!(bench.drops(), []);
}

#[test]
fn an_update_with_another_signature_is_asked_who_it_is() {
    let mut bench = Bench::attached(false);
    let request = RauRequest {
        old_ptmsi_signature: Some(PTmsiSignature(1)),
        ..update_request(&bench, 0, UpdateKind::Periodic)
    };
    bench.gmm(0, request);
    assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)));
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(1)) });
    let GmmMessage::RauReject(reject) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(reject.cause, GmmCause::IdentityUnknown);
    assert_eq!(bench.mobile(0).imsi(), Some(imsi(0)));
}

#[test]
fn an_update_of_a_mobile_that_is_not_known() {
    for old_rai in [rai(1), rai(77)] {
        let mut bench = Bench::new(|_| ());
        bench.phones[0].uses(Tlli(0x8123_4567));
        let request = RauRequest { old_rai, ..update_request(&bench, 0, UpdateKind::Ra) };
        bench.gmm(0, request);
        bench.next_down();
        let GmmMessage::RauReject(reject) = bench.hear_gmm(0) else { panic!() };
        assert_eq!(reject.cause, GmmCause::ImplicitlyDetached);
        assert_eq!(bench.drops(), [(Drop::SgsnUnknownTlli, 1)]);
        bench.assert_empty();
    }
}

/// Clause 4.7.5.1.6 c: ROUTING AREA UPDATE ACCEPT was sent as often as it may be, and COMPLETE never came.
fn unconfirmed() -> (Bench, RauAccept) {
    let mut bench = Bench::attached(true);
    let former = bench.phones[0].tlli;
    move_to_other_area(&mut bench, UpdateKind::Ra);
    bench.next_bssgp();
    let accept = accept_of(bench.hear_gmm(0));
    super::cell_change::deleted(&mut bench, former);
    bench.pass_secs(30);
    assert_eq!(bench.drops(), [(Drop::GmmNoAnswer, 1)]);
    bench.sent.clear();
    (bench, accept)
}

fn goes_both_ways(bench: &mut Bench, number: u16) {
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, number, b"up"));
    assert_eq!(bench.next_user().2, b"up");
    bench.downlink(0, NSAPI, b"down");
    assert!(bench.hear(0).1.ends_with(b"down"));
}

/// By whom the SGSN pages now.
fn paged(bench: &mut Bench) -> Option<PTmsi> {
    match bench.next_bssgp() {
        Message::PagingPs(paging) => paging.ptmsi.map(PTmsi),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mobile_is_served_under_the_old_p_tmsi_where_the_new_one_was_not_confirmed() {
    let (mut bench, accept) = unconfirmed();
    let old = bench.phones[0].ptmsi.unwrap();
    for (number, tlli) in [(0, Tlli::foreign(old)), (1, Tlli::local(old))] {
        bench.phones[0].tlli = tlli;
        goes_both_ways(&mut bench, number);
    }
    assert_eq!(bench.mobile(0).gmm.ptmsi(), Some(old));
    // Its next update names the old one, is taken without a question, and brings it another one.
    let request = update_request(&bench, 0, UpdateKind::Ra);
    bench.gmm(0, request);
    let again = accept_of(bench.hear_gmm(0));
    assert!(again.allocated_ptmsi.is_some() && again.allocated_ptmsi != accept.allocated_ptmsi);
    bench.take_ptmsi(0, again.allocated_ptmsi, again.ptmsi_signature);
    bench.gmm(0, RauComplete { receive_npdu_numbers: None });
    goes_both_ways(&mut bench, 2);
    assert_eq!(bench.sgsn.directory.by_ptmsi(old), None);
    bench.detach(0, true);
    bench.delete_answer(NSAPI);
    bench.assert_empty();
}

#[test]
fn a_mobile_is_found_under_the_new_p_tmsi_where_it_was_not_confirmed() {
    let (mut bench, accept) = unconfirmed();
    let old = bench.phones[0].ptmsi;
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    let new = bench.phones[0].ptmsi;
    // In STANDBY nobody knows which one it listens to.
    bench.pass_secs(45);
    bench.downlink(0, NSAPI, b"held");
    assert_eq!(paged(&mut bench), old);
    bench.pass_secs(10);
    assert_eq!(paged(&mut bench), old);
    bench.pass_secs(10);
    assert_eq!(paged(&mut bench), new);
    bench.beacon(0);
    assert!(bench.hear(0).1.ends_with(b"held"));
    goes_both_ways(&mut bench, 0);
    assert_eq!((bench.mobile(0).gmm.ptmsi(), bench.sgsn.directory.by_ptmsi(old.unwrap())), (new, None));
    bench.detach(0, true);
    bench.delete_answer(NSAPI);
    bench.assert_empty();
}

/// 03.60 clause 6.9.1 [23.060]: in another routing area a mobile updates first.
#[test]
fn user_data_from_another_routing_area_is_dropped_and_moves_nobody() {
    let mut bench = Bench::attached(true);
    let here = bench.mobile(0).gmm.cell();
    bench.phones[0].cell = 3;
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, b"up"));
    bench.beacon(0);
    bench.sm(0, 1, activate_request(Nsapi(6)));
    assert!(bench.is_silent(), "neither a G-PDU nor FLUSH-LL, nor a tunnel");
    assert_eq!(bench.drops(), [(Drop::SgsnOtherRoutingArea, 3)]);
    assert_eq!(bench.mobile(0).gmm.cell(), here);
    bench.phones[0].cell = 0;
    bench.downlink(0, NSAPI, b"down");
    assert!(bench.hear(0).1.ends_with(b"down"), "where the mobile is");
    // After the update it is served there.
    move_to_other_area(&mut bench, UpdateKind::Ra);
    bench.next_bssgp();
    let accept = accept_of(bench.hear_gmm(0));
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    bench.gmm(0, RauComplete { receive_npdu_numbers: None });
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 1, b"up"));
    assert_eq!(bench.next_user().2, b"up");
    assert_eq!(bench.dropped(Drop::SgsnOtherRoutingArea), 3);
}

/// The same on SAPI 1, ciphered or not: only ATTACH, DETACH and ROUTING AREA UPDATE REQUEST come from there.
#[test]
fn signalling_from_another_routing_area_moves_nobody() {
    for ciphered in [false, true] {
        let mut bench = Bench::attached(true);
        if ciphered {
            let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
            let (slot, tlli) = (bench.slot(0), bench.phones[0].tlli);
            bench.sgsn.mobiles.get_mut(slot).unwrap().llc.set_ciphering(ciphering);
            bench.phones[0].llc.assign(Some(tlli), None, ciphering);
        }
        let here = bench.mobile(0).gmm.cell();
        bench.phones[0].cell = 3;
        let status = L3Message::Gmm(GmmStatus { cause: GmmCause::ProtocolError }.into()).to_vec();
        let message = activate_request(Nsapi(6)).into();
        let activation = L3Message::Sm { ti: 1, ti_flag: false, message }.to_vec();
        for octets in [&status[..], &activation, &[0x08, 0xff], &[]] {
            let mut frame = bench.air.frames.copy_of(octets).unwrap();
            bench.phones[0].llc.unitdata_request(Sapi::GMM, true, ciphered, &mut frame).unwrap();
            bench.up(0, &frame);
        }
        bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(0)) });
        // An XID command on SAPI 1 whose parameter begins as a GMM message does.
        let mut xid = vec![0x01, 0xfb, 0x08];
        xid.extend(gannet_wire::fcs24::fcs24(&xid));
        bench.up(0, &xid);
        assert!(bench.is_silent(), "ciphered: {ciphered}");
        assert_eq!(bench.drops(), [(Drop::SgsnOtherRoutingArea, 6)]);
        assert_eq!(bench.mobile(0).gmm.cell(), here);
        // The update goes on as ever, with the questions that belong to it.
        let request = RauRequest { old_rai: rai(77), ..update_request(&bench, 0, UpdateKind::Ra) };
        bench.gmm(0, request);
        assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
        assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)));
        bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(0)) });
        assert_eq!(accept_of(bench.hear_gmm(0)).rai, rai(2));
        assert_eq!(bench.dropped(Drop::SgsnOtherRoutingArea), 6);
    }
}

/// An update under the local TLLI whose old routing area is not where the mobile was: identified, and another one rejected.
#[test]
fn an_update_that_comes_from_where_the_mobile_was_not_is_identified() {
    for old_rai in [rai(2), rai(77), Rai { plmn: Plmn::new(262, 1, false), ..rai(1) }] {
        for (phone, served) in [(0, true), (1, false)] {
            let mut bench = Bench::attached(true);
            let request = RauRequest { old_rai, ..update_request(&bench, 0, UpdateKind::Ra) };
            bench.gmm(0, request);
            assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)), "{old_rai}");
            bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(phone)) });
            match bench.hear_gmm(0) {
                GmmMessage::RauAccept(_) => assert!(served),
                GmmMessage::RauReject(reject) => {
                    assert_eq!((served, reject.cause), (false, GmmCause::IdentityUnknown));
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(bench.mobile(0).bearers().count(), 1, "it keeps its context");
        }
    }
}

/// A BVC-RESET for a cell of another routing area, which the mobiles know nothing of, costs them nothing.
#[test]
fn a_bvc_that_was_reset_for_a_wrong_cell_keeps_nobodys_user_data() {
    let mut bench = Bench::attached(true);
    bench.reset_bvc(cell(0).nsei, cell(0).bvci, Some(cell(3).id));
    bench.sent.clear();
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, b"up"));
    assert_eq!(bench.next_user().2, b"up");
    assert_eq!(bench.drops(), [(Drop::BssgpOtherCell, 1)]);
}
