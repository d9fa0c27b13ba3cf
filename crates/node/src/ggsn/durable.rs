//! Contexts outlive a restart of the GGSN, where somebody keeps them: one entry for each subscriber, the octets of all his contexts.
//!
//! The node writes nothing. It marks the place of each context of which something has changed that is to outlive a restart, and
//! whoever keeps it ([`Ggsn::keep_changes`]) asks now and then for some of them ([`Ggsn::take_changes`]). After a restart
//! [`Ggsn::restore`] takes each subscriber in again: under the same addresses, TEIDs and paths, so that neither SGSN nor mobile notices.
//! What G-PDUs change (their sequence numbers) marks a context once in [`KEPT_EVERY`] of them; a restored tunnel passes over what may
//! have been used since.

use super::context::PdpContext;
use super::{Addresses, Ggsn, Volume};
use crate::kept::{Change, Marks};
use crate::slots::Slot;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::Context;
use gannet_proto::gtp::{GtpTunnel, TeidKey};
use gannet_proto::llc::KEPT_EVERY;
use gannet_wire::fcs24::{FCS_LEN, fcs24};
use gannet_wire::gtp::{Msisdn, Qos};
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::{Apn, Tft};
use serde::{Deserialize, Serialize};

/// The first octet of what is kept: another layout is another number. An SGSN's are below 100.
pub const LAYOUT: u8 = 100;

/// One context, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptContext {
    nsapi: Nsapi,
    msisdn: Option<Msisdn>,
    apn: Apn,
    requested: Option<Apn>,
    v4: Option<Ipv4Addr>,
    v6: Option<Ipv6Addr>,
    /// Its place, which its TEID names.
    slot: Slot,
    control_teid: Teid,
    tunnel: GtpTunnel,
    control: IpAddr,
    user: IpAddr,
    origin: IpAddr,
    counter: Option<u8>,
    named: Vec<IpAddr>,
    charging_id: u32,
    qos: Qos,
    tft: Option<Tft>,
    /// N-PDUs and octets, uplink and downlink.
    volumes: [(u64, u64); 2],
}

/// What is kept of a subscriber, between [`LAYOUT`] and an FCS-24 of all octets before it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Under which key the contexts have their TEIDs.
    key: u32,
    contexts: Vec<KeptContext>,
}

/// Why a subscriber, or one of his contexts, is not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRestored {
    /// The octets are nothing of the kind, or damaged.
    Unreadable,
    /// The octets have the layout of another version.
    OtherLayout(u8),
    /// The TEIDs are those of another key: SGSNs send to places that mean something else.
    OtherKey,
    /// The context is there already.
    Present,
    /// Another context has the place that its TEID names.
    TeidTaken,
    /// The access point is not there any more.
    NoAccessPoint,
    /// The address belongs to no pool any more, or to another context.
    NoAddress,
    /// The table of paths is full.
    Full,
}

impl fmt::Display for NotRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("it is damaged"),
            Self::OtherLayout(layout) => {
                write!(f, "it has layout {layout}, and this version layout {LAYOUT}")
            }
            Self::OtherKey => f.write_str("its TEIDs are of another key"),
            Self::Present => f.write_str("the context is here already"),
            Self::TeidTaken => f.write_str("another context has its TEID"),
            Self::NoAccessPoint => f.write_str("its access point is not here"),
            Self::NoAddress => f.write_str("its address is not to be had"),
            Self::Full => f.write_str("the table of paths is full"),
        }
    }
}

fn read(octets: &[u8]) -> Result<Kept, NotRestored> {
    let (covered, fcs) = octets.split_last_chunk::<FCS_LEN>().ok_or(NotRestored::Unreadable)?;
    let (layout, content) = covered.split_first().ok_or(NotRestored::Unreadable)?;
    if fcs24(covered) != *fcs {
        return Err(NotRestored::Unreadable);
    }
    if *layout != LAYOUT {
        return Err(NotRestored::OtherLayout(*layout));
    }
    postcard::from_bytes(content).map_err(|_| NotRestored::Unreadable)
}

impl Ggsn {
    /// From now on changes wait for [`Ggsn::take_changes`]. To be called before any context is there.
    pub fn keep_changes(&mut self) {
        self.marks = Some(Marks::new(usize::try_from(self.config.context_limit).unwrap_or(0)));
    }

    /// Under which key contexts have their TEIDs.
    #[must_use]
    pub const fn teid_key(&self) -> &TeidKey {
        &self.config.teid_key
    }

    /// How many places wait.
    #[must_use]
    pub fn changes_waiting(&self) -> usize {
        self.marks.as_ref().map_or(0, Marks::waiting)
    }

