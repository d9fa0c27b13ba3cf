//! Establishment, release and re-establishment (04.64 clauses 8.5.1, 8.5.2, 8.5.5 to 8.5.6 and 8.7 [44.064]).

use super::super::{EstablishIndication, LlcRole, LlcStatus};
use super::{Abm, Drop, Link, LlcOutput, NEVER, ReleaseCause, State, transmit_u};
use crate::machine::{Batch, Context};
use gannet_wire::fcs24::fcs24;
use gannet_wire::llc::xid::Parameter;
use gannet_wire::llc::{Control, FrmrInformation, Header, UFunction};

/// A received U frame of acknowledged mode: any but XID and NULL.
#[derive(Debug, Clone)]
pub struct Unnumbered<'a> {
    /// It is a command.
    pub command: bool,
    /// Its P or F bit.
    pub poll_final: bool,
    /// Which one.
    pub function: UFunction,
    /// Its information.
    pub info: &'a [u8],
    /// Of the information of a SABM or UA layer 3's part, which goes to it.
    pub layer3: Option<Vec<u8>>,
    /// The other parameters of a SABM, which are negotiated when layer 3 responds.
    pub parameters: Vec<Parameter>,
    /// What is answered to them at once, as octets, where both ends have sent SABM.
    pub answer: Vec<u8>,
}

impl Abm {
    /// LL-ESTABLISH.request (clause 8.5.1.2), with XID parameters as octets. Units that are not acknowledged are forgotten.
    pub fn establish_request(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        parameters: &[u8],
        out: &mut Batch<LlcOutput>,
    ) {
        self.is_asked_for = true;
        if self.state != State::LocalEstablishment {
            self.begin_establishment(cx, link, parameters, out);
        }
    }

    fn begin_establishment(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        parameters: &[u8],
        out: &mut Batch<LlcOutput>,
    ) {
        self.clear(State::LocalEstablishment);
        self.information = self.with_offset(cx, link, parameters);
        self.requested_at = cx.now;
        self.command(cx, link, UFunction::Sabm, out);
    }

    /// Puts a new IOV-I before the parameters where this end has to choose it: numbers start again, and the same key stream
    /// must not (annex A.2.1).
    fn with_offset(&mut self, cx: &mut Context<'_>, link: &Link, parameters: &[u8]) -> Box<[u8]> {
        let mut octets = Vec::new();
        if link.role == LlcRole::Sgsn && link.ciphering.is_on() {
            self.windows.iov_i = cx.rng.u32();
            Parameter::IovI(self.windows.iov_i).emit(&mut octets);
        }
        octets.extend(parameters);
        octets.into()
    }

    /// Sends SABM or DISC with what belongs to it, and starts T200.
    fn command(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        function: UFunction,
        out: &mut Batch<LlcOutput>,
    ) {
        self.expires = cx.now + link.t200;
        transmit_u(cx, (link.role, link.sapi), true, (true, function), &self.information, out);
    }

    /// Sends a response.
    fn respond(
        &self,
        cx: &mut Context<'_>,
        link: &Link,
        poll_final: bool,
        function: UFunction,
        out: &mut Batch<LlcOutput>,
    ) {
        let info: &[u8] = if function == UFunction::Ua { &self.information } else { &[] };
        transmit_u(cx, (link.role, link.sapi), false, (poll_final, function), info, out);
    }

    /// LL-ESTABLISH.response (clause 8.5.1.2), with XID parameters as octets; nothing happens where no SABM waits for it.
    pub fn establish_response(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        parameters: &[u8],
        out: &mut Batch<LlcOutput>,
    ) {
        if self.state == State::RemoteEstablishment {
            let poll = self.poll;
            self.clear(State::Abm);
            self.information = self.with_offset(cx, link, parameters);
            self.poll = poll;
            self.respond(cx, link, poll, UFunction::Ua, out);
        }
    }

    /// Layer 3 does not want acknowledged mode: DM (clause 8.5.1.2).
    pub fn refuse(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if self.state == State::RemoteEstablishment {
            self.respond(cx, link, self.poll, UFunction::Dm, out);
            self.clear(State::Adm);
        }
    }

