//! Experiment `edge-cost`: what the QoS component costs a packet, enqueued and dequeued, by the number of streams.
//!
//! A third of the streams are best effort, two ninths EF and policed, four ninths AF, as in figure 6. Each packet is of a stream chosen
//! at random; 64 packets wait. Time is taken over many packets at once, and of many repetitions the median counts. Instructions are
//! counted by callgrind over the example `edge_cost`, which runs the same loop: the difference of two runs by the difference of their
//! packets, less what the loop takes without the component.
//!
//! Beside it stand whole forwarders: `gannet edge` by packet sockets and by `AF_XDP`, the kernel, the kernel with HTB, and a program at the
//! driver. What HTB adds to the kernel's forwarding is the difference of both in the same round.

use super::sets::verdict;
use super::whole::{self, By, Candidate, Forwards, Spent};
use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_most};
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;
use gannet_qos::discipline::{Discipline, Packet};
use gannet_qos::edge::{Accounting, Config, EdgeQueues, Excess, QueueConfig, Service, StreamConfig};
use serde_json::json;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Streams.
const AXIS: [u32; 3] = [9, 10_000, 100_000];
/// Packets that wait.
const WAITING: u32 = 64;
/// Names of streams that are drawn ahead, a power of two.
const DRAWN: usize = 1 << 16;
/// Packets of the two runs under callgrind.
const COUNTED: [u32; 2] = [100_000, 300_000];

const fn candidate(name: &'static str, forwards: Forwards) -> Candidate {
    Candidate { name, forwards, destinations: 9 }
}

const fn edge(name: &'static str, queues: bool, by: By) -> Candidate {
    candidate(name, Forwards::Edge { queues, flows: None, by })
}

const EDGE: Candidate = edge("gannet-edge", true, By::Sockets);
const EDGE_WITHOUT: Candidate = edge("gannet-edge-no-queues", false, By::Sockets);
const EDGE_XDP: Candidate = edge("gannet-edge-xdp", true, By::Rings);
const EDGE_XDP_WITHOUT: Candidate = edge("gannet-edge-xdp-no-queues", false, By::Rings);
const KERNEL: Candidate = candidate("ip-forward", Forwards::Kernel { htb: false });
const HTB: Candidate = candidate("ip-forward-htb", Forwards::Kernel { htb: true });
const DRIVER: Candidate = candidate("xdp-redirect", Forwards::Driver);
const FORWARDERS: [Candidate; 7] = [EDGE, EDGE_WITHOUT, EDGE_XDP, EDGE_XDP_WITHOUT, KERNEL, HTB, DRIVER];

/// The component with its streams and the order in which their packets come.
#[derive(Debug)]
pub struct Bench {
    queues: EdgeQueues<u64>,
    drawn: Vec<u32>,
    at: usize,
    now: Instant,
    sum: u64,
}

impl Bench {
    /// So many streams, and 64 packets that wait.
    ///
    /// # Errors
    /// Where the queues or streams cannot be set up.
    pub fn new(streams: u32, seed: u64) -> Result<Self, String> {
        // No packet is lost: a loss would be cheaper than what is measured.
        let queue = |weight| QueueConfig {
            buffers: Accounting::Exact { octets: 1 << 28 },
            rate: u32::MAX,
            weight,
            excess: Excess::Present,
        };
        let config = Config { streams_max: streams, expedited: queue(1), assured: queue(3) };
        let mut queues = EdgeQueues::new(config).map_err(|error| error.to_string())?;
        for stream in 0..streams {
            let service = match stream % 9 {
                0 | 1 => Service::Expedited,
                2..=5 => Service::Assured,
                _ => Service::BestEffort,
            };
            // A policed stream may send all that comes in the time that passes here.
            let rate = if service == Service::BestEffort { 0 } else { 100_000_000 / streams };
            let burst = match service {
                Service::Expedited => 8000,
                Service::BestEffort => 0,
                _ => 1000,
            };
            queues
                .configure(Instant::ZERO, stream, &StreamConfig { service, rate, burst })
                .map_err(|error| format!("stream {stream}: {error}"))?;
        }
        let mut rng = Rng::seeded(seed);
        let drawn = (0..DRAWN).map(|_| u32::try_from(rng.below(streams.into())).unwrap_or(0)).collect();
        let mut this = Self { queues, drawn, at: 0, now: Instant::ZERO, sum: 0 };
        this.run::<true, false>(WAITING as usize);
        Ok(this)
    }

