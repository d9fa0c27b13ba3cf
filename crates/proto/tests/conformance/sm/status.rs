//! SM STATUS: what is done with one (clause 6.1.3.6), and when one is sent (clauses 8.3.2, 8.4, 8.5 and 8.7).

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{Change, SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn status(cause: SmCause) -> SmStatus {
    SmStatus { cause }
}

#[test]
fn network_erases_a_context_that_the_mobile_does_not_know() {
    let mut network = Network::active();
    network.hears(0, status(SmCause::InvalidTi));
    assert!(network.has_done(&SmAction::Released { nsapi: N5, cause: SmCause::InvalidTi }));
    assert_eq!((network.tunnels_deleted(), network.state(N5)), (vec![(N5, true)], None));
}

#[test]
fn network_ends_a_procedure_that_the_mobile_does_not_know() {
    let mut network = Network::active();
    network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::TWO) });
    network.hears(0, status(SmCause::MessageTypeNonExistent));
    assert_eq!(
        (network.state(N5), network.contexts.deadline(network.world.now)),
        (Some(SmState::Active), None)
    );
    let context = network.contexts.get(N5).unwrap();
    assert_eq!(context.qos(), qos(DelayClass::BEST_EFFORT), "as it was");
    assert!(network.has_done(&SmAction::NotModified { nsapi: N5 }), "so that the GGSN is answered");
    let cause = SmCause::NetworkFailure;
    network.event(SmEvent::Deactivate { nsapi: N5, cause, tunnel_gone: false });
    network.hears(0, status(SmCause::MessageTypeNonExistent));
    assert_eq!(network.state(N5), None);
}

#[test]
fn network_takes_note_of_other_causes() {
    let mut network = Network::active();
    for cause in
        [SmCause::MessageTypeIncompatible, SmCause::InvalidMandatoryInformation, SmCause::ProtocolError]
    {
        network.hears(0, status(cause));
    }
    assert_eq!((network.done.len(), network.state(N5)), (0, Some(SmState::Active)));
    assert_eq!(network.drops(Drop::SmStatusReceived), 3);
}

#[test]
fn network_answers_no_status_with_a_status() {
    let mut network = Network::active();
    network.hears(5, status(SmCause::InvalidTi));
    network.hears_octets(&[0x0a, 0x55]);
    assert!(network.done.is_empty());
}

#[test]
fn network_says_that_it_does_not_know_a_transaction() {
    let mut network = Network::active();
    for message in [
        SmMessage::from(deactivate(false)),
        DeactivateAccept {}.into(),
        ModifyAcceptMo {}.into(),
        ModifyRequestMo { sapi: None, qos: None, tft: None }.into(),
    ] {
        network.hears(5, message);
        assert_eq!(network.said(), (5, status(SmCause::InvalidTi).into()));
    }
}

#[test]
fn network_says_what_it_cannot_read() {
    let mut network = Network::active();
    for (octets, cause) in [
        // A type that is not defined, one that only the network sends, and one without its mandatory part.
        (&[0x0a, 0x5f][..], SmCause::MessageTypeNonExistent),
        (&[0x0a, 0x42], SmCause::MessageTypeNonExistent),
        (&[0x0a, 0x45], SmCause::InvalidMandatoryInformation),
    ] {
        network.hears_octets(octets);
        assert_eq!(network.said(), (0, status(cause).into()));
    }
    assert_eq!(network.state(N5), Some(SmState::Active));
}

#[test]
fn network_rejects_requests_that_it_cannot_read() {
    let mut network = Network::active();
    let cause = SmCause::InvalidMandatoryInformation;
    for (octets, ti, answer) in [
        (&[0x1a, 0x41, 5][..], 1, SmMessage::from(ActivateReject { cause, pco: None })),
        (&[0x1a, 0x4d, 5], 1, ActivateSecondaryReject { cause }.into()),
        (&[0x0a, 0x4a, 0x01, 0x00], 0, ModifyReject { cause }.into()),
    ] {
        network.hears_octets(octets);
        assert_eq!(network.said(), (ti, answer));
    }
    // A deactivation is carried out all the same.
    network.hears_octets(&[0x0a, 0x46]);
    assert_eq!(network.state(N5), Some(SmState::Releasing));
}

