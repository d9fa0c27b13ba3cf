//! Chains of processes and network namespaces: the SGSN under test on one core, this process on the other.

use super::bed::{Bed, LOAD_CORE, Receive};
use super::near::{Cores, First};
use super::shape::{GB_LOAD_PORT, STRANGERS, attach, bucket, load_config, refused, start_traffic};
use super::slabs::Slabs;
use super::{bare, peers, tracing};
use crate::counters::read_counters;
use crate::load::traffic::{self, FlowSpec, Group, GroupResult, Pacing, Traffic};
use crate::load::{Load, pdp_address};
use crate::measure::account::Step;
use crate::measure::{Bare, Candidate, Chain, Lab, Lower, Offer, Setup, Spacing, Tracing};
use crate::testbed::{self, Process, TestbedError};
use gannet_ops::vty;
use gannet_proto::bssgp::flow_control::BvcParameters;
use gannet_rig::ProcessSignal;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For what is queued at leak rates that were lowered.
const SETTLE_MAX: Duration = Duration::from_secs(20);
/// For a chain that was asleep, to catch up with its timers.
const WAKE_UP: gannet_machine::time::Duration = gannet_machine::time::Duration::from_millis(15);
/// Between two looks whether anything still moves. Each asks for all counters, which keeps an SGSN busy for some 0.8 ms, and counts in
/// what an N-PDU costs: acknowledged mode is looked at for more than a second.
const SETTLE_LOOK: gannet_machine::time::Duration = gannet_machine::time::Duration::from_millis(50);

/// How long an SGSN may take to open its VTY, and from one look to the next.
const HEARS_WITHIN: Duration = Duration::from_secs(60);
const HEARS_LOOK: Duration = Duration::from_millis(10);

/// Chains on this machine.
#[derive(Debug)]
pub struct RealLab {
    gannet: PathBuf,
    out: PathBuf,
    stop: Arc<AtomicBool>,
    started: u32,
    /// How soon the BSS notices that an SGSN has gone; `None` is as soon as a BSS does by itself, within a minute. One that
    /// is patient bears a paused SGSN.
    pub(super) notices_within: Option<gannet_machine::time::Duration>,
    /// Set where this process goes before others.
    first: Option<First>,
    slabs: Option<Slabs>,
}

/// What is late, since the generator's core had something else to do, is made up for at half as much again as the load: at the
/// speed of the generator some tenths of a millisecond would be a burst that no ring of 256 places holds, and at twice the
/// load one that a loop which polls at the rate of before finds too late. With less the generator would offer less.
fn line_pps(load: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between these limits")]
    let line = (1.6 * load).min(FAST.max(1.25 * load)).clamp(1e4, 3.5e6) as u32;
    line
}

/// Calls of the generator in a window, and how long one lasts, in s: what it is late after each has to be made up for, so that
/// there are few where nobody attaches meanwhile; but a window begins and ends with one.
const CALLS: f64 = 16.0;
const TURN_S: (f64, f64) = (0.001, 0.02);

