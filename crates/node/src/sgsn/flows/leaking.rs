//! Mobiles whose best effort the driver holds to their leak rate R, since it is short of time.
//!
//! Who sends more than R fills his bucket, rests, goes on when an eighth of it is free, and has filled it again a few
//! packets later: some forty times a second for each of them, with a block, an unblock and a wake-up each time, which was a
//! twentieth of a core for two thousand mobiles. So from the first time on the driver polices them as it polices peak
//! throughput, and what exceeds R costs what a drop costs. Their bucket still decides: R counts octets of LL-PDUs, which are
//! more than those of the N-PDUs in them, so that it fills all the same, but rarely.
//!
//! A driver that has time again lets them wait in their queues as before.

use super::Flows;
use crate::sgsn::Sgsn;
use crate::sgsn::quality::N_PDU_OCTETS_MAX;
use crate::slots::Slot;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::classifier::Policer;
use gannet_qos::class::CellClass;
use gannet_wire::id::Nsapi;
use std::collections::VecDeque;

/// How often is looked whether that is still right: time may be there again, and R becomes the cell's default after Th (08.18
/// clause 8.2.3.2).
const REVIEW: Duration = Duration::from_secs(1);
/// So many are looked at in a turn.
const AT_ONCE: usize = 8;
/// Mobiles that are held to R at the most. Others rest and are blocked.
const LEAKING_MAX: usize = 65_536;
/// Of the bucket, one part in so many passes the driver at once: what a mobile that has rested may send.
const PART_OF_BUCKET: u64 = 8;

/// Those that are held to it, and when to look again.
#[derive(Debug)]
pub(super) struct Leaking(VecDeque<(Instant, Slot)>);

impl Leaking {
    pub(super) fn new(mobiles_max: usize) -> Self {
        Self(VecDeque::with_capacity(mobiles_max.min(LEAKING_MAX)))
    }

    fn is_full(&self) -> bool {
        self.0.len() == self.0.capacity()
    }

    fn push(&mut self, now: Instant, slot: Slot) {
        self.0.push_back((now + REVIEW, slot));
    }

    fn due(&mut self, now: Instant) -> Option<Slot> {
        self.0.front().filter(|(due, _)| *due <= now)?;
        self.0.pop_front().map(|(_, slot)| slot)
    }
}

impl Sgsn {
    /// A mobile has filled its bucket with best effort.
    pub(super) fn hold_to_leak_rate(&mut self, now: Instant, slot: Slot) {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        if !flows.short_of_time || flows.is_leaking(slot) || flows.leaking.is_full() {
            return;
        }
        let contexts = mobile.bearers().filter(|(_, bearer)| bearer.class == CellClass::BestEffort);
        // Of several the driver does not know what the others take.
        if contexts.count() != 1 {
            return;
        }
        flows.leaking.push(now, slot);
        flows.set_leaking(slot, true);
        self.tell_leak_rate(slot);
    }

    /// Looks at those of whom it is time.
    pub(super) fn review_leaks(&mut self, now: Instant) {
        for _ in 0..AT_ONCE {
            let Some(flows) = &mut self.flows else { return };
            let Some(slot) = flows.leaking.due(now) else { return };
            if !flows.is_leaking(slot) || self.mobiles.get(slot).is_none() {
                continue;
            }
            if flows.short_of_time && self.gb.flow.ms_bucket(slot.index).is_some() {
                flows.leaking.push(now, slot);
            } else {
                flows.set_leaking(slot, false);
            }
            self.tell_leak_rate(slot);
        }
    }

    /// The BSS has said another R.
    pub(in crate::sgsn) fn leak_rate_changed(&mut self, slot: Slot) {
        if self.flows.as_ref().is_some_and(|flows| flows.is_leaking(slot)) {
            self.tell_leak_rate(slot);
        }
    }

    fn tell_leak_rate(&mut self, slot: Slot) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let contexts: [Option<Nsapi>; 11] = {
            let mut of_best_effort =
                mobile.bearers().filter(|(_, bearer)| bearer.class == CellClass::BestEffort);
            core::array::from_fn(|_| of_best_effort.next().map(|(nsapi, _)| nsapi))
        };
        contexts.into_iter().flatten().for_each(|nsapi| self.install_rule(slot, nsapi));
    }

    /// What the driver lets pass of a class of this mobile, by R.
    pub(super) fn leak_policer(&self, slot: Slot, class: CellClass) -> Option<Policer> {
        let is_leaking = self.flows.as_ref().is_some_and(|flows| flows.is_leaking(slot));
        let bucket =
            self.gb.flow.ms_bucket(slot.index).filter(|_| is_leaking && class == CellClass::BestEffort)?;
        let octets = |octets: u64| u32::try_from(octets).unwrap_or(u32::MAX);
        Some(Policer {
            rate_octets_per_s: octets(bucket.rate_bit_per_s / 8).max(1),
            burst_octets: octets(bucket.bmax_octets / PART_OF_BUCKET).max(2 * N_PDU_OCTETS_MAX),
        })
    }
}

impl Flows {
    fn is_leaking(&self, slot: Slot) -> bool {
        self.mark(slot) & super::blocking::LEAKING != 0
    }

    fn set_leaking(&mut self, slot: Slot, on: bool) {
        self.set_mark(slot, super::blocking::LEAKING, on);
    }
}
