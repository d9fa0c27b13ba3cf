//! The system calls that no safe crate offers: TUN devices, the timer, options of sockets, locked memory, pinning.
#![expect(unsafe_code, reason = "this module is the crate's door to the operating system")]

use core::ffi::{CStr, c_int, c_short};
use core::mem;
use core::net::{Ipv4Addr, Ipv6Addr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;

pub(crate) fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

pub(crate) fn socklen(len: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(len).unwrap_or(0)
}

pub(crate) fn family(value: c_int) -> libc::sa_family_t {
    libc::sa_family_t::try_from(value).unwrap_or(0)
}

const fn in_addr(address: Ipv4Addr) -> libc::in_addr {
    libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) }
}

pub(crate) fn sockaddr_in(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: family(libc::AF_INET),
        sin_port: port.to_be(),
        sin_addr: in_addr(address),
        sin_zero: [0; 8],
    }
}

/// How a TUN device is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TunFlags {
    /// With a header in front of each packet (`IFF_VNET_HDR`).
    pub(crate) has_header: bool,
    /// As one queue of several (`IFF_MULTI_QUEUE`).
    pub(crate) has_queues: bool,
}

/// Makes a TUN device, or attaches to the existing one of this name; returns its file and its real name.
pub(crate) fn open_tun(name: &str, asked: TunFlags) -> io::Result<(File, String)> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let mut request = interface_request(name)?;
    let header = if asked.has_header { libc::IFF_VNET_HDR } else { 0 };
    let queues = if asked.has_queues { libc::IFF_MULTI_QUEUE } else { 0 };
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | header | queues;
    request.ifr_ifru.ifru_flags = c_short::try_from(flags).unwrap_or(0);
    // SAFETY: TUNSETIFF reads and writes one `ifreq`.
    unsafe { ioctl(&file, libc::TUNSETIFF, &mut request) }?;
    let octets = request.ifr_name.iter().map(|c| c.to_ne_bytes()[0]).take_while(|c| *c != 0).collect();
    Ok((file, String::from_utf8(octets).map_err(io::Error::other)?))
}

/// The flags of the TUN device that a descriptor is attached to.
///
/// # Errors
/// What the operating system says: `EBADFD` where it is attached to none, or the device has been deleted.
fn tun_flags(file: &File) -> io::Result<c_int> {
    // SAFETY: a plain C structure for which all bits zero is a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // SAFETY: TUNGETIFF writes one `ifreq`.
    unsafe { ioctl(file, libc::TUNGETIFF, &mut request) }?;
    // SAFETY: the kernel has just written this member of the union, and all bits are valid in an integer.
    Ok(c_int::from(unsafe { request.ifr_ifru.ifru_flags }))
}

/// Whether a descriptor is a TUN device with a header in front of each packet.
pub(crate) fn tun_has_header(file: &File) -> bool {
    tun_flags(file).is_ok_and(|flags| flags & libc::IFF_VNET_HDR != 0)
}

/// Whether the TUN device of a descriptor has been deleted.
pub(crate) fn tun_is_deleted(file: &File) -> bool {
    tun_flags(file).is_err_and(|error| error.raw_os_error() == Some(libc::EBADFD))
}

/// What TCP needs, and what UDP needs besides.
const TUN_TCP: libc::c_uint = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
const TUN_UDP: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Asks a TUN device with headers of so many octets for super-packets; says whether also for those of UDP, `None` where
/// for none.
pub(crate) fn set_tun_offloads(file: &File, header_len: usize) -> Option<bool> {
    let mut header_len = c_int::try_from(header_len).ok()?;
    // SAFETY: TUNSETVNETHDRSZ reads one integer.
    unsafe { ioctl(file, libc::TUNSETVNETHDRSZ, &mut header_len) }.ok()?;
    [(TUN_TCP | TUN_UDP, true), (TUN_TCP, false)]
        .into_iter()
        .find_map(|(offloads, has_udp)| set_offloads(file, offloads).ok().map(|()| has_udp))
}

/// Takes that back. Where it cannot be, the device is gone.
pub(crate) fn clear_tun_offloads(file: &File) {
    let _ = set_offloads(file, 0);
}

fn set_offloads(file: &File, offloads: libc::c_uint) -> io::Result<()> {
    // SAFETY: the argument of TUNSETOFFLOAD is a number and no address; a descriptor of another kind refuses the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) })
        .map(drop)
}

fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a plain C structure for which all bits zero is a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last octet stays zero.
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: interface name too long")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = core::ffi::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// # Safety
/// `call` must be one that reads and writes at most one `T` and keeps no pointer to it.
unsafe fn ioctl<T>(on: &impl AsRawFd, call: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // SAFETY: by this function's own contract; the argument is borrowed for the whole call.
    check(unsafe { libc::ioctl(on.as_raw_fd(), call, std::ptr::from_mut(argument)) }).map(drop)
}

