//! BSSGP virtual connections (08.18 clauses 8.3 to 8.5 [48.018]): reset, block, unblock and status, at both ends.
//!
//! [`Bvcs`] has every NSE and every point-to-point BVC of a node. A BVC has an index for its life, which is the name
//! of its cell everywhere else in the node; at the SGSN it is made by the first BVC-RESET of its BSS. BVCs are found
//! by (NSEI, BVCI) and by cell in O(1).
//!
//! * The *BSS* resets its signalling BVC when its NSE can be used, then each PTP BVC; it alone blocks and unblocks.
//! * The *SGSN* answers, keeps what it is told, and may reset the signalling BVC.
//! * A reset of the signalling BVC ends all PTP BVCs of the NSE, until each is reset again.
//! * A PDU for a BVC that is unknown or blocked is answered with STATUS. A BSS that hears so resets that BVC, which the
//!   SGSN has forgotten, or unblocks it. An NSE gets [`STATUS_ANSWERS_PER_S`] at most.
//!
//! Tables have limits. In a full one, at the SGSN, what is down gives its place to what is new, and after that a BVC on which
//! nothing has come since its reset: the first thing that comes from a cell is its FLOW-CONTROL-BVC (clause 8.2).
//!
//! BVC-RESET, BLOCK, UNBLOCK and STATUS travel on the signalling BVC.

mod receive;
mod table;
#[cfg(test)]
mod tests;

use crate::allowance::Allowance;
use foldhash::fast::FixedState;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_qos::deadline_heap::DeadlineHeap;
use gannet_wire::DecodeError;
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::bssgp::{self, Cause, Message, PduType};
use gannet_wire::id::{Bvci, CellId, Nsei};
use std::collections::HashMap;

/// "Current bucket level": FLOW-CONTROL PDUs may carry the bucket-full ratio (08.18 clause 11.3.45).
pub const FEATURE_CBL: u8 = 0x02;

/// "Inter-NSE re-routing": FLUSH-LL may name a cell of another NSE (48.018 clauses 8.1 and 11.3.45).
pub const FEATURE_INR: u8 = 0x04;

/// STATUS PDUs per second to one NSE.
pub const STATUS_ANSWERS_PER_S: u32 = 100;

/// Which end of Gb this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The base station system.
    Bss,
    /// The SGSN.
    Sgsn,
}

/// Timers and limits. The defaults lie within the ranges of 08.18 clause 11, table 11.41.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which end.
    pub role: Role,
    /// T1: how long BVC-BLOCK and BVC-UNBLOCK wait for their answer, 1 s to 30 s.
    pub t1: Duration,
    /// T2: how long BVC-RESET waits for its answer, 1 s to 120 s.
    pub t2: Duration,
    /// BVC-BLOCK-RETRIES and BVC-UNBLOCK-RETRIES.
    pub block_retries: u8,
    /// BVC-RESET-RETRIES.
    pub reset_retries: u8,
    /// PTP BVCs there may be.
    pub bvcs_max: u32,
    /// NSEs there may be.
    pub nses_max: u32,
    /// Features that this end has (08.18 clause 11.3.45).
    pub features: u8,
}

impl Config {
    /// The defaults for one end.
    #[must_use]
    pub const fn new(role: Role) -> Self {
        Self {
            role,
            t1: Duration::from_secs(10),
            t2: Duration::from_secs(10),
            block_retries: 3,
            reset_retries: 3,
            bvcs_max: 256,
            nses_max: 64,
            features: FEATURE_CBL | FEATURE_INR,
        }
    }
}

/// How a BVC stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BvcState {
    /// It was not reset since its NSE began.
    Down,
    /// BVC-RESET was sent; T2 runs.
    Resetting,
    /// In service.
    Unblocked,
    /// BVC-BLOCK was sent; T1 runs. Nothing is sent any more.
    Blocking,
    /// Out of service.
    Blocked,
    /// BVC-UNBLOCK was sent; T1 runs.
    Unblocking,
}

impl BvcState {
    /// The word that a person reads.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "DOWN",
            Self::Resetting => "RESETTING",
            Self::Unblocked => "UNBLOCKED",
            Self::Blocking => "BLOCKING",
            Self::Blocked => "BLOCKED",
            Self::Unblocking => "UNBLOCKING",
        }
    }
}

/// What passed over a BVC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BvcCounters {
    /// BSSGP PDUs received.
    pub pdus_in: u64,
    /// Octets of them.
    pub octets_in: u64,
    /// BSSGP PDUs sent.
    pub pdus_out: u64,
    /// Octets of them.
    pub octets_out: u64,
    /// BVC-BLOCK received.
    pub blocked: u64,
    /// LLC-DISCARDED received.
    pub discarded: u64,
    /// STATUS received.
    pub statuses: u64,
}

impl BvcCounters {
    /// A PDU of so many octets came.
    fn received(&mut self, octets: usize) {
        self.pdus_in += 1;
        self.octets_in += octets as u64;
    }

