//! SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1 and SIGUSR2 as things that the event loop polls: a pipe to itself for each kind.

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::io::{self, Read};
use std::os::fd::OwnedFd;

/// What the process was asked to do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) stop: bool,
    pub(crate) hangup: bool,
    pub(crate) report: bool,
}

/// The reading ends of the pipes. When it is dropped, the signals go to nobody (they do not get their default meaning
/// back), so that a second SIGTERM does not interrupt the end.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: UnixStream,
    hangup: UnixStream,
    report: UnixStream,
    hooks: Vec<SigId>,
}

impl Signals {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let (stop, stop_hooks) = pipe(&[SIGTERM, SIGINT, SIGQUIT])?;
        let (hangup, hangup_hooks) = pipe(&[SIGHUP])?;
        let (report, report_hooks) = pipe(&[SIGUSR1, SIGUSR2])?;
        let hooks = [stop_hooks, hangup_hooks, report_hooks].concat();
        let mut signals = Self { stop, hangup, report, hooks };
        for pipe in [&mut signals.stop, &mut signals.hangup, &mut signals.report] {
            registry.register(pipe, token, Interest::READABLE)?;
        }
        Ok(signals)
    }

    /// Empties the pipes and says what was in them.
    pub(crate) fn take(&mut self) -> Asked {
        Asked {
            stop: drain(&mut self.stop),
            hangup: drain(&mut self.hangup),
            report: drain(&mut self.report),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for hook in self.hooks.drain(..) {
            signal_hook::low_level::unregister(hook);
        }
    }
}

fn pipe(kinds: &[i32]) -> io::Result<(UnixStream, Vec<SigId>)> {
    let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    let hook = |kind: &i32| signal_hook::low_level::pipe::register(*kind, OwnedFd::from(writer.try_clone()?));
    let hooks = kinds.iter().map(hook).collect::<io::Result<Vec<SigId>>>()?;
    Ok((UnixStream::from_std(reader), hooks))
}

fn drain(reader: &mut UnixStream) -> bool {
    let mut any = false;
    let mut octets = [0; 64];
    while reader.read(&mut octets).is_ok_and(|count| count > 0) {
        any = true;
    }
    any
}
