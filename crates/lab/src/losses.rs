//! What a drop's name says about user data: the one list for the simulated world and for the chains of processes.
//!
//! The `match` names each drop once, so that a new name finds its place here or nothing compiles.

use gannet_machine::drops::Drop;

/// Where user data is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On its way down, before the SGSN has spent anything on it: at the driver, at a socket, in an input queue.
    Unread,
    /// On its way down, in the SGSN's stack or behind it.
    Read,
    /// On its way up, in an input queue of the SGSN.
    UplinkQueue,
    /// On its way up behind that, or at another node than the SGSN.
    Elsewhere,
    /// Nowhere: it concerns signalling, or tells of what another name has counted.
    Nowhere,
}

/// Of an N-PDU, or of an LL-PDU that holds one. LL-PDUs with signalling have the same names below LLC.
#[must_use]
#[rustfmt::skip]
pub const fn place(drop: Drop) -> Place {
    use Drop as D;
    match drop {
        D::RtReceiveMalformed | D::RtReceiveOverrun | D::RtReceiveTooLong | D::DemuxUnknownContext | D::DemuxStaleGeneration | D::DemuxBlocked
        | D::DemuxOverRate | D::DemuxQueueFull | D::DemuxBadIpChecksum | D::DemuxBadUdpChecksum
        | D::DemuxMalformed | D::DemuxRingFull | D::DemuxFillEmpty | D::FlowQueueFull
        | D::FlowQueueCellFull | D::FlowQueueNodeFull | D::FlowQueueContextGone | D::SgsnLeftBehind | D::FlowQueuePushedOut
        | D::GtpUnknownTeid | D::GtpForeignUser => Place::Unread,
        D::UplinkQueueFull | D::UplinkQueueCellFull | D::UplinkQueueNodeFull | D::UplinkQueueMobileGone
        | D::UplinkQueuePushedOut => Place::UplinkQueue,
        D::NoFrame | D::RtNoEndpoint | D::RtSendQueueFull | D::RtSendTooLong | D::RtSendFailed | D::NsNoVc
        | D::NsNoHeadroom | D::FlowMsQueueFull | D::FlowCellQueueFull | D::FlowPushedOut | D::FlowTableFull
        | D::FlowTooLong | D::FlowLifetime | D::FlowFlushed | D::LlcNotEstablished | D::LlcQueueFull
        | D::LlcTooLong | D::LlcNoRoom | D::SndcpEmpty | D::SndcpTooLong | D::SndcpNoRoom
        | D::SndcpUnconfirmedFull | D::SndcpUnconfirmed | D::SgsnNoContext | D::SgsnUnconfirmedFull | D::SgsnNoCell | D::SgsnNoHeadroom
        | D::HeldFull | D::HeldTooLong | D::HeldUnanswered | D::HeldMobileGone => Place::Read,
        D::RtDeviceQueue | D::DemuxUnknownTlli | D::NsBlocked | D::SndcpUnknownNsapi | D::GtpNoPath | D::GtpNoHeadroom | D::GtpOwnAddress
        | D::GtpToMobile | D::GgsnToGtp | D::GgsnSourceAddress | D::DemuxForeignSource | D::GgsnLinkLocal | D::GgsnNotIp | D::GgsnNoContext | D::GgsnAwaitsContext
        | D::GgsnNotificationLimited | D::GgsnNoFilter | D::GgsnToMobile | D::GgsnHopLimit | D::GgsnOverRate | D::GgsnContextGone | D::BssFlushed | D::BssUnknownMobile
        | D::SgsnOtherRoutingArea | D::BssOverrun | D::BssLifetime | D::BssPreempted | D::BssContactLost | D::BssRadioLoss | D::BssCellDown | D::MsOtherCell
        | D::MsNoCell | D::MsOverMtu | D::MsUnconfirmedFull | D::MsRadioFull | D::MsRadioContact | D::MsNoContext | D::MsOtherAddressType | D::MsUpdating | D::MsSuspended
        | D::EdgeUnknownStream | D::EdgeOverRate | D::EdgeShareTaken | D::EdgeSharedFull | D::EdgeMalformed
        | D::EdgeRefused | D::EdgeHeldFull | D::EdgeNoNeighbour | D::EdgeNotFragmented
        | D::AdaptNoLink | D::AdaptTooLong | D::AdaptExhausted | D::AdaptSegmentTimeout | D::AdaptSegmentEvicted
        | D::AdaptSegmentMalformed => Place::Elsewhere,
        D::NsMalformed | D::NsClaimRefused | D::NsUnknownPeer | D::NsUnexpected | D::NsSnsRefused | D::NsTableFull | D::BssgpMalformed
        | D::BssgpUnknownBvc | D::BssgpBlockedBvc | D::BssgpUnexpected | D::BssgpTableFull
        | D::BssgpUnanswered | D::BssgpStatusReceived | D::LlcMalformed | D::LlcBadFcs | D::LlcUnknownSapi
        | D::LlcUnassigned | D::LlcDuplicate | D::LlcCiphered | D::LlcUnciphered | D::LlcAbmRefused | D::LlcNotAbm
        | D::LlcUnexpected | D::LlcFrameRejected | D::LlcLinkUnanswered | D::LlcBusy | D::LlcBufferFull
        | D::LlcUnknownFunction | D::LlcBadXid | D::LlcXidUnanswered | D::SndcpMalformed
        | D::SndcpAcknowledged | D::SndcpCompressed | D::SndcpDuplicate | D::SndcpLate | D::SndcpIncomplete
        | D::SndcpTimeout | D::SndcpTableFull | D::SndcpBadXid | D::SndcpAlgorithmRefused
        | D::SndcpEntityRefused | D::SndcpBadParameters | D::SndcpBadAnswer | D::SndcpXidCollision
        | D::SndcpBadCompression | D::SndcpUnacknowledged | D::SndcpNotEstablished | D::SndcpFirstMissing
        | D::SndcpContradiction | D::SndcpRepeated | D::SndcpGap | D::SndcpBadSequence | D::SndcpUnexpected | D::GmmMalformed | D::GmmUnexpected
        | D::BssgpForeignMobile | D::BssgpOtherCell | D::SgsnSmsNotServed | D::GmmIgnored | D::GmmDetachDoubted | D::GmmRejected | D::GmmAuthenticationFailed | D::GmmNotGenuine
        | D::GmmNoAnswer
        | D::GmmStatusReceived | D::GmmNotAttached | D::GmmUnreachable | D::GmmPagingFailed
        | D::GmmImplicitDetach | D::SmMalformed | D::SmUnexpected | D::SmUnknownTi | D::SmIgnored
        | D::SmRepeated | D::SmReplaced | D::SmRejected | D::SmNoAnswer | D::SmStatusReceived
        | D::GtpMalformed | D::GtpVersion | D::GtpUnknownMessage | D::GtpExtensionHeader
        | D::GtpRepeatedRequest | D::GtpUnexpectedResponse | D::GtpNoResponse | D::GtpTooManyRequests
        | D::GtpPathTableFull | D::GtpErrorIndicationLimited | D::GtpUnexpectedErrorIndication
        | D::GtpUnreachable | D::GtpFromMobile | D::GtpIncomplete | D::GtpNotServed | D::GtpVersionRefused | D::GtpForeignErrorIndication
        | D::GgsnForeignSgsn | D::GgsnMoveRefused | D::GgsnPeerLimit
        | D::GgsnRefused | D::GgsnNotReached | D::GgsnSolicitationLimited | D::SgsnForeignGgsn | D::SgsnUnknownTlli | D::SgsnStrangerUnanswered | D::SgsnMobileTableFull
        | D::SgsnContextTableFull | D::SgsnEvicted | D::SgsnNoPTmsi | D::SgsnSmUnattached
        | D::SgsnGgsnRefused | D::SgsnTunnelLost | D::SgsnPathFailed | D::SgsnRadioStatus
        | D::SgsnDiscardedByBss | D::SgsnDeletedByBss | D::SgsnFlushUnanswered | D::SgsnFlushUnexpected
        | D::UmMalformed | D::BssPagedNowhere | D::BssOverload | D::MsNotSuspended
        | D::MsUnknownMobile | D::MsUnknownTlli | D::MsNoRoom | D::MsPagingNobody | D::MsPagingCs
        | D::MsBadOrder | D::MsNoCipher | D::GsupMalformed | D::GsupUnknownProtocol | D::GsupUnexpected | D::GsupRefused
        | D::GsupNoAnswer | D::GsupLinkDown | D::GsupDeadLink | D::GsupRepeated | D::GsupSuperseded
        | D::GsupVectorRefused
        | D::GsupTooManyRequests | D::GsupTooManyIndications | D::GsupLateResponse
        | D::GsupElementSkipped | D::GsupUnreadableAnswer | D::GtpElementAbsent
        | D::AdaptMalformed | D::AdaptUnexpected | D::AdaptUnauthenticated | D::AdaptUnknownKey
        | D::AdaptUnknownSession | D::AdaptBadMac | D::AdaptReplayed | D::AdaptForeignTlli | D::AdaptTableFull
        | D::AdaptUnknownCell | D::AdaptStaleBeacon | D::AdaptOtherAccessPoint | D::AdaptUnknownAccessPoint
        | D::AdaptSegmentDuplicate => Place::Nowhere,
    }
}

/// Where the drop of this name loses user data; `None` where no drop has this name.
#[must_use]
pub fn place_of(name: &str) -> Option<Place> {
    Drop::ALL.iter().find(|drop| drop.name() == name).map(|drop| place(*drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_alike_lose_in_different_places() {
        for (name, expected) in [
            ("flow_queue_full", Place::Unread),
            ("uplink_queue_full", Place::UplinkQueue),
            ("flow_ms_queue_full", Place::Read),
            ("demux_unknown_context", Place::Unread),
            ("demux_unknown_tlli", Place::Elsewhere),
            ("ns_no_vc", Place::Read),
            ("ns_blocked", Place::Elsewhere),
            ("sgsn_no_cell", Place::Read),
            ("sgsn_no_ptmsi", Place::Nowhere),
            ("sgsn_discarded_by_bss", Place::Nowhere),
        ] {
            assert_eq!(place_of(name), Some(expected), "{name}");
        }
        assert_eq!(place_of("queued_n_pdus"), None);
    }
}
