//! What the two do.

use super::*;

fn request(nsapi: Nsapi, address: PdpAddress) -> ActivateRequest {
    ActivateRequest { nsapi, sapi: Sapi(0), qos: QosProfile::default(), address, apn: None, pco: None }
}

#[test]
fn a_context_comes_and_goes() {
    let mut pair = Pair::active();
    let ms = pair.ms.get(N5).unwrap();
    assert_eq!((ms.address(), ms.qos().delay), (ADDRESS, DelayClass::THREE));
    assert_eq!(ms.qos(), pair.sgsn.get(N5).unwrap().qos());
    assert_eq!(pair.sgsn.get(N5).unwrap().ti(), (0, true));
    assert!(pair.at_ms.iter().any(|action| matches!(action,
        SmMsAction::Active { nsapi: N5, address: ADDRESS, pco: Some(pco), .. } if pco.0 == [0x80, 1])));
    assert_eq!(pair.sgsn.status().0, 1 << 5);
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(10);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
    assert_eq!(pair.world.trace.drops.total(), 0);
}

#[test]
fn the_network_deactivates() {
    for tunnel_gone in [false, true] {
        let mut pair = Pair::active();
        pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::ReactivationRequired, tunnel_gone });
        assert_eq!(pair.tunnels.is_empty(), !tunnel_gone);
        pair.run(10);
        assert_eq!(pair.states(), (None, None));
        assert!(
            pair.at_ms.contains(&SmMsAction::Released { nsapi: N5, cause: SmCause::ReactivationRequired })
        );
        assert_eq!(pair.world.trace.drops.total(), 0);
    }
}

#[test]
fn both_deactivate_at_once() {
    let mut pair = Pair::active();
    pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(20);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
}

#[test]
fn every_refusal_has_its_cause() {
    let failed = |apn: &str, address, ggsn| {
        let mut pair = Pair::new(1, 0.0, 0.0);
        pair.ggsn = ggsn;
        pair.activate(N5, apn, address);
        pair.run(40);
        assert_eq!(pair.states(), (None, None));
        assert_eq!(pair.drops(Drop::SmRejected), 1);
        let Some(SmMsAction::Failed { nsapi: N5, cause: Some(cause) }) = pair.at_ms.last() else { panic!() };
        cause.code()
    };
    let dynamic = PdpAddress::Ipv4Dynamic;
    assert_eq!(failed("nowhere", dynamic, Ggsn::Accepts), 27);
    assert_eq!(failed("forbidden", dynamic, Ggsn::Accepts), 33);
    assert_eq!(failed("internet", PdpAddress::Ppp, Ggsn::Accepts), 28);
    assert_eq!(failed("internet", PdpAddress::Empty, Ggsn::Accepts), 28);
    assert_eq!(failed("internet", dynamic, Ggsn::Refuses(Cause::AllDynamicAddressesOccupied)), 26);
    assert_eq!(failed("internet", dynamic, Ggsn::Refuses(Cause::UserAuthenticationFailed)), 29);
    assert_eq!(failed("internet", dynamic, Ggsn::IsSilent), 38);
}

#[test]
fn unknown_ietf_types_are_ipv4_and_ipv6_can_be_switched_off() {
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, PdpAddress::Other { organisation: 1, number: 0x99 }));
    assert!(matches!(
        pair.at_sgsn[..],
        [SmAction::CreateTunnel { nsapi: N5, apn: 3, address: PdpAddress::Ipv4Dynamic, .. }]
    ));
    // The mobile of R97 gets a profile of R97, and a SAPI although it named none.
    pair.run(1);
    let Some((0, true, SmMessage::ActivateAccept(accept))) = pair.last_sent() else { panic!() };
    assert_eq!((accept.qos.r99, accept.sapi, accept.address), (None, Sapi::DATA3, Some(ADDRESS)));
    pair.cfg.ipv6 = false;
    pair.uplink(1, false, request(N6, PdpAddress::Ipv6Dynamic));
    assert!(matches!(pair.last_sent(), Some((1, true, SmMessage::ActivateReject(reject)))
        if reject.cause == SmCause::UnknownPdpAddressOrType));
}

