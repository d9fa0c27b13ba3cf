//! The Gb side: network service, BSSGP, cells, and the queue of each cell.

mod about_mobiles;
mod cell_change;
mod leaving;
mod overload;
mod sending;
mod signalling;

pub(super) use leaving::{TOGETHER, side_by_side};
pub use sending::Meta;

use super::directory::BvcAddress;
use super::flows::Ingress;
use super::{Sgsn, SgsnConfig};
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use cell_change::CellChanges;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer, Port};
use gannet_proto::bssgp::bvc::{self, BvcOutput, Bvcs};
use gannet_proto::bssgp::flow_control::FlowControl;
use gannet_proto::ns::sns::SnsConfig;
use gannet_proto::ns::{Learned, NsConfig, NsEntity, NsOutput, NsRole, NsStatus};
use gannet_wire::bssgp::ie::{PagingArea, QosProfile};
use gannet_wire::bssgp::signalling::{Message, PagingPs};
use gannet_wire::id::{Bvci, Imsi, Nsei, PTmsi, Rai};
use gannet_wire::l3::ie::DrxParameter;
use leaving::Leaving;
use std::collections::BTreeSet;

/// Everything about Gb.
#[derive(Debug)]
pub struct Gb {
    /// The network service.
    pub ns: NsEntity,
    /// The NSEs' BVCs; the index of a BVC is the number of its cell in [`Gb::flow`].
    pub bvcs: Bvcs,
    /// Their queues and buckets.
    pub flow: FlowControl<Meta>,
    /// What they have given, and is being ciphered.
    pub(super) leaving: Leaving,
    /// Mobiles between two cells, or out of reach.
    changes: CellChanges,
    /// The wake-up that the queues have asked for.
    flow_asked: Instant,
    /// When BSSs may next be told of an overload.
    overload_due: Instant,
    /// More may go out at once than was sent.
    pub(super) flow_more: bool,
    outputs: Batch<NsOutput>,
    /// What was learned before a restart, until the start.
    pub(super) recalled: Vec<Learned>,
    /// NSEs of before a restart whose BVCs are to be reset as soon as they are there.
    awaited: BTreeSet<Nsei>,
}

/// The network service's part of a configuration.
pub(super) fn ns_config(config: &SgsnConfig) -> NsConfig {
    let sns = SnsConfig {
        tsns_prov: config.ns.sns_prov,
        config_retries: config.ns.sns_config_retries,
        procedure_retries: config.ns.sns_procedures_retries,
        open: config.ip_sns.open.clone(),
        local: config.ip_sns.endpoints.clone(),
        ..SnsConfig::new()
    };
    NsConfig {
        tns_block: config.ns.block,
        tns_reset: config.ns.reset,
        tns_test: config.ns.test,
        tns_alive: config.ns.alive,
        block_retries: config.ns.block_retries,
        unblock_retries: config.ns.block_retries,
        reset_retries: config.ns.reset_retries,
        alive_retries: config.ns.alive_retries,
        nse_max: config.nses_max,
        vc_max: config.nses_max * 4,
        open: config.open.clone(),
        sns,
        ..NsConfig::new(NsRole::Sgsn, Owner::Ns.number())
    }
}

impl Gb {
    /// Nobody is known yet.
    #[must_use]
    pub fn new(config: &SgsnConfig) -> Self {
        let mut bvcs = bvc::Config::new(bvc::Role::Sgsn);
        bvcs.bvcs_max = config.cells_max;
        bvcs.nses_max = u32::try_from(config.nses_max).unwrap_or(u32::MAX);
        let mut flow = config.flow.clone();
        flow.cells_max = config.cells_max;
        flow.ms_max = u32::try_from(config.mobiles_max).unwrap_or(u32::MAX);
        // Without queues at the input there is nobody to be told.
        let feedback = flow.feedback.unwrap_or_default();
        flow.feedback = (config.ingress == Ingress::Queued).then_some(feedback);
        // No limit below that of the mobiles: each of them may have a backlog.
        flow.active_ms_max = flow.active_ms_max.max(flow.ms_max);
        Self {
            ns: NsEntity::new(ns_config(config)),
            bvcs: Bvcs::new(bvcs),
            flow: FlowControl::new(flow),
            leaving: Leaving::new(),
            changes: CellChanges::default(),
            flow_asked: Instant::ZERO,
            overload_due: Instant::ZERO,
            flow_more: false,
            outputs: Batch::with_capacity(256),
            recalled: Vec::new(),
            awaited: BTreeSet::new(),
        }
    }

