//! What waits: one table of packets for both queues, with lists through it.

use crate::links::NIL;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;

/// A packet that waits.
#[derive(Debug)]
struct Node<T> {
    item: Option<T>,
    since: Instant,
    stream: u32,
    octets: u32,
    next: u32,
}

/// A list of packets, from its first to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    pub(super) const EMPTY: Self = Self { head: NIL, tail: NIL };

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.head == NIL
    }
}

/// What a packet says of itself before it is taken out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub(super) stream: u32,
    pub(super) octets: u32,
}

/// A packet that was taken out.
#[derive(Debug)]
pub(super) struct Popped<T> {
    pub(super) item: T,
    pub(super) since: Instant,
    pub(super) stream: u32,
    pub(super) octets: u32,
    /// Of the packet that is the first now.
    pub(super) next_octets: Option<u32>,
}

/// All packets. The table grows up to what has once waited, and never beyond what it was made for.
#[derive(Debug)]
pub(super) struct Nodes<T> {
    nodes: Vec<Node<T>>,
    /// Places without a packet, the one that was left last first, since it is warm.
    free: u32,
}

impl<T> Nodes<T> {
    /// Room for so many packets. What has not been used yet is not touched.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { nodes: Vec::with_capacity(capacity), free: NIL }
    }

    /// Puts a packet at the end of a list; true where it is the first.
    #[inline]
    pub(super) fn push_back(&mut self, chain: &mut Chain, item: T, since: Instant, label: Label) -> bool {
        let Label { stream, octets } = label;
        let node = Node { item: Some(item), since, stream, octets, next: NIL };
        let at = self.free;
        if let Some(place) = self.nodes.get_mut(at as usize) {
            self.free = place.next;
            *place = node;
            self.link(chain, at)
        } else {
            self.grow(chain, node)
        }
    }

    /// The same where no place was left.
    #[cold]
    fn grow(&mut self, chain: &mut Chain, node: Node<T>) -> bool {
        let Ok(at) = u32::try_from(self.nodes.len()) else { return false };
        self.nodes.push(node);
        self.link(chain, at)
    }

    /// The last packet of a list is this one, which has none behind it; true where it is the first.
    #[inline]
    fn link(&mut self, chain: &mut Chain, at: u32) -> bool {
        let tail = core::mem::replace(&mut chain.tail, at);
        if let Some(last) = self.nodes.get_mut(tail as usize) {
            last.next = at;
            return false;
        }
        chain.head = at;
        true
    }

    /// The first packet of a list.
    #[inline]
    pub(super) fn first(&self, chain: Chain) -> Option<Label> {
        let node = self.nodes.get(chain.head as usize)?;
        Some(Label { stream: node.stream, octets: node.octets })
    }

    /// Takes the first packet out of a list and its place where it may go; otherwise it says whose it is.
    #[inline]
    pub(super) fn pop_front_where(
        &mut self,
        chain: &mut Chain,
        may: impl FnOnce(Label) -> bool,
    ) -> Result<Popped<T>, Option<u32>> {
        let at = chain.head;
        let node = self.nodes.get_mut(at as usize).ok_or(None)?;
        let (stream, octets, since) = (node.stream, node.octets, node.since);
        if !may(Label { stream, octets }) {
            return Err(Some(stream));
        }
        let item = node.item.take().ok_or(None)?;
        chain.head = core::mem::replace(&mut node.next, self.free);
        self.free = at;
        let next_octets = self.nodes.get(chain.head as usize).map(|next| next.octets);
        if next_octets.is_none() {
            chain.tail = NIL;
        }
        Ok(Popped { item, since, stream, octets, next_octets })
    }

    /// Moves the first packet of one list to the end of another.
    pub(super) fn shift(&mut self, from: &mut Chain, to: &mut Chain) {
        let at = from.head;
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        from.head = core::mem::replace(&mut node.next, NIL);
        if from.head == NIL {
            from.tail = NIL;
        }
        self.link(to, at);
    }

    /// Moves all packets of a list behind those of another.
    pub(super) fn append(&mut self, to: &mut Chain, from: &mut Chain) {
        let behind = core::mem::replace(from, Chain::EMPTY);
        if behind.is_empty() {
            return;
        }
        if let Some(last) = self.nodes.get_mut(to.tail as usize) {
            last.next = behind.head;
            to.tail = behind.tail;
        } else {
            *to = behind;
        }
    }

    /// Asks for the first packet of a list, and says whose the second is.
    #[inline]
    pub(super) fn look_ahead(&self, chain: Chain, prefetch: Prefetch) -> Option<u32> {
        let next = self.nodes.get(self.nodes.get(chain.head as usize)?.next as usize)?;
        if let Some(after) = self.nodes.get(next.next as usize) {
            prefetch.value(after);
        }
        Some(next.stream)
    }
}
