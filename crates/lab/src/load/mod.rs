//! `gannet load`: base stations with their mobiles on Gb, and a GGSN on Gn, for any SGSN between them.
//!
//! The thesis's MS/GB and GGSN/GN (sections 5.2 and 7.1.2) for a thousand times as many mobiles. Towards the SGSN they
//! are standard: NS and BSSGP with flow control, GMM and SM over LLC, GTPv1. Only what nobody can see from there is left
//! out: a radio, a queue in the BSS and, unless they are to cipher, their cards. A mobile is 64 octets ([`mobile`]), and each kind of deadline one queue
//! ([`emulator`]), so that a million of them are a matter of memory alone.
//!
//! | file | what |
//! |---|---|
//! | [`config`] | where the SGSN is, and what stands around it |
//! | [`mobile`] | one mobile, and the quality of service that it asks for |
//! | [`emulator`] | the machine: orders, deadlines, counters |
//! | `bvc`, `cells` | BVCs, flow control, paging |
//! | `procedures` | attach, activation, detach, cell change; LLC |
//! | `acknowledged` | LLC's acknowledged mode, as far as a mobile needs it that only receives |
//! | `gn` | the GGSN, and N-PDUs on their way up |
//! | [`security`], `ciphered` | cards, keys and the cipher of LLC, where mobiles have them |
//!
//! [`Emulator`] is a [`Machine`](gannet_machine::Machine), so that the tests drive it in virtual time against the
//! SGSN's own machine. [`Load`] drives it over sockets, in turns that the owner gives it: a traffic generator runs on the
//! same thread and gives the control plane a turn ([`Load::poll_once`]) between two bursts.
//!
//! # READY
//!
//! Mobiles ask for a READY timer that never ends. Where the SGSN grants a shorter one, each mobile is heard once in half
//! of it, with an N-PDU that is an IPv4 header and nothing else (osmo-sgsn does not count LL-PDUs without content), unless
//! it has sent something anyway; so none is paged during a run. One that is paged answers.

mod acknowledged;
mod bvc;
mod cells;
mod ciphered;
pub mod config;
pub mod emulator;
mod gn;
pub mod mobile;
pub mod plan;
mod procedures;
pub mod run;
pub mod security;
#[cfg(test)]
mod tests;
pub mod traffic;

pub use config::LoadConfig;
pub use emulator::{Emulator, Event, Order, Stats};
pub use mobile::{Phase, Profile, USERS_MAX, User, imsi, pdp_address};
pub use security::{Security, UserCipher};

use crate::hlr::Hlr;
use crate::hlr::server::Server;
use config::{GTP_C, GTP_U};
use core::net::SocketAddr;
use emulator::Command;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Context, Port};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_rt::log::LogSink;
use gannet_rt::{Clock, EventLoop, LoopConfig, MachineId, UdpConfig};
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use thiserror::Error;

/// The longest that BVCs may take to come up, on top of one second for each thousand of them.
const UP_WITHIN: Duration = Duration::from_secs(30);
/// Octets of socket buffer that are asked for.
const SOCKET_BUFFER: usize = 8 << 20;
/// Turns of [`Load::poll_once`] that find something to do, before the owner has its turn.
const TURNS_MAX: u32 = 16;

/// Why a load could not be set up.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The configuration does not fit.
    #[error("{0}")]
    Config(String),
    /// A socket could not be made, or the loop failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The SGSN does not answer on Gb.
    #[error("only {up} of {cells} cells came up within {seconds} s; does the SGSN listen at {sgsn}?")]
    NotUp {
        /// Cells in service.
        up: u32,
        /// Cells in all.
        cells: u32,
        /// How long was waited.
        seconds: u64,
        /// Where.
        sgsn: SocketAddr,
    },
    /// The SGSN does not come to our HLR.
    #[error("no SGSN has come to our HLR at {0}: is it told auth-policy remote and gsup remote-ip?")]
    NoHlr(SocketAddr),
    /// Our HLR has no place to listen.
    #[error("our HLR at {0}: {1}")]
    Hlr(SocketAddr, io::Error),
    /// The owner wanted no more.
    #[error("interrupted")]
    Interrupted,
}

/// How far an order has come: given to whoever watches.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Users whose turn has been.
    pub done: u64,
    /// Users of the order.
    pub total: u64,
    /// Since its beginning.
    pub elapsed: Duration,
}

/// What an order has come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Users that were asked.
    pub users: u64,
    /// Users whose order failed.
    pub failed: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Messages that were sent again.
    pub repeated: u64,
}

impl Outcome {
    /// Users a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn per_second(&self) -> f64 {
        self.users as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Told of user data that comes through the sockets.
pub type DataTap = Box<dyn FnMut(Event)>;

/// An emulator with its sockets.
pub struct Load {
    events: EventLoop,
    id: MachineId<Emulator>,
    clock: Clock,
    /// Where mobiles have cards.
    hlr: Option<Server>,
    tap: Rc<RefCell<Option<DataTap>>>,
}

impl core::fmt::Debug for Load {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Load({:?})", self.events)
    }
}

