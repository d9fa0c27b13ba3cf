//! The GGSN's user plane at the driver, from a mobile's device to a host behind Gi and back: both modes of XDP, both versions of IP,
//! ping and TCP; what it drops, what a killed process leaves, and an interface that comes back.

use crate::common::{GANNET, Node, file, said, wait_for, within};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

const NEEDS: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("ethtool"),
    Need::That(gannet_demux::bpf::missing),
];

const MARKED: &[Need] =
    &[Need::NetAdmin, Need::Program("ping"), Need::Tshark, Need::That(gannet_demux::bpf::missing)];

/// All of them.
pub const CASES: &[Case] = &[
    ("user_plane_at_the_driver_in_generic_mode", NEEDS, || forwards("generic")),
    ("user_plane_at_the_driver_in_native_mode", NEEDS, || forwards("native")),
    ("user_plane_serves_an_interface_that_returns", NEEDS, an_interface_returns),
    ("user_plane_of_a_killed_ggsn_is_gone", NEEDS, a_killed_ggsn_leaves_no_program),
    ("user_plane_on_an_interface_wanted_twice", NEEDS, an_interface_wanted_twice),
    ("user_plane_marks_g_pdus_by_tun", MARKED, || marks(["", ""])),
    ("user_plane_marks_g_pdus_at_the_driver", MARKED, || marks(XDP)),
    ("user_plane_that_cannot_be_had_is_explained", NEEDS, the_log_says_why),
];

const HOST: &str = "203.0.113.9";
const HOST_V6: &str = "fd00:0:0:9::9";
const GGSN_VTY: &str = "127.0.0.2:4260";
const OCTETS: usize = 100_000;

/// A mobile, its SGSN, the GGSN and a host, each in its own namespace.
struct Bed {
    radio: Netns,
    core: Netns,
    gateway: Netns,
    host: Netns,
    /// A line of the SGSN: with the program that it would have on Gn that takes frames of XDP.
    ingress: &'static str,
    directory: TempDir,
    nodes: Vec<Node>,
}

/// Both ends of Gi, with routes to the mobiles; the host finishes what it sends, as a card would.
fn join_gi(gateway: &Netns, host: &Netns) {
    gateway.join(("gi0", "203.0.113.1/24"), host, ("gi1", "203.0.113.9/24"));
    gateway.ip(&["address", "add", "fd00:0:0:9::1/64", "dev", "gi0", "nodad"]);
    host.ip(&["address", "add", "fd00:0:0:9::9/64", "dev", "gi1", "nodad"]);
    host.route("198.51.100.0/24", "203.0.113.1");
    host.route("fd00:0:0:200::/56", "fd00:0:0:9::1");
    let _ = host.run("ethtool", &["-K", "gi1", "tx", "off", "tso", "off", "gso", "off"]);
}

impl Bed {
    fn new(mode: &str) -> Self {
        let name = |part: &str| Netns::new(&format!("up-{part}"));
        let (radio, core, gateway, host) = (name("radio"), name("core"), name("ggsn"), name("host"));
        radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
        core.join(("gn0", "192.0.2.5/30"), &gateway, ("gn1", "192.0.2.6/30"));
        for (end, device) in [(&core, "gn0"), (&gateway, "gn1")] {
            end.ip(&["link", "set", device, "mtu", "2000"]);
        }
        join_gi(&gateway, &host);
        let forward = "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding";
        let _ = gateway.run("sh", &["-c", forward]);
        if mode == "native" {
            // A veth device takes frames of XDP only where its other end polls.
            let _ = core.run("ethtool", &["-K", "gn0", "gro", "on"]);
            let _ = host.run("ethtool", &["-K", "gi1", "gro", "on"]);
        }
        let ingress = if mode == "native" { "auto" } else { "fifo" };
        let directory = TempDir::new("gannet-user-plane");
        Self { radio, core, gateway, host, ingress, directory, nodes: Vec::new() }
    }

    fn ggsn_config(&self, number: u8, address: &str, lines: [&str; 2]) -> String {
        let path = self.directory.path().display();
        let ([of_ggsn, of_apn], net) = (lines, 50 * number);
        let text = format!(
            "log stderr\n logging level set-all notice\nggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip {address}\n{of_ggsn} \
             apn internet\n  gtpu-mode tun\n  tun-device apn{number}\n{of_apn}  type-support v4v6\n  \
             ip prefix dynamic 198.51.{net}.0/24\n  ip ifconfig 198.51.{net}.1/24\n  ipv6 prefix dynamic \
             fd00:0:0:{number}00::/56\n  ipv6 ifconfig fd00:0:0:{number}00::1/56\n  no shutdown\n default-apn internet\n \
             no shutdown ggsn\nline vty\n no login\n bind 127.0.0.{number}\nctrl\n bind 127.0.0.{number}\n"
        );
        file(&self.directory, &format!("ggsn{number}.cfg"), &text)
    }

