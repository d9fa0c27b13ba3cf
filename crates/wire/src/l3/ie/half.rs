//! Elements of half an octet (type 1), and Cell Notification, which has no value at all (type 2).

use crate::l3::codec::HalfElement;
use serde::{Deserialize, Serialize};

/// An element of which the low three bits choose one of a list; `else` is the reading of all other values, and
/// without it they are reserved.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $ie:literal, mask $mask:literal {
        $($(#[$vdoc:meta])* $value:literal $variant:ident,)*
    } $(else $default:ident)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl HalfElement for $name {
            const NAME: &'static str = $ie;

            fn from_half(value: u8) -> Option<Self> {
                match value & $mask {
                    $($value => Some(Self::$variant),)*
                    _ => choice!(@default $($default)?),
                }
            }

            fn to_half(&self) -> u8 {
                match self { $(Self::$variant => $value,)* }
            }
        }
    };
    (@default) => { None };
    (@default $default:ident) => { Some(Self::$default) };
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $ie:literal, mask $mask:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
        pub struct $name(pub u8);

        impl HalfElement for $name {
            const NAME: &'static str = $ie;

            fn from_half(value: u8) -> Option<Self> {
                Some(Self(value & $mask))
            }

            fn to_half(&self) -> u8 {
                self.0 & $mask
            }
        }
    };
}

