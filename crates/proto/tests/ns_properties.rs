//! Network service: whatever arrives in whatever order, nothing panics, no frame is lost, and an NSE is available
//! exactly while one of its NS-VCs is unblocked.

#![allow(clippy::unwrap_used, reason = "test code fails by panicking")]

use core::net::SocketAddr;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Port, Surroundings};
use gannet_proto::ns::sns::{LocalEndpoint, SnsSetup};
use gannet_proto::ns::{NsConfig, NsEntity, NsOutput, NsRole, NsStatus, VcState};
use gannet_wire::id::{Bvci, Nsei, Nsvci};
use gannet_wire::ns::{Cause, IpElement, IpElements, Pdu, Sns, Status};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Happening {
    Receive(u16, Vec<u8>),
    Pass(u64),
    Block(bool),
    Add(u16),
    Delete(u16),
    Request(u32),
}

fn pdu() -> impl Strategy<Value = Vec<u8>> {
    let nsvci = || (1..4_u16).prop_map(Nsvci);
    prop_oneof![
        8 => (nsvci(), 1..3_u16).prop_map(|(nsvci, nsei)| {
            Pdu::Reset { cause: Cause::OamIntervention, nsvci, nsei: Nsei(nsei) }.to_vec()
        }),
        2 => (nsvci(), 1..3_u16).prop_map(|(nsvci, nsei)| Pdu::ResetAck { nsvci, nsei: Nsei(nsei) }.to_vec()),
        2 => nsvci().prop_map(|nsvci| Pdu::Block { cause: Cause::EquipmentFailure, nsvci }.to_vec()),
        2 => nsvci().prop_map(|nsvci| Pdu::BlockAck { nsvci }.to_vec()),
        1 => nsvci().prop_map(|nsvci| {
            Pdu::Status(Status { nsvci: Some(nsvci), ..Status::of(Cause::NsVcUnknown) }).to_vec()
        }),
        1 => Just(Pdu::Status(Status::of(Cause::NsVcBlocked)).to_vec()),
        8 => Just(Pdu::Unblock.to_vec()),
        6 => Just(Pdu::UnblockAck.to_vec()),
        2 => Just(Pdu::Alive.to_vec()),
        2 => Just(Pdu::AliveAck.to_vec()),
        2 => Just(vec![0, 0, 0, 2, 9, 9]),
        3 => vec(any::<u8>(), 0..30),
    ]
}

/// PDUs of the IP sub-network service, of few endpoints, most of them such that something comes of them.
fn sns() -> impl Strategy<Value = Vec<u8>> {
    let nsei = || (1..4_u16).prop_map(Nsei);
    let cause = || prop_oneof![4 => Just(None), 1 => Just(Some(Cause::InvalidWeights))];
    let elements = || {
        let element = (1..6_u16, 0..3_u8, 0..3_u8).prop_map(|(port, signalling_weight, data_weight)| {
            IpElement { endpoint: address(port), signalling_weight, data_weight }
        });
        vec(element, 1..4).prop_map(|elements| elements.into_iter().collect())
    };
    prop_oneof![
        3 => (nsei(), 0..9_u16, 0..4_u16).prop_map(|(nsei, ns_vcs_max, ip4)| {
            let (ip4_endpoints, ip6_endpoints) = (Some(ip4), None);
            Sns::Size { nsei, reset: true, ns_vcs_max, ip4_endpoints, ip6_endpoints }
        }),
        2 => (nsei(), cause()).prop_map(|(nsei, cause)| Sns::SizeAck { nsei, cause }),
        4 => (nsei(), any::<bool>(), elements())
            .prop_map(|(nsei, end, elements)| Sns::Config { nsei, end, elements }),
        3 => (nsei(), cause()).prop_map(|(nsei, cause)| Sns::ConfigAck { nsei, cause }),
        2 => (nsei(), any::<u8>(), elements())
            .prop_map(|(nsei, transaction, elements)| Sns::Add { nsei, transaction, elements }),
        2 => (nsei(), any::<u8>(), elements()).prop_map(|(nsei, transaction, elements)| Sns::Delete {
            nsei,
            transaction,
            address: None,
            elements
        }),
        1 => (nsei(), any::<u8>(), elements())
            .prop_map(|(nsei, transaction, elements)| Sns::Changeweight { nsei, transaction, elements }),
        2 => (nsei(), 0..4_u8, cause()).prop_map(|(nsei, transaction, cause)| {
            Sns::Ack { nsei, transaction, cause, elements: IpElements::default() }
        }),
    ]
    .prop_map(|sns| Pdu::Sns(sns).to_vec())
}

