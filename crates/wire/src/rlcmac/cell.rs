//! What a cell broadcasts about packet access: SYSTEM INFORMATION TYPE 13 of the BCCH (04.08 clause 9.1.43a [44.018]) and
//! PACKET SYSTEM INFORMATION TYPE 13 of the PACCH (04.60 clause 11.2.25 [44.060]).

use super::csn::{
    BitReader, BitWriter, Csn, Later, LaterRest, PADDING, choice, enumeration, number, read_high, sequence,
    write_high,
};
use super::element::{ExtensionBits, MobileAllocation};
use super::value::{
    AckType, Alpha, AveragingPeriod, ChangeMark, InterferenceFilter, MeasuredChannel, NetworkControlOrder,
    PageMode,
};
use crate::error::{DecodeError, DecodeErrorKind};

number! {
    /// Mark that changes when the BCCH's information does (clause 11.2.25).
    BcchChangeMark(u8, 3), "BCCH_CHANGE_MARK";
    /// Which message has changed (clause 11.2.25).
    ChangeField(u8, 4), "SI_CHANGE_FIELD";
    /// Routing area code.
    Rac(u8, 8), "RAC";
    /// Radio priorities that may access: 0 none, 3 the highest alone, to 6 for all four (clause 11.2.25).
    AccessThreshold(u8, 3), "PRIORITY_ACCESS_THR";
    /// T3168: so many half seconds and one (clause 12.24).
    T3168Code(u8, 3), "T3168";
    /// T3192 in its code (clause 12.24).
    T3192Code(u8, 3), "T3192";
    /// Longest non-DRX time: 0, 1, 2, 4 … 64 seconds (clause 12.24).
    DrxTimerCode(u8, 3), "DRX_TIMER_MAX";
    /// BS_CV_MAX: the countdown's start, and delays in blocks (clause 12.24).
    BsCvMax(u8, 4), "BS_CV_MAX";
    /// Steps of N3102 in units of one (clause 12.24).
    PanStep(u8, 3), "PAN_DEC";
}

enumeration! {
    /// How a network pages (clause 12.24 and 03.60 [23.060]).
    NetworkMode(2), "NMO" {
        /// With Gs: every page on one channel.
        I = 0,
        /// Every page on the CCCH.
        II = 1,
        /// Each side pages on its own channels.
        III = 2,
        /// Reserved.
        Reserved = 3,
    }
    /// Access bursts of the PRACH (clause 12.24).
    AccessBurst(1), "ACCESS_BURST_TYPE" {
        /// 8 bits.
        Bits8 = 0,
        /// 11 bits.
        Bits11 = 1,
    }
}

impl T3168Code {
    /// In milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u32 {
        500 * (self.get() as u32 + 1)
    }
}

impl T3192Code {
    const MILLISECONDS: [u32; 8] = [500, 1000, 1500, 0, 80, 120, 160, 200];

    /// In milliseconds.
    #[must_use]
    pub fn milliseconds(self) -> u32 {
        Self::MILLISECONDS.get(usize::from(self.get())).copied().unwrap_or_default()
    }
}

/// How a cell handles packet access (clause 12.24).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellOptions {
    /// Network mode of operation.
    pub mode: NetworkMode,
    /// T3168: how long a mobile waits for uplink resources.
    pub t3168: T3168Code,
    /// T3192: how long a mobile listens after its downlink TBF.
    pub t3192: T3192Code,
    /// Longest non-DRX time.
    pub drx_timer_max: DrxTimerCode,
    /// Access bursts of the PRACH.
    pub access_burst: AccessBurst,
    /// Default form of a PACKET CONTROL ACKNOWLEDGEMENT.
    pub control_ack: AckType,
    /// BS_CV_MAX.
    pub bs_cv_max: BsCvMax,
    /// Steps of N3102.
    pub pan: Option<Pan>,
    /// What later releases say of the cell, as it came.
    pub extension: Option<ExtensionBits>,
}
sequence!(
    CellOptions, "GPRS Cell Options":
    mode, t3168, t3192, drx_timer_max, access_burst, control_ack, bs_cv_max, pan, extension,
);

/// Steps of N3102 (clause 12.24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pan {
    /// Less with each expiry of T3182.
    pub decrement: PanStep,
    /// More with each acknowledgement.
    pub increment: PanStep,
    /// The most, in fours and four.
    pub maximum: PanStep,
}
sequence!(Pan, "PAN_DEC": decrement, increment, maximum);

