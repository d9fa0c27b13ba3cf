//! The decoder (V.42bis clause 8).

use super::mode::Mode;
use super::strings::Strings;
use super::{BadImage, Error, Parameters, command, control};
use serde::{Deserialize, Serialize};

/// The decoder of one direction of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Decompressor {
    strings: Strings,
    mode: Mode,
    /// An N-PDU was refused, and the encoder does not know.
    is_out_of_step: bool,
}

/// What is known of an N-PDU that has not been read to its end.
struct Progress<'a> {
    out: &'a mut [u8],
    len: usize,
    /// Bits that are no whole codeword yet, the first one lowest.
    bits: u32,
    bit_count: u32,
    /// The last octet was the escape character.
    is_escaped: bool,
}

impl Decompressor {
    /// A decoder after C-INIT. Its dictionary begins at some 2 KiB and grows with what it learns.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { strings: Strings::new(parameters), mode: Mode::INIT, is_out_of_step: false }
    }

    /// C-INIT: begins anew, as the encoder has to.
    pub fn init(&mut self) {
        self.strings.init();
        self.mode = Mode::INIT;
        self.is_out_of_step = false;
    }

    /// Restores an N-PDU of acknowledged mode in `out` and gives its length.
    ///
    /// # Errors
    /// What no encoder would have sent, or an N-PDU for which `out` is too small: C-ERROR. Every later N-PDU is refused as well,
    /// as [`Error::OutOfStep`], until [`Decompressor::init`].
    pub fn decompress(&mut self, n_pdu: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        if self.is_out_of_step {
            return Err(Error::OutOfStep);
        }
        let mut progress = Progress { out, len: 0, bits: 0, bit_count: 0, is_escaped: false };
        let read = n_pdu.iter().try_for_each(|octet| {
            if self.mode.is_compressed {
                self.compressed(*octet, &mut progress)
            } else {
                self.transparent(*octet, &mut progress)
            }
        });
        let whole = read.and_then(|()| progress.end());
        self.is_out_of_step = whole.is_err();
        whole
    }

    /// Restores an N-PDU of unacknowledged mode, which begins with C-INIT.
    ///
    /// # Errors
    /// As [`Decompressor::decompress`], but the next N-PDU does not suffer from it.
    pub fn decompress_alone(&mut self, n_pdu: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.init();
        self.decompress(n_pdu, out)
    }

    /// Octets of memory that its dictionary takes: at most eight for each of P1 codewords.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.strings.dictionary.octets()
    }

    fn transparent(&mut self, octet: u8, progress: &mut Progress<'_>) -> Result<(), Error> {
        if !progress.is_escaped {
            if octet == self.mode.escape {
                progress.is_escaped = true;
                return Ok(());
            }
            return self.data(octet, progress);
        }
        progress.is_escaped = false;
        match octet {
            command::ECM => {
                self.mode.is_compressed = true;
                self.strings.cut();
                Ok(())
            }
            command::EID => {
                let escape = self.mode.escape;
                self.mode.pass(escape);
                self.data(escape, progress)
            }
            command::RESET => {
                self.init();
                Ok(())
            }
            reserved => Err(Error::ReservedCommand(reserved)),
        }
    }

    /// An octet of the data that went as it is.
    fn data(&mut self, octet: u8, progress: &mut Progress<'_>) -> Result<(), Error> {
        progress.room(1)?.fill(octet);
        self.strings.accept(octet);
        Ok(())
    }

    fn compressed(&mut self, octet: u8, progress: &mut Progress<'_>) -> Result<(), Error> {
        let Some(codeword) = progress.codeword(octet, self.mode.codeword_bits) else { return Ok(()) };
        match codeword {
            control::ETM => {
                progress.align();
                self.mode.is_compressed = false;
                self.strings.cut();
                Ok(())
            }
            control::FLUSH => {
                progress.align();
                Ok(())
            }
            control::STEPUP => {
                if self.mode.codeword_bits >= self.strings.parameters().codeword_bits_max() {
                    return Err(Error::CodewordTooLong);
                }
                self.mode.codeword_bits += 1;
                Ok(())
            }
            string => self.string(string, progress),
        }
    }

    fn string(&mut self, codeword: u16, progress: &mut Progress<'_>) -> Result<(), Error> {
        let len = self.strings.dictionary.len(codeword);
        if len == 0 {
            return Err(Error::EmptyCodeword(codeword));
        }
        let string = progress.room(len)?;
        let first = self.strings.dictionary.expand(codeword, string);
        for octet in string {
            self.mode.pass(*octet);
        }
        if self.strings.accept_string(codeword, first) { Ok(()) } else { Err(Error::EmptyCodeword(codeword)) }
    }
}

impl Progress<'_> {
    /// The next `n` octets of the result.
    fn room(&mut self, n: usize) -> Result<&mut [u8], Error> {
        let from = self.len;
        self.len += n;
        self.out.get_mut(from..self.len).ok_or(Error::TooLong)
    }

    /// The codeword that `octet` completes: at most one, for codewords are longer than octets.
    fn codeword(&mut self, octet: u8, bits: u32) -> Option<u16> {
        self.bits |= u32::from(octet) << self.bit_count;
        self.bit_count += 8;
        if self.bit_count < bits {
            return None;
        }
        let [low, high, ..] = (self.bits & !(u32::MAX << bits)).to_le_bytes();
        self.bits >>= bits;
        self.bit_count -= bits;
        Some(u16::from_le_bytes([low, high]))
    }

    /// What is left of the octet is padding.
    const fn align(&mut self) {
        (self.bits, self.bit_count) = (0, 0);
    }

    fn end(&self) -> Result<usize, Error> {
        // Less than an octet is padding, from an encoder that leaves FLUSH out where nothing follows.
        if self.is_escaped || self.bit_count >= 8 { Err(Error::Truncated) } else { Ok(self.len) }
    }
}

impl From<Decompressor> for Vec<u8> {
    fn from(decompressor: Decompressor) -> Self {
        let mut out = Self::new();
        decompressor.strings.export(&mut out);
        decompressor.mode.export(&mut out);
        out.push(u8::from(decompressor.is_out_of_step));
        out
    }
}

impl TryFrom<Vec<u8>> for Decompressor {
    type Error = BadImage;

    fn try_from(image: Vec<u8>) -> Result<Self, BadImage> {
        let mut octets = image.as_slice();
        let strings = Strings::import(&mut octets)?;
        let mode = Mode::import(strings.parameters(), &mut octets)?;
        match octets {
            [is_out_of_step @ (0 | 1)] => Ok(Self { strings, mode, is_out_of_step: *is_out_of_step == 1 }),
            _ => Err(BadImage),
        }
    }
}
