//! What the preemption study has measured, from its text: A. Wennström, A. Brunstrom, J. Rendón, J. H. Gustafsson, *The Impact of
//! Preemptive Priority in GPRS on TCP Performance: A Measurement Study*.

/// A row of its table 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Preemption period, in seconds.
    pub period_s: u64,
    /// Throughput, in kbit/s.
    pub kbit_per_s: f64,
    /// Packets that were sent again, in per cent.
    pub again_percent: f64,
    /// Mean round trip, in seconds.
    pub rtt_s: f64,
}

/// Table 1.
pub const TABLE_1: [Row; 3] = [
    Row { period_s: 3, kbit_per_s: 21.64, again_percent: 6.96, rtt_s: 2.911 },
    Row { period_s: 6, kbit_per_s: 22.20, again_percent: 6.55, rtt_s: 3.081 },
    Row { period_s: 15, kbit_per_s: 21.27, again_percent: 7.03, rtt_s: 3.316 },
];
/// Section 4: the rate without preemption, in kbit/s.
pub const UNDISTURBED_KBIT_PER_S: f64 = 31.0;
/// Section 5.2: outstanding data in front of the first preemption, and the peaks later, in octets.
pub const OUTSTANDING_FIRST_OCTETS: f64 = 65_536.0;
/// The same, later.
pub const OUTSTANDING_PEAK_OCTETS: f64 = 16_384.0;
/// Section 5.2: between which values the round trip varies, in seconds.
pub const RTT_S: (f64, f64) = (1.0, 4.0);

impl Row {
    /// The row of a period.
    #[must_use]
    pub fn of(period_s: u64) -> Option<Self> {
        TABLE_1.into_iter().find(|row| row.period_s == period_s)
    }

    /// Throughput as a part of that without preemption.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.kbit_per_s / UNDISTURBED_KBIT_PER_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_table() {
        let shares = TABLE_1.map(|row| (row.share() * 100.0).round() / 100.0);
        assert_eq!(shares, [0.70, 0.72, 0.69]);
        assert_eq!(Row::of(15), Some(TABLE_1[2]));
        assert_eq!(Row::of(7), None);
    }
}
