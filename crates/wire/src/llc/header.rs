//! Address and control field (04.64 clauses 6.2 and 6.3 [44.064]).

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::fcs24::{FCS_LEN, Fold, fcs24_folded};
use crate::id::Sapi;
use crate::llc::{HEADER_LEN_MAX, I_HEADER_LEN, UI_HEADER_LEN};
use core::fmt;
use core::ops::{Deref, Range};

/// Octets of information that the FCS of an unprotected UI frame covers (04.64 clause 8.9).
pub const N202: usize = 4;

const PD: u8 = 0x80;
const CR: u8 = 0x40;
const SACK_LEN_MAX: usize = 32;

/// Address and control field of an LL-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The C/R bit as sent: a command of the SGSN and a response of the MS have 1 (clause 6.2.2).
    pub cr: bool,
    /// The SAPI, 0 to 15.
    pub sapi: Sapi,
    /// The control field.
    pub control: Control,
}

/// Control field (04.64 clause 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Confirmed information with supervision: I+S (clause 6.3.1).
    I {
        /// A: an acknowledgement is asked for.
        ack_request: bool,
        /// N(S).
        ns: u16,
        /// N(R).
        nr: u16,
        /// What is acknowledged.
        supervisory: Supervisory,
    },
    /// Supervision alone (clause 6.3.2).
    S {
        /// A: an acknowledgement is asked for.
        ack_request: bool,
        /// N(R).
        nr: u16,
        /// What is acknowledged.
        supervisory: Supervisory,
    },
    /// Unconfirmed information (clause 6.3.3).
    Ui {
        /// N(U).
        nu: u16,
        /// E: information and FCS are ciphered.
        encrypted: bool,
        /// PM: the FCS covers the whole frame, otherwise header and [`N202`] octets.
        protected: bool,
    },
    /// Unnumbered (clause 6.3.4).
    U {
        /// P in a command, F in a response.
        poll_final: bool,
        /// Which one.
        function: UFunction,
    },
}

/// Supervisory functions (04.64 clause 6.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervisory {
    /// Receive ready.
    Rr,
    /// Acknowledgement: the next frame is missing.
    Ack,
    /// Receive not ready.
    Rnr,
    /// Selective acknowledgement.
    Sack(SackBitmap),
}

impl Supervisory {
    const fn bits(&self) -> u8 {
        match self {
            Self::Rr => 0,
            Self::Ack => 1,
            Self::Rnr => 2,
            Self::Sack(_) => 3,
        }
    }
}

/// R(1), R(2), …: bit 8 of the first octet says whether the frame after N(R) was received (clause 6.3.5.4).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SackBitmap {
    octets: [u8; SACK_LEN_MAX],
    len: u8,
}

impl SackBitmap {
    /// From 1 to 32 octets (in an S frame also none); `None` for more.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut bitmap = Self { octets: [0; SACK_LEN_MAX], len: u8::try_from(octets.len()).ok()? };
        bitmap.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(bitmap)
    }
}

impl Deref for SackBitmap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Debug for SackBitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SackBitmap({:02x?})", &**self)
    }
}

/// Unnumbered commands and responses (04.64 clause 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UFunction {
    /// No operation.
    Null,
    /// Disconnected mode.
    Dm,
    /// Disconnect.
    Disc,
    /// Unnumbered acknowledgement.
    Ua,
    /// Set asynchronous balanced mode.
    Sabm,
    /// Frame reject.
    Frmr,
    /// Exchange identification.
    Xid,
    /// Any other value of M4 to M1.
    Other(u8),
}

impl UFunction {
    const fn from_bits(bits: u8) -> Self {
        match bits & 0xf {
            0 => Self::Null,
            1 => Self::Dm,
            4 => Self::Disc,
            6 => Self::Ua,
            7 => Self::Sabm,
            8 => Self::Frmr,
            11 => Self::Xid,
            other => Self::Other(other),
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Dm => 1,
            Self::Disc => 4,
            Self::Ua => 6,
            Self::Sabm => 7,
            Self::Frmr => 8,
            Self::Xid => 11,
            Self::Other(bits) => bits & 0xf,
        }
    }
}

/// Where the parts of an LL-PDU stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Its header.
    pub header: Header,
    /// Octets of the header, as received.
    pub header_len: usize,
    /// Octets of information.
    pub info_len: usize,
}

impl Layout {
    /// The information's octets within the LL-PDU.
    #[must_use]
    pub const fn info(&self) -> Range<usize> {
        self.header_len..self.header_len + self.info_len
    }

    /// The octets that the FCS covers (clause 5.5; for unprotected UI frames header and N202 octets, or all
    /// information where there is less).
    #[must_use]
    pub const fn covered(&self) -> Range<usize> {
        0..self.header_len + self.header.covered_info(self.info_len)
    }

