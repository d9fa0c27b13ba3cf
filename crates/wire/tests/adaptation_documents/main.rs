//! The manual's tables of octets and the dissector for Wireshark are those of the code. `GANNET_BLESS=1` writes them anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dissector;
mod manual;

use std::path::{Path, PathBuf};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares a file with what it should be, or writes it.
fn hold(path: &Path, wanted: &str) {
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::write(path, wanted).unwrap();
    }
    let is = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        is == wanted,
        "{} is not what the code says: GANNET_BLESS=1 cargo test -p gannet-wire --test adaptation_documents",
        path.file_name().unwrap().to_string_lossy()
    );
}

#[test]
fn the_dissector_is_that_of_the_code() {
    hold(&docs("gannet-adaptation.lua"), &dissector::text());
}

#[test]
fn the_tables_of_the_manual_are_those_of_the_code() {
    let path = docs("bearer-adaptation.md");
    let is = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = is.split_once(manual::BEGIN).expect("the manual marks where the tables begin");
    let (_, behind) = rest.split_once(manual::END).expect("the manual marks where the tables end");
    hold(&path, &[before, manual::BEGIN, &manual::text(), manual::END, behind].concat());
}
