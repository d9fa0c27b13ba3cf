//! `radio-interop`: round trips and rates of `gannet bss` with RLC/MAC, and of `gannet ms` on Osmocom's BSS, on Osmocom's SGSN and GGSN
//! and on ours, in real time, beside a chain with a real phone stack.
//!
//! Each chain has namespaces of its own, and the chains are measured in turns. What is different from the real chain is named by
//! contribution: those of the real chain come from its capture, ours from the same settings in virtual time.

mod air;
mod bed;
mod kind;
mod real;

use crate::measure::stats::Samples;
use crate::radio::rtt::{self, Parts};
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most};
use crate::testbed;
use bed::{Amounts, Bed, Round};
use gannet_machine::time::Duration;
use gannet_wire::rlcmac::coding::CodingScheme;
use kind::{Air, CORES, Kind, SETTINGS, Setting, cores_in_words};
use serde_json::json;
use std::fmt::Write as _;

/// Beside the programs of this crate.
const PROGRAMS: [&str; 5] = ["osmo-sgsn", "osmo-ggsn", "ping", "curl", "ip"];
/// By how much ours may differ.
const TOLERANCE: f64 = 0.15;

const fn amounts(size: Size) -> Amounts {
    match size {
        Size::Quick => Amounts { rounds: 1, pings: 5, down_octets: 30_000, up_octets: 8000 },
        Size::Normal => Amounts { rounds: 3, pings: 15, down_octets: 100_000, up_octets: 30_000 },
        Size::Full => Amounts { rounds: 9, pings: 30, down_octets: 200_000, up_octets: 60_000 },
    }
}

/// All rounds of one chain.
struct Row {
    kind: Kind,
    first_ms: Samples,
    pings_ms: Samples,
    short_pings_ms: Samples,
    down_kbps: Samples,
    up_kbps: Samples,
    lost: u32,
}

impl Row {
    const fn new(kind: Kind) -> Self {
        const NONE: Samples = Samples::NONE;
        Self {
            kind,
            first_ms: NONE,
            pings_ms: NONE,
            short_pings_ms: NONE,
            down_kbps: NONE,
            up_kbps: NONE,
            lost: 0,
        }
    }

    fn add(&mut self, round: &Round) {
        self.first_ms.push(round.first_ms);
        round.pings_ms.iter().for_each(|ms| self.pings_ms.push(*ms));
        round.short_pings_ms.iter().for_each(|ms| self.short_pings_ms.push(*ms));
        self.down_kbps.push(round.down_kbps);
        self.up_kbps.push(round.up_kbps);
        self.lost += round.lost;
    }

    fn cell(&self) -> Cell {
        let Kind { setting, air, cores } = self.kind;
        let axis = [
            ("radio", json!(setting.name)),
            ("mobile, BSS", json!(air.in_words())),
            ("SGSN, GGSN", json!(cores_in_words(cores))),
        ];
        let metrics = [
            ("first_ping_ms", self.first_ms.json()),
            ("ping_56_ms", self.pings_ms.json()),
            ("ping_32_ms", self.short_pings_ms.json()),
            ("downlink_kbps", self.down_kbps.json()),
            ("uplink_kbps", self.up_kbps.json()),
            ("pings_lost", json!(self.lost)),
        ];
        Cell::new(axis, metrics.map(|(name, value)| (name.to_owned(), value)))
    }
}

/// All chains that this machine has the programs for, and what is said of the others.
fn kinds() -> (Vec<Kind>, Option<String>) {
    let own = SETTINGS
        .iter()
        .flat_map(|setting| CORES.into_iter().map(move |cores| Kind { setting, air: Air::Own, cores }));
    let missing = Air::Osmocom.missing();
    if !missing.is_empty() {
        let left_out = format!(
            "{}: this machine has no {}; install Debian's packages",
            Air::Osmocom.in_words(),
            missing.join(", ")
        );
        return (own.collect(), Some(left_out));
    }
    // osmo-pcu has the settings of the real chain by itself.
    let [setting, _] = &SETTINGS;
    let of_one_house = CORES.into_iter().filter(|(sgsn, ggsn)| sgsn == ggsn);
    let osmocom = of_one_house.map(|cores| Kind { setting, air: Air::Osmocom, cores });
    (own.chain(osmocom).collect(), None)
}

