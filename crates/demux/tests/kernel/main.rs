//! What only a kernel can show: programs that load, maps that are shared, attachments that leave with their process.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod loading;

use gannet_testkit::{Case, Need};
use std::process::ExitCode;

/// Loading programs takes the rights that making namespaces takes, and a build with clang.
const KERNEL: &[Need] = &[Need::NetAdmin, Need::Program("clang")];

const CASES: &[Case] = &[
    ("loading::maps_and_programs", KERNEL, loading::maps_and_programs),
    ("loading::errors_say_what_is_wrong", KERNEL, loading::errors_say_what_is_wrong),
];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}
