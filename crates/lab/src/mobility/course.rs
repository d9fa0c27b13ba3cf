//! What a drive was like: the changes of cells, and each transmission of the hosts.
//!
//! It has only what a capture of the hosts and of Gb has too, so that it may come from one. All that is said of a drive is computed from
//! it. Times are those of one clock.

use super::UNDER_WAY;
use gannet_machine::time::{Duration, Instant};
use std::collections::BTreeMap;

/// A change of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The last LL-PDU in the old cell had come.
    pub silent: Instant,
    /// The mobile left the air of the old cell.
    pub left: Instant,
    /// It had what it needs of the new cell.
    pub camps: Instant,
    /// User data may go in the new cell: the first LL-PDU has come from it, or the routing area update is accepted.
    pub usable: Instant,
    /// There was a routing area update.
    pub has_update: bool,
}

/// A segment with data, each time that it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// When.
    pub sent: Instant,
    /// When it came to the receiver; `None` where it did not.
    pub came: Option<Instant>,
    /// Its octets: the first, and the one behind the last.
    pub data: (u64, u64),
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// The transfer began.
    pub begin: Instant,
    /// It was looked at until then.
    pub end: Instant,
    /// In their order.
    pub changes: Vec<Change>,
    /// In their order.
    pub transmissions: Vec<Transmission>,
}

/// What one change did to the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// The change.
    pub change: Change,
    /// Transmissions that did not come.
    pub lost: u64,
    /// Transmissions of octets that had come, or came, by an earlier one.
    pub twice: u64,
    /// From the last LL-PDU in the old cell until user data may go in the new one.
    pub outage: Duration,
    /// From there until the receiver has all that was lost; where nothing was, until it has more of the stream. `None` where that was not
    /// before the next change, or the end.
    pub recovery: Option<Duration>,
    /// The longest way of a segment that was sent before user data might go, and came.
    pub spike: Duration,
}

impl Course {
    /// What each change did. Those near the end are left out: what was sent then may be under way.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        let in_order = self.in_order();
        let mut effects = Vec::new();
        let mut before = self.begin;
        for (place, change) in self.changes.iter().enumerate() {
            let until = self.changes.get(place + 1).map_or(self.end, |next| next.left);
            if change.usable + SETTLES > self.end {
                break;
            }
            let sent: Vec<_> =
                self.transmissions.iter().filter(|of| of.sent > before && of.sent <= change.usable).collect();
            let lost: Vec<_> = sent.iter().filter(|of| of.came.is_none()).collect();
            let all = lost.iter().map(|of| of.data.1).max();
            let has = in_order.iter().rev().find(|(at, _)| *at <= change.usable).map_or(0, |(_, next)| *next);
            let wanted = all.unwrap_or(has + 1);
            let recovered = in_order.iter().find(|(at, next)| *at >= change.usable && *next >= wanted);
            let recovered = recovered.map(|(at, _)| *at).filter(|at| *at <= until);
            let ways = sent.iter().filter_map(|of| Some(of.came?.since(of.sent)));
            effects.push(Effect {
                change: *change,
                lost: lost.len() as u64,
                twice: self.twice(change.left, until),
                outage: change.usable.since(change.silent),
                recovery: recovered.map(|at| at.since(change.usable)),
                spike: ways.max().unwrap_or(Duration::ZERO),
            });
            before = change.usable;
        }
        effects
    }

    /// How far the receiver had the stream without a hole, each time that it was more.
    #[must_use]
    pub fn in_order(&self) -> Vec<(Instant, u64)> {
        let mut came: Vec<_> = self.transmissions.iter().filter_map(|of| Some((of.came?, of.data))).collect();
        came.sort();
        let mut points: Vec<(Instant, u64)> = Vec::new();
        let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
        let mut next = came.iter().map(|(_, data)| data.0).min().unwrap_or(0);
        for (at, (start, end)) in came {
            let ends = waiting.entry(start).or_insert(end);
            *ends = (*ends).max(end);
            let before = next;
            while let Some(first) = waiting.first_entry().filter(|first| *first.key() <= next) {
                next = next.max(first.remove());
            }
            if next > before {
                points.push((at, next));
            }
        }
        points
    }

    /// Transmissions between two times whose first octet came by an earlier one.
    fn twice(&self, from: Instant, until: Instant) -> u64 {
        let mut came = std::collections::BTreeSet::new();
        let mut twice = 0;
        for of in &self.transmissions {
            if came.contains(&of.data.0) && of.sent >= from && of.sent < until {
                twice += 1;
            }
            if of.came.is_some() {
                came.insert(of.data.0);
            }
        }
        twice
    }
}

/// So long before the end a change must be over.
const SETTLES: Duration = Duration::from_secs(40);
const _: () = assert!(SETTLES.0 <= UNDER_WAY.0);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn sent(second: u64, came: Option<u64>, first: u64) -> Transmission {
        Transmission { sent: at(second), came: came.map(at), data: (first, first + 100) }
    }

    fn change(left: u64, usable: u64) -> Change {
        let [silent, left, usable] = [left - 1, left, usable].map(at);
        Change { silent, left, camps: usable, usable, has_update: false }
    }

    #[test]
    fn what_is_lost_is_recovered_when_the_last_of_it_has_come() {
        let transmissions = vec![
            sent(1, Some(2), 0),
            sent(8, None, 100),
            sent(11, None, 200),
            sent(12, Some(16), 300),
            sent(18, Some(20), 100),
            sent(21, Some(23), 200),
            sent(30, Some(31), 400),
        ];
        let changes = vec![change(10, 15), change(40, 43)];
        let course = Course { begin: at(0), end: at(100), changes, transmissions };
        assert_eq!(
            course.in_order().iter().map(|(_, next)| *next).collect::<Vec<_>>(),
            [100, 200, 400, 500],
            "what came behind a hole counts with it"
        );
        let effects = course.effects();
        let of = effects[0];
        assert_eq!((of.lost, of.twice, of.outage), (2, 0, Duration::from_secs(6)));
        assert_eq!((of.recovery, of.spike), (Some(Duration::from_secs(8)), Duration::from_secs(4)));
        assert_eq!((effects[1].lost, effects[1].recovery), (0, None), "nothing came any more");
    }

    #[test]
    fn what_is_only_late_is_recovered_when_the_stream_goes_on_and_may_come_twice() {
        let transmissions = vec![
            sent(1, Some(2), 0),
            sent(9, Some(16), 100),
            sent(13, Some(17), 100),
            sent(18, Some(19), 200),
        ];
        let course = Course { begin: at(0), end: at(100), changes: vec![change(10, 15)], transmissions };
        let of = course.effects()[0];
        assert_eq!((of.lost, of.twice, of.spike), (0, 1, Duration::from_secs(7)));
        assert_eq!(of.recovery, Some(Duration::from_secs(1)));
        let near = Course { end: at(50), ..course };
        assert_eq!(near.effects(), [], "what was sent there may be under way");
    }
}