    /// True where the FCS of `frame`, which is deciphered and has this layout, matches.
    #[must_use]
    pub fn fcs_is_right(&self, frame: &[u8]) -> bool {
        self.fcs_is_right_folded(frame, None)
    }

    /// The same with a faster way where the caller has one.
    #[must_use]
    pub fn fcs_is_right_folded(&self, frame: &[u8], fold: Option<Fold>) -> bool {
        let end = self.header_len + self.info_len;
        match (frame.get(self.covered()), frame.get(end..end + FCS_LEN)) {
            (Some(covered), Some(fcs)) => fcs24_folded(covered, fold) == fcs,
            _ => false,
        }
    }
}

/// The octets of an emitted header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderOctets {
    octets: [u8; HEADER_LEN_MAX],
    len: usize,
}

impl HeaderOctets {
    const fn new() -> Self {
        Self { octets: [0; HEADER_LEN_MAX], len: 0 }
    }

    fn put(&mut self, octets: &[u8]) {
        if let Some(room) = self.octets.get_mut(self.len..self.len + octets.len()) {
            room.copy_from_slice(octets);
            self.len += octets.len();
        }
    }
}

impl Deref for HeaderOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

/// The header of a UI frame: the octets that [`Header::emit`] gives for it, without the way round.
#[must_use]
pub const fn ui_header(
    cr: bool,
    sapi: Sapi,
    nu: u16,
    encrypted: bool,
    protected: bool,
) -> [u8; UI_HEADER_LEN] {
    let [high, low] = (0xc000 | (nu & 0x1ff) << 2 | (encrypted as u16) << 1 | protected as u16).to_be_bytes();
    [address(cr, sapi), high, low]
}

/// The header of an I frame up to its SACK bitmap, which follows with its length where that is what is acknowledged. Of the two
/// sequence numbers, N(S) and N(R), the low nine bits count.
#[must_use]
pub const fn i_header(
    cr: bool,
    sapi: Sapi,
    ack_request: bool,
    (ns, nr): (u16, u16),
    supervisory: &Supervisory,
) -> [u8; I_HEADER_LEN] {
    let control = (ack_request as u32) << 22
        | (ns as u32 & 0x1ff) << 12
        | (nr as u32 & 0x1ff) << 2
        | supervisory.bits() as u32;
    let [_, high, middle, low] = control.to_be_bytes();
    [address(cr, sapi), high, middle, low]
}

const fn address(cr: bool, sapi: Sapi) -> u8 {
    (if cr { CR } else { 0 }) | (sapi.0 & 0xf)
}

impl Header {
    /// Reads the header of the LL-PDU `frame`, which is given whole, FCS included. Spare bits count for nothing.
    ///
    /// # Errors
    /// `UnknownProtocol` where PD is 1; `Truncated` where control field or FCS do not fit (clause 5.8).
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<Layout, DecodeError> {
        let mut r = Reader::new(frame);
        let address = r.u8("LLC address field")?;
        if address & PD != 0 {
            return Err(DecodeError::new(
                "Protocol Discriminator",
                0,
                DecodeErrorKind::UnknownProtocol(address),
            ));
        }
        let control = Control::parse(&mut r)?;
        let header_len = r.offset();
        let info_len = r.remaining().checked_sub(FCS_LEN).ok_or_else(|| {
            r.error(
                "Frame Check Sequence",
                DecodeErrorKind::Truncated { needed: FCS_LEN, have: r.remaining() },
            )
        })?;
        let header = Self { cr: address & CR != 0, sapi: Sapi(address & 0xf), control };
        Ok(Layout { header, header_len, info_len })
    }

    /// The octets of this header. Of a sequence number the low nine bits count.
    #[must_use]
    pub fn emit(&self) -> HeaderOctets {
        let mut out = HeaderOctets::new();
        match &self.control {
            Control::Ui { nu, encrypted, protected } => {
                out.put(&ui_header(self.cr, self.sapi, *nu, *encrypted, *protected));
            }
            Control::U { poll_final, function } => {
                let control = 0xe0 | u8::from(*poll_final) << 4 | function.bits();
                out.put(&[address(self.cr, self.sapi), control]);
            }
            Control::S { ack_request, nr, supervisory } => {
                let control = 0x8000 | u16::from(*ack_request) << 13 | (nr & 0x1ff) << 2;
                let [high, low] = (control | u16::from(supervisory.bits())).to_be_bytes();
                out.put(&[address(self.cr, self.sapi), high, low]);
                if let Supervisory::Sack(bitmap) = supervisory {
                    out.put(bitmap);
                }
            }
            Control::I { ack_request, ns, nr, supervisory } => {
                out.put(&i_header(self.cr, self.sapi, *ack_request, (*ns, *nr), supervisory));
                if let Supervisory::Sack(bitmap) = supervisory {
                    out.put(&[bitmap.len.saturating_sub(1) & 0x1f]);
                    out.put(if bitmap.is_empty() { &[0] } else { bitmap });
                }
            }
        }
        out
    }

