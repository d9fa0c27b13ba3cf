//! The radio of the cells: what stands between the BSSGP entity of a BSS and its mobiles, and takes the place of RLC/MAC.
//!
//! [`Radio`] says what it does in the words of its layer: LL-PDUs are requested to go down to a mobile or up from one. Each
//! comes back once: as [`Indication::Arrived`], as [`Indication::Lost`] with a cause, or because it was taken out again.
//! [`EmulatedRadio`] is a queue with a rate, a delay and a loss for each cell and direction. [`RlcMacRadio`] has RLC/MAC and
//! sends block by block. [`VirtualUm`] has the same, with mobiles that are elsewhere. [`AdaptationRadio`] is the queue in front of a link layer.
//!
//! Units: octets are those of LL-PDUs, rates are bit/s, times are nanoseconds since the run began. A cell is named by its
//! index, a mobile by its slot on the radio. An index that the radio does not have is no panic: it takes nothing there and
//! tells nothing of it.

mod adaptation;
mod emulated;
mod rlcmac;
mod virtual_um;

pub use adaptation::AdaptationRadio;
pub use emulated::EmulatedRadio;
pub use rlcmac::{ChannelConfig, RlcMacConfig, RlcMacRadio, Weights};
pub use virtual_um::{VirtualUm, VirtualUmConfig};

use core::fmt;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Context, Peer};
use gannet_proto::rlcmac::config::Preempted;
pub use gannet_proto::rlcmac::network::PreemptionCounts;
pub use gannet_proto::rlcmac::paging::Page;
use gannet_wire::DecodeError;
use gannet_wire::bssgp::DlUnitdata;
use gannet_wire::bssgp::ie::Precedence;
use gannet_wire::id::{Imsi, Tlli};
use gannet_wire::l3::ie::{DrxParameter, RadioPriority};

/// Which way an LL-PDU goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the mobile.
    Downlink,
    /// From the mobile.
    Uplink,
}

/// An LL-PDU on its way over the radio.
#[derive(Debug)]
pub struct Pending {
    /// To or from which mobile.
    pub mobile: u32,
    /// By which name.
    pub tlli: Tlli,
    /// When its PDU lifetime ends (08.18 clause 11.3.25). Uplink it never does.
    pub expires: Instant,
    /// How soon it is to be sent.
    pub urgency: Urgency,
    /// The LL-PDU.
    pub frame: Frame,
}

/// How soon an LL-PDU is to be sent, against those of other mobiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Urgency {
    /// Before all others.
    Signalling,
    /// Before all but signalling.
    RealTime,
    /// By weight, of high precedence.
    High,
    /// By weight, of normal precedence.
    #[default]
    Normal,
    /// By weight, of low precedence.
    Low,
}

impl Urgency {
    /// Of an LL-PDU from a mobile with this radio priority.
    #[must_use]
    pub const fn of_priority(priority: RadioPriority) -> Self {
        match priority {
            RadioPriority::One => Self::RealTime,
            RadioPriority::Two => Self::High,
            RadioPriority::Three => Self::Normal,
            RadioPriority::Four => Self::Low,
        }
    }

    /// The radio priority that goes with it.
    #[must_use]
    pub const fn priority(self) -> RadioPriority {
        match self {
            Self::Signalling | Self::RealTime => RadioPriority::One,
            Self::High => RadioPriority::Two,
            Self::Normal => RadioPriority::Three,
            Self::Low => RadioPriority::Four,
        }
    }

    /// What a DL-UNITDATA says of its LL-PDU (08.18 clauses 11.3.25, 11.3.28 and 11.3.42 [48.018]). Signalling has its T bit, or its
    /// packet flow: 1 signalling, 2 SMS, 3 TOM8 (24.008 clause 10.5.6.11). The profile has no delay class: real time is what does not live
    /// longer than `real_time`. All else goes by its precedence; that of packet flow 0, best effort, is low.
    #[must_use]
    pub fn of(header: &DlUnitdata<'_>, real_time: Duration) -> Self {
        let is_short = header.lifetime.nanos().is_some_and(|span| span <= real_time.0);
        match (header.pfi, header.qos.precedence) {
            (Some(1..=3), _) => Self::Signalling,
            _ if !header.qos.data => Self::Signalling,
            _ if is_short => Self::RealTime,
            (Some(0), _) | (_, Precedence::LOW) => Self::Low,
            (_, Precedence::HIGH) => Self::High,
            _ => Self::Normal,
        }
    }
}

