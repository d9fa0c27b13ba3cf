//! Whatever the radio, the IP side and the user say, a fleet of mobiles does not panic and loses no frame.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine, Peer, Surroundings};
use gannet_node::ms::{BEARER, Ms, MsCommand, MsConfig, TUN};
use gannet_proto::um::{BROADCAST, UmBearer, UmHeader, UmKind};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{CellId, Nsapi, Plmn, Rai, Tlli};
use proptest::prelude::*;

const FRAMES: usize = 32;
const MOBILES: u32 = 2;

#[derive(Debug, Clone)]
enum Step {
    /// Octets as they are, from a peer.
    Raw(u32, Vec<u8>),
    /// Octets as information of a UI frame with a right FCS, with the mobile's TLLI.
    LlPdu {
        mobile: u32,
        sapi: u8,
        nu: u8,
        information: Vec<u8>,
    },
    /// Octets behind a header of the emulated radio.
    Um(u32, UmKind, u16, Vec<u8>),
    Packet(u32, Vec<u8>),
    Order(u8, u32, u8),
    Pass(u64),
}

fn octets() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        // Accepts, rejects and commands of GMM and SM, with anything behind.
        (
            prop_oneof![Just([0x08, 0x02]), Just([0x08, 0x09]), Just([0x08, 0x05]), Just([0x8a, 0x42])],
            proptest::collection::vec(any::<u8>(), 0..40)
        )
            .prop_map(|(start, rest)| [&start[..], &rest].concat()),
        // An ATTACH ACCEPT and an ACTIVATE PDP CONTEXT ACCEPT that are right.
        Just(vec![8, 2, 1, 0x49, 4, 0, 0xf1, 0x10, 0, 7, 1, 0x18, 5, 0xf4, 0xc0, 0, 0, 1]),
        Just(vec![0x8a, 0x42, 3, 3, 0x23, 0x92, 0x1f, 4, 0x2b, 6, 1, 0x21, 10, 0, 0, 7]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let peer = || prop_oneof![0..=MOBILES, Just(BROADCAST)];
    let kinds = [
        UmKind::LlPdu,
        UmKind::PagingPs,
        UmKind::PagingCs,
        UmKind::Suspend,
        UmKind::Resume,
        UmKind::SuspendAck,
        UmKind::CampOn,
    ];
    let kind = proptest::sample::select(kinds.to_vec());
    prop_oneof![
        (peer(), octets()).prop_map(|(peer, octets)| Step::Raw(peer, octets)),
        (0..MOBILES, 0..16_u8, any::<u8>(), octets())
            .prop_map(|(mobile, sapi, nu, information)| Step::LlPdu { mobile, sapi, nu, information }),
        (0..MOBILES, Just(1_u8), any::<u8>(), octets())
            .prop_map(|(mobile, sapi, nu, information)| Step::LlPdu { mobile, sapi, nu, information }),
        (peer(), kind, 0..3_u16, octets())
            .prop_map(|(peer, kind, cell, octets)| Step::Um(peer, kind, cell, octets)),
        (0..=MOBILES, octets()).prop_map(|(mobile, octets)| Step::Packet(mobile, octets)),
        (any::<u8>(), 0..=MOBILES, 0..17_u8)
            .prop_map(|(what, mobile, nsapi)| Step::Order(what, mobile, nsapi)),
        (0..100_u64).prop_map(Step::Pass),
    ]
}

fn order(what: u8, mobile: u32, nsapi: u8) -> MsCommand {
    let nsapi = Nsapi(nsapi);
    match what % 8 {
        0 | 1 => MsCommand::Attach { mobile },
        2 | 3 => MsCommand::Activate { mobile, nsapi, apn: None, qos: None, address: None },
        4 => MsCommand::Deactivate { mobile, nsapi },
        5 => MsCommand::ChangeCell { mobile, cell: u16::from(nsapi.0 % 3) },
        6 => MsCommand::Detach { mobile, power_off: nsapi.0.is_multiple_of(2) },
        _ if nsapi.0.is_multiple_of(3) => MsCommand::Suspend { mobile },
        _ if nsapi.0 % 3 == 1 => MsCommand::Resume { mobile },
        _ => MsCommand::LoseCell { mobile },
    }
}

fn fleet() -> Ms {
    let rai = |rac| Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac };
    let cells = vec![CellId { rai: rai(1), ci: 1 }, CellId { rai: rai(2), ci: 2 }];
    let config =
        MsConfig { reassembly_max: 4, ..MsConfig::new(MOBILES, "001010000000001".parse().unwrap(), cells) };
    Ms::new(config, Box::new(UmBearer))
}

fn ui_frame(sapi: u8, nu: u8, information: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x40 | sapi, 0xc0, nu << 2 | 1];
    frame.extend(information);
    let fcs = fcs24(&frame);
    frame.extend(fcs);
    frame
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn garbage_is_survived(steps in proptest::collection::vec(step(), 1..60)) {
        let mut around = Surroundings::new(1, FRAMES, Quiet::default());
        let mut ms = fleet();
        let (mut inputs, mut outputs) = (Batch::default(), Batch::default());
        for step in steps {
            let datagram = |port, peer, octets: &[u8]| {
                let frame = around.frames.copy_of(octets)?;
                Some(Input::Datagram { port, peer: Peer::Slot(peer), frame })
            };
            let um = |kind, cell, tlli, octets: &[u8]| {
                [&UmHeader { kind, cell, tlli, priority: None }.emit()[..], octets].concat()
            };
            let tlli = |mobile| ms.mobile(mobile).and_then(|mobile| mobile.llc.tlli()).unwrap_or(Tlli(0));
            let input = match step {
                Step::Raw(peer, octets) => datagram(BEARER, peer, &octets),
                Step::LlPdu { mobile, sapi, nu, information } => {
                    let cell = ms.mobile(mobile).and_then(|mobile| mobile.cell).unwrap_or(0);
                    let frame = ui_frame(sapi, nu, &information);
                    datagram(BEARER, mobile, &um(UmKind::LlPdu, cell, tlli(mobile), &frame))
                }
                Step::Um(peer, kind, cell, octets) => datagram(BEARER, peer, &um(kind, cell, tlli(peer), &octets)),
                Step::Packet(mobile, octets) => datagram(TUN, mobile, &octets),
                Step::Order(what, mobile, nsapi) => Some(Input::Command(order(what, mobile, nsapi))),
                Step::Pass(seconds) => {
                    around.now += Duration::from_secs(seconds);
                    None
                }
            };
            if let Some(input) = input {
                inputs.push(input);
            }
            while let Some(key) = around.timers.pop_due(around.now) {
                inputs.push(Input::Timeout(key));
            }
            ms.handle_input(&mut around.context(), &mut inputs);
            ms.poll_output(&mut around.context(), &mut outputs);
            while outputs.pop().is_some() {}
            // An N-PDU that waits has at most sixteen segments.
            prop_assert!(around.frames.free() + ms.reassembling() * 16 >= FRAMES);
            prop_assert!(ms.views().all(|view| !view.to_string().is_empty()));
        }
        drop(ms);
        prop_assert_eq!(around.frames.free(), FRAMES);
    }
}
