//! How user data gets into a node and out of it: which back end a port has, and what the machine refused.

use crate::io::{Io, MONITOR, RINGS};
use crate::netlink::{Link, Monitor, Netlink};
use crate::output::Output;
use crate::page_exchange::PageExchange;
use crate::steering::XdpProgram;
use crate::udp::UdpConfig;
use crate::xdp::{Deliver, Steering, Target, Xdp};
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use gannet_demux::device::DeviceConfig;
use gannet_demux::reuseport::{Reuseport, Service};
use gannet_demux::{ByRing, Ring};
use gannet_machine::trace::Level;
use gannet_machine::{Peer, Port};
use gannet_proto::gtp::TeidKey;
use mio::Interest;
use mio::unix::SourceFd;
use std::io;
use std::os::fd::AsRawFd;

/// What receives the datagrams of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// The best of the others that this machine permits.
    #[default]
    Auto,
    /// One UDP socket: first in, first out.
    Fifo,
    /// One UDP socket for each ring, chosen by a program of the kernel that knows the rules.
    Reuseport,
    /// An XDP program that knows the rules and drops what has to be dropped, and an AF_XDP socket for each ring.
    Xdp,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Fifo => "fifo",
            Self::Reuseport => "reuseport",
            Self::Xdp => "xdp",
        })
    }
}

/// What the datagrams of a port carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traffic {
    /// G-PDUs on Gn. The machine gets T-PDUs with the names of their rules.
    #[default]
    Gn,
    /// NS on Gb, which can be had by [`Backend::Xdp`] and [`Backend::Fifo`]. The rules are those of TLLIs and of the
    /// addresses of NSEs; without any, next to nothing comes through. The machine gets whole datagrams, those of
    /// signalling first.
    Gb,
}

/// How a port is to receive.
#[derive(Debug, Clone)]
pub struct IngressConfig {
    /// What it carries.
    pub traffic: Traffic,
    /// Which back end; with [`Backend::Auto`] what cannot be had is told in [`IngressReport::refused`].
    pub backend: Backend,
    /// The UDP socket, which is there with every back end: it sends, and it receives what the kernel is left. For
    /// [`Backend::Xdp`] its address must be one address, on an Ethernet device. A port that is bound already keeps its
    /// socket, but for [`Backend::Reuseport`].
    pub udp: UdpConfig,
    /// Places for PDP contexts in the kernel's table; with [`Traffic::Gb`] for mobiles.
    pub contexts: u32,
    /// Places for contexts of GTPv0.
    pub contexts_v0: u32,
    /// A port that takes GTPv0 beside it, at its own socket or sockets: with the same back end, by the same program.
    pub v0: Option<(Port, UdpConfig)>,
    /// Between TEIDs and the names of contexts; see [`gannet_demux::Config::teid_key`].
    pub teid_key: TeidKey,
    /// Whether the program verifies UDP checksums; see [`gannet_demux::Config::verify_udp_checksum`].
    pub verify_udp_checksum: bool,
    /// Packets that may wait in the ring of signalling, a power of two; only [`Traffic::Gb`] has one.
    pub signalling_ring: u32,
    /// Packets that may wait in the real-time ring, a power of two.
    pub real_time_ring: u32,
    /// And in that of best effort with high precedence; 0 where that has the ring of other best effort.
    pub high_ring: u32,
    /// And in the best-effort ring.
    pub best_effort_ring: u32,
    /// Empty frames that the kernel has at hand. A loop that always polls gives it new ones after each poll, and needs
    /// no more than [`crate::EMPTY_WHERE_POLLED`]; otherwise as much may come as interrupts bring before the loop runs.
    pub empty: u32,
}

