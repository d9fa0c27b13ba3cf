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

use crate::figure::{self, Labels, Series};
use crate::report::{Cell, Figure, Options, Report, Size, Verdict};
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
    let balance = account.balance(world);
    let leftovers = setup::leftovers(world);
    let verdict = |name: &str, ours: String, goal: String, holds: bool| Verdict {
        name: name.to_owned(),
        paper: None,
        ours,
        goal,
        holds: Some(holds),
    };
    let wanted = u64::from(scale.mobiles) * u64::from(scale.rounds);
    let (free, all) = (world.frames.free(), world.frames.capacity());
    let missing = balance.offered.abs_diff(balance.delivered + balance.dropped);
    let exactly =
        |name: &str, ours: u64, goal: u64| verdict(name, ours.to_string(), goal.to_string(), ours == goal);
    let verdicts = vec![
        exactly("rounds of all mobiles", scripts.rounds_done(), wanted),
        exactly("N-PDUs offered", balance.offered, wanted * 2 * u64::from(script::pairs(scale))),
        exactly("cell changes", scripts.cell_changes, wanted * u64::from(script::CELL_CHANGES)),
        exactly("routing area updates", scripts.updates, wanted),
        exactly("exports and imports", scripts.relocations, wanted),
        verdict("N-PDUs unaccounted for", missing.to_string(), "0".to_owned(), missing == 0),
        verdict("N-PDUs damaged or doubled", account.wrong.to_string(), "0".to_owned(), account.wrong == 0),
        verdict("entries left in tables", leftovers.len().to_string(), "0".to_owned(), leftovers.is_empty()),
        verdict("frames back in the pool", free.to_string(), all.to_string(), free == all),
    ];
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
    Ok(Report {
        experiment: "world".to_owned(),
        seed: options.seed,
        machine: None,
        cells: vec![Cell::new(axis, metrics)],
        verdicts,
        figures: vec![traffic_figure(account)?],
        remarks: Vec::new(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "for a plot")]
fn traffic_figure(account: &Account) -> Result<Figure, String> {
    let line = |name: &str, value: fn(&account::Minute) -> u64| Series {
        name: name.to_owned(),
        points: account
            .minutes
            .iter()
            .enumerate()
            .map(|(minute, counts)| (minute as f64, value(counts) as f64 / 60.0))
            .collect(),
    };
    let series = [
        line("offered", |m| m.offered),
        line("delivered", |m| m.delivered),
        line("lost on Gb", |m| m.lost_on_gb),
    ];
    let labels = Labels {
        title: "World: N-PDUs of all mobiles, both directions",
        x: "simulated time in minutes",
        y: "N-PDUs per second",
    };
    let caption = "N-PDUs offered, delivered and lost on Gb, both directions together".to_owned();
    Ok(Figure { name: "world-traffic".to_owned(), caption, svg: figure::lines(labels, &series)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(seed: u64) -> Report {
        let options = Options { size: Size::Quick, seed, out: std::path::PathBuf::new(), progress: false };
        run(&options).unwrap()
    }

    #[test]
    fn everything_adds_up_whatever_the_seed() {
        for seed in 1..=4 {
            let report = quick(seed);
            assert!(report.holds(), "seed {seed}\n{}\n{:#?}", report.table(), report.cells);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_octets() {
        let json = |seed| serde_json::to_string(&quick(seed)).unwrap();
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }
}
