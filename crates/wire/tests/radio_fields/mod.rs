//! A capture of a radio in GSMTAP: what our decoder reads of each block, against what Wireshark does, field by field.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code fails by panicking")]

use gannet_testkit::tshark::Rows;
use gannet_wire::gsmtap::{Channel, Header};
use gannet_wire::rlcmac::block::{DownlinkHeader, Payload, UplinkHeader};
use gannet_wire::rlcmac::ccch::{
    CcchMessage, IaRestOctets, ImmediateAssignment, PacketChannelFrequencies, Resource,
};
use gannet_wire::rlcmac::downlink::{UplinkAllocation, UplinkTimeslots};
use gannet_wire::rlcmac::element::{AckNackDescription, GlobalTfi, TfiOrTlli, UplinkAddress};
use gannet_wire::rlcmac::uplink::RequestAddress;
use gannet_wire::rlcmac::value::ReducedFrame;
use gannet_wire::rlcmac::{DownlinkControlBlock, DownlinkMessage, UplinkControlBlock, UplinkMessage};

/// All fields that are asked for.
const FIELDS: &[&str] = &[
    "gsmtap.arfcn",
    "gsmtap.chan_type",
    "gsmtap.frame_nr",
    "gsmtap.snr_db",
    "gsmtap.ts",
    "gsmtap.uplink",
    "gsm_rlcmac.bsn",
    "gsm_rlcmac.dl.control_ack",
    "gsm_rlcmac.dl.final_ack_indication",
    "gsm_rlcmac.dl.gprs_channel_coding_command",
    "gsm_rlcmac.dl.message_type",
    "gsm_rlcmac.dl.pr",
    "gsm_rlcmac.dl.rlc_mode",
    "gsm_rlcmac.dl.starting_sequence_number",
    "gsm_rlcmac.dl.tfi",
    "gsm_rlcmac.dl.timeslot_allocation",
    "gsm_rlcmac.dl_payload_type",
    "gsm_rlcmac.fbi",
    "gsm_rlcmac.li",
    "gsm_rlcmac.message_type_6",
    "gsm_rlcmac.message_type_9",
    "gsm_rlcmac.pi",
    "gsm_rlcmac.rrbp",
    "gsm_rlcmac.s_p",
    "gsm_rlcmac.ti",
    "gsm_rlcmac.tlli",
    "gsm_rlcmac.ul.channel_request_description_rlc_octet_count",
    "gsm_rlcmac.ul.cv",
    "gsm_rlcmac.ul.data_si",
    "gsm_rlcmac.ul.message_type",
    "gsm_rlcmac.ul.packet_control_ack_ctrl_ack",
    "gsm_rlcmac.ul.retry",
    "gsm_rlcmac.ul.tfi",
    "gsm_rlcmac.ul_payload_type",
    "gsm_rlcmac.usf",
    "gsm_a.rr.T1prim",
    "gsm_a.rr.T2",
    "gsm_a.rr.T3",
    "gsm_a.rr.dedicated_mode_or_tbf",
    "gsm_a.rr.gprs_cs",
    "gsm_a.rr.l2_pseudo_len",
    "gsm_a.rr.ra",
    "gsm_a.rr.single_channel_arfcn",
    "gsm_a.rr.tbf.T1prim",
    "gsm_a.rr.tbf.T2",
    "gsm_a.rr.tbf.T3",
    "gsm_a.rr.tfi_assignment",
    "gsm_a.rr.timeslot",
    "gsm_a.rr.tlli",
    "gsm_a.rr.usf",
];

/// Names of fields and their values, in the order in which they stand in the block.
type Fields = Vec<(&'static str, Vec<u64>)>;

/// A block of a capture that Wireshark reads as we do.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Of the capture.
    pub interface: String,
    /// What is said of it.
    pub comment: String,
    /// The header of GSMTAP.
    pub header: Header,
    /// The block.
    pub octets: Vec<u8>,
}

