//! The octets of what is on the air: data blocks, control blocks, and the messages of AGCH and PCH.
//!
//! Fields that nothing acts on have fixed values: page mode "normal", the carrier of the cell, timing advance 0, no power
//! control. They are read and thrown away.

mod paging;

use super::block::{DownBlock, UpBlock};
use super::rlc::Report;
use super::signal::{Burst, Common, Down, REFERENCE_FRAMES, To, Up, Usfs};
use core::ops::Deref;
use gannet_machine::time::Duration;
use gannet_wire::DecodeError;
use gannet_wire::l3::ie::{Octets, RadioPriority};
use gannet_wire::rlcmac::access::AcknowledgementBurst;
use gannet_wire::rlcmac::block::{BlockOctets, DownlinkHeader, Payload, UplinkHeader};
use gannet_wire::rlcmac::ccch::{
    CcchMessage, CcchOctets, IaRestOctets, ImmediateAssignment, ImmediateAssignmentReject, ImmediateDownlink,
    ImmediateDownlinkTbf, ImmediateSingleBlock, ImmediateUplinkTbf, PacketChannel, RejectedRequest,
    RequestReference, Resource,
};
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::control::{ControlOctets, DownlinkControlHeader};
use gannet_wire::rlcmac::downlink::{
    DynamicAllocation, PacketAccessReject, PacketDownlinkAssignment, PacketDownlinkDummy, PacketPdchRelease,
    PacketPollingRequest, PacketTbfRelease, PacketUplinkAckNack, PacketUplinkAssignment, Reject,
    RejectAddress, UplinkAllocation, UplinkTimeslots,
};
use gannet_wire::rlcmac::element::{
    AckNackDescription, ChannelQuality, ChannelRequestDescription, GlobalTfi, PacketTimingAdvance,
    PolledAddress, RadioCapabilities, RadioCapability, TfiOrTlli, UplinkAddress, Wait,
};
use gannet_wire::rlcmac::uplink::{
    PacketControlAcknowledgement, PacketDownlinkAckNack, PacketResourceRequest, PacketUplinkDummy,
    RequestAddress,
};
use gannet_wire::rlcmac::value::{
    self, AccessType, Arfcn, Bsn, CValue, CtrlAck, Gamma, LlcPduType, MacMode, MultislotClass, PageMode,
    PdchSet, PeakThroughputClass, ReducedFrame, ReleaseCause, RlcMode, RlcOctets, Rrbp, Tfi, Timeslot,
    TimingAdvance, TlliBlockCoding, Tsc, Usf, UsfGranularity, WaitIndication, WaitUnit,
};
use gannet_wire::rlcmac::{
    DownlinkControlBlock, DownlinkMessage, Later, LaterRest, UplinkControlBlock, UplinkMessage,
};

/// A block as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AirOctets {
    /// A data block.
    Data(BlockOctets),
    /// A control block.
    Control(ControlOctets),
    /// Four access bursts of 8 bits, alike.
    Bursts8([u8; 1]),
    /// Four access bursts of 11 bits, alike. The bits stand first.
    Bursts11([u8; 2]),
}

impl Deref for AirOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Data(octets) => octets,
            Self::Control(octets) => octets,
            Self::Bursts8(octets) => octets,
            Self::Bursts11(octets) => octets,
        }
    }
}

impl DownBlock {
    /// Its octets. `None` where a control message does not fit into a block.
    #[must_use]
    pub fn emit(&self) -> Option<AirOctets> {
        Some(match self {
            Self::Data { header, body } => AirOctets::Data(header.emit(body)),
            Self::Control { usf, rrbp, message } => {
                let poll = rrbp.map(rrbp_of);
                let header = DownlinkControlHeader { usf: Usf::lowest(*usf), poll, optional: None };
                let message = down_message(message)?;
                AirOctets::Control(DownlinkControlBlock { header, message }.emit()?)
            }
        })
    }

    /// Reads a block. A message that nothing here acts on is a dummy with its USF.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        if Payload::of(octets) == Some(Payload::Data) {
            let (header, body) = DownlinkHeader::parse(octets)?;
            return Ok(Self::Data { header, body });
        }
        let block = DownlinkControlBlock::parse(octets)?;
        let rrbp = block.header.poll.map(|poll| poll as u8);
        let message = down_of(&block.message).unwrap_or(Down::Dummy);
        Ok(Self::Control { usf: block.header.usf.get(), rrbp, message })
    }
}

