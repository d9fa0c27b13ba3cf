//! What each fuzz target does with its octets: nothing may panic, and what parses is emitted and parses to the same again.
//!
//! The targets include this file, and so does a test of gannet-ops (`fuzz_entries`), which gives every entry some thousand
//! generated inputs wherever tests run.

use gannet_analysis::decode::link::{inside, link_type};
use gannet_analysis::decode::{self, radio};
use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings, view};
use gannet_machine::frame::FramePool;
use gannet_ops::connections::{Answers, Conversation};
use gannet_ops::ctrl::{self, Control, Dialogue, Query};
use gannet_ops::metrics::{Class, Group, Level, Metric, Rates, Source};
use gannet_proto::rlcmac::rlc::{LL_PDU_MAX, Mode, Receiver};
use gannet_proto::sndcp::rfc1144::{self, PacketType};
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};
use gannet_wire::bssgp::{DlUnitdata, UlUnitdata};
use gannet_wire::gtp::{pco, v0, v1c, v1u};
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::rlcmac::access::{AcknowledgementBurst, PacketChannelRequest8, PacketChannelRequest11};
use gannet_wire::rlcmac::bcch::SystemInformation3;
use gannet_wire::rlcmac::block::{DownlinkHeader, UplinkHeader};
use gannet_wire::rlcmac::ccch::CcchMessage;
use gannet_wire::rlcmac::cell::SystemInformation13;
use gannet_wire::rlcmac::coding::{CodingScheme, HEADER_LEN};
use gannet_wire::rlcmac::{DownlinkControlBlock, UplinkControlBlock};
use gannet_wire::{adaptation, bssgp, gsup, gtp, ipa, llc, ns, sndcp};

#[path = "links.rs"]
mod links;

pub use links::{abm, given_to_llc, sndcp_links};

/// An entry by the name of its target.
pub type Entry = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: &[Entry] = &[
    ("abm", abm),
    ("adaptation", adaptation),
    ("bssgp", bssgp),
    ("capture", capture),
    ("capture_gb", capture_gb),
    ("capture_gtp", capture_gtp),
    ("capture_ip", capture_ip),
    ("capture_radio", capture_radio),
    ("capture_tcp", capture_tcp),
    ("ctrl", ctrl),
    ("gmm", gmm),
    ("gsup", gsup),
    ("gtp", gtp),
    ("gtp_v0", gtp_v0),
    ("llc", llc),
    ("ns", ns),
    ("rfc1144", rfc1144),
    ("rlc_data", rlc_data),
    ("rlcmac", rlcmac),
    ("sm", sm),
    ("sndcp", sndcp),
    ("sndcp_links", sndcp_links),
    ("sns", sns),
    ("v42bis", v42bis),
];

/// A file of a capture, with everything in its frames: records end, and each has words.
pub fn capture(octets: &[u8]) {
    let octets = Octets::new(Box::new(std::io::Cursor::new(octets.to_vec())), false);
    let Ok(capture) = Capture::from_octets(std::path::Path::new("fuzz"), octets) else { return };
    let mut reading = Reading::new(vec![capture], Settings::default());
    while let Some(seen) = reading.next() {
        assert!(!view::words(&seen.what).is_empty());
        assert!(seen.proof.frame <= reading.counts().frames);
        assert!(usize::from(seen.place) < reading.places().len());
    }
}

/// A datagram of Gb as a listener reads it: its LL-PDU lies within.
pub fn capture_gb(octets: &[u8]) {
    let is_evident = decode::gb::is_evident(octets);
    match decode::gb::parse(octets) {
        decode::gb::Gb::Bssgp(bssgp) => {
            let ll_pdu = bssgp.ll_pdu.map(|range| octets[range].len());
            assert!(!bssgp.pdu.name.is_empty() && ll_pdu.is_none_or(|len| len < octets.len()));
        }
        decode::gb::Gb::Ns(pdu) => assert!(pdu.name.starts_with("NS-") || pdu.name == "SNS"),
        decode::gb::Gb::Unreadable(layer, why) => {
            assert!(!is_evident, "{layer}: {why}");
            assert!(matches!(layer, "NS" | "BSSGP") && !why.to_string().is_empty());
        }
    }
}

