//! The congestion window, in segments: growth (RFC 5681, RFC 9438) and reduction in a recovery (RFC 6675, RFC 6937, rate halving).

use super::config::{Config, Growth, Reduction};
use gannet_machine::time::{Duration, Instant};

/// No threshold is known yet.
const UNKNOWN: u32 = u32::MAX;
/// RFC 9438 clause 4.6.
const CUBIC_BETA: f64 = 0.7;
/// RFC 9438 clause 5, in segments by s³.
const CUBIC_C: f64 = 0.4;
/// A pace lasts so long where the window is the same.
const CUBIC_PAUSE: Duration = Duration::from_micros(31_250);

/// The window of one connection.
#[derive(Debug, Clone)]
pub struct Window {
    growth: Growth,
    byte_counting: bool,
    reduction: Reduction,
    initial: u32,
    /// Segments that may be on their way.
    pub cwnd: u32,
    /// Up to here the window grows by slow start.
    pub ssthresh: u32,
    /// What has been acknowledged of a window, in segments.
    count: u32,
    cubic: Cubic,
    recovery: Recovery,
}

/// Of RFC 9438, in whole segments as Linux counts them.
#[derive(Debug, Clone, Default)]
struct Cubic {
    w_max: f64,
    epoch: Option<Epoch>,
}

/// From one loss to the next.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    since: Instant,
    /// The time to the plateau in s, and the plateau in segments.
    k: f64,
    plateau: f64,
    /// The window of Reno, and what was acknowledged since it grew.
    w_est: u32,
    acked: u32,
    /// When the pace was computed, for which window, and the pace: acknowledged segments for a segment more.
    computed: Option<(Instant, u32)>,
    pace: u32,
}

/// A reduction under way.
#[derive(Debug, Clone, Copy, Default)]
struct Recovery {
    from: u32,
    delivered: u32,
    sent: u32,
    halves: u32,
}

impl Window {
    /// At the beginning.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            growth: config.growth,
            byte_counting: config.byte_counting,
            reduction: config.reduction,
            initial: config.initial_window,
            cwnd: config.initial_window,
            ssthresh: UNKNOWN,
            count: 0,
            cubic: Cubic::default(),
            recovery: Recovery::default(),
        }
    }

    /// Is this slow start?
    #[must_use]
    pub const fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// `acked` segments were acknowledged at once that had not been told to have arrived.
    pub fn grow(&mut self, acked: u32, now: Instant, round_trip: Duration) {
        let mut acked = if self.byte_counting { acked } else { acked.min(1) };
        if self.is_slow_start() {
            let step = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            acked -= step;
        }
        if acked == 0 {
            return;
        }
        let each = match self.growth {
            Growth::Reno => self.cwnd,
            Growth::Cubic => self.cubic.each(self.cwnd, acked, now, round_trip),
        };
        // What was gathered at a slower pace brings one segment, not a burst.
        if self.count >= each {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        self.cwnd += self.count / each;
        self.count %= each;
    }

    /// What is left after a loss, of this window or of what is in flight (RFC 5681 equation 4, RFC 9438 clause 4.6).
    pub fn after_loss(&mut self, of: u32) -> u32 {
        match self.growth {
            Growth::Reno => (of / 2).max(2),
            Growth::Cubic => self.cubic.reduced(of),
        }
    }

    /// A recovery begins.
    pub fn begin_recovery(&mut self, ssthresh: u32) {
        self.recovery = Recovery { from: self.cwnd, ..Recovery::default() };
        self.ssthresh = ssthresh;
        self.count = 0;
        if self.reduction == Reduction::AtOnce {
            self.cwnd = ssthresh;
        }
    }

    /// In a recovery `delivered` segments have arrived; `progress`: the cumulative acknowledgement moved and nothing more is lost.
    pub fn in_recovery(&mut self, delivered: u32, in_flight: u32, progress: bool) {
        let of = &mut self.recovery;
        match self.reduction {
            Reduction::AtOnce => {}
            Reduction::RateHalving => {
                of.halves += 1;
                if of.halves.is_multiple_of(2) && self.cwnd > self.ssthresh {
                    self.cwnd -= 1;
                }
                self.cwnd = self.cwnd.min(in_flight + 1).max(1);
            }
            Reduction::Proportional => {
                of.delivered += delivered;
                let may = if in_flight > self.ssthresh {
                    let part = u64::from(self.ssthresh) * u64::from(of.delivered);
                    let part = part.div_ceil(u64::from(of.from.max(1)));
                    u32::try_from(part).unwrap_or(u32::MAX).saturating_sub(of.sent)
                } else {
                    let owed = of.delivered.saturating_sub(of.sent).max(delivered) + u32::from(progress);
                    owed.min(self.ssthresh - in_flight)
                };
                // What is sent again first needs no permission.
                self.cwnd = in_flight + may.max(u32::from(of.sent == 0));
            }
        }
    }

    /// A segment was sent in a recovery.
    pub const fn sent_in_recovery(&mut self) {
        self.recovery.sent = self.recovery.sent.saturating_add(1);
    }

    /// The recovery is over.
    pub fn end_recovery(&mut self) {
        self.cwnd = match self.reduction {
            Reduction::AtOnce | Reduction::Proportional => self.ssthresh,
            Reduction::RateHalving => self.cwnd.min(self.ssthresh),
        };
        self.count = 0;
    }

    /// Nobody answered in time: slow start from one segment beside what is in flight (RFC 5681 clause 3.1).
    pub const fn timed_out(&mut self, ssthresh: u32, in_flight: u32) {
        self.ssthresh = ssthresh;
        self.cwnd = in_flight + 1;
        self.count = 0;
    }

    /// A reduction is taken back.
    pub fn restore(&mut self, cwnd: u32, ssthresh: u32) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.count = 0;
    }

    /// Nothing was sent for `idle`, which is longer than the timeout: a half for each timeout, not below the first window
    /// (RFC 2861 clause 3.1).
    pub fn rest(&mut self, idle: Duration, timeout: Duration) {
        self.ssthresh = if self.ssthresh == UNKNOWN { UNKNOWN } else { self.ssthresh.max(self.cwnd / 4 * 3) };
        let least = self.initial.min(self.cwnd);
        let halves = u32::try_from(idle.0 / timeout.0.max(1)).unwrap_or(u32::MAX);
        self.cwnd = self.cwnd.checked_shr(halves).unwrap_or(0).max(least);
        self.count = 0;
        self.cubic.epoch = None;
    }
}

