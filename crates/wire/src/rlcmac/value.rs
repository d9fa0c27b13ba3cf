//! The small values of RLC/MAC: numbers of some bits, and choices (04.60 clauses 10.4, 11.2 and 12 [44.060]).

use super::coding::CodingScheme;
use super::csn::{BitReader, BitWriter, Csn, enumeration, number, open_enumeration};
use crate::error::DecodeError;
use crate::id::{PTmsi, Tlli};
use crate::octet_enum::octet_enum;
use core::fmt;

number! {
    /// Temporary flow identity: of one TBF in its direction on its PDCHs (clause 10.4.10).
    Tfi(u8, 5), "TFI";
    /// Uplink state flag: whose the next uplink block is (clause 10.4.1). 7 is nobody's on a PDCH with a PRACH.
    Usf(u8, 3), "USF";
    /// Timeslot of a TDMA frame.
    Timeslot(u8, 3), "TIMESLOT_NUMBER";
    /// Block sequence number modulo 128 (clause 10.4.12), and starting sequence number of a bitmap.
    Bsn(u8, 7), "STARTING_SEQUENCE_NUMBER";
    /// Training sequence code (05.02 clause 5.2.3 [45.002]).
    Tsc(u8, 3), "TSC";
    /// Absolute radio frequency channel number.
    Arfcn(u16, 10), "ARFCN";
    /// Mobile allocation index offset.
    Maio(u8, 6), "MAIO";
    /// Hopping sequence number.
    Hsn(u8, 6), "HSN";
    /// Base station identity code: network colour code and base station colour code, three bits each.
    Bsic(u8, 6), "BSIC";
    /// Number of a mobile allocation that the system information has (clause 12.8).
    MaNumber(u8, 4), "MA_NUMBER";
    /// Mark of a state of the system information (clauses 11.2 and 12.8).
    ChangeMark(u8, 2), "CHANGE_MARK";
    /// Number of a reference frequency list (clause 12.10a).
    RflNumber(u8, 4), "RFL_NUMBER";
    /// Place of a channel in a frequency list (clause 12.10a).
    ArfcnIndex(u8, 6), "ARFCN_INDEX";
    /// Timing advance in symbol periods of 48/13 µs (05.10 [45.010]).
    TimingAdvance(u8, 6), "TIMING_ADVANCE_VALUE";
    /// Place of a mobile on the PTCCH (clause 12.12).
    TimingAdvanceIndex(u8, 4), "TIMING_ADVANCE_INDEX";
    /// α of power control, in tenths; 10 and more are one (clause 12.13).
    Alpha(u8, 4), "ALPHA";
    /// Γ_CH of power control, in 2 dB (clause 12.13).
    Gamma(u8, 5), "GAMMA";
    /// Least power reduction of the downlink, in 2 dB (clause 12 and 05.08 clause 10.2.2 [45.008]).
    P0(u8, 4), "P0";
    /// Filter period for the signal in packet idle or transfer mode: 2^(n/2) / 6 multiframes (clause 12.9).
    AveragingPeriod(u8, 5), "T_AVG";
    /// Power reduction of the PBCCH, in 2 dB (clause 12.9).
    PowerReduction(u8, 4), "Pb";
    /// Filter constant for the power of interference: 2^(n/2) (clause 12.9).
    InterferenceFilter(u8, 4), "N_AVG_I";
    /// Persistence level of one radio priority: a draw of 0 to 15 that is not below it permits an access. 15 stands for
    /// 16, which permits none (clause 12.14).
    PersistenceLevel(u8, 4), "PERSISTENCE_LEVEL";
    /// Peak throughput class, 1 to 9 (04.08 clause 10.5.6.5 [24.008]).
    PeakThroughputClass(u8, 4), "PEAK_THROUGHPUT_CLASS";
    /// Radio priority, 0 the highest (clause 11.2.5).
    RadioPriority(u8, 2), "RADIO_PRIORITY";
    /// Received signal strength: 0 below -110 dBm, in 1 dB, 63 from -48 dBm on (05.08 clause 8.1.4 [45.008]).
    RxLevel(u8, 6), "RXLEV";
    /// Received quality: 0 below 0.2 % of bits in error, 7 above 12.8 % (05.08 clause 8.2.4 [45.008]).
    RxQuality(u8, 3), "RXQUAL";
    /// C value: the filtered signal strength as an [`RxLevel`] (05.08 clause 10.2.3.1 [45.008]).
    CValue(u8, 6), "C_VALUE";
    /// Variance of the signal: n to n + 1 quarters of a dB² (clause 11.2.6).
    SignVariance(u8, 6), "SIGN_VAR";
    /// Interference on a timeslot, relative to C: 0 above it, then 2 dB less each, 15 from C - 28 dB down (clause 11.2.6).
    InterferenceLevel(u8, 4), "I_LEVEL";
    /// What the mobile has received of a control message in segments (clause 11.2.2).
    CtrlAck(u8, 2), "CTRL_ACK";
    /// Multislot class (05.02 annex B [45.002]), 1 to 29.
    MultislotClass(u8, 5), "MULTISLOT_CLASS";
    /// Access burst of a PRACH in 11 bits, or of eight bits above three zeros (clause 12.11).
    AccessInformation(u16, 11), "RANDOM_ACCESS_INFORMATION";
    /// A frame number of this order within the measurement orders (clause 11.2.9b).
    MeasurementOrderIndex(u8, 3), "PMO_INDEX";
    /// Periods of reporting and of non-DRX mode, in their codes (clause 11.2.4).
    PeriodCode(u8, 3), "NC_PERIOD";
    /// Cause of a failed cell change (clause 11.2.3).
    CellChangeCause(u8, 4), "CAUSE";
    /// Which system information a mobile is told (clause 11.2.9e).
    ContainerId(u8, 2), "CONTAINER_ID";
    /// Place of a part of it (clause 11.2.9e).
    ContainerIndex(u8, 5), "CONTAINER_INDEX";
    /// Type of the message that a status is about (clause 11.2.9c).
    MessageType(u8, 6), "MESSAGE_TYPE";
    /// Notification list number on the PPCH (clause 11.2.10).
    ListNumber(u8, 2), "NLN";
    /// eMLPP priority, 0 none, 1 to 7 (04.08 [44.018]).
    EmlppPriority(u8, 3), "eMLPP_PRIORITY";
    /// Radio transaction identifier: the segments of one control message have the same (clause 10.4.9c).
    Rti(u8, 5), "RTI";
    /// Power reduction of a block (clause 10.4.10a).
    BlockPower(u8, 2), "PR";
    /// Radio blocks of a TBF with a known end, less one (clause 11.2.29 in R97 and R99).
    BlocksGranted(u8, 8), "RLC_DATA_BLOCKS_GRANTED";
    /// Interval of measurements in multiframes, less one (clause 11.2.7 in R97 and R99).
    MeasurementInterval(u8, 5), "MEASUREMENT_INTERVAL";
    /// Temporary queueing identity (clause 12.17).
    Tqi(u16, 16), "TQI";
    /// Octets that a mobile wants to send, with the length octets of its blocks; 0 says nothing (clause 12.7).
    RlcOctets(u16, 16), "RLC_OCTET_COUNT";
    /// How long a rejected mobile waits, in a [`WaitUnit`] (clause 11.2.1).
    WaitIndication(u8, 8), "WAIT_INDICATION";
}