fn parts(setting: &Setting, options: &Options) -> Result<Parts, String> {
    let ms = |ms: u16| Duration::from_millis(ms.into());
    let idle = setting.idle_ms.map_or((Duration::ZERO, ms(200)), |(time, poll)| (ms(time), ms(poll)));
    let coding = CodingScheme::of_command(setting.scheme.saturating_sub(1));
    rtt::parts_of(coding, (setting.down.into(), 1), idle, options)
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, a program has ended, or something did not come as it was sent.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("radio-interop", &PROGRAMS)?;
    let amounts = amounts(options.size);
    let simulated = SETTINGS.each_ref().map(|setting| parts(setting, options));
    let (kinds, left_out) = kinds();
    if let Some(why) = &left_out {
        eprintln!("radio-interop: SKIPPED: {why}");
    }
    let mut rows: Vec<Row> = kinds.into_iter().map(Row::new).collect();
    let start = |(number, row): (usize, &Row)| Bed::start(row.kind, number, amounts, options, &stop);
    let mut beds = rows.iter().enumerate().map(start).collect::<Result<Vec<_>, _>>()?;
    beds.iter_mut().try_for_each(Bed::wait)?;
    for number in 0..amounts.rounds {
        for (bed, row) in beds.iter_mut().zip(&mut rows) {
            let round = bed.round()?;
            if options.progress {
                eprintln!(
                    "radio-interop: round {} of {}, {}, {}: down {:.1} kbit/s, up {:.1} kbit/s",
                    number + 1,
                    amounts.rounds,
                    row.kind.setting.name,
                    row.kind.in_words(),
                    round.down_kbps,
                    round.up_kbps
                );
            }
            row.add(&round);
        }
    }
    drop(beds);
    let [first, second] = simulated;
    let simulated = [first?, second?];
    let mut report = Report::here("radio-interop", options);
    report.parameter("rounds of each chain, in turns", amounts.rounds);
    if let Some(why) = left_out {
        report.parameter("not in the table", why);
    }
    report.parameter(
        "pings",
        format!(
            "{} of 56 octets and as many of 32 in turns, each {} to {} ms after the last answer",
            amounts.pings,
            bed::BETWEEN_PINGS.as_millis(),
            (bed::BETWEEN_PINGS + bed::JITTER).as_millis()
        ),
    );
    report.parameter(
        "TCP",
        format!(
            "{} octets downlink, {} uplink, {}, N201-U 500",
            amounts.down_octets,
            amounts.up_octets,
            bed::CONGESTION
        ),
    );
    report.cells = rows.iter().map(Row::cell).collect();
    report.verdicts = verdicts(&rows, &simulated);
    report.remarks = vec![table(&rows), table_of_parts(&simulated[0])];
    Ok(report)
}

fn spread(of: &Samples, digits: usize) -> String {
    format!("{:.digits$} [{:.digits$}..{:.digits$}]", of.median(), of.min(), of.max())
}

fn table(rows: &[Row]) -> String {
    let mut text = "| radio | mobile, BSS | SGSN, GGSN | first ping, ms | ping of 56 octets, ms | ping of 32 octets, ms | TCP down, kbit/s | TCP up, kbit/s |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let ms = [&row.first_ms, &row.pings_ms, &row.short_pings_ms].map(|of| spread(of, 0));
        let kbps = [&row.down_kbps, &row.up_kbps].map(|of| spread(of, 1));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            row.kind.setting.name,
            row.kind.air.in_words(),
            cores_in_words(row.kind.cores),
            ms.join(" | "),
            kbps.join(" | ")
        );
    }
    let (least, most) = real::RTT_MS;
    let (from, to) = real::RTT_SPREAD_MS;
    let (slow, fast) = real::DOWN_KBPS;
    let _ = writeln!(
        text,
        "| as the first | real phone stack, osmo-pcu | osmo-sgsn, osmo-ggsn | – | mean {least:.0} and {most:.0} [{from:.0}..{to:.0}] | – | \
         {slow:.0} to {fast:.0} | {:.0} |",
        real::UP_KBPS
    );
    text
}

