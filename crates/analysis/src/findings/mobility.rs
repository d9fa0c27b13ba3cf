//! Findings of changes of cell.

use super::{Finding, Names, ms};
use crate::mobility::report::{Flush, Report, Reselection, Type};
use crate::record::Proof;
use crate::series::{quantile, real, seconds};

/// Changes of cell that are told one by one.
const EACH_MAX: usize = 200;

pub(super) fn of_mobility(report: &Report, names: &Names, findings: &mut Vec<Finding>) {
    for kind in [Type::CellUpdate, Type::WithUpdate, Type::Failed] {
        let all: Vec<&Reselection> = report.reselections.iter().filter(|it| it.kind == kind).collect();
        if !all.is_empty() {
            summary(kind, &all, findings);
        }
    }
    for reselection in report.reselections.iter().take(EACH_MAX) {
        let of = format!("{} at {}", names.mobile(reselection.mobile), names.place(reselection.place));
        one(reselection, &of, findings);
        flushes(reselection, &of, findings);
    }
    for (tlli, flush) in report.strays.iter().take(EACH_MAX) {
        let text = format!("FLUSH-LL of BVCI {}, and the mobile has not changed its cell", flush.old_bvci);
        let of = format!("TLLI {tlli:08x}");
        findings.push(flushed("flush-stray", &of, text, flush));
    }
    let besides =
        report.reselections.len().saturating_sub(EACH_MAX) + report.strays.len().saturating_sub(EACH_MAX);
    let left_out = report.left_out + besides as u64;
    if left_out > 0 {
        let text = format!("{left_out} more changes of cell, FLUSH-LLs or mobiles beyond the limits");
        findings.push(Finding::new("reselection-left-out", "cells", text).number("left_out", real(left_out)));
    }
}

fn summary(kind: Type, all: &[&Reselection], findings: &mut Vec<Finding>) {
    let mut outages: Vec<u64> = all.iter().filter_map(|it| it.outage_ns()).collect();
    let mut of_tcp: Vec<u64> = all.iter().filter_map(|it| Some(it.tcp?.outage_ns)).collect();
    let mut recoveries: Vec<u64> = all.iter().filter_map(|it| it.tcp?.recovery_ns).collect();
    let spurious: u64 = all.iter().filter_map(|it| it.tcp).map(|tcp| tcp.spurious).sum();
    let late: u64 = all.iter().map(|it| it.late_frames).sum();
    let span = |values: &mut Vec<u64>| match (quantile(values, 0.5), quantile(values, 1.0)) {
        (Some(median), Some(worst)) => format!("{} as the median, {} at worst", ms(median), ms(worst)),
        _ => "not seen".to_owned(),
    };
    let text = format!(
        "{}; user data stood still for {}; TCP for {}, and recovered within {}; {spurious} needless timeouts; {late} LL-PDUs were sent \
         to cells that mobiles had left",
        all.len(),
        span(&mut outages),
        span(&mut of_tcp),
        span(&mut recoveries)
    );
    findings.push(
        Finding::new("reselections", kind.name(), text)
            .number("count", real(all.len() as u64))
            .number("outage_median_s", quantile(&mut outages, 0.5).map_or(0.0, seconds))
            .number("outage_worst_s", quantile(&mut outages, 1.0).map_or(0.0, seconds))
            .number("tcp_outage_median_s", quantile(&mut of_tcp, 0.5).map_or(0.0, seconds))
            .number("tcp_recovery_median_s", quantile(&mut recoveries, 0.5).map_or(0.0, seconds))
            .number("spurious_timeouts", real(spurious))
            .number("late_frames", real(late))
            .proved_by(all.iter().map(|it| it.arrived.1)),
    );
}

