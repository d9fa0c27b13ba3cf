//! Captures, read once: rows by lane and time, and what the analysis says of them.
//!
//! A row takes 64 octets of memory, its text stands in a file ([`crate::texts`]), and a segment of TCP takes 64 more.

use crate::connection::Streams;
use crate::lane::{Kind, Lane};
use crate::texts::{Place as Text, Texts};
use gannet_analysis::findings::{Analysis, Names, Report};
use gannet_analysis::reading::{Place, Reading};
use gannet_analysis::record::{Direction, Kind as PlaceKind, Packet, Proof, Record, Seen, Stamp};
use gannet_analysis::view::{mobile, words};
use std::io;

/// Intervals of equal time for which counts are kept.
const BINS: usize = 1 << 14;
/// Kinds of rows.
pub const KINDS: usize = Kind::ALL.len();
/// Which mobile: none.
pub const NOBODY: u32 = u32::MAX;

/// A record, as the page needs it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// When, in nanoseconds since 1970.
    pub at: u64,
    /// When its first part was seen.
    pub began: u64,
    /// The frame that proves it.
    pub proof: Proof,
    /// Of an IP packet, by which it is known at another place; of an LL-PDU the same. 0 where there is none.
    pub digest: u64,
    /// The frame of its first part, in the same file.
    pub first: u64,
    /// What it says.
    pub text: Text,
    /// Whose, or [`NOBODY`].
    pub mobile: u32,
    /// Where.
    pub place: u16,
    /// Height in its lane: the timeslot of a block, else octets.
    pub height: u16,
    /// What it is.
    pub kind: Kind,
    /// Which way: 0 up, 1 down, 2 not known.
    pub way: u8,
}

/// A lane's rows in the order of time, and how many of each kind there were before each interval.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
    /// For each interval and kind how many came before its beginning.
    before: Vec<[u32; KINDS]>,
}

impl Rows {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// Those of a window, and the number of the first.
    #[must_use]
    pub fn within(&self, from: u64, until: u64) -> (usize, &[Row]) {
        let start = self.rows.partition_point(|row| row.at < from);
        let end = self.rows.partition_point(|row| row.at < until).max(start);
        (start, self.rows.get(start..end).unwrap_or_default())
    }

    /// How many of each kind came before the interval of this number.
    #[must_use]
    pub fn before(&self, bin: usize) -> [u32; KINDS] {
        self.before.get(bin.min(BINS)).copied().unwrap_or([0; KINDS])
    }

    fn count(&mut self, start: u64, bin_ns: u64) {
        self.before = vec![[0; KINDS]; BINS + 1];
        let mut sums = [0_u32; KINDS];
        let mut bin = 0;
        for row in &self.rows {
            let of = usize::try_from((row.at - start) / bin_ns).unwrap_or(BINS).min(BINS - 1);
            while bin < of {
                bin += 1;
                if let Some(slot) = self.before.get_mut(bin) {
                    *slot = sums;
                }
            }
            if let Some(sum) = sums.get_mut(row.kind as usize) {
                *sum = sum.saturating_add(1);
            }
        }
        for slot in self.before.iter_mut().skip(bin + 1) {
            *slot = sums;
        }
    }
}

/// A mobile and its names.
#[derive(Debug, Clone)]
pub struct MobileNames {
    /// Its number in rows.
    pub index: u32,
    /// Its best name.
    pub name: String,
    /// All names: IMSI, TLLIs, addresses.
    pub names: Vec<String>,
}

/// What a mobile got and sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Octets of packets to it.
    pub down_octets: u64,
    /// Octets of packets from it.
    pub up_octets: u64,
    /// Its bucket, where flow control told of it.
    pub bucket: Option<Bucket>,
}

/// The bucket that flow control told of.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    /// When.
    pub at: u64,
    /// Whose: [`NOBODY`] for that of a cell.
    pub mobile: u32,
    /// The cell's BVC.
    pub bvci: u16,
    /// Bmax, octets.
    pub bmax_octets: u64,
    /// R, bit/s.
    pub leak_bits_per_s: u64,
}

