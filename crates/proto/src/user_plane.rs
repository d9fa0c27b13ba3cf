//! LLC and SNDCP of one mobile, joined for acknowledged mode and compression (04.64 clause 7.2.2 [44.064], 04.65 clauses 5.1.2
//! and 6.2 [44.065]): the same code for the mobile and for the SGSN.
//!
//! A mobile has an [`Sndcp`] where a PDP context of it is in acknowledged mode ([`needs_acknowledged_mode`]) or compression may
//! be agreed to; all its contexts are activated there then. A [`UserPlane`] borrows it with the mobile's LLC for one call. A node
//! gives [`Outputs`] to LLC as the place where its primitives go, tells SNDCP what happens above, and then takes what is left for
//! itself from [`UserPlane::poll`] until there is nothing: primitives between the two layers do not leave here.
//!
//! In unacknowledged mode [`unitdata_request`] and [`unitdata_indication`] are the ways of an N-PDU, with an `Sndcp` and without.

use crate::about::About as _;
use crate::llc::abm::{LinkConfig, LinksConfig, Options, Shared};
use crate::llc::{
    EstablishIndication, LlcContext, LlcOutput, LlcRole, Refused, ReleaseCause, Terms, XidIndication,
};
use crate::sndcp::{
    AcknowledgedLimits, LinkView, NPdu, Reassembler, Receiver, Setting, Sndcp, SndcpConfig, SndcpNsapi,
    SndcpOutput, Taken, Whole, receive,
};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::l3::ie::ReliabilityClass;
use gannet_wire::llc::{Control, Header};
use gannet_wire::sndcp::Compression;

/// SN-PDUs of one N-PDU at most, which LLC may get beside those that are the most for it.
const SEGMENTS_OF_ONE: u16 = 34;

/// Octets of N-PDUs of all mobiles that may wait for confirmation at a node, unless its operator says otherwise: some 13 kB for
/// each of 10,000 mobiles, a second and more of what any of them gets.
pub const UNCONFIRMED_OCTETS_MAX: u32 = 128 << 20;

/// What an operator may choose of acknowledged mode and compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserPlaneConfig {
    /// Compression, and what may wait for the peer's confirmation.
    pub sndcp: SndcpConfig,
    /// What LLC does not negotiate. Its queue always takes what SNDCP may give.
    pub options: Options,
    /// What is proposed and agreed to of the links' parameters.
    pub links: LinksConfig,
}

impl UserPlaneConfig {
    /// May compression be agreed to?
    #[must_use]
    pub const fn compresses(&self) -> bool {
        let compression = &self.sndcp.compression;
        compression.rfc1144.limit().is_some() || compression.v42bis.limit().is_some()
    }

    /// What may ever wait for confirmation of one context that this end sends to.
    #[must_use]
    pub fn most(&self, role: LlcRole) -> AcknowledgedLimits {
        let k = |(sapi, link): (Sapi, LinkConfig)| link.windows(role, sapi).map_or(0, |it| it.k_sent);
        self.sndcp.limits.of_window(self.links.iter().map(k).max().unwrap_or(0))
    }

    /// On what terms a link of `sapi` is established. `n201_i` is what holds, and what the layers below carry where that is known: no
    /// more than that is proposed or agreed to, whatever is chosen.
    fn terms(
        &self,
        role: LlcRole,
        sapi: Sapi,
        layer3: Option<Vec<u8>>,
        (present, most): (u16, Option<u16>),
    ) -> Terms {
        let limits = self.sndcp.limits.of_window(u8::MAX);
        let least = limits.segments_max.saturating_add(SEGMENTS_OF_ONE);
        let link = self.links.of(sapi);
        let options = Options { queue_max: self.options.queue_max.max(least), ..link.options(self.options) };
        let n201_i = match most {
            Some(most) => Some(link.shared.n201_i.unwrap_or(present).min(most)),
            None => link.shared.n201_i,
        };
        let shared = Shared { n201_i, ..link.shared };
        Terms { options, windows: link.windows(role, sapi), shared, layer3 }
    }
}

