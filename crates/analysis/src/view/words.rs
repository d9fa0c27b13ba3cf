//! Records in words.

use crate::join::mobiles::Mobile;
use crate::record::{
    BlockContents, BssgpPdu, BssgpWhat, Carrier, DataBlock, Direction, Fcs, IpSummary, Kind, LlPdu, Packet,
    RadioBlock, Record, SnPdu, TcpSegment,
};
use gannet_wire::llc::{Control, Supervisory, UFunction};
use gannet_wire::sndcp::Pdu;

/// A kind of place in one word.
#[must_use]
pub const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Radio => "Um",
        Kind::Gb => "Gb",
        Kind::Gn => "Gn",
        Kind::Ip => "IP",
    }
}

/// The best name of a mobile: IMSI, else TLLI, else address.
#[must_use]
pub fn mobile(mobile: &Mobile) -> String {
    match (mobile.imsi, mobile.tllis.last(), mobile.addresses.first()) {
        (Some(imsi), _, _) => format!("IMSI {imsi}"),
        (None, Some(tlli), _) => format!("TLLI {tlli:08x}"),
        (None, None, Some(address)) => format!("address {address}"),
        (None, None, None) => "unnamed".to_owned(),
    }
}

/// What a record is.
#[must_use]
pub fn words(record: &Record) -> String {
    match record {
        Record::Radio(block) => radio(block),
        Record::Ns(pdu) => pdu.name.to_owned(),
        Record::Bssgp(pdu) => bssgp(pdu),
        Record::Llc(ll_pdu) => llc(ll_pdu),
        Record::Layer3(layer3) => layer3.message.name().to_owned(),
        Record::Segment(segment) => sndcp(segment),
        Record::Packet(it) => packet(it),
        Record::Tcp(segment) => tcp(segment),
        Record::Gtp(message) => {
            let cause = message.cause.map_or_else(String::new, |cause| format!(", cause {cause}"));
            format!("{}, TEID {:08x}{cause}", message.name, message.teid)
        }
        Record::Unreadable(unreadable) => format!("cannot be read: {}", unreadable.why),
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "uplink",
        Direction::Down => "downlink",
    }
}

fn radio(block: &RadioBlock) -> String {
    let what = match &block.contents {
        BlockContents::Data(data) => data_block(block.direction, data),
        BlockContents::AckNack(report) => {
            let end = if report.is_final { ", final" } else { "" };
            format!("report on {} TFI {}, SSN {}{end}", way(report.of), report.tfi, report.ssn)
        }
        BlockContents::Assignment(it) => {
            let slots: Vec<_> =
                (0..8).filter(|slot| it.timeslots >> slot & 1 == 1).map(|it| it.to_string()).collect();
            let tfi = it.tfi.map_or_else(String::new, |tfi| format!(", TFI {tfi}"));
            let tlli = it.tlli.map_or_else(String::new, |tlli| format!(", TLLI {tlli:08x}"));
            format!("assignment, {}, timeslots {}{tfi}{tlli}", way(it.of), slots.join(" "))
        }
        BlockContents::Control { name, tlli } => {
            let tlli = tlli.map_or_else(String::new, |tlli| format!(", TLLI {tlli:08x}"));
            format!("{name}{tlli}")
        }
        BlockContents::Dummy => "dummy block".to_owned(),
        BlockContents::Access => "access burst".to_owned(),
        BlockContents::Unreadable => "block that cannot be read".to_owned(),
    };
    format!("timeslot {}, frame {}: {what}", block.timeslot, block.frame_number)
}

fn data_block(direction: Direction, data: &DataBlock) -> String {
    let scheme = data.scheme.map_or_else(|| "?".to_owned(), |scheme| scheme.to_string());
    let mark = match (direction, data.polls_or_stalls) {
        (_, false) => "",
        (Direction::Up, true) => ", stalled",
        (Direction::Down, true) => ", polls",
    };
    let last = if data.countdown == 0 { ", last" } else { "" };
    format!("data {scheme}, TFI {}, BSN {}, {} octets{mark}{last}", data.tfi, data.bsn, data.user_octets)
}

fn bssgp(pdu: &BssgpPdu) -> String {
    let tlli = pdu.tlli.map_or_else(String::new, |tlli| format!(", TLLI {tlli:08x}"));
    let more = match &pdu.what {
        BssgpWhat::Unitdata { octets, .. } => format!(", LL-PDU of {octets} octets"),
        BssgpWhat::FlowControlBvc { bmax_octets, leak_bits_per_s, .. }
        | BssgpWhat::FlowControlMs { bmax_octets, leak_bits_per_s } => {
            format!(", Bmax {bmax_octets} octets, R {leak_bits_per_s} bit/s")
        }
        BssgpWhat::FlushLl { old_bvci, new_bvci: Some(new) } => format!(", from BVC {old_bvci} to BVC {new}"),
        BssgpWhat::FlushLl { old_bvci, new_bvci: None } => format!(", delete what BVC {old_bvci} has"),
        BssgpWhat::FlushLlAck { is_transferred, octets } => {
            let what = if *is_transferred { "transferred" } else { "deleted" };
            format!(", {octets} octets {what}")
        }
        BssgpWhat::Discarded { frames, octets } => format!(", {frames} LL-PDUs of {octets} octets"),
        BssgpWhat::Paging { imsi, ptmsi } => {
            let ptmsi = ptmsi.map_or_else(String::new, |ptmsi| format!(", P-TMSI {ptmsi:08x}"));
            format!(", IMSI {imsi}{ptmsi}")
        }
        BssgpWhat::Other => String::new(),
    };
    format!("{} on BVC {}{tlli}{more}", pdu.name, pdu.bvci)
}

