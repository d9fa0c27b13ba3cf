//! The generator and the sink for machines that permit no programs at the driver: sockets, in batches of `sendmmsg` and
//! `recvmmsg`, on the same thread as the control plane. Slower by a factor of ten, and the receiving side costs as much as
//! the sending one; what it marks, checks and counts is the same.

use super::offered::Asked;
use super::{RunOptions, Second, Watcher};
use crate::load::plan::SIZE_MIN;
use crate::load::traffic::{Direction, FlowSpec, Group, GroupResult, PAUSE, Pacing, Spacing, StepResult};
use crate::load::{Event, Load, LoadError};
use core::cmp::Reverse;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::rng::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// N-PDUs that are sent before the sockets have their turn.
const SENT_PER_TURN: usize = 128;
/// After a step: how long it is waited at the most, and how long nothing may have come.
const DRAIN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(50));
/// Octets of the IPv4 and the UDP header.
const HEADERS: usize = 28;
/// What the mark begins with.
const MAGIC: [u8; 4] = *b"GnSk";

/// A flow, and what was seen of it.
struct Flow {
    user: u32,
    spec: FlowSpec,
    /// When its next N-PDU is due, in ns since the step began.
    due_ns: u64,
    sequence: u32,
    /// The sequence number that is expected.
    next: u32,
    /// Bit k: the N-PDU of sequence number next - 1 - k has come.
    window: u64,
}

/// Both ends.
struct Ends {
    begin: Instant,
    step: u16,
    flows: Vec<Flow>,
    /// Flow by user, downlink and uplink.
    down: HashMap<u32, usize>,
    up: HashMap<u32, usize>,
    /// N-PDUs whose segments are coming.
    open: HashMap<u32, Vec<u8>>,
    groups: BTreeMap<u8, GroupResult>,
    unmarked: u64,
    arrived: u64,
}

