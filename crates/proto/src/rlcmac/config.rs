//! What a cell's RLC/MAC is set to: channels, coding, timers and limits.

use super::ccch::RachControl;
use super::multislot::MultislotClass;
use super::network::fair::Class;
use super::paging::PagingControl;
use super::policy::Policy;
use gannet_machine::time::Duration;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::value::AckType;

/// What the cell broadcasts and both sides follow (04.60 clause 12.24 [44.060], GPRS Cell Options, and 04.18 clause 10.5.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOptions {
    /// The carrier (ARFCN, 45.005 clause 2): of the PDCHs and of the CCCH, 0 to 1023.
    pub arfcn: u16,
    /// Random access on the CCCH.
    pub rach: RachControl,
    /// Paging blocks of the CCCH.
    pub paging: PagingControl,
    /// DRX_TIMER_MAX: the longest non-DRX period after a transfer; 0, or 1 to 64 s.
    pub drx_timer_max: Duration,
    /// T3168: how long a mobile waits for an answer to PACKET RESOURCE REQUEST, 500 ms to 4 s.
    pub t3168: Duration,
    /// T3192: how long a mobile keeps the TFI of a downlink TBF after its last block, up to 1.5 s.
    pub t3192: Duration,
    /// BS_CV_MAX: from which number of remaining blocks the mobile counts down; 0 to 15.
    pub bs_cv_max: u8,
    /// CONTROL_ACK_TYPE: the form of PACKET CONTROL ACKNOWLEDGEMENT where the poll does not say one (44.060 clause 11.2.2).
    pub control_ack: AckType,
    /// ACCESS_BURST_TYPE: bits of the access bursts on PDCHs.
    pub access_burst: AccessBurst,
    /// How long an uplink TBF stays without data (extended uplink TBF mode, 44.060 clause 9.3.1b); zero where it ends at once.
    pub extended_uplink: Duration,
}

impl Default for CellOptions {
    fn default() -> Self {
        Self {
            arfcn: 1,
            rach: RachControl::default(),
            paging: PagingControl::default(),
            drx_timer_max: Duration::from_secs(4),
            t3168: Duration::from_secs(1),
            t3192: Duration::from_millis(500),
            bs_cv_max: 7,
            control_ack: AckType::ControlBlock,
            access_burst: AccessBurst::Bits8,
            extended_uplink: Duration::ZERO,
        }
    }
}

/// Whose turn it is uplink, by the radio priority that a mobile says when it asks for a TBF (44.060 clauses 11.2.6 and 11.2.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkClasses {
    /// Of radio priority 1, the most urgent, to 4.
    pub said: [Class; 4],
    /// Of a TBF whose mobile has not said any: access in one phase.
    pub unsaid: Class,
}

impl UplinkClasses {
    /// Radio priority 1 is of real time, and goes first. The others go by weight: high, normal and low. What was not said is normal.
    #[must_use]
    pub const fn weighted([high, normal, low]: [u8; 3]) -> Self {
        let unsaid = Class::Weighted(normal);
        Self { said: [Class::RealTime, Class::Weighted(high), unsaid, Class::Weighted(low)], unsaid }
    }

    /// The class of a radio priority.
    #[must_use]
    pub const fn of(&self, priority: RadioPriority) -> Class {
        let [one, two, three, four] = self.said;
        match priority {
            RadioPriority::One => one,
            RadioPriority::Two => two,
            RadioPriority::Three => three,
            RadioPriority::Four => four,
        }
    }
}

/// The longest time for which LL-PDUs are held: that of a PDU lifetime (03.60, maximum holding time).
pub const HOLD_MAX: Duration = Duration::from_secs(63);

/// What becomes of LL-PDUs downlink when calls have taken the last PDCH of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preempted {
    /// All are discarded, and those that come meanwhile.
    Flush,
    /// They are held for so long, and then discarded.
    HoldFor(Duration),
    /// Those of which nothing was sent are held until PDCHs return. Those of which something was sent and not all acknowledged are discarded.
    Hold,
    /// All that have not arrived wait at the head of their queue, and go as soon as PDCHs return.
    #[default]
    Forward,
}

/// What access bursts get while calls have all PDCHs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutPdch {
    /// Nothing.
    Ignore,
    /// IMMEDIATE ASSIGNMENT REJECT: the mobile waits (T3142).
    #[default]
    Reject,
}

