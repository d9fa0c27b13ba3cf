//! Two ends, the layer above each, and a path between them in virtual time.
//!
//! The layer above numbers its units and keeps them until they are confirmed, as SNDCP does with N-PDUs (04.65 clause 6.6
//! [44.065]): after each establishment it gives anew what is not, and drops what comes a second time for that reason.

#![allow(dead_code, reason = "each test program uses its part")]

use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::abm::{Options, State, Timing, Windows};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, Terms};
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::llc::{Control, Header};
use std::collections::BTreeMap;

pub const SAPI: Sapi = Sapi(3);
const LLC: TimerKey = TimerKey { owner: 0, slot: 1, generation: 0 };
const FRAMES: usize = 600;

/// A layer above, and LLC below it.
pub struct End {
    pub around: Surroundings<Quiet>,
    pub llc: LlcContext,
    pub out: Batch<LlcOutput>,
    pub terms: Terms,
    /// LL-PDUs for the other end.
    pub sent: Vec<Vec<u8>>,
    /// Units that are offered, all told, and of these confirmed and given to LLC.
    pub offered: u32,
    pub confirmed: u32,
    pub given: u32,
    /// Units that have come, in their order and each once.
    pub arrived: u32,
    /// The number that must come next in this establishment, once one has come.
    in_turn: Option<u32>,
    pub repeated: u32,
    /// Since when the oldest unit in LLC has waited.
    pub standing_since: Instant,
    pub establishments: u32,
    pub releases: u32,
    pub statuses: u32,
    /// Establishes the link again whenever it is released.
    pub insists: bool,
    pub length: fn(u32) -> usize,
}

impl End {
    pub fn new(role: LlcRole, ciphering: Ciphering, terms: Terms) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, ciphering);
        llc.offer_abm(true);
        Self {
            around: Surroundings::new(1, FRAMES, Quiet::default()),
            llc,
            out: Batch::default(),
            terms,
            sent: Vec::new(),
            offered: 0,
            confirmed: 0,
            given: 0,
            arrived: 0,
            in_turn: None,
            repeated: 0,
            standing_since: Instant::ZERO,
            establishments: 0,
            releases: 0,
            statuses: 0,
            insists: false,
            length: |number| if number % 9 == 8 { 1496 } else { 4 + (number as usize * 397) % 100 },
        }
    }

    pub fn establish(&mut self) {
        self.llc.establish_request(&mut self.around.context(), SAPI, self.terms.clone(), &mut self.out);
        self.drain();
    }

    pub fn is_established(&self) -> bool {
        self.llc.abm(SAPI).is_some_and(|abm| abm.state() == State::Abm)
    }

    /// Gives LLC what it takes.
    pub fn give(&mut self) {
        while self.given < self.offered
            && self.llc.abm(SAPI).is_some_and(|abm| abm.room() > 0)
            && self.is_established()
        {
            let Some(frame) = self.around.frames.copy_of(&unit(self.given, (self.length)(self.given))) else {
                return;
            };
            if self.confirmed == self.given {
                self.standing_since = self.around.now;
            }
            let mut cx = self.around.context();
            self.llc.data_request(&mut cx, SAPI, self.given, frame, &mut self.out).unwrap();
            self.given += 1;
        }
    }

    pub fn receive(&mut self, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.out);
        self.drain();
    }

    pub fn wake(&mut self) {
        while let Some(LLC) = self.around.timers.pop_due(self.around.now) {
            self.llc.wake(&mut self.around.context(), None, &mut self.out);
            self.drain();
        }
    }

    pub fn drain(&mut self) {
        loop {
            while let Some(output) = self.out.pop() {
                self.output(output);
            }
            self.give();
            if self.out.is_empty() {
                break;
            }
        }
        self.llc.arm(LLC, &mut self.around.timers);
    }

    fn output(&mut self, output: LlcOutput) {
        match output {
            LlcOutput::Transmit { frame, .. } => {
                assert!(frame.len() <= usize::from(self.terms.options.frame_max), "{}", frame.len());
                self.sent.push(frame.to_vec());
            }
            LlcOutput::Data { frame, .. } => self.arrive(&frame),
            LlcOutput::DataConfirm { confirmed, .. } => {
                assert_eq!(confirmed.reference, self.confirmed, "confirmed in order");
                let octets: usize = confirmed.references().map(self.length).sum();
                assert_eq!(octets, usize::try_from(confirmed.octets).unwrap());
                self.confirmed += u32::from(confirmed.count);
                self.standing_since = self.around.now;
            }
            LlcOutput::Returned { units, .. } => {
                let mut next = self.confirmed;
                for (reference, octets) in units.iter() {
                    assert_eq!(reference, next, "all that is not confirmed comes back");
                    assert_eq!(octets, unit(reference, (self.length)(reference)));
                    next += 1;
                }
                assert_eq!(next, self.given);
                self.given = self.confirmed;
            }
            LlcOutput::EstablishIndication(indication) => {
                let terms = self.terms.clone();
                self.llc.establish_response(&mut self.around.context(), *indication, terms, &mut self.out);
                self.start_anew();
            }
            LlcOutput::EstablishConfirm { .. } => self.start_anew(),
            LlcOutput::ReleaseIndication { .. } => {
                self.releases += 1;
                if self.insists {
                    let mut cx = self.around.context();
                    self.llc.establish_request(&mut cx, SAPI, self.terms.clone(), &mut self.out);
                }
            }
            LlcOutput::Status { .. } => self.statuses += 1,
            LlcOutput::ReleaseConfirm { .. } | LlcOutput::XidConfirm { .. } => {}
            other @ (LlcOutput::Unitdata { .. }
            | LlcOutput::XidIndication(_)
            | LlcOutput::Layer3XidConfirm { .. }
            | LlcOutput::Reset) => panic!("{other:?}"),
        }
    }

    fn start_anew(&mut self) {
        self.establishments += 1;
        self.given = self.confirmed;
        self.in_turn = None;
        self.standing_since = self.around.now;
    }

    fn arrive(&mut self, octets: &[u8]) {
        let number = u32::from_be_bytes(octets[..4].try_into().unwrap());
        assert_eq!(octets, unit(number, octets.len()), "as it was sent");
        if let Some(expected) = self.in_turn {
            assert_eq!(number, expected, "in order, none lost and none doubled");
        }
        self.in_turn = Some(number + 1);
        assert!(number <= self.arrived, "{number} came, {} is lost", self.arrived);
        if number == self.arrived {
            self.arrived += 1;
        } else {
            assert!(self.establishments > 1, "{number} came twice");
            self.repeated += 1;
        }
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

pub fn unit(number: u32, len: usize) -> Vec<u8> {
    let mut octets = number.to_be_bytes().to_vec();
    octets.extend((0..=250_u8).cycle().skip(number as usize % 251).take(len.saturating_sub(4)));
    octets
}

/// How bad a path is: chances from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Badness {
    pub loss: f64,
    pub duplication: f64,
    pub reordering: f64,
    pub damage: f64,
}

