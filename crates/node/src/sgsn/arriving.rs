//! The batch of uplink user data that is deciphered together. LL-PDUs of many mobiles are deciphered side by side, and
//! passed on in their order of arrival.
//!
//! A batch is whatever arrived in one poll or one service of the queues, or fills one call of the cipher; it is never held
//! to fill up. Signalling of a mobile or a BSS, and every other input, flushes the batch first. Real time is deciphered
//! alone and passed on at once, ahead of the batch. While no cipher is on, the batch stays empty.

use super::Sgsn;
use super::gb::{TOGETHER, side_by_side};
use super::mobile::Mobile;
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::frame::Frame;
use gannet_proto::gmm::network::Uplink;
use gannet_proto::llc::{Deferred, Kind};
use gannet_qos::class::CellClass;

/// An LL-PDU of a mobile that is known.
#[derive(Debug)]
pub(super) struct Arrived {
    slot: Slot,
    from: Uplink,
    /// The queues' cell in which it has waited, where it has.
    cell: Option<u32>,
    kind: Kind,
    frame: Frame,
    deciphering: Option<Deferred>,
}

impl Arrived {
    pub(super) fn new(slot: Slot, (from, cell): (Uplink, Option<u32>), (frame, kind): (Frame, Kind)) -> Self {
        Self { slot, from, cell, kind, frame, deciphering: None }
    }
}

/// What goes on together.
#[derive(Debug)]
pub(super) struct Arriving {
    frames: Vec<Arrived>,
    /// Something was deciphered here since somebody asked.
    deciphered: bool,
}

impl Arriving {
    /// Room for all of them, now.
    pub(super) fn new() -> Self {
        Self { frames: Vec::with_capacity(TOGETHER), deciphered: false }
    }

    /// Whether anything was deciphered since this was asked last.
    pub(super) const fn take_deciphered(&mut self) -> bool {
        core::mem::replace(&mut self.deciphered, false)
    }
}

/// Nothing of this mobile is to wait for others: it has real time, or a guaranteed rate.
fn is_urgent(mobile: &Mobile) -> bool {
    mobile.bearers().any(|(_, bearer)| bearer.class != CellClass::BestEffort)
}

impl Sgsn {
    /// An LL-PDU of a mobile: it is passed on at once, or joins the batch that is deciphered together. True for the
    /// latter.
    pub(super) fn batch_for_deciphering(&mut self, cx: &mut Context<'_>, mut arrived: Arrived) -> bool {
        let Some(mobile) = self.mobiles.get(arrived.slot) else { return false };
        let is_first = self.arriving.frames.is_empty();
        if is_first && !mobile.llc.ciphering().is_on() {
            self.pass_on(cx, arrived);
            return false;
        }
        if !arrived.kind.is_user_data() {
            self.flush_decipher_batch(cx);
            self.pass_on(cx, arrived);
            return false;
        }
        if is_urgent(mobile) {
            self.pass_on(cx, arrived);
            return false;
        }
        arrived.deciphering = mobile.llc.deciphering_of(&arrived.frame);
        if is_first && arrived.deciphering.is_none() {
            self.pass_on(cx, arrived);
            return false;
        }
        self.arriving.frames.push(arrived);
        if self.arriving.frames.len() >= TOGETHER {
            self.flush_decipher_batch(cx);
        }
        true
    }

    /// Deciphers the batch and passes its frames on.
    pub(super) fn flush_decipher_batch(&mut self, cx: &mut Context<'_>) {
        if self.arriving.frames.is_empty() {
            return;
        }
        let mut frames = core::mem::take(&mut self.arriving.frames);
        let jobs = frames.iter_mut().filter_map(|arrived| {
            let Arrived { deciphering, frame, .. } = arrived;
            deciphering.as_ref().map(|deferred| deferred.job(frame))
        });
        side_by_side(jobs, self.ciphers);
        self.arriving.deciphered = true;
        for arrived in frames.drain(..) {
            self.pass_on(cx, arrived);
        }
        self.arriving.frames = frames;
    }

    fn pass_on(&mut self, cx: &mut Context<'_>, arrived: Arrived) {
        let Arrived { slot, from, cell, kind, frame, deciphering } = arrived;
        let from = cell.map_or(from, |cell| self.uplink_from(slot, from, cell));
        self.ll_pdu(cx, slot, from, (frame, kind, deciphering));
    }
}
