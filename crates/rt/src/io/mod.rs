//! The outside of the machines: sockets, devices and links, found by machine and port, and what all machines share.

mod joined;
mod packet_rings;
mod packets;
mod polling;
mod receive;
mod send;
mod stream;
mod tracing;
mod tun;
mod within;

use crate::busy::Busy;
use crate::gateway::Forwarder;
use crate::joined::JoinedMessages;
use crate::log::LogSink;
use crate::messages::{BATCH, Messages};
use crate::netlink::Monitor;
use crate::system::Clock;
use crate::tcp::Tcp;
use crate::tracer::{Interfaces, Tracer};
use crate::tun::{Scratch, Tun};
use crate::udp::{self, Udp, UdpConfig};
use crate::xdp::Xdp;
use core::net::SocketAddr;
use gannet_demux::Classify;
use gannet_demux::reuseport::Reuseport;
use gannet_demux::umem::Umem;
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::load::{Load, TurnCost};
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_machine::{Peer, Port, StreamState};
use gannet_proto::classifier::RuleChange;
use gannet_trace::pcapng::{InterfaceId, LinkType, Section};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
pub use packet_rings::{PacketReport, PacketRings};
use packets::Packets;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use tun::TunPort;
use within::Within;

/// A datagram on its way to a machine of this loop.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) machine: usize,
    pub(crate) port: Port,
    pub(crate) origin: Origin,
    pub(crate) frame: Frame,
}

/// Where a datagram came from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// From this peer, and whose it is the machine will find out.
    Peer(Peer),
    /// Its owner is known by the rule of this name.
    Rule(u32),
}

/// Whose an endpoint is, and how the machine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) machine: usize,
    pub(crate) port: Port,
}

pub(crate) struct Endpoint {
    pub(crate) owner: Owner,
    pub(crate) kind: Kind,
    /// The kernel may have something for us. Readiness is told once (edge-triggered), so it is remembered here.
    readable: bool,
    /// What the kernel has stays there for the time being.
    held: bool,
}

#[allow(clippy::large_enum_variant, reason = "a few dozen endpoints, nearly all of them UDP sockets")]
pub(crate) enum Kind {
    Udp(Udp),
    Tun(TunPort),
    Tcp(Box<Tcp>),
    Packets(Packets),
}

impl Endpoint {
    const fn is_udp(&self) -> bool {
        matches!(self.kind, Kind::Udp(_))
    }

    /// `None` for a stream without a connection.
    fn fd(&self) -> Option<RawFd> {
        match &self.kind {
            Kind::Udp(udp) => Some(udp.socket.as_raw_fd()),
            Kind::Tun(port) => Some(port.tun.as_raw_fd()),
            Kind::Tcp(tcp) => tcp.fd(),
            Kind::Packets(packets) => packets.socket.as_ref().map(AsRawFd::as_raw_fd),
        }
    }
}

/// What a machine's port is joined to.
#[derive(Debug, Default)]
enum Binding {
    #[default]
    Nothing,
    /// One endpoint, whatever the peer.
    Endpoint(usize),
    /// An endpoint for each `Peer::Slot`.
    Slots(Vec<Option<usize>>),
    /// A port of a machine in the same loop.
    Link(Owner),
}

/// Everything that the machines of one loop share.
pub(crate) struct Io {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) now: Instant,
    pub(crate) log: LogSink,
    pub(crate) frames: FramePool,
    /// Records what crosses the interfaces, while somebody wants that.
    pub(crate) recorder: Option<Box<Tracer>>,
    /// All interfaces that can be recorded.
    pub(crate) interfaces: Interfaces,
    /// What captures say of who writes them.
    pub(crate) section: Section,
    pub(crate) arrivals: VecDeque<Arrival>,
    pub(crate) stop: bool,
    pub(crate) hangup: bool,
    pub(crate) report: bool,
    pub(crate) endpoints: Vec<Option<Endpoint>>,
    /// Memory that the kernel shares, until it is given to `xdp`.
    pub(crate) umem: Option<Umem>,
    /// Devices with AF_XDP sockets, where there are any.
    pub(crate) xdp: Option<Xdp>,
    /// The classifier of sockets that share a port.
    pub(crate) filter: Option<Reuseport>,
    /// What forwards at the driver, for each machine that has it.
    pub(crate) forwarders: Vec<Forwarder>,
    /// That a rule was refused has been said.
    refusal_told: bool,
    /// That a device cannot do all that it was asked for has been said.
    missing_told: bool,
    /// Says when the kernel's tables have changed.
    pub(crate) monitor: Option<Monitor>,
    /// It has said so.
    pub(crate) tables_changed: bool,
    /// When packet sockets are asked next for what they have lost.
    pub(crate) count_lost_at: Instant,
    pub(crate) busy: Busy,
    pub(crate) load: Load,
    /// What this turn has spent on packets.
    pub(crate) turn_cost: TurnCost,
    /// What has happened to streams and was not told yet.
    pub(crate) streams: Vec<(Owner, StreamState)>,
    /// When the first stream wants to connect.
    pub(crate) reconnect_at: Option<Instant>,
    bindings: Vec<Vec<Binding>>,
    within: Within,
    /// Endpoints that have `readable` set.
    readable: VecDeque<usize>,
    /// Sockets and devices with something in their queue.
    unsent: Vec<usize>,
    messages: Messages,
    /// For sockets whose datagrams come joined, once there is one that has something.
    joined: Option<JoinedMessages>,
    /// For the devices' super-packets.
    scratch: Scratch,
    /// Frames to receive into, beside those that the pool promises to the machines.
    spare: Vec<Frame>,
}

