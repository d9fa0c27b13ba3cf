//! Into the queue of a cell, and from there to the BSS when its buckets permit.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_proto::about::About as _;
use gannet_proto::bssgp::flow_control::{Dequeue, Offered, Pdu, PduMeta};
use gannet_proto::gmm::network::Uplink;
use gannet_proto::llc::Deferred;
use gannet_qos::class::{CellClass, Precedence};
use gannet_wire::bssgp::ie::{PduLifetime, Precedence as RadioPriority, QosProfile};
use gannet_wire::bssgp::unitdata::DlUnitdata;
use gannet_wire::id::{Imsi, Nsapi, Tlli};

/// What goes with an LL-PDU through the queue.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// The mobile; `None` for one that is not known.
    slot: Option<Slot>,
    /// The TLLI to send with.
    tlli: Tlli,
    /// The subscriber, for the name of a drop and for the BSS.
    imsi: Option<Imsi>,
    /// What the BSS is told about its handling.
    qos: QosProfile,
    /// The cipher that is still before it.
    pub(super) cipher: Option<Deferred>,
}

impl PduMeta for Meta {
    fn whose(&self) -> Option<Imsi> {
        self.imsi
    }
}

/// Signalling: high precedence, acknowledged by RLC, at best effort's peak rate.
const SIGNALLING: QosProfile = QosProfile {
    peak_bit_rate: 0,
    granularity: 0,
    not_ack: true,
    data: false,
    rlc_unacknowledged: false,
    precedence: RadioPriority::HIGH,
};

/// LL-PDUs that go out between two looks at what has arrived.
const SENT_AT_ONCE: u32 = 64;

/// What an LL-PDU is worth against others of its cell and of its mobile.
#[derive(Debug, Clone, Copy)]
struct Worth {
    class: CellClass,
    precedence: Precedence,
    /// It goes before those of its mobile and class that are not ahead.
    is_ahead: bool,
}

/// That of signalling.
const FIRST: Worth = Worth { class: CellClass::Signalling, precedence: Precedence::High, is_ahead: false };

