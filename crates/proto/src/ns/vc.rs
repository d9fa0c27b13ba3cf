//! One NS-VC: its states, its timers, and what it does on which event (08.16 clauses 7.2 to 7.4 [48.016]).

use super::NsRole;
use crate::machine::Port;
use crate::time::Instant;
use crate::timers::Deadlines;
use core::fmt;
use core::net::SocketAddr;
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::ns::Cause;

/// Number of an NS-VC within its entity; `TimerKey::slot` of its timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VcIndex(pub u32);

/// State of an NS-VC. It is alive in all but the first two, and carries NS-UNITDATA only when unblocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VcState {
    /// Dead and blocked: never reset, or the test procedure failed.
    Dead,
    /// Waits for NS-RESET-ACK; Tns-reset runs.
    Resetting,
    /// Alive; waits for the peer's NS-UNBLOCK.
    Blocked,
    /// Waits for NS-UNBLOCK-ACK; Tns-block runs.
    Unblocking,
    /// In service.
    Unblocked,
    /// Blocked from here, waits for NS-BLOCK-ACK; Tns-block runs. NS-UNITDATA is still taken.
    Blocking,
    /// Blocked from here.
    BlockedLocally,
}

impl fmt::Display for VcState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Dead => "DEAD",
            Self::Resetting => "RESETTING",
            Self::Blocked => "BLOCKED",
            Self::Unblocking => "UNBLOCKING",
            Self::Unblocked => "UNBLOCKED",
            Self::Blocking => "BLOCKING",
            Self::BlockedLocally => "BLOCKED-LOCALLY",
        })
    }
}

/// Timers of an NS-VC (08.16 clause 11 [48.016]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NsTimer {
    /// Tns-block: guards NS-BLOCK and NS-UNBLOCK (clause 7.2).
    TnsBlock,
    /// Tns-reset: guards NS-RESET (clause 7.3).
    TnsReset,
    /// Tns-test: from one successful test to the next (clause 7.4).
    TnsTest,
    /// Tns-alive: guards NS-ALIVE (clause 7.4).
    TnsAlive,
    /// Our own: a dead NS-VC that nobody configured is forgotten.
    Forget,
}

impl NsTimer {
    pub(super) const COUNT: usize = 5;

    pub(super) const ALL: [Self; Self::COUNT] =
        [Self::TnsBlock, Self::TnsReset, Self::TnsTest, Self::TnsAlive, Self::Forget];
}

/// What happens to an NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A person, the start, or the receipt of a sign of life on a dead NS-VC wants a reset.
    OamReset,
    /// A person blocks it.
    OamBlock,
    /// A person unblocks it.
    OamUnblock,
    /// NS-RESET for this NS-VC.
    RxReset,
    /// NS-RESET-ACK for this NS-VC.
    RxResetAck,
    /// NS-BLOCK for this NS-VC.
    RxBlock,
    /// NS-BLOCK-ACK for this NS-VC.
    RxBlockAck,
    /// NS-UNBLOCK.
    RxUnblock,
    /// NS-UNBLOCK-ACK.
    RxUnblockAck,
    /// NS-ALIVE.
    RxAlive,
    /// NS-ALIVE-ACK.
    RxAliveAck,
    /// NS-UNITDATA.
    RxUnitdata,
    /// NS-STATUS with cause "NS-VC unknown".
    RxStatusUnknown,
    /// NS-STATUS with cause "NS-VC blocked".
    RxStatusBlocked,
    /// Tns-reset expired, and another try is left.
    ResetTimeout,
    /// Tns-reset expired for the last time.
    ResetExhausted,
    /// Tns-block expired, and another try is left.
    BlockTimeout,
    /// Tns-block expired for the last time.
    BlockExhausted,
    /// Tns-alive expired for the last time.
    AliveFailed,
}

/// What the entity does on behalf of an NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Send NS-RESET.
    Reset,
    /// Send NS-RESET-ACK.
    ResetAck,
    /// Send NS-BLOCK.
    Block,
    /// Send NS-BLOCK-ACK, on the NS-VC where the NS-BLOCK came.
    BlockAck,
    /// Send NS-UNBLOCK.
    Unblock,
    /// Send NS-UNBLOCK-ACK.
    UnblockAck,
    /// Send NS-ALIVE-ACK.
    AliveAck,
    /// The peer answered the test: the next one is due after Tns-test.
    TestPassed,
    /// Start the test procedure.
    StartTest,
    /// Stop the test procedure.
    StopTest,
    /// Tell the NS user that the NS-VC was reset.
    TellReset,
    /// Send NS-STATUS, cause "NS-VC blocked".
    StatusBlocked,
    /// The PDU does not fit the state: count it.
    Unexpected,
    /// The PDU does not fit the state: count it, and send NS-STATUS.
    StatusUnexpected,
}