impl Cubic {
    /// After how many acknowledged segments the window grows by one (RFC 9438 clauses 4.2 to 4.5).
    fn each(&mut self, cwnd: u32, acked: u32, now: Instant, round_trip: Duration) -> u32 {
        let (w_max, segments) = (self.w_max, f64::from(cwnd));
        let is_below = segments < w_max;
        let epoch = self.epoch.get_or_insert(Epoch {
            since: now,
            k: if is_below { ((w_max - segments) / CUBIC_C).cbrt() } else { 0.0 },
            plateau: if is_below { w_max } else { segments },
            w_est: cwnd,
            acked: 0,
            computed: None,
            pace: cwnd,
        });
        epoch.acked += acked;
        let is_new = |(at, of): (Instant, u32)| of != cwnd || now.since(at) > CUBIC_PAUSE;
        if epoch.computed.is_none_or(is_new) {
            epoch.computed = Some((now, cwnd));
            epoch.pace = epoch.compute(cwnd, now, round_trip, w_max == 0.0);
        }
        epoch.pace
    }

    /// RFC 9438 clauses 4.6 and 4.7.
    fn reduced(&mut self, cwnd: u32) -> u32 {
        let segments = f64::from(cwnd);
        let converges = segments < self.w_max;
        self.w_max = if converges { segments * f64::midpoint(1.0, CUBIC_BETA) } else { segments };
        self.epoch = None;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than cwnd")]
        let left = (segments * CUBIC_BETA) as u32;
        left.max(2)
    }
}