#[test]
fn a_request_again_while_pending_is_ignored_and_later_replaces() {
    // The mobile is this test itself.
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, PdpAddress::Ipv4Dynamic));
    pair.uplink(0, false, request(N5, PdpAddress::Ipv4Dynamic));
    assert_eq!((pair.at_sgsn.len(), pair.drops(Drop::SmRepeated)), (1, 1));
    pair.run(1);
    assert_eq!(pair.states().1, Some(SmState::Active));
    // Clause 8.3.2 d: the same identifier; 6.1.3.1.5 c: the same NSAPI under another identifier.
    for (ti, count) in [(0, 1), (3, 2)] {
        pair.at_sgsn.clear();
        pair.uplink(ti, false, request(N5, PdpAddress::Ipv4Dynamic));
        assert!(matches!(
            pair.at_sgsn[..],
            [
                SmAction::DeleteTunnel { nsapi: N5, tear_down: true },
                SmAction::Released { nsapi: N5, .. },
                SmAction::CreateTunnel { nsapi: N5, .. },
            ]
        ));
        pair.run(1);
        assert_eq!((pair.tunnels.len(), pair.drops(Drop::SmReplaced)), (1, count));
    }
    // The same identifier for another NSAPI, and then the same static address in yet another.
    pair.uplink(3, false, request(N6, PdpAddress::Ipv4Dynamic));
    pair.run(1);
    assert!(pair.sgsn.get(N5).is_none());
    pair.uplink(4, false, request(N5, ADDRESS));
    assert!(pair.sgsn.get(N6).is_none());
    assert_eq!(pair.drops(Drop::SmReplaced), 4);
}

#[test]
fn unknown_identifiers() {
    let mut pair = Pair::active();
    pair.set_air(1.0, 0.0);
    for message in [
        SmMessage::from(DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None }),
        DeactivateAccept {}.into(),
        ModifyAcceptMo {}.into(),
        ModifyRequestMo { sapi: None, qos: None, tft: None }.into(),
        RequestActivationReject { cause: SmCause::InsufficientResources }.into(),
    ] {
        for (ti, ti_flag) in [(5, false), (100, false), (0, true)] {
            pair.uplink(ti, ti_flag, message.clone());
            let answer = SmStatus { cause: SmCause::InvalidTi }.into();
            assert_eq!(pair.last_sent(), Some((ti, !ti_flag, answer)), "{message:?}");
        }
    }
    assert_eq!(pair.drops(Drop::SmUnknownTi), 15);
    // A status is not answered; a request whose flag says that the network chose the identifier is ignored where the operator
    // wants it so.
    let before = pair.at_sgsn.len();
    pair.cfg.accept_ti_flag = false;
    pair.uplink(5, false, SmStatus { cause: SmCause::InvalidTi });
    pair.uplink(5, true, request(N6, PdpAddress::Ipv4Dynamic));
    assert_eq!(pair.at_sgsn.len(), before);
    assert_eq!((pair.drops(Drop::SmStatusReceived), pair.drops(Drop::SmIgnored)), (1, 1));
    // Else it is taken, and the answer's flag is 0.
    pair.cfg.accept_ti_flag = true;
    pair.uplink(5, true, request(N6, PdpAddress::Ipv4Dynamic));
    pair.run(1);
    assert!(matches!(pair.last_sent(), Some((5, false, SmMessage::ActivateAccept(_)))));
    assert_eq!((pair.sgsn.by_ti(5, true), pair.sgsn.by_ti(5, false)), (Some(N6), None));
}

