//! Experiment `trace-tbf`: what RLC does under TCP, counted from captures (figure 7 of the tracing study).
//!
//! One mobile, alone or beside another, has TCP over CS-2 with four timeslots downlink and one uplink, and some blocks are lost. The
//! base station follows [`Policy::STUDIED`] in the one half of the runs and [`Policy::SPARING`] in the other. All numbers are the
//! analyser's: downlink TBFs from Abis, where each block is seen as it is sent, uplink TBFs from Um, where those are seen that the base
//! station loses. The nodes' own counters are read to be compared with them.

mod counted;
mod drawing;
mod judge;

use crate::radio::airtime::{last_slots, radio};
use crate::radio::capture::{Point, Tape, analyze};
use crate::radio::world::{Setup, World};
use crate::report::{Cell, Options, Report, Size};
use crate::tcp::config::Config as TcpConfig;
use counted::{Counted, Links, Truth};
use gannet_analysis::findings::Analysis;
use gannet_analysis::radio::report::Tbf;
use gannet_analysis::{radio as blocks, tcp};
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::{RlcMacConfig, Way};
use gannet_proto::rlcmac::policy::Policy;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

/// For what is on its way at the end.
const COOL_DOWN: Duration = Duration::from_secs(70);
/// Mean C/I: the channel then loses some blocks of a hundred.
const C_OVER_I_DB: f64 = 15.0;
/// How long a downlink TBF is held without data.
const HELD: Duration = Duration::from_secs(1);
const N201_U: u16 = 500;
/// Points of one TBF that are kept: all.
const POINTS_MAX: usize = 1 << 20;

/// What a base station and the mobiles do about lost blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Studied,
    Sparing,
}

impl Does {
    const ALL: [Self; 2] = [Self::Studied, Self::Sparing];

    const fn name(self) -> &'static str {
        match self {
            Self::Studied => "studied",
            Self::Sparing => "sparing",
        }
    }
}

/// Who has which connection: mobile, way, octets of a packet and of the receiver's window.
#[derive(Debug, Clone, Copy)]
struct Scene {
    name: &'static str,
    means: &'static str,
    flows: &'static [(u32, Way, u16, u32)],
}

/// Packets of the one flow and of the others.
const SMALL: u16 = 576;
const LARGE: u16 = 1500;
/// A window of four small segments: the sender waits for acknowledgements.
const NARROW: u32 = 4 * 524;
/// Headers of IP and TCP without options.
const HEADERS: u16 = 40;
/// More than the path holds.
const WIDE: u32 = 16_384;

const SCENES: [Scene; 4] = [
    Scene {
        name: "waiting",
        means: "a download in packets of 576 octets whose sender waits for acknowledgements",
        flows: &[(0, Way::Downlink, SMALL, NARROW)],
    },
    Scene {
        name: "filling",
        means: "a download that fills the link",
        flows: &[(0, Way::Downlink, LARGE, WIDE)],
    },
    Scene {
        name: "beside",
        means: "the first beside a second mobile whose download fills the link",
        flows: &[(0, Way::Downlink, SMALL, NARROW), (1, Way::Downlink, LARGE, WIDE)],
    },
    Scene { name: "upload", means: "an upload", flows: &[(0, Way::Uplink, LARGE, WIDE)] },
];

/// What one run gave.
#[derive(Debug)]
struct Measured {
    scene: Scene,
    does: Does,
    rate_bit_per_s: f64,
    links: Links,
    /// What the analyser counts otherwise than the nodes do.
    differences: Vec<String>,
    findings: String,
    tbfs: Vec<Tbf>,
    began: Instant,
    faults: Vec<String>,
}

const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 60,
        Size::Normal => 600,
        Size::Full => 3600,
    })
}

fn config(does: Does, mobiles: usize) -> Result<RlcMacConfig, String> {
    let mut radio = radio(CodingScheme::Cs2, 4, 1).ok_or("no multislot class has 4 + 1 timeslots")?;
    radio.channel.c_over_i_db = Some(C_OVER_I_DB);
    radio.network.delayed_release = HELD;
    radio.network.pdchs = last_slots(4);
    radio.network.policy = match does {
        Does::Studied => Policy::STUDIED,
        Does::Sparing => Policy::SPARING,
    };
    radio.mobile.sparing = does == Does::Sparing;
    debug_assert!(mobiles > 0, "a scene has a mobile");
    Ok(radio)
}

