//! Layer 3 against Wireshark, field by field: every message with every element.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

#[path = "../gb/mod.rs"]
mod gb;
mod gmm;
mod sm;

use Direction::{Downlink, Uplink};
use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::id::Sapi;
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::llc::{Control, Header};
use std::process::ExitCode;

/// A message and what Wireshark must say about it.
type Case = (Direction, L3Message, Vec<(&'static str, &'static str)>);

/// Fields in which Wireshark complains. Its notes about spare bits and the like are not errors.
const COMPLAINTS: [&str; 5] = [
    "gsm_a.gm.extraneous_data",
    "gsm_a.gm.not_enough_data",
    "gsm_a.gm.undecoded",
    "gsm_a.gm.missing_mandatory_element",
    "_ws.malformed",
];

fn check(cases: &[Case]) {
    let mut fields: Vec<&str> = COMPLAINTS.to_vec();
    for (_, _, expected) in cases {
        for (field, _) in expected {
            if !fields.contains(field) {
                fields.push(field);
            }
        }
    }
    let mut capture = Capture::new();
    for (direction, message, _) in cases {
        let control = Control::Ui { nu: 0, encrypted: false, protected: true };
        let header = Header { cr: *direction == Downlink, sapi: Sapi::GMM, control };
        let pdu = gb::ll_pdu(&header, &message.to_vec());
        match direction {
            Uplink => capture.add_udp(22000, 23000, &gb::uplink(&pdu)),
            Downlink => capture.add_udp(23000, 22000, &gb::downlink(&pdu)),
        }
    }
    let rows = capture.dissect(&gb::OPTIONS, &fields);
    let mut wrong = Vec::new();
    for ((_, message, expected), row) in cases.iter().zip(&rows) {
        for field in COMPLAINTS {
            let at = fields.iter().position(|f| *f == field).unwrap();
            if !row[at].is_empty() {
                wrong.push(format!("{}: {field} {}", message.name(), row[at]));
            }
        }
        for (field, value) in expected {
            let at = fields.iter().position(|f| f == field).unwrap();
            if row[at] != *value {
                wrong.push(format!("{}: {field} is {} instead of {value}", message.name(), row[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The identifiers of the optional elements, where Wireshark has a field for them.
const ELEMENTS: &str = "gsm_a.gm.elem_id";

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("attach", &[Need::Tshark], gmm::attach),
        ("detach", &[Need::Tshark], gmm::detach),
        ("routing_area_update", &[Need::Tshark], gmm::routing_area_update),
        ("service", &[Need::Tshark], gmm::service),
        ("common_procedures", &[Need::Tshark], gmm::common_procedures),
        ("pdp_activation", &[Need::Tshark], sm::pdp_activation),
        ("pdp_modification_and_deactivation", &[Need::Tshark], sm::pdp_modification_and_deactivation),
        ("profiles_that_are_granted", &[Need::Tshark], sm::profiles_that_are_granted),
        ("profiles_between_the_nodes", &[Need::Tshark], sm::profiles_between_the_nodes),
        ("traffic_flow_template", &[Need::Tshark], sm::traffic_flow_template),
    ])
}
