//! Findings of RLC/MAC.

use super::{Finding, Names, ms, percent};
use crate::radio::report::{Again, CellReport, End, RadioReport, Tbf, TcpAck, Use};
use crate::record::{Direction, Proof};
use crate::series::{quantile, real, seconds};

pub(super) fn of_radio(report: &RadioReport, names: &Names, findings: &mut Vec<Finding>) {
    for cell in &report.cells {
        let of = format!("cell {} at {}", cell.arfcn, names.place(cell.place));
        for (direction, spent) in [(Direction::Down, &cell.down), (Direction::Up, &cell.up)] {
            use_of_blocks(cell, (direction, spent), &of, findings);
            let of_it =
                |tbf: &&Tbf| (tbf.place, tbf.arfcn, tbf.direction) == (cell.place, cell.arfcn, direction);
            let tbfs: Vec<&Tbf> = report.tbfs.iter().filter(of_it).collect();
            if !tbfs.is_empty() {
                let of = format!("{} of {of}", name(direction));
                life(&tbfs, &of, findings);
                again(&tbfs, &of, findings);
                stalls(&tbfs, &of, findings);
                reports(&tbfs, direction, &of, findings);
                holding(&tbfs, &of, findings);
                acknowledgements(&tbfs, &of, findings);
                rate(&tbfs, &of, findings);
            }
        }
    }
    if report.tbfs_besides > 0 {
        let text = format!("{} TBFs beyond the limit were not looked at", report.tbfs_besides);
        findings.push(Finding::new("tbf-left-out", "radio", text).number("tbfs", real(report.tbfs_besides)));
    }
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "uplink",
        Direction::Down => "downlink",
    }
}

fn use_of_blocks(
    cell: &CellReport,
    (direction, spent): (Direction, &Use),
    of: &str,
    findings: &mut Vec<Finding>,
) {
    let all = spent.all();
    if all == 0 {
        return;
    }
    let of = format!("{} of {of}", name(direction));
    let text = format!(
        "of {all} blocks {:.1} % carried new data, {:.1} % data again, {:.1} % signalling ({} reports, {} assignments, {} others), {:.1} % \
         nothing; {} cannot be read",
        percent(spent.new, all),
        percent(spent.again, all),
        percent(spent.signalling(), all),
        spent.reports,
        spent.assignments,
        spent.control,
        percent(spent.dummy, all),
        spent.unreadable
    );
    findings.push(
        Finding::new("radio-blocks", &of, text)
            .number("blocks", real(all))
            .number("new", real(spent.new))
            .number("again", real(spent.again))
            .number("signalling", real(spent.signalling()))
            .number("dummy", real(spent.dummy))
            .number("unreadable", real(spent.unreadable))
            .number("user_octets", real(spent.user_octets))
            .proved_by([cell.spans.0.1, cell.spans.1.1]),
    );
}

/// How many, how long, and what their set-up took.
fn life(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let mut set_ups: Vec<u64> = tbfs.iter().filter_map(|tbf| tbf.set_up_ns()).collect();
    let mut lasted: Vec<u64> = tbfs.iter().map(|tbf| tbf.lasted_ns()).collect();
    let mut held: Vec<u64> = tbfs.iter().map(|tbf| tbf.held_ns()).collect();
    let count = |end: End| tbfs.iter().filter(|tbf| tbf.end == end).count() as u64;
    let sum: u64 = set_ups.iter().sum();
    let known = set_ups.len();
    let set_up = quantile(&mut set_ups, 0.5).map_or("their set-up was not seen".to_owned(), |median| {
        format!("the set-up of {known} took {} as the median, {} together", ms(median), ms(sum))
    });
    let text = format!(
        "{} TBFs ({} released, {} replaced, {} fell silent, {} open at the end); {set_up}; they lasted {} as the median, and were held {} \
         behind their last new block",
        tbfs.len(),
        count(End::Released),
        count(End::Replaced),
        count(End::Silent),
        count(End::Open),
        ms(quantile(&mut lasted, 0.5).unwrap_or(0)),
        ms(quantile(&mut held, 0.5).unwrap_or(0))
    );
    let starts = tbfs.iter().filter_map(|tbf| tbf.asked.or(tbf.assigned).or(tbf.first_data));
    findings.push(
        Finding::new("tbf-life", of, text)
            .number("tbfs", real(tbfs.len() as u64))
            .number("released", real(count(End::Released)))
            .number("set_up_median_s", quantile(&mut set_ups, 0.5).map_or(0.0, seconds))
            .number("set_up_sum_s", seconds(sum))
            .number("dummies", real(tbfs.iter().map(|tbf| tbf.dummies).sum()))
            .proved_by(starts.map(|(_, proof)| proof)),
    );
}

