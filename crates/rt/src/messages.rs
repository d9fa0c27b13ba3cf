//! Batches of datagrams: `recvmmsg` straight into frames, and `sendmmsg` in which a run of datagrams of one size for one
//! peer is one message that the kernel cuts into segments (`UDP_SEGMENT`), which costs it little more than one datagram.
#![expect(unsafe_code, reason = "arrays of pointers for system calls that no safe crate offers")]

use crate::sys::{check, family, sockaddr_in, socklen};
use core::ffi::c_int;
use core::mem;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use gannet_machine::frame::Frame;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams received, and messages sent, by one system call.
pub(crate) const BATCH: usize = 64;
/// Datagrams sent by one system call.
const DATAGRAMS: usize = 256;
/// Segments of one message (`UDP_MAX_SEGMENTS` of older kernels).
const SEGMENTS_MAX: usize = 64;
/// Octets of one message; its IP packet must stay below 65536.
const MESSAGE_MAX: usize = 65_000;
/// A run of fewer is not worth being cut apart again.
const RUN_MIN: usize = 4;

/// One piece of ancillary data: a number, with the padding that the kernel wants behind it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    octets: [u8; 8],
}

/// Pieces of a message: into which segments it is cut, and its code point.
const CONTROLS: usize = 2;

/// The arrays that `recvmmsg` and `sendmmsg` work upon, allocated once.
pub struct Messages {
    names: Box<[libc::sockaddr_storage; BATCH]>,
    vectors: Box<[libc::iovec; DATAGRAMS]>,
    controls: Box<[[Control; CONTROLS]; BATCH]>,
    headers: Box<[libc::mmsghdr; BATCH]>,
    /// Datagrams in each message of the last try to send.
    runs: [usize; BATCH],
}

/// One datagram of a received batch.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Its sender; `None` where the family is neither IPv4 nor IPv6.
    pub from: Option<SocketAddr>,
    /// Octets that were written into its frame.
    pub len: usize,
    /// True where the frame had no room for all of it.
    pub cut: bool,
}

impl Control {
    /// A number of at most eight octets for an option of a level.
    fn new((level, kind): (c_int, c_int), number: &[u8]) -> Self {
        let mut octets = [0; 8];
        octets.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
        let len = mem::size_of::<libc::cmsghdr>() + number.len();
        Self { header: libc::cmsghdr { cmsg_len: len, cmsg_level: level, cmsg_type: kind }, octets }
    }

    /// The code point of datagrams to such an address (RFC 3542 clause 6.5); `None` where the socket's counts.
    fn of_dscp(to: SocketAddr, dscp: u8) -> Option<Self> {
        let option = match to {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        (dscp != 0).then(|| Self::new(option, &(c_int::from(dscp) << 2).to_ne_bytes()))
    }
}

/// How many of the first datagrams make one message: a run to one peer with one code point, all of one size but for a shorter last one.
/// Datagrams longer than `bundle_max` octets are never bundled.
pub(crate) fn run_of<T: PartialEq>(
    mut datagrams: impl Iterator<Item = (T, usize)>,
    bundle_max: usize,
) -> usize {
    let Some((to, size)) = datagrams.next() else { return 0 };
    if size == 0 || size > bundle_max {
        return 1;
    }
    let (mut count, mut octets) = (1, size);
    for (other, len) in datagrams {
        octets += len;
        if other != to || len > size || len == 0 || octets > MESSAGE_MAX || count == SEGMENTS_MAX {
            break;
        }
        count += 1;
        if len < size {
            break;
        }
    }
    if count < RUN_MIN { 1 } else { count }
}

impl core::fmt::Debug for Messages {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Messages").finish_non_exhaustive()
    }
}

impl Default for Messages {
    fn default() -> Self {
        // SAFETY: all are plain C structures (integers and pointers) for which all bits zero is a valid value.
        unsafe {
            Self {
                names: Box::new(mem::zeroed()),
                vectors: Box::new(mem::zeroed()),
                controls: Box::new(mem::zeroed()),
                headers: Box::new(mem::zeroed()),
                runs: [0; BATCH],
            }
        }
    }
}

