//! User data of mobiles that nobody knows: a phone that was attached before a restart, and goes on.
//!
//! The frame is discarded (04.64 clause 7.2.1.1 [44.064]). Where its TLLI is unknown in the whole SGSN, the mobile is told
//! to attach again, with one DETACH REQUEST on SAPI 1 to the cell from which the frame came (04.08 clause 4.7.4.2
//! [24.008]). The answers are limited for each TLLI, each cell and the node. They go in the clear: a phone that is
//! ciphering takes no DETACH REQUEST in the clear, and goes on until its next routing area update.

use super::Sgsn;
use super::directory::BvcAddress;
use core::fmt;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_proto::gmm::network::{Stranger, Uplink, answer_to_stranger};
use gannet_proto::gtp::AnswerLimiter;
use gannet_proto::llc::LlcContext;
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::llc::{self, Control};
use std::collections::{HashMap, HashSet, VecDeque};

/// From one DETACH REQUEST to the next for the same TLLI: our own, longer than an attach over a slow cell takes.
const AGAIN: Duration = Duration::from_secs(10);
/// TLLIs that are remembered for so long; beyond that nobody is told.
const TOLD_MAX: usize = 4096;
/// DETACH REQUESTs a second in one cell, and at once.
const IN_A_CELL: u32 = 10;

/// Why a mobile is not told to attach again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Untold {
    KnownElsewhere,
    JustTold,
    TooManyInTheCell,
    TooMany,
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KnownElsewhere => "a mobile in another cell has this TLLI or its P-TMSI",
            Self::JustTold => "it was told so within the last 10 s",
            Self::TooManyInTheCell => "10 mobiles of its cell were told so within the last second",
            Self::TooMany => "too many unknown mobiles were answered lately",
        })
    }
}

/// Who was told to attach again, and how often in each cell and in the node.
#[derive(Debug)]
pub(super) struct UnknownUsers {
    told: VecDeque<(Instant, Tlli)>,
    recent: HashSet<Tlli>,
    cells: HashMap<BvcAddress, AnswerLimiter>,
    /// The same cells, the oldest first.
    by_age: VecDeque<BvcAddress>,
    /// Of its own: user data of unknown mobiles leave the answers to signalling of strangers alone.
    node: AnswerLimiter,
}

impl UnknownUsers {
    /// Nobody was told yet. `per_second` is the limit of the node; twice as many at once.
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            told: VecDeque::new(),
            recent: HashSet::new(),
            cells: HashMap::new(),
            by_age: VecDeque::new(),
            node: AnswerLimiter::new(per_second, per_second.saturating_mul(2)),
        }
    }

    /// May the mobile of a TLLI be told now? `cells_max` bounds the cells that are remembered.
    fn permit(
        &mut self,
        now: Instant,
        (cell, cells_max): (BvcAddress, usize),
        tlli: Tlli,
    ) -> Result<(), Untold> {
        while self.told.front().is_some_and(|(at, _)| *at + AGAIN <= now) {
            if let Some((_, old)) = self.told.pop_front() {
                self.recent.remove(&old);
            }
        }
        if self.recent.contains(&tlli) {
            return Err(Untold::JustTold);
        }
        if !self.cells.contains_key(&cell) {
            // Cells come and go by BVC-RESET.
            while self.by_age.len() >= cells_max.max(1) {
                if let Some(oldest) = self.by_age.pop_front() {
                    self.cells.remove(&oldest);
                }
            }
            self.by_age.push_back(cell);
        }
        let of_cell = self.cells.entry(cell).or_insert_with(|| AnswerLimiter::new(IN_A_CELL, IN_A_CELL));
        if !of_cell.permit(now) {
            return Err(Untold::TooManyInTheCell);
        }
        if self.told.len() >= TOLD_MAX || !self.node.permit(now) {
            return Err(Untold::TooMany);
        }
        self.told.push_back((now, tlli));
        self.recent.insert(tlli);
        Ok(())
    }
}

impl Sgsn {
    /// A frame on a SAPI of user data, under a TLLI that has no mobile in its cell. The frame itself is gone.
    pub(super) fn unknown_user(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        from: Uplink,
        (sapi, llc): (Sapi, LlcContext),
    ) {
        let known = self.directory.is_known_anywhere(from.tlli);
        let cells_max = self.config.cells_max as usize;
        let permitted = if known {
            Err(Untold::KnownElsewhere)
        } else {
            self.unknown_users.permit(cx.now, (bvc, cells_max), from.tlli)
        };
        let (tlli, nsei, bvci) = (from.tlli, bvc.nsei, bvc.bvci);
        match permitted {
            Ok(()) => {
                cx.log(
                    Category::Mm,
                    Level::Notice,
                    format_args!(
                        "TLLI {tlli} (NSEI {nsei}, BVCI {bvci}): user data on SAPI {sapi} of a mobile that is not \
                         known is discarded, and DETACH REQUEST tells it to attach again"
                    ),
                );
                if let Some(answer) = answer_to_stranger(Stranger::LlcFrame) {
                    self.send_answer(cx, from, llc, answer);
                }
            }
            Err(why) => {
                cx.drop(Drop::SgsnStrangerUnanswered, None);
                cx.log(
                    Category::Mm,
                    Level::Info,
                    format_args!(
                        "TLLI {tlli} (NSEI {nsei}, BVCI {bvci}): user data on SAPI {sapi} of a mobile that is not \
                         known is discarded, and not answered: {why}"
                    ),
                );
            }
        }
    }
}

/// The SAPI of user data on which an LL-PDU came that may be intact: where it is ciphered nobody can tell.
pub(super) fn user_data_sapi(ll_pdu: &[u8]) -> Option<Sapi> {
    let layout = llc::Header::parse(ll_pdu).ok()?;
    let sapi = layout.header.sapi;
    let is_ciphered =
        matches!(layout.header.control, Control::Ui { encrypted: true, .. } | Control::I { .. });
    let is_user_data = [Sapi::DATA3, Sapi::DATA5, Sapi::DATA9, Sapi::DATA11].contains(&sapi);
    (is_user_data && (is_ciphered || layout.fcs_is_right(ll_pdu))).then_some(sapi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::id::{Bvci, Nsei};

    /// A table that is full forgets one cell, and the others stay as used up as they were.
    #[test]
    fn a_full_table_of_cells_forgets_the_oldest() {
        let mut users = UnknownUsers::new(1000);
        let cell = |n| BvcAddress { nsei: Nsei(1), bvci: Bvci(n) };
        let mut number = 0;
        let mut told = |users: &mut UnknownUsers, bvci| {
            (0..20)
                .filter(|_| {
                    number += 1;
                    users.permit(Instant::ZERO, (cell(bvci), 3), Tlli(0xc000_0000 + number)).is_ok()
                })
                .count()
        };
        let limit = IN_A_CELL as usize;
        for bvci in 1..=3 {
            assert_eq!(told(&mut users, bvci), limit);
        }
        assert_eq!(told(&mut users, 4), limit);
        assert_eq!((told(&mut users, 2), told(&mut users, 3)), (0, 0));
        assert_eq!(told(&mut users, 1), limit, "the oldest is forgotten");
        assert_eq!((users.cells.len(), users.by_age.len()), (3, 3));
    }
}
