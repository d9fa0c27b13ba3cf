//! Where a node's log lines and drops go: levels by category and target, files that can be reopened, counters, and
//! the last drops of each mobile.

mod drops;
mod gsmtap;
mod limit;
mod trouble;

use crate::history::DropHistory;
use crate::system::Clock;
use core::fmt::{self, Write as _};
use drops::KeptDrops;
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level, Owner, TraceSink};
use gannet_proto::about::subscriber;
use gsmtap::GsmtapTarget;
use limit::Limits;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use trouble::Trouble;

/// What stands in front of a line, in the words of `logging timestamp` and `logging print extended-timestamp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timestamp {
    /// Nothing.
    #[default]
    None,
    /// Seconds since the run began, with microseconds.
    SinceStart,
    /// Date and time of day in UTC with milliseconds, as twenty digits less three: `20261121071721123`.
    Extended,
}

/// How one target wants its lines.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    levels: Vec<Level>,
    /// What stands in front.
    pub timestamp: Timestamp,
    /// Lines coloured by level, for terminals.
    pub colour: bool,
    /// The category in front of the text.
    pub category: bool,
}

impl Default for TargetOptions {
    fn default() -> Self {
        let levels = vec![Level::Notice; Category::ALL.len()];
        Self { levels, timestamp: Timestamp::None, colour: false, category: true }
    }
}

impl TargetOptions {
    /// The least level that is written of `category`.
    #[must_use]
    pub fn level(&self, category: Category) -> Level {
        self.levels.get(category as usize).copied().unwrap_or(Level::Notice)
    }

    /// `logging level CATEGORY LEVEL`.
    pub fn set_level(&mut self, category: Category, level: Level) {
        if let Some(slot) = self.levels.get_mut(category as usize) {
            *slot = level;
        }
    }

    /// The same for all categories.
    pub fn set_all_levels(&mut self, level: Level) {
        self.levels.fill(level);
    }
}

/// One target of a [`LogSink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TargetId(usize);

enum Writer {
    Stderr,
    File { path: PathBuf, file: BufWriter<File> },
    Gsmtap(GsmtapTarget),
    Other(Box<dyn Write>),
}

struct Target {
    writer: Writer,
    options: TargetOptions,
    trouble: Trouble,
}

/// The sink of all machines of one event loop.
pub struct LogSink {
    clock: Clock,
    now: Instant,
    targets: Vec<Option<Target>>,
    /// The least level of each category that any target wants; `None` where there is no target.
    wanted: Vec<Option<Level>>,
    line: String,
    drops: DropCounters,
    history: DropHistory,
    kept_drops: KeptDrops,
    lines_lost: u64,
    /// By category.
    limits: Vec<Limits>,
    lines_left_out: u64,
}

/// Mobiles whose drops are remembered unless the caller says otherwise.
const HISTORY_MOBILES: usize = 4096;

