//! The base station system: cells that emulate a radio, and the Gb interface to an SGSN.
//!
//! Towards the SGSN it is a standard BSS: NS over UDP, any number of NSEs and NS-VCs, BVC procedures, flow control,
//! paging, FLUSH-LL, suspend and resume. Towards its mobiles it speaks the emulated Um (`proto::um`), on which a
//! [`Radio`](radio::Radio) takes the place of RLC/MAC. [`Bss::new`] gives it one that has a rate, a delay and a queue in each
//! direction of a cell, or RLC/MAC itself; [`Bss::with_radio`] takes any.
//!
//! A mobile is known by its slot on Um, and to the SGSN by the TLLIs that it used last ([`mobiles`]). What comes for a
//! TLLI that nobody in the cell uses is discarded as a real BSS does when nobody answers it: LLC-DISCARDED, and
//! RADIO-STATUS where the mobile is in none of its cells. What waits in a cell for a mobile that has left it is kept until
//! FLUSH-LL says what becomes of it ([`away`]).
//!
//! The cells of the configuration have the index of their BVC: [`bvc`](gannet_proto::bssgp::bvc) index, cell number on
//! Um and index in this module are one number.

pub mod access_point;
pub mod away;
pub mod calls;
mod cell_change;
mod channels;
mod config;
mod detained;
mod flow;
mod gb;
pub mod mobiles;
pub mod radio;
mod signalling;
#[cfg(test)]
mod tests;
mod uplink;

pub use config::{CellConfig, Config, ConfigError, VcConfig, gb_port};