/// One direction of a path. What it carries keeps its order but where it says otherwise; and nothing overtakes a U frame,
/// from whose numbers those of other frames start again.
pub struct Direction {
    pub latency: Duration,
    pub badness: Badness,
    pub is_cut: bool,
    /// Octets that it carries in a second, where that is limited; what is more waits.
    pub octets_per_s: Option<u64>,
    free_at: Instant,
    pub carried: u64,
    last: Instant,
    barrier: Instant,
    queue: BTreeMap<(Instant, u64), Vec<u8>>,
    sequence: u64,
}

impl Direction {
    pub fn new(latency: Duration, badness: Badness) -> Self {
        let start = Instant::ZERO;
        Self {
            latency,
            badness,
            is_cut: false,
            octets_per_s: None,
            free_at: start,
            carried: 0,
            last: start,
            barrier: start,
            queue: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// When the last octet has left.
    fn leaves_at(&mut self, now: Instant, octets: usize) -> Instant {
        let Some(rate) = self.octets_per_s else { return now };
        self.free_at = self.free_at.max(now) + Duration(octets as u64 * 1_000_000_000 / rate);
        self.free_at
    }

    fn carry(&mut self, now: Instant, rng: &mut Rng, mut octets: Vec<u8>) {
        let now = self.leaves_at(now, octets.len());
        if self.is_cut || rng.chance(self.badness.loss) {
            return;
        }
        self.carried += 1;
        let is_u = matches!(Header::parse(&octets).unwrap().header.control, Control::U { .. });
        let Duration(latency) = self.latency;
        let late = if rng.chance(self.badness.reordering) && !is_u { 1 + rng.below(latency) } else { 0 };
        let at = (now + Duration(latency + late)).max(self.barrier);
        let at = if is_u { at.max(self.last) + Duration(1) } else { at };
        if is_u {
            self.barrier = at + Duration(2);
        }
        self.last = self.last.max(at);
        if rng.chance(self.badness.duplication) {
            let again = if is_u { at + Duration(1) } else { at + Duration(1 + rng.below(latency)) };
            self.last = self.last.max(again);
            self.put(again, octets.clone());
        }
        if rng.chance(self.badness.damage) {
            damage(rng, &mut octets);
        }
        self.put(at, octets);
    }

    fn put(&mut self, at: Instant, octets: Vec<u8>) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), octets);
    }
}

