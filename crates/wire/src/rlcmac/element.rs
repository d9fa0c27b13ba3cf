//! Information elements that several messages share (04.60 clause 12 [44.060]).

use super::csn::{BitReader, BitWriter, Bits, Csn, choice, read_chain, sequence, write_chain};
use super::value::{
    AccessInformation, Alpha, Arfcn, ArfcnIndex, AveragingPeriod, Bsn, CValue, ChangeMark, Gamma, Hsn,
    InterferenceFilter, InterferenceLevel, LlcPduType, MaNumber, Maio, MeasuredChannel, MultislotClass, P0,
    PeakThroughputClass, PersistenceLevel, PowerReduction, PrMode, RadioPriority, ReducedFrame, RflNumber,
    RlcMode, RlcOctets, RxQuality, SignVariance, Tfi, Timeslot, TimingAdvance, TimingAdvanceIndex, Tqi, Tsc,
    WaitIndication, WaitUnit,
};
use crate::error::DecodeError;
use crate::id::Tlli;

/// Persistence levels of the four radio priorities (clause 12.14).
pub type PersistenceLevels = [PersistenceLevel; 4];

/// A TBF of one mobile, by its direction (clause 12.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GlobalTfi {
    /// Its uplink TBF.
    Uplink(Tfi),
    /// Its downlink TBF.
    Downlink(Tfi),
}
choice!(GlobalTfi, "Global TFI": "0" => Uplink, "1" => Downlink);

impl GlobalTfi {
    /// The TFI.
    #[must_use]
    pub const fn tfi(self) -> Tfi {
        let (Self::Uplink(tfi) | Self::Downlink(tfi)) = self;
        tfi
    }
}

/// Which access burst is answered (clause 12.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketRequestReference {
    /// Its content.
    pub access: AccessInformation,
    /// The frame in which it came.
    pub frame: ReducedFrame,
}
sequence!(PacketRequestReference, "Packet Request Reference": access, frame);

/// To whom a message goes that assigns a downlink TBF or a cell: by TFI or TLLI (clauses 11.2.4, 11.2.7, 11.2.9b).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TfiOrTlli {
    /// One of its TBFs.
    Tfi(GlobalTfi),
    /// Its TLLI.
    Tlli(Tlli),
}
choice!(TfiOrTlli, "address": "0" => Tfi, "10" => Tlli);

/// To whom a poll goes (clause 11.2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolledAddress {
    /// One of its TBFs.
    Tfi(GlobalTfi),
    /// Its TLLI.
    Tlli(Tlli),
    /// Its temporary queueing identity.
    Tqi(Tqi),
}
choice!(PolledAddress, "address": "0" => Tfi, "10" => Tlli, "110" => Tqi);

/// To whom uplink resources go (clause 11.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UplinkAddress {
    /// One of its TBFs.
    Tfi(GlobalTfi),
    /// Its TLLI.
    Tlli(Tlli),
    /// Its temporary queueing identity.
    Tqi(Tqi),
    /// Its access burst.
    Request(PacketRequestReference),
}
choice!(UplinkAddress, "address": "0" => Tfi, "10" => Tlli, "110" => Tqi, "111" => Request);

/// Continuous timing advance: a place on the PTCCH and the timeslot that has it (clause 12.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContinuousTimingAdvance {
    /// The place.
    pub index: TimingAdvanceIndex,
    /// The timeslot.
    pub timeslot: Timeslot,
}
sequence!(ContinuousTimingAdvance, "TIMING_ADVANCE_INDEX": index, timeslot);

/// Packet timing advance (clause 12.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PacketTimingAdvance {
    /// The value to use at once.
    pub value: Option<TimingAdvance>,
    /// Where it is corrected.
    pub continuous: Option<ContinuousTimingAdvance>,
}
sequence!(PacketTimingAdvance, "Packet Timing Advance": value, continuous);

/// Timing advance of both directions (clause 12.12a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GlobalTimingAdvance {
    /// The value to use at once.
    pub value: Option<TimingAdvance>,
    /// Where it is corrected for the uplink TBF.
    pub uplink: Option<ContinuousTimingAdvance>,
    /// Where it is corrected for the downlink TBF.
    pub downlink: Option<ContinuousTimingAdvance>,
}
sequence!(GlobalTimingAdvance, "Global Packet Timing Advance": value, uplink, downlink);

/// Power control of the uplink (clause 12.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PowerControl {
    /// α.
    pub alpha: Alpha,
    /// Γ_CH of each timeslot.
    pub gammas: [Option<Gamma>; 8],
}
sequence!(PowerControl, "Power Control Parameters": alpha, gammas);

