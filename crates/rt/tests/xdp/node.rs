//! The node under test, and its peers as a process in their own namespace.

use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_rt::alloc_count::allocations;
use gannet_rt::log::{LogSink, TargetOptions};
use gannet_rt::{
    Access, Backend, BusyPoll, Clock, EventLoop, Hooks, IngressConfig, LoopConfig, MachineId, OutputConfig,
    OutputWay, Traffic, UdpConfig,
};
use gannet_testkit::netns::Background;
use gannet_wire::id::{Bvci, Nsei, Teid, Tlli};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

pub const CHILD: &str = "GANNET_TEST_CHILD";

/// TEIDs with class and precedence.
pub const RULES: [(u32, Class, Precedence); 3] = [
    (0x0100_0001, Class::BestEffort, Precedence::Normal),
    (0x0700_0002, Class::RealTime, Precedence::Normal),
    (0x0200_0003, Class::BestEffort, Precedence::High),
];

const GTP_U: Port = Port(0);
const GB: Port = Port(1);
const FRAMES: usize = 4096;

/// How a node is to be started.
pub struct Plan {
    pub gn: String,
    pub gb: String,
    pub busy_poll: String,
    pub backend: String,
    pub pcap: Option<PathBuf>,
    /// NS is classified too.
    pub uplink: bool,
}

/// The local TLLI of a mobile, of one that is blocked, and the foreign one of a third.
pub const TLLI: u32 = 0xc000_0005;
pub const BLOCKED: u32 = 0xc000_0006;
pub const FOREIGN: u32 = 0x8000_0007;
/// From where its NSE sends.
const NSE: (Nsei, &str) = (Nsei(9), "198.51.100.1:23000");
/// The names of their rules.
const MOBILES: [(Key, u32); 3] = [
    (Key::LocalTlli(Tlli(TLLI)), 5),
    (Key::LocalTlli(Tlli(BLOCKED)), 6),
    (Key::CellTlli { nsei: NSE.0, bvci: Bvci(7), tlli: Tlli(FOREIGN) }, 7),
];

impl Default for Plan {
    fn default() -> Self {
        Self {
            gn: "192.0.2.2".into(),
            gb: "198.51.100.2".into(),
            busy_poll: "off".into(),
            backend: "auto".into(),
            pcap: None,
            uplink: false,
        }
    }
}

impl Plan {
    pub fn to_environment(&self, command: &mut Command) {
        command.env("GANNET_TEST_GN", &self.gn).env("GANNET_TEST_GB", &self.gb);
        command.env("GANNET_TEST_POLL", &self.busy_poll).env("GANNET_TEST_BACKEND", &self.backend);
        command.env("GANNET_TEST_UPLINK", if self.uplink { "yes" } else { "no" });
        if let Some(pcap) = &self.pcap {
            command.env("GANNET_TEST_PCAP", pcap);
        }
    }
}

/// Octets of a G-PDU with a T-PDU of `len` octets.
pub fn gpdu(teid: u32, len: usize) -> Vec<u8> {
    let mut octets = vec![0x30, 255];
    octets.extend(u16::try_from(len).unwrap().to_be_bytes());
    octets.extend(teid.to_be_bytes());
    octets.extend(tpdu(len));
    octets
}

/// An UL-UNITDATA of a mobile with a UI frame of this SAPI.
pub fn ul_unitdata(tlli: u32, sapi: u8, len: usize) -> Vec<u8> {
    let mut octets = vec![0, 0, 0, 7, 1];
    octets.extend(tlli.to_be_bytes());
    octets.extend([0, 0, 0x20, 0x08, 0x88, 0, 0xf1, 0x10, 0, 1, 1, 0, 1]);
    octets.push(0x0e);
    octets.extend((u16::try_from(len + 2).unwrap()).to_be_bytes());
    octets.extend([sapi, 0xc0]);
    octets.extend(tpdu(len));
    octets
}

fn tpdu(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + len) as u8).collect()
}

/// What comes out on Gb for it: the name and the T-PDU.
pub fn answer(teid: u32, len: usize) -> Vec<u8> {
    [&teid.to_be_bytes()[..], &tpdu(len)].concat()
}