fn again(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let sum = |why: Again| tbfs.iter().map(|tbf| tbf.again.of(why)).sum::<u64>();
    let all: u64 = tbfs.iter().map(|tbf| tbf.again.all()).sum();
    let late: u64 = tbfs.iter().map(|tbf| tbf.late).sum();
    if all == 0 && late == 0 {
        return;
    }
    let blocks: u64 = tbfs.iter().map(|tbf| tbf.blocks).sum();
    let beside: u64 = tbfs.iter().map(|tbf| tbf.again.premature_beside_others).sum();
    let parts: Vec<String> = Again::ALL.map(|why| format!("{} {}", sum(why), why.name())).to_vec();
    let text = format!(
        "besides {blocks} new blocks {all} came again: {}; {beside} of the premature ones while another TBF had data; {late} came later than \
         those behind them",
        parts.join(", ")
    );
    // What was not needed is what one wants to look at.
    let mut examples: Vec<Proof> = Vec::new();
    for why in [Again::Repeated, Again::Premature, Again::Acknowledged, Again::Polling, Again::Needed] {
        let of_why = tbfs.iter().flat_map(|tbf| &tbf.sent_again).filter(|again| again.why == why);
        examples.extend(of_why.take(2).map(|again| again.proof));
    }
    findings.push(
        Finding::new("rlc-sent-again", of, text)
            .number("new", real(blocks))
            .number("needed", real(sum(Again::Needed)))
            .number("premature", real(sum(Again::Premature)))
            .number("repeated", real(sum(Again::Repeated)))
            .number("acknowledged", real(sum(Again::Acknowledged)))
            .number("polling", real(sum(Again::Polling)))
            .number("premature_beside_others", real(beside))
            .number("late", real(late))
            .proved_by(examples),
    );
}

fn stalls(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let all: Vec<_> = tbfs.iter().flat_map(|tbf| &tbf.stalls).collect();
    if all.is_empty() {
        return;
    }
    let stalled: u64 = tbfs.iter().map(|tbf| tbf.stalled_ns()).sum();
    let text = format!("the window was full {} times, {} together", all.len(), ms(stalled));
    findings.push(
        Finding::new("rlc-stalls", of, text)
            .number("stalls", real(all.len() as u64))
            .number("stalled_s", seconds(stalled))
            .proved_by(all.iter().map(|stall| stall.from.1)),
    );
}

fn reports(tbfs: &[&Tbf], direction: Direction, of: &str, findings: &mut Vec<Finding>) {
    let mut intervals: Vec<u64> = tbfs
        .iter()
        .flat_map(|tbf| tbf.report_intervals.points())
        .copied()
        .filter(|blocks| *blocks > 0)
        .collect();
    let Some(median) = quantile(&mut intervals, 0.5) else { return };
    let (least, most) =
        (quantile(&mut intervals, 0.0).unwrap_or(0), quantile(&mut intervals, 1.0).unwrap_or(0));
    let asked: u64 = tbfs.iter().map(|tbf| tbf.polls_or_stalls).sum();
    let unanswered: u64 = tbfs.iter().map(|tbf| tbf.polls_unanswered).sum();
    let round = tbfs.iter().filter_map(|tbf| tbf.round_trip_ns).min();
    let mut between: Vec<u64> = tbfs.iter().flat_map(|tbf| tbf.poll_intervals.points()).copied().collect();
    let polls = quantile(&mut between, 0.5);
    let asks = match direction {
        Direction::Down => {
            let apart = polls.map_or(String::new(), |blocks| format!(" one each {blocks} blocks,"));
            format!("{asked} polls,{apart} {unanswered} of them without a report in its block")
        }
        Direction::Up => format!("{asked} blocks say that the mobile's window is full"),
    };
    let trip = round.map_or(String::new(), |ns| format!("; the shortest round trip of RLC is {}", ms(ns)));
    let text = format!("a report each {median} data blocks as the median ({least} to {most}); {asks}{trip}");
    findings.push(
        Finding::new("rlc-reports", of, text)
            .number("interval_median_blocks", real(median))
            .number("poll_interval_median_blocks", polls.map_or(0.0, real))
            .number("polls_or_stalls", real(asked))
            .number("polls_unanswered", real(unanswered))
            .number("round_trip_s", round.map_or(0.0, seconds)),
    );
}

