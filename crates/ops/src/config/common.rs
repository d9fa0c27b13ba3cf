//! The part of a configuration that every element has: `hostname`, `log …`, `line vty`, `ctrl`.

mod osmocom;

use super::ConfigText;
use super::busy_poll::BusyPoll;
use super::stats::{self, StatsConfig};
use super::trace::{self, TraceWords};
use crate::config::Element;
use crate::grammar::log_view::{TargetStyle, category_of, level_of, word_of};
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};
use core::net::{IpAddr, Ipv4Addr};
use gannet_machine::trace::{Category, Level};

/// What every element has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Common {
    /// The name in the prompt instead of `Gannet`.
    pub hostname: Option<String>,
    /// Targets of the log. Where none is configured, the program logs to its standard error.
    pub logs: Vec<LogTarget>,
    /// Where the VTY listens.
    pub vty: Listen,
    /// After how long without a key the VTY ends a session.
    pub exec_timeout: ExecTimeout,
    /// Where the control interface listens, where one is configured.
    pub ctrl: Option<Listen>,
    /// Where the page of metrics is, where one is configured.
    pub metrics: Option<Listen>,
    /// Who is told the statistics.
    pub stats: StatsConfig,
    /// What is recorded of what crosses the interfaces.
    pub trace: TraceWords,
    /// Whether the process polls, where that is not [`Element::BUSY_POLL`]; it stands under the element's own node.
    pub busy_poll: Option<BusyPoll>,
}

/// After how many seconds without a key a session of the VTY ends; 0 is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecTimeout(pub u32);

impl Default for ExecTimeout {
    /// That of Quagga.
    fn default() -> Self {
        Self(600)
    }
}

/// Where a service listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// The address.
    pub address: Ipv4Addr,
    /// The port; the element's own where none is given.
    pub port: Option<u16>,
}

impl Default for Listen {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST, port: None }
    }
}

/// Where log lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogKind {
    /// `log stderr`
    Stderr,
    /// `log file NAME`
    File(String),
    /// `log gsmtap ADDRESS`
    Gsmtap(IpAddr),
}

/// One target of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTarget {
    /// Where the lines go.
    pub kind: LogKind,
    /// How they are written.
    pub style: TargetStyle,
    /// The level of each category, where one was given; otherwise [`Level::Notice`].
    pub levels: Vec<(Category, Level)>,
    /// The level that holds for all of them until it is taken back.
    pub forced: Option<Level>,
}

impl LogTarget {
    /// A target with the defaults of its kind.
    #[must_use]
    pub fn new(kind: LogKind) -> Self {
        let color = kind == LogKind::Stderr;
        let style = TargetStyle { color, ..TargetStyle::default() };
        Self { kind, style, levels: Vec::new(), forced: None }
    }

    /// The least level that is written of a category.
    #[must_use]
    pub fn level(&self, category: Category) -> Level {
        let given = self.levels.iter().find(|(own, _)| *own == category);
        self.forced.unwrap_or_else(|| given.map_or(Level::Notice, |(_, level)| *level))
    }

    fn set_level(&mut self, category: Category, level: Level) {
        self.levels.retain(|(own, _)| *own != category);
        self.levels.push((category, level));
    }

    /// By which the node of a session finds it again.
    fn name(&self) -> String {
        match &self.kind {
            LogKind::Stderr => String::new(),
            LogKind::File(name) => name.clone(),
            LogKind::Gsmtap(address) => format!("gsmtap {address}"),
        }
    }

    fn write(&self, text: &mut ConfigText) {
        let head = match &self.kind {
            LogKind::Stderr => "log stderr".to_owned(),
            LogKind::File(name) => format!("log file {name}"),
            LogKind::Gsmtap(address) => format!("log gsmtap {address}"),
        };
        text.node(format_args!("{head}"), |text| {
            let style = &self.style;
            for (words, on) in [
                ("filter all", style.filter_all),
                ("color", style.color),
                ("print category", style.category),
                ("print level", style.level),
                ("print extended-timestamp", style.extended_timestamp),
                ("timestamp", style.timestamp),
            ] {
                text.line(format_args!("logging {words} {}", u8::from(on)));
            }
            for (category, level) in &self.levels {
                text.line(format_args!("logging level {} {}", category.name(), word_of(*level)));
            }
            if let Some(level) = self.forced {
                text.line(format_args!("logging level force-all {}", word_of(level)));
            }
        });
    }
}

