//! What has been sent and is not acknowledged: which of it arrived, which is lost, and how much is on its way.
//!
//! Positions count octets from the SYN, which is octet 0, and do not wrap.

use gannet_machine::time::{Duration, Instant};
use std::collections::VecDeque;

/// One segment as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its first octet.
    pub start: u64,
    /// The octet behind its last.
    pub end: u64,
    /// When it was sent last.
    pub at: Instant,
    /// How often it was sent.
    pub times: u32,
    /// It has arrived, says a selective acknowledgement.
    pub sacked: bool,
    /// It is taken for lost.
    pub lost: bool,
    /// It was sent again, and that is on its way.
    pub again: bool,
}

/// What an acknowledgement has told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// Segments that are acknowledged and no longer here.
    pub acked: u32,
    /// Those that were told to have arrived for the first time, in order or selectively.
    pub delivered: u32,
    /// Those of a selective acknowledgement.
    pub sacked: u32,
    /// Round trip of the first segment that was acknowledged; `None` where one of them was sent twice.
    pub round_trip: Option<Duration>,
    /// One of the acknowledged segments was sent more than once.
    pub of_retransmitted: bool,
    /// A segment that was sent once, and that no selective acknowledgement had told, is acknowledged up to [`Board::mark`].
    pub of_original: bool,
}

/// The segment that was delivered last by the time of its sending (RFC 8985 clause 5.2).
#[derive(Debug, Clone, Copy, Default)]
struct Rack {
    at: Instant,
    end: u64,
    rtt: Duration,
}

/// The list.
#[derive(Debug, Default)]
pub struct Board {
    segments: VecDeque<Sent>,
    sacked: u32,
    lost: u32,
    again: u32,
    /// How often a segment was taken for lost.
    marked: u64,
    /// Without selective acknowledgements: duplicate acknowledgements, each a segment that has arrived.
    duplicates: u32,
    foremost: u64,
    rack: Rack,
    /// Segments were seen to overtake each other.
    pub reordered: bool,
    /// Where the sender was when it last began a recovery.
    pub mark: u64,
}

impl Board {
    /// True where everything is acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments that are not acknowledged.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    /// Segments that have arrived out of order.
    #[must_use]
    pub const fn arrived(&self) -> u32 {
        self.sacked + self.duplicates
    }

    /// Segments that are taken for lost.
    #[must_use]
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// How often a segment was taken for lost, since the beginning.
    #[must_use]
    pub const fn marked(&self) -> u64 {
        self.marked
    }

