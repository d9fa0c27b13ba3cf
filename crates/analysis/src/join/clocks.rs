//! How far the clock of one file is ahead of another's, from packets that both have.
//!
//! A packet that goes one way is seen in the second file after a transit, one that goes the other way before it:
//! `δ₁ = offset + transit`, `δ₂ = offset − transit`. No transit is below zero, so the offset lies between the largest `δ₂` and the
//! smallest `δ₁`, which the packets of the shortest transits give, whatever queues do to the others. The middle is taken, and half of
//! the range bounds the error: the two ways may take unequal time. Where the clocks drift apart by more than that, the range is empty,
//! and the medians stand for its ends.

use crate::record::{Kind, Packet};
use std::collections::HashMap;

/// Packets that are remembered, of all files.
const REMEMBERED: usize = 1_000_000;
/// Differences that are kept for each pair of places.
const SAMPLES_MAX: usize = 10_000;
/// Packets each way below which nothing is said.
const SAMPLES_MIN: usize = 3;

/// A place as clocks see it: file and kind.
type At = (u16, Kind);

#[derive(Debug, Default)]
struct Samples {
    there: Vec<i64>,
    back: Vec<i64>,
}

/// How far a clock is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// The file.
    pub file: u16,
    /// Ahead of this file's clock.
    pub of: u16,
    /// Nanoseconds.
    pub ahead_ns: i64,
    /// Nanoseconds that the truth may be off: the transit between both places.
    pub uncertainty_ns: u64,
    /// Packets that went one way and the other.
    pub packets: (usize, usize),
}

/// Packets of files, and the differences of their times.
#[derive(Debug, Default)]
pub struct Clocks {
    seen: HashMap<u64, Vec<(At, u64)>, foldhash::quality::RandomState>,
    samples: HashMap<(At, At), Samples, foldhash::quality::RandomState>,
}

fn median(samples: &mut [i64]) -> Option<i64> {
    let middle = samples.len() / 2;
    (!samples.is_empty()).then(|| *samples.select_nth_unstable(middle).1)
}

/// The ends of the range in which the offset lies.
fn range(one: &mut [i64], other: &mut [i64]) -> Option<(i64, i64)> {
    let (one_median, other_median) = median(one).zip(median(other))?;
    // Those that go from the first place to the second have the larger differences.
    let (low, high) = if one_median < other_median { (&*one, &*other) } else { (&*other, &*one) };
    let bounds = low.iter().max().copied().zip(high.iter().min().copied())?;
    let medians = (one_median.min(other_median), one_median.max(other_median));
    Some(if bounds.0 <= bounds.1 { bounds } else { medians })
}

impl Clocks {
    /// Takes a packet: the first sighting at each place counts.
    pub fn take(&mut self, file: u16, kind: Kind, at_ns: u64, packet: &Packet) {
        let (Some(digest), Some(ip)) = (packet.digest, packet.ip) else { return };
        if self.seen.len() == REMEMBERED && !self.seen.contains_key(&digest) {
            return;
        }
        let at = (file, kind);
        let sightings = self.seen.entry(digest).or_default();
        if sightings.iter().any(|(other, _)| *other == at) {
            return;
        }
        // Which way it goes matters not, as long as its like go the same way.
        let goes_there = ip.source < ip.destination;
        for (other, other_ns) in sightings.iter().filter(|((other, _), _)| *other != file) {
            let (pair, difference) = match other.0 < file {
                true => ((*other, at), at_ns.wrapping_sub(*other_ns).cast_signed()),
                false => ((at, *other), other_ns.wrapping_sub(at_ns).cast_signed()),
            };
            let samples = self.samples.entry(pair).or_default();
            let samples = if goes_there { &mut samples.there } else { &mut samples.back };
            if samples.len() < SAMPLES_MAX {
                samples.push(difference);
            }
        }
        sightings.push((at, at_ns));
    }

    /// What is known of each file but the first, from the pair of places with the least transit.
    #[must_use]
    pub fn ahead(mut self, files: u16) -> Vec<Ahead> {
        let mut best: HashMap<(u16, u16), Ahead> = HashMap::new();
        for (((one, _), (other, _)), samples) in &mut self.samples {
            let packets = (samples.there.len(), samples.back.len());
            if packets.0.min(packets.1) < SAMPLES_MIN {
                continue;
            }
            let Some((low, high)) = range(&mut samples.there, &mut samples.back) else { continue };
            let ahead_ns = low / 2 + high / 2;
            let uncertainty_ns = low.abs_diff(high) / 2;
            let ahead = Ahead { file: *other, of: *one, ahead_ns, uncertainty_ns, packets };
            let known = best.entry((*one, *other)).or_insert(ahead);
            if uncertainty_ns < known.uncertainty_ns {
                *known = ahead;
            }
        }
        // Each file by way of those that are known, the most certain first.
        let mut known: HashMap<u16, (i64, u64)> = HashMap::from([(0, (0, 0))]);
        let mut found = Vec::new();
        while let Some((next, ahead_ns, uncertainty_ns)) = best
            .values()
            .filter_map(|it| match (known.get(&it.of), known.get(&it.file)) {
                (Some((base, error)), None) => Some((*it, base + it.ahead_ns, error + it.uncertainty_ns)),
                (None, Some((base, error))) => {
                    let turned = Ahead { file: it.of, of: it.file, ahead_ns: -it.ahead_ns, ..*it };
                    Some((turned, base - it.ahead_ns, error + it.uncertainty_ns))
                }
                _ => None,
            })
            .min_by_key(|(it, _, uncertainty)| (*uncertainty, it.file))
        {
            known.insert(next.file, (ahead_ns, uncertainty_ns));
            found.push(Ahead { of: 0, ahead_ns, uncertainty_ns, ..next });
        }
        found.retain(|ahead| ahead.file < files);
        found.sort_by_key(|ahead| ahead.file);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Carrier, IpSummary, Proof, Stamp};
    use core::net::Ipv4Addr;

