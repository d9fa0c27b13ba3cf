//! N-PDUs with data that V.42bis has compressed, and states.
#![no_main]
#![allow(dead_code, reason = "each target has one entry of many")]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::v42bis(octets));
