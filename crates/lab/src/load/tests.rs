//! The emulator against our own SGSN, in virtual time, over links that may lose.

mod acknowledged;
mod ciphered;

use super::config::{GTP_C as LOAD_C, GTP_U as LOAD_U};
use super::emulator::Command;
use super::*;
use crate::hlr::{Conversation, Hlr};
use core::net::{IpAddr, Ipv4Addr};
use gannet_machine::drops::Drop;
use gannet_machine::frame::FramePool;
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;
use gannet_machine::trace::Quiet;
use gannet_machine::{Input, Peer, StreamState};
use gannet_node::sgsn::{GB, GTP_C, GTP_U, GgsnPeer, HLR, Sgsn, SgsnCommand, SgsnConfig};
use gannet_sim::driven::{Driven, Emission};
use gannet_wire::gtp::v1c::{DeleteRequest, emit_datagram};
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::{PeakThroughput, PrecedenceClass};
use std::collections::VecDeque;

const FRAMES: usize = 8192;
const SGSN_GB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 23_000);
const SGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 5));
const BSS_GB: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 6));
const GB_PORT: u16 = 22_000;

/// Which machine a datagram goes to, where, and from whom.
enum To {
    Sgsn(Port, SocketAddr),
    Load(Port, SocketAddr),
    SgsnFromHlr,
}

struct World {
    now: Instant,
    frames: FramePool,
    load: Driven<Emulator, Quiet>,
    sgsn: Driven<Sgsn, Quiet>,
    under_way: VecDeque<(To, gannet_machine::frame::Frame)>,
    dice: Rng,
    loss: f64,
    told: Vec<Event>,
    hlr: Option<(Hlr, Conversation)>,
}

impl World {
    fn new(change: impl FnOnce(&mut LoadConfig, &mut SgsnConfig)) -> Self {
        let mut config = LoadConfig::new(SocketAddr::new(BSS_GB, GB_PORT), SGSN_GB, GGSN);
        (config.users, config.cells, config.nses) = (1000, 400, 3);
        let mut sgsn = SgsnConfig {
            mobiles_max: 2048,
            cells_max: 512,
            gtp_address: SGSN_GN,
            ggsns: vec![GgsnPeer { number: 0, address: GGSN, version: gannet_proto::gtp::Version::V1 }],
            ..SgsnConfig::default()
        };
        sgsn.flow.cells_max = 512;
        sgsn.flow.ms_max = 2048;
        change(&mut config, &mut sgsn);
        let frames = FramePool::new(FRAMES);
        let emulator = Emulator::new(config).unwrap();
        let mut dice = Rng::seeded(7);
        let mut world = Self {
            now: Instant::ZERO,
            load: Driven::new(emulator, Quiet::default(), dice.fork(), frames.clone()),
            sgsn: Driven::new(Sgsn::new(sgsn, 7), Quiet::default(), dice.fork(), frames.clone()),
            frames,
            under_way: VecDeque::new(),
            dice,
            loss: 0.0,
            told: Vec::new(),
            hlr: None,
        };
        let mut sent = Vec::new();
        world.sgsn.give(world.now, Input::Command(SgsnCommand::Start), |e| sent.push(e), |_| {});
        world.load.give(world.now, Input::Command(Command::Start), |e| sent.push(e), |_| {});
        world.route(sent);
        world.run(Duration::from_secs(1));
        world
    }

    /// Sends on what either has sent: where it goes tells whose it is.
    fn route(&mut self, sent: Vec<Emission>) {
        for Emission { port, peer, frame } in sent {
            let to = match peer {
                Peer::Udp(to) => to,
                Peer::Link if port == HLR => {
                    self.ask_hlr(&frame);
                    continue;
                }
                other => panic!("{other:?}"),
            };
            if self.dice.chance(self.loss) {
                continue;
            }
            let from_sgsn = |number| SocketAddr::new(SGSN_GN, number);
            let target = match (to.ip(), to.port()) {
                (ip, 2123) if ip == GGSN => To::Load(LOAD_C, from_sgsn(2123)),
                (ip, 2152) if ip == GGSN => To::Load(LOAD_U, from_sgsn(2152)),
                (ip, number) if ip == BSS_GB => To::Load(Port(number - GB_PORT), SGSN_GB),
                (ip, 2123) if ip == SGSN_GN => To::Sgsn(GTP_C, SocketAddr::new(GGSN, 2123)),
                (ip, 2152) if ip == SGSN_GN => To::Sgsn(GTP_U, SocketAddr::new(GGSN, 2152)),
                _ if to == SGSN_GB => To::Sgsn(GB, SocketAddr::new(BSS_GB, GB_PORT + port.0)),
                other => panic!("nobody at {other:?}"),
            };
            self.under_way.push_back((target, frame));
        }
    }

