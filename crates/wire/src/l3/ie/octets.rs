//! A few octets without a heap.

use core::fmt;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Up to `N` octets, plain data.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Octets<const N: usize> {
    length: u8,
    octets: [u8; N],
}

impl<const N: usize> Octets<N> {
    /// None.
    pub const EMPTY: Self = Self { length: 0, octets: [0; N] };

    /// The first `N` of `octets`, or all where there are fewer.
    #[must_use]
    pub fn from_start(octets: &[u8]) -> Self {
        let mut own = Self::default();
        for (to, from) in own.octets.iter_mut().zip(octets) {
            *to = *from;
            own.length += 1;
        }
        own
    }

    /// They.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.octets.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// True for none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bits of octet `index`, 0 behind the end.
    #[must_use]
    pub fn octet(&self, index: usize) -> u8 {
        self.as_slice().get(index).copied().unwrap_or(0)
    }
}

impl<const N: usize> Default for Octets<N> {
    fn default() -> Self {
        const { assert!(N < 256, "the length is one octet") };
        Self { length: 0, octets: [0; N] }
    }
}

impl<const N: usize> fmt::Debug for Octets<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.as_slice().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl<const N: usize> Serialize for Octets<N> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(s)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Octets<N> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let octets = Vec::<u8>::deserialize(d)?;
        if octets.len() > N {
            return Err(D::Error::invalid_length(octets.len(), &"fewer octets"));
        }
        Ok(Self::from_start(&octets))
    }
}
