//! The bounds of `ed-throughput`: 0.97·S_f, offered instead of searched for.
//!
//! S_f follows from S0, which was found some seconds before, and on a shared machine it may have become another one since. So
//! S0 is asked at once whether it is still the same where that may be why a bound is met or missed.

use crate::measure::bench::{Again, Axis, Bench, Runner};
use crate::measure::conditions::Conditions;
use crate::measure::saturation::{FINE, Found, LONGER, ROUGH, Saturation, cap, s_f};
use crate::measure::search::is_whole;
use crate::measure::stats::Samples;
use crate::measure::{Chain, Offer, Setup};
use serde_json::json;

/// Of the best possible saturation.
pub(super) const OF_BEST: f64 = 0.97;
/// How often a bound is tried before S0 is searched anew, since the machine has become another one; who is late does not
/// search.
const TRIES: u32 = 4;
const TRIES_LATE: u32 = 2;
/// What S0 becomes at least at once where the machine has become another one: a pause in a step is not a saturation.
const LOWER: f64 = 0.9;
/// By how much saturation may fall with work, from none exceeding to half of all; a hair less, for the arithmetic.
pub(super) const FALL_WITH_WORK: f64 = 0.049;

/// A step at a bound.
pub(super) const AT_BOUND: &str = "0.97·S_f";

/// The axes of a step at a bound or beside one.
pub(super) fn axis(name: &str, what: &str, f: f64, (setup, repetition): (&Setup, u32)) -> Axis {
    vec![
        ("candidate", json!(name)),
        ("what", json!(what)),
        ("exceeding_percent", json!((f * 100.0).round())),
        ("policing", json!(setup.policing)),
        ("work_ns", setup.work_json()),
        ("repetition", json!(repetition)),
    ]
}

/// What xdp delivers of what is good at one fraction of exceeding traffic, at 0.97·S_f by S0 and d of the same repetition.
pub(super) struct AtBound {
    /// That fraction.
    pub(super) f: f64,
    /// The least share that anybody got of what he is entitled to, for each repetition.
    pub(super) shares: Samples,
    /// What was offered to the good, in packets/s.
    pub(super) loads: Samples,
    /// S0 under the conditions under which that was measured.
    s0: Samples,
}

impl AtBound {
    /// Nothing yet.
    pub(super) const fn new(f: f64) -> Self {
        Self { f, shares: Samples::NONE, loads: Samples::NONE, s0: Samples::NONE }
    }

    /// By how much saturation has fallen at most: what was delivered at the bound's load is a saturation from below.
    pub(super) fn fall(&self) -> Samples {
        let each = self.shares.each().zip(self.loads.each()).zip(self.s0.each());
        each.map(|(((_, share), (_, load)), (_, s0))| 1.0 - share * load / s0).collect()
    }
}

/// What has to be done before a load is offered, by the offer.
pub(super) type Prepare<'a> = dyn FnMut(&mut dyn Chain, &Offer) -> Result<(), String> + 'a;

/// Offers xdp what it has to deliver at each fraction, once. `found` is what was found of S0 so far; `prepare` is called before each
/// load of a bound.
///
/// # Errors
/// The chain's.
pub(super) fn try_bounds(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, repetition, drop_pps): (&Setup, u32, f64),
    found: &mut Found,
    bounds: &mut [AtBound],
    prepare: &mut Prepare<'_>,
) -> Result<(), String> {
    for bound in bounds {
        let at = (setup, repetition, drop_pps);
        let mut tried = bound.try_out(bench, runner, at, found, prepare)?;
        if tried.is_open {
            let bracket = found.bracket(found.pps.last(), FINE, cap(drop_pps, 0.0));
            bench.search(runner, (setup, 0.0, repetition), bracket, found)?;
            tried = bound.try_out(bench, runner, at, found, prepare)?;
        }
        // Where no load at all is delivered whole, nothing is offered, and all of nothing is no share.
        if tried.load > 0.0 {
            bound.shares.push(tried.share);
            bound.loads.push(tried.load);
            bound.s0.push(tried.s0);
        }
    }
    Ok(())
}

/// What became of a bound's load.
struct Tried {
    share: f64,
    load: f64,
    s0: f64,
    /// The machine has become another one since S0 was found, which may be why.
    is_open: bool,
}

impl AtBound {
    /// Offers it until it says something. Where it is missed, 0.97·S0 is offered at once without exceeding traffic: who does not
    /// deliver that either is on another machine than S0 was found on, and has what he delivers of it as S0 from then on. Where it is
    /// met by such an S0, or under conditions that are better, a little more than S0 is offered: it would be higher now, and the
    /// bound with it.
    fn try_out(
        &self,
        bench: &mut Bench<'_>,
        runner: &mut Runner,
        (setup, repetition, drop_pps): (&Setup, u32, f64),
        found: &mut Found,
        prepare: &mut Prepare<'_>,
    ) -> Result<Tried, String> {
        let mut tries = 0;
        let mut is_lowered = false;
        loop {
            let s0 = found.pps.last();
            let mut load = OF_BEST * s_f(s0, drop_pps, self.f);
            if setup.work_ns != 0 && (self.f - 0.5).abs() < 1e-9 {
                // There is another bound for this one, which may be above.
                load = load.max(s0 * (1.0 - FALL_WITH_WORK));
            }
            let load = load.min(cap(drop_pps, self.f));
            let mut one = |bench: &mut Bench<'_>, what: &'static str, load: f64, f: f64| {
                let mut offer = Offer { is_probe: f <= 0.0, ..bench.mix(setup, load, f) };
                // A pause of a millisecond is made up for slowly so near to saturation.
                offer.window_s *= LONGER;
                let axis = axis(runner.candidate.name(), what, f, (setup, repetition));
                bench.turn(runner, |bench, chain| {
                    if f > 0.0 {
                        prepare(chain, &offer)?;
                    }
                    let step = bench.step_again(chain, &axis, &offer, Again::Nothing)?;
                    Ok((bench.is_carried(&step), step))
                })
            };
            let (_, step) = one(bench, AT_BOUND, load, self.f)?;
            let (is_met, share) = (is_whole(&step), step.least_share());
            let done = |is_open| Ok(Tried { share, load, s0, is_open });
            let is_better = found.conditions.is_some_and(|at| Conditions::of(&step).beside(&at).better);
            if is_met && !is_better && !is_lowered {
                return done(false);
            }
            tries += 1;
            let above = s0 * if is_lowered { ROUGH } else { FINE };
            let (is_carried, check) =
                one(bench, "S0 once more", if is_met { above } else { s0 * OF_BEST }, 0.0)?;
            if is_carried != is_met {
                // It cannot do more than S0 now, or can still do that.
                return done(false);
            }
            let is_late = bench.is_late();
            if tries >= if is_late { TRIES_LATE } else { TRIES } {
                // An S0 that is too low by now says nothing, however late it is.
                return done(!is_late || (is_met && is_lowered));
            }
            let pps = if is_met { above } else { check.delivered_pps().clamp(s0 * LOWER, s0 * OF_BEST) };
            found.add(&Saturation { pps, capped: false, conditions: Some(Conditions::of(&check)) });
            is_lowered |= !is_met;
        }
    }
}
