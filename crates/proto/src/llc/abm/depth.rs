//! How many units layer 3 may have unconfirmed beyond those of a link with the shortest window: as many as the path holds.
//!
//! A window of k I frames fills a path whose round trip is long. On a short one the same window is a queue, in which a packet of
//! another flow waits. So what goes beyond the window of 04.64 clause 8.9, table 9 [44.064], grows only while the round trip says
//! that nothing waits, and gives way when something does: the round trip is to be no more than [`QUEUE_US`] above the shortest.
//! What takes no room on the path does not count: a unit that has arrived behind a lost one is unconfirmed, and no queue.
//!
//! A path that has become longer looks like a queue. Nothing can be told from one round trip; so where nothing beyond the
//! least is let out for a while, twice as much is for a moment. In a queue that takes twice as long; on a longer path it does not. A
//! path that was found to be longer is doubted after some time: half of what goes beyond the least is let out for a moment.

use gannet_machine::time::{Duration, Instant};

/// Units that may be unconfirmed whatever the round trip is.
const LEAST: u16 = 32;
/// k of table 9 for the fastest SAPI: a link with this window has nothing beyond the least.
pub const K_LEAST: u8 = 16;

/// What may wait on the way, in µs. With [`LEAST`] units of 1,500 octets at 100 Mbit/s it is below 5 ms.
const QUEUE_US: u32 = 3000;
/// Round trips with nothing beyond the least, until a longer path is looked for.
const AT_LEAST: u8 = 16;
/// Round trips on a longer path, until it is doubted.
const AT_LONGER: u8 = 100;
/// Round trips of a trial: the mean must have followed.
const TRIAL: u8 = 4;

/// The part of a window beyond the least, and how it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Depth {
    /// When it is looked at next.
    due: Instant,
    /// Round trip of the path as far as it was found to be longer than the link's shortest; 0 without.
    longer_us: u32,
    /// The mean round trip of late.
    mean: Duration,
    /// The trial that is under way.
    trial: Trial,
    beyond: u16,
    /// The most units that were on their way, or before it, since it was looked at last.
    peak: u16,
    /// Round trips with nothing beyond the least, on a longer path, or of a trial.
    rounds: u8,
}

/// What is let out for a moment to tell a queue from a long path, and the mean round trip before, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Trial {
    #[default]
    None,
    /// Twice the least.
    More(u32),
    /// Less: afterwards so many go beyond the least again.
    Less(u32, u16),
}

impl Depth {
    /// Units that may be unconfirmed beyond the least.
    pub(super) const fn beyond(self) -> u16 {
        self.beyond
    }

    /// A link with this k has no more than this.
    pub(super) const fn most(k: u8) -> u16 {
        k.saturating_sub(K_LEAST) as u16
    }

    /// So many are on their way, or wait for it.
    pub(super) fn used(&mut self, units: usize) {
        self.peak = self.peak.max(u16::try_from(units).unwrap_or(u16::MAX));
    }

    /// On a link with this k, and with this shortest round trip, one took so long.
    pub(super) fn follow(&mut self, now: Instant, k: u8, (shortest, took): (Option<Duration>, Duration)) {
        let most = Self::most(k);
        if most == 0 {
            *self = Self::default();
            return;
        }
        self.measured(took);
        let Some(shortest) = shortest.filter(|_| now >= self.due) else { return };
        self.due = now + self.mean;
        let mean = micros(self.mean);
        let path = micros(shortest).max(self.longer_us.min(mean));
        self.longer_us = if self.longer_us > path { path } else { self.longer_us };
        let all = LEAST + self.beyond;
        let is_used = core::mem::take(&mut self.peak) >= all - all / 4;
        let nothing_waits = mean <= path.saturating_add(QUEUE_US / 2);
        self.beyond = match self.trial {
            Trial::More(before) => self.try_more(before, mean, is_used),
            Trial::Less(before, later) => self.try_less((before, later), mean),
            Trial::None if mean > path.saturating_add(QUEUE_US) => self.give_way(mean, path),
            Trial::None if self.longer_us > 0 && self.rounds >= AT_LONGER => {
                (self.rounds, self.trial) = (0, Trial::Less(mean, self.beyond));
                self.beyond / 2
            }
            Trial::None => {
                self.rounds = if self.longer_us > 0 { self.rounds + 1 } else { 0 };
                if is_used && nothing_waits { self.beyond + all } else { self.beyond }
            }
        }
        .min(most);
    }

    /// An eighth of the mean is the latest round trip (RFC 6298, section 2).
    fn measured(&mut self, took: Duration) {
        let (Duration(mean), Duration(ns)) = (self.mean, took);
        self.mean = if mean == 0 { took } else { Duration(mean - mean / 8 + ns / 8) };
    }

