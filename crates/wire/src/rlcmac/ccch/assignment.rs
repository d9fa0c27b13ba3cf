//! IMMEDIATE ASSIGNMENT, its extended form, and its reject (04.08 clauses 9.1.18 to 9.1.20 [44.018]).

use super::Parts;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Tlli;
use crate::l3::ie::Octets;
use crate::rlcmac::coding::CodingScheme;
use crate::rlcmac::csn::{BitReader, BitWriter, Bits, Csn, LaterRest, read_high, sequence, write_high};
use crate::rlcmac::downlink::AssignedPower;
use crate::rlcmac::element::DownlinkPower;
use crate::rlcmac::value::{
    Alpha, Arfcn, ChangeMark, Gamma, Hsn, Maio, PageMode, ReducedFrame, RlcMode, Tfi, Timeslot,
    TimingAdvance, TimingAdvanceIndex, TlliBlockCoding, Tsc, Usf, UsfGranularity,
};

/// Which access burst of the RACH is answered (clause 10.5.2.30).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RequestReference {
    /// Its octet.
    pub access: u8,
    /// The frame in which it came.
    pub frame: ReducedFrame,
}

impl RequestReference {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let access = reader.u8("Request Reference")?;
        Ok(Self { access, frame: ReducedFrame(reader.u16("Request Reference")?) })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.push(self.access);
        out.extend(self.frame.0.to_be_bytes());
    }
}

/// IMMEDIATE ASSIGNMENT (clause 9.1.18).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateAssignment {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// One of two messages that together assign (TMA).
    pub is_one_of_two: bool,
    /// The channel.
    pub resource: Resource,
    /// The access burst that is answered. Of a downlink TBF it has no meaning.
    pub request: RequestReference,
    /// Timing advance.
    pub timing_advance: TimingAdvance,
    /// Mobile allocation of a hopping channel (clause 10.5.2.21), empty without hopping.
    pub mobile_allocation: Octets<8>,
    /// When the channel changes its frequencies.
    pub starting_time: Option<ReducedFrame>,
    /// The TBF or block.
    pub rest: IaRestOctets,
}

/// What is assigned (clauses 10.5.2.25b, 10.5.2.5 and 10.5.2.25a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A packet channel, for an uplink TBF or block, or for a downlink TBF.
    Packet {
        /// The downlink bit.
        is_downlink: bool,
        /// The channel.
        channel: PacketChannel,
    },
    /// A channel of the circuit-switched side; its description is kept as it came.
    Dedicated([u8; 3]),
}

/// A packet channel (clause 10.5.2.25a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketChannel {
    /// Timeslot.
    pub timeslot: Timeslot,
    /// Training sequence.
    pub tsc: Tsc,
    /// Radio channels.
    pub frequencies: PacketChannelFrequencies,
}

impl PacketChannel {
    /// A PDCH on one radio channel.
    #[must_use]
    pub const fn new(timeslot: Timeslot, tsc: Tsc, arfcn: Arfcn) -> Self {
        Self { timeslot, tsc, frequencies: PacketChannelFrequencies::Arfcn(arfcn) }
    }
}

/// Radio channels of a packet channel (clause 10.5.2.25a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketChannelFrequencies {
    /// One.
    Arfcn(Arfcn),
    /// Hopping by the system information.
    Indirect(IndirectChannel),
    /// Hopping by the mobile allocation of the message.
    Hopping(HoppingChannel),
}

/// Hopping by the system information (clause 10.5.2.25a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndirectChannel {
    /// Offset.
    pub maio: Maio,
    /// The mobile allocation of SI13 with MA_NUMBER 15, otherwise that with 14.
    pub is_second: bool,
    /// The state of the system information for which this holds.
    pub change_mark: Option<ChangeMark>,
}

/// Hopping by the mobile allocation of the message (clause 10.5.2.25a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HoppingChannel {
    /// Offset.
    pub maio: Maio,
    /// Hopping sequence.
    pub hsn: Hsn,
}
sequence!(HoppingChannel, "MAIO": maio, hsn);

impl Csn for IndirectChannel {
    const NAME: &'static str = "MA_NUMBER_IND";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (maio, is_second) = (Maio::read(bits)?, bits.flag(Self::NAME)?);
        let is_there = bits.flag(ChangeMark::NAME)?;
        let mark = ChangeMark::read(bits)?;
        Ok(Self { maio, is_second, change_mark: is_there.then_some(mark) })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.maio.write(bits);
        bits.flag(self.is_second);
        bits.flag(self.change_mark.is_some());
        // Spare bits stand where there is no change mark.
        self.change_mark.unwrap_or_default().write(bits);
    }
}

