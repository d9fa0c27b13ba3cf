//! Sending I frames, and asking for acknowledgements (04.64 clauses 8.6.1, 8.6.3 and 8.6.4 [44.064]).

use super::super::cipher::Direction;
use super::super::{LlcStatus, nine_bits};
use super::doubled::{Doubled, SHORT};
use super::units::Unit;
use super::{
    Abm, Drop, FRAME_MAX, Frame, Link, LlcOutput, NEVER, Refused, Retransmission, State, Timing, i_input,
    seal,
};
use gannet_machine::kept::Kept;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Batch, Context};
use gannet_wire::fcs24::FCS_LEN;
use gannet_wire::llc::{Control, Header, SackBitmap, Supervisory, i_header};

/// Octets of an I frame beside information and bitmap: address, control field and FCS.
const I_OVERHEAD: usize = 4 + FCS_LEN;
/// Octets that come before a bitmap in an I frame: K.
const K_LEN: usize = 1;
/// N201-I where nothing else was agreed (04.64 clause 8.9, table 9 [44.064]).
const N201_I_DEFAULT: u16 = 1503;
/// I frames after which an acknowledgement is asked for at the latest.
const REQUEST_EVERY: u8 = 16;
/// The same where what is left of the window lasts for longer than the answer takes.
const REQUEST_EVERY_WHERE_IT_LASTS: u32 = 32;
/// I frames that the window has still room for, at the latest, when it is asked for.
const REQUEST_BEFORE: u32 = 1;
/// I frames that must have arrived since one was lost before few acknowledgements are asked for.
pub(super) const INTACT: u8 = 32;
/// Lost frames that one acknowledgement lets out beside as many as it shows to have arrived: what a path loses by chance is less.
pub(super) const REPEATED_AT_ONCE: u16 = 4;
/// How long an acknowledgement waits for an I frame that takes it along: less than what T201 is longer than a round trip.
pub(super) const TAKEN_ALONG_WITHIN: Duration = Duration(WOKEN_AT * 3 / 2);
/// The part of T200 after which an acknowledgement is asked for at the latest.
const REQUEST_WITHIN: u64 = 4;
/// The part of that in which more must have come to be expected to follow.
const FOLLOWS_WITHIN: u64 = 4;
/// I frames do not come evenly: the next may take so many times as long as those before.
const UNEVEN: u64 = 2;
/// Links are woken only at multiples of this, in ns, and so many of them at once: 1 ms, a tenth of the shortest T201.
pub(super) const WOKEN_AT: u64 = 1 << 20;
/// M in octets is m times this (clause 8.9).
pub(super) const M_OCTETS: u32 = 16;

