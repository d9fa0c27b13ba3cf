//! Contexts that share an address, and which of them a downlink packet belongs to (23.060 clause 15.3, 24.008 clause
//! 6.1.3.2): the packet filters of all of them are tried in the order of their precedence; what fits none goes to the one
//! context that has no traffic flow template, and where all have one, nowhere.

use super::addresses::Addresses;
use super::classifier::Classifier;
use super::context::PdpContext;
use super::peers::named_by_create;
use super::{DeleteReason, Ggsn};
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, Transaction};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::v1c::CreateRequest;
use gannet_wire::id::{Nsapi, Teid, Tid};
use gannet_wire::l3::ie::{Tft, TftFault, TrafficFlowTemplate};

const fn gtp_cause(fault: TftFault) -> Cause {
    match fault {
        TftFault::OperationSemantics => Cause::SemanticErrorInTft,
        TftFault::OperationSyntax => Cause::SyntacticErrorInTft,
        TftFault::FilterSemantics => Cause::SemanticErrorInPacketFilter,
        TftFault::FilterSyntax => Cause::SyntacticErrorInPacketFilter,
    }
}

impl Ggsn {
    /// The contexts with the address of this one, itself among them, by NSAPI.
    pub(super) fn sharers(&self, slot: Slot) -> Vec<Slot> {
        let Some(of) = self.contexts.get(slot) else { return Vec::new() };
        let shares = |slot: &Slot| {
            let other = self.contexts.get(*slot);
            other.is_some_and(|other| (other.apn, other.address) == (of.apn, of.address))
        };
        // Also of those that are reserved: emulators of an SGSN use 0.
        let slots =
            (0..=15).filter_map(|nsapi| self.contexts.by_tid(Tid { imsi: of.imsi, nsapi: Nsapi(nsapi) }));
        slots.filter(shares).collect()
    }

    /// The context of an NSAPI with the address of that to which an endpoint leads.
    pub(super) fn beside(&self, endpoint: Endpoint, nsapi: Nsapi) -> Option<Slot> {
        let of = self.contexts.by_control(endpoint)?;
        let is_meant = |slot: &Slot| self.contexts.get(*slot).is_some_and(|context| context.nsapi == nsapi);
        self.sharers(of).into_iter().find(is_meant)
    }

    /// The contexts of an address, one of which this is, are others than before, or have other templates.
    pub(super) fn reclassify(&mut self, of: Slot) {
        let sharers = self.sharers(of);
        let with_context = sharers.iter().filter_map(|slot| Some((*slot, self.contexts.get(*slot)?)));
        let is_needed = with_context.clone().any(|(_, context)| context.tft.is_some());
        let classifier = is_needed.then(|| {
            Box::new(Classifier::of(with_context.map(|(slot, context)| (slot, context.tft.as_ref()))))
        });
        let Some(first) = sharers.first().copied() else { return };
        for slot in sharers {
            self.contexts.cues.changed(slot);
            if let Some(context) = self.contexts.get_mut(slot) {
                context.classifier = None;
            }
        }
        let Some(context) = self.contexts.get_mut(first) else { return };
        context.classifier = classifier;
        let (apn, address) = (context.apn, context.address);
        self.assign_addresses(apn, address, first);
    }

    /// The context that has these addresses, or the first of them.
    pub(super) fn assign_addresses(&mut self, apn: u16, address: Addresses, to: Slot) {
        if let Some(point) = self.access_points.get_mut(usize::from(apn)) {
            point.assign(address, to.index);
        }
    }

