//! The loop with sockets of the loopback device, linked machines, wake-ups, services and drops.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::{Order, Relay, Told, polling_loop, quiet_loop};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Batch, Context, EthernetAddress, Input, Machine, Output, Peer, Port};
use gannet_rt::log::LogSink;
use gannet_rt::{
    Access, BusyPoll, Clock, EventLoop, Hooks, LoopConfig, MachineId, NoHooks, Service, Tun, UdpConfig,
};
use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::rc::Rc;

type Heard = Rc<RefCell<Vec<Told>>>;

/// A machine whose events are kept.
fn add(node: &mut EventLoop, relay: Relay) -> (MachineId<Relay>, Heard) {
    let heard = Heard::default();
    let keep = Rc::clone(&heard);
    (node.add_machine(relay, move |_, event, _| keep.borrow_mut().push(event)), heard)
}

fn local() -> UdpConfig {
    UdpConfig::new("127.0.0.1:0".parse().unwrap())
}

/// Turns the loop until the condition holds. It sleeps in between; there is no limit but that of the test runner.
fn until(node: &mut EventLoop, mut condition: impl FnMut(&mut EventLoop) -> bool) {
    while !condition(node) {
        node.turn(Some(Duration::from_millis(20))).unwrap();
    }
}

fn drops(node: &mut EventLoop, drop: Drop) -> u64 {
    node.access().log().drops().get(drop)
}

#[test]
fn echo_over_udp_keeps_order_and_gives_all_frames_back() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let mut node = quiet_loop(64);
        let (echo, _) = add(&mut node, Relay::new(true, false));
        let Ok(at) = node.bind_udp(echo, Port(0), &UdpConfig::new(bind.parse().unwrap())) else {
            assert_eq!(bind, "[::1]:0", "only IPv6 may be missing");
            continue;
        };
        let client = UdpSocket::bind(bind).unwrap();
        client.connect(at).unwrap();
        for number in 0..50_u8 {
            client.send(&[number; 100]).unwrap();
        }
        until(&mut node, |node| node.access().machine(echo).unwrap().seen == 50);
        for number in 0..50_u8 {
            let mut octets = [0; 200];
            assert_eq!(client.recv(&mut octets).unwrap(), 100);
            assert_eq!(octets[0], number);
        }
        assert_eq!(node.access().frames().free(), 64);
        assert_eq!(node.access().log().drops().total(), 0);
    }
}

/// Each datagram comes while the loop waits for it, asleep or awake, and so do a wake-up and the end.
#[test]
fn a_loop_that_polls_does_what_one_that_sleeps_does() {
    for busy_poll in [BusyPoll::Off, BusyPoll::Adaptive, BusyPoll::Always] {
        let mut node = polling_loop(64, busy_poll);
        let (echo, heard) = add(&mut node, Relay::new(true, false));
        let at = node.bind_udp(echo, Port(0), &local()).unwrap();
        let client = std::thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(at).unwrap();
            for number in 0..100_u8 {
                socket.send(&[number]).unwrap();
                let mut octet = [0];
                assert_eq!((socket.recv(&mut octet).unwrap(), octet), (1, [number]));
            }
        });
        until(&mut node, |node| node.access().machine(echo).unwrap().seen == 100);
        client.join().unwrap();
        let spans = [Duration::from_micros(300), Duration::from_millis(3)];
        assert!(node.access().command(echo, Order::Wake(spans.to_vec())));
        until(&mut node, |_| heard.borrow().len() == 2);
        for told in heard.borrow().iter() {
            let Told::Woken(_, due, came) = told else { panic!("{told:?}") };
            assert!(came >= due, "{busy_poll}");
        }
        // Nobody sends, and nothing is due: a turn ends all the same.
        node.turn(Some(Duration::from_millis(2))).unwrap();
        assert_eq!(node.access().frames().free(), 64);
    }
}

