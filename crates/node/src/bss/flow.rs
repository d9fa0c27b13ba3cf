//! Flow control as the BSS sees it (08.18 clause 8.2.3 [48.018]): it measures, tells, and is acknowledged.
//!
//! A radio that measures what it drains ([`Radio::drain`](super::radio::Radio::drain)) decides what the SGSN is told; for another the
//! configuration does. From a drain of r bit/s and a backlog of Q octets come
//!
//! ```text
//! Bmax = r / 8 · bucket time, and not less than two LL-PDUs of full length
//! R    = r · 21/20 · f        f = 1 up to Q = Bmax, falls to 1/10 at Q = 1.9 Bmax
//! ```
//!
//! The twentieth on top lets the SGSN find out that more could go, and f takes back what was too much: without it a rate that is told a
//! little too high would fill the queue over the hours. Both meet where Q is a twentieth of Bmax above it.
//!
//! * A cell is looked at each C while it has something to send, and told when a value is a tenth away from what was told, or T has passed.
//! * A mobile has values of its own, FLOW-CONTROL-MS, where these are a quarter away from the default of its cell. They are told again each T,
//!   as the SGSN forgets them after Th. A mobile that has nothing to send for a while gets the default again.

use super::channels::closes_cell;
use super::radio::{Drain, RadioConfig, Way};
use super::{Bss, CellTimer};
use gannet_machine::Context;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::rlcmac::rlc::LL_PDU_MAX;
use gannet_wire::bssgp::Message;
use std::collections::BTreeMap;

/// C: the least time from one FLOW-CONTROL PDU of a BVC or a mobile to the next (08.18 clause 8.2.3.2).
const C: Duration = Duration::from_secs(1);
/// Bmax holds two LL-PDUs of any length: one that is larger than Bmax could not be sent.
const BMAX_LEAST: u64 = 2 * LL_PDU_MAX as u64;
/// Of R, at the longest queue.
const SLOWEST_PERCENT: u64 = 10;
/// The least R, in bit/s: 0 would block the bucket for good (08.18 clause 8.2.3.3).
const R_LEAST: u64 = 100;

/// What the SGSN was told of a cell and of mobiles in it.
#[derive(Debug, Default)]
pub(super) struct Told {
    bvc: Option<BvcParameters>,
    mobiles: BTreeMap<u32, (Bucket, Instant)>,
    /// Of the last FLOW-CONTROL-MS.
    ms_tag: u8,
    /// When the cell is looked at again.
    next: Option<Instant>,
}

/// The bucket of what drains like this, where LL-PDUs wait for `bucket_time`.
fn bucket_of(drain: Drain, bucket_time: Duration) -> Bucket {
    let rate = u128::from(drain.rate_bit_per_s);
    let bmax = rate * u128::from(bucket_time.0) / (8 * 1_000_000_000);
    let bmax_octets = u64::try_from(bmax).unwrap_or(u64::MAX).max(BMAX_LEAST);
    let over = drain.waiting_octets.saturating_sub(bmax_octets).saturating_mul(100) / bmax_octets;
    let percent = 100_u64.saturating_sub(over).max(SLOWEST_PERCENT);
    let headroom = if drain.is_measured { 21 } else { 20 };
    let rate_bit_per_s = (drain.rate_bit_per_s.saturating_mul(headroom * percent) / 2000).max(R_LEAST);
    Bucket { bmax_octets, rate_bit_per_s }
}

/// A value is so far away from another that it is told: a tenth of a cell's, a quarter of a mobile's, whose share of the air goes to and fro.
const CELL_PERCENT: u64 = 10;
const MOBILE_PERCENT: u64 = 25;

const fn is_away(value: u64, from: u64, percent: u64) -> bool {
    value != from && value.abs_diff(from).saturating_mul(100) >= from.saturating_mul(percent)
}

const fn differs(new: &Bucket, told: &Bucket, percent: u64) -> bool {
    is_away(new.rate_bit_per_s, told.rate_bit_per_s, percent)
        || is_away(new.bmax_octets, told.bmax_octets, percent)
}