/// What a radio drains downlink: R of a bucket (08.18 clause 8.2 [48.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain {
    /// Bits of LL-PDUs in a second.
    pub rate_bit_per_s: u64,
    /// Octets that wait.
    pub waiting_octets: u64,
    /// The rate was measured; otherwise it is what the configuration permits.
    pub is_measured: bool,
}

/// The drain of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellDrain {
    /// Of all mobiles together.
    pub cell: Drain,
    /// Of a mobile of which nothing is known, alone in the cell, in bit/s.
    pub default_ms_bit_per_s: u64,
}

/// PDCHs of a cell, as sets with bit 0 for timeslot 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// Those of the configuration.
    pub configured: u8,
    /// Of these, those that calls have.
    pub held: u8,
    /// Of these, those that GPRS has and that calls do not take.
    pub usable: u8,
    /// What becomes of LL-PDUs when calls have all.
    pub preempted: Preempted,
    /// LL-PDUs are discarded, since calls have all.
    pub discards: bool,
    /// What calls have done.
    pub counts: PreemptionCounts,
}

impl Channels {
    /// Calls have all, or take the last in these block periods.
    #[must_use]
    pub const fn is_without_pdch(&self) -> bool {
        self.usable == 0
    }
}

/// What right an LL-PDU has to the room of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It comes for the first time, and needs room in the cell's queue.
    New,
    /// It was taken before, in this cell or another: the SGSN counts it as taken. Only the limit of all cells together
    /// refuses it.
    Moved,
}

/// What became of an LL-PDU.
#[derive(Debug)]
pub enum Indication {
    /// It has arrived, whole: downlink at its mobile, uplink at the BSS.
    Arrived(Pending),
    /// It will not arrive.
    Lost {
        /// The LL-PDU.
        pdu: Pending,
        /// Why not.
        cause: LossCause,
    },
}

/// Why an LL-PDU does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// Its lifetime had ended before its turn came (08.18 clause 11.3.25): it was never sent.
    Lifetime,
    /// It was sent, and did not arrive. The BSS does not know of it: without acknowledgement by RLC nobody tells it.
    Air,
    /// RLC/MAC has not reached the other side, and has given up.
    Contact,
    /// Calls have taken all PDCHs of the cell.
    Preempted,
}

impl LossCause {
    /// The name under which the LL-PDU is counted.
    #[must_use]
    pub const fn drop(self) -> Drop {
        match self {
            Self::Lifetime => Drop::BssLifetime,
            Self::Air => Drop::BssRadioLoss,
            Self::Contact => Drop::BssContactLost,
            Self::Preempted => Drop::BssPreempted,
        }
    }

    /// The SGSN is told of a downlink LL-PDU by LLC-DISCARDED (08.18 clause 8.3).
    #[must_use]
    pub const fn is_discard(self) -> bool {
        matches!(self, Self::Lifetime | Self::Contact | Self::Preempted)
    }
}

/// What a radio does with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// It is said in time: [`Radio::pop_paged`] tells who has heard it.
    Taken,
    /// Too many wait.
    Full,
    /// The radio has no paging channel: all mobiles of the cell are to be told at once.
    NoChannel,
}

/// Frames and octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// LL-PDUs.
    pub frames: u32,
    /// Their octets.
    pub octets: u64,
}

impl Amount {
    pub(super) const fn add(&mut self, octets: u64) {
        self.frames += 1;
        self.octets += octets;
    }
}

/// Rate, room and delay of one cell in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioConfig {
    /// Bits that the cell transmits in a second; at least 1.
    pub rate_bit_per_s: u64,
    /// Octets that may wait for it, those on the air included.
    pub queue_octets: u64,
    /// From the end of the transmission to the arrival.
    pub delay: Duration,
}

