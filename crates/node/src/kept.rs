//! Which subscribers are to be kept for the time after a restart: a place of a table is marked once however often what stands there
//! changes, so that what waits is bounded by the number of places.

use gannet_wire::id::Imsi;
use std::collections::VecDeque;

/// What whoever keeps subscribers is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Keep these octets of a subscriber, instead of what was kept of it.
    Put {
        /// Whose.
        imsi: Imsi,
        /// What the node restores it from.
        octets: &'a [u8],
    },
    /// Keep nothing of a subscriber.
    Delete {
        /// Whose.
        imsi: Imsi,
    },
}

/// What is known of one place.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// It waits.
    marked: bool,
    /// Of whom something is kept from here.
    kept: Option<Imsi>,
}

/// Places that wait, in the order in which they were marked.
#[derive(Debug)]
pub struct Marks {
    places: Vec<Place>,
    waiting: VecDeque<u32>,
    /// Room for the octets of one subscriber.
    pub octets: Vec<u8>,
}

impl Marks {
    /// Of a table of so many places.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self {
            places: vec![Place::default(); places],
            waiting: VecDeque::with_capacity(places),
            octets: Vec::with_capacity(1024),
        }
    }

    /// Something has changed at a place.
    pub fn mark(&mut self, index: u32) {
        let Some(place) = self.places.get_mut(index as usize) else { return };
        if !core::mem::replace(&mut place.marked, true) {
            self.waiting.push_back(index);
        }
    }

    /// The place that waits longest, and of whom something was kept from there; from now on that is `now`.
    pub fn next(&mut self, now: impl FnOnce(u32) -> Option<Imsi>) -> Option<(u32, Option<Imsi>)> {
        let index = self.waiting.pop_front()?;
        let place = self.places.get_mut(index as usize)?;
        place.marked = false;
        Some((index, core::mem::replace(&mut place.kept, now(index))))
    }

    /// Something is kept of a subscriber from a place.
    pub fn kept(&mut self, index: u32, imsi: Imsi) {
        if let Some(place) = self.places.get_mut(index as usize) {
            place.kept = Some(imsi);
        }
    }

    /// How many places wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
