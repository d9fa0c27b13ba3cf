//! What the other end's acknowledgements say of a direction.

use super::half::{ACK, FIN, Half, RST, SYN};
use super::number::is_older;
use super::report::{Mark, Outage, RoundTrip, Spurious};
use crate::record::{Proof, Seen, Stamp, TcpSegment};

/// Acknowledgements of something new that are remembered.
const ADVANCES_MAX: usize = 8_192;
/// Retransmissions in which that of a reported duplicate is looked for.
const DUPLICATES_BACK: usize = 512;

impl Half {
    /// A segment of the other end. Gives its acknowledgement number, if it has one that can be.
    pub(super) fn answered(&mut self, seen: &Seen<TcpSegment>) -> Option<u64> {
        let segment = &seen.what;
        let is_syn = segment.flags & SYN != 0;
        if is_syn {
            self.mss = segment.mss;
            self.scales.1 = segment.scale;
        }
        if segment.flags & ACK == 0 {
            return None;
        }
        let ack = self.number(segment.acknowledgement, false)?;
        let window = self.window_of(segment, is_syn);
        self.outage(seen);
        let (is_selective, is_duplicate_report) = self.selective(seen, ack);
        if ack > self.flight.next {
            self.report.unseen_octets += ack - self.flight.next;
        }
        if ack > self.flight.una {
            self.advanced(seen, ack);
        } else {
            let is_plain = segment.length == 0 && segment.flags & (SYN | FIN | RST) == 0;
            let says_the_same = window == self.window || is_selective;
            let is_duplicate = is_plain
                && ack == self.flight.una
                && self.flight.outstanding() > 0
                && says_the_same
                && (is_selective || !is_duplicate_report);
            self.recovery.answered(seen.at, is_duplicate);
        }
        self.window = window;
        self.note_outstanding(seen.at, seen.proof);
        Some(ack)
    }

    /// The window in octets, as far as the scale is known (RFC 7323, clause 2).
    fn window_of(&mut self, segment: &TcpSegment, is_syn: bool) -> u64 {
        let scale = match self.scales {
            (Some(_), Some(scale)) if !is_syn => scale.min(14),
            _ => 0,
        };
        let window = u64::from(segment.window) << scale;
        if window == 0 && segment.flags & (SYN | RST) == 0 && self.window > 0 {
            self.report.closed_windows += 1;
        }
        self.report.window_max = self.report.window_max.max(window);
        window
    }

    /// The other end is heard: was it silent for long, while data were outstanding?
    fn outage(&mut self, seen: &Seen<TcpSegment>) {
        let Some(from) = self.waits_from.filter(|_| self.flight.outstanding() > 0) else { return };
        let least = self.settings.outage_ns.max(self.idle_ns().saturating_mul(2));
        if seen.at.0.saturating_sub(from.0.0) >= least
            && self.report.outages.len() < self.settings.outages_max
        {
            let outage = Outage {
                from,
                until: (seen.at, seen.proof),
                recovered: None,
                outstanding: self.flight.outstanding(),
                sent_again: self.again_since_answer,
            };
            self.report.outages.push(outage);
            self.goal = Some(self.flight.next);
        } else if self.goal.is_some()
            && let Some(outage) = self.report.outages.last_mut()
        {
            outage.sent_again += self.again_since_answer;
        }
        self.again_since_answer = 0;
        self.waits_from = Some((seen.at, seen.proof));
    }

    /// Takes the selective part. Gives whether it says that something above the acknowledgement has arrived, and whether it reports a
    /// duplicate (RFC 2883, clause 4).
    fn selective(&mut self, seen: &Seen<TcpSegment>, ack: u64) -> (bool, bool) {
        let blocks = &seen.what.sack;
        let (mut is_selective, mut is_duplicate) = (false, false);
        for (index, (left, right)) in blocks.iter().enumerate() {
            let (Some(left), Some(right)) = (self.number(*left, false), self.number(*right, false)) else {
                continue;
            };
            if left >= right {
                continue;
            }
            let within = |other: &(u32, u32)| {
                let (from, to) = (super::number::unwrap(left, other.0), super::number::unwrap(left, other.1));
                from <= left && right <= to
            };
            if index == 0 && (right <= ack || blocks.get(1).is_some_and(within)) {
                is_duplicate = true;
                self.duplicate(left, right);
            } else if left >= ack {
                is_selective = true;
                if self.flight.sack(left, right) {
                    self.mark(seen.at, |half| Mark::Selective(half.counted(left), half.counted(right)));
                }
            }
        }
        (is_selective, is_duplicate)
    }

