//! What each mobile and PDP context has used, as records for who charges for it (32.015 clause 5 [32.251]).
//!
//! Nothing is counted unless somebody takes records ([`Sgsn::charge`]). Then each active context has an account at its place
//! in the table of contexts: octets of N-PDUs in both directions, headers of SNDCP and LLC not among them, and since when. A
//! downlink N-PDU counts when it is sent to the mobile, so that what a queue has dropped is not charged for; an uplink one when
//! it goes to the GGSN. An account does not travel with its mobile, and does not outlive a restart: a context that comes in
//! again begins anew, and the records before that stand.

use super::{Sgsn, SgsnEvent, owner};
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_proto::gtp::TeidParts;
use gannet_proto::machine::Context;
use gannet_proto::time::{Duration, Instant};
use gannet_proto::timers::TimerKey;
use gannet_wire::id::{Imei, Imsi, Nsapi, Teid};
use gannet_wire::l3::ie::{Apn, PdpAddress};
use std::collections::VecDeque;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargedEvent {
    /// A mobile is attached.
    Attach,
    /// Its routing area is updated.
    Update,
    /// It is no longer attached.
    Detach,
    /// Nothing is known of it any more.
    Free,
    /// A PDP context is active.
    PdpActive,
    /// It goes on.
    PdpPeriodic,
    /// It was deactivated.
    PdpDeactivated,
    /// It ended without a word to the mobile, which has detached or does not know it.
    PdpTerminated,
    /// Nothing is known of it any more.
    PdpFree,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargedRecord {
    /// What it is about.
    pub event: ChargedEvent,
    /// The subscriber.
    pub imsi: Imsi,
    /// Its equipment, where that was asked.
    pub imei: Option<Imei>,
    /// Its number, where an HLR has said it.
    pub msisdn: Option<String>,
    /// The number of the HLR, where that has said it.
    pub hlr: Option<String>,
    /// The cell identity where it was heard last.
    pub cell: u16,
    /// The location area of its routing area.
    pub lac: u16,
    /// The context, where it is about one.
    pub session: Option<ChargedSession>,
}

/// What a context has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargedSession {
    /// Since it is active.
    pub duration: Duration,
    /// The GGSN's address for control.
    pub ggsn: IpAddr,
    /// Ours.
    pub sgsn: IpAddr,
    /// The access point.
    pub apn: Apn,
    /// The mobile's address.
    pub address: PdpAddress,
    /// Octets from the mobile.
    pub uplink_octets: u64,
    /// Octets to the mobile.
    pub downlink_octets: u64,
    /// By which the GGSN's records are found; `None` where it has said none.
    pub charging_id: Option<u32>,
}

/// The account of one context.
#[derive(Debug)]
struct Account {
    teid: Teid,
    since: Instant,
    ggsn: IpAddr,
    apn: Apn,
    address: PdpAddress,
    uplink_octets: u64,
    downlink_octets: u64,
    charging_id: Option<u32>,
}

impl Account {
    fn session(&self, now: Instant, sgsn: IpAddr) -> ChargedSession {
        ChargedSession {
            duration: now - self.since,
            ggsn: self.ggsn,
            sgsn,
            apn: self.apn.clone(),
            address: self.address,
            uplink_octets: self.uplink_octets,
            downlink_octets: self.downlink_octets,
            charging_id: self.charging_id,
        }
    }
}

/// The accounts of all contexts.
#[derive(Debug)]
pub(super) struct Charging {
    interval: Duration,
    /// What the GGSN has said of the context that is being activated.
    charging_id: Option<(Teid, u32)>,
    /// By the place of the context.
    accounts: Vec<Option<Box<Account>>>,
    /// When the next record of a context is due, in order.
    due: VecDeque<(Instant, Teid)>,
}

impl Charging {
    fn account(&mut self, teid: Teid) -> Option<&mut Account> {
        let place = self.accounts.get_mut(TeidParts::of(teid).place as usize)?;
        place.as_deref_mut().filter(|account| account.teid == teid)
    }
}

const fn key() -> TimerKey {
    TimerKey { owner: owner::CHARGING, slot: 0, generation: 0 }
}

/// In which direction an N-PDU goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Uplink,
    Downlink,
}