/// Does a reliability class ask for acknowledged mode of LLC, and so for SN-DATA (03.60 clause 15.2.3 [23.107 clause 9.1.2.3],
/// 04.65 clause 6.2.1)?
#[must_use]
pub const fn needs_acknowledged_mode(class: ReliabilityClass) -> bool {
    matches!(class.0, 1 | 2)
}

/// Batches that keep their memory between two calls.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Primitives of LLC that nobody has looked at.
    pub llc: Batch<LlcOutput>,
    /// The same of SNDCP.
    pub sndcp: Batch<SndcpOutput>,
    /// LL-ESTABLISH.indication, until SNDCP has answered: before anything else of LLC is looked at.
    indication: Option<EstablishIndication>,
    /// Why the link ended of which SNDCP tells.
    released: Option<ReleaseCause>,
}

impl Outputs {
    /// Is there no primitive that nobody has taken?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.llc.is_empty() && self.sndcp.is_empty()
    }

    /// Has LLC something to send, and nobody said anything else? That is what an N-PDU mostly comes to.
    #[must_use]
    pub fn has_only_frame(&self) -> bool {
        let is_alone = self.llc.len() == 1 && self.sndcp.is_empty();
        is_alone && matches!(self.llc.get(0), Some(LlcOutput::Transmit { .. }))
    }

    /// Takes that.
    pub fn take_only_frame(&mut self) -> Option<(Sapi, Frame)> {
        if !self.has_only_frame() {
            return None;
        }
        match self.llc.pop()? {
            LlcOutput::Transmit { sapi, frame } => Some((sapi, frame)),
            _ => None,
        }
    }
}

/// What is left for the node.
#[derive(Debug)]
pub enum Output {
    /// What LLC says to the layers below, to GMM and in unacknowledged mode: [`LlcOutput::Transmit`],
    /// [`Unitdata`](LlcOutput::Unitdata), [`Status`](LlcOutput::Status), and [`Reset`](LlcOutput::Reset), which SNDCP knows by
    /// now, and which counts for [`SndcpNsapi::reset`] as well.
    Llc(LlcOutput),
    /// SN-DATA.indication.
    NPdu(NPdu),
    /// The peer has N-PDUs of [`UserPlane::data_request`].
    Confirmed {
        /// Of which PDP context.
        nsapi: Nsapi,
        /// The N-PDU number of the first.
        number: u8,
        /// How many in a row.
        count: u8,
    },
    /// More N-PDUs of the contexts in acknowledged mode may wait for confirmation than before, though none is confirmed
    /// ([`Sndcp::has_room`]).
    Room,
    /// SNSM-STATUS.request: the link of a PDP context in acknowledged mode has ended or could not be established. It is
    /// established again with [`UserPlane::resume`], or with the next N-PDU.
    Status {
        /// Which PDP context.
        nsapi: Nsapi,
        /// Why.
        cause: ReleaseCause,
    },
}

/// What LLC says that a node has to do something about.
#[derive(Debug)]
pub enum Said {
    /// [`LlcOutput::Transmit`].
    Transmit {
        /// Its SAPI.
        sapi: Sapi,
        /// Its octets.
        frame: Frame,
    },
    /// [`LlcOutput::Unitdata`].
    Unitdata {
        /// Who is meant.
        sapi: Sapi,
        /// The information alone.
        frame: Frame,
        /// It came ciphered.
        ciphered: bool,
    },
    /// [`LlcOutput::XidIndication`], of a mobile without SNDCP alone.
    XidIndication(XidIndication),
    /// [`LlcOutput::Reset`].
    Reset,
}

