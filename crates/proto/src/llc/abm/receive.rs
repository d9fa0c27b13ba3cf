//! Receiving I and S frames (04.64 clauses 8.6.2, 8.6.5 and 8.8.2 [44.064]).

use super::super::nine_bits;
use super::transmit::M_OCTETS;
use super::{Abm, Drop, Frame, Link, LlcOutput, State, i_input, transmit_u};
use core::ops::Range;
use gannet_machine::time::Instant;
use gannet_machine::{Batch, Context};
use gannet_wire::llc::{Control, FrmrInformation, Header, UFunction};

/// A received I or S frame whose FCS is right.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its header.
    pub header: &'a Header,
    /// It is a command.
    pub command: bool,
    /// The frame, deciphered.
    pub frame: Frame,
    /// Where the information of an I frame stands in it; `None` for an S frame.
    pub information: Option<Range<usize>>,
}

impl Abm {
    /// The input of the cipher for a received I frame (annex A).
    #[must_use]
    pub fn cipher_input(&self, ns: u16) -> u32 {
        let ahead = nine_bits(u32::from(ns).wrapping_sub(self.received));
        let count = self.received.wrapping_add(ahead.into());
        // The upper half is what has been received already.
        let count = if ahead < gannet_wire::llc::MODULUS / 2 {
            count
        } else {
            count.wrapping_sub(gannet_wire::llc::MODULUS.into())
        };
        i_input(self.windows.iov_i, count)
    }

    /// A received I or S frame.
    ///
    /// # Errors
    /// The name under which it, or its information, is dropped.
    pub fn receive(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        received: Received<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        match self.state {
            State::Abm => self.receive_in_abm(cx, link, received, out),
            // Clause 8.5.1.2: what comes before the UA is of another connection.
            State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::LocalRelease => {
                Err(Drop::LlcNotAbm)
            }
        }
    }

    fn receive_in_abm(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        received: Received<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let Received { header, command, frame, information } = received;
        let (ack_request, ns, nr, supervisory) = match &header.control {
            Control::I { ack_request, ns, nr, supervisory } => (*ack_request, *ns, *nr, supervisory),
            Control::S { ack_request, nr, supervisory } => (*ack_request, 0, *nr, supervisory),
            Control::Ui { .. } | Control::U { .. } => return Err(Drop::LlcUnexpected),
        };
        self.n201_i_max = self.n201_i_max.max(link.n201_i);
        if information.as_ref().is_some_and(|info| info.len() > self.n201_i_max.into()) {
            let why = FrmrInformation { w4: true, ..FrmrInformation::default() };
            return Err(self.reject(cx, link, header, command, why, out));
        }
        if information.is_none() {
            self.is_answer_due = false;
        }
        if !self.acknowledge(cx, link, nr, supervisory, out) {
            let why = FrmrInformation { w1: true, ..FrmrInformation::default() };
            return Err(self.reject(cx, link, header, command, why, out));
        }
        let is_new = information.is_some();
        let taken = information.map_or(Ok(()), |info| self.take(cx, link, ns, (frame, info), out));
        if ack_request {
            // Where it had come before, the peer has waited for the answer.
            self.owe(cx.now, is_new && taken.is_ok());
        }
        self.follow_up(cx, link, out);
        taken
    }

    /// The information of an I frame (clause 8.6.2).
    fn take(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        ns: u16,
        (frame, info): (Frame, Range<usize>),
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        if self.is_busy {
            return Err(Drop::LlcBusy);
        }
        let ahead = nine_bits(u32::from(ns).wrapping_sub(self.received));
        if ahead >= self.windows.k_received.into() {
            return Err(Drop::LlcDuplicate);
        }
        match usize::from(ahead).checked_sub(1) {
            None => {
                self.deliver(link, frame, info, out);
                self.deliver_held(cx, link, out);
                Ok(())
            }
            Some(place) => self.hold(cx.now, place, frame.get(info).unwrap_or_default()),
        }
    }

