//! PDP context modification that the network begins: clauses 6.1.3.3.1 and 6.1.3.3.3.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{Change, SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn modifying() -> Network {
    let mut network = Network::active();
    network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::TWO) });
    network
}

fn order() -> ModifyRequestMt {
    ModifyRequestMt {
        radio_priority: RadioPriority::Two,
        sapi: Sapi::DATA3,
        qos: qos(DelayClass::TWO),
        address: None,
        packet_flow_identifier: None,
    }
}

#[test]
fn network_modifies() {
    let mut network = modifying();
    assert_eq!((network.said(), network.state(N5)), ((0, order().into()), Some(SmState::ModifyPending)));
    network.hears(0, ModifyAcceptMo {});
    assert!(network.has_done(&SmAction::Modified { nsapi: N5, qos: qos(DelayClass::TWO) }));
    assert_eq!(network.state(N5), Some(SmState::Active));
    assert_eq!(network.contexts.deadline(network.world.now), None, "T3386 is stopped");
}

#[test]
fn network_repeats_four_times_after_t3386_and_deactivates() {
    let mut network = modifying();
    network.run(41);
    let orders: Vec<_> = network.sent().into_iter().filter(|(.., m)| *m == order().into()).collect();
    let times: Vec<_> = orders.iter().map(|(at, ..)| *at).collect();
    assert_eq!((times.len(), are_spaced(&times, 8)), (5, true));
    let cause = SmCause::NetworkFailure;
    assert_eq!(network.said(), (0, DeactivateRequest { cause, ..deactivate(true) }.into()));
    assert_eq!(
        (network.state(N5), network.drops(Drop::SmNoAnswer)),
        (Some(SmState::InactivePending(cause)), 1)
    );
}

#[test]
fn network_goes_first_in_a_collision_of_modifications() {
    let mut network = modifying();
    network.hears(0, ModifyRequestMo { sapi: None, qos: Some(qos(DelayClass::THREE)), tft: None });
    assert_eq!((network.sent().len(), network.drops(Drop::SmIgnored)), (1, 1));
}

/// The mobile's request came first, and the GGSN has a template of it: were the mobile asked before it has its answer, it would
/// give up what the GGSN has taken.
#[test]
fn network_answers_the_mobile_before_it_asks() {
    let updating = || {
        let mut network = Network::active();
        network.hears(0, ModifyRequestMo { sapi: None, qos: None, tft: Some(tft(1)) });
        network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::THREE) });
        network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::TWO) });
        assert_eq!((network.sent().len(), network.state(N5)), (0, Some(SmState::Updating)));
        network
    };
    let mut network = updating();
    network.event(SmEvent::Updated { nsapi: N5, qos: qos(DelayClass::BEST_EFFORT) });
    let names =
        |network: &Network| -> Vec<_> { network.sent().iter().map(|(.., message)| message.name()).collect() };
    assert_eq!(names(&network), ["ModifyAcceptMt"]);
    assert!(network.contexts.get(N5).unwrap().has_tft(), "on all three sides");
    // The answer is lost: the mobile repeats its request after T3381 and has it again.
    network.run(8);
    network.hears(0, ModifyRequestMo { sapi: None, qos: None, tft: Some(tft(1)) });
    network.run(1);
    assert_eq!(names(&network), ["ModifyAcceptMt"; 2]);
    network.event(SmEvent::Modify { nsapi: N5, qos: qos(DelayClass::TWO) });
    assert_eq!(network.sent().len(), 2, "a newer profile waits in the place of the former");
    // Ten seconds after the first answer, however often it was repeated: the GGSN does not wait for longer.
    network.run(2);
    assert_eq!(names(&network)[2..], ["ModifyRequestMt"]);
    assert_eq!((network.said(), network.state(N5)), ((0, order().into()), Some(SmState::ModifyPending)));
    network.run(9);
    assert_eq!(network.sent().len(), 4, "T3386");
    network.hears(0, ModifyAcceptMo {});
    assert!(network.has_done(&SmAction::Modified { nsapi: N5, qos: qos(DelayClass::TWO) }));
    for failed in [
        SmEvent::UpdateFailed { nsapi: N5 },
        SmEvent::UpdateRejected { nsapi: N5, cause: Cause::NoResourcesAvailable },
    ] {
        let mut network = updating();
        network.event(failed);
        let names: Vec<_> = network.sent().iter().map(|(.., message)| message.name()).collect();
        assert_eq!(names, ["ModifyReject", "ModifyRequestMt"]);
        assert!(!network.contexts.get(N5).unwrap().has_tft());
    }
    // The context ends, and nothing is asked any more.
    let mut network = updating();
    network.hears(0, deactivate(false));
    network.event(SmEvent::Deleted { nsapi: N5 });
    assert_eq!((network.said(), network.contexts.is_empty()), ((0, DeactivateAccept {}.into()), true));
    network.run(60);
    assert_eq!(network.sent().len(), 1);
}

#[test]
fn network_gives_way_to_a_deactivation_by_the_mobile() {
    let mut network = modifying();
    network.hears(0, deactivate(false));
    assert_eq!(
        (network.state(N5), network.contexts.deadline(network.world.now)),
        (Some(SmState::Releasing), None)
    );
    network.event(SmEvent::Deleted { nsapi: N5 });
    assert_eq!((network.said(), network.state(N5)), ((0, DeactivateAccept {}.into()), None));
}

#[test]
fn mobile_accepts() {
    let mut mobile = Mobile::active();
    mobile.hears(0, ModifyRequestMt { address: Some(PdpAddress::Ipv4([10, 0, 0, 9].into())), ..order() });
    assert_eq!(mobile.said(), (0, ModifyAcceptMo {}.into()));
    let modified = SmMsAction::Modified {
        nsapi: N5,
        qos: qos(DelayClass::TWO),
        sapi: Sapi::DATA3,
        radio_priority: Some(RadioPriority::Two),
    };
    assert!(mobile.has_done(&modified));
    assert_eq!(mobile.contexts.get(N5).unwrap().address(), PdpAddress::Ipv4([10, 0, 0, 9].into()));
}

#[test]
fn mobile_gives_up_its_own_modification_in_a_collision() {
    let mut mobile = Mobile::active();
    let change = Change { qos: Some(qos(DelayClass::THREE)), tft: None };
    mobile.event(SmMsEvent::Modify { nsapi: N5, change });
    mobile.hears(0, order());
    assert_eq!((mobile.said(), mobile.state(N5)), ((0, ModifyAcceptMo {}.into()), Some(SmMsState::Active)));
    assert_eq!(mobile.contexts.get(N5).unwrap().qos(), qos(DelayClass::TWO));
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3381 is stopped");
}

#[test]
fn mobile_goes_on_with_its_deactivation() {
    let mut mobile = Mobile::active();
    let cause = SmCause::RegularDeactivation;
    mobile.event(SmMsEvent::Deactivate { nsapi: N5, cause });
    mobile.hears(0, order());
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::SmIgnored)), (1, 1));
    assert_eq!(mobile.state(N5), Some(SmMsState::InactivePending(cause)));
}
