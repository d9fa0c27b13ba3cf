//! `gannet ms` with cells of its own, or behind `gannet ap`, before an SGSN and a GGSN: devices of contexts in a network namespace, what they bring and
//! what is left when they go, and orders by `gannet ms ctl`.

use crate::common::{
    GANNET, Node, adaptation_captures, adaptation_pdus, file, said, signal, wait_for, within,
};
use gannet_testkit::netns::Netns;
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;

/// All of them.
pub const CASES: &[Case] = &[
    ("a_context_brings_a_device_that_leaves_nothing_behind", NEEDS, a_device),
    ("a_device_of_both_versions_has_the_prefix_that_is_advertised", V6, both_versions),
    ("a_device_of_ipv6_alone_has_the_prefix_that_is_advertised", V6, version_six),
    ("packets_take_the_context_of_their_template", TRACED, two_contexts),
    ("orders_come_by_socket", NEEDS, orders),
    ("a_mobile_changes_from_ethernet_to_udp_and_back", BEARERS, two_bearers),
];

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("ping")];
const BEARERS: &[Need] = &[Need::NetAdmin, Need::Tshark, Need::Program("ping")];
const V6: &[Need] = &[Need::NetAdmin, Need::Program("ping"), Need::That(crate::ipv6::without_ipv6)];
const TRACED: &[Need] = &[Need::NetAdmin, Need::Tshark];

/// The GGSN's end of its device.
pub const HOST: &str = "198.51.100.1";
/// The same of IPv6, for contexts that have it.
const HOST_V6: &str = "fd00:0:0:100::1";
/// Known to mobiles and access point.
const KEY: &str = "bearer key id 7 key 000102030405060708090a0b0c0d0e0f";

pub struct World {
    pub directory: TempDir,
    pub core: Netns,
    /// Where the mobiles' process is.
    pub radio: Netns,
    /// Where the mobiles' devices are.
    pub user: Netns,
    ggsn: Node,
    _sgsn: Node,
    /// The access point, where the mobiles have no cells of their own.
    pub ap: Option<Node>,
    has_network_key: bool,
    pub ms: Node,
}

/// That of beacons, where it is asked for.
pub const NETWORK_KEY: &str = "bearer network-key id 9 key f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

impl World {
    /// All nodes; `lines` are those of the node `ms`.
    pub fn new(label: &str, lines: &str) -> Self {
        let directory = TempDir::new("gannet-ms");
        let netns = |place: &str| Netns::new(&format!("{label}-{place}"));
        let (core, radio, user) = (netns("core"), netns("radio"), netns("user"));
        radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
        if lines.contains(" bearer ") {
            radio.ip(&["link", "add", "bear0", "type", "veth", "peer", "name", "bear1"]);
            ["bear0", "bear1"].iter().for_each(|device| radio.ip(&["link", "set", device, "up"]));
            radio.ip(&["address", "add", "203.0.113.2/32", "dev", "lo"]);
        }
        let path = directory.path().display().to_string();
        let end = |address: &str| format!("line vty\n no login\n bind {address}\n");
        let (supported, v6) = if lines.contains(" type ipv") {
            let prefix = "  ipv6 prefix dynamic fd00:0:0:100::/56\n";
            ("v4v6", format!("{prefix}  ipv6 ifconfig {HOST_V6}/56\n"))
        } else {
            ("v4", String::new())
        };
        let ggsn = format!(
            "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
             type-support {supported}\n{v6}  ip prefix dynamic 198.51.100.0/24\n  ip ifconfig {HOST}/24\n  ip dns 0 192.0.2.53\n  \
             ip dns 1 192.0.2.54\n  no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
            end("127.0.0.2")
        );
        let sgsn = format!(
            "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n auth-policy accept-all\n \
             llc n201-u 1520\nns\n bind udp local\n  listen 192.0.2.2 23000\n  accept-ipaccess\nbssgp\n{}",
            end("127.0.0.3")
        );
        let (ggsn, sgsn) = (start(&directory, &core, "ggsn", &ggsn), start(&directory, &core, "sgsn", &sgsn));
        let mut this = Self {
            ggsn,
            _sgsn: sgsn,
            ap: None,
            has_network_key: false,
            ms: start(&directory, &radio, "ms", &Self::config(&directory, &user, lines)),
            directory,
            core,
            radio,
            user,
        };
        this.wait_for_ms();
        this
    }

