//! One direction of the link, in the time that its caller gives: when each frame leaves and arrives, and which are lost.
//!
//! | | |
//! |---|---|
//! | transmission | (octets + overhead) · 8 / rate; what is left of the division is carried on, so that the rate is exact |
//! | departure | max(arrival at the link, last departure) + transmission |
//! | drop-tail | a frame of L octets is refused where those that have not departed have more than limit − L octets |
//! | loss | decided at the departure: a lost frame has occupied the link |
//! | outage | begins with the departure of a frame of a given number; what departs in it is lost |
//! | delivery | departure + delay + jitter, not before the delivery of the frame before it |
//! | reordering | a frame that is chosen for it is delivered later by a time of its own, and others overtake it |

use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// What Ethernet adds to a frame without its FCS: preamble and start (8), FCS (4), gap (12), in octets (IEEE 802.3 clause 4.4.2).
pub const ETHERNET_OVERHEAD: u32 = 24;

/// How frames are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each with this probability.
    Random(f64),
    /// In bursts: one begins with the first probability a frame, and after each of its frames ends with the second. The share
    /// that is lost is begin / (begin + end), the mean burst 1 / end frames.
    Bursts {
        /// The first.
        begin: f64,
        /// The second.
        end: f64,
    },
}

/// A time in which everything is lost, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// So many frames enter before the one with whose departure it begins.
    pub after: u64,
    /// How long it lasts.
    pub span: Duration,
}

/// What a direction is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// In bits a second; `None` for one that takes no time to send.
    pub rate: Option<u64>,
    /// Octets that each frame occupies besides its own.
    pub overhead: u32,
    /// From the departure to the delivery.
    pub delay: Duration,
    /// At most so much more, evenly distributed.
    pub jitter: Duration,
    /// How frames are lost.
    pub loss: Loss,
    /// Which share of the frames is reordered.
    pub reordering: f64,
    /// How much later those are delivered.
    pub reorder_by: Duration,
    /// Octets of frames that have not departed; `None` where nothing is refused.
    pub limit: Option<u64>,
    /// A time in which everything is lost.
    pub outage: Option<Outage>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            rate: None,
            overhead: ETHERNET_OVERHEAD,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: Loss::Random(0.0),
            reordering: 0.0,
            reorder_by: Duration::ZERO,
            limit: None,
            outage: None,
        }
    }
}

/// What became of all frames of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames that came.
    pub entered: u64,
    /// Refused, as too many octets waited.
    pub refused: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Delivered later than their place.
    pub reordered: u64,
    /// Delivered.
    pub delivered: u64,
}

/// A frame that is to be delivered.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When.
    pub at: Instant,
    /// When its last bit has left, without delay and jitter.
    pub departed: Instant,
    /// It began to leave in the moment in which the frame before had left: the link was busy.
    pub back_to_back: bool,
    /// The frame.
    pub frame: T,
}

/// Ordered by delivery, and frames of the same moment by their entry.
#[derive(Debug)]
struct OnTheWay<T> {
    number: u64,
    delivery: Delivery<T>,
}

impl<T> Ord for OnTheWay<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.delivery.at, self.number).cmp(&(other.delivery.at, other.number))
    }
}

impl<T> PartialOrd for OnTheWay<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for OnTheWay<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for OnTheWay<T> {}

/// One direction with the frames `T` that are on their way.
#[derive(Debug)]
pub struct Direction<T> {
    profile: Profile,
    rng: Rng,
    free_at: Instant,
    /// What the last division by the rate has left, in bits · ns / s.
    remainder: u64,
    /// Departures of what is counted in `waiting`, with its octets.
    departures: VecDeque<(Instant, u32)>,
    waiting: u64,
    in_burst: bool,
    outage_ends: Option<Instant>,
    delivered_until: Instant,
    on_the_way: BinaryHeap<Reverse<OnTheWay<T>>>,
    counts: Counts,
}

impl<T> Direction<T> {
    /// An idle one. The same seed and frames have the same fate.
    #[must_use]
    pub fn new(profile: Profile, rng: Rng) -> Self {
        Self {
            profile,
            rng,
            free_at: Instant::ZERO,
            remainder: 0,
            departures: VecDeque::new(),
            waiting: 0,
            in_burst: false,
            outage_ends: None,
            delivered_until: Instant::ZERO,
            on_the_way: BinaryHeap::new(),
            counts: Counts::default(),
        }
    }

