//! The one contract of every node: inputs in batches, outputs in batches, time and dice as arguments.

use crate::drops::Drop;
use crate::frame::{Frame, FramePool};
use crate::prefetch::Prefetch;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::timers::{TimerKey, Timers};
use crate::trace::{Category, Level, Owner, TraceSink};
use core::convert::Infallible;
use core::fmt;
use core::net::SocketAddr;
use std::collections::VecDeque;

/// A node's own number for one of its endpoints (a UDP socket, a TUN device, the emulated radio).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// An address of a link layer of the Ethernet kind (IEEE 802 clause 8.2): six octets, the first of them is sent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EthernetAddress(pub [u8; 6]);

impl fmt::Display for EthernetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The far end of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// A UDP endpoint.
    Udp(SocketAddr),
    /// A station on a link layer. A driver passes it on between machines whose ports are joined; where it has no port that
    /// sends to such an address it drops the datagram as `Drop::RtNoEndpoint`.
    Ethernet(EthernetAddress),
    /// One of many attachments of this port, by index: a mobile on the emulated radio, a TUN device.
    Slot(u32),
    /// The port has one far end only.
    Link,
}

/// Whether a port that is a stream (TCP) has its connection. What the stream brings comes as datagrams of any length from
/// [`Peer::Link`], and what is transmitted to there is appended to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamState {
    /// A new connection: nothing of an earlier one is on its way any more.
    Connected,
    /// The connection is lost, or was given up. The driver tries to connect again.
    Lost,
}

/// What a driver gives to a node.
#[derive(Debug)]
pub enum Input<C> {
    /// A datagram arrived.
    Datagram {
        /// Where.
        port: Port,
        /// From whom.
        peer: Peer,
        /// Its octets.
        frame: Frame,
    },
    /// A packet whose owner the driver knew at its arrival, by a rule that the node gave it ([`Output::Classify`]).
    Classified {
        /// Where.
        port: Port,
        /// What the rule called its owner.
        name: u32,
        /// What the rule's owner is interested in: the payload, without the headers by which the driver knew it.
        frame: Frame,
    },
    /// A stream was connected or lost.
    Stream {
        /// Which.
        port: Port,
        /// Which of the two.
        state: StreamState,
    },
    /// A wake-up that the node asked for.
    Timeout(TimerKey),
    /// An order from a person or a test.
    Command(C),
}

/// What a node gives to its driver.
#[derive(Debug)]
pub enum Output<E, R = Infallible> {
    /// Send a datagram.
    Transmit {
        /// Through which endpoint.
        port: Port,
        /// To whom.
        peer: Peer,
        /// Its octets.
        frame: Frame,
    },
    /// A rule for the classifier of arriving packets. A driver without one ignores it.
    Classify(R),
    /// Give the connection of a stream up; as with every loss [`StreamState::Lost`] follows, and a new one is tried. A
    /// driver without streams ignores it.
    Disconnect(Port),
    /// Something that the outside wants to know.
    Event(E),
}

/// A queue that keeps its memory: the batch is the contract, and one datagram is a batch of one.
#[derive(Debug)]
pub struct Batch<T>(VecDeque<T>);

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Batch<T> {
    /// Room for `capacity` elements, allocated now.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(VecDeque::with_capacity(capacity))
    }
    /// Puts one at the end.
    pub fn push(&mut self, item: T) {
        self.0.push_back(item);
    }
    /// Takes the first.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop_front()
    }
    /// Puts all of another batch at the end, in its order: at no cost where nothing is here yet.
    pub fn append(&mut self, other: &mut Self) {
        if self.0.is_empty() {
            core::mem::swap(&mut self.0, &mut other.0);
        } else {
            self.0.append(&mut other.0);
        }
    }
    /// The one that was put at the end last.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.0.back_mut()
    }
    /// Takes it out again.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_back()
    }
    /// Takes out all that are not to be kept.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }
    /// How many are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The one with so many before it.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index)
    }
    /// Looks at all, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

/// Folds the whole sixteens of a run, four at least, to sixteen octets by multiplication without carries: for a check
/// sequence whose register, lowest bit first, has at most 32 bits. The keys are the factors over 64 octets and over sixteen,
/// each for the first and for the last eight of sixteen octets. Gives the sixteen octets, and how many it took.
pub type Fold = fn(register: u32, octets: &[u8], keys: &[[u64; 2]; 2]) -> ([u8; 16], usize);

