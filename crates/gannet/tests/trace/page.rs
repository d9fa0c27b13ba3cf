//! docs/trace.md: its commands print what the page shows.

use gannet_testkit::Case;

pub const CASES: &[Case] = &[];
