//! No crate of Cargo.lock and of fuzz/Cargo.lock has a security advisory of RustSec against its version.
//!
//! With `GANNET_ADVISORY_DB`, a checkout of RustSec's advisory-db (`scripts/advisories` fetches one), the whole database is
//! asked, and with `GANNET_BLESS` what it says of our crates is written to `advisories.txt`. Without it that file is asked,
//! which knows nothing of what came later than it says, and of no crate that was not asked about when it was written.
//! `GANNET_BLESS` without the database takes crates off that file that are used no more, and lists new ones as not asked about.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_testkit::Need;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::var_os("GANNET_BLESS").is_some() {
        let crates = locked();
        let all = match database() {
            Some(database) => Snapshot::of_database(&database, &crates),
            None => Snapshot::of_file().fitted_to(&crates),
        };
        std::fs::write(snapshot(), all.write()).unwrap();
    }
    gannet_testkit::main(&[
        ("no_advisory_is_against_a_crate_that_is_used", &[], no_advisory_is_against_a_crate_that_is_used),
        ("every_crate_is_listed", &[], every_crate_is_listed),
        ("no_crate_is_listed_that_is_not_used", &[], no_crate_is_listed_that_is_not_used),
        ("without_the_database_the_list_is_fitted", &[], without_the_database_the_list_is_fitted),
        ("every_crate_was_asked_about", &[Need::That(not_asked_about)], every_crate_was_asked_about),
        ("the_list_is_as_it_is_written", &[], the_list_is_as_it_is_written),
        ("requirements_are_understood", &[], requirements_are_understood),
        ("an_advisory_is_read_from_its_front_matter", &[], an_advisory_is_read_from_its_front_matter),
    ])
}

const HEAD: &str = "\
# What RustSec's advisory-db says of the crates of Cargo.lock and fuzz/Cargo.lock, for machines that cannot fetch it. Written
# by `GANNET_BLESS=1 scripts/advisories`; see CONTRIBUTING.md.
#
# A crate that has no advisory stands under 'asked about' alone. One that was not looked up stands under 'not asked about', and
# counts as skipped. Advisories are CRATE ID: versions that are safe, requirements separated by ';', each of comparisons that
# hold together.
";
const ASKED: &str = "[asked about]";
const NOT_ASKED: &str = "[not asked about]";
const ADVISORIES: &str = "[advisories]";
const REFRESH: &str = "run `GANNET_BLESS=1 scripts/advisories` where RustSec's database can be fetched, and commit \
                       crates/testkit/advisories.txt";

fn database() -> Option<PathBuf> {
    std::env::var_os("GANNET_ADVISORY_DB").map(PathBuf::from)
}

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

/// Crates from a registry with their versions, of the workspace and of the fuzz targets.
fn locked() -> BTreeSet<(String, Version)> {
    let value = |block: &str, name: &str| {
        let line =
            block.lines().find_map(|line| line.strip_prefix(&format!("{name} = \""))?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let mut all = BTreeSet::new();
    for file in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let lock = std::fs::read_to_string(root().join(file)).unwrap();
        let packages = lock.split("[[package]]").skip(1).filter(|block| block.contains("\nsource = "));
        let of_block =
            |block: &str| (value(block, "name").unwrap(), version(&value(block, "version").unwrap()));
        let packages: Vec<_> = packages.map(of_block).collect();
        assert!(packages.len() > 20, "{file} was read");
        all.extend(packages);
    }
    all
}

/// The advisories of a checkout that speak of one of these crates and were not withdrawn.
fn of_database(database: &Path, crates: &BTreeSet<(String, Version)>) -> Vec<Advisory> {
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

impl Advisory {
    /// From a line of the list.
    fn read(line: &str) -> Self {
        let (name, safe) = line.split_once(':').unwrap();
        let (package, id) = name.split_once(' ').unwrap();
        let safe = safe.split(';').map(|requirement| requirement.trim().to_owned());
        Self {
            package: package.to_owned(),
            id: id.to_owned(),
            safe: safe.filter(|requirement| !requirement.is_empty()).collect(),
        }
    }
}

/// What the list remembers of the database.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    /// Crates that were looked up.
    asked: BTreeSet<String>,
    /// Crates that were not.
    not_asked: BTreeSet<String>,
    advisories: Vec<Advisory>,
}

impl Snapshot {
    fn of_database(database: &Path, crates: &BTreeSet<(String, Version)>) -> Self {
        let asked = crates.iter().map(|(name, _)| name.clone()).collect();
        Self { asked, not_asked: BTreeSet::new(), advisories: of_database(database, crates) }
    }

    /// Without crates that are used no more; with those that nobody has looked up.
    fn fitted_to(mut self, crates: &BTreeSet<(String, Version)>) -> Self {
        let used: BTreeSet<String> = crates.iter().map(|(name, _)| name.clone()).collect();
        self.asked.retain(|name| used.contains(name));
        self.advisories.retain(|advisory| used.contains(&advisory.package));
        self.not_asked = &used - &self.asked;
        self
    }

    fn of_file() -> Self {
        Self::read(&std::fs::read_to_string(snapshot()).unwrap())
    }

    fn read(text: &str) -> Self {
        let mut all = Self::default();
        let mut section = "";
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match (section, line) {
                (_, ASKED | NOT_ASKED | ADVISORIES) => section = line,
                (ASKED, name) => assert!(all.asked.insert(name.to_owned()), "{name} stands there twice"),
                (NOT_ASKED, name) => {
                    assert!(!all.asked.contains(name) && all.not_asked.insert(name.to_owned()), "{name}");
                }
                (ADVISORIES, line) => all.advisories.push(Advisory::read(line)),
                (_, line) => panic!("'{line}' stands in no section"),
            }
        }
        all
    }

    fn write(&self) -> String {
        let mut text = HEAD.to_owned();
        for (section, names) in [(ASKED, &self.asked), (NOT_ASKED, &self.not_asked)] {
            writeln!(text, "\n{section}").unwrap();
            names.iter().for_each(|name| writeln!(text, "{name}").unwrap());
        }
        let newest = self.advisories.iter().map(|advisory| advisory.id.as_str()).max().unwrap_or("none");
        writeln!(text, "\n{ADVISORIES}\n# The newest against a crate of ours: {newest}").unwrap();
        for Advisory { package, id, safe } in &self.advisories {
            writeln!(text, "{package} {id}: {}", safe.join("; ")).unwrap();
        }
        text
    }
}

