//! Which GMM messages LLC may cipher (clause 4.7.1.2).

use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::GmmMessage;

/// True for a message that goes ciphered where the link has a cipher, and that its receiver then takes ciphered only.
/// The others go in the clear even then, and are taken as they come: who sends or receives them may not know of the
/// cipher, or not have its key any more.
#[must_use]
pub const fn goes_ciphered(message: &GmmMessage) -> bool {
    match message {
        GmmMessage::AttachRequest(_)
        | GmmMessage::AttachReject(_)
        | GmmMessage::AuthenticationRequest(_)
        | GmmMessage::AuthenticationResponse(_)
        | GmmMessage::AuthenticationFailure(_)
        | GmmMessage::AuthenticationReject(_)
        | GmmMessage::IdentityRequest(_)
        | GmmMessage::IdentityResponse(_)
        | GmmMessage::RauRequest(_)
        | GmmMessage::RauReject(_) => false,
        GmmMessage::AttachAccept(_)
        | GmmMessage::AttachComplete(_)
        | GmmMessage::DetachRequestMt(_)
        | GmmMessage::DetachRequestMo(_)
        | GmmMessage::DetachAcceptMt(_)
        | GmmMessage::DetachAcceptMo(_)
        | GmmMessage::RauAccept(_)
        | GmmMessage::RauComplete(_)
        | GmmMessage::ServiceRequest(_)
        | GmmMessage::ServiceAccept(_)
        | GmmMessage::ServiceReject(_)
        | GmmMessage::PTmsiReallocationCommand(_)
        | GmmMessage::PTmsiReallocationComplete(_)
        | GmmMessage::GmmStatus(_)
        | GmmMessage::GmmInformation(_) => true,
    }
}

/// What goes ciphered where the link has a cipher: some messages of GMM never do ([`goes_ciphered`]), those of SM always.
#[must_use]
pub const fn message_goes_ciphered(message: &L3Message) -> bool {
    match message {
        L3Message::Gmm(message) => goes_ciphered(message),
        L3Message::Sm { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::l3::gmm::{
        AttachComplete, AttachReject, AuthenticationReject, DetachAcceptMt, GmmStatus,
    };
    use gannet_wire::l3::ie::GmmCause;

    #[test]
    fn what_must_be_understood_without_the_key_goes_in_the_clear() {
        let cause = GmmCause::ImplicitlyDetached;
        let reject: GmmMessage = AttachReject { cause, t3302: None }.into();
        assert!(!goes_ciphered(&reject) && !goes_ciphered(&AuthenticationReject {}.into()));
        for message in [AttachComplete {}.into(), GmmStatus { cause }.into(), DetachAcceptMt {}.into()] {
            assert!(goes_ciphered(&message), "{}", message.name());
        }
    }
}
