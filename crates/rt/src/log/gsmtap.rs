//! `log gsmtap`: each line as a GSMTAP datagram, for Wireshark to show among the frames it is about.

use crate::gsmtap::GsmtapSocket;
use gannet_machine::trace::{Category, Level};
use gannet_wire::gsmtap::{Header, PayloadType};
use gannet_wire::gsmtap_log::{self, LogLine};
use std::io;
use std::net::SocketAddr;

/// A socket that lines leave through. It never waits.
pub(super) struct GsmtapTarget {
    socket: GsmtapSocket,
    process: &'static str,
    pid: u32,
    datagram: Vec<u8>,
}

impl GsmtapTarget {
    /// Lines of a process for whoever listens there.
    pub(super) fn connect(to: SocketAddr, process: &'static str) -> io::Result<Self> {
        let socket = GsmtapSocket::connect(to)?;
        Ok(Self { socket, process, pid: std::process::id(), datagram: Vec::new() })
    }

    /// Sends one.
    pub(super) fn send(
        &mut self,
        unix_ns: u64,
        category: Category,
        level: Level,
        text: &str,
    ) -> io::Result<()> {
        let line = LogLine {
            seconds: u32::try_from(unix_ns / 1_000_000_000).unwrap_or(u32::MAX),
            microseconds: u32::try_from(unix_ns % 1_000_000_000 / 1000).unwrap_or(0),
            process: self.process,
            pid: self.pid,
            level: level_of(level),
            subsystem: category.name(),
            file: "",
            line: 0,
            text,
        };
        self.datagram.clear();
        self.datagram.extend(Header::new(PayloadType::OsmocoreLog, false).emit());
        line.emit(&mut self.datagram);
        self.socket.send(&self.datagram)
    }
}

const fn level_of(level: Level) -> gsmtap_log::Level {
    match level {
        Level::Debug => gsmtap_log::Level::Debug,
        Level::Info => gsmtap_log::Level::Info,
        Level::Notice => gsmtap_log::Level::Notice,
        Level::Error => gsmtap_log::Level::Error,
        Level::Fatal => gsmtap_log::Level::Fatal,
    }
}