/// The next state and what to do. The timer of the state (Tns-reset, Tns-block) follows from the state.
pub(super) fn step(role: NsRole, state: VcState, event: Event) -> (VcState, &'static [Action]) {
    use VcState::{Blocked, BlockedLocally, Blocking, Dead, Resetting, Unblocked, Unblocking};
    match (state, event) {
        // 7.3: whoever starts the procedure marks the NS-VC blocked and dead.
        (_, Event::OamReset) => (Resetting, &[Action::StopTest, Action::Reset]),

        // 7.3: the receiver acknowledges, and the NS-VC is alive and blocked. The BSS unblocks it.
        (Resetting, Event::RxReset) if role == NsRole::Bss => (Resetting, &[Action::ResetAck]),
        (Dead | Resetting | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::RxReset) => {
            match role {
                NsRole::Sgsn => (Blocked, &[Action::ResetAck, Action::StartTest, Action::TellReset]),
                NsRole::Bss => {
                    (Unblocking, &[Action::ResetAck, Action::StartTest, Action::TellReset, Action::Unblock])
                }
            }
        }
        (Resetting, Event::RxResetAck) => match role {
            NsRole::Sgsn => (Blocked, &[Action::StartTest, Action::TellReset]),
            NsRole::Bss => (Unblocking, &[Action::StartTest, Action::TellReset, Action::Unblock]),
        },
        // 7.3.1: an acknowledgement that nobody waits for is ignored.
        (Dead | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::RxResetAck) => {
            (state, &[Action::Unexpected])
        }
        // 7.3.1: NS-RESET is repeated until it is answered.
        (Resetting, Event::ResetTimeout) => (Resetting, &[Action::Reset]),
        (Resetting, Event::ResetExhausted) => (Dead, &[]),

        // 7.2: the peer blocks.
        (Blocked | Unblocking | Unblocked, Event::RxBlock) => (Blocked, &[Action::BlockAck]),
        (Blocking | BlockedLocally, Event::RxBlock) => (state, &[Action::BlockAck]),
        (Dead | Resetting, Event::RxBlock) => (state, &[Action::StatusUnexpected]),
        // 7.2: we block.
        (Blocked | Unblocking | Unblocked, Event::OamBlock) => (Blocking, &[Action::Block]),
        (Dead | Resetting | Blocking | BlockedLocally, Event::OamBlock) => (state, &[]),
        (Blocking, Event::RxBlockAck) => (BlockedLocally, &[]),
        (Dead | Resetting | Blocked | Unblocking | Unblocked | BlockedLocally, Event::RxBlockAck) => {
            (state, &[Action::Unexpected])
        }

        // 7.2: the peer unblocks; where it is blocked from here, it is told so again (7.2.1).
        (Blocked | Unblocking | Unblocked, Event::RxUnblock) => (Unblocked, &[Action::UnblockAck]),
        (Blocking | BlockedLocally, Event::RxUnblock) => (Blocking, &[Action::Block]),
        (Resetting, Event::RxUnblock) => (Resetting, &[Action::StatusUnexpected]),
        // 7.2: we unblock.
        (Blocked | Blocking | BlockedLocally, Event::OamUnblock) => (Unblocking, &[Action::Unblock]),
        (Dead | Resetting | Unblocking | Unblocked, Event::OamUnblock) => (state, &[]),
        (Unblocking, Event::RxUnblockAck) => (Unblocked, &[]),
        (Dead | Resetting | Blocked | Unblocked | Blocking | BlockedLocally, Event::RxUnblockAck) => {
            (state, &[Action::Unexpected])
        }

        // 7.2.1: NS-BLOCK and NS-UNBLOCK are repeated, then given up. The BSS starts afresh instead.
        (Blocking, Event::BlockTimeout) => (Blocking, &[Action::Block]),
        (Unblocking, Event::BlockTimeout) => (Unblocking, &[Action::Unblock]),
        (Blocking, Event::BlockExhausted) => (BlockedLocally, &[]),
        (Unblocking, Event::BlockExhausted) => match role {
            NsRole::Sgsn => (Blocked, &[]),
            NsRole::Bss => (Resetting, &[Action::StopTest, Action::Reset]),
        },

        // 7.4: the test procedure.
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::RxAlive) => {
            (state, &[Action::AliveAck])
        }
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::RxAliveAck) => {
            (state, &[Action::TestPassed])
        }
        (Resetting, Event::RxAlive) | (Dead | Resetting, Event::RxAliveAck) => (state, &[Action::Unexpected]),
        // 7.4.1: the NS-VC is dead and blocked; the BSS resets it.
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::AliveFailed) => match role {
            NsRole::Sgsn => (Dead, &[Action::StopTest]),
            NsRole::Bss => (Resetting, &[Action::StopTest, Action::Reset]),
        },

        // 7.3: the peer uses an NS-VC that is dead here, so the two disagree, and a reset brings them together.
        (Dead, Event::RxAlive | Event::RxUnblock) => (Resetting, &[Action::Unexpected, Action::Reset]),
        (Dead, Event::RxUnitdata) => (Resetting, &[Action::Reset]),

        // 7.2.1: NS-UNITDATA on a blocked NS-VC.
        (Unblocked | Blocking, Event::RxUnitdata) => (state, &[]),
        (Blocked | Unblocking | BlockedLocally, Event::RxUnitdata) => (state, &[Action::StatusBlocked]),
        (Resetting, Event::RxUnitdata) => (Resetting, &[]),

        // 8: the peer says that it has no such NS-VC, or has it blocked.
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Event::RxStatusUnknown) => {
            match role {
                NsRole::Sgsn => (Dead, &[Action::StopTest]),
                NsRole::Bss => (Resetting, &[Action::StopTest, Action::Reset]),
            }
        }
        (Unblocked, Event::RxStatusBlocked) => match role {
            NsRole::Sgsn => (Blocked, &[]),
            NsRole::Bss => (Unblocking, &[Action::Unblock]),
        },
        (Dead | Resetting, Event::RxStatusUnknown)
        | (Dead | Resetting | Blocked | Unblocking | Blocking | BlockedLocally, Event::RxStatusBlocked) => {
            (state, &[])
        }

        // Timers that were stopped when the state was left.
        (
            Dead | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally,
            Event::ResetTimeout | Event::ResetExhausted,
        )
        | (
            Dead | Resetting | Blocked | Unblocked | BlockedLocally,
            Event::BlockTimeout | Event::BlockExhausted,
        )
        | (Dead | Resetting, Event::AliveFailed) => (state, &[]),
    }
}

