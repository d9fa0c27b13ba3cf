//! PDP context deactivation that the network begins: clauses 6.1.3.4.2 and 6.1.3.4.3.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{SmMsAction, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

const CAUSE: SmCause = SmCause::ReactivationRequired;

fn order(tear_down: bool) -> DeactivateRequest {
    DeactivateRequest { cause: CAUSE, ..deactivate(tear_down) }
}

#[test]
fn network_deactivates() {
    for tunnel_gone in [false, true] {
        let mut network = Network::active();
        network.event(SmEvent::Deactivate { nsapi: N5, cause: CAUSE, tunnel_gone });
        assert_eq!(network.said(), (0, order(true).into()), "the last context of the address");
        assert_eq!(network.state(N5), Some(SmState::InactivePending(CAUSE)));
        assert_eq!(network.tunnels_deleted().is_empty(), tunnel_gone);
        network.hears(0, DeactivateAccept {});
        assert!(network.has_done(&SmAction::Released { nsapi: N5, cause: CAUSE }));
        assert_eq!((network.state(N5), network.contexts.deadline(network.world.now)), (None, None));
    }
}

#[test]
fn network_ends_one_context_of_an_address() {
    for tunnel_gone in [false, true] {
        let mut network = Network::with_secondary();
        network.event(SmEvent::Deactivate { nsapi: N5, cause: CAUSE, tunnel_gone });
        assert_eq!(network.said(), (0, order(false).into()));
        network.hears(0, DeactivateAccept {});
        assert_eq!(
            (network.state(N5), network.state(N6)),
            (None, Some(SmState::Active)),
            "the other goes on"
        );
        network.event(SmEvent::Deactivate { nsapi: N6, cause: CAUSE, tunnel_gone });
        assert_eq!(network.said(), (1, order(true).into()), "and is now the last");
    }
}

#[test]
fn network_tears_down_all_contexts_of_an_address() {
    let mut network = Network::with_secondary();
    network.event(SmEvent::TearDown { nsapi: N5, cause: CAUSE, tunnel_gone: false });
    assert_eq!((network.said(), network.sent().len()), ((0, order(true).into()), 1));
    assert_eq!((network.tunnels_deleted(), network.state(N6)), (vec![(N5, true)], None));
    network.hears(0, DeactivateAccept {});
    assert!(network.contexts.is_empty());
}

#[test]
fn network_takes_the_last_tunnel_of_an_address_down_as_such() {
    let mut network = Network::with_secondary();
    // Both at once: neither the GGSN nor the mobile has answered yet.
    for nsapi in [N5, N6] {
        network.event(SmEvent::Deactivate { nsapi, cause: CAUSE, tunnel_gone: false });
    }
    assert_eq!(network.tunnels_deleted(), [(N5, false), (N6, true)]);
}

#[test]
fn network_repeats_four_times_after_t3395_and_erases() {
    for tear_down in [false, true] {
        let mut network = Network::with_secondary();
        network.event(if tear_down {
            SmEvent::TearDown { nsapi: N5, cause: CAUSE, tunnel_gone: false }
        } else {
            SmEvent::Deactivate { nsapi: N5, cause: CAUSE, tunnel_gone: false }
        });
        network.run(60);
        let sent = network.sent();
        let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
        assert_eq!(sent.len(), 5);
        assert!(sent.iter().all(|(.., m)| *m == order(tear_down).into()) && are_spaced(&times, 8));
        assert_eq!((network.state(N5), network.drops(Drop::SmNoAnswer)), (None, 1));
        assert_eq!(network.state(N6).is_none(), tear_down);
    }
}

#[test]
fn network_ignores_a_modification_meanwhile() {
    let mut network = Network::active();
    network.event(SmEvent::Deactivate { nsapi: N5, cause: CAUSE, tunnel_gone: false });
    network.hears(0, ModifyRequestMo { sapi: None, qos: None, tft: None });
    assert_eq!((network.sent().len(), network.drops(Drop::SmIgnored)), (1, 1));
}

#[test]
fn mobile_accepts() {
    let mut mobile = Mobile::with_secondary();
    mobile.hears(0, order(false));
    assert_eq!(mobile.said(), (0, DeactivateAccept {}.into()));
    assert!(mobile.has_done(&SmMsAction::Released { nsapi: N5, cause: CAUSE }));
    assert_eq!((mobile.state(N5), mobile.state(N6)), (None, Some(SmMsState::Active)));
}

#[test]
fn mobile_ends_all_contexts_of_an_address() {
    let mut mobile = Mobile::with_secondary();
    mobile.hears(0, order(true));
    assert_eq!((mobile.said(), mobile.contexts.is_empty()), ((0, DeactivateAccept {}.into()), true));
    for nsapi in [N5, N6] {
        assert!(mobile.has_done(&SmMsAction::Released { nsapi, cause: CAUSE }));
    }
}

#[test]
fn mobile_ends_an_activation_that_is_under_way() {
    let mut mobile = Mobile::activating();
    mobile.hears(0, order(false));
    assert_eq!((mobile.said(), mobile.state(N5)), ((0, DeactivateAccept {}.into()), None));
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3380 is stopped");
}
