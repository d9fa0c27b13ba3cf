//! An edge router: packets of two or more interfaces are classified, marked, and leave by the queues of their streams.
//!
//! * A packet's header is read once ([`Flow`]). The fast path knows what was decided for the same fields before ([`Classifier`]);
//!   otherwise the rules are asked, and then where the packet leaves.
//! * Where packets to an address leave, the machine asks its driver ([`EdgeEvent::Resolve`]), which knows the kernel's tables. The
//!   first packets wait for the answer ([`EdgeCommand::Hop`]).
//! * The kernel sees the same packets, forwards none of them, and answers what a router has to answer: a hop limit that is used up, a
//!   packet that is too long, a destination without a route. Such a packet is left to it, and counted.
//! * An interface with a line has the queues of [`gannet_qos::edge`] behind the line's rate ([`WayOut`]); others send at once.

mod hops;
#[cfg(test)]
mod tests;

pub use hops::{Changed, Hop};

use crate::streams::{
    Classifier, Found, Paths, RuleBase, Verdict, WayOut, WayOutConfig, WayOutError, header,
};
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, EthernetAddress, Input, Machine, Output, Peer, Port};
use hops::{Hops, Lookup, Waits};

/// Packets that leave in one part of work.
const PART: usize = 64;

gannet_machine::timer_names! {
    /// Who wants to be woken.
    enum Owner {
        /// An interface whose line is free again.
        Line = "line",
        /// Packets that have waited too long for their next hop.
        Hops = "next hops",
    }
}

/// How an edge router is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Its interfaces: the first is port 0.
    pub interfaces: Vec<WayOutConfig>,
    /// Its rules.
    pub rules: RuleBase,
    /// Flows that the fast path remembers.
    pub flows: usize,
    /// A number that nobody else knows.
    pub seed: u64,
}

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeCommand {
    /// Packets to this address leave so.
    Hop {
        /// The address.
        destination: IpAddr,
        /// Where they go.
        hop: Hop,
    },
    /// The station through which packets to this address leave has to be found, which the kernel does.
    Unresolved(IpAddr),
    /// The kernel's tables have changed.
    TablesChanged(Changed),
}

/// What the driver is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeEvent {
    /// Where do packets to this address leave? The answer is an [`EdgeCommand::Hop`], or an [`EdgeCommand::Unresolved`], and then an
    /// [`EdgeCommand::TablesChanged`] when that is known. Until it comes packets leave as they did before.
    Resolve(IpAddr),
}

/// A packet with the station that it goes to.
#[derive(Debug)]
pub struct Outgoing {
    to: EthernetAddress,
    frame: Frame,
}

/// What is decided for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    Kernel,
    Forward { interface: u16, station: EthernetAddress, mtu: u16, stream: u32, mark: Option<u8> },
}

/// Packets by what became of them at their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that were given to an interface.
    pub forwarded: u64,
    /// Packets that the kernel answers or delivers.
    pub left_to_kernel: u64,
    /// Packets that were fragmented.
    pub fragmented: u64,
}

/// The router.
#[derive(Debug)]
pub struct Edge {
    /// With each fate the age of its destination at which that was decided.
    classifier: Classifier<(Fate, u32)>,
    hops: Hops,
    interfaces: Vec<WayOut<Outgoing>>,
    events: Batch<EdgeEvent>,
    /// Answers that were given between two calls of the driver.
    answers: Batch<EdgeCommand>,
    counts: Counts,
    expires_at: Option<Instant>,
    has_work: bool,
}

impl Edge {
    /// A router with empty queues.
    ///
    /// # Errors
    /// Which interface cannot be set up, by its index, and why.
    pub fn new(now: Instant, config: EdgeConfig) -> Result<Self, (usize, WayOutError)> {
        let interfaces = config.interfaces.iter().enumerate();
        let interfaces = interfaces.map(|(at, of)| WayOut::new(now, of).map_err(|error| (at, error)));
        Ok(Self {
            interfaces: interfaces.collect::<Result<_, _>>()?,
            classifier: Classifier::new(config.rules, config.flows, config.seed),
            hops: Hops::new(config.seed),
            events: Batch::default(),
            answers: Batch::default(),
            counts: Counts::default(),
            expires_at: None,
            has_work: false,
        })
    }

    /// What became of the packets that arrived.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// How often which path was taken.
    #[must_use]
    pub const fn paths(&self) -> Paths {
        self.classifier.paths()
    }

