//! LL-PDUs for mobiles that are not in the cell where they wait: their mobile has left it, and the SGSN has not said yet what
//! becomes of them (08.18 clause 8.1).
//!
//! They are on no radio. They go with FLUSH-LL, or back to the radio where the mobile comes back, or when they have
//! waited for too long. Each mobile has a share of the room, and all together have a limit.

use super::radio::{Amount, Pending};
use gannet_machine::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What waits for one mobile in one cell.
#[derive(Debug)]
struct Waiting {
    pdus: VecDeque<Pending>,
    octets: u64,
    due: Instant,
}

/// Everything that waits for a mobile that is elsewhere.
#[derive(Debug)]
pub struct Away {
    /// By mobile and cell.
    waiting: BTreeMap<(u32, u32), Waiting>,
    due: BTreeSet<(Instant, u32, u32)>,
    frames: u32,
    frames_max: u32,
    lifetime: Duration,
}

impl Away {
    /// Room for so many LL-PDUs, which wait no longer than this for their mobile.
    #[must_use]
    pub const fn new(frames_max: u32, lifetime: Duration) -> Self {
        Self { waiting: BTreeMap::new(), due: BTreeSet::new(), frames: 0, frames_max, lifetime }
    }

    /// An LL-PDU waits behind those that do; it comes back where its mobile would have more than `octets_max`.
    ///
    /// # Errors
    /// The LL-PDU.
    pub fn push(&mut self, now: Instant, cell: u32, octets_max: u64, pdu: Pending) -> Result<(), Pending> {
        let (mobile, octets) = (pdu.mobile, pdu.frame.len() as u64);
        let has = self.waiting.get(&(mobile, cell)).map_or(0, |waiting| waiting.octets);
        if self.frames >= self.frames_max || has + octets > octets_max {
            return Err(pdu);
        }
        let due = now + self.lifetime;
        let waiting = self.waiting.entry((mobile, cell)).or_insert_with(|| {
            self.due.insert((due, mobile, cell));
            Waiting { pdus: VecDeque::new(), octets: 0, due }
        });
        waiting.octets += octets;
        waiting.pdus.push_back(pdu);
        self.frames += 1;
        Ok(())
    }

    /// Takes out all that waits for a mobile in a cell.
    pub fn take(&mut self, mobile: u32, cell: u32) -> VecDeque<Pending> {
        let Some(Waiting { pdus, due, .. }) = self.waiting.remove(&(mobile, cell)) else {
            return VecDeque::new();
        };
        self.due.remove(&(due, mobile, cell));
        self.frames -= u32::try_from(pdus.len()).unwrap_or(u32::MAX).min(self.frames);
        pdus
    }

    /// A mobile that was waited for too long, and where.
    #[must_use]
    pub fn overdue(&self, now: Instant) -> Option<(u32, u32)> {
        let (due, mobile, cell) = *self.due.first()?;
        (due <= now).then_some((mobile, cell))
    }

    /// When the next one will be.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, ..)| *due)
    }

    /// Mobiles for which something waits in a cell.
    pub fn mobiles_of(&self, cell: u32) -> impl Iterator<Item = u32> + '_ {
        self.waiting.keys().filter(move |(_, where_)| *where_ == cell).map(|(mobile, _)| *mobile)
    }

    /// What waits in a cell.
    #[must_use]
    pub fn waiting_in(&self, cell: u32) -> Amount {
        let here = self.waiting.iter().filter(|((_, where_), _)| *where_ == cell);
        here.flat_map(|(_, waiting)| &waiting.pdus).fold(Amount::default(), |mut sum, pdu| {
            sum.add(pdu.frame.len() as u64);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::radio::Urgency;
    use super::*;
    use gannet_machine::frame::FramePool;
    use gannet_wire::id::Tlli;

    fn pdu(pool: &FramePool, mobile: u32, octets: usize) -> Pending {
        let mut frame = pool.alloc().unwrap();
        assert!(frame.set_len(octets));
        Pending { mobile, tlli: Tlli(mobile), expires: Instant(u64::MAX), urgency: Urgency::Normal, frame }
    }

    #[test]
    fn it_has_a_limit_for_each_mobile_and_for_all_and_does_not_last() {
        let pool = FramePool::new(8);
        let mut away = Away::new(3, Duration(100));
        let mut push = |now, mobile, cell, octets| {
            away.push(Instant(now), cell, 500, pdu(&pool, mobile, octets)).is_ok()
        };
        assert!(push(0, 1, 7, 300) && push(50, 1, 7, 200) && !push(50, 1, 7, 1), "its share");
        assert!(push(60, 2, 7, 500) && !push(60, 3, 7, 1), "the room of all");
        assert_eq!((away.overdue(Instant(99)), away.next_due()), (None, Some(Instant(100))));
        assert_eq!((away.overdue(Instant(100)), away.waiting_in(7).octets), (Some((1, 7)), 1000));
        assert_eq!(away.mobiles_of(7).collect::<Vec<_>>(), [1, 2]);
        let taken = away.take(1, 7);
        assert_eq!(taken.iter().map(|pdu| pdu.frame.len()).collect::<Vec<_>>(), [300, 200]);
        drop(taken);
        assert_eq!((away.overdue(Instant(159)), away.overdue(Instant(160))), (None, Some((2, 7))));
        assert!(away.take(2, 8).is_empty() && away.take(2, 7).len() == 1);
        assert_eq!((away.next_due(), away.frames, pool.free()), (None, 0, 8));
    }
}
