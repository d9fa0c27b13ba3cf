//! GMM in the SGSN: one [`GmmContext`] for each mobile.
//!
//! The node finds the context by TLLI, P-TMSI or IMSI, makes one ([`GmmContext::new`]) when an ATTACH REQUEST comes
//! from a mobile that it does not know, and answers everything else from strangers with [`answer_to_stranger`].
//! A context found by the P-TMSI of an ATTACH REQUEST is the right one only where [`GmmContext::is_claimed_by`] says so.
//! Session management is served where [`GmmContext::gmm_state`] is GMM-REGISTERED, or GMM-COMMON-PROCEDURE-INITIATED
//! with an MM state other than IDLE.
//!
//! What the context asks of the node (a P-TMSI, the authentication service) it asks by an action; the node answers
//! with an event, in the same batch or later.
//!
//! ```text
//! ATTACH REQUEST ─► [IDENTITY REQUEST IMSI ─T3370] ─► AskAuth ─► [AUTHENTICATION ─T3360] ─► [IDENTITY REQUEST IMEI]
//!                ─► AllocatePtmsi ─► ATTACH ACCEPT ─T3350─► ATTACH COMPLETE ─► GMM-REGISTERED
//! ```
//!
//! A routing area update goes the same way from AskAuth on, and only as far as it must. No MSC stands behind this
//! SGSN (there is no Gs interface), so combined procedures succeed for GPRS only, with cause 16.

mod accept;
mod attach;
mod authentication;
mod common;
mod context;
mod detach;
mod orders;
mod ready;
mod stranger;
mod update;

#[cfg(test)]
mod tests;

pub use context::{GmmContext, GmmState, GmmTimer, Name};
pub use stranger::{Stranger, answer_to_stranger};

use super::{Cell, MmState, T3312_DEFAULT, T3314_DEFAULT, TemporaryIdentity};
use crate::about::About as _;
use crate::auth::{AuthDecision, AuthQuestion, AuthTicket};
use context::{Orders, Waiting};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::id::{Imsi, PTmsi, Rai, Tlli};
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::{
    DetachTypeMt, DrxParameter, GmmCause, GprsTimer, MsRadioAccessCapability, PTmsiSignature,
    PdpContextStatus, ReceiveNpduNumbers,
};
use serde::{Deserialize, Serialize};

/// What an operator may choose. The defaults are those of clause 11.2.2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GmmConfig {
    /// T3314, the READY timer, where the mobile asks for none.
    pub t3314: GprsTimer,
    /// The longest T3314 that a mobile is granted.
    pub t3314_max: GprsTimer,
    /// T3312, the periodic routing area update.
    pub t3312: GprsTimer,
    /// How much longer than T3312 the mobile reachable timer runs.
    pub reachable_margin: Duration,
    /// From the expiry of the mobile reachable timer to the implicit detach (03.60 clause 6.6.1 [23.060]).
    pub implicit_detach: Duration,
    /// T3322: the answer to DETACH REQUEST.
    pub t3322: Duration,
    /// T3350: the completion of attach, routing area update and P-TMSI reallocation.
    pub t3350: Duration,
    /// T3360: the answer to AUTHENTICATION AND CIPHERING REQUEST.
    pub t3360: Duration,
    /// T3370: the answer to IDENTITY REQUEST.
    pub t3370: Duration,
    /// How often a message guarded by one of those is sent in all.
    pub tries: u8,
    /// T3313, from one PAGING to the next.
    pub t3313: Duration,
    /// How often a mobile is paged in all.
    pub paging_tries: u8,
    /// Ask each mobile for its IMEI when it attaches.
    pub ask_imei: bool,
    /// What P-TMSI signatures are for.
    pub signatures: Signatures,
    /// Ask the authentication service at each routing area update, not only at attach.
    pub authenticate_updates: bool,
    /// Assign a new P-TMSI at each routing area update; otherwise only where the routing area changed.
    pub reallocate_always: bool,
    /// Told to each mobile that has attached, with GMM INFORMATION (clause 4.7.12); where there are none it is not sent.
    pub names: NetworkNames,
}

/// What P-TMSI signatures are for (clause 4.7.1.3). A mobile that does not show what it has to is identified or authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signatures {
    /// Mobiles are given none, and none is compared.
    Unused,
    /// Mobiles are given one. Another one is wrong, but it may be missing: phones lose it.
    Given,
    /// Mobiles are given one and have to show it.
    Demanded,
}

