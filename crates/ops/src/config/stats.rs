//! `stats interval`, and the reporters: `stats reporter (statsd|log) [NAME]` with their node.

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};
use crate::metrics::{Level, statsd};
use core::net::{IpAddr, Ipv4Addr};

/// Who is told the statistics, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsConfig {
    /// Between two reports, in s; 0 reports only when an operator says `stats report`.
    pub interval_s: u16,
    /// The reporters, in their order in the file.
    pub reporters: Vec<StatsReporter>,
}

impl Default for StatsConfig {
    fn default() -> Self {
        Self { interval_s: 5, reporters: Vec::new() }
    }
}

/// To what a reporter tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReporterKind {
    /// A statsd.
    Statsd,
    /// The log, in lines of `main` at level info.
    Log,
}

impl ReporterKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Statsd => "statsd",
            Self::Log => "log",
        }
    }
}

/// Who is told what has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsReporter {
    /// To what.
    pub kind: ReporterKind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The address that is sent from.
    pub local_ip: Option<IpAddr>,
    /// The address that is sent to.
    pub remote_ip: IpAddr,
    /// The port that is sent to.
    pub remote_port: u16,
    /// Octets of a datagram's payload at most; [`statsd::LENGTH_DEFAULT`] where none is given.
    pub mtu: Option<u16>,
    /// In front of every name.
    pub prefix: Option<String>,
    /// Down to which groups.
    pub level: Level,
    /// It is told everything each so many reports; 0 for what has changed only.
    pub flush_period: u16,
    /// It is at work.
    pub enabled: bool,
}

impl StatsReporter {
    fn new(kind: ReporterKind, name: Option<String>) -> Self {
        Self {
            kind,
            name,
            local_ip: None,
            remote_ip: Ipv4Addr::LOCALHOST.into(),
            remote_port: 8125,
            mtu: None,
            prefix: None,
            level: Level::Global,
            flush_period: 0,
            enabled: false,
        }
    }

    /// How its datagrams are written.
    #[must_use]
    pub fn style(&self) -> statsd::Style<'_> {
        statsd::Style {
            prefix: self.prefix.as_deref().unwrap_or_default(),
            level: self.level,
            length_max: self.mtu.unwrap_or(statsd::LENGTH_DEFAULT).into(),
            flush_period: self.flush_period,
        }
    }

    /// By which the node of a session finds it again.
    fn key(&self) -> String {
        format!("{} {}", self.kind.word(), self.name.as_deref().unwrap_or_default())
    }

    fn write(&self, text: &mut ConfigText) {
        let head = format!("stats reporter {}", self.key());
        text.node(format_args!("{}", head.trim_end()), |text| {
            if self.kind == ReporterKind::Statsd {
                self.write_address(text);
            }
            text.line(format_args!("level {}", self.level.word()));
            if let Some(prefix) = &self.prefix {
                text.line(format_args!("prefix {prefix}"));
            }
            if self.flush_period != 0 {
                text.line(format_args!("flush-period {}", self.flush_period));
            }
            text.line(format_args!("{}", if self.enabled { "enable" } else { "disable" }));
        });
    }

    fn write_address(&self, text: &mut ConfigText) {
        if let Some(address) = self.local_ip {
            text.line(format_args!("local-ip {address}"));
        }
        text.line(format_args!("remote-ip {}", self.remote_ip));
        text.line(format_args!("remote-port {}", self.remote_port));
        if let Some(mtu) = self.mtu {
            text.line(format_args!("mtu {mtu}"));
        }
    }
}

impl StatsConfig {
    pub(super) fn write(&self, text: &mut ConfigText) {
        if *self == Self::default() {
            return;
        }
        text.line(format_args!("stats interval {}", self.interval_s));
        self.reporters.iter().for_each(|reporter| reporter.write(text));
        text.comment();
    }
}

type Done = Result<(), CommandError>;

