//! The programs and AF_XDP sockets: LL-PDUs and T-PDUs arrive in their ring, with their metadata.

use crate::common::frames;
use crate::life::{ifindex, pair, start, until};
use gannet_demux::bpf::XdpMode;
use gannet_demux::device::{Device, DeviceConfig};
use gannet_demux::umem::{Holder, Umem};
use gannet_demux::xsk::Queue;
use gannet_demux::{
    AtDriver, ByRing, Classifier, Classify, Config, METADATA_LEN, Metadata, Ring, Uplink, UplinkConfig,
};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::{Bvci, Nsei, Teid, Tlli};
use std::net::UdpSocket;

const DATA: u8 = 0x03;
const GMM: u8 = 0x01;
const LOCAL: u32 = 0xc000_0001;
const BLOCKED: u32 = 0xc000_0002;
const FOREIGN: u32 = 0x8000_0001;
const STRANGER: u32 = 0xc000_0003;
const HIGH: u32 = 0xc000_0004;
/// From which the peer sends.
const PORT: u16 = 12345;

pub fn uplink_arrives_by_ring() {
    let (outside, inside) = pair("xdp-gb", "192.0.2.7", "192.0.2.1");
    let mut serving = start(&inside, "rings");
    serving.wait_for_line("ready");
    assert!(start(&outside, "uplink").wait().success());
    serving.wait_for_line("arrived");
    assert!(serving.wait().success());
}

fn ns(tlli: u32, address: u8) -> Vec<u8> {
    let llc = (0x0e, [vec![address, 0xc0], vec![0x55; 198]].concat());
    frames::ul_unitdata(2, tlli, &[frames::cell(), llc])
}

/// The peer.
pub fn send() {
    let socket = UdpSocket::bind(("192.0.2.1", PORT)).unwrap();
    let kinds = [
        (20, ns(LOCAL, DATA)),
        (10, ns(FOREIGN, DATA)),
        (7, ns(HIGH, DATA)),
        (5, ns(BLOCKED, GMM)),
        (30, ns(BLOCKED, DATA)),
        (15, ns(STRANGER, DATA)),
        (3, vec![0x0a]),
    ];
    for (times, datagram) in kinds {
        for _ in 0..times {
            while socket.send_to(&datagram, "192.0.2.7:23000").is_err() {}
        }
    }
}

fn program() -> Uplink {
    let base =
        Config { addresses: vec!["192.0.2.7".parse().unwrap()], samples_per_s: 0, ..Config::default() };
    let mut program = Uplink::load(&UplinkConfig { base, ..UplinkConfig::default() }).unwrap();
    let address = format!("192.0.2.1:{PORT}").parse().unwrap();
    program.apply(&RuleChange::Peer { address, nsei: Some(Nsei(7)) }).unwrap();
    let foreign = Key::CellTlli { nsei: Nsei(7), bvci: Bvci(2), tlli: Tlli(FOREIGN) };
    let flows = [
        (Key::LocalTlli(Tlli(LOCAL)), 1, Class::RealTime, Precedence::High),
        (Key::LocalTlli(Tlli(BLOCKED)), 2, Class::BestEffort, Precedence::High),
        (foreign, 3, Class::BestEffort, Precedence::Low),
        (Key::LocalTlli(Tlli(HIGH)), 4, Class::BestEffort, Precedence::High),
    ];
    for (key, name, class, precedence) in flows {
        let rule = Rule { key, name, class, precedence, policer: None, source: None };
        program.apply(&RuleChange::Install(rule)).unwrap();
    }
    program.apply(&RuleChange::Block(Key::LocalTlli(Tlli(BLOCKED)), Block::QueueFull)).unwrap();
    program
}

/// Sockets on the device of this namespace.
fn open(rx: ByRing<u32>) -> (Umem, Device) {
    let (mut umem, mut buffers) = Umem::new(512).unwrap();
    let at = Queue { ifindex: ifindex("gn").unwrap(), queue: 0 };
    let config = DeviceConfig { rx, tx: 0, empty: 320 };
    let mut device = Device::open(&umem, None, Holder::new(1).unwrap(), at, &config).unwrap();
    device.refill(&mut umem, || buffers.next());
    (umem, device)
}

/// Takes what is there: for each frame its ring, its metadata, and the frame.
fn drain(umem: &mut Umem, device: &mut Device, mut take: impl FnMut(Ring, Metadata, &[u8])) {
    for ring in Ring::ALL {
        device.receive(umem, ring, 64, |received| {
            let (front, frame) = received.buffer[..received.end].split_at(received.start);
            let metadata = Metadata::from_octets(front.last_chunk::<METADATA_LEN>().unwrap()).unwrap();
            take(ring, metadata, frame);
        });
    }
}

fn part(frame: &[u8], at: u16, len: u16) -> &[u8] {
    &frame[usize::from(at)..][..usize::from(len)]
}