#[test]
fn an_endpoint_with_much_to_read_does_not_starve_another() {
    let mut node = quiet_loop(4096);
    let (machine, heard) = add(&mut node, Relay::new(false, true));
    let busy = node.bind_udp(machine, Port(0), &local()).unwrap();
    let calm = node.bind_udp(machine, Port(1), &local()).unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..200 {
        client.send_to(b"busy", busy).unwrap();
    }
    client.send_to(b"calm", calm).unwrap();
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 201);
    let place = heard.borrow().iter().position(|told| matches!(told, Told::Got(Port(1), ..))).unwrap();
    assert!(place <= 128, "after two batches at the most, not {place}");
}

#[test]
fn linked_machines_hear_each_other_in_order_and_from_the_peer_that_was_named() {
    let mut node = quiet_loop(64);
    let (cells, cells_heard) = add(&mut node, Relay::new(true, true));
    let (mobiles, mobiles_heard) = add(&mut node, Relay::new(false, true));
    node.link((cells, Port(3)), (mobiles, Port(7)));
    for slot in 0..20_u8 {
        let order = Order::Send(Port(7), Peer::Slot(u32::from(slot)), vec![slot]);
        assert!(node.access().command(mobiles, order));
    }
    until(&mut node, |node| node.access().machine(mobiles).unwrap().seen == 20);
    for (heard, port) in [(cells_heard, Port(3)), (mobiles_heard, Port(7))] {
        let expected: Vec<Told> =
            (0..20_u8).map(|slot| Told::Got(port, Peer::Slot(u32::from(slot)), vec![slot])).collect();
        assert_eq!(*heard.borrow(), expected);
    }
    assert_eq!(node.access().frames().free(), 64);
}

/// Two machines with sockets of their own: what one sends to the other's address arrives there, in order, from the address of the
/// sender's socket. What is for somebody outside of the loop, or for a socket that has gone, goes through the kernel.
#[test]
fn machines_of_one_loop_hear_each_other_by_their_addresses() {
    let mut node = quiet_loop(64);
    let (one, _) = add(&mut node, Relay::new(false, true));
    let (two, heard) = add(&mut node, Relay::new(true, true));
    let from = node.bind_udp(one, Port(0), &local()).unwrap();
    let to = node.bind_udp(two, Port(5), &local()).unwrap();
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    let stranger = outside.local_addr().unwrap();
    for number in 0..30 {
        let order = Order::Send(Port(0), Peer::Udp(to), vec![number]);
        assert!(node.access().command(one, order));
    }
    assert!(node.access().command(one, Order::Send(Port(0), Peer::Udp(stranger), b"out".to_vec())));
    until(&mut node, |node| node.access().machine(one).unwrap().seen == 30);
    let expected: Vec<Told> =
        (0..30).map(|number| Told::Got(Port(5), Peer::Udp(from), vec![number])).collect();
    assert_eq!(*heard.borrow(), expected);
    let mut octets = [0; 9];
    assert_eq!(outside.recv(&mut octets).unwrap(), 3);
    assert_eq!(node.access().frames().free(), 64);
    // The second machine's socket goes; its address is one of nobody then.
    let other = node.bind_udp(two, Port(5), &local()).unwrap();
    assert_ne!(other, to);
    assert!(node.access().command(one, Order::Send(Port(0), Peer::Udp(to), b"nobody".to_vec())));
    assert!(node.access().command(one, Order::Send(Port(0), Peer::Udp(other), b"x".to_vec())));
    until(&mut node, |node| node.access().machine(one).unwrap().seen == 31);
    assert_eq!(heard.borrow().len(), 31);
}

#[test]
fn machines_that_answer_for_ever_leave_their_turn_to_the_rest() {
    let mut node = quiet_loop(64);
    let (a, _) = add(&mut node, Relay::new(true, false));
    let (b, _) = add(&mut node, Relay::new(true, false));
    let (other, _) = add(&mut node, Relay::new(true, false));
    node.link((a, Port(0)), (b, Port(0)));
    let at = node.bind_udp(other, Port(0), &local()).unwrap();
    assert!(node.access().command(a, Order::Send(Port(0), Peer::Link, vec![1])));
    node.turn(Some(Duration::ZERO)).unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"x", at).unwrap();
    until(&mut node, |node| node.access().machine(other).unwrap().seen == 1);
    assert!(node.access().machine(b).unwrap().seen > 1);
}

