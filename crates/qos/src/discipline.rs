//! What every queueing discipline can do, so that a node, the simulator and a driver use any of them.
//!
//! * [`Discipline`]: a packet is offered, and one is taken; the discipline says when the next one may be taken.
//! * [`Blocking`]: a flow whose way on is closed keeps its packets and is not served.
//!
//! Each call names the discipline's type, so that the compiler inlines it: nothing here is called through a table.
//!
//! ```
//! use gannet_machine::time::Instant;
//! use gannet_qos::discipline::Discipline;
//!
//! /// Takes all that may go at `now`; the answer is when to come again, `None` where nothing waits.
//! fn serve<T>(queues: &mut impl Discipline<T>, now: Instant, mut send: impl FnMut(T)) -> Option<Instant> {
//!     while let Some(taken) = queues.take(now) {
//!         send(taken.packet.item);
//!     }
//!     queues.next_conforming(now)
//! }
//! ```

use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;

/// A packet on its way into a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<T> {
    /// Whose it is, by the name that the discipline's owner gave it.
    pub flow: u32,
    /// Its length.
    pub octets: u32,
    /// Itself: a frame, or a handle of one.
    pub item: T,
}

/// A packet that is lost: the one that was offered, or one that gave way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Itself, and whose it is.
    pub packet: Packet<T>,
    /// Why.
    pub reason: Drop,
    /// By this its flow has come down to its low watermark.
    pub crossed_low: bool,
}

/// What became of the packet that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// It waits. Otherwise it was handed back as a [`Dropped`].
    pub accepted: bool,
    /// Its flow has come above its high watermark: whoever sends should stop. A discipline without watermarks never says so.
    pub crossed_high: bool,
}

/// A packet that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<T> {
    /// Itself, and whose it is.
    pub packet: Packet<T>,
    /// When it was offered.
    pub since: Instant,
    /// By this its flow has come down to its low watermark.
    pub crossed_low: bool,
}

/// Packets and octets that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Packets.
    pub pdus: u32,
    /// Octets.
    pub octets: u64,
}

/// A queueing discipline over packets `T`.
///
/// Whatever is offered is taken, handed back as [`Dropped`], or waits. The packets of one flow are taken in the order in
/// which they were accepted. The discipline reads no clock: `now` never goes back between two calls.
pub trait Discipline<T> {
    /// Takes a packet in, or refuses it. The refused packet, and each packet that gave way to an accepted one, goes to `dropped`.
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered;

    /// Takes out the packet that is served next; `None` where none may be taken at `now`.
    fn take(&mut self, now: Instant) -> Option<Taken<T>>;

    /// The first instant, `now` or later, at which [`Discipline::take`] gives a packet if nothing changes until then; `None` where
    /// nothing waits that may ever go.
    fn next_conforming(&self, now: Instant) -> Option<Instant>;

    /// All that waits, blocked flows included.
    fn waiting(&self) -> Waiting;
}

/// A discipline whose flows can be kept from being served. Calls that change nothing are harmless.
pub trait Blocking {
    /// Serves nothing of this flow until it is unblocked. What waits stays, and more is accepted within the flow's limits.
    fn block(&mut self, flow: u32);

    /// Serves it again.
    fn unblock(&mut self, flow: u32);
}