    /// So many packets come of the streams that were drawn, and are offered where `OFFER`; as many are served where `SERVE`.
    fn run<const OFFER: bool, const SERVE: bool>(&mut self, mut packets: usize) {
        while packets > 0 {
            let ahead = self.drawn.get(self.at..).unwrap_or_default();
            let many = packets.min(ahead.len());
            for flow in ahead.iter().take(many).copied() {
                // So slowly that each policed stream conforms.
                self.now = Instant(self.now.0 + 1_000_000);
                let packet = Packet { flow, octets: 64 + (flow & 1023), item: u64::from(flow) };
                if OFFER {
                    self.queues.offer(self.now, packet, &mut |gone| {
                        black_box(gone);
                    });
                } else {
                    black_box(packet);
                }
                if SERVE && let Some(taken) = self.queues.take(self.now) {
                    self.sum = self.sum.wrapping_add(taken.packet.item);
                }
            }
            packets -= many;
            self.at = (self.at + many) % DRAWN;
        }
    }

    /// So many packets come, and as many are served.
    pub fn packets(&mut self, packets: u32) {
        self.run::<true, true>(packets as usize);
    }

    /// The same loop without the component: the packets come, and nothing is done with them.
    pub fn nothing(&mut self, packets: u32) {
        self.run::<false, false>(packets as usize);
    }

    /// Packets that found no room, of which there are to be none.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queues.totals().drops.total()
    }
}

/// What was found for a number of streams.
struct Cost {
    streams: u32,
    ns: Samples,
    instructions: Option<f64>,
}

/// Repetitions, and packets of each.
const fn sizes(size: Size) -> (u32, u32) {
    match size {
        Size::Quick => (5, 100_000),
        Size::Normal => (51, 1_000_000),
        Size::Full => (201, 1_000_000),
    }
}

/// What a packet takes, in ns, by repetition.
fn enqueue_and_dequeue(streams: u32, options: &Options) -> Result<Samples, String> {
    let (repetitions, packets) = sizes(options.size);
    let mut bench = Bench::new(streams, options.seed)?;
    bench.packets(packets);
    let mut ns = Samples::NONE;
    for _ in 0..repetitions {
        let begun = std::time::Instant::now();
        bench.packets(packets);
        ns.push(begun.elapsed().as_secs_f64() * 1e9 / f64::from(packets));
    }
    if bench.lost() > 0 {
        return Err(format!("{} packets were lost with {streams} streams", bench.lost()));
    }
    Ok(ns)
}

/// What the component takes for a packet with 9 streams, in ns: the median of all repetitions.
///
/// # Errors
/// Where the queues cannot be set up, or a packet is lost.
pub fn component_ns(options: &Options) -> Result<f64, String> {
    enqueue_and_dequeue(9, options).map(|ns| ns.median())
}

/// Runs the experiment.
///
/// # Errors
/// Where the queues cannot be set up, or a packet is lost.
pub fn run(options: &Options) -> Result<Report, String> {
    let (repetitions, packets) = sizes(options.size);
    let example = example();
    let mut all = Vec::new();
    for streams in AXIS {
        if options.progress {
            eprintln!("{streams} streams");
        }
        let ns = enqueue_and_dequeue(streams, options)?;
        let instructions = example.as_deref().and_then(|example| instructions(example, streams));
        all.push(Cost { streams, ns, instructions });
    }
    let mut report = Report::here("edge-cost", options);
    report.parameter("packets of a repetition", packets);
    report.parameter("repetitions", repetitions);
    report.parameter("packets that wait", WAITING);
    let counted =
        if all.iter().all(|cost| cost.instructions.is_some()) { "callgrind" } else { "not counted" };
    report.parameter("instructions", counted);
    report.cells.extend(all.iter().map(cell));
    report.parameter("gannet-edge, gannet-edge-no-queues", "user-plane socket");
    report.parameter("gannet-edge-xdp, gannet-edge-xdp-no-queues", "user-plane xdp");
    let spent = whole::measure(&FORWARDERS, options, &mut report)?;
    report.verdicts = verdicts(&all);
    report.verdicts.push(beside_htb(&all, &spent));
    report.figures = vec![drawing(&all, repetitions)];
    report.remarks.extend([table(&all), whole::table(&spent), added(&spent)]);
    if counted == "not counted" {
        report.remarks.push(
            "Instructions were not counted: that takes valgrind, and the example edge_cost beside this program \
             (cargo build --release -p gannet-lab --example edge_cost)."
                .to_owned(),
        );
    }
    Ok(report)
}

