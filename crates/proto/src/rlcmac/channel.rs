//! Which blocks the air loses, and what becomes of access bursts that collide.
//!
//! # Block error rate
//!
//! 05.05 (45.005) table 2, GSM 900, has the C/I at which 10 % of the blocks are lost, in dB:
//!
//! | profile | CS-1 | CS-2 | CS-3 | CS-4 |
//! |---|---|---|---|---|
//! | TU3 no FH | 13 | 15 | 16 | 21 |
//! | TU50 no FH | 10 | 14 | 16 | 24 |
//! | TU50 ideal FH | 9 | 13 | 15 | 23 |
//!
//! The specification has these points and no curve. The curve through them is a model with the same two profiles at its ends.
//! Signal and interferer have Rayleigh fading, so a burst with the mean ratio g is below a threshold h with probability
//! p = h / (h + g). At walking speed without hopping the four bursts of a block fade as one: the block is lost with p, and the
//! 10 % point is 9 h. With ideal hopping they fade independently: the block is lost where t of the four are below h, with I(p; t, 5 - t), the
//! regularised incomplete beta function, which also has a meaning for a t that is no whole number. The distance between the two 10 %
//! points of a scheme determines its t: 2.46, 2.05, 1.86 and 1.42. A better code survives more bad bursts and has a
//! steeper curve. TU50 without hopping has the shape of ideal hopping, moved to its own 10 % point.
//!
//! # Bursts of losses
//!
//! [`Bursts`] is the model of Gilbert and Elliott: a good and a bad state that change at each block period. It adds to what
//! the curve loses. The state of a channel that was silent is drawn when it is used again, so nothing ticks.

use super::multiframe::BlockPeriod;
use gannet_machine::rng::Rng;
use gannet_wire::rlcmac::coding::CodingScheme;

/// Propagation conditions: 05.05 (45.005) annex C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Typical urban, 3 km/h, no frequency hopping.
    Tu3,
    /// Typical urban, 50 km/h, no frequency hopping.
    #[default]
    Tu50,
    /// Typical urban, 50 km/h, ideal frequency hopping.
    Tu50Hopping,
}

/// The part of lost blocks at the C/I of the table.
const REFERENCE: f64 = 0.1;
/// Bursts that must be bad before a block is lost: t.
const BAD_BURSTS: [f64; 4] = [2.463_986, 2.047_403, 1.864_022, 1.415_408];

impl Profile {
    /// C/I in dB at which 10 % of the blocks are lost: table 2.
    #[must_use]
    pub const fn reference_db(self, scheme: CodingScheme) -> f64 {
        match (self, scheme) {
            (Self::Tu3, CodingScheme::Cs1) => 13.0,
            (Self::Tu3, CodingScheme::Cs2) => 15.0,
            (Self::Tu3, CodingScheme::Cs3) | (Self::Tu50, CodingScheme::Cs3) => 16.0,
            (Self::Tu3, CodingScheme::Cs4) => 21.0,
            (Self::Tu50, CodingScheme::Cs1) => 10.0,
            (Self::Tu50, CodingScheme::Cs2) => 14.0,
            (Self::Tu50, CodingScheme::Cs4) => 24.0,
            (Self::Tu50Hopping, CodingScheme::Cs1) => 9.0,
            (Self::Tu50Hopping, CodingScheme::Cs2) => 13.0,
            (Self::Tu50Hopping, CodingScheme::Cs3) => 15.0,
            (Self::Tu50Hopping, CodingScheme::Cs4) => 23.0,
        }
    }

    /// The part of the blocks that is lost at a mean C/I, 0.0 to 1.0. It takes some microseconds: [`Link`] keeps it.
    #[must_use]
    pub fn block_error_rate(self, scheme: CodingScheme, c_over_i_db: f64) -> f64 {
        let bad_bursts = match self {
            Self::Tu3 => None,
            Self::Tu50 | Self::Tu50Hopping => BAD_BURSTS.get(usize::from(scheme.command())).copied(),
        };
        let lost = |p: f64| bad_bursts.map_or(p, |t| incomplete_beta(p, t, 5.0 - t));
        // The p at the reference point says how far below it the threshold is.
        let at_reference = inverse(REFERENCE, lost);
        let distance = 10_f64.powf((c_over_i_db - self.reference_db(scheme)) / 10.0);
        let odds = (1.0 - at_reference) / at_reference * distance;
        lost(1.0 / (1.0 + odds))
    }
}

