//! One NS-VC: its states, its timers, and what it does on which event (08.16 clauses 7.2 to 7.4 [48.016]).

use super::NsRole;
use VcState::{Blocked, BlockedLocally, Blocking, Dead, Resetting, Unblocked, Unblocking};
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::Port;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::Deadlines;
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::ns::Cause;

/// Number of an NS-VC within its entity; `TimerKey::slot` of its timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VcIndex(pub u32);

/// State of an NS-VC. It is alive in all but the first two, and carries NS-UNITDATA only when unblocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VcState {
    /// Dead and blocked: never reset, or the test procedure failed or has not passed yet.
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

/// How an NS-VC came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VcOrigin {
    /// A person configured it; without an NS-VCI it is never reset or blocked.
    Configured,
    /// Its peer announced it with NS-RESET.
    Announced,
    /// It joins two IP endpoints that the IP sub-network service made known (48.016 clause 6.2): it has no NS-VCI, and is
    /// never reset or blocked.
    Sns,
}

gannet_machine::timer_names! {
    /// Timers of an NS-VC (08.16 clause 11 [48.016]).
    pub(super) enum NsTimer {
        /// Tns-block: guards NS-BLOCK and NS-UNBLOCK (clause 7.2).
        TnsBlock = "Tns-block",
        /// Tns-reset: guards NS-RESET (clause 7.3).
        TnsReset = "Tns-reset",
        /// Tns-test: from one successful test to the next (clause 7.4).
        TnsTest = "Tns-test",
        /// Tns-alive: guards NS-ALIVE (clause 7.4).
        TnsAlive = "Tns-alive",
        /// Our own: a dead NS-VC that nobody configured is forgotten.
        Forget = "the end of a dead NS-VC",
    }
}

/// What happens to an NS-VC, by procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Clause 7.3.
    Reset(Reset),
    /// Clause 7.2.
    Block(Block),
    /// Clause 7.4.
    Test(Test),
    /// Clauses 7.1 and 8.
    Use(Use),
}

/// Events of the reset procedure (clause 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reset {
    /// A person, or the start, wants a reset.
    Oam,
    /// NS-RESET for this NS-VC.
    Rx,
    /// NS-RESET-ACK for this NS-VC.
    RxAck,
    /// Tns-reset expired, and another try is left.
    Timeout,
    /// Tns-reset expired for the last time.
    Exhausted,
}

/// Events of the blocking and unblocking procedures (clause 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// A person blocks it.
    Oam,
    /// A person unblocks it.
    OamUnblock,
    /// NS-BLOCK for this NS-VC.
    Rx,
    /// NS-BLOCK-ACK for this NS-VC.
    RxAck,
    /// NS-UNBLOCK.
    RxUnblock,
    /// NS-UNBLOCK-ACK.
    RxUnblockAck,
    /// Tns-block expired, and another try is left.
    Timeout,
    /// Tns-block expired for the last time.
    Exhausted,
}

/// Events of the test procedure (clause 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// NS-ALIVE.
    RxAlive,
    /// NS-ALIVE-ACK.
    RxAliveAck,
    /// Tns-alive expired for the last time.
    Failed,
}

/// What shows how the peer sees the NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// NS-UNITDATA.
    Unitdata,
    /// NS-STATUS with cause "NS-VC unknown".
    StatusUnknown,
    /// NS-STATUS with cause "NS-VC blocked".
    StatusBlocked,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset(Reset::Oam) => "reset by an operator or at the start",
            Self::Reset(Reset::Rx) => "NS-RESET came",
            Self::Reset(Reset::RxAck) => "NS-RESET-ACK came",
            Self::Reset(Reset::Timeout) => "no answer to NS-RESET, another try",
            Self::Reset(Reset::Exhausted) => "no answer to NS-RESET",
            Self::Block(Block::Oam) => "blocked by an operator",
            Self::Block(Block::OamUnblock) => "unblocked by an operator or after its reset",
            Self::Block(Block::Rx) => "NS-BLOCK came",
            Self::Block(Block::RxAck) => "NS-BLOCK-ACK came",
            Self::Block(Block::RxUnblock) => "NS-UNBLOCK came",
            Self::Block(Block::RxUnblockAck) => "NS-UNBLOCK-ACK came",
            Self::Block(Block::Timeout) => "no answer to NS-BLOCK or NS-UNBLOCK, another try",
            Self::Block(Block::Exhausted) => "no answer to NS-BLOCK or NS-UNBLOCK",
            Self::Test(Test::RxAlive) => "NS-ALIVE came",
            Self::Test(Test::RxAliveAck) => "NS-ALIVE-ACK came",
            Self::Test(Test::Failed) => "no answer to NS-ALIVE",
            Self::Use(Use::Unitdata) => "user data came",
            Self::Use(Use::StatusUnknown) => "NS-STATUS came, the peer does not know it",
            Self::Use(Use::StatusBlocked) => "NS-STATUS came, it is blocked at the peer",
        })
    }
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
    /// Test again after Tns-alive: an NS-VC without reset procedure comes back by passing its test.
    TestAgain,
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

