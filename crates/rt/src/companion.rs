//! Loops without a node: what a laboratory measures beside the nodes, to know what the machine itself can do.

use crate::sys;
use core::net::SocketAddr;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Any value but 0 permits polling, in µs; a call that does not block polls once.
const POLL_US: i32 = 50;

/// A UDP socket through which this thread polls the device that its packets come from.
///
/// An AF_XDP socket of a veth device has no NAPI to poll; a socket that has received a packet there has.
#[derive(Debug)]
pub struct Companion(UdpSocket);

impl Companion {
    /// Opens the socket. Each poll takes up to `budget` packets from the device.
    ///
    /// # Errors
    /// Where the address is taken, or without `CAP_NET_ADMIN`.
    pub fn open(address: SocketAddr, budget: i32) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let options = [
            (libc::SO_BUSY_POLL, POLL_US),
            (libc::SO_PREFER_BUSY_POLL, 1),
            (libc::SO_BUSY_POLL_BUDGET, budget),
        ];
        for (name, value) in options {
            sys::set_socket_option(&socket, libc::SOL_SOCKET, name, value)?;
        }
        Ok(Self(socket))
    }

    /// Polls the device once, where the socket knows it already, and takes a datagram off the socket, if there is one.
    pub fn poll(&self) -> bool {
        let mut octets = [0; 2048];
        self.0.recv(&mut octets).is_ok()
    }

    /// Whether the socket knows its device, which takes one packet.
    #[must_use]
    pub fn knows_its_device(&self) -> bool {
        sys::socket_option(&self.0, libc::SOL_SOCKET, libc::SO_INCOMING_NAPI_ID).is_ok_and(|id| id != 0)
    }

    /// The socket, to send or to receive otherwise.
    #[must_use]
    pub const fn socket(&self) -> &UdpSocket {
        &self.0
    }
}
