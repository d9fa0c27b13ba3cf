//! A GGSN's programs on the devices of this machine: attached, in which mode, and attached anew when a device has returned.
//!
//! A program in native mode gives its frames to the driver of the device by which they leave, and not every driver takes
//! them: a veth does only while its other end has a program or GRO. Where that is so the program runs in generic mode, in
//! which the kernel's stack sends: slower, and right everywhere. What a driver takes is looked at again each second.

use crate::netlink::{LOOK_EVERY, Link, Netdev, Netlink};
use core::fmt;
use core::net::Ipv4Addr;
use gannet_demux::bpf::{self, XdpMode};
use gannet_demux::gateway::{Gateway, GatewayConfig, GatewayTotals, Network, Side};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::forwarding::{ForwardChange, Forwarded};
use gannet_proto::gtp::{ContextName, TeidKey};
use std::net::IpAddr;

/// How often the kernel is to look whether neighbours are still there. It keeps one that it believes in for 30 s on average.
const CONFIRM_EVERY: Duration = Duration::from_secs(5);

/// How a GGSN's packets are to be forwarded at the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingConfig {
    /// Where G-PDUs come and from where they go; its device is Gn.
    pub user: Ipv4Addr,
    /// All addresses at which the node speaks GTP.
    pub addresses: Vec<IpAddr>,
    /// Out of which networks mobiles have addresses, with the lengths of their prefixes.
    pub pools: Vec<(IpAddr, u8)>,
    /// Places of PDP contexts.
    pub contexts: u32,
    /// Between TEIDs and the names of contexts.
    pub teid_key: TeidKey,
    /// The networks of all access points in their order; `None` where the node forwards.
    pub networks: Vec<Option<ForwardingNetwork>>,
}

/// The network behind an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingNetwork {
    /// The device that leads there.
    pub interface: String,
    /// The TUN device of the access point.
    pub tun: String,
}

/// How a program is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardingMode {
    /// By the driver.
    Native,
    /// By the kernel's stack.
    Generic,
}

impl fmt::Display for ForwardingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

impl ForwardingMode {
    const fn of_xdp(self) -> XdpMode {
        match self {
            Self::Native => XdpMode::Native,
            Self::Generic => XdpMode::Generic,
        }
    }
}

/// What forwards for a GGSN, and what it has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingReport {
    /// The devices, Gn first, and how their programs are called; `None` for one that is away.
    pub devices: Vec<(String, Option<ForwardingMode>)>,
    /// What the programs counted.
    pub totals: GatewayTotals,
}

/// What has happened to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is served, in this mode.
    Served(ForwardingMode),
    /// It is away: the kernel has its traffic when it returns.
    Gone,
    /// It cannot be served.
    Refused(String),
}

#[derive(Debug)]
struct Device {
    name: String,
    side: Side,
    /// Its index, and how the program is called there.
    served: Option<(u32, ForwardingMode)>,
    /// Its driver has no native mode.
    generic_only: bool,
    refusal_told: bool,
}

/// Both programs of one GGSN with their devices.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) machine: usize,
    programs: Gateway,
    netlink: Netlink,
    /// `None` for kernels before Linux 6.3.
    netdev: Option<Netdev>,
    /// Gn first.
    devices: Vec<Device>,
    networks: Vec<Option<ForwardingNetwork>>,
    look_at: Instant,
    confirm_at: Instant,
    /// That a rule was refused has been said.
    pub(crate) refusal_told: bool,
}

impl Forwarder {
    /// Loads the programs and attaches them to Gn and to all devices of the networks.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit. Nothing is attached then.
    pub(crate) fn open(
        machine: usize,
        gn: &str,
        config: &ForwardingConfig,
        mut netlink: Netlink,
    ) -> Result<Self, String> {
        let mut devices = vec![Device::new(gn, Side::Gn)];
        for network in config.networks.iter().flatten() {
            if network.interface == gn {
                return Err(format!("{gn} is Gn, and a device takes one program"));
            }
            if devices.iter().all(|device| device.name != network.interface) {
                devices.push(Device::new(&network.interface, Side::Gi));
            }
            let found = netlink.link_named(&network.interface).ok().flatten();
            let link = found.ok_or_else(|| format!("there is no device {}", network.interface))?;
            if link.address.is_none_or(|address| address == [0; 6]) {
                return Err(format!("{} is no Ethernet device", link.name));
            }
        }
        let programs = Gateway::load(&GatewayConfig {
            user: config.user,
            addresses: config.addresses.clone(),
            pools: config.pools.clone(),
            contexts: config.contexts,
            networks: u16::try_from(config.networks.len()).map_err(|_| "too many access points")?,
            teid_key: config.teid_key,
        })
        .map_err(|error| error.to_string())?;
        let networks = config.networks.clone();
        let netdev = Netdev::open().ok();
        let (look_at, confirm_at, refusal_told) = (Instant::ZERO, Instant::ZERO, false);
        let mut this =
            Self { machine, programs, netlink, netdev, devices, networks, look_at, confirm_at, refusal_told };
        let mut refused = None;
        this.look(Instant::ZERO, true, |name, change| match change {
            Change::Refused(error) => refused = Some(error),
            Change::Gone => refused = Some(format!("{name} is down")),
            Change::Served(_) => {}
        });
        if let Some(down) = this.devices.iter().find(|device| device.served.is_none()) {
            return Err(refused.unwrap_or_else(|| format!("{} is down", down.name)));
        }
        Ok(this)
    }

    /// Whether a device is one of its own.
    pub(crate) fn serves(&self, device: &str) -> bool {
        self.devices.iter().any(|own| own.name == device)
    }

