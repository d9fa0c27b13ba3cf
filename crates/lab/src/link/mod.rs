//! A link emulator between two Ethernet devices: rate, delay, jitter, loss, reordering and a queue of limited octets, for each
//! direction on its own.
//!
//! What a frame's fate is says [`model`], in the time of its arrival. That is the kernel's time stamp, so that the emulator's own
//! wake-up hides behind the time that the frame takes to leave. One thread sleeps until the next frame arrives or is due.
//! How late frames were and how exact the rate was is measured in every run ([`accuracy`]) and belongs to its result.
//!
//! The devices' ends have to be without TCP segmentation by the device (`ethtool -K DEVICE tso off gso off gro off`): a frame
//! that is longer than a frame of Ethernet is dropped and counted.

pub mod accuracy;
pub mod medium;
pub mod model;

use accuracy::Accuracy;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_rt::{PACKET_BATCH, PacketLayer, PacketSocket, finish_checksum, wait_for_packets};
use medium::{Departure, Medium, Shared};
use model::{Counts, Direction, Profile};
use std::sync::Arc;
use std::time::SystemTime;

/// The emulator's rank among threads that preempt others: above hops and probes.
const RANK: u8 = 8;
/// It looks so often whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const ETHERNET_HEADER: usize = 14;

/// What to emulate.
#[derive(Debug, Clone)]
pub struct Options {
    /// The two devices.
    pub between: [String; 2],
    /// From the first to the second, and back.
    pub profiles: [Profile; 2],
    /// One medium for both directions; the profiles say nothing of rate, overhead and limit then.
    pub shared: Option<Shared>,
    /// The dice.
    pub seed: u64,
    /// How long; without it until it is told to stop.
    pub time: Option<Duration>,
    /// Frames that may be on their way, in both directions together.
    pub frames: usize,
}

/// The result of one direction.
#[derive(Debug, Clone)]
pub struct Result {
    /// From which device to which.
    pub way: [String; 2],
    /// What became of the frames that came.
    pub counts: Counts,
    /// Frames that came and were not taken: too long, with a VLAN tag, or with a checksum that could not be finished.
    pub unfit: u64,
    /// Frames that came when [`Options::frames`] were on their way, or that the kernel dropped before.
    pub missed: u64,
    /// Frames whose time had come and that the kernel did not take.
    pub unsent: u64,
    /// Frames that were still on their way at the end.
    pub under_way: u64,
    /// How well it was done.
    pub accuracy: Accuracy,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Account {
    /// Of both directions.
    pub results: [Result; 2],
    /// It could preempt other threads; without that its lateness is a neighbour's time slice.
    pub preempting: bool,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Result { way: [from, to], counts, unfit, missed, unsent, under_way, accuracy } in &self.results {
            let Counts { entered, refused, lost, reordered, delivered } = counts;
            writeln!(
                f,
                "{from} -> {to}: {entered} entered, {refused} refused, {lost} lost, {delivered} delivered ({reordered} reordered, \
                 {unsent} not taken by the device), {under_way} under way; {unfit} unfit, {missed} missed"
            )?;
            writeln!(f, "{from} -> {to}: {accuracy}")?;
        }
        let word = if self.preempting { "yes" } else { "no" };
        writeln!(f, "preempts other threads (SCHED_FIFO): {word}")
    }
}

/// One direction at work.
struct Lane {
    direction: Direction<Frame>,
    accuracy: Accuracy,
    unfit: u64,
    missed: u64,
    unsent: u64,
    /// Frames whose time has come.
    due: Vec<(Frame, Instant, bool)>,
}

impl Lane {
    fn new(profile: Profile, rng: Rng) -> Self {
        Self {
            direction: Direction::new(profile, rng),
            accuracy: Accuracy::default(),
            unfit: 0,
            missed: 0,
            unsent: 0,
            due: Vec::with_capacity(PACKET_BATCH),
        }
    }

    /// Takes what has arrived at `socket`; true where that was a full batch.
    fn receive(
        &mut self,
        socket: &mut PacketSocket,
        spare: &mut Vec<Frame>,
        pool: &FramePool,
        mut medium: Option<(&mut Medium<Frame>, usize)>,
    ) -> bool {
        while spare.len() < PACKET_BATCH
            && let Some(frame) = pool.alloc()
        {
            spare.push(frame);
        }
        // One frame always stays to receive into.
        let exhausted = spare.len() <= 1;
        // A device that is down has nothing; when it is up again, it has.
        let count = socket.receive(spare).unwrap_or(0);
        if exhausted {
            self.missed += count as u64;
            return count > 0;
        }
        for (index, mut frame) in spare.drain(..count).enumerate() {
            let Some(arrived) = socket.arrived(index) else { continue };
            let fits = !arrived.cut && !arrived.tagged && frame.set_len(arrived.len);
            let packet = frame.get_mut(ETHERNET_HEADER..).unwrap_or_default();
            if !fits || (arrived.unfinished_checksum && !finish_checksum(packet)) {
                self.unfit += 1;
                continue;
            }
            let at = if arrived.stamp_ns == 0 { now() } else { Instant(arrived.stamp_ns) };
            let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            match &mut medium {
                Some((medium, end)) => medium.enter(*end, at, octets, frame),
                None => self.direction.enter(at, octets, frame),
            }
        }
        count == PACKET_BATCH
    }

