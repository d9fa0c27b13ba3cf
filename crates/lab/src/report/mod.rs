//! What an experiment takes and gives: options, cells, verdicts, and the files of a run.

mod page;
#[cfg(test)]
mod tests;

use crate::figure::{self, Figure};
use gannet_rt::log::ExtendedTimestamp;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How large a run is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A look: seconds.
    Quick,
    /// As the experiment's description states it.
    Normal,
    /// With more repetitions or cells than the description asks for.
    Full,
}

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// How large.
    pub size: Size,
    /// The seed: a simulated run is reproducible from it to the octet.
    pub seed: u64,
    /// Where the files go.
    pub out: PathBuf,
    /// Show a progress bar.
    pub progress: bool,
    /// Another build of Gannet, to compare with.
    pub against: Option<PathBuf>,
}

impl Options {
    /// The command that asks for this run.
    #[must_use]
    pub fn command(&self, experiment: &str) -> String {
        let size = match self.size {
            Size::Quick => " --quick",
            Size::Normal => "",
            Size::Full => " --full",
        };
        let against = self.against.as_ref().map(|path| format!(" --against {}", path.display()));
        format!("gannet lab run {experiment}{size} --seed {}{}", self.seed, against.unwrap_or_default())
    }
}

/// One point of an experiment: where it stands on each axis, and what was measured there.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    /// Axis name to value.
    pub axis: BTreeMap<String, serde_json::Value>,
    /// Metric name (its unit last) to value.
    pub metrics: BTreeMap<String, serde_json::Value>,
}

impl Cell {
    /// A cell from its axes and metrics.
    #[must_use]
    pub fn new<A, M>(axis: A, metrics: M) -> Self
    where
        A: IntoIterator<Item = (&'static str, serde_json::Value)>,
        M: IntoIterator<Item = (String, serde_json::Value)>,
    {
        let axis = axis.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { axis, metrics: metrics.into_iter().collect() }
    }
}

/// The goal of a row that claims nothing: its value is told, and is neither good nor bad.
pub const REPORTED: &str = "reported";

/// One claim, and whether this run bears it out.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Verdict {
    /// The claim.
    pub name: String,
    /// What the row says, in a sentence for somebody who has not read the experiment.
    pub means: String,
    /// The paper's value, where a paper has one.
    pub paper: Option<String>,
    /// Ours, measured in this run.
    pub ours: String,
    /// What ours was to be.
    pub goal: String,
    /// Whether it is; `None` where this run could not measure it, which is "not shown".
    pub holds: Option<bool>,
}

impl Verdict {
    /// Whether it holds, as the table says it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.holds {
            Some(true) if self.goal == REPORTED => "–",
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not shown",
        }
    }

    /// Ours for a person: what was not measured is a dash.
    pub(crate) fn measured(&self) -> String {
        self.ours.replace("NaN", "–")
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Verdict", 7)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("means", &self.means)?;
        fields.serialize_field("paper", &self.paper)?;
        fields.serialize_field("ours", &self.measured())?;
        fields.serialize_field("goal", &self.goal)?;
        fields.serialize_field("holds", &self.holds)?;
        fields.serialize_field("verdict", self.word())?;
        fields.end()
    }
}

/// Whether a value is high enough; `None` where it is not a number, since nothing was measured.
#[must_use]
pub fn at_least(value: f64, least: f64) -> Option<bool> {
    (!value.is_nan()).then_some(value >= least)
}

/// Whether a value is low enough; the same.
#[must_use]
pub fn at_most(value: f64, most: f64) -> Option<bool> {
    (!value.is_nan()).then_some(value <= most)
}

/// The least of all; not a number where one is not, or where there is none.
#[must_use]
pub fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    let lower = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    values.into_iter().reduce(lower).unwrap_or(f64::NAN)
}

/// The greatest of all; the same.
#[must_use]
pub fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    -least(values.into_iter().map(|value| -value))
}

/// The machine on which a run was made, and when.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MachineInfo {
    /// Processors.
    pub cores: usize,
    /// The processor's own name.
    pub cpu: String,
    /// Kernel release.
    pub kernel: String,
    /// When the run was made, in UTC.
    pub date: String,
}

impl MachineInfo {
    /// This machine, now.
    #[must_use]
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            // Of the machine, not those that this process has pinned itself to.
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count().max(1),
            cpu: cpu.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned()),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            date: now(),
        }
    }
}

