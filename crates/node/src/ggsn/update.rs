//! Contexts are updated: the mobile is at another SGSN, or wants another quality of service (29.060 clause 7.3.3).

use super::Ggsn;
use super::context::PdpContext;
use super::peers::named_by_update;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, Plane, Transaction, Version};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::v1c::{UpdateRequest, UpdateResponse};
use gannet_wire::id::Teid;

impl Ggsn {
    /// The mobile is at another SGSN, or wants another quality of service (29.060 clause 7.3.3).
    pub(super) fn update(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &UpdateRequest,
    ) {
        let from = transaction.peer.ip();
        let Some(slot) = self.find(endpoint, request.nsapi.0) else {
            self.note_missing(cx, endpoint, from);
            return self.refuse(cx, transaction, Teid(0), request.imsi, Cause::NonExistent);
        };
        if !self.may_update(cx, slot, transaction) {
            return self.refuse(cx, transaction, Teid(0), request.imsi, Cause::NonExistent);
        }
        let reply_to = request.teid_control.unwrap_or(self.answered_to(Some(slot), from).0);
        match self.updated(cx, transaction, slot, request) {
            Ok(response) => {
                let reply_to =
                    self.contexts.get(slot).map_or(reply_to, |context| context.tunnel.peer_control);
                self.gtp.respond(cx, transaction, reply_to, &response.into(), &mut self.gtp_outputs);
            }
            Err(cause) => {
                let imsi = self.contexts.get(slot).map(|context| context.imsi);
                self.refuse(cx, transaction, reply_to, imsi, cause);
            }
        }
    }

    /// Takes an update, or gives the cause of its refusal; nothing has changed then.
    fn updated(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        slot: Slot,
        request: &UpdateRequest,
    ) -> Result<UpdateResponse, Cause> {
        let from = transaction.peer.ip();
        let context = self.contexts.get(slot).ok_or(Cause::NonExistent)?;
        let (imsi, nsapi, old_control) = (context.imsi, context.nsapi, context.tunnel.peer_control);
        let (held, was) = (context.tft.clone(), self.ends_of(context));
        let update = request.sgsn_initiated().map_err(|error| {
            cx.drop_of(Drop::GtpIncomplete, Some(imsi));
            cx.log(Category::Gtp, Level::Notice, format_args!("Update request from {from}: {error}"));
            gannet_wire::gtp::cause(&error)
        })?;
        let tft = match &request.tft {
            Some(change) => self.template_after(slot, nsapi, held.as_ref(), Some(change))?,
            None => held.clone(),
        };
        let ends = self.ends(cx, transaction, &named_by_update(request), Some(imsi))?;
        let known_control = || self.control_teid_at(slot, ends.control).unwrap_or(old_control);
        let control = (ends.control, update.teid_control.unwrap_or_else(known_control));
        let user = (ends.user, update.teid_data);
        let is_known = self.is_known(slot, from);
        if !is_known {
            self.within_limits(cx, from)?;
        }
        let opened = self.open(cx, transaction.version(), control, user, (from, request.recovery));
        let (tunnel, origin) = opened?;
        if let Some(old) = self.contexts.replace_tunnel(slot, tunnel) {
            self.gtp.close(old);
        }
        if is_known {
            self.gtp.close_origin(origin);
        } else {
            self.moved(slot, from, origin);
        }
        if !is_known || was != [Some(ends.control), Some(ends.user)] {
            self.note_move(cx, slot, from, was);
        }
        if let Some(teid) = update.teid_control {
            self.share_control_teid(slot, teid);
        }
        let context = self.contexts.get_mut(slot).ok_or(Cause::NonExistent)?;
        context.qos = update.qos.concrete();
        context.policer = None;
        context.tft = tft;
        context.named = ends.named;
        context.counter = request.recovery.or(context.counter.filter(|_| is_known));
        let [control, user] = [Plane::Control, Plane::User].map(|plane| self.gtp.told(ends.control, plane));
        let response = UpdateResponse {
            recovery: Some(self.config.restart_counter),
            teid_data: Some(context.teid),
            teid_control: Some(context.control_teid),
            charging_id: Some(context.charging_id),
            gsn_first: Some(control.first),
            gsn_second: Some(user.first),
            alternative_control: control.alternative,
            alternative_user: user.alternative,
            qos: Some(context.qos),
            ..UpdateResponse::refused(Cause::RequestAccepted)
        };
        self.counters.updated += 1;
        self.mark_for_store(slot);
        if held.is_some() || request.tft.is_some() {
            self.reclassify(slot);
        }
        Ok(response)
    }

    /// The SGSN's endpoint for signalling at an address: one Update of several contexts names it, the others need not (29.060
    /// clause 7.3.3).
    fn control_teid_at(&self, slot: Slot, control: IpAddr) -> Option<Teid> {
        let at = |slot: &Slot| {
            let context = self.contexts.get(*slot)?;
            (self.sgsn_of(context) == Some(control)).then_some(context.tunnel.peer_control)
        };
        at(&slot).or_else(|| self.sharers(slot).iter().find_map(at))
    }

    /// The SGSN has another endpoint for signalling, for all contexts of an address that it has. One of version 0 is of one context.
    fn share_control_teid(&mut self, slot: Slot, teid: Teid) {
        let Some(tunnel) = self.contexts.get(slot).map(|context| context.tunnel) else { return };
        for sharer in self.sharers(slot) {
            let context = self.contexts.get_mut(sharer);
            let is_there = |context: &&mut PdpContext| context.tunnel.control_path == tunnel.control_path;
            if let Some(context) = context.filter(|it| tunnel.version == Version::V1 && is_there(it)) {
                context.tunnel.peer_control = teid;
            }
        }
    }
}
