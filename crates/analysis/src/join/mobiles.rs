//! Who is who: TLLI, P-TMSI, IMSI, address and tunnel of one mobile, learnt from what passes.
//!
//! A TLLI that is made of a P-TMSI, local or foreign, stands for that P-TMSI (03.03 clause 2.6 [23.003]); a random one
//! stands for itself. Where an IMSI says that a foreign TLLI is of another mobile than the local one of the same number, as
//! another SGSN gave that P-TMSI, each of them is followed for itself. The network gives a new P-TMSI in ATTACH ACCEPT,
//! ROUTING AREA UPDATE ACCEPT and P-TMSI REALLOCATION COMMAND. The TLLI made of it is the same mobile's from then on, and the
//! old one remains so until somebody else gets it. An IMSI comes with attach, identification, paging, a DL-UNITDATA and Create
//! PDP Context; two names that turn out to be of one IMSI are one mobile from then on.

use crate::decode::gtp::Signalling;
use core::net::IpAddr;
use gannet_wire::gtp::header::message_type;
use gannet_wire::id::{Imsi, PTmsi, Tlli, TlliKind};
use gannet_wire::l3::ie::{MobileIdentity, PdpAddress};
use gannet_wire::l3::{GmmMessage, L3Message, SmMessage};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Mobiles that a reading tells apart.
const MOBILES_MAX: usize = 200_000;
/// Names that one mobile is listed with.
const LISTED_MAX: usize = 64;
/// Entries of a table.
const TABLE_MAX: usize = 1_000_000;

type Table<K, V> = HashMap<K, V, foldhash::quality::RandomState>;

/// A mobile and its names, in the order in which they were learnt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mobile {
    /// IMSI.
    pub imsi: Option<Imsi>,
    /// TLLIs.
    pub tllis: Vec<u32>,
    /// Addresses of its contexts.
    pub addresses: Vec<IpAddr>,
    /// Endpoints of its tunnels: whose, and number.
    pub tunnels: Vec<(IpAddr, u32)>,
    same_as: Option<u32>,
}

impl Mobile {
    /// What it is called: its IMSI, or its first TLLI.
    #[must_use]
    pub fn name(&self) -> String {
        match (self.imsi, self.tllis.first()) {
            (Some(imsi), _) => format!("IMSI {imsi}"),
            (None, Some(tlli)) => format!("TLLI {tlli:08x}"),
            (None, None) => "mobile without a name".to_owned(),
        }
    }
}

/// Which way a tunnel's packets go: to the SGSN is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// The mobile.
    pub mobile: u32,
    /// The receiver is the SGSN.
    pub is_down: bool,
}

/// All mobiles of a reading.
#[derive(Debug, Default)]
pub struct Mobiles {
    all: Vec<Mobile>,
    by_tlli: Table<u32, u32>,
    by_imsi: Table<Imsi, u32>,
    by_address: Table<IpAddr, u32>,
    tunnels: Table<(IpAddr, u32), Tunnel>,
    control: Table<(IpAddr, u32), u32>,
    /// Requests by their sender and sequence number.
    asked: Table<(IpAddr, u16), u32>,
    /// Which mobile became which, and nobody was told.
    merged: Vec<(u32, u32)>,
    /// Names that were not learnt, because a table was full.
    pub left_out: u64,
}

/// The local and the foreign TLLI of one P-TMSI; none of a random one.
const fn other_form(tlli: u32) -> Option<u32> {
    match Tlli(tlli).kind() {
        TlliKind::Local | TlliKind::Foreign => Some(tlli ^ 0x4000_0000),
        _ => None,
    }
}

fn list<T: PartialEq>(names: &mut Vec<T>, name: T) {
    if names.len() < LISTED_MAX && !names.contains(&name) {
        names.push(name);
    }
}

impl Mobiles {
    /// The mobile that an index stands for by now.
    #[must_use]
    pub fn canonical(&self, mut index: u32) -> u32 {
        while let Some(next) = self.get(index).and_then(|mobile| mobile.same_as) {
            index = next;
        }
        index
    }

