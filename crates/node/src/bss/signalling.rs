//! BSSGP messages from the SGSN, other than those about BVCs.

use super::cell_change::Flush;
use super::gb::um_cell;
use super::radio::{Page, Paging};
use super::{Bss, UM};
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Output, Peer};
use gannet_proto::about::About as _;
use gannet_proto::um::{BROADCAST, PagedIdentity, UmHeader, UmKind};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{PagingArea, PriorityClass};
use gannet_wire::id::{Imsi, Nsei, PTmsi, Tlli};

impl Bss {
    /// A message for this NSE, on the signalling BVC or on that of `cell`.
    pub(super) fn signalling(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        cell: Option<u32>,
        message: &Message,
    ) {
        match message {
            Message::PagingPs(paging) => {
                let page = Page { identity: identity(paging.ptmsi, paging.imsi), is_packet: true };
                self.page(cx, nsei, paging.area, page, paging.imsi);
            }
            Message::PagingCs(paging) => {
                let page = Page { identity: identity(paging.tmsi, paging.imsi), is_packet: false };
                self.page(cx, nsei, paging.area, page, paging.imsi);
            }
            Message::FlushLl { tlli, old_bvci, new_bvci, new_nsei } => {
                let (tlli, old_bvci, new_bvci, new_nsei) = (*tlli, *old_bvci, *new_bvci, *new_nsei);
                self.flush(cx, Flush { nsei, tlli, old_bvci, new_bvci, new_nsei });
            }
            Message::RaCapability { tlli, ms_ra_capability } => {
                self.keep_ra_capability(cell, *tlli, ms_ra_capability);
            }
            Message::RaCapabilityUpdateAck(ack) => {
                if let Some(octets) = &ack.ms_ra_capability {
                    self.keep_ra_capability(cell, ack.tlli, octets);
                }
            }
            Message::SuspendAck { tlli, reference, .. } => self.suspended(cx, nsei, *tlli, *reference),
            Message::FlowControlBvcAck { tag } => {
                if let Some(cell) = cell {
                    self.flow_control_ack(cell, *tag);
                }
            }
            Message::Overload { classes } => self.overload(cx, nsei, *classes),
            // Nothing depends on these here: the mobile goes on by itself.
            Message::FlowControlMsAck { .. }
            | Message::ResumeAck { .. }
            | Message::SuspendNack { .. }
            | Message::ResumeNack { .. } => {}
            // These go the other way, or were looked at before.
            Message::RaCapabilityUpdate { .. }
            | Message::RadioStatus { .. }
            | Message::Suspend { .. }
            | Message::Resume { .. }
            | Message::FlowControlBvc(_)
            | Message::FlowControlMs(_)
            | Message::FlushLlAck(_)
            | Message::LlcDiscarded(_)
            | Message::MsRegistrationEnquiry { .. }
            | Message::MsRegistrationEnquiryResponse { .. }
            | Message::BvcBlock { .. }
            | Message::BvcBlockAck { .. }
            | Message::BvcUnblock { .. }
            | Message::BvcUnblockAck { .. }
            | Message::BvcReset { .. }
            | Message::BvcResetAck { .. }
            | Message::Status(_) => self.bvcs.unexpected(cx, nsei, message, &mut self.bvc_outputs),
        }
    }

    /// OVERLOAD (48.018 clause 10.4): for a time no newcomer is let into the cells of this NSE. A mobile of the emulator is of
    /// R99 and has no class of its own; each counts as configured for low access priority.
    fn overload(&mut self, cx: &mut Context<'_>, nsei: Nsei, classes: Option<PriorityClass>) {
        if !classes.is_none_or(PriorityClass::has_low_access_priority) {
            return;
        }
        cx.log(Category::Bssgp, Level::Notice, format_args!("NSEI {nsei}: the SGSN is overloaded"));
        let until = cx.now + self.config.overload_hold;
        for cell in self.cells.iter_mut().filter(|cell| cell.config.nsei == nsei) {
            cell.closed_until = until;
        }
    }