impl LogSink {
    /// A sink without targets that remembers the drops of some thousand mobiles.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self::with_history(clock, HISTORY_MOBILES)
    }

    /// The same for another number of mobiles.
    #[must_use]
    pub fn with_history(clock: Clock, mobiles: usize) -> Self {
        Self {
            clock,
            now: Instant::ZERO,
            targets: Vec::new(),
            wanted: vec![None; Category::ALL.len()],
            line: String::with_capacity(512),
            drops: DropCounters::default(),
            history: DropHistory::new(mobiles),
            kept_drops: KeptDrops::default(),
            lines_lost: 0,
            limits: vec![Limits::default(); Category::ALL.len()],
            lines_left_out: 0,
        }
    }

    /// `log stderr`.
    pub fn add_stderr(&mut self, options: TargetOptions) -> TargetId {
        self.add(Writer::Stderr, options)
    }

    /// `log file PATH`: lines are appended.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub fn add_file(&mut self, path: &Path, options: TargetOptions) -> io::Result<TargetId> {
        let file = open(path)?;
        Ok(self.add(Writer::File { path: path.to_owned(), file }, options))
    }

    /// `log gsmtap`: each line as a datagram, under the name of a process.
    ///
    /// # Errors
    /// Where there is no way to that address.
    pub fn add_gsmtap(
        &mut self,
        to: SocketAddr,
        process: &'static str,
        options: TargetOptions,
    ) -> io::Result<TargetId> {
        let target = GsmtapTarget::connect(to, process)
            .map_err(|error| io::Error::new(error.kind(), format!("GSMTAP to {to}: {error}")))?;
        Ok(self.add(Writer::Gsmtap(target), options))
    }

    /// Any other target, for instance a telnet session that said `logging enable`. It must not block.
    pub fn add_writer(&mut self, writer: Box<dyn Write>, options: TargetOptions) -> TargetId {
        self.add(Writer::Other(writer), options)
    }

    fn add(&mut self, writer: Writer, options: TargetOptions) -> TargetId {
        self.targets.push(Some(Target { writer, options, trouble: Trouble::default() }));
        self.update_wanted();
        TargetId(self.targets.len() - 1)
    }

    /// The time of the node's present turn, in nanoseconds since 1970.
    #[must_use]
    pub const fn unix_ns(&self) -> u64 {
        self.clock.unix_ns(self.now)
    }

    /// Takes a target away.
    pub fn remove(&mut self, id: TargetId) {
        if let Some(target) = self.targets.get_mut(id.0) {
            *target = None;
        }
        self.update_wanted();
    }

    /// What a target wants.
    #[must_use]
    pub fn options(&self, id: TargetId) -> Option<&TargetOptions> {
        self.targets.get(id.0)?.as_ref().map(|target| &target.options)
    }

    /// Changes what a target wants.
    pub fn set_options(&mut self, id: TargetId, options: TargetOptions) {
        if let Some(Some(target)) = self.targets.get_mut(id.0) {
            target.options = options;
        }
        self.update_wanted();
    }

    fn update_wanted(&mut self) {
        for (category, wanted) in Category::ALL.iter().zip(&mut self.wanted) {
            *wanted = self.targets.iter().flatten().map(|target| target.options.level(*category)).min();
        }
    }

    /// Opens the files again under their names, after `logrotate` has moved them away. A file that cannot be opened
    /// stays the old one.
    ///
    /// # Errors
    /// The last error, with the file's name; the other files were opened all the same.
    pub fn reopen(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        for target in self.targets.iter_mut().flatten() {
            let Writer::File { path, file } = &mut target.writer else { continue };
            let _ = file.flush();
            match open(path) {
                Ok(fresh) => *file = fresh,
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Writes out what the files have buffered; the event loop does it once a round.
    pub fn flush(&mut self) {
        for target in self.targets.iter_mut().flatten() {
            let Writer::File { file, .. } = &mut target.writer else { continue };
            if !file.buffer().is_empty() {
                target.trouble.tried(file.flush(), 0);
            }
        }
        self.tell_of_trouble();
    }

    /// The time of lines and drops from now on; the event loop sets it.
    pub const fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Drops by name.
    #[must_use]
    pub const fn drops(&self) -> &DropCounters {
        &self.drops
    }

    /// The last drops of each mobile.
    #[must_use]
    pub const fn history(&self) -> &DropHistory {
        &self.history
    }

    /// Lines that a target did not take.
    #[must_use]
    pub const fn lines_lost(&self) -> u64 {
        self.lines_lost
    }

    /// Lines that were left out, since their category had too many of their level.
    #[must_use]
    pub const fn lines_left_out(&self) -> u64 {
        self.lines_left_out
    }

    fn compose(
        &mut self,
        options: &TargetOptions,
        category: Category,
        level: Level,
        text: fmt::Arguments<'_>,
    ) {
        self.line.clear();
        let (colour, name) = match level {
            Level::Debug => ("\x1b[2m", "DEBUG"),
            Level::Info => ("", "INFO"),
            Level::Notice => ("\x1b[1m", "NOTICE"),
            Level::Error => ("\x1b[31m", "ERROR"),
            Level::Fatal => ("\x1b[1;31m", "FATAL"),
        };
        let unix_ns = self.clock.unix_ns(self.now);
        // Writing to a String does not fail; an error of the text's own formatting leaves a shorter line.
        if options.colour {
            self.line.push_str(colour);
        }
        let _ = match options.timestamp {
            Timestamp::None => Ok(()),
            Timestamp::SinceStart => write!(self.line, "{} ", self.now),
            Timestamp::Extended => write!(self.line, "{} ", ExtendedTimestamp(unix_ns)),
        };
        if options.category {
            let _ = write!(self.line, "{} ", category.name());
        }
        let _ = write!(self.line, "{name} {text}");
        if options.colour {
            self.line.push_str("\x1b[0m");
        }
        self.line.push('\n');
    }
}

impl TraceSink for LogSink {
    fn enabled(&self, category: Category, level: Level) -> bool {
        self.wanted.get(category as usize).is_some_and(|wanted| wanted.is_some_and(|wanted| level >= wanted))
    }

    fn line(&mut self, category: Category, level: Level, line: fmt::Arguments<'_>) {
        let is_enabled = self.enabled(category, level);
        let limits = self.limits.get_mut(category as usize).filter(|_| is_enabled);
        match limits.and_then(|limits| limits.of(level)).map_or(Some(0), |limit| limit.admit(self.now)) {
            None => self.lines_left_out += 1,
            Some(0) => self.write(category, level, line),
            Some(left_out) => {
                self.write(
                    category,
                    level,
                    format_args!("{left_out} lines were left out, there were too many"),
                );
                self.write(category, level, line);
            }
        }
    }

    fn dropped(&mut self, drop: Drop, whose: Option<Owner>) {
        self.drops.add(drop);
        self.kept_drops.keep(self.now, drop, whose);
        if let Some(imsi) = whose.and_then(subscriber) {
            self.history.add(imsi, self.now, drop);
        }
    }

    fn explained(&mut self, whose: Owner, why: fmt::Arguments<'_>) {
        if let Some(imsi) = subscriber(whose) {
            self.history.explain(imsi, self.now, why);
        }
    }
}

impl LogSink {
    /// To all targets that want it.
    fn write(&mut self, category: Category, level: Level, line: fmt::Arguments<'_>) {
        let mut targets = core::mem::take(&mut self.targets);
        for target in targets.iter_mut().flatten() {
            if level < target.options.level(category) {
                continue;
            }
            // What others write in front of a line has fields of its own there.
            if matches!(target.writer, Writer::Gsmtap(_)) {
                self.line.clear();
                let _ = write!(self.line, "{line}");
            } else {
                self.compose(&target.options, category, level, line);
            }
            let octets = self.line.as_bytes();
            let result = match &mut target.writer {
                Writer::Gsmtap(target) => {
                    target.send(self.clock.unix_ns(self.now), category, level, &self.line)
                }
                Writer::Stderr => io::stderr().write_all(octets),
                Writer::File { file, .. } => file.write_all(octets),
                Writer::Other(writer) => writer.write_all(octets),
            };
            self.lines_lost += u64::from(result.is_err());
            match (&target.writer, result) {
                // Whether a file takes a line is known once it is flushed.
                (Writer::File { .. }, Ok(())) | (Writer::Gsmtap(_) | Writer::Other(_), _) => {}
                (Writer::File { .. } | Writer::Stderr, result) => target.trouble.tried(result, 1),
            }
        }
        self.targets = targets;
        self.tell_of_trouble();
    }

    /// Says on the other targets that one of them cannot be written, and that it can be again.
    fn tell_of_trouble(&mut self) {
        for place in 0..self.targets.len() {
            let slot = self.targets.get_mut(place);
            let Some(said) = slot.and_then(|slot| slot.as_mut()?.trouble.news()) else { continue };
            let Some(own) = self.targets.get_mut(place).and_then(Option::take) else { continue };
            let name = match &own.writer {
                Writer::File { path, .. } => format!("log file {}", path.display()),
                Writer::Stderr | Writer::Gsmtap(_) | Writer::Other(_) => "log stderr".to_owned(),
            };
            if self.targets.iter().flatten().next().is_some() {
                self.line(Category::Main, Level::Error, format_args!("{name}: {said}"));
            } else if !matches!(own.writer, Writer::Stderr) {
                // There is no other place where it could be read.
                let _ = writeln!(io::stderr(), "gannet: {name}: {said}");
            }
            if let Some(slot) = self.targets.get_mut(place) {
                *slot = Some(own);
            }
        }
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogSink({} targets, drops {:?})", self.targets.iter().flatten().count(), self.drops)
    }
}

fn open(path: &Path) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    Ok(BufWriter::new(file))
}

/// True where standard error is a terminal, so that colour makes sense.
#[must_use]
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Nanoseconds since 1970 as `YYYYMMDDhhmmssmmm` in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedTimestamp(pub u64);

impl fmt::Display for ExtendedTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0 / 1_000_000_000, self.0 / 1_000_000 % 1000);
        let (year, month, day) = civil_date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{millis:03}")
    }
}

