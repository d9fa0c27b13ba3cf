//! The sending half: what may leave now, and what acknowledgements and time do to it.

use super::board::{Board, News};
use super::config::{Config, Detection};
use super::record::{Reason, Record};
use super::timeout::Timeout;
use super::window::Window;
use gannet_machine::time::{Duration, Instant};
use std::collections::VecDeque;

/// An acknowledgement as the sender takes it. Positions count from the SYN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack<'a> {
    /// Everything below has arrived.
    pub number: u64,
    /// Up to here the receiver has room.
    pub edge: u64,
    /// What has arrived behind holes.
    pub blocks: &'a [(u64, u64)],
    /// A segment came twice (RFC 2883).
    pub twice: bool,
    /// The echo of our clock.
    pub echo: Option<u32>,
    /// It carries nothing else.
    pub bare: bool,
}

/// What leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Departure {
    /// These octets.
    Octets(u64, u64),
    /// A question for the window (RFC 9293 clause 3.8.6.1).
    Probe,
}

/// How far F-RTO is (RFC 5682 clause 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frto {
    Off,
    /// The oldest segment was sent again; the first acknowledgement is awaited.
    First,
    /// New segments were sent; the second is awaited.
    Second,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Until `point` is acknowledged.
    Recovery {
        point: u64,
    },
    /// After a timeout, until `point` is acknowledged.
    Loss {
        point: u64,
        frto: Frto,
    },
}

/// What a reduction would be taken back to.
#[derive(Debug, Clone, Copy)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
    /// When the first segment was sent again.
    first_again: Option<Instant>,
    /// Segments that were sent again and of which it is not known that they were not needed.
    again: u32,
}

/// The sender of one connection.
#[derive(Debug)]
pub(super) struct Sender {
    config: Config,
    board: Board,
    window: Window,
    timeout: Timeout,
    una: u64,
    nxt: u64,
    /// Octets from `una` on, the SYN not counted.
    buffer: VecDeque<u8>,
    /// Behind the last octet that the application has given.
    end: u64,
    closed: bool,
    edge: u64,
    mss: u32,
    sack: bool,
    phase: Phase,
    before: Option<Before>,
    /// Up to here one reduction is enough (RFC 6582).
    recover: u64,
    /// The next lost segment leaves whatever the window says.
    force: bool,
    /// F-RTO: nothing is sent again until the next acknowledgement.
    only_new: bool,
    /// The rescue of this recovery was sent.
    rescued: bool,
    /// The window was the limit.
    limited: bool,
    retries: u32,
    last_sent: Instant,
    deadline: Option<Instant>,
    reorder_at: Option<Instant>,
    probe_at: Option<Instant>,
    probe: bool,
    failed: bool,
    pub(super) record: Record,
}

