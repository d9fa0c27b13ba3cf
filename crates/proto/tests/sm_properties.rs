//! Session management: whatever arrives in whatever order, no panic, and the node's picture of the contexts is right.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code fails by panicking")]

use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::sm::ms::{
    Change, SmMsAction, SmMsConfig, SmMsContexts, SmMsEvent, Wanted, WantedSecondary,
};
use gannet_proto::sm::network::{
    Selected, Selection, SmAction, SmConfig, SmContexts, SmCreated, SmEvent, SmNetwork, SmState,
};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{PdpAddress, QosProfile, SmCause};
use gannet_wire::l3::sm::{ActivateRequest, SmMessage};
use gannet_wire::l3::{Direction, Header, L3Message};
use gannet_wire::{DecodeError, Reader};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

struct Everybody;

impl Selection for Everybody {
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        Ok(Selected { apn: 0, qos: QosProfile::BEST_EFFORT, address: request.address })
    }

    fn grant(&mut self, _: u16, _: Nsapi, wish: &QosProfile) -> Result<QosProfile, SmCause> {
        Ok(*wish)
    }
}

/// A message, or what remains of one that could not be read.
type Received = (u8, bool, Result<SmMessage, (u8, DecodeError)>);

/// Octets that are often a message about one of few contexts.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![0x41_u8..0x50, Just(0x55), any::<u8>()];
    let body = prop_oneof![
        (5_u8..8).prop_map(|nsapi| vec![nsapi, 3, 3, 0x23, 0x92, 0x1f, 2, 1, 0x21]),
        // A secondary context beside that with the identifier in the upper half of an octet.
        (5_u8..8, 0_u8..3, 0_u8..9).prop_map(|(nsapi, ti, precedence)| {
            vec![nsapi, 5, 3, 0x23, 0x92, 0x1f, 1, ti << 4, 0x36, 6, 0x21, 0, precedence, 2, 0x30, 17]
        }),
        // A modification of the template.
        (1_u8..6, 0_u8..9)
            .prop_map(|(code, precedence)| { vec![0x31, 6, code << 5 | 1, 0, precedence, 2, 0x30, 17] }),
        vec(any::<u8>(), 0..12),
    ];
    (0_u8..3, any::<bool>(), kind, body).prop_map(|(ti, ti_flag, kind, body)| {
        [&[u8::from(ti_flag) << 7 | ti << 4 | 0x0a, kind][..], &body].concat()
    })
}

fn received(direction: Direction) -> impl Strategy<Value = Received> {
    octets().prop_map(move |octets| match L3Message::parse(direction, &octets) {
        Ok(L3Message::Sm { ti, ti_flag, message }) => (ti, ti_flag, Ok(message)),
        Ok(L3Message::Gmm(_)) => unreachable!(),
        Err(error) => match Header::parse(&mut Reader::new(&octets)).unwrap() {
            Header::Sm { ti, ti_flag, message_type } => (ti, ti_flag, Err((message_type, error))),
            Header::Gmm { .. } => unreachable!(),
        },
    })
}

fn nsapi() -> impl Strategy<Value = Nsapi> {
    (4_u8..9).prop_map(Nsapi)
}

fn network_event() -> impl Strategy<Value = SmEvent> {
    let cause = SmCause::NetworkFailure;
    prop_oneof![
        8 => received(Direction::Uplink).prop_map(|(ti, ti_flag, message)| match message {
            Ok(message) => SmEvent::Message { ti, ti_flag, message },
            Err((message_type, error)) => SmEvent::DecodeFailed { ti, ti_flag, message_type, error },
        }),
        2 => Just(SmEvent::Timer),
        3 => (nsapi(), any::<bool>(), 128_u8..131).prop_map(|(nsapi, said, cause)| SmEvent::Created {
            nsapi,
            created: SmCreated {
                qos: QosProfile::BEST_EFFORT,
                address: said.then_some(PdpAddress::Ipv4([10, 0, 0, 7].into())),
                cause: Cause::from_octet(cause),
                pco: None,
            },
        }),
        2 => nsapi().prop_map(|nsapi| SmEvent::Updated { nsapi, qos: QosProfile::BEST_EFFORT }),
        1 => nsapi().prop_map(|nsapi| SmEvent::UpdateFailed { nsapi }),
        1 => (nsapi(), any::<bool>())
            .prop_map(move |(nsapi, tunnel_gone)| SmEvent::TearDown { nsapi, cause, tunnel_gone }),
        1 => (nsapi(), any::<u8>())
            .prop_map(|(nsapi, c)| SmEvent::CreateRejected { nsapi, cause: Cause::from_octet(c), pco: None }),
        1 => nsapi().prop_map(|nsapi| SmEvent::CreateFailed { nsapi }),
        2 => nsapi().prop_map(|nsapi| SmEvent::Deleted { nsapi }),
        1 => (nsapi(), any::<bool>())
            .prop_map(move |(nsapi, tunnel_gone)| SmEvent::Deactivate { nsapi, cause, tunnel_gone }),
        1 => nsapi().prop_map(|nsapi| SmEvent::Modify { nsapi, qos: QosProfile::default() }),
        1 => nsapi().prop_map(move |nsapi| SmEvent::Forget { nsapi, cause }),
    ]
}

