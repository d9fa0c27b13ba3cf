//! What the peer says about BVCs.

use super::{BvcOutput, BvcState, Bvcs, Role};
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::bssgp::{Cause, Message};
use gannet_wire::id::{Bvci, CellId, Nsei};

/// Which BVC a message is about, where it says so.
struct About(Option<Bvci>);

impl core::fmt::Display for About {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.map_or(Ok(()), |bvci| write!(f, " about BVCI {bvci}"))
    }
}

impl Bvcs {
    /// Takes a message about a BVC that came on the signalling BVC. False where the message is about something else
    /// and remains to be looked at.
    pub fn receive(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) -> bool {
        match (self.config.role, message) {
            (_, Message::BvcReset { bvci: Bvci::SIGNALLING, features, .. }) => {
                self.signalling_reset(cx, nsei, *features, out);
            }
            (_, Message::BvcResetAck { bvci: Bvci::SIGNALLING, features, .. }) => {
                self.signalling_reset_ack(cx, nsei, message, *features, out);
            }
            (Role::Sgsn, Message::BvcReset { bvci, cell, .. }) => {
                self.reset_by_bss(cx, nsei, *bvci, *cell, message, out);
            }
            (Role::Bss, Message::BvcReset { bvci, .. }) => self.reset_by_sgsn(cx, nsei, *bvci, message, out),
            (Role::Sgsn, Message::BvcBlock { bvci, cause }) => {
                self.block_by_bss(cx, nsei, *bvci, *cause, message, out);
            }
            (Role::Sgsn, Message::BvcUnblock { bvci }) => self.unblock_by_bss(cx, nsei, *bvci, message, out),
            (
                Role::Bss,
                Message::BvcResetAck { bvci, .. }
                | Message::BvcBlockAck { bvci }
                | Message::BvcUnblockAck { bvci },
            ) => self.answered(cx, nsei, *bvci, message, out),
            (_, Message::Status(status)) => self.status(cx, nsei, status, out),
            // These never go this way.
            (
                Role::Sgsn,
                Message::BvcResetAck { .. } | Message::BvcBlockAck { .. } | Message::BvcUnblockAck { .. },
            )
            | (Role::Bss, Message::BvcBlock { .. } | Message::BvcUnblock { .. }) => {
                self.unexpected(cx, nsei, message, out);
            }
            (
                _,
                Message::RaCapability { .. }
                | Message::PagingPs(_)
                | Message::PagingCs(_)
                | Message::RaCapabilityUpdate { .. }
                | Message::RaCapabilityUpdateAck(_)
                | Message::RadioStatus { .. }
                | Message::Suspend { .. }
                | Message::SuspendAck { .. }
                | Message::SuspendNack { .. }
                | Message::Resume { .. }
                | Message::ResumeAck { .. }
                | Message::ResumeNack { .. }
                | Message::FlowControlBvc(_)
                | Message::FlowControlBvcAck { .. }
                | Message::FlowControlMs(_)
                | Message::FlowControlMsAck { .. }
                | Message::FlushLl { .. }
                | Message::FlushLlAck(_)
                | Message::LlcDiscarded(_)
                | Message::MsRegistrationEnquiry { .. }
                | Message::MsRegistrationEnquiryResponse { .. }
                | Message::Overload { .. },
            ) => return false,
        }
        true
    }

    /// Clause 8.4: the peer resets the signalling BVC. All PTP BVCs end; a BSS then resets each of its own.
    fn signalling_reset(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        offered: Option<u8>,
        out: &mut Batch<BvcOutput>,
    ) {
        let Some(nse) = self.find_or_add_nse(cx, nsei) else { return };
        self.end_ptp(nsei, out);
        self.set_nse(nse, BvcState::Unblocked);
        let common = offered.map(|features| features & self.config.features);
        if let Some(nse) = self.nse_mut(nse) {
            nse.features = common.unwrap_or(0);
        }
        let bvci = Bvci::SIGNALLING;
        let message = Message::BvcResetAck { bvci, cell: None, features: common };
        out.push(BvcOutput::Send { nsei, bvci, message });
        self.reset_ptp(cx, nsei, out);
    }

    /// The BSS's own PTP BVCs follow its signalling BVC.
    fn reset_ptp(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        if self.config.role == Role::Bss {
            for bvc in self.ptp_of(nsei) {
                self.begin(cx, bvc, BvcState::Resetting, out);
            }
        }
    }

    fn signalling_reset_ack(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        message: &Message,
        offered: Option<u8>,
        out: &mut Batch<BvcOutput>,
    ) {
        let nse = self.by_nsei.get(&nsei).copied();
        let common = offered.unwrap_or(0) & self.config.features;
        let resetting = nse.and_then(|nse| self.nse_mut(nse)).filter(|nse| nse.state == BvcState::Resetting);
        match (nse, resetting) {
            (Some(nse), Some(state)) => {
                state.features = common;
                self.set_nse(nse, BvcState::Unblocked);
                self.reset_ptp(cx, nsei, out);
            }
            // An answer to a repetition.
            (Some(_), None) => cx.drop(Drop::BssgpUnexpected, None),
            (None, _) => self.unexpected(cx, nsei, message, out),
        }
    }

