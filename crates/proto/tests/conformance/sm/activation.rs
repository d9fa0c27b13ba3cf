//! PDP context activation that the mobile begins: clauses 6.1.3.1.1, 6.1.3.1.3 and 6.1.3.1.5.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

#[test]
fn network_accepts() {
    let mut network = Network::new();
    network.hears(0, request(N5));
    assert_eq!((network.state(N5), network.sent().len()), (Some(SmState::ActivePending), 0));
    network.created(N5);
    assert_eq!(network.state(N5), Some(SmState::Active));
    let (ti, SmMessage::ActivateAccept(accept)) = network.said() else { panic!() };
    assert_eq!((ti, accept.address, accept.qos), (0, Some(ADDRESS), qos(DelayClass::BEST_EFFORT)));
}

#[test]
fn network_serves_a_phone_that_sets_the_flag() {
    let mut network = Network::new();
    network.hears_flagged(0, request(N5));
    network.created(N5);
    assert!(matches!(network.said_flagged(), (0, SmMessage::ActivateAccept(_))), "answered with flag 0");
    assert!(network.wrong_flag_said);
    // The same identifier with flag 0 names another context, and each has its own answers.
    network.hears(0, request(N6));
    network.created(N6);
    assert!(matches!(network.said(), (0, SmMessage::ActivateAccept(_))));
    assert_eq!((network.state(N5), network.state(N6)), (Some(SmState::Active), Some(SmState::Active)));
    // What the network begins about it has flag 0, too, and the phone answers with 1.
    network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::TWO) });
    assert!(matches!(network.said_flagged(), (0, SmMessage::ModifyRequestMt(_))));
    network.hears_flagged(0, ModifyAcceptMo {});
    assert_eq!(network.state(N5), Some(SmState::Active));
    network.hears_flagged(0, deactivate(false));
    network.event(SmEvent::Deleted { nsapi: N5 });
    assert_eq!(network.said_flagged(), (0, DeactivateAccept {}.into()));
    assert_eq!((network.state(N5), network.state(N6)), (None, Some(SmState::Active)));
    assert_eq!(network.drops(Drop::SmIgnored), 0);
    // Clause 8.3.2 d holds for it as for others: the same identifier again replaces the context.
    network.hears_flagged(2, request(N5));
    network.created(N5);
    network.hears_flagged(2, request(N7));
    assert_eq!((network.state(N5), network.state(N7)), (None, Some(SmState::ActivePending)));
}

#[test]
fn network_ignores_the_flag_where_the_operator_wants_it() {
    let mut network = Network::new();
    network.cfg.accept_ti_flag = false;
    network.hears_flagged(0, request(N5));
    assert_eq!((network.done.len(), network.state(N5), network.drops(Drop::SmIgnored)), (0, None, 1));
    assert!(!network.wrong_flag_said);
}

#[test]
fn network_ignores_an_extension_octet_without_its_bit() {
    let mut network = Network::active();
    let octets = |extension: u8| [0x7a, extension, 0x46, 36];
    network.hears_octets(&octets(0x00));
    assert_eq!((network.done.len(), network.state(N5)), (0, Some(SmState::Active)));
    network.hears_octets(&octets(0x80));
    assert_eq!(network.state(N5), Some(SmState::Releasing), "identifier 0 in the long form");
}

#[test]
fn network_rejects_with_the_cause() {
    for (apn, cause) in [("unknown", 27), ("others", 33), ("barred", 8)] {
        let mut network = Network::new();
        network.hears(0, ActivateRequest { apn: apn.parse().ok(), ..request(N5) });
        assert!(
            matches!(network.said(), (0, SmMessage::ActivateReject(reject)) if reject.cause.code() == cause)
        );
        assert_eq!(network.state(N5), None);
    }
    for (of_ggsn, cause) in [
        (Cause::NoResourcesAvailable, 26),
        (Cause::UnknownPdpAddressOrType, 28),
        (Cause::UserAuthenticationFailed, 29),
        (Cause::ContextNotFound, 30),
        (Cause::Other(250), 31),
        (Cause::ServiceNotSupported, 32),
        (Cause::SystemFailure, 38),
    ] {
        let mut network = Network::new();
        network.hears(0, request(N5));
        network.event(SmEvent::CreateRejected { nsapi: N5, cause: of_ggsn, pco: None });
        assert!(
            matches!(network.said(), (0, SmMessage::ActivateReject(reject)) if reject.cause.code() == cause)
        );
        assert_eq!(network.state(N5), None);
    }
}