/// The radio of all cells of a BSS, in both directions.
///
/// LL-PDUs of one mobile and direction arrive in the order in which they were requested; signalling may overtake user data. The BSS asks for the next event
/// after each call that may have changed it, and for indications when that has come; it takes all of them.
pub trait Radio: fmt::Debug {
    /// Takes an LL-PDU: downlink into the cell's queue, uplink from a mobile that has it to send.
    ///
    /// # Errors
    /// The LL-PDU, where there is no room for it or no such cell.
    fn request(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending>;

    /// When something happens next in a cell: there may be an indication then, and is none before. It may lie in the past.
    fn next_event(&self, cell: u32, way: Way) -> Option<Instant>;

    /// The next LL-PDU that has arrived, or is lost, at `cx.now`; `None` when there is no more. Dice come from `cx.rng`.
    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication>;

    /// What waits in a cell, what is being sent included and what has gone not: the bucket of which FLOW-CONTROL-BVC tells
    /// the SGSN (08.18 clause 8.2).
    fn waiting(&self, cell: u32, way: Way) -> Amount;

    /// A mobile has left a cell for another. Its LL-PDUs of both directions are taken out, first those downlink, in their
    /// order: those that have gone and not arrived among them, since the mobile acknowledges none of them any more. Uplink
    /// those are taken out that have not gone.
    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending));

    /// Takes the LL-PDUs of a mobile, or of all, that wait in a cell, in their order (08.18 clauses 8.1 and 8.4: FLUSH-LL,
    /// and a BVC that is reset). Those that have gone arrive.
    fn take_waiting(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    );

    /// GPRS of a mobile is suspended, or with `false` resumed (03.60 clause 16.2.1.1): the mobile is on a dedicated channel
    /// and hears nothing of what is sent to it meanwhile. An LL-PDU from the mobile also ends it.
    fn set_suspended(&mut self, now: Instant, mobile: u32, on: bool);

    /// A mobile has left the air of its cell, or with `false` is back on one: its TBFs are over, and it hears nothing of what the cell
    /// sends. False where the radio has no such thing.
    fn tune_away(&mut self, _now: Instant, _mobile: u32, _on: bool) -> bool {
        false
    }

    /// A direction of a cell has another rate, room and delay from now on.
    fn reconfigure(&mut self, now: Instant, cell: u32, way: Way, config: RadioConfig);

    /// What a cell drains downlink; `None` where the radio does not measure it, and is configured instead.
    fn drain(&self, _now: Instant, _cell: u32) -> Option<CellDrain> {
        None
    }

    /// The mobiles of a cell whose drain is measured, by their slot.
    fn measured_mobiles(&self, _now: Instant, _cell: u32, _out: &mut dyn FnMut(u32, Drain)) {}

    /// A mobile is in a cell, and has nothing to send there.
    fn camp_on(&mut self, _now: Instant, _cell: u32, _mobile: u32) {}

    /// What the SGSN says of a mobile in a cell: who it is and when it listens (08.18 clause 10.2.1). Of use where it is paged.
    fn learn(&mut self, _cell: u32, _mobile: u32, _imsi: Imsi, _drx: DrxParameter) {}

    /// Pages a mobile in a cell.
    fn page(&mut self, _now: Instant, _cell: u32, _page: Page, _imsi: Imsi) -> Paging {
        Paging::NoChannel
    }

    /// The next mobile of a cell that has heard a page, whoever that is for. To be asked for after the indications.
    fn pop_paged(&mut self, _cell: u32) -> Option<(u32, Page)> {
        None
    }

    /// What is in front of the radio takes nothing more, or with `false` takes again. Afterwards there may be indications. A
    /// radio with a rate of its own has nothing in front of it.
    fn hold_back(&mut self, _on: bool) {}

    /// Calls hold these timeslots of a cell from now on, bit 0 for timeslot 0. False where the radio has none. Afterwards there may be
    /// indications.
    fn hold_channels(&mut self, _now: Instant, _cell: u32, _timeslots: u8) -> bool {
        false
    }

    /// The PDCHs of a cell; `None` where it has none.
    fn channels(&self, _cell: u32) -> Option<Channels> {
        None
    }

    /// The link of a cell is gone, or with `false` there again: what waits for it stays. A radio without links has none that go.
    fn hold_cell(&mut self, _cell: u32, _on: bool) {}

    /// Whether what it takes may have arrived at once: the BSS then asks for indications after each request, and need not be
    /// woken.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Its RLC/MAC, where it has one that can be looked at.
    fn rlcmac(&self) -> Option<&RlcMacRadio> {
        None
    }

    /// The same, to have its air looked at.
    fn rlcmac_mut(&mut self) -> Option<&mut RlcMacRadio> {
        None
    }

    /// Whether mobiles are named to it by their slot and get what arrives from the BSS. One whose mobiles are elsewhere names
    /// them itself, and what has arrived there needs no more than to be counted.
    fn has_mobiles(&self) -> bool {
        true
    }

    /// A datagram of its air came. Gives the cell in which it was heard.
    ///
    /// # Errors
    /// What cannot be read.
    fn hear(&mut self, _now: Instant, _octets: &[u8]) -> Result<Option<u32>, DecodeError> {
        Ok(None)
    }

    /// The next datagram of its air, and where it goes.
    fn pop_sent(&mut self) -> Option<(Peer, Frame)> {
        None
    }
}