/// The program with the loop, beside this one.
fn example() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let beside = own.ancestors().skip(1).map(|directory| directory.join("examples/edge_cost"));
    beside.take(2).find(|path| path.is_file())
}

/// Instructions of a packet by callgrind, with the component less without it; `None` where it cannot be run.
fn instructions(example: &Path, streams: u32) -> Option<f64> {
    let of = |what: &str| {
        let [few, many] = COUNTED.map(|packets| {
            let output = Command::new("valgrind")
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(example)
                .args([&streams.to_string(), &packets.to_string(), what])
                .output()
                .ok()
                .filter(|output| output.status.success())?;
            counted(&String::from_utf8_lossy(&output.stderr))
        });
        let [few_packets, many_packets] = COUNTED.map(f64::from);
        Some((many? - few?) / (many_packets - few_packets))
    };
    Some(of("component")? - of("nothing")?)
}

/// The instructions of a run, as callgrind says them at its end: `Collected : 1234`.
fn counted(said: &str) -> Option<f64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

fn cell(cost: &Cost) -> Cell {
    Cell::new(
        [("streams", json!(cost.streams))],
        [
            ("enqueue_and_dequeue_ns".to_owned(), json!(cost.ns.median())),
            ("enqueue_and_dequeue_least_ns".to_owned(), json!(cost.ns.min())),
            ("enqueue_and_dequeue_most_ns".to_owned(), json!(cost.ns.max())),
            ("instructions".to_owned(), json!(cost.instructions)),
        ],
    )
}

fn table(all: &[Cost]) -> String {
    let mut text =
        "| streams | ns a packet, median (least to most) | instructions |\n|---|---|---|\n".to_owned();
    for cost in all {
        let instructions = cost.instructions.map_or_else(|| "–".to_owned(), |count| format!("{count:.0}"));
        text += &format!(
            "| {} | {:.1} ({:.1} to {:.1}) | {instructions} |\n",
            cost.streams,
            cost.ns.median(),
            cost.ns.min(),
            cost.ns.max()
        );
    }
    text
}

fn verdicts(all: &[Cost]) -> Vec<Verdict> {
    let ns =
        |streams| all.iter().find(|cost| cost.streams == streams).map_or(f64::NAN, |cost| cost.ns.median());
    let instructions = all.iter().filter(|cost| cost.streams == 9).find_map(|cost| cost.instructions);
    let instructions = instructions.unwrap_or(f64::NAN);
    let row = |name: &str, means: &str, paper: &str, ours: f64, unit: &str, most: f64| {
        let goal = format!("<= {most:.0} {unit}");
        verdict(name, means, paper, format!("{ours:.1} {unit}"), &goal, at_most(ours, most))
    };
    vec![
        row(
            "a packet with 9 streams",
            "Enqueued and dequeued, in steady state: the paper's fast path without QoS took 131 µs on its router.",
            "23 µs",
            ns(9),
            "ns",
            25.0,
        ),
        row("instructions of it", "Counted by callgrind.", "", instructions, "instructions", 150.0),
        row(
            "more with 10,000 streams at random",
            "What it costs that the state of the streams is out of the nearest cache.",
            "",
            ns(10_000) - ns(9),
            "ns",
            15.0,
        ),
        row(
            "more with 100,000 streams at random",
            "The same, out of the second cache.",
            "",
            ns(100_000) - ns(9),
            "ns",
            100.0,
        ),
    ]
}

/// Processor time that one forwarder spends on a packet beyond another one, in ns, by round.
fn beyond(all: &[Spent], more: &Candidate, less: &Candidate) -> Samples {
    let of = |wanted: &Candidate| {
        all.iter().find(|spent| spent.candidate == *wanted).map_or(Samples::NONE, |spent| spent.ns.clone())
    };
    of(more).minus(&of(less))
}

/// For a person: what queues add to a forwarder, and what one costs beyond another.
fn added(all: &[Spent]) -> String {
    let mut text =
        "| what is added, of the same round | ns a packet, median [min..max] |\n|---|---|\n".to_owned();
    for (name, more, less) in [
        ("HTB with two classes to ip_forward", &HTB, &KERNEL),
        ("the queues to gannet edge by packet sockets", &EDGE, &EDGE_WITHOUT),
        ("the queues to gannet edge by AF_XDP", &EDGE_XDP, &EDGE_XDP_WITHOUT),
        ("gannet edge by AF_XDP with queues to ip_forward with HTB", &EDGE_XDP, &HTB),
    ] {
        let ns = beyond(all, more, less);
        text += &format!("| {name} | {:.0} [{:.0}..{:.0}] |\n", ns.median(), ns.min(), ns.max());
    }
    text.replace("NaN", "–")
}