impl Signatures {
    /// Is a mobile with this signature allowed to show that one?
    #[must_use]
    pub fn accept(self, valid: Option<PTmsiSignature>, shown: Option<PTmsiSignature>) -> bool {
        match self {
            Self::Unused => true,
            Self::Given => valid.is_none() || shown.is_none() || valid == shown,
            Self::Demanded => valid.is_none() || valid == shown,
        }
    }

    /// A new one for a mobile, where mobiles are given any.
    #[must_use]
    pub fn throw(self, rng: &mut gannet_machine::rng::Rng) -> Option<PTmsiSignature> {
        match self {
            Self::Unused => None,
            Self::Given | Self::Demanded => Some(PTmsiSignature(rng.u32() & 0x00ff_ffff)),
        }
    }
}

/// What a network calls itself (clause 10.5.3.5a).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkNames {
    /// The full name.
    pub full: Option<String>,
    /// The short name.
    pub short: Option<String>,
}

impl Default for GmmConfig {
    fn default() -> Self {
        Self {
            t3314: T3314_DEFAULT,
            t3314_max: GprsTimer(0x5f),
            t3312: T3312_DEFAULT,
            reachable_margin: Duration::from_secs(4 * 60),
            implicit_detach: Duration::from_secs(60 * 60),
            t3322: Duration::from_secs(6),
            t3350: Duration::from_secs(6),
            t3360: Duration::from_secs(6),
            t3370: Duration::from_secs(6),
            tries: 5,
            t3313: Duration::from_secs(10),
            paging_tries: 3,
            ask_imei: false,
            signatures: Signatures::Demanded,
            authenticate_updates: false,
            reallocate_always: false,
            names: NetworkNames::default(),
        }
    }
}

/// With what an uplink LLC frame came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uplink {
    /// The TLLI that the mobile used.
    pub tlli: Tlli,
    /// The cell in which it was heard.
    pub cell: Cell,
}

/// What happens to a mobile's context.
#[derive(Debug, Clone, PartialEq)]
pub enum GmmEvent {
    /// A GMM message from the mobile. It counts as an LLC frame too.
    Message {
        /// The message.
        message: GmmMessage,
        /// With what it came.
        from: Uplink,
        /// It came ciphered, with the key of this mobile.
        ciphered: bool,
    },
    /// A GMM message that could not be read.
    DecodeFailed {
        /// Its message type, where there was one.
        message_type: Option<u8>,
        /// Why.
        error: DecodeError,
        /// With what it came.
        from: Uplink,
    },
    /// Any other LLC frame from the mobile: user data, SM, a supervisory frame, an empty UI frame.
    LlcFrame(Uplink),
    /// A deadline is due.
    Timer(GmmTimer),
    /// LLC gave up on the mobile (clause 4.7.1.1).
    LowerLayerFailure,
    /// The BSS has lost the mobile on the radio interface (RADIO-STATUS, 08.18 clause 7.3), which is the abnormal RLC
    /// condition of 03.60 clause 6.1.2.1: a mobile that is READY is in STANDBY now.
    RadioContactLost,
    /// The BSS says that the mobile suspended GPRS (08.18 clause 7.4; 03.60 clause 16.2.1).
    Suspend,
    /// The BSS says that the mobile resumed GPRS.
    Resume,
    /// The answer to [`GmmAction::AskAuth`], at once or later: [`AuthDecision::Pending`] need not be told.
    AuthAnswer {
        /// The number of the question.
        ticket: AuthTicket,
        /// The decision.
        decision: AuthDecision,
    },
    /// The answer to [`GmmAction::AllocatePtmsi`]: a P-TMSI that is nobody else's, with the signature to go with it;
    /// `None` where there is none left.
    PtmsiAllocated(Option<TemporaryIdentity>),
    /// There are downlink data, or signalling, for the mobile.
    DownlinkData,
    /// The operator, the HLR or a failure wants the mobile detached.
    OperatorDetach {
        /// What is asked of the mobile.
        kind: DetachTypeMt,
        /// The cause to be told.
        cause: Option<GmmCause>,
    },
    /// The operator wants the mobile to have a new P-TMSI (clause 4.7.6).
    ReallocatePtmsi,
    /// The operator wants the mobile to show anew who it is (clause 4.7.7).
    Authenticate,
    /// The operator wants the mobile to be told the network's names (clause 4.7.12).
    Inform,
}

