//! User data through an XDP program, AF_XDP rings and back out as whole frames, between network namespaces.
//!
//! The program starts itself again as the node under test, in a namespace of its own: the part is chosen by an
//! environment variable. The test itself is the GGSN on Gn and the base station on Gb, with ordinary sockets.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

mod node;

use gannet_rt::alloc_count::Counting;
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::{Need, TempDir};
use gannet_trace::pcapng::{Direction, Reader};
use node::{Plan, RULES, node_under_test};
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Root, and a build with the kernel's programs.
const NEEDS: &[Need] = &[Need::NetAdmin, Need::That(gannet_demux::bpf::missing)];

fn main() -> ExitCode {
    match std::env::var(node::CHILD).as_deref() {
        Ok("node") => return node_under_test(),
        Ok("ends") => return node::ends(),
        _ => {}
    }
    gannet_testkit::main(&[
        ("classified_frames_leave_where_they_lie", NEEDS, forwarding),
        ("what_the_program_passes_is_a_plain_datagram", NEEDS, passing),
        ("what_af_xdp_cannot_send_goes_through_the_kernel_in_order", NEEDS, mixed_sizes),
        ("everything_is_in_the_capture", NEEDS, capture),
        ("two_nodes_on_one_machine", NEEDS, two_nodes),
        ("a_killed_node_is_replaced_at_once", NEEDS, killed),
        ("an_interface_that_returns_is_used_again", NEEDS, returning),
        ("a_neighbour_that_moves_is_found", NEEDS, moving),
        (
            "without_rights_the_node_says_what_it_lacks",
            &[Need::NetAdmin, Need::Program("setpriv")],
            unprivileged,
        ),
        ("sockets_by_class_where_there_is_no_xdp", NEEDS, by_class),
        (
            "high_precedence_is_taken_after_real_time_and_before_the_rest",
            &[Need::NetAdmin, Need::That(gannet_demux::bpf::missing), Need::Program("ethtool")],
            in_order,
        ),
        (
            "uplink_of_known_mobiles_comes_through_rings",
            &[Need::NetAdmin, Need::That(gannet_demux::bpf::missing), Need::Program("ethtool")],
            uplink,
        ),
        ("a_polling_node_restores_what_it_changed", NEEDS, polling),
    ])
}

/// A namespace with the node and one with both its peers.
struct Testbed {
    node: Netns,
    ends: Netns,
}

impl Testbed {
    fn new() -> Self {
        let this = Self { node: Netns::new("node"), ends: Netns::new("ends") };
        this.join();
        this
    }

    fn join(&self) {
        self.join_gn();
        self.node.join(("gb1", "198.51.100.2/24"), &self.ends, ("gb0", "198.51.100.1/24"));
    }

    fn join_gn(&self) {
        self.node.join(("gn1", "192.0.2.2/24"), &self.ends, ("gn0", "192.0.2.1/24"));
    }

    fn start(&self, plan: &Plan) -> Background {
        self.start_as(plan, &[])
    }

    fn start_as(&self, plan: &Plan, wrapper: &[&str]) -> Background {
        let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let mut words: Vec<&str> = wrapper.to_vec();
        words.push(&own);
        let mut command = self.node.command(words[0]);
        command.args(&words[1..]).env(node::CHILD, "node");
        plan.to_environment(&mut command);
        Background::start(command)
    }

    /// The peers, told line by line what to do.
    fn peers(&self) -> Peers {
        let mut command = self.ends.command(&std::env::current_exe().unwrap().to_string_lossy());
        command.env(node::CHILD, "ends");
        Peers::new(command)
    }
}

use node::Peers;

/// Starts a node and makes it known on Gb, so that neighbours are resolved.
fn forwarding_testbed(plan: &Plan) -> (Testbed, Background, Peers) {
    let testbed = Testbed::new();
    let mut node = testbed.start(plan);
    assert_eq!(node.wait_for_line("ingress"), "ingress xdp on gn1, refused []");
    assert_eq!(node.wait_for_line("output"), "output AF_XDP on gb1, refused []");
    node.wait_for_line("ready");
    let peers = testbed.peers();
    (testbed, node, peers)
}

