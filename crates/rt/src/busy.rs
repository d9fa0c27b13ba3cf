//! Busy polling: this thread runs the receive path of its devices itself, in its own time, instead of being interrupted.
//!
//! A UDP socket that has received a packet knows the NAPI that it came through, and a receive call on it that would find
//! nothing polls that NAPI once. So does every turn of a loop that spins: on the busiest socket of each NAPI, which with
//! AF_XDP is but a companion, since the poll puts most packets into the rings. Interrupts stay off meanwhile
//! (`SO_PREFER_BUSY_POLL` with `napi_defer_hard_irqs` and `gro_flush_timeout`, which are put back at the end).

use crate::io::{Io, Kind};
use crate::netlink::{Link, Netlink};
use crate::sys;
use core::fmt;
use gannet_proto::time::{Duration, Instant};
use gannet_proto::trace::Level;
use std::io;
use std::path::PathBuf;

/// Whether a loop polls its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusyPoll {
    /// Never: the kernel receives, and wakes the loop.
    #[default]
    Off,
    /// For a millisecond after each packet; then the loop sleeps.
    Adaptive,
    /// Always: the loop never sleeps and needs a core of its own.
    Always,
}

impl BusyPoll {
    /// How long interrupts stay off without a poll (`gro_flush_timeout`, ns), and after how many such spans without a
    /// packet they come on again (`napi_defer_hard_irqs`).
    ///
    /// A loop that sleeps is woken by the first packet only after these, so that they are short where it does.
    const fn deferral(self) -> (u32, u32) {
        match self {
            Self::Off => (0, 0),
            Self::Adaptive => (200_000, 2),
            Self::Always => (2_000_000, 100),
        }
    }
}

impl fmt::Display for BusyPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Adaptive => "adaptive",
            Self::Always => "always",
        })
    }
}

/// How long a loop spins after the last packet.
const SPIN: Duration = Duration::from_millis(1);
/// How often the sockets to poll are chosen.
const CHOOSE_EVERY: Duration = Duration::from_millis(100);
/// A poll that takes so long has found so much that a device's short queue may not hold what comes within a turn.
const LONG_POLL: Duration = Duration::from_micros(80);
/// What a packet takes of a poll that ends in a ring, and one that is dropped, in ns: how many there were is not told.
const FOUND_NS: u64 = 800;
const DROPPED_NS: u64 = 400;
/// Packets that may come between two polls: a quarter of what a veth's queue holds, since they come in bursts too.
const BETWEEN_POLLS: u64 = 64;
/// From one packet to the next, where there is little to do.
const GAP_MAX_NS: u64 = 1_000_000;
/// What sending a frame takes, in ns.
const SENT_NS: u64 = 800;
/// Packets of one poll: what the queue of a veth holds, so that nothing urgent stays behind others there.
const BUDGET: i32 = 256;
/// Any value but 0 permits polling; a call that does not block polls once.
const POLL_US: i32 = 50;

/// What is polled, and what was changed for it.
pub(crate) struct Busy {
    pub(crate) mode: BusyPoll,
    traffic_at: Option<Instant>,
    /// How long the polls took since the last turn's packets were counted, and the first of them.
    polling: Duration,
    polled: Duration,
    /// And how many packets they found that were not dropped.
    found: u64,
    /// When they were counted.
    counted_at: Instant,
    /// From one packet to the next, in ns, as it was lately.
    gap_ns: u64,
    choose_at: Instant,
    /// Endpoints to ask in each turn.
    pub(crate) pollers: Vec<usize>,
    settings: Vec<Setting>,
    netlink: Option<Netlink>,
    /// What is missing has been said.
    said: bool,
}

/// A value below `/sys/class/net` that is put back when this is dropped.
struct Setting {
    path: PathBuf,
    former: String,
}

impl Drop for Setting {
    fn drop(&mut self) {
        // The device may have gone, and its settings with it.
        let _ = std::fs::write(&self.path, &self.former);
    }
}

impl Setting {
    fn make(device: &str, name: &str, value: u32) -> io::Result<Self> {
        let path = PathBuf::from("/sys/class/net").join(device).join(name);
        let former = std::fs::read_to_string(&path)?;
        std::fs::write(&path, value.to_string())?;
        Ok(Self { path, former })
    }
}

impl Busy {
    pub(crate) fn new(mode: BusyPoll) -> Self {
        Self {
            mode,
            traffic_at: None,
            polling: Duration::ZERO,
            polled: Duration::ZERO,
            found: 0,
            counted_at: Instant::ZERO,
            gap_ns: GAP_MAX_NS,
            choose_at: Instant::ZERO,
            pollers: Vec::with_capacity(16),
            settings: Vec::new(),
            netlink: None,
            said: false,
        }
    }

    /// Something has arrived.
    pub(crate) const fn traffic(&mut self, now: Instant) {
        self.traffic_at = Some(now);
    }

