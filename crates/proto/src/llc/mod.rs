//! Logical link control entities (04.64 [44.064]): the same code for the mobile and for the SGSN.
//!
//! [`LlcContext`] is everything that one end keeps about one TLLI: the assignment of the TLLI (LLME), and for each
//! SAPI the counters and parameters of its logical link entity (LLE). It is plain data. Frames are given in and come
//! out; none is kept.
//!
//! * A unit of layer 3 goes out through [`LlcContext::unitdata_request`], which puts header and FCS round it in
//!   place; what arrives goes through [`LlcContext::receive`]. Where many frames go out or come in, their ciphering is
//!   better done for all of them at once: [`LlcContext::unitdata_request_deferred`], [`LlcContext::deciphering_of`].
//! * Acknowledged mode ([`abm`]) is there for the SAPIs of user data. An LLE has memory for it only while it is in it;
//!   where layer 3 does not offer it ([`LlcContext::offer_abm`]) SABM is refused with DM.
//! * XID negotiation never stands in the way of data: until a larger N201-U is confirmed nothing longer is sent, but
//!   from the peer, who may have agreed already, it is accepted.

pub mod abm;
pub mod cipher;
mod kind;
mod layer3;
mod links;
mod llme;
mod parameters;
mod primitives;
mod saps;
mod ui;
mod xid;

pub use abm::{Abm, Refused, ReleaseCause, ReturnedUnits};
pub use cipher::{Algorithm, Cipher, Ciphering, Direction, Kc, KcLength, NoCipher};
pub use kind::{Kind, is_information};
pub use links::Terms;
pub use primitives::{Confirmed, EstablishIndication, LlcOutput, LlcStatus};
pub use ui::{Counters, Deferred, KEPT_EVERY, nine_bits};
pub use xid::{Layer3Offer, XidIndication, XidRequest};

use crate::about::About as _;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Fold};
use gannet_wire::DecodeError;
use gannet_wire::id::{Imsi, Sapi, Tlli};
use gannet_wire::llc::{Control, Header, Layout, UFunction};
use links::Links;
use saps::Saps;
use serde::{Deserialize, Serialize};
use xid::Outstanding;

/// SAPIs that have an LLE here, in the order of their slots: first that of most user data, whose state so stands beside what each
/// frame needs. Tunnelling of messages (2 and 8) is not among them.
pub const SAPIS: [Sapi; 6] = [Sapi::DATA3, Sapi::GMM, Sapi::DATA5, Sapi::SMS, Sapi::DATA9, Sapi::DATA11];

/// Octets that LLC puts in front of a unit of layer 3 that goes out as a UI frame.
pub const HEADROOM: usize = gannet_wire::llc::UI_HEADER_LEN;

/// Which end of the link this is. It decides the C/R bit (04.64 clause 6.2.2) and who may reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LlcRole {
    /// The mobile.
    Ms,
    /// The network.
    Sgsn,
}

impl LlcRole {
    /// The C/R bit of a frame that this end sends.
    const fn cr(self, command: bool) -> bool {
        match self {
            Self::Sgsn => command,
            Self::Ms => !command,
        }
    }

    /// True where a received frame with this C/R bit is a command.
    const fn is_command(self, cr: bool) -> bool {
        match self {
            Self::Sgsn => !cr,
            Self::Ms => cr,
        }
    }
}

/// Which end this is, and in the same octet whether the counters are to be kept anew, how often the peer's OC may still be
/// looked for after a restart, and whether acknowledged mode is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct End(u8);

impl End {
    const SGSN: u8 = 1;
    const DUE: u8 = 2;
    const SEARCH: u8 = 4;
    const OFFERS_ABM: u8 = 0x80;

    const fn new(role: LlcRole) -> Self {
        match role {
            LlcRole::Ms => Self(0),
            LlcRole::Sgsn => Self(Self::SGSN),
        }
    }

