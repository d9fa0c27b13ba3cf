//! PDP context modification that the mobile begins: clauses 6.1.3.3.2 and 6.1.3.3.3.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{Change, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn wish(delay: DelayClass, tft: Option<TrafficFlowTemplate>) -> ModifyRequestMo {
    ModifyRequestMo { sapi: None, qos: Some(qos(delay)), tft }
}

fn of_template(tft: TrafficFlowTemplate) -> ModifyRequestMo {
    ModifyRequestMo { sapi: None, qos: None, tft: Some(tft) }
}

/// The cause with which the network rejects a change of the secondary context.
fn rejection(network: &mut Network, tft: TrafficFlowTemplate) -> u8 {
    network.hears(1, of_template(tft));
    assert_eq!(network.state(N6), Some(SmState::Active));
    match network.said() {
        (1, SmMessage::ModifyReject(reject)) => reject.cause.code(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn network_accepts_when_the_ggsn_has() {
    let mut network = Network::with_secondary();
    network.hears(1, wish(DelayClass::TWO, Some(tft(5))));
    let asked = SmAction::UpdateTunnel { nsapi: N6, qos: qos(DelayClass::TWO), tft: Some(tft(5)) };
    assert!(network.has_done(&asked) && network.sent().is_empty());
    assert_eq!(network.state(N6), Some(SmState::Updating));
    network.event(SmEvent::Updated { nsapi: N6, qos: qos(DelayClass::THREE) });
    let (1, SmMessage::ModifyAcceptMt(accept)) = network.said() else { panic!() };
    assert_eq!(
        (accept.qos, accept.radio_priority),
        (Some(qos(DelayClass::THREE)), Some(RadioPriority::Three))
    );
    assert_eq!(network.state(N6), Some(SmState::Active));
}

#[test]
fn network_rejects_with_the_cause() {
    let mut network = Network::active();
    network.hears(0, wish(DelayClass::ONE, None));
    let reject = |cause| (0, ModifyReject { cause }.into());
    assert_eq!(network.said(), reject(SmCause::InsufficientResources));
    for (of_ggsn, cause) in [
        (Cause::ServiceNotSupported, SmCause::ServiceOptionNotSupported),
        (Cause::SyntacticErrorInPacketFilter, SmCause::FilterSyntaxError),
    ] {
        network.hears(0, wish(DelayClass::TWO, None));
        network.event(SmEvent::UpdateRejected { nsapi: N5, cause: of_ggsn });
        assert_eq!((network.said(), network.state(N5)), (reject(cause), Some(SmState::Active)));
    }
    network.hears(0, wish(DelayClass::TWO, None));
    network.event(SmEvent::UpdateFailed { nsapi: N5 });
    assert_eq!(network.said(), reject(SmCause::NetworkFailure));
    assert_eq!(network.contexts.get(N5).unwrap().qos(), qos(DelayClass::BEST_EFFORT), "as it was");
}

#[test]
fn network_takes_a_repeated_request_once() {
    let mut network = Network::active();
    network.hears(0, wish(DelayClass::TWO, None));
    network.hears(0, wish(DelayClass::TWO, None));
    assert_eq!((network.done.len(), network.drops(Drop::SmRepeated)), (1, 1));
}

/// Carried out twice, the deletion of a template makes no sense, and the mobile would think that it still has it.
#[test]
fn network_answers_a_repeated_request_as_before() {
    let mut network = Network::active();
    for (operation, has_tft) in
        [(change(TftOperation::Create(vec![filter(1, 1)])), true), (change(TftOperation::Delete), false)]
    {
        network.done.clear();
        network.hears(0, of_template(operation.clone()));
        network.event(SmEvent::Updated { nsapi: N5, qos: qos(DelayClass::BEST_EFFORT) });
        let accept = network.said();
        for _ in 0..4 {
            network.run(8);
            network.hears(0, of_template(operation.clone()));
            assert_eq!(network.said(), accept);
        }
        let asked =
            network.done.iter().filter(|done| matches!(done, (_, SmAction::UpdateTunnel { .. }))).count();
        assert_eq!((asked, network.contexts.get(N5).unwrap().has_tft()), (1, has_tft));
        assert_eq!(network.state(N5), Some(SmState::Active));
    }
    // Later it is a new one, and so it is after something else.
    network.run(60);
    network.hears(0, of_template(change(TftOperation::Delete)));
    assert_eq!(network.said(), (0, ModifyReject { cause: SmCause::TftSemanticError }.into()));
    network.hears(0, wish(DelayClass::TWO, None));
    network.event(SmEvent::Updated { nsapi: N5, qos: qos(DelayClass::TWO) });
    network.hears(0, of_template(change(TftOperation::Delete)));
    assert_eq!(network.said(), (0, ModifyReject { cause: SmCause::TftSemanticError }.into()));
}

#[test]
fn network_finds_semantic_errors_in_the_operation() {
    // No template to be changed or deleted.
    for operation in [
        TftOperation::Delete,
        TftOperation::Add(vec![filter(2, 2)]),
        TftOperation::Replace(vec![filter(2, 2)]),
        TftOperation::DeleteFilters(vec![2]),
    ] {
        let mut network = Network::active();
        network.hears(0, of_template(change(operation)));
        assert_eq!(network.said(), (0, ModifyReject { cause: SmCause::TftSemanticError }.into()));
    }
    // Another context of the address has none already.
    let mut network = Network::with_secondary();
    assert_eq!(rejection(&mut network, change(TftOperation::Delete)), 41);
    // That the last filter would go is the GGSN's to see.
    network.hears(1, of_template(change(TftOperation::DeleteFilters(vec![0]))));
    network.event(SmEvent::UpdateRejected { nsapi: N6, cause: Cause::SemanticErrorInTft });
    assert_eq!(network.said(), (1, ModifyReject { cause: SmCause::TftSemanticError }.into()));
}

#[test]
fn network_finds_syntactical_errors_in_the_operation() {
    let mut network = Network::with_secondary();
    for octets in
        [vec![0x60], vec![0x80], vec![0xa0], vec![0x41, 1], vec![0x62, 0, 0, 2, 0x30, 17], vec![0xe0]]
    {
        assert_eq!(rejection(&mut network, TrafficFlowTemplate(octets)), 42);
    }
}

#[test]
fn network_finds_errors_in_filters() {
    let mut network = Network::with_secondary();
    let useless = PacketFilter { components: vec![Component::SourcePorts(9, 1)], ..filter(4, 4) };
    assert_eq!(rejection(&mut network, change(TftOperation::Add(vec![useless]))), 44);
    let twice = change(TftOperation::Add(vec![filter(4, 4), filter(5, 4)]));
    assert_eq!(rejection(&mut network, twice), 45);
    assert_eq!(rejection(&mut network, TrafficFlowTemplate(vec![0x61, 0, 0, 2, 0x31, 17])), 45);
}

#[test]
fn network_forgets_a_template_that_is_deleted() {
    let mut network = Network::with_secondary();
    network.hears(0, deactivate(false));
    network.event(SmEvent::Deleted { nsapi: N5 });
    network.hears(1, of_template(change(TftOperation::Delete)));
    assert!(network.contexts.get(N6).unwrap().has_tft(), "until the GGSN agrees");
    network.event(SmEvent::Updated { nsapi: N6, qos: qos(DelayClass::THREE) });
    assert!(!network.contexts.get(N6).unwrap().has_tft());
}

fn modifying(tft: Option<TrafficFlowTemplate>) -> Mobile {
    let mut mobile = Mobile::with_secondary();
    mobile.event(SmMsEvent::Modify { nsapi: N6, change: Change { qos: Some(qos(DelayClass::TWO)), tft } });
    mobile
}

fn accepted() -> ModifyAcceptMt {
    ModifyAcceptMt { qos: None, sapi: None, radio_priority: None, packet_flow_identifier: None }
}

#[test]
fn mobile_modifies() {
    let mut mobile = modifying(Some(tft(5)));
    let request = wish(DelayClass::TWO, Some(tft(5)));
    assert_eq!((mobile.said(), mobile.state(N6)), ((1, request.into()), Some(SmMsState::ModifyPending)));
    mobile.hears(1, accepted());
    let context = mobile.contexts.get(N6).unwrap();
    assert_eq!((context.state(), context.qos()), (SmMsState::Active, qos(DelayClass::TWO)));
    assert_eq!(context.tft().unwrap().filters(), [filter(0, 5)]);
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3381 is stopped");
    // What the network says of the quality of service counts.
    let mut mobile = modifying(None);
    mobile.hears(1, ModifyAcceptMt { qos: Some(qos(DelayClass::THREE)), ..accepted() });
    assert_eq!(mobile.contexts.get(N6).unwrap().qos(), qos(DelayClass::THREE));
}

#[test]
fn mobile_goes_on_as_before_when_rejected() {
    let mut mobile = modifying(Some(tft(5)));
    mobile.hears(1, ModifyReject { cause: SmCause::ServiceOptionNotSupported });
    let context = mobile.contexts.get(N6).unwrap();
    assert_eq!((context.state(), context.qos()), (SmMsState::Active, qos(DelayClass::THREE)));
    assert_eq!(context.tft().unwrap().filters(), [filter(0, 1)]);
}

#[test]
fn mobile_repeats_four_times_after_t3381_and_goes_on() {
    let mut mobile = modifying(Some(tft(5)));
    mobile.run(60);
    let sent = mobile.sent();
    let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
    let request: SmMessage = wish(DelayClass::TWO, Some(tft(5))).into();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|(.., message)| *message == request) && are_spaced(&times, 8));
    assert_eq!((mobile.state(N6), mobile.drops(Drop::SmNoAnswer)), (Some(SmMsState::Active), 1));
    assert_eq!(mobile.contexts.get(N6).unwrap().qos(), qos(DelayClass::THREE));
}

#[test]
fn mobile_ends_with_a_deactivation_by_the_network() {
    let mut mobile = modifying(None);
    mobile.hears(1, DeactivateRequest { cause: SmCause::NetworkFailure, tear_down: None });
    assert_eq!((mobile.said(), mobile.state(N6)), ((1, DeactivateAccept {}.into()), None));
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None);
}
