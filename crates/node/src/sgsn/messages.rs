//! Messages of layer 3 by kind, each counted where it is received or sent: a repetition counts again.

use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::sm::SmMessage;

/// How many messages of each kind that an operator asks for have come and gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageCounters {
    /// ATTACH REQUEST received.
    pub attach_requests: u64,
    /// ATTACH ACCEPT sent.
    pub attach_accepts: u64,
    /// ATTACH REJECT sent.
    pub attach_rejects: u64,
    /// DETACH REQUEST received.
    pub detach_requests: u64,
    /// DETACH ACCEPT sent.
    pub detach_accepts: u64,
    /// ROUTING AREA UPDATE REQUEST received.
    pub rau_requests: u64,
    /// ROUTING AREA UPDATE ACCEPT sent.
    pub rau_accepts: u64,
    /// ROUTING AREA UPDATE REJECT sent.
    pub rau_rejects: u64,
    /// SERVICE REQUEST received.
    pub service_requests: u64,
    /// ACTIVATE PDP CONTEXT REQUEST received, of a secondary context too.
    pub activate_requests: u64,
    /// ACTIVATE PDP CONTEXT REJECT sent, of a secondary context too.
    pub activate_rejects: u64,
    /// ACTIVATE PDP CONTEXT ACCEPT sent, of a secondary context too.
    pub activate_accepts: u64,
    /// REQUEST PDP CONTEXT ACTIVATION sent.
    pub activations_requested: u64,
    /// REQUEST PDP CONTEXT ACTIVATION REJECT received.
    pub activations_refused: u64,
    /// MODIFY PDP CONTEXT REQUEST, in both directions.
    pub modify_requests: u64,
    /// MODIFY PDP CONTEXT ACCEPT, in both directions.
    pub modify_accepts: u64,
    /// DEACTIVATE PDP CONTEXT REQUEST sent.
    pub deactivate_requests_sent: u64,
    /// DEACTIVATE PDP CONTEXT ACCEPT sent.
    pub deactivate_accepts_sent: u64,
    /// DEACTIVATE PDP CONTEXT REQUEST received.
    pub deactivate_requests_received: u64,
    /// DEACTIVATE PDP CONTEXT ACCEPT received.
    pub deactivate_accepts_received: u64,
}

impl MessageCounters {
    /// Mobility management, received.
    pub(super) const fn gmm_received(&mut self, message: &GmmMessage) {
        let counter = match message {
            GmmMessage::AttachRequest(_) => &mut self.attach_requests,
            GmmMessage::DetachRequestMo(_) => &mut self.detach_requests,
            GmmMessage::RauRequest(_) => &mut self.rau_requests,
            GmmMessage::ServiceRequest(_) => &mut self.service_requests,
            _ => return,
        };
        *counter += 1;
    }

    /// Mobility management, sent.
    pub(super) const fn gmm_sent(&mut self, message: &GmmMessage) {
        let counter = match message {
            GmmMessage::AttachAccept(_) => &mut self.attach_accepts,
            GmmMessage::AttachReject(_) => &mut self.attach_rejects,
            GmmMessage::DetachAcceptMo(_) => &mut self.detach_accepts,
            GmmMessage::RauAccept(_) => &mut self.rau_accepts,
            GmmMessage::RauReject(_) => &mut self.rau_rejects,
            _ => return,
        };
        *counter += 1;
    }

    /// Session management, received.
    pub(super) const fn sm_received(&mut self, message: &SmMessage) {
        let counter = match message {
            SmMessage::ActivateRequest(_) | SmMessage::ActivateSecondaryRequest(_) => {
                &mut self.activate_requests
            }
            SmMessage::RequestActivationReject(_) => &mut self.activations_refused,
            SmMessage::ModifyRequestMo(_) => &mut self.modify_requests,
            SmMessage::ModifyAcceptMo(_) => &mut self.modify_accepts,
            SmMessage::DeactivateRequest(_) => &mut self.deactivate_requests_received,
            SmMessage::DeactivateAccept(_) => &mut self.deactivate_accepts_received,
            _ => return,
        };
        *counter += 1;
    }

    /// Session management, sent.
    pub(super) const fn sm_sent(&mut self, message: &SmMessage) {
        let counter = match message {
            SmMessage::ActivateAccept(_) | SmMessage::ActivateSecondaryAccept(_) => {
                &mut self.activate_accepts
            }
            SmMessage::ActivateReject(_) | SmMessage::ActivateSecondaryReject(_) => {
                &mut self.activate_rejects
            }
            SmMessage::RequestActivation(_) => &mut self.activations_requested,
            SmMessage::ModifyRequestMt(_) => &mut self.modify_requests,
            SmMessage::ModifyAcceptMt(_) => &mut self.modify_accepts,
            SmMessage::DeactivateRequest(_) => &mut self.deactivate_requests_sent,
            SmMessage::DeactivateAccept(_) => &mut self.deactivate_accepts_sent,
            _ => return,
        };
        *counter += 1;
    }
}

/// What a person asks of one mobile's signalling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MobileCounters {
    /// Messages of layer 3 received.
    pub messages_in: u32,
    /// Messages of layer 3 sent.
    pub messages_out: u32,
    /// PDP contexts that were activated.
    pub activations: u16,
    /// SUSPEND that was obeyed.
    pub suspends: u16,
    /// Pagings.
    pub pagings: u16,
    /// Routing area updates that ended well.
    pub updates: u16,
}

impl MobileCounters {
    /// A message of layer 3 came.
    pub(super) const fn received(&mut self) {
        self.messages_in = self.messages_in.saturating_add(1);
    }

    /// A message of layer 3 goes.
    pub(super) const fn sent(&mut self) {
        self.messages_out = self.messages_out.saturating_add(1);
    }

    /// Counts one of the others.
    pub(super) fn count(&mut self, which: fn(&mut Self) -> &mut u16) {
        let counter = which(self);
        *counter = counter.saturating_add(1);
    }
}
