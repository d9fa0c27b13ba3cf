//! The PCU of one cell: it gives TBFs to mobiles and says who sends in each block.
//!
//! | module | what |
//! |---|---|
//! | [`resources`] | TFIs, USFs and timeslots |
//! | [`fair`] | whose turn it is |
//! | [`drain`] | what the cell and its mobiles drain |
//! | [`queue`] | mobiles, and what waits for them |
//! | [`downlink`] | downlink TBFs |
//! | [`uplink`] | uplink TBFs |
//! | [`access`] | the CCCH: access bursts and assignments |
//! | [`release`] | PDCHs that go, with the TBFs on them |
//! | [`preemption`] | PDCHs that calls take, and return |
//! | [`schedule`] | what goes in a block, and what it is followed by |
//! | [`view`] | what there is and was, for who looks at it |
//!
//! A mobile is named by its number at the base station system, and on the air by TLLI: the PCU knows which TLLI belongs to which
//! number from the LL-PDUs that it is to send.

mod access;
mod downlink;
pub mod drain;
pub mod fair;
mod polls;
mod preemption;
mod queue;
mod release;
pub mod resources;
mod schedule;
mod uplink;
pub mod view;

pub use access::AccessCounts;
pub use preemption::PreemptionCounts;
pub use schedule::BlockCounts;

use super::block::{DownBlock, UpBlock};
use super::config::{CellOptions, NetworkConfig};
use super::custody::{Delivered, LlPdu};
use super::rlc::RlcCounts;
use super::signal::{Burst, To, Up};
use downlink::{DownState, DownTbf};
use fair::VirtualTime;
use foldhash::fast::FixedState;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::Tlli;
use queue::Context;
use resources::{Direction, Resources, TFIS};
use std::collections::{HashMap, VecDeque};
use uplink::UpTbf;

/// Why the PCU gives up an LL-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its lifetime has ended (08.18 clause 11.3.25).
    Lifetime,
    /// Unacknowledged mode: it was sent and did not arrive.
    Air,
    /// The mobile does not answer.
    Contact,
    /// Calls have taken all PDCHs.
    Preempted,
}

/// What the PCU has to say on a PACCH, made into a message when its block goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    /// PACKET DOWNLINK ASSIGNMENT of a TBF.
    DownlinkAssignment { to: To, tfi: u8, is_new: bool },
    /// PACKET UPLINK ASSIGNMENT of a TBF.
    UplinkAssignment { to: To, tfi: u8 },
    /// PACKET UPLINK ACK/NACK of a TBF.
    UplinkAckNack { tfi: u8 },
    /// PACKET ACCESS REJECT.
    AccessReject { to: To },
    /// PACKET POLLING REQUEST to the mobile of a downlink TBF.
    Polling { tfi: u8 },
    /// PACKET TBF RELEASE of a TBF.
    TbfRelease { direction: Direction, tfi: u8 },
}

/// What a block uplink is reserved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The TBF whose USF went before.
    Usf(u8),
    /// PACKET DOWNLINK ACK/NACK of a downlink TBF.
    Report(u8),
    /// PACKET CONTROL ACKNOWLEDGEMENT of an assignment to a downlink TBF, or of a poll after one.
    Assigned(u8),
    /// PACKET CONTROL ACKNOWLEDGEMENT of the final PACKET UPLINK ACK/NACK of a TBF.
    Final(u8),
    /// PACKET RESOURCE REQUEST.
    Request,
    /// PACKET CONTROL ACKNOWLEDGEMENT of the release of a TBF.
    Released(Direction, u8),
    /// The answer of a TBF that is over.
    Nobody,
}

/// Network timers that outlast one of the mobile begin with the end of a block, and not with its beginning.
const MARGIN: Duration = Duration::from_millis(60);

