//! What comes from the mobiles.

use super::Bss;
use super::mobiles::Heard;
use super::radio::{Claim, Indication, Pending, Urgency, Way};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level};
use gannet_proto::um::{HEADER_LEN, UmHeader, UmKind};
use gannet_wire::bssgp::ie::Precedence;
use gannet_wire::bssgp::{Message, QosProfile, UlUnitdata};
use gannet_wire::id::{Bvci, Rai, Sapi, Tlli, TlliKind};

impl Bss {
    /// A datagram of a mobile.
    pub(super) fn um_datagram(&mut self, cx: &mut Context<'_>, mobile: u32, mut frame: Frame) {
        let header = match UmHeader::parse(&frame) {
            Ok(header) => header,
            Err(error) => {
                cx.log(Category::Um, Level::Notice, format_args!("from mobile {mobile}: {error}"));
                cx.drop(Drop::UmMalformed, None);
                return;
            }
        };
        let cell = u32::from(header.cell);
        let is_whole = self.cells.get(cell as usize).is_some() && frame.pull(HEADER_LEN);
        match is_whole.then(|| self.mobiles.heard(mobile, cell, header.tlli)).flatten() {
            Some(Heard::Here) => {}
            Some(Heard::Came { left, forgotten }) => self.mobile_came(cx, mobile, cell, (left, forgotten)),
            None => {
                cx.drop(Drop::UmMalformed, None);
                return;
            }
        }
        if header.kind != UmKind::Away {
            self.tuned_in(cx, mobile, cell);
        }
        match header.kind {
            UmKind::Away => self.tuned_away(cx, mobile, cell),
            UmKind::LlPdu => self.ll_pdu(cx, mobile, cell, &header, frame),
            UmKind::Suspend => {
                let message = rai(&frame).map(|rai| Message::Suspend { tlli: header.tlli, rai });
                if message.is_some() {
                    self.radio.set_suspended(cx.now, mobile, true);
                }
                self.signalling_of_mobile(cx, cell, message);
            }
            UmKind::Resume => {
                let tlli = header.tlli;
                let reference = frame.get(Rai::LEN).copied();
                let message =
                    rai(&frame).and_then(|rai| Some(Message::Resume { tlli, rai, reference: reference? }));
                if message.is_some() {
                    self.radio.set_suspended(cx.now, mobile, false);
                }
                self.signalling_of_mobile(cx, cell, message);
            }
            UmKind::CampOn => {
                self.radio.camp_on(cx.now, cell, mobile);
                self.arm_cell(cx, cell);
            }
            // Downlink only.
            UmKind::PagingPs | UmKind::PagingCs | UmKind::SuspendAck => cx.drop(Drop::UmMalformed, None),
        }
    }

    fn signalling_of_mobile(&mut self, cx: &mut Context<'_>, cell: u32, message: Option<Message>) {
        match (message, self.cells.get(cell as usize).map(|cell| cell.config.nsei)) {
            (Some(message), Some(nsei)) => self.send(cx, nsei, Bvci::SIGNALLING, &message),
            (None, _) | (_, None) => cx.drop(Drop::UmMalformed, None),
        }
    }

    /// A datagram of the air, from mobiles that are elsewhere.
    pub(super) fn air_datagram(&mut self, cx: &mut Context<'_>, octets: &[u8]) {
        match self.radio.hear(cx.now, octets) {
            Ok(cell) => cell.into_iter().for_each(|cell| self.arm_cell(cx, cell)),
            Err(error) => {
                cx.log(Category::Um, Level::Info, format_args!("on the air: {error}"));
                cx.drop(Drop::UmMalformed, None);
            }
        }
    }

    /// An LL-PDU has come whole from a mobile that is elsewhere: that is when the BSS hears of it. False where it goes no further.
    fn came_by_air(&mut self, cx: &mut Context<'_>, cell: u32, pdu: &Pending) -> bool {
        if !self.may_send(cx, cell, pdu.tlli) {
            return false;
        }
        if let Some(Heard::Came { left, forgotten }) = self.mobiles.heard(pdu.mobile, cell, pdu.tlli) {
            self.mobile_came(cx, pdu.mobile, cell, (left, forgotten));
        }
        true
    }

    /// Whether a mobile may send in a cell; dropped by name where not.
    fn may_send(&self, cx: &mut Context<'_>, cell: u32, tlli: Tlli) -> bool {
        // Who has a local TLLI is attached: its way is free.
        let closed_until = self.cells.get(cell as usize).map_or(Instant::ZERO, |cell| cell.closed_until);
        let drop = if !self.bvcs.is_unblocked(cell) {
            Drop::BssCellDown
        } else if cx.now < closed_until && tlli.kind() != TlliKind::Local {
            Drop::BssOverload
        } else {
            return true;
        };
        cx.drop(drop, None);
        false
    }

    fn ll_pdu(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u32, header: &UmHeader, frame: Frame) {
        let tlli = header.tlli;
        if !self.may_send(cx, cell, tlli) {
            return;
        }
        let urgency = header.priority.map_or(Urgency::default(), Urgency::of_priority);
        let expires = Instant(u64::MAX);
        let pdu = Pending { mobile, tlli, expires, urgency, frame };
        if self.radio.request(cx.now, cell, Way::Uplink, pdu, Claim::New).is_err() {
            cx.drop(Drop::BssOverrun, None);
        }
        self.release_detained(cx, cell, mobile, tlli);
        if self.radio.is_immediate() {
            self.uplink_arrived(cx, cell);
        }
        self.arm_cell(cx, cell);
    }

    /// LL-PDUs have come to the end of their way over the radio: UL-UNITDATA (08.18 clause 6.2).
    pub(super) fn uplink_arrived(&mut self, cx: &mut Context<'_>, cell: u32) {
        while let Some(indication) = self.radio.indication(cx, cell, Way::Uplink) {
            let pdu = match indication {
                Indication::Arrived(pdu) => pdu,
                Indication::Lost { cause, .. } => {
                    cx.drop(cause.drop(), None);
                    continue;
                }
            };
            if !self.radio.has_mobiles() && !self.came_by_air(cx, cell, &pdu) {
                continue;
            }
            self.open_mobile(cx, cell, pdu.mobile);
            let Some(state) = self.cells.get_mut(cell as usize) else { return };
            let Pending { tlli, mut frame, .. } = pdu;
            let octets = frame.len();
            let header = UlUnitdata::new(tlli, qos(&frame), state.config.id);
            let room = frame.push(header.buffer_len(octets));
            if !room.is_some_and(|room| header.emit(octets, room)) {
                cx.drop(Drop::NoFrame, None);
                continue;
            }
            state.counters.uplink.add(octets as u64);
            let (nsei, bvci) = (state.config.nsei, state.config.bvci);
            self.ns.unitdata_request(cx, nsei, bvci, tlli.0, frame, &mut self.ns_outputs);
        }
    }
}

/// The routing area's octets behind the header.
fn rai(octets: &[u8]) -> Option<Rai> {
    octets.first_chunk().copied().map(Rai::from_octets)
}

/// The QoS profile of an uplink LL-PDU (08.18 clause 11.3.28): the radio priority is not known here.
fn qos(ll_pdu: &[u8]) -> QosProfile {
    let signalling = ll_pdu.first().is_some_and(|address| address & 0x0f == Sapi::GMM.0);
    QosProfile { not_ack: true, data: !signalling, precedence: Precedence::UNKNOWN, ..QosProfile::default() }
}
