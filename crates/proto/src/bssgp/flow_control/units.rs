//! Buckets in octets and bit/s, from and to the messages that carry them in hundreds of both (08.18 clauses 11.3.4 and
//! 11.3.5; 48.018 clause 11.3.102).

use super::BvcParameters;
use gannet_qos::leaky_bucket::LeakyBucket;
use gannet_wire::bssgp::ie::Granularity;
use gannet_wire::bssgp::signalling::{FlowControlBvc, FlowControlMs};
use gannet_wire::id::Tlli;
use serde::{Deserialize, Serialize};

/// Size and leak rate of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Bmax, in octets.
    pub bmax_octets: u64,
    /// R, in bit/s. 0 lets nothing pass.
    pub rate_bit_per_s: u64,
}

impl Bucket {
    const fn largest(&self) -> u64 {
        if self.bmax_octets > self.rate_bit_per_s { self.bmax_octets } else { self.rate_bit_per_s }
    }

    /// A bucket of this size with nothing in it.
    #[must_use]
    pub const fn empty(&self) -> LeakyBucket {
        LeakyBucket::new(self.bmax_octets, self.rate_bit_per_s)
    }

    /// The FLOW-CONTROL-MS that says it, rounded down so that nobody is promised more than there is.
    #[must_use]
    pub fn to_message(&self, tlli: Tlli, tag: u8) -> FlowControlMs {
        let granularity = Granularity::for_largest(self.largest());
        FlowControlMs {
            tlli,
            tag,
            bucket_size: granularity.field(self.bmax_octets),
            leak_rate: granularity.field(self.rate_bit_per_s),
            bucket_full_ratio: None,
            granularity,
        }
    }
}

impl From<&FlowControlMs> for Bucket {
    fn from(message: &FlowControlMs) -> Self {
        Self { bmax_octets: message.bmax_octets(), rate_bit_per_s: message.leak_bits_per_s() }
    }
}

impl BvcParameters {
    /// The FLOW-CONTROL-BVC that says them, rounded down so that nobody is promised more than there is.
    #[must_use]
    pub fn to_message(&self, tag: u8) -> FlowControlBvc {
        let granularity = Granularity::for_largest(self.bvc.largest().max(self.default_ms.largest()));
        FlowControlBvc {
            tag,
            bucket_size: granularity.field(self.bvc.bmax_octets),
            leak_rate: granularity.field(self.bvc.rate_bit_per_s),
            bmax_default_ms: granularity.field(self.default_ms.bmax_octets),
            r_default_ms: granularity.field(self.default_ms.rate_bit_per_s),
            bucket_full_ratio: None,
            measurement: None,
            granularity,
        }
    }
}

impl From<&FlowControlBvc> for BvcParameters {
    fn from(message: &FlowControlBvc) -> Self {
        Self {
            bvc: Bucket { bmax_octets: message.bmax_octets(), rate_bit_per_s: message.leak_bits_per_s() },
            default_ms: Bucket {
                bmax_octets: message.bmax_default_ms_octets(),
                rate_bit_per_s: message.leak_default_ms_bits_per_s(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_above_6_5_mbit_need_a_coarser_granularity() {
        let default_ms = Bucket { bmax_octets: 100_000, rate_bit_per_s: 6_553_500 };
        let r99 = BvcParameters { bvc: default_ms, default_ms };
        assert_eq!(r99.to_message(1).granularity, Granularity::R99);
        assert_eq!(BvcParameters::from(&r99.to_message(1)), r99);
        let later = BvcParameters { bvc: Bucket { rate_bit_per_s: 10_000_000, ..default_ms }, default_ms };
        let message = later.to_message(7);
        assert_eq!((message.granularity, message.leak_rate, message.tag), (Granularity(1), 10_000, 7));
        assert_eq!(BvcParameters::from(&message).default_ms.rate_bit_per_s, 6_553_000);
        let own = default_ms.to_message(Tlli(1), 2);
        assert_eq!(Bucket::from(&own), default_ms);
    }
}
