//! What every experiment does: sizes, turns of the candidates, steps that are repeated when they are not sound, and the
//! book in which all of them stand.

use super::account::Step;
use super::real::RealLab;
use super::search::{Bracket, WHOLE};
use super::stats::{Samples, best_saturation, exceeding_per_good};
use super::{Bare, Candidate, Chain, Group, Lab, Members, Offer, Setup, Spacing};
use crate::report::{Cell, Figure, MachineInfo, Options, Report, Size, Verdict};
use serde_json::{Value, json};
use std::sync::atomic::Ordering::Relaxed;

/// Of the bare drop rate, what may be offered in total.
pub const OFFERED_MAX: f64 = 0.75;
/// A mobile is offered a little less than it has negotiated, since the bit rates of a profile come in steps.
const BELOW_NEGOTIATED: f64 = 0.995;
/// Packets/s that are offered where only dropping is measured: enough to fill the batches.
const FULL_DROP_PPS: f64 = 1_500_000.0;
/// Steps of the search for saturation, until it is found for the first time.
pub const COARSE: f64 = 1.15;
/// And when it is known about: the machine may be a third faster or slower by now.
pub const ROUGH: f64 = 1.05;
/// How near the two sides of a bracket come.
pub const FINE: f64 = 1.025;
/// The same for bare loops.
const BARE: f64 = 1.04;
/// How long it takes until who exceeds has used up his buckets, of policing or of flow control, as a multiple of what they
/// hold of his rate.
const BUCKETS: f64 = 1.25;
/// Steps of one search at most.
const SEARCH: u32 = 24;
const SEARCH_QUICK: u32 = 6;
/// The same where it is known about.
const SEARCH_AGAIN: u32 = 4;
/// How often what was found is offered again at most, each time a little less.
const CONFIRM: u32 = 4;
/// Repetitions of what a quick run only shows.
pub const BRIEF: u32 = 2;
/// How often a step that is not sound is made again.
const AGAIN_MAX: u32 = 1;
/// How often one is made again in which the machine was busy with something else, and how many of all.
const DISTURBED_MAX: u32 = 3;
const REPEATED_MAX: f64 = 0.35;

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Mobiles that attach.
    pub users: u32,
    /// Cells.
    pub cells: u32,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// Window of a step in s.
    pub window_s: f64,
    /// Before the window.
    pub warm_up_s: f64,
    /// Buffering in ms of each mobile's rate.
    pub buffer_ms: u32,
    /// Fewer axes: what no bound needs is left out.
    pub quick: bool,
}

impl Sizes {
    /// For a run of this size.
    #[must_use]
    pub const fn of(size: Size) -> Self {
        let quick = Self {
            users: 10_000,
            cells: 802,
            repetitions: 5,
            window_s: 0.25,
            warm_up_s: 0.15,
            buffer_ms: 200,
            quick: true,
        };
        match size {
            Size::Quick => quick,
            Size::Normal => Self { window_s: 2.0, warm_up_s: 2.0, buffer_ms: 1000, quick: false, ..quick },
            Size::Full => {
                Self { window_s: 5.0, warm_up_s: 2.0, buffer_ms: 1000, repetitions: 9, quick: false, ..quick }
            }
        }
    }
}

/// A candidate's chain; it has the core only in its turn.
pub struct Runner {
    /// Who.
    pub candidate: Candidate,
    chain: Box<dyn Chain>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Runner({})", self.candidate)
    }
}

/// An experiment in progress.
pub struct Bench<'a> {
    /// Where chains are made.
    pub lab: &'a mut dyn Lab,
    /// How much of everything.
    pub sizes: Sizes,
    /// In a quick run those that no bound is for are measured so often only.
    pub brief: Option<u32>,
    /// What could not be measured, and what else a person should know.
    pub remarks: Vec<String>,
    cells: Vec<Cell>,
    verdicts: Vec<Verdict>,
    figures: Vec<Figure>,
    unsound: Vec<String>,
    seed: u64,
    steps: u64,
    /// Steps that were made again, and such that count although the machine disturbed them.
    repeated: u64,
    disturbed: u64,
}

impl std::fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bench({:?}, {} steps)", self.sizes, self.steps)
    }
}

