//! What the two sides of the MAC say to each other, in the words of its procedures.
//!
//! Each is a message of 04.60 clause 11 [44.060] or of 04.18 clause 9.1 [44.018], without the fields that nothing here acts on.
//! Their octets are those of `gannet_wire::rlcmac`.

use super::paging::Pages;
use super::rlc::Report;
use gannet_machine::time::Duration;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::value::AckType;

/// Whom a message on PACCH is for (44.060 clause 11.2, address information).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Who has this TFI of an uplink TBF.
    UplinkTfi(u8),
    /// Who has this TFI of a downlink TBF.
    DownlinkTfi(u8),
    /// Who has this TLLI.
    Tlli(Tlli),
}

/// USFs of an uplink TBF, by timeslot; `None` where it has none.
pub type Usfs = [Option<u8>; 8];

/// From the network on PACCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Down {
    /// PACKET DOWNLINK ASSIGNMENT (44.060 clause 11.2.7).
    DownlinkAssignment {
        /// Whom it is for.
        to: To,
        /// The TBF.
        tfi: u8,
        /// Its timeslots, bit 0 for timeslot 0.
        slots: u8,
        /// RLC acknowledges.
        acknowledged: bool,
        /// The former TBF is released: this one begins anew (CONTROL_ACK).
        is_new: bool,
    },
    /// PACKET UPLINK ASSIGNMENT (44.060 clause 11.2.29), dynamic allocation.
    UplinkAssignment {
        /// Whom it is for.
        to: To,
        /// The TBF.
        tfi: u8,
        /// Its USFs.
        usfs: Usfs,
        /// The coding scheme to use.
        coding: CodingScheme,
    },
    /// PACKET UPLINK ACK/NACK (44.060 clause 11.2.28).
    UplinkAckNack {
        /// Which TBF.
        tfi: u8,
        /// The coding scheme to use.
        coding: CodingScheme,
        /// What was received.
        report: Report,
        /// CONTENTION_RESOLUTION_TLLI: whose the TBF is.
        contention: Option<Tlli>,
    },
    /// PACKET ACCESS REJECT (44.060 clause 11.2.1).
    AccessReject {
        /// Whom it is for.
        to: To,
        /// How long it must not ask again.
        wait: Duration,
    },
    /// PACKET TBF RELEASE (44.060 clause 11.2.26).
    TbfRelease {
        /// Which TBF.
        to: To,
        /// Both directions, or that of the TFI alone.
        is_both: bool,
    },
    /// PACKET PDCH RELEASE (44.060 clauses 8.2 and 11.2.11): for all that listen there.
    PdchRelease {
        /// The timeslots that stay PDCHs, bit 0 for timeslot 0.
        available: u8,
    },
    /// PACKET POLLING REQUEST (44.060 clause 11.2.12).
    Polling {
        /// Whom it is for.
        to: To,
        /// TYPE_OF_ACK: the form of the answer.
        answer: AckType,
    },
    /// PACKET DOWNLINK DUMMY CONTROL BLOCK (44.060 clause 11.2.8).
    Dummy,
}

/// From a mobile on PACCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Up {
    /// PACKET DOWNLINK ACK/NACK (44.060 clause 11.2.6).
    DownlinkAckNack {
        /// Which TBF.
        tfi: u8,
        /// What was received.
        report: Report,
        /// Channel Request Description: the mobile has LL-PDUs to send, the most urgent of this radio priority.
        wants_uplink: Option<RadioPriority>,
    },
    /// PACKET RESOURCE REQUEST (44.060 clause 11.2.16).
    ResourceRequest {
        /// Who asks.
        tlli: Tlli,
        /// Its multislot class.
        multislot_class: u8,
        /// Octets that it has to send; 0 is not said.
        octets: u16,
        /// Radio priority of the most urgent LL-PDU among them.
        priority: RadioPriority,
    },
    /// PACKET CONTROL ACKNOWLEDGEMENT as a control block (44.060 clause 11.2.2).
    ControlAck {
        /// Who answers.
        tlli: Tlli,
    },
    /// PACKET UPLINK DUMMY CONTROL BLOCK (44.060 clause 11.2.8b).
    Dummy {
        /// Who has nothing to send.
        tlli: Tlli,
    },
}

/// An access burst as the network answers it (04.18 clause 10.5.2.30, Request Reference).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The eight bits of CHANNEL REQUEST.
    pub code: u8,
    /// The TDMA frame in which it was sent.
    pub frame: u64,
}

/// Request references repeat after so many frames: T1', T2 and T3 (04.18 clause 10.5.2.30).
pub const REFERENCE_FRAMES: u64 = 42_432;

impl Burst {
    /// True where a reference names this burst.
    #[must_use]
    pub const fn is_named_by(self, reference: Self) -> bool {
        self.code == reference.code && self.frame % REFERENCE_FRAMES == reference.frame % REFERENCE_FRAMES
    }

    /// CHANNEL REQUEST for an access of one phase (04.18 clause 9.1.8): 0111 1xxx but not 0111 1111.
    #[must_use]
    pub const fn is_one_phase(self) -> bool {
        matches!(self.code, 0x78..=0x7e)
    }

    /// CHANNEL REQUEST for a single block (04.18 clause 9.1.8): 0111 0xxx.
    #[must_use]
    pub const fn is_single_block(self) -> bool {
        matches!(self.code, 0x70..=0x77)
    }
}

/// From the network on AGCH or PCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// PAGING REQUEST type 1, 2 or 3 (04.18 clauses 9.1.22 to 9.1.24).
    Paging(Pages),
    /// IMMEDIATE ASSIGNMENT with a packet uplink assignment (04.18 clause 10.5.2.16).
    Uplink {
        /// Whose burst it answers.
        reference: Burst,
        /// The PDCH.
        slot: u8,
        /// The TBF.
        tfi: u8,
        /// Its USF.
        usf: u8,
        /// The coding scheme of data blocks.
        coding: CodingScheme,
    },
    /// IMMEDIATE ASSIGNMENT with a single block (04.18 clause 10.5.2.16).
    SingleBlock {
        /// Whose burst it answers.
        reference: Burst,
        /// The PDCH.
        slot: u8,
        /// The TDMA frame with which the block begins (TBF starting time).
        frame: u64,
    },
    /// IMMEDIATE ASSIGNMENT with a packet downlink assignment (04.18 clause 10.5.2.16).
    Downlink {
        /// Whom it is for.
        tlli: Tlli,
        /// The PDCH.
        slot: u8,
        /// The TBF.
        tfi: u8,
        /// RLC acknowledges.
        acknowledged: bool,
    },
    /// IMMEDIATE ASSIGNMENT REJECT (04.18 clause 9.1.20).
    Reject {
        /// Whose burst it answers.
        reference: Burst,
        /// T3142: how long the mobile must not ask again.
        wait: Duration,
    },
}
