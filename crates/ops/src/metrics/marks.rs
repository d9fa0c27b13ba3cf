//! Values as they were at some moment: the last report, the last reset, the last second.

use super::{Group, Metric};
use std::collections::BTreeMap;

/// Groups that are remembered at most.
const GROUPS_MAX: usize = 1 << 16;

/// The metrics of a group with their values.
type Values = Vec<(&'static str, u64)>;

/// The values of groups at some moment, by class and index.
#[derive(Debug, Clone, Default)]
pub struct Marks(BTreeMap<&'static str, BTreeMap<String, Values>>);

impl Marks {
    /// The value that was noted, where one was.
    #[must_use]
    pub fn get(&self, group: &Group, place: usize, metric: &Metric) -> Option<u64> {
        let values = self.0.get(group.class.osmocom)?.get(&group.index)?;
        values.get(place).filter(|(name, _)| *name == metric.name).map(|(_, value)| *value)
    }

    /// By how much a counter has grown since: from 0 on where nothing was noted, or where it has begun anew.
    #[must_use]
    pub fn growth(&self, group: &Group, place: usize, metric: &Metric) -> u64 {
        metric.value.checked_sub(self.get(group, place, metric).unwrap_or(0)).unwrap_or(metric.value)
    }

    /// Notes a group as it is.
    pub fn note(&mut self, group: &Group) {
        self.put(group, group.metrics.iter().map(|metric| (metric.name, metric.value)).collect());
    }

    /// Notes numbers in the place of a group's values.
    fn put(&mut self, group: &Group, values: Vec<(&'static str, u64)>) {
        let of_class = self.0.entry(group.class.osmocom).or_default();
        if let Some(known) = of_class.get_mut(&group.index) {
            *known = values;
        } else if of_class.len() < GROUPS_MAX {
            of_class.insert(group.index.clone(), values);
        }
    }

    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What is counted since: the same groups with their counters less what was noted.
    pub fn since(&self, groups: &mut [Group]) {
        for group in groups {
            let grown = group.metrics.iter().enumerate().map(|(place, metric)| match metric.is_counter() {
                true => self.growth(group, place, metric),
                false => metric.value,
            });
            let grown: Vec<u64> = grown.collect();
            group.metrics.iter_mut().zip(grown).for_each(|(metric, value)| metric.value = value);
        }
    }
}

/// Over what a rate is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl Period {
    /// All of them, from the shortest.
    pub const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    /// How long.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
        }
    }

    /// The word of `rate_ctr.…`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Second => "per_sec",
            Self::Minute => "per_min",
            Self::Hour => "per_hour",
            Self::Day => "per_day",
        }
    }
}

/// How much counters grew in the last whole second, minute, hour and day.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    seconds: u64,
    began: [Marks; 4],
    last: [Marks; 4],
}

impl Rates {
    /// Whether a second was ever noted.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.seconds > 0
    }

    /// A second has passed, and these are the values.
    pub fn second(&mut self, groups: &[Group]) {
        let first = self.seconds == 0;
        self.seconds += 1;
        for ((period, began), last) in Period::ALL.into_iter().zip(&mut self.began).zip(&mut self.last) {
            if !first && !(self.seconds - 1).is_multiple_of(period.seconds()) {
                continue;
            }
            for group in groups {
                if !first {
                    let growth =
                        |(place, metric): (usize, &Metric)| (metric.name, began.growth(group, place, metric));
                    last.put(group, group.metrics.iter().enumerate().map(growth).collect());
                }
                began.note(group);
            }
        }
    }

    /// The growth in the last whole period; 0 before one is over.
    #[must_use]
    pub fn get(&self, period: Period, group: &Group, place: usize, metric: &Metric) -> u64 {
        let of_period = Period::ALL.into_iter().zip(&self.last).find(|(other, _)| *other == period);
        of_period.and_then(|(_, last)| last.get(group, place, metric)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;

    #[test]
    fn counters_grow_and_gauges_are() {
        let mut groups = groups();
        let mut marks = Marks::default();
        marks.note(&groups[0]);
        groups[0].metrics[0].value = 10;
        groups[0].metrics[1].value = 9;
        marks.since(&mut groups);
        let values: Vec<u64> = groups[0].metrics.iter().map(|metric| metric.value).collect();
        assert_eq!(values, [3, 9, 0]);
        assert_eq!(groups[1].metrics[0].value, 3, "never noted");
        groups[0].metrics[0].value = 2;
        assert_eq!(marks.growth(&groups[0], 0, &groups[0].metrics[0]), 2, "begun anew");
        marks.clear();
        assert_eq!(marks.get(&groups[0], 0, &groups[0].metrics[0]), None);
    }

    #[test]
    fn rates_are_of_whole_periods() {
        let mut groups = groups();
        let mut rates = Rates::default();
        let of = |rates: &Rates, groups: &[Group]| {
            Period::ALL.map(|period| rates.get(period, &groups[0], 0, &groups[0].metrics[0]))
        };
        rates.second(&groups);
        assert_eq!(of(&rates, &groups), [0, 0, 0, 0]);
        for second in 1..=60_u64 {
            groups[0].metrics[0].value += second;
            rates.second(&groups);
            let minute = if second == 60 { (1..=60).sum() } else { 0 };
            assert_eq!(of(&rates, &groups), [second, minute, 0, 0]);
        }
        rates.second(&groups);
        assert_eq!(of(&rates, &groups), [0, 1830, 0, 0]);
    }
}