impl UpBlock {
    /// Its octets. `None` where a control message does not fit into a block.
    #[must_use]
    pub fn emit(&self) -> Option<AirOctets> {
        Some(match self {
            Self::Data { header, body } => AirOctets::Data(header.emit(body)),
            Self::Control(message) => {
                let message = up_message(message);
                AirOctets::Control(UplinkControlBlock { is_retry: false, message }.emit()?)
            }
            Self::ControlAckBursts(AccessBurst::Bits8) => AirOctets::Bursts8([CONTROL_ACK_BURST.emit8()]),
            Self::ControlAckBursts(AccessBurst::Bits11) => {
                AirOctets::Bursts11((CONTROL_ACK_BURST.emit11() << BESIDE_11_BITS).to_be_bytes())
            }
        })
    }

    /// Reads a block, or one of four access bursts in one octet or two; `None` for a message that nothing here acts on.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(octets: &[u8]) -> Result<Option<Self>, DecodeError> {
        match *octets {
            [burst] => {
                AcknowledgementBurst::parse8(burst)?;
                return Ok(Some(Self::ControlAckBursts(AccessBurst::Bits8)));
            }
            [high, low] => {
                AcknowledgementBurst::parse11(u16::from_be_bytes([high, low]) >> BESIDE_11_BITS)?;
                return Ok(Some(Self::ControlAckBursts(AccessBurst::Bits11)));
            }
            _ => {}
        }
        if Payload::of(octets) == Some(Payload::Data) {
            let (header, body) = UplinkHeader::parse(octets)?;
            return Ok(Some(Self::Data { header, body }));
        }
        let block = UplinkControlBlock::parse(octets)?;
        Ok(up_of(&block.message).map(Self::Control))
    }
}

/// CTRL_ACK of a message that was not in segments.
const CTRL_ACK: CtrlAck = CtrlAck::lowest(3);
const CONTROL_ACK_BURST: AcknowledgementBurst = AcknowledgementBurst { ctrl_ack: CTRL_ACK, timeslot: None };
/// Bits of two octets that are not of an access burst of 11 bits.
const BESIDE_11_BITS: u32 = 5;

const fn rrbp_of(rrbp: u8) -> Rrbp {
    match rrbp & 3 {
        0 => Rrbp::N13,
        1 => Rrbp::N17,
        2 => Rrbp::N21,
        _ => Rrbp::N26,
    }
}

const fn rlc_mode(acknowledged: bool) -> RlcMode {
    if acknowledged { RlcMode::Acknowledged } else { RlcMode::Unacknowledged }
}

const fn tfi_or_tlli(to: To) -> TfiOrTlli {
    match to {
        To::UplinkTfi(tfi) => TfiOrTlli::Tfi(GlobalTfi::Uplink(Tfi::lowest(tfi))),
        To::DownlinkTfi(tfi) => TfiOrTlli::Tfi(GlobalTfi::Downlink(Tfi::lowest(tfi))),
        To::Tlli(tlli) => TfiOrTlli::Tlli(tlli),
    }
}

const fn to_of_tfi(tfi: GlobalTfi) -> To {
    match tfi {
        GlobalTfi::Uplink(tfi) => To::UplinkTfi(tfi.get()),
        GlobalTfi::Downlink(tfi) => To::DownlinkTfi(tfi.get()),
    }
}

const fn to_of(address: TfiOrTlli) -> To {
    match address {
        TfiOrTlli::Tfi(tfi) => to_of_tfi(tfi),
        TfiOrTlli::Tlli(tlli) => To::Tlli(tlli),
    }
}

const fn ack_nack(report: &Report) -> AckNackDescription {
    AckNackDescription { is_final: report.is_final, ssn: Bsn::lowest(report.ssn), bitmap: report.bitmap }
}

const fn report_of(ack: &AckNackDescription) -> Report {
    Report { ssn: ack.ssn.get(), bitmap: ack.bitmap, is_final: ack.is_final }
}

