//! Control messages from the network to mobiles (04.60 clause 11.2 [44.060]).

use super::cell::PacketSystemInformation13;
use super::coding::CodingScheme;
use super::csn::{BitReader, BitWriter, Bits, Csn, Later, choice, sequence};
use super::element::{
    AckNackDescription, DownlinkPower, ExtensionBits, FrequencyParameters, GlobalPowerControl, GlobalTfi,
    GlobalTimingAdvance, PacketRequestReference, PacketTimingAdvance, PersistenceLevels, PolledAddress,
    PowerControl, StartingTime, TfiOrTlli, UplinkAddress, Wait,
};
use super::message::types;
use super::neighbour::{PacketCellChangeContinue, PacketNeighbourCellData};
use super::paging::PacketPagingRequest;
use super::value::{
    AckType, Alpha, Arfcn, BlocksGranted, Bsic, BtsPowerMode, Gamma, MacMode, MeasurementInterval,
    MeasurementOrderIndex, MessageType, NetworkControlOrder, P0, PageMode, PdchSet, PeriodCode, PrMode,
    ReleaseCause, RlcMode, Tfi, Timeslot, TlliBlockCoding, Tqi, Usf, UsfGranularity,
};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Tlli;

/// USF of each timeslot on which the mobile may send.
pub type UsfOfTimeslot = [Option<Usf>; 8];

/// PACKET ACCESS REJECT (clause 11.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketAccessReject {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The first mobile.
    pub reject: Reject,
    /// More mobiles.
    pub more: Vec<Reject>,
    /// Additions.
    pub later: Later,
}
sequence!(PacketAccessReject, "Packet Access Reject": page_mode, reject, "", more, later);

/// One mobile that gets nothing (clause 11.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reject {
    /// The mobile.
    pub address: RejectAddress,
    /// How long it waits before it asks again.
    pub wait: Option<Wait>,
}
sequence!(Reject, "Reject": address, wait);

/// Who is rejected (clause 11.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejectAddress {
    /// Its TLLI.
    Tlli(Tlli),
    /// Its access burst.
    Request(PacketRequestReference),
    /// One of its TBFs.
    Tfi(GlobalTfi),
}
choice!(RejectAddress, "address": "0" => Tlli, "10" => Request, "11" => Tfi);

/// PACKET CELL CHANGE ORDER to a GSM cell (clause 11.2.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketCellChangeOrder {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile.
    pub address: TfiOrTlli,
    /// It leaves its TBFs at once.
    pub immediate: bool,
    /// BCCH of the cell.
    pub arfcn: Arfcn,
    /// Colour codes of the cell.
    pub bsic: Bsic,
    /// Whether it reports there.
    pub control: NetworkControl,
    /// Neighbour cells and additions: from the bit of NC_FREQUENCY_LIST on.
    pub later: Later<2>,
}
sequence!(
    PacketCellChangeOrder, "Packet Cell Change Order":
    page_mode, address, "0", immediate, arfcn, bsic, control, later,
);

/// NC measurement parameters without the list of frequencies (clause 11.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkControl {
    /// Who decides, who reports.
    pub order: NetworkControlOrder,
    /// How often.
    pub periods: Option<ReportingPeriods>,
}
sequence!(NetworkControl, "NC Measurement Parameters": order, periods);

/// Periods of measurement reports, in their codes: 0.48 s doubled so many times (clause 11.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReportingPeriods {
    /// NC_NON_DRX_PERIOD: after a report the mobile listens everywhere for 0, 0.24 s and the doubles of it.
    pub non_drx: PeriodCode,
    /// In packet idle mode.
    pub idle: PeriodCode,
    /// In packet transfer mode.
    pub transfer: PeriodCode,
}
sequence!(ReportingPeriods, "NC_NON_DRX_PERIOD": non_drx, idle, transfer);

