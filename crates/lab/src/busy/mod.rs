//! `busy-machine`: a lightly loaded SGSN whose core it has to share with processes that never sleep.
//!
//! A cell is one way in (`ingress`) beside so many busy processes, pinned to the SGSN's core or to no core. In it two nodes of the
//! main job run on that core, each between base stations, a GGSN and a host of its own: the *node* serves ten mobiles while the
//! processes come and go, the *control node* serves the same traffic while they are away only. A third SGSN finds the saturation
//! beside the same processes.
//!
//! | file | what |
//! |---|---|
//! | `stage` | a node with what stands around it |
//! | `service` | pings and a download, counted at the mobiles |
//! | `neighbours` | busy processes |
//! | `saturation` | the load that is delivered whole beside them |
//! | `judge` | what a cell has shown |

mod judge;
mod neighbours;
mod saturation;
mod service;
mod stage;

pub use neighbours::spin;

use crate::ed::bed::{CoreClock, LOAD_CORE, SGSN_CORE};
use crate::ed::real::RealLab;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::measure::account::CoreTime;
use crate::measure::{Candidate, Chain, Lab as _};
use crate::report::{Cell, Options, Report, Size};
use judge::{Measured, Seen};
use neighbours::{Beside, Neighbours};
use serde_json::json;
use service::{Download, Pinger};
use stage::Stage;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The ways in.
const CANDIDATES: [Candidate; 3] = [Candidate::Xdp, Candidate::Reuseport, Candidate::Fifo];
/// After a disturbance the estimates are compared at this time.
const RECOVERED_AFTER: Duration = Duration::from_millis(950);
/// Both nodes serve so long before anything is measured.
const WARM_UP: Duration = Duration::from_secs(3);

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// How much of everything.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Busy processes on the SGSN's core, cell by cell.
    pinned: &'static [u32],
    /// The same on no core.
    unpinned: &'static [u32],
    /// Disturbances of a cell.
    disturbances: u32,
    /// How long each lasts.
    disturbed: Duration,
    /// The window of a step of the search for saturation, in s, and its steps at most.
    window_s: f64,
    steps: u32,
}

impl Sizes {
    const fn of(size: Size) -> Self {
        let quick = Self {
            pinned: &[0, 1, 2, 4],
            unpinned: &[2],
            disturbances: 10,
            disturbed: Duration::from_millis(800),
            window_s: 0.3,
            steps: 5,
        };
        let normal = Self {
            unpinned: &[1, 2, 4],
            disturbed: Duration::from_secs(2),
            window_s: 1.0,
            steps: 8,
            ..quick
        };
        match size {
            Size::Quick => quick,
            Size::Normal => normal,
            Size::Full => Self { disturbances: 20, disturbed: Duration::from_secs(5), ..normal },
        }
    }

    fn cells(&self) -> impl Iterator<Item = Beside> {
        let pinned = self.pinned.iter().map(|busy| Beside { busy: *busy, is_pinned: true });
        pinned.chain(self.unpinned.iter().map(|busy| Beside { busy: *busy, is_pinned: false }))
    }
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a node has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let gannet = std::env::current_exe().map_err(text)?;
    let lab = RealLab::new(gannet.clone(), &options.out)?;
    let stop = lab.stop();
    let mut run = Run { gannet, out: options.out.clone(), sizes: Sizes::of(options.size), stop, lab };
    let begin = Instant::now();
    let mut measured = Vec::new();
    for candidate in CANDIDATES {
        measured.extend(run.candidate(candidate)?);
    }
    let mut report = report(options, &measured);
    report.remarks.push(format!("it took {:.0} s", begin.elapsed().as_secs_f64()));
    Ok(report)
}

struct Run {
    gannet: PathBuf,
    out: PathBuf,
    sizes: Sizes,
    stop: Arc<AtomicBool>,
    lab: RealLab,
}

/// What runs for one way in.
struct Nodes {
    chain: Box<dyn Chain>,
    node: Stage,
    control: Stage,
    /// What the control node's estimate is before it has measured anything.
    initial: Option<u64>,
}

impl Run {
    fn say(&self, line: &str) {
        eprintln!("busy-machine: {line}");
    }