/// The next state and what to do.
type Step = (VcState, &'static [Action]);

/// The next state and what to do. The timer of the state (Tns-reset, Tns-block) follows from the state.
pub(super) fn step(role: NsRole, state: VcState, event: Event) -> Step {
    match event {
        Event::Reset(event) => reset(role, state, event),
        Event::Block(event) => block(role, state, event),
        Event::Test(event) => test(role, state, event),
        Event::Use(event) => in_use(role, state, event),
    }
}

/// The same for an NS-VC between two IP endpoints that the IP sub-network service made known: there is no reset and no
/// blocking procedure, the test procedure decides alone whether it is in service (48.016 clauses 7.2 to 7.4). It is
/// [`BlockedLocally`] while the peer is being told that one of its endpoints goes.
pub(super) const fn step_ip(state: VcState, event: Event) -> Step {
    match (state, event) {
        (_, Event::Test(Test::RxAlive)) => (state, &[Action::AliveAck]),
        (Dead, Event::Test(Test::RxAliveAck)) => (Unblocked, &[Action::TestPassed]),
        (_, Event::Test(Test::RxAliveAck)) => (state, &[Action::TestPassed]),
        (BlockedLocally, Event::Test(Test::Failed) | Event::Use(Use::StatusUnknown)) => (state, &[]),
        (_, Event::Test(Test::Failed) | Event::Use(Use::StatusUnknown)) => (Dead, &[Action::TestAgain]),
        // Whoever sends NS-UNITDATA has tested the NS-VC, and wants an answer before our own first test has passed.
        (Dead, Event::Use(Use::Unitdata)) => (Unblocked, &[Action::StartTest]),
        (_, Event::Use(Use::Unitdata | Use::StatusBlocked)) => (state, &[]),
        (
            _,
            Event::Reset(Reset::Rx | Reset::RxAck)
            | Event::Block(Block::Rx | Block::RxAck | Block::RxUnblock | Block::RxUnblockAck),
        ) => (state, &[Action::StatusUnexpected]),
        // 48.016 clause 7.3: these procedures are not for an IP sub-network.
        (
            _,
            Event::Reset(Reset::Oam | Reset::Timeout | Reset::Exhausted)
            | Event::Block(Block::Oam | Block::OamUnblock | Block::Timeout | Block::Exhausted),
        ) => (state, &[]),
    }
}

/// The reset procedure (clause 7.3).
fn reset(role: NsRole, state: VcState, event: Reset) -> Step {
    match (state, event) {
        // 7.3: whoever starts the procedure marks the NS-VC blocked and dead.
        (Dead | Resetting | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Reset::Oam) => {
            (Resetting, &[Action::StopTest, Action::Reset])
        }
        // 7.3: the receiver acknowledges, and the NS-VC is alive and blocked. The BSS unblocks it.
        (Resetting, Reset::Rx) if role == NsRole::Bss => (Resetting, &[Action::ResetAck]),
        (Dead | Resetting | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Reset::Rx) => {
            match role {
                NsRole::Sgsn => (Blocked, &[Action::ResetAck, Action::StartTest, Action::TellReset]),
                NsRole::Bss => {
                    (Unblocking, &[Action::ResetAck, Action::StartTest, Action::TellReset, Action::Unblock])
                }
            }
        }
        (Resetting, Reset::RxAck) => match role {
            NsRole::Sgsn => (Blocked, &[Action::StartTest, Action::TellReset]),
            NsRole::Bss => (Unblocking, &[Action::StartTest, Action::TellReset, Action::Unblock]),
        },
        // 7.3.1: an acknowledgement that nobody waits for is ignored.
        (Dead | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Reset::RxAck) => {
            (state, &[Action::Unexpected])
        }
        // 7.3.1: NS-RESET is repeated until it is answered, by the SGSN a few times only.
        (Resetting, Reset::Timeout) => (Resetting, &[Action::Reset]),
        (Resetting, Reset::Exhausted) => (Dead, &[]),
        // Tns-reset was stopped when the state was left.
        (
            Dead | Blocked | Unblocking | Unblocked | Blocking | BlockedLocally,
            Reset::Timeout | Reset::Exhausted,
        ) => (state, &[]),
    }
}

/// The blocking and unblocking procedures (clause 7.2).
fn block(role: NsRole, state: VcState, event: Block) -> Step {
    match (state, event) {
        // 7.2: the peer blocks.
        (Blocked | Unblocking | Unblocked, Block::Rx) => (Blocked, &[Action::BlockAck]),
        (Blocking | BlockedLocally, Block::Rx) => (state, &[Action::BlockAck]),
        (Dead | Resetting, Block::Rx) => (state, &[Action::StatusUnexpected]),
        // 7.2: we block.
        (Blocked | Unblocking | Unblocked, Block::Oam) => (Blocking, &[Action::Block]),
        (Dead | Resetting | Blocking | BlockedLocally, Block::Oam) => (state, &[]),
        (Blocking, Block::RxAck) => (BlockedLocally, &[]),
        (Dead | Resetting | Blocked | Unblocking | Unblocked | BlockedLocally, Block::RxAck) => {
            (state, &[Action::Unexpected])
        }
        // 7.2: the peer unblocks; where it is blocked from here, it is told so again (7.2.1).
        (Blocked | Unblocking | Unblocked, Block::RxUnblock) => (Unblocked, &[Action::UnblockAck]),
        (Blocking | BlockedLocally, Block::RxUnblock) => (Blocking, &[Action::Block]),
        (Resetting, Block::RxUnblock) => (Resetting, &[Action::StatusUnexpected]),
        // 7.3: the peer uses an NS-VC that is dead here: a reset brings the two together.
        (Dead, Block::RxUnblock) => (Resetting, &[Action::Unexpected, Action::Reset]),
        // 7.2: we unblock.
        (Blocked | Blocking | BlockedLocally, Block::OamUnblock) => (Unblocking, &[Action::Unblock]),
        (Dead | Resetting | Unblocking | Unblocked, Block::OamUnblock) => (state, &[]),
        (Unblocking, Block::RxUnblockAck) => (Unblocked, &[]),
        (Dead | Resetting | Blocked | Unblocked | Blocking | BlockedLocally, Block::RxUnblockAck) => {
            (state, &[Action::Unexpected])
        }
        // 7.2.1: NS-BLOCK and NS-UNBLOCK are repeated, then given up. The BSS starts afresh instead.
        (Blocking, Block::Timeout) => (Blocking, &[Action::Block]),
        (Unblocking, Block::Timeout) => (Unblocking, &[Action::Unblock]),
        (Blocking, Block::Exhausted) => (BlockedLocally, &[]),
        (Unblocking, Block::Exhausted) => match role {
            NsRole::Sgsn => (Blocked, &[]),
            NsRole::Bss => (Resetting, &[Action::StopTest, Action::Reset]),
        },
        // Tns-block was stopped when the state was left.
        (Dead | Resetting | Blocked | Unblocked | BlockedLocally, Block::Timeout | Block::Exhausted) => {
            (state, &[])
        }
    }
}

/// The test procedure (clause 7.4).
fn test(role: NsRole, state: VcState, event: Test) -> Step {
    match (state, event) {
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Test::RxAlive) => {
            (state, &[Action::AliveAck])
        }
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Test::RxAliveAck) => {
            (state, &[Action::TestPassed])
        }
        (Resetting, Test::RxAlive) | (Dead | Resetting, Test::RxAliveAck) => (state, &[Action::Unexpected]),
        // 7.3: the peer uses an NS-VC that is dead here: a reset brings the two together.
        (Dead, Test::RxAlive) => (Resetting, &[Action::Unexpected, Action::Reset]),
        // 7.4.1: the NS-VC is dead and blocked; the BSS resets it.
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Test::Failed) => given_up(role),
        // Tns-alive was stopped when the state was left.
        (Dead | Resetting, Test::Failed) => (state, &[]),
    }
}