/// A datagram of GTP as a listener reads it, whole and cut short: its T-PDU lies within. The first octet says what is missing.
pub fn capture_gtp(octets: &[u8]) {
    let Some((missing, datagram)) = octets.split_first() else { return };
    for missing in [0, usize::from(*missing)] {
        match decode::gtp::parse(datagram, missing) {
            decode::gtp::Gtp::GPdu { t_pdu, version, .. } => {
                assert!(datagram.get(t_pdu).is_some() && version <= 1);
            }
            decode::gtp::Gtp::Signalling(message) => {
                assert!(!message.name.is_empty() && message.version <= 1)
            }
            decode::gtp::Gtp::Unreadable(why) => {
                assert!(missing > 0 || !decode::gtp::is_evident(datagram), "{why}");
            }
        }
    }
}

/// A frame of a link, and the IP packet in it. The first octet says which link.
pub fn capture_ip(octets: &[u8]) {
    let Some((first, frame)) = octets.split_first() else { return };
    const LINKS: [u16; 6] = [
        link_type::ETHERNET,
        link_type::LINUX_SLL,
        link_type::LINUX_SLL2,
        link_type::NULL,
        link_type::RAW,
        link_type::GSMTAP_UM,
    ];
    let decode::link::Inside::Ip(packet) = inside(LINKS[usize::from(*first) % LINKS.len()], frame) else {
        return;
    };
    let Some(ip) = decode::ip::parse(packet) else { return };
    assert!(ip.payload.len() <= packet.len() && ip.header_octets as usize <= packet.len());
    assert_eq!(ip.digest(), decode::ip::parse(packet).and_then(|again| again.digest()));
    if let Some((source, destination, payload)) = ip.udp() {
        assert!(payload.len() + 8 <= ip.payload.len());
        assert_eq!(ip.summary.ports, Some((source, destination)));
    }
}

/// What stands under a GSMTAP header, as a listener reads it.
pub fn capture_radio(octets: &[u8]) {
    let Ok((header, at)) = gannet_wire::gsmtap::Header::parse(octets) else { return };
    let frame = octets.get(at..).unwrap_or_default();
    match radio::tapped(&header, frame) {
        radio::Tapped::Block(block, body) => {
            assert!(block.timeslot < 8);
            let is_data = matches!(block.contents, gannet_analysis::record::BlockContents::Data(_));
            assert_eq!(body.is_some(), is_data);
        }
        radio::Tapped::Llc(_, ll_pdu) => assert_eq!(ll_pdu, frame),
        radio::Tapped::Other => {}
    }
}

/// A segment of TCP, whole and cut to its header: what the header says is the same.
pub fn capture_tcp(octets: &[u8]) {
    let len = u32::try_from(octets.len()).unwrap_or(u32::MAX);
    let whole = decode::tcp::parse(octets, len, len.saturating_add(20), 1);
    let Some(whole) = whole else { return };
    assert!(whole.length < len && whole.ip_octets == len + 20);
    let header = usize::from(octets[12] >> 4) * 4;
    if let Some(header) = octets.get(..header) {
        assert_eq!(decode::tcp::parse(header, len, len + 20, 1), Some(whole));
    }
}

/// PDUs of the adaptation protocol, and their messages.
pub fn adaptation(octets: &[u8]) {
    let Ok(pdu) = adaptation::Pdu::parse(octets) else { return };
    assert!(pdu.signed.len() <= octets.len());
    let header = pdu.header;
    let mut again = vec![0; header.buffer_len()];
    assert!(header.emit(pdu.payload.len(), &mut again));
    again.extend_from_slice(pdu.payload);
    if let Some(trailer) = pdu.trailer {
        again.extend(adaptation::Trailer::signed_octets(trailer.session, trailer.packet));
        again.extend(trailer.mac);
    }
    let second = adaptation::Pdu::parse(&again).map(|pdu| (pdu.header, pdu.trailer));
    assert_eq!(second, Ok((header, pdu.trailer)));
    let Ok(message) = pdu.message() else { return };
    let mut room = vec![0; octets.len() + adaptation::MESSAGE_LEN_MAX];
    if let Some(length) = message.emit(header.tlli, false, &mut room) {
        let second = adaptation::Pdu::parse(&room[..length]).and_then(|pdu| pdu.message());
        assert_eq!(second, Ok(message));
    }
}

