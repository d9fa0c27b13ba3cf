//! The four situations, and the transfer of the model in each.

use crate::link::model::{Counts, Loss, Outage, Profile};
use crate::tcp::config::Config;
use crate::tcp::path::{Outcome, Transfer, transfer};
use gannet_machine::time::{Duration, Instant};

/// Bit/s of the line.
pub const RATE: u64 = 2_000_000;
/// From one end to the other, each way.
pub const DELAY: Duration = Duration::from_millis(50);
/// Frames of full size that wait for the line.
pub const QUEUE: u64 = 30;
/// Octets of a full frame with its Ethernet header.
const FRAME: u64 = 1514;

/// The congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Reno, Self::Cubic];

    /// As the kernel names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
        }
    }

    /// The model's values.
    #[must_use]
    pub const fn config(self) -> Config {
        match self {
            Self::Reno => Config::linux_6_reno(),
            Self::Cubic => Config::linux_6_cubic(),
        }
    }
}

/// A situation.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What happens, for the table.
    pub what: &'static str,
    /// Octets of the stream.
    pub octets: u64,
    loss: Loss,
    outage: Option<Outage>,
}

/// All of them.
pub const ALL: [Scenario; 4] = [
    Scenario {
        name: "drop-tail",
        what: "the queue's end is the only loss",
        octets: 1_500_000,
        loss: Loss::Random(0.0),
        outage: None,
    },
    Scenario {
        name: "random-loss",
        what: "1 % of the frames is lost",
        octets: 1_500_000,
        loss: Loss::Random(0.01),
        outage: None,
    },
    Scenario {
        name: "outage",
        what: "everything is lost for 2 s",
        octets: 1_000_000,
        loss: Loss::Random(0.0),
        outage: Some(Outage { after: 300, span: Duration::from_secs(2) }),
    },
    Scenario {
        name: "burst-loss",
        what: "bursts of 2.5 frames are lost, one in 250 frames",
        octets: 1_500_000,
        loss: Loss::Bursts { begin: 0.004, end: 0.4 },
        outage: None,
    },
];

impl Scenario {
    /// The line, there and back. Acknowledgements are not lost.
    #[must_use]
    pub fn profiles(&self) -> [Profile; 2] {
        let back = Profile { rate: Some(RATE), delay: DELAY, ..Profile::default() };
        let limit = Some(QUEUE * FRAME);
        [Profile { limit, loss: self.loss, outage: self.outage, ..back }, back]
    }

    /// The model's transfer, with the dice of the line of that seed.
    ///
    /// # Errors
    /// What must not happen: a stream that is damaged or does not end.
    pub fn model(&self, way: Way, seed: u64) -> Result<Outcome, String> {
        transfer(&Transfer {
            config: way.config(),
            profiles: self.profiles(),
            octets: self.octets,
            seed,
            keeps_points: false,
        })
    }
}

/// What one transfer is judged by, in both worlds.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Octets of the stream by time from the first SYN to the last octet, in kbit/s.
    pub goodput_kbps: f64,
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// The longest time in which nothing arrived in order, in s.
    pub recovery_s: f64,
    /// What became of the frames there.
    pub frames: Counts,
    /// Time in s, and octets in order by then.
    pub arrivals: Vec<(f64, u64)>,
}

impl Measured {
    /// From the arrivals.
    #[must_use]
    pub fn new(arrivals: Vec<(f64, u64)>, retransmitted: u64, timeouts: u64, frames: Counts) -> Self {
        let (took, octets) = arrivals.last().copied().unwrap_or((f64::NAN, 0));
        let gaps = arrivals.windows(2).map(|pair| match pair {
            [(before, _), (after, _)] => after - before,
            _ => 0.0,
        });
        let recovery_s = gaps.fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let goodput_kbps = octets as f64 * 8.0 / took / 1000.0;
        Self { goodput_kbps, retransmitted, timeouts, recovery_s, frames, arrivals }
    }

    /// Of the model's transfer.
    #[must_use]
    pub fn of_model(outcome: &Outcome) -> Self {
        let [near, _] = &outcome.path.ends;
        let seconds = |at: &Instant| at.since(Instant::ZERO).as_secs_f64();
        let arrivals = outcome.arrivals.iter().map(|(at, octets)| (seconds(at), *octets)).collect();
        let [frames, _] = outcome.path.counts();
        Self::new(arrivals, near.record().retransmitted(), near.record().timeouts, frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_come_from_the_arrivals() {
        let measured = Measured::new(vec![(0.1, 1000), (0.5, 2000), (2.0, 10_000)], 3, 1, Counts::default());
        assert!((measured.goodput_kbps - 40.0).abs() < 1e-9);
        assert!((measured.recovery_s - 1.5).abs() < 1e-9);
        assert!(Measured::new(Vec::new(), 0, 0, Counts::default()).goodput_kbps.is_nan());
    }

    /// Each situation is what its name says.
    #[test]
    fn each_situation_happens_to_the_model() {
        for scenario in ALL {
            for way in Way::ALL {
                let outcome = scenario.model(way, 1).unwrap();
                let [there, back] = outcome.path.counts();
                let measured = Measured::of_model(&outcome);
                assert_eq!((back.lost, back.refused), (0, 0));
                assert!(measured.retransmitted > 0, "{}", scenario.name);
                assert_eq!(there.lost > 0, scenario.name != "drop-tail", "{}", scenario.name);
                assert_eq!(measured.recovery_s > 1.5, scenario.name == "outage", "{}", scenario.name);
                assert_eq!(measured.timeouts > 0, scenario.name == "outage", "{}", scenario.name);
            }
        }
    }
}
