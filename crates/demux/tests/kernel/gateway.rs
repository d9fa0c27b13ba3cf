//! The programs of a GGSN and their model, given the same frames, rules and instants beside the same routes, say the same: verdict,
//! every octet of what leaves, every counter. The kernel's routes are real, in a namespace made for it.

use crate::common::frames::{self, checksum};
use crate::life::{ifindex, start};
use fastrand::Rng;
use gannet_demux::bpf::{TestRun, XdpMode};
use gannet_demux::gateway::{Gateway, GatewayConfig, Network, Side};
use gannet_demux::link::mac;
use gannet_demux::model::{GatewayModel, GatewayVerdict, NextHop, Routes};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::Policer;
use gannet_proto::forwarding::{ForwardChange, ForwardRule};
use gannet_proto::gtp::{ContextName, TeidKey};
use gannet_testkit::netns::Netns;
use gannet_wire::id::Teid;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const XDP_REDIRECT: u32 = 4;

/// Frames of an ordinary run; this variable says another number.
const FRAMES: u32 = 100_000;
const FRAMES_VARIABLE: &str = "GANNET_GATEWAY_FRAMES";

const PLACES: u32 = 48;
const CONTEXTS: u32 = 40;
const GENERATIONS: u32 = 3;
const MTU: usize = 1500;
const SHORT_MTU: usize = 400;

const OWN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1);
const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const BEHIND_SGSN: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const SILENT_SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9);
const SGSN_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 2, 9];

/// The namespace: Gn to two SGSNs, one of which nobody hears, a TUN device for mobiles, Gi to a router.
fn world() -> (Netns, Netns) {
    let (outside, inside) = (Netns::new("gateway-far"), Netns::new("gateway"));
    outside.join(("gn", "192.0.2.1/24"), &inside, ("gn", "192.0.2.7/24"));
    outside.join(("gi", "203.0.113.9/24"), &inside, ("gi", "203.0.113.1/24"));
    inside.ip(&["address", "add", "2001:db8:9::1/64", "dev", "gi", "nodad"]);
    inside.ip(&["tuntap", "add", "tun0", "mode", "tun"]);
    inside.ip(&["link", "set", "tun0", "up"]);
    let text = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
    for (to, mac, device) in [
        ("192.0.2.1", SGSN_MAC, "gn"),
        ("203.0.113.9", ROUTER_MAC, "gi"),
        ("2001:db8:9::9", ROUTER_MAC, "gi"),
    ] {
        inside.ip(&["neighbour", "replace", to, "lladdr", &text(mac), "dev", device, "nud", "permanent"]);
    }
    inside.route("198.51.100.0/24", "192.0.2.1");
    inside.route("default", "203.0.113.9");
    inside.ip(&["route", "add", "198.18.0.0/24", "via", "203.0.113.9", "mtu", "lock", "400"]);
    inside.ip(&["route", "add", "blackhole", "192.88.99.0/24"]);
    inside.ip(&["route", "add", "10.1.0.0/20", "dev", "tun0"]);
    inside.ip(&["route", "add", "default", "via", "2001:db8:9::9", "dev", "gi"]);
    inside.ip(&["route", "add", "2001:db8:1::/48", "dev", "tun0"]);
    let _ = inside.run(
        "sh",
        &["-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"],
    );
    (outside, inside)
}

/// What [`world`] is, in few words.
struct World {
    gn: (u32, [u8; 6]),
    gi: (u32, [u8; 6]),
    tun: u32,
}

impl World {
    fn of_this_namespace() -> Self {
        let device = |name: &str| (ifindex(name).unwrap(), mac(name).unwrap());
        Self { gn: device("gn"), gi: device("gi"), tun: ifindex("tun0").unwrap() }
    }
}

