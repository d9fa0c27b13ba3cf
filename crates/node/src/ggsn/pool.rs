//! The addresses of one access point, and whose they are: each question is one access to a table.

use core::net::Ipv4Addr;
use std::collections::VecDeque;

/// Lengths of a prefix whose addresses a pool can have.
pub const PREFIX_LENGTHS: core::ops::RangeInclusive<u8> = 10..=30;

/// An address is on the list of free ones.
const LISTED: u32 = 1 << 31;
/// Taken, and the owner not told yet.
const TAKEN: u32 = LISTED - 1;

/// The addresses of an IPv4 prefix. The first is the network's, the second the gateway's, the last the broadcast: none
/// of them is given out.
#[derive(Debug)]
pub struct AddressPool {
    network: u32,
    /// For each address of the prefix its owner plus one, 0 where it is free, and [`LISTED`].
    owners: Vec<u32>,
    /// Addresses below were given out before; those from here on never were.
    fresh: u32,
    /// Addresses that came back, the longest unused first in use again.
    returned: VecDeque<u32>,
    used: u32,
}

/// Why a static address cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimError {
    /// It does not belong to the prefix, or is one of those that are not given out.
    Outside,
    /// Another has it.
    Occupied,
}

/// Addresses that are given out one by one.
pub trait Pool {
    /// What is given out.
    type Address: Copy + PartialEq;

    /// Takes an address that is free; `None` where all are occupied.
    fn take(&mut self) -> Option<Self::Address>;

    /// Takes a certain address.
    ///
    /// # Errors
    /// See [`ClaimError`].
    fn claim(&mut self, address: Self::Address) -> Result<(), ClaimError>;

    /// Says who owns an address that was taken or claimed.
    fn assign(&mut self, address: Self::Address, owner: u32);

    /// Gives an address back.
    fn release(&mut self, address: Self::Address);

    /// Who owns an address.
    fn owner(&self, address: Self::Address) -> Option<u32>;

    /// Addresses that are in use.
    fn used(&self) -> u32;

    /// Addresses that may be in use.
    fn capacity(&self) -> u32;
}

impl AddressPool {
    /// The pool of a prefix; `None` where its length is not one of [`PREFIX_LENGTHS`].
    #[must_use]
    pub fn new(prefix: Ipv4Addr, length: u8) -> Option<Self> {
        if !PREFIX_LENGTHS.contains(&length) {
            return None;
        }
        let size = 1_u32 << (32 - length);
        let owners = vec![0; usize::try_from(size).ok()?];
        let network = prefix.to_bits() & !(size - 1);
        Some(Self { network, owners, fresh: 2, returned: VecDeque::new(), used: 0 })
    }

    fn broadcast(&self) -> u32 {
        u32::try_from(self.owners.len()).unwrap_or(u32::MAX) - 1
    }

    fn offset(&self, address: Ipv4Addr) -> Option<u32> {
        let offset = address.to_bits().checked_sub(self.network)?;
        (2..self.broadcast()).contains(&offset).then_some(offset)
    }

    fn owner_mut(&mut self, offset: u32) -> Option<&mut u32> {
        self.owners.get_mut(usize::try_from(offset).ok()?)
    }

    fn mark(&mut self, offset: u32) -> bool {
        let Some(owner) = self.owner_mut(offset).filter(|owner| **owner & !LISTED == 0) else { return false };
        *owner |= TAKEN;
        self.used += 1;
        true
    }
}

impl Pool for AddressPool {
    type Address = Ipv4Addr;

    fn take(&mut self) -> Option<Ipv4Addr> {
        while self.fresh < self.broadcast() {
            let offset = self.fresh;
            self.fresh += 1;
            if self.mark(offset) {
                return Some(Ipv4Addr::from_bits(self.network + offset));
            }
        }
        while let Some(offset) = self.returned.pop_front() {
            if let Some(owner) = self.owner_mut(offset) {
                *owner &= !LISTED;
            }
            if self.mark(offset) {
                return Some(Ipv4Addr::from_bits(self.network + offset));
            }
        }
        None
    }

    fn claim(&mut self, address: Ipv4Addr) -> Result<(), ClaimError> {
        let offset = self.offset(address).ok_or(ClaimError::Outside)?;
        if self.mark(offset) { Ok(()) } else { Err(ClaimError::Occupied) }
    }

    fn assign(&mut self, address: Ipv4Addr, owner: u32) {
        if let Some(offset) = self.offset(address)
            && let Some(entry) = self.owner_mut(offset)
        {
            *entry = (*entry & LISTED) | (owner + 1).min(TAKEN);
        }
    }

    fn release(&mut self, address: Ipv4Addr) {
        let Some(offset) = self.offset(address) else { return };
        let was_given_out = offset < self.fresh;
        let Some(owner) = self.owner_mut(offset).filter(|owner| **owner & !LISTED != 0) else { return };
        *owner &= LISTED;
        // A static address may be on the list still, from before it was claimed.
        let to_list = was_given_out && *owner & LISTED == 0;
        if to_list {
            *owner |= LISTED;
            self.returned.push_back(offset);
        }
        self.used -= 1;
    }

    fn owner(&self, address: Ipv4Addr) -> Option<u32> {
        let offset = usize::try_from(self.offset(address)?).ok()?;
        let owner = self.owners.get(offset)? & !LISTED;
        owner.checked_sub(1).filter(|_| owner != TAKEN)
    }

    fn used(&self) -> u32 {
        self.used
    }

    fn capacity(&self) -> u32 {
        self.broadcast() - 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, last)
    }

    #[test]
    fn network_gateway_and_broadcast_are_kept() {
        let mut pool = AddressPool::new(address(5), 29).unwrap();
        assert_eq!(pool.capacity(), 5);
        let taken: Vec<_> = core::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken, [2, 3, 4, 5, 6].map(address));
        assert_eq!(pool.used(), 5);
        for last in [0, 1, 7, 8, 255] {
            assert_eq!(pool.claim(address(last)), Err(ClaimError::Outside));
        }
        assert_eq!(pool.claim(Ipv4Addr::new(9, 255, 255, 255)), Err(ClaimError::Outside));
        pool.release(address(4));
        pool.release(address(4));
        pool.release(address(2));
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(address(4)), Some(address(2)), None));
        assert!(AddressPool::new(address(0), 31).is_none());
        assert!(AddressPool::new(address(0), 8).is_none());
    }

    #[test]
    fn static_addresses_are_not_given_out_twice() {
        let mut pool = AddressPool::new(address(0), 29).unwrap();
        assert_eq!(pool.claim(address(3)), Ok(()));
        assert_eq!(pool.claim(address(3)), Err(ClaimError::Occupied));
        assert_eq!((pool.take(), pool.take()), (Some(address(2)), Some(address(4))));
        pool.release(address(3));
        // On the list of free ones, claimed and released again and again: it is listed once.
        for _ in 0..10 {
            assert_eq!(pool.claim(address(3)), Ok(()));
            pool.release(address(3));
        }
        let rest: Vec<_> = core::iter::from_fn(|| pool.take()).collect();
        assert_eq!(rest, [5, 6, 3].map(address));
    }

    #[test]
    fn owners_are_found_by_address() {
        let mut pool = AddressPool::new(address(0), 24).unwrap();
        let taken = pool.take().unwrap();
        assert_eq!(pool.owner(taken), None);
        pool.assign(taken, 0);
        assert_eq!(pool.owner(taken), Some(0));
        pool.release(taken);
        assert_eq!(pool.owner(taken), None);
        assert_eq!(pool.owner(address(255)), None);
        assert_eq!(pool.used(), 0);
    }
}
