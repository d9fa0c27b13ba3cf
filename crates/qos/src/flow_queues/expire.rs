//! What has waited too long.

use super::{Amount, FlowQueues};
use gannet_machine::time::Instant;

impl<T> FlowQueues<T> {
    /// Takes what was queued before an instant out of a flow, blocked or not, and gives it to `drained`, oldest first,
    /// with its octets. True where by this the flow has come down to its low watermark.
    pub fn expire(&mut self, flow: u32, before: Instant, mut drained: impl FnMut(T, u32)) -> bool {
        let share = self.share();
        let Some(state) = self.flows.get_mut(flow as usize) else { return false };
        let mut crossed_low = false;
        while self.nodes.oldest(state).is_some_and(|since| since < before) {
            let was_ready = state.wants();
            let Some(taken) = self.nodes.pop_front(state) else { break };
            self.queued.sub(taken.octets);
            self.totals.drained += 1;
            if let Some(cell) = self.cells.get_mut(state.cell as usize) {
                cell.went(flow, state, taken.octets, was_ready);
                if was_ready && !cell.blocked {
                    self.ready -= 1;
                }
            }
            crossed_low |= state.falls(share);
            drained(taken.item, taken.octets);
        }
        self.fewer_ready(0);
        crossed_low
    }

    /// What waits in a flow; nothing where there is none.
    #[must_use]
    pub fn backlog(&self, flow: u32) -> Amount {
        self.flows.get(flow as usize).map_or_else(Amount::default, |flow| Amount {
            pdus: flow.pdus.into(),
            octets: flow.octets.into(),
        })
    }
}
