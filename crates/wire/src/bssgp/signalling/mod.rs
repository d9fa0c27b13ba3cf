//! The PDUs of BSSGP other than UNITDATA, as owned messages (08.18 clauses 10.2.3 to 10.5).

mod emit;
mod parse;

use super::PduType;
use super::ie::{
    Cause, FlushAction, Granularity, ImsiValue, PagingArea, PriorityClass, QosProfile, RaCapUpdCause,
    RadioCause,
};
use crate::id::{Bvci, CellId, Imsi, Nsei, Plmn, Rai, Tlli};

/// Octets of the longest PDU in error that a STATUS carries back.
pub const PDU_IN_ERROR_MAX: usize = 64;

/// A PDU of BSSGP that carries no LL-PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The SGSN tells the radio access capability of a mobile (clause 10.2.3).
    RaCapability {
        /// Whose.
        tlli: Tlli,
        /// The value part of 04.08 clause 10.5.5.12a.
        ms_ra_capability: Vec<u8>,
    },
    /// Page for packets (clause 10.3.1).
    PagingPs(PagingPs),
    /// Page for a circuit (clause 10.3.2).
    PagingCs(PagingCs),
    /// The BSS asks for a radio access capability (clause 10.3.3).
    RaCapabilityUpdate {
        /// Whose.
        tlli: Tlli,
        /// Joins the answer to the question.
        tag: u8,
    },
    /// The answer (clause 10.3.4).
    RaCapabilityUpdateAck(RaCapabilityUpdateAck),
    /// Trouble on the radio interface (clause 10.3.5).
    RadioStatus {
        /// Whose.
        mobile: MobileRef,
        /// Which.
        cause: RadioCause,
    },
    /// GPRS of a mobile is suspended (clause 10.3.6).
    Suspend {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
    },
    /// Done (clause 10.3.7).
    SuspendAck {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
        /// The number that a RESUME must give.
        reference: u8,
    },
    /// Not done (clause 10.3.8).
    SuspendNack {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
        /// Why not.
        cause: Option<Cause>,
    },
    /// GPRS of a mobile goes on (clause 10.3.9).
    Resume {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
        /// The number from the SUSPEND-ACK.
        reference: u8,
    },
    /// Done (clause 10.3.10).
    ResumeAck {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
    },
    /// Not done (clause 10.3.11).
    ResumeNack {
        /// Whose.
        tlli: Tlli,
        /// Where it is.
        rai: Rai,
        /// Why not.
        cause: Option<Cause>,
    },
    /// The BSS of a network that several operators share asks with whom a mobile is registered (48.018 clause 10.3; not
    /// in R99).
    MsRegistrationEnquiry {
        /// Whose.
        imsi: Imsi,
    },
    /// The answer (48.018 clause 10.3).
    MsRegistrationEnquiryResponse {
        /// Whose.
        imsi: Imsi,
        /// The operator; `None` where the mobile is not registered.
        plmn: Option<Plmn>,
    },
    /// Take a BVC out of service (clause 10.4.8).
    BvcBlock {
        /// Which.
        bvci: Bvci,
        /// Why.
        cause: Cause,
    },
    /// Done (clause 10.4.9).
    BvcBlockAck {
        /// Which.
        bvci: Bvci,
    },
    /// Put a BVC into service (clause 10.4.10).
    BvcUnblock {
        /// Which.
        bvci: Bvci,
    },
    /// Done (clause 10.4.11).
    BvcUnblockAck {
        /// Which.
        bvci: Bvci,
    },
    /// Start a BVC afresh (clause 10.4.12).
    BvcReset {
        /// Which.
        bvci: Bvci,
        /// Why.
        cause: Cause,
        /// Its cell: from the BSS, for a PTP BVC.
        cell: Option<CellId>,
        /// Which features the sender has (clause 11.3.45): for the signalling BVC.
        features: Option<u8>,
    },
    /// Done (clause 10.4.13).
    BvcResetAck {
        /// Which.
        bvci: Bvci,
        /// Its cell: from the BSS, for a PTP BVC.
        cell: Option<CellId>,
        /// Which features the sender has (clause 11.3.45): for the signalling BVC.
        features: Option<u8>,
    },
    /// The bucket of a cell (clause 10.4.4).
    FlowControlBvc(FlowControlBvc),
    /// Taken (clause 10.4.5).
    FlowControlBvcAck {
        /// The tag of the PDU that is answered.
        tag: u8,
    },
    /// The bucket of a mobile (clause 10.4.6).
    FlowControlMs(FlowControlMs),
    /// Taken (clause 10.4.7).
    FlowControlMsAck {
        /// Whose.
        tlli: Tlli,
        /// The tag of the PDU that is answered.
        tag: u8,
    },
    /// Delete or move the LL-PDUs of a mobile (clause 10.4.1).
    FlushLl {
        /// Whose.
        tlli: Tlli,
        /// The BVC where they wait.
        old_bvci: Bvci,
        /// The BVC where they should go; `None` deletes them.
        new_bvci: Option<Bvci>,
        /// The NSE of the new BVC (48.018, inter-NSE re-routing).
        new_nsei: Option<Nsei>,
    },
    /// Done (clause 10.4.2).
    FlushLlAck(FlushLlAck),
    /// The BSS discarded LL-PDUs (clause 10.4.3).
    LlcDiscarded(LlcDiscarded),
    /// Something was wrong (clause 10.4.14).
    Status(Status),
    /// The SGSN has more to do than it can, and wants to hear less (48.018 clause 10.4; not in R99).
    Overload {
        /// Of whom; `None` is of everybody.
        classes: Option<PriorityClass>,
    },
}

