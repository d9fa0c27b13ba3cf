//! RLC/MAC: 04.60 (44.060), the same code for a PCU and for mobiles.
//!
//! [`rlc`] has a sender and a receiver of one TBF: blocks, window, acknowledgement. [`multiframe`] says when blocks are on the
//! air, [`multislot`] on which timeslots a mobile can have them, and [`channel`] which of them are lost there.

pub mod channel;
pub mod multiframe;
pub mod multislot;
pub mod rlc;
