//! What the analyser prints can be computed once more with tshark and a page of Python.

use crate::{CORE, SPIKE, UM, capture, captures, succeed};
use gannet_testkit::{Case, Need, run};
use serde_json::Value;

pub const CASES: &[Case] =
    &[("numbers_are_those_of_tshark_and_python", &[Need::Tshark, Need::Program("python3")], numbers)];

fn findings(names: &[&str]) -> Value {
    let paths: Vec<String> = names.iter().map(|name| capture(name)).collect();
    let mut arguments = vec!["analyze", "--json"];
    arguments.extend(paths.iter().map(String::as_str));
    serde_json::from_str::<Value>(&succeed(&arguments)).unwrap()["findings"].take()
}

/// The number of the first finding of this kind about `of`.
fn number(findings: &Value, kind: &str, of: &str, name: &str) -> f64 {
    let mut all = findings.as_array().unwrap().iter();
    let found = all.find(|it| it["kind"] == kind && it["of"].as_str().unwrap().contains(of));
    let one = found.unwrap_or_else(|| panic!("no {kind} of {of}"));
    let mut numbers = one["numbers"].as_array().unwrap().iter();
    let pair = numbers.find(|pair| pair[0] == name).unwrap_or_else(|| panic!("{kind} has no {name}"));
    pair[1].as_f64().unwrap()
}

fn numbers() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/recompute.py");
    let theirs: Value =
        serde_json::from_str(&run("python3", &[script, captures().to_str().unwrap()])).unwrap();
    let (drop, spike) = (findings(&["drop-sender.pcap"]), findings(&[SPIKE]));
    let both = findings(&["drop-sender.pcap", "drop-receiver.pcap"]);
    let (core, um) = (findings(&[CORE]), findings(&[UM]));
    let of = "10.9.0.2:5001 at";
    let data = ["new", "again"].map(|name| number(&um, "radio-blocks", "downlink", name)).iter().sum();
    let ours = [
        ("acknowledged octets", number(&drop, "tcp-throughput", of, "octets")),
        ("seconds", number(&drop, "tcp-throughput", of, "seconds")),
        ("sent again", number(&drop, "tcp-sent-again", of, "all")),
        ("least round trip", number(&drop, "tcp-rtt", of, "least_s")),
        ("outstanding at the first loss", number(&drop, "tcp-buffer", of, "outstanding_octets")),
        ("lost on the way", number(&both, "tcp-way", "(file 1, interface 0) to", "lost")),
        ("waited for a spurious timeout", number(&spike, "tcp-spurious-timeout", "", "waited_s")),
        ("outage", number(&spike, "tcp-outage", "", "length_s")),
        ("pings", number(&core, "ping-rtt", "at Gn", "answers")),
        ("median of pings", number(&core, "ping-rtt", "at Gn", "median_s")),
        ("packets on Gn, downlink", number(&core, "layer-rate", "IP downlink at Gn", "units")),
        ("their octets", number(&core, "layer-rate", "IP downlink at Gn", "octets")),
        ("SN-PDUs, downlink", number(&core, "layer-rate", "SNDCP downlink at Gb", "units")),
        ("N-PDUs, downlink", number(&core, "llc-segmentation", "downlink", "n_pdus")),
        ("split N-PDUs, downlink", number(&core, "llc-segmentation", "downlink", "split")),
        ("dummy blocks, downlink", number(&um, "radio-blocks", "downlink", "dummy")),
        ("data blocks, downlink", data),
    ];
    for (name, ours) in ours {
        let theirs = theirs[name].as_f64().unwrap_or_else(|| panic!("Python has no {name}"));
        assert!(
            (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0),
            "{name}: {ours}, tshark and Python say {theirs}"
        );
    }
}
