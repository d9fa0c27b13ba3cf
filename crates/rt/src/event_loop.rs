//! The loop: poll, receive, wake, let the machines work, send; one thread, one core.

use crate::access::{Access, Hooks, MachineId, Service, TOKENS_PER_SERVICE};
use crate::busy::{Busy, BusyPoll};
use crate::driver::{AnyDriver, Driver};
use crate::gateway::{ForwardingConfig, ForwardingReport};
use crate::ingress::{IngressConfig, IngressReport, OutputConfig, OutputReport};
use crate::io::{ENDPOINT_TOKENS, Io, MONITOR, PacketRings, RINGS, make_frames};
use crate::log::LogSink;
use crate::outside::Outside;
use crate::packet::PacketLayer;
use crate::signals::Signals;
use crate::sys::Timer;
use crate::system::{self, Clock};
use crate::tcp::TcpConfig;
use crate::tun::Tun;
use crate::udp::UdpConfig;
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Level;
use gannet_machine::{Machine, Peer, Port, StreamState};
use gannet_proto::forwarding::DriverRule;
use gannet_trace::pcapng::Section;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

const TIMER: Token = Token(0);
const SIGNALS: Token = Token(1);
/// The tokens of services follow those of the endpoints.
const SERVICE_TOKENS: usize = 2 * ENDPOINT_TOKENS;
/// How often linked machines may answer each other before the rest of the world has its turn.
const PASSES_PER_ROUND: usize = 16;

/// How a loop is made.
#[derive(Debug, Clone)]
pub struct LoopConfig {
    /// Frames for all machines of the loop, 2048 octets each, allocated at the start.
    pub frames: usize,
    /// Wake-ups for which each machine has room at the start. With few of them all stand in order; more take memory when they come.
    pub timers: usize,
    /// Lock the memory where that is permitted; the log says whether it is.
    pub lock_memory: bool,
    /// Pin the thread to this core.
    pub core: Option<usize>,
    /// Seed of the dice; `None` takes it from the operating system.
    pub seed: Option<u64>,
    /// How long the machines may take to say goodbye.
    pub shutdown_grace: Duration,
    /// Take SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 of the process.
    pub signals: bool,
    /// How long a machine may work before what arrives is looked at again, and what it said is sent. To look costs as much as some
    /// packets, also where there is something, so that a short slice is dear where a backlog waits; a loop that polls makes it shorter
    /// where the devices' queues would not hold what comes meanwhile.
    pub slice: Duration,
    /// The same for a machine in a hurry ([`Machine::is_in_a_hurry`]): a turn is short, since what is urgent waits for its end,
    /// but a turn that does less than what came in it falls behind.
    pub slice_in_a_hurry: Duration,
    /// Whether the loop polls its devices instead of waiting for interrupts.
    pub busy_poll: BusyPoll,
    /// Frames beside those of `frames` for the rings of AF_XDP sockets; see [`IngressConfig::ring_frames`] and
    /// [`OutputConfig::ring_frames`]. With any, all frames lie in memory that the kernel shares; with 0 none do, and
    /// AF_XDP is out of reach.
    pub ring_frames: usize,
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            frames: 8192,
            timers: 65_536,
            lock_memory: true,
            core: None,
            seed: None,
            shutdown_grace: Duration::from_secs(5),
            signals: true,
            slice: Duration::from_micros(160),
            slice_in_a_hurry: Duration::from_micros(12),
            busy_poll: BusyPoll::Off,
            ring_frames: 0,
        }
    }
}

/// While there is work, the poll is asked only every so many turns, or after so long: it costs as much as some packets.
const TURNS_PER_POLL: u32 = 16;
const POLL_EVERY: Duration = Duration::from_micros(100);
/// Polls of a turn in a hurry beside the first: together they find what a device's queue holds, since the kernel polls twice
/// where once was not enough.
const POLLS_IN_A_HURRY: usize = 8;
/// How soon frames that a device did not take are offered again.
const OFFER_AGAIN: Duration = Duration::from_micros(100);

