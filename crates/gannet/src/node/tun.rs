//! TUN devices as all nodes make them.

use core::net::Ipv6Addr;
use gannet_rt::{Tun, TunAddress};
use std::io;

/// The longest N-PDU that crosses GPRS without being cut (03.60 clause 9.3).
const MTU_OCTETS: u16 = 1500;

/// Makes a device, still down and without addresses.
///
/// # Errors
/// A sentence: what the machine does not permit.
pub fn open(name: &str) -> Result<Tun, String> {
    let open = || {
        let tun = Tun::open(name)?;
        tun.set_mtu(MTU_OCTETS)?;
        Ok(tun)
    };
    let tun = open().map_err(|error| describe(name, &error))?;
    // The kernel would send router solicitations into networks that carry IPv4.
    set_ipv6(tun.name(), false);
    Ok(tun)
}

/// Gives a device an address and takes it into service.
///
/// # Errors
/// What the operating system says.
pub fn bring_up(tun: &Tun, address: TunAddress) -> io::Result<()> {
    set_ipv6(tun.name(), matches!(address, TunAddress::V6(..)));
    tun.set_address(address)?;
    tun.set_up(true)
}

/// Gives a device that is in service an IPv6 address beside its other one.
///
/// # Errors
/// What the operating system says.
pub fn add_ipv6(tun: &Tun, address: Ipv6Addr, prefix_length: u8) -> io::Result<()> {
    set_ipv6(tun.name(), true);
    tun.set_address(TunAddress::V6(address, prefix_length))
}

/// Whether the kernel speaks IPv6 on a device. A kernel without IPv6 has no such setting, and needs none.
pub fn set_ipv6(name: &str, on: bool) {
    set_of_ipv6(name, "disable_ipv6", if on { "0" } else { "1" });
}

/// Another setting of IPv6 on a device, in the network namespace in which the calling thread is.
pub fn set_of_ipv6(name: &str, setting: &str, value: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/{setting}"), value);
}

/// What a device could not be made or changed for.
pub fn describe(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("TUN device {name}: {error}: that needs root or CAP_NET_ADMIN")
        }
        io::ErrorKind::NotFound => format!("TUN device {name}: {error}: is there /dev/net/tun?"),
        io::ErrorKind::ResourceBusy => format!("TUN device {name}: {error}: another program has it"),
        _ => format!("TUN device {name}: {error}"),
    }
}
