//! What every listener of ours and its connections do with their sockets, none of which ever blocks.

use core::net::SocketAddr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

/// Octets that are read from one connection at a time.
const READ_MAX: usize = 4096;

/// Listens at an address.
///
/// # Errors
/// What the operating system says, with `what` and the address.
pub fn listen(what: &str, address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("{what} at {address}: {error}")))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// One connection.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    /// Octets at the beginning of the output that were sent already.
    sent: usize,
    /// The peer sends no more.
    ended: bool,
    /// It is of no more use.
    broken: bool,
}

impl Socket {
    /// One that was accepted; `None` where it cannot be used.
    pub fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        // What is said is worth a packet: a line that is typed, an answer.
        let _ = stream.set_nodelay(true);
        Some(Self { stream, sent: 0, ended: false, broken: false })
    }

    /// To be registered. A closed socket takes itself out of an epoll.
    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// The peer sends no more.
    pub const fn is_ended(&self) -> bool {
        self.ended
    }

    /// It is of no more use.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Octets of an output that were not sent yet.
    pub fn waiting(&self, output: &[u8]) -> usize {
        output.len() - self.sent
    }

    /// Reads once; true where something came, which `take` has got.
    pub fn read(&mut self, take: impl FnOnce(&[u8])) -> bool {
        if self.ended || self.broken {
            return false;
        }
        let mut buffer = [0; READ_MAX];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(octets) => {
                take(buffer.get(..octets).unwrap_or_default());
                return true;
            }
            Err(error) if is_for_later(&error) => {}
            Err(_) => self.broken = true,
        }
        false
    }

    /// Sends up to `most` octets of an output, and takes off it what is sent; true where the peer took some.
    pub fn write(&mut self, output: &mut Vec<u8>, most: usize) -> bool {
        let rest = output.get(self.sent..).unwrap_or_default();
        let rest = rest.get(..most).unwrap_or(rest);
        if rest.is_empty() || self.broken {
            return false;
        }
        match self.stream.write(rest) {
            Ok(octets) => {
                self.sent += octets;
                // Moved only where half of it was sent, so that a long answer is not moved at every write.
                if 2 * self.sent >= output.len() {
                    output.drain(..self.sent);
                    self.sent = 0;
                }
                octets > 0
            }
            Err(error) if is_for_later(&error) => false,
            Err(_) => {
                self.broken = true;
                false
            }
        }
    }

    /// Says a last word to who is turned away.
    pub fn dismiss(mut self, word: &[u8]) {
        // Who is gone already misses it.
        let _ = self.stream.write_all(word);
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
