//! UDP sockets: received and sent in batches, with a queue of limited length for what the kernel does not take now.

use crate::joined;
use crate::messages::{BATCH, Messages};
use crate::output::Output;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_demux::Ring;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_trace::pcapng::InterfaceId;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// How a UDP socket is to be made.
#[derive(Debug, Clone)]
pub struct UdpConfig {
    /// Local address; port 0 takes any free one. A multicast address is a group that the socket joins, on the interface to which the
    /// routing table sends it; other sockets of the machine may have it as well.
    pub bind: SocketAddr,
    /// Where the socket is to take datagrams from one peer only.
    pub connect: Option<SocketAddr>,
    /// Octets asked of the kernel for its receive and its send buffer; `None` leaves the system's default.
    pub buffer_octets: Option<usize>,
    /// Differentiated services code point of all that is sent, 0 to 63 (IPv4 only).
    pub dscp: Option<u8>,
    /// The kernel may give several datagrams of one sender in one call (`UDP_GRO`): for a socket to which few peers send much.
    /// Where it cannot, they come one by one.
    pub joined: bool,
    /// Datagrams that may wait while the kernel takes none.
    pub send_queue_max: usize,
    /// Other sockets of this user may have the same address (`SO_REUSEPORT`).
    pub shared_port: bool,
    /// Name of the capture interface, where this socket's datagrams are to be recorded.
    pub record_as: Option<String>,
    /// What it sends goes to mobiles: for whoever records, and asks whose a packet is.
    pub sends_downlink: bool,
}

impl UdpConfig {
    /// A socket at `bind` with everything else as a node has it that says nothing.
    #[must_use]
    pub const fn new(bind: SocketAddr) -> Self {
        Self {
            bind,
            connect: None,
            buffer_octets: None,
            dscp: None,
            joined: false,
            send_queue_max: 1024,
            shared_port: false,
            record_as: None,
            sends_downlink: false,
        }
    }

    /// Recorded under this name.
    #[must_use]
    pub fn record_as(mut self, name: &str) -> Self {
        self.record_as = Some(name.to_owned());
        self
    }
}

/// Makes the socket.
pub(crate) fn open(config: &UdpConfig) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(config.bind), Type::DGRAM, Some(Protocol::UDP))?;
    if config.shared_port {
        socket.set_reuse_port(true)?;
    }
    if config.bind.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if config.bind.ip().is_multicast() {
        socket.set_reuse_address(true)?;
    }
    if let Some(octets) = config.buffer_octets {
        socket.set_recv_buffer_size(octets)?;
        socket.set_send_buffer_size(octets)?;
    }
    if let (Some(dscp), IpAddr::V4(_)) = (config.dscp, config.bind.ip()) {
        socket.set_tos_v4(u32::from(dscp & 0x3f) << 2)?;
    }
    if config.joined {
        joined::ask_for(&socket);
    }
    socket.set_nonblocking(true)?;
    socket.bind(&config.bind.into())?;
    match config.bind.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0)?,
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    if let Some(peer) = config.connect {
        socket.connect(&peer.into())?;
    }
    Ok(socket.into())
}

/// A socket of the loop.
pub(crate) struct Udp {
    pub(crate) socket: UdpSocket,
    /// As it was made, so that it can be made again when its interface has been.
    pub(crate) config: UdpConfig,
    pub(crate) local: LocalAddress,
    pub(crate) record: Option<InterfaceId>,
    pub(crate) queue: SendQueue,
    /// Longest datagram that may be one segment of several; less than all where the kernel refused one.
    pub(crate) bundle_max: usize,
    /// What is steered to it: the sockets are read in the order of their rings. One to which nothing is steered has
    /// the last.
    pub(crate) ring: Ring,
    /// The last try to receive brought something.
    pub(crate) flowing: bool,
    /// Datagrams received since the sockets to poll were last chosen.
    pub(crate) received: u64,
    /// The NAPI that its packets come through; 0 where it is not known, or there is none.
    pub(crate) napi: u32,
    /// A receive call that finds nothing polls that NAPI.
    pub(crate) pollable: bool,
    /// Asked in each turn of a spinning loop, which polls its device.
    pub(crate) polls: bool,
    /// Datagrams that leave as whole frames through an AF_XDP socket.
    pub(crate) output: Option<Output>,
}

