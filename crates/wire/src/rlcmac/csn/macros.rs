//! Forms of CSN.1 that are written down as tables.

/// Fields in the order of their bits; text stands for fixed bits, and empty text is where a cut message may end.
macro_rules! sequence {
    ($type:ty, $name:literal: $( $($field:ident)? $($bits:literal)? ),*) => {
        impl $crate::rlcmac::csn::Csn for $type {
            const NAME: &'static str = $name;

            fn read(
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                $(
                    $(let $field = $crate::rlcmac::csn::Csn::read(bits)?;)?
                    $(bits.expect($bits, $name)?;)?
                )*
                Ok(Self { $($($field,)?)* })
            }

            fn write(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                $(
                    $($crate::rlcmac::csn::Csn::write(&self.$field, bits);)?
                    $(bits.fixed($bits);)?
                )*
            }
        }
    };
}
pub(crate) use sequence;

/// A choice by a prefix of bits, each with one element.
macro_rules! choice {
    ($type:ty, $name:literal: $( $bits:literal => $variant:ident ),* $(,)?) => {
        impl $crate::rlcmac::csn::Csn for $type {
            const NAME: &'static str = $name;

            fn read(
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let start = *bits;
                $(
                    let mut ahead = start;
                    if ahead.expect($bits, $name).is_ok() {
                        *bits = ahead;
                        return Ok(Self::$variant($crate::rlcmac::csn::Csn::read(bits)?));
                    }
                )*
                let value = u32::from(bits.flag($name)?);
                Err(bits.error($name, $crate::error::DecodeErrorKind::BadValue(value)))
            }

            fn write(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                match self {
                    $(Self::$variant(element) => {
                        bits.fixed($bits);
                        $crate::rlcmac::csn::Csn::write(element, bits);
                    })*
                }
            }
        }
    };
}
pub(crate) use choice;

/// A number of some bits.
macro_rules! number {
    ($($(#[$doc:meta])* $name:ident($inner:ty, $width:literal), $text:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($inner);
        impl $name {
            /// The highest value.
            pub const MAX: $inner = <$inner>::MAX >> (<$inner>::BITS - $width);
            /// The value, where it is not above [`Self::MAX`].
            #[must_use]
            pub const fn new(value: $inner) -> Option<Self> {
                if value <= Self::MAX { Some(Self(value)) } else { None }
            }
            /// Of the value what fits: its lowest bits.
            #[must_use]
            pub const fn lowest(value: $inner) -> Self {
                Self(value & Self::MAX)
            }
            /// The value.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl $crate::rlcmac::csn::Csn for $name {
            const NAME: &'static str = $text;
            fn read(
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let value = bits.take($width, $text)?;
                Ok(Self(<$inner>::try_from(value).unwrap_or_default()))
            }
            fn write(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                bits.put(u64::from(self.0), $width);
            }
        }
    )* };
}
pub(crate) use number;

/// An enumeration all of whose values are defined.
macro_rules! enumeration {
    ($($(#[$doc:meta])* $name:ident($width:literal), $text:literal {
        $($(#[$vdoc:meta])* $variant:ident = $value:literal,)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant = $value,)*
        }
        impl $name {
            /// Every value.
            pub const ALL: [Self; 1 << $width] = [$(Self::$variant,)*];
            /// From its bits; higher ones are not looked at.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                #[allow(clippy::indexing_slicing, reason = "the mask is that of the array's length")]
                Self::ALL[(bits & ((1 << $width) - 1)) as usize]
            }
            /// Its bits.
            #[must_use]
            pub const fn bits(self) -> u8 {
                self as u8
            }
        }
        impl $crate::rlcmac::csn::Csn for $name {
            const NAME: &'static str = $text;
            fn read(
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let value = bits.take($width, $text)?;
                Ok(Self::from_bits(u8::try_from(value).unwrap_or_default()))
            }
            fn write(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                bits.put(u64::from(self.bits()), $width);
            }
        }
    )* };
}
pub(crate) use enumeration;

/// The same for an enumeration made by `octet_enum!`, which keeps the values that it does not know.
macro_rules! open_enumeration {
    ($name:ty, $width:literal, $text:literal) => {
        impl $crate::rlcmac::csn::Csn for $name {
            const NAME: &'static str = $text;
            fn read(
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                let value = bits.take($width, $text)?;
                Ok(Self::from_octet(u8::try_from(value).unwrap_or_default()))
            }
            fn write(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                bits.put(u64::from(self.octet()), $width);
            }
        }
    };
}
pub(crate) use open_enumeration;
