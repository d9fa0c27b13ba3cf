//! GPRS detach by the network, both sides: clause 4.7.4.2.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsState, Service};
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

fn detaching(kind: DetachTypeMt) -> Network {
    let mut network = Network::attached();
    network.order_detach(kind, None);
    assert_eq!(network.only(), detach_by_network(kind, None).into());
    assert_eq!(network.context.gmm_state(), GmmState::DeregisteredInitiated);
    network
}

#[test]
fn c4_7_4_2_1_and_3_the_network_asks_and_is_answered() {
    for kind in [DetachTypeMt::ReattachRequired, DetachTypeMt::ReattachNotRequired] {
        let mut network = Network::attached();
        network.order_detach(kind, Some(GmmCause::NetworkFailure));
        assert_eq!(network.only(), detach_by_network(kind, Some(GmmCause::NetworkFailure)).into());
        assert!(network.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
        network.message(DetachAcceptMt {});
        assert!(network.is_released());
        assert_eq!(network.context.deadlines().next(), None, "T3322 is stopped");
    }
}

#[test]
fn c4_7_4_2_1_and_3_an_imsi_detach_keeps_gprs() {
    let mut network = detaching(DetachTypeMt::Imsi);
    network.message(DetachAcceptMt {});
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    assert_eq!(network.context.active_nsapis(), PdpContextStatus(1 << 5));
}

#[test]
fn c4_7_4_2_1_a_mobile_in_standby_is_paged_first() {
    let mut network = Network::standby();
    network.order_detach(DetachTypeMt::ReattachNotRequired, None);
    assert_eq!((network.pages(), network.sent().len()), (1, 0));
    network.frame();
    assert_eq!(network.sent(), ["DetachRequestMt"]);
    // With a READY timer of 0 it is in STANDBY again at once, and gets the message all the same.
    let mut network = Network::new();
    network.message(AttachRequest { requested_ready_timer: Some(GprsTimer(0)), ..attach_by_imsi() });
    network.confirm(AttachComplete {});
    assert_eq!(network.context.mm_state(), MmState::Standby);
    network.order_detach(DetachTypeMt::ReattachNotRequired, None);
    network.frame();
    assert_eq!(network.sent(), ["DetachRequestMt"]);
}

#[test]
fn c4_7_4_2_4_a_t3322_time_out() {
    let mut network = detaching(DetachTypeMt::ReattachRequired);
    assert_eq!(network.pass(29), [6, 12, 18, 24].map(|at| (at, "DetachRequestMt")));
    assert_eq!(network.pass(1), [], "the fifth expiry");
    assert!(network.is_released());
    assert_eq!(network.drops(Drop::GmmNoAnswer), 1);
    let mut network = detaching(DetachTypeMt::Imsi);
    network.pass(30);
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "only for non-GPRS services");
}

#[test]
fn c4_7_4_2_4_b_lower_layer_failure() {
    let mut network = detaching(DetachTypeMt::ReattachRequired);
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!(network.sent().len(), 0);
    assert!(network.is_released());
}

#[test]
fn c4_7_4_2_4_c_detach_procedure_collision() {
    for (power_off, answer) in [(false, vec!["DetachAcceptMo"]), (true, vec![])] {
        let mut network = detaching(DetachTypeMt::ReattachRequired);
        network.message(detach(DetachKindMo::Gprs, power_off));
        assert_eq!(network.sent(), answer);
        assert!(network.is_released(), "both are completed");
    }
}

#[test]
fn c4_7_4_2_4_d_detach_and_attach_collision() {
    let mut network = detaching(DetachTypeMt::ReattachNotRequired);
    network.message(attach_by_imsi());
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1), "ignored");
    let mut network = detaching(DetachTypeMt::ReattachRequired);
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AttachAccept"], "the detach is aborted");
}

#[test]
fn c4_7_4_2_4_e_detach_and_update_collision() {
    for kind in [DetachTypeMt::ReattachRequired, DetachTypeMt::ReattachNotRequired] {
        let mut network = detaching(kind);
        network.message(update_request(UpdateKind::Ra));
        assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1));
        assert_eq!(network.context.gmm_state(), GmmState::DeregisteredInitiated);
    }
    let mut network = detaching(DetachTypeMt::Imsi);
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"], "an IMSI detach lets it pass");
}

#[test]
fn c4_7_4_2_2_reattach_required() {
    let mut mobile = Mobile::attached();
    mobile.message(detach_by_network(DetachTypeMt::ReattachRequired, Some(GmmCause::ImplicitlyDetached)));
    assert_eq!(mobile.sent(), ["DetachAcceptMt", "AttachRequest"]);
    assert!(mobile.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(mobile.mobile.state(), GmmMsState::RegisteredInitiated);
}

#[test]
fn c4_7_4_2_2_reattach_not_required_with_each_cause() {
    let others = CAUSES.into_iter().map(Some).chain([None]);
    for cause in others {
        let mut mobile = Mobile::attached();
        mobile.message(detach_by_network(DetachTypeMt::ReattachNotRequired, cause));
        assert_eq!(mobile.sent(), ["DetachAcceptMt"], "{cause:?}");
        assert!(mobile.has(&GmmMsAction::Deregistered { cause }));
        let (service, keeps) = match cause {
            Some(
                GmmCause::IllegalMs
                | GmmCause::IllegalMe
                | GmmCause::GprsNotAllowed
                | GmmCause::GprsAndNonGprsNotAllowed,
            ) => (Service::NoImsi, None),
            Some(
                GmmCause::PlmnNotAllowed
                | GmmCause::LocationAreaNotAllowed
                | GmmCause::RoamingNotAllowed
                | GmmCause::GprsNotAllowedInPlmn
                | GmmCause::NoSuitableCells,
            ) => (Service::Limited, None),
            _ => (Service::Normal, Some(P1)),
        };
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, service), "{cause:?}");
        assert_eq!(mobile.mobile.ptmsi(), keeps, "{cause:?}");
        assert_eq!(mobile.pass(3600), [], "{cause:?}: it does not attach by itself");
    }
}

#[test]
fn c4_7_4_2_2_imsi_detach_of_a_mobile_for_gprs_only() {
    let mut mobile = Mobile::attached();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, Some(GmmCause::ImsiUnknownInHlr)));
    assert_eq!((mobile.sent(), mobile.mobile.state()), (vec!["DetachAcceptMt"], GmmMsState::Registered));
}

#[test]
fn c4_7_4_2_2_a_repeated_detach_request_is_answered_again() {
    let mut mobile = Mobile::detaching();
    for _ in 0..2 {
        mobile.message(detach_by_network(DetachTypeMt::ReattachNotRequired, None));
        assert_eq!(mobile.sent(), ["DetachAcceptMt"]);
    }
}
