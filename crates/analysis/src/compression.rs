//! N-PDUs as they were before they were compressed (04.65 clauses 6.5 and 6.6 [44.065]): RFC 1144 and V.42bis, as XID in the
//! same capture has agreed to them.
//!
//! A capture that starts after the XID does not say which algorithm a DCOMP or PCOMP value stands for, and one that starts in the
//! middle of a connection lacks the headers that RFC 1144 builds upon. Such N-PDUs stay as they are, and are counted.

use gannet_machine::frame::FramePool;
use gannet_proto::sndcp::compression::{Agreed, Kind, V42bisLimits};
use gannet_proto::sndcp::rfc1144::{self, PacketType};
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};
use gannet_wire::id::Nsapi;
use gannet_wire::sndcp::Compression;
use gannet_wire::sndcp::algorithms::{NsapiSet, Rfc1144, V42bis, data_algorithm, protocol_algorithm};
use gannet_wire::sndcp::xid::{self, Entity, Parameter};
use serde::Serialize;
use std::collections::HashMap;

/// SAPIs of mobiles whose entities are kept.
const SAPS_MAX: usize = 20_000;
/// Entities of one of them.
const ENTITIES_MAX: usize = 16;
/// Directions of entities at places that have learned something: each takes some 4 KiB.
const CODERS_MAX: usize = 4096;

type Table<K, V> = HashMap<K, V, foldhash::quality::RandomState>;

/// What was counted of compressed N-PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// N-PDUs that are compressed.
    pub compressed: u64,
    /// Of these: they are restored.
    pub restored: u64,
    /// The capture has no XID that says how.
    pub unknown: u64,
    /// What came before them is not there, or they are damaged.
    pub lost: u64,
}

/// One SAPI of a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sap {
    /// The mobile's index.
    pub mobile: u32,
    /// SAPI.
    pub sapi: u8,
}

/// One direction of a SAPI, seen at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane {
    /// Whose.
    pub sap: Sap,
    /// Place of the reading.
    pub place: u16,
    /// From the mobile.
    pub is_up: bool,
}

/// How an N-PDU came.
#[derive(Debug, Clone, Copy)]
pub struct Came {
    /// Whose context.
    pub nsapi: Nsapi,
    /// In acknowledged mode.
    pub is_acknowledged: bool,
    /// DCOMP and PCOMP.
    pub compression: Compression,
    /// N-PDU number.
    pub number: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    number: u8,
    agreed: Agreed,
    nsapis: NsapiSet,
}

#[derive(Debug, Default)]
struct Known {
    /// What waits for an answer: of the mobile, of the SGSN.
    proposed: [Vec<Entry>; 2],
    agreed: Vec<Entry>,
    generation: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CoderKey {
    lane: Lane,
    is_data: bool,
    number: u8,
}

#[derive(Debug)]
struct Coder {
    generation: u32,
    learned: Learned,
    /// The number of the N-PDU that comes next, of each NSAPI.
    expected: [Option<u16>; 16],
    /// In acknowledged mode V.42bis builds on all that came before: an N-PDU was missing.
    is_out_of_step: bool,
}

#[derive(Debug)]
enum Learned {
    Headers(rfc1144::Decompressor),
    Data(Option<Box<v42bis::Decompressor>>),
}

/// What both ends have agreed to, and what each direction has learned.
#[derive(Debug)]
pub struct Compressions {
    saps: Table<Sap, Known>,
    coders: Table<CoderKey, Coder>,
    pool: FramePool,
    counts: Counts,
}

impl Default for Compressions {
    fn default() -> Self {
        let (saps, coders, counts) = (Table::default(), Table::default(), Counts::default());
        Self { saps, coders, pool: FramePool::new(1), counts }
    }
}

impl Compressions {
    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Two mobiles turned out to be one.
    pub fn merge(&mut self, gone: u32, stays: u32) {
        for sapi in 0..16 {
            if let Some(known) = self.saps.remove(&Sap { mobile: gone, sapi }) {
                self.saps.entry(Sap { mobile: stays, sapi }).or_insert(known);
            }
        }
    }

