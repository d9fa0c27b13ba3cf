//! `ed-throughput`: how much exceeding traffic takes from the good (thesis, section 7.3.1, figures 7.2 to 7.4), and what
//! one core forwards.

use super::account::Step;
use super::bench::{Axis, Bench, Found, Runner, cap, s_f};
use super::stats::Samples;
use super::{Bare, Candidate, Lower, Members, Setup, lengths, osmo, thesis};
use crate::figure::{self, Curve, Panel, Point, Style};
use serde_json::json;

/// Fractions of exceeding traffic.
const FRACTIONS: [f64; 4] = [0.33, 0.5, 0.75, 0.9];
/// The same where a packet costs what GEA3 costs: only those that a bound names.
const FRACTIONS_WITH_WORK: [f64; 2] = [0.5, 0.9];
/// Stands for GEA3.
pub const WORK_NS: u32 = 7_500;
/// Of the best possible saturation.
const OF_BEST: f64 = 0.97;
/// Ten thousand mobiles of 448 kbit/s are 1.48 million packets/s, more than any candidate forwards.
pub const KBPS: u32 = 448;
/// With work.
pub const KBPS_WITH_WORK: u32 = 184;
/// Packets of the burst in which osmo-sgsn is compared.
const BURST: f64 = 8_000.0;
/// Packets/s of that burst towards osmo-sgsn: what it takes without filling its socket or its queues of 30 PDUs a cell.
const OSMO_PPS: f64 = 40_000.0;

/// What the machine itself can do, in packets/s.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Dropping what is blocked.
    pub drop: Samples,
    /// AF_XDP, receive and send.
    pub xsk: Samples,
    /// `recvmmsg` and send.
    pub socket: Samples,
}

/// One panel: what each candidate's saturation was at each fraction of exceeding traffic.
struct Curves {
    setup: Setup,
    by_candidate: Vec<(Candidate, Vec<(f64, Found)>)>,
}

impl Curves {
    fn of(&self, candidate: Candidate) -> &[(f64, Found)] {
        let found = self.by_candidate.iter().find(|(other, _)| *other == candidate);
        found.map_or(&[], |(_, points)| points)
    }

    fn at(&self, candidate: Candidate, f: f64) -> f64 {
        let found = self.of(candidate).iter().find(|(other, _)| (*other - f).abs() < 1e-9);
        found.map_or(f64::NAN, |(_, found)| found.pps.median())
    }

    fn name(&self) -> String {
        let work = if self.setup.work_ns == 0 { "no work" } else { "7.5 µs of work" };
        let policing =
            if self.setup.policing { "policing on" } else { "policing off: FLOW-CONTROL-MS alone" };
        format!("{work}, {policing}")
    }
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let setup = bench.setup(KBPS);
    let drop = bench.drop_rate(&setup)?;
    let most = cap(drop.median(), 0.0);
    let limits = Limits {
        xsk: bench.bare_rate(Bare::Xsk, &setup, most)?,
        socket: bench.bare_rate(Bare::Socket, &setup, most)?,
        drop,
    };
    let mut panels = Vec::new();
    for (work_ns, kbps) in [(0, KBPS), (WORK_NS, KBPS_WITH_WORK)] {
        for policing in [true, false] {
            let mut setup = bench.setup(kbps);
            (setup.work_ns, setup.policing) = (work_ns, policing);
            if !policing {
                // Until the BSS lowers it for half of the users.
                setup.ms_rate = 4.0;
            }
            panels.push(configuration(bench, setup, &limits)?);
        }
    }
    judge_saturation(bench, &panels, &limits);
    if let Some(plain) = panels.first() {
        judge_core(bench, plain, &limits);
    }
    let s0 = panels.first().map_or(f64::NAN, |plain| plain.at(Candidate::Xdp, 0.0));
    lengths::measure(bench, limits.drop.median(), s0)?;
    osmo(bench, s0)?;
    draw(bench, &panels, &limits)
}

