//! A mobile and an SGSN's GMM under loss, duplication, reordering and delay, in virtual time.
//!
//! The two contexts are driven by the smallest nodes that obey their actions; messages cross as octets. After a
//! turbulent time the links are good again, and then both sides must agree about everything, and when the mobile has
//! left, nothing may be left: no context, no timer.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::fabric::{Cargo, Path};
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::auth::{AcceptAll, AuthDecision, AuthService};
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsConfig, GmmMsContext, GmmMsEvent, GmmMsState, PagedBy};
use gannet_proto::gmm::network::{
    GmmAction, GmmConfig, GmmContext, GmmEvent, GmmState, Stranger, Uplink, answer_to_stranger,
};
use gannet_proto::gmm::{Cell, MmState, TemporaryIdentity};
use gannet_wire::id::{Bvci, CellId, Imsi, Nsapi, Nsei, PTmsi, Plmn, Rai, Tlli};
use gannet_wire::l3::ie::{DetachTypeMt, MobileIdentity, PTmsiSignature};
use gannet_wire::l3::{Direction, GmmMessage, L3Message};

/// Each message has a delay of its own, up to so many milliseconds.
const fn weather(loss: f64, duplication: f64, delay_ms_max: u64) -> LinkProfile {
    LinkProfile {
        rate_octets_per_s: None,
        delay: Duration::from_millis(5),
        reorder_delay: Duration::from_millis(delay_ms_max),
        loss,
        duplication,
        reordering: 1.0,
        damage: 0.0,
        mtu: None,
    }
}

const GOOD: LinkProfile = weather(0.0, 0.0, 50);

#[derive(Clone)]
enum Travelling {
    Uplink { octets: Option<Vec<u8>>, from: Uplink },
    Downlink { octets: Vec<u8>, tlli: Tlli, cell: Cell },
    Paging { ptmsi: Option<PTmsi>, imsi: Imsi, rai: Rai },
}

impl Cargo for Travelling {
    fn octets(&mut self) -> &mut [u8] {
        match self {
            Self::Uplink { octets, .. } => octets.as_deref_mut().unwrap_or_default(),
            Self::Downlink { octets, .. } => octets,
            Self::Paging { .. } => &mut [],
        }
    }
}

struct Pair {
    around: Surroundings<Quiet>,
    dice: Rng,
    /// Both ways.
    path: Path<Travelling>,
    ptmsis: u32,
    mobile: GmmMsContext,
    mobile_cfg: GmmMsConfig,
    /// The mobile's TLLIs, as its LLC knows them.
    tllis: Vec<Tlli>,
    cell: Option<Cell>,
    network: Vec<GmmContext>,
    network_cfg: GmmConfig,
    auth: AcceptAll,
}

fn cell(index: u16) -> Cell {
    let plmn = Plmn::from_octets([0x00, 0xf1, 0x10]);
    let rac = u8::try_from(index / 2).unwrap();
    let id = CellId { rai: Rai { plmn, lac: 7, rac }, ci: index };
    Cell { nsei: Nsei(1), bvci: Bvci(2 + index), id }
}

impl Pair {
    fn new(seed: u64, weather: LinkProfile) -> Self {
        let imsi: Imsi = "001010000000042".parse().unwrap();
        Self {
            around: Surroundings::new(seed, 0, Quiet::default()),
            dice: Rng::seeded(seed ^ 0x5eed),
            path: Path::new(weather),
            ptmsis: 0,
            mobile: GmmMsContext::new(imsi, None),
            mobile_cfg: GmmMsConfig { combined: (seed / 4).is_multiple_of(2), ..GmmMsConfig::default() },
            tllis: Vec::new(),
            cell: None,
            network: Vec::new(),
            network_cfg: GmmConfig { ask_imei: seed.is_multiple_of(3), ..GmmConfig::default() },
            auth: AcceptAll,
        }
    }

    fn send(&mut self, what: Travelling) {
        self.path.carry(self.around.now, &mut self.dice, what);
    }

    fn uplink(&mut self, octets: Option<Vec<u8>>, tlli: Tlli) {
        let Some(cell) = self.cell else { return };
        self.send(Travelling::Uplink { octets, from: Uplink { tlli, cell } });
    }

