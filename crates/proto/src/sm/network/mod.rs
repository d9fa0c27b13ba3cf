//! SM in the SGSN: the PDP contexts of one mobile ([`SmContexts`]), each of 44 octets.
//!
//! ```text
//! ACTIVATE REQUEST ─► select ─► CreateTunnel … Created ─► ACTIVATE ACCEPT, Active
//!                                         … CreateRejected ─► ACTIVATE REJECT, Released
//! DEACTIVATE REQUEST ─► DeleteTunnel … Deleted ─► DEACTIVATE ACCEPT, Released         (23.060 clause 9.2.4.1)
//! Deactivate ─► DEACTIVATE REQUEST ─T3395─► DEACTIVATE ACCEPT ─► Released             (23.060 clauses 9.2.4.2, 9.2.4.3)
//! Modify ─► MODIFY REQUEST ─T3386─► MODIFY ACCEPT ─► Modified
//! ACTIVATE SECONDARY REQUEST ─► grant ─► CreateTunnel, linked … Created ─► ACTIVATE SECONDARY ACCEPT, Active
//! MODIFY REQUEST ─► grant ─► UpdateTunnel … Updated ─► MODIFY ACCEPT, Modified        (23.060 clause 9.2.3.3)
//!                                      … UpdateRejected ─► MODIFY REJECT
//! ```
//!
//! The node carries out the actions in their order. It may give an answer about a tunnel (`Created`, `CreateRejected`,
//! `CreateFailed`, `Updated`, `UpdateRejected`, `UpdateFailed`, `Deleted`) only to the last `CreateTunnel`, `UpdateTunnel`
//! or `DeleteTunnel` of that NSAPI: a later one supersedes an earlier one, whose answer is to be swallowed. After `Released`
//! everything about the context is gone. A `DeleteTunnel` with `tear_down` takes the tunnels of all contexts of the address
//! with it.
//!
//! Of a traffic flow template the SGSN looks at what it says by itself; whether it fits those that are there already is
//! the GGSN's to see, which keeps them (23.060 clause 9.2.2.1.1).

mod activate;
mod cause;
mod context;
mod errors;
mod message;
mod modify;
mod requested;
mod secondary;
mod tunnel;

pub use cause::sm_cause;
pub use context::{SmContext, SmState};
pub use requested::{SmRequested, SmRequestedAnswer, SmRequestedExpiry};

use crate::about::About as _;
use crate::by_nsapi::ByNsapi;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::l3::ie::{
    PackedQos, PdpAddress, PdpContextStatus, ProtocolConfiguration, QosProfile, RadioPriority, SmCause,
    TrafficFlowTemplate,
};
use gannet_wire::l3::sm::{ActivateRequest, SmMessage};
use serde::{Deserialize, Serialize};

/// What an operator may choose. The defaults are those of clause 11.2.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmConfig {
    /// T3385: the answer to REQUEST PDP CONTEXT ACTIVATION.
    pub t3385: Duration,
    /// T3386: the answer to MODIFY PDP CONTEXT REQUEST.
    pub t3386: Duration,
    /// T3395: the answer to DEACTIVATE PDP CONTEXT REQUEST.
    pub t3395: Duration,
    /// How often a message guarded by one of those is sent in all, up to 7.
    pub tries: u8,
    /// IPv6 contexts are allowed.
    pub ipv6: bool,
    /// Serve an ACTIVATE (SECONDARY) PDP CONTEXT REQUEST whose transaction identifier flag is 1 and whose identifier the
    /// network has not allocated, which clause 8.3.2 c says to ignore. Some mobiles send it.
    pub accept_ti_flag: bool,
}

impl Default for SmConfig {
    fn default() -> Self {
        let eight = Duration::from_secs(8);
        Self { t3385: eight, t3386: eight, t3395: eight, tries: 5, ipv6: true, accept_ti_flag: true }
    }
}

