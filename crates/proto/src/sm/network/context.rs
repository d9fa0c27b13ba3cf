//! One PDP context as the SGSN keeps it.

use crate::sm::retry::Retry;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::{
    DelayClass, PackedQos, PdpAddress, QosProfile, RadioPriority, SmCause, TearDownIndicator,
};
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
    /// The mobile asked for another quality of service or traffic flow template, and the GGSN was asked in turn; when it
    /// has answered, the mobile gets its own answer (23.060 clause 9.2.3.3).
    Updating,
    /// PDP-INACTIVE-PENDING: the mobile was asked to deactivate, with this cause; T3395 runs.
    InactivePending(SmCause),
    /// The mobile asked to deactivate, and the GGSN was asked to take the tunnel down; when it has, the mobile gets its
    /// accept (23.060 clause 9.2.4.1).
    Releasing,
}

/// What is noted of a context beside its SAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mark {
    /// It has a traffic flow template.
    Tft = 0x80,
    /// It was activated as a secondary one (clause 6.1.3.2).
    Secondary = 0x40,
    /// The contexts of the same address go with it.
    TearDown = 0x20,
    /// It will have a template when the GGSN has agreed.
    NextTft = 0x10,
}

/// A PDP context: 44 octets of plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmContext {
    /// Index of the access point in the node's table.
    pub(super) apn: u16,
    /// The mobile's address; before activation that which it asked for.
    pub(super) address: PdpAddress,
    /// The quality of service as negotiated; before activation that which the GGSN was asked for.
    pub(super) qos: PackedQos,
    /// The SAPI in bits 1 to 4, and [`Mark`]s above it.
    marks: u8,
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
            marks: sapi.0 & 0x0f,
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
        Sapi(self.marks & 0x0f)
    }

    pub(super) const fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    pub(super) const fn mark(&mut self, mark: Mark, holds: bool) {
        self.marks = if holds { self.marks | mark as u8 } else { self.marks & !(mark as u8) };
    }

    /// True where a traffic flow template says which downlink packets belong to it.
    #[must_use]
    pub const fn has_tft(&self) -> bool {
        self.has(Mark::Tft)
    }

    /// True where it was activated as a secondary context (clause 6.1.3.2).
    #[must_use]
    pub const fn is_secondary(&self) -> bool {
        self.has(Mark::Secondary)
    }

    /// True where two contexts of a mobile have one address (23.060 clause 9.2.2.1.1).
    #[must_use]
    pub fn shares_address_with(&self, other: &Self) -> bool {
        let has_one = self.address.addresses() != (None, None) && !self.address.is_dynamic();
        has_one && (self.apn, self.address) == (other.apn, other.address)
    }

    /// The indicator that goes with a DEACTIVATE PDP CONTEXT REQUEST (clause 9.5.14).
    pub(super) fn tear_down(&self) -> Option<TearDownIndicator> {
        self.has(Mark::TearDown).then_some(TearDownIndicator::AllOfAddress)
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
        matches!(self.state, SmState::Active | SmState::ModifyPending | SmState::Updating)
    }

    /// True where the GGSN has, or may have, a tunnel that nobody has asked it to take down.
    pub(super) const fn has_tunnel(&self) -> bool {
        match self.state {
            SmState::ActivePending | SmState::Active | SmState::ModifyPending | SmState::Updating => true,
            SmState::InactivePending(_) | SmState::Releasing => false,
        }
    }

    /// The radio priority of the context's data, which follows the delay class.
    #[must_use]
    pub fn radio_priority(&self) -> RadioPriority {
        radio_priority(&self.qos())
    }
}

/// The radio priority of data with this quality of service.
pub(super) const fn radio_priority(qos: &QosProfile) -> RadioPriority {
    match qos.delay {
        DelayClass::ONE => RadioPriority::One,
        DelayClass::TWO => RadioPriority::Two,
        DelayClass::THREE => RadioPriority::Three,
        _ => RadioPriority::Four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_to_its_budget() {
        assert_eq!(size_of::<SmContext>(), 44);
        assert_eq!(size_of::<Option<SmContext>>(), 44);
    }
}
