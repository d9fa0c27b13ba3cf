//! How many frames the generator makes at once, how long it holds one that it has no use for, and how often the sink looks.
//!
//! A batch is handed to the driver at its end, so that a short one holds packets back for less; but each has its price, some
//! 10 µs with what the sink has to do behind it. A frame for which nothing is due goes back under the lock that the receiver
//! needs for its own: 2 million of them a second cost the receiver 0.2 µs a packet. So the generator waits with it, as long
//! as it is in time; when it is late, batches become long and waits short for the rest of the step.

use super::TrafficConfig;
use std::time::Duration;

/// So much later than it is due leaves what is late, on the average of a call, ns.
const LATE_NS: u64 = 100_000;
/// After so long it is looked again whether something is due for a frame, ns; three times, and then it goes back.
const WAIT_NS: u64 = 3_000;
/// The same while what leaves is late.
const WAIT_LATE_NS: u64 = 500;

/// Where so much is offered at the least, and no more than [`FOR_DROPPING`], the sink has as much to do as the generator, and
/// has its turn behind each batch: long ones would find its device's 256 places full, and an SGSN could not send; and the
/// SGSN's own. So they are short, and leave as fast as they can be made.
const FOR_THE_SINK: f64 = 600_000.0;
/// From here on most of it is to be dropped by the SGSN.
const FOR_DROPPING: f64 = 1_450_000.0;
/// N-PDUs that the line takes at once after a pause.
const AT_ONCE: u64 = 32;
const AT_ONCE_FOR_THE_SINK: u64 = 64;

/// The rhythm of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rhythm {
    /// Frames of a batch.
    pub(super) batch: u32,
    /// The same as soon as what leaves is late.
    long: u32,
    /// After how long it is looked again whether something is due for a frame, ns.
    pub(super) wait_ns: u64,
    /// N-PDUs that the line takes at once after a pause.
    pub(super) at_once: u64,
    /// How often the sink looks at its device.
    pub(super) interval: Duration,
    /// N-PDUs that had been offered at the last look, and their delays.
    offered: u64,
    slip_ns: u64,
}

impl Rhythm {
    /// That of a step with these rates.
    pub(super) fn of(config: &TrafficConfig) -> Self {
        let pps: f64 = config.flows.iter().map(|flow| flow.rate_pps * flow.excess).sum();
        let (batch, long, interval_us, at_once) = match pps {
            pps if pps < 200_000.0 => (2, 16, 20, AT_ONCE),
            pps if pps < 350_000.0 => (8, 64, 30, AT_ONCE),
            pps if pps < FOR_THE_SINK => (16, 64, 60, AT_ONCE),
            pps if pps < FOR_DROPPING => (64, 64, 60, AT_ONCE_FOR_THE_SINK),
            _ => (64, 256, 60, AT_ONCE),
        };
        let interval = config.sink_interval.unwrap_or(Duration::from_micros(interval_us));
        let of = |frames: u32| config.batch.unwrap_or(frames).clamp(1, config.longest_batch);
        let (batch, long) = (of(batch), of(long));
        Self { batch, long, wait_ns: WAIT_NS, at_once, interval, offered: 0, slip_ns: 0 }
    }

    /// A call of the generator has ended: so much was offered in the step so far, and so late all together.
    pub(super) fn look(&mut self, offered: u64, slip_ns: u64) {
        let (count, late) = (offered.saturating_sub(self.offered), slip_ns.saturating_sub(self.slip_ns));
        (self.offered, self.slip_ns) = (offered, slip_ns);
        if late > count * LATE_NS {
            (self.batch, self.wait_ns) = (self.long, WAIT_LATE_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_late_hurries_to_the_end_of_the_step() {
        let interval = Duration::from_micros(10);
        let mut rhythm = Rhythm {
            batch: 2,
            long: 16,
            wait_ns: WAIT_NS,
            at_once: AT_ONCE,
            interval,
            offered: 0,
            slip_ns: 0,
        };
        rhythm.look(0, 0);
        rhythm.look(1000, 1000 * LATE_NS);
        assert_eq!((rhythm.batch, rhythm.wait_ns), (2, WAIT_NS));
        rhythm.look(1100, 1100 * LATE_NS + 1);
        assert_eq!((rhythm.batch, rhythm.wait_ns), (16, WAIT_LATE_NS));
        rhythm.look(5000, 1101 * LATE_NS);
        assert_eq!(rhythm.batch, 16);
    }
}
