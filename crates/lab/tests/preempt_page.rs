//! `docs/lab/preempt.md` says what runs gave: its tables are those of the cells in `docs/lab/preempt*.json`.
//!
//! `scripts/preempt-page` makes the runs, and has this test write all anew: with `GANNET_BLESS=1` the tables are written, and with
//! `GANNET_RUNS=DIRECTORY` first the cells and figures of the runs' own files there are taken over.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_lab::figure::{self, Figure};
use gannet_lab::preempt::table;
use gannet_lab::report::{Cell, Verdict};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Pages with tables of runs.
const PAGES: [&str; 2] = ["preempt.md", "preempt-matrix.md"];
/// Experiments whose runs are kept. The last needs a machine's clock, and may be missing.
const RUNS: [&str; 3] = ["preempt", "preempt-erlang", "preempt-kernel"];

/// What of a run's file is kept: all but its figures, which stand in `docs/figures`.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    origin: String,
    parameters: Vec<(String, String)>,
    verdicts: Vec<Verdict>,
    cells: Vec<Cell>,
}

/// A run's file.
#[derive(Debug, Deserialize)]
struct Whole {
    #[serde(flatten)]
    kept: Kept,
    figures: Vec<Figure>,
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn blesses() -> bool {
    std::env::var_os("GANNET_BLESS").is_some()
}

impl Kept {
    fn read(run: &str) -> Option<Self> {
        let text = std::fs::read_to_string(docs().join("lab").join(format!("{run}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// One line for each claim and cell.
    fn write(&self, run: &str) {
        let lines = |values: Vec<String>| values.join(",\n");
        let cells = lines(self.cells.iter().map(|cell| serde_json::to_string(cell).unwrap()).collect());
        let verdicts = lines(self.verdicts.iter().map(|one| serde_json::to_string(one).unwrap()).collect());
        let text = format!(
            "{{\"origin\":{},\n\"parameters\":{},\n\"verdicts\":[\n{verdicts}\n],\n\"cells\":[\n{cells}\n]}}\n",
            serde_json::to_string(&self.origin).unwrap(),
            serde_json::to_string(&self.parameters).unwrap(),
        );
        std::fs::write(docs().join("lab").join(format!("{run}.json")), text).unwrap();
    }
}

/// Takes over the files of runs.
fn take_over(directory: &Path) {
    for run in RUNS {
        let Ok(text) = std::fs::read_to_string(directory.join(format!("{run}.json"))) else { continue };
        let Whole { kept, figures } = serde_json::from_str(&text).unwrap();
        kept.write(run);
        for figure in figures {
            let path = docs().join("figures").join(&figure.name);
            let numbers = serde_json::json!({ "origin": kept.origin, "figure": figure }).to_string();
            // A point in a line.
            std::fs::write(path.with_extension("json"), numbers.replace("},{", "},\n{") + "\n").unwrap();
            std::fs::write(path.with_extension("svg"), figure::svg(&figure, &kept.origin)).unwrap();
        }
    }
}

/// The table of a name, or `None` where its run is not kept.
fn section(name: &str) -> Option<String> {
    let of = |run: &str, table: &dyn Fn(&Kept) -> String| {
        let kept = Kept::read(run)?;
        Some(format!("{}\n{}", kept.origin, table(&kept)))
    };
    match name {
        "runs" => of("preempt", &|kept| format!("\n{}", table::runs(&table::of_the_study(&kept.cells)))),
        "events" => of("preempt", &|kept| format!("\n{}", table::events(&table::of_the_study(&kept.cells)))),
        "claims" => of("preempt", &|kept| format!("\n{}", table::claims(&kept.verdicts))),
        "others" => of("preempt", &|kept| format!("\n{}", table::others(&kept.cells))),
        "all runs" => of("preempt", &|kept| format!("\n{}", table::runs(&kept.cells))),
        "all events" => of("preempt", &|kept| format!("\n{}", table::events(&kept.cells))),
        "erlang" => of("preempt-erlang", &|kept| format!("\n{}", table::erlang(&kept.cells))),
        "erlang claims" => of("preempt-erlang", &|kept| format!("\n{}", table::claims(&kept.verdicts))),
        "kernel runs" => of("preempt-kernel", &|kept| format!("\n{}", table::real_runs(&kept.cells))),
        "kernel events" => of("preempt-kernel", &|kept| format!("\n{}", table::real_events(&kept.cells))),
        "kernel claims" => of("preempt-kernel", &|kept| format!("\n{}", table::claims(&kept.verdicts))),
        "kernel sentences" => of("preempt-kernel", &|kept| format!("\n{}", table::explained(&kept.cells))),
        _ => panic!("no table is called '{name}'"),
    }
}

/// A page with the tables of the runs between `<!-- table: NAME -->` and `<!-- end -->`; and how many they are.
fn filled(page: &str) -> (String, usize) {
    let (mut text, mut rest, mut tables) = (String::new(), page, 0);
    while let Some((before, behind)) = rest.split_once("<!-- table: ") {
        let (name, behind) = behind.split_once(" -->\n").unwrap();
        let (old, behind) = behind.split_once("<!-- end -->").unwrap();
        let table = section(name).map_or_else(|| old.to_owned(), |table| format!("\n{table}\n"));
        let _ = write!(text, "{before}<!-- table: {name} -->\n{table}<!-- end -->");
        (rest, tables) = (behind, tables + 1);
    }
    (text + rest, tables)
}

#[test]
fn tables_of_the_page_are_those_of_the_runs() {
    if let Some(directory) = std::env::var_os("GANNET_RUNS").filter(|_| blesses()) {
        take_over(Path::new(&directory));
    }
    for name in PAGES {
        let path = docs().join("lab").join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        let (filled, tables) = filled(&page);
        assert!(tables > 0, "{name} has no table");
        if blesses() {
            std::fs::write(&path, &filled).unwrap();
            continue;
        }
        let difference = (1..).zip(page.lines().zip(filled.lines())).find(|(_, (is, should))| is != should);
        assert!(page == filled, "{name}: the first difference: {difference:?}");
    }
}

#[test]
fn a_table_stands_between_its_marks() {
    let page = "a\n<!-- table: runs -->\nBEFORE\n<!-- end -->\nb <!-- table: claims -->\n<!-- end -->";
    let (filled, tables) = filled(page);
    assert_eq!(tables, 2);
    assert!(filled.starts_with("a\n<!-- table: runs -->\n\nRun: gannet lab run preempt "), "{filled}");
    assert!(
        !filled.contains("BEFORE") && filled.contains("<!-- end -->\nb <!-- table: claims -->"),
        "{filled}"
    );
    assert!(filled.ends_with("<!-- end -->"), "{filled}");
}
