//! What a path of 20,000 octets/s carries of units of 500 octets, and what is sent for nothing.

use crate::pair::{Badness, Pair, SAPI, terms, windows};
use gannet_machine::time::Duration;
use gannet_proto::llc::Ciphering;
use gannet_proto::llc::abm::{Options, Retransmission, Timing};

const ROUND_TRIPS_MS: [u64; 4] = [1, 10, 100, 700];
const UNITS: u32 = 6000;

/// What came of a file.
#[derive(Debug)]
struct Transfer {
    /// Units/s, from when the link is established to the confirmation of the last of them.
    whole: f64,
    /// Units/s between the confirmations of the 1000th and the 5000th.
    amid: f64,
    /// I frames that were sent again.
    again: u32,
}

fn transfer(options: Options, k: u8, seed: u64, round_trip_ms: u64, loss: f64) -> Transfer {
    let badness = Badness { loss, ..Badness::default() };
    let latency = Duration::from_micros(round_trip_ms * 500);
    let mut pair = Pair::new(seed, latency, badness, Ciphering::NONE, &terms(options, windows(k, 0)));
    pair.down.link.profile.rate_octets_per_s = Some(20_000);
    (pair.ms.insists, pair.sgsn.insists) = (true, true);
    pair.sgsn.length = |_| 500;
    pair.sgsn.offered = UNITS;
    pair.sgsn.establish();
    let (mut begun, mut passed) = (None, [None; 2]);
    while !pair.is_done() {
        assert!(pair.step());
        begun = begun.or(pair.sgsn.is_established().then_some(pair.now));
        for (passed, units) in passed.iter_mut().zip([1000, 5000]) {
            if passed.is_none() && pair.sgsn.confirmed >= units {
                *passed = Some((pair.now, pair.sgsn.confirmed));
            }
        }
    }
    assert_eq!(pair.sgsn.establishments, 1, "the link holds");
    let [Some((from, first)), Some((to, last))] = passed else { panic!("so many were confirmed") };
    Transfer {
        whole: f64::from(UNITS) / pair.now.since(begun.unwrap()).as_secs_f64(),
        amid: f64::from(last - first) / to.since(from).as_secs_f64(),
        again: pair.sgsn.llc.abm(SAPI).unwrap().retransmissions(),
    }
}

#[test]
fn a_loss_of_five_percent_costs_little_goodput() {
    for round_trip_ms in ROUND_TRIPS_MS {
        let of = |seed, loss| transfer(Options::default(), 255, seed, round_trip_ms, loss);
        let free = of(0, 0.0);
        let mut of_all = Vec::new();
        for seed in 1..=5 {
            let lossy = of(seed, 0.05);
            let kept = (lossy.whole / free.whole, lossy.amid / free.amid);
            assert!(kept.1 >= 0.9, "{kept:.3?} at {round_trip_ms} ms, seed {seed}");
            of_all.push(kept.0);
        }
        // Where the last frame is lost twice T201 has to find it out, and a short file has no more behind it.
        of_all.sort_by(f64::total_cmp);
        assert!(of_all[2] >= 0.9 && of_all[0] >= 0.85, "{of_all:.3?} at {round_trip_ms} ms");
    }
}

#[test]
fn go_back_n_is_no_slower_with_t201_from_the_round_trips_than_with_a_fixed_one() {
    for round_trip_ms in ROUND_TRIPS_MS {
        let of = |timing, seed, loss| {
            let retransmission = Retransmission::GoBackN;
            transfer(Options { retransmission, timing, ..Options::default() }, 64, seed, round_trip_ms, loss)
        };
        let (fixed, adaptive) = (of(Timing::Fixed, 0, 0.0), of(Timing::Adaptive, 0, 0.0));
        assert!(adaptive.whole >= 0.99 * fixed.whole, "{adaptive:?}, {fixed:?} at {round_trip_ms} ms");
        // T201 is too short for the first window, until a queue of it has been measured.
        assert!(adaptive.again < 10, "{adaptive:?} at {round_trip_ms} ms");
        let lossy = |timing| (1..=3).map(|seed| of(timing, seed, 0.05).whole).sum::<f64>();
        let (fixed, adaptive) = (lossy(Timing::Fixed), lossy(Timing::Adaptive));
        // What is lost and when decides over more than this.
        assert!(adaptive >= 0.97 * fixed, "{adaptive}, {fixed} at {round_trip_ms} ms");
    }
}
