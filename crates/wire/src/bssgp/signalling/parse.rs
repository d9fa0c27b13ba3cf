//! Reading messages.

use super::{
    Cause, FlowControlBvc, FlowControlMs, FlushAction, FlushLlAck, Granularity, ImsiValue, LlcDiscarded,
    Message, MobileRef, PagingArea, PagingCs, PagingPs, PriorityClass, QosProfile, RaCapUpdCause,
    RaCapabilityUpdateAck, RadioCause, Status,
};
use crate::bssgp::PduType;
use crate::bssgp::ie::iei;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{Bvci, CellId, Imsi, Nsei, Plmn, Rai, Tlli};
use crate::tlv::Elements;

type Result<T> = core::result::Result<T, DecodeError>;

impl Message {
    /// Reads a PDU other than UNITDATA.
    ///
    /// # Errors
    /// `UnknownMessage` for UNITDATA and for a type that is not among [`Message`]'s; `Missing`, `Truncated`,
    /// `BadLength`, `BadValue`, `Conditional` and `OutOfSequence` about elements (see [`cause`](crate::bssgp::cause)).
    pub fn parse(octets: &[u8]) -> Result<Self> {
        let Some(first) = octets.first() else {
            let kind = DecodeErrorKind::Truncated { needed: 1, have: 0 };
            return Err(DecodeError::new("PDU type", 0, kind));
        };
        let ies = Ies(Elements::new(octets, 1));
        match PduType::from_octet(*first) {
            PduType::RaCapability => ies.ra_capability(),
            PduType::PagingPs => ies.paging_ps(),
            PduType::PagingCs => ies.paging_cs(),
            PduType::RaCapabilityUpdate => {
                Ok(Self::RaCapabilityUpdate { tlli: ies.tlli()?, tag: ies.tag()? })
            }
            PduType::RaCapabilityUpdateAck => ies.ra_capability_update_ack(),
            PduType::RadioStatus => ies.radio_status(),
            PduType::Suspend => Ok(Self::Suspend { tlli: ies.tlli()?, rai: ies.rai()? }),
            PduType::SuspendAck => {
                Ok(Self::SuspendAck { tlli: ies.tlli()?, rai: ies.rai()?, reference: ies.reference()? })
            }
            PduType::SuspendNack => {
                Ok(Self::SuspendNack { tlli: ies.tlli()?, rai: ies.rai()?, cause: ies.optional_cause() })
            }
            PduType::Resume => {
                Ok(Self::Resume { tlli: ies.tlli()?, rai: ies.rai()?, reference: ies.reference()? })
            }
            PduType::ResumeAck => Ok(Self::ResumeAck { tlli: ies.tlli()?, rai: ies.rai()? }),
            PduType::ResumeNack => {
                Ok(Self::ResumeNack { tlli: ies.tlli()?, rai: ies.rai()?, cause: ies.optional_cause() })
            }
            PduType::MsRegistrationEnquiry => Ok(Self::MsRegistrationEnquiry { imsi: ies.imsi()? }),
            PduType::MsRegistrationEnquiryResponse => {
                Ok(Self::MsRegistrationEnquiryResponse { imsi: ies.imsi()?, plmn: ies.plmn() })
            }
            PduType::BvcBlock => Ok(Self::BvcBlock { bvci: ies.bvci()?, cause: ies.cause()? }),
            PduType::BvcBlockAck => Ok(Self::BvcBlockAck { bvci: ies.bvci()? }),
            PduType::BvcUnblock => Ok(Self::BvcUnblock { bvci: ies.bvci()? }),
            PduType::BvcUnblockAck => Ok(Self::BvcUnblockAck { bvci: ies.bvci()? }),
            PduType::BvcReset => ies.bvc_reset(),
            PduType::BvcResetAck => {
                Ok(Self::BvcResetAck { bvci: ies.bvci()?, cell: ies.cell(), features: ies.features() })
            }
            PduType::FlowControlBvc => ies.flow_control_bvc(),
            PduType::FlowControlBvcAck => Ok(Self::FlowControlBvcAck { tag: ies.tag()? }),
            PduType::FlowControlMs => ies.flow_control_ms(),
            PduType::FlowControlMsAck => Ok(Self::FlowControlMsAck { tlli: ies.tlli()?, tag: ies.tag()? }),
            PduType::FlushLl => ies.flush_ll(),
            PduType::FlushLlAck => ies.flush_ll_ack(),
            PduType::LlcDiscarded => ies.llc_discarded(),
            PduType::Status => ies.status(),
            PduType::Overload => Ok(Self::Overload { classes: ies.classes() }),
            PduType::DlUnitdata
            | PduType::UlUnitdata
            | PduType::PtmUnitdata
            | PduType::FlowControlPfc
            | PduType::FlowControlPfcAck
            | PduType::SgsnInvokeTrace
            | PduType::DownloadBssPfc
            | PduType::CreateBssPfc
            | PduType::CreateBssPfcAck
            | PduType::CreateBssPfcNack
            | PduType::ModifyBssPfc
            | PduType::ModifyBssPfcAck
            | PduType::DeleteBssPfc
            | PduType::DeleteBssPfcAck
            | PduType::Unknown(_) => {
                Err(DecodeError::new("PDU type", 0, DecodeErrorKind::UnknownMessage(*first)))
            }
        }
    }
}

