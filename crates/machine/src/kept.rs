//! Octets that are kept until a peer has them, longer than a frame may be held: in slots of memory that all mobiles share.
//!
//! Memory of a mobile's own is out of every cache when its turn comes again, and which mobile that is shows shortly before. Slots are
//! taken in the order of their places, whoever comes, as in a log that goes round: that is where a processor expects to be
//! written to, and what comes next is asked for in good time ([`Keeper::prefetch`]). What is still kept there is passed over, so that who is
//! late holds on to his own slots alone. Where more than half are taken there will be more of them.

use crate::prefetch::Prefetch;
use core::cell::{Ref, RefCell};
use core::fmt;
use core::ops::Deref;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::rc::Rc;

/// Octets of the smallest slots. Those of each further size are twice as long.
const SMALLEST: usize = 64;
/// How many sizes there are: the largest slots hold what a frame holds.
const SIZES: usize = 6;
pub(crate) const LARGEST: usize = SMALLEST << (SIZES - 1);
/// Octets of memory that are taken at once.
const CHUNK: usize = 1 << 17;
const _: () = assert!(CHUNK / LARGEST == WORD);
/// Bits of a word of the map of what is free.
const WORD: usize = 64;
/// Slots of one size at most: as many as their numbers have room for.
const SLOTS_MAX: usize = 1 << 20;
/// Octets of memory for one size at most.
const OCTETS_MAX: usize = 128 << 20;
/// Where there may be no more slots, and fewer are free than one for so many words of the map, none is looked for.
const SPARSE: usize = 16;
/// Slots that are given back before their bits are set.
const RETURNED_MAX: usize = 32;
/// Slots that are taken before the one that is asked for.
const AHEAD: usize = 2;

/// Keeps octets. All clones are one.
#[derive(Clone)]
pub struct Keeper(Rc<Memory>);

enum Memory {
    Slots(Box<[RefCell<Slots>; SIZES]>),
    /// Octets of one who has them for himself.
    Own(RefCell<Box<[u8]>>),
}

/// Slots of one size.
#[derive(Default)]
struct Slots {
    size: usize,
    chunks: Vec<Box<[u8]>>,
    /// Those that will be taken next, in their order: what is given back meanwhile comes behind them.
    soon: VecDeque<u32>,
    /// Those that were given back last. Their bits are far from each other, and set together.
    returned: Vec<u32>,
    /// Which are free besides, bit by bit, and how many.
    free: Vec<u64>,
    vacant: usize,
    /// Where the next is looked for.
    hand: usize,
}

impl Slots {
    /// Takes one; `None` where there are no numbers left.
    fn take(&mut self) -> Option<u32> {
        while self.soon.len() <= AHEAD + 1
            && let Some(slot) = self.next_free()
        {
            self.soon.push_back(slot);
        }
        self.soon.pop_front()
    }

    fn next_free(&mut self) -> Option<u32> {
        let slot = self.free_from(self.hand).or_else(|| {
            // Once round.
            self.note_returned();
            let has_few = self.vacant * 2 < self.free.len() * WORD || self.free.is_empty();
            if has_few && let Some(first) = self.grow() {
                return Some(first);
            }
            let is_worth_while = self.vacant >= self.free.len() / SPARSE;
            is_worth_while.then(|| self.free_from(0)).flatten()
        })?;
        if let Some(word) = self.free.get_mut(slot / WORD) {
            *word &= !(1 << (slot % WORD));
        }
        self.vacant -= 1;
        self.hand = slot + 1;
        u32::try_from(slot).ok()
    }

    /// The first that is free, from this one on.
    fn free_from(&self, slot: usize) -> Option<usize> {
        if self.vacant == 0 {
            return None;
        }
        let (first, words) = self.free.get(slot / WORD..)?.split_first()?;
        let rest = first & (u64::MAX << (slot % WORD));
        let mut all = core::iter::once(&rest).chain(words).enumerate();
        let (behind, word) = all.find(|(_, word)| **word != 0)?;
        Some((slot / WORD + behind) * WORD + word.trailing_zeros() as usize)
    }