/// Up to 5.1 s in steps of 20 ms, then up to 255 s; rounded up.
fn wait_of(wait: Duration) -> Wait {
    let steps = wait.as_millis().div_ceil(20);
    match u8::try_from(steps) {
        Ok(steps) => Wait { value: WaitIndication::lowest(steps), unit: WaitUnit::TwentyMilliseconds },
        Err(_) => {
            let seconds = u8::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u8::MAX);
            Wait { value: WaitIndication::lowest(seconds), unit: WaitUnit::Second }
        }
    }
}

fn uplink_assignment(to: To, tfi: u8, usfs: &Usfs, coding: CodingScheme) -> PacketUplinkAssignment {
    PacketUplinkAssignment {
        page_mode: PageMode::Normal,
        persistence: None,
        address: match tfi_or_tlli(to) {
            TfiOrTlli::Tfi(tfi) => UplinkAddress::Tfi(tfi),
            TfiOrTlli::Tlli(tlli) => UplinkAddress::Tlli(tlli),
        },
        coding,
        tlli_coding: TlliBlockCoding::AsCommanded,
        timing_advance: PacketTimingAdvance::default(),
        frequencies: None,
        allocation: UplinkAllocation::Dynamic(DynamicAllocation {
            is_extended: false,
            power: None,
            granularity: UsfGranularity::One,
            tfi: Some(Tfi::lowest(tfi)),
            blocks: None,
            starting_time: None,
            timeslots: UplinkTimeslots::Usf(usfs.map(|usf| usf.map(Usf::lowest))),
        }),
        later: Later::NONE,
    }
}

fn down_message(message: &Down) -> Option<DownlinkMessage> {
    let page_mode = PageMode::Normal;
    Some(match *message {
        Down::DownlinkAssignment { to, tfi, slots, acknowledged, is_new } => {
            DownlinkMessage::DownlinkAssignment(PacketDownlinkAssignment {
                page_mode,
                persistence: None,
                address: tfi_or_tlli(to),
                mac_mode: MacMode::Dynamic,
                rlc_mode: rlc_mode(acknowledged),
                control_ack: is_new,
                timeslots: PdchSet(slots.reverse_bits()),
                timing_advance: PacketTimingAdvance::default(),
                power: None,
                frequencies: None,
                tfi: Some(Tfi::lowest(tfi)),
                power_control: None,
                starting_time: None,
                measurement: None,
                later: Later::NONE,
            })
        }
        Down::UplinkAssignment { to, tfi, usfs, coding } => {
            DownlinkMessage::UplinkAssignment(uplink_assignment(to, tfi, &usfs, coding))
        }
        Down::UplinkAckNack { tfi, coding, ref report, contention } => {
            DownlinkMessage::UplinkAckNack(PacketUplinkAckNack {
                page_mode,
                tfi: Tfi::lowest(tfi),
                coding,
                ack_nack: ack_nack(report),
                contention_tlli: contention,
                timing_advance: None,
                power_control: None,
                extension: None,
                later: Later::NONE,
            })
        }
        Down::AccessReject { to, wait } => {
            let address = match tfi_or_tlli(to) {
                TfiOrTlli::Tfi(tfi) => RejectAddress::Tfi(tfi),
                TfiOrTlli::Tlli(tlli) => RejectAddress::Tlli(tlli),
            };
            let reject = Reject { address, wait: Some(wait_of(wait)) };
            DownlinkMessage::AccessReject(PacketAccessReject {
                page_mode,
                reject,
                more: Vec::new(),
                later: Later::NONE,
            })
        }
        Down::TbfRelease { to, is_both } => {
            let TfiOrTlli::Tfi(tfi) = tfi_or_tlli(to) else { return None };
            let uplink = is_both || matches!(tfi, GlobalTfi::Uplink(_));
            let downlink = is_both || matches!(tfi, GlobalTfi::Downlink(_));
            let cause = ReleaseCause::Abnormal;
            DownlinkMessage::TbfRelease(PacketTbfRelease { page_mode, tfi, uplink, downlink, cause })
        }
        Down::PdchRelease { available } => DownlinkMessage::PdchRelease(PacketPdchRelease {
            page_mode,
            available: PdchSet(available.reverse_bits()),
        }),
        Down::Polling { to, answer } => {
            let address = match tfi_or_tlli(to) {
                TfiOrTlli::Tfi(tfi) => PolledAddress::Tfi(tfi),
                TfiOrTlli::Tlli(tlli) => PolledAddress::Tlli(tlli),
            };
            DownlinkMessage::PollingRequest(PacketPollingRequest {
                page_mode,
                address,
                answer,
                later: Later::NONE,
            })
        }
        Down::Dummy => DownlinkMessage::Dummy(PacketDownlinkDummy { page_mode, persistence: None }),
    })
}

