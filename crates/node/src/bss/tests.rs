//! The BSS against an SGSN that has only NS and BVCs.

use super::*;
use core::net::SocketAddr;
use gannet_machine::Surroundings;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_proto::bssgp::bvc::{self, Role};
use gannet_proto::bssgp::flow_control::{self, Dequeue, FlowControl, Limit, Limits, Pdu, PduMeta};
use gannet_proto::ns::{NsConfig, NsRole};
use gannet_proto::um::{BROADCAST, HEADER_LEN, PagedIdentity, UmHeader, UmKind};
use gannet_qos::class::{CellClass, Precedence};
use gannet_wire::bssgp::ie::{FlushAction, PagingArea, PduLifetime, PriorityClass};
use gannet_wire::bssgp::signalling::{FlushLlAck, LlcDiscarded, MobileRef, PagingPs};
use gannet_wire::bssgp::{DlUnitdata, Message, PduType, QosProfile, UlUnitdata};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci, PTmsi, Rai, Tlli};

mod air;
mod away;
mod detained;
mod loss;
mod measured;
mod paging;
mod preemption;

const NSE: Nsei = Nsei(101);
const BSS_ADDRESS: &str = "192.0.2.1:22000";
const SGSN_ADDRESS: &str = "192.0.2.2:23000";
const A: Tlli = Tlli(0xc000_0001);

fn cell_id(n: u16) -> CellId {
    CellId { rai: Rai { lac: 1, rac: 7, ..Rai::default() }, ci: n }
}