#[test]
fn a_phone_that_sets_the_flag() {
    for accept_ti_flag in [true, false] {
        let mut pair = Pair::new(1, 0.0, 0.0);
        (pair.ms_cfg.sets_flag, pair.cfg.accept_ti_flag) = (true, accept_ti_flag);
        pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
        pair.run(200);
        if !accept_ti_flag {
            // T3380 five times.
            assert_eq!((pair.states(), pair.drops(Drop::SmIgnored)), ((None, None), 5));
            continue;
        }
        assert_eq!(pair.states(), (Some(SmMsState::Active), Some(SmState::Active)));
        let tft = Some(tft(1));
        let wanted = WantedSecondary { linked: N5, sapi: Sapi::DATA5, qos: QosProfile::default(), tft };
        pair.ms(SmMsEvent::ActivateSecondary { nsapi: N6, wanted });
        pair.run(10);
        assert!(pair.sgsn.get(N6).is_some_and(|context| context.is_active()));
        // Either side ends one.
        pair.sgsn(SmEvent::Deactivate { nsapi: N6, cause: SmCause::RegularDeactivation, tunnel_gone: false });
        pair.run(10);
        assert!(pair.ms.get(N6).is_none() && pair.sgsn.get(N6).is_none());
        pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
        pair.run(10);
        assert_eq!((pair.states(), pair.drops(Drop::SmIgnored), pair.tunnels.len()), ((None, None), 0, 0));
    }
}

#[test]
fn messages_that_cannot_be_read() {
    let mut pair = Pair::active();
    for (octets, ti, answer) in [
        // An Activate Request and a Modify Request without their mandatory part; a type that is not defined.
        (
            &[0x1a, 0x41, 5][..],
            1,
            SmMessage::from(ActivateReject { cause: SmCause::InvalidMandatoryInformation, pco: None }),
        ),
        (&[0x1a, 0x4d, 5], 1, ActivateSecondaryReject { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x4a, 0x01, 0x00], 0, ModifyReject { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x45], 0, SmStatus { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x5f], 0, SmStatus { cause: SmCause::MessageTypeNonExistent }.into()),
        (&[0x0a, 0x42], 0, SmStatus { cause: SmCause::MessageTypeNonExistent }.into()),
    ] {
        pair.octets_at_sgsn(octets);
        assert_eq!(pair.last_sent(), Some((ti, true, answer)));
    }
    let sent = pair.at_sgsn.len();
    pair.octets_at_sgsn(&[0x0a, 0x55]);
    pair.octets_at_sgsn(&[0x7a, 0x01, 0x41]);
    assert_eq!((pair.at_sgsn.len(), pair.drops(Drop::SmMalformed)), (sent, 7));
    assert_eq!(pair.states().1, Some(SmState::Active));
    // A Deactivate Request without its cause is carried out (clause 8.5.3 b), at both ends.
    pair.octets_at_sgsn(&[0x0a, 0x46]);
    pair.run(1);
    assert_eq!(pair.states().1, None);
    pair.octets_at_ms(&[0x8a, 0x46]);
    assert_eq!(pair.states().0, None);
}

/// Creates a template with one filter, of that precedence.
fn tft(precedence: u8) -> TrafficFlowTemplate {
    let filter = PacketFilter {
        identifier: 0,
        direction: FilterDirection::Unsaid,
        precedence,
        components: vec![Component::Protocol(17)],
    };
    TftRepr::new(TftOperation::Create(vec![filter])).to_element()
}

fn with_secondary() -> Pair {
    let mut pair = Pair::active();
    let wanted =
        WantedSecondary { linked: N5, sapi: Sapi::DATA5, qos: QosProfile::default(), tft: Some(tft(1)) };
    pair.ms(SmMsEvent::ActivateSecondary { nsapi: N6, wanted });
    pair.run(10);
    assert_eq!(pair.ms.get(N6).map(|context| context.state()), Some(SmMsState::Active));
    pair
}

#[test]
fn a_secondary_context_has_the_address_of_the_first() {
    let pair = with_secondary();
    let (at_ms, at_sgsn) = (pair.ms.get(N6).unwrap(), pair.sgsn.get(N6).unwrap());
    assert_eq!((at_ms.address(), at_sgsn.address(), at_sgsn.sapi()), (ADDRESS, ADDRESS, Sapi::DATA5));
    assert!(at_ms.is_secondary() && at_sgsn.is_secondary() && at_sgsn.has_tft());
    assert_eq!(at_ms.tft().map(|tft| tft.filters().len()), Some(1));
    assert_eq!(pair.sgsn.sharers(N5).collect::<Vec<_>>(), [N6]);
    assert_eq!((pair.tunnels.len(), pair.world.trace.drops.total()), (2, 0));
}