    const fn role(self) -> LlcRole {
        if self.0 & Self::SGSN == 0 { LlcRole::Ms } else { LlcRole::Sgsn }
    }

    const fn is_due(self) -> bool {
        self.0 & Self::DUE != 0
    }

    const fn due_where(&mut self, due: bool) {
        if due {
            self.0 |= Self::DUE;
        }
    }

    const fn done(&mut self) {
        self.0 &= !Self::DUE;
    }

    const fn allow_search(&mut self, times: u8) {
        self.0 = (self.0 & (Self::SGSN | Self::DUE | Self::OFFERS_ABM)) | (times * Self::SEARCH);
    }

    const fn offers_abm(self) -> bool {
        self.0 & Self::OFFERS_ABM != 0
    }

    const fn offer_abm(&mut self, on: bool) {
        self.0 = (self.0 & !Self::OFFERS_ABM) | if on { Self::OFFERS_ABM } else { 0 };
    }

    /// Takes one search; false where none is left.
    const fn take_search(&mut self) -> bool {
        let has = self.0 & !Self::OFFERS_ABM >= Self::SEARCH;
        if has {
            self.0 -= Self::SEARCH;
        }
        has
    }
}

/// Frames of a ciphered peer whose OC is looked for after a restart at the most. Each that does not belong to the peer costs
/// as much as [`ui::OVERFLOWS_MAX`] frames.
const SEARCHES_MAX: u8 = 16;

gannet_machine::timer_names! {
    /// Timers of one context (04.64 clause 8.9).
    pub enum LlcTimer {
        /// An XID command waits for its response (04.64 clause 8.5.3.4).
        T200 = "T200 of XID",
    }
}

/// What one end keeps about one TLLI.
///
/// What a UI frame of SAPI 3 needs is here; what is rarely needed stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlcContext {
    tlli: Tlli,
    tlli_old: Tlli,
    ciphering: Ciphering,
    end: End,
    outstanding: Outstanding,
    saps: Saps,
    links: Option<Box<Links>>,
    deadlines: Deadlines<LlcTimer>,
}

/// The header of an LL-PDU whose TLLI nobody knows yet: enough to see whether it is for GMM.
///
/// # Errors
/// Where the octets are no LL-PDU.
pub fn peek(ll_pdu: &[u8]) -> Result<Header, DecodeError> {
    Header::parse(ll_pdu).map(|layout| layout.header)
}

fn slot_of(sapi: Sapi) -> Option<usize> {
    SAPIS.iter().position(|known| *known == sapi)
}

impl LlcContext {
    /// Octets that each context takes beside its own.
    pub const ELSEWHERE: usize = Saps::ELSEWHERE;

    /// A context in the state "TLLI Unassigned", with default parameters.
    #[must_use]
    pub fn new(role: LlcRole) -> Self {
        Self {
            saps: Saps::new(),
            deadlines: Deadlines::default(),
            tlli: Tlli::UNASSIGNED,
            tlli_old: Tlli::UNASSIGNED,
            ciphering: Ciphering::NONE,
            outstanding: Outstanding::default(),
            end: End::new(role),
            links: None,
        }
    }

    /// True once after each [`KEPT_EVERY`] UI frames of a SAPI, in each direction: whoever keeps this context for the time
    /// after a restart keeps it now, and [`LlcContext::restore`] makes up for what was not kept since.
    pub const fn take_due(&mut self) -> bool {
        let was_due = self.end.is_due();
        self.end.done();
        was_due
    }

    /// Which end this is.
    pub(crate) const fn role(&self) -> LlcRole {
        self.end.role()
    }

