//! One telnet session without its socket: octets in, octets out.

mod pager;
mod written;

use super::Operator;
use super::line_editor::LineEditor;
use super::telnet::{Decoder, GREETING, Key};
use crate::config::Element;
use crate::config::{Cursor, Outcome, change, write};
use crate::grammar::log_view::{self, LogView, category_of, level_of};
use crate::grammar::secrets::masked;
use crate::grammar::{Action, Args, Candidate, Command, CommandError, Grammar, NoMatch, Node, SessionAction};
use core::marker::PhantomData;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use pager::{Pager, Turn};
use std::fmt::Write as _;
use written::{lacking, save, startup_config};

/// Octets of output with which a session takes no more input until they are gone.
pub const OUTPUT_MAX: usize = 64 * 1024;

/// What a session works on.
pub struct Host<'a, E: Element> {
    /// The commands.
    pub grammar: &'a Grammar<E>,
    /// The node.
    pub operator: &'a mut dyn Operator<E>,
    /// All sessions, for `who`.
    pub sessions: &'a [String],
}

impl<E: Element> core::fmt::Debug for Host<'_, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Host({}, {} sessions)", E::NAME, self.sessions.len())
    }
}

/// A line of the log.
#[derive(Debug, Clone, Copy)]
pub struct LogLine<'a> {
    /// Who speaks.
    pub category: Category,
    /// How loud.
    pub level: Level,
    /// When, since the start.
    pub at: Instant,
    /// Date and time of day, where the caller has them.
    pub date: Option<&'a str>,
    /// What is said.
    pub text: &'a str,
}

/// Where one works; configuration nodes below the root are the cursor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    View,
    Enable,
    Config,
}

/// One session.
#[derive(Debug)]
pub struct Session<E: Element> {
    decoder: Decoder,
    editor: LineEditor,
    mode: Mode,
    cursor: Cursor,
    log: LogView,
    /// `terminal length`, where it was said; 0 is no paging.
    length: Option<u16>,
    /// The window's lines, where the terminal told them.
    window: Option<u16>,
    pager: Pager,
    output: Vec<u8>,
    closed: bool,
    element: PhantomData<fn() -> E>,
}

impl<E: Element> Session<E> {
    /// A session that has just begun: its output has the greeting.
    #[must_use]
    pub fn new(operator: &dyn Operator<E>) -> Self {
        let mut session = Self {
            decoder: Decoder::default(),
            editor: LineEditor::default(),
            mode: Mode::View,
            cursor: Cursor::default(),
            log: LogView::default(),
            length: None,
            window: None,
            pager: Pager::default(),
            output: Vec::new(),
            closed: false,
            element: PhantomData,
        };
        session.push(&format!("Welcome to the Gannet {} terminal\n\n", E::NAME.to_uppercase()));
        session.output.extend_from_slice(&GREETING);
        session.prompt(operator);
        session
    }

    /// Takes octets from the terminal and says how many it took: none once it is closed, and no more for now once
    /// [`OUTPUT_MAX`] octets of output wait.
    pub fn input(&mut self, octets: &[u8], host: &mut Host<'_, E>) -> usize {
        let mut taken = 0;
        for octet in octets {
            if self.closed || self.output.len() >= OUTPUT_MAX {
                break;
            }
            taken += 1;
            if let Some(key) = self.decoder.octet(*octet) {
                self.key(key, host);
            }
        }
        taken
    }

    /// Octets for the terminal; the caller removes what it has sent.
    pub const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Whether the operator left.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether it shows a line of the log.
    #[must_use]
    pub fn shows(&self, category: Category, level: Level) -> bool {
        self.log.shows(category, level)
    }

    /// Whether it shows any line of the log.
    #[must_use]
    pub fn shows_log(&self) -> bool {
        Category::ALL.iter().any(|category| self.shows(*category, Level::Fatal))
    }

    /// Shows a line of the log, if it wants it and has room for it.
    pub fn log_line(&mut self, line: &LogLine<'_>, operator: &dyn Operator<E>) {
        if !self.shows(line.category, line.level) || self.output.len() >= OUTPUT_MAX {
            return;
        }
        self.output.extend_from_slice(b"\r\x1b[K");
        let text = styled(line, &self.log);
        let color = self.log.style.color.then(|| color_of(line.level));
        if let Some(color) = color {
            self.output.extend_from_slice(color);
        }
        self.push(&text);
        self.output.extend_from_slice(if color.is_some() { b"\x1b[0m\r\n" } else { b"\r\n" });
        if self.pager.is_waiting() {
            self.output.extend_from_slice(pager::MORE);
        } else {
            self.prompt(operator);
        }
    }

