//! ARCHITECTURE.md and README.md name files, functions and commands: they are there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["ARCHITECTURE.md", "README.md"];
const DIRECTORIES: [&str; 5] = ["crates/", "docs/", "fuzz/", "scripts/", "interop/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// What belongs together: a row of a table, an item of a list, or a paragraph, in one line.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in page.lines() {
        let begins = line.starts_with(['|', '*', '-', '#']) || line.split_once(". ").is_some_and(is_number);
        if line.is_empty() || begins {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().unwrap();
        block.push_str(line.trim());
        block.push(' ');
    }
    blocks
}

fn is_number((number, _): (&str, &str)) -> bool {
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// What stands between backticks.
fn names(block: &str) -> impl Iterator<Item = &str> {
    block.split('`').skip(1).step_by(2)
}

fn is_path(name: &str) -> bool {
    DIRECTORIES.iter().any(|directory| name.starts_with(directory))
}

/// `function` of `function` and `Type::function`; a variant of an enum is none.
fn function(name: &str) -> Option<&str> {
    let (of, name) = name.rsplit_once("::").map_or(("", name), |(of, name)| (of, name));
    let is_word = |word: &str| word.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b':');
    let is_function = name.starts_with(|c: char| c.is_ascii_lowercase()) && is_word(name) && is_word(of);
    is_function.then_some(name)
}

fn defines(text: &str, function: &str) -> bool {
    [
        format!("fn {function}("),
        format!("fn {function}<"),
        format!(" {function}("),
        format!("macro_rules! {function}"),
    ]
    .iter()
    .any(|head| text.contains(head))
}

#[test]
fn every_file_exists() {
    let mut broken = String::new();
    for name in PAGES {
        let text = page(name);
        let links = text.split("](").skip(1).filter_map(|behind| behind.split([')', '#']).next());
        let links = links.filter(|link| !link.is_empty() && !link.contains("://"));
        let paths: Vec<&str> =
            names(&text).filter(|name| is_path(name) && !name.contains('{')).chain(links).collect();
        assert!(paths.len() > 10, "{name}: {paths:?}");
        for path in paths.iter().filter(|path| !root().join(path).exists()) {
            writeln!(broken, "{name}: {path} is not there").unwrap();
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn every_function_is_where_the_map_has_it() {
    let text = page("ARCHITECTURE.md");
    let parts: Vec<&str> = text.split("\n## ").filter(|part| !part.starts_with("Crates")).skip(1).collect();
    let (mut broken, mut count) = (String::new(), 0);
    for block in parts.iter().flat_map(|part| blocks(part)) {
        let files: Vec<&str> = names(&block).filter(|name| is_path(name) && name.contains('.')).collect();
        let code: String =
            files.iter().filter_map(|file| std::fs::read_to_string(root().join(file)).ok()).collect();
        for function in names(&block).filter(|_| !files.is_empty()).filter_map(function) {
            count += 1;
            if !defines(&code, function) {
                writeln!(broken, "`{function}` is in none of {files:?}").unwrap();
            }
        }
    }
    assert!(count > 100, "the page was read: {count}");
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn every_command_exists() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (makefile, program) = (read("Makefile"), read("crates/gannet/src/main.rs"));
    let (laboratory, experiments) =
        (read("crates/gannet/src/lab_command.rs"), read("crates/lab/src/experiments.rs"));
    let variant =
        |word: &str| word.get(..1).unwrap_or_default().to_uppercase() + word.get(1..).unwrap_or_default();
    let declares = |text: &str, word: &str| {
        ["(", ",", " {"].iter().any(|end| text.contains(&format!("    {}{end}", variant(word))))
    };
    let (mut broken, mut count) = (String::new(), 0);
    for name in PAGES {
        let text = page(name);
        let of_blocks = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        for command in names(&text.replace("```", "")).chain(of_blocks) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let exists = match *words {
                ["make", target, ..] => makefile.lines().any(|line| line.starts_with(&format!("{target}:"))),
                ["gannet", "lab", "run", experiment, ..] => {
                    experiments.contains(&format!("name: \"{experiment}\""))
                }
                ["gannet", "lab", word, ..] => declares(&laboratory, word),
                ["gannet", word, ..] if word.bytes().all(|c| c.is_ascii_lowercase()) => {
                    declares(&program, word)
                }
                _ => continue,
            };
            count += 1;
            if !exists {
                writeln!(broken, "{name}: '{command}' is no command").unwrap();
            }
        }
    }
    assert!(count > 5, "the pages were read: {count}");
    assert!(broken.is_empty(), "\n{broken}");
}
