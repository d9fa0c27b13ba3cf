//! The SGSN against a BSS, mobiles and GGSNs that say what a test lets them say.

mod acknowledged;
mod arriving;
mod attach;
mod bench;
mod cell_change;
mod downlink;
mod durable;
mod flows;
mod gtp_v0;
mod keys;
mod later;
mod leaving;
mod messages;
mod notified;
mod ns_bvc;
mod operation;
mod places;
mod qos;
mod relocation;
mod secondary;
mod security;
mod sessions;
mod subscribers;
mod told;
mod uplink;
mod uplink_queues;
