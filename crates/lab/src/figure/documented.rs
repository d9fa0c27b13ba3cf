//! The figures of the documentation: each is drawn from the numbers that stand beside it, and is legible.
//!
//! A run's `NAME.json` has both parts of such a file: `jq '{origin, figure: .figures[0]}' NAME.json`. With `GANNET_BLESS=1` the test
//! draws them anew.

use super::{Figure, check, svg};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A file of numbers.
#[derive(Debug, Deserialize)]
struct Numbers {
    origin: String,
    figure: Figure,
}

/// The files of `docs/figures` with this ending, in order.
fn files(ending: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures");
    let all = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|is| is == ending)).collect();
    files.sort();
    files
}

#[test]
fn figures_of_the_documentation_are_legible_and_those_of_their_numbers() {
    let numbers = files("json");
    assert!(!numbers.is_empty());
    for path in &numbers {
        let text = std::fs::read_to_string(path).unwrap();
        let Numbers { origin, figure } =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem(), Some(figure.name.as_ref()));
        let (drawing, drawn) = (path.with_extension("svg"), svg(&figure, &origin));
        if std::env::var_os("GANNET_BLESS").is_some() {
            std::fs::write(&drawing, &drawn).unwrap();
        }
        let there = std::fs::read_to_string(&drawing).unwrap();
        assert!(there == drawn, "{} is not what its numbers draw", drawing.display());
    }
    let drawings = files("svg");
    for drawing in &drawings {
        let there = std::fs::read_to_string(drawing).unwrap();
        check::legible(&there).unwrap_or_else(|why| panic!("{}: {why}", drawing.display()));
    }
    let of_numbers: Vec<PathBuf> = numbers.iter().map(|path| path.with_extension("svg")).collect();
    assert_eq!(drawings, of_numbers, "each has numbers beside it");
}
