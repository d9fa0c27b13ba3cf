//! A laboratory that is arithmetic: what the experiments conclude from a machine that is known.

use crate::measure::account::{CoreTime, Delay, GroupCount, Step};
use crate::measure::bench::{Again, Bench, Sizes};
use crate::measure::conditions::Conditions;
use crate::measure::{Bare, Candidate, Chain, Group, Lab, Lower, Offer, Setup, Tracing};
use crate::report::{Options, Report, Size};
use std::collections::BTreeMap;

/// Seconds for a packet that is forwarded, and for one that is dropped at the driver.
const FORWARD_S: f64 = 2e-6;
const DROP_S: f64 = 0.36e-6;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FakeLab {
    /// gannet-xdp serves in order of arrival as well.
    is_broken: bool,
    /// Each step has one drop too many.
    leaks: bool,
    /// Who cannot run on this machine.
    missing: Option<Candidate>,
    /// gannet-xdp delivers nothing at all.
    is_dead: bool,
}

struct FakeChain {
    forward_s: f64,
    /// `None`: what exceeds costs as much as what is forwarded.
    drop_s: Option<f64>,
    bare_drop: bool,
    leaks: bool,
    is_dead: bool,
    setup: Setup,
    running: bool,
    tracing: Option<Tracing>,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of a model")]
fn count(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

/// What acknowledged mode costs by unacknowledged mode.
const ACKNOWLEDGED: f64 = 1.4;

impl FakeChain {
    /// Seconds for a packet of this offer.
    fn forward_s(&self, offer: &Offer) -> f64 {
        // A machine that is broken is so in this, too.
        let capture = match (self.tracing, self.drop_s) {
            (None, _) => 1.0,
            (Some(_), None) => 1.4,
            (Some(Tracing { one_in: None, .. }), Some(_)) => 1.1,
            (Some(_), Some(_)) => 1.02,
        };
        capture * self.untraced_s(offer)
    }

    fn untraced_s(&self, offer: &Offer) -> f64 {
        match (self.setup.is_acknowledged(offer), self.drop_s) {
            (true, Some(_)) => FORWARD_S * ACKNOWLEDGED + self.forward_s - FORWARD_S,
            // A machine that is broken is so in this, too.
            (true, None) => FORWARD_S * 2.0 + self.forward_s - FORWARD_S,
            (false, _) => self.forward_s,
        }
    }

    /// What each group gets, in packets/s.
    fn shares(&self, offer: &Offer) -> Vec<f64> {
        if self.is_dead {
            return vec![0.0; offer.groups.len()];
        }
        let (offered, forward_s) = (offer.pps(), self.forward_s(offer));
        let Some(drop_s) = self.drop_s else {
            let passes = (1.0 / forward_s / offered).min(1.0);
            return offer.groups.iter().map(|g| (g.pps() * passes).min(g.due_pps())).collect();
        };
        let due = |group: &Group| group.pps().min(group.due_pps());
        let excess = offered - offer.groups.iter().map(due).sum::<f64>();
        let mut capacity = ((1.0 - drop_s * excess) / forward_s).max(0.0);
        let first = |group: &&Group| group.name == "high" || group.name == "real time";
        let ahead: f64 = offer.groups.iter().filter(first).map(due).sum();
        capacity -= ahead;
        let rest: f64 = offer.groups.iter().filter(|g| !first(g)).map(due).sum();
        let part = if rest > 0.0 { (capacity / rest).min(1.0) } else { 1.0 };
        offer.groups.iter().map(|g| if first(&g) { due(g) } else { due(g) * part }).collect()
    }
}

impl Chain for FakeChain {
    fn step(&mut self, offer: &Offer) -> Result<Step, String> {
        assert!(self.running, "a chain that is paused is offered nothing");
        for group in &offer.groups {
            assert!(group.members.iter().all(|user| user < self.setup.users), "{group:?}");
        }
        let window_s = offer.window_s;
        let all_s = window_s + offer.warm_up_s;
        let busy = (offer.pps() * self.forward_s(offer)).min(1.0);
        let waits = if self.drop_s.is_some() { 15.0 * busy } else { 5000.0 * busy };
        let delay = match self.is_dead {
            true => Delay::default(),
            false => Delay { count: 100, mean_us: 40.0 + waits, p99_us: 60.0 + waits, ..Delay::default() },
        };
        let groups: Vec<GroupCount> = offer
            .groups
            .iter()
            .zip(self.shares(offer))
            .map(|(group, pps)| GroupCount {
                name: group.name,
                due_pps: group.due_pps(),
                offered: count(group.pps() * window_s),
                delivered: count(pps * window_s),
                read: Some(count(pps * all_s)),
                offered_all: count(group.pps() * all_s),
                delivered_all: count(pps * all_s),
                delay,
            })
            .collect();
        let mut step = Step {
            window_s,
            intended_pps: offer.groups.iter().map(Group::pps).sum(),
            groups,
            unknown: count(offer.unknown_pps * all_s),
            core: CoreTime { busy_s: busy * window_s, wall_s: window_s, ..CoreTime::default() },
            ..Step::default()
        };
        let dropped = step.unaccounted();
        let dropped = u64::try_from(dropped).unwrap_or(0) + u64::from(self.leaks);
        step.drops = BTreeMap::from([("over_rate".to_owned(), dropped)]);
        step.raw.insert("loop_busy_us".to_owned(), count(busy * all_s * 1e6));
        if let Some(tracing) = self.tracing {
            let all = 2 * step.delivered_all() + 1;
            step.raw.insert("capture_datagrams".to_owned(), all / u64::from(tracing.one_in.unwrap_or(1)));
        }
        if self.bare_drop {
            step.raw.insert("dropped".to_owned(), 1_000_000);
            step.raw.insert("dropping_ns".to_owned(), count(DROP_S * 1e15));
        }
        Ok(step)
    }

    fn lower(&mut self, _: &Lower) -> Result<(), String> {
        assert!(self.running);
        Ok(())
    }

    fn raise(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn trace(&mut self, tracing: Option<Tracing>) -> Result<(), String> {
        assert!(self.running);
        self.tracing = tracing;
        Ok(())
    }

    fn resident_octets(&mut self) -> Result<(u64, u64), String> {
        if self.is_dead {
            return Ok((0, 0));
        }
        let before = 100 << 20;
        Ok((before, before + u64::from(self.setup.users) * 700))
    }

    fn pause(&mut self) -> Result<(), String> {
        assert!(core::mem::replace(&mut self.running, false));
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        assert!(!core::mem::replace(&mut self.running, true));
        Ok(())
    }
}

impl Lab for FakeLab {
    fn missing(&self, candidate: Candidate) -> Option<String> {
        (self.missing == Some(candidate)).then(|| "this machine has none".to_owned())
    }

    fn start(&mut self, candidate: Candidate, setup: &Setup) -> Result<Box<dyn Chain>, String> {
        let early = candidate == Candidate::Xdp && !self.is_broken;
        // A build that is slower than the other.
        let slower = if self.is_broken && setup.program.is_none() { 1.2 } else { 1.0 };
        let forward_s = slower * if candidate == Candidate::Osmo { 15e-6 } else { FORWARD_S };
        Ok(Box::new(FakeChain {
            forward_s: forward_s + f64::from(setup.work_ns) * 1e-9 + setup.gea.map_or(0.0, |_| 1.5e-6),
            drop_s: early.then_some(DROP_S),
            bare_drop: false,
            leaks: self.leaks,
            is_dead: self.is_dead && candidate == Candidate::Xdp,
            setup: setup.clone(),
            running: true,
            tracing: None,
        }))
    }

    fn bare(&mut self, bare: Bare, setup: &Setup) -> Result<Box<dyn Chain>, String> {
        Ok(Box::new(FakeChain {
            forward_s: if bare == Bare::Drop { 1.0 } else { 1.5e-6 + f64::from(setup.work_ns) * 1e-9 },
            drop_s: Some(0.0),
            bare_drop: bare == Bare::Drop,
            leaks: false,
            is_dead: false,
            setup: setup.clone(),
            running: true,
            tracing: None,
        }))
    }

    fn say(&mut self, _: &str) {}
}

type Experiment = fn(&mut Bench<'_>) -> Result<(), String>;

const EXPERIMENTS: [(&str, Experiment); 11] = [
    ("ed-overhead", super::overhead::experiment),
    ("ed-throughput", super::throughput::experiment),
    ("ed-isolation", super::isolation::experiment),
    ("ed-delay", super::delay::experiment),
    ("ed-precedence", super::precedence::experiment),
    ("ed-flood", super::flood::experiment),
    ("ed-scale", super::scale::experiment),
    ("ed-uplink", super::uplink::experiment),
    ("abm-cost", super::abm_cost::experiment),
    ("compare", super::compare::experiment),
    ("trace-cost", super::trace_cost::experiment),
];

fn run(lab: FakeLab, name: &str, experiment: Experiment) -> Report {
    run_ciphered(lab, name, None, experiment)
}

fn run_ciphered(mut lab: FakeLab, name: &str, gea: Option<u8>, experiment: Experiment) -> Report {
    let sizes = Sizes { repetitions: 2, ..Sizes::of(Size::Quick) };
    let mut bench = Bench::new(&mut lab, sizes, 1);
    bench.gea = gea;
    bench.against = Some("other".into());
    experiment(&mut bench).unwrap();
    let options =
        Options { size: Size::Quick, seed: 1, out: "unused".into(), progress: false, against: None };
    bench.report(name, &options)
}

/// With a cipher in its place nothing works for the time that stands for one.
#[test]
fn a_machine_that_demultiplexes_early_holds_with_a_cipher_too() {
    let named = ["ed-throughput", "ed-isolation", "ed-delay", "ed-precedence"];
    for (name, experiment) in EXPERIMENTS.into_iter().filter(|(name, _)| named.contains(name)) {
        let report = run_ciphered(FakeLab::default(), name, Some(3), experiment);
        assert!(!report.verdicts.is_empty(), "{name}");
        for verdict in &report.verdicts {
            assert_eq!(verdict.holds, Some(true), "{}", report.table());
            assert!(!verdict.name.contains("of work"), "{}", verdict.name);
        }
        crate::figure::check::of_report(&report);
    }
}

#[test]
fn a_machine_that_demultiplexes_early_holds() {
    for (name, experiment) in EXPERIMENTS {
        let report = run(FakeLab::default(), name, experiment);
        for verdict in &report.verdicts {
            assert!(
                verdict.holds == Some(true) || verdict.name == "gannet-fifo is honest",
                "{}",
                report.table()
            );
        }
        // Two figures in two rows are no curve.
        assert!(
            report.verdicts.len() > 1
                && report.figures.is_empty() == ["abm-cost", "compare", "trace-cost"].contains(&name),
            "{name}"
        );
        if let Some(directory) = std::env::var_os("GANNET_FIGURES") {
            report.write(&std::path::Path::new(&directory).join(name), "").unwrap();
            gannet_rt::outln!("{}", report.table());
        }
        if !report.figures.is_empty() {
            crate::figure::check::of_report(&report);
        }
        for verdict in &report.verdicts {
            assert!(verdict.means.len() > 40 && verdict.means.ends_with('.'), "{verdict:?}");
        }
    }
}

#[test]
fn a_machine_that_serves_in_order_of_arrival_does_not() {
    for (name, experiment) in EXPERIMENTS.into_iter().filter(|(name, _)| !name.ends_with("scale")) {
        let report = run(FakeLab { is_broken: true, ..FakeLab::default() }, name, experiment);
        assert!(name == "ed-overhead" || !report.holds(), "{}", report.table());
    }
}

/// A machine without the driver's program: nothing is shown of gannet-xdp, and nothing is claimed in its place.
#[test]
fn who_cannot_run_has_shown_nothing() {
    for (name, experiment) in EXPERIMENTS.into_iter().filter(|(name, _)| *name != "abm-cost") {
        let all = run(FakeLab::default(), name, experiment);
        let lab = FakeLab { missing: Some(Candidate::Xdp), ..FakeLab::default() };
        let report = run(lab, name, experiment);
        let of_all = ["every step: ", "honest: gannet-fifo"];
        for verdict in &report.verdicts {
            let is_of_all = of_all.iter().any(|other| verdict.name.starts_with(other));
            assert!(is_of_all || verdict.holds.is_none(), "{name}\n{}", report.table());
        }
        assert!(!report.holds() && report.table().contains("not shown"), "{name}\n{}", report.table());
        let names =
            |report: &Report| report.verdicts.iter().map(|verdict| verdict.name.clone()).collect::<Vec<_>>();
        assert!(names(&report) == names(&all), "{name}\n{}", report.table());
    }
}

/// An SGSN that delivers nothing has no delay, no share and no memory that would meet a bound.
#[test]
fn who_delivers_nothing_meets_no_bound() {
    for (name, experiment) in EXPERIMENTS.into_iter().filter(|(name, _)| *name != "abm-cost") {
        let report = run(FakeLab { is_dead: true, ..FakeLab::default() }, name, experiment);
        for verdict in &report.verdicts {
            let is_of_all = verdict.name.starts_with("every step: ") || verdict.name.starts_with("honest: ");
            assert!(is_of_all || verdict.holds != Some(true), "{name}\n{}", report.table());
        }
    }
}

#[test]
fn without_osmo_sgsn_the_comparison_with_it_is_not_shown() {
    let lab = FakeLab { missing: Some(Candidate::Osmo), ..FakeLab::default() };
    let report = run(lab, "ed-throughput", super::throughput::experiment);
    let row = report.verdicts.iter().find(|row| row.name.starts_with("packets for each CPU-second")).unwrap();
    assert_eq!(row.holds, None, "{row:?}");
}

/// Titles say what was done: osmo-sgsn polices nobody, whatever the setup asks for.
#[test]
fn titles_say_who_is_policed() {
    let report = run(FakeLab::default(), "ed-isolation", super::isolation::experiment);
    let titles = |name: &str| -> Vec<String> {
        let figure = report.figures.iter().find(|figure| figure.name == name).unwrap();
        figure.panels.iter().map(|panel| panel.title.clone()).collect()
    };
    assert_eq!(
        titles("ed-isolation-a"),
        ["gannet-xdp, policing on", "gannet-fifo, policing on", "osmo-sgsn, no policing"]
    );
    assert_eq!(titles("ed-isolation-a-no-policing"), ["gannet-xdp, policing off"]);
    for cell in &report.cells {
        let is_osmo = cell.axis.get("candidate").is_some_and(|name| name == "osmo-sgsn");
        if let Some(policing) = cell.axis.get("policing").filter(|_| is_osmo) {
            assert_eq!(policing, false, "{:?}", cell.axis);
        }
    }
}

#[test]
fn nothing_measured_is_no_yes() {
    let mut lab = FakeLab::default();
    let bench = Bench::new(&mut lab, Sizes::of(Size::Quick), 1);
    let options =
        Options { size: Size::Quick, seed: 1, out: "unused".into(), progress: false, against: None };
    let report = bench.report("x", &options);
    assert_eq!(report.verdicts.len(), 2);
    assert!(report.verdicts.iter().all(|row| row.holds.is_none()), "{}", report.table());
}

/// A chain whose steps are known.
struct Script(Vec<Step>);

impl Chain for Script {
    fn step(&mut self, offer: &Offer) -> Result<Step, String> {
        let mut step = self.0.remove(0);
        step.given_up &= offer.gives_up;
        Ok(step)
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

/// A step at such a speed, which delivered so much of 1000 packets; what is missing was dropped.
fn step_of(speed: f64, delivered: u64) -> Step {
    let group = GroupCount {
        name: "good",
        due_pps: 1000.0,
        offered: 1000,
        delivered,
        offered_all: 1000,
        delivered_all: delivered,
        ..GroupCount::default()
    };
    let drops = BTreeMap::from([("over_rate".to_owned(), 1000 - delivered)]);
    Step {
        window_s: 1.0,
        intended_pps: 1000.0,
        groups: vec![group],
        drops,
        speed: Some(speed),
        slow: speed < 0.9,
        round_trip_ns: 100.0,
        ..Step::default()
    }
}

/// Which of these steps counts, and whether the run is sound.
fn which(again: Again<'_>, steps: Vec<Step>) -> (usize, bool) {
    which_of(Some(Candidate::Xdp), false, again, steps)
}

/// The same of who has the core, and of a search's probe.
fn which_of(
    turn: Option<Candidate>,
    is_probe: bool,
    again: Again<'_>,
    mut steps: Vec<Step>,
) -> (usize, bool) {
    let count = steps.len();
    let mut lab = FakeLab::default();
    let mut bench = Bench::new(&mut lab, Sizes::of(Size::Quick), 1);
    let offer = Offer { is_patient: true, is_probe, ..bench.offer(&bench.setup(448), Vec::new()) };
    // Whatever comes after them is not asked for.
    steps.push(step_of(1.0, 0));
    let mut script = Script(steps);
    bench.take_turn(turn);
    bench.step_again(&mut script, &Vec::new(), &offer, again).unwrap();
    let options =
        Options { size: Size::Quick, seed: 1, out: "unused".into(), progress: false, against: None };
    (count - script.0.len(), bench.report("x", &options).holds())
}

#[test]
fn a_step_that_says_nothing_is_made_again() {
    let (slow, good, bad) = (step_of(0.8, 1000), step_of(1.0, 1000), step_of(1.0, 900));
    assert_eq!(which(Again::Disturbed, vec![slow.clone(), good.clone()]), (1, true));
    // Who delivers although the machine is slow has delivered.
    assert_eq!(which(Again::Missed(0.99), vec![slow.clone(), good.clone()]), (0, true));
    assert_eq!(which(Again::Missed(0.99), vec![step_of(0.8, 900), bad.clone(), good.clone()]), (1, true));
    assert_eq!(which(Again::Lost("good"), vec![step_of(0.8, 900), slow.clone(), good.clone()]), (1, true));
    assert_eq!(which(Again::Nothing, vec![step_of(0.8, 900), good.clone()]), (0, true));
    // Beside a slow one fast ones say nothing.
    let at = Conditions::of(&slow);
    assert_eq!(which(Again::Unlike(&at), vec![good.clone(), bad.clone(), slow.clone()]), (2, true));
    // Not for ever.
    assert_eq!(which(Again::Disturbed, vec![slow; 6]), (2, true));
}

#[test]
fn what_a_ring_lost_is_asked_about_again_and_a_fault_is_not() {
    let lossy = |ring_losses, delivered| {
        let drops = BTreeMap::new();
        Step { ring_losses, drops, ..step_of(1.0, delivered) }
    };
    let good = step_of(1.0, 1000);
    assert_eq!(which(Again::Disturbed, vec![lossy(2, 998), good.clone()]), (1, true));
    assert_eq!(which(Again::Disturbed, vec![lossy(2, 998); 15]), (12, false));
    // Of a loop that takes in order of arrival, and gets too much, the ring is where it loses.
    let fifo = Some(Candidate::Fifo);
    assert_eq!(which_of(fifo, false, Again::Disturbed, vec![lossy(100, 900)]), (0, true));
    assert_eq!(which_of(fifo, false, Again::Disturbed, vec![lossy(2, 998); 15]), (12, false));
    assert_eq!(which_of(None, false, Again::Disturbed, vec![lossy(2, 998); 15]), (12, false));
    // To a probe it is an answer.
    let xdp = Some(Candidate::Xdp);
    assert_eq!(which_of(xdp, true, Again::Disturbed, vec![lossy(2, 998), good.clone()]), (1, true));
    assert_eq!(which_of(xdp, true, Again::Disturbed, vec![lossy(2, 998); 15]), (2, true));
    let mut fault = good.clone();
    fault.wrong = 1;
    assert_eq!(which(Again::Disturbed, vec![fault, good]), (0, false));
}

#[test]
fn a_leak_of_one_packet_shows() {
    let (name, experiment) = EXPERIMENTS[5];
    let report = run(FakeLab { leaks: true, ..FakeLab::default() }, name, experiment);
    let row = report.verdicts.iter().find(|row| row.name.contains("offered = ")).unwrap();
    assert!(row.holds == Some(false) && row.ours.contains("not sound"), "{row:?}");
    assert!(report.remarks.iter().any(|remark| remark.contains("-1 of")), "{:?}", report.remarks);
}
