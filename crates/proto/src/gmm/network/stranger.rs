//! What a mobile is told that this SGSN has no context for. There is no state, so there is nothing to retry.

use gannet_wire::DecodeError;
use gannet_wire::l3::gmm::{self, AttachReject, DetachAcceptMo, DetachRequestMt, GmmMessage, RauReject};
use gannet_wire::l3::ie::{DetachTypeMt, ForceToStandby, GmmCause};

pub(super) const ATTACH_REQUEST: u8 = 0x01;
pub(super) const RAU_REQUEST: u8 = 0x08;

/// What a mobile without a context sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger<'a> {
    /// A GMM message other than ATTACH REQUEST, for which a context is made.
    Message {
        /// The message.
        message: &'a GmmMessage,
    },
    /// A GMM message that could not be read.
    Unreadable {
        /// Its message type.
        message_type: u8,
        /// Why.
        error: &'a DecodeError,
    },
    /// Any other LLC frame.
    LlcFrame,
}

/// The answer, to be sent with the TLLI that the mobile used; `None` where there is none.
///
/// A routing area update is rejected with cause 10 (clause 4.7.5.1.4): the mobile attaches again with its P-TMSI. Cause 9, for a
/// P-TMSI of another SGSN, would be right as well and make it attach with its IMSI; deployed SGSNs say 10. A request that can't be read is rejected with the cause of
/// that (clauses 4.7.3.1.6 b and 4.7.5.1.6 b). Anything else shows that the mobile takes itself for
/// attached: it is told to attach again (clause 4.7.4.2, cause 10).
#[must_use]
pub fn answer_to_stranger(what: Stranger<'_>) -> Option<GmmMessage> {
    let force_to_standby = ForceToStandby::NotIndicated;
    let attach_again = DetachRequestMt {
        detach_type: DetachTypeMt::ReattachRequired,
        force_to_standby,
        cause: Some(GmmCause::ImplicitlyDetached),
    };
    match what {
        Stranger::LlcFrame => Some(attach_again.into()),
        Stranger::Unreadable { message_type, error } => match (message_type, gmm::cause(error)?) {
            (ATTACH_REQUEST, cause) => Some(AttachReject { cause, t3302: None }.into()),
            (RAU_REQUEST, cause) => Some(RauReject { cause, force_to_standby, t3302: None }.into()),
            (_, _) => Some(attach_again.into()),
        },
        Stranger::Message { message } => match message {
            GmmMessage::RauRequest(_) => {
                let cause = GmmCause::ImplicitlyDetached;
                Some(RauReject { cause, force_to_standby, t3302: None }.into())
            }
            GmmMessage::DetachRequestMo(request) if request.detach_type.power_off => None,
            GmmMessage::DetachRequestMo(_) => Some(DetachAcceptMo { force_to_standby }.into()),
            // The end of a detach by the network that was given up, and what must not be answered.
            GmmMessage::DetachAcceptMt(_) | GmmMessage::GmmStatus(_) | GmmMessage::AttachRequest(_) => None,
            GmmMessage::AttachComplete(_)
            | GmmMessage::RauComplete(_)
            | GmmMessage::PTmsiReallocationComplete(_)
            | GmmMessage::IdentityResponse(_)
            | GmmMessage::AuthenticationResponse(_)
            | GmmMessage::AuthenticationFailure(_)
            | GmmMessage::ServiceRequest(_) => Some(attach_again.into()),
            // Messages of the network: a mobile does not send them.
            GmmMessage::AttachAccept(_)
            | GmmMessage::AttachReject(_)
            | GmmMessage::DetachRequestMt(_)
            | GmmMessage::DetachAcceptMo(_)
            | GmmMessage::RauAccept(_)
            | GmmMessage::RauReject(_)
            | GmmMessage::ServiceAccept(_)
            | GmmMessage::ServiceReject(_)
            | GmmMessage::PTmsiReallocationCommand(_)
            | GmmMessage::AuthenticationRequest(_)
            | GmmMessage::AuthenticationReject(_)
            | GmmMessage::IdentityRequest(_)
            | GmmMessage::GmmInformation(_) => None,
        },
    }
}
