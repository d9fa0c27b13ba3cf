//! Attach, identity, collisions of TLLIs, detach, and mobiles that nobody knows.

use super::bench::*;
use crate::sgsn::owner::Owner;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerKey;
use gannet_proto::gmm::MmState;
use gannet_wire::id::{PTmsi, Sapi};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

fn by_ptmsi(bench: &Bench, phone: usize) -> AttachRequest {
    let identity = MobileIdentity::PTmsi(bench.phones[phone].ptmsi.unwrap());
    AttachRequest { old_ptmsi_signature: bench.phones[phone].signature, ..attach_request(identity) }
}

#[test]
fn by_imsi() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let random = bench.phones[0].tlli;
    let accept = bench.accept_attach(0);
    assert_eq!((accept.result, accept.rai), (AttachResult::Gprs, rai(1)));
    let ptmsi = bench.phones[0].ptmsi.unwrap();
    assert_eq!(ptmsi.0 >> 30, 3, "23.003 clause 2.4");
    assert!(accept.ptmsi_signature.is_some());
    assert_eq!(bench.events, [SgsnEvent::Attached { imsi: imsi(0) }]);
    assert_eq!(bench.sgsn.stats().attached, 1);
    let mobile = bench.mobile(0);
    assert_eq!((mobile.gmm.mm_state(), mobile.gmm.ptmsi()), (MmState::Ready, Some(ptmsi)));
    assert_eq!((mobile.llc.tlli(), mobile.llc.tlli_old()), (Some(Tlli::local(ptmsi)), None));
    // The random TLLI is nobody's now.
    bench.phones[0].tlli = random;
    bench.beacon(0);
    assert_eq!(bench.drops(), [(Drop::SgsnUnknownTlli, 1)]);
}

#[test]
fn by_a_ptmsi_that_is_not_known() {
    let mut bench = Bench::new(|config| config.gmm.ask_imei = true);
    let ptmsi = PTmsi(0xc123_4567);
    bench.phones[0].uses(Tlli::foreign(ptmsi));
    bench.gmm(0, attach_request(MobileIdentity::PTmsi(ptmsi)));
    let ask = |bench: &mut Bench| match bench.hear_gmm(0) {
        GmmMessage::IdentityRequest(request) => request.identity_type,
        other => panic!("{other:?}"),
    };
    assert_eq!(ask(&mut bench), IdentityType::Imsi);
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(0)) });
    assert_eq!(ask(&mut bench), IdentityType::Imei);
    let imei = "490154203237518".parse().unwrap();
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imei(imei) });
    bench.accept_attach(0);
    assert_eq!(bench.mobile(0).gmm.imei(), Some(imei));
    assert_eq!(bench.drops(), []);
}

#[test]
fn by_its_own_ptmsi_after_a_power_cycle() {
    let mut bench = Bench::attached(true);
    let slot = bench.slot(0);
    let request = by_ptmsi(&bench, 0);
    let ptmsi = bench.phones[0].ptmsi.unwrap();
    bench.phones[0].power_cycle(Tlli::foreign(ptmsi));
    bench.gmm(0, request);
    // Its context at the GGSN ends, and it is not asked who it is.
    bench.delete_answer(NSAPI);
    bench.accept_attach(0);
    assert_eq!(bench.slot(0), slot, "the same place in the table");
    assert_ne!(bench.phones[0].ptmsi, Some(ptmsi), "a new P-TMSI");
    assert_eq!(bench.mobile(0).bearers().count(), 0);
    assert_eq!(bench.drops(), []);
    bench.activate(0, NSAPI);
}