impl Bss {
    /// The values of a cell now: by what its radio drains, or as configured.
    fn flow_of(&self, now: Instant, cell: u32) -> Option<BvcParameters> {
        let config = self.cells.get(cell as usize)?.config;
        let Some(drain) = self.radio.drain(now, cell) else { return Some(config.flow) };
        let time = self.config.bucket_time;
        let rate_bit_per_s = drain.default_ms_bit_per_s;
        let default_ms = Drain { rate_bit_per_s, waiting_octets: 0, is_measured: false };
        // What is told has to find room.
        let room = |bucket: Bucket| Bucket {
            bmax_octets: bucket.bmax_octets.min(config.downlink.queue_octets / 2).max(BMAX_LEAST),
            ..bucket
        };
        let mut bvc = room(bucket_of(drain.cell, time));
        if self.radio.channels(cell).is_some_and(|channels| closes_cell(&channels)) {
            bvc.rate_bit_per_s = 0;
        }
        Some(BvcParameters { bvc, default_ms: room(bucket_of(default_ms, time)) })
    }

    /// The bucket of a mobile: as it is measured, or that of its cell's default.
    pub(super) fn bucket_of_mobile(&self, now: Instant, cell: u32, mobile: u32) -> Option<Bucket> {
        let default = self.flow_of(now, cell)?.default_ms;
        let mut measured = None;
        self.radio.measured_mobiles(now, cell, &mut |other, drain| {
            if other == mobile && drain.rate_bit_per_s > 0 {
                measured = Some(bucket_of(drain, self.config.bucket_time));
            }
        });
        Some(measured.unwrap_or(default))
    }

    /// Tells the SGSN the values of a cell, and when it will be told again.
    pub(super) fn send_flow_control(&mut self, cx: &mut Context<'_>, cell: u32) {
        let up = self.bvcs.is_unblocked(cell);
        let flow = self.flow_of(cx.now, cell);
        let (Some(state), Some(flow)) = (self.cells.get_mut(cell as usize), flow) else { return };
        if !up {
            state.deadlines.set(CellTimer::FlowControl, None);
            return;
        }
        state.tag = state.tag.wrapping_add(1);
        state.acknowledged = false;
        state.last_flow_control = Some(cx.now);
        state.told.bvc = Some(flow);
        let message = Message::FlowControlBvc(flow.to_message(state.tag));
        self.look_at_flow_again(cx.now, cell, self.config.flow_control_interval);
        self.send_ptp(cx, cell, &message);
    }

    /// The time has come to look at a cell: tells what has changed, or what has not been told for T.
    pub(super) fn flow_control_due(&mut self, cx: &mut Context<'_>, cell: u32) {
        let (now, interval) = (cx.now, self.config.flow_control_interval);
        if !self.bvcs.is_unblocked(cell) {
            return;
        }
        let (Some(flow), Some(state)) = (self.flow_of(now, cell), self.cells.get(cell as usize)) else {
            return;
        };
        let again = state.last_flow_control.map_or(now, |last| last + interval);
        let has_changed = state.told.bvc.is_none_or(|told| {
            differs(&flow.bvc, &told.bvc, CELL_PERCENT)
                || differs(&flow.default_ms, &told.default_ms, CELL_PERCENT)
        });
        if again <= now || has_changed {
            self.send_flow_control(cx, cell);
        }
        let is_closed = self.tell_closed_again(cx, cell);
        if self.tell_of_mobiles(cx, cell) || is_closed {
            self.look_at_flow_again(now, cell, C);
        } else if again > now {
            self.look_at_flow_again(now, cell, again.since(now));
        }
    }

