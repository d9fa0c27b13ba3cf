//! How fast the SGSN's core runs, which on a shared machine changes from second to second.
//!
//! A virtual machine's core is mostly one of two threads of a real one. While the other thread is somebody else's, the same
//! instructions take a quarter longer; while it is our own other core, nearly twice as long; and no clock of the guest says
//! so. So a fixed piece of work, which like a program has more than one thing to do at a time, is timed on that core: for a
//! thousandth of its time while a step runs, the same for whoever is measured, and before it begins.

use super::bed::SGSN_CORE;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// From one look to the next while a step runs.
const EVERY: Duration = Duration::from_millis(20);
/// Rounds of the work of one look, some 20 µs, and before it until its memory is there.
const ROUNDS: u32 = 64;
const ROUNDS_BEFORE: u32 = 4;
/// Rounds of the work without anything else on the core.
const ROUNDS_ALONE: u32 = 4096;
/// A look goes before the SGSN, which goes before all others.
const RANK: u8 = 2;
/// Of so many looks one may seem faster than the machine is.
const LUCKY: usize = 10;

/// So many looks in a row at less than this part of the usual speed: the core is slow.
const IN_A_ROW: u32 = 3;
const SLOW: f64 = 0.9;

/// The work's memory: a part of the smallest cache.
const WORDS: usize = 512;

/// So many rounds of the work, and how long they take.
fn look(memory: &mut [u64; WORDS], rounds: u32) -> Duration {
    let (mut a, mut b, mut c, mut d) = (1_u64, 2_u64, 3_u64, 4_u64);
    let begin = Instant::now();
    for _ in 0..rounds {
        let (low, high) = black_box(&mut *memory).split_at_mut(WORDS / 2);
        for (low, high) in low.iter_mut().zip(high) {
            a = a.wrapping_add(*low ^ b);
            b ^= a >> 3;
            c = c.wrapping_add(*high);
            d ^= c << 1;
            *low = a.wrapping_add(c);
            *high = d;
        }
    }
    black_box((a, b, c, d));
    begin.elapsed()
}

/// A look at the core of the calling thread, which nothing else may use meanwhile: as long as one while a step runs would
/// take.
#[must_use]
pub fn look_alone() -> Duration {
    look(&mut [0; WORDS], ROUNDS_ALONE) / (ROUNDS_ALONE / ROUNDS)
}

/// What both threads know.
#[derive(Debug)]
struct State {
    ends: AtomicBool,
    /// Looks in a row in which the core was slow.
    slow: AtomicU32,
    /// A look that takes longer says that it is.
    longest: Duration,
}

/// Looks at the core as long as it lives.
#[derive(Debug)]
pub struct Pulse {
    state: Arc<State>,
    thread: Option<JoinHandle<Vec<Duration>>>,
}

impl Pulse {
    /// Begins, and returns when it goes before all others: it would not get there after somebody else did.
    ///
    /// # Errors
    /// Where no thread can be made.
    pub fn start(usual: Option<Duration>) -> Result<Self, String> {
        let longest = usual.map_or(Duration::MAX, |usual| usual.div_f64(SLOW));
        let state = Arc::new(State { ends: AtomicBool::new(false), slow: AtomicU32::new(0), longest });
        let theirs = Arc::clone(&state);
        let (tell, told) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .spawn(move || looks(&theirs, tell))
            .map_err(|error| format!("a thread on core {SGSN_CORE}: {error}"))?;
        // It is told by an end as well.
        let _ = told.recv();
        Ok(Self { state, thread: Some(thread) })
    }

    /// True where the core is slow now.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.state.slow.load(Ordering::Relaxed) >= IN_A_ROW
    }

    /// Ends, and says how long each look took.
    #[must_use]
    pub fn end(mut self) -> Vec<Duration> {
        self.join()
    }

    fn join(&mut self) -> Vec<Duration> {
        self.state.ends.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

fn looks(state: &State, ready: mpsc::Sender<()>) -> Vec<Duration> {
    let mut all = Vec::with_capacity(4096);
    // Elsewhere, or behind the SGSN, a look says nothing.
    if gannet_rig::set_preempting(None, RANK).and_then(|()| gannet_rt::pin_to_core(SGSN_CORE)).is_err() {
        return all;
    }
    drop(ready);
    let mut memory = [0; WORDS];
    while !state.ends.load(Ordering::Relaxed) {
        std::thread::sleep(EVERY);
        look(&mut memory, ROUNDS_BEFORE);
        let took = look(&mut memory, ROUNDS);
        let slow = if took > state.longest { state.slow.load(Ordering::Relaxed) + 1 } else { 0 };
        state.slow.store(slow, Ordering::Relaxed);
        all.push(took);
    }
    all
}

/// What was seen so far: the fastest that this core was.
#[derive(Debug, Clone, Default)]
pub struct Fastest(Option<Duration>);

impl Fastest {
    /// What a look took then.
    #[must_use]
    pub const fn look(&self) -> Option<Duration> {
        self.0
    }

    /// The mean speed by some looks, as a part of the highest seen.
    pub fn speed(&mut self, looks: &[Duration]) -> Option<f64> {
        let mut sorted = looks.to_vec();
        sorted.sort_unstable();
        let quick = sorted.get(sorted.len() / LUCKY).copied()?;
        let fastest = self.0.map_or(quick, |fastest| fastest.min(quick));
        self.0 = Some(fastest);
        let part = |look: &Duration| (fastest.as_secs_f64() / look.as_secs_f64()).min(1.0);
        #[expect(clippy::cast_precision_loss, reason = "some hundred looks")]
        let count = looks.len() as f64;
        Some(looks.iter().map(part).sum::<f64>() / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_a_part_of_the_highest_that_was_seen() {
        let mut fastest = Fastest::default();
        let looks = |us: &[u64]| us.iter().map(|us| Duration::from_micros(*us)).collect::<Vec<_>>();
        assert_eq!(fastest.speed(&[]), None);
        for (us, speed) in [([4, 4], 1.0), ([4, 8], 0.75), ([2, 2], 1.0), ([4, 4], 0.5)] {
            let seen = fastest.speed(&looks(&us));
            assert!(seen.is_some_and(|seen| (seen - speed).abs() < 1e-9), "{seen:?}");
        }
    }

    #[test]
    fn a_pulse_ends_when_it_is_told_to() {
        assert!(look_alone() > Duration::ZERO);
        let pulse = Pulse::start(None).expect("a thread");
        std::thread::sleep(EVERY * 2);
        let looks = pulse.end();
        if looks.is_empty() {
            eprintln!("SKIPPED: this process may not preempt others");
            return;
        }
        assert!(looks.iter().all(|look| *look > Duration::ZERO));
    }
}