/// PACKET DOWNLINK ASSIGNMENT (clause 11.2.7).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketDownlinkAssignment {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Persistence levels of the PRACH.
    pub persistence: Option<PersistenceLevels>,
    /// The mobile.
    pub address: TfiOrTlli,
    /// Medium access mode.
    pub mac_mode: MacMode,
    /// RLC mode.
    pub rlc_mode: RlcMode,
    /// The TBF of before is at its end; a new one begins, although T3192 runs (CONTROL_ACK).
    pub control_ack: bool,
    /// Where the mobile listens.
    pub timeslots: PdchSet,
    /// Timing advance.
    pub timing_advance: PacketTimingAdvance,
    /// Downlink power control.
    pub power: Option<AssignedPower>,
    /// Radio channels, where they change.
    pub frequencies: Option<FrequencyParameters>,
    /// TFI, where it is given or changes.
    pub tfi: Option<Tfi>,
    /// Uplink power control.
    pub power_control: Option<PowerControl>,
    /// When it begins; none: at once.
    pub starting_time: Option<StartingTime>,
    /// When to measure (in R97 and R99).
    pub measurement: Option<MeasurementMapping>,
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketDownlinkAssignment, "Packet Downlink Assignment":
    page_mode, persistence, address, "0", mac_mode, rlc_mode, control_ack, timeslots, timing_advance, power,
    "", frequencies, tfi, power_control, starting_time, measurement, later,
);

/// Downlink power control of an assignment (clause 11.2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AssignedPower {
    /// Least power reduction.
    pub p0: P0,
    /// Mode of the base station (in R97 and R99; A since).
    pub bts_mode: BtsPowerMode,
    /// Power reduction mode.
    pub pr_mode: PrMode,
}
sequence!(AssignedPower, "P0": p0, bts_mode, pr_mode);

/// When a mobile measures (clause 11.2.7 in R97 and R99).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MeasurementMapping {
    /// From when on.
    pub start: StartingTime,
    /// How often.
    pub interval: MeasurementInterval,
    /// In which timeslots.
    pub timeslots: PdchSet,
}
sequence!(MeasurementMapping, "Measurement Mapping": start, interval, timeslots);

/// PACKET DOWNLINK DUMMY CONTROL BLOCK (clause 11.2.8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketDownlinkDummy {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Persistence levels of the PRACH.
    pub persistence: Option<PersistenceLevels>,
}
sequence!(PacketDownlinkDummy, "Packet Downlink Dummy Control Block": page_mode, persistence);

/// PACKET MEASUREMENT ORDER (clause 11.2.9b).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketMeasurementOrder {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile.
    pub address: TfiOrTlli,
    /// Number of this message.
    pub index: MeasurementOrderIndex,
    /// Number of the last message of the order.
    pub last: MeasurementOrderIndex,
    /// Whether it reports.
    pub control: Option<NetworkControl>,
    /// Neighbour cells, extended measurements and additions: from the bit behind `control` on.
    pub later: Later<3>,
}
sequence!(
    PacketMeasurementOrder, "Packet Measurement Order":
    page_mode, address, index, last, control, later,
);

/// PACKET PDCH RELEASE (clause 11.2.11).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketPdchRelease {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Timeslots that stay PDCHs.
    pub available: PdchSet,
}
sequence!(PacketPdchRelease, "Packet PDCH Release": page_mode, "1", available);

/// PACKET POLLING REQUEST (clause 11.2.12).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketPollingRequest {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile.
    pub address: PolledAddress,
    /// How it answers.
    pub answer: AckType,
    /// Additions.
    pub later: Later,
}
sequence!(PacketPollingRequest, "Packet Polling Request": page_mode, address, answer, later);

/// PACKET POWER CONTROL/TIMING ADVANCE (clause 11.2.13).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketPowerControlTimingAdvance {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile.
    pub tfi: GlobalTfi,
    /// Power control of the cell.
    pub global_power: Option<GlobalPowerControl>,
    /// Timing advance, power control or both.
    pub parameters: PowerOrTiming,
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketPowerControlTimingAdvance, "Packet Power Control/Timing Advance":
    page_mode, "0", tfi, "0", global_power, parameters, later,
);

/// What a PACKET POWER CONTROL/TIMING ADVANCE has (clause 11.2.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PowerOrTiming {
    /// Both.
    Both(TimingAndPower),
    /// Timing advance.
    Timing(GlobalTimingAdvance),
    /// Power control.
    Power(PowerControl),
}
choice!(PowerOrTiming, "Global Packet Timing Advance": "0" => Both, "10" => Timing, "11" => Power);

/// Timing advance and power control (clause 11.2.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimingAndPower {
    /// Timing advance.
    pub timing_advance: GlobalTimingAdvance,
    /// Power control.
    pub power_control: PowerControl,
}
sequence!(TimingAndPower, "Global Packet Timing Advance": timing_advance, power_control);

