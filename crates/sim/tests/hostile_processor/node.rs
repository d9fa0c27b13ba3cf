//! An SGSN with ten mobiles under a processor, driven as a loop that never sleeps drives it: a ring, turns, slices.

use core::net::{Ipv4Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::load::{Load, TurnCost};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine, Output, Peer, Surroundings};
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsCommand, MsConfig};
use gannet_node::sgsn::{GB, GTP_C, GTP_U, GgsnPeer, Sgsn, SgsnCommand, SgsnConfig};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::classifier::{Key, RuleChange};
use gannet_proto::gtp::Version;
use gannet_sim::gprs::{GGSN_GN, GprsWorld, SGSN_GB, SGSN_GN, WorldConfig, bss_address};
use gannet_sim::link::LinkProfile;
use gannet_sim::processor::Processor;
use gannet_wire::bssgp::Message;
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai, Teid};
use gannet_wire::ns;
use std::collections::{BTreeSet, VecDeque};

pub const MOBILES: u32 = 10;
const NSAPI: Nsapi = Nsapi(5);
const NSEI: Nsei = Nsei(101);

/// Packets that wait until the loop looks.
const RING: usize = 1024;
/// Packets that a turn takes.
const TAKEN: usize = 256;
const SLICE: Duration = Duration::from_micros(160);
/// An idle loop looks so often.
const LOOK: Duration = Duration::from_micros(200);

/// What comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// An N-PDU of so many octets for a mobile.
    NPdu(u32, u16),
    /// Octets without sense from the BSS that is known.
    Garbage(u64),
    /// Something that has an answer: NS-ALIVE on Gb, or an Echo Request on Gn.
    Signalling(bool),
    /// A page for an operator, which takes so many microseconds.
    Page(u32),
}

/// What everything takes on the undisturbed processor, in ns.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// A poll, and what a turn takes besides.
    pub turn: u64,
    pub receive: u64,
    pub enqueue: u64,
    pub serve: u64,
    pub send: u64,
    /// What garbage and signalling take beside being received.
    pub other: u64,
}

impl Costs {
    pub const fn times(factor: u64) -> Self {
        Self {
            turn: 1000 * factor,
            receive: 500 * factor,
            enqueue: 100 * factor,
            serve: 1000 * factor,
            send: 500 * factor,
            other: 3000 * factor,
        }
    }

    /// Of one of many.
    pub const fn of_many(&self) -> u64 {
        self.receive + self.enqueue + self.serve + self.send
    }

    pub const fn of(&self, what: What) -> u64 {
        match what {
            What::NPdu(..) => self.of_many(),
            What::Garbage(_) | What::Signalling(_) => self.turn + self.receive + self.other,
            What::Page(us) => us as u64 * 1000,
        }
    }
}

pub struct Node {
    pub sgsn: Sgsn,
    pub around: Surroundings<Quiet>,
    pub processor: Processor,
    pub load: Load,
    pub costs: Costs,
    pub pending: VecDeque<(Instant, What)>,
    /// Packets that the ring had no room for.
    pub lost: u64,
    /// What a driver was told to drop, and how often.
    pub blocked: BTreeSet<Teid>,
    pub blocks: u64,
    /// Dropped by the driver since it was told to.
    pub kept_out: u64,
    turn: TurnCost,
    unfinished: bool,
    short_of_time: bool,
    teids: Vec<Teid>,
}

fn config() -> WorldConfig {
    let id = CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 1 }, ci: 100 };
    let vc = VcConfig { nsei: NSEI, nsvci: Nsvci(201), port: gb_port(0), peer: SGSN_GB };
    let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 24);
    WorldConfig {
        seed: 1,
        frames: 2048,
        gb: LinkProfile::default(),
        gn: LinkProfile::default(),
        sgsn: SgsnConfig {
            mobiles_max: 64,
            cells_max: 4,
            gtp_address: SGSN_GN,
            ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: Version::V1 }],
            ..SgsnConfig::default()
        },
        ggsn: GgsnConfig::new(GGSN_GN, vec![apn]),
        bss: bss::Config::new(vec![vc], vec![CellConfig::new(NSEI, Bvci(2), id)]),
        ms: MsConfig::new(MOBILES, "001010000000001".parse().unwrap(), vec![id]),
    }
}