use away::Away;
use calls::CallCounts;
use core::convert::Infallible;
use core::fmt;
use core::net::SocketAddr;
use detained::Detained;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_machine::timers::{Deadlines, TimerKey, TimerName as _, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::bssgp::bvc::{BvcOutput, Bvcs};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::ns::sns::LocalEndpoint;
use gannet_proto::ns::{NsEntity, NsOutput};
use gannet_proto::rlcmac::tap::{Scope, Tap};
use gannet_wire::bssgp::Cause;
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::id::Nsei;
use gannet_wire::ns::IpElement;
use mobiles::Mobiles;
use radio::{Amount, Channels, EmulatedRadio, Radio, RadioConfig, RlcMacRadio, VirtualUm, Way};
use std::collections::BTreeMap;

/// The emulated radio; a mobile is `Peer::Slot`.
pub const UM: Port = Port(0);
/// The air of a radio whose mobiles are elsewhere ([`radio::VirtualUm`]).
pub const AIR: Port = Port(0x3fff);

gannet_machine::timer_names! {
    /// Who wants to be woken.
    enum Owner {
        /// NS-VCs and NSEs.
        Ns = "NS",
        /// BVCs.
        Bvc = "T1 or T2 of BSSGP",
        /// The downlink of a cell.
        Downlink = "the downlink of a cell",
        /// The uplink of a cell.
        Uplink = "the uplink of a cell",
        /// FLOW-CONTROL-BVC of a cell.
        FlowControl = "T of FLOW-CONTROL-BVC",
        /// Calls of a cell.
        Calls = "calls of a cell",
        /// Mobiles that are between two cells.
        Away = "cell changes",
    }
}

gannet_machine::timer_names! {
    /// The deadlines of one cell.
    enum CellTimer {
        /// Something has gone, or arrives, downlink.
        Downlink = "the downlink of a cell",
        /// The same uplink.
        Uplink = "the uplink of a cell",
        /// T: the next FLOW-CONTROL-BVC (08.18 clause 8.2.3).
        FlowControl = "T of FLOW-CONTROL-BVC",
        /// A call comes or ends.
        Calls = "calls of a cell",
    }
}

gannet_machine::timer_names! {
    /// The one deadline of a wake-up that a cell asks for by itself.
    enum Wake {
        Due = "a cell",
    }
}

impl CellTimer {
    /// Each timer is woken by itself: a cell is woken for every LL-PDU, and must not ask each time for its next
    /// FLOW-CONTROL-BVC as well.
    fn key(self, cell: u32) -> TimerKey {
        let owner = match self {
            Self::Downlink => Owner::Downlink,
            Self::Uplink => Owner::Uplink,
            Self::FlowControl => Owner::FlowControl,
            Self::Calls => Owner::Calls,
        };
        owner.key(cell, 0)
    }
}

/// The deadlines of one cell, by [`CellTimer`].
#[derive(Debug, Default)]
struct CellDeadlines([Deadlines<Wake>; CellTimer::ALL.len()]);

impl CellDeadlines {
    fn set(&mut self, timer: CellTimer, at: Option<Instant>) {
        let Some(deadline) = self.0.get_mut(timer.index()) else { return };
        match at {
            Some(at) => deadline.set(Wake::Due, at),
            None => deadline.clear(Wake::Due),
        }
    }

    fn woken(&mut self, now: Instant) {
        self.0.iter_mut().for_each(|deadline| deadline.woken(now));
    }

    /// The timer that is due, the earliest first.
    fn pop_due(&mut self, now: Instant) -> Option<CellTimer> {
        let running = self.0.iter_mut().zip(CellTimer::ALL.iter().copied());
        let running = running.filter_map(|(deadline, timer)| Some((deadline.next()?, deadline, timer)));
        let (_, deadline, timer) = running.min_by_key(|(at, ..)| *at)?;
        deadline.pop_due(now).map(|_| timer)
    }

    fn arm(&mut self, cell: u32, timers: &mut Timers) {
        for (deadline, timer) in self.0.iter_mut().zip(CellTimer::ALL.iter().copied()) {
            deadline.arm(timer.key(cell), timers);
        }
    }
}

/// An order to the BSS. Cells are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin: reset all NS-VCs (08.16 clause 7.3). Also later, to begin anew.
    Start,
    /// Reset a cell's BVC (08.18 clause 8.4).
    ResetCell(u32),
    /// Block a cell's BVC (08.18 clause 8.3).
    BlockCell(u32),
    /// Unblock it.
    UnblockCell(u32),
    /// Change what a cell's radio does and what FLOW-CONTROL-BVC says of it.
    SetRadio {
        /// Which.
        cell: u32,
        /// Downlink from now on.
        downlink: RadioConfig,
        /// To be told to the SGSN, at once or a second after the last time.
        flow: BvcParameters,
    },
    /// Send FLOW-CONTROL-MS for a mobile (08.18 clause 8.2.3).
    FlowControlMs {
        /// Its slot on Um.
        mobile: u32,
        /// Its bucket.
        bucket: Bucket,
    },
    /// Change an IP endpoint of an NSE that speaks IP-SNS.
    Endpoint {
        /// Which NSE.
        nsei: Nsei,
        /// What happens.
        change: EndpointChange,
    },
    /// Tell the SGSN of a mobile on the radio interface: RADIO-STATUS (08.18 clause 7.3).
    RadioStatus {
        /// Its slot on Um.
        mobile: u32,
        /// What is the matter.
        cause: RadioCause,
    },
    /// Look at the air of all cells from now on, or no longer. Only a radio with RLC/MAC has one to look at.
    Observe(Option<Scope>),
    /// Calls hold these timeslots of a cell, bit 0 for timeslot 0, beside those of [`Config::calls`]; 0 gives them back.
    HoldChannels {
        /// Which cell.
        cell: u32,
        /// The timeslots.
        timeslots: u8,
    },
    /// Ask the SGSN for a mobile's radio access capability (08.18 clause 6.5).
    AskRaCapability {
        /// Its slot on Um.
        mobile: u32,
    },
}

/// What happens to an IP endpoint of the BSS (48.016 clause 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointChange {
    /// One more: SNS-ADD.
    Add(LocalEndpoint),
    /// One less: SNS-DELETE.
    Delete(SocketAddr),
    /// Other weights: SNS-CHANGEWEIGHT.
    Weights(IpElement),
}

impl fmt::Display for EndpointChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(local) => write!(f, "{} is not added", local.element.endpoint),
            Self::Delete(endpoint) => write!(f, "{endpoint} is not deleted"),
            Self::Weights(element) => write!(f, "the weights of {} are not changed", element.endpoint),
        }
    }
}

/// What the BSS tells. Cells are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The cell's BVC is in service.
    CellUp(u32),
    /// The cell's BVC is out of service.
    CellDown(u32),
    /// Something was seen on the air of the cell: [`Bss::tap_mut`] has it. Only after [`Command::Observe`].
    Seen(u32),
}

