//! A discipline that takes the place of another one: what waited there leaves first, in the order in which it would have left.

use crate::discipline::{Discipline, Dropped, Offered, Packet, Taken, Waiting};
use gannet_machine::Batch;
use gannet_machine::time::Instant;

/// A discipline `D`, behind packets that waited in others before it.
#[derive(Debug)]
pub struct Succession<T, D> {
    former: Batch<Taken<T>>,
    former_octets: u64,
    inner: D,
}

impl<T, D: Discipline<T>> Succession<T, D> {
    /// A discipline that succeeds no other.
    #[must_use]
    pub fn new(inner: D) -> Self {
        Self { former: Batch::default(), former_octets: 0, inner }
    }

    /// Another discipline, which is empty, in the place of this one. No packet is lost.
    pub fn succeed(&mut self, now: Instant, inner: D) {
        while let Some(taken) = self.inner.take(now) {
            self.former_octets += u64::from(taken.packet.octets);
            self.former.push(taken);
        }
        self.inner = inner;
    }

    /// The discipline that takes packets in.
    #[must_use]
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// The same, to be changed.
    pub const fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }
}

impl<T, D: Discipline<T>> Discipline<T> for Succession<T, D> {
    #[inline]
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        self.inner.offer(now, packet, dropped)
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<Taken<T>> {
        if self.former.is_empty() {
            return self.inner.take(now);
        }
        let taken = self.former.pop()?;
        self.former_octets -= u64::from(taken.packet.octets);
        Some(taken)
    }

    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        if self.former.is_empty() { self.inner.next_conforming(now) } else { Some(now) }
    }

    fn waiting(&self) -> Waiting {
        let Waiting { pdus, octets } = self.inner.waiting();
        let former = u32::try_from(self.former.len()).unwrap_or(u32::MAX);
        Waiting { pdus: pdus.saturating_add(former), octets: octets + self.former_octets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::{Accounting, Config, EdgeQueues, Excess, QueueConfig, Service, StreamConfig};

    fn queues(octets: u32) -> EdgeQueues<u32> {
        let queue = QueueConfig {
            buffers: Accounting::Exact { octets },
            rate: 1000,
            weight: 1,
            excess: Excess::Present,
        };
        let mut queues =
            EdgeQueues::new(Config { streams_max: 2, expedited: queue, assured: queue }).unwrap();
        let stream = |service, rate| StreamConfig { service, rate, burst: 0 };
        queues.configure(Instant::ZERO, 0, &stream(Service::BestEffort, 0)).unwrap();
        queues.configure(Instant::ZERO, 1, &stream(Service::Expedited, 1000)).unwrap();
        queues
    }

    #[test]
    fn what_waited_before_leaves_first_and_nothing_is_lost() {
        let now = Instant::ZERO;
        let mut both = Succession::new(queues(1000));
        let offer = |both: &mut Succession<_, _>, flow, item| {
            both.offer(now, Packet { flow, octets: 100, item }, &mut |lost| panic!("{lost:?}"));
        };
        (0..3).for_each(|item| offer(&mut both, 0, item));
        // A pool that is smaller than what waits.
        both.succeed(now, queues(100));
        assert_eq!(both.waiting(), Waiting { pdus: 3, octets: 300 });
        offer(&mut both, 1, 3);
        both.succeed(now, queues(200));
        offer(&mut both, 0, 4);
        assert_eq!(both.next_conforming(now), Some(now));
        let order: Vec<u32> = core::iter::from_fn(|| both.take(now)).map(|taken| taken.packet.item).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!((both.waiting(), both.next_conforming(now)), (Waiting::default(), None));
    }
}