fn configuration(bench: &mut Bench<'_>, setup: Setup, limits: &Limits) -> Result<Curves, String> {
    let drop_pps = limits.drop.median();
    // A quick run measures what a bound needs: of the others saturation without and with half of it exceeding, once.
    let candidates: &[Candidate] = match (bench.sizes.quick, setup.work_ns, setup.policing) {
        (true, 0, false) => &[Candidate::Xdp],
        (true, 1.., _) => &[Candidate::Xdp, Candidate::Fifo],
        _ => &[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport],
    };
    let mut runners = bench.start(candidates, &setup)?;
    let guess = |candidate| {
        let own = if candidate == Candidate::Xdp { limits.xsk.median() } else { limits.socket.median() };
        1.0 / (1.0 / own + 0.5e-6 + f64::from(setup.work_ns) * 1.05e-9)
    };
    // Without policing nobody else is asked for more than its good packets.
    let count = if bench.sizes.quick && !setup.policing { 1 } else { runners.len() };
    let some = runners.get_mut(..count).unwrap_or_default();
    let base = bench.saturations(some, &setup, 0.0, &guess, cap(drop_pps, 0.0))?;
    let s0: Vec<f64> = base.iter().map(|found| found.pps.median()).collect();
    let mut by_candidate: Vec<(Candidate, Vec<(f64, Found)>)> =
        runners.iter().zip(base).map(|(runner, found)| (runner.candidate, vec![(0.0, found)])).collect();
    if !setup.policing {
        let bad = Members { first: 1, stride: 2, count: setup.users / 2 };
        for runner in &mut runners {
            bench.turn(runner, |_, chain| chain.lower(&Lower::Mobiles(bad, setup.pps_each())))?;
        }
    }
    let order: Vec<Candidate> = runners.iter().map(|runner| runner.candidate).collect();
    let fractions: &[f64] = if setup.work_ns == 0 { &FRACTIONS } else { &FRACTIONS_WITH_WORK };
    for f in fractions.iter().copied() {
        let guess = |candidate| {
            let at = order.iter().position(|other| *other == candidate);
            let own = at.and_then(|at| s0.get(at)).copied().unwrap_or(f64::NAN);
            // In order of arrival, what exceeds costs nearly as much as what is good.
            let d = if candidate == Candidate::Xdp { drop_pps } else { own * 1.5 };
            s_f(own, d, f)
        };
        let others = !bench.sizes.quick || ((f - 0.5).abs() < 1e-9 && setup.policing);
        let count = if others { runners.len() } else { 1 };
        let some = runners.get_mut(..count).unwrap_or_default();
        let found = bench.saturations(some, &setup, f, &guess, cap(drop_pps, f))?;
        for ((_, points), found) in by_candidate.iter_mut().zip(found) {
            points.push((f, found));
        }
    }
    let curves = Curves { setup, by_candidate };
    if curves.setup.work_ns != 0 {
        good_packets(bench, &mut runners, &curves)?;
    } else if !curves.setup.policing {
        lowered_cells(bench, &mut runners, &curves, drop_pps)?;
    }
    Ok(curves)
}

/// Where xdp saturates at 90 % exceeding traffic: its good packets, and those of `fifo` at the same load.
fn good_packets(bench: &mut Bench<'_>, runners: &mut [Runner], curves: &Curves) -> Result<(), String> {
    let load = curves.at(Candidate::Xdp, 0.9);
    let mut good = [Samples::default(), Samples::default()];
    for repetition in 0..bench.sizes.repetitions {
        for (candidate, good) in [Candidate::Xdp, Candidate::Fifo].into_iter().zip(&mut good) {
            let Some(runner) = runners.iter_mut().find(|runner| runner.candidate == candidate) else {
                continue;
            };
            let axis: Axis = vec![
                ("candidate", json!(candidate.name())),
                ("what", json!("good packets at 90 %")),
                ("policing", json!(curves.setup.policing)),
                ("repetition", json!(repetition)),
            ];
            let offer = bench.mix(&curves.setup, load, 0.9);
            let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis, &offer))?;
            good.push(good_pps(&step));
        }
    }
    let [xdp, fifo] = good;
    let ratio = xdp.median() / fifo.median();
    bench.claim(
        &format!("good packets at 90 % exceeding, {}", curves.name()),
        None,
        format!(
            "{ratio:.1} times gannet-fifo's ({:.1} / {:.1} kpps)",
            xdp.median() / 1e3,
            fifo.median() / 1e3
        ),
        "at least 5 times".to_owned(),
        ratio >= 5.0,
    );
    Ok(())
}

fn good_pps(step: &Step) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
    let delivered = step.group("good").map_or(0, |group| group.delivered) as f64;
    delivered / step.window_s
}

