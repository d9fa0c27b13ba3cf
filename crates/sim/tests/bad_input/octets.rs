//! The octets that the tests put together by hand.

use crate::bench::{HOST, Label, bvci, cell_id};
use core::net::Ipv4Addr;
use gannet_wire::bssgp::Message as Bssgp;
use gannet_wire::bssgp::ie::QosProfile;
use gannet_wire::bssgp::unitdata::{DlUnitdata, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::gtp::Message as Gtp;
use gannet_wire::gtp::v1c::emit_datagram;
use gannet_wire::id::{Bvci, Sapi, Teid, Tlli};
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::llc::{Header, ui_header};
use gannet_wire::ns::{UNITDATA_HEADER_LEN, Unitdata};

/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;

/// An IPv4 packet that says which N-PDU it is; the rest of its octets follow from that.
pub fn n_pdu(label: Label, address: Ipv4Addr, length: usize) -> Vec<u8> {
    let (mobile, uplink, number) = label;
    let (source, destination) = if uplink { (address, HOST) } else { (HOST, address) };
    let mut octets = vec![0x45, 0];
    octets.extend(u16::try_from(length).unwrap().to_be_bytes());
    octets.extend([0, 0, 0, 0, 64, PROTOCOL, 0, 0]);
    octets.extend(source.octets());
    octets.extend(destination.octets());
    for number in [mobile, number, u32::from(uplink)] {
        octets.extend(number.to_be_bytes());
    }
    let start = mobile.wrapping_mul(31).wrapping_add(number.wrapping_mul(7));
    octets.extend((start..).map(|n| n.to_be_bytes()[3]).take(length - octets.len()));
    octets
}

/// Which N-PDU it is; `None` where one octet is not as it was sent.
pub fn label_of(octets: &[u8]) -> Option<Label> {
    let number = |at: usize| Some(u32::from_be_bytes(octets.get(at..at + 4)?.try_into().ok()?));
    let label = (number(20)?, number(28)? == 1, number(24)?);
    let at = if label.1 { 12 } else { 16 };
    let address: [u8; 4] = octets.get(at..at + 4)?.try_into().ok()?;
    (n_pdu(label, address.into(), octets.len()) == octets).then_some(label)
}

/// A BSSGP PDU in NS-UNITDATA.
pub fn ns(bvci: Bvci, pdu: &[u8]) -> Vec<u8> {
    [&Unitdata::of(bvci).emit()[..], pdu].concat()
}

/// A BSSGP message in NS-UNITDATA.
pub fn bssgp(bvci: Bvci, message: &Bssgp) -> Vec<u8> {
    ns(bvci, &message.to_vec())
}

/// An LL-PDU in UL-UNITDATA in NS-UNITDATA.
pub fn ul_unitdata(cell: u16, tlli: Tlli, ll_pdu: &[u8]) -> Vec<u8> {
    let header = UlUnitdata::new(tlli, QosProfile::default(), cell_id(cell));
    let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
    assert!(header.emit(ll_pdu.len(), &mut pdu));
    pdu.extend(ll_pdu);
    ns(bvci(cell), &pdu)
}

/// A UI frame of a mobile.
pub fn ui(sapi: Sapi, nu: u16, information: &[u8]) -> Vec<u8> {
    sealed(&[&ui_header(false, sapi, nu, false, true)[..], information].concat())
}

/// A frame with its FCS.
pub fn sealed(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs24(frame)].concat()
}

/// A layer 3 message in a UI frame of a mobile.
pub fn l3(nu: u16, message: &L3Message) -> Vec<u8> {
    ui(Sapi::GMM, nu, &message.to_vec())
}

/// A GTP message as a datagram.
pub fn gtp(teid: Teid, sequence: u16, message: &Gtp) -> Vec<u8> {
    let mut octets = Vec::new();
    assert!(emit_datagram(teid, sequence, message, &mut octets));
    octets
}

/// A T-PDU as a G-PDU without sequence number.
pub fn g_pdu(teid: Teid, t_pdu: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x30, 0xff];
    octets.extend(u16::try_from(t_pdu.len()).unwrap().to_be_bytes());
    octets.extend(teid.0.to_be_bytes());
    octets.extend(t_pdu);
    octets
}

/// The BSSGP message in a datagram of Gb.
pub fn bssgp_in(datagram: &[u8]) -> Option<Bssgp> {
    Unitdata::parse(datagram).ok()?;
    Bssgp::parse(datagram.get(UNITDATA_HEADER_LEN..)?).ok()
}

/// TLLI and layer 3 message in a downlink datagram of Gb.
pub fn l3_in(datagram: &[u8]) -> Option<(Tlli, L3Message)> {
    Unitdata::parse(datagram).ok()?;
    let pdu = datagram.get(UNITDATA_HEADER_LEN..)?;
    let (header, range) = DlUnitdata::parse(pdu).ok()?;
    let frame = pdu.get(range)?;
    let layout = Header::parse(frame).ok()?;
    (layout.header.sapi == Sapi::GMM).then_some(())?;
    Some((header.tlli, L3Message::parse(Direction::Downlink, frame.get(layout.info())?).ok()?))
}
