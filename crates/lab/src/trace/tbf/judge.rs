//! What must hold.

use super::counted::Counted;
use super::{Does, Measured};
use crate::radio::{conserved, verdict};
use crate::report::Verdict;

fn of<'a>(all: &'a [Measured], scene: &str, does: Does) -> Option<&'a Measured> {
    all.iter().find(|of| of.scene.name == scene && of.does == does)
}

/// The sum of a count over all runs with a policy, downlink and uplink.
fn sums(all: &[Measured], does: Does, value: fn(&Counted) -> u64) -> [u64; 2] {
    let runs = || all.iter().filter(move |of| of.does == does);
    [runs().map(|of| value(&of.links.down)).sum(), runs().map(|of| value(&of.links.up)).sum()]
}

fn studied(name: &str, means: &str, paper: &str, ours: String, goal: &str, holds: bool) -> Verdict {
    Verdict { paper: Some(paper.to_owned()), ..verdict(name, means, ours, goal.to_owned(), Some(holds)) }
}

/// All verdicts.
pub fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    if let Some(waiting) = of(all, "waiting", Does::Studied) {
        reproduced(waiting, &mut rows);
    }
    let [premature, _] = sums(all, Does::Studied, |counted| counted.premature);
    let [repeated, _] = sums(all, Does::Studied, |counted| counted.repeated);
    rows.push(studied(
        "studied: premature retransmissions",
        "Downlink blocks sent again that no report had asked for, over all scenes.",
        "seen",
        format!("{premature}"),
        ">= 1",
        premature >= 1,
    ));
    rows.push(studied(
        "studied: repeated retransmissions",
        "Downlink blocks sent again for a report that was made before the copy sent last could arrive, over all scenes.",
        "seen",
        format!("{repeated}"),
        ">= 1",
        repeated >= 1,
    ));
    spared(all, &mut rows);
    let differences: Vec<String> = all
        .iter()
        .flat_map(|of| {
            of.differences.iter().map(|what| format!("{}, {}: {what}", of.scene.name, of.does.name()))
        })
        .collect();
    rows.push(verdict(
        "the analyser counts what the nodes counted",
        "New, needed, repeated and premature blocks, polls and stalls, from the capture and from the counters of PCU and mobiles, which the \
         analyser does not know.",
        if differences.is_empty() { "equal".to_owned() } else { differences.join("; ") },
        "equal".to_owned(),
        Some(differences.is_empty()),
    ));
    let faults: Vec<String> = all.iter().flat_map(|of| of.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

fn reproduced(waiting: &Measured, rows: &mut Vec<Verdict>) {
    let acks = &waiting.links.acks;
    rows.push(studied(
        "studied: TCP acknowledgements by uplink TBF",
        "The median over the uplink TBFs that carry acknowledgements of TCP, and how many of these TBFs carry nothing else.",
        "groups of two on TBFs of their own",
        format!("{}; {} of {} TBFs; of 1, 2, 3 and more: {:?}", acks.each, acks.alone, acks.tbfs, acks.by_count),
        "2; all but 5 %",
        acks.each == 2 && acks.alone * 20 >= acks.tbfs * 19,
    ));
    let added = acks.first_ms - acks.later_ms;
    rows.push(studied(
        "studied: what the set-up of an uplink TBF adds",
        "Medians, in milliseconds: the set-up, and the way from a segment's first block to the first acknowledgement of a TBF less that to a \
         later one.",
        "more than 100",
        format!("{:.0}; {added:.0}", acks.set_up_ms),
        "> 0",
        acks.set_up_ms > 0.0,
    ));
    let down = &waiting.links.down;
    rows.push(studied(
        "studied: dummy blocks hold the downlink TBF",
        "Downlink data blocks with nothing but a dummy command of LLC, and downlink TBFs.",
        "seen",
        format!("{} blocks, {} TBFs", down.fillers, down.tbfs),
        ">= 1 block",
        down.fillers >= 1,
    ));
    rows.push(studied(
        "studied: data blocks from poll to poll",
        "The median where the download fills the link or waits.",
        "10",
        format!("{}", down.poll_interval),
        "10",
        down.poll_interval == 10,
    ));
}

fn spared(all: &[Measured], rows: &mut Vec<Verdict>) {
    let [down, up] = sums(all, Does::Sparing, |counted| counted.repeated);
    let mut row = |name: &str, means: &str, ours: String, goal: &str, holds: bool| {
        rows.push(verdict(name, means, ours, goal.to_owned(), Some(holds)));
    };
    row(
        "sparing: repeated retransmissions",
        "Downlink and uplink, over all scenes.",
        format!("{down}, {up}"),
        "0, 0",
        down + up == 0,
    );
    let beside = |does| of(all, "beside", does).map_or(u64::MAX, |of| of.links.down.beside);
    row(
        "sparing: premature retransmissions while another mobile waits",
        "Downlink blocks sent again unasked while the second mobile had data for the timeslot; with the studied policy there are some.",
        format!("{} (studied {})", beside(Does::Sparing), beside(Does::Studied)),
        "0, studied >= 1",
        beside(Does::Sparing) == 0 && beside(Does::Studied) >= 1,
    );
    let stalls = |does, scene: &str| {
        of(all, scene, does).map_or((0, 0), |of| (of.links.down.stalls, of.links.up.stalls))
    };
    let mut ours = Vec::new();
    let mut holds = true;
    for scene in super::SCENES {
        let (studied, sparing) = (stalls(Does::Studied, scene.name), stalls(Does::Sparing, scene.name));
        holds &= sparing.0 <= studied.0 && sparing.1 <= studied.1;
        ours.push(format!(
            "{}: {} + {} (studied {} + {})",
            scene.name, sparing.0, sparing.1, studied.0, studied.1
        ));
    }
    row(
        "sparing: stalls",
        "Times that the window was full, downlink and uplink, of each scene.",
        ours.join("; "),
        "not more",
        holds,
    );
    for scene in super::SCENES {
        let rate = |does| of(all, scene.name, does).map_or(f64::NAN, |of| of.rate_bit_per_s / 1000.0);
        let (studied, sparing) = (rate(Does::Studied), rate(Does::Sparing));
        row(
            &format!("sparing: rate of TCP, {}", scene.name),
            "In kbit/s, of all connections of the scene together.",
            format!("{sparing:.1} (studied {studied:.1})"),
            ">= 97 % of studied",
            sparing >= 0.97 * studied,
        );
    }
}
