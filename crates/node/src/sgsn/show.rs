//! What an operator sees of an SGSN.
