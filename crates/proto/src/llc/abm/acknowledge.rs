//! Taking acknowledgements: what has arrived, and what is lost (04.64 clauses 8.6.3 and 8.6.4 [44.064]).

use super::super::{Confirmed, nine_bits};
use super::doubled::WARY;
use super::transmit::{INTACT, REPEATED_AT_ONCE};
use super::units::Unit;
use super::{Abm, Link, LlcOutput, NEVER, Overtaken, Retransmission};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Batch, Context};
use gannet_wire::llc::{MODULUS, Supervisory};

/// How far behind V(A) an acknowledgement may be that was overtaken: all that cannot be beyond V(S).
const OVERTAKEN_MAX: u16 = 255;

/// On a path that does not keep the order a frame is waited for so many times as long as an acknowledgement took before: the former way
/// there and the new way back.
const PATIENCE: u64 = 2;

/// What an acknowledgement showed for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    now: Instant,
    /// An acknowledgement that comes sooner after a transmission is that of an earlier one; nothing where none was measured.
    soonest: Option<Duration>,
    /// The shortest round trip so far.
    shortest: Option<Duration>,
    /// Frames that have arrived.
    count: u16,
    /// One of them was overtaken, and not lost.
    is_late: bool,
    /// One of them was sent again.
    is_repaired: bool,
    /// The shortest time since one of them was sent, of those that were sent once.
    least: Option<Duration>,
    /// The place among all transmissions of the latest that has arrived.
    newest: Option<u32>,
    /// The same of those that were sent again because T201 had run out.
    repeated: Option<u32>,
    /// Place and moment of the latest that was sent once and asked for an acknowledgement.
    timed: Option<(u32, Instant)>,
}

impl Shown {
    const fn nothing(now: Instant, shortest: Option<Duration>, soonest: Option<Duration>) -> Self {
        Self {
            now,
            soonest,
            shortest,
            count: 0,
            is_late: false,
            is_repaired: false,
            least: None,
            newest: None,
            repeated: None,
            timed: None,
        }
    }

    /// This one has arrived. Of one that was sent more than once it was the last transmission where the one before was
    /// shown to be lost and a round trip has gone by since; otherwise nobody knows which, and it shows nothing for sure.
    fn saw(&mut self, unit: &Unit) {
        let took = self.now.since(unit.sent_at);
        self.count += 1;
        self.is_repaired |= unit.is_sent_again();
        if unit.is_sent_once() {
            self.least = Some(self.least.map_or(took, |least| least.min(took)));
        }
        // Sent again it would take a round trip; a quarter of it is left for what is not even.
        let is_earlier = |Duration(shortest)| took.0 < shortest / 4 * 3;
        let is_sent_since = unit.is_sent_again() && !unit.is_lost;
        self.is_late |=
            !unit.is_guess && (unit.is_lost || is_sent_since && self.shortest.is_some_and(is_earlier));
        let is_known = !unit.is_guess && !unit.is_lost && self.soonest.is_some_and(|soonest| took >= soonest);
        let is_last = unit.is_sent_once() || is_known;
        if is_last && self.newest.is_none_or(|newest| is_after(unit.order, newest)) {
            self.newest = Some(unit.order);
        }
        let may_be_last = self.shortest.is_none_or(|shortest| took >= shortest);
        let is_repeated = unit.is_sent_again() && unit.is_guess && !unit.is_lost;
        if is_repeated && may_be_last && self.repeated.is_none_or(|repeated| is_after(unit.order, repeated)) {
            self.repeated = Some(unit.order);
        }
        let is_later = self.timed.is_none_or(|(timed, _)| is_after(unit.order, timed));
        if unit.has_asked_once() && is_later {
            self.timed = Some((unit.order, unit.sent_at));
        }
    }
}

impl Shown {
    /// What the path takes there and back for the latest frame that has arrived, and for this acknowledgement. Nothing is known of it
    /// where a frame that was sent again is among those shown: then that may be what it answers, and the others wait since an
    /// acknowledgement before, which was lost.
    const fn path_took(&self) -> Option<Duration> {
        if self.is_repaired { None } else { self.least }
    }
}

/// True where `order` comes after `other`; both count without end, modulo 2^32.
pub(super) const fn is_after(order: u32, other: u32) -> bool {
    order != other && order.wrapping_sub(other) < 1 << 31
}

