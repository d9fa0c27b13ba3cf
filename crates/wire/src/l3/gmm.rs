//! GPRS mobility management messages: 04.08 clause 9.4 [24.008].
//!
//! Field order is that of the message tables. MO is what the mobile starts, MT what the network starts.

use super::codec::{message, protocol};
use super::ie::{
    AcReference, AttachKind, AttachResult, AttachType, AuthParameterResponse, Autn, Auts, CellNotification,
    CipheringAlgorithm, Cksn, DaylightSaving, DetachTypeMo, DetachTypeMt, DrxParameter, EquivalentPlmns,
    ExtendedResponse, ForceToStandby, GmmCause, GprsTimer, IdentityType, ImeisvRequest, LsaIdentity,
    MobileIdentity, MsNetworkCapability, MsRadioAccessCapability, NetworkFeatureSupport, NetworkName,
    PTmsiSignature, PdpContextStatus, RadioPriority, Rand, ReceiveNpduNumbers, ServiceType, TimeZone,
    TmsiStatus, UniversalTime, UpdateResult, UpdateType,
};
use super::{MESSAGE_TYPE, TRANSACTION_IDENTIFIER};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Rai;

message! {
    /// Attach Request (clause 9.4.1).
    AttachRequest {
        /// What the mobile's network side can do.
        LV ms_network_capability: MsNetworkCapability,
        /// Kind of attach, and whether more is to follow.
        low attach_type: AttachType,
        /// The key that the mobile has.
        high cksn: Cksn,
        /// When it listens to paging.
        V drx: DrxParameter,
        /// P-TMSI or IMSI.
        LV identity: MobileIdentity,
        /// Routing area in which the P-TMSI was given.
        V old_rai: Rai,
        /// What the mobile's radio side can do.
        LV ms_radio_access_capability: MsRadioAccessCapability,
    } {
        /// Signature of the P-TMSI in `identity`.
        TV 0x19 old_ptmsi_signature: PTmsiSignature,
        /// READY timer that the mobile would like.
        TV 0x17 requested_ready_timer: GprsTimer,
        /// Whether the mobile has a TMSI.
        TV1 0x90 tmsi_status: TmsiStatus,
    }, ends_at_unknown
}

message! {
    /// Attach Accept (clause 9.4.2).
    AttachAccept {
        /// GPRS only or combined.
        low result: AttachResult,
        /// Whether the mobile must go to STANDBY.
        high force_to_standby: ForceToStandby,
        /// T3312.
        V periodic_ra_update_timer: GprsTimer,
        /// Radio priority of SMS.
        low radio_priority_sms: RadioPriority,
        /// Radio priority of TOM8; a spare half octet in R97.
        high radio_priority_tom8: RadioPriority,
        /// The routing area.
        V rai: Rai,
    } {
        /// Signature of `allocated_ptmsi`.
        TV 0x19 ptmsi_signature: PTmsiSignature,
        /// T3314.
        TV 0x17 negotiated_ready_timer: GprsTimer,
        /// The new P-TMSI.
        TLV 0x18 allocated_ptmsi: MobileIdentity,
        /// TMSI of a combined attach.
        TLV 0x23 ms_identity: MobileIdentity,
        /// Why a combined attach was GPRS only.
        TV 0x25 gmm_cause: GmmCause,
        /// T3302.
        TLV 0x2a t3302: GprsTimer,
        /// The SGSN supports cell notification.
        T 0x8c cell_notification: CellNotification,
        /// Equivalent networks.
        TLV 0x4a equivalent_plmns: EquivalentPlmns,
        /// Network features.
        TV1 0xb0 network_feature_support: NetworkFeatureSupport,
    }
}

impl AttachRequest {
    /// GPRS attach of a mobile without a key, which is where its RAI says or nowhere; with nothing that may be left out.
    #[must_use]
    pub fn new(identity: MobileIdentity, old_rai: Rai, capability: MsRadioAccessCapability) -> Self {
        Self {
            ms_network_capability: MsNetworkCapability::typical(),
            attach_type: AttachType { kind: AttachKind::Gprs, follow_on: false },
            cksn: Cksn::NO_KEY,
            drx: DrxParameter::default(),
            identity,
            old_rai,
            ms_radio_access_capability: capability,
            old_ptmsi_signature: None,
            requested_ready_timer: None,
            tmsi_status: None,
        }
    }
}

