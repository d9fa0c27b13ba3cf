//! Paths: the peers of a GSN, each known by its IP address and the version of GTP it speaks (29.060 clauses 7.2
//! and 11.2; 09.60 clauses 7.4 and 11.2).
//!
//! A path is there as long as a tunnel uses it. Paths with tunnels are tested with Echo Requests, on each plane that
//! is used (version 0 has one port for both, and so one Echo Request); the peer's restart counter is compared with the one seen before.

use super::version::Version;
use core::net::IpAddr;
use foldhash::fast::FixedState;
use gannet_machine::time::Instant;
use gannet_wire::gtp::{PORT_CONTROL, PORT_USER, PORT_V0};
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

impl core::fmt::Display for Plane {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Control => "control plane",
            Self::User => "user plane",
        })
    }
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
    /// An Echo Request had a response once.
    pub has_answered: bool,
    /// Something came from the peer while the plane has failed.
    pub heard: bool,
    /// When a plane that has failed is lost: with the first test that fails from then on.
    pub lost_at: Option<Instant>,
}

/// A UDP port of GTP, ours and the peer's: the two planes of version 1, and that of version 0, which carries both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Channel {
    /// GTPv0, port 3386.
    V0,
    /// GTPv1-C, port 2123.
    Control,
    /// GTPv1-U, port 2152.
    User,
}

impl Channel {
    /// Of a plane of a version.
    #[must_use]
    pub const fn of(version: Version, plane: Plane) -> Self {
        match (version, plane) {
            (Version::V0, _) => Self::V0,
            (Version::V1, Plane::Control) => Self::Control,
            (Version::V1, Plane::User) => Self::User,
        }
    }

    /// The version spoken there.
    #[must_use]
    pub const fn version(self) -> Version {
        match self {
            Self::V0 => Version::V0,
            Self::Control | Self::User => Version::V1,
        }
    }

    /// The number of the UDP port.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::V0 => PORT_V0,
            Self::Control => PORT_CONTROL,
            Self::User => PORT_USER,
        }
    }
}

/// One peer.
#[derive(Debug, Clone)]
pub struct Path {
    /// Its address.
    pub address: IpAddr,
    /// The version that it speaks on this path.
    pub version: Version,
    /// Its restart counter, once it has told.
    pub restart_counter: Option<u8>,
    /// The control plane.
    pub control: PlaneState,
    /// The user plane.
    pub user: PlaneState,
    /// Contexts whose request came from here.
    pub origins: u32,
    /// When it was tested last.
    pub(super) last_echo: Option<Instant>,
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

