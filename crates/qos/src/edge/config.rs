//! How large the queues are, and what a stream may claim.

use core::fmt;

/// Nothing is counted above it: pools, weights.
pub(super) const MOST: u32 = i32::MAX.cast_unsigned();

/// How a pool is measured, and what a packet of L octets counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// The paper's `BUFF_SIZE`: the pool is *buffers* × *octets*, and a packet counts max(L, *octets*). A stream of shorter packets
    /// gets less than its rate, since it fills its allocation with fewer octets.
    BuffSize {
        /// Packet buffers.
        buffers: u32,
        /// `BUFF_SIZE`.
        octets: u32,
    },
    /// Byte-exact: a packet counts L. A packet below [`Accounting::SHORTEST`] counts as that, which bounds their number.
    Exact {
        /// The pool.
        octets: u32,
    },
}

impl Accounting {
    /// An IPv4 header alone: no IP packet is shorter.
    pub const SHORTEST: u32 = 20;

    /// The pool, in counted octets.
    #[must_use]
    pub const fn pool_octets(self) -> u32 {
        match self {
            Self::BuffSize { buffers, octets } => buffers.saturating_mul(octets),
            Self::Exact { octets } => octets,
        }
    }

    /// What the shortest packet counts.
    #[must_use]
    pub const fn unit(self) -> u32 {
        match self {
            Self::BuffSize { octets, .. } => octets,
            Self::Exact { .. } => Self::SHORTEST,
        }
    }

    /// So many packets fit at most.
    pub(super) const fn packets_max(self) -> u32 {
        match self.pool_octets().checked_div(self.unit()) {
            Some(packets) => packets,
            None => 0,
        }
    }
}

/// Whether a packet of L counted octets that exceeds its stream's allocation is taken into the shared buffers. The stream occupies
/// s of them and F are free. Both rules leave a hole that grows with the stream's own use, and both need L ≤ F.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The paper's: s + L ≤ F − L. What the stream occupies with the packet may not exceed what is free then. Streams of long packets
    /// meet that later than streams of short ones, and get less.
    Resulting,
    /// Ours: s ≤ F and L ≤ F. What the stream occupies already may not exceed what is free, however long the packet is.
    Present,
}

impl Excess {
    /// Takes it, where L ≤ F is known.
    #[inline]
    pub(super) const fn admits(self, shared: u32, counted: u32, free: u32) -> bool {
        match self {
            // No sum overflows: nothing counted is above [`MOST`].
            Self::Resulting => shared + counted <= free - counted,
            Self::Present => shared <= free,
        }
    }
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// B: its buffers.
    pub buffers: Accounting,
    /// R: the rate in which allocations are measured, in octets/s. At least 1.
    pub rate: u32,
    /// R of the scheduler, in any unit that both queues share: 1 to 2³¹ − 1.
    pub weight: u32,
    /// The rule of its shared buffers.
    pub excess: Excess,
}

/// Both queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Streams are named 0 to `streams_max` − 1.
    pub streams_max: u32,
    /// The EF queue. Its weight may be larger than the sum of its streams' rates, since each of them is policed.
    pub expedited: QueueConfig,
    /// The AF/BE queue.
    pub assured: QueueConfig,
}

/// Why a [`Config`] makes no queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigError {
    /// A pool of no octets, or of 2³¹ and more.
    Pool(u64),
    /// A buffer of no octets.
    Buffer,
    /// A weight of 0, or of 2³¹ and more.
    Weight(u32),
    /// A rate of 0.
    Rate,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(octets) => write!(f, "a pool has 1 to {MOST} octets, not {octets}"),
            Self::Buffer => f.write_str("a packet buffer has at least 1 octet"),
            Self::Weight(weight) => write!(f, "a weight is 1 to {MOST}, not {weight}"),
            Self::Rate => f.write_str("the rate of a queue is at least 1 octet/s"),
        }
    }
}

impl core::error::Error for ConfigError {}