fn down_of(message: &DownlinkMessage) -> Option<Down> {
    match message {
        DownlinkMessage::DownlinkAssignment(message) => Some(Down::DownlinkAssignment {
            to: to_of(message.address),
            tfi: message.tfi?.get(),
            slots: message.timeslots.0.reverse_bits(),
            acknowledged: message.rlc_mode == RlcMode::Acknowledged,
            is_new: message.control_ack,
        }),
        DownlinkMessage::UplinkAssignment(message) => {
            let UplinkAllocation::Dynamic(allocation) = &message.allocation else { return None };
            let to = match message.address {
                UplinkAddress::Tfi(tfi) => to_of_tfi(tfi),
                UplinkAddress::Tlli(tlli) => To::Tlli(tlli),
                UplinkAddress::Tqi(_) | UplinkAddress::Request(_) => return None,
            };
            let usfs: Usfs = allocation.timeslots.usfs().map(|usf| usf.map(Usf::get));
            Some(Down::UplinkAssignment { to, tfi: allocation.tfi?.get(), usfs, coding: message.coding })
        }
        DownlinkMessage::UplinkAckNack(message) => Some(Down::UplinkAckNack {
            tfi: message.tfi.get(),
            coding: message.coding,
            report: report_of(&message.ack_nack),
            contention: message.contention_tlli,
        }),
        DownlinkMessage::AccessReject(message) => {
            let to = match message.reject.address {
                RejectAddress::Tfi(tfi) => to_of_tfi(tfi),
                RejectAddress::Tlli(tlli) => To::Tlli(tlli),
                RejectAddress::Request(_) => return None,
            };
            let wait = message.reject.wait.map_or(0, Wait::milliseconds);
            Some(Down::AccessReject { to, wait: Duration::from_millis(wait.into()) })
        }
        DownlinkMessage::TbfRelease(message) => {
            let to = to_of_tfi(message.tfi);
            Some(Down::TbfRelease { to, is_both: message.uplink && message.downlink })
        }
        DownlinkMessage::PdchRelease(message) => {
            Some(Down::PdchRelease { available: message.available.0.reverse_bits() })
        }
        DownlinkMessage::PollingRequest(message) => match message.address {
            PolledAddress::Tfi(tfi) => Some(Down::Polling { to: to_of_tfi(tfi), answer: message.answer }),
            PolledAddress::Tlli(tlli) => Some(Down::Polling { to: To::Tlli(tlli), answer: message.answer }),
            PolledAddress::Tqi(_) => None,
        },
        _ => None,
    }
}

/// The field counts from 0, and radio priorities from 1.
const fn priority_of(field: value::RadioPriority) -> RadioPriority {
    match field.get() {
        0 => RadioPriority::One,
        1 => RadioPriority::Two,
        2 => RadioPriority::Three,
        _ => RadioPriority::Four,
    }
}

fn channel_request(octets: u16, priority: RadioPriority) -> ChannelRequestDescription {
    ChannelRequestDescription {
        peak_throughput: PeakThroughputClass::lowest(1),
        priority: value::RadioPriority::lowest(match priority {
            RadioPriority::One => 0,
            RadioPriority::Two => 1,
            RadioPriority::Three => 2,
            RadioPriority::Four => 3,
        }),
        rlc_mode: RlcMode::Acknowledged,
        first_pdu: LlcPduType::Other,
        octets: RlcOctets::lowest(octets),
    }
}