    /// More of them: gives the first. `None` where there are no numbers left.
    fn grow(&mut self) -> Option<usize> {
        let (first, more) = (self.free.len() * WORD, CHUNK / self.size);
        if first + more > SLOTS_MAX.min(OCTETS_MAX / self.size) {
            return None;
        }
        self.chunks.push(vec![0; CHUNK].into_boxed_slice());
        self.free.resize(self.free.len() + more / WORD, u64::MAX);
        self.vacant += more;
        Some(first)
    }

    fn give_back(&mut self, slot: u32) {
        self.returned.push(slot);
        if self.returned.len() == RETURNED_MAX {
            self.note_returned();
        }
    }

    /// Sets the bits of those that were given back: of so many in a row none waits for the memory of another.
    fn note_returned(&mut self) {
        self.vacant += self.returned.len();
        for slot in self.returned.drain(..) {
            if let Some(word) = self.free.get_mut(slot as usize / WORD) {
                *word |= 1 << (slot as usize % WORD);
            }
        }
    }

    /// Chunk and place of a slot.
    const fn place(&self, slot: u32) -> (usize, usize) {
        let at = slot as usize * self.size;
        (at / CHUNK, at % CHUNK)
    }

    fn octets(&self, slot: u32, len: usize) -> &[u8] {
        let (chunk, from) = self.place(slot);
        self.chunks.get(chunk).and_then(|chunk| chunk.get(from..from + len)).unwrap_or_default()
    }

    fn octets_mut(&mut self, slot: u32, len: usize) -> &mut [u8] {
        let (chunk, from) = self.place(slot);
        self.chunks.get_mut(chunk).and_then(|chunk| chunk.get_mut(from..from + len)).unwrap_or_default()
    }
}

/// The place among the sizes of the one for so many octets.
const fn size_for(octets: usize) -> usize {
    octets.div_ceil(SMALLEST).next_power_of_two().trailing_zeros() as usize
}

impl Default for Keeper {
    fn default() -> Self {
        let slots = |size| RefCell::new(Slots { size: SMALLEST << size, ..Slots::default() });
        Self(Rc::new(Memory::Slots(Box::new(core::array::from_fn(slots)))))
    }
}

impl Keeper {
    /// A slot for so many octets, for [`Kept::write`], with a note that whoever keeps them gets back: what is written there may come from far away, so
    /// that it had better be the last of what is done.
    #[must_use]
    pub fn claim(&self, len: u16, note: u32) -> Kept {
        let slot = match &*self.0 {
            Memory::Slots(sizes) => {
                sizes.get(size_for(len.into())).and_then(|slots| slots.borrow_mut().take())
            }
            Memory::Own(_) => None,
        };
        match slot {
            Some(slot) => Kept::new(Rc::clone(&self.0), slot, (len, note)),
            None => Kept::claim_own((len, note)),
        }
    }

    /// Asks for the slot of so many octets that will be claimed soon, and then not be looked at before it is sent again, if ever.
    pub fn prefetch(&self, octets: usize, prefetch: Prefetch) {
        let Memory::Slots(sizes) = &*self.0 else { return };
        let Some(slots) = sizes.get(size_for(octets)).map(RefCell::borrow) else { return };
        if let Some(slot) = slots.soon.get(AHEAD) {
            prefetch.once(slots.octets(*slot, octets));
        }
    }

