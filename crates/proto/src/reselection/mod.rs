//! A mobile chooses its cell (03.22 clause 4.5 [43.022], 05.08 clauses 6.4, 6.6 and 10.1 [45.008]).
//!
//! [`Reselection`] is given the levels of carriers as they are measured. It averages them, computes C1 and C2, and says to which cell
//! the mobile is to go, and why. It asks for no wake-up: whoever measures also asks.
//!
//! ```text
//! levels ──► averages of 5 s ──► C1, C2 ──► better for 5 s, or C1 < 0 for 5 s ──► another cell
//! ```
//!
//! Neighbours are those that the serving cell names (BA list). There is no PBCCH, so that C31 and C32 do not count.
//!
//! | file | what |
//! |---|---|
//! | [`criteria`] | C1 and C2 |
//! | [`signal`] | levels over time, by a script or a model |

pub mod criteria;
pub mod signal;

use core::fmt;
use criteria::SelectionParameters;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::CellId;
use std::collections::{BTreeMap, VecDeque};

/// Samples are averaged over so long (05.08 clause 6.6.1).
pub const AVERAGING: Duration = Duration::from_secs(5);
/// An average is of so many samples at least, which span so long at least (05.08 clause 6.6.1).
const SAMPLES_MIN: usize = 5;
const SPREAD_MIN: Duration = Duration::from_secs(3);
/// A criterion holds for so long before it counts (05.08 clause 6.6.2).
pub const HOLDS_FOR: Duration = Duration::from_secs(5);
/// For so long after a reselection another cell must be better by [`RECENT_DB`] (05.08 clause 6.6.2).
const RECENT: Duration = Duration::from_secs(15);
const RECENT_DB: i16 = 5;
/// Neighbours that are looked at: the strongest (05.08 clause 6.6.1).
const STRONGEST: usize = 6;

/// What a mobile knows of a cell by its broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broadcast {
    /// Its name.
    pub id: CellId,
    /// What counts for its selection.
    pub selection: SelectionParameters,
    /// Its neighbours (BA list), by their index.
    pub neighbours: Vec<u16>,
}

/// Why a mobile goes to another cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// C1 of its cell has been below zero for 5 s.
    PathLoss,
    /// C2 of the other cell has been higher for 5 s.
    Better,
    /// The network has ordered it (PACKET CELL CHANGE ORDER, 04.60 clause 8.4 [44.060]).
    Ordered,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PathLoss => "the path loss to its cell is too high",
            Self::Better => "the other cell is better",
            Self::Ordered => "the network has ordered it",
        })
    }
}

/// Where a mobile is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The cell.
    pub to: u16,
    /// Why.
    pub reason: Reason,
}

/// A carrier that is measured.
#[derive(Debug, Default)]
struct Carrier {
    samples: VecDeque<(Instant, i16)>,
    /// Since when it has been among the strongest.
    listed: Option<Listed>,
    /// Since when it has been better than the serving cell.
    better_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Listed {
    Since(Instant),
    /// It served before: its penalty is over (05.08 clause 6.4).
    Served,
}

impl Carrier {
    fn average_dbm(&self) -> Option<i16> {
        let ((first, _), (last, _)) = self.samples.front().zip(self.samples.back())?;
        if self.samples.len() < SAMPLES_MIN || last.since(*first) < SPREAD_MIN {
            return None;
        }
        let sum: i64 = self.samples.iter().map(|(_, level)| i64::from(*level)).sum();
        let count = i64::try_from(self.samples.len()).ok()?;
        // To the nearest; halves go up.
        i16::try_from((2 * sum + count).div_euclid(2 * count)).ok()
    }
}

/// The choice of one mobile.
#[derive(Debug)]
pub struct Reselection {
    power_dbm: i16,
    serving: Option<u16>,
    carriers: BTreeMap<u16, Carrier>,
    /// Since when C1 of the serving cell has been below zero.
    lost_since: Option<Instant>,
    reselected: Option<Instant>,
}

impl Reselection {
    /// Of a mobile that sends at most so much and is in no cell yet.
    #[must_use]
    pub const fn new(power_dbm: i16) -> Self {
        Self { power_dbm, serving: None, carriers: BTreeMap::new(), lost_since: None, reselected: None }
    }

    /// The cell in which it is.
    #[must_use]
    pub const fn serving(&self) -> Option<u16> {
        self.serving
    }

    /// The mobile camps on a cell from now on. What was measured stays.
    pub fn camp(&mut self, now: Instant, cell: u16) {
        let before = self.serving.replace(cell);
        if before == Some(cell) {
            return;
        }
        self.lost_since = None;
        self.carriers.values_mut().for_each(|carrier| carrier.better_since = None);
        if let Some(before) = before {
            self.reselected = Some(now);
            self.carriers.entry(before).or_default().listed = Some(Listed::Served);
        }
    }

    /// A carrier was measured, in dBm. Those that are neither the serving cell nor its neighbour are not looked at.
    pub fn measure(&mut self, now: Instant, cells: &[Broadcast], cell: u16, level_dbm: i16) {
        let own = self.serving.and_then(|serving| cells.get(usize::from(serving)));
        let is_looked_at = own.is_none_or(|own| self.serving == Some(cell) || own.neighbours.contains(&cell));
        if is_looked_at && usize::from(cell) < cells.len() {
            self.carriers.entry(cell).or_default().samples.push_back((now, level_dbm));
        }
    }

