//! The edge router between two hosts in namespaces, beside the kernel's own forwarding.

use crate::common::{GANNET, Node, file, said, wait_for};
use gannet_demux::bpf::Held;
use gannet_machine::EthernetAddress;
use gannet_machine::frame::FramePool;
use gannet_rig::NetworkNamespace;
use gannet_rt::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PacketLayer, PacketSocket, PacketTarget};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

pub const CASES: &[Case] = &[
    ("an_edge_router_forwards_what_the_kernel_would", SOCKETS, || as_the_kernel("socket")),
    ("with_af_xdp_an_edge_router_forwards_what_the_kernel_would", RINGS, || as_the_kernel("xdp")),
    ("an_interface_goes_and_comes_back", SOCKETS, || goes_and_comes("socket")),
    ("with_af_xdp_an_interface_goes_and_comes_back", RINGS, || goes_and_comes("xdp")),
    ("nothing_of_a_killed_edge_router_is_left", SOCKETS, || killed("auto")),
    ("rules_and_streams_change_while_packets_flow", SOCKETS, live),
];

/// What packet sockets need of the machine, and what AF_XDP needs beside it.
pub const SOCKETS: &[Need] = &[Need::NetAdmin, NFT];
pub const RINGS: &[Need] = &[Need::NetAdmin, NFT, Need::That(gannet_demux::bpf::missing)];

const NFT: Need = Need::Program("nft");
const VTY: &str = "127.0.0.1:4291";
pub const LAN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);
pub const PORT: u16 = 7777;
pub const MARKER: &[u8] = b"the last one";

/// Two hosts, `near` and `far`, and the router between them, whose kernel forwards.
pub struct Bed {
    pub near: Netns,
    pub far: Netns,
    pub router: Netns,
    pub directory: TempDir,
    pub node: Option<Node>,
}

impl Bed {
    pub fn new(label: &str) -> Self {
        let name = |of: &str| format!("edge-{label}-{of}");
        let bed = Self {
            near: Netns::new(&name("near")),
            far: Netns::new(&name("far")),
            router: Netns::new(&name("router")),
            directory: TempDir::new("gannet-edge"),
            node: None,
        };
        for setting in ["ipv4/ip_forward=1", "ipv6/conf/all/forwarding=1"] {
            let (path, value) = setting.split_once('=').unwrap();
            let _ = bed.router.run("sh", &["-c", &format!("echo {value} > /proc/sys/net/{path}")]);
        }
        bed.join_near();
        bed.join_far();
        bed
    }

    fn join_near(&self) {
        self.near.ip(&[
            "link",
            "add",
            "near",
            "address",
            "02:00:00:00:00:01",
            "type",
            "veth",
            "peer",
            "name",
            "lan",
            "address",
            &LAN.to_string(),
            "netns",
            self.router.name(),
        ]);
        self.addresses(&self.near, "near", ["10.0.1.1/24", "fd00:1::1/64"]);
        self.addresses(&self.router, "lan", ["10.0.1.2/24", "fd00:1::2/64"]);
        self.near.ip(&["route", "add", "default", "via", "10.0.1.2"]);
        self.near.ip(&["-6", "route", "add", "default", "via", "fd00:1::2"]);
    }

    fn join_far(&self) {
        self.far.ip(&[
            "link",
            "add",
            "far",
            "type",
            "veth",
            "peer",
            "name",
            "wan",
            "netns",
            self.router.name(),
        ]);
        self.addresses(&self.far, "far", ["10.0.2.1/24", "fd00:2::1/64"]);
        self.addresses(&self.router, "wan", ["10.0.2.2/24", "fd00:2::2/64"]);
        self.router.ip(&["link", "set", "wan", "mtu", "1400"]);
        self.far.ip(&["route", "add", "default", "via", "10.0.2.2"]);
        self.far.ip(&["-6", "route", "add", "default", "via", "fd00:2::2"]);
    }

    fn addresses(&self, at: &Netns, device: &str, addresses: [&str; 2]) {
        at.ip(&["link", "set", device, "up"]);
        for address in addresses {
            at.ip(&["address", "add", address, "dev", device, "nodad"]);
        }
    }

    /// Starts the router; `more` follows the line of its interface `wan`.
    pub fn start(&mut self, user_plane: &str, more: &str) {
        self.spawn(user_plane, more);
        wait_for("the answer of the VTY", || self.ask("show edge"));
    }

