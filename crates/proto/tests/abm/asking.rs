//! How often acknowledgements are asked for.

use crate::pair::{Badness, Pair, SAPI, terms, windows};
use gannet_machine::time::Duration;
use gannet_proto::llc::Ciphering;
use gannet_proto::llc::abm::{Options, Timing, Windows};
use gannet_wire::llc::{Control, Header};

/// Between two units.
const EACH: Duration = Duration::from_millis(100);
const LATENCY: Duration = Duration::from_millis(5);
/// A quarter of T200 of SAPI 3.
const WITHIN: Duration = Duration::from_millis(1250);
/// An answer waits so long at most for an I frame that takes it along.
const ANSWERED_WITHIN: Duration = Duration::from_millis(2);
/// k, and what is given until the path counts as intact.
const K: u8 = 16;
const ENOUGH: u32 = 40;

fn pair(options: Options) -> Pair {
    pair_within(options, windows(K, 0))
}

fn pair_within(options: Options, windows: Windows) -> Pair {
    let mut pair = Pair::new(1, LATENCY, Badness::default(), Ciphering::NONE, &terms(options, windows));
    pair.sgsn.establish();
    pair.pass(EACH);
    assert!(pair.sgsn.is_established());
    pair
}

/// Gives so many units, one after the other. Says how many of their frames asked.
fn give(pair: &mut Pair, units: u32, each: Duration) -> u32 {
    let mut asked = 0;
    for _ in 0..units {
        pair.sgsn.offered += 1;
        pair.sgsn.drain();
        asked += asking(pair);
        pair.pass(each);
    }
    asked
}

/// Frames that ask, of those that the SGSN has sent just now.
fn asking(pair: &Pair) -> u32 {
    let asks = |pdu: &Vec<u8>| match Header::parse(pdu).unwrap().header.control {
        Control::I { ack_request, .. } | Control::S { ack_request, .. } => u32::from(ack_request),
        Control::Ui { .. } | Control::U { .. } => 0,
    };
    pair.sgsn.sent.iter().map(asks).sum()
}

#[test]
fn where_nothing_is_lost_half_a_window_shares_an_acknowledgement() {
    let mut pair = pair(Options::default());
    assert_eq!(give(&mut pair, 32, EACH), 32, "at first each frame asks that finds no request out");
    give(&mut pair, ENOUGH, EACH);
    // A window and more within the round trip: asked about half a window before it closes. Slower ones: one frame before that.
    for (each, asked) in [(Duration::from_millis(1), 20), (Duration::from_millis(50), 10)] {
        pair.pass(WITHIN * 2);
        assert!(pair.is_done());
        give(&mut pair, 1, EACH);
        let carried = pair.up.carried;
        assert_eq!(give(&mut pair, 161, each), asked, "{each:?}");
        pair.pass(LATENCY * 2 + ANSWERED_WITHIN);
        assert_eq!(pair.up.carried - carried, u64::from(asked), "S frames of the mobile");
        assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), 0);
    }
}

#[test]
fn with_a_fixed_t201_each_frame_asks_that_finds_no_request_out() {
    let mut pair = pair(Options { timing: Timing::Fixed, ..Options::default() });
    assert_eq!(give(&mut pair, 100, EACH), 100);
}

#[test]
fn what_comes_alone_asks_itself() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    assert!(pair.is_done());
    assert_eq!(give(&mut pair, 10, WITHIN), 10);
}

#[test]
fn the_rest_of_half_a_window_is_asked_about_after_a_while() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    // One that asks itself, and then those that follow.
    assert_eq!(give(&mut pair, 4, EACH), 1);
    let passed = EACH * 3;
    pair.pass(Duration(WITHIN.0 - passed.0 - 1));
    assert!(!pair.is_done());
    pair.pass(Duration(LATENCY.0 * 2 + 1));
    assert!(pair.is_done());
    assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), 0);
}

#[test]
fn frames_that_go_on_ask_before_an_s_frame_would() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    for (each, frames) in [(100, 12), (200, 6), (300, 4)] {
        pair.pass(WITHIN * 2);
        give(&mut pair, 1, EACH);
        let carried = pair.down.carried;
        let asked = give(&mut pair, 5 * frames, Duration::from_millis(each));
        assert_eq!(asked, 5, "one in {frames} that come each {each} ms");
        assert_eq!(pair.down.carried - carried, u64::from(5 * frames), "no S frame");
    }
}

#[test]
fn so_they_do_where_the_answer_takes_longer_than_the_next_frame() {
    let latency = Duration::from_millis(850);
    let terms = terms(Options::default(), windows(K, 0));
    let mut pair = Pair::new(1, latency, Badness::default(), Ciphering::NONE, &terms);
    pair.sgsn.establish();
    pair.pass(latency * 4);
    give(&mut pair, ENOUGH, latency * 2 + EACH);
    while !pair.is_done() {
        assert!(pair.step());
    }
    let carried = pair.down.carried;
    let asked = give(&mut pair, 30, Duration::from_millis(600));
    assert_eq!(pair.down.carried - carried, 30, "no S frame");
    assert!((5..12).contains(&asked), "{asked}");
}

#[test]
fn so_they_do_where_they_come_unevenly() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    let (carried, mut asked) = (pair.down.carried, 0);
    for _ in 0..80 {
        for each in [100, 100, 300] {
            asked += give(&mut pair, 1, Duration::from_millis(each));
        }
    }
    assert_eq!(pair.down.carried - carried, 240, "no S frame");
    assert!((35..45).contains(&asked), "one in some six that come each 167 ms: {asked}");
}