    // ------------------------------------------------------------------ keys

    fn key(&mut self, key: Key, host: &mut Host<'_, E>) {
        if let Key::Window(lines) = key {
            self.window = Some(lines);
            return;
        }
        if self.pager.is_waiting() {
            let turn = match key {
                Key::Char(b'q') | Key::Interrupt | Key::Eof => Turn::Stop,
                Key::Enter => Turn::Line,
                _ => Turn::Page,
            };
            self.output.extend_from_slice(pager::CLEAR);
            self.turn_page(turn, host.operator);
            return;
        }
        match key {
            Key::Enter => self.enter(host),
            Key::Char(b'?') => self.help(host),
            Key::Tab => self.complete(host),
            Key::Interrupt | Key::Suspend => {
                self.editor.forget();
                self.leave_configuration();
                self.push("\n");
                self.prompt(host.operator);
            }
            Key::Eof if self.editor.is_empty() => {
                self.push("\n");
                self.exit();
                self.prompt(host.operator);
            }
            Key::Eof => {
                self.editor.key(Key::Delete, &mut self.output);
            }
            Key::Redraw => {
                self.output.extend_from_slice(b"\r\x1b[K");
                self.prompt(host.operator);
            }
            other => {
                self.editor.key(other, &mut self.output);
            }
        }
    }

    fn enter(&mut self, host: &mut Host<'_, E>) {
        let line = self.editor.take();
        self.push("\n");
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut out = String::new();
        let is_comment = line.trim_start().starts_with(['!', '#']);
        if !words.is_empty()
            && !is_comment
            && let Err(error) = self.run(self.node(), &words, host, &mut out)
        {
            let _ = writeln!(out, "% {error}");
        }
        self.pager.start(&out);
        self.turn_page(Turn::Page, host.operator);
    }

    /// Lines of a page; `None` where answers come in one piece.
    fn page(&self) -> Option<usize> {
        let lines = self.length.or(self.window).filter(|lines| *lines > 0)?;
        Some(usize::from(lines).saturating_sub(1).max(1))
    }

    fn turn_page(&mut self, turn: Turn, operator: &dyn Operator<E>) {
        let text = self.pager.turn(turn, self.page());
        self.push(&text);
        if self.pager.is_waiting() {
            self.output.extend_from_slice(pager::MORE);
        } else {
            self.prompt(operator);
        }
    }

    fn help(&mut self, host: &Host<'_, E>) {
        let line = self.editor.before_cursor();
        let mut text = "\n".to_owned();
        match host.grammar.candidates(self.node(), &split(&line)) {
            Ok(candidates) if candidates.is_empty() => text.push_str("% There is no matched command.\n"),
            Ok(candidates) => describe(&candidates, &mut text),
            Err(error) => {
                let _ = writeln!(text, "% {error}");
            }
        }
        self.push(&text);
        self.prompt(host.operator);
    }

    fn complete(&mut self, host: &Host<'_, E>) {
        let line = self.editor.before_cursor();
        let words = split(&line);
        let part = words.last().copied().unwrap_or_default();
        let Ok(mut candidates) = host.grammar.candidates(self.node(), &words) else { return };
        candidates.retain(|candidate| candidate.fixed);
        let common = common_beginning(&candidates);
        if let Some(more) = common.strip_prefix(part) {
            self.editor.insert(more, &mut self.output);
        }
        if candidates.len() == 1 {
            self.editor.insert(" ", &mut self.output);
        } else if common == part && !candidates.is_empty() {
            let words: Vec<&str> = candidates.iter().map(|candidate| candidate.word.as_str()).collect();
            self.push(&format!("\n{}\n", words.join("  ")));
            self.prompt(host.operator);
        }
    }

    // ------------------------------------------------------------------ commands

    fn node(&self) -> Node {
        match self.mode {
            Mode::View => Node::View,
            Mode::Enable => Node::Enable,
            Mode::Config => self.cursor.node(),
        }
    }

    fn run(
        &mut self,
        node: Node,
        words: &[&str],
        host: &mut Host<'_, E>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let found = host.grammar.find(node, words);
        let (command, args) = found.map_err(|error: NoMatch| {
            let what = host.grammar.mistake(node, words).filter(|_| error == NoMatch::Unknown);
            CommandError(what.map_or_else(|| error.to_string(), |what| format!("{error} {what}.")))
        })?;
        match command.action() {
            Action::Session(action) => self.act(*action, node, &args, host, out),
            Action::Statistics(parse) => host.operator.statistics(parse(&args)?, out),
            Action::Operate(parse) => host.operator.execute(&parse(&args)?, out),
            Action::Show(show) => show(host.operator.config(), &args, out),
            Action::Set(_) | Action::Enter(..) | Action::Ignore(_) | Action::Refuse(_) => {
                self.configure(command, &args, host.operator, out)
            }
        }
    }

