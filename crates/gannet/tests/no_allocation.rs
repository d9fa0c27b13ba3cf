//! The data path allocates nothing per packet: mobiles, BSS, SGSN and GGSN in virtual time, under a global allocator
//! that counts.
//!
//! Each load is run twice. The first run may let queues grow to what they need; in the second, thousands of packets
//! go all the way through all four nodes and not one allocation is made.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsCommand, MsConfig, MsEvent, NPduDelivery};
use gannet_node::sgsn::flows::Ingress;
use gannet_node::sgsn::{GgsnPeer, SgsnConfig};
use gannet_rt::alloc_count::{Counting, allocations};
use gannet_sim::gprs::{GGSN_GN, GprsWorld, Happening, SGSN_GB, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::{GprsTimer, PdpAddress};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MOBILES: u32 = 8;
const FRAMES: usize = 4096;
const NSAPI: Nsapi = Nsapi(5);
const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// What the nodes do by themselves from time to time is signalling, and is put off to after the test.
const NOT_NOW: Duration = Duration::from_secs(3600);

fn config(ingress: Ingress) -> WorldConfig {
    let id = |ci| CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 1 }, ci };
    let vc = VcConfig { nsei: Nsei(1), nsvci: Nsvci(1), port: gb_port(0), peer: SGSN_GB };
    let cells = [2, 3].map(|n| CellConfig::new(Nsei(1), Bvci(n), id(n)));
    let mut bss = bss::Config::new(vec![vc], cells.to_vec());
    bss.flow_control_interval = NOT_NOW;
    bss.ns.tns_test = NOT_NOW;
    let mut sgsn = SgsnConfig {
        mobiles_max: MOBILES as usize,
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        echo_interval: Duration::ZERO,
        n201_u: None,
        ingress,
        ..SgsnConfig::default()
    };
    sgsn.ns.test = NOT_NOW;
    // The mobiles stay READY: paging is signalling.
    sgsn.gmm.t3314 = GprsTimer::DEACTIVATED;
    let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 16);
    let ggsn = GgsnConfig { echo_interval: Duration::ZERO, ..GgsnConfig::new(GGSN_GN, vec![apn]) };
    let mut ms =
        MsConfig::new(MOBILES, "001010000000001".parse().unwrap(), cells.map(|cell| cell.id).to_vec());
    ms.delivery = NPduDelivery::Event;
    let (gb, gn) = (LinkProfile::default(), LinkProfile::default());
    WorldConfig { seed: 1, frames: FRAMES, gb, gn, sgsn, ggsn, bss, ms }
}

/// What is sent: so many N-PDUs of this length to and from every mobile, this long apart.
#[derive(Debug, Clone, Copy)]
struct Load {
    downlink: bool,
    uplink: bool,
    octets: usize,
    rounds: u32,
    apart: Duration,
}

/// An IPv4 packet of `len` octets, written without allocating.
fn packet(room: &mut [u8; 1500], len: usize, source: Ipv4Addr, destination: Ipv4Addr) -> &[u8] {
    room.fill(0x5a);
    let [high, low] = u16::try_from(len).unwrap().to_be_bytes();
    room[..12].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0]);
    room[12..16].copy_from_slice(&source.octets());
    room[16..20].copy_from_slice(&destination.octets());
    &room[..len]
}

struct Bench {
    world: GprsWorld,
    addresses: [Ipv4Addr; MOBILES as usize],
    /// N-PDUs that came out at the mobiles, and at the GGSN.
    arrived: (u64, u64),
}