impl Common {
    /// What stands in front of the element's own part.
    pub(super) fn write_before(&self, text: &mut ConfigText) {
        if let Some(hostname) = &self.hostname {
            text.line(format_args!("hostname {hostname}"));
            text.comment();
        }
        for log in &self.logs {
            log.write(text);
            text.comment();
        }
        self.stats.write(text);
        self.trace.write(text);
        text.node(format_args!("line vty"), |text| {
            text.line(format_args!("no login"));
            if self.vty != Listen::default() {
                self.vty.write(text);
            }
            match self.exec_timeout {
                timeout if timeout == ExecTimeout::default() => {}
                ExecTimeout(0) => text.line(format_args!("no exec-timeout")),
                ExecTimeout(seconds) => {
                    text.line(format_args!("exec-timeout {} {}", seconds / 60, seconds % 60));
                }
            }
        });
        text.comment();
    }

    /// What stands behind it.
    pub(super) fn write_behind(&self, text: &mut ConfigText) {
        if let Some(ctrl) = &self.ctrl {
            text.node(format_args!("ctrl"), |text| ctrl.write(text));
        }
        if let Some(metrics) = &self.metrics {
            text.node(format_args!("metrics"), |text| metrics.write(text));
        }
    }
}

impl Listen {
    fn write(self, text: &mut ConfigText) {
        match self.port {
            Some(port) => text.line(format_args!("bind {} {port}", self.address)),
            None => text.line(format_args!("bind {}", self.address)),
        }
    }
}

type Done = Result<(), CommandError>;

/// The commands of `hostname`, `log`, `line vty`, `ctrl`, and those of Osmocom's that stand beside them.
pub(crate) fn install<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    grammar.add(
        config,
        "hostname WORD",
        "The name in the prompt\nThe name",
        Action::Set(|edit| {
            E::common_mut(edit.config).hostname = Some(edit.args.text(0).to_owned());
            Ok(())
        }),
    );
    grammar.add(
        config,
        "no hostname [HOSTNAME]",
        "Take back\nThe name in the prompt\nThe name",
        Action::Set(|edit| {
            E::common_mut(edit.config).hostname = None;
            Ok(())
        }),
    );
    install_log_nodes(grammar);
    install_log_styles(grammar);
    install_listeners(grammar);
    stats::install(grammar);
    trace::install(grammar);
    osmocom::install(grammar);
}

fn install_log_nodes<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    grammar.add(
        config,
        "log stderr [blocking-io]",
        "A target of the log\nStandard error\nAs Osmocom has it: lines are always written whole",
        Action::Enter(Node::Log, |edit| Ok(open_log::<E>(edit, LogKind::Stderr))),
    );
    grammar.add(
        config,
        "no log stderr",
        "Take back\nA target of the log\nStandard error",
        Action::Set(|edit| close_log::<E>(edit, &LogKind::Stderr)),
    );
    grammar.add(
        config,
        "log file FILENAME [blocking-io]",
        "A target of the log\nA file, opened again at SIGHUP\nIts path\nAs Osmocom has it: lines are always written whole",
        Action::Enter(Node::Log, |edit| {
            let kind = LogKind::File(edit.args.text(0).to_owned());
            Ok(open_log::<E>(edit, kind))
        }),
    );
    grammar.add(
        config,
        "no log file FILENAME",
        "Take back\nA target of the log\nA file\nIts path",
        Action::Set(|edit| close_log::<E>(edit, &LogKind::File(edit.args.text(0).to_owned()))),
    );
    grammar.add(
        config,
        "log gsmtap [HOSTNAME]",
        "A target of the log\nDatagrams that Wireshark reads\nThe address; this machine without it",
        Action::Enter(Node::Log, |edit| {
            let kind = gsmtap(edit.args)?;
            Ok(open_log::<E>(edit, kind))
        }),
    );
    grammar.add(
        config,
        "no log gsmtap [HOSTNAME]",
        "Take back\nA target of the log\nDatagrams that Wireshark reads\nThe address",
        Action::Set(|edit| close_log::<E>(edit, &gsmtap(edit.args)?)),
    );
}