/// Endpoint tokens are the endpoint's index plus this.
pub(crate) const ENDPOINT_TOKENS: usize = 1 << 32;
/// The token of the rings of AF_XDP sockets: their wake-up is all that counts.
pub(crate) const RINGS: Token = Token(3);
/// The token of the monitor.
pub(crate) const MONITOR: Token = Token(4);

/// The frames of a loop, and the memory that the kernel shares where `ring_frames` of them are for its rings.
pub(crate) fn make_frames(frames: usize, ring_frames: usize) -> io::Result<(FramePool, Option<Umem>)> {
    if ring_frames == 0 {
        return Ok((FramePool::new(frames + BATCH), None));
    }
    let (umem, buffers) = Umem::new(frames + BATCH + ring_frames)?;
    Ok((FramePool::with_buffers(buffers), Some(umem)))
}

impl Io {
    pub(crate) fn new(
        registry: Registry,
        clock: Clock,
        log: LogSink,
        (frames, umem): (FramePool, Option<Umem>),
        busy: Busy,
    ) -> Self {
        let spare = core::iter::from_fn(|| frames.alloc()).take(BATCH).collect();
        Self {
            umem,
            xdp: None,
            filter: None,
            forwarders: Vec::new(),
            refusal_told: false,
            missing_told: false,
            monitor: None,
            tables_changed: false,
            count_lost_at: Instant::ZERO,
            busy,
            load: Load::default(),
            turn_cost: TurnCost::default(),
            registry,
            clock,
            now: clock.now(),
            log,
            frames,
            recorder: None,
            interfaces: Interfaces::default(),
            section: Section::default(),
            arrivals: VecDeque::with_capacity(1024),
            stop: false,
            hangup: false,
            report: false,
            endpoints: Vec::new(),
            streams: Vec::new(),
            reconnect_at: None,
            bindings: Vec::new(),
            within: Within::default(),
            readable: VecDeque::with_capacity(64),
            unsent: Vec::with_capacity(64),
            messages: Messages::default(),
            joined: None,
            scratch: Scratch::new(),
            spare,
        }
    }

    pub(crate) fn refresh_now(&mut self) {
        self.now = self.clock.now();
        self.log.set_now(self.now);
    }

    pub(crate) fn note(&mut self, level: Level, line: core::fmt::Arguments<'_>) {
        if self.log.enabled(Category::Main, level) {
            self.log.line(Category::Main, level, line);
        }
    }

    // ------------------------------------------------------------------ making and unmaking

    pub(crate) fn bind_udp(
        &mut self,
        machine: usize,
        port: Port,
        config: &UdpConfig,
    ) -> io::Result<SocketAddr> {
        let socket = udp::open(config)
            .map_err(|error| io::Error::new(error.kind(), format!("UDP {}: {error}", config.bind)))?;
        let local = socket.local_addr()?;
        let record = self.udp_interface(config);
        let kind = Kind::Udp(Udp::new(socket, config, record)?);
        let index = self.insert(Owner { machine, port }, kind)?;
        self.rebind(machine, port, Peer::Link, Some(index));
        Ok(local)
    }

    /// Adds a socket that only receives for a port that has one already, with the same address.
    pub(crate) fn bind_beside(
        &mut self,
        machine: usize,
        port: Port,
        config: &UdpConfig,
    ) -> io::Result<usize> {
        let record = self.udp_interface(config);
        let kind = Kind::Udp(Udp::new(udp::open(config)?, config, record)?);
        self.insert(Owner { machine, port }, kind)
    }

