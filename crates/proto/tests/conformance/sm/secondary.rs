//! Secondary PDP context activation: clauses 6.1.3.2.1, 6.1.3.2.2 and 6.1.3.2.3.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_proto::sm::ms::{SmMsAction, SmMsEvent, SmMsState};
use gannet_proto::sm::network::{SmAction, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

/// The cause with which the network rejects it at once.
fn rejection(network: &mut Network, request: ActivateSecondaryRequest) -> u8 {
    let nsapi = request.nsapi;
    network.hears(9, request);
    assert_eq!(network.state(nsapi), None);
    match network.said() {
        (9, SmMessage::ActivateSecondaryReject(reject)) => reject.cause.code(),
        other => panic!("{other:?}"),
    }
}

/// Beside which context the last tunnel was asked for.
fn linked_to(network: &Network) -> Option<Nsapi> {
    network.done.iter().rev().find_map(|(_, action)| match action {
        SmAction::CreateTunnel { linked, .. } => *linked,
        _ => None,
    })
}

#[test]
fn network_takes_the_context_whose_flag_is_named_first() {
    // Identifier 0 with flag 0 is NSAPI 5, with flag 1 NSAPI 7.
    for (linked_flag, linked) in [(false, N5), (true, N7)] {
        let mut network = Network::active();
        network.hears_flagged(0, request(N7));
        network.created(N7);
        let linked_ti = LinkedTi { ti: 0, ti_flag: linked_flag };
        network.hears(1, ActivateSecondaryRequest { linked_ti, ..secondary(N6, 0, Some(tft(1))) });
        assert_eq!(linked_to(&network), Some(linked));
    }
}

#[test]
fn network_serves_a_phone_that_sets_the_flag() {
    for (accept_ti_flag, linked_flag) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut network = Network::new();
        network.hears_flagged(0, request(N5));
        network.created(N5);
        network.done.clear();
        network.cfg.accept_ti_flag = accept_ti_flag;
        let linked_ti = LinkedTi { ti: 0, ti_flag: linked_flag };
        network.hears_flagged(1, ActivateSecondaryRequest { linked_ti, ..secondary(N6, 0, Some(tft(1))) });
        if !accept_ti_flag {
            assert_eq!((network.done.len(), network.drops(Drop::SmIgnored)), (0, 1));
            continue;
        }
        assert_eq!(linked_to(&network), Some(N5));
        network.created(N6);
        assert!(matches!(network.said_flagged(), (1, SmMessage::ActivateSecondaryAccept(_))));
        // The GGSN ends it: the phone's answer has flag 1.
        network.event(SmEvent::Deactivate {
            nsapi: N6,
            cause: SmCause::RegularDeactivation,
            tunnel_gone: true,
        });
        assert_eq!(network.said_flagged(), (1, deactivate(false).into()));
        network.hears_flagged(1, DeactivateAccept {});
        assert_eq!((network.state(N5), network.state(N6)), (Some(SmState::Active), None));
    }
}

#[test]
fn network_accepts() {
    let mut network = Network::active();
    network.hears(1, secondary(N6, 0, Some(tft(1))));
    let asked = |(_, action): &(_, SmAction)| match action {
        SmAction::CreateTunnel { nsapi: N6, linked: Some(N5), tft: Some(of), address, .. } => {
            *of == tft(1) && *address == ADDRESS
        }
        _ => false,
    };
    assert!(network.done.iter().any(asked));
    assert_eq!(network.state(N6), Some(SmState::ActivePending));
    network.created(N6);
    let (1, SmMessage::ActivateSecondaryAccept(accept)) = network.said() else { panic!() };
    assert_eq!((accept.sapi, accept.qos), (Sapi::DATA5, qos(DelayClass::THREE)));
    assert_eq!((network.state(N5), network.state(N6)), (Some(SmState::Active), Some(SmState::Active)));
}

#[test]
fn network_rejects_what_is_linked_to_nothing() {
    let mut network = Network::active();
    assert_eq!(rejection(&mut network, secondary(N6, 4, Some(tft(1)))), 43);
    // A context that is not active is none to link to.
    network.hears(2, request(N7));
    assert_eq!(rejection(&mut network, secondary(N6, 2, Some(tft(1)))), 43);
}

#[test]
fn network_rejects_what_the_ggsn_refuses() {
    for (of_ggsn, cause) in [(Cause::NoResourcesAvailable, 26), (Cause::ServiceNotSupported, 32)] {
        let mut network = Network::active();
        network.hears(1, secondary(N6, 0, Some(tft(1))));
        network.event(SmEvent::CreateRejected { nsapi: N6, cause: of_ggsn, pco: None });
        assert!(matches!(network.said(),
            (1, SmMessage::ActivateSecondaryReject(reject)) if reject.cause.code() == cause));
        assert_eq!((network.state(N5), network.state(N6)), (Some(SmState::Active), None));
    }
}

#[test]
fn network_rejects_for_want_of_resources() {
    let mut network = Network::active();
    let wish = ActivateSecondaryRequest { qos: qos(DelayClass::ONE), ..secondary(N6, 0, Some(tft(1))) };
    assert_eq!(rejection(&mut network, wish), 26);
}

#[test]
fn network_finds_semantic_errors_in_the_operation() {
    let mut network = Network::active();
    for operation in [
        TftOperation::Delete,
        TftOperation::Add(vec![filter(0, 0)]),
        TftOperation::Replace(vec![filter(0, 0)]),
        TftOperation::DeleteFilters(vec![0]),
    ] {
        assert_eq!(rejection(&mut network, secondary(N6, 0, Some(change(operation)))), 41);
    }
}

