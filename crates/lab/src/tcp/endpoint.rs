//! One end of a connection: handshake, data both ways, FIN, RST (RFC 9293 clause 3.10). Packets in, packets out, and when it wants
//! to be woken.

use super::config::Config;
use super::receiver::Receiver;
use super::record::Record;
use super::segment::{Flags, Options, Segment, SegmentError, TIMESTAMPS_LEN};
use super::sender::{Ack, Departure, Sender, stamp};
use super::timeout::Timeout;
use super::window::Window;
use core::net::SocketAddrV4;
use gannet_machine::time::Instant;

/// The payload where the other has named no size (RFC 9293 clause 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// The states of RFC 9293 clause 3.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the RFC")]
pub enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Both ends have said all, and know it.
    Finished,
    /// The other end reset it, or refused it.
    Reset,
    /// The other end did not answer: it was given up with a RST.
    TimedOut,
    /// The application gave it up with a RST.
    Aborted,
}

impl Ending {
    /// For a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "both ends have finished",
            Self::Reset => "the other end has reset it",
            Self::TimedOut => "the other end does not answer",
            Self::Aborted => "the application has given it up",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Listen,
    SynSent,
    SynReceived,
    Open,
}

/// Packets that were not taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refused {
    /// With a timestamp older than the last (RFC 7323 clause 5, PAWS).
    pub old_stamp: u64,
    /// Outside of the window, or with an acknowledgement of what was not sent.
    pub outside: u64,
    /// For another connection.
    pub foreign: u64,
}

/// One end.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    local: SocketAddrV4,
    remote: SocketAddrV4,
    opening: Opening,
    ending: Option<Ending>,
    sender: Sender,
    receiver: Receiver,
    /// Our initial sequence number, and the other's.
    iss: u32,
    irs: u32,
    scales: Option<(u8, u8)>,
    timestamps: bool,
    sack: bool,
    /// The other's clock, to be echoed.
    stamp: u32,
    /// What we have acknowledged last.
    acknowledged: u64,
    /// We said FIN before the other.
    is_first_to_close: bool,
    waits_until: Option<Instant>,
    reset: Option<Segment>,
    identification: u16,
    refused: Refused,
}

impl Endpoint {
    /// One that opens a connection to `remote`; `iss` is its initial sequence number.
    #[must_use]
    pub fn connect(config: &Config, local: SocketAddrV4, remote: SocketAddrV4, iss: u32) -> Self {
        Self::new(config, local, remote, iss, Opening::SynSent)
    }

    /// One that waits for `remote` to open it.
    #[must_use]
    pub fn listen(config: &Config, local: SocketAddrV4, remote: SocketAddrV4, iss: u32) -> Self {
        Self::new(config, local, remote, iss, Opening::Listen)
    }

    fn new(config: &Config, local: SocketAddrV4, remote: SocketAddrV4, iss: u32, opening: Opening) -> Self {
        Self {
            config: *config,
            local,
            remote,
            opening,
            ending: None,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            iss,
            irs: 0,
            scales: None,
            timestamps: config.timestamps,
            sack: config.sack,
            stamp: 0,
            acknowledged: 0,
            is_first_to_close: false,
            waits_until: None,
            reset: None,
            identification: 0,
            refused: Refused::default(),
        }
    }

    /// Has the points of figures kept.
    pub const fn keep_points(&mut self) {
        self.sender.record.keeps_points = true;
    }

    /// Gives octets to be sent; how many there was room for. None after [`Endpoint::close`].
    pub fn write(&mut self, octets: &[u8]) -> usize {
        self.sender.write(octets)
    }

    /// Takes the octets that have arrived in order.
    pub fn read(&mut self) -> Vec<u8> {
        self.receiver.read()
    }

    /// Nothing more will be written.
    pub const fn close(&mut self) {
        self.sender.close();
    }

    /// Gives the connection up.
    pub fn abort(&mut self) {
        self.end_with_reset(Ending::Aborted);
    }

    /// The other has said all, and all has arrived.
    #[must_use]
    pub fn has_read_all(&self) -> bool {
        self.receiver.is_over()
    }