    /// Gives the information `info` of a frame to layer 3. The frame is narrowed in its place: one that is moved when it has just been
    /// changed is waited for.
    fn deliver(&mut self, link: &Link, frame: Frame, info: Range<usize>, out: &mut Batch<LlcOutput>) {
        self.received = self.received.wrapping_add(1);
        self.untold_octets = self.untold_octets.saturating_add(u32::try_from(info.len()).unwrap_or(u32::MAX));
        if !self.information.is_empty() {
            self.information = Box::default();
        }
        out.push(LlcOutput::Data { sapi: link.sapi, frame });
        if let Some(LlcOutput::Data { frame, .. }) = out.last_mut() {
            let is_inside = frame.narrow(info.start, info.end);
            debug_assert!(is_inside, "it was there when the FCS was right");
        }
    }

    /// V(R) was received; delivers what was held behind it, up to the next gap.
    fn deliver_held(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        // Where a gap closes the peer is told.
        if !self.held.is_empty() {
            self.owe(cx.now, false);
        }
        while let Some(Some(octets)) = self.held.pop_front() {
            self.held_octets = self.held_octets.saturating_sub(u32::try_from(octets.len()).unwrap_or(0));
            let Some(frame) = cx.frames.copy_of(&octets) else {
                // It is as if it had not come yet: the peer sends it once more when its T201 has run out.
                cx.drop(Drop::NoFrame, None);
                break;
            };
            self.deliver(link, frame, 0..octets.len(), out);
        }
        if self.held.is_empty() {
            self.held.shrink_to(0);
        }
    }

    /// Keeps the information of an I frame that is `place` behind V(R) + 1.
    fn hold(&mut self, now: Instant, place: usize, information: &[u8]) -> Result<(), Drop> {
        if self.held.get(place).is_some_and(Option::is_some) {
            return Err(Drop::LlcDuplicate);
        }
        let octets = u32::try_from(information.len()).unwrap_or(u32::MAX);
        let most = u32::from(self.windows.m_received) * M_OCTETS;
        if most != 0 && self.held_octets.saturating_add(octets) > most {
            return Err(Drop::LlcBufferFull);
        }
        if self.held.is_empty() || place > self.held.len() {
            self.owe(now, false);
        }
        if place >= self.held.len() {
            self.held.resize(place + 1, None);
        }
        if let Some(slot) = self.held.get_mut(place) {
            *slot = Some(Box::from(information));
            self.held_octets += octets;
        }
        Ok(())
    }

    /// Own receiver busy, and no longer (clause 8.6.5): while it is, the information of I frames is dropped.
    pub fn set_busy(&mut self, cx: &mut Context<'_>, link: &Link, is_busy: bool, out: &mut Batch<LlcOutput>) {
        let changes = self.is_busy != is_busy;
        self.is_busy = is_busy;
        if changes && self.state == State::Abm {
            self.send_s(cx, link, false, out);
        }
    }

    /// The frame rejection condition (clause 8.8.2): the peer is told, and is to establish the link anew.
    pub(super) fn reject(
        &self,
        cx: &mut Context<'_>,
        link: &Link,
        header: &Header,
        command: bool,
        why: FrmrInformation,
        out: &mut Batch<LlcOutput>,
    ) -> Drop {
        let (vs, _, vr) = self.variables();
        let mut rejected = [0; 6];
        for (octet, control) in rejected.iter_mut().zip(header.emit().iter().skip(1)) {
            *octet = *control;
        }
        let information = FrmrInformation { rejected, vs, vr, response: !command, ..why };
        let poll = matches!(header.control, Control::U { poll_final: true, .. });
        let answer = (command && poll, UFunction::Frmr);
        transmit_u(cx, (link.role, link.sapi), false, answer, &information.emit(), out);
        Drop::LlcFrameRejected
    }
}