/// Sends every classified T-PDU to the last peer that said something on Gb, with its name in front.
#[derive(Default)]
pub struct Forward {
    out: Batch<Output<(), gannet_proto::classifier::RuleChange>>,
    gb_peer: Option<Peer>,
    plain: u64,
    classified: u64,
    /// Allocations up to the 100th packet, and up to the last.
    allocations: (u64, u64),
}

impl Forward {
    fn forward(&mut self, name: u32, mut frame: Frame) {
        if let (Some(peer), true) = (self.gb_peer, frame.prepend(&name.to_be_bytes())) {
            self.out.push(Output::Transmit { port: GB, peer, frame });
        }
    }
}

impl Machine for Forward {
    type Command = ();
    type Event = ();
    type Rule = gannet_proto::classifier::RuleChange;

    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Stream { .. } => {}
                Input::Classified { name, frame, .. } => {
                    self.classified += 1;
                    self.allocations.1 = allocations();
                    if self.classified == 100 {
                        self.allocations.0 = self.allocations.1;
                    }
                    self.forward(name, frame);
                }
                Input::Datagram { port: GB, peer, frame } => {
                    // Answered, so that both sides know each other's Ethernet address.
                    self.gb_peer = Some(peer);
                    self.out.push(Output::Transmit { port: GB, peer, frame });
                }
                Input::Datagram { port, peer, frame } => {
                    self.plain += 1;
                    if let Some(teid) = frame.get(4..8).and_then(<[u8]>::first_chunk) {
                        // From a back end that gives whole datagrams: the same answer.
                        let name = u32::from_be_bytes(*teid);
                        let mut frame = frame;
                        if frame.len() > 12 && frame.pull(8) {
                            self.forward(name, frame);
                        }
                    } else if frame.first() == Some(&b'x') {
                        self.out.push(Output::Transmit { port, peer, frame });
                    }
                }
                Input::Command(()) => {
                    for (teid, class, precedence) in RULES {
                        let rule = Rule {
                            key: Key::Teid(Teid(teid)),
                            name: teid,
                            class,
                            precedence,
                            policer: None,
                            source: None,
                        };
                        self.out.push(Output::Classify(RuleChange::Install(rule)));
                    }
                    for (key, name) in MOBILES {
                        let (class, precedence) = (Class::BestEffort, Precedence::Normal);
                        let rule = Rule { key, name, class, precedence, policer: None, source: None };
                        self.out.push(Output::Classify(RuleChange::Install(rule)));
                    }
                    let change = RuleChange::Block(Key::LocalTlli(Tlli(BLOCKED)), Block::QueueFull);
                    self.out.push(Output::Classify(change));
                    let (nsei, address) = (Some(NSE.0), NSE.1.parse().unwrap());
                    self.out.push(Output::Classify(RuleChange::Peer { address, nsei }));
                }
                Input::Timeout(_) => {}
            }
        }
    }

    fn poll_output(
        &mut self,
        _: &mut Context<'_>,
        outputs: &mut Batch<Output<(), gannet_proto::classifier::RuleChange>>,
    ) {
        while let Some(output) = self.out.pop() {
            outputs.push(output);
        }
    }
}

struct Report(MachineId<Forward>, usize);

impl Hooks for Report {
    fn shutdown(&mut self, access: &mut Access<'_>) {
        let forward = access.machine(self.0).unwrap();
        let mut lines = vec![("plain", forward.plain), ("classified", forward.classified)];
        assert!(allocations() > 0, "the allocator counts");
        lines.push(("allocations", forward.allocations.1 - forward.allocations.0));
        let path = access.kernel_path();
        let sum = |of: fn(&gannet_rt::SocketReport) -> u64| path.sockets.iter().map(of).sum();
        lines.push(("by_frame", sum(|socket| socket.by_frame)));
        lines.push(("by_kernel", sum(|socket| socket.by_kernel)));
        let redirected = |class| path.classifiers.iter().map(|of| of.totals.redirected(class)).sum();
        lines.push(("ring_signalling", redirected(Class::Signalling)));
        lines.push(("ring_best_effort", redirected(Class::BestEffort)));
        let dropped = |name: u32| access.flow_counters(name).map_or(0, |of| u64::from(of.queue_full));
        lines.push(("blocked", dropped(MOBILES[1].1)));
        lines.push(("blocked_of_others", dropped(MOBILES[0].1) + dropped(MOBILES[2].1)));
        let at_driver: u64 = path.drops().iter().map(|(_, count)| count).sum();
        lines.push(("driver_drops", at_driver));
        let held: usize = path.devices.iter().map(|device| device.frames_held).sum();
        let frames = access.frames();
        lines.push(("missing", (frames.capacity() - frames.free() - held - self.1) as u64));
        lines.push(("drops", access.log().drops().total()));
        for (name, value) in lines {
            println!("report {name} {value}");
        }
        println!("report end 0");
    }
}