    /// Changes a copy of the configuration and gives it to the node.
    fn configure(
        &mut self,
        command: &Command<E>,
        args: &Args,
        operator: &mut dyn Operator<E>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let mut config = operator.config().clone();
        let mut cursor = self.cursor.clone();
        let mut warnings = Vec::new();
        let outcome = change(command.action(), args, &mut config, &mut cursor, &mut warnings)?;
        if config != *operator.config() {
            // As at the end of a file, but for what more lines may make right.
            let before = E::problems(operator.config());
            let mut after = E::problems(&config);
            after.retain(|problem| !before.contains(problem));
            if let Some(problem) = after.iter().find(|problem| !problem.is_incomplete) {
                return Err(CommandError(format!("{}.", problem.text)));
            }
            let mut remarks = E::remarks(&config);
            let known = E::remarks(operator.config());
            remarks.retain(|remark| !known.contains(remark));
            operator.reconfigure(config, out)?;
            // What a node lacks that was just entered is about to be said.
            if outcome == Outcome::Done {
                warnings.extend(after.into_iter().map(|problem| problem.text));
                warnings.extend(remarks);
            }
        }
        if outcome == Outcome::Entered {
            self.cursor = cursor;
        }
        // Without the mark of what is refused.
        for warning in warnings {
            let _ = writeln!(out, "Note: {warning}");
        }
        Ok(())
    }

    fn act(
        &mut self,
        action: SessionAction,
        node: Node,
        args: &Args,
        host: &mut Host<'_, E>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        match action {
            SessionAction::Enable => self.mode = Mode::Enable,
            SessionAction::Disable => self.mode = Mode::View,
            SessionAction::Configure => self.mode = Mode::Config,
            SessionAction::Exit | SessionAction::Quit => {
                if self.mode == Mode::Config {
                    lacking::<E>(host.operator.config(), self.cursor.node(), out);
                }
                self.exit();
            }
            SessionAction::End => self.leave_configuration(),
            SessionAction::List => list(host.grammar.commands(node), args.get(0).is_some(), out),
            SessionAction::Help => out.push_str(crate::grammar::HELP),
            SessionAction::Who => host.sessions.iter().for_each(|session| {
                let _ = writeln!(out, "  {session}");
            }),
            SessionAction::Version => {
                let _ = writeln!(out, "Gannet {} ({}).", env!("CARGO_PKG_VERSION"), E::NAME);
            }
            SessionAction::History => self.editor.history().for_each(|line| {
                let _ = writeln!(out, "  {line}");
            }),
            SessionAction::Pid => {
                let _ = writeln!(out, "{}", std::process::id());
            }
            SessionAction::Uptime => uptime::<E>(host.operator.uptime(), out),
            SessionAction::OnlineHelp => out.push_str(ONLINE_HELP),
            SessionAction::Threads => super::threads::show(out),
            SessionAction::StartupConfig => return startup_config(host.operator, out),
            SessionAction::Say => {
                let category = category_of(args.text(0)).unwrap_or(Category::Main);
                host.operator.say(category, level_of(args.text(1)).unwrap_or(Level::Notice), args.text(2));
            }
            SessionAction::RunningConfig => {
                let _ = write!(
                    out,
                    "\nCurrent configuration:\n!\n{}end\n",
                    masked(&write::<E>(host.operator.config()))
                );
            }
            SessionAction::WriteFile => return save(args, false, host.operator, out),
            SessionAction::WriteForced => return save(args, true, host.operator, out),
            SessionAction::Length => self.length = Some(args.value(0)?),
            SessionAction::NoLength => self.length = None,
            SessionAction::Do => return self.run_from_above(args.text(0), host, out),
            SessionAction::Log(command) => self.log.apply(command, args, out),
        }
        Ok(())
    }

    /// `do .LINE`: a command of the enable node that leaves the session where it is.
    fn run_from_above(
        &mut self,
        line: &str,
        host: &mut Host<'_, E>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = host.grammar.find(Node::Enable, &words);
        let (command, _) = found.map_err(|error| CommandError(error.to_string()))?;
        if let Action::Session(action) = command.action() {
            use SessionAction as Act;
            match action {
                Act::Enable | Act::Disable | Act::Configure | Act::Exit | Act::Quit | Act::End | Act::Do => {
                    return Err(CommandError::new("It would leave this node."));
                }
                Act::List | Act::Help | Act::Who | Act::Version | Act::History | Act::RunningConfig => {}
                Act::WriteFile | Act::WriteForced | Act::Length | Act::NoLength | Act::Log(_) => {}
                Act::Pid | Act::Uptime | Act::OnlineHelp | Act::Threads | Act::StartupConfig | Act::Say => {}
            }
        }
        self.run(Node::Enable, &words, host, out)
    }

    fn exit(&mut self) {
        match self.mode {
            Mode::View | Mode::Enable => self.closed = true,
            Mode::Config => {
                if !self.cursor.up() {
                    self.mode = Mode::Enable;
                }
            }
        }
    }

    fn leave_configuration(&mut self) {
        if self.mode == Mode::Config {
            while self.cursor.up() {}
            self.mode = Mode::Enable;
        }
    }

    // ------------------------------------------------------------------ output

    fn prompt(&mut self, operator: &dyn Operator<E>) {
        if self.closed {
            return;
        }
        let own = || format!("Gannet{}", E::NAME.to_uppercase());
        let name = E::common(operator.config()).hostname.clone().unwrap_or_else(own);
        let prompt = match self.mode {
            Mode::View => format!("{name}> "),
            Mode::Enable => format!("{name}# "),
            Mode::Config => format!("{name}({})# ", self.cursor.node().name()),
        };
        self.push(&prompt);
        self.editor.draw(&mut self.output);
    }

    /// Writes text. What the peers of a node chose (names, addresses) may be in it, so that nothing but printable
    /// characters reaches the terminal.
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.output.extend_from_slice(b"\r\n"),
                '\t' => self.output.push(b'\t'),
                c if c.is_control() => self.output.push(b'.'),
                c => self.output.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
}