/// The node, in its namespace.
pub fn serve() {
    let mut program = program();
    let (mut umem, mut device) = open([64; 4]);
    program.set_sockets(0, device.sockets()).unwrap();
    program.attach(device.at().ifindex, XdpMode::Native).unwrap();
    println!("ready");
    let mut arrived = [0; 4];
    until("what is not dropped", || {
        drain(&mut umem, &mut device, |ring, metadata, frame| {
            let (tlli, address, name, class) = match ring {
                Ring::Signalling => (BLOCKED, GMM, 2, Class::Signalling),
                Ring::RealTime => (LOCAL, DATA, 1, Class::RealTime),
                Ring::High => (HIGH, DATA, 4, Class::BestEffort),
                Ring::BestEffort => (FOREIGN, DATA, 3, Class::BestEffort),
            };
            assert_eq!((metadata.ring, metadata.shard), (ring, 0));
            assert_eq!((metadata.class, metadata.name), (class, name));
            assert_eq!(part(frame, metadata.pdu_offset, metadata.pdu_len), ns(tlli, address));
            let llc = part(frame, metadata.llc_offset, metadata.llc_len);
            assert_eq!((llc[0], llc.len()), (address, 200));
            arrived[ring as usize] += 1;
        });
        let judged =
            arrived.iter().sum::<u64>() + program.totals().drops().map(|(_, count)| count).sum::<u64>();
        (judged + program.totals().to_kernel() >= 90).then_some(())
    });
    assert_eq!(arrived, [5, 20, 7, 10]);
    let totals = program.totals();
    assert_eq!((totals.of(Drop::DemuxQueueFull), totals.of(Drop::DemuxUnknownTlli)), (30, 15));
    assert_eq!((totals.to_kernel(), totals.redirected(Class::Signalling)), (3, 5));
    assert_eq!(totals.redirected(Class::BestEffort), 17);
    assert_eq!(program.of_flow(2).unwrap().queue_full, 30);
    println!("arrived");
}

/// Contexts on Gn: the TEID, what it is, and how many packets come for it.
const CONTEXTS: [(u32, Class, Precedence, u64); 4] = [
    (1, Class::RealTime, Precedence::High, 20),
    (2, Class::BestEffort, Precedence::High, 7),
    (3, Class::BestEffort, Precedence::Normal, 10),
    (4, Class::BestEffort, Precedence::Low, 5),
];

/// Once with a ring for high precedence, and once without.
pub fn downlink_arrives_by_ring() {
    let (outside, inside) = pair("xdp-rings", "192.0.2.7", "192.0.2.1");
    for high in [64, 0] {
        let mut serving = start(&inside, &format!("rings-gn {high}"));
        serving.wait_for_line("ready");
        assert!(start(&outside, "downlink").wait().success());
        serving.wait_for_line("arrived");
        assert!(serving.wait().success());
    }
}

fn g_pdu(teid: u32) -> Vec<u8> {
    frames::gtp_v1(255, teid, (Some(1), None), &[], &t_pdu(teid))
}

fn t_pdu(teid: u32) -> [u8; 200] {
    [0x40 + u8::try_from(teid).unwrap(); 200]
}

/// The GGSN.
pub fn send_on_gn() {
    let socket = UdpSocket::bind(("192.0.2.1", PORT)).unwrap();
    for (teid, .., times) in CONTEXTS {
        for _ in 0..times {
            while socket.send_to(&g_pdu(teid), "192.0.2.7:2152").is_err() {}
        }
    }
}

/// The node, with so many entries in the ring of high precedence.
pub fn serve_gn(high: u32) {
    let addresses = vec!["192.0.2.7".parse().unwrap()];
    let mut program = Classifier::load(&Config { addresses, samples_per_s: 0, ..Config::default() }).unwrap();
    for (teid, class, precedence, _) in CONTEXTS {
        let rule =
            Rule { key: Key::Teid(Teid(teid)), name: teid, class, precedence, policer: None, source: None };
        program.apply(&RuleChange::Install(rule)).unwrap();
    }
    let (mut umem, mut device) = open([0, 64, high, 64]);
    assert!(program.set_sockets(1, device.sockets()).is_err(), "there is one shard");
    program.set_sockets(0, device.sockets()).unwrap();
    program.attach(device.at().ifindex, XdpMode::Native).unwrap();
    println!("ready");
    let mut arrived = [0; 4];
    until("all packets", || {
        drain(&mut umem, &mut device, |ring, metadata, frame| {
            let teid = metadata.name;
            let (_, class, precedence, _) = CONTEXTS[teid as usize - 1];
            assert_eq!((metadata.class, metadata.precedence), (class, precedence));
            assert_eq!(metadata.ring, Ring::of(class, precedence));
            assert_eq!(part(frame, metadata.pdu_offset, metadata.pdu_len), t_pdu(teid));
            arrived[ring as usize] += 1;
        });
        let all: u64 = CONTEXTS.iter().map(|(.., times)| times).sum();
        (arrived.iter().sum::<u64>() + program.totals().to_kernel() >= all).then_some(())
    });
    assert_eq!(arrived, if high > 0 { [0, 20, 7, 15] } else { [0, 20, 0, 22] });
    assert_eq!(program.totals().redirected(Class::BestEffort), 22);
    println!("arrived");
}