impl Load {
    /// Binds the sockets in the network namespace of the calling thread, resets NS-VCs and BVCs, and waits until all cells
    /// are in service, unless `going` says no.
    ///
    /// # Errors
    /// Where the configuration does not fit, a socket cannot be bound, or the SGSN does not answer.
    pub fn connect(config: LoadConfig, going: &dyn Fn() -> bool) -> Result<Self, LoadError> {
        let (cells, sgsn) = (config.cells, config.sgsn_gb);
        let mut load = Self::start(config)?;
        let begin = load.clock.now();
        let within = UP_WITHIN + Duration::from_secs(u64::from(cells / 1000));
        while load.look(Emulator::cells_up) < cells || load.waits_for_hlr() {
            if !going() {
                return Err(LoadError::Interrupted);
            }
            if load.clock.now().since(begin) > within {
                let up = load.look(Emulator::cells_up);
                if let Some(hlr) = load.hlr.as_ref().filter(|_| up == cells) {
                    return Err(LoadError::NoHlr(hlr.local()));
                }
                return Err(LoadError::NotUp { up, cells, seconds: within.as_millis() / 1000, sgsn });
            }
            load.events.turn(Some(Duration::from_millis(10)))?;
        }
        Ok(load)
    }

    fn waits_for_hlr(&self) -> bool {
        self.hlr.as_ref().is_some_and(|hlr| !hlr.is_in_touch())
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// Where the configuration does not fit or a socket cannot be bound.
    pub fn start(config: LoadConfig) -> Result<Self, LoadError> {
        let clock = Clock::start();
        let loop_config = LoopConfig {
            frames: 4096,
            lock_memory: false,
            core: None,
            seed: Some(config.seed),
            shutdown_grace: Duration::ZERO,
            signals: false,
            ..LoopConfig::default()
        };
        let mut events = EventLoop::new(loop_config, clock, LogSink::new(clock))?;
        let tap: Rc<RefCell<Option<DataTap>>> = Rc::default();
        let told = Rc::clone(&tap);
        let emulator = Emulator::new(config.clone()).map_err(LoadError::Config)?;
        let id = events.add_machine(emulator, move |_, event, _| {
            if let Some(tap) = told.borrow_mut().as_mut() {
                tap(event);
            }
        });
        let socket = |bind| UdpConfig {
            buffer_octets: Some(SOCKET_BUFFER),
            send_queue_max: 4096,
            ..UdpConfig::new(bind)
        };
        for nse in 0..config.nses {
            events.bind_udp(id, Port(nse), &socket(config.gb_endpoint(nse)))?;
        }
        for (port, number) in [(GTP_C, gannet_wire::gtp::PORT_CONTROL), (GTP_U, gannet_wire::gtp::PORT_USER)]
        {
            events.bind_udp(id, port, &socket(SocketAddr::new(config.ggsn_local, number)))?;
        }
        let hlr = config.security.map(|Security { hlr: bind, .. }| {
            let hlr = Hlr::new(config.users, config.seed);
            Server::start(bind, hlr).map_err(|error| LoadError::Hlr(bind, error))
        });
        let hlr = hlr.transpose()?;
        events.access().command(id, Command::Start);
        Ok(Self { events, id, clock, hlr, tap })
    }

    /// Does something with the emulator. What it sends goes out with the next turn.
    pub fn emulator<R>(&mut self, action: impl FnOnce(&mut Emulator, &mut Context<'_>) -> R) -> R {
        let mut access = self.events.access();
        let Some((emulator, mut cx)) = access.machine_and_context(self.id) else {
            unreachable!("the loop holds this machine as long as it lives")
        };
        action(emulator, &mut cx)
    }

    /// Looks at the emulator.
    fn look<R>(&mut self, look: impl FnOnce(&Emulator) -> R) -> R {
        let mut access = self.events.access();
        let Some(emulator) = access.look_at(self.id) else {
            unreachable!("the loop holds this machine as long as it lives")
        };
        look(emulator)
    }

    /// Gives the control plane a turn: takes what has come, sends what is due, and does not wait. Costs a few
    /// microseconds where nothing is there.
    ///
    /// # Errors
    /// Where the loop fails.
    pub fn poll_once(&mut self) -> Result<(), LoadError> {
        let mut last = None;
        for _ in 0..TURNS_MAX {
            self.events.turn(Some(Duration::ZERO))?;
            let stats = self.stats();
            if last.replace(stats) == Some(stats) {
                break;
            }
        }
        Ok(())
    }

    /// Keeps the control plane alive for a while.
    ///
    /// # Errors
    /// Where the loop fails.
    pub fn poll(&mut self, span: Duration) -> Result<(), LoadError> {
        let end = self.clock.now() + span;
        loop {
            let left = end.since(self.clock.now());
            if left == Duration::ZERO {
                return Ok(());
            }
            self.events.turn(Some(left))?;
        }
    }

    /// Gives users an order and sees it through; `watch` hears of its progress about ten times a second, and answers
    /// false to be done with it. `profile` is what each user asks for when it activates.
    ///
    /// # Errors
    /// Where the loop fails, or `watch` has had enough. Users that the SGSN refuses are no error: see
    /// [`Outcome::failed`] and [`User::failed`].
    pub fn order(
        &mut self,
        users: Range<u32>,
        order: Order,
        profile: Option<&dyn Fn(u32) -> Profile>,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, LoadError> {
        let begin = self.clock.now();
        let before = self.stats();
        let total = u64::from(users.end.saturating_sub(users.start));
        self.poll_once()?;
        self.emulator(|emulator, cx| emulator.order(cx, users, order, profile));
        let mut said = begin;
        loop {
            let left = self.look(Emulator::unfinished);
            let now = self.clock.now();
            if left == 0 || now.since(said) >= Duration::from_millis(100) {
                said = now;
                let done = total.saturating_sub(left);
                if !watch(Progress { done, total, elapsed: now.since(begin) }) {
                    return Err(LoadError::Interrupted);
                }
            }
            if left == 0 {
                break;
            }
            self.events.turn(Some(Duration::from_millis(100)))?;
        }
        let (stats, elapsed) = (self.stats(), self.clock.now().since(begin));
        let (failed, repeated) = (stats.failed - before.failed, stats.repeated - before.repeated);
        Ok(Outcome { users: total, failed, elapsed, repeated })
    }

    /// One user.
    pub fn user(&mut self, user: u32) -> Option<User> {
        self.look(|emulator| emulator.user(user))
    }

    /// All users.
    pub fn users(&mut self) -> Vec<User> {
        self.look(|emulator| emulator.users().collect())
    }

    /// What has happened so far.
    pub fn stats(&mut self) -> Stats {
        self.look(|emulator| emulator.stats)
    }

    /// Drops of our own sockets and frames so far: what never left, or came and found no room here.
    pub fn own_drops(&mut self) -> Vec<(Drop, u64)> {
        let no_frame = self.stats().no_frame;
        let mut access = self.events.access();
        let own = [Drop::RtSendQueueFull, Drop::RtSendFailed, Drop::RtSendTooLong, Drop::RtReceiveTooLong];
        let drops = access.log().drops();
        let mut own: Vec<_> = own.map(|drop| (drop, drops.get(drop))).into();
        own.push((Drop::NoFrame, drops.get(Drop::NoFrame) + no_frame));
        own
    }

    /// A user is in another cell from now on, and says so.
    pub fn move_user(&mut self, user: u32, cell: u32) {
        self.emulator(|emulator, cx| emulator.move_user(cx, user, cell));
    }

    /// A user says that it is there.
    pub fn be_heard(&mut self, user: u32) {
        self.emulator(|emulator, cx| emulator.be_heard(cx, user));
    }

    /// The GGSN gives a user's context another quality of service; false where it has none.
    pub fn update_qos(&mut self, user: u32, profile: Profile) -> bool {
        self.emulator(|emulator, cx| emulator.update_qos(cx, user, profile))
    }

    /// Cells in service.
    pub fn cells_up(&mut self) -> u32 {
        self.look(Emulator::cells_up)
    }

    /// Procedures under way, and users that still wait for their turn.
    pub fn unfinished(&mut self) -> u64 {
        self.look(Emulator::unfinished)
    }

    /// A cell's buckets from now on: FLOW-CONTROL-BVC at once, or a second after the last one.
    pub fn set_cell_flow(&mut self, cell: u32, flow: BvcParameters) {
        self.emulator(|emulator, cx| emulator.set_cell_flow(cx, cell, flow));
    }

    /// A mobile's own bucket from now on: FLOW-CONTROL-MS.
    pub fn set_ms_flow(&mut self, user: u32, bucket: Bucket) {
        self.emulator(|emulator, cx| emulator.set_ms_flow(cx, user, bucket));
    }

    /// Sends an N-PDU of a user up through the socket; false where it has no active context.
    pub fn send_n_pdu(&mut self, user: u32, n_pdu: &[u8]) -> bool {
        self.emulator(|emulator, cx| emulator.send_n_pdu(cx, user, n_pdu))
    }

    /// From now on `tap` is told of user data that comes through the sockets; `None` counts it only.
    pub fn set_tap(&mut self, tap: Option<DataTap>) {
        self.emulator(|emulator, _| emulator.tells_data = tap.is_some());
        *self.tap.borrow_mut() = tap;
    }
}