impl Node {
    /// All mobiles have a context, and the radio is no bottleneck.
    pub fn new(costs: Costs) -> Self {
        let mut world = GprsWorld::new(config()).unwrap();
        world.start();
        let run = |world: &mut GprsWorld, seconds: u64| {
            let end = world.now + Duration::from_secs(seconds);
            while world.now < end {
                world.run_until(end);
                world.happenings.clear();
            }
        };
        run(&mut world, 5);
        for mobile in 0..MOBILES {
            world.order_ms(MsCommand::Attach { mobile });
            let (apn, qos, address) = (None, None, None);
            world.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn, qos, address });
        }
        run(&mut world, 5);
        let wide = Bucket { bmax_octets: 6_000_000, rate_bit_per_s: 6_000_000 };
        let parameters = BvcParameters { bvc: wide, default_ms: wide };
        let message = Message::FlowControlBvc(parameters.to_message(1)).to_vec();
        let octets = [&ns::Unitdata::of(Bvci(2)).emit()[..], &message].concat();
        let mut sgsn = world.sgsn.machine;
        let teids: Vec<Teid> =
            sgsn.mobiles().map(|(slot, _)| slot).filter_map(|slot| sgsn.teid(slot, NSAPI)).collect();
        assert_eq!(teids.len(), MOBILES as usize);
        let mut around = Surroundings::new(1, 16_384, Quiet::default());
        around.now = world.now;
        let mut inputs = Batch::default();
        let frame = around.frames.copy_of(&octets).unwrap();
        inputs.push(Input::Datagram { port: GB, peer: Peer::Udp(bss_address(0)), frame });
        sgsn.handle_input(&mut around.context(), &mut inputs);
        Self {
            sgsn,
            processor: Processor::new(world.now),
            around,
            load: Load::default(),
            costs,
            pending: VecDeque::new(),
            lost: 0,
            blocked: BTreeSet::new(),
            blocks: 0,
            kept_out: 0,
            turn: TurnCost::default(),
            unfinished: false,
            short_of_time: false,
            teids,
        }
    }

    pub fn now(&self) -> Instant {
        self.processor.now()
    }

    /// What an N-PDU costs, as it is estimated.
    pub fn estimate(&self) -> u32 {
        self.sgsn.flows().unwrap().pace().cost().per_pdu_ns
    }

    /// What may never be lost for a reason that is the node's and not its owner's.
    pub fn lost_by_the_node(&self) -> u64 {
        let drops = &self.around.trace.drops;
        let names =
            [Drop::FlowQueueNodeFull, Drop::FlowQueuePushedOut, Drop::FlowQueueCellFull, Drop::NoFrame];
        self.lost + self.kept_out + names.map(|name| drops.get(name)).iter().sum::<u64>()
    }

    /// Its time goes on.
    pub fn run_until(&mut self, end: Instant) {
        while self.now() < end {
            let wake = self.around.timers.next();
            let next = self.pending.front().map(|(at, _)| *at).into_iter().chain(wake).min();
            if !self.unfinished && next.is_none_or(|at| at > self.now()) {
                self.load.follow(self.now(), false);
                let next = next.unwrap_or(end).min(end).min(self.now() + LOOK);
                self.processor.idle(next);
                continue;
            }
            self.turn();
        }
    }

    fn work(&mut self, ns: u64) {
        self.processor.work(Duration(ns));
    }

    /// One turn of the driver: see `gannet_rt::EventLoop::turn`.
    fn turn(&mut self) {
        let now = self.now();
        self.around.now = now;
        self.turn.begin(now);
        let short_of_time = self.load.lasts();
        if core::mem::replace(&mut self.short_of_time, short_of_time) != short_of_time {
            self.sgsn.set_short_of_time(short_of_time);
        }
        self.work(self.costs.turn);
        let mut page_us = 0;
        let mut inputs = Batch::default();
        let enough = self.sgsn.has_enough();
        let (mut received, mut others) = (0, 0);
        for _ in 0..if enough { 0 } else { TAKEN } {
            let Some((_, what)) = self.pending.front().copied().filter(|(at, _)| *at <= now) else { break };
            self.pending.pop_front();
            match what {
                What::Page(us) => page_us += us,
                What::NPdu(mobile, octets) => {
                    let teid = self.teids[mobile as usize];
                    if self.blocked.contains(&teid) {
                        self.kept_out += 1;
                        continue;
                    }
                    received += 1;
                    inputs.push(self.g_pdu(teid, octets));
                }
                What::Garbage(_) | What::Signalling(_) => {
                    others += 1;
                    inputs.push(self.other(what));
                }
            }
        }
        self.work((received + others) * self.costs.receive);
        self.overflow(now);
        while let Some(key) = self.around.timers.pop_due(now) {
            inputs.push(Input::Timeout(key));
        }
        let began = self.now();
        if !inputs.is_empty() {
            self.sgsn.handle_input(&mut self.around.context(), &mut inputs);
            self.work(received * self.costs.enqueue + others * self.costs.other);
            self.turn.add_other(self.now().since(began));
        }
        self.unfinished = self.work_on(began + SLICE);
        let began = self.now();
        self.work(u64::from(page_us) * 1000);
        self.turn.add_other(self.now().since(began));
        self.load.follow(now, self.unfinished || received + others > 0);
        let now = self.now();
        self.sgsn.turn_took(now, self.turn.ended(now));
    }

    /// The machine works until its slice is over; true where there is more to do.
    fn work_on(&mut self, end: Instant) -> bool {
        let mut outputs = Batch::default();
        loop {
            let served = self.served();
            self.sgsn.poll_output(&mut self.around.context(), &mut outputs);
            let (served, mut sent) = (self.served() - served, 0);
            self.work(served * self.costs.serve);
            if outputs.is_empty() && !self.sgsn.has_work() {
                return false;
            }
            while let Some(output) = outputs.pop() {
                match output {
                    Output::Transmit { .. } => sent += 1,
                    Output::Classify(RuleChange::Block(Key::Teid(teid), _)) => {
                        self.blocks += 1;
                        self.blocked.insert(teid);
                    }
                    Output::Classify(RuleChange::Unblock(Key::Teid(teid), _)) => {
                        self.blocked.remove(&teid);
                    }
                    Output::Classify(_) | Output::Event(_) | Output::Disconnect(_) => {}
                }
            }
            self.work(sent * self.costs.send);
            if self.now() >= end {
                return true;
            }
        }
    }

    fn served(&self) -> u64 {
        self.sgsn.flows().unwrap().queues().totals().served.iter().sum()
    }

    /// What came while the ring was full is lost.
    fn overflow(&mut self, now: Instant) {
        let waiting = self.pending.iter().take_while(|(at, _)| *at <= now).count();
        if waiting > RING {
            self.pending.drain(RING..waiting);
            self.lost += (waiting - RING) as u64;
        }
    }

    fn g_pdu(&self, teid: Teid, octets: u16) -> Input<SgsnCommand> {
        let t_pdu = vec![0x45; octets.into()];
        let header = GPdu { teid, sequence: None, npdu_number: None };
        let mut datagram = vec![0; header.buffer_len()];
        assert!(header.emit(t_pdu.len(), &mut datagram));
        datagram.extend(t_pdu);
        let peer = Peer::Udp(SocketAddr::new(GGSN_GN, 2152));
        Input::Datagram { port: GTP_U, peer, frame: self.around.frames.copy_of(&datagram).unwrap() }
    }

    fn other(&self, what: What) -> Input<SgsnCommand> {
        let (octets, is_gn) = match what {
            What::Signalling(true) => (vec![0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0], true),
            What::Signalling(false) => (ns::Pdu::Alive.to_vec(), false),
            // UNITDATA of NS with what is no PDU of BSSGP, and what is none of NS.
            What::Garbage(dice) => {
                let first: &[u8] = if dice & 1 == 0 { &[0, 0, 0, 2] } else { &[] };
                ([first, &dice.to_be_bytes(), &dice.to_le_bytes()].concat(), false)
            }
            What::NPdu(..) | What::Page(_) => unreachable!(),
        };
        let frame = self.around.frames.copy_of(&octets).unwrap();
        let (port, peer) = if is_gn { (GTP_C, SocketAddr::new(GGSN_GN, 2123)) } else { (GB, bss_address(0)) };
        Input::Datagram { port, peer: Peer::Udp(peer), frame }
    }
}
