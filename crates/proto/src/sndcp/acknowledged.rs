//! Acknowledged mode of one NSAPI (04.65 clauses 6.3, 6.7 and 6.9.1 [44.065]): N-PDU numbers, the N-PDUs that the peer has
//! not confirmed, and the segments of one that is not whole yet.
//!
//! Both N-PDU numbers count modulo 256 and begin at 0. LLC gets no more than it has not confirmed of [`WINDOW`] N-PDUs, so that
//! from its number alone an N-PDU is known as a repetition or as new.
//!
//! A link with a longer window k has so many. Then one that is not the next has to be a repetition: LLC keeps the order and
//! loses nothing, and after a new establishment begins with the oldest that it has not confirmed. A sender that has lost
//! some of these, or their count, says so by a jump of the numbers within a link: what comes behind that is new. So that there is
//! one, it sends one octet of nothing ([`NOTHING`]) under an earlier number first. A peer that goes by numbers alone takes it for a
//! repetition, or for a packet of no protocol.

use super::N_PDU_MAX;
use super::compression::COMPRESSED_MAX;
use super::store::{Run, Store, WINDOW};
use crate::llc::abm::K_LEAST;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::id::Nsapi;
use gannet_wire::sndcp::{Compression, DATA_FIRST_LEN, DATA_NEXT_LEN, Header, Pdu, data_header};
use serde::{Deserialize, Serialize};

/// Whoever keeps a mobile for the time after a restart keeps it whenever so many N-PDUs have been sent on an NSAPI. With those
/// that were not confirmed then they are to be no more than [`WINDOW`].
pub const KEPT_EVERY_N_PDUS: u8 = 32;

/// An N-PDU that is no packet of any protocol.
pub(super) const NOTHING: [u8; 1] = [0];

/// What may wait for the peer's confirmation, of a link whose window k is that of 04.64 clause 8.9, table 9 [44.064], or shorter. One
/// with a longer window may have more, as far as its path holds them: for each I frame more an SN-PDU, and an N-PDU of
/// [`N_PDU_MAX`] octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcknowledgedLimits {
    /// N-PDUs of one NSAPI.
    pub n_pdus_max: u16,
    /// Octets of these.
    pub octets_max: usize,
    /// SN-PDUs of one SAPI that LLC has; that it takes so many, and those of an N-PDU more, is a matter of its own options.
    pub segments_max: u16,
}

impl AcknowledgedLimits {
    /// The same with so many more I frames.
    pub(super) const fn beyond(self, frames: u16) -> Self {
        Self {
            n_pdus_max: self.n_pdus_max + frames,
            octets_max: self.octets_max + frames as usize * N_PDU_MAX,
            segments_max: self.segments_max + frames,
        }
    }

    /// What a link with this k may ever have.
    #[must_use]
    pub const fn of_window(self, k: u8) -> Self {
        self.beyond(k.saturating_sub(K_LEAST) as u16)
    }
}

impl Default for AcknowledgedLimits {
    fn default() -> Self {
        Self { n_pdus_max: 64, octets_max: 65_536, segments_max: 64 }
    }
}

/// Where an SN-DATA PDU belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct First {
    dcomp: u8,
    pcomp: u8,
    number: u8,
}

/// The segments of an N-PDU that is not whole yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Partial {
    first: Option<First>,
    octets: Vec<u8>,
}

/// An N-PDU whose segments are joined, as it was compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) compression: Compression,
    pub(super) number: u8,
    pub(super) octets: Vec<u8>,
}

/// What becomes of an N-PDU by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// It is the next one.
    Next,
    /// It has come before.
    Repeated,
    /// It is a later one: what was to come before is lost.
    Gap,
}

/// What SNDCP keeps of one NSAPI in acknowledged mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Acknowledged {
    pub(super) store: Store,
    partial: Partial,
    /// Receive N-PDU number: the one that is expected next.
    receive: u8,
    /// It was kept before a restart, and may be too low.
    receive_is_old: bool,
    /// The number of the last N-PDU on this link.
    last: Option<u8>,
    /// Numbers were passed over, and the peer is to be told where it would not know.
    passes_over: bool,
    /// It was told on this link.
    is_told: bool,
    /// In the recovery state: after LL-RESET.indication nothing is sent until SNSM-SEQUENCE.indication has come.
    pub(super) suspended: bool,
}