/// BSSGP PDUs.
pub fn bssgp(octets: &[u8]) {
    if let Ok(message) = bssgp::Message::parse(octets) {
        assert_eq!(bssgp::Message::parse(&message.to_vec()).as_ref(), Ok(&message));
    }
    if let Ok((header, llc_pdu)) = UlUnitdata::parse(octets) {
        let mut again = vec![0; header.buffer_len(llc_pdu.len())];
        assert!(header.emit(llc_pdu.len(), &mut again));
        again.extend_from_slice(&octets[llc_pdu]);
        assert_eq!(UlUnitdata::parse(&again).map(|(second, _)| second), Ok(header));
    }
    if let Ok((header, llc_pdu)) = DlUnitdata::parse(octets) {
        let mut again = vec![0; header.buffer_len(llc_pdu.len())];
        assert!(header.emit(llc_pdu.len(), &mut again));
        again.extend_from_slice(&octets[llc_pdu]);
        assert_eq!(DlUnitdata::parse(&again).map(|(second, _)| second), Ok(header));
    }
}

/// GMM and SM messages of either direction: the protocol discriminator is set, the rest of the first octet is the input's.
fn layer3(discriminator: u8, octets: &[u8]) {
    let Some((first, rest)) = octets.split_first() else { return };
    let direction = if first & 1 == 0 { Direction::Uplink } else { Direction::Downlink };
    let message = [&[first & 0xf0 | discriminator], rest].concat();
    if let Ok(parsed) = L3Message::parse(direction, &message) {
        assert_eq!(L3Message::parse(direction, &parsed.to_vec()).as_ref(), Ok(&parsed));
    }
}

/// RLC data blocks, one behind the other, to receivers of both modes. The first octet says their scheme.
pub fn rlc_data(octets: &[u8]) {
    let Some((first, rest)) = octets.split_first() else { return };
    let scheme = CodingScheme::of_command(*first);
    let mut receivers = [Mode::Acknowledged, Mode::Unacknowledged].map(Receiver::new);
    let mut arrived = 0;
    for block in rest.chunks(scheme.block_octets()) {
        let downlink = DownlinkHeader::parse(block);
        if let Ok((header, body)) = downlink {
            let again = header.emit(&body);
            assert_eq!(DownlinkHeader::parse(&again), Ok((header, body)));
            assert_eq!(again[1..HEADER_LEN], block[1..HEADER_LEN]);
        }
        let Ok((header, body)) = UplinkHeader::parse(block) else { continue };
        assert_eq!(UplinkHeader::parse(&header.emit(&body)), Ok((header, body)));
        arrived += 1;
        for receiver in &mut receivers {
            let before = receiver.report();
            let taken = receiver.receive(header.bsn, header.countdown == 0, &body, |pdu| {
                assert!(pdu.octets.len() <= LL_PDU_MAX);
            });
            let is_new = taken.is_ok_and(|received| received.is_new);
            assert!(is_new || receiver.report() == before);
            assert_eq!(receiver.counts().arrived(), arrived);
        }
    }
}

/// GMM messages.
pub fn gmm(octets: &[u8]) {
    layer3(8, octets);
}

/// SM messages.
pub fn sm(octets: &[u8]) {
    layer3(10, octets);
}

