//! Mobiles that come and go, change cell and quality of service, and leave as octets and arrive again, while each is offered
//! far more than the SGSN forwards: whatever becomes of a packet, it never comes to another mobile.

use super::super::real::{RealChain, RealLab};
use super::super::shape::profile;
use super::{WORK_NS, note, offer};
use crate::load::traffic::Traffic;
use crate::load::{Load, Order, Phase, Profile, imsi};
use crate::measure::{Candidate, Setup};
use crate::testbed;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration as Span;
use gannet_wire::l3::ie::PrecedenceClass;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const USERS: u32 = 120;
const CELLS: u32 = 40;
/// What is offered, as a multiple of what has been negotiated, which is about what a core forwards.
const TIMES: f64 = 2.5;
/// Of what is delivered, what has to be offered at least.
const FULL_LOAD: f64 = 1.5;
/// Of each kind of change, how many there have to be.
const CHANGES: u64 = 20;
/// Steps at the most, until there were as many, and full load in one of them.
const STEPS_MAX: u32 = 24;
/// For procedures that are under way at the end of a step.
const PATIENCE: Duration = Duration::from_secs(60);

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Steps with changes, each with its account closed, and a last one without.
pub fn run(lab: &mut RealLab, candidate: Candidate) -> Result<String, String> {
    let mut setup = super::setup(USERS, CELLS, 900);
    (setup.work_ns, setup.real_time, setup.high_every) = (WORK_NS, 12, 4);
    let mut chain = lab.chain(candidate, &setup)?;
    let mut churn = Churn::new(&setup);
    let relocation = Relocation::of(&chain)?;
    let stop = AtomicBool::new(false);
    let mut said = std::thread::scope(|scope| {
        let relocating = scope.spawn(|| relocation.run(&stop));
        let result = steps(&mut chain, &mut churn, &relocation);
        stop.store(true, Relaxed);
        let relocated = relocating.join().map_err(|_| "relocation has panicked".to_owned())?;
        result.and_then(|said| relocated.map(|()| said))
    })?;
    at_rest(&mut chain, &mut churn, &mut said)?;
    Ok(said)
}

/// Everybody is there, and gets what is for it. Of who was relocated last the GGSN may hear only when a lost request has been
/// repeated.
fn at_rest(chain: &mut RealChain, churn: &mut Churn, said: &mut String) -> Result<(), String> {
    let offer = offer(&chain.setup, 0.3, 0.5);
    let until = Instant::now() + PATIENCE;
    loop {
        churn.come_to_rest(chain)?;
        let step = chain.step_with(&offer, &mut |load, traffic, _| churn.follow(load, traffic))?;
        note(said, "at rest", &step);
        if let Some(why) = churn.failed.take().or_else(|| step.fault()) {
            return Err(format!("at rest: {why}\n{said}{:?}", step.raw));
        }
        let flows = chain.traffic.flow_results().take(USERS as usize).zip(0_u32..);
        let silent: Vec<_> =
            flows.filter(|(flow, _)| flow.offered > 0 && flow.delivered == 0).map(|(_, user)| user).collect();
        if silent.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("at rest mobiles get nothing: {silent:?}\n{said}"));
        }
    }
}