    /// A PDU of so many octets goes.
    fn sent(&mut self, octets: usize) {
        self.pdus_out += 1;
        self.octets_out += octets as u64;
    }
}

/// A PTP BVC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bvc {
    /// Its NSE.
    pub nsei: Nsei,
    /// Its number there.
    pub bvci: Bvci,
    /// Its cell.
    pub cell: CellId,
    /// How it stands.
    pub state: BvcState,
    /// Why the block or reset under way.
    cause: Cause,
    /// How often the PDU that waits for its answer was repeated.
    tries: u8,
    /// Something has come on it since its reset.
    is_heard: bool,
    /// What passed over it since its place was given to it.
    pub counters: BvcCounters,
}

/// An NSE, that is, its signalling BVC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nse {
    /// Its number.
    pub nsei: Nsei,
    /// How its signalling BVC stands: `Down`, `Resetting` or `Unblocked`.
    pub state: BvcState,
    /// Features that both ends have.
    pub features: u8,
    tries: u8,
    statuses: Allowance,
    /// What passed over its signalling BVC.
    pub counters: BvcCounters,
}

/// What the entity wants or tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BvcOutput {
    /// NS-UNITDATA.request.
    Send {
        /// Through which NSE.
        nsei: Nsei,
        /// On which BVC.
        bvci: Bvci,
        /// The PDU.
        message: Message,
    },
    /// The BVC begins anew and is in service: whatever was known or queued for its cell is void.
    Reset {
        /// Which.
        bvc: u32,
    },
    /// The BVC is out of service; what is queued may wait.
    Blocked {
        /// Which.
        bvc: u32,
        /// Why.
        cause: Cause,
    },
    /// The BVC is in service again.
    Unblocked {
        /// Which.
        bvc: u32,
    },
    /// The BVC is gone until its next reset: its NSE failed or its signalling BVC was reset.
    Down {
        /// Which.
        bvc: u32,
    },
    /// A procedure stayed without answer after all repetitions.
    Unanswered {
        /// In which NSE.
        nsei: Nsei,
        /// Of which BVC.
        bvci: Bvci,
    },
}

gannet_machine::timer_names! {
    /// The timer of the procedure that ends first (08.18 clause 12, table 12.1).
    enum BvcTimer {
        Procedure = "T1 or T2 of BSSGP",
    }
}

/// All NSEs and BVCs of a node.
#[derive(Debug)]
pub struct Bvcs {
    config: Config,
    bvcs: Vec<Bvc>,
    nses: Vec<Nse>,
    by_bvci: HashMap<(Nsei, Bvci), u32, FixedState>,
    by_cell: HashMap<CellId, u32, FixedState>,
    by_nsei: HashMap<Nsei, u32, FixedState>,
    /// T1 and T2: BVCs by index, then NSEs.
    waiting: DeadlineHeap,
    deadlines: Deadlines<BvcTimer>,
    /// STATUS PDUs to NSEs that are not in the table.
    to_strangers: Allowance,
}

impl Bvcs {
    /// The signalling BVC of `nsei` can be used: NS-STATUS.indication, or its first NS-VC is unblocked.
    pub fn nse_up(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        let Some(nse) = self.find_or_add_nse(cx, nsei) else { return };
        match self.config.role {
            // Clause 8.4: the BSS resets the signalling BVC first.
            Role::Bss => self.begin_signalling_reset(cx, nse, out),
            Role::Sgsn => {}
        }
    }

    /// The same at an SGSN that has restarted, and whose BSS may not have noticed: it resets the signalling BVC, and the
    /// BSS then its own (clause 8.4).
    pub fn nse_recalled(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        if let Some(nse) = self.find_or_add_nse(cx, nsei) {
            self.begin_signalling_reset(cx, nse, out);
        }
    }

    /// No NS-VC of the NSE is left.
    pub fn nse_down(&mut self, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        if let Some(nse) = self.by_nsei.get(&nsei).copied() {
            self.end_ptp(nsei, out);
            self.set_nse(nse, BvcState::Down);
        }
    }

    /// BSS: takes a BVC out of service (clause 8.3).
    pub fn block(&mut self, cx: &mut Context<'_>, bvc: u32, cause: Cause, out: &mut Batch<BvcOutput>) {
        let Some(state) = self.bvcs.get_mut(bvc as usize) else { return };
        match state.state {
            BvcState::Unblocked | BvcState::Unblocking => {
                state.cause = cause;
                out.push(BvcOutput::Blocked { bvc, cause });
                self.begin(cx, bvc, BvcState::Blocking, out);
            }
            BvcState::Down | BvcState::Resetting | BvcState::Blocking | BvcState::Blocked => {}
        }
    }

    /// BSS: puts a BVC into service again (clause 8.3).
    pub fn unblock(&mut self, cx: &mut Context<'_>, bvc: u32, out: &mut Batch<BvcOutput>) {
        match self.get(bvc).map(|state| state.state) {
            Some(BvcState::Blocked | BvcState::Blocking) => self.begin(cx, bvc, BvcState::Unblocking, out),
            Some(BvcState::Down | BvcState::Resetting | BvcState::Unblocked | BvcState::Unblocking)
            | None => {}
        }
    }

