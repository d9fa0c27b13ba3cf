//! A capture of Gb and Gn in the making.

use gannet_analysis::findings::{Finding, Report, analyze};
use gannet_analysis::record::{Packet, Record, Seen};
use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings};
use gannet_proto::llc::{Ciphering, Direction as Way, cipher};
use gannet_wire::bssgp::ie::PduLifetime;
use gannet_wire::bssgp::{DlUnitdata, Message, QosProfile, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Bvci, CellId, Imsi, Plmn, Rai, Sapi, Tlli};
use gannet_wire::l3::L3Message;
use gannet_wire::llc::{Control, Header, UFunction, ui_header};
use gannet_wire::ns::Unitdata;
use std::io::Cursor;
use std::path::Path;

/// One second.
pub const S: u64 = 1_000_000;
pub const BSS: [u8; 4] = [10, 0, 0, 2];
pub const SGSN: [u8; 4] = [10, 0, 0, 1];

pub fn rai(rac: u8) -> Rai {
    Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac }
}

/// A cell of which identity and BVCI are the same number.
pub fn cell(number: u16) -> CellId {
    CellId { rai: rai(1), ci: number }
}

pub fn imsi() -> Imsi {
    "001010000000001".parse().unwrap()
}

/// Frames of raw IP with their times in microseconds.
#[derive(Debug, Clone, Default)]
pub struct Made {
    frames: Vec<(u64, Vec<u8>)>,
    pub now: u64,
}

impl Made {
    pub fn at(&mut self, us: u64) -> &mut Self {
        self.now = us;
        self
    }

    /// The same without the first ones.
    pub fn from(&self, first: usize) -> Self {
        Self { frames: self.frames[first..].to_vec(), now: self.now }
    }

    pub fn datagram(&mut self, is_up: bool, port: u16, payload: &[u8]) {
        let (from, to) = if is_up { (BSS, SGSN) } else { (SGSN, BSS) };
        let mut ip = vec![0x45, 0];
        ip.extend((28 + payload.len() as u16).to_be_bytes());
        ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        ip.extend(from);
        ip.extend(to);
        ip.extend(port.to_be_bytes());
        ip.extend(port.to_be_bytes());
        ip.extend((8 + payload.len() as u16).to_be_bytes());
        ip.extend([0, 0]);
        ip.extend(payload);
        self.frames.push((self.now, ip));
        self.now += 1000;
    }

    fn bssgp(&mut self, is_up: bool, bvci: u16, pdu: &[u8]) {
        let header = Unitdata::of(Bvci(bvci)).emit();
        self.datagram(is_up, 23000, &[&header[..], pdu].concat());
    }

    pub fn signalling(&mut self, is_up: bool, message: &Message) {
        self.bssgp(is_up, 0, &message.to_vec());
    }

    pub fn up(&mut self, tlli: u32, cell: CellId, ll_pdu: &[u8]) {
        let header = UlUnitdata::new(Tlli(tlli), QosProfile::default(), cell);
        let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
        assert!(header.emit(ll_pdu.len(), &mut pdu));
        pdu.extend(ll_pdu);
        self.bssgp(true, cell.ci, &pdu);
    }

    pub fn down(&mut self, tlli: u32, bvci: u16, imsi: Option<Imsi>, ll_pdu: &[u8]) {
        let mut header = DlUnitdata::new(Tlli(tlli), QosProfile::default(), PduLifetime(1000));
        header.imsi = imsi;
        let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
        assert!(header.emit(ll_pdu.len(), &mut pdu));
        pdu.extend(ll_pdu);
        self.bssgp(false, bvci, &pdu);
    }

    /// The file.
    pub fn pcap(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
            file.extend(word.to_le_bytes());
        }
        for (at, octets) in &self.frames {
            let len = octets.len() as u32;
            for word in [(at / S) as u32 + 1_000_000, (at % S) as u32, len, len] {
                file.extend(word.to_le_bytes());
            }
            file.extend(octets);
        }
        file
    }

    pub fn reading(&self, settings: Settings) -> Reading {
        let octets = Octets::new(Box::new(Cursor::new(self.pcap())), false);
        Reading::new(vec![Capture::from_octets(Path::new("made"), octets).unwrap()], settings)
    }

    /// All records, and the reading at its end.
    pub fn read(&self, settings: Settings) -> (Vec<Seen<Record>>, Reading) {
        let mut reading = self.reading(settings);
        let records: Vec<_> = reading.by_ref().collect();
        (records, reading)
    }

    pub fn report(&self) -> Report {
        analyze(&mut self.reading(Settings::default()))
    }
}

