//! SNDCP entities (04.65 [44.065]): the same code for the mobile and for the SGSN.
//!
//! Unacknowledged transfer without compression: [`SndcpNsapi::unitdata_request`] cuts an N-PDU into SN-UNITDATA PDUs,
//! [`receive`] takes one off and gives the N-PDU when it is whole. What one NSAPI must remember is [`SndcpNsapi`];
//! segments that wait for others are held in one [`Reassembler`] of the node.
//!
//! A mobile with acknowledged mode or compression has an [`Sndcp`] besides; [`crate::user_plane`] joins that with LLC.

mod acknowledged;
pub mod compression;
mod connection;
mod entity;
mod reassembly;
pub mod rfc1144;
mod segment;
mod store;
pub mod v42bis;

pub use acknowledged::{AcknowledgedLimits, KEPT_EVERY_N_PDUS};
pub use connection::{Counted, LinkView, Setting, Sndcp, SndcpConfig, SndcpOutput, Taken, Whole};
pub use entity::{NPdu, Receiver, SndcpNsapi, answer_xid, receive};
pub use reassembly::{Reassembler, ReassemblyKey};
pub use store::WINDOW;

/// Octets of the longest N-PDU: the most that N201 allows for a PDP type without segmentation (04.65 clause 6.7).
pub const N_PDU_MAX: usize = 1520;

/// Octets that SNDCP puts in front of an N-PDU that is not cut.
pub const HEADROOM: usize = gannet_wire::sndcp::UNITDATA_FIRST_LEN;