    fn get(&self, index: u32) -> Option<&Mobile> {
        self.all.get(usize::try_from(index).ok()?)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Mobile> {
        self.all.get_mut(usize::try_from(index).ok()?)
    }

    /// For each index the one that it stands for by now, and that mobile's name.
    pub fn names(&self) -> impl Iterator<Item = (u32, String)> + '_ {
        (0..).zip(&self.all).map(|(index, _)| {
            let index = self.canonical(index);
            (index, self.get(index).map_or_else(String::new, Mobile::name))
        })
    }

    /// All mobiles with their indices; those that turned out to be another one are left out.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Mobile)> {
        (0..).zip(&self.all).filter(|(_, mobile)| mobile.same_as.is_none())
    }

    fn create(&mut self) -> Option<u32> {
        if self.all.len() == MOBILES_MAX {
            self.left_out += 1;
            return None;
        }
        self.all.push(Mobile::default());
        u32::try_from(self.all.len() - 1).ok()
    }

    /// The mobile of a TLLI: whose it is itself, or that of the same P-TMSI in its other form.
    fn known(&self, tlli: u32) -> Option<u32> {
        let found = self.by_tlli.get(&tlli);
        let found = found.or_else(|| self.by_tlli.get(&other_form(tlli)?));
        found.map(|index| self.canonical(*index))
    }

    /// The mobile of a TLLI, which is made where there is none.
    pub fn of_tlli(&mut self, tlli: u32) -> Option<u32> {
        if let Some(known) = self.known(tlli) {
            if let Some(mobile) = self.get_mut(known).filter(|mobile| mobile.tllis.last() != Some(&tlli)) {
                list(&mut mobile.tllis, tlli);
            }
            return Some(known);
        }
        if tlli == Tlli::UNASSIGNED.0 {
            return None;
        }
        let index = self.create()?;
        self.name_tlli(index, tlli);
        Some(index)
    }

    /// The IMSI of a mobile.
    #[must_use]
    pub fn imsi_of(&self, index: u32) -> Option<Imsi> {
        self.get(self.canonical(index))?.imsi
    }

    /// Mobiles that turned out to be another one since this was asked last: which, and which one.
    pub fn take_merged(&mut self) -> Vec<(u32, u32)> {
        core::mem::take(&mut self.merged)
    }

    /// A TLLI is of this IMSI. Gives the mobile.
    pub fn is_of(&mut self, imsi: Imsi, tlli: u32) -> Option<u32> {
        let index = self.of_tlli(tlli)?;
        let named = self.name_imsi(index, imsi);
        if named != self.canonical(index) {
            self.name_tlli(named, tlli);
        }
        Some(named)
    }

    /// A mobile has this TLLI as well. What was known by it alone is the same mobile. Gives its index.
    pub fn also(&mut self, index: u32, tlli: u32) -> u32 {
        let index = self.canonical(index);
        match self.known(tlli) {
            Some(other) if other != index && self.may_be_one(index, other) => self.merge(index, other),
            Some(other) if other == index => index,
            _ => {
                self.name_tlli(index, tlli);
                index
            }
        }
    }

    fn may_be_one(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.imsi_of(one), self.imsi_of(other));
        one.is_none() || other.is_none() || one == other
    }

    /// The mobile of an address.
    #[must_use]
    pub fn of_address(&self, address: &IpAddr) -> Option<u32> {
        self.by_address.get(address).map(|index| self.canonical(*index))
    }

    /// The tunnel whose endpoint this is.
    #[must_use]
    pub fn of_tunnel(&self, at: IpAddr, teid: u32) -> Option<Tunnel> {
        let tunnel = self.tunnels.get(&(at, teid))?;
        Some(Tunnel { mobile: self.canonical(tunnel.mobile), ..*tunnel })
    }

    /// The mobile of an IMSI, which is made where there is none.
    pub fn of_imsi(&mut self, imsi: Imsi) -> Option<u32> {
        if let Some(known) = self.by_imsi.get(&imsi) {
            return Some(self.canonical(*known));
        }
        let index = self.create()?;
        self.name_imsi(index, imsi);
        Some(index)
    }

    /// A TLLI, or the P-TMSI in it, is this mobile's from here on.
    pub fn name_tlli(&mut self, index: u32, tlli: u32) {
        let index = self.canonical(index);
        if put(&mut self.by_tlli, tlli, index, &mut self.left_out)
            && let Some(mobile) = self.get_mut(index)
        {
            list(&mut mobile.tllis, tlli);
        }
    }

    /// A mobile's IMSI is known. Gives its index: that of another mobile, where that is the same.
    pub fn name_imsi(&mut self, index: u32, imsi: Imsi) -> u32 {
        let index = self.canonical(index);
        let own = self.imsi_of(index);
        if own == Some(imsi) {
            return index;
        }
        let other = self.by_imsi.get(&imsi).map(|other| self.canonical(*other));
        match (own, other) {
            (None, Some(other)) => return self.merge(index, other),
            (Some(_), Some(other)) => return other,
            (None, None) | (Some(_), None) => {}
        }
        // A TLLI that another subscriber had before.
        let named = if own.is_some() { self.create().unwrap_or(index) } else { index };
        put(&mut self.by_imsi, imsi, named, &mut self.left_out);
        if let Some(mobile) = self.get_mut(named) {
            mobile.imsi = Some(imsi);
        }
        named
    }

    /// A mobile's address is known.
    pub fn name_address(&mut self, index: u32, address: IpAddr) {
        let mut index = self.canonical(index);
        if let Some(other) = self.of_address(&address)
            && other != index
            && self.may_be_one(index, other)
        {
            index = self.merge(index, other);
        }
        put(&mut self.by_address, address, index, &mut self.left_out);
        if let Some(mobile) = self.get_mut(index) {
            list(&mut mobile.addresses, address);
        }
    }

    /// Both are one; the one with an IMSI remains, else the older.
    fn merge(&mut self, one: u32, other: u32) -> u32 {
        let (one, other) = (self.canonical(one), self.canonical(other));
        if one == other {
            return one;
        }
        let has_imsi = |index| self.get(index).is_some_and(|mobile: &Mobile| mobile.imsi.is_some());
        let (stays, goes) = match (has_imsi(one), has_imsi(other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => (one.min(other), one.max(other)),
        };
        self.merged.push((goes, stays));
        let gone = self.get_mut(goes).map(|mobile| {
            let gone = core::mem::take(mobile);
            mobile.same_as = Some(stays);
            gone
        });
        if let Some((gone, mobile)) = gone.zip(self.get_mut(stays)) {
            mobile.imsi = mobile.imsi.or(gone.imsi);
            gone.tllis.into_iter().for_each(|it| list(&mut mobile.tllis, it));
            gone.addresses.into_iter().for_each(|it| list(&mut mobile.addresses, it));
            gone.tunnels.into_iter().for_each(|it| list(&mut mobile.tunnels, it));
        }
        stays
    }

    /// Learns from a layer 3 message of the mobile with this TLLI.
    pub fn learn_layer3(&mut self, tlli: u32, message: &L3Message) {
        let Some(index) = self.of_tlli(tlli) else { return };
        let name = |mobiles: &mut Self, identity: &MobileIdentity| match identity {
            MobileIdentity::Imsi(imsi) => {
                mobiles.is_of(*imsi, tlli);
            }
            // A P-TMSI behind a random TLLI: the mobile says who it was.
            MobileIdentity::PTmsi(ptmsi) if other_form(tlli).is_none() => {
                if let Some(known) = mobiles.known(Tlli::local(*ptmsi).0)
                    && known != mobiles.canonical(index)
                {
                    mobiles.also(known, tlli);
                    mobiles.name_tlli(known, tlli);
                }
            }
            _ => {}
        };
        let given = |mobiles: &mut Self, identity: Option<&MobileIdentity>| {
            if let Some(MobileIdentity::PTmsi(PTmsi(ptmsi))) = identity {
                mobiles.name_tlli(index, Tlli::local(PTmsi(*ptmsi)).0);
            }
        };
        match message {
            L3Message::Gmm(GmmMessage::AttachRequest(it)) => name(self, &it.identity),
            L3Message::Gmm(GmmMessage::IdentityResponse(it)) => name(self, &it.identity),
            L3Message::Gmm(GmmMessage::ServiceRequest(it)) => name(self, &it.ptmsi),
            L3Message::Gmm(GmmMessage::DetachRequestMo(it)) => {
                it.ptmsi.iter().for_each(|identity| name(self, identity));
            }
            L3Message::Gmm(GmmMessage::AttachAccept(it)) => given(self, it.allocated_ptmsi.as_ref()),
            L3Message::Gmm(GmmMessage::RauAccept(it)) => given(self, it.allocated_ptmsi.as_ref()),
            L3Message::Gmm(GmmMessage::PTmsiReallocationCommand(it)) => {
                given(self, Some(&it.allocated_ptmsi))
            }
            L3Message::Sm { message: SmMessage::ActivateAccept(it), .. } => {
                let address = match it.address {
                    Some(PdpAddress::Ipv4(v4) | PdpAddress::Ipv4v6(v4, _)) => Some(IpAddr::V4(v4)),
                    Some(PdpAddress::Ipv6(v6)) => Some(IpAddr::V6(v6)),
                    _ => None,
                };
                if let Some(address) = address {
                    self.name_address(index, address);
                }
            }
            _ => {}
        }
    }

    /// Learns from a signalling message of GTP. Gives its mobile.
    pub fn learn_gtp(&mut self, from: IpAddr, to: IpAddr, message: &Signalling) -> Option<u32> {
        let is_response = message.cause.is_some();
        let asked = message.sequence.filter(|_| is_response).and_then(|it| self.asked.remove(&(to, it)));
        let by_header = self.control.get(&(to, message.teid)).copied();
        let index = match message.imsi {
            Some(imsi) => self.of_imsi(imsi),
            None => asked.or(by_header).map(|index| self.canonical(index)),
        }?;
        if let (false, Some(sequence)) = (is_response, message.sequence) {
            if self.asked.len() >= TABLE_MAX {
                self.asked.clear();
            }
            self.asked.insert((from, sequence), index);
        }
        if let Some(teid) = message.teid_control {
            put(&mut self.control, (from, teid), index, &mut self.left_out);
        }
        // Only an SGSN creates contexts; an update may come from either side.
        let is_down = match message.kind {
            message_type::CREATE_REQUEST => Some(true),
            message_type::CREATE_RESPONSE => Some(false),
            _ => message.teid_data.and_then(|_| self.side_of(from)),
        };
        if let Some((teid, is_down)) = message.teid_data.zip(is_down) {
            let at = message.user_at.unwrap_or(from);
            let tunnel = Tunnel { mobile: index, is_down };
            if put(&mut self.tunnels, (at, teid), tunnel, &mut self.left_out)
                && let Some(mobile) = self.get_mut(index)
            {
                list(&mut mobile.tunnels, (at, teid));
            }
        }
        if let Some(address) = message.address {
            self.name_address(index, address);
        }
        Some(self.canonical(index))
    }

    /// True where a sender of signalling is known as an SGSN: one of its tunnels goes down.
    fn side_of(&self, from: IpAddr) -> Option<bool> {
        self.tunnels.iter().find(|((at, _), _)| *at == from).map(|(_, tunnel)| tunnel.is_down)
    }
}

fn put<K: Eq + core::hash::Hash, V>(table: &mut Table<K, V>, key: K, value: V, left_out: &mut u64) -> bool {
    let is_full = table.len() >= TABLE_MAX;
    match table.entry(key) {
        Entry::Occupied(mut known) => {
            known.insert(value);
            true
        }
        Entry::Vacant(_) if is_full => {
            *left_out += 1;
            false
        }
        Entry::Vacant(vacant) => {
            vacant.insert(value);
            true
        }
    }
}