    fn start(&mut self, netns: &str, role: &str, config: &str) {
        let netns = match netns {
            "radio" => &self.radio,
            "core" => &self.core,
            _ => &self.gateway,
        };
        let mut command = netns.command(GANNET);
        command.args([role, "-c", config]).current_dir(self.directory.path());
        self.nodes.push(Node::spawn(&self.directory, "", command, role));
    }

    /// Starts the GGSN, the first of the nodes, and waits for its VTY.
    fn start_ggsn(&mut self, lines: [&str; 2]) {
        let config = self.ggsn_config(2, "192.0.2.6", lines);
        self.start("gateway", "ggsn", &config);
        wait_for("the VTY of the GGSN", || self.try_ggsn("show ggsn"));
    }

    /// Starts SGSN and mobile, and waits for the context.
    fn start_mobile(&mut self) {
        let end = |address: &str| format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n");
        let path = self.directory.path().display();
        let sgsn = format!(
            "sgsn\n gtp state-dir {path}\n gtp local-ip 192.0.2.5\n ggsn 0 remote-ip 192.0.2.6\n ggsn 0 gtp-version 1\n \
             auth-policy accept-all\n ingress {}\nns\n bind udp local\n  listen 192.0.2.2 23000\n  accept-ipaccess\nbssgp\n{}",
            self.ingress,
            end("127.0.0.3")
        );
        let bss = format!(
            "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n apn internet\n pdp-type ipv4v6\n tun ms count 1\n{}",
            end("127.0.0.1")
        );
        let config = file(&self.directory, "sgsn.cfg", &sgsn);
        self.start("core", "sgsn", &config);
        let config = file(&self.directory, "bss.cfg", &bss);
        self.start("radio", "bss", &config);
        let show = || {
            let output = self.radio.command(GANNET).args(["vty", "127.0.0.1:4290", "show mobile 1"]).output();
            let output = output.unwrap();
            (output.status.success() && said(&output).contains("pdp-active")).then_some(())
        };
        wait_for("the context", show);
        for host in [HOST, HOST_V6] {
            self.radio.ip(&["route", "add", host, "dev", "ms0"]);
        }
    }

