//! The SGSN's side of GSUP towards its HLR: the link, our requests, and the HLR's requests to us.
//!
//! [`GsupEntity`] is told of the stream's connections and octets, by the node, which has them from its driver
//! ([`gannet_machine::Input::Stream`]); it says what to send and to whom it has something to tell ([`GsupOutput`]). The
//! service access point has [`GsupRequest`] with [`GsupConfirm`] for what the SGSN begins, and [`GsupIndication`] with
//! [`GsupEntity::respond`] for what the HLR begins.
//!
//! # The link
//!
//! When the stream is connected the HLR asks who we are (ID_GET); we answer with the unit's name and acknowledge, and when
//! it acknowledges too the link is up. From then on we ask after it with PING; without PONG in time the link is dead,
//! and is given up, as is one on which the identities are not exchanged in time, or with a message that is too long.
//!
//! # What happens to a request when the link is lost
//!
//! Each is *repeated* when the link is up again, in the order in which they were made, as long as its guard time lasts:
//!
//! * SendAuthInfo: vectors that were made and got lost were used by nobody, and those of the repetition are as good, also
//!   with AUTS, with which the HLR goes back to the same sequence number;
//! * UpdateLocation: the HLR stores what it had stored already, and inserts the data again, which must be so, since it
//!   forgets an insertion whose link is lost;
//! * PurgeMS: nobody else would repeat it, and the HLR would go on with an SGSN that knows nothing. But a mobile that has come back
//!   meanwhile must not be purged: its UpdateLocation ends the purge ([`GsupFailure::Superseded`]).
//!
//! Where the link stays away longer than [`GsupConfig::patience`], all fail with [`GsupFailure::LinkDown`], and new ones do
//! at once until it is back: a mobile had better be told than wait. What the HLR asked on the lost link is not answered on
//! the next one; it will ask again.
//!
//! # The guard time
//!
//! [`GsupConfig::guard`] is 15 s by default: the least that MAP has for these operations (timer class m, 09.02
//! clause 17.1.2 [29.002]), and as long as a mobile waits for the answer to its ATTACH REQUEST (T3310, 04.08 clause
//! 11.2.2 [24.008]): later the answer serves nobody. A late one is taken for that of the next request of the same kind
//! where there is one, which does no harm: GSUP has no transactions, and the content is right for the subscriber.

mod cause;
mod link;
mod operations;
mod subscriber;
#[cfg(test)]
mod tests;
mod unreadable;

pub use cause::{GsupFailure, gmm_cause};
pub use operations::GsupKind;
pub use subscriber::{PDP_INFOS_MAX, SubscriberData};

use crate::about::About as _;
use crate::ipa_stream::Splitter;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::timers::{Deadlines, TimerKey};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::gsup::Envelope;
use gannet_wire::gsup::{AuthTuple, Body, CancelType, CnDomain, Domain, Message, Refusal, Subscription};
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::GmmCause;
use link::LinkState;
use operations::{Operation, Operations};

/// How an SGSN speaks to its HLR.
#[derive(Debug, Clone)]
pub struct GsupConfig {
    /// The node's port that is the stream to the HLR.
    pub port: Port,
    /// By this name the HLR knows us; no other SGSN of it may have the same.
    pub unit_name: String,
    /// How long the exchange of identities may take.
    pub handshake: Duration,
    /// Time between two PINGs.
    pub ping_interval: Duration,
    /// How long a PONG is waited for.
    pub pong_timeout: Duration,
    /// How long an answer is waited for.
    pub guard: Duration,
    /// How long requests wait for a link that is not there.
    pub patience: Duration,
    /// Our requests that may wait for an answer.
    pub request_limit: usize,
    /// Requests of the HLR that may wait for the node's answer.
    pub indication_limit: usize,
    /// The longest message taken, in octets.
    pub message_max: usize,
    /// [`TimerKey::owner`] of this entity's wake-ups.
    pub timer_owner: u8,
}

impl GsupConfig {
    /// The usual values.
    #[must_use]
    pub fn new(port: Port, unit_name: &str, timer_owner: u8) -> Self {
        Self {
            port,
            unit_name: unit_name.to_owned(),
            handshake: Duration::from_secs(5),
            ping_interval: Duration::from_secs(20),
            pong_timeout: Duration::from_secs(5),
            guard: Duration::from_secs(15),
            patience: Duration::from_secs(5),
            request_limit: 1 << 14,
            indication_limit: 1 << 12,
            message_max: 1 << 12,
            timer_owner,
        }
    }
}

