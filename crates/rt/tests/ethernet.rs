//! A port of one EtherType on an Ethernet device, between two network namespaces: what comes and goes, a device that is away
//! for a while, and a line that is slower than the machine.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::quiet_loop;
use gannet_machine::drops::Drop;
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::time::Duration;
use gannet_machine::{Batch, Context, EthernetAddress, Input, Machine, Output, Peer, Port};
use gannet_rt::{
    EventLoop, MachineId, NetworkNamespace, PACKET_BATCH, PacketLayer, PacketSocket, PacketTarget,
    wait_for_packets,
};
use gannet_testkit::Need;
use gannet_testkit::netns::Netns;
use std::process::ExitCode;

/// Local experimental EtherTypes (IEEE 802).
const OURS: u16 = 0x88b5;
const OTHER: u16 = 0x88b6;
const PORT: Port = Port(0);

fn main() -> ExitCode {
    let needs = &[Need::NetAdmin];
    gannet_testkit::main(&[
        ("frames_of_one_ether_type_come_and_go", needs, || inside(come_and_go)),
        ("nothing_stays_behind_a_batch_that_is_full_or_not", needs, || inside(batches)),
        ("a_device_that_was_away_is_used_again", needs, || inside(away)),
        (
            "a_slow_line_holds_the_machine_back_and_loses_nothing",
            &[Need::NetAdmin, Need::Program("tc")],
            || {
                inside(slow);
            },
        ),
    ])
}

/// Answers what comes, and sends as much as it is told to.
#[derive(Default)]
struct Station {
    out: Batch<Output<()>>,
    got: Vec<Vec<u8>>,
    /// What the driver has said.
    held: Vec<bool>,
}

/// Send so many frames to a station.
struct Send(EthernetAddress, u16);

impl Machine for Station {
    type Command = Send;
    type Event = ();
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Send>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port, peer, frame } => {
                    self.got.push(frame.to_vec());
                    self.out.push(Output::Transmit { port, peer, frame });
                }
                Input::Command(Send(to, count)) => {
                    for number in 0..count {
                        let mut octets = vec![0; 1000];
                        octets[..2].copy_from_slice(&number.to_be_bytes());
                        let frame = cx.frames.copy_of(&octets).unwrap();
                        let peer = Peer::Ethernet(to);
                        self.out.push(Output::Transmit { port: PORT, peer, frame });
                    }
                }
                _ => {}
            }
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
        outputs.append(&mut self.out);
    }

    fn hold_back(&mut self, on: bool) {
        self.held.push(on);
    }
}

struct Bed {
    here: Netns,
    there: Netns,
    node: EventLoop,
    station: MachineId<Station>,
    /// The far end.
    far: PacketSocket,
    pool: FramePool,
}

/// A thread of its own is in the namespace of the node.
fn inside(act: impl FnOnce(&mut Bed) + std::marker::Send + 'static) {
    let tried = std::thread::spawn(|| act(&mut Bed::new())).join();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

impl Bed {
    fn new() -> Self {
        let (here, there) = (Netns::new("here"), Netns::new("there"));
        join(&here, &there);
        let far = far(&there);
        enter(&here);
        let mut node = quiet_loop(512);
        let station = node.add_machine(Station::default(), |_, (), _| {});
        node.attach_ether_type(station, PORT, "a0", OURS).unwrap();
        Self { here, there, node, station, far, pool: FramePool::new(64) }
    }

    fn turn(&mut self) {
        self.node.turn(Some(Duration::from_millis(20))).unwrap();
    }

    /// What the machine has got, and what it was told.
    fn seen(&mut self) -> (Vec<Vec<u8>>, Vec<bool>) {
        let mut access = self.node.access();
        let station = access.machine(self.station).unwrap();
        (core::mem::take(&mut station.got), core::mem::take(&mut station.held))
    }

    /// The far end sends.
    fn send(&mut self, to: EthernetAddress, ether_type: u16, octets: &[u8]) {
        let sent = self.far.send([(octets, Some(PacketTarget { to, ether_type }))].into_iter());
        assert_eq!(sent.unwrap(), 1);
    }

    /// What the far end has.
    fn receive(&mut self) -> Vec<Vec<u8>> {
        let mut frames: Vec<Frame> = core::iter::from_fn(|| self.pool.alloc()).take(64).collect();
        let count = self.far.receive(&mut frames).unwrap();
        (0..count)
            .map(|index| {
                let arrived = self.far.arrived(index).unwrap();
                assert!(frames[index].set_len(arrived.len));
                frames[index].to_vec()
            })
            .collect()
    }

    /// Turns until the far end has something.
    fn answer(&mut self) -> Vec<Vec<u8>> {
        loop {
            self.turn();
            let received = self.receive();
            if !received.is_empty() {
                return received;
            }
        }
    }
}

fn join(here: &Netns, there: &Netns) {
    here.ip(&["link", "add", "a0", "type", "veth", "peer", "name", "b0", "netns", there.name()]);
    here.ip(&["link", "set", "a0", "address", "02:00:00:00:00:0a", "up"]);
    there.ip(&["link", "set", "b0", "address", "02:00:00:00:00:0b", "up"]);
}

const HERE: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0xa]);
const THERE: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0xb]);
const ALL: EthernetAddress = EthernetAddress([0xff; 6]);
const NOBODY: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0xc]);

