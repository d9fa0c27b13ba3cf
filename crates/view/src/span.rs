//! What lasts: TBFs, procedures, changes of cell.

use crate::index::Index;
use crate::lane::Kind;
use crate::tile::Window;
use gannet_analysis::mobility::report::{Reselection, Type};
use gannet_analysis::procedures::report::{Outcome, Procedure};
use gannet_analysis::radio::report::Tbf;
use gannet_analysis::record::{Direction, Proof, Stamp};
use serde::Serialize;

/// Spans of one kind that a window has one by one.
const SPANS_MAX: usize = 1500;

/// Which strip of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strip {
    /// Changes of cell.
    Cells,
    /// Procedures of GMM, SM and GTP.
    Procedures,
    /// TBFs.
    Tbfs,
}

/// Something that lasts.
#[derive(Debug, Clone, Serialize)]
pub struct Span {
    /// Where it is drawn.
    pub strip: Strip,
    /// Its beginning, since the start of the captures.
    pub from: u64,
    /// Of a TBF its first data block; of a change of cell the first LL-PDU in the new one.
    pub middle: u64,
    /// Its end.
    pub until: u64,
    /// Its colour.
    pub kind: Kind,
    /// In words.
    pub text: String,
    /// File, from 1, and frame that prove its beginning.
    pub proof: (u16, u64),
}

/// Spans of a window; those of one mobile alone where it is chosen.
#[must_use]
pub fn spans(index: &Index, window: Window) -> Vec<Span> {
    let report = &index.report;
    let is_in = |from: u64, until: u64| from < window.until && until >= window.from;
    let is_wanted = |mobile: Option<u32>| window.mobile.is_none_or(|wanted| mobile == Some(wanted));
    let changes = report.mobility.reselections.iter().filter(|it| {
        is_wanted(it.mobile.map(|mobile| index.one(mobile))) && is_in(it.left.0.0, end_of(it).0)
    });
    let procedures = report.procedures.procedures.iter().filter(|it| {
        is_wanted(it.mobile.map(|mobile| index.one(mobile))) && is_in(it.began.0.0, end_of_procedure(it).0)
    });
    let names = window.mobile.and_then(|mobile| index.mobile(mobile)).map(|mobile| &mobile.names);
    let tbfs = report.radio.tbfs.iter().filter(|tbf| {
        let tlli = tbf.tlli.map(|tlli| format!("{tlli:08x}"));
        let is_wanted = window.mobile.is_none()
            || names.zip(tlli.as_ref()).is_some_and(|(names, tlli)| names.contains(tlli));
        is_wanted && is_in(began(tbf).0.0, tbf.last.0.0)
    });
    let changes = changes.take(SPANS_MAX).map(|it| change(index, it));
    let procedures = procedures.take(SPANS_MAX).map(|it| procedure(index, it));
    changes.chain(procedures).chain(tbfs.take(SPANS_MAX).map(|tbf| flow(index, tbf))).collect()
}

const fn proof(proof: Proof) -> (u16, u64) {
    (proof.file + 1, proof.frame)
}

fn end_of(change: &Reselection) -> Stamp {
    change.resumed.or(change.answered).map_or(change.arrived.0, |(at, _)| at).max(change.arrived.0)
}

fn end_of_procedure(procedure: &Procedure) -> Stamp {
    procedure.completed.or(procedure.answered).map_or(procedure.began.0, |(at, _)| at)
}

fn change(index: &Index, it: &Reselection) -> Span {
    Span {
        strip: Strip::Cells,
        from: index.since_start(it.left.0.0),
        middle: index.since_start(it.arrived.0.0),
        until: index.since_start(end_of(it).0),
        kind: if it.kind == Type::Failed { Kind::Broken } else { Kind::SetUp },
        text: it.words(),
        proof: proof(it.left.1),
    }
}

fn procedure(index: &Index, it: &Procedure) -> Span {
    let whose = it.mobile.and_then(|mobile| index.mobile(index.one(mobile)));
    let whose = whose.map_or_else(String::new, |mobile| format!(" of {}", mobile.name));
    let repeats = if it.repeats > 0 { format!(", asked {} times", it.repeats + 1) } else { String::new() };
    let from = index.since_start(it.began.0.0);
    Span {
        strip: Strip::Procedures,
        from,
        middle: from,
        until: index.since_start(end_of_procedure(it).0),
        kind: match it.outcome {
            Outcome::Accepted | Outcome::NoAnswerWanted => Kind::Report,
            Outcome::Rejected(_) | Outcome::Unanswered => Kind::Broken,
            Outcome::UnderWay => Kind::Control,
        },
        text: format!("{}{whose}: {}{repeats}", it.kind.name(), it.ending()),
        proof: proof(it.began.1),
    }
}

fn began(tbf: &Tbf) -> (Stamp, Proof) {
    tbf.asked.or(tbf.assigned).or(tbf.first_data).unwrap_or(tbf.last)
}

fn flow(index: &Index, tbf: &Tbf) -> Span {
    let (at, of) = began(tbf);
    let tlli = tbf.tlli.map_or_else(String::new, |tlli| format!(" of TLLI {tlli:08x}"));
    let way = if tbf.direction == Direction::Up { "uplink" } else { "downlink" };
    let set_up = tbf.set_up_ns().map_or_else(String::new, |ns| format!(", set up in {} ms", ns / 1_000_000));
    Span {
        strip: Strip::Tbfs,
        from: index.since_start(at.0),
        middle: index.since_start(tbf.first_data.map_or(at.0, |(at, _)| at.0)),
        until: index.since_start(tbf.last.0.0),
        kind: if tbf.direction == Direction::Up { Kind::Access } else { Kind::Data },
        text: format!(
            "{way} TBF{tlli}, TFI {}: {} blocks, {} again, {} octets{set_up}",
            tbf.tfi,
            tbf.blocks,
            tbf.again.all(),
            tbf.user_octets
        ),
        proof: proof(of),
    }
}
