//! LL-PDUs with user data that have come up and have their cipher still on them: those of many mobiles are deciphered side
//! by side, and go their ways in the order in which they came.
//!
//! Nobody waits for more of them: what has come in one go, of the input or of the queues, or fills a call of the cipher, goes on.
//! Signalling, of a mobile or of a BSS, and everything else that comes in finds done what came before it. What is of real time
//! goes on at once, deciphered by itself, ahead of what is not. While nothing is to be deciphered nothing is kept here.

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
    /// An LL-PDU of a mobile: it goes on at once, or with those that come with it. True for the latter.
    pub(super) fn arrives(&mut self, cx: &mut Context<'_>, mut arrived: Arrived) -> bool {
        let Some(mobile) = self.mobiles.get(arrived.slot) else { return false };
        let is_first = self.arriving.frames.is_empty();
        if is_first && !mobile.llc.ciphering().is_on() {
            self.goes_on(cx, arrived);
            return false;
        }
        if !arrived.kind.is_user_data() {
            self.let_arrive(cx);
            self.goes_on(cx, arrived);
            return false;
        }
        if is_urgent(mobile) {
            self.goes_on(cx, arrived);
            return false;
        }
        arrived.deciphering = mobile.llc.deciphering_of(&arrived.frame);
        if is_first && arrived.deciphering.is_none() {
            self.goes_on(cx, arrived);
            return false;
        }
        self.arriving.frames.push(arrived);
        if self.arriving.frames.len() >= TOGETHER {
            self.let_arrive(cx);
        }
        true
    }

    /// What waits to be deciphered is, and goes on.
    pub(super) fn let_arrive(&mut self, cx: &mut Context<'_>) {
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
            self.goes_on(cx, arrived);
        }
        self.arriving.frames = frames;
    }

    fn goes_on(&mut self, cx: &mut Context<'_>, arrived: Arrived) {
        let Arrived { slot, from, cell, kind, frame, deciphering } = arrived;
        let from = cell.map_or(from, |cell| self.uplink_from(slot, from, cell));
        self.ll_pdu(cx, slot, from, (frame, kind, deciphering));
    }
}
