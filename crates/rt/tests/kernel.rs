//! What needs the kernel's help: TUN devices in a network namespace, signals to a process of its own, and Wireshark's
//! opinion of the recorder.
//!
//! The program starts itself again as a child, in the namespace or to be killed: the child's part is chosen by an
//! environment variable.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::{Order, Relay, Told};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_rt::log::{LogSink, TargetOptions};
use gannet_rt::{
    Access, Clock, EventLoop, Hooks, LoopConfig, MachineId, NoHooks, Tun, TunAddress, UdpConfig,
};
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir};
use gannet_trace::pcapng::{Direction, Reader, Record};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const CHILD: &str = "GANNET_TEST_CHILD";
const CAPTURE: &str = "GANNET_TEST_CAPTURE";
const LOG: &str = "GANNET_TEST_LOG";

fn main() -> ExitCode {
    match std::env::var(CHILD).as_deref() {
        Ok("ping") => return answer_pings(),
        Ok("echo") => return echo_until_stopped(),
        Ok("daemon") => return go_to_the_background(),
        Ok("burst") => return send_burst(),
        Ok("patient") => return send_patiently(),
        Ok("sink") => return take_burst(),
        _ => {}
    }
    gannet_testkit::main(&[
        ("mobiles_on_tun_devices_are_pinged", &[Need::NetAdmin, Need::Program("ping")], tun),
        ("a_blocked_socket_goes_on_when_it_can", &[Need::NetAdmin], blocked),
        ("a_machine_holds_back_what_a_blocked_socket_would_lose", &[Need::NetAdmin], held_back),
        ("sigterm_says_goodbye_and_writes_everything_out", &[], sigterm),
        ("a_killed_recorder_leaves_a_readable_file", &[], sigkill),
        ("a_daemon_leaves_its_session", &[], daemon),
        ("sighup_opens_the_log_again", &[], sighup),
        ("wireshark_reads_what_was_recorded", &[Need::Tshark], wireshark),
    ])
}

fn child(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(CHILD, part);
    command
}

