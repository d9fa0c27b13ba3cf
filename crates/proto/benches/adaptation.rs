//! What the adaptation protocol costs an LL-PDU on its way from a mobile to an access point and back, in ns for both ends together:
//! without authentication, and with a MAC over each PDU.
//!
//! `cargo bench -p gannet-proto --bench adaptation` prints the table. The copy that a driver makes at each end is included.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, EthernetAddress, Peer, Surroundings};
use gannet_proto::adaptation::{
    AccessPoint, AdaptationBearer, Address, ApConfig, ApLink, ApOutput, Medium, MobileConfig, MobileLink,
    MobileMedium, PACKETS_MAX, Policy, Said, SharedKey,
};
use gannet_proto::auth::key::Key128;
use gannet_proto::bearer::{Bearer as _, Indication, Output, Request, Sender};
use gannet_wire::adaptation::{ApName, NetworkMode};
use gannet_wire::id::{CellId, Plmn, Rai, Tlli};
use gannet_wire::l3::ie::RadioPriority;
use std::hint::black_box;

const MTU: u16 = 1500;
const AP: Peer = Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 1, 0]));
const HOST: Peer = Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 9]));
const TLLI: Tlli = Tlli(0xc000_0001);
const SENDER: Sender = Sender { mobile: 0, cell: 0, tlli: TLLI, priority: RadioPriority::Four };

/// A mobile and its access point, with nothing between them.
struct Two {
    mobile: AdaptationBearer,
    ap: AccessPoint,
    around: Surroundings<Quiet>,
    of_mobile: Batch<Output>,
    of_ap: Batch<ApOutput>,
    /// LL-PDUs that have come, to either.
    came: usize,
}

impl Two {
    fn new(has_key: bool) -> Self {
        let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 1 };
        let cell = CellId { rai, ci: 1 };
        let keys: Vec<SharedKey> =
            has_key.then_some(SharedKey { id: 7, key: Key128([9; 16]) }).into_iter().collect();
        let interval = Duration::from_secs(1);
        let mobile = AdaptationBearer::new(MobileConfig {
            links: vec![MobileLink { medium: MobileMedium::Ethernet, mtu: MTU }],
            cells: vec![cell],
            mobiles: 1,
            keys: keys.clone(),
            network_key: None,
            interval,
            policy: Policy::default(),
            packets_max: PACKETS_MAX,
            pieces_max: 64,
            secret: Key128([1; 16]),
        });
        let mut ap = AccessPoint::new(ApConfig {
            links: vec![ApLink {
                medium: Medium::Ethernet,
                mtu: MTU,
                cell,
                beacon_interval: interval,
                mode: NetworkMode::II,
                name: ApName::EMPTY,
            }],
            mobiles_max: 16,
            keys,
            network_key: None,
            demands_authentication: has_key,
            boot: 1,
            packets_max: PACKETS_MAX,
            pieces_max: 64,
            secret: Key128([2; 16]),
        });
        ap.set_in_service(Instant::ZERO, 0, true);
        let around = Surroundings::new(1, 64, Quiet::default());
        let (of_mobile, of_ap) = (Batch::default(), Batch::default());
        let mut two = Self { mobile, ap, around, of_mobile, of_ap, came: 0 };
        two.ap.wake(&mut two.around.context(), &mut two.of_ap);
        two.carry();
        assert_eq!(two.mobile.serving(0), Some(0));
        two.request(Request::Reachable);
        two
    }

    fn request(&mut self, request: Request) {
        self.mobile.request(&mut self.around.context(), SENDER, request, &mut self.of_mobile).unwrap();
        self.carry();
    }

    fn down(&mut self, ll_pdu: Frame) {
        self.ap.send_ll_pdu(&self.around.context(), u32::MAX, TLLI, ll_pdu, &mut self.of_ap).unwrap();
        self.carry();
    }

    fn copy_of(&self, octets: &[u8]) -> Frame {
        self.around.frames.copy_of(octets).unwrap()
    }

    /// What one sends the other has, until nobody has anything to say.
    fn carry(&mut self) {
        loop {
            if let Some(output) = self.of_mobile.pop() {
                match output {
                    Output::Transmit { link, frame, .. } => {
                        let frame = self.copy_of(&frame);
                        let from = Address { link, peer: HOST };
                        self.ap.receive(&mut self.around.context(), from, frame, &mut self.of_ap);
                    }
                    Output::Indication(Indication::Unitdata(of)) => {
                        self.came += usize::from(!of.ll_pdu.is_empty())
                    }
                    Output::Indication(other) => drop(black_box(other)),
                }
            } else if let Some(output) = self.of_ap.pop() {
                match output {
                    ApOutput::Transmit { link, frame, .. } => {
                        let frame = self.copy_of(&frame);
                        let mut cx = self.around.context();
                        assert!(self.mobile.receive(&mut cx, (link, AP), frame, &mut self.of_mobile).is_ok());
                    }
                    ApOutput::Said { what: Said::LlPdu(ll_pdu), .. } => {
                        self.came += usize::from(!ll_pdu.is_empty())
                    }
                    ApOutput::Said { what, .. } => drop(black_box(what)),
                }
            } else {
                return;
            }
        }
    }
}

fn mac(criterion: &mut Criterion) {
    for (name, has_key) in [("in the clear", false), ("with a MAC", true)] {
        let mut group = criterion.benchmark_group(format!("adaptation protocol, {name}"));
        for octets in [60, 400, 1464] {
            let mut two = Two::new(has_key);
            let ll_pdu: Vec<u8> = (0..=250).cycle().take(octets).collect();
            group.throughput(Throughput::Elements(1));
            group.bench_function(format!("{octets} octets up"), |bencher| {
                bencher.iter(|| {
                    let before = two.came;
                    two.request(Request::Unitdata(two.copy_of(&ll_pdu)));
                    assert_eq!(two.came, before + 1);
                });
            });
            group.bench_function(format!("{octets} octets down"), |bencher| {
                bencher.iter(|| {
                    let before = two.came;
                    two.down(two.copy_of(&ll_pdu));
                    assert_eq!(two.came, before + 1);
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, mac);
criterion_main!(benches);