    /// FLOW-CONTROL-MS for the mobiles of a cell that differ from its default. True where there is something to look at after C.
    fn tell_of_mobiles(&mut self, cx: &mut Context<'_>, cell: u32) -> bool {
        let (now, interval, time) = (cx.now, self.config.flow_control_interval, self.config.bucket_time);
        let Some(state) = self.cells.get(cell as usize) else { return false };
        let Some(default) = state.told.bvc.map(|told| told.default_ms) else { return false };
        let mut measured = BTreeMap::new();
        self.radio.measured_mobiles(now, cell, &mut |mobile, drain| {
            measured.insert(mobile, bucket_of(drain, time));
        });
        let is_busy = self.radio.waiting(cell, Way::Downlink).frames > 0;
        let former = state.told.mobiles.keys().filter(|mobile| !measured.contains_key(mobile));
        let over: Vec<u32> = former.copied().filter(|mobile| !state.shared.is_closed(*mobile)).collect();
        let mut tell = Vec::new();
        for (mobile, bucket) in &measured {
            let told = state.told.mobiles.get(mobile);
            let is_due = told.is_none_or(|(_, at)| *at + C <= now) && !state.shared.is_closed(*mobile);
            let is_new = differs(bucket, told.map_or(&default, |(told, _)| told), MOBILE_PERCENT);
            let is_old = told.is_some_and(|(_, at)| *at + interval <= now);
            if is_due && (is_new || is_old) {
                tell.push((*mobile, *bucket));
            }
        }
        let is_measured = !measured.is_empty();
        for (mobile, bucket) in tell {
            if let Some(state) = self.cells.get_mut(cell as usize) {
                state.told.mobiles.insert(mobile, (bucket, now));
            }
            self.flow_control_ms(cx, mobile, &bucket);
        }
        for mobile in over {
            if let Some(state) = self.cells.get_mut(cell as usize) {
                state.told.mobiles.remove(&mobile);
            }
            if self.mobiles.cell_of(mobile) == Some(cell) {
                self.flow_control_ms(cx, mobile, &default);
            }
        }
        is_busy || is_measured
    }

    /// A cell has got something to send: it is looked at after C, where its radio measures.
    pub(super) fn watch_flow(&mut self, now: Instant, cell: u32) {
        let next = self.cells.get(cell as usize).and_then(|state| state.told.next);
        if next.is_some_and(|next| next > now + C) && self.radio.drain(now, cell).is_some() {
            self.look_at_flow_again(now, cell, C);
        }
    }

    /// The drain of a cell has changed: it is looked at after C.
    pub(super) fn look_at_flow_soon(&mut self, now: Instant, cell: u32) {
        let next = self.cells.get(cell as usize).and_then(|state| state.told.next);
        if next.is_none_or(|next| next > now + C) {
            self.look_at_flow_again(now, cell, C);
        }
    }

    fn look_at_flow_again(&mut self, now: Instant, cell: u32, after: Duration) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.told.next = Some(now + after);
            state.deadlines.set(CellTimer::FlowControl, state.told.next);
        }
    }

    /// New values: told at once, or C after the last time.
    pub(super) fn set_radio(
        &mut self,
        cx: &mut Context<'_>,
        cell: u32,
        downlink: RadioConfig,
        flow: BvcParameters,
    ) {
        self.radio.reconfigure(cx.now, cell, Way::Downlink, downlink);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.config.downlink = downlink;
        state.config.flow = flow;
        state.told.bvc = None;
        let earliest = state.last_flow_control.map_or(cx.now, |last| last + C).max(cx.now);
        self.look_at_flow_again(cx.now, cell, earliest.since(cx.now));
        self.wake_cell(cx, cell);
    }

    /// FLOW-CONTROL-MS for a mobile, where it is.
    pub(super) fn flow_control_ms(&mut self, cx: &mut Context<'_>, mobile: u32, bucket: &Bucket) {
        let (Some(cell), Some(tlli)) = (self.mobiles.cell_of(mobile), self.mobiles.tlli_of(mobile)) else {
            return;
        };
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.told.ms_tag = state.told.ms_tag.wrapping_add(1);
        let message = Message::FlowControlMs(bucket.to_message(tlli, state.told.ms_tag));
        self.send_ptp(cx, cell, &message);
    }

    /// FLOW-CONTROL-BVC-ACK: one that answers an older PDU acknowledges nothing.
    pub(super) fn flow_control_ack(&mut self, cell: u32, tag: u8) {
        if let Some(state) = self.cells.get_mut(cell as usize)
            && state.tag == tag
        {
            state.acknowledged = true;
        }
    }
}