impl Csn for PacketChannelFrequencies {
    const NAME: &'static str = "Packet Channel Description";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        if bits.flag(Self::NAME)? {
            return HoppingChannel::read(bits).map(Self::Hopping);
        }
        let is_indirect = bits.flag(Self::NAME)?;
        bits.take(1, "spare")?;
        if is_indirect {
            IndirectChannel::read(bits).map(Self::Indirect)
        } else {
            Arfcn::read(bits).map(Self::Arfcn)
        }
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        match self {
            Self::Arfcn(arfcn) => {
                bits.fixed("000");
                arfcn.write(bits);
            }
            Self::Indirect(indirect) => {
                bits.fixed("010");
                indirect.write(bits);
            }
            Self::Hopping(hopping) => {
                bits.fixed("1");
                hopping.write(bits);
            }
        }
    }
}

impl Csn for PacketChannel {
    const NAME: &'static str = "Packet Channel Description";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        // Whatever the channel type says: receivers take all for a PDCH.
        bits.take(5, "Channel type")?;
        let (timeslot, tsc) = (Timeslot::read(bits)?, Tsc::read(bits)?);
        Ok(Self { timeslot, tsc, frequencies: PacketChannelFrequencies::read(bits)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.fixed("00001");
        self.timeslot.write(bits);
        self.tsc.write(bits);
        self.frequencies.write(bits);
    }
}

const TWO_MESSAGES: u8 = 0x40;
const DOWNLINK: u8 = 0x20;
const TBF: u8 = 0x10;
const STARTING_TIME: u8 = 0x7c;

/// Mobile allocation (LV) and starting time (TV), which both assignments end with.
fn read_allocation(body: &mut Reader<'_>) -> Result<(Octets<8>, Option<ReducedFrame>), DecodeError> {
    let len = usize::from(body.u8("Mobile Allocation")?);
    let allocation = Octets::from_start(body.take(len, "Mobile Allocation")?);
    if len > 8 {
        return Err(body.error("Mobile Allocation", DecodeErrorKind::BadLength(len)));
    }
    let time = if body.peek() == Some(STARTING_TIME) {
        body.u8("Starting Time")?;
        Some(ReducedFrame(body.u16("Starting Time")?))
    } else {
        None
    };
    Ok((allocation, time))
}

fn write_allocation(allocation: &Octets<8>, time: Option<ReducedFrame>, out: &mut Vec<u8>) {
    out.push(u8::try_from(allocation.len()).unwrap_or_default());
    out.extend(allocation.as_slice());
    if let Some(time) = time {
        out.push(STARTING_TIME);
        out.extend(time.0.to_be_bytes());
    }
}

impl Parts for ImmediateAssignment {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let first = body.u8("Page Mode")?;
        let channel = body.array::<3>("Packet Channel Description")?;
        let resource = if first & TBF != 0 {
            let channel = PacketChannel::read(&mut BitReader::new(&channel))?;
            Resource::Packet { is_downlink: first & DOWNLINK != 0, channel }
        } else {
            Resource::Dedicated(channel)
        };
        let request = RequestReference::read(body)?;
        let timing_advance = TimingAdvance::lowest(body.u8("Timing Advance")?);
        let (mobile_allocation, starting_time) = read_allocation(body)?;
        Ok(Self {
            page_mode: PageMode::from_bits(first),
            is_one_of_two: first & TWO_MESSAGES != 0,
            resource,
            request,
            timing_advance,
            mobile_allocation,
            starting_time,
            rest: IaRestOctets::read(rest)?,
        })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        let two = if self.is_one_of_two { TWO_MESSAGES } else { 0 };
        let (mode, channel) = match self.resource {
            Resource::Packet { is_downlink, channel } => {
                let mut octets = [0; 3];
                channel.write(&mut BitWriter::new(&mut octets));
                (TBF | if is_downlink { DOWNLINK } else { 0 }, octets)
            }
            Resource::Dedicated(octets) => (0, octets),
        };
        body.push(two | mode | self.page_mode.bits());
        body.extend(channel);
        self.request.write(body);
        body.push(self.timing_advance.get());
        write_allocation(&self.mobile_allocation, self.starting_time, body);
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        self.rest.write(rest);
    }
}