impl QueueConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let pool = match self.buffers {
            Accounting::BuffSize { buffers, octets } => u64::from(buffers) * u64::from(octets),
            Accounting::Exact { octets } => octets.into(),
        };
        if self.buffers.unit() == 0 {
            return Err(ConfigError::Buffer);
        }
        if pool == 0 || pool > u64::from(MOST) {
            return Err(ConfigError::Pool(pool));
        }
        if self.weight == 0 || self.weight > MOST {
            return Err(ConfigError::Weight(self.weight));
        }
        if self.rate == 0 { Err(ConfigError::Rate) } else { Ok(()) }
    }

    /// The allocation of a stream: σ + B · r / R, in counted octets.
    pub(super) fn allocation(&self, stream: &StreamConfig) -> u64 {
        let by_rate = u64::from(self.buffers.pool_octets()) * u64::from(stream.rate) / u64::from(self.rate);
        by_rate + u64::from(stream.burst)
    }
}

/// What a stream gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// EF (RFC 3246): the queue with the short delay. Policed to its rate, so that there is no excess.
    Expedited,
    /// AF (RFC 2597): at least its rate, and a share of what is left.
    Assured,
    /// Network control (CS6 and CS7, RFC 4594): in the AF/BE queue, with its rate.
    NetworkControl,
    /// Best effort: shared buffers alone, or with a rate as a floor.
    BestEffort,
}

impl Service {
    /// The queue that it uses.
    #[must_use]
    pub const fn lane(self) -> Lane {
        match self {
            Self::Expedited => Lane::Expedited,
            Self::Assured | Self::NetworkControl | Self::BestEffort => Lane::Assured,
        }
    }
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// EF.
    Expedited,
    /// AF and best effort.
    Assured,
}

impl Lane {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Expedited => Self::Assured,
            Self::Assured => Self::Expedited,
        }
    }
}

/// What a stream may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamConfig {
    /// Its service, and by that its queue.
    pub service: Service,
    /// r: what is reserved for it, in octets/s. 0 for best effort that has shared buffers alone.
    pub rate: u32,
    /// σ: a part of its allocation for bursts, in counted octets. A policed stream may send so much at once.
    pub burst: u32,
}

/// Why a stream is not set up, or not changed. What it had before holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamError {
    /// There is no stream of this name.
    Unknown {
        /// Names are below this.
        streams_max: u32,
    },
    /// The allocations of the queue would be larger than its pool.
    NoRoom {
        /// The allocation that this stream needs, in counted octets.
        needs: u64,
        /// What of the pool is not promised to other streams.
        left: u32,
    },
    /// It has changed its queue, packets of it wait in the former one, and it is to change again.
    Moving,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { streams_max } => {
                write!(f, "streams are named 0 to {}", i64::from(*streams_max) - 1)
            }
            Self::NoRoom { needs, left } => write!(
                f,
                "the stream needs an allocation of {needs} octets, and {left} octets of the pool are left"
            ),
            Self::Moving => f.write_str("packets of the stream still wait in the queue that it has left"),
        }
    }
}

impl core::error::Error for StreamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_queue_is_said() {
        let good = QueueConfig {
            buffers: Accounting::BuffSize { buffers: 100, octets: 500 },
            rate: 250_000,
            weight: 1,
            excess: Excess::Resulting,
        };
        assert_eq!(good.check(), Ok(()));
        let exact = |octets| QueueConfig { buffers: Accounting::Exact { octets }, ..good };
        let buffers =
            |buffers, octets| QueueConfig { buffers: Accounting::BuffSize { buffers, octets }, ..good };
        for (bad, error) in [
            (exact(0), ConfigError::Pool(0)),
            (exact(1 << 31), ConfigError::Pool(1 << 31)),
            (buffers(70_000, 70_000), ConfigError::Pool(4_900_000_000)),
            (buffers(100, 0), ConfigError::Buffer),
            (QueueConfig { weight: 0, ..good }, ConfigError::Weight(0)),
            (QueueConfig { weight: 1 << 31, ..good }, ConfigError::Weight(1 << 31)),
            (QueueConfig { rate: 0, ..good }, ConfigError::Rate),
        ] {
            assert_eq!(bad.check(), Err(error));
            assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn the_two_rules_differ_by_the_packet() {
        // The paper's example: of 0.3 B shared, two streams have 0.1 B each, and neither gets more.
        assert!(!Excess::Resulting.admits(100, 1, 100));
        assert!(Excess::Present.admits(100, 1, 100));
        assert!(!Excess::Present.admits(101, 1, 100));
        // Alone, a stream gets half of them by either.
        assert!(Excess::Resulting.admits(140, 10, 160) && !Excess::Resulting.admits(150, 10, 150));
    }
}
