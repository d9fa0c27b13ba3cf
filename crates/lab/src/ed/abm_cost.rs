//! `abm-cost`: what LLC's acknowledged mode costs the whole SGSN, beside unacknowledged mode.
//!
//! One SGSN has three times as many mobiles as have traffic: those of one third are not in acknowledged mode, those of the others are
//! (reliability class 2), with kD of table 9, 16, where nobody proposes anything, and with the 64 that they propose. Steps for the
//! thirds alternate, at the same offered load, so that the machine is the same for all. What an N-PDU costs is the time in which the
//! SGSN's loop had something to do, by the N-PDUs that were delivered: reception, queues, SNDCP, LLC, BSSGP, NS and sending, and in
//! acknowledged mode what has to be kept, and the mobiles' acknowledgements.
//!
//! They are compared at half and at nearly all of what acknowledged mode carries with the window that carries less, which is searched for
//! in each repetition and the median taken: one search finds what the machine happens to give. The third claim of each window reckons it
//! from what either mode carries at most, which are different loads: the more N-PDUs there are, the more of them share a turn of the loop.
//!
//! The mobiles acknowledge whatever asks for it at once, so that how many acknowledgements there are is the SGSN's to choose: as long
//! as nothing is lost and N-PDUs follow each other it asks with one in 8 to 32 I frames (half of kD at most; the fewer the slower they
//! come), and otherwise by each that finds no request out.

use crate::load::config::Proposal;
use crate::measure::bench::{Again, Axis, Bench, Runner};
use crate::measure::loads::KBPS;
use crate::measure::saturation::{BARE_WORK_NS, Found, with_bare_work, without_bare_work};
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Group, Members, Offer, Onset, Setup, Spacing};
use crate::report::at_most;
use serde_json::json;

/// kD that a third of the mobiles proposes: that of table 9, 16, is no more than some 50 kbit/s at a round trip of a second with these
/// N-PDUs.
const KD: u8 = 64;
/// What acknowledged mode may cost, by unacknowledged mode.
const AT_MOST: f64 = 1.5;
/// The loads at which all are compared, as parts of the lower of the highest that acknowledged mode carries (medians), and their names.
const LOADS: [(f64, &str); 2] = [(0.5, "half"), (0.9, "nine tenths")];
/// Where searches begin, in packets/s.
const GUESS_PPS: f64 = 200_000.0;
/// The highest load that is looked for: what the generator can offer is below.
const CAP_PPS: f64 = 1_200_000.0;
/// How near the two sides of a search come.
const RESOLUTION: f64 = 1.04;
/// A window is at least so long, where costs are compared and where the highest load is looked for: each mobile then has some ten N-PDUs
/// and more in one, so that an acknowledgement for a whole window is seen with what it is for.
const WINDOW_S: f64 = 4.0;
const SEARCH_WINDOW_S: f64 = 2.0;
/// Before it: after the pause between two steps the first N-PDU of each mobile asks for an acknowledgement, and the next request comes some time
/// later, by the number of N-PDUs or a part of T200. Where all mobiles begin at once, or evenly within another time than that, their requests
/// come in waves ever after, each of which leaves a backlog near the highest load. That is how a step begins, and not what an N-PDU costs: the
/// mobiles begin one after the other, in either mode, most of them in the middle of the time of so many N-PDUs of each, so that requests are
/// spread evenly where they come with each 15th to each 24th, and less so beyond, and all have begun before the window.
const BEGIN_N_PDUS: f64 = 48.0;
/// However few come.
const BEGIN_MAX_S: f64 = 10.0;
/// From then on until the window.
const WARM_UP_S: f64 = 0.5;
/// Rounds of steps in each repetition, one of each mode after the other and then in the other order: what the machine does meanwhile is
/// the same for all.
const ROUNDS: u32 = 2;

/// LLC's mode, and kD. The others are compared with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Unacknowledged,
    /// kD is that of table 9.
    Default,
    /// It is [`KD`].
    Proposed,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Unacknowledged, Self::Default, Self::Proposed];

    const fn name(self) -> &'static str {
        match self {
            Self::Unacknowledged => "unacknowledged",
            Self::Default => "acknowledged, kD 16",
            Self::Proposed => "acknowledged, kD 64",
        }
    }

    /// Which third of the mobiles: those that propose come first, and those that are not in acknowledged mode last.
    const fn third(self) -> u32 {
        match self {
            Self::Proposed => 0,
            Self::Default => 1,
            Self::Unacknowledged => 2,
        }
    }
}

