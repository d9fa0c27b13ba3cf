//! Busy polling: this thread runs the receive path of its devices itself, in its own time, instead of being interrupted.
//!
//! A UDP socket that has received a packet knows the NAPI that it came through, and a receive call on it that would find
//! nothing polls that NAPI once. So does every turn of a loop that spins: on the busiest socket of each NAPI, which with
//! AF_XDP is but a companion, since the poll puts most packets into the rings. Interrupts stay off meanwhile
//! (`SO_PREFER_BUSY_POLL` with `napi_defer_hard_irqs` and `gro_flush_timeout`, which are put back at the end).

use crate::netlink::Netlink;
use core::fmt;
use gannet_machine::time::{Duration, Instant};
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
            Self::Always => (DEFERRAL_NS, 20),
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

/// How long interrupts stay off after each poll of a loop that never sleeps: longer than from one tick of the kernel's clock
/// to the next (4 ms at 250 Hz). A timer that is due before the tick would have to be set anew in the processor with each
/// poll; in a virtual machine that ends in the hypervisor and costs more than an empty poll itself: 3.5 µs a
/// poll instead of 1.05 were measured.
pub const DEFERRAL_NS: u32 = 5_000_000;
/// How long a loop spins after the last packet.
const SPIN: Duration = Duration::from_millis(1);
/// How often the sockets to poll are chosen.
pub(crate) const CHOOSE_EVERY: Duration = Duration::from_millis(100);
/// What a packet takes of a poll that is found, and one that is dropped, in ns, where nobody tells how many there were.
const FOUND_NS: u64 = 800;
const DROPPED_NS: u64 = 400;
/// Packets that may come between two polls in any case: a quarter of what a veth's queue holds.
const BETWEEN_POLLS: u64 = 64;
/// Where they come slowly all that the queue holds may come, but for those of so many ns: the loop itself may be late.
const QUEUE: u64 = 256;
const KEPT_NS: u64 = 100_000;
/// What a poll takes that finds nothing is the least that one took within [`CHOOSE_EVERY`], but no more than this, in ns.
const EMPTY_MAX_NS: u64 = 6_000;
/// A poll that took so much more found something, in ns, where no program at the driver counts.
const FOUND_MIN_NS: u64 = 400;
/// A device at which so many polls in a row have found nothing is polled only so often while packets come elsewhere: a poll
/// costs as much as some packets.
const IDLE_POLLS: u32 = 8;
const IDLE_EVERY: Duration = Duration::from_micros(200);
/// One at which a packet comes for more than so many elsewhere is polled only so often that a poll may find some, though no more
/// rarely than one where nothing comes: what it finds alone is a turn of the loop for one packet.
const SELDOM: u64 = 4;
const TOGETHER: u64 = 4;
/// Where the loop has hardly any time left both are polled so many times as rarely: a packet that comes alone costs as much as some that
/// come together, since nothing of what it takes is in the cache. It waits for up to a millisecond then, and where more come at once than a
/// device's queue holds what is too much is lost: 256 within that time.
const LONGER_WHEN_SHORT: u64 = 5;
/// Packets come as long as the last one is no older than this, and through all of the turn that follows it.
const LATELY: Duration = Duration::from_micros(50);
/// From one packet to the next, where there is little to do.
const GAP_MAX_NS: u64 = 1_000_000;
/// A slice that may always take half of the time until the next poll, and the part of that time which a longer one may take.
const BRIEF_NS: u64 = 40_000;
const LONG_PART: u64 = 12;
/// What sending a frame takes, in ns.
const SENT_NS: u64 = 800;
/// Packets of one poll: what the queue of a veth holds, so that nothing urgent stays behind others there.
const BUDGET: i32 = 256;
/// Empty frames that the kernel has at hand where a loop always polls: what two polls find. What is rotated through stays in
/// the cache; a frame that has not been used for long costs as much as its work.
pub const EMPTY_WHERE_POLLED: u32 = 2 * BUDGET.unsigned_abs();
/// The same while a machine is in a hurry, where a program at the driver says whether more has come: what is urgent is looked
/// for behind each poll, and then the next one follows ([`crate::io::Io::poll_on`]).
const BUDGET_IN_A_HURRY: i32 = 16;
/// And where none says it: all that comes in a turn. What one poll leaves behind in the device's queue waits there for
/// another turn, urgent or not.
const BUDGET_UNSEEN: i32 = 128;
/// Any value but 0 permits polling; a call that does not block polls once.
pub(crate) const POLL_US: i32 = 50;

