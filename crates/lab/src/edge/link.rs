//! Sources, a queueing discipline and a line behind it, in virtual time.

use super::scenario::{STREAMS, Setup};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_qos::discipline::{Discipline, Packet};
use gannet_qos::edge::EdgeQueues;

/// When packets come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At a fixed distance, from a random phase on.
    Periodic,
    /// At exponential distances.
    Poisson,
}

impl Arrivals {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Periodic, Self::Poisson];

    /// For a person.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Poisson => "Poisson",
        }
    }
}

/// What a source sends.
#[derive(Debug)]
pub struct Source {
    /// Its stream.
    pub flow: u32,
    octets: u32,
    kbps: u32,
    arrivals: Arrivals,
    phase: Instant,
    sent: u64,
    /// When its next packet comes.
    pub next: Instant,
    rng: Rng,
}

impl Source {
    /// The source of each stream of figure 6, in a phase of its own.
    pub fn of_all(offered_kbps: &[u32; STREAMS.len()], arrivals: Arrivals, rng: &mut Rng) -> Vec<Self> {
        (0..)
            .zip(STREAMS.iter().zip(offered_kbps))
            .map(|(flow, (stream, kbps))| Self::new(flow, stream.octets, *kbps, arrivals, rng))
            .collect()
    }

    fn new(flow: u32, octets: u32, kbps: u32, arrivals: Arrivals, rng: &mut Rng) -> Self {
        let rng = rng.fork();
        let zero = Instant::ZERO;
        let mut this = Self { flow, octets, kbps, arrivals, phase: zero, sent: 0, next: zero, rng };
        this.phase = Instant(this.rng.below(this.distance_ns(1)));
        this.next = this.phase;
        this
    }

    /// From the first packet to one that is so many behind it, at the mean rate.
    const fn distance_ns(&self, packets: u64) -> u64 {
        packets * self.octets as u64 * 8_000_000 / self.kbps as u64
    }

    /// That packet has come.
    pub fn advance(&mut self) {
        self.sent += 1;
        self.next = match self.arrivals {
            Arrivals::Periodic => self.phase + Duration(self.distance_ns(self.sent)),
            Arrivals::Poisson => {
                let mean = as_f64(self.octets.into()) * 8e6 / as_f64(self.kbps.into());
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
                let gap = (-(1.0 - self.rng.unit()).ln() * mean) as u64;
                self.next + Duration(gap)
            }
        };
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people and plots only")]
pub const fn as_f64(value: u64) -> f64 {
    value as f64
}

/// What a stream got of the packets that it sent while it was measured.
#[derive(Debug, Clone, Default)]
pub struct Got {
    /// Sent.
    pub offered_octets: u64,
    /// Sent, and on the line in the end.
    pub accepted_octets: u64,
    /// From its arrival until its last bit is on the line, of each packet that was accepted.
    pub delays_ns: Vec<u32>,
}

/// One run.
#[derive(Debug)]
pub struct Measured {
    /// By the places of [`STREAMS`].
    pub streams: Vec<Got>,
    /// For how long.
    pub span: Duration,
}

impl Measured {
    fn kbps(&self, octets: u64) -> f64 {
        as_f64(octets) * 8e6 / as_f64(self.span.0)
    }

    /// What each stream got, in kbit/s.
    pub fn got_kbps(&self) -> Vec<f64> {
        self.streams.iter().map(|got| self.kbps(got.accepted_octets)).collect()
    }

    /// Of a reserved stream's rate, or of what it sent where that was less, the part that it got.
    pub fn kept(&self, place: usize) -> f64 {
        let (Some(stream), Some(got)) = (STREAMS.get(place), self.streams.get(place)) else {
            return f64::NAN;
        };
        let due = self.kbps(got.offered_octets).min(f64::from(stream.reserved_kbps));
        self.kbps(got.accepted_octets).min(due) / due
    }

    /// Mean and 99th percentile of a stream's delay, in ms.
    pub fn delay_ms(&self, place: usize) -> [f64; 2] {
        let Some(got) = self.streams.get(place) else { return [f64::NAN; 2] };
        let mut delays = got.delays_ns.clone();
        delays.sort_unstable();
        let count = delays.len();
        let sum: u64 = delays.iter().copied().map(u64::from).sum();
        let high = delays.get((count * 99 / 100).min(count.saturating_sub(1)));
        [as_f64(sum) / as_f64(count as u64) / 1e6, high.map_or(f64::NAN, |high| f64::from(*high) / 1e6)]
    }
}

/// How long a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Before anything is measured.
    pub warm_up: Duration,
    /// Measured.
    pub span: Duration,
}

/// A line of a rate behind a discipline.
struct Line<'a, D> {
    discipline: &'a mut D,
    /// Of an octet on the line.
    octet_ns: u64,
    free_at: Instant,
    measured: core::ops::Range<Instant>,
    streams: Vec<Got>,
}

