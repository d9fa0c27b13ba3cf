//! User data of mobiles that nobody knows: a phone that was attached before a restart, and goes on.
//!
//! The frame is discarded (04.64 clause 7.2.1.1 [44.064]). Where its TLLI is unknown in the whole SGSN, the mobile is told
//! to attach again, with one DETACH REQUEST on SAPI 1 to the cell from which the frame came (04.08 clause 4.7.4.2
//! [24.008]). The answers are limited for each TLLI, each cell and the node. They go in the clear: a phone that is
//! ciphering takes no DETACH REQUEST in the clear, and goes on until its next routing area update.

use super::Sgsn;
use super::directory::BvcAddress;
use core::fmt;
use gannet_proto::drops::Drop;
use gannet_proto::gmm::network::{Stranger, Uplink, answer_to_stranger};
use gannet_proto::gtp::AnswerLimiter;
use gannet_proto::llc::LlcContext;
use gannet_proto::machine::Context;
use gannet_proto::time::{Duration, Instant};
use gannet_proto::trace::{Category, Level};
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

/// Who was told to attach again, and how often in each cell.
#[derive(Debug, Default)]
pub(super) struct UnknownUsers {
    told: VecDeque<(Instant, Tlli)>,
    recent: HashSet<Tlli>,
    cells: HashMap<BvcAddress, AnswerLimiter>,
}

impl UnknownUsers {
    /// May the mobile of a TLLI be told now? `cells_max` bounds the cells that are remembered.
    fn permit(
        &mut self,
        now: Instant,
        (cell, cells_max): (BvcAddress, usize),
        tlli: Tlli,
        node: &mut AnswerLimiter,
    ) -> Result<(), Untold> {
        while self.told.front().is_some_and(|(at, _)| *at + AGAIN <= now) {
            if let Some((_, old)) = self.told.pop_front() {
                self.recent.remove(&old);
            }
        }
        if self.recent.contains(&tlli) {
            return Err(Untold::JustTold);
        }
        if !self.cells.contains_key(&cell) && self.cells.len() >= cells_max {
            // Cells come and go by BVC-RESET.
            self.cells.clear();
        }
        let of_cell = self.cells.entry(cell).or_insert_with(|| AnswerLimiter::new(IN_A_CELL, IN_A_CELL));
        if !of_cell.permit(now) {
            return Err(Untold::TooManyInTheCell);
        }
        if self.told.len() >= TOLD_MAX || !node.permit(now) {
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
            self.unknown_users.permit(cx.now, (bvc, cells_max), from.tlli, &mut self.stranger_limiter)
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