/// Compares all blocks of a capture with what Wireshark says of them, and returns them in their order. `dissect` gives the
/// values of these fields, a row for each frame.
///
/// # Panics
/// Where both do not read the same, or Wireshark finds a frame malformed.
pub fn compare(dissect: impl FnOnce(&[&str]) -> Rows) -> Vec<Seen> {
    let mut fields =
        vec!["frame.number", "frame.interface_name", "frame.comment", "udp.payload", "_ws.malformed"];
    let own = fields.len();
    fields.extend(FIELDS);
    let mut all = Vec::new();
    let mut wrong = Vec::new();
    for row in dissect(&fields) {
        let value = |place: usize| row.get(place).map(String::as_str).unwrap_or_default();
        let payload = unhex(value(3));
        let (header, at) = Header::parse(&payload).unwrap();
        let octets = payload.get(at..).unwrap_or_default().to_vec();
        for (name, expected) in expected(&header, &octets) {
            let place = FIELDS.iter().position(|field| *field == name);
            let place = own + place.unwrap_or_else(|| panic!("{name} is not asked for"));
            let said = numbers(value(place));
            if said != expected {
                wrong.push(format!("frame {}: {name} is {said:?}, not {expected:?}", value(0)));
            }
        }
        if !value(4).is_empty() {
            wrong.push(format!("frame {} is malformed", value(0)));
        }
        let (interface, comment) = (value(1).to_owned(), value(2).to_owned());
        all.push(Seen { interface, comment, header, octets });
    }
    let first: Vec<_> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {} frames:\n{}", wrong.len(), all.len(), first.join("\n"));
    all
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_hexdigit).collect();
    let octet = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn numbers(values: &str) -> Vec<u64> {
    let number = |value: &str| match (value, value.strip_prefix("0x")) {
        ("True", _) => 1,
        ("False", _) => 0,
        (_, Some(hex)) => u64::from_str_radix(hex, 16).unwrap(),
        (_, None) => value.parse().unwrap_or_else(|_| panic!("not a number: {value}")),
    };
    values.split(',').filter(|value| !value.is_empty()).map(number).collect()
}

/// What Wireshark should say.
fn expected(header: &Header, octets: &[u8]) -> Fields {
    let mut fields: Fields = vec![
        ("gsmtap.arfcn", vec![header.arfcn.into()]),
        ("gsmtap.chan_type", vec![header.sub_type.into()]),
        ("gsmtap.frame_nr", vec![header.frame_number.into()]),
        ("gsmtap.snr_db", vec![u64::try_from(header.snr_db).unwrap()]),
        ("gsmtap.ts", vec![header.timeslot.into()]),
        ("gsmtap.uplink", vec![header.uplink.into()]),
    ];
    let is_data = Payload::of(octets) == Some(Payload::Data);
    match (Channel::from_octet(header.sub_type), header.uplink) {
        (Channel::Pdtch, false) => downlink_data(octets, &mut fields),
        (Channel::Pdtch, true) => uplink_data(octets, &mut fields),
        (Channel::Pacch, is_uplink) => {
            assert!(!is_data, "a data block on PACCH");
            if let (true, [_] | [_, _]) = (is_uplink, octets) {
                acknowledgement_burst(octets, &mut fields)
            } else if is_uplink {
                uplink_control(octets, &mut fields)
            } else {
                downlink_control(octets, &mut fields)
            }
        }
        (Channel::Agch | Channel::Pch, false) => common(octets, &mut fields),
        // Wireshark shows the octet of an access burst as it is.
        (Channel::Rach, true) => assert_eq!(octets.len(), 1),
        (channel, is_uplink) => panic!("{channel:?}, uplink {is_uplink}"),
    }
    fields
}

/// The length indicators of a data field.
fn lengths(octets: &[u8]) -> Vec<u64> {
    let has_some = octets.get(2).is_some_and(|bsn| bsn & 1 == 0);
    let mut all = Vec::new();
    for octet in octets.get(3..).unwrap_or_default().iter().filter(|_| has_some) {
        all.push(u64::from(octet >> 2));
        if octet & 1 == 1 {
            break;
        }
    }
    all
}

fn downlink_data(octets: &[u8], fields: &mut Fields) {
    let (header, body) = DownlinkHeader::parse(octets).unwrap();
    body.contents().unwrap();
    fields.extend([
        ("gsm_rlcmac.dl_payload_type", vec![0]),
        ("gsm_rlcmac.usf", vec![header.usf.into()]),
        ("gsm_rlcmac.s_p", vec![header.rrbp.is_some().into()]),
        ("gsm_rlcmac.rrbp", vec![header.rrbp.unwrap_or_default().into()]),
        ("gsm_rlcmac.dl.pr", vec![header.power_reduction.into()]),
        ("gsm_rlcmac.dl.tfi", vec![header.tfi.into()]),
        ("gsm_rlcmac.fbi", vec![header.is_final.into()]),
        ("gsm_rlcmac.bsn", vec![header.bsn.into()]),
        ("gsm_rlcmac.li", lengths(octets)),
    ]);
}