    /// Sends what is due through `socket`.
    fn send(&mut self, socket: &mut PacketSocket) {
        loop {
            let begin = now();
            while self.due.len() < PACKET_BATCH
                && let Some(delivery) = self.direction.deliver(begin)
            {
                self.due.push((delivery.frame, delivery.at, delivery.back_to_back));
            }
            if self.due.is_empty() {
                return;
            }
            let sent = socket.send(self.due.iter().map(|(frame, ..)| (&**frame, None)));
            let (at, count) = (now(), sent.as_ref().map_or(1, |count| *count));
            for (_, due, back_to_back) in self.due.drain(..count) {
                if sent.is_ok() {
                    self.accuracy.sent(due, at, back_to_back);
                } else {
                    self.unsent += 1;
                }
            }
        }
    }
}

/// Runs it until `stop` is set or its time is over. `ready` is called when frames are taken.
///
/// # Errors
/// A sentence: a device that is not there, or a right that is missing.
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> core::result::Result<Account, String> {
    let open = |name: &String| {
        PacketSocket::open(name, PacketLayer::Frames).map_err(|error| format!("{name}: {error}"))
    };
    let [first, second] = &options.between;
    let mut sockets = [open(first)?, open(second)?];
    let preempting = gannet_rig::set_preempting(None, RANK).is_ok();
    gannet_rig::set_timer_slack(1).map_err(|error| format!("timer slack: {error}"))?;
    let pool = FramePool::new(options.frames.max(2 * PACKET_BATCH));
    let mut spare = Vec::with_capacity(PACKET_BATCH);
    let mut rng = Rng::seeded(options.seed);
    let mut medium = options.shared.map(Medium::new);
    let profiles = options.profiles.map(|profile| match options.shared {
        Some(_) => Profile { rate: None, limit: None, ..profile },
        None => profile,
    });
    let mut lanes = profiles.map(|profile| Lane::new(profile, rng.fork()));
    ready();
    let end = options.time.map(|time| now() + time);
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| now() < end) {
        let [a, b] = &mut sockets;
        let [there, back] = &mut lanes;
        there.send(b);
        back.send(a);
        let more = there.receive(a, &mut spare, &pool, medium.as_mut().map(|medium| (medium, 0)))
            | back.receive(b, &mut spare, &pool, medium.as_mut().map(|medium| (medium, 1)));
        let start = medium.as_mut().and_then(|medium| begin(medium, &mut lanes));
        let next = lanes.iter().filter_map(|lane| lane.direction.next_delivery());
        let next = next.chain(end).chain(start).min();
        let wait = next.map_or(LOOK_EVERY, |next| next.since(now()).min(LOOK_EVERY));
        if !more && wait > Duration::ZERO {
            let [a, b] = &sockets;
            wait_for_packets([a, b], wait).map_err(|error| format!("waiting for frames: {error}"))?;
        }
    }
    let mut results = Vec::new();
    let ways = [[first, second], [second, first]];
    for (end, ((lane, socket), way)) in (0..).zip(lanes.into_iter().zip(&sockets).zip(ways)) {
        let before = medium.as_ref().map_or((0, 0), |medium| medium.counts(end));
        results.push(account(lane, socket, way, before));
    }
    let results = results.try_into().map_err(|_| "a link has two directions".to_owned())?;
    Ok(Account { results, preempting })
}

/// Gives the frames that have begun to leave to their lanes. When the next one begins.
fn begin(medium: &mut Medium<Frame>, lanes: &mut [Lane; 2]) -> Option<Instant> {
    let now = now();
    while let Some(Departure { end, at, octets, frame }) = medium.depart(now) {
        if let Some(lane) = lanes.get_mut(end) {
            lane.direction.enter(at, octets, frame);
        }
    }
    medium.next_start()
}

/// `before` are frames that a medium has refused, and that waited for it.
fn account(lane: Lane, socket: &PacketSocket, way: [&String; 2], before: (u64, u64)) -> Result {
    let mut counts = lane.direction.counts();
    let (refused_before, waiting) = before;
    counts.entered += refused_before + waiting;
    counts.refused += refused_before;
    let Counts { entered, refused, lost, delivered, .. } = counts;
    Result {
        way: way.map(Clone::clone),
        counts,
        unfit: lane.unfit,
        missed: lane.missed + socket.dropped_before().map_or(0, u64::from),
        unsent: lane.unsent,
        under_way: entered - refused - lost - delivered,
        accuracy: lane.accuracy,
    }
}

/// Has SIGINT and SIGTERM set `stop`.
///
/// # Errors
/// What the operating system says.
pub fn stop_at_signals(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// The time of the kernel's stamps: since 1970.
fn now() -> Instant {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
