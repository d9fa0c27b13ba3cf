//! N-PDUs with headers that RFC 1144 has compressed.
#![no_main]
#![allow(dead_code, reason = "each target has one entry of many")]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::rfc1144(octets));
