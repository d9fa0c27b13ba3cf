//! The access point's keys and the sessions that are under them.

use super::key::{Random, Randoms, SharedKey, is_hello_right};
use super::session::{End, Session};
use foldhash::fast::FixedState;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::adaptation::{Hello, MAC_LEN, Pdu, Welcome};
use std::collections::HashMap;

/// Sessions of one key that nobody has used yet: so many hellos may be repeated between a mobile's own and its first PDU.
const FRESH: usize = 4;
/// Bits of a session's name that count; the others are the index of its key.
const COUNTER_BITS: u32 = 8;

#[derive(Debug)]
struct Entry {
    key: SharedKey,
    in_use: Option<Box<Session>>,
    /// The one before: what was on its way when the other was put in use is taken.
    before: Option<Box<Session>>,
    /// The newest stands first.
    fresh: [Option<Box<Session>>; FRESH],
    counter: u8,
}

/// All keys. A key is named by its index, as the owner of what comes under it.
#[derive(Debug)]
pub struct Keyring {
    entries: Vec<Entry>,
    by_id: HashMap<u32, u32, FixedState>,
    packets_max: u64,
}

impl Keyring {
    /// These keys, without sessions. Of two with one identifier the first counts.
    #[must_use]
    pub fn new(keys: &[SharedKey], packets_max: u64) -> Self {
        let mut by_id = HashMap::with_capacity_and_hasher(keys.len() * 2, FixedState::with_seed(0));
        for (index, key) in (0..).zip(keys) {
            by_id.entry(key.id).or_insert(index);
        }
        let entry = |key: &SharedKey| Entry {
            key: *key,
            in_use: None,
            before: None,
            fresh: [const { None }; FRESH],
            counter: 0,
        };
        Self { entries: keys.iter().map(entry).collect(), by_id, packets_max }
    }

    /// Answers a hello, whose octets are `pdu`, with a session that waits for its first PDU. What is in use stays in use.
    ///
    /// # Errors
    /// `AdaptUnknownKey`, `AdaptBadMac`.
    pub fn hello(
        &mut self,
        randoms: &mut Randoms,
        dice: u64,
        hello: &Hello,
        pdu: &[u8],
    ) -> Result<(SharedKey, Welcome), Drop> {
        let index = self.by_id.get(&hello.key).copied().ok_or(Drop::AdaptUnknownKey)?;
        let entry = self.entries.get_mut(index as usize).ok_or(Drop::AdaptUnknownKey)?;
        if !is_hello_right(&entry.key, hello, pdu) {
            return Err(Drop::AdaptBadMac);
        }
        let random: Random = randoms.next(dice);
        let name = |counter: u8| index << COUNTER_BITS | u32::from(counter);
        let is_taken = |id| [&entry.in_use, &entry.before].into_iter().flatten().any(|of| of.id() == id);
        let mut counters = (1..=3).map(|ahead| entry.counter.wrapping_add(ahead));
        let free = counters.find(|counter| !is_taken(name(*counter))).unwrap_or(entry.counter);
        entry.counter = free;
        let id = name(free);
        let between = [&hello.random, &random];
        let session = Session::new(End::AccessPoint, &entry.key, id, between, self.packets_max);
        entry.fresh.rotate_right(1);
        entry.fresh[0] = Some(Box::new(session));
        let (of_mobile, mac) = (hello.random, [0; MAC_LEN]);
        Ok((entry.key, Welcome { key: hello.key, session: id, random, of_mobile, mac }))
    }

    /// Opens a PDU that has a trailer, and says whose it is. The first one of a fresh session puts that in use.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open(&mut self, pdu: &Pdu<'_>) -> Result<u32, Drop> {
        let trailer = pdu.trailer.ok_or(Drop::AdaptUnauthenticated)?;
        let owner = trailer.session >> COUNTER_BITS;
        let entry = self.entries.get_mut(owner as usize).ok_or(Drop::AdaptUnknownSession)?;
        for known in [&mut entry.in_use, &mut entry.before].into_iter().flatten() {
            if known.id() == trailer.session {
                return known.open(pdu).map(|()| owner);
            }
        }
        let is_meant = |fresh: &&mut Option<Box<Session>>| {
            fresh.as_ref().is_some_and(|session| session.id() == trailer.session)
        };
        let fresh = entry.fresh.iter_mut().find(is_meant).ok_or(Drop::AdaptUnknownSession)?;
        if let Some(session) = fresh {
            session.open(pdu)?;
        }
        entry.before = core::mem::replace(&mut entry.in_use, fresh.take());
        Ok(owner)
    }

    /// Seals a PDU for the owner of a key.
    ///
    /// # Errors
    /// `AdaptNoLink` without a session; as [`Session::seal`].
    pub fn seal(&mut self, owner: u32, pdu: &mut Frame) -> Result<(), Drop> {
        let entry = self.entries.get_mut(owner as usize).ok_or(Drop::AdaptNoLink)?;
        entry.in_use.as_mut().ok_or(Drop::AdaptNoLink)?.seal(pdu)
    }
}