impl Said {
    /// `None` for what LLC has counted itself, with which mobile and SGSN go on as they are, and for the primitives of acknowledged
    /// mode: where they come here the mobile has no SNDCP, and with it went the N-PDUs and the links.
    #[must_use]
    pub fn of(output: LlcOutput) -> Option<Self> {
        match output {
            LlcOutput::Transmit { sapi, frame } => Some(Self::Transmit { sapi, frame }),
            LlcOutput::Unitdata { sapi, frame, ciphered } => Some(Self::Unitdata { sapi, frame, ciphered }),
            LlcOutput::XidIndication(indication) => Some(Self::XidIndication(*indication)),
            LlcOutput::Reset => Some(Self::Reset),
            LlcOutput::XidConfirm { .. }
            | LlcOutput::Layer3XidConfirm { .. }
            | LlcOutput::Status { .. }
            | LlcOutput::EstablishIndication(_)
            | LlcOutput::EstablishConfirm { .. }
            | LlcOutput::ReleaseIndication { .. }
            | LlcOutput::ReleaseConfirm { .. }
            | LlcOutput::Data { .. }
            | LlcOutput::DataConfirm { .. }
            | LlcOutput::Room { .. }
            | LlcOutput::Returned { .. } => None,
        }
    }
}

/// From the moment when nothing sends N-PDUs in acknowledged mode any more, or a link has ended under them, to the next try: T200 of
/// SAPI 3 (04.64 clause 8.9, table 9 [44.064]).
const AGAIN: Duration = Duration::from_secs(5);

gannet_machine::timer_names! {
    /// Our own, as long as T200 of SAPI 3 (04.64 clause 8.9).
    enum AgainTimer {
        Stalled = "the next try in acknowledged mode",
    }
}

/// When what stands still in acknowledged mode ([`Sndcp::stalled`]) is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Again(Deadlines<AgainTimer>);

impl Again {
    /// After some time from now.
    pub fn later(&mut self, now: Instant) {
        self.0.set(AgainTimer::Stalled, now + AGAIN);
    }

    /// Now.
    pub fn now(&mut self, now: Instant) {
        self.0.woken(now);
        self.0.set(AgainTimer::Stalled, now);
    }

    /// After some time where something stands still and is not waited for already; says if something does.
    pub fn follow(&mut self, sndcp: &Sndcp, now: Instant) -> bool {
        let is_stalled = sndcp.stalled().next().is_some();
        if is_stalled && !self.0.is_set(AgainTimer::Stalled) {
            self.later(now);
        }
        is_stalled
    }

    /// There is nothing to try.
    pub fn clear(&mut self) {
        self.0.clear(AgainTimer::Stalled);
    }

    /// Asks to be woken with this key.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        self.0.arm(key, timers);
    }

    /// The node was woken: is it time?
    pub fn is_due(&mut self, now: Instant) -> bool {
        self.0.woken(now);
        self.0.pop_due(now).is_some()
    }
}

/// LLC and SNDCP of one mobile during one call.
#[derive(Debug)]
pub struct UserPlane<'a> {
    /// Its logical links.
    pub llc: &'a mut LlcContext,
    /// Its SNDCP.
    pub sndcp: &'a mut Sndcp,
    /// What the operator has chosen.
    pub config: &'a UserPlaneConfig,
    /// Octets of information of the longest I frame that the layers below carry whole; `None` where they do not say.
    pub n201_i_max: Option<u16>,
    /// Whose drops these are.
    pub whose: Option<Imsi>,
    /// What the two have said.
    pub out: &'a mut Outputs,
}

