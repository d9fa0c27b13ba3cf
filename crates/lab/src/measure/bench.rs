//! What every experiment does: sizes, turns of the candidates, steps that are made again where they say nothing, and the
//! book in which all of them stand.

use super::account::{SLOW, Step};
use super::conditions::Conditions;
use super::loads::real_time;
use super::pace::Pace;
use super::search::is_whole;
use super::stats::exceeding_per_good;
use super::{Candidate, Chain, Group, Lab, Members, Offer, Onset, Setup, Spacing};
use crate::figure::{Figure, Panel};
use crate::report::{Cell, Options, Report, Size, Verdict};
use serde_json::{Value, json};

/// A mobile is offered a little less than it has negotiated, since the bit rates of a profile come in steps.
const BELOW_NEGOTIATED: f64 = 0.995;
/// How long it takes until who exceeds has used up his buckets, of policing or of flow control, as a multiple of what they
/// hold of his rate; and the part of that within which they begin, since all buckets at once are more than anybody serves.
const BUCKETS: f64 = 1.25;
const BEGIN: f64 = 0.4;
/// Repetitions of what a quick run only shows.
pub const BRIEF: u32 = 2;
/// Number of retries of a step whose ring losses exceed the limit, and of one whose generator was late as well.
const LOST_MAX: u32 = 12;
const LOST_MAX_LATE: u32 = 2;
/// Steps that are shorter than this take no time worth saving.
const NO_TIME_S: f64 = 0.1;
/// The same of a probe: at too high a rate a ring loses each time.
const LOST_MAX_PROBE: u32 = 2;
/// Of what a generator at its end has offered, what is asked of it then: one that is late makes up for it in bursts, which a
/// ring of 256 places loses.
const AT_ITS_END: f64 = 0.97;
/// Number of retries of a step that another load of the machine disturbed, and the part of all steps that may be such.
const DISTURBED_MAX: u32 = 2;
const REPEATED_MAX: f64 = 0.35;

/// Number of retries of a step whose ring losses exceed the limit.
const fn losses_max(is_probe: bool, is_in_time: bool) -> u32 {
    match (is_probe, is_in_time) {
        (true, _) => LOST_MAX_PROBE,
        (false, false) => LOST_MAX_LATE,
        (false, true) => LOST_MAX,
    }
}

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
            window_s: 0.2,
            warm_up_s: 0.1,
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