    /// What the SGSN says to the HLR; the answer is on its way.
    fn ask_hlr(&mut self, octets: &[u8]) {
        let (hlr, conversation) = self.hlr.as_mut().expect("an HLR");
        let mut answer = Vec::new();
        conversation.receive(hlr, octets, &mut answer).unwrap();
        self.hlr_says(&answer);
    }

    fn hlr_says(&mut self, octets: &[u8]) {
        if !octets.is_empty() {
            self.under_way.push_back((To::SgsnFromHlr, self.frames.copy_of(octets).unwrap()));
        }
    }

    /// The connection to the HLR comes up.
    fn connect_hlr(&mut self) {
        let users = self.load.machine.config().users;
        let mut greeting = Vec::new();
        self.hlr = Some((Hlr::new(users, 5), Conversation::new(&mut greeting)));
        let mut sent = Vec::new();
        let connected = Input::Stream { port: HLR, state: StreamState::Connected };
        self.sgsn.give(self.now, connected, |e| sent.push(e), |_| {});
        self.route(sent);
        self.hlr_says(&greeting);
        self.deliver();
    }

    fn deliver(&mut self) {
        while let Some((to, frame)) = self.under_way.pop_front() {
            let mut sent = Vec::new();
            match to {
                To::Sgsn(port, from) => {
                    let input = Input::Datagram { port, peer: Peer::Udp(from), frame };
                    self.sgsn.give(self.now, input, |e| sent.push(e), |_| {});
                }
                To::SgsnFromHlr => {
                    let input = Input::Datagram { port: HLR, peer: Peer::Link, frame };
                    self.sgsn.give(self.now, input, |e| sent.push(e), |_| {});
                }
                To::Load(port, from) => {
                    let input = Input::Datagram { port, peer: Peer::Udp(from), frame };
                    let told = &mut self.told;
                    self.load.give(self.now, input, |e| sent.push(e), |event| told.push(event));
                }
            }
            self.route(sent);
        }
    }

    /// Lets time go by.
    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.deliver();
            let next = [self.load.next_wake(), self.sgsn.next_wake()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            let mut sent = Vec::new();
            while self.load.wake(self.now, |e| sent.push(e), |_| {}) {}
            while self.sgsn.wake(self.now, |e| sent.push(e), |_| {}) {}
            self.route(sent);
        }
        self.now = end;
    }

    fn act<R>(&mut self, action: impl FnOnce(&mut Emulator, &mut Context<'_>) -> R) -> R {
        let mut sent = Vec::new();
        let told = &mut self.told;
        let result = self.load.act(self.now, action, |e| sent.push(e), |event| told.push(event));
        self.route(sent);
        self.deliver();
        result
    }

    fn order(&mut self, users: Range<u32>, order: Order, profile: Option<&dyn Fn(u32) -> Profile>) {
        self.act(|emulator, cx| emulator.order(cx, users, order, profile));
        for _ in 0..600 {
            if self.load.machine.unfinished() == 0 {
                return;
            }
            self.run(Duration::from_secs(1));
        }
        panic!("{} are not done: {:?}", self.load.machine.unfinished(), self.stats());
    }

    fn stats(&self) -> Stats {
        self.load.machine.stats
    }

    fn phases(&self, phase: Phase) -> usize {
        self.load.machine.users().filter(|user| user.phase == phase).count()
    }

    /// What the SGSN knows of a user's context.
    fn qos_of(&self, user: u32) -> gannet_wire::l3::ie::QosProfile {
        let (_, mobile) = self.sgsn.machine.mobile_of(imsi(user)).expect("attached");
        mobile.sm().get(Nsapi(5)).expect("active").qos()
    }

    /// A T-PDU for a user arrives at the SGSN.
    fn g_pdu(&mut self, user: u32, t_pdu: &[u8]) {
        let teid = self.load.machine.user(user).unwrap().sgsn_data;
        let g_pdu = gannet_wire::gtp::v1u::GPdu { teid, sequence: None, npdu_number: None };
        let mut octets = vec![0; g_pdu.buffer_len()];
        assert!(g_pdu.emit(t_pdu.len(), &mut octets));
        octets.extend(t_pdu);
        let frame = self.frames.copy_of(&octets).unwrap();
        self.under_way.push_back((To::Sgsn(GTP_U, SocketAddr::new(GGSN, 2152)), frame));
        self.deliver();
    }

    /// Who got what since this was last asked for.
    fn downlink(&mut self) -> Vec<(u32, Vec<u8>)> {
        let arrived = self.told.drain(..).filter_map(|event| match event {
            Event::Downlink { user, segment: 0, more: false, frame } => Some((user, frame.to_vec())),
            Event::Downlink { .. } | Event::Uplink { .. } => None,
        });
        arrived.collect()
    }
}