    /// The same, and does not wait for it.
    pub fn spawn(&mut self, user_plane: &str, more: &str) {
        let text = format!(
            "log stderr\n logging level set-all info\nedge\n user-plane {user_plane}\n interface lan\n interface wan\n{more}line vty\n no login\n"
        );
        let config = file(&self.directory, "edge.cfg", &text);
        let mut command = self.router.command(GANNET);
        command.args(["edge", "-c", &config]);
        self.node = Some(Node::spawn(&self.directory, "", command, "edge"));
    }

    /// Packets that the rings of all interfaces have received.
    pub fn by_ring(&self) -> u64 {
        let shown = self.vty(&["show user-plane"]);
        let of = |line: &str| {
            line.split_once(" packets received by its ring")?.0.rsplit(' ').next()?.parse::<u64>().ok()
        };
        shown.lines().filter_map(of).sum()
    }

    fn ask(&self, command: &str) -> Option<String> {
        let output = self.router.command(GANNET).args(["vty", VTY, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    /// What its VTY answers after it has done these commands.
    pub fn vty(&self, commands: &[&str]) -> String {
        let output = self.session(commands);
        assert!(
            output.status.success(),
            "{commands:?}: {}{}",
            said(&output),
            String::from_utf8_lossy(&output.stderr)
        );
        said(&output)
    }

    fn session(&self, commands: &[&str]) -> std::process::Output {
        let commands = commands.iter().flat_map(|command| ["-c", command]);
        self.router.command(GANNET).args(["vty", VTY]).args(commands).output().unwrap()
    }

    pub fn ping(&self) {
        let _ = self.near.run("ping", &["-c", "3", "-i", "0.01", "-W", "20", "10.0.2.1"]);
        let _ = self.near.run("ping", &["-6", "-c", "3", "-i", "0.01", "-W", "20", "fd00:2::1"]);
    }
}

/// A socket on a device of a namespace.
pub struct Tap {
    pub socket: PacketSocket,
    pool: FramePool,
}

impl Tap {
    pub fn new(netns: &Netns, device: &str) -> Self {
        let own = NetworkNamespace::current().unwrap();
        NetworkNamespace::named(netns.name()).unwrap().enter().unwrap();
        let socket = PacketSocket::open(device, PacketLayer::Packets).unwrap();
        own.enter().unwrap();
        Self { socket, pool: FramePool::new(64) }
    }

    pub fn send(&mut self, packet: &[u8]) {
        let ether_type = if packet[0] >> 4 == 6 { ETHER_TYPE_IPV6 } else { ETHER_TYPE_IPV4 };
        let target = PacketTarget { to: LAN, ether_type };
        assert_eq!(self.socket.send([(packet, Some(target))].into_iter()).unwrap(), 1);
    }

    /// IP packets that have come, as far as they are wanted, until `enough`.
    pub fn receive(
        &mut self,
        wanted: fn(&[u8]) -> bool,
        enough: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        wait_for("the packets", || {
            all.extend(self.come(wanted));
            enough(&all).then_some(())
        });
        all
    }

    /// Those that are there now, a batch at most.
    pub fn come(&mut self, wanted: fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut frames: Vec<_> = core::iter::from_fn(|| self.pool.alloc()).collect();
        let count = self.socket.receive(&mut frames).unwrap();
        for (index, mut frame) in frames.into_iter().take(count).enumerate() {
            let arrived = self.socket.arrived(index).unwrap();
            let is_ip = [ETHER_TYPE_IPV4, ETHER_TYPE_IPV6].contains(&arrived.ether_type);
            if is_ip && arrived.is_for_us && frame.set_len(arrived.len) && wanted(&frame) {
                all.push(frame.to_vec());
            }
        }
        all
    }
}

/// The sum in ones' complement.
pub fn sum(octets: &[u8]) -> u16 {
    let mut sum: u32 =
        octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).unwrap();
    [&PORT.to_be_bytes()[..], &9_u16.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload].concat()
}

/// From near to far; no fragment of it is permitted where `whole`.
pub fn ipv4(hops: u8, tos: u8, whole: bool, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let len = u16::try_from(header_len + 8 + payload.len()).unwrap().to_be_bytes();
    let first = 0x40 | u8::try_from(header_len / 4).unwrap();
    let flags = if whole { 0x40 } else { 0 };
    let mut header =
        vec![first, tos, len[0], len[1], 0x12, 0x34, flags, 0, hops, 17, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1];
    header.extend(options);
    let checksum = (!sum(&header)).to_be_bytes();
    header[10..12].copy_from_slice(&checksum);
    [header, udp(payload)].concat()
}

fn ipv6(hops: u8, class: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![0x60 | class >> 4, class << 4, 0, 7, len[0], len[1], 17, hops];
    packet.extend("fd00:1::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet.extend("fd00:2::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet.extend(udp(payload));
    // Nobody reads it but the hosts, and they do not listen: the field may have any value but 0.
    packet[46] = 1;
    packet
}

/// Packets of the test, and the fragments behind the first, by their identification.
pub fn is_of_test(packet: &[u8]) -> bool {
    match packet[0] >> 4 {
        4 => packet[9] == 17 && packet[4..6] == [0x12, 0x34],
        _ => packet[6] == 17 && packet[40..42] == PORT.to_be_bytes(),
    }
}

/// ICMP errors of a router: time exceeded, too long, unreachable. Of the host at the end there are also those about its port.
fn is_error(packet: &[u8]) -> bool {
    match packet[0] >> 4 {
        4 => packet[9] == 1 && [3, 11].contains(&packet[20]) && packet[20..22] != [3, 3],
        _ => packet[6] == 58 && packet[40] < 128 && packet[40..42] != [1, 4],
    }
}

/// What an ICMP error says: version, sender, type, code and MTU, and the header that it quotes.
fn error_of(packet: &[u8]) -> Vec<u8> {
    match packet[0] >> 4 {
        4 => [&packet[12..16], &packet[20..22], &packet[26..28], &packet[28..48]].concat(),
        _ => [&packet[8..24], &packet[40..42], &packet[44..48], &packet[48..88]].concat(),
    }
}

fn packets() -> Vec<Vec<u8>> {
    let long = [7; 1380];
    let mut all = vec![
        ipv4(64, 0, true, &[], b"a"),
        ipv4(2, 46 << 2 | 1, true, &[], b"hops"),
        ipv4(64, 10 << 2, true, &[], &long[..1372]),
        ipv4(64, 0, false, &[], &[9; 1472]),
        // A router alert, and an option that the first fragment alone has.
        ipv4(64, 0, false, &[0x94, 4, 0, 0, 1, 1, 1, 0], &[8; 1460]),
        ipv6(64, 0, b"a"),
        ipv6(2, 46 << 2 | 2, b"hops"),
        ipv6(64, 0, &long[..1352]),
    ];
    // What a router answers.
    all.extend([
        ipv4(1, 0, true, &[], b"x"),
        ipv4(64, 0, true, &[], &long),
        ipv6(1, 0, b"x"),
        ipv6(64, 0, &long),
    ]);
    let mut no_route = ipv4(64, 0, true, &[], b"y");
    no_route[16..20].copy_from_slice(&[203, 0, 113, 1]);
    no_route[10..12].fill(0);
    let checksum = (!sum(&no_route[..20])).to_be_bytes();
    no_route[10..12].copy_from_slice(&checksum);
    all.push(no_route);
    all
}

const ERRORS: usize = 5;

/// Sends all packets, and gives what came to the other host, and which errors came back, sorted.
fn transfer(bed: &Bed) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut near, mut far) = (Tap::new(&bed.near, "near"), Tap::new(&bed.far, "far"));
    packets().iter().for_each(|packet| near.send(packet));
    near.send(&ipv4(64, 0, true, &[], MARKER));
    near.send(&ipv6(64, 0, MARKER));
    let markers = |all: &[Vec<u8>]| all.iter().filter(|packet| packet.ends_with(MARKER)).count();
    let forwarded = far.receive(is_of_test, |all| markers(all) == 2);
    let mut errors: Vec<Vec<u8>> =
        near.receive(is_error, |all| all.len() >= ERRORS).iter().map(|packet| error_of(packet)).collect();
    errors.sort();
    (forwarded, errors)
}

fn as_the_kernel(user_plane: &str) {
    let mut bed = Bed::new(&format!("same-{user_plane}"));
    // All addresses of neighbours are known, so that none of both is ahead.
    bed.ping();
    let mut by_kernel = transfer(&bed);
    assert!(by_kernel.0.len() > 10, "{}", by_kernel.0.len());
    bed.start(user_plane, "");
    bed.ping();
    let rings = user_plane == "xdp";
    let before = if rings { bed.by_ring() } else { 0 };
    let mut by_edge = transfer(&bed);
    if rings {
        // One has options, and comes by the packet socket: it may be ahead of the others.
        by_edge.0.sort();
        by_kernel.0.sort();
        // All but that and what the kernel answers.
        let expected = packets().len() + 2 - ERRORS - 1;
        assert_eq!(bed.by_ring() - before, expected as u64, "{}", bed.vty(&["show user-plane"]));
    }
    for (number, (edge, kernel)) in by_edge.0.iter().zip(&by_kernel.0).enumerate() {
        assert!(edge == kernel, "packet {number}: {:02x?} and {:02x?}", &edge[..29], &kernel[..29]);
    }
    assert_eq!(by_edge.0.len(), by_kernel.0.len(), "each once");
    assert_eq!(by_edge.1, by_kernel.1, "the same errors");
    let shown = bed.vty(&["show edge"]);
    assert!(shown.contains(" 2 fragmented"), "{shown}");
}

fn goes_and_comes(user_plane: &str) {
    let mut bed = Bed::new(&format!("away-{user_plane}"));
    bed.start(user_plane, "");
    bed.ping();
    bed.router.ip(&["link", "delete", "wan"]);
    let heard = |bed: &Bed, news: &str| {
        wait_for("the news", || bed.node.as_ref()?.log().contains(news).then_some(()));
    };
    heard(&bed, "wan is away: nothing goes through it");
    bed.join_far();
    heard(&bed, "wan is back\n");
    let rings = user_plane == "xdp";
    if rings {
        heard(&bed, "wan is back: AF_XDP sockets and program are set up");
    }
    let before = (forwarded(&bed), bed.by_ring());
    bed.ping();
    // Requests and answers, not by the kernel: it keeps from it as before.
    assert!(forwarded(&bed) >= before.0 + 4);
    bed.router.ip(&["link", "set", "wan", "down"]);
    bed.router.ip(&["link", "set", "wan", "up"]);
    bed.router.ip(&["address", "replace", "fd00:2::2/64", "dev", "wan", "nodad"]);
    bed.ping();
    assert!(forwarded(&bed) >= before.0 + 8);
    assert_eq!(bed.by_ring() > before.1, rings, "{}", bed.vty(&["show user-plane"]));
}

/// Packets that the router has forwarded.
pub fn forwarded(bed: &Bed) -> u64 {
    let shown = bed.vty(&["show edge"]);
    let (count, _) = shown.split_once(" forwarded").unwrap();
    count.rsplit(' ').next().unwrap().parse().unwrap()
}

fn killed(user_plane: &str) {
    let mut bed = Bed::new("killed");
    bed.start(user_plane, "");
    assert!(bed.router.run("nft", &["list", "tables"]).contains("gannet-edge-"));
    bed.ping();
    let mut node = bed.node.take().unwrap();
    let held = Held::by(node.pid()).unwrap();
    assert_eq!(held.is_empty(), gannet_demux::bpf::missing().is_some(), "it had programs, where it may");
    node.signal("KILL");
    let _ = node.wait();
    wait_for("the end of its programs", || held.left().is_empty().then_some(()));
    wait_for("the end of the table", || {
        bed.router.run("nft", &["list", "ruleset"]).trim().is_empty().then_some(())
    });
    // The kernel forwards again, each packet once.
    let (forwarded, _) = transfer(&bed);
    assert_eq!(forwarded.iter().filter(|packet| packet.ends_with(MARKER)).count(), 2);
}

fn live() {
    let mut bed = Bed::new("live");
    let streams = " rule 10 protocol udp stream gold mark 10\n";
    bed.start("auto", &format!("  rate 100000\n  stream gold af rate 1000\n{streams}"));
    bed.ping();
    let mut near = Tap::new(&bed.near, "near");
    let mut far = Tap::new(&bed.far, "far");
    let mut code_point = || {
        near.send(&ipv4(64, 1, true, &[], MARKER));
        let all = far.receive(is_of_test, |all| !all.is_empty());
        assert_eq!(all.len(), 1);
        all[0][1]
    };
    assert_eq!(code_point(), 10 << 2 | 1);
    let change = ["configure terminal", "edge"];
    bed.vty(
        &[
            &change[..],
            &[
                "interface wan",
                "stream voice ef rate 500",
                "exit",
                "rule 5 protocol udp destination-port 9 stream voice mark 46",
            ],
        ]
        .concat(),
    );
    assert_eq!(code_point(), 46 << 2 | 1);
    bed.vty(&[&change[..], &["no rule 5", "no rule 10"]].concat());
    assert_eq!(code_point(), 1);
    let shown = bed.vty(&["show streams"]);
    for stream in ["stream gold (af, 1000 kbit/s): 1 packets", "stream voice (ef, 500 kbit/s): 1 packets"] {
        assert!(shown.contains(stream), "{shown}");
    }
    let refused = bed.session(&[&change[..], &["interface wan", "stream big af rate 200000"]].concat());
    assert!(!refused.status.success() && said(&refused).contains("stream big"), "{}", said(&refused));
}