fn up_message(message: &Up) -> UplinkMessage {
    match *message {
        Up::DownlinkAckNack { tfi, ref report, wants_uplink } => {
            UplinkMessage::DownlinkAckNack(PacketDownlinkAckNack {
                tfi: Tfi::lowest(tfi),
                ack_nack: ack_nack(report),
                request: wants_uplink.map(|priority| channel_request(0, priority)),
                quality: ChannelQuality::default(),
                later: Later::NONE,
            })
        }
        Up::ResourceRequest { tlli, multislot_class, octets, priority } => {
            // Power class 4 of P-GSM (04.08 clause 10.5.5.12a).
            let class = MultislotClass::lowest(multislot_class);
            UplinkMessage::ResourceRequest(PacketResourceRequest {
                access_type: Some(AccessType::TwoPhase),
                address: RequestAddress::Tlli(tlli),
                capabilities: Some(RadioCapabilities(vec![RadioCapability::gprs(0, 4, class)])),
                request: channel_request(octets, priority),
                change_mark: None,
                c_value: CValue::default(),
                variance: None,
                interference: [None; 8],
                later: Later::NONE,
            })
        }
        Up::ControlAck { tlli } => UplinkMessage::ControlAcknowledgement(PacketControlAcknowledgement {
            tlli,
            ctrl_ack: CTRL_ACK,
            later: Later::NONE,
        }),
        Up::Dummy { tlli } => UplinkMessage::Dummy(PacketUplinkDummy { tlli, later: Later::NONE }),
    }
}

fn up_of(message: &UplinkMessage) -> Option<Up> {
    match message {
        UplinkMessage::DownlinkAckNack(message) => Some(Up::DownlinkAckNack {
            tfi: message.tfi.get(),
            report: report_of(&message.ack_nack),
            wants_uplink: message.request.as_ref().map(|request| priority_of(request.priority)),
        }),
        UplinkMessage::ResourceRequest(message) => {
            let RequestAddress::Tlli(tlli) = message.address else { return None };
            let class = message.capabilities.as_ref().and_then(RadioCapabilities::multislot_class);
            let multislot_class = class.map_or(1, MultislotClass::get);
            let (octets, priority) = (message.request.octets.get(), priority_of(message.request.priority));
            Some(Up::ResourceRequest { tlli, multislot_class, octets, priority })
        }
        UplinkMessage::ControlAcknowledgement(message) => Some(Up::ControlAck { tlli: message.tlli }),
        UplinkMessage::Dummy(message) => Some(Up::Dummy { tlli: message.tlli }),
        _ => None,
    }
}

fn reduced(frame: u64) -> ReducedFrame {
    ReducedFrame::of(u32::try_from(frame % REFERENCE_FRAMES).unwrap_or_default())
}

fn reference_of(burst: Burst) -> RequestReference {
    RequestReference { access: burst.code, frame: reduced(burst.frame) }
}

/// The frame of a reference is known modulo [`REFERENCE_FRAMES`], which is all that [`Burst::is_named_by`] asks for.
fn burst_of(reference: RequestReference) -> Option<Burst> {
    Some(Burst { code: reference.access, frame: u64::from(reference.frame.frame_number()?) })
}

fn assignment(arfcn: u16, slot: u8, reference: Option<Burst>, rest: IaRestOctets) -> CcchMessage {
    let channel = PacketChannel::new(Timeslot::lowest(slot), Tsc::default(), Arfcn::lowest(arfcn));
    CcchMessage::ImmediateAssignment(ImmediateAssignment {
        page_mode: PageMode::Normal,
        is_one_of_two: false,
        resource: Resource::Packet { is_downlink: matches!(rest, IaRestOctets::Downlink(_)), channel },
        request: reference.map(reference_of).unwrap_or_default(),
        timing_advance: TimingAdvance::default(),
        mobile_allocation: Octets::default(),
        starting_time: None,
        rest,
    })
}

