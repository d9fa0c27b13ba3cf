//! Sockets whose datagrams come joined. The loopback device passes on as one what a sender has sent as one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::{Order, Relay, Told, quiet_loop};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Peer, Port};
use gannet_rt::{EventLoop, MachineId, UdpConfig};
use std::cell::RefCell;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;

type Heard = Rc<RefCell<Vec<(Peer, Vec<u8>)>>>;

/// A loop whose socket takes joined datagrams, and what its machine gets.
struct Receiver {
    node: EventLoop,
    machine: MachineId<Relay>,
    at: SocketAddr,
    heard: Heard,
}

impl Receiver {
    fn new(bind: &str, frames: usize) -> Self {
        let mut node = quiet_loop(frames);
        let heard = Heard::default();
        let keep = Rc::clone(&heard);
        let machine = node.add_machine(Relay::new(false, true), move |_, event, _| {
            let Told::Got(_, peer, octets) = event else { panic!("{event:?}") };
            keep.borrow_mut().push((peer, octets));
        });
        let config = UdpConfig { joined: true, ..UdpConfig::new(bind.parse().unwrap()) };
        let at = node.bind_udp(machine, Port(0), &config).unwrap();
        Self { node, machine, at, heard }
    }

    fn until(&mut self, mut condition: impl FnMut(&mut Self) -> bool) {
        while !condition(self) {
            self.node.turn(Some(Duration::from_millis(20))).unwrap();
        }
    }

    fn drops(&mut self) -> Vec<(Drop, u64)> {
        self.node.access().log().drops().raised().collect()
    }
}

/// Datagrams of these lengths, each with its own octet, sent in one turn of a loop, and the sender's address.
fn send(to: SocketAddr, lens: &[usize]) -> (SocketAddr, Vec<Vec<u8>>) {
    let mut node = quiet_loop(lens.len());
    let machine = node.add_machine(Relay::new(false, false), |_, _, _| {});
    let bind = SocketAddr::new(to.ip(), 0);
    let from = node.bind_udp(machine, Port(0), &UdpConfig::new(bind)).unwrap();
    let datagrams: Vec<Vec<u8>> = (0..=255).cycle().zip(lens).map(|(octet, len)| vec![octet; *len]).collect();
    for octets in &datagrams {
        node.access().command(machine, Order::Send(Port(0), Peer::Udp(to), octets.clone()));
    }
    node.turn(Some(Duration::ZERO)).unwrap();
    node.finish().unwrap();
    (from, datagrams)
}

#[test]
fn joined_datagrams_come_one_by_one_and_in_order() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        if UdpSocket::bind(bind).is_err() {
            println!("SKIPPED: no {bind}");
            continue;
        }
        let mut receiver = Receiver::new(bind, 1024);
        // A message with a shorter end; singles; more than one message has room for; one that is empty.
        let mut lens = vec![200; 10];
        lens.extend([150, 7, 300]);
        lens.extend([1400; 100]);
        lens.extend([0, 90, 90, 90, 90, 90, 1]);
        let (from, sent) = send(receiver.at, &lens);
        receiver.until(|it| it.heard.borrow().len() == lens.len());
        let expected: Vec<(Peer, Vec<u8>)> =
            sent.into_iter().map(|octets| (Peer::Udp(from), octets)).collect();
        assert!(*receiver.heard.borrow() == expected);
        assert_eq!(receiver.drops(), []);
    }
}

#[test]
fn each_datagram_counts_where_there_are_no_frames() {
    let mut receiver = Receiver::new("127.0.0.1:0", 8);
    receiver.node.access().machine(receiver.machine).unwrap().hold = Some(Vec::new());
    let free = receiver.node.access().frames().capacity();
    send(receiver.at, &vec![100; free + 30]);
    let lost = |it: &mut Receiver| it.drops().iter().map(|(_, count)| *count).sum::<u64>();
    receiver.until(|it| lost(it) + it.heard.borrow().len() as u64 == free as u64 + 30);
    assert_eq!((receiver.drops(), receiver.heard.borrow().len()), (vec![(Drop::NoFrame, 30)], free));
    // With frames again all is as before.
    receiver.node.access().machine(receiver.machine).unwrap().hold = None;
    let (_, sent) = send(receiver.at, &[50; 5]);
    receiver.until(|it| it.heard.borrow().len() == free + 5);
    assert_eq!(receiver.heard.borrow()[free + 4].1, sent[4]);
}

#[test]
fn what_is_longer_than_a_frame_is_dropped_alone() {
    let mut receiver = Receiver::new("127.0.0.1:0", 8);
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(&[1; 4000], receiver.at).unwrap();
    sender.send_to(&[2; 40], receiver.at).unwrap();
    receiver.until(|it| !it.heard.borrow().is_empty());
    assert_eq!(receiver.heard.borrow()[0].1, [2; 40]);
    assert_eq!(receiver.drops(), [(Drop::RtReceiveTooLong, 1)]);
}