impl IngressConfig {
    /// For the socket described, with everything else as a node has it that says nothing.
    #[must_use]
    pub const fn new(udp: UdpConfig) -> Self {
        Self {
            traffic: Traffic::Gn,
            backend: Backend::Auto,
            udp,
            contexts: 65_536,
            contexts_v0: 1024,
            v0: None,
            teid_key: TeidKey::TRANSPARENT,
            verify_udp_checksum: false,
            signalling_ring: 1024,
            real_time_ring: 4096,
            high_ring: 4096,
            best_effort_ring: 8192,
            empty: 4096,
        }
    }

    fn device(&self) -> DeviceConfig {
        DeviceConfig { rx: self.rings(), tx: 0, empty: self.empty }
    }

    /// Entries of the rings: on Gn signalling is the kernel's.
    const fn rings(&self) -> ByRing<u32> {
        let signalling = match self.traffic {
            Traffic::Gn => 0,
            Traffic::Gb => self.signalling_ring,
        };
        [signalling, self.real_time_ring, self.high_ring, self.best_effort_ring]
    }

    /// The program for the traffic on a device.
    fn program(
        &self,
        address: SocketAddr,
        link: &Link,
        exchange: bool,
    ) -> Result<(Box<dyn Steering>, Deliver), String> {
        let base = gannet_demux::Config {
            addresses: vec![address.ip()],
            contexts: self.contexts,
            tids: self.contexts_v0,
            shards: 1,
            verify_udp_checksum: self.verify_udp_checksum,
            concurrent: link.rx_queues > 1,
            exchange: exchange && self.traffic == Traffic::Gn,
            arriving: (self.rings().iter().sum::<u32>() + self.empty).next_power_of_two(),
            teid_key: self.teid_key,
            ..gannet_demux::Config::default()
        };
        match self.traffic {
            Traffic::Gn => Ok((Box::new(XdpProgram::downlink(&base)?), Deliver::Classified)),
            Traffic::Gb => {
                let (port, tllis) = (address.port(), self.contexts.saturating_mul(3));
                let config =
                    gannet_demux::UplinkConfig { base, port, tllis, ..gannet_demux::UplinkConfig::default() };
                Ok((Box::new(XdpProgram::uplink(&config)?), Deliver::Datagrams))
            }
        }
    }

    /// Frames that its rings may hold: for [`crate::LoopConfig::ring_frames`].
    #[must_use]
    pub fn ring_frames(&self) -> usize {
        self.device().frames()
    }
}

/// What a port got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressReport {
    /// The back end; never [`Backend::Auto`].
    pub backend: Backend,
    /// The address of its UDP socket.
    pub address: SocketAddr,
    /// The device, where the back end has one.
    pub device: Option<String>,
    /// Why nothing better was taken, a sentence for each better back end.
    pub refused: Vec<String>,
}

/// The way that a port's datagrams leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputWay {
    /// AF_XDP where it can be had.
    #[default]
    Auto,
    /// The kernel's UDP, runs of equal size in one message.
    Udp,
    /// AF_XDP, and the kernel's UDP for what that cannot send.
    Xdp,
}

impl fmt::Display for OutputWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Udp => "UDP",
            Self::Xdp => "AF_XDP",
        })
    }
}

/// How a port is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputConfig {
    /// Which way.
    pub way: OutputWay,
    /// Frames that may be under way to the peer, a power of two.
    pub ring: u32,
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self { way: OutputWay::Auto, ring: 2048 }
    }
}

impl OutputConfig {
    /// Frames that its ring may hold: for [`crate::LoopConfig::ring_frames`].
    #[must_use]
    pub fn ring_frames(&self) -> usize {
        DeviceConfig { tx: self.ring, ..DeviceConfig::default() }.frames()
    }
}

/// What a port got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputReport {
    /// The way; never [`OutputWay::Auto`].
    pub way: OutputWay,
    /// The device, where it has one.
    pub device: Option<String>,
    /// Why nothing better was taken.
    pub refused: Vec<String>,
}

