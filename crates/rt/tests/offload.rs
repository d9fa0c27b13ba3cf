//! Devices with super-packets in the loop. A pair of datagram sockets stands for the device: whole packets, with the
//! header of the kernel in front.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::{Order, Relay, Told, quiet_loop};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Peer, Port};
use gannet_rt::{EventLoop, MachineId, Tun};
use std::cell::RefCell;
use std::os::unix::net::UnixDatagram;
use std::rc::Rc;

type Heard = Rc<RefCell<Vec<Vec<u8>>>>;

/// A loop with a device that has super-packets, the device's other end, and what the machine gets.
fn node(frames: usize) -> (EventLoop, MachineId<Relay>, UnixDatagram, Heard) {
    let mut node = quiet_loop(frames);
    let heard = Heard::default();
    let keep = Rc::clone(&heard);
    let machine = node.add_machine(Relay::new(true, true), move |_, event, _| {
        let Told::Got(_, _, octets) = event else { panic!("{event:?}") };
        keep.borrow_mut().push(octets);
    });
    let (device, end) = UnixDatagram::pair().unwrap();
    let tun = Tun::from_fd(device.into(), "tun").unwrap().with_header();
    node.attach_tun(machine, Port(0), Peer::Link, tun, None).unwrap();
    (node, machine, end, heard)
}

/// A super-packet of UDP with 25 octets of payload, to be cut into so many; the checksum's field has the sum of the
/// pseudo header.
fn super_packet(segment_len: u8) -> Vec<u8> {
    let mut octets = vec![1, 5];
    for field in [28, segment_len.into(), 20, 6_u16] {
        octets.extend(field.to_ne_bytes());
    }
    octets.extend([0x45, 0, 0, 53, 0, 1, 0x40, 0, 64, 17, 0x26, 0xb5, 10, 0, 0, 1, 10, 0, 0, 2]);
    octets.extend([0x12, 0x34, 0, 80, 0, 33, 0x14, 0x35]);
    octets.extend(1..=25);
    octets
}

fn drops(node: &mut EventLoop) -> Vec<(Drop, u64)> {
    node.access().log().drops().raised().collect()
}

fn until(node: &mut EventLoop, mut condition: impl FnMut(&mut EventLoop) -> bool) {
    while !condition(node) {
        node.turn(Some(Duration::from_millis(20))).unwrap();
    }
}

#[test]
fn a_super_packet_is_cut_for_the_machine_and_its_answers_are_joined() {
    let (mut node, machine, end, heard) = node(8);
    end.send(&super_packet(10)).unwrap();
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 3);
    let lens: Vec<usize> = heard.borrow().iter().map(Vec::len).collect();
    assert_eq!(lens, [38, 38, 33]);
    for (packet, payload) in heard.borrow().iter().zip([1..=10, 11..=20, 21..=25]) {
        assert!(packet[28..].iter().copied().eq(payload));
    }
    let mut octets = [0; 200];
    let len = end.recv(&mut octets).unwrap();
    assert_eq!(octets[..len], super_packet(10));
    let counts = node.access().outside(machine).tun(Port(0), Peer::Link).unwrap().counts();
    assert_eq!((counts.packets_in, counts.reads), (3, 1));
    assert_eq!((counts.packets_out, counts.writes), (3, 1));
    // A single packet is as it came, with a header that says nothing.
    let mut single = vec![0; 10];
    single.extend(&heard.borrow()[2]);
    end.send(&single).unwrap();
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 4);
    let len = end.recv(&mut octets).unwrap();
    assert_eq!(octets[..len], single);
    assert_eq!((drops(&mut node), node.access().frames().free()), (vec![], 8));
}

#[test]
fn what_cannot_be_taken_is_a_named_drop() {
    let (mut node, machine, end, heard) = node(4);
    // Shorter than the header; a kind of segments that was not asked for; a header for another packet.
    end.send(&[0; 9]).unwrap();
    for (at, value) in [(1, 3), (6, 21), (4, 0)] {
        let mut octets = super_packet(10);
        octets[at] = value;
        end.send(&octets).unwrap();
    }
    until(&mut node, |node| drops(node) == [(Drop::RtReceiveMalformed, 4)]);
    // One packet that fills a frame and more, and two segments that do.
    end.send(&[0; 2000]).unwrap();
    let mut octets = super_packet(10);
    octets[4..6].copy_from_slice(&1800_u16.to_ne_bytes());
    octets.resize(10 + 28 + 3600, 0);
    end.send(&octets).unwrap();
    until(&mut node, |node| drops(node)[1..] == [(Drop::RtReceiveTooLong, 3)]);
    assert!(heard.borrow().is_empty());
    // The machine keeps every frame: 4 of its own and the 64 into which the loop receives.
    node.access().machine(machine).unwrap().hold = Some(Vec::new());
    for _ in 0..3 {
        end.send(&super_packet(1)).unwrap();
    }
    until(&mut node, |node| drops(node)[0] == (Drop::NoFrame, 7));
    assert_eq!(node.access().machine(machine).unwrap().seen, 68);
    end.send(&super_packet(1)).unwrap();
    until(&mut node, |node| drops(node)[0] == (Drop::NoFrame, 8));
    node.access().machine(machine).unwrap().hold = None;
    node.turn(Some(Duration::ZERO)).unwrap();
    end.send(&super_packet(10)).unwrap();
    until(&mut node, |node| node.access().machine(machine).unwrap().seen == 71);
    assert_eq!(node.access().frames().free(), 4);
}

#[test]
fn what_was_given_to_a_device_leaves_before_the_device_goes() {
    let mut node = quiet_loop(8);
    let machine = node.add_machine(Relay::new(false, false), |_, event, outside| {
        assert_eq!(event, Told::Stopped);
        outside.detach(Port(0), Peer::Link);
    });
    let (device, end) = UnixDatagram::pair().unwrap();
    let tun = Tun::from_fd(device.into(), "tun").unwrap().with_header();
    node.attach_tun(machine, Port(0), Peer::Link, tun, None).unwrap();
    let orders = (0..3_u8).map(|number| Order::Send(Port(0), Peer::Link, vec![number; 20]));
    for order in orders.chain([Order::Stop]) {
        assert!(node.access().command(machine, order));
    }
    node.turn(Some(Duration::ZERO)).unwrap();
    assert!(node.access().outside(machine).tun(Port(0), Peer::Link).is_none());
    let mut octets = [0; 100];
    for number in 0..3_u8 {
        assert_eq!(end.recv(&mut octets).unwrap(), 30);
        assert_eq!(octets[10], number);
    }
    assert_eq!(drops(&mut node), []);
}
