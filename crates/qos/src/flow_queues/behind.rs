//! How far the processor is behind, by what it serves and not by what anything is said to cost.
//!
//! A queue that was empty a moment ago is a burst, or what came while somebody else had the processor: all of it is served soon.
//! Only a queue that has not been empty for a while, during which the processor has worked, shows that more comes than is
//! served. From then on the packets that were served in a span say how many it serves in [`Config::behind`].

use super::Config;
use gannet_machine::time::{Duration, Instant};

/// What was served since there was last nothing to serve.
#[derive(Debug)]
pub(super) struct Behind {
    limit: Duration,
    after: Duration,
    least: u32,
    /// There is nothing to serve, or was not until now.
    is_idle: bool,
    /// What all that was served since costs.
    worked: Duration,
    /// Packets that were served since the first one, or since they were counted last.
    served: u32,
    counted_at: Instant,
    /// Packets that may wait.
    room: u32,
}

/// A crowd of flows is looked at after so much of the work that shows that more comes than is served: one part in so many.
const PART_FOR_A_CROWD: u64 = 8;

impl Behind {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            limit: config.behind,
            after: config.behind_after,
            least: config.behind_least,
            is_idle: true,
            worked: Duration::ZERO,
            served: 0,
            counted_at: Instant::ZERO,
            room: u32::MAX,
        }
    }

    /// Packets that may wait for the processor.
    pub(super) const fn room(&self) -> u32 {
        self.room
    }

    /// Has it worked long enough for a crowd to be none that a pause of the processor has gathered?
    pub(super) const fn is_working(&self) -> bool {
        self.worked.0 >= self.after.0 / PART_FOR_A_CROWD
    }

    /// Nothing is left to serve.
    pub(super) const fn pause(&mut self) {
        self.is_idle = true;
        (self.room, self.worked) = (u32::MAX, Duration::ZERO);
    }

    /// A packet of this cost is served.
    pub(super) fn serves(&mut self, now: Instant, cost_ns: u32) {
        if core::mem::replace(&mut self.is_idle, false) {
            (self.counted_at, self.served) = (now, 0);
        }
        self.worked.0 += u64::from(cost_ns);
        self.served += 1;
        let counted = now.since(self.counted_at);
        // A cost that is too high says nothing before as much time has gone by, and time that went by without work nothing at all.
        if counted == Duration::ZERO || counted < self.after || self.worked < self.after {
            return;
        }
        let room = u128::from(self.served) * u128::from(self.limit.0) / u128::from(counted.0);
        self.room = u32::try_from(room).unwrap_or(u32::MAX).max(self.least);
        (self.served, self.counted_at) = (0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn behind() -> Behind {
        Behind::new(&Config {
            behind: Duration::from_millis(10),
            behind_after: Duration::from_millis(100),
            behind_least: 50,
            ..Config::default()
        })
    }

    /// So many packets that cost `cost_ns` are served one after the other, one each `each_ns`.
    fn serve(behind: &mut Behind, now: &mut Instant, packets: u32, (cost_ns, each_ns): (u32, u64)) {
        for _ in 0..packets {
            behind.serves(*now, cost_ns);
            now.0 += each_ns;
        }
    }

    #[test]
    fn it_is_behind_after_a_time_without_a_pause_and_has_room_for_what_it_serves_meanwhile() {
        let (mut behind, mut now) = (behind(), Instant(7 * MS));
        // 100 µs each: 100 in 10 ms.
        serve(&mut behind, &mut now, 1000, (100_000, 100_000));
        assert_eq!((behind.room(), behind.is_working()), (u32::MAX, true));
        serve(&mut behind, &mut now, 1, (100_000, 100_000));
        assert_eq!(behind.room(), 100);
        // It serves less: there is room for less, but for the least.
        serve(&mut behind, &mut now, 640, (100_000, 160_000));
        assert!((60..70).contains(&behind.room()), "{}", behind.room());
        serve(&mut behind, &mut now, 100, (100_000, 4 * MS));
        assert_eq!(behind.room(), 50);
        behind.pause();
        assert_eq!((behind.room(), behind.is_working()), (u32::MAX, false));
        serve(&mut behind, &mut now, 1000, (100_000, 100_000));
        assert_eq!(behind.room(), u32::MAX, "from the beginning");
    }

    #[test]
    fn neither_a_lie_about_the_cost_nor_time_without_the_processor_is_work() {
        let (mut behind, mut now) = (behind(), Instant(0));
        serve(&mut behind, &mut now, 900, (u32::MAX, 100_000));
        assert_eq!(behind.room(), u32::MAX, "90 ms have gone by");
        behind.pause();
        for _ in 0..9 {
            serve(&mut behind, &mut now, 100, (100_000, 100_000));
            now.0 += 100 * MS;
        }
        assert_eq!(behind.room(), u32::MAX, "it had 90 ms of a second");
        behind.pause();
        serve(&mut behind, &mut now, 100_000, (100_000, 0));
        assert_eq!(behind.room(), u32::MAX, "where time stands still");
    }
}