/// Power control as a cell broadcasts it (clause 12.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GlobalPowerControl {
    /// α.
    pub alpha: Alpha,
    /// Filter period in packet idle mode.
    pub idle_averaging: AveragingPeriod,
    /// Filter period in packet transfer mode.
    pub transfer_averaging: AveragingPeriod,
    /// Power reduction of the PBCCH.
    pub pb: PowerReduction,
    /// Where the signal is measured.
    pub measured: MeasuredChannel,
    /// Interference is measured on a list of channels (in R97 and R99).
    pub measurement_list: bool,
    /// Filter of interference.
    pub interference_filter: InterferenceFilter,
}
sequence!(
    GlobalPowerControl, "Global Power Control Parameters":
    alpha, idle_averaging, transfer_averaging, pb, measured, measurement_list, interference_filter,
);

/// Power of the downlink blocks to a mobile (clauses 11.2.29 and 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DownlinkPower {
    /// Least power reduction.
    pub p0: P0,
    /// Power reduction mode.
    pub pr_mode: PrMode,
}
sequence!(DownlinkPower, "P0": p0, pr_mode);

/// Channels a cell may use, by reference to its broadcast lists (clause 12.10a).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MobileAllocation {
    /// Hopping sequence.
    pub hsn: Hsn,
    /// Reference frequency lists; none: the cell allocation.
    pub lists: Vec<RflNumber>,
    /// Which of their channels.
    pub channels: AllocatedChannels,
}

/// Channels of a list (clause 12.10a).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllocatedChannels {
    /// A bit for each, 1 to 64 of them.
    Bitmap(Bits),
    /// All but these places.
    AllBut(Vec<ArfcnIndex>),
}

impl Csn for MobileAllocation {
    const NAME: &'static str = "GPRS Mobile Allocation";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let hsn = Hsn::read(bits)?;
        let lists = if bits.flag("RFL number list")? { read_chain(bits)? } else { Vec::new() };
        let channels = if bits.flag(Self::NAME)? {
            let some = bits.flag("ARFCN index list")?;
            AllocatedChannels::AllBut(if some { read_chain(bits)? } else { Vec::new() })
        } else {
            let len = usize::try_from(bits.take(6, "MA_LENGTH")?).unwrap_or_default();
            AllocatedChannels::Bitmap(Bits::take(bits, len + 1, "MA_BITMAP")?)
        };
        Ok(Self { hsn, lists, channels })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.hsn.write(bits);
        bits.flag(!self.lists.is_empty());
        if !self.lists.is_empty() {
            write_chain(&self.lists, bits);
        }
        match &self.channels {
            AllocatedChannels::Bitmap(bitmap) => {
                bits.flag(false);
                bits.put(bitmap.len().clamp(1, 64) as u64 - 1, 6);
                (0..bitmap.len().clamp(1, 64))
                    .zip(bitmap.iter().chain([false]))
                    .for_each(|(_, bit)| bits.flag(bit));
            }
            AllocatedChannels::AllBut(places) => {
                bits.flag(true);
                bits.flag(!places.is_empty());
                if !places.is_empty() {
                    write_chain(places, bits);
                }
            }
        }
    }
}

/// Hopping by a mobile allocation of the system information (clause 12.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndirectFrequencies {
    /// Offset.
    pub maio: Maio,
    /// Which allocation.
    pub number: MaNumber,
    /// The states of the system information for which this holds.
    pub change_marks: Option<ChangeMarks>,
}
sequence!(IndirectFrequencies, "Indirect encoding": maio, number, change_marks);

/// One or two change marks (clause 12.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChangeMarks {
    /// The first.
    pub first: ChangeMark,
    /// The second.
    pub second: Option<ChangeMark>,
}
sequence!(ChangeMarks, "CHANGE_MARK_1": first, second);

/// Hopping by an allocation that stands here (clause 12.8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DirectFrequencies {
    /// Offset.
    pub maio: Maio,
    /// The allocation.
    pub allocation: MobileAllocation,
}
sequence!(DirectFrequencies, "Direct encoding 1": maio, allocation);

/// Hopping over a frequency list in the coding of 04.08 clause 10.5.2.13 [44.018] (clause 12.8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FrequencyList {
    /// Offset.
    pub maio: Maio,
    /// Hopping sequence.
    pub hsn: Hsn,
    /// The list, 3 to 18 octets.
    pub contents: Vec<u8>,
}