    /// What a context has of a template after this change, beside the other contexts of its address, one of which is
    /// `beside` (24.008 clauses 6.1.3.2.3 and 6.1.3.3.3).
    pub(super) fn template_after(
        &self,
        beside: Slot,
        nsapi: Nsapi,
        held: Option<&Tft>,
        change: Option<&Vec<u8>>,
    ) -> Result<Option<Tft>, Cause> {
        let of_tft = |error: gannet_wire::l3::ie::TftError| gtp_cause(error.fault);
        let next = match change {
            Some(octets) => {
                let change = TrafficFlowTemplate(octets.clone()).read().map_err(of_tft)?;
                Tft::apply(held, &change).map_err(of_tft)?
            }
            None => held.cloned(),
        };
        let sharers = self.sharers(beside);
        let mut others = sharers.iter().filter_map(|slot| self.contexts.get(*slot));
        let mut others = others.by_ref().filter(|other| other.nsapi != nsapi);
        let Some(next) = next else {
            return match (others.any(|other| other.tft.is_none()), held) {
                (false, _) => Ok(None),
                (true, Some(_)) => Err(Cause::SemanticErrorInTft),
                (true, None) => Err(Cause::ContextWithoutTftActivated),
            };
        };
        let precedences: Vec<u8> = next.filters().iter().map(|filter| filter.precedence).collect();
        let filters =
            |other: &PdpContext| other.tft.as_ref().map(|tft| tft.filters().to_vec()).unwrap_or_default();
        let clashes = others.flat_map(filters).any(|filter| precedences.contains(&filter.precedence));
        if clashes { Err(Cause::SyntacticErrorInPacketFilter) } else { Ok(Some(next)) }
    }

    /// Create PDP Context Request for a secondary context (29.060 clause 7.3.1).
    pub(super) fn create_secondary(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        (endpoint, linked): (Endpoint, Nsapi),
        request: &CreateRequest,
    ) -> Result<Slot, Cause> {
        let from = transaction.peer.ip();
        let found = self.beside(endpoint, linked);
        let linked = self.believed(cx, transaction, (endpoint, found)).ok_or(Cause::NonExistent)?;
        let first = self.contexts.get(linked).cloned().ok_or(Cause::NonExistent)?;
        if first.nsapi == request.nsapi {
            return Err(Cause::MandatoryIeIncorrect);
        }
        let tft = self.template_after(linked, request.nsapi, None, request.tft.as_ref())?;
        let ends = self.ends(cx, transaction, &named_by_create(request), Some(first.imsi))?;
        // The SGSN has forgotten the context that the subscriber had before.
        let old = self.contexts.by_tid(Tid { imsi: first.imsi, nsapi: request.nsapi });
        self.may_create(cx, old, transaction)?;
        let version = first.tunnel.version;
        let control = (ends.control, request.teid_control.unwrap_or(first.tunnel.peer_control));
        let user = (ends.user, request.teid_data);
        let (tunnel, origin) = self.open(cx, version, control, user, (from, request.recovery))?;
        if let Some(old) = old {
            self.replace(cx, (old, false), from, ends.control);
        }
        let (nsapi, qos, since) = (request.nsapi, request.qos.concrete(), cx.now);
        let (uplink, downlink) = Default::default();
        let (charging_id, teid) = (self.next_charging_id, Teid(0));
        let (classifier, deleting, advertise_at, next_answer) = (None, false, None, None);
        let (ending, last_active, idle_at, policer) = (None, cx.now, None, None);
        let (named, counter) = (ends.named, request.recovery.or(first.counter));
        let context = PdpContext {
            nsapi,
            teid,
            tunnel,
            origin,
            counter,
            named,
            charging_id,
            qos,
            since,
            uplink,
            downlink,
            deleting,
            tft,
            classifier,
            at_driver: None,
            advertise_at,
            next_answer,
            ending,
            last_active,
            idle_at,
            policer,
            ..first
        };
        let Some(slot) = self.contexts.insert(context) else {
            self.gtp.close(tunnel);
            self.gtp.close_origin(origin);
            return Err(Cause::NoResourcesAvailable);
        };
        self.next_charging_id = self.next_charging_id.wrapping_add(1).max(1);
        self.reclassify(slot);
        self.watch_idle(cx, slot);
        self.mark_for_store(slot);
        Ok(slot)
    }

    /// All contexts of an address go (29.060 clause 7.3.5, teardown indicator).
    pub(super) fn delete_all(&mut self, cx: &mut Context<'_>, slot: Slot, reason: DeleteReason) {
        self.sharers(slot).into_iter().for_each(|slot| self.delete(cx, slot, reason));
    }

    /// The context that a downlink packet belongs to, among those of the address whose first one this is.
    pub(super) fn classify(&self, cx: &mut Context<'_>, first: Slot, packet: &[u8]) -> Option<Slot> {
        let context = self.contexts.get(first)?;
        let Some(classifier) = &context.classifier else { return Some(first) };
        let found = classifier.find(packet);
        if found.is_none() {
            cx.drop_of(Drop::GgsnNoFilter, Some(context.imsi));
        }
        found
    }
}
