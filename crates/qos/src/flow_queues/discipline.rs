//! The input queues as one discipline among others.

use super::FlowQueues;
use crate::discipline::{Blocking, Discipline, Dropped, Offered, Packet, Taken, Waiting};
use gannet_machine::time::Instant;

impl<T> Discipline<T> for FlowQueues<T> {
    #[inline]
    fn offer(
        &mut self,
        now: Instant,
        Packet { flow, octets, item }: Packet<T>,
        dropped: &mut impl FnMut(Dropped<T>),
    ) -> Offered {
        let enqueued = self.enqueue(now, flow, octets, item, &mut |gone| {
            dropped(Dropped {
                packet: Packet { flow: gone.flow, octets: gone.octets, item: gone.item },
                reason: gone.reason,
                crossed_low: gone.crossed_low,
            });
        });
        Offered { accepted: enqueued.accepted, crossed_high: enqueued.crossed_high }
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<Taken<T>> {
        self.dequeue(now).map(|served| Taken {
            packet: Packet { flow: served.flow, octets: served.octets, item: served.item },
            since: served.since,
            crossed_low: served.crossed_low,
        })
    }

    /// Now, where something may go: what no limit of real time lets go ahead goes as best effort.
    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        self.has_work().then_some(now)
    }

    #[inline]
    fn waiting(&self) -> Waiting {
        let queued = self.queued();
        Waiting { pdus: queued.pdus, octets: queued.octets }
    }
}

impl<T> Blocking for FlowQueues<T> {
    #[inline]
    fn block(&mut self, flow: u32) {
        Self::block(self, flow);
    }

    #[inline]
    fn unblock(&mut self, flow: u32) {
        Self::unblock(self, flow);
    }
}