/// Uplink power control of a cell (clause 12.9a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellPowerControl {
    /// α.
    pub alpha: Alpha,
    /// Filter period in packet idle mode.
    pub idle_averaging: AveragingPeriod,
    /// Filter period in packet transfer mode.
    pub transfer_averaging: AveragingPeriod,
    /// Where the signal is measured.
    pub measured: MeasuredChannel,
    /// Filter of interference.
    pub interference_filter: InterferenceFilter,
}
sequence!(
    CellPowerControl, "GPRS Power Control Parameters":
    alpha, idle_averaging, transfer_averaging, measured, interference_filter,
);

/// A mobile allocation and the mark of its state (clause 11.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellAllocation {
    /// Its state.
    pub change_mark: ChangeMark,
    /// The allocation.
    pub allocation: MobileAllocation,
}
sequence!(CellAllocation, "SI13_CHANGE_MARK": change_mark, allocation);

/// A cell without PBCCH (clause 11.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellAccess {
    /// Routing area code.
    pub rac: Rac,
    /// SPLIT_PG_CYCLE is supported on the CCCH.
    pub split_paging: bool,
    /// Who may access.
    pub threshold: AccessThreshold,
    /// Who decides about cells.
    pub control: NetworkControlOrder,
    /// Timers and modes.
    pub options: CellOptions,
    /// Power control.
    pub power: CellPowerControl,
}
sequence!(CellAccess, "RAC": rac, split_paging, threshold, control, options, power);

/// With or without a PBCCH (clause 11.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Broadcast {
    /// On the BCCH alone.
    Bcch(CellAccess),
    /// There is a PBCCH, which is not read: the bits to the end of the block.
    Pbcch(Later<0>),
}
choice!(Broadcast, "PBCCH": "0" => Bcch, "1" => Pbcch);

/// What both messages have (clause 11.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellInformation {
    /// State of the BCCH's information.
    pub change_mark: BcchChangeMark,
    /// Which message has changed.
    pub change_field: ChangeField,
    /// Mobile allocation.
    pub allocation: Option<CellAllocation>,
    /// The cell.
    pub broadcast: Broadcast,
}
sequence!(CellInformation, "BCCH_CHANGE_MARK": change_mark, change_field, allocation, broadcast);

/// PACKET SYSTEM INFORMATION TYPE 13 (clause 11.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketSystemInformation13 {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// The cell.
    pub cell: CellInformation,
    /// Additions.
    pub later: Later,
}
sequence!(PacketSystemInformation13, "Packet System Information Type 13": page_mode, cell, later);

/// SYSTEM INFORMATION TYPE 13 (04.08 clause 9.1.43a [44.018]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SystemInformation13 {
    /// The cell; none where there is no packet access.
    pub cell: Option<CellInformation>,
    /// Additions.
    pub later: LaterRest,
}

/// Octets of a block of the BCCH.
pub const BLOCK_LEN: usize = 23;

/// Pseudo length 0, protocol discriminator, message type.
const HEADER: [u8; 3] = [0x01, 0x06, 0x00];

impl SystemInformation13 {
    /// Reads a block of the BCCH.
    ///
    /// # Errors
    /// `UnknownMessage` for another message, `Truncated` and `BadValue` about an element.
    pub fn parse(block: &[u8]) -> Result<Self, DecodeError> {
        let Some((&HEADER, rest)) = block.split_first_chunk::<3>() else {
            let message = block.get(2).copied().unwrap_or_default();
            return Err(DecodeError::new("message type", 2, DecodeErrorKind::UnknownMessage(message)));
        };
        let mut bits = BitReader::new(rest);
        let shifted = |error: DecodeError| error.shifted(HEADER.len());
        let cell = read_high(&mut bits).map_err(shifted)?;
        Ok(Self { cell, later: LaterRest::read(&mut bits).map_err(shifted)? })
    }

    /// Writes the block. None where it does not fit.
    #[must_use]
    pub fn emit(&self) -> Option<[u8; BLOCK_LEN]> {
        let mut block = [PADDING; BLOCK_LEN];
        let (header, rest) = block.split_first_chunk_mut::<3>()?;
        *header = HEADER;
        let mut bits = BitWriter::new(rest);
        write_high(self.cell.as_ref(), &mut bits);
        self.later.write(&mut bits);
        bits.fits().then_some(block)
    }
}
