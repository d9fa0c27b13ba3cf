//! NS and BSSGP on UDP.

use crate::record::{BssgpPdu, BssgpWhat, Direction, NsPdu};
use core::ops::Range;
use gannet_wire::DecodeError;
use gannet_wire::bssgp::signalling::MobileRef;
use gannet_wire::bssgp::{DlUnitdata, Message, PduType, UlUnitdata};
use gannet_wire::id::{Imsi, Tlli};
use gannet_wire::ns::{self, Unitdata};

/// What a datagram of Gb is.
#[derive(Debug)]
pub enum Gb {
    /// It controls an NS-VC.
    Ns(NsPdu),
    /// BSSGP.
    Bssgp(Bssgp),
    /// It cannot be read.
    Unreadable(&'static str, DecodeError),
}

/// A BSSGP PDU.
#[derive(Debug)]
pub struct Bssgp {
    /// As a record; its `mobile` is not known yet.
    pub pdu: BssgpPdu,
    /// Where its LL-PDU is in the datagram.
    pub ll_pdu: Option<Range<usize>>,
    /// The subscriber, where it names him.
    pub imsi: Option<Imsi>,
    /// Another TLLI of the same mobile.
    pub old_tlli: Option<u32>,
}

/// True where the contents alone make it Gb: a PDU that nothing else looks like.
#[must_use]
pub fn is_evident(datagram: &[u8]) -> bool {
    match datagram {
        [0x00, 0..=3, _, _, bssgp @ ..] => match bssgp.first() {
            Some(0x00) => DlUnitdata::parse(bssgp).is_ok(),
            Some(0x01) => UlUnitdata::parse(bssgp).is_ok(),
            Some(0x22 | 0x26 | 0x28) => Message::parse(bssgp).is_ok(),
            _ => false,
        },
        [0x02 | 0x03, _, _, ..] => ns::Pdu::parse(datagram).is_ok(),
        _ => false,
    }
}

/// Reads a datagram of NS.
#[must_use]
pub fn parse(datagram: &[u8]) -> Gb {
    if !Unitdata::is(datagram) {
        return match ns::Pdu::parse(datagram) {
            Ok(pdu) => Gb::Ns(NsPdu { name: name_of_ns(&pdu) }),
            Err(error) => Gb::Unreadable("NS", error),
        };
    }
    let header = match Unitdata::parse(datagram) {
        Ok(header) => header,
        Err(error) => return Gb::Unreadable("NS", error),
    };
    let bssgp = datagram.get(ns::UNITDATA_HEADER_LEN..).unwrap_or_default();
    let found = match PduType::of(bssgp) {
        Some(PduType::DlUnitdata) => down(header.bvci.0, bssgp),
        Some(PduType::UlUnitdata) => up(header.bvci.0, bssgp),
        _ => Message::parse(bssgp).map(|message| signalling(header.bvci.0, &message)),
    };
    found.map_or_else(|error| Gb::Unreadable("BSSGP", error.shifted(ns::UNITDATA_HEADER_LEN)), Gb::Bssgp)
}

fn name_of_ns(pdu: &ns::Pdu) -> &'static str {
    match pdu {
        ns::Pdu::Reset { .. } => "NS-RESET",
        ns::Pdu::ResetAck { .. } => "NS-RESET-ACK",
        ns::Pdu::Block { .. } => "NS-BLOCK",
        ns::Pdu::BlockAck { .. } => "NS-BLOCK-ACK",
        ns::Pdu::Unblock => "NS-UNBLOCK",
        ns::Pdu::UnblockAck => "NS-UNBLOCK-ACK",
        ns::Pdu::Alive => "NS-ALIVE",
        ns::Pdu::AliveAck => "NS-ALIVE-ACK",
        ns::Pdu::Status(_) => "NS-STATUS",
        ns::Pdu::Sns(_) => "SNS",
    }
}

fn shifted(range: &Range<usize>) -> Range<usize> {
    range.start + ns::UNITDATA_HEADER_LEN..range.end + ns::UNITDATA_HEADER_LEN
}

fn octets(range: &Range<usize>) -> u32 {
    u32::try_from(range.len()).unwrap_or(u32::MAX)
}