    fn downlink(&mut self, message: &GmmMessage, tlli: Tlli, cell: Cell) {
        let mut octets = Vec::new();
        L3Message::from(message.clone()).emit(&mut octets);
        self.send(Travelling::Downlink { octets, tlli, cell });
    }

    fn mobile_event(&mut self, event: GmmMsEvent) {
        let mut out = Batch::default();
        self.mobile.handle(&mut self.around.context(), &self.mobile_cfg, event, &mut out);
        self.mobile_actions(out);
    }

    fn mobile_actions(&mut self, mut out: Batch<GmmMsAction>) {
        while let Some(action) = out.pop() {
            match action {
                GmmMsAction::Send { message, tlli } => {
                    let mut octets = Vec::new();
                    L3Message::from(message).emit(&mut octets);
                    self.uplink(Some(octets), tlli);
                }
                GmmMsAction::SendCellUpdate => self.uplink(None, self.mobile.tlli()),
                GmmMsAction::AssignTlli { new, old } => {
                    assert!(old.is_none_or(|old| self.tllis.contains(&old)));
                    if !self.tllis.contains(&new) {
                        self.tllis.push(new);
                    }
                }
                GmmMsAction::UnassignTlli { old } => {
                    assert!(self.tllis.contains(&old), "{old} was never assigned");
                    self.tllis.retain(|tlli| *tlli != old);
                }
                GmmMsAction::AskSim { .. } | GmmMsAction::Authenticated { .. } | GmmMsAction::BarCell(_) => {
                    panic!("nobody is challenged")
                }
                GmmMsAction::Registered
                | GmmMsAction::Updated
                | GmmMsAction::NPduNumbers(_)
                | GmmMsAction::Deregistered { .. }
                | GmmMsAction::MmStateChanged(_)
                | GmmMsAction::NonGprs { .. }
                | GmmMsAction::DeletePdpContexts(_) => {}
            }
        }
    }

    /// The context that a message belongs to: by TLLI, and for a request with a foreign TLLI by its P-TMSI.
    fn find(&self, message: Option<&GmmMessage>, from: Uplink) -> Option<usize> {
        let by_ptmsi = |wanted: PTmsi| {
            self.network.iter().position(|c| c.ptmsi() == Some(wanted) || c.new_ptmsi() == Some(wanted))
        };
        let by_name = |tlli: Tlli| by_ptmsi(PTmsi(tlli.0 | 0xc000_0000));
        let by_use = || self.network.iter().position(|c| c.tlli() == from.tlli);
        match message {
            Some(GmmMessage::AttachRequest(request)) => match request.identity {
                MobileIdentity::PTmsi(ptmsi) => by_ptmsi(ptmsi)
                    .filter(|index| self.network[*index].is_claimed_by(&self.network_cfg, request))
                    .or_else(by_use),
                _ => by_use(),
            },
            Some(GmmMessage::RauRequest(_)) => by_name(from.tlli),
            _ if from.tlli.0 >> 30 == 3 => by_name(from.tlli),
            _ => by_use(),
        }
    }

    fn arrive_uplink(&mut self, octets: Option<Vec<u8>>, from: Uplink) {
        let message = octets.map(|octets| match L3Message::parse(Direction::Uplink, &octets) {
            Ok(L3Message::Gmm(message)) => message,
            other => panic!("{other:?}"),
        });
        let found = self.find(message.as_ref(), from);
        let index = match (found, &message) {
            (Some(index), _) => index,
            (None, Some(GmmMessage::AttachRequest(_))) => {
                self.network.push(GmmContext::new(from.tlli, from.cell));
                self.network.len() - 1
            }
            (None, _) => {
                let what = match &message {
                    Some(message) => Stranger::Message { message },
                    None => Stranger::LlcFrame,
                };
                if let Some(answer) = answer_to_stranger(what) {
                    self.downlink(&answer, from.tlli, from.cell);
                }
                return;
            }
        };
        let event = match message {
            Some(message) => GmmEvent::Message { message, from, ciphered: false },
            None => GmmEvent::LlcFrame(from),
        };
        self.network_event(index, event);
    }