/// The time as `2026-01-31 12:00 UTC`.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let digits = ExtendedTimestamp(u64::try_from(since.as_nanos()).unwrap_or(0)).to_string();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{} {}:{} UTC", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12))
}

/// What a run gives.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Report {
    /// The experiment's name.
    pub experiment: String,
    /// The command that gives it again.
    pub command: String,
    /// Gannet's.
    pub version: String,
    /// Its seed.
    pub seed: u64,
    /// How large it was, and what else a reader has to know to judge it: name and value.
    pub parameters: Vec<(String, String)>,
    /// `None` for a simulated run: its octets do not depend on the machine.
    pub machine: Option<MachineInfo>,
    /// Where its numbers come from, as the caption of each figure ends: command, version, machine and date.
    pub origin: String,
    /// The points.
    pub cells: Vec<Cell>,
    /// The claims.
    pub verdicts: Vec<Verdict>,
    /// The figures, drawn beside the JSON.
    pub figures: Vec<Figure>,
    /// What is known of this run alone (wall-clock time), printed and not written: it is not reproducible.
    #[serde(skip)]
    pub remarks: Vec<String>,
}

impl Report {
    /// An empty one of a simulated run.
    #[must_use]
    pub fn simulated(experiment: &str, options: &Options) -> Self {
        Self::at(experiment, options, None)
    }

    /// An empty one of a run in real time on this machine.
    #[must_use]
    pub fn here(experiment: &str, options: &Options) -> Self {
        Self::at(experiment, options, Some(MachineInfo::here()))
    }

    fn at(experiment: &str, options: &Options, machine: Option<MachineInfo>) -> Self {
        let (command, version) = (options.command(experiment), env!("CARGO_PKG_VERSION"));
        let place = machine.as_ref().map_or_else(
            || "simulated, the same on every machine".to_owned(),
            |m| format!("{} cores of {}, Linux {}, {}", m.cores, m.cpu, m.kernel, m.date),
        );
        Self {
            experiment: experiment.to_owned(),
            origin: format!("Run: {command}; Gannet {version}; {place}."),
            command,
            version: version.to_owned(),
            seed: options.seed,
            parameters: Vec::new(),
            machine,
            cells: Vec::new(),
            verdicts: Vec::new(),
            figures: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// A parameter more.
    pub fn parameter(&mut self, name: &str, value: impl ToString) {
        self.parameters.push((name.to_owned(), value.to_string()));
    }

    /// True when every claim holds and there is one. One that is not shown does not.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.verdicts.is_empty() && self.verdicts.iter().all(|verdict| verdict.holds == Some(true))
    }

    /// True where a paper has a value of something: else the column has no content, and is not drawn.
    fn has_paper(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.paper.is_some())
    }

    /// The table for a person: paper, ours, goal, holds.
    #[must_use]
    pub fn table(&self) -> String {
        let row = |v: &Verdict| {
            let paper = v.paper.clone().unwrap_or_else(|| "-".to_owned());
            [v.name.clone(), paper, v.measured(), v.goal.clone(), v.word().to_owned()]
        };
        let head = ["", "paper", "ours", "goal", "holds"].map(str::to_owned);
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.verdicts.iter().map(row)).collect();
        let mut widths = [0; 5];
        for row in &rows {
            for (width, field) in widths.iter_mut().zip(row) {
                *width = field.chars().count().max(*width);
            }
        }
        let mut text = String::new();
        for row in &rows {
            let fields: Vec<String> = row
                .iter()
                .zip(widths)
                .enumerate()
                .filter(|(column, _)| *column != 1 || self.has_paper())
                .map(|(_, (field, width))| format!("{field:<width$}"))
                .collect();
            let _ = writeln!(text, "{}", fields.join("  ").trim_end());
        }
        text
    }

    /// Writes `NAME.json`, `FIGURE.svg` for each figure and `index.html` into `directory`, which is made if needed. The page begins
    /// with `purpose`, what the experiment is for.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, directory: &Path, purpose: &str) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let json = serde_json::to_string_pretty(self)?;
        std::fs::write(directory.join(format!("{}.json", self.experiment)), json + "\n")?;
        for figure in &self.figures {
            std::fs::write(
                directory.join(format!("{}.svg", figure.name)),
                figure::svg(figure, &self.origin),
            )?;
        }
        std::fs::write(directory.join("index.html"), page::page(self, purpose, &now()))
    }
}