/// Year, month and day of the Gregorian calendar, `days` after the first of January 1970. The year is counted from
/// March, so that the leap day comes last.
const fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Happened;
    use gannet_proto::about::owner;
    use gannet_wire::id::Imsi;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Kept(Rc<RefCell<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(octets);
            Ok(octets.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn dates_of_the_calendar() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(11_017), (2000, 3, 1));
        assert_eq!(civil_date(20_454), (2026, 1, 1));
        assert_eq!(ExtendedTimestamp(951_827_696_789_000_000).to_string(), "20000229123456789");
    }

    #[test]
    fn each_target_has_its_levels() {
        let mut sink = LogSink::new(Clock::start());
        assert!(!sink.enabled(Category::Ns, Level::Fatal));
        let (loud, quiet) = (Kept::default(), Kept::default());
        let mut options = TargetOptions::default();
        options.set_level(Category::Ns, Level::Debug);
        let id = sink.add_writer(Box::new(loud.clone()), options.clone());
        options.set_all_levels(Level::Error);
        options.timestamp = Timestamp::SinceStart;
        options.colour = true;
        sink.add_writer(Box::new(quiet.clone()), options);
        assert!(sink.enabled(Category::Ns, Level::Debug));
        assert!(!sink.enabled(Category::Gtp, Level::Info));
        sink.set_now(Instant(1_500_000_000));
        sink.line(Category::Ns, Level::Debug, format_args!("a {}", 1));
        sink.line(Category::Gtp, Level::Error, format_args!("b"));
        assert_eq!(loud.0.borrow().as_slice(), b"ns DEBUG a 1\ngtp ERROR b\n");
        assert_eq!(quiet.0.borrow().as_slice(), b"\x1b[31m1.500000 gtp ERROR b\x1b[0m\n");
        sink.remove(id);
        assert!(!sink.enabled(Category::Ns, Level::Debug));
        assert!(sink.enabled(Category::Ns, Level::Error));
    }

    #[test]
    fn a_category_writes_no_more_than_it_may() {
        let mut sink = LogSink::new(Clock::start());
        let kept = Kept::default();
        let mut options = TargetOptions::default();
        options.set_all_levels(Level::Info);
        sink.add_writer(Box::new(kept.clone()), options);
        let lines = || kept.0.borrow().iter().filter(|octet| **octet == b'\n').count();
        (0..3000).for_each(|_| sink.line(Category::Gtp, Level::Notice, format_args!("nonsense")));
        assert_eq!((lines(), sink.lines_left_out()), (1000, 2000));
        // Others are not disturbed, nor is who wants more.
        sink.line(Category::Mm, Level::Notice, format_args!("a"));
        sink.line(Category::Gtp, Level::Info, format_args!("b"));
        sink.line(Category::Gtp, Level::Fatal, format_args!("c"));
        assert_eq!(lines(), 1003);
        sink.set_now(Instant(1_000_000_000));
        sink.line(Category::Gtp, Level::Notice, format_args!("d"));
        let text = String::from_utf8(kept.0.borrow().clone()).unwrap();
        let end = "gtp NOTICE 2000 lines were left out, there were too many\ngtp NOTICE d\n";
        assert!(text.ends_with(end), "{text}");
        assert_eq!((sink.lines_left_out(), sink.lines_lost()), (2000, 0));
    }

    #[test]
    fn no_flood_of_notices_hides_an_error() {
        let mut sink = LogSink::new(Clock::start());
        let kept = Kept::default();
        sink.add_writer(Box::new(kept.clone()), TargetOptions::default());
        (0..5000).for_each(|_| sink.line(Category::Gtp, Level::Notice, format_args!("nonsense")));
        (0..2).for_each(|_| sink.line(Category::Gtp, Level::Error, format_args!("the path is lost")));
        let text = String::from_utf8(kept.0.borrow().clone()).unwrap();
        let (flood, errors) = text.split_once("gtp ERROR ").unwrap();
        assert_eq!(flood, "gtp NOTICE nonsense\n".repeat(1000));
        // Nothing of the errors was left out, so nothing is said of it before them.
        assert_eq!(errors, "the path is lost\ngtp ERROR the path is lost\n");
        // Errors have a limit as well, and leave the notices theirs.
        (0..5000).for_each(|_| sink.line(Category::Gtp, Level::Error, format_args!("again")));
        assert_eq!(sink.lines_left_out(), 4000 + 5002 - 1000);
        sink.set_now(Instant(1_000_000_000));
        kept.0.borrow_mut().clear();
        (0..101).for_each(|_| sink.line(Category::Gtp, Level::Notice, format_args!("still")));
        let text = String::from_utf8(kept.0.borrow().clone()).unwrap();
        assert!(text.starts_with("gtp NOTICE 4000 lines were left out"), "{text}");
        assert_eq!(text.lines().count(), 101);
    }

    #[test]
    fn files_are_appended_to_and_reopened() {
        let directory = gannet_testkit::TempDir::new("gannet-log");
        let (path, moved) = (directory.path().join("log"), directory.path().join("log.1"));
        let mut sink = LogSink::new(Clock::start());
        sink.add_file(&path, TargetOptions::default()).unwrap();
        sink.line(Category::Main, Level::Notice, format_args!("one"));
        std::fs::rename(&path, &moved).unwrap();
        sink.reopen().unwrap();
        sink.line(Category::Main, Level::Notice, format_args!("two"));
        sink.flush();
        assert_eq!(std::fs::read_to_string(moved).unwrap(), "main NOTICE one\n");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "main NOTICE two\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_elsewhere() {
        let directory = gannet_testkit::TempDir::new("gannet-log-full");
        let path = directory.path().join("log");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut sink = LogSink::new(Clock::start());
        sink.add_file(&path, TargetOptions::default()).unwrap();
        let kept = Kept::default();
        sink.add_writer(Box::new(kept.clone()), TargetOptions::default());
        let said = || String::from_utf8(core::mem::take(&mut *kept.0.borrow_mut())).unwrap();
        let full = format!("main ERROR log file {}: No space left on device (os error 28)", path.display());
        sink.line(Category::Ns, Level::Notice, format_args!("one"));
        sink.flush();
        assert_eq!(said(), format!("ns NOTICE one\n{full}; it is tried again\n"));
        // Once, however often it is tried; and each line is counted that finds no room in memory either.
        let long = "x".repeat(8000);
        (0..3).for_each(|_| sink.line(Category::Ns, Level::Notice, format_args!("{long}")));
        sink.flush();
        assert!(!said().contains("log file"));
        let lost = sink.lines_lost();
        assert!(lost >= 2, "{lost}");
        std::fs::remove_file(&path).unwrap();
        sink.reopen().unwrap();
        sink.line(Category::Ns, Level::Notice, format_args!("two"));
        sink.flush();
        let again =
            format!("main ERROR log file {}: it is written again, {lost} lines were lost\n", path.display());
        assert_eq!(said(), format!("ns NOTICE two\n{again}"));
        assert_eq!(
            (std::fs::read_to_string(&path).unwrap().as_str(), sink.lines_lost()),
            ("ns NOTICE two\n", lost)
        );
    }

    #[test]
    fn lines_as_gsmtap() {
        use gannet_wire::gsmtap_log::{Level as Loud, LogLine};
        let listener = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sink = LogSink::new(Clock::start());
        let to = listener.local_addr().unwrap();
        sink.add_gsmtap(to, "gannet", TargetOptions::default()).unwrap();
        sink.line(Category::Ns, Level::Info, format_args!("too quiet"));
        sink.line(Category::Ns, Level::Notice, format_args!("NS-VC {} is up", 1));
        let mut datagram = [0; 2048];
        let octets = listener.recv(&mut datagram).unwrap();
        let (header, at) = gannet_wire::gsmtap::Header::parse(&datagram[..octets]).unwrap();
        assert_eq!(header.payload, gannet_wire::gsmtap::PayloadType::OsmocoreLog);
        let line = LogLine::parse(&datagram[at..octets]).unwrap();
        assert_eq!((line.process, line.subsystem, line.level), ("gannet", "ns", Loud::Notice));
        assert_eq!((line.text, line.pid), ("NS-VC 1 is up", std::process::id()));
        assert_eq!(sink.lines_lost(), 0);
    }

    #[test]
    fn drops_are_counted_and_remembered() {
        let mut sink = LogSink::new(Clock::start());
        let imsi = Imsi::from_tbcd([0x62, 0x02, 0x10, 0, 0, 0, 0, 0xf1]).unwrap();
        sink.dropped(Drop::NoFrame, None);
        sink.set_now(Instant(7));
        sink.dropped(Drop::NoFrame, Some(owner(imsi)));
        assert_eq!(sink.drops().get(Drop::NoFrame), 2);
        assert_eq!(
            sink.history().of(imsi).collect::<Vec<_>>(),
            [(Instant(7), &Happened::Dropped(Drop::NoFrame))]
        );
        sink.explained(owner(imsi), format_args!("GGSN {} does not answer", 2));
        let explained = Happened::Explained("GGSN 2 does not answer".into());
        assert_eq!(sink.history().of(imsi).last(), Some((Instant(7), &explained)));
    }
}
