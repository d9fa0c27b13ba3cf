//! Which service a quality of service profile buys: what is granted of a mobile's wish, and the one table from the
//! negotiated profile to scheduler class, precedence, policer and buffer. `docs/qos.md` is its version for operators.
//!
//! | of the profile | gives |
//! |---|---|
//! | R99 traffic class streaming with a guaranteed bit rate for downlink | [`CellClass::Guaranteed`] |
//! | else R99 traffic class conversational or streaming, or R97 delay class 1 | [`CellClass::RealTime`] |
//! | every other one | [`CellClass::BestEffort`] |
//! | R99 guaranteed bit rate for downlink of the classes conversational and streaming | the guaranteed rate |
//! | else with R97 delay class 1 the mean throughput class, unless it is best effort | the same |
//! | R97 precedence class 1, 2, 3 | [`Precedence::High`], [`Normal`](Precedence::Normal), [`Low`](Precedence::Low) |
//! | no precedence class: allocation/retention priority 1, 2, 3 of GTP | the same |
//! | R97 peak throughput class n | 1000 · 2^(n−1) octets/s |
//! | R99 maximum bit rate for downlink, on the uplink for uplink | that rate, where it is the smaller of the two, or the class is 9 |
//! | neither | the largest peak throughput class, 256,000 octets/s |
//!
//! Class 9 means "2048 kbit/s and above" beside a profile of R99 (23.107 clause 9.1.2.2), so it does not limit there.

use gannet_machine::time::Duration;
use gannet_proto::classifier::Policer;
use gannet_qos::class::{CellClass, Precedence};
use gannet_wire::l3::ie::{
    BitRate, DelayClass, PeakThroughput, PrecedenceClass, QosProfile, QosR99, ReliabilityClass, TrafficClass,
};

/// The longest N-PDU (04.65 clause 6.7): what a policer or a buffer must hold in any case is counted in these.
pub const N_PDU_OCTETS_MAX: u32 = 1520;

/// What is granted at most, until there are subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Peak throughput class.
    pub peak: PeakThroughput,
    /// Maximum bit rate for downlink of a profile of R99, in kbit/s; `None` for no limit but the mobile's.
    pub mbr_down_kbps: Option<u32>,
    /// Maximum bit rate for uplink of a profile of R99, in kbit/s.
    pub mbr_up_kbps: Option<u32>,
    /// Delay class 1 and the traffic classes conversational and streaming are granted.
    pub real_time: bool,
    /// The best precedence class that is granted.
    pub precedence: PrecedenceClass,
    /// The best reliability class that is granted; nothing better than 2, since GTP is not acknowledged.
    pub reliability: ReliabilityClass,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            peak: PeakThroughput::MAX,
            mbr_down_kbps: None,
            mbr_up_kbps: None,
            real_time: true,
            precedence: PrecedenceClass::HIGH,
            reliability: ReliabilityClass::TWO,
        }
    }
}

impl Ceilings {
    /// What the GGSN is asked for: the mobile's wish within the ceilings, and best effort where it leaves the choice to
    /// its subscription. What this SGSN cannot keep it does not promise: GTP is not acknowledged, so that the best
    /// reliability class is 2 (24.008 clause 10.5.6.5 takes 1 for it). Every value is concrete. What the GGSN answers is final.
    #[must_use]
    pub fn grant(&self, wish: &QosProfile) -> QosProfile {
        let mut qos = QosProfile { r99: None, ..*wish }.concrete();
        qos.reliability = qos.reliability.max(ReliabilityClass::TWO).max(self.reliability);
        qos.peak = qos.peak.min(self.peak);
        qos.precedence = qos.precedence.max(self.precedence);
        qos.r99 = wish.r99.map(|r99| self.grant_r99(r99));
        let qos = qos.concrete();
        if self.real_time { qos } else { without_guarantees(&qos) }
    }

    fn grant_r99(&self, mut r99: QosR99) -> QosR99 {
        let within = |kbps: Option<u32>, ceiling: u32| kbps.map_or(ceiling, |kbps| kbps.min(ceiling));
        if let Some(ceiling) = self.mbr_down_kbps {
            r99.mbr_down = BitRate::from_kbps(within(r99.mbr_down.kbps(), ceiling));
            r99.gbr_down =
                r99.gbr_down.kbps().map_or(r99.gbr_down, |kbps| BitRate::from_kbps(kbps.min(ceiling)));
        }
        if let Some(ceiling) = self.mbr_up_kbps {
            r99.mbr_up = BitRate::from_kbps(within(r99.mbr_up.kbps(), ceiling));
            r99.gbr_up = r99.gbr_up.kbps().map_or(r99.gbr_up, |kbps| BitRate::from_kbps(kbps.min(ceiling)));
        }
        r99
    }
}