    /// True where more may go out at once.
    pub(super) const fn has_to_send(&self) -> bool {
        self.flow_more || self.leaving.is_waiting()
    }

    /// Mobiles whose former cell has not answered FLUSH-LL yet.
    #[must_use]
    pub fn cells_flushing(&self) -> usize {
        self.changes.flushing()
    }

    /// Mobiles that are not sent to since the BSS has lost them, or has ordered them to another cell.
    #[must_use]
    pub fn mobiles_out_of_reach(&self) -> usize {
        self.changes.silent()
    }
}

impl Sgsn {
    /// A datagram at a port of NS.
    pub(super) fn gb_datagram(&mut self, cx: &mut Context<'_>, (port, peer): (Port, Peer), frame: Frame) {
        let Peer::Udp(address) = peer else { return };
        let mut outputs = core::mem::take(&mut self.gb.outputs);
        self.gb.ns.receive(cx, port, address, frame, &mut outputs);
        self.ns_outputs(cx, &mut outputs);
        self.gb.outputs = outputs;
    }

    pub(super) fn ns_outputs(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<NsOutput>) {
        while let Some(output) = outputs.pop() {
            match output {
                NsOutput::Transmit { port, peer, frame } => self.transmit(port, Peer::Udp(peer), frame),
                NsOutput::Unitdata { nsei, bvci: Bvci::SIGNALLING, frame } => {
                    self.flush_decipher_batch(cx);
                    self.bssgp_signalling(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, &frame);
                }
                NsOutput::Unitdata { nsei, bvci, frame } => {
                    self.bssgp_ptp(cx, BvcAddress { nsei, bvci }, frame)
                }
                NsOutput::Status { nsei, status } => {
                    self.flush_decipher_batch(cx);
                    self.nse_status(cx, nsei, status);
                }
            }
        }
    }

    /// NS-UNITDATA.request. `lsp` keeps what belongs together on one NS-VC.
    pub(super) fn ns_unitdata(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        lsp: u32,
        frame: Frame,
    ) {
        let mut outputs = Batch::default();
        core::mem::swap(&mut outputs, &mut self.gb.outputs);
        self.gb.ns.unitdata_request(cx, nsei, bvci, lsp, frame, &mut outputs);
        self.ns_outputs(cx, &mut outputs);
        self.gb.outputs = outputs;
    }

    fn nse_status(&mut self, cx: &mut Context<'_>, nsei: Nsei, status: NsStatus) {
        cx.log(Category::Bssgp, Level::Notice, format_args!("NSEI {nsei}: {status}"));
        let mut outputs = Batch::default();
        match status {
            NsStatus::NseAvailable if self.gb.awaited.remove(&nsei) => {
                self.gb.bvcs.nse_recalled(cx, nsei, &mut outputs);
            }
            NsStatus::NseAvailable => self.gb.bvcs.nse_up(cx, nsei, &mut outputs),
            NsStatus::NseUnavailable => self.gb.bvcs.nse_down(nsei, &mut outputs),
            NsStatus::TransferCapacity { .. } | NsStatus::VcReset(_) => {}
        }
        self.bvc_outputs(cx, &mut outputs);
    }

    /// Does what the BVCs want, and has them woken.
    pub(super) fn bvc_outputs(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<BvcOutput>) {
        self.gb.bvcs.arm(Owner::Bvc.of_node(), cx.timers);
        while let Some(output) = outputs.pop() {
            match output {
                BvcOutput::Send { nsei, bvci, message } => {
                    self.send_bssgp(cx, BvcAddress { nsei, bvci }, &message)
                }
                BvcOutput::Reset { bvc } => {
                    self.gb.flow.reset_cell(cx, bvc);
                }
                BvcOutput::Down { bvc } => {
                    self.gb.flow.reset_cell(cx, bvc);
                    self.gb.flow.set_open(bvc, false);
                }
                BvcOutput::Blocked { bvc, cause } => {
                    let whose = match self.gb.bvcs.get(bvc) {
                        Some(of) => format!("NSEI {} BVCI {}", of.nsei, of.bvci),
                        None => format!("cell {bvc}"),
                    };
                    cx.log(
                        Category::Bssgp,
                        Level::Notice,
                        format_args!("{whose} is blocked: {}", cause.with_number()),
                    );
                    self.gb.flow.set_open(bvc, false);
                }
                BvcOutput::Unblocked { bvc } => self.gb.flow.set_open(bvc, true),
                BvcOutput::Unanswered { nsei, bvci } => {
                    cx.log(
                        Category::Bssgp,
                        Level::Error,
                        format_args!("NSEI {nsei} BVCI {bvci} does not answer"),
                    );
                }
            }
        }
    }

