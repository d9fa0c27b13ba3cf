//! How far the two cores are from each other and how fast the SGSN's is, which on a shared machine changes from second to
//! second.
//!
//! A virtual machine's cores run wherever the machine below puts them. Where they share a cache, a line goes from one to
//! the other and back in about 0.1 µs, and where they don't, in five times that; each packet takes several lines across, so
//! that the same program forwards half as much. A step is made while they are as near and the SGSN's is as fast
//! ([`super::pulse`]) as they usually are: what is rare would have to be waited for too long.

use super::bed::{LOAD_CORE, SGSN_CORE};
use super::pulse::{Fastest, look_alone};
use crate::measure::account::SLOW;
use crate::settings::Changed;
use core::sync::atomic::{AtomicU32, Ordering};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Round trips of one look.
const TURNS: u32 = 2_000;
/// So many looks, of which the median counts.
const LOOKS: usize = 3;
/// Cores are near where a round trip takes at most so many times as long as usual.
const NEAR: f64 = 3.0;
/// Usual is the median of so many that were seen last.
const LATELY: usize = 64;
/// From one look to the next while they are far.
const WAIT: Duration = Duration::from_millis(40);
/// How long to wait for them at once, and in all as a part of the time that has gone: they may stay far for minutes.
const USUAL: Patience = Patience { at_once: Duration::from_millis(400), of_all: 0.05 };
/// The same of who is patient.
const PATIENT: Patience = Patience { at_once: Duration::from_secs(8), of_all: 0.25 };
/// A look that takes longer is given up: the other core does not run.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// This process and those that it starts go before everything else that the machine does, as long as this lives: what a
/// stranger's process takes away from a core for some milliseconds, the driver's ring of 256 places loses.
#[derive(Debug)]
pub struct First {
    cores: Rc<RefCell<Cores>>,
    _group: Option<Changed>,
}

/// Where the scheduler groups processes by session, nice values count within the group only.
const AUTO_GROUP: &str = "/proc/self/autogroup";

impl First {
    /// Goes first.
    ///
    /// # Errors
    /// Where this process may not.
    pub fn new() -> Result<Self, String> {
        gannet_rig::set_niceness(-20).map_err(|error| format!("nice -20: {error}"))?;
        let group = std::fs::read_to_string(AUTO_GROUP).ok();
        let before = group.and_then(|text| text.split_whitespace().last().map(str::to_owned));
        let group = before.and_then(|nice| Changed::make_worded(Path::new(AUTO_GROUP), &nice, "-20"));
        Ok(Self { cores: Rc::default(), _group: group })
    }

    /// What was seen of the cores so far.
    #[must_use]
    pub fn cores(&self) -> Rc<RefCell<Cores>> {
        Rc::clone(&self.cores)
    }
}

/// While this lives, the calling thread and a process that polls preempt the kernel's own threads as well: one that looks
/// through the memory every half second takes a core for 2 to 10 ms each time, in spite of any nice value.
///
/// The kernel would keep a twentieth of each second for others and take it in one piece, in which a ring overflows a hundred
/// times: it does not as long as this lives, which is a step.
#[derive(Debug)]
pub struct Preempting {
    pid: u32,
    _kept: Option<Changed>,
}

/// What of each second those that preempt all others may have, in µs; -1 for all of it.
const KEPT: &str = "/proc/sys/kernel/sched_rt_runtime_us";

impl Preempting {
    /// Lets both.
    ///
    /// # Errors
    /// Where this process may not.
    pub fn new(pid: u32) -> Result<Self, String> {
        let this = Self { pid, _kept: Changed::make(Path::new(KEPT), "-1") };
        for who in [Some(pid), None] {
            gannet_rig::set_preempting(who, 1).map_err(|error| format!("SCHED_FIFO: {error}"))?;
        }
        Ok(this)
    }
}

impl Drop for Preempting {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = gannet_rig::set_preempting(Some(self.pid), 0);
        let _ = gannet_rig::set_preempting(None, 0);
    }
}

/// What was seen lately.
#[derive(Debug, Clone, Default)]
struct Usual(VecDeque<f64>);

