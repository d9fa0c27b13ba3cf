//! What one core forwards, beside bare loops that do nothing else, and what the machine itself can do.

use super::bounds::{AT_BOUND, OF_BEST, axis};
use super::{FRACTIONS, FRACTIONS_WITH_WORK};
use crate::measure::bench::{Again, Bench, Runner};
use crate::measure::saturation::{
    BARE, BARE_WORK_NS, Found, LONGER, bare_groups, cap, s_f, with_bare_work, without_bare_work,
};
use crate::measure::search::WHOLE;
use crate::measure::stats::Samples;
use crate::measure::{Bare, Candidate, Chain, Offer, Setup};
use crate::report::{at_least, least};

/// Packets/s where the first search with the work of the bare loops begins.
const GUESS_WITH_BARE_WORK_PPS: f64 = 400_000.0;
/// Of what a bare loop forwards.
const OF_BARE: f64 = 0.7;

/// What the machine itself can do, in packets/s: one of each for each repetition, since it changes by the minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    /// Dropping what is blocked.
    pub(super) drop: Samples,
    /// AF_XDP, receive and send.
    pub(super) xsk: Found,
    /// The same with a little work ([`with_bare_work`]).
    pub(super) xsk_with_work: Found,
    /// `recvmmsg` and send, with as much.
    pub(super) socket_with_work: Found,
    /// What the AF_XDP loop delivers of what is not blocked, at the bound that its own saturation gives, by the fraction of
    /// what is: how far the formula of the bound holds on this machine, whatever forwards.
    pub(super) control: Vec<(f64, Samples)>,
}

/// The bare loops, each of which has the core only in its turn.
pub(super) struct Bares(Vec<(Bare, Setup, Box<dyn Chain>)>);

/// Those that are compared with bare loops, with a little work as these have it: where the generator's core is full before
/// their own is, that says what they can forward.
pub(super) struct Core {
    setup: Setup,
    runners: Vec<Runner>,
    pub(super) found: Vec<(Candidate, Found)>,
}

impl Core {
    pub(super) fn start(bench: &mut Bench<'_>, setup: &Setup) -> Result<Self, String> {
        let plain = !setup.has_work() && setup.policing;
        let setup = with_bare_work(setup);
        let compared = [Candidate::Xdp, Candidate::Fifo];
        let runners = if plain { bench.start(&compared, &setup)? } else { Vec::new() };
        let found = runners.iter().map(|runner| (runner.candidate, Found::default())).collect();
        Ok(Self { setup, runners, found })
    }

    /// True where there is somebody.
    pub(super) const fn is_measured(&self) -> bool {
        !self.runners.is_empty()
    }

    /// Measures once more.
    pub(super) fn measure(
        &mut self,
        bench: &mut Bench<'_>,
        (repetition, drop_pps): (u32, f64),
    ) -> Result<(), String> {
        for (runner, (_, found)) in self.runners.iter_mut().zip(&mut self.found) {
            let bracket = found.bracket(GUESS_WITH_BARE_WORK_PPS, BARE, cap(drop_pps, 0.0));
            bench.search(runner, (&self.setup, 0.0, repetition), bracket, found)?;
        }
        Ok(())
    }
}

/// Repetitions of what no bound is for, in a quick run: what the generator lets the AF_XDP loop deliver without work, and what
/// that loop does beside exceeding traffic.
const BRIEF_BARE: u32 = 1;

fn is_shown(bench: &Bench<'_>, repetition: u32) -> bool {
    !bench.sizes.quick || repetition < BRIEF_BARE
}

impl Bares {
    /// For mobiles as of this setup; those that forward where SGSNs without work are compared with them.
    pub(super) fn start(bench: &mut Bench<'_>, setup: &Setup) -> Result<Self, String> {
        let without = Setup { work_ns: 0, gea: None, ..setup.clone() };
        let mut which = vec![(Bare::Drop, without.clone())];
        if !setup.has_work() {
            which.push((Bare::Xsk, without));
            which.push((Bare::Xsk, with_bare_work(setup)));
            which.push((Bare::Socket, with_bare_work(setup)));
        }
        let mut all = Vec::new();
        for (bare, setup) in which {
            let mut chain = bench.lab.bare(bare, &setup)?;
            chain.pause()?;
            all.push((bare, setup, chain));
        }
        Ok(Self(all))
    }

    /// The loops that forward end; where there is work that stands for a cipher, one with as much of it shows how far the
    /// formula of the bound holds.
    pub(super) fn change(&mut self, bench: &mut Bench<'_>, setup: &Setup) -> Result<(), String> {
        self.0.retain(|(bare, ..)| *bare == Bare::Drop);
        if setup.work_ns > 0 && setup.policing {
            let mut chain = bench.lab.bare(Bare::Xsk, setup)?;
            chain.pause()?;
            self.0.push((Bare::Xsk, setup.clone(), chain));
        }
        Ok(())
    }

