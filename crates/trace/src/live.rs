//! A live stream of GSMTAP, for who listens with Wireshark on another machine.
//!
//! Datagrams of Um and Abis go as they are, LL-PDUs of Gb under a header of their own. GSMTAP has no type for GTP and IP: those are in
//! captures alone. A datagram that no one takes is gone.

use crate::pcapng::LIMIT_DEFAULT;
use crate::pcapng::pipe::Pipe;
use core::fmt;
use core::net::SocketAddr;
use gannet_wire::gsmtap::{Header, PayloadType};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Octets of the length in front of each datagram that waits.
const LENGTH: usize = 2;

/// Sends datagrams to one address, by a thread of its own.
pub struct Live {
    pipe: Pipe,
    to: SocketAddr,
    refused: Arc<AtomicU64>,
}

impl Live {
    /// For who listens there.
    ///
    /// # Errors
    /// Where there is no way to that address.
    pub fn connect(to: SocketAddr) -> io::Result<Self> {
        let from = match to {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(from)?;
        socket.connect(to)?;
        let refused = Arc::new(AtomicU64::new(0));
        let output = Datagrams { socket, refused: Arc::clone(&refused) };
        Ok(Self { pipe: Pipe::new(Box::new(output), LIMIT_DEFAULT)?, to, refused })
    }

    /// A datagram that is GSMTAP already.
    pub fn gsmtap(&mut self, datagram: &[u8]) {
        self.put(&[], datagram);
    }

    /// An LL-PDU.
    pub fn ll_pdu(&mut self, is_uplink: bool, frame: &[u8]) {
        self.put(&Header::new(PayloadType::GbLlc, is_uplink).emit(), frame);
    }

    fn put(&mut self, head: &[u8], body: &[u8]) {
        let len = head.len() + body.len();
        let Ok(field) = u16::try_from(len) else { return };
        self.pipe.put(LENGTH + len, |out| {
            out.extend_from_slice(&field.to_le_bytes());
            out.extend_from_slice(head);
            out.extend_from_slice(body);
        });
    }

    /// Datagrams that were given to the system, or will be.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.pipe.recorded()
    }

    /// Datagrams that waited for too long, or that the system did not take.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.pipe.lost() + self.refused.load(Relaxed)
    }

    /// Where to.
    #[must_use]
    pub const fn to(&self) -> SocketAddr {
        self.to
    }

    /// Waits until all so far was given to the system.
    ///
    /// # Errors
    /// None: what the system does not take is counted.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Live({}, {} sent, {} lost)", self.to, self.sent(), self.lost())
    }
}

struct Datagrams {
    socket: UdpSocket,
    refused: Arc<AtomicU64>,
}

impl Write for Datagrams {
    /// Takes one datagram behind its length.
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let Some((field, rest)) = octets.split_first_chunk::<LENGTH>() else { return Ok(octets.len()) };
        let len = usize::from(u16::from_le_bytes(*field));
        match self.socket.send(rest.get(..len).unwrap_or(rest)) {
            // Nobody listens: that is no loss.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(_) => _ = self.refused.fetch_add(1, Relaxed),
        }
        Ok((LENGTH + len).min(octets.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