/// Machines, their endpoints and the services beside them, driven in real time by one thread.
pub struct EventLoop {
    poll: Poll,
    events: Events,
    timer: Timer,
    /// When the timer goes off; `None` where it has gone off.
    timer_at: Option<Instant>,
    signals: Option<Signals>,
    io: Io,
    drivers: Vec<Box<dyn AnyDriver>>,
    services: Vec<Box<dyn Service>>,
    config: LoopConfig,
    rng: Rng,
    grace_ends: Option<Instant>,
    /// Turns since the poll was asked, and when that was.
    turns: u32,
    polled_at: Instant,
}

impl EventLoop {
    /// A loop without machines. `log` should have been made with the same clock.
    ///
    /// # Errors
    /// Where the operating system refuses the poll, the timer, the signals, or the core asked for.
    pub fn new(config: LoopConfig, clock: Clock, log: LogSink) -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let timer = Timer::new()?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let signals = config.signals.then(|| Signals::new(&registry, SIGNALS)).transpose()?;
        let rng = Rng::seeded(config.seed.map_or_else(system::seed, Ok)?);
        let frames = make_frames(config.frames, config.ring_frames);
        // Without memory to share the node works on, and says so where AF_XDP is asked for.
        let (frames, refused) = match frames {
            Ok(frames) => (frames, None),
            Err(error) => (make_frames(config.frames, 0)?, Some(error)),
        };
        let mut io = Io::new(registry, clock, log, frames, Busy::new(config.busy_poll));
        io.refresh_now();
        if let Some(error) = refused {
            io.note(Level::Error, format_args!("no memory to share with the kernel: {error}"));
        }
        if let Some(core) = config.core {
            system::pin_to_core(core)?;
            io.note(Level::Info, format_args!("pinned to core {core}"));
        }
        Ok(Self {
            poll,
            events: Events::with_capacity(256),
            timer,
            timer_at: None,
            signals,
            io,
            drivers: Vec::new(),
            services: Vec::new(),
            config,
            rng,
            grace_ends: None,
            turns: 0,
            polled_at: Instant::ZERO,
        })
    }

    // ------------------------------------------------------------------ making

    /// Adds a machine. `on_event` is told what it tells.
    pub fn add_machine<M: Machine<Rule: Into<DriverRule>> + 'static>(
        &mut self,
        machine: M,
        on_event: impl FnMut(&mut M, M::Event, &mut Outside<'_>) + 'static,
    ) -> MachineId<M> {
        let rng = self.rng.fork();
        let driver = Driver::new(machine, rng, Box::new(on_event), self.config.timers);
        self.drivers.push(Box::new(driver));
        MachineId::new(self.drivers.len() - 1)
    }

    /// Records from now on into a new file, or into standard output where the path is `-`.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub fn record_to(&mut self, path: &Path) -> io::Result<()> {
        self.io.record_to(path)
    }

    /// Sends from now on what GSMTAP has a type for.
    ///
    /// # Errors
    /// Where there is no way to that address.
    pub fn stream_to(&mut self, to: SocketAddr) -> io::Result<()> {
        self.io.stream_to(to)
    }

    /// What captures say of who writes them, from now on.
    pub fn describe(&mut self, application: &str, comment: &str) {
        self.io.section = Section { application: application.to_owned(), comment: comment.to_owned() };
    }

    /// Joins a UDP socket to a port of a machine and returns the address it got.
    ///
    /// # Errors
    /// What the operating system says, with the address.
    pub fn bind_udp<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        config: &UdpConfig,
    ) -> io::Result<SocketAddr> {
        self.io.bind_udp(machine.index, port, config)
    }

    /// Joins the port of a machine that receives user data to the best way of receiving that this machine permits: see
    /// [`IngressConfig`]. The port is bound as by [`EventLoop::bind_udp`] in any case.
    ///
    /// # Errors
    /// Where the address cannot be bound, or where the one back end that was asked for cannot be had: with a sentence
    /// that says what it lacks.
    pub fn attach_ingress<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        config: &IngressConfig,
    ) -> io::Result<IngressReport> {
        self.io.attach_ingress(machine.index, port, config)
    }

    /// Chooses the way out of a port that is bound already: see [`OutputConfig`].
    ///
    /// # Errors
    /// Where AF_XDP was asked for and cannot be had.
    pub fn attach_output<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        config: &OutputConfig,
    ) -> io::Result<OutputReport> {
        self.io.attach_output(machine.index, port, config)
    }

    /// Has the packets of a machine's contexts forwarded at the driver, by the rules that it gives: see [`ForwardingConfig`]. Its
    /// ports stay as they are, for what the driver leaves to it.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit. Everything is as it was then.
    pub fn attach_forwarding<M>(
        &mut self,
        machine: MachineId<M>,
        config: &ForwardingConfig,
    ) -> Result<ForwardingReport, String> {
        self.io.attach_forwarding(machine.index, config)
    }

    /// Joins a device of the Ethernet kind to a port of a machine: its IP packets that are for this machine come with the station
    /// that sent them ([`Peer::Ethernet`]), and packets leave to the stations that they are sent to. `record_as` names the capture
    /// interface for them, where they are wanted.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where there is no such device.
    pub fn attach_packets<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        device: &str,
        record_as: Option<&str>,
    ) -> io::Result<()> {
        self.io.attach_packets(machine.index, port, (device, PacketLayer::Packets), record_as)
    }

    /// Joins a device of the Ethernet kind to a port of a machine for one EtherType: what is behind the Ethernet header comes with
    /// the station that sent it ([`Peer::Ethernet`]), also what was sent to several stations. What the device does not take waits,
    /// and the machine is told ([`Machine::hold_back`]). What is short comes with the octets by which Ethernet has filled it up.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where there is no such device.
    pub fn attach_ether_type<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        device: &str,
        ether_type: u16,
    ) -> io::Result<()> {
        self.io.attach_packets(machine.index, port, (device, PacketLayer::Protocol(ether_type)), None)
    }

    /// Has those packets of a device, joined by [`EventLoop::attach_packets`], come and leave by AF_XDP which the kernel would forward
    /// between the devices of the machine. All others come as before. Where the device goes and returns, so do its rings.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit. The device stays as it was.
    pub fn attach_packet_rings<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        rings: PacketRings,
    ) -> Result<(), String> {
        self.io.attach_packet_rings(machine.index, port, rings)
    }

    /// Joins a TUN device to a port of a machine: see [`Outside::attach_tun`].
    ///
    /// # Errors
    /// Where the device cannot be polled.
    pub fn attach_tun<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        peer: Peer,
        tun: Tun,
        record_as: Option<&str>,
    ) -> io::Result<()> {
        self.io.attach_tun(machine.index, port, peer, tun, record_as)
    }

    /// Joins a TCP connection to a port of a machine, which is told when there is one and when it is lost
    /// ([`gannet_machine::Input::Stream`]). Where there is none it is tried each second, for the first time at once.
    ///
    /// # Errors
    /// None today but those of the table of endpoints; a peer that is not there is no error.
    pub fn connect_tcp<M>(
        &mut self,
        machine: MachineId<M>,
        port: Port,
        config: &TcpConfig,
    ) -> io::Result<()> {
        self.io.connect_tcp(machine.index, port, config)
    }

    /// Joins two ports: what one machine transmits there arrives at the other, in order, from the peer that the first
    /// one named.
    pub fn link<A, B>(&mut self, a: (MachineId<A>, Port), b: (MachineId<B>, Port)) {
        self.io.link((a.0.index, a.1), (b.0.index, b.1));
    }

    /// Adds a service and starts it.
    ///
    /// # Errors
    /// What its start says.
    pub fn add_service(&mut self, mut service: Box<dyn Service>) -> io::Result<()> {
        let tokens = Some(SERVICE_TOKENS + self.services.len() * TOKENS_PER_SERVICE);
        service.start(&mut Access { drivers: &mut self.drivers, io: &mut self.io, tokens })?;
        self.services.push(service);
        Ok(())
    }

    /// Reaches the machines and all that they share.
    pub fn access(&mut self) -> Access<'_> {
        Access { drivers: &mut self.drivers, io: &mut self.io, tokens: None }
    }

    // ------------------------------------------------------------------ running

    /// Runs until SIGTERM, SIGINT or [`Access::stop`], and ends in order: the machines say goodbye, what waits is
    /// sent, the recorder and the log are written out. A second SIGTERM ends the farewell. Devices disappear when the
    /// loop is dropped.
    ///
    /// # Errors
    /// Where the poll fails, or the recorder has lost its file.
    pub fn run(&mut self, hooks: &mut dyn Hooks) -> io::Result<()> {
        if self.config.lock_memory {
            let said = system::lock_memory();
            self.io.note(Level::Info, format_args!("{said}"));
        }
        // What was said up to now does not wait for the first event.
        self.io.log.flush();
        self.grace_ends = None;
        loop {
            self.turn(None)?;
            if core::mem::take(&mut self.io.hangup) {
                if let Err(error) = self.io.log.reopen() {
                    self.io.note(Level::Error, format_args!("log file not reopened: {error}"));
                }
                hooks.hangup(&mut self.access());
                self.io.log.flush();
            }
            if core::mem::take(&mut self.io.report) {
                hooks.report(&mut self.access());
                self.io.log.flush();
            }
            if core::mem::take(&mut self.io.stop) {
                if self.grace_ends.is_some() {
                    break;
                }
                self.io.note(Level::Notice, format_args!("stopping"));
                self.grace_ends = Some(self.io.now + self.config.shutdown_grace);
                hooks.shutdown(&mut self.access());
                // What the machines have to say about it goes out before they are asked whether that was all.
                self.turn(Some(Duration::ZERO))?;
            }
            let Some(end) = self.grace_ends else { continue };
            if hooks.stopped(&mut self.access()) || self.io.now >= end {
                break;
            }
        }
        self.finish()
    }

    /// Sends what waits and writes out the recorder and the log.
    ///
    /// # Errors
    /// Where the recorder has lost its file.
    pub fn finish(&mut self) -> io::Result<()> {
        self.work(true, None);
        self.io.flush();
        self.io.trace_drops();
        let result = self.io.recorder.as_mut().map_or(Ok(Vec::new()), |tracer| tracer.finish());
        for missing in result.iter().flatten() {
            self.io.note(Level::Error, format_args!("{missing}"));
        }
        self.io.log.flush();
        result.map(drop)
    }

    /// One round: sleeps until something is there, a wake-up is due, or `longest` is over; then everybody has a turn.
    ///
    /// # Errors
    /// Where the poll or the timer fails.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<()> {
        if self.sleep(longest)? {
            self.io.refresh_now();
            self.take_events();
        }
        self.io.keep_house();
        self.io.turn_cost.begin(self.io.clock.now());
        let now = self.io.now;
        let hurry = self.drivers.iter().any(|driver| driver.is_in_a_hurry(now));
        if hurry && !self.io.arrivals.is_empty() {
            // What a poll within the last turn has found does not wait for the next one.
            self.work(false, Some(Duration::ZERO));
            self.io.flush();
        }
        let urgent = self.io.receive_first();
        let hurry = self.drivers.iter().any(|driver| driver.is_in_a_hurry(now));
        self.io.set_hurry(hurry);
        if hurry {
            self.hurry_on(urgent);
        }
        let enough = self.drivers.iter().any(|driver| driver.has_enough());
        self.io.receive_rest(hurry, enough);
        for driver in &mut self.drivers {
            driver.wake(&mut self.io);
        }
        self.work(true, None);
        self.io.flush_before_services();
        let began = self.io.clock.now();
        self.serve_round();
        self.io.turn_cost.add_other(self.io.clock.now().since(began));
        // The services may have given commands; what else there is has had its slice.
        self.work(false, Some(Duration::ZERO));
        self.io.follow(self.drivers.iter().any(|driver| driver.unfinished()));
        if self.io.has_much_to_send() {
            self.io.poll_between();
        }
        self.io.flush();
        // Nothing else may come that would tell a machine that there is room again.
        for (index, driver) in self.drivers.iter_mut().enumerate() {
            if driver.held() && !self.io.is_backed_up(index) {
                driver.touch();
            }
        }
        self.io.trace_drops();
        self.tell_cost();
        self.io.log.flush();
        Ok(())
    }

    /// Tells each machine that has worked what the turn has spent on its packets: all of it but for what the others did.
    fn tell_cost(&mut self) {
        let all: Option<u64> =
            self.drivers.iter().filter_map(|driver| Some(driver.worked()?.0)).reduce(u64::saturating_add);
        let Some(all) = all else { return };
        let now = self.io.clock.now();
        let took = self.io.turn_cost.ended(now);
        for driver in &mut self.drivers {
            if let Some(worked) = driver.worked() {
                driver.turn_took(now, Duration(took.0.saturating_sub(all.saturating_sub(worked.0))));
            }
        }
    }

    /// What is urgent leaves before the rest is looked at, and where a poll has not found all that has come another one follows.
    fn hurry_on(&mut self, mut urgent: bool) {
        for _ in 0..=POLLS_IN_A_HURRY {
            if urgent {
                self.work(false, Some(Duration::ZERO));
                self.io.flush();
            }
            match self.io.poll_on() {
                Some(more) => urgent = more,
                None => return,
            }
        }
    }

    /// Asks the poll, and waits there where there is nothing to do; false where it was asked a moment ago.
    fn sleep(&mut self, longest: Option<Duration>) -> io::Result<bool> {
        self.io.refresh_now();
        let now = self.io.now;
        let has_work = self.io.has_readable()
            || self.io.stop
            || self.io.hangup
            || self.io.report
            || !self.io.arrivals.is_empty()
            || !self.io.streams.is_empty()
            || self.drivers.iter().any(|driver| driver.pending() || driver.unfinished());
        let awake = self.io.busy.waits_awake(now).filter(|_| !has_work);
        let busy = has_work || (awake.is_none() && self.io.busy.is_spinning(now));
        let wakes = self.drivers.iter().filter_map(|driver| driver.next_wake());
        let wakes = wakes.chain(self.services.iter().filter_map(|service| service.next_wake()));
        let wakes = wakes.chain(self.grace_ends).chain(longest.map(|longest| now + longest));
        let unsent = self.io.has_unsent().then(|| now + OFFER_AGAIN);
        let next = wakes.chain(unsent).chain(self.io.housekeeping_at()).min();
        let at_once = busy || next.is_some_and(|at| at <= now);
        if let Some(awake) = awake.filter(|_| !at_once) {
            return self.wait_awake(next.map_or(awake, |next| next.min(awake)));
        }
        let polled_lately = self.turns < TURNS_PER_POLL && now < self.polled_at + POLL_EVERY;
        if at_once && polled_lately && longest != Some(Duration::ZERO) {
            self.turns += 1;
            return Ok(false);
        }
        if let Some(at) = next.filter(|at| !at_once && Some(*at) != self.timer_at) {
            self.timer.arm(at.since(now).0)?;
            self.timer_at = Some(at);
        }
        (self.turns, self.polled_at) = (0, now);
        match self.poll.poll(&mut self.events, at_once.then_some(std::time::Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(true),
        }
    }

    /// Asks the poll until something has come, or until then. Others that this core has to run go between.
    fn wait_awake(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            if let Err(error) = self.poll.poll(&mut self.events, Some(std::time::Duration::ZERO))
                && error.kind() != io::ErrorKind::Interrupted
            {
                return Err(error);
            }
            self.io.refresh_now();
            if !self.events.is_empty() || self.io.now >= until {
                (self.turns, self.polled_at) = (0, self.io.now);
                return Ok(true);
            }
            std::thread::yield_now();
        }
    }

    fn take_events(&mut self) {
        for event in &self.events {
            let (readable, writable) = (
                event.is_readable() || event.is_read_closed() || event.is_error(),
                event.is_writable() || event.is_write_closed() || event.is_error(),
            );
            match event.token() {
                TIMER => {
                    self.timer.clear();
                    self.timer_at = None;
                }
                RINGS => {}
                MONITOR => self.io.tables_changed = true,
                SIGNALS => {
                    let asked = self.signals.as_mut().map(Signals::take).unwrap_or_default();
                    self.io.stop |= asked.stop;
                    self.io.hangup |= asked.hangup;
                    self.io.report |= asked.report;
                }
                Token(token) if token < SERVICE_TOKENS => {
                    self.io.ready(token.saturating_sub(ENDPOINT_TOKENS), readable, writable);
                }
                Token(token) => {
                    let token = token - SERVICE_TOKENS;
                    let (index, number) = (token / TOKENS_PER_SERVICE, token % TOKENS_PER_SERVICE);
                    let tokens = Some(SERVICE_TOKENS + index * TOKENS_PER_SERVICE);
                    let mut access = Access { drivers: &mut self.drivers, io: &mut self.io, tokens };
                    if let (Some(service), Ok(number)) = (self.services.get_mut(index), u32::try_from(number))
                    {
                        service.ready(number, readable, writable, &mut access);
                    }
                }
            }
        }
    }

    /// Tells the machines which streams were connected or lost.
    fn tell_streams(&mut self, which: StreamState) {
        if self.io.streams.is_empty() {
            return;
        }
        let drivers = &mut self.drivers;
        self.io.streams.retain(|(owner, state)| {
            if let Some(driver) = drivers.get_mut(owner.machine).filter(|_| *state == which) {
                driver.stream(owner.port, *state);
            }
            *state != which
        });
    }

    fn serve_round(&mut self) {
        for (index, service) in self.services.iter_mut().enumerate() {
            let tokens = Some(SERVICE_TOKENS + index * TOKENS_PER_SERVICE);
            service.round(&mut Access { drivers: &mut self.drivers, io: &mut self.io, tokens });
        }
    }

    /// Lets the machines work until they have nothing more for each other, or until it is time for the rest. Those whose
    /// slice was over go on where `all` do. A `slice` of one's own may be shorter than what is configured.
    fn work(&mut self, all: bool, slice: Option<Duration>) {
        for pass in 0..PASSES_PER_ROUND {
            // A connection comes before what it brings, and its loss behind that.
            self.tell_streams(StreamState::Connected);
            while let Some(arrival) = self.io.arrivals.pop_front() {
                if let Some(driver) = self.drivers.get_mut(arrival.machine) {
                    driver.arrive(arrival);
                }
            }
            self.tell_streams(StreamState::Lost);
            let mut idle = true;
            for (index, driver) in self.drivers.iter_mut().enumerate() {
                if driver.pending() || (all && pass == 0 && (driver.unfinished() || driver.held())) {
                    idle = false;
                    // Where much arrives a device's short queue would not hold it for a long slice.
                    let least = self.config.slice_in_a_hurry;
                    let usual = self.io.busy.slice(self.config.slice, least);
                    driver.run(index, &mut self.io, slice.unwrap_or(usual), least);
                }
            }
            if idle {
                return;
            }
        }
    }
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventLoop({} machines, {} services)", self.drivers.len(), self.services.len())
    }
}