fn forwarding() {
    let (_testbed, mut node, mut peers) = forwarding_testbed(&Plan::default());
    peers.introduce();
    for (index, (teid, ..)) in RULES.iter().enumerate() {
        peers.send_gpdu(*teid, 20 + index);
        let got = peers.receive();
        assert_eq!(got, node::answer(*teid, 20 + index), "name, then the T-PDU");
    }
    // Some at once, of both classes: each comes, and within a class in order.
    for round in 0..10 {
        for number in 0..40 {
            peers.send_gpdu(RULES[number % 2].0, 100 + number + 40 * round);
        }
        let mut last = [0, 0];
        for _ in 0..40 {
            let got = peers.receive();
            let class = usize::from(got[3] == 2);
            assert!(got.len() > last[class], "in order");
            last[class] = got.len();
        }
    }
    let report = node::stop(&mut node);
    assert!(report["plain"] >= 1, "the introduction");
    assert_eq!(report["classified"], 403);
    assert_eq!(report["by_frame"], 403);
    assert_eq!(report["missing"], 0, "every frame is back in the pool or with the kernel: {report:?}");
    assert_eq!(report["drops"], 0);
    assert_eq!(report["allocations"], 0, "between the 100th packet and the last");
}

fn passing() {
    let (_testbed, mut node, mut peers) = forwarding_testbed(&Plan::default());
    peers.introduce();
    // An echo request, and a G-PDU of a context that nobody knows (a sample of which goes up).
    peers.send_raw(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]);
    peers.send_gpdu(0x0500_0009, 30);
    assert_eq!(peers.receive(), node::answer(0x0500_0009, 30), "the sample");
    peers.send_gpdu(RULES[0].0, 30);
    assert_eq!(peers.receive(), node::answer(RULES[0].0, 30));
    let report = node::stop(&mut node);
    assert_eq!((report["plain"] >= 3, report["classified"]), (true, 1));
}

fn mixed_sizes() {
    let testbed = Testbed::new();
    // Longer than Gb takes in one frame: the kernel cuts them.
    testbed.node.ip(&["link", "set", "gb1", "mtu", "600"]);
    testbed.ends.ip(&["link", "set", "gb0", "mtu", "600"]);
    let mut node = testbed.start(&Plan::default());
    node.wait_for_line("ready");
    let mut peers = testbed.peers();
    peers.introduce();
    let sizes: Vec<usize> = (0..120).map(|n| if n % 3 == 2 { 900 + n } else { 100 + n }).collect();
    for size in &sizes {
        peers.send_gpdu(RULES[0].0, *size);
    }
    for size in &sizes {
        assert_eq!(peers.receive(), node::answer(RULES[0].0, *size), "in the order in which they came");
    }
    let report = node::stop(&mut node);
    assert!(report["by_frame"] >= 80 && report["by_kernel"] >= 40, "{report:?}");
    assert!(report["by_frame"] + report["by_kernel"] >= 120, "{report:?}");
    assert_eq!(report["missing"], 0);
}

fn capture() {
    let directory = TempDir::new("gannet-xdp");
    let file = directory.path().join("both.pcapng");
    let (_testbed, mut node, mut peers) =
        forwarding_testbed(&Plan { pcap: Some(file.clone()), ..Plan::default() });
    peers.introduce();
    peers.send_gpdu(RULES[1].0, 55);
    let answer = peers.receive();
    node::stop(&mut node);
    let records: Vec<_> = Reader::open(&file).unwrap().map(Result::unwrap).collect();
    let find = |direction, payload: &[u8]| {
        let found = records.iter().find(|record| {
            record.direction == Some(direction) && record.udp().is_some_and(|udp| udp.payload == payload)
        });
        let udp = found.unwrap_or_else(|| panic!("not recorded {direction:?}")).udp().unwrap();
        (udp.source.to_string(), udp.destination.to_string())
    };
    let (from, to) = find(Direction::In, &node::gpdu(RULES[1].0, 55));
    assert_eq!((from.starts_with("192.0.2.1:"), to.as_str()), (true, "192.0.2.2:2152"));
    let (from, to) = find(Direction::Out, &answer);
    assert_eq!((from.as_str(), to.as_str()), ("198.51.100.2:23000", "198.51.100.1:23000"));
}

