//! Findings of TCP.

use super::{Finding, Names, kbit, ms};
use crate::record::Proof;
use crate::series::{real, seconds};
use crate::tcp::between::Way;
use crate::tcp::report::{BufferEstimate, ConnectionReport, HalfReport, Kind, Retransmission};

/// Duplicate acknowledgements that a fast retransmission needs, and the lost segment itself (RFC 5681, clause 3.2).
const SEGMENTS_FOR_FAST: u64 = 4;

pub(super) fn of_connection(connection: &ConnectionReport, names: &Names, findings: &mut Vec<Finding>) {
    for (half, is_forward) in [(&connection.forward, true), (&connection.backward, false)] {
        let of =
            format!("{} at {}", names.way(connection.connection, is_forward), names.place(connection.place));
        if half.data.is_some() {
            throughput(half, &of, findings);
            round_trips(half, &of, findings);
            sent_again(half, &of, findings);
            spurious(half, &of, findings);
            buffer(half, &of, findings);
            small_buffer(half, &of, findings);
        }
        outages(half, &of, findings);
        gaps(half, &of, findings);
    }
    if let Some(reset) = connection.reset {
        let of = names.way(connection.connection, true);
        findings.push(Finding::new("tcp-reset", &of, "it was reset".to_owned()).proved_by([reset]));
    }
}

fn throughput(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    let (Some(rate), Some((first, last))) = (half.mean_rate(), half.data) else { return };
    let text = format!(
        "{} octets were acknowledged in {:.1} s: {}; {} octets passed",
        half.acknowledged_octets,
        last.0.seconds_since(first.0),
        kbit(rate),
        half.octets
    );
    findings.push(
        Finding::new("tcp-throughput", of, text)
            .number("octets", real(half.acknowledged_octets))
            .number("seconds", last.0.seconds_since(first.0))
            .number("octets_per_s", rate)
            .proved_by([first.1, last.1]),
    );
}

fn round_trips(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    let Some(idle) = half.idle_rtt else { return };
    let (median, most) = (half.rtt_quantile(0.5).unwrap_or(0), half.rtt_quantile(1.0).unwrap_or(0));
    let text = format!(
        "the round trip from here to the receiver is {} at least, {} as the median, {} at most, of {} samples",
        ms(idle.rtt_ns),
        ms(median),
        ms(most),
        half.round_trips.seen()
    );
    findings.push(
        Finding::new("tcp-rtt", of, text)
            .number("least_s", seconds(idle.rtt_ns))
            .number("median_s", seconds(median))
            .number("most_s", seconds(most))
            .number("samples", real(half.round_trips.seen()))
            .proved_by([idle.sent, idle.answered]),
    );
}

fn sent_again(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    let all = half.retransmissions.len() as u64 + half.retransmissions_besides;
    if all == 0 {
        return;
    }
    let kinds = [Kind::Fast, Kind::Timeout, Kind::Tail].map(|kind| (kind, half.count(kind)));
    let [(_, fast), (_, timeout), (_, tail)] = kinds;
    let text = format!(
        "{all} of {} segments were sent again: {} in {} fast recoveries, {} after {} timeouts, {} as tail probes; {} are known \
         to have been needless",
        half.data_segments,
        fast.0,
        fast.1,
        timeout.0,
        timeout.1,
        tail.0,
        fast.2 + timeout.2 + tail.2
    );
    findings.push(
        Finding::new("tcp-sent-again", of, text)
            .number("all", real(all))
            .number("fast", real(fast.0))
            .number("after_timeout", real(timeout.0))
            .number("timeouts", real(timeout.1))
            .number("tail_probes", real(tail.0))
            .number("needless", real(fast.2 + timeout.2 + tail.2))
            .proved_by(half.retransmissions.iter().map(|again| again.proof)),
    );
}

/// Timers that ran out though the data, or their acknowledgement, were on the way.
fn spurious(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    for again in half.retransmissions.iter().filter(|again| again.kind == Kind::Timeout && again.begins) {
        let Some(why) = again.spurious else { continue };
        let waited = again.before.map(|(at, _)| again.at.0.saturating_sub(at.0));
        let after = waited.map_or(String::new(), |waited| format!(" after {}", ms(waited)));
        let text = format!("a spurious timeout{after} at octet {}: {}", again.start, why.name());
        let proofs = again.before.map(|(_, proof)| proof).into_iter().chain([again.proof]);
        findings.push(
            Finding::new("tcp-spurious-timeout", of, text)
                .number("waited_s", waited.map_or(0.0, seconds))
                .proved_by(proofs),
        );
    }
}