/// PACKET QUEUEING NOTIFICATION (clause 11.2.15).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketQueueingNotification {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The access burst that is answered.
    pub request: PacketRequestReference,
    /// Name of the mobile until it is served.
    pub tqi: Tqi,
}
sequence!(PacketQueueingNotification, "Packet Queueing Notification": page_mode, "111", request, tqi);

/// PACKET TBF RELEASE (clause 11.2.26).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketTbfRelease {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile, by one of its TBFs.
    pub tfi: GlobalTfi,
    /// Its uplink TBF ends.
    pub uplink: bool,
    /// Its downlink TBF ends.
    pub downlink: bool,
    /// Why.
    pub cause: ReleaseCause,
}
sequence!(PacketTbfRelease, "Packet TBF Release": page_mode, "0", tfi, uplink, downlink, cause);

/// PACKET UPLINK ACK/NACK (clause 11.2.28).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketUplinkAckNack {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The TBF.
    pub tfi: Tfi,
    /// Coding scheme from here on.
    pub coding: CodingScheme,
    /// What has come.
    pub ack_nack: AckNackDescription,
    /// TLLI of the mobile whose blocks came: it resolves the contention of a one-phase access.
    pub contention_tlli: Option<Tlli>,
    /// Timing advance.
    pub timing_advance: Option<PacketTimingAdvance>,
    /// Power control.
    pub power_control: Option<PowerControl>,
    /// Bits for which nothing is defined.
    pub extension: Option<ExtensionBits>,
    /// Fixed allocation of R97 and R99, which is not read, and additions: from the bit of Fixed Allocation Parameters on.
    pub later: Later<2>,
}
sequence!(
    PacketUplinkAckNack, "Packet Uplink Ack/Nack":
    page_mode, "00", tfi, "0", coding, ack_nack, contention_tlli, timing_advance, power_control, extension,
    later,
);

/// PACKET UPLINK ASSIGNMENT (clause 11.2.29).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketUplinkAssignment {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Persistence levels of the PRACH.
    pub persistence: Option<PersistenceLevels>,
    /// The mobile.
    pub address: UplinkAddress,
    /// Coding scheme.
    pub coding: CodingScheme,
    /// Coding of blocks with a TLLI.
    pub tlli_coding: TlliBlockCoding,
    /// Timing advance.
    pub timing_advance: PacketTimingAdvance,
    /// Radio channels, where they change.
    pub frequencies: Option<FrequencyParameters>,
    /// What it gets.
    pub allocation: UplinkAllocation,
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketUplinkAssignment, "Packet Uplink Assignment":
    page_mode, persistence, address, "0", coding, tlli_coding, timing_advance, frequencies, allocation, later,
);

/// What a mobile gets on the uplink (clause 11.2.29).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UplinkAllocation {
    /// A TBF.
    Dynamic(DynamicAllocation),
    /// A block.
    SingleBlock(SingleBlockAllocation),
    /// Fixed allocation of R97 and R99, which is not read: the bits to the end of the block.
    Fixed(Later<0>),
    /// An extension that is not defined: the bits to the end of the block.
    Extension(Later<0>),
}
choice!(
    UplinkAllocation, "Dynamic Allocation":
    "01" => Dynamic, "10" => SingleBlock, "11" => Fixed, "00" => Extension,
);

/// An uplink TBF by dynamic allocation (clause 11.2.29).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DynamicAllocation {
    /// A USF gives its timeslot and all higher ones (extended dynamic allocation).
    pub is_extended: bool,
    /// Downlink power control.
    pub power: Option<DownlinkPower>,
    /// What one USF gives.
    pub granularity: UsfGranularity,
    /// TFI, where it is given or changes.
    pub tfi: Option<Tfi>,
    /// Blocks of a TBF with a known end (in R97 and R99).
    pub blocks: Option<BlocksGranted>,
    /// When it begins; none: at once.
    pub starting_time: Option<StartingTime>,
    /// Where the mobile may send.
    pub timeslots: UplinkTimeslots,
}
sequence!(
    DynamicAllocation, "Dynamic Allocation":
    is_extended, power, granularity, tfi, blocks, starting_time, timeslots,
);

