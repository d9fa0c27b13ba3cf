//! No circle of imports between the files of a crate, read from the sources.
//!
//! A file imports another where it names a path into it: in a `use`, or in the code. A module and those within it are one
//! thing, so that what a file takes from its parents, or they from it, is no import; nor is what tests take.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Crates whose circles are known and why, by the files of each: see `docs/decisions`. There is none.
const EXCEPTIONS: &[(&str, &[&str])] = &[];

/// The way to a module from the crate's root.
type Module = Vec<String>;

/// The files of a crate by their modules, without what is for tests.
type Sources = BTreeMap<Module, String>;

/// Which modules each module imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The module of a file, by its path below `src`.
fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The modules that stand behind `#[cfg(test)]` and in files of their own.
fn test_modules(module: &Module, text: &str) -> Vec<Module> {
    let behind = text.split("#[cfg(test)]\n").skip(1);
    let declared = behind.filter_map(|behind| {
        let line = behind.lines().next()?.strip_suffix(';')?;
        let name = line.split_once("mod ")?.1;
        Some(module.iter().cloned().chain([name.to_owned()]).collect())
    });
    declared.collect()
}

/// Files by their paths below `src`, as far as they are no tests: without unit tests and comments.
fn sources(files: &[(String, String)]) -> Sources {
    let all: Vec<(Module, &str)> =
        files.iter().map(|(path, text)| (module_of(path), text.as_str())).collect();
    let tests: Vec<Module> = all.iter().flat_map(|(module, text)| test_modules(module, text)).collect();
    let is_test = |module: &Module| {
        module.iter().any(|part| part == "tests") || tests.iter().any(|test| module.starts_with(test))
    };
    let code = |text: &str| {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
        let lines = code.lines().map(|line| line.split_once("//").map_or(line, |(before, _)| before));
        lines.collect::<Vec<_>>().join("\n")
    };
    all.into_iter()
        .filter(|(module, _)| !is_test(module))
        .map(|(module, text)| (module, code(text)))
        .collect()
}

/// The paths of a tree of imports: `a::{b, c::d}` has two.
fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_owned()];
    };
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut branches, mut depth) = (vec![String::new()], 0_u32);
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && depth == 0 {
            branches.push(String::new());
        } else if let Some(branch) = branches.last_mut() {
            branch.push(c);
        }
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| leaves(branch)).map(|leaf| format!("{}{leaf}", prefix.trim())).collect()
}

/// All paths of a text that begin at the crate's root or at the file: those of its imports, and those in its code.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_own = |path: &str| ["crate::", "super::", "self::"].iter().any(|root| path.starts_with(root));
    let mut rest = text;
    while let Some(at) = ["crate::", "super::", "self::"].iter().filter_map(|root| rest.find(root)).min() {
        let (before, path) = rest.split_at(at);
        let is_import = before.ends_with("use ");
        let end = if is_import {
            path.find(';').unwrap_or(path.len())
        } else {
            path.find(|c| !is_word(c) && c != ':').unwrap_or(path.len())
        };
        let (path, behind) = path.split_at(end);
        if !before.ends_with(|c| is_word(c) || c == ':' || c == '$') {
            found.extend(leaves(path).into_iter().filter(|path| is_own(path)));
        }
        rest = behind;
    }
    found
}

/// The file that a path leads into, from this one.
fn target(sources: &Sources, module: &Module, path: &str) -> Module {
    let mut at = module.clone();
    let mut parts = path.split("::").map(str::trim).peekable();
    while let Some(part) = parts.next_if(|part| matches!(*part, "crate" | "super" | "self")) {
        match part {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            _ => {}
        }
    }
    for part in parts {
        let next: Module = at.iter().cloned().chain([part.to_owned()]).collect();
        if !sources.contains_key(&next) {
            break;
        }
        at = next;
    }
    at
}

/// Who imports whom.
fn imports(sources: &Sources) -> Imports {
    let of = |(module, text): (&Module, &String)| {
        let targets = paths(text).into_iter().map(|path| target(sources, module, &path));
        // A module and what is within it are one thing.
        let others = targets.filter(|other| !other.starts_with(module) && !module.starts_with(other));
        (module.clone(), others.collect())
    };
    sources.iter().map(of).collect()
}

