//! A radio that is a link layer: an LL-PDU goes at once, or waits while the link in front of it takes nothing more.
//!
//! The queue is the real one: it has what the driver has said not to give it ([`Radio::hold_back`]), and what is for a link
//! that is gone ([`Radio::hold_cell`]). Uplink nothing waits, as what comes has come.

use super::{Amount, Claim, Indication, LossCause, Pending, Radio, RadioConfig, Way};
use gannet_machine::Context;
use gannet_machine::time::Instant;
use std::collections::VecDeque;

#[derive(Debug)]
struct Queue {
    waiting: VecDeque<Pending>,
    octets: u64,
    octets_max: u64,
}

impl Queue {
    const fn new(octets_max: u64) -> Self {
        Self { waiting: VecDeque::new(), octets: 0, octets_max }
    }

    fn pop(&mut self) -> Option<Pending> {
        let pdu = self.waiting.pop_front()?;
        self.octets -= pdu.frame.len() as u64;
        Some(pdu)
    }

    fn take(&mut self, mobile: Option<u32>, mut out: impl FnMut(Pending)) {
        for _ in 0..self.waiting.len() {
            let Some(pdu) = self.pop() else { return };
            if mobile.is_none_or(|mobile| mobile == pdu.mobile) {
                out(pdu);
            } else {
                self.octets += pdu.frame.len() as u64;
                self.waiting.push_back(pdu);
            }
        }
    }
}

/// The link of a cell.
#[derive(Debug)]
struct Cell {
    ways: [Queue; 2],
    is_gone: bool,
}

/// The links of all cells.
#[derive(Debug)]
pub struct AdaptationRadio {
    cells: Vec<Cell>,
    /// LL-PDUs that may wait in all cells.
    frames_max: usize,
    frames: usize,
    is_held: bool,
}

const fn index(way: Way) -> usize {
    match way {
        Way::Downlink => 0,
        Way::Uplink => 1,
    }
}

impl AdaptationRadio {
    /// Links of cells with this room, in octets, in each direction; for `frames_max` LL-PDUs in all.
    #[must_use]
    pub fn new(rooms: impl IntoIterator<Item = u64>, frames_max: u32) -> Self {
        let cell = |room| Cell { ways: [Queue::new(room), Queue::new(room)], is_gone: false };
        Self {
            cells: rooms.into_iter().map(cell).collect(),
            frames_max: frames_max as usize,
            frames: 0,
            is_held: false,
        }
    }

    fn queue(&self, cell: u32, way: Way) -> Option<&Queue> {
        self.cells.get(cell as usize)?.ways.get(index(way))
    }

    fn queue_mut(&mut self, cell: u32, way: Way) -> Option<&mut Queue> {
        self.cells.get_mut(cell as usize)?.ways.get_mut(index(way))
    }

    fn may_go(&self, cell: u32, way: Way) -> bool {
        let is_gone = self.cells.get(cell as usize).is_none_or(|cell| cell.is_gone);
        way == Way::Uplink || !(self.is_held || is_gone)
    }
}