    /// The socket that a port sends through.
    pub(crate) fn udp_of(&mut self, machine: usize, port: Port) -> Option<&mut Udp> {
        let index = self.endpoint_of(machine, port, Peer::Link)?;
        self.udp_at(index)
    }

    pub(crate) fn udp_at(&mut self, index: usize) -> Option<&mut Udp> {
        match &mut self.endpoints.get_mut(index)?.as_mut()?.kind {
            Kind::Udp(udp) => Some(udp),
            Kind::Tun { .. } | Kind::Tcp(_) | Kind::Packets(_) => None,
        }
    }

    /// Makes the sockets whose addresses were on a device anew, since the kernel remembers for each the NAPI that its
    /// first packet came through.
    pub(crate) fn reopen_udp(&mut self, index: usize) -> io::Result<()> {
        let Some(udp) = self.udp_at(index) else { return Ok(()) };
        // Its own port, where any was asked for.
        let config = UdpConfig { bind: udp.socket.local_addr()?, ..udp.config.clone() };
        let fd = udp.socket.as_raw_fd();
        let _ = self.registry.deregister(&mut SourceFd(&fd));
        let Some(udp) = self.udp_at(index) else { return Ok(()) };
        // Closed before the address can be bound again.
        udp.socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
        udp.socket = udp::open(&config)?;
        (udp.napi, udp.polls) = (0, false);
        let fd = udp.socket.as_raw_fd();
        self.registry.register(&mut SourceFd(&fd), Token(ENDPOINT_TOKENS + index), Interest::READABLE)
    }

    /// A rule for the classifier, where there is one.
    pub(crate) fn classify(&mut self, change: &RuleChange) {
        // Each classifier leaves alone what is not its own.
        let mut result = Ok(());
        for program in self.xdp.iter_mut().flat_map(|xdp| &mut xdp.programs) {
            result = program.apply(change).and(result);
        }
        if let Some(filter) = &mut self.filter {
            result = filter.apply(change).map_err(|error| error.to_string()).and(result);
        }
        let Err(error) = result else { return };
        // A table that is too small would say so for every context.
        if !core::mem::replace(&mut self.refusal_told, true) {
            self.note(
                Level::Error,
                format_args!("a rule of classification is not in force, perhaps others too: {error}"),
            );
        }
    }

