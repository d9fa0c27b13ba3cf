//! Paths: the peers of a GSN, each known by its IP address (29.060 clauses 7.2 and 11.2).
//!
//! A path is there as long as a tunnel uses it. Paths with tunnels are tested with Echo Requests, on each plane that
//! is used; the peer's restart counter is compared with the one seen before.

use crate::time::Instant;
use core::net::IpAddr;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Control plane or user plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Plane {
    /// GTP-C, port 2123.
    Control,
    /// GTP-U, port 2152.
    User,
}

impl Plane {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Control, Self::User];
}

/// What is known of one plane of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaneState {
    /// Tunnels that use it.
    pub tunnels: u32,
    /// An Echo Request waits for its response.
    pub echo_outstanding: bool,
    /// The last Echo Request got no response.
    pub failed: bool,
}

/// One peer.
#[derive(Debug, Clone)]
pub struct Path {
    /// Its address.
    pub address: IpAddr,
    /// Its restart counter, once it has told.
    pub restart_counter: Option<u8>,
    /// The control plane.
    pub control: PlaneState,
    /// The user plane.
    pub user: PlaneState,
    /// When it is tested next.
    pub(super) next_echo: Instant,
    /// Tells it from an earlier path at the same place.
    pub(super) generation: u16,
}

impl Path {
    /// One of its planes.
    #[must_use]
    pub const fn plane(&self, plane: Plane) -> &PlaneState {
        match plane {
            Plane::Control => &self.control,
            Plane::User => &self.user,
        }
    }

    pub(super) const fn plane_mut(&mut self, plane: Plane) -> &mut PlaneState {
        match plane {
            Plane::Control => &mut self.control,
            Plane::User => &mut self.user,
        }
    }

    const fn is_used(&self) -> bool {
        self.control.tunnels > 0 || self.user.tunnels > 0
    }
}

/// What a restart counter told (29.060 clause 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The same as before, the first one, or from a peer that no tunnel uses.
    Nothing,
    /// Another than before: the peer has lost all its contexts. The index of its path.
    Restarted(u16),
}

/// The table of paths.
#[derive(Debug)]
pub struct Paths {
    table: Vec<Option<Path>>,
    by_address: HashMap<IpAddr, u16, FixedState>,
    free: Vec<u16>,
    limit: u16,
    generation: u16,
}

impl Paths {
    /// A table of at most `limit` paths.
    #[must_use]
    pub fn with_limit(limit: u16) -> Self {
        Self {
            table: Vec::new(),
            by_address: HashMap::with_hasher(FixedState::default()),
            free: Vec::new(),
            limit,
            generation: 0,
        }
    }

    /// The path at an index.
    #[must_use]
    pub fn get(&self, index: u16) -> Option<&Path> {
        self.table.get(usize::from(index))?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u16) -> Option<&mut Path> {
        self.table.get_mut(usize::from(index))?.as_mut()
    }

    /// The index of a peer's path.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<u16> {
        self.by_address.get(&address).copied()
    }

    /// All paths in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Path)> {
        (0..).zip(&self.table).filter_map(|(index, path)| path.as_ref().map(|path| (index, path)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Counts one tunnel at a plane of the path to `address`, which is made where it is not there. The index, and
    /// whether it is new; `None` where the table is full.
    pub(super) fn acquire(
        &mut self,
        address: IpAddr,
        plane: Plane,
        next_echo: Instant,
    ) -> Option<(u16, bool)> {
        let (index, new) = match self.find(address) {
            Some(index) => (index, false),
            None => (self.insert(address, next_echo)?, true),
        };
        self.get_mut(index)?.plane_mut(plane).tunnels += 1;
        Some((index, new))
    }

    fn insert(&mut self, address: IpAddr, next_echo: Instant) -> Option<u16> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u16::try_from(self.table.len()).ok().filter(|index| *index < self.limit)?;
                self.table.push(None);
                index
            }
        };
        self.generation = self.generation.wrapping_add(1);
        *self.table.get_mut(usize::from(index))? = Some(Path {
            address,
            restart_counter: None,
            control: PlaneState::default(),
            user: PlaneState::default(),
            next_echo,
            generation: self.generation,
        });
        self.by_address.insert(address, index);
        Some(index)
    }

    /// Counts one tunnel less. The path goes with its last tunnel.
    pub(super) fn release(&mut self, index: u16, plane: Plane) {
        let Some(path) = self.get_mut(index) else { return };
        let state = path.plane_mut(plane);
        state.tunnels = state.tunnels.saturating_sub(1);
        if path.is_used() {
            return;
        }
        let address = path.address;
        self.by_address.remove(&address);
        if let Some(place) = self.table.get_mut(usize::from(index)) {
            *place = None;
            self.free.push(index);
        }
    }

    /// Compares the restart counter that a peer sent with the one seen before, and keeps it.
    pub(super) fn recovery(&mut self, address: IpAddr, counter: u8) -> Recovery {
        let Some(index) = self.find(address) else { return Recovery::Nothing };
        let Some(path) = self.get_mut(index) else { return Recovery::Nothing };
        match path.restart_counter.replace(counter) {
            Some(before) if before != counter => Recovery::Restarted(index),
            Some(_) | None => Recovery::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn a_path_lives_as_long_as_its_tunnels() {
        let mut paths = Paths::with_limit(1);
        assert_eq!(paths.acquire(A, Plane::Control, Instant::ZERO), Some((0, true)));
        assert_eq!(paths.acquire(A, Plane::User, Instant::ZERO), Some((0, false)));
        assert_eq!(paths.acquire(B, Plane::User, Instant::ZERO), None);
        let generation = paths.get(0).unwrap().generation;
        paths.release(0, Plane::Control);
        assert_eq!(paths.len(), 1);
        paths.release(0, Plane::User);
        assert!(paths.is_empty());
        assert_eq!(paths.acquire(B, Plane::User, Instant::ZERO), Some((0, true)));
        assert_ne!(paths.get(0).unwrap().generation, generation);
        assert_eq!(paths.iter().map(|(index, path)| (index, path.address)).collect::<Vec<_>>(), [(0, B)]);
    }

    #[test]
    fn a_counter_that_differs_is_a_restart() {
        let mut paths = Paths::with_limit(2);
        assert_eq!(paths.recovery(A, 1), Recovery::Nothing);
        paths.acquire(A, Plane::Control, Instant::ZERO);
        assert_eq!(paths.recovery(A, 1), Recovery::Nothing);
        assert_eq!(paths.recovery(A, 1), Recovery::Nothing);
        assert_eq!(paths.recovery(A, 255), Recovery::Restarted(0));
        assert_eq!(paths.recovery(A, 0), Recovery::Restarted(0));
    }
}
