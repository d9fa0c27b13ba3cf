//! What is known to differ: each has its row in `interop/README.md`, under this name.

/// osmo-sgsn sends no FLUSH-LL when a mobile changes cells.
pub const NO_FLUSH_LL: &str = "no-flush-ll";

/// All of them.
pub const ALL: &[&str] = &[NO_FLUSH_LL];