struct World {
    around: Surroundings<Quiet>,
    bss: Bss,
    sgsn_around: Surroundings<Quiet>,
    ns: NsEntity,
    bvcs: Bvcs,
    /// What the SGSN got, other than about BVCs.
    uplink: Vec<Message>,
    unitdata: Vec<(UlUnitdata<'static>, Vec<u8>)>,
    /// What the mobiles got.
    um: Vec<(u32, UmHeader, Vec<u8>)>,
    events: Vec<Event>,
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

impl World {
    /// Two cells of 8 kbit/s (1000 octets a second) with 1000 octets of queue and 10 ms of delay, all up.
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let vc = VcConfig { nsei: NSE, nsvci: Nsvci(1), port: gb_port(0), peer: address(SGSN_ADDRESS) };
        let radio =
            RadioConfig { rate_bit_per_s: 8000, queue_octets: 1000, delay: Duration::from_millis(10) };
        let cells = [2, 3].map(|n| CellConfig {
            downlink: radio,
            uplink: radio,
            ..CellConfig::with_rate(NSE, Bvci(n), cell_id(n), 8000)
        });
        let mut twice = Config::new(vec![vc; 2], cells.to_vec());
        assert!(matches!(Bss::new(twice.clone()), Err(ConfigError::Ns(_))));
        twice.vcs.truncate(1);
        twice.cells.push(cells[0]);
        assert!(matches!(Bss::new(twice), Err(ConfigError::Cell(_))));
        let mut config = Config::new(vec![vc], cells.to_vec());
        change(&mut config);
        let bss = Bss::new(config).unwrap();
        let mut world = Self {
            around: Surroundings::new(1, 64, Quiet::default()),
            bss,
            sgsn_around: Surroundings::new(2, 64, Quiet::default()),
            ns: NsEntity::new(NsConfig { open: vec![Port(0)], ..NsConfig::new(NsRole::Sgsn, 0) }),
            bvcs: Bvcs::new(bvc::Config::new(Role::Sgsn)),
            uplink: Vec::new(),
            unitdata: Vec::new(),
            um: Vec::new(),
            events: Vec::new(),
        };
        world.command(Command::Start);
        assert_eq!(world.events, [Event::CellUp(0), Event::CellUp(1)]);
        assert!(matches!(world.uplink[..], [Message::FlowControlBvc(_), Message::FlowControlBvc(_)]));
        assert!(world.bss.cell(0).unwrap().flow_control_acknowledged);
        world.uplink.clear();
        world
    }

    fn input(&mut self, input: Input<Command>) {
        let mut inputs = Batch::default();
        inputs.push(input);
        self.bss.handle_input(&mut self.around.context(), &mut inputs);
        let mut outputs = Batch::default();
        self.bss.poll_output(&mut self.around.context(), &mut outputs);
        while let Some(output) = outputs.pop() {
            match output {
                Output::Transmit { port: UM, peer: Peer::Slot(mobile), frame } => {
                    let header = UmHeader::parse(&frame).unwrap();
                    self.um.push((mobile, header, frame[HEADER_LEN..].to_vec()));
                }
                Output::Transmit { frame, .. } => self.deliver_to_sgsn(frame),
                Output::Classify(_) | Output::Disconnect(_) => {}
                Output::Event(event) => self.events.push(event),
            }
        }
    }

    fn command(&mut self, command: Command) {
        self.input(Input::Command(command));
    }

    fn deliver_to_sgsn(&mut self, frame: Frame) {
        let (mut out, mut bvc_out) = (Batch::default(), Batch::default());
        let mut cx = self.sgsn_around.context();
        self.ns.receive(&mut cx, Port(0), address(BSS_ADDRESS), frame, &mut out);
        while let Some(output) = out.pop() {
            match output {
                NsOutput::Transmit { frame, .. } => self.deliver_to_bss(frame),
                NsOutput::Unitdata { nsei, bvci, frame } => self.sgsn_pdu(nsei, bvci, &frame, &mut bvc_out),
                NsOutput::Status { .. } => {}
            }
        }
        while let Some(output) = bvc_out.pop() {
            if let BvcOutput::Send { bvci, message, .. } = output {
                self.send(bvci, &message.to_vec());
            }
        }
    }

    fn sgsn_pdu(&mut self, nsei: Nsei, bvci: Bvci, pdu: &[u8], out: &mut Batch<BvcOutput>) {
        if PduType::of(pdu) == Some(PduType::UlUnitdata) {
            let (header, llc) = UlUnitdata::parse(pdu).unwrap();
            self.unitdata.push((header.detached(), pdu[llc].to_vec()));
            return;
        }
        let message = Message::parse(pdu).unwrap();
        if let Message::FlowControlBvc(flow) = &message {
            self.send(bvci, &Message::FlowControlBvcAck { tag: flow.tag }.to_vec());
        }
        if !self.bvcs.receive(&mut self.sgsn_around.context(), nsei, &message, out) {
            self.uplink.push(message);
        }
    }

    fn deliver_to_bss(&mut self, frame: Frame) {
        let frame = self.around.frames.copy_of(&frame).unwrap();
        self.input(Input::Datagram { port: gb_port(0), peer: Peer::Udp(address(SGSN_ADDRESS)), frame });
    }

    /// The SGSN sends a BSSGP PDU.
    fn send(&mut self, bvci: Bvci, pdu: &[u8]) {
        let frame = self.sgsn_around.frames.copy_of(pdu).unwrap();
        let mut out = Batch::default();
        self.ns.unitdata_request(&mut self.sgsn_around.context(), NSE, bvci, 0, frame, &mut out);
        if let Some(NsOutput::Transmit { frame, .. }) = out.pop() {
            self.deliver_to_bss(frame);
        }
    }

    fn downlink(&mut self, bvci: u16, tlli: Tlli, octets: usize, lifetime_cs: u16) {
        let header = DlUnitdata::new(tlli, QosProfile::default(), PduLifetime(lifetime_cs));
        let mut pdu = vec![0; header.buffer_len(octets)];
        assert!(header.emit(octets, &mut pdu));
        pdu.resize(pdu.len() + octets, 0x55);
        self.send(Bvci(bvci), &pdu);
    }

    fn mobile_sends(&mut self, mobile: u32, kind: UmKind, cell: u16, tlli: Tlli, octets: &[u8]) {
        let mut frame = self.around.frames.copy_of(octets).unwrap();
        assert!(frame.prepend(&UmHeader { kind, cell, tlli, priority: None }.emit()));
        self.input(Input::Datagram { port: UM, peer: Peer::Slot(mobile), frame });
    }

    fn run_until(&mut self, ms: u64) {
        let end = Instant(ms * 1_000_000);
        while let Some(at) = self.around.timers.next().filter(|at| *at <= end) {
            self.around.now = at.max(self.around.now);
            let key = self.around.timers.pop_due(self.around.now).unwrap();
            self.input(Input::Timeout(key));
        }
        self.around.now = end;
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

fn discarded(bvci: u16, octets: u32) -> Message {
    Message::LlcDiscarded(LlcDiscarded { tlli: A, frames: 1, bvci: Bvci(bvci), octets })
}

#[test]
fn ll_pdus_go_both_ways_at_the_rate_of_the_radio() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::LlPdu, 0, A, &[0x41, 1, 2, 3]);
    world.run_until(13);
    assert!(world.unitdata.is_empty());
    world.run_until(14);
    let (header, octets) = &world.unitdata[0];
    assert_eq!((header.tlli, header.cell, octets.as_slice()), (A, cell_id(2), &[0x41, 1, 2, 3][..]));
    assert!(!header.qos.data, "SAPI 1 is signalling");
    world.downlink(2, A, 500, 0xffff);
    world.downlink(2, A, 100, 0xffff);
    world.run_until(523);
    assert!(world.um.is_empty());
    world.run_until(524);
    assert_eq!((world.um[0].0, world.um[0].2.len()), (5, 500));
    world.run_until(624);
    assert_eq!(world.um[1].1, UmHeader { kind: UmKind::LlPdu, cell: 0, tlli: A, priority: None });
    let counters = world.bss.cell(0).unwrap().counters;
    assert_eq!(counters.downlink, Amount { frames: 2, octets: 600 });
    assert_eq!(counters.uplink, Amount { frames: 1, octets: 4 });
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn what_is_discarded_is_told_to_the_sgsn() {
    let mut world = World::new();
    world.downlink(2, A, 10, 0xffff);
    let lost = Message::RadioStatus {
        mobile: MobileRef::Tlli(A),
        cause: gannet_wire::bssgp::ie::RadioCause::ContactLost,
    };
    assert_eq!(world.uplink, [discarded(2, 10), lost.clone()]);
    world.uplink.clear();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 700, 0xffff);
    world.downlink(2, A, 200, 10);
    world.downlink(2, A, 101, 0xffff);
    assert_eq!(world.uplink, [discarded(2, 101)], "more than its queue");
    world.run_until(700);
    assert_eq!(world.uplink[1..], [discarded(2, 200)], "too old when its turn came");
    world.downlink(2, A, 20, 0xffff);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.run_until(5699);
    assert_eq!((world.uplink.len(), world.bss.cell(0).unwrap().away.octets), (2, 720), "the mobile has left");
    world.run_until(5700);
    assert_eq!(world.uplink[2..], [discarded(2, 700), discarded(2, 20), lost], "and nobody fetches it");
    for drop in [Drop::BssUnknownMobile, Drop::BssOverrun, Drop::BssLifetime] {
        assert_eq!(world.drops(drop), 1, "{drop:?}");
    }
    assert_eq!((world.drops(Drop::BssContactLost), world.around.frames.free()), (2, 64));
}

#[test]
fn flush_deletes_or_moves_what_waits() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 300, 0xffff);
    world.downlink(2, A, 200, 0xffff);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    let flush = |new_bvci| Message::FlushLl { tlli: A, old_bvci: Bvci(2), new_bvci, new_nsei: None };
    world.send(Bvci::SIGNALLING, &flush(Some(Bvci(3))).to_vec());
    let ack = |action, new_bvci, octets| FlushLlAck { tlli: A, action, new_bvci, octets, new_nsei: None };
    let moved = ack(FlushAction::Transferred, Some(Bvci(3)), 500);
    assert_eq!(world.uplink, [Message::FlushLlAck(moved)]);
    world.run_until(510);
    assert_eq!(world.um.iter().map(|(.., octets)| octets.len()).collect::<Vec<_>>(), [300, 200]);
    world.uplink.clear();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 70, 0xffff);
    world.send(Bvci::SIGNALLING, &flush(None).to_vec());
    assert_eq!(world.uplink, [Message::FlushLlAck(ack(FlushAction::Deleted, None, 70))]);
    assert_eq!(world.drops(Drop::BssFlushed), 1);
    let unknown = Message::FlushLl { tlli: A, old_bvci: Bvci(9), new_bvci: None, new_nsei: None };
    world.send(Bvci::SIGNALLING, &unknown.to_vec());
    assert_eq!(world.sgsn_around.trace.drops.get(Drop::BssgpStatusReceived), 1);
}

