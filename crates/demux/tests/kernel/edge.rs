//! The program of an edge router beside real routes: what goes to the ring, and what the kernel is left and why.

use crate::common::frames;
use crate::life::{ifindex, start};
use gannet_demux::bpf::TestRun;
use gannet_demux::edge::{EdgeProgram, EdgeTotals, INTERFACES_MAX, Seen};
use gannet_demux::link::{mac, takes_tags_off};
use gannet_testkit::netns::Netns;
use std::net::{Ipv4Addr, Ipv6Addr};

const XDP_PASS: u32 = 2;
const FAR: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const DONT_FRAGMENT: u16 = 0x4000;

fn far_v6() -> Ipv6Addr {
    "2001:db8:2::9".parse().unwrap()
}

/// In a namespace with a router between two networks, and a third one behind an interface that is not the router's.
pub fn what_the_kernel_would_forward_goes_to_the_ring() {
    let (hosts, router) = (Netns::new("edge-hosts"), Netns::new("edge-router"));
    for (device, own, far) in [
        ("lan", "192.0.2.1/24", "192.0.2.9/24"),
        ("wan", "203.0.113.1/24", "203.0.113.9/24"),
        ("other", "198.51.100.1/24", "198.51.100.9/24"),
    ] {
        hosts.join((device, far), &router, (device, own));
    }
    let known = "02:00:00:00:00:09";
    for (device, address) in [("lan", "2001:db8:1::1/64"), ("wan", "2001:db8:2::1/64")] {
        router.ip(&["address", "add", address, "dev", device, "nodad"]);
    }
    for (device, address) in
        [("wan", "203.0.113.9"), ("wan", "2001:db8:2::9"), ("lan", "192.0.2.8"), ("other", "198.51.100.9")]
    {
        router.ip(&["neighbour", "replace", address, "lladdr", known, "dev", device, "nud", "permanent"]);
    }
    let _ = router.run(
        "sh",
        &["-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"],
    );
    let mut judged = start(&router, "edge");
    judged.wait_for_line("judged");
    assert!(judged.wait().success());
}

struct Judge {
    program: EdgeProgram,
    device: u32,
    station: [u8; 6],
    before: EdgeTotals,
}

impl Judge {
    /// Which counter a frame moves. Without a socket all frames pass, and stay as they are.
    fn of(&mut self, mut frame: Vec<u8>, is_for_us: bool) -> Vec<Seen> {
        if is_for_us {
            frame[..6].copy_from_slice(&self.station);
        }
        let mut out = vec![0; frame.len()];
        let words = [0, u32::try_from(frame.len()).unwrap(), 0, self.device, 0, 0];
        let context: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        let run = TestRun {
            data: &frame,
            data_out: Some(&mut out),
            context: Some(&context),
            context_out: None,
            repeat: 1,
            live_batch: None,
        };
        let result = self.program.run(run).unwrap();
        assert_eq!((result.verdict, &out), (XDP_PASS, &frame));
        let totals = self.program.totals();
        let moved = totals
            .all()
            .filter(|(seen, count)| *count > self.before.of(*seen))
            .map(|(seen, _)| seen)
            .collect();
        self.before = totals;
        moved
    }
}

fn v4(to: Ipv4Addr, fragment: u16, options: u8, payload: usize) -> Vec<u8> {
    let mut packet = frames::ipv4(to, 17, fragment, options, &vec![7; payload]);
    packet[12..16].copy_from_slice(&[192, 0, 2, 8]);
    packet
}

fn v6(to: Ipv6Addr, next: u8, payload: usize) -> Vec<u8> {
    let mut packet = frames::ipv6(to, next, &vec![7; payload]);
    packet[8..24].copy_from_slice(&"2001:db8:1::8".parse::<Ipv6Addr>().unwrap().octets());
    packet
}

fn with(mut packet: Vec<u8>, at: usize, octets: &[u8]) -> Vec<u8> {
    packet[at..at + octets.len()].copy_from_slice(octets);
    packet
}

