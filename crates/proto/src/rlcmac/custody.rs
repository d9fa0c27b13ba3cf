//! LL-PDUs between the two ends of a TBF: each is delivered once, or its sender still has it.
//!
//! The sender keeps an LL-PDU until RLC has acknowledged it, and so gives up too much when a TBF breaks: what was acknowledged by
//! a report that was lost has arrived. A real sender sends it again, and LLC throws the copy away (04.64 clause 8.4.2 [44.064]).
//! Here the sender learns what has arrived, so that nothing is told twice of.
//!
//! Where the other end is elsewhere nobody tells ([`Custody::apart`]). Then an LL-PDU has arrived when RLC has acknowledged it;
//! without acknowledgement, when it was sent.

use super::rlc;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use std::collections::VecDeque;

/// An LL-PDU that RLC carries.
#[derive(Debug)]
pub struct LlPdu {
    /// To or from which mobile.
    pub mobile: u32,
    /// By which name.
    pub tlli: Tlli,
    /// When its lifetime ends. Uplink it never does.
    pub expires: Instant,
    /// Uplink: how urgent it is (04.08 clause 10.5.7.2 [24.008]). Downlink its class is said with it.
    pub priority: RadioPriority,
    /// Its octets.
    pub frame: Frame,
}

/// GMM has SAPI 1, and SMS has 7 (04.64 clause 6.2.3 [44.064]).
pub(super) fn is_signalling(ll_pdu: &[u8]) -> bool {
    ll_pdu.first().is_some_and(|address| matches!(address & 0x0f, 1 | 7))
}

/// SAPI of an LL-PDU (04.64 clause 6.2.3 [44.064]).
fn sapi_of(ll_pdu: &[u8]) -> Option<u8> {
    ll_pdu.first().map(|address| address & 0x0f)
}

/// Radio priorities 1 to 4.
pub(super) const PRIORITIES: usize = 4;

/// The place of user data of a priority among all of it.
pub(super) fn place_of(priority: RadioPriority) -> usize {
    usize::from(priority as u8).saturating_sub(1) % PRIORITIES
}

/// Puts one into its place of a queue: signalling stands before user data, and user data by its priority; each in its order. None
/// overtakes another of its SAPI: the receiver takes a UI frame that lies more than 32 numbers behind for one far ahead (04.64 clause
/// 8.4.2 [44.064]).
pub(super) fn enqueue(queue: &mut VecDeque<LlPdu>, pdu: LlPdu) {
    let rank = |pdu: &LlPdu| (!is_signalling(&pdu.frame)).then(|| place_of(pdu.priority));
    let (own, sapi) = (rank(&pdu), sapi_of(&pdu.frame));
    let of_sapi = queue.iter().rposition(|other| sapi_of(&other.frame) == sapi);
    let first = of_sapi.map_or(0, |last| last + 1);
    let worse = queue.iter().skip(first).position(|other| rank(other) > own);
    queue.insert(worse.map_or(queue.len(), |worse| first + worse), pdu);
}

/// The UI DUMMY command of LLC with its filler (04.64 clause 6.4.2.2 [44.064]): a TBF without data goes on by it (44.060 clause
/// 9.3.1a).
pub const DUMMY_LL_PDU: [u8; 6] = [0x43, 0xc0, 0x01, 0x2b, 0x2b, 0x2b];

/// True for a UI DUMMY command of any length: filler stands behind its control field.
#[must_use]
pub fn is_dummy(ll_pdu: &[u8]) -> bool {
    let [a, b, c, filler, ..] = DUMMY_LL_PDU;
    ll_pdu.strip_prefix(&[a, b, c]).is_some_and(|rest| rest.iter().all(|octet| *octet == filler))
}

/// One in the hands of a TBF.
#[derive(Debug)]
pub struct Carried(Option<(u64, LlPdu)>);

impl Carried {
    /// One that says nothing, and that nobody misses: [`DUMMY_LL_PDU`].
    pub const DUMMY: Self = Self(None);
}

impl rlc::LlPdu for Carried {
    fn octets(&self) -> &[u8] {
        self.0.as_ref().map_or(&DUMMY_LL_PDU, |(_, pdu)| &pdu.frame)
    }
}

/// An LL-PDU that has arrived, without its octets: the receiver has these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// To or from which mobile it was.
    pub mobile: u32,
    /// By which name.
    pub tlli: Tlli,
    /// When its lifetime ends.
    pub expires: Instant,
    /// How urgent it is.
    pub priority: RadioPriority,
}

#[derive(Debug)]
struct Flight {
    tag: u64,
    digest: u64,
    about: Delivered,
    /// Unacknowledged mode: RLC has sent it and does not keep it.
    sent: Option<LlPdu>,
}

/// FNV-1a over the octets and their number.
fn digest(octets: &[u8]) -> u64 {
    let mix = |sum: u64, octet: u64| (sum ^ octet).wrapping_mul(0x0100_0000_01b3);
    let start = mix(0xcbf2_9ce4_8422_2325, octets.len() as u64);
    let (words, rest) = octets.as_chunks::<8>();
    let sum = words.iter().fold(start, |sum, word| mix(sum.rotate_left(23), u64::from_be_bytes(*word)));
    rest.iter().fold(sum, |sum, octet| mix(sum, u64::from(*octet)))
}

