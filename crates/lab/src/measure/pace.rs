//! How far an experiment is beside the time that it has: a quick run takes five minutes at most, also where the machine is busy
//! with something else.

use std::time::{Duration, Instant};

/// What a quick run plans with: less than the five minutes that it may take.
const QUICK: Duration = Duration::from_secs(240);
/// So much later than planned is not late.
const SLACK: Duration = Duration::from_secs(5);

/// The plan of an experiment, in parts of about the same length.
#[derive(Debug)]
pub struct Pace {
    begin: Instant,
    parts: u32,
    done: u32,
}

impl Pace {
    /// Begins now, without a plan: never late.
    #[must_use]
    pub fn begin() -> Self {
        Self { begin: Instant::now(), parts: 0, done: 0 }
    }

    /// So many parts in all.
    pub const fn plan(&mut self, parts: u32) {
        self.parts = parts;
    }

    /// So many more are done.
    pub const fn done(&mut self, parts: u32) {
        self.done += parts;
    }

    /// Is it later than planned?
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.is_late_after(self.begin.elapsed())
    }

    fn is_late_after(&self, elapsed: Duration) -> bool {
        let planned = QUICK * (self.done + 1).min(self.parts);
        self.parts > 0 && elapsed > planned / self.parts + SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_takes_longer_than_its_part() {
        let mut pace = Pace::begin();
        assert!(!pace.is_late_after(QUICK * 9), "there is no plan");
        pace.plan(10);
        let part = QUICK / 10;
        assert!(!pace.is_late_after(part) && pace.is_late_after(part + SLACK * 2));
        pace.done(4);
        assert!(!pace.is_late_after(part * 5) && pace.is_late_after(part * 6));
        pace.done(9);
        assert!(!pace.is_late_after(QUICK) && pace.is_late_after(QUICK + SLACK * 2));
    }
}
