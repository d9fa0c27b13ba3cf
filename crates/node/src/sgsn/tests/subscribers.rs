//! Policies, and an HLR that says what a test lets it say.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::{Peer, StreamState};
use gannet_proto::auth::card::{CardAnswer, GsmSim, Sim};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::vectors::Ciphers;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::gsup::{
    AuthTuple, AuthVectors, Body, Cancel, CancelType, Domain, Message, PdpInfo, Refusal, SubscribedApn,
    Subscription, Triplet,
};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::value::{Qos, SelectionMode};
use gannet_wire::ipa::{self, Ccm};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::{ActivateRequest, SmMessage};

pub const KI: Key128 = Key128([0x5a; 16]);
pub const RAND: [u8; 16] = [0x11; 16];

pub fn card() -> GsmSim {
    GsmSim { algorithm: Comp128::V1, ki: KI }
}

/// GEA3 for a phone that has it.
pub fn with_gea3() -> MsNetworkCapability {
    MsNetworkCapability(Octets::from_start(&[0xe5, 0xe0]))
}

pub fn octets(bench: &mut Bench, octets: &[u8]) {
    let frame = bench.around.frames.copy_of(octets).unwrap();
    bench.input(Input::Datagram { port: HLR, peer: Peer::Link, frame });
}

pub fn say(bench: &mut Bench, body: Body, phone: usize) {
    say_of(bench, imsi(phone), body);
}

pub fn say_of(bench: &mut Bench, imsi: Imsi, body: Body) {
    let mut message = Vec::new();
    ipa::put_extension(ipa::EXTENSION_GSUP, &Message::new(imsi, body).to_vec(), &mut message);
    octets(bench, &message);
}

/// The next message of GSUP that the HLR gets.
pub fn heard(bench: &mut Bench) -> Option<Body> {
    loop {
        let message = bench.to_hlr.next_message().unwrap()?;
        if message.protocol == ipa::PROTOCOL_OSMO {
            return Some(Message::parse(&message.payload[1..]).unwrap().body);
        }
    }
}

pub fn with_hlr(change: impl FnOnce(&mut SgsnConfig)) -> Bench {
    let mut bench = Bench::new(|config| {
        config.subscribers.policy = AuthPolicy::Remote;
        change(config);
    });
    bench.input(Input::Stream { port: HLR, state: StreamState::Connected });
    for ccm in [Ccm::IdGet(Vec::new()), Ccm::IdAck] {
        octets(&mut bench, &ccm.to_vec());
    }
    assert!(bench.sgsn.subscribers().hlr().is_some_and(|hlr| hlr.is_up()));
    assert_eq!(heard(&mut bench), None);
    bench
}

pub fn vectors(rands: &[[u8; 16]]) -> Body {
    let tuple = |rand: &[u8; 16]| {
        let (sres, kc) = Comp128::V1.run(&KI, rand);
        AuthTuple { rand: *rand, triplet: Some(Triplet { sres, kc: kc.0 }), quintuplet: None }
    };
    Body::SendAuthInfoResult(AuthVectors { tuples: rands.iter().map(tuple).collect(), cn_domain: None })
}

pub fn subscription(apn: &str, peak: u8) -> Subscription {
    subscription_of(apn, &QosProfile { peak: PeakThroughput(peak), ..QosProfile::BEST_EFFORT })
}

pub fn subscription_of(apn: &str, profile: &QosProfile) -> Subscription {
    let apn = if apn == "*" { SubscribedApn::Any } else { SubscribedApn::Name(apn.parse().unwrap()) };
    let qos = Some(Qos::new(2, profile));
    let info = PdpInfo { context_id: 1, address: None, apn: Some(apn), qos, charging: None };
    Subscription {
        msisdn: None,
        hlr_number: None,
        pdp_info_complete: true,
        pdp_infos: vec![info],
        charging: None,
        cn_domain: None,
    }
}

