//! NS and BSSGP as the reader of captures takes them.
#![no_main]
#![allow(dead_code, reason = "each target has one entry of many")]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::capture_gb(octets));
