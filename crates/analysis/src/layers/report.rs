//! What is said of the layers.

use super::segmentation::Segmentation;
use super::{Bin, Layer, Layers, Row, WINDOW_NS};
use crate::record::{Direction, Proof, Stamp};
use crate::series::{real, seconds};
use serde::Serialize;
use std::collections::BTreeMap;

/// The time in which a direction carried most: by its LL-PDUs on the radio, else by the lowest layer that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its beginning.
    pub from: Stamp,
    /// Its length in nanoseconds: ten seconds, or less where the capture is shorter.
    pub length_ns: u64,
}

/// What the radio could carry in a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Bits of RLC data field by the second: the mean of the blocks' schemes × timeslots.
    pub bits_per_s: f64,
    /// Timeslots with data blocks.
    pub timeslots: u32,
    /// The mean of the blocks' schemes on one timeslot.
    pub scheme_bits_per_s: f64,
}

/// One layer of one direction at one place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayerRow {
    /// Which way.
    pub direction: Direction,
    /// The layer.
    pub layer: Layer,
    /// The place.
    pub place: u16,
    /// Its units: blocks, LL-PDUs, SN-PDUs, packets, segments.
    pub units: u64,
    /// Their octets, see the table of [`crate::layers`].
    pub octets: u64,
    /// What they carry.
    pub payload_octets: u64,
    /// The first of them.
    pub first: (Stamp, Proof),
    /// The last of them.
    pub last: (Stamp, Proof),
    /// What they carry in the window of the direction.
    pub window_octets: u64,
    /// The same as bits by the second.
    pub bits_per_s: f64,
}

/// The layers of a reading.
#[derive(Debug, Clone, Serialize)]
pub struct LayersReport {
    /// Rows by direction, layer and place.
    pub rows: Vec<LayerRow>,
    /// The window of each direction.
    pub windows: Vec<(Direction, Window)>,
    /// What each place of radio could carry in its direction's window.
    pub lines: Vec<(Direction, u16, Line)>,
    /// N-PDUs in LL-PDUs, by direction, place and SAPI.
    pub segmentation: Vec<Segmentation>,
    /// Units beyond the limit of rows.
    pub left_out: u64,
    /// The beginning of the first interval of [`Self::intervals`].
    pub start: Stamp,
    /// The width of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Octets that each row carried by intervals, in the order of the rows.
    pub intervals: Vec<Vec<u64>>,
}

impl LayersReport {
    /// The fastest line of a direction in its window, where radio was seen.
    #[must_use]
    pub fn line(&self, direction: Direction) -> Option<Line> {
        let of = self.lines.iter().filter(|(of, ..)| *of == direction).map(|(.., line)| *line);
        of.max_by(|one, other| one.bits_per_s.total_cmp(&other.bits_per_s))
    }
}

/// The sum of the intervals of a window.
fn sum(row: &Row, from: usize, count: usize) -> Bin {
    row.bins.iter().skip(from).take(count).fold(Bin::default(), |sum, bin| Bin {
        payload: sum.payload + bin.payload,
        blocks: sum.blocks + bin.blocks,
        bits: sum.bits + bin.bits,
        slots: sum.slots | bin.slots,
    })
}

/// Where the row carried most in `count` intervals.
fn busiest(row: &Row, count: usize) -> usize {
    let mut best = (0, 0);
    let mut here: u64 = row.bins.iter().take(count).map(|bin| bin.payload).sum();
    let last = row.bins.len().saturating_sub(count);
    for from in 0..=last {
        if here > best.0 {
            best = (here, from);
        }
        let value = |index: usize| row.bins.get(index).map_or(0, |bin| bin.payload);
        here = here + value(from + count) - value(from);
    }
    best.1
}

pub(super) fn of(layers: Layers) -> LayersReport {
    let start = layers.start.unwrap_or_default();
    let count = usize::try_from((WINDOW_NS / layers.width_ns).max(1)).unwrap_or(1);
    let mut windows: BTreeMap<Direction, (usize, Window)> = BTreeMap::new();
    for direction in [Direction::Up, Direction::Down] {
        let of_it = || layers.rows.iter().filter(|((way, ..), _)| *way == direction);
        // Blocks carry filling too, LL-PDUs that came through do not. Without radio nothing is compared with its line.
        let is_radio = |place: u16| layers.rows.contains_key(&(direction, Layer::Rlc, place));
        let rank = |layer: Layer, place: u16| (!is_radio(place), layer == Layer::Rlc, layer);
        let Some(best) = of_it().map(|(&(_, layer, place), _)| rank(layer, place)).min() else { continue };
        let rows = of_it().filter(|((_, layer, place), _)| rank(*layer, *place) == best);
        let Some((_, row)) = rows.max_by_key(|(_, row)| row.payload) else { continue };
        let from = busiest(row, count);
        let begins = start.0.saturating_add((from as u64).saturating_mul(layers.width_ns));
        let ends = begins.saturating_add((count as u64).saturating_mul(layers.width_ns)).min(layers.last.0);
        let window = Window { from: Stamp(begins), length_ns: ends.saturating_sub(begins) };
        windows.insert(direction, (from, window));
    }
    let mut rows = Vec::new();
    let mut intervals = Vec::new();
    let mut lines = Vec::new();
    for (&(direction, layer, place), row) in &layers.rows {
        let Some((from, window)) = windows.get(&direction) else { continue };
        let bin = sum(row, *from, count);
        let length = seconds(window.length_ns);
        let bits_per_s = if length > 0.0 { real(bin.payload) * 8.0 / length } else { 0.0 };
        rows.push(LayerRow {
            direction,
            layer,
            place,
            units: row.units,
            octets: row.octets,
            payload_octets: row.payload,
            first: row.first,
            last: row.last,
            window_octets: bin.payload,
            bits_per_s,
        });
        intervals.push(row.bins.iter().map(|bin| bin.payload).collect());
        if layer == Layer::Rlc && bin.blocks > 0 {
            let scheme_bits_per_s = real(bin.bits) / real(bin.blocks);
            let timeslots = bin.slots.count_ones();
            let line =
                Line { bits_per_s: scheme_bits_per_s * f64::from(timeslots), timeslots, scheme_bits_per_s };
            lines.push((direction, place, line));
        }
    }
    let windows = windows.into_iter().map(|(direction, (_, window))| (direction, window)).collect();
    LayersReport {
        rows,
        windows,
        lines,
        segmentation: layers.segmenting.finish(),
        left_out: layers.left_out,
        start,
        interval_ns: layers.width_ns,
        intervals,
    }
}