#[test]
fn network_finds_syntactical_errors_in_the_operation() {
    let mut network = Network::active();
    // No filters, and fewer than said.
    for octets in [vec![0x20], vec![0x22, 0, 0, 2, 0x30, 17]] {
        assert_eq!(rejection(&mut network, secondary(N6, 0, Some(TrafficFlowTemplate(octets)))), 42);
    }
}

#[test]
fn network_finds_semantic_errors_in_filters() {
    let mut network = Network::active();
    let useless = PacketFilter { components: vec![Component::SourcePorts(9, 1)], ..filter(0, 0) };
    let tft = change(TftOperation::Create(vec![useless]));
    assert_eq!(rejection(&mut network, secondary(N6, 0, Some(tft))), 44);
}

#[test]
fn network_finds_syntactical_errors_in_filters() {
    let mut network = Network::active();
    for filters in [vec![filter(1, 0), filter(1, 1)], vec![filter(1, 0), filter(2, 0)]] {
        let tft = change(TftOperation::Create(filters));
        assert_eq!(rejection(&mut network, secondary(N6, 0, Some(tft))), 45);
    }
    let reserved = TrafficFlowTemplate(vec![0x21, 0, 0, 2, 0x31, 17]);
    assert_eq!(rejection(&mut network, secondary(N6, 0, Some(reserved))), 45);
    // A precedence that another context of the address has is the GGSN's to see.
    let mut network = Network::with_secondary();
    network.hears(2, secondary(N7, 0, Some(tft(1))));
    let cause = Cause::SyntacticErrorInPacketFilter;
    network.event(SmEvent::CreateRejected { nsapi: N7, cause, pco: None });
    assert!(matches!(network.said(),
        (2, SmMessage::ActivateSecondaryReject(reject)) if reject.cause == SmCause::FilterSyntaxError));
}

#[test]
fn network_rejects_a_second_context_without_template() {
    let mut network = Network::active();
    assert_eq!(rejection(&mut network, secondary(N6, 0, None)), 46);
    // Where the first is gone, one may be without.
    let mut network = Network::with_secondary();
    network.hears(0, deactivate(false));
    network.event(SmEvent::Deleted { nsapi: N5 });
    network.hears(2, secondary(N7, 1, None));
    assert_eq!(network.state(N7), Some(SmState::ActivePending));
}

#[test]
fn network_replaces_a_context_of_the_same_nsapi() {
    let mut network = Network::with_secondary();
    network.hears(4, secondary(N6, 0, Some(tft(2))));
    assert_eq!((network.tunnels_deleted(), network.drops(Drop::SmReplaced)), (vec![(N6, false)], 1));
    assert_eq!((network.state(N6), network.sent().len()), (Some(SmState::ActivePending), 0));
}

#[test]
fn network_takes_a_repeated_request_once() {
    let mut network = Network::active();
    network.hears(1, secondary(N6, 0, Some(tft(1))));
    network.hears(1, secondary(N6, 0, Some(tft(1))));
    assert_eq!((network.done.len(), network.drops(Drop::SmRepeated)), (1, 1));
}

fn activating() -> Mobile {
    let mut mobile = Mobile::active();
    mobile.event(SmMsEvent::ActivateSecondary { nsapi: N6, wanted: wanted_secondary() });
    mobile
}

#[test]
fn mobile_activates() {
    let mut mobile = activating();
    assert_eq!(mobile.said(), (1, secondary(N6, 0, Some(tft(1))).into()));
    mobile.hears(1, accept_secondary());
    let context = mobile.contexts.get(N6).unwrap();
    assert_eq!((context.state(), context.address()), (SmMsState::Active, ADDRESS));
    assert_eq!(context.tft().unwrap().filters(), [filter(0, 1)]);
    assert_eq!(mobile.contexts.deadline(mobile.world.now), None, "T3380 is stopped");
}

#[test]
fn mobile_gives_up_when_rejected() {
    let mut mobile = activating();
    let cause = SmCause::FilterSyntaxError;
    mobile.hears(1, ActivateSecondaryReject { cause });
    assert!(mobile.has_done(&SmMsAction::Failed { nsapi: N6, cause: Some(cause) }));
    assert_eq!((mobile.state(N5), mobile.state(N6)), (Some(SmMsState::Active), None));
}

#[test]
fn mobile_repeats_four_times_after_t3380() {
    let mut mobile = activating();
    mobile.run(200);
    let sent = mobile.sent();
    let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
    let request: SmMessage = secondary(N6, 0, Some(tft(1))).into();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|(.., message)| *message == request) && are_spaced(&times, 30));
    assert_eq!((mobile.state(N5), mobile.state(N6)), (Some(SmMsState::Active), None));
}

#[test]
fn mobile_links_only_to_an_active_context() {
    let mut mobile = Mobile::activating();
    mobile.event(SmMsEvent::ActivateSecondary { nsapi: N6, wanted: wanted_secondary() });
    assert_eq!((mobile.state(N6), mobile.drops(Drop::SmUnexpected)), (None, 1));
    let mut mobile = activating();
    // The answer of the other procedure does not fit.
    mobile.hears(1, accept());
    let status = SmStatus { cause: SmCause::MessageTypeIncompatible };
    assert_eq!((mobile.said(), mobile.state(Nsapi(6))), ((1, status.into()), Some(SmMsState::ActivePending)));
}