/// PAGING-PS (clause 10.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagingPs {
    /// Whom.
    pub imsi: Imsi,
    /// When the mobile listens; the octets of 04.08 clause 10.5.5.6.
    pub drx: Option<u16>,
    /// Where.
    pub area: PagingArea,
    /// Packet flow identifier, seven bits.
    pub pfi: Option<u8>,
    /// For which kind of LL-PDU.
    pub qos: QosProfile,
    /// The P-TMSI to page with; else the IMSI.
    pub ptmsi: Option<u32>,
}

/// PAGING-CS (clause 10.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagingCs {
    /// Whom.
    pub imsi: Imsi,
    /// When the mobile listens; the octets of 04.08 clause 10.5.5.6.
    pub drx: Option<u16>,
    /// Where.
    pub area: PagingArea,
    /// Whose.
    pub tlli: Option<Tlli>,
    /// Kind of channel, two bits (08.08 clause 3.2.2.36).
    pub channel_needed: Option<u8>,
    /// eMLPP priority, three bits (08.08 clause 3.2.2.56).
    pub emlpp_priority: Option<u8>,
    /// The TMSI to page with; else the IMSI.
    pub tmsi: Option<u32>,
}

/// RA-CAPABILITY-UPDATE-ACK (clause 10.3.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaCapabilityUpdateAck {
    /// Whose.
    pub tlli: Tlli,
    /// The tag of the question.
    pub tag: u8,
    /// The subscriber.
    pub imsi: Option<Imsi>,
    /// Whether there is one.
    pub cause: RaCapUpdCause,
    /// The value part of 04.08 clause 10.5.5.12a; there if and only if the cause is [`RaCapUpdCause::Ok`].
    pub ms_ra_capability: Option<Vec<u8>>,
}

/// How a RADIO-STATUS names its mobile: exactly one of three elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MobileRef {
    /// By TLLI.
    Tlli(Tlli),
    /// By TMSI or P-TMSI.
    Tmsi(u32),
    /// By IMSI.
    Imsi(Imsi),
}

impl core::fmt::Display for MobileRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Tlli(tlli) => write!(f, "TLLI {tlli}"),
            Self::Tmsi(tmsi) => write!(f, "TMSI or P-TMSI {tmsi:08x}"),
            Self::Imsi(imsi) => write!(f, "IMSI {imsi}"),
        }
    }
}

/// FLOW-CONTROL-BVC (clause 10.4.4). Sizes and rates are in units of [`Granularity::unit`] octets and bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControlBvc {
    /// Joins the answer to this PDU.
    pub tag: u8,
    /// `Bmax` of the cell's bucket.
    pub bucket_size: u16,
    /// `R` of the cell's bucket.
    pub leak_rate: u16,
    /// `Bmax` of the bucket of a mobile that has none of its own.
    pub bmax_default_ms: u16,
    /// `R` of the bucket of a mobile that has none of its own.
    pub r_default_ms: u16,
    /// How full the bucket is: `B` in hundredths of `Bmax`, 0 to 255 (clause 11.3.46).
    pub bucket_full_ratio: Option<u8>,
    /// How long an LL-PDU waits in the BSS, in hundredths of a second, 0xffff for ever (clause 11.3.7).
    pub measurement: Option<u16>,
    /// The units; absent on the wire where it is [`Granularity::R99`].
    pub granularity: Granularity,
}