/// Where most is for dropping, and the generator's core has little to receive, a quarter more does from here on.
const FAST: f64 = 1_200_000.0;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl RealLab {
    /// `gannet` is the program itself; configurations and logs go to `out`.
    ///
    /// # Errors
    /// Where this machine cannot do it: fewer than two cores, no right to make namespaces.
    pub fn new(gannet: PathBuf, out: &Path) -> Result<Self, String> {
        if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
            return Err(
                "these experiments need two cores: one for the SGSN, one for everything else".to_owned()
            );
        }
        gannet_rt::pin_to_core(LOAD_CORE).map_err(|error| format!("core {LOAD_CORE}: {error}"))?;
        let stop = testbed::stop_on_signals().map_err(text)?;
        std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        testbed::remove_leftovers();
        Ok(Self {
            gannet,
            out: out.to_path_buf(),
            stop,
            started: 0,
            notices_within: None,
            first: None,
            slabs: None,
        })
    }

    /// Lets this process and its SGSNs go before everything else that this machine does, and measures while the two cores
    /// are near each other.
    ///
    /// # Errors
    /// Where this process may not go first.
    pub fn go_first(&mut self) -> Result<(), String> {
        self.first = Some(First::new()?);
        self.slabs = Some(Slabs::keep());
        Ok(())
    }

    fn label(&mut self, name: &str) -> String {
        self.started += 1;
        format!("{name}{}", self.started)
    }

    /// Set when somebody wants an end.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn check(&self) -> Result<(), String> {
        if self.stop.load(Relaxed) { Err(TestbedError::Interrupted.to_string()) } else { Ok(()) }
    }

    /// An SGSN in a testbed of its own, whose cells are in service and whose mobiles are switched off.
    pub(super) fn sgsn(&mut self, candidate: Candidate, setup: &Setup) -> Result<Started, String> {
        self.check()?;
        let label = self.label(candidate.name());
        let receive = if candidate == Candidate::Osmo { Receive::Threads } else { Receive::Process };
        let bed = Bed::new(&label, receive).map_err(text)?;
        let directory = self.out.join(&label);
        std::fs::create_dir_all(&directory).map_err(text)?;
        // What an earlier run has left there is nobody's.
        match std::fs::remove_file(peers::store(&directory)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(text(error)),
            Ok(()) | Err(_) => {}
        }
        let mut process = peers::start(&bed, candidate, setup, &self.gannet, &directory).map_err(text)?;
        self.wait_until_it_hears(&bed, &mut process)?;
        let mut config = load_config(setup)?;
        if let Some(within) = self.notices_within {
            // Ten NS-ALIVE without an answer.
            let each = gannet_machine::time::Duration(within.0 / 11);
            config.tns = (each, each);
        }
        let going = || !self.stop.load(Relaxed);
        let load = bed.at_load(|| Load::connect(config, &going)).map_err(text)?;
        let load = load.map_err(|error| format!("{error}\n{}", process.last_words()))?;
        Ok(Started { process, load, bed, directory })
    }

    /// An SGSN whose VTY answers has its sockets: an NS-RESET before that would be lost, and sent again after three seconds.
    fn wait_until_it_hears(&self, bed: &Bed, process: &mut Process) -> Result<(), String> {
        let vty = peers::VTY;
        let until = Instant::now() + HEARS_WITHIN;
        while bed.at_sgsn(|| TcpStream::connect(vty)).map_err(text)?.is_err() {
            self.check()?;
            process.check().map_err(text)?;
            if Instant::now() > until {
                return Err(format!("nobody listens at {vty}\n{}", process.last_words()));
            }
            std::thread::sleep(HEARS_LOOK);
        }
        Ok(())
    }

    /// The same with everybody attached, between generator and sink.
    pub(super) fn chain(&mut self, candidate: Candidate, setup: &Setup) -> Result<RealChain, String> {
        let Started { process, mut load, bed, directory } = self.sgsn(candidate, setup)?;
        let resident_before = crate::testbed::resident_octets(process.pid())?;
        let outcome = attach(&mut load, setup, 0..setup.users, &self.stop)?;
        if outcome.failed > 0 {
            return Err(format!("{}\n{}", refused(&mut load, &outcome), process.last_words()));
        }
        let lowered = load.stats().windows_lowered;
        if lowered > 0 {
            let why =
                format!("the SGSN agreed to less than the window that mobiles proposed, {lowered} times");
            return Err(format!("{why}\n{}", process.last_words()));
        }
        self.say(&format!("{candidate}: attached, {:.0} mobiles/s", outcome.per_second()));
        if matches!(candidate, Candidate::Fifo | Candidate::Reuseport) {
            bed.poll_late_at_sgsn().map_err(text)?;
        }
        let users = load.users();
        let flows = users.iter().map(|user| {
            let down = FlowSpec {
                size: setup.octets,
                cipher: user.cipher,
                each: user.index < setup.real_time,
                received: user.received,
                ..FlowSpec::down(user.sgsn_data.0, user.tlli.0, user.cell, user.address, 0.0)
            };
            if setup.uplink { down.up(user.ggsn.0) } else { down }
        });
        let traffic = start_traffic(&bed, setup, flows.collect())?;
        Ok(RealChain {
            process,
            traffic,
            load: Some(load),
            bed,
            directory,
            setup: setup.clone(),
            gannet: self.gannet.clone(),
            vty: peers::vty(candidate),
            bare: None,
            resident_before,
            lowered_cells: Vec::new(),
            lowered_mobiles: Vec::new(),
            stop: Arc::clone(&self.stop),
            cores: self.first.as_ref().map(First::cores),
            nameless: candidate == Candidate::Osmo,
            polls: candidate != Candidate::Osmo,
        })
    }
}