    /// LL-RELEASE.request (clause 8.5.2.2); `local` without a word to the peer.
    pub fn release_request(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        local: bool,
        out: &mut Batch<LlcOutput>,
    ) {
        match self.state {
            State::LocalRelease if !local => {}
            State::LocalEstablishment | State::Abm if !local => {
                self.clear(State::LocalRelease);
                self.information = Box::default();
                self.command(cx, link, UFunction::Disc, out);
            }
            State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::Abm => {
                self.refuse(cx, link, out);
                self.released(link, out);
            }
            State::LocalRelease => self.released(link, out),
        }
    }

    fn released(&mut self, link: &Link, out: &mut Batch<LlcOutput>) {
        self.clear(State::Adm);
        out.push(LlcOutput::ReleaseConfirm { sapi: link.sapi });
    }

    fn lost(&mut self, link: &Link, cause: ReleaseCause, out: &mut Batch<LlcOutput>) {
        self.clear(State::Adm);
        out.push(LlcOutput::ReleaseIndication { sapi: link.sapi, cause });
    }

    /// Establishes the link anew by itself (clause 8.7); LLGMM is told why.
    pub(super) fn reestablish(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        cause: LlcStatus,
        out: &mut Batch<LlcOutput>,
    ) {
        out.push(LlcOutput::Status { sapi: link.sapi, cause });
        self.is_asked_for = false;
        self.begin_establishment(cx, link, &[], out);
    }

    /// To be called at [`Abm::next_wake`]; earlier it does nothing.
    pub fn wake(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if cx.now < self.expires {
            return;
        }
        self.expires = NEVER;
        match self.state {
            State::Adm | State::RemoteEstablishment => {}
            State::Abm => self.expired(cx, link, out),
            State::LocalEstablishment if self.tries < link.n200 => {
                self.tries += 1;
                if self.information.is_empty() {
                    self.information = self.with_offset(cx, link, &[]);
                }
                self.command(cx, link, UFunction::Sabm, out);
            }
            State::LocalRelease if self.tries < link.n200 => {
                self.tries += 1;
                self.command(cx, link, UFunction::Disc, out);
            }
            // Clauses 8.5.1.3 and 8.5.2.3.
            State::LocalEstablishment => {
                cx.drop(Drop::LlcLinkUnanswered, None);
                out.push(LlcOutput::Status { sapi: link.sapi, cause: LlcStatus::Unanswered });
                self.lost(link, ReleaseCause::Unanswered, out);
            }
            State::LocalRelease => {
                cx.drop(Drop::LlcLinkUnanswered, None);
                out.push(LlcOutput::Status { sapi: link.sapi, cause: LlcStatus::Unanswered });
                self.released(link, out);
            }
        }
    }

    /// A received U frame.
    ///
    /// # Errors
    /// The name under which it is dropped.
    pub fn receive_u(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        u: Unnumbered<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        match (u.function, u.command) {
            (UFunction::Sabm, true) => {
                self.receive_sabm(cx, link, u, out);
                Ok(())
            }
            (UFunction::Disc, true) => {
                self.receive_disc(cx, link, u.poll_final, out);
                Ok(())
            }
            (UFunction::Ua, false) => self.receive_ua(cx, link, u, out),
            (UFunction::Dm, false) => self.receive_dm(cx, link, u.poll_final, out),
            (UFunction::Frmr, false) => self.receive_frmr(cx, link, out),
            // Clause 8.8.2: not defined, or not in this direction.
            (UFunction::Sabm | UFunction::Disc | UFunction::Null | UFunction::Xid, false)
            | (UFunction::Ua | UFunction::Dm | UFunction::Frmr | UFunction::Null | UFunction::Xid, true) => {
                Err(Drop::LlcUnexpected)
            }
            (UFunction::Other(_), _) => {
                if self.state == State::Abm {
                    let control = Control::U { poll_final: u.poll_final, function: u.function };
                    let header = Header { cr: !link.role.cr(!u.command), sapi: link.sapi, control };
                    let why = FrmrInformation { w3: true, ..FrmrInformation::default() };
                    self.reject(cx, link, &header, u.command, why, out);
                }
                Err(Drop::LlcUnknownFunction)
            }
        }
    }

