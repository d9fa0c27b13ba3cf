//! One LLE against a model of it, on generated sequences of events.
//!
//! The model is the clauses written down as a table (states and U frames: 04.64 clauses 8.5 and 8.7 [44.064]) and as sets of
//! numbers that count without end (I and S frames: clause 8.6). It shares nothing with the implementation but the formats.

use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::abm::{
    Abm, Link, Options, Received, Retransmission, State, Timing, Unnumbered, Windows,
};
use gannet_proto::llc::{Ciphering, LlcOutput, LlcRole, ReleaseCause};
use gannet_wire::id::Sapi;
use gannet_wire::llc::{Control, Header, SackBitmap, Supervisory, UFunction};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

const K: u32 = 4;
const QUEUE: usize = 3;
const T200: Duration = Duration::from_secs(5);
const N200: u8 = 3;
/// An answer may wait so long for an I frame that takes it along.
const ANSWERED_WITHIN: Duration = Duration::from_millis(2);
const LINK: Link = Link {
    role: LlcRole::Sgsn,
    sapi: Sapi(3),
    ciphering: Ciphering::NONE,
    n201_i: 1503,
    t200: T200,
    n200: N200,
};

#[derive(Debug, Clone, Copy)]
enum Event {
    EstablishRequest,
    EstablishResponse,
    Refuse,
    ReleaseRequest,
    DataRequest,
    U(UFunction, bool),
    /// N(S) − V(R), N(R) − V(A), A; no N(S) is an S frame.
    Supervised(Option<i32>, i32, bool, Answer),
    Timer,
}

/// What the peer says beside N(R).
#[derive(Debug, Clone, Copy)]
enum Answer {
    Rr,
    Ack,
    Rnr,
    Sack(u8),
}

fn event() -> impl Strategy<Value = Event> {
    let answer = prop_oneof![
        4 => Just(Answer::Rr),
        1 => Just(Answer::Ack),
        1 => Just(Answer::Rnr),
        2 => any::<u8>().prop_map(Answer::Sack),
    ];
    let function = prop_oneof![
        Just(UFunction::Sabm),
        Just(UFunction::Disc),
        Just(UFunction::Ua),
        Just(UFunction::Dm),
        Just(UFunction::Frmr)
    ];
    prop_oneof![
        2 => Just(Event::EstablishRequest),
        3 => Just(Event::EstablishResponse),
        1 => Just(Event::Refuse),
        1 => Just(Event::ReleaseRequest),
        12 => Just(Event::DataRequest),
        3 => (function, any::<bool>()).prop_map(|(function, bit)| Event::U(function, bit)),
        1 => Just(Event::U(UFunction::Ua, true)),
        16 => (proptest::option::of(-2..6_i32), -1..6_i32, any::<bool>(), answer)
            .prop_map(|(ns, nr, a, answer)| Event::Supervised(ns, nr, a, answer)),
        2 => Just(Event::Timer),
    ]
}

/// What is to be seen of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    U(UFunction, bool),
    Indication,
    Confirm { again: bool },
    Released,
    ReleaseConfirm,
    Status,
    Delivered(u32),
    Confirmed(u32),
}

#[derive(Debug)]
struct Model {
    state: State,
    vs: u32,
    va: u32,
    vr: u32,
    held: BTreeSet<u32>,
    /// References of the units from V(A) on, sent or waiting.
    units: Vec<u32>,
    /// Those that are to come back.
    lost: Vec<u32>,
    next_reference: u32,
    peer_is_busy: bool,
    asked_for: bool,
    poll: bool,
    tries: u8,
    standing_since: Instant,
    /// The peer has established the link.
    has_answered: bool,
    /// How long V(A) may stand.
    patience: Duration,
}

impl Model {
    fn begin(&mut self, state: State) {
        let standing_since = self.standing_since;
        let lost = [core::mem::take(&mut self.lost), core::mem::take(&mut self.units)].concat();
        let (next_reference, asked_for, poll) = (self.next_reference, self.asked_for, self.poll);
        let has_answered = self.has_answered && state != State::LocalEstablishment;
        let fresh = Self::new(self.patience);
        *self = Self { next_reference, asked_for, poll, standing_since, has_answered, lost, ..fresh };
        self.state = state;
    }