/// What a mobile gets for its request, by its subscription and the operator's will (23.060 annex A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selected {
    /// The access point, as an index into the node's table.
    pub apn: u16,
    /// What to ask the GGSN for: the mobile's wish with "subscribed" filled in, and restricted to the subscription.
    pub qos: QosProfile,
    /// The mobile's address, where the subscription has a static one; otherwise what the mobile asked for.
    pub address: PdpAddress,
}

/// The subscriptions and the table of access points.
pub trait Selection {
    /// What the mobile gets for `request`.
    ///
    /// # Errors
    /// The cause of its rejection: 27 missing or unknown APN, 33 not subscribed, 8 operator determined barring and the
    /// like.
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause>;

    /// The quality of service to ask the GGSN for, where a mobile wants `wish` for a secondary context at an access point
    /// that it was given, or for the context of that NSAPI that it has there.
    ///
    /// # Errors
    /// The cause of the refusal: 26 insufficient resources and the like.
    fn grant(&mut self, apn: u16, nsapi: Nsapi, wish: &QosProfile) -> Result<QosProfile, SmCause>;
}

/// What stands around the contexts of one mobile.
pub struct SmNetwork<'a> {
    /// The operator's choices.
    pub cfg: &'a SmConfig,
    /// Who may do what.
    pub selection: &'a mut dyn Selection,
    /// Whose contexts they are.
    pub whose: Option<Imsi>,
    /// What the network has asked of the mobile, where that waits for its answer.
    pub requested: Option<&'a SmRequested>,
    /// This mobile's wrong flag has had its log line.
    pub wrong_flag_said: &'a mut bool,
}

impl core::fmt::Debug for SmNetwork<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SmNetwork({:?}, {:?})", self.whose, self.cfg)
    }
}