pub fn challenge(bench: &mut Bench) -> AuthenticationRequest {
    match bench.hear_gmm(0) {
        GmmMessage::AuthenticationRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

pub fn answer(bench: &mut Bench, request: &AuthenticationRequest, card: &mut impl Sim) {
    let CardAnswer::Sres(sres) = card.answer(&request.rand.unwrap().0, None).answer else { panic!() };
    bench.gmm(
        0,
        AuthenticationResponse {
            reference: request.reference,
            response: Some(AuthParameterResponse(sres)),
            imeisv: None,
            extended_response: None,
        },
    );
}

pub fn request_attach(bench: &mut Bench) {
    let ms_network_capability = with_gea3();
    let request = attach_request(MobileIdentity::Imsi(imsi(0)));
    bench.gmm(0, AttachRequest { ms_network_capability, ..request });
}

/// Up to the question where it is.
pub fn authenticated(bench: &mut Bench) -> AuthenticationRequest {
    request_attach(bench);
    assert!(matches!(heard(bench), Some(Body::SendAuthInfoRequest(_))));
    say(bench, vectors(&[RAND]), 0);
    let request = challenge(bench);
    answer(bench, &request, &mut card());
    assert!(matches!(heard(bench), Some(Body::UpdateLocationRequest(_))));
    assert!(bench.is_silent(), "it waits for the HLR");
    request
}

pub fn located(bench: &mut Bench, data: Subscription) {
    say(bench, Body::InsertSubscriberDataRequest(data), 0);
    assert!(matches!(heard(bench), Some(Body::InsertSubscriberDataResult(_))));
    say(
        bench,
        Body::UpdateLocationResult(Subscription {
            pdp_info_complete: false,
            pdp_infos: Vec::new(),
            ..subscription("*", 9)
        }),
        0,
    );
}

/// Phone 0 attaches with what the HLR says of it.
pub fn attach_with_hlr(bench: &mut Bench) {
    authenticated(bench);
    located(bench, subscription("*", 9));
    bench.accept_attach(0);
}

#[test]
fn a_subscriber_of_the_hlr_attaches_and_its_frames_are_ciphered() {
    let mut bench = with_hlr(|config| config.subscribers.ciphers = Ciphers(0b1000));
    let request = authenticated(&mut bench);
    assert_eq!(request.ciphering, CipheringAlgorithm(3));
    located(&mut bench, subscription("internet", 4));
    let (_, kc) = Comp128::V1.run(&KI, &RAND);
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, kc.0).unwrap();
    assert_eq!(bench.mobile(0).llc.ciphering(), ciphering);
    // Without the key the phone cannot read what it is told.
    let phone = &mut bench.phones[0];
    phone.llc.assign(Some(phone.tlli), None, ciphering);
    let accept = bench.hear_gmm(0);
    let GmmMessage::AttachAccept(accept) = accept else { panic!("{accept:?}") };
    let Some(MobileIdentity::PTmsi(ptmsi)) = accept.allocated_ptmsi else { panic!() };
    assert_eq!(bench.drops(), []);
    // What somebody else says for it in the clear is not believed.
    bench.phones[0].uses(gannet_wire::id::Tlli::local(ptmsi));
    bench.gmm(0, AttachComplete {});
    assert_eq!(bench.drops(), [(Drop::LlcUnciphered, 1)]);
    assert_eq!(bench.sgsn.stats().attached, 0);
}

#[test]
fn who_does_not_know_the_key_is_rejected_and_the_hlr_is_told() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    say(&mut bench, vectors(&[RAND]), 0);
    let request = challenge(&mut bench);
    answer(&mut bench, &request, &mut GsmSim { ki: Key128([1; 16]), ..card() });
    assert!(matches!(heard(&mut bench), Some(Body::AuthFailureReport(_))));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::AuthenticationReject(_)));
    assert_eq!(bench.drops(), [(Drop::GmmAuthenticationFailed, 1)]);
    bench.assert_empty();
}

#[test]
fn an_impostor_takes_nothing_from_the_mobile_that_he_claims_to_be() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription("*", 9));
    bench.accept_attach(0);
    let slot = bench.slot(0);
    // Another phone says that it is the same subscriber, and does not know the key.
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(0))));
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    assert_eq!(bench.slot(0), slot, "nothing happened to it");
    say(&mut bench, vectors(&[[0x22; 16]]), 0);
    let GmmMessage::AuthenticationRequest(request) = bench.hear_gmm(1) else { panic!() };
    let response = Some(AuthParameterResponse([0; 4]));
    bench.gmm(
        1,
        AuthenticationResponse {
            reference: request.reference,
            response,
            imeisv: None,
            extended_response: None,
        },
    );
    assert!(matches!(bench.hear_gmm(1), GmmMessage::AuthenticationReject(_)));
    assert_eq!(bench.slot(0), slot);
    assert!(bench.mobile(0).subscriber().is_some_and(|subscriber| subscriber.is_located()));
    bench.activate(0, NSAPI);
}

