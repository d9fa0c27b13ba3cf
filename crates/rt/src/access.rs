//! What the code around the machines may reach: [`Outside`] from a machine's event, [`Access`] from a service (a VTY,
//! a metrics page) or a hook, which also reaches the machines themselves.

use crate::driver::{AnyDriver, Driver};
use crate::io::Io;
use crate::log::LogSink;
use crate::outside::Outside;
use crate::tracer::{PreparedTrace, TraceConfig, Tracer};
use crate::watch::KernelPath;
use core::fmt;
use core::marker::PhantomData;
use gannet_machine::frame::FramePool;
use gannet_machine::rng::Rng;
use gannet_machine::tap::Tap;
use gannet_machine::time::Instant;
use gannet_machine::{Context, Machine};
use gannet_proto::forwarding::Forwarded;
use gannet_proto::gtp::ContextName;
use mio::event::Source;
use mio::{Interest, Token};
use std::io;

/// Which machine of a loop, and of what type it is.
pub struct MachineId<M> {
    pub(crate) index: usize,
    machine: PhantomData<fn() -> M>,
}

impl<M> MachineId<M> {
    pub(crate) const fn new(index: usize) -> Self {
        Self { index, machine: PhantomData }
    }
}

impl<M> Clone for MachineId<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for MachineId<M> {}

impl<M> fmt::Debug for MachineId<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MachineId({})", self.index)
    }
}

/// Everything of a loop, for services and hooks.
pub struct Access<'a> {
    pub(crate) drivers: &'a mut [Box<dyn AnyDriver>],
    pub(crate) io: &'a mut Io,
    /// The first token of the service that asks; `None` for hooks.
    pub(crate) tokens: Option<usize>,
}

/// Tokens that one service may use: its own numbers are below this.
pub(crate) const TOKENS_PER_SERVICE: usize = 1 << 32;