impl Common {
    /// Its block of AGCH or PCH, in a cell with this carrier. `None` where it does not fit.
    #[must_use]
    pub fn emit(&self, arfcn: u16) -> Option<CcchOctets> {
        let message = match *self {
            Self::Paging(ref pages) => paging::request(pages)?,
            Self::Uplink { reference, slot, tfi, usf, coding } => {
                let tbf = ImmediateUplinkTbf {
                    tfi: Tfi::lowest(tfi),
                    polling: false,
                    usf: Usf::lowest(usf),
                    granularity: UsfGranularity::One,
                    power: None,
                    coding,
                    tlli_coding: TlliBlockCoding::AsCommanded,
                    alpha: None,
                    gamma: Gamma::default(),
                    timing_advance_index: None,
                    starting_time: None,
                    later: LaterRest::NONE,
                };
                assignment(arfcn, slot, Some(reference), IaRestOctets::Uplink(tbf))
            }
            Self::SingleBlock { reference, slot, frame } => {
                let block = ImmediateSingleBlock {
                    alpha: None,
                    gamma: Gamma::default(),
                    starting_time: reduced(frame),
                    power: None,
                    later: LaterRest::NONE,
                };
                assignment(arfcn, slot, Some(reference), IaRestOctets::SingleBlock(block))
            }
            Self::Downlink { tlli, slot, tfi, acknowledged } => {
                let tbf = ImmediateDownlinkTbf {
                    tfi: Tfi::lowest(tfi),
                    rlc_mode: rlc_mode(acknowledged),
                    alpha: None,
                    gamma: Gamma::default(),
                    polling: false,
                    timing_advance_valid: true,
                };
                let downlink = ImmediateDownlink {
                    tlli,
                    tbf: Some(tbf),
                    timing_advance_index: None,
                    starting_time: None,
                    power: None,
                    later: LaterRest::NONE,
                };
                assignment(arfcn, slot, None, IaRestOctets::Downlink(downlink))
            }
            Self::Reject { reference, wait } => {
                let wait_s = u8::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u8::MAX);
                let rejected = [RejectedRequest { request: reference_of(reference), wait_s }; 4];
                CcchMessage::ImmediateAssignmentReject(ImmediateAssignmentReject {
                    page_mode: PageMode::Normal,
                    rejected,
                    rest: LaterRest::NONE,
                })
            }
        };
        message.emit()
    }

    /// Reads a block that has been received in this frame; `None` where it is none for packet access.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(octets: &[u8], now: u64) -> Result<Option<Self>, DecodeError> {
        let message = CcchMessage::parse(octets)?;
        if let Some(pages) = paging::pages(&message) {
            return Ok(Some(Self::Paging(pages)));
        }
        Ok(match message {
            CcchMessage::ImmediateAssignment(message) => Self::assigned(&message, now),
            CcchMessage::ImmediateAssignmentReject(message) => {
                let [rejected, ..] = message.rejected;
                let wait = Duration::from_secs(rejected.wait_s.into());
                burst_of(rejected.request).map(|reference| Self::Reject { reference, wait })
            }
            CcchMessage::ImmediateAssignmentExtended(_)
            | CcchMessage::PagingRequest1(_)
            | CcchMessage::PagingRequest2(_)
            | CcchMessage::PagingRequest3(_) => None,
        })
    }

    fn assigned(message: &ImmediateAssignment, now: u64) -> Option<Self> {
        let Resource::Packet { channel, .. } = message.resource else { return None };
        let slot = channel.timeslot.get();
        match &message.rest {
            IaRestOctets::Uplink(tbf) => Some(Self::Uplink {
                reference: burst_of(message.request)?,
                slot,
                tfi: tbf.tfi.get(),
                usf: tbf.usf.get(),
                coding: tbf.coding,
            }),
            IaRestOctets::SingleBlock(block) => {
                let ahead = u64::from(block.starting_time.frame_number()?) + REFERENCE_FRAMES
                    - now % REFERENCE_FRAMES;
                let frame = now + ahead % REFERENCE_FRAMES;
                Some(Self::SingleBlock { reference: burst_of(message.request)?, slot, frame })
            }
            IaRestOctets::Downlink(downlink) => {
                let tbf = downlink.tbf?;
                Some(Self::Downlink {
                    tlli: downlink.tlli,
                    slot,
                    tfi: tbf.tfi.get(),
                    acknowledged: tbf.rlc_mode == RlcMode::Acknowledged,
                })
            }
            IaRestOctets::Other(_) => None,
        }
    }
}