gannet_machine::timer_names! {
    /// Deadlines of the link and of its requests. Those of requests are of timer class m (09.02 clause 17.1.2 [29.002]); the
    /// others are our own, since IPA has none.
    enum GsupTimer {
        /// The identities are not exchanged.
        Handshake = "the handshake with the HLR",
        /// It is time for a PING.
        Ping = "PING to the HLR",
        /// No PONG came.
        Pong = "PONG of the HLR",
        /// The oldest request was not answered.
        Guard = "the answer of the HLR",
        /// The link has been away for too long.
        Patience = "the absence of the HLR",
    }
}

/// A USIM's sequence number, for vectors in step with it (33.102 clause 6.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resync {
    /// The challenge that it refused.
    pub rand: [u8; 16],
    /// Its answer.
    pub auts: [u8; 14],
}

/// What the SGSN asks of the HLR about one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsupRequest {
    /// Authentication vectors.
    AuthInfo {
        /// In step with a USIM.
        resync: Option<Resync>,
    },
    /// It is here now; its data come as [`GsupIndication::InsertData`] before the confirm.
    UpdateLocation,
    /// It was forgotten here.
    Purge,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GsupConfirm {
    /// The vectors, at most [`AUTH_TUPLES_MAX`] of them and at least one.
    AuthInfo(Result<Vec<AuthTuple>, GsupFailure>),
    /// The HLR knows where it is.
    UpdateLocation(Result<(), GsupFailure>),
    /// The HLR has noted it; true where the P-TMSI is to be frozen.
    Purge(Result<bool, GsupFailure>),
}

impl GsupConfirm {
    const fn failed(kind: GsupKind, failure: GsupFailure) -> Self {
        match kind {
            GsupKind::AuthInfo => Self::AuthInfo(Err(failure)),
            GsupKind::UpdateLocation => Self::UpdateLocation(Err(failure)),
            GsupKind::Purge => Self::Purge(Err(failure)),
        }
    }
}

/// Vectors that are taken out of one answer (09.02 clause 17.7.1: five).
pub const AUTH_TUPLES_MAX: usize = 5;

/// What the HLR asks of the SGSN about one subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GsupIndication {
    /// Its data: see [`SubscriberData::insert`].
    InsertData(Box<Subscription>),
    /// Pieces of them are void: see [`SubscriberData::delete`].
    DeleteData(Vec<u8>),
    /// It is to be forgotten: it is elsewhere, or its subscription has ended.
    Cancel(CancelType),
}

/// Which request of the HLR an answer is for.
#[derive(Debug, PartialEq, Eq)]
pub struct GsupTransaction {
    imsi: Imsi,
    /// `None` where the data came with an answer, and nobody waits for ours.
    asked: Option<Asked>,
    source: Option<Vec<u8>>,
    connection: u32,
}

