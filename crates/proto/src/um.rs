//! The emulated radio interface between a BSS and its mobiles: what RLC/MAC would provide, and nothing more.
//!
//! One datagram is a header of eight octets and, for some kinds, octets behind it. Both directions use it:
//!
//! ```text
//! octet 0      kind
//! octet 1      radio priority of an LL-PDU from a mobile, 1 to 4; otherwise zero, and ignored on receipt
//! octets 2-3   cell: its index at the BSS, most significant octet first
//! octets 4-7   TLLI, most significant octet first; 0 where the kind has none
//! octets 8-    LL-PDU, or what the kind says
//! ```
//!
//! A mobile is addressed as `Peer::Slot(index)`; [`BROADCAST`] reaches every mobile in the cell. [`UmBearer`] is the mobiles'
//! side of it.

pub use crate::bearer::PagedIdentity;
use crate::bearer::{Bearer, Indication, Output, Refused, Request, Sender, Unitdata};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::id::{PTmsi, Rai, Tlli};
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::{DecodeError, DecodeErrorKind, Reader};

/// The slot of all mobiles in a cell.
pub const BROADCAST: u32 = u32::MAX;

/// Octets of the header.
pub const HEADER_LEN: usize = 8;

/// What a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UmKind {
    /// An LL-PDU, in either direction.
    LlPdu,
    /// Downlink, broadcast: PACKET PAGING REQUEST for packet services. The octets behind are a P-TMSI (4), or an IMSI
    /// as eight octets of TBCD.
    PagingPs,
    /// Downlink, broadcast: the same for circuit-switched services.
    PagingCs,
    /// Uplink: GPRS SUSPENSION REQUEST (04.18 clause 9.1.13b); the octets behind are the routing area's six.
    Suspend,
    /// Uplink: the mobile resumes GPRS; the octets behind are the routing area's six and the suspend reference number.
    Resume,
    /// Downlink: the answer to a suspension, with the suspend reference number behind it.
    SuspendAck,
    /// Uplink: the mobile is in this cell now and can be reached by this TLLI; nothing behind. Not seen by the SGSN.
    CampOn,
    /// Uplink: the mobile leaves the air of this cell, and hears nothing until it camps again; nothing behind.
    Away,
}

impl UmKind {
    const ALL: [Self; 8] = [
        Self::LlPdu,
        Self::PagingPs,
        Self::PagingCs,
        Self::Suspend,
        Self::Resume,
        Self::SuspendAck,
        Self::CampOn,
        Self::Away,
    ];

    const fn octet(self) -> u8 {
        match self {
            Self::LlPdu => 0,
            Self::PagingPs => 1,
            Self::PagingCs => 2,
            Self::Suspend => 3,
            Self::Resume => 4,
            Self::SuspendAck => 5,
            Self::CampOn => 6,
            Self::Away => 7,
        }
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UmHeader {
    /// What follows.
    pub kind: UmKind,
    /// The cell's index at its BSS.
    pub cell: u16,
    /// The mobile's TLLI.
    pub tlli: Tlli,
    /// How urgent an LL-PDU is; `None` where that is not said.
    pub priority: Option<RadioPriority>,
}

impl UmHeader {
    /// Reads the header in front of `octets`; the rest begins at [`HEADER_LEN`].
    ///
    /// # Errors
    /// `Truncated`, or `BadValue` for an unknown kind.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets);
        let kind = reader.u8("kind")?;
        let known = UmKind::ALL.into_iter().find(|known| known.octet() == kind);
        let kind = known.ok_or(DecodeError::new("kind", 0, DecodeErrorKind::BadValue(u32::from(kind))))?;
        let priority = match reader.u8("radio priority")? {
            1 => Some(RadioPriority::One),
            2 => Some(RadioPriority::Two),
            3 => Some(RadioPriority::Three),
            4 => Some(RadioPriority::Four),
            _ => None,
        };
        Ok(Self { kind, cell: reader.u16("cell")?, tlli: Tlli(reader.u32("TLLI")?), priority })
    }

    /// The header's octets.
    #[must_use]
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let [c0, c1] = self.cell.to_be_bytes();
        let [t0, t1, t2, t3] = self.tlli.0.to_be_bytes();
        let priority = match self.priority {
            None => 0,
            Some(RadioPriority::One) => 1,
            Some(RadioPriority::Two) => 2,
            Some(RadioPriority::Three) => 3,
            Some(RadioPriority::Four) => 4,
        };
        [self.kind.octet(), priority, c0, c1, t0, t1, t2, t3]
    }
}

