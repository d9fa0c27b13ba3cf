//! What an entity says about itself: log lines by category, and drops by name.

use crate::drops::Drop;
use core::fmt;
use core::num::NonZeroU64;

/// How loud a log line is, in the words of the `logging level` command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For developers.
    Debug,
    /// A normal event.
    Info,
    /// A normal event that an operator wants to see.
    Notice,
    /// Something went wrong, and the procedure failed.
    Error,
    /// The node cannot go on.
    Fatal,
}

macro_rules! categories {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Which part of a node speaks, in the words of the `logging level` command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Category { $($(#[$doc])* $name,)* }
        impl Category {
            /// All categories.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The word of the `logging level` command.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

categories! {
    /// Network service.
    Ns = "ns",
    /// BSSGP and its flow control.
    Bssgp = "bssgp",
    /// Logical link control.
    Llc = "llc",
    /// SNDCP.
    Sndcp = "sndcp",
    /// GPRS mobility management.
    Mm = "mm",
    /// Session management.
    Pdp = "pdp",
    /// GTP.
    Gtp = "gtp",
    /// The emulated radio interface.
    Um = "um",
    /// The node as a whole: start, stop, configuration, event loop.
    Main = "main",
}

/// Whom something concerns, in the node's own numbering. Who keeps something of owners knows what their numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub NonZeroU64);

/// Where log lines and drops go. The driver decides what to keep.
pub trait TraceSink {
    /// Would a line of this category and level be kept? Asked before the line is formatted.
    fn enabled(&self, category: Category, level: Level) -> bool;
    /// One line.
    fn line(&mut self, category: Category, level: Level, line: fmt::Arguments<'_>);
    /// One PDU or procedure was dropped or refused, by name; whose, where that is known.
    fn dropped(&mut self, drop: Drop, whose: Option<Owner>);
    /// Why something was refused to a subscriber, or ended: a sentence for who asks about him. Whoever keeps nothing of
    /// subscribers has no use for it.
    fn explained(&mut self, whose: Owner, why: fmt::Arguments<'_>) {
        let _ = (whose, why);
    }
}

/// A sink that keeps nothing but the counters of drops.
#[derive(Debug, Default, Clone)]
pub struct Quiet {
    /// Drops by name, indexed by [`Drop::index`].
    pub drops: crate::drops::DropCounters,
}

impl TraceSink for Quiet {
    fn enabled(&self, _: Category, _: Level) -> bool {
        false
    }
    fn line(&mut self, _: Category, _: Level, _: fmt::Arguments<'_>) {}
    fn dropped(&mut self, drop: Drop, _: Option<Owner>) {
        self.drops.add(drop);
    }
}
