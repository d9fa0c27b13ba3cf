//! Experiment `world`: a network of a thousand mobiles in a hundred cells, for one simulated hour, with loss on Gb.
//!
//! Each mobile attaches three times, activates a PDP context, moves 200 kB each way while it changes cells ten times
//! and the routing area once, is silent for long enough to be paged, has its state taken out of the SGSN and put back,
//! and detaches. At the end everything must add up: offered = delivered + drops by name, every table empty, every frame
//! back in its pool.

mod account;
#[cfg(test)]
mod cell_changes;
mod n_pdu;
mod script;
mod setup;

use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::report::{Cell, Options, Report, Size, Verdict};
use account::Account;
use gannet_machine::time::{Duration, Instant};
use gannet_sim::gprs::{GprsWorld, Node};
use indicatif::{ProgressBar, ProgressStyle};
use script::Scripts;
use serde_json::json;

/// How large the world is.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Mobiles.
    pub mobiles: u32,
    /// Cells, ten to a routing area.
    pub cells: u16,
    /// How often each mobile attaches.
    pub rounds: u32,
    /// Octets of N-PDUs each way in each round.
    pub octets: u64,
    /// Simulated time.
    pub span: Duration,
    /// Loss on Gb.
    pub loss: f64,
}

impl Scale {
    const fn of(size: Size) -> Self {
        match size {
            Size::Quick => Self {
                mobiles: 50,
                cells: 20,
                rounds: 1,
                octets: 20_000,
                span: Duration::from_secs(1200),
                loss: 0.05,
            },
            Size::Normal => Self {
                mobiles: 1000,
                cells: 100,
                rounds: 3,
                octets: 200_000,
                span: Duration::from_secs(3600),
                loss: 0.05,
            },
            Size::Full => Self {
                mobiles: 3000,
                cells: 300,
                rounds: 3,
                octets: 200_000,
                span: Duration::from_secs(3600),
                loss: 0.05,
            },
        }
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where the world could not be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let started = std::time::Instant::now();
    let scale = Scale::of(options.size);
    let mut world = GprsWorld::new(setup::config(&scale, options.seed))?;
    let mut account = Account::new(&mut world);
    let mut scripts = Scripts::new(&scale, options.seed);
    let bar = progress(options, &scale);
    world.start();
    // Mobiles wait until the cells are there, and at the end everything has time to come to rest.
    let end = Instant::ZERO + scale.span;
    let mut minute = Instant::ZERO;
    while world.now < end {
        let next = scripts.next().unwrap_or(end).min(end).min(minute);
        world.run_until(next);
        while let Some(happening) = world.happenings.pop_front() {
            scripts.happening(&mut world, &mut account, happening);
        }
        scripts.run_due(&mut world, &mut account);
        if world.now >= minute {
            account.mark_minute();
            bar.set_position(world.now.0 / 1_000_000_000);
            minute += Duration::from_secs(60);
        }
    }
    bar.finish_and_clear();
    let mut report = report(options, &scale, &world, &account, &scripts)?;
    report.remarks.push(format!("{:.1} s of wall-clock time", started.elapsed().as_secs_f64()));
    Ok(report)
}

fn progress(options: &Options, scale: &Scale) -> ProgressBar {
    if !options.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(scale.span.0 / 1_000_000_000);
    if let Ok(style) = ProgressStyle::with_template("[{bar:40}] {pos} of {len} simulated seconds, {elapsed}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn report(
    options: &Options,
    scale: &Scale,
    world: &GprsWorld,
    account: &Account,
    scripts: &Scripts,
) -> Result<Report, String> {
    let (balance, leftovers) = (account.balance(world), setup::leftovers(world));
    let verdicts = verdicts(scale, world, account, scripts);
    let mut metrics = vec![
        ("n_pdus_offered".to_owned(), json!(balance.offered)),
        ("n_pdus_delivered".to_owned(), json!(balance.delivered)),
        ("n_pdus_dropped_by_name".to_owned(), json!(balance.dropped)),
        ("n_pdus_lost_on_gb".to_owned(), json!(account.lost_on_gb())),
        ("datagrams".to_owned(), json!(world.datagrams)),
        ("octets_digest".to_owned(), json!(format!("{:016x}", world.digest()))),
        ("cell_changes".to_owned(), json!(scripts.cell_changes)),
        ("routing_area_updates".to_owned(), json!(scripts.updates)),
        ("relocations".to_owned(), json!(scripts.relocations)),
        ("pagings".to_owned(), json!(world.sgsn.machine.stats().pagings)),
    ];
    for (table, entries) in &leftovers {
        metrics.push((format!("left: {table}"), json!(entries)));
    }
    for node in Node::ALL {
        for (drop, count) in world.drops(node).raised() {
            metrics.push((
                format!("drops: {}: {}", format!("{node:?}").to_lowercase(), drop.name()),
                json!(count),
            ));
        }
    }
    let axis = [
        ("mobiles", json!(scale.mobiles)),
        ("cells", json!(scale.cells)),
        ("rounds", json!(scale.rounds)),
        ("octets_each_way", json!(scale.octets)),
        ("gb_loss", json!(scale.loss)),
    ];
    let mut report = Report::simulated("world", options);
    report.parameter("mobiles, cells", format!("{}, {}", scale.mobiles, scale.cells));
    report.parameter("rounds of each mobile", scale.rounds);
    report.parameter("N-PDUs of a round, each way", format!("{} octets", scale.octets));
    report.parameter("simulated time", format!("{} s", scale.span.0 / 1_000_000_000));
    report.parameter("loss on Gb", format!("{} %", scale.loss * 100.0));
    report.cells = vec![Cell::new(axis, metrics)];
    report.verdicts = verdicts;
    report.figures = vec![traffic_figure(scale, account)];
    Ok(report)
}

/// What was found against what was to be found. Where no mobile has done a round and no N-PDU was offered, empty tables and
/// closed books show nothing.
fn verdicts(scale: &Scale, world: &GprsWorld, account: &Account, scripts: &Scripts) -> Vec<Verdict> {
    let (balance, leftovers) = (account.balance(world), setup::leftovers(world));
    let is_measured = scripts.rounds_done() > 0 && balance.offered > 0;
    let wanted = u64::from(scale.mobiles) * u64::from(scale.rounds);
    let (free, all) = (world.frames.free(), world.frames.capacity());
    let missing = balance.offered.abs_diff(balance.delivered + balance.dropped);
    [
        (
            "rounds of all mobiles",
            "Attach, traffic and moves, detach: every mobile has done all of its rounds.",
            scripts.rounds_done(),
            wanted,
        ),
        (
            "N-PDUs offered",
            "As much traffic as the script has for these rounds.",
            balance.offered,
            wanted * 2 * u64::from(script::pairs(scale)),
        ),
        (
            "cell changes",
            "Each round has so many within a routing area.",
            scripts.cell_changes,
            wanted * u64::from(script::CELL_CHANGES),
        ),
        ("routing area updates", "Each round has one to another routing area.", scripts.updates, wanted),
        (
            "exports and imports",
            "Each mobile's state is taken out of the SGSN and put back once a round.",
            scripts.relocations,
            wanted,
        ),
        (
            "N-PDUs unaccounted for",
            "Offered less delivered less named drops: nothing is lost without a name.",
            missing,
            0,
        ),
        (
            "N-PDUs damaged or doubled",
            "What arrives is what was sent, once, at the right mobile.",
            account.wrong,
            0,
        ),
        (
            "entries left in tables",
            "When all mobiles have detached no table of any node has an entry.",
            leftovers.len() as u64,
            0,
        ),
        ("frames back in the pool", "No buffer is lost.", free as u64, all as u64),
    ]
    .into_iter()
    .map(|(name, means, ours, goal)| Verdict {
        name: name.to_owned(),
        means: means.to_owned(),
        paper: None,
        ours: ours.to_string(),
        goal: goal.to_string(),
        holds: is_measured.then_some(ours == goal),
    })
    .collect()
}

#[expect(clippy::cast_precision_loss, reason = "for a plot")]
fn traffic_figure(scale: &Scale, account: &Account) -> Figure {
    let line = |name: &str, colour, value: fn(&account::Minute) -> u64| Curve {
        name: name.to_owned(),
        style: Style::Measured,
        colour,
        points: account
            .minutes
            .iter()
            .enumerate()
            .map(|(minute, counts)| Point::new(minute as f64, value(counts) as f64 / 60.0))
            .collect(),
    };
    let panel = Panel {
        title: "N-PDUs of all mobiles, both directions".to_owned(),
        x: "simulated time, minutes".to_owned(),
        y: "N-PDUs/s, mean of a minute".to_owned(),
        curves: vec![
            line("offered", 0, |m| m.offered),
            line("delivered", 1, |m| m.delivered),
            line("lost on Gb", 3, |m| m.lost_on_gb),
        ],
        ..Panel::default()
    };
    let caption = format!(
        "{} mobiles in {} cells with {} % loss on Gb: N-PDUs offered, delivered and lost on Gb in each minute. One run, no bars.",
        scale.mobiles,
        scale.cells,
        scale.loss * 100.0
    );
    Figure::new("world-traffic", &caption, vec![panel])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(seed: u64) -> Report {
        let options = Options {
            size: Size::Quick,
            seed,
            out: std::path::PathBuf::new(),
            progress: false,
            against: None,
        };
        run(&options).unwrap()
    }

    #[test]
    fn everything_adds_up_whatever_the_seed() {
        for seed in 1..=4 {
            let report = quick(seed);
            assert!(report.holds(), "seed {seed}\n{}\n{:#?}", report.table(), report.cells);
            crate::figure::check::of_report(&report);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_octets() {
        let json = |seed| serde_json::to_string(&quick(seed)).unwrap();
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }

    #[test]
    fn a_world_in_which_nothing_happened_shows_nothing() {
        let scale = Scale::of(Size::Quick);
        let mut world = GprsWorld::new(setup::config(&scale, 1)).unwrap();
        let (account, scripts) = (Account::new(&mut world), Scripts::new(&scale, 1));
        for verdict in verdicts(&scale, &world, &account, &scripts) {
            assert_eq!(verdict.holds, None, "{}", verdict.name);
        }
    }
}
