//! Bad input of every kind, given to a network in which eight mobiles have steady traffic: exactly the expected
//! counters move, and the other mobiles notice nothing.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

mod bench;
mod garbage;
mod ggsn;
mod known_bss;
mod limits;
mod links;
mod mobiles;
mod octets;
