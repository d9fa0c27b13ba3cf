//! Super-packets of the kernel's own TCP and UDP, through devices in network namespaces.
//!
//! A node in a process of its own passes packets between A and B, and between B and C; B is a router. So what B gets
//! joined it hands over joined. The program starts itself again as that node.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_rig::NetworkNamespace;
use gannet_rt::log::LogSink;
use gannet_rt::{
    Clock, DeviceRoute, EventLoop, LoopConfig, NoHooks, Tun, TunAddress, TunOptions, in_network_namespace,
};
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, ExitCode};

const NAMESPACES: &str = "GANNET_TEST_NAMESPACES";
const CAPTURE: &str = "GANNET_TEST_CAPTURE";
const DEVICES_IN: &str = "GANNET_TEST_DEVICES_IN";

fn main() -> ExitCode {
    if let Ok(names) = std::env::var(NAMESPACES) {
        return pass_packets(&names);
    }
    if let Ok(namespace) = std::env::var(DEVICES_IN) {
        return open_devices(&namespace);
    }
    gannet_testkit::main(&[
        ("tcp_crosses_in_super_packets", &[Need::NetAdmin, Need::Tshark], tcp),
        ("datagrams_of_a_flow_cross_joined", &[Need::NetAdmin], udp),
        ("a_device_in_another_namespace_has_routes_that_go_with_it", &[Need::NetAdmin], elsewhere),
        ("devices_that_were_there_before_are_taken_as_they_are", &[Need::NetAdmin], devices_before),
    ])
}

fn elsewhere() {
    let netns = Netns::new("elsewhere");
    let inside = Some(netns.name());
    let address = "2001:db8:7::1".parse().unwrap();
    let routes = [("0.0.0.0", 0, 300), ("192.0.2.0", 24, 0), ("::", 0, 301)];
    let routes = routes.map(|(to, length, metric)| DeviceRoute { to: to.parse().unwrap(), length, metric });
    let tun = in_network_namespace(inside, || {
        let tun = Tun::open("elsewhere0")?;
        tun.set_mtu(1482)?;
        tun.set_address(TunAddress::V4("10.9.0.1".parse().unwrap(), 32))?;
        tun.set_up(true)?;
        tun.set_address(TunAddress::V6(address, 128))?;
        routes.iter().try_for_each(|route| tun.add_route(*route))?;
        let again = tun.add_route(routes[1]).unwrap_err();
        assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
        Ok(tun)
    });
    let tun = tun.unwrap();
    assert!(!Path::new("/sys/class/net/elsewhere0").exists(), "it is there, and not here");
    let shown = |version: &str| netns.run("ip", &[version, "route", "show", "dev", "elsewhere0"]);
    let v4 = shown("-4");
    assert!(v4.contains("default proto static scope link metric 300"), "{v4}");
    assert!(v4.contains("192.0.2.0/24 proto static scope link"), "{v4}");
    assert!(shown("-6").contains("default proto static metric 301"), "{}", shown("-6"));
    let addresses = || netns.run("ip", &["-o", "address", "show", "dev", "elsewhere0"]);
    assert!(addresses().contains("2001:db8:7::1/128"), "{}", addresses());
    in_network_namespace(inside, || tun.remove_ipv6(address, 128)).unwrap();
    assert!(!addresses().contains("2001:db8:7::1"), "{}", addresses());
    std::mem::drop(tun);
    let links = netns.run("ip", &["-o", "link"]);
    assert!(!links.contains("elsewhere0"), "{links}");
    assert_eq!(netns.run("ip", &["-4", "route"]), "");
}

// ---------------------------------------------------------------------- the node

/// The devices: name, namespace, addresses. What comes to the first leaves by the second, and so on.
const DEVICES: [(&str, usize, &str, &str); 4] = [
    ("a0", 0, "10.1.0.1", "2001:db8:1::1"),
    ("b0", 1, "10.2.0.1", "2001:db8:2::1"),
    ("b1", 1, "10.3.0.1", "2001:db8:3::1"),
    ("c0", 2, "10.4.0.1", "2001:db8:4::1"),
];

/// Passes on what comes to a port by the port beside it.
struct Bridge(Batch<Output<()>>);

impl Machine for Bridge {
    type Command = ();
    type Event = ();
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while let Some(input) = inputs.pop() {
            if let Input::Datagram { port, peer, frame } = input {
                self.0.push(Output::Transmit { port: Port(port.0 ^ 1), peer, frame });
            }
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
        while let Some(output) = self.0.pop() {
            outputs.push(output);
        }
    }
}

