//! Round trips and the retransmission timeout (RFC 6298).

use super::config::{Config, Estimator};
use gannet_machine::time::Duration;

/// The estimator of one connection.
#[derive(Debug, Clone)]
pub struct Timeout {
    estimator: Estimator,
    min: u64,
    max: u64,
    srtt: Option<u64>,
    /// Mean deviation in ns.
    deviation: u64,
    /// Four times the deviation that counts, in ns. `Linux` only: the largest of a round trip.
    variation: u64,
    /// The largest of this round trip.
    largest: u64,
    /// The round trip ends when this is acknowledged.
    round_ends: u64,
    shortest: Option<u64>,
    base: u64,
    doublings: u32,
}

impl Timeout {
    /// Before any round trip.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            estimator: config.estimator,
            min: config.rto_min.0,
            max: config.rto_max.0,
            srtt: None,
            deviation: 0,
            variation: 0,
            largest: 0,
            round_ends: 0,
            shortest: None,
            base: config.rto_initial.0,
            doublings: 0,
        }
    }

    /// The timeout as it is now, doublings included.
    #[must_use]
    pub fn current(&self) -> Duration {
        Duration(self.base.saturating_mul(1 << self.doublings.min(30)).min(self.max))
    }

    /// Smoothed round trip.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        match self.srtt {
            Some(srtt) => Some(Duration(srtt)),
            None => None,
        }
    }

    /// Shortest round trip.
    #[must_use]
    pub const fn shortest(&self) -> Option<Duration> {
        match self.shortest {
            Some(shortest) => Some(Duration(shortest)),
            None => None,
        }
    }

    /// Nobody answered: twice as long (RFC 6298 rule 5.5).
    pub const fn double(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// The doublings were not deserved: the timeout was spurious.
    pub const fn forgive(&mut self) {
        self.doublings = 0;
    }

    /// A round trip of a segment that was sent once, or of a timestamp (RFC 6298 clause 3). `una` is acknowledged, `nxt` is the
    /// next to be sent: they say when a round trip of the Linux estimator ends.
    pub fn sample(&mut self, Duration(rtt): Duration, una: u64, nxt: u64) {
        let rtt = rtt.max(1);
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        match self.estimator {
            Estimator::Standard => self.standard(rtt),
            Estimator::Linux => self.linux(rtt, una, nxt),
        }
        self.doublings = 0;
    }

    fn standard(&mut self, rtt: u64) {
        if let Some(srtt) = &mut self.srtt {
            self.deviation = (3 * self.deviation + srtt.abs_diff(rtt)) / 4;
            *srtt = (7 * *srtt + rtt) / 8;
        } else {
            self.srtt = Some(rtt);
            self.deviation = rtt / 2;
        }
        let sum = self.srtt.unwrap_or(rtt) + 4 * self.deviation;
        self.base = sum.clamp(self.min, self.max);
    }

    fn linux(&mut self, rtt: u64, una: u64, nxt: u64) {
        if let Some(srtt) = &mut self.srtt {
            let error = srtt.abs_diff(rtt);
            let is_shorter = rtt < *srtt;
            *srtt = (7 * *srtt + rtt) / 8;
            if error > self.deviation {
                // A shorter round trip makes the timeout hardly longer.
                let part = if is_shorter { 32 } else { 4 };
                self.deviation += (error - self.deviation) / part;
            } else {
                self.deviation -= (self.deviation - error) / 4;
            }
            self.largest = self.largest.max(4 * self.deviation);
            self.variation = self.variation.max(self.largest);
            if una > self.round_ends {
                self.variation -= (self.variation - self.largest) / 4;
                self.round_ends = nxt;
                self.largest = self.min;
            }
        } else {
            self.srtt = Some(rtt);
            self.deviation = rtt / 2;
            self.variation = (4 * self.deviation).max(self.min);
            self.largest = self.variation;
            self.round_ends = nxt;
        }
        self.base = (self.srtt.unwrap_or(rtt) + self.variation).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(of: u64) -> Duration {
        Duration::from_millis(of)
    }

    /// RFC 6298 rules 2.1 to 2.4, 5.5 and 3.
    #[test]
    fn the_standard_timeout() {
        let config = Config { rto_min: ms(1), ..Config::rfc() };
        let mut timeout = Timeout::new(&config);
        assert_eq!(timeout.current(), Duration::from_secs(1));
        timeout.sample(ms(800), 0, 0);
        // SRTT + 4 · R/2.
        assert_eq!(timeout.current(), ms(2400));
        timeout.sample(ms(400), 0, 0);
        // RTTVAR = 3/4 · 400 + 1/4 · 400, SRTT = 7/8 · 800 + 1/8 · 400.
        assert_eq!(timeout.current(), ms(750 + 1600));
        timeout.double();
        timeout.double();
        assert_eq!(timeout.current(), ms(4 * 2350));
        (0..40).for_each(|_| timeout.double());
        assert_eq!(timeout.current(), config.rto_max);
        timeout.sample(ms(750), 0, 0);
        assert!(timeout.current() < ms(2350), "a new round trip ends the doublings");
        let mut least = Timeout::new(&Config::rfc());
        least.sample(ms(10), 0, 0);
        assert_eq!(least.current(), Duration::from_secs(1));
    }

    /// Equal round trips have the minimum of the variation above them; a shorter one does not make the timeout longer.
    #[test]
    fn the_timeout_of_linux() {
        let mut timeout = Timeout::new(&Config::linux_2_4_2());
        let mut position = 0;
        for _ in 0..200 {
            position += 10;
            timeout.sample(ms(1000), position, position + 5);
        }
        let steady = timeout.current();
        assert!(steady >= ms(1200) && steady < ms(1205), "{steady}");
        timeout.sample(ms(200), position + 1, position + 5);
        assert!(timeout.current() <= steady, "{}", timeout.current());
        let mut standard = Timeout::new(&Config { rto_min: ms(200), ..Config::rfc() });
        (0..200).for_each(|_| standard.sample(ms(1000), 0, 0));
        standard.sample(ms(200), 0, 0);
        assert!(standard.current() > ms(1600), "RFC 6298 does: {}", standard.current());
        assert_eq!(timeout.shortest(), Some(ms(200)));
    }
}
