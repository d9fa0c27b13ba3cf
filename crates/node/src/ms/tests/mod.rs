//! The mobiles against a small scripted network.

mod bench;
mod devices;
mod links;
mod mobility;
mod security;
mod sessions;
mod traffic;
mod travel;