    /// Measures once more.
    pub(super) fn measure(
        &mut self,
        bench: &mut Bench<'_>,
        repetition: u32,
        limits: &mut Limits,
    ) -> Result<(), String> {
        for (bare, setup, chain) in &mut self.0 {
            chain.resume()?;
            let at = (repetition, cap(limits.drop.median(), 0.0));
            match bare {
                Bare::Drop | Bare::TwoRings => {
                    bench.drop_step(chain.as_mut(), (setup, repetition), &mut limits.drop)?;
                }
                Bare::Xsk if setup.work_ns == 0 => {
                    if is_shown(bench, repetition) {
                        bench.bare_once((*bare, chain.as_mut()), setup, at, &mut limits.xsk)?;
                    }
                }
                Bare::Xsk => {
                    bench.bare_once((*bare, chain.as_mut()), setup, at, &mut limits.xsk_with_work)?;
                    let stands_for_cipher = setup.work_ns > BARE_WORK_NS;
                    if stands_for_cipher || is_shown(bench, repetition) {
                        let fractions: &[f64] =
                            if stands_for_cipher { &FRACTIONS_WITH_WORK } else { &FRACTIONS };
                        limits.control(bench, chain.as_mut(), setup, (repetition, fractions))?;
                    }
                }
                Bare::Socket => {
                    bench.bare_once((*bare, chain.as_mut()), setup, at, &mut limits.socket_with_work)?;
                }
            }
            chain.pause()?;
        }
        Ok(())
    }
}

impl Limits {
    fn control(
        &mut self,
        bench: &mut Bench<'_>,
        chain: &mut dyn Chain,
        setup: &Setup,
        (repetition, fractions): (u32, &[f64]),
    ) -> Result<(), String> {
        self.control.resize(fractions.len(), (f64::NAN, Samples::default()));
        for (f, (at, shares)) in fractions.iter().copied().zip(&mut self.control) {
            *at = f;
            let best = s_f(self.xsk_with_work.pps.at(repetition), self.drop.at(repetition), f);
            let load = (OF_BEST * best).min(cap(self.drop.at(repetition), f));
            // Whether it holds is all that is asked.
            let groups = bare_groups(Bare::Xsk, setup, load, f);
            let mut offer = Offer { is_probe: true, ..bench.offer(setup, groups) };
            offer.window_s *= LONGER;
            let axis = axis(Bare::Xsk.name(), AT_BOUND, f, (setup, repetition));
            shares.push(bench.step_again(chain, &axis, &offer, Again::Missed(WHOLE))?.least_share());
        }
        Ok(())
    }
}

/// Against bare loops. Generator and sink have one core, and where that is full before the loop's is, what was delivered says
/// how much can be offered and not what the loop could do: then it is what a packet costs that counts, reckoned from rates
/// with a little work.
pub(super) fn judge(
    bench: &mut Bench<'_>,
    limits: &Limits,
    with_work: &[(Candidate, Found)],
    without: &dyn Fn(Candidate) -> Samples,
) {
    let rows = [
        (
            "throughput of one core, no work",
            Candidate::Xdp,
            Some(&limits.xsk),
            &limits.xsk_with_work,
            "AF_XDP",
        ),
        ("honest", Candidate::Fifo, None, &limits.socket_with_work, "recvmmsg"),
    ];
    for (name, candidate, bare, bare_with_work, what) in rows {
        let own = with_work.iter().find(|(other, _)| *other == candidate);
        let own = own.map(|(_, found)| without_bare_work(found)).unwrap_or_default();
        let reckoned = without_bare_work(bare_with_work);
        let (part, delivered) = (part_of(&own, &reckoned).median(), without(candidate));
        let bare_pps = bare.map(|bare| bare.pps.clone()).unwrap_or_default();
        let directly = match bare {
            None => format!("it delivers {} without work", delivered.kpps()),
            Some(bare) if bare.capped => {
                format!(
                    "delivered {} of at least {}, where the generator ends",
                    delivered.kpps(),
                    bare_pps.kpps()
                )
            }
            Some(_) => format!("delivered {} of {}", delivered.kpps(), bare_pps.kpps()),
        };
        let is_shown = bare.is_some_and(|bare| !bare.capped);
        // The loop without work is measured once in a quick run: its median is beside that of the same run.
        let of_bare = if is_shown { delivered.median() / bare_pps.median() } else { part };
        let holds = at_least(least([part, of_bare]), OF_BARE);
        bench.claim(
            &format!("{name}: {candidate}"),
            "What one core forwards, beside a loop without a protocol stack that receives and sends in the same way.",
            None,
            format!(
                "{:.0} % by what a packet costs ({} of {}, from rates with 1 µs of work); {directly}",
                part * 100.0,
                own.kpps(),
                reckoned.kpps()
            ),
            format!("at least 70 % of a bare {what}-and-send loop"),
            holds,
        );
    }
}

/// What each is of the other of its repetition.
fn part_of(own: &Samples, bare: &Samples) -> Samples {
    (0..).zip(own.each()).map(|(repetition, (_, own))| own / bare.at(repetition)).collect()
}
