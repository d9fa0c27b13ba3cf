//! Sender and router of the edge experiments: each packet is right, and what cannot be forwarded passes.

use gannet_demux::bpf::{Loader, Object, TestRun, XdpMode};
use gannet_rig::NetworkNamespace;
use gannet_rig::objects::{FORWARD, SEND};
use gannet_testkit::netns::Netns;

const DROP: u32 = 1;
const PASS: u32 = 2;
const REDIRECT: u32 = 4;
const IN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OUT: [u8; 6] = [2, 0, 0, 0, 0, 2];
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// An IPv4 packet in a frame, from 10.0.1.1 to `to`, whose checksum is right.
fn frame(to: [u8; 4], hops: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, hops, 17, 0, 0, 10, 0, 1, 1];
    packet.extend(to);
    let checksum = (!sum(&packet)).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.resize(40, 7);
    [&IN[..], &STATION, &[8, 0], &packet].concat()
}

/// The sum in ones' complement: all ones over a header with a right checksum.
fn sum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header[..20].as_chunks().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

/// The verdict about a frame, and the frame after it. It comes from a device, or from the loopback interface.
fn run(object: &Object, program: &str, frame: &[u8], device: Option<u32>) -> (u32, Vec<u8>) {
    let mut out = vec![0; frame.len()];
    let len = u32::try_from(frame.len()).unwrap();
    // `struct xdp_md`: data, its end, metadata, device, queue, device to leave by.
    let context = device.map(|device| [0, len, 0, device, 0, 0].map(u32::to_ne_bytes).concat());
    let run = TestRun {
        data: frame,
        data_out: Some(&mut out),
        context: context.as_deref(),
        context_out: None,
        repeat: 1,
        live_batch: None,
    };
    (object.run(program, run).unwrap().verdict, out)
}

pub fn each_destination_in_turn() {
    let (first, count) = (u32::from_be_bytes([198, 19, 0, 254]).to_ne_bytes(), 3_u32.to_ne_bytes());
    let mut object =
        Loader::new(&SEND).global("first", &first).global("destinations", &count).load().unwrap();
    object.load_xdp("send").unwrap();
    let template = frame([0, 0, 0, 0], 64);
    let mut used = template.clone();
    for last in [[0, 254], [0, 255], [1, 0], [0, 254]] {
        let (verdict, out) = run(&object, "send", &used, None);
        assert_eq!((verdict, &out[30..34]), (REDIRECT, &[198, 19, last[0], last[1]][..]));
        assert_eq!(sum(&out[14..]), 0xffff);
        assert_eq!((&out[..24], &out[34..]), (&template[..24], &template[34..]));
        // Frames are used again with what was in them.
        used = out;
    }
    assert_eq!(object.array_value("sent", 0).unwrap(), 4);
    assert_eq!(run(&object, "send", &template[..30], None).0, DROP);
}

pub fn what_a_router_changes() {
    let netns = Netns::new("forward");
    netns.ip(&[
        "link",
        "add",
        "in",
        "address",
        "02:00:00:00:00:01",
        "type",
        "veth",
        "peer",
        "name",
        "in-peer",
    ]);
    netns.ip(&[
        "link",
        "add",
        "out",
        "address",
        "02:00:00:00:00:02",
        "type",
        "veth",
        "peer",
        "name",
        "out-peer",
    ]);
    for device in ["in", "in-peer", "out", "out-peer"] {
        netns.ip(&["link", "set", device, "up"]);
    }
    netns.ip(&["address", "add", "10.0.1.2/24", "dev", "in"]);
    netns.ip(&["address", "add", "10.0.2.2/24", "dev", "out"]);
    netns.ip(&["neighbour", "add", "10.0.2.1", "lladdr", "02:00:00:00:00:09", "dev", "out"]);
    let _ = netns.run("sh", &["-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
    let own = NetworkNamespace::current().unwrap();
    NetworkNamespace::named(netns.name()).unwrap().enter().unwrap();
    let device = gannet_demux::link::index("in").unwrap();
    let mut object = Loader::new(&FORWARD).load().unwrap();
    let attachment = object.attach_xdp("forward", device, XdpMode::Native).unwrap();
    for hops in [64, 2, 255] {
        let (verdict, out) = run(&object, "forward", &frame([10, 0, 2, 1], hops), Some(device));
        assert_eq!((verdict, &out[..6], &out[6..12], out[22]), (REDIRECT, &STATION[..], &OUT[..], hops - 1));
        assert_eq!(sum(&out[14..]), 0xffff);
        assert_eq!(out[34..], frame([10, 0, 2, 1], hops)[34..]);
    }
    let mut ipv6 = frame([10, 0, 2, 1], 64);
    ipv6[12..14].copy_from_slice(&[0x86, 0xdd]);
    let mut options = frame([10, 0, 2, 1], 64);
    options[14] = 0x46;
    for passes in [
        frame([10, 0, 2, 1], 1),
        // No neighbour, no route, the router itself.
        frame([10, 0, 2, 7], 64),
        frame([203, 0, 113, 1], 64),
        frame([10, 0, 1, 2], 64),
        ipv6,
        options,
        frame([10, 0, 2, 1], 64)[..30].to_vec(),
    ] {
        assert_eq!(run(&object, "forward", &passes, Some(device)), (PASS, passes));
    }
    drop(attachment);
    own.enter().unwrap();
}