/// An SGSN whose cells are in service.
pub(super) struct Started {
    // Fields are dropped in this order: the SGSN ends before its devices go.
    pub(super) process: Process,
    pub(super) load: Load,
    pub(super) bed: Bed,
    directory: PathBuf,
}

impl Lab for RealLab {
    fn missing(&self, candidate: Candidate) -> Option<String> {
        let installed = ["/usr/bin", "/usr/local/bin"]
            .iter()
            .any(|directory| Path::new(directory).join("osmo-sgsn").exists());
        (candidate == Candidate::Osmo && !installed).then(|| "osmo-sgsn is not installed".to_owned())
    }

    fn start(&mut self, candidate: Candidate, setup: &Setup) -> Result<Box<dyn Chain>, String> {
        Ok(Box::new(self.chain(candidate, setup)?))
    }

    fn bare(&mut self, which: Bare, setup: &Setup) -> Result<Box<dyn Chain>, String> {
        self.check()?;
        let label = self.label(which.name());
        let bed = Bed::new(&label, Receive::Process).map_err(text)?;
        let peer = bed.load().output_of("cat", &["/sys/class/net/gb1/address"]).map_err(text)?;
        let mut command = bed.command(&self.gannet);
        command.args(["lab", "bare", which.name(), "--peer", peer.trim()]);
        command.args(["--users", &setup.users.to_string(), "--cells", &setup.cells.to_string()]);
        command.args(["--real-time", &setup.real_time.to_string(), "--port", &GB_LOAD_PORT.to_string()]);
        command.args(["--work-ns", &setup.work_ns.to_string()]);
        let log = self.out.join(format!("{label}.log"));
        let mut process = Process::start(which.name(), &mut command, &log).map_err(text)?;
        let port = match which {
            Bare::Socket => gannet_wire::gtp::PORT_USER,
            Bare::Drop | Bare::Xsk | Bare::TwoRings => bare::COMPANION_PORT,
        };
        let polls = || process.last_words().contains(bare::READY);
        bed.at_load(|| bare::greet(port, &polls)).map_err(text)?.map_err(text)?;
        process.check().map_err(text)?;
        let flows = (0..setup.users).map(|user| FlowSpec {
            size: setup.octets,
            ..FlowSpec::down(
                bare::teid(user).0,
                bare::tlli(user).0,
                user % setup.cells,
                pdp_address(user),
                0.0,
            )
        });
        let traffic = start_traffic(&bed, setup, flows.collect())?;
        process.check().map_err(text)?;
        let chain = RealChain {
            process,
            traffic,
            load: None,
            bed,
            directory: self.out.clone(),
            setup: setup.clone(),
            gannet: self.gannet.clone(),
            vty: None,
            bare: Some(which),
            resident_before: 0,
            lowered_cells: Vec::new(),
            lowered_mobiles: Vec::new(),
            stop: Arc::clone(&self.stop),
            cores: self.first.as_ref().map(First::cores),
            nameless: true,
            polls: true,
        };
        Ok(Box::new(chain))
    }

    fn say(&mut self, line: &str) {
        eprintln!("ed: {line}");
    }
}

/// A process in its testbed, with all that is around it.
pub(super) struct RealChain {
    // Fields are dropped in this order: the SGSN ends before its devices go.
    pub(super) process: Process,
    pub(super) traffic: Traffic,
    pub(super) load: Option<Load>,
    pub(super) bed: Bed,
    pub(super) directory: PathBuf,
    pub(super) setup: Setup,
    pub(super) gannet: PathBuf,
    pub(super) vty: Option<&'static str>,
    pub(super) bare: Option<Bare>,
    /// In octets, before the first mobile attached.
    resident_before: u64,
    lowered_cells: Vec<u32>,
    lowered_mobiles: Vec<u32>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) cores: Option<Rc<RefCell<Cores>>>,
    pub(super) nameless: bool,
    /// The process never sleeps: when it does not run, its core was taken away.
    pub(super) polls: bool,
}

