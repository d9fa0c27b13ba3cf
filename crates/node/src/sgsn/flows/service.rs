//! The scheduler's batch goes into the protocol stack.

use super::Flows;
use crate::sgsn::Sgsn;
use crate::sgsn::contexts::ContextRef;
use crate::sgsn::gb::TOGETHER;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::kept::Keeper;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::about::About as _;
use gannet_proto::classifier::{Block, RuleChange};
use gannet_qos::flow_queues::{Coming, Served};
use gannet_wire::sndcp::DATA_FIRST_LEN;

/// N-PDUs of one batch: few enough that a driver can look at what arrives in between, enough that the state of their
/// mobiles can be loaded side by side.
pub(super) const BATCH: usize = 16;
/// The same while real time arrives, which waits for the end of one.
const BATCH_IN_A_HURRY: usize = 12;

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
        let in_a_hurry = self.flows.as_ref().is_some_and(|flows| flows.is_in_a_hurry(cx.now));
        // As many as are ciphered at once, where they are.
        let plain = if self.gb.leaving.take_ciphered() { TOGETHER } else { BATCH };
        let batch = if in_a_hurry { BATCH_IN_A_HURRY } else { plain };
        for _ in 0..batch {
            self.look_ahead(cx.frames.keeper(), cx.prefetch);
            let Some(served) = self.next_served(cx.now) else { break };
            if let Some(flows) = &mut self.flows {
                flows.serves(served.octets);
            }
            self.serve(cx, served);
            self.follow_feedback(cx.now, cx.prefetch);
        }
        self.send_some(cx);
    }

    /// A driver's turn has spent so much on packets.
    pub(in crate::sgsn) fn flows_took(&mut self, now: Instant, took: Duration) {
        if let Some(flows) = &mut self.flows
            && let Some(cost) = flows.pace.turn_took(now, took)
        {
            flows.queues.set_cost(cost);
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>, served: Served<Frame>) {
        let Some((name, ContextRef { mobile, nsapi, .. })) = self.context_of_flow(served.flow) else {
            return;
        };
        if served.crossed_low {
            self.classify(RuleChange::Unblock(self.driver_key(name), Block::QueueFull));
        }
        if served.since + self.config.held_lifetime < cx.now {
            cx.drop_of(Drop::HeldTooLong, self.imsi_of(mobile));
            return;
        }
        self.send_n_pdu(cx, mobile, nsapi, served.item);
        self.block_where_ahead(mobile, nsapi);
    }

    /// Asks for what the next turns will touch, while others are served.
    fn look_ahead(&mut self, keeper: &Keeper, prefetch: Prefetch) {
        let Self { flows: Some(flows), contexts, mobiles, gb, .. } = self else { return };
        let mut soon = flows.soon;
        flows.queues.look_ahead(prefetch, |coming| match coming {
            Coming::Far(flow) => contexts.prefetch(flow, prefetch),
            Coming::Nearer(flow, cell) => {
                gb.flow.prefetch_cell(Flows::radio_cell_of(cell), prefetch);
                if let Some((_, context)) = contexts.at(flow) {
                    mobiles.prefetch(context.mobile.index, prefetch);
                    gb.flow.prefetch(context.mobile.index, prefetch);
                }
            }
            Coming::Near(flow, frame) => {
                frame.prefetch(prefetch);
                if let Some((_, context)) = contexts.at(flow) {
                    gb.flow.prefetch_offer(context.mobile.index, prefetch);
                    if let Some(mobile) = mobiles.get(context.mobile) {
                        mobile.prefetch_links(prefetch);
                    }
                    let [sooner, later] = soon;
                    soon = [later, Some((context.mobile, frame.len() + DATA_FIRST_LEN))];
                    if let Some((mobile, octets)) = sooner
                        && let Some(mobile) = mobiles.get(mobile)
                    {
                        mobile.prefetch_unit(octets, keeper, prefetch);
                    }
                }
            }
        });
        flows.soon = soon;
    }
}