/// The child.
fn pass_packets(names: &str) -> ExitCode {
    let clock = Clock::start();
    let config = LoopConfig { frames: 2048, lock_memory: false, ..LoopConfig::default() };
    let mut node = EventLoop::new(config, clock, LogSink::new(clock)).unwrap();
    if let Ok(path) = std::env::var(CAPTURE) {
        node.record_to(Path::new(&path)).unwrap();
    }
    let bridge = node.add_machine(Bridge(Batch::with_capacity(256)), |_, (), _| {});
    let namespaces: Vec<&str> = names.split(' ').collect();
    for ((name, namespace, v4, v6), port) in DEVICES.into_iter().zip(0..) {
        NetworkNamespace::named(namespaces[namespace]).unwrap().enter().unwrap();
        let tun = Tun::open(name).unwrap();
        assert_eq!(tun.missing(), None);
        tun.set_address(TunAddress::V4(v4.parse().unwrap(), 24)).unwrap();
        tun.set_address(TunAddress::V6(v6.parse().unwrap(), 64)).unwrap();
        tun.set_up(true).unwrap();
        node.attach_tun(bridge, Port(port), Peer::Link, tun, Some(name)).unwrap();
    }
    println!("ready");
    node.run(&mut NoHooks).unwrap();
    // A packet of IPv6 that the kernel sends on its own may be lost with its namespace, and nothing else.
    for drop in [Drop::NoFrame, Drop::RtReceiveTooLong, Drop::RtReceiveMalformed] {
        assert_eq!(node.access().log().drops().get(drop), 0);
    }
    for port in 0..4 {
        let counts = node.access().outside(bridge).tun(Port(port), Peer::Link).unwrap().counts();
        let (packets_in, reads) = (counts.packets_in, counts.reads);
        println!("counts {packets_in} {reads} {} {}", counts.packets_out, counts.writes);
    }
    ExitCode::SUCCESS
}

/// Three namespaces and the node between them.
struct Path3 {
    namespaces: [Netns; 3],
    node: Background,
}

impl Path3 {
    fn new(capture: Option<&Path>) -> Self {
        let namespaces = [Netns::new("a"), Netns::new("b"), Netns::new("c")];
        let names: Vec<&str> = namespaces.iter().map(Netns::name).collect();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(NAMESPACES, names.join(" "));
        if let Some(capture) = capture {
            command.env(CAPTURE, capture);
        }
        let mut node = Background::start(command);
        node.wait_for_line("ready");
        let [a, b, c] = &namespaces;
        let _ = b.run("sysctl", &["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
        for (at, prefix, device) in [
            (a, "10.0.0.0/8", "a0"),
            (c, "10.0.0.0/8", "c0"),
            (b, "10.1.0.0/24", "b0"),
            (b, "10.4.0.0/24", "b1"),
            (a, "2001:db8::/32", "a0"),
            (c, "2001:db8::/32", "c0"),
            (b, "2001:db8:1::/64", "b0"),
            (b, "2001:db8:4::/64", "b1"),
        ] {
            at.ip(&["route", "add", prefix, "dev", device]);
        }
        Self { namespaces, node }
    }

    /// Does something in the namespace of this number.
    fn inside<T: Send>(&self, number: usize, what: impl FnOnce() -> T + Send) -> T {
        let namespace = NetworkNamespace::named(self.namespaces[number].name()).unwrap();
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    namespace.enter().unwrap();
                    what()
                })
                .join()
                .unwrap()
        })
    }

    /// Ends the node: packets in, reads, packets out and writes of each device.
    fn counts(mut self) -> [[u64; 4]; 4] {
        self.node.signal("TERM");
        let counts = core::array::from_fn(|_| {
            let line = self.node.wait_for_line("counts");
            let numbers: Vec<u64> = line.split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
            numbers.try_into().unwrap()
        });
        assert!(self.node.wait().success());
        counts
    }
}

// ---------------------------------------------------------------------- TCP

const OCTETS: usize = 600_000;

/// Sends octets from A to C and back, and looks at them at both ends.
fn there_and_back(path: &Path3, address: &str) {
    let mut rng = fastrand::Rng::with_seed(9293);
    let octets: Vec<u8> = core::iter::repeat_with(|| rng.u8(..)).take(OCTETS).collect();
    let listener = path.inside(2, || TcpListener::bind((address, 0)).unwrap());
    let at = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = vec![0; OCTETS];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
        });
        let mut stream = path.inside(0, || TcpStream::connect(at).unwrap());
        stream.write_all(&octets).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(got == octets, "{address}: other octets came back");
    });
}

