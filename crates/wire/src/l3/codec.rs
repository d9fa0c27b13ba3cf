//! How a message table of clause 9 becomes a struct: the formats V, LV, T, TV and TLV of 24.007 clause 11.2, and the
//! treatment of unknown, repeated, out-of-sequence and incorrect elements of 04.08 clause 8.

use crate::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

/// An information element whose value part is whole octets.
pub trait Element: Sized {
    /// The element's name in clause 10.5.
    const NAME: &'static str;
    /// Octets of the value part in the formats V and TV; 0 where the element only has formats with a length.
    const FIXED: usize = 0;

    /// Reads the value part, without identifier and length. Octets behind what is defined are ignored, as 24.007
    /// clause 11.2.1.1 has it.
    ///
    /// # Errors
    /// `BadLength` and `BadValue` where the element is syntactically incorrect; the offset counts from the start
    /// of `octets`.
    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError>;

    /// Appends the value part, without identifier and length.
    fn emit_value(&self, out: &mut Vec<u8>);
}

/// An information element of type 1, whose value part is half an octet.
pub trait HalfElement: Sized {
    /// The element's name in clause 10.5.
    const NAME: &'static str;

    /// From the value 0 to 15; `None` where that is reserved and has no prescribed reading.
    fn from_half(value: u8) -> Option<Self>;

    /// The value 0 to 15.
    fn to_half(&self) -> u8;
}

/// A length error about element `E`.
pub(super) const fn bad_length<E: Element>(octets: &[u8]) -> DecodeError {
    DecodeError::new(E::NAME, 0, DecodeErrorKind::BadLength(octets.len()))
}

/// A value error about element `E` at `offset` of its value part.
pub(super) fn bad_value<E: Element>(offset: usize, value: impl Into<u32>) -> DecodeError {
    DecodeError::new(E::NAME, offset, DecodeErrorKind::BadValue(value.into()))
}

/// The first `N` octets of an element's value part.
pub(super) fn first<E: Element, const N: usize>(octets: &[u8]) -> Result<[u8; N], DecodeError> {
    octets.first_chunk::<N>().copied().ok_or(bad_length::<E>(octets))
}

/// The low octet of a length that the emitting type keeps below 256.
pub(super) fn length_octet(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

pub(super) fn read_v<E: Element>(r: &mut Reader<'_>) -> Result<E, DecodeError> {
    let at = r.offset();
    let octets = r.take(E::FIXED, E::NAME)?;
    E::parse_value(octets).map_err(|error| error.shifted(at))
}

pub(super) fn read_lv<E: Element>(r: &mut Reader<'_>) -> Result<E, DecodeError> {
    let length = r.u8(E::NAME)?;
    let at = r.offset();
    let octets = r.take(usize::from(length), E::NAME)?;
    E::parse_value(octets).map_err(|error| error.shifted(at))
}

/// The half octet in bits 1 to 4; the octet is read only by what stands in bits 5 to 8.
pub(super) fn read_low<E: HalfElement>(r: &mut Reader<'_>) -> Result<E, DecodeError> {
    let mut ahead = *r;
    let octet = ahead.u8(E::NAME)?;
    half(r.offset(), octet & 0x0f)
}

/// The half octet in bits 5 to 8.
pub(super) fn read_high<E: HalfElement>(r: &mut Reader<'_>) -> Result<E, DecodeError> {
    let at = r.offset();
    half(at, r.u8(E::NAME)? >> 4)
}

/// The half octet in bits 1 to 4, with a spare half octet above it.
pub(super) fn read_half<E: HalfElement>(r: &mut Reader<'_>) -> Result<E, DecodeError> {
    let at = r.offset();
    half(at, r.u8(E::NAME)? & 0x0f)
}

fn half<E: HalfElement>(at: usize, value: u8) -> Result<E, DecodeError> {
    E::from_half(value).ok_or(DecodeError::new(E::NAME, at, DecodeErrorKind::BadValue(u32::from(value))))
}

pub(super) fn emit_lv<E: Element>(element: &E, out: &mut Vec<u8>) {
    let at = out.len();
    out.push(0);
    element.emit_value(out);
    let length = length_octet(out.len() - at - 1);
    if let Some(octet) = out.get_mut(at) {
        *octet = length;
    }
}

/// The format of an optional element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Type 2: the identifier alone.
    T,
    /// Type 1: identifier in bits 5 to 8, value in bits 1 to 4.
    Tv1,
    /// Type 3: identifier, then so many octets.
    Tv(usize),
    /// Type 4: identifier, length, value.
    Tlv,
}