    /// SGSN, clause 8.4: a PTP BVC begins anew, in service.
    fn reset_by_bss(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        cell: Option<CellId>,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        let refusal = match cell {
            _ if bvci == Bvci::PTM => Cause::BvciUnknown,
            None => Cause::MissingConditionalIe,
            Some(cell) => {
                // A BSS whose NSE we did not know to be there.
                let known = self.find_or_add_nse(cx, nsei).is_some();
                if let Some(bvc) = known.then(|| self.learn(nsei, bvci, cell, out)).flatten() {
                    self.set(bvc, BvcState::Unblocked);
                    self.heard(bvc, false);
                    let answer = Message::BvcResetAck { bvci, cell: None, features: None };
                    out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message: answer });
                    out.push(BvcOutput::Reset { bvc });
                    return;
                }
                cx.drop(Drop::BssgpTableFull, None);
                Cause::SgsnCongestion
            }
        };
        self.refuse(cx, nsei, bvci, refusal, message, out);
    }

    /// BSS, clause 8.4: the SGSN begins a PTP BVC anew.
    fn reset_by_sgsn(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        let Some((bvc, cell)) = self.find(nsei, bvci).and_then(|bvc| Some((bvc, self.get(bvc)?.cell))) else {
            return self.refuse(cx, nsei, bvci, Cause::BvciUnknown, message, out);
        };
        self.set(bvc, BvcState::Unblocked);
        let answer = Message::BvcResetAck { bvci, cell: Some(cell), features: None };
        out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message: answer });
        out.push(BvcOutput::Reset { bvc });
    }

    /// SGSN, clause 8.3: answered again where it is blocked already.
    fn block_by_bss(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        cause: Cause,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        let Some(bvc) = self.find(nsei, bvci) else {
            return self.refuse(cx, nsei, bvci, Cause::BvciUnknown, message, out);
        };
        if let Some(counters) = self.counters_of(nsei, Some(bvci)) {
            counters.blocked += 1;
        }
        if self.is_unblocked(bvc) {
            out.push(BvcOutput::Blocked { bvc, cause });
        }
        self.set(bvc, BvcState::Blocked);
        let answer = Message::BvcBlockAck { bvci };
        out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message: answer });
    }

    /// SGSN, clause 8.3. A BVC that was never reset since its NSE began can't be unblocked: its cell's state is void.
    fn unblock_by_bss(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        let bvc = self.find(nsei, bvci);
        let state = bvc.and_then(|bvc| self.get(bvc)).map(|bvc| bvc.state);
        match (bvc, state) {
            (Some(bvc), Some(BvcState::Blocked | BvcState::Unblocked)) => {
                if state == Some(BvcState::Blocked) {
                    self.set(bvc, BvcState::Unblocked);
                    out.push(BvcOutput::Unblocked { bvc });
                }
                let answer = Message::BvcUnblockAck { bvci };
                out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message: answer });
            }
            _ => self.refuse(cx, nsei, bvci, Cause::BvciUnknown, message, out),
        }
    }

    /// BSS: an acknowledgement of the SGSN.
    fn answered(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        let Some(bvc) = self.find(nsei, bvci) else {
            return self.refuse(cx, nsei, bvci, Cause::BvciUnknown, message, out);
        };
        let state = self.get(bvc).map_or(BvcState::Down, |bvc| bvc.state);
        match (state, message) {
            // Clause 8.4.
            (BvcState::Resetting, Message::BvcResetAck { .. }) => {
                self.set(bvc, BvcState::Unblocked);
                out.push(BvcOutput::Reset { bvc });
            }
            // Clause 8.3.
            (BvcState::Blocking, Message::BvcBlockAck { .. }) => self.set(bvc, BvcState::Blocked),
            (BvcState::Unblocking, Message::BvcUnblockAck { .. }) => {
                self.set(bvc, BvcState::Unblocked);
                out.push(BvcOutput::Unblocked { bvc });
            }
            // Answers to a repetition, or to a procedure that another has overtaken: ignored (clause 8.3.2).
            (
                BvcState::Down
                | BvcState::Resetting
                | BvcState::Unblocked
                | BvcState::Blocking
                | BvcState::Blocked
                | BvcState::Unblocking,
                _,
            ) => cx.drop(Drop::BssgpUnexpected, None),
        }
    }

    /// Clause 8.5: told to people; a BSS whose BVC the SGSN has forgotten resets it, and unblocks one that the SGSN takes for
    /// blocked.
    fn status(&mut self, cx: &mut Context<'_>, nsei: Nsei, status: &Status, out: &mut Batch<BvcOutput>) {
        cx.drop(Drop::BssgpStatusReceived, None);
        if let Some(counters) = self.counters_of(nsei, status.bvci) {
            counters.statuses += 1;
        }
        cx.log(
            Category::Bssgp,
            Level::Notice,
            format_args!("NSEI {nsei}: STATUS{}, {}", About(status.bvci), status.cause.with_number()),
        );
        let bvc = status.bvci.and_then(|bvci| self.find(nsei, bvci));
        let Some(bvc) = bvc.filter(|_| self.config.role == Role::Bss) else { return };
        match (status.cause, self.get(bvc).map(|bvc| bvc.state)) {
            (Cause::BvciUnknown, Some(BvcState::Unblocked | BvcState::Unblocking)) => {
                self.reset(cx, bvc, Cause::EquipmentFailure, out);
            }
            (Cause::BvciBlocked, Some(BvcState::Unblocked)) => {
                self.begin(cx, bvc, BvcState::Unblocking, out);
            }
            _ => {}
        }
    }

    fn refuse(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        cause: Cause,
        message: &Message,
        out: &mut Batch<BvcOutput>,
    ) {
        if cause == Cause::BvciUnknown {
            cx.drop(Drop::BssgpUnknownBvc, None);
        } else if cause == Cause::MissingConditionalIe {
            cx.drop(Drop::BssgpMalformed, None);
        }
        let bvci = (cause == Cause::BvciUnknown).then_some(bvci);
        let status = Status::about_pdu(cause, bvci, &message.to_vec());
        self.send_status(cx, nsei, status, out);
    }
}