impl Acknowledged {
    /// The N-PDU that is expected next.
    pub(super) const fn receive_number(&self) -> u8 {
        self.receive
    }

    /// SN-DATA.request: gives the number that an N-PDU of so many octets gets with [`Store::push`] or [`Store::push_handed`].
    pub(super) const fn next(&self, limits: &AcknowledgedLimits, octets: usize) -> Result<u8, Drop> {
        if octets == 0 {
            return Err(Drop::SndcpEmpty);
        }
        if octets > N_PDU_MAX {
            return Err(Drop::SndcpTooLong);
        }
        if !self.has_room(limits, octets) {
            return Err(Drop::SndcpUnconfirmedFull);
        }
        Ok(self.store.next_number())
    }

    /// Is there room for one more of so many octets?
    pub(super) const fn has_room(&self, limits: &AcknowledgedLimits, octets: usize) -> bool {
        self.store.len_with_llc() < limits.n_pdus_max && self.store.octets() + octets <= limits.octets_max
    }

    /// May LLC have one more N-PDU, on a link with this k of what is sent?
    pub(super) const fn may_hand(&self, k: u8) -> bool {
        self.store.handed() < window(k)
    }

    /// Numbers were passed over: of a long window the peer has to be told before the next goes out.
    pub(super) const fn must_tell(&self, k: u8) -> bool {
        self.passes_over && !self.is_told && k > WINDOW
    }

    /// Numbers are passed over.
    pub(super) const fn pass_over(&mut self) {
        (self.passes_over, self.is_told) = (true, false);
    }

    /// It is told now, with this number.
    pub(super) const fn tell(&mut self) -> u8 {
        self.is_told = true;
        self.store.waiting_number().wrapping_sub(2)
    }

    /// The peer has an N-PDU of this link, and so what it was told before.
    pub(super) const fn confirmed(&mut self) {
        self.passes_over &= !self.is_told;
    }

    /// SNSM-SEQUENCE.indication: the peer has all N-PDUs before `number`, so that sending goes on with that one. A link that has
    /// outlived the update goes on with what it has. A number of an N-PDU that is not among those kept confirms nothing.
    pub(super) fn sequence(&mut self, number: u8) -> Result<Run, Drop> {
        self.suspended = false;
        self.store.receive(number).ok_or(Drop::SndcpBadSequence)
    }

    /// The link is established anew: the N-PDU whose rest would come begins again.
    pub(super) fn link_anew(&mut self) {
        self.partial = Partial::default();
        (self.last, self.is_told) = (None, false);
    }

    /// Goes on after a restart: gives how many N-PDUs were not confirmed, and are gone. The peer may have none of these, or all and
    /// those sent since: the farthest number that it takes for new in the first case is beyond what it has in the second. Where
    /// there is no such number, the window is a long one, and it is told.
    pub(super) fn restore(&mut self) -> usize {
        self.link_anew();
        self.pass_over();
        self.receive_is_old = true;
        let store = core::mem::take(&mut self.store);
        let ahead = store.len().saturating_add(usize::from(KEPT_EVERY_N_PDUS)).max(usize::from(WINDOW));
        let [ahead, ..] = ahead.saturating_sub(store.len()).to_le_bytes();
        self.store = Store::beginning_at(store.next_number().wrapping_add(ahead));
        store.len()
    }

    /// An SN-DATA PDU without its header; gives the N-PDU with its last segment. An error means that the link has to be
    /// established anew (clauses 6.7.4.1 and 6.7.4.2).
    pub(super) fn join(
        &mut self,
        first: Option<(Compression, u8)>,
        more: bool,
        segment: &[u8],
    ) -> Result<Option<Joined>, Drop> {
        let result = self.try_join(first, segment);
        if result.is_err() || !more {
            let partial = core::mem::take(&mut self.partial);
            let of = result?;
            let compression = Compression { dcomp: of.dcomp, pcomp: of.pcomp };
            return Ok(Some(Joined { compression, number: of.number, octets: partial.octets }));
        }
        result.map(|_| None)
    }

