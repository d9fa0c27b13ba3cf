//! What the demo measured, and the short table that shows it.

use super::{Options, Radio, configs};
use crate::testbed::TestbedError;
use std::fmt::Write as _;

/// The results of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// SGSN and GGSN by name.
    pub peers: (&'static str, &'static str),
    /// The radio of the cells.
    pub radio: Radio,
    /// Mobiles that were to attach.
    pub mobiles: u32,
    /// Mobiles with an active PDP context.
    pub active: u32,
    /// Active contexts that the SGSN itself reports; unknown where it is not ours.
    pub contexts_at_sgsn: Option<u32>,
    /// N-PDUs through the SGSN, downlink and uplink; unknown where it is not ours.
    pub n_pdus: Option<(u64, u64)>,
    /// Echo requests sent and answered.
    pub pings: (u32, u32),
    /// Round-trip times in ms: minimum, mean, maximum.
    pub rtt_ms: (f64, f64, f64),
    /// Octets downloaded.
    pub octets: u64,
    /// How long that took, in seconds.
    pub seconds: f64,
    /// SHA-256 of what arrived.
    pub sha256: String,
    /// Cell changes during the download.
    pub cell_changes: u32,
    /// Octets of LL-PDUs that the BSS has moved and deleted at them; unknown where the SGSN is not ours.
    pub octets_flushed: Option<(u64, u64)>,
    /// Drops by node and name.
    pub drops: Vec<(String, String, u64)>,
}

fn unreadable(what: &str, text: &str) -> TestbedError {
    TestbedError::Failed { command: what.to_owned(), message: format!("cannot be read: {text}") }
}

/// Minimum, mean and maximum of round-trip times, in ms.
pub(crate) type RttMs = (f64, f64, f64);

/// Echo requests sent and answered, and round-trip times in ms (minimum, mean, maximum), from what `ping` printed.
pub(crate) fn ping(text: &str) -> Result<((u32, u32), RttMs), TestbedError> {
    let counts = text.lines().find(|line| line.contains("packets transmitted"));
    let mut numbers =
        counts.into_iter().flat_map(|line| line.split_whitespace()).filter_map(|w| w.parse().ok());
    let rtt =
        text.lines().find_map(|line| line.split_once(" = ").filter(|(head, _)| head.contains("min/avg/max")));
    let rtt: Vec<f64> = rtt
        .into_iter()
        .flat_map(|(_, values)| values.split(['/', ' ']))
        .filter_map(|value| value.parse().ok())
        .collect();
    let (Some(sent), Some(received), [min, mean, max, ..]) = (numbers.next(), numbers.next(), rtt.as_slice())
    else {
        return Err(unreadable("ping", text));
    };
    Ok(((sent, received), (*min, *mean, *max)))
}

/// Octets, the time that they took, and their rate.
pub(crate) fn rate(octets: u64, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let mbps = octets as f64 * 8.0 / 1e6 / seconds.max(1e-9);
    let rate = if mbps < 0.1 { format!("{:.1} kbit/s", mbps * 1e3) } else { format!("{mbps:.2} Mbit/s") };
    format!("{octets} octets in {seconds:.2} s, {rate}")
}

/// From a node's `show drops`: a line for each name, `name count sentence…`.
pub(crate) fn drops(node: &str, text: &str) -> Vec<(String, String, u64)> {
    let of_line = |line: &str| {
        let mut fields = line.split_whitespace();
        let (name, count) = (fields.next()?, fields.next()?.parse().ok()?);
        Some((node.to_owned(), name.to_owned(), count))
    };
    text.lines().filter_map(of_line).collect()
}

impl Outcome {
    /// With so many mobiles active.
    pub(super) const fn new(options: &Options, active: u32) -> Self {
        Self {
            peers: (options.sgsn.name("osmo-sgsn"), options.ggsn.name("osmo-ggsn")),
            radio: options.radio,
            mobiles: options.mobiles,
            active,
            contexts_at_sgsn: None,
            n_pdus: None,
            pings: (0, 0),
            rtt_ms: (0.0, 0.0, 0.0),
            octets: 0,
            seconds: 0.0,
            sha256: String::new(),
            cell_changes: 0,
            octets_flushed: None,
            drops: Vec::new(),
        }
    }

