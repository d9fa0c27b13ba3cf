//! What is known to differ: each has its row in `interop/README.md`, under this name.

/// osmo-sgsn has neither GEA1 nor GEA2.
pub const NO_GEA1_GEA2: &str = "no-gea1-gea2";
/// osmo-sgsn accepts an attach before the HLR has.
pub const ACCEPTS_EARLY: &str = "accepts-early";
/// osmo-sgsn counts N(U) anew under a foreign TLLI, so that a mobile takes its answer for a repetition.
pub const RAU_REPETITION: &str = "rau-repetition";
/// osmo-sgsn learns of another cell from user data only, and sends no FLUSH-LL.
pub const CELL_UPDATE: &str = "cell-update";
/// osmo-sgsn withdraws a subscriber with a DETACH REQUEST for another service than GPRS.
pub const DETACH_TYPE: &str = "detach-type";
/// osmo-sgsn says of each access point that the subscription names it.
pub const SELECTION_MODE: &str = "selection-mode";
/// osmo-sgsn does not ask the mobile to activate anew what its GGSN has forgotten.
pub const NO_REACTIVATION: &str = "no-reactivation";
/// osmo-sgsn does not know DeleteSubscriberData.
pub const NO_DELETE_DATA: &str = "no-delete-data";
/// osmo-sgsn does not repeat PurgeMS that an HLR has lost.
pub const PURGE_LOST: &str = "purge-lost";
/// osmo-sgsn does not know contexts beside a first one.
pub const SECONDARY_STATUS: &str = "secondary-status";
/// osmo-sgsn does not know PDU Notification.
pub const NO_NOTIFICATION: &str = "no-notification";
/// osmo-ggsn's router advertisements say other things than ours.
pub const ROUTER_ADVERTISEMENT: &str = "router-advertisement";
/// osmo-ggsn refuses contexts beside a first one.
pub const NO_SECONDARY: &str = "no-secondary";

/// All of them.
pub const ALL: &[&str] = &[
    NO_GEA1_GEA2,
    ACCEPTS_EARLY,
    RAU_REPETITION,
    CELL_UPDATE,
    DETACH_TYPE,
    SELECTION_MODE,
    NO_REACTIVATION,
    NO_DELETE_DATA,
    PURGE_LOST,
    SECONDARY_STATUS,
    NO_SECONDARY,
    NO_NOTIFICATION,
    ROUTER_ADVERTISEMENT,
];