/// Names and values of a cell's axes.
pub type Axis = Vec<(&'static str, Value)>;

impl<'a> Bench<'a> {
    /// An experiment that has done nothing yet.
    pub fn new(lab: &'a mut dyn Lab, sizes: Sizes, seed: u64) -> Self {
        let (remarks, cells, verdicts, figures, unsound) = (vec![], vec![], vec![], vec![], vec![]);
        Self {
            lab,
            sizes,
            brief: None,
            remarks,
            cells,
            verdicts,
            figures,
            unsound,
            seed,
            steps: 0,
            repeated: 0,
            disturbed: 0,
        }
    }

    /// A setup of this size in which each mobile negotiates `kbps`.
    #[must_use]
    pub const fn setup(&self, kbps: u32) -> Setup {
        Setup {
            work_ns: 0,
            policing: true,
            users: self.sizes.users,
            cells: self.sizes.cells,
            kbps,
            ms_rate: 1.02,
            octets: 378,
            buffer_ms: self.sizes.buffer_ms,
            real_time: 0,
            high_every: 0,
            uplink: false,
        }
    }

    /// Starts those of the candidates that this machine has; each waits for its turn.
    ///
    /// # Errors
    /// Where one that is there does not start.
    pub fn start(&mut self, candidates: &[Candidate], setup: &Setup) -> Result<Vec<Runner>, String> {
        let mut runners = Vec::new();
        for candidate in candidates.iter().copied() {
            if let Some(why) = self.lab.missing(candidate) {
                self.remarks.push(format!("{candidate} was left out: {why}"));
                continue;
            }
            self.lab.say(&format!("{candidate}: {} mobiles attach", setup.users));
            let mut chain =
                self.lab.start(candidate, setup).map_err(|error| format!("{candidate}: {error}"))?;
            chain.pause()?;
            runners.push(Runner { candidate, chain });
        }
        Ok(runners)
    }

    /// True where a quick run has seen enough of a candidate that no bound is for.
    #[must_use]
    pub fn has_enough(&self, candidate: Candidate, repetition: u32) -> bool {
        let shown = self.sizes.quick && matches!(candidate, Candidate::Fifo | Candidate::Reuseport);
        shown && self.brief.is_some_and(|times| repetition >= times)
    }

    /// Gives a runner the core, does something with its chain, and takes the core away again.
    ///
    /// # Errors
    /// What was done wrong, or the chain's own.
    pub fn turn<R>(
        &mut self,
        runner: &mut Runner,
        action: impl FnOnce(&mut Self, &mut dyn Chain) -> Result<R, String>,
    ) -> Result<R, String> {
        runner.chain.resume()?;
        let result = action(self, runner.chain.as_mut());
        runner.chain.pause()?;
        result.map_err(|error| format!("{}: {error}", runner.candidate))
    }

    /// One step, written into the book; one that is not sound is made again.
    ///
    /// # Errors
    /// The chain's.
    pub fn step(&mut self, chain: &mut dyn Chain, axis: &Axis, offer: &Offer) -> Result<Step, String> {
        let mut offer = offer.clone();
        let (mut again, mut disturbances) = (0, 0);
        loop {
            self.steps += 1;
            offer.seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.steps);
            #[expect(clippy::cast_precision_loss, reason = "steps of an experiment")]
            let patient = (self.repeated as f64) < self.steps as f64 * REPEATED_MAX;
            offer.gives_up = patient && disturbances < DISTURBED_MAX;
            let step = chain.step(&offer)?;
            let (unsound, disturbed) = (step.unsound(), step.disturbed());
            let mut axis = axis.clone();
            axis.push(("offered_pps", json!(offer.pps().round())));
            axis.push(("due_pps", json!(offer.due_pps().round())));
            self.cells.push(Cell::new(axis.clone(), [("step".to_owned(), step.json())]));
            // What the machine did to it says nothing, whether its account closes or not; a fault always counts.
            if disturbed.is_some() && step.fault().is_none() && offer.gives_up {
                disturbances += 1;
                self.repeated += 1;
                continue;
            }
            self.disturbed += u64::from(disturbed.is_some());
            let Some(why) = unsound else { return Ok(step) };
            let names: Vec<String> = axis.iter().map(|(name, value)| format!("{name} {value}")).collect();
            self.unsound.push(format!("{}: {why}", names.join(", ")));
            again += 1;
            if again > AGAIN_MAX {
                return Ok(step);
            }
        }
    }

    /// The window and the rest of an offer of this size.
    #[must_use]
    pub const fn offer(&self, setup: &Setup, groups: Vec<Group>) -> Offer {
        Offer {
            groups,
            unknown_pps: 0.0,
            octets: setup.octets,
            warm_up_s: self.sizes.warm_up_s,
            window_s: self.sizes.window_s,
            // The thesis's bursts of 10 ms are thousands of packets today, and the driver's ring has 256 places.
            burst_ms: 0,
            gives_up: false,
            seed: 0,
        }
    }

    /// Good traffic of `pps` packets/s, with the fraction `f` of exceeding traffic beside it: as many users as that
    /// takes, each at what it has negotiated; every second of them is a bad one, who is offered the excess as well.
    #[must_use]
    pub fn mix(&self, setup: &Setup, pps: f64, f: f64) -> Offer {
        let k = exceeding_per_good(f);
        // Who exceeds has first to use up what policing and flow control allow at once, which is his by right: beside a load
        // that leaves hardly anything over it would take seconds and be taken from the good, so that those begin after.
        let alone_s = if k > 0.0 { BUCKETS * f64::from(setup.buffer_ms) / 1e3 } else { 0.0 };
        // Who is policed and good keeps to what it has negotiated, packet by packet.
        let spacing = |exceeds: bool| {
            if setup.policing && !exceeds { Spacing::Fixed } else { Spacing::Exponential }
        };
        let half = users_for(pps / 2.0, setup, (setup.users - setup.real_time) / 2);
        let each = pps / 2.0 / f64::from(half);
        let group = |name, offset, pps_each| Group {
            name,
            members: Members { first: setup.real_time + offset, stride: 2, count: half },
            pps_each,
            due_pps_each: each,
            spacing: spacing(pps_each > each),
            begins_s: if pps_each > each { 0.0 } else { alone_s },
        };
        let groups = vec![group("good", 0, each), group("bad", 1, each * (1.0 + 2.0 * k))];
        let offer = self.offer(setup, groups);
        Offer { warm_up_s: alone_s + offer.warm_up_s, ..offer }
    }

    /// The highest load that is delivered whole, with this fraction of exceeding traffic; `(0, _)` where none is. True
    /// where the cap ended the search.
    ///
    /// # Errors
    /// The chain's.
    pub fn saturation(
        &mut self,
        chain: &mut dyn Chain,
        axis: &Axis,
        mut bracket: Bracket,
        make: &dyn Fn(&Self, f64) -> Offer,
    ) -> Result<(f64, bool), String> {
        let few = if bracket.is_wide() { SEARCH_QUICK } else { SEARCH_AGAIN };
        for count in 0..SEARCH {
            // A quick run takes what it has found after a while; but something has to be too much first.
            let enough = self.sizes.quick && count >= few && bracket.is_closed();
            let Some(load) = bracket.next_load().filter(|_| !enough) else { break };
            let offer = make(self, load);
            let step = self.step(chain, axis, &offer)?;
            bracket.tell_of(load * (1.0 - step.shortfall().unwrap_or(0.0)), is_whole(&step));
        }
        // The highest of many is a lucky one: it counts when it is delivered once more.
        let mut found = bracket.found();
        for _ in 0..CONFIRM {
            let offer = make(self, found);
            if found == 0.0 || is_whole(&self.step(chain, axis, &offer)?) {
                break;
            }
            found /= FINE;
        }
        Ok((found, bracket.is_capped() || !bracket.is_closed()))
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
                let last = found.pps.median();
                let bracket = if last.is_finite() && last > 0.0 {
                    Bracket::new(last, ROUGH, FINE + 0.001, cap)
                } else {
                    Bracket::new(guess(runner.candidate), COARSE, FINE + 0.001, cap)
                };
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
            ("policing", json!(setup.policing)),
            ("work_ns", json!(setup.work_ns)),
            ("octets", json!(setup.octets)),
            ("repetition", json!(repetition)),
        ];
        let make = |bench: &Self, load: f64| bench.mix(setup, load, f);
        let (pps, capped) =
            self.turn(runner, |bench, chain| bench.saturation(chain, &axis, bracket, &make))?;
        found.pps.push(pps);
        found.capped |= capped;
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

    /// Saturation of a bare loop, by the same rule as that of an SGSN, once; true where something else ended the search, so
    /// that it forwards more than that.
    ///
    /// # Errors
    /// The chain's.
    pub fn bare_once(
        &mut self,
        (bare, chain): (Bare, &mut dyn Chain),
        setup: &Setup,
        (repetition, cap): (u32, f64),
        rates: &mut Samples,
    ) -> Result<bool, String> {
        let axis: Axis = vec![
            ("bare", json!(bare.name())),
            ("users", json!(setup.users)),
            ("octets", json!(setup.octets)),
            ("repetition", json!(repetition)),
        ];
        let last = rates.median();
        let bracket = if last.is_finite() && last > 0.0 {
            Bracket::new(last, BARE, BARE + 0.001, cap)
        } else {
            Bracket::new(500_000.0, COARSE, BARE + 0.001, cap)
        };
        let make = |bench: &Self, load: f64| bench.offer(setup, bare_groups(bare, setup, load, 0.0));
        let (pps, capped) = self.saturation(chain, &axis, bracket, &make)?;
        rates.push(pps);
        Ok(capped)
    }

    /// A claim, as a row of the table.
    pub fn claim(&mut self, name: &str, paper: Option<&str>, ours: String, goal: String, holds: bool) {
        let (name, paper) = (name.to_owned(), paper.map(str::to_owned));
        self.verdicts.push(Verdict { name, paper, ours, goal, holds });
    }

    /// A figure beside the numbers.
    pub fn figure(&mut self, name: &str, caption: &str, svg: String) {
        self.figures.push(Figure { name: name.to_owned(), caption: caption.to_owned(), svg });
    }

    /// A cell of medians beside those of the steps.
    pub fn cell(&mut self, axis: Axis, metrics: Vec<(String, Value)>) {
        self.cells.push(Cell::new(axis, metrics));
    }

    /// The report, with the row that says whether every step's account closed.
    #[must_use]
    pub fn report(mut self, experiment: &str, options: &Options) -> Report {
        let (steps, unsound) = (self.steps, self.unsound.len());
        self.claim(
            "every step: offered = delivered + named drops + ring losses",
            None,
            format!("{unsound} of {steps} steps are not sound"),
            "0".to_owned(),
            unsound == 0,
        );
        self.remarks.push(format!(
            "{} of {steps} steps were made again since the machine was busy with something else, {} count although it was: \
             it took a core away for more than 2 % of the step, moved the two far from each other, or ran the SGSN's at less \
             than 94 % of its speed",
            self.repeated, self.disturbed
        ));
        self.remarks.extend(self.unsound.iter().take(20).map(|why| format!("not sound: {why}")));
        let mut report = Report {
            experiment: experiment.to_owned(),
            seed: options.seed,
            machine: Some(MachineInfo::here()),
            cells: self.cells,
            verdicts: self.verdicts,
            figures: self.figures,
            remarks: self.remarks,
        };
        let remarks = report.remarks.iter().map(|remark| ("remark".to_owned(), json!(remark)));
        let remarks: Vec<Cell> = remarks.map(|remark| Cell::new([], [remark])).collect();
        report.cells.extend(remarks);
        report
    }
}