impl<D: Discipline<()>> Line<'_, D> {
    /// Sends all that begins by `until`.
    fn run_until(&mut self, until: Instant) {
        while self.free_at <= until {
            let Some(taken) = self.discipline.take(self.free_at) else {
                let next = self.discipline.next_conforming(self.free_at);
                // It is idle until something may go or comes.
                self.free_at = next.map_or(until, |next| next.min(until)).max(self.free_at);
                if self.free_at == until {
                    return;
                }
                continue;
            };
            self.free_at += Duration(u64::from(taken.packet.octets) * self.octet_ns);
            let got = self.streams.get_mut(taken.packet.flow as usize);
            if let Some(got) = got.filter(|_| self.measured.contains(&taken.since)) {
                got.accepted_octets += u64::from(taken.packet.octets);
                let delay = self.free_at.since(taken.since).0;
                got.delays_ns.push(u32::try_from(delay).unwrap_or(u32::MAX));
            }
        }
    }

    fn offer(&mut self, now: Instant, flow: u32, octets: u32) {
        if let Some(got) = self.streams.get_mut(flow as usize).filter(|_| self.measured.contains(&now)) {
            got.offered_octets += u64::from(octets);
        }
        self.discipline.offer(now, Packet { flow, octets, item: () }, &mut |_| ());
    }
}

/// The streams of figure 6 through any discipline that knows them by their places, over a line of so many kbit/s.
pub fn drive<D: Discipline<()>>(
    discipline: &mut D,
    offered_kbps: &[u32; STREAMS.len()],
    link_kbps: u32,
    (arrivals, plan): (Arrivals, Plan),
    seed: u64,
) -> Measured {
    let mut rng = Rng::seeded(seed);
    let mut sources = Source::of_all(offered_kbps, arrivals, &mut rng);
    let begin = Instant::ZERO + plan.warm_up;
    let mut line = Line {
        discipline,
        octet_ns: 8_000_000 / u64::from(link_kbps),
        free_at: Instant::ZERO,
        measured: begin..begin + plan.span,
        streams: vec![Got::default(); STREAMS.len()],
    };
    while let Some(source) = sources.iter_mut().min_by_key(|source| source.next)
        && source.next < line.measured.end
    {
        line.run_until(source.next);
        line.offer(source.next, source.flow, source.octets);
        source.advance();
    }
    // What is on its way yet.
    line.run_until(line.measured.end + Duration::from_secs(10));
    Measured { streams: line.streams, span: plan.span }
}

/// The same through the QoS component.
///
/// # Errors
/// Where the queues or streams cannot be set up so.
pub fn measure(setup: &Setup, link_kbps: u32, how: (Arrivals, Plan), seed: u64) -> Result<Measured, String> {
    let mut queues = EdgeQueues::new(setup.config).map_err(|error| error.to_string())?;
    for (name, config) in (0..).zip(&setup.streams) {
        queues.configure(Instant::ZERO, name, config).map_err(|error| format!("stream {name}: {error}"))?;
    }
    Ok(drive(&mut queues, &setup.offered_kbps, link_kbps, how, seed))
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{BUFFERS, LINK_KBPS, Rule};
    use super::*;

    const PLAN: Plan = Plan { warm_up: Duration::from_secs(2), span: Duration::from_secs(20) };

    fn run(setup: &Setup, arrivals: Arrivals, seed: u64) -> Measured {
        measure(setup, LINK_KBPS, (arrivals, PLAN), seed).unwrap()
    }

    #[test]
    fn sources_send_their_rates_and_the_line_is_never_idle() {
        for arrivals in Arrivals::ALL {
            let measured = run(&Setup::all_assured(Rule::OURS, BUFFERS), arrivals, 3);
            for (stream, got) in STREAMS.iter().zip(&measured.streams) {
                let offered = measured.kbps(got.offered_octets);
                let error = offered / f64::from(stream.offered_kbps) - 1.0;
                let tolerance = if arrivals == Arrivals::Periodic { 0.003 } else { 0.2 };
                assert!(error.abs() < tolerance, "{}: {offered}", stream.name);
            }
            let all: f64 = measured.got_kbps().iter().sum();
            assert!((all / f64::from(LINK_KBPS) - 1.0).abs() < 0.01, "{all}");
        }
    }

    #[test]
    fn a_line_with_time_to_spare_delays_by_its_rate_alone() {
        let mut setup = Setup::all_assured(Rule::OURS, BUFFERS);
        setup.offered_kbps = [1; STREAMS.len()];
        setup.offered_kbps[1] = 10;
        let measured = run(&setup, Arrivals::Periodic, 1);
        // A2 has 200 octets of 4 µs, and may meet one of the others, the longest of which takes 4 ms.
        let [mean, high] = measured.delay_ms(1);
        assert!((0.8..1.0).contains(&mean) && high <= 4.8, "{mean} {high}");
    }
}