fn moved(tlli: Tlli, octets: u32) -> Message {
    let (action, new_bvci) = (FlushAction::Transferred, Some(Bvci(3)));
    Message::FlushLlAck(FlushLlAck { tlli, action, new_bvci, octets, new_nsei: None })
}

fn lengths(world: &World) -> Vec<usize> {
    world.um.iter().map(|(.., octets)| octets.len()).collect()
}

#[test]
fn what_waits_for_a_mobile_follows_it_in_its_order() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    for octets in [100, 200, 300] {
        world.downlink(2, A, octets, 0xffff);
    }
    // The first has gone when the mobile leaves, and has not arrived.
    world.run_until(105);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.downlink(2, A, 50, 0xffff);
    world.run_until(1000);
    assert_eq!((world.um.len(), world.bss.cell(0).unwrap().away.octets), (0, 650));
    let flush = Message::FlushLl { tlli: A, old_bvci: Bvci(2), new_bvci: Some(Bvci(3)), new_nsei: Some(NSE) };
    world.send(Bvci::SIGNALLING, &flush.to_vec());
    let Some(Message::FlushLlAck(ack)) = world.uplink.pop() else { panic!() };
    assert_eq!((ack.action, ack.octets, ack.new_nsei), (FlushAction::Transferred, 650, Some(NSE)));
    world.downlink(3, A, 70, 0xffff);
    world.run_until(2000);
    assert_eq!(lengths(&world), [100, 200, 300, 50, 70]);
    assert!(world.um.iter().all(|(mobile, header, _)| (*mobile, header.cell) == (5, 1)));
    // Nothing more is expected there.
    world.downlink(2, A, 10, 0xffff);
    assert_eq!(world.drops(Drop::BssUnknownMobile), 1);
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn a_mobile_that_comes_back_finds_what_waited() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 300, 0xffff);
    world.downlink(2, A, 60, 30);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.run_until(400);
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 100, 0xffff);
    // The SGSN has heard it in the other cell, and then in this one.
    let flush = |old_bvci, new_bvci| Message::FlushLl { tlli: A, old_bvci, new_bvci, new_nsei: None };
    world.send(Bvci::SIGNALLING, &flush(Bvci(2), Some(Bvci(3))).to_vec());
    assert_eq!(world.uplink, [discarded(2, 60), moved(A, 400)], "one was too old");
    world.send(Bvci::SIGNALLING, &flush(Bvci(3), Some(Bvci(2))).to_vec());
    world.run_until(1000);
    assert_eq!(lengths(&world), [300, 100]);
    assert_eq!((world.drops(Drop::BssLifetime), world.around.frames.free()), (1, 64));
}

