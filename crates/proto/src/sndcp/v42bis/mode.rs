//! How octets go at the moment, which encoder and decoder know alike.

use super::{BadImage, CODEWORD_BITS, ESCAPE_STEP, Parameters};

/// Mode, escape character and length of codewords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    /// Compressed mode, or transparent mode.
    pub(super) is_compressed: bool,
    pub(super) escape: u8,
    /// C2: bits of a codeword. C3, from which on they have to be more, is 2 to the power of it.
    pub(super) codeword_bits: u32,
}

impl Mode {
    /// After C-INIT.
    pub(super) const INIT: Self = Self { is_compressed: false, escape: 0, codeword_bits: CODEWORD_BITS };

    /// An octet of the data has gone, in whichever mode. True where it was the escape character, which is another one now.
    pub(super) const fn pass(&mut self, octet: u8) -> bool {
        let is_escape = octet == self.escape;
        if is_escape {
            self.escape = octet.wrapping_add(ESCAPE_STEP);
        }
        is_escape
    }

    pub(super) fn export(self, out: &mut Vec<u8>) {
        let [codeword_bits, ..] = self.codeword_bits.to_le_bytes();
        out.extend([u8::from(self.is_compressed), self.escape, codeword_bits]);
    }

    pub(super) fn import(parameters: Parameters, octets: &mut &[u8]) -> Result<Self, BadImage> {
        let (&[is_compressed, escape, codeword_bits], rest) = octets.split_first_chunk().ok_or(BadImage)?;
        *octets = rest;
        let codeword_bits = u32::from(codeword_bits);
        let is_possible = (CODEWORD_BITS..=parameters.codeword_bits_max()).contains(&codeword_bits);
        if is_compressed > 1 || !is_possible {
            return Err(BadImage);
        }
        Ok(Self { is_compressed: is_compressed == 1, escape, codeword_bits })
    }
}