/// A burst of at most 24 bits, which the FCS always shows; anything longer it misses once in 2^24 times, and a million runs
/// have as many damaged frames.
fn damage(rng: &mut Rng, octets: &mut [u8]) {
    let at = usize::try_from(rng.below(octets.len() as u64)).unwrap();
    for octet in octets.iter_mut().skip(at).take(3) {
        *octet ^= u8::try_from(1 + rng.below(255)).unwrap();
    }
}

/// Both ends and what is between them.
pub struct Pair {
    pub ms: End,
    pub sgsn: End,
    pub up: Direction,
    pub down: Direction,
    pub rng: Rng,
    pub now: Instant,
    /// A window may stand: one end is busy.
    pub may_stand: bool,
}

impl Pair {
    pub fn new(seed: u64, latency: Duration, badness: Badness, ciphering: Ciphering, terms: &Terms) -> Self {
        Self {
            ms: End::new(LlcRole::Ms, ciphering, terms.clone()),
            sgsn: End::new(LlcRole::Sgsn, ciphering, terms.clone()),
            up: Direction::new(latency, badness),
            down: Direction::new(latency, badness),
            rng: Rng::seeded(seed),
            now: Instant::ZERO,
            may_stand: false,
        }
    }

    fn collect(&mut self) {
        for octets in std::mem::take(&mut self.ms.sent) {
            self.up.carry(self.now, &mut self.rng, octets);
        }
        for octets in std::mem::take(&mut self.sgsn.sent) {
            self.down.carry(self.now, &mut self.rng, octets);
        }
    }

    /// The next moment at which something happens.
    fn next(&self) -> Option<Instant> {
        let arrivals = [&self.up, &self.down].map(|way| way.queue.keys().next().map(|(at, _)| *at));
        let wakes = [&self.ms, &self.sgsn].map(|end| end.around.timers.next());
        arrivals.into_iter().chain(wakes).flatten().min()
    }

    fn set_now(&mut self, now: Instant) {
        self.now = now;
        (self.ms.around.now, self.sgsn.around.now) = (now, now);
    }

    /// Goes on for so long, whether anything happens or not.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        self.collect();
        while self.next().is_some_and(|next| next <= until) {
            self.step();
            self.collect();
        }
        self.set_now(until);
    }

    /// Goes to the next moment at which something happens; false where nothing will.
    pub fn step(&mut self) -> bool {
        self.collect();
        let Some(next) = self.next() else { return false };
        self.set_now(next.max(self.now));
        for (way, end) in [(&mut self.up, &mut self.sgsn), (&mut self.down, &mut self.ms)] {
            while let Some(entry) = way.queue.first_entry().filter(|entry| entry.key().0 <= self.now) {
                end.receive(&entry.remove());
            }
            end.wake();
        }
        self.check();
        true
    }

    /// What must hold at every moment.
    fn check(&self) {
        for (end, peer) in [(&self.ms, &self.sgsn), (&self.sgsn, &self.ms)] {
            assert!(end.confirmed <= peer.arrived, "confirmed and not there");
            if end.is_established() && end.confirmed < end.given && !self.may_stand {
                let stood = self.now.since(end.standing_since);
                assert!(stood <= patience(end), "a window stood for {stood}");
            }
        }
    }

    /// True where everything that was offered is confirmed and nothing waits.
    pub fn is_done(&self) -> bool {
        [&self.ms, &self.sgsn].iter().all(|end| end.confirmed == end.offered)
    }
}

/// N200 · T200 of an end, by default of SAPI 3, which is three times five seconds; with a fixed T201 (N200 + 1) · T200.
pub fn patience(end: &End) -> Duration {
    let (tenths, n200) = end.llc.t200_n200(SAPI);
    let times = match end.terms.options.timing {
        Timing::Adaptive => n200,
        Timing::Fixed => n200 + 1,
    };
    Duration::from_millis(u64::from(tenths) * 100) * u64::from(times)
}

/// Windows of `k` frames and `m` units of 16 octets in both directions.
pub const fn windows(k: u8, m: u16) -> Windows {
    Windows { iov_i: 0, m_sent: m, m_received: m, k_sent: k, k_received: k }
}

pub fn terms(options: Options, windows: Windows) -> Terms {
    Terms { options, windows: Some(windows), ..Terms::default() }
}