impl UserPlane<'_> {
    /// Something that SNDCP is told of a SAPI.
    pub fn tell<T>(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        act: impl FnOnce(&mut Sndcp, &mut Context<'_>, &Setting<'_>, &mut Batch<SndcpOutput>) -> T,
    ) -> T {
        let n201_i = self.llc.n201_i(sapi);
        let link = self.llc.abm(sapi).map(LinkView::of).unwrap_or_default();
        let setting = Setting { config: &self.config.sndcp, whose: self.whose, n201_i, link };
        act(self.sndcp, cx, &setting, &mut self.out.sndcp)
    }

    /// SNSM-ACTIVATE.indication, and the same where a context goes over to the other mode: what is not confirmed is dropped by
    /// name then. SABM is taken from now on where any context is in acknowledged mode.
    pub fn activate(&mut self, cx: &mut Context<'_>, (nsapi, sapi): (Nsapi, Sapi), acknowledged: bool) {
        self.tell(cx, sapi, |sndcp, cx, setting, out| {
            sndcp.activate(cx, setting, (nsapi, sapi), acknowledged, out);
        });
        self.offer();
    }

    /// SNSM-DEACTIVATE.indication.
    pub fn deactivate(&mut self, cx: &mut Context<'_>, nsapi: Nsapi) {
        let Some(sapi) = self.sndcp.sapi_of(nsapi) else { return };
        self.tell(cx, sapi, |sndcp, cx, setting, out| sndcp.deactivate(cx, setting, nsapi, out));
        self.offer();
    }

    /// Where no context is in acknowledged mode, SABM is refused at once.
    fn offer(&mut self) {
        self.llc.offer_abm(self.sndcp.receive_numbers().next().is_some());
    }

    /// SN-DATA.request: gives the N-PDU number under which the N-PDU will be confirmed.
    ///
    /// # Errors
    /// The name under which the caller counts it as dropped. There is none where [`Sndcp::has_room`] has said so before.
    pub fn data_request(&mut self, cx: &mut Context<'_>, nsapi: Nsapi, n_pdu: Frame) -> Result<u8, Drop> {
        let sapi = self.sndcp.sapi_of(nsapi).ok_or(Drop::SndcpUnknownNsapi)?;
        let n_pdu = (nsapi, n_pdu);
        let taken =
            self.tell(cx, sapi, |sndcp, cx, setting, out| sndcp.data_request(cx, setting, n_pdu, out));
        let Taken { number, now } = taken?;
        match now {
            Some(Whole { reference, head, frame }) if self.out.sndcp.is_empty() => {
                self.give_llc(cx, sapi, reference, (&head, frame));
            }
            Some(whole) => {
                let (reference, frame) = whole.sn_pdu();
                self.out.sndcp.push(SndcpOutput::Data { sapi, reference, frame });
            }
            None => {}
        }
        if !self.sndcp.has_room(&self.config.sndcp.limits, self.llc, nsapi) {
            self.await_confirmation(cx, nsapi);
        }
        Ok(number)
    }

    /// The context's next N-PDU waits until some of those before it are confirmed: LLC is not to wait for more before it asks.
    pub fn await_confirmation(&mut self, cx: &mut Context<'_>, nsapi: Nsapi) {
        if let Some(sapi) = self.sndcp.sapi_of(nsapi) {
            self.llc.request_acknowledgement(cx, sapi, &mut self.out.llc);
        }
    }

    /// LL-DATA.request of an SN-PDU, of which `head` is not in its frame yet.
    fn give_llc(&mut self, cx: &mut Context<'_>, sapi: Sapi, reference: u32, (head, frame): (&[u8], Frame)) {
        let given = self.llc.headed_data_request(cx, sapi, reference, (head, frame), &mut self.out.llc);
        if let Err(Refused { drop, mut frame }) = given {
            let has_room = frame.prepend(head);
            debug_assert!(has_room, "it was asked for");
            self.refused(cx, sapi, drop, (reference, frame));
        }
    }

    /// SNSM-SEQUENCE.indication: the N-PDU that the peer expects next of a context, and sending goes on with that.
    pub fn sequence_indication(&mut self, cx: &mut Context<'_>, nsapi: Nsapi, number: u8) {
        let Some(sapi) = self.sndcp.sapi_of(nsapi) else {
            cx.drop_of(Drop::SndcpUnexpected, self.whose);
            return;
        };
        let of = (nsapi, number);
        self.tell(cx, sapi, |sndcp, cx, setting, out| sndcp.sequence_indication(cx, setting, of, out));
    }

    /// Sends what waits of a context: at once where its link is established, after its establishment where it was released.
    pub fn resume(&mut self, cx: &mut Context<'_>, nsapi: Nsapi) {
        let Some(sapi) = self.sndcp.sapi_of(nsapi) else { return };
        self.tell(cx, sapi, |sndcp, cx, setting, out| sndcp.resume(cx, setting, sapi, out));
    }

    /// What is left for the node of all that the two have said; `None` where nothing is left of anything.
    #[inline]
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Option<Output> {
        // What comes most, and nothing: without a step more.
        if self.out.sndcp.is_empty() {
            match self.out.llc.pop()? {
                output @ LlcOutput::Transmit { .. } => return Some(Output::Llc(output)),
                output => {
                    let output = self.of_llc(cx, output);
                    if output.is_some() {
                        return output;
                    }
                }
            }
        }
        self.poll_all(cx)
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) -> Option<Output> {
        loop {
            let output = if let Some(output) = self.out.sndcp.pop() {
                self.of_sndcp(cx, output)
            } else {
                let output = self.out.llc.pop()?;
                self.of_llc(cx, output)
            };
            if output.is_some() {
                return output;
            }
        }
    }

    /// A primitive of SNDCP: to LLC, or to the node.
    fn of_sndcp(&mut self, cx: &mut Context<'_>, output: SndcpOutput) -> Option<Output> {
        let out = &mut self.out.llc;
        match output {
            SndcpOutput::Establish { sapi, block } => {
                let n201_i = (self.llc.n201_i(sapi), self.n201_i_max);
                let terms = self.config.terms(self.llc.role(), sapi, block, n201_i);
                out.retain(|output| !is_of_former_link(output, sapi));
                self.llc.establish_request(cx, sapi, terms, out);
            }
            SndcpOutput::EstablishResponse { sapi, block } => {
                let asked = self.out.indication.take().filter(|indication| indication.sapi == sapi);
                if let Some(indication) = asked {
                    let n201_i = (self.llc.n201_i(sapi), self.n201_i_max);
                    let terms = self.config.terms(self.llc.role(), sapi, block, n201_i);
                    self.llc.establish_response(cx, indication, terms, out);
                }
            }
            SndcpOutput::Release { sapi } => self.llc.release_request(cx, sapi, false, out),
            SndcpOutput::Data { sapi, reference, frame } => {
                self.give_llc(cx, sapi, reference, (&[], frame));
            }
            SndcpOutput::Xid { sapi, block } => self.llc.layer3_xid_request(cx, sapi, block, out),
            SndcpOutput::NPdu(n_pdu) => return Some(Output::NPdu(n_pdu)),
            SndcpOutput::Confirmed { nsapi, number, count } => {
                return Some(Output::Confirmed { nsapi, number, count });
            }
            SndcpOutput::Status { nsapi } => {
                let cause = self.out.released.unwrap_or(ReleaseCause::Unanswered);
                return Some(Output::Status { nsapi, cause });
            }
        }
        None
    }

    /// LLC has not taken an SN-PDU, so that SNDCP gets it back, with those that were to come behind it. Where LLC establishes the link
    /// anew it gives all others back as well; in any other case SNDCP has it established anew, so that nothing is missing in the
    /// middle.
    fn refused(&mut self, cx: &mut Context<'_>, sapi: Sapi, why: Drop, first: (u32, Frame)) {
        let mut refused = vec![first];
        for _ in 0..self.out.sndcp.len() {
            match self.out.sndcp.pop() {
                Some(SndcpOutput::Data { sapi: of, reference, frame }) if of == sapi => {
                    refused.push((reference, frame));
                }
                Some(other) => self.out.sndcp.push(other),
                None => {}
            }
        }
        self.tell(cx, sapi, |sndcp, cx, setting, out| {
            if why != Drop::LlcNotEstablished {
                cx.drop_of(why, setting.whose);
                sndcp.establish_anew(setting, sapi, out);
            }
            sndcp.data_refused(cx, setting, (sapi, &refused));
        });
    }

    /// A primitive of LLC: to SNDCP, or to the node.
    fn of_llc(&mut self, cx: &mut Context<'_>, output: LlcOutput) -> Option<Output> {
        match output {
            LlcOutput::Transmit { .. } | LlcOutput::Unitdata { .. } | LlcOutput::Status { .. } => {
                return Some(Output::Llc(output));
            }
            LlcOutput::XidIndication(indication) => {
                let sapi = indication.sapi;
                let answer = self.tell(cx, sapi, |sndcp, cx, setting, _| {
                    sndcp.xid_indication(cx, setting, sapi, &indication.layer3)
                });
                self.llc.xid_response(cx, *indication, answer, &mut self.out.llc);
            }
            LlcOutput::Layer3XidConfirm { sapi, block } => {
                self.tell(cx, sapi, |sndcp, cx, setting, out| {
                    sndcp.xid_confirm(cx, setting, (sapi, block.as_deref()), out);
                });
            }
            LlcOutput::Reset => {
                self.sndcp.reset_indication();
                return Some(Output::Llc(LlcOutput::Reset));
            }
            LlcOutput::EstablishIndication(indication) => {
                let (sapi, block) = (indication.sapi, indication.layer3.clone());
                self.out.indication = Some(*indication);
                self.tell(cx, sapi, |sndcp, cx, setting, out| {
                    sndcp.establish_indication(cx, setting, (sapi, block.as_deref()), out);
                });
            }
            LlcOutput::EstablishConfirm { sapi, layer3, .. } => {
                self.tell(cx, sapi, |sndcp, cx, setting, out| {
                    sndcp.establish_confirm(cx, setting, (sapi, layer3.as_deref()), out);
                });
            }
            LlcOutput::ReleaseIndication { sapi, cause } => {
                self.out.released = Some(cause);
                self.tell(cx, sapi, |sndcp, cx, setting, out| {
                    sndcp.release_indication(cx, setting, sapi, out);
                });
            }
            LlcOutput::ReleaseConfirm { .. } | LlcOutput::XidConfirm { .. } => {}
            LlcOutput::Data { sapi, frame } => self.tell(cx, sapi, |sndcp, cx, setting, out| {
                sndcp.data_indication(cx, setting, (sapi, frame), out);
            }),
            LlcOutput::DataConfirm { sapi, confirmed } => self.tell(cx, sapi, |sndcp, cx, setting, out| {
                sndcp.data_confirm(cx, setting, confirmed, out);
            }),
            LlcOutput::Room { sapi } => {
                self.tell(cx, sapi, |sndcp, cx, setting, out| sndcp.room(cx, setting, sapi, out));
                return Some(Output::Room);
            }
            LlcOutput::Returned { sapi, units } => self.tell(cx, sapi, |sndcp, cx, setting, _| {
                sndcp.data_returned(cx, setting, (sapi, &units));
            }),
        }
        None
    }
}