/// IA rest octets (clause 10.5.2.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IaRestOctets {
    /// An uplink TBF.
    Uplink(ImmediateUplinkTbf),
    /// One uplink block.
    SingleBlock(ImmediateSingleBlock),
    /// A downlink TBF.
    Downlink(ImmediateDownlink),
    /// Any other: of the circuit-switched side, for EGPRS, with fixed allocation. All their bits, as they came.
    Other(Bits),
}

/// An uplink TBF on the timeslot of the message (clause 10.5.2.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateUplinkTbf {
    /// TFI.
    pub tfi: Tfi,
    /// The mobile answers with a PACKET CONTROL ACKNOWLEDGEMENT.
    pub polling: bool,
    /// USF.
    pub usf: Usf,
    /// What one USF gives.
    pub granularity: UsfGranularity,
    /// Downlink power control.
    pub power: Option<DownlinkPower>,
    /// Coding scheme.
    pub coding: CodingScheme,
    /// Coding of blocks with a TLLI.
    pub tlli_coding: TlliBlockCoding,
    /// α.
    pub alpha: Option<Alpha>,
    /// Γ_CH.
    pub gamma: Gamma,
    /// Place on the PTCCH.
    pub timing_advance_index: Option<TimingAdvanceIndex>,
    /// When it begins; none: at once.
    pub starting_time: Option<ReducedFrame>,
    /// Additions.
    pub later: LaterRest,
}
sequence!(
    ImmediateUplinkTbf, "Packet Uplink Assignment":
    tfi, polling, "0", usf, granularity, power, coding, tlli_coding, alpha, gamma, timing_advance_index,
    starting_time, later,
);

/// One uplink block on the timeslot of the message (clause 10.5.2.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateSingleBlock {
    /// α.
    pub alpha: Option<Alpha>,
    /// Γ_CH.
    pub gamma: Gamma,
    /// When.
    pub starting_time: ReducedFrame,
    /// Downlink power control.
    pub power: Option<AssignedPower>,
    /// Additions.
    pub later: LaterRest,
}

impl Csn for ImmediateSingleBlock {
    const NAME: &'static str = "Single Block Allocation";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (alpha, gamma) = (Csn::read(bits)?, Csn::read(bits)?);
        bits.expect("01", "TBF_STARTING_TIME")?;
        let starting_time = Csn::read(bits)?;
        let power = read_high(bits)?;
        Ok(Self { alpha, gamma, starting_time, power, later: Csn::read(bits)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.alpha.write(bits);
        self.gamma.write(bits);
        bits.fixed("01");
        self.starting_time.write(bits);
        write_high(self.power.as_ref(), bits);
        self.later.write(bits);
    }
}

/// A downlink TBF on the timeslot of the message (clause 10.5.2.16).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateDownlink {
    /// The mobile.
    pub tlli: Tlli,
    /// The TBF.
    pub tbf: Option<ImmediateDownlinkTbf>,
    /// Place on the PTCCH.
    pub timing_advance_index: Option<TimingAdvanceIndex>,
    /// When it begins; none: at once.
    pub starting_time: Option<ReducedFrame>,
    /// Downlink power control.
    pub power: Option<AssignedPower>,
    /// Additions.
    pub later: LaterRest,
}
sequence!(
    ImmediateDownlink, "Packet Downlink Assignment":
    tlli, tbf, timing_advance_index, starting_time, power, later,
);

/// The TBF of an [`ImmediateDownlink`] (clause 10.5.2.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImmediateDownlinkTbf {
    /// TFI.
    pub tfi: Tfi,
    /// RLC mode.
    pub rlc_mode: RlcMode,
    /// α.
    pub alpha: Option<Alpha>,
    /// Γ_CH.
    pub gamma: Gamma,
    /// The mobile answers with a PACKET CONTROL ACKNOWLEDGEMENT.
    pub polling: bool,
    /// The timing advance of the message is valid.
    pub timing_advance_valid: bool,
}
sequence!(
    ImmediateDownlinkTbf, "TFI_ASSIGNMENT":
    tfi, rlc_mode, alpha, gamma, polling, timing_advance_valid,
);