/// Where a mobile may send (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UplinkTimeslots {
    /// On these timeslots.
    Usf(UsfOfTimeslot),
    /// On these timeslots, with power control.
    UsfAndPower(PoweredTimeslots),
}
choice!(UplinkTimeslots, "Timeslot Allocation": "0" => Usf, "1" => UsfAndPower);

impl UplinkTimeslots {
    /// The USF of each timeslot.
    #[must_use]
    pub fn usfs(&self) -> UsfOfTimeslot {
        match self {
            Self::Usf(usfs) => *usfs,
            Self::UsfAndPower(powered) => powered.timeslots.map(|timeslot| timeslot.map(|own| own.usf)),
        }
    }
}

/// Timeslots with power control (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoweredTimeslots {
    /// α.
    pub alpha: Alpha,
    /// USF and Γ_CH of each timeslot.
    pub timeslots: [Option<PoweredTimeslot>; 8],
}
sequence!(PoweredTimeslots, "Timeslot Allocation with Power Control Parameters": alpha, timeslots);

/// USF and Γ_CH of a timeslot (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoweredTimeslot {
    /// USF.
    pub usf: Usf,
    /// Γ_CH.
    pub gamma: Gamma,
}
sequence!(PoweredTimeslot, "USF": usf, gamma);

/// One uplink block (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SingleBlockAllocation {
    /// Its timeslot.
    pub timeslot: Timeslot,
    /// Uplink power control.
    pub power_control: Option<BlockPowerControl>,
    /// Downlink power control.
    pub power: Option<AssignedPower>,
    /// When.
    pub starting_time: StartingTime,
}
sequence!(
    SingleBlockAllocation, "Single Block Allocation": timeslot, power_control, power, starting_time,
);

/// Power control of one timeslot (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockPowerControl {
    /// α.
    pub alpha: Alpha,
    /// Γ_CH.
    pub gamma: Gamma,
}
sequence!(BlockPowerControl, "ALPHA": alpha, gamma);

/// PACKET TIMESLOT RECONFIGURE (clause 11.2.31).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketTimeslotReconfigure {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The mobile, by one of its TBFs.
    pub address: GlobalTfi,
    /// Coding scheme of the uplink.
    pub coding: CodingScheme,
    /// Timing advance.
    pub timing_advance: GlobalTimingAdvance,
    /// RLC mode of a new downlink TBF.
    pub downlink_mode: RlcMode,
    /// The downlink TBF of before is at its end; a new one begins, although T3192 runs (CONTROL_ACK).
    pub control_ack: bool,
    /// TFI of the downlink TBF, where it is given or changes.
    pub downlink_tfi: Option<Tfi>,
    /// TFI of the uplink TBF, where it is given or changes.
    pub uplink_tfi: Option<Tfi>,
    /// Where the mobile listens.
    pub downlink_timeslots: PdchSet,
    /// Radio channels, where they change.
    pub frequencies: Option<FrequencyParameters>,
    /// Where it sends.
    pub uplink: ReconfiguredAllocation,
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketTimeslotReconfigure, "Packet Timeslot Reconfigure":
    page_mode, "0", address, "0", coding, timing_advance, downlink_mode, control_ack, downlink_tfi,
    uplink_tfi, downlink_timeslots, frequencies, uplink, later,
);

/// What a mobile gets on the uplink by PACKET TIMESLOT RECONFIGURE (clause 11.2.31).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReconfiguredAllocation {
    /// A TBF.
    Dynamic(ReconfiguredUplink),
    /// Fixed allocation of R97 and R99, which is not read: the bits to the end of the block.
    Fixed(Later<0>),
}
choice!(ReconfiguredAllocation, "Dynamic Allocation": "0" => Dynamic, "1" => Fixed);

/// The uplink TBF of a PACKET TIMESLOT RECONFIGURE (clause 11.2.31).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReconfiguredUplink {
    /// A USF gives its timeslot and all higher ones (extended dynamic allocation).
    pub is_extended: bool,
    /// Downlink power control.
    pub power: Option<DownlinkPower>,
    /// What one USF gives.
    pub granularity: UsfGranularity,
    /// Blocks of a TBF with a known end (in R97 and R99).
    pub blocks: Option<BlocksGranted>,
    /// When it begins; none: at once.
    pub starting_time: Option<StartingTime>,
    /// Where the mobile may send.
    pub timeslots: UplinkTimeslots,
}
sequence!(
    ReconfiguredUplink, "Dynamic Allocation":
    is_extended, power, granularity, blocks, starting_time, timeslots,
);