/// An I or S frame that has not gone out before a link is established anew. It may acknowledge an SN-PDU that SNDCP could not use,
/// and is why it establishes the link: the peer would not send that again.
fn is_of_former_link(output: &LlcOutput, of: Sapi) -> bool {
    let LlcOutput::Transmit { sapi, frame } = output else { return false };
    let control = Header::parse(frame).map(|layout| layout.header.control);
    *sapi == of && matches!(control, Ok(Control::I { .. } | Control::S { .. }))
}

/// SN-UNITDATA.request: an N-PDU as SN-UNITDATA PDUs for LL-UNITDATA.request, compressed where that is agreed to.
///
/// # Errors
/// The name under which the caller drops it; the frames of `segments` are as they were.
pub fn unitdata_request(
    cx: &mut Context<'_>,
    (llc, sndcp): (&LlcContext, Option<&mut Sndcp>),
    bearer: &mut SndcpNsapi,
    mut frame: Frame,
    segments: &mut Batch<Frame>,
) -> Result<(), Drop> {
    let compress = |sndcp: &mut Sndcp| sndcp.compress_unitdata(bearer.nsapi, &mut frame);
    let compression = sndcp.map_or(Compression::NONE, compress);
    bearer.compressed_request(cx, llc.n201_u(bearer.sapi), compression, frame, segments)
}