#[test]
fn at_once_by_imsi_after_a_power_cycle() {
    let mut bench = Bench::attached(true);
    let former = bench.slot(0);
    bench.phones[0].power_cycle(Tlli::random(77));
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.delete_answer(NSAPI);
    bench.accept_attach(0);
    assert_ne!(bench.slot(0), former);
    assert_eq!(bench.sgsn.mobiles().count(), 1, "the former context is gone");
    assert_eq!(bench.dropped(Drop::LlcDuplicate), 0);
    // The same again with the TLLI that it has now: its LLC counts from the beginning.
    let tlli = bench.phones[0].tlli;
    bench.phones[0].power_cycle(tlli);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.accept_attach(0);
    assert_eq!(bench.dropped(Drop::LlcDuplicate), 0);
}

#[test]
fn the_same_tlli_in_two_cells_is_two_mobiles() {
    let mut bench = Bench::new(|_| ());
    let first = Tlli(0x8000_0000);
    for phone in [0, 1] {
        bench.phones[phone].cell = phone;
        bench.phones[phone].uses(first);
        bench.gmm(phone, attach_request(MobileIdentity::PTmsi(PTmsi(0xc000_0000))));
    }
    for phone in [0, 1] {
        assert!(matches!(bench.hear_gmm(phone), GmmMessage::IdentityRequest(_)));
    }
    for phone in [1, 0] {
        bench.gmm(phone, IdentityResponse { identity: MobileIdentity::Imsi(imsi(phone)) });
    }
    bench.accept_attach(1);
    bench.accept_attach(0);
    assert_ne!(bench.phones[0].ptmsi, bench.phones[1].ptmsi);
    assert_eq!(bench.events.len(), 2);
    assert_eq!(bench.mobile(0).gmm.cell(), cell(0));
    assert_eq!(bench.mobile(1).gmm.cell(), cell(1));
}

#[test]
fn a_combined_attach_succeeds_for_gprs_alone() {
    let mut bench = Bench::new(|_| ());
    let attach_type = AttachType { kind: AttachKind::Combined, follow_on: false };
    bench.gmm(0, AttachRequest { attach_type, ..attach_request(MobileIdentity::Imsi(imsi(0))) });
    let accept = bench.accept_attach(0);
    assert_eq!((accept.result, accept.gmm_cause), (AttachResult::Gprs, Some(GmmCause::MscNotReachable)));
}

#[test]
fn an_accept_is_repeated_until_it_is_confirmed() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let first = bench.hear_gmm(0);
    bench.pass_secs(6);
    assert_eq!(bench.hear_gmm(0), first);
    bench.pass_secs(4 * 6);
    let sent = bench.sent.len();
    assert_eq!(sent, 3, "five in all");
    bench.pass_secs(60);
    assert_eq!(bench.sent.len(), sent);
    assert_eq!(bench.drops(), [(Drop::GmmNoAnswer, 1)]);
    assert_eq!(bench.events, []);
}

#[test]
fn the_operator_refuses_an_attach_that_is_not_complete() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::AttachAccept(_)));
    bench.order(SgsnCommand::Detach { imsi: imsi(0), reattach: false });
    let GmmMessage::AttachReject(reject) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(reject.cause, GmmCause::NetworkFailure);
    assert_eq!(bench.drops(), [(Drop::GmmRejected, 1)]);
    bench.assert_empty();
}

#[test]
fn a_full_table_of_mobiles() {
    let mut bench = Bench::new(|config| config.mobiles_max = 2);
    bench.attach(0);
    bench.attach(1);
    bench.gmm(2, attach_request(MobileIdentity::Imsi(imsi(2))));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SgsnMobileTableFull, 1)]);
    bench.detach(0, true);
    bench.phones[2].power_cycle(Tlli::random(2));
    bench.attach(2);
}

#[test]
fn a_mobile_that_only_attaches_gives_way_when_the_table_is_full() {
    let mut bench = Bench::new(|config| config.mobiles_max = 2);
    bench.attach(0);
    // Its subscriber is invented: it never completes.
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(1))));
    assert!(matches!(bench.hear_gmm(1), GmmMessage::AttachAccept(_)));
    bench.attach(2);
    assert_eq!(bench.drops(), [(Drop::SgsnEvicted, 1)]);
    assert!(bench.sgsn.mobile_of(imsi(0)).is_some() && bench.sgsn.mobile_of(imsi(1)).is_none());
}