/// The commands of the root and of the node of a reporter.
pub(super) fn install<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    grammar.add(
        config,
        "stats interval <0-65535>",
        "Statistics\nHow often they are reported\nSeconds; 0 for only when asked",
        Action::Set(|edit| {
            E::common_mut(edit.config).stats.interval_s = edit.args.value(0)?;
            Ok(())
        }),
    );
    let patterns = "Statistics\nA reporter\nTo a statsd\nTo the log\nIts name";
    grammar.add(
        config,
        "stats reporter (statsd|log) [NAME]",
        patterns,
        Action::Enter(Node::Stats, |edit| {
            let reporter = named(edit.args);
            let key = reporter.key();
            let reporters = &mut E::common_mut(edit.config).stats.reporters;
            if !reporters.iter().any(|reporter| reporter.key() == key) {
                reporters.push(reporter);
            }
            Ok(key)
        }),
    );
    grammar.add(
        config,
        "no stats reporter (statsd|log) [NAME]",
        &format!("Take back\n{patterns}"),
        Action::Set(|edit| {
            let key = named(edit.args).key();
            let reporters = &mut E::common_mut(edit.config).stats.reporters;
            let before = reporters.len();
            reporters.retain(|reporter| reporter.key() != key);
            match reporters.len() == before {
                true => Err(CommandError::new("There is no such reporter.")),
                false => Ok(()),
            }
        }),
    );
    let why = "the few TCP connections of this element are not measured.";
    for (pattern, help) in [
        ("stats-tcp interval <0-65535>", "Statistics of TCP: not here\nHow often\nSeconds"),
        ("stats-tcp batch-size <1-65535>", "Statistics of TCP: not here\nHow many\nSockets"),
    ] {
        grammar.add(config, pattern, help, Action::Ignore(why));
    }
    install_reporter(grammar);
}

/// A new reporter as the words of a line name it.
fn named(args: &Args) -> StatsReporter {
    let kind = if args.text(0) == "log" { ReporterKind::Log } else { ReporterKind::Statsd };
    StatsReporter::new(kind, args.get(1).map(str::to_owned))
}

/// The statsd that the session or file is within.
fn statsd_here<'e, E: Element>(
    edit: &'e mut Edit<'_, E::Config>,
) -> Result<&'e mut StatsReporter, CommandError> {
    let reporter = here::<E>(edit)?;
    match reporter.kind {
        ReporterKind::Statsd => Ok(reporter),
        ReporterKind::Log => Err(CommandError::new("the log has no address.")),
    }
}

/// The reporter that the session or file is within.
fn here<'e, E: Element>(edit: &'e mut Edit<'_, E::Config>) -> Result<&'e mut StatsReporter, CommandError> {
    let key = edit.here().to_owned();
    let mut reporters = E::common_mut(edit.config).stats.reporters.iter_mut();
    reporters.find(|reporter| reporter.key() == key).ok_or_else(|| CommandError::new("The reporter is gone."))
}

fn install_reporter<E: Element>(grammar: &mut Grammar<E>) {
    let mut add = |pattern: &'static str, help: &str, set: fn(&mut Edit<'_, E::Config>) -> Done| {
        grammar.add(&[Node::Stats], pattern, help, Action::Set(set));
    };
    add("local-ip ADDR", "The address that is sent from\nThe address", |edit| {
        let address = edit.args.value(0)?;
        statsd_here::<E>(edit)?.local_ip = Some(address);
        Ok(())
    });
    add("no local-ip", "Take back\nThe address that is sent from", |edit| {
        statsd_here::<E>(edit)?.local_ip = None;
        Ok(())
    });
    add("remote-ip ADDR", "The address of the statsd\nThe address", |edit| {
        let address = edit.args.value(0)?;
        statsd_here::<E>(edit)?.remote_ip = address;
        Ok(())
    });
    add("remote-port <1-65535>", "The port of the statsd\nThe port", |edit| {
        let port = edit.args.value(0)?;
        statsd_here::<E>(edit)?.remote_port = port;
        Ok(())
    });
    add("mtu <100-65535>", "How long a datagram may be\nOctets of its payload", |edit| {
        let octets = edit.args.value(0)?;
        statsd_here::<E>(edit)?.mtu = Some(octets);
        Ok(())
    });
    add("no mtu", "Take back\nHow long a datagram may be", |edit| {
        statsd_here::<E>(edit)?.mtu = None;
        Ok(())
    });
    add("prefix PREFIX", "What stands in front of every name\nThe text", |edit| {
        let prefix = edit.args.text(0).to_owned();
        here::<E>(edit)?.prefix = Some(prefix);
        Ok(())
    });
    add("no prefix", "Take back\nWhat stands in front of every name", |edit| {
        here::<E>(edit)?.prefix = None;
        Ok(())
    });
    let levels = "The node alone\nPeers as well\nSubscribers as well, who have none";
    add("level (global|peer|subscriber)", &format!("Down to which level\n{levels}"), |edit| {
        let level = Level::of_word(edit.args.text(0)).unwrap_or_default();
        here::<E>(edit)?.level = level;
        Ok(())
    });
    add(
        "flush-period <0-65535>",
        "Tell everything anew each so many reports\nReports; 0 for never",
        |edit| {
            let period = edit.args.value(0)?;
            here::<E>(edit)?.flush_period = period;
            Ok(())
        },
    );
    add("enable", "Begin", |edit| {
        here::<E>(edit)?.enabled = true;
        Ok(())
    });
    add("disable", "Stop", |edit| {
        here::<E>(edit)?.enabled = false;
        Ok(())
    });
}