fn tcp() {
    let directory = TempDir::new("gannet-tun");
    let capture = directory.path().join("tcp.pcapng");
    let path = Path3::new(Some(&capture));
    there_and_back(&path, "10.4.0.1");
    there_and_back(&path, "2001:db8:4::1");
    let counts = path.counts();
    // Each device had data in both directions, and each read and write of data was of several packets.
    let least = 2 * u64::try_from(OCTETS).unwrap() / 1500;
    for [packets_in, reads, packets_out, writes] in counts {
        assert!(packets_in > least && packets_out > least, "{counts:?}");
        assert!(packets_in > reads && packets_out > writes, "{counts:?}");
    }
    // Wireshark computes each checksum anew, of all that was cut and all that was joined.
    let options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let fields = ["tcp.checksum.status", "ip.checksum.status", "ip.version", "ipv6.version", "tcp.len"];
    let rows = dissect_file(&capture.to_string_lossy(), &options, &fields);
    let segments: Vec<_> = rows.iter().filter(|row| !row[0].is_empty()).collect();
    assert!(segments.len() as u64 > 8 * least, "{} segments", segments.len());
    for row in segments {
        let is_ipv4 = row[2] == "4";
        assert_eq!((&row[0][..], &row[1][..]), ("1", if is_ipv4 { "1" } else { "" }), "{row:?}");
        assert!(is_ipv4 || row[3] == "6");
        assert!(row[4].parse::<usize>().unwrap() <= 1460, "{row:?}");
    }
}

// ---------------------------------------------------------------------- UDP

const DATAGRAMS: u8 = 40;

fn udp() {
    let path = Path3::new(None);
    for address in ["10.4.0.1", "2001:db8:4::1"] {
        let server = path.inside(2, || UdpSocket::bind((address, 0)).unwrap());
        let to: SocketAddr = server.local_addr().unwrap();
        let own = if to.is_ipv4() { "10.1.0.1:0" } else { "[2001:db8:1::1]:0" };
        let client = path.inside(0, || UdpSocket::bind(own).unwrap());
        client.connect(to).unwrap();
        // What the node finds at once it takes in one turn.
        path.node.stand_still();
        for number in 0..DATAGRAMS {
            let len = if number == DATAGRAMS - 1 { 300 } else { 1000 };
            client.send(&vec![number; len]).unwrap();
        }
        path.node.signal("CONT");
        let mut octets = [0; 2000];
        for number in 0..DATAGRAMS {
            let len = server.recv(&mut octets).unwrap();
            assert_eq!(len, if number == DATAGRAMS - 1 { 300 } else { 1000 });
            assert!(octets[..len].iter().all(|octet| *octet == number), "datagram {number}");
        }
    }
    let counts = path.counts();
    let all = 2 * u64::from(DATAGRAMS);
    let [_, [_, _, b0_out, b0_writes], [b1_in, b1_reads, ..], [_, _, c0_out, c0_writes]] = counts;
    assert!(b0_out >= all && b0_writes < b0_out, "{counts:?}");
    assert!(b1_in >= all && b1_reads < b1_in, "{counts:?}");
    assert!(c0_out >= all && c0_writes < c0_out, "{counts:?}");
}

// ---------------------------------------------------------------------- devices of others

/// The child, which starts no other: a program that is just being started would hold each device open for a moment.
fn open_devices(namespace: &str) -> ExitCode {
    NetworkNamespace::named(namespace).unwrap().enter().unwrap();
    let one = Tun::open("one").unwrap();
    assert_eq!((one.name(), one.missing()), ("one", None));
    let shared = TunOptions { shared: true };
    assert!(Tun::open("one").is_err() && Tun::open_with("one", shared).is_err());
    drop(one);
    let _again = Tun::open("one").unwrap();
    // One that has queues has one for each that asks.
    let _queues = [Tun::open("many").unwrap(), Tun::open_with("many", shared).unwrap()];
    let _own = [Tun::open_with("own", shared).unwrap(), Tun::open_with("own", shared).unwrap()];
    ExitCode::SUCCESS
}

fn devices_before() {
    let namespace = Netns::new("before");
    namespace.ip(&["tuntap", "add", "mode", "tun", "name", "one"]);
    namespace.ip(&["tuntap", "add", "mode", "tun", "multi_queue", "name", "many"]);
    let status = Command::new(std::env::current_exe().unwrap()).env(DEVICES_IN, namespace.name()).status();
    assert!(status.unwrap().success());
    // Those that were there stay.
    let links = namespace.run("ip", &["-brief", "link", "show"]);
    assert!(links.contains("one") && links.contains("many") && !links.contains("own"), "{links}");
}
