//! What is queued: one table of nodes for all flows, with a list through it for each.

use super::flow::{Flow, NIL};
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;

/// A queued item.
#[derive(Debug)]
#[repr(align(64))]
struct Node<T> {
    item: Option<T>,
    since: Instant,
    next: u32,
    prev: u32,
    octets: u32,
}

/// An item that was taken out.
#[derive(Debug)]
pub(super) struct Taken<T> {
    pub(super) item: T,
    pub(super) since: Instant,
    pub(super) octets: u32,
}

/// All nodes.
#[derive(Debug)]
pub(super) struct Nodes<T> {
    nodes: Vec<Node<T>>,
    /// Those that hold nothing; the last one used goes first, since it is warm.
    free: Vec<u32>,
}

impl<T> Nodes<T> {
    pub(super) fn new(capacity: u32) -> Self {
        let empty = |_| Node { item: None, since: Instant::ZERO, next: NIL, prev: NIL, octets: 0 };
        Self { nodes: (0..capacity).map(empty).collect(), free: (0..capacity).rev().collect() }
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Asks for a node's line.
    #[inline]
    pub(super) fn prefetch(&self, at: u32, prefetch: Prefetch) {
        if let Some(node) = self.nodes.get(at as usize) {
            prefetch.value(node);
        }
    }

    /// Asks for the node that the packet after so many others gets.
    #[inline]
    pub(super) fn prefetch_free(&self, before: usize, prefetch: Prefetch) {
        let place = self.free.len().checked_sub(before + 1);
        if let Some(at) = place.and_then(|place| self.free.get(place)) {
            self.prefetch(*at, prefetch);
        }
    }

    /// What a node holds, and the node behind it.
    #[inline]
    pub(super) fn first(&self, at: u32) -> Option<(&T, u32)> {
        let node = self.nodes.get(at as usize)?;
        node.item.as_ref().map(|item| (item, node.next))
    }

    /// The octets of the flow's first item.
    pub(super) fn first_octets(&self, flow: &Flow) -> Option<u32> {
        self.nodes.get(flow.head as usize).map(|node| node.octets)
    }

    /// Puts an item at the end of the flow's queue; gives it back where no node is free.
    pub(super) fn push_back(&mut self, flow: &mut Flow, taken: Taken<T>) -> Result<(), Taken<T>> {
        let Some(at) = self.free.pop() else { return Err(taken) };
        let Taken { item, since, octets } = taken;
        if let Some(node) = self.nodes.get_mut(at as usize) {
            *node = Node { item: Some(item), since, next: NIL, prev: flow.tail, octets };
        }
        if let Some(last) = self.nodes.get_mut(flow.tail as usize) {
            last.next = at;
        } else {
            flow.head = at;
        }
        flow.tail = at;
        flow.pdus += 1;
        flow.octets += octets;
        Ok(())
    }

    /// Since when the oldest item of the flow is queued.
    pub(super) fn oldest(&self, flow: &Flow) -> Option<Instant> {
        let node = self.nodes.get(flow.head as usize)?;
        node.item.as_ref().map(|_| node.since)
    }

    /// Takes out the oldest item.
    pub(super) fn pop_front(&mut self, flow: &mut Flow) -> Option<Taken<T>> {
        let at = flow.head;
        let node = self.nodes.get_mut(at as usize)?;
        let taken = Taken { item: node.item.take()?, since: node.since, octets: node.octets };
        flow.head = node.next;
        // The `prev` of the new first is not written: nobody reads it, and its line may be cold.
        if at == flow.tail {
            flow.tail = NIL;
        }
        self.taken_out(flow, at, taken.octets);
        Some(taken)
    }

    /// Takes out the youngest item.
    pub(super) fn pop_back(&mut self, flow: &mut Flow) -> Option<Taken<T>> {
        let at = flow.tail;
        let node = self.nodes.get_mut(at as usize)?;
        let taken = Taken { item: node.item.take()?, since: node.since, octets: node.octets };
        if at == flow.head {
            (flow.head, flow.tail) = (NIL, NIL);
        } else {
            let prev = node.prev;
            flow.tail = prev;
            if let Some(last) = self.nodes.get_mut(prev as usize) {
                last.next = NIL;
            }
        }
        self.taken_out(flow, at, taken.octets);
        Some(taken)
    }

    fn taken_out(&mut self, flow: &mut Flow, at: u32, octets: u32) {
        flow.pdus = flow.pdus.saturating_sub(1);
        flow.octets = flow.octets.saturating_sub(octets);
        self.free.push(at);
    }
}
