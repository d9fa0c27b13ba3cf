//! Blocks of the radio under GSMTAP: RLC/MAC of packet channels, and what the common control channel has for them.

use super::ip::digest;
use crate::record::{AckNack, Assignment, BlockContents, DataBlock, Direction, RadioBlock};
use gannet_wire::gsmtap::{Channel, Header, PayloadType};
use gannet_wire::rlcmac::block::{Body, DownlinkHeader, Payload, UplinkHeader};
use gannet_wire::rlcmac::ccch::{CcchMessage, IaRestOctets, Resource};
use gannet_wire::rlcmac::downlink::{DownlinkMessage, UplinkAllocation};
use gannet_wire::rlcmac::element::{AckNackDescription, GlobalTfi, TfiOrTlli, UplinkAddress};
use gannet_wire::rlcmac::uplink::UplinkMessage;
use gannet_wire::rlcmac::value::{PdchSet, Timeslot};
use gannet_wire::rlcmac::{DownlinkControlBlock, UplinkControlBlock};

/// What stands under a GSMTAP header.
#[derive(Debug)]
pub enum Tapped<'a> {
    /// A block, and the data field of an RLC data block.
    Block(RadioBlock, Option<Body>),
    /// An LL-PDU.
    Llc(Direction, &'a [u8]),
    /// Nothing of packet radio.
    Other,
}

/// Reads a frame of GSMTAP.
#[must_use]
pub fn tapped<'a>(header: &Header, frame: &'a [u8]) -> Tapped<'a> {
    let direction = if header.uplink { Direction::Up } else { Direction::Down };
    match header.payload {
        PayloadType::GbLlc => return Tapped::Llc(direction, frame),
        // Some radios write a header alone where nobody sent.
        PayloadType::Um if !frame.is_empty() => {}
        _ => return Tapped::Other,
    }
    let (contents, body) = match Channel::from_octet(header.sub_type) {
        Channel::Pdtch | Channel::Pacch if header.uplink => uplink(frame),
        Channel::Pdtch | Channel::Pacch => downlink(frame),
        Channel::Rach => (BlockContents::Access, None),
        Channel::Ccch | Channel::Agch | Channel::Pch => match common(frame) {
            Some(contents) => (contents, None),
            None => return Tapped::Other,
        },
        _ => return Tapped::Other,
    };
    let block = RadioBlock {
        arfcn: header.arfcn,
        timeslot: header.timeslot & 7,
        frame_number: header.frame_number,
        direction,
        contents,
    };
    Tapped::Block(block, body)
}

fn bitmap(timeslots: PdchSet) -> u8 {
    // The message has timeslot 0 first.
    timeslots.0.reverse_bits()
}

fn of_one(timeslot: Timeslot) -> u8 {
    bitmap(PdchSet::of(timeslot))
}

fn data(body: &Body, data: DataBlock) -> (BlockContents, Option<Body>) {
    match body.contents() {
        Ok(contents) => {
            let octets: usize = contents.segments().map(|segment| segment.octets.len()).sum();
            let user_octets = u16::try_from(octets).unwrap_or(u16::MAX);
            let tlli = contents.tlli.map(|tlli| tlli.0);
            let is_filler = octets > 0 && contents.segments().all(|segment| is_dummy(segment.octets));
            let ends_before =
                contents.segments().next().is_some_and(|first| first.is_last && first.octets.is_empty());
            // The final block ends its LL-PDU without an indicator where that fills it.
            let goes_on = data.countdown != 0 && contents.segments().last().is_some_and(|last| !last.is_last);
            (
                BlockContents::Data(DataBlock { tlli, user_octets, is_filler, goes_on, ends_before, ..data }),
                Some(*body),
            )
        }
        Err(_) => (BlockContents::Unreadable, None),
    }
}

/// A dummy command of LLC and its filler (44.064, 6.4.2.2), or filler alone.
fn is_dummy(octets: &[u8]) -> bool {
    const COMMAND: [u8; 3] = [0x43, 0xc0, 0x01];
    const FILLER: u8 = 0x2b;
    let rest = octets.strip_prefix(&COMMAND).unwrap_or(octets);
    rest.iter().all(|octet| *octet == FILLER)
}

fn downlink(block: &[u8]) -> (BlockContents, Option<Body>) {
    if Payload::of(block) != Some(Payload::Data) {
        return (downlink_control(block), None);
    }
    let Ok((header, body)) = DownlinkHeader::parse(block) else { return (BlockContents::Unreadable, None) };
    let found = DataBlock {
        scheme: Some(body.scheme()),
        tfi: header.tfi,
        bsn: header.bsn,
        countdown: if header.is_final { 0 } else { 15 },
        polls_or_stalls: header.rrbp.is_some(),
        rrbp: header.rrbp,
        digest: digest(block.get(1..).unwrap_or_default()),
        ..DataBlock::default()
    };
    data(&body, found)
}

fn uplink(block: &[u8]) -> (BlockContents, Option<Body>) {
    if Payload::of(block) != Some(Payload::Data) {
        return (uplink_control(block), None);
    }
    let Ok((header, body)) = UplinkHeader::parse(block) else { return (BlockContents::Unreadable, None) };
    let found = DataBlock {
        scheme: Some(body.scheme()),
        tfi: header.tfi,
        bsn: header.bsn,
        countdown: header.countdown,
        polls_or_stalls: header.is_stalled,
        digest: digest(block.get(1..).unwrap_or_default()),
        ..DataBlock::default()
    };
    data(&body, found)
}