#[test]
fn wake_ups_come_in_order_and_never_early() {
    let mut node = quiet_loop(8);
    let (machine, heard) = add(&mut node, Relay::new(false, false));
    // Half a millisecond between them: less than epoll_wait can tell.
    let spans = [4, 1, 3, 2, 0].map(|half| Duration::from_micros(500 * half)).to_vec();
    assert!(node.access().command(machine, Order::Wake(spans)));
    while heard.borrow().len() < 5 {
        node.turn(None).unwrap();
    }
    let slots: Vec<u32> = heard
        .borrow()
        .iter()
        .map(|told| match told {
            Told::Woken(key, due, came) => {
                assert!(came >= due);
                key.slot
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(slots, [4, 1, 3, 2, 0]);
}

#[test]
fn what_has_nowhere_to_go_is_a_named_drop() {
    let mut node = quiet_loop(8);
    let (machine, _) = add(&mut node, Relay::new(false, false));
    node.bind_udp(machine, Port(1), &local()).unwrap();
    for (port, peer) in [(Port(0), Peer::Link), (Port(9), Peer::Slot(3)), (Port(1), Peer::Link)] {
        assert!(node.access().command(machine, Order::Send(port, peer, vec![0])));
    }
    node.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(drops(&mut node, Drop::RtNoEndpoint), 3);
    assert_eq!(node.access().frames().free(), 8);
}

/// Linked machines name each other as they like; sockets and devices have no address of a link layer.
#[test]
fn an_ethernet_address_is_passed_between_machines_and_refused_elsewhere() {
    let mut node = quiet_loop(8);
    let (cells, heard) = add(&mut node, Relay::new(false, true));
    let (mobiles, _) = add(&mut node, Relay::new(false, false));
    node.link((cells, Port(3)), (mobiles, Port(0)));
    node.bind_udp(mobiles, Port(1), &local()).unwrap();
    let station = Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 7]));
    let (device, end) = UnixDatagram::pair().unwrap();
    let tun = || Tun::from_fd(device.try_clone().unwrap().into(), "mobile").unwrap();
    let error = node.attach_tun(mobiles, Port(3), station, tun(), None).unwrap_err();
    assert_eq!(error.to_string(), "a TUN device cannot stand at the Ethernet address 02:00:00:00:00:07");
    node.attach_tun(mobiles, Port(4), Peer::Link, tun(), None).unwrap();
    for port in [Port(0), Port(1), Port(2), Port(4)] {
        assert!(node.access().command(mobiles, Order::Send(port, station, vec![7])));
    }
    until(&mut node, |node| node.access().machine(cells).unwrap().seen == 1);
    assert_eq!(*heard.borrow(), [Told::Got(Port(3), station, vec![7])]);
    assert_eq!((drops(&mut node, Drop::RtNoEndpoint), node.access().frames().free()), (3, 8));
    end.set_nonblocking(true).unwrap();
    assert!(end.recv(&mut [0; 8]).is_err(), "a device gets IP packets alone");
}