/// LL-UNITDATA.indication on a SAPI of user data: the N-PDU when it is whole, restored where it was compressed.
pub fn unitdata_indication(
    cx: &mut Context<'_>,
    reassembler: &mut Reassembler,
    (mut receiver, sndcp): (Receiver, Option<&mut Sndcp>),
    is_active: impl FnOnce(Nsapi) -> bool,
    frame: Frame,
) -> Option<NPdu> {
    receiver.compresses = sndcp.is_some();
    let n_pdu = receive(cx, reassembler, receiver, is_active, frame)?;
    match sndcp {
        Some(sndcp) => sndcp.restore_unitdata(cx, receiver.whose, n_pdu),
        None => Some(n_pdu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::abm::{Retransmission, Timing};
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;

    #[test]
    fn a_frame_is_taken_by_itself_only_where_nothing_else_was_said() {
        let around = Surroundings::new(1, 8, Quiet::default());
        let transmit = || {
            let frame = around.frames.copy_of(b"frame").unwrap();
            LlcOutput::Transmit { sapi: Sapi::DATA3, frame }
        };
        let mut out = Outputs::default();
        assert!(out.is_empty() && out.take_only_frame().is_none());
        out.llc.push(transmit());
        let (sapi, frame) = out.take_only_frame().unwrap();
        assert_eq!((sapi, &*frame, out.is_empty()), (Sapi::DATA3, &b"frame"[..], true));
        out.llc.push(transmit());
        out.llc.push(LlcOutput::Reset);
        assert!(out.take_only_frame().is_none() && out.llc.len() == 2);
        out.llc.retain(|output| matches!(output, LlcOutput::Reset));
        assert!(out.take_only_frame().is_none() && out.llc.len() == 1);
        out.llc.pop();
        out.llc.push(transmit());
        out.sndcp.push(SndcpOutput::Status { nsapi: Nsapi(5) });
        assert!(out.take_only_frame().is_none() && !out.is_empty());
    }

    #[test]
    fn what_is_chosen_of_a_sapi_is_said_of_it_alone() {
        let mut config = UserPlaneConfig::default();
        let link = config.links.of_mut(Sapi::DATA3).unwrap_or_else(|| unreachable!());
        (link.retransmission, link.timing) = (Some(Retransmission::GoBackN), Some(Timing::Fixed));
        let of = |sapi| {
            let options = config.terms(LlcRole::Ms, sapi, None, (1503, None)).options;
            (options.retransmission, options.timing)
        };
        assert_eq!(of(Sapi::DATA3), (Retransmission::GoBackN, Timing::Fixed));
        assert_eq!(of(Sapi::DATA5), (Retransmission::Selective, Timing::Adaptive));
    }

    #[test]
    fn no_more_of_n201_i_is_agreed_to_than_the_layers_below_carry() {
        let terms = |chosen, n201_i| {
            let mut config = UserPlaneConfig::default();
            let link = config.links.of_mut(Sapi::DATA3).unwrap_or_else(|| unreachable!());
            link.shared.n201_i = chosen;
            config.terms(LlcRole::Ms, Sapi::DATA3, None, n201_i).shared.n201_i
        };
        assert_eq!(terms(Some(1503), (1503, Some(1485))), Some(1485));
        assert_eq!(terms(Some(900), (1503, Some(1485))), Some(900));
        assert_eq!(terms(None, (1503, Some(1485))), Some(1485));
        assert_eq!(terms(None, (700, Some(1485))), Some(700), "what holds");
        assert_eq!((terms(None, (1503, None)), terms(Some(1503), (500, None))), (None, Some(1503)));
    }
}
