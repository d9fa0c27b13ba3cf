//! Enumerations of one octet that keep the values they do not know.

/// A cause with its number.
pub(crate) struct Numbered<T>(pub(crate) T, pub(crate) u8);

impl<T: core::fmt::Display> core::fmt::Display for Numbered<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} (cause {:#04x})", self.0, self.1)
    }
}

/// An enum with a variant, an octet and a text for each value, and `Unknown` for the others.
macro_rules! octet_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A value that is not defined; it is kept as it came.
            Unknown(u8),
        }
        impl $name {
            /// Every defined value.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// From the octet.
            #[must_use]
            pub const fn from_octet(octet: u8) -> Self {
                match octet { $($value => Self::$variant,)* other => Self::Unknown(other) }
            }
            /// The octet.
            #[must_use]
            pub const fn octet(self) -> u8 {
                match self { $(Self::$variant => $value,)* Self::Unknown(other) => other }
            }
        }
        impl $name {
            /// Its text; none where it is unknown.
            #[must_use]
            pub const fn text(self) -> Option<&'static str> {
                match self { $(Self::$variant => Some($text),)* Self::Unknown(_) => None }
            }

            /// Its text with its number, as a cause is told to people.
            #[must_use]
            pub fn with_number(self) -> impl core::fmt::Display {
                crate::octet_enum::Numbered(self, self.octet())
            }
        }
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $(Self::$variant => f.write_str($text),)* Self::Unknown(other) => write!(f, "unknown ({other:#04x})") }
            }
        }
    };
}
pub(crate) use octet_enum;
