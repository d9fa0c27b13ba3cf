//! Control messages from a mobile to the network (04.60 clause 11.2 [44.060]).

use super::csn::{BitReader, BitWriter, Bits, Csn, Later, choice, sequence};
use super::element::{
    AckNackDescription, ChannelQuality, ChannelRequestDescription, GlobalTfi, RadioCapabilities,
};
use super::message::types;
use super::neighbour::CellName;
use super::value::{
    AccessType, Arfcn, Bsic, CValue, CellChangeCause, ChangeMark, CtrlAck, InterferenceLevel, MessageType,
    RxLevel, SignVariance, StatusCause, Tfi,
};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Tlli;

/// PACKET CELL CHANGE FAILURE (clause 11.2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketCellChangeFailure {
    /// The mobile.
    pub tlli: Tlli,
    /// BCCH of the cell that it was sent to.
    pub arfcn: Arfcn,
    /// Colour codes of that cell.
    pub bsic: Bsic,
    /// Why.
    pub cause: CellChangeCause,
    /// Additions.
    pub later: Later,
}
sequence!(PacketCellChangeFailure, "Packet Cell Change Failure": tlli, arfcn, bsic, cause, later);

/// PACKET CELL CHANGE NOTIFICATION for a GSM cell (clause 11.2.3a).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketCellChangeNotification {
    /// One of the mobile's TBFs.
    pub tfi: GlobalTfi,
    /// The cell to which it wants to go.
    pub cell: CellName,
    /// By which list of neighbours it has measured.
    pub list: MeasuredList,
    /// That list has additions of PACKET MEASUREMENT ORDER.
    pub pmo_used: bool,
    /// It is not the first time that it says so.
    pub is_repeated: bool,
    /// What it has measured.
    pub report: CellChangeReport,
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketCellChangeNotification, "Packet Cell Change Notification":
    tfi, "0", cell, list, pmo_used, is_repeated, report, later,
);

/// A list of neighbours (clause 11.2.3a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MeasuredList {
    /// That of the BCCH, with its BA-IND.
    BaList(bool),
    /// That of the PBCCH, with the PSI3_CHANGE_MARK.
    Pbcch(ChangeMark),
}
choice!(MeasuredList, "BA_USED": "0" => BaList, "1" => Pbcch);

/// CCN Measurement Report (clause 11.2.3a).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellChangeReport {
    /// Its own cell.
    pub serving: RxLevel,
    /// Neighbour cells, the first seven.
    pub neighbours: Neighbours,
}
sequence!(CellChangeReport, "CCN Measurement Report": serving, "0", neighbours);

/// PACKET CONTROL ACKNOWLEDGEMENT as a control block (clause 11.2.2). [`super::access`] has its access bursts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketControlAcknowledgement {
    /// The mobile.
    pub tlli: Tlli,
    /// What it has received.
    pub ctrl_ack: CtrlAck,
    /// Additions.
    pub later: Later,
}
sequence!(PacketControlAcknowledgement, "Packet Control Acknowledgement": tlli, ctrl_ack, later);

/// PACKET DOWNLINK ACK/NACK (clause 11.2.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketDownlinkAckNack {
    /// The TBF.
    pub tfi: Tfi,
    /// What has come.
    pub ack_nack: AckNackDescription,
    /// The mobile wants an uplink TBF.
    pub request: Option<ChannelRequestDescription>,
    /// What it measures.
    pub quality: ChannelQuality,
    /// Additions.
    pub later: Later,
}
sequence!(PacketDownlinkAckNack, "Packet Downlink Ack/Nack": tfi, ack_nack, request, quality, later);

/// PACKET UPLINK DUMMY CONTROL BLOCK (clause 11.2.8b).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketUplinkDummy {
    /// The mobile.
    pub tlli: Tlli,
    /// Additions.
    pub later: Later,
}
sequence!(PacketUplinkDummy, "Packet Uplink Dummy Control Block": tlli, later);

/// PACKET MEASUREMENT REPORT (clause 11.2.9).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketMeasurementReport {
    /// The mobile.
    pub tlli: Tlli,
    /// State of the neighbour cells that it has measured.
    pub change_mark: Option<ChangeMark>,
    /// What it has measured.
    pub report: MeasurementReport,
    /// Additions.
    pub later: Later,
}
sequence!(PacketMeasurementReport, "Packet Measurement Report": tlli, change_mark, report, later);

/// What a mobile has measured (clause 11.2.9).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MeasurementReport {
    /// For network control.
    Network(NetworkReport),
    /// Extended measurements of R97 and R99, which are not read: the bits to the end of the block.
    Extended(Later<0>),
}
choice!(MeasurementReport, "NC Measurement Report": "0" => Network, "1" => Extended);

/// A report for network control (clause 11.2.9).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NetworkReport {
    /// It reports in mode NC2, otherwise NC1.
    pub is_nc2: bool,
    /// Its own cell.
    pub serving: RxLevel,
    /// Interference in its own cell (in R97 and R99).
    pub interference: Option<RxLevel>,
    /// Neighbour cells, the first seven.
    pub neighbours: Neighbours,
}
sequence!(NetworkReport, "NC Measurement Report": is_nc2, serving, interference, neighbours);