impl FrequencyList {
    const LEAST: usize = 3;
    const MOST: usize = 18;
}

impl Csn for FrequencyList {
    const NAME: &'static str = "Direct encoding 2";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (maio, hsn) = (Maio::read(bits)?, Hsn::read(bits)?);
        let len = usize::try_from(bits.take(4, "Length of MA Frequency List contents")?).unwrap_or_default();
        let contents = read_octets(bits, len + Self::LEAST, "MA Frequency List contents")?;
        Ok(Self { maio, hsn, contents })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.maio.write(bits);
        self.hsn.write(bits);
        let len = self.contents.len().clamp(Self::LEAST, Self::MOST);
        bits.put((len - Self::LEAST) as u64, 4);
        (0..len).for_each(|at| bits.put(u64::from(self.contents.get(at).copied().unwrap_or_default()), 8));
    }
}

/// Octets that need not begin at an octet's first bit.
pub(crate) fn read_octets(
    bits: &mut BitReader<'_>,
    count: usize,
    ie: &'static str,
) -> Result<Vec<u8>, DecodeError> {
    (0..count).map(|_| Ok(u8::try_from(bits.take(8, ie)?).unwrap_or_default())).collect()
}

/// Which radio channels (clause 12.8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Frequencies {
    /// One, without hopping.
    Arfcn(Arfcn),
    /// Hopping by the system information.
    Indirect(IndirectFrequencies),
    /// Hopping by an allocation that stands here.
    Direct(DirectFrequencies),
    /// Hopping by a list that stands here.
    List(FrequencyList),
}
choice!(Frequencies, "Frequency Parameters": "00" => Arfcn, "01" => Indirect, "10" => Direct, "11" => List);

/// Frequency parameters (clause 12.8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FrequencyParameters {
    /// Training sequence.
    pub tsc: Tsc,
    /// Radio channels.
    pub frequencies: Frequencies,
}
sequence!(FrequencyParameters, "Frequency Parameters": tsc, frequencies);

/// When a TBF begins (clause 12.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartingTime {
    /// At a frame number modulo 42432.
    Absolute(ReducedFrame),
    /// Some frames after the block with this message.
    Relative(RelativeFrame),
}
choice!(StartingTime, "TBF Starting Time": "0" => Absolute, "1" => Relative);

super::csn::number! {
    /// Frames after the first of the next block: N + 4 and so many, 13 bits (clause 12.21).
    RelativeFrame(u16, 13), "Relative Frame Number Encoding";
}

/// Which blocks have come (clause 12.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AckNackDescription {
    /// The whole TBF has come.
    pub is_final: bool,
    /// V(R), starting sequence number: the block after the last of the bitmap.
    pub ssn: Bsn,
    /// Bit n, from 0, tells of the block with number SSN - 1 - n modulo 128. A one is a received block.
    pub bitmap: u64,
}
sequence!(AckNackDescription, "Ack/Nack Description": is_final, ssn, bitmap);

impl AckNackDescription {
    /// True where the bitmap tells of this block and it has come; none where the bitmap does not tell.
    #[must_use]
    pub const fn received(&self, bsn: Bsn) -> Option<bool> {
        let place = (self.ssn.get() + 127 - bsn.get()) % 128;
        if place < 64 { Some(self.bitmap >> place & 1 == 1) } else { None }
    }
}

impl Csn for u64 {
    const NAME: &'static str = "RECEIVED_BLOCK_BITMAP";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        bits.take(64, Self::NAME)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(*self, 64);
    }
}

/// What a mobile wants to send (clause 12.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChannelRequestDescription {
    /// Peak throughput class of the PDP context.
    pub peak_throughput: PeakThroughputClass,
    /// Radio priority.
    pub priority: RadioPriority,
    /// RLC mode.
    pub rlc_mode: RlcMode,
    /// What the first LLC PDU is.
    pub first_pdu: LlcPduType,
    /// How many octets.
    pub octets: RlcOctets,
}
sequence!(
    ChannelRequestDescription, "Channel Request Description":
    peak_throughput, priority, rlc_mode, first_pdu, octets,
);

/// What a mobile measures of its downlink (clause 11.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ChannelQuality {
    /// Signal strength.
    pub c_value: CValue,
    /// Bit error rate.
    pub quality: RxQuality,
    /// Variance of the signal.
    pub variance: SignVariance,
    /// Interference on each timeslot.
    pub interference: [Option<InterferenceLevel>; 8],
}
sequence!(ChannelQuality, "Channel Quality Report": c_value, quality, variance, interference);