fn supervisory(supervisory: &Supervisory) -> &'static str {
    match supervisory {
        Supervisory::Rr => "RR",
        Supervisory::Ack => "ACK",
        Supervisory::Rnr => "RNR",
        Supervisory::Sack(_) => "SACK",
    }
}

fn llc(ll_pdu: &LlPdu) -> String {
    let what = match ll_pdu.header.map(|header| (header.sapi, header.control)) {
        None => "LL-PDU without a readable header".to_owned(),
        Some((sapi, control)) => {
            let control = match control {
                Control::I { ns, nr, supervisory: s, .. } => {
                    format!("I+{} N(S) {ns} N(R) {nr}", supervisory(&s))
                }
                Control::S { nr, supervisory: s, .. } => format!("{} N(R) {nr}", supervisory(&s)),
                Control::Ui { nu, .. } => format!("UI N(U) {nu}"),
                Control::U { function, .. } => match function {
                    UFunction::Null => "NULL",
                    UFunction::Dm => "DM",
                    UFunction::Disc => "DISC",
                    UFunction::Ua => "UA",
                    UFunction::Sabm => "SABM",
                    UFunction::Frmr => "FRMR",
                    UFunction::Xid => "XID",
                    UFunction::Other(_) => "unknown U frame",
                }
                .to_owned(),
            };
            format!("SAPI {sapi} {control}")
        }
    };
    let fcs = match ll_pdu.fcs {
        Fcs::Right => "",
        Fcs::Wrong => ", FCS wrong",
        Fcs::Ciphered => ", ciphered",
        Fcs::Cut => ", cut by the capture",
    };
    let blocks = if ll_pdu.blocks > 0 { format!(", in {} blocks", ll_pdu.blocks) } else { String::new() };
    format!("{what}, {} octets{blocks}{fcs}", ll_pdu.octets)
}

fn sndcp(segment: &SnPdu) -> String {
    let more = if segment.header.more { ", more follow" } else { "" };
    let which = match segment.header.pdu {
        Pdu::Unitdata { segment, number, .. } => format!("SN-UNITDATA, N-PDU {number}, segment {segment}"),
        Pdu::Data { first: Some((_, number)) } => format!("SN-DATA, N-PDU {number}"),
        Pdu::Data { first: None } => "SN-DATA".to_owned(),
    };
    format!("NSAPI {} {which}, {} octets{more}", segment.header.nsapi, segment.octets)
}

fn packet(packet: &Packet) -> String {
    let what = match &packet.ip {
        Some(ip) => ip_words(ip),
        None => "packet whose headers cannot be read".to_owned(),
    };
    let carrier = match packet.carrier {
        Carrier::Segments { nsapi, number, count } => {
            format!(", N-PDU {number} of NSAPI {nsapi} in {count} SN-PDUs")
        }
        Carrier::GPdu { teid, sequence: Some(sequence) } => format!(", G-PDU {sequence} of TEID {teid:08x}"),
        Carrier::GPdu { teid, sequence: None } => format!(", G-PDU of TEID {teid:08x}"),
        Carrier::Plain => String::new(),
    };
    format!("{what}, {} octets{carrier}", packet.octets)
}

/// Addresses and protocol of a packet.
pub(super) fn ip_words(ip: &IpSummary) -> String {
    let (source, destination) = (ip.source, ip.destination);
    let what = match (ip.protocol, ip.icmp_type, ip.ports) {
        (1 | 58, Some(8 | 128), Some((_, sequence))) => format!("echo request {sequence}"),
        (1 | 58, Some(0 | 129), Some((_, sequence))) => format!("echo reply {sequence}"),
        (1 | 58, ..) => "ICMP".to_owned(),
        (6, _, Some((from, to))) => format!("TCP {from} to {to}"),
        (17, _, Some((from, to))) => format!("UDP {from} to {to}"),
        (protocol, ..) => format!("protocol {protocol}"),
    };
    let fragment = if ip.is_fragment { ", fragment" } else { "" };
    format!("{source} to {destination}, {what}{fragment}")
}

fn tcp(segment: &TcpSegment) -> String {
    const NAMES: [(u8, &str); 8] =
        [(2, "SYN"), (1, "FIN"), (4, "RST"), (8, "PSH"), (16, "ACK"), (32, "URG"), (64, "ECE"), (128, "CWR")];
    let flags: Vec<_> =
        NAMES.iter().filter(|(bit, _)| segment.flags & bit != 0).map(|(_, name)| *name).collect();
    let way = if segment.is_forward { "opener to other" } else { "other to opener" };
    format!(
        "connection {}, {way}, {} sequence {} length {} acknowledges {} window {}",
        segment.connection,
        flags.join(" "),
        segment.sequence,
        segment.length,
        segment.acknowledgement,
        segment.window
    )
}