/// Losses in bursts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Probability that a good block period is followed by a bad one.
    pub to_bad: f64,
    /// Probability that a bad block period is followed by a good one.
    pub to_good: f64,
    /// The part of the blocks that is lost in bad periods.
    pub lost_when_bad: f64,
}

impl Bursts {
    /// Bad periods are `share` of all (0.0 to 1.0, the latter excluded) and `length` block periods long on the average (1.0 and more).
    /// In them all is lost. `None` where there is no such pair of probabilities.
    #[must_use]
    pub fn of(share: f64, length: f64) -> Option<Self> {
        let to_good = 1.0 / length;
        let to_bad = to_good * share / (1.0 - share);
        let is_possible = (0.0..1.0).contains(&share) && length >= 1.0 && to_bad <= 1.0;
        is_possible.then_some(Self { to_bad, to_good, lost_when_bad: 1.0 })
    }

    /// The share of bad periods.
    #[must_use]
    pub fn share(&self) -> f64 {
        let both = self.to_bad + self.to_good;
        if both > 0.0 { self.to_bad / both } else { 0.0 }
    }

    /// The probability of a bad period `periods` after one that was bad or not.
    #[must_use]
    pub fn bad_after(&self, was_bad: bool, periods: u64) -> f64 {
        let share = self.share();
        let periods = i32::try_from(periods).unwrap_or(i32::MAX);
        let memory = (1.0 - self.to_bad - self.to_good).powi(periods);
        share + memory * (f64::from(u8::from(was_bad)) - share)
    }
}

/// How blocks of one mobile fare in one direction.
#[derive(Debug, Clone)]
pub struct Link {
    lost: [f64; 4],
    bursts: Option<Bursts>,
    /// When it was used last, and whether the period was bad.
    state: Option<(BlockPeriod, bool)>,
}

impl Link {
    /// A link with a mean C/I.
    #[must_use]
    pub fn new(profile: Profile, c_over_i_db: f64, bursts: Option<Bursts>) -> Self {
        let lost = CodingScheme::ALL.map(|scheme| profile.block_error_rate(scheme, c_over_i_db));
        Self { lost, bursts, state: None }
    }

    /// A link that loses nothing.
    #[must_use]
    pub const fn perfect() -> Self {
        Self { lost: [0.0; 4], bursts: None, state: None }
    }

    /// A link that loses the same part of the blocks of every scheme.
    #[must_use]
    pub const fn with_rate(rate: f64) -> Self {
        Self { lost: [rate; 4], bursts: None, state: None }
    }

    /// The part of the blocks that is lost outside of bursts.
    #[must_use]
    pub fn error_rate(&self, scheme: CodingScheme) -> f64 {
        self.lost.get(usize::from(scheme.command())).copied().unwrap_or_default()
    }

    /// Throws the dice for a block: true where it is lost. Blocks of one period on several timeslots share the state of the bursts.
    pub fn is_lost(&mut self, rng: &mut Rng, period: BlockPeriod, scheme: CodingScheme) -> bool {
        let in_burst = match self.bursts {
            Some(bursts) => self.is_bad(rng, period, &bursts) && rng.chance(bursts.lost_when_bad),
            None => false,
        };
        let rate = self.error_rate(scheme);
        let on_curve = rate > 0.0 && rng.chance(rate);
        in_burst || on_curve
    }

    fn is_bad(&mut self, rng: &mut Rng, period: BlockPeriod, bursts: &Bursts) -> bool {
        let is_bad = match self.state {
            Some((last, was_bad)) if period <= last => return was_bad,
            Some((last, was_bad)) => rng.chance(bursts.bad_after(was_bad, period.0 - last.0)),
            None => rng.chance(bursts.share()),
        };
        self.state = Some((period, is_bad));
        is_bad
    }
}

/// What becomes of access bursts that are sent in the same frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Capture {
    /// Two destroy each other.
    #[default]
    None,
    /// The strongest is received where it exceeds the sum of the others by this, in dB. All have the same mean and Rayleigh
    /// fading.
    Ratio(f64),
}

impl Capture {
    /// Which of `bursts` access bursts is received, if any; one alone always is.
    pub fn received(self, rng: &mut Rng, bursts: usize) -> Option<usize> {
        match (bursts, self) {
            (0, _) => None,
            (1, _) => Some(0),
            (_, Self::None) => None,
            (_, Self::Ratio(db)) => {
                let mut sum = 0.0;
                let mut strongest = (0, 0.0);
                for burst in 0..bursts {
                    let power = -(1.0 - rng.unit()).ln();
                    sum += power;
                    if power > strongest.1 {
                        strongest = (burst, power);
                    }
                }
                let (burst, power) = strongest;
                (power >= 10_f64.powf(db / 10.0) * (sum - power)).then_some(burst)
            }
        }
    }
}