    /// As many as take no longer than they may; where that is the least for long enough, a trial begins.
    fn give_way(&mut self, mean: u32, path: u32) -> u16 {
        let all = u64::from(LEAST + self.beyond);
        let wanted = all * u64::from(path.saturating_add(QUEUE_US)) / u64::from(mean.max(1));
        let beyond = u16::try_from(wanted).unwrap_or(u16::MAX).saturating_sub(LEAST);
        self.rounds = if beyond == 0 { self.rounds + 1 } else { 0 };
        if self.rounds < AT_LEAST {
            return beyond;
        }
        (self.rounds, self.trial) = (0, Trial::More(mean));
        LEAST
    }

    /// Twice the least is let out. Where that makes the round trip half as long again, it was a queue.
    fn try_more(&mut self, before: u32, mean: u32, is_used: bool) -> u16 {
        self.rounds += 1;
        if self.rounds < TRIAL && is_used {
            return self.beyond;
        }
        (self.rounds, self.trial) = (0, Trial::None);
        if is_used && u64::from(mean) * 4 < u64::from(before) * 5 {
            self.longer_us = before;
            return self.beyond;
        }
        0
    }

    /// Half of it is let out. Where that makes the round trip shorter by a fifth, it was a queue.
    fn try_less(&mut self, (before, later): (u32, u16), mean: u32) -> u16 {
        self.rounds += 1;
        if self.rounds < TRIAL {
            return self.beyond;
        }
        (self.rounds, self.trial) = (0, Trial::None);
        if u64::from(mean) * 5 < u64::from(before) * 4 {
            self.longer_us = 0;
            return self.beyond;
        }
        later
    }
}

fn micros(Duration(ns): Duration) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with a round trip of its own, whose narrowest part takes `each` for an N-PDU.
    struct Path {
        own: Duration,
        each: Duration,
        shortest: Duration,
        now: Instant,
        depth: Depth,
    }

    impl Path {
        fn new(own: Duration, each: Duration) -> Self {
            let mut depth = Depth::default();
            depth.measured(own);
            Self { own, each, shortest: own, now: Instant(1), depth }
        }

        /// One round trip of a source that always has something.
        fn round(&mut self) -> u16 {
            let all = LEAST + self.depth.beyond();
            let took = self.own.max(self.each * u64::from(all));
            self.shortest = self.shortest.min(took);
            self.now += took;
            self.depth.used(all.into());
            (0..3).for_each(|_| self.depth.measured(took));
            self.depth.follow(self.now, 255, (Some(self.shortest), took));
            LEAST + self.depth.beyond()
        }

        /// The most and the mean of so many round trips.
        fn rounds(&mut self, count: u16) -> (u16, u16) {
            let all: Vec<u16> = (0..count).map(|_| self.round()).collect();
            let sum: u32 = all.iter().copied().map(u32::from).sum();
            let mean = sum / u32::from(count);
            (all.into_iter().max().unwrap_or(0), u16::try_from(mean).unwrap_or(u16::MAX))
        }
    }

    /// 1,500 octets at 100 Mbit/s.
    const EACH: Duration = Duration::from_micros(122);

    #[test]
    fn a_long_path_gets_the_whole_window_and_a_short_one_no_queue() {
        let of = |own_us| {
            let mut path = Path::new(Duration::from_micros(own_us), EACH);
            path.rounds(20);
            path.rounds(200)
        };
        assert_eq!(of(50_000), (271, 271), "LLC itself has no more than k of these on their way");
        assert_eq!(of(100_000), (271, 271));
        let (most, mean) = of(200);
        assert!(most <= 2 * LEAST && mean <= LEAST + LEAST / 4, "{most} and {mean}");
        let (_, mean) = of(10_000);
        assert!((82..115).contains(&mean), "82 fill the path, and 24 are what may wait: {mean}");
    }

    #[test]
    fn nothing_is_let_out_that_nobody_uses_or_that_k_does_not_allow() {
        let mut depth = Depth::default();
        let trip = (Some(Duration::from_millis(20)), Duration::from_millis(20));
        for round in 1..50 {
            depth.used(20);
            depth.follow(Instant::ZERO + Duration::from_millis(30) * round, 255, trip);
        }
        assert_eq!(depth.beyond(), 0);
        for round in 50..100 {
            depth.used(usize::from(LEAST + depth.beyond()));
            depth.follow(Instant::ZERO + Duration::from_millis(30) * round, 48, trip);
        }
        assert_eq!(depth.beyond(), 32);
        depth.follow(Instant(u64::MAX / 2), K_LEAST, trip);
        assert_eq!(depth, Depth::default(), "a link that was established with another k");
    }

    #[test]
    fn a_path_that_has_become_longer_is_told_from_a_queue() {
        let mut path = Path::new(Duration::from_micros(300), EACH);
        path.rounds(50);
        path.own = Duration::from_millis(40);
        path.rounds(60);
        let (most, mean) = path.rounds(400);
        assert!(most == 271 && mean > 260, "to doubt it costs little: {mean}");
        path.own = Duration::from_micros(300);
        path.rounds(150);
        let (_, mean) = path.rounds(200);
        assert!(mean <= LEAST + LEAST / 4, "and when it is short again: {mean}");
    }
}