impl GsupTransaction {
    /// The subscriber.
    #[must_use]
    pub const fn imsi(&self) -> Imsi {
        self.imsi
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Insert,
    Delete,
    Cancel,
}

impl Asked {
    fn answer(self, result: Result<(), GmmCause>) -> Body {
        let cn_domain = Some(CnDomain::PacketSwitched);
        let plain = Domain { cn_domain };
        match (self, result) {
            (Self::Insert, Ok(())) => Body::InsertSubscriberDataResult(plain),
            (Self::Delete, Ok(())) => Body::DeleteSubscriberDataResult(plain),
            (Self::Cancel, Ok(())) => Body::LocationCancelResult(plain),
            (Self::Insert, Err(cause)) => Body::InsertSubscriberDataError(Refusal { cause, cn_domain }),
            (Self::Delete, Err(cause)) => Body::DeleteSubscriberDataError(Refusal { cause, cn_domain }),
            (Self::Cancel, Err(cause)) => Body::LocationCancelError(Refusal { cause, cn_domain }),
        }
    }
}

/// What the entity gives to its node.
#[derive(Debug)]
pub enum GsupOutput {
    /// Append to the stream.
    Transmit {
        /// Which.
        port: Port,
        /// What.
        frame: Frame,
    },
    /// Give the stream's connection up.
    Disconnect(Port),
    /// What became of a request.
    Confirm(Imsi, GsupConfirm),
    /// The HLR asks something; to be answered with [`GsupEntity::respond`].
    Indication(GsupTransaction, GsupIndication),
    /// The link is up. The HLR may have been started anew and may have lost where its subscribers are.
    LinkUp,
    /// The link is lost.
    LinkDown,
}

/// GSUP of one SGSN.
#[derive(Debug)]
pub struct GsupEntity {
    config: GsupConfig,
    state: LinkState,
    splitter: Splitter,
    operations: Operations,
    deadlines: Deadlines<GsupTimer>,
    /// Counts connections, so that an answer to a request of an earlier one is recognised.
    connection: u32,
    indications: usize,
    /// The link has been away for longer than requests wait.
    out_of_reach: bool,
}

impl GsupEntity {
    /// An entity without a link.
    #[must_use]
    pub fn new(config: GsupConfig) -> Self {
        Self {
            state: LinkState::Down,
            splitter: Splitter::new(config.message_max),
            operations: Operations::default(),
            deadlines: Deadlines::default(),
            connection: 0,
            indications: 0,
            out_of_reach: false,
            config,
        }
    }

    /// How it speaks.
    #[must_use]
    pub const fn config(&self) -> &GsupConfig {
        &self.config
    }

    /// The HLR knows us by another name, from the next connection on.
    pub fn rename(&mut self, unit_name: &str) {
        unit_name.clone_into(&mut self.config.unit_name);
    }

    /// True where the HLR can be asked at once.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == LinkState::Up
    }

