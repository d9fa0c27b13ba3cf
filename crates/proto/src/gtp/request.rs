//! Reliable delivery of signalling (29.060 clause 7.6): our requests until they are answered, and the answers that we
//! gave until the asker has surely heard them.

use super::path::{Channel, Plane};
use super::trust::host;
use super::tunnel::Endpoint;
use super::version::Version;
use core::hash::BuildHasher;
use core::net::{IpAddr, SocketAddr};
use foldhash::fast::FixedState;
use gannet_machine::time::Instant;
use gannet_wire::id::{Teid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Who waits for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// The node; its own key.
    Node(u64),
    /// A path that is tested, by index and generation.
    Echo { path: u16, generation: u16, plane: Plane },
}

/// A request that was sent and is not answered yet.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub asker: Asker,
    pub peer: SocketAddr,
    pub channel: Channel,
    /// The message type of the response.
    pub expects: u8,
    pub octets: Vec<u8>,
    /// How often it may be sent again.
    pub attempts_left: u8,
    /// When T3-RESPONSE expires.
    pub due: Instant,
    /// Tells its wake-ups from those of an earlier request of the same number.
    pub generation: u16,
}

/// Our requests, by sequence number.
#[derive(Debug)]
pub(super) struct Requests {
    by_sequence: HashMap<u16, Outstanding, FixedState>,
    next: Option<u16>,
    generation: u16,
    limit: usize,
}

impl Requests {
    pub fn with_limit(limit: usize) -> Self {
        // Half of the numbers stay free, so that a free one is found soon and is not one of yesterday's.
        let limit = limit.min(1 << 15);
        Self { by_sequence: HashMap::with_hasher(FixedState::default()), next: None, generation: 0, limit }
    }

    pub fn len(&self) -> usize {
        self.by_sequence.len()
    }

    /// A sequence number that no outstanding request has. The first is `random`, so that a peer does not take a
    /// request for one from before our restart. `None` where too many are outstanding.
    pub fn sequence(&mut self, random: u16) -> Option<u16> {
        if self.by_sequence.len() >= self.limit {
            return None;
        }
        let mut sequence = self.next.unwrap_or(random);
        while self.by_sequence.contains_key(&sequence) {
            sequence = sequence.wrapping_add(1);
        }
        self.next = Some(sequence.wrapping_add(1));
        Some(sequence)
    }

    /// Keeps a request; the generation for its wake-ups.
    pub fn insert(&mut self, sequence: u16, mut request: Outstanding) -> u16 {
        self.generation = self.generation.wrapping_add(1);
        request.generation = self.generation;
        self.by_sequence.insert(sequence, request);
        self.generation
    }

    /// Takes the request that a response from `peer` answers: same number, version and address, the right type
    /// (29.060 clause 7.6, 09.60 clause 7.6). One who is trusted may answer for another address, but not an Echo Request.
    pub fn answered(
        &mut self,
        sequence: u16,
        version: Version,
        (peer, is_trusted): (IpAddr, bool),
        message: u8,
    ) -> Option<Outstanding> {
        let Entry::Occupied(entry) = self.by_sequence.entry(sequence) else { return None };
        let request = entry.get();
        let is_from = request.peer.ip() == peer || is_trusted && matches!(request.asker, Asker::Node(_));
        let fits = request.channel.version() == version && is_from && request.expects == message;
        fits.then(|| entry.remove())
    }

    /// Takes the requests of the node that a peer cannot read: the one with this number, or all to it where the number is 0 and
    /// none has it. Their keys.
    pub fn refused(&mut self, sequence: u16, channel: Channel, peer: IpAddr) -> Vec<u64> {
        let fits = |request: &Outstanding| request.channel == channel && request.peer.ip() == peer;
        let user = |request: &Outstanding| match request.asker {
            Asker::Node(user) if fits(request) => Some(user),
            Asker::Node(_) | Asker::Echo { .. } => None,
        };
        let mut numbers: Vec<u16> = match self.by_sequence.get(&sequence).and_then(user) {
            Some(_) => vec![sequence],
            None if sequence == 0 => {
                let all = self.by_sequence.iter();
                all.filter(|(_, request)| user(request).is_some()).map(|(number, _)| *number).collect()
            }
            None => Vec::new(),
        };
        numbers.sort_unstable();
        let taken = numbers.into_iter().filter_map(|number| self.by_sequence.remove(&number));
        taken.filter_map(|request| user(&request)).collect()
    }