pub fn packets(records: &[Seen<Record>]) -> Vec<&Packet> {
    let of = |seen: &'_ Seen<Record>| matches!(&seen.what, Record::Packet(_));
    records
        .iter()
        .filter(|seen| of(seen))
        .map(|seen| match &seen.what {
            Record::Packet(packet) => packet,
            other => panic!("{other:?}"),
        })
        .collect()
}

pub fn found<'a>(report: &'a Report, kind: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|finding| finding.kind == kind).collect()
}

pub fn number(finding: &Finding, name: &str) -> f64 {
    finding.numbers.iter().find(|(it, _)| *it == name).unwrap().1
}

/// Numbers of the UI frames of one SAPI in one direction, and how they are ciphered.
#[derive(Debug, Clone)]
pub struct Link {
    pub is_up: bool,
    pub sapi: Sapi,
    pub count: u32,
    pub iov_ui: u32,
    pub ciphering: Option<Ciphering>,
    pub is_protected: bool,
}

impl Link {
    pub fn new(is_up: bool, sapi: Sapi) -> Self {
        Self { is_up, sapi, count: 0, iov_ui: 0, ciphering: None, is_protected: true }
    }

    /// The next UI frame.
    pub fn ui(&mut self, info: &[u8]) -> Vec<u8> {
        let cr = !self.is_up;
        let encrypted = self.ciphering.is_some();
        let nu = (self.count % 512) as u16;
        let mut frame = ui_header(cr, self.sapi, nu, encrypted, self.is_protected).to_vec();
        frame.extend(info);
        let covered = if self.is_protected { frame.len() } else { frame.len().min(3 + 4) };
        frame.extend(fcs24(&frame[..covered]));
        if let Some(ciphering) = &self.ciphering {
            let input = cipher::ui_input(self.iov_ui, self.sapi, self.count);
            let way = if self.is_up { Way::Uplink } else { Way::Downlink };
            ciphering.apply(input, way, &mut frame[3..]);
        }
        self.count += 1;
        frame
    }
}

/// A U frame in the clear.
pub fn u(is_up: bool, is_command: bool, sapi: Sapi, function: UFunction, info: &[u8]) -> Vec<u8> {
    let control = Control::U { poll_final: true, function };
    let mut frame = Header { cr: is_up != is_command, sapi, control }.emit().to_vec();
    frame.extend(info);
    frame.extend(fcs24(&frame));
    frame
}

/// A message of layer 3 in the clear, in a cell.
pub fn layer3(made: &mut Made, is_up: bool, tlli: u32, at: u16, message: impl Into<L3Message>) {
    let frame = Link::new(is_up, Sapi::GMM).ui(&message.into().to_vec());
    if is_up {
        made.up(tlli, cell(at), &frame);
    } else {
        made.down(tlli, at, None, &frame);
    }
}

/// A ping from or to the mobile, with so many octets behind its header.
pub fn ping(is_up: bool, sequence: u16, octets: usize) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((28 + octets as u16).to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 64, 1, 0, 0]);
    let (mobile, host) = ([10, 9, 0, 5], [192, 0, 2, 1]);
    packet.extend(if is_up { mobile } else { host });
    packet.extend(if is_up { host } else { mobile });
    packet.extend([if is_up { 8 } else { 0 }, 0, 0, 0, 0, 7]);
    packet.extend(sequence.to_be_bytes());
    packet.extend((0..octets).map(|n| (n % 251) as u8 ^ (sequence as u8)));
    packet
}

/// An N-PDU in one SN-UNITDATA PDU.
pub fn sn_unitdata(number: u16, compression: gannet_wire::sndcp::Compression, n_pdu: &[u8]) -> Vec<u8> {
    use gannet_wire::sndcp::{Header, Pdu};
    let pdu = Pdu::Unitdata { first: Some(compression), segment: 0, number: number % 4096 };
    let header = Header { nsapi: gannet_wire::id::Nsapi(5), more: false, pdu };
    [&header.emit()[..], n_pdu].concat()
}

impl Made {
    /// The frames of another one, from here on.
    pub fn append(&mut self, other: &Self) {
        let start = self.now;
        self.frames.extend(other.frames.iter().map(|(at, octets)| (start + at, octets.clone())));
        self.now = start + other.now;
    }
}