impl Abm {
    /// LL-DATA.request: takes a unit, which goes out at once or when the window lets it. `reference` comes back with
    /// LL-DATA.confirm.
    ///
    /// # Errors
    /// See [`Refused`]: no acknowledged mode, a unit longer than N201-I or than the layers below carry, too many that wait.
    pub fn data_request(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        reference: u32,
        frame: Frame,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Refused> {
        self.headed_data_request(cx, link, reference, (&[], frame), out)
    }

    /// The same of a unit that begins with `head`, which is not in its frame yet.
    ///
    /// # Errors
    /// As of [`Abm::data_request`]; the frame is without its head.
    pub fn headed_data_request(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        reference: u32,
        (head, frame): (&[u8], Frame),
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Refused> {
        let octets = head.len() + frame.len();
        let longest =
            usize::from(link.n201_i).min(usize::from(self.options.frame_max).saturating_sub(I_OVERHEAD));
        let drop = match self.state {
            State::Abm if octets > longest => Some(Drop::LlcTooLong),
            State::Abm if self.room() == 0 => Some(Drop::LlcQueueFull),
            State::Abm => None,
            State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::LocalRelease => {
                Some(Drop::LlcNotEstablished)
            }
        };
        if let Some(drop) = drop {
            return Err(Refused { drop, frame });
        }
        if self.units.is_empty() {
            // Until now it was about memory alone.
            self.expires = NEVER;
        }
        let goes_now = self.units.len() == usize::from(self.sent)
            && self.lost == 0
            && !self.peer_is_busy
            && self.window_is_open(octets)
            && !self.is_path_full();
        if goes_now {
            self.send_at_once(cx, link, reference, (head, frame), out);
        } else {
            self.units.push(Unit::new(cx.now, claim(cx, octets, reference)));
            self.units.write_last([head, &frame]);
            self.request_acknowledgement(cx, link, out);
        }
        self.keep_timer(cx.now, link);
        Ok(())
    }

    /// Sends a unit that nothing waits before. The frame gets its header where it stands at last, since a move of what has just been
    /// changed waits for it; and the copy, in memory that may be in no cache, is written behind that.
    fn send_at_once(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        reference: u32,
        (head, frame): (&[u8], Frame),
        out: &mut Batch<LlcOutput>,
    ) {
        let now = cx.now;
        let (index, octets) = (self.sent, head.len() + frame.len());
        let count = self.acknowledged.wrapping_add(index.into());
        self.send_next(now, link, octets);
        let is_asked = self.is_request_due(now, link, index);
        if self.units.is_empty() && !is_asked {
            // As many as will be kept at least before one is acknowledged.
            self.units.reserve(self.request_every() as usize);
        }
        let order = self.next_order();
        out.push(LlcOutput::Transmit { sapi: link.sapi, frame });
        let Some(LlcOutput::Transmit { frame, .. }) = out.last_mut() else { return };
        let has_head = frame.prepend(head);
        let header_len = if has_head { self.head(cx, link, count, is_asked, frame) } else { None };
        let from = header_len.unwrap_or(0);
        let (head, len) = if has_head { (&[][..], octets) } else { (head, frame.len()) };
        self.units.push_sent(claim(cx, octets, reference), (order, now, is_asked));
        self.units.write_last([head, frame.get(from..from + len).unwrap_or_default()]);
        if header_len.is_some() {
            self.cipher(link, count, from, frame);
        } else {
            // A frame without room for its header is one that was lost on its way.
            out.pop_last();
        }
        if octets <= SHORT {
            self.double(cx, link, &[index], out);
        }
    }

    /// Something waits for an acknowledgement, which is asked for now where that was put off.
    pub fn request_acknowledgement(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if self.state == State::Abm && self.is_unasked() && self.may_wait() {
            self.ask(cx, link, out);
        }
    }

    /// True where an I frame with `octets` more may be sent: k and M (clauses 8.6.1 and 8.9).
    pub(super) fn window_is_open(&self, octets: usize) -> bool {
        let most = u32::from(self.windows.m_sent) * M_OCTETS;
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let is_within_m = most == 0 || self.sent == 0 || self.outstanding.saturating_add(octets) <= most;
        self.sent < self.windows.k_sent.into() && is_within_m
    }

    /// As much is on its way as the path is found to hold.
    fn is_path_full(&self) -> bool {
        let under_way = self.sent.saturating_sub(self.lost).saturating_sub(self.arrived);
        self.measures() && under_way >= self.flight.most().into()
    }

    /// What the round trips say counts.
    pub(super) fn measures(&self) -> bool {
        self.options.timing == Timing::Adaptive && self.options.retransmission == Retransmission::Selective
    }

    /// Counts the unit at V(S), of so many octets, as sent.
    fn send_next(&mut self, now: Instant, link: &Link, octets: usize) {
        if self.sent == 0 {
            let Duration(silent) = now.since(self.standing_since);
            let Duration(within) = request_within(link);
            self.is_following = silent <= within / FOLLOWS_WITHIN;
            (self.standing_since, self.standing_order) = (now, self.order);
        }
        self.outstanding = self.outstanding.saturating_add(u32::try_from(octets).unwrap_or(0));
        self.sent += 1;
    }

    /// Sends what is lost, and then what waits, as far as the window and the peer allow.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if self.state != State::Abm || self.peer_is_busy {
            return;
        }
        let mut from = 0;
        let mut repeated = Doubled::default();
        while self.lost > 0 {
            if self.repeatable == 0 && self.options.retransmission == Retransmission::Selective {
                return;
            }
            let found = self.units.iter().skip(from).position(|unit| unit.is_lost);
            let Some(index) = found.map(|behind| from + behind) else { break };
            if !self.emit_copy(cx, link, index, out) {
                return;
            }
            repeated.push(index);
            self.repeatable = self.repeatable.saturating_sub(1);
            from = index + 1;
        }
        while let Some(unit) = self.units.get(self.sent.into())
            && self.window_is_open(unit.octets().into())
            && !self.is_path_full()
        {
            let (index, octets) = (usize::from(self.sent), unit.octets().into());
            self.send_next(cx.now, link, octets);
            if !self.emit_copy(cx, link, index, out) {
                return;
            }
            if octets <= SHORT {
                repeated.push(index);
            }
        }
        self.double(cx, link, repeated.indices(), out);
    }

