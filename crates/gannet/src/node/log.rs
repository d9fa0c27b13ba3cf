//! The targets of the log, from the configuration and the flags; and the one that VTY sessions read.

use super::flags::ProcessFlags;
use core::net::SocketAddr;
use gannet_machine::trace::{Category, Level};
use gannet_ops::config::{Common, LogKind, LogTarget};
use gannet_rt::log::{LogSink, TargetId, TargetOptions, Timestamp};
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// The targets that the configuration and the flags name.
#[derive(Debug, Default)]
pub struct Targets(Vec<TargetId>);

impl Targets {
    /// Puts the targets of a configuration in the place of those that were there. Where a file cannot be opened,
    /// everything stays as it was.
    ///
    /// # Errors
    /// The file, and what the operating system says.
    pub fn set(&mut self, sink: &mut LogSink, common: &Common, flags: &ProcessFlags) -> io::Result<()> {
        let mut fresh = Vec::new();
        let mut result = Ok(());
        for target in &common.logs {
            let mut options = options_of(target);
            match &target.kind {
                LogKind::Stderr => {
                    flags.apply(&mut options);
                    fresh.push(sink.add_stderr(options));
                }
                LogKind::File(name) => {
                    options.colour = target.style.color;
                    match sink.add_file(Path::new(name), options) {
                        Ok(id) => fresh.push(id),
                        Err(error) => result = Err(error),
                    }
                }
                LogKind::Gsmtap(address) => {
                    let to = SocketAddr::new(*address, gannet_wire::gsmtap::UDP_PORT);
                    match sink.add_gsmtap(to, "gannet", options) {
                        Ok(id) => fresh.push(id),
                        Err(error) => result = Err(error),
                    }
                }
            }
        }
        let has_stderr = common.logs.iter().any(|target| target.kind == LogKind::Stderr);
        if common.logs.is_empty() || flags.wants_stderr() && !has_stderr {
            let mut options = TargetOptions::default();
            options.colour = true;
            flags.apply(&mut options);
            fresh.push(sink.add_stderr(options));
        }
        let gone = if result.is_ok() { core::mem::replace(&mut self.0, fresh) } else { fresh };
        gone.into_iter().for_each(|id| sink.remove(id));
        result
    }
}

fn options_of(target: &LogTarget) -> TargetOptions {
    let mut options = TargetOptions::default();
    for category in Category::ALL {
        options.set_level(*category, target.level(*category));
    }
    if !target.style.filter_all {
        options.set_all_levels(Level::Fatal);
    }
    options.timestamp = match (target.style.extended_timestamp, target.style.timestamp) {
        (true, _) => Timestamp::Extended,
        (false, true) => Timestamp::SinceStart,
        (false, false) => Timestamp::None,
    };
    options.colour = target.style.color;
    options.category = target.style.category;
    options
}

/// Lines of the log for the sessions of the VTY: a target while a session wants any.
#[derive(Debug, Default)]
pub struct SessionLog {
    octets: Rc<RefCell<Vec<u8>>>,
    target: Option<TargetId>,
}

/// What is kept between two rounds at most.
const SESSION_LOG_MAX: usize = 1 << 18;

struct Kept(Rc<RefCell<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.borrow_mut();
        if kept.len() + octets.len() > SESSION_LOG_MAX {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        kept.extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One line as a session takes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Date and time of day.
    pub date: String,
    /// Who speaks.
    pub category: Category,
    /// How loud.
    pub level: Level,
    /// What is said.
    pub text: String,
}

impl SessionLog {
    /// Has the sink write from the level on that any session shows.
    pub fn follow(&mut self, sink: &mut LogSink, shows: impl Fn(Category, Level) -> bool) {
        const LEVELS: [Level; 5] = [Level::Debug, Level::Info, Level::Notice, Level::Error, Level::Fatal];
        let mut options = TargetOptions::default();
        options.timestamp = Timestamp::Extended;
        options.set_all_levels(Level::Fatal);
        let mut wanted = false;
        for category in Category::ALL {
            if let Some(level) = LEVELS.into_iter().find(|level| shows(*category, *level)) {
                options.set_level(*category, level);
                wanted = true;
            }
        }
        match (self.target, wanted) {
            (Some(id), true) => sink.set_options(id, options),
            (None, true) => {
                self.target = Some(sink.add_writer(Box::new(Kept(Rc::clone(&self.octets))), options));
            }
            (Some(id), false) => {
                sink.remove(id);
                self.target = None;
                self.octets.borrow_mut().clear();
            }
            (None, false) => {}
        }
    }

    /// Something waits.
    pub fn is_waiting(&self) -> bool {
        !self.octets.borrow().is_empty()
    }

    /// Takes the lines that wait.
    pub fn take(&self) -> Vec<Line> {
        let octets = self.octets.take();
        String::from_utf8_lossy(&octets).lines().filter_map(parse_line).collect()
    }
}

/// `DATE CATEGORY LEVEL TEXT`, as the sink writes it.
fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.splitn(4, ' ');
    let (date, category, level) = (words.next()?, words.next()?, words.next()?);
    let category = *Category::ALL.iter().find(|known| known.name() == category)?;
    let level = gannet_ops::grammar::log_view::level_of(&level.to_ascii_lowercase())?;
    Some(Line { date: date.to_owned(), category, level, text: words.next().unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::trace::TraceSink;
    use gannet_rt::Clock;

    #[test]
    fn sessions_get_what_they_show() {
        let mut sink = LogSink::new(Clock::start());
        let mut log = SessionLog::default();
        log.follow(&mut sink, |category, level| category == Category::Mm && level >= Level::Info);
        assert!(sink.enabled(Category::Mm, Level::Info) && !sink.enabled(Category::Mm, Level::Debug));
        sink.line(Category::Mm, Level::Info, format_args!("two words"));
        let lines = log.take();
        assert_eq!(
            (lines[0].category, lines[0].level, lines[0].text.as_str()),
            (Category::Mm, Level::Info, "two words")
        );
        log.follow(&mut sink, |_, _| false);
        assert!(!sink.enabled(Category::Mm, Level::Fatal) && !log.is_waiting());
    }

    #[test]
    fn a_file_that_cannot_be_opened_changes_nothing() {
        let mut sink = LogSink::new(Clock::start());
        let mut targets = Targets::default();
        let flags = <ProcessFlags as clap::Args>::augment_args(clap::Command::new("x"));
        let flags =
            <ProcessFlags as clap::FromArgMatches>::from_arg_matches(&flags.get_matches_from(["x"])).unwrap();
        targets.set(&mut sink, &Common::default(), &flags).unwrap();
        let common = Common {
            logs: vec![LogTarget::new(LogKind::File("/nowhere/at/all".into()))],
            ..Common::default()
        };
        assert!(targets.set(&mut sink, &common, &flags).is_err());
        assert!(sink.enabled(Category::Main, Level::Notice));
        assert_eq!(targets.0.len(), 1);
    }
}
