//! A link between two nodes: its rate, its delay, and what it does to datagrams on their way.

use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// What a link is like. Probabilities are 0.0 to 1.0.
#[derive(Debug, Clone, Copy)]
pub struct LinkProfile {
    /// Octets a second; `None` for a link that takes no time to send.
    pub rate_octets_per_s: Option<u64>,
    /// From one end to the other.
    pub delay: Duration,
    /// Up to this is added to the delay of each datagram that is reordered.
    pub reorder_delay: Duration,
    /// How likely a datagram is lost.
    pub loss: f64,
    /// How likely it arrives twice.
    pub duplication: f64,
    /// How likely it is late and is overtaken.
    pub reordering: f64,
    /// How likely one of its bits is turned over.
    pub damage: f64,
    /// Octets of the longest datagram that fits; longer ones are lost.
    pub mtu: Option<usize>,
}

impl Default for LinkProfile {
    fn default() -> Self {
        Self {
            rate_octets_per_s: None,
            delay: Duration::from_millis(1),
            reorder_delay: Duration::from_millis(20),
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            damage: 0.0,
            mtu: None,
        }
    }
}

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives once.
    Once(Instant),
    /// It arrives twice.
    Twice(Instant, Instant),
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct Link {
    /// What it is like; may be changed at any time.
    pub profile: LinkProfile,
    busy_until: Instant,
    /// Datagrams that were lost here.
    pub lost: u64,
    /// Datagrams that arrived twice.
    pub doubled: u64,
    /// Datagrams that were damaged.
    pub damaged: u64,
}

impl Link {
    /// An idle link.
    #[must_use]
    pub const fn new(profile: LinkProfile) -> Self {
        Self { profile, busy_until: Instant::ZERO, lost: 0, doubled: 0, damaged: 0 }
    }

    /// Sends a datagram of `octets` octets at `now`, perhaps damaged on its way.
    pub fn send(&mut self, now: Instant, rng: &mut Rng, octets: &mut [u8]) -> Fate {
        let start = self.busy_until.max(now);
        let sending = self.profile.rate_octets_per_s.map_or(Duration::ZERO, |rate| {
            Duration((octets.len() as u64).saturating_mul(1_000_000_000) / rate.max(1))
        });
        self.busy_until = start + sending;
        // Each kind of trouble throws its die only where it can happen: a clean link leaves the dice alone.
        let mut happens = |p: f64| p > 0.0 && rng.chance(p);
        if self.profile.mtu.is_some_and(|mtu| octets.len() > mtu) || happens(self.profile.loss) {
            self.lost += 1;
            return Fate::Lost;
        }
        let (double, late, damage) = (
            happens(self.profile.duplication),
            happens(self.profile.reordering),
            happens(self.profile.damage),
        );
        if damage && !octets.is_empty() {
            let bit = rng.below(octets.len() as u64 * 8);
            if let Some(octet) = usize::try_from(bit / 8).ok().and_then(|at| octets.get_mut(at)) {
                *octet ^= 1 << (bit % 8);
                self.damaged += 1;
            }
        }
        let mut arrival = self.busy_until + self.profile.delay;
        if late {
            arrival += Duration(rng.below(self.profile.reorder_delay.0));
        }
        if double {
            self.doubled += 1;
            return Fate::Twice(arrival, arrival + Duration(rng.below(self.profile.reorder_delay.0)));
        }
        Fate::Once(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_delay_add_up() {
        let profile = LinkProfile { rate_octets_per_s: Some(1000), ..LinkProfile::default() };
        let (mut link, mut rng) = (Link::new(profile), Rng::seeded(1));
        assert_eq!(link.send(Instant::ZERO, &mut rng, &mut [0; 100]), Fate::Once(Instant(101_000_000)));
        assert_eq!(link.send(Instant::ZERO, &mut rng, &mut [0; 100]), Fate::Once(Instant(201_000_000)));
    }

    #[test]
    fn loss_is_as_likely_as_it_says() {
        let profile = LinkProfile { loss: 0.05, damage: 1.0, ..LinkProfile::default() };
        let (mut link, mut rng) = (Link::new(profile), Rng::seeded(1));
        let mut ones = 0;
        for _ in 0..10_000 {
            let mut octets = [0_u8; 4];
            if link.send(Instant::ZERO, &mut rng, &mut octets) != Fate::Lost {
                ones += octets.iter().map(|octet| octet.count_ones()).sum::<u32>();
            }
        }
        assert!((400..600).contains(&link.lost), "{}", link.lost);
        assert_eq!(u64::from(ones), 10_000 - link.lost, "one bit each");
    }
}
