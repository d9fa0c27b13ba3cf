//! The program for Gb and AF_XDP sockets: LL-PDUs arrive in the ring of their class, with their metadata.

use crate::common::frames;
use crate::life::{ifindex, pair, start, until};
use gannet_demux::bpf::XdpMode;
use gannet_demux::device::{Device, DeviceConfig};
use gannet_demux::umem::{Holder, Umem};
use gannet_demux::xsk::Queue;
use gannet_demux::{AtDriver, Classify, Config, METADATA_LEN, Metadata, Uplink, UplinkConfig};
use gannet_proto::drops::Drop;
use gannet_proto::qos::class::{Class, Precedence};
use gannet_proto::qos::classifier::{Block, Key, Rule, RuleChange};
use gannet_wire::id::{Bvci, Nsei, Tlli};
use std::net::UdpSocket;

const DATA: u8 = 0x03;
const GMM: u8 = 0x01;
const LOCAL: u32 = 0xc000_0001;
const BLOCKED: u32 = 0xc000_0002;
const FOREIGN: u32 = 0x8000_0001;
const STRANGER: u32 = 0xc000_0003;
/// From which the peer sends.
const PORT: u16 = 12345;

pub fn uplink_arrives_by_class() {
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
        (Key::LocalTlli(Tlli(LOCAL)), 1, Class::RealTime),
        (Key::LocalTlli(Tlli(BLOCKED)), 2, Class::BestEffort),
        (foreign, 3, Class::BestEffort),
    ];
    for (key, name, class) in flows {
        let rule = Rule { key, name, class, precedence: Precedence::Low, policer: None };
        program.apply(&RuleChange::Install(rule)).unwrap();
    }
    program.apply(&RuleChange::Block(Key::LocalTlli(Tlli(BLOCKED)), Block::QueueFull)).unwrap();
    program
}

/// The node, in its namespace.
pub fn serve() {
    let mut program = program();
    let (mut umem, mut buffers) = Umem::new(512).unwrap();
    let at = Queue { ifindex: ifindex("gn").unwrap(), queue: 0 };
    let config = DeviceConfig { rx: vec![64, 64, 64], tx: 0, spare: 64 };
    let mut device = Device::open(&umem, None, Holder::new(1).unwrap(), at, &config).unwrap();
    device.refill(&mut umem, || buffers.next());
    for (class, socket) in device.sockets() {
        program.set_socket(0, Class::ALL[class], socket).unwrap();
    }
    program.attach(at.ifindex, XdpMode::Native).unwrap();
    println!("ready");
    let mut arrived = [0; 3];
    until("what is not dropped", || {
        for class in Class::ALL {
            device.receive(&mut umem, class as usize, 64, |received| {
                let (front, frame) = received.buffer[..received.end].split_at(received.start);
                let metadata = Metadata::from_octets(front.last_chunk::<METADATA_LEN>().unwrap()).unwrap();
                let (tlli, address, name) = match class {
                    Class::Signalling => (BLOCKED, GMM, 2),
                    Class::RealTime => (LOCAL, DATA, 1),
                    Class::BestEffort => (FOREIGN, DATA, 3),
                };
                assert_eq!((metadata.class, metadata.name, metadata.shard), (class, name, 0));
                let pdu = &frame[usize::from(metadata.pdu_offset)..][..usize::from(metadata.pdu_len)];
                assert_eq!(pdu, ns(tlli, address));
                let llc = &frame[usize::from(metadata.llc_offset)..][..usize::from(metadata.llc_len)];
                assert_eq!((llc[0], llc.len()), (address, 200));
                arrived[class as usize] += 1;
            });
        }
        let judged =
            arrived.iter().sum::<u64>() + program.totals().drops().map(|(_, count)| count).sum::<u64>();
        (judged + program.totals().to_kernel() >= 83).then_some(())
    });
    assert_eq!(arrived, [5, 20, 10]);
    let totals = program.totals();
    assert_eq!((totals.of(Drop::DemuxQueueFull), totals.of(Drop::DemuxUnknownTlli)), (30, 15));
    assert_eq!((totals.to_kernel(), totals.redirected(Class::Signalling)), (3, 5));
    assert_eq!(program.of_flow(2).unwrap().queue_full, 30);
    println!("arrived");
}
