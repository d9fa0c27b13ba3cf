//! How large everything is, and from where on something is full.

use super::{Amount, Bucket, BvcParameters};
use gannet_machine::time::{Duration, Instant};
use gannet_qos::class::CellClass;
use gannet_qos::leaky_bucket::LeakyBucket;

/// A limit of a queue; what would exceed either number is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// PDUs.
    pub pdus: u32,
    /// Octets.
    pub octets: u64,
}

/// The limits of signalling, or of user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For each class of each mobile.
    pub ms: Limit,
    /// For each cell with all its mobiles, real time and best effort together.
    pub cell: Limit,
}

/// When a queue is told to be full, and when no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// Full where either number is reached.
    pub high: Amount,
    /// No longer full where neither number is exceeded.
    pub low: Amount,
}

/// Where the owner of the flow control is told to stop and to go on, for each class of user data by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// What waits for one mobile.
    pub ms: Watermark,
    /// What waits for the bucket of a cell: not what waits for the buckets of its mobiles, whose neighbours have a
    /// cell that is open to them.
    pub cell: Watermark,
}

impl Default for Watermarks {
    /// Short queues, since what is told to wait waits better at the input: 8 and 2 PDUs for a mobile, 64 and 16 for a
    /// cell, or as many octets as that many PDUs of 1,500 have.
    fn default() -> Self {
        let amount = |pdus| Amount { pdus, octets: u64::from(pdus) * 1500 };
        Self {
            ms: Watermark { high: amount(8), low: amount(2) },
            cell: Watermark { high: amount(64), low: amount(16) },
        }
    }
}

/// What real time may take of a cell while best effort waits: a token bucket. Beyond it, real time goes on where no
/// best effort is ready, and that is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealTimeShare {
    /// Of the cell's leak rate. 100 and more leave nothing to best effort.
    pub percent: u8,
    /// How long real time may take more than that after a pause: the bucket has the octets of this time at the
    /// cell's whole leak rate, and at least one PDU's.
    pub burst: Duration,
}

impl RealTimeShare {
    /// The longest LL-PDU, and a little more.
    const PDU_OCTETS: u64 = 2048;

    /// Its bucket in a cell with this one.
    pub(super) fn of(&self, cell: Bucket) -> Bucket {
        if self.percent >= 100 {
            return Bucket { bmax_octets: u64::MAX, rate_bit_per_s: u64::MAX };
        }
        let rate_bit_per_s = cell.rate_bit_per_s / 100 * u64::from(self.percent)
            + cell.rate_bit_per_s % 100 * u64::from(self.percent) / 100;
        let burst_octets = u128::from(cell.rate_bit_per_s) * u128::from(self.burst.0) / 8_000_000_000;
        let bmax_octets = u64::try_from(burst_octets).unwrap_or(u64::MAX).max(Self::PDU_OCTETS);
        Bucket { bmax_octets, rate_bit_per_s }
    }
}

/// How much a best-effort mobile waits for where its next PDU does not conform.
///
/// The SGSN may send later than its buckets permit, never earlier (08.18 clause 8.2). A mobile that is offered more
/// than its rate would otherwise be woken for each PDU at the very instant at which that conforms, and each time its
/// state has to come to the processor first; so it waits until what it has queued conforms together, or a part of its
/// bucket that the BSS does not notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitQuantum {
    /// At most this part of the mobile's Bmax: 8 for an eighth.
    pub bmax_divisor: u64,
    /// At most so long after its first PDU conforms. Zero wakes it for each PDU.
    pub delay_max: Duration,
}

impl WaitQuantum {
    /// When to wake a mobile with this bucket whose queue of `queued` octets begins with a PDU of `octets` that
    /// conforms at `first` and lives until `expires`.
    #[inline]
    pub(super) fn wake(
        &self,
        now: Instant,
        bucket: &LeakyBucket,
        (first, octets, expires): (Instant, u64, Instant),
        queued: u64,
    ) -> Instant {
        let part = bucket.bmax_octets().checked_div(self.bmax_divisor).unwrap_or(0);
        let together = bucket.next_conforming(now, part.max(octets).min(queued)).unwrap_or(first);
        let wake = together.min(first + self.delay_max);
        if expires <= wake { first } else { wake }
    }
}

