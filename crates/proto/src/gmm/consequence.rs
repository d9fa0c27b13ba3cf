//! What the causes of a reject or of a detach mean to a mobile (clauses 4.7.3.1.4, 4.7.4.2.2 and 4.7.5.1.4).

use gannet_wire::l3::ie::GmmCause;

/// What a cause makes a mobile do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// The card is invalid for GPRS until the mobile is switched off.
    NoService,
    /// This network is forbidden.
    OtherPlmn,
    /// This location area is forbidden.
    OtherLocationArea,
    /// Attach again, by IMSI.
    AttachByImsi,
    /// Attach again.
    AttachAgain,
    /// Try again later.
    Later,
    /// Try again, but as after the last attempt: what was said would be said again (clauses 4.7.3.1.5 d and 4.7.5.1.5 d).
    MuchLater,
}

impl Consequence {
    /// That of a cause.
    pub const fn of(cause: GmmCause) -> Self {
        match cause {
            GmmCause::IllegalMs
            | GmmCause::IllegalMe
            | GmmCause::GprsNotAllowed
            | GmmCause::GprsAndNonGprsNotAllowed => Self::NoService,
            GmmCause::PlmnNotAllowed | GmmCause::GprsNotAllowedInPlmn => Self::OtherPlmn,
            GmmCause::LocationAreaNotAllowed | GmmCause::RoamingNotAllowed | GmmCause::NoSuitableCells => {
                Self::OtherLocationArea
            }
            GmmCause::IdentityUnknown => Self::AttachByImsi,
            GmmCause::ImplicitlyDetached => Self::AttachAgain,
            GmmCause::SemanticallyIncorrect
            | GmmCause::InvalidMandatoryInformation
            | GmmCause::MessageTypeNonExistent
            | GmmCause::IeNonExistent
            | GmmCause::ProtocolError => Self::MuchLater,
            GmmCause::ImsiUnknownInHlr
            | GmmCause::ImsiUnknownInVlr
            | GmmCause::ImeiNotAccepted
            | GmmCause::MscNotReachable
            | GmmCause::CsDomainNotAvailable
            | GmmCause::NetworkFailure
            | GmmCause::MacFailure
            | GmmCause::SynchFailure
            | GmmCause::Congestion
            | GmmCause::GsmAuthenticationUnacceptable
            | GmmCause::NoPdpContextActivated
            | GmmCause::RetryInNewCell
            | GmmCause::MessageTypeIncompatible
            | GmmCause::ConditionalIeError
            | GmmCause::MessageIncompatible
            | GmmCause::Other(_) => Self::Later,
        }
    }
}