    /// Destinations whose way is known.
    #[must_use]
    pub fn destinations(&self) -> usize {
        self.hops.known()
    }

    /// The rules.
    #[must_use]
    pub const fn rules(&self) -> &RuleBase {
        self.classifier.rules()
    }

    /// The interfaces.
    #[must_use]
    pub fn interfaces(&self) -> &[WayOut<Outgoing>] {
        &self.interfaces
    }

    /// Other rules, from the next packet on.
    pub fn set_rules(&mut self, rules: RuleBase) {
        self.classifier.set_rules(rules);
    }

    /// Takes another configuration of an interface. No packet that waits is lost.
    ///
    /// # Errors
    /// Why it stays as it was.
    pub fn reconfigure(
        &mut self,
        now: Instant,
        interface: usize,
        config: &WayOutConfig,
    ) -> Result<(), WayOutError> {
        let Some(interface) = self.interfaces.get_mut(interface) else { return Ok(()) };
        self.has_work = true;
        interface.reconfigure(now, config)
    }

    /// Takes a command as [`Machine::handle_input`] does, but at the next call of [`Machine::poll_output`]: for who is asked by an
    /// event and knows the answer.
    pub fn answer(&mut self, command: EdgeCommand) {
        self.answers.push(command);
        self.has_work = true;
    }

    /// A packet has arrived, or its next hop has become known.
    fn arrive(&mut self, cx: &mut Context<'_>, ingress: u16, mut frame: Frame) {
        let Some(header) = header::read(ingress, &frame) else {
            return cx.drop(Drop::EdgeMalformed, None);
        };
        frame.truncate(header.len);
        if header.hop_limit <= 1 || is_odd(header.flow.source) {
            self.counts.left_to_kernel += 1;
            return;
        }
        let age = self.hops.age(header.flow.destination);
        let found = match self.classifier.find(&header.flow) {
            Found::Fast((_, decided_at)) if decided_at != age => {
                Found::Slow(self.classifier.rules().verdict(&header.flow))
            }
            found => found,
        };
        let fate = match found {
            Found::Fast((fate, _)) => fate,
            Found::Slow(Verdict { stream: None, .. }) => {
                self.classifier.remember(&header.flow, (Fate::Refused, age));
                Fate::Refused
            }
            Found::Slow(Verdict { stream: Some(stream), mark }) => {
                let destination = header.flow.destination;
                let (hop, is_valid) = match self.hops.get(destination) {
                    Lookup::Nothing => return self.hold(cx, ingress, destination, frame),
                    Lookup::Valid(hop) => (hop, true),
                    Lookup::Former(hop, asks) => {
                        if asks {
                            self.events.push(EdgeEvent::Resolve(destination));
                        }
                        (hop, false)
                    }
                };
                let fate = match hop {
                    Hop::Kernel => Fate::Kernel,
                    Hop::Station { interface, station, mtu } => {
                        Fate::Forward { interface, station, mtu, stream, mark }
                    }
                };
                if is_valid {
                    self.classifier.remember(&header.flow, (fate, age));
                }
                fate
            }
        };
        match fate {
            Fate::Refused => cx.drop(Drop::EdgeRefused, None),
            Fate::Kernel => self.counts.left_to_kernel += 1,
            Fate::Forward { mtu, .. } if frame.len() > usize::from(mtu) && !header.may_fragment => {
                self.counts.left_to_kernel += 1;
            }
            Fate::Forward { interface, station, mtu, stream, mark } => {
                header::forward(&mut frame, mark);
                self.counts.forwarded += 1;
                if frame.len() > usize::from(mtu) {
                    return self.fragment(cx, (interface, station), mtu, stream, &frame);
                }
                self.send(cx, interface, stream, Outgoing { to: station, frame });
            }
        }
    }

    fn hold(&mut self, cx: &mut Context<'_>, ingress: u16, destination: IpAddr, frame: Frame) {
        match self.hops.hold(cx.now, destination, (ingress, frame)) {
            Waits::Ask => self.events.push(EdgeEvent::Resolve(destination)),
            Waits::Asked => {}
            Waits::Full => cx.drop(Drop::EdgeHeldFull, None),
        }
        self.watch_hops(cx);
    }