/// A cell.
#[derive(Debug)]
struct Cell {
    config: CellConfig,
    deadlines: CellDeadlines,
    /// Of the last FLOW-CONTROL-BVC.
    tag: u8,
    last_flow_control: Option<Instant>,
    told: flow::Told,
    /// The last FLOW-CONTROL-BVC was acknowledged.
    acknowledged: bool,
    /// Until then newcomers are not let in: the SGSN is overloaded.
    closed_until: Instant,
    counters: CellCounters,
    shared: channels::Shared,
}

/// What went through a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellCounters {
    /// LL-PDUs to mobiles that arrived there.
    pub downlink: Amount,
    /// LL-PDUs from mobiles that were sent to the SGSN.
    pub uplink: Amount,
    /// LL-PDUs to mobiles that were discarded.
    pub discarded: Amount,
}

/// Calls and PDCHs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedChannels {
    /// The PDCHs.
    pub channels: Channels,
    /// Calls that came.
    pub calls: CallCounts,
}

/// A cell as it is now.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'a> {
    /// Its configuration.
    pub config: &'a CellConfig,
    /// True where its BVC is in service.
    pub up: bool,
    /// True where the SGSN has acknowledged its flow control.
    pub flow_control_acknowledged: bool,
    /// What waits downlink.
    pub queued: Amount,
    /// What waits for mobiles that have left the cell.
    pub away: Amount,
    /// What went through.
    pub counters: CellCounters,
    /// Its PDCHs, where it has any, and the calls that share them.
    pub shared: Option<SharedChannels>,
}

/// The node.
#[derive(Debug)]
pub struct Bss {
    config: Config,
    ns: NsEntity,
    bvcs: Bvcs,
    cells: Vec<Cell>,
    mobiles: Mobiles,
    radio: Box<dyn Radio>,
    /// The air of the cells is looked at.
    is_observed: bool,
    away: Away,
    /// Mobiles on their way to another cell; `true` where the radio knows of it.
    tuned_away: BTreeMap<u32, bool>,
    detained: Detained,
    outputs: Batch<Output<Event>>,
    ns_outputs: Batch<NsOutput>,
    bvc_outputs: Batch<BvcOutput>,
}

