//! What stands between two parties in virtual time: one lossy link for all that are simulated and all that are tested in pairs.
//!
//! | item | what |
//! |---|---|
//! | [`link`] | what a link does to a datagram: rate, delay, MTU, loss, duplication, reordering, damage |
//! | [`queue`] | what will happen, by time and then by the order of asking |
//! | [`Path`] | one direction: a link and what is under way on it |
//! | [`Pair`] | two parties with a path each way, who send each other octets |

pub mod link;
pub mod queue;

use crate::rng::Rng;
use crate::time::{Duration, Instant};
use link::{Fate, Link, LinkProfile};
use queue::EventQueue;

/// What travels.
pub trait Cargo: Clone {
    /// The octets that the link counts and damages.
    fn octets(&mut self) -> &mut [u8];
    /// Nothing overtakes it, and it overtakes nothing.
    fn keeps_order(&self) -> bool {
        false
    }
}

impl Cargo for Vec<u8> {
    fn octets(&mut self) -> &mut [u8] {
        self
    }
}

/// One direction of a link with what is under way.
#[derive(Debug)]
pub struct Path<T> {
    /// What it does to what it carries.
    pub link: Link,
    /// Nothing gets onto it.
    pub is_cut: bool,
    /// What it has carried, each once.
    pub carried: u64,
    queue: EventQueue<T>,
    last: Instant,
    barrier: Instant,
}

impl<T: Cargo> Path<T> {
    /// An empty path.
    #[must_use]
    pub fn new(profile: LinkProfile) -> Self {
        Self {
            link: Link::new(profile),
            is_cut: false,
            carried: 0,
            queue: EventQueue::default(),
            last: Instant::ZERO,
            barrier: Instant::ZERO,
        }
    }

    /// Sends something.
    pub fn carry(&mut self, now: Instant, rng: &mut Rng, mut cargo: T) {
        if self.is_cut {
            return;
        }
        let (first, second) = match self.link.send(now, rng, cargo.octets()) {
            Fate::Lost => return,
            Fate::Once(at) => (at, None),
            Fate::Twice(at, again) => (at, Some(again)),
        };
        self.carried += 1;
        let keeps_order = cargo.keeps_order();
        let place =
            |at: Instant, after: Instant| if keeps_order { after + Duration(1) } else { at.max(after) };
        let first = place(
            first,
            if keeps_order { self.last.max(now + self.link.profile.delay) } else { self.barrier },
        );
        let second = second.map(|at| place(at, first));
        self.last = second.unwrap_or(first).max(self.last);
        if keeps_order {
            self.barrier = self.last + Duration(1);
        }
        if let Some(at) = second {
            self.queue.push(at, cargo.clone());
        }
        self.queue.push(first, cargo);
    }

    /// When the next thing arrives.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.queue.next()
    }

    /// What has arrived by `now`, first to last.
    pub fn arrived(&mut self, now: Instant) -> Option<T> {
        self.queue.pop_due(now)
    }

    /// How much is under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.queue.len()
    }

    /// What is under way is lost.
    pub fn clear(&mut self) {
        self.queue = EventQueue::default();
    }
}

/// One of two parties.
pub trait Party {
    /// What it sends and takes.
    type Cargo: Cargo;
    /// What it has sent since this was asked.
    fn take_sent(&mut self) -> Vec<Self::Cargo>;
    /// Something arrives.
    fn receive(&mut self, cargo: Self::Cargo);
    /// When it wants to be woken.
    fn next_wake(&self) -> Option<Instant>;
    /// It is so late now: wake-ups that are due are given.
    fn wake(&mut self);
    /// It is so late now.
    fn set_now(&mut self, now: Instant);
    /// Everything that was to arrive by now has.
    fn settle(&mut self) {}
}

/// Two parties and a path each way.
#[derive(Debug)]
pub struct Pair<P: Party> {
    /// One end.
    pub ms: P,
    /// The other one.
    pub sgsn: P,
    /// From the first to the second.
    pub up: Path<P::Cargo>,
    /// Back.
    pub down: Path<P::Cargo>,
    /// The dice of both paths.
    pub rng: Rng,
    /// The time.
    pub now: Instant,
}

impl<P: Party> Pair<P> {
    /// At time zero, with paths alike.
    #[must_use]
    pub fn new(seed: u64, profile: LinkProfile, [ms, sgsn]: [P; 2]) -> Self {
        let (up, down) = (Path::new(profile), Path::new(profile));
        Self { ms, sgsn, up, down, rng: Rng::seeded(seed), now: Instant::ZERO }
    }

