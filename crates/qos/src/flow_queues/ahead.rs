//! What the next turns will touch is asked for ahead of them, in three steps, each of which needs what the one before it
//! asked for: the flow, its first node, and what that holds.
//!
//! A few turns lie between two steps, so that the memory has the time of some packets to answer; and each call goes on
//! by what was served since the last, so that never more is asked for at once than the processor can keep track of.

use super::FlowQueues;
use super::cell::Cell;
use super::nodes::Nodes;
use super::ring::{Ring, STEPS};
use gannet_machine::prefetch::Prefetch;

/// How many turns ahead each step is.
const AHEAD: [u32; STEPS] = [12, 8, 4];

/// A flow whose turn comes, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coming<'a, T> {
    /// Not soon: time to ask for what is found by the flow's name.
    Far(u32),
    /// Sooner: for what is found through that, and for what is known of its cell.
    Nearer(u32, u32),
    /// Soon: for what the packet refers to.
    Near(u32, &'a T),
}

impl<T> FlowQueues<T> {
    /// Asks for what the next turns will touch, and tells of them, so that others ask for what is theirs. To be called
    /// before each [`FlowQueues::dequeue`].
    pub fn look_ahead(&mut self, prefetch: Prefetch, mut coming: impl FnMut(Coming<'_, T>)) {
        let Self { flows, cells, nodes, rings, .. } = self;
        for ring in rings.iter_mut().filter(|ring| ring.len() > 0) {
            if ring.open
                && let Some(at) = ring.front()
            {
                // Its visit goes on with what is behind.
                near(nodes, prefetch, (at, flows.get(at as usize).map(|flow| flow.head)), &mut coming);
            }
            while let Some(at) = next(ring, 0) {
                if let Some(flow) = flows.get(at as usize) {
                    prefetch.value(flow);
                }
                coming(Coming::Far(at));
            }
            while let Some(at) = next(ring, 1) {
                let Some(flow) = flows.get(at as usize) else { continue };
                nodes.prefetch(flow.head, prefetch);
                prefetch_cell(cells, flow.cell, prefetch);
                coming(Coming::Nearer(at, flow.cell));
            }
            while let Some(at) = next(ring, 2) {
                near(nodes, prefetch, (at, flows.get(at as usize).map(|flow| flow.head)), &mut coming);
            }
        }
    }

    /// Asks for the state of a flow for which a packet arrives.
    #[inline]
    pub fn prefetch(&self, flow: u32, prefetch: Prefetch) {
        if let Some(flow) = self.flows.get(flow as usize) {
            prefetch.value(flow);
        }
    }

    /// Asks for the end of its queue, where the packet goes, the place that it gets, and its cell; after
    /// [`FlowQueues::prefetch`]. So many packets go before it.
    #[inline]
    pub fn prefetch_end(&self, flow: u32, before: usize, prefetch: Prefetch) {
        if let Some(flow) = self.flows.get(flow as usize) {
            self.nodes.prefetch(flow.tail, prefetch);
            prefetch_cell(&self.cells, flow.cell, prefetch);
        }
        self.nodes.prefetch_free(before, prefetch);
    }
}

fn prefetch_cell(cells: &[Cell], cell: u32, prefetch: Prefetch) {
    if let Some(cell) = cells.get(cell as usize) {
        prefetch.beginning(cell, Cell::HOT);
    }
}

fn next(ring: &mut Ring, step: usize) -> Option<u32> {
    ring.look(step, AHEAD.get(step).copied().unwrap_or(0))
}

fn near<T>(
    nodes: &Nodes<T>,
    prefetch: Prefetch,
    (flow, head): (u32, Option<u32>),
    coming: &mut impl FnMut(Coming<'_, T>),
) {
    if let Some((item, behind)) = head.and_then(|at| nodes.first(at)) {
        nodes.prefetch(behind, prefetch);
        coming(Coming::Near(flow, item));
    }
}
