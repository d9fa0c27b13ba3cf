//! How well the emulator did what its model says, measured while it runs.

use core::fmt;
use gannet_machine::time::{Duration, Instant};

/// Lateness up to here is counted to the microsecond.
const RESOLVED_US: usize = 20_000;

/// What was measured in one direction.
#[derive(Debug, Clone)]
pub struct Accuracy {
    /// Frames by the microseconds that they were late.
    late_us: Vec<u32>,
    /// Frames that were later than that.
    beyond: u64,
    count: u64,
    latest: Duration,
    last: Option<(Instant, Instant)>,
    ideal: Duration,
    actual: Duration,
}

impl Default for Accuracy {
    fn default() -> Self {
        Self {
            late_us: vec![0; RESOLVED_US],
            beyond: 0,
            count: 0,
            latest: Duration::ZERO,
            last: None,
            ideal: Duration::ZERO,
            actual: Duration::ZERO,
        }
    }
}

impl Accuracy {
    /// A frame that had to be sent at `due` was given to the kernel by `sent`. It follows the frame before it without a pause
    /// where it is `back_to_back`.
    pub fn sent(&mut self, due: Instant, sent: Instant, back_to_back: bool) {
        let late = sent.since(due);
        self.count += 1;
        self.latest = self.latest.max(late);
        let bucket = usize::try_from(late.0 / 1000).ok().and_then(|us| self.late_us.get_mut(us));
        match bucket {
            Some(bucket) => *bucket += 1,
            None => self.beyond += 1,
        }
        if let Some((due_before, sent_before)) = self.last.filter(|_| back_to_back) {
            self.ideal = self.ideal + due.since(due_before);
            self.actual = self.actual + sent.since(sent_before);
        }
        self.last = Some((due, sent));
    }

    /// How late the frame is of which this share of all frames is no later, rounded up to microseconds; `None` where it is
    /// beyond the scale, or no frame was sent.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        #[expect(clippy::cast_precision_loss, reason = "a count of frames")]
        let wanted = self.count as f64 * share;
        let mut sum = 0.0;
        let us = self.late_us.iter().position(|count| {
            sum += f64::from(*count);
            sum >= wanted && sum > 0.0
        })?;
        Some(Duration::from_micros(us as u64 + 1))
    }

    /// The latest of all; `None` where no frame was sent.
    #[must_use]
    pub fn latest(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.latest)
    }

    /// By which share sending frames that followed each other took longer than it should have, and over how much time that was
    /// measured; `None` where none did.
    #[must_use]
    pub fn rate_error(&self) -> Option<(f64, Duration)> {
        let measured = self.ideal > Duration::ZERO;
        measured.then(|| (self.actual.as_secs_f64() / self.ideal.as_secs_f64() - 1.0, self.ideal))
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate_error() {
            Some((error, over)) => {
                write!(
                    f,
                    "time error {:+.4} % over {:.3} s back to back",
                    error * 100.0,
                    over.as_secs_f64()
                )?;
            }
            None => write!(f, "time error not measured (no frames back to back)")?,
        }
        write!(f, "; lateness")?;
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            match self.quantile(share) {
                Some(late) => write!(f, " {name} {} us,", late.0 / 1000)?,
                None if self.count == 0 => write!(f, " {name} not measured,")?,
                None => write!(f, " {name} over {RESOLVED_US} us,")?,
            }
        }
        write!(f, " largest {} us", self.latest.0.div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_and_time_are_those_that_were_told() {
        let mut accuracy = Accuracy::default();
        assert_eq!(accuracy.quantile(0.5), None);
        assert_eq!(accuracy.rate_error(), None);
        assert_eq!(accuracy.latest(), None);
        for number in 0..100_u64 {
            let due = Instant(number * 1_000_000);
            // Each is later than the one before by a microsecond: 0.1 %.
            accuracy.sent(due, due + Duration::from_micros(number), number > 0);
        }
        assert_eq!(accuracy.quantile(0.5), Some(Duration::from_micros(50)));
        assert_eq!(accuracy.quantile(0.99), Some(Duration::from_micros(99)));
        assert_eq!(accuracy.latest(), Some(Duration::from_micros(99)));
        let (error, over) = accuracy.rate_error().unwrap();
        assert!((error - 0.001).abs() < 1e-9, "{error}");
        assert_eq!(over, Duration::from_millis(99));
        let text = accuracy.to_string();
        assert_eq!(
            text,
            "time error +0.1000 % over 0.099 s back to back; lateness p50 50 us, p99 99 us, largest 99 us"
        );
    }

    #[test]
    fn what_is_very_late_is_beyond_the_scale() {
        let mut accuracy = Accuracy::default();
        accuracy.sent(Instant(0), Instant(1_000_000_000), false);
        assert_eq!(accuracy.quantile(0.5), None);
        assert!(accuracy.to_string().ends_with("p50 over 20000 us, p99 over 20000 us, largest 1000000 us"));
    }
}
