//! The VTY's sockets: a listener and its sessions, none of which ever blocks.
//!
//! An event loop registers [`Server::listener_fd`] and each descriptor of [`Server::changes`] for reading and writing,
//! and calls [`Server::poll`] whenever one of them is ready, again at once while [`Progress::again`] says so, and at
//! [`Server::next_deadline`].
//!
//! Nobody is locked out by sessions in which nobody types: these end after a time, and where all places are taken the one in
//! which nobody has typed for the longest time gives way to who comes.

use super::session::{Host, LogLine};
use super::{Operator, Session};
use crate::config::Element;
use crate::config::ExecTimeout;
use crate::grammar::Grammar;
use crate::socket::{self, Socket};
use core::net::SocketAddr;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};

/// Sessions at one time.
pub const SESSIONS_MAX: usize = 16;
/// Reads of one session in one poll.
const READS_PER_POLL: usize = 16;

/// What a poll did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Something was read, written, opened or closed.
    pub worked: bool,
    /// There may be more to read without a new readiness: poll again soon.
    pub again: bool,
}

/// A session that came or went. Its number is its own until it has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is to be registered.
    Opened {
        /// From 1.
        number: u32,
        /// Its socket.
        fd: RawFd,
    },
    /// Its socket is closed, which has taken it out of an epoll by itself.
    Closed {
        /// From 1.
        number: u32,
    },
}

#[derive(Debug)]
struct Peer<E: Element> {
    socket: Socket,
    name: String,
    session: Session<E>,
    /// Read and not yet taken.
    inbox: Vec<u8>,
    /// When the operator typed last.
    typed: Instant,
}

/// A listener and its sessions.
#[derive(Debug)]
pub struct Server<E: Element> {
    grammar: Grammar<E>,
    listener: TcpListener,
    peers: Vec<Option<Peer<E>>>,
    changes: Vec<Change>,
    /// After so long without a key a session ends.
    patience: Option<Duration>,
}

impl<E: Element> Server<E> {
    /// Listens where the configuration says (`line vty`, `bind`), by default at 127.0.0.1 and the element's own port.
    ///
    /// # Errors
    /// What the operating system says, with the address.
    pub fn new(config: &E::Config) -> io::Result<Self> {
        let listen = E::common(config).vty;
        Self::bind(SocketAddr::new(listen.address.into(), listen.port.unwrap_or(E::VTY_PORT)))
    }