    fn config(directory: &TempDir, user: &Netns, lines: &str) -> String {
        let socket = directory.path().join("ms.sock").display().to_string();
        let lines = lines.replace("NETNS", user.name());
        let end = "line vty\n no login\n bind 127.0.0.1\n";
        if lines.contains(" bearer ") {
            return format!("ms\n ctl socket {socket}\n{lines}{end}");
        }
        format!(
            "ms\n ctl socket {socket}\n cells\n  remote-ip 192.0.2.2\n  local-ip 192.0.2.1\n  radio delay 1\n  \
             radio downlink 10000000 uplink 10000000\n  flow-control cell bmax 1000000\n  \
             flow-control ms bmax 1000000 rate 10000000\n{lines}{end}"
        )
    }

    /// All nodes, and an access point with a link of Ethernet and one of UDP, both authenticated; the first is preferred. `lines` come
    /// behind those of the links.
    pub fn behind_access_point(label: &str, lines: &str) -> Self {
        let lines = format!(
            " bearer ethernet bear0\n bearer udp 203.0.113.2 34997\n {KEY}\n cell 001 01 1 0 1\n cell 001 01 1 0 2\n \
             bearer hysteresis 100 hold 500\n no attach-rate\n{lines}"
        );
        let mut world = Self::new(label, &lines);
        world.has_network_key = lines.contains(NETWORK_KEY);
        world.start_access_point();
        world
    }

    /// Starts the access point, or another one in its place.
    pub fn start_access_point(&mut self) {
        let key = if self.has_network_key { NETWORK_KEY } else { "bearer authentication" };
        let text = format!(
            "ap\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n cells 2\n bearer ethernet bear1\n \
             bearer udp 203.0.113.2 34997\n {KEY}\n {key}\n bearer authentication\n radio downlink 10000000 uplink 10000000\n \
             flow-control cell bmax 1000000\n flow-control ms bmax 1000000 rate 10000000\nline vty\n no login\n bind 127.0.0.4\n"
        );
        self.ap = None;
        self.ap = Some(start(&self.directory, &self.radio, "ap", &text));
    }

    /// Waits until the first mobile is in the cell with this index.
    pub fn wait_for_cell(&self, number: u64) {
        wait_for("the cell", || {
            let status: serde_json::Value = serde_json::from_str(&self.ctl(&["--json", "status"])).unwrap();
            (status[0]["cell"].as_u64() == Some(number)).then_some(())
        });
    }

    /// Waits until a long packet is answered.
    pub fn wait_for_answer(&self) {
        wait_for("an answer", || {
            let mut ping = self.user.command("ping");
            ping.args(["-n", "-c", "1", "-W", "2", "-s", "1300", HOST]);
            ping.output().unwrap().status.success().then_some(())
        });
    }

    /// Starts the mobiles again, after they were killed.
    pub fn start_again(&mut self) {
        let config = self.directory.path().join("ms.cfg").display().to_string();
        let mut command = self.radio.command(GANNET);
        command.args(["ms", "-c", &config, "--pcap", "again.pcapng"]).current_dir(self.directory.path());
        self.ms = Node::spawn(&self.directory, "", command, "ms");
        self.wait_for_ms();
    }

    pub fn wait_for_ms(&mut self) {
        wait_for("the socket of the mobiles", || self.ask(&["drops"]).ok());
    }

    /// `gannet ms ctl` with its answer, or what it says against it.
    fn ask(&self, words: &[&str]) -> Result<String, String> {
        let socket = self.directory.path().join("ms.sock").display().to_string();
        let mut arguments = vec!["ms", "ctl", "--socket", &socket];
        arguments.extend(words);
        let output = crate::common::gannet(&arguments);
        if output.status.success() { Ok(said(&output)) } else { Err(said(&output)) }
    }

