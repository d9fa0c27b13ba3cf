//! The rules of the house that no compiler knows, read from the sources.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Which crates of ours a crate may depend upon (outside its tests). The order is the order of the layers.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("machine", &[]),
    ("qos", &["machine"]),
    ("proto", &["wire", "machine", "qos"]),
    ("node", &["wire", "machine", "qos", "proto"]),
    ("sim", &["machine", "proto", "node"]),
    ("trace", &["wire"]),
    ("figure", &[]),
    ("analysis", &["wire", "machine", "proto", "figure"]),
    ("view", &["analysis"]),
    ("ops", &["wire", "machine", "proto"]),
    ("demux", &["wire", "machine", "qos", "proto"]),
    ("rt", &["wire", "machine", "qos", "proto", "trace", "demux"]),
    ("rig", &["machine", "demux", "rt"]),
    (
        "lab",
        &[
            "wire", "machine", "qos", "proto", "node", "sim", "rt", "ops", "demux", "rig", "trace",
            "analysis", "figure",
        ],
    ),
    (
        "gannet",
        &[
            "wire", "machine", "qos", "proto", "node", "sim", "ops", "rt", "lab", "demux", "analysis",
            "view", "figure",
        ],
    ),
    ("testkit", &[]),
];

/// Crates that never touch the outside: no clock, no dice, no sockets, no files, no threads.
const PURE: &[&str] = &["wire", "machine", "qos", "proto", "node", "sim"];
const IMPURE_WORDS: &[&str] = &[
    "std::time",
    "std::net",
    "std::thread",
    "std::fs",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime",
    "rand::rng",
    "thread_rng",
    "RandomState::new()",
    "println!",
    "eprintln!",
];

/// Crates whose reason is the kernel, and which alone may say `unsafe`.
const MAY_BE_UNSAFE: &[&str] = &["rt", "demux", "rig"];

const FILE_LINES_MAX: usize = 650;
const FUNCTION_LINES_MAX: usize = 80;
/// A test may be one long list of fields.
const TEST_LINES_MAX: usize = 130;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with(".git") && !path.ends_with("out") {
                walk(&path, found);
            }
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn files(below: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    walk(below, &mut found);
    found
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.strip_prefix(root()).unwrap_or(&path).to_path_buf(), text)
        })
        .collect()
}

fn sources_of(name: &str) -> Vec<(PathBuf, String)> {
    files(&root().join("crates").join(name).join("src"), "rs")
}

/// The text before its unit tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// Files and directories that exist for tests alone: integration tests, and modules declared with `#[cfg(test)]`.
fn test_modules(all: &[(PathBuf, String)]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for (path, text) in all {
        let parent = path.parent().unwrap_or(Path::new(""));
        let own = path.file_stem().unwrap_or_default();
        let directory = if own == "mod" || own == "lib" || own == "main" {
            parent.to_path_buf()
        } else {
            parent.join(own)
        };
        let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|behind| {
            let (visibility, name) = behind.split_once("mod ")?;
            (visibility.is_empty() || visibility.starts_with("pub") && !visibility.contains('\n'))
                .then_some(name)
        });
        for declared in declared {
            if let Some((name, _)) = declared.split_once(';').filter(|(name, _)| !name.contains('{')) {
                found.insert(directory.join(name));
                found.insert(directory.join(format!("{name}.rs")));
            }
        }
    }
    found
}

fn is_test(path: &Path, modules: &BTreeSet<PathBuf>) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.ancestors().any(|part| modules.contains(part))
}

fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//")).map(|(line, n)| (n, line))
}

fn report(broken: &str) {
    assert!(broken.is_empty(), "\n{broken}");
}

/// What stands under `[dependencies]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    section.lines().filter_map(|line| line.split(['.', ' ']).next()).filter(|name| !name.is_empty())
}

