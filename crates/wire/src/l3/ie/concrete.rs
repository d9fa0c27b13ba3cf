//! Profiles of which every value says something.
//!
//! A mobile may leave each value of its profile to the subscription, with 0. In what the network answers, and between the
//! nodes, 0 and the highest value of most fields are reserved, and others are not defined (clause 10.5.6.5). Before a
//! profile is granted, [`QosProfile::concrete`] replaces all of these.

use super::qos::{
    BitRate, DelayClass, MeanThroughput, PeakThroughput, PrecedenceClass, QosProfile, QosR99,
    ReliabilityClass, TrafficClass,
};

/// No bit rate at all, 0 kbit/s.
const NO_RATE: BitRate = BitRate { code: 255, extended: 0 };
/// Maximum SDU size: 1500 octets, as 23.107 clause 9.1.2.3 has it for a profile of R97.
const SDU_1500: u8 = 150;
/// Transfer delay: 100 ms, 300 ms, and 4000 ms, the longest, where it does not count.
const DELAY_100_MS: u8 = 10;
const DELAY_300_MS: u8 = 18;
const DELAY_4000_MS: u8 = 62;
/// The code of the largest extended bit rate, 256 Mbit/s.
const EXTENDED_MAX: u8 = 0xfa;

impl QosR99 {
    /// Nothing is guaranteed: 0 kbit/s, the longest transfer delay.
    pub const fn guarantee_nothing(&mut self) {
        self.gbr_up = NO_RATE;
        self.gbr_down = NO_RATE;
        self.transfer_delay = DELAY_4000_MS;
    }

    /// What R99 says of a profile of R97 whose values are concrete (23.107 clause 9.1.2.3, table 7).
    fn of_r97(profile: &QosProfile) -> Self {
        let (traffic_class, handling_priority) = match profile.delay {
            DelayClass::BEST_EFFORT => (TrafficClass::BACKGROUND, 3),
            DelayClass(class) => (TrafficClass::INTERACTIVE, class.clamp(1, 3)),
        };
        let sdu_error_ratio = match profile.reliability {
            ReliabilityClass::ONE | ReliabilityClass::TWO => 6,
            ReliabilityClass::THREE => 4,
            _ => 3,
        };
        let (residual_ber, erroneous_sdus) =
            if profile.reliability == ReliabilityClass::FIVE { (4, 2) } else { (7, 3) };
        let kbps = profile.peak.octets_per_s().unwrap_or(1000) / 125;
        let mut r99 = Self {
            traffic_class,
            delivery_order: 2,
            erroneous_sdus,
            max_sdu: SDU_1500,
            mbr_up: BitRate::from_kbps(kbps),
            mbr_down: BitRate::from_kbps(kbps),
            residual_ber,
            sdu_error_ratio,
            handling_priority,
            ..Self::default()
        };
        r99.guarantee_nothing();
        r99
    }

    /// With the values of `base` in the place of what is not concrete.
    fn filled(&self, base: &Self) -> Self {
        let traffic_class = match self.traffic_class.0 {
            0 | 7 => base.traffic_class,
            class @ 1..=4 => TrafficClass(class),
            _ => TrafficClass::BACKGROUND,
        };
        let transfer_delay = match (self.transfer_delay, traffic_class) {
            (delay @ 1..=62, _) => delay,
            (_, TrafficClass::CONVERSATIONAL) => DELAY_100_MS.min(base.transfer_delay),
            (_, TrafficClass::STREAMING) => DELAY_300_MS.min(base.transfer_delay),
            (_, _) => base.transfer_delay,
        };
        Self {
            traffic_class,
            delivery_order: if matches!(self.delivery_order, 1 | 2) {
                self.delivery_order
            } else {
                base.delivery_order
            },
            erroneous_sdus: match self.erroneous_sdus {
                0 | 7 => base.erroneous_sdus,
                code @ 1..=3 => code,
                _ => 3,
            },
            max_sdu: match self.max_sdu {
                0 | 255 => base.max_sdu,
                code @ 1..=153 => code,
                _ => SDU_1500,
            },
            mbr_up: self.mbr_up.filled(base.mbr_up),
            mbr_down: self.mbr_down.filled(base.mbr_down),
            residual_ber: if matches!(self.residual_ber, 1..=9) {
                self.residual_ber
            } else {
                base.residual_ber
            },
            sdu_error_ratio: if matches!(self.sdu_error_ratio, 1..=7) {
                self.sdu_error_ratio
            } else {
                base.sdu_error_ratio
            },
            transfer_delay,
            handling_priority: if matches!(self.handling_priority, 1..=3) {
                self.handling_priority
            } else {
                base.handling_priority
            },
            gbr_up: self.gbr_up.filled(base.gbr_up),
            gbr_down: self.gbr_down.filled(base.gbr_down),
            // Source statistics other than speech are unknown.
            signalling: self.signalling.map(|octet| octet & 0x10 | u8::from(octet & 0x0f == 1)),
        }
    }
}

