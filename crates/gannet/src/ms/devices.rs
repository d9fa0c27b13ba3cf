//! The network devices of contexts: made when a context becomes active, in the network namespace that is asked for, with
//! address, routes and name servers; gone with the context, and with this process.

use super::name_servers::{Entry, NameServers, Way};
use super::plan::Context;
use crate::node::tun;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::ms::devices::Device;
use gannet_node::ms::{Ms, MsEvent, TUN, name_servers};
use gannet_rt::{DeviceRoute, Outside, Tun, TunAddress, in_network_namespace};
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{PdpAddress, ProtocolConfiguration};
use std::collections::BTreeMap;
use std::io;

/// The longest packet of a device whose bearer has said nothing: what crosses GPRS without being cut (03.60 clause 9.3).
const MTU_OCTETS: u16 = 1500;
/// The shortest that IPv4 and IPv6 ask for.
const MTU_MIN_V4: u16 = 576;
const MTU_MIN_V6: u16 = 1280;
/// What LLC and SNDCP add to an N-PDU of one segment: 6 and 4 octets in a UI frame, 7 and 3 in an I frame.
const AROUND_OCTETS: u16 = 10;

/// A device that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Up {
    /// Its name.
    pub name: String,
    /// The network namespace in which it is.
    pub netns: Option<String>,
    /// The context that brought it.
    pub context: String,
    /// Its addresses.
    pub v4: Option<Ipv4Addr>,
    /// As above.
    pub v6: Option<Ipv6Addr>,
    /// The longest packet, in octets.
    pub mtu: u16,
    /// The MTU is as the bearer has it.
    follows_bearer: bool,
    /// The name servers of its network, where they were taken over.
    pub name_servers: Vec<IpAddr>,
    /// Nothing is taken from it at the moment.
    pub held: bool,
}

/// All of them.
#[derive(Debug)]
pub struct Devices {
    contexts: Vec<Context>,
    up: BTreeMap<Device, Up>,
    name_servers: NameServers,
}

impl Devices {
    /// None yet.
    pub fn new(contexts: Vec<Context>) -> Self {
        Self { contexts, up: BTreeMap::new(), name_servers: NameServers::default() }
    }

    /// The contexts of every mobile.
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// Takes other contexts; devices that are there stay as they are.
    pub fn set_contexts(&mut self, contexts: Vec<Context>) {
        self.contexts = contexts;
    }

    /// The context of this name.
    pub fn context(&self, name: &str) -> Option<&Context> {
        self.contexts.iter().find(|context| context.name == name)
    }

    /// The context with this NSAPI.
    pub fn context_of(&self, nsapi: Nsapi) -> Option<&Context> {
        self.contexts.iter().find(|context| context.nsapi == nsapi)
    }

    /// Those that are there.
    pub fn all(&self) -> impl Iterator<Item = (Device, &Up)> {
        self.up.iter().map(|(device, up)| (*device, up))
    }

    /// Those of a mobile.
    pub fn of_mobile(&self, mobile: u32) -> impl Iterator<Item = (Device, &Up)> {
        self.all().filter(move |(device, _)| device.mobile == mobile)
    }

    /// Follows what happens to the contexts of mobiles. What has become of a device is said, and told in the log.
    pub fn follow(&mut self, ms: &Ms, event: &MsEvent, outside: &mut Outside<'_>) -> Option<(u32, String)> {
        let (mobile, result) = match event {
            MsEvent::DeviceUp { device, nsapi, address, pco } => {
                let link = ms.mobile(device.mobile).and_then(|mobile| mobile.link.mtu_octets);
                (device.mobile, self.bring_up((*device, *nsapi), *address, (pco.as_ref(), link), outside))
            }
            MsEvent::DeviceDown { device } => (device.mobile, Ok(self.take_down(*device, outside)?)),
            MsEvent::DeviceHeld { device, on } => {
                outside.hold(TUN, device.peer(), *on);
                self.up.get_mut(device)?.held = *on;
                return None;
            }
            MsEvent::Readdressed { mobile, nsapi, address } => {
                let device = Device { mobile: *mobile, nsapi: *nsapi };
                (*mobile, self.readdress(device, *address, outside)?)
            }
            MsEvent::LinkMtu { mobile, octets } => {
                self.fit(*mobile, *octets, outside);
                return None;
            }
            _ => return None,
        };
        let (level, text) = match result {
            Ok(text) => (Level::Info, text),
            Err(text) => (Level::Error, text),
        };
        outside.log().line(Category::Pdp, level, format_args!("{text}"));
        Some((mobile, text))
    }