#[test]
fn crates_depend_only_downwards_and_on_what_they_use() {
    let mut broken = String::new();
    let mut seen = Vec::new();
    for (path, manifest) in
        files(&root().join("crates"), "toml").iter().filter(|(p, _)| p.ends_with("Cargo.toml"))
    {
        let name = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let Some((_, may)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            writeln!(broken, "{}: crate {name} is not in the list of layers", path.display()).unwrap();
            continue;
        };
        let code: String = sources_of(&name).into_iter().map(|(_, text)| text).collect();
        let mut used = BTreeSet::new();
        for dependency in dependencies(manifest) {
            if !code.contains(&dependency.replace('-', "_")) {
                writeln!(broken, "{name} does not use {dependency}").unwrap();
            }
            used.extend(dependency.strip_prefix("gannet-").map(str::to_owned));
        }
        let may: BTreeSet<String> = may.iter().map(|&used| used.to_owned()).collect();
        for used in used.difference(&may) {
            writeln!(broken, "{name} may not depend on {used}").unwrap();
        }
        for unused in may.difference(&used) {
            writeln!(broken, "{name} may depend on {unused} and does not").unwrap();
        }
        seen.push(name);
    }
    assert_eq!(seen.len(), MAY_USE.len(), "every layer exists: {seen:?}");
    report(&broken);
}

#[test]
fn pure_crates_touch_nothing_outside() {
    let mut broken = String::new();
    for name in PURE {
        let sources = sources_of(name);
        assert!(!sources.is_empty());
        let modules = test_modules(&sources);
        for (path, text) in sources.iter().filter(|(path, _)| !is_test(path, &modules)) {
            for (number, line) in code_lines(without_tests(text)) {
                for word in IMPURE_WORDS.iter().filter(|word| line.contains(**word)) {
                    writeln!(broken, "{}:{number}: {word}", path.display()).unwrap();
                }
            }
        }
    }
    report(&broken);
}

#[test]
fn nodes_keep_to_themselves() {
    let mut broken = String::new();
    let nodes = ["sgsn", "ggsn", "bss", "ms"];
    for (path, text) in sources_of("node") {
        let owner = nodes.iter().find(|node| path.components().any(|part| part.as_os_str() == **node));
        for (number, line) in code_lines(&text) {
            for other in nodes.iter().filter(|other| Some(*other) != owner && owner.is_some()) {
                if line.contains(&format!("crate::{other}")) {
                    writeln!(broken, "{}:{number}: a node imports the node {other}", path.display()).unwrap();
                }
            }
        }
    }
    report(&broken);
}

/// They speak its service access point, so that any bearer can stand there.
#[test]
fn mobiles_do_not_know_their_bearer() {
    let mut broken = String::new();
    let all = sources_of("node");
    let modules = test_modules(&all);
    let mobiles = |path: &Path| path.components().any(|part| part.as_os_str() == "ms");
    for (path, text) in all.iter().filter(|(path, _)| mobiles(path) && !is_test(path, &modules)) {
        for (number, line) in code_lines(without_tests(text)) {
            if line.contains("proto::um") || line.contains("proto::adaptation") {
                writeln!(broken, "{}:{number}: a mobile knows its bearer", path.display()).unwrap();
            }
        }
    }
    report(&broken);
}

#[test]
fn unsafe_stays_with_the_kernel() {
    let mut broken = String::new();
    for (name, _) in MAY_USE.iter().filter(|(name, _)| !MAY_BE_UNSAFE.contains(name)) {
        for (path, text) in sources_of(name) {
            for (number, line) in code_lines(&text) {
                if line.contains("unsafe ") && !line.contains("unsafe_code") && !line.contains('"') {
                    writeln!(broken, "{}:{number}: unsafe", path.display()).unwrap();
                }
            }
        }
    }
    report(&broken);
}