/// Captures, read.
#[derive(Debug)]
pub struct Index {
    /// The names of the files.
    pub files: Vec<String>,
    /// The earliest time, in nanoseconds since 1970.
    pub start: u64,
    /// The width of an interval.
    pub bin_ns: u64,
    /// Rows by lane.
    pub lanes: Vec<Rows>,
    /// What rows say.
    pub texts: Texts,
    /// Places.
    pub places: Vec<Place>,
    /// The names of places.
    pub place_names: Vec<String>,
    /// Mobiles.
    pub mobiles: Vec<MobileNames>,
    /// Of each number that was given to a mobile, the one that it turned out to be.
    ones: Vec<u32>,
    /// Both ends of each connection.
    pub ends: Vec<(String, String)>,
    /// Segments by connection.
    pub streams: Streams,
    /// What the analysis says.
    pub report: Report,
    /// What flow control told.
    pub buckets: Vec<Bucket>,
    /// Files that ended too early.
    pub damages: Vec<String>,
}

impl Index {
    /// Reads to the end.
    ///
    /// # Errors
    /// Where the temporary file cannot be written.
    pub fn of(reading: &mut Reading, files: Vec<String>) -> io::Result<Self> {
        Self::since(reading, files, None)
    }

    /// The same, with times that count from `start` where that is earlier than all of it.
    ///
    /// # Errors
    /// Where the temporary file cannot be written.
    pub fn since(reading: &mut Reading, files: Vec<String>, start: Option<u64>) -> io::Result<Self> {
        let mut analysis = Analysis::new(
            gannet_analysis::tcp::Settings::default(),
            gannet_analysis::radio::Settings { sent_again_max: 100_000, ..Default::default() },
        );
        let mut lanes: Vec<Rows> = Lane::ALL.iter().map(|_| Rows::default()).collect();
        let (mut texts, mut streams, mut buckets) = (Texts::new()?, Streams::default(), Vec::new());
        let mut last_mobile = NOBODY;
        for seen in reading.by_ref() {
            analysis.take(&seen);
            buckets.extend(bucket(&seen));
            let text = texts.push(&words(&seen.what))?;
            let mut row = row(&seen, text);
            if let Record::Tcp(segment) = &seen.what {
                // The packet that carries a segment is the record before it.
                row.mobile = last_mobile;
                streams.take(&seen, segment);
            }
            last_mobile = row.mobile;
            if let Some(rows) = lanes.get_mut(Lane::of(&seen.what).index()) {
                rows.rows.push(row);
            }
        }
        texts.finish()?;
        let names = Names::of(reading);
        let report = analysis.finish(&names);
        let mut index = Self {
            files,
            start: 0,
            bin_ns: 1,
            lanes,
            texts,
            places: reading.places().to_vec(),
            place_names: names.places.clone(),
            ends: names.connections.clone(),
            mobiles: mobiles(reading),
            ones: Vec::new(),
            streams,
            report,
            buckets,
            damages: reading.damages().iter().map(ToString::to_string).collect(),
        };
        index.canonical(reading);
        index.sort();
        index.start = start.map_or(index.start, |start| start.min(index.start));
        index.mark_repeats();
        index.count();
        Ok(index)
    }

    /// Names that are learnt late belong to what went before too.
    fn canonical(&mut self, reading: &Reading) {
        let known = reading.mobiles();
        let most = self.report.procedures.procedures.iter().filter_map(|it| it.mobile).max();
        let changed = self.report.mobility.reselections.iter().filter_map(|it| it.mobile).max();
        self.ones = (0..=most.max(changed).unwrap_or(0)).map(|index| known.canonical(index)).collect();
        for row in self.lanes.iter_mut().flat_map(|rows| &mut rows.rows) {
            if row.mobile != NOBODY {
                row.mobile = known.canonical(row.mobile);
            }
        }
        for bucket in &mut self.buckets {
            if bucket.mobile != NOBODY {
                bucket.mobile = known.canonical(bucket.mobile);
            }
        }
    }