/// Octets of an N-PDU: IPv4, UDP, the mark, and a pattern that begins elsewhere in each.
fn n_pdu(spec: &FlowSpec, (flow, step, sequence, stamp_ns): (u32, u16, u32, u64)) -> Vec<u8> {
    let size = spec.size.max(SIZE_MIN);
    let mut octets = Vec::with_capacity(usize::from(size));
    octets.extend([0x45, 0]);
    octets.extend(size.to_be_bytes());
    octets.extend([0, 0, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1]);
    octets.extend(spec.address.octets());
    octets.extend([0, 9, 0, 9]);
    octets.extend((size - 20).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(MAGIC);
    octets.extend(flow.to_be_bytes());
    octets.extend(step.to_be_bytes());
    octets.extend(sequence.to_be_bytes());
    octets.extend(stamp_ns.to_be_bytes());
    let mut word = sequence.wrapping_mul(0x9e37_79b9) | 1;
    while octets.len() < usize::from(size) {
        word = word.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        octets.push(word.to_be_bytes()[0]);
    }
    octets
}

/// Flow, step, sequence number and time of a mark.
fn mark_of(n_pdu: &[u8]) -> Option<(u32, u16, u32, u64)> {
    let mark = n_pdu.get(HEADERS..)?.strip_prefix(&MAGIC)?;
    let (flow, rest) = mark.split_first_chunk::<4>()?;
    let (step, rest) = rest.split_first_chunk::<2>()?;
    let (sequence, rest) = rest.split_first_chunk::<4>()?;
    let (stamp, _) = rest.split_first_chunk::<8>()?;
    Some((
        u32::from_be_bytes(*flow),
        u16::from_be_bytes(*step),
        u32::from_be_bytes(*sequence),
        u64::from_be_bytes(*stamp),
    ))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Ends {
    fn event(&mut self, event: Event) {
        self.arrived += 1;
        match event {
            Event::Uplink { user, frame } => self.take(self.up.get(&user).copied(), &frame),
            Event::Downlink { user, segment: 0, more: false, frame } => {
                self.take(self.down.get(&user).copied(), &frame);
            }
            Event::Downlink { user, segment, more, frame } => {
                let open = self.open.entry(user).or_default();
                if segment == 0 {
                    open.clear();
                }
                open.extend_from_slice(&frame);
                if !more {
                    let whole = self.open.remove(&user).unwrap_or_default();
                    self.take(self.down.get(&user).copied(), &whole);
                }
            }
        }
    }

    /// An N-PDU has come for the flow `at`.
    fn take(&mut self, at: Option<usize>, octets: &[u8]) {
        let (Some(at), Some(mark)) = (at, mark_of(octets)) else {
            self.unmarked += 1;
            return;
        };
        let (number, step, sequence, stamp_ns) = mark;
        let Some(flow) = self.flows.get_mut(at) else { return };
        let group = self.groups.entry(flow.spec.group.0).or_default();
        if step != self.step {
            group.other_step += 1;
        } else if number as usize != at {
            group.wrong_mobile += 1;
        } else if octets != n_pdu(&flow.spec, mark) {
            group.corrupt += 1;
        } else if let Some(late) = flow.note(sequence) {
            group.reordered += u64::from(late);
            group.delivered += 1;
            group.delivered_octets += octets.len() as u64;
            group.latency.record(nanos(self.begin.elapsed()).saturating_sub(stamp_ns));
        } else {
            group.repeated += 1;
        }
    }
}

impl Flow {
    /// A sequence number has come: `None` where it came before, else whether a later one did.
    const fn note(&mut self, sequence: u32) -> Option<bool> {
        let ahead = sequence.wrapping_sub(self.next);
        if ahead < 1 << 31 {
            self.window = if ahead < 63 { self.window << (ahead + 1) | 1 } else { 1 };
            self.next = sequence.wrapping_add(1);
            return Some(false);
        }
        let behind = self.next.wrapping_sub(1).wrapping_sub(sequence);
        if behind < 64 {
            if self.window >> behind & 1 == 1 {
                return None;
            }
            self.window |= 1 << behind;
        }
        Some(true)
    }
}

/// Who is due next. With bursts all that is due in an interval leaves at its beginning, the flows in random order, what one
/// flow has to send in one piece.
struct Calendar {
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    interval_ns: u64,
    rng: Rng,
}

impl Calendar {
    fn enter(&mut self, at: usize, due_ns: u64, before: Option<(u64, u64)>) {
        let leaves = due_ns / self.interval_ns * self.interval_ns;
        let place = match before {
            Some((window, place)) if window == leaves => place,
            _ => self.rng.u64(),
        };
        self.heap.push(Reverse((leaves, place, at)));
    }

    fn gap_ns(&mut self, flow: &FlowSpec, factor: f64) -> Option<u64> {
        let mean = flow.gap_ns()?;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "nanoseconds of a gap"
        )]
        let scaled = |by: f64| (mean as f64 * by / factor.max(1e-6)) as u64;
        Some(match flow.spacing {
            Spacing::Fixed => scaled(1.0),
            Spacing::Exponential => scaled(-(1.0 - self.rng.unit()).ln()),
        })
    }

    /// When something leaves next.
    fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((leaves, ..))| *leaves)
    }
}

/// For how long nothing could leave since this thread did not run, turn by turn.
#[derive(Debug, Default)]
struct Pauses {
    /// When the last turn ended, since the step began.
    last: Duration,
    /// Turns that took longer than [`PAUSE`], without what they were to sleep.
    sum: Duration,
    longest: Duration,
}

impl Pauses {
    /// A turn has ended at `now`, in which it was to sleep for so long.
    fn turn(&mut self, now: Duration, slept: Duration) {
        let took = now.saturating_sub(self.last).saturating_sub(slept);
        self.longest = self.longest.max(took);
        if took > PAUSE {
            self.sum += took;
        }
        self.last = now;
    }
}

/// All flows of a run through sockets.
pub(super) struct Sockets {
    ends: Rc<RefCell<Ends>>,
    asked: Asked,
}