fn gsmtap(args: &Args) -> Result<LogKind, CommandError> {
    gsmtap_address(args).map(LogKind::Gsmtap)
}

/// The address in the first word, or this machine's own.
pub(super) fn gsmtap_address(args: &Args) -> Result<IpAddr, CommandError> {
    match args.get(0) {
        None | Some("localhost") => Ok(Ipv4Addr::LOCALHOST.into()),
        Some(address) => {
            address.parse().map_err(|_| CommandError::new("names are not looked up; say an address."))
        }
    }
}

fn open_log<E: Element>(edit: &mut Edit<'_, E::Config>, kind: LogKind) -> String {
    let logs = &mut E::common_mut(edit.config).logs;
    if !logs.iter().any(|log| log.kind == kind) {
        logs.push(LogTarget::new(kind.clone()));
    }
    LogTarget::new(kind).name()
}

fn close_log<E: Element>(edit: &mut Edit<'_, E::Config>, kind: &LogKind) -> Done {
    let logs = &mut E::common_mut(edit.config).logs;
    let before = logs.len();
    logs.retain(|log| log.kind != *kind);
    if logs.len() == before { Err(CommandError::new("There is no such target.")) } else { Ok(()) }
}

/// The target that the session or file is within.
fn log_here<'e, E: Element>(edit: &'e mut Edit<'_, E::Config>) -> Result<&'e mut LogTarget, CommandError> {
    let name = edit.here().to_owned();
    let logs = &mut E::common_mut(edit.config).logs;
    logs.iter_mut().find(|log| log.name() == name).ok_or_else(|| CommandError::new("The target is gone."))
}