impl Sgsn {
    /// From now on there are records, of each context one every `interval`; with `None` there are none. Contexts that are active
    /// already begin now.
    pub fn charge(&mut self, cx: &mut Context<'_>, interval: Option<Duration>) {
        let Some(interval) = interval else {
            self.charging = None;
            return;
        };
        if let Some(charging) = &mut self.charging {
            charging.interval = interval;
            let teids: Vec<Teid> = charging.accounts.iter().flatten().map(|account| account.teid).collect();
            charging.due = teids.into_iter().map(|teid| (cx.now + interval, teid)).collect();
            cx.timers.wake(key(), cx.now + interval);
            return;
        }
        let mut accounts = Vec::new();
        accounts.resize_with(self.contexts.limit(), || None);
        self.charging =
            Some(Box::new(Charging { interval, accounts, charging_id: None, due: VecDeque::new() }));
        let slots: Vec<Slot> = self.mobiles().map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.open_accounts(cx, slot));
    }

    /// What a GGSN has answered to the activation of a context.
    pub(super) fn note_charging_id(&mut self, teid: Teid, charging_id: u32) {
        if let Some(charging) = self.charging.as_deref_mut() {
            charging.charging_id = Some((teid, charging_id));
        }
    }

    /// A mobile is here, with contexts that are active already.
    pub(super) fn open_accounts(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if self.charging.is_some() {
            (5..=15).map(Nsapi).for_each(|nsapi| self.open_account(cx, slot, nsapi));
        }
    }

    /// A context is active from now on.
    pub(super) fn open_account(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        let Some(charging) = self.charging.as_deref_mut() else { return };
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let Some((bearer, context)) = mobile.bearer(nsapi).zip(mobile.sm.get(nsapi)) else { return };
        let path = bearer.tunnel.and_then(|tunnel| self.gtp.paths().get(tunnel.control_path));
        let apn = self.access_points.get(context.apn()).filter(|_| context.is_active());
        let Some((path, (apn, _))) = path.zip(apn) else { return };
        let teid = bearer.teid;
        let charging_id = charging.charging_id.take_if(|(of, _)| *of == teid).map(|(_, id)| id);
        let Some(place) = charging.accounts.get_mut(TeidParts::of(teid).place as usize) else { return };
        *place = Some(Box::new(Account {
            teid,
            since: cx.now,
            ggsn: path.address,
            apn: apn.clone(),
            address: context.address(),
            uplink_octets: 0,
            downlink_octets: 0,
            charging_id,
        }));
        let at = cx.now + charging.interval;
        if charging.due.is_empty() {
            cx.timers.wake(key(), at);
        }
        charging.due.push_back((at, teid));
        self.charged(cx, slot, ChargedEvent::PdpActive, Some(teid));
    }

    /// The records of what is due.
    pub(super) fn wake_charging(&mut self, cx: &mut Context<'_>) {
        while let Some(charging) = self.charging.as_deref_mut() {
            let Some((at, teid)) = charging.due.front().copied() else { break };
            if at > cx.now {
                cx.timers.wake(key(), at);
                break;
            }
            charging.due.pop_front();
            let next = cx.now + charging.interval;
            if charging.account(teid).is_none() {
                continue;
            }
            charging.due.push_back((next, teid));
            if let Some(context) = self.contexts.find(teid) {
                self.charged(cx, context.mobile, ChargedEvent::PdpPeriodic, Some(teid));
            }
        }
    }

    /// An N-PDU of a context was sent on.
    pub(super) fn count_octets(&mut self, slot: Slot, nsapi: Nsapi, direction: Direction, octets: usize) {
        let Some(charging) = self.charging.as_deref_mut() else { return };
        let bearer = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi));
        let Some(account) = bearer.and_then(|bearer| charging.account(bearer.teid)) else { return };
        let count = match direction {
            Direction::Uplink => &mut account.uplink_octets,
            Direction::Downlink => &mut account.downlink_octets,
        };
        *count = count.saturating_add(octets as u64);
    }

    /// A context has ended: its last records, where it has an account.
    pub(super) fn close_account(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        why: ChargedEvent,
    ) {
        if self.charging.is_none() {
            return;
        }
        let bearer = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi));
        let Some(teid) = bearer.map(|bearer| bearer.teid) else { return };
        if self.charging.as_deref_mut().and_then(|charging| charging.account(teid)).is_none() {
            return;
        }
        self.charged(cx, slot, why, Some(teid));
        self.charged(cx, slot, ChargedEvent::PdpFree, Some(teid));
        if let Some(charging) = self.charging.as_deref_mut()
            && let Some(place) = charging.accounts.get_mut(TeidParts::of(teid).place as usize)
        {
            *place = None;
        }
    }

    /// A mobile goes, and whatever contexts it still has.
    pub(super) fn close_accounts(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if self.charging.is_none() {
            return;
        }
        for nsapi in (5..=15).map(Nsapi) {
            self.close_account(cx, slot, nsapi, ChargedEvent::PdpTerminated);
        }
        // Who was never attached has had nothing.
        if self.mobiles.get(slot).is_some_and(|mobile| mobile.gmm.ptmsi().is_some()) {
            self.charged(cx, slot, ChargedEvent::Detach, None);
            self.charged(cx, slot, ChargedEvent::Free, None);
        }
    }

    /// Gives a record out.
    pub(super) fn charged(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        event: ChargedEvent,
        teid: Option<Teid>,
    ) {
        let Some(charging) = self.charging.as_deref_mut() else { return };
        let sgsn = self.config.gtp_address;
        let session =
            teid.and_then(|teid| charging.account(teid)).map(|account| account.session(cx.now, sgsn));
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let Some(imsi) = mobile.imsi() else { return };
        let data = mobile.subscriber().map(|subscriber| subscriber.data());
        let record = ChargedRecord {
            event,
            imsi,
            imei: mobile.gmm.imei(),
            msisdn: data.and_then(|data| data.msisdn).map(|number| number.to_string()),
            hlr: data.and_then(|data| data.hlr_number).map(|number| number.to_string()),
            cell: mobile.gmm.cell().id.ci,
            lac: mobile.gmm.routing_area().lac,
            session,
        };
        self.tell(SgsnEvent::Charged(Box::new(record)));
    }
}