impl AttachAccept {
    /// GPRS only, in this routing area, with this T3312; with nothing that may be left out.
    #[must_use]
    pub const fn new(rai: Rai, t3312: GprsTimer) -> Self {
        Self {
            result: AttachResult::Gprs,
            force_to_standby: ForceToStandby::NotIndicated,
            periodic_ra_update_timer: t3312,
            radio_priority_sms: RadioPriority::Four,
            radio_priority_tom8: RadioPriority::Four,
            rai,
            ptmsi_signature: None,
            negotiated_ready_timer: None,
            allocated_ptmsi: None,
            ms_identity: None,
            gmm_cause: None,
            t3302: None,
            cell_notification: None,
            equivalent_plmns: None,
            network_feature_support: None,
        }
    }
}

impl RauAccept {
    /// RA updated, in this routing area, with this T3312; with nothing that may be left out.
    #[must_use]
    pub const fn new(rai: Rai, t3312: GprsTimer) -> Self {
        Self {
            force_to_standby: ForceToStandby::NotIndicated,
            result: UpdateResult::Ra,
            periodic_ra_update_timer: t3312,
            rai,
            ptmsi_signature: None,
            allocated_ptmsi: None,
            ms_identity: None,
            receive_npdu_numbers: None,
            negotiated_ready_timer: None,
            gmm_cause: None,
            t3302: None,
            cell_notification: None,
            equivalent_plmns: None,
            pdp_context_status: None,
            network_feature_support: None,
        }
    }
}

message! {
    /// Attach Complete (clause 9.4.3).
    AttachComplete {} {}
}

message! {
    /// Attach Reject (clause 9.4.4).
    AttachReject {
        /// Why.
        V cause: GmmCause,
    } {
        /// T3302.
        TLV 0x2a t3302: GprsTimer,
    }
}

message! {
    /// Detach Request from the network (clause 9.4.5.1).
    DetachRequestMt {
        /// What is detached.
        low detach_type: DetachTypeMt,
        /// Whether the mobile must go to STANDBY.
        high force_to_standby: ForceToStandby,
    } {
        /// Why.
        TV 0x25 cause: GmmCause,
    }
}

message! {
    /// Detach Request from the mobile (clause 9.4.5.2).
    DetachRequestMo {
        /// What is detached, and whether the mobile is switched off.
        half detach_type: DetachTypeMo,
    } {
        /// Its P-TMSI.
        TLV 0x18 ptmsi: MobileIdentity,
        /// Its signature.
        TLV 0x19 ptmsi_signature: PTmsiSignature,
    }, ends_at_unknown
}

message! {
    /// Detach Accept from the mobile (clause 9.4.6.1).
    DetachAcceptMt {} {}
}

message! {
    /// Detach Accept from the network (clause 9.4.6.2).
    DetachAcceptMo {
        /// Whether the mobile must go to STANDBY.
        half force_to_standby: ForceToStandby,
    } {}
}

message! {
    /// P-TMSI Reallocation Command (clause 9.4.7).
    PTmsiReallocationCommand {
        /// The new P-TMSI.
        LV allocated_ptmsi: MobileIdentity,
        /// The routing area.
        V rai: Rai,
        /// Whether the mobile must go to STANDBY.
        half force_to_standby: ForceToStandby,
    } {
        /// Signature of the new P-TMSI.
        TV 0x19 ptmsi_signature: PTmsiSignature,
    }
}

message! {
    /// P-TMSI Reallocation Complete (clause 9.4.8).
    PTmsiReallocationComplete {} {}
}

message! {
    /// Authentication and Ciphering Request (clause 9.4.9).
    AuthenticationRequest {
        /// Cipher to be used from the next frame on.
        low ciphering: CipheringAlgorithm,
        /// Whether the mobile should say its IMEISV.
        high imeisv_request: ImeisvRequest,
        /// Whether the mobile must go to STANDBY.
        low force_to_standby: ForceToStandby,
        /// Number that the response repeats.
        high reference: AcReference,
    } {
        /// The challenge.
        TV 0x21 rand: Rand,
        /// Number of the key that results.
        TV1 0x80 cksn: Cksn,
        /// The network's proof (UMTS).
        TLV 0x28 autn: Autn,
    }
}