/// GTPv1: header with extension headers, signalling messages, protocol configuration options.
pub fn gtp(octets: &[u8]) {
    if let Ok(header) = gtp::Header::parse(octets) {
        let payload = header.payload(octets);
        let _ = v1c::control_teid(payload);
        if let Ok(message) = gtp::Message::parse(header.message, payload) {
            let mut emitted = Vec::new();
            message.emit(&mut emitted);
            assert_eq!(gtp::Message::parse(header.message, &emitted).as_ref(), Ok(&message));
        }
    }
    if let Ok((_, _, range)) = v1u::GPdu::parse(octets) {
        assert!(octets.get(range).is_some());
    }
    if let Ok(options) = pco::parse(octets) {
        assert_eq!(pco::parse(&pco::emit(&options)).as_ref(), Ok(&options));
    }
}

/// GTPv0: header, tunnel identifier, signalling messages.
pub fn gtp_v0(octets: &[u8]) {
    let Ok((header, range)) = v0::Header::parse(octets) else { return };
    let _ = header.tid();
    let payload = &octets[range];
    let _ = v0::message::signalling_flow(payload);
    if let Ok(message) = v0::message::Message::parse(header.message, payload) {
        let mut emitted = Vec::new();
        message.emit(&mut emitted);
        assert_eq!(v0::message::Message::parse(header.message, &emitted).as_ref(), Ok(&message));
        let mut datagram = Vec::new();
        if v0::message::emit_datagram(header, &message, &mut datagram) {
            assert_eq!(v0::Header::parse(&datagram).map(|(again, _)| again), Ok(header));
        }
    }
}

/// LLC headers, XID parameters and FRMR.
pub fn llc(octets: &[u8]) {
    if let Ok(layout) = llc::Header::parse(octets) {
        let _ = layout.fcs_is_right(octets);
        assert!(octets.get(layout.info()).is_some() || layout.info().is_empty());
        let mut again = layout.header.emit().to_vec();
        again.extend_from_slice(&[0; 3]);
        if let Ok(second) = llc::Header::parse(&again) {
            assert_eq!(second.header, layout.header);
        }
    }
    if let Ok(parameters) = llc::xid::parse(octets) {
        let mut emitted = Vec::new();
        llc::xid::emit(&parameters, &mut emitted);
        assert_eq!(llc::xid::parse(&emitted).as_ref(), Ok(&parameters));
    }
    let _ = llc::FrmrInformation::parse(octets);
}

/// NS PDUs.
pub fn ns(octets: &[u8]) {
    if let Ok(header) = ns::Unitdata::parse(octets) {
        assert_eq!(header.emit(), octets[..ns::UNITDATA_HEADER_LEN]);
    }
    if let Ok(pdu) = ns::Pdu::parse(octets) {
        assert_eq!(ns::Pdu::parse(&pdu.to_vec()).as_ref(), Ok(&pdu));
    }
}

/// PDUs of the IP sub-network service, whose types are 0x0c to 0x13.
pub fn sns(octets: &[u8]) {
    let Some((first, rest)) = octets.split_first() else { return };
    ns(&[&[0x0c + first % 8], rest].concat());
}

/// SN-PDU headers and SNDCP XID blocks.
pub fn sndcp(octets: &[u8]) {
    if let Ok((header, length)) = sndcp::Header::parse(octets) {
        assert!(length <= octets.len());
        let mut again = header.emit().to_vec();
        again.extend_from_slice(&octets[length..]);
        assert_eq!(sndcp::Header::parse(&again).map(|(second, _)| second), Ok(header));
    }
    if let Ok(parameters) = sndcp::xid::parse(octets) {
        let mut emitted = Vec::new();
        sndcp::xid::emit(&parameters, &mut emitted);
        assert_eq!(sndcp::xid::parse(&emitted).as_ref(), Ok(&parameters));
    }
}

/// Octets of a control block of RLC/MAC, and of a block of CCCH and BCCH.
const RADIO_BLOCK: usize = 23;