fn two_nodes() {
    let (first, second) = (Testbed::new(), Netns::new("second"));
    // The second node is in the first one's namespace, on devices and addresses of its own.
    first.node.join(("gn2", "192.0.2.130/25"), &second, ("gn0", "192.0.2.129/25"));
    first.node.join(("gb2", "203.0.113.2/24"), &second, ("gb0", "203.0.113.1/24"));
    let mut one = first.start(&Plan::default());
    let plan = Plan { gn: "192.0.2.130".into(), gb: "203.0.113.2".into(), ..Plan::default() };
    let mut two = first.start(&plan);
    assert_eq!(one.wait_for_line("ingress"), "ingress xdp on gn1, refused []");
    assert_eq!(two.wait_for_line("ingress"), "ingress xdp on gn2, refused []");
    one.wait_for_line("ready");
    two.wait_for_line("ready");
    let mut peers = first.peers();
    let own = std::env::current_exe().unwrap();
    let mut command = second.command(&own.to_string_lossy());
    command.env(node::CHILD, "ends");
    let mut others = Peers::with_addresses(command, "192.0.2.130", "203.0.113.2");
    for peers in [&mut peers, &mut others] {
        peers.introduce();
        peers.send_gpdu(RULES[0].0, 40);
        assert_eq!(peers.receive(), node::answer(RULES[0].0, 40));
    }
    for node in [&mut one, &mut two] {
        let report = node::stop(node);
        assert_eq!((report["classified"], report["by_frame"], report["missing"]), (1, 1, 0));
    }
}

fn killed() {
    let (testbed, node, mut peers) = forwarding_testbed(&Plan::default());
    peers.introduce();
    let mut former = node;
    for round in 0..3 {
        for number in 0..50 {
            peers.send_gpdu(RULES[0].0, 60 + number);
        }
        former.signal("KILL");
        // Its UDP sockets are closed when it has ended; the AF_XDP queues may take longer.
        former.wait();
        let mut node = testbed.start(&Plan::default());
        assert_eq!(node.wait_for_line("ingress"), "ingress xdp on gn1, refused []", "round {round}");
        assert_eq!(node.wait_for_line("output"), "output AF_XDP on gb1, refused []");
        node.wait_for_line("ready");
        peers.empty();
        peers.introduce();
        peers.send_gpdu(RULES[0].0, 30);
        assert_eq!(peers.receive(), node::answer(RULES[0].0, 30));
        former = node;
    }
    assert_eq!(node::stop(&mut former)["missing"], 0);
    assert_eq!(programs_on(&testbed, "gn1"), 0, "nothing is left behind");
}

/// XDP programs on a device of the node.
fn programs_on(testbed: &Testbed, device: &str) -> usize {
    testbed.node.run("ip", &["link", "show", "dev", device]).matches("prog/xdp").count()
}

fn returning() {
    let (testbed, mut node, mut peers) = forwarding_testbed(&Plan::default());
    peers.introduce();
    peers.send_gpdu(RULES[0].0, 30);
    assert_eq!(peers.receive(), node::answer(RULES[0].0, 30));
    for _ in 0..2 {
        testbed.node.ip(&["link", "del", "gn1"]);
        node.wait_for_line("gn1 is away");
        testbed.join_gn();
        node.wait_for_line("gn1 is back");
        assert_eq!(programs_on(&testbed, "gn1"), 1);
        peers.introduce();
        peers.send_gpdu(RULES[1].0, 31);
        assert_eq!(peers.receive(), node::answer(RULES[1].0, 31));
    }
    // And the other side.
    testbed.node.ip(&["link", "del", "gb1"]);
    node.wait_for_line("gb1 is away");
    testbed.node.join(("gb1", "198.51.100.2/24"), &testbed.ends, ("gb0", "198.51.100.1/24"));
    node.wait_for_line("gb1 is back");
    peers.introduce();
    peers.send_gpdu(RULES[0].0, 32);
    assert_eq!(peers.receive(), node::answer(RULES[0].0, 32));
    let report = node::stop(&mut node);
    assert_eq!((report["classified"], report["missing"]), (4, 0));
}

