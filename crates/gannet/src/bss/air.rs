//! Where blocks and access bursts go that are seen on the air: GSMTAP for who listens, pcapng for who reads later.

use core::fmt::Write as _;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::bss::Bss;
use gannet_ops::config::bss::{AirConfig, Categories};
use gannet_proto::rlcmac::tap::{Fate, Interface, Scope, Sighting};
use gannet_rt::log::LogSink;
use gannet_rt::{Capture, GsmtapSocket, Outside, Recorded};
use gannet_wire::gsmtap::UDP_PORT;
use std::path::Path;

/// In a capture a datagram comes from this UDP port, plus the number of its cell.
const FIRST_CELL: u16 = 10_000;

/// What is done with sightings.
#[derive(Debug, Default)]
pub struct AirWatch {
    gsmtap: Option<(IpAddr, GsmtapSocket)>,
    categories: Categories,
    capture: Option<Capture>,
    /// Datagrams of GSMTAP that the system did not take since it took one.
    failed: u64,
    /// What the cells were told to look at.
    told: Option<Scope>,
}

impl AirWatch {
    /// Does what the configuration says from now on. What it was about before stays where that is the same. What is missing in a
    /// capture that is closed is said in `out`.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit. Then all stays as it was.
    pub fn set(&mut self, old: &AirConfig, new: &AirConfig, out: &mut String) -> Result<(), String> {
        let is_there = |to: IpAddr| self.gsmtap.as_ref().is_some_and(|(there, _)| *there == to);
        // What may fail comes first.
        let socket = new.gsmtap.filter(|to| !is_there(*to)).map(|to| connect(to).map(|socket| (to, socket)));
        let socket = socket.transpose()?;
        if old.capture != new.capture || self.capture.is_none() {
            let capture = new.capture.as_ref().map(|file| Capture::create(Path::new(file)));
            let capture = capture.transpose().map_err(|error| format!("radio capture {error}"))?;
            let before = core::mem::replace(&mut self.capture, capture);
            if let Some(Err(error)) = before.map(Capture::finish) {
                let _ = writeln!(out, "The radio {error}.");
            }
        }
        match (socket, new.gsmtap) {
            (_, None) => self.gsmtap = None,
            (Some(socket), Some(_)) => self.gsmtap = Some(socket),
            (None, Some(_)) => {}
        }
        self.categories = new.categories;
        Ok(())
    }

    /// What has to be looked at from now on, where that is something else than before. `is_traced`: the process records what crosses
    /// its interfaces.
    pub fn new_scope(&mut self, is_traced: bool) -> Option<Option<Scope>> {
        let scope = match (&self.capture, &self.gsmtap) {
            _ if is_traced => Some(Scope::Both),
            (Some(_), _) => Some(Scope::Both),
            (None, Some(_)) => Some(Scope::Abis),
            (None, None) => None,
        };
        (core::mem::replace(&mut self.told, scope) != scope).then_some(scope)
    }

    /// Something is looked at.
    pub const fn is_looking(&self) -> bool {
        self.told.is_some()
    }

    /// Takes what was seen on the air of a cell.
    pub fn take(&mut self, bss: &mut Bss, cell: u32, outside: &mut Outside<'_>) {
        let now = outside.now();
        let now_ns = outside.log().unix_ns();
        let Some(tap) = bss.tap_mut(cell) else { return };
        while let Some(sighting) = tap.pop() {
            let datagram = sighting.datagram();
            if sighting.interface == Interface::Abis && self.categories.has(sighting.kind) {
                self.send(&datagram, outside.log());
            }
            let at_ns = now_ns.saturating_sub(now.since(sighting.at).0);
            self.record((cell, at_ns), &sighting, &datagram, outside);
        }
        let missed = tap.take_missed();
        if missed > 0 {
            let said =
                format_args!("radio of cell {cell}: {missed} blocks were not taken in time, and are missing");
            outside.log().line(Category::Main, Level::Error, said);
        }
        if let Some((level, said)) = self.capture.as_mut().and_then(|capture| capture.news(now)) {
            outside.log().line(Category::Main, level, format_args!("{said}"));
        }
    }

    fn send(&mut self, datagram: &[u8], log: &mut LogSink) {
        let Some((to, socket)) = &self.gsmtap else { return };
        match socket.send(datagram) {
            Ok(()) if self.failed > 0 => {
                let failed = core::mem::take(&mut self.failed);
                let said = format_args!("GSMTAP to {to}: it goes again, {failed} blocks are missing");
                log.line(Category::Main, Level::Notice, said);
            }
            Ok(()) => {}
            Err(error) => {
                if self.failed == 0 {
                    log.line(Category::Main, Level::Error, format_args!("GSMTAP to {to}: {error}"));
                }
                self.failed += 1;
            }
        }
    }

    /// Into the capture of the radio, and into those of the process.
    fn record(
        &mut self,
        (cell, at_ns): (u32, u64),
        sighting: &Sighting,
        payload: &[u8],
        outside: &mut Outside<'_>,
    ) {
        let port = u16::try_from(cell).unwrap_or(u16::MAX).saturating_add(FIRST_CELL);
        let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ends = (end(port), end(UDP_PORT));
        let recorded = Recorded { at_ns, is_sent: !sighting.kind.is_uplink(), ends, payload };
        let comment = (sighting.fate != Fate::Handed).then(|| sighting.fate.to_string());
        if let Some(capture) = &mut self.capture {
            capture.record(sighting.interface.name(), &recorded, comment.as_deref());
        }
        if outside.is_traced() {
            outside.trace(sighting.interface.name(), &recorded, comment.as_deref().unwrap_or_default());
        }
    }

    /// Writes the capture out and closes it.
    pub fn finish(&mut self, log: &mut LogSink) {
        if let Some(Err(error)) = self.capture.take().map(Capture::finish) {
            log.line(Category::Main, Level::Error, format_args!("radio {error}"));
        }
    }
}

fn connect(to: IpAddr) -> Result<GsmtapSocket, String> {
    GsmtapSocket::connect((to, UDP_PORT).into()).map_err(|error| format!("gsmtap-remote-host {to}: {error}"))
}