    /// Of `info_len` octets of information those that the FCS covers.
    #[must_use]
    pub const fn covered_info(&self, info_len: usize) -> usize {
        match self.control {
            Control::Ui { protected: false, .. } if info_len > N202 => N202,
            Control::Ui { .. } | Control::I { .. } | Control::S { .. } | Control::U { .. } => info_len,
        }
    }
}

impl Control {
    #[inline]
    fn parse(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let first = r.peek().unwrap_or(0);
        match first >> 5 {
            0b000..=0b011 => {
                let control = r.u24("I control field")?;
                let supervisory = match control & 3 {
                    3 => Supervisory::Sack(i_sack(r)?),
                    bits => plain_supervisory(bits),
                };
                Ok(Self::I {
                    ack_request: control & 0x40_0000 != 0,
                    ns: nine_bits(control >> 12),
                    nr: nine_bits(control >> 2),
                    supervisory,
                })
            }
            0b100 | 0b101 => {
                let control = u32::from(r.u16("S control field")?);
                let supervisory = match control & 3 {
                    3 => Supervisory::Sack(s_sack(r)?),
                    bits => plain_supervisory(bits),
                };
                Ok(Self::S { ack_request: control & 0x2000 != 0, nr: nine_bits(control >> 2), supervisory })
            }
            0b110 => {
                let control = u32::from(r.u16("UI control field")?);
                Ok(Self::Ui {
                    nu: nine_bits(control >> 2),
                    encrypted: control & 2 != 0,
                    protected: control & 1 != 0,
                })
            }
            _ => {
                let control = r.u8("U control field")?;
                Ok(Self::U { poll_final: control & 0x10 != 0, function: UFunction::from_bits(control) })
            }
        }
    }
}

fn nine_bits(value: u32) -> u16 {
    u16::try_from(value & 0x1ff).unwrap_or(0)
}

const fn plain_supervisory(bits: u32) -> Supervisory {
    match bits {
        0 => Supervisory::Rr,
        1 => Supervisory::Ack,
        _ => Supervisory::Rnr,
    }
}

/// In an I frame K says that K+1 octets of bitmap follow.
fn i_sack(r: &mut Reader<'_>) -> Result<SackBitmap, DecodeError> {
    let k = r.u8("K")? & 0x1f;
    let octets = r.take(usize::from(k) + 1, "SACK bitmap")?;
    SackBitmap::new(octets).ok_or_else(|| r.error("SACK bitmap", DecodeErrorKind::BadLength(octets.len())))
}

/// In an S frame the bitmap takes all that stands before the FCS.
fn s_sack(r: &mut Reader<'_>) -> Result<SackBitmap, DecodeError> {
    let octets = r.take(r.remaining().saturating_sub(FCS_LEN), "SACK bitmap")?;
    SackBitmap::new(octets).ok_or_else(|| r.error("SACK bitmap", DecodeErrorKind::BadLength(octets.len())))
}

/// The information of a FRMR response (04.64 clause 6.4.1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrmrInformation {
    /// Control field of the rejected frame, at most its first six octets.
    pub rejected: [u8; 6],
    /// V(S) of the rejecting entity.
    pub vs: u16,
    /// V(R) of the rejecting entity.
    pub vr: u16,
    /// The rejected frame was a response.
    pub response: bool,
    /// W4: an I frame's information exceeded N201-I.
    pub w4: bool,
    /// W3: the control field was not defined or not implemented.
    pub w3: bool,
    /// W2: the frame had information where none is permitted, or a wrong length. W3 is set with it.
    pub w2: bool,
    /// W1: N(R) was not valid.
    pub w1: bool,
}

impl FrmrInformation {
    /// Octets of the information.
    pub const LEN: usize = 10;

    /// # Errors
    /// `Truncated` where there are fewer than ten octets.
    pub fn parse(info: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(info);
        let rejected = r.array("rejected frame control field")?;
        let word = r.u32("FRMR information")?;
        Ok(Self {
            rejected,
            vs: nine_bits(word >> 19),
            vr: nine_bits(word >> 9),
            response: word & 0x100 != 0,
            w4: word & 8 != 0,
            w3: word & 4 != 0,
            w2: word & 2 != 0,
            w1: word & 1 != 0,
        })
    }

    /// The ten octets.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let word = u32::from(self.vs & 0x1ff) << 19
            | u32::from(self.vr & 0x1ff) << 9
            | u32::from(self.response) << 8
            | u32::from(self.w4) << 3
            | u32::from(self.w3) << 2
            | u32::from(self.w2) << 1
            | u32::from(self.w1);
        let [a, b, c, d, e, f] = self.rejected;
        let [w, x, y, z] = word.to_be_bytes();
        [a, b, c, d, e, f, w, x, y, z]
    }
}