    fn receive_sabm(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        u: Unnumbered<'_>,
        out: &mut Batch<LlcOutput>,
    ) {
        match self.state {
            State::Adm | State::Abm | State::RemoteEstablishment => {
                let fcs = fcs24(u.info);
                if self.state == State::Abm && self.is_untouched() && self.answered == fcs {
                    self.respond(cx, link, u.poll_final, UFunction::Ua, out);
                    return;
                }
                let is_known = self.state == State::RemoteEstablishment;
                self.clear(State::RemoteEstablishment);
                (self.poll, self.answered) = (u.poll_final, fcs);
                if !is_known {
                    let Unnumbered { layer3, parameters, .. } = u;
                    let indication = EstablishIndication { sapi: link.sapi, layer3, parameters };
                    out.push(LlcOutput::EstablishIndication(indication));
                }
            }
            // Clause 8.5.5.1: both want the same; the mode is entered with the UA.
            State::LocalEstablishment => {
                transmit_u(cx, (link.role, link.sapi), false, (u.poll_final, UFunction::Ua), &u.answer, out);
            }
            // Clause 8.5.5.2: both want different things; nothing is what both get.
            State::LocalRelease => {
                self.respond(cx, link, u.poll_final, UFunction::Dm, out);
                self.released(link, out);
            }
        }
    }

    /// Nothing has come and nothing was acknowledged since the establishment.
    fn is_untouched(&self) -> bool {
        self.acknowledged == 0 && self.received == 0 && self.held.is_empty()
    }

    fn receive_disc(&mut self, cx: &mut Context<'_>, link: &Link, poll: bool, out: &mut Batch<LlcOutput>) {
        let ua = (poll, UFunction::Ua);
        match self.state {
            State::Adm => self.respond(cx, link, poll, UFunction::Dm, out),
            State::LocalEstablishment => {
                self.respond(cx, link, poll, UFunction::Dm, out);
                self.lost(link, ReleaseCause::Peer, out);
            }
            State::RemoteEstablishment | State::Abm => {
                transmit_u(cx, (link.role, link.sapi), false, ua, &[], out);
                self.lost(link, ReleaseCause::Peer, out);
            }
            State::LocalRelease => transmit_u(cx, (link.role, link.sapi), false, ua, &[], out),
        }
    }

    fn receive_ua(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        u: Unnumbered<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        match (self.state, u.poll_final) {
            (State::LocalEstablishment, true) => {
                if self.tries == 0 {
                    self.round_trip.measured(cx.now.since(self.requested_at));
                }
                let again = !self.is_asked_for;
                self.clear(State::Abm);
                self.information = Box::default();
                out.push(LlcOutput::EstablishConfirm { sapi: link.sapi, layer3: u.layer3, again });
                Ok(())
            }
            (State::LocalRelease, true) => {
                self.released(link, out);
                Ok(())
            }
            // The answer to a SABM that was repeated in time. Where something has come in between, the peer has forgotten it.
            (State::Abm, true) if !self.is_untouched() => {
                self.reestablish(cx, link, LlcStatus::PeerReset, out);
                Err(Drop::LlcUnexpected)
            }
            (State::Adm | State::RemoteEstablishment | State::Abm, true)
            | (
                State::Adm
                | State::LocalEstablishment
                | State::RemoteEstablishment
                | State::Abm
                | State::LocalRelease,
                false,
            ) => Err(Drop::LlcUnexpected),
        }
    }

    fn receive_dm(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        is_final: bool,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        match (self.state, is_final) {
            (State::LocalEstablishment, true) => {
                self.lost(link, ReleaseCause::Refused, out);
                Ok(())
            }
            (State::LocalRelease, true) => {
                self.released(link, out);
                Ok(())
            }
            // Clause 8.7.1: the peer is in ADM.
            (State::Abm, false) => {
                self.reestablish(cx, link, LlcStatus::PeerReset, out);
                Ok(())
            }
            // Clause 8.5.6: what was not asked for is no answer to a command.
            (State::LocalEstablishment | State::LocalRelease, false)
            | (State::Adm | State::RemoteEstablishment, true | false)
            | (State::Abm, true) => Err(Drop::LlcUnexpected),
        }
    }

    fn receive_frmr(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        match self.state {
            State::Abm => {
                self.reestablish(cx, link, LlcStatus::FrameRejected, out);
                Ok(())
            }
            State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::LocalRelease => {
                out.push(LlcOutput::Status { sapi: link.sapi, cause: LlcStatus::FrameRejected });
                Err(Drop::LlcUnexpected)
            }
        }
    }
}
