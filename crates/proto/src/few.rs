//! A list that nearly always has one element, which is stored inline to save one cache miss. Plain data.

use serde::{Deserialize, Serialize};

/// The first in its place, and all others in memory of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Few<T> {
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Few<T> {
    /// None at all.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: None, others: Vec::new() }
    }

    /// The first, where there is any.
    #[must_use]
    pub const fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// All of them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.first.iter().chain(&self.others)
    }

    /// The same, to change them.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.others)
    }

    /// The first that is meant.
    #[inline]
    pub fn find(&self, mut is_meant: impl FnMut(&T) -> bool) -> Option<&T> {
        match &self.first {
            Some(first) if is_meant(first) => Some(first),
            _ => self.others.iter().find(|item| is_meant(item)),
        }
    }

    /// The same, to change it.
    #[inline]
    pub fn find_mut(&mut self, mut is_meant: impl FnMut(&T) -> bool) -> Option<&mut T> {
        match &mut self.first {
            Some(first) if is_meant(first) => Some(first),
            _ => self.others.iter_mut().find(|item| is_meant(item)),
        }
    }

    /// How many.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.first.is_some() as usize + self.others.len()
    }

    /// True where there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one with so many before it.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index.checked_sub(1) {
            None => self.first.as_mut(),
            Some(index) => self.others.get_mut(index),
        }
    }

    /// One more.
    pub fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.others.reserve_exact(1);
            self.others.push(item);
        }
    }

    /// Takes out the first that is meant.
    pub fn take(&mut self, mut is_meant: impl FnMut(&T) -> bool) -> Option<T> {
        let taken = self.first.take_if(|item| is_meant(item)).or_else(|| {
            let place = self.others.iter().position(is_meant)?;
            Some(self.others.remove(place))
        });
        if self.first.is_none() && !self.others.is_empty() {
            self.first = Some(self.others.remove(0));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_always_taken() {
        let mut few = Few::default();
        (0..4).for_each(|n| few.push(n));
        assert_eq!((few.take(|n| *n == 0), few.first()), (Some(0), Some(&1)));
        assert_eq!((few.take(|n| *n == 2), few.take(|n| *n == 2)), (Some(2), None));
        assert_eq!((few.iter().copied().collect::<Vec<_>>(), few.len()), (vec![1, 3], 2));
        assert_eq!((few.get_mut(1).copied(), few.get_mut(2)), (Some(3), None));
        few.iter_mut().for_each(|n| *n += 1);
        assert_eq!((few.take(|_| true), few.take(|_| true)), (Some(2), Some(4)));
        assert!(few.is_empty() && few.get_mut(0).is_none());
    }
}
