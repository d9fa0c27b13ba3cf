//! What an experiment takes and gives: options, cells, verdicts, and the files of a run.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

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
}

/// One point of an experiment: where it stands on each axis, and what was measured there.
#[derive(Debug, Clone, Serialize)]
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

/// One claim, and whether this run bears it out.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The claim.
    pub name: String,
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
    pub const fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not shown",
        }
    }
}

/// The machine on which a run was made.
#[derive(Debug, Clone, Serialize)]
pub struct MachineInfo {
    /// Processors.
    pub cores: usize,
    /// The processor's own name.
    pub cpu: String,
    /// Kernel release.
    pub kernel: String,
}

impl MachineInfo {
    /// This machine.
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
        }
    }
}

/// A figure: its file name without ending, its caption, and the SVG.
#[derive(Debug, Clone)]
pub struct Figure {
    /// File name without `.svg`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// What a run gives.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The experiment's name.
    pub experiment: String,
    /// Its seed.
    pub seed: u64,
    /// `None` for a simulated run: its octets do not depend on the machine.
    pub machine: Option<MachineInfo>,
    /// The points.
    pub cells: Vec<Cell>,
    /// The claims.
    pub verdicts: Vec<Verdict>,
    /// The figures, written beside the JSON.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// What is known of this run alone (wall-clock time), printed and not written: it is not reproducible.
    #[serde(skip)]
    pub remarks: Vec<String>,
}

impl Report {
    /// True when every claim holds. One that is not shown does not.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds == Some(true))
    }

    /// The table for a person: paper, ours, goal, holds.
    #[must_use]
    pub fn table(&self) -> String {
        let row = |v: &Verdict| {
            let paper = v.paper.clone().unwrap_or_else(|| "-".to_owned());
            [v.name.clone(), paper, v.ours.clone(), v.goal.clone(), v.word().to_owned()]
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
            let fields: Vec<String> =
                row.iter().zip(widths).map(|(field, width)| format!("{field:<width$}")).collect();
            let _ = writeln!(text, "{}", fields.join("  ").trim_end());
        }
        text
    }

    /// Writes `NAME.json`, `FIGURE.svg` for each figure and `index.html` into `directory`, which is made if needed.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let json = serde_json::to_string_pretty(self)?;
        std::fs::write(directory.join(format!("{}.json", self.experiment)), json + "\n")?;
        for figure in &self.figures {
            std::fs::write(directory.join(format!("{}.svg", figure.name)), &figure.svg)?;
        }
        std::fs::write(directory.join("index.html"), self.page())
    }

    fn page(&self) -> String {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let mut page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n<style>\
             body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}\
             td,th{{text-align:left;padding:.2rem .8rem;border-bottom:1px solid #ccc}}\
             .no{{color:#b00020;font-weight:bold}}img{{max-width:100%}}</style>\n<h1>{0}</h1>\n<p>Seed {1}. ",
            escape(&self.experiment),
            self.seed
        );
        match &self.machine {
            Some(m) => {
                let _ = writeln!(
                    page,
                    "{} cores of {}, Linux {}.</p>",
                    m.cores,
                    escape(&m.cpu),
                    escape(&m.kernel)
                );
            }
            None => page.push_str("Simulated: the same seed gives the same octets on every machine.</p>\n"),
        }
        page.push_str("<table><tr><th></th><th>paper</th><th>ours</th><th>goal</th><th>holds</th></tr>\n");
        for v in &self.verdicts {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td{}</td></tr>",
                escape(&v.name),
                escape(v.paper.as_deref().unwrap_or("–")),
                escape(&v.ours),
                escape(&v.goal),
                match v.holds {
                    Some(true) => ">yes",
                    Some(false) => " class=\"no\">no",
                    None => ">not shown",
                }
            );
        }
        page.push_str("</table>\n");
        for figure in &self.figures {
            let _ = writeln!(
                page,
                "<figure><img src=\"{0}.svg\" alt=\"{1}\"><figcaption>{1}</figcaption></figure>",
                figure.name,
                escape(&figure.caption)
            );
        }
        let _ =
            writeln!(page, "<p>All numbers: <a href=\"{0}.json\">{0}.json</a></p></html>", self.experiment);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_a_failed_claim_shows() {
        let verdict = |name: &str, holds| Verdict {
            name: name.to_owned(),
            paper: None,
            ours: "1".to_owned(),
            goal: "2".to_owned(),
            holds,
        };
        let report = Report {
            experiment: "x".to_owned(),
            seed: 1,
            machine: None,
            cells: vec![],
            verdicts: vec![
                verdict("short", Some(true)),
                verdict("a longer one", Some(false)),
                verdict("unknown", None),
            ],
            figures: vec![],
            remarks: vec![],
        };
        assert!(!report.holds());
        let table = report.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[1], "short         -      1     2     yes");
        assert_eq!(lines[2], "a longer one  -      1     2     NO");
        assert_eq!(lines[3], "unknown       -      1     2     not shown");
        assert!(report.page().contains("<td>not shown</td>"));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json.pointer("/verdicts/2/holds"), Some(&serde_json::Value::Null));
        let strictly = |holds| Report { verdicts: vec![verdict("x", holds)], ..report.clone() }.holds();
        assert_eq!([Some(true), Some(false), None].map(strictly), [true, false, false]);
        assert!(report.page().contains("class=\"no\">no"));
    }
}