#[test]
fn contexts_of_an_address_end_alone_or_together() {
    let mut pair = with_secondary();
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(10);
    assert!(pair.at_sgsn.contains(&SmAction::DeleteTunnel { nsapi: N5, tear_down: false }));
    assert_eq!((pair.states(), &pair.tunnels[..]), ((None, None), &[N6][..]));
    pair.ms(SmMsEvent::Deactivate { nsapi: N6, cause: SmCause::RegularDeactivation });
    pair.run(10);
    assert!(pair.at_sgsn.contains(&SmAction::DeleteTunnel { nsapi: N6, tear_down: true }));
    assert!(pair.ms.is_empty() && pair.sgsn.is_empty() && pair.tunnels.is_empty());
    for by_network in [false, true] {
        let mut pair = with_secondary();
        let cause = SmCause::RegularDeactivation;
        if by_network {
            pair.sgsn(SmEvent::TearDown { nsapi: N6, cause, tunnel_gone: false });
        } else {
            pair.ms(SmMsEvent::TearDown { nsapi: N6, cause });
        }
        pair.run(10);
        assert!(pair.ms.is_empty() && pair.sgsn.is_empty() && pair.tunnels.is_empty());
        assert_eq!(pair.world.trace.drops.total(), 0);
    }
}

#[test]
fn the_mobile_modifies() {
    let mut pair = with_secondary();
    let qos = QosProfile { delay: DelayClass::ONE, ..pair.ms.get(N6).unwrap().qos() };
    let change = Change { qos: Some(qos), tft: Some(tft(9)) };
    pair.ms(SmMsEvent::Modify { nsapi: N6, change: change.clone() });
    pair.run(10);
    let at_ms = pair.ms.get(N6).unwrap();
    assert_eq!((at_ms.qos(), pair.sgsn.get(N6).unwrap().qos()), (qos, qos));
    assert_eq!(at_ms.tft().unwrap().filters()[0].precedence, 9);
    assert_eq!(pair.world.trace.drops.total(), 0);
    // The GGSN refuses, and then it is silent: all goes on as it was.
    for (ggsn, cause) in [(Ggsn::Refuses(Cause::SyntacticErrorInPacketFilter), 45), (Ggsn::IsSilent, 38)] {
        pair.ggsn = ggsn;
        pair.ms(SmMsEvent::Modify { nsapi: N6, change: Change { qos: None, tft: Some(tft(3)) } });
        pair.run(40);
        assert!(matches!(pair.last_sent(), Some((1, true, SmMessage::ModifyReject(reject)))
            if reject.cause.code() == cause));
        assert_eq!(pair.ms.get(N6).unwrap().tft().unwrap().filters()[0].precedence, 9);
        assert_eq!(pair.sgsn.get(N6).unwrap().state(), SmState::Active);
    }
}

#[test]
fn the_network_modifies() {
    let mut pair = Pair::active();
    let qos = QosProfile { delay: DelayClass::ONE, r99: None, ..QosProfile::BEST_EFFORT };
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos });
    // Collision: the network goes first (clause 6.1.3.3.3 b).
    pair.ms(SmMsEvent::Modify {
        nsapi: N5,
        change: Change { qos: Some(QosProfile::BEST_EFFORT), tft: None },
    });
    pair.run(20);
    assert_eq!(pair.states(), (Some(SmMsState::Active), Some(SmState::Active)));
    assert_eq!((pair.ms.get(N5).unwrap().qos(), pair.sgsn.get(N5).unwrap().qos()), (qos, qos));
    assert!(pair.at_sgsn.contains(&SmAction::Modified { nsapi: N5, qos }));
    // Without an answer the context is deactivated after T3386 has expired five times, then T3395.
    pair.set_air(1.0, 0.0);
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos });
    pair.run(100);
    assert_eq!((pair.states().1, pair.drops(Drop::SmNoAnswer)), (None, 2));
    assert!(pair.tunnels.is_empty());
}