impl FlowControlBvc {
    /// `Bmax` of the cell in octets.
    #[must_use]
    pub fn bmax_octets(&self) -> u64 {
        self.granularity.scale(self.bucket_size)
    }

    /// `R` of the cell in bit/s.
    #[must_use]
    pub fn leak_bits_per_s(&self) -> u64 {
        self.granularity.scale(self.leak_rate)
    }

    /// Default `Bmax` of a mobile in octets.
    #[must_use]
    pub fn bmax_default_ms_octets(&self) -> u64 {
        self.granularity.scale(self.bmax_default_ms)
    }

    /// Default `R` of a mobile in bit/s.
    #[must_use]
    pub fn leak_default_ms_bits_per_s(&self) -> u64 {
        self.granularity.scale(self.r_default_ms)
    }
}

/// FLOW-CONTROL-MS (clause 10.4.6). Sizes and rates are in units of [`Granularity::unit`] octets and bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControlMs {
    /// Whose.
    pub tlli: Tlli,
    /// Joins the answer to this PDU.
    pub tag: u8,
    /// `Bmax` of the mobile's bucket.
    pub bucket_size: u16,
    /// `R` of the mobile's bucket.
    pub leak_rate: u16,
    /// How full the bucket is: `B` in hundredths of `Bmax`, 0 to 255 (clause 11.3.46).
    pub bucket_full_ratio: Option<u8>,
    /// The units; absent on the wire where it is [`Granularity::R99`].
    pub granularity: Granularity,
}

impl FlowControlMs {
    /// `Bmax` in octets.
    #[must_use]
    pub fn bmax_octets(&self) -> u64 {
        self.granularity.scale(self.bucket_size)
    }

    /// `R` in bit/s.
    #[must_use]
    pub fn leak_bits_per_s(&self) -> u64 {
        self.granularity.scale(self.leak_rate)
    }
}

/// FLUSH-LL-ACK (clause 10.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushLlAck {
    /// Whose.
    pub tlli: Tlli,
    /// What became of the LL-PDUs.
    pub action: FlushAction,
    /// The BVC where they went; there if and only if they were transferred.
    pub new_bvci: Option<Bvci>,
    /// Octets deleted or transferred, 24 bits.
    pub octets: u32,
    /// The NSE of the new BVC (48.018, inter-NSE re-routing).
    pub new_nsei: Option<Nsei>,
}

/// LLC-DISCARDED (clause 10.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcDiscarded {
    /// Whose.
    pub tlli: Tlli,
    /// How many LL-PDUs.
    pub frames: u8,
    /// Of which cell.
    pub bvci: Bvci,
    /// How many octets, 24 bits.
    pub octets: u32,
}

/// STATUS (clause 10.4.14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What was wrong.
    pub cause: Cause,
    /// With "BVCI blocked" and "BVCI unknown": which BVC.
    pub bvci: Option<Bvci>,
    /// With the protocol errors: the PDU, or its beginning.
    pub pdu: Option<Vec<u8>>,
}

impl Status {
    /// The status that answers `pdu`, of which the first [`PDU_IN_ERROR_MAX`] octets go back. `bvci` where the cause
    /// is that it is blocked or unknown.
    #[must_use]
    pub fn about_pdu(cause: Cause, bvci: Option<Bvci>, pdu: &[u8]) -> Self {
        let start = pdu.get(..PDU_IN_ERROR_MAX.min(pdu.len())).unwrap_or_default();
        Self { cause, bvci, pdu: Some(start.to_vec()) }
    }
}

