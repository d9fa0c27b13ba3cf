//! RLC/MAC: 04.60 (44.060), and what the CCCH of 04.08 (44.018) has for it.
//!
//! [`coding`] has the four coding schemes of GPRS and their sizes, [`block`] RLC data blocks, downlink and uplink. [`downlink`], [`paging`] and
//! [`uplink`] have the control messages, [`neighbour`] those of network-assisted cell change, [`control`] the
//! blocks that carry them, [`access`] the access bursts, [`ccch`] the messages of AGCH and PCH, [`bcch`], [`cell`] and [`selection`] what
//! a cell broadcasts.
//!
//! Messages are those of R97 and R99 for GPRS. What a later release adds at the end of a message is kept as bits
//! ([`Later`]) and never made; a message for EGPRS is an error.

pub mod access;
pub mod bcch;
pub mod block;
pub mod ccch;
pub mod cell;
pub mod coding;
pub mod control;
mod csn;
pub mod downlink;
pub mod element;
mod message;
pub mod neighbour;
pub mod paging;
pub mod selection;
pub mod uplink;
pub mod value;

pub use control::{DownlinkControlBlock, UplinkControlBlock};
pub use csn::{Bits, Later, LaterRest};
pub use downlink::DownlinkMessage;
pub use uplink::UplinkMessage;
