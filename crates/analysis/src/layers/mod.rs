//! How many octets each layer carries, how fast, and what headers and segmentation cost.
//!
//! | layer | octets | payload |
//! |---|---|---|
//! | RLC | data fields of data blocks, those sent again too | octets of LL-PDUs in them |
//! | LLC | LL-PDUs whose frame check sequence is not wrong | information |
//! | SNDCP | SN-PDUs | behind their headers |
//! | IP | N-PDUs and packets | the same |
//! | TCP | octets of the stream with all copies | octets of the stream for the first time at that place: goodput |
//!
//! Rates of all layers are of the same [`WINDOW_NS`] of a direction: the one in which its LL-PDUs on the radio carried most, or else the
//! lowest layer that was seen.

mod report;
mod segmentation;
#[cfg(test)]
mod tests;

pub use report::{LayerRow, LayersReport, Line, Window};
pub use segmentation::Segmentation;

use crate::record::{BlockContents, Direction, Fcs, Proof, RadioBlock, Record, Seen, Stamp, TcpSegment};
use gannet_wire::sndcp::Header;
use segmentation::Segmenting;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The length of the window in which rates are compared, in nanoseconds.
pub const WINDOW_NS: u64 = 10_000_000_000;
/// The width of an interval at first.
const WIDTH_NS: u64 = 1_000_000_000;
/// Intervals at most: of more two become one.
const BINS_MAX: usize = 4_096;
/// Rows of places, directions and layers.
const ROWS_MAX: usize = 256;
/// Directions of connections whose highest octet is remembered.
const STREAMS_MAX: usize = 65_536;

/// A layer, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Layer {
    /// Data blocks of RLC.
    Rlc,
    /// LL-PDUs.
    Llc,
    /// SN-PDUs.
    Sndcp,
    /// IP packets.
    Ip,
    /// The stream of TCP.
    Tcp,
}

impl Layer {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rlc => "RLC",
            Self::Llc => "LLC",
            Self::Sndcp => "SNDCP",
            Self::Ip => "IP",
            Self::Tcp => "TCP",
        }
    }
}

/// What came in an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    payload: u64,
    /// Data blocks whose scheme is known, the bits by the second of their schemes, and their timeslots.
    blocks: u64,
    bits: u64,
    slots: u8,
}

/// One layer of one direction at one place.
#[derive(Debug)]
struct Row {
    units: u64,
    octets: u64,
    payload: u64,
    first: (Stamp, Proof),
    last: (Stamp, Proof),
    bins: Vec<Bin>,
}

/// What a record adds to its row.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    octets: u64,
    payload: u64,
    blocks: u64,
    bits: u64,
    slots: u8,
}

type Key = (Direction, Layer, u16);

/// All layers of a reading.
#[derive(Debug)]
pub struct Layers {
    start: Option<Stamp>,
    last: Stamp,
    width_ns: u64,
    rows: BTreeMap<Key, Row>,
    left_out: u64,
    /// Direction of the packet before, for the segment in it.
    packet: Option<(Proof, u16, Direction)>,
    /// The octet behind the highest one of each direction of each connection at each place.
    streams: HashMap<(u32, bool, u16), u32, foldhash::quality::RandomState>,
    segmenting: Segmenting,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            start: None,
            last: Stamp(0),
            width_ns: WIDTH_NS,
            rows: BTreeMap::new(),
            left_out: 0,
            packet: None,
            streams: HashMap::default(),
            segmenting: Segmenting::default(),
        }
    }
}

impl Layers {
    /// Takes a record. They come in the order of time.
    pub fn take(&mut self, seen: &Seen<Record>) {
        self.segmenting.take(seen);
        let found = match &seen.what {
            Record::Radio(block) => of_block(block).map(|amount| (block.direction, Layer::Rlc, amount)),
            Record::Llc(it) if it.fcs != Fcs::Wrong => {
                Some((it.direction, Layer::Llc, amount(it.octets, it.info_octets)))
            }
            Record::Segment(it) => {
                let payload = u64::from(it.octets);
                let octets = payload + sndcp_header(&it.header);
                let amount = Amount { octets, payload, ..Amount::default() };
                Some((it.direction, Layer::Sndcp, amount))
            }
            Record::Packet(it) => {
                self.packet = it.direction.map(|direction| (seen.proof, seen.place, direction));
                it.direction.map(|direction| (direction, Layer::Ip, amount(it.octets, it.octets)))
            }
            Record::Tcp(it) => self
                .packet
                .filter(|(proof, place, _)| (*proof, *place) == (seen.proof, seen.place))
                .map(|(.., direction)| (direction, Layer::Tcp, self.stream(it, seen.place))),
            _ => None,
        };
        let Some((direction, layer, amount)) = found else { return };
        self.add((direction, layer, seen.place), amount, (seen.at, seen.proof));
    }

