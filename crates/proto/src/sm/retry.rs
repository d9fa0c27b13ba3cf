//! One message that is sent again until it is answered, in three octets.

use gannet_machine::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// When a message is to be sent again, and how often it was sent: the upper 21 bits are the instant in units of 2^26 ns
/// (67 ms), which wrap after 39 hours, the lower three bits are the count. A count of 0 means that nothing is awaited.
/// The timers of SM run for seconds, so a deadline is always less than half of the circle away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Retry([u8; 3]);

/// Nanoseconds of one unit, as a power of two.
const UNIT_BITS: u32 = 26;
/// Bits of the count.
const COUNT_BITS: u32 = 3;
/// Units until they wrap.
const UNITS: u32 = 1 << (24 - COUNT_BITS);
/// The count.
const COUNT: u32 = (1 << COUNT_BITS) - 1;

impl Retry {
    /// The unit in which `at` lies.
    fn unit(at: Instant) -> u32 {
        let [_, _, _, _, a, b, c, d] = (at.0 >> UNIT_BITS).to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) % UNITS
    }

    fn at(now: Instant, span: Duration, count: u32) -> Self {
        // The first unit that begins after the span has passed.
        let unit = (Self::unit(now + span) + 1) % UNITS;
        let [_, a, b, c] = (unit << COUNT_BITS | count).to_be_bytes();
        Self([a, b, c])
    }

    const fn value(self) -> u32 {
        let Self([a, b, c]) = self;
        u32::from_be_bytes([0, a, b, c])
    }

    /// The message is sent for the first time.
    pub fn start(&mut self, now: Instant, span: Duration) {
        *self = Self::at(now, span, 1);
    }

    /// The clock has begun anew: what is awaited has `span` from now on.
    pub fn restart(&mut self, now: Instant, span: Duration) {
        if self.is_running() {
            *self = Self::at(now, span, self.value() & COUNT);
        }
    }

    /// The answer came, or nobody waits for it any more.
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// True while an answer is awaited.
    pub fn is_running(self) -> bool {
        self.value() & COUNT != 0
    }

    /// When the timer expires, seen from `now`.
    pub fn deadline(self, now: Instant) -> Option<Instant> {
        let ahead = (self.value() >> COUNT_BITS).wrapping_sub(Self::unit(now)) % UNITS;
        // More than half of the circle ahead lies behind.
        let ahead = if ahead < UNITS / 2 { u64::from(ahead) } else { 0 };
        self.is_running().then(|| Instant(((now.0 >> UNIT_BITS) + ahead) << UNIT_BITS))
    }

    /// True where the timer has expired.
    pub fn is_due(self, now: Instant) -> bool {
        self.deadline(now).is_some_and(|at| at <= now)
    }

    /// The timer has expired: true where the message is to be sent again, which starts the timer anew; false, and
    /// nothing runs any more, where it was sent `tries` times.
    pub fn again(&mut self, now: Instant, span: Duration, tries: u8) -> bool {
        let count = self.value() & COUNT;
        if count < u32::from(tries).min(COUNT) {
            *self = Self::at(now, span, count + 1);
            true
        } else {
            self.stop();
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(8);

    #[test]
    fn expires_not_before_its_span_and_soon_after() {
        for start in [0, 1, 7_777_777_777, 1 << 55, (1 << 55) - 1, u64::from(UNITS - 1) << UNIT_BITS] {
            let mut retry = Retry::default();
            assert_eq!(retry.deadline(Instant(start)), None);
            retry.start(Instant(start), SPAN);
            let at = retry.deadline(Instant(start)).unwrap();
            assert!(
                at > Instant(start) + SPAN && at.since(Instant(start) + SPAN) < Duration::from_millis(68)
            );
            assert!(!retry.is_due(Instant(at.0 - 1)) && retry.is_due(at) && retry.is_due(at + SPAN));
            assert_eq!(retry.deadline(Instant(start) + SPAN), Some(at));
        }
    }

    #[test]
    fn gives_up_after_the_last_try() {
        let mut retry = Retry::default();
        retry.start(Instant::ZERO, SPAN);
        let sent = (1..).take_while(|_| retry.again(Instant::ZERO, SPAN, 5)).count();
        assert_eq!(sent, 4);
        assert!(!retry.is_running());
    }
}