fn moving() {
    let (testbed, mut node, mut peers) = forwarding_testbed(&Plan::default());
    peers.introduce();
    peers.send_gpdu(RULES[0].0, 30);
    assert_eq!(peers.receive(), node::answer(RULES[0].0, 30));
    // Another card with the same address, which says so to all (as a host that takes over an address does).
    testbed.ends.ip(&["link", "set", "gb0", "address", "02:00:00:00:00:77"]);
    peers.announce();
    let size = 33;
    loop {
        peers.send_gpdu(RULES[0].0, size);
        // Frames for the card that is gone are lost, as on any network.
        if let Some(got) = peers.receive_within(Duration::from_millis(200)) {
            assert_eq!(got, node::answer(RULES[0].0, size));
            break;
        }
        peers.announce();
    }
    assert_eq!(node::stop(&mut node)["missing"], 0);
}

fn unprivileged() {
    let testbed = Testbed::new();
    let wrapper = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all"];
    let mut node = testbed.start_as(&Plan::default(), &wrapper);
    let line = node.wait_for_line("ingress");
    assert!(line.contains("refused [\"no XDP: ") && line.contains("CAP_BPF"), "{line}");
    let line = node.wait_for_line("output");
    assert!(line.starts_with("output UDP") && line.contains("CAP_NET_RAW"), "{line}");
    node.wait_for_line("ready");
    let mut peers = testbed.peers();
    peers.introduce();
    assert!(node::stop(&mut node)["plain"] >= 1);
}

fn by_class() {
    let testbed = Testbed::new();
    for busy_poll in ["off", "always"] {
        let plan = Plan { backend: "reuseport".into(), busy_poll: busy_poll.into(), ..Plan::default() };
        let mut node = testbed.start(&plan);
        assert_eq!(node.wait_for_line("ingress"), "ingress reuseport on , refused []");
        node.wait_for_line("ready");
        let mut peers = testbed.peers();
        peers.introduce();
        for (teid, ..) in RULES {
            peers.send_gpdu(teid, 40);
        }
        let got = RULES.map(|_| peers.receive());
        // The sockets are read in the order of their rings, not in that of arrival.
        assert!(RULES.iter().all(|(teid, ..)| got.contains(&node::answer(*teid, 40))), "{got:?}");
        let report = node::stop(&mut node);
        assert!(report["plain"] >= 3);
        assert_eq!((report["classified"], report["missing"]), (0, 0));
    }
}

/// Best effort, real time and best effort of high precedence wait for a node that stands still.
fn in_order() {
    for backend in ["xdp", "reuseport"] {
        let testbed = Testbed::new();
        let mut node = testbed.start(&Plan { backend: backend.into(), ..Plan::default() });
        assert!(node.wait_for_line("ingress").starts_with(&format!("ingress {backend}")));
        node.wait_for_line("ready");
        let mut peers = testbed.peers();
        peers.introduce();
        node.stand_still();
        for (teid, ..) in RULES {
            peers.send_gpdu(teid, 40);
        }
        while match backend {
            "xdp" => redirected_on(&testbed, "gn1"),
            _ => sockets_with_datagrams(&testbed, 2152),
        } < 3
        {
            std::thread::yield_now();
        }
        node.signal("CONT");
        let [best_effort, real_time, high] = RULES.map(|(teid, ..)| node::answer(teid, 40));
        let got = RULES.map(|_| peers.receive());
        assert_eq!(got, [real_time, high, best_effort], "{backend}");
        assert_eq!(node::stop(&mut node)["missing"], 0);
    }
}