#[test]
fn what_the_system_refuses_is_a_named_drop_and_the_next_goes() {
    let mut node = quiet_loop(8);
    let (machine, _) = add(&mut node, Relay::new(false, false));
    node.bind_udp(machine, Port(0), &local()).unwrap();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    // A broadcast that the socket was not opened for.
    let broadcast = Peer::Udp("255.255.255.255:9".parse().unwrap());
    for peer in [broadcast, Peer::Udp(server.local_addr().unwrap())] {
        assert!(node.access().command(machine, Order::Send(Port(0), peer, vec![7])));
    }
    node.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(drops(&mut node, Drop::RtSendFailed), 1);
    assert_eq!(server.recv(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn a_refused_connection_is_tried_again() {
    let mut node = quiet_loop(8);
    let (machine, _) = add(&mut node, Relay::new(false, false));
    // A port that nobody has, at an address that no other test uses: its ICMP message becomes an error of the next call.
    let gone: SocketAddr = UdpSocket::bind("127.0.0.9:0").unwrap().local_addr().unwrap();
    let config = UdpConfig { connect: Some(gone), ..local() };
    node.bind_udp(machine, Port(0), &config).unwrap();
    for _ in 0..5 {
        assert!(node.access().command(machine, Order::Send(Port(0), Peer::Udp(gone), vec![7])));
        node.turn(Some(Duration::ZERO)).unwrap();
    }
    let server = UdpSocket::bind(gone).unwrap();
    assert!(node.access().command(machine, Order::Send(Port(0), Peer::Udp(gone), vec![8])));
    node.turn(Some(Duration::ZERO)).unwrap();
    let mut octets = [0; 8];
    assert_eq!(server.recv(&mut octets).unwrap(), 1);
    assert_eq!((octets[0], drops(&mut node, Drop::RtSendFailed)), (8, 0));
}

#[test]
fn datagrams_longer_than_a_frame_or_without_one_are_named_drops() {
    let mut node = quiet_loop(4);
    let (machine, _) = add(&mut node, Relay::new(false, false));
    let at = node.bind_udp(machine, Port(0), &local()).unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(&[0; 4000], at).unwrap();
    until(&mut node, |node| drops(node, Drop::RtReceiveTooLong) == 1);
    // The machine keeps every frame, 4 of its own and the 64 into which the loop receives.
    node.access().machine(machine).unwrap().hold = Some(Vec::new());
    for sent in 1..=72 {
        client.send_to(&[1; 10], at).unwrap();
        until(&mut node, |node| {
            node.access().machine(machine).unwrap().seen + drops(node, Drop::NoFrame) == sent
        });
    }
    assert_eq!(drops(&mut node, Drop::NoFrame), 4);
    node.access().machine(machine).unwrap().hold = None;
    client.send_to(&[1; 10], at).unwrap();
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 69);
    assert_eq!(node.access().frames().free(), 4);
}

#[test]
fn devices_given_by_descriptor_serve_their_slots() {
    let mut node = quiet_loop(8);
    let (machine, heard) = add(&mut node, Relay::new(true, true));
    // A pair of datagram sockets does what a TUN device does: whole packets, read and written.
    let mut ends = Vec::new();
    for slot in [2, 0] {
        let (device, end) = UnixDatagram::pair().unwrap();
        let tun = Tun::from_fd(device.into(), "mobile").unwrap();
        node.attach_tun(machine, Port(4), Peer::Slot(slot), tun, None).unwrap();
        end.send(&[u8::try_from(slot).unwrap(); 10]).unwrap();
        ends.push(end);
    }
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 2);
    let mut octets = [0; 100];
    for (end, slot) in ends.iter().zip([2, 0]) {
        assert_eq!((end.recv(&mut octets).unwrap(), octets[0]), (10, slot));
        assert!(heard.borrow().contains(&Told::Got(Port(4), Peer::Slot(slot.into()), vec![slot; 10])));
    }
    ends[0].send(&[0; 4000]).unwrap();
    until(&mut node, |node| drops(node, Drop::RtReceiveTooLong) == 1);
    // Another device at the same slot takes the place of the first, whose other end hears of that.
    let (device, _end) = UnixDatagram::pair().unwrap();
    let tun = Tun::from_fd(device.into(), "mobile").unwrap();
    node.access().outside(machine).attach_tun(Port(4), Peer::Slot(2), tun, None).unwrap();
    assert!(ends[0].send(&[0]).is_err());
    assert!(ends[1].send(&[0]).is_ok());
}

#[test]
fn a_device_that_is_held_gives_nothing_and_loses_nothing() {
    let mut node = quiet_loop(8);
    let (machine, heard) = add(&mut node, Relay::new(false, true));
    let mut ends = Vec::new();
    for slot in 0..2 {
        let (device, end) = UnixDatagram::pair().unwrap();
        let tun = Tun::from_fd(device.into(), "mobile").unwrap();
        node.attach_tun(machine, Port(4), Peer::Slot(slot), tun, None).unwrap();
        ends.push(end);
    }
    let seen = |node: &mut EventLoop| node.access().machine(machine).unwrap().seen;
    for round in 1..4 {
        node.access().outside(machine).hold(Port(4), Peer::Slot(0), true);
        ends[0].send(&[0; 10]).unwrap();
        ends[1].send(&[1; 10]).unwrap();
        until(&mut node, |node| seen(node) == 2 * round - 1);
        node.turn(Some(Duration::ZERO)).unwrap();
        ends[1].send(&[1; 10]).unwrap();
        until(&mut node, |node| seen(node) == 2 * round);
        let last = Told::Got(Port(4), Peer::Slot(1), vec![1; 10]);
        assert_eq!(heard.borrow().last(), Some(&last), "the other device is received from");
        // Twice is as good as once, and there is no third device.
        for slot in [0, 0, 7] {
            node.access().outside(machine).hold(Port(4), Peer::Slot(slot), false);
        }
        until(&mut node, |node| seen(node) == 2 * round + 1);
        assert_eq!(heard.borrow().last(), Some(&Told::Got(Port(4), Peer::Slot(0), vec![0; 10])));
        node.access().machine(machine).unwrap().seen = 2 * round;
    }
}

/// What waits for a machine that takes nothing comes in order when it does again. It leaves frames to others: beyond that packets are
/// dropped by name.
#[test]
fn a_device_that_is_held_leaves_frames_to_others() {
    let mut node = quiet_loop(32);
    let (machine, heard) = add(&mut node, Relay::new(false, true));
    let mut ends = Vec::new();
    for slot in 0..2 {
        let (device, end) = UnixDatagram::pair().unwrap();
        let tun = Tun::from_fd(device.into(), "mobile").unwrap();
        node.attach_tun(machine, Port(4), Peer::Slot(slot), tun, None).unwrap();
        ends.push(end);
    }
    let seen = |node: &mut EventLoop| node.access().machine(machine).unwrap().seen;
    node.access().outside(machine).hold(Port(4), Peer::Slot(0), true);
    for number in 0..60_u8 {
        ends[0].send(&[number; 10]).unwrap();
        node.turn(Some(Duration::ZERO)).unwrap();
    }
    until(&mut node, |node| drops(node, Drop::RtDeviceQueue) >= 20);
    ends[1].send(&[99; 10]).unwrap();
    until(&mut node, |node| seen(node) == 1);
    node.access().outside(machine).hold(Port(4), Peer::Slot(0), false);
    until(&mut node, |node| seen(node) + drops(node, Drop::RtDeviceQueue) == 61);
    let numbers: Vec<u8> = heard
        .borrow()
        .iter()
        .filter_map(|told| match told {
            Told::Got(_, Peer::Slot(0), octets) => octets.first().copied(),
            _ => None,
        })
        .collect();
    assert!(!numbers.is_empty() && numbers.is_sorted(), "{numbers:?}");
    assert_eq!(node.access().frames().free(), 32);
    // What waits for a device that goes is counted.
    node.access().outside(machine).hold(Port(4), Peer::Slot(0), true);
    let before = drops(&mut node, Drop::RtDeviceQueue);
    ends[0].send(&[0; 10]).unwrap();
    node.turn(Some(Duration::ZERO)).unwrap();
    let (device, _end) = UnixDatagram::pair().unwrap();
    let tun = Tun::from_fd(device.into(), "mobile").unwrap();
    node.access().outside(machine).attach_tun(Port(4), Peer::Slot(0), tun, None).unwrap();
    until(&mut node, |node| drops(node, Drop::RtDeviceQueue) == before + 1);
}

/// A line-by-line server: `seen` prints the machine's counter, `send` gives it a command.
struct Console {
    listener: mio::net::TcpListener,
    session: Option<mio::net::TcpStream>,
    machine: MachineId<Relay>,
    rounds: Rc<RefCell<u64>>,
}

impl Service for Console {
    fn start(&mut self, access: &mut Access<'_>) -> std::io::Result<()> {
        access.register(&mut self.listener, 0, mio::Interest::READABLE)
    }

    fn ready(&mut self, number: u32, _: bool, _: bool, access: &mut Access<'_>) {
        if number == 0 {
            while let Ok((mut stream, _)) = self.listener.accept() {
                access.register(&mut stream, 1, mio::Interest::READABLE).unwrap();
                self.session = Some(stream);
            }
            return;
        }
        let Some(session) = &mut self.session else { return };
        let mut octets = [0; 100];
        while let Ok(count) = session.read(&mut octets) {
            match &octets[..count] {
                b"seen\n" => {
                    let seen = access.machine(self.machine).unwrap().seen;
                    writeln!(session, "{seen}").unwrap();
                }
                b"stop\n" => assert!(access.command(self.machine, Order::Stop)),
                _ => return,
            }
        }
    }

    fn round(&mut self, _: &mut Access<'_>) {
        *self.rounds.borrow_mut() += 1;
    }
}

#[test]
fn a_service_reaches_the_machines_and_ends_the_loop() {
    struct Goodbye(MachineId<Relay>, Vec<&'static str>);
    impl Hooks for Goodbye {
        fn shutdown(&mut self, access: &mut Access<'_>) {
            self.1.push("shutdown");
            access.machine(self.0).unwrap().seen = 0;
        }
        fn stopped(&mut self, _: &mut Access<'_>) -> bool {
            self.1.push("stopped");
            true
        }
        fn hangup(&mut self, _: &mut Access<'_>) {
            self.1.push("hangup");
        }
    }
    let mut node = quiet_loop(8);
    let machine = node.add_machine(Relay::new(false, false), |_, event, outside| {
        assert_eq!(event, Told::Stopped);
        outside.stop();
    });
    let listener = mio::net::TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = listener.local_addr().unwrap();
    let rounds = Rc::new(RefCell::new(0));
    let console = Console { listener, session: None, machine, rounds: Rc::clone(&rounds) };
    node.add_service(Box::new(console)).unwrap();
    node.access().machine(machine).unwrap().seen = 42;
    node.access().hangup();
    let client = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        stream.write_all(b"seen\n").unwrap();
        let mut answer = String::new();
        let mut octet = [0];
        while !answer.ends_with('\n') && stream.read(&mut octet).unwrap() == 1 {
            answer.push(char::from(octet[0]));
        }
        stream.write_all(b"stop\n").unwrap();
        answer
    });
    let mut goodbye = Goodbye(machine, Vec::new());
    node.run(&mut goodbye).unwrap();
    assert_eq!(client.join().unwrap(), "42\n");
    assert_eq!(goodbye.1, ["hangup", "shutdown", "stopped"]);
    assert_eq!(node.access().machine(machine).unwrap().seen, 0);
    assert!(*rounds.borrow() > 0);
}

