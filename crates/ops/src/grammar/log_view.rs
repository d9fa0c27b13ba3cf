//! `logging …` in a session: which lines of the log it shows, and the style words that files and sessions share.

use super::Args;
use gannet_machine::trace::{Category, Level};

/// The words of `logging level … LEVEL`, loudest last.
pub const LEVELS: &[(&str, Level)] = &[
    ("debug", Level::Debug),
    ("info", Level::Info),
    ("notice", Level::Notice),
    ("error", Level::Error),
    ("fatal", Level::Fatal),
];

/// The level of a word.
#[must_use]
pub fn level_of(word: &str) -> Option<Level> {
    LEVELS.iter().find(|(name, _)| *name == word).map(|(_, level)| *level)
}

/// The word of a level.
#[must_use]
pub fn word_of(level: Level) -> &'static str {
    LEVELS.iter().find(|(_, other)| *other == level).map_or("notice", |(name, _)| *name)
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetStyle {
    /// `logging filter all (0|1)`: lines are shown at all.
    pub filter_all: bool,
    /// `logging color (0|1)`
    pub color: bool,
    /// `logging timestamp (0|1)`: seconds since the start in front of the line.
    pub timestamp: bool,
    /// `logging print extended-timestamp (0|1)`: date and time of day in front of the line.
    pub extended_timestamp: bool,
    /// `logging print category (0|1)`
    pub category: bool,
    /// `logging print level (0|1)`
    pub level: bool,
}

impl Default for TargetStyle {
    fn default() -> Self {
        Self {
            filter_all: true,
            color: true,
            timestamp: false,
            extended_timestamp: false,
            category: true,
            level: false,
        }
    }
}

/// The `logging …` commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogCommand {
    /// `logging enable`
    Enable,
    /// `logging disable`
    Disable,
    /// `logging filter all (0|1)`
    FilterAll,
    /// `logging color (0|1)`
    Color,
    /// `logging timestamp (0|1)`
    Timestamp,
    /// `logging print extended-timestamp (0|1)`
    ExtendedTimestamp,
    /// `logging print category (0|1)`
    Category,
    /// `logging print level (0|1)`
    PrintLevel,
    /// `logging level CATEGORY LEVEL`
    Level,
    /// `logging level set-all LEVEL`
    LevelAll,
    /// `logging level force-all LEVEL`
    LevelForced,
    /// `no logging level force-all`
    LevelFree,
    /// What only concerns how Osmocom writes its lines.
    Cosmetic,
    /// `show logging vty`
    Show,
}

/// What Osmocom calls a category, and which of ours speaks of the same; `None` where nothing here does.
///
/// The words are those of osmo-sgsn and osmo-ggsn, so that their files load.
pub const CATEGORY_WORDS: &[(&str, Option<Category>, &str)] = &[
    ("ns", Some(Category::Ns), "Network service"),
    ("bssgp", Some(Category::Bssgp), "BSSGP and its flow control"),
    ("llc", Some(Category::Llc), "Logical link control"),
    ("sndcp", Some(Category::Sndcp), "SNDCP"),
    ("mm", Some(Category::Mm), "GPRS mobility management"),
    ("pdp", Some(Category::Pdp), "Session management"),
    ("gtp", Some(Category::Gtp), "GTP"),
    ("um", Some(Category::Um), "The emulated radio interface"),
    ("main", Some(Category::Main), "The node as a whole"),
    ("lns", Some(Category::Ns), "Osmocom's word for ns"),
    ("lnsdata", Some(Category::Ns), "Osmocom's word for ns"),
    ("lnssignal", Some(Category::Ns), "Osmocom's word for ns"),
    ("lbssgp", Some(Category::Bssgp), "Osmocom's word for bssgp"),
    ("pag", Some(Category::Mm), "Osmocom's word for mm"),
    ("gprs", Some(Category::Main), "Osmocom's word for main"),
    ("lgtp", Some(Category::Gtp), "Osmocom's word for gtp"),
    ("ggsn", Some(Category::Pdp), "Osmocom's word for pdp"),
    ("sgsn", Some(Category::Gtp), "Osmocom's word for gtp"),
    ("ip", Some(Category::Pdp), "Osmocom's word for pdp"),
    ("tun", Some(Category::Main), "Osmocom's word for main"),
    ("lglobal", Some(Category::Main), "Osmocom's word for main"),
];