#[test]
fn network_rejects_where_the_ggsn_is_silent() {
    let mut network = Network::new();
    network.hears(0, request(N5));
    network.event(SmEvent::CreateFailed { nsapi: N5 });
    let reject = ActivateReject { cause: SmCause::NetworkFailure, pco: None };
    assert_eq!(network.said(), (0, reject.into()));
}

#[test]
fn network_takes_a_repeated_request_once() {
    let mut network = Network::new();
    network.hears(0, request(N5));
    network.hears(0, request(N5));
    assert_eq!((network.done.len(), network.drops(Drop::SmRepeated)), (1, 1));
    network.created(N5);
    assert_eq!(network.sent().len(), 1);
}

#[test]
fn network_replaces_a_context_of_the_same_nsapi() {
    let mut network = Network::active();
    network.hears(3, request(N5));
    assert_eq!(network.sent().len(), 0, "the mobile is not told");
    assert_eq!((network.tunnels_deleted(), network.drops(Drop::SmReplaced)), (vec![(N5, true)], 1));
    assert_eq!(network.state(N5), Some(SmState::ActivePending));
}

#[test]
fn network_replaces_a_context_of_the_same_address() {
    let mut network = Network::active();
    network.hears(3, ActivateRequest { address: ADDRESS, ..request(N6) });
    assert_eq!((network.state(N5), network.state(N6)), (None, Some(SmState::ActivePending)));
    assert_eq!(network.sent().len(), 0, "the mobile is not told");
}

#[test]
fn mobile_activates() {
    let mut mobile = Mobile::activating();
    assert_eq!(mobile.said(), (0, request(N5).into()));
    assert_eq!(mobile.state(N5), Some(SmMsState::ActivePending));
    mobile.hears(0, accept());
    assert_eq!(mobile.state(N5), Some(SmMsState::Active));
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3380 is stopped");
}

#[test]
fn mobile_gives_up_when_rejected() {
    let mut mobile = Mobile::activating();
    let cause = SmCause::MissingOrUnknownApn;
    mobile.hears(0, ActivateReject { cause, pco: None });
    assert!(mobile.has_done(&SmMsAction::Failed { nsapi: N5, cause: Some(cause) }));
    assert_eq!((mobile.state(N5), mobile.contexts.deadline(mobile.world.now)), (None, None));
}

#[test]
fn mobile_repeats_four_times_after_t3380() {
    let mut mobile = Mobile::activating();
    mobile.run(200);
    let sent = mobile.sent();
    let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|(.., message)| *message == request(N5).into()) && are_spaced(&times, 30));
    assert!(mobile.has_done(&SmMsAction::Failed { nsapi: N5, cause: None }));
    assert_eq!((mobile.state(N5), mobile.drops(Drop::SmNoAnswer)), (None, 1));
}

#[test]
fn mobile_refuses_an_accept_without_an_address() {
    let mut mobile = Mobile::activating();
    mobile.hears(0, ActivateAccept { address: None, ..accept() });
    let cause = SmCause::ConditionalIeError;
    assert_eq!(mobile.said(), (0, DeactivateRequest { cause, tear_down: None }.into()));
}

#[test]
fn mobile_tells_again_what_it_has_given_up() {
    let mut mobile = Mobile::activating();
    mobile.event(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    mobile.hears(0, accept());
    let sent = mobile.sent();
    assert_eq!(sent.iter().filter(|(.., message)| *message == deactivate(false).into()).count(), 2);
    assert!(!mobile.done.iter().any(|(_, action)| matches!(action, SmMsAction::Active { .. })));
}

#[test]
fn network_gives_up_when_the_operator_wants_so() {
    let mut network = Network::new();
    network.hears(0, request(N5));
    let cause = SmCause::OperatorDeterminedBarring;
    network.event(SmEvent::Deactivate { nsapi: N5, cause, tunnel_gone: false });
    assert_eq!(network.said(), (0, ActivateReject { cause, pco: None }.into()));
    assert!(network.has_done(&SmAction::Released { nsapi: N5, cause }));
}