/// A choice in the low three bits and a flag in bit 4.
macro_rules! flagged {
    ($(#[$doc:meta])* $name:ident, $kind:ident, $ie:literal, $(#[$fdoc:meta])* $flag:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub struct $name {
            /// Which of the kinds.
            pub kind: $kind,
            $(#[$fdoc])*
            pub $flag: bool,
        }

        impl HalfElement for $name {
            const NAME: &'static str = $ie;

            fn from_half(value: u8) -> Option<Self> {
                $kind::from_half(value & 7).map(|kind| Self { kind, $flag: value & 8 != 0 })
            }

            fn to_half(&self) -> u8 {
                self.kind.to_half() | u8::from(self.$flag) << 3
            }
        }
    };
}

choice! {
    /// Kind of attach (clause 10.5.5.2).
    AttachKind, "Attach Type", mask 0x7 {
        /// GPRS attach.
        1 Gprs,
        /// GPRS attach while IMSI attached.
        2 GprsWhileImsiAttached,
        /// Combined GPRS and IMSI attach.
        3 Combined,
    } else Gprs
}
flagged! {
    /// Attach type (clause 10.5.5.2).
    AttachType, AttachKind, "Attach Type",
    /// The mobile has something more to send, so the network should not make it wait.
    follow_on
}
choice! {
    /// Attach result (clause 10.5.5.1).
    AttachResult, "Attach Result", mask 0x7 {
        /// GPRS only.
        1 Gprs,
        /// Combined GPRS and IMSI.
        3 Combined,
    }
}
choice! {
    /// Force to standby (clause 10.5.5.7).
    ForceToStandby, "Force to Standby", mask 0x7 {
        /// The READY timer runs on.
        0 NotIndicated,
        /// The mobile goes to STANDBY now.
        1 Indicated,
    } else NotIndicated
}
choice! {
    /// Kind of routing area update (clause 10.5.5.18).
    UpdateKind, "Update Type", mask 0x7 {
        /// RA updating.
        0 Ra,
        /// Combined RA and LA updating.
        1 Combined,
        /// Combined with IMSI attach.
        2 CombinedWithImsiAttach,
        /// Periodic.
        3 Periodic,
    }
}
flagged! {
    /// Update type (clause 10.5.5.18).
    UpdateType, UpdateKind, "Update Type",
    /// The mobile has something more to send.
    follow_on
}
choice! {
    /// Update result (clause 10.5.5.17).
    UpdateResult, "Update Result", mask 0x7 {
        /// RA updated.
        0 Ra,
        /// Combined RA and LA updated.
        1 Combined,
    }
}
choice! {
    /// Kind of detach that a mobile starts (clause 10.5.5.5).
    DetachKindMo, "Detach Type", mask 0x7 {
        /// GPRS detach.
        1 Gprs,
        /// IMSI detach.
        2 Imsi,
        /// Both.
        3 Combined,
    } else Combined
}
flagged! {
    /// Detach type of a detach that a mobile starts (clause 10.5.5.5).
    DetachTypeMo, DetachKindMo, "Detach Type",
    /// The mobile is switched off and expects no answer.
    power_off
}
choice! {
    /// Detach type of a detach that the network starts (clause 10.5.5.5).
    DetachTypeMt, "Detach Type", mask 0x7 {
        /// The mobile should attach again.
        1 ReattachRequired,
        /// It should not.
        2 ReattachNotRequired,
        /// IMSI detach, after a failure of the VLR.
        3 Imsi,
    } else ReattachNotRequired
}
choice! {
    /// Identity type 2 (clause 10.5.5.9).
    IdentityType, "Identity Type", mask 0x7 {
        /// IMSI.
        1 Imsi,
        /// IMEI.
        2 Imei,
        /// IMEI with software version.
        3 Imeisv,
        /// P-TMSI (TMSI).
        4 Tmsi,
    } else Imsi
}
choice! {
    /// IMEISV request (clause 10.5.5.10).
    ImeisvRequest, "IMEISV Request", mask 0x7 {
        /// Not asked for.
        0 NotRequested,
        /// Asked for.
        1 Requested,
    } else NotRequested
}
choice! {
    /// TMSI status (clause 10.5.5.4).
    TmsiStatus, "TMSI Status", mask 0x1 {
        /// The mobile has no valid TMSI.
        0 NotAvailable,
        /// It has one.
        1 Available,
    }
}
choice! {
    /// Service type (clause 10.5.5.20).
    ServiceType, "Service Type", mask 0x7 {
        /// Signalling.
        0 Signalling,
        /// Data.
        1 Data,
        /// Answer to paging.
        2 PagingResponse,
    }
}
choice! {
    /// Tear down indicator (clause 10.5.6.10).
    TearDownIndicator, "Tear Down Indicator", mask 0x1 {
        /// This context alone.
        0 ThisContext,
        /// All contexts that share its address.
        1 AllOfAddress,
    }
}
choice! {
    /// Radio priority (clause 10.5.7.2): a lower level is more urgent.
    RadioPriority, "Radio Priority", mask 0x7 {
        /// Priority level 1, the highest.
        1 One,
        /// Priority level 2.
        2 Two,
        /// Priority level 3.
        3 Three,
        /// Priority level 4, the lowest.
        4 Four,
    } else Four
}
number! {
    /// Ciphering algorithm (clause 10.5.5.3): 0 none, n GEA/n.
    CipheringAlgorithm, "Ciphering Algorithm", mask 0x7
}
number! {
    /// GPRS ciphering key sequence number (clause 10.5.1.2).
    Cksn, "Ciphering Key Sequence Number", mask 0x7
}
number! {
    /// Authentication and ciphering reference number (clause 10.5.5.19).
    AcReference, "A&C Reference Number", mask 0xf
}
number! {
    /// Network feature support (clause 10.5.5.23): bit 1 LCS-MOLR over the packet domain.
    NetworkFeatureSupport, "Network Feature Support", mask 0xf
}

impl Cksn {
    /// From the mobile: it has no key.
    pub const NO_KEY: Self = Self(7);
}

/// Cell notification (clause 10.5.5.21): the mobile may tell a new cell with any LLC frame, also a null one. Its
/// presence is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CellNotification;

impl HalfElement for CellNotification {
    const NAME: &'static str = "Cell Notification";

    fn from_half(_: u8) -> Option<Self> {
        Some(Self)
    }

    fn to_half(&self) -> u8 {
        0
    }
}
