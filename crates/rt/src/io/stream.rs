//! Streams: connecting, receiving in frames of any length, sending at once, losing.

use super::{Arrival, ENDPOINT_TOKENS, Endpoint, Io, Kind, Origin, Owner};
use crate::tcp::{Tcp, TcpConfig};
use core::fmt;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Level, TraceSink};
use gannet_machine::{Peer, Port, StreamState};
use gannet_trace::pcapng::{Direction, LinkType};
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::io;

/// Pieces of a stream that are read in one turn.
const PIECES: usize = 16;

impl Io {
    pub(crate) fn connect_tcp(&mut self, machine: usize, port: Port, config: &TcpConfig) -> io::Result<()> {
        let kind = Kind::Tcp(Box::new(Tcp::new(*config, self.now)));
        let index = self.insert(Owner { machine, port }, kind)?;
        self.rebind(machine, port, Peer::Link, Some(index));
        self.reconnect_at = Some(self.now);
        Ok(())
    }

    fn tcp_at(&mut self, index: usize) -> Option<&mut Tcp> {
        match &mut self.endpoints.get_mut(index)?.as_mut()?.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Udp(_) | Kind::Tun { .. } | Kind::Packets(_) => None,
        }
    }

    /// Tries those that have no connection and whose time has come, and says when the next one's comes.
    pub(crate) fn reconnect(&mut self) {
        let now = self.now;
        for index in 0..self.endpoints.len() {
            let Some(tcp) = self.tcp_at(index).filter(|tcp| tcp.look_at().is_some_and(|at| at <= now)) else {
                continue;
            };
            if !tcp.is_idle() {
                self.lose(index, Some(&io::ErrorKind::TimedOut.into()));
                continue;
            }
            let result = tcp.connect(now);
            let fd = tcp.fd();
            let token = Token(ENDPOINT_TOKENS + index);
            // A stream is always asked whether it is writable: the kernel says so only where it was not.
            let both = Interest::READABLE.add(Interest::WRITABLE);
            let registered = fd.map_or(Ok(()), |fd| self.registry.register(&mut SourceFd(&fd), token, both));
            if let Err(error) = result.and(registered) {
                self.lose(index, Some(&error));
            }
        }
        self.next_reconnect();
    }

    fn next_reconnect(&mut self) {
        let streams = self.endpoints.iter().flatten().filter_map(|endpoint| match &endpoint.kind {
            Kind::Tcp(tcp) => tcp.look_at(),
            Kind::Udp(_) | Kind::Tun { .. } | Kind::Packets(_) => None,
        });
        self.reconnect_at = streams.min();
    }

    /// The peer has accepted, or refused, or takes octets again.
    pub(super) fn stream_writable(&mut self, index: usize) {
        let Some(tcp) = self.tcp_at(index) else { return };
        match tcp.connected() {
            Ok(false) => {
                if let Err(error) = tcp.flush() {
                    self.lose(index, Some(&error));
                }
            }
            Ok(true) => {
                tcp.told = false;
                let to = tcp.config.to;
                self.record_stream(index, None);
                if let Some(Some(Endpoint { owner, .. })) = self.endpoints.get(index) {
                    self.streams.push((*owner, StreamState::Connected));
                }
                self.next_reconnect();
                self.note(Level::Notice, format_args!("TCP {to}: connected"));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => self.lose(index, Some(&error)),
        }
    }

    /// Records octets of a connection, or that it has begun.
    fn record_stream(&mut self, index: usize, octets: Option<(Direction, &[u8])>) {
        let at_ns = self.clock.unix_ns(self.now);
        let name = self.tcp_at(index).and_then(|tcp| tcp.config.record_as).filter(|_| octets.is_none());
        let interface = name.map(|name| self.interface_of(name, LinkType::Raw, false));
        let Some(Some(Endpoint { kind: Kind::Tcp(tcp), .. })) = self.endpoints.get_mut(index) else { return };
        match (octets, self.recorder.as_deref_mut()) {
            (None, recorder) => tcp.record(interface, at_ns, recorder),
            (Some((direction, octets)), Some(recorder)) => {
                tcp.record_octets(direction, octets, at_ns, recorder);
            }
            (Some(_), None) => {}
        }
    }

    /// Reads some pieces of a stream; false when there is nothing more.
    pub(super) fn receive_stream(&mut self, index: usize) -> bool {
        for _ in 0..PIECES {
            let Some(Some(Endpoint { owner, kind: Kind::Tcp(tcp), .. })) = self.endpoints.get(index) else {
                return false;
            };
            // Nothing of a stream may be lost: without a frame it waits in the kernel.
            let Some(mut frame) = self.spare.pop() else { return true };
            match tcp.receive(frame.spare_mut()) {
                Ok(count) if count > 0 && frame.set_len(count) => {
                    let (machine, port) = (owner.machine, owner.port);
                    self.record_stream(index, Some((Direction::In, &frame)));
                    let origin = Origin::Peer(Peer::Link);
                    self.arrivals.push_back(Arrival { machine, port, origin, frame });
                }
                Ok(_) => {
                    self.spare.push(frame);
                    self.lose(index, None);
                    return false;
                }
                Err(error) => {
                    self.spare.push(frame);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => return false,
                        io::ErrorKind::Interrupted => {}
                        _ => {
                            self.lose(index, Some(&error));
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    pub(super) fn send_stream(&mut self, index: usize, octets: &[u8]) {
        let Some(tcp) = self.tcp_at(index) else { return };
        let Err(error) = tcp.send(octets) else {
            return self.record_stream(index, Some((Direction::Out, octets)));
        };
        let drop = match error.kind() {
            io::ErrorKind::QuotaExceeded => Drop::RtSendQueueFull,
            _ => Drop::RtSendFailed,
        };
        self.log.dropped(drop, None);
        if error.kind() != io::ErrorKind::NotConnected {
            self.lose(index, Some(&error));
        }
    }

    /// The machine gives a connection up.
    pub(crate) fn disconnect(&mut self, machine: usize, port: Port) {
        if let Some(index) = self.endpoint_of(machine, port, Peer::Link) {
            self.lose(index, None);
        }
    }

    /// Ends a connection, or a try for one.
    fn lose(&mut self, index: usize, error: Option<&io::Error>) {
        let now = self.now;
        let Some(tcp) = self.tcp_at(index) else { return };
        let fd = tcp.fd();
        if let Some(fd) = fd {
            // Closing takes it off the poll too; an error here changes nothing.
            let _ = self.registry.deregister(&mut SourceFd(&fd));
        }
        let Some(tcp) = self.tcp_at(index) else { return };
        let (to, was_connected) = (tcp.config.to, tcp.close(now));
        let told = core::mem::replace(&mut tcp.told, true);
        let at_ns = self.clock.unix_ns(now);
        if let (Some(recorder), Some(Some(Endpoint { kind: Kind::Tcp(tcp), .. }))) =
            (&mut self.recorder, self.endpoints.get_mut(index))
        {
            tcp.record_end(at_ns, recorder);
        }
        if let (true, Some(Some(Endpoint { owner, .. }))) = (was_connected, self.endpoints.get(index)) {
            self.streams.push((*owner, StreamState::Lost));
        }
        self.next_reconnect();
        // A peer that is away is away each second.
        if was_connected || !told {
            let why: &dyn fmt::Display = error.map_or(&"closed", |error| error);
            self.note(Level::Error, format_args!("TCP {to}: {why}; tried again each second"));
        }
    }
}