impl Routes for World {
    fn forward(&self, from: u32, to: IpAddr, len: usize) -> Option<NextHop> {
        let (device, own) = self.gi;
        let most = match to {
            IpAddr::V4(to) => match to.octets() {
                [192, 0, 2, _] | [198, 51, 100, _] | [192, 88, 99, _] | [127, ..] => return None,
                [10, 1, third, _] if third < 16 => return None,
                [203, 0, 113, last] if last != 9 => return None,
                [198, 18, 0, _] => SHORT_MTU,
                _ => MTU,
            },
            IpAddr::V6(to) => match to.segments() {
                [0x2001, 0xdb8, 1, ..] => return None,
                [0x2001, 0xdb8, 9, 0, ..] if to != ROUTER_V6 => return None,
                _ => MTU,
            },
        };
        (from == self.tun && len <= most).then_some(NextHop { device, from: own, to: ROUTER_MAC })
    }

    fn send(&self, through: u32, to: Ipv4Addr, len: usize) -> Option<NextHop> {
        let (device, own) = self.gn;
        let is_known = to == SGSN || matches!(to.octets(), [198, 51, 100, _]);
        (through == device && is_known && len <= MTU).then_some(NextHop { device, from: own, to: SGSN_MAC })
    }
}

fn config() -> GatewayConfig {
    GatewayConfig {
        user: OWN,
        addresses: vec![OWN.into(), OWN_V6.into()],
        pools: vec![(Ipv4Addr::new(10, 1, 0, 0).into(), 20), ("2001:db8:1::".parse().unwrap(), 48)],
        contexts: CONTEXTS,
        networks: 3,
        teid_key: TeidKey::new(0x6a7e),
    }
}

fn name(rng: &mut Rng) -> ContextName {
    ContextName(rng.u32(..PLACES) | (1 + rng.u32(..GENERATIONS)) << 24)
}

fn mobile_v4(rng: &mut Rng) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 0, 1 + rng.u8(..50))
}

fn mobile_v6(rng: &mut Rng) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 1, 1 + rng.u16(..50), 0, 0, 0, rng.u16(1..4))
}

fn policer(rng: &mut Rng) -> Option<Policer> {
    rng.bool().then(|| Policer { rate_octets_per_s: 1 << rng.u32(6..16), burst_octets: rng.u32(50..3000) })
}

fn change(rng: &mut Rng) -> ForwardChange {
    if rng.u32(..8) == 0 {
        return ForwardChange::Remove(name(rng));
    }
    let one_in = |rng: &mut Rng, n: u32| rng.u32(..n) == 0;
    let peer = [SGSN, SGSN, SGSN, BEHIND_SGSN, BEHIND_SGSN, SILENT_SGSN][rng.usize(..6)];
    ForwardChange::Install(ForwardRule {
        name: name(rng),
        v4: (!one_in(rng, 6)).then(|| mobile_v4(rng)),
        v6: (!one_in(rng, 6)).then(|| mobile_v6(rng)),
        network: if one_in(rng, 6) { rng.u16(..5) } else { 0 },
        source: (!one_in(rng, 3)).then_some(peer),
        peer,
        peer_teid: Teid(rng.u32(..)),
        takes_downlink: !one_in(rng, 6),
        sequenced: rng.bool(),
        dscp: rng.u8(..64),
        uplink: policer(rng),
        downlink: policer(rng),
        syn_to_node: one_in(rng, 4),
        to_ring: one_in(rng, 12),
    })
}

/// Makes frames, most of them as a mobile or somebody who answers it would.
struct Generator {
    rng: Rng,
    names: Vec<ContextName>,
    /// The newest rule of each name.
    rules: Vec<ForwardRule>,
    key: TeidKey,
}

impl Generator {
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn octets(&mut self, most: usize) -> Vec<u8> {
        let mut octets = vec![0; self.rng.usize(..=most)];
        self.rng.fill(&mut octets);
        octets
    }

    fn far_v4(&mut self) -> Ipv4Addr {
        if self.one_in(4) {
            let odd = [[203, 0, 113, 9], [203, 0, 113, 8], [198, 18, 0, 1], [192, 88, 99, 1], [10, 1, 0, 3]];
            let odder =
                [[192, 0, 2, 7], [192, 0, 2, 1], [224, 0, 0, 5], [127, 0, 0, 1], [0, 0, 0, 0], [255; 4]];
            return [&odd[..], &odder].concat()[self.rng.usize(..11)].into();
        }
        Ipv4Addr::new(8, 8, self.rng.u8(..), self.rng.u8(..))
    }

