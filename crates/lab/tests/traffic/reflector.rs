//! As much of an SGSN as it takes to turn a G-PDU into LL-PDUs and back: with the codecs of `wire`, and with defects on
//! demand.

use gannet_proto::llc::{Ciphering, Direction};
use gannet_wire::bssgp::ie::{PduLifetime, QosProfile};
use gannet_wire::bssgp::unitdata::{DlUnitdata, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::gtp::header::{Header, Repr, message_type};
use gannet_wire::id::{Bvci, Nsapi, Sapi, Tlli};
use gannet_wire::sndcp::{self, Compression};
use gannet_wire::{llc, ns};

/// Where a segment goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target {
    pub tlli: u32,
    pub bvci: u16,
    pub number: u16,
    /// What it is ciphered with, and INPUT.
    pub cipher: Option<(Ciphering, u32)>,
}

/// The NS-UNITDATA PDUs of an N-PDU, segmented for `n201_u`.
pub fn downlink(n_pdu: &[u8], to: Target, n201_u: usize) -> Vec<Vec<u8>> {
    let room = n201_u - sndcp::UNITDATA_FIRST_LEN;
    let count = n_pdu.len().div_ceil(room);
    let segment = |(segment, octets): (u8, &[u8])| {
        let first = (segment == 0).then_some(Compression::NONE);
        let pdu = sndcp::Pdu::Unitdata { first, segment, number: to.number };
        let header = sndcp::Header { nsapi: Nsapi(5), more: usize::from(segment) + 1 < count, pdu }.emit();
        let mut frame = llc::ui_header(true, Sapi(3), to.number, to.cipher.is_some(), true).to_vec();
        frame.extend_from_slice(&header);
        frame.extend_from_slice(octets);
        let fcs = fcs24(&frame);
        frame.extend(fcs);
        if let Some((ciphering, input)) = to.cipher {
            ciphering.apply(input, Direction::Downlink, &mut frame[llc::UI_HEADER_LEN..]);
        }
        ns_pdu(&frame, to, segment)
    };
    (0_u8..).zip(n_pdu.chunks(room)).map(segment).collect()
}

/// The NS-UNITDATA PDU of an LL-PDU.
fn ns_pdu(ll_pdu: &[u8], to: Target, segment: u8) -> Vec<u8> {
    let qos = QosProfile::from_octets([0, 0, 0x20]);
    let mut unitdata = DlUnitdata::new(Tlli(to.tlli), qos, PduLifetime(1000));
    // Elements of other lengths stand before the LL-PDU.
    unitdata.pfi = segment.is_multiple_of(2).then_some(3);
    unitdata.old_tlli = to.number.is_multiple_of(3).then_some(Tlli(7));
    unitdata.ms_ra_capability = to.number.is_multiple_of(4).then_some(&[1, 2, 3, 4, 5]);
    unitdata.alignment = to.number.is_multiple_of(5).then_some(2);
    let mut pdu = ns::Unitdata::of(Bvci(to.bvci)).emit().to_vec();
    let at = pdu.len();
    pdu.resize(at + unitdata.buffer_len(ll_pdu.len()), 0);
    assert!(unitdata.emit(ll_pdu.len(), &mut pdu[at..]));
    pdu.extend(ll_pdu);
    pdu
}

/// The same of what belongs to a link in acknowledged mode.
pub fn of_link(ll_pdu: &[u8], to: Target) -> Vec<u8> {
    ns_pdu(ll_pdu, to, 0)
}

/// What an I frame says beside its N-PDU.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub ns: u16,
    pub asks: bool,
    /// SNDCP's.
    pub number: u8,
}

/// An N-PDU in an I frame.
pub fn i_frame(n_pdu: &[u8], Link { ns, asks, number }: Link) -> Vec<u8> {
    let mut frame = llc::i_header(true, Sapi(3), asks, (ns, 0), &llc::Supervisory::Rr).to_vec();
    let pdu = sndcp::Pdu::Data { first: Some((Compression::NONE, number)) };
    frame.extend_from_slice(&sndcp::Header { nsapi: Nsapi(5), more: false, pdu }.emit());
    frame.extend_from_slice(n_pdu);
    let fcs = fcs24(&frame);
    frame.extend(fcs);
    frame
}

/// TLLI, BVCI, N(U) and the N-PDU of an NS-UNITDATA PDU from a mobile, whose FCS has to be right.
pub fn uplink(pdu: &[u8]) -> (u32, u16, u16, Vec<u8>) {
    let head = ns::Unitdata::parse(pdu).unwrap();
    let bssgp = &pdu[ns::UNITDATA_HEADER_LEN..];
    let (unitdata, at) = UlUnitdata::parse(bssgp).unwrap();
    let frame = &bssgp[at];
    let layout = llc::Header::parse(frame).unwrap();
    assert!(layout.fcs_is_right(frame), "FCS of {frame:02x?}");
    let llc::Control::Ui { nu, encrypted: false, .. } = layout.header.control else {
        panic!("{:?}", layout.header)
    };
    assert_eq!((layout.header.cr, layout.header.sapi), (false, Sapi(3)));
    let info = &frame[layout.info()];
    let (header, at) = sndcp::Header::parse(info).unwrap();
    let sndcp::Pdu::Unitdata { first: Some(Compression::NONE), segment: 0, number } = header.pdu else {
        panic!("{header:?}")
    };
    assert_eq!((header.nsapi, header.more, number & 0x1ff), (Nsapi(5), false, nu));
    (unitdata.tlli.0, head.bvci.0, nu, info[at..].to_vec())
}

/// TEID and T-PDU of a G-PDU.
pub fn g_pdu(octets: &[u8]) -> (u32, Vec<u8>) {
    let header = Header::parse(octets).unwrap();
    assert_eq!(header.message, message_type::G_PDU);
    (header.teid.0, header.payload(octets).to_vec())
}

/// A G-PDU with a sequence number, as some SGSNs send it.
pub fn g_pdu_of(teid: u32, t_pdu: &[u8], sequence: Option<u16>) -> Vec<u8> {
    let repr =
        Repr { message: message_type::G_PDU, teid: gannet_wire::id::Teid(teid), sequence, npdu_number: None };
    let len = repr.buffer_len();
    let mut octets = vec![0; len];
    assert!(repr.emit(t_pdu.len(), &mut octets));
    octets.extend_from_slice(t_pdu);
    octets
}