fn slow(_: u32) -> Profile {
    Profile::best_effort(8_000).r97()
}

fn fast(_: u32) -> Profile {
    Profile::real_time(60_000).precedence(PrecedenceClass::HIGH)
}

#[test]
fn a_thousand_users_attach_move_and_change_their_qos() {
    let mut world = World::new(|_, _| {});
    assert_eq!(world.load.machine.cells_up(), 400);
    assert_eq!(world.stats().flow_control_sent, 400);
    assert_eq!(world.stats().flow_control_acknowledged, 400);

    world.order(0..1000, Order::Activate, Some(&slow));
    assert_eq!((world.phases(Phase::Active), world.stats().failed), (1000, 0));
    assert_eq!(world.sgsn.machine.stats().activated, 1000);
    assert_eq!(world.qos_of(999).peak, PeakThroughput::from_octets_per_s(8_000));
    let users: Vec<User> = world.load.machine.users().collect();
    assert!(users.iter().all(|user| user.n201_u == 1520), "the SGSN offered 1520");
    assert_eq!(
        users.iter().map(|user| user.sgsn_data).collect::<std::collections::BTreeSet<_>>().len(),
        1000
    );
    assert_eq!(world.load.machine.user_of(users[17].tlli), Some(17));
    assert_eq!(world.load.machine.sgsn_user(), Some(SGSN_GN));

    // Data for the right one, before and after a cell change.
    world.load.machine.tells_data = true;
    world.g_pdu(123, b"first");
    assert_eq!(world.downlink(), [(123, b"first".to_vec())]);
    for user in 0..1000 {
        world.act(|emulator, cx| emulator.move_user(cx, user, (user * 7 + 3) % 400));
    }
    world.run(Duration::from_secs(1));
    let moved = (0..1000_u32).filter(|user| user % 400 != (user * 7 + 3) % 400).count();
    assert_eq!(world.stats().flushed, moved as u64);
    world.g_pdu(123, b"second");
    assert_eq!(world.downlink(), [(123, b"second".to_vec())]);

    // Another quality of service: another context.
    world.order(0..500, Order::Activate, Some(&fast));
    assert_eq!((world.phases(Phase::Active), world.stats().deactivated), (1000, 500));
    assert_eq!(world.qos_of(42).precedence, PrecedenceClass::HIGH);
    assert!(world.qos_of(42).r99.is_some() && world.qos_of(542).r99.is_none());
    world.g_pdu(42, b"third");
    assert_eq!(world.downlink(), [(42, b"third".to_vec())]);
    // Or the same context, as the GGSN wishes.
    let teid = world.load.machine.user(42).unwrap().sgsn_data;
    assert!(world.act(|emulator, cx| emulator.update_qos(cx, 42, slow(42))));
    assert_eq!((world.stats().updated, world.stats().updates_refused), (1, 0));
    assert_eq!((world.qos_of(42).precedence, world.qos_of(42).r99), (PrecedenceClass::NORMAL, None));
    assert_eq!(world.load.machine.user(42).unwrap().sgsn_data, teid);

    world.order(0..1000, Order::Deactivate, None);
    assert_eq!((world.phases(Phase::Attached), world.stats().deactivated), (1000, 1500));
    world.order(0..1000, Order::Detach, None);
    assert_eq!((world.phases(Phase::Detached), world.stats().detached), (1000, 1000));
    assert_eq!(world.stats().repeated, 0);
    let Stats { fcs_wrong, unknown_tlli, wrong_cell, malformed, status, paged, .. } = world.stats();
    assert_eq!([fcs_wrong, unknown_tlli, wrong_cell, malformed, status, paged], [0; 6]);
    world.run(Duration::from_secs(10));
    assert_eq!(world.frames.free(), FRAMES, "every frame is back");
}

