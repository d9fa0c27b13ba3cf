//! The octets of one direction that are sent and not acknowledged.

use super::number::Ranges;
use crate::record::{Proof, Stamp};
use std::collections::BTreeMap;

/// Segments in flight that are followed: more than the largest window of small ones. A hostile file has no more either.
const ENTRIES_MAX: usize = 65_536;
/// Ranges of selective acknowledgement that are followed.
const RANGES_MAX: usize = 4_096;

/// One sending of octets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) at: Stamp,
    pub(super) proof: Proof,
    pub(super) tsval: Option<u32>,
}

/// Octets that were sent together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) end: u64,
    pub(super) first: Sending,
    pub(super) last: Sending,
    pub(super) copies: u32,
    /// What was acknowledged when they were sent first.
    pub(super) una_then: u64,
}

/// What an acknowledgement has covered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Covered {
    /// The newest of it.
    pub(super) newest: Option<Sent>,
    /// Some of it was sent more than once.
    pub(super) has_again: bool,
}

/// What is in flight.
#[derive(Debug, Clone, Default)]
pub(super) struct Flight {
    sent: BTreeMap<u64, Sent>,
    pub(super) sacked: Ranges,
    /// Everything below is acknowledged.
    pub(super) una: u64,
    /// Nothing from here on was sent.
    pub(super) next: u64,
}

impl Flight {
    pub(super) const fn outstanding(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    /// Octets leave for the first time.
    pub(super) fn send(&mut self, start: u64, end: u64, sending: Sending) {
        if self.sent.len() >= ENTRIES_MAX {
            self.sent.pop_first();
        }
        let sent = Sent { end, first: sending, last: sending, copies: 1, una_then: self.una };
        self.sent.insert(start, sent);
        self.next = self.next.max(end);
    }

    /// Octets leave again. Gives the first of them as it was before; `None` where none of them is in flight.
    pub(super) fn send_again(&mut self, start: u64, end: u64, sending: Sending) -> Option<Sent> {
        self.split(start);
        self.split(end);
        let mut before = None;
        for (_, sent) in self.sent.range_mut(start..end) {
            before.get_or_insert(*sent);
            sent.copies += 1;
            sent.last = sending;
        }
        before
    }

    /// Everything below `ack` has arrived.
    pub(super) fn acknowledge(&mut self, ack: u64) -> Covered {
        self.split(ack);
        let mut covered = Covered::default();
        while let Some(entry) = self.sent.first_entry() {
            if *entry.key() >= ack {
                break;
            }
            let sent = entry.remove();
            covered.has_again |= sent.copies > 1;
            covered.newest = Some(sent);
        }
        self.una = self.una.max(ack);
        self.next = self.next.max(ack);
        self.sacked.forget_below(ack);
        covered
    }

    /// A range has arrived while something below has not. Gives whether that is new.
    pub(super) fn sack(&mut self, left: u64, right: u64) -> bool {
        if left < self.una || right > self.next || self.sacked.len() >= RANGES_MAX {
            return false;
        }
        self.sacked.add(left, right) > 0
    }

    /// Makes two of the octets that were sent together, at a number.
    fn split(&mut self, at: u64) {
        if let Some((_, sent)) = self.sent.range_mut(..at).next_back()
            && sent.end > at
        {
            let rest = *sent;
            sent.end = at;
            self.sent.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(at: u64) -> Sending {
        Sending { at: Stamp(at), proof: Proof { file: 0, frame: at }, tsval: None }
    }

    #[test]
    fn octets_sent_again_in_other_pieces_are_known() {
        let mut flight = Flight { una: 1_000, next: 1_000, ..Flight::default() };
        flight.send(1_000, 4_000, sending(1));
        flight.send(4_000, 5_000, sending(2));
        assert_eq!(flight.outstanding(), 4_000);
        let before = flight.send_again(2_000, 3_000, sending(3)).unwrap();
        assert_eq!((before.end, before.copies, before.first.at), (3_000, 1, Stamp(1)));
        let covered = flight.acknowledge(2_000);
        assert!(!covered.has_again && covered.newest.unwrap().end == 2_000);
        assert!(flight.sack(4_000, 5_000) && !flight.sack(4_000, 5_000) && !flight.sack(1_000, 2_000));
        assert!(!flight.sack(4_000, 6_000), "never sent");
        assert_eq!(flight.sacked.octets_from(0), 1_000);
        let covered = flight.acknowledge(4_500);
        assert!(covered.has_again && covered.newest.unwrap().end == 4_500);
        assert_eq!((flight.outstanding(), flight.sacked.octets_from(0)), (500, 500));
        assert!(flight.send_again(1_000, 4_500, sending(4)).is_none(), "acknowledged long ago");
    }

    #[test]
    fn a_flight_without_end_is_bounded() {
        let mut flight = Flight::default();
        for n in 0..ENTRIES_MAX as u64 + 10 {
            flight.send(n, n + 1, sending(n));
        }
        assert_eq!(flight.sent.len(), ENTRIES_MAX);
    }
}