/// Signals that end a process by default and never end a node; see [`crate::outlive_signals`].
const OUTLIVED: &[c_int] = &[
    libc::SIGHUP,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSYS,
];

/// Ignores them, and those of real time.
pub(crate) fn ignore_signals() {
    for signal in OUTLIVED.iter().copied().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        // SAFETY: SIG_IGN is no code of ours; none of these is a signal that cannot be ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn control_socket(domain: c_int) -> io::Result<OwnedFd> {
    // SAFETY: makes a new descriptor and touches no memory.
    let fd = unsafe { libc::socket(domain, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    check(fd)?;
    // SAFETY: the descriptor is new, valid, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What can be changed on a network interface.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InterfaceChange {
    Ipv4(Ipv4Addr, u8),
    Ipv6(Ipv6Addr, u8),
    NoIpv6(Ipv6Addr, u8),
    Mtu(u16),
    Up(bool),
}

/// The argument of SIOCSIFADDR on an IPv6 socket.
#[repr(C)]
struct In6Request {
    address: libc::in6_addr,
    prefix_len: u32,
    index: c_int,
}

/// Changes the network interface `name`.
pub(crate) fn change_interface(name: &str, change: InterfaceChange) -> io::Result<()> {
    let mut request = interface_request(name)?;
    let socket = control_socket(libc::AF_INET)?;
    match change {
        InterfaceChange::Ipv4(address, prefix_len) => {
            set_ifreq_address(&mut request, address);
            // SAFETY: SIOCSIFADDR reads one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCSIFADDR, &mut request) }?;
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix_len.into())).unwrap_or(0);
            set_ifreq_address(&mut request, Ipv4Addr::from_bits(mask));
            // SAFETY: SIOCSIFNETMASK reads one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCSIFNETMASK, &mut request) }
        }
        InterfaceChange::Ipv6(address, prefix_len) | InterfaceChange::NoIpv6(address, prefix_len) => {
            let takes = matches!(change, InterfaceChange::NoIpv6(..));
            let call = if takes { libc::SIOCDIFADDR } else { libc::SIOCSIFADDR };
            // SAFETY: SIOCGIFINDEX reads and writes one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCGIFINDEX, &mut request) }?;
            // SAFETY: the kernel has just written this member of the union, and all bits are valid in an integer.
            let index = unsafe { request.ifr_ifru.ifru_ifindex };
            let address = libc::in6_addr { s6_addr: address.octets() };
            let mut request = In6Request { address, prefix_len: prefix_len.into(), index };
            // SAFETY: both calls on an IPv6 socket read one `in6_ifreq`, whose layout `In6Request` has.
            unsafe { ioctl(&control_socket(libc::AF_INET6)?, call, &mut request) }
        }
        InterfaceChange::Mtu(octets) => {
            request.ifr_ifru.ifru_mtu = octets.into();
            // SAFETY: SIOCSIFMTU reads one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCSIFMTU, &mut request) }
        }
        InterfaceChange::Up(up) => {
            // SAFETY: SIOCGIFFLAGS reads and writes one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCGIFFLAGS, &mut request) }?;
            let bit = c_short::try_from(libc::IFF_UP).unwrap_or(1);
            // SAFETY: the kernel has just written this member of the union, and all bits are valid in an integer.
            let flags = unsafe { request.ifr_ifru.ifru_flags };
            request.ifr_ifru.ifru_flags = if up { flags | bit } else { flags & !bit };
            // SAFETY: SIOCSIFFLAGS reads one `ifreq`.
            unsafe { ioctl(&socket, libc::SIOCSIFFLAGS, &mut request) }
        }
    }
}

fn set_ifreq_address(request: &mut libc::ifreq, address: Ipv4Addr) {
    let raw = sockaddr_in(address, 0);
    let room: *mut libc::sockaddr = std::ptr::addr_of_mut!(request.ifr_ifru).cast();
    // SAFETY: the union has room for a `sockaddr`, which is as long as a `sockaddr_in`; the write assumes no alignment.
    unsafe { room.cast::<libc::sockaddr_in>().write_unaligned(raw) };
}