    /// What became of all frames so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// A frame of `octets` octets comes at `at`. Frames come in the order of their times; one that is told with an earlier time
    /// than the last is late, and is taken as it comes.
    pub fn enter(&mut self, at: Instant, octets: u32, frame: T) {
        self.counts.entered += 1;
        while self.departures.front().is_some_and(|(departs, _)| *departs <= at) {
            self.waiting -= self.departures.pop_front().map_or(0, |(_, octets)| u64::from(octets));
        }
        if self.profile.limit.is_some_and(|limit| self.waiting + u64::from(octets) > limit) {
            self.counts.refused += 1;
            return;
        }
        let back_to_back = self.free_at > at;
        if !back_to_back {
            self.remainder = 0;
        }
        let departed = self.free_at.max(at) + self.transmission(octets);
        self.free_at = departed;
        self.waiting += u64::from(octets);
        self.departures.push_back((departed, octets));
        if self.is_lost() | self.is_out(departed) {
            self.counts.lost += 1;
            return;
        }
        let mut at = departed + self.profile.delay + self.up_to(self.profile.jitter);
        if self.happens(self.profile.reordering) {
            at += self.profile.reorder_by;
            self.counts.reordered += 1;
        } else {
            at = at.max(self.delivered_until);
            self.delivered_until = at;
        }
        let delivery = Delivery { at, departed, back_to_back, frame };
        self.on_the_way.push(Reverse(OnTheWay { number: self.counts.entered, delivery }));
    }

    /// When the next frame is delivered.
    #[must_use]
    pub fn next_delivery(&self) -> Option<Instant> {
        self.on_the_way.peek().map(|Reverse(first)| first.delivery.at)
    }

    /// Takes the next frame whose time has come.
    pub fn deliver(&mut self, now: Instant) -> Option<Delivery<T>> {
        self.next_delivery().filter(|at| *at <= now)?;
        let Reverse(OnTheWay { delivery, .. }) = self.on_the_way.pop()?;
        self.counts.delivered += 1;
        Some(delivery)
    }

    /// How long a frame takes to leave.
    fn transmission(&mut self, octets: u32) -> Duration {
        let Some(rate) = self.profile.rate else { return Duration::ZERO };
        let bits = (u64::from(octets) + u64::from(self.profile.overhead)) * 8;
        let dividend = bits * 1_000_000_000 + self.remainder;
        self.remainder = dividend % rate;
        Duration(dividend / rate)
    }

    fn is_lost(&mut self) -> bool {
        match self.profile.loss {
            Loss::Random(p) => self.happens(p),
            Loss::Bursts { begin, end } => {
                let lost = self.in_burst || self.happens(begin);
                self.in_burst = lost && !self.happens(end);
                lost
            }
        }
    }

    fn is_out(&mut self, departed: Instant) -> bool {
        let Some(Outage { after, span }) = self.profile.outage else { return false };
        self.counts.entered > after && departed < *self.outage_ends.get_or_insert(departed + span)
    }

    /// When the outage ends, once it has begun.
    #[must_use]
    pub const fn outage_ends(&self) -> Option<Instant> {
        self.outage_ends
    }

