//! What a world in real time notes of the kernel's connection: segments at both hosts, and why each was sent again.

use super::kernel::{Cause, Counts};
use crate::radio::seen::{Seen, Spot};
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::{Point, Reason};
use gannet_machine::time::{Duration, Instant};

/// From a segment that was sent again until the kernel's counters are read: a probe is counted after it has left.
const SETTLED: Duration = Duration::from_millis(2);

/// A connection that the host opens to the mobile, as it is noted.
#[derive(Debug, Default)]
pub struct Noted {
    /// The host's initial sequence number.
    initial: Option<u32>,
    /// The end of what it has sent.
    highest: u64,
    /// Segments, in the order of time.
    pub seen: Vec<Seen>,
    /// Sent again, and the kernel was not yet asked why.
    unexplained: Vec<(Instant, u64, u64)>,
    counts: Counts,
    /// Segments that were sent again, each with its cause.
    pub again: Vec<(Instant, Cause)>,
    /// The same as [`crate::preempt::trace::Trace`] takes it.
    pub points: Vec<(Instant, Point)>,
    /// Packets that are no segment of the connection.
    pub foreign: u64,
}

impl Noted {
    /// Counts from here.
    #[must_use]
    pub fn since(counts: Counts) -> Self {
        Self { counts, ..Self::default() }
    }

    /// A packet was seen.
    pub fn packet(&mut self, at: Instant, spot: Spot, packet: &[u8]) {
        let Ok(segment) = Segment::parse(packet) else {
            self.foreign += 1;
            return;
        };
        if segment.flags.has(Flags::SYN) {
            // A SYN has position 0; what is sent again has the same number.
            if spot == Spot::Sent {
                self.initial = Some(segment.sequence);
            }
            return;
        }
        let Some(initial) = self.initial else {
            self.foreign += 1;
            return;
        };
        let position = |number: u32| u64::from(number.wrapping_sub(initial));
        let id = packet.get(4..6).and_then(|octets| octets.first_chunk::<2>());
        let has_data = matches!(spot, Spot::Sent | Spot::Came);
        let start = position(segment.sequence);
        let data = if has_data { (start, start + segment.payload.len() as u64) } else { (0, 0) };
        if spot == Spot::Sent && data.0 < data.1 {
            if data.0 < self.highest {
                self.unexplained.push((at, data.0, data.1));
            }
            self.highest = self.highest.max(data.1);
        }
        self.seen.push(Seen {
            at,
            spot,
            id: id.map_or(0, |octets| u16::from_be_bytes(*octets)),
            data,
            acknowledges: if has_data { 0 } else { position(segment.acknowledgement) },
            window: segment.window.into(),
            sack: segment.options.sack.iter().map(|(from, to)| (position(*from), position(*to))).collect(),
        });
    }

    /// When the kernel is to be asked why.
    #[must_use]
    pub fn next_look(&self) -> Option<Instant> {
        self.unexplained.first().map(|(at, ..)| *at + SETTLED)
    }

    /// Gives what was sent again since the last time its cause.
    pub fn explain(&mut self, counts: Counts) {
        let causes = counts.since(self.counts).causes(self.unexplained.len() as u64);
        self.counts = counts;
        for ((at, start, end), cause) in self.unexplained.drain(..).zip(causes) {
            self.again.push((at, cause));
            let reason = match cause {
                Cause::Fast => Reason::Fast,
                Cause::Timeout | Cause::Probe => Reason::Timeout,
            };
            self.points.push((at, Point::Sent(start, end, reason)));
        }
    }
}
