//! CSN.1 as RLC/MAC control messages and rest octets are written: bits from the most significant one of each octet
//! (04.60 clauses 10.0b and 11 [44.060]; the notation is that of 04.07 annex B [24.007]).
//!
//! Spare bits carry the pattern 0x2b. In rest octets and in spare padding a bit is `L` where it is that pattern's and
//! `H` where it is not.

mod macros;

pub(crate) use macros::{choice, enumeration, number, open_enumeration, sequence};

use crate::error::{DecodeError, DecodeErrorKind};
use core::fmt;

/// What stands in every octet that is not used.
pub(crate) const PADDING: u8 = 0x2b;

/// Something of a fixed or self-delimiting form in bits.
pub(crate) trait Csn: Sized {
    /// Its name in the specification.
    const NAME: &'static str;

    /// Takes it from the reader.
    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError>;

    /// Appends it.
    fn write(&self, bits: &mut BitWriter<'_>);
}

/// A position in a string of bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitReader<'a> {
    octets: &'a [u8],
    at: usize,
    /// Beyond the end there are zeros: "truncation at end of message allowed, bits '0' assumed".
    zeros_follow: bool,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit.
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0, zeros_follow: false }
    }

    /// Bits not yet read.
    pub(crate) const fn remaining(&self) -> usize {
        (self.octets.len() * 8).saturating_sub(self.at)
    }

    fn bit_at(&self, at: usize) -> Option<bool> {
        self.octets.get(at / 8).map(|octet| octet << (at % 8) & 0x80 != 0)
    }

    /// The next bit, where there is one, without taking it.
    pub(crate) fn peek(&self) -> Option<bool> {
        self.bit_at(self.at)
    }

    /// The next `count` bits, at most 64, the first one most significant.
    pub(crate) fn take(&mut self, count: usize, ie: &'static str) -> Result<u64, DecodeError> {
        let mut value = 0;
        for at in self.at..self.at + count {
            let bit = match self.bit_at(at) {
                Some(bit) => bit,
                None if self.zeros_follow => false,
                None => {
                    let kind = DecodeErrorKind::Truncated {
                        needed: count.div_ceil(8),
                        have: self.remaining().div_ceil(8),
                    };
                    return Err(self.error(ie, kind));
                }
            };
            value = value << 1 | u64::from(bit);
        }
        self.at += count;
        Ok(value)
    }

    /// One bit.
    pub(crate) fn flag(&mut self, ie: &'static str) -> Result<bool, DecodeError> {
        Ok(self.take(1, ie)? == 1)
    }

    /// One bit relative to the padding: true is `H`. Beyond the end all is `L`.
    pub(crate) fn high(&mut self) -> bool {
        let high = self.peek().is_some_and(|bit| bit != padding_bit(self.at));
        self.at += usize::from(self.at < self.octets.len() * 8);
        high
    }

    /// Bits that are fixed, as text of zeros and ones. Empty text: from here on the message may be cut.
    pub(crate) fn expect(&mut self, bits: &str, ie: &'static str) -> Result<(), DecodeError> {
        if bits.is_empty() {
            self.zeros_follow = true;
            return Ok(());
        }
        let value = self.take(bits.len(), ie)?;
        if u64::from_str_radix(bits, 2) == Ok(value) {
            return Ok(());
        }
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        Err(self.error(ie, DecodeErrorKind::BadValue(value)))
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> Bits {
        let mut rest = Bits::default();
        while let Some(bit) = self.peek() {
            rest.push(bit);
            self.at += 1;
        }
        rest
    }

    /// An error about the element that ends here.
    pub(crate) const fn error(&self, ie: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(ie, self.at / 8, kind)
    }
}

const fn padding_bit(at: usize) -> bool {
    PADDING << (at % 8) & 0x80 != 0
}

/// Bits on their way into octets that hold the padding.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    octets: &'a mut [u8],
    at: usize,
    /// Zeros beyond the end are left out.
    zeros_follow: bool,
}

impl<'a> BitWriter<'a> {
    /// A writer at the first bit of `octets`, which are overwritten with the padding.
    pub(crate) fn new(octets: &'a mut [u8]) -> Self {
        octets.fill(PADDING);
        Self { octets, at: 0, zeros_follow: false }
    }

    /// True where no bit fits any more.
    pub(crate) const fn is_full(&self) -> bool {
        self.at >= self.octets.len() * 8
    }

    /// The lowest `count` bits of `value`, the most significant first.
    pub(crate) fn put(&mut self, value: u64, count: usize) {
        for place in (0..count).rev() {
            self.flag(value >> place & 1 == 1);
        }
    }