/// Sockets of the node on a port in which something waits.
fn sockets_with_datagrams(testbed: &Testbed, port: u16) -> u64 {
    let sockets = testbed.node.run("cat", &["/proc/net/udp"]);
    let waits = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[1].ends_with(&format!(":{port:04X}")) && !words[4].ends_with(":00000000")
    };
    sockets.lines().skip(1).filter(waits).count() as u64
}

/// Frames that the program on a device of the node has given to sockets.
fn redirected_on(testbed: &Testbed, device: &str) -> u64 {
    let counters = testbed.node.run("ethtool", &["-S", device]);
    let lines = counters.lines().filter(|line| line.contains("xdp_redirect:"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn uplink() {
    let testbed = Testbed::new();
    let mut node = testbed.start(&Plan { uplink: true, ..Plan::default() });
    assert_eq!(node.wait_for_line("uplink"), "uplink xdp on gb1, refused []");
    assert_eq!(node.wait_for_line("output"), "output AF_XDP on gb1, refused []");
    node.wait_for_line("ready");
    let mut peers = testbed.peers();
    peers.introduce();
    // SAPI 3 carries user data, SAPI 1 mobility management. The node answers each datagram on Gb with itself.
    for (tlli, sapi, len) in
        [(node::TLLI, 3, 300), (node::TLLI, 1, 40), (node::FOREIGN, 3, 301), (node::BLOCKED, 1, 41)]
    {
        let pdu = node::ul_unitdata(tlli, sapi, len);
        peers.send_on_gb(&pdu);
        assert_eq!(peers.receive(), pdu);
    }
    // While the node stands still, one mobile storms, one that is blocked does too, and a third one signals.
    let before = redirected_on(&testbed, "gb1");
    node.stand_still();
    for number in 0..40 {
        peers.send_on_gb(&node::ul_unitdata(node::TLLI, 3, 100 + number));
        peers.send_on_gb(&node::ul_unitdata(node::BLOCKED, 3, 100 + number));
    }
    let detach = node::ul_unitdata(node::FOREIGN, 1, 30);
    peers.send_on_gb(&detach);
    // The driver may be behind the sender.
    while redirected_on(&testbed, "gb1") < before + 41 {
        std::thread::yield_now();
    }
    node.signal("CONT");
    assert_eq!(peers.receive(), detach, "ahead of all that came before it");
    for number in 0..40 {
        assert_eq!(peers.receive(), node::ul_unitdata(node::TLLI, 3, 100 + number));
    }
    // The other interface works as before.
    peers.send_gpdu(RULES[0].0, 64);
    assert_eq!(peers.receive(), node::answer(RULES[0].0, 64));
    let report = node::stop(&mut node);
    assert_eq!((report["ring_signalling"], report["ring_best_effort"]), (3, 43));
    assert_eq!((report["classified"], report["missing"], report["drops"]), (1, 0, 0));
    // Each loss is somebody's.
    assert_eq!((report["blocked"], report["blocked_of_others"], report["driver_drops"]), (40, 0, 40));
}

fn polling() {
    let testbed = Testbed::new();
    let setting =
        |name: &str| testbed.node.run("cat", &[&format!("/sys/class/net/gn1/{name}")]).trim().to_owned();
    let before = setting("gro_flush_timeout");
    for mode in ["adaptive", "always"] {
        let mut node = testbed.start(&Plan { busy_poll: mode.into(), ..Plan::default() });
        node.wait_for_line("ready");
        let mut peers = testbed.peers();
        peers.introduce();
        node.wait_for_line("gn1: polled");
        assert_ne!(setting("gro_flush_timeout"), before);
        for round in 0..6 {
            for number in 0..50 {
                peers.send_gpdu(RULES[0].0, 50 * round + number + 50);
            }
            for number in 0..50 {
                assert_eq!(peers.receive(), node::answer(RULES[0].0, 50 * round + number + 50));
            }
        }
        let report = node::stop(&mut node);
        assert_eq!((report["classified"], report["missing"]), (300, 0));
        assert_eq!(setting("gro_flush_timeout"), before);
    }
}
