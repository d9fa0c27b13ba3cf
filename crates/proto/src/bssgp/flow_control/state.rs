//! What is known of a mobile and of a cell, hot things first, and whose turn they are at.

use super::config::RealTimeShare;
use super::{Amount, Bucket, BvcParameters};
use core::ops::{Index, IndexMut};
use gannet_machine::time::Instant;
use gannet_qos::class::{CellClass, Precedence};
use gannet_qos::leaky_bucket::LeakyBucket;
use gannet_qos::links::{List, NIL};

/// The instant that never comes.
pub(super) const NEVER: Instant = Instant(u64::MAX);

/// One of something for each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ByClass<T>(pub(super) [T; CellClass::ALL.len()]);

impl<T> Index<CellClass> for ByClass<T> {
    type Output = T;
    #[inline]
    fn index(&self, class: CellClass) -> &T {
        let [signalling, real_time, guaranteed, best_effort] = &self.0;
        match class {
            CellClass::Signalling => signalling,
            CellClass::RealTime => real_time,
            CellClass::Guaranteed => guaranteed,
            CellClass::BestEffort => best_effort,
        }
    }
}

impl<T> IndexMut<CellClass> for ByClass<T> {
    #[inline]
    fn index_mut(&mut self, class: CellClass) -> &mut T {
        let [signalling, real_time, guaranteed, best_effort] = &mut self.0;
        match class {
            CellClass::Signalling => signalling,
            CellClass::RealTime => real_time,
            CellClass::Guaranteed => guaranteed,
            CellClass::BestEffort => best_effort,
        }
    }
}

/// One queue through the table of PDUs.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Queue {
    pub(super) list: List,
    /// Fits: an LL-PDU has less than 2¹¹ octets, and no table has 2²¹ PDUs.
    pub(super) octets: u32,
}

impl Queue {
    #[inline]
    pub(super) fn amount(&self) -> Amount {
        Amount { pdus: self.list.len(), octets: self.octets.into() }
    }
}

/// Where a mobile stands in its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no backlog.
    Idle,
    /// Its first PDU conforms to its bucket; in its cell's list of this class. One of the guaranteed class stands among best
    /// effort while its guarantee has no room for it.
    Ready(CellClass),
    /// Its first PDU does not conform yet, or it is held; in the heap, unless that is for ever.
    Waiting,
}

/// A mobile with a backlog or a bucket in use: two cache lines, of which the first is all that a PDU needs which passes.
/// The first `cells_max` of the table are the cells' PDUs without a mobile, whose buckets are open.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Ms {
    pub(super) bucket: LeakyBucket,
    /// Until when the bucket's values are those of a FLOW-CONTROL-MS, or [`NEVER`].
    pub(super) specific_until: Instant,
    pub(super) name: u32,
    pub(super) cell: u32,
    pub(super) place: Place,
    /// It rests until a PDU of so many octets conforms; 0 where it does not rest. Nothing of it is queued then.
    pub(super) rests_for: u32,
    /// Above its watermark, by class.
    pub(super) full: ByClass<bool>,
    /// Its user data wait, whatever its bucket has room for.
    pub(super) held: bool,
    /// Its R is 0, and its first PDU goes all the same.
    pub(super) asks: bool,
    /// It is ready as best effort, and in the heap as well: up to when its guarantee has room.
    pub(super) exceeds: bool,
    pub(super) queues: ByClass<Queue>,
}

const _: () = assert!(size_of::<Ms>() == 128);

impl Ms {
    /// Octets of the line that a PDU touches which passes.
    pub(super) const HOT: usize = 64;

    pub(super) const UNUSED: Self = Self {
        bucket: LeakyBucket::OPEN,
        specific_until: NEVER,
        name: NIL,
        cell: NIL,
        place: Place::Idle,
        rests_for: 0,
        full: ByClass([false; CellClass::ALL.len()]),
        held: false,
        asks: false,
        exceeds: false,
        queues: ByClass([Queue { list: List::EMPTY, octets: 0 }; CellClass::ALL.len()]),
    };

