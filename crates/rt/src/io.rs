//! The outside of the machines: sockets, devices and links, found by machine and port, and what all machines share.

use crate::log::LogSink;
use crate::sys::{BATCH, Messages};
use crate::system::Clock;
use crate::tun::Tun;
use crate::udp::{self, LocalAddress, Received, Udp, UdpConfig};
use core::net::SocketAddr;
use gannet_proto::drops::Drop;
use gannet_proto::frame::{Frame, FramePool};
use gannet_proto::machine::{Peer, Port};
use gannet_proto::time::Instant;
use gannet_proto::trace::{Category, Level, TraceSink};
use gannet_trace::pcapng::{Direction, InterfaceId, Recorder};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// A datagram on its way to a machine of this loop.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) machine: usize,
    pub(crate) port: Port,
    pub(crate) peer: Peer,
    pub(crate) frame: Frame,
}

/// Whose an endpoint is, and how the machine knows it.
#[derive(Debug, Clone, Copy)]
struct Owner {
    machine: usize,
    port: Port,
}

struct Endpoint {
    owner: Owner,
    kind: Kind,
    /// The kernel may have something for us. Readiness is told once (edge-triggered), so it is remembered here.
    readable: bool,
}

enum Kind {
    Udp(Udp),
    Tun { tun: Tun, peer: Peer, record: Option<InterfaceId> },
}

