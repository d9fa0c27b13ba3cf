//! What a BSS says of one mobile, and whether it may (08.18 clauses 7 and 8 [48.018]).
//!
//! | PDU | names | taken where |
//! |---|---|---|
//! | UL-UNITDATA | TLLI, cell | always; the cell is that of the BVC |
//! | FLOW-CONTROL-MS, RADIO-STATUS | TLLI (RADIO-STATUS: P-TMSI, IMSI) | the mobile is in the cell of the BVC |
//! | RA-CAPABILITY-UPDATE | TLLI | the mobile is in the cell of the BVC, or within reach of the NSE |
//! | SUSPEND, RESUME | TLLI, RAI; RESUME: reference | within reach of the NSE, in that routing area, with the reference given |
//! | LLC-DISCARDED | TLLI, BVCI | the cell is the NSE's, and the mobile is in it or has just left it |
//! | FLUSH-LL-ACK | TLLI, BVCI, NSEI | a FLUSH-LL to this NSE is outstanding, and names the same way |
//! | MS-REGISTRATION-ENQUIRY | IMSI | always; it tells the PLMN |
//!
//! A mobile is *within reach* of an NSE while it is READY in one of its cells, or in STANDBY in a routing area where the NSE
//! has cells. PDUs about packet flows (DOWNLOAD-BSS-PFC and its like) are not served: STATUS, and nothing changes.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::{GmmEvent, GmmState};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{Cause, RaCapUpdCause};
use gannet_wire::bssgp::signalling::{FlowControlBvc, FlowControlMs, LlcDiscarded, RaCapabilityUpdateAck};
use gannet_wire::id::{Imsi, Nsei, Rai, Tlli};

impl Sgsn {
    /// May the BSS of an NSE speak of this mobile?
    fn is_within_reach(&self, slot: Slot, nsei: Nsei) -> bool {
        let Some(gmm) = self.mobiles.get(slot).map(|mobile| &mobile.gmm) else { return false };
        match gmm.mm_state() {
            MmState::Ready => gmm.cell().nsei == nsei,
            MmState::Standby => gmm.cell().nsei == nsei || self.nses_of(gmm.routing_area()).contains(&nsei),
            MmState::Idle => false,
        }
    }