    /// Gives out what some places have come to, `max` at the most; each is some microseconds.
    pub fn take_changes(&mut self, max: usize, mut each: impl FnMut(Change<'_>)) {
        let Some(mut marks) = self.marks.take() else { return };
        for _ in 0..max {
            let whose = |index| Some(self.contexts.get(self.contexts.by_index(index)?)?.imsi);
            let Some((index, former)) = marks.next(whose) else { break };
            let now = whose(index);
            // One entry has all contexts of a subscriber: it is written anew whichever of them comes or goes.
            for imsi in former.filter(|_| former != now).into_iter().chain(now) {
                if self.copy_out(imsi, &mut marks.octets).is_some() {
                    each(Change::Put { imsi, octets: &marks.octets });
                } else {
                    each(Change::Delete { imsi });
                }
            }
        }
        self.marks = Some(marks);
    }

    /// Marks a context to be written to the store: state that outlives a restart has changed, or the context is gone.
    pub(super) fn mark_for_store(&mut self, slot: Slot) {
        if let Some(marks) = &mut self.marks {
            marks.mark(slot.index);
        }
    }

    /// A G-PDU has gone out with this sequence number: now and then that is to outlive a restart, too.
    pub(super) fn counted(&mut self, slot: Slot, sequence: u16) {
        if sequence.is_multiple_of(KEPT_EVERY) {
            self.mark_for_store(slot);
        }
    }

    fn slots_of(&self, imsi: Imsi) -> impl Iterator<Item = Slot> {
        (0..=15).filter_map(move |nsapi| self.contexts.by_tid(Tid { imsi, nsapi: Nsapi(nsapi) }))
    }

    /// All contexts of a subscriber as octets; `None` where there is none.
    fn copy_out(&self, imsi: Imsi, octets: &mut Vec<u8>) -> Option<()> {
        let contexts: Vec<KeptContext> = self.slots_of(imsi).filter_map(|slot| self.to_keep(slot)).collect();
        if contexts.is_empty() {
            return None;
        }
        let kept = Kept { key: self.config.teid_key.id(), contexts };
        octets.clear();
        octets.push(LAYOUT);
        *octets = postcard::to_extend(&kept, core::mem::take(octets)).ok()?;
        octets.extend(fcs24(octets));
        Some(())
    }

    fn to_keep(&self, slot: Slot) -> Option<KeptContext> {
        let context = self.contexts.get(slot)?;
        let point = self.access_points.get(usize::from(context.apn))?;
        let volume = |volume: Volume| (volume.t_pdus, volume.octets);
        Some(KeptContext {
            nsapi: context.nsapi,
            msisdn: context.msisdn,
            apn: point.config.name.clone(),
            requested: context.requested.as_deref().cloned(),
            v4: context.address.v4,
            v6: context.address.v6,
            slot,
            control_teid: context.control_teid,
            tunnel: context.tunnel,
            control: self.address_of(context.tunnel.control_path)?,
            user: self.address_of(context.tunnel.user_path)?,
            origin: self.address_of(context.origin)?,
            counter: context.counter,
            named: context.named.clone(),
            charging_id: context.charging_id,
            qos: context.qos,
            tft: context.tft.clone(),
            volumes: [volume(context.uplink), volume(context.downlink)],
        })
    }

    /// Takes the contexts of a subscriber in that an earlier run of this node has kept. A context that finds no place is left out: its
    /// SGSN learns that by the Error Indication to its next G-PDU. How many were restored, and why not all of them.
    ///
    /// # Errors
    /// See [`NotRestored`]: none was.
    pub fn restore(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        octets: &[u8],
    ) -> Result<(usize, Option<NotRestored>), NotRestored> {
        let kept = read(octets)?;
        if kept.key != self.config.teid_key.id() {
            return Err(NotRestored::OtherKey);
        }
        let (mut slots, mut failed) = (Vec::new(), None);
        for context in kept.contexts {
            match self.restore_one(cx, imsi, context) {
                Ok(slot) => slots.push(slot),
                Err(why) => failed = Some(why),
            }
        }
        let Some(first) = slots.first().copied() else {
            return Err(failed.unwrap_or(NotRestored::Unreadable));
        };
        self.contexts.share_control(&slots);
        self.reclassify(first);
        for slot in &slots {
            if let Some(marks) = &mut self.marks {
                marks.kept(slot.index, imsi);
            }
            if failed.is_some() {
                self.mark_for_store(*slot);
            }
            self.watch_idle(cx, *slot);
        }
        self.advertise_soon(cx, first);
        Ok((slots.len(), failed))
    }

    fn restore_one(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        kept: KeptContext,
    ) -> Result<Slot, NotRestored> {
        if self.contexts.by_tid(Tid { imsi, nsapi: kept.nsapi }).is_some() {
            return Err(NotRestored::Present);
        }
        if !self.contexts.is_free(kept.slot) {
            return Err(NotRestored::TeidTaken);
        }
        let apn = self.access_points.iter().position(|point| point.config.name == kept.apn && !point.closed);
        let apn = apn.and_then(|apn| u16::try_from(apn).ok()).ok_or(NotRestored::NoAccessPoint)?;
        let address = Addresses { v4: kept.v4, v6: kept.v6 };
        let shares = |slot| self.contexts.get(slot).is_some_and(|it| (it.apn, it.address) == (apn, address));
        let is_shared = self.slots_of(imsi).any(shares);
        if !is_shared {
            self.claim_again(apn, imsi, address)?;
        }
        let tunnel = self.open_again(cx, &kept);
        let Some((tunnel, origin)) = tunnel else {
            if !is_shared {
                self.give_back(apn, address);
            }
            return Err(NotRestored::Full);
        };
        let is_unlisted = self.is_limited(kept.origin);
        let slot = kept.slot;
        let groups = self.shaping.groups_of(imsi);
        let context =
            PdpContext { groups, ..restored(imsi, apn, (tunnel, origin), is_unlisted, kept, cx.now) };
        self.next_charging_id = self.next_charging_id.max(context.charging_id.wrapping_add(1)).max(1);
        self.contexts.insert_at(slot, context);
        if let Some(point) = self.access_points.get_mut(usize::from(apn)) {
            point.counters.created += 1;
            if is_unlisted && !is_shared {
                point.count_unlisted(address);
            }
        }
        self.counters.created += 1;
        if !is_shared {
            self.assign_addresses(apn, address, slot);
        }
        Ok(slot)
    }

    /// The tunnel of a kept context with its paths here, and the path that its request came from.
    fn open_again(&mut self, cx: &mut Context<'_>, kept: &KeptContext) -> Option<(GtpTunnel, u16)> {
        let (version, former) = (kept.tunnel.version, kept.tunnel);
        let origin = self.gtp.open_origin(cx, version, kept.origin, kept.counter)?;
        let (control, user) = ((kept.control, former.peer_control), (kept.user, former.peer_user));
        let Some(opened) = self.gtp.open(cx, version, control, user, None) else {
            self.gtp.close_origin(origin);
            return None;
        };
        let mut tunnel = GtpTunnel { next_sequence: former.next_sequence, ..opened };
        tunnel.restore();
        Some((tunnel, origin))
    }

    /// Takes the addresses of a kept context. An address of the subscriber's own is his all the time.
    fn claim_again(&mut self, apn: u16, imsi: Imsi, address: Addresses) -> Result<(), NotRestored> {
        let owner = address.v4.and_then(|v4| self.static_mobiles.owner(apn, v4));
        let point = self.access_points.get_mut(usize::from(apn)).ok_or(NotRestored::NoAccessPoint)?;
        match (address.v4, owner) {
            (Some(v4), Some(owner)) if owner != imsi || point.v4.owner(v4).is_some() => {
                return Err(NotRestored::NoAddress);
            }
            (Some(v4), None) => point.v4.claim(v4).map_err(|_| NotRestored::NoAddress)?,
            (Some(_), Some(_)) | (None, _) => {}
        }
        if address.v6.is_some_and(|v6| point.v6.claim(v6).is_err()) {
            self.give_back(apn, Addresses { v6: None, ..address });
            return Err(NotRestored::NoAddress);
        }
        Ok(())
    }
}

fn restored(
    imsi: Imsi,
    apn: u16,
    (tunnel, origin): (GtpTunnel, u16),
    is_unlisted: bool,
    kept: KeptContext,
    now: gannet_machine::time::Instant,
) -> PdpContext {
    let [uplink, downlink] = kept.volumes.map(|(t_pdus, octets)| Volume { t_pdus, octets });
    PdpContext {
        imsi,
        nsapi: kept.nsapi,
        msisdn: kept.msisdn,
        apn,
        requested: kept.requested.map(Box::new),
        address: Addresses { v4: kept.v4, v6: kept.v6 },
        teid: Teid(0),
        control_teid: kept.control_teid,
        tunnel,
        origin,
        counter: kept.counter,
        named: kept.named,
        at_driver: None,
        is_unlisted,
        charging_id: kept.charging_id,
        qos: kept.qos,
        since: now,
        uplink,
        downlink,
        groups: 0,
        deleting: false,
        ending: None,
        last_active: now,
        idle_at: None,
        policer: None,
        tft: kept.tft,
        advertise_at: None,
        next_answer: None,
        classifier: None,
    }
}
