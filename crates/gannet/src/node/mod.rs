//! What `gannet sgsn`, `gannet ggsn` and `gannet bss` have in common: from the flags to the orderly end.
//!
//! A network element is a [`Node`]: it plans from its configuration (without any effect, for `--check`), is built into
//! an event loop, does what operators ask of it, and says goodbye. Around it stand the log, the recorder, the VTY and
//! the signals.

pub mod flags;
pub mod gn;
mod listener;
mod log;
mod reports;
mod restart_counter;
pub mod show;
mod snapshot;
mod start;
pub mod statistics;
pub mod store;
pub mod streams;
mod trace;
pub mod tun;
mod vty_service;

use flags::ProcessFlags;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::{self, Element};
use gannet_ops::grammar::{CommandError, Commands};
use gannet_ops::metrics::Group;
use gannet_proto::gtp::TeidKey;
use gannet_rt::{Access, EventLoop, Hooks, LoopConfig};
pub use restart_counter::{Whose, last as last_restart_counter};
pub use snapshot::Table;
pub use start::{Part, Prepared, run, run_all, run_with};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The configuration of a node's element.
pub type ConfigOf<N> = <<N as Node>::Element as Commands>::Config;
/// What an operator can ask of it.
pub type OperationOf<N> = <<N as Node>::Element as Commands>::Operation;