#[test]
fn what_the_hlr_refuses_the_mobile_is_told() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    let refusal = Refusal { cause: GmmCause::ImsiUnknownInHlr, cn_domain: None };
    say(&mut bench, Body::SendAuthInfoError(refusal), 0);
    let GmmMessage::AttachReject(reject) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(reject.cause, GmmCause::ImsiUnknownInHlr);
    assert_eq!(bench.drops(), [(Drop::GmmRejected, 1), (Drop::GsupRefused, 1)]);
    bench.assert_empty();
}

#[test]
fn a_link_that_is_lost_for_long_ends_what_waits_for_it() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    bench.input(Input::Stream { port: HLR, state: StreamState::Lost });
    bench.pass_secs(6);
    let GmmMessage::AttachReject(reject) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(reject.cause, GmmCause::NetworkFailure);
    assert_eq!(bench.drops(), [(Drop::GmmRejected, 1), (Drop::GsupLinkDown, 1)]);
    bench.assert_empty();
}

#[test]
fn a_mobile_gets_its_subscription_and_no_more() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription("internet", 4));
    bench.accept_attach(0);
    let wish = QosProfile { peak: PeakThroughput(9), ..QosProfile::BEST_EFFORT };
    bench.sm(0, 0, gannet_wire::l3::sm::ActivateRequest { qos: wish, ..activate_request(NSAPI) });
    let (_, _, create) = bench.next_create();
    assert_eq!(create.qos.profile().peak, PeakThroughput(4), "at the GGSN");
    let other = gannet_wire::l3::sm::ActivateRequest {
        apn: "other".parse().ok(),
        ..activate_request(gannet_wire::id::Nsapi(6))
    };
    bench.sm(0, 1, other);
    let SmMessage::ActivateReject(reject) = bench.hear_sm(0) else { panic!() };
    assert_eq!(reject.cause, SmCause::ServiceOptionNotSubscribed);
}

/// InsertSubscriberData for phone 0 in octets: its list is complete, and has this one piece.
fn insert_octets(bench: &mut Bench, piece: &[u8]) {
    let subscription = Subscription { pdp_infos: Vec::new(), ..subscription("*", 9) };
    let mut gsup = Message::new(imsi(0), Body::InsertSubscriberDataRequest(subscription)).to_vec();
    gsup.extend([5, u8::try_from(piece.len()).unwrap()]);
    gsup.extend(piece);
    let mut message = Vec::new();
    assert!(ipa::put_extension(ipa::EXTENSION_GSUP, &gsup, &mut message));
    octets(bench, &message);
    assert!(matches!(heard(bench), Some(Body::InsertSubscriberDataResult(_))), "answered at once");
}

#[test]
fn a_subscription_is_taken_without_what_cannot_be_read_and_grants_nothing_for_it() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    bench.around.trace.is_listening = true;
    // A wildcard as one plain character, and an empty quality of service.
    insert_octets(&mut bench, &[0x10, 1, 1, 0x11, 2, 0xf1, 0x21, 0x12, 1, b'*', 0x13, 0]);
    assert_eq!(bench.lines_with("is taken without Quality of Service"), 1);
    let located = Subscription { pdp_info_complete: false, pdp_infos: Vec::new(), ..subscription("*", 9) };
    say(&mut bench, Body::UpdateLocationResult(located), 0);
    bench.accept_attach(0);
    bench.sm(0, 0, activate_request(NSAPI));
    bench.next_create();
    // A name that cannot be read is no access point, neither this one nor all; a quality of service of two octets the least.
    insert_octets(&mut bench, &[0x10, 1, 1, 0x12, 3, b'a', b' ', b'b']);
    bench.sm(0, 1, activate_request(gannet_wire::id::Nsapi(6)));
    // That of the first one, which is not subscribed to any more, and of this one.
    for cause in [SmCause::RegularDeactivation, SmCause::ServiceOptionNotSubscribed] {
        let SmMessage::ActivateReject(reject) = bench.hear_sm(0) else { panic!() };
        assert_eq!(reject.cause, cause);
    }
    insert_octets(&mut bench, &[0x10, 1, 1, 0x12, 1, b'*', 0x13, 2, 0, 0]);
    let wish = QosProfile { peak: PeakThroughput(9), ..QosProfile::BEST_EFFORT };
    let request = activate_request(gannet_wire::id::Nsapi(7));
    bench.sm(0, 2, gannet_wire::l3::sm::ActivateRequest { qos: wish, ..request });
    assert_eq!(bench.next_create().2.qos.profile().peak, PeakThroughput(1));
    assert_eq!(bench.dropped(Drop::GsupElementSkipped), 3);
}

