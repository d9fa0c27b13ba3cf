//! `ggsn-tcp`: TCP of one mobile through `gannet ggsn` and through osmo-ggsn, run in turns.
//!
//! Each GGSN has namespaces of its own: one with `sgsnemu`, which is SGSN and mobile, the GGSN's, and a host's behind it.
//! GGSN and host are on one core; `sgsnemu` and the mobile's TCP are on the other.

use crate::demo::Peer;
use crate::demo::configs::{self, address};
use crate::iperf::{self, Carried};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most};
use crate::testbed::{self, Namespace, Process};
use crate::way::Way;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The core of the GGSN and the host, and that of `sgsnemu` and the mobile.
const GGSN_CORE: &str = "0";
const MOBILE_CORE: &str = "1";
/// The congestion control of both ends: the machine's own may be another.
const CONGESTION: &str = "cubic";
/// The device of the mobile.
const DEVICE: &str = "ms0";
/// How long the GGSN may take until it listens, and a context.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Port 2123 as the kernel lists sockets.
const GTP_C_IN_PROC: &str = ":084B ";
/// Programs beside the GGSNs.
const PROGRAMS: [&str; 4] = ["osmo-ggsn", "sgsnemu", "iperf3", "taskset"];

const BOTH: [Peer; 2] = [Peer::Gannet, Peer::Osmocom];

const fn name(ggsn: Peer) -> &'static str {
    match ggsn {
        Peer::Gannet => "gannet-ggsn",
        Peer::Osmocom => "osmo-ggsn",
    }
}