/// One line of the optional part of a message table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub tag: u8,
    pub form: Form,
}

impl Line {
    const fn matches(&self, tag: u8) -> bool {
        match self.form {
            Form::Tv1 => tag & 0xf0 == self.tag & 0xf0,
            Form::T | Form::Tv(_) | Form::Tlv => tag == self.tag,
        }
    }
}

/// Walks over the optional part of a message.
#[derive(Debug)]
pub(super) struct OptionalPart<'a> {
    reader: Reader<'a>,
    table: &'static [Line],
    /// Lines of the table up to the last element that was accepted.
    passed: usize,
    /// See [`OptionalPart::ends_at_unknown`].
    lenient: bool,
}

impl<'a> OptionalPart<'a> {
    pub(super) const fn new(reader: Reader<'a>, table: &'static [Line]) -> Self {
        Self { reader, table, passed: 0, lenient: false }
    }

    /// Octets that fit no element end the message instead of making it incorrect: what stands in front of them counts,
    /// and nothing behind them does. The deviation from clause 8.5 is meant for messages of phones that leave out an
    /// identifier.
    pub(super) const fn ends_at_unknown(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// The next element that counts: the index of its line, and its value part (for type 1 and 2 the one octet).
    ///
    /// Left out are elements that the message does not know (clause 8.6.1), that stand out of sequence (clause 8.6.2)
    /// or are repeated (clause 8.6.3). An element that ends behind the message is syntactically incorrect and so
    /// counts as absent (clause 8.7.1), and nothing can be read behind it.
    ///
    /// # Errors
    /// An unknown element that is encoded as "comprehension required" (clause 8.5), unless the message is read with
    /// [`OptionalPart::ends_at_unknown`].
    pub(super) fn next(&mut self) -> Result<Option<(usize, &'a [u8])>, DecodeError> {
        while let Some(tag) = self.reader.peek() {
            let at = self.reader.offset();
            let line = self.table.iter().position(|line| line.matches(tag));
            let form = match line.and_then(|index| self.table.get(index)) {
                Some(line) => line.form,
                // 24.007 clause 11.2.4: what is unknown has type 1 or 2 where bit 8 is set, else type 4.
                None if tag & 0x80 != 0 => Form::T,
                None => Form::Tlv,
            };
            let Ok(value) = take(&mut self.reader, form) else { return Ok(None) };
            match line {
                Some(index) if index >= self.passed => {
                    self.passed = index + 1;
                    return Ok(Some((index, value)));
                }
                Some(_) => {}
                None if tag & 0xf0 == 0 && self.lenient => return Ok(None),
                None if tag & 0xf0 == 0 => {
                    let kind = DecodeErrorKind::BadValue(u32::from(tag));
                    return Err(DecodeError::new(super::COMPREHENSION_REQUIRED, at, kind));
                }
                None => {}
            }
        }
        Ok(None)
    }
}

fn take<'a>(r: &mut Reader<'a>, form: Form) -> Result<&'a [u8], DecodeError> {
    const NAME: &str = "optional element";
    match form {
        Form::T | Form::Tv1 => r.take(1, NAME),
        Form::Tv(length) => {
            r.u8(NAME)?;
            r.take(length, NAME)
        }
        Form::Tlv => {
            r.u8(NAME)?;
            let length = r.u8(NAME)?;
            r.take(usize::from(length), NAME)
        }
    }
}

