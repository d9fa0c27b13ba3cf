//! A listener and its connections, none of which ever blocks: what the page of metrics and the control interface share.
//!
//! Everything has a limit: connections, octets that are read in one turn, octets that wait to be taken by the peer, and
//! the time that a connection may take. Who is too slow is cut, in the middle of an answer too, and where all places are
//! taken the one that would be cut first gives way to who comes.
//!
//! An event loop registers [`Connections::listener_fd`] and each descriptor of [`Connections::opened`] for reading and
//! writing, calls [`Connections::poll`] when one of them is ready, again at once while it says so, and at
//! [`Connections::next_deadline`].

use crate::socket::{self, Socket};
use core::net::SocketAddr;
use gannet_machine::time::{Duration, Instant};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};

/// What is spoken on one connection, without any socket: octets in, octets out.
pub trait Conversation {
    /// A new one.
    fn begin() -> Self;

    /// Takes octets of the peer; nothing is read while an answer is not whole.
    fn input(&mut self, octets: &[u8]);

    /// Nothing more will be said: the connection ends when all is sent.
    fn is_over(&self) -> bool;
}

/// A conversation that a host can lead.
pub trait Answers<H>: Conversation {
    /// Does a bounded part of what there is to answer, and puts it behind `output`; true where there is more to do.
    fn proceed(&mut self, host: &mut H, output: &mut Vec<u8>) -> bool;

    /// Whether [`Answers::news`] may have something.
    const HEARS_NEWS: bool = false;

    /// What the host has to say to all who are connected, unasked; it is told once.
    fn news(_host: &mut H, _news: &mut News) {}
}

/// Messages for all who are connected, in the order in which they go out.
#[derive(Debug, Default)]
pub struct News {
    octets: Vec<u8>,
    /// Where each message ends.
    ends: Vec<usize>,
}

impl News {
    /// Adds the message that `put` writes, if it writes one.
    pub fn add(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let before = self.octets.len();
        put(&mut self.octets);
        if self.octets.len() > before {
            self.ends.push(self.octets.len());
        }
    }

    /// The octets of the first messages, as many as fit, and the number of the others.
    fn that_fit(&self, room: usize) -> (&[u8], usize) {
        let heard = self.ends.partition_point(|end| *end <= room);
        let end = heard.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default();
        (self.octets.get(..end).unwrap_or_default(), self.ends.len() - heard)
    }
}

/// How much one listener may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// How long a connection may take.
    pub patience: Duration,
    /// The time begins anew with each answer that the peer takes octets of.
    pub renewed: bool,
    /// Octets that may wait for the peer before more of it is read.
    pub output_octets: usize,
    /// Octets that may wait for the peer when news come, with these; news that find no room are lost.
    pub news_octets: usize,
}

/// Octets that are sent to one connection in one turn.
const WRITE_MAX: usize = 1 << 16;
/// Connections that are accepted in one turn.
const ACCEPTS_PER_POLL: usize = 4;

#[derive(Debug)]
struct Peer<C> {
    socket: Socket,
    conversation: C,
    output: Vec<u8>,
    /// When it is cut.
    deadline: Instant,
    /// An answer is not whole yet.
    busy: bool,
}

/// A listener and its connections.
#[derive(Debug)]
pub struct Connections<C> {
    listener: TcpListener,
    limits: Limits,
    peers: Vec<Option<Peer<C>>>,
    opened: Vec<(u32, RawFd)>,
    news_lost: u64,
}

impl<C: Conversation> Connections<C> {
    /// Listens at an address.
    ///
    /// # Errors
    /// What the operating system says, with `what` and the address.
    pub fn bind(what: &str, address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = socket::listen(what, address)?;
        Ok(Self { listener, limits, peers: Vec::new(), opened: Vec::new(), news_lost: 0 })
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

    /// Connections that came since it was asked last: a number from 1, and the socket to be registered. A closed socket
    /// takes itself out of an epoll.
    pub fn opened(&mut self) -> impl Iterator<Item = (u32, RawFd)> + '_ {
        self.opened.drain(..)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.peers.iter().flatten().count()
    }