#[test]
fn of_a_large_window_one_in_32_asks() {
    let mut pair = pair_within(Options::default(), windows(255, 0));
    give(&mut pair, ENOUGH, EACH);
    for each in [Duration::from_millis(1), Duration::from_millis(20)] {
        pair.pass(WITHIN * 2);
        assert!(pair.is_done());
        give(&mut pair, 1, EACH);
        assert_eq!(give(&mut pair, 321, each), 10, "{each:?}");
        assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), 0);
    }
}

#[test]
fn long_units_ask_before_m_is_full_and_not_with_s_frames() {
    // 15 units of 1,500 octets are all that m of table 9 takes.
    let mut pair = pair_within(Options::default(), windows(64, 1520));
    pair.sgsn.length = |_| 1500;
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    give(&mut pair, 1, EACH);
    let carried = pair.down.carried;
    let asked = give(&mut pair, 160, Duration::from_millis(2));
    assert_eq!(pair.down.carried - carried, 160, "no S frame");
    assert!((16..=32).contains(&asked), "{asked}");
}

#[test]
fn a_lost_end_is_found_as_soon_as_it_is_asked_about() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    give(&mut pair, 1, EACH);
    pair.down.is_cut = true;
    assert_eq!(give(&mut pair, 3, EACH), 0);
    pair.down.is_cut = false;
    pair.pass(WITHIN);
    assert!(pair.is_done(), "nothing came behind it");
    // What was lost makes each frame ask again.
    assert_eq!(give(&mut pair, 20, EACH), 20);
}

#[test]
fn an_answer_that_does_not_come_is_no_frame_that_is_lost() {
    let each = Duration::from_millis(50);
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    pair.up.is_cut = true;
    assert_eq!(give(&mut pair, 1, LATENCY * 2), 1);
    pair.up.is_cut = false;
    pair.pass(WITHIN * 2);
    assert!(pair.is_done());
    assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), 1, "T201");
    give(&mut pair, 1, EACH);
    assert_eq!(give(&mut pair, 161, each), 10, "as if nothing had been");
    pair.pass(WITHIN * 2);
    give(&mut pair, 1, EACH);
    pair.down.is_cut = true;
    give(&mut pair, 1, each);
    pair.down.is_cut = false;
    let asked = give(&mut pair, 161, each);
    assert!((32..50).contains(&asked), "each for a while: {asked}");
}

/// Requests and answers as of an application: what is sent back takes the acknowledgement along.
#[test]
fn an_answer_takes_the_acknowledgement_along() {
    let mut pair = pair(Options::default());
    pair.ms.length = |_| 60;
    for _ in 0..50 {
        let carried = pair.up.carried;
        pair.sgsn.offered += 1;
        pair.sgsn.drain();
        pair.pass(LATENCY);
        assert_eq!((pair.ms.arrived, pair.up.carried), (pair.sgsn.offered, carried), "it is waited with");
        pair.pass(Duration::from_millis(1));
        pair.ms.offered += 1;
        pair.ms.drain();
        pair.pass(LATENCY);
        assert_eq!(pair.sgsn.confirmed, pair.sgsn.offered);
        pair.pass(EACH);
        assert_eq!(pair.up.carried - carried, 1, "no S frame besides");
    }
    pair.pass(WITHIN * 2);
    assert!(pair.is_done());
    // Where nothing is sent back it goes alone, and where more comes than half a window it does not wait.
    let carried = pair.up.carried;
    give(&mut pair, 1, LATENCY * 2 + ANSWERED_WITHIN);
    assert_eq!((pair.up.carried - carried, pair.is_done()), (1, true));
    pair.pass(WITHIN * 2);
    let carried = pair.up.carried;
    pair.sgsn.offered += u32::from(K) / 2 + 1;
    pair.sgsn.drain();
    pair.pass(LATENCY + Duration::from_millis(1));
    assert_eq!(pair.up.carried - carried, 1);
}

#[test]
fn what_waits_for_the_window_has_it_asked_at_once() {
    // m has room for all of the short units, and then not for a long one.
    let mut pair = pair_within(Options::default(), windows(K, 20));
    pair.sgsn.length = |number| if number > ENOUGH + 3 { 250 } else { 30 };
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    give(&mut pair, 1, EACH);
    assert_eq!(give(&mut pair, 3, Duration(LATENCY.0 / 10)), 0);
    assert_eq!(give(&mut pair, 1, LATENCY * 4), 1, "an S frame");
    pair.pass(LATENCY * 4);
    assert!(pair.is_done() || pair.sgsn.confirmed + 1 == pair.sgsn.offered, "{}", pair.sgsn.confirmed);
}

#[test]
fn layer_3_has_it_asked_where_it_waits() {
    let mut pair = pair(Options::default());
    give(&mut pair, ENOUGH, EACH);
    pair.pass(WITHIN * 2);
    assert_eq!((give(&mut pair, 1, EACH), give(&mut pair, 3, EACH)), (1, 0));
    for asked in [1, 0] {
        let (_, sgsn) = pair.ends();
        sgsn.llc.request_acknowledgement(&mut sgsn.around.context(), SAPI, &mut sgsn.out);
        sgsn.drain();
        assert_eq!(asking(&pair), asked, "once");
        pair.pass(LATENCY * 2);
        assert!(pair.is_done());
    }
}