/// Reads one mandatory element: the format is the word in front of the field.
macro_rules! read_mandatory {
    ($r:ident, V, $ty:ty) => {
        $crate::l3::codec::read_v::<$ty>(&mut $r)
    };
    ($r:ident, LV, $ty:ty) => {
        $crate::l3::codec::read_lv::<$ty>(&mut $r)
    };
    ($r:ident, low, $ty:ty) => {
        $crate::l3::codec::read_low::<$ty>(&mut $r)
    };
    ($r:ident, high, $ty:ty) => {
        $crate::l3::codec::read_high::<$ty>(&mut $r)
    };
    ($r:ident, half, $ty:ty) => {
        $crate::l3::codec::read_half::<$ty>(&mut $r)
    };
}

macro_rules! emit_mandatory {
    ($out:ident, V, $value:expr) => {
        $value.emit_value($out)
    };
    ($out:ident, LV, $value:expr) => {
        $crate::l3::codec::emit_lv(&$value, $out)
    };
    ($out:ident, low, $value:expr) => {
        $out.push($value.to_half() & 0x0f)
    };
    ($out:ident, high, $value:expr) => {
        if let Some(octet) = $out.last_mut() {
            *octet |= $value.to_half() << 4;
        }
    };
    ($out:ident, half, $value:expr) => {
        $out.push($value.to_half() & 0x0f)
    };
}

macro_rules! optional_form {
    (T, $ty:ty) => {
        $crate::l3::codec::Form::T
    };
    (TV1, $ty:ty) => {
        $crate::l3::codec::Form::Tv1
    };
    (TV, $ty:ty) => {
        $crate::l3::codec::Form::Tv(<$ty>::FIXED)
    };
    (TLV, $ty:ty) => {
        $crate::l3::codec::Form::Tlv
    };
}

macro_rules! parse_optional {
    (T, $ty:ty, $octets:ident) => {
        <$ty>::from_half(0)
    };
    (TV1, $ty:ty, $octets:ident) => {
        $octets.first().and_then(|octet| <$ty>::from_half(octet & 0x0f))
    };
    (TV, $ty:ty, $octets:ident) => {
        <$ty>::parse_value($octets).ok()
    };
    (TLV, $ty:ty, $octets:ident) => {
        <$ty>::parse_value($octets).ok()
    };
}

macro_rules! emit_optional {
    ($out:ident, T, $tag:literal, $value:expr) => {{
        let _ = $value;
        $out.push($tag);
    }};
    ($out:ident, TV1, $tag:literal, $value:expr) => {
        $out.push($tag | ($value.to_half() & 0x0f))
    };
    ($out:ident, TV, $tag:literal, $value:expr) => {{
        $out.push($tag);
        $value.emit_value($out);
    }};
    ($out:ident, TLV, $tag:literal, $value:expr) => {{
        $out.push($tag);
        $crate::l3::codec::emit_lv($value, $out);
    }};
}