    fn try_ggsn(&self, command: &str) -> Option<String> {
        let output = self.gateway.command(GANNET).args(["vty", GGSN_VTY, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    fn ggsn(&self, command: &str) -> String {
        self.try_ggsn(command).unwrap_or_else(|| panic!("{command}: {}", self.nodes[0].log()))
    }

    /// A number of `show user-plane`, behind a word.
    fn forwarded(&self, way: &str) -> u64 {
        let shown = self.ggsn("show user-plane");
        let line = shown.lines().find_map(|line| line.trim().strip_prefix(way)?.strip_prefix(": "));
        line.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{way}: {shown}"))
    }

    /// So many echoes are answered, however long each takes.
    fn ping(&self, from: &Netns, arguments: &[&str]) {
        let mut ping = from.command("ping");
        ping.args(["-n", "-i", "0.2", "-w", "60"]).args(arguments);
        let output = ping.output().unwrap();
        let shown = || format!("{}{}{}", said(&output), self.ggsn("show user-plane"), self.nodes[0].log());
        assert!(output.status.success(), "{}", shown());
    }

    /// The mobile's address of a version.
    fn mobile(&self, is_v6: bool) -> IpAddr {
        let (version, scope) = if is_v6 { ("-6", "inet6 ") } else { ("-4", "inet ") };
        let shown = self.radio.run("ip", &[version, "address", "show", "dev", "ms0", "scope", "global"]);
        let address = shown.split(scope).nth(1).and_then(|rest| rest.split('/').next());
        address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{shown}"))
    }
}

/// A mobile sends octets to an address by TCP and gets them back.
fn echo(bed: &Bed, to: IpAddr) {
    let listen = move || TcpListener::bind(SocketAddr::new(to, 7777)).unwrap();
    let listener = within(&bed.host, listen).join().unwrap();
    let serve = within(&bed.host, move || {
        let (mut stream, from) = listener.accept().unwrap();
        let mut octets = vec![0; OCTETS];
        stream.read_exact(&mut octets).unwrap();
        stream.write_all(&octets).unwrap();
        from.ip()
    });
    let content: Vec<u8> = (0..OCTETS).map(|at| at.to_le_bytes()[at % 3]).collect();
    let sent = content.clone();
    let back = within(&bed.radio, move || {
        let mut stream = TcpStream::connect((to, 7777)).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let write = std::thread::spawn(move || writer.write_all(&sent).unwrap());
        let mut back = vec![0; OCTETS];
        stream.read_exact(&mut back).unwrap();
        write.join().unwrap();
        back
    });
    assert!(back.join().unwrap() == content);
    assert_eq!(serve.join().unwrap(), bed.mobile(to.is_ipv6()));
}

const XDP: [&str; 2] = [" user-plane xdp\n", "  gi-interface gi0\n"];

fn forwards(mode: &str) {
    let mut bed = Bed::new(mode);
    bed.start_ggsn(XDP);
    bed.start_mobile();
    let shown = bed.ggsn("show ggsn");
    let line =
        format!("user plane: driver (gn1 in {mode} mode, gi0 in {mode} mode), TUN devices for the rest");
    assert!(shown.contains(&line), "{shown}");
    let log = bed.nodes[0].log();
    assert!(
        log.contains(&format!("forwarded at the driver: gn1 in {mode} mode, gi0 in {mode} mode")),
        "{log}"
    );
    for (host, is_v6) in [(HOST, false), (HOST_V6, true)] {
        // The kernel finds its neighbours with the first packets.
        bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", host]);
        let mobile = bed.mobile(is_v6).to_string();
        let before = (bed.forwarded("uplink"), bed.forwarded("downlink"));
        bed.ping(&bed.radio, &["-c", "5", "-I", "ms0", host]);
        bed.ping(&bed.host, &["-c", "5", &mobile]);
        let after = (bed.forwarded("uplink"), bed.forwarded("downlink"));
        let news = (after.0 - before.0, after.1 - before.1);
        assert!(news.0 >= 10 && news.1 >= 10, "{news:?}: {}", bed.ggsn("show user-plane"));
        echo(&bed, host.parse().unwrap());
        let more = (bed.forwarded("uplink") - after.0, bed.forwarded("downlink") - after.1);
        let segments = OCTETS as u64 / 1500;
        assert!(more.0 > segments && more.1 > segments, "{more:?}: {}", bed.ggsn("show user-plane"));
    }
    the_node_knows(&bed);
    a_spoofed_source_is_dropped(&bed);
    bed.nodes[0].signal("TERM");
    bed.nodes[0].wait();
    let link = bed.gateway.run("ip", &["-details", "link"]);
    assert!(!link.contains("prog/xdp") && !link.contains("apn2"), "{link}");
}

/// The outer header of G-PDUs to the mobile has the code point that is configured, and none from the mobile.
fn marks(lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    let classes = ["conversational", "streaming", "interactive", "background"];
    let points: String = classes.iter().map(|class| format!(" gtpu-dscp {class} 26\n")).collect();
    bed.start_ggsn([&format!("{}{points}", lines[0]), lines[1]]);
    bed.start_mobile();
    // The first packets find the neighbours.
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let mut capture = bed.core.command("tshark");
    let fields = ["-T", "fields", "-E", "occurrence=f", "-e", "ip.src", "-e", "ip.dsfield.dscp"];
    capture.args(["-l", "-i", "gn0", "-f", "udp port 2152", "-c", "20"]).args(fields);
    capture.args(["-Y", "gtp.message == 0xff"]);
    let capture = capture.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).spawn();
    let mut capture = capture.unwrap();
    // It may begin late: echoes until it has seen enough.
    while capture.try_wait().unwrap().is_none() {
        bed.ping(&bed.radio, &["-c", "5", "-I", "ms0", HOST]);
    }
    let seen = said(&capture.wait_with_output().unwrap());
    let seen: Vec<&str> = seen.lines().collect();
    let count = |line: &str| seen.iter().filter(|it| **it == line).count();
    let (to_mobile, from_mobile) = (count("192.0.2.6\t26"), count("192.0.2.5\t0"));
    assert!(to_mobile >= 5 && from_mobile >= 5 && to_mobile + from_mobile == seen.len(), "{seen:?}");
    let forwarded = bed.ggsn("show user-plane").contains("downlink: ");
    assert_eq!(forwarded, lines == XDP);
}

/// What the driver has forwarded stands in the context's counters and in those of the GGSN.
fn the_node_knows(bed: &Bed) {
    let (uplink, downlink) = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    let shown = bed.ggsn("show pdp-context all");
    let numbers: Vec<u64> =
        shown.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    assert!(numbers.iter().filter(|number| **number >= uplink.min(downlink)).count() >= 2, "{shown}");
    let counted = |name: &str| -> u64 {
        let stats = bed.ggsn("show stats");
        let line = stats.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{name}: {stats}"))
    };
    wait_for("the count of the node", || (counted("n_pdu_uplink") >= uplink).then_some(()));
    assert!(counted("n_pdu_downlink") >= downlink && counted("driver_n_pdu_uplink") >= uplink);
}

fn a_spoofed_source_is_dropped(bed: &Bed) {
    bed.radio.ip(&["address", "add", "198.51.100.77/32", "dev", "ms0"]);
    let mut ping = bed.radio.command("ping");
    ping.args(["-n", "-c", "3", "-i", "0.2", "-W", "1", "-I", "198.51.100.77", HOST]);
    let printed = said(&ping.output().unwrap());
    assert!(printed.contains(" 0 received"), "{printed}");
    let dropped =
        |drops: &str| drops.lines().any(|it| it.contains("demux_foreign_source") && it.contains('3'));
    wait_for("the drops", || dropped(&bed.ggsn("show drops")).then_some(()));
    let stats = bed.ggsn("show stats");
    assert!(stats.contains("demux_foreign_source 3"), "{stats}");
}

fn an_interface_returns() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(XDP);
    bed.start_mobile();
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    // What leaves past the kernel does not show it that a neighbour is still there: it is made to look.
    bed.gateway.ip(&["neighbour", "change", HOST, "dev", "gi0", "nud", "stale"]);
    let neighbour = || bed.gateway.run("ip", &["neighbour", "show", HOST, "dev", "gi0"]);
    wait_for("a look at the neighbour", || (!neighbour().contains("STALE")).then_some(()));
    bed.gateway.ip(&["link", "del", "gi0"]);
    wait_for("that it is away", || bed.ggsn("show user-plane").contains("gi0 is away").then_some(()));
    join_gi(&bed.gateway, &bed.host);
    wait_for("that it is back", || bed.ggsn("show user-plane").contains("gi0 in generic mode").then_some(()));
    let log = bed.nodes[0].log();
    assert!(
        log.contains("gi0 is away") && log.contains("gi0: forwarding at the driver, generic mode"),
        "{log}"
    );
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let before = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    bed.ping(&bed.radio, &["-c", "5", "-I", "ms0", HOST]);
    let after = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    assert!(after.0 >= before.0 + 5 && after.1 >= before.1 + 5, "{}", bed.ggsn("show user-plane"));
}

fn a_killed_ggsn_leaves_no_program() {
    let mut bed = Bed::new("native");
    bed.start_ggsn(XDP);
    let shown = || bed.gateway.run("ip", &["-details", "link"]);
    assert_eq!(shown().matches("prog/xdp").count(), 2, "{}", shown());
    bed.nodes[0].signal("KILL");
    wait_for("the end of the programs", || (!shown().contains("prog/xdp")).then_some(()));
    bed.nodes.clear();
    // And the interfaces can be served again.
    bed.start_ggsn(XDP);
    assert!(bed.ggsn("show user-plane").contains("driver (gn1 in native mode"), "{}", bed.nodes[0].log());
}

fn an_interface_wanted_twice() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(XDP);
    bed.gateway.ip(&["address", "add", "192.0.2.10/32", "dev", "gn1"]);
    let config = bed.ggsn_config(4, "192.0.2.10", XDP);
    let output = bed.gateway.command(GANNET).args(["ggsn", "-c", &config]).output().unwrap();
    let text = said(&output);
    assert!(
        !output.status.success() && text.contains("another XDP program is attached to interface"),
        "{text}"
    );
    // Whoever does not insist is served by TUN devices, and is told why.
    let config = bed.ggsn_config(4, "192.0.2.10", ["", XDP[1]]);
    bed.start("gateway", "ggsn", &config);
    let log = || bed.nodes[1].log();
    wait_for("the second GGSN", || log().contains("user data goes by the TUN devices").then_some(()));
    assert!(log().contains("another XDP program is attached to interface"), "{}", log());
    assert!(bed.ggsn("show user-plane").contains("driver (gn1 in generic mode"));
}

fn the_log_says_why() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(["", ""]);
    assert!(bed.nodes[0].log().contains("user data goes by the TUN devices"), "{}", bed.nodes[0].log());
    assert!(bed.ggsn("show user-plane").contains("GGSN ggsn0: TUN devices\n"));
    for (lines, why) in [
        ([" user-plane xdp\n", ""], "'user-plane xdp' needs 'gi-interface NAME'"),
        ([" user-plane xdp\n", "  gi-interface nowhere\n"], "there is no device nowhere"),
        ([" user-plane xdp\n", "  gi-interface gn1\n"], "gn1 is Gn, and a device takes one program"),
        ([" user-plane xdp\n", "  gi-interface lo\n"], "lo is no Ethernet device"),
    ] {
        bed.gateway.ip(&["address", "replace", "192.0.2.10/32", "dev", "gn1"]);
        let config = bed.ggsn_config(4, "192.0.2.10", lines);
        let output = bed.gateway.command(GANNET).args(["ggsn", "-c", &config]).output().unwrap();
        assert!(!output.status.success() && said(&output).contains(why), "{why}: {}", said(&output));
    }
}