    /// The same, which must succeed.
    pub fn ctl(&self, words: &[&str]) -> String {
        self.ask(words).unwrap_or_else(|why| panic!("{words:?}: {why}{}", self.ms.log()))
    }

    /// The address of a device, once it is up.
    pub fn address(&self, device: &str) -> String {
        wait_for(device, || {
            let all = self.user.run("ip", &["-o", "-4", "address"]);
            let line = all.lines().find(|line| line.contains(&format!(" {device} ")))?;
            let address = line.split_whitespace().find_map(|word| word.strip_suffix("/32"))?;
            Some(address.to_owned())
        })
    }

    pub fn wait_until_gone(&self, device: &str) {
        wait_for("the end of a device", || {
            (!self.user.run("ip", &["-o", "link"]).contains(device)).then_some(())
        });
    }

    /// Mobiles and access point end. Wireshark reads all that they have sent each other, and has seen something.
    pub fn end_and_read_captures(mut self) {
        let ap = self.ap.take();
        for mut node in ap.into_iter().chain([self.ms]) {
            node.signal("TERM");
            assert!(node.wait().success(), "{}", node.log());
        }
        let seen: usize = adaptation_captures(self.directory.path()).into_iter().sum();
        assert!(seen > 0, "the captures have nothing of the adaptation protocol");
    }

    pub fn resolv_conf(&self) -> PathBuf {
        PathBuf::from("/etc/netns").join(self.user.name()).join("resolv.conf")
    }

    pub fn routes(&self) -> String {
        self.user.run("ip", &["-4", "route"])
    }
}

pub fn start(directory: &TempDir, netns: &Netns, role: &str, text: &str) -> Node {
    let config = file(directory, &format!("{role}.cfg"), text);
    let mut command = netns.command(GANNET);
    command.args([role, "-c", &config]).current_dir(directory.path());
    command.args(["--pcap", &format!("{role}.pcapng")]);
    Node::spawn(directory, "", command, role)
}

/// A context with a device in another network namespace: packets, addresses, routes, name servers; then it ends by order, by
/// SIGKILL and by SIGTERM.
fn a_device() {
    let lines =
        " context gprs\n  netns NETNS\n  route default metric 7\n  route 203.0.113.0/24\n  dns\n  mtu 1400\n";
    let mut world = World::new("ms-one", lines);
    let address = world.address("gprs0");
    assert!(address.starts_with("198.51.100."), "{address}");
    let routes =
        wait_for("the routes", || Some(world.routes()).filter(|routes| routes.contains("203.0.113.0/24")));
    assert!(routes.contains("default dev gprs0") && routes.contains("metric 7"), "{routes}");
    let link = world.user.run("ip", &["-o", "link", "show", "gprs0"]);
    assert!(link.contains("mtu 1400"), "{link}");
    let servers = wait_for("name servers", || std::fs::read_to_string(world.resolv_conf()).ok());
    assert!(servers.contains("nameserver 192.0.2.53\nnameserver 192.0.2.54\n"), "{servers}");
    let seen = world.user.run("cat", &["/etc/resolv.conf"]);
    assert_eq!(seen, servers, "'ip netns exec' shows it");
    let ping = world.user.run("ping", &["-n", "-c", "3", "-i", "0.2", "-W", "20", "-s", "1300", HOST]);
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    transfer(&world);
    world.ctl(&["deactivate", "gprs"]);
    world.wait_until_gone("gprs0");
    let nothing_left = |world: &World| {
        wait_for("the end of name servers", || (!world.resolv_conf().exists()).then_some(()));
        assert_eq!(world.routes(), "");
    };
    nothing_left(&world);
    world.ctl(&["activate", "gprs"]);
    let _ = world.address("gprs0");
    let _ = wait_for("name servers", || std::fs::read_to_string(world.resolv_conf()).ok());
    signal(&world.ms.pid().to_string(), "KILL");
    let _ = world.ms.wait();
    world.wait_until_gone("gprs0");
    nothing_left(&world);
    world.start_again();
    let _ = world.address("gprs0");
    let _ = wait_for("name servers", || std::fs::read_to_string(world.resolv_conf()).ok());
    world.ms.signal("TERM");
    assert!(world.ms.wait().success(), "{}", world.ms.log());
    world.wait_until_gone("gprs0");
    nothing_left(&world);
    assert!(!world.directory.path().join("ms.sock").exists());
}

