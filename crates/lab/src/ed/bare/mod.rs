//! Loops without a stack, in the SGSN's place, on its core and devices: what the machine itself can do.
//!
//! They run as a process of their own (`gannet lab bare NAME`), started like an SGSN, until SIGTERM. Users need no attach:
//! user n has the TEID [`teid`]`(n)` and the TLLI [`tlli`]`(n)`.

mod socket;
mod template;
mod xsk;

use super::bed::{GN_LOAD, GN_SGSN, POLLED_LATE_NS};
use crate::measure::Bare;
use crate::mock_cipher::Work;
use crate::testbed;
use core::net::SocketAddr;
use gannet_rig::PolledSocket;
use gannet_wire::id::{Bvci, Teid, Tlli};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Packets of one poll of a device, and of one batch.
const BATCH: i32 = 128;
/// How long a loop may take until it polls: a million contexts are installed first.
const GREETING_MAX: Duration = Duration::from_secs(30);
/// Turns between two looks at whether it is time to end.
const TURNS: u32 = 1024;

/// What a bare loop is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which.
    pub bare: Bare,
    /// Users.
    pub users: u32,
    /// The first so many are real time.
    pub real_time: u32,
    /// Cells: user n is in cell n modulo this number.
    pub cells: u32,
    /// Ethernet address of the load's end of Gb.
    pub peer: [u8; 6],
    /// UDP port of the BSS.
    pub port: u16,
    /// How long it works on each packet that it forwards, in ns.
    pub work_ns: u32,
}

/// The TEID of a user.
#[must_use]
pub const fn teid(user: u32) -> Teid {
    Teid(1 << 24 | user)
}

/// The TLLI of a user: a local one.
#[must_use]
pub const fn tlli(user: u32) -> Tlli {
    Tlli(0xc000_0000 | user)
}

/// The user of a TEID.
const fn user_of(teid: u32) -> u32 {
    teid & 0x00ff_ffff
}

/// The BVC of a user.
#[must_use]
pub const fn bvci(user: u32, cells: u32) -> Bvci {
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 65,000 cells")]
    let cell = (user % cells) as u16;
    Bvci(2 + cell)
}

/// Runs a loop until SIGTERM.
///
/// # Errors
/// A sentence for the person.
pub fn run(options: &Options) -> Result<(), String> {
    let stop = testbed::stop_on_signals().map_err(|error| error.to_string())?;
    let going = || !stop.load(Ordering::Relaxed);
    for device in ["gn0", "gb0"] {
        defer_interrupts(device, options.bare)?;
    }
    match options.bare {
        Bare::Socket => socket::run(options, &going),
        Bare::Drop | Bare::Xsk | Bare::TwoRings => xsk::run(options, &going),
    }
}

/// Lets this process be the only one that polls a device, with the timer of the SGSN that it stands beside.
fn defer_interrupts(device: &str, bare: Bare) -> Result<(), String> {
    let timeout_ns = match bare {
        Bare::Socket => POLLED_LATE_NS,
        Bare::Drop | Bare::Xsk | Bare::TwoRings => gannet_rt::DEFERRAL_NS,
    };
    for (name, value) in [("napi_defer_hard_irqs", 100), ("gro_flush_timeout", timeout_ns)] {
        let path = format!("/sys/class/net/{device}/{name}");
        std::fs::write(&path, value.to_string()).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// A socket on a port of its own at Gn that knows its device: a packet that it sends to its neighbour comes back.
fn companion(port: u16) -> Result<PolledSocket, String> {
    let fail = |error: std::io::Error| format!("companion at {GN_SGSN}:{port}: {error}");
    let ours: SocketAddr =
        format!("{GN_SGSN}:{port}").parse().map_err(|error| format!("{GN_SGSN}: {error}"))?;
    let companion = PolledSocket::open(ours, BATCH).map_err(fail)?;
    let until = Instant::now() + Duration::from_secs(20);
    // Whoever generates traffic sends one ordinary datagram here first: see `greet`.
    while !companion.knows_its_device() {
        let _ = companion.poll();
        if Instant::now() > until {
            return Err(format!("no datagram came to {GN_SGSN}:{port}: the device's NAPI is not known"));
        }
    }
    Ok(companion)
}

/// The port to which the load sends a datagram, so that the bare loop learns its device.
pub const COMPANION_PORT: u16 = 2999;

/// What a loop prints when it polls.
pub const READY: &str = "polling";

/// Sends that datagram, from the load's end of Gn, again and again until the loop polls, or has had the time to end.
///
/// # Errors
/// Where there is no socket to send from.
pub fn greet(port: u16, polls: &dyn Fn() -> bool) -> std::io::Result<()> {
    let socket = std::net::UdpSocket::bind((GN_LOAD, 0))?;
    let until = Instant::now() + GREETING_MAX;
    while !polls() && Instant::now() < until {
        // Nobody may listen yet.
        let _ = socket.send_to(b"hello", (GN_SGSN, port));
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The same work on each packet as an SGSN has in the laboratory, so that both can be reckoned without it.
#[derive(Debug, Clone, Copy)]
struct Toil(Option<Work>);

impl Toil {
    fn of(options: &Options) -> Self {
        let start = Instant::now();
        let clock_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self((options.work_ns > 0).then(|| Work::calibrated(options.work_ns.into(), clock_ns)))
    }

    fn spend(self, octets: &[u8]) {
        if let Some(work) = self.0 {
            work.spend(octets);
        }
    }
}