/// As it may be where they are of two NSEs, whose NS-VCs have no common order.
#[test]
fn an_sgsn_that_hears_two_cells_in_the_wrong_order_loses_nothing() {
    let mut world = World::new();
    let flush =
        |old_bvci, new_bvci| Message::FlushLl { tlli: A, old_bvci, new_bvci, new_nsei: None }.to_vec();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.send(Bvci::SIGNALLING, &flush(Bvci(2), Some(Bvci(3))));
    world.downlink(3, A, 100, 0xffff);
    // Now comes what it had sent in its first cell.
    world.send(Bvci::SIGNALLING, &flush(Bvci(3), Some(Bvci(2))));
    world.downlink(2, A, 200, 0xffff);
    world.run_until(1000);
    assert_eq!((lengths(&world), world.bss.cell(0).unwrap().away.octets), (vec![], 300));
    world.send(Bvci::SIGNALLING, &flush(Bvci(2), Some(Bvci(3))));
    world.run_until(2000);
    assert_eq!((lengths(&world), world.drops(Drop::BssUnknownMobile)), (vec![100, 200], 0));
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn no_more_waits_for_a_mobile_than_its_cell_has_room_for() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.downlink(2, A, 600, 0xffff);
    world.downlink(2, A, 401, 0xffff);
    world.downlink(2, A, 400, 0xffff);
    assert_eq!((&world.uplink[..], world.drops(Drop::BssOverrun)), (&[discarded(2, 401)][..], 1));
    // Its cell begins anew: so does what waited there.
    world.command(Command::ResetCell(0));
    assert_eq!((world.drops(Drop::BssFlushed), world.around.frames.free()), (2, 64));
}