impl Udp {
    pub(crate) fn new(
        socket: UdpSocket,
        config: &UdpConfig,
        record: Option<InterfaceId>,
    ) -> io::Result<Self> {
        let local = LocalAddress::new(socket.local_addr()?);
        let queue = SendQueue::new(config.send_queue_max);
        Ok(Self {
            socket,
            config: config.clone(),
            local,
            record,
            queue,
            bundle_max: usize::MAX,
            ring: Ring::BestEffort,
            flowing: true,
            received: 0,
            napi: 0,
            pollable: false,
            polls: false,
            output: None,
        })
    }

    /// Sends up to `limit` of what waits, through the kernel.
    pub(crate) fn send_by_kernel(
        &mut self,
        messages: &mut Messages,
        limit: usize,
        mut sent: impl FnMut(&mut LocalAddress, SocketAddr, &Frame),
        lost: impl FnMut(Drop, SocketAddr, &io::Error),
    ) {
        let (socket, local, bundle_max) = (self.socket.as_fd(), &mut self.local, &mut self.bundle_max);
        self.queue.flush(
            limit,
            |waiting, limit| loop {
                let result = messages.send(socket, waiting, limit, *bundle_max);
                let refused = result.as_ref().err().and_then(io::Error::raw_os_error);
                match (refused, waiting.front()) {
                    // Segments longer than the path takes have to be fragmented, which is done for single datagrams.
                    (Some(libc::EINVAL | libc::EMSGSIZE), Some((_, first))) if messages.first_run() > 1 => {
                        *bundle_max = first.len() - 1;
                    }
                    // A device or kernel that cannot cut messages at all.
                    (Some(libc::EIO | libc::EOPNOTSUPP), _) if messages.first_run() > 1 => *bundle_max = 0,
                    _ => return result,
                }
            },
            |to, frame| sent(local, to, frame),
            lost,
        );
    }
}

/// The address that our end of a socket shows to a peer: for the capture, since a socket bound to "any" does not say.
#[derive(Debug)]
pub(crate) struct LocalAddress {
    bound: SocketAddr,
    /// What the routing table says, for the last peers.
    known: VecDeque<(IpAddr, IpAddr)>,
}

/// Peers for which a [`LocalAddress`] remembers the answer.
const KNOWN_MAX: usize = 32;

impl LocalAddress {
    pub(crate) fn new(bound: SocketAddr) -> Self {
        Self { bound, known: VecDeque::new() }
    }

    /// As it was bound.
    pub(crate) const fn bound(&self) -> SocketAddr {
        self.bound
    }

    /// Our address as `peer` sees it. A peer that is not known costs a few system calls, once.
    pub(crate) fn towards(&mut self, peer: SocketAddr) -> SocketAddr {
        if !self.bound.ip().is_unspecified() {
            return self.bound;
        }
        let known = self.known.iter().find(|(known, _)| *known == peer.ip()).map(|(_, ours)| *ours);
        let ours = known.unwrap_or_else(|| {
            let any = SocketAddr::new(self.bound.ip(), 0);
            let route = UdpSocket::bind(any).and_then(|socket| {
                socket.connect(peer)?;
                socket.local_addr()
            });
            let ours = route.map_or(self.bound.ip(), |address| address.ip());
            self.known.truncate(KNOWN_MAX - 1);
            self.known.push_front((peer.ip(), ours));
            ours
        });
        SocketAddr::new(ours, self.bound.port())
    }
}

/// What waits to be sent through one socket.
#[derive(Debug)]
pub(crate) struct SendQueue {
    waiting: VecDeque<(SocketAddr, Frame)>,
    /// So many of the first are not patient, and go before those that are ([`Frame::is_patient`]).
    urgent: usize,
    max: usize,
    /// The kernel took nothing at the last try; it will say when it does again.
    pub(crate) blocked: bool,
}

/// How often in a row a first datagram may be tried again after an error that an earlier one caused.
const RETRIES: u8 = 3;

/// What to do about an error of `sendmmsg`, which is that of the first datagram.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// Try again at once.
    Retry,
    /// Wait until the socket is writable.
    Wait,
    /// Leave this datagram out.
    Skip(Drop),
}

fn refusal(error: &io::Error, tries: u8) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Refusal::Wait,
        Some(libc::EINTR) => Refusal::Retry,
        // An ICMP message about a datagram sent before: reported once, then the socket works again.
        Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH) if tries < RETRIES => {
            Refusal::Retry
        }
        Some(libc::EMSGSIZE) => Refusal::Skip(Drop::RtSendTooLong),
        _ => Refusal::Skip(Drop::RtSendFailed),
    }
}

impl SendQueue {
    pub(crate) fn new(max: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(max.min(4096)), urgent: 0, max: max.max(1), blocked: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= self.max
    }