    fn network_event(&mut self, index: usize, event: GmmEvent) {
        let mut out = Batch::default();
        self.network[index].handle(&mut self.around.context(), &self.network_cfg, event, &mut out);
        self.network_actions(index, out);
    }

    fn network_actions(&mut self, index: usize, mut out: Batch<GmmAction>) {
        let mut replaced = None;
        let mut released = false;
        while let Some(action) = out.pop() {
            let answer = match action {
                GmmAction::Send { message, tlli } => {
                    let cell = self.network[index].cell();
                    self.downlink(&message, tlli, cell);
                    None
                }
                GmmAction::AllocatePtmsi => {
                    self.ptmsis += 1;
                    let ptmsi = PTmsi(0xc000_0000 | self.ptmsis);
                    let signature = Some(PTmsiSignature(self.dice.u32() & 0x00ff_ffff));
                    Some(GmmEvent::PtmsiAllocated(Some(TemporaryIdentity::new(ptmsi, signature))))
                }
                GmmAction::AskAuth { imsi, question, ticket } => match self.auth.request(imsi, question) {
                    AuthDecision::Pending => None,
                    decision => Some(GmmEvent::AuthAnswer { ticket, decision }),
                },
                GmmAction::IdentityIsKnown { imsi } => {
                    replaced = self
                        .network
                        .iter()
                        .enumerate()
                        .position(|(other, context)| other != index && context.imsi() == Some(imsi));
                    None
                }
                GmmAction::Page { imsi, ptmsi, rai, .. } => {
                    self.send(Travelling::Paging { ptmsi, imsi, rai });
                    None
                }
                GmmAction::Released => {
                    released = true;
                    None
                }
                GmmAction::AssignTlli { .. }
                | GmmAction::UnassignTlli { .. }
                | GmmAction::FreePtmsi(_)
                | GmmAction::RadioAccessCapability(_)
                | GmmAction::Authenticated
                | GmmAction::Registered
                | GmmAction::Updated
                | GmmAction::NPduNumbers(_)
                | GmmAction::CellChanged { .. }
                | GmmAction::MmStateChanged(_)
                | GmmAction::PagingFailed
                | GmmAction::GiveUpActivations
                | GmmAction::DeletePdpContexts(_) => None,
            };
            if let Some(event) = answer {
                let mut more = Batch::default();
                self.network[index].handle(&mut self.around.context(), &self.network_cfg, event, &mut more);
                while let Some(action) = more.pop() {
                    out.push(action);
                }
            }
        }
        // Higher index first, so that the other keeps its place.
        let mut gone: Vec<usize> = replaced.into_iter().chain(released.then_some(index)).collect();
        gone.sort_unstable();
        for index in gone.into_iter().rev() {
            self.network.remove(index);
        }
    }