    /// Our requests that wait for an answer.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.operations.len()
    }

    /// Is this wake-up ours? Those of [`GsupConfig::timer_owner`] are.
    #[must_use]
    pub const fn owns(&self, key: TimerKey) -> bool {
        key.owner == self.config.timer_owner
    }

    // ------------------------------------------------------------------------------------------------ requests

    /// Asks the HLR. A [`GsupOutput::Confirm`] follows in any case, now or later. The same request again, while the first
    /// is outstanding, changes nothing, and both have one confirm.
    pub fn request(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        request: GsupRequest,
        out: &mut Batch<GsupOutput>,
    ) {
        let kind = request.kind();
        if let Some(outstanding) = self.operations.get(imsi, kind) {
            cx.drop_of(Drop::GsupRepeated, Some(imsi));
            if outstanding.request != request {
                out.push(GsupOutput::Confirm(imsi, GsupConfirm::failed(kind, GsupFailure::Busy)));
            }
            return;
        }
        if kind == GsupKind::UpdateLocation && self.operations.take(imsi, GsupKind::Purge).is_some() {
            cx.drop_of(Drop::GsupSuperseded, Some(imsi));
            out.push(GsupOutput::Confirm(imsi, GsupConfirm::Purge(Err(GsupFailure::Superseded))));
        }
        if self.out_of_reach {
            return self.fail(cx, imsi, kind, GsupFailure::LinkDown, out);
        }
        if self.operations.len() >= self.config.request_limit {
            return self.fail(cx, imsi, kind, GsupFailure::TooMany, out);
        }
        self.operations.insert(Operation { imsi, request, ends: cx.now + self.config.guard });
        if self.is_up() {
            self.send(cx, &request.message(imsi), out);
        } else if !self.deadlines.is_set(GsupTimer::Patience) {
            self.deadlines.set(GsupTimer::Patience, cx.now + self.config.patience);
        }
        self.arm(cx);
    }

    /// Tells the HLR that a mobile did not prove who it is (09.02 clause 8.5.3). Nothing comes back.
    pub fn report_auth_failure(&mut self, cx: &mut Context<'_>, imsi: Imsi, out: &mut Batch<GsupOutput>) {
        if !self.is_up() {
            return cx.drop_of(Drop::GsupLinkDown, Some(imsi));
        }
        let report = Domain { cn_domain: Some(CnDomain::PacketSwitched) };
        self.send(cx, &Message::new(imsi, Body::AuthFailureReport(report)), out);
    }

    /// Answers a request of the HLR: done, or why not.
    pub fn respond(
        &mut self,
        cx: &mut Context<'_>,
        transaction: GsupTransaction,
        result: Result<(), GmmCause>,
        out: &mut Batch<GsupOutput>,
    ) {
        let GsupTransaction { imsi, asked, source, connection } = transaction;
        let Some(asked) = asked else { return };
        if connection != self.connection || !self.is_up() {
            return cx.drop_of(Drop::GsupLateResponse, Some(imsi));
        }
        self.indications = self.indications.saturating_sub(1);
        self.answer(cx, imsi, asked, source, result, out);
    }

    fn answer(
        &self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        asked: Asked,
        source: Option<Vec<u8>>,
        result: Result<(), GmmCause>,
        out: &mut Batch<GsupOutput>,
    ) {
        // Who asked through another one is answered through that one.
        let message = Message { destination: source, ..Message::new(imsi, asked.answer(result)) };
        self.send(cx, &message, out);
    }

    fn fail(
        &self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        kind: GsupKind,
        failure: GsupFailure,
        out: &mut Batch<GsupOutput>,
    ) {
        let drop = match failure {
            GsupFailure::Refused(_) => Drop::GsupRefused,
            GsupFailure::Unreadable => Drop::GsupUnreadableAnswer,
            GsupFailure::NoAnswer => Drop::GsupNoAnswer,
            GsupFailure::LinkDown => Drop::GsupLinkDown,
            GsupFailure::TooMany => Drop::GsupTooManyRequests,
            GsupFailure::Busy => Drop::GsupRepeated,
            GsupFailure::Superseded => Drop::GsupSuperseded,
        };
        cx.drop_of(drop, Some(imsi));
        out.push(GsupOutput::Confirm(imsi, GsupConfirm::failed(kind, failure)));
    }

    /// Those whose guard time is over.
    fn guard(&mut self, cx: &mut Context<'_>, out: &mut Batch<GsupOutput>) {
        while let Some(operation) = self.operations.take_ended(cx.now) {
            let failure = if self.is_up() { GsupFailure::NoAnswer } else { GsupFailure::LinkDown };
            self.fail(cx, operation.imsi, operation.request.kind(), failure, out);
        }
    }

    /// The link does not come back: nobody waits for it any longer.
    fn lose_patience(&mut self, cx: &mut Context<'_>, out: &mut Batch<GsupOutput>) {
        self.out_of_reach = true;
        let all: Vec<Operation> = self.operations.iter().copied().collect();
        self.operations = Operations::default();
        for operation in all {
            self.fail(cx, operation.imsi, operation.request.kind(), GsupFailure::LinkDown, out);
        }
    }

    // ------------------------------------------------------------------------------------------------ messages

    fn gsup(&mut self, cx: &mut Context<'_>, octets: &[u8], out: &mut Batch<GsupOutput>) {
        let (message, has_skipped) = match Message::parse_naming(octets) {
            Ok((message, skipped)) => {
                unreadable::note_skipped(cx, &message, &skipped);
                (message, !skipped.is_empty())
            }
            Err(error) => return self.unreadable(cx, octets, &error, out),
        };
        let Message { imsi, body, source, .. } = message;
        let kind = body.message_type();
        match body {
            Body::SendAuthInfoResult(mut vectors) => {
                vectors.tuples.truncate(AUTH_TUPLES_MAX);
                let result = match vectors.tuples.is_empty() {
                    false => Ok(GsupConfirm::AuthInfo(Ok(vectors.tuples))),
                    true if has_skipped => Err(GsupFailure::Unreadable),
                    // An answer without vectors is a refusal (09.02 clause 25.5.6).
                    true => Err(GsupFailure::Refused(GmmCause::GprsNotAllowed)),
                };
                self.answered(cx, imsi, GsupKind::AuthInfo, result, out);
            }
            Body::UpdateLocationResult(data) => self.location_updated(cx, imsi, source, data, out),
            Body::PurgeMsResult(result) => {
                let confirm = GsupConfirm::Purge(Ok(result.freeze_ptmsi));
                self.answered(cx, imsi, GsupKind::Purge, Ok(confirm), out);
            }
            Body::SendAuthInfoError(refusal) => self.refused(cx, imsi, GsupKind::AuthInfo, &refusal, out),
            Body::UpdateLocationError(refusal) => {
                self.refused(cx, imsi, GsupKind::UpdateLocation, &refusal, out)
            }
            Body::PurgeMsError(refusal) => self.refused(cx, imsi, GsupKind::Purge, &refusal, out),
            Body::InsertSubscriberDataRequest(data) => {
                let domain = data.cn_domain;
                self.asked(
                    cx,
                    imsi,
                    Asked::Insert,
                    (domain, source),
                    GsupIndication::InsertData(Box::new(data)),
                    out,
                );
            }
            Body::DeleteSubscriberDataRequest(data) => {
                let indication = GsupIndication::DeleteData(data.context_ids);
                self.asked(cx, imsi, Asked::Delete, (data.cn_domain, source), indication, out);
            }
            Body::LocationCancelRequest(cancel) => {
                let indication = GsupIndication::Cancel(cancel.cancel_type.unwrap_or(CancelType::Update));
                self.asked(cx, imsi, Asked::Cancel, (cancel.cn_domain, source), indication, out);
            }
            Body::UpdateLocationRequest(_)
            | Body::SendAuthInfoRequest(_)
            | Body::AuthFailureReport(_)
            | Body::PurgeMsRequest(_) => {
                cx.drop_of(Drop::GsupUnexpected, Some(imsi));
                let envelope = Envelope { kind, imsi, source };
                self.refuse(cx, &envelope, GmmCause::MessageTypeNonExistent, out);
            }
            Body::InsertSubscriberDataError(_)
            | Body::InsertSubscriberDataResult(_)
            | Body::DeleteSubscriberDataError(_)
            | Body::DeleteSubscriberDataResult(_)
            | Body::LocationCancelError(_)
            | Body::LocationCancelResult(_) => cx.drop_of(Drop::GsupUnexpected, Some(imsi)),
        }
    }

    fn refused(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        kind: GsupKind,
        refusal: &Refusal,
        out: &mut Batch<GsupOutput>,
    ) {
        self.answered(cx, imsi, kind, Err(GsupFailure::Refused(refusal.cause)), out);
    }

    /// Some HLRs send the data with the result; to the node they come as if they had been inserted before. There is nobody
    /// who would wait for an answer to that.
    fn location_updated(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        source: Option<Vec<u8>>,
        data: Subscription,
        out: &mut Batch<GsupOutput>,
    ) {
        let has_data = data.msisdn.is_some() || data.pdp_info_complete || !data.pdp_infos.is_empty();
        if has_data && self.operations.get(imsi, GsupKind::UpdateLocation).is_some() {
            let transaction = GsupTransaction { imsi, asked: None, source, connection: self.connection };
            out.push(GsupOutput::Indication(transaction, GsupIndication::InsertData(Box::new(data))));
        }
        self.answered(cx, imsi, GsupKind::UpdateLocation, Ok(GsupConfirm::UpdateLocation(Ok(()))), out);
    }

    fn answered(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        kind: GsupKind,
        result: Result<GsupConfirm, GsupFailure>,
        out: &mut Batch<GsupOutput>,
    ) {
        if self.operations.take(imsi, kind).is_none() {
            return cx.drop_of(Drop::GsupUnexpected, Some(imsi));
        }
        match result {
            Ok(confirm) => out.push(GsupOutput::Confirm(imsi, confirm)),
            Err(failure) => self.fail(cx, imsi, kind, failure, out),
        }
    }

    fn asked(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        asked: Asked,
        (domain, source): (Option<CnDomain>, Option<Vec<u8>>),
        indication: GsupIndication,
        out: &mut Batch<GsupOutput>,
    ) {
        if domain == Some(CnDomain::CircuitSwitched) {
            cx.drop_of(Drop::GsupUnexpected, Some(imsi));
            return self.answer(cx, imsi, asked, source, Err(GmmCause::SemanticallyIncorrect), out);
        }
        if self.indications >= self.config.indication_limit {
            cx.drop_of(Drop::GsupTooManyIndications, Some(imsi));
            return self.answer(cx, imsi, asked, source, Err(GmmCause::Congestion), out);
        }
        self.indications += 1;
        let transaction = GsupTransaction { imsi, asked: Some(asked), source, connection: self.connection };
        out.push(GsupOutput::Indication(transaction, indication));
    }
}