    fn bring_up(
        &mut self,
        (device, nsapi): (Device, Nsapi),
        address: PdpAddress,
        (pco, link): (Option<&ProtocolConfiguration>, Option<u16>),
        outside: &mut Outside<'_>,
    ) -> Result<String, String> {
        let Some(context) = self.context_of(nsapi) else {
            return Err(format!("NSAPI {nsapi}: no context is configured with it, so it has no device"));
        };
        let (v4, v6) = address.addresses();
        let mut up = Up {
            name: context.device_name(device.mobile),
            netns: context.device.netns.clone(),
            context: context.name.clone(),
            v4,
            v6,
            mtu: context.device.mtu.unwrap_or_else(|| mtu_of(link, v6.is_some())),
            follows_bearer: context.device.mtu.is_none(),
            name_servers: Vec::new(),
            held: false,
        };
        let routes = routes(context, (v4.is_some(), v6.is_some()));
        let made = in_network_namespace(up.netns.as_deref(), || open(&up, &routes));
        let (tun, complaints) = made.map_err(|error| describe(&up, &error))?;
        let say = |outside: &mut Outside<'_>, text: String| {
            outside.log().line(Category::Pdp, Level::Notice, format_args!("{text}"));
        };
        complaints.into_iter().for_each(|complaint| say(outside, format!("{}: {complaint}", up.name)));
        outside.attach_tun(TUN, device.peer(), tun, Some("TUN")).map_err(|error| describe(&up, &error))?;
        let servers: Vec<IpAddr> =
            pco.map(name_servers).unwrap_or_default().into_iter().map(IpAddr::V4).collect();
        if context.device.dns {
            let is_default = context.device.default_route.is_some();
            let entry = Entry { device: &up.name, servers: &servers, is_default };
            match Way::of(up.netns.as_deref()) {
                _ if servers.is_empty() => {
                    say(outside, format!("{}: the network has told no name server", up.name));
                }
                None => {
                    let text =
                        "name servers are not taken over: there is neither systemd-resolved nor resolvconf";
                    say(outside, format!("{}: {text}", up.name));
                }
                Some(way) => match self.name_servers.set(&way, entry) {
                    Ok(()) => up.name_servers = servers,
                    Err(error) => say(outside, format!("{}: name servers: {error}", up.name)),
                },
            }
        }
        let text = format!("{}{} is up: {address}, MTU {}", up.name, in_netns(&up), up.mtu);
        self.up.insert(device, up);
        Ok(text)
    }

    fn take_down(&mut self, device: Device, outside: &mut Outside<'_>) -> Option<String> {
        outside.detach(TUN, device.peer());
        let up = self.up.remove(&device)?;
        if !up.name_servers.is_empty() {
            self.name_servers.clear(&up.name);
        }
        Some(format!("{}{} is gone", up.name, in_netns(&up)))
    }

    /// The network has advertised another prefix.
    fn readdress(
        &mut self,
        device: Device,
        address: PdpAddress,
        outside: &Outside<'_>,
    ) -> Option<Result<String, String>> {
        let up = self.up.get_mut(&device)?;
        let (_, Some(v6)) = address.addresses() else { return None };
        let tun = outside.tun(TUN, device.peer())?;
        let former = up.v6.filter(|former| *former != v6);
        let done = in_network_namespace(up.netns.as_deref(), || {
            tun.set_address(TunAddress::V6(v6, 128))?;
            former.map_or(Ok(()), |former| tun.remove_ipv6(former, 128))
        });
        if let Err(error) = done {
            return Some(Err(describe(up, &error)));
        }
        up.v6 = Some(v6);
        Some(Ok(format!("{}{}: {address} now", up.name, in_netns(up))))
    }

    /// The longest LL-PDU of a mobile's bearer is another.
    fn fit(&mut self, mobile: u32, octets: u16, outside: &mut Outside<'_>) {
        let of_mobile = |(device, up): &(&Device, &mut Up)| device.mobile == mobile && up.follows_bearer;
        for (device, up) in self.up.iter_mut().filter(of_mobile) {
            let mtu = mtu_of(Some(octets), up.v6.is_some());
            let Some(tun) = outside.tun(TUN, device.peer()).filter(|_| mtu != up.mtu) else { continue };
            match in_network_namespace(up.netns.as_deref(), || tun.set_mtu(mtu)) {
                Ok(()) => up.mtu = mtu,
                Err(error) => {
                    let text = describe(up, &error);
                    outside.log().line(Category::Main, Level::Error, format_args!("{text}"));
                }
            }
        }
    }
}

