//! A frame's way through the layers, from its link to the segment of TCP in it.

mod llc;

use super::{Counts, Place};
use crate::cipher::{Ciphers, Key};
use crate::compression::Compressions;
use crate::decode::ip::{self, Ip};
use crate::decode::link::{Inside, inside};
use crate::decode::radio::{Tapped, tapped};
use crate::decode::{gb, gtp, tcp};
use crate::join::connections::{Connection, Connections};
use crate::join::fragments::Fragments;
use crate::join::mobiles::Mobiles;
use crate::join::rlc::{Joined, TbfKey, Tbfs};
use crate::join::sndcp::NPdus;
use crate::record::{
    BlockContents, BssgpWhat, Carrier, Direction, GtpMessage, Kind, Packet, Proof, RadioBlock, Record, Seen,
    Stamp, Unreadable,
};
use crate::source::Frame;
use core::net::{IpAddr, SocketAddr};
use gannet_wire::gsmtap;
use gannet_wire::rlcmac::block::Body;
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
    /// Keys that open ciphered LL-PDUs.
    pub keys: Vec<Key>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ns_ports: vec![gannet_wire::ns::UDP_PORT], clocks_ahead_ns: Vec::new(), keys: Vec::new() }
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
    ciphers: Ciphers,
    compressions: Compressions,
    others: u64,
    unknown_links: u64,
    cut: u64,
    joined: Vec<Joined>,
}

impl Chain {
    /// A chain that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        let ciphers = Ciphers::new(settings.keys.clone());
        Self { settings, ciphers, ..Self::default() }
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
        counts.cipher = self.ciphers.counts();
        counts.compression = self.compressions.counts();
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
        if let (Some(tlli), Some(imsi)) = (bssgp.pdu.tlli, bssgp.imsi) {
            mobile = self.mobiles.is_of(imsi, tlli);
        }
        if let BssgpWhat::Paging { imsi, ptmsi } = bssgp.pdu.what {
            mobile = match ptmsi {
                Some(ptmsi) => self.mobiles.is_of(imsi, ptmsi | 0xc000_0000),
                None => self.mobiles.of_imsi(imsi),
            };
        }
        if let (Some(index), Some(old)) = (mobile, bssgp.old_tlli) {
            mobile = Some(self.mobiles.also(index, old));
        }
        self.merged();
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
