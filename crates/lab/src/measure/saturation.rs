//! Saturation, and what the machine itself can do: searches over steps, for SGSNs and for bare loops.

use super::bench::{Again, Axis, Bench, Runner, everybody};
use super::conditions::Conditions;
use super::search::{Bracket, WHOLE};
use super::stats::{Samples, best_saturation, exceeding_per_good};
use super::{Bare, Candidate, Chain, Group, Members, Offer, Onset, Setup, Spacing};
use crate::figure::Point;
use crate::report::Cell;
use serde_json::json;

/// Of the bare drop rate, what may be offered in total.
pub const OFFERED_MAX: f64 = 0.75;
/// Packets/s that are offered where only dropping is measured: enough to fill the batches.
const FULL_DROP_PPS: f64 = 1_500_000.0;
/// Steps of the search for saturation, until it is found for the first time.
pub const COARSE: f64 = 1.15;
/// Where the first search of a bare loop without work begins, in packets/s.
const BARE_GUESS_PPS: f64 = 500_000.0;
/// How near the two sides of a bracket come where nothing has to hold to a hair.
pub const ROUGH: f64 = 1.05;
/// How near the two sides of a bracket come.
pub const FINE: f64 = 1.025;
/// The same for bare loops.
pub const BARE: f64 = 1.05;
/// Work of who is compared by what a core can forward, on each packet, in ns: without it the generator's core is full before
/// his is.
pub const BARE_WORK_NS: u32 = 1_000;
/// Steps of one search at most.
const SEARCH: u32 = 24;
const SEARCH_QUICK: u32 = 8;
/// The same of those of whom nothing has to hold.
const SEARCH_QUICK_OF_OTHERS: u32 = 5;
/// The same where it is known about, and where there is no time for more.
const SEARCH_AGAIN: u32 = 3;
const SEARCH_AGAIN_OF_OTHERS: u32 = 2;
/// Of a multiple of saturation, what has to be offered indeed.
const REALLY: f64 = 0.95;
/// How often what was found is offered again at most, each time a little less.
const CONFIRM: u32 = 4;
/// The same in a quick run, where nothing has to hold to a hair.
const CONFIRM_OF_OTHERS: u32 = 1;
/// What a saturation is compared with has a window that is longer than others by this, and so has its own confirmation: in a
/// short one, what waited before it began passes for what came in it.
pub const LONGER: f64 = 1.5;

