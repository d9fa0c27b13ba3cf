//! `docs/vty.md` is what the program itself says about its commands, and about those of osmo-sgsn and osmo-ggsn.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use gannet_ops::config::Element;
use gannet_ops::grammar::Grammar;
use gannet_ops::vty::osmocom::{Fate, Theirs, commands, ggsn_commands, of_xml};
use gannet_ops::vty::reference;
use gannet_ops::{Ggsn, Sgsn};
use gannet_testkit::{Case, Need, run};
use std::path::Path;
use std::process::ExitCode;

const CASES: &[Case] = &[
    ("the_reference_is_up_to_date", &[], the_reference_is_up_to_date),
    ("each_command_of_osmo_sgsn_is_there_or_excused", &[], each_command_is_there_or_excused),
    ("each_command_of_osmo_ggsn_is_there_or_excused", &[], each_command_of_osmo_ggsn_is_there_or_excused),
    ("the_list_is_what_osmo_sgsn_prints", &[Need::Program("osmo-sgsn")], the_list_is_what_osmo_sgsn_prints),
    ("the_list_is_what_osmo_ggsn_prints", &[Need::Program("osmo-ggsn")], the_list_is_what_osmo_ggsn_prints),
];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}

fn assert_excused<E: Element>(all: impl Iterator<Item = Theirs>) {
    let grammar = Grammar::<E>::new();
    let unknown: Vec<Theirs> = all.filter(|theirs| theirs.fate(&grammar) == Fate::Unknown).collect();
    assert_eq!(unknown, [], "neither a command nor in ops::vty::osmocom::ABSENT");
}

fn each_command_is_there_or_excused() {
    assert!(commands().count() > 250);
    assert_excused::<Sgsn>(commands());
}

fn each_command_of_osmo_ggsn_is_there_or_excused() {
    assert!(ggsn_commands().count() > 200);
    assert_excused::<Ggsn>(ggsn_commands());
}

/// Another version of osmo-sgsn has other commands: what is new there is to be built or excused, too.
fn the_list_is_what_osmo_sgsn_prints() {
    let printed = of_xml(&run("osmo-sgsn", &["--vty-ref-xml"]));
    assert!(printed.len() > 250, "{} commands", printed.len());
    let listed: Vec<Theirs> = commands().collect();
    let of_listed_version = run("osmo-sgsn", &["--version"]).contains("OsmoSGSN version 1.9.0");
    if of_listed_version {
        assert_eq!(printed, listed);
    }
    assert_excused::<Sgsn>(printed.into_iter());
}

fn the_list_is_what_osmo_ggsn_prints() {
    let printed = of_xml(&run("osmo-ggsn", &["--vty-ref-xml"]));
    assert!(printed.len() > 200, "{} commands", printed.len());
    let of_listed_version = run("osmo-ggsn", &["--version"]).contains("OsmoGGSN version 1.9.0");
    if of_listed_version {
        assert_eq!(printed, ggsn_commands().collect::<Vec<_>>());
    }
    assert_excused::<Ggsn>(printed.into_iter());
}

fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vty.md");
    let document = reference::document();
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &document).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document,
        "docs/vty.md is old: GANNET_BLESS=1 cargo test -p gannet-ops --test reference"
    );
    for command in
        ["show why imsi IMSI", "mobile <1-1000000> cell <0-65000>", "ip prefix (static|dynamic) A.B.C.D/M"]
    {
        assert!(document.contains(&format!("- `{command}`\n")), "{command}");
    }
}
