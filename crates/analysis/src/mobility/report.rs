//! What is said of a change of cell.

use super::cells::{At, Cell};
use crate::record::{Proof, Stamp};
use crate::series::seconds;
use serde::Serialize;

/// FLUSH-LLs that a change of cell names.
pub(super) const FLUSHES_MAX: usize = 8;

/// What kind of change it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// Cell update: an LL-PDU from the new cell.
    CellUpdate,
    /// With a routing area update.
    WithUpdate,
    /// The mobile was not served in the new cell.
    Failed,
}

impl Type {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CellUpdate => "cell update",
            Self::WithUpdate => "with routing area update",
            Self::Failed => "failed",
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The mobile stayed.
    Stayed,
    /// It went back before the network had sent it anything.
    WentBack,
    /// Its routing area update was refused.
    Refused,
    /// Its routing area update was not answered.
    Unanswered,
}

/// The routing area update of a change of cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Update {
    /// The first request in the new cell.
    pub request: At,
    /// The answer.
    pub answer: Option<At>,
    /// It was accepted.
    pub is_accepted: bool,
}

/// A FLUSH-LL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Flush {
    /// When.
    pub at: Stamp,
    /// Its frame.
    pub proof: Proof,
    /// The BVC where LL-PDUs wait.
    pub old_bvci: u16,
    /// The BVC where they are to go; without it they are deleted.
    pub new_bvci: Option<u16>,
    /// When it was answered, by which frame, whether they went there, and how many octets.
    pub answer: Option<(Stamp, Proof, bool, u32)>,
}

/// What TCP made of it, of all connections of the mobile the worst.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TcpEffect {
    /// The other end was not heard for so long, in nanoseconds, and the frames before and after.
    pub outage_ns: u64,
    /// The frames at both ends of it.
    pub between: (Proof, Proof),
    /// From its end until all that had been sent was acknowledged, in nanoseconds.
    pub recovery_ns: Option<u64>,
    /// Segments that were sent again from its beginning until then.
    pub sent_again: u64,
    /// Timeouts since the mobile left, as one place saw them.
    pub timeouts: u64,
    /// Of these: needless.
    pub spurious: u64,
}

/// A change of cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reselection {
    /// The place, as an index into the places of the reading.
    pub place: u16,
    /// The mobile, as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// Its TLLI in the new cell.
    pub tlli: u32,
    /// From here.
    pub from: Cell,
    /// To here.
    pub to: Cell,
    /// Its last LL-PDU in the old cell.
    pub left: At,
    /// Its first in the new one.
    pub arrived: At,
    /// What kind.
    pub kind: Type,
    /// How it ended.
    pub ending: Ending,
    /// The routing area update.
    pub update: Option<Update>,
    /// The first LL-PDU to the mobile in the new cell.
    pub answered: Option<At>,
    /// The first LL-PDU of user data there, either way.
    pub resumed: Option<At>,
    /// LL-PDUs to the old cell after the mobile was heard there last.
    pub late_frames: u64,
    /// Their octets.
    pub late_octets: u64,
    /// The last of them.
    pub last_late: Option<At>,
    /// LL-PDUs to another cell after the mobile had been heard in the new one.
    pub misdirected_frames: u64,
    /// The last of them.
    pub last_misdirected: Option<At>,
    /// UI frames of the mobile that are missing between both cells, by N(U).
    pub lost_up: u64,
    /// UI frames of the mobile that came again in the new cell.
    pub doubled_up: u64,
    /// LL-PDUs that the BSS says it has discarded, by LLC-DISCARDED.
    pub discarded_frames: u64,
    /// Their octets.
    pub discarded_octets: u64,
    /// FLUSH-LLs.
    pub flushes: Vec<Flush>,
    /// What TCP made of it.
    pub tcp: Option<TcpEffect>,
}

impl Reselection {
    /// From the last LL-PDU in the old cell to the first in the new one, in nanoseconds.
    #[must_use]
    pub const fn silence_ns(&self) -> u64 {
        self.arrived.0.0.saturating_sub(self.left.0.0)
    }

    /// From the last LL-PDU in the old cell to the first of user data in the new one, in nanoseconds.
    #[must_use]
    pub fn outage_ns(&self) -> Option<u64> {
        self.resumed.map(|(at, _)| at.0.saturating_sub(self.left.0.0))
    }

    /// From the request of the routing area update to its answer, in nanoseconds.
    #[must_use]
    pub fn update_ns(&self) -> Option<u64> {
        let update = self.update?;
        update.answer.map(|(at, _)| at.0.saturating_sub(update.request.0.0))
    }

    /// FLUSH-LLs that name a cell where the mobile was not, or is not now.
    pub fn wrong_flushes(&self) -> impl Iterator<Item = &Flush> {
        self.flushes.iter().filter(|flush| {
            let is_from = self.from.bvci.is_none_or(|bvci| bvci == flush.old_bvci);
            let is_to = flush.new_bvci.is_none() || flush.new_bvci == self.to.bvci;
            !is_from || !is_to
        })
    }

    /// Frames that prove it, the most telling ones first.
    pub fn proofs(&self) -> impl Iterator<Item = Proof> + '_ {
        let update = self.update.map(|update| (Some(update.request), update.answer)).unwrap_or_default();
        let ends = [Some(self.left), Some(self.arrived), self.resumed, update.0, update.1, self.last_late];
        let flushes = self.flushes.iter().map(|flush| flush.proof);
        ends.into_iter().flatten().map(|(_, proof)| proof).chain(flushes)
    }

    /// In words, without its numbers of TCP.
    #[must_use]
    pub fn words(&self) -> String {
        let s = |ns: Option<u64>| ns.map_or_else(|| "?".to_owned(), |ns| format!("{:.3} s", seconds(ns)));
        let ending = match self.ending {
            Ending::Stayed => "",
            Ending::WentBack => ", it went back unserved",
            Ending::Refused => ", the update was refused",
            Ending::Unanswered => ", the update was not answered",
        };
        let update =
            if self.update.is_some() { format!(", update {}", s(self.update_ns())) } else { String::new() };
        format!(
            "{} from {} to {}{ending}: silent {}, user data after {}{update}; {} LL-PDUs ({} octets) sent to the old cell meanwhile, {} \
             discarded by the BSS; uplink {} missing, {} again",
            self.kind.name(),
            self.from,
            self.to,
            s(Some(self.silence_ns())),
            s(self.outage_ns()),
            self.late_frames,
            self.late_octets,
            self.discarded_frames,
            self.lost_up,
            self.doubled_up
        )
    }
}

/// What is known of changes of cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// All of them, by their time.
    pub reselections: Vec<Reselection>,
    /// FLUSH-LLs of mobiles that had not changed their cell, by TLLI.
    pub strays: Vec<(u32, Flush)>,
    /// What belongs to mobiles and changes beyond the limits.
    pub left_out: u64,
}
