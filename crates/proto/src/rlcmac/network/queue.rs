//! Mobiles and what waits for them downlink.

use super::drain::MobileDrain;
use super::fair::Class;
use super::{MARGIN, Pcu};
use crate::rlcmac::custody::{LlPdu, PRIORITIES, enqueue, is_signalling, place_of};
use crate::rlcmac::multislot::MultislotClass;
use crate::rlcmac::paging::Drx;
use gannet_machine::time::Instant;
use gannet_wire::id::Tlli;
use std::collections::VecDeque;

/// A mobile with something to receive.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// The TLLI used last, and the one before.
    pub(super) tllis: [Option<Tlli>; 2],
    pub(super) queue: VecDeque<LlPdu>,
    /// Its multislot class, where it has said one.
    pub(super) multislot: Option<MultislotClass>,
    /// What its LL-PDUs of user data are worth, by their priority.
    classes: [Option<Class>; PRIORITIES],
    /// The TFI of its downlink TBF.
    pub(super) down: Option<u8>,
    /// Times in a row that it was sought for nothing, or its TBF has broken before one LL-PDU was acknowledged.
    pub(super) failures: u8,
    /// When it listens in packet idle mode; `None` where it listens to each block, or nothing is known of it.
    pub(super) drx: Option<Drx>,
    /// Until then it certainly listens to each block: the non-DRX period after a transfer.
    pub(super) awake_until: Instant,
    /// What it drains.
    pub(super) drain: MobileDrain,
}

impl Context {
    /// What the LL-PDU is worth that is next.
    pub(super) fn next_class(&self) -> Class {
        let Some(first) = self.queue.front() else { return Class::Weighted(1) };
        if is_signalling(&first.frame) {
            return Class::Signalling;
        }
        self.classes.get(place_of(first.priority)).copied().flatten().unwrap_or(Class::Weighted(1))
    }
}

impl Pcu {
    /// Takes an LL-PDU for a mobile. Signalling of its SAPIs goes before user data that waits, and has the first class for as long as
    /// that takes. User data of a better priority goes before that of a worse one and of another SAPI; `class` is what user data of this
    /// priority is worth against that of other mobiles.
    ///
    /// # Errors
    /// The LL-PDU, where it is new and the cell's queue has no room for it.
    pub fn request(&mut self, pdu: LlPdu, class: Class, is_new: bool) -> Result<(), LlPdu> {
        let octets = pdu.frame.len() as u64;
        if is_new && self.waiting().1 + octets > self.config.queue_octets {
            return Err(pdu);
        }
        let mobile = pdu.mobile;
        if self.discards() {
            self.learn(mobile, pdu.tlli);
            self.discard(pdu);
            return Ok(());
        }
        self.waiting.0 += 1;
        self.waiting.1 += octets;
        self.learn(mobile, pdu.tlli);
        let context = self.contexts.entry(mobile).or_default();
        if !is_signalling(&pdu.frame)
            && let Some(of_priority) = context.classes.get_mut(place_of(pdu.priority))
        {
            *of_priority = Some(class);
        }
        enqueue(&mut context.queue, pdu);
        if let Some(tbf) = context.down.and_then(|tfi| self.down.get_mut(usize::from(tfi))?.as_mut()) {
            tbf.account.set_class(context.next_class());
        }
        self.serve_mobile(mobile);
        Ok(())
    }

    /// When a mobile listens in packet idle mode; `None` where it listens to each block.
    pub fn set_drx(&mut self, mobile: u32, drx: Option<Drx>) {
        if drx.is_some() || self.contexts.contains_key(&mobile) {
            self.contexts.entry(mobile).or_default().drx = drx;
        }
    }

    /// The mobile is in packet transfer mode until then at least, and its non-DRX period follows.
    pub(super) fn transfers_until(&mut self, mobile: u32, at: Instant) {
        let longest = self.options.drx_timer_max;
        let Some(context) = self.contexts.get_mut(&mobile) else { return };
        let Some(drx) = context.drx else { return };
        // The mobile's timers began with the block of which this is the end.
        let until = Instant((at + drx.non_drx.min(longest)).0.saturating_sub(MARGIN.0));
        context.awake_until = context.awake_until.max(until);
    }

    /// Whose a downlink TBF is.
    pub(in crate::rlcmac) fn mobile_of(&self, tfi: u8) -> Option<u32> {
        self.down.get(usize::from(tfi))?.as_ref().map(|tbf| tbf.mobile)
    }

    /// A mobile is known by this TLLI, and by the one before.
    fn learn(&mut self, mobile: u32, tlli: Tlli) {
        let context = self.contexts.entry(mobile).or_default();
        let [current, former] = context.tllis;
        if current == Some(tlli) {
            return;
        }
        context.tllis = [Some(tlli), current];
        if let Some(former) = former.filter(|former| *former != tlli)
            && self.by_tlli.get(&former) == Some(&mobile)
        {
            self.by_tlli.remove(&former);
        }
        self.by_tlli.insert(tlli, mobile);
    }

    /// Takes the LL-PDUs of a mobile, or of all, of which nothing was sent, in their order.
    pub fn take_waiting(&mut self, mobile: Option<u32>, mut out: impl FnMut(LlPdu)) {
        let mut mobiles: Vec<u32> = self.contexts.keys().copied().collect();
        mobiles.retain(|other| mobile.is_none_or(|mobile| mobile == *other));
        mobiles.sort_unstable();
        for mobile in mobiles {
            let Some(context) = self.contexts.get_mut(&mobile) else { continue };
            let tbf = context.down.and_then(|tfi| self.down.get_mut(usize::from(tfi))?.as_mut());
            if let Some(tbf) = tbf {
                tbf.take_unsent(&mut out);
            }
            for pdu in context.queue.drain(..) {
                self.waiting.0 -= 1;
                self.waiting.1 -= pdu.frame.len() as u64;
                out(pdu);
            }
        }
    }

    /// A mobile has left the cell: takes all of its LL-PDUs that have not arrived, in their order. Its TBFs are over.
    pub fn forget_mobile(&mut self, mobile: u32, mut out: impl FnMut(LlPdu)) {
        self.starving.retain(|other| *other != mobile);
        while let Some(tfi) = self.down_of(mobile) {
            self.take_back(tfi);
            self.free_down(tfi);
        }
        while let Some((tfi, _)) = self.up_of(mobile) {
            self.free_up(tfi);
        }
        // What these TBFs stranded is the mobile's own, and waits here.
        self.take_waiting(Some(mobile), &mut out);
        if let Some(context) = self.contexts.remove(&mobile) {
            for tlli in context.tllis.into_iter().flatten() {
                if self.by_tlli.get(&tlli) == Some(&mobile) {
                    self.by_tlli.remove(&tlli);
                }
            }
        }
    }
}