message! {
    /// Authentication and Ciphering Response (clause 9.4.10).
    AuthenticationResponse {
        /// Number of the request.
        half reference: AcReference,
    } {
        /// SRES, or the first four octets of RES.
        TV 0x22 response: AuthParameterResponse,
        /// IMEISV, where asked for.
        TLV 0x23 imeisv: MobileIdentity,
        /// The remaining octets of RES.
        TLV 0x29 extended_response: ExtendedResponse,
    }
}

message! {
    /// Authentication and Ciphering Reject (clause 9.4.11).
    AuthenticationReject {} {}
}

message! {
    /// Authentication and Ciphering Failure (clause 9.4.10a).
    AuthenticationFailure {
        /// MAC failure, GSM authentication unacceptable, or synch failure.
        V cause: GmmCause,
    } {
        /// The mobile's sequence number, on synch failure.
        TLV 0x30 auts: Auts,
    }
}

message! {
    /// Identity Request (clause 9.4.12).
    IdentityRequest {
        /// Which identity.
        low identity_type: IdentityType,
        /// Whether the mobile must go to STANDBY.
        high force_to_standby: ForceToStandby,
    } {}
}

message! {
    /// Identity Response (clause 9.4.13).
    IdentityResponse {
        /// The identity.
        LV identity: MobileIdentity,
    } {}
}

message! {
    /// Routing Area Update Request (clause 9.4.14).
    RauRequest {
        /// Kind of update, and whether more is to follow.
        low update_type: UpdateType,
        /// The key that the mobile has.
        high cksn: Cksn,
        /// Where the mobile was.
        V old_rai: Rai,
        /// What the mobile's radio side can do.
        LV ms_radio_access_capability: MsRadioAccessCapability,
    } {
        /// Signature of the P-TMSI.
        TV 0x19 old_ptmsi_signature: PTmsiSignature,
        /// READY timer that the mobile would like.
        TV 0x17 requested_ready_timer: GprsTimer,
        /// When it listens to paging, where that has changed.
        TV 0x27 drx: DrxParameter,
        /// Whether the mobile has a TMSI.
        TV1 0x90 tmsi_status: TmsiStatus,
        /// Its P-TMSI (Iu mode).
        TLV 0x18 ptmsi: MobileIdentity,
        /// What the mobile's network side can do.
        TLV 0x31 ms_network_capability: MsNetworkCapability,
        /// Which PDP contexts it holds to be active.
        TLV 0x32 pdp_context_status: PdpContextStatus,
    }, ends_at_unknown
}

message! {
    /// Routing Area Update Accept (clause 9.4.15).
    RauAccept {
        /// Whether the mobile must go to STANDBY.
        low force_to_standby: ForceToStandby,
        /// RA updated or combined.
        high result: UpdateResult,
        /// T3312.
        V periodic_ra_update_timer: GprsTimer,
        /// The routing area.
        V rai: Rai,
    } {
        /// Signature of the P-TMSI.
        TV 0x19 ptmsi_signature: PTmsiSignature,
        /// The new P-TMSI.
        TLV 0x18 allocated_ptmsi: MobileIdentity,
        /// TMSI of a combined update.
        TLV 0x23 ms_identity: MobileIdentity,
        /// Next expected N-PDU of each acknowledged context.
        TLV 0x26 receive_npdu_numbers: ReceiveNpduNumbers,
        /// T3314.
        TV 0x17 negotiated_ready_timer: GprsTimer,
        /// Why a combined update was RA only.
        TV 0x25 gmm_cause: GmmCause,
        /// T3302.
        TLV 0x2a t3302: GprsTimer,
        /// The SGSN supports cell notification.
        T 0x8c cell_notification: CellNotification,
        /// Equivalent networks.
        TLV 0x4a equivalent_plmns: EquivalentPlmns,
        /// Which PDP contexts the network holds to be active.
        TLV 0x32 pdp_context_status: PdpContextStatus,
        /// Network features.
        TV1 0xb0 network_feature_support: NetworkFeatureSupport,
    }
}

