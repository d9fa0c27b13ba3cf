//! Who records what crosses the interfaces of a loop: begun, changed, ended and looked at.

use super::Io;
use crate::capture_watch::finish;
use crate::sys::unpinned;
use crate::tracer::{PreparedTrace, TraceConfig, Traced, Tracer};
use core::net::SocketAddr;
use gannet_machine::time::Instant;
use gannet_machine::trace::Level;
use gannet_trace::live::Live;
use gannet_trace::pcapng::{InterfaceId, LinkType, Recorder};
use gannet_trace::sight::Choice;
use std::io;
use std::path::{Path, PathBuf};

fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Io {
    /// Records whole from now on, into a file or, as `-`, into standard output.
    pub(crate) fn record_to(&mut self, path: &Path) -> io::Result<()> {
        let recorder = if path == Path::new("-") {
            unpinned(|| Recorder::to_stdout(&self.section))
        } else {
            unpinned(|| Recorder::to_files(path, None, &self.section, self.unix_ns())).map_err(named(path))
        };
        let traced = Traced::new(recorder?, Choice::default());
        self.with_tracer(|tracer| tracer.asked = Some(traced));
        Ok(())
    }

    /// Streams from now on.
    pub(crate) fn stream_to(&mut self, to: SocketAddr) -> io::Result<()> {
        let live = Live::connect(to)?;
        self.with_tracer(|tracer| tracer.live = Some(live));
        Ok(())
    }

    /// Opens what an operator wants from now on. A file or a socket that stays is written on.
    pub(crate) fn prepare_trace(&self, old: &TraceConfig, new: &TraceConfig) -> io::Result<PreparedTrace> {
        let choice = Choice { headers: new.headers, one_in: new.one_in };
        let tracer = self.recorder.as_ref();
        let has_file = tracer.is_some_and(|tracer| tracer.configured.is_some());
        let has_socket = tracer.is_some_and(|tracer| tracer.watched.is_some());
        let keeps_file = (&old.file, old.ring) == (&new.file, new.ring) && has_file == new.file.is_some();
        let keeps_socket = old.socket == new.socket && has_socket == new.socket.is_some();
        let traced = |recorder: Option<Recorder>| recorder.map(|recorder| Traced::new(recorder, choice));
        let file = |path: &PathBuf| {
            unpinned(|| Recorder::to_files(path, new.ring, &self.section, self.unix_ns()))
                .map_err(named(path))
        };
        let socket =
            |path: &PathBuf| unpinned(|| Recorder::to_socket(path, &self.section)).map_err(named(path));
        let opened = |keeps: bool,
                      path: &Option<PathBuf>,
                      open: &dyn Fn(&PathBuf) -> io::Result<Recorder>| {
            if keeps { Ok(None) } else { path.as_ref().map(open).transpose().map(|made| Some(traced(made))) }
        };
        Ok(PreparedTrace {
            choice,
            traced: opened(keeps_file, &new.file, &file)?,
            watched: opened(keeps_socket, &new.socket, &socket)?,
        })
    }

    /// Records so from now on. Gives what a person should know of a capture that has ended.
    pub(crate) fn commit_trace(&mut self, prepared: PreparedTrace) -> Option<String> {
        let mut said = None;
        self.with_tracer(|tracer| {
            let PreparedTrace { choice, traced, watched } = prepared;
            for (place, new) in [(&mut tracer.configured, traced), (&mut tracer.watched, watched)] {
                match new {
                    None => place.iter_mut().for_each(|traced| traced.choose(choice)),
                    Some(new) => {
                        let before = core::mem::replace(place, new);
                        said =
                            before.and_then(|mut before| finish(&mut before.recorder).err()).or(said.take());
                    }
                }
            }
        });
        said.map(|error| error.to_string())
    }

    fn unix_ns(&self) -> u64 {
        self.clock.unix_ns(self.now)
    }

    /// Changes the tracer, which comes with the first that it has to do, and goes with the last.
    fn with_tracer(&mut self, change: impl FnOnce(&mut Tracer)) {
        let mut tracer = self.recorder.take().unwrap_or_else(|| Box::new(Tracer::new(&self.interfaces)));
        change(&mut tracer);
        tracer.follow_choices();
        self.recorder = (!tracer.is_idle()).then_some(tracer);
        self.log.keep_drops(self.recorder.is_some());
    }

    /// The number of an interface of the loop, under its name.
    pub(crate) fn interface_of(&mut self, name: &str, link: LinkType, sends_downlink: bool) -> InterfaceId {
        let number = self.interfaces.number(name, link, sends_downlink);
        if let Some(tracer) = &mut self.recorder {
            tracer.interfaces.clone_from(&self.interfaces);
        }
        number
    }

    /// Records what the turn has dropped.
    pub(crate) fn trace_drops(&mut self) {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { recorder: Some(tracer), log, .. } = self else { return };
        let unsaid = log.take_drops_unsaid();
        for (at, (drop, whose)) in log.take_drops().enumerate() {
            tracer.dropped(at_ns, drop, whose, if at == 0 { unsaid } else { 0 });
        }
    }

    /// Says what is new about captures.
    pub(crate) fn watch_capture(&mut self) {
        let now = self.now;
        let Some(tracer) = &mut self.recorder else { return };
        let mut said: [Option<(Level, String)>; 4] = [const { None }; 4];
        let all = tracer.asked.iter_mut().chain(&mut tracer.configured).chain(&mut tracer.watched);
        for (traced, said) in all.zip(&mut said) {
            *said = traced.watch.look(now, &traced.recorder);
        }
        if let Some(live) = &tracer.live {
            let missing = live.lost() - tracer.live_lost;
            tracer.live_lost += missing;
            let line = || format!("GSMTAP to {}: {missing} datagrams are missing", live.to());
            said[3] = (missing > 0).then(|| (Level::Error, line()));
        }
        for (level, said) in said.into_iter().flatten() {
            self.note(level, format_args!("{said}"));
        }
    }

    /// When they are looked at next; `None` without any.
    pub(crate) fn capture_look_at(&self) -> Option<Instant> {
        let tracer = self.recorder.as_ref()?;
        tracer
            .asked
            .iter()
            .chain(&tracer.configured)
            .chain(&tracer.watched)
            .map(|traced| traced.watch.look_at())
            .min()
    }
}
