//! What a connection does, each part to be switched off on its own, and the named profiles.
//!
//! | profile | source |
//! |---|---|
//! | `rfc` | RFC 9293, 5681, 6675, 6298, 7323, 3042, 5682, 2861 with the values that they recommend |
//! | `linux-2.4.2` | P. Sarolahti, A. Kuznetsov: *Congestion Control in Linux TCP*, USENIX Annual Technical Conference, FREENIX Track, 2002, pages 49 to 62. Receiver window and MSS: section 4 of the preemption study |
//! | `tracing-2002` | the same, with window scaling and the window of 200 kB that section IV-A of the tracing study names |
//! | `linux-6-reno`, `linux-6-cubic` | a present-day Linux kernel (RFC 6937, 8985, 9438) whose tail loss probe and HyStart are off |

use gannet_machine::time::Duration;

/// Which segments are taken for lost, with selective acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// By what arrived behind them: three segments, or more octets than two (RFC 6675, `IsLost`).
    Counted,
    /// By the distance from the foremost one that arrived: forward acknowledgement, as in Linux 2.4.
    Forward,
    /// By the time at which they were sent (RFC 8985).
    Rack,
}

/// How the window gets smaller in a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// At once (RFC 6675).
    AtOnce,
    /// By one with each second acknowledgement: rate halving, as in Linux 2.4.
    RateHalving,
    /// In proportion to what arrives (RFC 6937).
    Proportional,
}

/// How the window grows, and what is left of it after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By one segment a round trip; a half (RFC 5681).
    Reno,
    /// By a cubic function of time; seven tenths (RFC 9438).
    Cubic,
}

/// How round trips become a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// SRTT + 4 RTTVAR, the minimum is that of the sum (RFC 6298).
    Standard,
    /// As Linux: the largest deviation of a round trip counts, one that comes from a shorter round trip counts an eighth, and the
    /// minimum is that of the variation alone (Sarolahti and Kuznetsov).
    Linux,
}

/// After which time without a segment quick acknowledgements come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// The longest delay.
    Longest,
    /// The end's own timeout. A delay in which no second segment has come makes the next twice as long, up to the longest: so does Linux 6.18.
    Timeout,
}

/// How data is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// The shortest delay of a single segment.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
    /// At the beginning, and after a pause, so many segments are acknowledged one by one: quick acknowledgements.
    pub quick: u32,
    /// What a pause is.
    pub pause: Pause,
}

/// The values of a connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// The profile's name.
    pub name: &'static str,
    /// The largest payload in octets, options counted, that is announced and sent (RFC 9293 clause 3.7.1).
    pub mss: u16,
    /// Octets that the receiver holds for its application.
    pub receive_buffer: u32,
    /// Octets that the sender holds for its application, sent or not.
    pub send_buffer: u32,
    /// RFC 7323 clause 2.
    pub window_scaling: bool,
    /// RFC 7323 clauses 3 to 5, with PAWS.
    pub timestamps: bool,
    /// What one step of the timestamps' clock is.
    pub timestamp_tick: Duration,
    /// RFC 2018; recovery with it is RFC 6675's, else RFC 6582's.
    pub sack: bool,
    /// Segments that came twice are told (RFC 2883).
    pub dsack: bool,
    /// Segments of the first window.
    pub initial_window: u32,
    /// Growth and reduction.
    pub growth: Growth,
    /// Each segment that is acknowledged counts, not each acknowledgement (RFC 3465).
    pub byte_counting: bool,
    /// Loss detection.
    pub detection: Detection,
    /// Reduction in a recovery.
    pub reduction: Reduction,
    /// Half of what is in flight is kept, not half of the window (RFC 5681 equation 4).
    pub from_flight: bool,
    /// Duplicate acknowledgements that mean a loss (RFC 5681 clause 3.2).
    pub dupthresh: u32,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// RFC 5682.
    pub frto: bool,
    /// A reduction whose retransmissions were not needed is taken back, by timestamps (RFC 3522) or RFC 2883.
    pub undo: bool,
    /// The window grows only while it is used and shrinks in a pause (RFC 2861).
    pub validation: bool,
    /// Timeout from round trips.
    pub estimator: Estimator,
    /// The timeout before any round trip.
    pub rto_initial: Duration,
    /// The least timeout.
    pub rto_min: Duration,
    /// The greatest.
    pub rto_max: Duration,
    /// Timeouts without an answer after which the connection is given up (RFC 9293 clause 3.8.3, R2).
    pub retries: u32,
    /// Delayed acknowledgements (RFC 1122 clause 4.2.3.2); without them each segment is acknowledged.
    pub delayed_ack: Option<DelayedAck>,
    /// How long the port is kept after the end: twice the maximum segment lifetime.
    pub time_wait: Duration,
}

