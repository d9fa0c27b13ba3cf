//! Flow control as the BSS sees it (08.18 clause 8.2.3 [48.018]): it measures, tells, and is acknowledged.

use super::radio::{RadioConfig, Way};
use super::{Bss, CellTimer};
use gannet_machine::Context;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::bssgp::Message;

/// C: the least time from one FLOW-CONTROL PDU of a BVC to the next (08.18 clause 8.2.3.2).
const C: Duration = Duration::from_secs(1);

impl Bss {
    /// Tells the SGSN the values of a cell, and when it will be told again.
    pub(super) fn send_flow_control(&mut self, cx: &mut Context<'_>, cell: u32) {
        let up = self.bvcs.is_unblocked(cell);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if !up {
            state.deadlines.set(CellTimer::FlowControl, None);
            return;
        }
        state.tag = state.tag.wrapping_add(1);
        state.acknowledged = false;
        state.last_flow_control = Some(cx.now);
        let again = cx.now + self.config.flow_control_interval;
        state.deadlines.set(CellTimer::FlowControl, Some(again));
        let message = Message::FlowControlBvc(state.config.flow.to_message(state.tag));
        self.send_ptp(cx, cell, &message);
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
        let earliest = state.last_flow_control.map_or(cx.now, |last| last + C).max(cx.now);
        state.deadlines.set(CellTimer::FlowControl, Some(earliest));
        self.wake_cell(cx, cell);
    }

    /// FLOW-CONTROL-MS for a mobile, where it is.
    pub(super) fn flow_control_ms(&mut self, cx: &mut Context<'_>, mobile: u32, bucket: &Bucket) {
        let (Some(cell), Some(tlli)) = (self.mobiles.cell_of(mobile), self.mobiles.tlli_of(mobile)) else {
            return;
        };
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.tag = state.tag.wrapping_add(1);
        let message = Message::FlowControlMs(bucket.to_message(tlli, state.tag));
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
