//! Session management: 04.08 clause 6.1 [24.008].
//!
//! [`network`] is the SGSN's side and [`ms`] the mobile's. Each holds the PDP contexts of one mobile as plain data, and
//! has one `handle(event)` that appends actions; neither knows a frame or a tunnel. A context's place in its set is its
//! NSAPI. PDP-INACTIVE is the absence of a context.
//!
//! # Who allocated a transaction identifier
//!
//! A context is named by its transaction identifier *and* by the side that chose it (04.07 clause 11.2.3.1.3). The flag
//! is 0 in messages from the side that chose the identifier and 1 in messages to it. All contexts here are activated
//! by the mobile, so the mobile sends flag 0 and the network answers with flag 1. A context remembers the flag of
//! the messages that its own side sends; a message belongs to it where the flag is the opposite.
//!
//! # Contexts that share an address
//!
//! A secondary context (clause 6.1.3.2) has the address and access point of the one to which it was linked; from then on
//! they are alike, and each may outlive the other. Which downlink packet belongs to which is said by their traffic flow
//! templates. What ends "with tear down" ends for all contexts of the address.
//!
//! Clause numbers are those of 24.008 R99.

pub mod ms;
pub mod network;
#[cfg(test)]
mod pair;
mod retry;

use gannet_wire::id::Nsapi;

/// NSAPIs 5 to 15.
pub const CONTEXTS: usize = 11;

/// The place of an NSAPI in a set of contexts; `None` where it is reserved.
fn place(nsapi: Nsapi) -> Option<usize> {
    usize::from(nsapi.0).checked_sub(5).filter(|place| *place < CONTEXTS)
}

/// The NSAPI of a place.
fn nsapi_of(place: usize) -> Nsapi {
    Nsapi(u8::try_from(place).unwrap_or(0).saturating_add(5))
}
