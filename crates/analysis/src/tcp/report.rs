//! What is said of a connection: numbers, and the frames that prove them.

use crate::record::{Proof, Stamp};
use crate::series::{Series, Sums, quantile, real, seconds, whole};
use serde::Serialize;

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Others behind it had arrived: three duplicate acknowledgements, or a selective one.
    Fast,
    /// Nobody answered in time; or it follows such a segment before all that was outstanding then is acknowledged.
    Timeout,
    /// The last segment, before the timeout: a probe (RFC 8985, clause 7).
    Tail,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::Tail => "tail probe",
        }
    }
}

/// How it is known that a segment was sent again without need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spurious {
    /// It was acknowledged before it was sent again.
    Acknowledged,
    /// The acknowledgement echoes the time of the first copy (Eifel, RFC 3522).
    Eifel,
    /// The receiver says that it came twice (RFC 2883).
    Duplicate,
    /// The acknowledgement came sooner than a round trip takes.
    TooSoon,
}

impl Spurious {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acknowledged => "it had been acknowledged",
            Self::Eifel => "the acknowledgement echoes the first copy's timestamp",
            Self::Duplicate => "the receiver reports a duplicate",
            Self::TooSoon => "the acknowledgement came sooner than a round trip takes",
        }
    }
}

/// A segment that was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Retransmission {
    /// When it was seen.
    pub at: Stamp,
    /// Its frame.
    pub proof: Proof,
    /// Its first octet, counted from the SYN.
    pub start: u64,
    /// The octet behind it.
    pub end: u64,
    /// Why.
    pub kind: Kind,
    /// It is the first of its episode: a timer that ran out, or a recovery that begins.
    pub begins: bool,
    /// When the copy before was seen, and its frame; `None` where it was lost before this place, or is forgotten.
    pub before: Option<(Stamp, Proof)>,
    /// How it is known that it was not needed, if so.
    pub spurious: Option<Spurious>,
}

/// A round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RoundTrip {
    /// When the answer was seen.
    pub at: Stamp,
    /// How long after the segment, in nanoseconds.
    pub rtt_ns: u64,
    /// The segment's frame.
    pub sent: Proof,
    /// The frame that answers it.
    pub answered: Proof,
}

/// Data that were sent and not acknowledged, after a segment or an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Outstanding {
    /// When.
    pub at: Stamp,
    /// Octets of the stream.
    pub octets: u64,
    /// The frame.
    pub proof: Proof,
}

/// A point of the time-sequence figure. Numbers are counted from the SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Octets for the first time, and the octet behind them.
    Sent(u64, u64),
    /// Octets again.
    Again(u64, u64),
    /// Octets that fill a hole.
    Filled(u64, u64),
    /// Everything below has arrived.
    Acknowledged(u64),
    /// A range above it has arrived.
    Selective(u64, u64),
}

/// A place of a bottleneck where data were lost as it was full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BufferEstimate {
    /// When the lost segment was sent first; at the receiver, when the segment before it came.
    pub at: Stamp,
    /// The lost segment's first copy; at the receiver, the segment before it.
    pub lost: Proof,
    /// The copy that replaced it.
    pub replaced: Proof,
    /// The capture was made before the bottleneck: it has the copy that was lost.
    pub is_before: bool,
    /// Octets of the stream that were outstanding before the lost segment.
    pub outstanding_octets: u64,
    /// Until all of these were acknowledged, in nanoseconds: the round trip with a full buffer.
    pub full_rtt_ns: u64,
    /// The smallest round trip of the connection here.
    pub idle_rtt_ns: u64,
    /// Octets of the stream by the second while they drained.
    pub rate: f64,
    /// Octets of the stream in the buffer: outstanding less what was acknowledged within one idle round trip, where that is known; else
    /// [`BufferEstimate::by_rate`].
    pub octets: u64,
    /// The same with IP and TCP headers.
    pub ip_octets: u64,
    /// The same in segments of full size.
    pub segments: f64,
    /// How long it takes to drain, in nanoseconds.
    pub delay_ns: u64,
    /// Outstanding less idle round trip × rate: lower where the way was not filled evenly.
    pub by_rate: u64,
}

/// What a loss tells of the buffer, before the idle round trip is known for good.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    pub(super) at: Stamp,
    pub(super) lost: Proof,
    pub(super) replaced: Proof,
    pub(super) is_before: bool,
    pub(super) outstanding: u64,
    pub(super) full_rtt_ns: u64,
    /// Octets that were not acknowledged one idle round trip later.
    pub(super) left: Option<u64>,
    /// Index of the retransmission.
    pub(super) retransmission: usize,
}

impl Full {
    /// With what is known at the end; `None` where the round trip with the loss is hardly longer than the idle one: nothing was full.
    pub(super) fn estimate(&self, idle_rtt_ns: u64, segment: Segment) -> Option<BufferEstimate> {
        let delay_ns = self.full_rtt_ns.checked_sub(idle_rtt_ns)?;
        if self.full_rtt_ns == 0 || delay_ns < idle_rtt_ns / 4 || segment.octets == 0 {
            return None;
        }
        let rate = real(self.outstanding) / seconds(self.full_rtt_ns);
        let by_rate = real(self.outstanding) - seconds(idle_rtt_ns) * rate;
        let octets = self.left.map_or(by_rate, real);
        let segments = octets / real(segment.octets);
        Some(BufferEstimate {
            at: self.at,
            lost: self.lost,
            replaced: self.replaced,
            is_before: self.is_before,
            outstanding_octets: self.outstanding,
            full_rtt_ns: self.full_rtt_ns,
            idle_rtt_ns,
            rate,
            octets: whole(octets),
            ip_octets: whole(octets + segments * real(segment.header_octets)),
            segments,
            delay_ns,
            by_rate: whole(by_rate),
        })
    }
}

