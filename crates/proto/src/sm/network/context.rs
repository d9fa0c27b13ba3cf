//! One PDP context as the SGSN keeps it.

use crate::sm::retry::Retry;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::{DelayClass, PackedQos, PdpAddress, QosProfile, RadioPriority, SmCause};
use serde::{Deserialize, Serialize};

/// The state of a context on the network side (clause 6.1.2.2). PDP-INACTIVE is the absence of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SmState {
    /// PDP-ACTIVE-PENDING: the GGSN was asked for a tunnel.
    ActivePending,
    /// PDP-ACTIVE.
    Active,
    /// PDP-MODIFY-PENDING: the mobile was asked to accept another quality of service; T3386 runs.
    ModifyPending,
    /// PDP-INACTIVE-PENDING: the mobile was asked to deactivate, with this cause; T3395 runs.
    InactivePending(SmCause),
    /// The mobile asked to deactivate, and the GGSN was asked to take the tunnel down; when it has, the mobile gets its
    /// accept (23.060 clause 9.2.4.1).
    Releasing,
}

/// A PDP context: 40 octets of plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmContext {
    /// Index of the access point in the node's table.
    pub(super) apn: u16,
    /// The mobile's address; before activation that which it asked for.
    pub(super) address: PdpAddress,
    /// The quality of service as negotiated; before activation that which the GGSN was asked for.
    pub(super) qos: PackedQos,
    pub(super) sapi: Sapi,
    pub(super) state: SmState,
    /// T3386 or T3395.
    pub(super) retry: Retry,
    /// The transaction identifier, and in bit 8 the flag of the messages that the network sends.
    ti: u8,
}

impl SmContext {
    /// A context in PDP-ACTIVE-PENDING whose activation came with `ti` and `ti_flag`.
    pub(super) fn new(
        ti: u8,
        ti_flag: bool,
        sapi: Sapi,
        apn: u16,
        qos: &QosProfile,
        address: PdpAddress,
    ) -> Self {
        Self {
            apn,
            address,
            qos: qos.pack(),
            sapi,
            state: SmState::ActivePending,
            retry: Retry::default(),
            ti: ti & 0x7f | if ti_flag { 0 } else { 0x80 },
        }
    }

    /// Transaction identifier, and the flag of the messages that the network sends about this context.
    #[must_use]
    pub const fn ti(&self) -> (u8, bool) {
        (self.ti & 0x7f, self.ti & 0x80 != 0)
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> SmState {
        self.state
    }

    /// The LLC SAPI of its data.
    #[must_use]
    pub const fn sapi(&self) -> Sapi {
        self.sapi
    }

    /// Index of the access point in the node's table.
    #[must_use]
    pub const fn apn(&self) -> u16 {
        self.apn
    }

    /// The mobile's address; before activation that which it asked for.
    #[must_use]
    pub const fn address(&self) -> PdpAddress {
        self.address
    }

    /// The quality of service as negotiated; before activation that which the GGSN was asked for.
    #[must_use]
    pub fn qos(&self) -> QosProfile {
        self.qos.unpack()
    }

    /// True where user data may flow.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self.state, SmState::Active | SmState::ModifyPending)
    }

    /// True where the GGSN has, or may have, a tunnel that nobody has asked it to take down.
    pub(super) const fn has_tunnel(&self) -> bool {
        matches!(self.state, SmState::ActivePending | SmState::Active | SmState::ModifyPending)
    }

    /// The radio priority of the context's data, which follows the delay class.
    #[must_use]
    pub fn radio_priority(&self) -> RadioPriority {
        match self.qos().delay {
            DelayClass::ONE => RadioPriority::One,
            DelayClass::TWO => RadioPriority::Two,
            DelayClass::THREE => RadioPriority::Three,
            _ => RadioPriority::Four,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_to_its_budget() {
        assert_eq!(size_of::<SmContext>(), 40);
        assert_eq!(size_of::<Option<SmContext>>(), 40);
    }
}