impl Bench<'_> {
    /// The highest load that is delivered whole, with this fraction of exceeding traffic; 0 where none is.
    ///
    /// # Errors
    /// The chain's.
    pub fn saturation(
        &mut self,
        chain: &mut dyn Chain,
        axis: &Axis,
        mut bracket: Bracket,
        make: &dyn Fn(&Self, f64) -> Offer,
    ) -> Result<Saturation, String> {
        // Of the others, and where a bound does not hang on it, nothing has to hold to a hair: medians will do.
        let is_xdp = self.holder() == Some(Candidate::Xdp);
        let is_exact = is_xdp && bracket.is_fine();
        let again = if is_xdp { Again::Missed(WHOLE) } else { Again::Nothing };
        let few = match (bracket.is_wide(), is_xdp) {
            (true, true) => SEARCH_QUICK,
            (true, false) => SEARCH_QUICK_OF_OTHERS,
            (false, true) if !self.is_late() => SEARCH_AGAIN,
            (false, _) => SEARCH_AGAIN_OF_OTHERS,
        };
        for count in 0..SEARCH {
            // A quick run takes what it has found after a while; but something has to be too much first.
            let enough = self.sizes.quick && count >= few && bracket.is_closed();
            let Some(load) = bracket.next_load().filter(|_| !enough) else { break };
            let offer = Offer { is_probe: true, ..make(self, load) };
            let step = self.step_again(chain, axis, &offer, again)?;
            if step.given_up {
                // What had not been offered by then says nothing of what can be.
                continue;
            }
            let is_carried = self.is_carried(&step);
            let offered = load * (1.0 - step.shortfall().unwrap_or(0.0));
            bracket.tell_of(offered, is_carried, step.delivered_pps());
        }
        // The highest of many is a lucky one: it counts when it is delivered once more, for as long as what it is compared with.
        let mut found = Saturation {
            pps: bracket.found(),
            capped: bracket.is_capped() || !bracket.is_closed(),
            conditions: None,
        };
        let is_brief = self.is_late() || (self.sizes.quick && !is_exact);
        let often = if is_brief { CONFIRM_OF_OTHERS } else { CONFIRM };
        for _ in 0..often {
            if found.pps == 0.0 {
                break;
            }
            let mut offer = Offer { is_probe: true, ..make(self, found.pps) };
            offer.window_s *= LONGER;
            let step = self.step_again(chain, axis, &offer, again)?;
            found.conditions = Some(Conditions::of(&step));
            if self.is_carried(&step) {
                break;
            }
            found.pps /= FINE;
        }
        Ok(found)
    }

    /// Medians of saturation for each runner in turn, `f` being the fraction of exceeding traffic: one wide search, then
    /// narrow ones around what was found. `guess` is for the first.
    ///
    /// # Errors
    /// The chain's.
    pub fn saturations(
        &mut self,
        runners: &mut [Runner],
        setup: &Setup,
        f: f64,
        guess: &dyn Fn(Candidate) -> f64,
        cap: f64,
    ) -> Result<Vec<Found>, String> {
        let mut found = vec![Found::default(); runners.len()];
        for repetition in 0..self.sizes.repetitions {
            for (runner, found) in runners.iter_mut().zip(&mut found) {
                if self.has_enough(runner.candidate, repetition) {
                    continue;
                }
                let bracket = found.bracket(guess(runner.candidate), FINE, cap);
                self.search(runner, (setup, f, repetition), bracket, found)?;
            }
        }
        for (runner, found) in runners.iter().zip(&found) {
            let line = format!("{}: saturation at {:.0} % {}", runner.candidate, f * 100.0, found.pps.kpps());
            self.lab.say(&line);
        }
        Ok(found)
    }

    /// Searches for saturation once, and adds it to what was `found`.
    ///
    /// # Errors
    /// The chain's.
    pub fn search(
        &mut self,
        runner: &mut Runner,
        (setup, f, repetition): (&Setup, f64, u32),
        bracket: Bracket,
        found: &mut Found,
    ) -> Result<(), String> {
        let axis: Axis = vec![
            ("candidate", json!(runner.candidate.name())),
            ("what", json!("saturation")),
            ("exceeding_percent", json!((f * 100.0).round())),
            ("policing", json!(setup.polices(runner.candidate))),
            ("work_ns", setup.work_json()),
            ("octets", json!(setup.octets)),
            ("repetition", json!(repetition)),
        ];
        let make = |bench: &Self, load: f64| bench.mix(setup, load, f);
        let saturation = self.turn(runner, |bench, chain| bench.saturation(chain, &axis, bracket, &make))?;
        found.add(&saturation);
        Ok(())
    }

    /// Packets/s that the machine drops at most where all contexts are blocked: one over the cost d of each.
    ///
    /// # Errors
    /// The chain's.
    pub fn drop_rate(&mut self, setup: &Setup) -> Result<Samples, String> {
        let mut rates = Samples::default();
        let mut chain = self.lab.bare(Bare::Drop, setup)?;
        for repetition in 0..self.sizes.repetitions {
            self.drop_step(chain.as_mut(), (setup, repetition), &mut rates)?;
        }
        self.lab.say(&format!("bare drop: {}", rates.kpps()));
        Ok(rates)
    }

    /// The same once.
    ///
    /// # Errors
    /// The chain's.
    pub fn drop_step(
        &mut self,
        chain: &mut dyn Chain,
        (setup, repetition): (&Setup, u32),
        rates: &mut Samples,
    ) -> Result<(), String> {
        let offer = self.offer(setup, vec![everybody(setup, FULL_DROP_PPS)]);
        let step = chain.step(&offer)?;
        // The ring overflows while it fills: the book has it, and nobody is held to it.
        let axis = vec![("bare", json!(Bare::Drop.name())), ("repetition", json!(repetition))];
        self.cells.push(Cell::new(axis, [("step".to_owned(), step.json())]));
        rates.push(step.drop_rate());
        Ok(())
    }

    /// Saturation of a bare loop, by the same rule as that of an SGSN, once.
    ///
    /// # Errors
    /// The chain's.
    pub fn bare_once(
        &mut self,
        (bare, chain): (Bare, &mut dyn Chain),
        setup: &Setup,
        (repetition, cap): (u32, f64),
        found: &mut Found,
    ) -> Result<(), String> {
        let axis: Axis = vec![
            ("bare", json!(bare.name())),
            ("work_ns", setup.work_json()),
            ("users", json!(setup.users)),
            ("octets", json!(setup.octets)),
            ("repetition", json!(repetition)),
        ];
        let guess = 1.0 / (1.0 / BARE_GUESS_PPS + f64::from(setup.work_ns) * 1e-9);
        let bracket = found.bracket(guess, BARE, cap);
        let make = |bench: &Self, load: f64| bench.offer(setup, bare_groups(bare, setup, load, 0.0));
        found.add(&self.saturation(chain, &axis, bracket, &make)?);
        Ok(())
    }
}

