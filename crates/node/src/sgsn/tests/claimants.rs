//! An attach under the local TLLI of a mobile: the mobile's own, or somebody else's.

use super::bench::*;
use super::places::update_request;
use super::subscribers::*;
use super::uplink::sn_pdu;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_wire::gsup::Body;
use gannet_wire::id::Sapi;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// Phone 0 is attached; phone 1 sends under its local TLLI, in the same cell.
fn two_under_one_tlli(mut bench: Bench) -> Bench {
    let Phone { tlli, cell, .. } = bench.phones[0];
    bench.phones[1].power_cycle(tlli);
    bench.phones[1].cell = cell;
    bench
}

/// By the P-TMSI of phone 0, with this signature.
fn claim(bench: &Bench, signature: Option<PTmsiSignature>) -> AttachRequest {
    let identity = MobileIdentity::PTmsi(bench.phones[0].ptmsi.unwrap());
    AttachRequest { old_ptmsi_signature: signature, ..attach_request(identity) }
}

/// Phone 0 is served in both directions.
fn goes_on(bench: &mut Bench) {
    let number = u16::try_from(bench.sgsn.stats().n_pdu_uplink).unwrap();
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, number, b"up"));
    assert_eq!(bench.next_user().2, b"up");
    bench.downlink(0, NSAPI, b"down");
    let (sapi, octets) = bench.hear(0);
    assert_eq!((sapi, octets.ends_with(b"down")), (Sapi::DATA3, true));
}

fn hear_identity_request(bench: &mut Bench, phone: usize) {
    let message = bench.hear_gmm(phone);
    let GmmMessage::IdentityRequest(request) = message else { panic!("{message:?}") };
    assert_eq!(request.identity_type, IdentityType::Imsi);
}

fn name(phone: usize) -> IdentityResponse {
    IdentityResponse { identity: MobileIdentity::Imsi(imsi(phone)) }
}

/// A phone that has lost its signature is asked who it is, and is the same subscriber afterwards.
#[test]
fn its_own_p_tmsi_without_the_signature() {
    for signature in [None, Some(PTmsiSignature(0x01_0203))] {
        let mut bench = two_under_one_tlli(Bench::attached(true));
        let former = bench.slot(0);
        let request = claim(&bench, signature);
        bench.gmm(1, request.clone());
        hear_identity_request(&mut bench, 1);
        assert_eq!((bench.slot(0), bench.mobile(0).gmm.mm_state()), (former, MmState::Ready));
        assert_eq!(bench.mobile(0).bearers().count(), 1, "nothing is proved yet");
        // It repeats its request (T3310), which is counted, and answers.
        bench.gmm(1, request);
        assert_eq!(bench.drops(), [(Drop::GmmIgnored, 1)]);
        bench.gmm(1, name(0));
        let message = bench.hear_gmm(1);
        let GmmMessage::AttachAccept(accept) = message else { panic!("{message:?}") };
        assert_eq!(bench.slot(0), former, "until the attach is complete");
        bench.take_ptmsi(1, accept.allocated_ptmsi, accept.ptmsi_signature);
        bench.gmm(1, AttachComplete {});
        bench.delete_answer(NSAPI);
        assert_ne!(bench.slot(0), former);
        assert_eq!(bench.sgsn.mobiles().count(), 1, "the former context is gone");
        assert_eq!(bench.dropped(Drop::GmmUnexpected), 0);
        // It is this subscriber's only context, with service.
        bench.phones.swap(0, 1);
        bench.activate(0, NSAPI);
        bench.detach(0, true);
        bench.delete_answer(NSAPI);
        bench.assert_empty();
    }
}

