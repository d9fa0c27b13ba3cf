//! How long a window stands: until a link is found dead, and until a lost end has arrived.

use crate::pair::{Badness, End, Pair, SAPI, patience, terms, windows};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::llc::Ciphering;
use gannet_proto::llc::abm::{Options, Retransmission, Shared, Timing};
use gannet_wire::llc::{Control, Header};

/// T200 in tenths of a second, and N200.
const PARAMETERS: [(u16, u8); 4] = [(50, 3), (10, 1), (20, 7), (300, 15)];

const OPTIONS: [(Retransmission, Timing); 4] = [
    (Retransmission::Selective, Timing::Adaptive),
    (Retransmission::GoBackN, Timing::Adaptive),
    (Retransmission::Selective, Timing::Fixed),
    (Retransmission::GoBackN, Timing::Fixed),
];

/// What is known of the round trip.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// Nothing: the SABM was sent twice.
    Nothing,
    /// It is so many hundredths of T200.
    Hundredths(u64),
}

#[test]
fn a_chosen_t201_asks_after_its_time_and_gives_up_when_t200_says_so() {
    let chosen = Duration::from_millis(10);
    for retransmission in [Retransmission::Selective, Retransmission::GoBackN] {
        let options = Options { retransmission, timing: Timing::Chosen(chosen), ..Options::default() };
        let mut pair = established(options, (10, 2), Known::Hundredths(1));
        let begun = pair.now;
        let end = &mut pair.sgsn;
        end.offered = 3;
        end.drain();
        end.sent.clear();
        assert_eq!(end.around.timers.next(), Some(begun + chosen));
        end.around.now = begun + chosen;
        end.wake();
        let again = end.sent.len();
        assert_eq!(again, if retransmission == Retransmission::GoBackN { 3 } else { 1 });
        while end.statuses == 0 {
            end.around.now = end.around.timers.next().unwrap();
            end.wake();
        }
        let t200 = Duration::from_secs(1);
        assert_eq!(end.around.now.since(begun), t200 * 3, "N200 + 1 times T200");
    }
    // It is never longer than T200.
    let options = Options { timing: Timing::Chosen(Duration::from_secs(60)), ..Options::default() };
    let mut pair = established(options, (10, 2), Known::Hundredths(1));
    let begun = pair.now;
    pair.sgsn.offered = 1;
    let end = &mut pair.sgsn;
    end.drain();
    end.sent.clear();
    while end.sent.is_empty() {
        end.around.now = end.around.timers.next().unwrap();
        end.wake();
    }
    assert_eq!(end.around.now, begun + Duration::from_secs(1));
}

fn established(options: Options, (t200_tenths, n200): (u16, u8), known: Known) -> Pair {
    let t200 = Duration::from_millis(u64::from(t200_tenths) * 100);
    let Duration(t200_ns) = t200;
    let latency = match known {
        Known::Nothing => Duration::from_millis(1),
        Known::Hundredths(hundredths) => Duration(t200_ns * hundredths / 200),
    };
    let mut terms = terms(options, windows(255, 0));
    terms.shared = Shared { n201_i: None, t200_tenths: Some(t200_tenths), n200: Some(n200) };
    let mut pair = Pair::new(1, latency, Badness::default(), Ciphering::NONE, &terms);
    pair.sgsn.establish();
    if let Known::Nothing = known {
        pair.sgsn.sent.clear();
    }
    while !pair.sgsn.is_established() {
        assert!(pair.step());
    }
    assert_eq!(patience(&pair.sgsn).0 % t200_ns, 0, "T200 is as agreed");
    pair.sgsn.sent.clear();
    pair
}

/// How often the oldest unit is among what an end has sent since it was asked last.
fn transmissions_of_oldest(end: &mut End) -> u32 {
    let (_, va, _) = end.llc.abm(SAPI).unwrap().variables();
    let is_oldest = |pdu: &Vec<u8>| matches!(Header::parse(pdu).unwrap().header.control, Control::I { ns, .. } if ns == va);
    u32::try_from(std::mem::take(&mut end.sent).iter().filter(|pdu| is_oldest(pdu)).count()).unwrap()
}

