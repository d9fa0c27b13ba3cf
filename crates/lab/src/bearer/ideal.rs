//! What no selective repeat with a window can exceed.
//!
//! The sender learns of the fate of each frame a round trip after that frame has left, and sends what was lost at once, before
//! anything new. No acknowledgement is lost or takes room. A frame may leave while fewer than k frames stand between it and
//! the oldest that has not arrived (04.64 clause 8.6.1 [44.064]).

use gannet_machine::rng::Rng;
use std::collections::VecDeque;

/// Frames of a run: some hundreds of windows.
const FRAMES: u64 = 200_000;

/// The part of the line that new frames get. `frames` fit into a round trip; each is lost with probability `loss`.
pub fn selective_repeat(window: u64, frames: u64, loss: f64, seed: u64) -> f64 {
    let mut rng = Rng::seeded(seed);
    let is_lost = |rng: &mut Rng| loss > 0.0 && rng.chance(loss);
    // Time is counted in frames that could have left. What was sent, with its number, when its fate is known, and its fate.
    let mut under_way: VecDeque<(u64, u64, bool)> = VecDeque::new();
    let mut again: VecDeque<u64> = VecDeque::new();
    // From the oldest that has not arrived on: whether it has.
    let mut arrived: VecDeque<bool> = VecDeque::new();
    let (mut oldest, mut next, mut now) = (0, 0, 0);
    while oldest < FRAMES {
        while let Some((number, _, lost)) = under_way.front().copied().filter(|(_, known, _)| *known <= now) {
            under_way.pop_front();
            if lost {
                again.push_back(number);
            } else if let Some(place) =
                usize::try_from(number - oldest).ok().and_then(|place| arrived.get_mut(place))
            {
                *place = true;
            }
            while arrived.front() == Some(&true) {
                arrived.pop_front();
                oldest += 1;
            }
        }
        let sent = again.pop_front().or_else(|| {
            let number = (next < oldest + window).then_some(next)?;
            next += 1;
            arrived.push_back(false);
            Some(number)
        });
        if let Some(number) = sent {
            under_way.push_back((number, now + frames.max(1), is_lost(&mut rng)));
        }
        now += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand frames")]
    let part = oldest as f64 / now as f64;
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 1530 octets, with all that Ethernet adds, in a round trip at 100 Mbit/s.
    const fn frames(round_trip_us: u64) -> u64 {
        round_trip_us * 100 / (1530 * 8)
    }

    #[test]
    fn without_loss_the_window_and_the_line_alone_count() {
        assert!(selective_repeat(255, 100, 0.0, 1) > 0.999);
        let part = selective_repeat(255, 817, 0.0, 1);
        assert!((part - 255.0 / 817.0).abs() < 0.001, "{part}");
        assert!((selective_repeat(1, 4, 0.0, 1) - 0.25).abs() < 0.001);
    }

    #[test]
    fn loss_costs_what_is_sent_again_and_the_time_in_which_the_window_stands() {
        let at = |ms: u64| selective_repeat(255, frames(ms * 1000), 0.05, 7);
        let short = selective_repeat(255, 2, 0.05, 7);
        assert!((short - 0.95).abs() < 0.005, "{short}");
        for (ms, expected) in [(10, 0.94), (20, 0.66), (50, 0.28), (100, 0.14)] {
            assert!((at(ms) - expected).abs() < 0.02, "{ms} ms: {}", at(ms));
        }
    }
}