/// RLC/MAC control blocks of both directions, blocks of CCCH and BCCH, access bursts. What is read of fewer octets than a block has
/// is written as a whole block, which comes back.
pub fn rlcmac(octets: &[u8]) {
    let (octets, second) = octets.split_at(octets.len().min(RADIO_BLOCK));
    let _ = DownlinkControlBlock::parse_segments(octets, second);
    if let Ok(block) = DownlinkControlBlock::parse(octets) {
        let whole = block.emit().expect("what is read fits");
        let second = DownlinkControlBlock::parse(&whole).expect("what is written is read");
        assert_eq!(second.message.message_type(), block.message.message_type());
        assert_eq!(second.emit(), Some(whole));
    }
    if let Ok(block) = UplinkControlBlock::parse(octets) {
        let whole = block.emit().expect("what is read fits");
        let second = UplinkControlBlock::parse(&whole).expect("what is written is read");
        assert_eq!(second.message.message_type(), block.message.message_type());
        assert_eq!(second.emit(), Some(whole));
    }
    if let Ok(message) = CcchMessage::parse(octets) {
        let whole = message.emit().expect("what is read fits");
        let second = CcchMessage::parse(&whole).expect("what is written is read");
        assert_eq!(second.emit(), Some(whole));
    }
    if let Ok(message) = SystemInformation3::parse(octets) {
        let whole = message.emit().expect("what is read fits");
        assert_eq!(SystemInformation3::parse(&whole), Ok(message));
    }
    if let Ok(message) = SystemInformation13::parse(octets) {
        let whole = message.emit().expect("what is read fits");
        let second = SystemInformation13::parse(&whole).expect("what is written is read");
        assert_eq!(second.emit(), Some(whole));
    }
    let [first, second, ..] = octets else { return };
    let burst = u16::from_be_bytes([*first, *second]) >> 5;
    if let Ok(request) = PacketChannelRequest11::parse(burst) {
        assert_eq!(request.emit(), burst);
    }
    if let Ok(request) = PacketChannelRequest8::parse(*first) {
        assert_eq!(request.emit(), *first);
    }
    if let Ok(answer) = AcknowledgementBurst::parse11(burst) {
        assert_eq!(answer.emit11(), burst);
    }
}

/// N-PDUs of several octets each, behind an octet that says how many.
fn n_pdus(mut octets: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let (first, rest) = octets.split_first()?;
        let (n_pdu, rest) = rest.split_at(usize::from(*first >> 1).min(rest.len()));
        octets = rest;
        Some((*first, n_pdu))
    })
}

/// N-PDUs whose headers are to be restored; what is, is compressed and restored again.
pub fn rfc1144(octets: &[u8]) {
    let pool = FramePool::new(1);
    let [mut other, mut again] = [rfc1144::Decompressor::new(15), rfc1144::Decompressor::new(15)];
    let mut own = rfc1144::Compressor::new(15);
    for (first, n_pdu) in n_pdus(octets) {
        let packet_type =
            if first & 1 == 0 { PacketType::UncompressedTcp } else { PacketType::CompressedTcp };
        let Some(mut frame) = pool.copy_of(n_pdu) else { return };
        if other.decompress(packet_type, &mut frame).is_ok() {
            assert!(frame.len() <= N_PDU_MAX);
            let restored = frame.to_vec();
            let packet_type = own.compress(&mut frame);
            assert_eq!(again.decompress(packet_type, &mut frame), Ok(()));
            assert_eq!(*frame, *restored);
        }
    }
    assert_eq!(rfc1144::Decompressor::try_from(Vec::from(other.clone())), Ok(other));
    let _ = rfc1144::Decompressor::try_from(octets.to_vec());
    let _ = rfc1144::Compressor::try_from(octets.to_vec());
}