    /// All that was agreed to with a mobile ends: its LLC was reset.
    pub fn reset(&mut self, mobile: u32) {
        for sapi in 0..16 {
            if let Some(known) = self.saps.get_mut(&Sap { mobile, sapi }) {
                let generation = known.generation + 1;
                *known = Known { generation, ..Known::default() };
            }
        }
    }

    /// A link is established: what was learned in acknowledged mode is forgotten.
    pub fn link_anew(&mut self, sap: Sap) {
        if let Some(known) = self.saps.get_mut(&sap) {
            known.generation += 1;
        }
    }

    /// Learns from layer 3's block of an XID, SABM or UA.
    pub fn learn(&mut self, sap: Sap, is_up: bool, is_command: bool, block: &[u8]) {
        let Ok(parameters) = xid::parse(block) else { return };
        if self.saps.len() >= SAPS_MAX && !self.saps.contains_key(&sap) {
            self.saps.clear();
        }
        let known = self.saps.entry(sap).or_default();
        let said = parameters.iter().flat_map(|parameter| match parameter {
            Parameter::Data(entities) => entities.iter().map(|entity| (Kind::Data, entity)).collect(),
            Parameter::Protocol(entities) => entities.iter().map(|entity| (Kind::Protocol, entity)).collect(),
            Parameter::Version(_) | Parameter::Unknown { .. } => Vec::new(),
        });
        let [of_mobile, of_sgsn] = &mut known.proposed;
        let proposed = if is_up == is_command { of_mobile } else { of_sgsn };
        if is_command {
            let present = &known.agreed;
            let proposals = said.filter_map(|(kind, entity)| proposal(kind, entity, present));
            *proposed = proposals.take(ENTITIES_MAX).collect();
            return;
        }
        let answers: Vec<Entry> =
            said.filter_map(|(kind, entity)| answer(kind, entity, proposed)).take(ENTITIES_MAX).collect();
        proposed.clear();
        for entry in answers {
            let is_same = |it: &Entry| it.number == entry.number && it.agreed.kind() == entry.agreed.kind();
            let before = known.agreed.iter().find(|it| is_same(it)).copied();
            known.agreed.retain(|it| !is_same(it));
            if before.is_some_and(|it| it.agreed != entry.agreed) {
                known.generation += 1;
            }
            if !entry.nsapis.is_empty() && known.agreed.len() < ENTITIES_MAX {
                known.agreed.push(entry);
            }
        }
    }

    /// The N-PDU as it was before; `None` where that is not known, which is counted.
    pub fn restore(&mut self, lane: Lane, came: Came, octets: &[u8]) -> Option<Vec<u8>> {
        let is_plain = came.compression == Compression::NONE;
        let entities = self.saps.get(&lane.sap).map(|known| (known.agreed.clone(), known.generation));
        self.counts.compressed += u64::from(!is_plain);
        let Some((agreed, generation)) = entities.filter(|(agreed, _)| !agreed.is_empty()) else {
            self.counts.unknown += u64::from(!is_plain);
            return is_plain.then(|| octets.to_vec());
        };
        let of = |kind: Kind| {
            agreed.iter().find(|entry| entry.agreed.kind() == kind && entry.nsapis.has(came.nsapi)).copied()
        };
        let (data, headers) = (of(Kind::Data), of(Kind::Protocol));
        let restored = if (came.compression.dcomp != 0 && data.is_none())
            || (came.compression.pcomp != 0 && headers.is_none())
        {
            self.counts.unknown += 1;
            return None;
        } else {
            let inner = match data {
                Some(entry) => self.data((lane, entry, generation), came, octets),
                None => Some(octets.to_vec()),
            };
            match headers {
                Some(entry) => self.headers((lane, entry, generation), came, inner),
                None => inner,
            }
        };
        match &restored {
            Some(_) => self.counts.restored += u64::from(!is_plain),
            None => self.counts.lost += u64::from(!is_plain),
        }
        restored.or_else(|| is_plain.then(|| octets.to_vec()))
    }

