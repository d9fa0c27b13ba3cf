//! The SGSN.

pub mod directory;
pub mod held;
