//! SNDCP of one mobile that has acknowledged mode or compression (04.65 clauses 5.1.2, 6.2 and 6.9.1 [44.065]).
//!
//! [`Sndcp`] is what the primitives of the LL service access points act on: the links of the SAPIs, the NSAPIs that they
//! carry, each in its mode, and the compression entities. It is plain data, N-PDUs that are not confirmed included. Mobiles
//! with neither acknowledged mode nor compression have none.
//!
//! What the clauses leave open is settled so:
//!
//! * The mobile establishes the link when its first NSAPI in acknowledged mode is activated; the SGSN waits for it. A
//!   link that was released under N-PDUs is established by whoever has the next one to send. Where nobody comes to do any of
//!   this while N-PDUs wait ([`Sndcp::stalled`]), the node tries again ([`Sndcp::resume`]).
//! * N-PDUs are numbered when they come and compressed when they go to LLC, which gets no more than
//!   [`AcknowledgedLimits::segments_max`] SN-PDUs at a time.
//! * What LLC has is kept there alone where it can give it back ([`super::store`]). When a link ends, or is established anew, it comes
//!   back before LLC says so, and waits again.
//! * What is received is told apart by its number whenever it comes: one that has come before is discarded, and where some
//!   are missing, which the link does not lose, that is counted.
//! * An N-PDU that cannot be restored, or finds no frame, has the link established anew, so that it comes again if the
//!   peer still has it.

mod counted;
mod sending;
mod unacknowledged;
mod view;
mod xid;

pub use counted::Counted;
pub use sending::{Taken, Whole};

use super::acknowledged::{Acknowledged, AcknowledgedLimits, Cutting, Joined, NOTHING, Order, segments};
use super::compression::{
    Buffer, COMPRESSED_MAX, CompressionConfig, Compressions, Packed, Serving, Terms, Way,
};
use super::{N_PDU_MAX, NPdu};
use crate::about::About as _;
use crate::few::Few;
use crate::llc::LlcRole;
use crate::llc::abm::{Abm, Windows};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::sndcp::{Header, Pdu};
use serde::{Deserialize, Serialize};

/// What an operator may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SndcpConfig {
    /// Which compression is proposed and agreed to.
    pub compression: CompressionConfig,
    /// What may wait for the peer's confirmation.
    pub limits: AcknowledgedLimits,
}

/// What a call has to know beside the entity.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// What the operator has chosen.
    pub config: &'a SndcpConfig,
    /// Whose drops these are.
    pub whose: Option<Imsi>,
    /// N201-I of the SAPI, in octets.
    pub n201_i: u16,
    /// Its link in acknowledged mode.
    pub link: LinkView,
}

/// What SNDCP has to know of a link in acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkView {
    /// k of what this end sends, in I frames; 0 without a link.
    pub k_sent: u8,
    /// k of what it receives.
    pub k_received: u8,
    /// What may wait beyond the limits of a link with a short window, in frames.
    pub beyond: u16,
}

impl Setting<'_> {
    /// What may wait on its link now.
    const fn limits(&self) -> AcknowledgedLimits {
        self.config.limits.beyond(self.link.beyond)
    }
}

impl LinkView {
    /// Of this link.
    #[must_use]
    pub fn of(abm: &Abm) -> Self {
        let &Windows { k_sent, k_received, .. } = abm.windows();
        Self { k_sent, k_received, beyond: abm.beyond() }
    }
}

