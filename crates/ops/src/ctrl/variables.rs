//! `rate_ctr.*` and `stat_item.*`: the counters and gauges of a node by group and name.

use super::UNKNOWN;
use crate::metrics::{Group, Level, Metric, Period, Rates};
use core::fmt::Write as _;

/// What of a metric is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A counter since the start.
    Count,
    /// How much it grew in the last whole period.
    Rate(Period),
    /// A gauge.
    Gauge,
}

/// Which values of which group are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    what: What,
    group: &'a str,
    index: &'a str,
    /// All counters of it where it is `None`.
    name: Option<&'a str>,
}

const GROUP_FORM: &str = "Counter group must be of name.index form e. g. e1inp.0";
const ITEM_FORM: &str = "Stat item must be of form stat_item.type.group_name.N.item_name, \
                         e.g. 'stat_item.last.bsc.0.msc_num:connected'";

impl<'a> Query<'a> {
    /// Reads a variable's name; `None` where it is none of these.
    ///
    /// # Errors
    /// The reason that is answered.
    pub fn parse(variable: &'a str) -> Option<Result<Self, &'static str>> {
        let (family, rest) = variable.split_once('.')?;
        match family {
            "rate_ctr" => Some(Self::counters(rest)),
            "stat_item" => Some(Self::gauge(rest)),
            _ => None,
        }
    }

    fn counters(text: &'a str) -> Result<Self, &'static str> {
        let mut parts = text.splitn(4, '.');
        let interval = parts.next().unwrap_or_default();
        let of_period = Period::ALL.into_iter().find(|period| period.word() == interval);
        let what = match (interval, of_period) {
            ("abs", _) => What::Count,
            (_, Some(period)) => What::Rate(period),
            (_, None) => return Err("The interval is abs, per_sec, per_min, per_hour or per_day"),
        };
        let (Some(group), Some(index)) = (parts.next(), parts.next()) else { return Err(GROUP_FORM) };
        Ok(Self { what, group, index, name: parts.next() })
    }

    fn gauge(text: &'a str) -> Result<Self, &'static str> {
        let mut parts = text.splitn(4, '.');
        let (Some("last"), Some(group), Some(index), name @ Some(_)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(ITEM_FORM);
        };
        Ok(Self { what: What::Gauge, group, index, name })
    }

    /// Whether it asks for this group.
    #[must_use]
    pub fn is_of(&self, group: &Group) -> bool {
        group.class.osmocom == self.group
            && (group.osmocom_index() == self.index || group.index == self.index)
    }

    /// The values of the group that it asks for: one alone, or `NAME VALUE;` for all.
    ///
    /// # Errors
    /// The reason that is answered.
    pub fn answer(&self, group: &Group, rates: &Rates) -> Result<String, &'static str> {
        if matches!(self.what, What::Rate(_)) && group.class.level != Level::Global {
            return Err("Rates are taken of the node as a whole only");
        }
        let value = |place, metric: &Metric| match self.what {
            What::Count | What::Gauge => metric.value,
            What::Rate(period) => rates.get(period, group, place, metric),
        };
        let wanted = |metric: &Metric| metric.is_counter() == (self.what != What::Gauge);
        let mut of_group = group.metrics.iter().enumerate().filter(|(_, metric)| wanted(metric));
        let Some(name) = self.name else {
            let mut text = String::new();
            for (place, metric) in of_group {
                let _ = write!(text, "{} {};", metric.osmocom_name(), value(place, metric));
            }
            return Ok(text);
        };
        let found = of_group.find(|(_, metric)| metric.osmocom_name() == name || metric.name == name);
        found.map(|(place, metric)| value(place, metric).to_string()).ok_or(match self.what {
            What::Gauge => "Stat item not found",
            What::Count | What::Rate(_) => "Counter name not found.",
        })
    }

    /// What is answered where no group is the one.
    #[must_use]
    pub const fn no_group(&self) -> &'static str {
        match self.what {
            What::Gauge => "Stat group with given name and index not found",
            What::Count | What::Rate(_) => "Counter group with given name and index not found",
        }
    }
}

/// What is answered to who would set a variable.
pub(super) fn refuse_to_set(variable: &str, element_has_it: bool) -> &'static str {
    match variable.split_once('.').map(|(family, _)| family) {
        Some("rate_ctr") => "Can't set rate counter.",
        Some("stat_item") => super::READ_ONLY,
        _ if element_has_it => super::READ_ONLY,
        _ => UNKNOWN,
    }
}