/// The excess arises since FLOW-CONTROL-BVC lowers R of every second cell, in which the bad users are.
fn lowered_cells(
    bench: &mut Bench<'_>,
    runners: &mut [Runner],
    curves: &Curves,
    drop_pps: f64,
) -> Result<(), String> {
    let f = 0.5;
    let load = OF_BEST * s_f(curves.at(Candidate::Xdp, 0.0), drop_pps, f);
    let Some(runner) = runners.iter_mut().find(|runner| runner.candidate == Candidate::Xdp) else {
        return Ok(());
    };
    let offer = bench.mix(&curves.setup, load, f);
    let mut rates = std::collections::BTreeMap::<u32, f64>::new();
    for group in offer.groups.iter().filter(|group| group.name == "bad") {
        for user in group.members.iter() {
            *rates.entry(user % curves.setup.cells).or_default() += group.due_pps_each * 1.005;
        }
    }
    let lower = Lower::Cells(rates.into_iter().collect());
    let (mut shares, mut whole) = (Samples::default(), 0);
    for repetition in 0..bench.sizes.repetitions {
        let axis: Axis = vec![
            ("candidate", json!(Candidate::Xdp.name())),
            ("what", json!("cells lowered by FLOW-CONTROL-BVC")),
            ("repetition", json!(repetition)),
        ];
        let step = bench.turn(runner, |bench, chain| {
            chain.raise()?;
            chain.lower(&lower)?;
            bench.step(chain, &axis, &offer)
        })?;
        let least = step.groups.iter().map(|group| group.share(step.window_s)).fold(1.0, f64::min);
        shares.push(least);
        whole += u32::from(step.is_whole(super::search::WHOLE));
    }
    bench.claim(
        "0.97·S_f at 50 % exceeding, no work, policing off: FLOW-CONTROL-BVC alone",
        None,
        format!(
            "{:.2} % of it delivered, whole in {whole} of {} steps",
            shares.median() * 100.0,
            shares.len()
        ),
        "99.5 %".to_owned(),
        shares.median() >= super::search::WHOLE,
    );
    Ok(())
}

fn judge_saturation(bench: &mut Bench<'_>, panels: &[Curves], limits: &Limits) {
    let drop_pps = limits.drop.median();
    for curves in panels {
        let s0 = curves.at(Candidate::Xdp, 0.0);
        for (f, found) in curves.of(Candidate::Xdp).iter().skip(1) {
            let best = s_f(s0, drop_pps, *f);
            let part = found.pps.median() / best;
            let capped = if found.capped { " (as far as 75 % of the bare drop rate let it go)" } else { "" };
            let paper = ((*f - 0.5).abs() < 1e-9).then(|| {
                let [sgsn, ed] = thesis::FALL_AT_HALF;
                format!("falls {sgsn:.0} % / {ed:.0} %")
            });
            let fifo = (1.0 - curves.at(Candidate::Fifo, *f) / curves.at(Candidate::Fifo, 0.0)) * 100.0;
            let fifo = if fifo.is_finite() { format!("; fifo falls {fifo:.0} %") } else { String::new() };
            bench.claim(
                &format!("saturation at {:.0} % exceeding, {}", f * 100.0, curves.name()),
                paper.as_deref(),
                format!("{part:.3}·S_f, {}{capped}{fifo}", found.pps.kpps()),
                format!("at least 0.97·S_f of {:.0} kpps", best / 1000.0),
                part >= OF_BEST || (found.capped && found.pps.median() >= cap(drop_pps, *f) * 0.99),
            );
        }
        if curves.setup.work_ns != 0 {
            let fall = (1.0 - curves.at(Candidate::Xdp, 0.5) / s0) * 100.0;
            let [sgsn, ed] = thesis::FALL_AT_HALF;
            bench.claim(
                &format!("fall at 50 % exceeding, {}", curves.name()),
                Some(&format!("{sgsn:.0} % / {ed:.0} %")),
                format!("{fall:.1} %"),
                "at most 5 %".to_owned(),
                fall <= 5.0,
            );
        }
    }
}

fn judge_core(bench: &mut Bench<'_>, plain: &Curves, limits: &Limits) {
    let rows = [
        ("throughput of one core, no work: gannet-xdp", Candidate::Xdp, &limits.xsk, "AF_XDP"),
        ("gannet-fifo is honest", Candidate::Fifo, &limits.socket, "recvmmsg-and-send"),
    ];
    for (name, candidate, bare, what) in rows {
        let own = plain.at(candidate, 0.0);
        let part = own / bare.median() * 100.0;
        bench.claim(
            name,
            None,
            format!("{part:.0} % ({:.0} of {})", own / 1000.0, bare.kpps()),
            format!("at least 70 % of a bare {what} loop"),
            part >= 70.0,
        );
    }
}