/// What the mobile's network namespace has of a device in IPv6.
fn of_ipv6(world: &World, what: &str) -> Vec<String> {
    let all = world.user.run("ip", &["-o", "-6", what]);
    all.lines().filter(|line| line.contains("gprs0")).map(str::to_owned).collect()
}

/// The device has an address with the prefix that the GGSN has advertised to the mobile, and a default route. Packets go both ways.
/// With the context all of it goes.
fn with_ipv6(world: &World, hosts: &[&str]) {
    wait_for("the address of IPv6", || {
        let is_it = |line: &String| line.contains("inet6 fd00:0:0:1") && line.contains("/128");
        of_ipv6(world, "address").iter().any(is_it).then_some(())
    });
    let routes = of_ipv6(world, "route");
    assert!(routes.iter().any(|route| route.starts_with("default ")), "{routes:?}");
    for host in hosts {
        let ping = world.user.run("ping", &["-n", "-c", "3", "-i", "0.2", "-W", "20", "-s", "1200", host]);
        assert!(ping.contains(" 0% packet loss"), "{ping}");
    }
    let has_ipv4 = world.user.run("ip", &["-o", "-4", "address"]).contains("gprs0");
    assert_eq!(has_ipv4, hosts.contains(&HOST));
    world.ctl(&["deactivate", "gprs"]);
    world.wait_until_gone("gprs0");
    assert_eq!((of_ipv6(world, "address"), of_ipv6(world, "route")), (Vec::new(), Vec::new()));
}

/// The device has its IPv4 address at once, and its IPv6 address when a router has answered the mobile.
fn both_versions() {
    let world = World::new("ms-six", " context gprs\n  type ipv4v6\n  netns NETNS\n  route default\n");
    let _ = world.address("gprs0");
    with_ipv6(&world, &[HOST, HOST_V6]);
}

fn version_six() {
    let world = World::new("ms-six-alone", " context gprs\n  type ipv6\n  netns NETNS\n  route default\n");
    with_ipv6(&world, &[HOST_V6]);
}

/// A download through the device.
pub fn transfer(world: &World) {
    const OCTETS: usize = 1 << 20;
    let content = || (0..OCTETS).map(|place| u8::try_from(place % 251).unwrap());
    let (port_is, port) = std::sync::mpsc::channel();
    let server = within(&world.core, move || {
        let listener = TcpListener::bind((HOST, 0)).unwrap();
        port_is.send(listener.local_addr().unwrap().port()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&content().collect::<Vec<_>>()).unwrap();
    });
    let port = port.recv().unwrap();
    let client = within(&world.user, move || {
        let mut octets = Vec::new();
        TcpStream::connect((HOST, port)).unwrap().read_to_end(&mut octets).unwrap();
        octets
    });
    let received = client.join().unwrap();
    server.join().unwrap();
    assert!(received.iter().copied().eq(content()), "{} octets came", received.len());
}

