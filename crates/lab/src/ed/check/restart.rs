//! SIGKILL under full load, and a new start: nothing of the old process is left in the kernel, and the mobiles come back, or
//! go on as if nothing had been where the SGSN has a store.

use super::super::bed::Bed;
use super::super::peers;
use super::super::real::{RealChain, RealLab};
use super::{WORK_NS, note, offer, unread};
use crate::load::traffic::{GroupResult, StepResult};
use crate::load::{Phase, Stats, User};
use crate::measure::{Candidate, Chain as _};
use gannet_demux::bpf::Held;
use gannet_machine::time::Duration as Span;
use gannet_ops::vty;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The BSS has noticed that the SGSN is gone.
const NOTICED_WITHIN: Span = Span::from_secs(3);
/// A mobile that the SGSN does not know says that it is there once in so long.
const HEARD_EVERY: Span = Span::from_millis(500);
/// What is offered, as a multiple of what has been negotiated, which is about what a core forwards.
const TIMES: f64 = 3.0;

const WITH_A_PROGRAM: &str = " with a program";

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What the SGSN knows after its new start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing: everybody attaches again.
    Nothing,
    /// All that it knew.
    Mobiles,
    /// The same, of mobiles that cipher with GEA3: keys, and numbers of which none is used twice.
    Ciphered,
}

/// Kills it, looks for what is left, starts it again, and offers the same to mobiles that have attached again.
pub fn run(lab: &mut RealLab, candidate: Candidate, kept: Kept) -> Result<String, String> {
    let (store, ciphered) = (kept != Kept::Nothing, kept == Kept::Ciphered);
    let mut setup = super::setup(100, 40, 900);
    (setup.work_ns, setup.store, setup.gea) = (WORK_NS, store, ciphered.then_some(3));
    lab.notices_within = Some(NOTICED_WITHIN);
    let mut chain = lab.chain(candidate, &setup)?;
    let offer = offer(&setup, TIMES, 0.5);
    if store {
        until_written(&mut chain)?;
    }
    let devices: Vec<String> =
        devices(&chain.bed)?.iter().map(|name| name.replace(WITH_A_PROGRAM, "")).collect();
    let held = Held::by(chain.process.pid()).map_err(|error| format!("descriptors: {error}"))?;
    if held.is_empty() && candidate != Candidate::Fifo {
        return Err(format!("{candidate} holds no program of the kernel's"));
    }
    let mut said = format!("programs {:?}, maps {:?}\n", held.programs, held.maps);

    chain.configure(&offer)?;
    let killed = under_load(&mut chain)?;
    harmless(&killed)?;
    within("the end of its programs and maps", || Ok(held.left().is_empty()))?;
    let left = self::devices(&chain.bed)?;
    if left != devices {
        return Err(format!("the devices were {devices:?} and are {left:?}"));
    }

    chain.process =
        peers::start(&chain.bed, candidate, &setup, &chain.gannet, &chain.directory).map_err(text)?;
    if store {
        go_on(&mut chain, &mut said)?;
    } else {
        come_back(&mut chain)?;
    }
    let step = chain.step(&offer)?;
    note(&mut said, "after the new start", &step);
    if let Some(why) = step.fault().or_else(|| if ciphered { unread(&step) } else { None }) {
        return Err(format!("{why}\n{said}{:?}", step.raw));
    }
    let silent =
        chain.traffic.flow_results().take(setup.users as usize).filter(|flow| flow.delivered == 0).count();
    if silent > 0 {
        return Err(format!("{silent} mobiles get nothing\n{said}"));
    }
    let names = [chain.bed.load().name().to_owned(), chain.bed.sgsn().name().to_owned()];
    drop(chain);
    match names.iter().find(|name| Path::new("/run/netns").join(name).exists()) {
        Some(name) => Err(format!("namespace {name} is still there")),
        None => Ok(said),
    }
}