#[test]
fn what_a_mobile_had_to_send_goes_out_in_its_new_cell() {
    let mut world = World::new();
    for number in 0..3 {
        world.mobile_sends(5, UmKind::LlPdu, 0, A, &[number; 100]);
    }
    world.run_until(105);
    world.mobile_sends(5, UmKind::LlPdu, 1, A, &[3; 100]);
    world.run_until(600);
    let heard: Vec<_> = world.unitdata.iter().map(|(header, octets)| (header.cell, octets[0])).collect();
    assert_eq!(heard, [(cell_id(2), 0), (cell_id(3), 1), (cell_id(3), 2), (cell_id(3), 3)]);
}

#[test]
fn a_bss_says_what_is_the_matter_with_a_mobile() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    let cause = gannet_wire::bssgp::ie::RadioCause::CellReselectionOrdered;
    world.command(Command::RadioStatus { mobile: 5, cause });
    assert_eq!(world.uplink, [Message::RadioStatus { mobile: MobileRef::Tlli(A), cause }]);
}

#[test]
fn a_page_is_heard_in_the_cells_of_its_area() {
    let mut world = World::new();
    let imsi = "001010000000001".parse().unwrap();
    let page = |area, ptmsi| {
        let paging = PagingPs { imsi, drx: None, area, pfi: None, qos: QosProfile::default(), ptmsi };
        Message::PagingPs(paging).to_vec()
    };
    world.send(Bvci::SIGNALLING, &page(PagingArea::RoutingArea(cell_id(2).rai), Some(7)));
    let heard = |world: &mut World| -> Vec<(u16, PagedIdentity)> {
        let all = core::mem::take(&mut world.um);
        assert!(
            all.iter().all(|(mobile, header, _)| { (*mobile, header.kind) == (BROADCAST, UmKind::PagingPs) })
        );
        all.iter().map(|(_, header, octets)| (header.cell, PagedIdentity::parse(octets).unwrap())).collect()
    };
    let by_ptmsi = PagedIdentity::PTmsi(PTmsi(7));
    assert_eq!(heard(&mut world), [(0, by_ptmsi), (1, by_ptmsi)]);
    world.send(Bvci::SIGNALLING, &page(PagingArea::Bvc(Bvci(3)), None));
    assert_eq!(heard(&mut world), [(1, PagedIdentity::Imsi(imsi))]);
    world.send(Bvci::SIGNALLING, &page(PagingArea::RoutingArea(Rai::default()), None));
    assert_eq!((heard(&mut world).len(), world.drops(Drop::BssPagedNowhere)), (0, 1));
}