    fn keep_ra_capability(&mut self, cell: Option<u32>, tlli: Tlli, octets: &[u8]) {
        if let Some(mobile) = cell.and_then(|cell| self.mobiles.find(cell, tlli)) {
            self.mobiles.set_ra_capability(mobile, octets);
        }
    }

    /// 08.18 clause 6.5: asks for a mobile's radio access capability.
    pub(super) fn ask_ra_capability(&mut self, cx: &mut Context<'_>, mobile: u32) {
        let (Some(cell), Some(tlli)) = (self.mobiles.cell_of(mobile), self.mobiles.tlli_of(mobile)) else {
            return;
        };
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.tag = state.tag.wrapping_add(1);
        let tag = state.tag;
        self.send_ptp(cx, cell, &Message::RaCapabilityUpdate { tlli, tag });
    }

    /// 08.18 clause 7.1 and 7.2: a mobile is paged in each cell of the area that this NSE serves.
    fn page(&mut self, cx: &mut Context<'_>, nsei: Nsei, area: PagingArea, page: Page, imsi: Imsi) {
        let mut paged = 0_u32;
        for index in (0_u32..).take(self.cells.len()) {
            let Some(config) = self.cells.get(index as usize).map(|cell| cell.config) else { return };
            let rai = config.id.rai;
            let inside = config.nsei == nsei
                && match area {
                    PagingArea::Bvc(bvci) => config.bvci == bvci,
                    PagingArea::LocationArea(lai) => (rai.plmn, rai.lac) == (lai.plmn, lai.lac),
                    PagingArea::RoutingArea(routing_area) => rai == routing_area,
                    PagingArea::BssArea(_) => true,
                };
            if !inside || !self.bvcs.is_unblocked(index) {
                continue;
            }
            paged += 1;
            match self.radio.page(cx.now, index, page, imsi) {
                Paging::Taken => self.arm_cell(cx, index),
                Paging::Full => cx.drop_of(Drop::BssOverrun, Some(imsi)),
                Paging::NoChannel => self.paged(cx, index, BROADCAST, page),
            }
        }
        if paged == 0 {
            cx.drop(Drop::BssPagedNowhere, None);
        }
    }

    /// A page has reached a mobile, or all mobiles of a cell.
    pub(super) fn paged(&mut self, cx: &mut Context<'_>, cell: u32, mobile: u32, page: Page) {
        let mut octets = Vec::with_capacity(8);
        page.identity.emit(&mut octets);
        let Some(mut frame) = cx.frames.copy_of(&octets) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        let kind = if page.is_packet { UmKind::PagingPs } else { UmKind::PagingCs };
        let header = UmHeader { kind, cell: um_cell(cell), tlli: Tlli(0), priority: None };
        if frame.prepend(&header.emit()) {
            self.outputs.push(Output::Transmit { port: UM, peer: Peer::Slot(mobile), frame });
        }
    }

    /// SUSPEND-ACK: the mobile needs the number for its RESUME.
    fn suspended(&mut self, cx: &mut Context<'_>, nsei: Nsei, tlli: Tlli, reference: u8) {
        let here = (0_u32..).zip(&self.cells).filter(|(_, cell)| cell.config.nsei == nsei);
        let found = here.map(|(index, _)| index).find_map(|cell| self.mobiles.find(cell, tlli));
        let Some((mobile, cell)) = found.and_then(|mobile| Some((mobile, self.mobiles.cell_of(mobile)?)))
        else {
            cx.drop(Drop::BssUnknownMobile, None);
            return;
        };
        let header = UmHeader { kind: UmKind::SuspendAck, cell: um_cell(cell), tlli, priority: None };
        let Some(mut frame) = cx.frames.copy_of(&[reference]) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        if frame.prepend(&header.emit()) {
            self.outputs.push(Output::Transmit { port: UM, peer: Peer::Slot(mobile), frame });
        }
    }
}

/// A page names the mobile by its temporary identity where it has one (08.18 clause 7.1).
fn identity(temporary: Option<u32>, imsi: Imsi) -> PagedIdentity {
    temporary.map_or(PagedIdentity::Imsi(imsi), |temporary| PagedIdentity::PTmsi(PTmsi(temporary)))
}