/// TCP through the first context and UDP through the second, both by one device and address.
fn two_contexts() {
    let lines = " context gprs\n  netns NETNS\n  route default\n context voice\n  beside gprs\n  mode acknowledged\n  \
                 filter precedence 1 protocol 17\n";
    let mut world = World::new("ms-two", lines);
    let address = world.address("gprs0");
    wait_for("the second context", || {
        (world.ctl(&["--mobile", "1", "status"]).matches("pdp-active").count() >= 3).then_some(())
    });
    let status: serde_json::Value = serde_json::from_str(&world.ctl(&["--json", "status"])).unwrap();
    let contexts = status[0]["contexts"].as_array().unwrap();
    let of = |place: usize, field: &str| contexts[place][field].as_str().unwrap().to_owned();
    assert_eq!((of(0, "name"), of(1, "name")), ("gprs".to_owned(), "voice".to_owned()));
    assert_eq!((of(0, "mode"), of(1, "mode")), ("unacknowledged".to_owned(), "acknowledged".to_owned()));
    assert_eq!((of(0, "address"), of(1, "address")), (address.clone(), address));
    assert_eq!(status[0]["devices"].as_array().unwrap().len(), 1);
    transfer(&world);
    let echo = within(&world.core, || {
        let socket = UdpSocket::bind((HOST, 7)).unwrap();
        let mut octets = [0; 100];
        for _ in 0..5 {
            let (len, from) = socket.recv_from(&mut octets).unwrap();
            socket.send_to(&octets[..len], from).unwrap();
        }
    });
    let client = within(&world.user, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect((HOST, 7)).unwrap();
        for number in 0..5_u8 {
            // The first may come before the server is there.
            socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
            let mut octets = [0; 100];
            loop {
                let _ = socket.send(&[number; 10]);
                if socket.recv(&mut octets).is_ok() {
                    break;
                }
            }
        }
    });
    client.join().unwrap();
    drop(echo);
    world.ggsn.signal("TERM");
    let _ = world.ggsn.wait();
    let capture = world.directory.path().join("ggsn.pcapng").display().to_string();
    let rows = dissect_file(
        &capture,
        &["-Y", "gtp.message == 0xff && ip.dst == 127.0.0.2"],
        &["gtp.teid", "ip.proto"],
    );
    let mut teids = std::collections::BTreeMap::new();
    for row in &rows {
        let [teid, protocols] = &row[..] else { panic!("{row:?}") };
        let inner = protocols.rsplit(',').next().unwrap().to_owned();
        teids.entry(inner).or_insert_with(std::collections::BTreeSet::new).insert(teid.clone());
    }
    let (tcp, udp) = (&teids["6"], &teids["17"]);
    assert!(tcp.len() == 1 && udp.len() == 1 && tcp != udp, "{teids:?}");
}

/// What a person says to the mobiles, and what is answered.
fn orders() {
    let lines = " mobiles 3\n no attach-rate\n context gprs\n  netns NETNS\n context other\n  no activate\n  netns NETNS\n";
    let world = World::new("ms-ctl", lines);
    let mut watch = world.radio.spawn(
        GANNET,
        &[
            "ms",
            "ctl",
            "--socket",
            &world.directory.path().join("ms.sock").display().to_string(),
            "--mobile",
            "2",
            "watch",
        ],
    );
    // Cells of their own come into service by themselves; the orders wait for that.
    wait_for("the cell", || world.ctl(&["cells"]).contains("UNBLOCKED").then_some(()));
    world.ctl(&["--mobile", "2", "attach"]);
    watch.wait_for_line("mobile 2: attached");
    world.ctl(&["--mobile", "2", "activate"]);
    watch.wait_for_line("gprs1 in");
    let address = world.address("gprs1");
    let devices = world.ctl(&["devices"]);
    assert!(
        devices.contains("gprs1") && devices.contains(&address) && !devices.contains("other"),
        "{devices}"
    );
    world.ctl(&["--mobile", "2", "activate", "other"]);
    let _ = world.address("other1");
    let taken = world.ctl(&["--json", "set", "llc n201-u 1000"]);
    assert_eq!(taken, "{\"said\":[]}\n");
    assert!(world.ctl(&["--json", "--mobile", "3", "status"]).contains("\"gmm\":\"gmm-null\""));
    world.ctl(&["--mobile", "2", "detach"]);
    watch.wait_for_line("mobile 2: detached");
    world.wait_until_gone("other1");
    world.wait_until_gone("gprs1");
    for (words, why) in [
        (&["--mobile", "4", "attach"][..], "There is no mobile 4; there are 3."),
        (&["prefer", "configured"], "The mobiles have cells of their own, and no access point."),
        (&["fly"], "That is no command; 'gannet ms ctl --help' lists them."),
        (&["activate", "nothing"], "No context is called 'nothing'; there is gprs, other."),
        (&["deactivate", "gprs"], "Mobile 1 has no PDP context 'gprs' at the moment."),
        (&["set", "llc n201-u 9"], "140 to 1520"),
    ] {
        let error = world.ask(words).unwrap_err();
        assert!(error.contains(why), "{words:?}: {error}");
    }
    let error = world.ask(&["--json", "fly"]).unwrap_err();
    let error: serde_json::Value = serde_json::from_str(&error).unwrap();
    assert!(error["error"].as_str().unwrap().starts_with("That is no command"));
}

