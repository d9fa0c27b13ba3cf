//! Entities composed into a network element, still sans-IO.
//!
//! Nodes never import each other: what they share stands in the protocol entities, in [`slots`], [`kept`] or [`streams`].

pub mod bss;
pub mod edge;
pub mod ggsn;
pub mod kept;
pub mod ms;
pub mod sgsn;
pub mod slots;
pub mod streams;
