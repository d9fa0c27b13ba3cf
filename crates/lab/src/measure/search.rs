//! The search for saturation: the highest load that is delivered whole.
//!
//! A load is *whole* where every group gets, inside the window, at least [`WHOLE`] of what it is entitled to. What
//! waits in a queue at the end of the window has not been delivered: with a buffer of a second, loss would come long
//! after saturation.

use super::account::Step;

/// Of what a group is entitled to, and what was offered to it.
pub const WHOLE: f64 = 0.995;

/// So often what was to be tried could not be offered, and then no more can.
const SHORT_MAX: u32 = 2;

/// Steps upwards grow to this.
const STRIDE_MAX: f64 = 1.15;
/// Of what was delivered of too much, what is tried below it, and above it.
const BELOW: f64 = 0.99;
const ABOVE: f64 = 1.015;
/// A load that differs by less has been tried.
const NEW: f64 = 1.004;

/// A bracket that closes: loads go up while they are whole and down while they are not, then between.
#[derive(Debug, Clone)]
pub struct Bracket {
    at: f64,
    whole: Option<f64>,
    broken: Option<f64>,
    stride: f64,
    resolution: f64,
    cap: f64,
    /// The most that was delivered of a load that was not whole.
    delivered: f64,
    /// How often in a row less could be offered than what was to be tried.
    short: u32,
}

impl Bracket {
    /// Begins at `guess`, with steps of `stride` (1.2 is 20 %), until the two sides are closer than `resolution` (1.01
    /// is 1 %). No load above `cap` is tried.
    #[must_use]
    pub fn new(guess: f64, stride: f64, resolution: f64, cap: f64) -> Self {
        Self {
            at: guess.min(cap),
            whole: None,
            broken: None,
            stride,
            resolution,
            cap,
            delivered: 0.0,
            short: 0,
        }
    }

    /// True where its steps are large, since little is known.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.stride > 1.1
    }

    /// True where the two sides come near each other.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.resolution < 1.04
    }

    /// True where both sides are known: a load that was whole, and one that was not. Before that what was found is but a
    /// load that is not too high.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.whole.is_some() && self.broken.is_some()
    }

    /// The load to try; `None` when it is known well enough.
    #[must_use]
    pub fn next_load(&self) -> Option<f64> {
        let done = match (self.whole, self.broken) {
            (Some(whole), _) if whole >= self.cap => true,
            (Some(whole), Some(broken)) => broken / whole <= self.resolution,
            (Some(_), None) => false,
            (None, Some(broken)) => broken < 1.0,
            (None, None) => false,
        };
        (!done).then_some(self.at)
    }

    /// What became of the load that was tried last.
    pub fn tell(&mut self, whole: bool) {
        self.tell_of(self.at, whole, 0.0);
    }

    /// The same of the load that was offered indeed, and how much of it was delivered: who is offered too much delivers about
    /// what is whole, or less, so that the next load is tried there and not halfway. Where less than what was known to be whole could be offered, it says
    /// nothing new, and after a while the search ends there.
    pub fn tell_of(&mut self, load: f64, whole: bool, delivered: f64) {
        self.short = if load < self.at { self.short + 1 } else { 0 };
        if self.short >= SHORT_MAX {
            self.cap = self.cap.min(self.found().max(load));
        }
        if whole && load <= self.found() {
            return;
        }
        self.at = load;
        if whole {
            self.whole = Some(self.at);
        } else {
            self.broken = Some(self.at);
            self.delivered = self.delivered.max(delivered);
        }
        let (below, above) = (self.delivered * BELOW, self.delivered * ABOVE);
        self.at = match (self.whole, self.broken) {
            (Some(whole), Some(broken)) if whole < broken => {
                let is_between = above > whole * NEW && above * NEW < broken;
                if is_between { above } else { (whole * broken).sqrt().min(whole * self.stride) }
            }
            // The machine has changed its mind: what was whole is not, or the other way round.
            (Some(_), Some(_)) => {
                if whole {
                    (self.broken, self.delivered) = (None, 0.0);
                    self.at * self.stride
                } else {
                    (self.whole, self.delivered) = (None, delivered);
                    (self.at / self.stride).max(delivered * BELOW).min(self.at / NEW)
                }
            }
            (Some(whole), None) => {
                let next = whole * self.stride;
                // The longer it goes up the less is known.
                self.stride = (self.stride * self.stride).min(STRIDE_MAX.max(self.stride));
                next
            }
            (None, Some(broken)) => (broken / self.stride).max(below).min(broken / NEW),
            (None, None) => self.at,
        }
        .min(self.cap);
    }

    /// The highest load that was whole, packets/s; 0 where none was.
    #[must_use]
    pub fn found(&self) -> f64 {
        self.whole.unwrap_or(0.0)
    }

    /// True where the cap ended the search, not the SGSN.
    #[must_use]
    pub fn is_capped(&self) -> bool {
        self.broken.is_none() && self.whole.is_some_and(|whole| whole >= self.cap)
    }
}

