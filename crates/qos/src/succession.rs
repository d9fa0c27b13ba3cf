//! A discipline that takes the place of another one: what waited there leaves first, in the order in which it would have left.

use crate::discipline::{Blocking, Discipline, Dropped, Offered, Packet, Taken, Waiting};
use gannet_machine::Batch;
use gannet_machine::time::Instant;
use std::collections::BTreeSet;

/// A discipline `D`, behind packets that waited in others before it.
///
/// `D` gives all that waits and is not blocked at any instant: its rate, if any, is that of a [`Shaped`](crate::shaped::Shaped) around
/// this.
#[derive(Debug)]
pub struct Succession<T, D> {
    /// Packets of former disciplines, of flows that are not blocked.
    former: Batch<Taken<T>>,
    /// Those of flows that are.
    aside: Batch<Taken<T>>,
    /// Octets of both.
    octets: u64,
    blocked: BTreeSet<u32>,
    inner: D,
}

impl<T, D: Discipline<T> + Blocking> Succession<T, D> {
    /// A discipline that succeeds no other.
    #[must_use]
    pub fn new(inner: D) -> Self {
        let (former, aside) = (Batch::default(), Batch::default());
        Self { former, aside, octets: 0, blocked: BTreeSet::new(), inner }
    }

    /// What `make` gives for this one takes its place, and is empty. No packet is lost, and flows that are blocked stay so. What waits
    /// counts as served by the discipline in which it waited.
    pub fn succeed(&mut self, now: Instant, make: impl FnOnce(&D) -> D) {
        self.blocked.iter().for_each(|flow| self.inner.unblock(*flow));
        while let Some(taken) = self.inner.take(now) {
            self.octets += u64::from(taken.packet.octets);
            let is_blocked = self.blocked.contains(&taken.packet.flow);
            let to = if is_blocked { &mut self.aside } else { &mut self.former };
            to.push(taken);
        }
        debug_assert_eq!(self.inner.waiting(), Waiting::default(), "nothing that waits is lost");
        self.inner = make(&self.inner);
        self.blocked.iter().for_each(|flow| self.inner.block(*flow));
    }

    /// The discipline that takes packets in.
    #[must_use]
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// The same, to be changed. Flows are blocked by this succession alone.
    pub const fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }
}

/// Takes the packets of a flow out of `all`; the others stay in their order.
fn of_flow<T>(all: &mut Batch<Taken<T>>, flow: u32) -> Batch<Taken<T>> {
    let (mut own, mut others) = (Batch::default(), Batch::default());
    while let Some(taken) = all.pop() {
        let to = if taken.packet.flow == flow { &mut own } else { &mut others };
        to.push(taken);
    }
    *all = others;
    own
}

impl<T, D: Discipline<T>> Discipline<T> for Succession<T, D> {
    #[inline]
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        self.inner.offer(now, packet, dropped)
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<Taken<T>> {
        let Some(taken) = self.former.pop() else { return self.inner.take(now) };
        self.octets -= u64::from(taken.packet.octets);
        Some(taken)
    }

    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        if self.former.is_empty() { self.inner.next_conforming(now) } else { Some(now) }
    }

    fn waiting(&self) -> Waiting {
        let Waiting { pdus, octets } = self.inner.waiting();
        let former = u32::try_from(self.former.len() + self.aside.len()).unwrap_or(u32::MAX);
        Waiting { pdus: pdus.saturating_add(former), octets: octets + self.octets }
    }
}

/// One step for each packet of former disciplines; none where nothing of them waits.
impl<T, D: Blocking> Blocking for Succession<T, D> {
    fn block(&mut self, flow: u32) {
        if self.blocked.insert(flow) {
            self.inner.block(flow);
            self.aside.append(&mut of_flow(&mut self.former, flow));
        }
    }

    fn unblock(&mut self, flow: u32) {
        if self.blocked.remove(&flow) {
            self.inner.unblock(flow);
            // A flow that was blocked has nothing else there.
            let mut first = of_flow(&mut self.aside, flow);
            first.append(&mut self.former);
            self.former = first;
        }
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
    fn a_flow_that_is_blocked_stays_so_and_leaves_first_afterwards() {
        let now = Instant::ZERO;
        let mut both = Succession::new(queues(1000));
        let offer = |both: &mut Succession<_, _>, flow, item| {
            both.offer(now, Packet { flow, octets: 100, item }, &mut |lost| panic!("{lost:?}"));
        };
        let take =
            |both: &mut Succession<u32, EdgeQueues<u32>>| both.take(now).map(|taken| taken.packet.item);
        offer(&mut both, 0, 0);
        offer(&mut both, 1, 1);
        offer(&mut both, 0, 2);
        both.block(0);
        both.succeed(now, |_| queues(1000));
        offer(&mut both, 0, 3);
        offer(&mut both, 1, 4);
        assert_eq!(both.waiting(), Waiting { pdus: 5, octets: 500 });
        // In both disciplines the other flow alone is served.
        assert_eq!([take(&mut both), take(&mut both), take(&mut both)], [Some(1), Some(4), None]);
        assert_eq!((both.waiting().pdus, both.next_conforming(now)), (3, None));
        // A second change, and what is blocked while it waits in a former one.
        both.succeed(now, |_| queues(1000));
        both.unblock(0);
        assert_eq!(take(&mut both), Some(0));
        both.block(0);
        assert_eq!((take(&mut both), both.waiting().octets), (None, 200));
        offer(&mut both, 0, 5);
        both.unblock(0);
        assert_eq!([(); 4].map(|()| take(&mut both)), [Some(2), Some(3), Some(5), None]);
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
