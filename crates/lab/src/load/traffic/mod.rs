//! Generator and sink of `gannet load`: user data at the speed of the driver.
//!
//! Both ends are kernel programs ([`gannet_rig::objects::TRAFFIC`]) on our ends of Gn and Gb. The generator makes G-PDUs out of empty
//! frames, as fast as they are due, and puts them into the SGSN's driver; the sink takes apart what comes out at Gb, checks
//! it octet by octet, counts it and drops it, so that only the control plane's frames reach sockets. The same the other way.
//!
//! One thread on one core does everything: calls of the generator that last about [`TrafficConfig::turn`], the control
//! plane's turn between two of them, and the sink, which a timer runs even within a call ([`companion`]).
//!
//! | file | what |
//! |---|---|
//! | [`config`] | flows, cells, pacing |
//! | [`calendar`] | who is due next |
//! | [`result`] | what a step came to |
//! | [`companion`] | whose core receives |
//! | `neighbour` | MAC addresses, and the headers that have them |
//! | `cipher` | what comes ciphered |
//! | `acknowledged` | what comes in acknowledged mode |
//! | `rhythm` | how many frames at once, and how often the sink looks |
//! | `step` | a step: begun, run, drained, counted |
//!
//! # What a mark says
//!
//! Each N-PDU names its flow, its number in the flow, its step and when it left, with a check over all of this. So the sink
//! tells apart what came for the wrong mobile (mark right, TLLI another), what has suffered on the way, what came twice and
//! what came late. What was lost is the difference between offered and delivered, also for each flow.

mod acknowledged;
pub mod calendar;
mod cipher;
pub mod companion;
pub mod config;
mod neighbour;
pub mod result;
mod rhythm;
mod step;

pub use acknowledged::ANSWER_AFTER_MAX;
pub use config::{CellSpec, Direction, FlowSpec, Group, Pacing, Side, Spacing, TrafficConfig};
pub use result::{FlowResult, GroupResult, Latency, Loss, Ring, Samples, StepResult};

use calendar::{Calendar, Mapped, Memory, exponential_table};
use companion::Companion;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use gannet_demux::bpf::{Attachment, Error as BpfError, Loader, MappedArray, Object, XdpMode};
use gannet_demux::link;
use gannet_rig::layout::{self, FLOW_UPLINK, GROUPS, PATTERN_LEN, ROOM, be16, be32};
use rhythm::Rhythm;
use std::io;
use std::time::Duration;

/// Where the generator does not run for longer, its core was away, and what was due meanwhile is not made up for.
pub(in crate::load) const PAUSE: Duration = Duration::from_millis(2);
/// Octets of an LLC FCS.
const FCS: usize = 3;
/// Fraction bits of the stretch.
const STRETCH_ONE: f64 = 65536.0;

/// Why traffic cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// The configuration does not fit.
    #[error("{0}")]
    Config(String),
    /// The kernel does not permit the programs.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// Something about a device or a socket.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// The answer.
        error: io::Error,
    },
}

fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> TrafficError {
    let what = what.into();
    move |error| TrafficError::Io { what, error }
}

/// Generator and sink, attached.
#[derive(Debug)]
pub struct Traffic {
    config: TrafficConfig,
    object: Object,
    calendar: Calendar<Mapped>,
    seens: MappedArray<layout::Seen>,
    secrets: MappedArray<layout::Secret>,
    groups: MappedArray<layout::Group>,
    cells: MappedArray<layout::Cell>,
    companions: Vec<Companion>,
    _attachments: Vec<Attachment>,
    /// What the generator is called with.
    frame: Vec<u8>,
    /// Frames of one call.
    per_call: u32,
    rhythm: Rhythm,
    step: u16,
    /// The flows' sequence numbers at the beginning of the step.
    first: Vec<u32>,
    /// How many flows each group has: of a million nobody counts them while traffic runs.
    members: [u64; GROUPS],
    /// The step is to end now.
    stopping: bool,
    /// The sink finds flows by their TLLIs.
    finds_by_tlli: bool,
    /// Where something comes ciphered.
    samples: Option<Samples>,
}