impl Messages {
    /// Points header `index` at `count` vectors from `first` on, and at the name of the same index, of `name_len` octets.
    fn point(&mut self, index: usize, first: usize, count: usize, name_len: usize) {
        let (Some(name), Some(vectors), Some(header)) = (
            self.names.get_mut(index),
            self.vectors.get_mut(first..first + count),
            self.headers.get_mut(index),
        ) else {
            return;
        };
        header.msg_len = 0;
        header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
        header.msg_hdr.msg_namelen = socklen(name_len);
        header.msg_hdr.msg_iov = vectors.as_mut_ptr();
        header.msg_hdr.msg_iovlen = count;
        header.msg_hdr.msg_control = std::ptr::null_mut();
        header.msg_hdr.msg_controllen = 0;
        header.msg_hdr.msg_flags = 0;
    }

    /// Says into segments of how many octets message `index` is to be cut, where it is, and with which code point it is sent,
    /// where not with the socket's.
    fn control(&mut self, index: usize, segment: Option<usize>, traffic: Option<Control>) {
        let (Some(controls), Some(header)) = (self.controls.get_mut(index), self.headers.get_mut(index))
        else {
            return;
        };
        let segment = segment.map(|octets| {
            let octets = u16::try_from(octets).unwrap_or(u16::MAX);
            Control::new((libc::SOL_UDP, libc::UDP_SEGMENT), &octets.to_ne_bytes())
        });
        let mut count = 0;
        for (place, control) in controls.iter_mut().zip(segment.into_iter().chain(traffic)) {
            *place = control;
            count += 1;
        }
        if count > 0 {
            header.msg_hdr.msg_control = controls.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = count * mem::size_of::<Control>();
        }
    }

    fn set_vector(&mut self, index: usize, octets: *mut u8, len: usize) {
        if let Some(vector) = self.vectors.get_mut(index) {
            *vector = libc::iovec { iov_base: octets.cast(), iov_len: len };
        }
    }

    /// Receives up to one datagram for each of `frames`, straight into their free space, and says how many came;
    /// [`Messages::arrived`] tells about each. The frames' lengths are left to the caller.
    ///
    /// # Errors
    /// That of `recvmmsg`; `WouldBlock` where there is nothing.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, frames: &mut [Frame]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        for (index, frame) in frames.iter_mut().take(count).enumerate() {
            let room = frame.spare_mut();
            self.set_vector(index, room.as_mut_ptr(), room.len());
            self.point(index, index, 1, mem::size_of::<libc::sockaddr_storage>());
        }
        // SAFETY: the first `count` headers were just set up; each points at one vector, one name and the free space
        // of one frame, all of which are borrowed until this function returns, and none of which is shared.
        check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                u32::try_from(count).unwrap_or(0),
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        })
    }

    /// What is known about datagram `index` of the last [`Messages::receive`].
    #[must_use]
    pub fn arrived(&self, index: usize) -> Option<Arrived> {
        let (name, header) = (self.names.get(index)?, self.headers.get(index)?);
        Some(Arrived {
            from: read_name(name),
            len: usize::try_from(header.msg_len).ok()?,
            cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        })
    }

    /// Sends from the first `limit` datagrams of `queue`, in order, and says how many went. Runs of datagrams of up to
    /// `bundle_max` octets are bundled.
    ///
    /// # Errors
    /// That of the first message, of [`Messages::first_run`] datagrams; none went then.
    pub fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        queue: &VecDeque<(SocketAddr, Frame)>,
        limit: usize,
        bundle_max: usize,
    ) -> io::Result<usize> {
        let limit = queue.len().min(limit).min(DATAGRAMS);
        let (mut messages, mut datagrams) = (0, 0);
        while messages < BATCH && datagrams < limit {
            let run = queue.range(datagrams..limit);
            let alike = run.clone().map(|(to, frame)| ((*to, frame.dscp()), frame.len()));
            let count = run_of(alike, bundle_max);
            let mut first = None;
            for (position, (to, frame)) in run.take(count).enumerate() {
                first.get_or_insert((*to, frame.len(), frame.dscp()));
                self.set_vector(datagrams + position, frame.as_ptr().cast_mut(), frame.len());
            }
            let Some((to, size, dscp)) = first else { break };
            let name_len = self.names.get_mut(messages).map_or(0, |name| write_name(name, to));
            self.point(messages, datagrams, count, name_len);
            self.control(messages, (count > 1).then_some(size), Control::of_dscp(to, dscp));
            if let Some(run) = self.runs.get_mut(messages) {
                *run = count;
            }
            datagrams += count;
            messages += 1;
        }
        // SAFETY: the first `messages` headers were just set up; each points at its vectors, one name, perhaps its
        // ancillary data, and through the vectors at the octets of frames, all of which are borrowed until this function
        // returns. `sendmmsg` only reads the octets, so that the pointers' loss of `const` does no harm.
        let sent = check(unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                u32::try_from(messages).unwrap_or(0),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        })?;
        Ok(self.runs.iter().take(sent).sum())
    }

    /// Datagrams of the first message of the last try to send.
    #[must_use]
    pub const fn first_run(&self) -> usize {
        self.runs[0]
    }
}