/// The load at which links become what they are in the long run, and for how long: 40 N-PDUs for each mobile, of which the first 32 are
/// asked about one by one.
const FIRST_PPS: f64 = 80_000.0;
const FIRST_S: f64 = 5.0;

/// What was found of one mode.
#[derive(Debug, Clone, Default)]
struct Of {
    /// The highest load that is delivered whole.
    carried: Found,
    /// The same with the work of the bare loops on each N-PDU.
    with_work: Found,
    /// At each of [`LOADS`].
    at: [Cost; LOADS.len()],
}

/// What was found of one mode at one load.
#[derive(Debug, Clone, Default)]
struct Cost {
    /// Busy ns per N-PDU.
    busy_ns: Samples,
    /// Acknowledgements per N-PDU.
    answers: Samples,
    /// N-PDUs/s.
    pps: f64,
}

/// So many mobiles in acknowledged mode with a large window, as many with that of table 9, and as many that are not.
fn setup(bench: &Bench<'_>) -> Setup {
    // What throughput a mobile negotiates does not matter here: none reaches it.
    let setup = bench.setup(KBPS * 10);
    let kd = Some(Proposal { frames: KD, users: setup.users });
    Setup { users: 3 * setup.users, acknowledged: 2 * setup.users, kd, ..setup }
}

/// Traffic for one third.
fn offer(bench: &Bench<'_>, setup: &Setup, mode: Mode, load: f64) -> Offer {
    // As many of each mode.
    let count = setup.users - setup.acknowledged;
    let first = mode.third() * count;
    let each = load / f64::from(count);
    let within_s = (BEGIN_N_PDUS / each).min(BEGIN_MAX_S);
    let all = Group {
        name: "all",
        members: Members { first, stride: 1, count },
        pps_each: each,
        due_pps_each: each,
        spacing: Spacing::Exponential,
        begins_s: 0.0,
        within_s,
        onset: Onset::Peaked,
    };
    let offer = bench.offer(setup, vec![all]);
    Offer { warm_up_s: within_s + WARM_UP_S, ..offer }
}

fn axis(what: &'static str, mode: Mode, setup: &Setup, repetition: u32) -> Axis {
    vec![
        ("candidate", json!(Candidate::Xdp.name())),
        ("what", json!(what)),
        ("mode", json!(mode.name())),
        ("work_ns", json!(setup.work_ns)),
        ("repetition", json!(repetition)),
    ]
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let plain = setup(bench);
    let with_work = with_bare_work(&plain);
    let mut found = Mode::ALL.map(|_| Of::default());
    let start = |bench: &mut Bench<'_>, setup: &Setup| -> Result<Option<Runner>, String> {
        Ok(bench.start(&[Candidate::Xdp], setup)?.pop())
    };
    let (Some(mut runner), Some(mut worked)) = (start(bench, &plain)?, start(bench, &with_work)?) else {
        return Err("there is no SGSN to measure".to_owned());
    };
    for (runner, setup) in [(&mut runner, &plain), (&mut worked, &with_work)] {
        for mode in [Mode::Default, Mode::Proposed] {
            let mut offer = offer(bench, setup, mode, FIRST_PPS);
            offer.window_s = FIRST_S;
            bench.turn(runner, |_, chain| chain.step(&offer))?;
        }
    }
    for repetition in 0..bench.sizes.repetitions {
        for (mode, of) in Mode::ALL.into_iter().zip(&mut found) {
            search(bench, &mut runner, (&plain, mode, repetition), &mut of.carried)?;
        }
    }
    let [_, default, proposed] = &found;
    let carried = default.carried.pps.median().min(proposed.carried.pps.median());
    if carried <= 0.0 {
        return Err("no load of acknowledged mode was delivered whole".to_owned());
    }
    for repetition in 0..bench.sizes.repetitions {
        for (at, (part, _)) in LOADS.into_iter().enumerate() {
            for round in 0..ROUNDS {
                let mut modes: Vec<_> = Mode::ALL.into_iter().zip(&mut found).collect();
                if round % 2 == 1 {
                    modes.reverse();
                }
                for (mode, of) in modes {
                    let Some(cost) = of.at.get_mut(at) else { continue };
                    compare(bench, &mut runner, (&plain, mode, repetition), carried * part, cost)?;
                }
            }
        }
        for (mode, of) in Mode::ALL.into_iter().zip(&mut found) {
            search(bench, &mut worked, (&with_work, mode, repetition), &mut of.with_work)?;
        }
    }
    judge(bench, &found);
    Ok(())
}