    /// Octets that have arrived in order.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.receiver.next().saturating_sub(1 + u64::from(self.receiver.is_over()))
    }

    /// Octets that the other has acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        let fin = self.sender.fin().is_some_and(|fin| self.sender.una() == fin);
        self.sender.una().saturating_sub(1 + u64::from(fin))
    }

    /// What the sender has counted.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.sender.record
    }

    /// What was not taken.
    #[must_use]
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    /// The congestion window.
    #[must_use]
    pub const fn window(&self) -> &Window {
        self.sender.window()
    }

    /// Round trips and timeout.
    #[must_use]
    pub const fn timeout(&self) -> &Timeout {
        self.sender.timeout()
    }

    /// How it ended, if it has.
    #[must_use]
    pub const fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        if self.ending.is_some() {
            return State::Closed;
        }
        match self.opening {
            Opening::Listen => return State::Listen,
            Opening::SynSent => return State::SynSent,
            Opening::SynReceived => return State::SynReceived,
            Opening::Open => {}
        }
        let fin = self.sender.fin();
        let (said, heard) = (fin == Some(self.sender.nxt()), fin == Some(self.sender.una()));
        match (said, heard, self.receiver.is_over()) {
            (false, _, false) => State::Established,
            (false, _, true) => State::CloseWait,
            (true, false, false) => State::FinWait1,
            (true, true, false) => State::FinWait2,
            (true, false, true) if self.is_first_to_close => State::Closing,
            (true, false, true) => State::LastAck,
            (true, true, true) => State::TimeWait,
        }
    }

    /// When it wants to be woken.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        if self.ending.is_some() || self.opening == Opening::Listen {
            return None;
        }
        [self.sender.next_wake(), self.receiver.next_wake(), self.waits_until].into_iter().flatten().min()
    }

    /// Time has come to `now`.
    pub fn wake(&mut self, now: Instant) {
        if self.ending.is_some() || self.opening == Opening::Listen {
            return;
        }
        self.sender.wake(now);
        self.receiver.wake(now);
        if self.sender.has_failed() {
            self.end_with_reset(Ending::TimedOut);
        } else if self.waits_until.is_some_and(|until| until <= now) {
            self.ending = Some(Ending::Finished);
        }
    }

    fn end_with_reset(&mut self, ending: Ending) {
        if self.ending.is_some() {
            return;
        }
        let is_known = matches!(self.opening, Opening::SynReceived | Opening::Open);
        self.ending = Some(ending);
        if is_known {
            let flags = Flags::RST.and(Flags::ACK);
            self.reset = Some(self.segment(self.sender.nxt(), flags, Options::default(), Vec::new()));
        }
    }

    /// A packet has come.
    ///
    /// # Errors
    /// Where it is no whole and undamaged TCP segment.
    pub fn receive(&mut self, packet: &[u8], now: Instant) -> Result<(), SegmentError> {
        let segment = Segment::parse(packet)?;
        if (segment.source, segment.destination) != (self.remote, self.local) {
            self.refused.foreign += 1;
        } else if self.ending.is_some() {
            self.answer_closed(&segment);
        } else {
            match self.opening {
                Opening::Listen => self.in_listen(&segment),
                Opening::SynSent => self.in_syn_sent(&segment, now),
                Opening::SynReceived | Opening::Open => self.in_window(&segment, now),
            }
        }
        Ok(())
    }

    /// RFC 9293 clause 3.10.7.1.
    fn answer_closed(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) || !segment.flags.has(Flags::ACK) {
            return;
        }
        let mut reset = self.segment(0, Flags::RST, Options::default(), Vec::new());
        reset.sequence = segment.acknowledgement;
        self.reset = Some(reset);
    }

    /// RFC 9293 clause 3.10.7.2.
    fn in_listen(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST) {
            self.agree(segment);
            self.opening = Opening::SynReceived;
        }
    }

    /// RFC 9293 clause 3.10.7.3, without a simultaneous open.
    fn in_syn_sent(&mut self, segment: &Segment, now: Instant) {
        let answers = segment.flags.has(Flags::ACK) && self.of_ours(segment.acknowledgement) == Some(1);
        if !answers || self.sender.nxt() == 0 {
            self.refused.outside += 1;
        } else if segment.flags.has(Flags::RST) {
            self.ending = Some(Ending::Reset);
        } else if segment.flags.has(Flags::SYN) {
            self.agree(segment);
            self.opening = Opening::Open;
            self.take_ack(segment, 1, now);
        }
    }

    /// What the SYN of the other says.
    fn agree(&mut self, syn: &Segment) {
        self.irs = syn.sequence;
        self.receiver.open();
        let Options { mss, scale, sack_permitted, timestamps, .. } = &syn.options;
        self.timestamps &= timestamps.is_some();
        self.sack &= *sack_permitted;
        self.scales = scale.filter(|_| self.config.window_scaling).map(|theirs| (self.shift(), theirs));
        self.stamp = timestamps.map_or(0, |(value, _)| value);
        let mss = mss.unwrap_or(DEFAULT_MSS).min(self.config.mss);
        let mss = mss.saturating_sub(if self.timestamps { TIMESTAMPS_LEN } else { 0 }).max(1);
        self.sender.agree(u32::from(mss), self.sack);
    }

    /// The shift that makes the buffer fit into a window of 16 bits (RFC 7323 clause 2.2).
    fn shift(&self) -> u8 {
        (0..=14).find(|shift| self.config.receive_buffer >> shift <= u32::from(u16::MAX)).unwrap_or(14)
    }

    /// Position of a number of ours, of theirs.
    fn of_ours(&self, number: u32) -> Option<u64> {
        position(number, self.iss, self.sender.una())
    }

    fn of_theirs(&self, number: u32) -> Option<u64> {
        position(number, self.irs, self.receiver.next())
    }

    /// RFC 9293 clause 3.10.7.4.
    fn in_window(&mut self, segment: &Segment, now: Instant) {
        let Segment { flags, options, payload, .. } = segment;
        let is_reset = flags.has(Flags::RST);
        let value = options.timestamps.filter(|_| self.timestamps).map(|(value, _)| value);
        if !is_reset && value.is_some_and(|value| is_before(value, self.stamp)) {
            self.refused.old_stamp += 1;
            self.receiver.ask_for_ack();
            return;
        }
        let len = payload.len() as u64 + u64::from(flags.has(Flags::FIN)) + u64::from(flags.has(Flags::SYN));
        let start = self.of_theirs(segment.sequence).filter(|start| self.receiver.fits(*start, len));
        let Some(start) = start else {
            self.refused.outside += 1;
            if !is_reset {
                self.receiver.ask_for_ack();
            }
            return;
        };
        if is_reset {
            // RFC 5961 clause 3.2: only the very next number.
            if start == self.receiver.next() {
                self.ending = Some(Ending::Reset);
            } else {
                self.receiver.ask_for_ack();
            }
            return;
        }
        if flags.has(Flags::SYN) || !flags.has(Flags::ACK) {
            self.receiver.ask_for_ack();
            return;
        }
        if let Some(value) = value.filter(|_| start <= self.acknowledged) {
            self.stamp = value;
        }
        match self.of_ours(segment.acknowledgement) {
            Some(number) if number > self.sender.nxt() => {
                self.refused.outside += 1;
                self.receiver.ask_for_ack();
                return;
            }
            Some(number) if number >= self.sender.una() => self.take_ack(segment, number, now),
            _ => {}
        }
        if self.opening == Opening::SynReceived && self.sender.una() > 0 {
            self.opening = Opening::Open;
        }
        // A question for the window is one octet behind and has none.
        if start < self.receiver.next() && len == 0 {
            self.receiver.ask_for_ack();
        }
        let timeout = self.sender.timeout().current();
        self.receiver.take(start, payload, flags.has(Flags::FIN), (now, timeout));
        self.see_the_end(now);
    }

    fn take_ack(&mut self, segment: &Segment, number: u64, now: Instant) {
        let shift =
            if segment.flags.has(Flags::SYN) { 0 } else { self.scales.map_or(0, |(_, theirs)| theirs) };
        let edge = number + (u64::from(segment.window) << shift);
        let blocks: Vec<(u64, u64)> = segment
            .options
            .sack
            .iter()
            .filter(|_| self.sack)
            .filter_map(|(from, to)| self.of_ours(*from).zip(self.of_ours(*to)))
            .filter(|(from, to)| from < to && *to <= self.sender.nxt())
            .collect();
        // RFC 2883 clause 4: the first block is below the acknowledgement, or within the second.
        let twice = match *blocks.as_slice() {
            [first, second, ..] => first.1 <= number || (second.0 <= first.0 && first.1 <= second.1),
            [first] => first.1 <= number,
            [] => false,
        };
        let echo = segment.options.timestamps.filter(|_| self.timestamps).map(|(_, echo)| echo);
        let bare =
            segment.payload.is_empty() && !segment.flags.has(Flags::FIN) && !segment.flags.has(Flags::SYN);
        let ack = Ack { number, edge, blocks: &blocks, twice, echo, bare };
        self.sender.acknowledged(&ack, now);
        self.see_the_end(now);
    }

    fn see_the_end(&mut self, now: Instant) {
        if self.opening != Opening::Open || self.state() != State::TimeWait {
            return;
        }
        if self.is_first_to_close {
            self.waits_until = Some(now + self.config.time_wait);
        } else {
            self.ending = Some(Ending::Finished);
        }
    }

    /// The next packet to be sent; to be asked until there is none, after each input and wake-up.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(reset) = self.reset.take() {
            return Some(self.packet(&reset));
        }
        if self.ending.is_some() || self.opening == Opening::Listen {
            return None;
        }
        let is_open = self.opening == Opening::Open;
        // Data has no room for blocks.
        if is_open && self.receiver.must_ack() && self.receiver.has_holes() {
            return Some(self.acknowledgement(now, self.sender.nxt()));
        }
        match self.sender.next(now) {
            Some(Departure::Octets(start, end)) => return Some(self.departure(start, end, now)),
            Some(Departure::Probe) => return Some(self.acknowledgement(now, self.sender.una() - 1)),
            None => {}
        }
        (is_open && self.receiver.must_ack()).then(|| self.acknowledgement(now, self.sender.nxt()))
    }

    fn departure(&mut self, start: u64, end: u64, now: Instant) -> Vec<u8> {
        let payload = self.sender.octets(start, end);
        let is_fin = self.sender.fin() == Some(end);
        let mut flags = if self.opening == Opening::SynSent { Flags(0) } else { Flags::ACK };
        let mut options = Options { timestamps: self.stamps(now), ..Options::default() };
        if start == 0 {
            flags = flags.and(Flags::SYN);
            let answers = self.opening != Opening::SynSent;
            options.mss = Some(self.config.mss);
            options.sack_permitted = self.sack;
            let scales = if answers { self.scales.is_some() } else { self.config.window_scaling };
            options.scale = scales.then(|| self.shift());
        }
        if is_fin {
            flags = flags.and(Flags::FIN);
            self.is_first_to_close |= !self.receiver.is_over();
        }
        if is_fin || (!payload.is_empty() && end == self.sender.nxt()) {
            flags = flags.and(Flags::PSH);
        }
        let segment = self.segment(start, flags, options, payload);
        if flags.has(Flags::ACK) {
            self.note_ack();
        }
        self.packet(&segment)
    }

    fn acknowledgement(&mut self, now: Instant, at: u64) -> Vec<u8> {
        let most = if self.timestamps { 3 } else { 4 };
        let blocks = if self.sack { self.receiver.blocks(most) } else { Vec::new() };
        let number = |position| wire(position, self.irs);
        let sack = blocks.into_iter().map(|(from, to)| (number(from), number(to))).collect();
        let options = Options { timestamps: self.stamps(now), sack, ..Options::default() };
        let segment = self.segment(at, Flags::ACK, options, Vec::new());
        self.note_ack();
        self.packet(&segment)
    }

    fn stamps(&self, now: Instant) -> Option<(u32, u32)> {
        self.timestamps.then(|| (stamp(&self.config, now), self.stamp))
    }

    const fn note_ack(&mut self) {
        self.acknowledged = self.receiver.next();
        self.receiver.acked();
    }

    fn segment(&mut self, at: u64, flags: Flags, options: Options, payload: Vec<u8>) -> Segment {
        let shift = if flags.has(Flags::SYN) { 0 } else { self.scales.map_or(0, |(ours, _)| ours) };
        let window = self.receiver.window() >> shift;
        let is_ack = flags.has(Flags::ACK);
        Segment {
            source: self.local,
            destination: self.remote,
            sequence: wire(at, self.iss),
            acknowledgement: if is_ack { wire(self.receiver.next(), self.irs) } else { 0 },
            flags,
            window: u16::try_from(window).unwrap_or(u16::MAX),
            options,
            payload,
        }
    }

    fn packet(&mut self, segment: &Segment) -> Vec<u8> {
        self.identification = self.identification.wrapping_add(1);
        segment.to_packet(self.identification)
    }
}

/// A position as it stands in a header.
fn wire(position: u64, initial: u32) -> u32 {
    let low = u32::try_from(position & u64::from(u32::MAX)).unwrap_or(0);
    initial.wrapping_add(low)
}

/// The position nearest to `near` whose number this is; `None` where that is in front of the SYN.
fn position(number: u32, initial: u32, near: u64) -> Option<u64> {
    let distance = number.wrapping_sub(wire(near, initial)).cast_signed();
    near.checked_add_signed(i64::from(distance))
}

/// Is a timestamp older than another (RFC 7323 clause 5.2)?
const fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > 1 << 31
}
