//! Writing messages, their elements in the order of the tables of clause 10.

use super::{
    FlowControlBvc, FlowControlMs, FlushLlAck, Granularity, ImsiValue, LlcDiscarded, Message, MobileRef,
    PagingCs, PagingPs, RaCapabilityUpdateAck, Status,
};
use crate::bssgp::ie::iei;
use crate::id::{Bvci, CellId, Imsi, Plmn, Rai, Tlli};
use crate::tlv;

impl Message {
    /// Appends the octets.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.pdu_type().octet());
        let mut ies = Ies(out);
        match self {
            Self::RaCapability { tlli, ms_ra_capability } => {
                ies.tlli(*tlli).put(iei::MS_RA_CAPABILITY, ms_ra_capability);
            }
            Self::PagingPs(paging) => ies.paging_ps(paging),
            Self::PagingCs(paging) => ies.paging_cs(paging),
            Self::RaCapabilityUpdate { tlli, tag } | Self::FlowControlMsAck { tlli, tag } => {
                ies.tlli(*tlli).put(iei::TAG, &[*tag]);
            }
            Self::RaCapabilityUpdateAck(ack) => ies.ra_capability_update_ack(ack),
            Self::RadioStatus { mobile, cause } => {
                ies.mobile(mobile);
                ies.put(iei::RADIO_CAUSE, &[cause.octet()]);
            }
            Self::Suspend { tlli, rai } | Self::ResumeAck { tlli, rai } => {
                ies.tlli(*tlli).rai(*rai);
            }
            Self::SuspendAck { tlli, rai, reference } | Self::Resume { tlli, rai, reference } => {
                ies.tlli(*tlli).rai(*rai).put(iei::SUSPEND_REFERENCE, &[*reference]);
            }
            Self::SuspendNack { tlli, rai, cause } | Self::ResumeNack { tlli, rai, cause } => {
                ies.tlli(*tlli).rai(*rai).optional(iei::CAUSE, cause.map(|cause| [cause.octet()]));
            }
            Self::MsRegistrationEnquiry { imsi } => {
                ies.imsi(imsi);
            }
            Self::MsRegistrationEnquiryResponse { imsi, plmn } => {
                ies.imsi(imsi).optional(iei::PLMN_IDENTITY, plmn.map(Plmn::to_octets));
            }
            Self::BvcBlock { bvci, cause } => {
                ies.bvci(*bvci).put(iei::CAUSE, &[cause.octet()]);
            }
            Self::BvcBlockAck { bvci } | Self::BvcUnblock { bvci } | Self::BvcUnblockAck { bvci } => {
                ies.bvci(*bvci);
            }
            Self::BvcReset { bvci, cause, cell, features } => {
                ies.bvci(*bvci).put(iei::CAUSE, &[cause.octet()]);
                ies.cell_and_features(*cell, *features);
            }
            Self::BvcResetAck { bvci, cell, features } => {
                ies.bvci(*bvci).cell_and_features(*cell, *features);
            }
            Self::FlowControlBvc(flow) => ies.flow_control_bvc(flow),
            Self::FlowControlBvcAck { tag } => {
                ies.put(iei::TAG, &[*tag]);
            }
            Self::FlowControlMs(flow) => ies.flow_control_ms(flow),
            Self::FlushLl { tlli, old_bvci, new_bvci, new_nsei } => {
                ies.tlli(*tlli).bvci(*old_bvci);
                ies.optional(iei::BVCI, new_bvci.map(|bvci| bvci.0.to_be_bytes()));
                ies.optional(iei::NSEI, new_nsei.map(|nsei| nsei.0.to_be_bytes()));
            }
            Self::FlushLlAck(ack) => ies.flush_ll_ack(ack),
            Self::LlcDiscarded(discarded) => ies.llc_discarded(discarded),
            Self::Status(status) => ies.status(status),
            Self::Overload { classes } => {
                ies.optional(iei::PRIORITY_CLASS, classes.map(|classes| [classes.0]));
            }
        }
    }

    /// The octets in a vector of their own.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        self.emit(&mut out);
        out
    }
}

/// Where the elements go.
struct Ies<'o>(&'o mut Vec<u8>);