    fn try_join(&mut self, first: Option<(Compression, u8)>, segment: &[u8]) -> Result<First, Drop> {
        let said = first.map(|(Compression { dcomp, pcomp }, number)| First { dcomp, pcomp, number });
        let of = match (self.partial.first, said) {
            (None, None) => return Err(Drop::SndcpFirstMissing),
            (Some(begun), Some(said)) if begun != said => return Err(Drop::SndcpContradiction),
            (Some(of), Some(_) | None) | (None, Some(of)) => of,
        };
        if self.partial.octets.len() + segment.len() > COMPRESSED_MAX {
            return Err(Drop::SndcpTooLong);
        }
        self.partial.first = Some(of);
        self.partial.octets.extend_from_slice(segment);
        Ok(of)
    }

    /// Takes the number of a whole N-PDU, and says what it is. k is that of what is received.
    pub(super) fn order(&mut self, number: u8, k: u8) -> Order {
        let is_in_turn = self.last.is_none_or(|last| last.wrapping_add(1) == number);
        self.last = Some(number);
        let (ahead, behind) = (number.wrapping_sub(self.receive), self.receive.wrapping_sub(number));
        // The peer does not say that it passes over what this end has forgotten to have: doubled is better than lost.
        let goes_by_number = core::mem::take(&mut self.receive_is_old) || k <= WINDOW;
        let is_repeated = if goes_by_number { ahead > WINDOW } else { is_in_turn && behind <= k };
        if is_repeated && ahead != 0 {
            return Order::Repeated;
        }
        self.receive = number.wrapping_add(1);
        if ahead == 0 { Order::Next } else { Order::Gap }
    }
}

/// N-PDUs that LLC may have of an NSAPI on a link with this k of what is sent.
const fn window(k: u8) -> u8 {
    if k > WINDOW { k } else { WINDOW }
}

/// How many SN-PDUs an N-PDU of `len` octets takes; `None` where N201-I leaves no room for any.
pub(super) fn segments(len: usize, n201_i: u16) -> Option<u8> {
    let n201_i = usize::from(n201_i);
    let (first, next) = (n201_i.checked_sub(DATA_FIRST_LEN)?, n201_i.checked_sub(DATA_NEXT_LEN)?);
    if first == 0 {
        return None;
    }
    u8::try_from(1 + len.saturating_sub(first).div_ceil(next)).ok()
}

/// Where the SN-PDUs of an N-PDU say that they belong.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cutting {
    pub(super) nsapi: Nsapi,
    pub(super) number: u8,
    pub(super) compression: Compression,
    pub(super) n201_i: u16,
}

impl Cutting {
    /// Does one SN-DATA PDU hold an N-PDU of so many octets?
    pub(super) fn is_whole(self, octets: usize) -> bool {
        octets + DATA_FIRST_LEN <= usize::from(self.n201_i)
    }

    /// The header of an N-PDU that need not be cut.
    pub(super) fn head(self) -> [u8; DATA_FIRST_LEN] {
        data_header(self.nsapi, false, (self.compression, self.number))
    }

    /// Cuts an N-PDU that has a frame of its own, where one SN-DATA PDU does not hold it.
    pub(super) fn send(
        self,
        cx: &Context<'_>,
        mut frame: Frame,
        mut give: impl FnMut(Frame),
    ) -> Result<u8, Drop> {
        if !self.is_whole(frame.len()) {
            return self.cut(cx, &frame, give);
        }
        if !frame.prepend(&self.head()) {
            return Err(Drop::SndcpNoRoom);
        }
        give(frame);
        Ok(1)
    }

    /// Of the `n`th SN-DATA PDU of `count`.
    fn header(self, n: u8, count: u8) -> Header {
        let first = (n == 1).then_some((self.compression, self.number));
        Header { nsapi: self.nsapi, more: n < count, pdu: Pdu::Data { first } }
    }

