//! One step of a real chain: the generator runs, both sides are read when the window begins and when it ends, and the account
//! is drawn up when nothing is under way any more.

use super::bed::{CoreClock, ProcessClock, READ_BY_BSS, SGSN_CORE};
use super::near::{Cores, Preempting};
use super::peers;
use super::peers::{FULL_SOCKET, Offered};
use super::pulse::Pulse;
use super::real::{RealChain, total};
use super::shape::STRANGE;
use crate::load::Load;
use crate::load::traffic::{Group, GroupResult, StepResult, Traffic};
use crate::measure;
use crate::measure::Offer;
use crate::measure::account::{Delay, GroupCount, Step};
use gannet_machine::drops::Drop;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// For what is under way though nothing moves and nothing is queued in the SGSN.
const CLOSE_MAX: Duration = Duration::from_secs(3);

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What is looked at when the window begins, and when it ends.
#[derive(Debug)]
struct Mark {
    at_s: f64,
    groups: Vec<GroupResult>,
    core: CoreClock,
    process: ProcessClock,
}

/// Has a turn again and again while a step runs, and while it is waited for what is under way.
pub(super) type Turn<'a> = dyn FnMut(&mut Load, &mut Traffic, Duration) + 'a;

/// What the generator and the looks at the window's ends have given.
struct Ran {
    result: StepResult,
    start: Mark,
    end: Mark,
    speed: Option<f64>,
    slow: bool,
    given_up: bool,
}

impl Mark {
    fn take(at_s: f64, groups: Vec<GroupResult>, pid: u32) -> Result<Self, String> {
        let core = CoreClock::read(SGSN_CORE).map_err(text)?;
        let process = ProcessClock::read(pid).map_err(text)?;
        Ok(Self { at_s, groups, core, process })
    }
}

impl RealChain {
    /// Lets the generator run, and looks when the window begins and when it ends. Where the step is given up, all of it is the
    /// window.
    fn run(&mut self, offer: &Offer, also: &mut Turn<'_>) -> Result<Ran, String> {
        let (from, to) = (offer.warm_up_s, offer.warm_up_s + offer.window_s);
        let (load, stop, pid) = (&mut self.load, &self.stop, self.process.pid());
        let first = self.polls && self.cores.is_some();
        let usual = self.cores.as_ref().and_then(|cores| cores.borrow().usual_look());
        let pulse = first.then(|| Pulse::start(usual)).transpose()?;
        let preempting = first.then(|| Preempting::new(pid)).transpose()?;
        // Nothing of this step has been counted yet.
        let mut marks = vec![Mark::take(0.0, Vec::new(), pid)?];
        let (mut failed, mut given_up) = (None, false);
        let mut turn = |traffic: &mut Traffic, elapsed: Duration| {
            if let Some(load) = load {
                match load.poll_once() {
                    Ok(()) => also(load, traffic, elapsed),
                    Err(error) => drop(failed.get_or_insert(error.to_string())),
                }
            }
            let at_s = elapsed.as_secs_f64();
            given_up |= offer.gives_up && at_s < to && pulse.as_ref().is_some_and(Pulse::is_slow);
            if given_up || stop.load(Relaxed) {
                traffic.stop();
            }
            let due = match marks.len() {
                1 => at_s >= from,
                2 => at_s >= to,
                _ => false,
            };
            if due || (given_up && marks.len() < 3) {
                if given_up {
                    marks.truncate(1);
                }
                match Mark::take(at_s, traffic.so_far(), pid) {
                    Ok(mark) => marks.push(mark),
                    Err(error) => drop(failed.get_or_insert(error)),
                }
            }
        };
        let duration = Duration::from_secs_f64(to);
        let traffic = &mut self.traffic;
        traffic.set_window(Duration::from_secs_f64(from), duration);
        let result = self.bed.at_load(|| traffic.run(duration, &mut turn)).map_err(text)?.map_err(text)?;
        let looks = pulse.map(Pulse::end).unwrap_or_default();
        drop(preempting);
        let speed = self.cores.as_ref().and_then(|cores| cores.borrow_mut().speed(&looks));
        let (speed, slow) = speed.map_or((None, false), |(speed, slow)| (Some(speed), slow));
        if let Some(why) = failed {
            return Err(why);
        }
        self.check()?;
        match (marks.pop(), marks.pop(), marks.is_empty() == given_up) {
            (Some(end), Some(start), true) => Ok(Ran { result, start, end, speed, slow, given_up }),
            _ => Err("the step was over before its window".to_owned()),
        }
    }