impl Abm {
    /// An acknowledgement (clause 8.6.3.2). `false` where N(R) is beyond V(S).
    pub(super) fn acknowledge(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        nr: u16,
        supervisory: &Supervisory,
        out: &mut Batch<LlcOutput>,
    ) -> bool {
        let ahead = nine_bits(u32::from(nr).wrapping_sub(self.acknowledged));
        if ahead > self.sent {
            // One that was overtaken says nothing new.
            return ahead >= MODULUS - OVERTAKEN_MAX;
        }
        self.depth.used(self.units.len().saturating_sub(self.arrived.into()));
        let beyond = self.beyond();
        let shortest = self.round_trip.shortest();
        let soonest = self.overtaken.map(|overtaken| overtaken.patience).or(shortest);
        let mut shown = Shown::nothing(cx.now, shortest, soonest);
        let is_taken_off = self.take_off(link, ahead, &mut shown, out);
        let is_answered = self.note_arrived(supervisory, &mut shown) || is_taken_off;
        if let Some(least) = shown.least {
            self.round_trip.took(least);
        }
        if let Some((order, sent_at)) = shown.timed {
            self.round_trip.measured(cx.now.since(sent_at));
            if let Some(took) = shown.path_took() {
                let (places, k) = ((order, self.order), self.windows.k_sent);
                self.flight.measured(places, took, k, &mut self.round_trip);
                self.depth.follow(cx.now, k, (self.round_trip.shortest(), took));
            }
        }
        if is_answered && self.is_requested {
            self.is_requested = false;
            self.expires = NEVER;
        }
        self.repeatable = REPEATED_AT_ONCE.saturating_add(shown.count);
        self.follow_order(cx.now, link, &shown);
        match (shown.newest, shown.repeated) {
            (Some(newest), _) => self.find_lost(cx.now, newest),
            // What can still be sent behind them shows what is lost by its order.
            (None, Some(repeated)) if self.units.len() == usize::from(self.sent) => {
                self.repeat_more(repeated, ahead);
            }
            (None, _) => {}
        }
        self.peer_is_busy = matches!(supervisory, Supervisory::Rnr);
        if self.peer_is_busy {
            // Clause 8.6.4: it is there, and that is enough.
            (self.standing_since, self.standing_order) = (cx.now, self.order);
            self.tries = 0;
        }
        if ahead == 0 && self.beyond() > beyond {
            out.push(LlcOutput::Room { sapi: link.sapi });
        }
        true
    }

    /// Confirms `ahead` units from V(A) on. True where the one that was asked about is among them.
    fn take_off(&mut self, link: &Link, ahead: u16, shown: &mut Shown, out: &mut Batch<LlcOutput>) -> bool {
        if ahead == 0 {
            return false;
        }
        let mut together: Option<Confirmed> = None;
        let octets = self.units.take_off(ahead, |unit| {
            // Of what had arrived beyond N(R) it was seen then.
            if !unit.has_arrived {
                shown.saw(unit);
            }
            self.lost -= u16::from(unit.is_lost).min(self.lost);
            self.arrived -= u16::from(unit.has_arrived).min(self.arrived);
            if let Some(confirmed) = &mut together {
                if confirmed.reference.wrapping_add(confirmed.count.into()) == unit.reference() {
                    confirmed.count += 1;
                    confirmed.octets += u32::from(unit.octets());
                    return;
                }
                out.push(LlcOutput::DataConfirm { sapi: link.sapi, confirmed: *confirmed });
            }
            let (reference, octets) = (unit.reference(), unit.octets().into());
            together = Some(Confirmed { reference, count: 1, octets });
        });
        self.outstanding = self.outstanding.saturating_sub(octets);
        if let Some(confirmed) = together {
            out.push(LlcOutput::DataConfirm { sapi: link.sapi, confirmed });
        }
        let before = self.acknowledged;
        self.acknowledged = before.wrapping_add(ahead.into());
        self.sent -= ahead.min(self.sent);
        let frames = u8::try_from(ahead).unwrap_or(u8::MAX);
        self.intact = self.intact.saturating_add(frames).min(INTACT);
        self.wary = self.wary.saturating_sub(frames);
        (self.standing_since, self.standing_order) = (shown.now, self.order);
        self.tries = 0;
        self.information = Box::default();
        self.request.wrapping_sub(before) < ahead.into()
    }

