//! What each mobile and PDP context has used, as records for who charges for it (32.015 clause 5 [32.251]).
//!
//! Nothing is counted unless somebody takes records ([`Sgsn::charge`]). Then each active context has an account at its place
//! in the table of contexts: octets of N-PDUs in both directions, headers of SNDCP and LLC not among them, and since when. A
//! downlink N-PDU counts once, when the queue of its cell has taken all its LL-PDUs, or in acknowledged mode when SNDCP has: what
//! was dropped before is not charged for, what expires there afterwards is. An uplink one counts when it goes to the GGSN. An
//! account does not travel with its mobile, and does not outlive a restart: a context that comes in again begins anew, without
//! the GGSN's charging identification, and the records before that stand.
//!
//! Where many contexts begin or are due at once, as after a restart, their records come a few at a time.

use super::{Sgsn, SgsnEvent};
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::gtp::ContextName;
use gannet_wire::id::{Imei, Imsi, Nsapi};
use gannet_wire::l3::ie::{Apn, PdpAddress};
use std::collections::BTreeSet;

/// Records that are told in one turn, of contexts whose turn has come by itself.
const RECORDS_AT_ONCE: u32 = 256;
/// When those that are left go on.
const PAUSE: Duration = Duration::from_millis(1);

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
    name: ContextName,
    since: Instant,
    /// When its next record is due, as in [`Charging::due`].
    due: Instant,
    /// It was told that it is active.
    is_told: bool,
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
    charging_id: Option<(ContextName, u32)>,
    /// By the place of the context.
    accounts: Vec<Option<Box<Account>>>,
    /// When the next record of each account is due.
    due: BTreeSet<(Instant, ContextName)>,
    /// For when it is to be woken.
    wake_at: Option<Instant>,
    /// Records of one turn.
    told: (Instant, u32),
}

impl Charging {
    fn account(&mut self, name: ContextName) -> Option<&mut Account> {
        let place = self.accounts.get_mut(name.place() as usize)?;
        place.as_deref_mut().filter(|account| account.name == name)
    }

    /// Puts an account at its place, or takes away what is there.
    fn put(&mut self, name: ContextName, account: Option<Box<Account>>) {
        let Some(place) = self.accounts.get_mut(name.place() as usize) else { return };
        if let Some(old) = place.take() {
            self.due.remove(&(old.due, old.name));
        }
        if let Some(account) = &account {
            self.due.insert((account.due, account.name));
        }
        *place = account;
    }

    /// The next record of an account is due at another time.
    fn postpone(&mut self, name: ContextName, at: impl FnOnce(&Account) -> Instant) {
        let Some(account) = self.account(name) else { return };
        let (former, due) = (account.due, at(account));
        account.due = due;
        self.due.remove(&(former, name));
        self.due.insert((due, name));
    }

    fn wake(&mut self, cx: &mut Context<'_>, at: Instant) {
        if self.wake_at.is_none_or(|other| at < other) {
            self.wake_at = Some(at);
            cx.timers.wake(Owner::Charging.of_node(), at);
        }
    }

    /// May one more record be told in this turn?
    fn permit(&mut self, now: Instant) -> bool {
        if self.told.0 != now {
            self.told = (now, 0);
        }
        self.told.1 += 1;
        self.told.1 <= RECORDS_AT_ONCE
    }
}

