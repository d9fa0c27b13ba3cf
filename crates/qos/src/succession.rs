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

    /// What `make` gives for this one takes its place, and is empty. No packet is lost, as long as no flow is blocked. What waits
    /// counts as served by the discipline in which it waited.
    pub fn succeed(&mut self, now: Instant, make: impl FnOnce(&D) -> D) {
        while let Some(taken) = self.inner.take(now) {
            self.former_octets += u64::from(taken.packet.octets);
            self.former.push(taken);
        }
        self.inner = make(&self.inner);
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
    use gannet_machine::rng::Rng;

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
        both.succeed(now, |_| queues(100));
        assert_eq!(both.waiting(), Waiting { pdus: 3, octets: 300 });
        offer(&mut both, 1, 3);
        both.succeed(now, |_| queues(200));
        offer(&mut both, 0, 4);
        assert_eq!(both.next_conforming(now), Some(now));
        let order: Vec<u32> = core::iter::from_fn(|| both.take(now)).map(|taken| taken.packet.item).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!((both.waiting(), both.next_conforming(now)), (Waiting::default(), None));
    }

    #[test]
    fn whatever_comes_and_changes_a_stream_keeps_its_order_and_its_counts() {
        let mut rng = Rng::seeded(3);
        for _ in 0..200 {
            let now = Instant::ZERO;
            let mut both = Succession::new(queues(1000));
            let (mut accepted, mut taken) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
            let (mut dropped, mut octets_taken) = (0, 0);
            for item in 0..300 {
                let flow = u32::from(rng.below(3) == 0);
                let octets = 20 + u32::try_from(rng.below(200)).unwrap();
                match rng.below(8) {
                    0 => {
                        let pool = 300 + u32::try_from(rng.below(2000)).unwrap();
                        both.succeed(now, |former| {
                            let mut fresh = queues(pool);
                            fresh.count_on(former);
                            fresh
                        });
                    }
                    1..=4 => {
                        let packet = Packet { flow, octets, item };
                        if both.offer(now, packet, &mut |_| dropped += 1).accepted {
                            accepted[flow as usize].push(item);
                        }
                    }
                    _ => {
                        if let Some(Taken { packet, .. }) = both.take(now) {
                            taken[packet.flow as usize].push(packet.item);
                            octets_taken += u64::from(packet.octets);
                        }
                    }
                }
            }
            while let Some(Taken { packet, .. }) = both.take(now) {
                taken[packet.flow as usize].push(packet.item);
                octets_taken += u64::from(packet.octets);
            }
            assert_eq!(taken, accepted);
            let totals = both.inner().totals();
            let served: usize = taken.iter().map(Vec::len).sum();
            assert_eq!((totals.served, totals.drops.total()), (served as u64, dropped));
            assert_eq!(totals.offered, served as u64 + dropped);
            let views = [0, 1].map(|flow| both.inner().view(flow).unwrap());
            let counts = [0, 1].map(|flow: usize| taken[flow].len() as u64);
            assert_eq!(views.map(|view| view.served_pdus), counts);
            assert_eq!(views.map(|view| view.served_octets).iter().sum::<u64>(), octets_taken);
            assert!(views.iter().all(|view| view.waiting == 0 && view.occupied == 0));
        }
    }
}
