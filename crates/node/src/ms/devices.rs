//! Network devices of contexts, with [`NPduDelivery::Devices`](super::NPduDelivery::Devices): a device for each address of
//! a mobile.
//!
//! A context that is activated with an address of its own brings a device ([`MsEvent::DeviceUp`]), which bears its NSAPI.
//! Secondary contexts have the address of their first, and so its device. It stays as long as one of them is active, and
//! goes with the last ([`MsEvent::DeviceDown`]). A packet that comes from the device goes through that of its contexts whose
//! traffic flow template wants it ([`Mobile::bearer_of_device`]).
//!
//! A device is left alone ([`MsEvent::DeviceHeld`]) while its contexts in acknowledged mode have as much unconfirmed as may be,
//! while the mobile must not send, and while the bearer takes nothing or has as much of the mobile as is of use: what waits, waits by flow in front of the node.

use super::links::{has_no_room, may_send};
use super::mobile::Mobile;
use super::{Ms, MsEvent};
use gannet_machine::Peer;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::ProtocolConfiguration;

/// Devices that a mobile can have are told apart by four bits.
const PER_MOBILE: u32 = 16;

/// A device of a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// Which mobile.
    pub mobile: u32,
    /// Which of its devices: the NSAPI of the context that brought it. Where a device of an earlier context with this NSAPI is
    /// still there, a number below 5.
    pub nsapi: Nsapi,
}

impl Device {
    /// What stands for it at the port [`super::TUN`].
    #[must_use]
    pub const fn peer(self) -> Peer {
        Peer::Slot(self.mobile.wrapping_mul(PER_MOBILE) + self.nsapi.0 as u32 % PER_MOBILE)
    }

    /// The device in a slot of that port.
    #[must_use]
    pub fn of_slot(slot: u32) -> Self {
        let nsapi = u8::try_from(slot % PER_MOBILE).unwrap_or(0);
        Self { mobile: slot / PER_MOBILE, nsapi: Nsapi(nsapi) }
    }
}

impl Mobile {
    /// The device of a context that has become active: that of those which have its address, or a new one.
    pub(super) fn device_for(&self, nsapi: Nsapi) -> Nsapi {
        let shared = self.sm.sharers(nsapi).find_map(|other| Some(self.bearer(other)?.device));
        let is_taken = |device: &Nsapi| self.bearers.iter().flatten().any(|bearer| bearer.device == *device);
        let mut free = core::iter::once(nsapi).chain((0..5).map(Nsapi)).filter(|device| !is_taken(device));
        shared.or_else(|| free.next()).unwrap_or(nsapi)
    }

    /// So much of a device waits for the network's confirmation that nothing more is to come, or the mobile must not send.
    fn is_to_be_left_alone(&self, device: Nsapi, is_short: bool) -> bool {
        let is_held = self.held_devices & bit(device) != 0;
        let is_full = || has_no_room(self, is_held, is_short, |bearer| bearer.device == device);
        self.link.is_full || !may_send(self) || is_full()
    }
}

const fn bit(device: Nsapi) -> u16 {
    1 << (device.0 as u32 % PER_MOBILE)
}

impl Ms {
    /// A context has become active: where it is the first of its device, that is needed.
    pub(super) fn device_needed(&mut self, index: u32, nsapi: Nsapi, pco: Option<&ProtocolConfiguration>) {
        let has_devices = self.config.delivery == super::NPduDelivery::Devices;
        let Some(mobile) = self.mobiles.get(index as usize).filter(|_| has_devices) else { return };
        let Some(bearer) = mobile.bearer(nsapi) else { return };
        let (device, address) = (Device { mobile: index, nsapi: bearer.device }, bearer.address);
        if mobile.bearers.iter().flatten().filter(|bearer| bearer.device == device.nsapi).count() == 1 {
            self.tell(MsEvent::DeviceUp { device, nsapi, address, pco: pco.cloned() });
        }
        self.tell_room_of_devices(index);
    }

    /// A context is not active any more.
    pub(super) fn device_left(&mut self, index: u32, nsapi: Nsapi) {
        let has_devices = self.config.delivery == super::NPduDelivery::Devices;
        let Some(mobile) = self.mobiles.get_mut(index as usize).filter(|_| has_devices) else { return };
        if mobile.bearers.iter().flatten().all(|bearer| bearer.device != nsapi) {
            mobile.held_devices &= !bit(nsapi);
            self.tell(MsEvent::DeviceDown { device: Device { mobile: index, nsapi } });
        }
    }

    /// The bearer takes nothing more, or takes it again.
    pub(super) fn tell_room_of_all(&mut self) {
        if self.config.delivery == super::NPduDelivery::Devices {
            for index in 0..u32::try_from(self.mobiles.len()).unwrap_or(u32::MAX) {
                self.tell_room_of_devices(index);
            }
        }
    }

    /// [`Ms::tell_room`](super::Ms) for each device of a mobile.
    pub(super) fn tell_room_of_devices(&mut self, index: u32) {
        let is_short = self.is_short_of_room();
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let mut held = 0;
        for bearer in mobile.bearers.iter().flatten() {
            let is_full = || self.bearer_is_full || mobile.is_to_be_left_alone(bearer.device, is_short);
            if held & bit(bearer.device) == 0 && is_full() {
                held |= bit(bearer.device);
            }
        }
        let changed = core::mem::replace(&mut mobile.held_devices, held) ^ held;
        if changed == 0 {
            return;
        }
        for nsapi in (0..16).map(Nsapi).filter(|nsapi| changed & bit(*nsapi) != 0) {
            let device = Device { mobile: index, nsapi };
            self.tell(MsEvent::DeviceHeld { device, on: held & bit(nsapi) != 0 });
        }
    }
}
