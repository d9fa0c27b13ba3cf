//! What control messages of both directions have in common: a type of 6 bits, content, padding (04.60 clause 11
//! [44.060]).

/// Message types (clause 11.2.0.1) and the names that people read.
macro_rules! types {
    ($message:ident, $unknown:ident: $($value:literal => $variant:ident, $content:ty, $text:literal;)*) => {
        impl $message {
            /// Message type, 6 bits.
            #[must_use]
            pub const fn message_type(&self) -> u8 {
                match self {
                    $(Self::$variant(_) => $value,)*
                    Self::Unknown(unknown) => unknown.message_type.get(),
                }
            }

            /// Its name in the specification.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $text,)*
                    Self::Unknown(_) => "unknown message",
                }
            }

            fn read_content(
                message_type: u8,
                bits: &mut $crate::rlcmac::csn::BitReader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                Ok(match message_type {
                    $($value => Self::$variant($crate::rlcmac::csn::Csn::read(bits)?),)*
                    other => Self::Unknown($unknown::read(other, bits)?),
                })
            }

            fn write_content(&self, bits: &mut $crate::rlcmac::csn::BitWriter<'_>) {
                match self {
                    $(Self::$variant(content) => $crate::rlcmac::csn::Csn::write(content, bits),)*
                    Self::Unknown(unknown) => unknown.write(bits),
                }
            }

            /// Reads a message that stands behind the headers of a control block.
            ///
            /// # Errors
            /// `Truncated` and `BadValue` about an element; its offset is in octets from the start of the message.
            pub fn parse(octets: &[u8]) -> Result<Self, $crate::error::DecodeError> {
                let mut bits = $crate::rlcmac::csn::BitReader::new(octets);
                let message_type = u8::try_from(bits.take(6, "MESSAGE_TYPE")?).unwrap_or_default();
                Self::read_content(message_type, &mut bits)
            }

            /// Writes the message with its padding over all of `room`. False where it does not fit; `room` is then
            /// of no use.
            #[must_use]
            pub fn emit(&self, room: &mut [u8]) -> bool {
                let mut bits = $crate::rlcmac::csn::BitWriter::new(room);
                bits.put(u64::from(self.message_type()), 6);
                self.write_content(&mut bits);
                bits.pad()
            }
        }
        $(impl From<$content> for $message {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        })*
    };
}
pub(crate) use types;