/// Another subscriber under the TLLI of one that is served: each has its own context.
#[test]
fn anothers_p_tmsi_under_its_local_tlli() {
    let mut bench = two_under_one_tlli(Bench::attached(true));
    let (owner, key) = (bench.slot(0), bench.phones[0].tlli);
    let request = claim(&bench, Some(PTmsiSignature(1)));
    bench.gmm(1, request);
    hear_identity_request(&mut bench, 1);
    // Meanwhile the mobile goes on, in both directions, and its signalling is its own.
    goes_on(&mut bench);
    let activation = activate_request(gannet_wire::id::Nsapi(7));
    bench.sm(0, 1, activation);
    let (ggsn, sequence, create) = bench.next_create();
    bench.create_answer(ggsn, sequence, &create, gannet_wire::gtp::Cause::RequestAccepted);
    bench.hear_sm(0);
    bench.gmm(1, name(1));
    bench.accept_attach(1);
    assert_eq!(bench.slot(0), owner);
    assert_ne!((bench.slot(1), bench.phones[1].tlli), (owner, key));
    assert_eq!(bench.sgsn.mobiles().count(), 2);
    goes_on(&mut bench);
    bench.activate(1, NSAPI);
    assert_eq!(bench.drops(), []);
}

/// Who says no more after the IDENTITY REQUEST is forgotten, and the mobile was never touched.
#[test]
fn a_claim_that_nobody_completes() {
    let mut bench = two_under_one_tlli(Bench::attached(true));
    let owner = bench.slot(0);
    for identity in [MobileIdentity::PTmsi(bench.phones[0].ptmsi.unwrap()), MobileIdentity::Imsi(imsi(0))] {
        bench.gmm(1, attach_request(identity));
        bench.sent.clear();
        assert_eq!(bench.sgsn.mobiles().count(), 2);
        bench.beacon(0);
        // Five tries of T3370 or T3350, and the hour in which a P-TMSI that was given may still be used.
        for _ in 0..62 {
            bench.pass_secs(60);
            bench.beacon(0);
        }
        bench.sent.clear();
        assert_eq!((bench.sgsn.mobiles().count(), bench.slot(0)), (1, owner));
        assert_eq!(bench.mobile(0).bearers().count(), 1);
        goes_on(&mut bench);
    }
    assert!(
        bench.events.iter().all(|event| !matches!(event, SgsnEvent::Detached { .. })),
        "{:?}",
        bench.events
    );
}

/// The network's questions to a claimant reach the mobile, too, whose TLLI it is. Its answers complete the attach for the
/// claimant as far as they go; its own context stays, since it takes no ATTACH ACCEPT that it has not asked for.
#[test]
fn a_mobile_that_answers_for_its_claimant_loses_nothing() {
    let mut bench = with_hlr(|_| ());
    attach_with_hlr(&mut bench);
    bench.activate(0, NSAPI);
    let mut bench = two_under_one_tlli(bench);
    let owner = bench.slot(0);
    let request = claim(&bench, None);
    bench.gmm(1, request);
    hear_identity_request(&mut bench, 1);
    bench.gmm(0, name(0));
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    say(&mut bench, vectors(&[[0x22; 16]]), 0);
    let message = bench.hear_gmm(1);
    let GmmMessage::AuthenticationRequest(request) = message else { panic!("{message:?}") };
    answer(&mut bench, &request, &mut card());
    heard(&mut bench);
    located(&mut bench, subscription("*", 9));
    assert!(matches!(bench.hear_gmm(1), GmmMessage::AttachAccept(_)));
    bench.pass_secs(40);
    bench.sent.clear();
    assert_eq!((bench.slot(0), bench.mobile(0).bearers().count()), (owner, 1));
    assert!(bench.mobile(0).subscriber().is_some_and(|subscriber| subscriber.is_located()));
    // An hour later the claimant is forgotten, and the HLR is told nothing.
    for _ in 0..62 {
        bench.pass_secs(60);
        bench.beacon(0);
    }
    assert_eq!((bench.sgsn.mobiles().count(), heard(&mut bench)), (1, None));
}