    pub(super) fn start_gb(&mut self, cx: &mut Context<'_>) {
        let mut outputs = core::mem::take(&mut self.gb.outputs);
        if let Err((vc, error)) = self.add_configured_nsvcs(cx) {
            cx.log(Category::Ns, Level::Error, format_args!("{vc}: {error}"));
        }
        self.add_configured_ip_sns(cx);
        let mut recalled = core::mem::take(&mut self.gb.recalled);
        recalled.retain(|learned| self.gb.ns.recall(cx, learned, &mut outputs));
        if !recalled.is_empty() {
            let text =
                format_args!("{} NS-VCs and NSEs of before the restart are reset or tested", recalled.len());
            cx.log(Category::Ns, Level::Notice, text);
        }
        self.gb.awaited = recalled.iter().map(Learned::nsei).collect();
        // What is configured is known to be there, and is not waited for.
        self.gb.ns.reset_all(cx, &mut outputs);
        self.ns_outputs(cx, &mut outputs);
        self.gb.outputs = outputs;
    }

    pub(super) fn reset_ns(&mut self, cx: &mut Context<'_>) {
        let mut outputs = core::mem::take(&mut self.gb.outputs);
        self.gb.ns.reset_all(cx, &mut outputs);
        self.ns_outputs(cx, &mut outputs);
        self.gb.outputs = outputs;
    }

    pub(super) fn wake_gb(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        if Owner::of(key) == Some(Owner::Ns) {
            let mut outputs = core::mem::take(&mut self.gb.outputs);
            self.gb.ns.wake(cx, key, &mut outputs);
            self.ns_outputs(cx, &mut outputs);
            self.gb.outputs = outputs;
        }
        if Owner::of(key) == Some(Owner::Bvc) {
            let mut outputs = Batch::default();
            self.gb.bvcs.wake(cx, &mut outputs);
            self.bvc_outputs(cx, &mut outputs);
        }
        // The queues are looked at after every batch of inputs, and a wake-up is one.
    }

    /// Sends a BSSGP message.
    pub(super) fn send_bssgp(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, message: &Message) {
        self.send_bssgp_with(cx, bvc, u32::from(bvc.bvci.0), message);
    }

    /// The same on the NS-VC of what has this `lsp`. User data that was sent before it is not overtaken.
    fn send_bssgp_with(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, lsp: u32, message: &Message) {
        self.flush_cipher_batch(cx);
        match cx.frames.copy_of(&message.to_vec()) {
            Some(mut frame) => {
                // It follows the mobile's user data, and overtakes none of it in the driver's queue.
                frame.set_patient(matches!(message, Message::FlushLl { .. }));
                self.gb.bvcs.count_sent_by_name(bvc.nsei, bvc.bvci, frame.len());
                self.ns_unitdata(cx, bvc.nsei, bvc.bvci, lsp, frame);
            }
            None => cx.drop(Drop::NoFrame, None),
        }
    }

    /// Does a cell here belong to this routing area?
    pub(super) fn serves(&self, rai: Rai) -> bool {
        self.gb.bvcs.bvcs().any(|(_, bvc)| bvc.cell.rai == rai)
    }

    /// The NSEs that have cells in a routing area, each once, in the order of their first cell.
    pub(super) fn nses_of(&self, rai: Rai) -> Vec<Nsei> {
        let mut nses = Vec::new();
        for (_, bvc) in self.gb.bvcs.bvcs().filter(|(_, bvc)| bvc.cell.rai == rai) {
            if !nses.contains(&bvc.nsei) {
                nses.push(bvc.nsei);
            }
        }
        nses
    }

    /// PAGING-PS through every NSE that has cells in the routing area (08.18 clause 7.1).
    pub(super) fn page(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        ptmsi: Option<PTmsi>,
        rai: Rai,
        drx: DrxParameter,
    ) {
        for nsei in self.nses_of(rai) {
            let message = Message::PagingPs(PagingPs {
                imsi,
                drx: Some(u16::from_be_bytes(drx.to_octets())),
                area: PagingArea::RoutingArea(rai),
                pfi: None,
                qos: QosProfile::default(),
                ptmsi: ptmsi.map(|ptmsi| ptmsi.0),
            });
            self.stats.pagings += 1;
            self.send_bssgp(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, &message);
        }
    }

    /// A mobile goes: its queue and its bucket with it.
    pub(super) fn forget_in_cells(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.gb.changes.forget(slot);
        self.gb.flow.forget(cx, slot.index);
    }
}