/// Measured neighbour cells, up to seven (clause 11.2.9).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Neighbours(pub Vec<Neighbour>);

impl Csn for Neighbours {
    const NAME: &'static str = "NUMBER_OF_NC_MEASUREMENTS";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let count = bits.take(3, Self::NAME)?;
        (0..count).map(|_| Neighbour::read(bits)).collect::<Result<_, _>>().map(Self)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(self.0.len().min(7) as u64, 3);
        self.0.iter().take(7).for_each(|neighbour| neighbour.write(bits));
    }
}

/// One neighbour cell (clause 11.2.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Neighbour {
    /// Its place in the list of frequencies.
    pub frequency: super::value::ArfcnIndex,
    /// Its colour codes, where the place does not say them.
    pub bsic: Option<Bsic>,
    /// Its signal.
    pub level: RxLevel,
}
sequence!(Neighbour, "FREQUENCY_N": frequency, bsic, level);

/// PACKET MOBILE TBF STATUS (clause 11.2.9c).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketMobileTbfStatus {
    /// The TBF.
    pub tfi: GlobalTfi,
    /// What was wrong.
    pub cause: StatusCause,
    /// With which message.
    pub about: Option<MessageType>,
    /// Additions.
    pub later: Later,
}
sequence!(PacketMobileTbfStatus, "Packet Mobile TBF Status": tfi, cause, about, later);

/// PACKET RESOURCE REQUEST (clause 11.2.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketResourceRequest {
    /// Why; the mobile says so in a two-phase access.
    pub access_type: Option<AccessType>,
    /// The mobile.
    pub address: RequestAddress,
    /// What it can do.
    pub capabilities: Option<RadioCapabilities>,
    /// What it wants.
    pub request: ChannelRequestDescription,
    /// State of the system information that it knows.
    pub change_mark: Option<ChangeMark>,
    /// Signal strength.
    pub c_value: CValue,
    /// Variance of the signal.
    pub variance: Option<SignVariance>,
    /// Interference on each timeslot.
    pub interference: [Option<InterferenceLevel>; 8],
    /// Additions.
    pub later: Later,
}
sequence!(
    PacketResourceRequest, "Packet Resource Request":
    access_type, address, capabilities, request, change_mark, c_value, variance, interference, later,
);

/// Who asks for resources (clause 11.2.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestAddress {
    /// One of its TBFs.
    Tfi(GlobalTfi),
    /// Its TLLI.
    Tlli(Tlli),
}
choice!(RequestAddress, "address": "0" => Tfi, "1" => Tlli);

/// A message of a type that is not known, or is not read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnknownUplink {
    /// Its type.
    pub message_type: MessageType,
    /// The rest of the block.
    pub content: Bits,
}

impl UnknownUplink {
    fn read(message_type: u8, bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let message_type = MessageType::new(message_type)
            .ok_or_else(|| bits.error("MESSAGE_TYPE", DecodeErrorKind::UnknownMessage(message_type)))?;
        Ok(Self { message_type, content: bits.rest() })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.content.put(bits);
    }
}

/// A control message on the uplink.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UplinkMessage {
    /// Clause 11.2.2.
    ControlAcknowledgement(PacketControlAcknowledgement),
    /// Clause 11.2.3.
    CellChangeFailure(PacketCellChangeFailure),
    /// Clause 11.2.3a.
    CellChangeNotification(PacketCellChangeNotification),
    /// Clause 11.2.6.
    DownlinkAckNack(PacketDownlinkAckNack),
    /// Clause 11.2.8b.
    Dummy(PacketUplinkDummy),
    /// Clause 11.2.9.
    MeasurementReport(PacketMeasurementReport),
    /// Clause 11.2.9c.
    MobileTbfStatus(PacketMobileTbfStatus),
    /// Clause 11.2.16.
    ResourceRequest(PacketResourceRequest),
    /// Any other.
    Unknown(UnknownUplink),
}
types! { UplinkMessage, UnknownUplink:
    0b00_0000 => CellChangeFailure, PacketCellChangeFailure, "Packet Cell Change Failure";
    0b00_0001 => ControlAcknowledgement, PacketControlAcknowledgement, "Packet Control Acknowledgement";
    0b00_1100 => CellChangeNotification, PacketCellChangeNotification, "Packet Cell Change Notification";
    0b00_0010 => DownlinkAckNack, PacketDownlinkAckNack, "Packet Downlink Ack/Nack";
    0b00_0011 => Dummy, PacketUplinkDummy, "Packet Uplink Dummy Control Block";
    0b00_0100 => MeasurementReport, PacketMeasurementReport, "Packet Measurement Report";
    0b00_0101 => ResourceRequest, PacketResourceRequest, "Packet Resource Request";
    0b00_0110 => MobileTbfStatus, PacketMobileTbfStatus, "Packet Mobile TBF Status";
}
