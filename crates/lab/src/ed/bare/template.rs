//! The headers that an N-PDU needs on Gb, ready to be copied: a bare loop knows them all before the first packet comes.
//!
//! Only TLLI and BVCI differ from user to user. LLC is unprotected, so that its FCS covers nothing of the N-PDU and is the
//! same in each frame.

use super::super::bed::{GB_LOAD, GB_PORT, GB_SGSN};
use core::net::Ipv4Addr;
use gannet_machine::frame::Frame;
use gannet_wire::bssgp::DlUnitdata;
use gannet_wire::bssgp::ie::{PduLifetime, QosProfile};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Bvci, Nsapi, Sapi, Tlli};
use gannet_wire::llc::ui_header;
use gannet_wire::ns::{UNITDATA_HEADER_LEN, Unitdata};
use gannet_wire::sndcp::{Compression, Header, Pdu};

/// Octets of the FCS.
const FCS_LEN: usize = 3;
/// Octets of LLC and SNDCP headers.
const LLC_AND_SNDCP: usize = 7;
/// Octets of Ethernet, IPv4 and UDP headers.
const LOWER: usize = 42;

/// Where frames go that are sent whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) from: [u8; 6],
    pub(super) to: [u8; 6],
    /// UDP port of the BSS.
    pub(super) port: u16,
}

/// The octets in front of an N-PDU of one length, and those behind it.
#[derive(Debug)]
pub(super) struct Template {
    front: Vec<u8>,
    bvci_at: usize,
    tlli_at: usize,
    fcs: [u8; FCS_LEN],
}

impl Template {
    /// For N-PDUs of `n_pdu_len` octets; with `ends` down to Ethernet, else down to NS.
    pub(super) fn new(n_pdu_len: usize, ends: Option<Ends>) -> Self {
        let first = Some(Compression::NONE);
        let sndcp =
            Header { nsapi: Nsapi(5), more: false, pdu: Pdu::Unitdata { first, segment: 0, number: 0 } };
        let mut llc = ui_header(true, Sapi::DATA3, 0, false, false).to_vec();
        llc.extend_from_slice(&sndcp.emit());
        let fcs = fcs24(&llc);
        let qos = QosProfile::from_octets([0, 0, 0x34]);
        let header = DlUnitdata::new(Tlli(0), qos, PduLifetime(1000));
        let llc_len = LLC_AND_SNDCP + n_pdu_len + FCS_LEN;
        let mut bssgp = vec![0; header.buffer_len(llc_len)];
        let fits = header.emit(llc_len, &mut bssgp);
        debug_assert!(fits, "the room is as long as the header says");
        let ns = Unitdata::of(Bvci(0)).emit();
        let above = ns.len() + bssgp.len() + llc_len;
        let mut front = ends.map_or_else(Vec::new, |ends| lower(ends, above));
        let bvci_at = front.len() + 2;
        let tlli_at = front.len() + UNITDATA_HEADER_LEN + 1;
        for part in [&ns[..], &bssgp, &llc] {
            front.extend_from_slice(part);
        }
        Self { front, bvci_at, tlli_at, fcs }
    }

    /// Puts all of it around an N-PDU; false where the frame has no room.
    #[must_use]
    pub(super) fn put(&self, frame: &mut Frame, tlli: Tlli, bvci: Bvci) -> bool {
        if !frame.append(&self.fcs) {
            return false;
        }
        let Some(room) = frame.push(self.front.len()) else { return false };
        room.copy_from_slice(&self.front);
        if let Some(field) = room.get_mut(self.bvci_at..self.bvci_at + 2) {
            field.copy_from_slice(&bvci.0.to_be_bytes());
        }
        if let Some(field) = room.get_mut(self.tlli_at..self.tlli_at + 4) {
            field.copy_from_slice(&tlli.0.to_be_bytes());
        }
        true
    }
}

/// Ethernet, IPv4 and UDP in front of `above` octets, without UDP checksum, which RFC 768 permits.
fn lower(ends: Ends, above: usize) -> Vec<u8> {
    let octets = |address: &str| address.parse::<Ipv4Addr>().map_or([0; 4], |address| address.octets());
    let len = |octets: usize| u16::try_from(octets).unwrap_or(u16::MAX).to_be_bytes();
    let mut ip = vec![0x45, 0];
    ip.extend(len(above + 28));
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(octets(GB_SGSN));
    ip.extend(octets(GB_LOAD));
    let words = ip.chunks_exact(2).map(|word| match word {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = !u16::try_from(sum).unwrap_or(0);
    if let Some(field) = ip.get_mut(10..12) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
    let mut all = Vec::with_capacity(LOWER);
    all.extend(ends.to);
    all.extend(ends.from);
    all.extend([0x08, 0x00]);
    all.extend(ip);
    all.extend(GB_PORT.to_be_bytes());
    all.extend(ends.port.to_be_bytes());
    all.extend(len(above + 8));
    all.extend([0, 0]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::frame::FramePool;

    #[test]
    fn what_is_put_around_an_n_pdu_can_be_read_again() {
        let pool = FramePool::new(1);
        let n_pdu = [0x45; 378];
        let mut frame = pool.copy_of(&n_pdu).unwrap();
        let ends = Ends { from: [2, 0, 0, 0, 0, 1], to: [2, 0, 0, 0, 0, 2], port: 22_000 };
        assert!(Template::new(378, Some(ends)).put(&mut frame, Tlli(0xc000_0007), Bvci(9)));
        assert_eq!(frame.len(), LOWER + 4 + 403, "a BSSGP PDU of 403 octets; the thesis had 400");
        let ip_len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        assert_eq!(ip_len, frame.len() - 14);
        assert!(frame.pull(LOWER));
        assert_eq!(Unitdata::parse(&frame), Ok(Unitdata::of(Bvci(9))));
        assert!(frame.pull(UNITDATA_HEADER_LEN));
        let (header, range) = DlUnitdata::parse(&frame).unwrap();
        assert_eq!(header.tlli, Tlli(0xc000_0007));
        let llc = &frame[range];
        let layout = gannet_wire::llc::Header::parse(llc).unwrap();
        assert!(layout.fcs_is_right(llc));
        let info = &llc[layout.info()];
        let (sndcp, at) = Header::parse(info).unwrap();
        assert_eq!((sndcp.nsapi, &info[at..]), (Nsapi(5), &n_pdu[..]));
    }
}