    /// Sends the unit at `index` from its copy. Without a free frame it counts as lost on the way, which T201 finds out; false
    /// then.
    fn emit_copy(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        index: usize,
        out: &mut Batch<LlcOutput>,
    ) -> bool {
        let frame = self.units.get(index).and_then(|unit| cx.frames.copy_of(&unit.kept()));
        let Some(frame) = frame else {
            cx.drop(Drop::NoFrame, None);
            return false;
        };
        self.emit(cx, link, u16::try_from(index).unwrap_or(0), frame, out);
        true
    }

    /// Sends the I frame with V(A) + `index`, whose information is in `frame`.
    fn emit(
        &mut self,
        cx: &Context<'_>,
        link: &Link,
        index: u16,
        mut frame: Frame,
        out: &mut Batch<LlcOutput>,
    ) {
        let now = cx.now;
        let count = self.acknowledged.wrapping_add(index.into());
        let (is_asked, order) = (self.is_request_due(now, link, index), self.next_order());
        if let Some(unit) = self.units.get_mut(usize::from(index)) {
            self.lost -= u16::from(core::mem::take(&mut unit.is_lost)).min(self.lost);
            unit.sent((order, now, is_asked));
        }
        // A frame without room for its header is one that was lost on its way.
        let Some(header_len) = self.head(cx, link, count, is_asked, &mut frame) else { return };
        self.cipher(link, count, header_len, &mut frame);
        out.push(LlcOutput::Transmit { sapi: link.sapi, frame });
    }

    /// The place of the next transmission among all.
    pub(super) const fn next_order(&mut self) -> u32 {
        self.order = self.order.wrapping_add(1);
        self.order
    }

    /// Puts header and FCS round the information of the I frame with OC + N(S) `count`. Gives the octets of the header; `None`
    /// where the frame has no room, and is as it was.
    pub(super) fn head(
        &mut self,
        cx: &Context<'_>,
        link: &Link,
        count: u32,
        ack_request: bool,
        frame: &mut Frame,
    ) -> Option<usize> {
        if ack_request {
            self.requested(cx.now, link, count);
        }
        let (cr, ns, nr) = (link.role.cr(true), nine_bits(count), nine_bits(self.received));
        if self.held.is_empty() && !self.is_busy {
            self.has_told();
            let header = i_header(cr, link.sapi, ack_request, (ns, nr), &Supervisory::Rr);
            return seal(cx.fold, &header, frame).then_some(header.len());
        }
        let room = self.frame_max(link).saturating_sub(I_OVERHEAD + frame.len());
        let (supervisory, is_whole) = self.supervisory(room.saturating_sub(K_LEN));
        if is_whole {
            self.has_told();
        }
        let control = Control::I { ack_request, ns, nr, supervisory };
        let header = Header { cr, sapi: link.sapi, control }.emit();
        seal(cx.fold, &header, frame).then_some(header.len())
    }

    /// Octets of the longest I frame. An N201-I below its default is that of the layers below (clause 8.9.8): a bitmap would make a
    /// full frame too long for them, and goes in an S frame.
    fn frame_max(&self, link: &Link) -> usize {
        let fitted = usize::from(link.n201_i) + I_OVERHEAD;
        let most = if link.n201_i < N201_I_DEFAULT { fitted } else { usize::from(FRAME_MAX) };
        most.min(self.options.frame_max.into())
    }

    /// Ciphers the I frame with OC + N(S) `count`, which is complete otherwise.
    pub(super) fn cipher(&self, link: &Link, count: u32, header_len: usize, frame: &mut Frame) {
        if link.ciphering.is_on() {
            let input = i_input(self.windows.iov_i, count);
            let ciphered = frame.get_mut(header_len..).unwrap_or_default();
            link.ciphering.apply(input, Direction::sent_by(link.role), ciphered);
        }
    }

