//! One PDP context as the mobile keeps it.

use super::Wanted;
use crate::sm::retry::Retry;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{PdpAddress, QosProfile, SmCause};
use gannet_wire::l3::sm::ActivateRequest;
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
    /// The quality of service of a modification under way.
    pub(super) next_qos: QosProfile,
}

impl SmMsContext {
    pub(super) fn new(ti: u8, wanted: Wanted) -> Self {
        Self { ti, state: SmMsState::ActivePending, retry: Retry::default(), next_qos: wanted.qos, wanted }
    }

    /// The request that activates it.
    pub(super) fn request(&self, nsapi: Nsapi) -> ActivateRequest {
        let Wanted { sapi, qos, address, apn, pco } = self.wanted.clone();
        ActivateRequest { nsapi, sapi, qos, address, apn, pco }
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