    /// Listens at an address.
    ///
    /// # Errors
    /// What the operating system says, with the address.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = socket::listen("VTY", address)?;
        let (peers, changes) = (Vec::new(), Vec::new());
        Ok(Self { grammar: Grammar::new(), listener, peers, changes, patience: None })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The listening socket.
    #[must_use]
    pub fn listener_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// Sessions that came or went since it was asked last.
    pub fn changes(&mut self) -> impl Iterator<Item = Change> + '_ {
        self.changes.drain(..)
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.peers.iter().flatten().count()
    }

    /// When the first session ends unless somebody types in it.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let patience = self.patience?;
        self.peers.iter().flatten().filter(|peer| peer.may_end()).map(|peer| peer.typed + patience).min()
    }

    /// Accepts, reads, runs commands and writes, as far as it goes without waiting; and ends sessions in which nobody types.
    pub fn poll(&mut self, now: Instant, operator: &mut dyn Operator<E>) -> Progress {
        let mut progress = Progress::default();
        while let Ok((stream, address)) = self.listener.accept() {
            progress.worked = true;
            if let Some(socket) = Socket::new(stream) {
                self.admit(socket, address, now, operator);
            }
        }
        let names: Vec<String> = self.names();
        for (number, place) in (1..).zip(&mut self.peers) {
            let Some(peer) = place else { continue };
            let mut host = Host { grammar: &self.grammar, operator, sessions: &names };
            let of_peer = peer.poll(now, &mut host);
            progress.worked |= of_peer.worked;
            progress.again |= of_peer.again;
            if peer.is_done() {
                *place = None;
                self.changes.push(Change::Closed { number });
            }
        }
        self.end_idle(now, operator);
        progress
    }

    /// Whether any session shows a line of the log.
    #[must_use]
    pub fn shows(&self, category: Category, level: Level) -> bool {
        self.peers.iter().flatten().any(|peer| peer.session.shows(category, level))
    }

    /// Shows a line of the log in the sessions that want it. It is sent by the next poll.
    pub fn log(&mut self, line: &LogLine<'_>, operator: &dyn Operator<E>) {
        self.peers.iter_mut().flatten().for_each(|peer| peer.session.log_line(line, operator));
    }

    fn names(&self) -> Vec<String> {
        let numbered = (1..).zip(&self.peers);
        let name =
            |(number, peer): (u32, &Option<Peer<E>>)| Some(format!("vty[{number}] {}", peer.as_ref()?.name));
        numbered.filter_map(name).collect()
    }

    /// Ends the sessions in which nobody has typed for too long.
    fn end_idle(&mut self, now: Instant, operator: &dyn Operator<E>) {
        let ExecTimeout(seconds) = E::common(operator.config()).exec_timeout;
        self.patience = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        let Some(patience) = self.patience else { return };
        let is_over = |peer: &Option<Peer<E>>| {
            peer.as_ref().is_some_and(|peer| peer.may_end() && peer.typed + patience <= now)
        };
        while let Some(place) = self.peers.iter().position(is_over) {
            self.end(place, b"\r\nVty connection is timed out.\r\n");
        }
    }

    /// Ends a session with a last word.
    fn end(&mut self, place: usize, word: &[u8]) {
        let Some(mut peer) = self.peers.get_mut(place).and_then(Option::take) else { return };
        self.changes.push(Change::Closed { number: number_of(place) });
        // Not in the middle of what it is being told.
        if peer.session.output().is_empty() {
            peer.socket.dismiss(word);
        }
    }

    /// The place of a new session: a free one, or that of the session in which nobody has typed for the longest time.
    fn place(&mut self) -> usize {
        let free = self.peers.iter().position(Option::is_none).unwrap_or(self.peers.len());
        if free < SESSIONS_MAX {
            return free;
        }
        let typed = |(_, peer): &(usize, &Option<Peer<E>>)| peer.as_ref().map(|peer| peer.typed);
        let idlest = self.peers.iter().enumerate().min_by_key(typed).map_or(0, |(place, _)| place);
        self.end(idlest, b"\r\n% Too many sessions: this one was idle for the longest time.\r\n");
        idlest
    }

    fn admit(&mut self, socket: Socket, address: SocketAddr, now: Instant, operator: &dyn Operator<E>) {
        let place = self.place();
        let (fd, name) = (socket.fd(), address.to_string());
        let peer = Peer { socket, name, session: Session::new(operator), inbox: Vec::new(), typed: now };
        match self.peers.get_mut(place) {
            Some(slot) => *slot = Some(peer),
            None => self.peers.push(Some(peer)),
        }
        self.changes.push(Change::Opened { number: number_of(place), fd });
    }
}

/// Sessions are numbered from 1.
fn number_of(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

impl<E: Element> AsRawFd for Server<E> {
    /// The listening socket.
    fn as_raw_fd(&self) -> RawFd {
        self.listener_fd()
    }
}

impl<E: Element> Peer<E> {
    /// It may end for its silence: nobody reads the log in it.
    fn may_end(&self) -> bool {
        !self.session.shows_log()
    }

    fn poll(&mut self, now: Instant, host: &mut Host<'_, E>) -> Progress {
        let mut progress = Progress::default();
        for _ in 0..READS_PER_POLL {
            let wrote = self.socket.write(self.session.output(), usize::MAX);
            let read = self.read();
            if read {
                self.typed = now;
            }
            let taken = self.session.input(&self.inbox, host);
            self.inbox.drain(..taken);
            if !(wrote || read || taken > 0) {
                return progress;
            }
            progress.worked = true;
        }
        progress.again = true;
        progress
    }

    /// Reads once what was taken before.
    fn read(&mut self) -> bool {
        let may = !self.session.is_closed() && self.inbox.is_empty();
        may && self.socket.read(|octets| self.inbox.extend_from_slice(octets))
    }

    /// Everything that can be said was said.
    fn is_done(&mut self) -> bool {
        let silent = self.session.output().is_empty();
        let is_read = self.socket.is_ended() && self.inbox.is_empty();
        self.socket.is_broken() || (silent && (self.session.is_closed() || is_read))
    }
}