/// In that namespace.
pub fn judge() {
    let (lan, wan) = (ifindex("lan").unwrap(), ifindex("wan").unwrap());
    let program = EdgeProgram::load(1).unwrap();
    let mut judge =
        Judge { program, device: lan, station: mac("lan").unwrap(), before: EdgeTotals::default() };
    let plain = || v4(FAR, DONT_FRAGMENT, 0, 100);
    let ip =
        |packet: Vec<u8>| frames::ethernet(&[], if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 }, &packet);
    assert_eq!(judge.of(ip(plain()), true), [Seen::Other], "no station is known");
    judge.program.set_station(judge.station);
    assert_eq!(judge.of(ip(plain()), true), [Seen::Route], "no interfaces are known");
    judge.program.set_interfaces(&[lan, wan]);
    let own_v6: Ipv6Addr = "2001:db8:2::1".parse().unwrap();
    for (packet, seen) in [
        (plain(), Seen::Ring),
        // A fragment, and a packet that the node may fragment.
        (v4(FAR, 0x2001, 0, 100), Seen::Ring),
        (v4(FAR, 0, 0, 1700), Seen::Ring),
        (v4(FAR, DONT_FRAGMENT, 0, 1480), Seen::Ring),
        (v4(FAR, DONT_FRAGMENT, 0, 1481), Seen::Route),
        (v4(FAR, 0, 0, 1780), Seen::Shape),
        (v4(FAR, DONT_FRAGMENT, 1, 100), Seen::Shape),
        (with(plain(), 8, &[1]), Seen::Shape),
        (with(plain(), 0, &[0x55]), Seen::Shape),
        (with(plain(), 12, &[127, 0, 0, 1]), Seen::Address),
        (with(plain(), 12, &[224, 0, 0, 1]), Seen::Address),
        (with(plain(), 12, &[0, 0, 0, 0]), Seen::Address),
        // Ours, a broadcast, nobody, no route, out of the router's reach, and back to where it came from.
        (with(plain(), 16, &[203, 0, 113, 1]), Seen::Route),
        (with(plain(), 16, &[203, 0, 113, 255]), Seen::Route),
        (with(plain(), 16, &[224, 0, 0, 9]), Seen::Route),
        (with(plain(), 16, &[203, 0, 113, 8]), Seen::Route),
        (with(plain(), 16, &[10, 9, 9, 9]), Seen::Route),
        (with(plain(), 16, &[198, 51, 100, 9]), Seen::Route),
        (with(plain(), 16, &[192, 0, 2, 8]), Seen::Route),
        (v6(far_v6(), 17, 100), Seen::Ring),
        (v6(far_v6(), 44, 100), Seen::Ring),
        (v6(far_v6(), 17, 1460), Seen::Ring),
        (v6(far_v6(), 17, 1461), Seen::Route),
        (v6(far_v6(), 0, 100), Seen::Shape),
        (with(v6(far_v6(), 17, 100), 7, &[1]), Seen::Shape),
        (with(v6(far_v6(), 17, 100), 8, &[0xfe, 0x80]), Seen::Address),
        (with(v6(far_v6(), 17, 100), 8, &[0; 16]), Seen::Address),
        (v6("ff02::2".parse().unwrap(), 17, 100), Seen::Address),
        (v6("::1".parse().unwrap(), 17, 100), Seen::Address),
        (v6(own_v6, 17, 100), Seen::Route),
        (v6("2001:db8:2::8".parse().unwrap(), 17, 100), Seen::Route),
    ] {
        assert_eq!(judge.of(ip(packet.clone()), true), [seen], "{:02x?}", &packet[..packet.len().min(48)]);
    }
    for frame in [
        frames::ethernet(&[7], 0x0800, &plain()),
        frames::ethernet(&[], 0x0806, &[0; 46]),
        frames::ethernet(&[], 0x0800, &plain()[..19]),
    ] {
        let seen = judge.of(frame.clone(), true);
        assert!(matches!(seen[..], [Seen::Other | Seen::Shape]), "{seen:?} of {frame:02x?}");
    }
    assert_eq!(judge.of(ip(plain()), false), [Seen::Other], "for another station");
    // The last of as many interfaces as there may be.
    let many: Vec<u32> =
        (0..u32::try_from(INTERFACES_MAX).unwrap() - 1).map(|n| 1000 + n).chain([wan, 9999]).collect();
    judge.program.set_interfaces(&many);
    assert_eq!(judge.of(ip(plain()), true), [Seen::Ring]);
    judge.program.set_interfaces(&[lan]);
    assert_eq!(judge.of(ip(plain()), true), [Seen::Route], "its interface is away");
    // A veth takes tags off, unless it is told not to.
    assert!(takes_tags_off("lan").unwrap());
    let _ = gannet_testkit::run("ethtool", &["-K", "lan", "rxvlan", "off"]);
    assert!(!takes_tags_off("lan").unwrap());
    println!("judged");
}