/// What fits into one segment.
fn mtu_of(link: Option<u16>, has_v6: bool) -> u16 {
    let least = if has_v6 { MTU_MIN_V6 } else { MTU_MIN_V4 };
    link.map_or(MTU_OCTETS, |octets| octets.saturating_sub(AROUND_OCTETS).clamp(least, MTU_OCTETS))
}

fn in_netns(up: &Up) -> String {
    up.netns.as_ref().map(|netns| format!(" in {netns}")).unwrap_or_default()
}

fn describe(up: &Up, error: &io::Error) -> String {
    match (&up.netns, error.kind()) {
        (Some(netns), io::ErrorKind::NotFound) => {
            format!("TUN device {}: network namespace {netns}: {error}", up.name)
        }
        _ => tun::describe(&up.name, error),
    }
}

/// The routes of a context with an address of these versions.
fn routes(context: &Context, (has_v4, has_v6): (bool, bool)) -> Vec<DeviceRoute> {
    let of_version = |to: &IpAddr| if to.is_ipv4() { has_v4 } else { has_v6 };
    let any = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    let default = context
        .device
        .default_route
        .iter()
        .flat_map(|route| any.into_iter().map(|to| DeviceRoute { to, length: 0, metric: route.metric }));
    let listed = context.device.routes.iter();
    let listed = listed.map(|route| DeviceRoute { to: route.to, length: route.length, metric: route.metric });
    default.chain(listed).filter(|route| of_version(&route.to)).collect()
}

/// Makes the device where the calling thread is, and says what could not be done of the rest.
fn open(up: &Up, routes: &[DeviceRoute]) -> io::Result<(Tun, Vec<String>)> {
    let tun = Tun::open(&up.name)?;
    tun::set_ipv6(tun.name(), false);
    tun.set_mtu(up.mtu)?;
    if let Some(v4) = up.v4 {
        tun.set_address(TunAddress::V4(v4, 32))?;
    }
    if up.v6.is_some() {
        // The mobile asks for routers itself, and the kernel needs no address of its own making.
        tun::set_of_ipv6(tun.name(), "accept_ra", "0");
        tun::set_of_ipv6(tun.name(), "addr_gen_mode", "1");
        tun::set_ipv6(tun.name(), true);
    }
    tun.set_up(true)?;
    if let Some(v6) = up.v6 {
        tun.set_address(TunAddress::V6(v6, 128))?;
    }
    let mut complaints = Vec::new();
    for route in routes {
        if let Err(error) = tun.add_route(*route) {
            let to = format!("{}/{}", route.to, route.length);
            complaints.push(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("no route to {to}: there is one with metric {} already", route.metric)
                }
                _ => format!("no route to {to}: {error}"),
            });
        }
    }
    Ok((tun, complaints))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_fit_the_bearer_in_one_segment() {
        // A frame of Ethernet less the header of adaptation: figure 9 of the paper has 1482.
        assert_eq!(mtu_of(Some(1492), false), 1482);
        assert_eq!((mtu_of(None, true), mtu_of(Some(9000), false)), (1500, 1500));
        assert_eq!((mtu_of(Some(146), false), mtu_of(Some(146), true)), (576, 1280));
    }
}