fn install_log_styles<E: Element>(grammar: &mut Grammar<E>) {
    use crate::grammar::common::{COSMETIC, Switch, level_all_command, level_command};
    type Set<C> = fn(&mut Edit<'_, C>) -> Done;
    fn switch<E: Element>(edit: &mut Edit<'_, E::Config>, set: fn(&mut TargetStyle, bool)) -> Done {
        let on = edit.args.text(0) == "1";
        set(&mut log_here::<E>(edit)?.style, on);
        Ok(())
    }
    let switches: [(Switch, Set<E::Config>); 6] = [
        (Switch::FilterAll, |edit| switch::<E>(edit, |style, on| style.filter_all = on)),
        (Switch::Color, |edit| switch::<E>(edit, |style, on| style.color = on)),
        (Switch::Timestamp, |edit| switch::<E>(edit, |style, on| style.timestamp = on)),
        (Switch::ExtendedTimestamp, |edit| switch::<E>(edit, |style, on| style.extended_timestamp = on)),
        (Switch::Category, |edit| switch::<E>(edit, |style, on| style.category = on)),
        (Switch::Level, |edit| switch::<E>(edit, |style, on| style.level = on)),
    ];
    for (words, set) in switches {
        grammar.add(&[Node::Log], words.pattern(), words.help(), Action::Set(set));
    }
    let cosmetic = Action::Set(|_| Ok(()));
    let print = "The log\nWhat stands in a line";
    for (pattern, help) in COSMETIC {
        grammar.add(&[Node::Log], *pattern, &format!("{print}\n{help}"), cosmetic);
    }
    let (pattern, help) = level_command();
    grammar.add(
        &[Node::Log],
        pattern,
        &help,
        Action::Set(|edit| {
            let level = level_of(edit.args.text(1)).unwrap_or(Level::Notice);
            let category = category_of(edit.args.text(0));
            let log = log_here::<E>(edit)?;
            if let Some(category) = category {
                log.set_level(category, level);
            }
            Ok(())
        }),
    );
    install_forced_level(grammar);
    let (pattern, help) = level_all_command("set-all", "Of every category");
    grammar.add(
        &[Node::Log],
        pattern,
        &help,
        Action::Set(|edit| {
            let level = level_of(edit.args.text(0)).unwrap_or(Level::Notice);
            let log = log_here::<E>(edit)?;
            log.levels = Category::ALL.iter().map(|category| (*category, level)).collect();
            Ok(())
        }),
    );
}

fn install_forced_level<E: Element>(grammar: &mut Grammar<E>) {
    use crate::grammar::common::{FORCE_ALL, NO_FORCE_ALL, level_all_command};
    let (pattern, help) = level_all_command("force-all", FORCE_ALL);
    let set = Action::Set(|edit| {
        let level = level_of(edit.args.text(0));
        log_here::<E>(edit)?.forced = level;
        Ok(())
    });
    grammar.add(&[Node::Log], pattern, &help, set);
    let unset = Action::Set(|edit| {
        log_here::<E>(edit)?.forced = None;
        Ok(())
    });
    grammar.add(&[Node::Log], NO_FORCE_ALL.0, NO_FORCE_ALL.1, unset);
}

fn install_listeners<E: Element>(grammar: &mut Grammar<E>) {
    let enter = Action::Enter(Node::Line, |_| Ok(String::new()));
    grammar.add(&[Node::Config], "line vty", "A way in for operators\nTelnet", enter);
    grammar.add(&[Node::Line], "no login", "Take back\nAsk for a password", Action::Set(|_| Ok(())));
    install_exec_timeout(grammar);
    let why = "a password is not implemented; say 'no login', and bind the VTY to an address that only operators reach.";
    grammar.add(&[Node::Line], "login", "Ask for a password: not here", Action::Refuse(why));
    grammar.add(
        &[Node::Line],
        "bind A.B.C.D [<0-65535>]",
        "Where it listens\nThe address\nThe port",
        Action::Set(|edit| {
            E::common_mut(edit.config).vty =
                Listen { address: edit.args.value(0)?, port: edit.args.optional(1)? };
            Ok(())
        }),
    );
    grammar.add(
        &[Node::Config],
        "ctrl",
        "The control interface, for programs",
        Action::Enter(Node::Ctrl, |edit| {
            E::common_mut(edit.config).ctrl.get_or_insert_default();
            Ok(String::new())
        }),
    );
    grammar.add(
        &[Node::Ctrl],
        "bind A.B.C.D [<0-65535>]",
        "Where it listens\nThe address\nThe port",
        Action::Set(|edit| {
            let listen = Listen { address: edit.args.value(0)?, port: edit.args.optional(1)? };
            E::common_mut(edit.config).ctrl = Some(listen);
            Ok(())
        }),
    );
    grammar.add(
        &[Node::Config],
        "metrics",
        "The page of metrics, for Prometheus",
        Action::Enter(Node::Metrics, |edit| {
            E::common_mut(edit.config).metrics.get_or_insert_default();
            Ok(String::new())
        }),
    );
    grammar.add(
        &[Node::Metrics],
        "bind A.B.C.D [<1-65535>]",
        "Where it listens\nThe address\nThe port",
        Action::Set(|edit| {
            let listen = Listen { address: edit.args.value(0)?, port: edit.args.optional(1)? };
            E::common_mut(edit.config).metrics = Some(listen);
            Ok(())
        }),
    );
    grammar.add(
        &[Node::Config],
        "no metrics",
        "Take back\nThe page of metrics",
        Action::Set(|edit| {
            E::common_mut(edit.config).metrics = None;
            Ok(())
        }),
    );
}

fn install_exec_timeout<E: Element>(grammar: &mut Grammar<E>) {
    let line = &[Node::Line];
    let what = "When a session ends in which nobody types; not while it shows the log";
    grammar.add(
        line,
        "exec-timeout <0-35791> [<0-59>]",
        &format!("{what}\nMinutes; 10 unless said otherwise, and 0 0 is never\nSeconds besides"),
        Action::Set(|edit| {
            let (minutes, seconds): (u32, Option<u32>) = (edit.args.value(0)?, edit.args.optional(1)?);
            E::common_mut(edit.config).exec_timeout = ExecTimeout(minutes * 60 + seconds.unwrap_or(0));
            Ok(())
        }),
    );
    grammar.add(
        line,
        "no exec-timeout",
        &format!("Take back\n{what}"),
        Action::Set(|edit| {
            E::common_mut(edit.config).exec_timeout = ExecTimeout(0);
            Ok(())
        }),
    );
}
