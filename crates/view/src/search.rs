//! Looks for mobiles by any of their names, and for rows by what they say.

use crate::index::{Index, Row};
use crate::lane::Lane;
use serde::Serialize;

/// Rows that an answer has.
const FOUND_MAX: usize = 200;
/// Rows that one question looks at.
const LOOKED_MAX: usize = 3_000_000;

/// A mobile that fits.
#[derive(Debug, Clone, Serialize)]
pub struct FoundMobile {
    /// Its number.
    pub index: u32,
    /// Its best name.
    pub name: String,
    /// All of its names.
    pub names: Vec<String>,
}

/// A row that fits.
#[derive(Debug, Clone, Serialize)]
pub struct FoundRow {
    /// Its lane.
    pub lane: Lane,
    /// Its number there.
    pub row: usize,
    /// When, since the start of the captures.
    pub at: u64,
    /// What it says.
    pub text: String,
}

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Found {
    /// Mobiles.
    pub mobiles: Vec<FoundMobile>,
    /// Rows, in the order of time.
    pub rows: Vec<FoundRow>,
    /// There may be more than were looked at.
    pub has_more: bool,
}

/// Looks for a text, from a time on.
#[must_use]
pub fn search(index: &Index, text: &str, from: u64) -> Found {
    let wanted = text.trim().trim_start_matches("0x").to_lowercase();
    let mut found = Found::default();
    if wanted.is_empty() {
        return found;
    }
    let fits = |name: &String| name.to_lowercase().contains(&wanted);
    let mobiles = index.mobiles.iter().filter(|mobile| mobile.names.iter().any(fits));
    found.mobiles = mobiles
        .take(FOUND_MAX)
        .map(|it| FoundMobile { index: it.index, name: it.name.clone(), names: it.names.clone() })
        .collect();
    let mut looked = 0;
    for lane in Lane::ALL {
        let rows = index.lane(lane);
        let start = rows.partition_point(|row| row.at < from);
        let mut of_lane = 0;
        for (number, row) in rows.iter().enumerate().skip(start) {
            looked += 1;
            if looked > LOOKED_MAX || of_lane == FOUND_MAX {
                found.has_more = true;
                break;
            }
            let Some(text) = fitting(index, row, &wanted) else { continue };
            of_lane += 1;
            found.rows.push(FoundRow { lane, row: number, at: row.at - index.start, text });
        }
    }
    found.rows.sort_by_key(|row| row.at);
    found.has_more |= found.rows.len() > FOUND_MAX;
    found.rows.truncate(FOUND_MAX);
    found
}

fn fitting(index: &Index, row: &Row, wanted: &str) -> Option<String> {
    let text = index.texts.get(row.text).ok()?;
    text.to_lowercase().contains(wanted).then_some(text)
}
