//! Deadlines by name: plain data that moves with what they concern.

use super::{Ticket, TimerKey, TimerName, Timers};
use crate::time::Instant;
use serde::{Deserialize, Serialize};

/// Deadlines of one owner, one for each name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Deadlines<N: TimerName> {
    #[serde(with = "instants")]
    at: N::Instants,
    /// The earliest wake-up that was asked for and has not come yet.
    #[serde(skip, default = "never")]
    asked: Instant,
}

fn all_never<I: Default + AsMut<[Instant]>>() -> I {
    let mut at = I::default();
    at.as_mut().fill(NEVER);
    at
}

/// The instant that stands for "not running": eight octets for a deadline, not sixteen.
const NEVER: Instant = Instant(u64::MAX);

const fn never() -> Instant {
    NEVER
}

fn running(at: Instant) -> Option<Instant> {
    (at != NEVER).then_some(at)
}

impl<N: TimerName> Default for Deadlines<N> {
    fn default() -> Self {
        Self { at: all_never(), asked: NEVER }
    }
}

impl<N: TimerName> Deadlines<N> {
    /// Sets or moves the deadline `name`.
    pub fn set(&mut self, name: N, at: Instant) {
        if let Some(slot) = self.at.as_mut().get_mut(name.index()) {
            *slot = at;
        }
    }

    /// Removes the deadline `name`.
    pub fn clear(&mut self, name: N) {
        if let Some(slot) = self.at.as_mut().get_mut(name.index()) {
            *slot = NEVER;
        }
    }

    /// Removes all deadlines.
    pub fn clear_all(&mut self) {
        self.at = all_never();
    }

    /// The deadline `name`.
    #[must_use]
    pub fn get(&self, name: N) -> Option<Instant> {
        self.at.as_ref().get(name.index()).copied().and_then(running)
    }

    /// True where `name` is running.
    #[must_use]
    pub fn is_set(&self, name: N) -> bool {
        self.get(name).is_some()
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.at.as_ref().iter().min().copied().and_then(running)
    }

    /// Takes the name of one deadline that is due, the earliest first, and removes it.
    pub fn pop_due(&mut self, now: Instant) -> Option<N> {
        let (name, at) = self.first()?;
        (at <= now).then(|| {
            self.clear(name);
            name
        })
    }

    /// The name of the earliest deadline.
    #[must_use]
    pub fn next_name(&self) -> Option<N> {
        self.first().map(|(name, _)| name)
    }

    /// The earliest deadline; of those at the same time the first.
    fn first(&self) -> Option<(N, Instant)> {
        let running = N::ALL.iter().copied().zip(self.at.as_ref().iter().copied());
        running.filter(|(_, at)| *at != NEVER).min_by_key(|(_, at)| *at)
    }

    /// Asks for a wake-up where the one that is on its way would come too late. To be called after every change;
    /// costs a comparison when there is nothing to do.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        let Some(next) = self.next() else { return };
        if next < self.asked {
            timers.wake(key, next);
            self.asked = next;
        }
    }

    /// To be called when the owner is woken, before [`Deadlines::pop_due`] and [`Deadlines::arm`].
    pub fn woken(&mut self, now: Instant) {
        if self.asked <= now {
            self.asked = NEVER;
        }
    }
}

/// Deadlines that mostly move away before they are due. Where one asks for an earlier wake-up than is on its way, that one stays on
/// its way, and the earlier one is recalled when nothing is due by then any more. What it belongs to is not touched for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct FleetingDeadlines<N: TimerName> {
    deadlines: Deadlines<N>,
    /// The wake-up that was on its way when the earliest was asked for.
    #[serde(skip, default = "never")]
    behind: Instant,
    /// The earliest.
    #[serde(skip)]
    ticket: Ticket,
}

impl<N: TimerName> Default for FleetingDeadlines<N> {
    fn default() -> Self {
        Self { deadlines: Deadlines::default(), behind: NEVER, ticket: Ticket::default() }
    }
}

impl<N: TimerName> FleetingDeadlines<N> {
    /// As [`Deadlines::set`]; `None` removes the deadline `name`.
    pub fn set(&mut self, name: N, at: Option<Instant>) {
        self.deadlines.set(name, at.unwrap_or(NEVER));
    }