    /// Notes what has arrived beyond N(R). True where the frame that was asked about is among it.
    fn note_arrived(&mut self, supervisory: &Supervisory, shown: &mut Shown) -> bool {
        let octets: &[u8] = match supervisory {
            Supervisory::Rr | Supervisory::Rnr => return false,
            Supervisory::Ack => &[0x80],
            Supervisory::Sack(bitmap) => bitmap,
        };
        let bits = octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1 == 1));
        let asked = self.request.wrapping_sub(self.acknowledged);
        let is_selective = self.options.retransmission == Retransmission::Selective;
        let mut is_answered = false;
        let sent = (0_u32..).zip(self.units.iter_mut().take(self.sent.into()));
        for ((n, unit), _) in sent.skip(1).zip(bits).filter(|(_, has_arrived)| *has_arrived) {
            is_answered |= n == asked;
            if !core::mem::replace(&mut unit.has_arrived, true) {
                self.arrived += 1;
                shown.saw(unit);
            }
            if is_selective {
                self.lost -= u16::from(core::mem::take(&mut unit.is_lost)).min(self.lost);
            }
        }
        is_answered
    }

    /// Notes which of all transmissions is the latest that has arrived. Where one that it has overtaken arrives as well, the path does
    /// not keep the order, as where the bearer has changed: what was sent before may still be on its way, and is not lost yet.
    fn follow_order(&mut self, now: Instant, link: &Link, shown: &Shown) {
        if let Some(newest) = shown.newest
            && self.newest.is_none_or(|before| is_after(newest, before))
        {
            self.newest = Some(newest);
        }
        if self.options.retransmission != Retransmission::Selective {
            return;
        }
        if let Some(until) = self.newest.filter(|_| shown.is_late) {
            // What the new path makes of the estimate is no matter of what went over the former one.
            let before = self.overtaken.map_or(Duration::ZERO, |overtaken| overtaken.patience);
            let patience = before.max(self.round_trip.usual(link.t200) * PATIENCE);
            self.overtaken = Some(Overtaken { until, again: self.order, patience });
        }
        let Some(overtaken) = self.overtaken else { return };
        let (mut is_any, mut found) = (false, 0);
        for unit in self.units.iter_mut().take(self.sent.into()) {
            let last = if unit.is_sent_again() { overtaken.again } else { overtaken.until };
            is_any |= !unit.has_arrived && !is_after(unit.order, last);
            if unit.is_lost && !unit.is_guess && overtaken.may_come(now, unit.order, unit.sent_at) {
                unit.is_lost = false;
                found += 1;
            }
        }
        self.lost -= found.min(self.lost);
        if !is_any {
            self.overtaken = None;
        }
    }

    /// What was sent before `newest`, which has arrived, is lost; on a path that does not keep the order once it has had the time that
    /// an acknowledgement takes.
    fn find_lost(&mut self, now: Instant, newest: u32) {
        // All behind one that was sent once were sent after it.
        let is_first = |oldest: &Unit| oldest.is_sent_once() && !is_after(newest, oldest.order);
        if self.units.get(0).is_some_and(is_first) {
            return;
        }
        let overtaken = self.overtaken;
        let may_come = |unit: &Unit| {
            overtaken.is_some_and(|overtaken| overtaken.may_come(now, unit.order, unit.sent_at))
        };
        let is_overtaken = |unit: &Unit| {
            !unit.has_arrived && !unit.is_lost && is_after(newest, unit.order) && !may_come(unit)
        };
        match self.options.retransmission {
            Retransmission::Selective => {
                for unit in self.units.iter_mut().take(self.sent.into()) {
                    if is_overtaken(unit) {
                        (unit.is_lost, unit.is_guess) = (true, false);
                        self.lost += 1;
                        (self.intact, self.wary) = (0, WARY);
                        self.flight.lost();
                    }
                }
            }
            Retransmission::GoBackN => {
                if self.sent > 0 && self.units.get(0).is_some_and(is_overtaken) {
                    self.lose_all();
                }
            }
        }
    }

    /// `repeated` has arrived, which was sent again because T201 had run out: what was sent before it is lost as well, or late.
    /// Of that twice as many as were confirmed are sent again, so that a lost end needs few round trips and not a T201 for each
    /// frame, and little is sent for nothing where it is late.
    fn repeat_more(&mut self, repeated: u32, confirmed: u16) {
        let may_be_lost =
            |unit: &&mut Unit| !unit.has_arrived && !unit.is_lost && is_after(repeated, unit.order);
        let most = usize::from(confirmed.max(1)) * 2;
        for unit in self.units.iter_mut().take(self.sent.into()).filter(may_be_lost).take(most) {
            (unit.is_lost, unit.is_guess) = (true, true);
            self.lost += 1;
            self.intact = 0;
        }
    }

    /// All that is sent is to be sent again.
    pub(super) fn lose_all(&mut self) {
        for unit in self.units.iter_mut().take(self.sent.into()) {
            (unit.is_lost, unit.is_guess) = (true, true);
        }
        self.lost = self.sent;
    }
}