fn uplink_data(octets: &[u8], fields: &mut Fields) {
    let (header, body) = UplinkHeader::parse(octets).unwrap();
    let contents = body.contents().unwrap();
    fields.extend([
        ("gsm_rlcmac.ul_payload_type", vec![0]),
        ("gsm_rlcmac.ul.cv", vec![header.countdown.into()]),
        ("gsm_rlcmac.ul.data_si", vec![header.is_stalled.into()]),
        ("gsm_rlcmac.ul.retry", vec![header.is_retry.into()]),
        ("gsm_rlcmac.pi", vec![contents.packet_flow.is_some().into()]),
        ("gsm_rlcmac.ul.tfi", vec![header.tfi.into()]),
        ("gsm_rlcmac.ti", vec![contents.tlli.is_some().into()]),
        ("gsm_rlcmac.bsn", vec![header.bsn.into()]),
        ("gsm_rlcmac.tlli", contents.tlli.iter().map(|tlli| tlli.0.into()).collect()),
        ("gsm_rlcmac.li", lengths(octets)),
    ]);
}

/// TFIs uplink and downlink, and TLLIs, by which a mobile is addressed.
type Address = (Vec<u64>, Vec<u64>, Vec<u64>);

fn address(to: TfiOrTlli) -> Address {
    match to {
        TfiOrTlli::Tfi(GlobalTfi::Uplink(tfi)) => (vec![tfi.get().into()], vec![], vec![]),
        TfiOrTlli::Tfi(GlobalTfi::Downlink(tfi)) => (vec![], vec![tfi.get().into()], vec![]),
        TfiOrTlli::Tlli(tlli) => (vec![], vec![], vec![tlli.0.into()]),
    }
}

fn report(report: &AckNackDescription, fields: &mut Fields) {
    fields.extend([
        ("gsm_rlcmac.dl.final_ack_indication", vec![report.is_final.into()]),
        ("gsm_rlcmac.dl.starting_sequence_number", vec![report.ssn.get().into()]),
    ]);
}

fn downlink_control(octets: &[u8], fields: &mut Fields) {
    let block = DownlinkControlBlock::parse(octets).unwrap();
    let mut usfs = vec![block.header.usf.get().into()];
    fields.extend([
        ("gsm_rlcmac.dl_payload_type", vec![1]),
        ("gsm_rlcmac.s_p", vec![block.header.poll.is_some().into()]),
        ("gsm_rlcmac.rrbp", vec![block.header.poll.map_or(0, |poll| poll as u64)]),
        ("gsm_rlcmac.dl.message_type", vec![block.message.message_type().into()]),
    ]);
    let mut addressed = |(up, down, tllis): Address| {
        fields.extend([("gsm_rlcmac.ul.tfi", up), ("gsm_rlcmac.dl.tfi", down), ("gsm_rlcmac.tlli", tllis)]);
    };
    match &block.message {
        DownlinkMessage::DownlinkAssignment(message) => {
            let (up, mut down, tllis) = address(message.address);
            down.extend(message.tfi.map(|tfi| u64::from(tfi.get())));
            addressed((up, down, tllis));
            fields.extend([
                ("gsm_rlcmac.dl.control_ack", vec![message.control_ack.into()]),
                ("gsm_rlcmac.dl.rlc_mode", vec![message.rlc_mode as u64]),
                ("gsm_rlcmac.dl.timeslot_allocation", vec![message.timeslots.0.into()]),
            ]);
        }
        DownlinkMessage::UplinkAssignment(message) => {
            let (mut up, down, tllis) = match message.address {
                UplinkAddress::Tfi(tfi) => address(TfiOrTlli::Tfi(tfi)),
                UplinkAddress::Tlli(tlli) => address(TfiOrTlli::Tlli(tlli)),
                UplinkAddress::Tqi(_) | UplinkAddress::Request(_) => Address::default(),
            };
            if let UplinkAllocation::Dynamic(dynamic) = &message.allocation {
                up.extend(dynamic.tfi.map(|tfi| u64::from(tfi.get())));
                if let UplinkTimeslots::Usf(all) = &dynamic.timeslots {
                    usfs.extend(all.iter().flatten().map(|usf| u64::from(usf.get())));
                }
            }
            addressed((up, down, tllis));
            fields.push(("gsm_rlcmac.dl.gprs_channel_coding_command", vec![message.coding.command().into()]));
        }
        DownlinkMessage::UplinkAckNack(message) => {
            let tllis = message.contention_tlli.iter().map(|tlli| tlli.0.into()).collect();
            addressed((vec![message.tfi.get().into()], vec![], tllis));
            fields.push(("gsm_rlcmac.dl.gprs_channel_coding_command", vec![message.coding.command().into()]));
            report(&message.ack_nack, fields);
        }
        _ => {}
    }
    fields.push(("gsm_rlcmac.usf", usfs));
}

