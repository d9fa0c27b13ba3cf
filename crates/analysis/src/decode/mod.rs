//! What stands in a frame. Nothing here remembers anything: what needs memory is in [`crate::join`].

pub mod gb;
pub mod gtp;
pub mod ip;
pub mod link;
pub mod radio;
pub mod tcp;