    /// The average of a carrier (RLA_C), in dBm; `None` where too little was measured.
    #[must_use]
    pub fn average_dbm(&self, cell: u16) -> Option<i16> {
        self.carriers.get(&cell)?.average_dbm()
    }

    /// The cell for a mobile that has none (03.22 clause 4.3): the strongest of those whose C1 is positive by what is measured now.
    #[must_use]
    pub fn first(&self, cells: &[Broadcast]) -> Option<u16> {
        let level = |(cell, carrier): (&u16, &Carrier)| {
            let of = cells.get(usize::from(*cell))?;
            let (_, level) = carrier.samples.back()?;
            let fits = !of.selection.is_barred && of.selection.c1(*level, self.power_dbm) > 0;
            fits.then_some((*level, core::cmp::Reverse(*cell)))
        };
        self.carriers.iter().filter_map(level).max().map(|(_, core::cmp::Reverse(cell))| cell)
    }

    /// Where the mobile is to go, if it is to go. `is_ready` says that it is in READY: then each other cell must be better by
    /// CELL_RESELECT_HYSTERESIS.
    pub fn decide(&mut self, now: Instant, cells: &[Broadcast], is_ready: bool) -> Option<Choice> {
        let old = Instant(now.0.saturating_sub(AVERAGING.0));
        for carrier in self.carriers.values_mut() {
            while carrier.samples.front().is_some_and(|(at, _)| *at < old) {
                carrier.samples.pop_front();
            }
        }
        let serving = self.serving?;
        let own = cells.get(usize::from(serving))?;
        let level = self.average_dbm(serving)?;
        let c1 = own.selection.c1(level, self.power_dbm);
        let c2 = own.selection.c2(c1, None);
        self.list_strongest(now, own);
        let is_recent = self.reselected.is_some_and(|at| now.since(at) < RECENT);
        let mut suitable: Vec<(i16, u16, bool)> = Vec::new();
        for (cell, carrier) in &mut self.carriers {
            let of = cells.get(usize::from(*cell)).filter(|of| *cell != serving && !of.selection.is_barred);
            let (Some(of), Some(listed), Some(level)) = (of, carrier.listed, carrier.average_dbm()) else {
                carrier.better_since = None;
                continue;
            };
            let other_c1 = of.selection.c1(level, self.power_dbm);
            let listed = match listed {
                Listed::Since(since) => Some(now.since(since)),
                Listed::Served => None,
            };
            let other_c2 = of.selection.c2(other_c1, listed);
            let is_elsewhere = is_ready || of.id.rai != own.id.rai;
            let hysteresis = if is_elsewhere { own.selection.hysteresis_db } else { 0 };
            let margin = if is_recent { hysteresis.max(RECENT_DB) } else { hysteresis };
            // "By at least" where there is a margin, "exceeds" where there is none.
            let is_better = other_c1 > 0 && other_c2 >= c2.saturating_add(margin) && other_c2 > c2;
            carrier.better_since = is_better.then(|| carrier.better_since.unwrap_or(now));
            if other_c1 > 0 {
                let has_been = carrier.better_since.is_some_and(|since| now.since(since) >= HOLDS_FOR);
                suitable.push((other_c2, *cell, has_been));
            }
        }
        self.lost_since = (c1 < 0).then(|| self.lost_since.unwrap_or(now));
        let is_lost = self.lost_since.is_some_and(|since| now.since(since) >= HOLDS_FOR);
        let best = |better: bool| {
            let meant = suitable.iter().filter(|(.., has_been)| *has_been || !better);
            meant.max_by_key(|(c2, cell, _)| (*c2, core::cmp::Reverse(*cell))).map(|(_, cell, _)| *cell)
        };
        if let Some(to) = best(true) {
            return Some(Choice { to, reason: Reason::Better });
        }
        let to = is_lost.then(|| best(false)).flatten()?;
        Some(Choice { to, reason: Reason::PathLoss })
    }

    /// The strongest neighbours are listed; a neighbour that is no longer among them begins anew when it comes back.
    fn list_strongest(&mut self, now: Instant, own: &Broadcast) {
        let serving = self.serving;
        let is_neighbour = |cell: &u16| Some(*cell) != serving && own.neighbours.contains(cell);
        let mut levels: Vec<(i16, u16)> = self
            .carriers
            .iter()
            .filter(|(cell, _)| is_neighbour(cell))
            .filter_map(|(cell, carrier)| carrier.average_dbm().map(|level| (level, *cell)))
            .collect();
        levels.sort_by_key(|(level, cell)| (core::cmp::Reverse(*level), *cell));
        levels.truncate(STRONGEST);
        for (cell, carrier) in &mut self.carriers {
            let is_listed = levels.iter().any(|(_, listed)| listed == cell);
            carrier.listed = match carrier.listed {
                Some(listed) if is_listed => Some(listed),
                // Too little was measured since it served.
                Some(Listed::Served) if carrier.average_dbm().is_none() => Some(Listed::Served),
                Some(_) | None => is_listed.then_some(Listed::Since(now)),
            };
        }
    }
}

#[cfg(test)]
mod tests;
