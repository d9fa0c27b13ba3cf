//! The mobiles against a small scripted network.

mod bench;
mod mobility;
mod sessions;
mod traffic;
