//! The tables of `docs/conformance*.md` name tests that exist, and every conformance test of GMM stands in one of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

/// What stands between backticks in a table and names a test: a path from the root, and a function.
fn named() -> BTreeSet<(String, String)> {
    let mut documents = Vec::new();
    below(&root().join("docs"), &mut documents);
    let is_table = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("conformance") && name.ends_with(".md")
    };
    let mut named = BTreeSet::new();
    for document in documents.into_iter().filter(is_table) {
        let text = std::fs::read_to_string(document).unwrap();
        for row in text.lines().filter(|line| line.starts_with('|')) {
            for code in row.split('`').skip(1).step_by(2) {
                if let Some((path, test)) = code.split_once(".rs::") {
                    named.insert((format!("{path}.rs"), test.to_owned()));
                }
            }
        }
    }
    named
}

/// The tests of a file: each function that follows `#[test]`, and the cases of a program without harness.
fn tests_of(path: &Path) -> BTreeSet<String> {
    let Ok(text) = std::fs::read_to_string(path) else { return BTreeSet::new() };
    let mut tests = BTreeSet::new();
    for after in text.split("#[test]").skip(1) {
        let name = after.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
        tests.extend(name.map(|(name, _)| name.to_owned()));
    }
    if text.contains("gannet_testkit::main(") {
        let strings = text.split('(').filter_map(|after| after.trim_start().strip_prefix('"'));
        let names = strings.filter_map(|after| after.split_once("\","));
        tests.extend(names.map(|(name, _)| name.to_owned()));
    }
    tests
}

#[test]
fn every_row_names_a_test_that_exists() {
    let named = named();
    assert!(named.len() > 100, "the tables are there: {}", named.len());
    let missing: Vec<_> = named
        .into_iter()
        .filter(|(path, test)| !tests_of(&root().join(path)).contains(test))
        .map(|(path, test)| format!("{path}::{test}"))
        .collect();
    assert!(missing.is_empty(), "no such tests:\n{}", missing.join("\n"));
}

#[test]
fn every_conformance_test_of_gmm_stands_in_a_row() {
    let named = named();
    let conformance = root().join("crates/proto/tests/conformance/gmm");
    let mut files = Vec::new();
    below(&conformance, &mut files);
    let mut forgotten = Vec::new();
    for file in files {
        let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        for test in tests_of(&file) {
            if !named.contains(&(path.clone(), test.clone())) {
                forgotten.push(format!("{path}::{test}"));
            }
        }
    }
    assert!(forgotten.is_empty(), "in no table:\n{}", forgotten.join("\n"));
}
