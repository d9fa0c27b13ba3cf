//! Two ends, the layer above each, and a path between them in virtual time.
//!
//! The layer above numbers its units and keeps them until they are confirmed, as SNDCP does with N-PDUs (04.65 clause 6.6
//! [44.065]): after each establishment it gives anew what is not, and drops what comes a second time for that reason.

#![allow(dead_code, reason = "each test program uses its part")]

use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::fabric::{self, Cargo, Party};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::abm::{Options, State, Timing, Windows};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, Terms};
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::llc::{Control, Header};
use std::ops::{Deref, DerefMut};

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

    /// So much later that an answer does not wait for an I frame any more.
    pub fn answer(&mut self) {
        self.around.now += Duration::from_millis(2);
        self.wake();
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
            LlcOutput::Room { .. } => {}
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

impl Badness {
    fn profile(self, latency: Duration) -> LinkProfile {
        let Self { loss, duplication, reordering, damage } = self;
        let (delay, reorder_delay) = (latency, latency);
        LinkProfile { delay, reorder_delay, loss, duplication, reordering, damage, ..LinkProfile::default() }
    }
}

/// An LL-PDU under way. Nothing overtakes a U frame, from whose numbers those of other frames start again.
#[derive(Debug, Clone)]
pub struct LlPdu(Vec<u8>);

impl Cargo for LlPdu {
    fn octets(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn keeps_order(&self) -> bool {
        Header::parse(&self.0).is_ok_and(|layout| matches!(layout.header.control, Control::U { .. }))
    }
}

impl Party for End {
    type Cargo = LlPdu;

    fn take_sent(&mut self) -> Vec<LlPdu> {
        self.sent.drain(..).map(LlPdu).collect()
    }

    fn receive(&mut self, LlPdu(octets): LlPdu) {
        End::receive(self, &octets);
    }

    fn next_wake(&self) -> Option<Instant> {
        self.around.timers.next()
    }

    fn wake(&mut self) {
        End::wake(self);
    }

    fn set_now(&mut self, now: Instant) {
        self.around.now = now;
    }
}

/// Both ends and what is between them.
pub struct Pair {
    pair: fabric::Pair<End>,
    /// A window may stand: one end is busy.
    pub may_stand: bool,
}

impl Deref for Pair {
    type Target = fabric::Pair<End>;
    fn deref(&self) -> &Self::Target {
        &self.pair
    }
}

impl DerefMut for Pair {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.pair
    }
}

impl Pair {
    pub fn new(seed: u64, latency: Duration, badness: Badness, ciphering: Ciphering, terms: &Terms) -> Self {
        let ends = [LlcRole::Ms, LlcRole::Sgsn].map(|role| End::new(role, ciphering, terms.clone()));
        Self { pair: fabric::Pair::new(seed, badness.profile(latency), ends), may_stand: false }
    }

    pub const fn ends(&mut self) -> (&mut End, &mut End) {
        (&mut self.pair.ms, &mut self.pair.sgsn)
    }

    /// Goes on for so long, whether anything happens or not.
    pub fn pass(&mut self, time: Duration) {
        let may_stand = self.may_stand;
        self.pair.pass(time, |pair| check(pair, may_stand));
    }

    /// Goes to the next moment at which something happens; false where nothing will.
    pub fn step(&mut self) -> bool {
        let happened = self.pair.step();
        check(&self.pair, self.may_stand);
        happened
    }

    /// True where everything that was offered is confirmed and nothing waits.
    pub fn is_done(&self) -> bool {
        [&self.ms, &self.sgsn].iter().all(|end| end.confirmed == end.offered)
    }
}

/// What must hold at every moment.
fn check(pair: &fabric::Pair<End>, may_stand: bool) {
    for (end, peer) in [(&pair.ms, &pair.sgsn), (&pair.sgsn, &pair.ms)] {
        assert!(end.confirmed <= peer.arrived, "confirmed and not there");
        if end.is_established() && end.confirmed < end.given && !may_stand {
            let stood = pair.now.since(end.standing_since);
            assert!(stood <= patience(end), "a window stood for {stood}");
        }
    }
}

/// N200 · T200 of an end, by default of SAPI 3, which is three times five seconds; with a fixed T201 (N200 + 1) · T200.
pub fn patience(end: &End) -> Duration {
    let (tenths, n200) = end.llc.t200_n200(SAPI);
    let times = match end.terms.options.timing {
        Timing::Adaptive => n200,
        Timing::Fixed | Timing::Chosen(_) => n200 + 1,
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