/// Categories of Osmocom's for which nothing here speaks.
pub const SILENT_WORDS: &[&str] = &[
    "meas", "ref", "slhc", "ranap", "sua", "v42bis", "rim", "icmp6", "llapd", "linp", "lmux", "lmi", "lmib",
    "lsms", "lctrl", "lstats", "lgsup", "loap", "lss7", "lsccp", "lsua", "lm3ua", "lmgcp", "ljibuf",
    "lrspro", "liuup", "lpfcp",
];

/// Our category for a word of `logging level`.
#[must_use]
pub fn category_of(word: &str) -> Option<Category> {
    CATEGORY_WORDS.iter().find(|(name, ..)| *name == word).and_then(|(_, category, _)| *category)
}

/// What one session shows of the log.
#[derive(Debug, Clone)]
pub struct LogView {
    /// `logging enable` was said.
    pub enabled: bool,
    /// How lines are written.
    pub style: TargetStyle,
    levels: Vec<Level>,
    forced: Option<Level>,
}

impl Default for LogView {
    fn default() -> Self {
        let style = TargetStyle { filter_all: false, color: false, ..TargetStyle::default() };
        Self { enabled: false, style, levels: vec![Level::Notice; Category::ALL.len()], forced: None }
    }
}

impl LogView {
    /// Whether it shows a line.
    #[must_use]
    pub fn shows(&self, category: Category, level: Level) -> bool {
        self.enabled && self.style.filter_all && level >= self.level(category)
    }

    /// The least level that it shows of a category.
    #[must_use]
    pub fn level(&self, category: Category) -> Level {
        let place = Category::ALL.iter().position(|other| *other == category);
        let own = place.and_then(|place| self.levels.get(place)).copied().unwrap_or(Level::Notice);
        self.forced.unwrap_or(own)
    }

    /// Does a `logging …` command.
    pub fn apply(&mut self, command: LogCommand, args: &Args, out: &mut String) {
        let on = args.text(0) == "1";
        match command {
            LogCommand::Enable => self.enabled = true,
            LogCommand::Disable => self.enabled = false,
            LogCommand::FilterAll => self.style.filter_all = on,
            LogCommand::Color => self.style.color = on,
            LogCommand::Timestamp => self.style.timestamp = on,
            LogCommand::ExtendedTimestamp => self.style.extended_timestamp = on,
            LogCommand::Category => self.style.category = on,
            LogCommand::PrintLevel => self.style.level = on,
            LogCommand::Level => {
                let level = level_of(args.text(1)).unwrap_or(Level::Notice);
                let category = category_of(args.text(0));
                for (own, slot) in Category::ALL.iter().zip(&mut self.levels) {
                    if Some(*own) == category {
                        *slot = level;
                    }
                }
            }
            LogCommand::LevelAll => self.levels.fill(level_of(args.text(0)).unwrap_or(Level::Notice)),
            LogCommand::LevelForced => self.forced = level_of(args.text(0)),
            LogCommand::LevelFree => self.forced = None,
            LogCommand::Cosmetic => {}
            LogCommand::Show => self.describe(out),
        }
    }

    fn describe(&self, out: &mut String) {
        let state = if self.enabled { "enabled" } else { "disabled" };
        let filter = if self.style.filter_all { "every line" } else { "nothing: say 'logging filter all 1'" };
        out.push_str(&format!("Logging to this VTY is {state} and shows {filter}.\n"));
        for category in Category::ALL {
            out.push_str(&format!("  {:<8} {}\n", category.name(), word_of(self.level(*category))));
        }
    }
}
