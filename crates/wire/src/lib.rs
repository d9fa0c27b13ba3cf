//! Octets to messages and back: no state, no time, no I/O.
//!
//! Every format of the Gb, Gn and Um interfaces that Gannet speaks has one module here, named as its
//! specification names it. Clause numbers are those of the R97/R99 specifications, with the later number of the
//! same document in brackets: 08.16 (48.016), 08.18 (48.018), 04.60 (44.060), 04.64 (44.064), 04.65 (44.065),
//! 04.08 (24.008), 29.060 (09.60).
//!
//! # Panic contract
//!
//! Nothing in this crate panics on any input octets. A view (`Packet<T>`) is made by `new_checked`, which proves
//! that every accessor stays within the buffer; a write through a setter that changes a length or flag field
//! voids that proof, and the accessors then answer with an error or an empty slice, never with a panic.
//!
//! # Shapes
//!
//! * Fixed headers of the hot path (NS-UNITDATA, UL/DL-UNITDATA, LLC, SNDCP, GTP-U) are *views* over borrowed
//!   octets and small plain `Repr`s with `parse`, `buffer_len` and `emit`.
//! * Signalling is owned message structs with `parse(&[u8]) -> Result<Self, DecodeError>` and
//!   `emit(&self, &mut Vec<u8>)`.

pub mod adaptation;
pub mod bssgp;
pub mod cursor;
pub mod error;
pub mod fcs24;
pub mod gsmtap;
pub mod gsmtap_log;
pub mod gsup;
pub mod gtp;
pub mod id;
pub mod ipa;
pub mod l3;
pub mod llc;
pub mod ndp;
pub mod ns;
mod octet_enum;
pub mod rlcmac;
pub mod sndcp;
pub mod tcp_mss;
pub mod tlv;

pub use cursor::Reader;
pub use error::{DecodeError, DecodeErrorKind};
