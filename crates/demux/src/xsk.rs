//! AF_XDP sockets: rings to and from one queue of a network device.
//!
//! Three kinds are bound in copy mode, and these only, since nothing else works on every driver:
//!
//! * [`Xsk::register`] tells the kernel of the UMEM and has the fill and the completion ring of its queue;
//! * [`Xsk::share`] is the first one of *another* queue or device on the same UMEM, with rings of its own;
//! * [`Xsk::beside`] is a further one of the same queue, with an RX ring only: frames for it come from the fill ring of
//!   the first, and the place in the XSKMAP decides which of them gets a packet.
//!
//! A queue whose former owner was just killed stays busy until the kernel has cleaned up: binding is tried again each
//! millisecond for a second.
#![expect(unsafe_code, reason = "system calls that no safe crate offers")]

use crate::rings::{Consumer, Descriptor, Offsets, Producer, map_consumer, map_producer};
use crate::umem::Umem;
use core::ffi::c_int;
use gannet_machine::frame::FRAME_SIZE;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// How often a busy queue is tried, once in a millisecond.
const BIND_TRIES: u32 = 1000;
/// Frames that one kick may send (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.18; 32 before).
pub const TX_BUDGET: u32 = 256;
const XDP_MAX_TX_SKB_BUDGET: c_int = 9;

/// A queue of a device in this network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// The device.
    pub ifindex: u32,
    /// Which of its queues, from 0.
    pub queue: u32,
}

/// Entries of the rings of one socket, each 0 (no such ring) or a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Received frames that may wait.
    pub rx: u32,
    /// Frames that may wait to be sent.
    pub tx: u32,
    /// Empty frames for what is received.
    pub fill: u32,
    /// Frames that were sent; so many may be under way at a time.
    pub completion: u32,
}

/// What the kernel counts for one socket (`struct xdp_statistics`), since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Frames lost for another reason than those below, such as being too long.
    pub rx_dropped: u64,
    /// Frames lost because the RX ring was full.
    pub rx_ring_full: u64,
    /// Frames lost because the fill ring was empty; counted at the socket that has the fill ring.
    pub rx_fill_ring_empty: u64,
    /// Entries of the fill ring that made no sense.
    pub rx_invalid: u64,
    /// Entries of the TX ring that made no sense.
    pub tx_invalid: u64,
}

impl core::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.rx_dropped += other.rx_dropped;
        self.rx_ring_full += other.rx_ring_full;
        self.rx_fill_ring_empty += other.rx_fill_ring_empty;
        self.rx_invalid += other.rx_invalid;
        self.tx_invalid += other.tx_invalid;
    }
}

/// What became of a kick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kick {
    /// The kernel has taken all that it could.
    Done,
    /// It wants another kick: its budget is over, or the completion ring is full.
    Again,
    /// The device took nothing now.
    Busy,
}

/// A socket with its rings. The rings are unmapped before the socket is closed, or the queue would stay busy.
#[derive(Debug)]
pub struct Xsk {
    pub(crate) rx: Option<Consumer<Descriptor>>,
    pub(crate) tx: Option<Producer<Descriptor>>,
    pub(crate) fill: Option<Producer<u64>>,
    pub(crate) completion: Option<Consumer<u64>>,
    // The last field is dropped last.
    socket: OwnedFd,
}

impl Xsk {
    /// The first socket on a UMEM. The UMEM is never unmapped, so that the socket may outlive the value `umem`.
    ///
    /// # Errors
    /// What the kernel says: EPERM without CAP_NET_RAW, ENOBUFS over the limit of locked memory, EBUSY where another
    /// program has the queue, ENODEV, EOPNOTSUPP.
    pub fn register(umem: &Umem, at: Queue, sizes: Sizes) -> io::Result<Self> {
        let socket = open()?;
        let (base, len) = umem.extent();
        let registration = libc::xdp_umem_reg {
            addr: base.addr().get() as u64,
            len: len as u64,
            chunk_size: u32::try_from(FRAME_SIZE).unwrap_or(0),
            headroom: 0,
            flags: libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG,
            tx_metadata_len: 0,
        };
        set_option(&socket, libc::XDP_UMEM_REG, &registration)?;
        let this = Self::with_rings(socket, sizes)?;
        this.bind(at, libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP, None)?;
        Ok(this)
    }

    /// The first socket of another queue or device, on the UMEM of `other`.
    ///
    /// # Errors
    /// As [`Xsk::register`]; EBADF where `other` has lost its device.
    pub fn share(other: &Self, at: Queue, sizes: Sizes) -> io::Result<Self> {
        let this = Self::with_rings(open()?, sizes)?;
        this.bind(at, libc::XDP_SHARED_UMEM, Some(&other.socket))?;
        Ok(this)
    }

    /// A further socket on the queue of `first`, with an RX ring of `rx` entries.
    ///
    /// # Errors
    /// As [`Xsk::share`].
    pub fn beside(first: &Self, at: Queue, rx: u32) -> io::Result<Self> {
        let this = Self::with_rings(open()?, Sizes { rx, ..Sizes::default() })?;
        this.bind(at, libc::XDP_SHARED_UMEM, Some(&first.socket))?;
        Ok(this)
    }

