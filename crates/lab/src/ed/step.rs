//! A load as a person asks for it, offered again and again: to look at one candidate alone, with a profiler beside it.

use super::real::RealLab;
use crate::load::config::Proposal;
use crate::measure::account::Step;
use crate::measure::bench::{Bench, Sizes, everybody};
use crate::measure::saturation::bare_groups;
use crate::measure::{Bare, Candidate, Lab};
use crate::report::Size;
use std::path::{Path, PathBuf};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// A candidate, or a bare loop.
    pub who: String,
    /// Good packets/s.
    pub pps: f64,
    /// The fraction of all traffic that exceeds.
    pub exceeding: f64,
    /// Mobiles that attach.
    pub users: u32,
    /// Octets of an N-PDU.
    pub octets: u16,
    /// Real-time mobiles, each with a hundred packets/s.
    pub real_time: u32,
    /// Work on each packet in ns.
    pub work_ns: u32,
    /// The cipher itself: GEA with this number.
    pub gea: Option<u8>,
    /// Buffering in ms of each mobile's rate.
    pub buffer_ms: u32,
    /// No policing, but FLOW-CONTROL-MS for every second mobile.
    pub lowered: bool,
    /// What each mobile negotiates, in kbit/s.
    pub kbps: u32,
    /// From the mobiles to the GGSN, where nothing lowers R.
    pub uplink: bool,
    /// All users have traffic, which nobody limits, and not just as many as it takes at what each has negotiated.
    pub everybody: bool,
    /// The SGSN keeps its mobiles in a store.
    pub store: bool,
    /// All mobiles are in acknowledged mode.
    pub acknowledged: bool,
    /// kD that they propose.
    pub kd: Option<u8>,
    /// I frames behind the one that asked, before an acknowledgement is sent.
    pub answer_after: u8,
    /// Length of each step in s.
    pub seconds: f64,
    /// How many steps.
    pub steps: u32,
}

/// Starts it, attaches everybody, and gives a line for each step to `say`.
///
/// # Errors
/// What did not work.
pub fn run(gannet: PathBuf, ask: &Ask, out: &Path, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let mut lab = RealLab::new(gannet, out)?;
    lab.go_first()?;
    let sizes =
        Sizes { users: ask.users, window_s: ask.seconds, repetitions: ask.steps, ..Sizes::of(Size::Quick) };
    let bench = Bench::new(&mut lab, sizes, 1);
    let mut setup = bench.setup(ask.kbps);
    (setup.work_ns, setup.octets, setup.buffer_ms) = (ask.work_ns, ask.octets, ask.buffer_ms);
    (setup.real_time, setup.gea) = (ask.real_time, ask.gea);
    (setup.uplink, setup.store) = (ask.uplink, ask.store);
    setup.acknowledged = if ask.acknowledged { ask.users } else { 0 };
    setup.kd = ask.kd.map(Proposal::by_all);
    Proposal::check(setup.kd, ask.acknowledged, ask.answer_after)?;
    if ask.uplink {
        setup.policing = !ask.lowered;
    } else if ask.lowered {
        setup.leave_to_flow_control();
    }
    // The bare loop with two rings gets real time as an SGSN does.
    let (mut offer, bare) = (bench.mix(&setup, ask.pps, ask.exceeding), Bare::named(&ask.who));
    if let Some(bare) = bare.filter(|bare| *bare != Bare::TwoRings) {
        offer.groups = bare_groups(bare, &setup, ask.pps, ask.exceeding);
    }
    if ask.everybody {
        offer = bench.offer(&setup, vec![everybody(&setup, ask.pps)]);
    }
    offer.answer_after = ask.answer_after;
    let mut chain = match (bare, Candidate::named(&ask.who)) {
        (Some(bare), _) => lab.bare(bare, &setup)?,
        (None, Some(candidate)) => match lab.missing(candidate) {
            Some(why) => return Err(why),
            None => lab.start(candidate, &setup)?,
        },
        (None, None) => return Err(format!("'{}' is neither a candidate nor a bare loop", ask.who)),
    };
    if ask.lowered && !ask.uplink {
        chain.lower(&setup.who_exceeds())?;
    }
    for seed in 0..ask.steps {
        offer.seed = u64::from(seed);
        say(&line(&chain.step(&offer)?));
    }
    Ok(())
}

fn line(step: &Step) -> String {
    let mut text = format!(
        "offered {:.1} kpps, delivered {:.1} kpps, core busy {:.0} % (interrupts {:.0} %, stolen {:.0} %; away {:.1} ms, generator {:.1} ms; round trip {:.0} ns, speed {:.2}), ring {}, waiting {}, drops {:?}",
        step.offered_pps() / 1e3,
        step.delivered_pps() / 1e3,
        step.core.busy_s / step.core.wall_s * 100.0,
        step.core.interrupts_s / step.core.wall_s * 100.0,
        step.core.stolen_s / step.core.wall_s * 100.0,
        step.away_s.unwrap_or(f64::NAN) * 1e3,
        step.paused_s * 1e3,
        step.round_trip_ns,
        step.speed.unwrap_or(f64::NAN),
        step.ring_losses,
        step.queued,
        step.drops
    );
    for group in &step.groups {
        text.push_str(&format!(
            "\n  {}: share {:.4}, delay mean {:.0}, p50 {:.0}, p99 {:.0}, most {:.0} µs",
            group.name,
            group.share(step.window_s),
            group.delay.mean_us,
            group.delay.p50_us,
            group.delay.p99_us,
            group.delay.max_us
        ));
    }
    if let Some(ns) = step.busy_ns_per_n_pdu() {
        text.push_str(&format!("\n  the loop was busy for {ns:.0} ns per N-PDU"));
    }
    if let Some(acknowledgements) = step.raw.get("acknowledgements") {
        let raw = |name: &str| step.raw.get(name).copied().unwrap_or(0);
        text.push_str(&format!(
            "\n  acknowledged: {} confirmed with {acknowledgements} acknowledgements ({} lost), {} I frames came again or too early",
            raw("n_pdu_confirmed"),
            raw("acknowledgements_refused"),
            raw("i_frames_unexpected"),
        ));
    }
    if let Some(part) = step.shortfall() {
        text.push_str(&format!("\n  the generator offered {:.0} % less than intended", part * 100.0));
    }
    if let Some(why) = step.unsound() {
        text.push_str(&format!("\n  not sound: {why}"));
    }
    text
}