fn path_from(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

fn new_loop() -> EventLoop {
    let clock = Clock::start();
    let mut log = LogSink::new(clock);
    if let Some(path) = path_from(LOG) {
        log.add_file(&path, TargetOptions::default()).unwrap();
    }
    let config = LoopConfig { frames: 64, ..LoopConfig::default() };
    let mut node = EventLoop::new(config, clock, log).unwrap();
    if let Some(path) = path_from(CAPTURE) {
        node.record_to(&path).unwrap();
    }
    node
}

// ---------------------------------------------------------------------- TUN

/// Answers ICMP echo requests: the addresses change places, the type becomes 0, the checksums follow.
#[derive(Default)]
struct Pong(Batch<Output<()>>);

impl Machine for Pong {
    type Command = ();
    type Event = ();
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while let Some(input) = inputs.pop() {
            let Input::Datagram { port, peer, mut frame } = input else { continue };
            if frame.len() < 28 || frame[0] != 0x45 || frame[9] != 1 || frame[20] != 8 {
                continue;
            }
            let (source, destination) = frame[12..20].split_at_mut(4);
            source.swap_with_slice(destination);
            frame[20] = 0;
            // One's complement: type 8 less in the high octet makes the checksum 0x0800 more.
            let sum = u32::from(u16::from_be_bytes([frame[22], frame[23]])) + 0x0800;
            let sum = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
            frame[22..24].copy_from_slice(&sum.to_be_bytes());
            self.0.push(Output::Transmit { port, peer, frame });
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
        while let Some(output) = self.0.pop() {
            outputs.push(output);
        }
    }
}

/// The child: two mobiles with a TUN device each, and a device for a whole port.
fn answer_pings() -> ExitCode {
    let mut node = new_loop();
    let pong = node.add_machine(Pong::default(), |_, (), _| {});
    for (slot, name, address) in
        [(0, "ms0", "10.9.0.1"), (5, "ms5", "10.9.5.1"), (u32::MAX, "gi%d", "10.9.9.1")]
    {
        let tun = Tun::open(name).unwrap();
        tun.set_address(TunAddress::V4(address.parse().unwrap(), 24)).unwrap();
        tun.set_address(TunAddress::V6("2001:db8::1".parse().unwrap(), 64)).unwrap();
        tun.set_mtu(1400).unwrap();
        tun.set_up(true).unwrap();
        let (port, peer) = if slot == u32::MAX { (Port(1), Peer::Link) } else { (Port(0), Peer::Slot(slot)) };
        node.attach_tun(pong, port, peer, tun, Some("Gi")).unwrap();
    }
    assert_eq!(node.access().outside(pong).tun(Port(1), Peer::Link).unwrap().name(), "gi0");
    println!("ready");
    node.run(&mut NoHooks).unwrap();
    assert_eq!(node.access().log().drops().total(), 0);
    // A device that is taken away takes its interface along, and its slot has no endpoint any more.
    node.access().outside(pong).detach(Port(0), Peer::Slot(5));
    assert!(!Path::new("/proc/sys/net/ipv4/conf/ms5").exists());
    assert!(Path::new("/proc/sys/net/ipv4/conf/ms0").exists());
    drop(node);
    assert!(!Path::new("/proc/sys/net/ipv4/conf/ms0").exists());
    println!("gone");
    ExitCode::SUCCESS
}

fn tun() {
    let directory = TempDir::new("gannet-tun");
    let capture = directory.path().join("x.pcapng");
    let namespace = Netns::new("tun");
    let exe = std::env::current_exe().unwrap();
    let mut command = namespace.command(&exe.to_string_lossy());
    command.env(CHILD, "ping").env(CAPTURE, &capture);
    let mut node = Background::start(command);
    node.wait_for_line("ready");
    for (device, to) in [("ms0", "10.9.0.77"), ("ms5", "10.9.5.77"), ("gi0", "10.9.9.77")] {
        let printed = namespace
            .run("ping", &["-n", "-c", "3", "-i", "0.01", "-W", "10", "-s", "1300", "-I", device, to]);
        assert!(printed.contains("3 received"), "{printed}");
    }
    let link = namespace.run("ip", &["address", "show", "ms5"]);
    for text in ["mtu 1400", "10.9.5.1/24", "2001:db8::1/64"] {
        assert!(link.contains(text), "{text} in {link}");
    }
    node.signal("TERM");
    node.wait_for_line("gone");
    assert!(node.wait().success());
    let pings = records(&capture).into_iter().filter(|record| record.packet[0] == 0x45);
    let (to_us, from_us): (Vec<Record>, Vec<Record>) =
        pings.partition(|record| record.direction == Some(Direction::In));
    assert_eq!((to_us.len(), from_us.len()), (9, 9));
}

// ---------------------------------------------------------------------- a socket that takes nothing more

const BURST: u8 = 40;
/// The sink's address, which it gets when the socket has been found blocked.
const NOBODY_YET: &str = "192.0.2.9:9";

/// The child: sends to a host that does not answer ARP, so that the datagrams stay in the socket's small buffer; waits
/// until all that found room in the queue have left.
fn send_burst() -> ExitCode {
    let mut node = new_loop();
    let relay = node.add_machine(Relay::new(false, false), |_, _, _| {});
    node.bind_udp(relay, Port(0), &small_buffer()).unwrap();
    let to = Peer::Udp(NOBODY_YET.parse().unwrap());
    for number in 0..BURST {
        // Of two sizes in turn, so that the kernel gets each by itself.
        let octets = vec![number; 1 + usize::from(number % 2)];
        assert!(node.access().command(relay, Order::Send(Port(0), to, octets)));
    }
    node.turn(Some(Duration::ZERO)).unwrap();
    let free = node.access().frames().free();
    println!("waiting {} dropped {}", 64 - free, node.access().log().drops().get(Drop::RtSendQueueFull));
    while node.access().frames().free() < 64 {
        node.turn(None).unwrap();
    }
    println!("sent");
    ExitCode::SUCCESS
}

/// Has so many datagrams of two sizes in turn to send, one at each call, and holds them back as it is told.
struct Patient {
    sent: u8,
    held: bool,
}

impl Machine for Patient {
    type Command = ();
    type Event = ();
    type Rule = core::convert::Infallible;
    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while inputs.pop().is_some() {}
    }
    fn poll_output(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
        if self.has_work() {
            let frame = cx.frames.copy_of(&vec![self.sent; 1 + usize::from(self.sent % 2)]).unwrap();
            outputs.push(Output::Transmit {
                port: Port(0),
                peer: NOBODY_YET.parse().map(Peer::Udp).unwrap(),
                frame,
            });
            self.sent += 1;
        }
    }
    fn has_work(&self) -> bool {
        self.sent < BURST && !self.held
    }
    fn hold_back(&mut self, on: bool) {
        self.held = on;
    }
}

/// The child: as before, but by a machine that can wait.
fn send_patiently() -> ExitCode {
    let mut node = new_loop();
    let patient = node.add_machine(Patient { sent: 0, held: false }, |_, (), _| {});
    node.bind_udp(patient, Port(0), &small_buffer()).unwrap();
    // More turns than it has datagrams: it has stopped by itself.
    for _ in 0..2 * BURST {
        node.turn(Some(Duration::ZERO)).unwrap();
    }
    println!("waiting {}", 64 - node.access().frames().free());
    while node.access().frames().free() < 64 || node.access().machine(patient).unwrap().sent < BURST {
        node.turn(None).unwrap();
    }
    println!("sent, dropped {}", node.access().log().drops().total());
    ExitCode::SUCCESS
}

