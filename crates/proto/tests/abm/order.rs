//! Paths that do not keep the order: the bearer changes, and what was sent over the former one arrives after what is sent later.

use crate::pair::{Badness, End, Pair, SAPI, terms, windows};
use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::{Link, LinkProfile};
use gannet_machine::time::Duration;
use gannet_proto::llc::abm::Options;
use gannet_proto::llc::{Ciphering, Layer3Offer, XidRequest};
use gannet_wire::llc::{Control, Header};

/// Octets/s of each bearer: 100 Mbit/s, which carries a window of 255 units in 30 ms.
const RATE: u64 = 12_500_000;
const UNITS: u32 = 1600;

fn profile(round_trip: Duration) -> LinkProfile {
    let delay = Duration(round_trip.0 / 2);
    LinkProfile { rate_octets_per_s: Some(RATE), delay, ..LinkProfile::default() }
}

/// A transfer with a full window, over a bearer with this round trip.
fn transfer(round_trip: Duration) -> Pair {
    let terms = terms(Options::default(), windows(255, 0));
    let mut pair = Pair::new(1, Duration(round_trip.0 / 2), Badness::default(), Ciphering::NONE, &terms);
    pair.set_profile(profile(round_trip));
    pair.sgsn.length = |_| 1485;
    pair.sgsn.offered = UNITS;
    pair.sgsn.establish();
    pair
}

/// What came of a change when so many units were confirmed.
#[derive(Debug)]
struct Changed {
    again: u32,
    longest_pause: Duration,
}

fn change(from: Duration, to: Duration, after: u32, is_cut: bool) -> Changed {
    let mut pair = transfer(from);
    while pair.sgsn.confirmed < after {
        assert!(pair.step());
    }
    assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), 0);
    (pair.up.link, pair.down.link) = (Link::new(profile(to)), Link::new(profile(to)));
    if is_cut {
        pair.up.clear();
        pair.down.clear();
    }
    let (mut arrived, mut at, mut longest_pause) = (pair.ms.arrived, pair.now, Duration::ZERO);
    while !pair.is_done() {
        assert!(pair.step());
        if pair.ms.arrived > arrived {
            longest_pause = longest_pause.max(pair.now.since(at));
            (arrived, at) = (pair.ms.arrived, pair.now);
        }
    }
    assert_eq!((pair.sgsn.establishments, pair.ms.arrived), (1, UNITS));
    Changed { again: pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), longest_pause }
}

const ROUND_TRIPS_US: [u64; 3] = [200, 8000, 50_000];

#[test]
fn what_a_new_bearer_overtakes_is_not_lost() {
    for from in ROUND_TRIPS_US.map(Duration::from_micros) {
        for to in ROUND_TRIPS_US.map(Duration::from_micros) {
            for after in [700, 1013] {
                let changed = change(from, to, after, false);
                // A few, until one arrives that was overtaken, and as many as are confirmed beside the first that has overtaken it.
                let most = 24 + u32::try_from(from.0 * RATE / 1_000_000_000 / 1485).unwrap().min(255);
                assert!(changed.again <= most, "{changed:?} from {from} to {to} after {after}");
                let pause = to + Duration::from_millis(5);
                assert!(changed.longest_pause <= pause, "{changed:?} from {from} to {to} after {after}");
            }
        }
    }
}

#[test]
fn what_a_former_bearer_has_lost_comes_over_the_new_one() {
    for from in ROUND_TRIPS_US.map(Duration::from_micros) {
        for to in ROUND_TRIPS_US.map(Duration::from_micros) {
            let changed = change(from, to, 1000, true);
            // A window at most, and what comes before that is known.
            assert!(changed.again <= 255 + 40, "{changed:?} from {from} to {to}");
            // T201 finds out that the acknowledgements were lost as well; then twice as many with each round trip.
            let most = from * 2 + to * 8 + Duration::from_millis(60);
            assert!(changed.longest_pause <= most, "{changed:?} from {from} to {to}");
        }
    }
}

fn established() -> Pair {
    let terms = terms(Options::default(), windows(16, 1520));
    let mut pair = Pair::new(1, Duration::from_millis(50), Badness::default(), Ciphering::NONE, &terms);
    pair.sgsn.establish();
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    pair
}

fn give_over(from: &mut End, to: &mut End) {
    std::mem::take(&mut from.sent).iter().for_each(|pdu| to.receive(pdu));
}

/// A frame that has arrived behind a gap is confirmed once more when the gap is filled: that says nothing of its round trip.
#[test]
fn the_time_until_a_gap_is_filled_is_no_round_trip() {
    let mut pair = established();
    let (ms, sgsn) = pair.ends();
    let begun = sgsn.around.now;
    let at = |end: &mut End, ms| end.around.now = begun + Duration::from_millis(ms);
    sgsn.offered = 9;
    sgsn.drain();
    let last = Header::parse(&sgsn.sent[8]).unwrap().header.control;
    assert!(matches!(last, Control::I { ack_request: true, .. }), "half a window");
    sgsn.sent.remove(0);
    give_over(sgsn, ms);
    at(sgsn, 100);
    give_over(ms, sgsn);
    at(sgsn, 400);
    give_over(sgsn, ms);
    give_over(ms, sgsn);
    assert_eq!(sgsn.confirmed, 9);
    sgsn.offered = 10;
    sgsn.drain();
    // The last frame took 100 ms: that and four times the half of it.
    let t201 = sgsn.llc.abm(SAPI).unwrap().next_wake().unwrap().since(sgsn.around.now);
    assert!((Duration::from_millis(298)..=Duration::from_millis(300)).contains(&t201), "{t201}");
}

/// Frames that were cut by the former N201-I are under way when another is agreed to.
#[test]
fn a_smaller_n201_i_rejects_no_frame_that_was_sent_before() {
    let mut pair = established();
    let (ms, sgsn) = pair.ends();
    sgsn.length = |_| 1500;
    sgsn.offered = 4;
    sgsn.drain();
    let former = std::mem::take(&mut sgsn.sent);
    let request = XidRequest { n201_u: None, n201_i: Some(1000), layer3: Layer3Offer::Nothing };
    ms.llc.xid_request(&mut ms.around.context(), SAPI, request, &mut ms.out);
    ms.drain();
    give_over(ms, sgsn);
    give_over(sgsn, ms);
    assert_eq!((ms.llc.n201_i(SAPI), sgsn.llc.n201_i(SAPI)), (1000, 1000));
    // All but the first, which is sent again.
    former[1..].iter().for_each(|pdu| ms.receive(pdu));
    give_over(ms, sgsn);
    give_over(sgsn, ms);
    give_over(ms, sgsn);
    assert_eq!((sgsn.confirmed, ms.arrived, ms.drops(Drop::LlcFrameRejected)), (4, 4, 0));
    // The next link has the smaller one alone.
    sgsn.establish();
    give_over(sgsn, ms);
    give_over(ms, sgsn);
    assert!(sgsn.is_established());
    ms.receive(&former[0]);
    assert_eq!(ms.drops(Drop::LlcFrameRejected), 1);
}