impl Traffic {
    /// Attaches both ends in the network namespace of the calling thread, which has to be the one that runs steps.
    ///
    /// # Errors
    /// Where the configuration does not fit, the kernel does not permit it, or the SGSN's host cannot be reached.
    pub fn new(mut config: TrafficConfig) -> Result<Self, TrafficError> {
        for side in [&mut config.gn, &mut config.gb] {
            if side.peer_mac.is_none() {
                let found = neighbour::resolve(side).map_err(io_error(format!("neighbour {}", side.peer)))?;
                side.peer_mac = Some(found);
            }
        }
        let mut this = Self::unattached(config)?;
        for (program, side) in [("gn", &this.config.gn), ("gb", &this.config.gb)] {
            let index = link::index(&side.device).map_err(io_error(side.device.clone()))?;
            this._attachments.push(this.object.attach_xdp(program, index, XdpMode::Native)?);
        }
        for side in [&this.config.gn, &this.config.gb] {
            let companion = Companion::new(side).map_err(io_error(side.device.clone()))?;
            this.companions.push(companion);
        }
        Ok(this)
    }

    /// The programs and maps alone, attached to nothing: for [`Traffic::generate`] and [`Traffic::sink`].
    ///
    /// # Errors
    /// Where the configuration does not fit, or the kernel does not permit it.
    pub fn unattached(config: TrafficConfig) -> Result<Self, TrafficError> {
        config.check().map_err(TrafficError::Config)?;
        let index = |side: &Side| link::index(&side.device).map_err(io_error(side.device.clone()));
        let (gn, gb) = (index(&config.gn)?.to_ne_bytes(), index(&config.gb)?.to_ne_bytes());
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let flows = count(config.flows.len());
        let samples = config.samples();
        let finds_by_tlli = config.segmented || samples.is_some() || config.is_acknowledged();
        let object = Loader::new(&gannet_rig::objects::TRAFFIC)
            .global("gn_ifindex", &gn)
            .global("gb_ifindex", &gb)
            .max_entries("flows", flows)
            .max_entries("seens", flows)
            .max_entries("cells", count(config.cells.len()))
            .max_entries("secrets", if samples.is_some() { flows } else { 1 })
            // Those that mobiles had before stay there.
            .max_entries("by_tlli", if finds_by_tlli { flows.saturating_mul(2) } else { 1 })
            .load()?;
        let memory = Mapped {
            flows: object.mapped_array("flows")?,
            slots: object.mapped_array("calendar")?,
            plans: object.mapped_array("plans")?,
        };
        let mut this = Self {
            calendar: Calendar::new(memory),
            seens: object.mapped_array("seens")?,
            secrets: object.mapped_array("secrets")?,
            groups: object.mapped_array("groups")?,
            cells: object.mapped_array("cells")?,
            companions: Vec::new(),
            _attachments: Vec::new(),
            frame: Vec::new(),
            per_call: 4096,
            rhythm: Rhythm::of(&config),
            step: 0,
            first: vec![0; config.flows.len()],
            members: members(&config.flows),
            stopping: false,
            finds_by_tlli,
            samples,
            object,
            config,
        };
        for program in ["gn", "gb"] {
            this.object.load_xdp(program)?;
        }
        this.fill()?;
        Ok(this)
    }