/// The nearest profile of which nothing is guaranteed: delay class 2 for 1, and interactive with the best handling priority for
/// conversational and streaming, which has no guaranteed rate and no transfer delay.
#[must_use]
pub fn without_guarantees(qos: &QosProfile) -> QosProfile {
    let mut qos = *qos;
    if qos.delay == DelayClass::ONE {
        qos.delay = DelayClass::TWO;
    }
    if let Some(r99) = qos.r99.as_mut().filter(|r99| is_real_time(r99.traffic_class)) {
        r99.traffic_class = TrafficClass::INTERACTIVE;
        r99.handling_priority = 1;
        r99.guarantee_nothing();
    }
    qos
}

/// The wish of a mobile within its subscription: of each value the worse one, and where the mobile leaves the choice the
/// subscribed one (03.60 clause 15.2 [23.107 clause 6.4.4]).
#[must_use]
pub fn within_subscription(wish: &QosProfile, subscribed: &QosProfile) -> QosProfile {
    // Classes whose larger numbers are worse, and those whose larger numbers are better.
    let worse = |wish: u8, of: u8| if wish == 0 { of } else { wish.max(of) };
    let less = |wish: u8, of: u8| if wish == 0 { of } else { wish.min(of) };
    let mut qos = *wish;
    qos.delay = DelayClass(worse(qos.delay.0, subscribed.delay.0));
    qos.reliability = ReliabilityClass(worse(qos.reliability.0, subscribed.reliability.0));
    qos.precedence = PrecedenceClass(worse(qos.precedence.0, subscribed.precedence.0));
    qos.peak = PeakThroughput(less(qos.peak.0, subscribed.peak.0));
    // Best effort has the highest number and promises least.
    qos.mean.0 = match (qos.mean.0, subscribed.mean.0) {
        (MEAN_BEST_EFFORT, _) | (_, MEAN_BEST_EFFORT) => MEAN_BEST_EFFORT,
        (wish, of) => less(wish, of),
    };
    if let (Some(wish), Some(of)) = (&mut qos.r99, &subscribed.r99) {
        *wish = r99_within(*wish, of);
    }
    qos
}

/// Mean throughput class of best effort (04.08 clause 10.5.6.5 [24.008]).
const MEAN_BEST_EFFORT: u8 = 31;

fn r99_within(mut wish: QosR99, of: &QosR99) -> QosR99 {
    let less = |wish: BitRate, of: BitRate| match (wish.kbps(), of.kbps()) {
        (Some(wish), Some(of)) => BitRate::from_kbps(wish.min(of)),
        (None, Some(_)) => of,
        (_, None) => wish,
    };
    // The classes are numbered from the most demanding on; 0 is "subscribed".
    wish.traffic_class = if wish.traffic_class.0 == 0 || of.traffic_class.0 == 0 {
        of.traffic_class
    } else {
        wish.traffic_class.max(of.traffic_class)
    };
    (wish.mbr_down, wish.mbr_up) = (less(wish.mbr_down, of.mbr_down), less(wish.mbr_up, of.mbr_up));
    (wish.gbr_down, wish.gbr_up) = (less(wish.gbr_down, of.gbr_down), less(wish.gbr_up, of.gbr_up));
    if !is_real_time(wish.traffic_class) {
        wish.guarantee_nothing();
    }
    wish
}

const fn is_real_time(class: TrafficClass) -> bool {
    matches!(class, TrafficClass::CONVERSATIONAL | TrafficClass::STREAMING)
}

/// How the N-PDUs of a context are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Treatment {
    /// How soon they are served.
    pub class: CellClass,
    /// How late they are dropped.
    pub precedence: Precedence,
    /// What they may be in the long run, in octets/s.
    pub rate_octets_per_s: u32,
    /// The profile says that rate; else it is the largest peak throughput class.
    pub is_limited: bool,
    /// What of it they are guaranteed, in octets/s.
    pub guaranteed_octets_per_s: u32,
}