impl Message {
    /// The type.
    #[must_use]
    pub const fn pdu_type(&self) -> PduType {
        match self {
            Self::RaCapability { .. } => PduType::RaCapability,
            Self::PagingPs(_) => PduType::PagingPs,
            Self::PagingCs(_) => PduType::PagingCs,
            Self::RaCapabilityUpdate { .. } => PduType::RaCapabilityUpdate,
            Self::RaCapabilityUpdateAck(_) => PduType::RaCapabilityUpdateAck,
            Self::RadioStatus { .. } => PduType::RadioStatus,
            Self::Suspend { .. } => PduType::Suspend,
            Self::SuspendAck { .. } => PduType::SuspendAck,
            Self::SuspendNack { .. } => PduType::SuspendNack,
            Self::Resume { .. } => PduType::Resume,
            Self::ResumeAck { .. } => PduType::ResumeAck,
            Self::ResumeNack { .. } => PduType::ResumeNack,
            Self::MsRegistrationEnquiry { .. } => PduType::MsRegistrationEnquiry,
            Self::MsRegistrationEnquiryResponse { .. } => PduType::MsRegistrationEnquiryResponse,
            Self::BvcBlock { .. } => PduType::BvcBlock,
            Self::BvcBlockAck { .. } => PduType::BvcBlockAck,
            Self::BvcUnblock { .. } => PduType::BvcUnblock,
            Self::BvcUnblockAck { .. } => PduType::BvcUnblockAck,
            Self::BvcReset { .. } => PduType::BvcReset,
            Self::BvcResetAck { .. } => PduType::BvcResetAck,
            Self::FlowControlBvc(_) => PduType::FlowControlBvc,
            Self::FlowControlBvcAck { .. } => PduType::FlowControlBvcAck,
            Self::FlowControlMs(_) => PduType::FlowControlMs,
            Self::FlowControlMsAck { .. } => PduType::FlowControlMsAck,
            Self::FlushLl { .. } => PduType::FlushLl,
            Self::FlushLlAck(_) => PduType::FlushLlAck,
            Self::LlcDiscarded(_) => PduType::LlcDiscarded,
            Self::Status(_) => PduType::Status,
            Self::Overload { .. } => PduType::Overload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bssgp::cause;
    use crate::error::DecodeError;

    fn round_trip(octets: &[u8]) -> Message {
        let message = Message::parse(octets).unwrap();
        assert_eq!(message.to_vec(), octets);
        message
    }

    #[test]
    fn real_bvc_reset() {
        let cell = CellId::from_octets([0x00, 0xf1, 0x10, 0x00, 0x01, 0x00, 0x1b, 0x39]);
        let signalling = [0x22, 0x04, 0x82, 0x00, 0x00, 0x07, 0x81, 0x08];
        let cause = Cause::OamIntervention;
        assert_eq!(
            round_trip(&signalling),
            Message::BvcReset { bvci: Bvci(0), cause, cell: None, features: None }
        );
        let mut ptp = vec![0x22, 0x04, 0x82, 0x00, 0x02, 0x07, 0x81, 0x08, 0x08, 0x88];
        ptp.extend(cell.to_octets());
        assert_eq!(
            round_trip(&ptp),
            Message::BvcReset { bvci: Bvci(2), cause, cell: Some(cell), features: None }
        );
        assert_eq!(
            round_trip(&[0x23, 0x04, 0x82, 0x00, 0x02]),
            Message::BvcResetAck { bvci: Bvci(2), cell: None, features: None }
        );
        assert_eq!(round_trip(&[0x24, 0x04, 0x82, 0x00, 0x02]), Message::BvcUnblock { bvci: Bvci(2) });
        assert_eq!(round_trip(&[0x25, 0x04, 0x82, 0x00, 0x02]), Message::BvcUnblockAck { bvci: Bvci(2) });
    }

    #[test]
    fn real_flow_control() {
        let octets = [
            0x26, 0x1e, 0x81, 0x07, 0x05, 0x82, 0x03, 0xd0, 0x03, 0x82, 0x03, 0x0d, 0x01, 0x82, 0x03, 0xe8,
            0x1c, 0x82, 0x03, 0x20, 0x06, 0x82, 0x00, 0xbe,
        ];
        let Message::FlowControlBvc(bvc) = round_trip(&octets) else { panic!() };
        assert_eq!((bvc.bmax_octets(), bvc.leak_bits_per_s()), (97_600, 78_100));
        assert_eq!((bvc.bmax_default_ms_octets(), bvc.leak_default_ms_bits_per_s()), (100_000, 80_000));
        assert_eq!((bvc.tag, bvc.measurement, bvc.bucket_full_ratio), (7, Some(190), None));
        assert_eq!(round_trip(&[0x27, 0x1e, 0x81, 0x07]), Message::FlowControlBvcAck { tag: 7 });
    }

    #[test]
    fn real_llc_discarded() {
        let octets = [
            0x2c, 0x1f, 0x84, 0xd1, 0x99, 0x21, 0x73, 0x0f, 0x81, 0x01, 0x04, 0x82, 0x00, 0x02, 0x25, 0x83,
            0x00, 0x01, 0xfa,
        ];
        let tlli = Tlli(0xd199_2173);
        let expected = LlcDiscarded { tlli, frames: 1, bvci: Bvci(2), octets: 506 };
        assert_eq!(round_trip(&octets), Message::LlcDiscarded(expected));
    }

    #[test]
    fn causes_are_functions_of_errors() {
        let of = |octets: &[u8]| cause(&Message::parse(octets).unwrap_err());
        let imsi = [0x0d, 0x82, 0x19, 0x32];
        let qos = [0x18, 0x83, 0, 0, 0];
        let bvci = [0x04, 0x82, 0x00, 0x02];
        let area = [0x02, 0x81, 0x00];
        assert!(Message::parse(&[&[0x06][..], &imsi, &bvci, &qos].concat()).is_ok());
        assert_eq!(of(&[&[0x06][..], &imsi, &qos].concat()), Cause::MissingConditionalIe);
        assert_eq!(of(&[&[0x06][..], &imsi, &bvci, &area, &qos].concat()), Cause::UnexpectedConditionalIe);
        assert_eq!(of(&[&[0x06][..], &bvci, &qos].concat()), Cause::MissingMandatoryIe);
        assert_eq!(of(&[0x06, 0x0d, 0x81, 0xf4]), Cause::InvalidMandatoryInformation);
        assert_eq!(of(&[0x24, 0x04, 0x81, 0x00]), Cause::InvalidMandatoryInformation);
        assert_eq!(of(&[0x7f]), Cause::ProtocolError);
        assert_eq!(of(&[0x00]), Cause::ProtocolError);
        assert_eq!(of(&[0x0a, 0x19, 0x81, 0x00]), Cause::MissingConditionalIe);
        assert!(Message::parse(&[]).is_err());
        let no_bvci = [0x2b, 0x1f, 0x84, 0, 0, 0, 1, 0x0c, 0x81, 0x01, 0x25, 0x83, 0, 0, 0];
        assert_eq!(of(&no_bvci), Cause::MissingConditionalIe);
    }

    #[test]
    fn what_later_releases_added() {
        let imsi: Imsi = "001010000000001".parse().unwrap();
        let enquiry = [0x14, 0x0d, 0x88, 0x09, 0x10, 0x10, 0, 0, 0, 0, 0x10];
        assert_eq!(round_trip(&enquiry), Message::MsRegistrationEnquiry { imsi });
        let mut response = enquiry.to_vec();
        response[0] = 0x15;
        let plmn = None;
        assert_eq!(round_trip(&response), Message::MsRegistrationEnquiryResponse { imsi, plmn });
        response.extend([0x8e, 0x83, 0x62, 0xf2, 0x24]);
        let plmn = Some(Plmn::new(262, 42, false));
        assert_eq!(round_trip(&response), Message::MsRegistrationEnquiryResponse { imsi, plmn });
        let classes = Some(PriorityClass::LOW_ACCESS_PRIORITY);
        assert_eq!(round_trip(&[0x42, 0x8f, 0x81, 0x01]), Message::Overload { classes });
        let of = |octets: &[u8]| cause(&Message::parse(octets).unwrap_err());
        assert_eq!(of(&[0x14]), Cause::MissingMandatoryIe);
        assert_eq!(round_trip(&[0x42]), Message::Overload { classes: None });
    }

    #[test]
    fn the_second_bvci_of_flush_ll_is_the_new_one() {
        let octets = [0x2a, 0x1f, 0x84, 0xc0, 0, 0, 1, 0x04, 0x82, 0, 2, 0x04, 0x82, 0, 3];
        let (tlli, old_bvci) = (Tlli(0xc000_0001), Bvci(2));
        let flush = |new_bvci| Message::FlushLl { tlli, old_bvci, new_bvci, new_nsei: None };
        assert_eq!(round_trip(&octets), flush(Some(Bvci(3))));
        assert_eq!(round_trip(&octets[..11]), flush(None));
    }

    #[test]
    fn status_keeps_the_beginning() {
        let status = Status::about_pdu(Cause::BvciUnknown, Some(Bvci(9)), &[7; 100]);
        assert_eq!(status.pdu.as_deref(), Some(&[7; PDU_IN_ERROR_MAX][..]));
        assert_eq!(Message::parse(&Message::Status(status.clone()).to_vec()), Ok(Message::Status(status)));
        assert_eq!(Message::parse(&[0x41]), Err(DecodeError::missing("Cause")));
    }
}