    fn far_v6(&mut self) -> Ipv6Addr {
        if self.one_in(4) {
            let odd = ["2001:db8:9::9", "2001:db8:9::8", "2001:db8:9::1", "2001:db8:1:3::1", "fe80::1"];
            let odder = ["ff02::2", "::1", "::"];
            return [&odd[..], &odder].concat()[self.rng.usize(..8)].parse().unwrap();
        }
        Ipv6Addr::new(0x2a00, 1, 2, 3, 4, 5, 6, self.rng.u16(..))
    }

    /// The payload of an IP packet, and its protocol.
    fn payload(&mut self) -> (u8, Vec<u8>) {
        let most = if self.one_in(30) { 1700 } else { 90 };
        let protocol = [6, 6, 17, 17, 1, 58, 0, 43, 44][self.rng.usize(..9)];
        (protocol, self.octets(most))
    }

    fn v4(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
        let (protocol, payload) = self.payload();
        let fragment = if self.one_in(20) { self.rng.u16(..) } else { 0x4000 };
        let options = if self.one_in(20) { self.rng.u8(..=10) } else { 0 };
        let mut packet = frames::ipv4(to, protocol, fragment, options, &payload);
        packet[1] = self.rng.u8(..);
        packet[8] = if self.one_in(12) { self.rng.u8(..3) } else { self.rng.u8(3..) };
        packet[12..16].copy_from_slice(&from.octets());
        if self.one_in(30) {
            packet[3] ^= self.rng.u8(..8);
        }
        let header = 20 + usize::from(options) * 4;
        packet[10..12].fill(0);
        let sum = checksum(&[&packet[..header]]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    fn v6(&mut self, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
        let (protocol, payload) = self.payload();
        let mut packet = frames::ipv6(to, protocol, &payload);
        packet[1..4].copy_from_slice(&[self.rng.u8(..), self.rng.u8(..), self.rng.u8(..)]);
        packet[7] = if self.one_in(12) { self.rng.u8(..3) } else { self.rng.u8(3..) };
        packet[8..24].copy_from_slice(&from.octets());
        if self.one_in(30) {
            packet[5] ^= self.rng.u8(..8);
        }
        packet
    }

    /// Changes a few octets, cuts, and pads.
    fn damage(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        if self.one_in(12) {
            for _ in 0..=self.rng.usize(..3) {
                let at = self.rng.usize(..frame.len().min(130));
                frame[at] = if self.rng.bool() { frame[at] ^ 1 << self.rng.u8(..8) } else { self.rng.u8(..) };
            }
        }
        if self.one_in(20) {
            frame.truncate(self.rng.usize(14..=frame.len()));
        }
        if self.one_in(4) {
            frame.extend(vec![0; self.rng.usize(..30)]);
        }
        frame
    }

    fn frame_on_gn(&mut self) -> Vec<u8> {
        let known = self.rules.get(self.rng.usize(..self.rules.len().max(1))).copied();
        let any = self.names[self.rng.usize(..self.names.len())];
        let name = known.map_or(any, |rule| if self.one_in(12) { any } else { rule.name });
        let own_v4 = known.and_then(|rule| rule.v4).filter(|_| !self.one_in(12));
        let own_v6 = known.and_then(|rule| rule.v6).filter(|_| !self.one_in(12));
        let inner = if self.one_in(30) {
            self.octets(60)
        } else if self.rng.bool() {
            let from = own_v4.unwrap_or_else(|| mobile_v4(&mut self.rng));
            let to = self.far_v4();
            self.v4(from, to)
        } else {
            let from = own_v6.unwrap_or_else(|| mobile_v6(&mut self.rng));
            let (from, to) = (if self.one_in(20) { self.far_v6() } else { from }, self.far_v6());
            self.v6(from, to)
        };
        let numbers = (self.rng.bool().then(|| self.rng.u16(..)), self.one_in(6).then(|| self.rng.u8(..)));
        let extensions: &[(u8, Vec<u8>)] = if self.one_in(20) { &[(0xc0, vec![1, 2])] } else { &[] };
        let kind = if self.one_in(20) { 26 } else { 255 };
        let mut gtp = frames::gtp_v1(kind, self.key.teid(name).0, numbers, extensions, &inner);
        if self.one_in(30) {
            gtp[3] ^= self.rng.u8(..8);
        }
        if self.one_in(30) {
            gtp.truncate(self.rng.usize(..=gtp.len().min(20)));
        }
        let port = if self.one_in(40) { 2123 } else { 2152 };
        let to = if self.one_in(40) { SGSN } else { OWN };
        let fragment = if self.one_in(40) { self.rng.u16(..) } else { 0 };
        let options = if self.one_in(40) { 2 } else { 0 };
        let udp = frames::udp(to.into(), port, self.rng.bool(), &gtp);
        let mut packet = frames::ipv4(to, 17, fragment, options, &udp);
        let from = known.map_or(SGSN, |rule| if self.one_in(12) { SILENT_SGSN } else { rule.peer });
        packet[12..16].copy_from_slice(&from.octets());
        if !self.one_in(30) {
            packet[10..12].fill(0);
            let sum = checksum(&[&packet[..20 + usize::from(options) * 4]]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let tags: &[u16] = if self.one_in(40) { &[7] } else { &[] };
        self.damage(frames::ethernet(tags, 0x0800, &packet))
    }

    fn frame_on_gi(&mut self) -> Vec<u8> {
        let known = self.rules.get(self.rng.usize(..self.rules.len().max(1))).copied();
        let (ethertype, packet) = if self.rng.bool() {
            let (from, to) = (self.far_v4(), known.and_then(|rule| rule.v4));
            let to = to.unwrap_or_else(|| mobile_v4(&mut self.rng));
            (0x0800, self.v4(from, to))
        } else {
            let (from, to) = (self.far_v6(), known.and_then(|rule| rule.v6));
            let to = to.unwrap_or_else(|| mobile_v6(&mut self.rng));
            (0x86dd, self.v6(from, to))
        };
        let ethertype = if self.one_in(60) { self.rng.u16(..) } else { ethertype };
        self.damage(frames::ethernet(&[], ethertype, &packet))
    }
}

/// What a program is told of where a frame came from: `struct xdp_md`.
fn context_of(frame: &[u8], device: u32) -> [u8; 24] {
    let words = [0, u32::try_from(frame.len()).unwrap(), 0, device, 0, 0];
    let mut octets = [0; 24];
    octets.chunks_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
    octets
}

/// Compares in this namespace; says so at the end.
pub fn compare(frames: u32) {
    let world = World::of_this_namespace();
    let mut kernel = Gateway::load(&config()).unwrap();
    let mut model = GatewayModel::new(config()).unwrap();
    // A veth takes the context of a frame only where it has a program.
    kernel.attach(Side::Gn, world.gn.0, XdpMode::Native).unwrap();
    kernel.attach(Side::Gi, world.gi.0, XdpMode::Native).unwrap();
    let usual =
        Network { device: world.gi.0, tun: world.tun, mtu: 1500, forwards_v4: true, forwards_v6: true };
    let odd = Network { tun: 0, mtu: 576, forwards_v6: false, ..usual };
    kernel.set_gn(world.gn.0);
    model.set_gn(world.gn.0);
    for (number, network) in [(0, usual), (1, odd)] {
        kernel.set_network(number, network);
        model.set_network(number, network);
    }
    let mut rng = Rng::with_seed(77);
    let names = (0..80).map(|_| name(&mut rng)).collect();
    let key = config().teid_key;
    let mut generator = Generator { rng: rng.fork(), names, rules: Vec::new(), key };
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    let mut now_ns = 1_000_000_000_u64;
    let mut out = vec![0; 4096];
    for number in 0..frames {
        while rng.u32(..12) == 0 {
            let change = change(&mut rng);
            let (a, b) = (kernel.apply(&change), model.apply(&change));
            assert_eq!(a.is_ok(), b.is_ok(), "{change:?}: {a:?} {b:?}");
            let (ForwardChange::Install(ForwardRule { name, .. }) | ForwardChange::Remove(name)) = change;
            generator.rules.retain(|rule| rule.name != name);
            if let ForwardChange::Install(rule) = change {
                generator.rules.push(rule);
            }
        }
        now_ns += if rng.u32(..500) == 0 { rng.u64(..2_000_000_000) } else { rng.u64(..200_000) };
        kernel.lend_clock(now_ns);
        let side = if rng.bool() { Side::Gn } else { Side::Gi };
        let device = match side {
            Side::Gn => world.gn.0,
            Side::Gi if rng.u32(..40) == 0 => world.gn.0,
            Side::Gi => world.gi.0,
        };
        let (frame, expected) = match side {
            Side::Gn => {
                let frame = generator.frame_on_gn();
                let verdict = model.uplink(&frame, now_ns, &world);
                (frame, verdict)
            }
            Side::Gi => {
                let frame = generator.frame_on_gi();
                let verdict = model.downlink(&frame, device, now_ns, &world);
                (frame, verdict)
            }
        };
        let context = context_of(&frame, device);
        let run = TestRun {
            data: &frame,
            data_out: Some(&mut out),
            context: Some(&context),
            context_out: None,
            repeat: 1,
            live_batch: None,
        };
        let result = kernel.run(side, run).unwrap();
        let said = || format!("frame {number} of {side:?}, expected {expected:?}: {frame:02x?}");
        let after = &out[..result.data_len];
        match &expected {
            GatewayVerdict::NotOurs | GatewayVerdict::Left(_) => {
                assert_eq!((result.verdict, after), (XDP_PASS, &frame[..]), "{}", said());
            }
            GatewayVerdict::Drop(_) => assert_eq!(result.verdict, XDP_DROP, "{}", said()),
            GatewayVerdict::Sent(_, sent) => {
                assert_eq!((result.verdict, after), (XDP_REDIRECT, &sent[..]), "{}", said());
            }
        }
        let kind = match &expected {
            GatewayVerdict::Sent(_, sent) => format!("{side:?} sent {}", sent[12] == 0x86),
            other => format!("{side:?} {other:?}"),
        };
        *seen.entry(kind).or_default() += 1;
        if number % 64 == 0 {
            assert_eq!(kernel.totals(), model.totals(), "{}", said());
        }
    }
    assert_eq!(kernel.totals(), model.totals());
    for name in (0..PLACES).flat_map(|place| (1..=GENERATIONS).map(move |of| ContextName(place | of << 24))) {
        assert_eq!(kernel.forwarded(name), model.forwarded(name), "{name:?}");
    }
    nothing_was_compared_only_with_nothing(&seen, &model, frames);
    println!("agreed {seen:?}");
}

fn nothing_was_compared_only_with_nothing(
    seen: &std::collections::BTreeMap<String, u32>,
    model: &GatewayModel,
    frames: u32,
) {
    let least = frames / 2000;
    for kind in ["Gn sent true", "Gn sent false", "Gi sent false"] {
        assert!(seen.get(kind).is_some_and(|count| *count > 10 * least), "{kind}: {seen:?}");
    }
    let totals = model.totals();
    let drops: Vec<(Drop, u64)> = totals.drops().collect();
    assert!(
        matches!(drops[..], [(Drop::DemuxForeignSource, a), (Drop::DemuxOverRate, b)] if a.min(b) > least.into())
    );
    for (why, count) in totals.left() {
        assert!(count > u64::from(least), "{why:?}: {count} of {frames}, {seen:?}");
    }
}

/// The test itself.
pub fn programs_and_model_agree() {
    let frames = std::env::var(FRAMES_VARIABLE).ok().map_or(FRAMES, |frames| frames.parse().unwrap());
    let (_outside, inside) = world();
    let mut compared = start(&inside, &format!("gateway {frames}"));
    compared.wait_for_line("agreed");
    assert!(compared.wait().success());
}