    /// Segments on their way (RFC 6675, `pipe`, in segments).
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.again).saturating_sub(self.sacked + self.duplicates + self.lost)
    }

    /// The oldest segment.
    #[must_use]
    pub fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// A new segment leaves.
    pub fn push(&mut self, start: u64, end: u64, at: Instant) {
        self.segments.push_back(Sent { start, end, at, times: 1, sacked: false, lost: false, again: false });
    }

    /// The first lost segment that is not on its way again.
    #[must_use]
    pub fn next_lost(&self) -> Option<Sent> {
        if self.lost == 0 {
            return None;
        }
        self.segments.iter().find(|segment| segment.lost && !segment.again).copied()
    }

    /// The first segment in front of one that has arrived that has not arrived and was not sent again (RFC 6675, `NextSeg` rule 3).
    #[must_use]
    pub fn next_doubtful(&self) -> Option<Sent> {
        let candidates = self.segments.iter().take_while(|segment| segment.end <= self.foremost);
        candidates.filter(|segment| !segment.sacked && segment.times == 1).copied().next()
    }

    /// The last segment, where it has not arrived (rule 4, the rescue).
    #[must_use]
    pub fn last_missing(&self) -> Option<Sent> {
        self.segments.back().filter(|segment| !segment.sacked && !segment.again).copied()
    }

    /// The segment that begins at `start` is sent again.
    pub fn sent_again(&mut self, start: u64, now: Instant) {
        if let Some(segment) = self.segments.iter_mut().find(|segment| segment.start == start) {
            self.again += u32::from(!segment.again);
            (segment.again, segment.at) = (true, now);
            segment.times += 1;
        }
    }

    /// Everything below `ack` has arrived; `blocks` have too. `shortest` is the shortest round trip.
    pub fn acknowledge(
        &mut self,
        ack: u64,
        blocks: &[(u64, u64)],
        now: Instant,
        shortest: Option<Duration>,
    ) -> News {
        let mut news = News::default();
        self.select(blocks, now, shortest, &mut news);
        let mut first = None;
        while let Some(segment) = self.segments.front_mut() {
            if segment.end > ack {
                // A part of it: what is left is still to arrive.
                segment.start = segment.start.max(ack);
                break;
            }
            let segment = *segment;
            self.segments.pop_front();
            self.forget(&segment);
            news.acked += 1;
            if segment.times > 1 {
                news.of_retransmitted = true;
            } else if !segment.sacked {
                first = first.or(Some(now.since(segment.at)));
                news.of_original |= segment.end <= self.mark;
                self.reordered |= segment.end <= self.foremost && self.foremost > ack;
            }
            if !segment.sacked {
                news.delivered += 1;
                self.advance_rack(&segment, now, shortest);
            }
        }
        if news.of_retransmitted {
            first = None;
        }
        news.round_trip = first.or(news.round_trip);
        news
    }

    fn select(&mut self, blocks: &[(u64, u64)], now: Instant, shortest: Option<Duration>, news: &mut News) {
        if blocks.is_empty() {
            return;
        }
        let before = self.foremost;
        let mut found = Vec::new();
        for segment in &mut self.segments {
            let within = blocks.iter().any(|(from, to)| *from <= segment.start && segment.end <= *to);
            if segment.sacked || !within {
                continue;
            }
            found.push(*segment);
            self.sacked += 1;
            self.lost -= u32::from(segment.lost);
            self.again -= u32::from(segment.again);
            (segment.sacked, segment.lost, segment.again) = (true, false, false);
        }
        for segment in found {
            news.sacked += 1;
            news.delivered += 1;
            if segment.times == 1 {
                news.round_trip = news.round_trip.or(Some(now.since(segment.at)));
                self.reordered |= segment.end <= before;
            }
            self.foremost = self.foremost.max(segment.end);
            self.advance_rack(&segment, now, shortest);
        }
    }

    /// RFC 8985 clause 6.2, step 2.
    fn advance_rack(&mut self, segment: &Sent, now: Instant, shortest: Option<Duration>) {
        let rtt = now.since(segment.at);
        // The answer came too early for what was sent again: it is for what was sent before.
        if segment.times > 1 && shortest.is_some_and(|shortest| rtt < shortest) {
            return;
        }
        if (segment.at, segment.end) > (self.rack.at, self.rack.end) {
            self.rack = Rack { at: segment.at, end: segment.end, rtt };
        }
    }

    fn forget(&mut self, segment: &Sent) {
        self.sacked -= u32::from(segment.sacked);
        self.lost -= u32::from(segment.lost);
        self.again -= u32::from(segment.again);
    }

    /// A duplicate acknowledgement without selective ones: some segment has arrived.
    pub fn duplicate(&mut self) {
        // The oldest has not.
        self.duplicates = (self.duplicates + 1).min(self.len().saturating_sub(1));
    }

    /// `acked` segments are acknowledged: all but the one that was missing had been told as duplicates. After all of them none is left.
    pub fn take_duplicates(&mut self, acked: u32) {
        self.duplicates =
            self.duplicates.saturating_sub(acked.saturating_sub(1)).min(self.len().saturating_sub(1));
    }

    /// No duplicate acknowledgement counts any more.
    pub const fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// The oldest segment is lost (RFC 6582). Where it is on its way again it is left alone.
    pub fn lose_first(&mut self) {
        if let Some(segment) = self.segments.front_mut()
            && !segment.lost
            && !segment.sacked
        {
            segment.lost = true;
            self.lost += 1;
            self.marked += 1;
        }
    }

    /// RFC 6675, `IsLost`, of all segments: `dupthresh` segments behind it have arrived, or more octets than `dupthresh` − 1 full
    /// segments have.
    pub fn lose_counted(&mut self, dupthresh: u32, mss: u32) {
        let (mut segments, mut octets) = (0, 0);
        let most = u64::from(dupthresh.saturating_sub(1)) * u64::from(mss);
        for segment in self.segments.iter_mut().rev() {
            if segment.sacked {
                segments += 1;
                octets += segment.end - segment.start;
            } else if !segment.lost && (segments >= dupthresh || octets > most) {
                segment.lost = true;
                self.lost += 1;
                self.marked += 1;
            }
        }
    }

    /// A segment is lost where the foremost one that has arrived is `dupthresh` segments or more ahead of it.
    pub fn lose_forward(&mut self, dupthresh: u32) {
        let behind = self.segments.iter().take_while(|segment| segment.end <= self.foremost).count();
        for segment in self.segments.iter_mut().take(behind.saturating_sub(dupthresh as usize)) {
            if !segment.lost && !segment.sacked {
                segment.lost = true;
                self.lost += 1;
                self.marked += 1;
            }
        }
    }

    /// RFC 8985 clause 6.2, steps 4 and 5. `window` is how much later a segment may arrive than one that was sent after it. When the
    /// next segment would be lost without news.
    pub fn lose_by_time(&mut self, window: Duration, now: Instant) -> Option<Instant> {
        let mut next = None;
        let Rack { at, end, rtt } = self.rack;
        for segment in &mut self.segments {
            let waits = segment.sacked || (segment.lost && !segment.again);
            if waits || (segment.at, segment.end) >= (at, end) {
                continue;
            }
            let until = segment.at + (rtt + window);
            if until <= now {
                self.lost += u32::from(!segment.lost);
                self.marked += 1;
                self.again -= u32::from(segment.again);
                (segment.lost, segment.again) = (true, false);
            } else {
                next = Some(next.map_or(until, |next: Instant| next.min(until)));
            }
        }
        next
    }

    /// Nobody has answered in time: what has not arrived is lost. By time (RFC 8985 clause 6.3) only what was sent a round trip ago,
    /// and the oldest.
    pub fn lose_all(&mut self, by_time: bool, now: Instant) {
        self.duplicates = 0;
        // The receiver has thrown away what it had told (RFC 2018 clause 8).
        if self.first().is_some_and(|first| first.sacked) {
            self.segments.iter_mut().for_each(|segment| segment.sacked = false);
            (self.sacked, self.foremost) = (0, 0);
        }
        let rtt = self.rack.rtt;
        for (place, segment) in self.segments.iter_mut().enumerate() {
            let is_recent = by_time && place > 0 && segment.at + rtt > now;
            if segment.sacked || is_recent {
                continue;
            }
            self.lost += u32::from(!segment.lost);
            self.marked += u64::from(!segment.lost || segment.again);
            self.again -= u32::from(segment.again);
            (segment.lost, segment.again) = (true, false);
        }
    }

    /// Nothing is lost: the timeout was spurious.
    pub fn lose_nothing(&mut self) {
        for segment in &mut self.segments {
            segment.lost = false;
        }
        self.lost = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten segments of 100 octets, sent a millisecond apart.
    fn board() -> Board {
        let mut board = Board::default();
        for number in 0..10 {
            board.push(number * 100, number * 100 + 100, Instant(number * MS));
        }
        board
    }

    fn lost(board: &Board) -> Vec<u64> {
        board.segments.iter().filter(|segment| segment.lost).map(|segment| segment.start / 100).collect()
    }

    /// RFC 6675: segment 2 is lost by three segments behind it, segment 5 is not.
    #[test]
    fn counted_losses_and_the_pipe() {
        let mut board = board();
        let news = board.acknowledge(200, &[(300, 500), (600, 700)], Instant(50 * MS), None);
        assert_eq!((news.acked, news.sacked, news.delivered), (2, 3, 5));
        assert_eq!(news.round_trip, Some(Duration(50 * MS)));
        board.lose_counted(3, 100);
        assert_eq!(lost(&board), [2]);
        // 2 is lost, 3, 4 and 6 have arrived, 5 and 7 to 9 are on their way.
        assert_eq!(board.in_flight(), 4);
        board.sent_again(200, Instant(51 * MS));
        assert_eq!((board.in_flight(), board.next_lost()), (5, None));
        assert_eq!(board.next_doubtful().map(|segment| segment.start), Some(500));
        assert_eq!(board.last_missing().map(|segment| segment.start), Some(900));
        // Two of 100 octets are more than two full segments of 99.
        let mut by_octets = super::tests::board();
        by_octets.acknowledge(0, &[(100, 400)], Instant(50 * MS), None);
        by_octets.lose_counted(4, 99);
        assert_eq!(lost(&by_octets), [0]);
    }

    /// A segment that was sent twice has no round trip (Karn), and its acknowledgement is told as such.
    #[test]
    fn what_was_sent_twice_is_ambiguous() {
        let mut board = board();
        board.lose_first();
        board.sent_again(0, Instant(40 * MS));
        board.mark = 1000;
        let news = board.acknowledge(300, &[], Instant(60 * MS), None);
        assert_eq!(
            (news.acked, news.round_trip, news.of_retransmitted, news.of_original),
            (3, None, true, true)
        );
        assert_eq!((board.len(), board.in_flight(), board.lost()), (7, 7, 0));
    }

    #[test]
    fn forward_losses_are_by_distance() {
        let mut board = board();
        board.acknowledge(100, &[(600, 700)], Instant(50 * MS), None);
        board.lose_forward(3);
        assert_eq!(lost(&board), [1, 2, 3]);
    }

    /// RFC 8985: what was sent before a segment that has arrived is lost; within the reordering window it has time left.
    #[test]
    fn losses_by_time_also_of_what_was_sent_again() {
        let mut board = board();
        board.acknowledge(0, &[(300, 400)], Instant(53 * MS), None);
        let next = board.lose_by_time(Duration(2 * MS), Instant(53 * MS));
        // Round trip 50 ms: segment 0 had until 52 ms, 1 until 53 ms, 2 until 54 ms.
        assert_eq!((lost(&board), next), (vec![0, 1], Some(Instant(54 * MS))));
        board.sent_again(0, Instant(54 * MS));
        board.sent_again(100, Instant(55 * MS));
        assert_eq!(board.in_flight(), 9);
        // The second that was sent again arrives: the first is lost again.
        board.acknowledge(0, &[(100, 200)], Instant(105 * MS), None);
        board.lose_by_time(Duration::ZERO, Instant(105 * MS));
        assert!(board.first().is_some_and(|first| first.lost && !first.again));
        // An answer in less than the shortest round trip is for the first sending.
        let mut early = super::tests::board();
        early.sent_again(500, Instant(60 * MS));
        early.acknowledge(0, &[(500, 600)], Instant(61 * MS), Some(Duration(50 * MS)));
        assert_eq!(early.lose_by_time(Duration::ZERO, Instant(500 * MS)), None);
        assert_eq!(lost(&early), [0_u64; 0]);
    }

    #[test]
    fn duplicates_stand_for_segments_until_they_are_acknowledged() {
        let mut board = board();
        (0..20).for_each(|_| board.duplicate());
        assert_eq!((board.arrived(), board.in_flight()), (9, 1));
        board.lose_first();
        board.sent_again(0, Instant(60 * MS));
        assert_eq!(board.in_flight(), 1);
        let news = board.acknowledge(500, &[], Instant(90 * MS), None);
        board.take_duplicates(news.acked);
        // A partial acknowledgement: four of the nine were those that it covers.
        assert_eq!((board.arrived(), board.in_flight()), (4, 1));
    }

    #[test]
    fn after_a_timeout_all_is_lost_but_what_has_arrived() {
        let mut board = board();
        board.acknowledge(0, &[(300, 400)], Instant(50 * MS), None);
        board.lose_all(false, Instant(300 * MS));
        assert_eq!(lost(&board), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
        assert_eq!(board.in_flight(), 0);
        board.lose_nothing();
        assert_eq!((board.in_flight(), lost(&board).len()), (9, 0));
        let mut by_time = super::tests::board();
        by_time.acknowledge(0, &[(300, 400)], Instant(50 * MS), None);
        by_time.lose_all(true, Instant(50 * MS));
        // A round trip is 47 ms: only what was sent by 3 ms.
        assert_eq!(lost(&by_time), [0, 1, 2]);
    }
}
