//! The SGSN.
