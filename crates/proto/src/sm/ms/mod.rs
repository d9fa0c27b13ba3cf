//! SM in the mobile: its PDP contexts ([`SmMsContexts`]).
//!
//! ```text
//! Activate ─► ACTIVATE REQUEST ─T3380─► ACTIVATE ACCEPT ─► Active
//!                                    or ACTIVATE REJECT ─► Failed
//! ActivateSecondary ─► ACTIVATE SECONDARY REQUEST ─T3380─► ACTIVATE SECONDARY ACCEPT ─► Active
//! REQUEST ACTIVATION from the network ─► Requested, ACTIVATE REQUEST as above, or REQUEST ACTIVATION REJECT
//! Modify ─► MODIFY REQUEST ─T3381─► MODIFY ACCEPT ─► Modified
//! Deactivate ─► DEACTIVATE REQUEST ─T3390─► DEACTIVATE ACCEPT ─► Released
//! DEACTIVATE REQUEST from the network ─► DEACTIVATE ACCEPT, Released
//! ```

mod context;
mod message;
mod procedure;

pub use context::{Change, SmMsContext, SmMsState};

use super::{CONTEXTS, nsapi_of, place};
use crate::about::About as _;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::l3::ie::{
    Apn, PdpAddress, PdpContextStatus, ProtocolConfiguration, QosProfile, RadioPriority, SmCause,
    TrafficFlowTemplate,
};
use gannet_wire::l3::sm::SmMessage;
use serde::{Deserialize, Serialize};

/// The mobile's timers. The defaults are those of clause 11.2.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmMsConfig {
    /// T3380, activation.
    pub t3380: Duration,
    /// T3381, modification.
    pub t3381: Duration,
    /// T3390, deactivation.
    pub t3390: Duration,
    /// How often a message guarded by one of those is sent in all, up to 7.
    pub tries: u8,
    /// The mobile activates what the network requests (clause 6.1.3.1.2); otherwise it rejects that with cause 40.
    pub follows_requests: bool,
    /// It sets the transaction identifier flag in transactions that it begins, and expects answers without, as some phones do
    /// against 24.007 clause 11.2.3.1.3.
    pub sets_flag: bool,
}

impl Default for SmMsConfig {
    fn default() -> Self {
        Self {
            t3380: Duration::from_secs(30),
            t3381: Duration::from_secs(8),
            t3390: Duration::from_secs(8),
            tries: 5,
            follows_requests: false,
            sets_flag: false,
        }
    }
}

/// A context that the user wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// LLC SAPI of its data.
    pub sapi: Sapi,
    /// Quality of service.
    pub qos: QosProfile,
    /// Type, and the address where it is static.
    pub address: PdpAddress,
    /// Access point; none for the subscription's own.
    pub apn: Option<Apn>,
    /// Options for the external network.
    pub pco: Option<ProtocolConfiguration>,
}

/// A context that the user wants beside another, with the same address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedSecondary {
    /// The other one.
    pub linked: Nsapi,
    /// LLC SAPI of its data.
    pub sapi: Sapi,
    /// Quality of service.
    pub qos: QosProfile,
    /// Which downlink packets belong to it: an operation that creates the template.
    pub tft: Option<TrafficFlowTemplate>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum SmMsEvent {
    /// The user wants a context. The NSAPI must be free; otherwise this counts as unexpected.
    Activate {
        /// For it.
        nsapi: Nsapi,
        /// What it should be.
        wanted: Wanted,
    },
    /// The user wants a secondary context. The NSAPI must be free and the other context active; otherwise this counts as
    /// unexpected.
    ActivateSecondary {
        /// For it.
        nsapi: Nsapi,
        /// What it should be.
        wanted: WantedSecondary,
    },
    /// The user wants none of the contexts any more that have the address of this one.
    TearDown {
        /// One of them.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
    },
    /// The user wants it no more.
    Deactivate {
        /// Which.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
    },
    /// The user wants another quality of service, or other packets in a context.
    Modify {
        /// Which.
        nsapi: Nsapi,
        /// What.
        change: Change,
    },
    /// A message from the network.
    Message {
        /// Its transaction identifier.
        ti: u8,
        /// Its flag, as it came.
        ti_flag: bool,
        /// The message.
        message: SmMessage,
    },
    /// A message from the network that could not be read.
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
    /// The deadline of [`SmMsContexts::deadline`] has come.
    Timer,
    /// The mobile is detached, or the network's PDP context status leaves the context out (clause 4.7.5.1.3).
    Forget {
        /// Which context.
        nsapi: Nsapi,
        /// Why.
        cause: SmCause,
    },
}