    /// A step in which something else happens at the same time.
    pub(super) fn step_with(&mut self, offer: &Offer, also: &mut Turn<'_>) -> Result<Step, String> {
        self.check()?;
        self.process.check().map_err(text)?;
        self.configure(offer)?;
        let distance = self.distance(|cores| cores.wait(offer.is_patient))?;
        let before = self.counters()?;
        let clock = ProcessClock::read(self.process.pid()).map_err(text)?;
        let ran = self.run(offer, also)?;
        self.check()?;
        let away_s = clock.away_since_s().map_err(text)?;
        let distance = distance.max(self.distance(Cores::look)?);
        self.process.check().map_err(text)?;
        let mut step = self.close(offer, &ran, &before)?;
        (step.away_s, step.round_trip_ns) = (self.polls.then_some(away_s), distance);
        step.far = self.cores.as_ref().is_some_and(|cores| !cores.borrow().is_near(distance));
        Ok(step)
    }

    /// The account, when nothing is under way any more. A look at both sides does not see what lies in a socket's buffer or in
    /// a queue of the kernel while others have the core: an account that does not close yet is drawn up again.
    fn close(&mut self, offer: &Offer, ran: &Ran, before: &BTreeMap<String, u64>) -> Result<Step, String> {
        let until = Instant::now() + CLOSE_MAX;
        loop {
            let (after, groups) = self.settle()?;
            let step = self.account(offer, ran, (before, &after), &groups);
            if step.unaccounted() == 0 || self.nameless || Instant::now() > until {
                return Ok(step);
            }
        }
    }

    fn account(
        &self,
        offer: &Offer,
        Ran { result, start, end, speed, slow, given_up }: &Ran,
        (before, after): (&BTreeMap<String, u64>, &BTreeMap<String, u64>),
        groups: &[GroupResult],
    ) -> Step {
        let to_s = offer.warm_up_s + offer.window_s;
        let is_acknowledged = self.setup.is_acknowledged(offer);
        // Who sleeps is held to the core's time, which is known between two looks alone.
        let is_exact = self.polls && !given_up && end.at_s >= to_s;
        let moved: BTreeMap<String, u64> = after
            .iter()
            .map(|(name, value)| (name.clone(), value.saturating_sub(before.get(name).copied().unwrap_or(0))))
            .collect();
        let mut step = Step {
            window_s: if is_exact { offer.window_s } else { end.at_s - start.at_s },
            // Between two looks a little more time passes than there is traffic.
            intended_pps: offer.groups.iter().map(measure::Group::pps).sum::<f64>()
                * if is_exact { 1.0 } else { (to_s - start.at_s) / (end.at_s - start.at_s) },
            groups: offer
                .groups
                .iter()
                .zip(0_u8..)
                .map(|(g, n)| group_count(g, Group(n), groups, (start, end), is_exact))
                .collect(),
            unknown: find(groups, STRANGE).map_or(0, |group| group.offered),
            // Also that of the load's end of Gb, which the sink has to empty in time.
            // In acknowledged mode what is lost there comes again.
            ring_losses: result.refused() + if is_acknowledged { 0 } else { lost_on_gb(&moved) },
            wrong: total(groups, |g| g.corrupt + g.wrong_mobile + g.repeated),
            core: end.core.since(&start.core),
            away_in_window_s: if self.polls { end.process.away_s(&start.process) } else { 0.0 },
            paused_s: result.paused.as_secs_f64(),
            speed: *speed,
            slow: *slow,
            given_up: *given_up,
            nameless: self.nameless,
            ..Step::default()
        };
        let offered = match (self.setup.uplink, is_acknowledged) {
            (true, _) => Offered::Uplink,
            (false, true) => Offered::Acknowledged,
            (false, false) => Offered::Downlink,
        };
        let answered = total(groups, |g| g.answered);
        note_undelivered(
            &mut step,
            offered,
            (&moved, after),
            (answered.saturating_sub(result.answers.refused), result.answers.refused),
        );
        if is_acknowledged {
            step.raw.insert("acknowledgements".to_owned(), answered);
            step.raw.insert("acknowledgements_refused".to_owned(), result.answers.refused);
            step.raw.insert("i_frames_unexpected".to_owned(), total(groups, |g| g.unexpected));
        }
        self.note_reads(&mut step);
        step.raw.extend(moved.into_iter().filter(|(_, value)| *value > 0));
        step.raw.insert("refused_gn".to_owned(), result.gn.refused);
        step.raw.insert("refused_gb".to_owned(), result.gb.refused);
        step.raw.insert("unmarked".to_owned(), result.unmarked);
        step.raw.insert("other_step".to_owned(), total(groups, |g| g.other_step));
        step.raw.insert("reordered".to_owned(), total(groups, |g| g.reordered));
        if let Some(samples) = &result.samples {
            // What of it was known by TLLI and N(U) alone, and what was deciphered and compared as a whole.
            step.raw.insert("ciphered_unread".to_owned(), total(groups, |g| g.unread));
            step.raw.insert("ciphered_whole".to_owned(), total(groups, |g| g.whole));
            step.raw.insert("ciphered_read_every".to_owned(), samples.read_every.into());
            step.raw.insert("ciphered_whole_every".to_owned(), samples.whole_every.into());
        }
        step
    }
}