    /// A PDU about a mobile that is elsewhere, or about nobody: counted, and named in the log.
    pub(super) fn not_its_mobile(
        &self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        what: core::fmt::Arguments<'_>,
        slot: Option<Slot>,
    ) {
        cx.drop_of(Drop::BssgpForeignMobile, slot.and_then(|slot| self.imsi_of(slot)));
        let BvcAddress { nsei, bvci } = bvc;
        match slot.and_then(|slot| self.mobiles.get(slot)) {
            Some(mobile) => {
                let (name, cell) = (mobile.gmm.name(), mobile.gmm.cell());
                let why = format_args!(
                    "{what} from NSEI {nsei} BVCI {bvci} is not taken: {name} is at NSEI {} BVCI {}, cell {}",
                    cell.nsei, cell.bvci, cell.id
                );
                cx.log(Category::Bssgp, Level::Notice, why);
            }
            None => {
                let why =
                    format_args!("{what} from NSEI {nsei} BVCI {bvci} is not taken: nobody has this name");
                cx.log(Category::Bssgp, Level::Notice, why);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ flow control

    pub(super) fn flow_control_bvc(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        cell: u32,
        flow: &FlowControlBvc,
    ) {
        self.gb.flow.set_bvc(cx, cell, BvcParameters::from(flow), flow.bucket_full_ratio);
        self.resume_claims(cx, cell);
        self.send_bssgp(cx, bvc, &Message::FlowControlBvcAck { tag: flow.tag });
    }

    pub(super) fn flow_control_ms(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        cell: u32,
        flow: &FlowControlMs,
    ) {
        let tlli = flow.tlli;
        let found = self.directory.by_tlli(bvc, tlli);
        let here = found.filter(|slot| self.mobiles.get(*slot).is_some_and(|mobile| mobile.bvc() == bvc));
        let Some(slot) = here else {
            let what = format_args!("FLOW-CONTROL-MS for TLLI {tlli}");
            return self.not_its_mobile(cx, bvc, what, found);
        };
        if self.gb.flow.set_ms(cx, cell, slot.index, Bucket::from(flow), flow.bucket_full_ratio) {
            self.send_bssgp(cx, bvc, &Message::FlowControlMsAck { tlli, tag: flow.tag });
            self.leak_rate_changed(slot);
        }
    }

    /// LLC-DISCARDED (08.18 clause 8.3), about a mobile that is in a cell of the BSS, or has left it and FLUSH-LL is not
    /// answered yet.
    pub(super) fn llc_discarded(&mut self, cx: &mut Context<'_>, nsei: Nsei, discarded: &LlcDiscarded) {
        let LlcDiscarded { tlli, frames, bvci, octets } = *discarded;
        let cell = BvcAddress { nsei, bvci };
        self.gb.bvcs.count_discarded(nsei, bvci);
        let found = self.directory.by_tlli(cell, tlli);
        let index = self.gb.bvcs.find(nsei, bvci);
        let here = found.zip(index).filter(|(slot, index)| {
            self.mobiles.get(*slot).is_some_and(|mobile| mobile.bvc() == cell)
                || self.gb.changes.has_left(*slot, *index)
        });
        let Some((slot, index)) = here else {
            let what = format_args!("LLC-DISCARDED for TLLI {tlli}");
            self.not_its_mobile(cx, cell, what, found);
            // Of nobody any more, a mobile that has detached: the cell has room again.
            if let (None, Some(index)) = (found, index) {
                self.gb.flow.take_out(cx, index, None, u64::from(octets));
            }
            return;
        };
        (0..frames).for_each(|_| cx.drop_of(Drop::SgsnDiscardedByBss, self.imsi_of(slot)));
        self.gb.flow.take_out(cx, index, Some(slot.index), u64::from(octets));
    }

    // ------------------------------------------------------------------------------------------------ mobiles

    /// The mobile that SUSPEND or RESUME names, where this NSE may suspend it in this routing area.
    fn to_suspend(&self, nsei: Nsei, tlli: Tlli, rai: Rai) -> Result<Slot, Option<Slot>> {
        let slot = self.slot_of_local(tlli).ok_or(None)?;
        let in_area = self
            .mobiles
            .get(slot)
            .is_some_and(|mobile| mobile.gmm.routing_area() == rai || mobile.gmm.cell().id.rai == rai);
        if in_area && self.is_within_reach(slot, nsei) { Ok(slot) } else { Err(Some(slot)) }
    }

    /// SUSPEND (08.18 clause 7.4): nothing is sent to the mobile until it resumes or updates its routing area.
    pub(super) fn suspend(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, rai: Rai) {
        let answer = match self.to_suspend(bvc.nsei, tlli, rai) {
            Ok(slot) => {
                if let Some(mobile) = self.mobiles.get_mut(slot) {
                    mobile.counters_mut().count(|counters| &mut counters.suspends);
                }
                self.gmm(cx, slot, GmmEvent::Suspend);
                // What waits would be sent to a mobile that does not listen.
                self.gb.flow.flush(cx, slot.index);
                Message::SuspendAck { tlli, rai, reference: reference(slot) }
            }
            Err(found) => {
                let what = format_args!("SUSPEND for TLLI {tlli} in routing area {rai}");
                self.not_its_mobile(cx, bvc, what, found);
                Message::SuspendNack { tlli, rai, cause: Some(Cause::UnknownMs) }
            }
        };
        self.send_bssgp(cx, bvc, &answer);
    }

    /// RESUME (08.18 clause 7.5), with the reference of SUSPEND-ACK.
    pub(super) fn resume(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        (tlli, rai, given): (Tlli, Rai, u8),
    ) {
        let found = self.to_suspend(bvc.nsei, tlli, rai);
        let is_right = |slot: &Slot| {
            let suspended = self.mobiles.get(*slot).is_some_and(|mobile| mobile.gmm.is_suspended());
            !suspended || reference(*slot) == given
        };
        match found {
            Ok(slot) if is_right(&slot) => {
                self.send_bssgp(cx, bvc, &Message::ResumeAck { tlli, rai });
                self.gmm(cx, slot, GmmEvent::Resume);
            }
            Ok(slot) | Err(Some(slot)) => self.refuse_resume(cx, bvc, (tlli, rai, given), Some(slot)),
            Err(None) => self.refuse_resume(cx, bvc, (tlli, rai, given), None),
        }
    }

    fn refuse_resume(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        (tlli, rai, given): (Tlli, Rai, u8),
        slot: Option<Slot>,
    ) {
        let what = format_args!("RESUME for TLLI {tlli} in routing area {rai} with reference {given}");
        self.not_its_mobile(cx, bvc, what, slot);
        let cause = Some(Cause::UnknownMs);
        self.send_bssgp(cx, bvc, &Message::ResumeNack { tlli, rai, cause });
    }

    /// A mobile by a TLLI that comes without its cell: only a local one names it.
    pub(super) fn slot_of_local(&self, tlli: Tlli) -> Option<Slot> {
        self.directory.by_tlli(BvcAddress::default(), tlli)
    }

    /// RA-CAPABILITY-UPDATE (08.18 clause 7.2): who asks learns the IMSI, and has to have the mobile within reach.
    pub(super) fn ra_capability_update(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        tlli: Tlli,
        tag: u8,
    ) {
        let found = self.directory.by_tlli(bvc, tlli);
        let slot = found.filter(|slot| {
            let is_here = self.mobiles.get(*slot).is_some_and(|mobile| mobile.bvc() == bvc);
            is_here || self.is_within_reach(*slot, bvc.nsei)
        });
        if slot.is_none() {
            self.not_its_mobile(cx, bvc, format_args!("RA-CAPABILITY-UPDATE for TLLI {tlli}"), found);
        }
        let mobile = slot.and_then(|slot| self.mobiles.get(slot));
        let capability = mobile.map(|mobile| mobile.radio_capability.as_slice().to_vec());
        let capability = capability.filter(|octets| !octets.is_empty());
        let imsi = slot.and_then(|slot| self.imsi_of(slot));
        let cause = match (slot, &capability) {
            (Some(_), Some(_)) => RaCapUpdCause::Ok,
            (Some(_), None) => RaCapUpdCause::NotAvailable,
            (None, _) => RaCapUpdCause::TlliUnknown,
        };
        let ack = RaCapabilityUpdateAck { tlli, tag, imsi, cause, ms_ra_capability: capability };
        self.send_bssgp(cx, bvc, &Message::RaCapabilityUpdateAck(ack));
    }

    /// MS-REGISTRATION-ENQUIRY (48.018 clause 10.3): where several operators share the cells, a BSS asks for the one with
    /// which a mobile is registered. Here that is the one of the routing area in which it is.
    pub(super) fn ms_registration_enquiry(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, imsi: Imsi) {
        let mobile = self.directory.by_imsi(imsi).and_then(|slot| self.mobiles.get(slot));
        let registered = mobile.filter(|mobile| mobile.gmm.gmm_state() == GmmState::Registered);
        let plmn = registered.map(|mobile| mobile.gmm.routing_area().plmn);
        self.send_bssgp(cx, bvc, &Message::MsRegistrationEnquiryResponse { imsi, plmn });
    }
}

/// The suspend reference number of a mobile (08.18 clause 11.3.33).
const fn reference(slot: Slot) -> u8 {
    slot.index.to_be_bytes()[3]
}
