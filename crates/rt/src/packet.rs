//! Packet sockets (`packet(7)`): what arrives at a device beside the kernel's own protocols, and what leaves there past its queue.
#![expect(unsafe_code, reason = "arrays of pointers for system calls that no safe crate offers")]

use crate::sys::{self, check, family, socklen};
use core::ffi::{c_int, c_void};
use core::{mem, ptr};
use gannet_machine::EthernetAddress;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Frames received, or sent, by one system call.
pub const PACKET_BATCH: usize = 64;

/// EtherType of IPv4 (IEEE 802.3 clause 3.2.6).
pub const ETHER_TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHER_TYPE_IPV6: u16 = 0x86dd;

// `linux/if_packet.h` and `linux/if_ether.h`.
const ETH_P_ALL: u16 = 3;
const PACKET_ADD_MEMBERSHIP: c_int = 1;
const PACKET_MR_PROMISC: u16 = 1;
const PACKET_STATISTICS: c_int = 6;
const PACKET_AUXDATA: c_int = 8;
const PACKET_QDISC_BYPASS: c_int = 20;
const PACKET_IGNORE_OUTGOING: c_int = 23;
const PACKET_HOST: u8 = 0;
const PACKET_BROADCAST: u8 = 1;
const PACKET_MULTICAST: u8 = 2;
const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
/// Octets for what waits in the kernel before it is received.
const BUFFER_OCTETS: usize = 4 << 20;
/// Octets that the kernel counts for what a socket of one EtherType has sent and the device has not: some 20 long frames.
const SHORT_OCTETS: c_int = 1 << 15;

/// Of what a socket's frames consist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketLayer {
    /// Ethernet frames with their header, also those for other stations.
    Frames,
    /// What is behind the Ethernet header.
    Packets,
    /// The same of one EtherType alone. What is sent waits in the device's queue, and the socket takes no more than its buffer
    /// holds: short, so that little waits behind what comes later.
    Protocol(u16),
}

impl PacketLayer {
    /// The EtherType of what is received.
    const fn ether_type(self) -> u16 {
        match self {
            Self::Frames | Self::Packets => ETH_P_ALL,
            Self::Protocol(ether_type) => ether_type,
        }
    }
}

/// A socket on one device. It stays on that device: one of the same name that comes later needs another.
pub struct PacketSocket {
    socket: Socket,
    index: u32,
    arrays: Box<Arrays>,
}

/// What is known of a received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketArrival {
    /// The station that sent it.
    pub from: EthernetAddress,
    /// Its EtherType.
    pub ether_type: u16,
    /// It was sent to this device's own address.
    pub is_for_us: bool,
    /// It was sent to several stations.
    pub is_for_several: bool,
    /// When the kernel received it, in nanoseconds since 1970; 0 where it did not say.
    pub stamp_ns: u64,
    /// Its octets.
    pub len: usize,
    /// It had more octets than the frame has room.
    pub cut: bool,
    /// It had a VLAN tag, which the kernel has taken off.
    pub tagged: bool,
    /// The checksum of TCP or UDP is that of the pseudo-header alone: the sender's kernel left the rest to a device.
    pub unfinished_checksum: bool,
}

/// Where an outgoing packet of [`PacketLayer::Packets`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketTarget {
    /// The station.
    pub to: EthernetAddress,
    /// The EtherType.
    pub ether_type: u16,
}

/// Room for a time stamp and for `tpacket_auxdata`, aligned as the kernel wants it.
type Control = [u64; 16];

struct Arrays {
    names: [libc::sockaddr_ll; PACKET_BATCH],
    vectors: [libc::iovec; PACKET_BATCH],
    controls: [Control; PACKET_BATCH],
    headers: [libc::mmsghdr; PACKET_BATCH],
}

#[repr(C)]
struct Membership {
    index: c_int,
    kind: u16,
    address_len: u16,
    address: [u8; 8],
}