impl Epoch {
    fn compute(&mut self, cwnd: u32, now: Instant, round_trip: Duration, is_first: bool) -> u32 {
        let segments = f64::from(cwnd);
        let t = (now.since(self.since) + round_trip).as_secs_f64() - self.k;
        let ahead = self.plateau + (CUBIC_C * t * t * t).trunc() - segments;
        // On the plateau a hundred windows of acknowledgements bring a segment.
        let cubic = if ahead >= 1.0 { segments / ahead } else { 100.0 * segments };
        // Before any loss the bandwidth is unknown.
        let cubic = if is_first { cubic.min(20.0) } else { cubic };
        // What Reno would have with this reduction: a segment for 15/8 windows, 3 (1 − 0.7) / (1 + 0.7) = 8/15.
        let step = (cwnd * 15 / 8).max(1);
        while self.acked > step {
            self.acked -= step;
            self.w_est += 1;
        }
        let reno = if self.w_est > cwnd { segments / f64::from(self.w_est - cwnd) } else { cubic };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by the line itself"
        )]
        let pace = cubic.min(reno).clamp(2.0, 1e9) as u32;
        pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn window(config: Config) -> Window {
        Window::new(&config)
    }

    /// RFC 5681 clause 3.1: doubled by a window of acknowledgements, then by one.
    #[test]
    fn slow_start_then_one_segment_a_window() {
        let mut reno = window(Config::rfc());
        (0..3).for_each(|_| reno.grow(1, Instant::ZERO, RTT));
        assert_eq!(reno.cwnd, 6);
        reno.ssthresh = 6;
        (0..6).for_each(|_| reno.grow(1, Instant::ZERO, RTT));
        assert_eq!(reno.cwnd, 7);
        // Two segments by one acknowledgement count as one, or with RFC 3465 as two.
        reno.ssthresh = UNKNOWN;
        reno.grow(2, Instant::ZERO, RTT);
        assert_eq!(reno.cwnd, 8);
        let mut bytes = window(Config { byte_counting: true, ..Config::rfc() });
        bytes.ssthresh = 4;
        bytes.grow(5, Instant::ZERO, RTT);
        assert_eq!(bytes.cwnd, 5, "one to the threshold, four in congestion avoidance");
    }

    #[test]
    fn half_is_left_at_once_or_by_rate_halving() {
        let mut once = window(Config { initial_window: 20, ..Config::rfc() });
        let half = once.after_loss(20);
        once.begin_recovery(half);
        assert_eq!((half, once.cwnd), (10, 10));
        assert_eq!(once.after_loss(3), 2, "never below two");
        let mut slow = window(Config { initial_window: 20, ..Config::linux_2_4_2() });
        slow.begin_recovery(10);
        (0..6).for_each(|_| slow.in_recovery(1, 30, false));
        assert_eq!(slow.cwnd, 17);
        (0..30).for_each(|_| slow.in_recovery(1, 30, false));
        assert_eq!(slow.cwnd, 10);
    }

    /// RFC 6937: over a round trip half of what arrives is sent, and at the end the window is the threshold.
    #[test]
    fn proportional_reduction_sends_half_of_what_arrives() {
        let mut window = window(Config { initial_window: 20, ..Config::linux_6_reno() });
        window.begin_recovery(10);
        let (mut in_flight, mut sent) = (19, 0);
        for _ in 0..18 {
            in_flight -= 1;
            window.in_recovery(1, in_flight, false);
            while in_flight < window.cwnd {
                in_flight += 1;
                sent += 1;
                window.sent_in_recovery();
            }
        }
        assert!((9..=10).contains(&sent), "{sent}");
        assert!((9..=10).contains(&in_flight), "{in_flight}");
        window.end_recovery();
        assert_eq!(window.cwnd, 10);
    }

    #[test]
    fn a_pause_halves_the_window_for_each_timeout() {
        let mut window = window(Config::rfc());
        (window.cwnd, window.ssthresh) = (40, 20);
        window.rest(Duration::from_secs(2), Duration::from_secs(1));
        assert_eq!((window.cwnd, window.ssthresh), (10, 30));
        window.rest(Duration::from_secs(100), Duration::from_secs(1));
        assert_eq!(window.cwnd, 3);
    }

    /// RFC 9438: after a loss at 100 segments the window is 70, and comes back to 100 at K = (100 · 0.3 / 0.4)^(1/3) = 4.2 s.
    #[test]
    fn cubic_comes_back_to_its_plateau() {
        let mut window = window(Config { initial_window: 100, ..Config::linux_6_cubic() });
        let left = window.after_loss(100);
        window.begin_recovery(left);
        window.end_recovery();
        assert_eq!(window.cwnd, 70);
        // A round trip of 100 ms brings a window of acknowledgements.
        let mut at = |ms: u64| {
            let end = Instant(ms * 1_000_000);
            let mut now = window.cubic.epoch.map_or(Instant::ZERO, |_| Instant((ms - 100) * 1_000_000));
            while now < end {
                let acks = window.cwnd;
                (0..acks).for_each(|_| window.grow(1, now, RTT));
                now += RTT;
            }
            window.cwnd
        };
        let growth: Vec<u32> = (1..=60).map(|tenth| at(tenth * 100)).collect();
        let reached = growth.iter().position(|cwnd| *cwnd >= 99).unwrap();
        // In whole segments W(t) is 99 at K − (2 / 0.4)^(1/3) = 2.5 s, less a round trip; from 2.9 s on it is 100.
        assert!((23..=31).contains(&reached), "{growth:?}");
        assert_eq!(growth[41], 100);
        assert!(growth.windows(2).all(|pair| pair[0] <= pair[1]));
        let (first, middle) = (growth[9] - growth[0], growth[39] - growth[30]);
        assert!(first > 4 * middle.max(1), "steep at first, then flat: {growth:?}");
        // A second loss below the first one's window gives way: (1 + 0.7) / 2.
        let _ = window.after_loss(80);
        assert!((window.cubic.w_max - 68.0).abs() < 1e-9);
    }
}