impl Csn for IaRestOctets {
    const NAME: &'static str = "IA Rest Octets";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = *bits;
        if ahead.high() && ahead.high() {
            let uplink = ahead;
            if ahead.expect("001", Self::NAME).is_ok() {
                // Fixed allocation has a one where the USF's zero is.
                let mut fixed = ahead;
                fixed.take(6, Self::NAME)?;
                if !fixed.flag(Self::NAME)? {
                    *bits = ahead;
                    return ImmediateUplinkTbf::read(bits).map(Self::Uplink);
                }
            }
            ahead = uplink;
            if ahead.expect("000", Self::NAME).is_ok() {
                *bits = ahead;
                return ImmediateSingleBlock::read(bits).map(Self::SingleBlock);
            }
            ahead = uplink;
            if ahead.expect("01", Self::NAME).is_ok() {
                *bits = ahead;
                return ImmediateDownlink::read(bits).map(Self::Downlink);
            }
        }
        Ok(Self::Other(bits.rest()))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        if !matches!(self, Self::Other(_)) {
            bits.high(true);
            bits.high(true);
        }
        match self {
            Self::Uplink(tbf) => {
                bits.fixed("001");
                tbf.write(bits);
            }
            Self::SingleBlock(block) => {
                bits.fixed("000");
                block.write(bits);
            }
            Self::Downlink(tbf) => {
                bits.fixed("01");
                tbf.write(bits);
            }
            Self::Other(rest) => rest.put(bits),
        }
    }
}

/// IMMEDIATE ASSIGNMENT EXTENDED: two mobiles get channels of the circuit-switched side (clause 9.1.19).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateAssignmentExtended {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Both mobiles.
    pub mobiles: [SecondAssignment; 2],
    /// Mobile allocation of hopping channels, empty without hopping.
    pub mobile_allocation: Octets<8>,
    /// When the channels change their frequencies.
    pub starting_time: Option<ReducedFrame>,
    /// IAX rest octets (clause 10.5.2.18).
    pub rest: LaterRest,
}

/// One mobile of an [`ImmediateAssignmentExtended`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SecondAssignment {
    /// Channel description, as it came (clause 10.5.2.5).
    pub channel: [u8; 3],
    /// The access burst that is answered.
    pub request: RequestReference,
    /// Timing advance.
    pub timing_advance: TimingAdvance,
}

impl Parts for ImmediateAssignmentExtended {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let page_mode = PageMode::from_bits(body.u8("Page Mode")?);
        let mut mobiles = [SecondAssignment::default(); 2];
        for mobile in &mut mobiles {
            mobile.channel = body.array("Channel Description")?;
            mobile.request = RequestReference::read(body)?;
            mobile.timing_advance = TimingAdvance::lowest(body.u8("Timing Advance")?);
        }
        let (mobile_allocation, starting_time) = read_allocation(body)?;
        Ok(Self { page_mode, mobiles, mobile_allocation, starting_time, rest: LaterRest::read(rest)? })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        body.push(self.page_mode.bits());
        for mobile in &self.mobiles {
            body.extend(mobile.channel);
            mobile.request.write(body);
            body.push(mobile.timing_advance.get());
        }
        write_allocation(&self.mobile_allocation, self.starting_time, body);
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        self.rest.write(rest);
    }
}

/// IMMEDIATE ASSIGNMENT REJECT (clause 9.1.20).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImmediateAssignmentReject {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Four access bursts. Where there are fewer, one stands several times.
    pub rejected: [RejectedRequest; 4],
    /// IAR rest octets (clause 10.5.2.17).
    pub rest: LaterRest,
}

/// One access burst that gets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RejectedRequest {
    /// The access burst.
    pub request: RequestReference,
    /// Seconds until the mobile may ask again: T3122, of packet access T3142 (clause 10.5.2.43).
    pub wait_s: u8,
}

impl Parts for ImmediateAssignmentReject {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let page_mode = PageMode::from_bits(body.u8("Page Mode")?);
        let mut rejected = [RejectedRequest::default(); 4];
        for mobile in &mut rejected {
            mobile.request = RequestReference::read(body)?;
            mobile.wait_s = body.u8("Wait Indication")?;
        }
        Ok(Self { page_mode, rejected, rest: LaterRest::read(rest)? })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        body.push(self.page_mode.bits());
        for mobile in &self.rejected {
            mobile.request.write(body);
            body.push(mobile.wait_s);
        }
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        self.rest.write(rest);
    }
}
