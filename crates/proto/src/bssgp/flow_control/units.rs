//! Bucket sizes and leak rates: ours in octets and bit/s, on the wire in hundreds of both.

use serde::{Deserialize, Serialize};

/// Size and leak rate of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Bmax, in octets.
    pub bmax_octets: u64,
    /// R, in bit/s. 0 lets nothing pass.
    pub rate_bit_per_s: u64,
}

/// A bucket in the units of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireBucket {
    /// Bmax in units of 100 octets times the granularity's factor (08.18 clause 11.3.5).
    pub bmax: u16,
    /// R in units of 100 bit/s times the granularity's factor (08.18 clause 11.3.4).
    pub rate: u16,
}

/// Two bits of Flow Control Granularity: 0 to 3 for a factor of 1, 10, 100 or 1000 (48.018 clause 11.3.102).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Granularity(u8);

impl Granularity {
    /// All factors, the finest first.
    pub const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    /// From the octet of the element; its spare bits are not looked at.
    #[must_use]
    pub const fn from_octet(octet: u8) -> Self {
        Self(octet & 0b11)
    }

    /// The octet of the element.
    #[must_use]
    pub const fn to_octet(self) -> u8 {
        self.0
    }

    const fn unit(self) -> u64 {
        match self.0 {
            0 => 100,
            1 => 1_000,
            2 => 10_000,
            _ => 100_000,
        }
    }

    /// The finest granularity in which all of `buckets` can be said.
    #[must_use]
    pub fn finest(buckets: &[Bucket]) -> Self {
        let largest = buckets.iter().flat_map(|b| [b.bmax_octets, b.rate_bit_per_s]).max().unwrap_or(0);
        Self::ALL
            .into_iter()
            .find(|granularity| largest / granularity.unit() <= u64::from(u16::MAX))
            .unwrap_or(Self(3))
    }
}

impl Bucket {
    /// From the units of the wire.
    #[must_use]
    pub fn from_wire(wire: WireBucket, granularity: Granularity) -> Self {
        Self {
            bmax_octets: u64::from(wire.bmax) * granularity.unit(),
            rate_bit_per_s: u64::from(wire.rate) * granularity.unit(),
        }
    }

    /// To the units of the wire, rounded down so that nobody is promised more than there is; what is above the
    /// largest value is said as that.
    #[must_use]
    pub fn to_wire(self, granularity: Granularity) -> WireBucket {
        let scale = |value: u64| u16::try_from(value / granularity.unit()).unwrap_or(u16::MAX);
        WireBucket { bmax: scale(self.bmax_octets), rate: scale(self.rate_bit_per_s) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_above_6_5_mbit_need_a_coarser_granularity() {
        let fits = Bucket { bmax_octets: 100_000, rate_bit_per_s: 6_553_500 };
        let needs = Bucket { bmax_octets: 100_000, rate_bit_per_s: 10_000_000 };
        assert_eq!(Granularity::finest(&[fits]), Granularity(0));
        assert_eq!(Granularity::finest(&[fits, needs]), Granularity(1));
        assert_eq!(fits.to_wire(Granularity(0)), WireBucket { bmax: 1000, rate: 65_535 });
        assert_eq!(Bucket::from_wire(needs.to_wire(Granularity(1)), Granularity::from_octet(0xf1)), needs);
        let beyond = Bucket { bmax_octets: 1, rate_bit_per_s: u64::MAX };
        assert_eq!(Granularity::finest(&[beyond]), Granularity(3));
        assert_eq!(beyond.to_wire(Granularity(3)), WireBucket { bmax: 0, rate: u16::MAX });
    }
}
