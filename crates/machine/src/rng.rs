//! Randomness that arrives as an argument: every run is repeatable from its seed.

/// A seeded generator.
#[derive(Debug, Clone)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// From a seed. The same seed gives the same numbers for ever.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// 32 random bits.
    pub fn u32(&mut self) -> u32 {
        self.0.u32(..)
    }

    /// 64 random bits.
    pub fn u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.0.u64(..end) }
    }

    /// A number in 0.0 to 1.0, the latter excluded.
    pub fn unit(&mut self) -> f64 {
        self.0.f64()
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A generator of its own whose numbers depend on this one's state.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.0.fork())
    }
}