impl RealChain {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.stop.load(Relaxed) { Err(TestbedError::Interrupted.to_string()) } else { Ok(()) }
    }

    /// Who is offered what, from now on.
    pub(super) fn configure(&mut self, offer: &Offer) -> Result<(), String> {
        let silent = (0, 0.0, traffic::Spacing::Fixed, Duration::ZERO);
        let mut wanted: Vec<(u8, f64, traffic::Spacing, Duration)> = vec![silent; self.setup.users as usize];
        for (group, number) in offer.groups.iter().zip(0_u8..) {
            let spacing = match group.spacing {
                Spacing::Fixed => traffic::Spacing::Fixed,
                Spacing::Exponential => traffic::Spacing::Exponential,
            };
            for (user, order) in group.members.iter().zip(0_u32..) {
                let begins = Duration::from_secs_f64(group.begins_s_of(order));
                if let Some(wanted) = wanted.get_mut(user as usize) {
                    *wanted = (number, group.pps_each, spacing, begins);
                }
            }
        }
        for (number, (group, _, spacing, begins)) in (0_u32..).zip(&wanted) {
            let differs =
                self.traffic.config().flows.get(number as usize).is_some_and(|flow| {
                    (flow.group.0, flow.spacing, flow.begins) != (*group, *spacing, *begins)
                });
            if differs {
                let change = |flow: &mut FlowSpec| {
                    (flow.group, flow.spacing, flow.begins) = (Group(*group), *spacing, *begins);
                };
                self.traffic.set_flow(number, change).map_err(text)?;
            }
        }
        let strange = offer.unknown_pps / f64::from(STRANGERS);
        self.traffic
            .set_rates(|number, _| (wanted.get(number as usize).map_or(strange, |(_, pps, ..)| *pps), 1.0));
        self.traffic.set_line(line_pps(offer.pps()));
        self.traffic.set_answer_after(offer.answer_after);
        if self.cores.is_some() {
            let turn = (offer.window_s / CALLS).clamp(TURN_S.0, TURN_S.1);
            self.traffic.set_turn(Duration::from_secs_f64(turn));
        }
        self.traffic.set_pacing(match offer.burst_ms {
            0 => Pacing::Exact,
            ms => Pacing::Burst(Duration::from_millis(u64::from(ms))),
        });
        Ok(())
    }

    /// Who was read: only those who exceed are dropped by flow control after the stack has worked on them.
    pub(super) fn note_reads(&self, step: &mut Step) {
        if self.nameless || !step.groups.iter().any(|group| group.name == "bad") {
            return;
        }
        let dropped = peers::read_and_dropped(&step.drops);
        for group in &mut step.groups {
            let more = if group.name == "bad" { dropped } else { 0 };
            group.read = Some(group.delivered_all + more);
        }
    }

    /// Waits until nothing is queued or unconfirmed any more, or as long as anybody may be waited for, and reads both sides at a moment
    /// at which nothing moves between them.
    pub(super) fn settle(&mut self) -> Result<(BTreeMap<String, u64>, Vec<GroupResult>), String> {
        let until = Instant::now() + SETTLE_MAX;
        loop {
            self.check()?;
            if let Some(load) = &mut self.load {
                load.poll(SETTLE_LOOK).map_err(text)?;
            }
            let before = total(&self.traffic.so_far(), |group| group.delivered);
            let counters = self.counters()?;
            let groups = self.traffic.so_far();
            let still = total(&groups, |group| group.delivered) == before;
            let waiting = peers::queued(&counters) + peers::unconfirmed(&counters);
            if (still && waiting == 0) || Instant::now() > until {
                return Ok((counters, groups));
            }
        }
    }

    /// Has the SGSN's core to itself for a look at how far it is; NaN where this process does not go first.
    pub(super) fn distance(
        &self,
        look: impl FnOnce(&mut Cores) -> Result<f64, String>,
    ) -> Result<f64, String> {
        let Some(cores) = &self.cores else { return Ok(f64::NAN) };
        self.process.signal(ProcessSignal::Stop);
        let result = look(&mut cores.borrow_mut());
        self.process.signal(ProcessSignal::Continue);
        result
    }

    pub(super) fn counters(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut all = BTreeMap::new();
        if let Some(address) = self.vty {
            let address = address.parse().map_err(text)?;
            let answer = self.bed.at_sgsn(|| vty::client::run(address, "show counters"));
            let answer = answer.map_err(text)?.map_err(|error| format!("VTY at {address}: {error}"))?;
            all.extend(read_counters(&answer));
        }
        all.extend(self.bed.counters().map_err(text)?);
        if self.vty.is_some() {
            let us = tracing::time_of_others(self.process.pid()).as_micros();
            all.insert("other_threads_us".to_owned(), u64::try_from(us).unwrap_or(u64::MAX));
        }
        if self.bare == Some(Bare::Drop) {
            all.extend(read_counters(self.process.last_words().lines().last().unwrap_or_default()));
        }
        Ok(all)
    }
}