    fn with_rings(socket: OwnedFd, sizes: Sizes) -> io::Result<Self> {
        let lengths = [
            (libc::XDP_UMEM_FILL_RING, sizes.fill),
            (libc::XDP_UMEM_COMPLETION_RING, sizes.completion),
            (libc::XDP_RX_RING, sizes.rx),
            (libc::XDP_TX_RING, sizes.tx),
        ];
        for (ring, len) in lengths.into_iter().filter(|(_, len)| *len > 0) {
            set_option(&socket, ring, &len)?;
        }
        // Older kernels do not know this, and send 32 frames by each kick.
        let _ = set_option(&socket, XDP_MAX_TX_SKB_BUDGET, &TX_BUDGET);
        let at = offsets_of(&socket)?;
        let fd = socket.as_fd();
        let page = |offset: libc::c_ulonglong| i64::try_from(offset).unwrap_or(i64::MAX);
        let rx = (sizes.rx > 0)
            .then(|| map_consumer(fd, libc::XDP_PGOFF_RX_RING, offsets(at.rx), sizes.rx))
            .transpose()?;
        let tx = (sizes.tx > 0)
            .then(|| map_producer(fd, libc::XDP_PGOFF_TX_RING, offsets(at.tx), sizes.tx))
            .transpose()?;
        let fill = (sizes.fill > 0)
            .then(|| map_producer(fd, page(libc::XDP_UMEM_PGOFF_FILL_RING), offsets(at.fr), sizes.fill))
            .transpose()?;
        let completion = (sizes.completion > 0)
            .then(|| {
                let offset = page(libc::XDP_UMEM_PGOFF_COMPLETION_RING);
                map_consumer(fd, offset, offsets(at.cr), sizes.completion)
            })
            .transpose()?;
        Ok(Self { rx, tx, fill, completion, socket })
    }

    fn bind(&self, at: Queue, flags: u16, shared: Option<&OwnedFd>) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: u16::try_from(libc::AF_XDP).unwrap_or(0),
            sxdp_flags: flags,
            sxdp_ifindex: at.ifindex,
            sxdp_queue_id: at.queue,
            sxdp_shared_umem_fd: shared.map_or(0, |fd| u32::try_from(fd.as_raw_fd()).unwrap_or(0)),
        };
        let len = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or(0);
        let mut tries = 0;
        loop {
            // SAFETY: reads one `sockaddr_xdp`, whose size is given.
            let result = unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), len) };
            if result == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            tries += 1;
            if error.raw_os_error() != Some(libc::EBUSY) || tries >= BIND_TRIES {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tells the kernel that there is something in the TX ring. In copy mode it sends here and now.
    ///
    /// # Errors
    /// What it says about the device, such as ENETDOWN or ENXIO.
    pub fn kick(&self) -> io::Result<Kick> {
        // SAFETY: sends no octets: a system call without any memory of ours.
        let result = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                core::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                core::ptr::null(),
                0,
            )
        };
        if result >= 0 {
            return Ok(Kick::Done);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(Kick::Again),
            Some(libc::EBUSY | libc::ENOBUFS) => Ok(Kick::Busy),
            _ => Err(error),
        }
    }

    /// What the kernel counted.
    ///
    /// # Errors
    /// What it says.
    pub fn statistics(&self) -> io::Result<Statistics> {
        // SAFETY: a plain C structure of integers.
        let mut raw: libc::xdp_statistics = unsafe { core::mem::zeroed() };
        get_option(&self.socket, libc::XDP_STATISTICS, &mut raw)?;
        Ok(Statistics {
            rx_dropped: raw.rx_dropped,
            rx_ring_full: raw.rx_ring_full,
            rx_fill_ring_empty: raw.rx_fill_ring_empty_descs,
            rx_invalid: raw.rx_invalid_descs,
            tx_invalid: raw.tx_invalid_descs,
        })
    }

    /// Has the device gone? The kernel says so once, and then the socket is of no use.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: reads and writes one `pollfd`.
        let count = unsafe { libc::poll(&raw mut poll, 1, 0) };
        count > 0 && poll.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
    }
}

impl AsFd for Xsk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: makes a new descriptor and touches no memory.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, valid, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set_option<T>(socket: &OwnedFd, name: c_int, value: &T) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    let value = core::ptr::from_ref(value).cast();
    // SAFETY: reads the octets of one `T`, whose size is given.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, value, len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `T` must be a plain C structure of integers: older kernels fill the beginning only.
fn get_option<T>(socket: &OwnedFd, name: c_int, value: &mut T) -> io::Result<usize> {
    let mut len = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    let value = core::ptr::from_mut(value).cast();
    // SAFETY: writes at most the octets of one `T`, whose size is given.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, value, &raw mut len) };
    if result == 0 { Ok(len as usize) } else { Err(io::Error::last_os_error()) }
}

fn offsets_of(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: a plain C structure of integers.
    let mut all: libc::xdp_mmap_offsets = unsafe { core::mem::zeroed() };
    // Before Linux 5.4 there were no flags, and the structure was shorter.
    if get_option(socket, libc::XDP_MMAP_OFFSETS, &mut all)? < size_of_val(&all) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel's AF_XDP is older than Linux 5.4",
        ));
    }
    Ok(all)
}

fn offsets(raw: libc::xdp_ring_offset) -> Offsets {
    let octets = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    Offsets {
        producer: octets(raw.producer),
        consumer: octets(raw.consumer),
        flags: octets(raw.flags),
        entries: octets(raw.desc),
    }
}