impl Bench {
    /// All mobiles attached, with a context each.
    fn new(ingress: Ingress) -> Self {
        let world = GprsWorld::new(config(ingress)).unwrap();
        let addresses = [Ipv4Addr::UNSPECIFIED; MOBILES as usize];
        let mut bench = Self { world, addresses, arrived: (0, 0) };
        bench.world.start();
        bench.run(Duration::from_secs(1));
        for mobile in 0..MOBILES {
            let (apn, qos, address) = (None, None, None);
            bench.world.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn, qos, address });
        }
        bench.run(Duration::from_secs(5));
        assert!(bench.addresses.iter().all(|address| *address != Ipv4Addr::UNSPECIFIED));
        bench
    }

    fn run(&mut self, span: Duration) {
        let until = self.world.now + span;
        while self.world.now < until {
            self.world.run_until(until);
            while let Some(happening) = self.world.happenings.pop_front() {
                match happening {
                    Happening::Internet(_) => self.arrived.1 += 1,
                    Happening::Ms(MsEvent::NPdu { .. }) => self.arrived.0 += 1,
                    Happening::Ms(MsEvent::Activated {
                        mobile, address: PdpAddress::Ipv4(address), ..
                    }) => {
                        self.addresses[mobile as usize] = address;
                    }
                    Happening::Ms(_) | Happening::Bss(_) | Happening::Sgsn(_) | Happening::Ggsn(_) => {}
                }
            }
        }
    }

    fn carry(&mut self, load: Load) {
        let mut room = [0; 1500];
        for _ in 0..load.rounds {
            for mobile in 0..MOBILES {
                let address = self.addresses[mobile as usize];
                if load.downlink
                    && let Some(frame) =
                        self.world.frames.copy_of(packet(&mut room, load.octets, HOST, address))
                {
                    self.world.internet(frame);
                }
                if load.uplink
                    && let Some(frame) =
                        self.world.frames.copy_of(packet(&mut room, load.octets, address, HOST))
                {
                    self.world.order_ms(MsCommand::SendNpdu { mobile, nsapi: NSAPI, frame });
                }
            }
            self.run(load.apart);
        }
        // Queues run empty, and segments that wait for others are given up.
        self.run(Duration::from_secs(80));
    }

    /// Carries a load a first time, then once more: gives the allocations and arrivals of the second time.
    fn measure(&mut self, load: Load) -> (u64, u64, u64) {
        self.carry(load);
        self.arrived = (0, 0);
        let before = allocations();
        self.carry(load);
        let made = allocations() - before;
        assert_eq!(self.world.frames.free(), FRAMES, "{load:?}");
        (made, self.arrived.0, self.arrived.1)
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        Drop::ALL.iter().map(|drop| (*drop, self.world.dropped(*drop))).filter(|(_, n)| *n > 0).collect()
    }
}

const LOAD: Load =
    Load { downlink: true, uplink: false, octets: 200, rounds: 500, apart: Duration::from_millis(20) };
const ALL: u64 = MOBILES as u64 * 500;

#[test]
fn the_allocator_counts() {
    let before = allocations();
    let octets = std::hint::black_box(vec![1_u8; 100]);
    assert_eq!(allocations(), before + 1, "{octets:?}");
}

const BOTH: [Ingress; 2] = [Ingress::Fifo, Ingress::Queued];

#[test]
fn downlink_in_one_segment() {
    for ingress in BOTH {
        let mut bench = Bench::new(ingress);
        assert_eq!(bench.measure(LOAD), (0, ALL, 0), "{ingress:?}");
        assert_eq!(bench.drops(), []);
    }
}

#[test]
fn downlink_in_three_segments() {
    for ingress in BOTH {
        let mut bench = Bench::new(ingress);
        let load = Load { octets: 1200, apart: Duration::from_millis(90), ..LOAD };
        assert_eq!(bench.measure(load), (0, ALL, 0), "{ingress:?}");
        assert_eq!(bench.drops(), []);
    }
}

#[test]
fn downlink_that_waits_for_flow_control_and_is_partly_dropped() {
    for ingress in BOTH {
        let mut bench = Bench::new(ingress);
        // Many times what the cells carry.
        let load = Load { octets: 1200, apart: Duration::from_millis(5), ..LOAD };
        let (made, arrived, _) = bench.measure(load);
        assert_eq!(made, 0, "{ingress:?}");
        assert!(arrived > 500 && arrived < ALL, "{arrived}");
        // Of an N-PDU whose last segment was dropped the mobile gives up the others. In front of the scheduler whole
        // N-PDUs are dropped.
        let named = |drop| match ingress {
            Ingress::Fifo => {
                matches!(drop, Drop::FlowMsQueueFull | Drop::SndcpIncomplete | Drop::SndcpTimeout)
            }
            Ingress::Queued => drop == Drop::FlowQueueFull,
        };
        assert!(bench.drops().iter().all(|(drop, _)| named(*drop)), "{:?}", bench.drops());
        assert!(!bench.drops().is_empty());
    }
}

#[test]
fn uplink_in_one_segment() {
    let mut bench = Bench::new(Ingress::Queued);
    assert_eq!(bench.measure(Load { downlink: false, uplink: true, ..LOAD }), (0, 0, ALL));
    assert_eq!(bench.drops(), []);
}

#[test]
fn uplink_in_three_segments() {
    let mut bench = Bench::new(Ingress::Queued);
    let load = Load { downlink: false, uplink: true, octets: 1200, apart: Duration::from_millis(90), ..LOAD };
    assert_eq!(bench.measure(load), (0, 0, ALL));
    assert_eq!(bench.drops(), []);
}

#[test]
fn both_ways_at_once() {
    let mut bench = Bench::new(Ingress::Queued);
    assert_eq!(bench.measure(Load { uplink: true, ..LOAD }), (0, ALL, ALL));
    assert_eq!(bench.drops(), []);
}
