//! Experiment `radio-ber`: what TCP gets by C/I and coding scheme, and how much is sent again for it.

use super::airtime::{Airtime, Snapshot, radio};
use super::world::{Setup, World};
use super::{conserved, tcp, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::report::{Cell, Options, Report, Size, Verdict, at_least};
use gannet_machine::time::Duration;
use gannet_node::bss::radio::Way;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

const WARM_UP: Duration = Duration::from_secs(30);
/// The longest queue of the slowest: a window at a tenth of the rate of CS-1, and the lifetime of an LL-PDU.
const COOL_DOWN: Duration = Duration::from_secs(200);
const WINDOW_OCTETS: u32 = 16_384;
const SLOTS: u32 = 3;

/// What was measured.
#[derive(Debug)]
struct Measured {
    coding: CodingScheme,
    c_over_i_db: u8,
    /// What the channel loses of such blocks.
    error_rate: f64,
    /// False where the mobile did not get as far as a context: signalling goes by the same coding scheme.
    is_active: bool,
    airtime: Airtime,
    timeouts: u64,
    faults: Vec<String>,
}

/// C/I in dB, and the span.
fn plan(size: Size) -> (Vec<u8>, Duration) {
    match size {
        Size::Quick => (vec![6, 12, 18, 25], Duration::from_secs(120)),
        Size::Normal => ((6..=25).collect(), Duration::from_secs(600)),
        Size::Full => ((6..=25).collect(), Duration::from_secs(2400)),
    }
}

fn measure(coding: CodingScheme, c_over_i_db: u8, span: Duration, seed: u64) -> Result<Measured, String> {
    let mut radio = radio(coding, SLOTS, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
    let seed = seed.wrapping_mul(1000).wrapping_add(u64::from(c_over_i_db));
    radio.channel.c_over_i_db = Some(f64::from(c_over_i_db));
    let error_rate = radio.channel.profile.block_error_rate(coding, f64::from(c_over_i_db));
    let mut measured = Measured {
        coding,
        c_over_i_db,
        error_rate,
        is_active: false,
        airtime: Airtime::default(),
        timeouts: 0,
        faults: Vec::new(),
    };
    let Some(mut world) = World::try_new(&Setup::one_cell(radio, 1, 500, seed))? else { return Ok(measured) };
    world.connect(0, Way::Downlink, &tcp(WINDOW_OCTETS));
    world.run_until(world.gprs.now + WARM_UP);
    let before = Snapshot::of(&world, 1);
    world.run_until(world.gprs.now + span);
    measured.is_active = true;
    measured.airtime = Airtime::between(&before, &Snapshot::of(&world, 1), Way::Downlink, coding, SLOTS);
    measured.timeouts = world.connections.iter().map(|of| of.ends[0].record().timeouts).sum();
    let faults = world.close(COOL_DOWN).into_iter();
    measured.faults = faults.map(|fault| format!("{coding} at {c_over_i_db} dB: {fault}")).collect();
    Ok(measured)
}

impl Measured {
    fn cell(&self) -> Cell {
        let own = [
            ("block_error_rate".to_owned(), json!(self.error_rate)),
            ("has_context".to_owned(), json!(self.is_active)),
            ("timeouts".to_owned(), json!(self.timeouts)),
        ];
        Cell::new(
            [("coding", json!(self.coding.to_string())), ("c_over_i_db", json!(self.c_over_i_db))],
            own.into_iter().chain(self.airtime.metrics()),
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let (axis, span) = plan(options.size);
    let mut all = Vec::new();
    for coding in CodingScheme::ALL {
        if options.progress {
            eprintln!("{coding}");
        }
        for c_over_i_db in &axis {
            all.push(measure(coding, *c_over_i_db, span, options.seed)?);
        }
    }
    let mut report = Report::simulated("radio-ber", options);
    report.parameter("channel", "TU50 without hopping, the same C/I both ways");
    report.parameter("measured", format!("{:.0} s of each, 3 + 1 timeslots, N201-U 500", span.as_secs_f64()));
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&all, &axis);
    report.figures = vec![drawing(&all)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| scheme | C/I, dB | blocks lost by the channel, % | TCP, kbit/s | sent again, % of blocks | control, % | timeouts |\n|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        if !of.is_active {
            let lost = of.error_rate * 100.0;
            let _ =
                writeln!(text, "| {} | {} | {lost:.1} | no context | – | – | – |", of.coding, of.c_over_i_db);
            continue;
        }
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            of.coding,
            of.c_over_i_db,
            of.error_rate * 100.0,
            of.airtime.rate_bit_per_s / 1000.0,
            of.airtime.again * 100.0,
            of.airtime.control * 100.0,
            of.timeouts,
        );
    }
    text
}

fn rate(all: &[Measured], coding: CodingScheme, db: u8) -> f64 {
    let of = all.iter().find(|of| of.coding == coding && of.c_over_i_db == db);
    of.map_or(f64::NAN, |of| of.airtime.rate_bit_per_s)
}

fn verdicts(all: &[Measured], axis: &[u8]) -> Vec<Verdict> {
    let (Some(worst), Some(best)) = (axis.first(), axis.last()) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut row = |name: &str, db: u8, better: CodingScheme, worse: CodingScheme| {
        let [better, worse] = [better, worse].map(|coding| rate(all, coding, db) / 1000.0);
        rows.push(verdict(
            name,
            "TCP's rate with the one scheme and with the other, in kbit/s, where the first should win.",
            format!("{better:.1}, {worse:.1}"),
            "more".to_owned(),
            at_least(better - worse, 0.0),
        ));
    };
    row(&format!("CS-1 and CS-4 at {worst} dB"), *worst, CodingScheme::Cs1, CodingScheme::Cs4);
    row(&format!("CS-4 and CS-1 at {best} dB"), *best, CodingScheme::Cs4, CodingScheme::Cs1);
    let faults: Vec<String> = all.iter().flat_map(|of| of.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

fn drawing(all: &[Measured]) -> Figure {
    let panel = |title: &str, y: &str, value: &dyn Fn(&Measured) -> f64| {
        let curve = |(coding, colour): (CodingScheme, usize)| Curve {
            name: coding.to_string(),
            style: Style::Measured,
            colour,
            points: all
                .iter()
                .filter(|of| of.coding == coding)
                .map(|of| Point::new(f64::from(of.c_over_i_db), value(of)))
                .collect(),
        };
        Panel {
            title: title.to_owned(),
            x: "C/I, dB".to_owned(),
            y: y.to_owned(),
            curves: CodingScheme::ALL.into_iter().zip(0..).map(curve).collect(),
            ..Panel::default()
        }
    };
    let panels = vec![
        panel("What TCP gets", "TCP, kbit/s", &|of| of.airtime.rate_bit_per_s / 1000.0),
        panel("What it takes", "blocks sent again, %", &|of| of.airtime.again * 100.0),
    ];
    let caption = "TCP downlink by C/I and coding scheme: 3 + 1 timeslots, typical urban at 50 km/h without hopping. One run of each.";
    Figure::new("radio-ber", caption, panels)
}
