//! What has befallen each mobile lately, for `show why imsi …`.

use foldhash::fast::FixedState;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_wire::id::Imsi;
use std::collections::HashMap;

/// Drops and sentences remembered of one mobile.
pub const DROPS_PER_MOBILE: usize = 16;
/// Letters of a sentence that are kept.
const SENTENCE_MAX: usize = 240;

/// What has befallen a mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// Something of it was dropped or refused, by this name.
    Dropped(Drop),
    /// Why something was refused or ended.
    Explained(Box<str>),
}

/// Remembers the last [`DROPS_PER_MOBILE`] drops and explanations of a limited number of mobiles. When one more mobile comes, the
/// one that came first is forgotten. All memory is taken at the start, but for that of the sentences.
#[derive(Debug)]
pub struct DropHistory {
    by_imsi: HashMap<Imsi, usize, FixedState>,
    mobiles: Vec<Mobile>,
    max: usize,
    oldest: usize,
}

#[derive(Debug)]
struct Mobile {
    imsi: Imsi,
    last: [Option<(Instant, Happened)>; DROPS_PER_MOBILE],
    next: usize,
}

impl DropHistory {
    /// Room for `max` mobiles.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            // Twice the room, so that the table never grows when keys come and go.
            by_imsi: HashMap::with_capacity_and_hasher(max.saturating_mul(2), FixedState::default()),
            mobiles: Vec::with_capacity(max),
            max,
            oldest: 0,
        }
    }

    /// Remembers one drop.
    pub fn add(&mut self, imsi: Imsi, at: Instant, drop: Drop) {
        self.remember(imsi, at, || Happened::Dropped(drop));
    }

    /// Remembers why something was refused or ended.
    pub fn explain(&mut self, imsi: Imsi, at: Instant, why: core::fmt::Arguments<'_>) {
        self.remember(imsi, at, || {
            let sentence: String = why.to_string().chars().take(SENTENCE_MAX).collect();
            Happened::Explained(sentence.into_boxed_str())
        });
    }

    fn remember(&mut self, imsi: Imsi, at: Instant, what: impl FnOnce() -> Happened) {
        let index = self.by_imsi.get(&imsi).copied().or_else(|| self.take_in(imsi));
        let Some(mobile) = index.and_then(|index| self.mobiles.get_mut(index)) else { return };
        if let Some(slot) = mobile.last.get_mut(mobile.next) {
            *slot = Some((at, what()));
        }
        mobile.next = (mobile.next + 1) % DROPS_PER_MOBILE;
    }

    fn take_in(&mut self, imsi: Imsi) -> Option<usize> {
        let fresh = Mobile { imsi, last: [const { None }; DROPS_PER_MOBILE], next: 0 };
        let index = if self.mobiles.len() < self.max {
            self.mobiles.push(fresh);
            self.mobiles.len() - 1
        } else {
            let index = self.oldest;
            let forgotten = self.mobiles.get_mut(index)?;
            self.by_imsi.remove(&forgotten.imsi);
            *forgotten = fresh;
            self.oldest = (index + 1) % self.max;
            index
        };
        self.by_imsi.insert(imsi, index);
        Some(index)
    }

    /// What is remembered of one mobile, the oldest first.
    pub fn of(&self, imsi: Imsi) -> impl Iterator<Item = (Instant, &Happened)> + '_ {
        self.by_imsi.get(&imsi).and_then(|index| self.mobiles.get(*index)).into_iter().flat_map(|mobile| {
            let (newer, older) = mobile.last.split_at(mobile.next);
            older.iter().chain(newer).flatten().map(|(at, what)| (*at, what))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imsi(number: u8) -> Imsi {
        Imsi::from_tbcd([number & 0xf | (number & 0xf) << 4, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0xf1])
            .unwrap()
    }

    #[test]
    fn the_last_drops_of_the_last_mobiles_are_kept() {
        let mut history = DropHistory::new(2);
        for at in 0..20 {
            history.add(imsi(1), Instant(at), Drop::NoFrame);
        }
        let times: Vec<u64> = history.of(imsi(1)).map(|(at, _)| at.0).collect();
        assert_eq!(times, (4..20).collect::<Vec<u64>>());
        history.add(imsi(2), Instant(30), Drop::NoFrame);
        history.add(imsi(3), Instant(31), Drop::NoFrame);
        assert_eq!(history.of(imsi(1)).count(), 0);
        assert_eq!(history.of(imsi(2)).count(), 1);
        assert_eq!(
            history.of(imsi(3)).collect::<Vec<_>>(),
            [(Instant(31), &Happened::Dropped(Drop::NoFrame))]
        );
        history.explain(imsi(3), Instant(31), format_args!("{}", "\u{e9}".repeat(SENTENCE_MAX + 1)));
        let (_, last) = history.of(imsi(3)).last().unwrap();
        assert_eq!(*last, Happened::Explained("\u{e9}".repeat(SENTENCE_MAX).into()));
        history.add(imsi(1), Instant(32), Drop::NoFrame);
        assert_eq!(history.of(imsi(2)).count(), 0);
        assert_eq!(DropHistory::new(0).of(imsi(1)).count(), 0);
    }

    #[test]
    fn a_history_without_room_remembers_nothing() {
        let mut history = DropHistory::new(0);
        history.add(imsi(1), Instant(1), Drop::NoFrame);
        assert_eq!(history.of(imsi(1)).count(), 0);
    }
}