impl Chain for RealChain {
    fn step(&mut self, offer: &Offer) -> Result<Step, String> {
        self.step_with(offer, &mut |_, _, _| ())
    }

    fn lower(&mut self, lower: &Lower) -> Result<(), String> {
        let Some(load) = &mut self.load else { return Err("a bare loop has no flow control".to_owned()) };
        match lower {
            Lower::Mobiles(members, pps) => {
                let bucket = bucket(&self.setup, *pps * 1.005);
                for user in members.iter() {
                    load.set_ms_flow(user, bucket);
                    self.lowered_mobiles.push(user);
                    if user % 64 == 0 {
                        load.poll_once().map_err(text)?;
                    }
                }
            }
            Lower::Cells(cells) => {
                let default_ms = bucket(&self.setup, self.setup.pps_each() * self.setup.ms_rate);
                for (cell, pps) in cells {
                    load.set_cell_flow(*cell, BvcParameters { bvc: bucket(&self.setup, *pps), default_ms });
                    self.lowered_cells.push(*cell);
                }
            }
        }
        // FLOW-CONTROL-BVC may have to wait for a second.
        load.poll(gannet_machine::time::Duration::from_millis(1100)).map_err(text)
    }

    fn raise(&mut self) -> Result<(), String> {
        let Some(load) = &mut self.load else { return Ok(()) };
        let flow = load_config(&self.setup)?.flow;
        for cell in self.lowered_cells.drain(..) {
            load.set_cell_flow(cell, flow);
        }
        for user in self.lowered_mobiles.drain(..) {
            load.set_ms_flow(user, flow.default_ms);
            load.emulator(|emulator, _| emulator.clear_ms_flow(user));
            if user % 64 == 0 {
                load.poll_once().map_err(text)?;
            }
        }
        load.poll(gannet_machine::time::Duration::from_millis(1100)).map_err(text)
    }

    fn trace(&mut self, tracing: Option<Tracing>) -> Result<(), String> {
        let vty = self.vty.ok_or("there is no VTY that could begin a capture")?;
        tracing::set(&self.bed, (vty, self.process.pid()), &self.directory, tracing)
    }

    fn resident_octets(&mut self) -> Result<(u64, u64), String> {
        Ok((self.resident_before, crate::testbed::resident_octets(self.process.pid())?))
    }

    fn pause(&mut self) -> Result<(), String> {
        self.process.signal(ProcessSignal::Stop);
        self.bed.at_load(|| self.traffic.rest()).map_err(text)
    }

    fn resume(&mut self) -> Result<(), String> {
        self.process.signal(ProcessSignal::Continue);
        self.bed.at_load(|| self.traffic.attend()).map_err(text)?;
        match &mut self.load {
            Some(load) => load.poll(WAKE_UP).map_err(text),
            None => Ok(()),
        }
    }
}

/// Of all groups.
pub(super) fn total(groups: &[GroupResult], what: impl Fn(&GroupResult) -> u64) -> u64 {
    groups.iter().map(what).sum()
}
