//! What belongs together across frames. Each part has a limit, and counts what it had to leave.

pub mod aliases;
pub mod clocks;
pub mod connections;
pub mod fragments;
pub mod mobiles;
pub mod rlc;
pub mod sndcp;