/// N-PDUs of which data is to be restored, and states; the octets themselves, compressed and restored.
pub fn v42bis(octets: &[u8]) {
    let parameters = v42bis::Parameters::DEFAULT;
    let (mut other, mut restored) = (v42bis::Decompressor::new(parameters), [0; N_PDU_MAX]);
    for (first, n_pdu) in n_pdus(octets) {
        let outcome = other.decompress(n_pdu, &mut restored);
        if first & 1 == 0 && outcome.is_err() {
            other.init();
        }
    }
    assert!(v42bis::Decompressor::try_from(Vec::from(other)).is_ok());
    let _ = v42bis::Compressor::try_from(octets.to_vec());
    if let Ok(mut strange) = v42bis::Decompressor::try_from(octets.to_vec()) {
        let _ = strange.decompress(octets, &mut restored);
    }
    let (mut own, mut other) = (v42bis::Compressor::new(parameters), v42bis::Decompressor::new(parameters));
    for n_pdu in octets.chunks(N_PDU_MAX) {
        let mut sent = [0; v42bis::compressed_max(N_PDU_MAX)];
        let len = own.compress(n_pdu, &mut sent).unwrap_or_default();
        assert_eq!(other.decompress(&sent[..len], &mut restored), Ok(n_pdu.len()));
        assert_eq!(&restored[..n_pdu.len()], n_pdu);
    }
}

/// Octets that an IPA stream keeps of an unfinished message.
const IPA_MESSAGE_MAX: usize = 512;

/// GSUP messages, and the same octets as a stream of IPA messages in pieces.
pub fn gsup(octets: &[u8]) {
    if let Ok(message) = gsup::Message::parse(octets) {
        assert_eq!(gsup::Message::parse(&message.to_vec()).as_ref(), Ok(&message));
    }
    let Some((piece, stream)) = octets.split_first() else { return };
    let mut splitter = gannet_proto::ipa_stream::Splitter::new(IPA_MESSAGE_MAX);
    for piece in stream.chunks(usize::from(*piece) + 1) {
        splitter.push(piece);
        while let Ok(Some(message)) = splitter.next_message() {
            assert!(message.payload.len() <= IPA_MESSAGE_MAX);
            if let Ok(ccm) = ipa::Ccm::parse(message.payload) {
                let emitted = ccm.to_vec();
                assert_eq!(ipa::Ccm::parse(&emitted[3..]).as_ref(), Ok(&ccm));
            }
            if let Some((_, content)) = message.extension() {
                let _ = gsup::Message::parse(content);
            }
        }
    }
}

static CLASS: Class =
    Class { name: "", osmocom: "sgsn", title: "SGSN", level: Level::Global, lines: Some("") };

/// A node with one group of one counter.
struct Node(Rates);

impl Source for Node {
    fn element(&self) -> &'static str {
        "sgsn"
    }

    fn groups(&mut self, _part: usize, groups: &mut Vec<Group>) -> bool {
        let mut group = Group::single(&CLASS);
        group.add(Metric::counter("attached", "attach procedures", 7));
        groups.push(group);
        false
    }
}

impl Control for Node {
    fn get(&mut self, variable: &str) -> Option<Result<String, String>> {
        (variable == "list").then(|| Ok("a\nb\n".to_owned()))
    }

    fn rates(&self) -> &Rates {
        &self.0
    }
}

/// Lines of the control interface, and a connection that is sent these octets in pieces.
pub fn ctrl(octets: &[u8]) {
    if let Ok(message) = ctrl::Message::parse(octets) {
        let text = message.to_string();
        assert_eq!(ctrl::Message::parse(text.as_bytes()).map(|again| again.to_string()), Ok(text.clone()));
    }
    if let Ok(variable) = core::str::from_utf8(octets) {
        let _ = Query::parse(variable);
    }
    let Some((piece, stream)) = octets.split_first() else { return };
    let (mut dialogue, mut node, mut output) = (Dialogue::begin(), Node(Rates::default()), Vec::new());
    // As a message of its own, too, so that something of it is answered.
    let mut whole = Vec::new();
    ipa::put_extension(ctrl::EXTENSION, stream, &mut whole);
    for piece in whole.iter().chain(stream).copied().collect::<Vec<u8>>().chunks(usize::from(*piece) + 1) {
        dialogue.input(piece);
        while dialogue.proceed(&mut node, &mut output) {}
        output.clear();
    }
}
