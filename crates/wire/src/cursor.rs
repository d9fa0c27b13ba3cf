//! Reading octets from left to right without ever stepping over their end.

use crate::error::{DecodeError, DecodeErrorKind};

/// A position in a message. Every read names the element it reads, for the error.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first octet.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0 }
    }

    /// A reader of `octets` that reports offsets as if they stood `offset` octets into a larger message that is
    /// given whole: the reader starts at `offset`.
    #[must_use]
    pub const fn at(octets: &'a [u8], offset: usize) -> Self {
        Self { octets, at: offset }
    }

    /// Octets read so far.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.at
    }

    /// Octets not yet read.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.octets.len().saturating_sub(self.at)
    }

    /// True at the end.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next octet, without reading it.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    /// The next `n` octets.
    ///
    /// # Errors
    /// `Truncated` where fewer are left.
    pub fn take(&mut self, n: usize, ie: &'static str) -> Result<&'a [u8], DecodeError> {
        let have = self.remaining();
        let end = self.at.saturating_add(n);
        match self.octets.get(self.at..end) {
            Some(slice) => {
                self.at = end;
                Ok(slice)
            }
            None => Err(DecodeError::new(ie, self.at, DecodeErrorKind::Truncated { needed: n, have })),
        }
    }

    /// The next `N` octets as an array.
    ///
    /// # Errors
    /// `Truncated` where fewer are left.
    pub fn array<const N: usize>(&mut self, ie: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, ie)?);
        Ok(array)
    }

    /// One octet.
    ///
    /// # Errors
    /// `Truncated` at the end.
    pub fn u8(&mut self, ie: &'static str) -> Result<u8, DecodeError> {
        Ok(u8::from_be_bytes(self.array(ie)?))
    }

    /// Two octets, most significant first.
    ///
    /// # Errors
    /// `Truncated` where fewer are left.
    pub fn u16(&mut self, ie: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array(ie)?))
    }

    /// Three octets, most significant first.
    ///
    /// # Errors
    /// `Truncated` where fewer are left.
    pub fn u24(&mut self, ie: &'static str) -> Result<u32, DecodeError> {
        let [a, b, c] = self.array(ie)?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    /// Four octets, most significant first.
    ///
    /// # Errors
    /// `Truncated` where fewer are left.
    pub fn u32(&mut self, ie: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array(ie)?))
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.octets.get(self.at..).unwrap_or_default();
        self.at = self.at.saturating_add(rest.len());
        rest
    }

    /// An error about `ie` at the present position.
    #[must_use]
    pub const fn error(&self, ie: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(ie, self.at, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_and_stops_at_the_end() {
        let mut r = Reader::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(r.u8("a"), Ok(1));
        assert_eq!(r.u16("b"), Ok(0x0203));
        assert_eq!(r.u24("c"), Ok(0x0004_0506));
        assert_eq!(r.u32("d"), Ok(0x0708_090a));
        let error = r.u16("e").unwrap_err();
        assert_eq!(error.to_string(), "e at octet 10: needs 2 octets, has 1");
        assert_eq!(r.rest(), &[11]);
        assert!(r.is_empty());
    }
}