impl Treatment {
    /// By the table. `allocation_retention` is that of GTP, 0 where nobody has said one.
    #[must_use]
    pub fn of(profile: &QosProfile, allocation_retention: u8) -> Self {
        let mbr_kbps = profile.r99.and_then(|r99| r99.mbr_down.kbps());
        Self::with_mbr(profile, allocation_retention, mbr_kbps)
    }

    /// The same for what comes from the mobile.
    #[must_use]
    pub fn of_uplink(profile: &QosProfile, allocation_retention: u8) -> Self {
        let mbr_kbps = profile.r99.and_then(|r99| r99.mbr_up.kbps());
        Self::with_mbr(profile, allocation_retention, mbr_kbps)
    }

    fn with_mbr(profile: &QosProfile, allocation_retention: u8, mbr_kbps: Option<u32>) -> Self {
        let level = match profile.precedence.0 {
            level @ 1..=3 => level,
            _ => allocation_retention,
        };
        let rate = rate_octets_per_s(profile, mbr_kbps);
        Self {
            class: class_of(profile),
            precedence: match level {
                1 => Precedence::High,
                3 => Precedence::Low,
                _ => Precedence::Normal,
            },
            rate_octets_per_s: rate.or(PeakThroughput::MAX.octets_per_s()).unwrap_or(u32::MAX),
            is_limited: rate.is_some(),
            guaranteed_octets_per_s: guaranteed_octets_per_s(profile),
        }
    }

    /// The policer, whose burst is what passes in `burst` at the rate, and never less than two N-PDUs of full size.
    #[must_use]
    pub fn policer(&self, burst: Duration) -> Policer {
        let burst_octets = self.octets_in(burst).max(2 * N_PDU_OCTETS_MAX);
        Policer { rate_octets_per_s: self.rate_octets_per_s, burst_octets }
    }

    /// What comes in a time at the rate, in octets.
    #[must_use]
    pub fn octets_in(&self, span: Duration) -> u32 {
        let octets = u64::from(self.rate_octets_per_s).saturating_mul(span.as_millis()) / 1000;
        u32::try_from(octets).unwrap_or(u32::MAX)
    }
}

fn class_of(profile: &QosProfile) -> CellClass {
    let traffic_class = profile.r99.map(|r99| r99.traffic_class);
    if traffic_class == Some(TrafficClass::STREAMING) && guaranteed_octets_per_s(profile) > 0 {
        CellClass::Guaranteed
    } else if profile.delay == DelayClass::ONE || traffic_class.is_some_and(is_real_time) {
        CellClass::RealTime
    } else {
        CellClass::BestEffort
    }
}

/// What a profile guarantees for downlink, in octets/s; 0 where it is nothing.
fn guaranteed_octets_per_s(profile: &QosProfile) -> u32 {
    match profile.r99 {
        Some(r99) if is_real_time(r99.traffic_class) => r99.gbr_down.kbps().unwrap_or(0).saturating_mul(125),
        Some(_) | None if profile.delay == DelayClass::ONE => {
            let octets_per_h = profile.mean.octets_per_h();
            octets_per_h
                .map_or(0, |octets| u32::try_from(u64::from(octets).div_ceil(3600)).unwrap_or(u32::MAX))
        }
        Some(_) | None => 0,
    }
}

