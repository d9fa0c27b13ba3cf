//! From the flags to a loop that runs: one node, or several in one process.

use super::flags::{Flags, ProcessFlags};
use super::{
    ConfigOf, Node, Running, Signals, in_use, listener, log, reports, statistics, trace, vty_service,
};
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::{self, BusyPoll, Common, ConfigErrors, Element, Listen, Loaded};
use gannet_ops::connections::Connections;
use gannet_ops::grammar::Problem;
use gannet_ops::vty::Server;
use gannet_ops::{ctrl, metrics};
use gannet_rt::log::LogSink;
use gannet_rt::{Access, Clock, EventLoop, Hooks, LoopConfig};
use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

/// With fewer mobiles a process does without huge pages: its tables would leave most of each empty.
const FEW_MOBILES: usize = 2048;
/// Wake-ups of a machine that have room from the start: for each mobile, at least and at most.
const WAKE_UPS_PER_MOBILE: usize = 16;
const WAKE_UPS: (usize, usize) = (1024, 65_536);

/// How long nodes may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);

/// A node whose configuration was read, not built yet.
pub struct Prepared<N: Node> {
    file: PathBuf,
    config: ConfigOf<N>,
    plan: N::Plan,
    remarks: Vec<String>,
}

impl<N: Node> Prepared<N> {
    /// Reads a configuration.
    ///
    /// # Errors
    /// A sentence for the person: the file and line of what is wrong.
    pub fn read(file: PathBuf) -> Result<Self, String> {
        let loaded = load::<N>(&file).map_err(|errors| errors.to_string())?;
        let mut remarks: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        let plan =
            N::plan(&loaded.config, &mut remarks).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { file, config: loaded.config, plan, remarks })
    }
}

/// The same, of whatever kind.
pub trait Part {
    /// What it is.
    fn name(&self) -> &'static str;
    /// The file of its configuration.
    fn file(&self) -> &Path;
    /// What its author should know.
    fn remarks(&self) -> &[String];
    /// What all nodes have in their configuration.
    fn common(&self) -> &Common;
    /// What the loop needs for it: frames, mobiles, octets of small pieces of memory.
    fn needs(&self) -> (usize, usize, usize);
    /// What else the loop must be for it.
    fn shape(&self, options: &mut LoopConfig);
    /// Whether the loop is to poll for it.
    fn busy_poll(&self) -> BusyPoll;
    /// Puts it into a loop, with all that people and programs ask it through. The log is its own where it has the targets.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    fn start(
        self: Box<Self>,
        targets: Option<log::Targets>,
        flags: &ProcessFlags,
        node: &mut EventLoop,
    ) -> Result<Box<dyn Hooks>, String>;
}

impl<N: Node> Part for Prepared<N> {
    fn name(&self) -> &'static str {
        N::Element::NAME
    }

    fn file(&self) -> &Path {
        &self.file
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn common(&self) -> &Common {
        N::Element::common(&self.config)
    }

    fn needs(&self) -> (usize, usize, usize) {
        (N::frames(&self.plan), N::mobiles(&self.plan), N::heap(&self.plan))
    }

    fn shape(&self, options: &mut LoopConfig) {
        N::shape(&self.plan, options);
    }

    fn busy_poll(&self) -> BusyPoll {
        BusyPoll::of::<N::Element>(&self.config)
    }

    fn start(
        self: Box<Self>,
        targets: Option<log::Targets>,
        flags: &ProcessFlags,
        node: &mut EventLoop,
    ) -> Result<Box<dyn Hooks>, String> {
        let Self { file, config, plan, .. } = *self;
        let server = Server::<N::Element>::new(&config).map_err(|error| in_use(&error))?;
        let listeners = Listeners::bind::<N::Element>(&config).map_err(|error| in_use(&error))?;
        let built = N::build(plan, &config, node)?;
        let (flags, counting) = (flags.clone(), statistics::Counting::default());
        let running = Running { node: built, config, file, flags, targets, counting };
        let vty = vty_service::address_of::<N::Element>(&running.config);
        let running = Rc::new(RefCell::new(running));
        let service = vty_service::VtyService::new(server, Rc::clone(&running));
        node.add_service(Box::new(service)).map_err(|error| format!("VTY: {error}"))?;
        N::serve(&running, node)?;
        let served = listeners.serve(&running, node);
        served.map_err(|error| format!("control interface or metrics: {error}"))?;
        let (name, version) = (N::Element::NAME, env!("CARGO_PKG_VERSION"));
        let started = format_args!("gannet {name} {version} runs, VTY at {vty}");
        node.access().log().line(Category::Main, Level::Notice, started);
        Ok(Box::new(Signals(running)))
    }
}