message! {
    /// Routing Area Update Complete (clause 9.4.16).
    RauComplete {} {
        /// Next expected N-PDU of each acknowledged context.
        TLV 0x26 receive_npdu_numbers: ReceiveNpduNumbers,
    }
}

message! {
    /// Routing Area Update Reject (clause 9.4.17).
    RauReject {
        /// Why.
        V cause: GmmCause,
        /// Whether the mobile must go to STANDBY.
        half force_to_standby: ForceToStandby,
    } {
        /// T3302.
        TLV 0x2a t3302: GprsTimer,
    }
}

message! {
    /// GMM Status (clause 9.4.18).
    GmmStatus {
        /// What was wrong.
        V cause: GmmCause,
    } {}
}

message! {
    /// GMM Information (clause 9.4.19).
    GmmInformation {} {
        /// The network's full name.
        TLV 0x43 full_name: NetworkName,
        /// The network's short name.
        TLV 0x45 short_name: NetworkName,
        /// The local time zone.
        TV 0x46 time_zone: TimeZone,
        /// Universal time and local time zone.
        TV 0x47 universal_time: UniversalTime,
        /// Localised service area.
        TLV 0x48 lsa_identity: LsaIdentity,
        /// Daylight saving adjustment.
        TLV 0x49 daylight_saving: DaylightSaving,
    }
}

message! {
    /// Service Request (clause 9.4.20, R99).
    ServiceRequest {
        /// The key that the mobile has.
        low cksn: Cksn,
        /// What for.
        high service_type: ServiceType,
        /// Its P-TMSI.
        LV ptmsi: MobileIdentity,
    } {
        /// Which PDP contexts it holds to be active.
        TLV 0x32 pdp_context_status: PdpContextStatus,
    }
}

message! {
    /// Service Accept (clause 9.4.21, R99).
    ServiceAccept {} {
        /// Which PDP contexts the network holds to be active.
        TLV 0x32 pdp_context_status: PdpContextStatus,
    }
}

message! {
    /// Service Reject (clause 9.4.22, R99).
    ServiceReject {
        /// Why.
        V cause: GmmCause,
    } {}
}

protocol! {
    /// A GPRS mobility management message (clause 9.4, types of clause 10.4).
    GmmMessage {
        0x01 up AttachRequest,
        0x02 down AttachAccept,
        0x03 up AttachComplete,
        0x04 down AttachReject,
        0x05 down DetachRequestMt,
        0x05 up DetachRequestMo,
        0x06 up DetachAcceptMt,
        0x06 down DetachAcceptMo,
        0x08 up RauRequest,
        0x09 down RauAccept,
        0x0a up RauComplete,
        0x0b down RauReject,
        0x0c up ServiceRequest,
        0x0d down ServiceAccept,
        0x0e down ServiceReject,
        0x10 down PTmsiReallocationCommand,
        0x11 up PTmsiReallocationComplete,
        0x12 down AuthenticationRequest,
        0x13 up AuthenticationResponse,
        0x14 down AuthenticationReject,
        0x15 down IdentityRequest,
        0x16 up IdentityResponse,
        0x1c up AuthenticationFailure,
        0x20 both GmmStatus,
        0x21 down GmmInformation,
    }
}

/// The cause that answers a message which could not be read (clause 8); `None` where the message is to be ignored.
#[must_use]
pub fn cause(error: &DecodeError) -> Option<GmmCause> {
    match error.kind {
        DecodeErrorKind::UnknownProtocol(_) => None,
        DecodeErrorKind::Truncated { .. } if error.ie == MESSAGE_TYPE => None,
        DecodeErrorKind::BadValue(_) if error.ie == TRANSACTION_IDENTIFIER => None,
        DecodeErrorKind::UnknownMessage(_) => Some(GmmCause::MessageTypeNonExistent),
        DecodeErrorKind::Conditional => Some(GmmCause::ConditionalIeError),
        DecodeErrorKind::Truncated { .. }
        | DecodeErrorKind::Missing
        | DecodeErrorKind::OutOfSequence
        | DecodeErrorKind::BadLength(_)
        | DecodeErrorKind::BadValue(_)
        | DecodeErrorKind::BadChecksum => Some(GmmCause::InvalidMandatoryInformation),
    }
}