impl Radio for AdaptationRadio {
    fn request(
        &mut self,
        _: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending> {
        let has_frame = self.frames < self.frames_max;
        let Some(queue) = self.queue_mut(cell, way) else { return Err(pdu) };
        let octets = queue.octets + pdu.frame.len() as u64;
        if !has_frame || claim == Claim::New && octets > queue.octets_max {
            return Err(pdu);
        }
        queue.octets = octets;
        queue.waiting.push_back(pdu);
        self.frames += 1;
        Ok(())
    }

    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        let waits = !self.queue(cell, way)?.waiting.is_empty();
        (waits && self.may_go(cell, way)).then_some(Instant::ZERO)
    }

    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        if !self.may_go(cell, way) {
            return None;
        }
        let pdu = self.queue_mut(cell, way)?.pop()?;
        self.frames -= 1;
        Some(if pdu.expires <= cx.now {
            Indication::Lost { pdu, cause: LossCause::Lifetime }
        } else {
            Indication::Arrived(pdu)
        })
    }

    fn waiting(&self, cell: u32, way: Way) -> Amount {
        self.queue(cell, way).map_or_else(Amount::default, |queue| Amount {
            frames: u32::try_from(queue.waiting.len()).unwrap_or(u32::MAX),
            octets: queue.octets,
        })
    }

    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        for way in [Way::Downlink, Way::Uplink] {
            self.take_waiting(now, cell, way, Some(mobile), &mut |pdu| out(way, pdu));
        }
    }

    fn take_waiting(
        &mut self,
        _: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        let Some(queue) = self.queue_mut(cell, way) else { return };
        let before = queue.waiting.len();
        queue.take(mobile, out);
        self.frames -= before - self.queue(cell, way).map_or(before, |queue| queue.waiting.len());
    }

    /// The mobile does not listen: what is sent to it is lost there, as on the air.
    fn set_suspended(&mut self, _: Instant, _: u32, _: bool) {}

    fn reconfigure(&mut self, _: Instant, cell: u32, way: Way, config: RadioConfig) {
        if let Some(queue) = self.queue_mut(cell, way) {
            queue.octets_max = config.queue_octets;
        }
    }

    fn hold_back(&mut self, on: bool) {
        self.is_held = on;
    }

    fn hold_cell(&mut self, cell: u32, on: bool) {
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            cell.is_gone = on;
        }
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Urgency;
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;
    use gannet_wire::id::Tlli;

    struct Bench {
        around: Surroundings<Quiet>,
        radio: AdaptationRadio,
    }

    impl Bench {
        fn new() -> Self {
            let around = Surroundings::new(1, 16, Quiet::default());
            Self { around, radio: AdaptationRadio::new([1000, 1000], 8) }
        }

        fn request(&mut self, cell: u32, mobile: u32, octets: usize, claim: Claim) -> bool {
            let mut frame = self.around.frames.alloc().unwrap();
            assert!(frame.set_len(octets));
            let expires = Instant(u64::from(mobile) * 100);
            let pdu = Pending { mobile, tlli: Tlli(mobile), expires, urgency: Urgency::Normal, frame };
            self.radio.request(Instant::ZERO, cell, Way::Downlink, pdu, claim).is_ok()
        }

        /// The mobile of the next that arrives, or minus that of one whose lifetime has ended.
        fn next(&mut self, cell: u32) -> Option<i64> {
            match self.radio.indication(&mut self.around.context(), cell, Way::Downlink)? {
                Indication::Arrived(pdu) => Some(i64::from(pdu.mobile)),
                Indication::Lost { pdu, cause: LossCause::Lifetime } => Some(-i64::from(pdu.mobile)),
                Indication::Lost { .. } => panic!("no loss on the way"),
            }
        }
    }

    #[test]
    fn what_the_link_takes_goes_at_once_and_in_its_order() {
        let mut bench = Bench::new();
        assert!(bench.request(0, 1, 300, Claim::New) && bench.request(0, 2, 300, Claim::New));
        assert_eq!(bench.radio.next_event(0, Way::Downlink), Some(Instant::ZERO));
        assert_eq!((bench.next(0), bench.next(0), bench.next(0)), (Some(1), Some(2), None));
        assert_eq!((bench.radio.next_event(0, Way::Downlink), bench.around.frames.free()), (None, 16));
        assert!(!bench.request(2, 1, 1, Claim::New), "no such cell");
    }

    #[test]
    fn what_the_link_does_not_take_waits_up_to_its_room_and_lifetime() {
        let mut bench = Bench::new();
        bench.radio.hold_back(true);
        for mobile in 1..=3 {
            assert!(bench.request(0, mobile, 300, Claim::New));
        }
        assert!(!bench.request(0, 4, 101, Claim::New) && bench.request(0, 4, 101, Claim::Moved));
        assert_eq!(bench.radio.waiting(0, Way::Downlink), Amount { frames: 4, octets: 1001 });
        assert_eq!((bench.radio.next_event(0, Way::Downlink), bench.next(0)), (None, None));
        bench.around.now = Instant(200);
        bench.radio.hold_back(false);
        let came = [bench.next(0), bench.next(0), bench.next(0), bench.next(0)];
        assert_eq!(came, [Some(-1), Some(-2), Some(3), Some(4)]);
        bench.radio.hold_back(true);
        for _ in 0..8 {
            assert!(bench.request(1, 1, 1, Claim::New));
        }
        assert!(!bench.request(0, 1, 1, Claim::Moved), "so many in all cells");
    }

    #[test]
    fn what_is_for_a_link_that_is_gone_waits_and_others_go() {
        let mut bench = Bench::new();
        bench.radio.hold_cell(0, true);
        assert!(bench.request(0, 1, 300, Claim::New) && bench.request(1, 2, 300, Claim::New));
        assert_eq!((bench.radio.next_event(0, Way::Downlink), bench.next(0)), (None, None));
        assert_eq!(bench.next(1), Some(2));
        bench.radio.hold_back(true);
        bench.radio.hold_cell(0, false);
        assert_eq!(bench.next(0), None, "the driver takes nothing");
        bench.radio.hold_back(false);
        assert_eq!(bench.next(0), Some(1));
        bench.radio.hold_cell(7, true);
    }

    #[test]
    fn a_mobile_that_leaves_takes_its_own() {
        let mut bench = Bench::new();
        bench.radio.hold_back(true);
        for mobile in [1, 2, 1, 3] {
            assert!(bench.request(0, mobile, 100 + mobile as usize, Claim::New));
        }
        let mut left = Vec::new();
        bench.radio.leave(Instant::ZERO, 0, 1, &mut |way, pdu| left.push((way, pdu.frame.len())));
        assert_eq!(left, [(Way::Downlink, 101); 2]);
        assert_eq!(bench.radio.waiting(0, Way::Downlink), Amount { frames: 2, octets: 205 });
        left.clear();
        bench.radio.take_waiting(Instant::ZERO, 0, Way::Downlink, None, &mut |pdu| {
            left.push((Way::Downlink, pdu.frame.len()));
        });
        assert_eq!((left.len(), bench.radio.frames), (2, 0));
    }
}