    fn new(patience: Duration) -> Self {
        Self {
            patience,
            state: State::Adm,
            vs: 0,
            va: 0,
            vr: 0,
            held: BTreeSet::new(),
            units: Vec::new(),
            lost: Vec::new(),
            next_reference: 0,
            peer_is_busy: false,
            asked_for: false,
            poll: false,
            tries: 0,
            standing_since: Instant::ZERO,
            has_answered: false,
        }
    }

    fn untouched(&self) -> bool {
        self.va == 0 && self.vr == 0 && self.held.is_empty()
    }

    fn reestablish(&mut self, seen: &mut Vec<Seen>) {
        self.asked_for = false;
        self.begin(State::LocalEstablishment);
        seen.extend([Seen::Status, Seen::U(UFunction::Sabm, true)]);
    }

    /// Clauses 8.5.1, 8.5.2, 8.5.5, 8.5.6 and 8.7.1, a row for each state and U frame.
    fn u(&mut self, function: UFunction, bit: bool, seen: &mut Vec<Seen>) {
        use State::{Adm, LocalEstablishment, LocalRelease, RemoteEstablishment};
        use UFunction::{Disc, Dm, Frmr, Sabm, Ua};
        match (function, self.state) {
            (Sabm, State::Abm) if self.untouched() && self.has_answered => seen.push(Seen::U(Ua, bit)),
            (Sabm, Adm | State::Abm) => {
                self.begin(RemoteEstablishment);
                (self.poll, self.has_answered) = (bit, true);
                seen.push(Seen::Indication);
            }
            (Sabm, RemoteEstablishment) => self.poll = bit,
            (Sabm, LocalEstablishment) => {
                self.has_answered = true;
                seen.push(Seen::U(Ua, bit));
            }
            (Sabm, LocalRelease) => self.end(&[Seen::U(Dm, bit), Seen::ReleaseConfirm], seen),
            (Disc, Adm) => seen.push(Seen::U(Dm, bit)),
            (Disc, LocalEstablishment) => self.end(&[Seen::U(Dm, bit), Seen::Released], seen),
            (Disc, RemoteEstablishment | State::Abm) => self.end(&[Seen::U(Ua, bit), Seen::Released], seen),
            (Disc, LocalRelease) => seen.push(Seen::U(Ua, bit)),
            (Ua, LocalEstablishment) if bit => {
                self.begin(State::Abm);
                seen.push(Seen::Confirm { again: !self.asked_for });
            }
            (Ua | Dm, LocalRelease) if bit => self.end(&[Seen::ReleaseConfirm], seen),
            (Dm, LocalEstablishment) if bit => self.end(&[Seen::Released], seen),
            (Dm, State::Abm) if !bit => self.reestablish(seen),
            (Frmr, State::Abm) => self.reestablish(seen),
            (Frmr, _) => seen.push(Seen::Status),
            _ => {}
        }
    }

    fn end(&mut self, what: &[Seen], seen: &mut Vec<Seen>) {
        self.begin(State::Adm);
        seen.extend(what);
    }

    /// Clauses 8.6.1 to 8.6.4.
    fn supervised(&mut self, ns: Option<i32>, nr: i32, answer: Answer, now: Instant, seen: &mut Vec<Seen>) {
        if self.state != State::Abm {
            return;
        }
        if nr > 0 && nr.unsigned_abs() > self.vs - self.va {
            seen.push(Seen::U(UFunction::Frmr, false));
            return;
        }
        if nr >= 0 {
            for _ in 0..nr {
                seen.push(Seen::Confirmed(self.units.remove(0)));
                self.va += 1;
                self.standing_since = now;
            }
            self.peer_is_busy = matches!(answer, Answer::Rnr);
            if self.peer_is_busy {
                self.standing_since = now;
            }
        }
        if let Some(ns) =
            ns.and_then(|ns| self.vr.checked_add_signed(ns)).filter(|ns| (self.vr..self.vr + K).contains(ns))
        {
            self.held.insert(ns);
            while self.held.remove(&self.vr) {
                seen.push(Seen::Delivered(self.vr));
                self.vr += 1;
            }
        }
    }

    /// Everything that the window lets out is out.
    fn send(&mut self, now: Instant) {
        while self.state == State::Abm
            && !self.peer_is_busy
            && self.vs - self.va < K
            && usize::try_from(self.vs - self.va).unwrap() < self.units.len()
        {
            if self.vs == self.va {
                self.standing_since = now;
            }
            self.vs += 1;
        }
    }

