//! docs/trace.md: its commands print what the page shows.
//!
//! A block of `console` has a command behind `$`, and then its output. With `GANNET_BLESS=1` the outputs are written anew.

use crate::captures;
use gannet_testkit::Case;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const CASES: &[Case] = &[("commands_of_the_page_print_what_it_shows", &[], commands)];

/// Characters of a line; what is folded goes on behind four spaces.
const WIDTH: usize = 130;

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trace.md")
}

/// What the shell prints, with the program of this build, where the captures are.
fn run(command: &str) -> String {
    let directory = Path::new(env!("CARGO_BIN_EXE_gannet")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(directory).chain(std::env::split_paths(&others))).unwrap();
    let output =
        Command::new("sh").args(["-c", command]).current_dir(captures()).env("PATH", path).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{command}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Long lines are folded at a space.
fn folded(text: &str) -> String {
    let mut all = String::new();
    for line in text.lines() {
        let mut rest = line;
        let mut indent = "";
        while rest.chars().count() + indent.len() > WIDTH {
            let end = rest.char_indices().nth(WIDTH - indent.len()).map_or(rest.len(), |(at, _)| at);
            let Some(space) = rest[..end].rfind(' ').filter(|space| *space > 0) else { break };
            all.push_str(&format!("{indent}{}\n", &rest[..space]));
            (rest, indent) = (&rest[space + 1..], "    ");
        }
        all.push_str(&format!("{indent}{}\n", rest.trim_end()));
    }
    all
}

fn commands() {
    let shown = std::fs::read_to_string(page()).unwrap();
    let mut printed = String::new();
    let mut commands = 0;
    let mut rest = shown.as_str();
    while let Some((before, behind)) = rest.split_once("```console\n$ ") {
        let (block, behind) = behind.split_once("```\n").unwrap();
        let command = block.lines().next().unwrap();
        printed.push_str(&format!("{before}```console\n$ {command}\n{}```\n", folded(&run(command))));
        commands += 1;
        rest = behind;
    }
    printed.push_str(rest);
    assert!(commands > 10, "{commands}");
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::write(page(), &printed).unwrap();
    }
    let shown = std::fs::read_to_string(page()).unwrap();
    for (shown, printed) in shown.lines().zip(printed.lines()) {
        assert_eq!(shown, printed, "GANNET_BLESS=1 writes the page anew");
    }
    assert!(shown == printed, "docs/trace.md is longer or shorter than what its commands print");
}
