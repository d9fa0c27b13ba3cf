//! PDP context deactivation that the mobile begins: clauses 6.1.3.4.1 and 6.1.3.4.3.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmCreated, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

const CAUSE: SmCause = SmCause::RegularDeactivation;

#[test]
fn network_accepts_when_the_tunnel_is_gone() {
    let mut network = Network::active();
    network.hears(0, deactivate(false));
    assert_eq!((network.tunnels_deleted(), network.sent().len()), (vec![(N5, true)], 0));
    assert_eq!(network.state(N5), Some(SmState::Releasing));
    network.event(SmEvent::Deleted { nsapi: N5 });
    assert_eq!((network.said(), network.state(N5)), ((0, DeactivateAccept {}.into()), None));
}

#[test]
fn network_ends_one_context_of_an_address() {
    let mut network = Network::with_secondary();
    network.hears(0, deactivate(false));
    network.event(SmEvent::Deleted { nsapi: N5 });
    assert_eq!(network.tunnels_deleted(), [(N5, false)]);
    assert_eq!((network.state(N5), network.state(N6)), (None, Some(SmState::Active)));
}

#[test]
fn network_tears_down_all_contexts_of_an_address() {
    let mut network = Network::with_secondary();
    network.hears(2, request(N7));
    let elsewhere = PdpAddress::Ipv4([10, 0, 0, 99].into());
    let qos = qos(DelayClass::BEST_EFFORT);
    let created = SmCreated { qos, address: Some(elsewhere), cause: Cause::RequestAccepted, pco: None };
    network.event(SmEvent::Created { nsapi: N7, created });
    network.hears(1, deactivate(true));
    network.event(SmEvent::Deleted { nsapi: N6 });
    assert_eq!(network.tunnels_deleted(), [(N6, true)]);
    assert!(network.has_done(&SmAction::Released { nsapi: N5, cause: CAUSE }));
    assert_eq!(network.said(), (1, DeactivateAccept {}.into()));
    let states = [N5, N6, N7].map(|nsapi| network.state(nsapi));
    assert_eq!(states, [None, None, Some(SmState::Active)], "another address is another matter");
}

#[test]
fn network_takes_a_repeated_request_once() {
    let mut network = Network::active();
    network.hears(0, deactivate(false));
    network.hears(0, deactivate(false));
    assert_eq!((network.done.len(), network.drops(Drop::SmRepeated)), (1, 1));
}

fn deactivating() -> Mobile {
    let mut mobile = Mobile::active();
    mobile.event(SmMsEvent::Deactivate { nsapi: N5, cause: CAUSE });
    mobile
}

#[test]
fn mobile_deactivates() {
    let mut mobile = deactivating();
    assert_eq!(mobile.said(), (0, deactivate(false).into()));
    assert_eq!(mobile.state(N5), Some(SmMsState::InactivePending(CAUSE)));
    mobile.hears(0, DeactivateAccept {});
    assert!(mobile.has_done(&SmMsAction::Released { nsapi: N5, cause: CAUSE }));
    assert_eq!((mobile.state(N5), mobile.contexts.deadline(mobile.world.now)), (None, None));
}

#[test]
fn mobile_tears_down_all_contexts_of_an_address() {
    let mut mobile = Mobile::with_secondary();
    mobile.event(SmMsEvent::TearDown { nsapi: N6, cause: CAUSE });
    assert_eq!(mobile.said(), (1, deactivate(true).into()));
    assert_eq!(mobile.state(N5), Some(SmMsState::Active), "until the network has accepted");
    mobile.hears(1, DeactivateAccept {});
    assert!(mobile.contexts.is_empty());
    for nsapi in [N5, N6] {
        assert!(mobile.has_done(&SmMsAction::Released { nsapi, cause: CAUSE }));
    }
}

#[test]
fn mobile_repeats_four_times_after_t3390_and_erases() {
    for tear_down in [false, true] {
        let mut mobile = Mobile::with_secondary();
        mobile.event(if tear_down {
            SmMsEvent::TearDown { nsapi: N5, cause: CAUSE }
        } else {
            SmMsEvent::Deactivate { nsapi: N5, cause: CAUSE }
        });
        mobile.run(60);
        let sent = mobile.sent();
        let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
        assert_eq!(sent.len(), 5);
        assert!(sent.iter().all(|(.., m)| *m == deactivate(tear_down).into()) && are_spaced(&times, 8));
        assert_eq!((mobile.state(N5), mobile.drops(Drop::SmNoAnswer)), (None, 1));
        assert_eq!(mobile.state(N6).is_none(), tear_down);
    }
}

#[test]
fn both_accept_in_a_collision() {
    let mut mobile = deactivating();
    mobile.hears(0, DeactivateRequest { cause: SmCause::NetworkFailure, tear_down: None });
    assert_eq!((mobile.said(), mobile.state(N5)), ((0, DeactivateAccept {}.into()), None));
    let mut network = Network::active();
    network.event(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    network.hears(0, deactivate(false));
    assert_eq!((network.said(), network.state(N5)), ((0, DeactivateAccept {}.into()), None));
    assert_eq!(network.contexts.deadline(network.world.now), None, "T3395 is stopped");
}

/// Whether the network has had the tear down or not, it is told with the next context of the address.
#[test]
fn mobile_goes_on_with_its_tear_down_in_a_collision() {
    let torn_down = || {
        let mut mobile = Mobile::with_secondary();
        mobile.event(SmMsEvent::TearDown { nsapi: N5, cause: CAUSE });
        mobile.hears(0, DeactivateRequest { cause: SmCause::NetworkFailure, tear_down: None });
        let sent: Vec<_> = mobile.sent().into_iter().map(|(_, ti, _, message)| (ti, message)).collect();
        let expected =
            [(0, deactivate(true).into()), (0, DeactivateAccept {}.into()), (1, deactivate(true).into())];
        assert_eq!(sent, expected);
        assert_eq!((mobile.state(N5), mobile.state(N6)), (None, Some(SmMsState::InactivePending(CAUSE))));
        mobile
    };
    let mut mobile = torn_down();
    mobile.hears(1, DeactivateAccept {});
    assert!(mobile.contexts.is_empty());
    // The network has ended it already.
    let mut mobile = torn_down();
    mobile.hears(1, SmStatus { cause: SmCause::InvalidTi });
    assert!(mobile.contexts.is_empty());
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3390 is stopped");
    // The network tears down too: there is nothing left.
    let mut mobile = Mobile::with_secondary();
    mobile.event(SmMsEvent::TearDown { nsapi: N5, cause: CAUSE });
    let tear_down = Some(TearDownIndicator::AllOfAddress);
    mobile.hears(0, DeactivateRequest { cause: SmCause::NetworkFailure, tear_down });
    assert_eq!((mobile.said(), mobile.contexts.is_empty()), ((0, DeactivateAccept {}.into()), true));
}

#[test]
fn network_tears_down_in_a_collision_what_the_mobile_means() {
    let mut network = Network::with_secondary();
    network.event(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    network.hears(0, deactivate(true));
    assert_eq!(network.said(), (0, DeactivateAccept {}.into()));
    assert_eq!(network.tunnels_deleted(), [(N5, false), (N6, true)]);
    assert!(network.contexts.is_empty());
}
