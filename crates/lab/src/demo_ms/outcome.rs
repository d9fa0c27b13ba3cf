//! What the demo of the mobile station measured, and its table.

use super::download::{Downloaded, Lasted};
use super::{CHANGES, Options};
use crate::demo::outcome;
use crate::testbed::TestbedError;
use std::fmt::Write as _;

/// The results of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    peers: (&'static str, &'static str),
    /// Address of the context before the download, and after it.
    addresses: (String, String),
    pings: (u32, u32),
    rtt_ms: (f64, f64, f64),
    octets: (u64, u64),
    seconds: f64,
    /// SHA-256 of what arrived, and of what was sent.
    sha256: (String, String),
    changes: Vec<Lasted>,
    /// Segments that the host's TCP has sent again, and those that came to the phone while one before them was missing.
    segments: (u64, u64),
    drops: Vec<(String, String, u64)>,
}

impl Outcome {
    pub(super) fn new(options: &Options, address: &str, ping: &str) -> Result<Self, TestbedError> {
        let (pings, rtt_ms) = outcome::ping(ping)?;
        Ok(Self {
            peers: (options.sgsn.name("osmo-sgsn"), options.ggsn.name("osmo-ggsn")),
            addresses: (address.to_owned(), String::new()),
            pings,
            rtt_ms,
            octets: (0, options.download_octets as u64),
            seconds: 0.0,
            sha256: (String::new(), String::new()),
            changes: Vec::new(),
            segments: (0, 0),
            drops: Vec::new(),
        })
    }

    pub(super) fn download(&mut self, downloaded: Downloaded, expected: &str, address: String) {
        (self.octets.0, self.seconds) = (downloaded.octets, downloaded.seconds);
        self.sha256 = (downloaded.sha256, expected.to_owned());
        (self.changes, self.addresses.1) = (downloaded.events, address);
    }

    /// The counters of the host's kernel and of the phone's.
    pub(super) fn tcp(&mut self, host: &str, phone: &str) {
        self.segments = (counter(host, "RetransSegs"), counter(phone, "TCPOFOQueue"));
    }

    pub(super) fn drops(&mut self, node: &str, text: &str) {
        self.drops.extend(outcome::drops(node, text));
    }

    /// True when everything that was to happen did.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.pings.0 == self.pings.1
            && self.pings.0 > 0
            && self.octets.0 == self.octets.1
            && self.sha256.0 == self.sha256.1
            && self.changes.len() == CHANGES.len()
            && self.addresses.0 == self.addresses.1
    }

    /// The short table.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<24} {value}");
        };
        row("SGSN, GGSN", format!("{}, {}", self.peers.0, self.peers.1));
        row("address of the mobile", self.addresses.0.clone());
        let (min, mean, max) = self.rtt_ms;
        let pings =
            format!("{} of {} answered, RTT {min:.2} / {mean:.2} / {max:.2} ms", self.pings.1, self.pings.0);
        row("ping", pings);
        row("download", outcome::rate(self.octets.0, self.seconds));
        for (change, lasted) in CHANGES.iter().zip(&self.changes) {
            let Lasted { took, octets, longest_wait } = lasted;
            let (took, longest_wait) = (took.as_millis(), longest_wait.as_millis());
            row(
                change.name,
                format!("in {took} ms, {octets} octets meanwhile, longest wait for data {longest_wait} ms"),
            );
        }
        let (again, behind_gaps) = self.segments;
        row("TCP", format!("{again} segments sent again, {behind_gaps} came behind a gap"));
        let same = if self.addresses.0 == self.addresses.1 { "the same" } else { &self.addresses.1 };
        row("address afterwards", same.to_owned());
        let as_sent = if self.sha256.0 == self.sha256.1 { "as sent" } else { "NOT as sent" };
        row("SHA-256", format!("{} ({as_sent})", self.sha256.0));
        if self.drops.is_empty() {
            row("drops", "none".to_owned());
        }
        for (node, name, count) in &self.drops {
            row("drops", format!("{node}: {name} {count}"));
        }
        text
    }
}

/// The value of a counter in `/proc/net/snmp` and its like, where a line of names stands before each line of values.
fn counter(text: &str, name: &str) -> u64 {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let of = |pair: &[Vec<&str>]| {
        let [names, values] = pair else { return None };
        let place = names.iter().position(|word| *word == name)?;
        values.get(place).and_then(|value| value.parse().ok())
    };
    lines.windows(2).find_map(of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "Ip: Forwarding InReceives\nIp: 1 7\nTcp: MaxConn RetransSegs\nTcp: -1 12\n";
        assert_eq!(
            ["InReceives", "RetransSegs", "None", "MaxConn"].map(|name| counter(text, name)),
            [7, 12, 0, 0]
        );
    }
}