/// What is polled, and what was changed for it.
pub(crate) struct Busy {
    pub(crate) mode: BusyPoll,
    /// A machine is in a hurry.
    pub(crate) hurry: bool,
    /// The loop has hardly any time left.
    pub(crate) short_of_time: bool,
    traffic_at: Option<Instant>,
    /// How long the polls took since the last turn's packets were counted, and when the last one ended.
    polling: Duration,
    polled_at: Instant,
    /// How many polls these were.
    polls: u64,
    /// What a poll takes that finds nothing, and the least that one took since that was found out, in ns.
    empty_ns: u64,
    least_ns: u64,
    /// And how many packets they found that were not dropped.
    found: u64,
    /// What the programs at the drivers had dropped until then.
    dropped: u64,
    /// When they were counted.
    counted_at: Instant,
    /// The last turn had some.
    pub(crate) had_some: bool,
    /// From one packet to the next, in ns, as it was lately.
    gap_ns: u64,
    pub(crate) choose_at: Instant,
    /// Endpoints to ask in each turn.
    pub(crate) pollers: Vec<Poller>,
    settings: Vec<Setting>,
    pub(crate) netlink: Option<Netlink>,
    /// What is missing has been said.
    pub(crate) said: bool,
}

/// An endpoint that polls a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poller {
    pub(crate) index: usize,
    /// The place of the program at the driver of that device, and how many packets it had seen after the last poll.
    pub(crate) program: Option<usize>,
    seen: u64,
    /// How many polls in a row have found nothing.
    idle: u32,
    /// From one packet to the next, in ns, and how long the polls since the last one are; 0 where no program counts.
    gap_ns: u64,
    without_ns: u64,
    /// When it was polled last.
    polled_at: Instant,
    /// The last poll found as much as it may: there is more.
    pub(crate) is_full: bool,
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
            hurry: false,
            short_of_time: false,
            traffic_at: None,
            polling: Duration::ZERO,
            polled_at: Instant::ZERO,
            polls: 0,
            empty_ns: 0,
            least_ns: u64::MAX,
            found: 0,
            dropped: 0,
            counted_at: Instant::ZERO,
            had_some: false,
            gap_ns: GAP_MAX_NS,
            choose_at: Instant::ZERO,
            pollers: Vec::with_capacity(16),
            settings: Vec::new(),
            netlink: None,
            said: false,
        }
    }

    /// Packets that one poll through this endpoint takes.
    pub(crate) fn budget(&self, index: usize) -> i32 {
        match self.poller(index) {
            _ if !self.hurry => BUDGET,
            Some(Poller { program: Some(_), .. }) => BUDGET_IN_A_HURRY,
            _ => BUDGET_UNSEEN,
        }
    }

    /// Something has arrived.
    pub(crate) const fn traffic(&mut self, now: Instant) {
        self.traffic_at = Some(now);
    }

    /// All devices have been polled.
    pub(crate) fn polled(&mut self, began: Instant, ended: Instant) {
        self.polling = Duration(self.polling.0 + ended.since(began).0);
        self.polled_at = ended;
    }

    /// The poller that this endpoint is.
    pub(crate) fn poller(&self, index: usize) -> Option<&Poller> {
        self.pollers.iter().find(|poller| poller.index == index)
    }

    /// A poll through this endpoint, at which nothing waited, took so long; the program at the driver, where there is one,
    /// has seen so many packets by now.
    pub(crate) fn poll_took(&mut self, now: Instant, index: usize, time: Duration, seen: Option<u64>) {
        self.polls += 1;
        self.least_ns = self.least_ns.min(time.0);
        let budget = u64::from(self.budget(index).unsigned_abs());
        let Some(poller) = self.pollers.iter_mut().find(|poller| poller.index == index) else { return };
        let found = match seen {
            Some(seen) => {
                let before = core::mem::replace(&mut poller.seen, seen);
                poller.is_full = seen.saturating_sub(before) >= budget;
                poller.came(now, seen.saturating_sub(before));
                seen != before
            }
            None => time.0 >= self.empty_ns + FOUND_MIN_NS,
        };
        poller.asked(now, found);
    }

    /// An endpoint that was asked had something, or may have.
    pub(crate) fn note_arrival(&mut self, now: Instant, index: usize) {
        if let Some(poller) = self.pollers.iter_mut().find(|poller| poller.index == index) {
            poller.asked(now, true);
        }
    }

    /// Is this one not to be polled now?
    pub(crate) fn is_idle(&self, now: Instant, poller: &Poller) -> bool {
        let come = self.had_some || now < self.counted_at + LATELY;
        let is_seldom = !self.hurry && poller.gap_ns > self.gap_ns * SELDOM;
        let every = match (poller.idle >= IDLE_POLLS, is_seldom) {
            (true, _) => IDLE_EVERY,
            (false, true) => Duration(poller.gap_ns * TOGETHER).min(IDLE_EVERY),
            (false, false) => return false,
        };
        let times = if self.short_of_time && !self.hurry { LONGER_WHEN_SHORT } else { 1 };
        come && now < poller.polled_at + every * times
    }

    /// What an empty poll takes is asked anew.
    pub(crate) fn forget_polls(&mut self) {
        let least_ns = core::mem::replace(&mut self.least_ns, u64::MAX);
        if least_ns != u64::MAX {
            self.empty_ns = least_ns.min(EMPTY_MAX_NS);
        }
    }

    /// They found so many packets that were not dropped.
    pub(crate) const fn found(&mut self, packets: usize) {
        self.found += packets as u64;
    }

    /// All that the polls of a turn have found is known, and what programs at the drivers have dropped so far, where there
    /// are such: how often does a packet come?
    pub(crate) fn reckon(&mut self, now: Instant, dropped: Option<u64>) {
        let found = core::mem::take(&mut self.found);
        let polling = core::mem::replace(&mut self.polling, Duration::ZERO);
        if self.mode == BusyPoll::Off {
            return;
        }
        let fixed_ns = core::mem::take(&mut self.polls) * self.empty_ns;
        let dropped = match dropped {
            Some(all) => all.saturating_sub(core::mem::replace(&mut self.dropped, all)),
            None => polling.0.saturating_sub(fixed_ns + found * FOUND_NS) / DROPPED_NS,
        };
        let span = now.since(self.counted_at).0.min(GAP_MAX_NS);
        self.had_some = found + dropped > 0;
        if !self.had_some {
            // The next one is still to come: it will not have come sooner than this.
            self.gap_ns = self.gap_ns.max(span);
            return;
        }
        let gap = span / (found + dropped);
        // Soon for more traffic, and slowly for less.
        self.gap_ns =
            if gap < self.gap_ns { u64::midpoint(gap, self.gap_ns) } else { (gap + 7 * self.gap_ns) / 8 };
        self.counted_at = now;
    }

    /// How long the loop may do something else than to poll.
    pub(crate) fn leisure(&self) -> Duration {
        let slack_ns = (self.gap_ns * QUEUE).saturating_sub(KEPT_NS);
        Duration(slack_ns.max(self.gap_ns * BETWEEN_POLLS))
    }

    /// How long a machine may work, of what it usually may: half of that time, since what it makes is sent then. Longer than a brief slice
    /// one is only where it is a small part of it: packets do not come evenly, and what a long slice saves is worth no packet that is lost.
    pub(crate) fn slice(&self, usual: Duration, least: Duration) -> Duration {
        let Duration(leisure) = self.leisure();
        let slice = (leisure / 2).min(BRIEF_NS).max(leisure / LONG_PART);
        Duration(slice.clamp(least.0.min(usual.0), usual.0))
    }

    /// How many frames may be sent at once, of so many at the most.
    pub(crate) fn part(&self, most: usize) -> usize {
        let frames = usize::try_from(self.leisure().0 / 2 / SENT_NS).unwrap_or(most);
        frames.clamp(most / 4, most)
    }

    /// Is it time to poll again, in the middle of something else?
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now.since(self.polled_at).0 >= self.leisure().0 / 2
    }

    /// Until when a loop does not sleep that has no device to poll, so that it asks for what has come and lets others run meanwhile;
    /// `None` where it may sleep, or polls.
    pub(crate) fn waits_awake(&self, now: Instant) -> Option<Instant> {
        match self.mode {
            _ if !self.pollers.is_empty() => None,
            BusyPoll::Off => None,
            BusyPoll::Adaptive => self.traffic_at.map(|at| at + SPIN).filter(|until| now < *until),
            BusyPoll::Always => Some(now + SPIN),
        }
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
    pub(crate) fn defer(&mut self, device: &str) -> io::Result<()> {
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

impl Poller {
    pub(crate) const fn new(index: usize, program: Option<usize>) -> Self {
        let polled_at = Instant::ZERO;
        Self { index, program, seen: 0, idle: 0, gap_ns: 0, without_ns: 0, polled_at, is_full: false }
    }

    /// A poll has found so many packets. More of them count at once, and fewer slowly.
    fn came(&mut self, now: Instant, packets: u64) {
        if self.polled_at == Instant::ZERO {
            return;
        }
        let span = (self.without_ns + now.since(self.polled_at).0).min(GAP_MAX_NS);
        self.without_ns = if packets == 0 { span } else { 0 };
        let gap = span / packets.max(1);
        let is_more = packets > 0 && gap < self.gap_ns;
        // Where nothing came the next one is still to come: it will not have come sooner than this.
        self.gap_ns = if is_more { gap } else { self.gap_ns.max((gap + 7 * self.gap_ns) / 8) };
    }

    fn asked(&mut self, now: Instant, found: bool) {
        self.idle = if found { 0 } else { self.idle.saturating_add(1) };
        self.polled_at = now;
    }
}

impl fmt::Debug for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Busy({}, {} sockets)", self.mode, self.pollers.len())
    }
}

#[cfg(test)]
mod tests;