/// The commands of a node; with `flags` a `!` stands in front of what changes the configuration.
fn list<E: Element>(commands: &[Command<E>], flags: bool, out: &mut String) {
    for command in commands {
        let changes = matches!(command.action(), Action::Set(_) | Action::Enter(..));
        let flag = if !flags {
            ""
        } else if changes {
            "! "
        } else {
            ". "
        };
        let _ = writeln!(out, "  {flag}{}", command.pattern());
    }
}

/// Where there is more to read.
const ONLINE_HELP: &str = "\
docs/vty.md      every command, and which of osmo-sgsn's are there
docs/metrics.md  counters, statsd, Prometheus, the control interface
README.md        how to begin
";

fn uptime<E: Element>(since_start: Duration, out: &mut String) {
    let seconds = since_start.0 / 1_000_000_000;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let _ = writeln!(
        out,
        "Gannet {} has been running for {days}d {hours}h {minutes}m {seconds}s",
        E::NAME.to_uppercase()
    );
}

/// The words of a line whose last one, possibly empty, is not done yet.
fn split(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || line.ends_with(' ') {
        words.push("");
    }
    words
}

fn describe(candidates: &[Candidate], text: &mut String) {
    let width = candidates.iter().map(|candidate| candidate.word.len()).max().unwrap_or(0);
    for Candidate { word, help, .. } in candidates {
        let _ = writeln!(text, "{}", format!("  {word:<width$}  {help}").trim_end());
    }
}

fn common_beginning(candidates: &[Candidate]) -> String {
    let Some((first, rest)) = candidates.split_first() else { return String::new() };
    let same =
        |other: &Candidate| first.word.chars().zip(other.word.chars()).take_while(|(a, b)| a == b).count();
    let length = rest.iter().map(same).min().unwrap_or_else(|| first.word.chars().count());
    first.word.chars().take(length).collect()
}

fn styled(line: &LogLine<'_>, view: &LogView) -> String {
    let mut text = String::new();
    let style = &view.style;
    if let Some(date) = line.date.filter(|_| style.extended_timestamp) {
        let _ = write!(text, "{date} ");
    } else if style.timestamp || style.extended_timestamp {
        let us = line.at.0 / 1000;
        let _ = write!(text, "{}.{:06} ", us / 1_000_000, us % 1_000_000);
    }
    if style.category {
        let _ = write!(text, "{} ", line.category.name());
    }
    if style.level {
        let _ = write!(text, "{} ", log_view::word_of(line.level));
    }
    // A line is one line.
    text.extend(line.text.trim_end().chars().map(|c| if c == '\n' { ' ' } else { c }));
    text
}

const fn color_of(level: Level) -> &'static [u8] {
    match level {
        Level::Debug => b"\x1b[34m",
        Level::Info => b"\x1b[32m",
        Level::Notice => b"\x1b[33m",
        Level::Error | Level::Fatal => b"\x1b[31m",
    }
}