#[test]
fn cells_come_up_however_often_their_nses_did_before() {
    let mut world = World::new(|_, _| ());
    world.loss = 0.5;
    for _ in 0..20 {
        world.act(|emulator, cx| {
            (0..3).for_each(|nse| emulator.nse_up(nse));
            emulator.start_resets(cx);
        });
        world.run(Duration::from_secs(2));
    }
    world.loss = 0.0;
    world.run(Duration::from_secs(120));
    assert_eq!((world.load.machine.cells_up(), world.load.machine.resets_pending), (400, 0));
}

#[test]
fn uplink_reaches_the_ggsn_in_one_piece() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (40, 10));
    world.order(0..40, Order::Activate, Some(&slow));
    world.load.machine.tells_data = true;
    let n_pdu: Vec<u8> = (0..1400_u32).map(|n| n.to_be_bytes()[3]).collect();
    assert!(world.act(|emulator, cx| emulator.send_n_pdu(cx, 7, &n_pdu)));
    // The same as a generator of its own would send it.
    let mut octets = Vec::new();
    let nse = world.load.machine.n_pdu_on_gb(8, &n_pdu, &mut octets).unwrap();
    assert_eq!(nse, world.load.machine.config().nse_of(8));
    let frame = world.frames.copy_of(&octets).unwrap();
    let from = SocketAddr::new(BSS_GB, GB_PORT + nse);
    world.under_way.push_back((To::Sgsn(GB, from), frame));
    world.deliver();
    let up = world.told.drain(..).map(|event| match event {
        Event::Uplink { user, frame } => (user, frame.to_vec()),
        Event::Downlink { .. } => panic!("downlink"),
    });
    assert_eq!(up.collect::<Vec<_>>(), [(7, n_pdu.clone()), (8, n_pdu)]);
    assert_eq!(world.load.machine.user(8).unwrap().g_pdus, 1);
    assert!(!world.act(|emulator, cx| emulator.send_n_pdu(cx, 40, &[0; 20])), "there is no such user");
}

#[test]
fn long_n_pdus_go_in_segments_where_the_mobile_keeps_500_octets() {
    let mut world = World::new(|load, _| (load.users, load.cells, load.n201_u) = (1, 1, 500));
    world.order(0..1, Order::Activate, Some(&slow));
    assert_eq!(world.load.machine.user(0).unwrap().n201_u, 500);
    world.load.machine.tells_data = true;
    let n_pdu = vec![0x5a; 1400];
    assert!(world.act(|emulator, cx| emulator.send_n_pdu(cx, 0, &n_pdu)));
    world.g_pdu(0, &n_pdu);
    let (mut down, mut up) = (Vec::new(), Vec::new());
    for event in world.told.drain(..) {
        match event {
            Event::Downlink { segment, more, frame, .. } => down.push((segment, more, frame.len())),
            Event::Uplink { frame, .. } => up.push(frame.to_vec()),
        }
    }
    assert_eq!(up, [n_pdu]);
    assert_eq!(
        down.iter().map(|(segment, more, _)| (*segment, *more)).collect::<Vec<_>>(),
        [(0, true), (1, true), (2, false)]
    );
    assert_eq!(down.iter().map(|(_, _, len)| len).sum::<usize>(), 1400);
    assert!(world.load.machine.n_pdu_on_gb(0, &[0; 1400], &mut Vec::new()).is_none());
}

#[test]
fn stragglers_are_tried_again_over_a_bad_link() {
    let mut world = World::new(|load, sgsn| {
        (load.users, load.cells, load.window, load.tries) = (300, 60, 64, 12);
        // What is lost on Gn is the SGSN's to try again.
        sgsn.n3_requests = 12;
    });
    world.loss = 0.1;
    world.order(0..300, Order::Activate, Some(&slow));
    world.loss = 0.0;
    let Stats { repeated, failed, .. } = world.stats();
    assert_eq!((world.phases(Phase::Active), failed), (300, 0), "{:?}", world.stats());
    assert!(repeated > 0);
    for user in [0, 150, 299] {
        world.load.machine.tells_data = true;
        world.g_pdu(user, b"still there");
        assert_eq!(world.downlink(), [(user, b"still there".to_vec())]);
    }
}

