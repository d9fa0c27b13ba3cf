//! One pass over files: records in the order of time, in bounded memory.

mod chain;

use crate::join::clocks::{Ahead, Clocks};
use crate::join::connections::Connection;
use crate::join::mobiles::Mobiles;
use crate::join::rlc;
use crate::record::{Kind, Proof, Record, Seen, Stamp};
use crate::source::{Capture, Damage};
use crate::{cipher, compression};
use chain::{Chain, Origin};
use std::collections::VecDeque;
use std::path::Path;

pub use chain::Settings;

/// Records that wait until nothing earlier can come: captures of several interfaces are a little out of order.
const HELD_BACK: usize = 256;

/// A place where records were seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, in the order in which files were named, from 0.
    pub file: u16,
    /// The interface within that file.
    pub interface: usize,
    /// Its name, where the file says it.
    pub name: Option<String>,
    /// What kind of place.
    pub kind: Kind,
}

/// What a reading counted that is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames.
    pub frames: u64,
    /// Frames that carry nothing of IP or GPRS.
    pub others: u64,
    /// Frames of links that are not known here.
    pub unknown_links: u64,
    /// Frames of which the capture has only the beginning.
    pub cut: u64,
    /// Packets of which not all fragments were seen.
    pub fragments_missing: u64,
    /// N-PDUs of which not all segments were seen.
    pub n_pdus_lost: u64,
    /// Ciphered LL-PDUs.
    pub cipher: cipher::Counts,
    /// Compressed N-PDUs.
    pub compression: compression::Counts,
    /// RLC.
    pub rlc: rlc::Counts,
    /// Records that came later than those behind them, and so are out of order.
    pub out_of_order: u64,
    /// Names of mobiles that were not learnt, and segments of connections that were not told apart, because a table was full.
    pub beyond_tables: u64,
}

#[derive(Debug)]
struct File {
    capture: Capture,
    /// Nanoseconds that its clock is ahead.
    ahead_ns: i64,
    has_frame: bool,
}

/// Files that are read together.
#[derive(Debug)]
pub struct Reading {
    files: Vec<File>,
    chain: Chain,
    found: Vec<Seen<Record>>,
    ready: VecDeque<Seen<Record>>,
    given: Stamp,
    damages: Vec<Damage>,
    counts: Counts,
}

impl Reading {
    /// Opens files that are read together.
    ///
    /// # Errors
    /// Where one of them cannot be opened or is no capture, or there are more than 65 535.
    pub fn open<P: AsRef<Path>>(paths: &[P], settings: Settings) -> Result<Self, Damage> {
        let captures = paths.iter().map(|path| Capture::open(path.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self::new(captures, settings))
    }

    /// Reads captures that are open.
    #[must_use]
    pub fn new(captures: Vec<Capture>, settings: Settings) -> Self {
        let mut reading = Self {
            files: Vec::new(),
            found: Vec::new(),
            ready: VecDeque::new(),
            given: Stamp(0),
            damages: Vec::new(),
            counts: Counts::default(),
            chain: Chain::new(settings),
        };
        for (index, capture) in captures.into_iter().enumerate() {
            let ahead_ns = reading.chain.settings().clocks_ahead_ns.get(index).copied().unwrap_or(0);
            reading.files.push(File { capture, ahead_ns, has_frame: false });
            reading.advance(index);
        }
        reading
    }

    fn advance(&mut self, index: usize) {
        let Some(file) = self.files.get_mut(index) else { return };
        match file.capture.advance() {
            Ok(has_frame) => file.has_frame = has_frame,
            Err(damage) => {
                file.has_frame = false;
                self.damages.push(damage);
            }
        }
    }

    /// Takes the earliest frame of all files. False where there is none.
    fn step(&mut self) -> bool {
        let time = |file: &File| {
            let frame = file.capture.frame().filter(|_| file.has_frame)?;
            Some(frame.at.saturating_add_signed(file.ahead_ns.saturating_neg()))
        };
        let earliest =
            self.files.iter().enumerate().filter_map(|(index, file)| Some((time(file)?, index))).min();
        let Some((at, index)) = earliest else { return false };
        if let Some(file) = self.files.get(index)
            && let Some(frame) = file.capture.frame()
        {
            let number = u16::try_from(index).unwrap_or(u16::MAX);
            let proof = Proof { file: number, frame: frame.number };
            let name = file.capture.interfaces().get(frame.interface).and_then(|it| it.name.as_deref());
            let origin = Origin { at: Stamp(at), proof, interface: frame.interface, name };
            self.counts.frames += 1;
            self.chain.frame(origin, &frame, &mut self.found);
        }
        self.advance(index);
        for record in self.found.drain(..) {
            let behind = self.ready.iter().rev().take_while(|other| other.at > record.at).count();
            self.ready.insert(self.ready.len() - behind, record);
        }
        true
    }

    /// Where records were seen so far.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        self.chain.places()
    }

    /// Mobiles that are known so far.
    #[must_use]
    pub const fn mobiles(&self) -> &Mobiles {
        self.chain.mobiles()
    }

    /// Connections of TCP so far.
    #[must_use]
    pub fn connections(&self) -> &[Connection] {
        self.chain.connections()
    }

    /// Files that ended before their end, and where.
    #[must_use]
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        self.chain.add_counts(&mut counts);
        counts
    }
}

impl Iterator for Reading {
    type Item = Seen<Record>;

    fn next(&mut self) -> Option<Seen<Record>> {
        while self.ready.len() <= HELD_BACK && self.step() {}
        let next = self.ready.pop_front()?;
        if next.at < self.given {
            self.counts.out_of_order += 1;
        }
        self.given = self.given.max(next.at);
        Some(next)
    }
}

/// Reads files once, as they are stamped, and says how far the clock of each is ahead of the first one's.
///
/// # Errors
/// As [`Reading::open`].
pub fn clocks_of<P: AsRef<Path>>(paths: &[P], settings: Settings) -> Result<Vec<Ahead>, Damage> {
    let settings = Settings { clocks_ahead_ns: Vec::new(), ..settings };
    let mut reading = Reading::open(paths, settings)?;
    let mut clocks = Clocks::default();
    while let Some(seen) = reading.next() {
        if let Record::Packet(packet) = &seen.what
            && let Some(place) = reading.places().get(usize::from(seen.place))
        {
            clocks.take(place.file, place.kind, seen.at.0, packet);
        }
    }
    Ok(clocks.ahead(u16::try_from(paths.len()).unwrap_or(u16::MAX)))
}