#[test]
fn nobody_answers() {
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.run(149);
    assert_eq!(pair.states().0, Some(SmMsState::ActivePending));
    pair.run(10);
    let sent = pair.at_ms.iter().filter(|action| matches!(action, SmMsAction::Send { .. })).count();
    assert_eq!((sent, pair.at_ms.last()), (5, Some(&SmMsAction::Failed { nsapi: N5, cause: None })));

    let mut pair = Pair::active();
    pair.set_air(1.0, 0.0);
    pair.at_ms.clear();
    pair.at_sgsn.clear();
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    pair.run(39);
    assert!(pair.states().0.is_some() && pair.states().1.is_some());
    pair.run(5);
    assert_eq!(pair.states(), (None, None));
    let sent = |count: usize| count == 5;
    assert!(sent(pair.at_ms.iter().filter(|action| matches!(action, SmMsAction::Send { .. })).count()));
    assert!(sent(pair.at_sgsn.iter().filter(|action| matches!(action, SmAction::Send { .. })).count()));
    assert_eq!(pair.drops(Drop::SmNoAnswer), 2);
}

#[test]
fn the_mobile_refuses_what_it_cannot_do() {
    let mut pair = Pair::new(1, 0.0, 0.0);
    let offer = RequestActivation { address: ADDRESS, apn: None };
    let last = |pair: &Pair| match pair.at_ms.last() {
        Some(SmMsAction::Send { ti, ti_flag, message }) => Some((*ti, *ti_flag, message.clone())),
        _ => None,
    };
    let reject = |cause| Some((2, true, SmMessage::from(RequestActivationReject { cause })));
    pair.downlink(2, false, offer.clone());
    assert_eq!(last(&pair), reject(SmCause::FeatureNotSupported));
    pair.downlink(2, true, offer.clone());
    assert_eq!(pair.drops(Drop::SmIgnored), 1);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.downlink(2, false, offer.clone());
    assert_eq!(last(&pair), reject(SmCause::InsufficientResources));
    pair.activate(N6, "internet", ADDRESS);
    pair.downlink(2, false, offer);
    assert_eq!(pair.drops(Drop::SmIgnored), 2);
    assert_eq!(pair.ms.get(N6).unwrap().ti(), 1);
    // Clause 8.3.2 b, and 8.4.
    pair.downlink(9, true, DeactivateAccept {});
    assert_eq!(last(&pair), Some((9, false, SmStatus { cause: SmCause::InvalidTi }.into())));
    pair.downlink(0, true, DeactivateAccept {});
    assert_eq!(last(&pair), Some((0, false, SmStatus { cause: SmCause::MessageTypeIncompatible }.into())));
    pair.downlink(0, true, SmStatus { cause: SmCause::InvalidTi });
    assert_eq!(pair.at_ms.last(), Some(&SmMsAction::Failed { nsapi: N5, cause: Some(SmCause::InvalidTi) }));
}