/// Everybody that is reached from a module, by way of whomever.
fn reached(imports: &Imports, from: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(module) = open.pop() {
        let next = imports.get(&module).into_iter().flatten();
        open.extend(next.filter(|next| found.insert((*next).clone())).cloned());
    }
    found
}

/// The circles: in each the modules that reach each other, by name.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let all: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let mut found = BTreeSet::new();
    for (module, others) in &all {
        if others.contains(*module) {
            let back = |other: &&Module| all.get(other).is_some_and(|reached| reached.contains(*module));
            found.insert(others.iter().filter(back).map(|other| other.join("::")).collect());
        }
    }
    found
}

fn files_below(directory: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            files_below(&entry.path(), &format!("{path}/"), found);
        } else if name.ends_with(".rs") {
            found.push((path, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// What is wrong with the circles of a crate, where these are the ones that are known.
fn judge(name: &str, found: &BTreeSet<Vec<String>>, known: &[(&str, &[&str])]) -> String {
    let mut broken = String::new();
    let known = || known.iter().filter(|(of, _)| *of == name).map(|(_, files)| *files);
    for circle in found {
        if !known().any(|files| files == circle.as_slice()) {
            writeln!(broken, "{name}: these import each other: {}", circle.join(", ")).unwrap();
        }
    }
    for files in known().filter(|files| !found.iter().any(|circle| files == &circle.as_slice())) {
        writeln!(broken, "{name}: there is no such circle any more: {}", files.join(", ")).unwrap();
    }
    broken
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut broken, mut count) = (String::new(), 0);
    for entry in std::fs::read_dir(crates).unwrap().flatten() {
        let source = entry.path().join("src");
        if source.is_dir() {
            let mut files = Vec::new();
            files_below(&source, "", &mut files);
            let imports = imports(&sources(&files));
            count += imports.values().map(BTreeSet::len).sum::<usize>();
            broken += &judge(&entry.file_name().to_string_lossy(), &circles(&imports), EXCEPTIONS);
        }
    }
    assert!(count > 1000, "only {count} imports were found");
    assert!(broken.is_empty(), "\n{broken}");
}

/// A made-up crate.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    circles(&imports(&sources(&files))).into_iter().map(|circle| circle.join(" ")).collect()
}

#[test]
fn a_circle_is_found_through_imports_and_paths_in_code() {
    let tree = [
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "use crate::{b::{self, Thing as Other}, c};"),
        ("b/mod.rs", "mod deep;\nfn f() { super::c::g() }"),
        ("b/deep.rs", "use super::super::c::G;"),
        ("c.rs", "pub fn g() {}"),
    ];
    assert_eq!(circles_of(&tree), [""; 0]);
    let with = |path: &'static str, text: &'static str| {
        let mut tree = tree;
        tree.iter_mut().filter(|(other, _)| *other == path).for_each(|file| file.1 = text);
        circles_of(&tree)
    };
    assert_eq!(with("c.rs", "fn g(it: &crate::a::A) {}"), ["a b c"]);
    assert_eq!(with("c.rs", "use crate::b::deep;"), ["b::deep c"]);
    assert_eq!(with("c.rs", "use super::{\n    b::B,\n};"), ["b c"]);
}

#[test]
fn parents_tests_and_comments_are_no_imports() {
    let tree = [
        ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod bench;\nuse a::A;"),
        ("a/mod.rs", "mod part;\nuse crate::b::B;\nuse part::Part;"),
        ("a/part.rs", "use super::A;"),
        (
            "b.rs",
            "// crate::a::A\n/// [`crate::a`]\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
        ),
        ("b/tests.rs", "use crate::a::A;"),
        ("bench.rs", "use crate::a::A;"),
    ];
    assert_eq!(circles_of(&tree), [""; 0]);
}

#[test]
fn a_known_circle_has_to_be_there() {
    let found: BTreeSet<Vec<String>> = [vec!["a".to_owned(), "b".to_owned()]].into();
    let known: &[(&str, &[&str])] = &[("x", &["a", "b"])];
    assert_eq!(judge("x", &found, known), "");
    assert_eq!(judge("x", &found, &[]), "x: these import each other: a, b\n");
    assert_eq!(judge("x", &BTreeSet::new(), known), "x: there is no such circle any more: a, b\n");
    assert_eq!(judge("y", &BTreeSet::new(), known), "");
}
