//! Datagrams that the kernel has joined (`UDP_GRO`): one message brings up to 64 of one sender, at the price of one in the
//! kernel's network stack and of one in its socket.
//!
//! Nobody knows beforehand how many there are and how long. So a message is received into memory of its own, and each of its
//! datagrams is copied into a frame.
#![expect(unsafe_code, reason = "arrays of pointers for system calls that no safe crate offers")]

use crate::messages::read_name;
use crate::sys::{check, set_socket_option, socklen};
use core::ffi::c_int;
use core::mem;
use core::net::SocketAddr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Messages received by one system call. A few are enough where each may bring 64 datagrams.
const MESSAGES: usize = 8;
/// Octets of one message: IPv4 and IPv6 have none that is longer.
const MESSAGE: usize = 65_536;

/// The ancillary data of one message: room for the size of its datagrams, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    segment: c_int,
    padding: [u8; 4],
}

/// The arrays that `recvmmsg` works upon, and the messages. Allocated once.
pub(crate) struct JoinedMessages {
    names: Box<[libc::sockaddr_storage; MESSAGES]>,
    vectors: Box<[libc::iovec; MESSAGES]>,
    controls: Box<[Control; MESSAGES]>,
    headers: Box<[libc::mmsghdr; MESSAGES]>,
    octets: Box<[u8]>,
}

/// One message: datagrams of one sender, all of one size but for a shorter last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The sender; `None` where the family is neither IPv4 nor IPv6.
    pub(crate) from: Option<SocketAddr>,
    octets: &'a [u8],
    /// Octets of each datagram but perhaps the last.
    segment: usize,
}

impl<'a> Message<'a> {
    fn new(from: Option<SocketAddr>, octets: &'a [u8], segment: Option<usize>) -> Self {
        // A size of nothing would be an endless number of datagrams.
        let segment = segment.filter(|octets| *octets > 0).unwrap_or(usize::MAX);
        Self { from, octets, segment }
    }

    /// The datagrams, first to last. An empty message is an empty datagram.
    pub(crate) fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
        let empty = self.octets.is_empty().then_some(self.octets);
        empty.into_iter().chain(self.octets.chunks(self.segment))
    }
}

impl core::fmt::Debug for JoinedMessages {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("JoinedMessages").finish_non_exhaustive()
    }
}

/// Has a socket give joined datagrams; a kernel before 5.0 does not, and nothing changes then.
pub(crate) fn ask_for(socket: &impl AsRawFd) {
    let _ = set_socket_option(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
}

impl JoinedMessages {
    pub(crate) fn new() -> Self {
        // SAFETY: all are plain C structures (integers and pointers) for which all bits zero is a valid value.
        unsafe {
            Self {
                names: Box::new(mem::zeroed()),
                vectors: Box::new(mem::zeroed()),
                controls: Box::new(mem::zeroed()),
                headers: Box::new(mem::zeroed()),
                octets: vec![0; MESSAGES * MESSAGE].into_boxed_slice(),
            }
        }
    }

    /// Receives some messages, and says how many; [`JoinedMessages::message`] gives each.
    ///
    /// # Errors
    /// That of `recvmmsg`; `WouldBlock` where there is nothing.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let places = self.names.iter_mut().zip(self.vectors.iter_mut()).zip(self.controls.iter_mut());
        let places = places.zip(self.headers.iter_mut()).zip(self.octets.chunks_exact_mut(MESSAGE));
        for ((((name, vector), control), header), octets) in places {
            *vector = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
            header.msg_len = 0;
            header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
            header.msg_hdr.msg_namelen = socklen(mem::size_of::<libc::sockaddr_storage>());
            header.msg_hdr.msg_iov = std::ptr::from_mut(vector);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
            header.msg_hdr.msg_controllen = mem::size_of::<Control>();
            header.msg_hdr.msg_flags = 0;
        }
        // SAFETY: all headers were just set up; each points at one name, one control, one vector, and through that at a part of
        // `octets`, all of which are borrowed until this function returns, and none of which is shared.
        check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                u32::try_from(MESSAGES).unwrap_or(0),
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        })
    }

    /// Message `index` of the last [`JoinedMessages::receive`].
    pub(crate) fn message(&self, index: usize) -> Option<Message<'_>> {
        let (name, header) = (self.names.get(index)?, self.headers.get(index)?);
        let (control, octets) = (self.controls.get(index)?, self.octets.chunks_exact(MESSAGE).nth(index)?);
        let written = mem::size_of::<libc::cmsghdr>() + mem::size_of::<c_int>();
        let is_joined = header.msg_hdr.msg_controllen >= written
            && (control.header.cmsg_level, control.header.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
        let segment = is_joined.then(|| usize::try_from(control.segment).ok()).flatten();
        let octets = octets.get(..usize::try_from(header.msg_len).ok()?)?;
        Some(Message::new(read_name(name), octets, segment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Messages;
    use gannet_machine::frame::FramePool;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    /// The loopback device passes on as one what was sent as one.
    #[test]
    fn the_kernel_gives_a_message_of_several_datagrams() {
        let pool = FramePool::new(16);
        let (receiver, sender) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        ask_for(&receiver);
        let to = receiver.local_addr().unwrap();
        let datagram = |number: u8, len| (to, pool.copy_of(&vec![number; len]).unwrap());
        let mut queue: std::collections::VecDeque<_> = (0..6).map(|number| datagram(number, 100)).collect();
        queue.push_back(datagram(6, 40));
        assert_eq!(Messages::default().send(sender.as_fd(), &queue, usize::MAX, usize::MAX).unwrap(), 7);
        sender.send_to(&[7; 2000], to).unwrap();
        let mut joined = JoinedMessages::new();
        let mut heard = Vec::new();
        for segments in [7, 1] {
            // Waits for it.
            receiver.peek_from(&mut [0; 1]).unwrap();
            let count = joined.receive(receiver.as_fd()).unwrap();
            let messages: Vec<Message<'_>> = (0..count).filter_map(|number| joined.message(number)).collect();
            assert!(messages.iter().all(|message| message.from == sender.local_addr().ok()));
            let all: Vec<(usize, u8, usize)> = messages
                .iter()
                .flat_map(|message| {
                    message.datagrams().map(|it| (message.datagrams().count(), it[0], it.len()))
                })
                .collect();
            heard.extend(all);
            if heard.len() == 8 {
                break;
            }
            assert_eq!(heard.len(), segments);
        }
        let expected = (0..6).map(|number| (7, number, 100)).chain([(7, 6, 40), (1, 7, 2000)]);
        assert_eq!(heard, expected.collect::<Vec<_>>());
        assert_eq!(joined.receive(receiver.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    fn lens(octets: usize, segment: Option<usize>) -> Vec<usize> {
        Message::new(None, &vec![0; octets], segment).datagrams().map(<[u8]>::len).collect()
    }

    #[test]
    fn a_message_is_its_datagrams() {
        assert_eq!(lens(24, Some(6)), [6; 4]);
        assert_eq!(lens(23, Some(6)), [6, 6, 6, 5]);
        assert_eq!(lens(23, None), [23]);
        // The kernel says no such size.
        assert_eq!((lens(9, Some(0)), lens(9, Some(100))), (vec![9], vec![9]));
        // An empty datagram is one.
        assert_eq!((lens(0, None), lens(0, Some(5))), (vec![0], vec![0]));
        let octets: Vec<u8> = (0..9).collect();
        let datagrams: Vec<&[u8]> = Message::new(None, &octets, Some(4)).datagrams().collect();
        assert_eq!(datagrams, [&octets[..4], &octets[4..8], &octets[8..]]);
    }
}