    /// Waits, unless somebody wants an end.
    fn wait(&self, span: Duration) -> Result<(), String> {
        let until = Instant::now() + span;
        loop {
            if self.stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.out.join(name);
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        Ok(directory)
    }

    /// All cells of one way in.
    fn candidate(&mut self, candidate: Candidate) -> Result<Vec<Measured>, String> {
        let mut chain = self.lab.start(candidate, &saturation::setup())?;
        chain.pause()?;
        let ingress = candidate.name().trim_start_matches("gannet-");
        let stage = |label: &str| {
            let directory = self.directory(&format!("busy-{ingress}-{label}"))?;
            Stage::start(&self.gannet, &directory, &format!("{ingress}-{label}"), ingress, &self.stop)
        };
        let (node, control) = (stage("node")?, stage("control")?);
        let initial = control.cost_ns()?;
        let mut nodes = Nodes { chain, node, control, initial };
        self.warm_up(&nodes)?;
        let cells: Vec<Beside> = self.sizes.cells().collect();
        cells.into_iter().map(|beside| self.cell(candidate, beside, &mut nodes)).collect()
    }

    /// Both estimates begin as configured: they are measured before they are compared.
    fn warm_up(&self, nodes: &Nodes) -> Result<(), String> {
        let services = [&nodes.node, &nodes.control].map(|stage| Service::start(stage, &self.stop));
        let mut ends = Vec::new();
        for service in services {
            let service = service?;
            service.go(true);
            ends.push(service);
        }
        self.wait(WARM_UP)?;
        ends.into_iter().try_for_each(|service| service.end().map(drop))
    }

    fn cell(&mut self, candidate: Candidate, beside: Beside, nodes: &mut Nodes) -> Result<Measured, String> {
        self.say(&format!("{candidate}, {beside}"));
        let log = self.directory("busy-neighbours")?;
        let neighbours = Neighbours::start(&self.gannet, beside, &log)?;
        nodes.chain.resume()?;
        neighbours.go();
        let steps = (self.sizes.steps, self.sizes.window_s);
        let saturation = saturation::search(nodes.chain.as_mut(), saturation::guess(beside), steps);
        neighbours.halt();
        nodes.chain.pause()?;
        let saturation = saturation?;
        let seen = self.serve(nodes, &neighbours, beside)?;
        let measured = Measured { candidate, beside, saturation, seen };
        self.say(&format!("{candidate}, {beside}: {}", measured.line()));
        Ok(measured)
    }

    /// Serves beside processes that come and go, and compares the estimates each time they have gone.
    fn serve(&self, nodes: &mut Nodes, neighbours: &Neighbours, beside: Beside) -> Result<Seen, String> {
        let (node, control) = (&mut nodes.node, &mut nodes.control);
        let service = Service::start(node, &self.stop)?;
        let reference = Service::start(control, &self.stop)?;
        let before = node.counters()?;
        let (begin, core) = (Instant::now(), CoreClock::read(SGSN_CORE).map_err(text)?);
        service.go(true);
        let mut estimates = Vec::new();
        for _ in 0..self.sizes.disturbances {
            if beside.busy > 0 {
                neighbours.go();
                self.wait(self.sizes.disturbed)?;
                neighbours.halt();
            }
            reference.go(true);
            self.wait(RECOVERED_AFTER)?;
            let both = [node.cost_ns()?, control.cost_ns()?];
            reference.go(false);
            estimates.push(both);
            node.check()?;
            control.check()?;
        }
        let core: CoreTime = CoreClock::read(SGSN_CORE).map_err(text)?.since(&core);
        let seconds = begin.elapsed().as_secs_f64();
        let (pings, downloads) = service.end()?;
        reference.end()?;
        let moved = crate::counters::moved(&before, &node.counters()?);
        let (initial, stolen_share) = (nodes.initial, core.stolen_s / core.wall_s);
        Ok(Seen { seconds, pings, downloads, moved, estimates, initial, stolen_share })
    }
}

/// Pings and a download through one node.
struct Service {
    pinger: Pinger,
    download: Download,
}

impl Service {
    fn start(stage: &Stage, stop: &Arc<AtomicBool>) -> Result<Self, String> {
        Ok(Self {
            pinger: Pinger::start(stage.mobiles(), stop)?,
            download: Download::start(stage.mobiles(), stop)?,
        })
    }

    fn go(&self, on: bool) {
        self.pinger.go(on);
        self.download.go(on);
    }