enumeration! {
    /// What an idle mobile that is paged in this group does (clause 12.20).
    PageMode(2), "PAGE_MODE" {
        /// Listens in its own group.
        Normal = 0,
        /// Listens in the next but one group too.
        Extended = 1,
        /// Listens everywhere.
        Reorganization = 2,
        /// No change.
        SameAsBefore = 3,
    }
    /// Coding of uplink blocks with a TLLI (clause 11.2.29).
    TlliBlockCoding(1), "TLLI_BLOCK_CHANNEL_CODING" {
        /// CS-1.
        Cs1 = 0,
        /// As the channel coding command says.
        AsCommanded = 1,
    }
    /// RLC mode of a TBF (clause 12.7).
    RlcMode(1), "RLC_MODE" {
        /// Blocks are repeated until they are acknowledged.
        Acknowledged = 0,
        /// Blocks are sent once.
        Unacknowledged = 1,
    }
    /// First LLC PDU of an uplink TBF (clause 12.7).
    LlcPduType(1), "LLC_PDU_TYPE" {
        /// SACK or ACK.
        Acknowledgement = 0,
        /// Any other.
        Other = 1,
    }
    /// Medium access mode of a downlink TBF (clause 11.2.7).
    MacMode(2), "MAC_MODE" {
        /// Dynamic allocation.
        Dynamic = 0,
        /// Extended dynamic allocation.
        ExtendedDynamic = 1,
        /// Fixed allocation.
        Fixed = 2,
        /// Fixed allocation, half duplex.
        FixedHalfDuplex = 3,
    }
    /// What one USF gives (clause 11.2.29).
    UsfGranularity(1), "USF_GRANULARITY" {
        /// One block.
        One = 0,
        /// Four blocks.
        Four = 1,
    }
    /// Power reduction mode (clause 12 and 05.08 [45.008]).
    PrMode(1), "PR_MODE" {
        /// Of one mobile.
        A = 0,
        /// Of all mobiles.
        B = 1,
    }
    /// Power control mode of the base station (clause 11.2.7 in R97 and R99).
    BtsPowerMode(1), "BTS_PWR_CTRL_MODE" {
        /// Mode A.
        A = 0,
        /// Mode B.
        B = 1,
    }
    /// Where the signal for power control is measured (clause 12.9).
    MeasuredChannel(1), "PC_MEAS_CHAN" {
        /// On the BCCH.
        Bcch = 0,
        /// On the PDCH.
        Pdch = 1,
    }
    /// Form of a PACKET CONTROL ACKNOWLEDGEMENT (clause 11.2.12).
    AckType(1), "TYPE_OF_ACK" {
        /// Four access bursts.
        AccessBursts = 0,
        /// A control block.
        ControlBlock = 1,
    }
    /// Unit of a [`WaitIndication`] (clause 11.2.1).
    WaitUnit(1), "WAIT_INDICATION_SIZE" {
        /// Seconds.
        Second = 0,
        /// 20 ms.
        TwentyMilliseconds = 1,
    }
    /// Why a mobile asks for resources (clause 11.2.16).
    AccessType(2), "ACCESS_TYPE" {
        /// Two-phase access.
        TwoPhase = 0,
        /// Page response.
        PageResponse = 1,
        /// Cell update.
        CellUpdate = 2,
        /// Mobility management procedure.
        MmProcedure = 3,
    }
    /// Reserved block of a poll, relative to the first frame N of the block that polls (clause 10.4.5).
    Rrbp(2), "RRBP" {
        /// Frame N + 13.
        N13 = 0,
        /// Frame N + 17 or N + 18.
        N17 = 1,
        /// Frame N + 21 or N + 22.
        N21 = 2,
        /// Frame N + 26.
        N26 = 3,
    }
    /// Channel for the answer to a page of the circuit-switched side (04.08 clause 10.5.2.8 [44.018]).
    ChannelNeeded(2), "CHANNEL_NEEDED" {
        /// Any.
        Any = 0,
        /// SDCCH.
        Sdcch = 1,
        /// Full rate.
        FullRate = 2,
        /// Full or half rate.
        AnyRate = 3,
    }
    /// Who decides about cells, and whether the mobile reports (05.08 clause 10.1.4 [45.008]).
    NetworkControlOrder(2), "NETWORK_CONTROL_ORDER" {
        /// The mobile; no reports.
        Nc0 = 0,
        /// The mobile; reports.
        Nc1 = 1,
        /// The network; reports.
        Nc2 = 2,
        /// Back to the broadcast parameters.
        Reset = 3,
    }
}

