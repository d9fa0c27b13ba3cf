//! Logical link control: 04.64 (44.064).
//!
//! An LL-PDU is an address octet, a control field of one to 36 octets, information, and the FCS. [`Header`] is the
//! first two; [`Header::parse`] looks at a whole LL-PDU and says where its information stands. It does not check the
//! FCS, because a ciphered frame must be deciphered first: [`Layout::fcs_is_right`] does.
//!
//! Reserved SAPIs and U functions are kept as they are: what to do with them is the entity's decision.

mod header;
pub mod xid;

pub use header::{
    Control, FrmrInformation, Header, HeaderOctets, Layout, N202, SackBitmap, Supervisory, UFunction,
    i_header, ui_header,
};

/// Octets of the longest header: an I frame with a SACK bitmap of 32 octets.
pub const HEADER_LEN_MAX: usize = 37;
/// Octets of the header of an I frame without SACK bitmap.
pub const I_HEADER_LEN: usize = 4;
/// Octets of the header of a UI frame.
pub const UI_HEADER_LEN: usize = 3;
/// Sequence numbers N(S), N(R) and N(U) count modulo this (04.64 clause 6.3.5).
pub const MODULUS: u16 = 512;
/// Octets of information that any SAPI may at most carry: the upper end of N201 (04.64 clause 8.9).
pub const N201_MAX: u16 = 1520;
/// The lower end of N201-U and N201-I.
pub const N201_MIN: u16 = 140;
