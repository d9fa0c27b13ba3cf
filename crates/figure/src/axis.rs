//! Axes: ranges, ticks and their labels.

use crate::Scale;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    pub(crate) high: f64,
}

impl Axis {
    /// With room for all of them.
    pub(crate) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> =
            values.filter(|v| v.is_finite() && (*v > 0.0 || scale == Scale::Linear)).collect();
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        match scale {
            Scale::Linear => {
                let high = if high > 0.0 { high * 1.06 } else { 1.0 };
                Self { scale, low: low.min(0.0), high }
            }
            Scale::Logarithmic if low.is_finite() => {
                // Whole decades where they are few, so that there are labels on both ends.
                let (low, high) =
                    (10_f64.powf(low.log10().floor()), 10_f64.powf((high * 1.2).log10().ceil()));
                Self { scale, low, high }
            }
            Scale::Logarithmic => Self { scale, low: 1.0, high: 10.0 },
        }
    }

    /// Where a value stands, from 0 at the lower end to 1 at the upper.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => {
                (value.max(self.low) / self.low).log10() / (self.high / self.low).log10().max(1e-9)
            }
        }
    }

    /// 1, 2 or 5 times a power of ten, so that no more than `count` steps are needed.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        let count = count.max(2);
        if self.scale == Scale::Logarithmic {
            let decades = (self.high / self.low).log10().round().max(1.0);
            let within: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let mut ticks = Vec::new();
            let mut decade = self.low;
            while decade <= self.high * 1.001 {
                ticks.extend(within.iter().map(|m| m * decade).filter(|tick| *tick <= self.high * 1.001));
                decade *= 10.0;
            }
            return ticks;
        }
        let raw = (self.high - self.low) / f64::from(u32::try_from(count).unwrap_or(9));
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= raw);
        let step = step.unwrap_or(raw);
        let first = (self.low / step).ceil();
        (0..64).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= self.high).collect()
    }
}

/// A value as an axis has it.
pub(crate) fn label(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        v if v >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::around(Scale::Linear, [3.0, 970.0].into_iter());
        assert_eq!(axis.ticks(9), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        let axis = Axis::around(Scale::Logarithmic, [0.3, 2_000.0].into_iter());
        let names: Vec<String> = axis.ticks(9).into_iter().map(label).collect();
        assert_eq!(names, ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!((axis.place(0.1), axis.place(10_000.0)), (0.0, 1.0));
        assert_eq!(axis.place(0.0), 0.0, "what a logarithm cannot show stands at the edge");
    }
}