/// The size of full segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Segment {
    /// Octets of the stream.
    pub octets: u64,
    /// Octets of IP and TCP headers.
    pub header_octets: u64,
}

/// The other end was not heard while data were outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// The last that was heard, and its frame.
    pub from: (Stamp, Proof),
    /// The first that was heard again, and its frame.
    pub until: (Stamp, Proof),
    /// When everything that had been sent by then was acknowledged, and the frame that says so.
    pub recovered: Option<(Stamp, Proof)>,
    /// Octets outstanding when it ended.
    pub outstanding: u64,
    /// Segments sent again from its beginning to the recovery.
    pub sent_again: u64,
}

impl Outage {
    /// Its length, in nanoseconds.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.until.0.0.saturating_sub(self.from.0.0)
    }

    /// From its end to the recovery, in nanoseconds.
    #[must_use]
    pub fn recovery_ns(&self) -> Option<u64> {
        self.recovered.map(|(at, _)| at.0.saturating_sub(self.until.0.0))
    }
}

/// The longest time without a segment of this direction, between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Silence {
    /// Nanoseconds.
    pub length_ns: u64,
    /// The segments before and after it.
    pub between: (Proof, Proof),
    /// Data were outstanding all the time, as far as this place shows.
    pub is_waiting: bool,
}

/// One direction of a connection, as one place saw it.
#[derive(Debug, Clone, Serialize)]
pub struct HalfReport {
    /// Segments, with and without data.
    pub segments: u64,
    /// Segments with data.
    pub data_segments: u64,
    /// Octets of the stream, those sent again too.
    pub octets: u64,
    /// Octets of the stream that were acknowledged.
    pub acknowledged_octets: u64,
    /// The first and the last segment with data.
    pub data: Option<((Stamp, Proof), (Stamp, Proof))>,
    /// Acknowledged octets over time.
    pub throughput: Sums,
    /// Octets that passed over time, those sent again too.
    pub passed: Sums,
    /// Full segments.
    pub segment: Segment,
    /// Round trips from this place to the receiver and back, of segments that were sent once (Karn).
    pub round_trips: Series<RoundTrip>,
    /// The smallest of them: what an idle network takes.
    pub idle_rtt: Option<RoundTrip>,
    /// The same by timestamps of any segments (RFC 7323). The other end may have waited before it answered.
    pub echoes: Series<RoundTrip>,
    /// The smallest of them.
    pub idle_echo: Option<RoundTrip>,
    /// Outstanding data.
    pub outstanding: Series<Outstanding>,
    /// The most of them.
    pub outstanding_max: Option<Outstanding>,
    /// Segments sent again, the first ones of them.
    pub retransmissions: Vec<Retransmission>,
    /// More of them, which are counted only.
    pub retransmissions_besides: u64,
    /// Octets that came later than those behind them without having been sent again.
    pub reordered_octets: u64,
    /// Octets that were acknowledged and never seen here: the capture lacks them.
    pub unseen_octets: u64,
    /// Losses that tell of the buffer of the bottleneck, the first one first.
    pub buffers: Vec<BufferEstimate>,
    /// Outages.
    pub outages: Vec<Outage>,
    /// The longest silence.
    pub silence: Option<Silence>,
    /// Keep-alive segments.
    pub keepalives: u64,
    /// Acknowledgements of the receiver that close its window.
    pub closed_windows: u64,
    /// The largest window that the receiver offered, in octets.
    pub window_max: u64,
    /// Segments whose numbers belong to no window.
    pub strange: u64,
    /// For the time-sequence figure.
    pub marks: Series<(Stamp, Mark)>,
}

/// A connection, as one place saw it.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionReport {
    /// The connection: index into those of the reading.
    pub connection: u32,
    /// The place.
    pub place: u16,
    /// The first segment.
    pub first: (Stamp, Proof),
    /// The last segment.
    pub last: (Stamp, Proof),
    /// A reset, if any.
    pub reset: Option<Proof>,
    /// From the end that opened the connection to the other.
    pub forward: HalfReport,
    /// The other way.
    pub backward: HalfReport,
}

impl HalfReport {
    /// Acknowledged octets by the second between the first and the last segment with data.
    #[must_use]
    pub fn mean_rate(&self) -> Option<f64> {
        let ((from, _), (to, _)) = self.data?;
        let lasted = to.seconds_since(from);
        (lasted > 0.0).then(|| real(self.acknowledged_octets) / lasted)
    }

    /// How many segments of this kind were sent again, how many times an episode of it began, and how many are known to have been
    /// needless.
    #[must_use]
    pub fn count(&self, kind: Kind) -> (u64, u64, u64) {
        let of = self.retransmissions.iter().filter(|again| again.kind == kind);
        of.fold((0, 0, 0), |(all, begin, spurious), again| {
            (all + 1, begin + u64::from(again.begins), spurious + u64::from(again.spurious.is_some()))
        })
    }

    /// A part of the kept round trips lies below this, in nanoseconds.
    #[must_use]
    pub fn rtt_quantile(&self, part: f64) -> Option<u64> {
        let mut values: Vec<u64> = self.round_trips.points().iter().map(|one| one.rtt_ns).collect();
        quantile(&mut values, part)
    }

    /// The estimate of the bottleneck's buffer: that of the first loss.
    #[must_use]
    pub fn buffer(&self) -> Option<&BufferEstimate> {
        self.buffers.first()
    }
}