#[test]
fn an_access_point_is_verified_where_the_subscription_names_it() {
    for (apn, mode) in [("internet", SelectionMode::Verified), ("*", SelectionMode::MsNotVerified)] {
        let mut bench = with_hlr(|_| ());
        authenticated(&mut bench);
        located(&mut bench, subscription(apn, 9));
        bench.accept_attach(0);
        bench.sm(0, 0, activate_request(NSAPI));
        assert_eq!(bench.next_create().2.selection_mode, Some(mode), "{apn}");
    }
}

#[test]
fn who_has_no_subscription_any_more_is_detached_and_may_ask_again() {
    let mut bench = with_hlr(|_| ());
    attach_with_hlr(&mut bench);
    let cancel_type = Some(CancelType::Withdraw);
    say(&mut bench, Body::LocationCancelRequest(Cancel { cancel_type, cn_domain: None }), 0);
    assert!(matches!(heard(&mut bench), Some(Body::LocationCancelResult(_))));
    let GmmMessage::DetachRequestMt(request) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(request.detach_type, DetachTypeMt::ReattachNotRequired);
    assert_eq!(request.cause, Some(GmmCause::ImplicitlyDetached));
}

#[test]
fn who_is_not_here_cannot_be_cancelled() {
    let mut bench = with_hlr(|_| ());
    let cancel = Body::LocationCancelRequest(Cancel { cancel_type: None, cn_domain: None });
    say(&mut bench, cancel, 0);
    let Some(Body::LocationCancelError(refusal)) = heard(&mut bench) else { panic!() };
    assert_eq!(refusal.cause, GmmCause::ImsiUnknownInHlr);
}

#[test]
fn an_hlr_that_cancels_is_obeyed_and_one_that_is_left_is_told() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription("*", 9));
    bench.accept_attach(0);
    let cancel = |cancel_type| Body::LocationCancelRequest(Cancel { cancel_type, cn_domain: None });
    say(&mut bench, cancel(Some(CancelType::Update)), 0);
    assert_eq!(
        heard(&mut bench),
        Some(Body::LocationCancelResult(Domain {
            cn_domain: Some(gannet_wire::gsup::CnDomain::PacketSwitched)
        }))
    );
    assert!(bench.is_silent(), "the mobile is elsewhere");
    assert_eq!(heard(&mut bench), None, "nothing is to be purged");
    bench.assert_empty();
    // It comes back, and detaches.
    bench.phones[0].power_cycle(gannet_wire::id::Tlli::random(7));
    authenticated(&mut bench);
    located(&mut bench, subscription("*", 9));
    bench.accept_attach(0);
    bench.detach(0, true);
    assert!(matches!(heard(&mut bench), Some(Body::PurgeMsRequest(_))));
    bench.assert_empty();
}

#[test]
fn vectors_that_come_twice_are_not_used_twice() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    say(&mut bench, vectors(&[RAND, RAND]), 0);
    challenge(&mut bench);
    assert_eq!(bench.drops(), [(Drop::GsupVectorRefused, 1)]);
}

#[test]
fn policies_of_our_own_ask_nobody() {
    for (policy, served) in [(AuthPolicy::AclOnly, false), (AuthPolicy::Closed, true)] {
        let mut bench = Bench::new(|config| config.subscribers.policy = policy);
        bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
        if served {
            bench.accept_attach(0);
        } else {
            let GmmMessage::AttachReject(reject) = bench.hear_gmm(0) else { panic!() };
            assert_eq!(reject.cause, GmmCause::GprsNotAllowed);
            bench.assert_empty();
            // Who was never attached is not said to be gone.
            assert_eq!(bench.events, []);
        }
    }
}

