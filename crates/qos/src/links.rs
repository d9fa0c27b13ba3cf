//! Doubly linked lists through the elements of a table, by index: everything in O(1), and no allocation.

/// "No element."
pub const NIL: u32 = u32::MAX;

/// The two neighbours of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    prev: u32,
    next: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { prev: NIL, next: NIL }
    }
}

/// The two ends of a list, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// The links of the elements of one table. An element is in one list of these links at a time; that it is taken out
/// of the list that it is in is the caller's care.
#[derive(Debug, Default)]
pub struct Links(Vec<Link>);

impl Links {
    /// Links for `elements` elements, allocated now.
    #[must_use]
    pub fn new(elements: usize) -> Self {
        Self(vec![Link::default(); elements])
    }

    /// Links for no element yet; the first `elements` of them cost no allocation later.
    #[must_use]
    pub fn with_capacity(elements: usize) -> Self {
        Self(Vec::with_capacity(elements))
    }

    /// Links for one element more.
    pub fn grow(&mut self) {
        self.0.push(Link::default());
    }

    #[inline]
    fn get(&self, at: u32) -> Link {
        self.0.get(at as usize).copied().unwrap_or_default()
    }

    #[inline]
    fn set(&mut self, at: u32, change: impl FnOnce(&mut Link)) {
        if let Some(link) = self.0.get_mut(at as usize) {
            change(link);
        }
    }

    /// Puts `at` at the end of `list`.
    #[inline]
    pub fn push_back(&mut self, list: &mut List, at: u32) {
        let tail = list.tail;
        self.set(at, |link| *link = Link { prev: tail, next: NIL });
        if tail == NIL {
            list.head = at;
        } else {
            self.set(tail, |link| link.next = at);
        }
        list.tail = at;
        list.len += 1;
    }

    /// Puts `at` at the beginning of `list`.
    pub fn push_front(&mut self, list: &mut List, at: u32) {
        let head = list.head;
        self.set(at, |link| *link = Link { prev: NIL, next: head });
        if head == NIL {
            list.tail = at;
        } else {
            self.set(head, |link| link.prev = at);
        }
        list.head = at;
        list.len += 1;
    }

    /// Puts `at` behind `before`, which is in `list`.
    pub fn insert_behind(&mut self, list: &mut List, before: u32, at: u32) {
        let next = self.get(before).next;
        if next == NIL {
            return self.push_back(list, at);
        }
        self.set(at, |link| *link = Link { prev: before, next });
        self.set(before, |link| link.next = at);
        self.set(next, |link| link.prev = at);
        list.len += 1;
    }

    /// Takes `at`, which is in `list`, out of it.
    #[inline]
    pub fn remove(&mut self, list: &mut List, at: u32) {
        let Link { prev, next } = self.get(at);
        if prev == NIL {
            list.head = next;
        } else {
            self.set(prev, |link| link.next = next);
        }
        if next == NIL {
            list.tail = prev;
        } else {
            self.set(next, |link| link.prev = prev);
        }
        self.set(at, |link| *link = Link::default());
        list.len = list.len.saturating_sub(1);
    }

    /// Takes the first out of `list`.
    #[inline]
    pub fn pop_front(&mut self, list: &mut List) -> Option<u32> {
        let first = list.first()?;
        self.remove(list, first);
        Some(first)
    }

    /// The element behind `at`.
    #[must_use]
    #[inline]
    pub fn next(&self, at: u32) -> Option<u32> {
        Some(self.get(at).next).filter(|next| *next != NIL)
    }
}

impl List {
    /// A list without elements.
    pub const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };

    /// The first element.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<u32> {
        Some(self.head).filter(|head| *head != NIL)
    }

    /// The last element.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<u32> {
        Some(self.tail).filter(|tail| *tail != NIL)
    }

    /// How many elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True when there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_go_in_and_out_anywhere() {
        let mut links = Links::new(4);
        let mut list = List::default();
        for at in 0..4 {
            links.push_back(&mut list, at);
        }
        links.remove(&mut list, 0);
        links.remove(&mut list, 2);
        links.push_back(&mut list, 2);
        assert_eq!(links.next(1), Some(3));
        let order: Vec<u32> = core::iter::from_fn(|| links.pop_front(&mut list)).collect();
        assert_eq!(order, [1, 3, 2]);
        assert!(list.is_empty() && list.first().is_none());
    }
}
