//! What a network interface says of itself: the calls that have no safe form.
#![expect(unsafe_code, reason = "ioctl")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Index of an interface of this thread's network namespace.
///
/// # Errors
/// Where there is none of this name.
pub fn index(name: &str) -> io::Result<u32> {
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: a string that ends with NUL and lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn any_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: a new descriptor that nobody else owns.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) }).ok_or_else(io::Error::last_os_error)
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all octets zero is a valid value of this structure of integers and pointers.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

/// MAC address of an interface.
///
/// # Errors
/// Where there is none of this name.
pub fn mac(name: &str) -> io::Result<[u8; 6]> {
    let socket = any_socket()?;
    let mut request = request(name)?;
    // SAFETY: the kernel writes within the structure.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: this call fills this field of the union; any octets are valid.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    let mut octets = [0; 6];
    for (to, from) in octets.iter_mut().zip(address) {
        *to = from.cast_unsigned();
    }
    Ok(octets)
}

const GSTRING_LEN: usize = 32;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;
const ETH_FLAG_RXVLAN: u32 = 1 << 8;
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// One request of ethtool's: `words` begins with its fixed part, and has room for the answer.
fn ethtool(socket: &OwnedFd, name: &str, words: &mut [u64]) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the kernel writes as many octets as the fixed part asks for; the callers made room for these.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const fn pair(low: u32, high: u32) -> u64 {
    u64::from_ne_bytes(two(low.to_ne_bytes(), high.to_ne_bytes()))
}

const fn two([a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}

/// The driver's own counters by their names, as `ethtool -S` shows them.
///
/// # Errors
/// Where there is no such interface, or its driver has none.
pub fn statistics(name: &str) -> io::Result<Vec<(String, u64)>> {
    let socket = any_socket()?;
    // struct ethtool_sset_info: cmd, reserved, sset_mask (64 bits), one length.
    let mut info = [pair(ETHTOOL_GSSET_INFO, 0), 1 << ETH_SS_STATS, 0];
    ethtool(&socket, name, &mut info)?;
    let [_, mask, count] = info;
    let [a, b, c, d, ..] = count.to_ne_bytes();
    let count = u32::from_ne_bytes([a, b, c, d]);
    if mask == 0 || count == 0 {
        return Ok(Vec::new());
    }
    // struct ethtool_gstrings: cmd, string_set, len, then strings of 32 octets from octet 12 on.
    let mut names = vec![0_u64; 2 + count as usize * GSTRING_LEN / 8];
    if let [first, second, ..] = names.as_mut_slice() {
        *first = pair(ETHTOOL_GSTRINGS, ETH_SS_STATS);
        *second = pair(count, 0);
    }
    ethtool(&socket, name, &mut names)?;
    // struct ethtool_stats: cmd, n_stats, then the values.
    let mut values = vec![0_u64; 1 + count as usize];
    if let Some(first) = values.first_mut() {
        *first = pair(ETHTOOL_GSTATS, count);
    }
    ethtool(&socket, name, &mut values)?;
    let octets: Vec<u8> = names.iter().flat_map(|word| word.to_ne_bytes()).skip(12).collect();
    let text = |octets: &[u8]| {
        let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
        String::from_utf8_lossy(octets.get(..end).unwrap_or_default()).into_owned()
    };
    Ok(octets.chunks_exact(GSTRING_LEN).map(text).zip(values.into_iter().skip(1)).collect())
}

/// What an interface does for those who send and receive through it, of what a testbed switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Joins what arrives. It gives a veth device its NAPI also where no XDP program is set.
    Receive,
    /// Finishes the checksums of what is sent.
    Checksums,
}

/// Switches one on or off, as `ethtool -K` does.
///
/// # Errors
/// Where there is no such interface, or it does not permit that.
pub fn set_offload(name: &str, offload: Offload, on: bool) -> io::Result<()> {
    let command = match offload {
        Offload::Receive => ETHTOOL_SGRO,
        Offload::Checksums => ETHTOOL_STXCSUM,
    };
    // struct ethtool_value: cmd, data.
    ethtool(&any_socket()?, name, &mut [pair(command, u32::from(on))])
}

/// Whether one is on, as `ethtool -k` says.
///
/// # Errors
/// Where there is no such interface, or it does not say.
pub fn offload(name: &str, offload: Offload) -> io::Result<bool> {
    let command = match offload {
        Offload::Receive => ETHTOOL_GGRO,
        Offload::Checksums => ETHTOOL_GTXCSUM,
    };
    Ok(value(name, command)? != 0)
}

/// Whether the driver takes VLAN tags off what arrives (`rx-vlan-offload`): programs of XDP do not see them then.
///
/// # Errors
/// Where there is no such interface, or it does not say.
pub fn takes_tags_off(name: &str) -> io::Result<bool> {
    Ok(value(name, ETHTOOL_GFLAGS)? & ETH_FLAG_RXVLAN != 0)
}

/// What a request answers that has a `struct ethtool_value`: cmd, data.
fn value(name: &str, command: u32) -> io::Result<u32> {
    let mut words = [pair(command, 0)];
    ethtool(&any_socket()?, name, &mut words)?;
    let [[.., a, b, c, d]] = words.map(u64::to_ne_bytes);
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

/// The monotonic clock in ns, the one of `bpf_ktime_get_ns`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known() {
        assert!(index("lo").is_ok_and(|index| index > 0));
        assert!(mac("lo").is_ok_and(|mac| mac == [0; 6]));
        assert!(index("no-such-device").is_err());
        assert!(statistics("a-name-that-is-far-too-long").is_err());
        assert!(monotonic_ns() > 0);
    }
}