#[test]
fn a_silent_sgsn_fails_the_order_and_not_the_emulator() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (10, 10));
    world.loss = 1.0;
    world.order(0..10, Order::Activate, Some(&slow));
    assert_eq!((world.stats().failed, world.phases(Phase::Detached)), (10, 10));
    assert!(world.load.machine.users().all(|user| user.failed));
    world.loss = 0.0;
    world.run(Duration::from_secs(120));
    world.order(0..10, Order::Activate, None);
    assert_eq!(world.phases(Phase::Active), 10);
}

#[test]
fn who_was_refused_is_told_to_try_again_when_the_others_are_done() {
    let mut world = World::new(|load, _| {
        // No more than may try at the same time, however bad the link is.
        (load.users, load.cells, load.tries, load.rounds) = (8, 8, 2, 3);
    });
    // One round of two tries is six seconds: the second round begins without an answer too, the third is heard.
    world.loss = 1.0;
    world.act(|emulator, cx| emulator.order(cx, 0..8, Order::Activate, Some(&slow)));
    world.run(Duration::from_secs(13));
    assert_eq!((world.stats().failed, world.stats().ordered_again), (0, 16), "{:?}", world.stats());
    assert_eq!(world.load.machine.unfinished(), 8, "none is given up");
    world.loss = 0.0;
    world.run(Duration::from_secs(10));
    assert_eq!((world.load.machine.unfinished(), world.phases(Phase::Active)), (0, 8));
    assert!(world.load.machine.users().all(|user| !user.failed));
    // Who never gets through has failed once, after three rounds.
    world.order(0..8, Order::Detach, None);
    world.loss = 1.0;
    world.order(0..5, Order::Activate, None);
    assert_eq!((world.stats().failed, world.stats().ordered_again), (5, 26));
    assert_eq!(world.load.machine.users().filter(|user| user.failed).count(), 5);
}

#[test]
fn flow_control_is_told_when_it_changes_and_then_again_and_again() {
    let mut world = World::new(|load, _| (load.users, load.cells, load.nses) = (4, 2, 1));
    world.order(0..4, Order::Activate, Some(&slow));
    let told = world.stats().flow_control_sent;
    let bucket = Bucket { bmax_octets: 1000, rate_bit_per_s: 8000 };
    world.act(|emulator, cx| emulator.set_ms_flow(cx, 1, bucket));
    let flow = BvcParameters { bvc: bucket, default_ms: bucket };
    // Two changes within C: the second waits.
    world.act(|emulator, cx| emulator.set_cell_flow(cx, 0, flow));
    world.act(|emulator, cx| emulator.set_cell_flow(cx, 0, flow));
    let at_once = world.stats().flow_control_sent - told;
    assert_eq!(at_once, 2);
    world.run(Duration::from_millis(1100));
    assert_eq!(world.stats().flow_control_sent - told, 3);
    let (nsei, bvci) = world.load.machine.config().bvc_of(0);
    let gb = world.sgsn.machine.gb();
    let cell = gb.bvcs.find(nsei, bvci).unwrap();
    assert_eq!(gb.flow.cell_view(world.now, cell).unwrap().bucket, bucket);
    world.run(Duration::from_secs(100));
    let refreshed = world.stats().flow_control_sent - told;
    // Two cells and one mobile, every ten seconds.
    assert!((30..=36).contains(&refreshed), "{refreshed}");
    assert_eq!(world.stats().flow_control_acknowledged, world.stats().flow_control_sent);
}

#[test]
fn the_rates_of_thousands_change_without_a_flood() {
    let mut world = World::new(|load, _| (load.users, load.cells, load.nses) = (1000, 10, 1));
    world.order(0..1000, Order::Activate, Some(&slow));
    world.run(Duration::from_millis(1500));
    let told = world.stats().flow_control_sent;
    let bucket = Bucket { bmax_octets: 1000, rate_bit_per_s: 8000 };
    let mut at_once = Vec::new();
    let now = world.now;
    world.load.act(
        now,
        |emulator, cx| (0..1000).for_each(|user| emulator.set_ms_flow(cx, user, bucket)),
        |emission| at_once.push(emission),
        |_| {},
    );
    assert_eq!(at_once.len(), 32);
    world.route(at_once);
    world.run(Duration::from_millis(100));
    assert_eq!(world.stats().flow_control_sent - told, 1000);
    assert_eq!(world.stats().flow_control_acknowledged, world.stats().flow_control_sent);
    world.run(Duration::from_secs(10));
    // All once more, and the ten cells once.
    assert_eq!(world.stats().flow_control_sent - told, 2010);
}