#[test]
fn a_machine_that_never_says_goodbye_ends_with_the_grace_period() {
    struct Never;
    impl Hooks for Never {
        fn stopped(&mut self, _: &mut Access<'_>) -> bool {
            false
        }
    }
    let clock = gannet_rt::Clock::start();
    let config = gannet_rt::LoopConfig {
        frames: 1,
        signals: false,
        lock_memory: false,
        shutdown_grace: Duration::from_millis(1),
        ..gannet_rt::LoopConfig::default()
    };
    let mut node = EventLoop::new(config, clock, gannet_rt::log::LogSink::new(clock)).unwrap();
    node.access().stop();
    node.run(&mut Never).unwrap();
    node.access().stop();
    node.run(&mut NoHooks).unwrap();
}

#[test]
fn a_machine_of_another_type_is_not_found() {
    let (mut node, mut other) = (quiet_loop(1), quiet_loop(1));
    let (relay, _) = add(&mut node, Relay::new(false, false));
    assert!(other.access().machine(relay).is_none());
    assert!(!other.access().command(relay, Order::Stop));
    assert!(node.access().machine_and_context(relay).is_some());
}

/// Has so much work left, one piece at each call, and is in a hurry from the first input on, if not before.
struct Toiler {
    left: Rc<Cell<u32>>,
    hurry: bool,
}