/// Nothing arrives any more. Gives when that was reported, and the repetitions of the oldest unit before. Where units `trickle`, one
/// more is given whenever T201 is about to run out, as often as the window takes one.
fn die(end: &mut End, trickle: bool) -> (Instant, u32) {
    end.offered = 1;
    end.drain();
    let mut transmissions = transmissions_of_oldest(end);
    while end.statuses == 0 {
        let due = end.around.timers.next().unwrap();
        if trickle && end.offered < 200 {
            end.around.now = end.around.now.max(Instant(due.0 - 1));
            // So many that one of them asks for an acknowledgement, which starts T201 again.
            end.offered += 17;
            end.drain();
            transmissions += transmissions_of_oldest(end);
            end.around.now = end.around.timers.next().unwrap();
        } else {
            end.around.now = due;
        }
        end.wake();
        if end.statuses == 0 {
            transmissions += transmissions_of_oldest(end);
        }
    }
    (end.around.now, transmissions - 1)
}

#[test]
fn a_dead_link_is_found_within_n200_times_t200_and_n200_repetitions_are_made_by_then() {
    let knowledge = [Known::Nothing, Known::Hundredths(0), Known::Hundredths(30), Known::Hundredths(95)];
    for (retransmission, timing) in OPTIONS {
        let options = Options { retransmission, timing, ..Options::default() };
        for parameters in PARAMETERS {
            for known in knowledge {
                for trickle in [false, true] {
                    let named =
                        format!("{retransmission:?}, {timing:?}, {parameters:?}, {known:?}, {trickle}");
                    let mut pair = established(options, parameters, known);
                    let from = pair.now;
                    let (t200_tenths, n200) = parameters;
                    let (reported, repetitions) = die(&mut pair.sgsn, trickle);
                    let times = u64::from(n200) + u64::from(timing == Timing::Fixed);
                    let most = Duration::from_millis(u64::from(t200_tenths) * 100) * times;
                    assert_eq!(reported.since(from), most, "{named}");
                    // A fixed T201 runs anew with each request, and what is asked anew is not repeated meanwhile.
                    if timing == Timing::Adaptive || !trickle {
                        assert!(repetitions >= n200.into(), "{repetitions}: {named}");
                    }
                    if timing == Timing::Fixed && !trickle {
                        assert_eq!(repetitions, n200.into(), "{named}");
                    }
                    assert_eq!(pair.sgsn.drops(Drop::LlcLinkUnanswered), 1, "{named}");
                }
            }
        }
    }
}

#[test]
fn a_lost_end_needs_few_round_trips_and_not_a_t201_for_each_frame() {
    const UNITS: u32 = 40;
    for (retransmission, timing) in OPTIONS {
        let options = Options { retransmission, timing, ..Options::default() };
        let mut pair = established(options, (50, 3), Known::Hundredths(2));
        let round_trip = Duration::from_millis(100);
        pair.sgsn.offered = UNITS;
        pair.sgsn.drain();
        pair.sgsn.sent.clear();
        let repeated_at = pair.sgsn.around.timers.next().unwrap();
        while !pair.is_done() {
            assert!(pair.step());
        }
        // One alone, then 2, 4, 8, 16 and the rest, and a request of its own for each of these.
        let took = pair.now.since(repeated_at);
        assert!(took <= round_trip * 12, "{took}: {retransmission:?}, {timing:?}");
        assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(), UNITS, "each once");
    }
}

#[test]
fn where_an_end_is_late_and_not_lost_little_of_it_is_sent_again() {
    const UNITS: u32 = 60;
    for retransmission in [Retransmission::Selective, Retransmission::GoBackN] {
        let options = Options { retransmission, ..Options::default() };
        let mut pair = established(options, (50, 3), Known::Hundredths(2));
        // T201 is of an empty path.
        pair.sgsn.offered = 1;
        while pair.sgsn.confirmed < 1 {
            assert!(pair.step());
        }
        // All of them wait in a queue of three seconds, ten times as long as T201.
        pair.down.link.profile.rate_octets_per_s = Some(10_000);
        pair.sgsn.length = |_| 500;
        pair.sgsn.offered = 1 + UNITS;
        pair.sgsn.drain();
        while !pair.is_done() {
            assert!(pair.step());
        }
        let again = pair.sgsn.llc.abm(SAPI).unwrap().retransmissions();
        assert!((1..=8).contains(&again), "{again}: {retransmission:?}");
    }
}