    /// Cuts an N-PDU into SN-DATA PDUs, none longer than N201-I (clause 6.7). All are made, or none.
    pub(super) fn cut(self, cx: &Context<'_>, n_pdu: &[u8], mut give: impl FnMut(Frame)) -> Result<u8, Drop> {
        let count = segments(n_pdu.len(), self.n201_i).ok_or(Drop::SndcpTooLong)?;
        if cx.frames.free() < usize::from(count) {
            return Err(Drop::NoFrame);
        }
        let mut rest = n_pdu;
        for n in 1..=count {
            let header_len = if n == 1 { DATA_FIRST_LEN } else { DATA_NEXT_LEN };
            let room = usize::from(self.n201_i).saturating_sub(header_len);
            let (segment, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            rest = later;
            let mut frame = cx.frames.copy_of(segment).ok_or(Drop::NoFrame)?;
            if !frame.prepend(&self.header(n, count).emit()) {
                return Err(Drop::SndcpNoRoom);
            }
            give(frame);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;

    const LIMITS: AcknowledgedLimits =
        AcknowledgedLimits { n_pdus_max: 200, octets_max: 3000, segments_max: 64 };

    fn first(number: u8) -> Option<(Compression, u8)> {
        Some((Compression::NONE, number))
    }

    fn cut(len: usize, n201_i: u16) -> (Result<u8, Drop>, Vec<Vec<u8>>) {
        let mut around = Surroundings::new(1, 8, Quiet::default());
        let octets: Vec<u8> = (0..=250).cycle().take(len).collect();
        let compression = Compression { dcomp: 3, pcomp: 9 };
        let cutting = Cutting { nsapi: Nsapi(6), number: 200, compression, n201_i };
        let mut pdus = Vec::new();
        let result = cutting.cut(&around.context(), &octets, |frame| pdus.push(frame.to_vec()));
        assert_eq!(around.frames.free(), 8);
        (result, pdus)
    }

    #[test]
    fn segments_and_their_headers() {
        let (count, pdus) = cut(1000, 400);
        assert_eq!(count, Ok(3));
        assert_eq!(pdus.iter().map(Vec::len).collect::<Vec<_>>(), [400, 400, 205]);
        assert_eq!(
            (&pdus[0][..4], &pdus[1][..1], &pdus[2][..1]),
            (&[0x56, 0x39, 200, 0][..], &[0x16][..], &[0x06][..])
        );
        assert_eq!(cut(397, 400).1.len(), 1);
        assert_eq!(cut(397, 400).1[0][..3], [0x46, 0x39, 200]);
        assert_eq!(cut(398, 400).1[1], [0x06, 146]);
        assert_eq!(cut(9, 3).0, Err(Drop::SndcpTooLong));
        assert_eq!(cut(1500, 140).0, Err(Drop::NoFrame));
        assert_eq!((segments(1, 140), segments(1520, 140), segments(1, 0)), (Some(1), Some(11), None));
    }

    #[test]
    fn joined_again() {
        let mut nsapi = Acknowledged::default();
        assert_eq!(nsapi.join(first(7), true, b"ab"), Ok(None));
        // A later segment may repeat what the first one said.
        assert_eq!(nsapi.join(first(7), true, b"cd"), Ok(None));
        let joined = Joined { compression: Compression::NONE, number: 7, octets: b"abcdef".to_vec() };
        assert_eq!(nsapi.join(None, false, b"ef"), Ok(Some(joined)));
        assert_eq!(nsapi.join(None, false, b"gh"), Err(Drop::SndcpFirstMissing));
        assert_eq!(nsapi.join(first(8), true, b"ij"), Ok(None));
        assert_eq!(nsapi.join(first(9), true, b"kl"), Err(Drop::SndcpContradiction));
        assert_eq!(nsapi.join(None, true, b"mn"), Err(Drop::SndcpFirstMissing));
        assert_eq!(nsapi.join(first(9), true, &[0; COMPRESSED_MAX]), Ok(None));
        assert_eq!(nsapi.join(None, false, &[0]), Err(Drop::SndcpTooLong));
        assert_eq!(nsapi.partial, Partial::default());
    }

    /// One whose next N-PDU has this number.
    fn sending(number: u8) -> Acknowledged {
        Acknowledged { store: Store::beginning_at(number), ..Acknowledged::default() }
    }

    fn keep(nsapi: &mut Acknowledged, n_pdu: &[u8]) -> Result<u8, Drop> {
        nsapi.next(&LIMITS, n_pdu.len()).inspect(|_| nsapi.store.push(n_pdu))
    }

    #[test]
    fn what_waits_for_its_confirmation_is_bounded() {
        let mut nsapi = sending(250);
        assert_eq!(keep(&mut nsapi, &[]), Err(Drop::SndcpEmpty));
        assert_eq!(keep(&mut nsapi, &[0; 1521]), Err(Drop::SndcpTooLong));
        assert_eq!(keep(&mut nsapi, &[0; 1500]), Ok(250));
        assert_eq!(keep(&mut nsapi, &[0; 1500]), Ok(251));
        assert_eq!(keep(&mut nsapi, &[0]), Err(Drop::SndcpUnconfirmedFull));
        let mut nsapi = Acknowledged::default();
        let numbers: Vec<_> = (0..200).map(|_| keep(&mut nsapi, &[0]).unwrap()).collect();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
        assert_eq!(keep(&mut nsapi, &[0]), Err(Drop::SndcpUnconfirmedFull));
        let wide = LIMITS.of_window(255);
        assert_eq!((wide.n_pdus_max, wide.octets_max, wide.segments_max), (439, 3000 + 239 * N_PDU_MAX, 303));
        assert_eq!(LIMITS.of_window(16), LIMITS);
        assert_eq!(nsapi.next(&wide, 1), Ok(200));
        // LLC gets no more of them than numbers tell apart on a link with its window.
        for (k, most) in [(16, 127), (127, 127), (128, 128), (200, 200)] {
            while nsapi.may_hand(k) && nsapi.store.has_waiting() {
                nsapi.store.hand(1);
            }
            assert_eq!(nsapi.store.handed(), most, "k {k}");
        }
    }

    #[test]
    fn the_peers_number_after_a_routing_area_update() {
        let mut nsapi = Acknowledged { suspended: true, ..sending(254) };
        for n_pdu in [b"a", b"b", b"c"] {
            keep(&mut nsapi, n_pdu).unwrap();
        }
        for number in [2, 253] {
            assert_eq!(nsapi.sequence(number), Err(Drop::SndcpBadSequence));
            assert_eq!((nsapi.suspended, nsapi.store.waiting_number(), nsapi.store.len()), (false, 254, 3));
        }
        assert_eq!(nsapi.sequence(0), Ok((254, 2)));
        assert_eq!((nsapi.store.waiting_number(), nsapi.store.len()), (0, 1));
    }

    #[test]
    fn after_a_restart_no_number_comes_a_second_time() {
        let mut kept = sending(200);
        for n_pdu in [b"a", b"b"] {
            keep(&mut kept, n_pdu).unwrap();
        }
        // The peer has those two, and as many more as were sent before the next time of keeping.
        let mut peer = Acknowledged { receive: 202 + KEPT_EVERY_N_PDUS, ..Acknowledged::default() };
        assert_eq!((kept.restore(), kept.store.len(), kept.store.octets()), (2, 0, 0));
        assert_eq!(keep(&mut kept, b"c").map(|number| peer.order(number, 16)), Ok(Order::Gap));
    }

    #[test]
    fn after_a_restart_a_peer_that_has_nothing_of_what_was_sent_takes_the_next_one_for_new() {
        for unconfirmed in [0, 1, 64, WINDOW - KEPT_EVERY_N_PDUS] {
            let fresh = || {
                let mut kept = sending(230);
                (0..unconfirmed).for_each(|_| assert!(keep(&mut kept, b"a").is_ok()));
                assert_eq!(kept.restore(), usize::from(unconfirmed));
                keep(&mut kept, b"b").unwrap()
            };
            // None of them, or all and as many as were sent before the next time of keeping.
            for has in [0, unconfirmed + KEPT_EVERY_N_PDUS] {
                let mut peer = Acknowledged { receive: 230_u8.wrapping_add(has), ..Acknowledged::default() };
                let order = peer.order(fresh(), WINDOW);
                assert!(matches!(order, Order::Next | Order::Gap), "{unconfirmed}, {has}: {order:?}");
            }
        }
    }

    #[test]
    fn repetitions_and_gaps_by_their_numbers() {
        let mut nsapi = Acknowledged { receive: 255, ..Acknowledged::default() };
        assert_eq!([255, 255, 0, 130, 128].map(|number| nsapi.order(number, 16)), {
            [Order::Next, Order::Repeated, Order::Next, Order::Repeated, Order::Gap]
        });
        assert_eq!(nsapi.receive_number(), 129);
    }

    #[test]
    fn of_a_long_window_all_that_come_again_are_repetitions() {
        for unconfirmed in [1, 127, 128, 200, 255_u8] {
            let mut nsapi = Acknowledged { receive: 7, ..Acknowledged::default() };
            nsapi.link_anew();
            let first = 7_u8.wrapping_sub(unconfirmed);
            for n in 0..unconfirmed {
                assert_eq!(nsapi.order(first.wrapping_add(n), 255), Order::Repeated, "{n} of {unconfirmed}");
            }
            assert_eq!([7, 8].map(|number| nsapi.order(number, 255)), [Order::Next; 2], "{unconfirmed}");
        }
        // k says how many can come again.
        let mut nsapi = Acknowledged { receive: 0, ..Acknowledged::default() };
        assert_eq!((nsapi.order(57, 200), nsapi.receive_number()), (Order::Repeated, 0));
        nsapi.link_anew();
        assert_eq!((nsapi.order(55, 200), nsapi.receive_number()), (Order::Gap, 56));
        nsapi.link_anew();
        // After a restart of this end it does not know how many it has taken.
        let mut nsapi = Acknowledged { receive: 100, ..Acknowledged::default() };
        let _ = nsapi.restore();
        assert_eq!([110, 111].map(|number| nsapi.order(number, 255)), [Order::Gap, Order::Next]);
        let mut nsapi = Acknowledged { receive: 100, ..Acknowledged::default() };
        let _ = nsapi.restore();
        assert_eq!([98, 99, 100].map(|number| nsapi.order(number, 255)), {
            [Order::Repeated, Order::Repeated, Order::Next]
        });
        let mut nsapi = Acknowledged { receive: 56, ..Acknowledged::default() };
        // What the update says that this end has, the peer leaves out.
        assert_eq!([50, 51, 56, 57].map(|number| nsapi.order(number, 200)), {
            [Order::Repeated, Order::Repeated, Order::Next, Order::Next]
        });
    }

    /// Whatever the peer has of those that were sent, it takes what comes after a restart for new once it is told.
    #[test]
    fn after_a_restart_the_peer_of_a_long_window_is_told_that_numbers_were_passed_over() {
        for unconfirmed in [0, 1, 95, 96, 191, 224, 255_u8] {
            let mut kept = sending(230);
            (0..unconfirmed).for_each(|_| kept.store.push(b"a"));
            while kept.store.has_waiting() {
                kept.store.hand(1);
            }
            assert_eq!(kept.restore(), usize::from(unconfirmed));
            assert!(!kept.must_tell(WINDOW), "it goes by numbers");
            for has in 0..=unconfirmed.saturating_add(KEPT_EVERY_N_PDUS) {
                let mut kept = kept.clone();
                let number = keep(&mut kept, b"b").unwrap();
                assert!(kept.must_tell(255));
                let mut peer = Acknowledged { receive: 230_u8.wrapping_add(has), ..Acknowledged::default() };
                let before = kept.tell();
                let _ = peer.order(before, 255);
                assert!(!kept.must_tell(255));
                assert_eq!(number.wrapping_sub(before), 2);
                let order = peer.order(number, 255);
                assert!(matches!(order, Order::Next | Order::Gap), "{unconfirmed}, {has}: {order:?}");
                assert_eq!(peer.order(number.wrapping_add(1), 255), Order::Next);
                // A link that ends before the peer has anything of it has told nothing.
                kept.link_anew();
                assert!(kept.must_tell(255));
                let _ = kept.tell();
                kept.confirmed();
                kept.link_anew();
                assert!(!kept.must_tell(255));
            }
        }
    }
}
