//! The mobiles.