    /// Goes on after a restart of this end, from what was kept last: no number is used a second time, the peer's OC and ours
    /// stay in step, and an XID command that waits for its response is repeated in its time.
    ///
    /// This holds while less than [`KEPT_EVERY`] UI frames go to a SAPI between [`LlcContext::take_due`] and the moment at which
    /// this context is kept, and while the peer sends less than 287 from there to its first frame that is received again. OC of
    /// one that has sent more is looked for: up to 64 overflows, 32,768 frames, further on.
    pub fn restore(&mut self, now: Instant) {
        let ciphered = self.ciphering.is_on();
        self.end.allow_search(if ciphered { SEARCHES_MAX } else { 0 });
        self.saps.all_counters().for_each(|counters| counters.restore(ciphered));
        self.deadlines.clear_all();
        self.restart_t200(now);
        self.restore_links(now);
    }

    /// The peer may have been switched off and on: its frames count from zero again, and all parameters are the
    /// defaults. Our own frames go on counting, and the TLLIs stay assigned, so that nothing is lost where it was
    /// only the network that repeated a frame. What the links have not confirmed is returned.
    pub fn peer_began_anew(&mut self, out: &mut Batch<LlcOutput>) {
        for counters in self.saps.all_counters() {
            counters.forget_received();
        }
        self.saps.default_parameters();
        self.outstanding = Outstanding::default();
        self.deadlines.clear_all();
        self.end_links(out);
    }

