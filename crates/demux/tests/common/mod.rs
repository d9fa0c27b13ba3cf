//! What the tests of this crate share.

pub mod frames;
pub mod vectors;
