//! An N-PDU that LLC has is confirmed by it or comes back, and never both nor neither: also where what LLC says of an LL-PDU waits
//! while the node has something to do with the same mobile first.

use crate::harness::{End, Ends as _, Pair, SAPI, SURE, pair};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::sndcp::SndcpConfig;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What is longer under way is lost: a round trip takes less than T200, as 04.64 clause 8.5.1.3 [44.064] has it where a SABM is repeated.
const LIFETIME: Duration = Duration::from_secs(2);

/// What a node does with a mobile.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// SN-DATA.request of an N-PDU of so many octets.
    Request(usize),
    /// What waits is tried again.
    Resume,
    /// SNSM-SEQUENCE.indication: the mobile says what it expects next, and its link goes on.
    Sequence,
}

#[derive(Debug, Clone)]
enum Event {
    Act(Act),
    /// The mobile's next LL-PDU arrives, and what LLC says of it waits for these.
    Heard(Vec<Act>),
    /// So many LL-PDUs of the SGSN arrive at the mobile.
    Down(usize),
    /// What is under way in a direction is lost.
    Lost(bool),
    /// SNDCP of one end has the link established anew.
    Anew(bool),
    /// The mobile's LLC releases the link, and nothing else happens until that is done: no UA says what it answers, so that one to DISC may
    /// be taken for one to SABM where both are under way. Or it has no link any more, and what was under way is lost.
    Released(bool),
    /// Nothing comes for so many milliseconds.
    Silence(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let octets = prop_oneof![4 => 4..400_usize, 1 => 400..1500_usize];
    prop_oneof![10 => octets.prop_map(Act::Request), 2 => Just(Act::Resume), 1 => Just(Act::Sequence)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        10 => act().prop_map(Event::Act),
        10 => vec(act(), 0..4).prop_map(Event::Heard),
        10 => (1..12_usize).prop_map(Event::Down),
        2 => any::<bool>().prop_map(Event::Lost),
        1 => any::<bool>().prop_map(Event::Anew),
        1 => any::<bool>().prop_map(Event::Released),
        2 => prop_oneof![Just(300), Just(2000), Just(6000), Just(17_000)].prop_map(Event::Silence),
    ]
}

/// LL-PDUs in one direction, with when each was sent.
#[derive(Default)]
struct Way(VecDeque<(Instant, Vec<u8>)>);

impl Way {
    fn put(&mut self, now: Instant, sent: &mut Vec<Vec<u8>>) {
        self.0.extend(sent.drain(..).map(|octets| (now, octets)));
    }

    fn next(&mut self, now: Instant) -> Option<Vec<u8>> {
        while let Some((at, octets)) = self.0.pop_front() {
            if now.since(at) <= LIFETIME {
                return Some(octets);
            }
        }
        None
    }
}

/// The two ends, and what is under way between them.
struct Bench {
    pair: Pair,
    /// By their numbers, octets of the N-PDUs that SNDCP has taken.
    requested: Vec<usize>,
    /// So many of these are gone from SNDCP: LLC has confirmed them, too.
    gone: usize,
    /// The mobile has said that it has more.
    knows_more: bool,
    down: Way,
    up: Way,
}

fn n_pdu(number: usize, octets: usize) -> Vec<u8> {
    let mut n_pdu = u32::try_from(number).unwrap().to_be_bytes().to_vec();
    n_pdu.resize(octets, number.to_le_bytes()[0]);
    n_pdu
}

impl Bench {
    fn new(n201: u16) -> Self {
        let mut pair = pair(1, [SndcpConfig::default(); 2]);
        pair.sgsn.ask_for_n201(n201);
        pair.run();
        pair.sgsn.activate(SURE, true);
        pair.ms.activate(SURE, true);
        pair.run();
        assert!(pair.sgsn.sndcp.is_established(SAPI));
        Self {
            pair,
            requested: Vec::new(),
            gone: 0,
            knows_more: false,
            down: Way::default(),
            up: Way::default(),
        }
    }

