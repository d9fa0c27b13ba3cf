//! Network service: 08.16 (48.016), as it runs over UDP.
//!
//! [`Unitdata`] is the hot header, four octets in front of an NS SDU (clause 9.2.10); [`Pdu`] is every other PDU,
//! the control of an NS-VC, and with [`Sns`] that of the IP endpoints of an NSE (48.016 clause 9.3). Elements are TLV with a length of 7 or 15 bits (clause 10.1); unknown ones are skipped,
//! of repeated ones the first counts, and their order does not matter (clause 8).
//!
//! What is wrong with a PDU goes back to its sender in an NS-STATUS whose cause is [`cause`] of the error.

mod sns;

pub use sns::{IpElement, IpElements, Sns};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{Bvci, Nsei, Nsvci};
use crate::octet_enum::octet_enum;
use crate::tlv::{self, Elements};

/// The UDP port on which an SGSN listens, as Osmocom has it.
pub const UDP_PORT: u16 = 23000;
/// Octets of the NS-UNITDATA header; the NS SDU follows.
pub const UNITDATA_HEADER_LEN: usize = 4;
/// Octets of the longest PDU in error that an NS-STATUS carries back.
pub const PDU_IN_ERROR_MAX: usize = 64;

/// Element identifiers (clause 10.3).
mod iei {
    pub const CAUSE: u8 = 0x00;
    pub const NS_VCI: u8 = 0x01;
    pub const NS_PDU: u8 = 0x02;
    pub const BVCI: u8 = 0x03;
    pub const NSEI: u8 = 0x04;
    pub const IP4_ELEMENTS: u8 = 0x05;
    pub const IP6_ELEMENTS: u8 = 0x06;
    pub const NS_VCS_MAX: u8 = 0x07;
    pub const IP4_ENDPOINTS: u8 = 0x08;
    pub const IP6_ENDPOINTS: u8 = 0x09;
    pub const RESET_FLAG: u8 = 0x0a;
    pub const IP_ADDRESS: u8 = 0x0b;
}

octet_enum! {
    /// PDU type (clause 10.3.7).
    PduType {
        /// Carries an NS SDU.
        Unitdata = 0x00, "NS-UNITDATA";
        /// Starts an NS-VC afresh.
        Reset = 0x02, "NS-RESET";
        /// Answers it.
        ResetAck = 0x03, "NS-RESET-ACK";
        /// Takes an NS-VC out of service.
        Block = 0x04, "NS-BLOCK";
        /// Answers it.
        BlockAck = 0x05, "NS-BLOCK-ACK";
        /// Puts an NS-VC into service.
        Unblock = 0x06, "NS-UNBLOCK";
        /// Answers it.
        UnblockAck = 0x07, "NS-UNBLOCK-ACK";
        /// Says what was wrong.
        Status = 0x08, "NS-STATUS";
        /// Asks whether the peer lives.
        Alive = 0x0a, "NS-ALIVE";
        /// Answers it.
        AliveAck = 0x0b, "NS-ALIVE-ACK";
        /// IP sub-network service: acknowledgement.
        SnsAck = 0x0c, "SNS-ACK";
        /// IP sub-network service: more endpoints.
        SnsAdd = 0x0d, "SNS-ADD";
        /// IP sub-network service: other weights.
        SnsChangeweight = 0x0e, "SNS-CHANGEWEIGHT";
        /// IP sub-network service: endpoints.
        SnsConfig = 0x0f, "SNS-CONFIG";
        /// IP sub-network service: endpoints taken.
        SnsConfigAck = 0x10, "SNS-CONFIG-ACK";
        /// IP sub-network service: fewer endpoints.
        SnsDelete = 0x11, "SNS-DELETE";
        /// IP sub-network service: how many endpoints.
        SnsSize = 0x12, "SNS-SIZE";
        /// IP sub-network service: size taken.
        SnsSizeAck = 0x13, "SNS-SIZE-ACK";
    }
}

