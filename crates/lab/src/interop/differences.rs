//! What is known to differ: each has its row in `interop/README.md`, under this name.

/// osmo-sgsn has neither GEA1 nor GEA2.
pub const NO_GEA1_GEA2: &str = "no-gea1-gea2";
/// osmo-sgsn tells an unknown subscriber cause 2 where cause 8 is due.
pub const UNKNOWN_SUBSCRIBER: &str = "unknown-subscriber";
/// osmo-sgsn accepts an attach before the HLR has.
pub const ACCEPTS_EARLY: &str = "accepts-early";
/// osmo-sgsn counts N(U) anew under a foreign TLLI, so that a mobile takes its answer for a repetition.
pub const RAU_REPETITION: &str = "rau-repetition";
/// osmo-sgsn sends no FLUSH-LL when a mobile changes cells.
pub const NO_FLUSH_LL: &str = "no-flush-ll";
/// osmo-sgsn does not ask the mobile to activate anew what its GGSN has forgotten.
pub const NO_REACTIVATION: &str = "no-reactivation";

/// All of them.
pub const ALL: &[&str] =
    &[NO_GEA1_GEA2, UNKNOWN_SUBSCRIBER, ACCEPTS_EARLY, RAU_REPETITION, NO_FLUSH_LL, NO_REACTIVATION];