impl BitRate {
    fn filled(self, base: Self) -> Self {
        match (self.code, self.extended) {
            (_, extended @ 1..=EXTENDED_MAX) => Self { code: 254, extended },
            (0, _) => base,
            (code, _) => Self { code, extended: 0 },
        }
    }
}

impl QosProfile {
    /// The profile with something concrete in the place of each value that is left to the subscription, reserved or not
    /// defined: best effort in the part of R97, and in that of R99 what 23.107 clause 9.1.2.3 makes of the part of R97.
    #[must_use]
    pub fn concrete(&self) -> Self {
        self.filled(&Self::BEST_EFFORT)
    }

    /// The same with the values of `base`, which is [`QosProfile::concrete`], as far as it has them: what a GGSN leaves open
    /// is as it was asked for. Values that are not defined are what clause 10.5.6.5 takes them for.
    #[must_use]
    pub fn filled(&self, base: &Self) -> Self {
        let mut profile = Self {
            delay: match self.delay.0 {
                0 | 7 => base.delay,
                class @ 1..=4 => DelayClass(class),
                _ => DelayClass::BEST_EFFORT,
            },
            reliability: match self.reliability.0 {
                0 | 7 => base.reliability,
                class @ 1..=5 => ReliabilityClass(class),
                _ => ReliabilityClass::THREE,
            },
            peak: match self.peak.0 {
                0 | 15 => base.peak,
                class @ 1..=9 => PeakThroughput(class),
                _ => PeakThroughput(1),
            },
            precedence: match self.precedence.0 {
                0 | 7 => base.precedence,
                class @ 1..=3 => PrecedenceClass(class),
                _ => PrecedenceClass::NORMAL,
            },
            mean: match self.mean.0 {
                0 | 30 => base.mean,
                class @ 1..=18 => MeanThroughput(class),
                _ => MeanThroughput::BEST_EFFORT,
            },
            r99: None,
        };
        let derived = || QosR99::of_r97(&profile);
        let r99 = self.r99.map(|r99| r99.filled(&base.r99.unwrap_or_else(derived)));
        profile.r99 = r99;
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::l3::codec::Element;

    #[test]
    fn what_is_left_to_the_subscription_is_best_effort() {
        assert_eq!(QosProfile::default().concrete(), QosProfile::BEST_EFFORT);
        let all = QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() };
        let mut octets = Vec::new();
        all.concrete().emit_value(&mut octets);
        assert_eq!(octets, [0x23, 0x92, 0x1f, 0x93, 0x96, 0x97, 0x97, 0x74, 0xfb, 0xff, 0xff]);
        let fast =
            QosProfile { delay: DelayClass(2), peak: PeakThroughput(3), ..all }.concrete().r99.unwrap();
        assert_eq!((fast.traffic_class, fast.handling_priority), (TrafficClass::INTERACTIVE, 2));
        assert_eq!(fast.mbr_down.kbps(), Some(32));
    }

    #[test]
    fn what_says_something_stays() {
        let octets = [0x0b, 0x51, 0x12, 0x29, 0x97, 0x40, 0x80, 0x16, 0x29, 0x30, 0x40, 0x11];
        let profile = QosProfile::parse_value(&octets).unwrap();
        assert_eq!(profile.concrete(), profile);
        let open = QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() };
        assert_eq!(
            open.filled(&profile),
            QosProfile { r99: profile.r99.map(|r99| QosR99 { signalling: None, ..r99 }), ..profile }
        );
    }

    #[test]
    fn real_time_without_a_delay_gets_one() {
        for (class, ms) in [(1, 100), (2, 300), (3, 4000), (4, 4000)] {
            let r99 = QosR99 { traffic_class: TrafficClass(class), ..QosR99::default() };
            let profile = QosProfile { r99: Some(r99), ..QosProfile::BEST_EFFORT };
            assert_eq!(profile.concrete().r99.unwrap().transfer_delay_ms(), Some(ms));
        }
    }
}