/// A network element that can be run.
pub trait Node: Sized + 'static {
    /// As an operator sees it.
    type Element: Element;
    /// What follows from a configuration, ready to be built.
    type Plan;

    /// What a configuration means, and what its author should know.
    ///
    /// # Errors
    /// A sentence: what cannot be done as configured.
    fn plan(config: &ConfigOf<Self>, remarks: &mut Vec<String>) -> Result<Self::Plan, String>;

    /// What cannot be done as configured, as far as [`Element::problems`] does not say it: one sentence each.
    fn problems(config: &ConfigOf<Self>) -> Vec<String> {
        if !Self::Element::problems(config).is_empty() {
            return Vec::new();
        }
        Self::plan(config, &mut Vec::new()).err().into_iter().collect()
    }

    /// Frames that the loop needs for it.
    fn frames(plan: &Self::Plan) -> usize;

    /// Mobiles that it has room for.
    fn mobiles(plan: &Self::Plan) -> usize;

    /// Octets of small pieces of memory, of which some of any mobile are touched with each packet.
    fn heap(_plan: &Self::Plan) -> usize {
        0
    }

    /// What else the loop must be for it.
    fn shape(_plan: &Self::Plan, _options: &mut LoopConfig) {}

    /// Puts it into a loop: machines, sockets, devices.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    fn build(plan: Self::Plan, config: &ConfigOf<Self>, node: &mut EventLoop) -> Result<Self, String>;

    /// Puts services of its own into the loop.
    ///
    /// # Errors
    /// A sentence.
    fn serve(_running: &Rc<RefCell<Running<Self>>>, _node: &mut EventLoop) -> Result<(), String> {
        Ok(())
    }

    /// Takes a changed configuration. What holds only from the next start on is said in `out`.
    ///
    /// # Errors
    /// Why it stays as it was.
    fn reconfigure(
        &mut self,
        old: &ConfigOf<Self>,
        new: &ConfigOf<Self>,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError>;

    /// Does what an operator asks.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn execute(
        &mut self,
        config: &ConfigOf<Self>,
        operation: &OperationOf<Self>,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError>;

    /// Adds a part of what it counts, by objects; parts are counted from 0, and the first begins with the node itself.
    /// No part may cost much. True where there is a next one.
    fn metrics(
        &self,
        config: &ConfigOf<Self>,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool;

    /// A variable of the control interface; `None` where it has none of that name.
    ///
    /// # Errors
    /// The reason that is answered.
    fn control(&self, _variable: &str, _access: &mut Access<'_>) -> Option<Result<String, String>> {
        None
    }

    /// What it says of itself on the control interface: variables with their values. What was given is gone.
    fn traps(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Is there something?
    fn has_traps(&self) -> bool {
        false
    }

    /// How many of them were not heard so far, each by one who was connected and had no room for it.
    fn traps_unheard(&mut self, _total: u64) {}

    /// Its tables, for who asks how full they are.
    fn tables(&self, access: &mut Access<'_>) -> Vec<Table>;

    /// Somebody begins to record what crosses the interfaces of the process, or does so no more. What a person should know is said in
    /// `out`.
    fn traced(&mut self, _access: &mut Access<'_>, _out: &mut String) {}

    /// Begins to say goodbye.
    fn shutdown(&mut self, access: &mut Access<'_>);

    /// Has it?
    fn stopped(&mut self, access: &mut Access<'_>) -> bool;
}

/// A node at work, with its configuration.
#[derive(Debug)]
pub struct Running<N: Node> {
    node: N,
    config: ConfigOf<N>,
    file: PathBuf,
    flags: ProcessFlags,
    /// Those of the log, where they are this node's.
    targets: Option<log::Targets>,
    counting: statistics::Counting,
}

impl<N: Node> Running<N> {
    /// The node.
    pub const fn node(&self) -> &N {
        &self.node
    }

    /// The same, to be changed.
    pub const fn node_mut(&mut self) -> &mut N {
        &mut self.node
    }

    /// The configuration in force.
    pub const fn config(&self) -> &ConfigOf<N> {
        &self.config
    }

    /// Does what an operator asks.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn operate(
        &mut self,
        operation: &OperationOf<N>,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        self.node.execute(&self.config, operation, access, out)
    }

    /// Takes a changed configuration, or leaves everything as it was.
    ///
    /// # Errors
    /// Why it stays as it was.
    pub fn apply(
        &mut self,
        new: ConfigOf<N>,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let (old_common, new_common) = (N::Element::common(&self.config), N::Element::common(&new));
        if old_common.logs != new_common.logs {
            match &mut self.targets {
                Some(targets) => targets
                    .set(access.log(), new_common, &self.flags)
                    .map_err(|error| CommandError(format!("{error}.")))?,
                None => out.push_str("The log is that of another node of this process.\n"),
            }
        }
        let listeners = |common: &config::Common| (common.vty, common.ctrl, common.metrics);
        if listeners(old_common) != listeners(new_common) {
            out.push_str(
                "The new address of the VTY, of the control interface or of the page of metrics holds from the next \
                 start on.\n",
            );
        }
        if old_common.busy_poll != new_common.busy_poll {
            out.push_str("Whether the process polls is decided at the next start.\n");
        }
        let traces = [&old_common.trace, &new_common.trace].map(trace::config_of);
        let is_ours = self.targets.is_some();
        if old_common.trace != new_common.trace && !is_ours {
            out.push_str("What is recorded is said by another node of this process.\n");
        }
        let prepared =
            (is_ours && traces[0] != traces[1]).then(|| access.prepare_trace(&traces[0], &traces[1]));
        let prepared = prepared.transpose().map_err(|error| CommandError(format!("trace: {error}.")))?;
        let result = self.node.reconfigure(&self.config, &new, access, out);
        match result {
            Ok(()) => {
                self.config = new;
                if let Some(prepared) = prepared {
                    if let Some(said) = access.commit_trace(prepared) {
                        let _ = writeln!(out, "The {said}.");
                    }
                    self.node.traced(access, out);
                }
            }
            Err(_) if old_common.logs != new_common.logs => {
                let old = N::Element::common(&self.config);
                let _ = self.targets.as_mut().map(|targets| targets.set(access.log(), old, &self.flags));
            }
            Err(_) => {}
        }
        result
    }

    /// SIGHUP: reads the file again.
    fn reload(&mut self, access: &mut Access<'_>) {
        let say = |access: &mut Access<'_>, level, text: &str| {
            text.lines().for_each(|line| access.log().line(Category::Main, level, format_args!("{line}")));
        };
        let loaded = match start::load::<N>(&self.file) {
            Ok(loaded) => loaded,
            Err(errors) => {
                let text = format!("configuration not taken, all stays as it was:\n{errors}");
                return say(access, Level::Error, &text);
            }
        };
        for warning in &loaded.warnings {
            say(access, Level::Notice, &warning.to_string());
        }
        let mut out = String::new();
        match self.apply(loaded.config, access, &mut out) {
            Ok(()) => {
                say(access, Level::Notice, &out);
                say(access, Level::Notice, "configuration read again");
            }
            Err(error) => {
                say(access, Level::Error, &format!("configuration not taken, all stays as it was: {error}"));
            }
        }
    }
}

/// Signals of the process, given to the node.
struct Signals<N: Node>(Rc<RefCell<Running<N>>>);

impl<N: Node> Hooks for Signals<N> {
    fn shutdown(&mut self, access: &mut Access<'_>) {
        self.0.borrow_mut().node.shutdown(access);
    }

    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        self.0.borrow_mut().node.stopped(access)
    }

    fn hangup(&mut self, access: &mut Access<'_>) {
        self.0.borrow_mut().reload(access);
    }

    fn report(&mut self, access: &mut Access<'_>) {
        snapshot::log(&mut self.0.borrow_mut(), access);
    }
}

/// What the operating system says about an address, and what that usually means.
pub fn in_use(error: &io::Error) -> String {
    let mut text = error.to_string();
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "is another node running there?",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        io::ErrorKind::PermissionDenied => {
            "that needs root, or CAP_NET_BIND_SERVICE for a port below 1024 and CAP_NET_ADMIN for a device"
        }
        _ => return text,
    };
    let _ = write!(text, " ({hint})");
    text
}

/// A key of a node's own between the names of contexts and their TEIDs.
///
/// # Errors
/// A sentence: there is no randomness.
pub fn new_teid_key() -> Result<TeidKey, String> {
    let half = || gannet_rt::seed().map(u128::from).map_err(|error| format!("/dev/urandom: {error}"));
    Ok(TeidKey::new(half()? << 64 | half()?))
}

/// The restart counter of a node, out of its directory. Where there is none, or the counter in it is of no use, it comes from
/// the clock, and the author is told.
pub fn restart_counter(directory: Option<&str>, whose: Whose, node: &mut EventLoop) -> u8 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now_s = since_1970.as_secs();
    let mut say =
        |level, text: String| node.access().log().line(Category::Gtp, level, format_args!("{text}"));
    let Some(directory) = directory else {
        let counter = u8::try_from(now_s % 256).unwrap_or(0);
        say(
            Level::Notice,
            format!(
                "no 'gtp state-dir': restart counter {counter} comes from the clock, so that peers see this start"
            ),
        );
        return counter;
    };
    restart_counter::next(Path::new(directory), whose, now_s).unwrap_or_else(|(counter, why)| {
        say(
            Level::Error,
            format!("{why}; restart counter {counter} comes from the clock, so that peers see this start"),
        );
        counter
    })
}