/// The elements of a message, each under the name that the errors give.
struct Ies<'a>(Elements<'a>);

impl Ies<'_> {
    fn tlli(&self) -> Result<Tlli> {
        self.0.mandatory_array(iei::TLLI, "TLLI").map(u32::from_be_bytes).map(Tlli)
    }

    fn tag(&self) -> Result<u8> {
        self.0.mandatory_u8(iei::TAG, "Tag")
    }

    fn rai(&self) -> Result<Rai> {
        self.0.mandatory_array(iei::ROUTEING_AREA, "Routeing Area").map(Rai::from_octets)
    }

    fn reference(&self) -> Result<u8> {
        self.0.mandatory_u8(iei::SUSPEND_REFERENCE, "Suspend Reference Number")
    }

    fn cause(&self) -> Result<Cause> {
        self.0.mandatory_u8(iei::CAUSE, "Cause").map(Cause::from_octet)
    }

    fn optional_cause(&self) -> Option<Cause> {
        self.0.optional_u8(iei::CAUSE).map(Cause::from_octet)
    }

    fn bvci(&self) -> Result<Bvci> {
        self.0.mandatory_u16(iei::BVCI, "BVCI").map(Bvci)
    }

    fn cell(&self) -> Option<CellId> {
        self.0.optional_array(iei::CELL_IDENTIFIER, 0).map(CellId::from_octets)
    }

    fn features(&self) -> Option<u8> {
        self.0.optional_u8(iei::FEATURE_BITMAP)
    }

    fn optional_u32(&self, iei: u8) -> Option<u32> {
        self.0.optional_array(iei, 0).map(u32::from_be_bytes)
    }

    fn imsi(&self) -> Result<Imsi> {
        let element = self.0.mandatory(iei::IMSI, "IMSI")?;
        let kind = DecodeErrorKind::BadLength(element.value.len());
        ImsiValue::read(element.value).ok_or(DecodeError::new("IMSI", element.at, kind))
    }

    fn octets_affected(&self) -> Result<u32> {
        let [a, b, c] = self.0.mandatory_array(iei::OCTETS_AFFECTED, "Number of octets affected")?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    fn granularity(&self) -> Granularity {
        Granularity(self.0.optional_u8(iei::FLOW_CONTROL_GRANULARITY).unwrap_or(0) & 3)
    }

    fn plmn(&self) -> Option<Plmn> {
        self.0.optional_array(iei::PLMN_IDENTITY, 0).map(Plmn::from_octets)
    }

    fn classes(&self) -> Option<PriorityClass> {
        self.0.optional_u8(iei::PRIORITY_CLASS).map(PriorityClass)
    }

    fn ra_capability(&self) -> Result<Message> {
        let ms_ra_capability =
            self.0.mandatory(iei::MS_RA_CAPABILITY, "MS Radio Access Capability")?.value.to_vec();
        Ok(Message::RaCapability { tlli: self.tlli()?, ms_ra_capability })
    }

    fn paging_ps(&self) -> Result<Message> {
        Ok(Message::PagingPs(PagingPs {
            imsi: self.imsi()?,
            drx: self.0.optional_u16(iei::DRX_PARAMETERS),
            area: PagingArea::parse(&self.0)?,
            pfi: self.0.optional_u8(iei::PACKET_FLOW_IDENTIFIER).map(|octet| octet & 0x7f),
            qos: QosProfile::from_octets(self.0.mandatory_array(iei::QOS_PROFILE, "QoS Profile")?),
            ptmsi: self.optional_u32(iei::TMSI),
        }))
    }

    fn paging_cs(&self) -> Result<Message> {
        Ok(Message::PagingCs(PagingCs {
            imsi: self.imsi()?,
            drx: self.0.optional_u16(iei::DRX_PARAMETERS),
            area: PagingArea::parse(&self.0)?,
            tlli: self.optional_u32(iei::TLLI).map(Tlli),
            channel_needed: self.0.optional_u8(iei::CHANNEL_NEEDED).map(|octet| octet & 3),
            emlpp_priority: self.0.optional_u8(iei::EMLPP_PRIORITY).map(|octet| octet & 7),
            tmsi: self.optional_u32(iei::TMSI),
        }))
    }

    fn ra_capability_update_ack(&self) -> Result<Message> {
        let cause =
            RaCapUpdCause::from_octet(self.0.mandatory_u8(iei::RA_CAP_UPD_CAUSE, "RA-Cap-UPD-Cause")?);
        let capability = self.0.optional(iei::MS_RA_CAPABILITY);
        if cause == RaCapUpdCause::Ok && capability.is_none() {
            return Err(DecodeError::new("MS Radio Access Capability", 0, DecodeErrorKind::Conditional));
        }
        Ok(Message::RaCapabilityUpdateAck(RaCapabilityUpdateAck {
            tlli: self.tlli()?,
            tag: self.tag()?,
            imsi: self.0.optional(iei::IMSI).and_then(ImsiValue::read),
            cause,
            ms_ra_capability: capability.map(<[u8]>::to_vec),
        }))
    }

    fn radio_status(&self) -> Result<Message> {
        let cause = RadioCause::from_octet(self.0.mandatory_u8(iei::RADIO_CAUSE, "Radio Cause")?);
        let candidates = [
            self.optional_u32(iei::TLLI).map(Tlli).map(MobileRef::Tlli),
            self.optional_u32(iei::TMSI).map(MobileRef::Tmsi),
            self.0.optional(iei::IMSI).and_then(ImsiValue::read).map(MobileRef::Imsi),
        ];
        let mut present = candidates.into_iter().flatten();
        match (present.next(), present.next()) {
            (Some(mobile), None) => Ok(Message::RadioStatus { mobile, cause }),
            (None, _) => Err(DecodeError::new("TLLI, TMSI or IMSI", 0, DecodeErrorKind::Conditional)),
            (Some(_), Some(_)) => {
                Err(DecodeError::new("TLLI, TMSI or IMSI", 0, DecodeErrorKind::OutOfSequence))
            }
        }
    }

    fn bvc_reset(&self) -> Result<Message> {
        Ok(Message::BvcReset {
            bvci: self.bvci()?,
            cause: self.cause()?,
            cell: self.cell(),
            features: self.features(),
        })
    }

    fn flow_control_bvc(&self) -> Result<Message> {
        Ok(Message::FlowControlBvc(FlowControlBvc {
            tag: self.tag()?,
            bucket_size: self.0.mandatory_u16(iei::BVC_BUCKET_SIZE, "BVC Bucket Size")?,
            leak_rate: self.0.mandatory_u16(iei::BUCKET_LEAK_RATE, "Bucket Leak Rate")?,
            bmax_default_ms: self.0.mandatory_u16(iei::BMAX_DEFAULT_MS, "Bmax default MS")?,
            r_default_ms: self.0.mandatory_u16(iei::R_DEFAULT_MS, "R_default_MS")?,
            bucket_full_ratio: self.0.optional_u8(iei::BUCKET_FULL_RATIO),
            measurement: self.0.optional_u16(iei::BVC_MEASUREMENT),
            granularity: self.granularity(),
        }))
    }

    fn flow_control_ms(&self) -> Result<Message> {
        Ok(Message::FlowControlMs(FlowControlMs {
            tlli: self.tlli()?,
            tag: self.tag()?,
            bucket_size: self.0.mandatory_u16(iei::MS_BUCKET_SIZE, "MS Bucket Size")?,
            leak_rate: self.0.mandatory_u16(iei::BUCKET_LEAK_RATE, "Bucket Leak Rate")?,
            bucket_full_ratio: self.0.optional_u8(iei::BUCKET_FULL_RATIO),
            granularity: self.granularity(),
        }))
    }

    fn flush_ll(&self) -> Result<Message> {
        Ok(Message::FlushLl {
            tlli: self.tlli()?,
            old_bvci: self.bvci()?,
            new_bvci: self.0.optional_array(iei::BVCI, 1).map(u16::from_be_bytes).map(Bvci),
            new_nsei: self.0.optional_u16(iei::NSEI).map(Nsei),
        })
    }

    fn flush_ll_ack(&self) -> Result<Message> {
        let action = FlushAction::from_octet(self.0.mandatory_u8(iei::FLUSH_ACTION, "Flush Action")?);
        let new_bvci = self.0.optional_u16(iei::BVCI).map(Bvci);
        if action == FlushAction::Transferred && new_bvci.is_none() {
            return Err(DecodeError::new("BVCI (new)", 0, DecodeErrorKind::Conditional));
        }
        Ok(Message::FlushLlAck(FlushLlAck {
            tlli: self.tlli()?,
            action,
            new_bvci,
            octets: self.octets_affected()?,
            new_nsei: self.0.optional_u16(iei::NSEI).map(Nsei),
        }))
    }

    fn llc_discarded(&self) -> Result<Message> {
        Ok(Message::LlcDiscarded(LlcDiscarded {
            tlli: self.tlli()?,
            frames: self.0.mandatory_u8(iei::LLC_FRAMES_DISCARDED, "LLC Frames Discarded")?,
            bvci: self.bvci()?,
            octets: self.octets_affected()?,
        }))
    }

    fn status(&self) -> Result<Message> {
        Ok(Message::Status(Status {
            cause: self.cause()?,
            bvci: self.0.optional_u16(iei::BVCI).map(Bvci),
            pdu: self.0.optional(iei::PDU_IN_ERROR).map(<[u8]>::to_vec),
        }))
    }
}
