//! FlowQueue-CoDel (RFC 8290): a queue that stays short in time whatever its way on carries, and in which a flow that sends little goes before
//! one that fills it.
//!
//! Packets wait by flow. Flows take turns, new ones first. A flow whose packets wait longer than `target` for a whole `interval` loses one at
//! its head, and more the longer this lasts (CoDel, RFC 8289), which is what TCP understands.
//!
//! ```text
//! target   = 25 ms, and not less than twice the time in which the way on takes a packet
//! interval = 20 · target
//! ```
//!
//! The interval is about the round trip of the connections (RFC 8289 clause 4.3). That of GPRS is longer than the Internet's 100 ms: a window of
//! 255 LL frames alone takes 600 ms on a wireless LAN. The second part is clause 4.4 for ways on that are slow: on a radio of 30 kbit/s a packet
//! alone takes 400 ms.
//! [`Discipline`](crate::discipline::Discipline) gives nothing back when a packet is taken, and CoDel drops just then; so this has calls of its own.

use gannet_machine::time::{Duration, Instant};
use std::collections::VecDeque;

/// Queues of flows: a packet is put into that of its hash.
const FLOWS: u32 = 128;
/// Octets that a flow may send in its turn, and the backlog of which nothing is dropped (RFC 8290 clause 5.2.1).
const QUANTUM: i64 = 1514;
/// The least target.
const TARGET: Duration = Duration::from_millis(25);
/// Intervals in a target.
const INTERVAL_TARGETS: u64 = 20;
/// Of the time for a packet, what the latest one counts: 1 / 8.
const WEIGHT: u64 = 8;

#[derive(Debug)]
struct Entry<T> {
    since: Instant,
    octets: u32,
    item: T,
}

/// Where a flow stands in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turn {
    #[default]
    Empty,
    New,
    Old,
}

/// The state of RFC 8289 clause 5.
#[derive(Debug, Default)]
struct Codel {
    /// When a packet may be dropped, if packets wait too long until then.
    first_above: Option<Instant>,
    drop_next: Instant,
    dropping: bool,
    count: u32,
    last_count: u32,
}

#[derive(Debug)]
struct Flow<T> {
    queue: VecDeque<Entry<T>>,
    octets: u64,
    deficit: i64,
    turn: Turn,
    codel: Codel,
}

impl<T> Flow<T> {
    fn pop(&mut self) -> Option<Entry<T>> {
        let entry = self.queue.pop_front()?;
        self.octets = self.octets.saturating_sub(u64::from(entry.octets));
        Some(entry)
    }

    /// The next packet, and whether it may be dropped.
    fn next(&mut self, now: Instant, target: Duration) -> Option<(Entry<T>, bool)> {
        let Some(entry) = self.pop() else {
            self.codel.first_above = None;
            return None;
        };
        if now.since(entry.since) < target || self.octets <= QUANTUM.unsigned_abs() {
            self.codel.first_above = None;
            return Some((entry, false));
        }
        let since = *self.codel.first_above.get_or_insert(now + interval(target));
        Some((entry, now >= since))
    }

    /// The next packet that goes on. What is dropped before it goes to `dropped`.
    fn take(&mut self, now: Instant, target: Duration, dropped: &mut impl FnMut(T)) -> Option<Entry<T>> {
        let Some((mut entry, mut may)) = self.next(now, target) else {
            self.codel.dropping = false;
            return None;
        };
        if self.codel.dropping {
            self.codel.dropping = may;
            while self.codel.dropping && now >= self.codel.drop_next {
                dropped(entry.item);
                self.codel.count += 1;
                let next = self.next(now, target);
                (self.codel.dropping, entry, may) = match next {
                    Some((entry, may)) => (may, entry, may),
                    None => {
                        self.codel.dropping = false;
                        return None;
                    }
                };
                if may {
                    self.codel.drop_next += spacing(target, self.codel.count);
                }
            }
        } else if may {
            dropped(entry.item);
            let delta = self.codel.count.saturating_sub(self.codel.last_count);
            let lately = now < self.codel.drop_next + Duration(16 * interval(target).0);
            self.codel.count = if delta > 1 && lately { delta } else { 1 };
            self.codel.last_count = self.codel.count;
            self.codel.drop_next = now + spacing(target, self.codel.count);
            self.codel.dropping = true;
            entry = self.next(now, target)?.0;
        }
        Some(entry)
    }
}