#[test]
fn no_ptmsi_is_left() {
    let mut bench = Bench::attached(false);
    let slot = bench.slot(0);
    // All that the dice will throw are somebody's already.
    let mut dice = bench.around.rng.clone();
    for _ in 0..64 {
        bench.sgsn.name_ptmsi(PTmsi(dice.u32() | 0xc000_0000), slot);
    }
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(1))));
    let GmmMessage::AttachReject(_) = bench.hear_gmm(1) else { panic!() };
    assert_eq!(bench.dropped(Drop::SgsnNoPTmsi), 1);
    assert_eq!(bench.sgsn.mobiles().count(), 1);
}

#[test]
fn detach_by_the_mobile() {
    for power_off in [false, true] {
        let mut bench = Bench::attached(true);
        bench.detach(0, power_off);
        if !power_off {
            // The accept is on its way before the mobile is forgotten.
            let at = bench.sent.iter().position(|sent| matches!(sent, Sent::Down(_))).unwrap();
            let Some(Sent::Down(down)) = bench.sent.remove(at) else { panic!() };
            let (_, octets) = bench.open(0, &down.ll_pdu);
            assert_eq!(octets, [0x08, 0x06, 0x00]);
        }
        bench.delete_answer(NSAPI);
        assert!(bench.is_silent());
        assert_eq!(bench.events.last(), Some(&SgsnEvent::Detached { imsi: imsi(0) }));
        assert_eq!(bench.drops(), []);
        bench.assert_empty();
    }
}

#[test]
fn detach_by_the_operator() {
    for reattach in [true, false] {
        let mut bench = Bench::attached(true);
        bench.order(SgsnCommand::Detach { imsi: imsi(0), reattach });
        bench.delete_answer(NSAPI);
        let GmmMessage::DetachRequestMt(request) = bench.hear_gmm(0) else { panic!() };
        assert_eq!(request.detach_type == DetachTypeMt::ReattachRequired, reattach);
        bench.gmm(0, DetachAcceptMt {});
        assert!(bench.is_silent());
        assert_eq!(bench.events.last(), Some(&SgsnEvent::Detached { imsi: imsi(0) }));
        bench.assert_empty();
        // Nobody of that name.
        bench.order(SgsnCommand::Detach { imsi: imsi(0), reattach });
        bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
        assert!(bench.is_silent());
    }
}

#[test]
fn a_mobile_that_is_not_heard_any_more_is_detached() {
    let mut bench = Bench::attached(true);
    bench.pass_secs(44 + (54 + 4 + 60) * 60);
    bench.delete_answer(NSAPI);
    assert_eq!(bench.events.last(), Some(&SgsnEvent::Detached { imsi: imsi(0) }));
    assert_eq!(bench.drops(), [(Drop::GmmImplicitDetach, 1)]);
    bench.assert_empty();
}

#[test]
fn a_stranger_is_told_to_attach_again() {
    let mut bench = Bench::new(|config| config.stranger_answers_per_second = 1);
    bench.phones[0].uses(Tlli(0xc000_0001));
    bench.unitdata(0, Sapi::GMM, &[0x0a, 0x41]);
    // A reset of the logical links, then the message.
    let reset = bench.next_down();
    assert_eq!(reset.ll_pdu[..2], [0x41, 0xfb], "XID command on SAPI 1");
    let GmmMessage::DetachRequestMt(request) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(request.detach_type, DetachTypeMt::ReattachRequired);
    assert_eq!(request.cause, Some(GmmCause::ImplicitlyDetached));
    assert_eq!(bench.events, [SgsnEvent::StrangerAnswered { tlli: Tlli(0xc000_0001) }]);
    assert_eq!(bench.drops(), [(Drop::SgsnUnknownTlli, 1)]);
    // Only as often as the limit says: twice a second's worth at most.
    for _ in 0..5 {
        bench.unitdata(0, Sapi::GMM, &[0x0a, 0x41]);
    }
    assert_eq!(bench.sent.len(), 2);
    assert_eq!(bench.dropped(Drop::SgsnStrangerUnanswered), 4);
    assert_eq!(bench.sgsn.mobiles().count(), 0);
    bench.sent.clear();
    bench.assert_empty();
}

