//! The GGSN.