    /// Both paths change what they are like.
    pub const fn set_profile(&mut self, profile: LinkProfile) {
        self.up.link.profile = profile;
        self.down.link.profile = profile;
    }

    /// Both paths are cut, or are there again.
    pub const fn set_cut(&mut self, is_cut: bool) {
        (self.up.is_cut, self.down.is_cut) = (is_cut, is_cut);
    }

    /// What is under way, and what was sent and is not, is lost.
    pub fn forget_paths(&mut self) {
        self.up.clear();
        self.down.clear();
        self.ms.take_sent();
        self.sgsn.take_sent();
    }

    fn collect(&mut self) {
        for cargo in self.ms.take_sent() {
            self.up.carry(self.now, &mut self.rng, cargo);
        }
        for cargo in self.sgsn.take_sent() {
            self.down.carry(self.now, &mut self.rng, cargo);
        }
    }

    fn next(&self) -> Option<Instant> {
        let ends = [self.ms.next_wake(), self.sgsn.next_wake()];
        ends.into_iter().chain([self.up.next(), self.down.next()]).flatten().min()
    }

    fn set_now(&mut self, now: Instant) {
        self.now = now;
        self.ms.set_now(now);
        self.sgsn.set_now(now);
    }

    /// Goes to the next moment at which something happens; false where nothing will.
    pub fn step(&mut self) -> bool {
        self.collect();
        let Some(next) = self.next() else { return false };
        self.set_now(next.max(self.now));
        for (way, end) in [(&mut self.up, &mut self.sgsn), (&mut self.down, &mut self.ms)] {
            while let Some(cargo) = way.arrived(self.now) {
                end.receive(cargo);
            }
            end.wake();
        }
        self.ms.settle();
        self.sgsn.settle();
        true
    }

    /// Goes on for so long, whether anything happens or not; `each` looks at every step.
    pub fn pass(&mut self, time: Duration, mut each: impl FnMut(&Self)) {
        let until = self.now + time;
        self.collect();
        while self.next().is_some_and(|next| next <= until) {
            self.step();
            each(self);
            self.collect();
        }
        self.set_now(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Debug)]
    struct Numbered(u8, Vec<u8>);

    impl Cargo for Numbered {
        fn octets(&mut self) -> &mut [u8] {
            &mut self.1
        }
        fn keeps_order(&self) -> bool {
            self.0.is_multiple_of(10)
        }
    }

    /// Every tenth keeps its order with all the others, however much the path reorders and doubles.
    #[test]
    fn nothing_overtakes_what_keeps_its_order() {
        let delay = Duration::from_millis(50);
        let profile = LinkProfile {
            delay,
            reorder_delay: delay,
            reordering: 0.5,
            duplication: 0.3,
            loss: 0.1,
            ..LinkProfile::default()
        };
        let (mut path, mut rng) = (Path::new(profile), Rng::seeded(3));
        for number in 0..200 {
            path.carry(Instant(u64::from(number) * 1_000_000), &mut rng, Numbered(number, vec![0]));
        }
        let came: Vec<u8> = core::iter::from_fn(|| path.arrived(Instant(u64::MAX)))
            .map(|Numbered(number, _)| number)
            .collect();
        assert!(!came.is_sorted() && came.len() > 190, "{came:?}");
        for (at, ordered) in came.iter().enumerate().filter(|(_, number)| number.is_multiple_of(10)) {
            assert!(came[..at].iter().all(|earlier| earlier <= ordered), "{came:?}");
            assert!(came[at..].iter().all(|later| later >= ordered), "{came:?}");
        }
    }

    #[test]
    fn a_cut_path_carries_nothing_and_a_long_datagram_does_not_fit() {
        let profile = LinkProfile { mtu: Some(3), ..LinkProfile::default() };
        let (mut path, mut rng) = (Path::new(profile), Rng::seeded(1));
        path.is_cut = true;
        path.carry(Instant::ZERO, &mut rng, vec![1]);
        path.is_cut = false;
        path.carry(Instant::ZERO, &mut rng, vec![2; 4]);
        path.carry(Instant::ZERO, &mut rng, vec![3; 3]);
        assert_eq!((path.carried, path.link.lost), (1, 1));
        assert_eq!(path.arrived(Instant(u64::MAX)), Some(vec![3; 3]));
    }
}