#[test]
fn the_users_change_their_minds() {
    // The mobile gives up before the network has answered.
    let mut pair = Pair::new(1, 0.0, 0.0);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(60);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
    // The operator does.
    pair.ggsn = Ggsn::IsSilent;
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.run(1);
    pair.sgsn(SmEvent::Deactivate {
        nsapi: N5,
        cause: SmCause::OperatorDeterminedBarring,
        tunnel_gone: false,
    });
    pair.run(5);
    assert_eq!(pair.states(), (None, None));
    let failed = SmMsAction::Failed { nsapi: N5, cause: Some(SmCause::OperatorDeterminedBarring) };
    assert_eq!(pair.at_ms.last(), Some(&failed));
    // Late answers of the GGSN find nothing.
    pair.sgsn(SmEvent::Deleted { nsapi: N5 });
    pair.sgsn(SmEvent::CreateFailed { nsapi: N5 });
    assert!(pair.drops(Drop::SmUnexpected) >= 2);
    // A detach forgets everything at both ends.
    let mut pair = Pair::active();
    pair.sgsn(SmEvent::Forget { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.ms(SmMsEvent::Forget { nsapi: N5, cause: SmCause::RegularDeactivation });
    assert!(pair.sgsn.is_empty() && pair.ms.is_empty() && pair.tunnels.is_empty());
}

#[test]
fn whatever_the_link_does_both_ends_agree() {
    for seed in 0..60 {
        let mut pair = Pair::new(seed, 0.2, 0.2);
        for round in 0..6 {
            for nsapi in [N5, N6, Nsapi(15)] {
                if pair.ms.get(nsapi).is_none() {
                    pair.activate(nsapi, "internet", PdpAddress::Ipv4Dynamic);
                }
            }
            pair.run(300);
            let by_network = round % 2 == 0;
            for nsapi in [N5, N6] {
                if by_network && pair.sgsn.get(nsapi).is_some() {
                    let cause = SmCause::NetworkFailure;
                    pair.sgsn(SmEvent::Deactivate { nsapi, cause, tunnel_gone: false });
                } else if pair.ms.get(nsapi).is_some() {
                    pair.ms(SmMsEvent::Deactivate { nsapi, cause: SmCause::RegularDeactivation });
                }
            }
            pair.run(300);
            assert_eq!(pair.up.under_way() + pair.down.under_way() + pair.from_ggsn.len(), 0);
            // With one message in five lost, an exchange that is tried five times may still fail at one end; then the
            // other end finds out with the next message. Tunnels always follow the SGSN.
            let mut held: Vec<Nsapi> = pair.sgsn.iter().map(|(nsapi, _)| nsapi).collect();
            held.sort_unstable();
            let mut tunnels = pair.tunnels.clone();
            tunnels.sort_unstable();
            assert_eq!(held, tunnels, "seed {seed}");
            let settled = pair.ms.iter().all(|(_, context)| context.state() == SmMsState::Active)
                && pair.sgsn.iter().all(|(_, context)| context.state() == SmState::Active);
            assert!(settled, "seed {seed}");
        }
        // On a good link everything ends.
        pair.set_air(0.0, 0.0);
        for nsapi in [N5, N6, Nsapi(15)] {
            if pair.ms.get(nsapi).is_some() {
                pair.ms(SmMsEvent::Deactivate { nsapi, cause: SmCause::RegularDeactivation });
            }
        }
        pair.run(60);
        for nsapi in [N5, N6, Nsapi(15)] {
            if pair.sgsn.get(nsapi).is_some() {
                pair.sgsn(SmEvent::Deactivate { nsapi, cause: SmCause::NetworkFailure, tunnel_gone: false });
            }
        }
        pair.run(60);
        assert!(pair.ms.is_empty() && pair.sgsn.is_empty() && pair.tunnels.is_empty(), "seed {seed}");
    }
}

#[test]
fn the_contexts_of_a_mobile_keep_to_their_budget() {
    assert!(size_of::<SmContexts>() <= 64, "one context of 44 octets, its NSAPI, and where the others are");
}

/// The ACCEPT that answers a request for `address`, where the GGSN gives that with this cause; and what the mobile made of it.
fn accepted(address: PdpAddress, given: PdpAddress, cause: Cause) -> (ActivateAccept, SmMsAction) {
    let mut pair = Pair::new(1, 0.0, 0.0);
    pair.gives = (given, cause);
    pair.activate(N5, "internet", address);
    pair.run(10);
    assert_eq!(pair.states(), (Some(SmMsState::Active), Some(SmState::Active)), "{address}");
    let Some((0, true, SmMessage::ActivateAccept(accept))) = pair.last_sent() else { panic!() };
    let active = pair.at_ms.iter().find(|action| matches!(action, SmMsAction::Active { .. })).cloned();
    assert_eq!(pair.ms.get(N5).unwrap().address(), given);
    (accept, active.unwrap())
}

#[test]
fn the_mobile_is_told_its_address_unless_it_asked_for_exactly_that_one() {
    let other = PdpAddress::Ipv4([10, 0, 0, 8].into());
    let zero = PdpAddress::Ipv4([0, 0, 0, 0].into());
    for (asked, told) in [
        (PdpAddress::Ipv4Dynamic, Some(ADDRESS)),
        (zero, Some(ADDRESS)),
        (other, Some(ADDRESS)),
        (PdpAddress::Other { organisation: 1, number: 0x99 }, Some(ADDRESS)),
        (ADDRESS, None),
    ] {
        assert_eq!(accepted(asked, ADDRESS, Cause::RequestAccepted).0.address, told, "{asked}");
    }
    // One that the subscription has, and not the mobile.
    let mut pair = Pair::new(1, 0.0, 0.0);
    pair.activate(N5, "static", PdpAddress::Ipv4Dynamic);
    pair.run(10);
    assert_eq!(pair.ms.get(N5).map(|context| context.address()), Some(ADDRESS));
    // To ask for the unspecified address is to leave it to the network; two such contexts have not the same one.
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, zero));
    pair.uplink(1, false, request(N6, zero));
    let asked: Vec<PdpAddress> = pair
        .at_sgsn
        .iter()
        .filter_map(|action| match action {
            SmAction::CreateTunnel { address, .. } => Some(*address),
            _ => None,
        })
        .collect();
    assert_eq!((asked, pair.sgsn.sharers(N5).count()), (vec![PdpAddress::Ipv4Dynamic; 2], 0));
}