    /// Removes all deadlines.
    pub fn clear_all(&mut self) {
        self.deadlines.clear_all();
    }

    /// As [`Deadlines::next`].
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// As [`Deadlines::pop_due`].
    pub fn pop_due(&mut self, now: Instant) -> Option<N> {
        self.deadlines.pop_due(now)
    }

    /// As [`Deadlines::arm`], and takes back a wake-up that would come too early.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        let next = self.next().unwrap_or(NEVER);
        let asked = self.deadlines.asked;
        if asked < next && self.ticket != Ticket::default() {
            if timers.recall(self.ticket, key, asked) {
                self.deadlines.asked = core::mem::replace(&mut self.behind, NEVER);
            }
            self.ticket = Ticket::default();
        }
        if next < self.deadlines.asked {
            // One that was behind already still comes, for nothing. What nothing is behind is not recalled: its place stays taken until
            // its slot opens, so that a deadline which moves on with each frame would take a place each time.
            self.behind = core::mem::replace(&mut self.deadlines.asked, next);
            let ticket = timers.wake(key, next);
            self.ticket = if self.behind == NEVER { Ticket::default() } else { ticket };
        }
    }

    /// As [`Deadlines::woken`].
    pub fn woken(&mut self, now: Instant) {
        if self.deadlines.asked <= now {
            self.deadlines.asked = core::mem::replace(&mut self.behind, NEVER);
            self.ticket = Ticket::default();
        }
        self.deadlines.woken(now);
    }
}

/// Serialisation of the deadlines as a sequence of absolute instants.
mod instants {
    use super::{Instant, all_never};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer, I: AsRef<[Instant]>>(at: &I, s: S) -> Result<S::Ok, S::Error> {
        at.as_ref().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, I>(d: D) -> Result<I, D::Error>
    where
        I: Default + AsMut<[Instant]>,
    {
        let read = Vec::<Instant>::deserialize(d)?;
        let mut at: I = all_never();
        if at.as_mut().len() != read.len() {
            return Err(D::Error::invalid_length(read.len(), &"the number of timer names"));
        }
        at.as_mut().copy_from_slice(&read);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::timer_names! {
        enum Two {
            First = "the first",
            Second = "the second",
        }
    }
    use Two::{First, Second};

    crate::timer_names! {
        enum One {
            Only = "the only one",
        }
    }
    use One::Only;

    const KEY: TimerKey = TimerKey { owner: 1, slot: 7, generation: 0 };

    #[test]
    fn a_deadline_that_moves_back_costs_one_early_wake_up() {
        let mut timers = Timers::default();
        let mut deadlines = Deadlines::<Two>::default();
        deadlines.set(First, Instant(10));
        deadlines.arm(KEY, &mut timers);
        deadlines.set(First, Instant(20));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.len(), 1);
        assert_eq!(timers.pop_due(Instant(9)), None);
        assert_eq!(timers.pop_due(Instant(10)), Some(KEY));
        deadlines.woken(Instant(10));
        assert_eq!(deadlines.pop_due(Instant(10)), None);
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.next(), Some(Instant(20)));
        assert_eq!(timers.pop_due(Instant(20)), Some(KEY));
        assert_eq!(deadlines.pop_due(Instant(20)), Some(First));
        assert_eq!(deadlines.next(), None);
    }

    /// Slots, as a node has them.
    fn timers() -> Timers {
        Timers::with_capacity(1 << 16)
    }

    const MS: u64 = 1_000_000;

    fn woken_by(timers: &mut Timers, until: u64) -> Vec<u64> {
        let mut at = Vec::new();
        while let Some(next) = timers.next().filter(|next| next.0 <= until) {
            while timers.pop_due(next).is_some() {
                at.push(next.0);
            }
        }
        at
    }

    #[test]
    fn a_deadline_that_moves_away_wakes_nobody() {
        let (mut timers, mut deadlines) = (timers(), FleetingDeadlines::<Two>::default());
        deadlines.set(Second, Some(Instant(2000 * MS)));
        deadlines.arm(KEY, &mut timers);
        for round in 1..100 {
            deadlines.set(First, Some(Instant((10 * round + 10) * MS)));
            deadlines.arm(KEY, &mut timers);
            assert_eq!(timers.len(), 2, "what comes later stays on its way");
            deadlines.set(First, None);
            deadlines.arm(KEY, &mut timers);
            assert_eq!((timers.len(), woken_by(&mut timers, 10 * round * MS)), (1, vec![]), "{round}");
        }
        assert_eq!(woken_by(&mut timers, 3000 * MS), [2000 * MS]);
    }