    /// Shall the I frame with V(A) + `index` ask for an acknowledgement (clause 8.6.3.3)?
    fn is_request_due(&self, now: Instant, link: &Link, index: u16) -> bool {
        let is_new = index + 1 == self.sent;
        if !(self.is_requested || is_new && self.may_wait()) {
            return true;
        }
        if !is_new {
            return self.is_last_repeated();
        }
        let since = self.acknowledged.wrapping_add(index.into()).wrapping_sub(self.request);
        let following = self.units.get(self.sent.into()).map_or(0, |unit| unit.octets().into());
        let is_half = since >= self.request_every() && !self.lasts(now, link, since);
        // Where a request for about as much is out, its answer opens the window.
        let is_answered = self.is_requested && self.measures() && since < self.request_every() / 2;
        let closes = !self.window_is_open(following) && !is_answered;
        let is_last = closes || !self.is_requested && self.is_path_full();
        is_half || is_last || self.is_late(now)
    }

    /// The lost frame that goes out is the last of those that go now, and nothing follows that could show its loss.
    fn is_last_repeated(&self) -> bool {
        let is_last = self.lost <= 1 || self.repeatable <= 1;
        let follows = |unit: &Unit| self.window_is_open(unit.octets().into()) && !self.is_path_full();
        is_last && (self.lost > 1 || !self.units.get(self.sent.into()).is_some_and(follows))
    }

    /// An S frame would ask before the next one comes, even if that takes [`UNEVEN`] times as long as those since V(A) moved: then this
    /// one asks.
    fn is_late(&self, now: Instant) -> bool {
        if self.is_requested || self.expires == NEVER {
            return false;
        }
        let Duration(took) = now.since(self.standing_since);
        let frames = self.order.wrapping_sub(self.standing_order);
        now + Duration(UNEVEN * took / u64::from(frames.max(1))) >= self.expires
    }

    /// Half a window or more has been sent and nothing of it was asked about: at the rate of these frames, is what is left of the
    /// window enough for longer than the answer will take? Then a later one may ask, and fewer acknowledgements do.
    fn lasts(&self, now: Instant, link: &Link, since: u32) -> bool {
        if self.is_requested || since >= REQUEST_EVERY_WHERE_IT_LASTS {
            return false;
        }
        let sent = u32::from(self.sent).max(1);
        let by_k = u32::from(self.windows.k_sent).saturating_sub(sent);
        let by_m = match u32::from(self.windows.m_sent) * M_OCTETS {
            0 => by_k,
            most => most.saturating_sub(self.outstanding) / (self.outstanding / sent).max(1),
        };
        let by_path = u32::from(self.flight.most()).saturating_sub(sent);
        let left = by_k.min(by_m).min(by_path).saturating_sub(REQUEST_BEFORE);
        let (Duration(took), Duration(answer)) =
            (now.since(self.standing_since), self.round_trip.timeout(link.t200));
        took.saturating_mul(left.into()) > answer.saturating_mul(sent.into())
    }

    /// I frames after which an acknowledgement is asked for: half of what k takes, and m where units are as long as those that stand.
    fn request_every(&self) -> u32 {
        let by_k = u32::from((self.windows.k_sent / 2).clamp(1, REQUEST_EVERY));
        let half_of_m = u32::from(self.windows.m_sent) * M_OCTETS / 2;
        if half_of_m == 0 || self.outstanding < half_of_m {
            return by_k;
        }
        let octets = self.outstanding / u32::from(self.sent).max(1);
        by_k.min(half_of_m / octets.max(1)).max(1)
    }

    /// An acknowledgement need not be asked for before half a window is sent: more is expected, and the path loses nothing.
    fn may_wait(&self) -> bool {
        self.intact >= INTACT && self.is_following && self.lost == 0 && self.arrived == 0 && self.measures()
    }

    /// What was sent last did not ask, and nothing that was asked is not answered.
    const fn is_unasked(&self) -> bool {
        self.sent > 0 && !self.is_requested && self.covered != self.order && !self.peer_is_busy
    }

    /// An acknowledgement is asked for, of all that has been sent.
    fn requested(&mut self, now: Instant, link: &Link, count: u32) {
        self.request = count;
        self.covered = self.order;
        (self.is_requested, self.is_answer_due) = (true, true);
        self.start_t201(now, link);
    }