fn small_buffer() -> UdpConfig {
    let bind = "192.0.2.1:0".parse().unwrap();
    UdpConfig { buffer_octets: Some(1), send_queue_max: 10, ..UdpConfig::new(bind) }
}

/// The other child: prints what comes, until the last one that was not dropped.
fn take_burst() -> ExitCode {
    let socket = UdpSocket::bind("0.0.0.0:9").unwrap();
    println!("listening");
    let mut octets = [0; 10];
    while socket.recv(&mut octets).is_ok() {
        println!("got {}", octets[0]);
    }
    ExitCode::SUCCESS
}

/// A source in the one namespace, which cannot send yet, and a sink in the other; its address comes with [`arrives`].
fn source_and_sink(part: &str) -> (Background, Background, [Netns; 2]) {
    let (left, right) = (Netns::new("left"), Netns::new("right"));
    left.join(("veth0", "192.0.2.1/24"), &right, ("veth0", "198.51.100.1/24"));
    // Ask as long as it takes: the datagrams of a question given up would be thrown away.
    let _ = left.run("sh", &["-c", "echo 10000 > /proc/sys/net/ipv4/neigh/veth0/mcast_solicit"]);
    let start = |namespace: &Netns, part| {
        let mut command = namespace.command(&std::env::current_exe().unwrap().to_string_lossy());
        command.env(CHILD, part);
        Background::start(command)
    };
    let mut sink = start(&right, "sink");
    sink.wait_for_line("listening");
    let source = start(&left, part);
    (source, sink, [left, right])
}

/// Now the host is there, and answers the next ARP request.
fn arrives(right: &Netns) {
    right.ip(&["address", "add", "192.0.2.9/24", "dev", "veth0"]);
}

fn held_back() {
    let (mut source, mut sink, [_left, right]) = source_and_sink("patient");
    assert_eq!(source.wait_for_line("waiting"), "waiting 5");
    arrives(&right);
    assert_eq!(source.wait_for_line("sent"), "sent, dropped 0");
    for number in 0..BURST {
        assert_eq!(sink.wait_for_line("got"), format!("got {number}"));
    }
}

fn blocked() {
    let (mut source, mut sink, [_left, right]) = source_and_sink("burst");
    let line = source.wait_for_line("waiting");
    let numbers: Vec<u8> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [waiting, dropped] = numbers.as_slice() else { panic!("{line}") };
    assert_eq!(*waiting, 10);
    assert!(*dropped > 0, "{line}");
    arrives(&right);
    source.wait_for_line("sent");
    for number in 0..BURST - dropped {
        assert_eq!(sink.wait_for_line("got"), format!("got {number}"));
    }
}

// ---------------------------------------------------------------------- signals

/// Says goodbye to a peer: the machine sends one more datagram.
struct Goodbye {
    relay: MachineId<Relay>,
    to: Peer,
}

impl Hooks for Goodbye {
    fn shutdown(&mut self, access: &mut Access<'_>) {
        assert!(access.command(self.relay, Order::Send(Port(0), self.to, b"goodbye".to_vec())));
        assert!(access.command(self.relay, Order::Wake(vec![Duration::from_millis(5)])));
    }
    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        access.machine(self.relay).unwrap().seen == u64::MAX
    }
    fn hangup(&mut self, _: &mut Access<'_>) {
        println!("hangup");
    }
}

/// The child: echoes, and at SIGTERM says goodbye to the peer that it was told.
fn echo_until_stopped() -> ExitCode {
    let mut node = new_loop();
    let relay = node.add_machine(Relay::new(true, false), |relay, event, _| {
        // The last thing that the machine wanted to wait for.
        if matches!(event, Told::Woken(..)) {
            relay.seen = u64::MAX;
        }
    });
    let config = UdpConfig::new("127.0.0.1:0".parse().unwrap()).record_as("Gb");
    let at = node.bind_udp(relay, Port(0), &config).unwrap();
    println!("at {at}");
    let to = Peer::Udp(std::env::args().nth(1).unwrap().parse().unwrap());
    node.run(&mut Goodbye { relay, to }).unwrap();
    println!("ended");
    ExitCode::SUCCESS
}

struct Echo {
    process: Background,
    socket: UdpSocket,
    _directory: TempDir,
    capture: PathBuf,
    log: PathBuf,
}