fn rate_octets_per_s(profile: &QosProfile, mbr_kbps: Option<u32>) -> Option<u32> {
    let mbr = mbr_kbps.filter(|kbps| *kbps > 0).map(|kbps| kbps.saturating_mul(125));
    let peak = profile.peak.octets_per_s();
    match (mbr, peak) {
        (Some(mbr), Some(_)) if profile.peak == PeakThroughput::MAX => Some(mbr),
        (Some(mbr), Some(peak)) => Some(mbr.min(peak)),
        (rate, None) | (None, rate) => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::l3::ie::MeanThroughput;

    const R99: QosR99 = QosR99 {
        traffic_class: TrafficClass::BACKGROUND,
        delivery_order: 2,
        erroneous_sdus: 3,
        max_sdu: 150,
        mbr_up: BitRate { code: 64, extended: 0 },
        mbr_down: BitRate { code: 128, extended: 0 },
        residual_ber: 7,
        sdu_error_ratio: 4,
        transfer_delay: 10,
        handling_priority: 3,
        gbr_up: BitRate { code: 64, extended: 0 },
        gbr_down: BitRate { code: 128, extended: 0 },
        signalling: None,
    };

    fn r97(delay: u8, peak: u8, precedence: u8) -> QosProfile {
        QosProfile {
            delay: DelayClass(delay),
            peak: PeakThroughput(peak),
            precedence: PrecedenceClass(precedence),
            ..QosProfile::BEST_EFFORT
        }
    }

    fn r99(traffic_class: u8, peak: u8, kbps: u32) -> QosProfile {
        let (traffic_class, mbr_down) = (TrafficClass(traffic_class), BitRate::from_kbps(kbps));
        QosProfile { r99: Some(QosR99 { traffic_class, mbr_down, ..R99 }), ..r97(4, peak, 2) }
    }

    #[test]
    fn classes_by_the_table() {
        let class = |profile: QosProfile| Treatment::of(&profile, 0).class;
        assert_eq!([1, 2, 3, 4, 0].map(|delay| class(r97(delay, 9, 2))), {
            let best = CellClass::BestEffort;
            [CellClass::RealTime, best, best, best, best]
        });
        let of_r99 = [1, 2, 3, 4, 0].map(|traffic| class(r99(traffic, 9, 64)));
        assert_eq!(of_r99[..2], [CellClass::RealTime, CellClass::Guaranteed]);
        assert_eq!(of_r99[2..], [CellClass::BestEffort; 3]);
        let without = |profile: QosProfile| {
            let r99 = profile.r99.map(|r99| QosR99 { gbr_down: BitRate::default(), ..r99 });
            class(QosProfile { r99, ..profile })
        };
        assert_eq!([1, 2].map(|traffic| without(r99(traffic, 9, 64))), [CellClass::RealTime; 2]);
        let streaming = QosProfile { delay: DelayClass::ONE, ..r99(2, 9, 64) };
        assert_eq!(class(streaming), CellClass::Guaranteed, "what R97 has for it (23.107 clause 9.1.2.1)");
    }

    #[test]
    fn guarantees_by_the_table() {
        let rate = |profile: QosProfile| Treatment::of(&profile, 0).guaranteed_octets_per_s;
        assert_eq!([1, 2, 3, 4].map(|traffic| rate(r99(traffic, 9, 64))), [72_000, 72_000, 0, 0]);
        let mean = |delay, mean| rate(QosProfile { mean: MeanThroughput(mean), ..r97(delay, 9, 2) });
        // 50,000,000 octets/h, and best effort.
        assert_eq!([mean(1, 18), mean(1, 31), mean(2, 18)], [13_889, 0, 0]);
        let taken = without_guarantees(&QosProfile { delay: DelayClass::ONE, ..r99(2, 9, 64) });
        let of = Treatment::of(&taken, 0);
        assert_eq!(
            (of.class, of.guaranteed_octets_per_s, of.rate_octets_per_s),
            (CellClass::BestEffort, 0, 8000)
        );
    }

    #[test]
    fn precedence_by_the_table() {
        let level = |precedence, arp| Treatment::of(&r97(4, 9, precedence), arp).precedence;
        let (high, normal, low) = (Precedence::High, Precedence::Normal, Precedence::Low);
        assert_eq!([1, 2, 3].map(|class| level(class, 1)), [high, normal, low]);
        assert_eq!([1, 2, 3, 0].map(|arp| level(0, arp)), [high, normal, low, normal]);
    }

    #[test]
    fn rates_by_the_table() {
        let rate = |profile: QosProfile| Treatment::of(&profile, 0).rate_octets_per_s;
        assert_eq!(
            [1, 4, 9, 0, 12].map(|peak| rate(r97(4, peak, 2))),
            [1000, 8000, 256_000, 256_000, 256_000]
        );
        assert_eq!(rate(r99(4, 4, 24)), 3000, "the bit rate is finer");
        assert_eq!(rate(r99(4, 2, 24)), 2000, "the class is smaller");
        assert_eq!(rate(r99(4, 9, 8640)), 1_080_000, "class 9 is open above");
        assert_eq!(rate(r99(4, 0, 24)), 3000);
        assert_eq!(rate(r99(4, 3, 0)), 4000, "no downlink is no rate");
    }

    #[test]
    fn a_policer_always_lets_two_n_pdus_pass() {
        let slow = Treatment::of(&r97(4, 1, 2), 0);
        assert_eq!(slow.policer(Duration::from_millis(1000)).burst_octets, 3040);
        assert_eq!(slow.policer(Duration::from_millis(10_000)).burst_octets, 10_000);
        let fast = Treatment::of(&r97(4, 9, 2), 0).policer(Duration::from_millis(500));
        assert_eq!((fast.rate_octets_per_s, fast.burst_octets), (256_000, 128_000));
    }

    #[test]
    fn what_is_left_to_the_subscription_is_best_effort() {
        assert_eq!(Ceilings::default().grant(&QosProfile::default()), QosProfile::BEST_EFFORT);
        let classes: Vec<u8> = (0..=5)
            .map(|class| QosProfile { reliability: ReliabilityClass(class), ..QosProfile::BEST_EFFORT })
            .map(|wish| Ceilings::default().grant(&wish).reliability.0)
            .collect();
        assert_eq!(classes, [3, 2, 2, 3, 4, 5], "GTP that acknowledges is not promised");
        let wish = QosProfile { r99: Some(R99), ..r97(1, 7, 1) };
        assert_eq!(Ceilings::default().grant(&wish), wish, "nothing is taken away");
    }

    #[test]
    fn rates_above_8640_kbps_are_granted_and_held_in_both_directions() {
        let fast = BitRate::from_kbps(100_000);
        let r99 = QosR99 { traffic_class: TrafficClass::BACKGROUND, mbr_up: fast, mbr_down: fast, ..R99 };
        let wish = QosProfile { r99: Some(r99), ..QosProfile::BEST_EFFORT };
        let granted = Ceilings::default().grant(&wish);
        for treatment in [Treatment::of(&granted, 2), Treatment::of_uplink(&granted, 2)] {
            assert_eq!((treatment.rate_octets_per_s, treatment.is_limited), (12_500_000, true));
        }
        let ceilings =
            Ceilings { mbr_up_kbps: Some(50_500), mbr_down_kbps: Some(20_000), ..Ceilings::default() };
        let r99 = ceilings.grant(&wish).r99.unwrap();
        assert_eq!((r99.mbr_up.kbps(), r99.mbr_down.kbps()), (Some(50_000), Some(20_000)));
        let subscribed = QosR99 { mbr_up: BitRate::from_kbps(9000), ..r99 };
        let subscribed = QosProfile { r99: Some(subscribed), ..wish };
        let r99 = within_subscription(&wish, &subscribed).r99.unwrap();
        assert_eq!((r99.mbr_up.kbps(), r99.mbr_down.kbps()), (Some(9000), Some(20_000)));
    }

    #[test]
    fn what_is_above_the_ceilings_is_not_granted() {
        let ceilings = Ceilings {
            peak: PeakThroughput(5),
            mbr_down_kbps: Some(100),
            mbr_up_kbps: Some(50),
            real_time: false,
            precedence: PrecedenceClass::NORMAL,
            reliability: ReliabilityClass::THREE,
        };
        let wish = |traffic_class| {
            let r99 = QosR99 { traffic_class, ..R99 };
            ceilings.grant(&QosProfile { r99: Some(r99), ..r97(1, 7, 1) })
        };
        let granted = wish(TrafficClass::STREAMING);
        assert_eq!((granted.delay, granted.peak.0, granted.precedence.0), (DelayClass::TWO, 5, 2));
        let r99 = granted.r99.unwrap();
        assert_eq!((r99.mbr_down.kbps(), r99.mbr_up.kbps()), (Some(96), Some(50)));
        assert_eq!((r99.traffic_class, r99.handling_priority), (TrafficClass::INTERACTIVE, 1));
        assert_eq!((r99.gbr_up.kbps(), r99.gbr_down.kbps()), (Some(0), Some(0)));
        assert_eq!(r99.transfer_delay_ms(), Some(4000), "the longest");
        assert_eq!(Treatment::of(&granted, 0).class, CellClass::BestEffort);
        let granted = wish(TrafficClass::BACKGROUND).r99.unwrap();
        assert_eq!((granted.traffic_class, granted.gbr_down.kbps()), (TrafficClass::BACKGROUND, Some(96)));
        let low = ceilings.grant(&r97(4, 3, 3));
        assert_eq!(
            (low.peak.0, low.precedence.0, low.reliability.0),
            (3, 3, 3),
            "less than the ceiling is what was asked for"
        );
    }
}