/// The argument for which a function that grows from 0 to 1 has a value.
fn inverse(value: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// I(x; a, b) for a and b of 1 to 4.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    let lower = |x: f64, a: f64, b: f64| {
        let (mut sum, mut term, mut n) = (0.0, 1.0, 0.0);
        // The ratio of terms is below 0.84 for x up to 1/2 from the start and falls to x.
        while term > 1e-16 * sum && n < 200.0 {
            sum += term;
            term *= (a + b + n) / (a + 1.0 + n) * x;
            n += 1.0;
        }
        x.powf(a) * (1.0 - x).powf(b) / a * sum
    };
    // Both halves together are the complete function, B(a, b).
    let whole = lower(0.5, a, b) + lower(0.5, b, a);
    if x <= 0.5 { lower(x, a, b) / whole } else { 1.0 - lower(1.0 - x, b, a) / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILES: [Profile; 3] = [Profile::Tu3, Profile::Tu50, Profile::Tu50Hopping];
    const BLOCKS: u32 = 200_000;

    fn close(value: f64, expected: f64, tolerance: f64) -> bool {
        (value - expected).abs() <= tolerance
    }

    /// Four standard deviations of the part of so many independent throws.
    fn four_sigma(p: f64, throws: u32) -> f64 {
        4.0 * (p * (1.0 - p) / f64::from(throws)).sqrt()
    }

    #[test]
    fn a_tenth_is_lost_at_the_reference() {
        for profile in PROFILES {
            for scheme in CodingScheme::ALL {
                let rate = profile.block_error_rate(scheme, profile.reference_db(scheme));
                assert!(close(rate, 0.1, 1e-9), "{scheme}: {rate}");
            }
        }
    }

    #[test]
    fn more_signal_and_more_protection_lose_less() {
        for profile in PROFILES {
            for scheme in CodingScheme::ALL {
                let mut last = 1.0;
                for db in -10..45 {
                    let rate = profile.block_error_rate(scheme, f64::from(db));
                    assert!((0.0..=1.0).contains(&rate) && rate < last, "{scheme} at {db} dB: {rate}");
                    last = rate;
                }
                assert!(profile.block_error_rate(scheme, -60.0) > 0.999);
                assert!(profile.block_error_rate(scheme, 60.0) < 1e-3);
            }
            for pair in CodingScheme::ALL.windows(2) {
                for db in 0..40 {
                    let [better, worse] = [0, 1].map(|n| profile.block_error_rate(pair[n], f64::from(db)));
                    assert!(better < worse, "{} and {} at {db} dB", pair[0], pair[1]);
                }
            }
        }
    }

    #[test]
    fn the_function_is_the_binomial_sum_for_whole_numbers() {
        for percent in 0..=100 {
            let p = f64::from(percent) / 100.0;
            let q = 1.0 - p;
            let exactly =
                [q.powi(4), 4.0 * p * q.powi(3), 6.0 * p * p * q * q, 4.0 * p.powi(3) * q, p.powi(4)];
            for t in 1..=4_u8 {
                let expected: f64 = exactly[usize::from(t)..].iter().sum();
                let value = incomplete_beta(p, f64::from(t), 5.0 - f64::from(t));
                assert!(close(value, expected, 1e-12), "t = {t}, p = {p}: {value} {expected}");
            }
        }
    }

    #[test]
    fn the_shape_is_that_between_the_profiles_of_the_table() {
        for (scheme, t) in CodingScheme::ALL.into_iter().zip(BAD_BURSTS) {
            let p = inverse(REFERENCE, |p| incomplete_beta(p, t, 5.0 - t));
            let hopping = 10.0 * ((1.0 - p) / p).log10();
            let walking = 10.0 * 9.0_f64.log10();
            let distance = Profile::Tu50Hopping.reference_db(scheme) - Profile::Tu3.reference_db(scheme);
            assert!(close(hopping - walking, distance, 1e-4), "{scheme}: {}", hopping - walking);
        }
    }

    #[test]
    fn dice_lose_what_the_curve_says() {
        let mut rng = Rng::seeded(7);
        for (scheme, db) in [(CodingScheme::Cs1, 9.0), (CodingScheme::Cs2, 14.0), (CodingScheme::Cs4, 20.0)] {
            let mut link = Link::new(Profile::Tu50, db, None);
            let rate = link.error_rate(scheme);
            let lost =
                (0..BLOCKS).filter(|n| link.is_lost(&mut rng, BlockPeriod(u64::from(*n)), scheme)).count();
            let part = lost as f64 / f64::from(BLOCKS);
            assert!(close(part, rate, four_sigma(rate, BLOCKS)), "{scheme}: {part} of {rate}");
        }
        assert!((0..1000).all(|n| !Link::perfect().is_lost(&mut rng, BlockPeriod(n), CodingScheme::Cs4)));
        assert!((0..1000).all(|n| Link::with_rate(1.0).is_lost(&mut rng, BlockPeriod(n), CodingScheme::Cs1)));
    }

    #[test]
    fn bursts_have_their_share_and_their_length() {
        let mut rng = Rng::seeded(11);
        let bursts = Bursts::of(0.05, 8.0).unwrap();
        assert!(close(bursts.share(), 0.05, 1e-12));
        let mut link = Link { bursts: Some(bursts), ..Link::perfect() };
        let states: Vec<bool> = (0..u64::from(BLOCKS))
            .map(|n| link.is_lost(&mut rng, BlockPeriod(n), CodingScheme::Cs1))
            .collect();
        let bad = states.iter().filter(|bad| **bad).count() as f64;
        let runs = states.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Blocks within a burst are lost together, so the spread is that of bursts and not of blocks.
        assert!(close(bad / f64::from(BLOCKS), 0.05, 4.0 * four_sigma(0.05, BLOCKS)), "{bad}");
        assert!(close(bad / runs, 8.0, 1.0), "{}", bad / runs);
    }

    #[test]
    fn a_silent_channel_goes_on_where_it_would_be() {
        let bursts = Bursts::of(0.2, 10.0).unwrap();
        for periods in 0..50 {
            let mut was = [1.0, 0.0];
            for _ in 0..periods {
                let [bad, good] = was;
                was = [
                    bad * (1.0 - bursts.to_good) + good * bursts.to_bad,
                    bad * bursts.to_good + good * (1.0 - bursts.to_bad),
                ];
            }
            assert!(close(bursts.bad_after(true, periods), was[0], 1e-12));
        }
        assert!(close(bursts.bad_after(false, u64::MAX), 0.2, 1e-12));
        // All timeslots of a period are in the same state.
        let mut rng = Rng::seeded(3);
        let mut link = Link { bursts: Some(bursts), ..Link::perfect() };
        for period in 0..2000 {
            let mut lost = || link.is_lost(&mut rng, BlockPeriod(period * 3), CodingScheme::Cs1);
            assert_eq!(lost(), lost());
        }
        for (share, length) in [(1.0, 5.0), (-0.1, 5.0), (0.1, 0.5), (0.9, 1.0)] {
            assert_eq!(Bursts::of(share, length), None);
        }
    }

    #[test]
    fn bursts_that_collide_are_captured_as_often_as_their_powers_say() {
        let mut rng = Rng::seeded(5);
        for capture in [Capture::None, Capture::Ratio(8.0)] {
            assert_eq!((capture.received(&mut rng, 0), capture.received(&mut rng, 1)), (None, Some(0)));
        }
        assert!((2..100).all(|bursts| Capture::None.received(&mut rng, bursts).is_none()));
        for (bursts, db) in [(2, 0.0), (2, 8.0), (3, 8.0), (5, 3.0)] {
            let ratio = 10_f64.powf(db / 10.0);
            // Each exceeds the ratio times the sum of the others with 1 / (1 + ratio) for each of them.
            let expected = bursts as f64 / (1.0 + ratio).powi(bursts - 1);
            let mut winners = vec![0_u32; bursts as usize];
            for _ in 0..BLOCKS {
                if let Some(winner) = Capture::Ratio(db).received(&mut rng, bursts as usize) {
                    winners[winner] += 1;
                }
            }
            let part = f64::from(winners.iter().sum::<u32>()) / f64::from(BLOCKS);
            assert!(
                close(part, expected, four_sigma(expected, BLOCKS) + 1e-9),
                "{bursts} at {db} dB: {part} {expected}"
            );
            assert!(winners.iter().all(|times| *times > 0));
        }
    }
}
