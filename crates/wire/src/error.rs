//! Why octets could not be read, and where.

use core::fmt;

/// What was wrong with an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// The element ends before its content does. `needed` and `have` are octets.
    Truncated {
        /// Octets that the element needs.
        needed: usize,
        /// Octets that are there.
        have: usize,
    },
    /// A mandatory element is not there.
    Missing,
    /// An element stands where its message does not allow it.
    OutOfSequence,
    /// A conditional element is missing or not expected.
    Conditional,
    /// The length field contradicts the format of the element. The value is that length in octets.
    BadLength(usize),
    /// The value is reserved or not defined.
    BadValue(u32),
    /// The message type is not known or not implemented.
    UnknownMessage(u8),
    /// The protocol discriminator or version is not ours.
    UnknownProtocol(u8),
    /// A frame check sequence does not match.
    BadChecksum,
}

/// Where decoding stopped, and why.
///
/// The cause value that goes back on the wire is a function of this error (each protocol's module has it as
/// `cause`), so that the reply and the log cannot disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The element, in the specification's own name.
    pub ie: &'static str,
    /// Octets from the start of the message to the element.
    pub offset: usize,
    /// What was wrong with it.
    pub kind: DecodeErrorKind,
}

impl DecodeError {
    /// An error about `ie` at `offset` octets from the start of the message.
    #[must_use]
    pub const fn new(ie: &'static str, offset: usize, kind: DecodeErrorKind) -> Self {
        Self { ie, offset, kind }
    }

    /// A mandatory element that is not there.
    #[must_use]
    pub const fn missing(ie: &'static str) -> Self {
        Self { ie, offset: 0, kind: DecodeErrorKind::Missing }
    }

    /// The same error, seen from a message in which the element's own buffer starts `by` octets in.
    #[must_use]
    pub const fn shifted(mut self, by: usize) -> Self {
        self.offset += by;
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at octet {}: ", self.ie, self.offset)?;
        match self.kind {
            DecodeErrorKind::Truncated { needed, have } => write!(f, "needs {needed} octets, has {have}"),
            DecodeErrorKind::Missing => f.write_str("missing"),
            DecodeErrorKind::OutOfSequence => f.write_str("out of sequence"),
            DecodeErrorKind::Conditional => f.write_str("conditional element missing or unexpected"),
            DecodeErrorKind::BadLength(n) => write!(f, "impossible length {n}"),
            DecodeErrorKind::BadValue(v) => write!(f, "undefined value {v:#x}"),
            DecodeErrorKind::UnknownMessage(t) => write!(f, "unknown message type {t:#04x}"),
            DecodeErrorKind::UnknownProtocol(p) => write!(f, "unknown protocol or version {p:#04x}"),
            DecodeErrorKind::BadChecksum => f.write_str("frame check sequence does not match"),
        }
    }
}

impl core::error::Error for DecodeError {}