octet_enum! {
    /// Cause (clause 10.3.2).
    Cause {
        /// The sub-network lost the connection.
        TransitNetworkFailure = 0x00, "transit network failure";
        /// A person did it.
        OamIntervention = 0x01, "O&M intervention";
        /// Hardware.
        EquipmentFailure = 0x02, "equipment failure";
        /// The NS-VC is blocked.
        NsVcBlocked = 0x03, "NS-VC blocked";
        /// There is no such NS-VC.
        NsVcUnknown = 0x04, "NS-VC unknown";
        /// The NSE has no such BVC.
        BvciUnknown = 0x05, "BVCI unknown on that NSE";
        /// The content contradicts the receiver's resources.
        SemanticallyIncorrectPdu = 0x08, "semantically incorrect PDU";
        /// The PDU does not fit the state.
        PduNotCompatible = 0x0a, "PDU not compatible with the protocol state";
        /// Anything else, an unknown PDU type among it.
        ProtocolError = 0x0b, "protocol error - unspecified";
        /// An essential element is wrong.
        InvalidEssentialIe = 0x0c, "invalid essential IE";
        /// An essential element is not there.
        MissingEssentialIe = 0x0d, "missing essential IE";
        /// IP sub-network service.
        InvalidNumberOfIpv4Endpoints = 0x0e, "invalid number of IP4 endpoints";
        /// IP sub-network service.
        InvalidNumberOfIpv6Endpoints = 0x0f, "invalid number of IP6 endpoints";
        /// IP sub-network service.
        InvalidNumberOfNsVcs = 0x10, "invalid number of NS-VCs";
        /// IP sub-network service.
        InvalidWeights = 0x11, "invalid weights";
        /// IP sub-network service.
        UnknownIpEndpoint = 0x12, "unknown IP endpoint";
        /// IP sub-network service.
        UnknownIpAddress = 0x13, "unknown IP address";
        /// IP sub-network service.
        IpTestFailed = 0x14, "IP test failed";
    }
}

/// The cause of the NS-STATUS that answers octets which could not be read (clause 8).
#[must_use]
pub const fn cause(error: &DecodeError) -> Cause {
    match error.kind {
        DecodeErrorKind::Missing => Cause::MissingEssentialIe,
        DecodeErrorKind::Truncated { .. }
        | DecodeErrorKind::BadLength(_)
        | DecodeErrorKind::BadValue(_)
        | DecodeErrorKind::Conditional => Cause::InvalidEssentialIe,
        DecodeErrorKind::OutOfSequence => Cause::SemanticallyIncorrectPdu,
        DecodeErrorKind::UnknownMessage(_)
        | DecodeErrorKind::UnknownProtocol(_)
        | DecodeErrorKind::BadChecksum => Cause::ProtocolError,
    }
}

/// The header of NS-UNITDATA (clause 9.2.10). The NS SDU starts at [`UNITDATA_HEADER_LEN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unitdata {
    /// NS SDU control bits: bit 1 requests, bit 2 confirms a change of flow on an IP sub-network; else zero.
    pub control: u8,
    /// Whose NS SDU it is.
    pub bvci: Bvci,
}

impl Unitdata {
    /// The header for an NS SDU of `bvci`.
    #[must_use]
    pub const fn of(bvci: Bvci) -> Self {
        Self { control: 0, bvci }
    }

    /// True where `octets` are an NS-UNITDATA PDU, readable or not.
    #[must_use]
    pub const fn is(octets: &[u8]) -> bool {
        matches!(octets, [0x00, ..])
    }

    /// Reads the header.
    ///
    /// # Errors
    /// `UnknownMessage` for another PDU type, `Truncated` below four octets.
    pub const fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        match octets {
            [0x00, control, high, low, ..] => {
                Ok(Self { control: *control, bvci: Bvci(u16::from_be_bytes([*high, *low])) })
            }
            [0x00, ..] | [] => Err(DecodeError::new(
                "NS-UNITDATA header",
                0,
                DecodeErrorKind::Truncated { needed: UNITDATA_HEADER_LEN, have: octets.len() },
            )),
            [other, ..] => Err(DecodeError::new("PDU type", 0, DecodeErrorKind::UnknownMessage(*other))),
        }
    }

    /// The four octets.
    #[must_use]
    pub const fn emit(self) -> [u8; UNITDATA_HEADER_LEN] {
        let [high, low] = self.bvci.0.to_be_bytes();
        [0x00, self.control, high, low]
    }
}

/// A PDU that controls an NS-VC (clause 9.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pdu {
    /// Start the NS-VC afresh (clause 9.2.5).
    Reset {
        /// Why.
        cause: Cause,
        /// Which.
        nsvci: Nsvci,
        /// Of which entity.
        nsei: Nsei,
    },
    /// It is done (clause 9.2.6).
    ResetAck {
        /// Which.
        nsvci: Nsvci,
        /// Of which entity.
        nsei: Nsei,
    },
    /// Take the NS-VC out of service (clause 9.2.3).
    Block {
        /// Why.
        cause: Cause,
        /// Which; not always the one that carries this PDU.
        nsvci: Nsvci,
    },
    /// It is done (clause 9.2.4).
    BlockAck {
        /// Which.
        nsvci: Nsvci,
    },
    /// Put this NS-VC into service (clause 9.2.8).
    Unblock,
    /// It is done (clause 9.2.9).
    UnblockAck,
    /// Do you live (clause 9.2.1)?
    Alive,
    /// Yes (clause 9.2.2).
    AliveAck,
    /// Something was wrong (clause 9.2.7).
    Status(Status),
    /// A PDU of the IP sub-network service (48.016 clause 9.3).
    Sns(Sns),
}