    /// The receiver has a range twice.
    fn duplicate(&mut self, left: u64, right: u64) {
        let (left, right) = (self.counted(left), self.counted(right));
        let latest = self.report.retransmissions.iter_mut().rev().take(DUPLICATES_BACK);
        let mut of_it = latest.filter(|again| again.start < right && left < again.end);
        if let Some(again) = of_it.find(|again| again.spurious.is_none()) {
            again.spurious = Some(Spurious::Duplicate);
        }
    }

    /// Everything below `ack` has arrived.
    fn advanced(&mut self, seen: &Seen<TcpSegment>, ack: u64) {
        let (at, una) = (seen.at, self.flight.una);
        let mut octets = ack - una;
        octets -= u64::from(una == self.origin);
        octets = octets.saturating_sub(u64::from(self.fin.is_some_and(|fin| una <= fin && fin < ack)));
        self.report.acknowledged_octets += octets;
        self.report.throughput.add(at, octets);
        let covered = self.flight.acknowledge(ack);
        if let Some(newest) = covered.newest.filter(|_| !covered.has_again) {
            let rtt_ns = at.0.saturating_sub(newest.first.at.0);
            let sample = RoundTrip { at, rtt_ns, sent: newest.first.proof, answered: seen.proof };
            self.estimator.sample(rtt_ns);
            self.report.round_trips.push(sample);
            if self.report.idle_rtt.is_none_or(|idle| rtt_ns < idle.rtt_ns) {
                self.report.idle_rtt = Some(sample);
            }
        }
        self.judge_pending(ack, seen.what.timestamps.map(|(_, echo)| echo), at);
        self.recovery.advanced(at, ack);
        if self.advances.len() >= ADVANCES_MAX {
            self.advances.pop_front();
        }
        self.advances.push_back((at, ack));
        while let Some(hole) = self.holes.first_entry() {
            if *hole.key() >= ack {
                break;
            }
            let (start, hole) = hole.remove_entry();
            self.report.unseen_octets += hole.end.min(ack) - start;
            if hole.end > ack {
                self.holes.insert(ack, hole);
                break;
            }
        }
        self.mark(at, |half| Mark::Acknowledged(half.counted(ack)));
        if self.goal.is_some_and(|goal| ack >= goal) {
            self.goal = None;
            if let Some(outage) = self.report.outages.last_mut() {
                outage.recovered = Some((at, seen.proof));
            }
        }
    }

    /// Whether those that were sent again and are acknowledged were needed.
    fn judge_pending(&mut self, ack: u64, echo: Option<u32>, at: Stamp) {
        if self.pending.is_empty() {
            return;
        }
        // A receiver that acknowledges two at once echoes the first of them: only what is older than all of them was not one of them.
        let oldest =
            self.pending.iter().map(|pending| pending.tsval).reduce(|oldest, other| match (oldest, other) {
                (Some(oldest), Some(other)) => Some(if is_older(other, oldest) { other } else { oldest }),
                _ => None,
            });
        let is_of_first_copies =
            matches!((echo, oldest), (Some(echo), Some(Some(oldest))) if is_older(echo, oldest));
        let soonest_ns = self.idle_ns() / 4 * 3;
        let (pending, retransmissions) = (&mut self.pending, &mut self.report.retransmissions);
        pending.retain(|pending| {
            if pending.start >= ack {
                return true;
            }
            let is_too_soon = at.0.saturating_sub(pending.at.0) < soonest_ns;
            if let Some(again) =
                retransmissions.get_mut(pending.index).filter(|again| again.spurious.is_none())
            {
                if is_of_first_copies {
                    again.spurious = Some(Spurious::Eifel);
                } else if is_too_soon {
                    again.spurious = Some(Spurious::TooSoon);
                }
            }
            false
        });
    }

    /// The other end echoes a timestamp of this direction.
    pub(super) fn echoed(&mut self, echo: u32, (at, answered): (Stamp, Proof)) {
        let Some((from, sent)) = self.clock.echo(echo) else { return };
        let sample = RoundTrip { at, rtt_ns: at.0.saturating_sub(from.0), sent, answered };
        self.report.echoes.push(sample);
        if self.report.idle_echo.is_none_or(|idle| sample.rtt_ns < idle.rtt_ns) {
            self.report.idle_echo = Some(sample);
        }
    }
}