/// The first time after `now` that is a whole number of intervals after the activation.
fn next_after(since: Instant, interval: Duration, now: Instant) -> Instant {
    let interval = interval.max(PAUSE);
    since + interval * ((now - since).0 / interval.0 + 1)
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
        if let Some(charging) = self.charging.as_deref_mut() {
            if charging.interval != interval {
                charging.interval = interval;
                let told = charging.accounts.iter().flatten().filter(|account| account.is_told);
                let names: Vec<ContextName> = told.map(|account| account.name).collect();
                for name in names {
                    charging.postpone(name, |account| next_after(account.since, interval, cx.now));
                }
                self.tell_due(cx);
            }
            return;
        }
        let mut accounts = Vec::new();
        accounts.resize_with(self.contexts.limit(), || None);
        self.charging = Some(Box::new(Charging {
            interval,
            accounts,
            charging_id: None,
            due: BTreeSet::new(),
            wake_at: None,
            told: (cx.now, 0),
        }));
        let slots: Vec<Slot> = self.mobiles().map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.open_accounts(cx, slot));
    }

    /// What a GGSN has answered to the activation of a context.
    pub(super) fn note_charging_id(&mut self, name: ContextName, charging_id: u32) {
        if let Some(charging) = self.charging.as_deref_mut() {
            charging.charging_id = Some((name, charging_id));
        }
    }

    /// The GGSN of a context has another address for control, and maybe another name for what it charges.
    pub(super) fn account_moved(&mut self, name: ContextName, ggsn: IpAddr, charging_id: Option<u32>) {
        let account = self.charging.as_deref_mut().and_then(|charging| charging.account(name));
        if let Some(account) = account {
            account.ggsn = ggsn;
            account.charging_id = charging_id.or(account.charging_id);
        }
    }

    /// A mobile is here, with contexts that are active already.
    pub(super) fn open_accounts(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if self.charging.is_some() {
            for nsapi in (5..=15).map(Nsapi) {
                self.make_account(cx, slot, nsapi, cx.now);
            }
            self.tell_due(cx);
        }
    }

    /// A context is active from now on.
    pub(super) fn open_account(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        let Some(interval) = self.charging.as_deref().map(|charging| charging.interval) else { return };
        let due = next_after(cx.now, interval, cx.now);
        if let Some(name) = self.make_account(cx, slot, nsapi, due) {
            self.tell_active(cx, slot, name);
            self.tell_due(cx);
        }
    }

    fn make_account(
        &mut self,
        cx: &Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        due: Instant,
    ) -> Option<ContextName> {
        let charging = self.charging.as_deref_mut()?;
        let mobile = self.mobiles.get(slot)?;
        let (bearer, context) = mobile.bearer(nsapi).zip(mobile.sm().get(nsapi))?;
        let path = bearer.tunnel.and_then(|tunnel| self.gtp.paths().get(tunnel.control_path))?;
        let apn = self.access_points.get(context.apn()).filter(|_| context.is_active())?;
        let name = bearer.name;
        let charging_id = charging.charging_id.take_if(|(of, _)| *of == name).map(|(_, id)| id);
        let account = Account {
            name,
            since: cx.now,
            due,
            is_told: false,
            ggsn: path.address,
            apn: apn.clone(),
            address: context.address(),
            uplink_octets: 0,
            downlink_octets: 0,
            charging_id,
        };
        charging.put(name, Some(Box::new(account)));
        Some(name)
    }

    /// The first record of an account, where it has not been told.
    fn tell_active(&mut self, cx: &mut Context<'_>, slot: Slot, name: ContextName) {
        let account = self.charging.as_deref_mut().and_then(|charging| charging.account(name));
        if account.is_some_and(|account| !core::mem::replace(&mut account.is_told, true)) {
            self.charged(cx, slot, ChargedEvent::PdpActive, Some(name));
        }
    }

    pub(super) fn wake_charging(&mut self, cx: &mut Context<'_>) {
        if let Some(charging) = self.charging.as_deref_mut() {
            charging.wake_at = charging.wake_at.filter(|at| *at > cx.now);
        }
        self.tell_due(cx);
    }

    /// The records of what is due, as many as one turn may have.
    fn tell_due(&mut self, cx: &mut Context<'_>) {
        while let Some(charging) = self.charging.as_deref_mut() {
            let Some((at, name)) = charging.due.first().copied() else { break };
            if at > cx.now {
                charging.wake(cx, at);
                break;
            }
            if !charging.permit(cx.now) {
                charging.wake(cx, cx.now + PAUSE);
                break;
            }
            let interval = charging.interval;
            charging.postpone(name, |account| next_after(account.since, interval, cx.now));
            let is_told = charging.account(name).is_some_and(|account| account.is_told);
            match self.contexts.find(name) {
                Some(context) if is_told => {
                    self.charged(cx, context.mobile, ChargedEvent::PdpPeriodic, Some(name));
                }
                Some(context) => self.tell_active(cx, context.mobile, name),
                None => charging.put(name, None),
            }
        }
    }

    /// An N-PDU of a context was sent on.
    pub(super) fn count_octets(&mut self, slot: Slot, nsapi: Nsapi, direction: Direction, octets: usize) {
        let Some(charging) = self.charging.as_deref_mut() else { return };
        let bearer = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi));
        let Some(account) = bearer.and_then(|bearer| charging.account(bearer.name)) else { return };
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
        let Some(name) = bearer.map(|bearer| bearer.name) else { return };
        if self.charging.as_deref_mut().and_then(|charging| charging.account(name)).is_none() {
            return;
        }
        self.tell_active(cx, slot, name);
        self.charged(cx, slot, why, Some(name));
        self.charged(cx, slot, ChargedEvent::PdpFree, Some(name));
        if let Some(charging) = self.charging.as_deref_mut() {
            charging.put(name, None);
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
        name: Option<ContextName>,
    ) {
        let Some(charging) = self.charging.as_deref_mut() else { return };
        let sgsn = self.config.gtp_address;
        let session =
            name.and_then(|name| charging.account(name)).map(|account| account.session(cx.now, sgsn));
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