/// What the node is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum GmmAction {
    /// Send this message on SAPI 1 with this TLLI, to the cell of the context.
    Send {
        /// The message.
        message: GmmMessage,
        /// The TLLI.
        tlli: Tlli,
    },
    /// LLGMM-ASSIGN with both: `old` and `new` are valid from now on (04.64 clause 7.2.1.1 [44.064]).
    AssignTlli {
        /// The mobile's next TLLI.
        new: Tlli,
        /// The one it uses now.
        old: Tlli,
    },
    /// LLGMM-ASSIGN without the old one: it is not this mobile's any more.
    UnassignTlli {
        /// The one that ends.
        old: Tlli,
    },
    /// Answer with [`GmmEvent::PtmsiAllocated`], at once, and find this mobile by that P-TMSI from now on.
    AllocatePtmsi,
    /// This P-TMSI is not this mobile's any more.
    FreePtmsi(PTmsi),
    /// Answer with [`GmmEvent::AuthAnswer`].
    AskAuth {
        /// The subscriber.
        imsi: Imsi,
        /// The question.
        question: AuthQuestion,
        /// Its number.
        ticket: AuthTicket,
    },
    /// The mobile and its key are authentic: from its next frame on LLGMM-ASSIGN with the algorithm of the challenge, or
    /// of the order to set the cipher, and with the key that goes with it; both are in the service's keeping
    /// (clause 4.7.7.3; 04.64 clause 7.2.1.1 [44.064]).
    Authenticated,
    /// The mobile is this subscriber. An older context of the same IMSI and its PDP contexts are to be deleted
    /// (clause 4.7.3.1.6 e).
    IdentityIsKnown {
        /// The subscriber.
        imsi: Imsi,
    },
    /// What the mobile's radio side can do, for the BSS (08.18 clause 11.3.22); in the node's keeping.
    RadioAccessCapability(MsRadioAccessCapability),
    /// The mobile is attached.
    Registered,
    /// Its routing area update is accepted, and complete where it was given a new P-TMSI.
    Updated,
    /// SNSM-SEQUENCE.indication: the N-PDUs that the mobile expects next of contexts in acknowledged mode (clause 9.4.16).
    NPduNumbers(ReceiveNpduNumbers),
    /// The mobile was heard in another cell: FLUSH-LL for the old one (08.18 clause 8.1).
    CellChanged {
        /// Where it was.
        old: Cell,
        /// Where it is.
        new: Cell,
    },
    /// The mobile's MM state is now this one.
    MmStateChanged(MmState),
    /// Page the mobile in its routing area (08.18 clause 7.1).
    Page {
        /// The subscriber.
        imsi: Imsi,
        /// The name to page it by, where there is one.
        ptmsi: Option<PTmsi>,
        /// Where.
        rai: Rai,
        /// Its DRX parameter (clause 10.5.5.6).
        drx: DrxParameter,
    },
    /// The mobile did not answer, or can't be paged: what is held for it has nowhere to go.
    PagingFailed,
    /// Delete these PDP contexts here, without signalling to the mobile.
    DeletePdpContexts(PdpContextStatus),
    /// Somebody says that the mobile is switched off, and has not proved to be it: PDP contexts that the mobile has only
    /// asked for are given up, without signalling to it. Those that are active stay.
    GiveUpActivations,
    /// The context is over: remove it, its identities and its TLLIs.
    Released,
}

impl GmmContext {
    /// Takes one event.
    pub fn handle(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        event: GmmEvent,
        out: &mut Batch<GmmAction>,
    ) {
        let mut heard =
            matches!(event, GmmEvent::Message { .. } | GmmEvent::DecodeFailed { .. } | GmmEvent::LlcFrame(_));
        match event {
            // Who is not believed to be the mobile shows nothing of where it is either.
            GmmEvent::Message { message: GmmMessage::DetachRequestMo(request), from, ciphered }
                if !ciphered && self.is_doubted_power_off(cfg, &request, from) =>
            {
                heard = false;
                self.doubted_power_off(cx, cfg, from, out);
            }
            GmmEvent::Message { message, from, ciphered } => {
                let is_elsewhere = self.is_elsewhere(from);
                self.heard(cx, cfg, from, out);
                self.message(cx, cfg, message, (is_elsewhere, ciphered), out);
            }
            GmmEvent::DecodeFailed { message_type, error, from } => {
                self.heard(cx, cfg, from, out);
                self.decode_failed(cx, message_type, &error, out);
            }
            GmmEvent::LlcFrame(from) => {
                self.heard(cx, cfg, from, out);
                if self.mm == MmState::Idle {
                    cx.drop_of(Drop::GmmNotAttached, self.imsi);
                }
            }
            GmmEvent::Timer(timer) => self.timer(cx, cfg, timer, out),
            GmmEvent::LowerLayerFailure => self.lower_layer_failure(cx, cfg, out),
            GmmEvent::RadioContactLost => self.radio_contact_lost(cx, cfg, out),
            GmmEvent::Suspend => self.suspended = true,
            GmmEvent::Resume => self.suspended = false,
            GmmEvent::AuthAnswer { ticket, decision } => self.auth_answer(cx, cfg, ticket, decision, out),
            GmmEvent::PtmsiAllocated(identity) => self.ptmsi_allocated(cx, cfg, identity, out),
            GmmEvent::DownlinkData => self.downlink_data(cx, cfg, out),
            GmmEvent::OperatorDetach { kind, cause } => self.operator_detach(cx, cfg, kind, cause, out),
            GmmEvent::ReallocatePtmsi => self.order(cx, cfg, Orders::REALLOCATE, out),
            GmmEvent::Authenticate => self.order(cx, cfg, Orders::AUTHENTICATE, out),
            GmmEvent::Inform => self.order(cx, cfg, Orders::INFORM, out),
        }
        if self.rest.orders.any() && (heard || self.mm == MmState::Ready) {
            self.obey(cx, cfg, out);
        }
        debug_assert_eq!(
            self.rest.gmm == GmmState::DeregisteredInitiated,
            self.rest.waiting == Waiting::DetachAccept,
            "the GMM state follows from what is waited for"
        );
    }

