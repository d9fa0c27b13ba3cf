//! Under which TLLI a mobile began, while it has others at one place.
//!
//! A procedure may begin under one TLLI and end under the next: ATTACH COMPLETE has the one of the new P-TMSI. All of them are
//! followed back to the first.

use gannet_wire::id::{Tlli, TlliKind};
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::l3::{GmmMessage, L3Message};
use std::collections::HashMap;

/// TLLIs that are followed.
const ALIASES_MAX: usize = 200_000;

/// TLLIs by the place where they are used.
#[derive(Debug, Default)]
pub struct Aliases {
    first: HashMap<(u16, u32), u32, foldhash::quality::RandomState>,
}

/// The local TLLI of a P-TMSI stands for the foreign one as well.
const fn local(tlli: u32) -> u32 {
    match Tlli(tlli).kind() {
        TlliKind::Local | TlliKind::Foreign => tlli | 0xc000_0000,
        _ => tlli,
    }
}

impl Aliases {
    /// The TLLI under which this mobile is known at a place.
    #[must_use]
    pub fn of(&self, place: u16, tlli: u32) -> u32 {
        let tlli = local(tlli);
        self.first.get(&(place, tlli)).copied().unwrap_or(tlli)
    }

    /// Learns from a message to the mobile with this TLLI.
    pub fn learn(&mut self, place: u16, tlli: u32, message: &L3Message) {
        let given = match message {
            L3Message::Gmm(GmmMessage::AttachAccept(it)) => it.allocated_ptmsi.as_ref(),
            L3Message::Gmm(GmmMessage::RauAccept(it)) => it.allocated_ptmsi.as_ref(),
            L3Message::Gmm(GmmMessage::PTmsiReallocationCommand(it)) => Some(&it.allocated_ptmsi),
            _ => None,
        };
        if let Some(MobileIdentity::PTmsi(ptmsi)) = given {
            let first = self.of(place, tlli);
            self.put(place, Tlli::local(*ptmsi).0, first);
        }
    }

    fn put(&mut self, place: u16, tlli: u32, first: u32) {
        if self.first.len() >= ALIASES_MAX && !self.first.contains_key(&(place, tlli)) {
            self.first.clear();
        }
        self.first.insert((place, tlli), first);
    }
}
