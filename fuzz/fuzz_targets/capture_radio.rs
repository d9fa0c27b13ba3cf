//! GSMTAP as the reader of captures takes it.
#![no_main]
#![allow(dead_code, reason = "each target has one entry of many")]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::capture_radio(octets));