/// Policies that authenticate nobody: the IMSI is a claim, and the newest claim of one that is served wins.
#[test]
fn without_authentication_whoever_names_a_served_imsi_replaces_its_mobile() {
    for policy in [AuthPolicy::AcceptAll, AuthPolicy::Closed] {
        let mut bench = Bench::new(|config| config.subscribers.policy = policy);
        bench.attach(0);
        bench.activate(0, NSAPI);
        let former = bench.slot(0);
        bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(0))));
        bench.delete_answer(NSAPI);
        bench.accept_attach(1);
        assert_ne!(bench.slot(0), former);
        assert_eq!((bench.sgsn.mobiles().count(), bench.mobile(0).bearers().count()), (1, 0));
        // One that is not served harms nobody.
        let mut bench = Bench::new(|config| config.subscribers.policy = AuthPolicy::AclOnly);
        bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(0))));
        assert!(matches!(bench.hear_gmm(1), GmmMessage::AttachReject(_)));
        bench.assert_empty();
    }
}

#[test]
fn a_mobile_shows_anew_who_it_is_by_order() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription("*", 9));
    bench.accept_attach(0);
    bench.sgsn.authenticate_again(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))), "its vectors are used up");
    say(&mut bench, vectors(&[[0x22; 16]]), 0);
    let request = challenge(&mut bench);
    assert_eq!(request.rand, Some(Rand([0x22; 16])));
    answer(&mut bench, &request, &mut card());
    assert!(bench.is_silent() && heard(&mut bench).is_none(), "nothing else follows");
    bench.activate(0, NSAPI);
    // Who does not know the key any more is not served any more.
    bench.sgsn.authenticate_again(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    heard(&mut bench);
    say(&mut bench, vectors(&[[0x33; 16]]), 0);
    let request = challenge(&mut bench);
    answer(&mut bench, &request, &mut GsmSim { ki: Key128([1; 16]), ..card() });
    let GmmMessage::IdentityRequest(_) = bench.hear_gmm(0) else { panic!("first, who it is") };
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(0)) });
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_gmm(0), GmmMessage::AuthenticationReject(_)));
    assert!(bench.sgsn.authenticate_again(&mut bench.around.context(), imsi(0)).is_err());
}

#[test]
fn a_wildcard_and_one_ggsn_are_enough_for_who_names_no_access_point() {
    let mut bench = with_hlr(|config| config.apns.clear());
    attach_with_hlr(&mut bench);
    bench.sm(0, 0, ActivateRequest { apn: None, ..activate_request(NSAPI) });
    let (to, _, request) = bench.next_create();
    assert_eq!((to, request.apn), (GGSN, Some(Apn::UNNAMED)));
    // A piece of the subscription that has a name goes before the wildcard.
    let mut bench = with_hlr(|config| config.apns.clear());
    authenticated(&mut bench);
    let named = subscription("internet", 9).pdp_infos.remove(0);
    let mut both = subscription("*", 9);
    both.pdp_infos.push(PdpInfo { context_id: 2, ..named });
    located(&mut bench, both);
    bench.accept_attach(0);
    bench.sm(0, 0, ActivateRequest { apn: None, ..activate_request(NSAPI) });
    let (_, _, request) = bench.next_create();
    assert_eq!(request.apn, "internet".parse().ok());
    // Who has no wildcard gets what it has subscribed to, and nothing else.
    let mut bench = with_hlr(|config| config.apns.clear());
    authenticated(&mut bench);
    located(&mut bench, subscription("internet", 9));
    bench.accept_attach(0);
    bench.sm(0, 0, ActivateRequest { apn: None, ..activate_request(NSAPI) });
    let (to, sequence, request) = bench.next_create();
    assert_eq!(request.apn, "internet".parse().ok());
    bench.create_answer(to, sequence, &request, Cause::SystemFailure);
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateReject(_)));
    bench.sm(0, 0, ActivateRequest { apn: "other".parse().ok(), ..activate_request(NSAPI) });
    let SmMessage::ActivateReject(reject) = bench.hear_sm(0) else { panic!() };
    assert_eq!(reject.cause, SmCause::ServiceOptionNotSubscribed);
}