/// True where everybody got what he is entitled to.
#[must_use]
pub fn is_whole(step: &Step) -> bool {
    step.is_whole(WHOLE) && step.wrong == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(guess: f64, cap: f64, truth: f64) -> (Bracket, u32) {
        let mut bracket = Bracket::new(guess, 1.25, 1.01, cap);
        let mut steps = 0;
        while let Some(load) = bracket.next_load() {
            bracket.tell(load <= truth);
            steps += 1;
            assert!(steps < 60, "the search ends");
        }
        (bracket, steps)
    }

    #[test]
    fn it_finds_the_edge_from_either_side() {
        for guess in [100_000.0, 400_000.0, 900_000.0] {
            let (bracket, steps) = search(guess, 1e9, 431_000.0);
            assert!(bracket.found() <= 431_000.0 && bracket.found() * 1.01 >= 431_000.0);
            assert!(steps <= 16 && !bracket.is_capped());
        }
    }

    #[test]
    fn what_is_delivered_of_too_much_shows_the_way() {
        for (truth, guess) in [(431_000.0, 350_000.0), (431_000.0, 800_000.0)] {
            let mut bracket = Bracket::new(guess, 1.15, 1.026, 1e9);
            let mut steps = 0;
            while let Some(load) = bracket.next_load() {
                // What is too much costs a little more.
                bracket.tell_of(load, load <= truth, truth - 0.1 * (load - truth));
                steps += 1;
            }
            assert!(bracket.found() <= truth && bracket.found() * 1.026 >= truth, "{bracket:?}");
            assert!(steps <= 7, "{steps}");
        }
    }

    #[test]
    fn it_stops_at_the_cap_and_at_nothing() {
        let (bracket, _) = search(100_000.0, 300_000.0, 431_000.0);
        assert!(bracket.is_capped());
        assert_eq!(bracket.found(), 300_000.0);
        assert_eq!(search(1000.0, 1e9, 0.0).0.found(), 0.0);
    }

    #[test]
    fn what_the_generator_cannot_offer_ends_it() {
        let mut bracket = Bracket::new(500.0, 1.25, 1.01, 1e9);
        bracket.tell(true);
        assert!(!bracket.is_closed(), "nothing was too much yet");
        let mut tries = 0;
        while let Some(load) = bracket.next_load() {
            bracket.tell_of(load.min(580.0), true, 0.0);
            tries += 1;
            assert!(tries < 10, "it ends");
        }
        assert_eq!((bracket.found(), bracket.is_capped()), (580.0, true));
    }

    #[test]
    fn a_machine_that_changes_its_mind_is_searched_again() {
        let mut bracket = Bracket::new(100.0, 1.25, 1.01, 1e9);
        bracket.tell(true);
        bracket.tell(false);
        let between = bracket.next_load().unwrap_or(0.0);
        assert!(between > 100.0 && between < 125.0);
        bracket.tell(true);
        assert!(bracket.next_load().is_some_and(|load| load > between && load < 125.0));
    }
}
