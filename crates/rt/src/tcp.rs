//! TCP as a client: one connection to one peer, tried each second where there is none.

use crate::tracer::Tracer;
use core::net::SocketAddr;
use gannet_machine::time::{Duration, Instant};
use gannet_trace::pcapng::{Direction, InterfaceId, Segment};
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// How long a new connection is waited with, and how long one may take.
const AGAIN: Duration = Duration::from_secs(1);
/// Octets that wait for a peer that takes nothing, at most; a peer that lets more pile up has died.
const UNSENT_MAX: usize = 1 << 20;

/// To whom a stream is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpConfig {
    /// The peer.
    pub to: SocketAddr,
    /// Name of the capture interface, where its octets are to be recorded.
    pub record_as: Option<&'static str>,
}

impl TcpConfig {
    /// To this peer.
    #[must_use]
    pub const fn new(to: SocketAddr) -> Self {
        Self { to, record_as: None }
    }

    /// The same, recorded under this name.
    #[must_use]
    pub const fn record_as(self, name: &'static str) -> Self {
        Self { record_as: Some(name), ..self }
    }
}

/// How far a recorded connection is: the numbers that the segments of a capture have. The kernel's own are not told.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    interface: InterfaceId,
    local: SocketAddr,
    sent: u32,
    received: u32,
}

#[derive(Debug)]
enum State {
    /// There is no connection, and there will be none before this instant.
    Idle { again: Instant },
    /// One has been asked for; at this instant it is given up.
    Connecting { stream: TcpStream, until: Instant },
    /// There is one.
    Connected { stream: TcpStream },
}

/// One stream.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) config: TcpConfig,
    state: State,
    unsent: VecDeque<u8>,
    recorded: Option<Recorded>,
    /// That the peer is away has been said.
    pub(crate) told: bool,
}

impl Tcp {
    pub(crate) const fn new(config: TcpConfig, now: Instant) -> Self {
        Self {
            config,
            state: State::Idle { again: now },
            unsent: VecDeque::new(),
            recorded: None,
            told: false,
        }
    }

    pub(crate) fn fd(&self) -> Option<RawFd> {
        match &self.state {
            State::Idle { .. } => None,
            State::Connecting { stream, .. } | State::Connected { stream } => Some(stream.as_raw_fd()),
        }
    }

    /// When it wants to be looked at: to try, or to give a try up.
    pub(crate) const fn look_at(&self) -> Option<Instant> {
        match &self.state {
            State::Idle { again } => Some(*again),
            State::Connecting { until, .. } => Some(*until),
            State::Connected { .. } => None,
        }
    }

    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle { .. })
    }

    /// Asks for a connection.
    pub(crate) fn connect(&mut self, now: Instant) -> io::Result<()> {
        self.state = State::Idle { again: now + AGAIN };
        let stream = TcpStream::connect(self.config.to)?;
        self.state = State::Connecting { stream, until: now + AGAIN };
        Ok(())
    }

    /// Has the connection come about? `WouldBlock` where that is not decided yet.
    pub(crate) fn connected(&mut self) -> io::Result<bool> {
        let State::Connecting { stream, .. } = &self.state else { return Ok(false) };
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if let Err(error) = stream.peer_addr() {
            let undecided = error.kind() == io::ErrorKind::NotConnected;
            return Err(if undecided { io::ErrorKind::WouldBlock.into() } else { error });
        }
        // Each message is a question that somebody waits for.
        stream.set_nodelay(true)?;
        let idle = State::Idle { again: Instant::ZERO };
        if let State::Connecting { stream, .. } = core::mem::replace(&mut self.state, idle) {
            self.state = State::Connected { stream };
        }
        Ok(true)
    }

    /// Gives the connection up, or the try; true where there was a connection.
    pub(crate) fn close(&mut self, now: Instant) -> bool {
        self.unsent.clear();
        let former = core::mem::replace(&mut self.state, State::Idle { again: now + AGAIN });
        matches!(former, State::Connected { .. })
    }

    /// A connection that has come about is recorded from now on.
    pub(crate) fn record(
        &mut self,
        interface: Option<InterfaceId>,
        at_ns: u64,
        recorder: Option<&mut Tracer>,
    ) {
        let State::Connected { stream } = &self.state else { return };
        let (Some(interface), Ok(local)) = (interface, stream.local_addr()) else { return };
        self.recorded = Some(Recorded { interface, local, sent: 0, received: 0 });
        // Whoever begins later sees the octets from then on.
        let Some(recorder) = recorder else { return };
        self.segment(Direction::Out, Segment::SYN, &[], at_ns, recorder);
        self.segment(Direction::In, Segment::SYN | Segment::ACK, &[], at_ns, recorder);
        self.segment(Direction::Out, Segment::ACK, &[], at_ns, recorder);
    }

    /// Octets that were sent or received.
    pub(crate) fn record_octets(
        &mut self,
        direction: Direction,
        octets: &[u8],
        at_ns: u64,
        recorder: &mut Tracer,
    ) {
        self.segment(direction, Segment::PSH | Segment::ACK, octets, at_ns, recorder);
    }

    /// The end of the connection, as if this side had brought it about.
    pub(crate) fn record_end(&mut self, at_ns: u64, recorder: &mut Tracer) {
        self.segment(Direction::Out, Segment::FIN | Segment::ACK, &[], at_ns, recorder);
        self.recorded = None;
    }

    fn segment(&mut self, direction: Direction, flags: u8, octets: &[u8], at_ns: u64, recorder: &mut Tracer) {
        let Some(recorded) = &mut self.recorded else { return };
        let (own, other, ends) = match direction {
            Direction::Out => (&mut recorded.sent, recorded.received, (recorded.local, self.config.to)),
            Direction::In => (&mut recorded.received, recorded.sent, (self.config.to, recorded.local)),
        };
        let acknowledgement = if flags & Segment::ACK == 0 { 0 } else { other };
        let segment = Segment { sequence: *own, acknowledgement, flags };
        recorder.tcp(recorded.interface, at_ns, direction, (ends, segment), octets);
        let phantom = u32::from(flags & (Segment::SYN | Segment::FIN) != 0);
        *own = own.wrapping_add(u32::try_from(octets.len()).unwrap_or(0)).wrapping_add(phantom);
    }

    /// Reads what there is room for; 0 at the end.
    pub(crate) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        let State::Connected { stream } = &self.state else { return Err(io::ErrorKind::WouldBlock.into()) };
        let mut stream = stream;
        stream.read(room)
    }

    /// Sends, or keeps what the peer does not take now.
    pub(crate) fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        if !matches!(self.state, State::Connected { .. }) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if self.unsent.len() + octets.len() > UNSENT_MAX {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.unsent.extend(octets);
        self.flush()
    }

    /// Sends what was kept, as far as the peer takes it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let State::Connected { stream } = &mut self.state else { return Ok(()) };
        while !self.unsent.is_empty() {
            match stream.write(self.unsent.as_slices().0) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