/// NS-STATUS (clause 9.2.7). Which of the optional elements stand there depends on the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What was wrong.
    pub cause: Cause,
    /// With "NS-VC blocked" and "NS-VC unknown": which NS-VC.
    pub nsvci: Option<Nsvci>,
    /// With the protocol errors: the PDU, or its beginning.
    pub pdu: Option<Vec<u8>>,
    /// With "BVCI unknown": which BVC.
    pub bvci: Option<Bvci>,
}

impl Status {
    /// A status without any of the optional elements.
    #[must_use]
    pub const fn of(cause: Cause) -> Self {
        Self { cause, nsvci: None, pdu: None, bvci: None }
    }

    /// The status that answers `pdu`, of which the first [`PDU_IN_ERROR_MAX`] octets go back.
    #[must_use]
    pub fn about_pdu(cause: Cause, pdu: &[u8]) -> Self {
        let start = pdu.get(..PDU_IN_ERROR_MAX.min(pdu.len())).unwrap_or_default();
        Self { pdu: Some(start.to_vec()), ..Self::of(cause) }
    }
}

impl Pdu {
    /// Reads a PDU other than NS-UNITDATA.
    ///
    /// # Errors
    /// `UnknownMessage` for an unknown type and for NS-UNITDATA, `Missing` and the like about an essential element.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        let Some(first) = octets.first() else {
            let kind = DecodeErrorKind::Truncated { needed: 1, have: 0 };
            return Err(DecodeError::new("PDU type", 0, kind));
        };
        let pdu_type = PduType::from_octet(*first);
        if let Some(sns) = Sns::parse(pdu_type, octets) {
            return sns.map(Self::Sns);
        }
        let ies = Elements::new(octets, 1);
        let pdu_cause = || ies.mandatory_u8(iei::CAUSE, "Cause").map(Cause::from_octet);
        let nsvci = || ies.mandatory_u16(iei::NS_VCI, "NS-VCI").map(Nsvci);
        let nsei = || ies.mandatory_u16(iei::NSEI, "NSEI").map(Nsei);
        match pdu_type {
            PduType::Reset => Ok(Self::Reset { cause: pdu_cause()?, nsvci: nsvci()?, nsei: nsei()? }),
            PduType::ResetAck => Ok(Self::ResetAck { nsvci: nsvci()?, nsei: nsei()? }),
            PduType::Block => Ok(Self::Block { cause: pdu_cause()?, nsvci: nsvci()? }),
            PduType::BlockAck => Ok(Self::BlockAck { nsvci: nsvci()? }),
            PduType::Unblock => Ok(Self::Unblock),
            PduType::UnblockAck => Ok(Self::UnblockAck),
            PduType::Alive => Ok(Self::Alive),
            PduType::AliveAck => Ok(Self::AliveAck),
            PduType::Status => Ok(Self::Status(Status {
                cause: pdu_cause()?,
                nsvci: ies.optional_u16(iei::NS_VCI).map(Nsvci),
                pdu: ies.optional(iei::NS_PDU).map(<[u8]>::to_vec),
                bvci: ies.optional_u16(iei::BVCI).map(Bvci),
            })),
            PduType::Unitdata
            | PduType::SnsAck
            | PduType::SnsAdd
            | PduType::SnsChangeweight
            | PduType::SnsConfig
            | PduType::SnsConfigAck
            | PduType::SnsDelete
            | PduType::SnsSize
            | PduType::SnsSizeAck
            | PduType::Unknown(_) => {
                Err(DecodeError::new("PDU type", 0, DecodeErrorKind::UnknownMessage(*first)))
            }
        }
    }

    /// The type.
    #[must_use]
    pub const fn pdu_type(&self) -> PduType {
        match self {
            Self::Reset { .. } => PduType::Reset,
            Self::ResetAck { .. } => PduType::ResetAck,
            Self::Block { .. } => PduType::Block,
            Self::BlockAck { .. } => PduType::BlockAck,
            Self::Unblock => PduType::Unblock,
            Self::UnblockAck => PduType::UnblockAck,
            Self::Alive => PduType::Alive,
            Self::AliveAck => PduType::AliveAck,
            Self::Status(_) => PduType::Status,
            Self::Sns(sns) => sns.pdu_type(),
        }
    }

    /// Appends the octets.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.pdu_type().octet());
        match self {
            Self::Reset { cause, nsvci, nsei } => {
                tlv::put(out, iei::CAUSE, &[cause.octet()]);
                tlv::put(out, iei::NS_VCI, &nsvci.0.to_be_bytes());
                tlv::put(out, iei::NSEI, &nsei.0.to_be_bytes());
            }
            Self::ResetAck { nsvci, nsei } => {
                tlv::put(out, iei::NS_VCI, &nsvci.0.to_be_bytes());
                tlv::put(out, iei::NSEI, &nsei.0.to_be_bytes());
            }
            Self::Block { cause, nsvci } => {
                tlv::put(out, iei::CAUSE, &[cause.octet()]);
                tlv::put(out, iei::NS_VCI, &nsvci.0.to_be_bytes());
            }
            Self::BlockAck { nsvci } => tlv::put(out, iei::NS_VCI, &nsvci.0.to_be_bytes()),
            Self::Status(status) => {
                tlv::put(out, iei::CAUSE, &[status.cause.octet()]);
                if let Some(nsvci) = status.nsvci {
                    tlv::put(out, iei::NS_VCI, &nsvci.0.to_be_bytes());
                }
                if let Some(pdu) = &status.pdu {
                    tlv::put(out, iei::NS_PDU, pdu);
                }
                if let Some(bvci) = status.bvci {
                    tlv::put(out, iei::BVCI, &bvci.0.to_be_bytes());
                }
            }
            Self::Sns(sns) => sns.emit(out),
            Self::Unblock | Self::UnblockAck | Self::Alive | Self::AliveAck => {}
        }
    }

    /// The octets in a vector of their own.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        self.emit(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESET: [u8; 12] = [0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];

    #[test]
    fn a_real_reset_and_its_answer() {
        let reset = Pdu::parse(&RESET).unwrap();
        let (nsvci, nsei) = (Nsvci(101), Nsei(101));
        assert_eq!(reset, Pdu::Reset { cause: Cause::OamIntervention, nsvci, nsei });
        assert_eq!(reset.to_vec(), RESET);
        let ack = [0x03, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];
        assert_eq!(Pdu::parse(&ack), Ok(Pdu::ResetAck { nsvci, nsei }));
        assert_eq!(Pdu::parse(&ack).unwrap().to_vec(), ack);
    }

    #[test]
    fn one_octet_pdus() {
        for (octet, pdu) in
            [(6, Pdu::Unblock), (7, Pdu::UnblockAck), (0x0a, Pdu::Alive), (0x0b, Pdu::AliveAck)]
        {
            assert_eq!(Pdu::parse(&[octet]).as_ref(), Ok(&pdu));
            assert_eq!(pdu.to_vec(), [octet]);
        }
    }

    #[test]
    fn unitdata_header() {
        let octets = [0x00, 0x00, 0x00, 0x02, 0x26];
        assert_eq!(Unitdata::parse(&octets), Ok(Unitdata::of(Bvci(2))));
        assert_eq!(Unitdata::of(Bvci(2)).emit(), octets[..4]);
        assert!(Unitdata::parse(&octets[..3]).is_err());
        assert!(Unitdata::parse(&[]).is_err());
        assert!(Unitdata::parse(&[0x0a, 0, 0, 0]).is_err());
    }

    #[test]
    fn unknown_repeated_and_shuffled_elements() {
        let octets = [
            0x02, 0x04, 0x82, 0x00, 0x01, 0x77, 0x00, 0x02, 0xaa, 0xbb, 0x01, 0x82, 0x00, 0x02, 0x00, 0x82,
            0x02, 0xff, 0x01, 0x82, 0x00, 0x03,
        ];
        let cause = Cause::EquipmentFailure;
        assert_eq!(Pdu::parse(&octets), Ok(Pdu::Reset { cause, nsvci: Nsvci(2), nsei: Nsei(1) }));
    }

    #[test]
    fn causes_are_functions_of_errors() {
        let of = |octets: &[u8]| cause(&Pdu::parse(octets).unwrap_err());
        assert_eq!(of(&RESET[..8]), Cause::MissingEssentialIe);
        assert_eq!(of(&RESET[..11]), Cause::InvalidEssentialIe);
        assert_eq!(of(&[0x03, 0x01, 0x81, 0x00, 0x04, 0x82, 0x00, 0x01]), Cause::InvalidEssentialIe);
        assert_eq!(of(&[0x7f]), Cause::ProtocolError);
        assert_eq!(Cause::from_octet(0x42).octet(), 0x42);
    }

    #[test]
    fn status_holds_the_beginning_of_the_pdu() {
        let status = Status::about_pdu(Cause::ProtocolError, &[0x7f; 300]);
        assert_eq!(status.pdu.as_deref(), Some(&[0x7f; PDU_IN_ERROR_MAX][..]));
        let octets = Pdu::Status(status.clone()).to_vec();
        assert_eq!(Pdu::parse(&octets), Ok(Pdu::Status(status)));
    }
}