/// The ingress of Gb, where it is classified.
fn of_gb(udp: UdpConfig) -> IngressConfig {
    IngressConfig {
        traffic: Traffic::Gb,
        contexts: 64,
        signalling_ring: 64,
        real_time_ring: 64,
        high_ring: 64,
        best_effort_ring: 256,
        empty: 256,
        ..IngressConfig::new(udp)
    }
}

pub fn node_under_test() -> ExitCode {
    let of = |name: &str| std::env::var(name).unwrap();
    let clock = Clock::start();
    let mut log = LogSink::new(clock);
    let mut options = TargetOptions::default();
    options.set_all_levels(gannet_machine::trace::Level::Info);
    // The test waits for lines of standard output.
    log.add_writer(Box::new(std::io::stdout()), options);
    let udp = UdpConfig::new(SocketAddr::new(of("GANNET_TEST_GN").parse().unwrap(), 2152)).record_as("Gn");
    let ingress = IngressConfig {
        contexts: 64,
        real_time_ring: 256,
        high_ring: 128,
        best_effort_ring: 512,
        empty: 512,
        backend: match of("GANNET_TEST_BACKEND").as_str() {
            "reuseport" => Backend::Reuseport,
            _ => Backend::Auto,
        },
        ..IngressConfig::new(udp)
    };
    let output = OutputConfig { way: OutputWay::Auto, ring: 256 };
    let busy_poll = match of("GANNET_TEST_POLL").as_str() {
        "always" => BusyPoll::Always,
        "adaptive" => BusyPoll::Adaptive,
        _ => BusyPoll::Off,
    };
    let uplink = of("GANNET_TEST_UPLINK") == "yes";
    let any = UdpConfig::new("127.0.0.1:0".parse().unwrap());
    let of_uplink = if uplink { of_gb(any).ring_frames() } else { 0 };
    let config = LoopConfig {
        frames: FRAMES,
        lock_memory: false,
        busy_poll,
        ring_frames: ingress.ring_frames() + output.ring_frames() + of_uplink,
        ..LoopConfig::default()
    };
    let mut node = EventLoop::new(config, clock, log).unwrap();
    if let Ok(pcap) = std::env::var("GANNET_TEST_PCAP") {
        node.record_to(std::path::Path::new(&pcap)).unwrap();
    }
    let frames = node.access().frames().clone();
    let spare = frames.capacity() - frames.free();
    let machine =
        node.add_machine(Forward { out: Batch::with_capacity(1024), ..Forward::default() }, |_, (), _| {});
    let said = node.attach_ingress(machine, GTP_U, &ingress).unwrap();
    println!("ingress {} on {}, refused {:?}", said.backend, said.device.unwrap_or_default(), said.refused);
    let gb = UdpConfig::new(SocketAddr::new(of("GANNET_TEST_GB").parse().unwrap(), 23000)).record_as("Gb");
    if uplink {
        let said = node.attach_ingress(machine, GB, &of_gb(gb)).unwrap();
        println!(
            "uplink {} on {}, refused {:?}",
            said.backend,
            said.device.unwrap_or_default(),
            said.refused
        );
    } else {
        node.bind_udp(machine, GB, &gb).unwrap();
    }
    let said = node.attach_output(machine, GB, &output).unwrap();
    println!("output {} on {}, refused {:?}", said.way, said.device.unwrap_or_default(), said.refused);
    node.access().command(machine, ());
    // The rules are in force before anybody is told to send.
    node.turn(Some(Duration::ZERO)).unwrap();
    println!("ready");
    node.run(&mut Report(machine, spare)).unwrap();
    ExitCode::SUCCESS
}

/// Ends a node and returns what it counted.
pub fn stop(node: &mut Background) -> BTreeMap<String, u64> {
    node.signal("TERM");
    let mut report = BTreeMap::new();
    loop {
        let line = node.wait_for_line("report");
        let mut words = line.split(' ').skip(1);
        let (name, value) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
        if name == "end" {
            break;
        }
        report.insert(name.to_owned(), value);
    }
    assert!(node.wait().success());
    report
}

