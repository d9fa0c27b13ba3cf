//! The streams of the paper's figure 6 and how the queues are set up for them, with what the paper leaves open.

use gannet_qos::edge::{Accounting, Config, Excess, QueueConfig, Service, StreamConfig};

/// The line, in kbit/s.
pub const LINK_KBPS: u32 = 2000;
/// The best-effort streams and the reserved ones A3 and A4 send so much; the scan has no number.
pub const EXCESS_KBPS: u32 = 500;
/// What five streams in excess find beyond all reservations, each: (2000 − 900) / 5.
pub const FAIR_KBPS: f64 = 220.0;
/// What a packet buffer counts where nothing else is said: the paper found it reasonable.
pub const BUFFER_OCTETS: u32 = 500;
/// Packet buffers, where they are not the axis: the paper says so of its delays alone.
pub const BUFFERS: u32 = 100;

/// A stream: its IP packets and its rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// As in figure 6.
    pub name: &'static str,
    /// Octets of an IP packet.
    pub octets: u32,
    /// What is reserved, in kbit/s.
    pub reserved_kbps: u32,
    /// What it sends, in kbit/s.
    pub offered_kbps: u32,
}

const fn stream(name: &'static str, octets: u32, reserved_kbps: u32, offered_kbps: u32) -> Stream {
    Stream { name, octets, reserved_kbps, offered_kbps }
}

/// All of them.
pub const STREAMS: [Stream; 9] = [
    stream("A1", 1000, 150, 150),
    stream("A2", 200, 100, 100),
    stream("A3", 500, 100, EXCESS_KBPS),
    stream("A4", 500, 200, EXCESS_KBPS),
    stream("A5", 1000, 150, 150),
    stream("A6", 200, 200, 200),
    stream("B1", 1000, 0, EXCESS_KBPS),
    stream("B2", 200, 0, EXCESS_KBPS),
    stream("B3", 500, 0, EXCESS_KBPS),
];

impl Stream {
    /// True of A1 to A6.
    pub const fn is_reserved(&self) -> bool {
        self.reserved_kbps > 0
    }
}

/// The place of a stream in [`STREAMS`].
pub fn place(name: &str) -> usize {
    STREAMS.iter().position(|stream| stream.name == name).unwrap_or(usize::MAX)
}

/// Accounting and admission of excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// For a person.
    pub name: &'static str,
    /// `BUFF_SIZE`, or byte-exact.
    buff_size: Option<u32>,
    excess: Excess,
}

impl Rule {
    /// The paper's, in buffers of so many octets.
    pub const fn paper(buff_size: u32) -> Self {
        Self { name: "paper", buff_size: Some(buff_size), excess: Excess::Resulting }
    }

    /// The paper's rule of admission, byte-exact.
    pub const PAPER_EXACT: Self =
        Self { name: "paper's rule, byte-exact", buff_size: None, excess: Excess::Resulting };
    /// Ours.
    pub const OURS: Self = Self { name: "ours", buff_size: None, excess: Excess::Present };

    /// A pool of so many packet buffers; byte-exact, each is worth [`BUFFER_OCTETS`].
    fn pool(self, buffers: u32) -> Accounting {
        match self.buff_size {
            Some(octets) => Accounting::BuffSize { buffers, octets },
            None => Accounting::Exact { octets: buffers * BUFFER_OCTETS },
        }
    }
}

/// Kbit/s as octets/s.
const fn octets_per_s(kbps: u32) -> u32 {
    kbps * 125
}

/// Queues and streams.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The queues.
    pub config: Config,
    /// By the places of [`STREAMS`].
    pub streams: [StreamConfig; STREAMS.len()],
    /// What each sends, in kbit/s.
    pub offered_kbps: [u32; STREAMS.len()],
}

impl Setup {
    /// Figure 6(a): all that is reserved is AF, and `buffers` packet buffers are the AF/BE queue's.
    pub fn all_assured(rule: Rule, buffers: u32) -> Self {
        let queue = QueueConfig {
            buffers: rule.pool(buffers),
            rate: octets_per_s(LINK_KBPS),
            weight: 1,
            excess: rule.excess,
        };
        let config = Config { streams_max: 9, expedited: queue, assured: queue };
        let streams = STREAMS.map(|stream| StreamConfig {
            service: if stream.is_reserved() { Service::Assured } else { Service::BestEffort },
            rate: octets_per_s(stream.reserved_kbps),
            burst: 0,
        });
        Self { config, streams, offered_kbps: STREAMS.map(|stream| stream.offered_kbps) }
    }

    /// Figure 6(b): A2 and A5 use the EF queue, whose weight is so many kbit/s of the line's. The buffers are divided as the rates
    /// are, since the paper does not say how: a rate has the same allocation in either queue.
    pub fn with_expedited(rule: Rule, buffers: u32, weight_kbps: u32) -> Self {
        let mut this = Self::all_assured(rule, buffers);
        let mut expedited = 0;
        for (stream, config) in STREAMS.iter().zip(&mut this.streams) {
            if ["A2", "A5"].contains(&stream.name) {
                config.service = Service::Expedited;
                expedited += stream.reserved_kbps;
            }
        }
        let queue = |kbps: u32, weight| QueueConfig {
            buffers: Accounting::Exact { octets: buffers * BUFFER_OCTETS / LINK_KBPS * kbps },
            rate: octets_per_s(kbps),
            weight,
            excess: rule.excess,
        };
        this.config.expedited = queue(expedited, weight_kbps);
        this.config.assured = queue(LINK_KBPS - expedited, LINK_KBPS - weight_kbps);
        this
    }

    /// Gives each reserved stream a burst allowance of so many of its packets. The pools grow so that the shared buffers stay as
    /// they are: B' (1 − Σ r / R) − Σ σ = B (1 − Σ r / R).
    #[must_use]
    pub fn with_burst(mut self, packets: u32) -> Self {
        let mut sums = [(0_u64, 0_u64); 2];
        for (stream, config) in STREAMS.iter().zip(&mut self.streams) {
            if stream.is_reserved() {
                config.burst = packets * stream.octets;
                let [assured, expedited] = &mut sums;
                let sum = if config.service == Service::Expedited { expedited } else { assured };
                *sum = (sum.0 + u64::from(config.burst), sum.1 + u64::from(config.rate));
            }
        }
        for ((bursts, rates), queue) in
            sums.into_iter().zip([&mut self.config.assured, &mut self.config.expedited])
        {
            let mut pool = queue.buffers.pool_octets();
            if rates >= u64::from(queue.rate) {
                // Reserved whole: by twice the rate and twice the pool all allocations stay, and there is room beside them.
                queue.rate *= 2;
                pool *= 2;
            }
            let rate = u64::from(queue.rate);
            let more = (bursts * rate).div_ceil(rate - rates);
            queue.buffers = Accounting::Exact { octets: pool + u32::try_from(more).unwrap_or(u32::MAX) };
        }
        self
    }

    /// The AF/BE pool over the line's rate, in ms: no packet of that queue waits longer if it gets what is left of the line.
    pub fn assured_ms_max(&self) -> f64 {
        f64::from(self.config.assured.buffers.pool_octets()) * 1000.0 / f64::from(self.config.assured.rate)
    }
}