octet_enum! {
    /// Why a TBF is released (clause 11.2.26).
    ReleaseCause {
        /// Normal release.
        Normal = 0x0, "normal release";
        /// Abnormal release.
        Abnormal = 0x2, "abnormal release";
    }
}
open_enumeration!(ReleaseCause, 4, "TBF_RELEASE_CAUSE");

octet_enum! {
    /// What was wrong with a message to a TBF (clause 11.2.9c).
    StatusCause {
        /// Normal event.
        NormalEvent = 0, "normal event";
        /// Status, unspecified.
        Unspecified = 1, "status, unspecified";
        /// Syntactically incorrect message, non-distribution part error.
        SyntaxError = 2, "syntactically incorrect message, non-distribution part error";
        /// Syntactically incorrect message, message escape.
        MessageEscape = 3, "syntactically incorrect message, message escape";
        /// Message not compatible with current protocol state.
        WrongState = 4, "message not compatible with current protocol state";
    }
}
open_enumeration!(StatusCause, 3, "TBF_CAUSE");

impl Csn for CodingScheme {
    const NAME: &'static str = "CHANNEL_CODING_COMMAND";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::of_command(u8::try_from(bits.take(2, Self::NAME)?).unwrap_or_default()))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(self.command()), 2);
    }
}

macro_rules! identity {
    ($name:ident, $text:literal) => {
        impl Csn for $name {
            const NAME: &'static str = $text;

            fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                Ok(Self(u32::try_from(bits.take(32, $text)?).unwrap_or_default()))
            }

            fn write(&self, bits: &mut BitWriter<'_>) {
                bits.put(u64::from(self.0), 32);
            }
        }
    };
}
identity!(Tlli, "TLLI");
identity!(PTmsi, "PTMSI");