    fn timer(&mut self, now: Instant, seen: &mut Vec<Seen>) {
        let unanswered = self.tries == N200;
        match self.state {
            State::Adm | State::RemoteEstablishment => {}
            State::LocalEstablishment if unanswered => self.end(&[Seen::Status, Seen::Released], seen),
            State::LocalRelease if unanswered => self.end(&[Seen::Status, Seen::ReleaseConfirm], seen),
            State::LocalEstablishment => {
                self.tries += 1;
                seen.push(Seen::U(UFunction::Sabm, true));
            }
            State::LocalRelease => {
                self.tries += 1;
                seen.push(Seen::U(UFunction::Disc, true));
            }
            State::Abm if now.since(self.standing_since) >= self.patience => self.reestablish(seen),
            State::Abm => {}
        }
    }
}

struct Bench {
    around: Surroundings<Quiet>,
    abm: Abm,
    out: Batch<LlcOutput>,
    model: Model,
    /// An acknowledgement may wait for an I frame until then.
    owed_by: Option<Instant>,
}

/// The content of the unit that is given or received under a number.
fn content(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

impl Bench {
    fn new(retransmission: Retransmission, timing: Timing) -> Self {
        let options = Options {
            retransmission,
            timing,
            queue_max: u16::try_from(QUEUE).unwrap(),
            ..Options::default()
        };
        let k = u8::try_from(K).unwrap();
        let windows = Windows { iov_i: 0, m_sent: 0, m_received: 0, k_sent: k, k_received: k };
        Self {
            around: Surroundings::new(1, 64, Quiet::default()),
            abm: Abm::new(options, windows),
            out: Batch::default(),
            model: Model::new(match timing {
                Timing::Adaptive => T200 * u64::from(N200),
                Timing::Fixed | Timing::Chosen(_) => T200 * (u64::from(N200) + 1),
            }),
            owed_by: None,
        }
    }

    fn apply(&mut self, event: Event) {
        let before = (self.model.state, self.model.va);
        let mut seen = Vec::new();
        let mut must_answer = false;
        let now = self.around.now;
        match event {
            Event::EstablishRequest => self.establish_request(&mut seen),
            Event::EstablishResponse => {
                let mut cx = self.around.context();
                self.abm.establish_response(&mut cx, &LINK, &[], &mut self.out);
                if self.model.state == State::RemoteEstablishment {
                    let poll = self.model.poll;
                    self.model.begin(State::Abm);
                    seen.push(Seen::U(UFunction::Ua, poll));
                }
            }
            Event::Refuse => {
                self.abm.refuse(&mut self.around.context(), &LINK, &mut self.out);
                if self.model.state == State::RemoteEstablishment {
                    let poll = self.model.poll;
                    self.model.end(&[Seen::U(UFunction::Dm, poll)], &mut seen);
                }
            }
            Event::ReleaseRequest => self.release_request(&mut seen),
            Event::DataRequest => self.data_request(),
            Event::U(function, bit) => {
                let command = matches!(function, UFunction::Sabm | UFunction::Disc);
                let u = Unnumbered {
                    command,
                    poll_final: bit,
                    function,
                    info: &[],
                    layer3: None,
                    parameters: Vec::new(),
                    answer: Vec::new(),
                };
                let _ = self.abm.receive_u(&mut self.around.context(), &LINK, u, &mut self.out);
                self.model.u(function, bit, &mut seen);
            }
            Event::Supervised(ns, nr, a, answer) => {
                self.supervised(ns, nr, a, answer);
                self.model.supervised(ns, nr, answer, now, &mut seen);
                must_answer = a && before.0 == State::Abm && seen != [Seen::U(UFunction::Frmr, false)];
            }
            Event::Timer => self.timer(&mut seen),
        }
        self.model.send(self.around.now);
        self.compare(event, &seen, must_answer);
    }

    fn establish_request(&mut self, seen: &mut Vec<Seen>) {
        self.abm.establish_request(&mut self.around.context(), &LINK, &[], &mut self.out);
        self.model.asked_for = true;
        if self.model.state != State::LocalEstablishment {
            self.model.begin(State::LocalEstablishment);
            seen.push(Seen::U(UFunction::Sabm, true));
        }
    }

    fn release_request(&mut self, seen: &mut Vec<Seen>) {
        self.abm.release_request(&mut self.around.context(), &LINK, false, &mut self.out);
        let poll = self.model.poll;
        match self.model.state {
            State::Adm => seen.push(Seen::ReleaseConfirm),
            State::RemoteEstablishment => {
                self.model.end(&[Seen::U(UFunction::Dm, poll), Seen::ReleaseConfirm], seen);
            }
            State::LocalEstablishment | State::Abm => {
                self.model.begin(State::LocalRelease);
                seen.push(Seen::U(UFunction::Disc, true));
            }
            State::LocalRelease => {}
        }
    }

    fn data_request(&mut self) {
        let model = &mut self.model;
        let reference = model.next_reference;
        let frame = self.around.frames.copy_of(&content(reference)).unwrap();
        let taken = self.abm.data_request(&mut self.around.context(), &LINK, reference, frame, &mut self.out);
        // Those that wait are fewer than the free part of the window and the queue together.
        let waiting = model.units.len() - usize::try_from(model.vs - model.va).unwrap();
        let free = usize::try_from(K - (model.vs - model.va)).unwrap();
        let has_room = model.state == State::Abm && waiting < free + QUEUE;
        assert_eq!(taken.is_ok(), has_room);
        if has_room {
            model.units.push(reference);
            model.next_reference += 1;
        }
    }

    fn supervised(&mut self, ns: Option<i32>, nr: i32, ack_request: bool, answer: Answer) {
        let number = |from: u32, by: i32| u16::try_from((i64::from(from) + i64::from(by)) & 0x1ff).unwrap();
        let nr = number(self.model.va, nr);
        let supervisory = match answer {
            Answer::Rr => Supervisory::Rr,
            Answer::Ack => Supervisory::Ack,
            Answer::Rnr => Supervisory::Rnr,
            Answer::Sack(bits) => Supervisory::Sack(SackBitmap::new(&[bits]).unwrap()),
        };
        let (control, octets) = match ns {
            Some(by) => {
                let ns = number(self.model.vr, by);
                let octets = content(self.model.vr.wrapping_add_signed(by));
                (Control::I { ack_request, ns, nr, supervisory }, Some(octets))
            }
            None => (Control::S { ack_request, nr, supervisory }, None),
        };
        let header = Header { cr: false, sapi: LINK.sapi, control };
        let frame = self.around.frames.copy_of(octets.as_ref().map_or(&[][..], |octets| octets)).unwrap();
        let information = octets.map(|octets| 0..octets.len());
        let received = Received { header: &header, command: true, frame, information };
        let _ = self.abm.receive(&mut self.around.context(), &LINK, received, &mut self.out);
    }

    fn timer(&mut self, seen: &mut Vec<Seen>) {
        let Some(at) = self.abm.next_wake() else { return };
        assert!(at >= self.around.now);
        self.around.now = at;
        self.abm.wake(&mut self.around.context(), &LINK, &mut self.out);
        if self.owed_by == Some(at) {
            assert!(!self.out.is_empty(), "what was owed is not sent");
            return;
        }
        if self.model.state == State::Abm && self.model.units.is_empty() {
            // Nothing is asked about: it was about memory alone.
            assert!(self.out.is_empty() && self.abm.next_wake().is_none());
            return;
        }
        let was_abm = self.model.state == State::Abm;
        let oldest = u16::try_from(self.model.va & 0x1ff).unwrap();
        self.model.timer(at, seen);
        if was_abm && self.model.state == State::Abm {
            // Clause 8.6.3.3: the oldest frame asks, or where the peer is busy an S frame.
            let asks = self.out.iter().any(|output| {
                let LlcOutput::Transmit { frame, .. } = output else { return false };
                match Header::parse(frame).unwrap().header.control {
                    Control::I { ack_request, ns, .. } => ack_request && ns == oldest,
                    Control::S { ack_request, .. } => ack_request && self.model.peer_is_busy,
                    Control::U { .. } | Control::Ui { .. } => false,
                }
            });
            assert!(asks);
        }
    }

    /// State, variables and everything that came out.
    fn compare(&mut self, event: Event, expected: &[Seen], must_answer: bool) {
        let lost = core::mem::take(&mut self.model.lost);
        let model = &self.model;
        let mut seen = Vec::new();
        let (mut has_answered, mut returned) = (false, Vec::new());
        while let Some(output) = self.out.pop() {
            match output {
                LlcOutput::Transmit { frame, .. } => {
                    let layout = Header::parse(&frame).unwrap();
                    assert!(layout.fcs_is_right(&frame));
                    match layout.header.control {
                        Control::U { poll_final, function } => seen.push(Seen::U(function, poll_final)),
                        Control::I { ns, nr, supervisory, .. } => {
                            let behind = u32::from(ns).wrapping_sub(model.va) & 0x1ff;
                            assert!(behind < model.vs - model.va, "N(S) {ns}: {event:?}");
                            let reference = model.units[usize::try_from(behind).unwrap()];
                            assert_eq!(frame[layout.info()], content(reference));
                            has_answered |= model.says(nr, &supervisory);
                        }
                        Control::S { nr, supervisory, .. } => {
                            assert!(model.says(nr, &supervisory), "{supervisory:?}: {event:?}");
                            has_answered = true;
                        }
                        Control::Ui { .. } => panic!("UI"),
                    }
                }
                LlcOutput::EstablishIndication(_) => seen.push(Seen::Indication),
                LlcOutput::EstablishConfirm { again, .. } => seen.push(Seen::Confirm { again }),
                LlcOutput::ReleaseIndication {
                    cause: ReleaseCause::Peer | ReleaseCause::Refused | ReleaseCause::Unanswered,
                    ..
                } => {
                    seen.push(Seen::Released);
                }
                LlcOutput::ReleaseConfirm { .. } => seen.push(Seen::ReleaseConfirm),
                LlcOutput::Status { .. } => seen.push(Seen::Status),
                LlcOutput::Data { frame, .. } => {
                    seen.push(Seen::Delivered(u32::from_be_bytes(frame[..].try_into().unwrap())));
                }
                LlcOutput::DataConfirm { confirmed, .. } => {
                    seen.extend(confirmed.references().map(Seen::Confirmed));
                }
                LlcOutput::Room { .. } => {}
                LlcOutput::Returned { units, .. } => {
                    let units: Vec<_> = units.iter().collect();
                    assert!(units.iter().all(|(reference, octets)| *octets == content(*reference)));
                    returned.extend(units.into_iter().map(|(reference, _)| reference));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, expected, "{event:?}");
        assert_eq!(returned, lost, "what is not acknowledged comes back whole and in order: {event:?}");
        if must_answer && !has_answered && self.owed_by.is_none() {
            let soon = self.around.now + ANSWERED_WITHIN;
            self.owed_by = self.abm.next_wake().filter(|at| *at <= soon);
            assert!(self.owed_by.is_some(), "A is not answered: {event:?}");
        }
        if has_answered || model.state != State::Abm {
            self.owed_by = None;
        }
        let nine_bits = |count: u32| u16::try_from(count & 0x1ff).unwrap();
        assert_eq!(self.abm.state(), model.state, "{event:?}");
        let expected = (nine_bits(model.vs), nine_bits(model.va), nine_bits(model.vr));
        assert_eq!(self.abm.variables(), expected, "V(S), V(A), V(R): {event:?}");
        assert_eq!(self.abm.unacknowledged(), model.units.len());
        if model.state == State::Abm && model.vs > model.va {
            assert!(self.abm.next_wake().is_some(), "something waits and T201 does not run");
        }
    }
}

impl Model {
    /// Is this what a receiver with these variables says (clauses 6.4.2 and 8.6.3.1)?
    fn says(&self, nr: u16, supervisory: &Supervisory) -> bool {
        let bits: BTreeSet<u32> = match supervisory {
            Supervisory::Rr => BTreeSet::new(),
            Supervisory::Ack => [self.vr + 1].into(),
            Supervisory::Rnr => return false,
            Supervisory::Sack(bitmap) => (1..)
                .zip(bitmap.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1)))
                .filter(|(_, bit)| *bit == 1)
                .map(|(n, _)| self.vr + n)
                .collect(),
        };
        u32::from(nr) == self.vr & 0x1ff && bits == self.held
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_implementation_does_what_the_clauses_say(events in vec(event(), 1..120), go_back: bool, is_fixed: bool) {
        let retransmission = if go_back { Retransmission::GoBackN } else { Retransmission::Selective };
        let timing = if is_fixed { Timing::Fixed } else { Timing::Adaptive };
        let mut bench = Bench::new(retransmission, timing);
        for event in [Event::EstablishRequest, Event::U(UFunction::Ua, true)].into_iter().chain(events) {
            bench.apply(event);
        }
        prop_assert_eq!(bench.around.frames.free(), 64);
    }
}