/// What a GGSN says of a tunnel that it has made.
#[derive(Debug, Clone, PartialEq)]
pub struct SmCreated {
    /// As negotiated. What it leaves open is as it was asked for.
    pub qos: QosProfile,
    /// The address that the GGSN gave, if it said one.
    pub address: Option<PdpAddress>,
    /// Of its acceptance: why it gave one version of IP where both were asked for.
    pub cause: Cause,
    /// Options of the external network for the mobile.
    pub pco: Option<ProtocolConfiguration>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum SmEvent {
    /// A message from the mobile.
    Message {
        /// Its transaction identifier.
        ti: u8,
        /// Its flag, as it came.
        ti_flag: bool,
        /// The message.
        message: SmMessage,
    },
    /// A message from the mobile that could not be read.
    DecodeFailed {
        /// Its transaction identifier.
        ti: u8,
        /// Its flag, as it came.
        ti_flag: bool,
        /// Its type.
        message_type: u8,
        /// Why.
        error: DecodeError,
    },
    /// The deadline of [`SmContexts::deadline`] has come.
    Timer,
    /// The GGSN has made the tunnel.
    Created {
        /// Of which context.
        nsapi: Nsapi,
        /// What it has answered.
        created: SmCreated,
    },
    /// The GGSN has refused the tunnel.
    CreateRejected {
        /// Of which context.
        nsapi: Nsapi,
        /// GTP's cause.
        cause: Cause,
        /// Options of the external network for the mobile.
        pco: Option<ProtocolConfiguration>,
    },
    /// The GGSN did not answer, or could not be asked.
    CreateFailed {
        /// Of which context.
        nsapi: Nsapi,
    },
    /// The GGSN has changed the tunnel.
    Updated {
        /// Of which context.
        nsapi: Nsapi,
        /// As negotiated.
        qos: QosProfile,
    },
    /// The GGSN has refused to change the tunnel.
    UpdateRejected {
        /// Of which context.
        nsapi: Nsapi,
        /// GTP's cause.
        cause: Cause,
    },
    /// The GGSN did not answer, or could not be asked.
    UpdateFailed {
        /// Of which context.
        nsapi: Nsapi,
    },
    /// The tunnel is gone: the GGSN said so, or did not answer.
    Deleted {
        /// Of which context.
        nsapi: Nsapi,
    },
    /// The operator, the node or the GGSN wants the context deactivated.
    Deactivate {
        /// Which context.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
        /// True where the GGSN has no tunnel any more: it deleted it, or restarted.
        tunnel_gone: bool,
    },
    /// The same for all contexts with the address of this one.
    TearDown {
        /// One of them.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
        /// True where the GGSN has no tunnels any more.
        tunnel_gone: bool,
    },
    /// The GGSN or the operator wants another quality of service.
    Modify {
        /// Of which context.
        nsapi: Nsapi,
        /// The new one.
        qos: QosProfile,
    },
    /// The context is to be forgotten without a word to the mobile: it detached, or does not know the context
    /// (clause 4.7.5.1.3).
    Forget {
        /// Which context.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
    },
}

impl SmEvent {
    /// The mobile wishes for a quality of service: [`Selection`] is asked, which no other event does.
    #[must_use]
    pub const fn is_wish(&self) -> bool {
        matches!(
            self,
            Self::Message {
                message: SmMessage::ActivateRequest(_)
                    | SmMessage::ActivateSecondaryRequest(_)
                    | SmMessage::ModifyRequestMo(_),
                ..
            }
        )
    }
}

/// What the node is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum SmAction {
    /// Send this message on SAPI 1.
    Send {
        /// Transaction identifier.
        ti: u8,
        /// Its flag.
        ti_flag: bool,
        /// The message.
        message: SmMessage,
    },
    /// Make a tunnel.
    CreateTunnel {
        /// For which context.
        nsapi: Nsapi,
        /// Index of the access point.
        apn: u16,
        /// What to ask for.
        qos: QosProfile,
        /// What to ask for.
        address: PdpAddress,
        /// Options for the external network.
        pco: Option<ProtocolConfiguration>,
        /// The context whose address a secondary one shares.
        linked: Option<Nsapi>,
        /// The traffic flow template of a secondary one.
        tft: Option<TrafficFlowTemplate>,
    },
    /// Change the tunnel.
    UpdateTunnel {
        /// Of which context.
        nsapi: Nsapi,
        /// What to ask for.
        qos: QosProfile,
        /// The change of the traffic flow template.
        tft: Option<TrafficFlowTemplate>,
    },
    /// Take the tunnel down.
    DeleteTunnel {
        /// Of which context.
        nsapi: Nsapi,
        /// And those of all contexts of its address: it is the last one, or all are to go.
        tear_down: bool,
    },
    /// User data may flow.
    Active {
        /// In which context.
        nsapi: Nsapi,
        /// On which SAPI.
        sapi: Sapi,
        /// As negotiated.
        qos: QosProfile,
        /// The mobile's address.
        address: PdpAddress,
        /// Of the context's data.
        radio_priority: RadioPriority,
    },
    /// The mobile accepted another quality of service.
    Modified {
        /// In which context.
        nsapi: Nsapi,
        /// It.
        qos: QosProfile,
    },
    /// The mobile does not accept another profile: the context goes on as it was.
    NotModified {
        /// Which.
        nsapi: Nsapi,
    },
    /// The context is gone.
    Released {
        /// Which.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
    },
}

/// The PDP contexts of one mobile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmContexts {
    slots: ByNsapi<SmContext>,
    /// What is known of modifications: hardly ever anything.
    modifications: Option<Box<Modifications>>,
}

/// What is known of modifications, by NSAPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Modifications {
    /// What the mobile was asked to accept, or will be, and has not accepted yet.
    offers: Vec<(Nsapi, PackedQos)>,
    /// Which request of the mobile was taken last, as a number, and until when it may come again, should its answer be lost.
    requests: Vec<(Nsapi, u32, Instant)>,
}

impl SmContexts {
    /// The context of an NSAPI.
    #[must_use]
    pub fn get(&self, nsapi: Nsapi) -> Option<&SmContext> {
        self.slots.get(nsapi)
    }

    fn get_mut(&mut self, nsapi: Nsapi) -> Option<&mut SmContext> {
        self.slots.get_mut(nsapi)
    }

    /// What the mobile was asked to accept.
    fn offer(&self, nsapi: Nsapi) -> Option<QosProfile> {
        let (_, qos) = self.modifications.as_ref()?.offers.iter().find(|(of, _)| *of == nsapi)?;
        Some(qos.unpack())
    }