    /// Takes all deadlines that are due. To be called when the node was woken for this context.
    pub fn expire(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        self.rest.deadlines.woken(cx.now);
        while let Some(timer) = self.rest.deadlines.pop_due(cx.now) {
            self.handle(cx, cfg, GmmEvent::Timer(timer), out);
        }
    }

    /// Clause 4.7, message by message; the GMM state is looked at in each procedure's own table.
    fn message(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        message: GmmMessage,
        (is_elsewhere, ciphered): (bool, bool),
        out: &mut Batch<GmmAction>,
    ) {
        match message {
            GmmMessage::AttachRequest(request) => self.attach_request(cx, cfg, &request, out),
            GmmMessage::AttachComplete(_) => self.complete(cx, cfg, Waiting::AttachComplete, out),
            GmmMessage::DetachRequestMo(request) => {
                let genuine = ciphered || !is_elsewhere && self.is_its_own(cfg, request.ptmsi_signature);
                self.detach_request(cx, &request, genuine, out);
            }
            GmmMessage::DetachAcceptMt(_) => self.detach_accept(cx, cfg, out),
            GmmMessage::RauRequest(request) => self.update_request(cx, cfg, &request, out),
            GmmMessage::RauComplete(complete) => self.update_complete(cx, cfg, complete, out),
            GmmMessage::PTmsiReallocationComplete(_) => {
                self.complete(cx, cfg, Waiting::ReallocationComplete, out);
            }
            GmmMessage::IdentityResponse(response) => self.identity_response(cx, &response, out),
            GmmMessage::AuthenticationResponse(response) => {
                self.authentication_response(cx, cfg, &response, out);
            }
            GmmMessage::AuthenticationFailure(failure) => self.authentication_failure(cx, cfg, &failure, out),
            // Clause 4.7.10: the network does nothing but tell the operator.
            GmmMessage::GmmStatus(status) => {
                cx.drop_of(Drop::GmmStatusReceived, self.imsi);
                let cause = status.cause;
                self.say(cx, Level::Notice, format_args!("GMM STATUS from the mobile: {cause}"));
            }
            // SERVICE REQUEST belongs to Iu mode (clause 4.7.13).
            GmmMessage::ServiceRequest(_) => self.unexpected(cx, "SERVICE REQUEST", out),
            // Clause 8.4: a type that is not defined in this direction counts as not defined.
            GmmMessage::AttachAccept(_)
            | GmmMessage::AttachReject(_)
            | GmmMessage::DetachRequestMt(_)
            | GmmMessage::DetachAcceptMo(_)
            | GmmMessage::RauAccept(_)
            | GmmMessage::RauReject(_)
            | GmmMessage::PTmsiReallocationCommand(_)
            | GmmMessage::AuthenticationRequest(_)
            | GmmMessage::AuthenticationReject(_)
            | GmmMessage::IdentityRequest(_)
            | GmmMessage::GmmInformation(_)
            | GmmMessage::ServiceAccept(_)
            | GmmMessage::ServiceReject(_) => {
                cx.drop_of(Drop::GmmMalformed, self.imsi);
                self.status(GmmCause::MessageTypeNonExistent, out);
            }
        }
    }
}
