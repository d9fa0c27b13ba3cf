//! What is said in a test.

use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::trace::{Category, Level, Owner, TraceSink};
use gannet_proto::about::subscriber;
use gannet_wire::id::Imsi;

/// What the SGSN says: drops are counted, and lines kept while `is_listening`.
#[derive(Debug, Default)]
pub struct Told {
    pub drops: DropCounters,
    /// Of these, those of nobody.
    pub nameless: DropCounters,
    pub lines: Vec<String>,
    pub is_listening: bool,
    /// Why something was refused.
    pub explained: Vec<(Imsi, String)>,
}

impl TraceSink for Told {
    fn enabled(&self, _: Category, _: Level) -> bool {
        self.is_listening
    }

    fn line(&mut self, _: Category, _: Level, text: core::fmt::Arguments<'_>) {
        if self.is_listening {
            self.lines.push(text.to_string());
        }
    }

    fn explained(&mut self, whose: Owner, why: core::fmt::Arguments<'_>) {
        self.explained.push((subscriber(whose).unwrap(), why.to_string()));
    }

    fn dropped(&mut self, drop: Drop, whose: Option<Owner>) {
        self.drops.add(drop);
        if whose.is_none() {
            self.nameless.add(drop);
        }
    }
}
