//! A Create is for an IMSI and NSAPI that are active (29.060 clause 7.3.1): the SGSN has forgotten the context that the subscriber
//! had before, and the old context gives way. It does so last, when nothing stands against the new one any more.

use super::context::PdpContext;
use super::{Addresses, DeleteReason, Ggsn};
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::gtp::Transaction;
use gannet_wire::gtp::Cause;

impl Ggsn {
    /// May the sender of a Create have another context, in the place of this one where there is one?
    pub(super) fn may_create(
        &mut self,
        cx: &mut Context<'_>,
        old: Option<Slot>,
        transaction: &Transaction,
    ) -> Result<(), Cause> {
        let from = transaction.peer.ip();
        if let Some(old) = old
            && !self.is_known(old, from)
            && !self.gtp.may_replace(from)
        {
            self.note_foreign(cx, Drop::GgsnMoveRefused, old, transaction);
            return Err(Cause::NoResourcesAvailable);
        }
        let context = old.and_then(|old| self.contexts.get(old));
        match context {
            Some(context) if self.address_of(context.origin) == Some(from) => Ok(()),
            Some(_) => self.within_limits(cx, from),
            None if self.contexts.is_full() => Err(Cause::NoResourcesAvailable),
            None => self.within_limits(cx, from),
        }
    }

    fn whose(context: &PdpContext) -> (u16, Addresses, bool) {
        (context.apn, context.address, context.is_unlisted)
    }

    /// The addresses of a context that is to be replaced are free for its successor. False where other contexts have them, too.
    pub(super) fn lend(&mut self, old: Slot) -> bool {
        let Some((apn, address, is_unlisted)) = self.contexts.get(old).map(Self::whose) else { return false };
        if self.sharers(old).len() != 1 {
            return false;
        }
        self.give_back(apn, address);
        if let Some(point) = self.access_points.get_mut(usize::from(apn)).filter(|_| is_unlisted) {
            point.discount_unlisted(address);
        }
        true
    }

    /// It is not replaced, and has them on.
    pub(super) fn take_back(&mut self, old: Slot) {
        let Some((apn, address, is_unlisted)) = self.contexts.get(old).map(Self::whose) else { return };
        let Some(point) = self.access_points.get_mut(usize::from(apn)) else { return };
        // They were free a moment ago, but for a static address, which never is.
        if let Some(v4) = address.v4 {
            let _ = point.v4.claim(v4);
        }
        if let Some(v6) = address.v6 {
            let _ = point.v6.claim(v6);
        }
        if is_unlisted {
            point.count_unlisted(address);
        }
        self.assign_addresses(apn, address, old);
    }

    /// The old context goes. `is_lent` says that its addresses are free already, or its successor's.
    pub(super) fn replace(
        &mut self,
        cx: &mut Context<'_>,
        (old, is_lent): (Slot, bool),
        from: IpAddr,
        control: IpAddr,
    ) {
        if let Some(context) = self.contexts.get(old) {
            let (imsi, nsapi) = (context.imsi, context.nsapi);
            let of = self.sgsn_of(context);
            let level =
                if self.is_known(old, from) && of == Some(control) { Level::Info } else { Level::Notice };
            let of = of.map_or_else(|| "-".to_owned(), |of| of.to_string());
            let by = if control == from { String::new() } else { format!(" with one of {control}") };
            let text = format_args!("IMSI {imsi} NSAPI {nsapi}: {from} replaces the context of {of}{by}");
            cx.log(Category::Pdp, level, text);
        }
        self.remove(cx, old, DeleteReason::Replaced, is_lent);
    }
}