fn steps(chain: &mut RealChain, churn: &mut Churn, relocation: &Relocation) -> Result<String, String> {
    let offer = offer(&chain.setup, TIMES, 1.0);
    let end = Duration::from_secs_f64(offer.warm_up_s + offer.window_s);
    let (mut said, mut was_full) = (String::new(), false);
    for number in 1..=STEPS_MAX {
        let step = chain.step_with(&offer, &mut |load, traffic, elapsed| {
            churn.follow(load, traffic);
            if elapsed < end {
                churn.change(load, traffic);
            }
        })?;
        note(&mut said, &format!("step {number}"), &step);
        if let Some(why) = churn.failed.take().or_else(|| step.fault()) {
            return Err(format!("step {number}: {why}\n{said}{:?}", step.raw));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of a step")]
        let (offered, delivered) = (step.offered_all() as f64, step.delivered_all() as f64);
        was_full |= delivered > 0.0 && offered >= FULL_LOAD * delivered;
        churn.come_to_rest(chain)?;
        let changes = [churn.attached, churn.moved, churn.updated, relocation.done.load(Relaxed)];
        if was_full && changes.iter().all(|count| *count >= CHANGES) {
            let [attached, moved, updated, relocated] = changes;
            said.push_str(&format!(
                "{attached} attached again, {moved} moved, {updated} changed their QoS, {relocated} relocated\n"
            ));
            return Ok(said);
        }
    }
    let relocated = relocation.done.load(Relaxed);
    Err(format!("too few changes, or never full load: {churn:?}, {relocated} relocated\n{said}"))
}

/// What has changed, and who is on the way.
#[derive(Debug)]
struct Churn {
    setup: Setup,
    dice: Rng,
    /// Who detaches, and attaches again, with the TLLI that it had.
    away: Vec<(u32, u32)>,
    attached: u64,
    moved: u64,
    updated: u64,
    failed: Option<String>,
}

impl Churn {
    fn new(setup: &Setup) -> Self {
        let (dice, away) = (Rng::seeded(7), Vec::new());
        Self { setup: setup.clone(), dice, away, attached: 0, moved: 0, updated: 0, failed: None }
    }

    /// Something becomes different for somebody.
    fn change(&mut self, load: &mut Load, traffic: &mut Traffic) {
        let below = |dice: &mut Rng, bound: u32| u32::try_from(dice.below(bound.into())).unwrap_or(0);
        let user = below(&mut self.dice, self.setup.users);
        if self.away.iter().any(|(other, _)| *other == user) {
            return;
        }
        match below(&mut self.dice, 3) {
            0 => {
                load.emulator(|emulator, cx| {
                    emulator.order(cx, user..user + 1, Order::Detach, None);
                    emulator.order(cx, user..user + 1, Order::Activate, None);
                });
                self.away.push((user, load.user(user).map_or(0, |user| user.tlli.0)));
            }
            1 => {
                let cell = below(&mut self.dice, self.setup.cells);
                load.move_user(user, cell);
                self.note(traffic.set_flow(user, |flow| flow.cell = cell));
                self.moved += 1;
            }
            _ => {
                let rate = self.setup.kbps.saturating_mul(125);
                let wish = match below(&mut self.dice, 3) {
                    0 => Profile::real_time(rate),
                    1 => Profile::best_effort(rate).precedence(PrecedenceClass::HIGH),
                    _ => profile(&self.setup, self.setup.users),
                };
                load.update_qos(user, wish);
            }
        }
    }

    /// Who is back has other names; so has who repeated its request, since an answer came late, and has a new context.
    fn follow(&mut self, load: &mut Load, traffic: &mut Traffic) {
        for now in load.users() {
            let user = now.index;
            if now.phase == Phase::Active
                && self.away.iter().any(|away| away.0 == user && away.1 != now.tlli.0)
            {
                self.away.retain(|(other, _)| *other != user);
                self.attached += 1;
            }
            let flow = traffic.config().flows.get(user as usize);
            let is_new = flow.is_some_and(|flow| flow.teid != now.sgsn_data.0);
            if now.phase == Phase::Active && now.sgsn_data.0 != 0 && is_new {
                self.note(traffic.set_flow(user, |flow| {
                    (flow.teid, flow.tlli, flow.cell) = (now.sgsn_data.0, now.tlli.0, now.cell);
                }));
            } else if now.failed {
                load.emulator(|emulator, cx| emulator.order(cx, user..user + 1, Order::Activate, None));
            }
        }
        self.updated = load.stats().updated;
    }

    fn note<E: std::fmt::Display>(&mut self, result: Result<(), E>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error.to_string());
        }
    }

    /// Sees through what is under way.
    fn come_to_rest(&mut self, chain: &mut RealChain) -> Result<(), String> {
        let Some(load) = &mut chain.load else { return Ok(()) };
        let until = Instant::now() + PATIENCE;
        let is_back = |user: &crate::load::User| user.phase == Phase::Active && user.sgsn_data.0 != 0;
        while load.unfinished() > 0 || !load.users().iter().all(is_back) {
            load.poll(Span::from_millis(10)).map_err(text)?;
            self.follow(load, &mut chain.traffic);
            if Instant::now() > until {
                let missing: Vec<_> = load.users().into_iter().filter(|user| !is_back(user)).collect();
                let unfinished = load.unfinished();
                return Err(format!(
                    "mobiles do not come back: {missing:?}, {unfinished} unfinished, {:?}",
                    load.stats()
                ));
            }
        }
        self.follow(load, &mut chain.traffic);
        self.away.clear();
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Mobiles leave as octets and arrive again, one after the other, as an operator does it.
struct Relocation {
    namespace: String,
    gannet: PathBuf,
    vty: &'static str,
    done: std::sync::atomic::AtomicU64,
}

impl Relocation {
    fn of(chain: &RealChain) -> Result<Self, String> {
        let vty = chain.vty.ok_or("only our own SGSN can do this")?;
        let namespace = chain.bed.sgsn().name().to_owned();
        Ok(Self { namespace, gannet: chain.gannet.clone(), vty, done: 0.into() })
    }

    fn run(&self, stop: &AtomicBool) -> Result<(), String> {
        for user in (0..USERS).cycle() {
            if stop.load(Relaxed) {
                break;
            }
            let order = format!("subscriber relocate imsi {}", imsi(user));
            let mut command = testbed::command_in(&self.namespace, &self.gannet);
            let output = command.args(["vty", self.vty, &order]).output().map_err(text)?;
            let answer = [output.stdout, output.stderr].concat();
            let answer = String::from_utf8_lossy(&answer);
            match () {
                () if answer.contains("is back") => drop(self.done.fetch_add(1, Relaxed)),
                // It has just detached.
                () if answer.contains("not known") => {}
                () => return Err(format!("{order}: {answer}")),
            }
        }
        Ok(())
    }
}