    pub(crate) fn attach_tun(
        &mut self,
        machine: usize,
        port: Port,
        peer: Peer,
        tun: Tun,
        record_as: Option<&str>,
    ) -> io::Result<()> {
        if let Peer::Ethernet(at) = peer {
            let error = format!("a TUN device cannot stand at the Ethernet address {at}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        self.say_what_is_missing(&tun);
        let record = self.interface(record_as);
        let owner = Owner { machine, port };
        let index = self.insert(owner, Kind::Tun(TunPort::new(tun, peer, record)))?;
        self.rebind(machine, port, peer, Some(index));
        Ok(())
    }

    /// Removes what `port` (or its slot) is joined to; a TUN device made by this process disappears with it.
    pub(crate) fn detach(&mut self, machine: usize, port: Port, peer: Peer) {
        self.rebind(machine, port, peer, None);
    }

    pub(crate) fn link(&mut self, a: (usize, Port), b: (usize, Port)) {
        for (from, to) in [(a, b), (b, a)] {
            *self.binding(from.0, from.1) = Binding::Link(Owner { machine: to.0, port: to.1 });
        }
    }

    pub(crate) fn tun(&self, machine: usize, port: Port, peer: Peer) -> Option<&Tun> {
        let index = self.endpoint_of(machine, port, peer)?;
        match &self.endpoints.get(index)?.as_ref()?.kind {
            Kind::Tun(port) => Some(&port.tun),
            Kind::Udp(_) | Kind::Tcp(_) | Kind::Packets(_) => None,
        }
    }

    /// What comes to a port, or to a slot of it, stays in the kernel, that of a TUN device in its queue here; or with `false` is received again.
    pub(crate) fn hold(&mut self, machine: usize, port: Port, peer: Peer, on: bool) {
        let Some(index) = self.endpoint_of(machine, port, peer) else { return };
        let Some(Some(endpoint)) = self.endpoints.get_mut(index) else { return };
        if endpoint.held == on {
            return;
        }
        (endpoint.held, endpoint.readable) = (on, false);
        self.readable.retain(|other| *other != index);
        // Readiness was told while nobody listened.
        self.ready(index, true, false);
    }

    pub(crate) fn interface(&mut self, name: Option<&str>) -> Option<InterfaceId> {
        Some(self.interface_of(name?, LinkType::Raw, false))
    }

    pub(crate) fn udp_interface(&mut self, config: &UdpConfig) -> Option<InterfaceId> {
        let name = config.record_as.as_deref()?;
        Some(self.interface_of(name, LinkType::Raw, config.sends_downlink))
    }

    fn insert(&mut self, owner: Owner, kind: Kind) -> io::Result<usize> {
        let index = self.endpoints.iter().position(Option::is_none).unwrap_or(self.endpoints.len());
        let endpoint = Endpoint { owner, kind, readable: false, held: false };
        let token = Token(ENDPOINT_TOKENS + index);
        if let Some(fd) = endpoint.fd() {
            self.registry.register(&mut SourceFd(&fd), token, Interest::READABLE)?;
        }
        match self.endpoints.get_mut(index) {
            Some(slot) => *slot = Some(endpoint),
            None => self.endpoints.push(Some(endpoint)),
        }
        // Room for all, so that the round allocates nothing.
        self.unsent.reserve(self.endpoints.len().saturating_sub(self.unsent.len()));
        self.readable.reserve(self.endpoints.len().saturating_sub(self.readable.len()));
        self.know_sockets();
        Ok(index)
    }

    fn remove(&mut self, index: usize) {
        // What a device was given before goes with it.
        self.flush_tun(index);
        let endpoint = self.endpoints.get_mut(index).and_then(Option::take);
        if let Some(Endpoint { kind: Kind::Tun(port), .. }) = &endpoint {
            (0..port.waiting.len())
                .for_each(|_| self.log.dropped(gannet_machine::drops::Drop::RtDeviceQueue, None));
        }
        if let Some(fd) = endpoint.as_ref().and_then(Endpoint::fd) {
            // Closing takes it off the poll too; an error here changes nothing.
            let _ = self.registry.deregister(&mut SourceFd(&fd));
        }
        self.readable.retain(|other| *other != index);
        self.unsent.retain(|other| *other != index);
        self.know_sockets();
    }

    fn binding(&mut self, machine: usize, port: Port) -> &mut Binding {
        if self.bindings.len() <= machine {
            self.bindings.resize_with(machine + 1, Vec::new);
        }
        #[expect(clippy::indexing_slicing, reason = "both were just made long enough")]
        {
            let ports = &mut self.bindings[machine];
            let port = usize::from(port.0);
            if ports.len() <= port {
                ports.resize_with(port + 1, Binding::default);
            }
            &mut ports[port]
        }
    }

    /// Joins the port, or a slot of it, to an endpoint or to nothing, and removes the endpoint that was there.
    fn rebind(&mut self, machine: usize, port: Port, peer: Peer, endpoint: Option<usize>) {
        let binding = self.binding(machine, port);
        let mut former = Vec::new();
        match peer {
            Peer::Slot(slot) => {
                if !matches!(binding, Binding::Slots(_)) {
                    if let Binding::Endpoint(index) = core::mem::take(binding) {
                        former.push(index);
                    }
                    *binding = Binding::Slots(Vec::new());
                }
                if let Binding::Slots(slots) = binding {
                    let slot = usize::try_from(slot).unwrap_or(0);
                    if slots.len() <= slot {
                        slots.resize(slot + 1, None);
                    }
                    if let Some(place) = slots.get_mut(slot) {
                        former.extend(core::mem::replace(place, endpoint));
                    }
                }
            }
            // Nothing is ever there.
            Peer::Ethernet(_) => {}
            Peer::Link | Peer::Udp(_) => {
                match core::mem::replace(binding, endpoint.map_or(Binding::Nothing, Binding::Endpoint)) {
                    Binding::Endpoint(index) => former.push(index),
                    Binding::Slots(slots) => former.extend(slots.into_iter().flatten()),
                    Binding::Nothing | Binding::Link(_) => {}
                }
            }
        }
        if peer == Peer::Link || matches!(peer, Peer::Udp(_)) {
            // Those that only receive go with the one that sends.
            let owner = Owner { machine, port };
            let beside = self.endpoints.iter().enumerate().filter(|(index, other)| {
                Some(*index) != endpoint
                    && other.as_ref().is_some_and(|other| other.owner == owner && other.is_udp())
            });
            former.extend(beside.map(|(index, _)| index));
        }
        for index in former {
            self.remove(index);
        }
    }

    fn endpoint_of(&self, machine: usize, port: Port, peer: Peer) -> Option<usize> {
        match (self.bindings.get(machine)?.get(usize::from(port.0))?, peer) {
            (Binding::Endpoint(index), _) => Some(*index),
            (Binding::Slots(slots), Peer::Slot(slot)) => *slots.get(usize::try_from(slot).ok()?)?,
            _ => None,
        }
    }
}