    /// True where the network wants something of the mobile that it has not accepted yet.
    #[must_use]
    pub fn has_offer(&self, nsapi: Nsapi) -> bool {
        self.offer(nsapi).is_some()
    }

    fn set_offer(&mut self, nsapi: Nsapi, qos: Option<QosProfile>) {
        self.change_modifications(|all| {
            all.offers.retain(|(of, _)| *of != nsapi);
            all.offers.extend(qos.map(|qos| (nsapi, qos.pack())));
        });
    }

    /// Is this a repetition of the request of the mobile that was taken last? Later it is one that is to be thought about anew.
    fn has_taken(&self, now: Instant, nsapi: Nsapi, request: u32) -> bool {
        let is_it =
            |(of, number, until): &(Nsapi, u32, Instant)| (*of, *number) == (nsapi, request) && now < *until;
        self.modifications.as_ref().is_some_and(|all| all.requests.iter().any(is_it))
    }

    fn set_taken(&mut self, nsapi: Nsapi, request: Option<(u32, Instant)>) {
        self.change_modifications(|all| {
            all.requests.retain(|(of, ..)| *of != nsapi);
            all.requests.extend(request.map(|(request, until)| (nsapi, request, until)));
        });
    }

    fn change_modifications(&mut self, change: impl FnOnce(&mut Modifications)) {
        let mut all = self.modifications.take().unwrap_or_default();
        change(&mut all);
        self.modifications = Some(all).filter(|all| !all.offers.is_empty() || !all.requests.is_empty());
    }

    fn put(&mut self, nsapi: Nsapi, context: SmContext) {
        self.slots.insert(nsapi, context);
    }

    /// All contexts with their NSAPIs.
    pub fn iter(&self) -> impl Iterator<Item = (Nsapi, &SmContext)> {
        self.slots.iter()
    }

    /// Gives each access point the number that it has in another node's table.
    pub fn renumber_apns(&mut self, number: impl Fn(u16) -> u16) {
        for context in self.slots.iter_mut() {
            context.apn = number(context.apn);
        }
    }

    /// The other contexts that have the address of this one.
    pub fn sharers(&self, nsapi: Nsapi) -> impl Iterator<Item = Nsapi> {
        let of = self.get(nsapi);
        let shares = move |other: &SmContext| of.is_some_and(|of| of.shares_address_with(other));
        self.iter().filter(move |(other, context)| *other != nsapi && shares(context)).map(|(other, _)| other)
    }

    /// True where the mobile has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The NSAPI of the context to which a message from the mobile belongs.
    #[must_use]
    pub fn by_ti(&self, ti: u8, ti_flag: bool) -> Option<Nsapi> {
        self.iter().find(|(_, context)| context.ti() == (ti, !ti_flag)).map(|(nsapi, _)| nsapi)
    }

    /// The contexts that are not PDP-INACTIVE, for a routing area update (clause 10.5.7.1).
    #[must_use]
    pub fn status(&self) -> PdpContextStatus {
        let mut status = PdpContextStatus::default();
        for (nsapi, _) in self.iter() {
            status.set(nsapi);
        }
        status
    }

    /// Goes on after a restart of this end: what the mobile was asked is asked again when its timer has run from its beginning.
    pub fn restore(&mut self, now: Instant, cfg: &SmConfig) {
        for context in self.slots.iter_mut() {
            context.retry.restart(now, cfg.t3395);
        }
        // By the clock of before.
        self.change_modifications(|all| all.requests.clear());
    }

