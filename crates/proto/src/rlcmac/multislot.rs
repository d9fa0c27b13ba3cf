//! Which timeslots a mobile can use together: multislot classes 1 to 12, 05.02 (45.002) clause 6.4.2.2 and annex B.
//!
//! The mobiles of these classes (type 1) do not send and receive at the same time. Uplink timeslot `n` is on the air three
//! slots after downlink timeslot `n`. Between them the mobile changes frequency: `ttb` slots before it sends, `tra` slots
//! before it receives again and has measured a neighbour. With dynamic allocation it also listens for its USF on the downlink of
//! each of its uplink timeslots, so these count among the slots that it receives.

use core::fmt;

/// Timeslots of a TDMA frame: bit `n` is timeslot `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Slots(pub u8);

impl Slots {
    /// None.
    pub const NONE: Self = Self(0);

    /// One timeslot, 0 to 7; none for another number.
    #[must_use]
    pub const fn only(slot: u8) -> Self {
        if slot < 8 { Self(1 << slot) } else { Self::NONE }
    }

    /// How many.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True where `slot` is among them.
    #[must_use]
    pub const fn has(self, slot: u8) -> bool {
        slot < 8 && self.0 >> slot & 1 != 0
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// From the first to the last.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u8> {
        (0..8).filter(move |slot| self.has(*slot))
    }

    /// First and last; `None` where there is none.
    #[must_use]
    pub const fn span(self) -> Option<(u32, u32)> {
        if self.0 == 0 { None } else { Some((self.0.trailing_zeros(), 7 - self.0.leading_zeros())) }
    }
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, slot) in self.iter().enumerate() {
            write!(f, "{}{slot}", if n > 0 { "," } else { "" })?;
        }
        if self.0 == 0 { f.write_str("none") } else { Ok(()) }
    }
}

/// A multislot class, 1 to 12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MultislotClass(u8);

/// What a class permits: a row of table B.1. All in timeslots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Received in a frame.
    pub rx: u32,
    /// Sent in a frame.
    pub tx: u32,
    /// Both together.
    pub sum: u32,
    /// Before it sends, where it measures a neighbour in between.
    pub tta: u32,
    /// Before it sends.
    pub ttb: u32,
    /// Before it receives, where it measures a neighbour in between.
    pub tra: u32,
    /// Before it receives.
    pub trb: u32,
}

impl MultislotClass {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self(1),
        Self(2),
        Self(3),
        Self(4),
        Self(5),
        Self(6),
        Self(7),
        Self(8),
        Self(9),
        Self(10),
        Self(11),
        Self(12),
    ];

    /// The class of a number; `None` where it is not 1 to 12.
    #[must_use]
    pub const fn new(class: u8) -> Option<Self> {
        if class >= 1 && class <= 12 { Some(Self(class)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// What it permits.
    #[must_use]
    pub const fn limits(self) -> Limits {
        let (rx, tx, sum, tta, ttb, tra, trb) = match self.0 {
            2 => (2, 1, 3, 3, 2, 3, 1),
            3 => (2, 2, 3, 3, 2, 3, 1),
            4 => (3, 1, 4, 3, 1, 3, 1),
            5 => (2, 2, 4, 3, 1, 3, 1),
            6 => (3, 2, 4, 3, 1, 3, 1),
            7 => (3, 3, 4, 3, 1, 3, 1),
            8 => (4, 1, 5, 3, 1, 2, 1),
            9 => (3, 2, 5, 3, 1, 2, 1),
            10 => (4, 2, 5, 3, 1, 2, 1),
            11 => (4, 3, 5, 3, 1, 2, 1),
            12 => (4, 4, 5, 2, 1, 2, 1),
            _ => (1, 1, 2, 3, 2, 4, 2),
        };
        Limits { rx, tx, sum, tta, ttb, tra, trb }
    }

    /// True where a mobile of this class can have these timeslots at once, with dynamic allocation uplink.
    #[must_use]
    pub const fn permits(self, downlink: Slots, uplink: Slots) -> bool {
        let limits = self.limits();
        if downlink.count() > limits.rx
            || uplink.count() > limits.tx
            || downlink.count() + uplink.count() > limits.sum
        {
            return false;
        }
        let listens = downlink.and(uplink);
        let Some((first_rx, last_rx)) = listens.span() else { return true };
        // Windows, not sets: a slot in between that is left out still belongs to the window (clause 6.4.2.2).
        if last_rx + 1 - first_rx > limits.rx {
            return false;
        }
        let Some((first_tx, last_tx)) = uplink.span() else { return true };
        let sends_at = first_tx + 3;
        let has_sent_at = last_tx + 4;
        last_tx + 1 - first_tx <= limits.tx
            && sends_at >= last_rx + 1 + limits.ttb
            && first_rx + 8 >= has_sent_at + limits.tra
    }
}

impl fmt::Display for MultislotClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How many timeslots are wanted, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// PDCHs of the cell that may be used downlink.
    pub downlink: Slots,
    /// PDCHs of the cell that may be used uplink.
    pub uplink: Slots,
    /// At most so many downlink; 0 for no downlink TBF.
    pub downlink_max: u32,
    /// At most so many uplink; 0 for no uplink TBF.
    pub uplink_max: u32,
    /// Whether a slot more downlink is worth more than one uplink.
    pub prefers_downlink: bool,
}

/// What a mobile gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Downlink.
    pub downlink: Slots,
    /// Uplink.
    pub uplink: Slots,
}