    /// Octets of memory.
    #[must_use]
    pub fn octets(&self) -> usize {
        match &*self.0 {
            Memory::Slots(sizes) => sizes.iter().map(|slots| slots.borrow().chunks.len() * CHUNK).sum(),
            Memory::Own(octets) => octets.borrow().len(),
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keeper({} octets)", self.octets())
    }
}

/// Octets that are kept as long as this is there.
pub struct Kept {
    /// Where they stand; `None` where there is nothing.
    memory: Option<Rc<Memory>>,
    /// Slot (20 bits), length (12) and note (32). Two plain values are handed on without memory, and so without waiting for it.
    place: u64,
}

/// The longest that has a number.
const LEN_MAX: u16 = (1 << 12) - 1;

impl Kept {
    /// No octets, and no memory: a place for some.
    pub const NOTHING: Self = Self { memory: None, place: 0 };

    fn new(memory: Rc<Memory>, slot: u32, (len, note): (u16, u32)) -> Self {
        debug_assert!(len <= LEN_MAX, "no frame holds more");
        let memory = Some(memory);
        Self { memory, place: u64::from(slot) << 44 | u64::from(len.min(LEN_MAX)) << 32 | u64::from(note) }
    }

    fn claim_own((len, note): (u16, u32)) -> Self {
        let octets = vec![0; len.into()].into_boxed_slice();
        Self::new(Rc::new(Memory::Own(RefCell::new(octets))), 0, (len, note))
    }

    /// Octets in memory of their own.
    #[must_use]
    pub fn own(octets: &[u8], note: u32) -> Self {
        let kept = Self::claim_own((u16::try_from(octets.len()).unwrap_or(u16::MAX), note));
        kept.write([octets, &[]]);
        kept
    }

    /// Puts octets there, which come in two pieces: once, and as many as were claimed.
    pub fn write(&self, [head, octets]: [&[u8]; 2]) {
        let len = usize::from(self.len());
        debug_assert_eq!(head.len() + octets.len(), len, "as many as were claimed");
        let put = |to: &mut [u8]| match to.split_at_mut_checked(head.len()) {
            Some((front, back)) if back.len() == octets.len() => {
                front.copy_from_slice(head);
                back.copy_from_slice(octets);
            }
            // What another had there is nobody's business.
            _ => to.fill(0),
        };
        match self.memory.as_deref() {
            Some(Memory::Slots(sizes)) => {
                if let Some(slots) = sizes.get(size_for(len)) {
                    put(slots.borrow_mut().octets_mut(self.slot(), len));
                }
            }
            Some(Memory::Own(own)) => put(&mut own.borrow_mut()),
            None => {}
        }
    }

    const fn slot(&self) -> u32 {
        (self.place >> 44) as u32
    }

    /// How many there are.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "12 bits of them")]
    pub const fn len(&self) -> u16 {
        (self.place >> 32) as u16 & LEN_MAX
    }

    /// The note.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub const fn note(&self) -> u32 {
        self.place as u32
    }

    /// True where there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// They themselves. Nobody claims or writes while they are looked at.
    #[must_use]
    pub fn octets(&self) -> Octets<'_> {
        let len = usize::from(self.len());
        match self.memory.as_deref() {
            Some(Memory::Slots(sizes)) => {
                let slots = sizes.get(size_for(len)).map(RefCell::borrow);
                Octets(slots.map(|slots| Ref::map(slots, |slots| slots.octets(self.slot(), len))))
            }
            Some(Memory::Own(octets)) => Octets(Some(Ref::map(octets.borrow(), |octets| &**octets))),
            None => Octets(None),
        }
    }
}

/// A look at octets that are kept.
#[derive(Debug)]
pub struct Octets<'a>(Option<Ref<'a, [u8]>>);

impl Deref for Octets<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(Memory::Slots(sizes)) = self.memory.as_deref()
            && let Some(slots) = sizes.get(size_for(self.len().into()))
        {
            slots.borrow_mut().give_back(self.slot());
        }
    }
}

/// A copy in memory of its own.
impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::own(&self.octets(), self.note())
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.note() == other.note() && *self.octets() == *other.octets()
    }
}

