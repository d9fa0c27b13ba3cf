//! The load that is delivered whole beside busy processes.

use super::neighbours::Beside;
use crate::measure::account::Step;
use crate::measure::search::{Bracket, WHOLE};
use crate::measure::{Chain, Group, Members, Offer, Onset, Setup, Spacing};
use serde::Serialize;

/// Mobiles that share the load: few of them could not be given so much by flow control.
const USERS: u32 = 2000;
const CELLS: u32 = 160;
/// What each negotiates, kbit/s, and octets of its N-PDUs: together 296,000 N-PDUs a second.
const KBPS: u32 = 448;
const OCTETS: u16 = 378;
/// Of what they negotiated, what may be offered.
const OFFERED_MAX: f64 = 0.97;
/// Where the search begins with a core of its own, in N-PDUs a second: low, since a load far above saturation says little, and it is
/// enough to know that the service is below half of it.
const GUESS_PPS: f64 = 10_000.0;
/// Steps upwards and downwards, and how near the two sides come: it is compared with its half.
const STRIDE: f64 = 2.0;
const RESOLUTION: f64 = 1.3;
const WARM_UP_S: f64 = 0.1;
/// Of what comes within the window, what is delivered within it at the least. The rest may wait: for some 10 ms of it the busy
/// processes have the core.
const IN_TIME: f64 = 0.9;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Saturation {
    /// The highest load that was delivered whole, in N-PDUs a second; 0 where none was.
    pub(super) n_pdu_per_s: f64,
    /// More may be, but was not tried.
    pub(super) is_at_least: bool,
}

/// The SGSN of the search.
pub(super) const fn setup() -> Setup {
    Setup {
        work_ns: 0,
        gea: None,
        policing: false,
        users: USERS,
        cells: CELLS,
        kbps: KBPS,
        ms_rate: 1.0,
        octets: OCTETS,
        buffer_ms: 200,
        real_time: 0,
        high_every: 0,
        uplink: false,
        store: false,
        acknowledged: 0,
        kd: None,
        program: None,
    }
}

/// What it may be, by the share of the core that is left.
pub(super) fn guess(beside: Beside) -> f64 {
    let shares = if beside.is_pinned { beside.busy } else { beside.busy / 2 };
    GUESS_PPS / f64::from(1 + shares)
}

fn offer(pps: f64, window_s: f64) -> Offer {
    let each = pps / f64::from(USERS);
    Offer {
        groups: vec![Group {
            name: "all",
            members: Members { first: 0, stride: 1, count: USERS },
            pps_each: each,
            due_pps_each: each,
            spacing: Spacing::Exponential,
            begins_s: 0.0,
            within_s: 0.0,
            onset: Onset::Even,
        }],
        unknown_pps: 0.0,
        octets: OCTETS,
        warm_up_s: WARM_UP_S,
        window_s,
        burst_ms: 0,
        answer_after: 0,
        gives_up: false,
        is_patient: false,
        is_probe: true,
        seed: 1,
    }
}

/// True where the load was delivered whole: at last all but 0.5 % of it, and most of it at once.
#[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
fn is_whole(step: &Step) -> bool {
    let at_last = step.delivered_all() as f64 >= step.offered_all() as f64 * WHOLE;
    at_last && step.delivered_pps() >= step.offered_pps() * IN_TIME && step.offered_all() > 0
}

/// Searches in so many steps of such a window at most.
pub(super) fn search(
    chain: &mut dyn Chain,
    guess: f64,
    (steps, window_s): (u32, f64),
) -> Result<Saturation, String> {
    let cap = setup().pps_each() * f64::from(USERS) * OFFERED_MAX;
    let mut bracket = Bracket::new(guess, STRIDE, RESOLUTION, cap);
    for _ in 0..steps {
        let Some(load) = bracket.next_load() else { break };
        let step = chain.step(&offer(load, window_s))?;
        if let Some(fault) = step.fault().filter(|_| step.wrong != 0) {
            return Err(format!("the search for saturation: {fault}"));
        }
        // While the generator was away nothing was offered: its average counts.
        bracket.tell_of(step.offered_pps().min(load), is_whole(&step), step.delivered_pps());
    }
    Ok(Saturation {
        n_pdu_per_s: bracket.found(),
        is_at_least: !bracket.is_closed() && bracket.found() > 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Lower;
    use crate::measure::account::GroupCount;

    /// Delivers whole up to a load, beside a generator that is away for a part of the time.
    struct Fake {
        most: f64,
        away: f64,
    }

    impl Chain for Fake {
        fn step(&mut self, offer: &Offer) -> Result<Step, String> {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
            let count = |pps: f64| (pps * offer.window_s) as u64;
            let there = offer.pps() * (1.0 - self.away);
            let (offered, delivered) = (count(there), count(there.min(self.most)));
            let group = GroupCount {
                name: "all",
                due_pps: offer.pps(),
                offered,
                delivered,
                offered_all: offered,
                delivered_all: delivered,
                ..GroupCount::default()
            };
            let (window_s, intended_pps) = (offer.window_s, offer.pps());
            Ok(Step {
                window_s,
                intended_pps,
                groups: vec![group],
                queued: offered - delivered,
                ..Step::default()
            })
        }
        fn lower(&mut self, _: &Lower) -> Result<(), String> {
            Ok(())
        }
        fn raise(&mut self) -> Result<(), String> {
            Ok(())
        }
        fn resident_octets(&mut self) -> Result<(u64, u64), String> {
            Ok((0, 0))
        }
        fn pause(&mut self) -> Result<(), String> {
            Ok(())
        }
        fn resume(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn what_waits_at_the_end_of_the_window_is_late_and_not_lost() {
        let step = |delivered, delivered_all| {
            let group = GroupCount {
                offered: 1000,
                offered_all: 1300,
                delivered,
                delivered_all,
                ..GroupCount::default()
            };
            Step { window_s: 1.0, groups: vec![group], ..Step::default() }
        };
        assert!(is_whole(&step(1000, 1300)) && is_whole(&step(920, 1300)));
        assert!(!is_whole(&step(880, 1300)), "it comes too late");
        assert!(!is_whole(&step(1000, 1290)), "it is lost");
        assert!(!is_whole(&Step::default()), "nothing was offered");
    }

    #[test]
    fn it_is_found_in_few_steps_or_at_least_named() {
        let beside = |most, away, steps| search(&mut Fake { most, away }, 80_000.0, (steps, 0.3)).unwrap();
        let found = |most, steps| beside(most, 0.0, steps);
        let near = found(60_000.0, 8);
        assert!((40_000.0..=60_500.0).contains(&near.n_pdu_per_s) && !near.is_at_least, "{near:?}");
        // As much as all mobiles together may have.
        let more = found(1e9, 8);
        assert!(more.n_pdu_per_s > 280_000.0 && more.is_at_least, "{more:?}");
        // What a generator that is away does not offer is not delivered.
        let away = beside(1e9, 0.9, 8);
        assert!(away.n_pdu_per_s < 30_000.0 && away.n_pdu_per_s > 0.0 && away.is_at_least, "{away:?}");
        // Nothing is delivered whole.
        assert_eq!(found(0.0, 3), Saturation { n_pdu_per_s: 0.0, is_at_least: false });
        let at = |busy, is_pinned| guess(Beside { busy, is_pinned });
        assert!(at(4, true) < at(4, false) && at(0, true) <= GUESS_PPS);
    }
}
