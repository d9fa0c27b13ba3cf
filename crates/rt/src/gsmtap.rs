//! A socket for GSMTAP: whoever listens there with Wireshark sees each datagram among the frames that it is about.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A socket that datagrams leave through. It never waits.
#[derive(Debug)]
pub struct GsmtapSocket {
    socket: UdpSocket,
}

impl GsmtapSocket {
    /// For whoever listens there.
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
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Sends one. Where nobody listens the system says so with the next: that is none lost.
    ///
    /// # Errors
    /// The datagram is lost: what the system says.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        match self.socket.send(datagram) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            other => other.map(|_| ()),
        }
    }
}
