//! Interoperation with Osmocom's programs, scenario by scenario: our mobile and BSS at osmo-sgsn and at our own SGSN, with
//! osmo-hlr and osmo-ggsn; and Osmocom's BSS at our SGSN.
//!
//! A scenario is written once, for whichever SGSN stands in the middle. It has namespaces, processes, a directory and captures
//! of its own, so that several run beside each other. What differs between the SGSNs and is known has a name
//! ([`differences`]) and a row in `interop/README.md`.

mod attach;
mod bed;
pub mod differences;
mod judge;
mod mobility;
mod neighbour;
mod network;
mod oddities;
mod osmo_pcu;
mod own_ggsn;
mod phone;
mod secrets;
mod sessions;
mod subscribers;

use crate::demo::Peer;
use crate::testbed::{self, TestbedError};
use bed::Bed;
use judge::Payload;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What `gannet interop` is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program `gannet` itself.
    pub gannet: PathBuf,
    /// With whom in the SGSN's place.
    pub sgsns: Vec<Peer>,
    /// These scenarios; all where there is none.
    pub only: Vec<String>,
    /// How long Osmocom's BSS stays.
    pub minutes: u32,
    /// How many run beside each other.
    pub jobs: usize,
    /// Where configurations, logs and captures go, each scenario's into `SCENARIO-SGSN`.
    pub out: PathBuf,
}

/// What a scenario found.
#[derive(Debug)]
struct Found {
    /// What was measured.
    fact: String,
    /// The rows of `interop/README.md` that say how it differs.
    differences: Vec<&'static str>,
    payload: Payload,
}

impl Found {
    fn of(payload: Payload, fact: impl Into<String>) -> Self {
        Self { fact: fact.into(), differences: Vec::new(), payload }
    }

    fn but(mut self, difference: &'static str) -> Self {
        self.differences.push(difference);
        self
    }
}

type Run = fn(&mut Bed) -> Result<Found, TestbedError>;
type LongRun = fn(&mut Bed, u32) -> Result<Found, TestbedError>;

/// With whom.
#[derive(Debug, Clone, Copy)]
enum Scene {
    /// Our mobile and BSS, and either SGSN with osmo-hlr and osmo-ggsn.
    Mobile(Run),
    /// Osmocom's BSS and our SGSN.
    OsmoBss(LongRun),
}

/// A scenario by its name.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What happens, in a line.
    pub description: &'static str,
    scene: Scene,
}

const fn mobile(name: &'static str, description: &'static str, run: Run) -> Scenario {
    Scenario { name, description, scene: Scene::Mobile(run) }
}

