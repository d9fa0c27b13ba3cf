//! GPRS over bearers that are no radio: what it costs on Ethernet and wireless LAN, and what acknowledged mode is worth there.
//!
//! | experiment | question |
//! |---|---|
//! | `bearer-rtt` | the round trip by packet size, with the standard's parameters and with parameters that fit the bearer |
//! | `bearer-throughput` | TCP, with both sets of parameters |
//! | `bearer-beside` | the round trip of a ping beside TCP that fills the bearer |
//! | `bearer-loss` | TCP where frames are lost, with every timer and way of retransmission |
//! | `bearer-sequence` | sequence numbers of TCP and of LLC over time, where frames are lost |
//! | `bearer-change` | a change of bearer during a download |
//! | `bearer-cpu` | what a packet costs the mobile's process, beside wireguard-go |
//! | `bearer-crowd` | 200 mobiles in one process, with traffic, and a change of bearer |
//! | `bearer-simulated` | all of these in virtual time, with a source on top of LLC in place of TCP |
//!
//! | file | what |
//! |---|---|
//! | `line` | the bearers, and how they are emulated |
//! | `configs` | parameters, and the nodes' configuration files |
//! | `bed` | namespaces and nodes |
//! | `hop` | a bare hop: what user space alone costs |
//! | `wireguard` | wireguard-go as a peer |
//! | `probe` | pings, transfers and downloads |
//! | `ideal` | what no selective repeat can exceed |
//!
//! The page is `docs/lab/bearer.md`.

mod bed;
pub mod beside;
pub mod change;
mod configs;
pub mod cpu;
pub mod crowd;
pub mod hop;
mod ideal;
mod line;
pub mod loss;
mod probe;
pub mod rtt;
pub mod sequence;
pub mod simulated;
pub mod throughput;
mod wireguard;

/// An error as a sentence.
fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