    fn sort(&mut self) {
        for rows in &mut self.lanes {
            rows.rows.sort_by_key(|row| row.at);
            rows.rows.shrink_to_fit();
        }
        self.streams.sort();
        let first = self.lanes.iter().filter_map(|rows| rows.rows.first()).map(|row| row.began.min(row.at));
        self.start = first.min().unwrap_or(0);
    }

    /// Blocks and segments that were sent again, and why; and whose the blocks of a TBF are.
    fn mark_repeats(&mut self) {
        for tbf in &self.report.radio.tbfs {
            let lane = match tbf.direction {
                Direction::Down => Lane::RadioDown,
                Direction::Up => Lane::RadioUp,
            };
            let Some(rows) = self.lanes.get_mut(lane.index()) else { continue };
            for again in &tbf.sent_again {
                mark(&mut rows.rows, again.at, again.proof, Kind::of_again(again.why));
            }
        }
        let Some(rows) = self.lanes.get_mut(Lane::Tcp.index()) else { return };
        for connection in &self.report.connections {
            for half in [&connection.forward, &connection.backward] {
                for again in &half.retransmissions {
                    let kind = Kind::of_segment_again(again.kind);
                    mark(&mut rows.rows, again.at, again.proof, kind);
                    self.streams.mark(connection.connection, again.at, again.proof, kind);
                }
            }
        }
    }

    fn count(&mut self) {
        let bins = BINS as u64;
        self.bin_ns = (self.end() - self.start) / bins + 1;
        let (start, bin_ns) = (self.start, self.bin_ns);
        for rows in &mut self.lanes {
            rows.count(start, bin_ns);
        }
    }

    /// Behind the latest time.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.lanes.iter().filter_map(|rows| rows.rows.last()).map(|row| row.at);
        last.max().map_or(self.start, |at| at + 1)
    }

    /// A time since the start.
    #[must_use]
    pub const fn since_start(&self, at: u64) -> u64 {
        at.saturating_sub(self.start)
    }

    /// Rows, all of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|rows| rows.rows.len()).sum()
    }

    /// Nothing was in the files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A lane's rows.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> &[Row] {
        self.lanes.get(lane.index()).map_or(&[], |rows| rows.all())
    }

    /// What a mobile got and sent in the last seconds.
    #[must_use]
    pub fn traffic(&self, mobile: u32, last_ns: u64) -> Traffic {
        let from = self.end().saturating_sub(last_ns);
        let mut traffic = Traffic::default();
        // Each packet is counted at one kind of place.
        let lanes = [Lane::NPdu, Lane::GPdu, Lane::Ip];
        let lane = lanes.into_iter().find(|lane| self.lane(*lane).iter().any(|row| row.mobile == mobile));
        let rows =
            lane.and_then(|lane| self.lanes.get(lane.index())).map(|rows| rows.within(from, u64::MAX).1);
        for row in rows.unwrap_or_default().iter().filter(|row| row.mobile == mobile) {
            let octets = u64::from(row.height);
            match row.way {
                0 => traffic.up_octets += octets,
                1 => traffic.down_octets += octets,
                _ => {}
            }
        }
        traffic.bucket = self.buckets.iter().rev().find(|bucket| bucket.mobile == mobile).copied();
        traffic
    }

    /// The mobile that a number of the analysis turned out to be.
    #[must_use]
    pub fn one(&self, mobile: u32) -> u32 {
        let known = usize::try_from(mobile).ok().and_then(|index| self.ones.get(index));
        known.copied().unwrap_or(mobile)
    }

    /// The name of a mobile, as a row has it.
    #[must_use]
    pub fn mobile(&self, index: u32) -> Option<&MobileNames> {
        self.mobiles.iter().find(|mobile| mobile.index == index)
    }

    /// All rows that a frame proves, with lane and number.
    #[must_use]
    pub fn of_frame(&self, proof: Proof) -> Vec<(Lane, usize)> {
        let mut found = Vec::new();
        for (lane, rows) in Lane::ALL.iter().zip(&self.lanes) {
            let rows = rows.rows.iter().enumerate();
            found.extend(rows.filter(|(_, row)| row.proof == proof).map(|(number, _)| (*lane, number)));
        }
        found
    }

    /// Which kind of place a row was seen at.
    #[must_use]
    pub fn place_kind(&self, row: &Row) -> Option<PlaceKind> {
        self.places.get(usize::from(row.place)).map(|place| place.kind)
    }
}

