//! A frame's way through the layers, from its link to the segment of TCP in it.

use super::{Counts, Place};
use crate::decode::ip::{self, Ip};
use crate::decode::link::{Inside, inside};
use crate::decode::radio::{Tapped, tapped};
use crate::decode::{gb, gtp, tcp};
use crate::join::connections::{Connection, Connections};
use crate::join::fragments::Fragments;
use crate::join::mobiles::Mobiles;
use crate::join::rlc::{Joined, TbfKey, Tbfs};
use crate::join::sndcp::{ContextKey, NPdus};
use crate::record::{
    BlockContents, BssgpWhat, Carrier, Direction, Fcs, GtpMessage, Kind, Layer3, LlPdu, Packet, Proof,
    RadioBlock, Record, Seen, SnPdu, Stamp, Unreadable,
};
use crate::source::Frame;
use core::net::{IpAddr, SocketAddr};
use gannet_wire::fcs24::FCS_LEN;
use gannet_wire::gsmtap;
use gannet_wire::id::Sapi;
use gannet_wire::l3::{self, L3Message};
use gannet_wire::llc::{self, Control};
use gannet_wire::rlcmac::block::Body;
use gannet_wire::sndcp;
use gannet_wire::sndcp::{Compression, Pdu};
use std::collections::{HashMap, HashSet};

/// Pairs of endpoints that are remembered as NS-VCs.
const NS_VCS_MAX: usize = 4096;
const PLACES_MAX: usize = 4096;

/// How captures are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// UDP ports that are NS, besides what is known as NS by its contents.
    pub ns_ports: Vec<u16>,
    /// Nanoseconds that the clock of each file is ahead, in the order of the files.
    pub clocks_ahead_ns: Vec<i64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ns_ports: vec![gannet_wire::ns::UDP_PORT], clocks_ahead_ns: Vec::new() }
    }
}

/// Where a frame comes from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// When.
    pub at: Stamp,
    /// Which frame.
    pub proof: Proof,
    /// Interface within the file.
    pub interface: usize,
    /// Its name.
    pub name: Option<&'a str>,
}

/// Where and when, of all records of a frame at one place.
#[derive(Debug, Clone, Copy)]
struct Spot {
    at: Stamp,
    proof: Proof,
    place: u16,
}

impl Spot {
    fn seen(self, what: Record) -> Seen<Record> {
        Seen { at: self.at, proof: self.proof, place: self.place, what }
    }
}

type Out = Vec<Seen<Record>>;

/// A whole LL-PDU, and how it came.
struct Whole<'a> {
    octets: &'a [u8],
    /// Octets that it had.
    len: usize,
    direction: Direction,
    tlli: Option<u32>,
    began: (Stamp, Proof),
    blocks: u16,
    bvci: Option<u16>,
}

/// What the chain remembers.
#[derive(Debug, Default)]
pub struct Chain {
    settings: Settings,
    places: Vec<Place>,
    places_by: HashMap<(u16, usize, Kind), u16, foldhash::quality::RandomState>,
    ns_vcs: HashSet<(SocketAddr, SocketAddr), foldhash::quality::RandomState>,
    fragments: Fragments,
    mobiles: Mobiles,
    connections: Connections,
    tbfs: Tbfs,
    n_pdus: NPdus,
    others: u64,
    unknown_links: u64,
    cut: u64,
    joined: Vec<Joined>,
}

