//! Circular lists through the places of a table. An element leaves its chain without anybody knowing which one it is
//! in, and a whole chain joins another, both in O(1): what a cell's flows need when they are parked and come back.

/// The two neighbours of an element; itself twice where it is in no chain.
#[derive(Debug, Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
}

/// Chains over elements 0 to `elements` − 1. Each chain is named by its number.
#[derive(Debug)]
pub(super) struct Chains {
    /// The elements, then one anchor for each chain.
    links: Vec<Link>,
    elements: u32,
}

impl Chains {
    /// Empty chains, allocated now.
    pub(super) fn new(elements: u32, chains: u32) -> Self {
        let links = (0..elements.saturating_add(chains)).map(|at| Link { prev: at, next: at }).collect();
        Self { links, elements }
    }

    fn get(&self, at: u32) -> Link {
        self.links.get(at as usize).copied().unwrap_or(Link { prev: at, next: at })
    }

    fn join(&mut self, left: u32, right: u32) {
        if let Some(link) = self.links.get_mut(left as usize) {
            link.next = right;
        }
        if let Some(link) = self.links.get_mut(right as usize) {
            link.prev = left;
        }
    }

    const fn anchor(&self, chain: u32) -> u32 {
        self.elements + chain
    }

    /// The first element of `chain`.
    pub(super) fn first(&self, chain: u32) -> Option<u32> {
        let anchor = self.anchor(chain);
        Some(self.get(anchor).next).filter(|first| *first != anchor)
    }

    /// Puts `at`, which is in no chain, at the end of `chain`.
    pub(super) fn push_back(&mut self, chain: u32, at: u32) {
        let anchor = self.anchor(chain);
        let last = self.get(anchor).prev;
        self.join(last, at);
        self.join(at, anchor);
    }

    /// Puts `at`, which is in no chain, at the front of `chain`.
    pub(super) fn push_front(&mut self, chain: u32, at: u32) {
        let anchor = self.anchor(chain);
        let first = self.get(anchor).next;
        self.join(at, first);
        self.join(anchor, at);
    }

    /// Takes `at` out of the chain that it is in, whichever it is.
    pub(super) fn unlink(&mut self, at: u32) {
        let Link { prev, next } = self.get(at);
        self.join(prev, next);
        self.join(at, at);
    }

    /// Puts all elements of `chain` at the end of `onto` and leaves it empty.
    pub(super) fn append(&mut self, onto: u32, chain: u32) {
        let (from, to) = (self.anchor(chain), self.anchor(onto));
        let Link { prev: last, next: first } = self.get(from);
        if first != from {
            let before = self.get(to).prev;
            self.join(before, first);
            self.join(last, to);
            self.join(from, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chains: &mut Chains, chain: u32) -> Vec<u32> {
        core::iter::from_fn(|| {
            let first = chains.first(chain)?;
            chains.unlink(first);
            Some(first)
        })
        .collect()
    }

    #[test]
    fn elements_leave_whatever_chain_they_are_in() {
        let mut chains = Chains::new(6, 2);
        for at in [0, 1, 2] {
            chains.push_back(0, at);
        }
        for at in [3, 4, 5] {
            chains.push_front(1, at);
        }
        chains.append(0, 1);
        chains.append(0, 1);
        assert_eq!(chains.first(1), None);
        chains.unlink(4);
        chains.unlink(4);
        chains.unlink(0);
        chains.push_back(1, 4);
        assert_eq!(all(&mut chains, 0), [1, 2, 5, 3]);
        assert_eq!(all(&mut chains, 1), [4]);
    }
}