    /// T201, but not beyond the time at which the link is found dead. An adaptive one takes no more than its part of what is left
    /// until then, so that N200 repetitions are made whatever the round trips were, and the last has its time for an answer.
    fn start_t201(&mut self, now: Instant, link: &Link) {
        let left = self.found_dead_at(link).since(now);
        let Duration(left_ns) = left;
        let t201 = match self.options.timing {
            Timing::Fixed => link.t200.min(left),
            Timing::Chosen(t201) => t201.min(link.t200).min(left),
            Timing::Adaptive => {
                let parts = u64::from(link.n200.saturating_sub(self.tries)) + 1;
                self.round_trip.timeout(link.t200).min(Duration(left_ns / parts))
            }
        };
        self.expires = match self.options.timing {
            Timing::Fixed | Timing::Chosen(_) => now + t201,
            Timing::Adaptive => woken_after(now, t201),
        };
    }

    /// When the link is found dead unless something is acknowledged before.
    fn found_dead_at(&self, link: &Link) -> Instant {
        self.standing_since + link.patience(self.options.timing)
    }

    /// Something is not acknowledged, or waits for a busy peer.
    fn is_waiting(&self) -> bool {
        self.sent > 0 || (self.peer_is_busy && !self.units.is_empty())
    }

    /// T201 runs while the peer has to say something. The memory of units is kept for a while after the last: the next mostly comes
    /// soon, and memory that is given back and taken with each window costs more than the copy.
    pub(super) fn keep_timer(&mut self, now: Instant, link: &Link) {
        if self.state != State::Abm {
            return;
        }
        if !self.is_waiting() {
            let kept_until = woken_after(now, request_within(link));
            self.expires = if self.units.has_empty_memory() { kept_until } else { NEVER };
            self.is_requested = false;
            self.tries = 0;
        } else if self.expires == NEVER {
            if self.is_unasked() && self.may_wait() {
                self.expires = woken_after(now, request_within(link));
            } else {
                self.start_t201(now, link);
            }
        }
    }

    /// What this end has to say about what it has received, with at most `room` octets of bitmap; false where the bitmap
    /// would be longer (clause 8.6.3.1).
    pub(super) fn supervisory(&self, room: usize) -> (Supervisory, bool) {
        if self.is_busy {
            return (Supervisory::Rnr, true);
        }
        let is_next_here = self.held.front().is_some_and(Option::is_some);
        let needed = self.held.len().div_ceil(8);
        match (self.held.len(), is_next_here) {
            (0, _) => return (Supervisory::Rr, true),
            (1, true) => return (Supervisory::Ack, true),
            _ => {}
        }
        let bitmap = self.bitmap(needed.min(room));
        match bitmap.filter(|bitmap| !bitmap.is_empty()) {
            Some(bitmap) => (Supervisory::Sack(bitmap), needed <= room),
            None if is_next_here => (Supervisory::Ack, false),
            None => (Supervisory::Rr, false),
        }
    }

    /// The first `octets` of R(1), R(2), … (clause 6.3.5.4).
    fn bitmap(&self, octets: usize) -> Option<SackBitmap> {
        let mut bits = [0_u8; 32];
        for (octet, n) in bits.iter_mut().zip((0..self.held.len()).step_by(8)) {
            for (bit, held) in self.held.iter().skip(n).take(8).enumerate() {
                *octet |= u8::from(held.is_some()) << (7 - bit);
            }
        }
        SackBitmap::new(bits.get(..octets)?)
    }

    /// Sends what this end has to say in an S frame, as a command where it asks for an acknowledgement.
    pub(super) fn send_s(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        ack_request: bool,
        out: &mut Batch<LlcOutput>,
    ) {
        let (supervisory, _) = self.supervisory(usize::MAX);
        self.has_told();
        let Some(mut frame) = cx.frames.alloc() else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        let control = Control::S { ack_request, nr: nine_bits(self.received), supervisory };
        let header = Header { cr: link.role.cr(ack_request), sapi: link.sapi, control };
        if seal(cx.fold, &header.emit(), &mut frame) {
            out.push(LlcOutput::Transmit { sapi: link.sapi, frame });
        }
    }

    /// The peer is told all there is to say.
    const fn has_told(&mut self) {
        (self.owed_at, self.told, self.untold_octets) = (NEVER, self.received, 0);
    }

