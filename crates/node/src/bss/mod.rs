//! The base station system: cells that emulate a radio, and the Gb interface to an SGSN.

pub mod radio;