/// The child as a process, with a socket of ours that it knows and talks to.
fn echo_process() -> Echo {
    let directory = TempDir::new("gannet-echo");
    let (capture, log) = (directory.path().join("x.pcapng"), directory.path().join("x.log"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut command = child("echo");
    command.arg(socket.local_addr().unwrap().to_string()).env(CAPTURE, &capture).env(LOG, &log);
    let mut process = Background::start(command);
    let line = process.wait_for_line("at ");
    socket.connect(line.trim_start_matches("at ")).unwrap();
    Echo { process, socket, _directory: directory, capture, log }
}

impl Echo {
    /// Sends datagrams and waits for each answer.
    fn exchange(&self, count: usize, octets: &[u8]) {
        let mut answer = [0; 2000];
        for _ in 0..count {
            self.socket.send(octets).unwrap();
            let len = self.socket.recv(&mut answer).unwrap();
            assert_eq!(&answer[..len], octets);
        }
    }
}

fn records(capture: &Path) -> Vec<Record> {
    Reader::open(capture).unwrap().map(Result::unwrap).collect()
}

fn sigterm() {
    let mut echo = echo_process();
    echo.exchange(10, b"hello");
    echo.process.signal("TERM");
    let mut last = [0; 100];
    let len = echo.socket.recv(&mut last).unwrap();
    assert_eq!(&last[..len], b"goodbye");
    echo.process.wait_for_line("ended");
    assert!(echo.process.wait().success());
    let records = records(&echo.capture);
    assert_eq!(records.len(), 21);
    assert_eq!(records[20].udp().unwrap().payload, b"goodbye");
    assert_eq!(records[20].udp().unwrap().destination, echo.socket.local_addr().unwrap());
    assert!(std::fs::read_to_string(&echo.log).unwrap().contains("main NOTICE stopping"));
}

fn sigkill() {
    let mut echo = echo_process();
    let octets = [7; 1500];
    while std::fs::metadata(&echo.capture).unwrap().len() < 100_000 {
        echo.exchange(10, &octets);
    }
    echo.process.signal("KILL");
    assert!(!echo.process.wait().success());
    let records = records(&echo.capture);
    assert!(!records.is_empty());
    assert!(records.iter().all(|record| record.udp().unwrap().payload == octets));
}

fn sighup() {
    let mut echo = echo_process();
    let moved = echo.log.with_extension("1");
    std::fs::rename(&echo.log, &moved).unwrap();
    echo.process.signal("HUP");
    echo.process.wait_for_line("hangup");
    echo.process.signal("INT");
    echo.process.wait_for_line("ended");
    assert!(echo.process.wait().success());
    assert!(!std::fs::read_to_string(&moved).unwrap().contains("stopping"));
    assert!(std::fs::read_to_string(&echo.log).unwrap().contains("stopping"));
}

/// The child: tells its session from the background, and is refused with a second thread.
fn go_to_the_background() -> ExitCode {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    gannet_rt::daemonize().unwrap();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    let refused = gannet_rt::daemonize().is_err();
    drop(end);
    let _ = thread.join();
    let told = format!("{} {refused}", session("self"));
    socket.send_to(told.as_bytes(), std::env::args().nth(1).unwrap()).unwrap();
    ExitCode::SUCCESS
}

/// The number of a process's session: the sixth field of its status line, the second being in brackets.
fn session(process: &str) -> String {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    line.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
}

fn daemon() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let status = child("daemon").arg(socket.local_addr().unwrap().to_string()).status().unwrap();
    assert!(status.success());
    let mut octets = [0; 100];
    let len = socket.recv(&mut octets).unwrap();
    let told = std::str::from_utf8(&octets[..len]).unwrap();
    let (its_session, refused) = told.split_once(' ').unwrap();
    assert_ne!(its_session, session("self"));
    assert_eq!(refused, "true");
}

// ---------------------------------------------------------------------- recorder

fn wireshark() {
    let mut echo = echo_process();
    // NS-ALIVE.
    echo.exchange(3, &[0x0a]);
    echo.process.signal("TERM");
    assert!(echo.process.wait().success());
    let port = echo.socket.peer_addr().unwrap().port();
    let decode = format!("udp.port=={port},gprs-ns");
    let options = ["-d", &decode, "-o", "udp.check_checksum:TRUE"];
    let fields = ["frame.protocols", "udp.srcport", "udp.checksum.status", "_ws.malformed"];
    let rows = dissect_file(&echo.capture.to_string_lossy(), &options, &fields);
    assert_eq!(rows.len(), 7);
    let our_port = echo.socket.local_addr().unwrap().port();
    for (index, row) in rows.iter().take(6).enumerate() {
        let source = if index % 2 == 0 { our_port } else { port };
        assert_eq!(row[..4], ["raw:ip:udp:gprs-ns", &source.to_string(), "1", ""]);
    }
}
