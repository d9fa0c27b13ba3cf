//! Contexts without traffic end where the access point says after how long. The contexts of one address count together: they end when
//! none of them has had any.

use super::{DeleteReason, Ggsn};
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::time::Instant;

impl Ggsn {
    /// A context is there, or its access point has another time: it is looked at when it may have been idle for so long.
    pub(super) fn watch_idle(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let timeout = self.access_points.get(usize::from(context.apn)).and_then(|it| it.config.idle_timeout);
        let at = timeout.map(|timeout| (context.last_active + timeout).max(cx.now));
        let former = core::mem::replace(&mut context.idle_at, at);
        match at {
            Some(at) => self.idle.set(cx, slot, at, former),
            None => self.idle.forget(former, slot),
        }
    }

    /// All contexts are looked at anew.
    pub(super) fn watch_all_idle(&mut self, cx: &mut Context<'_>) {
        let slots: Vec<Slot> = self.contexts.iter().map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.watch_idle(cx, slot));
    }

    /// Somebody may have been idle for long enough.
    pub(super) fn wake_idle(&mut self, cx: &mut Context<'_>) {
        self.idle.woken(cx.now);
        while let Some(index) = self.idle.next_due(cx) {
            let Some(slot) = self.contexts.by_index(index) else { continue };
            if let Some(context) = self.contexts.get_mut(slot) {
                context.idle_at = None;
            }
            self.look_at_idle(cx, slot);
        }
    }

    fn look_at_idle(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(context) = self.contexts.get(slot).filter(|context| !context.deleting) else { return };
        let apn = usize::from(context.apn);
        let timeout = self.access_points.get(apn).and_then(|point| point.config.idle_timeout);
        let Some(timeout) = timeout else { return };
        let sharers = self.sharers(slot);
        let active = |slot: &Slot| self.contexts.get(*slot).map(|context| context.last_active);
        let last: Instant = sharers.iter().filter_map(active).max().unwrap_or(cx.now);
        let at = last + timeout;
        if at > cx.now {
            if let Some(context) = self.contexts.get_mut(slot) {
                context.idle_at = Some(at);
            }
            return self.idle.set(cx, slot, at, None);
        }
        for slot in sharers {
            self.ask_to_delete_for(cx, slot, DeleteReason::Idle);
        }
    }
}