    /// True where so much waits that a few more batches would be too many.
    pub(crate) fn is_half_full(&self) -> bool {
        self.waiting.len() * 2 >= self.max
    }

    /// Puts a datagram at the end, or before the first that is patient where it is not, unless the queue is full.
    pub(crate) fn push(&mut self, to: SocketAddr, frame: Frame) -> Result<(), Drop> {
        if self.is_full() {
            return Err(Drop::RtSendQueueFull);
        }
        if frame.is_patient() {
            self.waiting.push_back((to, frame));
        } else {
            self.waiting.insert(self.urgent, (to, frame));
            self.urgent += 1;
        }
        Ok(())
    }

    /// The first datagram.
    pub(crate) fn front(&self) -> Option<&(SocketAddr, Frame)> {
        self.waiting.front()
    }

    /// All, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(SocketAddr, Frame)> {
        self.waiting.iter()
    }

    /// Takes the first datagram.
    pub(crate) fn pop(&mut self) -> Option<(SocketAddr, Frame)> {
        self.urgent = self.urgent.saturating_sub(1);
        self.waiting.pop_front()
    }

    /// Puts a datagram back in front, from where it was taken.
    pub(crate) fn push_front(&mut self, to: SocketAddr, frame: Frame) {
        self.urgent += usize::from(!frame.is_patient());
        self.waiting.push_front((to, frame));
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Sends the first `limit` datagrams, or as many as the socket takes. `send` sends from the front, at most as many
    /// as it is told, and says how many went; `sent` and `lost` hear about each datagram.
    pub(crate) fn flush(
        &mut self,
        mut limit: usize,
        mut send: impl FnMut(&VecDeque<(SocketAddr, Frame)>, usize) -> io::Result<usize>,
        mut sent: impl FnMut(SocketAddr, &Frame),
        mut lost: impl FnMut(Drop, SocketAddr, &io::Error),
    ) {
        let mut tries = 0;
        while limit > 0 && !self.waiting.is_empty() && !self.blocked {
            match send(&self.waiting, limit) {
                Ok(count) => {
                    tries = 0;
                    limit -= count.min(limit);
                    self.urgent = self.urgent.saturating_sub(count);
                    for (to, frame) in self.waiting.drain(..count.min(self.waiting.len())) {
                        sent(to, &frame);
                    }
                    // Nothing sent and no error does not happen; if it did, waiting is safe and spinning is not.
                    self.blocked = count == 0;
                }
                Err(error) => match refusal(&error, tries) {
                    Refusal::Retry => tries += 1,
                    Refusal::Wait => self.blocked = true,
                    Refusal::Skip(drop) => {
                        tries = 0;
                        limit -= 1;
                        if let Some((to, _)) = self.pop() {
                            lost(drop, to, &error);
                        }
                    }
                },
            }
        }
    }
}

/// What a try to receive gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many datagrams; there may be more.
    Some(usize),
    /// Nothing is there now.
    Nothing,
}

/// Receives one batch into `frames`.
pub(crate) fn receive(socket: &UdpSocket, messages: &mut Messages, frames: &mut [Frame]) -> Received {
    retried(|| messages.receive(socket.as_fd(), frames))
}

/// Receives one batch by a call that says how much came.
pub(crate) fn retried(mut receive: impl FnMut() -> io::Result<usize>) -> Received {
    // As for sending: what an ICMP message says about an earlier datagram is reported once.
    for _ in 0..=RETRIES {
        match receive() {
            Ok(0) => return Received::Nothing,
            Ok(count) => return Received::Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Nothing,
            Err(_) => {}
        }
    }
    // So many errors in a row: give the others their turn. The batch counts as one of nothing, and is tried again.
    Received::Some(0)
}

