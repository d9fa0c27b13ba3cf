//! Other processes: signals, niceness, ranks, and the time that they had.
#![expect(unsafe_code, reason = "system calls that no safe crate offers")]

use crate::check;
use std::io;
use std::process::Command;
use std::time::Duration;

/// A signal that the laboratory sends to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// To stand still (SIGSTOP).
    Stop,
    /// To go on (SIGCONT).
    Continue,
    /// To end in order (SIGTERM).
    Terminate,
    /// Nothing: the kernel ends it (SIGKILL).
    Kill,
}

/// Sends a process a signal.
///
/// # Errors
/// Where there is no such process, or this one may not.
pub fn send_signal(pid: u32, signal: ProcessSignal) -> io::Result<()> {
    let signal = match signal {
        ProcessSignal::Stop => libc::SIGSTOP,
        ProcessSignal::Continue => libc::SIGCONT,
        ProcessSignal::Terminate => libc::SIGTERM,
        ProcessSignal::Kill => libc::SIGKILL,
    };
    // 0 and what is negative would name groups of processes.
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: touches no memory.
    check(unsafe { libc::kill(pid, signal) })
}

/// What this command starts is killed when the thread that starts it ends, in whatever way: a process that was itself
/// killed leaves nothing behind. It has a process group of its own: the terminal's Ctrl-C reaches only this process,
/// which ends the other in order.
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
    let ask = || {
        let signal = libc::c_ulong::try_from(libc::SIGKILL).unwrap_or(0);
        // SAFETY: this call sets a number in the calling process and touches no memory.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) })
    };
    // SAFETY: between fork and exec one system call is made, and nothing allocates or takes a lock.
    unsafe { command.pre_exec(ask) };
}

/// The time that a process has had of all cores so far, to the nanosecond.
///
/// # Errors
/// Where there is no such process.
pub fn cpu_time_of(pid: u32) -> io::Result<Duration> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes one clock's name.
    let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one `timespec`.
    check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    let (seconds, ns) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Ok(Duration::new(seconds.map_err(io::Error::other)?, ns.map_err(io::Error::other)?))
}

/// Lets this process and those that it starts from now on go before others on their cores, or after them: -20 to 19.
///
/// # Errors
/// Where this process may not go before others.
pub fn set_niceness(niceness: i32) -> io::Result<()> {
    // SAFETY: touches no memory; 0 is the caller.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, niceness) })
}

/// Lets a process's first thread, or the calling thread where none is named, run whenever it can, before all that take
/// turns and those of lower `rank` (`SCHED_FIFO`). With rank 0 it takes turns again. A thread that never sleeps keeps
/// others off its core by that, but for the part that the kernel reserves for them.
///
/// # Errors
/// Where this process may not do that, or there is no such process.
pub fn set_preempting(pid: Option<u32>, rank: u8) -> io::Result<()> {
    let policy = if rank > 0 { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    let sched_priority = rank.into();
    // 0 is the calling thread.
    let pid = libc::pid_t::try_from(pid.unwrap_or(0));
    let pid = pid.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the kernel reads the parameters during the call.
    check(unsafe { libc::sched_setscheduler(pid, policy, &raw const parameters) })
}

/// Lets the calling thread be woken by a timeout so many nanoseconds late, at least one. The kernel's default is 50 µs.
///
/// # Errors
/// Where the kernel does not have that.
pub fn set_timer_slack(ns: u32) -> io::Result<()> {
    let ns = libc::c_ulong::from(ns.max(1));
    // SAFETY: sets a number of the calling thread and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_has_had_the_core() {
        let (pid, begin) = (std::process::id(), std::time::Instant::now());
        let before = cpu_time_of(pid).unwrap();
        while cpu_time_of(pid).unwrap() - before < Duration::from_millis(2) {
            assert!(begin.elapsed().as_secs() < 60);
        }
        assert!(cpu_time_of(u32::MAX).is_err());
    }

    #[test]
    fn a_signal_goes_to_one_process_alone() {
        for group in [0, u32::MAX] {
            let error = send_signal(group, ProcessSignal::Kill).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        send_signal(child.id(), ProcessSignal::Kill).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGKILL));
    }
}