    /// Writes everything that stays the same.
    fn fill(&mut self) -> Result<(), TrafficError> {
        let tables = self.object.mapped_array::<layout::Tables>("constants")?;
        let pattern = pattern();
        if let Some(tables) = tables.get(0) {
            for (to, from) in tables.exponential.iter().zip(exponential_table()) {
                to.store(from, Relaxed);
            }
            for (to, from) in tables.crc.iter().zip(gannet_wire::fcs24::octet_table()) {
                to.store(*from, Relaxed);
            }
            store(&tables.pattern, &pattern);
            cipher::fill_tables(tables);
        }
        let plan = self.calendar.memory.plan();
        let config = &self.config;
        plan.ports.store(config.nses, Relaxed);
        plan.port_first.store(config.gb_port, Relaxed);
        plan.gtp_port.store(config.gtp_port, Relaxed);
        plan.line_ns.store(line_ns(config.line_pps), Relaxed);
        plan.stretch.store(1 << 16, Relaxed);
        plan.read_mask.store(config.read_every.saturating_sub(1), Relaxed);
        plan.whole_mask.store(config.whole_every.saturating_sub(1), Relaxed);
        plan.answer_after.store(config.answer_after.into(), Relaxed);
        plan.server.store(u32::from_ne_bytes(SERVER.octets()), Relaxed);
        let lower = |side: &Side, from_port: u16, to_port: u16| {
            let mac = link::mac(&side.device).map_err(io_error(side.device.clone()))?;
            Ok::<_, TrafficError>(neighbour::lower_header(side, mac, from_port, to_port))
        };
        let (header, sum) = lower(&config.gn, config.gtp_port, config.gtp_port)?;
        store(&plan.down, &header);
        plan.down_sum.store(sum, Relaxed);
        let (header, sum) = lower(&config.gb, config.gb_port, config.sgsn_gb_port)?;
        store(&plan.up, &header);
        plan.up_sum.store(sum, Relaxed);
        for (to, cell) in self.cells.iter().zip(&config.cells) {
            to.bvci.store(be16(cell.bvci), Relaxed);
            to.port.store(be16(cell.port), Relaxed);
            store(&to.identifier, &cell.identifier);
        }
        let largest = config.flows.iter().map(|flow| usize::from(flow.size)).max().unwrap_or(0);
        let has_uplink = config.flows.iter().any(|flow| flow.direction == Direction::Up);
        self.frame = vec![0; ROOM];
        plan.has_uplink.store(u32::from(has_uplink), Relaxed);
        let fcs = if has_uplink { FCS } else { 0 };
        self.frame.extend(pattern.iter().take(largest + fcs));
        for (seen, flow) in self.seens.iter().zip(&config.flows) {
            seen.received.store(flow.received.unwrap_or(0), Relaxed);
        }
        for number in 0..self.config.flows.len() {
            self.fill_flow(u32::try_from(number).unwrap_or(u32::MAX))?;
        }
        Ok(())
    }

    fn fill_flow(&mut self, number: u32) -> Result<(), TrafficError> {
        let (Some(spec), Some(flow), Some(seen)) = (
            self.config.flows.get(number as usize),
            self.calendar.memory.flow(number),
            self.seens.get(number as usize),
        ) else {
            return Err(TrafficError::Config(format!("there is no flow {number}")));
        };
        let cell = self.config.cells.get(spec.cell as usize);
        let is_up = spec.direction == Direction::Up;
        let (generator, sink) = if is_up { (spec.tlli, spec.teid) } else { (spec.teid, spec.tlli) };
        flow.endpoint.store(be32(generator), Relaxed);
        flow.address.store(u32::from_ne_bytes(spec.address.octets()), Relaxed);
        flow.cell.store(spec.cell, Relaxed);
        flow.size.store(spec.size, Relaxed);
        flow.group.store(spec.group.0, Relaxed);
        flow.flags.store(if is_up { FLOW_UPLINK } else { cipher::flags_of(spec) }, Relaxed);
        flow.sapi.store(spec.sapi, Relaxed);
        flow.nsapi.store(spec.nsapi, Relaxed);
        let before = seen.endpoint.swap(be32(sink), Relaxed);
        if before != be32(sink) {
            seen.endpoint_before.store(if before == 0 { be32(sink) } else { before }, Relaxed);
        }
        let (bvci, port) = cell.filter(|_| !is_up).map_or((0, 0), |cell| (cell.bvci, cell.port));
        seen.bvci.store(be16(bvci), Relaxed);
        seen.port.store(be16(port), Relaxed);
        seen.acknowledged.store(u8::from(spec.received.is_some()), Relaxed);
        self.fill_secret(number, spec);
        if self.finds_by_tlli && !is_up {
            let tlli = u64::from(be32(spec.tlli));
            self.object.hash_insert("by_tlli", tlli, u64::from(number))?;
        }
        Ok(())
    }

    /// What is configured, with all changes.
    #[must_use]
    pub const fn config(&self) -> &TrafficConfig {
        &self.config
    }

    /// True where our own core receives what the SGSN sends us; see [`companion`].
    #[must_use]
    pub fn receives_here(&self) -> bool {
        !self.companions.is_empty() && self.companions.iter().all(Companion::is_effective)
    }

