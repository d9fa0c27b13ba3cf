//! The back end without XDP: real datagrams at real sockets.

use crate::common::frames;
use crate::life::{start, until};
use gannet_demux::reuseport::{Reuseport, Service};
use gannet_demux::{Classify, Config, Ring};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_testkit::netns::Netns;
use gannet_wire::id::{Nsapi, Teid, Tid};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Sockets of one port need a network namespace in which nobody else has that port.
pub fn steered_by_ring() {
    let namespace = Netns::new("steer");
    let mut child = start(&namespace, "sockets");
    child.wait_for_line("steered");
    assert!(child.wait().success());
}

fn socket(address: SocketAddr) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&address.into()).unwrap();
    let socket = UdpSocket::from(socket);
    socket.set_nonblocking(true).unwrap();
    socket
}

fn drain(socket: &UdpSocket) -> usize {
    let mut datagram = [0; 2048];
    core::iter::from_fn(|| socket.recv(&mut datagram).ok()).count()
}

/// In that namespace.
pub fn steer() {
    let address: SocketAddr = "127.0.0.1:2152".parse().unwrap();
    let mut back_end = Reuseport::load(&Config { samples_per_s: 0, ..Config::default() }).unwrap();
    // Teid 4 is blocked, 5 is nobody's.
    let flows = [
        (1, Class::Signalling, Precedence::High),
        (2, Class::RealTime, Precedence::High),
        (3, Class::BestEffort, Precedence::Normal),
        (4, Class::RealTime, Precedence::Low),
        (6, Class::BestEffort, Precedence::High),
    ];
    for (teid, class, precedence) in flows {
        let rule =
            Rule { key: Key::Teid(Teid(teid)), name: teid, class, precedence, policer: None, source: None };
        back_end.apply(&RuleChange::Install(rule)).unwrap();
    }
    back_end.apply(&RuleChange::Block(Key::Teid(Teid(4)), Block::FlowControl)).unwrap();
    let sockets = Ring::ALL.map(|ring| (ring, socket(address)));
    for (ring, socket) in sockets.iter().filter(|(ring, _)| *ring != Ring::High) {
        back_end.set_socket(Service::V1, *ring, socket).unwrap();
    }
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(address).unwrap();
    let g_pdu = |teid| frames::gtp_v1(255, teid, (Some(1), None), &[], &[0x45; 378]);
    let echo = frames::gtp_v1(1, 0, (Some(1), None), &[], &[]);
    let [.., (_, high), (_, best_effort)] = &sockets;
    // High precedence without a socket comes to the others.
    sender.send(&g_pdu(6)).unwrap();
    until("a datagram among best effort", || (drain(best_effort) == 1).then_some(()));
    back_end.set_socket(Service::V1, Ring::High, high).unwrap();
    for (times, datagram) in [
        (10, g_pdu(1)),
        (20, g_pdu(2)),
        (30, g_pdu(3)),
        (40, g_pdu(4)),
        (50, g_pdu(5)),
        (25, g_pdu(6)),
        (5, echo),
    ] {
        for _ in 0..times {
            // A drop is silent: no port unreachable comes back.
            sender.send(&datagram).unwrap();
        }
    }
    let mut received = [0; 4];
    until("what is not dropped", || {
        for (sum, (_, socket)) in received.iter_mut().zip(&sockets) {
            *sum += drain(socket);
        }
        (received.iter().sum::<usize>() >= 90).then_some(())
    });
    assert_eq!(received, [15, 20, 25, 30]);
    std::thread::sleep(Duration::from_millis(20));
    assert!(sockets.iter().all(|(_, socket)| drain(socket) == 0) && sender.take_error().unwrap().is_none());
    let totals = back_end.totals();
    assert_eq!((totals.of(Drop::DemuxBlocked), totals.of(Drop::DemuxUnknownContext)), (40, 50));
    let redirected = |class| totals.redirected(class);
    assert_eq!((redirected(Class::RealTime), redirected(Class::BestEffort)), (20, 30 + 25 + 1));
    assert_eq!(totals.to_kernel(), 5);
    assert_eq!(back_end.of_flow(4).unwrap().blocked, 40);
    // The port of GTPv0 has sockets of its own, and the same tables.
    let address: SocketAddr = "127.0.0.1:3386".parse().unwrap();
    let tid = Tid { imsi: "001010000000001".parse().unwrap(), nsapi: Nsapi(5) };
    let (class, precedence) = (Class::RealTime, Precedence::Normal);
    let rule = Rule { key: Key::Tid(tid), name: 9, class, precedence, policer: None, source: None };
    back_end.apply(&RuleChange::Install(rule)).unwrap();
    let of_v0 = Ring::ALL.map(|ring| (ring, socket(address)));
    for (ring, socket) in &of_v0 {
        back_end.set_socket(Service::V0, *ring, socket).unwrap();
    }
    sender.connect(address).unwrap();
    let nobody = Tid { nsapi: Nsapi(6), ..tid };
    for (times, datagram) in [
        (7, frames::gtp_v0(255, tid.to_u64(), &[0x45; 378])),
        (8, frames::gtp_v0(255, nobody.to_u64(), &[0x45; 378])),
        (3, frames::gtp_v0(1, 0, &[])),
    ] {
        (0..times).for_each(|_| assert!(sender.send(&datagram).is_ok()));
    }
    let mut received = [0; 4];
    until("what is of version 0 and not dropped", || {
        for (sum, (_, socket)) in received.iter_mut().zip(&of_v0) {
            *sum += drain(socket);
        }
        (received.iter().sum::<usize>() >= 10).then_some(())
    });
    assert_eq!(received, [3, 7, 0, 0]);
    assert_eq!(back_end.totals().of(Drop::DemuxUnknownContext), 58);
    assert!(sockets.iter().all(|(_, socket)| drain(socket) == 0));
    println!("steered");
}