impl PagedIdentity {
    /// Reads what stands behind the header of [`UmKind::PagingPs`].
    ///
    /// # Errors
    /// `BadLength`, or `BadValue` where an IMSI has digits that are none.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "paged identity";
        if let Ok(ptmsi) = <[u8; 4]>::try_from(octets) {
            return Ok(Self::PTmsi(PTmsi(u32::from_be_bytes(ptmsi))));
        }
        let tbcd = <[u8; 8]>::try_from(octets)
            .map_err(|_| DecodeError::new(NAME, HEADER_LEN, DecodeErrorKind::BadLength(octets.len())))?;
        let imsi = gannet_wire::id::Imsi::from_tbcd(tbcd);
        imsi.map(Self::Imsi).ok_or(DecodeError::new(NAME, HEADER_LEN, DecodeErrorKind::BadValue(0)))
    }

    /// Appends the octets.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::PTmsi(ptmsi) => out.extend(ptmsi.0.to_be_bytes()),
            Self::Imsi(imsi) => out.extend(imsi.tbcd()),
        }
    }
}

/// The emulated Um as a bearer. It has all cells at any time and no limit to an LL-PDU but that of LLC, so it tells nothing of
/// its link.
#[derive(Debug, Clone, Copy, Default)]
pub struct UmBearer;

impl Bearer for UmBearer {
    fn name(&self) -> &'static str {
        "Um"
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let copy_of = |octets: &[u8]| cx.frames.copy_of(octets).ok_or(Drop::NoFrame);
        let (kind, mut frame) = match request {
            Request::Unitdata(frame) => (UmKind::LlPdu, frame),
            Request::Reachable => (UmKind::CampOn, copy_of(&[])?),
            Request::Away => (UmKind::Away, copy_of(&[])?),
            Request::Suspend(rai) => (UmKind::Suspend, copy_of(&rai.to_octets())?),
            Request::Resume { rai, reference } => {
                let mut octets = [reference; Rai::LEN + 1];
                if let Some(area) = octets.first_chunk_mut() {
                    *area = rai.to_octets();
                }
                (UmKind::Resume, copy_of(&octets)?)
            }
        };
        let Sender { mobile, cell, tlli, priority } = from;
        let priority = (kind == UmKind::LlPdu).then_some(priority);
        if frame.prepend(&UmHeader { kind, cell, tlli, priority }.emit()) {
            out.push(Output::Transmit { link: 0, peer: Peer::Slot(mobile), frame });
            Ok(())
        } else {
            Err(Drop::MsNoRoom)
        }
    }

    fn receive(
        &mut self,
        _: &mut Context<'_>,
        (_, peer): (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        out.push(Output::Indication(Self::indication(peer, frame)?));
        Ok(())
    }
}

impl UmBearer {
    fn indication(peer: Peer, mut frame: Frame) -> Result<Indication, Refused> {
        let mobile = match peer {
            Peer::Slot(index) if index != BROADCAST => Some(index),
            Peer::Slot(_) | Peer::Udp(_) | Peer::Ethernet(_) | Peer::Link => None,
        };
        let malformed = Refused::as_drop(Drop::UmMalformed);
        let header =
            UmHeader::parse(&frame).map_err(|error| Refused { mobile, error: Some(error), ..malformed })?;
        if !matches!(peer, Peer::Slot(_)) {
            return Err(Refused::as_drop(Drop::MsUnknownMobile));
        }
        let UmHeader { kind, cell, tlli, .. } = header;
        let _ = frame.pull(HEADER_LEN);
        match kind {
            UmKind::LlPdu => Ok(Indication::Unitdata(Unitdata { mobile, cell, tlli, ll_pdu: frame })),
            UmKind::PagingPs => {
                let identity = PagedIdentity::parse(&frame).map_err(|_| malformed)?;
                Ok(Indication::PagingPs { cell, identity })
            }
            UmKind::PagingCs => Ok(Indication::PagingCs),
            UmKind::SuspendAck => {
                let reference = frame.first().copied().ok_or(malformed)?;
                Ok(Indication::Suspended { mobile, reference })
            }
            // These go the other way.
            UmKind::Suspend | UmKind::Resume | UmKind::CampOn | UmKind::Away => Err(malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        for kind in UmKind::ALL {
            for priority in [None, Some(RadioPriority::One), Some(RadioPriority::Four)] {
                let header = UmHeader { kind, cell: 0x0102, tlli: Tlli(0xc000_0003), priority };
                assert_eq!(UmHeader::parse(&header.emit()), Ok(header));
            }
        }
        assert!(UmHeader::parse(&[8, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!((0..HEADER_LEN).all(|n| UmHeader::parse(&[0; HEADER_LEN][..n]).is_err()));
    }

    #[test]
    fn paged_identities_come_back() {
        let identities = [
            PagedIdentity::PTmsi(PTmsi(0xc123_4567)),
            PagedIdentity::Imsi("001010000000001".parse().unwrap()),
        ];
        for identity in identities {
            let mut octets = Vec::new();
            identity.emit(&mut octets);
            assert_eq!(PagedIdentity::parse(&octets), Ok(identity));
        }
        assert!(PagedIdentity::parse(&[1, 2, 3]).is_err());
        assert!(PagedIdentity::parse(&[0xff; 8]).is_err());
    }
}
