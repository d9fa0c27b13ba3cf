//! A radio without RLC/MAC: for each cell and direction a queue, drained at the cell's rate, a delay and a loss.
//!
//! The queue is the real bucket behind the values that FLOW-CONTROL-BVC tells the SGSN. A PDU of L octets takes L/R
//! on the radio and arrives a constant delay after its last octet has gone. The end of each transmission is computed
//! from the beginning of the busy period, so that rounding to nanoseconds never adds up. The same serves both
//! directions.

use super::{Amount, Claim, Indication, LossCause, Pending, Radio, RadioConfig, Way};
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_qos::links::{Links, List};

/// The radios of all cells.
#[derive(Debug)]
pub struct EmulatedRadio {
    downlink: OneWay,
    uplink: OneWay,
    loss_percent: u8,
}

impl EmulatedRadio {
    /// Radios of cells with these directions, downlink first. Each direction has room for `frames_max` LL-PDUs in all,
    /// allocated now. Of a hundred LL-PDUs that go, `loss_percent` do not arrive.
    #[must_use]
    pub fn new(
        cells: impl IntoIterator<Item = (RadioConfig, RadioConfig)>,
        frames_max: u32,
        loss_percent: u8,
    ) -> Self {
        let (downlink, uplink): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        Self {
            downlink: OneWay::new(downlink, frames_max),
            uplink: OneWay::new(uplink, frames_max),
            loss_percent,
        }
    }

    const fn way(&self, way: Way) -> &OneWay {
        match way {
            Way::Downlink => &self.downlink,
            Way::Uplink => &self.uplink,
        }
    }

    const fn way_mut(&mut self, way: Way) -> &mut OneWay {
        match way {
            Way::Downlink => &mut self.downlink,
            Way::Uplink => &mut self.uplink,
        }
    }
}

impl Radio for EmulatedRadio {
    fn request(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending> {
        self.way_mut(way).push(now, cell, pdu, claim)
    }

    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        self.way(way).next_event(cell)
    }

    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        let loss = u64::from(self.loss_percent);
        Some(match self.way_mut(way).poll(cx.now, cell)? {
            Indication::Arrived(pdu) if loss > 0 && cx.rng.below(100) < loss => {
                Indication::Lost { pdu, cause: LossCause::Air }
            }
            other => other,
        })
    }

    fn waiting(&self, cell: u32, way: Way) -> Amount {
        self.way(way).queued(cell)
    }

    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        self.downlink.take_flying(cell, mobile, |pdu| out(Way::Downlink, pdu));
        self.downlink.take_out(now, cell, Some(mobile), |pdu| out(Way::Downlink, pdu));
        self.uplink.take_out(now, cell, Some(mobile), |pdu| out(Way::Uplink, pdu));
    }

    fn take_waiting(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        self.way_mut(way).take_out(now, cell, mobile, out);
    }

    /// What is sent to a suspended mobile goes on: the mobile does not hear it.
    fn set_suspended(&mut self, _: Instant, _: u32, _: bool) {}

    /// What is on the air goes on at the new rate from its beginning.
    fn reconfigure(&mut self, now: Instant, cell: u32, way: Way, config: RadioConfig) {
        self.way_mut(way).reconfigure(now, cell, config);
    }
}

#[derive(Debug)]
struct Cell {
    config: RadioConfig,
    queue: List,
    /// What has gone and not arrived yet.
    flying: List,
    octets: u64,
    /// When the transmitter began to be busy.
    busy_since: Instant,
    /// Octets of PDUs that it has finished since.
    finished_octets: u64,
    /// When the turn of the first in the queue came, where its lifetime was not looked at since.
    turn: Option<Instant>,
}

/// One direction of all cells.
#[derive(Debug)]
struct OneWay {
    cells: Vec<Cell>,
    pending: Vec<Option<Pending>>,
    /// When each that has gone arrives.
    arrival: Vec<Instant>,
    free: Vec<u32>,
    links: Links,
}

/// Octets at a rate, in nanoseconds, rounded up.
fn span_ns(octets: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(octets) * 8_000_000_000;
    u64::try_from(bits.div_ceil(u128::from(rate_bit_per_s.max(1)))).unwrap_or(u64::MAX)
}