    /// With outputs of their own, as a node has them for what it does amid others.
    fn act(&mut self, act: Act) {
        let sgsn = &mut self.pair.sgsn;
        let waiting = core::mem::take(&mut sgsn.out);
        match act {
            Act::Request(octets) => {
                let octets = n_pdu(self.requested.len(), octets);
                let frame = sgsn.around.frames.copy_of(&octets).unwrap();
                match sgsn.with(|plane, cx| plane.data_request(cx, SURE, frame)) {
                    Ok(_) => self.requested.push(octets.len()),
                    Err(drop) => assert_eq!(drop, Drop::SndcpUnconfirmedFull),
                }
            }
            Act::Resume => sgsn.with(|plane, cx| plane.resume(cx, SURE)),
            Act::Sequence => {
                let (_, number) = self.pair.ms.sndcp.receive_numbers().next().unwrap();
                sgsn.with(|plane, cx| plane.sequence_indication(cx, SURE, number));
                self.knows_more = true;
            }
        }
        self.settle();
        self.pair.sgsn.out = waiting;
    }

    /// What the SGSN's LLC has said is looked at.
    fn settle(&mut self) {
        self.pair.sgsn.drain();
        self.collect();
        self.check();
    }

    /// True where something came.
    fn hear(&mut self, acts: &[Act]) -> bool {
        let Some(octets) = self.up.next(self.pair.now) else { return false };
        let End { around, llc, out, .. } = &mut self.pair.sgsn;
        let frame = around.frames.copy_of(&octets).unwrap();
        llc.receive(&mut around.context(), None, frame, &mut out.llc);
        acts.iter().for_each(|act| self.act(*act));
        self.settle();
        true
    }

    fn down(&mut self, count: usize) {
        for _ in 0..count {
            let Some(octets) = self.down.next(self.pair.now) else { break };
            self.pair.ms.receive(&octets);
        }
        self.collect();
    }

    fn collect(&mut self) {
        self.down.put(self.pair.now, &mut self.pair.sgsn.sent);
        self.up.put(self.pair.now, &mut self.pair.ms.sent);
    }

