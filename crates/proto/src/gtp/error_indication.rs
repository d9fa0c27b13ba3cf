//! How many unasked-for answers leave a node: Error Indications and their like are answers to anyone's datagrams, so
//! a flood of datagrams for unknown endpoints must not become a flood of answers.

use gannet_machine::time::Instant;

/// A token bucket in whole nanoseconds: one answer costs the time between two answers at the configured rate.
#[derive(Debug, Clone)]
pub struct AnswerLimiter {
    /// Cost of one answer in nanoseconds.
    cost_ns: u64,
    /// Credit at most, in nanoseconds.
    credit_ns_max: u64,
    credit_ns: u64,
    filled_at: Instant,
}

impl AnswerLimiter {
    /// At most `per_second` answers a second in the long run and `burst` at once; a rate of 0 lets none pass.
    #[must_use]
    pub fn new(per_second: u32, burst: u32) -> Self {
        let cost_ns = 1_000_000_000_u64.checked_div(u64::from(per_second)).unwrap_or(u64::MAX).max(1);
        let credit_ns_max = if per_second == 0 { 0 } else { cost_ns.saturating_mul(u64::from(burst.max(1))) };
        Self { cost_ns, credit_ns_max, credit_ns: credit_ns_max, filled_at: Instant::ZERO }
    }

    /// May one answer leave now? If so, it is paid.
    pub fn permit(&mut self, now: Instant) -> bool {
        let earned_ns = now.since(self.filled_at).0;
        self.filled_at = self.filled_at.max(now);
        self.credit_ns = self.credit_ns.saturating_add(earned_ns).min(self.credit_ns_max);
        match self.credit_ns.checked_sub(self.cost_ns) {
            Some(rest) => {
                self.credit_ns = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(limiter: &mut AnswerLimiter, at: Instant, asked: usize) -> usize {
        (0..asked).filter(|_| limiter.permit(at)).count()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let mut limiter = AnswerLimiter::new(10, 3);
        assert_eq!(permitted(&mut limiter, Instant::ZERO, 100), 3);
        assert_eq!(permitted(&mut limiter, Instant(99_999_999), 100), 0);
        assert_eq!(permitted(&mut limiter, Instant(100_000_000), 100), 1);
        assert_eq!(permitted(&mut limiter, Instant(10_000_000_000), 100), 3);
    }

    #[test]
    fn a_rate_of_zero_lets_none_pass() {
        let mut limiter = AnswerLimiter::new(0, 5);
        assert_eq!(permitted(&mut limiter, Instant(u64::MAX - 1), 10), 0);
    }
}