/// PACKET CONTROL ACKNOWLEDGEMENT as access bursts: 8 bits, or 11 that stand first in two octets.
fn acknowledgement_burst(octets: &[u8], fields: &mut Fields) {
    let (field, burst) = match *octets {
        [burst] => ("gsm_rlcmac.message_type_6", u16::from(burst)),
        [high, low] => ("gsm_rlcmac.message_type_9", u16::from_be_bytes([high, low]) >> 5),
        _ => panic!("no access burst: {octets:?}"),
    };
    fields.extend([
        (field, vec![u64::from(burst >> 2)]),
        ("gsm_rlcmac.ul.packet_control_ack_ctrl_ack", vec![u64::from(burst & 3)]),
    ]);
}

fn uplink_control(octets: &[u8], fields: &mut Fields) {
    let block = UplinkControlBlock::parse(octets).unwrap();
    fields.extend([
        ("gsm_rlcmac.ul_payload_type", vec![1]),
        ("gsm_rlcmac.ul.retry", vec![block.is_retry.into()]),
        ("gsm_rlcmac.ul.message_type", vec![block.message.message_type().into()]),
    ]);
    let octets_of = "gsm_rlcmac.ul.channel_request_description_rlc_octet_count";
    match &block.message {
        UplinkMessage::DownlinkAckNack(message) => {
            report(&message.ack_nack, fields);
            let request = message.request.iter().map(|request| request.octets.get().into()).collect();
            fields.extend([("gsm_rlcmac.dl.tfi", vec![message.tfi.get().into()]), (octets_of, request)]);
        }
        UplinkMessage::ControlAcknowledgement(message) => fields.extend([
            ("gsm_rlcmac.tlli", vec![message.tlli.0.into()]),
            ("gsm_rlcmac.ul.packet_control_ack_ctrl_ack", vec![message.ctrl_ack.get().into()]),
        ]),
        UplinkMessage::ResourceRequest(message) => {
            if let RequestAddress::Tlli(tlli) = message.address {
                fields.push(("gsm_rlcmac.tlli", vec![tlli.0.into()]));
            }
            fields.push((octets_of, vec![message.request.octets.get().into()]));
        }
        UplinkMessage::Dummy(message) => fields.push(("gsm_rlcmac.tlli", vec![message.tlli.0.into()])),
        _ => {}
    }
}

fn common(octets: &[u8], fields: &mut Fields) {
    if let CcchMessage::ImmediateAssignment(message) = CcchMessage::parse(octets).unwrap() {
        assignment(octets, &message, fields);
    }
}

/// T1', T2 and T3 under these names.
fn frame(names: [&'static str; 3], frame: ReducedFrame) -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    let parts = [frame.0 >> 11, frame.0 & 0x1f, frame.0 >> 5 & 0x3f];
    names.into_iter().zip(parts.map(|part| vec![u64::from(part)]))
}

fn assignment(octets: &[u8], message: &ImmediateAssignment, fields: &mut Fields) {
    fields.extend(frame(["gsm_a.rr.T1prim", "gsm_a.rr.T2", "gsm_a.rr.T3"], message.request.frame));
    fields.extend([
        ("gsm_a.rr.l2_pseudo_len", octets.first().map(|first| u64::from(first >> 2)).into_iter().collect()),
        ("gsm_a.rr.ra", vec![message.request.access.into()]),
    ]);
    if let Resource::Packet { is_downlink, channel } = &message.resource {
        let kind = if *is_downlink { 3 } else { 1 };
        fields.extend([
            ("gsm_a.rr.dedicated_mode_or_tbf", vec![kind]),
            ("gsm_a.rr.timeslot", vec![channel.timeslot.get().into()]),
        ]);
        if let PacketChannelFrequencies::Arfcn(arfcn) = channel.frequencies {
            fields.push(("gsm_a.rr.single_channel_arfcn", vec![arfcn.get().into()]));
        }
    }
    match &message.rest {
        IaRestOctets::Uplink(tbf) => fields.extend([
            ("gsm_a.rr.tfi_assignment", vec![tbf.tfi.get().into()]),
            ("gsm_a.rr.usf", vec![tbf.usf.get().into()]),
            ("gsm_a.rr.gprs_cs", vec![tbf.coding.command().into()]),
        ]),
        IaRestOctets::SingleBlock(block) => {
            let names = ["gsm_a.rr.tbf.T1prim", "gsm_a.rr.tbf.T2", "gsm_a.rr.tbf.T3"];
            fields.extend(frame(names, block.starting_time));
        }
        IaRestOctets::Downlink(downlink) => {
            fields.push(("gsm_a.rr.tlli", vec![downlink.tlli.0.into()]));
            let tfi = downlink.tbf.map(|tbf| u64::from(tbf.tfi.get()));
            fields.push(("gsm_a.rr.tfi_assignment", tfi.into_iter().collect()));
        }
        IaRestOctets::Other(_) => {}
    }
}
