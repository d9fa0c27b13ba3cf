//! A world that follows the clock: its hosts are elsewhere, and what is due in it happens when that time has come.
//!
//! A packet enters at the kernel's own time stamp, and leaves when it is due. How late the clock had become by then is measured.

use super::hosts::Hosts;
use super::kernel::{Counters, Counts};
use super::seen::Noted;
use crate::link::accuracy::Accuracy;
use crate::preempt::run::hold_channels;
use crate::radio::seen::Spot;
use crate::radio::world::World;
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::time::{Duration, Instant};
use gannet_rt::{
    ETHER_TYPE_IPV4, PACKET_BATCH, PacketLayer, PacketSocket, PacketTarget, finish_checksum, wait_for_packets,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

/// The worlds' rank among threads that preempt others.
const RANK: u8 = 8;
/// A world looks so often whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The clock of the kernel's stamps and the virtual one.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Nanoseconds since 1970, and the virtual time then.
    real_ns: u64,
    at: Instant,
}

impl Clock {
    /// The virtual time at a stamp.
    fn at(&self, stamp_ns: u64) -> Instant {
        self.at + Duration(stamp_ns.saturating_sub(self.real_ns))
    }

    fn now(&self) -> Instant {
        self.at(real_ns())
    }
}

/// Nanoseconds since 1970.
#[must_use]
pub fn real_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// How late a world was.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// What was due in it, and packets that came: when they were looked at.
    pub events: Accuracy,
    /// N-PDUs that left: when the kernel had them.
    pub n_pdus: Accuracy,
    /// The world's thread could preempt others.
    pub preempting: bool,
}

impl Lateness {
    /// How late events or N-PDUs were, whichever were later, in seconds, where this share of them was no later; infinite where that is
    /// beyond the scale. Not a number where nothing happened.
    #[must_use]
    pub fn quantile_s(&self, share: f64) -> f64 {
        let of = |accuracy: &Accuracy| match accuracy.latest() {
            None => f64::NAN,
            Some(_) => accuracy.quantile(share).map_or(f64::INFINITY, Duration::as_secs_f64),
        };
        crate::report::greatest([of(&self.events), of(&self.n_pdus)])
    }

    /// The latest of all, in seconds.
    #[must_use]
    pub fn latest_s(&self) -> f64 {
        let of = |accuracy: &Accuracy| accuracy.latest().map_or(f64::NAN, Duration::as_secs_f64);
        crate::report::greatest([of(&self.events), of(&self.n_pdus)])
    }
}

/// Packets that did not cross the border between world and hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// The kernel dropped them in front of the world.
    pub unseen: u64,
    /// They came damaged, or in another form than an IPv4 packet.
    pub unfit: u64,
    /// The world had no frame for them.
    pub refused: u64,
    /// The kernel did not take them.
    pub unsent: u64,
}

/// A world that follows the clock.
#[derive(Debug)]
pub struct Paced {
    /// The world.
    pub world: World,
    /// What was noted of the connection.
    pub noted: Noted,
    /// How late it was.
    pub late: Lateness,
    /// What did not cross.
    pub missed: Missed,
    /// To the server, and to the client.
    sockets: [PacketSocket; 2],
    counters: Counters,
    clock: Clock,
    /// When calls take timeslots, and which.
    calls: VecDeque<(Instant, u8)>,
    pool: FramePool,
    spare: Vec<Frame>,
}

impl Paced {
    /// The calling thread is in the namespace of the devices, which are those to the server and to the client. The world's present time is
    /// `real_ns`.
    ///
    /// # Errors
    /// A sentence: a right that is missing, or a counter that the kernel does not have.
    pub fn new(
        world: World,
        devices: &[String; 2],
        mut counters: Counters,
        calls: VecDeque<(Instant, u8)>,
    ) -> Result<Self, String> {
        let open = |name: &String| {
            PacketSocket::open(name, PacketLayer::Packets).map_err(|error| format!("{name}: {error}"))
        };
        let [server, client] = devices;
        let noted = Noted::since(counters.read()?);
        let clock = Clock { real_ns: u64::MAX, at: world.gprs.now };
        let pool = FramePool::new(PACKET_BATCH);
        Ok(Self {
            world,
            noted,
            late: Lateness::default(),
            missed: Missed::default(),
            sockets: [open(server)?, open(client)?],
            counters,
            clock,
            calls,
            pool,
            spare: Vec::with_capacity(PACKET_BATCH),
        })
    }

    /// Follows the clock from the time that `real_ns` says, for `span`. What the kernel counted meanwhile.
    ///
    /// # Errors
    /// A sentence: interrupted by `stop`, a device that has gone.
    pub fn run(&mut self, real_ns: u64, span: Duration, stop: &AtomicBool) -> Result<Counts, String> {
        let before = self.counters.read()?;
        self.clock.real_ns = real_ns;
        self.late.preempting = gannet_rig::set_preempting(None, RANK).is_ok();
        let slack = gannet_rig::set_timer_slack(1).map_err(|error| format!("timer slack: {error}"));
        let end = self.clock.at + span;
        let done = slack.and_then(|()| self.follow(end, stop));
        let _ = gannet_rig::set_preempting(None, 0);
        done?;
        self.missed.unseen +=
            self.sockets.iter().map(|of| of.dropped_before().map_or(0, u64::from)).sum::<u64>();
        let after = self.counters.read()?;
        self.noted.explain(after);
        Ok(after.since(before))
    }