/// The component beside what HTB adds.
fn beside_htb(all: &[Cost], spent: &[Spent]) -> Verdict {
    let own = all.iter().find(|cost| cost.streams == 9).map_or(f64::NAN, |cost| cost.ns.median());
    let htb = beyond(spent, &HTB, &KERNEL);
    verdict(
        "a packet with 9 streams, beside what HTB adds to ip_forward",
        "HTB with two classes and pfifo on a line that is never full: the median difference of processor time by packet with it and \
         without it, each of the same round.",
        "",
        format!("{own:.1} ns beside {:.0} [{:.0}..{:.0}] ns", htb.median(), htb.min(), htb.max()),
        "less",
        at_most(own - htb.median(), 0.0),
    )
}

fn drawing(all: &[Cost], repetitions: u32) -> Figure {
    let points = all.iter().map(|cost| Point {
        x: f64::from(cost.streams),
        y: cost.ns.median(),
        spread: (cost.ns.min(), cost.ns.max()),
    });
    let panel = Panel {
        title: "Enqueue and dequeue".to_owned(),
        x: "streams, chosen at random".to_owned(),
        y: "ns a packet".to_owned(),
        x_scale: Scale::Logarithmic,
        curves: vec![Curve {
            name: "QoS component".to_owned(),
            style: Style::Measured,
            colour: 0,
            points: points.collect(),
        }],
        ..Panel::default()
    };
    let caption = format!(
        "What the QoS component costs a packet, enqueued and dequeued, by the number of streams. Median of {repetitions} repetitions; bars \
         from the lowest to the highest."
    );
    Figure::new("edge-cost", &caption, vec![panel])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_loses_nothing_and_keeps_its_backlog() {
        for streams in [9, 1000] {
            let mut bench = Bench::new(streams, 1).unwrap();
            bench.packets(10_000);
            assert_eq!(bench.lost(), 0);
            assert_eq!(bench.queues.waiting().pdus, WAITING);
            assert_eq!(bench.queues.totals().served, 10_000);
        }
    }

    #[test]
    fn what_htb_adds_is_of_the_same_round() {
        let of = |candidate, values: [f64; 3]| {
            let mut spent = Spent::none(candidate);
            values.into_iter().for_each(|value| spent.ns.push(value));
            spent
        };
        let all = [of(KERNEL, [1000.0, 1500.0, 1200.0]), of(HTB, [1400.0, 1910.0, 1590.0])];
        let costs = |ns| {
            let mut samples = Samples::NONE;
            samples.push(ns);
            [Cost { streams: 9, ns: samples, instructions: None }]
        };
        let verdict = beside_htb(&costs(20.0), &all);
        assert!(
            verdict.holds == Some(true) && verdict.ours == "20.0 ns beside 400 [390..410] ns",
            "{}",
            verdict.ours
        );
        assert_eq!(beside_htb(&costs(401.0), &all).holds, Some(false));
        assert_eq!(beside_htb(&costs(20.0), &all[..1]).holds, None);
        for name in ["packet sockets", "AF_XDP"] {
            let row = format!("| the queues to gannet edge by {name} | – [–..–] |");
            assert!(added(&all).contains(&row), "{}", added(&all));
        }
    }

    #[test]
    fn callgrinds_words_are_read_and_what_was_not_counted_is_not_shown() {
        assert_eq!(counted("==7== Events    : Ir\n==7== Collected : 12345\n==7==\n"), Some(12_345.0));
        assert_eq!(counted("valgrind: no such file"), None);
        for verdict in verdicts(&[]) {
            assert_eq!(verdict.holds, None, "{}", verdict.name);
        }
        let ns = |value| {
            let mut samples = Samples::NONE;
            samples.push(value);
            samples
        };
        let costs = |slow| {
            AXIS.map(|streams| Cost {
                streams,
                ns: ns(20.0 + slow * f64::from(streams)),
                instructions: Some(120.0 + slow),
            })
        };
        assert!(verdicts(&costs(0.0)).iter().all(|verdict| verdict.holds == Some(true)));
        assert!(verdicts(&costs(50.0)).iter().all(|verdict| verdict.holds == Some(false)));
    }
}