    fn coder(&mut self, (lane, entry, generation): (Lane, Entry, u32)) -> &mut Coder {
        let is_data = entry.agreed.kind() == Kind::Data;
        let key = CoderKey { lane, is_data, number: entry.number };
        if self.coders.len() >= CODERS_MAX && !self.coders.contains_key(&key) {
            self.coders.clear();
        }
        let new = || {
            let learned = match entry.agreed {
                Agreed::Rfc1144 { s0_minus_1, .. } => {
                    Learned::Headers(rfc1144::Decompressor::new(s0_minus_1))
                }
                Agreed::V42bis { limits, .. } => Learned::Data(
                    v42bis::Parameters::new(limits.p1, limits.p2)
                        .map(|parameters| Box::new(v42bis::Decompressor::new(parameters))),
                ),
            };
            Coder { generation, learned, expected: [None; 16], is_out_of_step: false }
        };
        let coder = self.coders.entry(key).or_insert_with(new);
        if coder.generation != generation {
            *coder = new();
        }
        coder
    }

    fn data(&mut self, of: (Lane, Entry, u32), came: Came, octets: &[u8]) -> Option<Vec<u8>> {
        let Agreed::V42bis { dcomp, .. } = of.1.agreed else { return None };
        let coder = self.coder(of);
        if came.is_acknowledged {
            match coder.order(came) {
                Order::Next => {}
                // Sent again: the first copy was taken.
                Order::Again => return None,
                Order::Missing => coder.is_out_of_step = true,
            }
        }
        if came.compression.dcomp == 0 {
            return Some(octets.to_vec());
        }
        let is_out_of_step = came.is_acknowledged && coder.is_out_of_step;
        let Learned::Data(Some(decompressor)) = &mut coder.learned else { return None };
        let mut out = vec![0; N_PDU_MAX];
        let len = if came.compression.dcomp != dcomp || is_out_of_step {
            return None;
        } else if came.is_acknowledged {
            decompressor.decompress(octets, &mut out)
        } else {
            decompressor.decompress_alone(octets, &mut out)
        };
        out.truncate(len.ok()?);
        Some(out)
    }

