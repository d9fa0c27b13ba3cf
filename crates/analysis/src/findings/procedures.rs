//! Findings of GMM, SM and GTP, and of what could not be read.

use super::{Finding, Names, ms};
use crate::procedures::report::{Outcome, Procedure, Report};
use crate::series::{real, seconds};
use crate::{cipher, compression};

/// Rejects, and procedures without an answer, that are told one by one.
const EACH_MAX: usize = 100;

pub(super) fn of_procedures(report: &Report, names: &Names, findings: &mut Vec<Finding>) {
    for row in &report.rows {
        let of = format!("{} at {}", row.kind.name(), names.place(row.place));
        let times = match row.median_ns.zip(row.worst_ns) {
            Some((median, worst)) => {
                format!("; answered after {} as the median, {} at worst", ms(median), ms(worst))
            }
            None => String::new(),
        };
        let text = format!(
            "{}: {} accepted, {} rejected, {} not answered; {} requests came again{times}",
            row.count, row.accepted, row.rejected, row.unanswered, row.repeats
        );
        findings.push(
            Finding::new("procedure", &of, text)
                .number("count", real(row.count))
                .number("accepted", real(row.accepted))
                .number("rejected", real(row.rejected))
                .number("unanswered", real(row.unanswered))
                .number("repeats", real(row.repeats))
                .number("median_s", row.median_ns.map_or(0.0, seconds))
                .number("worst_s", row.worst_ns.map_or(0.0, seconds))
                .proved_by([row.proofs.0].into_iter().chain(row.proofs.1)),
        );
    }
    let failed = |it: &&Procedure| matches!(it.outcome, Outcome::Rejected(_) | Outcome::Unanswered);
    let mut all = report.procedures.iter().filter(failed);
    for procedure in all.by_ref().take(EACH_MAX) {
        let of = format!("{} at {}", names.mobile(procedure.mobile), names.place(procedure.place));
        let kind = if procedure.outcome == Outcome::Unanswered {
            "procedure-unanswered"
        } else {
            "procedure-rejected"
        };
        let text =
            format!("{} {}; {} repetitions", procedure.kind.name(), procedure.ending(), procedure.repeats);
        let cause = match &procedure.outcome {
            Outcome::Rejected(cause) => cause.number,
            _ => None,
        };
        let mut finding = Finding::new(kind, &of, text)
            .number("repeats", f64::from(procedure.repeats))
            .proved_by(procedure.proofs());
        if let Some(cause) = cause {
            finding = finding.number("cause", f64::from(cause));
        }
        findings.push(finding);
    }
    let besides = all.count() as u64;
    if besides + report.left_out > 0 {
        let text = format!(
            "{besides} more were rejected or not answered; {} procedures beyond the limit were not followed",
            report.left_out
        );
        findings.push(
            Finding::new("procedure-left-out", "GMM, SM and GTP", text)
                .number("besides", real(besides))
                .number("left_out", real(report.left_out)),
        );
    }
}

/// What was ciphered, and compressed.
pub(super) fn of_hidden(
    cipher: cipher::Counts,
    compression: compression::Counts,
    findings: &mut Vec<Finding>,
) {
    if cipher.ciphered > 0 {
        let wrong = if cipher.refused > 0 && cipher.opened == 0 {
            ": the keys are wrong, or of other mobiles, as the frame check sequence shows"
        } else {
            ""
        };
        let text = format!(
            "of {} ciphered LL-PDUs {} were opened; {} are of mobiles without a key, {} open with none of the keys{wrong}",
            cipher.ciphered, cipher.opened, cipher.without_key, cipher.refused
        );
        findings.push(
            Finding::new("ciphered", "LLC", text)
                .number("ciphered", real(cipher.ciphered))
                .number("opened", real(cipher.opened))
                .number("without_key", real(cipher.without_key))
                .number("refused", real(cipher.refused)),
        );
    }
    if compression.compressed > 0 {
        let text = format!(
            "of {} compressed N-PDUs {} were restored; of {} the capture has no XID that says how, of {} something before them is missing \
             or damaged",
            compression.compressed, compression.restored, compression.unknown, compression.lost
        );
        findings.push(
            Finding::new("compressed", "SNDCP", text)
                .number("compressed", real(compression.compressed))
                .number("restored", real(compression.restored))
                .number("unknown", real(compression.unknown))
                .number("lost", real(compression.lost)),
        );
    }
}