/// Runs an experiment on this machine, with the program itself as the SGSN under test.
///
/// # Errors
/// A sentence for the person.
pub fn run(
    name: &str,
    options: &Options,
    experiment: fn(&mut Bench<'_>) -> Result<(), String>,
) -> Result<Report, String> {
    let gannet = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut lab = RealLab::new(gannet, &options.out.join(name))?;
    lab.go_first()?;
    let stop = lab.stop();
    let mut bench = Bench::new(&mut lab, Sizes::of(options.size), options.seed);
    experiment(&mut bench).map_err(|why| match stop.load(Relaxed) {
        true => {
            "interrupted: the SGSNs have ended, their namespaces are gone, and nothing was written".to_owned()
        }
        false => why,
    })?;
    Ok(bench.report(name, options))
}

/// All users, each with the same part of a load that nobody limits.
#[must_use]
pub fn everybody(setup: &Setup, load: f64) -> Group {
    let each = load / f64::from(setup.users);
    Group {
        name: "all",
        members: Members { first: 0, stride: 1, count: setup.users },
        pps_each: each,
        due_pps_each: each,
        spacing: Spacing::Exponential,
        begins_s: 0.0,
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
    };
    let others = load * exceeding_per_good(blocked);
    let mut groups = vec![group("all", 0, load, load)];
    groups.extend((others > 0.0).then(|| group("blocked", 1, others, 0.0)));
    groups
}

fn is_whole(step: &Step) -> bool {
    step.is_whole(WHOLE) && step.wrong == 0
}

/// A saturation that was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// In packets/s, one for each repetition.
    pub pps: Samples,
    /// The limit of the offered load ended a search, not the SGSN.
    pub capped: bool,
}

/// How many users it takes for `pps` packets/s, when each gets what it has negotiated.
fn users_for(pps: f64, setup: &Setup, max: u32) -> u32 {
    let wanted = (pps / (setup.pps_each() * BELOW_NEGOTIATED)).ceil().clamp(1.0, f64::from(max.max(1)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and a u32")]
    let wanted = wanted as u32;
    wanted
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