    fn follow(&mut self, end: Instant, stop: &AtomicBool) -> Result<(), String> {
        while self.world.gprs.now < end {
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            let has_more = self.turn(end)?;
            let next = self.next().unwrap_or(end).min(end);
            let wait = next.since(self.clock.now()).min(LOOK_EVERY);
            if !has_more && wait > Duration::ZERO {
                let [server, client] = &self.sockets;
                let waited = wait_for_packets([server, client], wait);
                waited.map_err(|error| format!("waiting for packets: {error}"))?;
            }
        }
        Ok(())
    }

    /// When something is due.
    fn next(&self) -> Option<Instant> {
        let call = self.calls.front().map(|(at, _)| *at);
        [self.world.gprs.next(), call, self.noted.next_look()].into_iter().flatten().min()
    }

    /// Has happen what is due by now, and takes what has come. True where more may have come.
    fn turn(&mut self, end: Instant) -> Result<bool, String> {
        let now = self.clock.now();
        if let Some(due) = self.next().filter(|due| *due <= now) {
            self.late.events.sent(due, now, false);
        }
        let mut came = Vec::new();
        let mut has_more = false;
        for place in 0..self.sockets.len() {
            has_more |= self.receive(place, &mut came)?;
        }
        came.sort_by_key(|(at, ..)| *at);
        for (at, place, packet) in came {
            self.late.events.sent(at, now, false);
            self.advance(at.min(end));
            self.enter(place, &packet);
        }
        self.advance(now.min(end));
        if self.noted.next_look().is_some_and(|at| at <= now) {
            self.noted.explain(self.counters.read()?);
        }
        Ok(has_more)
    }

    /// Takes a batch of packets from a host, each with the time at which it left.
    fn receive(&mut self, place: usize, came: &mut Vec<(Instant, usize, Vec<u8>)>) -> Result<bool, String> {
        while self.spare.len() < PACKET_BATCH
            && let Some(frame) = self.pool.alloc()
        {
            self.spare.push(frame);
        }
        let Some(socket) = self.sockets.get_mut(place) else { return Ok(false) };
        let count = socket.receive(&mut self.spare).map_err(|error| format!("receiving packets: {error}"))?;
        for (index, mut frame) in self.spare.drain(..count).enumerate() {
            let Some(arrived) = socket.arrived(index) else { continue };
            let fits = arrived.ether_type == ETHER_TYPE_IPV4
                && !arrived.cut
                && !arrived.tagged
                && frame.set_len(arrived.len)
                && (!arrived.unfinished_checksum || finish_checksum(&mut frame));
            if fits {
                let stamp_ns = if arrived.stamp_ns == 0 { real_ns() } else { arrived.stamp_ns };
                came.push((self.clock.at(stamp_ns), place, frame.to_vec()));
            } else {
                self.missed.unfit += 1;
            }
        }
        Ok(count == PACKET_BATCH)
    }

    /// A packet of a host enters the world.
    fn enter(&mut self, place: usize, packet: &[u8]) {
        let is_server = place == 0;
        let spot = if is_server { Spot::Sent } else { Spot::Answers };
        self.noted.packet(self.world.gprs.now, spot, packet);
        if self.world.gprs.frames.free() == 0 {
            self.missed.refused += 1;
        } else if is_server {
            self.world.host_sends(packet);
        } else {
            self.world.mobile_sends(0, packet);
        }
        self.leave();
    }

    /// Goes on until a time, unless it has been there, with the calls that come before.
    fn advance(&mut self, until: Instant) {
        let until = until.max(self.world.gprs.now);
        while let Some((at, timeslots)) = self.calls.front().copied().filter(|(at, _)| *at <= until) {
            self.calls.pop_front();
            self.world.run_until(at.max(self.world.gprs.now));
            self.leave();
            hold_channels(&mut self.world, timeslots);
        }
        self.world.run_until(until);
        self.leave();
    }

    /// Gives the hosts what has come to them.
    fn leave(&mut self) {
        while let Some((at, mobile, packet)) = self.world.others.pop_front() {
            let (place, spot) = if mobile.is_some() { (1, Spot::Came) } else { (0, Spot::Answered) };
            self.noted.packet(at, spot, &packet);
            let target = PacketTarget { to: Hosts::station(), ether_type: ETHER_TYPE_IPV4 };
            let Some(socket) = self.sockets.get_mut(place) else { continue };
            match socket.send(core::iter::once((packet.as_slice(), Some(target)))) {
                Ok(1) => self.late.n_pdus.sent(at, self.clock.now(), false),
                Ok(_) | Err(_) => self.missed.unsent += 1,
            }
        }
    }
}