/// The PCU of one cell.
#[derive(Debug)]
pub struct Pcu {
    config: NetworkConfig,
    options: CellOptions,
    resources: Resources,
    /// PDCHs that the cell gives up when all is said there.
    leaving: u8,
    /// PDCHs that calls have or take.
    calls: preemption::Taken,
    contexts: HashMap<u32, Context, FixedState>,
    by_tlli: HashMap<Tlli, u32, FixedState>,
    down: [Option<Box<DownTbf>>; TFIS],
    up: [Option<Box<UpTbf>>; TFIS],
    control: [VecDeque<Control>; 8],
    expected: [VecDeque<(u64, Expected)>; 8],
    access: access::Queue,
    down_time: VirtualTime,
    up_time: VirtualTime,
    /// Mobiles for whose downlink TBF there is no room.
    starving: VecDeque<u32>,
    /// LL-PDUs that wait for their TBF, and their octets.
    waiting: (u32, u64),
    lost: VecDeque<(LlPdu, Loss)>,
    /// What had arrived of TBFs that are over, where mobiles are elsewhere.
    confirmed: VecDeque<LlPdu>,
    counts: BlockCounts,
    /// RLC of the TBFs that have ended.
    ended: RlcCounts,
    drains: drain::Drains,
}

impl Pcu {
    /// A cell without TBFs.
    #[must_use]
    pub fn new(config: NetworkConfig, options: CellOptions) -> Self {
        Self {
            config,
            options,
            resources: Resources::default(),
            leaving: 0,
            calls: preemption::Taken::default(),
            contexts: HashMap::with_hasher(FixedState::with_seed(0)),
            by_tlli: HashMap::with_hasher(FixedState::with_seed(0)),
            down: [const { None }; TFIS],
            up: [const { None }; TFIS],
            control: Default::default(),
            expected: Default::default(),
            access: access::Queue::default(),
            down_time: VirtualTime::default(),
            up_time: VirtualTime::default(),
            starving: VecDeque::new(),
            waiting: (0, 0),
            lost: VecDeque::new(),
            confirmed: VecDeque::new(),
            counts: BlockCounts::default(),
            ended: RlcCounts::default(),
            drains: drain::Drains::default(),
        }
    }

    /// What the cell is set to.
    #[must_use]
    pub const fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// What the cell broadcasts.
    #[must_use]
    pub const fn options(&self) -> &CellOptions {
        &self.options
    }

    /// What blocks were sent and for what.
    #[must_use]
    pub const fn counts(&self) -> &BlockCounts {
        &self.counts
    }

    /// RLC of all TBFs until now: what was sent downlink, and what came uplink.
    #[must_use]
    pub fn rlc_counts(&self) -> RlcCounts {
        let mut sum = self.ended;
        self.down.iter().flatten().for_each(|tbf| sum.sender += *tbf.rlc_counts());
        self.up.iter().flatten().for_each(|tbf| sum.receiver += *tbf.rlc_counts());
        sum
    }

    /// What happened on the CCCH.
    #[must_use]
    pub const fn access_counts(&self) -> &AccessCounts {
        self.access.counts()
    }

    /// TBFs now, downlink and uplink.
    #[must_use]
    pub fn tbfs(&self) -> (usize, usize) {
        (self.down.iter().flatten().count(), self.up.iter().flatten().count())
    }

    /// LL-PDUs that wait downlink, and their octets; those in a TBF that are in no block yet are among them.
    #[must_use]
    pub fn waiting(&self) -> (u32, u64) {
        let in_tbfs: u64 = self.down.iter().flatten().map(|tbf| tbf.waiting_octets()).sum();
        let (frames, octets) = self.waiting;
        (frames, octets + in_tbfs)
    }