fn buffer(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    let Some(estimate) = half.buffer() else { return };
    let like = |other: &&BufferEstimate| (other.segments - estimate.segments).abs() <= 3.0;
    let agree = half.buffers.iter().filter(like).count();
    let place = if estimate.is_before { "" } else { ", seen from behind it" };
    let text = format!(
        "the buffer of the bottleneck holds about {} octets of IP ({:.1} segments){place}: at the first loss {} octets were \
         outstanding; the idle round trip of {} at {} holds the others. It stands for a delay of {}. {agree} of {} losses say the same",
        estimate.ip_octets,
        estimate.segments,
        estimate.outstanding_octets,
        ms(estimate.idle_rtt_ns),
        kbit(estimate.rate),
        ms(estimate.delay_ns),
        half.buffers.len()
    );
    findings.push(
        Finding::new("tcp-buffer", of, text)
            .number("ip_octets", real(estimate.ip_octets))
            .number("octets", real(estimate.octets))
            .number("octets_by_rate", real(estimate.by_rate))
            .number("segments", estimate.segments)
            .number("outstanding_octets", real(estimate.outstanding_octets))
            .number("idle_rtt_s", seconds(estimate.idle_rtt_ns))
            .number("octets_per_s", estimate.rate)
            .number("delay_s", seconds(estimate.delay_ns))
            .proved_by([estimate.lost, estimate.replaced]),
    );
}

/// Timeouts again and again, as too little fits behind a lost segment for three duplicate acknowledgements.
fn small_buffer(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    let is_needed =
        |again: &&Retransmission| again.kind == Kind::Timeout && again.begins && again.spurious.is_none();
    let timeouts: Vec<Proof> =
        half.retransmissions.iter().filter(is_needed).map(|again| again.proof).collect();
    let (count, (fast, ..)) = (timeouts.len() as u64, half.count(Kind::Fast));
    let most = half.outstanding_max.map_or(0, |most| most.octets);
    let segments = real(most) / real(half.segment.octets.max(1));
    if count < 3 || fast >= count || segments > real(2 * SEGMENTS_FOR_FAST) {
        return;
    }
    let text = format!(
        "{count} timeouts repair losses, and {fast} fast retransmissions: at most {segments:.1} segments are outstanding, and three \
         must arrive behind a lost one for a fast retransmission"
    );
    findings.push(
        Finding::new("tcp-repeated-timeouts", of, text)
            .number("timeouts", real(count))
            .number("fast", real(fast))
            .number("segments_outstanding_most", segments)
            .proved_by(timeouts),
    );
}

fn outages(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    for outage in &half.outages {
        let recovery = match outage.recovery_ns() {
            Some(recovery) => format!("everything sent by then was acknowledged {} later", ms(recovery)),
            None => "what was sent by then was not all acknowledged".to_owned(),
        };
        let text = format!(
            "nothing came back for {} while {} octets were outstanding; {recovery}, after {} segments were sent again",
            ms(outage.length_ns()),
            outage.outstanding,
            outage.sent_again
        );
        let proofs =
            [outage.from.1, outage.until.1].into_iter().chain(outage.recovered.map(|(_, proof)| proof));
        let mut finding = Finding::new("tcp-outage", of, text)
            .number("length_s", seconds(outage.length_ns()))
            .number("outstanding_octets", real(outage.outstanding))
            .number("sent_again", real(outage.sent_again))
            .proved_by(proofs);
        if let Some(recovery) = outage.recovery_ns() {
            finding = finding.number("recovery_s", seconds(recovery));
        }
        findings.push(finding);
    }
    if let Some(silence) = half.silence.filter(|silence| silence.length_ns >= 1_000_000_000) {
        let text = format!("the longest time without data is {}", ms(silence.length_ns));
        findings.push(
            Finding::new("tcp-silence", of, text)
                .number("length_s", seconds(silence.length_ns))
                .proved_by([silence.between.0, silence.between.1]),
        );
    }
}

/// What cannot be known from the capture.
fn gaps(half: &HalfReport, of: &str, findings: &mut Vec<Finding>) {
    if half.unseen_octets > 0 {
        let text = format!("{} octets were acknowledged that the capture does not have", half.unseen_octets);
        findings.push(Finding::new("tcp-unseen", of, text).number("octets", real(half.unseen_octets)));
    }
    if half.strange > 0 {
        let text = format!("{} numbers belong to no window and were left out", half.strange);
        findings.push(Finding::new("tcp-strange", of, text).number("numbers", real(half.strange)));
    }
    if half.reordered_octets > 0 {
        let text = format!("{} octets came later than those behind them", half.reordered_octets);
        findings.push(Finding::new("tcp-reordered", of, text).number("octets", real(half.reordered_octets)));
    }
}

pub(super) fn of_ways(ways: &[Way], names: &Names, findings: &mut Vec<Finding>) {
    for way in ways {
        let of = format!("{} to {}", names.place(way.from), names.place(way.to));
        let signed = |ns: i64| format!("{}{}", if ns < 0 { "−" } else { "" }, ms(ns.unsigned_abs()));
        let text = format!(
            "{} segments came through in {} to {}, {} were lost on the way",
            way.arrived,
            signed(way.delay_ns.0),
            signed(way.delay_ns.1),
            way.lost
        );
        findings.push(
            Finding::new("tcp-way", &of, text)
                .number("arrived", real(way.arrived))
                .number("lost", real(way.lost))
                .proved_by(way.lost_first.iter().map(|lost| lost.proof)),
        );
    }
}
