//! A mobile leaves as octets, and arrives as octets: restart, change of core, inter-SGSN routing area update and a pool
//! are this one mechanism.
//!
//! Everything about the mobile is in the octets. Indices into this node's tables are not: its tunnels name their paths
//! by address and its contexts their APN by name. Its TEIDs hold its slot; where it arrives in another one, the GGSNs
//! must be told (Update PDP Context), which is the caller's concern: [`Imported::moved`] says so.

use super::directory::BvcAddress;
use super::mobile::Mobile;
use super::mobility::mobile_key;
use super::{Sgsn, owner};
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_proto::machine::Context;
use gannet_wire::id::{Imsi, Nsapi, Tlli};
use gannet_wire::l3::ie::{Apn, MsRadioAccessCapability};
use serde::{Deserialize, Serialize};

/// The addresses of one tunnel's far end, and the name of its access point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Endpoint {
    nsapi: Nsapi,
    control: IpAddr,
    user: IpAddr,
}

/// What travels.
#[derive(Debug, Serialize, Deserialize)]
struct Travelling {
    slot: Slot,
    mobile: Mobile,
    endpoints: Vec<Endpoint>,
    apns: Vec<(u16, Apn)>,
    radio_capability: Option<MsRadioAccessCapability>,
}

/// A mobile that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Where it is now.
    pub slot: Slot,
    /// Its slot is another than before: its TEIDs have changed, and its GGSNs do not know that yet.
    pub moved: bool,
}

/// Why a mobile could not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportError {
    /// The octets are no mobile.
    Unreadable,
    /// The subscriber is here already.
    Present,
    /// The table of mobiles or of paths is full.
    Full,
}

impl Sgsn {
    /// Takes a mobile out as octets; `None` where it is not here. Frames that are held for it are dropped by name; its
    /// tunnels and its timers go with it.
    pub fn export(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> Option<Vec<u8>> {
        let slot = self.directory.by_imsi(imsi)?;
        let octets = self.copy_out(slot)?;
        self.forget_mobile(cx, slot);
        Some(octets)
    }

    /// A mobile as octets, which stays.
    #[must_use]
    pub fn copy_out(&self, slot: Slot) -> Option<Vec<u8>> {
        let mobile = self.mobiles.get(slot)?.clone();
        let path = |index| self.gtp.paths().get(index).map(|path| path.address);
        let endpoints = mobile.bearers().filter_map(|(nsapi, bearer)| {
            let tunnel = bearer.tunnel?;
            Some(Endpoint { nsapi, control: path(tunnel.control_path)?, user: path(tunnel.user_path)? })
        });
        let apns = mobile.sm.iter().filter_map(|(_, context)| {
            let (apn, _) = self.access_points.get(context.apn())?;
            Some((context.apn(), apn.clone()))
        });
        let travelling = Travelling {
            slot,
            endpoints: endpoints.collect(),
            apns: apns.collect(),
            radio_capability: self.radio_capability.get(&slot).cloned(),
            mobile: mobile.clone(),
        };
        postcard::to_stdvec(&travelling).ok()
    }

    /// Takes a mobile in.
    ///
    /// # Errors
    /// See [`ImportError`]; nothing has changed then.
    pub fn import(&mut self, cx: &mut Context<'_>, octets: &[u8]) -> Result<Imported, ImportError> {
        let travelling: Travelling = postcard::from_bytes(octets).map_err(|_| ImportError::Unreadable)?;
        let Travelling { slot: former, mut mobile, endpoints, apns, radio_capability } = travelling;
        let imsi = mobile.imsi().ok_or(ImportError::Unreadable)?;
        if self.directory.by_imsi(imsi).is_some() {
            return Err(ImportError::Present);
        }
        let mut here = Vec::new();
        for (number, apn) in apns {
            here.push((number, self.access_points.number_of(&apn).map_err(|_| ImportError::Full)?));
        }
        mobile.sm.renumber_apns(|number| {
            here.iter().find(|(there, _)| *there == number).map_or(number, |(_, here)| *here)
        });
        for endpoint in &endpoints {
            let bearer = mobile.bearer_mut(endpoint.nsapi);
            let Some(tunnel) = bearer.and_then(|bearer| bearer.tunnel.as_mut()) else { continue };
            let control = (endpoint.control, tunnel.peer_control);
            let user = (endpoint.user, tunnel.peer_user);
            let next_sequence = tunnel.next_sequence;
            let Some(opened) = self.gtp.open(cx, control, user, None) else { return Err(ImportError::Full) };
            *tunnel = opened;
            tunnel.next_sequence = next_sequence;
        }
        let slot = self.place(former, mobile).ok_or(ImportError::Full)?;
        self.name(cx, slot, imsi, radio_capability);
        Ok(Imported { slot, moved: slot != former })
    }

    /// Puts a mobile into the slot that it had, or into another.
    fn place(&mut self, former: Slot, mobile: Mobile) -> Option<Slot> {
        match self.mobiles.insert_at(former, mobile) {
            Ok(()) => Some(former),
            Err(mobile) => self.mobiles.insert(mobile).ok(),
        }
    }

    fn name(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        imsi: Imsi,
        capability: Option<MsRadioAccessCapability>,
    ) {
        self.directory.name_imsi(imsi, slot);
        if let Some(capability) = capability {
            self.radio_capability.insert(slot, capability);
        }
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        for ptmsi in [mobile.gmm.ptmsi(), mobile.gmm.new_ptmsi()].into_iter().flatten() {
            self.directory.name_ptmsi(ptmsi, slot);
        }
        let foreign: Option<(BvcAddress, Tlli)> = mobile.foreign;
        if let Some((bvc, tlli)) = foreign {
            self.directory.name_foreign_tlli(bvc, tlli, slot);
        }
        mobile.gmm.deadlines.arm(mobile_key(owner::GMM, slot), cx.timers);
        mobile.llc.arm(mobile_key(owner::LLC, slot), cx.timers);
        if let Some(at) = mobile.sm.deadline(cx.now) {
            cx.timers.wake(mobile_key(owner::SM, slot), at);
        }
    }
}
