//! What is offered, as far as experiments have it in common.

use super::{Group, Members, Onset, Setup, Spacing};

/// Where the first search begins where packets are ciphered.
pub const GUESS_CIPHERED_PPS: f64 = 150_000.0;
/// Ten thousand mobiles of 448 kbit/s are 1.48 million packets/s, more than any candidate forwards.
pub const KBPS: u32 = 448;
/// With work.
pub const KBPS_WITH_WORK: u32 = 184;
/// Stands for GEA3.
pub const WORK_NS: u32 = 7_500;
/// Packets/s of a real-time mobile, within what they negotiate.
const REAL_TIME_PPS: f64 = 100.0;

/// What the real-time mobiles get.
pub fn real_time(setup: &Setup) -> Group {
    Group {
        name: "real time",
        members: Members { first: 0, stride: 1, count: setup.real_time },
        pps_each: REAL_TIME_PPS,
        due_pps_each: REAL_TIME_PPS,
        spacing: Spacing::Fixed,
        begins_s: 0.0,
        within_s: 0.0,
        onset: Onset::Even,
    }
}