impl Sockets {
    /// Takes the place of generator and sink. A flow comes with its user's number.
    pub(super) fn new(load: &mut Load, flows: Vec<(u32, FlowSpec)>) -> Self {
        let of = |direction| {
            let those = flows.iter().enumerate().filter(move |(_, (_, flow))| flow.direction == direction);
            those.map(|(at, (user, _))| (*user, at)).collect()
        };
        let (down, up) = (of(Direction::Down), of(Direction::Up));
        let asked = Asked::of(flows.iter().map(|(_, flow)| flow));
        let flows = flows.into_iter().map(|(user, spec)| Flow {
            user,
            spec,
            due_ns: 0,
            sequence: 0,
            next: 0,
            window: 0,
        });
        let ends = Ends {
            begin: Instant::now(),
            step: 0,
            flows: flows.collect(),
            down,
            up,
            open: HashMap::new(),
            groups: BTreeMap::new(),
            unmarked: 0,
            arrived: 0,
        };
        let ends = Rc::new(RefCell::new(ends));
        let told = Rc::clone(&ends);
        load.set_tap(Some(Box::new(move |event| told.borrow_mut().event(event))));
        Self { ends, asked }
    }

    /// What the rates of the flows ask for.
    pub(super) const fn asked(&self) -> &Asked {
        &self.asked
    }

    fn begin(&self, options: &RunOptions, step: usize, factor: f64) -> Calendar {
        let mut ends = self.ends.borrow_mut();
        ends.begin = Instant::now();
        ends.step = u16::try_from(step + 1).unwrap_or(u16::MAX);
        ends.unmarked = 0;
        let interval_ns = match options.pacing {
            Pacing::Exact => 1,
            Pacing::Burst(interval) => nanos(interval).max(1),
        };
        let rng = Rng::seeded(options.config.seed ^ (step as u64) << 32);
        let mut calendar = Calendar { heap: BinaryHeap::new(), interval_ns, rng };
        let Ends { flows, groups, .. } = &mut *ends;
        groups.clear();
        for (at, flow) in flows.iter_mut().enumerate() {
            let group = groups.entry(flow.spec.group.0).or_default();
            (group.group, group.name) = (flow.spec.group.0, Group(flow.spec.group.0).name());
            group.flows += 1;
            if let Some(gap) = calendar.gap_ns(&flow.spec, factor) {
                // Somewhere in its first gap, so that not all begin at once.
                flow.due_ns = calendar.rng.below(gap.max(1));
                calendar.enter(at, flow.due_ns, None);
            }
        }
        calendar
    }

    /// Sends what is due. True where there may be more.
    fn send(&self, load: &mut Load, calendar: &mut Calendar, factor: f64, total_ns: u64) -> bool {
        let mut ends = self.ends.borrow_mut();
        for _ in 0..SENT_PER_TURN {
            let now = nanos(ends.begin.elapsed());
            let Some(Reverse((leaves, place, at))) =
                calendar.heap.peek().copied().filter(|Reverse((l, ..))| *l <= now)
            else {
                return false;
            };
            calendar.heap.pop();
            let step = ends.step;
            let Some(flow) = ends.flows.get_mut(at).filter(|flow| flow.due_ns < total_ns) else { continue };
            let number = u32::try_from(at).unwrap_or(u32::MAX);
            let octets = n_pdu(&flow.spec, (number, step, flow.sequence, now));
            flow.sequence = flow.sequence.wrapping_add(1);
            let (user, direction) = (flow.user, flow.spec.direction);
            let slip = now.saturating_sub(leaves);
            let group = flow.spec.group.0;
            let gap = calendar.gap_ns(&flow.spec, factor).unwrap_or(u64::MAX / 4).max(1);
            flow.due_ns = flow.due_ns.saturating_add(gap);
            calendar.enter(at, flow.due_ns, Some((leaves, place)));
            let group = ends.groups.entry(group).or_default();
            group.offered += 1;
            group.offered_octets += octets.len() as u64;
            group.slip_max_ns = group.slip_max_ns.max(slip);
            // The sum, until the step is over.
            group.slip_mean_ns += slip;
            load.emulator(|emulator, cx| match direction {
                Direction::Down => emulator.send_g_pdu(cx, user, &octets),
                Direction::Up => emulator.send_n_pdu(cx, user, &octets),
            });
        }
        true
    }

    fn groups(&self) -> Vec<GroupResult> {
        self.ends.borrow().groups.values().cloned().collect()
    }