impl Eq for Kept {}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({} octets)", self.len())
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.note(), &*self.octets()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (note, octets) = <(u32, Vec<u8>)>::deserialize(deserializer)?;
        if octets.len() > LARGEST {
            return Err(serde::de::Error::invalid_length(octets.len(), &"octets of one PDU"));
        }
        Ok(Self::own(&octets, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(keeper: &Keeper, [head, octets]: [&[u8]; 2]) -> Kept {
        let kept = keeper.claim(u16::try_from(head.len() + octets.len()).unwrap(), 7);
        kept.write([head, octets]);
        kept
    }

    #[test]
    fn what_is_kept_stays_whatever_comes_behind_it_and_goes() {
        let (keeper, mut kept) = (Keeper::default(), VecDeque::new());
        let mut rng = fastrand::Rng::with_seed(5);
        let mut most = 0;
        for n in 0..50_000_u32 {
            let pdu: Vec<u8> = n.to_be_bytes().into_iter().cycle().take(rng.usize(..=LARGEST)).collect();
            let (head, octets) = pdu.split_at(rng.usize(..=pdu.len()));
            kept.push_back((keep(&keeper, [head, octets]), pdu));
            most = most.max(kept.len());
            while kept.len() > rng.usize(..2000) {
                let (kept, pdu) = kept.swap_remove_front(rng.usize(..kept.len())).unwrap();
                assert_eq!((&*kept.octets(), usize::from(kept.len()), kept.note()), (&pdu[..], pdu.len(), 7));
            }
        }
        assert!(kept.iter().all(|(kept, pdu)| *kept.octets() == pdu[..]));
        let before = keeper.octets();
        assert!(before <= 2 * most * LARGEST + SIZES * CHUNK, "{keeper:?} for {most}");
        drop(kept);
        let again: Vec<Kept> = (0..most / 3).map(|_| keeper.claim(2000, 0)).collect();
        assert_eq!(keeper.octets(), before, "what was given back is taken again, for {}", again.len());
    }

    #[test]
    fn each_length_has_the_smallest_slot_that_holds_it() {
        for (octets, size) in
            [(0, 64), (1, 64), (64, 64), (65, 128), (128, 128), (400, 512), (1025, 2048), (2048, 2048)]
        {
            assert_eq!(SMALLEST << size_for(octets), size, "{octets}");
            let keeper = Keeper::default();
            let slots = CHUNK / size;
            let kept: Vec<Kept> =
                (0..slots - AHEAD - 1).map(|_| keep(&keeper, [&vec![1; octets], &[]])).collect();
            assert_eq!(keeper.octets(), CHUNK);
            let one_more = keep(&keeper, [&vec![2; octets], &[]]);
            assert_eq!(keeper.octets(), 2 * CHUNK);
            assert!(kept.iter().all(|kept| kept.octets().iter().all(|octet| *octet == 1)));
            drop((kept, one_more));
            (0..5 * slots).for_each(|_| drop(keep(&keeper, [&vec![3; octets], &[]])));
            assert_eq!(keeper.octets(), 2 * CHUNK);
        }
    }

    #[test]
    fn who_is_late_holds_on_to_his_own_alone() {
        let keeper = Keeper::default();
        let (mut late, mut kept) = (Vec::new(), VecDeque::new());
        for n in 0..200_000_u32 {
            let one = keep(&keeper, [&n.to_be_bytes(), &[1; 396]]);
            if n % 100 == 0 && late.len() < 500 {
                late.push((n, one));
            } else {
                kept.push_back(one);
            }
            if kept.len() > 1000 {
                kept.pop_front();
            }
        }
        assert!(late.iter().all(|(n, kept)| kept.octets().starts_with(&n.to_be_bytes())));
        assert!(keeper.octets() <= 2 * 1500 * 512 + 2 * CHUNK, "{keeper:?}");
    }

    #[test]
    fn beyond_the_numbers_of_slots_there_is_memory_of_its_own() {
        let keeper = Keeper::default();
        let kept: Vec<Kept> = (0..SLOTS_MAX + 10).map(|_| keep(&keeper, [b"one", b"two"])).collect();
        assert_eq!(keeper.octets(), SLOTS_MAX * SMALLEST);
        assert!(kept.iter().all(|kept| *kept.octets() == *b"onetwo"));
        let some: Vec<Kept> = kept.into_iter().step_by(3).collect();
        let again: Vec<Kept> = (0..SLOTS_MAX).map(|_| keep(&keeper, [b"three", &[]])).collect();
        assert_eq!(keeper.octets(), SLOTS_MAX * SMALLEST);
        assert!(some.iter().all(|kept| *kept.octets() == *b"onetwo"));
        assert!(again.iter().all(|kept| *kept.octets() == *b"three"));
        let large: Vec<Kept> = (0..OCTETS_MAX / LARGEST + 10).map(|_| keeper.claim(2000, 0)).collect();
        assert_eq!(keeper.octets(), SLOTS_MAX * SMALLEST + OCTETS_MAX, "and of its own for {}", large.len());
        let too_long = keep(&keeper, [&[4; LARGEST], &[5]]);
        assert_eq!((too_long.octets().len(), too_long.octets().last()), (LARGEST + 1, Some(&5)));
    }

    thread_local! {
        static ASKED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn nothing_has_no_memory_and_gives_none_back() {
        let nothing = Kept::NOTHING;
        nothing.write([&[], &[]]);
        assert_eq!((&*nothing.octets(), nothing.len(), nothing.note()), (&[][..], 0, 0));
        assert_eq!(nothing, Kept::own(&[], 0));
        let keeper = Keeper::default();
        let kept: Vec<Kept> = (0..100).map(|n| keep(&keeper, [&[n], &[]])).collect();
        drop(nothing);
        let more: Vec<Kept> = (100..200).map(|n| keep(&keeper, [&[n], &[]])).collect();
        assert!(kept.iter().chain(&more).zip(0..).all(|(kept, n)| *kept.octets() == [n]));
    }

    #[test]
    fn what_is_asked_for_is_claimed_soon() {
        let prefetch = Prefetch::new(
            |_, _| {},
            |at, octets| {
                assert_eq!(octets, 400);
                ASKED.with(|asked| asked.borrow_mut().push(at.addr()));
            },
        );
        let keeper = Keeper::default();
        keeper.prefetch(400, prefetch);
        assert!(ASKED.take().is_empty(), "there are no slots yet");
        let (mut kept, mut asked) = (VecDeque::new(), VecDeque::new());
        for n in 0..5000 {
            kept.push_back(keeper.claim(400, n));
            let is_asked = asked.contains(&kept.back().unwrap().octets().as_ptr().addr());
            assert_eq!(is_asked, n as usize > AHEAD, "{n}");
            keeper.prefetch(400, prefetch);
            asked.extend(ASKED.take());
            if asked.len() > AHEAD + 1 {
                asked.pop_front();
            }
            if n >= 600 {
                kept.pop_front();
            }
        }
        assert!(keeper.octets() < 5000 * 512 / 2, "slots are taken again");
    }

    #[test]
    fn it_travels_as_octets() {
        let kept = keep(&Keeper::default(), [b"one", b"two"]);
        let octets = postcard::to_allocvec(&kept).unwrap();
        let there: Kept = postcard::from_bytes(&octets).unwrap();
        assert_eq!((&there, &*there.octets()), (&kept, &b"onetwo"[..]));
        assert_eq!(there.clone(), kept.clone());
        assert_ne!(kept, Kept::own(b"onetwo", 8));
        assert_ne!(kept, Kept::own(b"onetoo", 7));
        assert!(!kept.is_empty() && Kept::own(&[], 7).is_empty());
        let long = postcard::to_allocvec(&(7_u32, vec![1_u8; 5000])).unwrap();
        assert!(postcard::from_bytes::<Kept>(&long).is_err());
    }
}