    /// The request that a wake-up concerns.
    pub fn woken(&mut self, sequence: u16, generation: u16) -> Option<&mut Outstanding> {
        self.by_sequence.get_mut(&sequence).filter(|request| request.generation == generation)
    }

    pub fn remove(&mut self, sequence: u16) -> Option<Outstanding> {
        self.by_sequence.remove(&sequence)
    }

    /// Forgets the requests of one asker of the node; whether there was one.
    pub fn cancel(&mut self, sequence: u16, user: u64) -> bool {
        match self.by_sequence.entry(sequence) {
            Entry::Occupied(entry) if entry.get().asker == Asker::Node(user) => {
                entry.remove();
                true
            }
            Entry::Occupied(_) | Entry::Vacant(_) => false,
        }
    }
}

/// Names a request of a peer until it is answered: plain data that the node keeps as long as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transaction {
    /// Who asked; the response goes there (29.060 clause 10.1.2).
    pub peer: SocketAddr,
    /// Through which of our ports.
    pub channel: Channel,
    /// The tunnel that the request names, of version 0: so does the response.
    pub tid: Option<Tid>,
    /// His sequence number.
    pub sequence: u16,
    /// The message type of the request.
    pub request: u8,
    /// Of the request's octets: a repetition is the same octets, a new request under an old number is not.
    pub(super) digest: u64,
}

impl Transaction {
    /// The version that the peer speaks.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.channel.version()
    }

    /// Where the response goes: the peer's endpoint `teid`, or of version 0 his flow label, in the request's tunnel.
    pub(super) fn answered_to(&self, teid: Teid) -> Endpoint {
        self.tid.map_or(Endpoint::Teid(teid), |tid| Endpoint::of_peer(self.version(), tid, teid))
    }
}

/// Whether a request was seen before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    /// Never.
    New,
    /// It is being worked at.
    Pending,
    /// It was answered with these octets.
    Answered(&'a [u8]),
}

/// The answers that were given lately. In a full table the oldest gives way: of the host that has more than half of all, where
/// there is one, so that nobody alone pushes out what others are still to hear.
#[derive(Debug)]
pub(super) struct Responses {
    table: HashMap<Transaction, Option<Vec<u8>>, FixedState>,
    /// By their numbers, which is in the order of their ends.
    order: BTreeMap<u64, (Instant, Transaction)>,
    /// The numbers of each host's.
    by_host: HashMap<IpAddr, VecDeque<u64>, FixedState>,
    /// The last host that had more than half.
    greedy: Option<IpAddr>,
    next: u64,
    limit: usize,
}