/// Which of our crates the list says nothing of, since nobody has looked them up; none where the database itself is asked.
fn not_asked_about() -> Option<String> {
    if database().is_some() {
        return None;
    }
    let Snapshot { not_asked, .. } = Snapshot::of_file();
    let names: BTreeSet<String> =
        locked().into_iter().map(|(name, _)| name).filter(|name| not_asked.contains(name)).collect();
    let list = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("{} crates were not asked about: {list}; {REFRESH}", names.len()))
}

/// Our crates that are in none of these sets.
fn absent(sets: &[&BTreeSet<String>]) -> Vec<String> {
    let is_absent = |name: &String| !sets.iter().any(|set| set.contains(name));
    locked().into_iter().map(|(name, _)| name).filter(is_absent).collect()
}

fn every_crate_is_listed() {
    let Snapshot { asked, not_asked, .. } = Snapshot::of_file();
    let absent = absent(&[&asked, &not_asked]);
    assert!(absent.is_empty(), "{} not in crates/testkit/advisories.txt: {REFRESH}", absent.join(", "));
}

fn no_crate_is_listed_that_is_not_used() {
    let all = Snapshot::of_file();
    let fitted = Snapshot::of_file().fitted_to(&locked());
    let listed = &all.asked | &all.not_asked;
    let gone: Vec<String> = (&listed - &(&fitted.asked | &fitted.not_asked)).into_iter().collect();
    assert!(gone.is_empty(), "{} not used: run `GANNET_BLESS=1 scripts/advisories`", gone.join(", "));
    assert_eq!(all.advisories, fitted.advisories);
}

fn without_the_database_the_list_is_fitted() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let of = |package: &str| Advisory { package: package.to_owned(), id: "1".to_owned(), safe: Vec::new() };
    let advisories = vec![of("gone"), of("used")];
    let all =
        Snapshot { asked: names(&["gone", "used"]), not_asked: names(&["gone too", "later"]), advisories };
    let crates = ["later", "new", "used"].map(|name| (name.to_owned(), version("1.0"))).into();
    let (asked, not_asked) = (names(&["used"]), names(&["later", "new"]));
    assert_eq!(all.fitted_to(&crates), Snapshot { asked, not_asked, advisories: vec![of("used")] });
}

fn every_crate_was_asked_about() {
    let Snapshot { asked, not_asked, .. } = Snapshot::of_file();
    // The database has just been asked about all of them.
    let others = if database().is_some() { not_asked } else { BTreeSet::new() };
    let absent = absent(&[&asked, &others]);
    assert!(absent.is_empty(), "{} not asked about: {REFRESH}", absent.join(", "));
}

fn the_list_is_as_it_is_written() {
    let text = std::fs::read_to_string(snapshot()).unwrap();
    let all = Snapshot::read(&text);
    assert_eq!(all.write(), text);
    let advisories = vec![Advisory::read("x RUSTSEC-2026-0001: >= 1.2; < 1.0, >= 0.9.3")];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let all = Snapshot { asked: names(&["x", "y"]), not_asked: names(&["z"]), advisories };
    assert_eq!(Snapshot::read(&all.write()), all);
    assert!(all.write().contains("\n# The newest against a crate of ours: RUSTSEC-2026-0001\n"));
}

fn no_advisory_is_against_a_crate_that_is_used() {
    let crates = locked();
    assert!(crates.len() > 50, "Cargo.lock was read");
    let all = match database() {
        Some(database) => of_database(&database, &crates),
        None => Snapshot::of_file().advisories,
    };
    assert!(all.len() >= 10, "the advisories were read: {}", all.len());
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

fn an_advisory_is_read_from_its_front_matter() {
    let text = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\n\n[versions]\npatched = [\">= 1.2\", \"< 1.0, >= 0.9.3\"]\n\
                unaffected = [\"< 0.7.0\"]\n```\n\n# It is\n";
    let safe = [">= 1.2", "< 1.0, >= 0.9.3", "< 0.7.0"].map(str::to_owned).to_vec();
    let read = Advisory { package: "x".to_owned(), id: "RUSTSEC-2026-0001".to_owned(), safe };
    assert_eq!(advisory("x", read.id.clone(), text), Some(read.clone()));
    assert_eq!(Advisory::read("x RUSTSEC-2026-0001: >= 1.2; < 1.0, >= 0.9.3; < 0.7.0"), read);
    let withdrawn = text.replace("[versions]", "withdrawn = \"2026-02-01\"\n[versions]");
    assert_eq!(advisory("x", "RUSTSEC-2026-0001".to_owned(), &withdrawn), None);
    // Nothing is safe where no version was patched.
    assert!(Advisory::read("y RUSTSEC-2026-0002: ").safe.is_empty());
}