const fn interval(target: Duration) -> Duration {
    Duration(target.0 * INTERVAL_TARGETS)
}

/// From one drop to the next: the interval by the square root of how many there were.
fn spacing(target: Duration, count: u32) -> Duration {
    const FRACTION: u64 = 1000;
    let root = (u64::from(count.max(1)) * FRACTION * FRACTION).isqrt();
    Duration(interval(target).0 * FRACTION / root)
}

/// Packets `T` of many flows.
#[derive(Debug)]
pub struct FqCodel<T> {
    flows: Vec<Flow<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    len: usize,
    limit: usize,
    /// When a packet was taken while others waited.
    taken: Option<Instant>,
    /// In which time the way on takes a packet: smoothed.
    per_packet: Duration,
}

impl<T> FqCodel<T> {
    /// A queue for so many packets. It takes no memory for them yet.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            len: 0,
            limit,
            taken: None,
            per_packet: Duration::ZERO,
        }
    }

    /// Packets that wait.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a packet in. `hash` is the same for all packets of a flow. Beyond the limit the longest flow loses the packet at its head, which
    /// is given back (RFC 8290 clause 4.1).
    pub fn offer(&mut self, now: Instant, hash: u32, octets: u32, item: T) -> Option<T> {
        if self.flows.is_empty() {
            self.flows.resize_with(FLOWS as usize, || Flow {
                queue: VecDeque::new(),
                octets: 0,
                deficit: 0,
                turn: Turn::Empty,
                codel: Codel::default(),
            });
        }
        let number = hash % FLOWS;
        let flow = self.flows.get_mut(number as usize)?;
        flow.queue.push_back(Entry { since: now, octets, item });
        flow.octets += u64::from(octets);
        if flow.turn == Turn::Empty {
            (flow.turn, flow.deficit) = (Turn::New, QUANTUM);
            self.new.push_back(number);
        }
        self.len += 1;
        if self.len <= self.limit {
            return None;
        }
        let longest = self.flows.iter_mut().max_by_key(|flow| flow.octets)?;
        let entry = longest.pop()?;
        self.len -= 1;
        Some(entry.item)
    }

    /// The next packet. What CoDel drops before it goes to `dropped`.
    pub fn take(&mut self, now: Instant, mut dropped: impl FnMut(T)) -> Option<T> {
        if let Some(before) = self.taken {
            let gap = now.since(before).0;
            self.per_packet = Duration((self.per_packet.0 * (WEIGHT - 1) + gap) / WEIGHT);
        }
        let target = Duration((2 * self.per_packet.0).max(TARGET.0));
        let taken = self.next(now, target, &mut dropped);
        self.taken = (self.len > 0).then_some(now);
        taken
    }

    fn next(&mut self, now: Instant, target: Duration, dropped: &mut impl FnMut(T)) -> Option<T> {
        loop {
            let is_new = !self.new.is_empty();
            let number = *if is_new { self.new.front() } else { self.old.front() }?;
            let flow = self.flows.get_mut(number as usize)?;
            let mut lost = 0;
            let entry = if flow.deficit > 0 {
                flow.take(now, target, &mut |item| {
                    lost += 1;
                    dropped(item);
                })
            } else {
                None
            };
            self.len -= lost;
            if let Some(entry) = entry {
                self.len -= 1;
                flow.deficit -= i64::from(entry.octets);
                return Some(entry.item);
            }
            // Its turn is over. A new flow that is empty goes through the old ones once, so that it is not new again at once.
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                flow.turn = Turn::Old;
                self.old.push_back(number);
            } else if is_new && !self.old.is_empty() {
                flow.turn = Turn::Old;
                self.old.push_back(number);
            } else {
                flow.turn = Turn::Empty;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FULL: u32 = 1500;

    /// Serves one packet each `gap`, while a source of `flow` keeps `window` packets waiting; what was dropped in this time.
    fn keep_full(queue: &mut FqCodel<u32>, (gap, window): (Duration, usize), lasts: Duration) -> u32 {
        let (mut now, mut dropped) = (Instant::ZERO, 0);
        let end = now + lasts;
        while now < end {
            while queue.len() < window {
                assert_eq!(queue.offer(now, 7, FULL, 7), None);
            }
            assert_eq!(queue.take(now, |_| dropped += 1), Some(7));
            now += gap;
        }
        dropped
    }

    #[test]
    fn a_standing_queue_loses_more_and_more_and_a_short_one_nothing() {
        let gap = Duration::from_micros(120);
        let mut queue = FqCodel::new(1000);
        // 150 packets at 120 us wait 18 ms.
        assert_eq!(keep_full(&mut queue, (gap, 150), Duration::from_secs(10)), 0);
        let mut queue = FqCodel::new(1000);
        assert_eq!(
            keep_full(&mut queue, (gap, 500), Duration::from_millis(450)),
            0,
            "not within an interval"
        );
        let mut queue = FqCodel::new(1000);
        let first = keep_full(&mut queue, (gap, 500), Duration::from_secs(5));
        let mut queue = FqCodel::new(1000);
        let second = keep_full(&mut queue, (gap, 500), Duration::from_secs(10)) - first;
        assert!(first > 10 && second > first, "{first} and {second} in five seconds each");
    }

    #[test]
    fn a_slow_way_on_has_a_longer_target() {
        let mut queue = FqCodel::new(1000);
        // A packet takes 400 ms; two of them wait for less than twice that.
        assert_eq!(keep_full(&mut queue, (Duration::from_millis(400), 2), Duration::from_secs(300)), 0);
        let mut queue = FqCodel::new(1000);
        assert!(keep_full(&mut queue, (Duration::from_millis(400), 8), Duration::from_secs(300)) > 5);
    }

    #[test]
    fn a_flow_that_sends_little_goes_first_and_the_longest_gives_way() {
        let now = Instant::ZERO;
        let mut queue = FqCodel::new(20);
        (0..20).for_each(|number| assert_eq!(queue.offer(now, 1, FULL, number), None));
        assert_eq!(queue.take(now, |_| ()), Some(0));
        assert_eq!(queue.take(now, |_| ()), Some(1), "a quantum is not used up by one packet");
        assert_eq!(queue.offer(now, 2, 84, 100), None);
        assert_eq!(queue.take(now, |_| ()), Some(100));
        let lost: Vec<u32> = (0..4).filter_map(|number| queue.offer(now, 2, 84, 200 + number)).collect();
        assert_eq!(lost, [2, 3], "of the long flow, at its head");
        assert_eq!(queue.len(), 20);
    }

    proptest! {
        /// Each packet is taken or dropped, once, and those of a flow in their order.
        #[test]
        fn nothing_is_lost_without_a_word(steps in proptest::collection::vec((0..4_u32, 40..1500_u32, 0..20_000_u64, 0..3_u8), 0..400)) {
            let mut queue = FqCodel::new(50);
            let mut now = Instant::ZERO;
            let (mut seen, mut offered) = (Vec::new(), 0_u32);
            let mut last = [0_u32; 4];
            let mut go = |item: (u32, u32)| {
                let (flow, number) = item;
                assert!(number > last[flow as usize]);
                last[flow as usize] = number;
            };
            for (flow, octets, us, takes) in steps {
                now += Duration::from_micros(us);
                offered += 1;
                seen.extend(queue.offer(now, flow, octets, (flow, offered)));
                for _ in 0..takes {
                    let taken = queue.take(now, |item| seen.push(item));
                    taken.into_iter().for_each(&mut go);
                    seen.extend(taken);
                }
                prop_assert!(queue.len() <= 50);
            }
            while let Some(item) = queue.take(now, |item| seen.push(item)) {
                go(item);
                seen.push(item);
            }
            seen.sort_unstable_by_key(|(_, number)| *number);
            prop_assert!(queue.is_empty());
            prop_assert_eq!(seen.iter().map(|(_, number)| *number).collect::<Vec<_>>(), (1..=offered).collect::<Vec<_>>());
        }
    }
}