impl Machine for Toiler {
    type Command = ();
    type Event = ();
    type Rule = core::convert::Infallible;
    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while inputs.pop().is_some() {
            self.hurry = true;
        }
    }
    fn poll_output(&mut self, _: &mut Context<'_>, _: &mut Batch<Output<()>>) {
        self.left.set(self.left.get().saturating_sub(1));
    }
    fn has_work(&self) -> bool {
        self.left.get() > 0
    }
    fn is_in_a_hurry(&self, _: Instant) -> bool {
        self.hurry
    }
}

#[test]
fn a_machine_in_a_hurry_works_in_short_slices() {
    let config = LoopConfig {
        slice: Duration::from_secs(3600),
        slice_in_a_hurry: Duration::ZERO,
        signals: false,
        lock_memory: false,
        ..LoopConfig::default()
    };
    let after_a_turn = |hurry, has_input| {
        let clock = Clock::start();
        let mut node = EventLoop::new(config.clone(), clock, LogSink::new(clock)).unwrap();
        let left = Rc::new(Cell::new(10));
        let toiler = node.add_machine(Toiler { left: Rc::clone(&left), hurry }, |_, (), _| ());
        if has_input {
            node.access().command(toiler, ());
        }
        node.turn(Some(Duration::ZERO)).unwrap();
        left.get()
    };
    assert_eq!([(false, false), (true, false), (false, true)].map(|(a, b)| after_a_turn(a, b)), [0, 9, 9]);
}