/// Makes the struct of a message from its table in clause 9: first the mandatory lines in their order, then the
/// optional lines with their identifiers. `, ends_at_unknown` behind them says how octets are treated that fit no element.
macro_rules! message {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$mdoc:meta])* $mform:ident $m:ident: $mty:ty,)*
    } {
        $($(#[$odoc:meta])* $oform:ident $tag:literal $o:ident: $oty:ty,)*
    } $(, $leniency:ident)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$mdoc])* pub $m: $mty,)*
            $($(#[$odoc])* #[doc = concat!("Element ", stringify!($tag), ", optional.")] pub $o: Option<$oty>,)*
        }

        impl $name {
            /// Reads the elements behind the message type, which `r` stands behind.
            ///
            /// # Errors
            /// About the first mandatory element that is missing or incorrect, or an unknown element whose
            /// comprehension is required.
            #[allow(unused_mut, unused_imports, reason = "some messages have no elements of some form")]
            pub fn parse(r: $crate::Reader<'_>) -> Result<Self, $crate::DecodeError> {
                use $crate::l3::codec::{Element, HalfElement};
                const TABLE: &[$crate::l3::codec::Line] = &[
                    $($crate::l3::codec::Line {
                        tag: $tag, form: $crate::l3::codec::optional_form!($oform, $oty),
                    },)*
                ];
                #[allow(non_camel_case_types, dead_code, reason = "indices of TABLE, named as the fields")]
                #[derive(Clone, Copy)]
                enum Index { $($o,)* }
                let mut r = r;
                $(let $m = $crate::l3::codec::read_mandatory!(r, $mform, $mty)?;)*
                $(let mut $o: Option<$oty> = None;)*
                let mut part = $crate::l3::codec::OptionalPart::new(r, TABLE)$(.$leniency())?;
                while let Some((_index, _octets)) = part.next()? {
                    $(if _index == Index::$o as usize {
                        $o = $crate::l3::codec::parse_optional!($oform, $oty, _octets);
                    })*
                }
                Ok(Self { $($m,)* $($o,)* })
            }

            /// Appends the elements that stand behind the message type.
            #[allow(unused_variables, unused_imports, reason = "some messages have no elements")]
            #[allow(clippy::ptr_arg, reason = "some messages have no elements to append")]
            pub fn emit(&self, out: &mut Vec<u8>) {
                use $crate::l3::codec::{Element, HalfElement};
                $($crate::l3::codec::emit_mandatory!(out, $mform, self.$m);)*
                $(if let Some(value) = &self.$o {
                    $crate::l3::codec::emit_optional!(out, $oform, $tag, value);
                })*
            }
        }
    };
}

/// Makes the enum of all messages of a protocol: type octet, directions in which it is defined, and struct.
macro_rules! protocol {
    ($(#[$doc:meta])* $name:ident {
        $($type:literal $way:ident $message:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("Message type ", stringify!($type), ".")] $message($message),)*
        }

        impl $name {
            /// The message type octet.
            #[must_use]
            pub const fn message_type(&self) -> u8 {
                match self { $(Self::$message(_) => $type,)* }
            }

            /// The message's name.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$message(_) => stringify!($message),)* }
            }

            /// Reads the elements of a message of `message_type`, which `r` stands behind. A type that is not
            /// defined in this direction is unknown (clause 8.4).
            ///
            /// # Errors
            /// `UnknownMessage`, or what the message's own `parse` says.
            pub fn parse(
                direction: $crate::l3::Direction,
                message_type: u8,
                r: $crate::Reader<'_>,
            ) -> Result<Self, $crate::DecodeError> {
                match message_type {
                    $($type if $crate::l3::codec::way!($way, direction) => $message::parse(r).map(Self::$message),)*
                    _ => Err(r.error(
                        $crate::l3::MESSAGE_TYPE,
                        $crate::DecodeErrorKind::UnknownMessage(message_type),
                    )),
                }
            }

            /// Appends the message type and the elements.
            pub fn emit(&self, out: &mut Vec<u8>) {
                out.push(self.message_type());
                match self { $(Self::$message(message) => message.emit(out),)* }
            }
        }

        $(impl From<$message> for $name {
            fn from(message: $message) -> Self {
                Self::$message(message)
            }
        })*
    };
}

macro_rules! way {
    (up, $direction:ident) => {
        $direction == $crate::l3::Direction::Uplink
    };
    (down, $direction:ident) => {
        $direction == $crate::l3::Direction::Downlink
    };
    (both, $direction:ident) => {{
        let _ = $direction;
        true
    }};
}

pub(super) use {
    emit_mandatory, emit_optional, message, optional_form, parse_optional, protocol, read_mandatory, way,
};