    /// The planes that are tested by themselves, as far as they are used: of version 0 one stands for both.
    pub(super) const fn tested(&self) -> &'static [Plane] {
        match (self.version, self.control.tunnels, self.user.tunnels) {
            (_, 0, 0) => &[],
            (_, _, 0) | (Version::V0, 1.., _) => &[Plane::Control],
            (_, 0, _) => &[Plane::User],
            (Version::V1, _, _) => &Plane::ALL,
        }
    }

    const fn is_used(&self) -> bool {
        self.control.tunnels > 0 || self.user.tunnels > 0 || self.origins > 0
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
    by_address: HashMap<(IpAddr, Version), u16, FixedState>,
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
    pub fn find(&self, address: IpAddr, version: Version) -> Option<u16> {
        self.by_address.get(&(address, version)).copied()
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
        version: Version,
        plane: Plane,
        next_echo: Instant,
    ) -> Option<(u16, bool)> {
        let (index, new) = match self.find(address, version) {
            Some(index) => (index, false),
            None => (self.insert(address, version, next_echo)?, true),
        };
        self.get_mut(index)?.plane_mut(plane).tunnels += 1;
        Some((index, new))
    }

    /// The same for a context whose request came from `address`. Nothing is sent there for that alone, so it is not tested.
    pub(super) fn acquire_origin(
        &mut self,
        address: IpAddr,
        version: Version,
        next_echo: Instant,
    ) -> Option<(u16, bool)> {
        let (index, new) = match self.find(address, version) {
            Some(index) => (index, false),
            None => (self.insert(address, version, next_echo)?, true),
        };
        self.get_mut(index)?.origins += 1;
        Some((index, new))
    }

    fn insert(&mut self, address: IpAddr, version: Version, next_echo: Instant) -> Option<u16> {
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
            version,
            restart_counter: None,
            control: PlaneState::default(),
            user: PlaneState::default(),
            origins: 0,
            last_echo: None,
            next_echo,
            generation: self.generation,
        });
        self.by_address.insert((address, version), index);
        Some(index)
    }

    /// Counts one tunnel less. The path goes with its last tunnel.
    pub(super) fn release(&mut self, index: u16, plane: Plane) {
        let Some(path) = self.get_mut(index) else { return };
        let state = path.plane_mut(plane);
        state.tunnels = state.tunnels.saturating_sub(1);
        // Of a plane that nobody uses nothing is known: whoever uses it next is told when it fails.
        state.failed &= state.tunnels > 0;
        state.lost_at = state.lost_at.filter(|_| state.failed);
        self.remove_unused(index);
    }

    /// Counts one context less whose request came from here.
    pub(super) fn release_origin(&mut self, index: u16) {
        let Some(path) = self.get_mut(index) else { return };
        path.origins = path.origins.saturating_sub(1);
        self.remove_unused(index);
    }

    fn remove_unused(&mut self, index: u16) {
        let Some(path) = self.get(index).filter(|path| !path.is_used()) else { return };
        let name = (path.address, path.version);
        self.by_address.remove(&name);
        if let Some(place) = self.table.get_mut(usize::from(index)) {
            *place = None;
            self.free.push(index);
        }
    }

    /// Compares the restart counter that a peer sent with the one seen before, and keeps it.
    pub(super) fn recovery(&mut self, address: IpAddr, version: Version, counter: u8) -> Recovery {
        let Some(index) = self.find(address, version) else { return Recovery::Nothing };
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

    const V1: Version = Version::V1;

    #[test]
    fn each_version_has_its_path() {
        let mut paths = Paths::with_limit(2);
        assert_eq!(paths.acquire(A, Version::V0, Plane::Control, Instant::ZERO), Some((0, true)));
        assert_eq!(paths.acquire(A, V1, Plane::User, Instant::ZERO), Some((1, true)));
        paths.acquire(A, Version::V0, Plane::User, Instant::ZERO);
        assert_eq!((paths.find(A, Version::V0), paths.find(A, V1)), (Some(0), Some(1)));
        assert_eq!(paths.get(0).unwrap().tested(), [Plane::Control]);
        assert_eq!(paths.get(1).unwrap().tested(), [Plane::User]);
        assert_eq!(paths.recovery(A, V1, 1), Recovery::Nothing);
        assert_eq!(paths.recovery(A, Version::V0, 2), Recovery::Nothing, "of another path");
        paths.release(0, Plane::Control);
        assert_eq!(paths.get(0).unwrap().tested(), [Plane::User]);
        paths.release(0, Plane::User);
        assert_eq!((paths.find(A, Version::V0), paths.len()), (None, 1));
    }

    #[test]
    fn a_path_lives_as_long_as_its_tunnels() {
        let mut paths = Paths::with_limit(1);
        assert_eq!(paths.acquire(A, V1, Plane::Control, Instant::ZERO), Some((0, true)));
        assert_eq!(paths.acquire(A, V1, Plane::User, Instant::ZERO), Some((0, false)));
        assert_eq!(paths.acquire(B, V1, Plane::User, Instant::ZERO), None);
        let generation = paths.get(0).unwrap().generation;
        paths.release(0, Plane::Control);
        assert_eq!(paths.len(), 1);
        paths.release(0, Plane::User);
        assert!(paths.is_empty());
        assert_eq!(paths.acquire(B, V1, Plane::User, Instant::ZERO), Some((0, true)));
        assert_ne!(paths.get(0).unwrap().generation, generation);
        assert_eq!(paths.iter().map(|(index, path)| (index, path.address)).collect::<Vec<_>>(), [(0, B)]);
    }

    #[test]
    fn a_counter_that_differs_is_a_restart() {
        let mut paths = Paths::with_limit(2);
        assert_eq!(paths.recovery(A, V1, 1), Recovery::Nothing);
        paths.acquire(A, V1, Plane::Control, Instant::ZERO);
        assert_eq!(paths.recovery(A, V1, 1), Recovery::Nothing);
        assert_eq!(paths.recovery(A, V1, 1), Recovery::Nothing);
        assert_eq!(paths.recovery(A, V1, 255), Recovery::Restarted(0));
        assert_eq!(paths.recovery(A, V1, 0), Recovery::Restarted(0));
    }
}
