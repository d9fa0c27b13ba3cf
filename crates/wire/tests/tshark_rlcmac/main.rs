//! RLC/MAC control messages and blocks of CCCH and BCCH against Wireshark, field by field.
//!
//! `blocks.txt` has the octets of all of them, so that they stay what Wireshark has seen where there is none.
//! `GANNET_BLESS=1` writes it anew.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod ccch;
mod cells;
mod downlink;
mod uplink;

use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::gsmtap::{Channel, Header, UDP_PORT};
use std::process::ExitCode;

/// A block, the channel that it stands on, and what its fields are: `name=value` or `name=value,value`, all of them
/// numbers; `name=` is a field that is absent. Names stand behind the prefix, or behind a slash where they are whole.
///
/// Of `~LABEL=value` tshark's fields have no right value (arrays and 64 bits): its bits are read from what it prints.
#[derive(Debug, Clone)]
pub struct Case {
    prefix: &'static str,
    channel: Channel,
    uplink: bool,
    block: Vec<u8>,
    fields: &'static str,
}

impl Case {
    fn new(prefix: &'static str, channel: Channel, uplink: bool, block: &[u8], fields: &'static str) -> Self {
        Self { prefix, channel, uplink, block: block.to_vec(), fields }
    }

    fn datagram(&self) -> Vec<u8> {
        [&Header::um(self.channel, self.uplink).emit()[..], &self.block].concat()
    }

    /// What tshark prints of it.
    fn details(&self) -> String {
        let mut alone = Capture::new();
        alone.add_udp(UDP_PORT, UDP_PORT, &self.datagram());
        let details = alone.details(&[]);
        details[details.find("\nGSM ").unwrap_or_default()..].to_owned()
    }

    /// Whole names of fields, and labels behind a tilde.
    fn expected(&self) -> impl Iterator<Item = (String, Vec<u64>)> {
        self.fields.split_whitespace().map(|field| {
            let (name, values) = field.split_once('=').unwrap();
            let name = match name.strip_prefix('/') {
                Some(whole) => whole.to_owned(),
                None if name.starts_with('~') => name.to_owned(),
                None => format!("{}.{name}", self.prefix),
            };
            (name, numbers(values))
        })
    }
}

fn numbers(values: &str) -> Vec<u64> {
    let number = |value: &str| match (value, value.strip_prefix("0x")) {
        ("True", _) => 1,
        ("False", _) => 0,
        (_, Some(hex)) => u64::from_str_radix(hex, 16).unwrap(),
        (_, None) => value.parse().unwrap_or_else(|_| panic!("not a number: {value}")),
    };
    values.split(',').filter(|value| !value.is_empty()).map(number).collect()
}

/// Compares all fields of all cases with what tshark says.
fn check(cases: &[Case]) {
    let mut capture = Capture::new();
    for case in cases {
        capture.add_udp(UDP_PORT, UDP_PORT, &case.datagram());
    }
    let mut names: Vec<String> = cases.iter().flat_map(Case::expected).map(|(name, _)| name).collect();
    names.retain(|name| !name.starts_with('~'));
    names.sort_unstable();
    names.dedup();
    let asked: Vec<&str> = names.iter().map(String::as_str).chain(["_ws.malformed"]).collect();
    let rows = capture.dissect(&[], &asked);
    let wrong: Vec<String> =
        cases.iter().zip(&rows).filter_map(|(case, row)| differences(case, &names, row)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What tshark says otherwise of one case, and the whole that it says.
fn differences(case: &Case, names: &[String], row: &[String]) -> Option<String> {
    let value = |place: usize| row.get(place).map(String::as_str).unwrap_or_default();
    let mut wrong = String::new();
    for (name, expected) in case.expected() {
        let said = match name.strip_prefix('~') {
            Some(label) => bits_of(&case.details(), label),
            None => numbers(value(names.binary_search(&name).unwrap())),
        };
        if said != expected {
            wrong += &format!("{name} is {said:?}, not {expected:?}\n");
        }
    }
    if !value(names.len()).is_empty() {
        wrong += "malformed\n";
    }
    (!wrong.is_empty()).then(|| wrong + &case.details())
}

/// The numbers that stand as bits before a label: `.000 1... = LABEL: …`.
fn bits_of(details: &str, label: &str) -> Vec<u64> {
    let lines = details.lines().filter_map(|line| line.split_once(" = "));
    let labelled = lines
        .filter(|(_, text)| text.split_once(':').is_some_and(|(name, _)| name.replace(' ', "_") == label));
    let digits = labelled.map(|(bits, _)| bits.replace(|c: char| c != '0' && c != '1', ""));
    digits.map(|digits| u64::from_str_radix(&digits, 2).unwrap()).collect()
}

type Cases = fn() -> Vec<Case>;

/// All cases, by the test that compares them.
const CASES: [(&str, Cases); 10] = [
    ("acknowledgement_bursts", uplink::acknowledgement_bursts),
    ("uplink_messages", uplink::messages),
    ("downlink_assignments", downlink::assignments),
    ("downlink_frequencies_and_single_blocks", downlink::frequencies_and_single_blocks),
    ("downlink_messages", downlink::messages),
    ("system_information", downlink::system_information),
    ("downlink_headers", downlink::headers),
    ("cell_changes_and_selection", cells::all),
    ("immediate_assignments", ccch::assignments),
    ("pages", ccch::pages),
];

fn blocks_are_as_they_were_compared() {
    let mut lines = String::new();
    for (name, cases) in CASES {
        for case in cases() {
            let octets: String = case.block.iter().map(|octet| format!("{octet:02x}")).collect();
            lines += &format!("{name} {octets}\n");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tshark_rlcmac/blocks.txt");
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::write(path, &lines).unwrap();
    }
    assert_eq!(lines, std::fs::read_to_string(path).unwrap());
}

fn compare<const N: usize>() {
    check(&CASES[N].1());
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("blocks_are_as_they_were_compared", &[], blocks_are_as_they_were_compared),
        (CASES[0].0, &[Need::Tshark], compare::<0>),
        (CASES[1].0, &[Need::Tshark], compare::<1>),
        (CASES[2].0, &[Need::Tshark], compare::<2>),
        (CASES[3].0, &[Need::Tshark], compare::<3>),
        (CASES[4].0, &[Need::Tshark], compare::<4>),
        (CASES[5].0, &[Need::Tshark], compare::<5>),
        (CASES[6].0, &[Need::Tshark], compare::<6>),
        (CASES[7].0, &[Need::Tshark], compare::<7>),
        (CASES[8].0, &[Need::Tshark], compare::<8>),
        (CASES[9].0, &[Need::Tshark], compare::<9>),
    ])
}
