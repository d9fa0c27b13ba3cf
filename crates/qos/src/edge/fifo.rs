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

    /// Puts a packet at the end of a list.
    #[inline]
    pub(super) fn push_back(&mut self, chain: &mut Chain, item: T, since: Instant, label: Label) {
        let Label { stream, octets } = label;
        let node = Node { item: Some(item), since, stream, octets, next: NIL };
        let at = self.free;
        if let Some(place) = self.nodes.get_mut(at as usize) {
            self.free = place.next;
            *place = node;
            self.attach_back(chain, at);
        } else if let Ok(at) = u32::try_from(self.nodes.len()) {
            self.nodes.push(node);
            self.attach_back(chain, at);
        }
    }

    /// The first packet of a list.
    #[inline]
    pub(super) fn first(&self, chain: Chain) -> Option<Label> {
        let node = self.nodes.get(chain.head as usize)?;
        Some(Label { stream: node.stream, octets: node.octets })
    }

    /// Takes the first packet out of a list and its place.
    #[inline]
    pub(super) fn pop_front(&mut self, chain: &mut Chain) -> Option<(T, Instant)> {
        let at = self.detach_front(chain)?;
        let node = self.nodes.get_mut(at as usize)?;
        let item = node.item.take()?;
        node.next = self.free;
        self.free = at;
        Some((item, node.since))
    }

    /// Moves the first packet of one list to the end of another.
    pub(super) fn shift(&mut self, from: &mut Chain, to: &mut Chain) {
        if let Some(at) = self.detach_front(from) {
            self.attach_back(to, at);
        }
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

    #[inline]
    fn detach_front(&self, chain: &mut Chain) -> Option<u32> {
        let at = chain.head;
        chain.head = self.nodes.get(at as usize)?.next;
        if chain.head == NIL {
            chain.tail = NIL;
        }
        Some(at)
    }

    /// Puts a packet that is in no list at the end of one.
    #[inline]
    fn attach_back(&mut self, chain: &mut Chain, at: u32) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.next = NIL;
        }
        match self.nodes.get_mut(chain.tail as usize) {
            Some(last) => last.next = at,
            None => chain.head = at,
        }
        chain.tail = at;
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