    /// The polls at the beginning of a turn took so long.
    pub(crate) fn polled(&mut self, time: Duration) {
        self.polled = time;
        self.polled_between(time);
    }

    /// So did those within it.
    pub(crate) fn polled_between(&mut self, time: Duration) {
        self.polling = Duration(self.polling.0 + time.0);
    }

    /// They found so many packets that were not dropped.
    pub(crate) const fn found(&mut self, packets: usize) {
        self.found += packets as u64;
    }

    /// All that the polls of a turn have found is known: how often does a packet come?
    pub(crate) fn reckon(&mut self, now: Instant) {
        let found = core::mem::take(&mut self.found);
        let polling = core::mem::replace(&mut self.polling, Duration::ZERO);
        if self.mode == BusyPoll::Off {
            return;
        }
        let dropped = polling.0.saturating_sub(found * FOUND_NS) / DROPPED_NS;
        let span = now.since(self.counted_at).0;
        let gap = (span / (found + dropped).max(1)).min(GAP_MAX_NS);
        // Soon for more traffic, and slowly for less.
        self.gap_ns =
            if gap < self.gap_ns { u64::midpoint(gap, self.gap_ns) } else { (gap + 7 * self.gap_ns) / 8 };
        self.counted_at = now;
    }

    /// How long the loop may do something else than to poll.
    pub(crate) const fn leisure(&self) -> Duration {
        Duration(self.gap_ns * BETWEEN_POLLS)
    }

    /// How long a machine may work, of what it usually may: half of that time, since what it makes is sent then.
    pub(crate) fn slice(&self, usual: Duration, least: Duration) -> Duration {
        Duration((self.leisure().0 / 2).clamp(least.0.min(usual.0), usual.0))
    }

    /// How many frames may be sent at once, of so many at the most.
    pub(crate) fn part(&self, most: usize) -> usize {
        let frames = usize::try_from(self.leisure().0 / 2 / SENT_NS).unwrap_or(most);
        frames.clamp(most / 4, most)
    }

    /// So much that a device's queue may have been half full, or would be soon.
    pub(crate) fn finds_much(&self) -> bool {
        self.polled >= LONG_POLL || self.leisure() < LONG_POLL
    }

    /// Is the loop not to sleep now?
    pub(crate) fn is_spinning(&self, now: Instant) -> bool {
        match self.mode {
            BusyPoll::Off => false,
            BusyPoll::Adaptive => self.traffic_at.is_some_and(|at| now < at + SPIN),
            BusyPoll::Always => true,
        }
    }

    /// Sets the deferral of interrupts of a device, once.
    fn defer(&mut self, device: &str) -> io::Result<()> {
        let directory = PathBuf::from("/sys/class/net").join(device);
        if self.settings.iter().any(|setting| setting.path.starts_with(&directory)) {
            return Ok(());
        }
        let (timeout_ns, count) = self.mode.deferral();
        self.settings.push(Setting::make(device, "gro_flush_timeout", timeout_ns)?);
        self.settings.push(Setting::make(device, "napi_defer_hard_irqs", count)?);
        Ok(())
    }

    /// Forgets what was set for a device that has gone.
    pub(crate) fn forget(&mut self, device: &str) {
        let directory = PathBuf::from("/sys/class/net").join(device);
        self.settings.retain(|setting| !setting.path.starts_with(&directory));
        self.choose_at = Instant::ZERO;
    }
}

impl Io {
    /// Chooses the sockets to poll: of each NAPI the one that received most.
    pub(crate) fn choose_pollers(&mut self) {
        if self.busy.mode == BusyPoll::Off || self.now < self.busy.choose_at {
            return;
        }
        self.busy.choose_at = self.now + CHOOSE_EVERY;
        self.find_napis();
        let Self { endpoints, busy, .. } = self;
        busy.pollers.clear();
        for index in 0..endpoints.len() {
            let Some((napi, received)) = udp_at(endpoints, index).map(|udp| (udp.napi, udp.received)) else {
                continue;
            };
            // Of those that share a port all are asked: none of them hears of the others' packets.
            let best = (0..endpoints.len()).all(|other| {
                other == index
                    || udp_at(endpoints, other)
                        .is_none_or(|udp| udp.napi != napi || (udp.received, other) < (received, index))
            });
            let Some(udp) = udp_at(endpoints, index) else { continue };
            udp.polls = napi != 0 && udp.pollable && (best || udp.config.shared_port);
            if udp.polls {
                busy.pollers.push(index);
            }
        }
        for index in 0..endpoints.len() {
            if let Some(udp) = udp_at(endpoints, index) {
                udp.received /= 2;
            }
        }
    }

