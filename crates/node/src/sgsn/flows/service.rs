//! The scheduler's batch goes into the protocol stack.

use super::Flows;
use crate::sgsn::Sgsn;
use crate::sgsn::contexts::ContextRef;
use crate::sgsn::gb::TOGETHER;
use gannet_proto::drops::Drop;
use gannet_proto::frame::Frame;
use gannet_proto::kept::Keeper;
use gannet_proto::machine::Context;
use gannet_proto::prefetch::Prefetch;
use gannet_proto::qos::classifier::{Block, RuleChange};
use gannet_proto::qos::flow_queues::{Coming, Cost, Served};
use gannet_proto::time::Instant;
use gannet_wire::sndcp::DATA_FIRST_LEN;

/// N-PDUs of one batch: few enough that a driver can look at what arrives in between, enough that the state of their
/// mobiles can be loaded side by side.
pub(super) const BATCH: usize = 16;
/// The same while real time arrives, which waits for the end of one.
const BATCH_IN_A_HURRY: usize = 12;

/// What an N-PDU costs, measured by the instants of consecutive batches while there was always more to do. Where time
/// stands still, as in a simulation, the first value stays.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    cost: Cost,
    /// What [`Pace::cost`] is multiplied with, in 1024ths.
    factor: u32,
    /// As it was told last.
    told: u32,
    /// When the batch before began, and what it should have cost by `cost`, in ns; 0 where it was not the last work.
    last: (Instant, u64),
}

/// A batch that took longer had other work beside it.
const BATCH_NS_MAX: u64 = 10_000_000;

impl Pace {
    pub(super) const fn new(cost: Cost) -> Self {
        Self { cost, factor: 1024, told: 1024, last: (Instant::ZERO, 0) }
    }

    /// What an N-PDU costs, as measured last.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let scaled = |ns: u32| {
            let scaled = u64::from(ns) * u64::from(self.factor) / 1024;
            u32::try_from(scaled).unwrap_or(u32::MAX)
        };
        Cost {
            per_pdu_ns: scaled(self.cost.per_pdu_ns),
            per_1024_octets_ns: scaled(self.cost.per_1024_octets_ns),
        }
    }

    /// A batch begins. Gives a new cost where the measure has moved by an eighth.
    pub(super) fn begins(&mut self, now: Instant) -> Option<Cost> {
        let (before, expected) = self.last;
        let taken = now.since(before).0;
        if expected == 0 || taken == 0 || taken > BATCH_NS_MAX {
            return None;
        }
        let measured = (taken * 1024 / expected).clamp(64, 1 << 20);
        let former = u64::from(self.factor);
        // Slowly, so that one disturbed batch in many does not count.
        let smoothed = (former * 63 + measured) / 64;
        self.factor = u32::try_from(smoothed).unwrap_or(u32::MAX);
        if self.factor.abs_diff(self.told) <= self.told / 8 {
            return None;
        }
        self.told = self.factor;
        Some(self.cost())
    }

    /// It has ended: `more` where there is still something to do. Batches of one instant count as one.
    pub(super) fn ended(&mut self, began: Instant, expected_ns: u64, more: bool) {
        let (before, earlier) = self.last;
        let earlier = if before == began { earlier } else { 0 };
        self.last = (began, if more { earlier + expected_ns } else { 0 });
    }
}

impl Sgsn {
    /// True where the scheduler has something to give.
    pub(in crate::sgsn) fn has_flow_work(&self) -> bool {
        self.flows.as_ref().is_some_and(|flows| flows.may_serve() || flows.starved.is_behind)
    }