#[test]
fn who_asked_for_both_versions_of_ip_is_told_why_it_has_one() {
    let (four, six) = (ADDRESS, PdpAddress::Ipv6(core::net::Ipv6Addr::LOCALHOST));
    let both = PdpAddress::Ipv4v6(core::net::Ipv4Addr::new(10, 0, 0, 7), core::net::Ipv6Addr::LOCALHOST);
    let dual = PdpAddress::Ipv4v6Dynamic;
    let (network, single) = (Cause::NewPdpTypeNetworkPreference, Cause::NewPdpTypeSingleAddress);
    for (asked, given, gtp, cause) in [
        (dual, four, network, Some(50)),
        (dual, six, network, Some(51)),
        (dual, four, single, Some(52)),
        (dual, six, single, Some(52)),
        // A GGSN that does not know the causes.
        (dual, four, Cause::RequestAccepted, Some(50)),
        (both, six, Cause::RequestAccepted, Some(51)),
        (dual, both, Cause::RequestAccepted, None),
        (PdpAddress::Ipv4Dynamic, four, network, None),
        (PdpAddress::Ipv6Dynamic, six, single, None),
    ] {
        let (accept, active) = accepted(asked, given, gtp);
        assert_eq!(accept.cause.map(SmCause::code), cause, "{asked} {given} {gtp}");
        assert_eq!(accept.address, Some(given));
        let SmMsAction::Active { cause: read, .. } = active else { panic!() };
        assert_eq!(read, accept.cause, "the mobile reads it");
    }
    // The SGSN serves one version only.
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.cfg.ipv6 = false;
    pair.uplink(0, false, request(N5, dual));
    pair.run(1);
    assert!(matches!(pair.last_sent(), Some((0, true, SmMessage::ActivateAccept(accept)))
        if accept.cause == Some(SmCause::Ipv4Only) && accept.address == Some(ADDRESS)));
}

#[test]
fn what_a_ggsn_leaves_open_is_as_it_was_asked_for() {
    let mut pair = Pair::active();
    let held = pair.sgsn.get(N5).unwrap().qos();
    assert_eq!(held.concrete(), held);
    let open = QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() };
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos: open });
    let Some((_, _, SmMessage::ModifyRequestMt(asked))) = pair.last_sent() else { panic!() };
    assert_eq!(asked.qos, held);
    pair.run(10);
    pair.ms(SmMsEvent::Modify { nsapi: N5, change: Change { qos: Some(open), tft: None } });
    pair.run(10);
    let Some((_, _, SmMessage::ModifyAcceptMt(accept))) = pair.last_sent() else { panic!() };
    assert_eq!(accept.qos, Some(held));
    // A mobile of R97 never gets a profile of R99, whoever wants that.
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, PdpAddress::Ipv4Dynamic));
    pair.run(1);
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos: held });
    let Some((_, _, SmMessage::ModifyRequestMt(asked))) = pair.last_sent() else { panic!() };
    assert_eq!(asked.qos, QosProfile { r99: None, ..held });
}