impl Endpoint {
    fn fd(&self) -> RawFd {
        match &self.kind {
            Kind::Udp(udp) => udp.socket.as_raw_fd(),
            Kind::Tun { tun, .. } => tun.as_raw_fd(),
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
    pub(crate) recorder: Option<Recorder>,
    pub(crate) arrivals: VecDeque<Arrival>,
    pub(crate) stop: bool,
    pub(crate) hangup: bool,
    endpoints: Vec<Option<Endpoint>>,
    bindings: Vec<Vec<Binding>>,
    /// Endpoints that have `readable` set.
    readable: VecDeque<usize>,
    /// Sockets with something in their queue.
    unsent: Vec<usize>,
    messages: Messages,
    /// Frames to receive into, beside those that the pool promises to the machines.
    spare: Vec<Frame>,
}

/// Endpoint tokens are the endpoint's index plus this.
pub(crate) const ENDPOINT_TOKENS: usize = 1 << 32;

impl Io {
    /// With `frames` frames for the machines.
    pub(crate) fn new(registry: Registry, clock: Clock, log: LogSink, frames: usize) -> Self {
        let frames = FramePool::new(frames + BATCH);
        let spare = core::iter::from_fn(|| frames.alloc()).take(BATCH).collect();
        Self {
            registry,
            clock,
            now: clock.now(),
            log,
            frames,
            recorder: None,
            arrivals: VecDeque::with_capacity(1024),
            stop: false,
            hangup: false,
            endpoints: Vec::new(),
            bindings: Vec::new(),
            readable: VecDeque::with_capacity(64),
            unsent: Vec::with_capacity(64),
            messages: Messages::new(),
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
        let socket = udp::open(config)?;
        let local = socket.local_addr()?;
        let record = self.interface(config.record_as.as_deref());
        let queue = udp::SendQueue::new(config.send_queue_max);
        let kind = Kind::Udp(Udp { socket, local: LocalAddress::new(local), record, queue });
        let index = self.insert(Owner { machine, port }, kind)?;
        self.rebind(machine, port, Peer::Link, Some(index));
        Ok(local)
    }

    pub(crate) fn attach_tun(
        &mut self,
        machine: usize,
        port: Port,
        peer: Peer,
        tun: Tun,
        record_as: Option<&str>,
    ) -> io::Result<()> {
        let record = self.interface(record_as);
        let owner = Owner { machine, port };
        let index = self.insert(owner, Kind::Tun { tun, peer, record })?;
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
            Kind::Tun { tun, .. } => Some(tun),
            Kind::Udp(_) => None,
        }
    }

    fn interface(&mut self, name: Option<&str>) -> Option<InterfaceId> {
        Some(self.recorder.as_mut()?.interface(name?))
    }

    fn insert(&mut self, owner: Owner, kind: Kind) -> io::Result<usize> {
        let index = self.endpoints.iter().position(Option::is_none).unwrap_or(self.endpoints.len());
        let endpoint = Endpoint { owner, kind, readable: false };
        let token = Token(ENDPOINT_TOKENS + index);
        self.registry.register(&mut SourceFd(&endpoint.fd()), token, Interest::READABLE)?;
        match self.endpoints.get_mut(index) {
            Some(slot) => *slot = Some(endpoint),
            None => self.endpoints.push(Some(endpoint)),
        }
        // Room for all, so that the round allocates nothing.
        self.unsent.reserve(self.endpoints.len().saturating_sub(self.unsent.len()));
        self.readable.reserve(self.endpoints.len().saturating_sub(self.readable.len()));
        Ok(index)
    }

    fn remove(&mut self, index: usize) {
        if let Some(endpoint) = self.endpoints.get_mut(index).and_then(Option::take) {
            // Closing takes it off the poll too; an error here changes nothing.
            let _ = self.registry.deregister(&mut SourceFd(&endpoint.fd()));
        }
        self.readable.retain(|other| *other != index);
        self.unsent.retain(|other| *other != index);
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
            Peer::Link | Peer::Udp(_) => {
                match core::mem::replace(binding, endpoint.map_or(Binding::Nothing, Binding::Endpoint)) {
                    Binding::Endpoint(index) => former.push(index),
                    Binding::Slots(slots) => former.extend(slots.into_iter().flatten()),
                    Binding::Nothing | Binding::Link(_) => {}
                }
            }
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

    // ------------------------------------------------------------------ receiving

    /// The poll said that endpoint `index` may be read or written.
    pub(crate) fn ready(&mut self, index: usize, readable: bool, writable: bool) {
        let Some(Some(endpoint)) = self.endpoints.get_mut(index) else { return };
        if readable && !endpoint.readable {
            endpoint.readable = true;
            self.readable.push_back(index);
        }
        if let (true, Kind::Udp(udp)) = (writable, &mut endpoint.kind)
            && udp.queue.blocked
        {
            udp.queue.blocked = false;
            self.watch(index, Interest::READABLE);
        }
    }

    /// Changes what is polled of an endpoint. A socket is asked whether it is writable only while its queue is blocked:
    /// else every datagram that has left would wake the loop.
    fn watch(&mut self, index: usize, interest: Interest) {
        let Some(Some(endpoint)) = self.endpoints.get(index) else { return };
        let fd = endpoint.fd();
        let token = Token(ENDPOINT_TOKENS + index);
        if let Err(error) = self.registry.reregister(&mut SourceFd(&fd), token, interest) {
            self.note(Level::Error, format_args!("endpoint {index} cannot be polled: {error}"));
        }
    }

    pub(crate) fn has_readable(&self) -> bool {
        !self.readable.is_empty()
    }

    /// Gives each readable endpoint one turn of one batch.
    pub(crate) fn receive_round(&mut self) {
        for _ in 0..self.readable.len() {
            let Some(index) = self.readable.pop_front() else { return };
            let more = self.receive(index);
            let Some(Some(endpoint)) = self.endpoints.get_mut(index) else { continue };
            endpoint.readable = more;
            if more {
                self.readable.push_back(index);
            }
        }
    }

    /// Takes as many frames to receive into as one batch needs, where there are so many.
    fn refill(&mut self) {
        while self.spare.len() < BATCH && self.frames.free() > 0 {
            self.spare.extend(self.frames.alloc());
        }
    }

    /// Receives one batch; false when there is nothing more.
    fn receive(&mut self, index: usize) -> bool {
        self.refill();
        match self.endpoints.get(index) {
            Some(Some(Endpoint { kind: Kind::Udp(_), .. })) => self.receive_udp(index),
            Some(Some(Endpoint { kind: Kind::Tun { .. }, .. })) => self.receive_tun(index),
            _ => false,
        }
    }

    fn receive_udp(&mut self, index: usize) -> bool {
        let Some(Some(Endpoint { owner, kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else {
            return false;
        };
        if self.spare.is_empty() {
            let Received::Some(count) = udp::discard(&udp.socket) else { return false };
            (0..count).for_each(|_| self.log.dropped(Drop::NoFrame, None));
            return true;
        }
        let Received::Some(count) = udp::receive(&udp.socket, &mut self.messages, &mut self.spare) else {
            return false;
        };
        let at_ns = self.clock.unix_ns(self.now);
        for (number, mut frame) in self.spare.drain(..count).enumerate() {
            let Some(arrived) = self.messages.arrived(number) else { continue };
            let Some(from) = arrived.from else { continue };
            if arrived.cut || !frame.set_len(arrived.len) {
                self.log.dropped(Drop::RtReceiveTooLong, None);
                continue;
            }
            if let (Some(recorder), Some(interface)) = (&mut self.recorder, udp.record) {
                let ends = (from, udp.local.towards(from));
                recorder.udp(interface, at_ns, Direction::In, ends, &frame);
            }
            let (machine, port) = (owner.machine, owner.port);
            self.arrivals.push_back(Arrival { machine, port, peer: Peer::Udp(from), frame });
        }
        true
    }

    fn receive_tun(&mut self, index: usize) -> bool {
        let Some(Some(Endpoint { owner, kind: Kind::Tun { tun, peer, record }, .. })) =
            self.endpoints.get(index)
        else {
            return false;
        };
        let at_ns = self.clock.unix_ns(self.now);
        for _ in 0..BATCH {
            let Some(mut frame) = self.spare.pop() else {
                match tun.receive(&mut [0; 1]) {
                    Ok(_) => self.log.dropped(Drop::NoFrame, None),
                    Err(_) => return false,
                }
                continue;
            };
            let room = frame.spare_mut();
            let size = room.len();
            // An error other than "nothing there" (the device is down) ends when the device says so again.
            let Ok(len) = tun.receive(room) else {
                self.spare.push(frame);
                return false;
            };
            // A packet that fills all the room has been cut, as one cannot know better.
            if len == size || !frame.set_len(len) {
                self.log.dropped(Drop::RtReceiveTooLong, None);
                continue;
            }
            if let (Some(recorder), Some(interface)) = (&mut self.recorder, record) {
                recorder.ip(*interface, at_ns, Direction::In, &frame);
            }
            self.arrivals.push_back(Arrival { machine: owner.machine, port: owner.port, peer: *peer, frame });
        }
        true
    }

    // ------------------------------------------------------------------ sending

    /// Takes what a machine wants to send. UDP datagrams wait for the end of the round, and go in one batch.
    pub(crate) fn transmit(&mut self, machine: usize, port: Port, peer: Peer, frame: Frame) {
        let binding = self.bindings.get(machine).and_then(|ports| ports.get(usize::from(port.0)));
        if let Some(Binding::Link(to)) = binding {
            self.arrivals.push_back(Arrival { machine: to.machine, port: to.port, peer, frame });
            return;
        }
        let index = self.endpoint_of(machine, port, peer);
        let Some((index, endpoint)) =
            index.and_then(|index| Some((index, self.endpoints.get_mut(index)?.as_mut()?)))
        else {
            self.log.dropped(Drop::RtNoEndpoint, None);
            return;
        };
        match (&mut endpoint.kind, peer) {
            (Kind::Udp(udp), Peer::Udp(to)) => {
                if udp.queue.is_empty() {
                    self.unsent.push(index);
                }
                if udp.queue.is_full() {
                    self.flush_one(index);
                }
                self.enqueue(index, to, frame);
            }
            (Kind::Tun { tun, record, .. }, _) => match tun.send(&frame) {
                Ok(()) => {
                    if let (Some(recorder), Some(interface)) = (&mut self.recorder, *record) {
                        let at_ns = self.clock.unix_ns(self.now);
                        recorder.ip(interface, at_ns, Direction::Out, &frame);
                    }
                }
                Err(error) => {
                    self.log.dropped(Drop::RtSendFailed, None);
                    let name = tun.name();
                    if self.log.enabled(Category::Main, Level::Info) {
                        let line = format_args!("{name} took no packet: {error}");
                        self.log.line(Category::Main, Level::Info, line);
                    }
                }
            },
            (Kind::Udp(_), _) => self.log.dropped(Drop::RtNoEndpoint, None),
        }
    }

    fn enqueue(&mut self, index: usize, to: SocketAddr, frame: Frame) {
        let Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else { return };
        if let Err(drop) = udp.queue.push(to, frame) {
            self.log.dropped(drop, None);
        }
    }

    /// Sends what waits; what the kernel does not take now stays.
    pub(crate) fn flush(&mut self) {
        for position in 0..self.unsent.len() {
            if let Some(index) = self.unsent.get(position) {
                self.flush_one(*index);
            }
        }
        let endpoints = &self.endpoints;
        self.unsent.retain(|index| match endpoints.get(*index) {
            Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) => !udp.queue.is_empty(),
            _ => false,
        });
        self.refill();
    }

    fn flush_one(&mut self, index: usize) {
        let Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else { return };
        let (socket, local, record) = (udp.socket.as_fd(), &mut udp.local, udp.record);
        let (messages, recorder, log) = (&mut self.messages, &mut self.recorder, &mut self.log);
        let at_ns = self.clock.unix_ns(self.now);
        let was_blocked = udp.queue.blocked;
        udp.queue.flush(
            |waiting| messages.send(socket, waiting),
            |to, frame| {
                if let (Some(recorder), Some(interface)) = (recorder.as_mut(), record) {
                    recorder.udp(interface, at_ns, Direction::Out, (local.towards(to), to), frame);
                }
            },
            |drop, to, error| {
                log.dropped(drop, None);
                if log.enabled(Category::Main, Level::Info) {
                    let line = format_args!("no datagram to {to}: {error}");
                    log.line(Category::Main, Level::Info, line);
                }
            },
        );
        if udp.queue.blocked && !was_blocked {
            self.watch(index, Interest::READABLE.add(Interest::WRITABLE));
        }
    }
}