/// What was not delivered, by what has been counted: dropped under a name, or waiting at the end. So many acknowledgements were sent, and so
/// many more the device refused.
fn note_undelivered(
    step: &mut Step,
    offered: Offered,
    (moved, after): (&BTreeMap<String, u64>, &BTreeMap<String, u64>),
    (acknowledgements, refused): (u64, u64),
) {
    step.drops = peers::drops(moved, offered);
    step.queued = peers::queued_of(after, offered);
    match offered {
        Offered::Downlink => {}
        Offered::Uplink => note_lost(step, moved),
        Offered::Acknowledged => {
            let lost = acknowledgements.saturating_sub(moved_of(moved, "ll_pdu_uplink"));
            let lost_before = lost_before_driver(moved, acknowledgements, refused);
            without_acknowledgements(&mut step.drops, lost.saturating_sub(lost_before));
            note_unconfirmed(step, peers::unconfirmed(after));
        }
    }
}

/// Of what is not delivered in acknowledged mode, what the SGSN still has waits; the rest of what it has was delivered.
fn note_unconfirmed(step: &mut Step, unconfirmed: u64) {
    step.queued += unconfirmed.min(u64::try_from(step.unaccounted()).unwrap_or(0));
}

/// Takes acknowledgements that were sent and have not come to the SGSN off what was dropped: the program at the driver of Gb counts
/// what it drops under the same names as that of Gn does N-PDUs.
fn without_acknowledgements(drops: &mut BTreeMap<String, u64>, mut lost: u64) {
    for drop in [Drop::DemuxRingFull, Drop::DemuxFillEmpty, Drop::DemuxQueueFull, Drop::DemuxOverRate] {
        if let Some(count) = drops.get_mut(drop.name()) {
            let of_these = lost.min(*count);
            (*count, lost) = (*count - of_these, lost - of_these);
        }
    }
    drops.retain(|_, count| *count > 0);
}

/// Acknowledgements that the device at Gb had no room for, of so many that were sent and others that it refused: neither the program at its
/// driver nor anybody behind it knows of them. What the device lost may be signalling as well; the program leaves that to the
/// kernel, and has put LL-PDUs alone into rings.
fn lost_before_driver(moved: &BTreeMap<String, u64>, acknowledgements: u64, refused: u64) -> u64 {
    let redirected = moved.iter().filter(|(name, _)| name.starts_with("uplink_redirected_"));
    let not_redirected = acknowledgements.saturating_sub(redirected.map(|(_, count)| count).sum());
    moved_of(moved, "gb1.tx_dropped").saturating_sub(refused).min(not_redirected)
}

fn moved_of(moved: &BTreeMap<String, u64>, name: &str) -> u64 {
    moved.get(name).copied().unwrap_or(0)
}

/// LL-PDUs that the ring of the load's end of Gb has lost: of the frames that it has lost those that were none, such as a
/// FLOW-CONTROL-BVC-ACK, were sent and did not reach the BSS. What reached it as signalling is what its sockets have read.
fn lost_on_gb(moved: &BTreeMap<String, u64>) -> u64 {
    let of = |name: &str| moved_of(moved, name);
    let lost = of("gb0.tx_dropped");
    let Some(ll_pdus) = moved.get("ll_pdu_downlink") else { return lost };
    let others = (of("gb0.tx_packets") + lost).saturating_sub(*ll_pdus);
    lost - others.saturating_sub(of(READ_BY_BSS)).min(lost)
}