    /// Runs a step.
    pub(super) fn run(
        &self,
        options: &RunOptions,
        load: &mut Load,
        (step, factor): (usize, f64),
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<StepResult, LoadError> {
        let mut calendar = self.begin(options, step, factor);
        let begin = Instant::now();
        let total_ns = nanos(options.duration);
        let (mut before, mut said, mut calls) = (Vec::new(), Duration::ZERO, 0);
        let mut pauses = Pauses::default();
        let mut away_before = Duration::ZERO;
        while begin.elapsed() < options.duration && !stop.load(Relaxed) {
            let more = self.send(load, &mut calendar, factor, total_ns);
            calls += 1;
            load.poll_once()?;
            let elapsed = begin.elapsed();
            if elapsed.saturating_sub(said) >= Duration::from_secs(1) {
                let (now, span) = (self.groups(), elapsed.saturating_sub(said));
                watcher.second(&Second {
                    step,
                    steps: options.ramp.steps,
                    factor,
                    elapsed,
                    duration: options.duration,
                    span,
                    away: pauses.sum - away_before,
                    asked: &self.asked,
                    now: &now,
                    before: &before,
                });
                (before, said, away_before) = (now, elapsed, pauses.sum);
            }
            let mut slept = Duration::ZERO;
            if !more {
                let next = calendar.next_ns().unwrap_or(u64::MAX).saturating_sub(nanos(begin.elapsed()));
                slept = Duration::from_nanos(next.min(1_000_000));
                load.poll(gannet_machine::time::Duration(nanos(slept)))?;
            }
            pauses.turn(begin.elapsed(), slept);
        }
        let duration = begin.elapsed().min(options.duration);
        let drained = self.drain(load)?;
        let mut groups = self.groups();
        for group in &mut groups {
            group.slip_mean_ns = group.slip_mean_ns.checked_div(group.offered).unwrap_or(0);
        }
        let ends = self.ends.borrow();
        let (step, unmarked) = (ends.step, ends.unmarked);
        let mut result = StepResult {
            step,
            duration,
            drained,
            unmarked,
            calls,
            groups,
            paused: pauses.sum,
            pause_max: pauses.longest,
            ..StepResult::default()
        };
        result.gn.taken = result.total(|group| group.offered);
        Ok(result)
    }

    fn drain(&self, load: &mut Load) -> Result<Duration, LoadError> {
        let begin = Instant::now();
        let (mut seen, mut last) = (self.ends.borrow().arrived, begin);
        while begin.elapsed() < DRAIN.0 && last.elapsed() < DRAIN.1 {
            load.poll(gannet_machine::time::Duration::from_millis(1))?;
            let arrived = self.ends.borrow().arrived;
            if arrived != seen {
                (seen, last) = (arrived, Instant::now());
            }
        }
        Ok(begin.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn a_mark_says_what_it_was_made_of() {
        let spec = FlowSpec { size: 378, ..FlowSpec::down(1, 2, 0, Ipv4Addr::new(10, 0, 0, 2), 1.0) };
        let mark = (7, 3, 0x0102_0304, 99);
        let octets = n_pdu(&spec, mark);
        assert_eq!((octets.len(), mark_of(&octets)), (378, Some(mark)));
        assert_ne!(octets, n_pdu(&spec, (7, 3, 0x0102_0305, 99)));
        assert_eq!(mark_of(&octets[..40]), None);
    }

    #[test]
    fn a_turn_that_takes_longer_than_it_was_to_sleep_is_a_pause() {
        let mut pauses = Pauses::default();
        let ms = Duration::from_millis;
        pauses.turn(ms(2), Duration::ZERO);
        pauses.turn(ms(5), ms(1));
        assert_eq!(pauses.sum, Duration::ZERO, "2 ms beside what it slept are work");
        pauses.turn(ms(15), ms(1));
        pauses.turn(ms(18), Duration::ZERO);
        assert_eq!((pauses.sum, pauses.longest), (ms(12), ms(9)));
    }

    #[test]
    fn repeated_and_late_are_told_apart() {
        let spec = FlowSpec::down(1, 2, 0, Ipv4Addr::UNSPECIFIED, 1.0);
        let mut flow = Flow { user: 0, spec, due_ns: 0, sequence: 0, next: 0, window: 0 };
        let noted = [0, 1, 3, 2, 3, 0, 200, 3].map(|sequence| flow.note(sequence));
        let (new, late) = (Some(false), Some(true));
        assert_eq!(noted, [new, new, new, late, None, None, new, late]);
    }
}