#[test]
fn files_and_functions_stay_readable() {
    let mut broken = String::new();
    let all = files(&root().join("crates"), "rs");
    let modules = test_modules(&all);
    for (path, text) in all {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES_MAX {
            writeln!(broken, "{}: {} lines", path.display(), lines.len()).unwrap();
        }
        for (start, line) in lines.iter().enumerate() {
            let body = line.trim_start();
            let is_function =
                ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn ", "pub const fn "]
                    .iter()
                    .any(|head| body.starts_with(head));
            if !is_function || line.ends_with(';') {
                continue;
            }
            let closing = format!("{}}}", &line[..line.len() - body.len()]);
            let length = lines.iter().skip(start).position(|line| **line == closing).map_or(0, |end| end + 1);
            let max = if is_test(&path, &modules) { TEST_LINES_MAX } else { FUNCTION_LINES_MAX };
            if length > max {
                writeln!(broken, "{}:{}: a function of {length} lines", path.display(), start + 1).unwrap();
            }
        }
    }
    report(&broken);
}

/// Crates whose texts reach people: the log, the VTY, the command line, errors.
const SPEAKS_TO_PEOPLE: &[&str] =
    &["wire", "machine", "qos", "proto", "node", "ops", "demux", "rt", "trace", "gannet"];

/// Where a line formats a value as the language prints it for its programmers.
fn is_debug_output(line: &str) -> bool {
    line.match_indices("?}").any(|(end, _)| {
        let before = line.get(..end).unwrap_or_default();
        before.rsplit('{').next().is_some_and(|format| format.contains(':') && !format.contains('}'))
    })
}

#[test]
fn no_debug_output_reaches_a_person() {
    for line in ["{x:?}", "{:?}", "{:#?}", "{name:02x?}"] {
        assert!(is_debug_output(line), "{line}");
    }
    assert!(!is_debug_output("{x} { y: a? }") && !is_debug_output("{x:02x}") && !is_debug_output("f(x?)}"));
    let mut broken = String::new();
    for name in SPEAKS_TO_PEOPLE {
        let sources = sources_of(name);
        let modules = test_modules(&sources);
        for (path, text) in sources.iter().filter(|(path, _)| !is_test(path, &modules)) {
            // What is printed for programmers may be printed so.
            let mut end_of_impl = None;
            for (number, line) in code_lines(without_tests(text)) {
                let body = line.trim_start();
                if body.starts_with("impl") && body.contains("Debug for ") {
                    end_of_impl = Some(format!("{}}}", &line[..line.len() - body.len()]));
                }
                if end_of_impl.as_deref() == Some(line) {
                    end_of_impl = None;
                }
                if end_of_impl.is_none() && is_debug_output(line) {
                    writeln!(broken, "{}:{number}: {body}", path.display()).unwrap();
                }
            }
        }
    }
    report(&broken);
}

#[test]
fn every_drop_is_raised_by_code_and_by_a_test() {
    let list = std::fs::read_to_string(root().join("crates/machine/src/drops.rs")).unwrap();
    let list = list.split("\ndrops! {").nth(1).unwrap().split("\n}").next().unwrap();
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.trim().split_once(": \"").map(|(name, _)| name))
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .collect();
    assert!(names.len() > 20, "the list was read");
    let mut code = String::new();
    let mut tests = String::new();
    let all = files(&root().join("crates"), "rs");
    let modules = test_modules(&all);
    for (path, text) in all {
        if path.ends_with("drops.rs") || path.ends_with("house_rules.rs") {
            continue;
        }
        if is_test(&path, &modules) {
            tests.push_str(&text);
        } else {
            let before = without_tests(&text);
            // The laboratory sorts all of them, and raises none.
            if !path.starts_with("crates/lab") {
                code.push_str(before);
            }
            tests.push_str(&text[before.len()..]);
        }
    }
    // As a word of its own: some files import the names.
    let code: BTreeSet<&str> = code.split(|c| !is_of_a_word(c)).collect();
    let mut broken = String::new();
    for name in names {
        if !code.contains(name) {
            writeln!(broken, "Drop::{name}: nothing raises it").unwrap();
        }
        if !expects(&tests, name) {
            writeln!(broken, "Drop::{name}: no test expects its counter to move").unwrap();
        }
    }
    report(&broken);
}

const fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Does some test expect this drop? Its name stands before a number that is not 0, as in `(Drop::Name, 2)` and in
/// `drops(Drop::Name) == 2`, or before `> 0`; or before no number, in an assertion that denies nothing. A list of names that
/// may occur, or are counted, is not enough.
fn expects(tests: &str, name: &str) -> bool {
    tests.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&tests[..at], &tests[at + name.len()..]);
        if before.ends_with(is_of_a_word) || behind.starts_with(is_of_a_word) {
            return false;
        }
        let value = behind.trim_start_matches([')', ']', ',', '=', '>', ' ', '\n']);
        let digits = &value[..value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len())];
        if value.len() < behind.len() && !digits.is_empty() {
            let is_less = behind[..behind.len() - value.len()].contains('>');
            return is_less || digits.contains(|digit| digit != '0');
        }
        let line_ends = |at: usize| before[..at].ends_with([';', '{', '}']);
        let start = before.rmatch_indices('\n').find(|(at, _)| line_ends(*at)).map_or(0, |(at, _)| at);
        let statement = &before[start..];
        statement.contains("assert") && !statement.contains("assert!(!")
    })
}

#[test]
fn a_list_of_drops_is_no_test_of_them() {
    let is_expected = |test| expects(test, "Full");
    for test in [
        "assert_eq!(cx.drops(Drop::Full), 2);",
        "let cases = [(1, (Drop::Full, 1)), (2, (Drop::Empty, 1))];",
        "until(|| drops(Drop::Full) >= 10);",
        "assert!(drops(Drop::Full) > 0);",
        "assert_eq!(\n  give(),\n  Err(Drop::Full),\n  \"{pdu}\"\n);",
    ] {
        assert!(is_expected(test), "{test}");
    }
    for test in [
        "assert_eq!(cx.drops(Drop::Full), 0);",
        "assert_eq!(cx.drops(Drop::FullOfIt), 1);",
        "let may_occur = [Drop::Empty, Drop::Full];\nassert!(may_occur.contains(&it));",
        "while drops(Drop::Full) == 0 {\n}\nassert!(is_over);",
        "assert!(!drops.contains(&Drop::Full));",
        "assert!(is_there);\nlet drop = if lives { Drop::Full } else { Drop::Empty };",
    ] {
        assert!(!is_expected(test), "{test}");
    }
}

#[test]
fn timers_cite_their_clause() {
    let mut broken = String::new();
    let mut enums = 0;
    for (path, text) in sources_of("proto").into_iter().chain(sources_of("node")) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let is_timers = line
                .split_once("enum ")
                .is_some_and(|(_, name)| name.trim_end_matches(" {").ends_with("Timer"));
            if !is_timers {
                continue;
            }
            enums += 1;
            let is_doc = |l: &&&str| l.trim_start().starts_with("///") || l.trim_start().starts_with('#');
            let doc = lines[..number].iter().rev().take_while(is_doc);
            let body = lines[number..].iter().take_while(|l| l.trim() != "}");
            let cites = |l: &&str| l.contains("clause") || l.contains("table");
            if !doc.copied().any(|l| cites(&l)) && !body.copied().any(|l| cites(&l)) {
                writeln!(broken, "{}:{}: timers without a clause", path.display(), number + 1).unwrap();
            }
        }
    }
    assert!(enums >= 3, "timers were found: {enums}");
    report(&broken);
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let mut broken = String::new();
    let mut all = files(&root(), "rs");
    for extension in ["md", "toml", "sh", "yml", "conf", "cfg", "txt"] {
        all.extend(files(&root(), extension));
    }
    let unfinished = ["to", "do!("].concat();
    let unfinished_mark = ["FIX", "ME"].concat();
    let home = ["/ro", "ot/"].concat();
    let workplace = ["/wo", "rk/"].concat();
    for (path, text) in all {
        for (line, number) in text.lines().zip(1..) {
            for word in [&unfinished, &unfinished_mark, &home, &workplace] {
                if line.contains(word.as_str()) {
                    writeln!(broken, "{}:{number}: {word}", path.display()).unwrap();
                }
            }
        }
    }
    report(&broken);
}