    /// Asks the sockets that do not know theirs yet for the NAPI of their packets.
    fn find_napis(&mut self) {
        for index in 0..self.endpoints.len() {
            let Some(udp) = udp_at(&mut self.endpoints, index).filter(|udp| udp.napi == 0) else { continue };
            let level = libc::SOL_SOCKET;
            let found = sys::socket_option(&udp.socket, level, libc::SO_INCOMING_NAPI_ID).unwrap_or(0);
            if found == 0 {
                continue;
            }
            let options = [
                (libc::SO_BUSY_POLL, POLL_US),
                (libc::SO_PREFER_BUSY_POLL, 1),
                (libc::SO_BUSY_POLL_BUDGET, BUDGET),
            ];
            let set = options.map(|(name, value)| sys::set_socket_option(&udp.socket, level, name, value));
            let address = udp.local.bound().ip();
            // Without the right to poll the socket stays as it is.
            udp.napi = u32::from_ne_bytes(found.to_ne_bytes());
            udp.pollable = set.iter().all(Result::is_ok);
            if let Some(error) = set.into_iter().find_map(Result::err) {
                self.say_once(format_args!(
                    "busy polling is not permitted ({error}): it needs CAP_NET_ADMIN; interrupts do the work"
                ));
                continue;
            }
            let Some(link) = self.device_with(address) else { continue };
            if let Err(error) = self.busy.defer(&link.name) {
                self.say_once(format_args!(
                    "interrupts of {} cannot be deferred ({error}); busy polling competes with them",
                    link.name
                ));
            } else {
                self.note(Level::Info, format_args!("{}: polled through NAPI {found}", link.name));
            }
        }
    }

    fn device_with(&mut self, address: core::net::IpAddr) -> Option<Link> {
        if self.busy.netlink.is_none() {
            self.busy.netlink = Netlink::open().ok();
        }
        let netlink = self.busy.netlink.as_mut()?;
        let index = netlink.device_of(address).ok().flatten()?;
        netlink.link(index).ok().flatten()
    }

    fn say_once(&mut self, line: fmt::Arguments<'_>) {
        if !core::mem::replace(&mut self.busy.said, true) {
            self.note(Level::Notice, line);
        }
    }
}

fn udp_at(endpoints: &mut [Option<crate::io::Endpoint>], index: usize) -> Option<&mut crate::udp::Udp> {
    match &mut endpoints.get_mut(index)?.as_mut()?.kind {
        Kind::Udp(udp) => Some(udp),
        Kind::Tun { .. } => None,
    }
}

impl fmt::Debug for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Busy({}, {} sockets)", self.mode, self.pollers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adaptive_loop_spins_for_a_while_after_each_packet() {
        let mut busy = Busy::new(BusyPoll::Adaptive);
        let at = Instant(5_000_000);
        assert!(!busy.is_spinning(at));
        busy.traffic(at);
        assert!(busy.is_spinning(at + Duration::from_micros(999)));
        assert!(!busy.is_spinning(at + Duration::from_millis(1)));
        assert!(Busy::new(BusyPoll::Always).is_spinning(at));
        busy.mode = BusyPoll::Off;
        assert!(!busy.is_spinning(at));
    }

    #[test]
    fn the_more_comes_the_sooner_it_is_polled_again() {
        let (usual, least) = (Duration::from_micros(40), Duration::from_micros(8));
        let mut busy = Busy::new(BusyPoll::Always);
        assert_eq!((busy.slice(usual, least), busy.part(64), busy.finds_much()), (usual, 64, false));
        let turns = |busy: &mut Busy, polled_us: u64, found: usize, span_us: u64| {
            for _ in 0..100 {
                busy.polled(Duration::from_micros(polled_us));
                busy.found(found);
                busy.reckon(busy.counted_at + Duration::from_micros(span_us));
            }
        };
        // At half a million packets/s, none of them dropped, all is as usual.
        turns(&mut busy, 60, 75, 150);
        assert_eq!((busy.gap_ns, busy.slice(usual, least), busy.part(64)), (2000, usual, 64));
        // Two million, nine of ten dropped.
        turns(&mut busy, 60, 12, 63);
        assert!((430..460).contains(&busy.gap_ns), "{}", busy.gap_ns);
        assert_eq!((busy.slice(usual, least).0 / 1000, busy.part(64)), (14, 18));
        assert!(busy.finds_much() && !Busy::new(BusyPoll::Always).finds_much());
        // However much it is, something is done; and after a pause it is as before.
        turns(&mut busy, 100, 0, 10);
        assert_eq!((busy.slice(usual, least), busy.part(64)), (least, 16));
        turns(&mut busy, 1, 0, 1000);
        assert_eq!((busy.slice(usual, least), busy.part(64), busy.finds_much()), (usual, 64, false));
        busy.polled(Duration::from_micros(90));
        assert!(busy.finds_much());
    }

    #[test]
    fn a_device_without_such_settings_is_an_error() {
        assert!(Busy::new(BusyPoll::Always).defer("no-such-device").is_err());
    }
}
