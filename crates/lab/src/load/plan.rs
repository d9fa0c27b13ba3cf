//! Who sends how much: users in groups, sizes in a mix, load in steps.

use super::mobile::Profile;
use core::fmt;
use core::str::FromStr;
use gannet_machine::rng::Rng;
use gannet_wire::l3::ie::PrecedenceClass;
use serde::Serialize;

/// Octets of the smallest N-PDU that a generator can mark: an IPv4 and a UDP header, and what the sink checks.
pub const SIZE_MIN: u16 = 64;
/// Octets of the largest N-PDU: with SNDCP's header it fits an N201-U of 1520.
pub const SIZE_MAX: u16 = 1500;

/// Sizes of N-PDUs in octets, each with a weight: "378", or "100:20,378:60,1400:20".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sizes(pub Vec<(u16, u32)>);

impl Sizes {
    /// The mean size, in octets.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub fn mean_octets(&self) -> f64 {
        let weights: u64 = self.0.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let octets: u64 = self.0.iter().map(|(size, weight)| u64::from(*size) * u64::from(*weight)).sum();
        octets as f64 / weights.max(1) as f64
    }

    /// The largest size, in octets.
    #[must_use]
    pub fn largest(&self) -> u16 {
        self.0.iter().map(|(size, _)| *size).max().unwrap_or(SIZE_MIN)
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
            let size: u16 = size
                .trim()
                .parse()
                .map_err(|_| format!("'{size}' is no size in octets, from {SIZE_MIN} to {SIZE_MAX}"))?;
            let weight: u32 = weight.trim().parse().map_err(|_| format!("'{weight}' is no weight"))?;
            if !(SIZE_MIN..=SIZE_MAX).contains(&size) {
                return Err(format!("{size} octets: an N-PDU has {SIZE_MIN} to {SIZE_MAX} here"));
            }
            if weight == 0 {
                return Err(format!("{size}:0 would never be sent"));
            }
            sizes.push((size, weight));
        }
        Ok(Self(sizes))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [(size, _)] => write!(f, "{size}"),
            sizes => {
                let parts: Vec<String> =
                    sizes.iter().map(|(size, weight)| format!("{size}:{weight}")).collect();
                f.write_str(&parts.join(","))
            }
        }
    }
}

/// A load that goes from one multiple of the users' rate to another: "0.5:2:4" is 0.5, 1, 1.5 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ramp {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many in all.
    pub steps: u32,
}

impl Ramp {
    /// One step at the users' own rate.
    pub const NONE: Self = Self { from: 1.0, to: 1.0, steps: 1 };

    /// The multiples in their order.
    pub fn factors(self) -> impl Iterator<Item = f64> {
        let span = f64::from(self.steps.saturating_sub(1).max(1));
        (0..self.steps).map(move |step| self.from + (self.to - self.from) * f64::from(step) / span)
    }
}

impl FromStr for Ramp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no ramp: say FROM:TO:STEPS, such as 0.5:2:4");
        let mut parts = text.split(':');
        let (Some(from), Some(to), Some(steps), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let factor = |text: &str| {
            text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor >= 0.0).ok_or_else(wrong)
        };
        let steps = steps.parse().ok().filter(|steps| (1..=1000).contains(steps)).ok_or_else(wrong)?;
        Ok(Self { from: factor(from)?, to: factor(to)?, steps })
    }
}

/// What a user is among the users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Group {
    /// Sends what it has asked for, best effort at normal precedence.
    Good = 0,
    /// Sends more than it has asked for.
    Misbehaving = 1,
    /// Asks for real time, and keeps to its rate.
    RealTime = 2,
    /// Asks for high precedence, and keeps to its rate.
    HighPrecedence = 3,
}

impl Group {
    /// All, in the order in which tables show them.
    pub const ALL: [Self; 4] = [Self::Good, Self::Misbehaving, Self::RealTime, Self::HighPrecedence];

    /// As a table shows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Misbehaving => "misbehaving",
            Self::RealTime => "real-time",
            Self::HighPrecedence => "high-precedence",
        }
    }
}

/// Who is in which group: drawn with a seed, so that cells have their share of each.
#[derive(Debug, Clone)]
pub struct Groups {
    of: Vec<Group>,
}

