//! Why something was refused: GMM cause (clause 10.5.5.14) and SM cause (clause 10.5.6.6).

use crate::error::DecodeError;
use crate::l3::codec::{Element, first};
use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! causes {
    ($(#[$doc:meta])* $name:ident, $ie:literal { $($(#[$vdoc:meta])* $value:literal $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = concat!("Cause ", stringify!($value), ": ", $text, ".")] $(#[$vdoc])* $variant,)*
            /// A value that is not listed; its receiver treats it as "protocol error, unspecified".
            Other(u8),
        }

        impl $name {
            /// All that have a name.
            pub const NAMED: &'static [Self] = &[$(Self::$variant,)*];

            /// The value on the wire.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $value,)* Self::Other(value) => value }
            }

            /// From the value on the wire.
            #[must_use]
            pub const fn from_code(value: u8) -> Self {
                match value { $($value => Self::$variant,)* other => Self::Other(other) }
            }

            /// What a person reads.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* Self::Other(_) => "not defined" }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} (cause {})", self.text(), self.code())
            }
        }

        impl Element for $name {
            const NAME: &'static str = $ie;
            const FIXED: usize = 1;

            fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
                let [value] = first::<Self, 1>(octets)?;
                Ok(Self::from_code(value))
            }

            fn emit_value(&self, out: &mut Vec<u8>) {
                out.push(self.code());
            }
        }
    };
}

causes! {
    /// GMM cause (clause 10.5.5.14).
    GmmCause, "GMM Cause" {
        2 ImsiUnknownInHlr "IMSI unknown in HLR",
        3 IllegalMs "illegal MS",
        4 ImsiUnknownInVlr "IMSI unknown in VLR",
        5 ImeiNotAccepted "IMEI not accepted",
        6 IllegalMe "illegal ME",
        7 GprsNotAllowed "GPRS services not allowed",
        8 GprsAndNonGprsNotAllowed "GPRS services and non-GPRS services not allowed",
        9 IdentityUnknown "MS identity cannot be derived by the network",
        10 ImplicitlyDetached "implicitly detached",
        11 PlmnNotAllowed "PLMN not allowed",
        12 LocationAreaNotAllowed "location area not allowed",
        13 RoamingNotAllowed "roaming not allowed in this location area",
        14 GprsNotAllowedInPlmn "GPRS services not allowed in this PLMN",
        15 NoSuitableCells "no suitable cells in location area",
        16 MscNotReachable "MSC temporarily not reachable",
        17 NetworkFailure "network failure",
        18 CsDomainNotAvailable "CS domain not available",
        20 MacFailure "MAC failure",
        21 SynchFailure "synch failure",
        22 Congestion "congestion",
        23 GsmAuthenticationUnacceptable "GSM authentication unacceptable",
        40 NoPdpContextActivated "no PDP context activated",
        48 RetryInNewCell "retry upon entry into a new cell",
        95 SemanticallyIncorrect "semantically incorrect message",
        96 InvalidMandatoryInformation "invalid mandatory information",
        97 MessageTypeNonExistent "message type non-existent or not implemented",
        98 MessageTypeIncompatible "message type not compatible with the protocol state",
        99 IeNonExistent "information element non-existent or not implemented",
        100 ConditionalIeError "conditional IE error",
        101 MessageIncompatible "message not compatible with the protocol state",
        111 ProtocolError "protocol error, unspecified",
    }
}

causes! {
    /// SM cause (clause 10.5.6.6).
    SmCause, "SM Cause" {
        8 OperatorDeterminedBarring "operator determined barring",
        24 MbmsCapabilitiesInsufficient "MBMS bearer capabilities insufficient for the service",
        25 LlcOrSndcpFailure "LLC or SNDCP failure",
        26 InsufficientResources "insufficient resources",
        27 MissingOrUnknownApn "missing or unknown APN",
        28 UnknownPdpAddressOrType "unknown PDP address or PDP type",
        29 UserAuthenticationFailed "user authentication failed",
        30 RejectedByGgsn "activation rejected by GGSN",
        31 RejectedUnspecified "activation rejected, unspecified",
        32 ServiceOptionNotSupported "service option not supported",
        33 ServiceOptionNotSubscribed "requested service option not subscribed",
        34 ServiceOptionOutOfOrder "service option temporarily out of order",
        35 NsapiAlreadyUsed "NSAPI already used",
        36 RegularDeactivation "regular PDP context deactivation",
        37 QosNotAccepted "QoS not accepted",
        38 NetworkFailure "network failure",
        39 ReactivationRequired "reactivation required",
        40 FeatureNotSupported "feature not supported",
        41 TftSemanticError "semantic error in the TFT operation",
        42 TftSyntaxError "syntactical error in the TFT operation",
        43 UnknownPdpContext "unknown PDP context",
        44 FilterSemanticError "semantic errors in packet filter",
        45 FilterSyntaxError "syntactical errors in packet filter",
        46 ContextWithoutTftActive "PDP context without TFT already activated",
        47 MulticastMembershipTimeout "multicast group membership time-out",
        48 BearerControlModeViolation "request rejected, bearer control mode violation",
        50 Ipv4Only "PDP type IPv4 only allowed",
        51 Ipv6Only "PDP type IPv6 only allowed",
        52 SingleAddressBearersOnly "single address bearers only allowed",
        56 CollisionWithNetworkRequest "collision with network initiated request",
        57 Ipv4v6Only "PDP type IPv4v6 only allowed",
        58 NonIpOnly "PDP type non-IP only allowed",
        60 BearerHandlingNotSupported "bearer handling not supported",
        61 EthernetOnly "PDP type Ethernet only allowed",
        65 MaximumReached "maximum number of PDP contexts reached",
        66 ApnNotSupportedHere "requested APN not supported in current RAT and PLMN combination",
        81 InvalidTi "invalid transaction identifier value",
        95 SemanticallyIncorrect "semantically incorrect message",
        96 InvalidMandatoryInformation "invalid mandatory information",
        97 MessageTypeNonExistent "message type non-existent or not implemented",
        98 MessageTypeIncompatible "message type not compatible with the protocol state",
        99 IeNonExistent "information element non-existent or not implemented",
        100 ConditionalIeError "conditional IE error",
        101 MessageIncompatible "message not compatible with the protocol state",
        111 ProtocolError "protocol error, unspecified",
        112 ApnRestrictionIncompatible "APN restriction value incompatible with active PDP context",
        113 MultipleAccessesNotAllowed "multiple accesses to a PDN connection not allowed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives() {
        for value in 0..=255 {
            assert_eq!(GmmCause::from_code(value).code(), value);
            assert_eq!(SmCause::from_code(value).code(), value);
        }
        assert_eq!(GmmCause::Congestion.to_string(), "congestion (cause 22)");
    }
}
