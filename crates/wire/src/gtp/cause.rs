//! Cause values (29.060 clause 7.7.1), and the cause that a malformed request is answered with (clause 11.1).

use crate::error::{DecodeError, DecodeErrorKind};
use core::fmt;

macro_rules! causes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        /// The Cause element's value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Cause {
            $(#[doc = concat!($text, " (", stringify!($value), ").")] $name,)*
            /// A value that this table does not have.
            Other(u8),
        }

        impl Cause {
            /// All defined causes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// From the octet of the element.
            #[must_use]
            pub const fn from_octet(octet: u8) -> Self {
                match octet { $($value => Self::$name,)* other => Self::Other(other) }
            }

            /// The octet of the element.
            #[must_use]
            pub const fn octet(self) -> u8 {
                match self { $(Self::$name => $value,)* Self::Other(octet) => octet }
            }

            const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* Self::Other(_) => "undefined cause" }
            }
        }
    };
}

causes! {
    RequestImsi = 0, "request IMSI";
    RequestImei = 1, "request IMEI";
    RequestImsiAndImei = 2, "request IMSI and IMEI";
    NoIdentityNeeded = 3, "no identity needed";
    MsRefusesRequest = 4, "MS refuses";
    MsIsNotGprsRespondingRequest = 5, "MS is not GPRS responding (in a request)";
    ReactivationRequested = 6, "reactivation requested";
    PdpAddressInactivityTimerExpires = 7, "PDP address inactivity timer expires";
    NetworkFailure = 8, "network failure";
    QosParameterMismatch = 9, "QoS parameter mismatch";
    RequestAccepted = 128, "request accepted";
    NewPdpTypeNetworkPreference = 129, "new PDP type due to network preference";
    NewPdpTypeSingleAddress = 130, "new PDP type due to single address bearer only";
    NonExistent = 192, "non-existent";
    InvalidMessageFormat = 193, "invalid message format";
    ImsiNotKnown = 194, "IMSI not known";
    MsIsGprsDetached = 195, "MS is GPRS detached";
    MsIsNotGprsResponding = 196, "MS is not GPRS responding";
    MsRefuses = 197, "MS refuses";
    VersionNotSupported = 198, "version not supported";
    NoResourcesAvailable = 199, "no resources available";
    ServiceNotSupported = 200, "service not supported";
    MandatoryIeIncorrect = 201, "mandatory IE incorrect";
    MandatoryIeMissing = 202, "mandatory IE missing";
    OptionalIeIncorrect = 203, "optional IE incorrect";
    SystemFailure = 204, "system failure";
    RoamingRestriction = 205, "roaming restriction";
    PTmsiSignatureMismatch = 206, "P-TMSI signature mismatch";
    GprsConnectionSuspended = 207, "GPRS connection suspended";
    AuthenticationFailure = 208, "authentication failure";
    UserAuthenticationFailed = 209, "user authentication failed";
    ContextNotFound = 210, "context not found";
    AllDynamicAddressesOccupied = 211, "all dynamic PDP addresses are occupied";
    NoMemoryAvailable = 212, "no memory is available";
    RelocationFailure = 213, "relocation failure";
    UnknownMandatoryExtensionHeader = 214, "unknown mandatory extension header";
    SemanticErrorInTft = 215, "semantic error in the TFT operation";
    SyntacticErrorInTft = 216, "syntactic error in the TFT operation";
    SemanticErrorInPacketFilter = 217, "semantic errors in packet filters";
    SyntacticErrorInPacketFilter = 218, "syntactic errors in packet filters";
    MissingOrUnknownApn = 219, "missing or unknown APN";
    UnknownPdpAddressOrType = 220, "unknown PDP address or PDP type";
    ContextWithoutTftActivated = 221, "PDP context without TFT already activated";
    ApnAccessDenied = 222, "APN access denied, no subscription";
    ApnRestrictionIncompatible = 223, "APN restriction incompatible with active PDP contexts";
    MbmsCapabilitiesInsufficient = 224, "MS MBMS capabilities insufficient";
    InvalidCorrelationId = 225, "invalid correlation identifier";
    MbmsBearerContextSuperseded = 226, "MBMS bearer context superseded";
    BearerControlModeViolation = 227, "bearer control mode violation";
    CollisionWithNetworkRequest = 228, "collision with network initiated request";
    ApnCongestion = 229, "APN congestion";
    BearerHandlingNotSupported = 230, "bearer handling not supported";
    TargetAccessRestricted = 231, "target access restricted for the subscriber";
    PowerSaving = 232, "UE is temporarily not reachable due to power saving";
    NasRedirection = 233, "relocation failure due to NAS message redirection";
}

impl Cause {
    /// The request was accepted: 128 to 191, so that a value added later still counts as acceptance.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        matches!(self.octet(), 128..=191)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text(), self.octet())
    }
}

/// The cause that a request with this error is answered with (29.060 clause 11.1).
///
/// | error | cause | clause |
/// |---|---|---|
/// | version | version not supported | 11.1.1 |
/// | a mandatory element is missing | mandatory IE missing | 11.1.5 |
/// | a mandatory element has a wrong length or value | mandatory IE incorrect | 11.1.6, 11.1.7 |
/// | the elements cannot be told apart or are out of sequence | invalid message format | 11.1.9, 11.1.10 |
#[must_use]
pub const fn cause(error: &DecodeError) -> Cause {
    match error.kind {
        DecodeErrorKind::Missing | DecodeErrorKind::Conditional => Cause::MandatoryIeMissing,
        DecodeErrorKind::BadLength(_) | DecodeErrorKind::BadValue(_) | DecodeErrorKind::BadChecksum => {
            Cause::MandatoryIeIncorrect
        }
        DecodeErrorKind::UnknownProtocol(_) => Cause::VersionNotSupported,
        DecodeErrorKind::Truncated { .. }
        | DecodeErrorKind::OutOfSequence
        | DecodeErrorKind::UnknownMessage(_) => Cause::InvalidMessageFormat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_is_kept() {
        for octet in 0..=255 {
            assert_eq!(Cause::from_octet(octet).octet(), octet);
        }
        assert!(Cause::ALL.iter().all(|cause| Cause::from_octet(cause.octet()) == *cause));
    }

    #[test]
    fn acceptance_is_a_range() {
        assert!(Cause::RequestAccepted.is_accepted());
        assert!(Cause::Other(150).is_accepted());
        assert!(!Cause::NonExistent.is_accepted());
        assert!(!Cause::NetworkFailure.is_accepted());
    }

    #[test]
    fn errors_have_their_causes() {
        let of = |kind| cause(&DecodeError::new("x", 0, kind));
        assert_eq!(of(DecodeErrorKind::Missing), Cause::MandatoryIeMissing);
        assert_eq!(of(DecodeErrorKind::BadValue(3)), Cause::MandatoryIeIncorrect);
        assert_eq!(of(DecodeErrorKind::BadLength(3)), Cause::MandatoryIeIncorrect);
        assert_eq!(of(DecodeErrorKind::OutOfSequence), Cause::InvalidMessageFormat);
        assert_eq!(of(DecodeErrorKind::Truncated { needed: 2, have: 1 }), Cause::InvalidMessageFormat);
        assert_eq!(of(DecodeErrorKind::UnknownProtocol(0)), Cause::VersionNotSupported);
        assert_eq!(Cause::MissingOrUnknownApn.to_string(), "missing or unknown APN (219)");
    }
}
