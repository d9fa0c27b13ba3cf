//! Why something at the HLR failed, and what a mobile is told.

use crate::gmm::Consequence;
use core::fmt;
use gannet_wire::l3::ie::GmmCause;

/// The GMM cause for an ATTACH REJECT or ROUTING AREA UPDATE REJECT when the HLR refused with `cause`.
///
/// GSUP has the causes of 04.08 clause 10.5.5.14 [24.008] itself. Those to which a mobile gives a meaning in a reject
/// (clauses 4.7.3.1.4 and 4.7.5.1.4) are passed on. So is "IMSI unknown in HLR", after which it tries again as after any other
/// cause: 29.010 has cause 8, which takes all services of all networks from a phone until it is switched off, and who has just
/// got a subscription, or is somebody else's subscriber, loses them for nothing. All others speak of the HLR's trouble with
/// our message, or of procedures that have nothing to do with it: to the mobile that is a failure of the network.
#[must_use]
pub const fn gmm_cause(cause: GmmCause) -> GmmCause {
    match (cause, Consequence::of(cause)) {
        (GmmCause::Congestion | GmmCause::ImsiUnknownInHlr, _)
        | (_, Consequence::NoService | Consequence::OtherPlmn | Consequence::OtherLocationArea) => cause,
        (
            _,
            Consequence::AttachByImsi
            | Consequence::AttachAgain
            | Consequence::Later
            | Consequence::MuchLater,
        ) => GmmCause::NetworkFailure,
    }
}

/// Why a request was not fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsupFailure {
    /// The HLR refused, with this cause.
    Refused(GmmCause),
    /// It answered with what cannot be read.
    Unreadable,
    /// It did not answer within the guard time, though the connection lives.
    NoAnswer,
    /// There is no connection, and there was none for some time.
    LinkDown,
    /// Too many requests are outstanding.
    TooMany,
    /// One of its kind is outstanding for the subscriber, with other parameters.
    Busy,
    /// A purge gave way to a new location update.
    Superseded,
}

impl fmt::Display for GsupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(cause) => write!(f, "{cause}"),
            Self::Unreadable => f.write_str("it cannot be read"),
            Self::NoAnswer => f.write_str("there is none in time"),
            Self::LinkDown => f.write_str("there is no connection to it"),
            Self::TooMany => f.write_str("too many requests wait for it"),
            Self::Busy => f.write_str("another request about the subscriber waits for it"),
            Self::Superseded => f.write_str("a later request has taken its place"),
        }
    }
}

impl GsupFailure {
    /// What the mobile is told.
    #[must_use]
    pub const fn gmm_cause(self) -> GmmCause {
        match self {
            Self::Refused(cause) => gmm_cause(cause),
            Self::TooMany | Self::Busy => GmmCause::Congestion,
            Self::Unreadable | Self::NoAnswer | Self::LinkDown | Self::Superseded => GmmCause::NetworkFailure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mobile_is_told_only_what_it_understands() {
        let may_be_told = [2, 3, 6, 7, 8, 11, 12, 13, 14, 15, 17, 22];
        for code in 0..=255 {
            let told = gmm_cause(GmmCause::from_code(code)).code();
            assert!(may_be_told.contains(&told), "{code} became {told}");
            assert!(told == code || !may_be_told.contains(&code));
        }
        assert_eq!(GsupFailure::Refused(GmmCause::ProtocolError).gmm_cause(), GmmCause::NetworkFailure);
        assert_eq!(GsupFailure::TooMany.gmm_cause(), GmmCause::Congestion);
        assert_eq!(GsupFailure::LinkDown.gmm_cause(), GmmCause::NetworkFailure);
    }
}