/// What is no attach under the TLLI is the mobile's: an IDENTITY RESPONSE that nobody asked for, and user data.
#[test]
fn without_a_claimant_everything_is_the_mobiles() {
    let mut bench = two_under_one_tlli(Bench::attached(true));
    bench.gmm(0, name(1));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::GmmStatus(_)));
    assert_eq!(bench.drops(), [(Drop::GmmUnexpected, 1)]);
    assert_eq!(bench.sgsn.mobiles().count(), 1);
}

/// While the network has a question to the mobile itself, an answer in the mobile's name is the mobile's.
#[test]
fn a_mobile_that_is_asked_itself_answers_for_itself() {
    let mut bench = two_under_one_tlli(Bench::attached(true));
    let request = claim(&bench, None);
    bench.gmm(1, request);
    hear_identity_request(&mut bench, 1);
    let update = RauRequest {
        old_ptmsi_signature: Some(PTmsiSignature(9)),
        ..update_request(&bench, 0, UpdateKind::Periodic)
    };
    bench.gmm(0, update);
    hear_identity_request(&mut bench, 0);
    bench.gmm(0, name(0));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::RauAccept(_)));
    // The claimant's own name is the claimant's in any case.
    bench.gmm(1, name(1));
    bench.accept_attach(1);
    assert_eq!(bench.sgsn.mobiles().count(), 2);
}

/// A mobile that is switched off without its signature, or from an NSE in which it is not, stays.
#[test]
fn who_is_switched_off_shows_that_it_is_the_mobile() {
    let mut bench = Bench::attached(true);
    let unsigned = DetachRequestMo { ptmsi_signature: None, ..bench.detach_request(0, true) };
    let wrong = DetachRequestMo { ptmsi_signature: Some(PTmsiSignature(7)), ..unsigned.clone() };
    for doubted in [unsigned, wrong] {
        bench.gmm(0, doubted);
        hear_identity_request(&mut bench, 0);
        bench.gmm(0, name(0));
        assert!(bench.is_silent());
    }
    assert_eq!(bench.drops(), [(Drop::GmmDetachDoubted, 2)]);
    goes_on(&mut bench);
    bench.detach(0, true);
    bench.delete_answer(NSAPI);
    bench.assert_empty();
}

/// What a mobile has only asked for ends with a power-off detach that is not obeyed, at the GGSN too; what it has stays.
#[test]
fn a_doubted_power_off_gives_up_an_activation_under_way() {
    let mut bench = Bench::attached(true);
    let other = gannet_wire::id::Nsapi(6);
    bench.sm(0, 1, activate_request(other));
    let (ggsn, sequence, create) = bench.next_create();
    let unsigned = DetachRequestMo { ptmsi_signature: None, ..bench.detach_request(0, true) };
    bench.gmm(0, unsigned);
    hear_identity_request(&mut bench, 0);
    bench.gmm(0, name(0));
    bench.create_answer(ggsn, sequence, &create, gannet_wire::gtp::Cause::RequestAccepted);
    bench.delete_answer(other);
    assert!(bench.is_silent());
    assert_eq!(bench.mobile(0).bearers().count(), 1);
    goes_on(&mut bench);
}

#[test]
fn lines_about_a_mobile_name_it() {
    let mut bench = two_under_one_tlli(Bench::attached(true));
    bench.around.trace.is_listening = true;
    let request = claim(&bench, None);
    bench.gmm(1, request);
    let unsigned = DetachRequestMo { ptmsi_signature: None, ..bench.detach_request(0, true) };
    bench.gmm(0, unsigned);
    bench.gmm(0, GmmStatus { cause: GmmCause::Congestion });
    let Phone { tlli, .. } = bench.phones[0];
    let lines = &bench.around.trace.lines;
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for line in lines {
        assert!(
            line.contains(&format!("IMSI {}", imsi(0))) && line.contains(&format!("TLLI {tlli}")),
            "{line}"
        );
    }
    assert!(lines.iter().any(|line| line.ends_with("congestion (cause 22)")), "{lines:#?}");
}
