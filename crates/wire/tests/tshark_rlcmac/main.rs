//! RLC/MAC control messages and CCCH blocks against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod ccch;
mod downlink;
mod uplink;

use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::gsmtap::{Channel, Header, UDP_PORT};
use std::process::ExitCode;

/// A block, the channel that it stands on, and what its fields are: `name=value` or `name=value,value`, all of them
/// numbers; `name=` is a field that is absent.
///
/// Of `~LABEL=value` tshark's fields have no right value (arrays and 64 bits): its bits are read from what it prints.
#[derive(Debug, Clone)]
pub struct Case {
    channel: Channel,
    uplink: bool,
    block: Vec<u8>,
    fields: &'static str,
}

impl Case {
    fn new(channel: Channel, uplink: bool, block: &[u8], fields: &'static str) -> Self {
        Self { channel, uplink, block: block.to_vec(), fields }
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

    fn expected(&self) -> impl Iterator<Item = (&'static str, Vec<u64>)> {
        self.fields.split_whitespace().map(|field| {
            let (name, values) = field.split_once('=').unwrap();
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

/// Compares all fields of all cases with what tshark says under `prefix`.
pub fn check(prefix: &str, cases: &[Case]) {
    let mut capture = Capture::new();
    for case in cases {
        capture.add_udp(UDP_PORT, UDP_PORT, &case.datagram());
    }
    let mut names: Vec<&str> = cases.iter().flat_map(Case::expected).map(|(name, _)| name).collect();
    names.retain(|name| !name.starts_with('~'));
    names.sort_unstable();
    names.dedup();
    let full: Vec<String> =
        names.iter().map(|name| full_name(prefix, name)).chain(["_ws.malformed".to_owned()]).collect();
    let rows = capture.dissect(&[], &full.iter().map(String::as_str).collect::<Vec<_>>());
    let wrong: Vec<String> =
        cases.iter().zip(&rows).filter_map(|(case, row)| differences(case, &names, row)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A name with a slash before it is whole.
fn full_name(prefix: &str, name: &str) -> String {
    name.strip_prefix('/').map_or_else(|| format!("{prefix}.{name}"), str::to_owned)
}

/// What tshark says otherwise of one case, and the whole that it says.
fn differences(case: &Case, names: &[&str], row: &[String]) -> Option<String> {
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

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("acknowledgement_bursts", &[Need::Tshark], uplink::acknowledgement_bursts),
        ("uplink_messages", &[Need::Tshark], uplink::messages),
        ("downlink_assignments", &[Need::Tshark], downlink::assignments),
        ("downlink_frequencies_and_single_blocks", &[Need::Tshark], downlink::frequencies_and_single_blocks),
        ("downlink_messages", &[Need::Tshark], downlink::messages),
        ("system_information", &[Need::Tshark], downlink::system_information),
        ("downlink_headers", &[Need::Tshark], downlink::headers),
        ("immediate_assignments", &[Need::Tshark], ccch::assignments),
        ("pages", &[Need::Tshark], ccch::pages),
    ])
}