impl PacketSocket {
    /// On the device `name`.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where there is no such device.
    pub fn open(name: &str, layer: PacketLayer) -> io::Result<Self> {
        let c_name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let index =
            sys::interface_index(&c_name).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        let kind = match layer {
            PacketLayer::Frames => Type::RAW,
            PacketLayer::Packets | PacketLayer::Protocol(_) => Type::DGRAM,
        };
        // Nothing is received before it is bound to the device.
        let socket = Socket::new(Domain::PACKET, kind.nonblocking().cloexec(), None)?;
        let set = |level, option| sys::set_socket_option(&socket, level, option, 1);
        set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING)?;
        set(libc::SOL_PACKET, PACKET_AUXDATA)?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)?;
        grow_buffers(&socket);
        if matches!(layer, PacketLayer::Protocol(_)) {
            sys::set_socket_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SHORT_OCTETS)?;
        } else {
            set(libc::SOL_PACKET, PACKET_QDISC_BYPASS)?;
        }
        if layer == PacketLayer::Frames {
            listen_to_all(&socket, index)?;
        }
        socket.bind(&address(index, layer.ether_type(), None))?;
        // SAFETY: all are plain C structures (integers and pointers) for which all bits zero is a valid value.
        let arrays = unsafe { Box::new(mem::zeroed()) };
        Ok(Self { socket, index, arrays })
    }

    /// The number of its device.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Frames that the kernel has dropped in front of this socket since the last call, as nobody received them in time.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn dropped_before(&self) -> io::Result<u32> {
        // `tpacket_stats`: frames, and those that were dropped.
        let mut counts = [0_u32; 2];
        let mut len = socklen(mem::size_of_val(&counts));
        let (fd, level) = (self.socket.as_raw_fd(), libc::SOL_PACKET);
        let room: *mut c_void = counts.as_mut_ptr().cast();
        // SAFETY: writes at most the two integers, whose size is given.
        check(unsafe { libc::getsockopt(fd, level, PACKET_STATISTICS, room, &raw mut len) })?;
        Ok(counts[1])
    }

    /// Receives up to one frame for each of `frames`, into their free space, and says how many came; 0 where there is none.
    /// [`PacketSocket::arrived`] tells about each. The frames' lengths are left to the caller.
    ///
    /// # Errors
    /// What the kernel says of the device: that it is down, or gone.
    pub fn receive(&mut self, frames: &mut [Frame]) -> io::Result<usize> {
        let arrays = &mut *self.arrays;
        let all = arrays.vectors.iter_mut().zip(&mut arrays.names).zip(&mut arrays.controls);
        let mut count = 0;
        for ((((vector, name), control), header), frame) in all.zip(&mut arrays.headers).zip(frames) {
            let room = frame.spare_mut();
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            let message = &mut header.msg_hdr;
            message.msg_name = ptr::from_mut(name).cast();
            message.msg_namelen = socklen(mem::size_of::<libc::sockaddr_ll>());
            (message.msg_iov, message.msg_iovlen) = (vector, 1);
            message.msg_control = ptr::from_mut(control).cast();
            message.msg_controllen = mem::size_of::<Control>();
            (message.msg_flags, header.msg_len) = (0, 0);
            count += 1;
        }
        let (fd, headers) = (self.socket.as_raw_fd(), arrays.headers.as_mut_ptr());
        // SAFETY: the first `count` headers were just set up; each points at one name, one vector, its ancillary data and,
        // through the vector, the free space of one frame, all of which are borrowed until this function returns.
        let result =
            check(unsafe { libc::recvmmsg(fd, headers, count, libc::MSG_DONTWAIT, ptr::null_mut()) });
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }

    /// Takes up to one batch of frames out of the kernel without looking at them, and says how many there were.
    pub fn discard(&self) -> usize {
        let take = || {
            let fd = self.socket.as_raw_fd();
            // SAFETY: receives no octets: a system call without any memory of ours.
            unsafe { libc::recv(fd, ptr::null_mut(), 0, libc::MSG_DONTWAIT | libc::MSG_TRUNC) }
        };
        (0..PACKET_BATCH).take_while(|_| take() >= 0).count()
    }

    /// What is known about frame `index` of the last [`PacketSocket::receive`].
    #[must_use]
    pub fn arrived(&self, index: usize) -> Option<PacketArrival> {
        let (name, header) = (self.arrays.names.get(index)?, self.arrays.headers.get(index)?);
        let [a, b, c, d, e, f, ..] = name.sll_addr;
        let (mut stamp_ns, mut status) = (0, 0);
        for (level, kind, octets) in ancillary(&header.msg_hdr, self.arrays.controls.get(index)?) {
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => stamp_ns = stamp_of(&octets),
                (libc::SOL_PACKET, PACKET_AUXDATA) => status = u32::from_ne_bytes(first(&octets)),
                _ => {}
            }
        }
        Some(PacketArrival {
            from: EthernetAddress([a, b, c, d, e, f]),
            ether_type: u16::from_be(name.sll_protocol),
            is_for_us: name.sll_pkttype == PACKET_HOST,
            is_for_several: matches!(name.sll_pkttype, PACKET_BROADCAST | PACKET_MULTICAST),
            stamp_ns,
            len: usize::try_from(header.msg_len).ok()?,
            cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            tagged: status & TP_STATUS_VLAN_VALID != 0,
            unfinished_checksum: status & TP_STATUS_CSUMNOTREADY != 0,
        })
    }

    /// Sends frames in order, each to its target, which [`PacketLayer::Frames`] do not need. Says how many went.
    ///
    /// # Errors
    /// Why the first did not go; none went then.
    pub fn send<'a>(
        &mut self,
        frames: impl Iterator<Item = (&'a [u8], Option<PacketTarget>)>,
    ) -> io::Result<usize> {
        let arrays = &mut *self.arrays;
        let mut count = 0;
        let all = arrays.vectors.iter_mut().zip(&mut arrays.names).zip(&mut arrays.headers);
        for (((vector, name), header), (octets, target)) in all.zip(frames) {
            *vector = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
            let message = &mut header.msg_hdr;
            (message.msg_name, message.msg_namelen) = (ptr::null_mut(), 0);
            if let Some(PacketTarget { to, ether_type }) = target {
                *name = raw_address(self.index, ether_type, Some(to));
                message.msg_name = ptr::from_mut(name).cast();
                message.msg_namelen = socklen(mem::size_of::<libc::sockaddr_ll>());
            }
            (message.msg_iov, message.msg_iovlen) = (vector, 1);
            (message.msg_control, message.msg_controllen) = (ptr::null_mut(), 0);
            (message.msg_flags, header.msg_len) = (0, 0);
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        let (fd, headers) = (self.socket.as_raw_fd(), arrays.headers.as_mut_ptr());
        // SAFETY: the first `count` headers were just set up; each points at one vector, perhaps one name, and through the
        // vector at octets that are borrowed until this function returns. `sendmmsg` only reads the octets, so that the
        // pointers' loss of `const` does no harm.
        check(unsafe { libc::sendmmsg(fd, headers, count, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl core::fmt::Debug for PacketSocket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PacketSocket").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Sleeps until one of the sockets has something, a signal comes, or `timeout` is over, which is exact to the thread's slack
/// (`PR_SET_TIMERSLACK`).
///
/// # Errors
/// What the operating system says.
pub fn wait_for_packets(sockets: [&PacketSocket; 2], timeout: Duration) -> io::Result<()> {
    let mut of =
        sockets.map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.0 / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(timeout.0 % 1_000_000_000).unwrap_or(0),
    };
    let count = of.len() as libc::nfds_t;
    // SAFETY: reads and writes the array, whose length is given, and reads the timeout; no signal mask is given.
    match check(unsafe { libc::ppoll(of.as_mut_ptr(), count, &raw const timeout, ptr::null()) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// As large as this process may make them: with less, more is lost while it does not run.
fn grow_buffers(socket: &Socket) {
    let octets = c_int::try_from(BUFFER_OCTETS).unwrap_or(c_int::MAX);
    for (forced, permitted) in
        [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        if sys::set_socket_option(socket, libc::SOL_SOCKET, forced, octets).is_err() {
            let _ = sys::set_socket_option(socket, libc::SOL_SOCKET, permitted, octets);
        }
    }
}

/// Has the device receive what is for other stations, as long as the socket is there.
fn listen_to_all(socket: &Socket, index: u32) -> io::Result<()> {
    let index = c_int::try_from(index).map_err(io::Error::other)?;
    let request = Membership { index, kind: PACKET_MR_PROMISC, address_len: 0, address: [0; 8] };
    let (level, len) = (libc::SOL_PACKET, socklen(mem::size_of::<Membership>()));
    let value: *const c_void = (&raw const request).cast();
    // SAFETY: reads one `packet_mreq`, whose layout `Membership` has.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, PACKET_ADD_MEMBERSHIP, value, len) }).map(drop)
}

fn raw_address(index: u32, ether_type: u16, to: Option<EthernetAddress>) -> libc::sockaddr_ll {
    let mut octets = [0; 8];
    for (octet, of) in octets.iter_mut().zip(to.iter().flat_map(|to| to.0)) {
        *octet = of;
    }
    libc::sockaddr_ll {
        sll_family: family(libc::AF_PACKET),
        sll_protocol: ether_type.to_be(),
        sll_ifindex: c_int::try_from(index).unwrap_or(0),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: octets,
    }
}

fn address(index: u32, ether_type: u16, to: Option<EthernetAddress>) -> SockAddr {
    let raw = raw_address(index, ether_type, to);
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage has room and alignment for every socket address.
    unsafe { *storage.view_as::<libc::sockaddr_ll>() = raw };
    // SAFETY: the storage holds an address of this length.
    unsafe { SockAddr::new(storage, socklen(mem::size_of::<libc::sockaddr_ll>())) }
}

/// The first of some octets, and 0 for what is missing.
fn first<const N: usize>(octets: &[u8]) -> [u8; N] {
    octets.first_chunk().copied().unwrap_or([0; N])
}

/// A `timespec` in nanoseconds.
fn stamp_of(octets: &[u8]) -> u64 {
    let seconds = u64::from_ne_bytes(first(octets));
    let ns = u64::from_ne_bytes(first(octets.get(8..).unwrap_or_default()));
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

/// Level, type and content, up to 16 octets of it, of each control message.
fn ancillary(message: &libc::msghdr, control: &Control) -> impl Iterator<Item = (c_int, c_int, [u8; 16])> {
    let words = control.get(..message.msg_controllen.div_ceil(8)).unwrap_or(control);
    let mut at = 0;
    core::iter::from_fn(move || {
        let len = usize::try_from(*words.get(at)?).ok().filter(|len| *len >= 16)?;
        let [level, kind] = halves(*words.get(at + 1)?);
        let mut content = [0; 16];
        for (to, word) in content.chunks_exact_mut(8).zip(words.get(at + 2..)?) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        at += len.div_ceil(8);
        Some((level, kind, content))
    })
}

/// The two integers that stand in a word, in the order of their addresses.
fn halves(word: u64) -> [c_int; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [c_int::from_ne_bytes([a, b, c, d]), c_int::from_ne_bytes([e, f, g, h])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_are_read_one_after_the_other() {
        let mut control: Control = [0; 16];
        let pair = |level: c_int, kind: c_int| {
            let [a, b, c, d] = level.to_ne_bytes();
            let [e, f, g, h] = kind.to_ne_bytes();
            u64::from_ne_bytes([a, b, c, d, e, f, g, h])
        };
        control[..4].copy_from_slice(&[32, pair(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS), 7, 9]);
        control[4..7].copy_from_slice(&[36, pair(libc::SOL_PACKET, PACKET_AUXDATA), 24]);
        // SAFETY: a plain C structure for which all bits zero is a valid value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_controllen = 72;
        let read: Vec<_> = ancillary(&message, &control).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(stamp_of(&read[0].2), 7_000_000_009);
        assert_eq!((read[1].0, read[1].1), (libc::SOL_PACKET, PACKET_AUXDATA));
        assert_eq!(u32::from_ne_bytes(first(&read[1].2)), TP_STATUS_CSUMNOTREADY | TP_STATUS_VLAN_VALID);
        message.msg_controllen = 0;
        assert_eq!(ancillary(&message, &control).count(), 0);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = PacketSocket::open("no-such-device", PacketLayer::Frames).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert!(PacketSocket::open("a\0b", PacketLayer::Frames).is_err());
    }
}
