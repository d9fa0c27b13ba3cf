//! A capture of a GPRS core and its radio, made with the encoders of this project: TCP downlink of any number of mobiles, each segment on
//! Gn as a G-PDU, on Gb as an LL-PDU, and of mobiles with a radio in blocks of CS-4 as well.
//!
//! [`Made`] is a reader without a file behind it: it makes as many octets as are asked for, the same ones each time.

mod layers;

pub use layers::layers;

use core::net::{IpAddr, Ipv4Addr};
use gannet_wire::bssgp::ie::{PduLifetime, QosProfile};
use gannet_wire::bssgp::unitdata::DlUnitdata;
use gannet_wire::fcs24::fcs24;
use gannet_wire::gsmtap::{self, Channel};
use gannet_wire::gtp::v1c::{CreateRequest, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{EndUserAddress, PORT_CONTROL, PORT_USER, Qos};
use gannet_wire::id::{Bvci, Imsi, Nsapi, Sapi, Teid, Tlli};
use gannet_wire::l3::ie::Octets;
use gannet_wire::llc::ui_header;
use gannet_wire::ns;
use gannet_wire::rlcmac::block::{Body, DownlinkHeader};
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::sndcp::{Compression, Header, Pdu};
use std::io::{self, Read};

const UM: u32 = 0;
const GB: u32 = 1;
const GN: u32 = 2;
/// Octets of an N-PDU: records of Gn and Gb have 500 in the mean.
const N_PDU: usize = 448;
const BLOCK: usize = CodingScheme::Cs4.data_octets();
/// Nanoseconds from one record to the next.
const APART_NS: u64 = 2_000;
const BEGAN_NS: u64 = 1_700_000_000_000_000_000;
const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const BSS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);
/// Mobiles of one cell.
const CELL: u32 = 16;
/// Cells, at the most.
const CELLS: u32 = 4096;

/// Whose traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// Mobiles.
    pub mobiles: u32,
    /// Of these, the first so many are seen on the radio.
    pub on_radio: u32,
    /// Segments are on Gn and Gb.
    pub in_core: bool,
}

#[derive(Debug, Clone, Copy)]
struct Mobile {
    number: u32,
    imsi: Imsi,
    segments: u32,
    blocks: u32,
}

impl Mobile {
    fn new(number: u32) -> Self {
        let imsi = format!("001010{number:09}").parse().unwrap();
        Self { number, imsi, segments: 0, blocks: 0 }
    }

    const fn address(&self) -> Ipv4Addr {
        let [_, b, c, d] = self.number.to_be_bytes();
        Ipv4Addr::new(10, b, c, d)
    }

    const fn tlli(&self) -> Tlli {
        Tlli(0xc000_0000 | self.number)
    }
}

/// Octets of a capture in the pcapng format.
#[derive(Debug)]
pub struct Made {
    crowd: Crowd,
    mobiles: Vec<Mobile>,
    turn: usize,
    at_ns: u64,
    left: u64,
    ready: Vec<u8>,
    taken: usize,
    /// Records so far.
    pub records: u64,
    /// Octets of their frames.
    pub frame_octets: u64,
}

impl Made {
    /// A capture that ends with the first N-PDU behind so many octets.
    pub fn new(crowd: Crowd, octets: u64) -> Self {
        let mobiles = (1..=crowd.mobiles).map(Mobile::new).collect();
        let mut made = Self {
            crowd,
            mobiles,
            turn: 0,
            at_ns: BEGAN_NS,
            left: octets,
            ready: Vec::new(),
            taken: 0,
            records: 0,
            frame_octets: 0,
        };
        made.begin();
        made
    }