#[test]
fn a_request_of_a_stranger_that_cannot_be_read_is_rejected() {
    let mut bench = Bench::new(|_| ());
    let mut told = |octets: &[u8], tlli| {
        bench.phones[0].power_cycle(Tlli::random(tlli));
        bench.unitdata(0, Sapi::GMM, octets);
        bench.next_down();
        bench.hear_gmm(0)
    };
    // ATTACH REQUEST and ROUTING AREA UPDATE REQUEST without their elements.
    let cause = GmmCause::InvalidMandatoryInformation;
    assert_eq!(told(&[0x08, 0x01], 1), AttachReject { cause, t3302: None }.into());
    assert!(matches!(told(&[0x08, 0x08], 2), GmmMessage::RauReject(reject) if reject.cause == cause));
    // Another message of a mobile that takes itself for attached.
    assert!(matches!(told(&[0x08, 0x7f], 3), GmmMessage::DetachRequestMt(_)));
    bench.assert_empty();
}

#[test]
fn what_a_stranger_sends_that_is_no_llc_frame_is_not_answered() {
    let mut bench = Bench::new(|_| ());
    bench.up(0, &[0x01, 0xc0]);
    bench.up(0, &[]);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::LlcMalformed, 2), (Drop::SgsnUnknownTlli, 2)]);
    bench.detach(0, true);
    assert!(bench.is_silent());
}

#[test]
fn a_mobile_that_is_not_attached_has_no_sessions() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::PTmsi(PTmsi(0xc123_4567))));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)));
    bench.sm(0, 0, activate_request(NSAPI));
    // The malformed alike.
    bench.unitdata(0, Sapi::GMM, &[0x0a, 0x41]);
    assert!(bench.is_silent());
    assert_eq!(bench.dropped(Drop::SgsnSmUnattached), 2);
}

#[test]
fn layer_3_that_cannot_be_read() {
    let mut bench = Bench::attached(false);
    // GMM: an unknown type; SM: one without its elements; neither.
    bench.unitdata(0, Sapi::GMM, &[0x08, 0x7f]);
    let GmmMessage::GmmStatus(status) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(status.cause, GmmCause::MessageTypeNonExistent);
    bench.unitdata(0, Sapi::GMM, &[0x0a, 0x41]);
    assert!(matches!(bench.hear_sm(0), gannet_wire::l3::sm::SmMessage::ActivateReject(_)));
    let before = bench.dropped(Drop::GmmMalformed);
    bench.unitdata(0, Sapi::GMM, &[0x05, 0x01]);
    bench.unitdata(0, Sapi::GMM, &[0x18, 0x01]);
    assert!(bench.is_silent());
    assert_eq!(bench.dropped(Drop::GmmMalformed), before + 2);
}

#[test]
fn a_wake_up_is_named_by_the_timer_that_is_due_first() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let (slot, _) = bench.sgsn.mobiles().next().unwrap();
    let key = Owner::Gmm.of_mobile(slot);
    assert_eq!(bench.sgsn.timer_name(key), "T3322, T3350, T3360 or T3370");
    bench.accept_attach(0);
    assert_eq!(bench.sgsn.timer_name(key), "T3314");
    assert_eq!(bench.sgsn.timer_name(Owner::Charging.of_node()), "charging");
    assert_eq!(bench.sgsn.timer_name(TimerKey { owner: 200, ..key }), "a timer of nobody");
}