    fn packet(number: u64, up: bool) -> Packet {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
        let (source, destination) = if up { (a, b) } else { (b, a) };
        let ip = IpSummary {
            source,
            destination,
            protocol: 17,
            identification: 0,
            ports: None,
            icmp_type: None,
            is_fragment: false,
        };
        let first = Proof { file: 0, frame: 1 };
        Packet {
            direction: None,
            mobile: None,
            digest: Some(number),
            ip: Some(ip),
            octets: 100,
            began: Stamp(0),
            first,
            carrier: Carrier::Plain,
        }
    }

    #[test]
    fn an_offset_is_found_within_the_transit() {
        let mut clocks = Clocks::default();
        // File 1 is 7 ms ahead; the way up takes 3 ms, the way down 1 ms. File 2 is 2 s behind and next to file 1.
        for number in 0..20 {
            let at = 1_000_000_000 * number;
            let (first, second) = if number % 2 == 0 { (at, at + 3_000_000) } else { (at + 1_000_000, at) };
            let packet = packet(number, number % 2 == 0);
            clocks.take(0, Kind::Ip, 10_000_000_000 + first, &packet);
            clocks.take(1, Kind::Gn, 10_007_000_000 + second, &packet);
            clocks.take(2, Kind::Gn, 8_000_000_000 + second, &packet);
        }
        let [one, two] = clocks.ahead(3)[..] else { panic!() };
        assert_eq!(
            (one.file, one.ahead_ns, one.uncertainty_ns, one.packets),
            (1, 8_000_000, 2_000_000, (10, 10))
        );
        assert!(one.ahead_ns.abs_diff(7_000_000) <= one.uncertainty_ns);
        assert_eq!((two.file, two.uncertainty_ns), (2, 2_000_000));
        assert!(two.ahead_ns.abs_diff(-2_000_000_000) <= two.uncertainty_ns);
    }

    #[test]
    fn packets_that_waited_in_a_queue_say_nothing_of_clocks() {
        let mut clocks = Clocks::default();
        // File 1 is 500 ms ahead. The ways take 2 ms; upward most packets wait up to 900 ms besides.
        for number in 0..100 {
            let at = 10_000_000_000 + 1_000_000_000 * number;
            let (first, second) = if number % 2 == 0 {
                (at, at + 2_000_000 + 9_000_000 * number)
            } else {
                (at + 2_000_000, at)
            };
            let packet = packet(number, number % 2 == 0);
            clocks.take(0, Kind::Ip, first, &packet);
            clocks.take(1, Kind::Ip, 500_000_000 + second, &packet);
        }
        let [one] = clocks.ahead(2)[..] else { panic!() };
        assert_eq!((one.ahead_ns, one.uncertainty_ns), (500_000_000, 2_000_000));
    }

    #[test]
    fn clocks_that_drift_apart_have_an_offset_in_the_mean() {
        let mut clocks = Clocks::default();
        // The ways take 1 ms; file 1 is 0 to 99 ms ahead.
        for number in 0..100 {
            let at = 10_000_000_000 + 1_000_000_000 * number;
            let (first, second) = if number % 2 == 0 { (at, at + 1_000_000) } else { (at + 1_000_000, at) };
            let packet = packet(number, number % 2 == 0);
            clocks.take(0, Kind::Ip, first, &packet);
            clocks.take(1, Kind::Ip, 1_000_000 * number + second, &packet);
        }
        let [one] = clocks.ahead(2)[..] else { panic!() };
        assert!(one.ahead_ns.abs_diff(50_000_000) <= 2_000_000, "{one:?}");
    }

    #[test]
    fn one_way_says_nothing() {
        let mut clocks = Clocks::default();
        for number in 0..20 {
            clocks.take(0, Kind::Ip, number, &packet(number, true));
            clocks.take(1, Kind::Ip, number + 5, &packet(number, true));
        }
        assert_eq!(clocks.ahead(2), []);
    }
}