#[test]
fn mobile_erases_a_context_that_the_network_does_not_know() {
    let mut mobile = Mobile::active();
    mobile.hears(0, status(SmCause::InvalidTi));
    assert!(mobile.has_done(&SmMsAction::Released { nsapi: N5, cause: SmCause::InvalidTi }));
    assert_eq!(mobile.state(N5), None);
}

#[test]
fn mobile_ends_a_procedure_that_the_network_does_not_know() {
    let cause = SmCause::MessageTypeNonExistent;
    let mut mobile = Mobile::activating();
    mobile.hears(0, status(cause));
    assert!(mobile.has_done(&SmMsAction::Failed { nsapi: N5, cause: Some(cause) }));
    let mut mobile = Mobile::active();
    let change = Change { qos: Some(qos(DelayClass::TWO)), tft: None };
    mobile.event(SmMsEvent::Modify { nsapi: N5, change });
    mobile.hears(0, status(cause));
    assert_eq!(
        (mobile.state(N5), mobile.contexts.deadline(mobile.world.now)),
        (Some(SmMsState::Active), None)
    );
    mobile.event(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    mobile.hears(0, status(cause));
    assert_eq!(mobile.state(N5), None);
}

#[test]
fn mobile_takes_note_of_other_causes() {
    let mut mobile = Mobile::active();
    mobile.hears(0, status(SmCause::MessageTypeIncompatible));
    mobile.hears(7, status(SmCause::InvalidTi));
    assert_eq!((mobile.done.len(), mobile.drops(Drop::SmStatusReceived)), (0, 2));
}

#[test]
fn mobile_says_that_it_does_not_know_a_transaction() {
    let mut mobile = Mobile::active();
    for message in [SmMessage::from(DeactivateAccept {}), deactivate(false).into(), accept().into()] {
        mobile.hears(5, message);
        assert_eq!(mobile.said(), (5, status(SmCause::InvalidTi).into()));
    }
}

#[test]
fn mobile_says_that_a_message_does_not_fit() {
    let mut mobile = Mobile::active();
    for message in [
        SmMessage::from(DeactivateAccept {}),
        accept().into(),
        accept_secondary().into(),
        ActivateReject { cause: SmCause::NetworkFailure, pco: None }.into(),
        ActivateSecondaryReject { cause: SmCause::NetworkFailure }.into(),
        ModifyReject { cause: SmCause::NetworkFailure }.into(),
    ] {
        mobile.hears(0, message);
        assert_eq!(mobile.said(), (0, status(SmCause::MessageTypeIncompatible).into()));
    }
    assert_eq!(mobile.state(N5), Some(SmMsState::Active));
}

#[test]
fn mobile_says_what_it_cannot_read() {
    let mut mobile = Mobile::active();
    for (octets, cause) in [
        (&[0x8a, 0x5f][..], SmCause::MessageTypeNonExistent),
        (&[0x8a, 0x41], SmCause::MessageTypeNonExistent),
        (&[0x8a, 0x42], SmCause::InvalidMandatoryInformation),
    ] {
        mobile.hears_octets(octets);
        assert_eq!(mobile.said(), (0, status(cause).into()));
    }
    // Of what the network began, its own reject; a deactivation is carried out all the same.
    mobile.hears_octets(&[0x2a, 0x44]);
    let reject = RequestActivationReject { cause: SmCause::InvalidMandatoryInformation };
    assert!(matches!(mobile.sent().pop(), Some((_, 2, true, message)) if message == reject.into()));
    mobile.hears_octets(&[0x8a, 0x46]);
    assert_eq!((mobile.said(), mobile.state(N5)), ((0, DeactivateAccept {}.into()), None));
}