/// One of our own endpoints.
fn local(port: u16) -> LocalEndpoint {
    let endpoint = SocketAddr::from(([192, 0, 2, 2], 23000 + port));
    LocalEndpoint { port: Port(port), element: IpElement { endpoint, signalling_weight: 1, data_weight: 1 } }
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (1..5_u16, pdu()).prop_map(|(from, octets)| Happening::Receive(from, octets)),
        6 => (1..5_u16, sns()).prop_map(|(from, octets)| Happening::Receive(from, octets)),
        1 => (1..4_u16).prop_map(Happening::Add),
        1 => (1..4_u16).prop_map(Happening::Delete),
        1 => (0..100_u64).prop_map(Happening::Pass),
        1 => any::<bool>().prop_map(Happening::Block),
        1 => any::<u32>().prop_map(Happening::Request),
    ]
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_happens(bss: bool, happenings in vec(happening(), 0..120)) {
        let role = if bss { NsRole::Bss } else { NsRole::Sgsn };
        let mut around = Surroundings::new(1, 64, Quiet::default());
        let mut config = NsConfig { vc_max: 4, nse_max: 2, ..NsConfig::new(role, 1) };
        config.open = if bss { Vec::new() } else { vec![Port(0)] };
        config.sns.open = vec![Port(0)];
        config.sns.local = vec![local(0)];
        let mut ns = NsEntity::new(config);
        let mut out = Batch::default();
        let first = ns.add_static_vc(&mut around.context(), Nsei(1), Nsvci(1), Port(0), address(1)).unwrap();
        let setup = SnsSetup { nsei: Nsei(3), local: vec![local(0)], spare: 2, initial: vec![address(2)] };
        ns.add_sns(&mut around.context(), setup).unwrap();
        ns.start(&mut around.context(), &mut out);
        let mut available = [false; 4];
        for happening in happenings {
            match happening {
                Happening::Receive(from, octets) => {
                    let frame = around.frames.copy_of(&octets).unwrap();
                    ns.receive(&mut around.context(), Port(0), address(from), frame, &mut out);
                }
                Happening::Pass(seconds) => {
                    around.now += Duration::from_secs(seconds);
                    while let Some(key) = around.timers.pop_due(around.now) {
                        ns.wake(&mut around.context(), key, &mut out);
                    }
                }
                Happening::Block(true) => ns.block(&mut around.context(), first, &mut out),
                // Either may be refused, and then has changed nothing.
                Happening::Add(port) => {
                    let _ = ns.sns_add(&mut around.context(), Nsei(3), local(port), &mut out);
                }
                Happening::Delete(port) => {
                    let endpoint = local(port).element.endpoint;
                    let _ = ns.sns_delete(&mut around.context(), Nsei(3), endpoint, &mut out);
                }
                Happening::Block(false) => ns.unblock(&mut around.context(), first, &mut out),
                Happening::Request(lsp) => {
                    let frame = around.frames.copy_of(b"NS SDU").unwrap();
                    ns.unitdata_request(&mut around.context(), Nsei(1), Bvci(2), lsp, frame, &mut out);
                }
            }
            while let Some(output) = out.pop() {
                if let NsOutput::Status { nsei, status } = output {
                    match status {
                        NsStatus::NseAvailable => available[usize::from(nsei.0)] = true,
                        NsStatus::NseUnavailable => available[usize::from(nsei.0)] = false,
                        NsStatus::TransferCapacity { .. } | NsStatus::VcReset(_) => {}
                    }
                }
            }
            prop_assert_eq!(around.frames.free(), 64);
            prop_assert!(ns.vcs().count() <= 4);
            prop_assert!(ns.sns_nses().count() <= 2);
            for nsei in [Nsei(1), Nsei(2), Nsei(3)] {
                let unblocked =
                    ns.vcs().any(|vc| vc.nsei() == nsei && vc.state() == VcState::Unblocked);
                prop_assert_eq!(ns.is_available(nsei), unblocked);
                prop_assert_eq!(available[usize::from(nsei.0)], unblocked);
            }
        }
    }
}