fn mark(rows: &mut [Row], at: Stamp, proof: Proof, kind: Kind) {
    let start = rows.partition_point(|row| row.at < at.0);
    let same = rows.iter_mut().skip(start).take_while(|row| row.at == at.0);
    for row in same.filter(|row| row.proof == proof) {
        row.kind = kind;
    }
}

const fn way(direction: Option<Direction>) -> u8 {
    match direction {
        Some(Direction::Up) => 0,
        Some(Direction::Down) => 1,
        None => 2,
    }
}

fn row(seen: &Seen<Record>, text: Text) -> Row {
    let whole = (seen.at.0, seen.proof.frame, 0);
    let packet = |packet: &Packet| (packet.began.0, packet.first.frame, packet.digest.unwrap_or(0));
    let octets = |octets: u32| u16::try_from(octets).unwrap_or(u16::MAX);
    let (direction, (began, first, digest), height) = match &seen.what {
        Record::Radio(block) => (Some(block.direction), whole, u16::from(block.timeslot)),
        Record::Llc(it) => (Some(it.direction), (it.began.0, it.first.frame, it.digest), octets(it.octets)),
        Record::Layer3(it) => (Some(it.direction), whole, 0),
        Record::Segment(it) => (Some(it.direction), whole, octets(it.octets)),
        Record::Packet(it) => (it.direction, packet(it), octets(it.octets)),
        Record::Tcp(it) => (None, whole, octets(it.ip_octets)),
        Record::Bssgp(it) => match it.what {
            gannet_analysis::record::BssgpWhat::Unitdata { direction, octets: len, .. } => {
                (Some(direction), whole, octets(len))
            }
            _ => (None, whole, 0),
        },
        Record::Ns(_) | Record::Gtp(_) | Record::Unreadable(_) => (None, whole, 0),
    };
    Row {
        at: seen.at.0,
        began: began.min(seen.at.0),
        proof: seen.proof,
        digest,
        first,
        text,
        mobile: seen.what.mobile().unwrap_or(NOBODY),
        place: seen.place,
        height,
        kind: Kind::of(&seen.what),
        way: way(direction),
    }
}

fn bucket(seen: &Seen<Record>) -> Option<Bucket> {
    use gannet_analysis::record::BssgpWhat::{FlowControlBvc, FlowControlMs};
    let Record::Bssgp(pdu) = &seen.what else { return None };
    match pdu.what {
        FlowControlBvc { bmax_octets, leak_bits_per_s, .. }
        | FlowControlMs { bmax_octets, leak_bits_per_s } => {
            let mobile = pdu.mobile.unwrap_or(NOBODY);
            Some(Bucket { at: seen.at.0, mobile, bvci: pdu.bvci, bmax_octets, leak_bits_per_s })
        }
        _ => None,
    }
}

fn mobiles(reading: &Reading) -> Vec<MobileNames> {
    let one = |(index, it): (u32, &gannet_analysis::join::mobiles::Mobile)| {
        let imsi = it.imsi.map(|imsi| imsi.to_string());
        let tllis = it.tllis.iter().map(|tlli| format!("{tlli:08x}"));
        let addresses = it.addresses.iter().map(ToString::to_string);
        let names = imsi.into_iter().chain(tllis).chain(addresses).collect();
        MobileNames { index, name: mobile(it), names }
    };
    reading.mobiles().all().map(one).collect()
}