impl Chain {
    /// A chain that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    pub const fn mobiles(&self) -> &Mobiles {
        &self.mobiles
    }

    pub fn connections(&self) -> &[Connection] {
        self.connections.all()
    }

    /// Adds what was counted here.
    pub fn add_counts(&self, counts: &mut Counts) {
        counts.others = self.others;
        counts.unknown_links = self.unknown_links;
        counts.cut = self.cut;
        counts.fragments_missing = self.fragments.incomplete();
        counts.n_pdus_lost = self.n_pdus.lost;
        counts.rlc = self.tbfs.counts();
        counts.beyond_tables = self.mobiles.left_out + self.connections.left_out;
    }

    fn spot(&mut self, origin: Origin<'_>, kind: Kind) -> Spot {
        let key = (origin.proof.file, origin.interface, kind);
        let place = self.places_by.get(&key).copied().unwrap_or_else(|| {
            let index = self.places.len().min(PLACES_MAX - 1);
            if self.places.len() < PLACES_MAX {
                let name = origin.name.map(str::to_owned);
                let (file, interface) = (origin.proof.file, origin.interface);
                self.places.push(Place { file, interface, name, kind });
            }
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            self.places_by.insert(key, index);
            index
        });
        Spot { at: origin.at, proof: origin.proof, place }
    }

    /// Takes a frame, and adds its records.
    pub fn frame(&mut self, origin: Origin<'_>, frame: &Frame<'_>, out: &mut Out) {
        self.cut += u64::from(frame.original > u32::try_from(frame.octets.len()).unwrap_or(u32::MAX));
        match inside(frame.link, frame.octets) {
            Inside::Ip(octets) => self.ip(origin, octets, out),
            Inside::Gsmtap(octets) => self.gsmtap(origin, octets, out),
            Inside::Llc(octets) => {
                let spot = self.spot(origin, Kind::Gb);
                // No address says the direction. A UI frame is a command: C/R says whose (44.064, clause 6.2.2).
                let is_down = octets.first().is_some_and(|address| address & 0x40 != 0);
                let direction = if is_down { Direction::Down } else { Direction::Up };
                let len = usize::try_from(frame.original).unwrap_or(octets.len()).max(octets.len());
                let began = (spot.at, spot.proof);
                let whole = Whole { octets, len, direction, tlli: None, began, blocks: 0, bvci: None };
                self.llc(spot, &whole, out);
            }
            Inside::Other => self.others += 1,
            Inside::UnknownLink => self.unknown_links += 1,
        }
    }

    fn ip(&mut self, origin: Origin<'_>, octets: &[u8], out: &mut Out) {
        let Some(packet) = ip::parse(octets) else {
            self.others += 1;
            return;
        };
        let ends = (packet.summary.source, packet.summary.destination);
        if let Some((source, destination, payload)) = packet.udp() {
            let missing = usize::try_from(packet.octets - packet.header_octets.min(packet.octets))
                .unwrap_or(0)
                .saturating_sub(packet.payload.len());
            let from = SocketAddr::new(ends.0, source);
            let to = SocketAddr::new(ends.1, destination);
            if self.datagram(origin, (from, to), payload, missing, out) {
                return;
            }
        } else if let Some(fragment) =
            packet.fragment.filter(|_| packet.summary.protocol == ip::protocol::UDP)
            && !packet.is_cut
        {
            let whole = (ends.0, ends.1, packet.summary.protocol, packet.fragment_id);
            if let Some(datagram) = self.fragments.take(whole, fragment, packet.payload)
                && let Some((source, destination, payload)) = ip::udp(&datagram)
            {
                let from = SocketAddr::new(ends.0, source);
                let to = SocketAddr::new(ends.1, destination);
                self.datagram(origin, (from, to), payload, 0, out);
                return;
            }
        }
        let spot = self.spot(origin, Kind::Ip);
        self.packet(spot, Some(&packet), packet.octets, Whose::default(), out);
    }

    /// False where a datagram is nothing of GPRS.
    fn datagram(
        &mut self,
        origin: Origin<'_>,
        (from, to): (SocketAddr, SocketAddr),
        payload: &[u8],
        missing: usize,
        out: &mut Out,
    ) -> bool {
        let ports = [from.port(), to.port()];
        if ports.contains(&gsmtap::UDP_PORT) && gsmtap::Header::parse(payload).is_ok() {
            self.gsmtap(origin, payload, out);
            return true;
        }
        let ends = if from < to { (from, to) } else { (to, from) };
        let is_ns_port = ports.iter().any(|port| self.settings.ns_ports.contains(port));
        if is_ns_port || self.ns_vcs.contains(&ends) {
            self.gb(origin, payload, missing, out);
        } else if ports.into_iter().any(gtp::is_port) || gtp::is_evident(payload) {
            self.gtp(origin, (from.ip(), to.ip()), payload, missing, out);
        } else if gb::is_evident(payload) && self.ns_vcs.len() < NS_VCS_MAX {
            self.ns_vcs.insert(ends);
            self.gb(origin, payload, missing, out);
        } else {
            return false;
        }
        true
    }

    fn gsmtap(&mut self, origin: Origin<'_>, octets: &[u8], out: &mut Out) {
        let spot = self.spot(origin, Kind::Radio);
        let (header, at) = match gsmtap::Header::parse(octets) {
            Ok(found) => found,
            Err(why) => {
                out.push(spot.seen(Record::Unreadable(Unreadable { layer: "GSMTAP", why })));
                return;
            }
        };
        match tapped(&header, octets.get(at..).unwrap_or_default()) {
            Tapped::Block(block, body) => self.block(spot, block, body, out),
            Tapped::Llc(direction, octets) => {
                let spot = self.spot(origin, Kind::Gb);
                let began = (spot.at, spot.proof);
                let len = octets.len();
                let whole = Whole { octets, len, direction, tlli: None, began, blocks: 0, bvci: None };
                self.llc(spot, &whole, out);
            }
            Tapped::Other => self.others += 1,
        }
    }

    fn block(&mut self, spot: Spot, block: RadioBlock, body: Option<Body>, out: &mut Out) {
        let direction = block.direction;
        let key = |of, tfi| TbfKey::new(spot.place, block.arfcn, of, tfi);
        match &block.contents {
            BlockContents::Assignment(assignment) => {
                if let Some(tfi) = assignment.tfi {
                    self.tbfs.assigned(key(assignment.of, tfi), assignment.tlli);
                }
            }
            BlockContents::Data(data) => {
                if let Some(body) = &body {
                    let mut joined = core::mem::take(&mut self.joined);
                    self.tbfs.take(key(direction, data.tfi), data, body, (spot.at, spot.proof), &mut joined);
                    self.joined = joined;
                }
            }
            _ => {}
        }
        out.push(spot.seen(Record::Radio(block)));
        for joined in core::mem::take(&mut self.joined) {
            let whole = Whole {
                octets: &joined.octets,
                len: joined.octets.len(),
                direction,
                tlli: joined.tlli,
                began: (joined.began, joined.first),
                blocks: joined.blocks,
                bvci: None,
            };
            self.llc(spot, &whole, out);
        }
    }

    fn gb(&mut self, origin: Origin<'_>, datagram: &[u8], missing: usize, out: &mut Out) {
        let spot = self.spot(origin, Kind::Gb);
        let mut padded = Vec::new();
        let have = datagram.len();
        let datagram = if missing > 0 {
            padded.extend_from_slice(datagram);
            padded.resize(have + missing, 0);
            &padded
        } else {
            datagram
        };
        let mut bssgp = match gb::parse(datagram) {
            gb::Gb::Ns(pdu) => return out.push(spot.seen(Record::Ns(pdu))),
            gb::Gb::Unreadable(layer, why) => {
                return out.push(spot.seen(Record::Unreadable(Unreadable { layer, why })));
            }
            gb::Gb::Bssgp(bssgp) => bssgp,
        };
        let mut mobile = bssgp.pdu.tlli.and_then(|tlli| self.mobiles.of_tlli(tlli));
        if let (Some(index), Some(imsi)) = (mobile, bssgp.imsi) {
            mobile = Some(self.mobiles.name_imsi(index, imsi));
        }
        if let BssgpWhat::Paging { imsi, ptmsi } = bssgp.pdu.what {
            mobile = self.mobiles.of_imsi(imsi);
            if let (Some(index), Some(ptmsi)) = (mobile, ptmsi) {
                self.mobiles.name_tlli(index, ptmsi | 0xc000_0000);
            }
        }
        if let (Some(index), Some(old)) = (mobile, bssgp.old_tlli) {
            self.mobiles.name_tlli(index, old);
        }
        bssgp.pdu.mobile = mobile;
        let (tlli, bvci) = (bssgp.pdu.tlli, Some(bssgp.pdu.bvci));
        let direction = match bssgp.pdu.what {
            BssgpWhat::Unitdata { direction, .. } => direction,
            _ => Direction::Down,
        };
        out.push(spot.seen(Record::Bssgp(bssgp.pdu)));
        if let Some(range) = bssgp.ll_pdu {
            let len = range.len();
            let octets = datagram.get(range.start..range.end.min(have)).unwrap_or_default();
            let began = (spot.at, spot.proof);
            let whole = Whole { octets, len, direction, tlli, began, blocks: 0, bvci };
            self.llc(spot, &whole, out);
        }
    }

    fn llc(&mut self, spot: Spot, whole: &Whole<'_>, out: &mut Out) {
        let is_cut = whole.octets.len() < whole.len;
        let mobile = whole.tlli.and_then(|tlli| self.mobiles.of_tlli(tlli));
        let (began, first) = whole.began;
        let mut record = LlPdu {
            direction: whole.direction,
            tlli: whole.tlli,
            mobile,
            header: None,
            fcs: Fcs::Wrong,
            octets: u32::try_from(whole.len).unwrap_or(u32::MAX),
            info_octets: 0,
            digest: ip::digest(whole.octets),
            began,
            first,
            blocks: whole.blocks,
            bvci: whole.bvci,
        };
        let layout = match llc::Header::parse(whole.octets) {
            Ok(layout) => layout,
            Err(why) => {
                out.push(spot.seen(Record::Llc(record)));
                return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "LLC", why })));
            }
        };
        let info_len = whole.len.saturating_sub(layout.header_len + FCS_LEN);
        record.header = Some(layout.header);
        record.info_octets = u32::try_from(info_len).unwrap_or(u32::MAX);
        let is_ciphered = matches!(layout.header.control, Control::Ui { encrypted: true, .. });
        record.fcs = match () {
            () if is_cut => Fcs::Cut,
            () if is_ciphered => Fcs::Ciphered,
            () if layout.fcs_is_right(whole.octets) => Fcs::Right,
            () => Fcs::Wrong,
        };
        let is_clear = !is_ciphered && matches!(record.fcs, Fcs::Right | Fcs::Cut);
        out.push(spot.seen(Record::Llc(record)));
        let has_information = matches!(layout.header.control, Control::I { .. } | Control::Ui { .. });
        if !is_clear || !has_information {
            return;
        }
        let end = (layout.header_len + info_len).min(whole.octets.len());
        let info = whole.octets.get(layout.header_len..end).unwrap_or_default();
        match layout.header.sapi {
            Sapi::GMM if !is_cut => self.layer3(spot, whole, info, out),
            Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11 => {
                self.sn_pdu(spot, whole, (info, info_len), mobile, out);
            }
            _ => {}
        }
    }

    fn layer3(&mut self, spot: Spot, whole: &Whole<'_>, info: &[u8], out: &mut Out) {
        let direction = match whole.direction {
            Direction::Up => l3::Direction::Uplink,
            Direction::Down => l3::Direction::Downlink,
        };
        let message = match L3Message::parse(direction, info) {
            Ok(message) => message,
            Err(why) => return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "GMM/SM", why }))),
        };
        if let Some(tlli) = whole.tlli {
            self.mobiles.learn_layer3(tlli, &message);
        }
        let mobile = whole.tlli.and_then(|tlli| self.mobiles.of_tlli(tlli));
        let (direction, tlli) = (whole.direction, whole.tlli);
        let message = Box::new(message);
        out.push(spot.seen(Record::Layer3(Layer3 { direction, tlli, mobile, message })));
    }

    fn sn_pdu(
        &mut self,
        spot: Spot,
        whole: &Whole<'_>,
        (info, info_len): (&[u8], usize),
        mobile: Option<u32>,
        out: &mut Out,
    ) {
        let (header, start) = match sndcp::Header::parse(info) {
            Ok(found) => found,
            Err(why) => return out.push(spot.seen(Record::Unreadable(Unreadable { layer: "SNDCP", why }))),
        };
        let segment = info.get(start..).unwrap_or_default();
        let octets = u32::try_from(info_len.saturating_sub(start)).unwrap_or(u32::MAX);
        let (direction, tlli) = (whole.direction, whole.tlli);
        out.push(spot.seen(Record::Segment(SnPdu { direction, tlli, mobile, header, octets })));
        let is_cut = info.len() < info_len;
        let is_alone = matches!(header.pdu, Pdu::Unitdata { first: Some(_), segment: 0, .. }) && !header.more;
        if is_cut && !is_alone {
            return;
        }
        let key = ContextKey {
            place: spot.place,
            is_up: whole.direction == Direction::Up,
            mobile: mobile.unwrap_or(u32::MAX),
            nsapi: header.nsapi.0,
        };
        let Some(n_pdu) = self.n_pdus.take(key, &header, segment, whole.began) else { return };
        let carrier = Carrier::Segments { nsapi: header.nsapi.0, number: n_pdu.number, count: n_pdu.count };
        let whose =
            Whose { direction: Some(direction), mobile, carrier, began: Some((n_pdu.began, n_pdu.first)) };
        let is_plain = n_pdu.compression == Compression::NONE;
        let octets = if is_cut { octets } else { u32::try_from(n_pdu.octets.len()).unwrap_or(u32::MAX) };
        let packet = if is_plain { ip::parse(&n_pdu.octets) } else { None };
        if let (Direction::Up, Some(index), Some(packet)) = (direction, mobile, &packet) {
            let source = packet.summary.source;
            if !source.is_unspecified() && self.mobiles.of_address(&source).is_none() {
                self.mobiles.name_address(index, source);
            }
        }
        self.packet(spot, packet.as_ref(), octets, whose, out);
    }

    fn gtp(
        &mut self,
        origin: Origin<'_>,
        (from, to): (IpAddr, IpAddr),
        datagram: &[u8],
        missing: usize,
        out: &mut Out,
    ) {
        let spot = self.spot(origin, Kind::Gn);
        match gtp::parse(datagram, missing) {
            gtp::Gtp::GPdu { version: _, teid, sequence, imsi, t_pdu } => {
                let tunnel = self.mobiles.of_tunnel(to, teid);
                let mobile = match imsi {
                    Some(imsi) => self.mobiles.of_imsi(imsi),
                    None => tunnel.map(|tunnel| tunnel.mobile),
                };
                let direction = tunnel.map(|it| if it.is_down { Direction::Down } else { Direction::Up });
                let carrier = Carrier::GPdu { teid, sequence };
                let octets = datagram.get(t_pdu).unwrap_or_default();
                let packet = ip::parse(octets);
                let len = packet.map_or(octets.len().saturating_add(missing), |it| it.octets as usize);
                let len = u32::try_from(len).unwrap_or(u32::MAX);
                let whose = Whose { direction, mobile, carrier, began: None };
                self.packet(spot, packet.as_ref(), len, whose, out);
            }
            gtp::Gtp::Signalling(message) => {
                let mobile = self.mobiles.learn_gtp(from, to, &message);
                out.push(spot.seen(Record::Gtp(GtpMessage {
                    version: message.version,
                    name: message.name,
                    teid: message.teid,
                    sequence: message.sequence,
                    mobile,
                    cause: message.cause,
                })));
            }
            gtp::Gtp::Unreadable(why) => {
                out.push(spot.seen(Record::Unreadable(Unreadable { layer: "GTP", why })));
            }
        }
    }

    fn packet(&mut self, spot: Spot, packet: Option<&Ip<'_>>, octets: u32, whose: Whose, out: &mut Out) {
        let by_source = packet.and_then(|it| self.mobiles.of_address(&it.summary.source));
        let by_destination = packet.and_then(|it| self.mobiles.of_address(&it.summary.destination));
        let direction = whose.direction.or(match (by_source, by_destination) {
            (Some(_), None) => Some(Direction::Up),
            (None, Some(_)) => Some(Direction::Down),
            _ => None,
        });
        let (began, first) = whose.began.unwrap_or((spot.at, spot.proof));
        out.push(spot.seen(Record::Packet(Packet {
            direction,
            mobile: whose.mobile.or(by_source).or(by_destination),
            digest: packet.and_then(Ip::digest),
            ip: packet.map(|it| it.summary),
            octets,
            began,
            first,
            carrier: whose.carrier,
        })));
        let Some(packet) = packet else { return };
        let Some((source, destination)) = packet.summary.ports else { return };
        if packet.summary.protocol != ip::protocol::TCP {
            return;
        }
        let payload_octets = packet.octets.saturating_sub(packet.header_octets);
        let id = packet.summary.identification;
        let Some(mut segment) = tcp::parse(packet.payload, payload_octets, packet.octets, id) else { return };
        let from = SocketAddr::new(packet.summary.source, source);
        let to = SocketAddr::new(packet.summary.destination, destination);
        if self.connections.place(from, to, &mut segment) {
            out.push(spot.seen(Record::Tcp(segment)));
        }
    }
}

/// What is known of a packet besides its octets.
struct Whose {
    direction: Option<Direction>,
    mobile: Option<u32>,
    carrier: Carrier,
    began: Option<(Stamp, Proof)>,
}

impl Default for Whose {
    fn default() -> Self {
        Self { direction: None, mobile: None, carrier: Carrier::Plain, began: None }
    }
}