/// Everything that a machine may use from outside itself.
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    /// The dice.
    pub rng: &'a mut Rng,
    /// Where log lines and drops go.
    pub trace: &'a mut dyn TraceSink,
    /// Where wake-ups are asked for.
    pub timers: &'a mut Timers,
    /// Where frames come from.
    pub frames: &'a FramePool,
    /// Has memory loaded ahead of its use.
    pub prefetch: Prefetch,
    /// Folds long runs for a check sequence, where the processor multiplies without carries.
    pub fold: Option<Fold>,
}

impl Context<'_> {
    /// Counts a drop by its name; `whose` where that is known.
    pub fn drop(&mut self, drop: Drop, whose: Option<Owner>) {
        self.trace.dropped(drop, whose);
    }

    /// Writes a log line if someone wants it. The arguments are formatted only then.
    pub fn log(&mut self, category: Category, level: Level, line: fmt::Arguments<'_>) {
        if self.trace.enabled(category, level) {
            self.trace.line(category, level, line);
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context(now {})", self.now)
    }
}

/// A node.
///
/// The driver gives inputs, then drains outputs until there are none, then sleeps until [`Timers::next`] or the next
/// datagram. `handle_input` drains `inputs`; both calls reuse the batches' memory.
pub trait Machine {
    /// Orders that the node takes.
    type Command;
    /// Events that the node tells.
    type Event;
    /// Changes of the rules by which its driver knows whose a packet is; [`Infallible`] where it gives none.
    type Rule;
    /// Takes all of `inputs`.
    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Self::Command>>);
    /// Appends what is to be sent or told now. A node with much to do does a small part of it in each call, so that the
    /// driver can look at what arrives in between; see [`Machine::has_work`].
    fn poll_output(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<Output<Self::Event, Self::Rule>>);
    /// What a wake-up is for, in words for the log. To be asked before the wake-up is given.
    fn timer_name(&self, _key: TimerKey) -> &'static str {
        "a timer without a name"
    }
    /// True where [`Machine::poll_output`] has more to do at this very moment, also if its last call appended nothing.
    fn has_work(&self) -> bool {
        false
    }
    /// The driver has so much to send that it would soon have to drop, or with `false` has room again: what can wait in the
    /// machine's own queues is to wait there.
    fn hold_back(&mut self, _on: bool) {}
    /// The driver has hardly had any time left for a while, or with `false` has time again: what could not be sent soon had better not
    /// come in.
    fn set_short_of_time(&mut self, _on: bool) {}
    /// The driver's turn, which ends now, has spent so much time on packets: to receive what came, to do what
    /// [`Machine::poll_output`] did, and to send that. A driver in virtual time, where nothing takes time, need not say it.
    fn turn_took(&mut self, _now: Instant, _took: Duration) {}
    /// True where so much waits that what arrives besides had better stay where it is, as far as it is of best effort: there a
    /// packet that is too much is lost before anything is spent on it.
    fn has_enough(&self) -> bool {
        false
    }
    /// True where what arrives these days must not wait for long: the driver then looks at what arrives more often.
    fn is_in_a_hurry(&self, _now: Instant) -> bool {
        false
    }
}

/// Owns what a [`Context`] lends: for tests, for the simulator and for the real-time driver alike.
#[derive(Debug)]
pub struct Surroundings<T> {
    /// The time.
    pub now: Instant,
    /// The dice.
    pub rng: Rng,
    /// The sink.
    pub trace: T,
    /// The wake-ups.
    pub timers: Timers,
    /// The frames.
    pub frames: FramePool,
}

impl<T: TraceSink> Surroundings<T> {
    /// Surroundings at time zero with `frames` frames.
    #[must_use]
    pub fn new(seed: u64, frames: usize, trace: T) -> Self {
        Self {
            now: Instant::ZERO,
            rng: Rng::seeded(seed),
            trace,
            timers: Timers::with_capacity(1024),
            frames: FramePool::new(frames),
        }
    }

    /// Lends them.
    pub fn context(&mut self) -> Context<'_> {
        Context {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            timers: &mut self.timers,
            frames: &self.frames,
            prefetch: Prefetch::NONE,
            fold: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ethernet_address_is_written_as_six_octets() {
        assert_eq!(EthernetAddress([2, 0, 0x5e, 0xff, 0x0a, 1]).to_string(), "02:00:5e:ff:0a:01");
    }
}