/// Timeslots of a TDMA frame: the most significant bit is timeslot 0 (clause 12.18).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PdchSet(pub u8);

impl PdchSet {
    /// None.
    pub const EMPTY: Self = Self(0);

    /// One timeslot.
    #[must_use]
    pub const fn of(timeslot: Timeslot) -> Self {
        Self(0x80 >> timeslot.get())
    }

    /// Those of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True where the timeslot is one of them.
    #[must_use]
    pub const fn contains(self, timeslot: Timeslot) -> bool {
        self.0 & Self::of(timeslot).0 != 0
    }

    /// How many.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// True for none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each timeslot, from the lowest.
    pub fn iter(self) -> impl Iterator<Item = Timeslot> {
        (0..8).map(Timeslot::lowest).filter(move |timeslot| self.contains(*timeslot))
    }
}

impl FromIterator<Timeslot> for PdchSet {
    fn from_iter<I: IntoIterator<Item = Timeslot>>(timeslots: I) -> Self {
        timeslots.into_iter().fold(Self::EMPTY, |set, timeslot| set.union(Self::of(timeslot)))
    }
}

impl fmt::Debug for PdchSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PdchSet({:08b})", self.0)
    }
}

impl Csn for PdchSet {
    const NAME: &'static str = "TIMESLOT_ALLOCATION";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(u8::try_from(bits.take(8, Self::NAME)?).unwrap_or_default()))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(self.0), 8);
    }
}

/// A frame number modulo 42432 in 16 bits: T1', T3 and T2 (04.08 clauses 10.5.2.30 and 10.5.2.38 [44.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReducedFrame(pub u16);

impl ReducedFrame {
    /// How many frame numbers there are.
    pub const MODULUS: u32 = 42_432;

    /// Of a TDMA frame number.
    #[must_use]
    pub const fn of(frame_number: u32) -> Self {
        let [t1, t3, t2] = [frame_number / 1326 % 32, frame_number % 51, frame_number % 26];
        #[allow(clippy::cast_possible_truncation, reason = "5, 6 and 5 bits")]
        Self((t1 << 11 | t3 << 5 | t2) as u16)
    }

    /// The frame number modulo [`Self::MODULUS`]; none where T3 or T2 is too high.
    #[must_use]
    pub const fn frame_number(self) -> Option<u32> {
        let bits = self.0 as u32;
        let [t1, t3, t2] = [bits >> 11, bits >> 5 & 0x3f, bits & 0x1f];
        if t3 > 50 || t2 > 25 {
            return None;
        }
        // 26 and 51 have no common divisor, and 51 is -1 modulo 26.
        Some(51 * ((t3 + 26 * 2 - t2) % 26) + t3 + 1326 * t1)
    }
}

impl Csn for ReducedFrame {
    const NAME: &'static str = "FRAME_NUMBER";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(u16::try_from(bits.take(16, Self::NAME)?).unwrap_or_default()))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(self.0), 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_frame_number_is_that_number() {
        for frame in (0..ReducedFrame::MODULUS).step_by(7).chain([42_431]) {
            assert_eq!(ReducedFrame::of(frame).frame_number(), Some(frame));
            assert_eq!(ReducedFrame::of(frame + ReducedFrame::MODULUS), ReducedFrame::of(frame));
        }
        assert_eq!(ReducedFrame(51 << 5).frame_number(), None);
        assert_eq!(ReducedFrame(26).frame_number(), None);
    }

    #[test]
    fn a_number_has_its_bits_and_no_more() {
        assert_eq!((Tfi::MAX, Arfcn::MAX, Tqi::MAX), (31, 1023, 0xffff));
        assert_eq!((Tfi::new(31).map(Tfi::get), Tfi::new(32)), (Some(31), None));
        assert_eq!(Tfi::lowest(33).get(), 1);
        assert_eq!(format!("{} {:?}", Usf::lowest(5), Usf::lowest(5)), "5 Usf(5)");
    }

    #[test]
    fn timeslot_0_is_the_most_significant_bit() {
        let set: PdchSet = [0, 2, 7].map(Timeslot::lowest).into_iter().collect();
        assert_eq!((set.0, set.len(), set.is_empty()), (0b1010_0001, 3, false));
        assert_eq!(set.iter().map(Timeslot::get).collect::<Vec<_>>(), [0, 2, 7]);
        assert!(set.contains(Timeslot::lowest(2)) && !set.contains(Timeslot::lowest(1)));
    }
}