/// All of them.
pub const ALL: &[Scenario] = &[
    mobile("attach-2g", "a SIM: authentication by SRES, nothing ciphered", attach::attach_2g),
    mobile("attach-3g", "a USIM: authentication by AUTN and RES", attach::attach_3g),
    mobile("gea1", "attach and user data with GEA1", attach::gea1),
    mobile("gea2", "attach and user data with GEA2", attach::gea2),
    mobile("gea3", "attach and user data with GEA3", attach::gea3),
    mobile("gea4", "attach and user data with GEA4 and a USIM", attach::gea4),
    mobile("wrong-key", "a card with another key than the HLR", attach::wrong_key),
    mobile("hlr-unknown", "the HLR does not know the IMSI", attach::hlr_unknown),
    mobile("hlr-no-gprs", "the HLR knows a subscriber without GPRS", attach::hlr_no_gprs),
    mobile("resync", "a USIM whose sequence number is ahead of the HLR's", subscribers::resync),
    mobile(
        "location-cancel",
        "registered elsewhere, then without subscription",
        subscribers::location_cancel,
    ),
    mobile("delete-data", "a subscriber loses GPRS", subscribers::delete_data),
    mobile("hlr-lost", "the HLR dies with requests in its hands and comes back", subscribers::hlr_lost),
    mobile("hlr-lost-location", "the same with UpdateLocation", subscribers::hlr_lost_location),
    mobile("rau", "to another routing area and back", mobility::rau),
    mobile("periodic-rau", "T3312 ends, and the mobile is heard of", mobility::periodic_rau),
    mobile("cell-change", "ten cell changes during a download", mobility::cell_change),
    mobile("contexts", "two PDP contexts to two access points", sessions::contexts),
    mobile("secondary", "a context beside the first one, told from it by a filter", sessions::secondary),
    mobile("lenient", "a phone that sets the flag of its transactions and names no APN", sessions::lenient),
    mobile("oddities", "octets and claims of phones in use that no clause foresees", oddities::oddities),
    mobile("sres", "a phone that answers AUTN with SRES", oddities::sres),
    mobile("sns-size", "a BSS by IP-SNS with more endpoints than NS-VCs", oddities::sns_size),
    mobile("detach", "by the mobile and by the network", attach::detach),
    mobile("ggsn-reject", "an access point that the GGSN does not have", sessions::ggsn_reject),
    mobile("ggsn-restart", "the GGSN is killed and comes back", sessions::ggsn_restart),
    mobile("ggsn-lost", "the GGSN dies and stays away", oddities::ggsn_lost),
    mobile("notification", "the network asks a mobile for a context", own_ggsn::notification),
    mobile("ipv6", "router advertisements of osmo-ggsn and of ours", own_ggsn::ipv6),
    mobile("paging", "pings for a mobile in STANDBY", mobility::paging),
    Scenario {
        name: "osmo-pcu-ip-access",
        description: "Osmocom's BSS in ip.access style: minutes of quiet, and both sides restart",
        scene: Scene::OsmoBss(osmo_pcu::ip_access),
    },
    Scenario {
        name: "osmo-pcu-ip-sns",
        description: "the same by IP-SNS",
        scene: Scene::OsmoBss(osmo_pcu::ip_sns),
    },
];

impl Scene {
    /// What Debian's packages have to have here.
    fn programs(self, sgsn: Peer) -> impl Iterator<Item = &'static str> {
        const BOTH: &[&str] = &["tshark", "dumpcap"];
        const MOBILE: &[&str] = &["ping", "curl", "sqlite3", "osmo-hlr", "osmo-hlr-db-tool", "osmo-ggsn"];
        let others: [&[&str]; 2] = match (self, sgsn) {
            (Self::Mobile(_), Peer::Gannet) => [MOBILE, &[]],
            (Self::Mobile(_), Peer::Osmocom) => [MOBILE, &["osmo-sgsn"]],
            (Self::OsmoBss(_), _) => [&["osmo-bsc", "osmo-bts-virtual", "osmo-pcu"], &[]],
        };
        BOTH.iter().chain(others.into_iter().flatten()).copied()
    }

    fn missing(self, sgsn: Peer) -> Vec<&'static str> {
        self.programs(sgsn).filter(|program| !crate::testbed::is_installed(program)).collect()
    }
}