    fn arrive(&mut self, what: Travelling) {
        match what {
            Travelling::Uplink { octets, from } => self.arrive_uplink(octets, from),
            Travelling::Downlink { octets, tlli, cell } => {
                if self.cell == Some(cell) && self.tllis.contains(&tlli) {
                    let Ok(L3Message::Gmm(message)) = L3Message::parse(Direction::Downlink, &octets) else {
                        panic!("{octets:x?}")
                    };
                    self.mobile_event(GmmMsEvent::Message { message, tlli });
                }
            }
            Travelling::Paging { ptmsi, imsi, rai } => {
                if self.cell.is_some_and(|cell| cell.id.rai == rai) {
                    match ptmsi {
                        Some(ptmsi) if self.mobile.ptmsi() == Some(ptmsi) => {
                            self.mobile_event(GmmMsEvent::Paged(PagedBy::PTmsi));
                        }
                        None if self.mobile.imsi() == imsi => {
                            self.mobile_event(GmmMsEvent::Paged(PagedBy::Imsi));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Runs everything that is due within `secs`.
    fn run(&mut self, secs: u64) {
        let until = self.around.now + Duration::from_secs(secs);
        loop {
            let network = self.network.iter().filter_map(|context| context.deadlines().next()).min();
            let mobile = self.mobile.deadlines.next();
            let message = self.path.next();
            let Some(next) = [network, mobile, message].into_iter().flatten().min() else { break };
            if next > until {
                break;
            }
            self.around.now = next.max(self.around.now);
            if message == Some(next) {
                let what = self.path.arrived(self.around.now).unwrap();
                self.arrive(what);
            } else if mobile == Some(next) {
                let mut out = Batch::default();
                self.mobile.expire(&mut self.around.context(), &self.mobile_cfg, &mut out);
                self.mobile_actions(out);
            } else if let Some(index) =
                self.network.iter().position(|context| context.deadlines().next() == Some(next))
            {
                let mut out = Batch::default();
                self.network[index].expire(&mut self.around.context(), &self.network_cfg, &mut out);
                self.network_actions(index, out);
            }
        }
        self.around.now = until;
    }

    fn select(&mut self, index: u16) {
        self.cell = Some(cell(index));
        self.mobile_event(GmmMsEvent::CellSelected(cell(index).id));
    }

    /// Something happens to the mobile or to its context.
    fn something(&mut self) {
        let any = |pair: &mut Self| {
            let count = pair.network.len() as u64;
            (count > 0).then(|| usize::try_from(pair.dice.below(count)).unwrap())
        };
        match self.dice.below(20) {
            0..=2 => {
                let index = u16::try_from(self.dice.below(6)).unwrap();
                self.select(index);
            }
            3 => self.mobile_event(GmmMsEvent::Attach),
            4..=6 if self.mobile.mm_state() != MmState::Idle => {
                self.mobile_event(GmmMsEvent::LlcFrameSent);
                self.uplink(None, self.mobile.tlli());
            }
            7 | 8 => {
                if let Some(index) = any(self) {
                    self.network_event(index, GmmEvent::DownlinkData);
                }
            }
            9 => {
                if let Some(index) = any(self) {
                    self.network_event(index, GmmEvent::ReallocatePtmsi);
                }
            }
            10 => {
                if let Some(index) = any(self) {
                    let kind = [
                        DetachTypeMt::ReattachRequired,
                        DetachTypeMt::ReattachNotRequired,
                        DetachTypeMt::Imsi,
                    ][usize::try_from(self.dice.below(3)).unwrap()];
                    self.network_event(index, GmmEvent::OperatorDetach { kind, cause: None });
                }
            }
            11 => {
                let power_off = self.dice.chance(0.5);
                self.mobile_event(GmmMsEvent::Detach { power_off });
            }
            12 if self.mobile.state() == GmmMsState::Registered => {
                // A PDP context, as if both sides had activated it.
                let nsapi = Nsapi(5 + u8::try_from(self.dice.below(11)).unwrap());
                self.mobile.active_nsapis.set(nsapi);
                for context in &mut self.network {
                    if context.mm_state() != MmState::Idle {
                        let mut active = context.active_nsapis();
                        active.set(nsapi);
                        context.set_active_nsapis(active);
                    }
                }
            }
            14 | 15 => {
                if let Some(index) = any(self) {
                    let order = if self.dice.chance(0.8) { GmmEvent::Authenticate } else { GmmEvent::Inform };
                    self.network_event(index, order);
                }
            }
            16 => {
                let barred = self.dice.chance(0.5);
                self.mobile_event(GmmMsEvent::Access { barred });
            }
            17 => {
                if let Some(index) = any(self) {
                    self.network_event(index, GmmEvent::LowerLayerFailure);
                }
            }
            18 => self.mobile_event(GmmMsEvent::ImsiDetach),
            19 => self.mobile_event(GmmMsEvent::ImsiAttach),
            13 => {
                self.cell = None;
                self.mobile_event(GmmMsEvent::CellLost);
            }
            _ => {}
        }
    }

    fn agree(&self, seed: u64) {
        if self.mobile.state() == GmmMsState::Registered {
            let [context] = &self.network[..] else {
                panic!("seed {seed}: the mobile is attached, the network has {} contexts", self.network.len())
            };
            assert_eq!(context.gmm_state(), GmmState::Registered, "seed {seed}");
            assert_eq!(context.ptmsi(), self.mobile.ptmsi(), "seed {seed}");
            assert_eq!(context.tlli(), self.mobile.tlli(), "seed {seed}");
            assert_eq!(Some(context.routing_area()), self.mobile.routing_area(), "seed {seed}");
            assert_eq!(context.active_nsapis(), self.mobile.active_nsapis, "seed {seed}");
            assert_eq!(context.imsi(), Some(self.mobile.imsi()), "seed {seed}");
        } else {
            assert_eq!(self.mobile.state(), GmmMsState::Deregistered, "seed {seed}");
            assert!(self.network.is_empty(), "seed {seed}: {:?}", self.network);
        }
    }
}

/// A mobile that has gone through the weather, which is good again.
fn weathered(seed: u64, weather: LinkProfile) -> Pair {
    let mut pair = Pair::new(seed, weather);
    pair.select(0);
    pair.mobile_event(GmmMsEvent::Attach);
    for _ in 0..40 {
        let secs = pair.dice.below(40);
        pair.run(secs);
        pair.something();
    }
    pair.path.link.profile = GOOD;
    pair.mobile_event(GmmMsEvent::Access { barred: false });
    pair
}

const BAD: [LinkProfile; 4] =
    [weather(0.0, 0.0, 500), weather(0.3, 0.0, 500), weather(0.1, 0.3, 4_000), weather(0.5, 0.2, 20_000)];

/// Three hours hold the longest wait there is: T3302, periodic updates, and the implicit detach.
const THREE_HOURS: u64 = 3 * 3600;

#[test]
fn an_attached_mobile_and_its_network_agree_in_the_end() {
    for seed in 0..400 {
        let mut pair = weathered(seed, BAD[usize::try_from(seed % 4).unwrap()]);
        pair.select(3);
        pair.mobile_event(GmmMsEvent::Attach);
        pair.run(THREE_HOURS);
        if pair.mobile.state() != GmmMsState::Registered {
            // A detach was under way when the attach was asked for.
            pair.mobile_event(GmmMsEvent::Attach);
            pair.run(THREE_HOURS);
        }
        assert_eq!(pair.mobile.state(), GmmMsState::Registered, "seed {seed}");
        pair.agree(seed);
        // Data reach it.
        pair.network_event(0, GmmEvent::DownlinkData);
        pair.run(10);
        assert_eq!(pair.network[0].mm_state(), MmState::Ready, "seed {seed}");
        assert_eq!(pair.network[0].cell(), cell(3), "seed {seed}");
    }
}

#[test]
fn nothing_is_left_of_a_mobile_that_has_left() {
    for seed in 0..400 {
        let mut pair = weathered(seed, BAD[usize::try_from(seed % 4).unwrap()]);
        pair.select(2);
        pair.run(1);
        let power_off = seed % 2 == 0;
        pair.mobile_event(GmmMsEvent::Detach { power_off });
        pair.run(THREE_HOURS);
        assert!(pair.network.is_empty(), "seed {seed}: {:?}", pair.network);
        assert_eq!(pair.mobile.deadlines.next(), None, "seed {seed}: {:?}", pair.mobile);
        assert!(pair.tllis.is_empty(), "seed {seed}: {:?}", pair.tllis);
        assert_eq!(pair.mobile.mm_state(), MmState::Idle);
        if !power_off && pair.mobile.state() != GmmMsState::Null {
            pair.agree(seed);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut pair = weathered(seed, BAD[3]);
        pair.run(THREE_HOURS);
        let drops: Vec<(Drop, u64)> = pair.around.trace.drops.raised().collect();
        (pair.mobile, pair.network, drops, pair.path.carried)
    };
    assert_eq!(run(7), run(7));
}

#[test]
fn good_links_need_nothing_repeated_and_drop_nothing() {
    let mut pair = Pair::new(1, GOOD);
    pair.select(0);
    pair.mobile_event(GmmMsEvent::Attach);
    pair.run(5);
    pair.agree(1);
    pair.select(1);
    pair.run(5);
    pair.select(2);
    pair.run(5);
    pair.agree(1);
    pair.run(THREE_HOURS);
    pair.agree(1);
    pair.mobile_event(GmmMsEvent::Detach { power_off: false });
    pair.run(5);
    pair.agree(1);
    assert_eq!(pair.around.trace.drops.total(), 0, "{:?}", pair.around.trace.drops);
}