    /// Asks for the wake-up that leads to [`LlcContext::wake`]. To be called after every other call.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        self.deadlines.arm(key, timers);
        if let Some(links) = &mut self.links {
            links.arm(key, timers);
        }
    }

    /// N201-U of a SAPI: octets of information in a UI frame; 0 for an unknown SAPI.
    #[must_use]
    pub fn n201_u(&self, sapi: Sapi) -> u16 {
        slot_of(sapi).and_then(|slot| self.saps.parameters(slot)).map_or(0, |parameters| parameters.n201_u())
    }

    /// N201-I of a SAPI: octets of information in an I frame; 0 for an unknown SAPI.
    #[must_use]
    pub fn n201_i(&self, sapi: Sapi) -> u16 {
        slot_of(sapi).and_then(|slot| self.saps.parameters(slot)).map_or(0, |parameters| parameters.n201_i)
    }

    /// LL-UNITDATA.request (04.64 clause 8.4.1): makes `frame`, which holds a unit of layer 3, a complete LL-PDU.
    ///
    /// `protected` has the FCS cover all of it, otherwise the header and N202 octets. `ciphered` counts only where
    /// a cipher is assigned. Before a TLLI is assigned only SAPI 1 may send.
    ///
    /// # Errors
    /// The name under which the caller drops the unit: unknown SAPI, longer than N201-U, no TLLI, no room in the
    /// frame. The frame is then as it was.
    pub fn unitdata_request(
        &mut self,
        sapi: Sapi,
        protected: bool,
        ciphered: bool,
        frame: &mut Frame,
    ) -> Result<(), Drop> {
        if let Some(deferred) = self.unitdata_request_deferred(None, (sapi, protected, ciphered), frame)? {
            deferred.job(frame).alone();
        }
        Ok(())
    }

    /// The same without the work of the cipher, which is to be done before the frame leaves, in a batch with others
    /// ([`cipher::batch`]). `None` where it goes in the clear. The FCS is worked out with `fold` ([`Context::fold`]).
    ///
    /// # Errors
    /// As of [`LlcContext::unitdata_request`].
    pub fn unitdata_request_deferred(
        &mut self,
        fold: Option<Fold>,
        (sapi, protected, ciphered): (Sapi, bool, bool),
        frame: &mut Frame,
    ) -> Result<Option<Deferred>, Drop> {
        let slot = slot_of(sapi).ok_or(Drop::LlcUnknownSapi)?;
        if self.tlli == Tlli::UNASSIGNED && sapi != Sapi::GMM {
            return Err(Drop::LlcUnassigned);
        }
        if frame.len() > usize::from(self.n201_u(sapi)) {
            return Err(Drop::LlcTooLong);
        }
        let encrypted = ciphered && self.ciphering.is_on();
        let (cr, iov_ui) = (self.role().cr(true), self.saps.iov_ui);
        let sealing = ui::Sealing { cr, sapi, encrypted, protected, iov_ui, fold };
        let counters = self.saps.counters_mut(slot).ok_or(Drop::LlcUnknownSapi)?;
        let input = sealing.seal(counters, frame)?;
        self.end.due_where(counters.sent_is_due());
        let octets = frame.len() - HEADROOM;
        let direction = Direction::sent_by(self.role());
        Ok(encrypted.then(|| Deferred::new(self.ciphering, direction, input, octets)))
    }

    /// A received LL-PDU; `whose` where the mobile is known, for the drops.
    ///
    /// In the state "TLLI Unassigned" only SAPI 1 is listened to (clause 8.3). True where the frame was intact and
    /// new: a frame that shows where the mobile is.
    pub fn receive(
        &mut self,
        cx: &mut Context<'_>,
        whose: Option<Imsi>,
        frame: Frame,
        out: &mut Batch<LlcOutput>,
    ) -> bool {
        self.receive_deciphered(cx, whose, frame, None, out)
    }

    /// What of a received LL-PDU is to be deciphered, in a batch with others ([`cipher::batch`]); `None` where nothing is,
    /// or where the frame will be dropped for something else. [`LlcContext::receive_deciphered`] takes it then.
    ///
    /// It is what the frame needs if it comes next. Where others come first it nearly always is the same, and
    /// [`LlcContext::receive_deciphered`] sees where it is not.
    #[must_use]
    pub fn deciphering_of(&self, ll_pdu: &[u8]) -> Option<Deferred> {
        let layout = Header::parse(ll_pdu).ok()?;
        let Control::Ui { nu, encrypted: true, protected: _ } = layout.header.control else { return None };
        let slot = slot_of(layout.header.sapi)?;
        let limit = self.saps.parameters(slot).map_or(0, |parameters| parameters.n201_u_received());
        if layout.info_len > usize::from(limit) {
            return None;
        }
        let count = self.saps.counters(slot)?.count_of(nu);
        self.deciphering(&layout, count, ll_pdu)
    }

    /// Of a frame with this OC + N(U); `None` where no cipher is assigned.
    fn deciphering(&self, layout: &Layout, count: u32, ll_pdu: &[u8]) -> Option<Deferred> {
        let octets = ll_pdu.len().saturating_sub(layout.header_len);
        let input = cipher::ui_input(self.saps.iov_ui, layout.header.sapi, count);
        let direction = Direction::received_by(self.role());
        self.ciphering.is_on().then(|| Deferred::new(self.ciphering, direction, input, octets))
    }

    /// [`LlcContext::receive`] of a frame of which `done` was carried out. Where frames of the peer that came before it have
    /// moved its counters so that this was not it, that is undone, and what is right is done: batches change nothing of
    /// what is received.
    pub fn receive_deciphered(
        &mut self,
        cx: &mut Context<'_>,
        whose: Option<Imsi>,
        frame: Frame,
        done: Option<&Deferred>,
        out: &mut Batch<LlcOutput>,
    ) -> bool {
        let result = self.try_receive(cx, frame, done, out);
        if let Err(drop) = result {
            cx.drop_of(drop, whose);
        }
        !matches!(
            result,
            Err(Drop::LlcMalformed
                | Drop::LlcBadFcs
                | Drop::LlcDuplicate
                | Drop::LlcTooLong
                | Drop::LlcUnknownSapi
                | Drop::LlcUnassigned
                | Drop::LlcCiphered
                | Drop::LlcUnciphered)
        )
    }

    /// True where a UI frame would be discarded as a repetition (clause 8.4.2). A mobile that was switched off and on
    /// counts from zero again: the node that sees it attach anew makes a new context instead.
    #[must_use]
    pub fn is_repetition(&self, ll_pdu: &[u8]) -> bool {
        let Ok(Header { sapi, control: Control::Ui { nu, .. }, .. }) = peek(ll_pdu) else { return false };
        let counters = slot_of(sapi).and_then(|slot| self.saps.counters(slot)).copied();
        counters.is_some_and(|mut counters| !counters.accept(nu))
    }

    fn try_receive(
        &mut self,
        cx: &mut Context<'_>,
        frame: Frame,
        done: Option<&Deferred>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let layout = Header::parse(&frame).map_err(|error| {
            cx.log(Category::Llc, Level::Info, format_args!("TLLI {}: LL-PDU: {error}", self.tlli));
            Drop::LlcMalformed
        })?;
        let sapi = layout.header.sapi;
        let slot = slot_of(sapi).ok_or(Drop::LlcUnknownSapi)?;
        if self.tlli == Tlli::UNASSIGNED && sapi != Sapi::GMM {
            return Err(Drop::LlcUnassigned);
        }
        if let Control::Ui { nu, encrypted, protected: _ } = layout.header.control {
            return self.receive_ui(cx.fold, slot, (nu, encrypted), &layout, (frame, done), out);
        }
        if self.is_for_abm(&layout) {
            return self.receive_in_abm(cx, slot, &layout, frame, out);
        }
        if !layout.fcs_is_right(&frame) {
            return Err(Drop::LlcBadFcs);
        }
        let command = self.role().is_command(layout.header.cr);
        match layout.header.control {
            Control::Ui { .. } => Ok(()),
            // Clause 8.5.4: in ADM there is no acknowledged operation, and the peer is told so; never in answer to a
            // response, so that two such ends do not talk for ever.
            Control::I { .. } | Control::S { .. } => {
                if command {
                    self.transmit_u(cx, sapi, false, (false, UFunction::Dm), &[], out);
                }
                Err(Drop::LlcNotAbm)
            }
            Control::U { poll_final, function } => {
                let info = frame.get(layout.info()).unwrap_or_default();
                self.receive_u(cx, U { sapi, slot, command, poll_final, function, info }, out)
            }
        }
    }

    fn receive_ui(
        &mut self,
        fold: Option<Fold>,
        slot: usize,
        (nu, encrypted): (u16, bool),
        layout: &Layout,
        (mut frame, done): (Frame, Option<&Deferred>),
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let sapi = layout.header.sapi;
        let limit = self.saps.parameters(slot).map_or(0, |parameters| parameters.n201_u_received());
        if layout.info_len > usize::from(limit) {
            return Err(Drop::LlcTooLong);
        }
        if encrypted {
            self.decipher(fold, slot, nu, layout, (&mut frame, done))?;
        }
        if !layout.fcs_is_right_folded(&frame, fold) {
            return Err(Drop::LlcBadFcs);
        }
        // Of GMM and SM some messages go in the clear on any link; layer 3 knows which.
        if self.ciphering.is_on() && !encrypted && sapi != Sapi::GMM {
            return Err(Drop::LlcUnciphered);
        }
        let counters = self.saps.counters_mut(slot).ok_or(Drop::LlcUnknownSapi)?;
        let piece = counters.received_piece();
        if !counters.accept(nu) {
            return Err(Drop::LlcDuplicate);
        }
        self.end.due_where(counters.received_piece() != piece);
        let info = layout.info();
        if !frame.narrow(info.start, info.end) {
            return Err(Drop::LlcMalformed);
        }
        out.push(LlcOutput::Unitdata { sapi, frame, ciphered: encrypted });
        Ok(())
    }

    /// Deciphers a frame, of which `done` may have been carried out already, with the OC that its counters give. After a
    /// restart of this end OC is looked for further on, where the FCS does not fit.
    fn decipher(
        &mut self,
        fold: Option<Fold>,
        slot: usize,
        nu: u16,
        layout: &Layout,
        (frame, done): (&mut Frame, Option<&Deferred>),
    ) -> Result<(), Drop> {
        let count = self.saps.counters(slot).ok_or(Drop::LlcUnknownSapi)?.count_of(nu);
        let due = self.deciphering(layout, count, frame);
        if due.as_ref() != done {
            // What was applied twice is as it came.
            for applied in done.into_iter().chain(&due) {
                applied.job(frame).alone();
            }
        }
        let due = due.ok_or(Drop::LlcCiphered)?;
        if layout.fcs_is_right_folded(frame, fold) || !self.end.take_search() {
            return Ok(());
        }
        due.job(frame).alone();
        let found = ui::later_overflows(count).find(|later| {
            let Some(trial) = self.deciphering(layout, *later, frame) else { return false };
            trial.job(frame).alone();
            let is_right = layout.fcs_is_right(frame);
            if !is_right {
                trial.job(frame).alone();
            }
            is_right
        });
        let found = found.ok_or(Drop::LlcBadFcs)?;
        self.saps.counters_mut(slot).ok_or(Drop::LlcUnknownSapi)?.go_on_at(found);
        Ok(())
    }

    /// State × event of an LLE in "TLLI Assigned/ADM" (clause 8.5.4); XID and NULL in any state.
    fn receive_u(&mut self, cx: &mut Context<'_>, u: U<'_>, out: &mut Batch<LlcOutput>) -> Result<(), Drop> {
        match (u.function, u.command) {
            (UFunction::Sabm, true) if self.may_enter_abm(u.sapi) => self.receive_abm_u(cx, &u, out),
            // Clause 8.5.1.2: unable to enter ABM.
            (UFunction::Sabm, true) => {
                self.transmit_u(cx, u.sapi, false, (u.poll_final, UFunction::Dm), &[], out);
                Err(Drop::LlcAbmRefused)
            }
            // Clause 8.5.4: in ADM a DISC is answered with DM, F as P was.
            (UFunction::Disc, true) => {
                self.transmit_u(cx, u.sapi, false, (u.poll_final, UFunction::Dm), &[], out);
                Ok(())
            }
            // Clause 8.5.3.
            (UFunction::Xid, true) => self.xid_command(cx, &u, out),
            (UFunction::Xid, false) => self.xid_received(cx, &u, out),
            // Clause 6.4.1.7: no operation; that it came may have been a cell update.
            (UFunction::Null, true) => Ok(()),
            // Clause 8.8: there is no ABM operation that it could re-establish.
            (UFunction::Frmr, false) => {
                out.push(LlcOutput::Status { sapi: u.sapi, cause: LlcStatus::FrameRejected });
                Err(Drop::LlcUnexpected)
            }
            // Clauses 8.5.4 and 8.5.6: nothing was asked that these could answer.
            (UFunction::Ua | UFunction::Dm, false) => Err(Drop::LlcUnexpected),
            // Clause 6.4.1: not defined in this direction.
            (UFunction::Sabm | UFunction::Disc | UFunction::Null, false)
            | (UFunction::Ua | UFunction::Dm | UFunction::Frmr, true) => Err(Drop::LlcUnexpected),
            (UFunction::Other(_), true | false) => Err(Drop::LlcUnknownFunction),
        }
    }

    /// LLGMM-TRIGGER.request (clause 7.2.1.1): sends a NULL frame, by which the network notices the mobile's cell.
    pub fn trigger(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        self.transmit_u(cx, Sapi::GMM, true, (false, UFunction::Null), &[], out);
    }

    /// Sends a U frame. Without a free frame it is lost as on a bad radio path, and counted.
    fn transmit_u(
        &self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        command: bool,
        (poll_final, function): (bool, UFunction),
        info: &[u8],
        out: &mut Batch<LlcOutput>,
    ) {
        abm::transmit_u(cx, (self.role(), sapi), command, (poll_final, function), info, out);
    }
}

/// A received U frame.
#[derive(Debug, Clone, Copy)]
struct U<'a> {
    sapi: Sapi,
    slot: usize,
    command: bool,
    poll_final: bool,
    function: UFunction,
    info: &'a [u8],
}

#[cfg(test)]
mod tests;
