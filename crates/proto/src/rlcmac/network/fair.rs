//! Whose turn it is on a PDCH: signalling, then real time, then by weight.

/// What a TBF's blocks are worth against those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Before all others, in turn among themselves.
    Signalling,
    /// Behind signalling and before the rest, in turn among themselves.
    RealTime,
    /// In proportion to the weight, at least 1.
    Weighted(u8),
}

/// Virtual octets that a block counts at weight 1.
const ONE: u64 = 1 << 16;

/// The account of one TBF: how much it has had, by its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    class: Class,
    finish: u64,
}

/// The virtual time of a cell in one direction: TBFs that come begin with it, and catch nothing up.
#[derive(Debug, Clone, Copy, Default)]
pub struct VirtualTime(u64);

impl VirtualTime {
    /// The account of a TBF that begins.
    #[must_use]
    pub const fn open(self, class: Class) -> Account {
        Account { class, finish: self.0 }
    }

    /// A TBF that had nothing to send has again.
    pub fn resume(self, account: &mut Account) {
        account.finish = account.finish.max(self.0);
    }

    /// A TBF has had a block.
    pub fn charge(&mut self, account: &mut Account) {
        self.0 = self.0.max(account.finish);
        let weight = match account.class {
            Class::Signalling | Class::RealTime => 1,
            Class::Weighted(weight) => u64::from(weight.max(1)),
        };
        account.finish = account.finish.saturating_add(ONE / weight);
    }
}

impl Account {
    /// The lowest has the next turn.
    #[must_use]
    pub const fn rank(self) -> (u8, u64) {
        let group = match self.class {
            Class::Signalling => 0,
            Class::RealTime => 1,
            Class::Weighted(_) => 2,
        };
        (group, self.finish)
    }

    /// Another class from now on.
    pub const fn set_class(&mut self, class: Class) {
        self.class = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(classes: &[Class], turns: usize) -> Vec<usize> {
        let mut time = VirtualTime::default();
        let mut accounts: Vec<Account> = classes.iter().map(|class| time.open(*class)).collect();
        let mut had = vec![0; classes.len()];
        for _ in 0..turns {
            let next = (0..accounts.len()).min_by_key(|at| accounts[*at].rank()).unwrap();
            time.charge(&mut accounts[next]);
            had[next] += 1;
        }
        had
    }

    #[test]
    fn blocks_go_by_weight() {
        assert_eq!(
            serve(&[Class::Weighted(1), Class::Weighted(2), Class::Weighted(4)], 700),
            [100, 200, 400]
        );
    }

    #[test]
    fn real_time_goes_first_and_in_turn() {
        assert_eq!(serve(&[Class::Weighted(8), Class::RealTime, Class::RealTime], 100), [0, 50, 50]);
        assert_eq!(serve(&[Class::RealTime, Class::Signalling], 100), [0, 100]);
    }

    #[test]
    fn who_comes_later_catches_nothing_up() {
        let mut time = VirtualTime::default();
        let mut first = time.open(Class::Weighted(1));
        for _ in 0..100 {
            time.charge(&mut first);
        }
        let mut idle = Account { class: Class::Weighted(1), finish: 0 };
        time.resume(&mut idle);
        assert!(idle.finish >= 99 * ONE && time.open(Class::Weighted(1)).rank() == idle.rank());
    }
}