/// NS-UNITDATA, and NS-STATUS about this NS-VC (clauses 7.1, 7.2.1 and 8).
fn in_use(role: NsRole, state: VcState, event: Use) -> Step {
    match (state, event) {
        (Unblocked | Blocking | Resetting, Use::Unitdata) => (state, &[]),
        // 7.2.1: NS-UNITDATA on a blocked NS-VC.
        (Blocked | Unblocking | BlockedLocally, Use::Unitdata) => (state, &[Action::StatusBlocked]),
        // 7.3: the peer uses an NS-VC that is dead here: a reset brings the two together.
        (Dead, Use::Unitdata) => (Resetting, &[Action::Reset]),
        // 8: the peer says that it has no such NS-VC, or has it blocked.
        (Blocked | Unblocking | Unblocked | Blocking | BlockedLocally, Use::StatusUnknown) => given_up(role),
        (Unblocked, Use::StatusBlocked) => match role {
            NsRole::Sgsn => (Blocked, &[]),
            NsRole::Bss => (Unblocking, &[Action::Unblock]),
        },
        (Dead | Resetting, Use::StatusUnknown)
        | (Dead | Resetting | Blocked | Unblocking | Blocking | BlockedLocally, Use::StatusBlocked) => {
            (state, &[])
        }
    }
}