    /// Changes a flow between two steps or, what is not its rate, its spacing or its size, within one: a TLLI that it had
    /// before stays right for what is under way.
    ///
    /// # Errors
    /// Where there is no such flow, or what it is to be does not fit.
    pub fn set_flow(&mut self, number: u32, change: impl FnOnce(&mut FlowSpec)) -> Result<(), TrafficError> {
        let largest = self.frame.len() - ROOM;
        let cells = self.config.cells.len();
        let Some(spec) = self.config.flows.get_mut(number as usize) else {
            return Err(TrafficError::Config(format!("there is no flow {number}")));
        };
        let mut changed = spec.clone();
        change(&mut changed);
        let fits = usize::from(changed.size) <= largest
            && usize::from(changed.size) >= layout::N_PDU_MIN
            && (changed.cell as usize) < cells
            && usize::from(changed.group.0) < GROUPS
            && changed.direction == spec.direction
            && (changed.cipher.is_none() || self.samples.is_some())
            && changed.received == spec.received;
        if !fits {
            return Err(TrafficError::Config(format!("flow {number} cannot become {changed:?}")));
        }
        let [from, to] = [spec.group, changed.group].map(|group| usize::from(group.0));
        *spec = changed;
        if let Some(count) = self.members.get_mut(from) {
            *count -= 1;
        }
        if let Some(count) = self.members.get_mut(to) {
            *count += 1;
        }
        self.fill_flow(number)
    }

    /// Sets rate and excess of all flows, for the next step.
    pub fn set_rates(&mut self, mut rate: impl FnMut(u32, &FlowSpec) -> (f64, f64)) {
        for (number, spec) in (0_u32..).zip(self.config.flows.iter_mut()) {
            (spec.rate_pps, spec.excess) = rate(number, spec);
        }
    }

    /// Sets the pacing, for the next step.
    pub const fn set_pacing(&mut self, pacing: Pacing) {
        self.config.pacing = pacing;
    }

    /// Sets how long the control plane waits for its turn; see [`TrafficConfig::turn`].
    pub const fn set_turn(&mut self, turn: Duration) {
        self.config.turn = turn;
    }

    /// Sets the rate at which what is late is made up for; see [`TrafficConfig::line_pps`].
    pub fn set_line(&mut self, pps: u32) {
        self.config.line_pps = pps;
        self.calendar.memory.plan().line_ns.store(line_ns(pps), Relaxed);
    }

    /// Sets a window within the steps to come, which is counted apart to the microsecond: what a turn sees is as old as the
    /// call of the generator before it.
    pub fn set_window(&self, from: Duration, to: Duration) {
        let plan = self.calendar.memory.plan();
        plan.inside_from.store(nanos(from), Relaxed);
        plan.inside_to.store(nanos(to), Relaxed);
    }

    /// Sets how late acknowledgements come, from now on; see [`TrafficConfig::answer_after`].
    pub fn set_answer_after(&mut self, i_frames: u8) {
        self.config.answer_after = i_frames.min(ANSWER_AFTER_MAX);
        self.calendar.memory.plan().answer_after.store(self.config.answer_after.into(), Relaxed);
    }

    /// Multiplies all rates, from now on: a ramp calls this between turns.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range of the field"
    )]
    pub fn set_factor(&self, factor: f64) {
        let stretch = (STRETCH_ONE / factor.max(1e-6)).clamp(1.0, 1e9) as u64;
        self.calendar.memory.plan().stretch.store(stretch, Relaxed);
    }
}

/// How many of these flows each group has.
fn members(flows: &[FlowSpec]) -> [u64; GROUPS] {
    let mut members = [0; GROUPS];
    for spec in flows {
        if let Some(count) = members.get_mut(usize::from(spec.group.0)) {
            *count += 1;
        }
    }
    members
}

/// Whom the mobiles talk to.
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// What N-PDUs are filled with: the same in each, as in the thesis, and without a period.
fn pattern() -> Vec<u8> {
    let mut dice = fastrand::Rng::with_seed(0x6761_6e6e_6574);
    (0..PATTERN_LEN).map(|_| dice.u8(..)).collect()
}

fn store(to: &[AtomicU8], from: &[u8]) {
    for (to, from) in to.iter().zip(from) {
        to.store(*from, Relaxed);
    }
}

/// From one N-PDU to the next at such a rate, at the least.
fn line_ns(pps: u32) -> u64 {
    1_000_000_000 / u64::from(pps.max(1))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