    fn fragment(
        &mut self,
        cx: &mut Context<'_>,
        (interface, to): (u16, EthernetAddress),
        mtu: u16,
        stream: u32,
        packet: &[u8],
    ) {
        let mut pieces = Vec::new();
        let is_done = header::fragment(packet, mtu.into(), |header, payload| {
            let piece =
                cx.frames.copy_of(header).and_then(|mut frame| frame.append(payload).then_some(frame));
            piece.map(|frame| pieces.push(frame)).is_some()
        });
        if !is_done {
            return cx.drop(Drop::EdgeNotFragmented, None);
        }
        self.counts.fragmented += 1;
        for frame in pieces {
            self.send(cx, interface, stream, Outgoing { to, frame });
        }
    }

    fn send(&mut self, cx: &mut Context<'_>, interface: u16, stream: u32, packet: Outgoing) {
        let Some(interface) = self.interfaces.get_mut(usize::from(interface)) else { return };
        let len = packet.frame.len();
        interface.offer(cx.now, stream, (packet, len), |reason| cx.trace.dropped(reason, None));
        self.has_work = true;
    }

    fn command(&mut self, cx: &mut Context<'_>, command: EdgeCommand) {
        match command {
            EdgeCommand::Hop { destination, hop } => {
                for (ingress, frame) in self.hops.learn(destination, hop) {
                    self.arrive(cx, ingress, frame);
                }
            }
            EdgeCommand::Unresolved(destination) => {
                for _ in 0..self.hops.unresolved(destination) {
                    cx.drop(Drop::EdgeHeldFull, None);
                }
            }
            EdgeCommand::TablesChanged(changed) => {
                for destination in self.hops.doubt(changed) {
                    self.events.push(EdgeEvent::Resolve(destination));
                }
            }
        }
    }

    fn woken(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        match Owner::of(key) {
            Some(Owner::Line) => {
                if let Some(interface) = self.interfaces.get_mut(key.slot as usize) {
                    interface.wakes_at = None;
                    self.has_work = true;
                }
            }
            Some(Owner::Hops) => {
                self.expires_at = None;
                for _ in 0..self.hops.expire(cx.now) {
                    cx.drop(Drop::EdgeNoNeighbour, None);
                }
                self.watch_hops(cx);
            }
            None => {}
        }
    }

    /// Asks to be woken when the first packet has waited too long.
    fn watch_hops(&mut self, cx: &mut Context<'_>) {
        let Some(at) = self.hops.next_expiry().filter(|_| self.expires_at.is_none()) else { return };
        self.expires_at = Some(at);
        cx.timers.wake(Owner::Hops.key(0, 0), at);
    }
}

/// A source that no packet may have which is forwarded (RFC 1812 clause 5.3.7, RFC 4291 clause 2.5.6).
fn is_odd(source: IpAddr) -> bool {
    let is_local = match source {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    is_local || source.is_loopback() || source.is_multicast() || source.is_unspecified()
}

impl Machine for Edge {
    type Command = EdgeCommand;
    type Event = EdgeEvent;
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<EdgeCommand>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port: Port(ingress), frame, .. } => {
                    self.counts.arrived += 1;
                    self.arrive(cx, ingress, frame);
                }
                Input::Command(command) => self.command(cx, command),
                Input::Timeout(key) => self.woken(cx, key),
                // The driver has no rules of this machine, and no streams.
                Input::Classified { .. } | Input::Stream { .. } => {}
            }
        }
    }

    fn poll_output(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<Output<EdgeEvent>>) {
        while let Some(command) = self.answers.pop() {
            self.command(cx, command);
        }
        while let Some(event) = self.events.pop() {
            outputs.push(Output::Event(event));
        }
        self.has_work = false;
        for (interface, at) in self.interfaces.iter_mut().zip(0_u16..) {
            let mut left = PART;
            while left > 0
                && let Some(Outgoing { to, frame }) = interface.take(cx.now, &mut Some)
            {
                left -= 1;
                outputs.push(Output::Transmit { port: Port(at), peer: Peer::Ethernet(to), frame });
            }
            let Some(next) = interface.next_conforming(cx.now) else { continue };
            if next <= cx.now {
                self.has_work = true;
            } else if interface.wakes_at.is_none_or(|wakes_at| next < wakes_at) {
                interface.wakes_at = Some(next);
                cx.timers.wake(Owner::Line.key(at.into(), 0), next);
            }
        }
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        Owner::of(key).map_or("a timer without a name", Owner::name)
    }

    fn has_work(&self) -> bool {
        self.has_work
    }
}