fn one(reselection: &Reselection, of: &str, findings: &mut Vec<Finding>) {
    let tcp = reselection.tcp.map_or_else(String::new, |tcp| {
        let recovered = tcp.recovery_ns.map_or_else(|| "not recovered".to_owned(), |ns| format!("recovered {} later", ms(ns)));
        format!(
            "; TCP was not heard for {} and {recovered}, with {} segments sent again, {} timeouts, {} of them needless",
            ms(tcp.outage_ns), tcp.sent_again, tcp.timeouts, tcp.spurious
        )
    });
    let mut finding = Finding::new("reselection", of, format!("{}{tcp}", reselection.words()))
        .number("silence_s", seconds(reselection.silence_ns()))
        .number("late_frames", real(reselection.late_frames))
        .number("late_octets", real(reselection.late_octets))
        .number("discarded_frames", real(reselection.discarded_frames))
        .number("lost_up", real(reselection.lost_up))
        .number("doubled_up", real(reselection.doubled_up));
    if let Some(outage) = reselection.outage_ns() {
        finding = finding.number("outage_s", seconds(outage));
    }
    if let Some(update) = reselection.update_ns() {
        finding = finding.number("update_s", seconds(update));
    }
    if let Some(tcp) = reselection.tcp {
        finding = finding
            .number("tcp_outage_s", seconds(tcp.outage_ns))
            .number("tcp_recovery_s", tcp.recovery_ns.map_or(0.0, seconds))
            .number("timeouts", real(tcp.timeouts))
            .number("spurious_timeouts", real(tcp.spurious));
    }
    findings.push(finding.proved_by(reselection.proofs()));
    if reselection.misdirected_frames > 0 {
        let text = format!(
            "{} LL-PDUs went to another cell after the mobile had been heard in {}",
            reselection.misdirected_frames, reselection.to
        );
        let last = reselection.last_misdirected.map(|(_, proof)| proof);
        findings.push(
            Finding::new("sent-to-wrong-cell", of, text)
                .number("frames", real(reselection.misdirected_frames))
                .proved_by([reselection.arrived.1].into_iter().chain(last)),
        );
    }
}

fn flushes(reselection: &Reselection, of: &str, findings: &mut Vec<Finding>) {
    // On the radio there is none, nor is one of use where the BVC stays.
    if reselection.from.bvci.is_none() || reselection.from.bvci == reselection.to.bvci {
        return;
    }
    if reselection.flushes.is_empty() && reselection.late_frames > 0 {
        let text = format!(
            "no FLUSH-LL after the change from {} to {}: {} LL-PDUs may wait in the old cell",
            reselection.from, reselection.to, reselection.late_frames
        );
        let proofs: [Option<Proof>; 2] =
            [Some(reselection.arrived.1), reselection.last_late.map(|(_, proof)| proof)];
        findings.push(
            Finding::new("flush-missing", of, text)
                .number("late_frames", real(reselection.late_frames))
                .proved_by(proofs.into_iter().flatten()),
        );
    }
    for flush in reselection.wrong_flushes() {
        let new = flush.new_bvci.map_or_else(|| "none".to_owned(), |bvci| bvci.to_string());
        let text = format!(
            "FLUSH-LL sent to the wrong cell: it says from BVCI {} to {new}, and the mobile went from {} to {}",
            flush.old_bvci, reselection.from, reselection.to
        );
        findings.push(flushed("flush-wrong-cell", of, text, flush));
    }
    for flush in &reselection.flushes {
        let (kind, text) = match flush.answer {
            None => ("flush-unanswered", "FLUSH-LL was not answered".to_owned()),
            Some((_, _, true, octets)) => ("flush-moved", format!("FLUSH-LL moved {octets} octets")),
            Some((_, _, false, octets)) => ("flush-deleted", format!("FLUSH-LL deleted {octets} octets")),
        };
        findings.push(flushed(kind, of, text, flush));
    }
}

fn flushed(kind: &'static str, of: &str, text: String, flush: &Flush) -> Finding {
    let octets = flush.answer.map_or(0, |(_, _, _, octets)| octets);
    let answer = flush.answer.map(|(_, proof, ..)| proof);
    Finding::new(kind, of, text)
        .number("octets", f64::from(octets))
        .proved_by([flush.proof].into_iter().chain(answer))
}
