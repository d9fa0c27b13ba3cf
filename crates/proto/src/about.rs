//! What is said about a subscriber: drops and log lines with the IMSI, and why something was refused.
//!
//! The contract of nodes knows owners by number ([`Owner`]); here an owner is a subscriber.

use core::fmt;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level, Owner};
use gannet_wire::id::Imsi;

/// The number of a subscriber among owners.
#[must_use]
#[inline]
pub fn owner(imsi: Imsi) -> Owner {
    Owner(imsi.into())
}

/// The subscriber of a number; `None` where it is no subscriber's.
#[must_use]
pub fn subscriber(Owner(number): Owner) -> Option<Imsi> {
    number.try_into().ok()
}

/// What entities say about subscribers.
pub trait About {
    /// Counts a drop by its name; `whose` where that is known.
    fn drop_of(&mut self, drop: Drop, whose: Option<Imsi>);

    /// Says why something was refused to a subscriber, or ended: in the log, and for `show why`. The sentence has the cause in
    /// words with its number, and the rule or the peer that has decided.
    fn explain(&mut self, category: Category, whose: Option<Imsi>, why: fmt::Arguments<'_>);

    /// A log line about a subscriber, whose IMSI stands in front of it where it is known.
    fn log_of(&mut self, whose: Option<Imsi>, category: Category, level: Level, line: fmt::Arguments<'_>);
}

impl About for Context<'_> {
    fn drop_of(&mut self, drop: Drop, whose: Option<Imsi>) {
        self.drop(drop, whose.map(owner));
    }

    fn explain(&mut self, category: Category, whose: Option<Imsi>, why: fmt::Arguments<'_>) {
        self.log_of(whose, category, Level::Notice, why);
        if let Some(imsi) = whose {
            self.trace.explained(owner(imsi), why);
        }
    }

    fn log_of(&mut self, whose: Option<Imsi>, category: Category, level: Level, line: fmt::Arguments<'_>) {
        match whose {
            Some(imsi) => self.log(category, level, format_args!("IMSI {imsi}: {line}")),
            None => self.log(category, level, line),
        }
    }
}