/// Waits until something is so.
fn within(what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > until {
            return Err(format!("{what} did not come within {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The SGSN's devices by name, and what is attached to them.
fn devices(bed: &Bed) -> Result<Vec<String>, String> {
    let all = bed.sgsn().output_of("ip", &["-details", "-oneline", "link"]).map_err(text)?;
    let name = |line: &str| {
        let name = line.split_whitespace().nth(1).unwrap_or_default();
        if line.contains("prog/xdp") { format!("{name}{WITH_A_PROGRAM}") } else { name.to_owned() }
    };
    Ok(all.lines().map(name).collect())
}

/// Traffic in whose midst the SGSN is killed.
fn under_load(chain: &mut RealChain) -> Result<StepResult, String> {
    let RealChain { traffic, load, bed, process, .. } = chain;
    let (mut failed, mut killed) = (None, false);
    let result = bed.at_load(|| {
        traffic.run(Duration::from_millis(900), &mut |_, elapsed| {
            if let Some(error) = load.as_mut().and_then(|load| load.poll_once().err()) {
                failed.get_or_insert(error.to_string());
            }
            if elapsed > Duration::from_millis(400) && !killed {
                killed = true;
                if let Err(error) = process.kill() {
                    failed.get_or_insert(error.to_string());
                }
            }
        })
    });
    let result = result.map_err(text)?.map_err(text)?;
    failed.map_or(Ok(result), Err)
}

/// What came before it was killed came right.
fn harmless(result: &StepResult) -> Result<(), String> {
    let wrong = result.total(|group: &GroupResult| group.corrupt + group.wrong_mobile + group.repeated);
    if wrong > 0 || result.total(|group| group.delivered) == 0 {
        return Err(format!(
            "{wrong} packets at the wrong mobile, twice or damaged before it was killed: {result:?}"
        ));
    }
    Ok(())
}

/// Cells come into service again, and mobiles attach since the new SGSN tells them to: all that they do is to be heard.
fn come_back(chain: &mut RealChain) -> Result<(), String> {
    let process = &mut chain.process;
    let Some(load) = &mut chain.load else { return Err("no control plane".to_owned()) };
    let before = load.users();
    let mut users = before.clone();
    let came_back = |users: &[User]| {
        let same = users.iter().zip(&before).filter(|(now, before)| {
            now.tlli == before.tlli || now.phase != Phase::Active || now.sgsn_data.0 == 0
        });
        same.map(|(now, _)| now.index).collect::<Vec<u32>>()
    };
    within("the mobiles", || {
        process.check().map_err(text)?;
        for user in came_back(&users) {
            load.be_heard(user);
        }
        load.poll(HEARD_EVERY).map_err(text)?;
        users = load.users();
        Ok(came_back(&users).is_empty() && load.unfinished() == 0)
    })?;
    for user in users {
        chain
            .traffic
            .set_flow(user.index, |flow| {
                (flow.teid, flow.tlli, flow.cell) = (user.sgsn_data.0, user.tlli.0, user.cell);
            })
            .map_err(text)?;
    }
    Ok(())
}

/// What the SGSN says.
fn asked(chain: &RealChain, command: &str) -> Result<String, String> {
    let address = chain.vty.ok_or("it has no VTY")?.parse().map_err(text)?;
    let answer = chain.bed.at_sgsn(|| vty::client::run(address, command));
    answer.map_err(text)?.map_err(text)
}

/// Waits until the store has all that has attached.
fn until_written(chain: &mut RealChain) -> Result<(), String> {
    let wanted = format!("{} entries", chain.setup.users);
    within("the last entry of the store", || {
        let said = asked(chain, "show store")?;
        Ok(said.contains(&wanted) && said.contains("lag: 0 changes wait, 0 ms"))
    })
}

/// Cells come into service again, and the mobiles go on, under the same names: half of them say something, and the others are
/// paged when something comes for them.
fn go_on(chain: &mut RealChain, said: &mut String) -> Result<(), String> {
    let Some(load) = &mut chain.load else { return Err("no control plane".to_owned()) };
    let (before, stats) = (load.users(), load.stats());
    // All cells are those of the first half.
    let talk = chain.setup.users / 2;
    within("the mobiles", || {
        chain.process.check().map_err(text)?;
        let Some(load) = &mut chain.load else { return Ok(false) };
        (0..talk).for_each(|user| load.be_heard(user));
        load.poll(HEARD_EVERY).map_err(text)?;
        // It may not listen yet.
        let ready = asked(chain, "show mm-context all").map_or(0, |said| said.matches("READY").count());
        Ok(ready >= talk as usize)
    })?;
    let _ = writeln!(said, "{}", asked(chain, "show store")?);
    let Some(load) = &mut chain.load else { return Err("no control plane".to_owned()) };
    let names =
        |user: &User| (user.index, user.phase, user.tlli, user.sgsn_data, user.sgsn_control, user.ggsn);
    if !load.users().iter().map(names).eq(before.iter().map(names)) {
        return Err(format!("some have another name or phase than before\n{said}"));
    }
    let now = load.stats();
    // Nor did anybody have to show again who he is.
    let done = |stats: &Stats| (stats.attached, stats.activated, stats.challenged);
    if done(&now) != done(&stats) {
        return Err(format!("some have attached again: {stats:?}, {now:?}\n{said}"));
    }
    Ok(())
}