/// Signals of the process, given to all its nodes.
struct All(Vec<Box<dyn Hooks>>);

impl Hooks for All {
    fn shutdown(&mut self, access: &mut Access<'_>) {
        self.0.iter_mut().for_each(|node| node.shutdown(access));
    }

    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        // Each is asked: some go on with their farewell when they are.
        self.0.iter_mut().map(|node| node.stopped(access)).fold(true, |all, one| all & one)
    }

    fn hangup(&mut self, access: &mut Access<'_>) {
        self.0.iter_mut().for_each(|node| node.hangup(access));
    }

    fn report(&mut self, access: &mut Access<'_>) {
        self.0.iter_mut().for_each(|node| node.report(access));
    }
}

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
    let name = N::Element::NAME;
    let Flags { config_file, process } = flags;
    let file = config_file.ok_or_else(|| {
        format!("no configuration: say 'gannet {name} -c FILE'; docs/examples/{name}.cfg is an example")
    })?;
    let mut prepared = Prepared::<N>::read(file)?;
    decide(&mut prepared.plan, &mut prepared.remarks);
    run_all(vec![Box::new(prepared)], &process)
}

/// Runs nodes in one loop until the process is told to stop. The log is as the first one's configuration has it. Datagrams from
/// one to another do not enter the kernel.
///
/// # Errors
/// As [`run`].
pub fn run_all(parts: Vec<Box<dyn Part>>, flags: &ProcessFlags) -> Result<ExitCode, String> {
    gannet_rt::outlive_signals();
    let mut remarks: Vec<String> = parts.iter().flat_map(|part| part.remarks()).cloned().collect();
    if flags.check {
        for remark in &remarks {
            let _ = writeln!(io::stderr(), "{remark}");
        }
        parts.iter().for_each(|part| gannet_rt::outln!("{}: OK", part.file().display()));
        return Ok(ExitCode::SUCCESS);
    }
    let needs = parts.iter().map(|part| part.needs());
    let (frames, mobiles, heap) =
        needs.fold((0, 0, 0), |(a, b, c), (frames, mobiles, heap)| (a + frames, b + mobiles, c + heap));
    if mobiles < FEW_MOBILES {
        gannet_rt::big_pages::use_small_ones();
    } else if heap > 0 && !gannet_rt::big_pages::reserve_heap(heap) {
        remarks
            .push("no huge pages for small pieces of memory, which are slower to reach for that".to_owned());
    }
    if flags.daemonize && flags.pcap.as_deref() == Some(Path::new("-")) {
        return Err("in the background there is no standard output to record into; say a file".to_owned());
    }
    if flags.daemonize {
        gannet_rt::daemonize().map_err(|error| format!("cannot go to the background: {error}"))?;
    }
    let clock = Clock::start();
    let mut sink = LogSink::new(clock);
    let mut targets = log::Targets::default();
    if let Some(first) = parts.first() {
        targets.set(&mut sink, first.common(), flags).map_err(|error| error.to_string())?;
    }
    for remark in &remarks {
        sink.line(Category::Main, Level::Notice, format_args!("{remark}"));
    }
    let (least, most) = WAKE_UPS;
    let mut options = LoopConfig {
        frames,
        timers: mobiles.saturating_mul(WAKE_UPS_PER_MOBILE).clamp(least, most),
        shutdown_grace: FAREWELL,
        ..LoopConfig::default()
    };
    parts.iter().for_each(|part| part.shape(&mut options));
    options.busy_poll = busy_poll(&parts);
    let mut node = EventLoop::new(options, clock, sink).map_err(|error| format!("event loop: {error}"))?;
    begin_trace(&parts, flags, &mut node)?;
    let mut targets = Some(targets);
    let start = |part: Box<dyn Part>| part.start(targets.take(), flags, &mut node);
    let mut nodes = All(parts.into_iter().map(start).collect::<Result<_, _>>()?);
    node.run(&mut nodes).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Records what the flags and the first node's configuration say.
fn begin_trace(parts: &[Box<dyn Part>], flags: &ProcessFlags, node: &mut EventLoop) -> Result<(), String> {
    let who = parts.iter().map(|part| format!("{} of {}", part.name(), part.file().display()));
    let who: Vec<String> = who.collect();
    node.describe(concat!("gannet ", env!("CARGO_PKG_VERSION")), &who.join(", "));
    if let Some(pcap) = &flags.pcap {
        node.record_to(pcap).map_err(|error| error.to_string())?;
    }
    if let Some(to) = flags.gsmtap {
        node.stream_to(to).map_err(|error| format!("--gsmtap {to}: {error}"))?;
    }
    if let Some(first) = parts.first() {
        let config = trace::config_of(&first.common().trace);
        let mut access = node.access();
        let prepared = access.prepare_trace(&gannet_rt::TraceConfig::default(), &config);
        // Nothing was recorded before.
        let _ = access.commit_trace(prepared.map_err(|error| format!("trace: {error}"))?);
    }
    Ok(())
}

/// One loop polls as the most eager of its nodes has it.
fn busy_poll(parts: &[Box<dyn Part>]) -> gannet_rt::BusyPoll {
    match parts.iter().map(|part| part.busy_poll()).max() {
        None | Some(BusyPoll::Off) => gannet_rt::BusyPoll::Off,
        Some(BusyPoll::Adaptive) => gannet_rt::BusyPoll::Adaptive,
        Some(BusyPoll::Always) => gannet_rt::BusyPoll::Always,
    }
}

/// Reads a configuration, and asks whether a node can be made of it.
pub fn load<N: Node>(file: &Path) -> Result<Loaded<ConfigOf<N>>, ConfigErrors> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ap::AccessPoint;
    use crate::sgsn::SgsnNode;
    use gannet_rt::BusyPoll::{Adaptive, Always, Off};
    use gannet_testkit::TempDir;

    fn part<N: Node>(directory: &Path, text: &str) -> Box<dyn Part> {
        let file = directory.join(N::Element::NAME);
        std::fs::write(&file, text).unwrap();
        Box::new(Prepared::<N>::read(file).unwrap())
    }

    #[test]
    fn a_process_polls_where_one_of_its_nodes_does() {
        let directory = TempDir::new("busy-poll");
        let polls = |of_sgsn: &str, of_ap: &str| {
            let sgsn = "sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n";
            let ns = "ns\n bind udp local\n  listen 127.0.0.1 23000\n";
            let ap = "ap\n remote-ip 192.0.2.7\n local-ip 192.0.2.2\n bearer ethernet a\n";
            busy_poll(&[
                part::<SgsnNode>(directory.path(), &format!("{sgsn}{of_sgsn}{ns}")),
                part::<AccessPoint>(directory.path(), &format!("{ap}{of_ap}")),
            ])
        };
        assert_eq!(polls("", ""), Adaptive, "an SGSN does without a word");
        assert_eq!(polls(" busy-poll off\n", ""), Off);
        assert_eq!(polls(" busy-poll off\n", " busy-poll adaptive\n"), Adaptive);
        assert_eq!(polls("", " busy-poll always\n"), Always);
        assert_eq!(polls(" busy-poll always\n", " busy-poll adaptive\n"), Always);
        assert_eq!(busy_poll(&[]), Off);
    }
}