fn ack_nack(of: Direction, tfi: u8, report: &AckNackDescription, asks: bool) -> BlockContents {
    BlockContents::AckNack(AckNack {
        tfi,
        of,
        is_final: report.is_final,
        ssn: report.ssn.get(),
        received: report.bitmap,
        asks,
    })
}

fn downlink_control(block: &[u8]) -> BlockContents {
    let Ok(DownlinkControlBlock { message, .. }) = DownlinkControlBlock::parse(block) else {
        return BlockContents::Unreadable;
    };
    let name = message.name();
    match message {
        DownlinkMessage::Dummy(_) => BlockContents::Dummy,
        DownlinkMessage::UplinkAckNack(it) => ack_nack(Direction::Up, it.tfi.get(), &it.ack_nack, false),
        DownlinkMessage::DownlinkAssignment(it) => {
            let (through, tlli) = match it.address {
                TfiOrTlli::Tfi(by) => (Some(of_global(by)), None),
                TfiOrTlli::Tlli(tlli) => (None, Some(tlli.0)),
            };
            let old = through.filter(|(of, _)| *of == Direction::Down).map(|(_, tfi)| tfi);
            BlockContents::Assignment(Assignment {
                of: Direction::Down,
                tfi: it.tfi.map(|tfi| tfi.get()).or(old),
                tlli,
                through,
                timeslots: bitmap(it.timeslots),
                is_common: false,
            })
        }
        DownlinkMessage::UplinkAssignment(it) => {
            let (through, tlli) = match it.address {
                UplinkAddress::Tfi(by) => (Some(of_global(by)), None),
                UplinkAddress::Tlli(tlli) => (None, Some(tlli.0)),
                _ => (None, None),
            };
            let old = through.filter(|(of, _)| *of == Direction::Up).map(|(_, tfi)| tfi);
            let (tfi, timeslots) = match &it.allocation {
                UplinkAllocation::Dynamic(dynamic) => (dynamic.tfi, slots(&dynamic.timeslots.usfs())),
                UplinkAllocation::SingleBlock(single) => (None, of_one(single.timeslot)),
                UplinkAllocation::Fixed(_) | UplinkAllocation::Extension(_) => (None, 0),
            };
            BlockContents::Assignment(Assignment {
                of: Direction::Up,
                tfi: tfi.map(|tfi| tfi.get()).or(old),
                tlli,
                through,
                timeslots,
                is_common: false,
            })
        }
        DownlinkMessage::TimeslotReconfigure(it) => {
            let of = match it.address {
                GlobalTfi::Downlink(_) => Direction::Down,
                GlobalTfi::Uplink(_) => Direction::Up,
            };
            let tfi = match of {
                Direction::Down => it.downlink_tfi,
                Direction::Up => it.uplink_tfi,
            };
            BlockContents::Assignment(Assignment {
                of,
                tfi: Some(tfi.unwrap_or(it.address.tfi()).get()),
                tlli: None,
                through: Some(of_global(it.address)),
                timeslots: bitmap(it.downlink_timeslots),
                is_common: false,
            })
        }
        _ => BlockContents::Control { name, tlli: None },
    }
}

const fn of_global(tfi: GlobalTfi) -> (Direction, u8) {
    match tfi {
        GlobalTfi::Downlink(tfi) => (Direction::Down, tfi.get()),
        GlobalTfi::Uplink(tfi) => (Direction::Up, tfi.get()),
    }
}

fn slots<T>(usfs: &[Option<T>; 8]) -> u8 {
    usfs.iter().enumerate().filter(|(_, usf)| usf.is_some()).fold(0, |set, (slot, _)| set | 1 << slot)
}

fn uplink_control(block: &[u8]) -> BlockContents {
    let Ok(UplinkControlBlock { message, .. }) = UplinkControlBlock::parse(block) else {
        return BlockContents::Unreadable;
    };
    let name = message.name();
    let tlli = match message {
        UplinkMessage::DownlinkAckNack(it) => {
            return ack_nack(Direction::Down, it.tfi.get(), &it.ack_nack, it.request.is_some());
        }
        UplinkMessage::Dummy(_) => return BlockContents::Dummy,
        UplinkMessage::ControlAcknowledgement(it) => Some(it.tlli),
        UplinkMessage::CellChangeFailure(it) => Some(it.tlli),
        UplinkMessage::MeasurementReport(it) => Some(it.tlli),
        UplinkMessage::CellChangeNotification(_)
        | UplinkMessage::MobileTbfStatus(_)
        | UplinkMessage::ResourceRequest(_)
        | UplinkMessage::Unknown(_) => None,
    };
    BlockContents::Control { name, tlli: tlli.map(|tlli| tlli.0) }
}

/// None where it is a message for circuits alone.
fn common(block: &[u8]) -> Option<BlockContents> {
    let message = CcchMessage::parse(block).ok()?;
    let name = message.name();
    let CcchMessage::ImmediateAssignment(assignment) = message else {
        return Some(BlockContents::Control { name, tlli: None });
    };
    let Resource::Packet { channel, .. } = assignment.resource else { return None };
    let (of, tfi, tlli) = match assignment.rest {
        IaRestOctets::Uplink(tbf) => (Direction::Up, Some(tbf.tfi.get()), None),
        IaRestOctets::SingleBlock(_) => (Direction::Up, None, None),
        IaRestOctets::Downlink(it) => (Direction::Down, it.tbf.map(|tbf| tbf.tfi.get()), Some(it.tlli.0)),
        IaRestOctets::Other(_) => return Some(BlockContents::Control { name, tlli: None }),
    };
    let timeslots = of_one(channel.timeslot);
    Some(BlockContents::Assignment(Assignment { of, tfi, tlli, through: None, timeslots, is_common: true }))
}
