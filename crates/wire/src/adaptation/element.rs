//! The elements of which messages are made: how each is read and written, and how it is shown.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{CellId, Imsi, PTmsi, Rai};
use crate::octet_enum::octet_enum;
use core::fmt;

/// How an element is shown.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A number, most significant octet first.
    Unsigned,
    /// The same in hexadecimal.
    Hexadecimal,
    /// A level in dBm, or "not known".
    Level,
    /// A load in per cent, or "not known".
    Load,
    /// One octet, each value with its name.
    Names(fn() -> Vec<(u8, String)>),
    /// One octet of flags: the bit, a short name and a text.
    Flags(&'static [(u8, &'static str, &'static str)]),
    /// Octets without meaning to a reader.
    Octets,
    /// A routing area (04.08 clause 10.5.5.15 [24.008]).
    Rai,
    /// A routing area and a cell identity (08.18 clause 11.3.9 [48.018]).
    Cell,
    /// Who is paged.
    Identity,
}

/// Something of a constant length.
pub trait Element: Sized {
    /// Its octets.
    const LEN: usize;
    /// How it is shown.
    const FORM: Form;

    /// Reads it.
    ///
    /// # Errors
    /// `Truncated`, or `BadValue` with a value that nothing means.
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError>;

    /// Writes it.
    fn write(&self, out: &mut Writer<'_>);
}

/// Octets that are written from left to right. What does not fit is left out: who makes one sees to the room.
#[derive(Debug)]
pub struct Writer<'a>(&'a mut [u8]);

impl<'a> Writer<'a> {
    pub(super) const fn new(room: &'a mut [u8]) -> Self {
        Self(room)
    }

    pub(super) fn put(&mut self, octets: &[u8]) {
        let room = core::mem::take(&mut self.0);
        if let Some((now, later)) = room.split_at_mut_checked(octets.len()) {
            now.copy_from_slice(octets);
            self.0 = later;
        }
    }
}

macro_rules! numbers {
    ($($type:ty: $form:ident),*) => {
        $(impl Element for $type {
            const LEN: usize = size_of::<Self>();
            const FORM: Form = Form::$form;
            fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(r.array(name)?))
            }
            fn write(&self, out: &mut Writer<'_>) {
                out.put(&self.to_be_bytes());
            }
        })*
    };
}

numbers!(u8: Unsigned, u16: Unsigned, u32: Unsigned, u64: Hexadecimal);

impl Element for [u8; 16] {
    const LEN: usize = 16;
    const FORM: Form = Form::Octets;
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        r.array(name)
    }
    fn write(&self, out: &mut Writer<'_>) {
        out.put(self);
    }
}

macro_rules! identifiers {
    ($($type:ty: $form:ident),*) => {
        $(impl Element for $type {
            const LEN: usize = <$type>::LEN;
            const FORM: Form = Form::$form;
            fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                r.array(name).map(Self::from_octets)
            }
            fn write(&self, out: &mut Writer<'_>) {
                out.put(&self.to_octets());
            }
        })*
    };
}

identifiers!(Rai: Rai, CellId: Cell);

/// The level of what is received, in dBm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(pub Option<i8>);

impl Level {
    /// The octet of a level that is not known.
    pub const UNKNOWN: i8 = 127;
}

impl Element for Level {
    const LEN: usize = 1;
    const FORM: Form = Form::Level;
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        let level = i8::from_be_bytes(r.array(name)?);
        Ok(Self((level != Self::UNKNOWN).then_some(level)))
    }
    fn write(&self, out: &mut Writer<'_>) {
        out.put(&self.0.unwrap_or(Self::UNKNOWN).to_be_bytes());
    }
}

/// How much of an access point is in use, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load(pub Option<u8>);

impl Load {
    /// The octet of a load that is not known.
    pub const UNKNOWN: u8 = 255;
}

impl Element for Load {
    const LEN: usize = 1;
    const FORM: Form = Form::Load;
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        match r.u8(name)? {
            Self::UNKNOWN => Ok(Self(None)),
            percent @ 0..=100 => Ok(Self(Some(percent))),
            other => {
                let kind = DecodeErrorKind::BadValue(other.into());
                Err(DecodeError::new(name, r.offset() - 1, kind))
            }
        }
    }
    fn write(&self, out: &mut Writer<'_>) {
        out.put(&[self.0.unwrap_or(Self::UNKNOWN)]);
    }
}