#[test]
fn mobiles_stay_ready_or_answer_when_they_are_paged() {
    let mut world = World::new(|load, sgsn| {
        (load.users, load.cells, load.nses) = (5, 2, 1);
        sgsn.gmm.t3314_max = gannet_wire::l3::ie::GprsTimer::from_seconds(10);
    });
    world.order(0..5, Order::Activate, Some(&slow));
    assert_eq!(world.load.machine.ready_ms(), 10_000);
    world.load.machine.tells_data = true;
    world.run(Duration::from_secs(60));
    let header = world.told.drain(..).find_map(|event| match event {
        Event::Uplink { user: 3, frame } => Some(frame.to_vec()),
        _ => None,
    });
    let header = header.expect("heard at the GGSN");
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    assert_eq!((header.len(), words.sum::<u32>() % 0xffff), (20, 0), "an IPv4 header with its checksum");
    world.g_pdu(3, b"no paging");
    assert_eq!((world.downlink(), world.stats().paged), (vec![(3, b"no paging".to_vec())], 0));
    // What keeps them READY is lost for a while.
    world.loss = 1.0;
    world.run(Duration::from_secs(30));
    world.loss = 0.0;
    world.g_pdu(3, b"paging");
    assert_eq!((world.downlink(), world.stats().paged), (vec![(3, b"paging".to_vec())], 1));
}

#[test]
fn g_pdus_for_nobody_are_told_so() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (2, 2));
    world.order(0..2, Order::Activate, Some(&slow));
    world.order(1..2, Order::Attach, None);
    let teid = world.load.machine.user(0).unwrap().sgsn_data;
    world.order(0..1, Order::Detach, None);
    let before = world.sgsn.trace.drops.get(Drop::GtpUnknownTeid);
    let g_pdu = gannet_wire::gtp::v1u::GPdu { teid, sequence: None, npdu_number: None };
    let mut octets = vec![0; 8];
    assert!(g_pdu.emit(0, &mut octets));
    let frame = world.frames.copy_of(&octets).unwrap();
    world.under_way.push_back((To::Sgsn(GTP_U, SocketAddr::new(GGSN, 2152)), frame));
    world.deliver();
    assert_eq!(world.sgsn.trace.drops.get(Drop::GtpUnknownTeid), before + 1);
    assert_eq!(world.stats().error_indications, 1);
    // And the other way round.
    let frame = world.frames.copy_of(&octets).unwrap();
    world.under_way.push_back((To::Load(LOAD_U, SocketAddr::new(SGSN_GN, 2152)), frame));
    world.deliver();
    assert_eq!(world.stats().g_pdus_unknown, 1);
}

#[test]
fn what_comes_late_for_an_earlier_context_does_not_end_the_later() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (1, 1));
    world.order(0..1, Order::Activate, Some(&slow));
    let earlier = world.load.machine.user(0).unwrap();
    world.order(0..1, Order::Activate, None);
    let later = world.load.machine.user(0).unwrap();
    assert_ne!(earlier.ggsn, later.ggsn);
    let delete = |teid: Teid| {
        let nsapi = mobile::NSAPI;
        let request = DeleteRequest { teardown: Some(true), nsapi, pco: None, private_extension: None };
        let mut octets = Vec::new();
        assert!(emit_datagram(teid, 9, &request.into(), &mut octets));
        octets
    };
    for (teid, sgsn_data) in [(earlier.ggsn, later.sgsn_data), (later.ggsn, Teid(0))] {
        let frame = world.frames.copy_of(&delete(teid)).unwrap();
        world.under_way.push_back((To::Load(LOAD_C, SocketAddr::new(SGSN_GN, 2123)), frame));
        world.deliver();
        assert_eq!(world.load.machine.user(0).unwrap().sgsn_data, sgsn_data);
    }
}