/// Takes a batch of datagrams off a socket without keeping them, for a node that has no frame left; returns how many.
pub(crate) fn discard(socket: &UdpSocket) -> Received {
    let mut count = 0;
    while count < BATCH {
        match socket.recv_from(&mut [0; 1]) {
            Ok(_) => count += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(_) => return Received::Some(count),
        }
    }
    if count == 0 { Received::Nothing } else { Received::Some(count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::frame::FramePool;

    fn queue(count: u8, max: usize) -> SendQueue {
        let pool = FramePool::new(16);
        let mut queue = SendQueue::new(max);
        for octet in 0..count {
            queue.push("192.0.2.1:9".parse().unwrap(), pool.copy_of(&[octet]).unwrap()).unwrap();
        }
        queue
    }

    /// Flushes with a socket that answers as told, and returns what was sent and what was lost.
    fn flush(queue: &mut SendQueue, answers: &[Result<usize, i32>]) -> (Vec<u8>, Vec<Drop>) {
        let (mut sent, mut lost) = (Vec::new(), Vec::new());
        let mut answers = answers.iter();
        queue.flush(
            usize::MAX,
            |_, _| match answers.next().expect("no more calls") {
                Ok(count) => Ok(*count),
                Err(errno) => Err(io::Error::from_raw_os_error(*errno)),
            },
            |_, frame| sent.push(frame[0]),
            |drop, _, _| lost.push(drop),
        );
        assert_eq!(answers.next(), None, "all answers used");
        (sent, lost)
    }

    #[test]
    fn a_socket_bound_to_any_has_an_address_for_each_peer() {
        let mut any = LocalAddress::new("0.0.0.0:2123".parse().unwrap());
        assert_eq!(any.towards("127.0.0.5:99".parse().unwrap()), "127.0.0.1:2123".parse().unwrap());
        for host in 1..100 {
            assert!(any.towards(SocketAddr::from(([127, 0, 0, host], 99))).ip().is_loopback());
        }
        assert_eq!(any.known.len(), KNOWN_MAX);
        let one = "127.0.0.7:1".parse().unwrap();
        assert_eq!(LocalAddress::new(one).towards("127.0.0.5:99".parse().unwrap()), one);
    }

    #[test]
    fn partial_sends_go_on_where_they_stopped() {
        let mut queue = queue(5, 8);
        assert_eq!(flush(&mut queue, &[Ok(2), Ok(1), Ok(2)]), (vec![0, 1, 2, 3, 4], vec![]));
        assert!(queue.is_empty() && !queue.blocked);
    }

    #[test]
    fn a_full_socket_keeps_the_order_and_a_full_queue_is_a_named_drop() {
        let mut queue = queue(3, 3);
        assert_eq!(flush(&mut queue, &[Ok(1), Err(libc::EAGAIN)]), (vec![0], vec![]));
        assert!(queue.blocked);
        assert_eq!(flush(&mut queue, &[]), (vec![], vec![]));
        let pool = FramePool::new(2);
        let to = "192.0.2.1:9".parse().unwrap();
        assert_eq!(queue.push(to, pool.copy_of(&[3]).unwrap()), Ok(()));
        assert_eq!(queue.push(to, pool.copy_of(&[4]).unwrap()), Err(Drop::RtSendQueueFull));
        queue.blocked = false;
        assert_eq!(flush(&mut queue, &[Ok(3)]), (vec![1, 2, 3], vec![]));
    }

    #[test]
    fn what_is_patient_lets_the_others_go_first() {
        let (mut queue, pool) = (queue(2, 9), FramePool::new(9));
        let to = "192.0.2.1:9".parse().unwrap();
        for (octet, is_patient) in [(10, true), (2, false), (11, true), (3, false)] {
            let mut frame = pool.copy_of(&[octet]).unwrap();
            frame.set_patient(is_patient);
            queue.push(to, frame).unwrap();
        }
        let (to, frame) = queue.pop().unwrap();
        queue.push_front(to, frame);
        assert_eq!(flush(&mut queue, &[Ok(3), Err(libc::EAGAIN)]), (vec![0, 1, 2], vec![]));
        queue.push(to, pool.copy_of(&[4]).unwrap()).unwrap();
        queue.blocked = false;
        let answers = [Ok(2), Err(libc::EMSGSIZE), Ok(1)];
        assert_eq!(flush(&mut queue, &answers), (vec![3, 4, 11], vec![Drop::RtSendTooLong]));
        queue.push(to, pool.copy_of(&[5]).unwrap()).unwrap();
        assert_eq!(queue.pop().map(|(_, frame)| frame[0]), Some(5));
    }

    #[test]
    fn errors_concern_one_datagram_at_the_most() {
        let mut queue = queue(3, 3);
        let answers =
            [Err(libc::ECONNREFUSED), Ok(1), Err(libc::EMSGSIZE), Err(libc::EINTR), Err(libc::EACCES)];
        assert_eq!(flush(&mut queue, &answers), (vec![0], vec![Drop::RtSendTooLong, Drop::RtSendFailed]));
        assert!(queue.is_empty() && !queue.blocked);
    }

    #[test]
    fn refusals_in_a_row_end() {
        let refused = Err(libc::ECONNREFUSED);
        assert_eq!(
            flush(&mut queue(1, 1), &[refused, refused, refused, refused]),
            (vec![], vec![Drop::RtSendFailed])
        );
    }
}