    fn begin(&mut self) {
        block(&mut self.ready, 0x0a0d_0d0a, |out| {
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend([1, 0, 0, 0]);
            out.extend([0xff; 8]);
        });
        for name in ["Um", "Gb", "Gn"] {
            block(&mut self.ready, 1, |out| {
                // LINKTYPE_RAW, any length; then name, and time in nanoseconds.
                out.extend([101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0]);
                out.extend(name.as_bytes());
                out.extend([0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
            });
        }
    }

    /// The SGSN asks for a mobile's tunnel.
    fn activate(&mut self, mobile: Mobile) {
        let request = create_request(&mobile);
        let mut datagram = Vec::new();
        let sequence = u16::try_from(mobile.number & 0xffff).unwrap();
        assert!(emit_datagram(Teid(0), sequence, &request.into(), &mut datagram));
        self.udp(GN, (SGSN, GGSN, PORT_CONTROL), |out| out.extend(&datagram));
    }

    fn udp(
        &mut self,
        interface: u32,
        (from, to, port): (Ipv4Addr, Ipv4Addr, u16),
        put: impl FnOnce(&mut Vec<u8>),
    ) {
        let at_ns = self.at_ns;
        let mut len = 0;
        block(&mut self.ready, 6, |out| {
            out.extend(interface.to_le_bytes());
            let [a, b, c, d, e, f, g, h] = at_ns.to_le_bytes();
            out.extend([e, f, g, h, a, b, c, d]);
            let lengths_at = out.len();
            out.extend([0; 8 + 28]);
            let start = out.len();
            put(out);
            let payload = out.len() - start;
            len = payload + 28;
            ip_header(&mut out[start - 28..], (from, to), 17, (len, 0));
            for (at, value) in [(8, port), (6, port), (4, short(payload + 8)), (2, 0)] {
                out[start - at..start - at + 2].copy_from_slice(&value.to_be_bytes());
            }
            let len = u32::try_from(len).unwrap().to_le_bytes();
            out[lengths_at..lengths_at + 4].copy_from_slice(&len);
            out[lengths_at + 4..lengths_at + 8].copy_from_slice(&len);
        });
        self.at_ns += APART_NS;
        self.records += 1;
        self.frame_octets += len as u64;
    }

    /// One segment more, at all its places.
    fn segment(&mut self) {
        let mobile = self.mobiles[self.turn];
        let n_pdu = n_pdu(&mobile);
        let ll_pdu = ll_pdu(&mobile, &n_pdu);
        if self.crowd.in_core {
            if mobile.segments == 0 {
                self.activate(mobile);
            }
            self.udp(GN, (GGSN, SGSN, PORT_USER), |out| {
                let header = GPdu { teid: Teid(mobile.number), sequence: None, npdu_number: None };
                let start = out.len();
                out.resize(start + header.buffer_len(), 0);
                assert!(header.emit(n_pdu.len(), &mut out[start..]));
                out.extend(&n_pdu);
            });
            self.udp(GB, (SGSN, BSS, ns::UDP_PORT), |out| {
                out.extend(ns::Unitdata::of(Bvci(short((2 + mobile.number / CELL % CELLS) as usize))).emit());
                let header = DlUnitdata {
                    imsi: Some(mobile.imsi),
                    ..DlUnitdata::new(mobile.tlli(), QosProfile::default(), PduLifetime(1000))
                };
                let start = out.len();
                out.resize(start + header.buffer_len(ll_pdu.len()), 0);
                assert!(header.emit(ll_pdu.len(), &mut out[start..]));
                out.extend(&ll_pdu);
            });
        }
        if mobile.number <= self.crowd.on_radio {
            self.blocks(&ll_pdu);
        }
        self.mobiles[self.turn].segments += 1;
        self.turn = (self.turn + 1) % self.mobiles.len();
    }

    fn blocks(&mut self, ll_pdu: &[u8]) {
        for piece in ll_pdu.chunks(BLOCK) {
            let mobile = &mut self.mobiles[self.turn];
            let ends = [u8::try_from(piece.len()).unwrap()];
            let ends: &[u8] = if piece.len() < BLOCK { &ends } else { &[] };
            let body = Body::compose(CodingScheme::Cs4, None, (ends, false), [piece]).unwrap();
            let header = DownlinkHeader {
                tfi: u8::try_from(mobile.number % CELL).unwrap(),
                bsn: u8::try_from(mobile.blocks % 128).unwrap(),
                ..DownlinkHeader::default()
            };
            mobile.blocks += 1;
            let tap = gsmtap::Header {
                arfcn: short((mobile.number / CELL % CELLS) as usize),
                timeslot: 4,
                frame_number: mobile.blocks,
                ..gsmtap::Header::um(Channel::Pdtch, false)
            };
            self.udp(UM, (BSS, HOST, gsmtap::UDP_PORT), |out| {
                out.extend(tap.emit());
                out.extend(&*header.emit(&body));
            });
        }
    }
}

impl Read for Made {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() {
            self.left = self.left.saturating_sub(self.ready.len() as u64);
            self.ready.clear();
            self.taken = 0;
            while self.left > 0 && self.ready.len() < 64 * 1024 {
                self.segment();
            }
        }
        let count = room.len().min(self.ready.len() - self.taken);
        room[..count].copy_from_slice(&self.ready[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap()
}

fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
    let len = u32::try_from(out.len() - start + 4).unwrap().to_le_bytes();
    out.extend(len);
    out[start + 4..start + 8].copy_from_slice(&len);
}

/// Into the first 20 octets of `room`.
fn ip_header(room: &mut [u8], (from, to): (Ipv4Addr, Ipv4Addr), protocol: u8, (len, id): (usize, u16)) {
    let [l1, l2] = short(len).to_be_bytes();
    let [i1, i2] = id.to_be_bytes();
    let mut header = [0x45, 0, l1, l2, i1, i2, 0x40, 0, 64, protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[12..16].copy_from_slice(&from.octets());
    header[16..20].copy_from_slice(&to.octets());
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[10..12].copy_from_slice(&(!u16::try_from(folded).unwrap()).to_be_bytes());
    room[..20].copy_from_slice(&header);
}

/// A segment of a download; the sum of TCP is left out.
fn n_pdu(mobile: &Mobile) -> [u8; N_PDU] {
    const HEADERS: usize = 20 + 32;
    let mut n_pdu = [b'.'; N_PDU];
    ip_header(&mut n_pdu, (HOST, mobile.address()), 6, (N_PDU, short((mobile.segments & 0xffff) as usize)));
    let payload = u32::try_from(N_PDU - HEADERS).unwrap();
    let sequence = mobile.segments.wrapping_mul(payload);
    let mut tcp = [0; 32];
    tcp[..4].copy_from_slice(&[0, 80, 0x80, 0]);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    tcp[8..16].copy_from_slice(&[0, 0, 0, 1, 0x80, 0x10, 0xff, 0xff]);
    // Nothing urgent; two octets of filling, then the stamps of time.
    tcp[20..24].copy_from_slice(&[1, 1, 8, 10]);
    tcp[24..28].copy_from_slice(&mobile.segments.to_be_bytes());
    n_pdu[20..HEADERS].copy_from_slice(&tcp);
    n_pdu
}

fn ll_pdu(mobile: &Mobile, n_pdu: &[u8]) -> Vec<u8> {
    let number = short((mobile.segments & 0xfff) as usize);
    let mut ll_pdu = Vec::with_capacity(n_pdu.len() + 10);
    ll_pdu.extend(ui_header(true, Sapi::DATA3, number & 0x1ff, false, true));
    let first = Some(Compression::NONE);
    let header = Header { nsapi: Nsapi(5), more: false, pdu: Pdu::Unitdata { first, segment: 0, number } };
    ll_pdu.extend_from_slice(&header.emit());
    ll_pdu.extend(n_pdu);
    let fcs = fcs24(&ll_pdu);
    ll_pdu.extend(fcs);
    ll_pdu
}

fn create_request(mobile: &Mobile) -> CreateRequest {
    CreateRequest {
        imsi: Some(mobile.imsi),
        rai: None,
        recovery: Some(1),
        selection_mode: None,
        teid_data: Teid(mobile.number),
        teid_control: Some(Teid(mobile.number)),
        nsapi: Nsapi(5),
        linked_nsapi: None,
        charging_characteristics: None,
        trace_reference: None,
        trace_type: None,
        end_user_address: Some(EndUserAddress::Ipv4(Some(mobile.address()))),
        apn: "internet".parse().ok(),
        pco: None,
        sgsn_control: IpAddr::V4(SGSN),
        sgsn_user: IpAddr::V4(SGSN),
        alternative_control: None,
        alternative_user: None,
        msisdn: None,
        qos: Qos { allocation_retention: 2, value: Octets::from_start(&[0x23, 0x12, 0x1f]) },
        tft: None,
        trigger_id: None,
        omc_identity: None,
        common_flags: None,
        apn_restriction: None,
        rat_type: None,
        user_location: None,
        ms_time_zone: None,
        imeisv: None,
        private_extension: None,
    }
}
