//! PDP context activation that the network requests: clauses 6.1.3.1.2, 6.1.3.1.4 and 6.1.3.1.5.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_proto::sm::ms::{SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmConfig, SmContexts, SmRequested, SmRequestedAnswer, SmRequestedExpiry};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn offer() -> RequestActivation {
    RequestActivation { address: ADDRESS, apn: "internet".parse().ok() }
}

fn requested() -> SmRequested {
    let apn = "internet".parse().unwrap();
    SmRequested::begin(Instant::ZERO, &SmConfig::default(), &SmContexts::default(), ADDRESS, apn)
}

#[test]
fn network_requests_and_the_mobile_activates() {
    let requested = requested();
    assert_eq!(requested.message(), (0, false, offer().into()));
    let activation = ActivateRequest { address: ADDRESS, ..request(N5) };
    let answer = requested.answered_by(3, false, &activation.into());
    assert_eq!(answer, Some(SmRequestedAnswer::Activates));
    // What else the mobile says is no answer.
    assert_eq!(requested.answered_by(3, false, &request(N5).into()), None);
    assert_eq!(requested.answered_by(0, true, &DeactivateAccept {}.into()), None);
}

#[test]
fn network_takes_the_answer_under_its_own_identifier() {
    for accept_ti_flag in [false, true] {
        let mut network = Network::new();
        network.cfg.accept_ti_flag = accept_ti_flag;
        network.requested = Some(requested());
        // For another address it is no answer, and the identifier is the network's.
        network.hears_flagged(0, request(N5));
        network.hears_flagged(0, secondary(N5, 0, Some(tft(1))));
        assert_eq!((network.done.len(), network.drops(Drop::SmIgnored)), (0, 2));
        network.hears_flagged(0, ActivateRequest { address: ADDRESS, ..request(N5) });
        network.created(N5);
        assert!(matches!(network.said_flagged(), (0, SmMessage::ActivateAccept(_))));
        assert!(!network.wrong_flag_said, "it is the right one");
    }
}

#[test]
fn network_takes_the_rejection() {
    let reject: SmMessage = RequestActivationReject { cause: SmCause::InsufficientResources }.into();
    let requested = requested();
    let answer = SmRequestedAnswer::Rejects(SmCause::InsufficientResources);
    assert_eq!(requested.answered_by(0, true, &reject), Some(answer));
    for (ti, ti_flag) in [(1, true), (0, false)] {
        assert_eq!(requested.answered_by(ti, ti_flag, &reject), None);
    }
}

#[test]
fn network_repeats_four_times_after_t3385() {
    let (cfg, mut requested) = (SmConfig::default(), requested());
    let (mut now, mut times) = (Instant::ZERO, vec![Instant::ZERO]);
    assert_eq!(requested.timer(now, &cfg), SmRequestedExpiry::Waits);
    let last = loop {
        now = requested.deadline(now).unwrap();
        match requested.timer(now, &cfg) {
            SmRequestedExpiry::Again => times.push(now),
            other => break other,
        }
    };
    assert_eq!((times.len(), last), (5, SmRequestedExpiry::GivesUp));
    assert!(are_spaced(&times, 8));
    assert_eq!(requested.deadline(now), None);
}

#[test]
fn network_takes_a_collision_for_the_answer() {
    // The mobile's own request for this address was under way already: whatever its identifier, it answers.
    let activation: SmMessage = ActivateRequest { address: ADDRESS, ..request(N6) }.into();
    assert_eq!(requested().answered_by(0, false, &activation), Some(SmRequestedAnswer::Activates));
}

fn follower() -> Mobile {
    let mut mobile = Mobile::new();
    mobile.cfg.follows_requests = true;
    mobile
}

fn offered(mobile: &mut Mobile) {
    mobile.event(SmMsEvent::Message { ti: 2, ti_flag: false, message: offer().into() });
}

/// What the mobile said to that.
fn rejection(mobile: &Mobile) -> Option<u8> {
    match mobile.sent().pop() {
        Some((_, 2, true, SmMessage::RequestActivationReject(reject))) => Some(reject.cause.code()),
        _ => None,
    }
}

#[test]
fn mobile_activates_what_is_requested() {
    let mut mobile = follower();
    offered(&mut mobile);
    let (0, SmMessage::ActivateRequest(request)) = mobile.said() else { panic!() };
    assert_eq!((request.nsapi, request.address, request.apn), (N5, ADDRESS, offer().apn));
    assert!(
        matches!(&mobile.done[0].1, SmMsAction::Requested { nsapi: N5, wanted } if wanted.address == ADDRESS)
    );
    mobile.hears(0, ActivateAccept { address: None, ..accept() });
    assert_eq!(mobile.state(N5), Some(SmMsState::Active));
}

#[test]
fn mobile_rejects_what_it_does_not_do() {
    let mut mobile = Mobile::new();
    offered(&mut mobile);
    assert_eq!((rejection(&mobile), mobile.contexts.is_empty()), (Some(40), true));
}

#[test]
fn mobile_rejects_for_want_of_resources() {
    let mut mobile = follower();
    for nsapi in (5..=15).map(gannet_wire::id::Nsapi) {
        mobile.event(SmMsEvent::Activate { nsapi, wanted: wanted() });
        let ti = mobile.contexts.get(nsapi).unwrap().ti();
        let other = PdpAddress::Ipv4([10, 0, 1, nsapi.0].into());
        mobile.hears(ti, ActivateAccept { address: Some(other), ..accept() });
    }
    offered(&mut mobile);
    assert_eq!(rejection(&mobile), Some(26));
}

#[test]
fn mobile_waits_for_its_own_request_in_a_collision() {
    let mut mobile = follower();
    let static_one = gannet_proto::sm::ms::Wanted { address: ADDRESS, ..wanted() };
    mobile.event(SmMsEvent::Activate { nsapi: N5, wanted: static_one });
    offered(&mut mobile);
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::SmIgnored)), (1, 1));
    mobile.hears(0, ActivateAccept { address: None, ..accept() });
    assert_eq!(mobile.state(N5), Some(SmMsState::Active));
    // Which address a dynamic one will be it can't know.
    let mut mobile = follower();
    mobile.event(SmMsEvent::Activate { nsapi: N5, wanted: wanted() });
    offered(&mut mobile);
    assert_eq!(rejection(&mobile), Some(26));
}

#[test]
fn mobile_begins_anew_what_it_has_already() {
    let mut mobile = Mobile::with_secondary();
    mobile.cfg.follows_requests = true;
    offered(&mut mobile);
    let cause = SmCause::ReactivationRequired;
    for nsapi in [N5, N6] {
        assert!(mobile.has_done(&SmMsAction::Released { nsapi, cause }));
    }
    assert_eq!(mobile.sent().len(), 1, "without a word about the old ones");
    assert_eq!((mobile.state(N5), mobile.state(N6)), (Some(SmMsState::ActivePending), None));
}

#[test]
fn mobile_ignores_a_request_with_the_wrong_flag() {
    let mut mobile = follower();
    mobile.event(SmMsEvent::Message { ti: 2, ti_flag: true, message: offer().into() });
    assert_eq!((mobile.done.len(), mobile.drops(Drop::SmIgnored)), (0, 1));
}