impl Io {
    pub(crate) fn attach_ingress(
        &mut self,
        machine: usize,
        port: Port,
        config: &IngressConfig,
    ) -> io::Result<IngressReport> {
        let mut refused = Vec::new();
        if matches!(config.backend, Backend::Auto | Backend::Xdp) {
            let address = self.bound(machine, port, &config.udp)?;
            match self.receive_by_xdp(machine, port, address, config) {
                Ok(device) => {
                    self.bind_v0(machine, config)?;
                    let device = Some(device);
                    return Ok(IngressReport { backend: Backend::Xdp, address, device, refused });
                }
                Err(error) if config.backend == Backend::Xdp => return Err(io::Error::other(error)),
                Err(error) => refused.push(format!("no XDP: {error}")),
            }
        }
        let by_class = match config.backend {
            Backend::Auto => config.traffic == Traffic::Gn,
            other => other == Backend::Reuseport,
        };
        if by_class {
            match self.receive_by_reuseport(machine, port, config) {
                Ok(address) => {
                    let backend = Backend::Reuseport;
                    return Ok(IngressReport { backend, address, device: None, refused });
                }
                Err(error) if config.backend == Backend::Reuseport => return Err(io::Error::other(error)),
                Err(error) => refused.push(format!("no sockets by class: {error}")),
            }
        }
        let address = self.bound(machine, port, &config.udp)?;
        self.bind_v0(machine, config)?;
        Ok(IngressReport { backend: Backend::Fifo, address, device: None, refused })
    }

    /// The address of a port's UDP socket: of one that was there before, or was left by an attempt, or a new one.
    fn bound(&mut self, machine: usize, port: Port, config: &UdpConfig) -> io::Result<SocketAddr> {
        match self.udp_of(machine, port) {
            Some(udp) => Ok(udp.local.bound()),
            None => self.bind_udp(machine, port, config),
        }
    }

    /// The one socket of GTPv0, where it is to be had.
    fn bind_v0(&mut self, machine: usize, config: &IngressConfig) -> io::Result<()> {
        config.v0.as_ref().map_or(Ok(()), |(port, udp)| self.bound(machine, *port, udp).map(|_| ()))
    }

    /// Binds one socket for each ring to the same address, with the programs that choose among them; returns the address.
    fn receive_by_reuseport(
        &mut self,
        machine: usize,
        port: Port,
        config: &IngressConfig,
    ) -> Result<SocketAddr, String> {
        if config.traffic != Traffic::Gn {
            return Err("sockets by class are for the user data of Gn".to_owned());
        }
        if self.filter.is_some() {
            return Err("one port of a process can have them".to_owned());
        }
        let mut programs = Reuseport::load(&gannet_demux::Config {
            contexts: config.contexts,
            tids: config.contexts_v0,
            teid_key: config.teid_key,
            ..gannet_demux::Config::default()
        })
        .map_err(|error| error.to_string())?;
        // A socket that does not share its address is in the way.
        self.detach(machine, port, Peer::Link);
        let mut result = self.bind_by_ring(machine, port, &config.udp, &mut programs, Service::V1);
        if let (Ok(_), Some((port_v0, udp))) = (&result, &config.v0) {
            let bound = self.bind_by_ring(machine, *port_v0, udp, &mut programs, Service::V0);
            result = bound.and(result);
        }
        match result {
            Ok(_) => self.filter = Some(programs),
            Err(_) => {
                self.detach(machine, port, Peer::Link);
                config.v0.iter().for_each(|(port, _)| self.detach(machine, *port, Peer::Link));
            }
        }
        result
    }