impl Usual {
    fn add(&mut self, value: f64) {
        if self.0.len() == LATELY {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The median.
    fn get(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    /// True where this is less than a part of what is usual.
    fn is_below(&self, part: f64, value: f64) -> bool {
        self.get().is_some_and(|usual| value < usual * part)
    }
}

/// The highest speed of the SGSN's core, and what is usual.
#[derive(Debug, Clone, Default)]
struct Speeds {
    fastest: Fastest,
    usual: Usual,
}

/// How long to wait.
struct Patience {
    at_once: Duration,
    of_all: f64,
}

/// What was seen of the two cores so far, known to all that measure on them.
#[derive(Debug, Clone)]
pub struct Cores {
    trips_ns: Usual,
    /// By looks at a core on which nothing else runs, and by those at one that is busy: its caches are another's then.
    alone: Speeds,
    busy: Speeds,
    /// The SGSN's, when it was looked at last.
    speed: Option<f64>,
    since: Instant,
    waited: Duration,
}

impl Default for Cores {
    fn default() -> Self {
        Self {
            trips_ns: Usual::default(),
            alone: Speeds::default(),
            busy: Speeds::default(),
            speed: None,
            since: Instant::now(),
            waited: Duration::ZERO,
        }
    }
}

impl Cores {
    /// A round trip between the SGSN's core, which nothing else may use meanwhile, and the calling thread's, in ns.
    ///
    /// # Errors
    /// Where no thread can be made, or the core cannot be had.
    pub fn look(&mut self) -> Result<f64, String> {
        let looks = (0..LOOKS).map(|_| look()).collect::<Result<Vec<_>, String>>()?;
        let (mut trips, times): (Vec<f64>, Vec<Duration>) = looks.into_iter().unzip();
        self.speed = self.alone.fastest.speed(&times);
        trips.sort_by(f64::total_cmp);
        Ok(trips.get(LOOKS / 2).copied().unwrap_or(f64::INFINITY))
    }

    /// What a look at the SGSN's core takes while a step runs, where it is as fast as usual.
    #[must_use]
    pub fn usual_look(&self) -> Option<Duration> {
        Some(self.busy.fastest.look()?.div_f64(self.busy.usual.get()?))
    }

    /// How fast the SGSN's core was by some looks while a step ran, as a part of the highest speed that was seen, and whether
    /// that is less than usual.
    pub fn speed(&mut self, looks: &[Duration]) -> Option<(f64, bool)> {
        let speed = self.busy.fastest.speed(looks)?;
        self.busy.usual.add(speed);
        Some((speed, self.busy.usual.is_below(SLOW, speed)))
    }

    /// True where a round trip says that the cores are as near as usual.
    #[must_use]
    pub fn is_near(&self, round_trip_ns: f64) -> bool {
        self.trips_ns.get().is_none_or(|usual| round_trip_ns <= usual * NEAR)
    }

    /// Waits until they are as near and the SGSN's is as fast as usual, but not for ever, and says what a round trip takes.
    ///
    /// # Errors
    /// As for [`Cores::look`].
    pub fn wait(&mut self, is_patient: bool) -> Result<f64, String> {
        let patience = if is_patient { PATIENT } else { USUAL };
        let begin = Instant::now();
        let mut now = self.look()?;
        // Once for each step, however long it waits: else what is waited for would be taken for usual.
        self.trips_ns.add(now);
        self.speed.into_iter().for_each(|speed| self.alone.usual.add(speed));
        loop {
            let spent = self.waited.as_secs_f64() > self.since.elapsed().as_secs_f64() * patience.of_all;
            let is_fast = self.speed.is_none_or(|speed| !self.alone.usual.is_below(SLOW, speed));
            if (self.is_near(now) && is_fast) || spent || begin.elapsed() > patience.at_once {
                return Ok(now);
            }
            std::thread::sleep(WAIT);
            self.waited += WAIT;
            now = self.look()?;
        }
    }
}

/// A round trip in ns, and then how long the SGSN's core takes for a look while the other one is busy as well.
fn look() -> Result<(f64, Duration), String> {
    let ball = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&ball);
    let other = std::thread::Builder::new()
        .spawn(move || -> Result<Duration, String> {
            gannet_rt::pin_to_core(SGSN_CORE).map_err(|error| format!("core {SGSN_CORE}: {error}"))?;
            let begin = Instant::now();
            for turn in 0..TURNS {
                if !wait_for(&theirs, 2 * turn + 1, begin) {
                    break;
                }
                theirs.store(2 * turn + 2, Ordering::Release);
            }
            Ok(look_alone())
        })
        .map_err(|error| format!("a thread on core {SGSN_CORE}: {error}"))?;
    let mut begin = Instant::now();
    for turn in 0..TURNS {
        // The first turn waits for the thread to start.
        if turn == 1 {
            begin = Instant::now();
        }
        ball.store(2 * turn + 1, Ordering::Release);
        if !wait_for(&ball, 2 * turn + 2, begin) {
            break;
        }
    }
    let took = begin.elapsed();
    let done = ball.load(Ordering::Acquire) == 2 * TURNS;
    // Whoever gave up leaves the other one to its own clock.
    let _ = look_alone();
    let alone = other.join().map_err(|_| format!("the thread on core {SGSN_CORE} has ended"))??;
    let trip_ns = if done { took.as_secs_f64() * 1e9 / f64::from(TURNS - 1) } else { f64::INFINITY };
    Ok((trip_ns, alone))
}

/// Waits for a value; false where it takes too long.
fn wait_for(ball: &AtomicU32, value: u32, begin: Instant) -> bool {
    let mut looks = 0_u32;
    while ball.load(Ordering::Acquire) != value {
        core::hint::spin_loop();
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(1024) && begin.elapsed() > LOOK_MAX {
            return false;
        }
    }
    true
}

/// The core on which the calling thread is expected to be.
const _: () = assert!(LOAD_CORE != SGSN_CORE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_fast_are_relative_to_what_is_usual() {
        let mut cores = Cores::default();
        assert!(cores.is_near(1e9), "nothing is known yet");
        [100.0, 550.0, 120.0].into_iter().for_each(|trip| cores.trips_ns.add(trip));
        assert!(cores.is_near(150.0) && !cores.is_near(500.0) && !cores.is_near(f64::INFINITY));
        (0..LATELY).for_each(|_| cores.trips_ns.add(550.0));
        assert!(cores.is_near(650.0), "far is usual by now");
        let looks = |us: u64| [Duration::from_micros(us); 3];
        assert_eq!((cores.usual_look(), cores.speed(&[])), (None, None));
        for (us, speed) in [(10, (1.0, false)), (20, (0.5, true)), (20, (0.5, false))] {
            assert_eq!(cores.speed(&looks(us)), Some(speed));
        }
        assert_eq!(cores.usual_look(), Some(Duration::from_micros(20)));
    }

    #[test]
    fn a_ball_goes_there_and_back() {
        if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
            eprintln!("SKIPPED: one core only");
            return;
        }
        let there = Arc::new(AtomicU32::new(0));
        assert!(!wait_for(&there, 1, Instant::now()), "nobody answers");
        let mut distance = Cores::default();
        let looked = distance.look().expect("two cores");
        assert!(looked > 0.0);
        assert!(distance.speed.is_some_and(|speed| speed > 0.0));
    }
}
