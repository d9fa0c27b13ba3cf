//! One PDP context as the mobile keeps it.

use super::{Wanted, WantedSecondary};
use crate::sm::retry::Retry;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{
    LinkedTi, PdpAddress, QosProfile, SmCause, TearDownIndicator, Tft, TrafficFlowTemplate,
};
use gannet_wire::l3::sm::{ActivateRequest, ActivateSecondaryRequest, SmMessage};
use serde::{Deserialize, Serialize};

/// The state of a context in the mobile (clause 6.1.2.1). PDP-INACTIVE is the absence of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SmMsState {
    /// PDP-ACTIVE-PENDING: activation was asked for; T3380 runs.
    ActivePending,
    /// PDP-ACTIVE.
    Active,
    /// PDP-MODIFY-PENDING: another quality of service was asked for; T3381 runs.
    ModifyPending,
    /// PDP-INACTIVE-PENDING: deactivation was asked for, with this cause; T3390 runs.
    InactivePending(SmCause),
}

/// A PDP context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SmMsContext {
    pub(super) ti: u8,
    pub(super) state: SmMsState,
    /// T3380, T3381 or T3390.
    pub(super) retry: Retry,
    /// What was asked for; with the answer it becomes what was negotiated.
    pub(super) wanted: Wanted,
    /// The context to which a secondary one is linked, by its identifier.
    pub(super) linked: Option<u8>,
    /// Its traffic flow template.
    pub(super) tft: Option<Tft>,
    /// What a modification, or the activation of a secondary context, asks for.
    pub(super) change: Change,
    /// A deactivation takes all contexts of the address along.
    pub(super) tear_down: bool,
}

/// What is asked for beside what holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Change {
    /// Another quality of service.
    pub qos: Option<QosProfile>,
    /// An operation on the traffic flow template.
    pub tft: Option<TrafficFlowTemplate>,
}

impl SmMsContext {
    pub(super) fn new(ti: u8, wanted: Wanted) -> Self {
        Self {
            ti,
            state: SmMsState::ActivePending,
            retry: Retry::default(),
            wanted,
            linked: None,
            tft: None,
            change: Change::default(),
            tear_down: false,
        }
    }

    /// A secondary one beside `linked`.
    pub(super) fn secondary(ti: u8, linked: &Self, wanted: WantedSecondary) -> Self {
        let WantedSecondary { linked: _, sapi, qos, tft } = wanted;
        let shared = Wanted { sapi, qos, pco: None, ..linked.wanted.clone() };
        Self { linked: Some(linked.ti), change: Change { qos: None, tft }, ..Self::new(ti, shared) }
    }

    /// The request that activates it.
    pub(super) fn request(&self, nsapi: Nsapi) -> SmMessage {
        let Wanted { sapi, qos, address, apn, pco } = self.wanted.clone();
        match self.linked {
            None => ActivateRequest { nsapi, sapi, qos, address, apn, pco }.into(),
            Some(ti) => {
                let (linked_ti, tft) = (LinkedTi { ti, ti_flag: false }, self.change.tft.clone());
                ActivateSecondaryRequest { nsapi, sapi, qos, linked_ti, tft }.into()
            }
        }
    }

    /// Carries out what was asked of the template, now that the network has agreed.
    pub(super) fn apply_tft(&mut self) {
        if let Some(Ok(change)) = self.change.tft.take().map(|tft| tft.read())
            && let Ok(next) = Tft::apply(self.tft.as_ref(), &change)
        {
            self.tft = next;
        }
    }

    /// The indicator that goes with a DEACTIVATE PDP CONTEXT REQUEST (clause 9.5.14).
    pub(super) fn tear_down(&self) -> Option<TearDownIndicator> {
        self.tear_down.then_some(TearDownIndicator::AllOfAddress)
    }

    /// True where it was activated as a secondary context (clause 6.1.3.2).
    #[must_use]
    pub const fn is_secondary(&self) -> bool {
        self.linked.is_some()
    }

    /// Which downlink packets belong to it; `None` for all that belong to no other context of its address.
    #[must_use]
    pub const fn tft(&self) -> Option<&Tft> {
        self.tft.as_ref()
    }

    /// True where two contexts have one address.
    #[must_use]
    pub fn shares_address_with(&self, other: &Self) -> bool {
        let (own, others) = (&self.wanted, &other.wanted);
        !own.address.is_dynamic() && own.address == others.address && own.apn == others.apn
    }

    /// The transaction identifier, which the mobile allocated.
    #[must_use]
    pub const fn ti(&self) -> u8 {
        self.ti
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> SmMsState {
        self.state
    }

    /// The LLC SAPI of its data.
    #[must_use]
    pub const fn sapi(&self) -> Sapi {
        self.wanted.sapi
    }

    /// The mobile's address; before activation that which it asked for.
    #[must_use]
    pub const fn address(&self) -> PdpAddress {
        self.wanted.address
    }

    /// The quality of service; before activation that which it asked for.
    #[must_use]
    pub const fn qos(&self) -> QosProfile {
        self.wanted.qos
    }

    /// True where user data may flow.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self.state, SmMsState::Active | SmMsState::ModifyPending)
    }
}