#[test]
fn suspend_resume_and_capability() {
    let mut world = World::new();
    let rai = cell_id(2).rai;
    world.mobile_sends(5, UmKind::Suspend, 0, A, &rai.to_octets());
    assert_eq!(world.uplink, [Message::Suspend { tlli: A, rai }]);
    world.send(Bvci::SIGNALLING, &Message::SuspendAck { tlli: A, rai, reference: 9 }.to_vec());
    assert_eq!(
        world.um,
        [(5, UmHeader { kind: UmKind::SuspendAck, cell: 0, tlli: A, priority: None }, vec![9])]
    );
    let mut octets = rai.to_octets().to_vec();
    octets.push(9);
    world.mobile_sends(5, UmKind::Resume, 0, A, &octets);
    assert_eq!(world.uplink[1..], [Message::Resume { tlli: A, rai, reference: 9 }]);
    world.command(Command::AskRaCapability { mobile: 5 });
    assert!(matches!(world.uplink[2..], [Message::RaCapabilityUpdate { tlli: A, .. }]));
    world.send(Bvci(2), &Message::RaCapability { tlli: A, ms_ra_capability: vec![1, 2, 3] }.to_vec());
    assert_eq!(world.bss.mobiles().ra_capability(5), [1, 2, 3]);
    for (kind, octets) in [(UmKind::Suspend, &[1, 2][..]), (UmKind::PagingPs, &[])] {
        world.mobile_sends(5, kind, 0, A, octets);
    }
    world.mobile_sends(5, UmKind::LlPdu, 2, A, &[]);
    assert_eq!(world.drops(Drop::UmMalformed), 3);
}

#[test]
fn while_the_sgsn_is_overloaded_newcomers_wait() {
    let mut world = World::new();
    let newcomer = Tlli(0x7800_0001);
    let overload = |classes| Message::Overload { classes: Some(classes) }.to_vec();
    // Nobody is of a class that is not named.
    world.send(Bvci::SIGNALLING, &overload(PriorityClass(0xfe)));
    world.mobile_sends(5, UmKind::LlPdu, 0, newcomer, &[1; 10]);
    world.run_until(500);
    assert_eq!(world.unitdata.len(), 1);
    world.send(Bvci::SIGNALLING, &overload(PriorityClass::LOW_ACCESS_PRIORITY));
    for cell in [0, 1] {
        world.mobile_sends(5, UmKind::LlPdu, cell, newcomer, &[1; 10]);
        world.mobile_sends(6, UmKind::LlPdu, cell, A, &[2; 10]);
    }
    world.run_until(1000);
    let heard: Vec<_> = world.unitdata[1..].iter().map(|(header, _)| header.tlli).collect();
    assert_eq!((heard, world.drops(Drop::BssOverload)), (vec![A, A], 2));
    // It is over by itself, ten seconds after it was said.
    world.run_until(10_499);
    world.mobile_sends(5, UmKind::LlPdu, 0, newcomer, &[1; 10]);
    world.run_until(10_500);
    world.mobile_sends(5, UmKind::LlPdu, 0, newcomer, &[1; 10]);
    world.run_until(11_000);
    assert_eq!((world.unitdata.len(), world.drops(Drop::BssOverload)), (4, 3));
    // Without a class it is everybody's.
    world.send(Bvci::SIGNALLING, &Message::Overload { classes: None }.to_vec());
    world.mobile_sends(5, UmKind::LlPdu, 0, newcomer, &[1; 10]);
    assert_eq!(world.drops(Drop::BssOverload), 4);
    // An answer to what was not asked.
    let imsi = "001010000000001".parse().unwrap();
    let answer = Message::MsRegistrationEnquiryResponse { imsi, plmn: None };
    world.send(Bvci::SIGNALLING, &answer.to_vec());
    assert_eq!(world.drops(Drop::BssgpUnexpected), 1);
}

#[test]
fn flow_control_is_told_at_t_and_on_change_but_not_more_than_once_in_c() {
    let mut world = World::new();
    world.run_until(9_999);
    assert!(world.uplink.is_empty());
    world.run_until(10_000);
    assert!(matches!(world.uplink[..], [Message::FlowControlBvc(_), Message::FlowControlBvc(_)]));
    world.run_until(10_500);
    let bucket = Bucket { bmax_octets: 100_000, rate_bit_per_s: 10_000_000 };
    let flow = BvcParameters { bvc: bucket, default_ms: bucket };
    let downlink = RadioConfig { rate_bit_per_s: 10_000_000, queue_octets: 100_000, delay: Duration::ZERO };
    world.command(Command::SetRadio { cell: 1, downlink, flow });
    world.run_until(10_999);
    assert_eq!(world.uplink.len(), 2);
    world.run_until(11_000);
    let Message::FlowControlBvc(told) = &world.uplink[2] else { panic!() };
    assert_eq!((BvcParameters::from(told), told.tag), (flow, 3));
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    world.command(Command::FlowControlMs { mobile: 5, bucket });
    assert!(matches!(&world.uplink[3], Message::FlowControlMs(ms) if Bucket::from(ms) == bucket));
}

