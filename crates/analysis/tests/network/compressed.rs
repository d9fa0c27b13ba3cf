//! N-PDUs that are compressed as XID says.

use super::gb::{BSS, Link, Made, SGSN, cell, found, number, packets, sn_unitdata, u};
use gannet_analysis::Settings;
use gannet_analysis::findings::analyze;
use gannet_analysis::record::{Record, Seen};
use gannet_machine::frame::FramePool;
use gannet_proto::sndcp::{rfc1144, v42bis};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{Control, Header, Supervisory, UFunction};
use gannet_wire::sndcp::algorithms::{NsapiSet, Rfc1144, V42bis, data_algorithm, protocol_algorithm};
use gannet_wire::sndcp::xid as sndcp_xid;
use gannet_wire::sndcp::{self, Compression, Pdu};

const TLLI: u32 = 0xc000_0042;
const PCOMPS: [u8; 2] = [3, 9];
const DCOMP: u8 = 5;

fn checksum(octets: impl Iterator<Item = u8>) -> [u8; 2] {
    let octets: Vec<u8> = octets.collect();
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// A segment of a download.
pub fn segment(index: u32) -> Vec<u8> {
    let data: Vec<u8> = (0..100).map(|n| b"compressible text "[n % 18]).collect();
    let mut ip = vec![0x45, 0, 0, 140, 0, index as u8, 0, 0, 64, 6, 0, 0];
    ip.extend(SGSN);
    ip.extend(BSS);
    let sum = checksum(ip.iter().copied());
    ip[10..12].copy_from_slice(&sum);
    let mut tcp = vec![0, 80, 0x9c, 0x40];
    tcp.extend((1000 + index * 100).to_be_bytes());
    tcp.extend([0, 0, 0, 9, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    tcp.extend(data);
    let pseudo = [&SGSN[..], &BSS, &[0, 6, 0, tcp.len() as u8]].concat();
    let sum = checksum(pseudo.iter().chain(&tcp).copied());
    tcp[16..18].copy_from_slice(&sum);
    [ip, tcp].concat()
}

fn block(parameters: &[sndcp_xid::Parameter]) -> Vec<u8> {
    let mut block = Vec::new();
    sndcp_xid::emit(parameters, &mut block);
    let mut info = Vec::new();
    xid::emit(&[Parameter::Layer3(block)], &mut info);
    info
}

/// The SGSN proposes both for NSAPIs 5 and 6, the mobile takes them for 5 with fewer slots.
fn negotiate(made: &mut Made) {
    let all: NsapiSet = [Nsapi(5), Nsapi(6)].into_iter().collect();
    let headers = Rfc1144 { nsapis: Some(all), s0_minus_1: Some(15) };
    let data = V42bis { nsapis: Some(all), p0: Some(3), p1: Some(1024), p2: Some(20) };
    let proposal = block(&[
        sndcp_xid::Parameter::Version(0),
        sndcp_xid::Parameter::Data(vec![sndcp_xid::Entity::proposed(
            17,
            data_algorithm::V42BIS,
            &[DCOMP],
            &data.emit(),
        )]),
        sndcp_xid::Parameter::Protocol(vec![sndcp_xid::Entity::proposed(
            16,
            protocol_algorithm::RFC_1144,
            &PCOMPS,
            &headers.emit(),
        )]),
    ]);
    let five: NsapiSet = [Nsapi(5)].into_iter().collect();
    let headers = Rfc1144 { nsapis: Some(five), s0_minus_1: Some(3) };
    let data = V42bis { nsapis: Some(five), p0: Some(3), p1: Some(512), p2: Some(20) };
    let answer = block(&[
        sndcp_xid::Parameter::Data(vec![sndcp_xid::Entity::existing(17, &data.emit())]),
        sndcp_xid::Parameter::Protocol(vec![sndcp_xid::Entity::existing(16, &headers.emit())]),
    ]);
    made.down(TLLI, 1, None, &u(false, true, Sapi::DATA3, UFunction::Xid, &proposal));
    made.up(TLLI, cell(1), &u(true, false, Sapi::DATA3, UFunction::Xid, &answer));
}

/// A download through the project's compressors. Some are lost before the capture.
fn download(made: &mut Made, lost: impl Fn(u32) -> bool) {
    let pool = FramePool::new(1);
    let mut headers = rfc1144::Compressor::new(3);
    let mut data = v42bis::Compressor::new(v42bis::Parameters::new(512, 20).unwrap());
    let mut link = Link::new(false, Sapi::DATA3);
    for index in 0..40 {
        let mut frame = pool.copy_of(&segment(index)).unwrap();
        let pcomp = headers.compress(&mut frame).pcomp(PCOMPS);
        let mut out = vec![0; v42bis::compressed_max(frame.len())];
        let len = data.compress_alone(&frame, &mut out).unwrap();
        let (dcomp, octets) = len.map_or((0, &frame[..]), |len| (DCOMP, &out[..len]));
        let ll_pdu = link.ui(&sn_unitdata(index as u16, Compression { dcomp, pcomp }, octets));
        if !lost(index) {
            made.down(TLLI, 1, None, &ll_pdu);
        }
    }
}

fn sequences(records: &[Seen<Record>]) -> Vec<u32> {
    let of = |seen: &Seen<Record>| match &seen.what {
        Record::Tcp(segment) => Some((segment.sequence - 1000) / 100),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

#[test]
fn both_algorithms_are_undone_as_negotiated() {
    let mut made = Made::default();
    negotiate(&mut made);
    download(&mut made, |_| false);
    let (records, reading) = made.read(Settings::default());
    let counts = reading.counts().compression;
    assert_eq!((counts.compressed, counts.restored, counts.unknown, counts.lost), (40, 40, 0, 0));
    assert_eq!(sequences(&records), (0..40).collect::<Vec<_>>());
    assert!(packets(&records).iter().all(|packet| packet.octets == 140 && packet.ip.is_some()));
}

#[test]
fn without_the_xid_it_is_said() {
    let mut made = Made::default();
    download(&mut made, |_| false);
    let (records, reading) = made.read(Settings::default());
    let counts = reading.counts().compression;
    assert_eq!((counts.compressed, counts.restored, counts.unknown), (40, 0, 40));
    assert_eq!(sequences(&records), [0_u32; 0]);
    let report = analyze(&mut made.reading(Settings::default()));
    let [finding] = found(&report, "compressed")[..] else { panic!() };
    assert_eq!(number(finding, "unknown").to_bits(), 40.0_f64.to_bits());
}

/// The first N-PDU has the headers that the next ones build upon.
#[test]
fn headers_whose_beginning_is_missing_are_not_made_up() {
    let mut made = Made::default();
    negotiate(&mut made);
    download(&mut made, |index| index == 0);
    let (records, reading) = made.read(Settings::default());
    let counts = reading.counts().compression;
    assert_eq!((counts.compressed, counts.restored, counts.lost), (39, 0, 39));
    assert_eq!(sequences(&records), [0_u32; 0]);
}

/// Behind a lost segment the sequence numbers are wrong, which the checksum of TCP shows.
#[test]
fn a_lost_n_pdu_gives_no_wrong_packets() {
    let mut made = Made::default();
    negotiate(&mut made);
    download(&mut made, |index| index == 20);
    let (records, reading) = made.read(Settings::default());
    let counts = reading.counts().compression;
    assert_eq!((counts.compressed, counts.restored, counts.lost), (39, 20, 19));
    assert_eq!(sequences(&records), (0..20).collect::<Vec<_>>());
}

/// The same in acknowledged mode, where V.42bis builds on all N-PDUs before. `sent` says which I frames pass, in which order.
fn acknowledged(sent: impl Iterator<Item = u32>) -> (Vec<u32>, gannet_analysis::compression::Counts) {
    let mut made = Made::default();
    negotiate(&mut made);
    let mut data = v42bis::Compressor::new(v42bis::Parameters::new(512, 20).unwrap());
    let frames: Vec<_> = (0..300)
        .map(|index| {
            let n_pdu = segment(index);
            let mut out = vec![0; v42bis::compressed_max(n_pdu.len())];
            let len = data.compress(&n_pdu, &mut out).unwrap();
            let first = Some((Compression { dcomp: DCOMP, pcomp: 0 }, index as u8));
            let header = sndcp::Header { nsapi: Nsapi(5), more: false, pdu: Pdu::Data { first } };
            let (ns, nr, supervisory) = ((index % 512) as u16, 0, Supervisory::Rr);
            let control = Control::I { ack_request: false, ns, nr, supervisory };
            let mut frame = Header { cr: true, sapi: Sapi::DATA3, control }.emit().to_vec();
            frame.extend(&header.emit()[..]);
            frame.extend(&out[..len]);
            frame.extend(fcs24(&frame));
            frame
        })
        .collect();
    for index in sent {
        made.down(TLLI, 1, None, &frames[index as usize]);
    }
    let (records, reading) = made.read(Settings::default());
    (sequences(&records), reading.counts().compression)
}

#[test]
fn in_acknowledged_mode_all_of_them_are_needed() {
    let (found, counts) = acknowledged(0..300);
    assert_eq!((found, counts.restored, counts.lost), ((0..300).collect(), 300, 0));
    // What is sent again is passed over.
    let (found, counts) = acknowledged((0..50).chain(45..300));
    assert_eq!((found, counts.restored, counts.lost), ((0..300).collect(), 300, 5));
    // Behind a gap in the capture nothing is made up.
    let (found, counts) = acknowledged((0..50).chain(51..300));
    assert_eq!((found, counts.restored, counts.lost), ((0..50).collect(), 50, 249));
}
