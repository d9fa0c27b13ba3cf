//! An access point at work: its pools, what it has in use, and what has passed.

use super::addresses::{Addresses, PrefixPool};
use super::config::{ApnConfig, GgsnConfigError, Ranges};
use super::context::Volume;
use super::pool::{AddressPool, ClaimError, Pool};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_wire::gtp::Cause;

/// What has passed at an access point since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApnCounters {
    /// Contexts created.
    pub created: u64,
    /// Contexts deleted, for whatever reason.
    pub deleted: u64,
    /// Requests refused that named it.
    pub refused: u64,
    /// From mobiles.
    pub uplink: Volume,
    /// To mobiles.
    pub downlink: Volume,
    /// Packets of mobiles that were dropped here: wrong source address, or for another mobile.
    pub uplink_dropped: u64,
    /// Packets beyond the maximum bit rate of their contexts, in both directions.
    pub over_rate: u64,
    /// Contexts that have ended for want of traffic.
    pub idle: u64,
}

/// Two pools of one version of IP.
#[derive(Debug)]
pub(super) struct Pools<P> {
    /// Of which any address will do.
    dynamic: Option<P>,
    /// Of which a certain address is asked for.
    fixed: Option<P>,
}

impl<P: Pool> Pools<P> {
    fn all(&self) -> impl Iterator<Item = &P> {
        self.dynamic.iter().chain(&self.fixed)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut P> {
        self.dynamic.iter_mut().chain(&mut self.fixed)
    }

    /// Whether there is any.
    pub fn is_served(&self) -> bool {
        self.dynamic.is_some() || self.fixed.is_some()
    }

    /// Takes any address, or a certain one out of the fixed ones, and of the dynamic ones where `from_dynamic`.
    fn take(&mut self, asked: Option<P::Address>, from_dynamic: bool) -> Result<P::Address, Cause> {
        let Some(address) = asked else {
            return self.dynamic.as_mut().and_then(P::take).ok_or(Cause::AllDynamicAddressesOccupied);
        };
        let dynamic = self.dynamic.as_mut().filter(|_| from_dynamic);
        let mut permitted = dynamic.into_iter().chain(&mut self.fixed);
        let is_claimed = permitted.any(|pool| pool.claim(address).is_ok());
        is_claimed.then_some(address).ok_or(Cause::UnknownPdpAddressOrType)
    }

    /// Takes a certain address out of either.
    pub fn claim(&mut self, address: P::Address) -> Result<(), ClaimError> {
        let mut last = Err(ClaimError::Outside);
        for pool in self.all_mut() {
            match pool.claim(address) {
                Err(ClaimError::Outside) => {}
                other => last = other,
            }
        }
        last
    }

    pub fn assign(&mut self, address: P::Address, owner: u32) {
        self.all_mut().for_each(|pool| pool.assign(address, owner));
    }

    pub fn release(&mut self, address: P::Address) {
        self.all_mut().for_each(|pool| pool.release(address));
    }

    pub fn owner(&self, address: P::Address) -> Option<u32> {
        self.all().find_map(|pool| pool.owner(address))
    }

    /// Addresses in use.
    pub fn used(&self) -> u32 {
        self.all().map(P::used).sum()
    }

    /// Addresses that may be in use.
    pub fn capacity(&self) -> u32 {
        self.all().map(P::capacity).sum()
    }
}

fn pools<A: Copy, P: Pool<Address = A>>(
    ranges: &Ranges<A>,
    make: fn(A, u8) -> Option<P>,
    wrong: GgsnConfigError,
) -> Result<Pools<P>, GgsnConfigError> {
    let pool =
        |network: super::config::Network<A>| make(network.address, network.length).ok_or(wrong.clone());
    Ok(Pools { dynamic: ranges.dynamic.map(pool).transpose()?, fixed: ranges.fixed.map(pool).transpose()? })
}

/// How many of each version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unlisted {
    pub v4: u32,
    pub v6: u32,
}

/// An access point at work.
#[derive(Debug)]
pub struct AccessPoint {
    pub(super) config: ApnConfig,
    pub(super) v4: Pools<AddressPool>,
    pub(super) v6: Pools<PrefixPool>,
    /// It has no contexts, and gets none.
    pub(super) closed: bool,
    /// Addresses that contexts of SGSNs have that are not listed, while others are.
    pub(super) unlisted: Unlisted,
    pub(super) counters: ApnCounters,
}

impl AccessPoint {
    /// The access point of this index, without contexts.
    pub(super) fn new(config: &ApnConfig, index: u16) -> Result<Self, GgsnConfigError> {
        if !config.link_local.is_unicast_link_local() {
            return Err(GgsnConfigError::LinkLocal(index));
        }
        Ok(Self {
            v4: pools(&config.v4, AddressPool::new, GgsnConfigError::PrefixLength(index))?,
            v6: pools(&config.v6, PrefixPool::new, GgsnConfigError::Ipv6PrefixLength(index))?,
            config: config.clone(),
            closed: false,
            unlisted: Unlisted::default(),
            counters: ApnCounters::default(),
        })
    }

    /// How it is set up.
    #[must_use]
    pub const fn config(&self) -> &ApnConfig {
        &self.config
    }

    /// What has passed.
    #[must_use]
    pub const fn counters(&self) -> &ApnCounters {
        &self.counters
    }

    /// IPv4 addresses in use, and how many may be.
    #[must_use]
    pub fn ipv4_use(&self) -> (u32, u32) {
        (self.v4.used(), self.v4.capacity())
    }

    /// IPv6 prefixes in use, and how many may be.
    #[must_use]
    pub fn ipv6_use(&self) -> (u32, u32) {
        (self.v6.used(), self.v6.capacity())
    }

    pub(super) fn take_v4(&mut self, asked: Option<Ipv4Addr>) -> Result<Ipv4Addr, Cause> {
        self.v4.take(asked, self.config.static_addresses)
    }

    pub(super) fn take_v6(&mut self, asked: Option<Ipv6Addr>) -> Result<Ipv6Addr, Cause> {
        self.v6.take(asked, self.config.static_addresses)
    }

    /// The context that owns an address, by its place.
    pub(super) fn owner(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.v4.owner(address),
            IpAddr::V6(address) => self.v6.owner(address),
        }
    }

    /// The context that has these addresses, or the first of them, is at this place.
    pub(super) fn assign(&mut self, address: Addresses, owner: u32) {
        address.v4.into_iter().for_each(|v4| self.v4.assign(v4, owner));
        address.v6.into_iter().for_each(|v6| self.v6.assign(v6, owner));
    }

    pub(super) fn release(&mut self, address: Addresses) {
        address.v4.into_iter().for_each(|v4| self.v4.release(v4));
        address.v6.into_iter().for_each(|v6| self.v6.release(v6));
    }

    /// Counts the addresses of a context of a peer that is not listed, one of each version of IP at most.
    pub(super) fn count_unlisted(&mut self, address: Addresses) {
        self.unlisted.v4 += u32::from(address.v4.is_some());
        self.unlisted.v6 += u32::from(address.v6.is_some());
    }

    pub(super) fn discount_unlisted(&mut self, address: Addresses) {
        self.unlisted.v4 = self.unlisted.v4.saturating_sub(address.v4.is_some().into());
        self.unlisted.v6 = self.unlisted.v6.saturating_sub(address.v6.is_some().into());
    }
}