#[test]
fn a_blocked_cell_takes_nothing() {
    let mut world = World::new();
    world.events.clear();
    world.command(Command::BlockCell(0));
    world.mobile_sends(5, UmKind::LlPdu, 0, A, &[0x41]);
    world.downlink(2, A, 10, 0xffff);
    assert_eq!((world.drops(Drop::BssCellDown), world.drops(Drop::BssgpBlockedBvc)), (1, 1));
    world.command(Command::UnblockCell(0));
    assert_eq!(world.events, [Event::CellDown(0), Event::CellUp(0)]);
    world.downlink(3, A, 10, 0xffff);
    world.command(Command::ResetCell(1));
    assert_eq!(world.events[2..], [Event::CellDown(1), Event::CellUp(1)]);
    assert!(world.bss.cell(1).unwrap().up);
}

#[test]
fn garbage_is_answered_with_status() {
    let mut world = World::new();
    for (bvci, octets) in [(2, &[0x00][..]), (2, &[0x06, 0x0d]), (0, &[0x7f]), (9, &[0x00, 1, 2])] {
        world.send(Bvci(bvci), octets);
    }
    let wrong = Message::FlowControlMsAck { tlli: A, tag: 1 }.to_vec();
    world.send(Bvci(2), &wrong[..3]);
    assert_eq!(world.sgsn_around.trace.drops.get(Drop::BssgpStatusReceived), 5);
    assert_eq!((world.drops(Drop::BssgpMalformed), world.drops(Drop::BssgpUnknownBvc)), (4, 1));
    let resume = Message::Resume { tlli: A, rai: Rai::default(), reference: 1 };
    world.send(Bvci(0), &resume.to_vec());
    assert_eq!(world.drops(Drop::BssgpUnexpected), 1);
}

#[test]
fn thousands_of_damaged_datagrams_leave_nothing_behind() {
    let mut world = World::new();
    let mut dice = gannet_machine::rng::Rng::seeded(7);
    let rai = cell_id(2).rai;
    let imsi = "001010000000001".parse().unwrap();
    let area = PagingArea::RoutingArea(rai);
    let paging = PagingPs { imsi, drx: None, area, pfi: None, qos: QosProfile::default(), ptmsi: Some(7) };
    let header = DlUnitdata::new(A, QosProfile::default(), PduLifetime(50));
    let mut unitdata = vec![0; header.buffer_len(40)];
    assert!(header.emit(40, &mut unitdata));
    unitdata.resize(unitdata.len() + 40, 1);
    let flush = Message::FlushLl { tlli: A, old_bvci: Bvci(2), new_bvci: Some(Bvci(3)), new_nsei: None };
    let messages = [
        unitdata,
        Message::PagingPs(paging).to_vec(),
        flush.to_vec(),
        Message::SuspendAck { tlli: A, rai, reference: 9 }.to_vec(),
        Message::RaCapability { tlli: A, ms_ra_capability: vec![1; 50] }.to_vec(),
        Message::FlowControlBvcAck { tag: 1 }.to_vec(),
    ];
    for round in 0..4000_u64 {
        let mut octets = messages[usize::try_from(dice.below(6)).unwrap()].clone();
        for _ in 0..dice.below(4) {
            let at = usize::try_from(dice.below(octets.len() as u64)).unwrap();
            octets[at] = dice.u32().to_be_bytes()[0];
        }
        octets.truncate(usize::try_from(1 + dice.below(octets.len() as u64 * 2)).unwrap());
        let kind = [UmKind::LlPdu, UmKind::CampOn, UmKind::Suspend, UmKind::Resume][(round % 4) as usize];
        let cell = u16::try_from(dice.below(3)).unwrap();
        world.mobile_sends(u32::try_from(dice.below(6)).unwrap(), kind, cell, A, &octets);
        world.send(Bvci(u16::try_from(dice.below(5)).unwrap()), &octets);
        let frame = world.around.frames.copy_of(&octets).unwrap();
        world.input(Input::Datagram { port: UM, peer: Peer::Slot(1), frame });
        world.run_until(round * 20);
        world.um.clear();
        world.uplink.clear();
        world.unitdata.clear();
    }
    world.command(Command::ResetCell(0));
    world.command(Command::ResetCell(1));
    assert!(world.bss.cell(0).unwrap().up && world.bss.cell(1).unwrap().up);
    assert_eq!((world.around.frames.free(), world.sgsn_around.frames.free()), (64, 64));
}