/// Blocks that hold a TBF without data.
fn holding(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let fillers: u64 = tbfs.iter().map(|tbf| tbf.fillers).sum();
    let dummies: u64 = tbfs.iter().map(|tbf| tbf.dummies).sum();
    if fillers + dummies == 0 {
        return;
    }
    let held = |tbf: &&&Tbf| tbf.fillers + tbf.dummies > 0;
    let text = format!(
        "{} TBFs were held without data, by {fillers} blocks with a dummy command of LLC and {dummies} dummy control blocks",
        tbfs.iter().filter(held).count()
    );
    findings.push(
        Finding::new("tbf-held", of, text)
            .number("tbfs", real(tbfs.iter().filter(held).count() as u64))
            .number("fillers", real(fillers))
            .number("dummies", real(dummies))
            .proved_by(tbfs.iter().filter_map(|tbf| tbf.first_filler).map(|(_, proof)| proof)),
    );
}

/// Acknowledgements of TCP by TBF, and what the set-up of the TBF added to the round trip.
fn acknowledgements(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let with: Vec<&&Tbf> = tbfs.iter().filter(|tbf| tbf.acks.seen() > 0).collect();
    let mut each: Vec<u64> = with.iter().map(|tbf| tbf.acks.seen()).collect();
    let Some(median) = quantile(&mut each, 0.5) else { return };
    let all: u64 = each.iter().sum();
    let own = with.iter().filter(|tbf| tbf.is_of_acks()).count() as u64;
    let trips = |is_first: bool| -> Vec<u64> {
        let of_tbf = |tbf: &&&Tbf| -> Vec<u64> {
            let points = tbf.acks.points();
            let (first, rest) = points.split_at(points.len().min(1));
            let these = if is_first { first } else { rest };
            these.iter().filter_map(TcpAck::round_trip_ns).collect()
        };
        with.iter().flat_map(of_tbf).collect()
    };
    let (mut first, mut rest) = (trips(true), trips(false));
    let mut set_ups: Vec<u64> = with.iter().filter_map(|tbf| tbf.set_up_ns()).collect();
    let [first_ns, rest_ns, set_up_ns] =
        [&mut first, &mut rest, &mut set_ups].map(|values| quantile(values, 0.5));
    let said = |what: &str, ns: Option<u64>| ns.map_or(String::new(), |ns| format!("; {what} {}", ms(ns)));
    let text = format!(
        "{} TBFs carried {all} acknowledgements of TCP, {median} as the median, {own} of them nothing else{}{}{}",
        with.len(),
        said("its set-up took", set_up_ns),
        said("from a segment to the first acknowledgement of a TBF as the median", first_ns),
        said("to a later one of the same TBF", rest_ns)
    );
    findings.push(
        Finding::new("tbf-tcp-acks", of, text)
            .number("tbfs", real(with.len() as u64))
            .number("tbfs_of_acks_alone", real(own))
            .number("acks", real(all))
            .number("acks_median_by_tbf", real(median))
            .number("set_up_median_s", set_up_ns.map_or(0.0, seconds))
            .number("round_trip_first_median_s", first_ns.map_or(0.0, seconds))
            .number("round_trip_later_median_s", rest_ns.map_or(0.0, seconds))
            .proved_by(with.iter().flat_map(|tbf| tbf.acks.points().first()).map(|ack| ack.proof)),
    );
}

/// Throughput of the longest TBF against its line rate.
fn rate(tbfs: &[&Tbf], of: &str, findings: &mut Vec<Finding>) {
    let Some(longest) = tbfs.iter().max_by_key(|tbf| tbf.user_octets) else { return };
    let Some(rate) = longest.user_rate().filter(|_| longest.line_rate > 0.0) else { return };
    let text = format!(
        "the TBF with most data carried {:.1} kbit/s of LL-PDUs, {:.0} % of the {:.1} kbit/s of {} timeslots; {:.0} % of its time the \
         window was full",
        rate / 1e3,
        rate * 100.0 / longest.line_rate,
        longest.line_rate / 1e3,
        longest.timeslots.count_ones(),
        real(longest.stalled_ns()) * 100.0 / real(longest.lasted_ns().max(1))
    );
    findings.push(
        Finding::new("rlc-rate", of, text)
            .number("user_bits_per_s", rate)
            .number("line_bits_per_s", longest.line_rate)
            .number("timeslots", f64::from(longest.timeslots.count_ones()))
            .proved_by(longest.first_data.into_iter().chain([longest.last]).map(|(_, proof)| proof)),
    );
}
