//! Fragments of IP packets (RFC 791): a datagram of Gb or Gn that one frame did not hold.

use core::net::IpAddr;
use std::collections::{HashMap, VecDeque};

/// Packets whose fragments wait.
const PACKETS_MAX: usize = 256;
/// Octets of the longest packet.
const OCTETS_MAX: usize = 65_535;
const PIECES_MAX: usize = 64;

/// What the fragments of one packet have in common: addresses, protocol, identification.
pub type Whole = (IpAddr, IpAddr, u8, u32);

#[derive(Debug, Default)]
struct Waiting {
    octets: Vec<u8>,
    /// Pieces that are there: from, to.
    pieces: Vec<(usize, usize)>,
    end: Option<usize>,
}

/// Fragments that wait for others.
#[derive(Debug, Default)]
pub struct Fragments {
    waiting: HashMap<Whole, Waiting, foldhash::quality::RandomState>,
    order: VecDeque<Whole>,
    /// Packets that were given up.
    pub given_up: u64,
}

impl Fragments {
    /// Takes a fragment. The packet's payload once it is complete.
    pub fn take(&mut self, whole: Whole, (at, more): (u16, bool), piece: &[u8]) -> Option<Vec<u8>> {
        let from = usize::from(at);
        let to = from + piece.len();
        if to > OCTETS_MAX || piece.is_empty() {
            return None;
        }
        if !self.waiting.contains_key(&whole) {
            if self.order.len() == PACKETS_MAX {
                self.forget_oldest();
            }
            self.order.push_back(whole);
        }
        let waiting = self.waiting.entry(whole).or_default();
        if waiting.pieces.len() == PIECES_MAX {
            return None;
        }
        if waiting.octets.len() < to {
            waiting.octets.resize(to, 0);
        }
        waiting.octets.get_mut(from..to)?.copy_from_slice(piece);
        waiting.pieces.push((from, to));
        if !more {
            waiting.end = Some(to);
        }
        let end = waiting.end?;
        waiting.pieces.sort_unstable();
        let reached = waiting
            .pieces
            .iter()
            .fold(0, |reached, (from, to)| if *from <= reached { reached.max(*to) } else { reached });
        if reached < end {
            return None;
        }
        let mut complete = self.waiting.remove(&whole)?;
        self.order.retain(|other| *other != whole);
        complete.octets.truncate(end);
        Some(complete.octets)
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.order.pop_front() {
            self.waiting.remove(&oldest);
            self.given_up += 1;
        }
    }

    /// Packets of which not all fragments were seen so far.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.given_up + self.order.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn whole(id: u32) -> Whole {
        (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into(), 17, id)
    }

    #[test]
    fn fragments_in_any_order_make_a_packet() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.take(whole(1), (16, false), b"third"), None);
        assert_eq!(fragments.take(whole(1), (0, true), b"first---"), None);
        assert_eq!(fragments.take(whole(2), (0, true), b"another-"), None);
        assert_eq!(
            fragments.take(whole(1), (8, true), b"second--").as_deref(),
            Some(&b"first---second--third"[..])
        );
        assert_eq!(fragments.incomplete(), 1);
    }

    #[test]
    fn a_crowd_of_beginnings_stays_within_the_limit() {
        let mut fragments = Fragments::default();
        for id in 0..2 * u32::try_from(PACKETS_MAX).unwrap() {
            assert_eq!(fragments.take(whole(id), (0, true), b"12345678"), None);
        }
        assert_eq!(fragments.waiting.len(), PACKETS_MAX);
        assert_eq!(fragments.given_up, PACKETS_MAX as u64);
        assert_eq!(fragments.take(whole(9999), (65_528, false), b"12345678"), None);
    }
}