const LINUX_ACK: DelayedAck = DelayedAck {
    least: Duration::from_millis(40),
    most: Duration::from_millis(200),
    quick: 16,
    pause: Pause::Longest,
};

impl Config {
    /// As the RFCs recommend.
    #[must_use]
    pub const fn rfc() -> Self {
        Self {
            name: "rfc",
            mss: 1460,
            receive_buffer: 65_535,
            send_buffer: 1 << 20,
            window_scaling: true,
            timestamps: true,
            timestamp_tick: Duration::from_millis(1),
            sack: true,
            dsack: true,
            // RFC 3390, before it RFC 2414: 4380 octets.
            initial_window: 3,
            growth: Growth::Reno,
            byte_counting: false,
            detection: Detection::Counted,
            reduction: Reduction::AtOnce,
            from_flight: true,
            dupthresh: 3,
            limited_transmit: true,
            frto: true,
            undo: false,
            validation: true,
            estimator: Estimator::Standard,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            retries: 15,
            delayed_ack: Some(DelayedAck {
                least: Duration::from_millis(200),
                most: Duration::from_millis(200),
                quick: 0,
                pause: Pause::Longest,
            }),
            time_wait: Duration::from_secs(240),
        }
    }

    /// Linux 2.4.2 as in the preemption study: a window of 64 KiB without scaling.
    #[must_use]
    pub const fn linux_2_4_2() -> Self {
        Self {
            name: "linux-2.4.2",
            window_scaling: false,
            // The timer of i386 has 100 ticks a second.
            timestamp_tick: Duration::from_millis(10),
            detection: Detection::Forward,
            reduction: Reduction::RateHalving,
            from_flight: false,
            frto: false,
            undo: true,
            estimator: Estimator::Linux,
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            delayed_ack: Some(LINUX_ACK),
            time_wait: Duration::from_secs(60),
            ..Self::rfc()
        }
    }

    /// The same hosts with window scaling and 200 kB, as in the tracing study.
    #[must_use]
    pub const fn tracing_2002() -> Self {
        Self { name: "tracing-2002", window_scaling: true, receive_buffer: 200_000, ..Self::linux_2_4_2() }
    }

    /// A present-day Linux kernel with Reno, without its tail loss probe.
    #[must_use]
    pub const fn linux_6_reno() -> Self {
        Self {
            name: "linux-6-reno",
            window_scaling: true,
            receive_buffer: 1 << 20,
            timestamp_tick: Duration::from_millis(1),
            initial_window: 10,
            byte_counting: true,
            detection: Detection::Rack,
            reduction: Reduction::Proportional,
            frto: true,
            rto_initial: Duration::from_secs(1),
            ..Self::linux_2_4_2()
        }
    }

    /// The same with Cubic, without HyStart.
    #[must_use]
    pub const fn linux_6_cubic() -> Self {
        Self { name: "linux-6-cubic", growth: Growth::Cubic, ..Self::linux_6_reno() }
    }

    /// All profiles.
    pub const PROFILES: [Self; 5] =
        [Self::rfc(), Self::linux_2_4_2(), Self::tracing_2002(), Self::linux_6_reno(), Self::linux_6_cubic()];

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::PROFILES.into_iter().find(|profile| profile.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the two studies fix.
    #[test]
    fn the_studies_have_their_windows() {
        let preemption = Config::named("linux-2.4.2").unwrap();
        assert_eq!(
            (preemption.window_scaling, preemption.receive_buffer, preemption.mss),
            (false, 65_535, 1460)
        );
        assert!(preemption.sack && preemption.timestamps && !preemption.frto);
        let tracing = Config::named("tracing-2002").unwrap();
        assert_eq!((tracing.window_scaling, tracing.receive_buffer), (true, 200_000));
        let others =
            Config { name: preemption.name, window_scaling: false, receive_buffer: 65_535, ..tracing };
        assert_eq!(others, preemption);
        assert_eq!(Config::named("linux-1.0"), None);
    }
}