    /// Messages of news that somebody did not hear, since too much waited for it already; one for each who missed it.
    #[must_use]
    pub const fn news_lost(&self) -> u64 {
        self.news_lost
    }

    /// When the first of them is cut unless something comes.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.peers.iter().flatten().map(|peer| peer.deadline).min()
    }

    /// Accepts, reads, answers, writes and cuts, as far as it goes without waiting; true where there may be more to do
    /// without a new readiness.
    pub fn poll<H>(&mut self, now: Instant, host: &mut H) -> bool
    where
        C: Answers<H>,
    {
        let mut again = true;
        for _ in 0..ACCEPTS_PER_POLL {
            match self.listener.accept() {
                Ok((stream, _)) => Socket::new(stream).into_iter().for_each(|socket| self.admit(socket, now)),
                Err(_) => {
                    again = false;
                    break;
                }
            }
        }
        let mut news = News::default();
        C::news(host, &mut news);
        for place in &mut self.peers {
            let Some(peer) = place else { continue };
            self.news_lost += peer.hear(&news, &self.limits);
            again |= peer.poll(now, &self.limits, host);
            if peer.is_done() || now >= peer.deadline {
                *place = None;
            }
        }
        again
    }

    fn admit(&mut self, socket: Socket, now: Instant) {
        let free = self.peers.iter().position(Option::is_none);
        let place = free.or_else(|| self.first_to_be_cut()).unwrap_or(self.peers.len());
        self.opened.push((u32::try_from(place + 1).unwrap_or(u32::MAX), socket.fd()));
        let deadline = now + self.limits.patience;
        let peer = Peer { socket, conversation: C::begin(), output: Vec::new(), deadline, busy: false };
        match self.peers.get_mut(place) {
            Some(slot) => *slot = Some(peer),
            None => self.peers.push(Some(peer)),
        }
    }
}

impl<C> Connections<C> {
    /// Where all places are taken.
    fn first_to_be_cut(&self) -> Option<usize> {
        if self.peers.len() < self.limits.connections {
            return None;
        }
        let deadline = |(_, peer): &(usize, &Option<Peer<C>>)| peer.as_ref().map(|peer| peer.deadline);
        self.peers.iter().enumerate().min_by_key(deadline).map(|(place, _)| place)
    }
}

impl<C: Conversation> Peer<C> {
    /// Takes the news that there is room for; how many there is none for. An answer that is not whole has nothing in the
    /// output yet, so that news stand between messages.
    fn hear(&mut self, news: &News, limits: &Limits) -> u64 {
        let room = limits.news_octets.saturating_sub(self.socket.waiting(&self.output));
        let (heard, missed) = news.that_fit(room);
        self.output.extend_from_slice(heard);
        u64::try_from(missed).unwrap_or(u64::MAX)
    }

    /// One turn; true where there may be more to do.
    fn poll<H>(&mut self, now: Instant, limits: &Limits, host: &mut H) -> bool
    where
        C: Answers<H>,
    {
        let has_room = self.socket.waiting(&self.output) <= limits.output_octets;
        // Readiness is told once, so who was busy has to look again.
        let was_busy = self.busy;
        let read = has_room && !was_busy && self.read();
        if has_room && !self.socket.is_broken() {
            self.busy = self.conversation.proceed(host, &mut self.output);
        }
        let wrote = self.socket.write(&mut self.output, WRITE_MAX);
        if wrote && limits.renewed {
            self.deadline = now + limits.patience;
        }
        read || wrote || (has_room && (self.busy || was_busy))
    }

    fn read(&mut self) -> bool {
        !self.conversation.is_over() && self.socket.read(|octets| self.conversation.input(octets))
    }

    /// Everything that can be said was said.
    fn is_done(&self) -> bool {
        let silent = self.output.is_empty() && !self.busy;
        self.socket.is_broken() || (silent && (self.conversation.is_over() || self.socket.is_ended()))
    }
}