#[test]
fn five_times_the_load_never_overruns_a_radio_whose_buckets_are_kept() {
    let mut world = World::new();
    let rate_octets_per_s = 20_000;
    let bucket = Bucket { bmax_octets: 4000, rate_bit_per_s: rate_octets_per_s * 8 };
    let flow = BvcParameters { bvc: bucket, default_ms: bucket };
    let (rate_bit_per_s, queue_octets) = (bucket.rate_bit_per_s, bucket.bmax_octets);
    let downlink = RadioConfig { rate_bit_per_s, queue_octets, delay: Duration::ZERO };
    world.command(Command::SetRadio { cell: 0, downlink, flow });
    for mobile in 0..10 {
        world.mobile_sends(mobile, UmKind::CampOn, 0, Tlli(0xc000_0000 + mobile), &[]);
    }
    let limit = Limit { pdus: 30, octets: 30_000 };
    let limits = Limits { ms: limit, cell: Limit { pdus: 300, octets: 300_000 } };
    let config = flow_control::Config { initial: flow, data: limits, ..flow_control::Config::default() };
    let mut control = FlowControl::new(config);
    let mut around = Surroundings::new(3, 400, Quiet::default());
    let end = 20_000;
    for ms in 0..end {
        around.now = Instant(ms * 1_000_000);
        if ms % 5 == 0 {
            let mobile = u32::try_from(ms / 5 % 10).unwrap();
            let mut frame = around.frames.alloc().unwrap();
            assert!(frame.set_len(500));
            let pdu = Pdu {
                class: CellClass::BestEffort,
                precedence: Precedence::Normal,
                is_ahead: false,
                expires: Instant(u64::MAX),
                meta: Meta(mobile),
                frame,
            };
            control.enqueue(&mut around.context(), 0, Some(mobile), pdu);
        }
        world.run_until(ms);
        while let Dequeue::Pdu { pdu, .. } = control.dequeue(&mut around.context()) {
            world.downlink(2, Tlli(0xc000_0000 + pdu.meta.0), pdu.frame.len(), 0xffff);
        }
    }
    assert_eq!(world.drops(Drop::BssOverrun), 0);
    assert!(world.uplink.iter().all(|message| matches!(message, Message::FlowControlBvc(_))));
    let delivered = world.bss.cell(0).unwrap().counters.downlink.octets;
    let possible = rate_octets_per_s * end / 1000;
    assert!(delivered + 4000 >= possible && delivered <= possible, "{delivered} of {possible}");
    let each: Vec<usize> =
        (0..10).map(|n| world.um.iter().filter(|(mobile, ..)| *mobile == n).count()).collect();
    assert!(each.iter().all(|count| count.abs_diff(each[0]) <= 1), "turns go round: {each:?}");
    assert!(around.trace.drops.get(Drop::FlowMsQueueFull) > 2000);
}

#[derive(Debug, Clone, Copy)]
struct Meta(u32);

impl PduMeta for Meta {
    fn whose(&self) -> Option<gannet_wire::id::Imsi> {
        None
    }
}
