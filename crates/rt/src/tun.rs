//! TUN devices: IP packets from and to the kernel.

use crate::sys::{self, InterfaceChange};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A TUN device. One that was made here disappears when this is dropped; one that existed before (`ip tuntap add`)
/// stays.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

/// An address of the device and the length of its prefix, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunAddress {
    /// IPv4; an address set later replaces it.
    V4(Ipv4Addr, u8),
    /// IPv6; it comes to those that are there.
    V6(Ipv6Addr, u8),
}

impl Tun {
    /// Makes the device, or attaches to the existing one of that name. `%d` in the name becomes the first free number.
    ///
    /// # Errors
    /// Without the right to it (`CAP_NET_ADMIN`), without `/dev/net/tun`, or where another process has it attached.
    pub fn open(name: &str) -> io::Result<Self> {
        let (file, name) = sys::open_tun(name)?;
        Ok(Self { file, name })
    }

    /// Takes a descriptor that is attached to a TUN device (without packet information) already. `name` is needed
    /// for the changes below only.
    ///
    /// # Errors
    /// Where it cannot be made non-blocking.
    pub fn from_fd(descriptor: OwnedFd, name: &str) -> io::Result<Self> {
        let file = File::from(descriptor);
        sys::set_nonblocking(&file)?;
        Ok(Self { file, name: name.to_owned() })
    }

    /// The name of the network interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives it an address; the route to the prefix comes with it once the device is up.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_address(&self, address: TunAddress) -> io::Result<()> {
        sys::change_interface(
            &self.name,
            match address {
                TunAddress::V4(address, prefix_len) => InterfaceChange::Ipv4(address, prefix_len),
                TunAddress::V6(address, prefix_len) => InterfaceChange::Ipv6(address, prefix_len),
            },
        )
    }

    /// Sets the longest packet that the kernel hands over, in octets.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_mtu(&self, octets: u16) -> io::Result<()> {
        sys::change_interface(&self.name, InterfaceChange::Mtu(octets))
    }

    /// Takes it into or out of service.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_up(&self, up: bool) -> io::Result<()> {
        sys::change_interface(&self.name, InterfaceChange::Up(up))
    }

    /// Reads one packet; `WouldBlock` where there is none.
    pub(crate) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(room)
    }

    /// Writes one packet.
    pub(crate) fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