/// What the network does in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Timeslots that are PDCHs, bit 0 for timeslot 0.
    pub pdchs: u8,
    /// The coding scheme of downlink data blocks.
    pub downlink_coding: CodingScheme,
    /// The coding scheme that mobiles are told to use.
    pub uplink_coding: CodingScheme,
    /// RLC acknowledges (44.060 clause 9.3.2), downlink and uplink.
    pub acknowledged: bool,
    /// What is done about lost blocks.
    pub policy: Policy,
    /// How long a downlink TBF stays without data (delayed release, 44.060 clause 9.3.1a); zero where it ends at once.
    pub delayed_release: Duration,
    /// How often a mobile is polled while a TBF stays without data.
    pub idle_poll: Duration,
    /// A mobile that was told of a downlink TBF on the CCCH must say that it has heard it before data go (PACKET POLLING REQUEST, 44.060
    /// clause 11.2.12). Otherwise data go at once, and where it has not heard it they are lost until N3105 and T3195 have run out.
    pub confirm_assignment: bool,
    /// An access burst of one phase is answered with a single block: the mobile then asks in two phases.
    pub force_two_phase: bool,
    /// The multislot class of mobiles that have not said theirs.
    pub multislot_class: MultislotClass,
    /// Timeslots of a downlink TBF, where the mobile's multislot class permits.
    pub downlink_slots: u8,
    /// Timeslots of an uplink TBF, where the mobile's multislot class permits.
    pub uplink_slots: u8,
    /// Whose turn it is uplink.
    pub uplink_classes: UplinkClasses,
    /// How long a mobile must not ask again where the cell has no room (T3142, T3172).
    pub reject_wait: Duration,
    /// Uplink TBFs that share a PDCH, up to 7 by USF.
    pub tbfs_per_pdch_max: u8,
    /// Octets that may wait downlink in the cell.
    pub queue_octets: u64,
    /// N3101 (44.060 clause 13.4): blocks that a mobile may leave unused; more than 8.
    pub n3101_max: u8,
    /// N3103 (44.060 clause 13.4): final acknowledgements without an answer.
    pub n3103_max: u8,
    /// N3105 (44.060 clause 13.4): polls of a downlink TBF without an answer.
    pub n3105_max: u8,
    /// Times that a mobile is sought for its downlink LL-PDUs before they are discarded.
    pub assignments_max: u8,
    /// T3169 (44.060 clause 13.2).
    pub t3169: Duration,
    /// T3191 (44.060 clause 13.2).
    pub t3191: Duration,
    /// T3195 (44.060 clause 13.2).
    pub t3195: Duration,
    /// What becomes of LL-PDUs when calls have taken the last PDCH.
    pub preempted: Preempted,
    /// What access bursts get then.
    pub without_pdch: WithoutPdch,
    /// The mobiles are elsewhere: of an LL-PDU the cell knows what RLC acknowledges, and nothing else.
    pub is_apart: bool,
}

impl NetworkConfig {
    /// Defaults for these timeslots, with a coding scheme for both directions, and mobiles of multislot class 6.
    #[must_use]
    pub const fn new(pdchs: u8, coding: CodingScheme) -> Self {
        Self {
            pdchs,
            downlink_coding: coding,
            uplink_coding: coding,
            acknowledged: true,
            policy: Policy::USUAL,
            delayed_release: Duration::ZERO,
            idle_poll: Duration::from_millis(200),
            confirm_assignment: false,
            force_two_phase: false,
            multislot_class: MultislotClass::ALL[5],
            downlink_slots: 3,
            uplink_slots: 1,
            uplink_classes: UplinkClasses::weighted([4, 2, 1]),
            reject_wait: Duration::from_secs(1),
            tbfs_per_pdch_max: 7,
            queue_octets: 50_000,
            n3101_max: 10,
            n3103_max: 4,
            n3105_max: 8,
            assignments_max: 4,
            t3169: Duration::from_secs(5),
            t3191: Duration::from_secs(5),
            t3195: Duration::from_secs(5),
            preempted: Preempted::Forward,
            without_pdch: WithoutPdch::Reject,
            is_apart: false,
        }
    }
}
