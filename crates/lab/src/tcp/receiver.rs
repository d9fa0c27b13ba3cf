//! The receiving half: the stream in its order, what to acknowledge, and when.

use super::config::{Config, Pause};
use gannet_machine::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Arrivals whose blocks are told first.
const RECENT: usize = 8;

/// The receiver of one connection. Positions count from the SYN.
#[derive(Debug)]
pub(super) struct Receiver {
    config: Config,
    next: u64,
    /// In order, not yet taken by the application.
    ready: VecDeque<u8>,
    /// Behind holes, by position; they do not overlap.
    early: BTreeMap<u64, Vec<u8>>,
    fin: Option<u64>,
    /// Where segments arrived behind holes, the latest first.
    recent: VecDeque<u64>,
    twice: Option<(u64, u64)>,
    /// Up to here there is room, as it was told.
    edge: u64,
    acknowledged: u64,
    /// The largest segment that came.
    full: u64,
    ack_at: Option<Instant>,
    must_ack: bool,
    quick: u32,
    /// The delay of the next single segment.
    delay: Duration,
    last: Option<Instant>,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: *config,
            next: 0,
            ready: VecDeque::new(),
            early: BTreeMap::new(),
            fin: None,
            recent: VecDeque::new(),
            twice: None,
            edge: 1 + u64::from(config.receive_buffer),
            acknowledged: 0,
            full: u64::from(config.mss) / 2,
            ack_at: None,
            must_ack: false,
            quick: config.delayed_ack.map_or(0, |delayed| delayed.quick),
            delay: config.delayed_ack.map_or(Duration::ZERO, |delayed| delayed.least),
            last: None,
        }
    }

    /// The SYN has come.
    pub(super) const fn open(&mut self) {
        self.next = 1;
        self.must_ack = true;
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The FIN has been reached.
    pub(super) fn is_over(&self) -> bool {
        self.fin.is_some_and(|fin| self.next == fin + 1)
    }

    /// Takes what the application may have.
    pub(super) fn read(&mut self) -> Vec<u8> {
        let octets = self.ready.drain(..).collect();
        // The sender waits where it knows of no room for two segments (RFC 1122 clause 4.2.3.3).
        let known = self.edge.saturating_sub(self.next);
        let step = (2 * self.full).min(u64::from(self.config.receive_buffer) / 2);
        self.must_ack |= known < step && self.room() > known + step / 2;
        octets
    }

    fn room(&self) -> u64 {
        u64::from(self.config.receive_buffer).saturating_sub(self.ready.len() as u64)
    }

    /// Octets from the next on that may come; told now. The edge never goes back (RFC 9293 clause 3.8.6).
    pub(super) fn window(&mut self) -> u64 {
        let edge = self.next + self.room();
        let step = u64::from(self.config.mss).min(u64::from(self.config.receive_buffer) / 2);
        if edge >= self.edge + step {
            self.edge = edge;
        }
        self.edge.saturating_sub(self.next)
    }

    /// May a segment of these positions be taken (RFC 9293 clause 3.10.7.4)?
    pub(super) const fn fits(&self, start: u64, len: u64) -> bool {
        // A question for the window stands one octet in front.
        start + len >= self.next.saturating_sub(1) && start <= self.edge
    }

    /// A segment with `octets` from `start` on, with the FIN behind them or not. `timeout` is what this end would wait for an answer.
    pub(super) fn take(&mut self, start: u64, octets: &[u8], fin: bool, (now, timeout): (Instant, Duration)) {
        let len = octets.len() as u64;
        if len == 0 && !fin {
            return;
        }
        self.full = self.full.max(len);
        self.follow_rhythm(now, timeout);
        if fin {
            self.fin = Some(start + len);
        }
        let end = start + len + u64::from(fin);
        if end <= self.next {
            // Nothing is new: the acknowledgement was lost, or it was sent again without need.
            self.twice = Some((start, end));
            self.must_ack = true;
            return;
        }
        let had_holes = !self.early.is_empty();
        if start > self.next {
            self.keep(start, octets);
            self.must_ack = true;
            return;
        }
        let skip = usize::try_from(self.next - start).unwrap_or(0);
        let room = usize::try_from(self.edge.saturating_sub(self.next)).unwrap_or(usize::MAX);
        let fresh = octets.get(skip..).unwrap_or_default();
        let fresh = fresh.get(..room).unwrap_or(fresh);
        self.ready.extend(fresh);
        self.next += fresh.len() as u64;
        self.join();
        if self.fin == Some(self.next) {
            self.next += 1;
            self.must_ack = true;
        }
        // A hole that is filled is told at once (RFC 5681 clause 4.2).
        self.must_ack |= had_holes;
        self.decide(now);
    }

    /// Linux's quick acknowledgements come back after a pause, and the delay follows the distance of
    /// segments (Sarolahti and Kuznetsov).
    fn follow_rhythm(&mut self, now: Instant, timeout: Duration) {
        let Some(delayed) = self.config.delayed_ack else { return };
        let Some(last) = self.last.replace(now) else { return };
        let distance = now.since(last);
        if delayed.quick == 0 {
            return;
        }
        let pause = if delayed.pause == Pause::Timeout { timeout } else { delayed.most };
        if distance > pause {
            self.quick = delayed.quick;
        }
        let half = |of: Duration| Duration(of.0 / 2);
        if distance <= half(delayed.least) {
            self.delay = (half(self.delay) + half(delayed.least)).max(delayed.least);
        } else if distance < self.delay {
            self.delay = (half(self.delay) + distance).max(delayed.least).min(delayed.most);
        }
    }

    /// When is it acknowledged (RFC 1122 clause 4.2.3.2, RFC 5681 clause 4.2)?
    fn decide(&mut self, now: Instant) {
        let Some(_) = self.config.delayed_ack else {
            self.must_ack = true;
            return;
        };
        let since = self.next - self.acknowledged;
        if since > self.full || self.quick > 0 {
            self.must_ack = true;
        } else if self.ack_at.is_none() {
            self.ack_at = Some(now + self.delay);
        }
    }

    /// Keeps what came early, without what is there already.
    fn keep(&mut self, start: u64, octets: &[u8]) {
        let room = usize::try_from(self.edge.saturating_sub(start)).unwrap_or(0);
        let octets = octets.get(..room).unwrap_or(octets);
        let end = start + octets.len() as u64;
        let mut at = start;
        let mut added = false;
        while at < end {
            let before = self.early.range(..=at).next_back().map(|(from, held)| from + held.len() as u64);
            if let Some(until) = before.filter(|until| *until > at) {
                at = until;
                continue;
            }
            let until = self.early.range(at..).next().map_or(end, |(from, _)| (*from).min(end));
            let part = usize::try_from(at - start).ok().zip(usize::try_from(until - start).ok());
            let part = part.and_then(|(from, to)| octets.get(from..to)).unwrap_or_default();
            self.early.insert(at, part.to_vec());
            added = true;
            at = until;
        }
        if added {
            self.recent.push_front(start);
            self.recent.truncate(RECENT);
        } else if start < end {
            self.twice = Some((start, end));
        }
    }

    /// What came early and is in order now.
    fn join(&mut self) {
        while let Some(entry) = self.early.first_entry() {
            let from = *entry.key();
            if from > self.next {
                break;
            }
            let held = entry.remove();
            let skip = usize::try_from(self.next - from).unwrap_or(usize::MAX);
            let fresh = held.get(skip..).unwrap_or_default();
            self.ready.extend(fresh);
            self.next += fresh.len() as u64;
        }
        self.recent.retain(|start| *start > self.next);
    }

    /// Blocks for a selective acknowledgement, at most `most`: what came twice, then the latest first (RFC 2018 clause 4, RFC 2883).
    /// What came twice is told once.
    pub(super) fn blocks(&mut self, most: usize) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (from, held) in &self.early {
            let to = from + held.len() as u64;
            match ranges.last_mut() {
                Some((_, end)) if *end == *from => *end = to,
                _ => ranges.push((*from, to)),
            }
        }
        let mut blocks: Vec<(u64, u64)> =
            self.twice.take().filter(|_| self.config.dsack).into_iter().collect();
        let told = blocks.len();
        let latest = self
            .recent
            .iter()
            .filter_map(|start| ranges.iter().find(|(from, to)| from <= start && start < to));
        for range in latest.chain(ranges.iter().rev()) {
            if !blocks.iter().skip(told).any(|block| block == range) {
                blocks.push(*range);
            }
        }
        blocks.truncate(most);
        blocks
    }

    pub(super) fn has_holes(&self) -> bool {
        !self.early.is_empty()
    }

    pub(super) const fn next_wake(&self) -> Option<Instant> {
        self.ack_at
    }

    pub(super) fn wake(&mut self, now: Instant) {
        if !self.must_ack && self.ack_at.is_some_and(|at| at <= now) {
            self.must_ack = true;
            if let Some(delayed) = self.config.delayed_ack.filter(|delayed| delayed.pause == Pause::Timeout) {
                self.delay = (self.delay + self.delay).min(delayed.most);
            }
        }
    }

    pub(super) const fn must_ack(&self) -> bool {
        self.must_ack
    }

    /// An acknowledgement is to be sent at once.
    pub(super) const fn ask_for_ack(&mut self) {
        self.must_ack = true;
    }

    /// An acknowledgement has left.
    pub(super) const fn acked(&mut self) {
        if self.next > self.acknowledged {
            self.quick = self.quick.saturating_sub(1);
        }
        self.acknowledged = self.next;
        (self.ack_at, self.must_ack) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::DelayedAck;
    use super::*;

    const NOW: Instant = Instant(1_000_000_000);
    const TIMEOUT: Duration = Duration::from_secs(1);

    fn receiver(config: Config) -> Receiver {
        let mut receiver = Receiver::new(&config);
        receiver.open();
        receiver.acked();
        receiver
    }

    /// RFC 2018 clause 4: the block of the latest segment stands first; RFC 2883: what came twice in front of it, once.
    #[test]
    fn blocks_of_what_came_early_the_latest_first() {
        let mut receiver = receiver(Config::rfc());
        for start in [101, 301, 501, 701] {
            receiver.take(start, &[1; 100], false, (NOW, TIMEOUT));
        }
        receiver.take(201, &[1; 50], false, (NOW, TIMEOUT));
        assert_eq!(receiver.blocks(4), [(101, 251), (701, 801), (501, 601), (301, 401)]);
        receiver.take(301, &[1; 100], false, (NOW, TIMEOUT));
        assert_eq!(receiver.blocks(3), [(301, 401), (101, 251), (701, 801)]);
        assert_eq!(receiver.blocks(1), [(101, 251)]);
        assert_eq!(receiver.next(), 1);
        receiver.take(1, &[1; 100], false, (NOW, TIMEOUT));
        assert_eq!((receiver.next(), receiver.read().len()), (251, 250));
        receiver.take(1, &[1; 100], false, (NOW, TIMEOUT));
        assert_eq!(receiver.blocks(2), [(1, 101), (701, 801)]);
    }

    /// RFC 5681 clause 4.2: every second full segment at once, a single one within the delay, one out of order at once.
    #[test]
    fn acknowledgements_are_delayed_by_one_segment_and_by_time() {
        let mut receiver = receiver(Config::rfc());
        receiver.take(1, &[1; 1000], false, (NOW, TIMEOUT));
        assert!(!receiver.must_ack());
        assert_eq!(receiver.next_wake(), Some(NOW + Duration::from_millis(200)));
        receiver.take(1001, &[1; 1000], false, (NOW, TIMEOUT));
        assert!(receiver.must_ack());
        receiver.acked();
        receiver.take(3001, &[1; 1000], false, (NOW, TIMEOUT));
        assert!(receiver.must_ack(), "a hole");
        receiver.acked();
        receiver.take(2001, &[1; 1000], false, (NOW, TIMEOUT));
        assert!(receiver.must_ack(), "the hole is filled");
        receiver.acked();
        receiver.take(4001, &[1; 1000], false, (NOW, TIMEOUT));
        receiver.wake(NOW + Duration::from_millis(199));
        assert!(!receiver.must_ack());
        receiver.wake(NOW + Duration::from_millis(200));
        assert!(receiver.must_ack());
        let mut without = super::tests::receiver(Config { delayed_ack: None, ..Config::rfc() });
        without.take(1, &[1; 1000], false, (NOW, TIMEOUT));
        assert!(without.must_ack());
    }

    #[test]
    fn quick_acknowledgements_come_first_and_after_a_pause() {
        let config = Config::linux_6_reno();
        let mut receiver = receiver(config);
        let mut position = 1;
        let mut quick = |receiver: &mut Receiver, mut now: Instant| {
            let mut count = 0;
            while count < 100 {
                receiver.take(position, &[1; 1000], false, (now, TIMEOUT));
                now += Duration::from_millis(1);
                position += 1000;
                if !receiver.must_ack() {
                    break;
                }
                count += 1;
                receiver.acked();
            }
            receiver.acked();
            count
        };
        // The acknowledgement of the SYN was one of them.
        assert_eq!(quick(&mut receiver, NOW), 15);
        assert_eq!(quick(&mut receiver, NOW + Duration::from_millis(20)), 0);
        assert_eq!(quick(&mut receiver, NOW + Duration::from_secs(2)), 16);
    }

    /// Full segments 370 ms apart, as three timeslots of GPRS bring them: that is no pause. Each delay finds no second segment and doubles. Linux
    /// 6.18 at the end of a line of 32 kbit/s and 300 ms waited for 42, 95, 161 and 199 ms, and for 200 ms from then on.
    #[test]
    fn a_slow_line_is_no_pause() {
        let base = Config::linux_6_reno();
        let delayed_ack = base.delayed_ack.map(|of| DelayedAck { pause: Pause::Timeout, ..of });
        let mut receiver = receiver(Config { delayed_ack, ..base });
        let (mut now, mut delays) = (NOW, Vec::new());
        for number in 0..20 {
            receiver.take(1 + number * 1448, &[1; 1448], false, (now, TIMEOUT));
            if let Some(at) = receiver.next_wake() {
                delays.push(at.since(now));
                receiver.wake(at);
            }
            assert!(receiver.must_ack());
            receiver.acked();
            now += Duration::from_millis(370);
        }
        assert_eq!(delays, [40, 80, 160, 200, 200].map(Duration::from_millis));
    }

    /// RFC 9293 clause 3.8.6.2.2: the window is not opened by crumbs, and never taken back.
    #[test]
    fn the_window_opens_by_a_segment() {
        let mut receiver = receiver(Config { receive_buffer: 4000, mss: 1000, ..Config::rfc() });
        assert_eq!(receiver.window(), 4000);
        receiver.take(1, &[1; 3500], false, (NOW, TIMEOUT));
        assert_eq!(receiver.window(), 500);
        receiver.take(3501, &[1; 900], false, (NOW, TIMEOUT));
        assert_eq!((receiver.next(), receiver.window()), (4001, 0), "what is behind the edge is not taken");
        receiver.acked();
        assert_eq!(receiver.read().len(), 4000);
        assert!(receiver.must_ack(), "the sender waits for it");
        assert_eq!(receiver.window(), 4000);
    }

    #[test]
    fn the_fin_counts_when_all_is_there() {
        let mut receiver = receiver(Config::rfc());
        receiver.take(101, &[1; 100], true, (NOW, TIMEOUT));
        assert!(!receiver.is_over());
        receiver.take(1, &[1; 100], false, (NOW, TIMEOUT));
        assert!(receiver.is_over());
        assert_eq!(receiver.next(), 202);
    }
}