impl Bss {
    /// A BSS whose cells are all down. It begins with [`Command::Start`].
    ///
    /// # Errors
    /// Where the configuration names a cell, BVC or NS-VC twice, or more than its own limits.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let ways = config.cells.iter().map(|cell| (cell.downlink, cell.uplink));
        let rooms = config.cells.iter().map(|cell| (cell.id, cell.downlink.queue_octets));
        let radio: Box<dyn Radio> = match (config.virtual_um, config.rlcmac) {
            (None, None) => Box::new(EmulatedRadio::new(ways, config.pdus_max, config.loss_percent)),
            (None, Some(rlcmac)) => {
                let rooms = rooms.map(|(_, octets)| octets);
                Box::new(RlcMacRadio::new(rlcmac, rooms, config.mobiles_max))
            }
            (Some(um), _) => {
                let radio = VirtualUm::new(&um, rooms, config.mobiles_max);
                Box::new(radio.ok_or(ConfigError::CellOptions)?)
            }
        };
        Self::with_radio(config, radio)
    }

    /// The same on another radio, which has the cells of the configuration.
    ///
    /// # Errors
    /// As there.
    pub fn with_radio(config: Config, radio: Box<dyn Radio>) -> Result<Self, ConfigError> {
        config.check()?;
        if config.calls.is_some() && !config.cells.is_empty() && radio.channels(0).is_none() {
            return Err(ConfigError::Calls);
        }
        let mut bvcs = Bvcs::new(config.bvc.clone());
        for cell in &config.cells {
            bvcs.add(cell.nsei, cell.bvci, cell.id).ok_or(ConfigError::Cell(cell.id))?;
        }
        Ok(Self {
            cells: config.cells.iter().map(|cell| Cell::new(*cell)).collect(),
            mobiles: Mobiles::new(config.mobiles_max),
            radio,
            is_observed: false,
            away: Away::new(config.pdus_max, config.away_lifetime),
            tuned_away: BTreeMap::new(),
            detained: Detained::default(),
            ns: NsEntity::new(config.ns.clone()),
            bvcs,
            outputs: Batch::with_capacity(64),
            ns_outputs: Batch::with_capacity(64),
            bvc_outputs: Batch::with_capacity(64),
            config,
        })
    }

    /// What is in front of the radio takes nothing more, or takes again; see [`Bss::radio_takes_again`].
    fn hold_radio_back(&mut self, on: bool) {
        self.radio.hold_back(on);
    }

    /// The link of a cell is gone, or is there again: then what has waited for it goes.
    fn hold_cell_back(&mut self, cx: &mut Context<'_>, cell: u32, on: bool) {
        self.radio.hold_cell(cell, on);
        if !on {
            self.downlink_arrived(cx, cell);
            self.arm_cell(cx, cell);
            self.settle(cx);
        }
    }

    /// The radio takes again: what has waited goes.
    fn radio_takes_again(&mut self, cx: &mut Context<'_>) {
        for cell in 0..u32::try_from(self.cells.len()).unwrap_or(u32::MAX) {
            self.downlink_arrived(cx, cell);
            self.arm_cell(cx, cell);
        }
        self.settle(cx);
    }

    /// Its network service.
    #[must_use]
    pub const fn ns(&self) -> &NsEntity {
        &self.ns
    }

    /// Its BVCs.
    #[must_use]
    pub const fn bvcs(&self) -> &Bvcs {
        &self.bvcs
    }

    /// Its mobiles.
    #[must_use]
    pub const fn mobiles(&self) -> &Mobiles {
        &self.mobiles
    }

    /// A cell as it is now.
    #[must_use]
    pub fn cell(&self, cell: u32) -> Option<CellView<'_>> {
        let state = self.cells.get(cell as usize)?;
        Some(CellView {
            config: &state.config,
            up: self.bvcs.is_unblocked(cell),
            flow_control_acknowledged: state.acknowledged,
            queued: self.radio.waiting(cell, Way::Downlink),
            away: self.away.waiting_in(cell),
            counters: state.counters,
            shared: self
                .radio
                .channels(cell)
                .map(|channels| SharedChannels { channels, calls: state.shared.call_counts() }),
        })
    }

    /// The RLC/MAC of its cells, where their radio has one.
    #[must_use]
    pub fn rlcmac(&self) -> Option<&RlcMacRadio> {
        self.radio.rlcmac()
    }

    /// Who looks at the air of a cell, for what was seen to be taken.
    pub fn tap_mut(&mut self, cell: u32) -> Option<&mut Tap> {
        self.radio.rlcmac_mut()?.tap_mut(cell)
    }

    /// How many cells there are.
    #[must_use]
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.ns.vcs().next().is_none() {
            for vc in &self.config.vcs {
                if let Err(error) = self.ns.add_static_vc(cx, vc.nsei, vc.nsvci, vc.port, vc.peer) {
                    let (nsei, nsvci) = (vc.nsei, vc.nsvci);
                    cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei} NSVCI {nsvci}: {error}"));
                }
            }
        }
        if self.ns.sns_nses().next().is_none() {
            for setup in self.config.ip_sns.clone() {
                let nsei = setup.nsei;
                if let Err(error) = self.ns.add_sns(cx, setup) {
                    cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei}: {error}"));
                }
            }
        }
        self.ns.start(cx, &mut self.ns_outputs);
        self.start_calls(cx);
    }

    /// An IP endpoint of ours comes, goes or changes its weights (48.016 clause 6.2).
    fn change_endpoint(&mut self, cx: &mut Context<'_>, nsei: Nsei, change: EndpointChange) {
        let out = &mut self.ns_outputs;
        let done = match change {
            EndpointChange::Add(local) => self.ns.sns_add(cx, nsei, local, out),
            EndpointChange::Delete(endpoint) => self.ns.sns_delete(cx, nsei, endpoint, out),
            EndpointChange::Weights(element) => self.ns.sns_change_weight(cx, nsei, element, out),
        };
        if let Err(error) = done {
            cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei}: {change}: {error}"));
        }
    }

    fn command(&mut self, cx: &mut Context<'_>, command: &Command) {
        match command {
            Command::Start => self.start(cx),
            Command::ResetCell(cell) => {
                self.bvcs.reset(cx, *cell, Cause::OamIntervention, &mut self.bvc_outputs);
            }
            Command::BlockCell(cell) => {
                self.bvcs.block(cx, *cell, Cause::OamIntervention, &mut self.bvc_outputs);
            }
            Command::UnblockCell(cell) => self.bvcs.unblock(cx, *cell, &mut self.bvc_outputs),
            Command::SetRadio { cell, downlink, flow } => self.set_radio(cx, *cell, *downlink, *flow),
            Command::FlowControlMs { mobile, bucket } => self.flow_control_ms(cx, *mobile, bucket),
            Command::Endpoint { nsei, change } => self.change_endpoint(cx, *nsei, *change),
            Command::RadioStatus { mobile, cause } => self.radio_status(cx, *mobile, *cause),
            Command::Observe(scope) => {
                if let Some(radio) = self.radio.rlcmac_mut() {
                    radio.observe(*scope);
                    self.is_observed = scope.is_some();
                }
            }
            Command::HoldChannels { cell, timeslots } => self.order_channels(cx, *cell, *timeslots),
            Command::AskRaCapability { mobile } => self.ask_ra_capability(cx, *mobile),
        }
    }

    fn timeout(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        let Some(owner) = Owner::of(key) else { return };
        match owner {
            Owner::Ns => self.ns.wake(cx, key, &mut self.ns_outputs),
            Owner::Bvc => self.bvcs.wake(cx, &mut self.bvc_outputs),
            Owner::Away => self.expire_away(cx),
            Owner::Downlink | Owner::Uplink | Owner::FlowControl | Owner::Calls => {
                self.wake_cell(cx, key.slot)
            }
        }
    }

    fn wake_cell(&mut self, cx: &mut Context<'_>, cell: u32) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.deadlines.woken(cx.now);
        while let Some(timer) =
            self.cells.get_mut(cell as usize).and_then(|cell| cell.deadlines.pop_due(cx.now))
        {
            match timer {
                CellTimer::Downlink => self.downlink_arrived(cx, cell),
                CellTimer::Uplink => self.uplink_arrived(cx, cell),
                CellTimer::FlowControl => self.flow_control_due(cx, cell),
                CellTimer::Calls => self.calls_due(cx, cell),
            }
        }
        self.arm_cell(cx, cell);
    }

    /// Asks for the cell's next wake-up.
    fn arm_cell(&mut self, cx: &mut Context<'_>, cell: u32) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        for (timer, way) in [(CellTimer::Downlink, Way::Downlink), (CellTimer::Uplink, Way::Uplink)] {
            state.deadlines.set(timer, self.radio.next_event(cell, way));
        }
        state.deadlines.arm(cell, cx.timers);
        if self.is_observed && self.radio.rlcmac().is_some_and(|radio| radio.has_seen(cell)) {
            self.outputs.push(Output::Event(Event::Seen(cell)));
        }
    }

    /// Does what the entities want, until they want nothing more.
    fn settle(&mut self, cx: &mut Context<'_>) {
        loop {
            if let Some((peer, frame)) = self.radio.pop_sent() {
                self.outputs.push(Output::Transmit { port: AIR, peer, frame });
            } else if let Some(output) = self.ns_outputs.pop() {
                self.ns_output(cx, output);
            } else if let Some(output) = self.bvc_outputs.pop() {
                self.bvc_output(cx, output);
            } else {
                self.bvcs.arm(Owner::Bvc.key(0, 0), cx.timers);
                return;
            }
        }
    }
}