/// What passed over an NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VcCounters {
    /// NS PDUs received.
    pub pdus_in: u64,
    /// Octets of them.
    pub octets_in: u64,
    /// NS PDUs sent.
    pub pdus_out: u64,
    /// Octets of them.
    pub octets_out: u64,
    /// Resets, begun from either side.
    pub resets: u64,
    /// Blockings, from either side.
    pub blockings: u64,
    /// NS-ALIVE without an answer in time.
    pub alive_unanswered: u64,
    /// How often the test procedure found the NS-VC dead.
    pub deaths: u64,
}

/// An NS-VC.
#[derive(Debug)]
pub struct NsVc {
    pub(super) index: VcIndex,
    pub(super) generation: u16,
    pub(super) nsei: Nsei,
    pub(super) nsvci: Nsvci,
    pub(super) port: Port,
    pub(super) peer: SocketAddr,
    pub(super) configured: bool,
    pub(super) state: VcState,
    pub(super) since: Instant,
    /// A person blocked it here; stays over a reset.
    pub(super) oam_blocked: bool,
    /// Why the next NS-RESET is sent.
    pub(super) reset_cause: Cause,
    /// Repetitions of the present NS-RESET, NS-BLOCK or NS-UNBLOCK.
    pub(super) repeated: u8,
    /// Repetitions of the present NS-ALIVE.
    pub(super) alive_repeated: u8,
    pub(super) deadlines: Deadlines<{ NsTimer::COUNT }>,
    pub(super) counters: VcCounters,
}

impl NsVc {
    /// Its number, for the commands of operation.
    #[must_use]
    pub const fn index(&self) -> VcIndex {
        self.index
    }
    /// Whose it is.
    #[must_use]
    pub const fn nsei(&self) -> Nsei {
        self.nsei
    }
    /// Its identifier.
    #[must_use]
    pub const fn nsvci(&self) -> Nsvci {
        self.nsvci
    }
    /// Our endpoint.
    #[must_use]
    pub const fn port(&self) -> Port {
        self.port
    }
    /// The far endpoint.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }
    /// It was configured; else it came with an NS-RESET.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.configured
    }
    /// Its state.
    #[must_use]
    pub const fn state(&self) -> VcState {
        self.state
    }
    /// Since when it has this state.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }
    /// What passed over it.
    #[must_use]
    pub const fn counters(&self) -> VcCounters {
        self.counters
    }
}
