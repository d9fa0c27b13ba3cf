//! Two ends in virtual time, joined by the model of the link emulator, and a transfer from one to the other.

use super::config::Config;
use super::endpoint::{Ending, Endpoint};
use crate::link::model::{Counts, Direction, Profile};
use core::net::{Ipv4Addr, SocketAddrV4};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};

/// Octets of an Ethernet header: the emulator counts frames.
const ETHERNET_HEADER: usize = 14;
/// The near end and the far one.
const ADDRESSES: [SocketAddrV4; 2] = [
    SocketAddrV4::new(Ipv4Addr::new(198, 18, 4, 1), 40_000),
    SocketAddrV4::new(Ipv4Addr::new(198, 18, 4, 2), 5201),
];
/// A transfer may take so long.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Two ends and what is between them.
#[derive(Debug)]
pub struct Path {
    /// The end that opens the connection, and the other.
    pub ends: [Endpoint; 2],
    directions: [Direction<Vec<u8>>; 2],
    now: Instant,
    packets: Option<Vec<(Instant, Vec<u8>)>>,
}

impl Path {
    /// Two ends that have not said anything yet. The dice are those of the emulator with the same seed.
    #[must_use]
    pub fn new(configs: [&Config; 2], profiles: [Profile; 2], seed: u64, initial: [u32; 2]) -> Self {
        let mut rng = Rng::seeded(seed);
        let [near, far] = ADDRESSES;
        Self {
            ends: [
                Endpoint::connect(configs[0], near, far, initial[0]),
                Endpoint::listen(configs[1], far, near, initial[1]),
            ],
            directions: profiles.map(|profile| Direction::new(profile, rng.fork())),
            now: Instant::ZERO,
            packets: None,
        }
    }

    /// Keeps each packet with the time at which it entered the path.
    pub fn keep_packets(&mut self) {
        self.packets = Some(Vec::new());
    }

    /// What was kept.
    #[must_use]
    pub fn packets(&self) -> &[(Instant, Vec<u8>)] {
        self.packets.as_deref().unwrap_or_default()
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What became of the packets of each direction.
    #[must_use]
    pub fn counts(&self) -> [Counts; 2] {
        self.directions.each_ref().map(Direction::counts)
    }

    /// Has both ends send what they may now.
    pub fn settle(&mut self) {
        for (end, direction) in self.ends.iter_mut().zip(&mut self.directions) {
            while let Some(packet) = end.poll_transmit(self.now) {
                if let Some(packets) = &mut self.packets {
                    packets.push((self.now, packet.clone()));
                }
                let octets = u32::try_from(packet.len() + ETHERNET_HEADER).unwrap_or(u32::MAX);
                direction.enter(self.now, octets, packet);
            }
        }
    }

    /// Goes to the next moment at which something happens; false where nothing will.
    pub fn step(&mut self) -> bool {
        let arrivals = self.directions.iter().filter_map(Direction::next_delivery);
        let wakes = self.ends.iter().filter_map(Endpoint::next_wake);
        let Some(next) = arrivals.chain(wakes).min() else { return false };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            end.wake(self.now);
        }
        let [near, far] = &mut self.ends;
        let [there, back] = &mut self.directions;
        for (direction, to) in [(there, far), (back, near)] {
            while let Some(delivery) = direction.deliver(self.now) {
                // The path damages nothing.
                let _ = to.receive(&delivery.frame, self.now);
            }
        }
        true
    }
}

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Of both ends.
    pub config: Config,
    /// There and back.
    pub profiles: [Profile; 2],
    /// Octets.
    pub octets: u64,
    /// The dice.
    pub seed: u64,
    /// Whether points of figures are kept.
    pub keeps_points: bool,
}

/// What a transfer gave.
#[derive(Debug)]
pub struct Outcome {
    /// From the first SYN to the last octet at the receiver.
    pub took: Duration,
    /// Each time at which octets became available at the receiver, with all that had by then.
    pub arrivals: Vec<(Instant, u64)>,
    /// The path at the end, with both ends.
    pub path: Path,
}

impl Outcome {
    /// Octets of the stream a second, in bit/s.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        let octets = self.arrivals.last().map_or(0, |(_, total)| *total);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let bits = octets as f64 * 8.0;
        bits / self.took.as_secs_f64()
    }
}

/// The octet of a stream at this place: neighbours differ, and so do places a power of two apart.
#[must_use]
pub const fn octet_at(place: u64) -> u8 {
    let mixed = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}

/// Sends octets from the near end to the far one.
///
/// # Errors
/// A sentence: the stream was damaged, or the connection has ended before all of it arrived.
pub fn transfer(of: &Transfer) -> Result<Outcome, String> {
    let initial = Rng::seeded(!of.seed).u32();
    let mut path = Path::new([&of.config, &of.config], of.profiles, of.seed, [initial, !initial]);
    if of.keeps_points {
        path.ends[0].keep_points();
    }
    let (mut written, mut arrivals, mut total) = (0, Vec::new(), 0);
    loop {
        written += give(&mut path.ends[0], written, of.octets);
        path.settle();
        let octets = path.ends[1].read();
        if !octets.is_empty() {
            if let Some((place, _)) =
                (total..).zip(&octets).find(|(place, octet)| octet_at(*place) != **octet)
            {
                return Err(format!("octet {place} of the stream is another one"));
            }
            total += octets.len() as u64;
            arrivals.push((path.now(), total));
        }
        if path.ends[1].has_read_all() {
            path.ends[1].close();
        }
        // What was read may have opened the window, and the last FIN is answered.
        path.settle();
        if path.ends[1].ending() == Some(Ending::Finished) {
            break;
        }
        let failed = path.ends.iter().find_map(Endpoint::ending);
        if let Some(ending) = failed.filter(|ending| *ending != Ending::Finished) {
            return Err(format!("the connection has ended after {total} octets: {}", ending.name()));
        }
        if !path.step() || path.now() > Instant::ZERO + LONGEST {
            return Err(format!("nothing happens any more after {total} octets"));
        }
    }
    if total != of.octets {
        return Err(format!("{total} octets of {} have arrived", of.octets));
    }
    let took = arrivals.last().map_or(Duration::ZERO, |(at, _)| at.since(Instant::ZERO));
    Ok(Outcome { took, arrivals, path })
}

/// Gives the sender what it has room for, and closes it behind the last octet.
fn give(end: &mut Endpoint, written: u64, octets: u64) -> u64 {
    let mut given = 0;
    while written + given < octets {
        let from = written + given;
        let part: Vec<u8> = (from..octets.min(from + 65_536)).map(octet_at).collect();
        let taken = end.write(&part) as u64;
        given += taken;
        if taken < part.len() as u64 {
            break;
        }
    }
    if written + given == octets {
        end.close();
    }
    given
}