impl Groups {
    /// `misbehaving` is a share of all users, the other two are numbers of users.
    ///
    /// # Errors
    /// Where there are more members than users.
    pub fn draw(
        users: u32,
        misbehaving: f64,
        real_time: u32,
        high_precedence: u32,
        seed: u64,
    ) -> Result<Self, String> {
        if !(0.0..=1.0).contains(&misbehaving) {
            return Err(format!("--misbehaving: between 0 and 1, not {misbehaving}"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
        let misbehaving = (f64::from(users) * misbehaving).round() as u32;
        let members = [
            (Group::Misbehaving, misbehaving),
            (Group::RealTime, real_time),
            (Group::HighPrecedence, high_precedence),
        ];
        let all: u64 = members.iter().map(|(_, count)| u64::from(*count)).sum();
        if all > u64::from(users) {
            return Err(format!(
                "--misbehaving, --real-time and --high-precedence name {all} mobiles, and --users is {users}"
            ));
        }
        let mut of: Vec<Group> = members
            .iter()
            .flat_map(|(group, count)| core::iter::repeat_n(*group, *count as usize))
            .chain(core::iter::repeat(Group::Good))
            .take(users as usize)
            .collect();
        let mut rng = Rng::seeded(seed);
        for left in (1..of.len()).rev() {
            let other = usize::try_from(rng.below(left as u64 + 1)).unwrap_or(0);
            of.swap(left, other);
        }
        Ok(Self { of })
    }

    /// The group of a user.
    #[must_use]
    pub fn of(&self, user: u32) -> Group {
        self.of.get(user as usize).copied().unwrap_or(Group::Good)
    }

    /// Users of a group.
    #[must_use]
    pub fn count(&self, group: Group) -> u32 {
        u32::try_from(self.of.iter().filter(|of| **of == group).count()).unwrap_or(u32::MAX)
    }

    /// What a user asks for, `octets_per_s` being what a well-behaved user sends.
    #[must_use]
    pub fn profile(&self, user: u32, octets_per_s: u32) -> Profile {
        match self.of(user) {
            Group::Good | Group::Misbehaving => Profile::best_effort(octets_per_s),
            Group::RealTime => Profile::real_time(octets_per_s),
            Group::HighPrecedence => Profile::best_effort(octets_per_s).precedence(PrecedenceClass::HIGH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_their_weights() {
        let mix: Sizes = "100:20,378:60,1400:20".parse().unwrap();
        assert_eq!(mix.0, [(100, 20), (378, 60), (1400, 20)]);
        assert_eq!((mix.to_string().as_str(), mix.largest()), ("100:20,378:60,1400:20", 1400));
        assert!((mix.mean_octets() - 526.8).abs() < 1e-9);
        assert_eq!("378".parse::<Sizes>().unwrap().to_string(), "378");
        for wrong in ["", "x", "20", "378:0", "378:x", "1501", "378,,100"] {
            assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ramps() {
        let ramp: Ramp = "0.5:2:4".parse().unwrap();
        assert_eq!(ramp.factors().collect::<Vec<_>>(), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(Ramp::NONE.factors().collect::<Vec<_>>(), [1.0]);
        for wrong in ["", "1:2", "1:2:0", "1:2:3:4", "-1:2:3", "nan:1:2", "1:2:x"] {
            assert!(wrong.parse::<Ramp>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn groups_are_drawn_evenly_and_the_same_for_the_same_seed() {
        let groups = Groups::draw(10_000, 0.5, 10, 20, 1).unwrap();
        let counts = Group::ALL.map(|group| groups.count(group));
        assert_eq!(counts, [4970, 5000, 10, 20]);
        let cells = 400;
        let of_cell = |cell| {
            (cell..10_000)
                .step_by(cells as usize)
                .filter(|user| groups.of(*user) == Group::Misbehaving)
                .count()
        };
        // 25 users in each cell, half of them drawn.
        assert!((0..cells).all(|cell| (2..=23).contains(&of_cell(cell))));
        let again = Groups::draw(10_000, 0.5, 10, 20, 1).unwrap();
        assert_eq!(again.of, groups.of);
        assert_ne!(Groups::draw(10_000, 0.5, 10, 20, 2).unwrap().of, groups.of);
        assert!(Groups::draw(10, 1.1, 0, 0, 1).is_err());
        assert!(Groups::draw(10, 0.5, 4, 2, 1).is_err());
        let high = (0..10_000).find(|user| groups.of(*user) == Group::HighPrecedence).unwrap();
        assert_eq!(groups.profile(high, 1000).0.precedence, PrecedenceClass::HIGH);
    }
}