    fn end(self) -> Result<(service::Pings, service::Downloads), String> {
        // Both wait for what is under way.
        self.go(true);
        self.pinger.last();
        let downloads = self.download.end()?;
        Ok((self.pinger.end()?, downloads))
    }
}

/// The core that all SGSNs share, and the one of everything else.
const _: () = assert!(LOAD_CORE != SGSN_CORE);

fn report(options: &Options, measured: &[Measured]) -> Report {
    let sizes = Sizes::of(options.size);
    let mut report = Report::here("busy-machine", options);
    report.parameter("disturbances of each cell", sizes.disturbances);
    report.parameter("each lasts", format!("{} ms", sizes.disturbed.as_millis()));
    report.parameter("estimates are compared after", format!("{} ms", RECOVERED_AFTER.as_millis()));
    for one in measured {
        let own = measured.iter().find(|other| other.candidate == one.candidate && other.beside.busy == 0);
        report.verdicts.extend(one.verdicts(own.and_then(Measured::ratio)));
    }
    let cells = measured.iter().map(|one| {
        let axis = vec![
            ("ingress", json!(one.ingress())),
            ("busy_processes", json!(one.beside.busy)),
            ("busy_on", json!(if one.beside.is_pinned { "the SGSN's core" } else { "no core" })),
        ];
        Cell::new(axis, one.metrics())
    });
    report.cells = cells.collect();
    let caption = format!(
        "Estimated cost of an N-PDU {} ms after busy processes have gone, as a multiple of that of the control node. Points are \
         medians of {} disturbances, bars the lowest and the highest.",
        RECOVERED_AFTER.as_millis(),
        sizes.disturbances
    );
    report.figures = vec![Figure::new("busy-machine", &caption, vec![panel(measured)])];
    report.remarks =
        vec!["gannet-fifo has no scheduler and so no estimate: only its service is judged".to_owned()];
    report
}

fn panel(measured: &[Measured]) -> Panel {
    let mut curves = Vec::new();
    for candidate in CANDIDATES {
        for (is_pinned, of) in [(true, "pinned to its core"), (false, "pinned to no core")] {
            let points = measured.iter().filter(|one| {
                one.candidate == candidate && (one.beside.is_pinned == is_pinned || one.beside.busy == 0)
            });
            let points: Vec<Point> = points.filter_map(Measured::point).collect();
            if points.iter().any(|point| point.x > 0.0) {
                let style = if is_pinned { Style::Measured } else { Style::Second };
                let name = format!("{candidate}, processes {of}");
                curves.push(Curve { name, style, colour: candidate.colour(), points });
            }
        }
    }
    for (bound, colour) in [(1.0 - judge::NEAR, 4), (1.0 + judge::NEAR, 6)] {
        let points = vec![Point::new(0.0, bound), Point::new(4.0, bound)];
        curves.push(Curve { name: format!("bound: {bound:.1}"), style: Style::Reference, colour, points });
    }
    Panel {
        title: "Estimated cost of an N-PDU after a disturbance".to_owned(),
        x: "busy processes".to_owned(),
        y: "estimate, as a multiple of the control node's".to_owned(),
        curves,
        ..Panel::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_every_number_of_processes_and_ten_disturbances() {
        for size in [Size::Quick, Size::Normal, Size::Full] {
            let sizes = Sizes::of(size);
            let pinned: Vec<u32> =
                sizes.cells().filter(|cell| cell.is_pinned).map(|cell| cell.busy).collect();
            assert_eq!(pinned, [0, 1, 2, 4], "{size:?}");
            assert!(sizes.cells().any(|cell| !cell.is_pinned) && sizes.disturbances >= 10, "{size:?}");
            assert!(RECOVERED_AFTER < Duration::from_secs(1));
        }
        // The disturbances of all cells of a quick run, beside what the searches take.
        let quick = Sizes::of(Size::Quick);
        let each = (quick.disturbed + RECOVERED_AFTER).as_secs_f64() * f64::from(quick.disturbances);
        assert!(each * 15.0 < 300.0);
    }

    #[test]
    fn its_figure_is_legible_and_nothing_measured_shows_nothing() {
        let options =
            Options { size: Size::Quick, seed: 1, out: PathBuf::new(), progress: false, against: None };
        let cells = [Candidate::Xdp, Candidate::Reuseport].into_iter().flat_map(|candidate| {
            [(0, true), (2, true), (4, true), (2, false)]
                .map(|(busy, is_pinned)| judge::tests::cell_of(candidate, Beside { busy, is_pinned }))
        });
        let report = report(&options, &cells.collect::<Vec<_>>());
        assert_eq!(report.figures[0].panels[0].curves.len(), 6);
        crate::figure::check::of_report(&report);
        assert!(!super::report(&options, &[]).holds());
    }
}