fn down(bvci: u16, bssgp: &[u8]) -> Result<Bssgp, DecodeError> {
    let (header, range) = DlUnitdata::parse(bssgp)?;
    let what = BssgpWhat::Unitdata {
        direction: Direction::Down,
        octets: octets(&range),
        lifetime_cs: Some(header.lifetime.0),
        cell: None,
    };
    let pdu = BssgpPdu { name: "DL-UNITDATA", bvci, tlli: Some(header.tlli.0), mobile: None, what };
    let old_tlli = header.old_tlli.map(|tlli| tlli.0);
    Ok(Bssgp { pdu, ll_pdu: Some(shifted(&range)), imsi: header.imsi, old_tlli })
}

fn up(bvci: u16, bssgp: &[u8]) -> Result<Bssgp, DecodeError> {
    let (header, range) = UlUnitdata::parse(bssgp)?;
    let what = BssgpWhat::Unitdata {
        direction: Direction::Up,
        octets: octets(&range),
        lifetime_cs: None,
        cell: Some(header.cell.to_octets()),
    };
    let pdu = BssgpPdu { name: "UL-UNITDATA", bvci, tlli: Some(header.tlli.0), mobile: None, what };
    Ok(Bssgp { pdu, ll_pdu: Some(shifted(&range)), imsi: None, old_tlli: None })
}

fn signalling(bvci: u16, message: &Message) -> Bssgp {
    let mut tlli: Option<Tlli> = None;
    let mut imsi = None;
    let what = match message {
        Message::FlowControlBvc(it) => BssgpWhat::FlowControlBvc {
            bmax_octets: it.bmax_octets(),
            leak_bits_per_s: it.leak_bits_per_s(),
            ms_bmax_octets: it.bmax_default_ms_octets(),
            ms_leak_bits_per_s: it.leak_default_ms_bits_per_s(),
        },
        Message::FlowControlMs(it) => {
            tlli = Some(it.tlli);
            BssgpWhat::FlowControlMs { bmax_octets: it.bmax_octets(), leak_bits_per_s: it.leak_bits_per_s() }
        }
        Message::FlushLl { tlli: whose, old_bvci, new_bvci, .. } => {
            tlli = Some(*whose);
            BssgpWhat::FlushLl { old_bvci: old_bvci.0, new_bvci: new_bvci.map(|bvci| bvci.0) }
        }
        Message::FlushLlAck(it) => {
            tlli = Some(it.tlli);
            BssgpWhat::FlushLlAck { is_transferred: it.new_bvci.is_some(), octets: it.octets }
        }
        Message::LlcDiscarded(it) => {
            tlli = Some(it.tlli);
            BssgpWhat::Discarded { frames: it.frames, octets: it.octets }
        }
        Message::PagingPs(it) => {
            imsi = Some(it.imsi);
            BssgpWhat::Paging { imsi: it.imsi, ptmsi: it.ptmsi }
        }
        Message::RaCapability { tlli: whose, .. }
        | Message::RaCapabilityUpdate { tlli: whose, .. }
        | Message::Suspend { tlli: whose, .. }
        | Message::SuspendAck { tlli: whose, .. }
        | Message::SuspendNack { tlli: whose, .. }
        | Message::Resume { tlli: whose, .. }
        | Message::ResumeAck { tlli: whose, .. }
        | Message::ResumeNack { tlli: whose, .. }
        | Message::FlowControlMsAck { tlli: whose, .. } => {
            tlli = Some(*whose);
            BssgpWhat::Other
        }
        Message::RadioStatus { mobile: MobileRef::Tlli(whose), .. } => {
            tlli = Some(*whose);
            BssgpWhat::Other
        }
        Message::RaCapabilityUpdateAck(it) => {
            (tlli, imsi) = (Some(it.tlli), it.imsi);
            BssgpWhat::Other
        }
        _ => BssgpWhat::Other,
    };
    let name = message.pdu_type().text().unwrap_or("unknown");
    let pdu = BssgpPdu { name, bvci, tlli: tlli.map(|tlli| tlli.0), mobile: None, what };
    Bssgp { pdu, ll_pdu: None, imsi, old_tlli: None }
}
