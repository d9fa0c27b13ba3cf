//! No crate of Cargo.lock has a security advisory of RustSec against its version.
//!
//! With `GANNET_ADVISORY_DB`, a checkout of RustSec's advisory-db (`scripts/advisories` fetches one), the whole database is
//! asked, and with `GANNET_BLESS` what it says of our crates is written to `advisories.txt`. Without it that file is asked,
//! which knows nothing of what came later than it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# What RustSec's advisory-db says of the crates of Cargo.lock, for machines that cannot fetch it. Written by
# `GANNET_BLESS=1 scripts/advisories`; see CONTRIBUTING.md.
# CRATE ID: versions that are safe, requirements separated by ';', each of comparisons that hold together.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn snapshot() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("advisories.txt")
}

/// One advisory: which versions of a crate it does not concern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Advisory {
    package: String,
    id: String,
    safe: Vec<String>,
}

/// Major, minor, patch, and whether it is a release.
type Version = (u64, u64, u64, bool);

fn version(text: &str) -> Version {
    let text = text.trim().split('+').next().unwrap();
    let (numbers, release) = text.split_once('-').map_or((text, true), |(numbers, _)| (numbers, false));
    let mut parts = numbers.split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap_or(0), parts.next().unwrap_or(0), release)
}

/// Whether a version meets a requirement of comparisons that are separated by commas.
fn meets(of: Version, requirement: &str) -> bool {
    requirement.split(',').map(str::trim).all(|comparison| {
        let split = comparison.find(|c: char| c.is_ascii_digit()).unwrap();
        let (operator, bound) = (comparison[..split].trim(), version(&comparison[split..]));
        match operator {
            ">=" => of >= bound,
            ">" => of > bound,
            "<" => of < bound,
            "<=" => of <= bound,
            "=" => of == bound,
            // As in a manifest: the first number that is not 0 stays as it is.
            "^" | "" if bound.0 > 0 => of >= bound && of.0 == bound.0,
            "^" | "" if bound.1 > 0 => of >= bound && (of.0, of.1) == (0, bound.1),
            "^" | "" => of == bound,
            "~" => of >= bound && (of.0, of.1) == (bound.0, bound.1),
            other => panic!("'{other}' in '{requirement}'"),
        }
    })
}