    /// From what `ping` printed.
    pub(super) fn ping(&mut self, text: &str) -> Result<(), TestbedError> {
        (self.pings, self.rtt_ms) = ping(text)?;
        Ok(())
    }

    /// From curl's "octets seconds" and the digests of what arrived and what was sent.
    pub(super) fn download(&mut self, printed: &str, got: &str, expected: &str) -> Result<(), TestbedError> {
        let mut fields = printed.split_whitespace();
        let octets = fields.next().and_then(|field| field.parse().ok());
        let seconds = fields.next().and_then(|field| field.parse().ok());
        let (Some(octets), Some(seconds)) = (octets, seconds) else {
            return Err(unreadable("curl", printed));
        };
        if got != expected {
            let message = format!("SHA-256 of the download is {got}, of the original {expected}");
            return Err(TestbedError::Failed { command: "download".to_owned(), message });
        }
        (self.octets, self.seconds, self.sha256) = (octets, seconds, got.to_owned());
        Ok(())
    }

    /// From a node's `show drops`: a line for each name, `name count sentence…`.
    pub(super) fn counters(&mut self, node: &str, text: &str) {
        self.drops.extend(drops(node, text));
    }

    /// From the SGSN's `show stats`: `name value` lines.
    pub(super) fn packets(&mut self, text: &str) {
        let value = |name: &str| {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        self.n_pdus = value("n_pdu_downlink").zip(value("n_pdu_uplink"));
        self.octets_flushed = value("octets_moved").zip(value("octets_deleted"));
    }

    /// From the SGSN's `show pdp-context all`: a line with `NSAPI:` for each context, as of osmo-sgsn.
    pub(super) fn contexts_at_sgsn(&mut self, text: &str) {
        let count = text.lines().filter(|line| line.contains("NSAPI: ")).count();
        self.contexts_at_sgsn = u32::try_from(count).ok();
    }

    /// True when everything that was to happen did.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.active == self.mobiles
            && self.pings.0 == self.pings.1
            && self.pings.0 > 0
            && !self.sha256.is_empty()
            && self.contexts_at_sgsn.is_none_or(|contexts| contexts == self.mobiles)
    }

    /// The short table.
    #[must_use]
    pub fn table(&self) -> String {
        let unknown = || "not told by this SGSN".to_owned();
        let mut text = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<24} {value}");
        };
        row("SGSN, GGSN", format!("{}, {}", self.peers.0, self.peers.1));
        row("radio", configs::radio_in_words(self.radio).to_owned());
        row("mobiles attached", format!("{} of {}", self.active, self.mobiles));
        row(
            "PDP contexts at the SGSN",
            self.contexts_at_sgsn.map_or_else(unknown, |count| count.to_string()),
        );
        let n_pdus = self.n_pdus.map_or_else(unknown, |(down, up)| format!("{down} down, {up} up"));
        row("N-PDUs", n_pdus);
        let (min, mean, max) = self.rtt_ms;
        let pings =
            format!("{} of {} answered, RTT {min:.2} / {mean:.2} / {max:.2} ms", self.pings.1, self.pings.0);
        row("ping", pings);
        row("download", rate(self.octets, self.seconds));
        if self.cell_changes > 0 {
            let flushed = self.octets_flushed.map_or_else(unknown, |(moved, deleted)| {
                format!("{moved} octets moved, {deleted} deleted by the BSS")
            });
            row("cell changes", format!("{}, {flushed}", self.cell_changes));
        }
        row("SHA-256", format!("{} (as sent)", self.sha256));
        if self.drops.is_empty() {
            row("drops", "none".to_owned());
        }
        for (node, name, count) in &self.drops {
            row("drops", format!("{node}: {name} {count}"));
        }
        text
    }
}
