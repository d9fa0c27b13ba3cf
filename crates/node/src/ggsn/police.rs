//! The maximum bit rate of a context, held where the access point says so (23.107 clause 6.4.3.1): a token bucket for each direction.
//! A packet that finds its bucket in debt is dropped.

use gannet_machine::time::Instant;
use gannet_proto::classifier;
use gannet_qos::token_bucket::{Rate, TokenBucket};
use gannet_wire::gtp::Qos;
use gannet_wire::l3::ie::{BitRate, QosProfile};

/// What passes at once after a pause: what the rate allows in a fifth of a second, and at least two packets of an Ethernet.
const BURST_PART: u32 = 5;
const BURST_OCTETS_MIN: u32 = 3000;

/// Octets of a profile in which the second extension of the maximum bit rates is not zero, downlink and uplink (24.008 clause
/// 10.5.6.5): more than 256 Mbit/s.
const SECOND_EXTENSION: [usize; 2] = [16, 18];

/// The buckets of one context. A direction without a limit has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policer {
    uplink: Option<TokenBucket>,
    downlink: Option<TokenBucket>,
}

impl Policer {
    /// Full buckets for a quality of service.
    pub fn new(now: Instant, qos: &Qos) -> Self {
        let bucket = |octets_per_s: Option<u32>| {
            octets_per_s.map(|per_s| TokenBucket::new(now, Rate { per_s, burst: burst(per_s) }))
        };
        let [uplink, downlink] = rates(qos).map(bucket);
        Self { uplink, downlink }
    }

    /// May a packet from the mobile pass? Then it has taken its tokens.
    pub fn passes_uplink(&mut self, now: Instant, octets: usize) -> bool {
        passes(&mut self.uplink, now, octets)
    }

    /// The same of a packet to the mobile.
    pub fn passes_downlink(&mut self, now: Instant, octets: usize) -> bool {
        passes(&mut self.downlink, now, octets)
    }
}

/// The same buckets for a driver, uplink and downlink.
pub(super) fn policers(qos: &Qos) -> [Option<classifier::Policer>; 2] {
    rates(qos).map(|rate| {
        rate.map(|rate_octets_per_s| classifier::Policer {
            rate_octets_per_s,
            burst_octets: burst(rate_octets_per_s),
        })
    })
}

fn burst(octets_per_s: u32) -> u32 {
    (octets_per_s / BURST_PART).max(BURST_OCTETS_MIN)
}

fn passes(bucket: &mut Option<TokenBucket>, now: Instant, octets: usize) -> bool {
    let Some(bucket) = bucket else { return true };
    let conforms = bucket.conforms(now);
    if conforms {
        bucket.take(now, u32::try_from(octets).unwrap_or(u32::MAX));
    }
    conforms
}

/// The maximum bit rates uplink and downlink in octets/s; `None` for no limit. A profile of R97 has one for both, its peak throughput.
fn rates(qos: &Qos) -> [Option<u32>; 2] {
    let profile = qos.profile();
    let octets = qos.value.as_slice();
    let Some(r99) = profile.r99 else { return [peak(&profile); 2] };
    let octet = |place: usize| octets.get(place).copied().unwrap_or(0);
    let [beyond_down, beyond_up] = SECOND_EXTENSION.map(|place| octet(place) != 0);
    let of = |rate: BitRate, is_beyond: bool| rate.kbps().filter(|_| !is_beyond).map(|kbps| kbps * 125);
    [of(r99.mbr_up, beyond_up), of(r99.mbr_down, beyond_down)]
}

fn peak(profile: &QosProfile) -> Option<u32> {
    profile.peak.octets_per_s()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::time::Duration;
    use gannet_wire::l3::ie::{Octets, PeakThroughput};

    fn qos(octets: &[u8]) -> Qos {
        Qos { allocation_retention: 2, value: Octets::from_start(octets) }
    }

    #[test]
    fn the_rates_of_a_profile() {
        // R97: peak throughput class 2.
        assert_eq!(rates(&qos(&[0x23, 0x22, 0x1f])), [Some(2000); 2]);
        assert_eq!(PeakThroughput(2).octets_per_s(), Some(2000));
        // R99: 64 kbit/s uplink, 128 kbit/s downlink.
        let r99 = [0x23, 0x92, 0x1f, 0x73, 0x96, 0x40, 0x48, 0x74, 0x83, 0x40, 0x48];
        assert_eq!(rates(&qos(&r99)), [Some(8000), Some(16_000)]);
        // 0 kbit/s, and no limit where the subscription has it.
        let mut other = r99;
        (other[5], other[6]) = (0xff, 0);
        assert_eq!(rates(&qos(&other)), [Some(0), None]);
        // Octets 14 to 18: 16 Mbit/s uplink, 42 Mbit/s downlink.
        let mut extended = r99.to_vec();
        (extended[5], extended[6]) = (0xfe, 0xfe);
        extended.extend([0, 0x64, 0, 0x4a, 0]);
        assert_eq!(rates(&qos(&extended)), [Some(2_000_000), Some(5_250_000)]);
        // More than 256 Mbit/s downlink.
        extended.extend([1, 0, 0, 0]);
        assert_eq!(rates(&qos(&extended)), [Some(2_000_000), None]);
    }

    #[test]
    fn the_rate_holds_in_the_long_run() {
        let mut policer = Policer::new(Instant(0), &qos(&[0x23, 0x22, 0x1f]));
        let mut passed = 0;
        for step in 0..1000_u64 {
            let now = Instant(0) + Duration::from_millis(10 * step);
            passed += u32::from(policer.passes_uplink(now, 500)) * 500;
        }
        // Ten seconds at 2000 octets/s, the burst, and one packet.
        assert!((20_000..=23_500).contains(&passed), "{passed}");
        assert!(policer.passes_downlink(Instant(0), 500), "the other direction has its own");
    }
}