    /// An acknowledgement is to be sent: now, or soon where the peer `can_wait` and nothing else makes it urgent.
    pub(super) fn owe(&mut self, now: Instant, can_wait: bool) {
        let at = if can_wait && self.may_be_taken_along() { now + TAKEN_ALONG_WITHIN } else { now };
        self.owed_at = self.owed_at.min(at);
    }

    /// Nothing is missing, and the peer's window is open.
    fn may_be_taken_along(&self) -> bool {
        let untold = self.received.wrapping_sub(self.told);
        let most = u32::from((self.windows.k_received / 2).min(REQUEST_EVERY));
        let half_of_m = u32::from(self.windows.m_received) * M_OCTETS / 2;
        let is_open = untold < most && (half_of_m == 0 || self.untold_octets < half_of_m);
        is_open && self.measures() && self.held.is_empty() && !self.is_busy
    }

    /// Sends what is owed by now.
    pub(super) fn acknowledge_owed(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if cx.now >= self.owed_at {
            self.send_s(cx, link, false, out);
        }
    }

    /// Asks for an acknowledgement of the I frame that was sent last, in an S frame.
    fn ask(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        let last = self.acknowledged.wrapping_add(self.sent.saturating_sub(1).into());
        self.requested(cx.now, link, last);
        self.send_s(cx, link, true, out);
    }

    /// After something was received: sends what may go now, what is owed, and asks where nothing else would.
    pub(super) fn follow_up(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        self.pump(cx, link, out);
        self.acknowledge_owed(cx, link, out);
        // Once for what was sent since: an answer that comes twice is no reason to ask twice.
        if self.is_unasked() && !self.may_wait() {
            self.ask(cx, link, out);
        }
        self.keep_timer(cx.now, link);
    }

    /// T201 has run out (clauses 8.6.3.3 and 8.7): asks again with the oldest frame, or gives up.
    pub(super) fn expired(&mut self, cx: &mut Context<'_>, link: &Link, out: &mut Batch<LlcOutput>) {
        if !self.is_waiting() {
            self.units.tidy();
            self.keep_timer(cx.now, link);
            return;
        }
        if cx.now >= self.found_dead_at(link) {
            cx.drop(Drop::LlcLinkUnanswered, None);
            self.reestablish(cx, link, LlcStatus::Unanswered, out);
            return;
        }
        if self.is_unasked() && self.may_wait() {
            self.ask(cx, link, out);
            return;
        }
        // That the answer is late is no reason to ask about each frame, which would make it later. Where more is lost than the last frame it
        // shows by what comes behind the oldest.
        self.tries = self.tries.saturating_add(1);
        self.repeatable = REPEATED_AT_ONCE;
        self.round_trip.expired();
        self.is_requested = false;
        if self.peer_is_busy {
            self.ask(cx, link, out);
            return;
        }
        let is_sure = self.options.timing != Timing::Adaptive;
        if is_sure && self.options.retransmission == Retransmission::GoBackN {
            // T200 is longer than any round trip, as a chosen T201 has to be. A measured one may be too short, and then all would go out
            // twice.
            self.lose_all();
        }
        // Also where the peer has said that it had arrived: it stands first, so the peer has not kept it.
        if let Some(oldest) = self.units.get_mut(0).filter(|oldest| !oldest.is_lost) {
            self.arrived -= u16::from(oldest.has_arrived).min(self.arrived);
            (oldest.is_lost, oldest.is_guess, oldest.has_arrived) = (true, true, false);
            self.lost += 1;
        }
        self.pump(cx, link, out);
        if !self.is_requested {
            // No frame was free.
            self.start_t201(cx.now, link);
        }
    }
}

/// Memory for a unit.
fn claim(cx: &Context<'_>, octets: usize, reference: u32) -> Kept {
    cx.frames.keeper().claim(u16::try_from(octets).unwrap_or(u16::MAX), reference)
}

/// How long more is waited for before an acknowledgement is asked for.
fn request_within(link: &Link) -> Duration {
    let Duration(t200) = link.t200;
    Duration(t200 / REQUEST_WITHIN)
}

/// So much later, or a little sooner, where others are woken as well. What a link is woken for mostly has come by then, so that a turn
/// of the node for each would be the most of what it costs.
fn woken_after(now: Instant, after: Duration) -> Instant {
    let Instant(at) = now + after;
    if after.0 < WOKEN_AT * 8 { Instant(at) } else { Instant(at & !(WOKEN_AT - 1)) }
}