// ---------------------------------------------------------------------- the peers

/// The process with both peers: it does what it reads, a line each, and answers with a line.
pub struct Peers {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    pub fn new(command: Command) -> Self {
        Self::with_addresses(command, "192.0.2.2", "198.51.100.2")
    }

    pub fn with_addresses(mut command: Command, gn: &str, gb: &str) -> Self {
        command.env("GANNET_TEST_GN", gn).env("GANNET_TEST_GB", gb);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, orders, answers }
    }

    fn order(&mut self, line: &str) -> String {
        writeln!(self.orders, "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty(), "the peers have ended");
        answer.trim_end().to_owned()
    }

    /// Says something on both interfaces until it is answered.
    pub fn introduce(&mut self) {
        self.order("introduce");
    }

    pub fn announce(&mut self) {
        self.order("announce");
    }

    pub fn send_gpdu(&mut self, teid: u32, len: usize) {
        self.send_raw(&gpdu(teid, len));
    }

    pub fn send_raw(&mut self, octets: &[u8]) {
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        self.order(&format!("send {hex}"));
    }

    /// Sends a datagram on Gb.
    pub fn send_on_gb(&mut self, octets: &[u8]) {
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        self.order(&format!("uplink {hex}"));
    }

    /// The next datagram on Gb; waits as long as it takes.
    pub fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some(got) = self.receive_within(std::time::Duration::from_secs(5)) {
                return got;
            }
            eprintln!("still waiting for a datagram on Gb");
        }
    }

    pub fn receive_within(&mut self, span: std::time::Duration) -> Option<Vec<u8>> {
        let answer = self.order(&format!("receive {}", span.as_millis()));
        let hex = answer.strip_prefix("got ")?;
        Some(octets_of(hex))
    }

    /// Throws away what came on Gb up to now.
    pub fn empty(&mut self) {
        self.order("empty");
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn octets_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
}

/// Asks until the answer comes.
fn ask(socket: &UdpSocket, to: SocketAddr) {
    let mut octets = [0; 2048];
    socket.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    loop {
        let _ = socket.send_to(b"x", to);
        while let Ok((len, _)) = socket.recv_from(&mut octets) {
            if octets[..len] == *b"x" {
                return;
            }
        }
    }
}

pub fn ends() -> ExitCode {
    let address = |name: &str, port| SocketAddr::new(std::env::var(name).unwrap().parse().unwrap(), port);
    let (gtp_u, gb_at) = (address("GANNET_TEST_GN", 2152), address("GANNET_TEST_GB", 23000));
    let gn = UdpSocket::bind("0.0.0.0:0").unwrap();
    let gb = UdpSocket::bind("0.0.0.0:23000").unwrap();
    let mut octets = [0; 2048];
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let mut answer = "done".to_owned();
        match verb {
            "introduce" => {
                ask(&gn, gtp_u);
                ask(&gb, gb_at);
            }
            "announce" => {
                // A packet from the new card: the node's kernel hears of it when it asks for the old one in vain, or here.
                let _ = std::process::Command::new("ip").args(["neigh", "flush", "dev", "gb0"]).output();
                let _ = gb.send_to(b"!", gb_at);
            }
            "send" => {
                gn.send_to(&octets_of(rest), gtp_u).unwrap();
            }
            "uplink" => {
                gb.send_to(&octets_of(rest), gb_at).unwrap();
            }
            "receive" => {
                let span = std::time::Duration::from_millis(rest.parse().unwrap());
                gb.set_read_timeout(Some(span)).unwrap();
                // Single octets are answers to what was no user data.
                let got = core::iter::from_fn(|| gb.recv(&mut octets).ok()).find(|len| *len > 1);
                answer = got.map_or_else(
                    || "nothing".to_owned(),
                    |len| {
                        octets[..len].iter().fold("got ".to_owned(), |hex, octet| format!("{hex}{octet:02x}"))
                    },
                );
            }
            _ => {
                gb.set_nonblocking(true).unwrap();
                while gb.recv(&mut octets).is_ok() {}
                gb.set_nonblocking(false).unwrap();
            }
        }
        println!("{answer}");
    }
    ExitCode::SUCCESS
}