impl Ies<'_> {
    fn put(&mut self, iei: u8, value: &[u8]) -> &mut Self {
        tlv::put(self.0, iei, value);
        self
    }

    fn optional(&mut self, iei: u8, value: Option<impl AsRef<[u8]>>) -> &mut Self {
        if let Some(value) = value {
            self.put(iei, value.as_ref());
        }
        self
    }

    fn tlli(&mut self, tlli: Tlli) -> &mut Self {
        self.put(iei::TLLI, &tlli.0.to_be_bytes())
    }

    fn rai(&mut self, rai: Rai) -> &mut Self {
        self.put(iei::ROUTEING_AREA, &rai.to_octets())
    }

    fn bvci(&mut self, bvci: Bvci) -> &mut Self {
        self.put(iei::BVCI, &bvci.0.to_be_bytes())
    }

    fn imsi(&mut self, imsi: &Imsi) -> &mut Self {
        self.put(iei::IMSI, ImsiValue::of(imsi).octets())
    }

    fn octets_affected(&mut self, octets: u32) -> &mut Self {
        let [_, count @ ..] = octets.min(0x00ff_ffff).to_be_bytes();
        self.put(iei::OCTETS_AFFECTED, &count)
    }

    fn granularity(&mut self, granularity: Granularity) -> &mut Self {
        let octet = (granularity != Granularity::R99).then_some([granularity.0 & 3]);
        self.optional(iei::FLOW_CONTROL_GRANULARITY, octet)
    }

    fn cell_and_features(&mut self, cell: Option<CellId>, features: Option<u8>) {
        self.optional(iei::CELL_IDENTIFIER, cell.map(CellId::to_octets));
        self.optional(iei::FEATURE_BITMAP, features.map(|octet| [octet]));
    }

    fn mobile(&mut self, mobile: &MobileRef) {
        match mobile {
            MobileRef::Tlli(tlli) => self.tlli(*tlli),
            MobileRef::Tmsi(tmsi) => self.put(iei::TMSI, &tmsi.to_be_bytes()),
            MobileRef::Imsi(imsi) => self.imsi(imsi),
        };
    }

    fn paging_ps(&mut self, paging: &PagingPs) {
        self.imsi(&paging.imsi).optional(iei::DRX_PARAMETERS, paging.drx.map(u16::to_be_bytes));
        paging.area.put(self.0);
        self.optional(iei::PACKET_FLOW_IDENTIFIER, paging.pfi.map(|octet| [octet & 0x7f]));
        self.put(iei::QOS_PROFILE, &paging.qos.to_octets());
        self.optional(iei::TMSI, paging.ptmsi.map(u32::to_be_bytes));
    }

    fn paging_cs(&mut self, paging: &PagingCs) {
        self.imsi(&paging.imsi).optional(iei::DRX_PARAMETERS, paging.drx.map(u16::to_be_bytes));
        paging.area.put(self.0);
        self.optional(iei::TLLI, paging.tlli.map(|tlli| tlli.0.to_be_bytes()));
        self.optional(iei::CHANNEL_NEEDED, paging.channel_needed.map(|octet| [octet & 3]));
        self.optional(iei::EMLPP_PRIORITY, paging.emlpp_priority.map(|octet| [octet & 7]));
        self.optional(iei::TMSI, paging.tmsi.map(u32::to_be_bytes));
    }

    fn ra_capability_update_ack(&mut self, ack: &RaCapabilityUpdateAck) {
        self.tlli(ack.tlli).put(iei::TAG, &[ack.tag]);
        if let Some(imsi) = &ack.imsi {
            self.imsi(imsi);
        }
        self.put(iei::RA_CAP_UPD_CAUSE, &[ack.cause.octet()]);
        self.optional(iei::MS_RA_CAPABILITY, ack.ms_ra_capability.as_deref());
    }

    fn flow_control_bvc(&mut self, flow: &FlowControlBvc) {
        self.put(iei::TAG, &[flow.tag])
            .put(iei::BVC_BUCKET_SIZE, &flow.bucket_size.to_be_bytes())
            .put(iei::BUCKET_LEAK_RATE, &flow.leak_rate.to_be_bytes())
            .put(iei::BMAX_DEFAULT_MS, &flow.bmax_default_ms.to_be_bytes())
            .put(iei::R_DEFAULT_MS, &flow.r_default_ms.to_be_bytes())
            .optional(iei::BUCKET_FULL_RATIO, flow.bucket_full_ratio.map(|octet| [octet]))
            .optional(iei::BVC_MEASUREMENT, flow.measurement.map(u16::to_be_bytes))
            .granularity(flow.granularity);
    }

    fn flow_control_ms(&mut self, flow: &FlowControlMs) {
        self.tlli(flow.tlli)
            .put(iei::TAG, &[flow.tag])
            .put(iei::MS_BUCKET_SIZE, &flow.bucket_size.to_be_bytes())
            .put(iei::BUCKET_LEAK_RATE, &flow.leak_rate.to_be_bytes())
            .optional(iei::BUCKET_FULL_RATIO, flow.bucket_full_ratio.map(|octet| [octet]))
            .granularity(flow.granularity);
    }

    fn flush_ll_ack(&mut self, ack: &FlushLlAck) {
        self.tlli(ack.tlli).put(iei::FLUSH_ACTION, &[ack.action.octet()]);
        self.optional(iei::BVCI, ack.new_bvci.map(|bvci| bvci.0.to_be_bytes()));
        self.octets_affected(ack.octets);
        self.optional(iei::NSEI, ack.new_nsei.map(|nsei| nsei.0.to_be_bytes()));
    }

    fn llc_discarded(&mut self, discarded: &LlcDiscarded) {
        self.tlli(discarded.tlli).put(iei::LLC_FRAMES_DISCARDED, &[discarded.frames]);
        self.bvci(discarded.bvci).octets_affected(discarded.octets);
    }

    fn status(&mut self, status: &Status) {
        self.put(iei::CAUSE, &[status.cause.octet()]);
        self.optional(iei::BVCI, status.bvci.map(|bvci| bvci.0.to_be_bytes()));
        self.optional(iei::PDU_IN_ERROR, status.pdu.as_deref());
    }
}
