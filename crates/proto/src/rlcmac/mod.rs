//! RLC/MAC: 04.60 (44.060), the same code for a PCU and for mobiles.
//!
//! [`rlc`] has a sender and a receiver of one TBF: blocks, window, acknowledgement. [`multiframe`] says when blocks are on the
//! air, [`multislot`] on which timeslots a mobile can have them, and [`channel`] which of them are lost there.
//!
//! [`network`] is the PCU of a cell and [`mobile`] the MAC of a mobile. Both are sans-IO: each is told what it hears and asked
//! what it sends, block period by block period, and frame by frame of the CCCH ([`ccch`], [`paging`]). They speak in the primitives of
//! [`signal`] and in the blocks of [`block`]; their octets are in `codec`. [`air`] is a cell with both of them and what lies between.
//!
//! Where they are not in one place, [`network_side`] and [`mobile_side`] are the two ends of an air that carries [`on_air`]. Mobiles then
//! count the frames of their cell ([`air_clock`]) and read what it broadcasts ([`broadcast`]).

pub mod air;
pub mod air_clock;
pub mod bearer;
pub mod block;
pub mod broadcast;
pub mod ccch;
pub mod channel;
mod codec;
pub mod config;
pub mod conservation;
pub mod custody;
pub mod fates;
pub mod mobile;
pub mod mobile_side;
pub mod multiframe;
pub mod multislot;
pub mod network;
pub mod network_side;
pub mod on_air;
pub mod paging;
pub mod policy;
pub mod rlc;
pub mod signal;
pub mod tap;
mod transmitter;