    /// The dice are thrown only for what can happen.
    fn happens(&mut self, p: f64) -> bool {
        p > 0.0 && self.rng.chance(p)
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        if most == Duration::ZERO { most } else { Duration(self.rng.below(most.0 + 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant(1_000_000_000);

    fn direction(profile: Profile) -> Direction<u32> {
        Direction::new(profile, Rng::seeded(7))
    }

    /// All that is on its way, in the order of delivery.
    fn drain(of: &mut Direction<u32>) -> Vec<Delivery<u32>> {
        core::iter::from_fn(|| of.deliver(Instant(u64::MAX))).collect()
    }

    #[test]
    fn a_frame_departs_when_the_link_is_free_and_all_of_it_has_left() {
        let profile =
            Profile { rate: Some(2_000_000), delay: Duration::from_millis(3), ..Profile::default() };
        let mut link = direction(profile);
        // 1000 + 24 octets at 2 Mbit/s: 4.096 ms.
        link.enter(START, 1000, 1);
        link.enter(START, 1000, 2);
        link.enter(START + Duration::from_millis(100), 1000, 3);
        assert_eq!(link.next_delivery(), Some(START + Duration(7_096_000)));
        assert_eq!(link.deliver(START + Duration(7_095_999)), None);
        let all = drain(&mut link);
        let at: Vec<u64> = all.iter().map(|delivery| delivery.at.since(START).0).collect();
        assert_eq!(at, [7_096_000, 11_192_000, 107_096_000]);
        assert_eq!(all.iter().map(|of| of.back_to_back).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(all[1].departed.since(START), Duration(8_192_000));
    }

    #[test]
    fn the_rate_is_exact_also_where_a_frame_takes_no_whole_nanoseconds() {
        // 31 kbit/s and 301 + 24 octets: 83870967.74 ns.
        let mut link = direction(Profile { rate: Some(31_000), ..Profile::default() });
        (0..31_000).for_each(|number| link.enter(START, 301, number));
        assert_eq!(drain(&mut link).last().unwrap().at.since(START), Duration::from_secs(2600));
    }

    #[test]
    fn drop_tail_counts_the_octets_that_have_not_departed() {
        let mut link = direction(Profile { rate: Some(8_000_000), limit: Some(3000), ..Profile::default() });
        for number in 0..5 {
            link.enter(START, 1000, number);
        }
        assert_eq!((link.counts().entered, link.counts().refused), (5, 2));
        // The first departs after 1.024 ms, not before.
        link.enter(START + Duration(1_023_999), 1000, 5);
        link.enter(START + Duration(1_024_000), 1001, 6);
        link.enter(START + Duration(1_024_000), 1000, 7);
        assert_eq!(link.counts().refused, 4);
        let numbers: Vec<u32> = drain(&mut link).iter().map(|of| of.frame).collect();
        assert_eq!(numbers, [0, 1, 2, 7]);
    }

    #[test]
    fn jitter_changes_no_order_and_stays_in_its_bounds() {
        let (delay, jitter) = (Duration::from_millis(1), Duration::from_millis(4));
        let mut link = direction(Profile { delay, jitter, ..Profile::default() });
        for number in 0..2000_u32 {
            link.enter(START + Duration(u64::from(number) * 1_000_000), 100, number);
        }
        let all = drain(&mut link);
        assert_eq!(all.len(), 2000);
        let mut shares = [0; 4];
        for (of, number) in all.iter().zip(0..) {
            assert_eq!(of.frame, number);
            let late = of.at.since(of.departed + delay);
            assert!(late <= jitter);
            shares[usize::try_from((late.0 / 1_000_000).min(3)).unwrap()] += 1;
        }
        assert!(shares.iter().all(|share| *share > 100), "{shares:?}");
    }

    #[test]
    fn only_what_is_chosen_is_reordered() {
        let reorder_by = Duration::from_millis(10);
        let mut link = direction(Profile { reordering: 0.1, reorder_by, ..Profile::default() });
        for number in 0..1000_u32 {
            link.enter(START + Duration(u64::from(number) * 1_000_000), 100, number);
        }
        let all = drain(&mut link);
        let late = all.iter().filter(|of| of.at == of.departed + reorder_by).count();
        assert_eq!(link.counts().reordered, late as u64);
        assert!((60..150).contains(&late), "{late}");
        // The others have kept their order among themselves.
        let rest: Vec<u32> = all.iter().filter(|of| of.at == of.departed).map(|of| of.frame).collect();
        assert!(rest.is_sorted_by(|a, b| a < b));
        assert!(!all.iter().map(|of| of.frame).is_sorted());
    }

    #[test]
    fn loss_is_as_frequent_as_it_says_and_comes_in_bursts_where_it_should() {
        let bursts = |loss| {
            let mut link = direction(Profile { loss, ..Profile::default() });
            (0..100_000).for_each(|number| link.enter(START, 100, number));
            let there: Vec<u32> = drain(&mut link).iter().map(|of| of.frame).collect();
            let gaps = there.windows(2).filter(|pair| pair[1] - pair[0] > 1).count();
            let counts = link.counts();
            assert_eq!(counts.entered, counts.lost + counts.delivered);
            (counts.lost, f64::from(u32::try_from(counts.lost).unwrap()) / gaps as f64)
        };
        let (lost, mean) = bursts(Loss::Random(0.05));
        assert!((4700..5300).contains(&lost), "{lost}");
        assert!((1.0..1.1).contains(&mean), "{mean}");
        // 0.01 / (0.01 + 0.25) of 100,000, in bursts of 4.
        let (lost, mean) = bursts(Loss::Bursts { begin: 0.01, end: 0.25 });
        assert!((3400..4300).contains(&lost), "{lost}");
        assert!((3.6..4.4).contains(&mean), "{mean}");
        assert_eq!(bursts(Loss::Random(0.0)).0, 0);
    }

    #[test]
    fn an_outage_begins_with_a_frame_and_lasts_its_time() {
        let outage = Some(Outage { after: 3, span: Duration::from_millis(10) });
        let mut link = direction(Profile { outage, ..Profile::default() });
        for number in 0..20 {
            link.enter(START + Duration::from_millis(u64::from(number)), 100, number);
        }
        let delivered: Vec<u32> = drain(&mut link).into_iter().map(|delivery| delivery.frame).collect();
        assert_eq!(delivered, [0, 1, 2, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!(link.counts().lost, 10);
        assert_eq!(link.outage_ends(), Some(START + Duration::from_millis(13)));
    }

    #[test]
    fn a_run_is_repeated_from_its_seed() {
        let profile =
            Profile { loss: Loss::Random(0.3), jitter: Duration::from_millis(5), ..Profile::default() };
        let run = || {
            let mut link = direction(profile);
            (0..500).for_each(|number| link.enter(START, 100, number));
            drain(&mut link)
        };
        assert_eq!(run(), run());
    }
}