/// Parts of the round trip: their name, those of the real chain and ours, in ms.
fn contributions((total, parts): &Parts) -> Vec<(&'static str, f64, f64)> {
    let ours = |name: &str| parts.iter().find(|part| part.0 == name).map_or(f64::NAN, |part| part.1);
    let assigned = ours("wait for the access burst") + ours("uplink assignment");
    let assignment = real::wait_ms() + real::TO_ASSIGNMENT_MS;
    let downlink = ours("downlink assignment") + ours("downlink blocks");
    vec![
        ("wait for a poll, until the uplink is assigned", assignment, assigned),
        ("the mobile confirms the assignment", real::TO_CONFIRMATION_MS, 0.0),
        ("from there to the first block", real::TO_FIRST_BLOCK_MS, 0.0),
        ("uplink blocks, with the wait for them", real::UPLINK_BLOCKS_MS, ours("uplink blocks")),
        ("network", real::NETWORK_MS, ours("network")),
        ("downlink blocks", real::DOWNLINK_BLOCKS_MS, downlink),
        ("sum", real::RTT_MS.1, *total),
    ]
}

fn table_of_parts(parts: &Parts) -> String {
    let mut text =
        "| part of the round trip, mean in ms | real chain | ours in virtual time | difference |\n\
                    |---|---|---|---|\n"
            .to_owned();
    for (name, real, ours) in contributions(parts) {
        let _ = writeln!(text, "| {name} | {real:.0} | {ours:.0} | {:.0} |", ours - real);
    }
    text
}

fn verdict(name: &str, means: &str, ours: String, goal: String, holds: Option<bool>) -> Verdict {
    Verdict { name: name.to_owned(), means: means.to_owned(), paper: None, ours, goal, holds }
}

/// True within the tolerance around a range; `None` where nothing was measured.
fn is_near(value: f64, (least, most): (f64, f64)) -> Option<bool> {
    let low = at_least(value, least * (1.0 - TOLERANCE))?;
    Some(low && at_most(value, most * (1.0 + TOLERANCE))?)
}

fn mean(samples: &Samples) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    samples.each().for_each(|(_, value)| (sum, count) = (sum + value, count + 1.0));
    sum / count
}

fn verdicts(rows: &[Row], simulated: &[Parts; 2]) -> Vec<Verdict> {
    let mut all = Vec::new();
    let lost: u32 = rows.iter().map(|row| row.lost).sum();
    all.push(verdict(
        "pings without an answer",
        "Pings that no answer came to within 5 s, of all chains.",
        lost.to_string(),
        "0".to_owned(),
        at_most(f64::from(lost), 0.0),
    ));
    let [as_real, _] = &SETTINGS;
    for row in rows.iter().filter(|row| row.kind.setting == as_real) {
        let who = row.kind.in_words();
        let (down, up) = (row.down_kbps.median(), row.up_kbps.median());
        all.push(verdict(
            &format!("TCP downlink beside the real chain: {who}"),
            "Median rate of TCP downlink with CS-4 and four timeslots, beside that of the chain with a real phone stack.",
            format!("{down:.1} kbit/s"),
            format!("{:.0} to {:.0} kbit/s, 15 % less to 15 % more", real::DOWN_KBPS.0, real::DOWN_KBPS.1),
            is_near(down, real::DOWN_KBPS),
        ));
        all.push(verdict(
            &format!("TCP uplink beside the real chain: {who}"),
            "Median rate of TCP uplink with CS-4 and one timeslot, beside that of the chain with a real phone stack.",
            format!("{up:.1} kbit/s"),
            format!("{:.0} kbit/s, 15 % less to 15 % more", real::UP_KBPS),
            is_near(up, (real::UP_KBPS, real::UP_KBPS)),
        ));
        all.push(round_trip(row, &who));
    }
    for (setting, simulated) in SETTINGS.iter().zip(simulated) {
        let of = rows.iter().filter(|row| row.kind.setting == setting && row.kind.air == Air::Own);
        for row in of {
            let measured = mean(&row.short_pings_ms);
            all.push(verdict(
                &format!("ping of 32 octets as in virtual time: {}, {}", setting.name, cores_in_words(row.kind.cores)),
                "Mean round trip of pings of 32 octets in real time, beside that of the same radio in virtual time.",
                format!("{measured:.0} ms"),
                format!("{:.0} ms, 15 % less to 15 % more", simulated.0),
                is_near(measured, (simulated.0, simulated.0)),
            ));
        }
    }
    all
}