impl Cell {
    fn new(config: CellConfig) -> Self {
        Self {
            config,
            deadlines: CellDeadlines::default(),
            tag: 0,
            last_flow_control: None,
            told: flow::Told::default(),
            acknowledged: false,
            closed_until: Instant::ZERO,
            counters: CellCounters::default(),
            shared: channels::Shared::default(),
        }
    }
}

impl Machine for Bss {
    type Command = Command;
    type Event = Event;
    type Rule = Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Command>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port: UM, peer: Peer::Slot(mobile), frame } => {
                    self.um_datagram(cx, mobile, frame)
                }
                Input::Datagram { port: AIR, frame, .. } => self.air_datagram(cx, &frame),
                Input::Datagram { port, peer: Peer::Udp(peer), frame } => {
                    self.ns.receive(cx, port, peer, frame, &mut self.ns_outputs);
                }
                Input::Datagram { .. } => cx.drop(Drop::UmMalformed, None),
                Input::Classified { .. } | Input::Stream { .. } => {}
                Input::Timeout(key) => self.timeout(cx, key),
                Input::Command(command) => self.command(cx, &command),
            }
            self.settle(cx);
        }
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        let Some(owner) = Owner::of(key) else { return "a timer of nobody" };
        let due = (owner == Owner::Ns).then(|| self.ns.timer_name(key)).flatten();
        due.unwrap_or(owner.name())
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<Event>>) {
        outputs.append(&mut self.outputs);
    }
}
