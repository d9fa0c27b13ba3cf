//! What the emulated cells do with LL-PDUs: a queue each, drained at the cell's rate.
//!
//! The queue is the real bucket behind the values that FLOW-CONTROL-BVC tells the SGSN. A PDU of L octets takes L/R
//! on the radio and reaches its mobile when the last octet has gone. The end of each transmission is computed from
//! the beginning of the busy period, so that rounding to nanoseconds never adds up.

use gannet_proto::frame::Frame;
use gannet_proto::qos::links::{Links, List};
use gannet_proto::time::Instant;
use gannet_wire::id::Tlli;

/// An LL-PDU on its way over the radio.
#[derive(Debug)]
pub struct Pending {
    /// To whom.
    pub mobile: u32,
    /// By which name.
    pub tlli: Tlli,
    /// When its lifetime ends.
    pub expires: Instant,
    /// The LL-PDU.
    pub frame: Frame,
}

/// Frames and octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// LL-PDUs.
    pub frames: u32,
    /// Their octets.
    pub octets: u64,
}

impl Amount {
    fn add(&mut self, octets: u64) {
        self.frames += 1;
        self.octets += octets;
    }
}

/// Rate and room of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioConfig {
    /// What the cell transmits, in bit/s; at least 1.
    pub rate_bit_per_s: u64,
    /// Octets that may wait for it, those on the air included.
    pub queue_octets: u64,
}

#[derive(Debug)]
struct Cell {
    config: RadioConfig,
    queue: List,
    octets: u64,
    /// When the transmitter began to be busy.
    busy_since: Instant,
    /// Octets of PDUs that it has finished since.
    finished_octets: u64,
}

/// The radios of all cells.
#[derive(Debug)]
pub struct Radio {
    cells: Vec<Cell>,
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    links: Links,
}

/// Octets at a rate, in nanoseconds, rounded up.
fn span_ns(octets: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(octets) * 8_000_000_000;
    u64::try_from(bits.div_ceil(u128::from(rate_bit_per_s.max(1)))).unwrap_or(u64::MAX)
}

impl Radio {
    /// Radios of these cells with room for `frames_max` LL-PDUs in all, allocated now.
    #[must_use]
    pub fn new(cells: impl IntoIterator<Item = RadioConfig>, frames_max: u32) -> Self {
        let cell = |config| Cell {
            config,
            queue: List::EMPTY,
            octets: 0,
            busy_since: Instant::ZERO,
            finished_octets: 0,
        };
        Self {
            cells: cells.into_iter().map(cell).collect(),
            pending: (0..frames_max).map(|_| None).collect(),
            free: (0..frames_max).rev().collect(),
            links: Links::new(frames_max as usize),
        }
    }

    /// Changes what a cell transmits. What is on the air goes on at the new rate from its beginning.
    pub fn reconfigure(&mut self, now: Instant, cell: u32, config: RadioConfig) {
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            cell.config = config;
            cell.restart(now);
        }
    }

    /// Puts an LL-PDU into a cell's queue, or gives it back where there is no room.
    ///
    /// # Errors
    /// The LL-PDU.
    pub fn push(&mut self, now: Instant, cell: u32, pdu: Pending) -> Result<(), Pending> {
        let Some(state) = self.cells.get_mut(cell as usize) else { return Err(pdu) };
        let octets = pdu.frame.len() as u64;
        if state.octets_waiting(now) + octets > state.config.queue_octets {
            return Err(pdu);
        }
        let Some(at) = self.free.pop() else { return Err(pdu) };
        if state.queue.is_empty() {
            state.restart(now);
        }
        state.octets += octets;
        self.links.push_back(&mut state.queue, at);
        if let Some(place) = self.pending.get_mut(at as usize) {
            *place = Some(pdu);
        }
        Ok(())
    }

    /// When the LL-PDU on the air of a cell is complete.
    #[must_use]
    pub fn next_done(&self, cell: u32) -> Option<Instant> {
        let cell = self.cells.get(cell as usize)?;
        let first = self.pending.get(cell.queue.first()? as usize)?.as_ref()?;
        let octets = cell.finished_octets + first.frame.len() as u64;
        Some(Instant(cell.busy_since.0.saturating_add(span_ns(octets, cell.config.rate_bit_per_s))))
    }

    /// Takes the LL-PDU whose transmission is complete at `now`.
    pub fn pop_done(&mut self, now: Instant, cell: u32) -> Option<Pending> {
        if self.next_done(cell)? > now {
            return None;
        }
        let pdu = self.take_first(cell)?;
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            cell.finished_octets += pdu.frame.len() as u64;
        }
        Some(pdu)
    }

    /// Takes the LL-PDU that would go on the air next, where its lifetime has ended.
    pub fn pop_expired(&mut self, now: Instant, cell: u32) -> Option<Pending> {
        let first = self.cells.get(cell as usize)?.queue.first()?;
        let expired = self.pending.get(first as usize)?.as_ref()?.expires <= now;
        expired.then(|| self.take_first(cell)).flatten()
    }

    fn take_first(&mut self, cell: u32) -> Option<Pending> {
        let first = self.cells.get(cell as usize)?.queue.first()?;
        self.take(cell, first)
    }

    fn take(&mut self, cell: u32, at: u32) -> Option<Pending> {
        let cell = self.cells.get_mut(cell as usize)?;
        let pdu = self.pending.get_mut(at as usize)?.take()?;
        self.links.remove(&mut cell.queue, at);
        cell.octets = cell.octets.saturating_sub(pdu.frame.len() as u64);
        self.free.push(at);
        Some(pdu)
    }

    /// FLUSH-LL (08.18 clause 8.1): takes the LL-PDUs to `tlli` out of a cell's queue. `to` puts them, in their order,
    /// into another cell's, and what has no room there is given to `lost`, as all are where `to` is `None`.
    pub fn flush(
        &mut self,
        now: Instant,
        cell: u32,
        tlli: Option<Tlli>,
        to: Option<u32>,
        mut lost: impl FnMut(Pending),
    ) -> Amount {
        let mut flushed = Amount::default();
        let first = self.cells.get(cell as usize).and_then(|cell| cell.queue.first());
        let mut next = first;
        while let Some(at) = next {
            next = self.links.next(at);
            let named = self.pending.get(at as usize).and_then(Option::as_ref).map(|pdu| pdu.tlli);
            if tlli.is_some() && named != tlli {
                continue;
            }
            let Some(pdu) = self.take(cell, at) else { continue };
            if Some(at) == first
                && let Some(state) = self.cells.get_mut(cell as usize)
            {
                state.restart(now);
            }
            flushed.add(pdu.frame.len() as u64);
            let rest = match to {
                Some(to) => self.push(now, to, pdu).err(),
                None => Some(pdu),
            };
            if let Some(pdu) = rest {
                lost(pdu);
            }
        }
        flushed
    }

    /// What waits in a cell, what is on the air included.
    #[must_use]
    pub fn queued(&self, cell: u32) -> Amount {
        let cell = self.cells.get(cell as usize);
        cell.map_or_else(Amount::default, |cell| Amount { frames: cell.queue.len(), octets: cell.octets })
    }
}