/// A message of a type that is not known: its page mode counts all the same (clause 11.2.0.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnknownDownlink {
    /// Its type.
    pub message_type: MessageType,
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The rest of the block.
    pub content: Bits,
}

/// A control message on the downlink.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DownlinkMessage {
    /// Clause 11.2.1.
    AccessReject(PacketAccessReject),
    /// Clause 11.2.2a.
    CellChangeContinue(PacketCellChangeContinue),
    /// Clause 11.2.4.
    CellChangeOrder(PacketCellChangeOrder),
    /// Clause 11.2.7.
    DownlinkAssignment(PacketDownlinkAssignment),
    /// Clause 11.2.8.
    Dummy(PacketDownlinkDummy),
    /// Clause 11.2.9b.
    MeasurementOrder(PacketMeasurementOrder),
    /// Clause 11.2.9e.
    NeighbourCellData(PacketNeighbourCellData),
    /// Clause 11.2.10.
    PagingRequest(PacketPagingRequest),
    /// Clause 11.2.11.
    PdchRelease(PacketPdchRelease),
    /// Clause 11.2.12.
    PollingRequest(PacketPollingRequest),
    /// Clause 11.2.13.
    PowerControlTimingAdvance(PacketPowerControlTimingAdvance),
    /// Clause 11.2.15.
    QueueingNotification(PacketQueueingNotification),
    /// Clause 11.2.25.
    SystemInformation13(PacketSystemInformation13),
    /// Clause 11.2.26.
    TbfRelease(PacketTbfRelease),
    /// Clause 11.2.28.
    UplinkAckNack(PacketUplinkAckNack),
    /// Clause 11.2.29.
    UplinkAssignment(PacketUplinkAssignment),
    /// Clause 11.2.31.
    TimeslotReconfigure(PacketTimeslotReconfigure),
    /// Any other.
    Unknown(UnknownDownlink),
}

types! { DownlinkMessage, UnknownDownlink:
    0b10_0001 => AccessReject, PacketAccessReject, "Packet Access Reject";
    0b00_1011 => CellChangeContinue, PacketCellChangeContinue, "Packet Cell Change Continue";
    0b00_0001 => CellChangeOrder, PacketCellChangeOrder, "Packet Cell Change Order";
    0b00_0010 => DownlinkAssignment, PacketDownlinkAssignment, "Packet Downlink Assignment";
    0b10_0101 => Dummy, PacketDownlinkDummy, "Packet Downlink Dummy Control Block";
    0b00_0011 => MeasurementOrder, PacketMeasurementOrder, "Packet Measurement Order";
    0b00_1100 => NeighbourCellData, PacketNeighbourCellData, "Packet Neighbour Cell Data";
    0b10_0010 => PagingRequest, PacketPagingRequest, "Packet Paging Request";
    0b10_0011 => PdchRelease, PacketPdchRelease, "Packet PDCH Release";
    0b00_0100 => PollingRequest, PacketPollingRequest, "Packet Polling Request";
    0b00_0101 => PowerControlTimingAdvance, PacketPowerControlTimingAdvance,
        "Packet Power Control/Timing Advance";
    0b00_0110 => QueueingNotification, PacketQueueingNotification, "Packet Queueing Notification";
    0b11_0111 => SystemInformation13, PacketSystemInformation13, "Packet System Information Type 13";
    0b00_1000 => TbfRelease, PacketTbfRelease, "Packet TBF Release";
    0b00_1001 => UplinkAckNack, PacketUplinkAckNack, "Packet Uplink Ack/Nack";
    0b00_1010 => UplinkAssignment, PacketUplinkAssignment, "Packet Uplink Assignment";
    0b00_0111 => TimeslotReconfigure, PacketTimeslotReconfigure, "Packet Timeslot Reconfigure";
}

impl UnknownDownlink {
    fn read(message_type: u8, bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let message_type = MessageType::new(message_type)
            .ok_or_else(|| bits.error("MESSAGE_TYPE", DecodeErrorKind::UnknownMessage(message_type)))?;
        Ok(Self { message_type, page_mode: PageMode::read(bits)?, content: bits.rest() })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.page_mode.write(bits);
        self.content.put(bits);
    }
}