/// Programs that these scenarios need with this SGSN and that are not installed.
#[must_use]
pub fn missing(scenarios: &[&str], sgsn: Peer) -> Vec<&'static str> {
    let wanted = ALL.iter().filter(|scenario| scenarios.contains(&scenario.name));
    let mut missing: Vec<&str> = wanted.flat_map(|scenario| scenario.scene.missing(sgsn)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// How a scenario ended.
#[derive(Debug)]
pub enum Verdict {
    /// As it should.
    Ok(String),
    /// In a way that is known and explained: the names of its rows.
    Differs(Vec<&'static str>, String),
    /// Otherwise.
    Failed(String),
    /// It could not be tried here.
    Skipped(String),
}

/// One line of the result.
#[derive(Debug)]
pub struct Line {
    /// The scenario.
    pub scenario: &'static str,
    /// Who was the SGSN.
    pub sgsn: Peer,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

/// The SGSN's name.
#[must_use]
pub const fn sgsn_name(sgsn: Peer) -> &'static str {
    match sgsn {
        Peer::Gannet => "gannet",
        Peer::Osmocom => "osmo-sgsn",
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (result, fact) = match &self.verdict {
            Verdict::Ok(fact) => ("ok", fact.clone()),
            Verdict::Differs(rows, fact) => ("differs", format!("{}: {fact}", rows.join(", "))),
            Verdict::Failed(why) => ("FAIL", why.clone()),
            Verdict::Skipped(why) => ("SKIPPED", why.clone()),
        };
        let took = self.took.as_secs_f64();
        write!(f, "{:<18} {:<9} {result:<7} {took:>6.1} s  {fact}", self.scenario, sgsn_name(self.sgsn))
    }
}

/// The scenarios that were asked for, in their order.
///
/// # Errors
/// The name that no scenario has.
fn chosen(options: &Options) -> Result<Vec<(&'static Scenario, Peer)>, TestbedError> {
    if let Some(name) = options.only.iter().find(|name| !ALL.iter().any(|scenario| scenario.name == **name)) {
        let names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        return Err(network::failed(
            &format!("no scenario '{name}'"),
            format!("there are: {}", names.join(", ")),
        ));
    }
    let wanted = |scenario: &&Scenario| {
        options.only.is_empty() || options.only.iter().any(|name| name == scenario.name)
    };
    let with = |scenario: &'static Scenario| {
        options.sgsns.iter().filter_map(move |sgsn| match (scenario.scene, sgsn) {
            (Scene::OsmoBss(_), Peer::Osmocom) => None,
            (Scene::OsmoBss(_) | Scene::Mobile(_), _) => Some((scenario, *sgsn)),
        })
    };
    Ok(ALL.iter().filter(wanted).flat_map(with).collect())
}

/// Runs what was asked for; `print` gets each line when it is known. All lines, in the order of [`ALL`].
///
/// # Errors
/// An unknown scenario, Ctrl-C, or what the machine refuses before anything was tried.
pub fn run(options: &Options, print: &(dyn Fn(&Line) + Sync)) -> Result<Vec<Line>, TestbedError> {
    let all = chosen(options)?;
    std::fs::create_dir_all(&options.out)?;
    let options = Options { out: options.out.canonicalize()?, ..options.clone() };
    let stop = testbed::stop_on_signals()?;
    testbed::remove_leftovers();
    // Those that stay for minutes begin at once, beside the others.
    let is_long = |scenario: &Scenario| matches!(scenario.scene, Scene::OsmoBss(_));
    let (long, short): (Vec<_>, Vec<_>) =
        all.iter().enumerate().partition(|(_, (scenario, _))| is_long(scenario));
    let waiting = Mutex::new(short.into_iter());
    let lines: Mutex<Vec<(usize, Line)>> = Mutex::default();
    let one = |(place, (scenario, sgsn)): (usize, &(&'static Scenario, Peer))| {
        if let Some(line) = scenario_line(scenario, *sgsn, &options, &stop) {
            print(&line);
            if let Ok(mut lines) = lines.lock() {
                lines.push((place, line));
            }
        }
    };
    std::thread::scope(|scope| {
        for each in long {
            scope.spawn(move || one(each));
        }
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(each) = waiting.lock().ok().and_then(|mut waiting| waiting.next()) {
                    one(each);
                }
            });
        }
    });
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(TestbedError::Interrupted);
    }
    let mut lines = lines.into_inner().unwrap_or_default();
    lines.sort_by_key(|(place, _)| *place);
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// Runs one scenario; nothing where somebody has pressed Ctrl-C.
fn scenario_line(
    scenario: &'static Scenario,
    sgsn: Peer,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Option<Line> {
    let begin = Instant::now();
    let missing = scenario.scene.missing(sgsn);
    let verdict = if missing.is_empty() {
        match play(scenario, sgsn, options, stop) {
            Ok((found, judged)) => {
                let fact = format!("{}; {judged}", found.fact);
                match found.differences.as_slice() {
                    [] => Verdict::Ok(fact),
                    rows => Verdict::Differs(rows.to_vec(), fact),
                }
            }
            Err(TestbedError::Interrupted) => return None,
            Err(error) => Verdict::Failed(one_line(&error.to_string())),
        }
    } else {
        Verdict::Skipped(format!("{} is not installed", missing.join(", ")))
    };
    Some(Line { scenario: scenario.name, sgsn, verdict, took: begin.elapsed() })
}

fn play(
    scenario: &Scenario,
    sgsn: Peer,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Result<(Found, String), TestbedError> {
    let directory: PathBuf = options.out.join(format!("{}-{}", scenario.name, sgsn_name(sgsn)));
    let mut bed = Bed::new(&options.gannet, sgsn, (scenario.name, directory), Arc::clone(stop))?;
    let found = match scenario.scene {
        Scene::Mobile(run) => {
            let found = run(&mut bed).inspect_err(|_| network::write_drops(&bed))?;
            secrets::keep_what_is_shown(&bed)?;
            found
        }
        Scene::OsmoBss(run) => run(&mut bed, options.minutes)?,
    };
    // Who writes a capture ends before it is read.
    bed.stop(&["bss"]);
    bed.end_captures();
    let judged = judge::judge(&bed, found.payload)?;
    Ok(match scenario.scene {
        Scene::Mobile(_) => {
            let keys = secrets::no_key_is_told(&bed)?;
            (found, format!("{judged}, none of {keys} keys told"))
        }
        // It has no subscribers.
        Scene::OsmoBss(_) => (found, judged),
    })
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ")
}

/// Debian's versions of the peers, for the table.
#[must_use]
pub fn versions() -> String {
    let packages = ["osmo-sgsn", "osmo-hlr", "osmo-ggsn", "osmo-bsc", "osmo-bts", "osmo-pcu", "tshark"];
    let mut command = std::process::Command::new("dpkg-query");
    let output = command.args(["-W", "-f", "${Package} ${Version}\n"]).args(packages).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each difference is explained.
    const README: &str = include_str!("../../../../interop/README.md");

    #[test]
    fn each_difference_has_its_row() {
        for name in differences::ALL {
            assert!(README.lines().any(|line| line.starts_with(&format!("| `{name}` |"))), "{name}");
        }
        for line in README.lines().filter(|line| line.starts_with("| `")) {
            let name = line.split('`').nth(1).unwrap_or_default();
            let is_known =
                ALL.iter().any(|scenario| scenario.name == name) || differences::ALL.contains(&name);
            assert!(is_known, "{name}");
        }
    }

    #[test]
    fn an_unknown_scenario_is_refused() {
        let options = Options {
            gannet: PathBuf::new(),
            sgsns: vec![Peer::Gannet, Peer::Osmocom],
            only: vec!["attach-5g".to_owned()],
            minutes: 0,
            jobs: 1,
            out: PathBuf::new(),
        };
        let error = chosen(&options).unwrap_err().to_string();
        assert!(error.contains("attach-5g") && error.contains("attach-2g"), "{error}");
        let all = chosen(&Options { only: Vec::new(), ..options }).unwrap();
        assert_eq!(all.len(), 2 * ALL.len() - 2);
    }

    #[test]
    fn a_line_says_it_all() {
        let line = |verdict| Line {
            scenario: "rau",
            sgsn: Peer::Osmocom,
            verdict,
            took: Duration::from_millis(2345),
        };
        let of = |verdict| line(verdict).to_string();
        assert_eq!(of(Verdict::Ok("x".to_owned())), "rau                osmo-sgsn ok         2.3 s  x");
        assert!(of(Verdict::Differs(vec!["a", "b"], "x".to_owned())).contains("differs    2.3 s  a, b: x"));
        assert!(of(Verdict::Failed(one_line("a\n\n b"))).ends_with("FAIL       2.3 s  a | b"));
        assert!(of(Verdict::Skipped("x".to_owned())).contains("SKIPPED    2.3 s  x"));
    }
}