octet_enum!(
    /// The network mode of operation (03.60 clause 6.3.3.1 [23.060]).
    NetworkMode {
        /// Paging for circuit-switched services comes by way of the SGSN.
        I = 1, "I";
        /// One paging channel for both.
        II = 2, "II";
        /// Paging for each service by itself.
        III = 3, "III";
    }
);

octet_enum!(
    /// Why a mobile or an access point ends what is between them.
    ReleaseCause {
        /// The mobile leaves.
        MobileLeaves = 1, "the mobile leaves";
        /// The access point stops.
        AccessPointStops = 2, "the access point stops";
        /// The access point does not know the mobile, or its session.
        NotKnown = 3, "not known";
        /// The access point has no room for more mobiles.
        NoRoom = 4, "no room";
    }
);

macro_rules! names {
    ($($type:ty),*) => {
        $(impl Element for $type {
            const LEN: usize = 1;
            const FORM: Form = Form::Names(|| {
                Self::ALL.iter().map(|value| (value.octet(), value.to_string())).collect()
            });
            fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                r.u8(name).map(Self::from_octet)
            }
            fn write(&self, out: &mut Writer<'_>) {
                out.put(&[self.octet()]);
            }
        })*
    };
}

names!(NetworkMode, ReleaseCause);

/// What an access point says of itself, a bit each. Bits that are not defined are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeaconFlags(pub u8);

impl BeaconFlags {
    /// PDUs without authentication are dropped.
    pub const AUTHENTICATION: u8 = 0x80;
    /// The cell is in service: the SGSN can be reached.
    pub const IN_SERVICE: u8 = 0x40;

    /// Whether authentication is demanded.
    #[must_use]
    pub const fn demands_authentication(self) -> bool {
        self.0 & Self::AUTHENTICATION != 0
    }

    /// Whether the cell is in service.
    #[must_use]
    pub const fn is_in_service(self) -> bool {
        self.0 & Self::IN_SERVICE != 0
    }
}

impl Element for BeaconFlags {
    const LEN: usize = 1;
    const FORM: Form = Form::Flags(&[
        (Self::AUTHENTICATION, "authentication", "Authentication is demanded"),
        (Self::IN_SERVICE, "in_service", "The cell is in service"),
    ]);
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        r.u8(name).map(Self)
    }
    fn write(&self, out: &mut Writer<'_>) {
        out.put(&[self.0]);
    }
}

/// Who is paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// By P-TMSI (paging for circuit-switched services: by TMSI).
    PTmsi(PTmsi),
    /// By IMSI.
    Imsi(Imsi),
}

impl Identity {
    /// The octet before a P-TMSI.
    pub const PTMSI: u8 = 0;
    /// The octet before an IMSI.
    pub const IMSI: u8 = 1;
}

impl Element for Identity {
    const LEN: usize = 9;
    const FORM: Form = Form::Identity;
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        let at = r.offset();
        let bad = |at, value| DecodeError::new(name, at, DecodeErrorKind::BadValue(value));
        let (kind, octets) = (r.u8(name)?, r.array::<8>(name)?);
        let [a, b, c, d, ..] = octets;
        match kind {
            Self::PTMSI => Ok(Self::PTmsi(PTmsi(u32::from_be_bytes([a, b, c, d])))),
            Self::IMSI => Imsi::from_tbcd(octets).map(Self::Imsi).ok_or(bad(at + 1, a.into())),
            other => Err(bad(at, other.into())),
        }
    }
    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::PTmsi(ptmsi) => {
                out.put(&[Self::PTMSI]);
                out.put(&ptmsi.0.to_be_bytes());
                out.put(&[0; 4]);
            }
            Self::Imsi(imsi) => {
                out.put(&[Self::IMSI]);
                out.put(&imsi.tbcd());
            }
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PTmsi(ptmsi) => write!(f, "P-TMSI {ptmsi}"),
            Self::Imsi(imsi) => write!(f, "IMSI {imsi}"),
        }
    }
}