    /// The first class in which something is queued.
    #[inline]
    pub(super) fn head_class(&self) -> Option<CellClass> {
        CellClass::ALL.into_iter().find(|class| !self.queues[*class].list.is_empty())
    }
}

/// The order in which user data is dropped: the lowest precedence first, and of one precedence best effort first and real time
/// last. A PDU pushes out those of lower ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u8);

impl Rank {
    pub(super) const COUNT: usize = Precedence::ALL.len() * CellClass::DATA.len();
    /// Above all user data.
    pub(super) const SIGNALLING: Self = Self(9);

    #[inline]
    pub(super) const fn of(class: CellClass, precedence: Precedence) -> Self {
        let base = match precedence {
            Precedence::Low => 0,
            Precedence::Normal => 3,
            Precedence::High => 6,
        };
        match class {
            CellClass::Signalling => Self::SIGNALLING,
            CellClass::RealTime => Self(base + 2),
            CellClass::Guaranteed => Self(base + 1),
            CellClass::BestEffort => Self(base),
        }
    }

    /// Where its list is; signalling has none.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A cell: what a PDU touches which passes in the first two lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Cell {
    pub(super) bucket: LeakyBucket,
    /// Mobiles whose first PDU conforms to their bucket, by the class of that PDU.
    pub(super) ready: ByClass<List>,
    /// False while its BVC is blocked.
    pub(super) open: bool,
    /// It is in the list of cells that may have something to send now.
    pub(super) sending: bool,
    /// It is in the heap.
    pub(super) waiting: bool,
    /// It is in the heap since best effort rests.
    pub(super) rests: bool,
    /// Above its watermark, as the owner was last told, and to be told, by class.
    pub(super) full: ByClass<bool>,
    pub(super) told: ByClass<bool>,
    pub(super) listed: ByClass<bool>,
    /// Turns of its list of best effort so far.
    pub(super) turns: u64,
    /// What real time may take while best effort waits.
    pub(super) real_time: LeakyBucket,
    /// Everything queued.
    pub(super) queued: ByClass<Amount>,
    /// What mobiles that are ready have queued: it waits for the cell's bucket only.
    pub(super) standing: ByClass<Amount>,
    /// User data by rank, oldest first.
    pub(super) ranks: [List; Rank::COUNT],
    pub(super) default_ms: Bucket,
    /// All mobiles that are known here.
    pub(super) members: List,
}

const _: () = assert!(core::mem::offset_of!(Cell, real_time) <= Cell::HOT);

impl Cell {
    /// Octets of the lines that a PDU touches which passes.
    pub(super) const HOT: usize = 128;

    pub(super) fn new(initial: &BvcParameters, real_time: &RealTimeShare) -> Self {
        Self {
            bucket: initial.bvc.empty(),
            real_time: real_time.of(initial.bvc).empty(),
            ready: ByClass::default(),
            open: true,
            sending: false,
            waiting: false,
            rests: false,
            full: ByClass::default(),
            told: ByClass::default(),
            listed: ByClass::default(),
            turns: 0,
            queued: ByClass::default(),
            standing: ByClass::default(),
            ranks: [List::EMPTY; Rank::COUNT],
            default_ms: initial.default_ms,
            members: List::default(),
        }
    }

    /// No mobile has anything that it might send now.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.ready.0.iter().all(List::is_empty)
    }

    /// A PDU that conforms goes out.
    #[inline]
    pub(super) fn count(&mut self, now: Instant, class: CellClass, octets: u64) {
        // It conforms, as was asked before.
        let _ = self.bucket.admit(now, octets);
        if class == CellClass::RealTime {
            // What exceeds the share of real time goes where nobody else would, and so counts for nothing.
            let _ = self.real_time.admit(now, octets);
        }
    }

    /// What counts in the limit of a class: signalling has its own, all user data has one together.
    #[inline]
    pub(super) fn limited(&self, class: CellClass) -> Amount {
        match class {
            CellClass::Signalling => self.queued[CellClass::Signalling],
            CellClass::RealTime | CellClass::Guaranteed | CellClass::BestEffort => {
                CellClass::DATA.iter().fold(Amount::default(), |sum, class| sum.plus(self.queued[*class]))
            }
        }
    }
}
