//! A capture of a running SGSN: begun and ended at its VTY, and the time that its threads had.

use super::bed::Bed;
use crate::measure::Tracing;
use gannet_ops::vty::client::{Session, is_refusal};
use std::path::Path;
use std::time::{Duration, Instant};

/// Files in turn, so that the disk holds no more than this: MB of each, and how many.
const RING: &str = "size 64 files 2";
/// The thread that writes a capture, as the kernel has its name.
const WRITER: &str = "recorder";
/// Its rank: the loop's is 1, and it never sleeps.
const WRITER_RANK: u8 = 2;
/// For the thread to be there.
const WITHIN: Duration = Duration::from_secs(5);

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Begins a capture into `directory`, or ends it.
pub(super) fn set(
    bed: &Bed,
    (vty, pid): (&str, u32),
    directory: &Path,
    tracing: Option<Tracing>,
) -> Result<(), String> {
    let address = vty.parse().map_err(text)?;
    let mut session = bed.at_sgsn(|| Session::begin(address)).map_err(text)?.map_err(text)?;
    for line in std::iter::once("configure terminal".to_owned()).chain(lines(directory, tracing)) {
        let answer = session.ask(&line).map_err(|error| format!("{line}: {error}"))?;
        if is_refusal(&answer) {
            return Err(format!("{line}: {}", answer.trim()));
        }
    }
    if tracing.is_some() { put_first(pid) } else { Ok(()) }
}

/// Words of the configuration: what is recorded stands before where it goes, so that nothing else is.
fn lines(directory: &Path, tracing: Option<Tracing>) -> Vec<String> {
    let Some(Tracing { headers, one_in }) = tracing else { return vec!["no trace".to_owned()] };
    let file = format!("trace file {} {RING}", directory.join("trace.pcapng").display());
    let headers = headers.then(|| "trace headers".to_owned());
    let sample = one_in.map(|one_in| format!("trace sample subscribers 1/{one_in}"));
    headers.into_iter().chain(sample).chain([file]).collect()
}

/// Threads of a process but its first, by their directories.
fn others(pid: u32) -> impl Iterator<Item = std::path::PathBuf> {
    let first = pid.to_string();
    let all = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    all.map(|entry| entry.path()).filter(move |path| path.file_name().is_none_or(|name| *name != *first))
}

/// Lets the writer go before the loop, which would keep it off their core for ever.
fn put_first(pid: u32) -> Result<(), String> {
    let until = Instant::now() + WITHIN;
    loop {
        let is_writer = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == WRITER)
        };
        let writers: Vec<_> = others(pid).filter(is_writer).collect();
        for path in &writers {
            let thread = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            gannet_rig::set_preempting(thread, WRITER_RANK)
                .map_err(|error| format!("SCHED_FIFO: {error}"))?;
        }
        match writers.len() {
            0 if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            0 => return Err(format!("process {pid} has no thread '{WRITER}'")),
            _ => return Ok(()),
        }
    }
}

/// The time that threads of a process had but its first; those that have ended are not in it.
pub(super) fn time_of_others(pid: u32) -> Duration {
    let of = |path: std::path::PathBuf| {
        let times = std::fs::read_to_string(path.join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    others(pid).filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_said_before_where() {
        let of = |tracing| lines(Path::new("/x"), tracing);
        assert_eq!(of(None), ["no trace"]);
        assert_eq!(
            of(Some(Tracing { headers: true, one_in: Some(9) })),
            ["trace headers", "trace sample subscribers 1/9", "trace file /x/trace.pcapng size 64 files 2"]
        );
    }

    #[test]
    fn the_time_of_other_threads_grows_while_they_work() {
        let pid = std::process::id();
        let until = |stop: std::sync::mpsc::Receiver<()>| while stop.try_recv().is_err() {};
        let (stop, stopped) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || until(stopped));
        let before = time_of_others(pid);
        while time_of_others(pid) < before + Duration::from_millis(5) {
            std::thread::yield_now();
        }
        stop.send(()).unwrap();
        thread.join().unwrap();
    }
}
