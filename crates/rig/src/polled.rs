//! Sockets of loops without a node: they measure what the machine itself can do.

use core::net::SocketAddr;
use gannet_machine::frame::Frame;
use gannet_rt::{Messages, set_socket_option, socket_option};
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Any value but 0 permits polling, in µs; a call that does not block polls once.
const POLL_US: i32 = 50;

/// A UDP socket through which this thread polls the device that its packets come from.
///
/// An AF_XDP socket of a veth device has no NAPI to poll; a socket that has received a packet there has.
#[derive(Debug)]
pub struct PolledSocket(UdpSocket);

impl PolledSocket {
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
            // Room for several polls.
            (libc::SO_RCVBUFFORCE, 8 << 20),
        ];
        for (name, value) in options {
            set_socket_option(&socket, libc::SOL_SOCKET, name, value)?;
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
        socket_option(&self.0, libc::SOL_SOCKET, libc::SO_INCOMING_NAPI_ID).is_ok_and(|id| id != 0)
    }

    /// The socket, to send or to receive otherwise.
    #[must_use]
    pub const fn socket(&self) -> &UdpSocket {
        &self.0
    }
}

/// Batches of datagrams, straight into and out of frames.
#[derive(Debug, Default)]
pub struct Datagrams(Messages);

impl Datagrams {
    /// Receives what is there into the first of `frames`, at most one batch; says how many came.
    ///
    /// # Errors
    /// That of the system call; `WouldBlock` where there is nothing.
    pub fn receive(&mut self, socket: &UdpSocket, frames: &mut [Frame]) -> io::Result<usize> {
        let count = self.0.receive(socket.as_fd(), frames)?;
        for (index, frame) in frames.iter_mut().take(count).enumerate() {
            let len = self.0.arrived(index).map_or(0, |arrived| arrived.len);
            let fits = frame.set_len(len);
            debug_assert!(fits, "the kernel wrote no more than there is room for");
        }
        Ok(count)
    }

    /// Sends all that waits; what the socket does not take now stays.
    ///
    /// # Errors
    /// That of the system call.
    pub fn send(
        &mut self,
        socket: &UdpSocket,
        waiting: &mut VecDeque<(SocketAddr, Frame)>,
    ) -> io::Result<()> {
        while !waiting.is_empty() {
            let sent = self.0.send(socket.as_fd(), waiting, usize::MAX, usize::MAX)?;
            waiting.drain(..sent);
        }
        Ok(())
    }
}
