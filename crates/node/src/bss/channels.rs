//! PDCHs of a cell that calls take: the calls, and what the SGSN is told.
//!
//! What becomes of LL-PDUs is the radio's ([`Preempted`]). What the SGSN is told follows from it:
//!
//! | policy | PDCHs go | the last goes | they return |
//! |---|---|---|---|
//! | flush | as the drain falls | R = 0 for each mobile that lost something | nothing: R with the mobile's next LL-PDU, up or down |
//! | hold | as the drain falls | R = 0 for the cell, at once | R of the cell within C |
//! | forward | R of what is left, at once | R = 0 for the cell, at once | R of the cell, at once |
//!
//! What is told at once does not wait for C (08.18 clause 8.2.3.2 [48.018]): it is told once for each change of the channels.

use super::calls::{CallCounts, Calls};
use super::radio::Channels;
use super::{Bss, CellTimer};
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_proto::bssgp::flow_control::Bucket;
use gannet_proto::rlcmac::config::Preempted;
use std::collections::BTreeMap;

/// What calls have to do with a cell.
#[derive(Debug, Default)]
pub(super) struct Shared {
    calls: Option<Calls>,
    /// Timeslots that are held by an order.
    ordered: u8,
    /// The PDCHs of which the SGSN knows.
    usable: Option<u8>,
    /// Mobiles whose R is 0, and when that was told.
    closed: BTreeMap<u32, Instant>,
}

impl Shared {
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.calls.as_ref()?.next_due()
    }

    pub(super) fn call_counts(&self) -> CallCounts {
        self.calls.as_ref().map_or(CallCounts::default(), Calls::counts)
    }

    /// R of the mobile is 0.
    pub(super) fn is_closed(&self, mobile: u32) -> bool {
        self.closed.contains_key(&mobile)
    }

    /// The SGSN has forgotten what it was told.
    pub(super) fn begin_anew(&mut self) {
        self.closed.clear();
    }
}

/// The policy has the SGSN hold what is for the cell while that has no PDCH.
pub(super) const fn closes_cell(channels: &Channels) -> bool {
    channels.is_without_pdch() && !matches!(channels.preempted, Preempted::Flush)
}

impl Bss {
    /// The BSS begins: so do its calls.
    pub(super) fn start_calls(&mut self, cx: &mut Context<'_>) {
        let Some(plan) = self.config.calls.clone() else { return };
        for cell in (0_u32..).take(self.cells.len()) {
            let timeslots = self.radio.channels(cell).map_or(0, |channels| channels.configured);
            let Some(state) = self.cells.get_mut(cell as usize) else { return };
            if state.shared.calls.is_none() {
                state.shared.calls = Some(Calls::new(&plan, cell, timeslots, cx.now));
                self.calls_due(cx, cell);
                self.arm_cell(cx, cell);
            }
        }
    }

    /// A call comes or ends.
    pub(super) fn calls_due(&mut self, cx: &mut Context<'_>, cell: u32) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if let Some(calls) = &mut state.shared.calls {
            calls.wake(cx.now);
        }
        let due = state.shared.next_due();
        state.deadlines.set(CellTimer::Calls, due);
        self.hold_channels(cx, cell);
    }

    /// Timeslots are held by an order, beside those that calls hold.
    pub(super) fn order_channels(&mut self, cx: &mut Context<'_>, cell: u32, timeslots: u8) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.shared.ordered = timeslots;
        self.hold_channels(cx, cell);
        self.arm_cell(cx, cell);
    }

    fn hold_channels(&mut self, cx: &mut Context<'_>, cell: u32) {
        let Some(state) = self.cells.get(cell as usize) else { return };
        let held = state.shared.calls.as_ref().map_or(0, Calls::held) | state.shared.ordered;
        self.radio.hold_channels(cx.now, cell, held);
        self.downlink_arrived(cx, cell);
    }

    /// The radio has run: have the channels changed?
    pub(super) fn look_at_channels(&mut self, cx: &mut Context<'_>, cell: u32) {
        let Some(channels) = self.radio.channels(cell) else { return };
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let all = channels.configured;
        let before = state.shared.usable.replace(channels.usable).unwrap_or(all);
        if before == channels.usable || state.last_flow_control.is_none() {
            return;
        }
        match channels.preempted {
            Preempted::Forward => self.send_flow_control(cx, cell),
            Preempted::Hold | Preempted::HoldFor(_) if closes_cell(&channels) => {
                self.send_flow_control(cx, cell);
            }
            Preempted::Hold | Preempted::HoldFor(_) | Preempted::Flush => {
                self.look_at_flow_soon(cx.now, cell)
            }
        }
    }

    /// What is for a mobile was discarded as its cell has no PDCH: the SGSN keeps the rest.
    pub(super) fn close_mobile(&mut self, cx: &mut Context<'_>, cell: u32, mobile: u32) {
        let discards = self.radio.channels(cell).is_some_and(|channels| channels.discards);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if discards && state.shared.closed.insert(mobile, cx.now).is_none() {
            self.tell_closed(cx, cell, mobile);
            self.look_at_flow_soon(cx.now, cell);
        }
    }

    fn tell_closed(&mut self, cx: &mut Context<'_>, cell: u32, mobile: u32) {
        if let Some(known) = self.bucket_of_mobile(cx.now, cell, mobile) {
            self.flow_control_ms(cx, mobile, &Bucket { rate_bit_per_s: 0, ..known });
        }
    }

    /// R = 0 is told again each T while the cell has no PDCH, as the SGSN forgets it after Th. True where there is something to look at
    /// after C.
    pub(super) fn tell_closed_again(&mut self, cx: &mut Context<'_>, cell: u32) -> bool {
        let (now, interval) = (cx.now, self.config.flow_control_interval);
        if self.radio.channels(cell).is_none_or(|channels| !channels.is_without_pdch()) {
            return false;
        }
        let Some(state) = self.cells.get_mut(cell as usize) else { return false };
        let is_any = !state.shared.closed.is_empty();
        let old = state.shared.closed.iter_mut().filter(|(_, told)| **told + interval <= now);
        let mobiles: Vec<u32> = old
            .map(|(mobile, told)| {
                *told = now;
                *mobile
            })
            .collect();
        mobiles.into_iter().for_each(|mobile| self.tell_closed(cx, cell, mobile));
        is_any
    }

    /// Something has come from a mobile or for it: where its R is 0 and its cell has PDCHs, the SGSN is told what it is now.
    pub(super) fn open_mobile(&mut self, cx: &mut Context<'_>, cell: u32, mobile: u32) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if !state.shared.is_closed(mobile)
            || self.radio.channels(cell).is_some_and(|channels| channels.is_without_pdch())
        {
            return;
        }
        state.shared.closed.remove(&mobile);
        if self.mobiles.cell_of(mobile) == Some(cell)
            && let Some(known) = self.bucket_of_mobile(cx.now, cell, mobile)
        {
            self.flow_control_ms(cx, mobile, &known);
        }
    }
}
