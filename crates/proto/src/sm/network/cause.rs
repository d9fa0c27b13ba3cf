//! Why a GGSN refused, in the words of the mobile.

use gannet_wire::gtp::Cause;
use gannet_wire::l3::ie::SmCause;

/// The SM cause for a GTP cause (29.060 clause 7.7.1 to 24.008 clause 10.5.6.6, the causes being those that clause
/// 6.1.3.1.3 allows in an ACTIVATE PDP CONTEXT REJECT).
///
/// | GTP | SM |
/// |---|---|
/// | no resources available, no memory, all dynamic addresses occupied, APN congestion | 26 insufficient resources |
/// | missing or unknown APN | 27 missing or unknown APN |
/// | unknown PDP address or type | 28 unknown PDP address or PDP type |
/// | user authentication failed, authentication failure | 29 user authentication failed |
/// | roaming restriction, IMSI not known, P-TMSI signature mismatch, context not found, MS refuses, detached or not responding | 30 activation rejected by GGSN |
/// | MBMS capabilities insufficient | 24 MBMS bearer capabilities insufficient |
/// | service not supported, version not supported | 32 service option not supported |
/// | APN access denied | 33 requested service option not subscribed |
/// | GPRS connection suspended, temporarily not reachable | 34 service option temporarily out of order |
/// | QoS parameter mismatch | 37 QoS not accepted |
/// | system failure, network failure, relocation failure | 38 network failure |
/// | errors in the TFT | 41, 42, 44, 45 |
/// | context without TFT already activated | 46 |
/// | bearer control mode violation | 48 |
/// | collision with network initiated request | 56 |
/// | bearer handling not supported | 60 |
/// | messages that the GGSN could not read | 111 protocol error: the mobile has sent nothing wrong that it could mend |
/// | APN restriction incompatible with active PDP contexts | 112 |
/// | anything else | 31 activation rejected, unspecified |
#[must_use]
pub const fn sm_cause(cause: Cause) -> SmCause {
    match cause {
        Cause::NoResourcesAvailable
        | Cause::NoMemoryAvailable
        | Cause::AllDynamicAddressesOccupied
        | Cause::ApnCongestion => SmCause::InsufficientResources,
        Cause::MissingOrUnknownApn => SmCause::MissingOrUnknownApn,
        Cause::UnknownPdpAddressOrType => SmCause::UnknownPdpAddressOrType,
        Cause::UserAuthenticationFailed | Cause::AuthenticationFailure => SmCause::UserAuthenticationFailed,
        Cause::RoamingRestriction
        | Cause::ImsiNotKnown
        | Cause::PTmsiSignatureMismatch
        | Cause::ContextNotFound
        | Cause::MsIsGprsDetached
        | Cause::MsIsNotGprsResponding
        | Cause::MsRefuses => SmCause::RejectedByGgsn,
        Cause::ServiceNotSupported | Cause::VersionNotSupported => SmCause::ServiceOptionNotSupported,
        Cause::ApnAccessDenied => SmCause::ServiceOptionNotSubscribed,
        Cause::ApnRestrictionIncompatible => SmCause::ApnRestrictionIncompatible,
        Cause::MbmsCapabilitiesInsufficient => SmCause::MbmsCapabilitiesInsufficient,
        Cause::BearerControlModeViolation => SmCause::BearerControlModeViolation,
        Cause::CollisionWithNetworkRequest => SmCause::CollisionWithNetworkRequest,
        Cause::BearerHandlingNotSupported => SmCause::BearerHandlingNotSupported,
        Cause::GprsConnectionSuspended | Cause::PowerSaving => SmCause::ServiceOptionOutOfOrder,
        Cause::QosParameterMismatch => SmCause::QosNotAccepted,
        Cause::SystemFailure | Cause::NetworkFailure | Cause::RelocationFailure => SmCause::NetworkFailure,
        Cause::SemanticErrorInTft => SmCause::TftSemanticError,
        Cause::SyntacticErrorInTft => SmCause::TftSyntaxError,
        Cause::SemanticErrorInPacketFilter => SmCause::FilterSemanticError,
        Cause::SyntacticErrorInPacketFilter => SmCause::FilterSyntaxError,
        Cause::ContextWithoutTftActivated => SmCause::ContextWithoutTftActive,
        Cause::InvalidMessageFormat
        | Cause::MandatoryIeIncorrect
        | Cause::MandatoryIeMissing
        | Cause::OptionalIeIncorrect
        | Cause::UnknownMandatoryExtensionHeader
        | Cause::NonExistent => SmCause::ProtocolError,
        Cause::RequestImsi
        | Cause::RequestImei
        | Cause::RequestImsiAndImei
        | Cause::NoIdentityNeeded
        | Cause::MsRefusesRequest
        | Cause::MsIsNotGprsRespondingRequest
        | Cause::ReactivationRequested
        | Cause::PdpAddressInactivityTimerExpires
        | Cause::RequestAccepted
        | Cause::NewPdpTypeNetworkPreference
        | Cause::NewPdpTypeSingleAddress
        | Cause::InvalidCorrelationId
        | Cause::MbmsBearerContextSuperseded
        | Cause::TargetAccessRestricted
        | Cause::NasRedirection
        | Cause::Other(_) => SmCause::RejectedUnspecified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_a_ggsn() {
        for (gtp, sm) in [
            (199, 26),
            (211, 26),
            (212, 26),
            (219, 27),
            (220, 28),
            (208, 29),
            (209, 29),
            (205, 30),
            (194, 30),
            (200, 32),
            (222, 33),
            (223, 112),
            (224, 24),
            (227, 48),
            (228, 56),
            (230, 60),
            (207, 34),
            (9, 37),
            (204, 38),
            (215, 41),
            (216, 42),
            (217, 44),
            (218, 45),
            (221, 46),
            (193, 111),
            (201, 111),
            (202, 111),
            (250, 31),
            (128, 31),
        ] {
            assert_eq!(sm_cause(Cause::from_octet(gtp)).code(), sm, "{gtp}");
        }
    }
}