/// Other orders of access points, and what is said against some.
fn preferences(world: &World, cell: impl Fn(&World, u64)) {
    for (words, number) in [
        (&["prefer", "udp", "203.0.113.2", "34997"][..], 1),
        (&["prefer", "configured"], 0),
        (&["prefer", "cell", "001", "01", "1", "0", "2"], 1),
        (&["prefer", "ethernet", "bear0"], 0),
    ] {
        world.ctl(words);
        cell(world, number);
    }
    for (words, why) in [
        (
            &["prefer", "ethernet", "bear9"][..],
            "There is no bearer ethernet bear9; there is ethernet bear0, udp 203.0.113.2 34997.",
        ),
        (
            &["prefer", "cell", "001", "01", "1", "0", "9"],
            "of an access point; there is 001-01-1-0-1, 001-01-1-0-2.",
        ),
        (&["prefer"], "That is no command"),
    ] {
        let error = world.ask(words).unwrap_err();
        assert!(error.contains(why), "{words:?}: {error}");
    }
}

/// The preferred link goes away and comes back, and the address stays.
fn two_bearers() {
    let mut world = World::behind_access_point("ms-ap", " context gprs\n  netns NETNS\n  route default\n");
    let (cell, ping) = (World::wait_for_cell, World::wait_for_answer);
    world.ctl(&["activate"]);
    let address = world.address("gprs0");
    cell(&world, 0);
    ping(&world);
    transfer(&world);
    world.radio.ip(&["link", "set", "bear0", "down"]);
    cell(&world, 1);
    ping(&world);
    world.radio.ip(&["link", "set", "bear0", "up"]);
    cell(&world, 0);
    ping(&world);
    for (line, there) in [("link 0 is gone", true), ("link 0 is there", true), ("link 1 is", false)] {
        assert_eq!(world.ms.log().contains(line), there, "{line}: {}", world.ms.log());
    }
    preferences(&world, cell);
    let json = |what| serde_json::from_str::<serde_json::Value>(&world.ctl(&["--json", what])).unwrap();
    let (devices, cells, drops) = (json("devices"), json("cells"), json("drops"));
    let (name, its_address) = (devices[0]["device"].as_str(), devices[0]["ipv4"].as_str());
    assert_eq!((name, its_address), (Some("gprs0"), Some(address.as_str())), "{devices}");
    assert_eq!(devices[0]["mobile"].as_u64(), Some(1));
    assert!(devices[0]["packets_sent"].as_u64() > Some(0), "{devices}");
    let mobiles = |place: usize| (cells[place]["cell"].as_u64(), cells[place]["mobiles"].as_u64());
    assert_eq!((mobiles(0), mobiles(1)), ((Some(0), Some(1)), (Some(1), Some(0))), "{cells}");
    let is_whole = |of: &serde_json::Value| of["name"].is_string() && of["count"].as_u64() > Some(0);
    assert!(drops.as_array().unwrap().iter().all(is_whole), "{drops}");
    assert_eq!(world.address("gprs0"), address);
    assert!(!world.ms.log().contains("000102"), "keys are not logged");
    world.ms.signal("TERM");
    assert!(world.ms.wait().success());
    let mut ap = world.ap.take().unwrap();
    ap.signal("TERM");
    assert!(ap.wait().success());
    for name in ["ms.pcapng", "ap.pcapng"] {
        let seen = adaptation_pdus(&world.directory.path().join(name));
        assert!(seen.iter().all(|count| *count > 0), "{name}: {seen:?} by Ethernet and UDP");
    }
}
