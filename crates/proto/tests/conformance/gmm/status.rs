//! GMM STATUS, both sides: clause 4.7.10, and what it is sent for (clause 8).

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::ms::GmmMsEvent;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::{DecodeError, DecodeErrorKind};

#[test]
fn c4_7_10_the_network_takes_each_cause_without_a_transition() {
    for mut network in [Network::new(), Network::accepted(), Network::attached()] {
        let before = network.context.clone();
        for (count, cause) in (1..).zip(CAUSES) {
            network.message(GmmStatus { cause });
            assert_eq!(
                (network.actions.len(), network.drops(Drop::GmmStatusReceived)),
                (0, count),
                "{cause}"
            );
        }
        assert_eq!(network.context, before);
    }
}

#[test]
fn c4_7_10_the_mobile_takes_each_cause_without_a_transition() {
    for mut mobile in [Mobile::attaching(), Mobile::attached(), Mobile::updating(), Mobile::detaching()] {
        let (stands, next) = (mobile.stands(), mobile.mobile.deadlines.next());
        for (count, cause) in (1..).zip(CAUSES) {
            mobile.message(GmmStatus { cause });
            assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmStatusReceived)), (0, count), "{cause}");
        }
        assert_eq!((mobile.stands(), mobile.mobile.deadlines.next()), (stands, next));
    }
}

#[test]
fn c8_4_the_network_answers_what_its_state_does_not_expect() {
    let status = |cause| GmmMessage::from(GmmStatus { cause });
    let service_request = ServiceRequest {
        cksn: Cksn::NO_KEY,
        service_type: ServiceType::Data,
        ptmsi: MobileIdentity::None,
        pdp_context_status: None,
    };
    let unexpected: [GmmMessage; 6] = [
        AttachComplete {}.into(),
        RauComplete { receive_npdu_numbers: None }.into(),
        PTmsiReallocationComplete {}.into(),
        DetachAcceptMt {}.into(),
        identity_response(MobileIdentity::Imsi(imsi())).into(),
        // Of Iu mode, clause 4.7.13.
        service_request.into(),
    ];
    for message in unexpected {
        let mut network = Network::attached();
        let before = network.context.clone();
        network.message(message);
        assert_eq!(network.only(), status(GmmCause::MessageTypeIncompatible));
        assert_eq!((network.context == before, network.drops(Drop::GmmUnexpected)), (true, 1));
    }
    let mut network = Network::attached();
    network.message(attach_reject(GmmCause::IllegalMs));
    assert_eq!(network.only(), status(GmmCause::MessageTypeNonExistent), "a message of the other direction");
}

#[test]
fn c8_4_the_mobile_answers_what_its_state_does_not_expect() {
    let unexpected: [GmmMessage; 5] = [
        attach_reject(GmmCause::IllegalMs).into(),
        update_reject(GmmCause::IllegalMs).into(),
        detach_accepted().into(),
        ServiceAccept { pdp_context_status: None }.into(),
        ServiceReject { cause: GmmCause::IllegalMs }.into(),
    ];
    for message in unexpected {
        let mut mobile = Mobile::attached();
        let before = mobile.stands();
        mobile.message(message);
        assert_eq!(mobile.only().0, GmmStatus { cause: GmmCause::MessageTypeIncompatible }.into());
        assert_eq!((mobile.stands(), mobile.drops(Drop::GmmUnexpected)), (before, 1));
    }
}

#[test]
fn c8_unreadable_messages_are_answered_with_their_cause() {
    for (kind, cause) in [
        (DecodeErrorKind::Missing, GmmCause::InvalidMandatoryInformation),
        (DecodeErrorKind::UnknownMessage(0x7f), GmmCause::MessageTypeNonExistent),
    ] {
        let mut network = Network::attached();
        network.unreadable(0x7f, kind);
        assert_eq!(network.only(), GmmStatus { cause }.into());
        let mut mobile = Mobile::attached();
        mobile.event(GmmMsEvent::DecodeFailed(DecodeError::new("Routing Area Identification", 5, kind)));
        assert_eq!(mobile.only().0, GmmStatus { cause }.into());
    }
}