/// What one TBF carries and has not delivered, in its order.
#[derive(Debug, Default)]
pub struct Custody {
    flights: VecDeque<Flight>,
    next: u64,
    is_apart: bool,
    /// Apart: what RLC is done with.
    confirmed: VecDeque<LlPdu>,
}

impl Custody {
    /// Of a TBF whose other end does not tell what has arrived, with `true`.
    #[must_use]
    pub fn apart(is_apart: bool) -> Self {
        Self { is_apart, ..Self::default() }
    }

    /// Apart: the next LL-PDU that has arrived, as far as this end can know.
    pub fn pop_confirmed(&mut self) -> Option<LlPdu> {
        self.confirmed.pop_front()
    }

    /// An LL-PDU enters the TBF.
    pub fn take(&mut self, pdu: LlPdu) -> Carried {
        let LlPdu { mobile, tlli, expires, priority, .. } = pdu;
        let about = Delivered { mobile, tlli, expires, priority };
        let tag = self.next;
        self.next += 1;
        self.flights.push_back(Flight { tag, digest: digest(&pdu.frame), about, sent: None });
        Carried(Some((tag, pdu)))
    }

    /// The receiver has made these octets of the blocks: whose are they? `None` where the TBF carries no such LL-PDU.
    pub fn deliver(&mut self, octets: &[u8]) -> Option<Delivered> {
        let digest = digest(octets);
        let at = self.flights.iter().position(|flight| flight.digest == digest)?;
        self.flights.remove(at).map(|flight| flight.about)
    }

    /// RLC is done with one: acknowledged it has arrived. Unacknowledged it is kept until it has, or the TBF ends.
    pub fn done(&mut self, carried: Carried) {
        let Some((tag, pdu)) = carried.0 else { return };
        if self.is_apart {
            self.flights.retain(|flight| flight.tag != tag);
            self.confirmed.push_back(pdu);
        } else if let Some(flight) = self.flights.iter_mut().find(|flight| flight.tag == tag) {
            flight.sent = Some(pdu);
        }
    }

    /// The TBF takes one no more: it never was in it.
    pub fn give_back(&mut self, carried: Carried) -> Option<LlPdu> {
        let (tag, pdu) = carried.0?;
        let at = self.flights.iter().position(|flight| flight.tag == tag)?;
        self.flights.remove(at);
        Some(pdu)
    }

    /// The TBF has ended. Gives what RLC had sent and did not keep, and was not delivered: it is lost on the air.
    pub fn lost(&mut self) -> impl Iterator<Item = LlPdu> {
        core::mem::take(&mut self.flights).into_iter().filter_map(|flight| flight.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::frame::FramePool;

    fn pdu(pool: &FramePool, octets: &[u8]) -> LlPdu {
        let (expires, priority) = (Instant(3), RadioPriority::Four);
        LlPdu { mobile: 1, tlli: Tlli(2), expires, priority, frame: pool.copy_of(octets).unwrap() }
    }

    #[test]
    fn what_has_arrived_does_not_come_back() {
        let pool = FramePool::new(8);
        let mut custody = Custody::default();
        let carried: Vec<_> =
            [&b"one"[..], b"two", b"three"].iter().map(|octets| custody.take(pdu(&pool, octets))).collect();
        assert_eq!(custody.deliver(b"two").map(|delivered| delivered.mobile), Some(1));
        assert_eq!((custody.deliver(b"two"), custody.deliver(b"other")), (None, None));
        let back: Vec<_> = carried.into_iter().filter_map(|carried| custody.give_back(carried)).collect();
        let octets: Vec<&[u8]> = back.iter().map(|pdu| &pdu.frame[..]).collect();
        assert_eq!(octets, [&b"one"[..], b"three"]);
        assert_eq!(custody.lost().count(), 0);
    }

    #[test]
    fn apart_what_rlc_is_done_with_has_arrived() {
        let pool = FramePool::new(8);
        let mut custody = Custody::apart(true);
        let one = custody.take(pdu(&pool, b"one"));
        let two = custody.take(pdu(&pool, b"two"));
        assert!(custody.pop_confirmed().is_none());
        custody.done(one);
        assert_eq!(custody.pop_confirmed().map(|pdu| pdu.frame.to_vec()), Some(b"one".to_vec()));
        assert_eq!(custody.give_back(two).map(|pdu| pdu.frame.to_vec()), Some(b"two".to_vec()));
        assert_eq!((custody.lost().count(), pool.free()), (0, 8));
    }

    #[test]
    fn what_rlc_does_not_keep_is_lost_when_the_tbf_ends() {
        let pool = FramePool::new(8);
        let mut custody = Custody::default();
        for octets in [b"one", b"two"] {
            let carried = custody.take(pdu(&pool, octets));
            custody.done(carried);
        }
        assert!(custody.deliver(b"two").is_some());
        assert_eq!(custody.lost().map(|pdu| pdu.frame.to_vec()).collect::<Vec<_>>(), [b"one"]);
        assert_eq!(pool.free(), 8);
    }
}