fn search(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, mode, repetition): (&Setup, Mode, u32),
    found: &mut Found,
) -> Result<(), String> {
    let axis = axis("highest load", mode, setup, repetition);
    let make = |bench: &Bench<'_>, load: f64| {
        let offer = offer(bench, setup, mode, load);
        Offer { window_s: offer.window_s.max(SEARCH_WINDOW_S), ..offer }
    };
    let bracket = found.bracket(GUESS_PPS, RESOLUTION, CAP_PPS);
    let saturation = bench.turn(runner, |bench, chain| bench.saturation(chain, &axis, bracket, &make))?;
    found.add(&saturation);
    Ok(())
}

fn compare(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, mode, repetition): (&Setup, Mode, u32),
    load: f64,
    cost: &mut Cost,
) -> Result<(), String> {
    let axis = axis("cost", mode, setup, repetition);
    let mut offer = offer(bench, setup, mode, load);
    offer.window_s = offer.window_s.max(WINDOW_S);
    let step = bench.turn(runner, |bench, chain| bench.step_again(chain, &axis, &offer, Again::Disturbed))?;
    cost.pps = load;
    cost.busy_ns.push(step.busy_ns_per_n_pdu().unwrap_or(f64::NAN));
    #[expect(clippy::cast_precision_loss, reason = "counts of a step")]
    let answers = step.raw.get("acknowledgements").copied().unwrap_or(0) as f64;
    #[expect(clippy::cast_precision_loss, reason = "counts of a step")]
    let delivered = step.delivered_all().max(1) as f64;
    cost.answers.push(answers / delivered);
    Ok(())
}

/// Each by the one of the same repetition, or round.
fn times(of: &Samples, by: &Samples) -> Samples {
    let mut times = Samples::default();
    (0..).zip(of.each()).for_each(|(repetition, (_, value))| times.push(value / by.at(repetition)));
    times
}

fn spread(samples: &Samples, digits: usize) -> String {
    format!("{:.digits$} [{:.digits$}..{:.digits$}]", samples.median(), samples.min(), samples.max())
}

/// What an N-PDU costs in ns, by the highest load with work on each.
fn reckoned_ns(found: &Found) -> Samples {
    let mut ns = Samples::default();
    without_bare_work(found).each().for_each(|(_, pps)| ns.push(1e9 / pps));
    ns
}

fn judge(bench: &mut Bench<'_>, found: &[Of; Mode::ALL.len()]) {
    let [plain, default, proposed] = found;
    judge_one(bench, Mode::Default, default, plain);
    judge_one(bench, Mode::Proposed, proposed, plain);
    for (mode, of) in Mode::ALL.into_iter().zip(found) {
        show(bench, mode, of);
    }
}