    /// One bit.
    pub(crate) fn flag(&mut self, bit: bool) {
        if self.is_full() && self.zeros_follow && !bit {
            return;
        }
        let mask = 0x80 >> (self.at % 8);
        if let Some(octet) = self.octets.get_mut(self.at / 8) {
            *octet = if bit { *octet | mask } else { *octet & !mask };
        }
        self.at += 1;
    }

    /// One bit relative to the padding. At the end `L` is left out.
    pub(crate) fn high(&mut self, high: bool) {
        if high || !self.is_full() {
            self.flag(high != padding_bit(self.at));
        }
    }

    /// Bits that are fixed, as text of zeros and ones. Empty text: from here on the message may be cut.
    pub(crate) fn fixed(&mut self, bits: &str) {
        self.zeros_follow |= bits.is_empty();
        for bit in bits.bytes() {
            self.flag(bit == b'1');
        }
    }

    /// Ends a control message: padding bits are nothing, or a zero and spare padding (clause 11).
    /// False where the message did not fit.
    pub(crate) fn pad(mut self) -> bool {
        if !self.is_full() {
            self.flag(false);
        }
        self.fits()
    }

    /// True where everything so far fitted.
    pub(crate) const fn fits(&self) -> bool {
        self.at <= self.octets.len() * 8
    }
}

/// A string of bits, kept as it came.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Bits {
    octets: Vec<u8>,
    len: usize,
}

impl Bits {
    /// The first `len` bits of `octets`, fewer where there are fewer.
    #[must_use]
    pub fn new(octets: &[u8], len: usize) -> Self {
        let mut bits = Self::default();
        let mut reader = BitReader::new(octets);
        while bits.len < len
            && let Some(bit) = reader.peek()
        {
            bits.push(bit);
            reader.at += 1;
        }
        bits
    }

    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True where there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each bit, from the first.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        let reader = BitReader::new(&self.octets);
        (0..self.len).map(move |at| reader.bit_at(at).unwrap_or_default())
    }

    /// Appends one.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.octets.push(0);
        }
        if let Some(octet) = self.octets.last_mut() {
            *octet |= if bit { 0x80 >> (self.len % 8) } else { 0 };
        }
        self.len += 1;
    }

    /// Takes `count` of them.
    pub(crate) fn take(
        bits: &mut BitReader<'_>,
        count: usize,
        ie: &'static str,
    ) -> Result<Self, DecodeError> {
        let mut taken = Self::default();
        for _ in 0..count {
            taken.push(bits.flag(ie)?);
        }
        Ok(taken)
    }

    /// Appends all of them to a message.
    pub(crate) fn put(&self, bits: &mut BitWriter<'_>) {
        self.iter().for_each(|bit| bits.flag(bit));
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|bit| f.write_str(if bit { "1" } else { "0" }))
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({self})")
    }
}

/// What stands where a later release may have added something: nothing, or all bits up to the end of the block, kept
/// as they came (`{ null | 0 bit** | 1 … }` of clause 11).
///
/// `ZEROS` bits say, all zero, that there is nothing. Others are the first of what is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Later<const ZEROS: usize = 1>(pub Bits);

impl<const ZEROS: usize> Later<ZEROS> {
    /// Nothing was added.
    pub const NONE: Self = Self(Bits { octets: Vec::new(), len: 0 });
}

impl<const ZEROS: usize> Csn for Later<ZEROS> {
    const NAME: &'static str = "additions of a later release";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = *bits;
        ahead.zeros_follow = true;
        if ahead.take(ZEROS, Self::NAME)? == 0 && ZEROS > 0 {
            *bits = ahead;
            return Ok(Self::NONE);
        }
        Ok(Self(bits.rest()))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        let zeros = if self.0.is_empty() { ZEROS } else { 0 };
        for _ in 0..zeros {
            if !bits.is_full() {
                bits.flag(false);
            }
        }
        self.0.put(bits);
    }
}

/// What rest octets have behind what is read here: nothing but spare padding, or all their bits to the end, kept as they
/// came.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LaterRest(pub Bits);

impl LaterRest {
    /// Nothing was added.
    pub const NONE: Self = Self(Bits { octets: Vec::new(), len: 0 });
}

impl Csn for LaterRest {
    const NAME: &'static str = "spare padding";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = *bits;
        let padded = (0..bits.remaining()).all(|_| !ahead.high());
        let rest = bits.rest();
        Ok(if padded { Self::NONE } else { Self(rest) })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.0.put(bits);
    }
}

/// `{ L | H < element > }`
pub(crate) fn read_high<T: Csn>(bits: &mut BitReader<'_>) -> Result<Option<T>, DecodeError> {
    bits.high().then(|| T::read(bits)).transpose()
}