    fn bind_by_ring(
        &mut self,
        machine: usize,
        port: Port,
        config: &UdpConfig,
        programs: &mut Reuseport,
        service: Service,
    ) -> Result<SocketAddr, String> {
        let sentence = |error: io::Error| error.to_string();
        let mut config = UdpConfig { shared_port: true, ..config.clone() };
        let address = self.bind_udp(machine, port, &config).map_err(sentence)?;
        config.bind = address;
        for ring in [Ring::Signalling, Ring::RealTime, Ring::High] {
            let index = self.bind_beside(machine, port, &config).map_err(sentence)?;
            let Some(udp) = self.udp_at(index) else { continue };
            udp.ring = ring;
            programs.set_socket(service, ring, &udp.socket).map_err(|error| error.to_string())?;
        }
        let Some(udp) = self.udp_of(machine, port) else { return Err("no socket".to_owned()) };
        programs.set_socket(service, Ring::BestEffort, &udp.socket).map_err(|error| error.to_string())?;
        Ok(address)
    }

    /// Opens the rings and attaches the program; returns the device's name.
    fn receive_by_xdp(
        &mut self,
        machine: usize,
        port: Port,
        address: SocketAddr,
        config: &IngressConfig,
    ) -> Result<String, String> {
        let exchange = PageExchange::fits(self.busy.mode);
        let xdp = self.xdp()?;
        let link = device_of(&mut xdp.netlink, address.ip())?;
        if xdp.devices.iter().any(|device| device.link.name == link.name && device.target.is_some()) {
            return Err(format!("{} serves another port already, and a device takes one program", link.name));
        }
        let (program, deliver) = config.program(address, &link, exchange)?;
        xdp.programs.push(program);
        let program = xdp.programs.len() - 1;
        let record = self.udp_interface(&config.udp);
        let target = Target { machine, port, record, program, deliver };
        let wanted = Some((config.rings(), config.empty, target));
        let place = self.want(&link, wanted, 0, Some(address.ip())).inspect_err(|_| {
            if let Some(xdp) = &mut self.xdp {
                xdp.programs.truncate(program);
            }
        })?;
        if let Some(xdp) = self.xdp.as_mut().filter(|xdp| exchange && xdp.pages.is_none())
            && let Some(program) = xdp.programs.get_mut(program)
        {
            match program.exchange(config.rings(), config.empty) {
                Some(Ok(exchange)) => {
                    xdp.pages = Some(PageExchange::new(exchange, place, config.best_effort_ring))
                }
                Some(Err(why)) => self.note(Level::Info, format_args!("pages are not exchanged: {why}")),
                None => {}
            }
        }
        if link.rx_queues > 1 {
            let queues = link.rx_queues;
            self.note(
                Level::Notice,
                format_args!(
                    "{}: of its {queues} receive queues the first is served by XDP, the kernel has the others",
                    link.name
                ),
            );
        }
        Ok(link.name)
    }

    pub(crate) fn attach_output(
        &mut self,
        machine: usize,
        port: Port,
        config: &OutputConfig,
    ) -> io::Result<OutputReport> {
        let by_udp = |refused| OutputReport { way: OutputWay::Udp, device: None, refused };
        if config.way == OutputWay::Udp {
            return Ok(by_udp(Vec::new()));
        }
        match self.send_by_xdp(machine, port, config) {
            Ok(device) => Ok(OutputReport { way: OutputWay::Xdp, device: Some(device), refused: Vec::new() }),
            Err(error) if config.way == OutputWay::Xdp => Err(io::Error::other(error)),
            Err(error) => Ok(by_udp(vec![format!("no AF_XDP: {error}")])),
        }
    }

    fn send_by_xdp(&mut self, machine: usize, port: Port, config: &OutputConfig) -> Result<String, String> {
        let udp = self.udp_of(machine, port).ok_or("the port has no UDP socket")?;
        let (address, dscp) = (udp.local.bound(), udp.config.dscp.unwrap_or(0));
        let IpAddr::V4(ip) = address.ip() else {
            return Err("datagrams over IPv6 leave through the kernel".to_owned());
        };
        let xdp = self.xdp()?;
        let link = device_of(&mut xdp.netlink, address.ip())?;
        let place = self.want(&link, None, config.ring, Some(address.ip()))?;
        if let Some(pages) = self.xdp.as_mut().and_then(|xdp| xdp.pages.as_mut()) {
            pages.towards(place);
        }
        if let Some(udp) = self.udp_of(machine, port) {
            udp.output = Some(Output::new(place, ip, address.port(), dscp));
        }
        Ok(link.name)
    }

