//! The kernel's routes and neighbours for a router of ours, and the promise that the kernel does not forward the same packets.

mod news;

use crate::netlink::{Monitor, Neighbour, Netlink};
use core::net::IpAddr;
use gannet_machine::EthernetAddress;
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use news::Seen;
pub use news::TableNews;
use std::io;
use std::os::fd::AsRawFd;

/// Where the kernel would send a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHop {
    /// To a station on the link of a device.
    Station {
        /// The device, by its number in the kernel.
        device: u32,
        /// The station.
        station: EthernetAddress,
        /// Octets of the longest packet on the device.
        mtu: u16,
    },
    /// To a station whose Ethernet address the kernel has begun to ask for: its tables will change.
    Unresolved,
    /// To this machine itself, or nowhere.
    Kernel,
}

/// A network device as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceState {
    /// Its number in the kernel.
    pub device: u32,
    /// Octets of the longest packet.
    pub mtu: u16,
    /// It is switched on, and its other end is there.
    pub is_running: bool,
}

/// The tables, asked one destination at a time, and the news that they have changed.
#[derive(Debug)]
pub struct KernelTables {
    netlink: Netlink,
    monitor: Monitor,
    seen: Seen,
}

impl KernelTables {
    /// Those of the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open() -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open()?, monitor: Monitor::open()?, seen: Seen::default() })
    }

    /// Where the kernel sends packets to `destination`, by its main rules: those for one incoming device are not asked for.
    pub fn next_hop(&mut self, destination: IpAddr) -> NextHop {
        let Some((device, station)) = self.netlink.route(destination) else { return NextHop::Kernel };
        let Ok(Some(link)) = self.netlink.link(device) else { return NextHop::Kernel };
        let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
        let seen = &mut self.seen;
        let mut hop = |octets| {
            seen.answered(device, station, EthernetAddress(octets));
            NextHop::Station { device, station: EthernetAddress(octets), mtu }
        };
        match self.netlink.neighbour(device, station) {
            Neighbour::Valid(octets) => hop(octets),
            Neighbour::Stale(octets) => {
                // The kernel looks whether it is still there, and tells if it is not.
                let _ = self.netlink.use_neighbour(device, station);
                hop(octets)
            }
            Neighbour::Unknown => {
                let _ = self.netlink.use_neighbour(device, station);
                NextHop::Unresolved
            }
        }
    }

    /// A device by its name; `None` where it is not there.
    pub fn device(&mut self, name: &str) -> Option<DeviceState> {
        let link = self.netlink.link_named(name).ok()??;
        let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
        Some(DeviceState { device: link.index, mtu, is_running: link.up && link.running })
    }

    /// What has changed since the last call, of what was asked for or may have been. What the kernel says again without a change is no
    /// news.
    pub fn news(&mut self) -> Vec<TableNews> {
        self.seen.news(&self.monitor)
    }

    /// Has the kernel look whether the neighbours on a device are still there whose addresses are perhaps out of date: it does not see
    /// that packets leave to them.
    pub fn confirm_neighbours(&mut self, device: u32) {
        self.netlink.confirm_neighbours(device);
    }
}

impl Source for KernelTables {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.monitor.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.monitor.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.monitor.as_raw_fd()).deregister(registry)
    }
}