    /// `inner` is none where data compression has failed: RFC 1144 has to know that an N-PDU is missing.
    fn headers(&mut self, of: (Lane, Entry, u32), came: Came, inner: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Agreed::Rfc1144 { pcomps, .. } = of.1.agreed else { return None };
        let pool = self.pool.clone();
        let coder = self.coder(of);
        let is_next = match coder.order(came) {
            Order::Next => true,
            Order::Again => return None,
            Order::Missing => false,
        };
        let Learned::Headers(decompressor) = &mut coder.learned else { return None };
        if !is_next || inner.is_none() {
            decompressor.lost();
        }
        let inner = inner?;
        let packet_type = PacketType::of(came.compression.pcomp, pcomps)?;
        if packet_type == PacketType::Ip {
            return Some(inner);
        }
        let mut frame = pool.copy_of(&inner).filter(|_| inner.len() <= N_PDU_MAX)?;
        decompressor.decompress(packet_type, &mut frame).ok()?;
        // A delta that is missing gives a packet that TCP would refuse.
        (packet_type != PacketType::CompressedTcp || checksum_is_right(&frame)).then(|| frame.to_vec())
    }
}

/// How the number of an N-PDU follows those before.
enum Order {
    Next,
    Again,
    Missing,
}

impl Coder {
    /// The first N-PDU of an NSAPI is next. One that is not far behind the expected one came again.
    fn order(&mut self, came: Came) -> Order {
        let modulus = if came.is_acknowledged { 256 } else { gannet_wire::sndcp::UNITDATA_MODULUS };
        let Some(expected) = self.expected.get_mut(usize::from(came.nsapi.0)) else { return Order::Missing };
        let ahead = expected.map_or(0, |expected| (modulus + came.number - expected) % modulus);
        if came.is_acknowledged && ahead >= modulus / 2 {
            return Order::Again;
        }
        *expected = Some((came.number + 1) % modulus);
        if ahead == 0 { Order::Next } else { Order::Missing }
    }
}

/// Is the checksum of TCP over IPv4 right? (RFC 9293, clause 3.1.)
fn checksum_is_right(packet: &[u8]) -> bool {
    let header = usize::from(packet.first().copied().unwrap_or(0) & 0xf) * 4;
    let (Some(addresses), Some(segment)) = (packet.get(12..20), packet.get(header..)) else { return false };
    let pairs = addresses.chunks(2).chain(segment.chunks(2));
    let word = |pair: &[u8]| match *pair {
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(high) << 8,
        _ => 0,
    };
    let mut sum: u64 = pairs.map(word).sum::<u64>() + 6 + segment.len() as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

/// What a command says of an entity: a new one, or another value of one that there is.
fn proposal(kind: Kind, entity: &Entity, present: &[Entry]) -> Option<Entry> {
    let number = entity.number;
    let Some(algorithm) = entity.algorithm else {
        let present = present.iter().find(|it| it.number == number && it.agreed.kind() == kind)?;
        return with(*present, &entity.fields);
    };
    let (agreed, rest) = match (kind, algorithm) {
        (Kind::Protocol, protocol_algorithm::RFC_1144) => {
            let (pcomps, rest) = entity.comps(2).ok()?;
            let pcomps = pcomps.try_into().ok()?;
            (Agreed::Rfc1144 { pcomps, s0_minus_1: Rfc1144::DEFAULT.s0_minus_1? }, rest)
        }
        (Kind::Data, data_algorithm::V42BIS) => {
            let (dcomps, rest) = entity.comps(1).ok()?;
            let V42bis { p0, p1, p2, .. } = V42bis::DEFAULT;
            let limits = V42bisLimits { p0: p0?, p1: p1?, p2: p2? };
            (Agreed::V42bis { dcomp: *dcomps.first()?, limits }, rest)
        }
        // The others are known to nobody here.
        (Kind::Protocol | Kind::Data, _) => return None,
    };
    with(Entry { number, agreed, nsapis: NsapiSet::NONE }, rest)
}

fn answer(kind: Kind, entity: &Entity, proposed: &[Entry]) -> Option<Entry> {
    let is_it = |it: &&Entry| it.number == entity.number && it.agreed.kind() == kind;
    with(*proposed.iter().find(is_it)?, &entity.fields)
}

/// The same with the parameters that `fields` say.
fn with(entry: Entry, fields: &[u8]) -> Option<Entry> {
    let (agreed, nsapis) = match entry.agreed {
        Agreed::Rfc1144 { pcomps, s0_minus_1 } => {
            let said = Rfc1144::parse(fields).ok()?;
            (Agreed::Rfc1144 { pcomps, s0_minus_1: said.s0_minus_1.unwrap_or(s0_minus_1) }, said.nsapis)
        }
        Agreed::V42bis { dcomp, limits } => {
            let said = V42bis::parse(fields).ok().filter(V42bis::is_valid)?;
            let limits = V42bisLimits {
                p0: said.p0.unwrap_or(limits.p0),
                p1: said.p1.unwrap_or(limits.p1),
                p2: said.p2.unwrap_or(limits.p2),
            };
            (Agreed::V42bis { dcomp, limits }, said.nsapis)
        }
    };
    Some(Entry { agreed, nsapis: nsapis.unwrap_or(entry.nsapis), ..entry })
}