/// What SNDCP gives to LLC, to session management and to the layer above.
#[derive(Debug)]
pub enum SndcpOutput {
    /// LL-ESTABLISH.request.
    Establish {
        /// Of which SAPI.
        sapi: Sapi,
        /// SNDCP's part of the XID parameters.
        block: Option<Vec<u8>>,
    },
    /// LL-ESTABLISH.response.
    EstablishResponse {
        /// Of which SAPI.
        sapi: Sapi,
        /// SNDCP's part of the XID parameters.
        block: Option<Vec<u8>>,
    },
    /// LL-RELEASE.request: no NSAPI needs the link any more.
    Release {
        /// Of which SAPI.
        sapi: Sapi,
    },
    /// LL-DATA.request.
    Data {
        /// On which SAPI.
        sapi: Sapi,
        /// What LL-DATA.confirm is to say.
        reference: u32,
        /// The SN-PDU.
        frame: Frame,
    },
    /// LL-XID.request.
    Xid {
        /// On which SAPI.
        sapi: Sapi,
        /// SNDCP's part of the XID parameters.
        block: Vec<u8>,
    },
    /// SN-DATA.indication.
    NPdu(NPdu),
    /// The peer has N-PDUs of SN-DATA.request.
    Confirmed {
        /// Of which PDP context.
        nsapi: Nsapi,
        /// The N-PDU number of the first.
        number: u8,
        /// How many in a row.
        count: u8,
    },
    /// SNSM-STATUS.request: the link of an NSAPI in acknowledged mode is released or could not be established.
    Status {
        /// Which PDP context.
        nsapi: Nsapi,
    },
}

/// The acknowledged link of a SAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum LinkState {
    /// No NSAPI needs it.
    Unused,
    /// The mobile is to establish it.
    Awaited,
    /// LL-ESTABLISH.request is not answered.
    Establishing,
    /// SN-DATA PDUs go over it.
    Established,
    /// LLC establishes it anew by itself.
    Interrupted,
    /// It was released, and is needed.
    Released,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sap {
    sapi: Sapi,
    link: LinkState,
    compressions: Compressions,
}

impl Sap {
    const fn new(sapi: Sapi) -> Self {
        Self { sapi, link: LinkState::Unused, compressions: Compressions::new() }
    }

    /// What goes over its link goes as it is.
    fn is_plain_and_established(&self) -> bool {
        self.link == LinkState::Established && self.compressions.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Served {
    nsapi: Nsapi,
    sapi: Sapi,
    acknowledged: Option<Acknowledged>,
    /// In unacknowledged mode: the number of the N-PDU that is to come.
    next: u16,
}

/// SNDCP of one mobile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sndcp {
    is_sgsn: bool,
    saps: Few<Sap>,
    served: Few<Served>,
    counted: Counted,
}

type Outputs = Batch<SndcpOutput>;

const N_PDU_NUMBERS: u16 = gannet_wire::sndcp::UNITDATA_MODULUS;

impl Sndcp {
    /// Of a mobile without PDP context.
    #[must_use]
    pub const fn new(role: LlcRole) -> Self {
        let is_sgsn = matches!(role, LlcRole::Sgsn);
        let counted = Counted { sent: 0, sent_compressed: 0, received: 0, received_compressed: 0 };
        Self { is_sgsn, saps: Few::new(), served: Few::new(), counted }
    }

    const fn role(&self) -> LlcRole {
        if self.is_sgsn { LlcRole::Sgsn } else { LlcRole::Ms }
    }

    fn sap(&mut self, sapi: Sapi) -> Option<&mut Sap> {
        self.saps.find_mut(|sap| sap.sapi == sapi)
    }

    fn served(&mut self, nsapi: Nsapi) -> Option<&mut Served> {
        self.served.find_mut(|served| served.nsapi == nsapi)
    }

    fn acknowledged(&mut self, nsapi: Nsapi) -> Option<&mut Acknowledged> {
        self.served(nsapi)?.acknowledged.as_mut()
    }

    /// The NSAPIs of a SAPI by their mode.
    fn serving(&self, sapi: Sapi) -> Serving {
        let of = |acknowledged: bool| {
            let of_it =
                move |served: &&Served| served.sapi == sapi && served.acknowledged.is_some() == acknowledged;
            self.served.iter().filter(of_it).map(|served| served.nsapi).collect()
        };
        Serving { acknowledged: of(true), unacknowledged: of(false) }
    }

    // --------------------------------------------------------------------------- session management

