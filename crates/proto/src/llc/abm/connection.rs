//! Establishment, release and re-establishment (04.64 clauses 8.5.1, 8.5.2, 8.5.5 to 8.5.6 and 8.7 [44.064]).

use super::super::{EstablishIndication, LlcRole, LlcStatus};
use super::{Abm, Drop, Link, LlcOutput, NEVER, PollFinal, ReleaseCause, State, transmit_u};
use gannet_machine::{Batch, Context};
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
    /// LL-ESTABLISH.request (clause 8.5.1.2), with XID parameters as octets. Units that are not acknowledged are returned.
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
        self.give_back(link.sapi, out);
        self.clear(State::LocalEstablishment);
        self.answered = None;
        self.information = parameters.into();
        self.requested_at = cx.now;
        self.send_sabm(cx, link, out);
    }

    /// Sends SABM or UA with parameters, and a new IOV-I before them where this end has to choose it: each of these frames
    /// may be the one with which the peer's numbers start again, also where it is a repetition, and the key stream must
    /// not (annex A.2.1). The peer uses the one that came last.
    fn transmit_with_offset(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        command: bool,
        poll_final: PollFinal,
        parameters: &[u8],
        out: &mut Batch<LlcOutput>,
    ) {
        let mut octets = Vec::new();
        if link.role == LlcRole::Sgsn && link.ciphering.is_on() {
            self.windows.iov_i = cx.rng.u32();
            Parameter::IovI(self.windows.iov_i).emit(&mut octets);
        }
        octets.extend(parameters);
        transmit_u(cx, (link.role, link.sapi), command, poll_final, &octets, out);
    }

    /// Sends SABM with what belongs to it, and starts T200.
    fn send_sabm(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        self.expires = cx.now + link.t200;
        let information = self.information.clone();
        self.transmit_with_offset(cx, link, true, (true, UFunction::Sabm), &information, out);
    }

    /// Sends DISC, and starts T200.
    fn send_disc(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        self.expires = cx.now + link.t200;
        transmit_u(cx, (link.role, link.sapi), true, (true, UFunction::Disc), &[], out);
    }

    /// Sends the UA that enters acknowledged mode.
    fn send_ua(&mut self, cx: &mut Context<'_>, link: &Link, is_final: bool, out: &mut Batch<LlcOutput>) {
        let information = self.information.clone();
        self.transmit_with_offset(cx, link, false, (is_final, UFunction::Ua), &information, out);
    }

    fn send_dm(&self, cx: &mut Context<'_>, link: &Link, is_final: bool, out: &mut Batch<LlcOutput>) {
        transmit_u(cx, (link.role, link.sapi), false, (is_final, UFunction::Dm), &[], out);
    }

    /// True where the parameters of a SABM or UA are to be taken over at once: both ends have sent SABM, or the UA answers
    /// ours. Where that was repeated the answers are more than one, and the IOV-I of the last is the one that holds, whatever
    /// has come in between.
    #[must_use]
    pub fn takes_parameters(&self, function: UFunction, info: &[u8]) -> bool {
        match self.state {
            State::LocalEstablishment => true,
            State::Abm if function == UFunction::Ua => self.answered.is_none(),
            State::Abm => function == UFunction::Sabm && self.is_repetition(info),
            State::Adm | State::RemoteEstablishment | State::LocalRelease => false,
        }
    }

    /// A SABM with this information is the one that established the link, once more.
    fn is_repetition(&self, info: &[u8]) -> bool {
        self.is_untouched() && self.answered == Some(fcs24(info))
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
            self.n201_i_max = link.n201_i;
            self.information = parameters.into();
            self.poll = poll;
            self.send_ua(cx, link, poll, out);
        }
    }

    /// Layer 3 does not want acknowledged mode: DM (clause 8.5.1.2).
    pub fn refuse(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if self.state == State::RemoteEstablishment {
            self.send_dm(cx, link, self.poll, out);
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
                self.give_back(link.sapi, out);
                self.clear(State::LocalRelease);
                self.information = Box::default();
                self.send_disc(cx, link, out);
            }
            State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::Abm => {
                self.refuse(cx, link, out);
                self.released(link, out);
            }
            State::LocalRelease => self.released(link, out),
        }
    }

    fn released(&mut self, link: &Link, out: &mut Batch<LlcOutput>) {
        self.give_back(link.sapi, out);
        self.clear(State::Adm);
        out.push(LlcOutput::ReleaseConfirm { sapi: link.sapi });
    }

    fn lost(&mut self, link: &Link, cause: ReleaseCause, out: &mut Batch<LlcOutput>) {
        self.give_back(link.sapi, out);
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
        self.give_back_all(link.sapi, out);
        self.begin_establishment(cx, link, &[], out);
    }

    /// To be called at [`Abm::next_wake`]; earlier it does nothing.
    pub fn wake(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        self.acknowledge_owed(cx, link, out);
        if cx.now < self.expires {
            return;
        }
        self.expires = NEVER;
        match self.state {
            State::Adm | State::RemoteEstablishment => {}
            State::Abm => self.expired(cx, link, out),
            State::LocalEstablishment if self.tries < link.n200 => {
                self.tries += 1;
                self.send_sabm(cx, link, out);
            }
            State::LocalRelease if self.tries < link.n200 => {
                self.tries += 1;
                self.send_disc(cx, link, out);
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
                if self.state == State::Abm && self.is_repetition(u.info) {
                    // Where both have sent SABM the parameters of ours are not what answers the peer's.
                    if self.information.is_empty() {
                        self.information = u.answer.into();
                    }
                    self.send_ua(cx, link, u.poll_final, out);
                    return;
                }
                let is_known = self.state == State::RemoteEstablishment;
                self.give_back(link.sapi, out);
                self.clear(State::RemoteEstablishment);
                (self.poll, self.answered) = (u.poll_final, Some(fcs24(u.info)));
                if !is_known {
                    let Unnumbered { layer3, parameters, .. } = u;
                    let indication = EstablishIndication { sapi: link.sapi, layer3, parameters };
                    out.push(LlcOutput::EstablishIndication(Box::new(indication)));
                }
            }
            // Clause 8.5.5.1: both want the same; the mode is entered with the UA.
            State::LocalEstablishment => {
                self.answered = Some(fcs24(u.info));
                let ua = (u.poll_final, UFunction::Ua);
                self.transmit_with_offset(cx, link, false, ua, &u.answer, out);
            }
            // Clause 8.5.5.2: both want different things; nothing is what both get.
            State::LocalRelease => {
                self.send_dm(cx, link, u.poll_final, out);
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
            State::Adm => self.send_dm(cx, link, poll, out),
            State::LocalEstablishment => {
                self.send_dm(cx, link, poll, out);
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
                    self.round_trip.established(cx.now.since(self.requested_at));
                }
                let again = !self.is_asked_for;
                self.clear(State::Abm);
                self.n201_i_max = link.n201_i;
                self.information = Box::default();
                out.push(LlcOutput::EstablishConfirm { sapi: link.sapi, layer3: u.layer3, again });
                Ok(())
            }
            (State::LocalRelease, true) => {
                self.released(link, out);
                Ok(())
            }
            // In ABM the answer to a SABM that was repeated, by the radio path or by us. The peer knows the repetition, so that its
            // numbers go on; to establish the link anew would take one more such answer for that to the new SABM.
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