/// Packets for each second that the core was busy, of gannet-xdp and osmo-sgsn, in bursts of the same size.
///
/// osmo-sgsn sleeps between packets, so that its busy time is known from the kernel; gannet-xdp polls, so that all of the
/// burst's time counts as busy, and the burst comes as fast as it can take it.
fn osmo(bench: &mut Bench<'_>, s0: f64) -> Result<(), String> {
    let its = osmo::setup(bench);
    let own = Setup { users: bench.sizes.users.min(1000), kbps: KBPS * 10, ..its.clone() };
    let setups = [(Candidate::Xdp, own), (Candidate::Osmo, its)];
    let mut runners = Vec::new();
    for (candidate, setup) in &setups {
        runners.extend(bench.start(&[*candidate], setup)?);
    }
    if runners.len() < 2 {
        return Ok(());
    }
    let (mut rates, mut sustained) = ([Samples::default(), Samples::default()], Samples::default());
    for repetition in 0..bench.sizes.repetitions {
        for ((runner, rates), (candidate, setup)) in runners.iter_mut().zip(&mut rates).zip(&setups) {
            let is_osmo = *candidate == Candidate::Osmo;
            let pps = if is_osmo { OSMO_PPS } else { 0.95 * s0 };
            let axis = |what: &str| -> Axis {
                vec![
                    ("candidate", json!(candidate.name())),
                    ("what", json!(what)),
                    ("repetition", json!(repetition)),
                ]
            };
            let mut offer = bench.mix(setup, pps, 0.0);
            (offer.warm_up_s, offer.window_s) = (0.0, BURST / pps);
            let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis("burst"), &offer))?;
            let busy_s = if is_osmo { step.core.busy_s } else { step.window_s };
            rates.push(step.delivered_pps() * step.window_s / busy_s);
            if is_osmo {
                let offer = bench.mix(setup, pps, 0.0);
                let step =
                    bench.turn(runner, |bench, chain| bench.step(chain, &axis("sustained"), &offer))?;
                sustained.push(step.delivered_pps() * step.window_s / step.core.busy_s);
            }
        }
    }
    let [xdp, osmo] = rates;
    let ratio = xdp.median() / osmo.median();
    bench.claim(
        "packets for each CPU-second in a burst of the same size",
        None,
        format!(
            "{ratio:.1} times osmo-sgsn's ({} / {}; osmo-sgsn sustained {})",
            xdp.kpps(),
            osmo.kpps(),
            sustained.kpps()
        ),
        "at least 6 times".to_owned(),
        ratio >= 6.0,
    );
    Ok(())
}

fn draw(bench: &mut Bench<'_>, panels: &[Curves], limits: &Limits) -> Result<(), String> {
    let mut drawn: Vec<Panel> = Vec::new();
    for curves in panels {
        let mut lines = Vec::new();
        for (candidate, points) in &curves.by_candidate {
            let s0 = curves.at(*candidate, 0.0);
            lines.push(Curve {
                name: format!("{candidate} (1 = {:.0} kpps)", s0 / 1000.0),
                style: Style::Measured,
                colour: candidate.colour(),
                points: points.iter().map(|(f, found)| found.pps.over(s0).point(f * 100.0)).collect(),
            });
            for (f, found) in points {
                bench.cell(
                    vec![
                        ("candidate", json!(candidate.name())),
                        ("what", json!("median saturation")),
                        ("exceeding_percent", json!((f * 100.0).round())),
                        ("policing", json!(curves.setup.policing)),
                        ("work_ns", json!(curves.setup.work_ns)),
                    ],
                    vec![("pps".to_owned(), found.pps.json()), ("capped".to_owned(), json!(found.capped))],
                );
            }
        }
        let s0 = curves.at(Candidate::Xdp, 0.0);
        let best = [0.0, 0.2, 0.33, 0.5, 0.6, 0.75, 0.85, 0.9];
        lines.push(Curve {
            name: "S_f, the best this machine allows gannet-xdp".to_owned(),
            style: Style::Line,
            colour: 4,
            points: best
                .iter()
                .map(|f| Point::new(f * 100.0, s_f(s0, limits.drop.median(), *f) / s0))
                .collect(),
        });
        lines.extend(of_the_thesis());
        drawn.push(Panel {
            title: curves.name(),
            x: "exceeding traffic, % of all".to_owned(),
            y: "saturation, 1 = without exceeding traffic".to_owned(),
            curves: lines,
            ..Panel::default()
        });
    }
    let (left, right) = drawn.split_at(drawn.len().min(2));
    let caption = "Saturation with exceeding traffic, each as a part of its own without, beside figures 7.2 to 7.4 of the thesis";
    bench.figure("ed-throughput", caption, figure::panels(left)?);
    let caption = "The same where each packet costs 7.5 µs of work, as much as GEA3";
    bench.figure("ed-throughput-work", caption, figure::panels(right)?);
    Ok(())
}

fn of_the_thesis() -> [Curve; 2] {
    let curve = |name: &str, candidate: Candidate, points: &[(f64, f64)]| {
        let base = points.first().map_or(f64::NAN, |(_, pps)| *pps);
        Curve {
            name: format!("thesis: {name} (1 = {base:.0} packets/s)"),
            style: Style::Reference,
            colour: candidate.colour(),
            points: points.iter().map(|(f, pps)| Point::new(*f, pps / base)).collect(),
        }
    };
    [
        curve("SGSN", Candidate::Fifo, &thesis::SATURATION_SGSN),
        curve("ED-SGSN", Candidate::Xdp, &thesis::SATURATION_ED),
    ]
}