/// Writes what [`read_high`] reads.
pub(crate) fn write_high<T: Csn>(element: Option<&T>, bits: &mut BitWriter<'_>) {
    bits.high(element.is_some());
    if let Some(element) = element {
        element.write(bits);
    }
}

impl Csn for bool {
    const NAME: &'static str = "flag";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        bits.flag(Self::NAME)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.flag(*self);
    }
}

/// `{ 0 | 1 < element > }`
impl<T: Csn> Csn for Option<T> {
    const NAME: &'static str = T::NAME;

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        bits.flag(T::NAME)?.then(|| T::read(bits)).transpose()
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.flag(self.is_some());
        if let Some(element) = self {
            element.write(bits);
        }
    }
}

/// `< element > * N`
impl<T: Csn + Copy + Default, const N: usize> Csn for [T; N] {
    const NAME: &'static str = T::NAME;

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut elements = [T::default(); N];
        for element in &mut elements {
            *element = T::read(bits)?;
        }
        Ok(elements)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.iter().for_each(|element| element.write(bits));
    }
}

/// `{ 1 < element > } ** 0`
impl<T: Csn> Csn for Vec<T> {
    const NAME: &'static str = T::NAME;

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut elements = Vec::new();
        while bits.flag(T::NAME)? {
            elements.push(T::read(bits)?);
        }
        Ok(elements)
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        for element in self {
            bits.flag(true);
            element.write(bits);
        }
        if !bits.is_full() {
            bits.flag(false);
        }
    }
}

/// `< element > { 0 | 1 < the same again > }`: one element or more, each but the last followed by a one.
pub(crate) fn read_chain<T: Csn>(bits: &mut BitReader<'_>) -> Result<Vec<T>, DecodeError> {
    let mut elements = vec![T::read(bits)?];
    while bits.flag(T::NAME)? {
        elements.push(T::read(bits)?);
    }
    Ok(elements)
}

/// Writes what [`read_chain`] reads.
pub(crate) fn write_chain<T: Csn>(elements: &[T], bits: &mut BitWriter<'_>) {
    for (n, element) in elements.iter().enumerate() {
        if n > 0 {
            bits.flag(true);
        }
        element.write(bits);
    }
    bits.flag(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_order_and_stop_at_the_end() {
        let mut reader = BitReader::new(&[0b1010_0110, 0b1100_0000]);
        assert_eq!(reader.take(3, "a"), Ok(0b101));
        assert_eq!(reader.take(7, "b"), Ok(0b001_1011));
        let error = reader.take(7, "c").unwrap_err();
        assert_eq!(error.to_string(), "c at octet 1: needs 1 octets, has 1");
        assert!(reader.expect("00001", "d").is_err(), "a failed read takes nothing");
        assert!(BitReader::new(&[0x40]).expect("01", "e").is_ok());
    }

    #[test]
    fn spare_bits_are_low_and_the_others_high() {
        let mut octets = [0; 2];
        let mut writer = BitWriter::new(&mut octets);
        writer.high(false);
        writer.high(true);
        writer.put(0b1111, 4);
        assert!(writer.fits());
        assert_eq!(octets, [0b0111_1111, PADDING]);
        let mut reader = BitReader::new(&octets);
        assert_eq!([reader.high(), reader.high()], [false, true]);
        assert_eq!(reader.take(4, "a"), Ok(15));
        assert!((0..20).all(|_| !reader.high()), "beyond the end too");
    }

    #[test]
    fn a_message_is_padded_from_where_it_ends() {
        for (content, padded) in [("1", 0b1010_1011), ("1111", 0b1111_0011), ("11111111", 0xff)] {
            let mut octets = [0; 1];
            let mut writer = BitWriter::new(&mut octets);
            writer.fixed(content);
            assert!(writer.pad());
            assert_eq!(octets, [padded], "{content}");
        }
        let mut writer = BitWriter::new(&mut []);
        writer.flag(true);
        assert!(!writer.pad());
    }

    #[test]
    fn additions_are_kept_to_the_end_of_the_block() {
        let read = |octets: &[u8]| {
            let mut reader = BitReader::new(octets);
            let later = Later::<1>::read(&mut reader).unwrap();
            (later, reader.remaining())
        };
        assert_eq!(read(&[0x2b]), (Later::NONE, 7));
        assert_eq!(read(&[]), (Later::NONE, 0));
        let (kept, remaining) = read(&[0xab, 0x2b]);
        assert_eq!((kept.0.to_string().as_str(), remaining), ("1010101100101011", 0));
        let mut again = [0; 2];
        kept.write(&mut BitWriter::new(&mut again));
        assert_eq!(again, [0xab, 0x2b]);
    }
}
