//! RLC/MAC: 04.60 (44.060).
//!
//! [`coding`] has the four coding schemes of GPRS and their sizes. [`block`] has RLC data blocks, downlink and uplink.

pub mod block;
pub mod coding;
