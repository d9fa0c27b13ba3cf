//! How many answers a peer gets in a second, so that nonsense of his is not answered piece by piece.

use gannet_machine::time::Instant;

/// So many a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Allowance {
    second: u64,
    used: u32,
}

impl Allowance {
    /// True for the first `per_s` times in a second.
    pub const fn take(&mut self, now: Instant, per_s: u32) -> bool {
        let second = now.0 / 1_000_000_000;
        if self.second != second {
            self.second = second;
            self.used = 0;
        }
        self.used = self.used.saturating_add(1);
        self.used <= per_s
    }
}