    fn silence(&mut self, for_: Duration) {
        let end = self.pair.now + for_;
        loop {
            let wakes = [&self.pair.ms, &self.pair.sgsn].map(|end| end.around.timers.next());
            let next = wakes.into_iter().flatten().min().filter(|at| *at <= end);
            let now = next.unwrap_or(end).max(self.pair.now);
            self.pair.now = now;
            for end in [&mut self.pair.ms, &mut self.pair.sgsn] {
                end.around.now = now;
                end.wake();
            }
            self.collect();
            if next.is_none() {
                return;
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Act(act) => self.act(*act),
            Event::Heard(acts) => drop(self.hear(acts)),
            Event::Down(count) => self.down(*count),
            Event::Lost(true) => self.up = Way::default(),
            Event::Lost(false) => self.down = Way::default(),
            Event::Anew(is_sgsn) => {
                let end = if *is_sgsn { &mut self.pair.sgsn } else { &mut self.pair.ms };
                end.tell(|sndcp, _, setting, out| sndcp.establish_anew(setting, SAPI, out));
                end.drain();
            }
            Event::Released(is_local) => {
                let ms = &mut self.pair.ms;
                ms.with(|plane, cx| plane.llc.release_request(cx, SAPI, *is_local, &mut plane.out.llc));
                ms.drain();
                if *is_local {
                    (self.up, self.down) = (Way::default(), Way::default());
                }
                self.collect();
                let mut acts = &[Act::Request(90)][..];
                while self.hear(core::mem::take(&mut acts)) {
                    self.down(usize::MAX);
                }
            }
            Event::Silence(ms) => self.silence(Duration::from_millis(*ms)),
        }
        self.collect();
        self.check();
    }

    /// What must hold at every moment.
    fn check(&mut self) {
        let Pair { sgsn, ms, .. } = &self.pair;
        let numbers = |count: usize| (0..count).map(|number| number.to_le_bytes()[0]).collect::<Vec<_>>();
        assert_eq!(sgsn.confirmed, numbers(sgsn.confirmed.len()), "in order, and each once");
        assert_eq!(sgsn.confirmed.len() + sgsn.sndcp.unconfirmed(), self.requested.len(), "none is lost");
        assert!(sgsn.confirmed.len() <= ms.delivered.len(), "what is confirmed is there");
        for end in [sgsn, ms] {
            let unexpected =
                [Drop::SndcpUnconfirmed, Drop::SndcpUnexpected, Drop::SndcpGap, Drop::SndcpBadSequence];
            assert_eq!(unexpected.map(|drop| end.drops(drop)), [0; 4]);
        }
        // Octets are kept of those that are not confirmed, and of others that LLC alone has not confirmed.
        let (octets, confirmed) = (sgsn.sndcp.unconfirmed_octets(), sgsn.confirmed.len());
        let mut least = self.requested[confirmed..].iter().sum::<usize>();
        let mut gone = confirmed;
        while self.knows_more && least < octets && gone > self.gone {
            gone -= 1;
            least += self.requested[gone];
        }
        assert_eq!(octets, least, "{gone} of {confirmed} are gone");
        (self.gone, self.knows_more) = (gone, self.knows_more && gone < confirmed);
    }

    /// Until everything is confirmed.
    fn confirm_all(&mut self) {
        for turn in 0.. {
            assert!(turn < 10_000, "it goes on for ever");
            if self.pair.sgsn.sndcp.unconfirmed_octets() == 0 {
                break;
            }
            self.act(Act::Resume);
            self.down(usize::MAX);
            while self.hear(&[]) {}
            self.silence(Duration::from_millis(500));
        }
    }

    /// The same, and LLC has room for as many as at the beginning then.
    fn finish(&mut self) {
        self.confirm_all();
        self.act(Act::Request(90));
        self.confirm_all();
        let before = self.pair.sgsn.sndcp.counted().sent;
        let most = SndcpConfig::default().limits.segments_max;
        (0..most).for_each(|_| self.act(Act::Request(4)));
        assert_eq!(self.pair.sgsn.sndcp.counted().sent - before, 4 * u32::from(most), "none waits");
        self.confirm_all();
        let expected =
            self.requested.iter().enumerate().map(|(number, octets)| (SURE, n_pdu(number, *octets)));
        assert_eq!(self.pair.ms.delivered, expected.collect::<Vec<_>>());
        self.pair.assert_at_rest();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_llc_has_is_confirmed_or_comes_back(events in vec(event(), 1..150), is_cut: bool) {
        // Where it is cut many an N-PDU is several SN-PDUs, of which some are confirmed.
        let mut bench = Bench::new(if is_cut { 300 } else { 1503 });
        events.iter().for_each(|event| bench.apply(event));
        bench.finish();
    }
}

#[test]
fn what_is_confirmed_before_a_link_ends_does_not_come_back_and_the_rest_goes_out_again() {
    let mut bench = Bench::new(1503);
    (0..9).for_each(|_| bench.act(Act::Request(100)));
    bench.down(5);
    // An acknowledgement waits for an I frame that could carry it.
    bench.silence(Duration::from_millis(2));
    while bench.hear(&[Act::Request(100)]) {}
    let (confirmed, requested) = (bench.pair.sgsn.confirmed.len(), bench.requested.len());
    assert!(0 < confirmed && confirmed < 9 && requested > 9, "{confirmed} of {requested}");
    bench.apply(&Event::Anew(true));
    bench.finish();
    let sent = usize::try_from(bench.pair.sgsn.sndcp.counted().sent).unwrap();
    let at_the_end: usize = bench.requested[requested..].iter().sum();
    assert_eq!(sent, 100 * (requested + requested - confirmed) + at_the_end);
}