/// How large everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Cells are named 0 to `cells_max` − 1.
    pub cells_max: u32,
    /// Mobiles are named 0 to `ms_max` − 1. Each costs four octets.
    pub ms_max: u32,
    /// Mobiles that may have a backlog or a bucket in use at the same time. Their memory is touched as it is needed.
    pub active_ms_max: u32,
    /// PDUs in all queues together. Data leaves an eighth of it to signalling.
    pub pdus_max: u32,
    /// What holds for a cell before its first FLOW-CONTROL-BVC.
    pub initial: BvcParameters,
    /// Th: how long the values of a FLOW-CONTROL-MS hold (08.18 clause 8.2.3).
    pub ms_parameters_lifetime: Duration,
    /// A PDU that comes for a mobile whose R is 0 lets the first of its queue go ([`FlowControl::ask`](super::FlowControl::ask)). Without it
    /// all wait until the BSS says another R, or Th ends.
    pub asks_at_zero: bool,
    /// Limits of the queues of user data.
    pub data: Limits,
    /// Limits of the queues of signalling.
    pub signalling: Limits,
    /// What real time may take of a cell.
    pub real_time: RealTimeShare,
    /// How long best effort waits.
    pub wait_quantum: WaitQuantum,
    /// How long a mobile rests that has used up what its bucket takes at once. What it is offered meanwhile waits where it
    /// arrived, or is dropped there: the longer it rests, the less often others have to be told.
    pub rest_quantum: WaitQuantum,
    /// When [`take_feedback`](super::FlowControl::take_feedback) tells something; `None` for never.
    pub feedback: Option<Watermarks>,
}

impl Default for Config {
    fn default() -> Self {
        let default_ms = Bucket { bmax_octets: 20_000, rate_bit_per_s: 160_000 };
        Self {
            cells_max: 256,
            ms_max: 16_384,
            active_ms_max: 4096,
            pdus_max: 16_384,
            initial: BvcParameters {
                bvc: Bucket { bmax_octets: 60_000, rate_bit_per_s: 400_000 },
                default_ms,
            },
            ms_parameters_lifetime: Duration::from_secs(60),
            asks_at_zero: false,
            data: Limits {
                ms: Limit { pdus: 200, octets: 200_000 },
                cell: Limit { pdus: 4000, octets: 4_000_000 },
            },
            signalling: Limits {
                ms: Limit { pdus: 32, octets: 20_000 },
                cell: Limit { pdus: 1000, octets: 500_000 },
            },
            real_time: RealTimeShare { percent: 80, burst: Duration::from_millis(250) },
            wait_quantum: WaitQuantum { bmax_divisor: 8, delay_max: Duration::from_millis(50) },
            // Long enough to be worth the telling; the BSS has the rest of the bucket to send meanwhile.
            rest_quantum: WaitQuantum { bmax_divisor: 8, delay_max: Duration::from_millis(500) },
            feedback: None,
        }
    }
}

impl Config {
    /// The limits of a class.
    #[inline]
    pub(super) const fn limits(&self, class: CellClass) -> &Limits {
        match class {
            CellClass::Signalling => &self.signalling,
            CellClass::RealTime | CellClass::Guaranteed | CellClass::BestEffort => &self.data,
        }
    }
}

impl Limit {
    /// Is there room for one more PDU of `octets` beside `amount`?
    #[inline]
    pub(super) const fn holds(&self, amount: Amount, octets: u64) -> bool {
        amount.pdus < self.pdus && amount.octets + octets <= self.octets
    }

    #[inline]
    pub(super) const fn is_exceeded_by(&self, amount: Amount) -> bool {
        amount.pdus > self.pdus || amount.octets > self.octets
    }

    /// Has `amount` come so near to the limit that one more batch of PDUs might exceed it?
    #[inline]
    pub(super) const fn is_near(&self, amount: Amount, parts_left_of_eight: u32) -> bool {
        amount.pdus > self.pdus - self.pdus / 8 * parts_left_of_eight
            || amount.octets > self.octets - self.octets / 8 * parts_left_of_eight as u64
    }
}

impl Watermark {
    /// Is a queue full that holds `amount` and `was` full or not before?
    #[inline]
    pub(super) const fn is_full(&self, amount: Amount, was: bool) -> bool {
        if was {
            amount.pdus > self.low.pdus || amount.octets > self.low.octets
        } else {
            amount.pdus >= self.high.pdus || amount.octets >= self.high.octets
        }
    }
}