/// What the mobile is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum SmMsAction {
    /// Send this message on SAPI 1.
    Send {
        /// Transaction identifier.
        ti: u8,
        /// Its flag.
        ti_flag: bool,
        /// The message.
        message: SmMessage,
    },
    /// The network has requested this context, and its activation begins.
    Requested {
        /// It.
        nsapi: Nsapi,
        /// What it will be.
        wanted: Wanted,
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
        /// Options from the external network: its name servers.
        pco: Option<ProtocolConfiguration>,
        /// Why it is one version of IP where both were asked for: with cause 52 the other may be asked for in a second context,
        /// with 50 and 51 it may not (clause 6.1.3.1.1).
        cause: Option<SmCause>,
    },
    /// The quality of service has changed, or was left as it was where the network refused.
    Modified {
        /// In which context.
        nsapi: Nsapi,
        /// What holds now.
        qos: QosProfile,
        /// What holds now.
        sapi: Sapi,
        /// Of the context's data, where the network says it anew.
        radio_priority: Option<RadioPriority>,
    },
    /// The activation failed.
    Failed {
        /// Of which context.
        nsapi: Nsapi,
        /// The network's cause; `None` where it did not answer.
        cause: Option<SmCause>,
    },
    /// An active context is gone.
    Released {
        /// Which.
        nsapi: Nsapi,
        /// Why. With 39, reactivation required, the user should activate it again.
        cause: SmCause,
    },
}

/// The PDP contexts of one mobile: NSAPI n at place n − 5.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmMsContexts {
    slots: [Option<SmMsContext>; CONTEXTS],
}

impl SmMsContexts {
    /// The context of an NSAPI.
    #[must_use]
    pub fn get(&self, nsapi: Nsapi) -> Option<&SmMsContext> {
        self.slots.get(place(nsapi)?)?.as_ref()
    }

    fn get_mut(&mut self, nsapi: Nsapi) -> Option<&mut SmMsContext> {
        self.slots.get_mut(place(nsapi)?)?.as_mut()
    }

    /// All contexts with their NSAPIs.
    pub fn iter(&self) -> impl Iterator<Item = (Nsapi, &SmMsContext)> {
        self.slots.iter().enumerate().filter_map(|(place, slot)| Some((nsapi_of(place), slot.as_ref()?)))
    }

    /// The other contexts that have the address of this one.
    pub fn sharers(&self, nsapi: Nsapi) -> impl Iterator<Item = Nsapi> {
        let of = self.get(nsapi);
        let shares = move |other: &SmMsContext| of.is_some_and(|of| of.shares_address_with(other));
        self.iter().filter(move |(other, context)| *other != nsapi && shares(context)).map(|(other, _)| other)
    }

    /// True where the mobile has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    /// The NSAPI of the context to which a message from the network belongs. The mobile allocated all of them, so that
    /// such a message has flag 1.
    #[must_use]
    pub fn by_ti(&self, ti: u8, ti_flag: bool) -> Option<Nsapi> {
        self.iter().find(|(_, context)| ti_flag && context.ti == ti).map(|(nsapi, _)| nsapi)
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

    /// When [`SmMsEvent::Timer`] is due next. To be asked after every event.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        self.iter().filter_map(|(_, context)| context.retry.deadline(now)).min()
    }