/// Chooses timeslots for a mobile: as many as its class, the cell and the wish permit, at least one of each direction that is wished. Of
/// equal ones those with the lowest sum of `load`, by timeslot, then the first. `None` where not even one of each goes.
#[must_use]
pub fn choose(class: MultislotClass, wish: &Wish, load: &[u32; 8]) -> Option<Choice> {
    let mut best: Option<(Choice, (u32, u32, u64))> = None;
    for downlink in subsets(wish.downlink, wish.downlink_max) {
        for uplink in subsets(wish.uplink, wish.uplink_max) {
            if !class.permits(downlink, uplink) {
                continue;
            }
            let (first, second) = (downlink.count(), uplink.count());
            let (first, second) = if wish.prefers_downlink { (first, second) } else { (second, first) };
            let cost: u64 = downlink
                .iter()
                .chain(uplink.iter())
                .filter_map(|slot| load.get(usize::from(slot)))
                .map(|load| u64::from(*load))
                .sum();
            let rank = (first, second, u64::MAX - cost);
            if best.is_none_or(|(_, of_best)| rank > of_best) {
                best = Some((Choice { downlink, uplink }, rank));
            }
        }
    }
    best.map(|(choice, _)| choice)
}

/// The sets of adjacent timeslots among `of`, with one to `most` slots; the empty set alone where `most` is 0.
fn subsets(of: Slots, most: u32) -> impl Iterator<Item = Slots> {
    let none = (most == 0).then_some(Slots::NONE);
    let lengths = 1..=most.min(8);
    let runs = lengths.flat_map(|length| (0..=8 - length).map(move |first| run(first, length)));
    none.into_iter().chain(runs.filter(move |slots| slots.common(of) == *slots))
}