/// What makes a step say nothing, so that it is made again.
#[derive(Debug, Clone, Copy)]
pub enum Again<'a> {
    /// The machine was busy with something else.
    Disturbed,
    /// The same, where less than this share of what somebody is entitled to was delivered: who delivers it in spite of that
    /// need not be asked again.
    Missed(f64),
    /// The same, where packets of this group were lost.
    Lost(&'static str),
    /// Conditions other than these.
    Unlike(&'a Conditions),
    /// Nothing does.
    Nothing,
}

impl Again<'_> {
    /// Is this step to be made again?
    fn wants(self, step: &Step) -> bool {
        let is_disturbed = step.disturbed().is_some();
        let (share, conditions) = (step.least_share(), Conditions::of(step));
        step.given_up
            || match self {
                Self::Disturbed => is_disturbed,
                Self::Missed(least) => is_disturbed && share < least,
                Self::Lost(name) => is_disturbed && step.lost_of(name) > 0,
                Self::Unlike(others) => !conditions.beside(others).is_alike(),
                Self::Nothing => false,
            }
    }

    /// May it be given up when the machine is slow? Not where it is compared with what may have been slow as well.
    const fn gives_up(self) -> bool {
        matches!(self, Self::Disturbed | Self::Missed(_) | Self::Lost(_))
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
    /// How far it is beside the time that a quick run has.
    pub pace: Pace,
    /// GEA with this number takes the place of work that stands for it.
    pub gea: Option<u8>,
    /// Another build of Gannet, to compare with.
    pub against: Option<std::path::PathBuf>,
    /// What could not be measured, and what else a person should know.
    pub remarks: Vec<String>,
    pub(crate) cells: Vec<Cell>,
    verdicts: Vec<Verdict>,
    figures: Vec<Figure>,
    unsound: Vec<String>,
    /// Of these, in how many a ring had lost too much, and in how many of those the generator had come to its end.
    overrun: usize,
    overrun_at_end: usize,
    /// Probes of a search that rings have answered with no.
    ended: u64,
    seed: u64,
    steps: u64,
    /// Steps that were made again since the machine was busy or since a ring had lost too much, and such that count although
    /// the machine was busy.
    repeated: u64,
    lost: u64,
    disturbed: u64,
    /// Who has the core.
    turn: Option<Candidate>,
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
            overrun: 0,
            overrun_at_end: 0,
            ended: 0,
            seed,
            steps: 0,
            repeated: 0,
            lost: 0,
            disturbed: 0,
            turn: None,
            pace: Pace::begin(),
            gea: None,
            against: None,
        }
    }

    /// A setup of this size in which each mobile negotiates `kbps`.
    #[must_use]
    pub const fn setup(&self, kbps: u32) -> Setup {
        Setup {
            work_ns: 0,
            gea: self.gea,
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
            store: false,
            acknowledged: 0,
            kd: None,
            program: None,
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

    /// True where a quick run has no time for what is only to make its figures better.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.sizes.quick && self.pace.is_late()
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
        self.turn = Some(runner.candidate);
        let result = action(self, runner.chain.as_mut());
        self.turn = None;
        runner.chain.pause()?;
        result.map_err(|error| format!("{}: {error}", runner.candidate))
    }

    #[cfg(test)]
    pub(crate) const fn take_turn(&mut self, turn: Option<Candidate>) {
        self.turn = turn;
    }

    /// Who has the core, where it is not a bare loop.
    #[must_use]
    pub const fn holder(&self) -> Option<Candidate> {
        self.turn
    }

    /// One step, written into the book; one in which the machine was busy with something else is made again.
    ///
    /// # Errors
    /// The chain's.
    pub fn step(&mut self, chain: &mut dyn Chain, axis: &Axis, offer: &Offer) -> Result<Step, String> {
        self.step_again(chain, axis, offer, Again::Disturbed)
    }

    /// One step, written into the book; one that says nothing is made again.
    ///
    /// # Errors
    /// The chain's.
    pub fn step_again(
        &mut self,
        chain: &mut dyn Chain,
        axis: &Axis,
        offer: &Offer,
        again: Again<'_>,
    ) -> Result<Step, String> {
        let (mut offer, mut part) = (offer.clone(), 1.0);
        let (mut losses, mut disturbances) = (0, 0);
        loop {
            self.steps += 1;
            offer.seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.steps);
            #[expect(clippy::cast_precision_loss, reason = "steps of an experiment")]
            let is_rare = (self.repeated as f64) < self.steps as f64 * REPEATED_MAX;
            let is_late = self.is_late();
            let may_repeat = ((is_rare && !is_late) || offer.is_patient) && disturbances < DISTURBED_MAX;
            offer.gives_up = may_repeat && again.gives_up();
            let mut step = chain.step(&offer)?;
            // What was to be offered, though no more was asked of the generator than it can do.
            step.intended_pps /= part;
            let mut axis = axis.clone();
            axis.push(("offered_pps", json!(offer.pps().round())));
            axis.push(("due_pps", json!(offer.due_pps().round())));
            // A fault counts whatever the machine was like.
            let fault = step.fault();
            let says_nothing = fault.is_none() && may_repeat && again.wants(&step);
            let lost = self.lost_too_much(&step).filter(|_| fault.is_none() && !says_nothing);
            let is_in_time = !is_late || offer.window_s < NO_TIME_S;
            let losses_max = losses_max(offer.is_probe, is_in_time);
            let repeats = says_nothing || (lost.is_some() && losses < losses_max);
            let own = [("step".to_owned(), step.json()), ("made_again".to_owned(), json!(repeats))];
            self.cells.push(Cell::new(axis.clone(), own));
            if says_nothing {
                disturbances += 1;
                self.repeated += 1;
                continue;
            }
            if repeats {
                losses += 1;
                self.lost += 1;
                let possible = 1.0 - step.shortfall().unwrap_or(0.0);
                // A bare loop is compared at one load.
                if possible < part && self.turn.is_some() {
                    offer = offer.part(AT_ITS_END * possible / part);
                    part = AT_ITS_END * possible;
                }
                continue;
            }
            self.disturbed += u64::from(step.disturbed().is_some());
            // The answer of a probe is no result.
            self.ended += u64::from(offer.is_probe && lost.is_some());
            let lost = lost.filter(|_| !offer.is_probe);
            if lost.is_some() {
                self.overrun += 1;
                self.overrun_at_end += usize::from(step.shortfall().is_some());
            }
            if let Some(why) = fault.or(lost) {
                let names: Vec<String> = axis.iter().map(|(name, value)| format!("{name} {value}")).collect();
                self.unsound.push(format!("{}: {why}", names.join(", ")));
            }
            return Ok(step);
        }
    }

    /// Was a probe delivered whole, with no more lost in rings than may be?
    #[must_use]
    pub fn is_carried(&self, step: &Step) -> bool {
        is_whole(step) && self.lost_too_much(step).is_none()
    }

    /// Whether the rings lost more than they may. Who has nothing at the driver that drops what is too much loses it there.
    fn lost_too_much(&self, step: &Step) -> Option<String> {
        let overruns = self.turn != Some(Candidate::Xdp) && !is_whole(step);
        step.unsound().filter(|_| !overruns)
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
            answer_after: 0,
            gives_up: false,
            is_patient: false,
            is_probe: false,
            seed: 0,
        }
    }

    /// Good traffic of `pps` packets/s, with the fraction `f` of exceeding traffic beside it: as many users as that
    /// takes, each at what it has negotiated; every second of them is a bad one, who is offered the excess as well.
    ///
    /// Real-time mobiles, where there are any, have their part of the load.
    #[must_use]
    pub fn mix(&self, setup: &Setup, pps: f64, f: f64) -> Offer {
        let ahead = (setup.real_time > 0).then(|| real_time(setup));
        let pps = pps - ahead.as_ref().map_or(0.0, Group::pps);
        if pps <= 0.0 {
            return self.offer(setup, ahead.into_iter().collect());
        }
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
            within_s: if pps_each > each { alone_s * BEGIN } else { 0.0 },
            onset: Onset::Even,
        };
        let rest = [group("good", 0, each), group("bad", 1, each * (1.0 + 2.0 * k))];
        let groups = ahead.into_iter().chain(rest).collect();
        let offer = self.offer(setup, groups);
        Offer { warm_up_s: alone_s + offer.warm_up_s, ..offer }
    }

    /// A claim, as a row of the table; `means` says what the row is to somebody who has not read the experiment, and `holds` is
    /// `None` where this run could not measure it.
    pub fn claim(
        &mut self,
        name: &str,
        means: &str,
        paper: Option<&str>,
        ours: String,
        goal: String,
        holds: Option<bool>,
    ) {
        let (name, means, paper) = (name.to_owned(), means.to_owned(), paper.map(str::to_owned));
        self.verdicts.push(Verdict { name, means, paper, ours, goal, holds });
    }

    /// A figure beside the numbers; where all is ciphered it has a name of its own.
    pub fn figure(&mut self, name: &str, caption: &str, panels: Vec<Panel>) {
        let name = self.gea.map_or_else(|| name.to_owned(), |gea| format!("{name}-gea{gea}"));
        self.figures.push(Figure::new(&name, caption, panels));
    }

    /// How often what a figure shows was measured, and what its bars are, for a caption.
    #[must_use]
    pub fn repeated(&self, osmo: bool) -> String {
        let mut others = Vec::new();
        if let Some(times) = self.brief.filter(|times| self.sizes.quick && *times < self.sizes.repetitions) {
            others.push(format!("gannet-fifo and gannet-reuseport {times}"));
        }
        if osmo && self.sizes.quick {
            others.push("osmo-sgsn 1".to_owned());
        }
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        format!(
            "Points are medians of {} repetitions{others}, bars the lowest and the highest.",
            self.sizes.repetitions
        )
    }

    /// A cell of medians beside those of the steps.
    pub fn cell(&mut self, axis: Axis, metrics: Vec<(String, Value)>) {
        self.cells.push(Cell::new(axis, metrics));
    }

    /// The report, with the rows that say whether every step's account closed, and whether rings lost more than they may.
    #[must_use]
    pub fn report(mut self, experiment: &str, options: &Options) -> Report {
        let (steps, overrun) = (self.steps, self.overrun);
        let open = self.unsound.len() - overrun;
        self.claim(
            "every step: offered = delivered + named drops + ring losses",
            "The account of each step closes: each packet offered was delivered, dropped under a name, or lost in a device's ring.",
            None,
            format!("{open} of {steps} steps are not sound"),
            "0".to_owned(),
            (steps > 0).then_some(open == 0),
        );
        let at_end = self.overrun_at_end;
        self.claim(
            "every step: ring losses, but for those while the machine had the core",
            "What rings of devices lose nobody has decided to drop: more than one packet in ten thousand spoils a step.",
            None,
            format!("more in {overrun} of {steps} steps, in {at_end} of which more was asked of the generator than it could offer"),
            "at most 0.01 %".to_owned(),
            (steps > 0).then_some(overrun == 0),
        );
        self.remarks.push(format!(
            "{} of {steps} steps were made again since the machine was busy with something else or unlike what they are compared \
             with, {} since a ring had lost more than 0.01 %; {} probes of searches, and steps of the bare loops, lost more each \
             time: that load is above saturation; {} count although the machine took a core away for more than 2 % \
             of the step, moved the two farther from each other than usual, or ran the SGSN's at less than {:.0} % of its usual speed",
            self.repeated, self.lost, self.ended, self.disturbed, SLOW * 100.0
        ));
        self.remarks.extend(self.unsound.iter().take(20).map(|why| format!("not sound: {why}")));
        let mut report = Report::here(experiment, options);
        self.parameters(&mut report);
        report.cells = self.cells;
        report.verdicts = self.verdicts;
        report.figures = self.figures;
        let remarks = self.remarks.iter().map(|remark| ("remark".to_owned(), json!(remark)));
        report.cells.extend(remarks.map(|remark| Cell::new([], [remark])));
        report.remarks = self.remarks;
        report
    }

    fn parameters(&self, report: &mut Report) {
        let sizes = &self.sizes;
        report.parameter(
            "mobiles, cells",
            format!("{}, {}, unless a row says otherwise", sizes.users, sizes.cells),
        );
        report.parameter("N-PDUs", format!("{} octets, unless a row says otherwise", self.setup(0).octets));
        report.parameter("repetitions", self.repeated(true));
        report.parameter("window of a step", format!("{} s after {} s", sizes.window_s, sizes.warm_up_s));
        report.parameter("buffer of a mobile", format!("{} ms of its rate", sizes.buffer_ms));
        report.parameter("cipher", self.gea.map_or_else(|| "none".to_owned(), |gea| format!("GEA{gea}")));
    }
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
        within_s: 0.0,
        onset: Onset::Even,
    }
}

/// How many users it takes for `pps` packets/s, when each gets what it has negotiated.
fn users_for(pps: f64, setup: &Setup, max: u32) -> u32 {
    let wanted = (pps / (setup.pps_each() * BELOW_NEGOTIATED)).ceil().clamp(1.0, f64::from(max.max(1)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and a u32")]
    let wanted = wanted as u32;
    wanted
}
