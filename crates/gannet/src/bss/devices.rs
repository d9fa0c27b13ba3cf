//! TUN devices of mobiles: made at the start, up with the mobile's address while it has an active PDP context.

use crate::node::tun;
use core::net::Ipv4Addr;
use gannet_machine::Peer;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::ms::{Ms, MsEvent, TUN};
use gannet_ops::config::bss::TunDevices;
use gannet_rt::{EventLoop, MachineId, Outside, TunAddress};
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::PdpAddress;
use std::io;

/// The devices of the first mobiles.
#[derive(Debug, Default)]
pub struct Devices {
    /// By mobile: the device's name, and the context whose address it has.
    devices: Vec<(String, Option<Nsapi>)>,
}

impl Devices {
    /// Makes the devices, all down.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn open(
        &mut self,
        wanted: &TunDevices,
        mobiles: u32,
        node: &mut EventLoop,
        ms: MachineId<Ms>,
    ) -> Result<(), String> {
        for mobile in 0..wanted.count.min(mobiles) {
            let name = format!("{}{mobile}", wanted.prefix);
            let device = tun::open(&name)?;
            let attached = node.attach_tun(ms, TUN, Peer::Slot(mobile), device, Some("TUN"));
            attached.map_err(|error| tun::describe(&name, &error))?;
            self.devices.push((name, None));
        }
        Ok(())
    }

    /// The name of a mobile's device.
    pub fn name(&self, mobile: u32) -> Option<&str> {
        self.devices.get(mobile as usize).map(|(name, _)| name.as_str())
    }

    /// Follows what happens to a mobile's contexts: the device has the address of the first one.
    pub fn follow(&mut self, ms: &Ms, event: &MsEvent, outside: &mut Outside<'_>) {
        let (mobile, result) = match *event {
            // What a mobile has no room for waits in its device.
            MsEvent::HeldBack { mobile, on } => {
                outside.hold(TUN, Peer::Slot(mobile), on);
                return;
            }
            MsEvent::Activated { mobile, nsapi, address, .. }
            | MsEvent::Readdressed { mobile, nsapi, address } => {
                (mobile, self.activated(mobile, nsapi, address, outside))
            }
            MsEvent::Deactivated { mobile, nsapi, .. } => {
                (mobile, self.deactivated(ms, mobile, nsapi, outside))
            }
            _ => return,
        };
        if let Err(error) = result {
            let name = self.name(mobile).unwrap_or_default().to_owned();
            outside.log().line(
                Category::Main,
                Level::Error,
                format_args!("{}", tun::describe(&name, &error)),
            );
        }
    }

    fn activated(
        &mut self,
        mobile: u32,
        nsapi: Nsapi,
        address: PdpAddress,
        outside: &Outside<'_>,
    ) -> io::Result<()> {
        let Some((_, owner)) = self.devices.get_mut(mobile as usize) else { return Ok(()) };
        let Some(device) = outside.tun(TUN, Peer::Slot(mobile)) else { return Ok(()) };
        let (address, ipv6) = match address.addresses() {
            (Some(v4), ipv6) => (TunAddress::V4(v4, 32), ipv6),
            (None, Some(v6)) => (TunAddress::V6(v6, 128), None),
            (None, None) => return Ok(()),
        };
        if owner.is_some_and(|owner| owner != nsapi) {
            return Ok(());
        }
        *owner = Some(nsapi);
        tun::bring_up(device, address)?;
        ipv6.map_or(Ok(()), |ipv6| tun::add_ipv6(device, ipv6, 128))
    }

    fn deactivated(&mut self, ms: &Ms, mobile: u32, nsapi: Nsapi, outside: &Outside<'_>) -> io::Result<()> {
        let Some((_, owner)) = self.devices.get_mut(mobile as usize) else { return Ok(()) };
        if *owner != Some(nsapi) {
            return Ok(());
        }
        *owner = None;
        let others = ms.view(mobile).into_iter().flat_map(|view| view.contexts);
        let mut others = others.filter(|context| context.nsapi != nsapi);
        if let Some((nsapi, address)) = others.find_map(|context| Some((context.nsapi, context.address?))) {
            return self.activated(mobile, nsapi, address, outside);
        }
        let Some(device) = outside.tun(TUN, Peer::Slot(mobile)) else { return Ok(()) };
        device.set_up(false)?;
        device.set_address(TunAddress::V4(Ipv4Addr::UNSPECIFIED, 32)).or_else(|error| match error.kind() {
            // The kernel has taken the address away before it is asked for its mask.
            io::ErrorKind::AddrNotAvailable => Ok(()),
            _ => Err(error),
        })
    }
}
