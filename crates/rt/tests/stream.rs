//! TCP connections of a machine: made, used, lost, given up and made again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::{Order, Relay, Told, quiet_loop};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Peer, Port, StreamState};
use gannet_rt::{EventLoop, MachineId, TcpConfig};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;

const PORT: Port = Port(2);

struct Bench {
    node: EventLoop,
    machine: MachineId<Relay>,
    heard: Rc<RefCell<Vec<Told>>>,
}

impl Bench {
    fn new(frames: usize, to: SocketAddr) -> Self {
        let mut node = quiet_loop(frames);
        let heard = Rc::<RefCell<Vec<Told>>>::default();
        let keep = Rc::clone(&heard);
        let machine =
            node.add_machine(Relay::new(false, true), move |_, event, _| keep.borrow_mut().push(event));
        node.connect_tcp(machine, PORT, &TcpConfig::new(to)).unwrap();
        Self { node, machine, heard }
    }

    fn until(&mut self, condition: impl Fn(&[Told]) -> bool) {
        while !condition(&self.heard.borrow()) {
            self.node.turn(Some(Duration::from_millis(20))).unwrap();
        }
    }

    fn until_last(&mut self, state: StreamState) {
        self.until(|heard| heard.last() == Some(&Told::Stream(PORT, state)));
    }

    fn order(&mut self, order: Order) {
        assert!(self.node.access().command(self.machine, order));
        self.node.turn(Some(Duration::ZERO)).unwrap();
    }

    fn drops(&mut self, drop: Drop) -> u64 {
        self.node.access().log().drops().get(drop)
    }
}

fn octets_of(heard: &[Told]) -> Vec<u8> {
    let octets = heard.iter().flat_map(|told| match told {
        Told::Got(PORT, Peer::Link, octets) => octets.clone(),
        Told::Stream(..) => Vec::new(),
        other => panic!("{other:?}"),
    });
    octets.collect()
}

#[test]
fn octets_go_both_ways_between_connection_and_loss() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new(8, listener.local_addr().unwrap());
    bench.until_last(StreamState::Connected);
    let (mut peer, _) = listener.accept().unwrap();
    bench.order(Order::Send(PORT, Peer::Link, b"hello".to_vec()));
    let mut got = [0; 5];
    peer.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"hello");
    // More than the frames hold at once, and the end right behind it: nothing is lost, and the end comes last.
    let long: Vec<u8> = (0..400_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let sent = long.clone();
    let writer = std::thread::spawn(move || peer.write_all(&sent));
    bench.until_last(StreamState::Lost);
    writer.join().unwrap().unwrap();
    assert_eq!(bench.heard.borrow()[0], Told::Stream(PORT, StreamState::Connected));
    assert_eq!(octets_of(&bench.heard.borrow()), long);
    assert_eq!(bench.node.access().frames().free(), 8);
    // It is made again by itself.
    bench.until_last(StreamState::Connected);
    assert_eq!(bench.node.access().log().drops().total(), 0);
}

#[test]
fn a_peer_that_is_not_there_is_tried_again() {
    // A port that nobody has, at an address that no other test uses.
    let to = TcpListener::bind("127.0.0.11:0").unwrap().local_addr().unwrap();
    let mut bench = Bench::new(8, to);
    bench.order(Order::Send(PORT, Peer::Link, b"too early".to_vec()));
    assert_eq!(bench.drops(Drop::RtSendFailed), 1);
    assert!(bench.heard.borrow().is_empty());
    let listener = TcpListener::bind(to).unwrap();
    bench.until_last(StreamState::Connected);
    // The machine gives it up, and gets another.
    let (mut peer, _) = listener.accept().unwrap();
    bench.order(Order::Disconnect(PORT));
    bench.until_last(StreamState::Lost);
    assert_eq!(peer.read(&mut [0; 8]).unwrap(), 0);
    bench.until_last(StreamState::Connected);
    // A port that is no stream has nothing to give up.
    bench.order(Order::Disconnect(Port(9)));
    bench.node.access().outside(bench.machine).detach(PORT, Peer::Link);
    let (mut peer, _) = listener.accept().unwrap();
    assert_eq!(peer.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_peer_that_takes_nothing_is_lost_before_it_fills_the_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new(8, listener.local_addr().unwrap());
    bench.until_last(StreamState::Connected);
    let _peer = listener.accept().unwrap();
    while bench.drops(Drop::RtSendQueueFull) == 0 {
        bench.order(Order::Send(PORT, Peer::Link, vec![0; 1500]));
    }
    bench.until_last(StreamState::Lost);
    assert!(bench.drops(Drop::RtSendQueueFull) >= 1);
    assert_eq!(bench.node.access().frames().free(), 8);
}