    /// What all AF_XDP devices have in common, made when it is first asked for.
    pub(crate) fn xdp(&mut self) -> Result<&mut Xdp, String> {
        if self.xdp.is_none() {
            let umem = self.umem.take().ok_or("no frames were set aside for it (ring_frames)")?;
            let xdp = Xdp::new(umem, self.frames.clone());
            self.xdp = Some(xdp.map_err(|error| format!("no rtnetlink socket: {error}"))?);
            self.watch_tables();
        }
        self.xdp.as_mut().ok_or_else(|| "no AF_XDP".to_owned())
    }

    /// Has the kernel tell of links, addresses, routes and neighbours. Without a monitor changes are found by looking each
    /// second.
    pub(crate) fn watch_tables(&mut self) {
        if self.monitor.is_some() {
            return;
        }
        if let Ok(monitor) = Monitor::open() {
            let fd = monitor.as_raw_fd();
            if self.registry.register(&mut SourceFd(&fd), MONITOR, Interest::READABLE).is_ok() {
                self.monitor = Some(monitor);
            }
        }
    }

    pub(crate) fn want(
        &mut self,
        link: &Link,
        rx: Option<(ByRing<u32>, u32, Target)>,
        tx: u32,
        address: Option<IpAddr>,
    ) -> Result<usize, String> {
        let place = self.xdp()?.want(link, rx, tx, address)?;
        self.poll_rings(place);
        Ok(place)
    }

    /// Has the loop woken by what arrives in the rings of a device.
    pub(crate) fn poll_rings(&mut self, place: usize) {
        let Some(xdp) = &self.xdp else { return };
        for fd in xdp.descriptors(place) {
            if let Err(error) = self.registry.register(&mut SourceFd(&fd), RINGS, Interest::READABLE) {
                self.note(Level::Error, format_args!("the rings of a device cannot be polled: {error}"));
                return;
            }
        }
    }
}

/// The Ethernet device that has an address of ours.
pub(crate) fn device_of(netlink: &mut Netlink, address: IpAddr) -> Result<Link, String> {
    if address.is_unspecified() {
        return Err("the socket is bound to every address; it takes one, whose device is known".to_owned());
    }
    let index = netlink.device_of(address).map_err(|error| format!("rtnetlink: {error}"))?;
    let index = index.ok_or_else(|| format!("no device has the address {address}"))?;
    usable(netlink.link(index).ok().flatten().ok_or("the device has just gone")?)
}

/// A device that is up and of the Ethernet kind.
pub(crate) fn usable(link: Link) -> Result<Link, String> {
    if link.address.is_none_or(|address| address == [0; 6]) {
        return Err(format!("{} is no Ethernet device", link.name));
    }
    if !link.up {
        return Err(format!("{} is down", link.name));
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frames_of_the_rings_are_counted() {
        let udp = UdpConfig::new("192.0.2.1:2152".parse().unwrap());
        assert_eq!(IngressConfig::new(udp).ring_frames(), 4096 + 4096 + 8192 + 4096);
        assert_eq!(OutputConfig::default().ring_frames(), 2048);
    }

    #[test]
    fn loopback_and_any_address_have_no_ethernet_device() {
        let mut netlink = Netlink::open().unwrap();
        let mut of = |address: &str| device_of(&mut netlink, address.parse().unwrap()).unwrap_err();
        assert_eq!(of("127.0.0.1"), "lo is no Ethernet device");
        assert!(of("0.0.0.0").contains("every address"));
        assert_eq!(of("192.0.2.77"), "no device has the address 192.0.2.77");
    }
}