impl Sgsn {
    /// An LL-PDU of GMM, SM or LLC itself for a mobile.
    pub(in super::super) fn send_signalling(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        tlli: Tlli,
        frame: Frame,
    ) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let (imsi, bvc) = (mobile.imsi(), mobile.bvc());
        let meta = Meta { slot: Some(slot), tlli, imsi, qos: SIGNALLING, cipher: None };
        self.enqueue(cx, bvc, meta, frame);
    }

    /// An LL-PDU for a mobile that has no place in the table.
    pub(in super::super) fn send_to_stranger(&mut self, cx: &mut Context<'_>, to: Uplink, frame: Frame) {
        let meta = Meta { slot: None, tlli: to.tlli, imsi: None, qos: SIGNALLING, cipher: None };
        self.enqueue(cx, BvcAddress { nsei: to.cell.nsei, bvci: to.cell.bvci }, meta, frame);
    }

    /// An LL-PDU with user data, and the cipher that is still before it.
    pub(in super::super) fn send_data(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        cipher: Option<Deferred>,
        frame: Frame,
    ) -> bool {
        let Some((mobile, bearer)) = self.mobiles.get(slot).and_then(|m| Some((m, m.bearer(nsapi)?))) else {
            return false;
        };
        let (imsi, bvc) = (mobile.imsi(), mobile.bvc());
        let worth =
            Worth { class: bearer.class, precedence: bearer.precedence, is_ahead: mobile.goes_ahead(bearer) };
        let meta = Meta {
            slot: Some(slot),
            tlli: mobile.gmm.tlli(),
            imsi,
            qos: QosProfile::from_octets(bearer.radio_qos),
            cipher,
        };
        let Some((cell, pdu)) = self.pdu(cx, bvc, worth, meta, frame) else { return false };
        match self.gb.flow.offer(cx, (cell, Some(slot.index)), pdu) {
            Offered::Passes(pdu) => self.batch_for_ciphering(cx, cell, pdu),
            Offered::Queued => {}
            Offered::Dropped => return false,
        }
        true
    }

    /// Signalling goes when all that its procedure does has been done.
    fn enqueue(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, meta: Meta, frame: Frame) {
        if let Some((cell, pdu)) = self.pdu(cx, bvc, FIRST, meta, frame) {
            self.gb.flow.enqueue(cx, cell, meta.slot.map(|slot| slot.index), pdu);
        }
    }

    /// An LL-PDU as flow control takes it, with the name of its cell there.
    fn pdu(
        &self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        Worth { class, precedence, is_ahead }: Worth,
        meta: Meta,
        mut frame: Frame,
    ) -> Option<(u32, Pdu<Meta>)> {
        frame.set_patient(class == CellClass::BestEffort);
        let Some(cell) = self.gb.bvcs.find(bvc.nsei, bvc.bvci) else {
            cx.drop_of(Drop::SgsnNoCell, meta.imsi);
            return None;
        };
        let expires =
            self.config.pdu_lifetime.of(class).map_or(Instant(u64::MAX), |lifetime| cx.now + lifetime);
        Some((cell, Pdu { class, precedence, is_ahead, expires, meta, frame }))
    }

    /// Sends all that conforms now, and asks to be woken when more will.
    pub(in super::super) fn send_queued(&mut self, cx: &mut Context<'_>) {
        self.send_some(cx);
        while self.gb.flow_more {
            self.send_some(cx);
        }
    }

    /// The same, or a part of it: where thousands of mobiles may go on at the same instant, what arrives meanwhile does
    /// not wait for all of them.
    pub(in super::super) fn send_some(&mut self, cx: &mut Context<'_>) {
        self.gb.flow_more = true;
        for _ in 0..SENT_AT_ONCE {
            match self.gb.flow.dequeue(cx) {
                Dequeue::Pdu { cell, ms: _, since: _, pdu } => self.batch_for_ciphering(cx, cell, pdu),
                Dequeue::WaitUntil(at) => {
                    if at < self.gb.flow_asked || self.gb.flow_asked <= cx.now {
                        cx.timers.wake(Owner::Flow.of_node(), at);
                        self.gb.flow_asked = at;
                    }
                    self.gb.flow_more = false;
                    break;
                }
                Dequeue::Empty => {
                    self.gb.flow_more = false;
                    break;
                }
            }
        }
        self.flush_cipher_batch(cx);
        self.follow_feedback(cx.now, cx.prefetch);
    }

    /// DL-UNITDATA (08.18 clause 6.1), with what the clause wants the BSS to know where we know it.
    pub(super) fn send_pdu(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pdu<Meta>) {
        let Some((nsei, bvci)) = self.gb.bvcs.get(cell).map(|bvc| (bvc.nsei, bvc.bvci)) else {
            cx.drop_of(Drop::SgsnNoCell, pdu.meta.imsi);
            return;
        };
        let Pdu { meta, mut frame, expires, .. } = pdu;
        let mobile = meta.slot.and_then(|slot| self.mobiles.get(slot));
        let capability = mobile.map(|mobile| mobile.radio_capability.as_slice());
        let header = DlUnitdata {
            tlli: meta.tlli,
            qos: meta.qos,
            lifetime: remaining(cx.now, expires),
            ms_ra_capability: capability.filter(|octets| !octets.is_empty()),
            priority: None,
            drx: mobile.map(|mobile| u16::from_be_bytes(mobile.gmm.drx().to_octets())),
            imsi: meta.imsi,
            old_tlli: mobile.and_then(|mobile| mobile.llc.tlli_old()).filter(|old| *old != meta.tlli),
            pfi: None,
            lsa_information: None,
            service_utran_cco: None,
            alignment: None,
        };
        let length = frame.len();
        let written = frame.push(header.buffer_len(length)).is_some_and(|room| header.emit(length, room));
        if !written {
            cx.drop_of(Drop::SgsnNoHeadroom, meta.imsi);
            return;
        }
        self.stats.ll_pdu_downlink += 1;
        self.stats.ll_octets_downlink += length as u64;
        self.gb.bvcs.count_sent(cell, frame.len());
        // PDUs of one mobile take one NS-VC, so that they stay in order (08.16 clause 4.4).
        let lsp = meta.slot.map_or(meta.tlli.0, |slot| slot.index);
        self.ns_unitdata(cx, nsei, bvci, lsp, frame);
    }
}

/// What is left of a lifetime, in hundredths of a second.
fn remaining(now: Instant, expires: Instant) -> PduLifetime {
    if expires == Instant(u64::MAX) {
        return PduLifetime::INFINITE;
    }
    let hundredths = expires.since(now).as_millis() / 10;
    PduLifetime(u16::try_from(hundredths).unwrap_or(u16::MAX - 1).clamp(1, u16::MAX - 1))
}
