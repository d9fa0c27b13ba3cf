//! User data from Gb waits in a queue for each mobile, as N-PDUs from Gn wait in one for each PDP context, so that a mobile
//! that sends more than its share takes nothing from others.
//!
//! Signalling does not wait: LL-PDUs of GMM, SM and SMS, and LLC's own frames, are worked at when they arrive, ahead of
//! all user data that is queued. The LL-PDUs of one mobile's user data keep their order.

use super::flows::QueueConfig;
use super::quality::{N_PDU_OCTETS_MAX, Treatment};
use super::{Sgsn, SgsnConfig};
use crate::slots::Slot;
use gannet_proto::drops::Drop;
use gannet_proto::frame::Frame;
use gannet_proto::gmm::network::Uplink;
use gannet_proto::machine::Context;
use gannet_proto::qos::class::{Class, Precedence};
use gannet_proto::qos::flow_queues::{self, CellConfig, Dropped, FlowConfig, FlowQueues, Limit};
use gannet_wire::id::{Imsi, Sapi};
use gannet_wire::llc;

/// LL-PDUs of one batch.
const BATCH: usize = 16;

/// An LL-PDU in its mobile's queue.
#[derive(Debug)]
struct Waiting {
    /// Who sent it, as known when it came.
    slot: Slot,
    /// From where.
    from: Uplink,
    frame: Frame,
}

/// The queues, by the index of a mobile's slot.
#[derive(Debug)]
pub struct UplinkQueues {
    queues: FlowQueues<Waiting>,
    /// What the last arrival has pushed out.
    dropped: Vec<Dropped<Waiting>>,
    cells_max: u32,
}

impl UplinkQueues {
    /// All queues, with their memory.
    #[must_use]
    pub fn new(config: &SgsnConfig) -> Self {
        let QueueConfig { pdus_max, cell_pdus_max, cost, .. } = config.queue;
        let cell = Limit { pdus: cell_pdus_max, octets: u32::MAX };
        Self {
            queues: FlowQueues::new(flow_queues::Config {
                flows_max: u32::try_from(config.mobiles_max).unwrap_or(u32::MAX),
                // One more for mobiles whose cell is not known.
                cells_max: config.cells_max + 1,
                nodes_max: pdus_max,
                cell: CellConfig { limit: cell, real_time: None },
                node_real_time: config.queue.node_real_time,
                cost,
                octets_max: N_PDU_OCTETS_MAX,
                ..flow_queues::Config::default()
            }),
            dropped: Vec::with_capacity(16),
            cells_max: config.cells_max,
        }
    }

    /// LL-PDUs that wait.
    #[must_use]
    pub const fn queued(&self) -> u32 {
        self.queues.queued().pdus
    }
}

/// Is this user data, which may wait? Frames that cannot be read are not: LLC drops them at once.
fn is_user_data(ll_pdu: &[u8]) -> bool {
    llc::Header::parse(ll_pdu).is_ok_and(|layout| {
        let is_data = matches!(layout.header.sapi, Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11);
        is_data && matches!(layout.header.control, llc::Control::Ui { .. })
    })
}

impl Sgsn {
    /// Puts user data of a mobile into its queue; gives back what does not wait.
    pub(super) fn enqueue_uplink(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        frame: Frame,
    ) -> Option<Frame> {
        if self.uplink.is_none() || !is_user_data(&frame) {
            return Some(frame);
        }
        let cell = self.gb.bvcs.find(from.cell.nsei, from.cell.bvci);
        let Some(uplink) = &mut self.uplink else { return Some(frame) };
        let cell = cell.filter(|cell| *cell < uplink.cells_max).unwrap_or(uplink.cells_max);
        match uplink.queues.view(slot.index) {
            Some(view) if view.cell == cell => {}
            Some(_) => drop(uplink.queues.move_cell(slot.index, cell)),
            None => self.configure_uplink(slot, cell),
        }
        let Some(uplink) = &mut self.uplink else { return Some(frame) };
        let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let mut dropped = core::mem::take(&mut uplink.dropped);
        let waiting = Waiting { slot, from, frame };
        uplink.queues.enqueue(cx.now, slot.index, octets, waiting, &mut |gone| dropped.push(gone));
        for gone in dropped.drain(..) {
            cx.drop(gone.reason, self.imsi_of(gone.item.slot));
        }
        if let Some(uplink) = &mut self.uplink {
            uplink.dropped = dropped;
        }
        None
    }

    /// The queue of a mobile, by the best of what its PDP contexts have bought.
    fn configure_uplink(&mut self, slot: Slot, cell: u32) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let best = Treatment { class: Class::BestEffort, precedence: Precedence::Low, rate_octets_per_s: 0 };
        let treatment = mobile.bearers().fold(best, |best, (nsapi, bearer)| {
            let Some(context) = mobile.sm.get(nsapi) else { return best };
            let its = Treatment::of(&context.qos(), bearer.allocation_retention);
            Treatment {
                class: best.class.min(its.class),
                precedence: best.precedence.min(its.precedence),
                rate_octets_per_s: best.rate_octets_per_s.saturating_add(its.rate_octets_per_s),
            }
        });
        let config = super::flows::flow_config(&treatment, cell, self.config.queue.buffer);
        if let Some(uplink) = &mut self.uplink {
            // Nobody is told of watermarks here.
            let config = FlowConfig { high: Limit::NONE, low: Limit::NONE, ..config };
            uplink.queues.configure(slot.index, &config);
        }
    }

    /// What a mobile has bought has changed.
    pub(super) fn uplink_changed(&mut self, slot: Slot) {
        let cell = self.uplink.as_ref().and_then(|uplink| Some(uplink.queues.view(slot.index)?.cell));
        if let Some(cell) = cell {
            self.configure_uplink(slot, cell);
        }
    }

    /// A mobile is gone, and with it what it has sent and nobody has looked at.
    pub(super) fn uplink_gone(&mut self, cx: &mut Context<'_>, slot: Slot, whose: Option<Imsi>) {
        let Some(uplink) = &mut self.uplink else { return };
        if uplink.queues.view(slot.index).is_some() {
            uplink.queues.remove(slot.index, |_, _| cx.drop(Drop::FlowQueueContextGone, whose));
        }
    }

    /// True where user data waits.
    pub(super) fn has_uplink_work(&self) -> bool {
        self.uplink.as_ref().is_some_and(|uplink| uplink.queues.has_work())
    }

    /// One batch of user data through the stack, towards the GGSNs.
    pub(super) fn serve_uplink(&mut self, cx: &mut Context<'_>) {
        for _ in 0..BATCH {
            let Some(served) = self.uplink.as_mut().and_then(|uplink| uplink.queues.dequeue(cx.now)) else {
                return;
            };
            let Waiting { slot, from, frame } = served.item;
            self.ll_pdu(cx, slot, from, frame);
        }
    }
}
