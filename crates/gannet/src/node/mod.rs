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
pub mod statistics;
pub mod store;
pub mod streams;
pub mod tun;
mod vty_service;

use flags::Flags;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::Element;
use gannet_ops::config::{self, ConfigErrors, Listen, Loaded};
use gannet_ops::connections::Connections;
use gannet_ops::grammar::{CommandError, Commands, Problem};
use gannet_ops::metrics::Group;
use gannet_ops::vty::Server;
use gannet_ops::{ctrl, metrics};
use gannet_proto::gtp::TeidKey;
use gannet_rt::log::LogSink;
use gannet_rt::{Access, Clock, EventLoop, Hooks, LoopConfig};
pub use restart_counter::{Whose, last as last_restart_counter};
pub use snapshot::Table;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
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
    flags: Flags,
    targets: log::Targets,
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
            let result = self.targets.set(access.log(), new_common, &self.flags);
            result.map_err(|error| CommandError(format!("{error}.")))?;
        }
        let listeners = |common: &config::Common| (common.vty, common.ctrl, common.metrics);
        if listeners(old_common) != listeners(new_common) {
            out.push_str(
                "The new address of the VTY, of the control interface or of the page of metrics holds from the next \
                 start on.\n",
            );
        }
        let result = self.node.reconfigure(&self.config, &new, access, out);
        match result {
            Ok(()) => self.config = new,
            Err(_) if old_common.logs != new_common.logs => {
                let old = N::Element::common(&self.config);
                let _ = self.targets.set(access.log(), old, &self.flags);
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
        let loaded = match load::<N>(&self.file) {
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

/// With fewer mobiles a node does without huge pages: its tables would leave most of each empty.
const FEW_MOBILES: usize = 2048;
/// Wake-ups of a machine that have room from the start: for each mobile, at least and at most.
const WAKE_UPS_PER_MOBILE: usize = 16;
const WAKE_UPS: (usize, usize) = (1024, 65_536);

/// How long a node may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs a node until it is told to stop.
///
/// # Errors
/// A sentence for the person: the file and line of what is wrong, or what the machine does not permit. Nothing was
/// started then.
pub fn run<N: Node>(flags: Flags) -> Result<ExitCode, String> {
    run_with::<N>(flags, |_, _| ())
}

/// The same, with something of its plan decided by other flags than those that all nodes have.
///
/// # Errors
/// As [`run`].
pub fn run_with<N: Node>(
    flags: Flags,
    decide: impl FnOnce(&mut N::Plan, &mut Vec<String>),
) -> Result<ExitCode, String> {
    gannet_rt::outlive_signals();
    let name = N::Element::NAME;
    let file = flags.config_file.clone().ok_or_else(|| {
        format!("no configuration: say 'gannet {name} -c FILE'; docs/examples/{name}.cfg is an example")
    })?;
    let loaded = load::<N>(&file).map_err(|errors| errors.to_string())?;
    let mut remarks: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    let mut plan =
        N::plan(&loaded.config, &mut remarks).map_err(|error| format!("{}: {error}", file.display()))?;
    decide(&mut plan, &mut remarks);
    if flags.check {
        for remark in &remarks {
            let _ = writeln!(io::stderr(), "{remark}");
        }
        gannet_rt::outln!("{}: OK", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let (mobiles, heap) = (N::mobiles(&plan), N::heap(&plan));
    if mobiles < FEW_MOBILES {
        gannet_rt::big_pages::use_small_ones();
    } else if heap > 0 && !gannet_rt::big_pages::reserve_heap(heap) {
        remarks
            .push("no huge pages for small pieces of memory, which are slower to reach for that".to_owned());
    }
    if flags.daemonize {
        gannet_rt::daemonize().map_err(|error| format!("cannot go to the background: {error}"))?;
    }
    let clock = Clock::start();
    let mut sink = LogSink::new(clock);
    let mut targets = log::Targets::default();
    let common = N::Element::common(&loaded.config);
    targets.set(&mut sink, common, &flags).map_err(|error| error.to_string())?;
    for remark in &remarks {
        sink.line(Category::Main, Level::Notice, format_args!("{remark}"));
    }
    let (least, most) = WAKE_UPS;
    let mut options = LoopConfig {
        frames: N::frames(&plan),
        timers: mobiles.saturating_mul(WAKE_UPS_PER_MOBILE).clamp(least, most),
        shutdown_grace: FAREWELL,
        ..LoopConfig::default()
    };
    N::shape(&plan, &mut options);
    let mut node = EventLoop::new(options, clock, sink).map_err(|error| format!("event loop: {error}"))?;
    if let Some(pcap) = &flags.pcap {
        node.record_to(pcap).map_err(|error| error.to_string())?;
    }
    let server = Server::<N::Element>::new(&loaded.config).map_err(|error| in_use(&error))?;
    let listeners = Listeners::bind::<N::Element>(&loaded.config).map_err(|error| in_use(&error))?;
    let built = N::build(plan, &loaded.config, &mut node)?;
    let counting = statistics::Counting::default();
    let running = Running { node: built, config: loaded.config, file, flags, targets, counting };
    let vty = vty_service::address_of::<N::Element>(&running.config);
    let running = Rc::new(RefCell::new(running));
    let service = vty_service::VtyService::new(server, Rc::clone(&running));
    node.add_service(Box::new(service)).map_err(|error| format!("VTY: {error}"))?;
    N::serve(&running, &mut node)?;
    listeners.serve(&running, &mut node).map_err(|error| format!("control interface or metrics: {error}"))?;
    let started = format_args!("gannet {name} {} runs, VTY at {vty}", env!("CARGO_PKG_VERSION"));
    node.access().log().line(Category::Main, Level::Notice, started);
    node.run(&mut Signals(running)).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a configuration, and asks whether a node can be made of it.
fn load<N: Node>(file: &Path) -> Result<Loaded<ConfigOf<N>>, ConfigErrors> {
    let more = |config: &ConfigOf<N>| {
        N::problems(config).iter().flat_map(|text| text.lines()).map(Problem::impossible).collect()
    };
    config::load_and_check::<N::Element>(file, more)
}

/// The sockets that programs ask a node at, bound before anything is built.
struct Listeners {
    page: Option<Connections<metrics::http::Scrape>>,
    ctrl: Option<Connections<ctrl::Dialogue>>,
}

impl Listeners {
    fn bind<E: Element>(config: &E::Config) -> io::Result<Self> {
        let common = E::common(config);
        let at = |listen: Listen, port| (listen.address, listen.port.unwrap_or(port)).into();
        let page = common.metrics.map(|listen| {
            Connections::bind("page of metrics", at(listen, E::METRICS_PORT), metrics::http::LIMITS)
        });
        let ctrl = common
            .ctrl
            .map(|listen| Connections::bind("control interface", at(listen, E::CTRL_PORT), ctrl::LIMITS));
        Ok(Self { page: page.transpose()?, ctrl: ctrl.transpose()? })
    }

    /// Puts them and the reports into the loop.
    fn serve<N: Node>(self, running: &Rc<RefCell<Running<N>>>, node: &mut EventLoop) -> io::Result<()> {
        if let Some(page) = self.page {
            node.add_service(Box::new(listener::Listener::new(page, Rc::clone(running))))?;
        }
        if let Some(ctrl) = self.ctrl {
            node.add_service(Box::new(listener::Listener::new(ctrl, Rc::clone(running))))?;
        }
        node.add_service(Box::new(reports::Reports::new(Rc::clone(running))))
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