fn ms_event() -> impl Strategy<Value = SmMsEvent> {
    let cause = SmCause::RegularDeactivation;
    let wanted = Wanted {
        sapi: Sapi::DATA3,
        qos: QosProfile::default(),
        address: PdpAddress::Ipv4Dynamic,
        apn: None,
        pco: None,
    };
    prop_oneof![
        8 => received(Direction::Downlink).prop_map(|(ti, ti_flag, message)| match message {
            Ok(message) => SmMsEvent::Message { ti, ti_flag, message },
            Err((message_type, error)) => SmMsEvent::DecodeFailed { ti, ti_flag, message_type, error },
        }),
        2 => Just(SmMsEvent::Timer),
        3 => nsapi().prop_map(move |nsapi| SmMsEvent::Activate { nsapi, wanted: wanted.clone() }),
        1 => nsapi().prop_map(move |nsapi| SmMsEvent::Deactivate { nsapi, cause }),
        1 => nsapi().prop_map(|nsapi| SmMsEvent::Modify {
            nsapi,
            change: Change { qos: Some(QosProfile::BEST_EFFORT), tft: None },
        }),
        1 => nsapi().prop_map(move |nsapi| SmMsEvent::TearDown { nsapi, cause }),
        2 => (nsapi(), nsapi()).prop_map(|(nsapi, linked)| {
            let (sapi, qos, tft) = (Sapi::DATA5, QosProfile::default(), None);
            SmMsEvent::ActivateSecondary { nsapi, wanted: WantedSecondary { linked, sapi, qos, tft } }
        }),
        1 => nsapi().prop_map(move |nsapi| SmMsEvent::Forget { nsapi, cause }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sgsn_keeps_its_books(events in vec((network_event(), 0_u64..12), 1..60)) {
        let mut world = Surroundings::new(1, 0, Quiet::default());
        let (mut contexts, cfg) = (SmContexts::default(), SmConfig::default());
        // What a node knows from the actions alone.
        let (mut known, mut tunnels) = (BTreeSet::new(), BTreeSet::new());
        for (event, seconds) in events {
            world.now += Duration::from_secs(seconds);
            // The GGSN deletes tunnels by itself, too.
            if let SmEvent::Deactivate { nsapi, tunnel_gone: true, .. } = &event {
                tunnels.remove(nsapi);
            }
            if let SmEvent::CreateRejected { nsapi, .. } | SmEvent::CreateFailed { nsapi } = &event
                && contexts.get(*nsapi).is_some_and(|context| context.state() == SmState::ActivePending)
            {
                tunnels.remove(nsapi);
            }
            // Tunnels of one address, which go together.
            let sharers = |nsapi: Nsapi, contexts: &SmContexts| -> Vec<Nsapi> {
                contexts.sharers(nsapi).chain([nsapi]).collect()
            };
            if let SmEvent::TearDown { nsapi, tunnel_gone: true, .. } = &event {
                sharers(*nsapi, &contexts).iter().for_each(|nsapi| {
                    tunnels.remove(nsapi);
                });
            }
            let groups: Vec<(Nsapi, Vec<Nsapi>)> =
                contexts.iter().map(|(nsapi, _)| (nsapi, sharers(nsapi, &contexts))).collect();
            let mut out = Batch::default();
            let mut network = SmNetwork { cfg: &cfg, selection: &mut Everybody, whose: None, requested: None, wrong_flag_said: &mut false };
            contexts.handle(&mut world.context(), &mut network, event, &mut out);
            while let Some(action) = out.pop() {
                match action {
                    SmAction::CreateTunnel { nsapi, .. } => {
                        prop_assert!(known.insert(nsapi), "a context was made over another");
                        prop_assert!(tunnels.insert(nsapi), "a tunnel was made over another");
                    }
                    SmAction::UpdateTunnel { nsapi, .. } => {
                        prop_assert!(tunnels.contains(&nsapi), "a tunnel was changed that is not there");
                    }
                    SmAction::DeleteTunnel { nsapi, tear_down } => {
                        tunnels.remove(&nsapi);
                        let group = groups.iter().find(|(of, _)| *of == nsapi).filter(|_| tear_down);
                        group.iter().flat_map(|(_, group)| group).for_each(|nsapi| {
                            tunnels.remove(nsapi);
                        });
                    }
                    SmAction::Released { nsapi, .. } => {
                        prop_assert!(known.remove(&nsapi), "released twice");
                        prop_assert!(!tunnels.contains(&nsapi), "a tunnel was left behind");
                    }
                    SmAction::Active { nsapi, .. }
                    | SmAction::Modified { nsapi, .. }
                    | SmAction::NotModified { nsapi } => {
                        prop_assert!(contexts.get(nsapi).unwrap().is_active());
                    }
                    SmAction::Send { .. } => {}
                }
            }
            let held: BTreeSet<Nsapi> = contexts.iter().map(|(nsapi, _)| nsapi).collect();
            prop_assert_eq!(&held, &known);
            let waits = contexts.iter().any(|(_, context)| {
                matches!(context.state(), SmState::ModifyPending | SmState::InactivePending(_))
            });
            prop_assert_eq!(contexts.deadline(world.now).is_some(), waits);
            // A mobile moves with all its contexts.
            let moved: SmContexts = postcard::from_bytes(&postcard::to_stdvec(&contexts).unwrap()).unwrap();
            prop_assert_eq!(&moved, &contexts);
        }
    }

    #[test]
    fn the_mobile_keeps_its_books(events in vec((ms_event(), 0_u64..40), 1..60)) {
        let mut world = Surroundings::new(1, 0, Quiet::default());
        let mut contexts = SmMsContexts::default();
        let cfg = SmMsConfig { follows_requests: true, ..SmMsConfig::default() };
        for (event, seconds) in events {
            world.now += Duration::from_secs(seconds);
            let before: BTreeSet<Nsapi> = contexts.iter().map(|(nsapi, _)| nsapi).collect();
            let mut out = Batch::default();
            contexts.handle(&mut world.context(), &cfg, None, event, &mut out);
            let after: BTreeSet<Nsapi> = contexts.iter().map(|(nsapi, _)| nsapi).collect();
            let ended: BTreeSet<Nsapi> = out
                .iter()
                .filter_map(|action| match action {
                    SmMsAction::Failed { nsapi, .. } | SmMsAction::Released { nsapi, .. } => Some(*nsapi),
                    SmMsAction::Send { .. }
                    | SmMsAction::Requested { .. }
                    | SmMsAction::Active { .. }
                    | SmMsAction::Modified { .. } => None,
                })
                .collect();
            // What the network requested may have come at once into the place of what went.
            let requested = |nsapi: &Nsapi| {
                out.iter().any(|action| matches!(action, SmMsAction::Requested { nsapi: of, .. } if of == nsapi))
            };
            let ended: BTreeSet<Nsapi> = ended.into_iter().filter(|nsapi| !requested(nsapi)).collect();
            prop_assert_eq!(before.difference(&after).copied().collect::<BTreeSet<_>>(), ended);
            let mut identifiers: Vec<u8> = contexts.iter().map(|(_, context)| context.ti()).collect();
            identifiers.sort_unstable();
            identifiers.dedup();
            prop_assert_eq!(identifiers.len(), after.len());
            let moved: SmMsContexts = postcard::from_bytes(&postcard::to_stdvec(&contexts).unwrap()).unwrap();
            prop_assert_eq!(&moved, &contexts);
        }
    }
}