fn write_name(name: &mut libc::sockaddr_storage, address: SocketAddr) -> usize {
    let name: *mut libc::sockaddr_storage = name;
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: a sockaddr_storage is large enough and well enough aligned for every socket address.
            unsafe { name.cast::<libc::sockaddr_in>().write(sockaddr_in(*v4.ip(), v4.port())) };
            mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { name.cast::<libc::sockaddr_in6>().write(raw) };
            mem::size_of::<libc::sockaddr_in6>()
        }
    }
}

pub(crate) fn read_name(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer: *const libc::sockaddr_storage = name;
    match c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure the kernel wrote, and all bits are valid in its fields.
            let raw = unsafe { pointer.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(raw.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { pointer.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            let port = u16::from_be(raw.sin6_port);
            Some(SocketAddrV6::new(ip, port, raw.sin6_flowinfo, raw.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::set_socket_option;
    use gannet_machine::frame::FramePool;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    /// The traffic class octets of the datagrams that a socket gets, and their lengths.
    fn traffic_classes(receiver: &UdpSocket, count: usize) -> Vec<(c_int, usize)> {
        let mut heard = Vec::new();
        for _ in 0..count {
            let (mut octets, mut control) = ([0_u8; 100], [0_u64; 16]);
            let mut vector = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
            // SAFETY: a plain C structure for which all bits zero is a valid value.
            let mut header: libc::msghdr = unsafe { mem::zeroed() };
            (header.msg_iov, header.msg_iovlen) = (&raw mut vector, 1);
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = mem::size_of_val(&control);
            // SAFETY: the header points at one vector and one control, which live until the call returns.
            let len = unsafe { libc::recvmsg(receiver.as_raw_fd(), &raw mut header, 0) };
            let len = usize::try_from(len).unwrap();
            // SAFETY: the kernel has written the control; IP_TOS is an octet, IPV6_TCLASS an integer.
            let class = unsafe {
                let first = libc::CMSG_FIRSTHDR(&raw const header);
                let data = libc::CMSG_DATA(first);
                match ((*first).cmsg_level, (*first).cmsg_type) {
                    (libc::IPPROTO_IP, libc::IP_TOS) => c_int::from(*data),
                    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => data.cast::<c_int>().read_unaligned(),
                    (level, kind) => panic!("ancillary data {kind} of level {level}"),
                }
            };
            heard.push((class, len));
        }
        heard
    }

    /// Runs of one code point are cut apart where they leave, and each datagram arrives with its own.
    #[test]
    fn datagrams_have_their_code_points_on_the_wire() {
        let pool = FramePool::new(32);
        for (bind, option) in [
            ("127.0.0.1:0", (libc::IPPROTO_IP, libc::IP_RECVTOS)),
            ("[::1]:0", (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)),
        ] {
            let (Ok(receiver), Ok(sender)) = (UdpSocket::bind(bind), UdpSocket::bind(bind)) else {
                println!("SKIPPED: no {bind}");
                continue;
            };
            set_socket_option(&receiver, option.0, option.1, 1).unwrap();
            let to = receiver.local_addr().unwrap();
            let wanted: Vec<(u8, usize)> =
                [&[(46, 50); 5][..], &[(10, 50); 6], &[(0, 50); 4], &[(10, 50), (46, 7), (0, 9)]].concat();
            let queue: VecDeque<(SocketAddr, Frame)> = wanted
                .iter()
                .map(|(dscp, len)| {
                    let mut frame = pool.copy_of(&vec![0; *len]).unwrap();
                    frame.set_dscp(*dscp);
                    (to, frame)
                })
                .collect();
            let mut messages = Messages::default();
            assert_eq!(messages.send(sender.as_fd(), &queue, usize::MAX, usize::MAX).unwrap(), wanted.len());
            assert_eq!(messages.runs[..7], [5, 6, 4, 1, 1, 1, 0]);
            let expected: Vec<_> = wanted.iter().map(|(dscp, len)| (c_int::from(*dscp) << 2, *len)).collect();
            assert_eq!(traffic_classes(&receiver, wanted.len()), expected);
        }
    }

    /// Ancillary data is as the kernel's macros lay it out.
    #[test]
    fn controls_stand_side_by_side() {
        // SAFETY: both compute lengths.
        let (len, space) = unsafe { (libc::CMSG_LEN(4), libc::CMSG_SPACE(4)) };
        let control = Control::of_dscp("[::1]:9".parse().unwrap(), 46).unwrap();
        assert_eq!((control.header.cmsg_len, mem::size_of::<Control>()), (len as usize, space as usize));
        assert_eq!(control.octets[..4], 184_i32.to_ne_bytes());
        assert!(Control::of_dscp("[::1]:9".parse().unwrap(), 0).is_none());
    }

    /// Sizes of datagrams to peers by number.
    fn run(datagrams: &[(u16, usize)], bundle_max: usize) -> usize {
        let to = |port| SocketAddr::from(([127, 0, 0, 1], port));
        run_of(datagrams.iter().map(|(port, len)| (to(*port), *len)), bundle_max)
    }

    #[test]
    fn a_run_has_one_peer_one_size_and_perhaps_a_shorter_end() {
        const ALL: usize = usize::MAX;
        assert_eq!(run(&[], ALL), 0);
        assert_eq!(run(&[(1, 9); 3], ALL), 1, "too few");
        assert_eq!(run(&[(1, 9); 5], ALL), 5);
        assert_eq!(run(&[(1, 9), (1, 9), (1, 9), (1, 4), (1, 4)], ALL), 4);
        assert_eq!(run(&[(1, 9), (1, 9), (1, 9), (1, 9), (1, 10)], ALL), 4);
        assert_eq!(run(&[(1, 9), (1, 9), (1, 9), (1, 9), (2, 9)], ALL), 4);
        assert_eq!(run(&[(1, 0); 5], ALL), 1);
        assert_eq!(run(&[(1, 9), (1, 9), (1, 9), (1, 9), (1, 0)], ALL), 4);
        assert_eq!(run(&[(1, 9); 100], ALL), SEGMENTS_MAX);
        assert_eq!(run(&[(1, 1500); 100], ALL), MESSAGE_MAX / 1500);
        assert_eq!(run(&[(1, 1500); 100], 1499), 1);
    }
}