impl Cell {
    /// A busy period begins at `now`.
    const fn restart(&mut self, now: Instant) {
        self.busy_since = now;
        self.finished_octets = 0;
    }

    /// Octets that are not on their way yet: what is queued, less what of the first has gone.
    fn octets_waiting(&self, now: Instant) -> u64 {
        if self.queue.is_empty() {
            return 0;
        }
        let bits = u128::from(now.since(self.busy_since).0) * u128::from(self.config.rate_bit_per_s);
        let gone = u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX);
        self.octets.saturating_sub(gone.saturating_sub(self.finished_octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::frame::FramePool;

    const NEVER: Instant = Instant(u64::MAX);

    struct Bench {
        pool: FramePool,
        radio: Radio,
    }

    impl Bench {
        fn new() -> Self {
            let config = RadioConfig { rate_bit_per_s: 24_000, queue_octets: 1000 };
            Self { pool: FramePool::new(8), radio: Radio::new([config; 2], 8) }
        }
        fn push(&mut self, now: u64, tlli: u32, octets: usize) -> bool {
            let mut frame = self.pool.alloc().unwrap();
            assert!(frame.set_len(octets));
            let pdu = Pending { mobile: tlli, tlli: Tlli(tlli), expires: NEVER, frame };
            self.radio.push(Instant(now), 0, pdu).is_ok()
        }
    }

    #[test]
    fn rounding_never_adds_up() {
        let mut bench = Bench::new();
        // 1 octet at 24 kbit/s takes 333 333.3 ns.
        for tlli in 0..3 {
            assert!(bench.push(0, tlli, 1));
        }
        for done in [333_334, 666_667, 1_000_000] {
            assert_eq!(bench.radio.next_done(0), Some(Instant(done)));
            assert!(bench.radio.pop_done(Instant(done - 1), 0).is_none());
            assert!(bench.radio.pop_done(Instant(done), 0).is_some());
        }
        assert_eq!((bench.radio.next_done(0), bench.pool.free()), (None, 8));
    }

    #[test]
    fn what_has_gone_makes_room() {
        let mut bench = Bench::new();
        assert!(bench.push(0, 1, 900) && bench.push(0, 1, 100) && !bench.push(0, 1, 1));
        assert!(!bench.push(332_999, 1, 1) && bench.push(333_334, 1, 1));
        assert_eq!(bench.radio.queued(0), Amount { frames: 3, octets: 1001 });
    }

    #[test]
    fn flush_moves_or_deletes_the_pdus_of_one_tlli() {
        let mut bench = Bench::new();
        for (tlli, octets) in [(1, 300), (2, 100), (1, 200)] {
            assert!(bench.push(0, tlli, octets));
        }
        let moved = bench.radio.flush(Instant(5), 0, Some(Tlli(1)), Some(1), |_| panic!("there is room"));
        assert_eq!(moved, Amount { frames: 2, octets: 500 });
        assert_eq!(bench.radio.next_done(1), Some(Instant(100_000_005)));
        assert_eq!(bench.radio.next_done(0), Some(Instant(33_333_339)));
        assert_eq!(bench.radio.pop_done(Instant(200_000_000), 1).unwrap().frame.len(), 300);
        let mut lost = 0;
        assert_eq!(bench.radio.flush(Instant(5), 0, None, None, |_| lost += 1).octets, 100);
        assert_eq!(
            (lost, bench.radio.queued(1).frames, bench.radio.pop_expired(NEVER, 1).is_some()),
            (1, 1, true)
        );
        assert_eq!(bench.pool.free(), 8);
    }
}
