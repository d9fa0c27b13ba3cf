//! Every crate that the workspace and the fuzz targets are built from has a licence of deny.toml's list.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_testkit::Need;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const WORKSPACE: &str = "Cargo.toml";
/// A workspace of its own, with a Cargo.lock of its own.
const FUZZ: &str = "fuzz/Cargo.toml";

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("licences_are_on_the_list", &[], || assert_on_the_list(WORKSPACE)),
        ("licences_of_the_fuzz_targets_are_on_the_list", &[Need::That(fuzz_crates)], || {
            assert_on_the_list(FUZZ);
        }),
    ])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Package and licence, a line each.
fn tree(manifest: &str) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--workspace", "--edges", "normal,build,dev", "--prefix", "none"]);
    command.args(["--format", "{p}|{l}", "--offline", "--locked", "--manifest-path", manifest]);
    let output = command.current_dir(root()).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The crates of the fuzz targets alone need not be here; anything else is no reason to skip.
fn fuzz_crates() -> Option<String> {
    let error = tree(FUZZ).err()?;
    error.contains("but --offline was specified").then(|| {
        "the crates of the fuzz targets are not here: cargo fetch --manifest-path fuzz/Cargo.toml".to_owned()
    })
}

fn assert_on_the_list(manifest: &str) {
    let deny = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let allowed = deny.split("allow = [").nth(1).unwrap().split(']').next().unwrap();
    let allowed: Vec<&str> = allowed.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let tree = tree(manifest).unwrap_or_else(|error| panic!("{error}"));
    let mut licences = BTreeMap::new();
    for line in tree.lines() {
        let Some((package, licence)) = line.trim_end_matches(" (*)").split_once('|') else { continue };
        licences.insert(package.to_owned(), licence.trim_end_matches(" (*)").to_owned());
    }
    assert!(licences.len() > 10, "the tree was read");
    let acceptable = |licence: &str| {
        let licence = licence.replace(['(', ')'], "").replace('/', " OR ");
        licence.split(" OR ").any(|choice| choice.split(" AND ").all(|one| allowed.contains(&one.trim())))
    };
    let broken: Vec<String> = licences
        .iter()
        .filter(|(_, licence)| !acceptable(licence))
        .map(|(package, licence)| format!("{package}: {licence}"))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