impl OneWay {
    fn new(cells: impl IntoIterator<Item = RadioConfig>, frames_max: u32) -> Self {
        let cell = |config| Cell {
            config,
            queue: List::EMPTY,
            flying: List::EMPTY,
            octets: 0,
            busy_since: Instant::ZERO,
            finished_octets: 0,
            turn: None,
        };
        Self {
            cells: cells.into_iter().map(cell).collect(),
            pending: (0..frames_max).map(|_| None).collect(),
            arrival: vec![Instant::ZERO; frames_max as usize],
            free: (0..frames_max).rev().collect(),
            links: Links::new(frames_max as usize),
        }
    }

    fn reconfigure(&mut self, now: Instant, cell: u32, config: RadioConfig) {
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            cell.config = config;
            cell.restart(now);
        }
    }

    /// Puts an LL-PDU into a cell's queue, or gives it back where there is no room.
    fn push(&mut self, now: Instant, cell: u32, pdu: Pending, claim: Claim) -> Result<(), Pending> {
        let Some(state) = self.cells.get_mut(cell as usize) else { return Err(pdu) };
        let is_full = || state.octets_waiting(now) + pdu.frame.len() as u64 > state.config.queue_octets;
        if claim == Claim::New && is_full() {
            return Err(pdu);
        }
        let octets = pdu.frame.len() as u64;
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

    /// When the next LL-PDU of a cell has gone or arrives.
    fn next_event(&self, cell: u32) -> Option<Instant> {
        let arrival = self.cells.get(cell as usize)?.flying.first();
        let arrival = arrival.and_then(|at| self.arrival.get(at as usize)).copied();
        [arrival, self.next_gone(cell)].into_iter().flatten().min()
    }

    /// When the last octet of the LL-PDU on the air of a cell has gone.
    fn next_gone(&self, cell: u32) -> Option<Instant> {
        let cell = self.cells.get(cell as usize)?;
        let first = self.pending.get(cell.queue.first()? as usize)?.as_ref()?;
        let octets = cell.finished_octets + first.frame.len() as u64;
        Some(Instant(cell.busy_since.0.saturating_add(span_ns(octets, cell.config.rate_bit_per_s))))
    }

    /// The next LL-PDU that has arrived at `now`, after those whose lifetime had ended before their turn came.
    fn poll(&mut self, now: Instant, cell: u32) -> Option<Indication> {
        loop {
            let turn = self.cells.get(cell as usize)?.turn;
            if let Some(pdu) = turn.and_then(|turn| self.take_expired(cell, turn)) {
                return Some(Indication::Lost { pdu, cause: LossCause::Lifetime });
            }
            self.cells.get_mut(cell as usize)?.turn = None;
            let Some(gone) = self.next_gone(cell).filter(|gone| *gone <= now) else { break };
            self.launch(cell, gone);
        }
        let state = self.cells.get_mut(cell as usize)?;
        let first = state.flying.first()?;
        if *self.arrival.get(first as usize)? > now {
            return None;
        }
        self.links.remove(&mut state.flying, first);
        self.free.push(first);
        self.pending.get_mut(first as usize)?.take().map(Indication::Arrived)
    }

    /// The first LL-PDU of a queue has gone.
    fn launch(&mut self, cell: u32, gone: Instant) {
        let Some(cell) = self.cells.get_mut(cell as usize) else { return };
        let Some(at) = self.links.pop_front(&mut cell.queue) else { return };
        let octets =
            self.pending.get(at as usize).and_then(Option::as_ref).map_or(0, |pdu| pdu.frame.len() as u64);
        cell.octets = cell.octets.saturating_sub(octets);
        cell.finished_octets += octets;
        cell.turn = Some(gone);
        self.links.push_back(&mut cell.flying, at);
        if let Some(arrival) = self.arrival.get_mut(at as usize) {
            *arrival = gone + cell.config.delay;
        }
    }

    fn take_expired(&mut self, cell: u32, gone: Instant) -> Option<Pending> {
        let first = self.cells.get(cell as usize)?.queue.first()?;
        let expired = self.pending.get(first as usize)?.as_ref()?.expires <= gone;
        expired.then(|| self.take(cell, first)).flatten()
    }

    fn take(&mut self, cell: u32, at: u32) -> Option<Pending> {
        let cell = self.cells.get_mut(cell as usize)?;
        let pdu = self.pending.get_mut(at as usize)?.take()?;
        self.links.remove(&mut cell.queue, at);
        cell.octets = cell.octets.saturating_sub(pdu.frame.len() as u64);
        self.free.push(at);
        Some(pdu)
    }

    /// Takes the LL-PDUs of a mobile, or of all, out of a cell's queue, in their order.
    fn take_out(&mut self, now: Instant, cell: u32, mobile: Option<u32>, mut out: impl FnMut(Pending)) {
        let first = self.cells.get(cell as usize).and_then(|cell| cell.queue.first());
        let mut next = first;
        while let Some(at) = next {
            next = self.links.next(at);
            if !self.is_of(at, mobile) {
                continue;
            }
            let Some(pdu) = self.take(cell, at) else { continue };
            if Some(at) == first
                && let Some(state) = self.cells.get_mut(cell as usize)
            {
                state.restart(now);
            }
            out(pdu);
        }
    }

    /// Takes the LL-PDUs of a mobile that have gone and not arrived, in their order: it is not there any more, so it does not
    /// acknowledge them.
    fn take_flying(&mut self, cell: u32, mobile: u32, mut out: impl FnMut(Pending)) {
        let mut next = self.cells.get(cell as usize).and_then(|cell| cell.flying.first());
        while let Some(at) = next {
            next = self.links.next(at);
            if !self.is_of(at, Some(mobile)) {
                continue;
            }
            let Some(state) = self.cells.get_mut(cell as usize) else { return };
            self.links.remove(&mut state.flying, at);
            self.free.push(at);
            if let Some(pdu) = self.pending.get_mut(at as usize).and_then(Option::take) {
                out(pdu);
            }
        }
    }

    fn is_of(&self, at: u32, mobile: Option<u32>) -> bool {
        let pending = self.pending.get(at as usize).and_then(Option::as_ref);
        mobile.is_none_or(|mobile| pending.is_some_and(|pdu| pdu.mobile == mobile))
    }

    /// What waits in a cell, what is on the air included.
    fn queued(&self, cell: u32) -> Amount {
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
    use super::super::Urgency;
    use super::*;
    use gannet_machine::frame::FramePool;
    use gannet_machine::time::Duration;
    use gannet_wire::id::Tlli;

    const DELAY: u64 = 1_000_000;
    const NEVER: Instant = Instant(u64::MAX);

    struct Bench {
        pool: FramePool,
        radio: OneWay,
    }

    impl Bench {
        fn new() -> Self {
            let config = RadioConfig { rate_bit_per_s: 24_000, queue_octets: 1000, delay: Duration(DELAY) };
            Self { pool: FramePool::new(8), radio: OneWay::new([config; 2], 8) }
        }
        fn push(&mut self, now: u64, tlli: u32, octets: usize) -> bool {
            let mut frame = self.pool.alloc().unwrap();
            assert!(frame.set_len(octets));
            let pdu =
                Pending { mobile: tlli, tlli: Tlli(tlli), expires: NEVER, urgency: Urgency::Normal, frame };
            self.radio.push(Instant(now), 0, pdu, Claim::New).is_ok()
        }
        fn pop(&mut self, now: u64) -> Option<Pending> {
            self.poll(now, 0).map(arrived)
        }
        fn poll(&mut self, now: u64, cell: u32) -> Option<Indication> {
            self.radio.poll(Instant(now), cell)
        }
    }

    fn arrived(indication: Indication) -> Pending {
        let Indication::Arrived(pdu) = indication else { panic!("nothing is too old") };
        pdu
    }

    #[test]
    fn rounding_never_adds_up() {
        let mut bench = Bench::new();
        // 1 octet at 24 kbit/s takes 333 333.3 ns.
        for tlli in 0..3 {
            assert!(bench.push(0, tlli, 1));
        }
        for (gone, tlli) in [(333_334, 0), (666_667, 1), (1_000_000, 2)] {
            assert_eq!(bench.radio.next_event(0), Some(Instant(gone)));
            assert!(bench.pop(gone).is_none());
            assert!(bench.radio.cells[0].flying.len() == tlli + 1);
        }
        for arrival in [333_334, 666_667, 1_000_000] {
            assert_eq!(bench.radio.next_event(0), Some(Instant(arrival + DELAY)));
            assert!(bench.pop(arrival + DELAY - 1).is_none() && bench.pop(arrival + DELAY).is_some());
        }
        assert_eq!((bench.radio.next_event(0), bench.pool.free()), (None, 8));
    }

    #[test]
    fn what_has_gone_makes_room() {
        let mut bench = Bench::new();
        assert!(bench.push(0, 1, 900) && bench.push(0, 1, 100) && !bench.push(0, 1, 1));
        assert!(!bench.push(332_999, 1, 1) && bench.push(333_334, 1, 1));
        assert_eq!(bench.radio.queued(0), Amount { frames: 3, octets: 1001 });
    }

    #[test]
    fn what_is_too_old_when_its_turn_comes_is_not_sent() {
        let mut bench = Bench::new();
        assert!(bench.push(0, 1, 300) && bench.push(0, 2, 300) && bench.push(0, 3, 300));
        let second = bench.radio.links.next(bench.radio.cells[0].queue.first().unwrap()).unwrap();
        bench.radio.pending[second as usize].as_mut().unwrap().expires = Instant(100_000_000);
        let Some(Indication::Lost { pdu, cause: LossCause::Lifetime }) = bench.poll(100_000_000, 0) else {
            panic!("it is too old");
        };
        assert!(bench.poll(100_000_000, 0).is_none());
        assert_eq!((pdu.mobile, bench.radio.next_event(0)), (2, Some(Instant(101_000_000))));
        assert_eq!(bench.pop(101_000_000).unwrap().mobile, 1);
        assert_eq!(bench.radio.next_event(0), Some(Instant(200_000_000)));
        assert_eq!(bench.pop(201_000_000).unwrap().mobile, 3, "it began when the first had gone");
    }

    #[test]
    fn the_pdus_of_one_mobile_are_taken_out_in_their_order() {
        let mut bench = Bench::new();
        for (mobile, octets) in [(1, 300), (2, 100), (1, 200)] {
            assert!(bench.push(0, mobile, octets));
        }
        let mut taken = Vec::new();
        bench.radio.take_out(Instant(5), 0, Some(1), |pdu| taken.push(pdu));
        assert_eq!(taken.iter().map(|pdu| pdu.frame.len()).collect::<Vec<_>>(), [300, 200]);
        assert_eq!(bench.radio.next_event(0), Some(Instant(33_333_339)));
        for pdu in taken {
            assert!(bench.radio.push(Instant(5), 1, pdu, Claim::Moved).is_ok());
        }
        assert_eq!(bench.radio.next_event(1), Some(Instant(100_000_005)));
        assert!(bench.poll(100_500_000, 1).is_none(), "it has gone, and not arrived");
        let mut flying = Vec::new();
        bench.radio.take_flying(1, 2, |pdu| flying.push(pdu));
        bench.radio.take_flying(1, 1, |pdu| flying.push(pdu));
        assert_eq!(flying.iter().map(|pdu| pdu.frame.len()).collect::<Vec<_>>(), [300]);
        bench.radio.take_out(Instant(5), 0, None, |pdu| flying.push(pdu));
        let last = bench.poll(200_000_000, 1).map(arrived);
        assert_eq!((last.unwrap().frame.len(), flying.len(), bench.radio.queued(1).frames), (200, 2, 0));
    }

    #[test]
    fn what_was_taken_before_needs_no_room_in_its_cell() {
        let mut bench = Bench::new();
        assert!(bench.push(0, 1, 900) && !bench.push(0, 1, 200));
        let mut frame = bench.pool.alloc().unwrap();
        assert!(frame.set_len(200));
        let pdu = Pending { mobile: 1, tlli: Tlli(1), expires: NEVER, urgency: Urgency::Normal, frame };
        assert!(bench.radio.push(Instant(0), 0, pdu, Claim::Moved).is_ok());
        assert_eq!(bench.radio.queued(0).octets, 1100);
    }
}