/// Within the tolerance as it is, or with the confirmation of an assignment, which only osmo-pcu asks for.
fn round_trip(row: &Row, who: &str) -> Verdict {
    let measured = mean(&row.pings_ms);
    // What the capture has: osmo-pcu has the assignment confirmed first, and our PCU does not.
    let named = match row.kind.air {
        Air::Own => real::TO_CONFIRMATION_MS + real::TO_FIRST_BLOCK_MS,
        Air::Osmocom => 0.0,
    };
    let holds = match is_near(measured, real::RTT_MS) {
        Some(false) => is_near(measured + named, real::RTT_MS),
        near => near,
    };
    verdict(
        &format!("round trip beside the real chain: {who}"),
        "Mean round trip of pings of 56 octets with the real chain's settings; where it differs by more than 15 %, with the time in \
         which the real chain has the uplink assignment confirmed.",
        format!("{measured:.0} ms, with the confirmation {:.0} ms", measured + named),
        format!("{:.0} to {:.0} ms, 15 % less to 15 % more", real::RTT_MS.0, real::RTT_MS.1),
        holds,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_ping_and_curl_print_is_read() {
        let said = "PING 192.0.2.10 (192.0.2.10) from 198.51.100.1 ms0: 56(84) bytes of data.\n\
                    64 bytes from 192.0.2.10: icmp_seq=1 ttl=63 time=98.5 ms\n\n1 packets transmitted, 1 received";
        assert_eq!(bed::time_ms(said), Some(98.5));
        assert_eq!(bed::time_ms("1 packets transmitted, 0 received, 100% packet loss, time 0ms"), None);
        assert_eq!(bed::kbps("1000 0.5 1.5"), Some(8.0));
        assert_eq!(["1000 1.5 1.5", "0 0.5 1.5", "1000 0.5", ""].map(bed::kbps), [None; 4]);
    }

    #[test]
    fn parts_of_the_real_chain_are_its_round_trip() {
        let names = ["wait for the access burst", "uplink assignment", "uplink blocks", "network"];
        let more = ["downlink assignment", "downlink blocks"];
        let all: Vec<_> = names.into_iter().chain(more).map(|name| (name, 10.0)).collect();
        let rows = contributions(&(60.0, all.try_into().unwrap()));
        let (sum, parts) = rows.split_last().unwrap();
        let sums = parts.iter().fold((0.0, 0.0), |sums, (_, real, ours)| (sums.0 + real, sums.1 + ours));
        assert!((sums.0 - sum.1).abs() < 1e-9 && (sums.1 - sum.2).abs() < 1e-9, "{rows:?}");
    }

    /// A round trip far from the real chain's holds only with the confirmation, and one that was not measured is not shown.
    #[test]
    fn a_difference_has_to_be_named() {
        let by = |air: Air, measured: &[f64]| {
            let [setting, _] = &SETTINGS;
            let mut row = Row::new(Kind { setting, air, cores: CORES[0] });
            row.pings_ms = measured.iter().copied().collect();
            round_trip(&row, "x").holds
        };
        let holds = |measured: &[f64]| by(Air::Own, measured);
        assert_eq!(holds(&[340.0, 380.0]), Some(true));
        assert_eq!(holds(&[230.0, 250.0]), Some(true));
        assert_eq!(holds(&[120.0, 130.0]), Some(false));
        assert_eq!(holds(&[]), None);
        // Behind osmo-pcu the confirmation is in the round trip already.
        assert_eq!(by(Air::Osmocom, &[340.0, 380.0]), Some(true));
        assert_eq!(by(Air::Osmocom, &[230.0, 250.0]), Some(false));
    }

    #[test]
    fn a_range_has_its_tolerance_and_nothing_measured_is_not_near() {
        let near = |value| is_near(value, (68.0, 72.0));
        assert_eq!([57.0, 58.0, 70.0, 82.0, 83.0].map(near), [false, true, true, true, false].map(Some));
        assert_eq!(near(f64::NAN), None);
    }
}