/// Takes its time for each input, and for what follows from it; keeps what both took, and what it is told of turns.
#[derive(Default)]
struct Slow {
    to_do: bool,
    inputs: std::time::Duration,
    outputs: std::time::Duration,
    told: Vec<std::time::Duration>,
}

const FOR_INPUT: std::time::Duration = std::time::Duration::from_millis(40);
const FOR_OUTPUT: std::time::Duration = std::time::Duration::from_millis(2);

/// Sleeps for at least so long; how long it was.
fn sleep(least: std::time::Duration) -> std::time::Duration {
    let began = std::time::Instant::now();
    std::thread::sleep(least);
    began.elapsed()
}

impl Machine for Slow {
    type Command = ();
    type Event = ();
    type Rule = core::convert::Infallible;
    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while inputs.pop().is_some() {
            self.inputs += sleep(FOR_INPUT);
            self.to_do = true;
        }
    }
    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
        if core::mem::take(&mut self.to_do) {
            self.outputs += sleep(FOR_OUTPUT);
            outputs.push(Output::Event(()));
        }
    }
    fn turn_took(&mut self, _: Instant, took: Duration) {
        self.told.push(std::time::Duration::from_nanos(took.0));
    }
}

/// However busy the machine is that this runs on: a turn took no less than its own outputs, and no more than the whole turn without the
/// inputs of both and the outputs of the other.
#[test]
fn a_machine_is_told_what_a_turn_took_but_for_its_inputs_and_for_what_others_did() {
    let mut node = quiet_loop(8);
    let both = [(); 2].map(|()| node.add_machine(Slow::default(), |_, (), _| ()));
    node.turn(Some(Duration::ZERO)).unwrap();
    for _ in 0..3 {
        for machine in both {
            *node.access().machine(machine).unwrap() = Slow::default();
            assert!(node.access().command(machine, ()));
        }
        let began = std::time::Instant::now();
        node.turn(Some(Duration::ZERO)).unwrap();
        let all = began.elapsed();
        let [one, other] = both.map(|machine| core::mem::take(node.access().machine(machine).unwrap()));
        for (own, other) in [(&one, &other), (&other, &one)] {
            let [took] = own.told[..] else { panic!("told of {} turns", own.told.len()) };
            assert!(own.inputs >= FOR_INPUT && own.outputs >= FOR_OUTPUT, "it has worked");
            let most = all - own.inputs - other.inputs - other.outputs;
            assert!((own.outputs..=most).contains(&took), "{took:?} is not {:?} to {most:?}", own.outputs);
        }
        // The outputs have left the machines work to do: a turn without inputs.
        node.turn(Some(Duration::ZERO)).unwrap();
    }
}