/// The calling thread is in this network namespace from now on.
pub(crate) fn enter_network_namespace(namespace: &File) -> io::Result<()> {
    // SAFETY: changes what the calling thread may reach, and touches no memory.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// The index of a network device.
pub(crate) fn interface_index(name: &CStr) -> Option<u32> {
    // SAFETY: reads a string that ends with a zero octet.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}

/// Makes a descriptor that was given from outside non-blocking.
pub(crate) fn set_nonblocking(file: &File) -> io::Result<()> {
    // SAFETY: F_GETFL touches no memory.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    check(flags)?;
    // SAFETY: F_SETFL touches no memory.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

/// A timer with a resolution of nanoseconds that becomes readable; `epoll_wait` knows only milliseconds.
#[derive(Debug)]
pub(crate) struct Timer(File);

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: makes a new descriptor and touches no memory.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        check(fd)?;
        // SAFETY: the descriptor is new, valid, and owned by nobody else.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// To go off in `after_ns` nanoseconds, at least one.
    pub(crate) fn arm(&self, after_ns: u64) -> io::Result<()> {
        let after_ns = after_ns.max(1);
        // SAFETY: a plain C structure for which all bits zero is a valid value.
        let mut setting: libc::itimerspec = unsafe { mem::zeroed() };
        setting.it_value.tv_sec =
            libc::time_t::try_from(after_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
        setting.it_value.tv_nsec = libc::c_long::try_from(after_ns % 1_000_000_000).unwrap_or(0);
        // SAFETY: reads one `itimerspec`; the old setting is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const setting, std::ptr::null_mut())
        })
        .map(drop)
    }

    /// Takes note of its going off.
    pub(crate) fn clear(&self) {
        // Nothing to read means that it did not go off.
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

/// Sets an option of a socket whose value is a plain integer; level and name are the system's numbers.
///
/// # Errors
/// That of `setsockopt`.
pub fn set_socket_option(socket: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let len = socklen(mem::size_of_val(&value));
    // SAFETY: reads one integer, whose size is given.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) })
        .map(drop)
}

/// Reads an option of a socket whose value is a plain integer; level and name are the system's numbers.
///
/// # Errors
/// That of `getsockopt`.
pub fn socket_option(socket: &impl AsRawFd, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut len = socklen(mem::size_of_val(&value));
    // SAFETY: writes at most one integer, whose size is given.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len)
    })?;
    Ok(value)
}

/// Looks whether a socket has a datagram. Where busy polling is on and there is none, that polls its device once.
pub(crate) fn has_datagram(socket: &impl AsRawFd) -> bool {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: receives no octets: a system call without any memory of ours.
    let result = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), 0, flags) };
    // An error that waits on the socket is for the next receive to report.
    result >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Keeps the memory of this process from being paged out. What comes later is locked too only where the limit
/// (`ulimit -l`) is infinite: under a finite limit that would make later allocations fail. Returns whether it is.
pub(crate) fn lock_memory() -> io::Result<bool> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one `rlimit`.
    check(unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) })?;
    let all = limit.rlim_cur == libc::RLIM_INFINITY;
    // On fault: a table with room for a million mobiles takes memory as they come.
    let future = if all { libc::MCL_FUTURE } else { 0 };
    let flags = libc::MCL_CURRENT | libc::MCL_ONFAULT | future;
    // SAFETY: changes how pages are kept, not their content.
    check(unsafe { libc::mlockall(flags) })?;
    Ok(all)
}

/// The cores that the process might use before a thread of it was pinned.
static UNPINNED: OnceLock<libc::cpu_set_t> = OnceLock::new();

fn own_cores() -> io::Result<libc::cpu_set_t> {
    // SAFETY: a plain C structure for which all bits zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: writes one `cpu_set_t`; 0 is the calling thread.
    check(unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &raw mut set) })?;
    Ok(set)
}

fn use_cores(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: reads one `cpu_set_t`; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, mem::size_of_val(set), set) }).map(drop)
}

/// Pins the calling thread to one core.
pub(crate) fn pin_to_core(core: usize) -> io::Result<()> {
    // SAFETY: a plain C structure for which all bits zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    if core >= mem::size_of::<libc::cpu_set_t>() * 8 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such core"));
    }
    let before = own_cores()?;
    UNPINNED.get_or_init(|| before);
    // SAFETY: the index was checked against the size of the set.
    unsafe { libc::CPU_SET(core, &mut set) };
    use_cores(&set)
}

/// Runs something as if the calling thread were not pinned: threads that it begins may use the cores of the process, and it itself goes
/// back to its own.
pub(crate) fn unpinned<T>(what: impl FnOnce() -> T) -> T {
    let own = own_cores();
    let is_free = own.is_ok() && UNPINNED.get().is_some_and(|all| use_cores(all).is_ok());
    let result = what();
    if is_free && let Ok(own) = own {
        // The kernel has just had the thread on these cores.
        let _ = use_cores(&own);
    }
    result
}

/// Gives a netlink socket an address of its own. Without one it has the kernel's, 0, and does not hear what the kernel itself tells.
pub(crate) fn bind_netlink(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: a plain C structure for which all bits zero is a valid value.
    let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
    address.nl_family = family(libc::AF_NETLINK);
    let len = socklen(mem::size_of_val(&address));
    // SAFETY: reads one address, whose size is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Goes on as a child of the first process, in a session of its own, with `/dev/null` for standard input, output and
/// error; the parent ends. The caller has made sure that there is one thread only.
pub(crate) fn detach() -> io::Result<()> {
    // SAFETY: forks; with one thread the child is a whole process. 1 keeps the working directory.
    check(unsafe { libc::daemon(1, 0) }).map(drop)
}