fn measure(scene: Scene, does: Does, options: &Options) -> Result<Measured, String> {
    let mobiles = scene.flows.len();
    let setup = Setup::one_cell(
        config(does, mobiles)?,
        u32::try_from(mobiles).unwrap_or(u32::MAX),
        N201_U,
        options.seed,
    );
    let tape = Tape::to_memory(&[Point::Um, Point::Abis])?;
    let mut world = World::recorded(&setup, std::slice::from_ref(&tape))?;
    let began = world.gprs.now;
    for (mobile, way, packet, window) in scene.flows {
        let (mss, receive_buffer) = (packet - HEADERS, *window);
        let config = TcpConfig { mss, receive_buffer, ..TcpConfig::linux_2_4_2() };
        world.connect(*mobile, *way, &config);
    }
    world.run_until(began + span(options.size));
    let came: u64 = world.connections.iter().map(crate::radio::world::Connection::came).sum();
    let faults = world.close(COOL_DOWN);
    let truth = Truth::of(&world.probe);
    let analysis = Analysis::new(
        tcp::Settings::default(),
        blocks::Settings { points_max: POINTS_MAX, ..blocks::Settings::default() },
    );
    let mut places = (None, None);
    let report = analyze(tape.finish()?, analysis, |seen, reading| {
        let name = reading.places().get(usize::from(seen.place)).and_then(|place| place.name.as_deref());
        match name {
            Some("Um") => places.0 = Some(seen.place),
            Some("Abis") => places.1 = Some(seen.place),
            _ => {}
        }
    })?;
    let (Some(um), Some(abis)) = places else { return Err("a capture lacks an interface".to_owned()) };
    let links = Links::of(&report.radio, um, abis);
    let differences = truth.differences(&links);
    let is_drawn = |tbf: &Tbf| tbf.place == if tbf.direction == counted::UP { um } else { abis };
    Ok(Measured {
        scene,
        does,
        rate_bit_per_s: crate::radio::as_f64(came) * 8.0 / span(options.size).as_secs_f64(),
        links,
        differences,
        findings: report.text(),
        tbfs: report.radio.tbfs.into_iter().filter(is_drawn).collect(),
        began,
        faults,
    })
}

impl Measured {
    fn cells(&self) -> [Cell; 2] {
        let cell = |direction: &str, counted: &Counted, own: Vec<(String, serde_json::Value)>| {
            Cell::new(
                [
                    ("scene", json!(self.scene.name)),
                    ("policy", json!(self.does.name())),
                    ("direction", json!(direction)),
                ],
                own.into_iter().chain(counted.metrics()),
            )
        };
        let rate = vec![("rate_bit_per_s".to_owned(), json!(self.rate_bit_per_s))];
        [cell("down", &self.links.down, rate), cell("up", &self.links.up, self.links.acks.metrics())]
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up, or its capture not be read.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut all = Vec::new();
    for scene in SCENES {
        for does in Does::ALL {
            if options.progress {
                eprintln!("{}, {}", scene.name, does.name());
            }
            all.push(measure(scene, does, options)?);
        }
    }
    let mut report = Report::simulated("trace-tbf", options);
    report.parameter("cell", "4 PDCHs, CS-2, TBFs of 4 + 1 timeslots, TU50 without hopping, both ways");
    report.parameter("C/I", format!("{C_OVER_I_DB} dB"));
    report
        .parameter("TBFs", format!("downlink held for {:.0} s, uplink released at once", HELD.as_secs_f64()));
    report.parameter("TCP", format!("linux-2.4.2, packets of {SMALL} octets with a window of {NARROW}, of {LARGE} with one of {WIDE}; N201-U {N201_U}"));
    report.parameter("measured", format!("{:.0} s of each", span(options.size).as_secs_f64()));
    for policy in Does::ALL {
        let what = match policy {
            Does::Studied => Policy::STUDIED,
            Does::Sparing => Policy::SPARING,
        };
        let text = format!(
            "poll each {} blocks ({} after a loss), {} unanswered at most; uplink acknowledgement each {}",
            what.poll_every, what.poll_after_loss, what.polls_max, what.ack_every
        );
        report.parameter(policy.name(), text);
    }
    report.cells = all.iter().flat_map(Measured::cells).collect();
    report.verdicts = judge::verdicts(&all);
    report.figures = vec![drawing::drawing(&all)];
    report.remarks = vec![table(&all)];
    if let Some(first) = all.first() {
        report.remarks.push(format!("What the analyser says of `{}`:\n{}", first.scene.name, first.findings));
    }
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| scene | policy | TBFs | new | needed | premature | beside others | repeated | to poll | polls, each | reports | stalls, s | fillers |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        for (way, counted) in [("down", &of.links.down), ("up", &of.links.up)] {
            let _ = writeln!(
                text,
                "| {} | {} | {} {way} | {} | {} | {} | {} | {} | {} | {}, {} | {} | {}, {:.1} | {} |",
                of.scene.name,
                of.does.name(),
                counted.tbfs,
                counted.new,
                counted.needed,
                counted.premature,
                counted.beside,
                counted.repeated,
                counted.polling,
                counted.polls,
                counted.poll_interval,
                counted.reports,
                counted.stalls,
                counted.stalled_s,
                counted.fillers,
            );
        }
    }
    text.push_str("\n| scene | policy | TCP, kbit/s | uplink TBFs of TCP acknowledgements | acknowledgements each | set-up, ms | segment to first acknowledgement, ms | to a later one, ms |\n|---|---|---|---|---|---|---|---|\n");
    for of in all {
        let acks = &of.links.acks;
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {} of {} | {} | {:.0} | {:.0} | {:.0} |",
            of.scene.name,
            of.does.name(),
            of.rate_bit_per_s / 1000.0,
            acks.alone,
            acks.tbfs,
            acks.each,
            acks.set_up_ms,
            acks.first_ms,
            acks.later_ms,
        );
    }
    for scene in SCENES {
        let _ = writeln!(text, "\n`{}` is {}.", scene.name, scene.means);
    }
    text
}