/// Runs of each GGSN and way, and how long each lasts in s.
const fn sizes(size: Size) -> (u32, u32) {
    match size {
        Size::Quick => (3, 2),
        Size::Normal => (15, 5),
        Size::Full => (31, 10),
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// One GGSN and what stands around it.
struct Stage {
    // Processes end before their namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    sgsn: Namespace,
    ggsn: Namespace,
    host: Namespace,
    directory: PathBuf,
}

impl Stage {
    fn start(ggsn: Peer, out: &Path, stop: &AtomicBool) -> Result<Self, String> {
        let directory = out.join(format!("ggsn-tcp-{}", name(ggsn)));
        std::fs::create_dir_all(&directory).map_err(text)?;
        let directory = directory.canonicalize().map_err(text)?;
        let label = if ggsn == Peer::Gannet { "g" } else { "o" };
        let namespace = |part: &str| Namespace::new(&format!("tcp-{label}-{part}")).map_err(text);
        let mut stage = Self {
            processes: Vec::new(),
            sgsn: namespace("sgsn")?,
            ggsn: namespace("ggsn")?,
            host: namespace("host")?,
            directory,
        };
        stage.connect().map_err(text)?;
        stage.start_ggsn(ggsn)?;
        stage.wait(stop, "GTP socket of the GGSN", |stage| {
            // sgsnemu repeats a Create PDP Context Request after half a minute only.
            Ok(stage.ggsn.output_of("cat", &["/proc/net/udp"]).map_err(text)?.contains(GTP_C_IN_PROC))
        })?;
        stage.start_mobile(stop)?;
        Ok(stage)
    }

    fn connect(&self) -> Result<(), testbed::TestbedError> {
        use address as a;
        testbed::join((&self.sgsn, "gn0", a::GN_SGSN_PREFIX), (&self.ggsn, "gn0", a::GN_GGSN_PREFIX))?;
        testbed::join((&self.ggsn, "gi0", a::GI_GGSN_PREFIX), (&self.host, "gi0", a::GI_HOST_PREFIX))?;
        self.host.ip(&["route", "add", a::MOBILES, "via", a::GI_GGSN])?;
        self.ggsn.enable_forwarding()
    }

    /// The GGSN is the first process.
    fn start_ggsn(&mut self, ggsn: Peer) -> Result<(), String> {
        let config = self.directory.join("ggsn.cfg");
        std::fs::write(&config, configs::ggsn(&self.directory)).map_err(text)?;
        let config = config.to_string_lossy().into_owned();
        let gannet = std::env::current_exe().map_err(text)?.to_string_lossy().into_owned();
        let program: &[&str] = match ggsn {
            Peer::Gannet => &[&gannet, "ggsn", "-c", &config],
            Peer::Osmocom => &["osmo-ggsn", "-c", &config],
        };
        let started = pinned("ggsn", &self.ggsn, GGSN_CORE, program, &self.directory)?;
        self.processes.push(started);
        let started = pinned("host", &self.host, GGSN_CORE, &["iperf3", "-s"], &self.directory)?;
        self.processes.push(started);
        Ok(())
    }

    /// Asks for a context.
    fn start_mobile(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let directory = self.directory.to_string_lossy().into_owned();
        let pidfile = self.directory.join("sgsnemu.pid").to_string_lossy().into_owned();
        let (own, ggsn) = (address::GN_SGSN, address::GN_GGSN);
        let program = [
            ["sgsnemu", "--createif", "--defaultroute", "--tun-device", DEVICE].as_slice(),
            &["-l", own, "-r", ggsn, "--statedir", &directory, "--pidfile", &pidfile],
        ]
        .concat();
        self.processes.push(pinned("sgsnemu", &self.sgsn, MOBILE_CORE, &program, &self.directory)?);
        self.wait(stop, "PDP context", |stage| {
            let devices = stage.sgsn.output_of("ip", &["-brief", "-4", "address"]).map_err(text)?;
            Ok(devices.lines().any(|line| line.starts_with(DEVICE) && line.contains("198.51.100.")))
        })
    }

    fn wait(
        &mut self,
        stop: &AtomicBool,
        what: &str,
        is_there: impl Fn(&Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        let until = Instant::now() + READY_WITHIN;
        while !is_there(self)? {
            self.processes.iter_mut().try_for_each(Process::check).map_err(text)?;
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            if Instant::now() > until {
                return Err(format!("no {what} within {} s", READY_WITHIN.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// One connection.
    fn measure(&mut self, way: Way, seconds: u32, stop: &AtomicBool) -> Result<Measured, String> {
        let of_client = iperf::arguments(address::GI_HOST, CONGESTION, way, seconds, 0);
        let mut arguments = vec!["-c", MOBILE_CORE, "iperf3"];
        arguments.extend(of_client.iter().map(String::as_str));
        let pid = self.processes.first().map_or(0, Process::pid);
        let before = gannet_rig::cpu_time_of(pid).map_err(text)?;
        let said = self.sgsn.output_unless(stop, "taskset", &arguments).map_err(text)?;
        let spent = gannet_rig::cpu_time_of(pid).map_err(text)?.saturating_sub(before);
        self.processes.iter_mut().try_for_each(Process::check).map_err(text)?;
        Measured::read(&said, spent)
    }
}

/// Starts a program on one core, in a namespace.
fn pinned(
    name: &str,
    namespace: &Namespace,
    core: &str,
    program: &[&str],
    directory: &Path,
) -> Result<Process, String> {
    let mut command = namespace.command(Path::new("taskset"));
    command.args(["-c", core]).args(program).current_dir(directory);
    Process::start(name, &mut command, &directory.join(format!("{name}.log"))).map_err(text)
}

/// What one connection has given.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    /// Payload that has arrived, in Mbit/s.
    mbps: f64,
    /// Processor time of the GGSN in ns by octet of that payload.
    ns_per_octet: f64,
}

impl Measured {
    /// From what iperf3 says in JSON, and the GGSN's processor time.
    fn read(said: &str, spent: Duration) -> Result<Self, String> {
        let Carried { mbps, octets, .. } = Carried::read(said)?;
        Ok(Self { mbps, ns_per_octet: spent.as_secs_f64() * 1e9 / octets })
    }
}

/// All runs of one way, of both GGSNs in the order of [`BOTH`].
#[derive(Debug, Default)]
struct OfWay {
    mbps: [Samples; 2],
    ns_per_octet: [Samples; 2],
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("ggsn-tcp", &PROGRAMS)?;
    let (runs, seconds) = sizes(options.size);
    let [mut own, mut osmo] =
        [Stage::start(Peer::Gannet, &options.out, &stop)?, Stage::start(Peer::Osmocom, &options.out, &stop)?];
    let mut of = [OfWay::default(), OfWay::default()];
    let mut report = Report::here("ggsn-tcp", options);
    for number in 0..runs {
        // Who is first changes: the second finds what the first has left of the machine's caches and clock.
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        for (way, of) in Way::BOTH.into_iter().zip(&mut of) {
            for place in order {
                let stage = if place == 0 { &mut own } else { &mut osmo };
                let measured = stage.measure(way, seconds, &stop)?;
                let Some(ggsn) = BOTH.get(place).copied() else { continue };
                if options.progress {
                    eprintln!(
                        "ggsn-tcp: run {} of {runs}, {}, {}: {measured}",
                        number + 1,
                        way.name(),
                        name(ggsn)
                    );
                }
                let both = (of.mbps.get_mut(place), of.ns_per_octet.get_mut(place));
                if let (Some(mbps), Some(ns_per_octet)) = both {
                    mbps.push(measured.mbps);
                    ns_per_octet.push(measured.ns_per_octet);
                }
                report.cells.push(cell(ggsn, way, number, measured));
            }
        }
    }
    report.parameter("runs of each GGSN and way", runs);
    report.parameter("each lasts", format!("{seconds} s"));
    report.parameter("congestion control", CONGESTION);
    report.parameter("cores", "GGSN and host on one, sgsnemu and the mobile's TCP on the other");
    for (way, of) in Way::BOTH.into_iter().zip(&of) {
        report.verdicts.extend(verdicts(way, of));
    }
    Ok(report)
}

fn cell(ggsn: Peer, way: Way, number: u32, measured: Measured) -> Cell {
    let axis = [("ggsn", json!(name(ggsn))), ("way", json!(way.name())), ("run", json!(number + 1))];
    let metrics = [
        ("goodput_mbps".to_owned(), json!(measured.mbps)),
        ("ggsn_cpu_ns_per_octet".to_owned(), json!(measured.ns_per_octet)),
    ];
    Cell::new(axis, metrics)
}

fn verdicts(way: Way, of: &OfWay) -> [Verdict; 2] {
    let [own, osmo] = &of.mbps;
    let [own_ns, osmo_ns] = &of.ns_per_octet;
    let spread = |of: &Samples| format!("{:.0} [{:.0}..{:.0}]", of.median(), of.min(), of.max());
    let (ratio, cost) = (own.median() / osmo.median(), own_ns.median() / osmo_ns.median());
    let ours = format!("{ratio:.2}: {} beside {} Mbit/s", spread(own), spread(osmo));
    let spent = format!("{cost:.2}: {:.2} beside {:.2} ns", own_ns.median(), osmo_ns.median());
    let means =
        "Median goodput of one TCP connection through gannet ggsn, as a multiple of that through osmo-ggsn.";
    let means_spent = "Median processor time of the GGSN by octet of payload, as a multiple of osmo-ggsn's.";
    [
        (format!("TCP {}", way.name()), means, ours, "1.00 or more", at_least(ratio, 1.0)),
        (format!("processor time, {}", way.name()), means_spent, spent, "1.00 or less", at_most(cost, 1.0)),
    ]
    .map(|(name, means, ours, goal, holds)| Verdict {
        name,
        means: means.to_owned(),
        paper: None,
        ours,
        goal: goal.to_owned(),
        holds,
    })
}

impl core::fmt::Display for Measured {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:.0} Mbit/s, {:.2} ns of the GGSN by octet", self.mbps, self.ns_per_octet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_counts_by_octet_that_has_arrived() {
        let said = r#"{"end":{"sum_received":{"bytes":1000000,"bits_per_second":8e6}}}"#;
        let measured = Measured::read(said, Duration::from_millis(3)).unwrap();
        assert_eq!(measured, Measured { mbps: 8.0, ns_per_octet: 3.0 });
    }

    /// A slower GGSN fails, and one that was not measured is not shown.
    #[test]
    fn medians_decide() {
        let of = |own: [f64; 3], osmo: [f64; 3]| {
            let mut of = OfWay::default();
            for (place, values) in [own, osmo].into_iter().enumerate() {
                for value in values {
                    of.mbps[place].push(value);
                    of.ns_per_octet[place].push(1.0 / value);
                }
            }
            verdicts(Way::Up, &of).map(|verdict| verdict.holds)
        };
        assert_eq!(of([500.0, 600.0, 100.0], [400.0, 450.0, 900.0]), [Some(true), Some(true)]);
        assert_eq!(of([400.0, 440.0, 900.0], [400.0, 450.0, 900.0]), [Some(false), Some(false)]);
        assert_eq!(of([1.0, 2.0, 3.0], [f64::NAN; 3]), [None, None]);
    }
}