    /// When [`SmEvent::Timer`] is due next. To be asked after every event.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        self.iter().filter_map(|(_, context)| context.retry.deadline(now)).min()
    }

    /// Takes one event.
    pub fn handle(
        &mut self,
        cx: &mut Context<'_>,
        network: &mut SmNetwork<'_>,
        event: SmEvent,
        out: &mut Batch<SmAction>,
    ) {
        let mut step = Step { contexts: self, cx, network, out };
        match event {
            SmEvent::Message { ti, ti_flag, message } => step.message(ti, ti_flag, message),
            SmEvent::DecodeFailed { ti, ti_flag, message_type, error } => {
                step.decode_failed(ti, ti_flag, message_type, &error);
            }
            SmEvent::Timer => step.timer(),
            SmEvent::Created { nsapi, created } => step.created(nsapi, created),
            SmEvent::CreateRejected { nsapi, cause, pco } => step.create_failed(nsapi, sm_cause(cause), pco),
            // 29.060 has no answer to translate; clause 6.1.3.1.3: network failure.
            SmEvent::CreateFailed { nsapi } => step.create_failed(nsapi, SmCause::NetworkFailure, None),
            SmEvent::Updated { nsapi, qos } => step.updated(nsapi, qos),
            SmEvent::UpdateRejected { nsapi, cause } => step.update_failed(nsapi, sm_cause(cause)),
            SmEvent::UpdateFailed { nsapi } => step.update_failed(nsapi, SmCause::NetworkFailure),
            SmEvent::Deleted { nsapi } => step.deleted(nsapi),
            SmEvent::Deactivate { nsapi, cause, tunnel_gone } => step.deactivate(nsapi, cause, tunnel_gone),
            SmEvent::TearDown { nsapi, cause, tunnel_gone } => step.tear_down(nsapi, cause, tunnel_gone),
            SmEvent::Modify { nsapi, qos } => step.modify(nsapi, qos),
            SmEvent::Forget { nsapi, cause } => step.forget(nsapi, cause),
        }
    }
}

/// One call of [`SmContexts::handle`].
struct Step<'a, 'c, 'n> {
    contexts: &'a mut SmContexts,
    cx: &'a mut Context<'c>,
    network: &'a mut SmNetwork<'n>,
    out: &'a mut Batch<SmAction>,
}

impl Step<'_, '_, '_> {
    fn drop(&mut self, drop: Drop) {
        self.cx.drop_of(drop, self.network.whose);
    }

    fn log(&mut self, line: core::fmt::Arguments<'_>) {
        self.cx.log_of(self.network.whose, Category::Pdp, Level::Info, line);
    }

    fn explain(&mut self, why: core::fmt::Arguments<'_>) {
        self.cx.explain(Category::Pdp, self.network.whose, why);
    }

    /// Answers a message whose flag was `ti_flag`.
    fn answer(&mut self, ti: u8, ti_flag: bool, message: impl Into<SmMessage>) {
        self.out.push(SmAction::Send { ti, ti_flag: !ti_flag, message: message.into() });
    }

    /// Sends a message about the context of `nsapi`.
    fn send(&mut self, nsapi: Nsapi, message: impl Into<SmMessage>) {
        if let Some((ti, ti_flag)) = self.contexts.get(nsapi).map(SmContext::ti) {
            self.out.push(SmAction::Send { ti, ti_flag, message: message.into() });
        }
    }

    /// The context enters PDP-INACTIVE.
    fn release(&mut self, nsapi: Nsapi, cause: SmCause) {
        self.contexts.set_offer(nsapi, None);
        self.contexts.set_taken(nsapi, None);
        let Some(context) = self.contexts.slots.remove(nsapi) else { return };
        self.out.push(SmAction::Released { nsapi, cause });
        // What was refused was never there; who has asked for the deactivation of the others has been said.
        let level = match context.state() {
            SmState::Active | SmState::ModifyPending | SmState::Updating => Level::Info,
            SmState::ActivePending | SmState::InactivePending(_) | SmState::Releasing => Level::Debug,
        };
        let line = format_args!("NSAPI {nsapi}: released, {cause}");
        self.cx.log_of(self.network.whose, Category::Pdp, level, line);
    }

    /// The same, with its tunnel where it has one.
    fn forget(&mut self, nsapi: Nsapi, cause: SmCause) {
        if self.contexts.get(nsapi).is_some_and(SmContext::has_tunnel) {
            self.delete_tunnel(nsapi, false);
        }
        self.release(nsapi, cause);
    }
}