    /// BSS: begins a PTP BVC anew (clause 8.4).
    pub fn reset(&mut self, cx: &mut Context<'_>, bvc: u32, cause: Cause, out: &mut Batch<BvcOutput>) {
        if let Some(state) = self.bvcs.get_mut(bvc as usize) {
            state.cause = cause;
            out.push(BvcOutput::Down { bvc });
            self.begin(cx, bvc, BvcState::Resetting, out);
        }
    }

    /// Either end: begins the signalling BVC, and with it all BVCs of the NSE, anew (clause 8.4).
    pub fn reset_signalling(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        if let Some(nse) = self.find_or_add_nse(cx, nsei) {
            self.begin_signalling_reset(cx, nse, out);
        }
    }

    /// A PDU that came on a PTP BVC: the index of that BVC if it is in service. Otherwise the PDU is dropped by name
    /// and answered with STATUS (clauses 8.3.3 and 8.5).
    pub fn accept(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        pdu: &[u8],
        out: &mut Batch<BvcOutput>,
    ) -> Option<u32> {
        let bvc = self.find(nsei, bvci);
        let state = bvc.and_then(|bvc| self.get(bvc)).map_or(BvcState::Down, |bvc| bvc.state);
        let (drop, cause) = match state {
            BvcState::Unblocked => {
                if let Some(bvc) = bvc.and_then(|bvc| self.bvcs.get_mut(bvc as usize)) {
                    bvc.is_heard = true;
                    bvc.counters.received(pdu.len());
                }
                return bvc;
            }
            // What was on its way when the block or reset began is no error of the peer.
            BvcState::Blocking | BvcState::Unblocking | BvcState::Resetting => {
                cx.drop(Drop::BssgpBlockedBvc, None);
                return None;
            }
            BvcState::Blocked => (Drop::BssgpBlockedBvc, Cause::BvciBlocked),
            BvcState::Down => (Drop::BssgpUnknownBvc, Cause::BvciUnknown),
        };
        cx.drop(drop, None);
        if PduType::of(pdu) != Some(PduType::Status) {
            self.send_status(cx, nsei, Status::about_pdu(cause, Some(bvci), pdu), out);
        }
        None
    }

    /// A PDU that could not be read: dropped by name and answered with the STATUS of its error, unless it is a STATUS
    /// itself (clause 8.5).
    pub fn malformed(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        error: &DecodeError,
        pdu: &[u8],
        out: &mut Batch<BvcOutput>,
    ) {
        cx.drop(Drop::BssgpMalformed, None);
        cx.log(Category::Bssgp, Level::Notice, format_args!("NSEI {nsei}: {error}"));
        if !pdu.is_empty() && PduType::of(pdu) != Some(PduType::Status) {
            self.send_status(cx, nsei, Status::about_pdu(bssgp::cause(error), None, pdu), out);
        }
    }

    /// A PDU that has no place in the state of its receiver, or never goes this way (clause 8.5).
    pub fn unexpected(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        cx.drop(Drop::BssgpUnexpected, None);
        let name = message.pdu_type();
        cx.log(Category::Bssgp, Level::Notice, format_args!("NSEI {nsei}: unexpected {name}"));
        if message.pdu_type() != PduType::Status {
            let status = Status::about_pdu(Cause::PduNotCompatible, None, &message.to_vec());
            self.send_status(cx, nsei, status, out);
        }
    }

    /// Sends a STATUS, if the NSE did not get too many already: who sends nothing but nonsense is not told of each piece.
    fn send_status(&mut self, cx: &Context<'_>, nsei: Nsei, status: Status, out: &mut Batch<BvcOutput>) {
        let nse = self.by_nsei.get(&nsei).and_then(|nse| self.nses.get_mut(*nse as usize));
        let allowance = nse.map_or(&mut self.to_strangers, |nse| &mut nse.statuses);
        if allowance.take(cx.now, STATUS_ANSWERS_PER_S) {
            out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message: Message::Status(status) });
        }
    }

    /// Asks for the wake-up that leads to [`Bvcs::wake`]. To be called after every other call.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        match self.waiting.next() {
            Some(at) => self.deadlines.set(BvcTimer::Procedure, at),
            None => self.deadlines.clear(BvcTimer::Procedure),
        }
        self.deadlines.arm(key, timers);
    }

    /// T1 and T2: repeats what is due, or gives up.
    pub fn wake(&mut self, cx: &mut Context<'_>, out: &mut Batch<BvcOutput>) {
        self.deadlines.woken(cx.now);
        while let Some(member) = self.waiting.pop_due(cx.now) {
            match member.checked_sub(self.config.bvcs_max) {
                Some(nse) => self.signalling_t2(cx, nse, out),
                None => self.repeat(cx, member, out),
            }
        }
    }
}