    /// Something is to be sent, or awaited, on a PDCH: the PCU must be asked in the next block period.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let is_expecting = || self.expected.iter().any(|expected| !expected.is_empty());
        let is_speaking = || self.control.iter().any(|control| !control.is_empty());
        self.down.iter().flatten().any(|tbf| tbf.is_active())
            || self.up.iter().flatten().any(|tbf| tbf.is_active())
            || is_expecting()
            || is_speaking()
            || self.is_giving_way()
    }

    /// When a timer ends next.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let down = self.down.iter().flatten().filter_map(|tbf| tbf.deadlines.next());
        let up = self.up.iter().flatten().filter_map(|tbf| tbf.deadlines.next());
        down.chain(up).chain(self.calls.held_until()).min()
    }

    /// Timers may have ended.
    pub fn wake(&mut self, now: Instant) {
        self.hold_ends(now);
        for tfi in self.resources.tfis(Direction::Down) {
            self.wake_down(now, tfi);
        }
        for tfi in self.resources.tfis(Direction::Up) {
            self.wake_up(now, tfi);
        }
    }

    /// A block came on a PDCH in a period, or `None` where nothing could be read.
    pub fn uplink(
        &mut self,
        now: Instant,
        (slot, period): (u8, u64),
        block: Option<&UpBlock>,
        deliver: impl FnMut(Tlli, &[u8]),
    ) {
        let expected = self.expected.get_mut(usize::from(slot)).and_then(|waiting| {
            waiting.retain(|(at, _)| *at >= period);
            let place = waiting.iter().position(|(at, _)| *at == period)?;
            waiting.remove(place).map(|(_, what)| what)
        });
        self.counts.count_uplink(expected.is_some(), block);
        if let Some(expected) = expected {
            self.answered(now, (slot, period), expected, block);
        }
        match block {
            Some(UpBlock::Data { header, body }) => self.data(slot, header, body, deliver),
            Some(UpBlock::Control(Up::DownlinkAckNack { tfi, report, wants_uplink })) => {
                self.reported(now, slot, *tfi, report, *wants_uplink);
            }
            Some(UpBlock::Control(Up::ResourceRequest { tlli, multislot_class, priority, .. })) => {
                self.asked_for_uplink(slot, *tlli, *multislot_class, *priority);
            }
            Some(
                UpBlock::Control(Up::ControlAck { .. } | Up::Dummy { .. }) | UpBlock::ControlAckBursts(_),
            )
            | None => {}
        }
    }

    /// Whether what was expected in a block came.
    fn answered(
        &mut self,
        now: Instant,
        (slot, period): (u8, u64),
        expected: Expected,
        block: Option<&UpBlock>,
    ) {
        match (expected, block) {
            (Expected::Usf(tfi), block) => self.used(now, (slot, period), tfi, block),
            (Expected::Report(tfi), block) => {
                let came = matches!(block, Some(UpBlock::Control(Up::DownlinkAckNack { tfi: its, .. })) if *its == tfi);
                self.polled(now, tfi, came);
            }
            (Expected::Assigned(tfi), block) => {
                let came = block.is_some_and(UpBlock::is_control_ack);
                self.assignment_answered(now, slot, tfi, came);
            }
            (Expected::Final(tfi), block) => {
                let came = block.is_some_and(UpBlock::is_control_ack);
                self.final_answered(now, tfi, came);
            }
            (Expected::Released(direction, tfi), block) => {
                let came = block.is_some_and(UpBlock::is_control_ack);
                self.release_answered(now, (direction, tfi), slot, came);
            }
            // Who asked in two phases and did not come asks again.
            (Expected::Request | Expected::Nobody, _) => {}
        }
    }

    /// The next LL-PDU that was given up, and why.
    pub fn pop_lost(&mut self) -> Option<(LlPdu, Loss)> {
        self.lost.pop_front()
    }

    /// The next LL-PDU that has arrived, as far as RLC knows, where mobiles are elsewhere ([`NetworkConfig::is_apart`]).
    pub fn pop_confirmed(&mut self) -> Option<LlPdu> {
        let of_tbfs =
            |down: &mut [Option<Box<DownTbf>>]| down.iter_mut().flatten().find_map(|tbf| tbf.pop_confirmed());
        self.confirmed.pop_front().or_else(|| of_tbfs(&mut self.down))
    }

    /// An LL-PDU has arrived whole at the mobile that listens to this TFI.
    pub fn delivered(&mut self, tfi: u8, octets: &[u8]) -> Option<Delivered> {
        self.down.get_mut(usize::from(tfi))?.as_mut()?.deliver(octets)
    }

    /// There is such a downlink TBF, whose LL-PDUs would not be sent by another.
    #[must_use]
    pub fn carries(&self, tfi: u8) -> bool {
        let tbf = self.down.get(usize::from(tfi)).and_then(Option::as_ref);
        tbf.is_some_and(|tbf| !matches!(tbf.state, DownState::Silent | DownState::Leaving | DownState::Lost))
    }

    /// An access burst came in a frame.
    pub fn burst(&mut self, burst: Burst) {
        self.access.burst(burst);
    }
}

/// A DownBlock without use but its USF.
const fn dummy(usf: u8) -> DownBlock {
    DownBlock::Control { usf, rrbp: None, message: super::signal::Down::Dummy }
}