fn run(first: u32, length: u32) -> Slots {
    Slots(0xff_u8.checked_shr(8 - length).unwrap_or(0).checked_shl(first).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules on a line of time slots: in slot `n` the mobile receives, in slot `n + 3` it sends, and all again after 8.
    fn permits_on_a_line(class: MultislotClass, downlink: Slots, uplink: Slots) -> bool {
        let limits = class.limits();
        let window = |slots: Slots| slots.span().map_or(0, |(first, last)| last - first + 1);
        let listens = downlink.and(uplink);
        if window(listens) > limits.rx
            || window(uplink) > limits.tx
            || downlink.count() + uplink.count() > limits.sum
        {
            return false;
        }
        // Three frames; a slot receives, sends or rests.
        let mut line = [b'.'; 40];
        for frame in 0..3 {
            for slot in 0..8 {
                let (rx, tx) = (usize::from(slot) + 8 * frame, usize::from(slot) + 8 * frame + 3);
                if listens.has(slot) {
                    if line[rx] == b't' {
                        return false;
                    }
                    line[rx] = b'r';
                }
                if uplink.has(slot) {
                    if line[tx] == b'r' {
                        return false;
                    }
                    line[tx] = b't';
                }
            }
        }
        let busy: Vec<(usize, u8)> = line
            .iter()
            .enumerate()
            .filter(|(_, what)| **what != b'.')
            .map(|(at, what)| (at, *what))
            .collect();
        busy.windows(2).all(|pair| {
            let between = pair[1].0 - pair[0].0 - 1;
            match (pair[0].1, pair[1].1) {
                (b'r', b't') => between >= limits.ttb as usize,
                (b't', b'r') => between >= limits.tra as usize,
                _ => true,
            }
        })
    }

    #[test]
    fn every_pair_of_sets_agrees_with_the_line() {
        for class in MultislotClass::ALL {
            let mut permitted = 0;
            for downlink in 0..=255 {
                for uplink in 0..=255 {
                    let (downlink, uplink) = (Slots(downlink), Slots(uplink));
                    let permits = class.permits(downlink, uplink);
                    permitted += u32::from(permits);
                    // Most pairs break the limits at once; the line is for the others.
                    if permits || uplink.count() <= 4 && downlink.count() <= 4 {
                        let on_line = permits_on_a_line(class, downlink, uplink);
                        assert_eq!(permits, on_line, "class {class}: {downlink} down, {uplink} up");
                    }
                }
            }
            assert!(permitted > 8);
        }
    }

    fn wish(slots: Slots, downlink_max: u32, uplink_max: u32, prefers_downlink: bool) -> Wish {
        Wish { downlink: slots, uplink: slots, downlink_max, uplink_max, prefers_downlink }
    }

    fn most(class: u8, prefers_downlink: bool) -> (u32, u32) {
        let class = MultislotClass::new(class).unwrap();
        let choice = choose(class, &wish(Slots(0xff), 8, 8, prefers_downlink), &[0; 8]).unwrap();
        (choice.downlink.count(), choice.uplink.count())
    }

    #[test]
    fn classes_get_what_their_names_say() {
        let down: Vec<_> = (1..=12).map(|class| most(class, true)).collect();
        let expected =
            [(1, 1), (2, 1), (2, 1), (3, 1), (2, 2), (3, 1), (3, 1), (4, 1), (3, 2), (4, 1), (4, 1), (4, 1)];
        assert_eq!(down, expected);
        // Uplink dynamic allocation stops at two timeslots: a mobile listens on each before it sends.
        let up: Vec<_> = [3, 5, 6, 10, 12].into_iter().map(|class| most(class, false)).collect();
        assert_eq!(up, [(2, 1), (2, 2), (2, 2), (3, 2), (3, 2)]);
    }

    #[test]
    fn slots_of_low_load_are_taken_and_absent_ones_left() {
        let class = MultislotClass::new(4).unwrap();
        let load = [0, 9, 9, 9, 1, 1, 1, 1];
        let cell = Slots(0b1111_1110);
        let choice = choose(class, &wish(cell, 3, 1, true), &load).unwrap();
        assert_eq!((choice.downlink, choice.downlink.to_string()), (Slots(0b0111_0000), "4,5,6".to_owned()));
        assert!(class.permits(choice.downlink, choice.uplink));
        let one = choose(class, &wish(Slots::only(7), 3, 1, true), &load).unwrap();
        assert_eq!((one.downlink, one.uplink), (Slots::only(7), Slots::only(7)));
        let down = choose(class, &wish(cell, 2, 0, true), &load).unwrap();
        assert_eq!((down.downlink.count(), down.uplink), (2, Slots::NONE));
        assert_eq!(choose(class, &wish(Slots::NONE, 3, 1, true), &load), None);
        assert_eq!(Slots::NONE.to_string(), "none");
        assert_eq!((MultislotClass::new(0), MultislotClass::new(13)), (None, None));
    }
}