    /// SNSM-ACTIVATE.indication: an NSAPI on a SAPI, in acknowledged mode or not. One that was there before ends.
    pub fn activate(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (nsapi, sapi): (Nsapi, Sapi),
        acknowledged: bool,
        out: &mut Outputs,
    ) {
        self.deactivate(cx, setting, nsapi, out);
        if self.sap(sapi).is_none() {
            self.saps.push(Sap::new(sapi));
        }
        let acknowledged = acknowledged.then(Acknowledged::default);
        let is_acknowledged = acknowledged.is_some();
        self.served.push(Served { nsapi, sapi, acknowledged, next: 0 });
        match self.sap(sapi).map(|sap| sap.link) {
            Some(LinkState::Unused) if is_acknowledged && self.is_sgsn => {
                self.set_link(sapi, LinkState::Awaited);
            }
            Some(LinkState::Unused | LinkState::Released) if is_acknowledged => {
                self.establish(setting, sapi, out);
            }
            Some(_) | None => self.propose(setting, sapi, out),
        }
    }

    /// SNSM-DEACTIVATE.indication: what is not confirmed is dropped by name. What LLC has of it is not to come to a later context of
    /// the same NSAPI: a link that others keep is established anew.
    pub fn deactivate(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        nsapi: Nsapi,
        out: &mut Outputs,
    ) {
        let Some(served) = self.served.take(|served| served.nsapi == nsapi) else { return };
        let Served { sapi, acknowledged, .. } = served;
        let unconfirmed = acknowledged.as_ref().map_or(0, |acknowledged| acknowledged.store.len());
        let at_llc = acknowledged.as_ref().map_or(0, |acknowledged| acknowledged.store.segments());
        (0..unconfirmed).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, setting.whose));
        let is_needed = !self.serving(sapi).acknowledged.is_empty();
        let Some(sap) = self.sap(sapi) else { return };
        sap.compressions.forget(nsapi);
        if !is_needed && sap.link != LinkState::Unused {
            sap.link = LinkState::Unused;
            out.push(SndcpOutput::Release { sapi });
        } else if at_llc > 0 {
            self.establish_anew(setting, sapi, out);
        }
        if self.served.iter().all(|served| served.sapi != sapi) {
            self.saps.take(|sap| sap.sapi == sapi);
        }
    }

    /// SNSM-SEQUENCE.indication: the peer says with the routing area update which N-PDU it expects next, and sending goes on
    /// with that.
    pub fn sequence_indication(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (nsapi, number): (Nsapi, u8),
        out: &mut Outputs,
    ) {
        let Some(acknowledged) = self.acknowledged(nsapi) else {
            cx.drop_of(Drop::SndcpUnexpected, setting.whose);
            return;
        };
        match acknowledged.sequence(number) {
            Ok((_, 0)) => {}
            Ok((number, count)) => out.push(SndcpOutput::Confirmed { nsapi, number, count }),
            Err(drop) => cx.drop_of(drop, setting.whose),
        }
        let Some(sapi) = self.served(nsapi).map(|served| served.sapi) else { return };
        self.go_on(cx, setting, sapi, out);
    }

    // ------------------------------------------------------------------------------------ links

    fn set_link(&mut self, sapi: Sapi, link: LinkState) {
        if let Some(sap) = self.sap(sapi) {
            sap.link = link;
        }
    }

    /// LL-ESTABLISH.request, for the first time or anew. What LLC has comes back then.
    fn establish(&mut self, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        self.link_is(sapi, LinkState::Establishing);
        let (role, serving) = (self.role(), self.serving(sapi));
        let block = self
            .sap(sapi)
            .and_then(|sap| sap.compressions.propose(role, &setting.config.compression, &serving));
        out.push(SndcpOutput::Establish { sapi, block });
    }

    /// LLC could not take an SN-PDU of an established link: what has gone out already comes again on a new one.
    pub fn establish_anew(&mut self, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        if self.is_established(sapi) {
            self.establish(setting, sapi, out);
        }
    }

    /// A link begins or ends: no N-PDU is half received.
    fn link_is(&mut self, sapi: Sapi, link: LinkState) {
        for served in self.served.iter_mut().filter(|served| served.sapi == sapi) {
            if let Some(acknowledged) = &mut served.acknowledged {
                acknowledged.link_anew();
            }
        }
        let serving = self.serving(sapi);
        if let Some(sap) = self.sap(sapi) {
            sap.link = link;
            sap.compressions.link_anew(serving.acknowledged);
            sap.compressions.withdraw();
        }
    }

    /// LL-ESTABLISH.indication: the peer has established the link, for the first time or anew.
    pub fn establish_indication(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, block): (Sapi, Option<&[u8]>),
        out: &mut Outputs,
    ) {
        if self.serving(sapi).acknowledged.is_empty() {
            cx.drop_of(Drop::SndcpUnexpected, setting.whose);
            out.push(SndcpOutput::Release { sapi });
            return;
        }
        self.nothing_is_at_llc(cx, setting, sapi);
        self.link_is(sapi, LinkState::Established);
        let block = block.and_then(|block| self.xid_indication(cx, setting, sapi, block));
        out.push(SndcpOutput::EstablishResponse { sapi, block });
        self.propose(setting, sapi, out);
        self.pump(cx, setting, sapi, out);
    }

    /// LL-ESTABLISH.confirm; without request where LLC has established the link anew by itself.
    pub fn establish_confirm(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, block): (Sapi, Option<&[u8]>),
        out: &mut Outputs,
    ) {
        self.nothing_is_at_llc(cx, setting, sapi);
        match self.sap(sapi).map(|sap| sap.link) {
            Some(LinkState::Establishing) => {
                self.set_link(sapi, LinkState::Established);
                self.xid_confirm(cx, setting, (sapi, block), out);
            }
            Some(
                LinkState::Awaited | LinkState::Established | LinkState::Interrupted | LinkState::Released,
            ) => {
                self.link_is(sapi, LinkState::Established);
                self.propose(setting, sapi, out);
            }
            Some(LinkState::Unused) | None => {
                cx.drop_of(Drop::SndcpUnexpected, setting.whose);
                out.push(SndcpOutput::Release { sapi });
                return;
            }
        }
        self.pump(cx, setting, sapi, out);
    }

    /// LL-RELEASE.indication: the link is released, or could not be established. What is not confirmed stays.
    pub fn release_indication(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        sapi: Sapi,
        out: &mut Outputs,
    ) {
        self.nothing_is_at_llc(cx, setting, sapi);
        self.link_is(sapi, LinkState::Released);
        for nsapi in self.serving(sapi).acknowledged.iter() {
            out.push(SndcpOutput::Status { nsapi });
        }
    }

    /// Goes on after a restart of this end, from what was kept last. N-PDUs that are not confirmed are dropped by name, as nobody
    /// knows which of them the peer has. Numbers that may have been used since are passed over, so that the peer takes nothing
    /// for a repetition; it counts a gap. LLC establishes the links anew.
    pub fn restore(&mut self, cx: &mut Context<'_>, whose: Option<Imsi>) {
        for acknowledged in self.served.iter_mut().filter_map(|served| served.acknowledged.as_mut()) {
            (0..acknowledged.restore()).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, whose));
        }
        self.saps.iter_mut().for_each(|sap| sap.compressions.forget_sent());
    }

    /// LL-RESET.indication (clause 5.1.2.1): no parameter is agreed to any more, and what is to be sent in acknowledged mode
    /// waits for SNSM-SEQUENCE.indication.
    pub fn reset_indication(&mut self) {
        for served in self.served.iter_mut() {
            served.next = 0;
            if let Some(acknowledged) = &mut served.acknowledged {
                acknowledged.link_anew();
                acknowledged.suspended = true;
            }
        }
        let after = if self.is_sgsn { LinkState::Awaited } else { LinkState::Released };
        for sap in self.saps.iter_mut() {
            sap.compressions.reset();
            if sap.link != LinkState::Unused {
                sap.link = after;
            }
        }
    }

    /// Sends what waits: on the link if there is one, after its establishment if it was released. Where something waits,
    /// a mobile that has not established it is waited for no longer.
    pub fn resume(&mut self, cx: &mut Context<'_>, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        let is_awaited = self.sap(sapi).is_some_and(|sap| sap.link == LinkState::Awaited);
        if is_awaited && self.is_stalled(sapi) {
            self.establish(setting, sapi, out);
        } else {
            self.go_on(cx, setting, sapi, out);
        }
    }

    /// The same, but that the mobile is waited for.
    fn go_on(&mut self, cx: &mut Context<'_>, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        match self.sap(sapi).map(|sap| sap.link) {
            Some(LinkState::Established) => self.pump(cx, setting, sapi, out),
            Some(LinkState::Released) => self.establish(setting, sapi, out),
            Some(
                LinkState::Unused | LinkState::Awaited | LinkState::Establishing | LinkState::Interrupted,
            )
            | None => {}
        }
    }

    // ------------------------------------------------------------------------------- receiving

    /// LL-DATA.indication: an SN-PDU that came over the acknowledged link of a SAPI.
    pub fn data_indication(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, frame): (Sapi, Frame),
        out: &mut Outputs,
    ) {
        let (header, start) = match Header::parse(&frame) {
            Ok(parsed) => parsed,
            Err(error) => {
                cx.log_of(setting.whose, Category::Sndcp, Level::Info, format_args!("SN-PDU: {error}"));
                cx.drop_of(Drop::SndcpMalformed, setting.whose);
                return;
            }
        };
        if !self.is_established(sapi) {
            cx.drop_of(Drop::SndcpNotEstablished, setting.whose);
            return;
        }
        let Pdu::Data { first } = header.pdu else {
            cx.drop_of(Drop::SndcpUnacknowledged, setting.whose);
            return;
        };
        let served = self.served(header.nsapi).filter(|served| served.sapi == sapi);
        let Some(acknowledged) = served.and_then(|served| served.acknowledged.as_mut()) else {
            cx.drop_of(Drop::SndcpUnknownNsapi, setting.whose);
            return;
        };
        let joined = acknowledged.join(first, header.more, frame.get(start..).unwrap_or_default());
        drop(frame);
        let whole = match joined {
            Ok(None) => return,
            Ok(Some(joined)) => self.whole(cx, setting, (sapi, header.nsapi), &joined),
            Err(drop) => Err(drop),
        };
        match whole {
            Ok(Some(n_pdu)) => out.push(SndcpOutput::NPdu(n_pdu)),
            Ok(None) => cx.drop_of(Drop::SndcpRepeated, setting.whose),
            Err(drop) => {
                cx.drop_of(drop, setting.whose);
                self.establish(setting, sapi, out);
            }
        }
    }

    /// Restores a whole N-PDU; `None` where it has come before. That one is restored as well, since the peer has compressed it
    /// as well.
    fn whole(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, nsapi): (Sapi, Nsapi),
        joined: &Joined,
    ) -> Result<Option<NPdu>, Drop> {
        let way = Way { role: self.role(), nsapi, acknowledged: true };
        let mut frame = cx.frames.alloc().ok_or(Drop::NoFrame)?;
        let compressions = self.sap(sapi).map(|sap| &mut sap.compressions).ok_or(Drop::SndcpUnknownNsapi)?;
        compressions.restore(way, joined.compression, &joined.octets, &mut frame)?;
        self.counted.received(frame.len(), joined.octets.len());
        let acknowledged = self.acknowledged(nsapi).ok_or(Drop::SndcpUnknownNsapi)?;
        match acknowledged.order(joined.number, setting.link.k_received) {
            Order::Repeated => return Ok(None),
            Order::Gap => cx.drop_of(Drop::SndcpGap, setting.whose),
            Order::Next => {}
        }
        Ok(Some(NPdu::plain(nsapi, frame)))
    }
}
