//! What a window of time shows: rows one by one, or where there are too many, how many of each kind in each interval.

use crate::index::{Index, KINDS, NOBODY, Row, Rows};
use crate::lane::{Kind, Lane};
use serde::Serialize;

/// Rows of a lane that are drawn one by one.
pub const EXACT_MAX: usize = 3000;
/// Intervals of a window.
pub const BINS_MAX: u64 = 4000;
/// Buckets of a window.
const BUCKETS_MAX: usize = 1500;

/// A window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its beginning, in nanoseconds since 1970.
    pub from: u64,
    /// Behind its end.
    pub until: u64,
    /// Into how many intervals it is divided.
    pub bins: u64,
    /// Shows one mobile's rows alone.
    pub mobile: Option<u32>,
}

/// A row: time since the start of the captures, when it began, kind, way, height, number in its lane.
pub type Mark = (u64, u64, Kind, u8, u16, usize);
/// Interval, kind, how many.
pub type Sum = (u64, Kind, u32);

/// A lane within a window.
#[derive(Debug, Clone, Serialize)]
pub struct Tile {
    /// The lane.
    pub lane: Lane,
    /// How many rows there are.
    pub rows: u64,
    /// Each of them, where there are few enough.
    pub marks: Vec<Mark>,
    /// Else their sums.
    pub sums: Vec<Sum>,
    /// The most in one interval.
    pub most: u32,
}

/// The tile of a lane.
#[must_use]
pub fn tile(index: &Index, lane: Lane, window: Window) -> Option<Tile> {
    let rows = index.lanes.get(lane.index())?;
    let (first, within) = rows.within(window.from, window.until);
    let mut tile = Tile { lane, rows: 0, marks: Vec::new(), sums: Vec::new(), most: 0 };
    let is_wanted = |row: &Row| window.mobile.is_none_or(|mobile| row.mobile == mobile);
    let count = match window.mobile {
        None => within.len(),
        Some(_) => within.iter().filter(|row| is_wanted(row)).count(),
    };
    tile.rows = count as u64;
    if count <= EXACT_MAX {
        let wanted = within.iter().enumerate().filter(|(_, row)| is_wanted(row));
        let since = |at: u64| at.saturating_sub(index.start);
        tile.marks = wanted
            .map(|(number, row)| {
                (since(row.at), since(row.began), row.kind, row.way, row.height, first + number)
            })
            .collect();
        return Some(tile);
    }
    let bins = window.bins.clamp(1, BINS_MAX);
    let width = ((window.until - window.from) / bins).max(1);
    let sums = if window.mobile.is_none() && width >= index.bin_ns * 4 {
        coarse(index, rows, window, (bins, width))
    } else {
        fine(within.iter().filter(|row| is_wanted(row)), window.from, (bins, width))
    };
    for (bin, kinds) in (0..).zip(sums) {
        tile.most = tile.most.max(kinds.iter().sum());
        let counted = Kind::ALL.into_iter().zip(kinds).filter(|(_, count)| *count > 0);
        tile.sums.extend(counted.map(|(kind, count)| (bin, kind, count)));
    }
    Some(tile)
}

/// From sums that are kept: four of their intervals or more are one of the window's.
fn coarse(index: &Index, rows: &Rows, window: Window, (bins, width): (u64, u64)) -> Vec<[u32; KINDS]> {
    let before = |bin: u64| {
        let at = window.from + bin * width;
        rows.before(usize::try_from(at.saturating_sub(index.start) / index.bin_ns).unwrap_or(usize::MAX))
    };
    let mut last = before(0);
    let mut sums = Vec::new();
    for bin in 0..bins {
        let next = before(bin + 1);
        let mut counts = [0; KINDS];
        for (count, (next, last)) in counts.iter_mut().zip(next.iter().zip(&last)) {
            *count = next.saturating_sub(*last);
        }
        sums.push(counts);
        last = next;
    }
    sums
}

fn fine<'a>(rows: impl Iterator<Item = &'a Row>, from: u64, (bins, width): (u64, u64)) -> Vec<[u32; KINDS]> {
    let mut sums = vec![[0; KINDS]; usize::try_from(bins).unwrap_or(0)];
    for row in rows {
        let bin = usize::try_from(((row.at - from) / width).min(bins - 1)).unwrap_or(0);
        if let Some(slot) = sums.get_mut(bin).and_then(|kinds| kinds.get_mut(row.kind as usize)) {
            *slot += 1;
        }
    }
    sums
}

/// Buckets that flow control told of until the end of a window: time, cell's or mobile's, Bmax, R. The last ones before it are among them.
#[must_use]
pub fn buckets(index: &Index, window: Window) -> Vec<(u64, Option<u32>, u16, u64, u64)> {
    let is_wanted = |mobile: u32| window.mobile.is_none_or(|wanted| mobile == NOBODY || mobile == wanted);
    let all = index.buckets.iter().filter(|it| it.at < window.until && is_wanted(it.mobile));
    let one = |it: &crate::index::Bucket| {
        let mobile = (it.mobile != NOBODY).then_some(it.mobile);
        (it.at.saturating_sub(index.start), mobile, it.bvci, it.bmax_octets, it.leak_bits_per_s)
    };
    let all: Vec<_> = all.map(one).collect();
    all.get(all.len().saturating_sub(BUCKETS_MAX)..).unwrap_or_default().to_vec()
}