    /// One batch of the scheduler through the stack and, as far as it conforms, to the BSSs.
    pub(in crate::sgsn) fn serve_flows(&mut self, cx: &mut Context<'_>) {
        if !self.has_flow_work() {
            return;
        }
        if self.flows.as_ref().is_some_and(|flows| flows.starved.is_behind) {
            self.unblock_starved();
        }
        if let Some(flows) = &mut self.flows
            && let Some(cost) = flows.pace.begins(cx.now)
        {
            flows.queues.set_cost(cost);
        }
        let in_a_hurry = self.flows.as_ref().is_some_and(|flows| flows.is_in_a_hurry(cx.now));
        // As many as are ciphered at once, where they are.
        let plain = if self.gb.leaving.take_ciphered() { TOGETHER } else { BATCH };
        let batch = if in_a_hurry { BATCH_IN_A_HURRY } else { plain };
        let mut expected_ns = 0;
        for _ in 0..batch {
            self.look_ahead(cx.frames.keeper(), cx.prefetch);
            let Some(served) = self.next_served(cx.now) else { break };
            let cost = self.flows.as_ref().map_or(0, |flows| flows.pace.cost.of(served.octets));
            expected_ns += u64::from(cost);
            self.serve(cx, served);
            self.follow_feedback(cx.now, cx.prefetch);
        }
        self.send_some(cx);
        let more = self.has_flow_work();
        if let Some(flows) = &mut self.flows {
            flows.pace.ended(cx.now, expected_ns, more);
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>, served: Served<Frame>) {
        let Some((teid, ContextRef { mobile, nsapi, .. })) = self.context_of_flow(served.flow) else {
            return;
        };
        if served.crossed_low {
            self.classify(RuleChange::Unblock(self.driver_key(teid), Block::QueueFull));
        }
        if served.since + self.config.held_lifetime < cx.now {
            cx.drop(Drop::HeldTooLong, self.imsi_of(mobile));
            return;
        }
        self.send_n_pdu(cx, mobile, nsapi, served.item);
    }

    /// Asks for what the next turns will touch, while others are served.
    fn look_ahead(&mut self, keeper: &Keeper, prefetch: Prefetch) {
        let Self { flows: Some(flows), contexts, mobiles, gb, .. } = self else { return };
        let mut soon = flows.soon;
        flows.queues.look_ahead(prefetch, |coming| match coming {
            Coming::Far(flow) => contexts.prefetch(flow, prefetch),
            Coming::Nearer(flow, cell) => {
                gb.flow.expect_cell(Flows::radio_cell_of(cell), prefetch);
                if let Some((_, context)) = contexts.at(flow) {
                    mobiles.prefetch(context.mobile.index, prefetch);
                    gb.flow.expect(context.mobile.index, prefetch);
                }
            }
            Coming::Near(flow, frame) => {
                frame.prefetch(prefetch);
                if let Some((_, context)) = contexts.at(flow) {
                    gb.flow.expect_offer(context.mobile.index, prefetch);
                    if let Some(mobile) = mobiles.get(context.mobile) {
                        mobile.expect_links(prefetch);
                    }
                    let [sooner, later] = soon;
                    soon = [later, Some((context.mobile, frame.len() + DATA_FIRST_LEN))];
                    if let Some((mobile, octets)) = sooner
                        && let Some(mobile) = mobiles.get(mobile)
                    {
                        mobile.expect_unit(octets, keeper, prefetch);
                    }
                }
            }
        });
        flows.soon = soon;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost { per_pdu_ns: 1000, per_1024_octets_ns: 100 };

    #[test]
    fn the_measure_follows_what_batches_take() {
        let mut pace = Pace::new(COST);
        let mut now = Instant(5);
        let mut changes = 0;
        for _ in 0..2000 {
            changes += u32::from(pace.begins(now).is_some());
            pace.ended(now, 16_000, true);
            now = Instant(now.0 + 32_000);
        }
        let Cost { per_pdu_ns, per_1024_octets_ns } = pace.cost();
        assert!((1800..=2000).contains(&per_pdu_ns), "{per_pdu_ns}");
        assert!((180..=200).contains(&per_1024_octets_ns) && changes > 0, "{changes}");
    }

    #[test]
    fn idle_time_and_other_work_do_not_count() {
        let mut pace = Pace::new(COST);
        pace.ended(Instant(0), 16_000, false);
        assert_eq!(pace.begins(Instant(1_000_000)), None);
        pace.ended(Instant(1_000_000), 16_000, true);
        assert_eq!(pace.begins(Instant(1_000_000)), None, "time stands still");
        pace.ended(Instant(1_000_000), 16_000, true);
        assert_eq!(pace.begins(Instant(20_000_000)), None);
        assert_eq!(pace.cost(), COST);
    }

    #[test]
    fn batches_of_one_instant_count_as_one() {
        let mut pace = Pace::new(COST);
        let mut now = Instant(5);
        for _ in 0..2000 {
            for _ in 0..3 {
                assert_eq!(pace.begins(now), None);
                pace.ended(now, 10_000, true);
            }
            now = Instant(now.0 + 30_000);
        }
        assert_eq!(pace.cost(), COST);
    }
}