fn enter(netns: &Netns) {
    NetworkNamespace::named(netns.name()).unwrap().enter().unwrap();
}

fn far(there: &Netns) -> PacketSocket {
    enter(there);
    PacketSocket::open("b0", PacketLayer::Protocol(OURS)).unwrap()
}

fn come_and_go(bed: &mut Bed) {
    let long = vec![7; 1486];
    bed.send(HERE, OTHER, b"of others");
    bed.send(NOBODY, OURS, b"for others");
    bed.send(ALL, OURS, b"for all");
    bed.send(HERE, OURS, &long);
    let mut answers = Vec::new();
    while answers.len() < 2 {
        answers.extend(bed.answer());
    }
    assert_eq!(answers, [b"for all".to_vec(), long.clone()]);
    let (got, held) = bed.seen();
    assert_eq!((got, held), (vec![b"for all".to_vec(), long], vec![]));
    assert_eq!(bed.node.access().log().drops().raised().collect::<Vec<_>>(), []);
}

/// The socket is asked again behind a full batch alone: what comes later has the poll tell.
fn batches(bed: &mut Bed) {
    let batch = PACKET_BATCH;
    for count in [1, batch - 1, batch, batch + 1, 2 * batch, 2 * batch + 1] {
        let sent: Vec<Vec<u8>> = (0..count).map(|number| vec![u8::try_from(number).unwrap(); 100]).collect();
        sent.iter().for_each(|octets| bed.send(HERE, OURS, octets));
        let mut answers = Vec::new();
        while answers.len() < count {
            answers.extend(bed.answer());
        }
        assert_eq!(answers, sent);
        assert_eq!(bed.seen().0, sent);
    }
}

fn away(bed: &mut Bed) {
    let index = |bed: &Bed| -> u32 {
        let text = bed.here.run("cat", &["/sys/class/net/a0/ifindex"]);
        text.trim().parse().unwrap()
    };
    bed.here.ip(&["link", "del", "a0"]);
    bed.node.access().outside(bed.station).renew_packets(|_| None);
    assert!(bed.node.access().command(bed.station, Send(THERE, 1)));
    bed.turn();
    assert_eq!(bed.node.access().log().drops().get(Drop::RtSendFailed), 1);
    join(&bed.here, &bed.there);
    bed.far = far(&bed.there);
    enter(&bed.here);
    let is_there = index(bed);
    bed.node.access().outside(bed.station).renew_packets(|name| (name == "a0").then_some(is_there));
    bed.send(HERE, OURS, b"again");
    assert_eq!(bed.answer(), [b"again".to_vec()]);
}

fn slow(bed: &mut Bed) {
    const FRAMES: u16 = 200;
    let _ = bed.here.run(
        "tc",
        &["qdisc", "add", "dev", "a0", "root", "tbf", "rate", "4mbit", "burst", "4000", "limit", "1000000"],
    );
    assert!(bed.node.access().command(bed.station, Send(THERE, FRAMES)));
    let mut received = Vec::new();
    while received.len() < usize::from(FRAMES) {
        bed.turn();
        received.extend(bed.receive());
        // Readable at the far end, or time for another turn.
        wait_for_packets([&bed.far, &bed.far], Duration::from_millis(1)).unwrap();
    }
    let numbers: Vec<u16> =
        received.iter().map(|octets| u16::from_be_bytes([octets[0], octets[1]])).collect();
    assert_eq!(numbers, (0..FRAMES).collect::<Vec<_>>());
    // The last turn may be needed to see that there is room.
    bed.turn();
    let (_, held) = bed.seen();
    assert_eq!((held.first(), held.last()), (Some(&true), Some(&false)), "{held:?}");
    assert_eq!(bed.node.access().log().drops().raised().collect::<Vec<_>>(), []);
}
