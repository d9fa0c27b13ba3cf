//! The whole chain at a tiny size: nothing is judged by its speed, but every packet has to be accounted for.
//!
//! | what | where |
//! |---|---|
//! | good, exceeding and strange traffic, lowered leak rates, a pause | here |
//! | mobiles that come, go, move, change their quality of service and are relocated, under full load | `churn` |
//! | SIGKILL under full load, and a new start, after which everybody attaches or, with a store, nobody | `restart` |
//! | memory for each mobile | `memory` |

mod churn;
mod memory;
mod restart;

use super::real::RealLab;
use crate::measure::account::Step;
use crate::measure::bench::{Bench, Sizes};
use crate::measure::{Candidate, Chain, Group, Lab, Lower, Members, Offer, Onset, Setup, Spacing};
use crate::report::Size;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Good packets/s.
const PPS: f64 = 2_000.0;
/// Packets/s for nobody.
const STRANGE_PPS: f64 = 500.0;
/// Work on each packet: with it a core forwards some 30,000 packets/s at the most, whatever the machine.
const WORK_NS: u32 = 30_000;

/// What is to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Every packet of every kind of traffic.
    Account,
    /// The same with mobiles that cipher with GEA3.
    AccountCiphered,
    /// Mobiles that change, under full load.
    Churn,
    /// SIGKILL and a new start, under full load.
    Restart,
    /// The same with a store: nobody attaches again.
    RestartWithStore,
    /// And with mobiles that cipher with GEA3.
    RestartCiphered,
    /// Memory for each mobile.
    Memory,
}

impl Check {
    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "account" => Some(Self::Account),
            "account-ciphered" => Some(Self::AccountCiphered),
            "churn" => Some(Self::Churn),
            "restart" => Some(Self::Restart),
            "restart-with-store" => Some(Self::RestartWithStore),
            "restart-ciphered" => Some(Self::RestartCiphered),
            "memory" => Some(Self::Memory),
            _ => None,
        }
    }
}

/// Starts a candidate and checks it; gives some lines about what was seen.
///
/// # Errors
/// What did not work, or what is not as it has to be.
pub fn run(gannet: PathBuf, candidate: Candidate, check: Check, out: &Path) -> Result<String, String> {
    let mut lab = RealLab::new(gannet, out)?;
    if let Some(why) = lab.missing(candidate) {
        return Err(why);
    }
    match check {
        Check::Account => account(&mut lab, candidate, None),
        Check::AccountCiphered => account(&mut lab, candidate, Some(3)),
        Check::Churn => churn::run(&mut lab, candidate),
        Check::Restart => restart::run(&mut lab, candidate, restart::Kept::Nothing),
        Check::RestartWithStore => restart::run(&mut lab, candidate, restart::Kept::Mobiles),
        Check::RestartCiphered => restart::run(&mut lab, candidate, restart::Kept::Ciphered),
        Check::Memory => memory::run(&mut lab, candidate),
    }
}

/// As many users as that, each of whom negotiates `kbps`.
const fn setup(users: u32, cells: u32, kbps: u32) -> Setup {
    Setup {
        work_ns: 0,
        gea: None,
        policing: true,
        users,
        cells,
        kbps,
        ms_rate: 1.02,
        octets: 378,
        buffer_ms: 200,
        real_time: 0,
        high_every: 0,
        uplink: false,
        store: false,
        acknowledged: 0,
        kd: None,
        program: None,
    }
}

/// Everybody is offered so many times what has been negotiated.
fn offer(setup: &Setup, times: f64, window_s: f64) -> Offer {
    let due_pps_each = setup.pps_each();
    let members = Members { first: 0, stride: 1, count: setup.users };
    let (pps_each, spacing) = (due_pps_each * times, Spacing::Exponential);
    Offer {
        answer_after: 0,
        gives_up: false,
        is_patient: false,
        is_probe: false,
        groups: vec![Group {
            name: "all",
            members,
            pps_each,
            due_pps_each,
            spacing,
            begins_s: 0.0,
            within_s: 0.0,
            onset: Onset::Even,
        }],
        unknown_pps: 0.0,
        octets: setup.octets,
        warm_up_s: 0.2,
        window_s,
        burst_ms: 0,
        seed: 1,
    }
}

/// A few mobiles, good and exceeding traffic and some for nobody, a lowered leak rate, a pause.
fn account(lab: &mut RealLab, candidate: Candidate, gea: Option<u8>) -> Result<String, String> {
    let sizes = Sizes {
        users: 60,
        cells: 4,
        repetitions: 1,
        window_s: 0.3,
        warm_up_s: 0.1,
        buffer_ms: 200,
        ..Sizes::of(Size::Quick)
    };
    let mut bench = Bench::new(lab, sizes, 1);
    bench.gea = gea;
    let setup = bench.setup(448);
    let mut offer = bench.mix(&setup, PPS, 0.5);
    offer.unknown_pps = STRANGE_PPS;
    let mut chain = lab.start(candidate, &setup)?;
    let mut said = String::new();
    let mut step = |chain: &mut dyn Chain, what: &str| {
        let step = chain.step(&offer)?;
        note(&mut said, what, &step);
        let nothing = step.delivered_all() == 0;
        let fault = step.fault().or_else(|| nothing.then(|| "nothing was delivered".to_owned()));
        match fault.or_else(|| gea.and_then(|_| unread(&step))) {
            Some(why) => Err(format!("{what}: {why}\n{said}\n{:?}", step.raw)),
            None => Ok(()),
        }
    };
    step(chain.as_mut(), "good, bad and strange")?;
    chain.lower(&Lower::Mobiles(Members { first: 1, stride: 2, count: setup.users / 2 }, 20.0))?;
    step(chain.as_mut(), "with leak rates lowered")?;
    chain.raise()?;
    chain.pause()?;
    chain.resume()?;
    step(chain.as_mut(), "after a pause")?;
    Ok(said)
}

/// Says so where something that came ciphered was not deciphered and compared as a whole.
fn unread(step: &Step) -> Option<String> {
    let read = step.raw.get("ciphered_whole").copied().unwrap_or(0);
    (read != step.delivered_all()).then(|| format!("{read} deciphered and compared as a whole"))
}

fn note(said: &mut String, what: &str, step: &Step) {
    let _ = writeln!(
        said,
        "{what}: offered {}, delivered {} ({} in pages of what arrived), drops {:?}, ring {}, waiting {}",
        step.offered_all(),
        step.delivered_all(),
        step.raw.get("sent_in_pages").copied().unwrap_or(0),
        step.drops,
        step.ring_losses,
        step.queued
    );
}
