//! Information elements of mobility and session management: 04.08 clause 10.5 [24.008].

mod apn;
mod area;
mod auth;
mod capability;
mod causes;
mod concrete;
mod half;
mod identity;
mod information;
mod octets;
mod opaque;
mod pdp_address;
mod qos;
mod sm_ids;
mod status;
mod tft;
mod timer;

pub use apn::Apn;
pub use area::EquivalentPlmns;
pub use auth::{AuthParameterResponse, Autn, Auts, ExtendedResponse, Rand};
pub use capability::{DrxParameter, MsNetworkCapability, MsRadioAccessCapability};
pub use causes::{GmmCause, SmCause};
pub use half::{
    AcReference, AttachKind, AttachResult, AttachType, CellNotification, CipheringAlgorithm, Cksn,
    DetachKindMo, DetachTypeMo, DetachTypeMt, ForceToStandby, IdentityType, ImeisvRequest,
    NetworkFeatureSupport, RadioPriority, ServiceType, TearDownIndicator, TmsiStatus, UpdateKind,
    UpdateResult, UpdateType,
};
pub use identity::{MobileIdentity, PTmsiSignature};
pub use information::{DaylightSaving, LsaIdentity, NetworkName, TimeZone, UniversalTime};
pub use octets::Octets;
pub use opaque::{PacketFlowIdentifier, ProtocolConfiguration, TrafficFlowTemplate};
pub use pdp_address::PdpAddress;
pub use qos::{
    BitRate, DelayClass, MeanThroughput, PackedQos, PeakThroughput, PrecedenceClass, QosProfile, QosR99,
    ReliabilityClass, TrafficClass,
};
pub use sm_ids::LinkedTi;
pub use status::{PdpContextStatus, ReceiveNpduNumbers};
pub use tft::{
    Component, FILTERS_MAX, FilterDirection, PacketFields, PacketFilter, Tft, TftError, TftFault,
    TftOperation, TftParameter, TftRepr,
};
pub use timer::GprsTimer;