    /// Takes one event. `whose` is the mobile itself, for the counters.
    pub fn handle(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &SmMsConfig,
        whose: Option<Imsi>,
        event: SmMsEvent,
        out: &mut Batch<SmMsAction>,
    ) {
        let mut step = Step { contexts: self, cx, cfg, whose, out };
        match event {
            SmMsEvent::Activate { nsapi, wanted } => step.activate(nsapi, wanted),
            SmMsEvent::Deactivate { nsapi, cause } => step.deactivate(nsapi, cause),
            SmMsEvent::ActivateSecondary { nsapi, wanted } => step.activate_secondary(nsapi, wanted),
            SmMsEvent::TearDown { nsapi, cause } => step.tear_down(nsapi, cause),
            SmMsEvent::Modify { nsapi, change } => step.modify(nsapi, change),
            SmMsEvent::Message { ti, ti_flag, message } => step.message(ti, ti_flag, message),
            SmMsEvent::DecodeFailed { ti, ti_flag, message_type, error } => {
                step.decode_failed(ti, ti_flag, message_type, &error);
            }
            SmMsEvent::Timer => step.timer(),
            SmMsEvent::Forget { nsapi, cause } => step.release(nsapi, cause),
        }
    }
}

/// One call of [`SmMsContexts::handle`].
struct Step<'a, 'c> {
    contexts: &'a mut SmMsContexts,
    cx: &'a mut Context<'c>,
    cfg: &'a SmMsConfig,
    whose: Option<Imsi>,
    out: &'a mut Batch<SmMsAction>,
}

impl Step<'_, '_> {
    fn drop(&mut self, drop: Drop) {
        self.cx.drop_of(drop, self.whose);
    }

    /// Answers a message whose flag was `ti_flag`.
    fn answer(&mut self, ti: u8, ti_flag: bool, message: impl Into<SmMessage>) {
        self.out.push(SmMsAction::Send { ti, ti_flag: !ti_flag, message: message.into() });
    }

    /// Sends a message about the context of `nsapi`.
    fn send(&mut self, nsapi: Nsapi, message: impl Into<SmMessage>) {
        if let Some(ti) = self.contexts.get(nsapi).map(|context| context.ti) {
            let ti_flag = self.cfg.sets_flag;
            self.out.push(SmMsAction::Send { ti, ti_flag, message: message.into() });
        }
    }

    fn take(&mut self, nsapi: Nsapi) -> Option<SmMsContext> {
        place(nsapi).and_then(|place| self.contexts.slots.get_mut(place)).and_then(Option::take)
    }

    /// A context that was never active ends; `cause` is the network's.
    fn fail(&mut self, nsapi: Nsapi, cause: Option<SmCause>) {
        if self.take(nsapi).is_some() {
            self.out.push(SmMsAction::Failed { nsapi, cause });
            let cause = cause.map_or("no answer", SmCause::text);
            let line = format_args!("NSAPI {nsapi}: not activated, {cause}");
            self.cx.log_of(self.whose, Category::Pdp, Level::Debug, line);
        }
    }

    /// The context enters PDP-INACTIVE.
    fn release(&mut self, nsapi: Nsapi, cause: SmCause) {
        let state = self.contexts.get(nsapi).map(SmMsContext::state);
        match state {
            Some(SmMsState::ActivePending) => self.fail(nsapi, Some(cause)),
            Some(SmMsState::Active | SmMsState::ModifyPending | SmMsState::InactivePending(_)) => {
                self.take(nsapi);
                self.out.push(SmMsAction::Released { nsapi, cause });
                let line = format_args!("NSAPI {nsapi}: released, {cause}");
                self.cx.log_of(self.whose, Category::Pdp, Level::Debug, line);
            }
            None => {}
        }
    }
}