/// How long to wait (clause 11.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wait {
    /// So many units.
    pub value: WaitIndication,
    /// The unit.
    pub unit: WaitUnit,
}
sequence!(Wait, "WAIT_INDICATION": value, unit);

impl Wait {
    /// In milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u32 {
        let unit = match self.unit {
            WaitUnit::Second => 1000,
            WaitUnit::TwentyMilliseconds => 20,
        };
        self.value.get() as u32 * unit
    }
}

/// Bits for which nothing is defined (clause 12.26): 1 to 64.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExtensionBits(pub Bits);

impl Csn for ExtensionBits {
    const NAME: &'static str = "Extension Bits";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let len = usize::try_from(bits.take(6, "extension length")?).unwrap_or_default();
        Ok(Self(Bits::take(bits, len + 1, Self::NAME)?))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        let len = self.0.len().clamp(1, 64);
        bits.put(len as u64 - 1, 6);
        (0..len).zip(self.0.iter().chain([false])).for_each(|(_, bit)| bits.flag(bit));
    }
}

/// Capabilities of a mobile for one radio technology (04.08 clause 10.5.5.12a [24.008]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RadioCapability {
    /// Access technology type, 4 bits: 0 P-GSM, 1 E-GSM, 3 GSM 1800, 4 GSM 1900. 15 names further technologies.
    pub technology: u8,
    /// What the length of the structure spans, up to 127 bits.
    pub content: Bits,
}

impl RadioCapability {
    /// Of a GSM mobile in a band (`technology`): RF power capability (3 bits) and GPRS multislot class, no more.
    #[must_use]
    pub fn gprs(technology: u8, power: u8, class: MultislotClass) -> Self {
        let mut octets = [0; 3];
        let mut writer = BitWriter::new(&mut octets);
        writer.put(u64::from(power), 3);
        // No A5 bits, no early classmark sending, no pseudo synchronisation, no VGCS, no VBS.
        writer.fixed("00000");
        // Multislot capability, of which no HSCSD class, the GPRS class without extended dynamic allocation, no
        // switch and measure values.
        writer.fixed("101");
        class.write(&mut writer);
        writer.fixed("00");
        Self { technology, content: Bits::new(&octets, 18) }
    }

    /// The GPRS multislot class, where the structure has one.
    #[must_use]
    pub fn multislot_class(&self) -> Option<MultislotClass> {
        let octets: Vec<u8> = {
            let mut octets = vec![0; self.content.len().div_ceil(8)];
            let mut writer = BitWriter::new(&mut octets);
            self.content.put(&mut writer);
            octets
        };
        if self.technology == 0xf {
            return None;
        }
        let mut bits = BitReader::new(&octets);
        let end = octets.len() * 8 - self.content.len();
        bits.take(3, "RF Power Capability").ok()?;
        if bits.flag("A5 bits").ok()? {
            bits.take(7, "A5 bits").ok()?;
        }
        bits.take(4, "ES IND").ok()?;
        if !bits.flag("Multislot capability").ok()? {
            return None;
        }
        if bits.flag("HSCSD multislot class").ok()? {
            bits.take(5, "HSCSD multislot class").ok()?;
        }
        if !bits.flag("GPRS multislot class").ok()? || bits.remaining() < end + 5 {
            return None;
        }
        MultislotClass::read(&mut bits).ok()
    }
}

impl Csn for RadioCapability {
    const NAME: &'static str = "MS RA capability value part";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let technology = u8::try_from(bits.take(4, "Access Technology Type")?).unwrap_or_default();
        let len = usize::try_from(bits.take(7, "Length")?).unwrap_or_default();
        Ok(Self { technology, content: Bits::take(bits, len, Self::NAME)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(self.technology), 4);
        let len = self.content.len().min(127);
        bits.put(len as u64, 7);
        self.content.iter().take(len).for_each(|bit| bits.flag(bit));
    }
}

/// MS radio access capability 2 (clause 12.30): one structure for each technology, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RadioCapabilities(pub Vec<RadioCapability>);

impl RadioCapabilities {
    /// The GPRS multislot class of the first technology that has one.
    #[must_use]
    pub fn multislot_class(&self) -> Option<MultislotClass> {
        self.0.iter().find_map(RadioCapability::multislot_class)
    }
}

impl Csn for RadioCapabilities {
    const NAME: &'static str = "MS Radio Access Capability 2";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        read_chain(bits).map(Self)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        write_chain(&self.0, bits);
    }
}