    #[test]
    fn one_that_moves_on_with_each_frame_takes_one_place() {
        let (mut timers, mut deadlines) = (timers(), FleetingDeadlines::<One>::default());
        for frame in 0..1000 {
            deadlines.set(Only, Some(Instant((1250 + frame) * MS)));
            deadlines.arm(KEY, &mut timers);
            assert_eq!(timers.len(), 1, "{frame}");
        }
        assert_eq!(woken_by(&mut timers, 1250 * MS), [1250 * MS], "the first was never recalled");
    }

    #[test]
    fn one_that_is_due_wakes_and_so_does_what_is_behind_it() {
        let (mut timers, mut deadlines) = (timers(), FleetingDeadlines::<One>::default());
        deadlines.set(Only, Some(Instant(500 * MS)));
        deadlines.arm(KEY, &mut timers);
        deadlines.set(Only, Some(Instant(20 * MS)));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(woken_by(&mut timers, 20 * MS), [20 * MS]);
        deadlines.woken(Instant(20 * MS));
        assert_eq!(deadlines.pop_due(Instant(20 * MS)), Some(Only));
        deadlines.set(Only, Some(Instant(400 * MS)));
        deadlines.arm(KEY, &mut timers);
        deadlines.set(Only, Some(Instant(600 * MS)));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(woken_by(&mut timers, 500 * MS), [500 * MS], "that at 400 ms was recalled");
        deadlines.woken(Instant(500 * MS));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(woken_by(&mut timers, 600 * MS), [600 * MS]);
        assert!(timers.is_empty());
    }

    #[test]
    fn one_that_is_too_near_to_be_recalled_comes_for_nothing_and_nothing_is_missed() {
        // Without slots all are in order.
        let (mut timers, mut deadlines) = (Timers::default(), FleetingDeadlines::<One>::default());
        deadlines.set(Only, Some(Instant(20)));
        deadlines.arm(KEY, &mut timers);
        deadlines.set(Only, Some(Instant(30)));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.pop_due(Instant(20)), Some(KEY));
        deadlines.woken(Instant(20));
        assert_eq!(deadlines.pop_due(Instant(20)), None);
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.pop_due(Instant(30)), Some(KEY));
        assert_eq!(deadlines.pop_due(Instant(30)), Some(Only));
    }

    #[test]
    fn the_earliest_comes_first_and_of_equal_ones_the_first() {
        let mut deadlines = Deadlines::<Two>::default();
        assert_eq!(deadlines.next_name(), None);
        deadlines.set(First, Instant(9));
        deadlines.set(Second, Instant(8));
        assert_eq!((deadlines.next_name(), deadlines.pop_due(Instant(7))), (Some(Second), None));
        deadlines.set(Second, Instant(9));
        assert_eq!([Instant(9); 3].map(|now| deadlines.pop_due(now)), [Some(First), Some(Second), None]);
    }

    #[test]
    fn they_travel_as_a_sequence_of_instants() {
        let mut deadlines = Deadlines::<Two>::default();
        deadlines.set(Second, Instant(5));
        let octets = postcard::to_allocvec(&deadlines).unwrap();
        let same: (Vec<Instant>,) = (vec![NEVER, Instant(5)],);
        assert_eq!(octets, postcard::to_allocvec(&same).unwrap());
        assert_eq!(postcard::from_bytes::<Deadlines<Two>>(&octets).unwrap(), deadlines);
        assert!(postcard::from_bytes::<Deadlines<One>>(&octets).is_err(), "another number of names");
    }

    #[test]
    fn an_owner_knows_its_wake_ups() {
        assert_eq!(Two::of(Second.key(7, 3)), Some(Second));
        assert_eq!(Second.key(7, 3), TimerKey { owner: 1, slot: 7, generation: 3 });
        assert_eq!(Two::of(TimerKey { owner: 2, ..KEY }), None);
    }
}