/// Two claims at equal loads, and one by the highest of each.
fn judge_one(bench: &mut Bench<'_>, mode: Mode, acknowledged: &Of, plain: &Of) {
    let name = mode.name();
    for ((own, other), (_, load)) in acknowledged.at.iter().zip(&plain.at).zip(LOADS) {
        let times = times(&own.busy_ns, &other.busy_ns);
        bench.claim(
            &format!("{name}: busy per N-PDU at {load} of the lower highest load"),
            "What an N-PDU costs the SGSN's core in acknowledged mode, by what it costs in unacknowledged mode at the same load.",
            None,
            format!(
                "{} times ({} ns against {} ns at {:.0} kpps; {:.2} acknowledgements per N-PDU)",
                spread(&times, 2),
                spread(&own.busy_ns, 0),
                spread(&other.busy_ns, 0),
                own.pps / 1e3,
                own.answers.median()
            ),
            format!("at most {AT_MOST} times"),
            at_most(times.median(), AT_MOST),
        );
    }
    let (own, other) = (reckoned_ns(&acknowledged.with_work), reckoned_ns(&plain.with_work));
    let reckoned = times(&own, &other);
    bench.claim(
        &format!("{name}: reckoned from the highest load of each, which differ"),
        "The same, from how many N-PDUs either mode carries at most.",
        None,
        format!(
            "{} times ({} ns against {} ns, from {} and {} with {BARE_WORK_NS} ns of work)",
            spread(&reckoned, 2),
            spread(&own, 0),
            spread(&other, 0),
            acknowledged.with_work.pps.kpps(),
            plain.with_work.pps.kpps(),
        ),
        format!("at most {AT_MOST} times"),
        at_most(reckoned.median(), AT_MOST),
    );
}

fn show(bench: &mut Bench<'_>, mode: Mode, of: &Of) {
    let limit = if of.carried.capped { ", where the generator ends" } else { "" };
    bench.remarks.push(format!("{}: carries {} without work{limit}", mode.name(), of.carried.pps.kpps()));
    let of_mode = || ("mode", json!(mode.name()));
    bench.cell(
        vec![of_mode(), ("what", json!("median"))],
        vec![
            ("carried_pps".to_owned(), of.carried.pps.json()),
            ("carried_with_work_pps".to_owned(), of.with_work.pps.json()),
        ],
    );
    for (cost, (part, _)) in of.at.iter().zip(LOADS) {
        bench.cell(
            vec![of_mode(), ("what", json!("median")), ("part", json!(part))],
            vec![
                ("busy_ns".to_owned(), cost.busy_ns.json()),
                ("acknowledgements_per_n_pdu".to_owned(), cost.answers.json()),
            ],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::FakeLab;
    use super::*;
    use crate::measure::bench::Sizes;
    use crate::report::Size;

    #[test]
    fn each_mode_has_mobiles_of_its_own_and_those_that_propose_have_the_window() {
        let mut lab = FakeLab::default();
        let bench = Bench::new(&mut lab, Sizes::of(Size::Quick), 1);
        let setup = setup(&bench);
        let kd = setup.kd.unwrap();
        let mut all = Vec::new();
        for mode in Mode::ALL {
            let offer = offer(&bench, &setup, mode, 1000.0);
            let users: Vec<u32> = offer.groups.iter().flat_map(|group| group.members.iter()).collect();
            assert_eq!(users.len() * 3, setup.users as usize);
            assert!(users.iter().all(|user| (*user < kd.users) == (mode == Mode::Proposed)), "{mode:?}");
            assert!(users.iter().all(|user| (*user < setup.acknowledged) == (mode != Mode::Unacknowledged)));
            all.extend(users);
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..setup.users));
        assert_eq!(Mode::Proposed.name(), format!("acknowledged, kD {}", kd.frames));
    }

    #[test]
    fn what_comes_with_each_so_many_n_pdus_of_each_mobile_comes_evenly() {
        let mut lab = FakeLab::default();
        let bench = Bench::new(&mut lab, Sizes::of(Size::Quick), 1);
        let offer = offer(&bench, &setup(&bench), Mode::Default, 180_000.0);
        let [group] = offer.groups.as_slice() else { panic!("one group") };
        let begins: Vec<f64> = (0..group.members.count).map(|order| group.begins_s_of(order)).collect();
        assert!(begins.is_sorted() && begins.iter().all(|at| (0.0..offer.warm_up_s).contains(at)));
        for n_pdus in 15..=24 {
            let period_s = f64::from(n_pdus) / group.pps_each;
            let mut tenths = [0_u32; 10];
            for at in &begins {
                let part = at % period_s / period_s;
                let tenth = (1..10).take_while(|tenth| f64::from(*tenth) <= part * 10.0).count();
                tenths[tenth] += 1;
            }
            let even = group.members.count / 10;
            assert!(tenths.iter().all(|tenth| tenth.abs_diff(even) < even / 8), "{n_pdus}: {tenths:?}");
        }
    }
}