    /// When devices are looked at again without a reason.
    pub(crate) const fn look_at(&self) -> Instant {
        self.look_at
    }

    /// The node's change of the rules.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn apply(&mut self, change: &ForwardChange) -> Result<(), String> {
        self.programs.apply(change).map_err(|error| error.to_string())
    }

    /// What was counted for a context.
    pub(crate) fn forwarded(&self, name: ContextName) -> Option<Forwarded> {
        self.programs.forwarded(name)
    }

    pub(crate) fn report(&self) -> ForwardingReport {
        let mode = |device: &Device| (device.name.clone(), device.served.map(|(_, mode)| mode));
        ForwardingReport { devices: self.devices.iter().map(mode).collect(), totals: self.programs.totals() }
    }

    // ------------------------------------------------------------------ coming and going

    /// Looks whether devices have gone, returned, or take other frames than before; `tell` hears what has changed.
    pub(crate) fn look(&mut self, now: Instant, at_once: bool, mut tell: impl FnMut(&str, Change)) {
        if !at_once && now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        let netlink = &mut self.netlink;
        let links: Vec<Option<Link>> = self
            .devices
            .iter()
            .map(|device| netlink.link_named(&device.name).ok().flatten().filter(|link| link.up))
            .collect();
        let netdev = &mut self.netdev;
        let takes: Vec<bool> =
            links.iter().map(|link| link.as_ref().is_some_and(|it| takes(netdev, it))).collect();
        let (gn_takes, gi_take) = match takes.split_first() {
            Some((gn, gi)) => (*gn, gi.iter().all(|takes| *takes)),
            None => return,
        };
        for (device, link) in self.devices.iter_mut().zip(&links) {
            // Frames of Gn leave by Gi, and those of Gi by Gn.
            let native = if device.side == Side::Gn { gi_take } else { gn_takes };
            let mode = if native { ForwardingMode::Native } else { ForwardingMode::Generic };
            device.follow(&mut self.programs, link.as_ref(), mode, &mut tell);
        }
        self.tell_networks(&links);
        if now >= self.confirm_at {
            self.confirm_at = now + CONFIRM_EVERY;
            links.iter().flatten().for_each(|link| self.netlink.confirm_neighbours(link.index));
        }
    }

    /// Tells the programs which index each device has now.
    fn tell_networks(&mut self, links: &[Option<Link>]) {
        let served = |device: &Device| device.served.map_or(0, |(index, _)| index);
        self.programs.set_gn(self.devices.first().map_or(0, served));
        for (number, network) in (0..).zip(&self.networks) {
            let Some(network) = network else { continue };
            let mut both = self.devices.iter().zip(links);
            let device = both.find(|(device, _)| device.name == network.interface).map(|(device, _)| device);
            let tun = self.netlink.link_named(&network.tun).ok().flatten();
            let forwards = |version: &str| {
                let path = format!("/proc/sys/net/{version}/conf/{}/forwarding", network.interface);
                std::fs::read_to_string(path).is_ok_and(|setting| setting.trim() != "0")
            };
            let now = Network {
                device: device.filter(|_| tun.is_some()).map_or(0, served),
                tun: tun.as_ref().map_or(0, |tun| tun.index),
                mtu: tun.map_or(0, |tun| u32::try_from(tun.mtu).unwrap_or(u32::MAX)),
                forwards_v4: forwards("ipv4"),
                forwards_v6: forwards("ipv6"),
            };
            self.programs.set_network(number, now);
        }
    }
}

impl Device {
    fn new(name: &str, side: Side) -> Self {
        Self { name: name.to_owned(), side, served: None, generic_only: false, refusal_told: false }
    }

    /// Serves the device as it is now; a device that is away or down is not served.
    fn follow(
        &mut self,
        programs: &mut Gateway,
        link: Option<&Link>,
        mode: ForwardingMode,
        tell: &mut impl FnMut(&str, Change),
    ) {
        let index = link.map(|link| link.index);
        if let Some((former, served)) = self.served {
            let wanted = if self.generic_only { ForwardingMode::Generic } else { mode };
            if index == Some(former) && served == wanted {
                return;
            }
            programs.detach(self.side, former);
            self.served = None;
            if index != Some(former) {
                self.generic_only = false;
                tell(&self.name, Change::Gone);
            }
        }
        let Some(index) = index else { return };
        let mut mode = mode;
        let mut attached = programs.attach(self.side, index, mode.of_xdp());
        if mode == ForwardingMode::Native && attached.as_ref().is_err_and(has_no_native_mode) {
            (mode, self.generic_only) = (ForwardingMode::Generic, true);
            attached = programs.attach(self.side, index, mode.of_xdp());
        }
        match attached {
            Ok(()) => {
                (self.served, self.refusal_told) = (Some((index, mode)), false);
                tell(&self.name, Change::Served(mode));
            }
            Err(error) => {
                if !core::mem::replace(&mut self.refusal_told, true) {
                    tell(&self.name, Change::Refused(format!("{}: {error}", self.name)));
                }
            }
        }
    }
}

fn has_no_native_mode(error: &gannet_demux::Error) -> bool {
    matches!(error, gannet_demux::Error::Kernel(bpf::Error::NoNativeXdp(_) | bpf::Error::MtuTooLarge(_)))
}

/// Does the driver of a device take frames that a program gives to it? An old kernel does not say; there hardware does and what
/// is made of software does not.
fn takes(netdev: &mut Option<Netdev>, link: &Link) -> bool {
    let said = netdev.as_mut().and_then(|netdev| netdev.takes_redirected(link.index).ok());
    said.unwrap_or_else(|| std::path::Path::new("/sys/class/net").join(&link.name).join("device").exists())
}
