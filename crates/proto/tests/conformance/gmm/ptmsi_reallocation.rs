//! P-TMSI reallocation, both sides: clause 4.7.6.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsState};
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState};
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// P-TMSI REALLOCATION COMMAND was sent.
fn ordered() -> Network {
    let mut network = Network::attached();
    network.event(GmmEvent::ReallocatePtmsi);
    assert_eq!(network.sent(), ["PTmsiReallocationCommand"]);
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated);
    network
}

#[test]
fn c4_7_6_1_and_3_the_network_gives_a_new_ptmsi() {
    let mut network = ordered();
    let (old, new) = (network.context.ptmsi().unwrap(), network.context.new_ptmsi().unwrap());
    let GmmMessage::PTmsiReallocationCommand(command) = network.only() else { panic!() };
    assert_eq!((command.allocated_ptmsi, command.rai), (MobileIdentity::PTmsi(new), rai(7, 1)));
    assert!(command.ptmsi_signature.is_some());
    network.confirm(PTmsiReallocationComplete {});
    assert!(network.has(&GmmAction::FreePtmsi(old)));
    assert!(network.has(&GmmAction::UnassignTlli { old: Tlli::local(old) }));
    assert_eq!((network.context.ptmsi(), network.context.gmm_state()), (Some(new), GmmState::Registered));
    assert_eq!(network.pass(30), [], "T3350 is stopped");
}

#[test]
fn c4_7_6_1_a_mobile_in_standby_is_paged_first() {
    let mut network = Network::standby();
    network.event(GmmEvent::ReallocatePtmsi);
    assert_eq!((network.pages(), network.sent().len()), (1, 0));
    network.frame();
    assert_eq!(network.sent(), ["PTmsiReallocationCommand"]);
    let mut network = Network::standby();
    network.event(GmmEvent::ReallocatePtmsi);
    network.pass(30);
    assert!(network.has(&GmmAction::PagingFailed));
    network.frame();
    assert_eq!(network.sent().len(), 0, "the order has ended");
}

#[test]
fn c4_7_6_2_the_mobile_takes_it() {
    let mut mobile = Mobile::attached();
    mobile.message(reallocation(P2));
    assert_eq!(mobile.only(), (PTmsiReallocationComplete {}.into(), Tlli::local(P2)));
    assert!(mobile.has(&GmmMsAction::AssignTlli { new: Tlli::local(P2), old: Some(Tlli::local(P1)) }));
    assert_eq!(mobile.mobile.ptmsi(), Some(P2));
    mobile.message(reallocation(P1));
    assert_eq!(mobile.mobile.ptmsi(), Some(P1), "the newest is the valid one");
    mobile.message(PTmsiReallocationCommand { allocated_ptmsi: MobileIdentity::None, ..reallocation(P2) });
    let status = GmmStatus { cause: GmmCause::SemanticallyIncorrect };
    assert_eq!((mobile.only().0, mobile.mobile.ptmsi()), (status.into(), Some(P1)));
}

#[test]
fn c4_7_6_4_a_lower_layer_failure() {
    let mut network = ordered();
    let (old, new) = (network.context.ptmsi(), network.context.new_ptmsi());
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!((network.sent().len(), network.context.gmm_state()), (0, GmmState::Registered));
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (old, new), "both are valid");
    network.frame();
    assert_eq!(
        (network.context.ptmsi(), network.context.new_ptmsi()),
        (old, new),
        "the mobile uses the old one"
    );
    network.tlli = Tlli::local(new.unwrap());
    network.frame();
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (new, None), "and now the new one");
}

#[test]
fn c4_7_6_4_b_t3350_time_out() {
    let mut network = ordered();
    let first = network.only();
    let (old, new) = (network.context.ptmsi(), network.context.new_ptmsi());
    assert_eq!(network.pass(29), [6, 12, 18, 24].map(|at| (at, "PTmsiReallocationCommand")));
    assert!(network.messages().iter().all(|message| **message == first), "the same message");
    assert_eq!(network.pass(1), [], "the fifth expiry");
    assert_eq!(network.drops(Drop::GmmNoAnswer), 1);
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (old, new), "both are valid");
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
}

/// Both are valid, and the mobile does not say which one it has: it is paged by the old one first, then by the new one.
#[test]
fn c4_7_6_4_b_paging_by_both() {
    let paged_by = |network: &Network| {
        let by = network.actions.iter().filter_map(|action| match action {
            GmmAction::Page { ptmsi, .. } => Some(ptmsi.unwrap()),
            _ => None,
        });
        by.collect::<Vec<_>>()
    };
    let mut network = ordered();
    let (old, new) = (network.context.ptmsi().unwrap(), network.context.new_ptmsi().unwrap());
    network.pass(30 + 44);
    network.cfg.paging_tries = 4;
    network.event(GmmEvent::DownlinkData);
    assert_eq!(paged_by(&network), [old]);
    network.pass(30);
    assert_eq!(paged_by(&network), [old, new, new]);
    network.tlli = Tlli::local(new);
    network.frame();
    assert!(network.has(&GmmAction::FreePtmsi(old)), "the answer shows which one it has");
    network.pass(44);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(paged_by(&network), [new]);
}

#[test]
fn c4_7_6_4_c_collision_with_attach() {
    let mut network = ordered();
    let unconfirmed = network.context.new_ptmsi().unwrap();
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AttachAccept"]);
    assert!(network.has(&GmmAction::FreePtmsi(unconfirmed)));
    let mut mobile = Mobile::attaching();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.mobile.state()), (0, GmmMsState::RegisteredInitiated));
}

#[test]
fn c4_7_6_4_d_collision_with_detach() {
    for (power_off, answer) in [(false, vec!["DetachAcceptMo"]), (true, vec![])] {
        let mut network = ordered();
        network.message(detach(DetachKindMo::Gprs, power_off));
        assert_eq!(network.sent(), answer);
        assert!(network.is_released());
    }
    let mut mobile = Mobile::detaching();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.mobile.state()), (0, GmmMsState::DeregisteredInitiated));
}

#[test]
fn c4_7_6_4_e_collision_with_update() {
    let mut network = ordered();
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"]);
    let mut mobile = Mobile::updating();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.mobile.state()), (0, GmmMsState::RoutingAreaUpdatingInitiated));
}

#[test]
fn c4_7_6_1_orders_wait_for_the_end_of_a_procedure_or_are_refused() {
    let mut network = ordered();
    network.event(GmmEvent::ReallocatePtmsi);
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1));
    let mut network = Network::new();
    network.event(GmmEvent::ReallocatePtmsi);
    assert_eq!((network.actions.len(), network.drops(Drop::GmmIgnored)), (0, 1), "not attached");
    let mut network = Network::attached();
    network.event(GmmEvent::Suspend);
    network.event(GmmEvent::ReallocatePtmsi);
    assert_eq!(network.sent().len(), 0, "suspended");
    network.event(GmmEvent::Resume);
    assert_eq!(network.sent(), ["PTmsiReallocationCommand"]);
}