impl Access<'_> {
    fn driver<M: Machine + 'static>(&mut self, id: MachineId<M>) -> Option<&mut Driver<M>> {
        self.drivers.get_mut(id.index)?.as_any().downcast_mut()
    }

    /// A machine. It is asked for outputs afterwards. `None` for the number of another loop's machine.
    pub fn machine<M: Machine + 'static>(&mut self, id: MachineId<M>) -> Option<&mut M> {
        let driver = self.driver(id)?;
        driver.touched = true;
        Some(&mut driver.machine)
    }

    /// A machine to look at: it is not asked for outputs because of that.
    pub fn look_at<M: Machine + 'static>(&mut self, id: MachineId<M>) -> Option<&M> {
        self.driver(id).map(|driver| &driver.machine)
    }

    /// A machine together with a context for what needs one.
    pub fn machine_and_context<M: Machine + 'static>(
        &mut self,
        id: MachineId<M>,
    ) -> Option<(&mut M, Context<'_>)> {
        let driver: &mut Driver<M> = self.drivers.get_mut(id.index)?.as_any().downcast_mut()?;
        driver.touched = true;
        driver.note(self.io.now, "touched past its inputs");
        let context = Context {
            now: self.io.now,
            rng: &mut driver.rng,
            trace: &mut self.io.log,
            timers: &mut driver.timers,
            frames: &self.io.frames,
            prefetch: crate::prefetch::PREFETCH,
            fold: crate::carryless::fold(),
        };
        Some((&mut driver.machine, context))
    }

    /// Has a machine's inputs and outputs seen from now on, and lends it these dice; false for the number of another loop's
    /// machine.
    pub fn set_tap<M: Machine + 'static>(
        &mut self,
        id: MachineId<M>,
        tap: Box<dyn Tap<M>>,
        dice: Rng,
    ) -> bool {
        self.driver(id).map(|driver| (driver.tap, driver.rng) = (Some(tap), dice)).is_some()
    }

    /// Gives a command to a machine; false for the number of another loop's machine.
    pub fn command<M: Machine + 'static>(&mut self, id: MachineId<M>, command: M::Command) -> bool {
        self.driver(id).map(|driver| driver.command(command)).is_some()
    }

    /// The ports of a machine.
    pub const fn outside<M>(&mut self, id: MachineId<M>) -> Outside<'_> {
        Outside::new(self.io, id.index)
    }

    /// The time of this round.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.io.now
    }

    /// The sink of the loop: levels, drops by name, the last drops of each mobile.
    pub const fn log(&mut self) -> &mut LogSink {
        &mut self.io.log
    }

    /// The frames of the loop.
    #[must_use]
    pub const fn frames(&self) -> &FramePool {
        &self.io.frames
    }

    /// How user data comes in and goes out, and what was counted on the way. Costs some system calls.
    #[must_use]
    pub fn kernel_path(&self) -> KernelPath {
        self.io.kernel_path()
    }

    /// What the loop did with its time; all of it is 0 for one that sleeps.
    #[must_use]
    pub const fn loop_time(&self) -> crate::LoopTime {
        self.io.load.time()
    }

    /// What a classifier has counted for one flow, by its rule's name; `None` where there is no classifier or no such flow.
    /// The name of a PDP context is above 2^24, and that of a mobile's uplink a number below.
    #[must_use]
    pub fn flow_counters(&self, name: u32) -> Option<gannet_demux::FlowCounters> {
        self.io.flow_counters(name)
    }

    /// How packets come through the devices of a machine, in the order in which they were joined.
    #[must_use]
    pub fn packet_reports<M>(&self, id: MachineId<M>) -> Vec<crate::PacketReport> {
        self.io.packet_reports(id.index)
    }

    /// What forwards a machine's packets at the driver, and what it has done; `None` where the machine does it itself.
    #[must_use]
    pub fn forwarding<M>(&self, id: MachineId<M>) -> Option<crate::ForwardingReport> {
        self.io.forwarding(id.index)
    }

    /// A machine to tell what the driver has forwarded for its contexts, and whom to ask about each. It is asked for outputs
    /// afterwards.
    pub fn machine_and_forwarded<M: Machine + 'static>(
        &mut self,
        id: MachineId<M>,
    ) -> Option<(&mut M, impl Fn(ContextName) -> Option<Forwarded>)> {
        let driver: &mut Driver<M> = self.drivers.get_mut(id.index)?.as_any().downcast_mut()?;
        driver.touched = true;
        let io = &*self.io;
        Some((&mut driver.machine, move |name| io.forwarded(id.index, name)))
    }

    /// Who records what crosses the interfaces, where that is wanted.
    #[must_use]
    pub fn recorder(&self) -> Option<&Tracer> {
        self.io.recorder.as_deref()
    }

    /// Opens what is to be recorded as `new` says, instead of as `old` did.
    ///
    /// # Errors
    /// The file cannot be made. All goes on as it did.
    pub fn prepare_trace(&self, old: &TraceConfig, new: &TraceConfig) -> io::Result<PreparedTrace> {
        self.io.prepare_trace(old, new)
    }

    /// Records so from now on. Gives what a person should know of a capture that has ended.
    pub fn commit_trace(&mut self, prepared: PreparedTrace) -> Option<String> {
        self.io.commit_trace(prepared)
    }

    /// Asks for the orderly end, as SIGTERM does.
    pub const fn stop(&mut self) {
        self.io.stop = true;
    }

    /// Does what SIGHUP does.
    pub const fn hangup(&mut self) {
        self.io.hangup = true;
    }

    fn token(&self, number: u32) -> io::Result<Token> {
        let first = self.tokens.ok_or_else(|| io::Error::other("only a service has something to poll"))?;
        Ok(Token(first + usize::try_from(number).unwrap_or(0)))
    }

    /// Polls a socket or pipe of this service under a number of its own.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn register(&self, source: &mut impl Source, number: u32, interest: Interest) -> io::Result<()> {
        self.io.registry.register(source, self.token(number)?, interest)
    }

    /// Changes what is polled.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn reregister(&self, source: &mut impl Source, number: u32, interest: Interest) -> io::Result<()> {
        self.io.registry.reregister(source, self.token(number)?, interest)
    }

    /// Polls it no more.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.io.registry.deregister(source)
    }
}

impl fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({} machines)", self.drivers.len())
    }
}

/// Something beside the machines that is polled in the same loop: a VTY, a control interface, a page of metrics.
///
/// Readiness is told once (edge-triggered): a service reads and writes until `WouldBlock`, or remembers that it has not.
pub trait Service {
    /// Called once when it is added: registers its listening sockets.
    ///
    /// # Errors
    /// Whatever keeps it from serving; the loop then refuses it.
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()>;

    /// What it registered as `number` became readable or writable.
    fn ready(&mut self, number: u32, readable: bool, writable: bool, access: &mut Access<'_>);

    /// Called at the end of each round, when the machines have done their work.
    fn round(&mut self, access: &mut Access<'_>) {
        let _ = access;
    }

    /// When it wants [`Service::round`] to be called at the latest.
    fn next_wake(&self) -> Option<Instant> {
        None
    }
}

/// What the owner of a loop does at SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2.
pub trait Hooks {
    /// The process is to end: tell the machines to say goodbye. The loop goes on until [`Hooks::stopped`] says true
    /// or the grace period of the configuration is over.
    fn shutdown(&mut self, access: &mut Access<'_>) {
        let _ = access;
    }

    /// Asked after each round since [`Hooks::shutdown`]: have the machines said goodbye?
    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        let _ = access;
        true
    }

    /// SIGHUP came; the log files were opened again already.
    fn hangup(&mut self, access: &mut Access<'_>) {
        let _ = access;
    }

    /// SIGUSR1 or SIGUSR2 came: write the state of the node into the log.
    fn report(&mut self, access: &mut Access<'_>) {
        let _ = access;
    }
}

/// Hooks that do nothing: the end comes at once.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoHooks;

impl Hooks for NoHooks {}
