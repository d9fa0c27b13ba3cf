//! `show cpu-sched threads`: what the kernel says of this process's threads.

use core::fmt::Write as _;
use std::path::Path;

/// The lines of osmo-sgsn: process, then each thread with its name and the processors that it may run on.
pub(super) fn show(out: &mut String) {
    let _ = writeln!(out, "Thread list for PID {}:", std::process::id());
    of_tasks(Path::new("/proc/self/task"), out);
}

fn of_tasks(tasks: &Path, out: &mut String) {
    let Ok(entries) = std::fs::read_dir(tasks) else { return };
    let mut threads: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable();
    for thread in threads {
        // One that has just ended has no files any more.
        let read = |name: &str| std::fs::read_to_string(tasks.join(thread.to_string()).join(name));
        let (Ok(name), Ok(status)) = (read("comm"), read("status")) else { continue };
        let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap_or_default();
        let mask: String = mask.trim().split(',').collect();
        let mask = mask.trim_start_matches('0');
        let _ = writeln!(out, " TID: {thread}, NAME: '{}', cpu-affinity: 0x{mask}", name.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_a_line_each() {
        let mut out = String::new();
        show(&mut out);
        let own =
            format!("Thread list for PID {}:\n TID: {}, NAME: '", std::process::id(), std::process::id());
        assert!(out.starts_with(&own), "{out}");
        assert!(out.lines().skip(1).all(|line| line.contains(", cpu-affinity: 0x")), "{out}");
        assert!(out.lines().count() > 1);
    }

    #[test]
    fn nothing_is_said_of_what_is_not_there() {
        let mut out = String::new();
        of_tasks(Path::new("/nowhere"), &mut out);
        assert_eq!(out, "");
    }
}
