//! Activation that the network requests (clauses 6.1.3.1.2 and 6.1.3.1.4): data for a static address has come to the GGSN.
//!
//! Until the mobile has answered there is no NSAPI and so no context; what is asked of it is kept here, beside the contexts.

use super::{SmConfig, SmContexts};
use crate::sm::retry::Retry;
use gannet_machine::time::Instant;
use gannet_wire::l3::ie::{Apn, PdpAddress, SmCause};
use gannet_wire::l3::sm::{RequestActivation, SmMessage};

/// A REQUEST PDP CONTEXT ACTIVATION that waits for its answer, guarded by T3385.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmRequested {
    ti: u8,
    address: PdpAddress,
    apn: Apn,
    retry: Retry,
}

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmRequestedAnswer {
    /// The mobile activates the context: its own request is to be carried out.
    Activates,
    /// The mobile rejects (clause 6.1.3.1.4).
    Rejects(SmCause),
}

/// What T3385 says when it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmRequestedExpiry {
    /// Not yet.
    Waits,
    /// The request is to be sent again.
    Again,
    /// It was sent the last time (clause 6.1.3.1.5 a, network side).
    GivesUp,
}

impl SmRequested {
    /// The request, now sent for the first time.
    #[must_use]
    pub fn begin(now: Instant, cfg: &SmConfig, contexts: &SmContexts, address: PdpAddress, apn: Apn) -> Self {
        // The network allocates this identifier: the flag of its messages is 0.
        let free = |ti: &u8| contexts.iter().all(|(_, context)| context.ti() != (*ti, false));
        let mut retry = Retry::default();
        retry.start(now, cfg.t3385);
        Self { ti: (0..127).find(free).unwrap_or(0), address, apn, retry }
    }

    /// Its transaction identifier, which the network has allocated.
    #[must_use]
    pub const fn ti(&self) -> u8 {
        self.ti
    }

    /// For which address.
    #[must_use]
    pub const fn address(&self) -> PdpAddress {
        self.address
    }

    /// For which access point.
    #[must_use]
    pub const fn apn(&self) -> &Apn {
        &self.apn
    }

    /// The message to the mobile, with its transaction identifier and flag.
    #[must_use]
    pub fn message(&self) -> (u8, bool, SmMessage) {
        (self.ti, false, RequestActivation { address: self.address, apn: Some(self.apn.clone()) }.into())
    }

    /// Whether a message from the mobile answers it. An activation does where type and address are those requested,
    /// also where the mobile's request was under way already (clause 6.1.3.1.5 b).
    #[must_use]
    pub fn answered_by(&self, ti: u8, ti_flag: bool, message: &SmMessage) -> Option<SmRequestedAnswer> {
        match message {
            SmMessage::ActivateRequest(request) if request.address == self.address => {
                Some(SmRequestedAnswer::Activates)
            }
            SmMessage::RequestActivationReject(reject) if (ti, ti_flag) == (self.ti, true) => {
                Some(SmRequestedAnswer::Rejects(reject.cause))
            }
            _ => None,
        }
    }

    /// When T3385 expires.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        self.retry.deadline(now)
    }

    /// T3385 may have expired: four times again, then it is given up.
    pub fn timer(&mut self, now: Instant, cfg: &SmConfig) -> SmRequestedExpiry {
        if !self.retry.is_due(now) {
            SmRequestedExpiry::Waits
        } else if self.retry.again(now, cfg.t3385, cfg.tries) {
            SmRequestedExpiry::Again
        } else {
            SmRequestedExpiry::GivesUp
        }
    }
}
