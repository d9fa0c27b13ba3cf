//! GPRS tunnelling protocol between GSNs: GTPv1 of 29.060, and GTPv0 of 09.60.
//!
//! * [`header`]: the header that control and user plane share, with its extension headers.
//! * [`v1u`]: the G-PDU, the hot path.
//! * [`v1c`]: the signalling messages, owned structs.
//! * [`ie`]: the types of the information elements, their formats, and how a message's elements are taken apart.
//! * [`value`]: what stands in an element.
//! * [`pco`]: the protocol configuration options, which the mobile and the GGSN exchange through all of it.
//! * [`v0`]: header, elements and messages of GTPv0, which shares formats of elements with GTPv1.

pub mod cause;
pub mod header;
pub mod ie;
mod messages;
pub mod pco;
pub mod v0;
pub mod v1c;
pub mod v1u;
pub mod value;

pub use cause::{Cause, cause};
pub use header::Header;
pub use v1c::Message;
pub use value::{EndUserAddress, Msisdn, PrivateExtension, Qos, TeidDataII, UserLocation, UserLocationKind};

/// UDP port of the control plane of GTPv1 (29.060 clause 10.1.1).
pub const PORT_CONTROL: u16 = 2123;
/// UDP port of the user plane of GTPv1 (29.060 clause 10.1.2).
pub const PORT_USER: u16 = 2152;
/// UDP port of GTPv0 (09.60 clause 10.1).
pub const PORT_V0: u16 = 3386;
