//! Where a mobile is, and what passed since it was heard there.

use crate::record::{Proof, Record, Seen, Stamp};
use gannet_wire::id::CellId;
use gannet_wire::llc::{Control, Header, MODULUS};
use serde::{Serialize, Serializer};
use std::fmt;

/// When, and which frame proves it.
pub type At = (Stamp, Proof);

/// What a cell is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    /// Routing area and cell identity, as on the wire.
    Identity([u8; 8]),
    /// Its frequency.
    Arfcn(u16),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity(octets) => CellId::from_octets(*octets).fmt(f),
            Self::Arfcn(arfcn) => write!(f, "ARFCN {arfcn}"),
        }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// What it is known by.
    pub name: Name,
    /// Its BVC, on Gb.
    pub bvci: Option<u16>,
}

impl Cell {
    pub(super) const fn of_gb(octets: [u8; 8], bvci: u16) -> Self {
        Self { name: Name::Identity(octets), bvci: Some(bvci) }
    }

    pub(super) const fn of_radio(arfcn: u16) -> Self {
        Self { name: Name::Arfcn(arfcn), bvci: None }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        self.bvci.map_or(Ok(()), |bvci| write!(f, " (BVCI {bvci})"))
    }
}

/// What the number of a UI frame says beside the one before it on its SAPI.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    /// It is the first of its SAPI in this cell.
    pub(super) is_first: bool,
    /// So many are missing before it.
    pub(super) missing: u16,
    /// It, or a later one, was there before.
    pub(super) is_again: bool,
}

/// A mobile at one place.
#[derive(Debug, Default)]
pub(super) struct Travel {
    cell: Option<Cell>,
    heard: Option<At>,
    /// Sent to the cell since the mobile was heard there: frames and octets.
    late: (u64, u64),
    last_sent: Option<At>,
    /// N(U) of the last UI frame of each SAPI, and whether it was in this cell.
    numbers: [Option<(u16, bool)>; 16],
    /// The change of cell that it made last: index.
    pub(super) current: Option<usize>,
}

impl Travel {
    pub(super) fn bvci(&self) -> Option<u16> {
        self.cell?.bvci
    }

    /// The mobile was heard. Where that is another cell: the one before, and when it was heard there last.
    pub(super) fn heard(&mut self, at: At, cell: Cell) -> Option<(Cell, At)> {
        let before = self.cell.replace(cell).zip(self.heard.replace(at));
        let changed = before.filter(|(before, _)| before.name != cell.name);
        if changed.is_none() {
            (self.late, self.last_sent) = ((0, 0), None);
        } else {
            self.numbers.iter_mut().flatten().for_each(|(_, is_here)| *is_here = false);
        }
        changed
    }

    /// It was heard where it is.
    pub(super) const fn touch(&mut self, at: At) {
        if self.heard.is_some() {
            self.heard = Some(at);
        }
    }

    /// Something was sent to the mobile. False where that goes to a cell where it is not, as far as it was heard at all.
    pub(super) fn sent(&mut self, seen: &Seen<Record>, bvci: u16, octets: u32) -> bool {
        let Some(own) = self.bvci() else { return true };
        if own == bvci {
            self.late.0 += 1;
            self.late.1 += u64::from(octets);
            self.last_sent = Some((seen.at, seen.proof));
        }
        own == bvci
    }

    /// What was sent to the cell that the mobile has left.
    pub(super) fn take_sent_late(&mut self) -> (u64, u64, Option<At>) {
        let (frames, octets) = core::mem::take(&mut self.late);
        (frames, octets, self.last_sent.take())
    }

    pub(super) fn number(&mut self, header: &Header) -> Numbers {
        let Control::Ui { nu, .. } = header.control else { return Numbers::default() };
        let Some(last) = self.numbers.get_mut(usize::from(header.sapi.0)) else { return Numbers::default() };
        let Some((before, is_here)) = last.replace((nu, true)) else { return Numbers::default() };
        // Modulo 512: what is less than half of that ahead is later.
        let ahead = nu.wrapping_sub(before) % MODULUS;
        let is_again = ahead == 0 || ahead > MODULUS / 2;
        Numbers { is_first: !is_here, missing: if is_again { 0 } else { ahead - 1 }, is_again }
    }
}