/// What is lost on the way up alone: in the sink's ring, and where hundreds of a mobile's LL-PDUs in a row have been lost, so
/// that LLC takes a later one, by its number, for one that was there before. A full socket of `fifo` also loses what the BSS
/// says itself, which nobody has offered: what it sent beside user data and the node has not got.
fn note_lost(step: &mut Step, moved: &BTreeMap<String, u64>) {
    let of = |name: &str| moved.get(name).copied().unwrap_or(0);
    step.ring_losses += of("gn0.tx_dropped");
    let sent_besides = (of("gb1.tx_packets") + of("gb1.tx_dropped")).saturating_sub(step.offered_all());
    let got_besides = of("udp.InDatagrams").saturating_sub(of("ll_pdu_uplink"));
    if let Some(lost) = step.drops.get_mut(FULL_SOCKET) {
        *lost = lost.saturating_sub(sent_besides.saturating_sub(got_besides));
    }
    let name = Drop::LlcDuplicate.name();
    if of(name) > 0 {
        step.drops.insert(name.to_owned(), of(name));
    }
}

fn find(groups: &[GroupResult], group: Group) -> Option<&GroupResult> {
    groups.iter().find(|result| result.group == group.0)
}

fn group_count(
    group: &measure::Group,
    number: Group,
    all: &[GroupResult],
    (start, end): (&Mark, &Mark),
    is_exact: bool,
) -> GroupCount {
    let (Some(all), Some(last)) = (find(all, number), find(&end.groups, number)) else {
        return GroupCount { name: group.name, due_pps: group.due_pps(), ..GroupCount::default() };
    };
    let first = find(&start.groups, number);
    let (offered, delivered) = first.map_or((0, 0), |first| (first.offered, first.delivered));
    let (offered, delivered) = if is_exact {
        (all.offered_inside, all.delivered_inside)
    } else {
        (last.offered - offered, last.delivered - delivered)
    };
    // What arrives after the window was offered within it for the most part.
    let latency = first.map_or_else(|| all.latency.clone(), |first| all.latency.since(&first.latency));
    #[expect(clippy::cast_precision_loss, reason = "ns of a delay")]
    let us = |ns: u64| ns as f64 / 1000.0;
    GroupCount {
        name: group.name,
        due_pps: group.due_pps(),
        offered,
        delivered,
        read: None,
        offered_all: all.offered,
        delivered_all: all.delivered,
        delay: Delay {
            count: latency.count(),
            mean_us: us(latency.mean_ns()),
            p50_us: us(latency.quantile_ns(0.5)),
            p90_us: us(latency.quantile_ns(0.9)),
            p99_us: us(latency.quantile_ns(0.99)),
            max_us: us(latency.max_ns()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_confirmed_waits_where_it_was_not_delivered() {
        let waiting = |offered_all, unconfirmed| {
            let group = GroupCount { offered_all, delivered_all: 90, ..GroupCount::default() };
            let mut step = Step { groups: vec![group], queued: 4, ..Step::default() };
            note_unconfirmed(&mut step, unconfirmed);
            (step.queued, step.unaccounted())
        };
        assert_eq!(waiting(94, 7), (4, 0), "all of them were delivered");
        assert_eq!(waiting(100, 7), (10, 0));
        assert_eq!(waiting(103, 7), (11, 2), "more is missing than anybody has");
        assert_eq!(waiting(90, 7), (4, -4), "more has come than was offered");
    }

    #[test]
    fn acknowledgements_that_gb_loses_are_no_n_pdus() {
        let (ring, fill) = (Drop::DemuxRingFull.name(), Drop::DemuxFillEmpty.name());
        let left = |lost: u64| {
            let named = [(ring, 5), (fill, 30), (Drop::FlowQueueFull.name(), 4)];
            let mut drops = named.map(|(name, count)| (name.to_owned(), count)).into();
            without_acknowledgements(&mut drops, lost);
            [ring, fill, Drop::FlowQueueFull.name()].map(|name| drops.get(name).copied())
        };
        assert_eq!(left(0), [Some(5), Some(30), Some(4)]);
        assert_eq!(left(7), [None, Some(28), Some(4)]);
        assert_eq!(left(99), [None, None, Some(4)]);
    }

    #[test]
    fn what_the_queues_of_mobiles_drop_is_offered_on_the_way_up_alone() {
        let up = [
            Drop::UplinkQueueFull,
            Drop::UplinkQueueCellFull,
            Drop::UplinkQueueNodeFull,
            Drop::UplinkQueueMobileGone,
            Drop::UplinkQueuePushedOut,
        ];
        let unaccounted = |offered, offered_all| {
            let mut moved: BTreeMap<String, u64> = up.map(|drop| (drop.name().to_owned(), 40)).into();
            // Of 1000 acknowledgements, beside 4 that it refused, the device lost 12 of which no one else knows, and a frame of signalling.
            // The driver lost 30 beside 7 N-PDUs, most of them out of a full ring. Of those that came 200 were dropped.
            let on_gb = [
                ("ll_pdu_uplink", 958),
                ("gb1.tx_dropped", 17),
                ("uplink_redirected_best_effort", 980),
                ("uplink_redirected_signalling", 8),
                ("uplink_passed_to_kernel", 3),
            ];
            moved.extend(on_gb.map(|(name, count)| (name.to_owned(), count)));
            moved.insert(Drop::DemuxRingFull.name().to_owned(), 37);
            moved.insert(Drop::FlowQueueNodeFull.name().to_owned(), 9);
            let after = [("queued_n_pdus", 3), ("queued_uplink_ll_pdus", 5), ("n_pdus_unconfirmed", 2)];
            let after = after.map(|(name, count)| (name.to_owned(), count)).into();
            let group = GroupCount { offered_all, delivered_all: 500, ..GroupCount::default() };
            let mut step = Step { groups: vec![group], ..Step::default() };
            note_undelivered(&mut step, offered, (&moved, &after), (1000, 4));
            (step.unaccounted(), step.queued, step.drops.values().sum::<u64>())
        };
        // 7 + 9 dropped, 3 + 2 waiting.
        assert_eq!(unaccounted(Offered::Acknowledged, 521), (0, 5, 16));
        assert_eq!(unaccounted(Offered::Acknowledged, 522), (1, 5, 16));
        assert_eq!(unaccounted(Offered::Acknowledged, 519), (0, 3, 16));
        assert_eq!(unaccounted(Offered::Acknowledged, 518), (-1, 3, 16));
        assert_eq!(unaccounted(Offered::Downlink, 549), (0, 3, 46));
        assert_eq!(unaccounted(Offered::Uplink, 754), (0, 8, 246));
    }

    #[test]
    fn what_gb_loses_is_ll_pdus_but_for_signalling_that_did_not_arrive() {
        let moved = |ll_pdus: u64, sent: u64, lost: u64, read: u64| {
            let named = [
                ("ll_pdu_downlink", ll_pdus),
                ("gb0.tx_packets", sent),
                ("gb0.tx_dropped", lost),
                (READ_BY_BSS, read),
            ];
            named.map(|(name, value)| (name.to_owned(), value)).into()
        };
        assert_eq!(lost_on_gb(&moved(1000, 1000, 0, 0)), 0);
        // 1000 LL-PDUs and 20 acknowledgements; of those, one was lost.
        assert_eq!(lost_on_gb(&moved(1000, 1012, 8, 20)), 8);
        assert_eq!(lost_on_gb(&moved(1000, 1012, 8, 19)), 7);
        assert_eq!(lost_on_gb(&moved(1000, 1019, 1, 19)), 0);
        // Signalling that carries LL-PDUs of its own is read too.
        assert_eq!(lost_on_gb(&moved(1000, 992, 8, 30)), 8);
        assert_eq!(lost_on_gb(&BTreeMap::from([("gb0.tx_dropped".to_owned(), 5)])), 5);
    }

    #[test]
    fn what_a_full_socket_loses_of_signalling_is_nobodys() {
        let counted = [("gb1.tx_packets", 94_244), ("udp.InDatagrams", 41_706), ("ll_pdu_uplink", 41_055)];
        let moved = counted.map(|(name, count)| (name.to_owned(), count)).into();
        let all =
            GroupCount { name: "good", offered_all: 93_474, delivered_all: 41_055, ..GroupCount::default() };
        let mut step = Step { groups: vec![all], ..Step::default() };
        step.drops.insert(FULL_SOCKET.to_owned(), 52_538);
        assert_eq!(step.unaccounted(), -119);
        note_lost(&mut step, &moved);
        assert_eq!(step.unaccounted(), 0);
    }
}