impl Responses {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            table: HashMap::with_hasher(FixedState::default()),
            order: BTreeMap::new(),
            by_host: HashMap::with_hasher(FixedState::default()),
            greedy: None,
            next: 0,
            limit: limit.max(1),
        }
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// The digest of a request's octets.
    pub fn digest(octets: &[u8]) -> u64 {
        FixedState::default().hash_one(octets)
    }

    /// Looks a request up, and keeps it as pending until `end` where it is new. Another gives way when the table is full.
    pub fn see(&mut self, transaction: Transaction, now: Instant, end: Instant) -> Seen<'_> {
        self.expire(now);
        if !self.table.contains_key(&transaction) {
            if self.table.len() >= self.limit {
                self.make_room();
            }
            self.insert(transaction, end);
            return Seen::New;
        }
        match self.table.get(&transaction) {
            Some(Some(octets)) => Seen::Answered(octets),
            Some(None) | None => Seen::Pending,
        }
    }

    /// Keeps the answer to a request that is still known.
    pub fn answer(&mut self, transaction: &Transaction, octets: Vec<u8>) {
        if let Some(answer) = self.table.get_mut(transaction) {
            *answer = Some(octets);
        }
    }

    /// Forgets what is over.
    pub fn expire(&mut self, now: Instant) {
        while let Some((number, (end, _))) = self.order.first_key_value()
            && *end <= now
        {
            self.forget(*number);
        }
    }

    /// When the next is over.
    pub fn next_end(&self) -> Option<Instant> {
        self.order.first_key_value().map(|(_, (end, _))| *end)
    }

    fn insert(&mut self, transaction: Transaction, end: Instant) {
        let host = host(transaction.peer.ip());
        self.table.insert(transaction, None);
        self.order.insert(self.next, (end, transaction));
        let numbers = self.by_host.entry(host).or_default();
        numbers.push_back(self.next);
        if numbers.len() > self.limit / 2 {
            self.greedy = Some(host);
        }
        self.next += 1;
    }

    fn make_room(&mut self) {
        let of_greedy = self.greedy.and_then(|host| self.by_host.get(&host));
        let of_greedy = of_greedy.filter(|numbers| numbers.len() > self.limit / 2);
        let first = of_greedy.and_then(|numbers| numbers.front()).or_else(|| self.order.keys().next());
        if let Some(number) = first.copied() {
            self.forget(number);
        }
    }

    /// Forgets one, which is the oldest of its host.
    fn forget(&mut self, number: u64) {
        let Some((_, transaction)) = self.order.remove(&number) else { return };
        self.table.remove(&transaction);
        if let Entry::Occupied(mut entry) = self.by_host.entry(host(transaction.peer.ip())) {
            entry.get_mut().pop_front();
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 2123);
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    fn outstanding() -> Outstanding {
        Outstanding {
            asker: Asker::Node(7),
            peer: PEER,
            channel: Channel::Control,
            expects: 17,
            octets: Vec::new(),
            attempts_left: 2,
            due: Instant::ZERO,
            generation: 0,
        }
    }

    #[test]
    fn a_response_must_fit_in_number_address_and_type() {
        let mut requests = Requests::with_limit(2);
        let sequence = requests.sequence(0xffff).unwrap();
        let generation = requests.insert(sequence, outstanding());
        assert_eq!(requests.sequence(0), Some(0));
        requests.insert(0, outstanding());
        assert_eq!(requests.sequence(0), None);
        assert!(requests.answered(0xffff, Version::V1, (OTHER, false), 17).is_none());
        assert!(requests.answered(0xffff, Version::V1, (PEER.ip(), false), 19).is_none());
        assert!(requests.answered(1, Version::V1, (PEER.ip(), false), 17).is_none());
        assert!(requests.answered(0xffff, Version::V0, (PEER.ip(), false), 17).is_none());
        assert!(requests.answered(0xffff, Version::V1, (OTHER, true), 19).is_none());
        assert!(requests.refused(0xffff, Channel::Control, OTHER).is_empty());
        assert!(requests.refused(0xffff, Channel::V0, PEER.ip()).is_empty());
        assert!(requests.woken(0xffff, generation.wrapping_add(9)).is_none());
        assert!(requests.woken(0xffff, generation).is_some());
        assert!(requests.answered(0xffff, Version::V1, (PEER.ip(), false), 17).is_some());
        assert!(requests.answered(0xffff, Version::V1, (PEER.ip(), false), 17).is_none());
        assert!(!requests.cancel(0, 8));
        assert!(requests.cancel(0, 7));
        assert_eq!(requests.len(), 0);
    }

    #[test]
    fn a_peer_of_another_version_refuses_one_request_or_all() {
        let mut requests = Requests::with_limit(9);
        let echo = Asker::Echo { path: 0, generation: 0, plane: Plane::Control };
        for (number, asker) in [(3, Asker::Node(3)), (4, Asker::Node(4)), (5, Asker::Node(5)), (6, echo)] {
            requests.insert(number, Outstanding { asker, ..outstanding() });
        }
        assert_eq!(requests.refused(4, Channel::Control, PEER.ip()), [4]);
        assert!(requests.refused(4, Channel::Control, PEER.ip()).is_empty());
        assert!(requests.refused(6, Channel::Control, PEER.ip()).is_empty(), "an Echo Request");
        assert!(requests.refused(0, Channel::Control, OTHER).is_empty());
        assert_eq!(requests.refused(0, Channel::Control, PEER.ip()), [3, 5]);
        assert_eq!(requests.len(), 1);
        // An address that the operator vouches for may answer, but not for the path to another.
        requests.insert(7, outstanding());
        assert!(requests.answered(6, Version::V1, (OTHER, true), 17).is_none());
        assert!(requests.answered(7, Version::V1, (OTHER, false), 17).is_none());
        assert!(requests.answered(7, Version::V1, (OTHER, true), 17).is_some());
    }

    #[test]
    fn who_asks_without_end_pushes_out_its_own_answers() {
        let asked = |peer: IpAddr, n: u64| Transaction {
            peer: SocketAddr::new(peer, 2123),
            channel: Channel::Control,
            tid: None,
            sequence: 0,
            request: 16,
            digest: n,
        };
        let mut responses = Responses::with_limit(100);
        let see = |responses: &mut Responses, peer, n| {
            let is_new = responses.see(asked(peer, n), Instant(n), Instant(10_000)) == Seen::New;
            responses.answer(&asked(peer, n), Vec::new());
            is_new
        };
        // Alone it has the whole table.
        assert!((0..100).all(|n| see(&mut responses, OTHER, n)));
        assert!(!see(&mut responses, OTHER, 0));
        // Others take what they need of the half that is not its own, and keep it.
        assert!((0..50).all(|n| see(&mut responses, PEER.ip(), n)));
        assert!((200..1000).all(|n| see(&mut responses, OTHER, n)));
        assert!((0..49).all(|n| !see(&mut responses, PEER.ip(), n + 1)));
        assert!(!see(&mut responses, OTHER, 999) && see(&mut responses, OTHER, 0));
        assert_eq!((responses.len(), responses.order.len()), (100, 100));
        // Its end comes with that of the others.
        responses.expire(Instant(10_000));
        assert!(responses.len() == 0 && responses.order.is_empty() && responses.by_host.is_empty());
    }

    #[test]
    fn the_hosts_of_a_network_of_ipv6_are_one_that_asks() {
        let asked = |n: u16| Transaction {
            peer: SocketAddr::new(core::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, n).into(), 2123),
            channel: Channel::Control,
            tid: None,
            sequence: 0,
            request: 16,
            digest: 0,
        };
        let of_other = Transaction { peer: PEER, ..asked(0) };
        let mut responses = Responses::with_limit(8);
        assert_eq!(responses.see(of_other, Instant(0), Instant(10)), Seen::New);
        assert!((0..1000).all(|n| responses.see(asked(n), Instant(0), Instant(10)) == Seen::New));
        assert_eq!(responses.see(of_other, Instant(0), Instant(10)), Seen::Pending);
    }

    #[test]
    fn answers_are_kept_for_a_while_and_the_oldest_gives_way() {
        let transaction = |sequence| Transaction {
            peer: PEER,
            channel: Channel::Control,
            tid: None,
            sequence,
            request: 16,
            digest: Responses::digest(b"request"),
        };
        let mut responses = Responses::with_limit(2);
        assert_eq!(responses.see(transaction(1), Instant(0), Instant(10)), Seen::New);
        assert_eq!(responses.see(transaction(1), Instant(1), Instant(11)), Seen::Pending);
        responses.answer(&transaction(1), vec![1]);
        assert_eq!(responses.see(transaction(1), Instant(2), Instant(12)), Seen::Answered(&[1]));
        let other = Transaction { digest: 0, ..transaction(1) };
        assert_eq!(responses.see(other, Instant(3), Instant(13)), Seen::New);
        assert_eq!(responses.see(transaction(3), Instant(4), Instant(14)), Seen::New);
        assert_eq!(responses.len(), 2);
        assert_eq!(responses.see(transaction(1), Instant(5), Instant(15)), Seen::New);
        responses.answer(&transaction(9), vec![9]);
        assert_eq!(responses.next_end(), Some(Instant(14)));
        responses.expire(Instant(15));
        assert_eq!(responses.len(), 0);
    }
}
