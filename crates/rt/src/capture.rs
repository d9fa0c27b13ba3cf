//! A capture beside that of the loop, which is opened and closed while the loop runs.

use crate::capture_watch::{CaptureWatch, finish};
use core::net::SocketAddr;
use gannet_machine::time::Instant;
use gannet_machine::trace::Level;
use gannet_trace::pcapng::{Direction, Recorder};
use std::io;
use std::path::Path;

/// A file in the pcapng format, readable by its owner alone. Nobody waits for the disk: what does not fit into memory is missing, and
/// [`Capture::news`] says so.
#[derive(Debug)]
pub struct Capture {
    recorder: Recorder,
    watch: CaptureWatch,
}

/// A datagram that is recorded, with the headers of IP and UDP made.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// When, in nanoseconds since the beginning of 1970.
    pub at_ns: u64,
    /// The node has sent it; otherwise it came.
    pub is_sent: bool,
    /// From where and where to.
    pub ends: (SocketAddr, SocketAddr),
    /// Its octets.
    pub payload: &'a [u8],
}

impl Capture {
    /// A new file. One that is there is overwritten.
    ///
    /// # Errors
    /// Where it cannot be made: its name and why.
    pub fn create(path: &Path) -> io::Result<Self> {
        let recorder = Recorder::create(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok(Self { recorder, watch: CaptureWatch::default() })
    }

    /// Records a datagram on the interface of this name, with a remark where there is one.
    pub fn record(&mut self, interface: &str, datagram: &Recorded<'_>, comment: Option<&str>) {
        let Recorded { at_ns, is_sent, ends, payload } = *datagram;
        let interface = self.recorder.interface(interface);
        let direction = if is_sent { Direction::Out } else { Direction::In };
        match comment {
            Some(comment) => {
                self.recorder.udp_with_comment(interface, at_ns, direction, (ends, payload), comment);
            }
            None => self.recorder.udp(interface, at_ns, direction, ends, payload),
        }
    }

    /// What a person should know of the file, at most once a second: it takes nothing, or takes again, or is too slow.
    pub fn news(&mut self, now: Instant) -> Option<(Level, String)> {
        self.watch.look(now, &self.recorder)
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.recorder.name()
    }

    /// Writes it out and closes it.
    ///
    /// # Errors
    /// The file does not take it, or has not taken all: its name, and how much is missing.
    pub fn finish(mut self) -> io::Result<()> {
        finish(&mut self.recorder)?;
        match self.recorder.lost() {
            0 => Ok(()),
            lost => {
                let name = self.recorder.name();
                Err(io::Error::other(format!("capture {name}: {lost} datagrams are missing in it")))
            }
        }
    }
}