/// Crates from a registry with their versions.
fn locked() -> Vec<(String, Version)> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let value = |block: &str, name: &str| {
        let line =
            block.lines().find_map(|line| line.strip_prefix(&format!("{name} = \""))?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let packages = lock.split("[[package]]").skip(1).filter(|block| block.contains("\nsource = "));
    packages
        .map(|block| (value(block, "name").unwrap(), version(&value(block, "version").unwrap())))
        .collect()
}

/// The advisories of a checkout that speak of one of these crates and were not withdrawn.
fn of_database(database: &Path, crates: &[(String, Version)]) -> Vec<Advisory> {
    let mut all = Vec::new();
    for (package, _) in crates {
        let Ok(entries) = std::fs::read_dir(database.join("crates").join(package)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let id = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.extension().is_none_or(|extension| extension != "md") || id.contains("-0000-") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            all.extend(advisory(package, id, &text));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// From the front matter; `None` where it was withdrawn.
fn advisory(package: &str, id: String, text: &str) -> Option<Advisory> {
    let toml = text.split("```").nth(1).unwrap();
    if toml.lines().any(|line| line.starts_with("withdrawn")) {
        return None;
    }
    let list = |name: &str| -> Vec<String> {
        let Some((_, rest)) = toml.split_once(&format!("\n{name} = [")) else { return Vec::new() };
        let inner = rest.split(']').next().unwrap();
        inner.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    Some(Advisory {
        package: package.to_owned(),
        id,
        safe: list("patched").into_iter().chain(list("unaffected")).collect(),
    })
}

fn of_snapshot(text: &str) -> Vec<Advisory> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parse = |line: &str| {
        let (name, safe) = line.split_once(':').unwrap();
        let (package, id) = name.split_once(' ').unwrap();
        let safe = safe.split(';').map(|requirement| requirement.trim().to_owned());
        Advisory {
            package: package.to_owned(),
            id: id.to_owned(),
            safe: safe.filter(|requirement| !requirement.is_empty()).collect(),
        }
    };
    lines.map(parse).collect()
}

fn write_snapshot(all: &[Advisory]) {
    let newest = all.iter().map(|advisory| advisory.id.as_str()).max().unwrap_or("none");
    let mut text = HEAD.to_owned();
    writeln!(text, "# The newest here: {newest}").unwrap();
    for Advisory { package, id, safe } in all {
        writeln!(text, "{package} {id}: {}", safe.join("; ")).unwrap();
    }
    std::fs::write(snapshot(), text).unwrap();
}

#[test]
fn no_advisory_is_against_a_crate_that_is_used() {
    let crates = locked();
    assert!(crates.len() > 50, "Cargo.lock was read");
    let database = std::env::var_os("GANNET_ADVISORY_DB").map(PathBuf::from);
    let all = match &database {
        Some(database) => of_database(database, &crates),
        None => of_snapshot(&std::fs::read_to_string(snapshot()).unwrap()),
    };
    assert!(all.len() >= 15, "the advisories were read: {}", all.len());
    if database.is_some() && std::env::var_os("GANNET_BLESS").is_some() {
        write_snapshot(&all);
    }
    let mut by_package: BTreeMap<&str, Vec<&Advisory>> = BTreeMap::new();
    for advisory in &all {
        by_package.entry(&advisory.package).or_default().push(advisory);
    }
    let against = |(name, version): &(String, Version)| {
        let of_crate = by_package.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let unsafe_for = |advisory: &&&Advisory| !advisory.safe.iter().any(|safe| meets(*version, safe));
        of_crate
            .iter()
            .filter(unsafe_for)
            .map(|found| format!("{name} {version:?}: {}", found.id))
            .collect::<Vec<_>>()
    };
    let found: Vec<String> = crates.iter().flat_map(against).collect();
    assert!(found.is_empty(), "see https://rustsec.org/advisories:\n{}", found.join("\n"));
}

#[test]
fn requirements_are_understood() {
    for (of, requirement, expected) in [
        ("1.11.0", ">= 1.11.1", false),
        ("1.11.1", ">= 1.11.1", true),
        ("0.9.3", "< 0.10.0, >= 0.9.3", true),
        ("0.10.0", "< 0.10.0, >= 0.9.3", false),
        ("1.2", "< 1.2.1", true),
        ("0.7.31", "^0.7.3", true),
        ("0.8.0", "^0.7.3", false),
        ("2.0.0", "^1.4", false),
        ("1.0.0-rc.1", ">= 1.0.0", false),
        ("1.2.9", "~1.2.3", true),
        ("1.2.3+build.5", "= 1.2.3", true),
    ] {
        assert_eq!(meets(version(of), requirement), expected, "{of} {requirement}");
    }
}

#[test]
fn an_advisory_is_read_from_its_front_matter() {
    let text = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\n\n[versions]\npatched = [\">= 1.2\", \"< 1.0, >= 0.9.3\"]\n\
                unaffected = [\"< 0.7.0\"]\n```\n\n# It is\n";
    let safe = [">= 1.2", "< 1.0, >= 0.9.3", "< 0.7.0"].map(str::to_owned).to_vec();
    let read = Advisory { package: "x".to_owned(), id: "RUSTSEC-2026-0001".to_owned(), safe };
    assert_eq!(advisory("x", read.id.clone(), text), Some(read.clone()));
    assert_eq!(of_snapshot("# a remark\nx RUSTSEC-2026-0001: >= 1.2; < 1.0, >= 0.9.3; < 0.7.0\n"), [read]);
    let withdrawn = text.replace("[versions]", "withdrawn = \"2026-02-01\"\n[versions]");
    assert_eq!(advisory("x", "RUSTSEC-2026-0001".to_owned(), &withdrawn), None);
    // Nothing is safe where no version was patched.
    let none = of_snapshot("y RUSTSEC-2026-0002: \n");
    assert!(none[0].safe.is_empty());
}