/// What a bare loop is offered: packets/s for those whom it serves, and the fraction of all that is for those whom it has
/// blocked, where there are any.
#[must_use]
pub fn bare_groups(bare: Bare, setup: &Setup, load: f64, blocked: f64) -> Vec<Group> {
    if bare != Bare::Xsk {
        return vec![everybody(setup, load)];
    }
    let half = setup.users / 2;
    let group = |name, first, pps: f64, due: f64| Group {
        name,
        members: Members { first, stride: 2, count: half },
        pps_each: pps / f64::from(half),
        due_pps_each: due / f64::from(half),
        spacing: Spacing::Exponential,
        begins_s: 0.0,
        within_s: 0.0,
        onset: Onset::Even,
    };
    let others = load * exceeding_per_good(blocked);
    let mut groups = vec![group("all", 0, load, load)];
    groups.extend((others > 0.0).then(|| group("blocked", 1, others, 0.0)));
    groups
}

/// One saturation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// In packets/s; 0 where no load was whole.
    pub pps: f64,
    /// The limit of the offered load ended the search, or the generator did.
    pub capped: bool,
    /// Those under which it was delivered once more.
    pub conditions: Option<Conditions>,
}

/// A saturation that was found again and again.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// In packets/s, one for each repetition.
    pub pps: Samples,
    /// The limit of the offered load ended a search, not the SGSN.
    pub capped: bool,
    /// Conditions of the last one.
    pub conditions: Option<Conditions>,
    /// The speed of the core each time, of the highest that was seen.
    pub paces: Samples,
}

impl Found {
    /// One more.
    pub fn add(&mut self, saturation: &Saturation) {
        self.pps.push(saturation.pps);
        self.capped |= saturation.capped;
        self.conditions = saturation.conditions;
        self.paces.push(saturation.conditions.map_or(f64::NAN, |conditions| conditions.pace));
    }

    /// Where to search for it once more; `guess` is for the first time.
    #[must_use]
    pub fn bracket(&self, guess: f64, resolution: f64, cap: f64) -> Bracket {
        let last = self.pps.median();
        if last.is_finite() && last > 0.0 {
            Bracket::new(last, resolution, resolution + 0.001, cap)
        } else {
            Bracket::new(guess, COARSE, resolution + 0.001, cap)
        }
    }
}

/// A setup in which who forwards spends so much on each packet that the generator has more than he takes.
#[must_use]
pub fn with_bare_work(setup: &Setup) -> Setup {
    Setup { work_ns: BARE_WORK_NS, ..setup.clone() }
}

/// Points of a curve, each where what was offered indeed has it, by multiples of saturation.
#[must_use]
pub fn at_offered<'a>(measured: impl Iterator<Item = (&'a Samples, &'a Samples)>) -> Vec<Point> {
    let there = measured.filter(|(times, samples)| !times.is_empty() && !samples.is_empty());
    let mut points: Vec<Point> = there.map(|(times, samples)| samples.point(times.median())).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// Whether so many times saturation were offered indeed, and how that is said: the generator receives as well, and may be full
/// before.
#[must_use]
pub fn really_offered(offered: f64, times: f64) -> (bool, String) {
    if offered.is_nan() {
        return (false, "not measured".to_owned());
    }
    let is_offered = offered >= REALLY * times;
    let short = if is_offered { "" } else { ", all that the generator could offer" };
    (is_offered, format!("at {offered:.2} times{short}"))
}

/// What he would forward without that: work takes the longer the slower the core is.
#[must_use]
pub fn without_bare_work(found: &Found) -> Samples {
    let own = |(repetition, (_, pps)): (u32, (f64, f64))| {
        let pace = found.paces.at(repetition);
        let work_s = f64::from(BARE_WORK_NS) * 1e-9 / if pace > 0.0 { pace } else { 1.0 };
        1.0 / (1.0 / pps - work_s)
    };
    (0..).zip(found.pps.each()).map(own).collect()
}

/// The good load that may be offered where `f` of all traffic exceeds and the machine drops `drop_pps` at most.
#[must_use]
pub fn cap(drop_pps: f64, f: f64) -> f64 {
    OFFERED_MAX * drop_pps / (1.0 + exceeding_per_good(f))
}

/// S_f from S0 and the bare drop rate.
#[must_use]
pub fn s_f(s0: f64, drop_pps: f64, f: f64) -> f64 {
    best_saturation(1.0 / s0, 1.0 / drop_pps, exceeding_per_good(f))
}