impl Sender {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: *config,
            board: Board::default(),
            window: Window::new(config),
            timeout: Timeout::new(config),
            una: 0,
            nxt: 0,
            buffer: VecDeque::new(),
            end: 1,
            closed: false,
            edge: 1,
            mss: u32::from(config.mss),
            sack: false,
            phase: Phase::Open,
            before: None,
            recover: 0,
            force: false,
            only_new: false,
            rescued: false,
            limited: true,
            retries: 0,
            last_sent: Instant::ZERO,
            deadline: None,
            reorder_at: None,
            probe_at: None,
            probe: false,
            failed: false,
            record: Record::default(),
        }
    }

    /// What was agreed by the SYNs: payload of a segment in octets, and selective acknowledgements.
    pub(super) const fn agree(&mut self, mss: u32, sack: bool) {
        (self.mss, self.sack) = (mss, sack);
    }

    /// Takes what there is room for; how much that was.
    pub(super) fn write(&mut self, octets: &[u8]) -> usize {
        let room = (self.config.send_buffer as usize).saturating_sub(self.buffer.len());
        let taken = octets.get(..room).unwrap_or(octets);
        if self.closed {
            return 0;
        }
        self.buffer.extend(taken);
        self.end += taken.len() as u64;
        taken.len()
    }

    /// The FIN follows the last octet.
    pub(super) const fn close(&mut self) {
        self.closed = true;
    }

    /// Position behind the FIN, where there is one.
    pub(super) const fn fin(&self) -> Option<u64> {
        if self.closed { Some(self.end + 1) } else { None }
    }

    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    pub(super) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// The connection is given up.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Data of a segment, without its SYN and FIN.
    pub(super) fn octets(&self, start: u64, end: u64) -> Vec<u8> {
        let base = self.una.max(1);
        let place = |position: u64| {
            usize::try_from(position.clamp(base, self.end) - base).unwrap_or(0).min(self.buffer.len())
        };
        self.buffer.range(place(start)..place(end)).copied().collect()
    }

    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    pub(super) const fn timeout(&self) -> &Timeout {
        &self.timeout
    }

    pub(super) fn next_wake(&self) -> Option<Instant> {
        [self.deadline, self.reorder_at, self.probe_at].into_iter().flatten().min()
    }

    /// Time has come to `now`.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.reorder_at.is_some_and(|at| at <= now) {
            self.detect(now);
            if self.phase == Phase::Open && self.board.lost() > 0 {
                self.enter_recovery(0);
            }
        }
        if self.deadline.is_some_and(|at| at <= now) {
            self.timed_out(now);
        }
        if self.probe_at.is_some_and(|at| at <= now) {
            self.retries += 1;
            self.failed |= self.retries > self.config.retries;
            self.timeout.double();
            self.probe = true;
            self.probe_at = Some(now + self.timeout.current());
        }
        self.record.window(now, self.window.cwnd, self.window.ssthresh);
    }

    /// RFC 6298 clause 5, RFC 5681 clause 3.1 equation 4, RFC 5682 step 1.
    fn timed_out(&mut self, now: Instant) {
        self.retries += 1;
        self.record.timeouts += 1;
        if self.retries > self.config.retries {
            self.failed = true;
            self.deadline = None;
            return;
        }
        self.timeout.double();
        self.deadline = Some(now + self.timeout.current());
        let repeated = matches!(self.phase, Phase::Loss { .. }) && self.retries > 1;
        let is_first = match self.phase {
            Phase::Open => true,
            Phase::Recovery { .. } => false,
            Phase::Loss { .. } => !repeated,
        };
        let is_opening = self.una == 0;
        let mut ssthresh = self.window.ssthresh;
        if is_first && !is_opening {
            self.remember();
            ssthresh = self.window.after_loss(self.reduced_from());
        }
        let may_test = self.config.frto && !is_opening && (self.phase == Phase::Open || repeated);
        self.board.lose_all(self.sack && self.config.detection == Detection::Rack, now);
        self.reorder_at = None;
        if !is_opening {
            self.window.timed_out(ssthresh, self.board.in_flight());
        }
        (self.recover, self.board.mark) = (self.nxt, self.nxt);
        self.only_new = false;
        self.phase = Phase::Loss { point: self.nxt, frto: if may_test { Frto::First } else { Frto::Off } };
    }

    fn reduced_from(&self) -> u32 {
        if self.config.from_flight { self.board.len() } else { self.window.cwnd }
    }

    const fn remember(&mut self) {
        let Window { cwnd, ssthresh, .. } = self.window;
        self.before = Some(Before { cwnd, ssthresh, first_again: None, again: 0 });
    }

    /// An acknowledgement has come. It is not above what was sent.
    pub(super) fn acknowledged(&mut self, ack: &Ack<'_>, now: Instant) {
        let moved = ack.number > self.una;
        let is_duplicate = !moved && ack.bare && ack.edge == self.edge && !self.board.is_empty();
        self.only_new = false;
        self.take_edge(ack, moved);
        let (peak, marked) = (self.board.len(), self.board.marked());
        let news = self.board.acknowledge(ack.number, ack.blocks, now, self.timeout.shortest());
        if moved {
            self.advance(ack.number, now);
        }
        self.sample(ack, &news, moved, now);
        if ack.twice {
            self.record.spurious += 1;
            if let Some(before) = &mut self.before {
                before.again = before.again.saturating_sub(1);
            }
        }
        if !self.sack && moved {
            self.board.take_duplicates(news.acked);
        } else if !self.sack && is_duplicate {
            self.board.duplicate();
        }
        self.detect(now);
        let more_lost = self.board.marked() > marked;
        // Without selective acknowledgements each duplicate is a segment that has arrived.
        let delivered = if self.sack { news.delivered } else { news.acked.max(u32::from(is_duplicate)) };
        let is_duplicate = if self.sack { news.sacked > 0 && !moved } else { is_duplicate };
        match self.phase {
            Phase::Open => self.in_open(delivered),
            Phase::Recovery { point } => self.in_recovery(ack, point, delivered, moved, moved && !more_lost),
            Phase::Loss { point, frto } => self.in_loss(ack, point, frto, &news, is_duplicate),
        }
        if moved && !matches!(self.phase, Phase::Recovery { .. }) {
            // What a selective acknowledgement has told counts once.
            self.grow(delivered, peak, now);
        }
        if self.board.is_empty() {
            (self.deadline, self.reorder_at) = (None, None);
        } else if moved {
            self.deadline = Some(now + self.timeout.current());
        }
        self.record.window(now, self.window.cwnd, self.window.ssthresh);
    }

    fn take_edge(&mut self, ack: &Ack<'_>, moved: bool) {
        if moved || ack.edge > self.edge {
            self.edge = ack.edge;
        }
        if self.edge > self.nxt && self.probe_at.take().is_some() {
            self.timeout.forgive();
        }
        // Who answers a probe is there.
        if self.probe_at.is_some() {
            self.retries = 0;
        }
    }

    fn advance(&mut self, number: u64, now: Instant) {
        let (from, to) = (self.una.max(1), number.clamp(1, self.end));
        let count = usize::try_from(to.saturating_sub(from)).unwrap_or(0).min(self.buffer.len());
        self.buffer.drain(..count);
        self.una = number;
        self.retries = 0;
        self.record.acknowledged(now, number);
    }

    /// A round trip: of a segment that was sent once, else by the echo of a timestamp (RFC 7323 clause 4).
    fn sample(&mut self, ack: &Ack<'_>, news: &News, moved: bool, now: Instant) {
        let by_stamp = ack.echo.filter(|_| moved).map(|echo| {
            let ticks = stamp(&self.config, now).wrapping_sub(echo);
            self.config.timestamp_tick * u64::from(ticks)
        });
        // An echo of more than an hour ago is none of ours.
        let by_stamp = by_stamp.filter(|rtt| *rtt < Duration::from_secs(3600));
        if let Some(rtt) = news.round_trip.or(by_stamp) {
            self.timeout.sample(rtt, self.una, self.nxt);
            self.record.round_trip(now, rtt);
        }
    }

    fn detect(&mut self, now: Instant) {
        if !self.sack {
            return;
        }
        let dupthresh = self.config.dupthresh;
        match self.config.detection {
            Detection::Rack => {
                self.reorder_at = self.board.lose_by_time(self.reordering_window(), now);
            }
            Detection::Forward if !self.board.reordered => self.board.lose_forward(dupthresh),
            Detection::Forward | Detection::Counted => self.board.lose_counted(dupthresh, self.mss),
        }
    }

    /// RFC 8985 clause 6.2, step 4.
    fn reordering_window(&self) -> Duration {
        let enough = self.phase != Phase::Open || self.board.arrived() >= self.config.dupthresh;
        if !self.board.reordered && enough {
            return Duration::ZERO;
        }
        let quarter = self.timeout.shortest().map_or(Duration::ZERO, |shortest| Duration(shortest.0 / 4));
        quarter.min(self.timeout.srtt().unwrap_or(quarter))
    }

    fn in_open(&mut self, delivered: u32) {
        if !self.sack && self.board.arrived() >= self.config.dupthresh && self.una > self.recover {
            self.board.lose_first();
        }
        if self.board.lost() > 0 {
            self.enter_recovery(delivered);
        }
    }

    /// RFC 5681 clause 3.2, RFC 6675 clause 5 steps 4.1 and 4.2.
    fn enter_recovery(&mut self, delivered: u32) {
        self.remember();
        let ssthresh = self.window.after_loss(self.reduced_from());
        self.window.begin_recovery(ssthresh);
        self.window.in_recovery(delivered, self.board.in_flight(), false);
        (self.recover, self.board.mark) = (self.nxt, self.nxt);
        self.phase = Phase::Recovery { point: self.nxt };
        (self.force, self.rescued) = (true, false);
        self.record.recoveries += 1;
    }

    fn in_recovery(&mut self, ack: &Ack<'_>, point: u64, delivered: u32, moved: bool, progress: bool) {
        if self.was_needless(ack, moved) {
            self.undo();
            return;
        }
        if ack.number >= point {
            self.window.end_recovery();
            self.phase = Phase::Open;
            self.before = None;
            // What was lost behind the point is the next recovery, before anything leaves.
            self.in_open(delivered);
            return;
        }
        if !self.sack && moved {
            // RFC 6582 clause 3.2 step 3: a partial acknowledgement says that the next is lost too, and it leaves at once.
            self.board.lose_first();
            self.force = true;
        }
        self.window.in_recovery(delivered, self.board.in_flight(), progress);
    }

    /// RFC 5682 clause 3.1 steps 2 and 3.
    fn in_loss(&mut self, ack: &Ack<'_>, point: u64, frto: Frto, news: &News, is_duplicate: bool) {
        let moved = news.acked > 0;
        if self.was_needless(ack, moved) {
            self.undo();
            self.record.spurious_timeouts += 1;
            return;
        }
        let of_original = news.of_original && (self.sack || !news.of_retransmitted);
        if frto != Frto::Off && moved && of_original {
            self.undo();
            self.timeout.forgive();
            self.record.spurious_timeouts += 1;
            return;
        }
        if ack.number >= point {
            self.phase = Phase::Open;
            self.before = None;
            return;
        }
        let next = match frto {
            Frto::First if moved && self.new_octets().is_some() => {
                self.only_new = true;
                self.board.mark = self.nxt;
                Frto::Second
            }
            Frto::Second if !is_duplicate => Frto::Second,
            Frto::Off | Frto::First | Frto::Second => Frto::Off,
        };
        let point = if self.only_new { self.nxt } else { point };
        self.phase = Phase::Loss { point, frto: next };
    }

    /// RFC 3522 by the echo of a timestamp, or RFC 2883: all that was sent again had arrived.
    fn was_needless(&self, ack: &Ack<'_>, moved: bool) -> bool {
        let Some(Before { first_again: Some(first), again, .. }) = self.before.filter(|_| self.config.undo)
        else {
            return false;
        };
        let stamp = stamp(&self.config, first);
        let by_stamp = ack.echo.is_some_and(|echo| moved && echo.wrapping_sub(stamp) > 1 << 31);
        by_stamp || (ack.twice && again == 0)
    }

    fn undo(&mut self) {
        if let Some(Before { cwnd, ssthresh, .. }) = self.before.take() {
            self.window.restore(cwnd, ssthresh);
        }
        self.board.lose_nothing();
        self.board.forget_duplicates();
        self.phase = Phase::Open;
        self.record.undone += 1;
    }

    fn grow(&mut self, delivered: u32, peak: u32, now: Instant) {
        let used = self.limited || (self.window.is_slow_start() && self.window.cwnd < 2 * peak);
        // The acknowledgement of the SYN is of no data.
        if self.una > 1 && (used || !self.config.validation) {
            let shortest = self.timeout.shortest().unwrap_or(Duration::ZERO);
            self.window.grow(delivered, now, shortest);
        }
    }

    /// What leaves next, and it has left; `None` where nothing may.
    pub(super) fn next(&mut self, now: Instant) -> Option<Departure> {
        if core::mem::take(&mut self.probe) {
            return Some(Departure::Probe);
        }
        self.rest(now);
        let counts_all = self.phase == Phase::Open && !self.config.limited_transmit;
        let in_flight = if counts_all { self.board.len() } else { self.board.in_flight() };
        let may = in_flight < self.window.cwnd;
        if (may || self.force)
            && !self.only_new
            && let Some(lost) = self.board.next_lost()
        {
            return Some(self.send_again(lost.start, lost.end, now));
        }
        if !may {
            self.limited = true;
            return None;
        }
        if let Some((start, end)) = self.new_octets() {
            self.nxt = end;
            self.board.push(start, end, now);
            self.left(start, end, Reason::New, now);
            return Some(Departure::Octets(start, end));
        }
        if let Some((start, end)) = self.of_rule_3_or_4() {
            return Some(self.send_again(start, end, now));
        }
        self.limited = false;
        self.ask_for_window(now);
        None
    }

    /// RFC 6675, `NextSeg` rules 3 and 4.
    fn of_rule_3_or_4(&mut self) -> Option<(u64, u64)> {
        let applies = matches!(self.phase, Phase::Recovery { .. })
            && self.sack
            && self.config.detection == Detection::Counted;
        if !applies {
            return None;
        }
        let doubtful = self.board.next_doubtful();
        let segment = doubtful.or_else(|| {
            let rescue = self.board.last_missing().filter(|_| !self.rescued);
            self.rescued |= rescue.is_some();
            rescue
        })?;
        Some((segment.start, segment.end))
    }

    fn send_again(&mut self, start: u64, end: u64, now: Instant) -> Departure {
        self.force = false;
        self.board.sent_again(start, now);
        if let Some(before) = &mut self.before {
            before.first_again = before.first_again.or(Some(now));
            before.again += 1;
        }
        let reason = if matches!(self.phase, Phase::Loss { .. }) { Reason::Timeout } else { Reason::Fast };
        self.left(start, end, reason, now);
        Departure::Octets(start, end)
    }

    fn left(&mut self, start: u64, end: u64, reason: Reason, now: Instant) {
        self.last_sent = now;
        if matches!(self.phase, Phase::Recovery { .. }) {
            self.window.sent_in_recovery();
        }
        let is_oldest = self.board.first().is_some_and(|first| first.start == start);
        if is_oldest || self.deadline.is_none() {
            self.deadline = Some(now + self.timeout.current());
        }
        self.record.sent(now, start, end, reason);
    }

    /// The next new segment: full, or the last one, or alone (RFC 1122 clause 4.2.3.4). The window of the receiver is its limit.
    fn new_octets(&self) -> Option<(u64, u64)> {
        let start = self.nxt;
        if start == 0 {
            return Some((0, 1));
        }
        let waiting = self.end.saturating_sub(start);
        let count = waiting.min(u64::from(self.mss)).min(self.edge.saturating_sub(start));
        let ends = self.closed && start <= self.end && start + count == self.end;
        let is_worth_it = ends || count >= u64::from(self.mss) || (count > 0 && self.board.is_empty());
        (is_worth_it && self.una > 0).then_some((start, start + count + u64::from(ends)))
    }

    /// RFC 2861: the window is not what it was before a pause.
    fn rest(&mut self, now: Instant) {
        let (idle, timeout) = (now.since(self.last_sent), self.timeout.current());
        let pauses = self.board.is_empty() && self.nxt > 1 && idle > timeout;
        if self.config.validation && pauses && self.new_octets().is_some() {
            self.window.rest(idle, timeout);
            self.last_sent = now;
        }
    }

    fn ask_for_window(&mut self, now: Instant) {
        let waits = self.end > self.nxt && self.nxt > 0 && self.edge <= self.nxt;
        if waits && self.board.is_empty() && self.probe_at.is_none() {
            self.probe_at = Some(now + self.timeout.current());
        }
    }
}

/// The clock of timestamps.
pub(super) fn stamp(config: &Config, now: Instant) -> u32 {
    let ticks = now.0 / config.timestamp_tick.0.max(1);
    u32::try_from(ticks & u64::from(u32::MAX)).unwrap_or(0)
}