    /// Octets of a segment, and those that were not seen before here. What a wrapped number means is decided by the nearer half.
    fn stream(&mut self, segment: &TcpSegment, place: u16) -> Amount {
        let key = (segment.connection, segment.is_forward, place);
        let end = segment.sequence.wrapping_add(segment.length);
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&key) {
            return amount(segment.length, segment.length);
        }
        let highest = self.streams.entry(key).or_insert(segment.sequence);
        let new = end.wrapping_sub(*highest).cast_signed();
        let fresh = u32::try_from(new).unwrap_or(0).min(segment.length);
        if new > 0 {
            *highest = end;
        }
        amount(segment.length, fresh)
    }

    fn add(&mut self, key: Key, amount: Amount, here: (Stamp, Proof)) {
        let start = *self.start.get_or_insert(here.0);
        self.last = self.last.max(here.0);
        while here.0.0.saturating_sub(start.0) / self.width_ns >= BINS_MAX as u64 {
            self.widen();
        }
        let since = here.0.0.saturating_sub(start.0);
        let index = usize::try_from(since / self.width_ns).unwrap_or(0);
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let new = || Row { units: 0, octets: 0, payload: 0, first: here, last: here, bins: Vec::new() };
        let row = self.rows.entry(key).or_insert_with(new);
        row.units += 1;
        row.octets += amount.octets;
        row.payload += amount.payload;
        row.last = here;
        if row.bins.len() <= index {
            row.bins.resize(index + 1, Bin::default());
        }
        if let Some(bin) = row.bins.get_mut(index) {
            bin.payload += amount.payload;
            bin.blocks += amount.blocks;
            bin.bits += amount.bits;
            bin.slots |= amount.slots;
        }
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        for row in self.rows.values_mut() {
            let join = |pair: &[Bin]| {
                pair.iter().fold(Bin::default(), |sum, bin| Bin {
                    payload: sum.payload + bin.payload,
                    blocks: sum.blocks + bin.blocks,
                    bits: sum.bits + bin.bits,
                    slots: sum.slots | bin.slots,
                })
            };
            row.bins = row.bins.chunks(2).map(join).collect();
        }
    }

    /// What is known at the end.
    #[must_use]
    pub fn finish(self) -> LayersReport {
        report::of(self)
    }
}

fn amount(octets: u32, payload: u32) -> Amount {
    Amount { octets: u64::from(octets), payload: u64::from(payload), ..Amount::default() }
}

fn of_block(block: &RadioBlock) -> Option<Amount> {
    let BlockContents::Data(data) = &block.contents else { return None };
    let field = data.scheme.map_or(0, |scheme| scheme.data_octets() as u64);
    Some(Amount {
        octets: field,
        payload: u64::from(data.user_octets),
        blocks: u64::from(data.scheme.is_some()),
        bits: data.scheme.map_or(0, |scheme| scheme.bits_per_second()),
        slots: 1 << (block.timeslot % 8),
    })
}

/// Octets of an SN-PDU's header.
fn sndcp_header(header: &Header) -> u64 {
    header.emit().len() as u64
}

/// Octets of a unit with its header, and of what it carries, as far as they are known.
#[must_use]
pub fn octets_of(record: &Record) -> Option<(u64, Option<u64>)> {
    match record {
        Record::Radio(RadioBlock { contents: BlockContents::Data(data), .. }) => {
            Some((u64::from(data.user_octets), None))
        }
        Record::Llc(it) => Some((u64::from(it.octets), Some(u64::from(it.info_octets)))),
        Record::Segment(it) => {
            let payload = u64::from(it.octets);
            Some((payload + sndcp_header(&it.header), Some(payload)))
        }
        Record::Packet(it) => Some((u64::from(it.octets), None)),
        Record::Tcp(it) => Some((u64::from(it.ip_octets), Some(u64::from(it.length)))),
        Record::Bssgp(it) => match it.what {
            crate::record::BssgpWhat::Unitdata { octets, .. } => Some((u64::from(octets), None)),
            _ => None,
        },
        _ => None,
    }
}
