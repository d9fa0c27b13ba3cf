//! What a node asks of the machine at its start: the time, dice, locked memory, a core of its own.

use crate::sys;
use gannet_demux::link::monotonic_ns;
use gannet_machine::time::Instant;
use std::io::{self, Read};
use std::time::SystemTime;

/// Readings of two clocks, of which the nearest two count.
const ATTEMPTS: u32 = 8;

/// The time since the run began, and the wall clock's time of that beginning.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: std::time::Instant,
    start_unix_ns: u64,
    start_monotonic_ns: u64,
}

impl Clock {
    /// The run begins now.
    #[must_use]
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let start_unix_ns = u64::try_from(since_1970.as_nanos()).unwrap_or(0);
        // Both at once, as nearly as a few attempts can.
        let attempt = |_| {
            let before = monotonic_ns();
            let start = std::time::Instant::now();
            (monotonic_ns().saturating_sub(before), start, before)
        };
        let nearest = (0..ATTEMPTS).map(attempt).min_by_key(|(apart_ns, ..)| *apart_ns);
        let (_, start, start_monotonic_ns) = nearest.unwrap_or_else(|| attempt(0));
        Self { start, start_unix_ns, start_monotonic_ns }
    }

    /// The kernel's monotonic clock at `at`, in nanoseconds.
    #[must_use]
    pub const fn monotonic_ns(&self, at: Instant) -> u64 {
        self.start_monotonic_ns.saturating_add(at.0)
    }

    /// Nanoseconds since the run began.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The wall clock's time of `at`, in nanoseconds since the beginning of 1970. It never jumps: it was read once.
    #[must_use]
    pub const fn unix_ns(&self, at: Instant) -> u64 {
        self.start_unix_ns.saturating_add(at.0)
    }
}

/// A seed from the operating system's entropy.
///
/// # Errors
/// Where `/dev/urandom` cannot be read.
pub fn seed() -> io::Result<u64> {
    let mut octets = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(u64::from_ne_bytes(octets))
}

/// Keeps what was allocated so far from being paged out. Returns a sentence for the log that says how much of it the
/// machine permits.
#[must_use]
pub fn lock_memory() -> String {
    match sys::lock_memory() {
        Ok(true) => "memory is locked, and so is all that will be allocated".to_owned(),
        Ok(false) => "memory is locked as far as allocated; the limit (ulimit -l) is finite".to_owned(),
        Err(error) => format!("memory cannot be locked and may be paged out: {error}"),
    }
}

/// Pins the calling thread to a core, counted from 0.
///
/// # Errors
/// Where there is no such core or this process may not run there.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    sys::pin_to_core(core)
}

/// Ignores every signal that ends a process by default, but for SIGTERM, SIGINT, SIGQUIT and SIGKILL. A fault of the program
/// itself (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) still ends it: the kernel and the C library take no notice of this choice
/// there. An event loop takes those that it handles. What this process starts inherits the choice.
pub fn outlive_signals() {
    sys::ignore_signals();
}

/// Detaches the process from its terminal (`-D`): a child goes on in a session of its own, standard input, output and
/// error are `/dev/null`, the working directory stays. To be called before any loop, recorder or thread is made.
///
/// # Errors
/// Where the process has more than one thread (only the calling one would go on), or cannot fork.
pub fn daemonize() -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot go to the background"));
    }
    sys::detach()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_on_and_seeds_differ() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(clock.now() >= first);
        assert_eq!(clock.unix_ns(Instant(5)) - clock.unix_ns(Instant::ZERO), 5);
        assert_ne!(seed().unwrap(), seed().unwrap());
    }

    #[test]
    fn a_core_that_no_machine_has_is_an_error() {
        assert!(pin_to_core(1 << 20).is_err());
    }

    /// The recorder of a pinned loop does not take the loop's core.
    #[test]
    fn a_thread_of_a_pinned_one_may_use_the_cores_of_the_process() {
        let cores = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap().trim().to_owned()
        };
        std::thread::spawn(move || {
            let all = cores();
            let first = all.split(['-', ',']).next().unwrap().to_owned();
            pin_to_core(first.parse().unwrap()).unwrap();
            let begun = sys::unpinned(|| std::thread::spawn(cores)).join().unwrap();
            assert_eq!((begun, cores()), (all, first));
        })
        .join()
        .unwrap();
    }
}
