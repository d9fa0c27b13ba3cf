//! The bearers: what each is like, and the thread that emulates it.

use super::text;
use crate::link::medium::{Shared, WLAN_OVERHEAD, WLAN_PER_FRAME};
use crate::link::model::{ETHERNET_OVERHEAD, Loss, Profile};
use crate::link::{self, Account};
use crate::testbed::Namespace;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::time::Duration;
use gannet_rig::NetworkNamespace;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Frames that may be on the line in both directions.
const FRAMES: usize = 16_384;
/// The queue before the line in octets: Linux has room for a thousand frames before an Ethernet device.
const QUEUE_OCTETS: u64 = 1000 * 1514;
/// The ends of the line, in its namespace.
pub const ENDS: [&str; 2] = ["near", "far"];

/// A bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 100 Mbit/s, full duplex.
    Ethernet,
    /// 802.11b at 11 Mbit/s: one medium for both directions.
    Wlan,
    /// 1 Gbit/s both ways by the kernel's token buckets: no emulator in user space is as fast.
    Gigabit,
    /// 100 Mbit/s both ways by the kernel's token buckets, with the kernel's default queue: what waits, waits where a sender can tell.
    Metered,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet, 100 Mbit/s full duplex",
            Self::Wlan => "802.11b, 11 Mbit/s half duplex, 0.81 ms for each frame besides its octets",
            Self::Gigabit => "1 Gbit/s both ways by token buckets of 125,000 octets",
            Self::Metered => "100 Mbit/s both ways by token buckets of 12,500 octets, with pfifo_fast",
        }
    }

    /// The same in a table.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Ethernet => "100 Mbit/s",
            Self::Wlan => "wireless LAN",
            Self::Gigabit => "1 Gbit/s",
            Self::Metered => "100 Mbit/s by token buckets",
        }
    }

    /// What carries frames there: bits/s.
    pub const fn rate(self) -> u64 {
        match self {
            Self::Ethernet | Self::Metered => 100_000_000,
            Self::Wlan => 11_000_000,
            Self::Gigabit => 1_000_000_000,
        }
    }

    /// Whether a thread carries its frames.
    pub const fn is_emulated(self) -> bool {
        !matches!(self, Self::Gigabit | Self::Metered)
    }

    /// The one medium for both directions.
    pub const fn shared(self) -> Option<Shared> {
        match self {
            Self::Ethernet | Self::Gigabit | Self::Metered => None,
            Self::Wlan => Some(Shared {
                rate: self.rate(),
                overhead: WLAN_OVERHEAD,
                per_frame: WLAN_PER_FRAME,
                limit: Some(QUEUE_OCTETS),
            }),
        }
    }
}

/// Words for `tc` that give a device the token bucket of its kind, which holds what the rate carries in a millisecond: a command each.
pub fn token_bucket(kind: Kind, device: &str) -> Vec<Vec<String>> {
    let (rate, burst, limit) =
        (format!("{}bit", kind.rate()), (kind.rate() / 8000).to_string(), QUEUE_OCTETS.to_string());
    let words = |words: &[&str]| {
        [&["qdisc", "add", "dev", device], words].concat().into_iter().map(str::to_owned).collect()
    };
    let bucket = words(&["root", "handle", "1:", "tbf", "rate", &rate, "burst", &burst, "limit", &limit]);
    let queue = (kind == Kind::Metered).then(|| words(&["parent", "1:1", "pfifo_fast"]));
    [bucket].into_iter().chain(queue).collect()
}

/// What a line is like beside its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Time that the line adds to each round trip, half of it each way.
    pub round_trip: Duration,
    /// The share of frames that is lost, each way.
    pub loss: f64,
    /// The same frames have the same fate.
    pub seed: u64,
}

impl Conditions {
    /// Neither delay nor loss.
    pub const NONE: Self = Self { round_trip: Duration::ZERO, loss: 0.0, seed: 1 };

    /// What each direction is like.
    pub fn profile(self, kind: Kind) -> Profile {
        Profile {
            rate: Some(kind.rate()),
            overhead: ETHERNET_OVERHEAD,
            delay: Duration(self.round_trip.0 / 2),
            loss: Loss::Random(self.loss),
            limit: Some(QUEUE_OCTETS),
            ..Profile::default()
        }
    }
}

/// A line at work, which ends with this value.
#[derive(Debug)]
pub struct Emulated {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Account, String>>>,
}

impl Emulated {
    /// Starts it between the devices [`ENDS`] of a namespace.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    pub fn start(namespace: &Namespace, kind: Kind, conditions: Conditions) -> Result<Self, String> {
        let options = link::Options {
            between: ENDS.map(str::to_owned),
            profiles: [conditions.profile(kind); 2],
            shared: kind.shared(),
            seed: conditions.seed,
            time: None,
            frames: FRAMES,
        };
        let (stop, name) = (Arc::new(AtomicBool::new(false)), namespace.name().to_owned());
        let (told, ready) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let run = move || {
            NetworkNamespace::named(&name).and_then(|namespace| namespace.enter()).map_err(text)?;
            link::run(&options, &stopped, move || {
                let _ = told.send(());
            })
        };
        let thread = std::thread::Builder::new().name("line".to_owned()).spawn(run).map_err(text)?;
        let mut line = Self { stop, thread: Some(thread) };
        if ready.recv().is_err() {
            line.join()?;
            return Err("the line has ended".to_owned());
        }
        Ok(line)
    }

    /// Ends it. What it did.
    ///
    /// # Errors
    /// A sentence: it could not do it, or frames were missed that a line would have carried.
    pub fn end(mut self) -> Result<Account, String> {
        let account = self.join()?.ok_or_else(|| "the line has ended before".to_owned())?;
        if account.results.iter().any(|way| way.unfit + way.missed + way.unsent > 0) {
            return Err(format!("the line has not taken or not given all frames:\n{account}"));
        }
        Ok(account)
    }

    fn join(&mut self) -> Result<Option<Account>, String> {
        self.stop.store(true, Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(None) };
        thread.join().unwrap_or_else(|_| Err("the line has failed".to_owned())).map(Some)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // Its account is asked for by `end`.
        let _ = self.join();
    }
}

/// How late 99 % of the frames of lines were at most in the worst direction, in µs; not a number where none was emulated.
pub fn late_us(accounts: &[Account]) -> f64 {
    let late = accounts
        .iter()
        .flat_map(|account| &account.results)
        .map(|way| way.accuracy.quantile(0.99).map_or(f64::NAN, |late| late.as_secs_f64() * 1e6));
    late.fold(f64::NAN, f64::max)
}