/// The NS-VC is dead and blocked. The BSS resets it, the SGSN waits for that.
const fn given_up(role: NsRole) -> Step {
    match role {
        NsRole::Sgsn => (Dead, &[Action::StopTest]),
        NsRole::Bss => (Resetting, &[Action::StopTest, Action::Reset]),
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
    /// How often it came to be blocked: by a reset, or from either side.
    pub blocked: u64,
    /// How often it came into service.
    pub unblocked: u64,
    /// NS-RESET without an answer in time.
    pub resets_unanswered: u64,
    /// How often it moved to another address of its peer.
    pub moves: u64,
    /// NS PDUs on it that name an NS-VCI which is not there.
    pub nsvci_invalid: u64,
    /// NS-RESET and its answer on it that name another NSEI.
    pub nsei_invalid: u64,
    /// From the last NS-ALIVE that was answered to its answer.
    pub alive_delay: Duration,
    /// NS-ALIVE without an answer in time.
    pub alive_unanswered: u64,
    /// How often the test procedure found the NS-VC dead.
    pub deaths: u64,
}

/// What a person calls an NS-VC.
#[derive(Debug, Clone, Copy)]
pub(super) struct VcName {
    nsei: Nsei,
    nsvci: Option<Nsvci>,
    peer: SocketAddr,
}

impl fmt::Display for VcName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nsvci {
            Some(nsvci) => write!(f, "NSEI {} NSVCI {nsvci}", self.nsei),
            None => write!(f, "NSEI {} NS-VC to {}", self.nsei, self.peer),
        }
    }
}

/// An NS-VC.
#[derive(Debug)]
pub struct NsVc {
    pub(super) index: VcIndex,
    pub(super) generation: u16,
    pub(super) nsei: Nsei,
    pub(super) nsvci: Option<Nsvci>,
    pub(super) port: Port,
    pub(super) peer: SocketAddr,
    pub(super) origin: VcOrigin,
    pub(super) signalling_weight: u8,
    pub(super) data_weight: u8,
    pub(super) state: VcState,
    pub(super) since: Instant,
    /// A person blocked it here; stays over a reset.
    pub(super) oam_blocked: bool,
    /// It is known from before a restart, and its peer has neither answered nor failed a test since.
    pub(super) is_recalled: bool,
    /// Why the next NS-RESET is sent.
    pub(super) reset_cause: Cause,
    /// Repetitions of the present NS-RESET, NS-BLOCK or NS-UNBLOCK.
    pub(super) repeated: u8,
    /// Repetitions of the present NS-ALIVE.
    pub(super) alive_repeated: u8,
    pub(super) deadlines: Deadlines<NsTimer>,
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
    /// Its identifier; none between two endpoints that the IP sub-network service made known.
    #[must_use]
    pub const fn nsvci(&self) -> Option<Nsvci> {
        self.nsvci
    }
    /// Its weights for signalling and data, as the peer has them.
    #[must_use]
    pub const fn weights(&self) -> (u8, u8) {
        (self.signalling_weight, self.data_weight)
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
    /// How it came to be.
    #[must_use]
    pub const fn origin(&self) -> VcOrigin {
        self.origin
    }
    /// What a person calls it.
    pub(super) const fn name(&self) -> VcName {
        VcName { nsei: self.nsei, nsvci: self.nsvci, peer: self.peer }
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
