//! The encoder (V.42bis clause 7).

use super::mode::Mode;
use super::strings::Strings;
use super::{BadImage, Error, Parameters, command, control};
use serde::{Deserialize, Serialize};

/// Bits that compressed mode has to have saved before it is entered: the change itself costs two octets.
const TO_COMPRESSED_BITS: i32 = 48;
/// Bits that compressed mode has to have cost before it is left.
const TO_TRANSPARENT_BITS: i32 = 64;
/// More than any string can save or cost at once, and what is between two tests.
const GAIN_BITS_MAX: u32 = 1 << 16;
/// Bits of padding behind FLUSH, on average.
const PADDING_BITS: i32 = 4;

/// Octets that `n_pdu` octets may take at the very most: two each, whichever mode they go in, and changes of modes, which have
/// to be earned. Other than in data that was made for it, they take hardly more than `n_pdu`.
#[must_use]
pub const fn compressed_max(n_pdu: usize) -> usize {
    n_pdu * 3 + 64
}

/// The encoder of one direction of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Compressor {
    strings: Strings,
    mode: Mode,
    /// The compressibility test (clause 7.8): bits by which compressed mode is better than transparent mode, lately: it never
    /// falls below 0 in transparent mode, nor rises above it in compressed mode.
    gain_bits: i32,
}

impl Compressor {
    /// An encoder after C-INIT. Its dictionary begins at some 2 KiB and grows with what it learns.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { strings: Strings::new(parameters), mode: Mode::INIT, gain_bits: 0 }
    }

    /// C-INIT: begins anew, as the decoder has to.
    pub fn init(&mut self) {
        self.strings.init();
        self.mode = Mode::INIT;
        self.gain_bits = 0;
    }

    /// Octets of memory that its dictionary takes: at most eight for each of P1 codewords.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.strings.dictionary.octets()
    }

    /// Compresses an N-PDU of acknowledged mode into `out` and gives the octets that it takes there, which may be somewhat
    /// more. What was compressed has to be sent: the decoder needs every N-PDU, in this order.
    ///
    /// # Errors
    /// [`Error::NoRoom`] where `out` is shorter than [`compressed_max`]; nothing has changed then.
    pub fn compress(&mut self, n_pdu: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        if out.len() < compressed_max(n_pdu.len()) {
            return Err(Error::NoRoom);
        }
        if n_pdu.is_empty() {
            return Ok(0);
        }
        let mut out = Output { out, len: 0, bits: 0, bit_count: 0 };
        for octet in n_pdu {
            self.octet(*octet, &mut out);
        }
        self.flush(&mut out);
        Ok(out.len)
    }

    /// Compresses an N-PDU of unacknowledged mode, beginning with C-INIT. `None` where it would not become shorter: it then goes
    /// as it is, with DCOMP 0.
    ///
    /// # Errors
    /// [`Error::NoRoom`] where `out` is shorter than [`compressed_max`].
    pub fn compress_alone(&mut self, n_pdu: &[u8], out: &mut [u8]) -> Result<Option<usize>, Error> {
        self.init();
        let len = self.compress(n_pdu, out)?;
        Ok((len < n_pdu.len()).then_some(len))
    }

    fn octet(&mut self, octet: u8, out: &mut Output<'_>) {
        if let Some(ended) = self.strings.accept(octet) {
            if !ended.was_cut {
                self.string(ended.codeword, out);
            }
            self.test_compressibility(out);
        }
        if !self.mode.is_compressed {
            out.octet(octet);
        }
        if self.mode.pass(octet) {
            if !self.mode.is_compressed {
                out.octet(command::EID);
            }
            // Transparent mode takes an octet for it.
            self.gain(8);
        }
    }

    /// A string has ended: sends its codeword in compressed mode (clauses 7.4 and 7.5).
    fn string(&mut self, codeword: u16, out: &mut Output<'_>) {
        let octets = i32::try_from(self.strings.dictionary.len(codeword)).unwrap_or_default();
        if self.mode.is_compressed {
            while u32::from(codeword) >> self.mode.codeword_bits != 0 {
                out.codeword(control::STEPUP, self.mode.codeword_bits);
                self.mode.codeword_bits += 1;
            }
            out.codeword(codeword, self.mode.codeword_bits);
        }
        self.gain(8 * octets - self.bits());
    }

    fn bits(&self) -> i32 {
        i32::try_from(self.mode.codeword_bits).unwrap_or_default()
    }

    fn gain(&mut self, bits: i32) {
        let gain = self.gain_bits + bits;
        self.gain_bits = if self.mode.is_compressed { gain.min(0) } else { gain.max(0) };
    }

    /// Changes modes between two strings where the other one is better (clause 7.8).
    fn test_compressibility(&mut self, out: &mut Output<'_>) {
        if self.mode.is_compressed {
            if self.gain_bits > -TO_TRANSPARENT_BITS {
                return;
            }
            out.codeword(control::ETM, self.mode.codeword_bits);
            out.align();
        } else {
            if self.gain_bits < TO_COMPRESSED_BITS {
                return;
            }
            out.octet(self.mode.escape);
            out.octet(command::ECM);
        }
        self.mode.is_compressed = !self.mode.is_compressed;
        self.gain_bits = 0;
    }

    /// C-FLUSH: all octets up to now can be restored from what was sent (clause 7.9). In transparent mode they can anyway.
    fn flush(&mut self, out: &mut Output<'_>) {
        if self.mode.is_compressed {
            if let Some(codeword) = self.strings.cut() {
                self.string(codeword, out);
            }
            if !out.is_aligned() {
                out.codeword(control::FLUSH, self.mode.codeword_bits);
                out.align();
            }
        }
        self.gain(-(self.bits() + PADDING_BITS));
    }
}

/// Octets that leave.
struct Output<'a> {
    out: &'a mut [u8],
    len: usize,
    /// The first bits of the next octet, the first one lowest.
    bits: u32,
    bit_count: u32,
}

impl Output<'_> {
    fn octet(&mut self, octet: u8) {
        if let Some(place) = self.out.get_mut(self.len) {
            *place = octet;
            self.len += 1;
        }
    }

    fn codeword(&mut self, codeword: u16, bits: u32) {
        self.bits |= u32::from(codeword) << self.bit_count;
        self.bit_count += bits;
        while self.bit_count >= 8 {
            let [octet, ..] = self.bits.to_le_bytes();
            self.octet(octet);
            self.bits >>= 8;
            self.bit_count -= 8;
        }
    }

    const fn is_aligned(&self) -> bool {
        self.bit_count == 0
    }

    /// Fills the octet up with zeros.
    fn align(&mut self) {
        if !self.is_aligned() {
            self.codeword(0, 8 - self.bit_count);
        }
    }
}

impl From<Compressor> for Vec<u8> {
    fn from(compressor: Compressor) -> Self {
        let mut out = Self::new();
        compressor.strings.export(&mut out);
        compressor.mode.export(&mut out);
        out.extend(compressor.gain_bits.to_be_bytes());
        out
    }
}

impl TryFrom<Vec<u8>> for Compressor {
    type Error = BadImage;

    fn try_from(image: Vec<u8>) -> Result<Self, BadImage> {
        let mut octets = image.as_slice();
        let strings = Strings::import(&mut octets)?;
        let mode = Mode::import(strings.parameters(), &mut octets)?;
        let gain_bits = i32::from_be_bytes(octets.try_into().map_err(|_| BadImage)?);
        if gain_bits.unsigned_abs() > GAIN_BITS_MAX {
            Err(BadImage)
        } else {
            Ok(Self { strings, mode, gain_bits })
        }
    }
}
