//! GPRS over bearers that are no radio: what it costs on Ethernet and wireless LAN, and what acknowledged mode is worth there.
//!
//! | experiment | question |
//! |---|---|
//! | `bearer-rtt` | the round trip by packet size, with the standard's parameters and with parameters that fit the bearer |
//! | `bearer-throughput` | TCP, with both sets of parameters |
//! | `bearer-loss` | TCP where frames are lost, with every timer and way of retransmission |
//! | `bearer-change` | a change of bearer during a download |
//! | `bearer-simulated` | all of these in virtual time, with a source on top of LLC in place of TCP |
//!
//! | file | what |
//! |---|---|
//! | `line` | the bearers, and how they are emulated |
//! | `configs` | parameters, and the nodes' configuration files |
//! | `bed` | namespaces and nodes |
//! | `probe` | pings, transfers and downloads |
//! | `ideal` | what no selective repeat can exceed |
//!
//! The page is `docs/lab/bearer.md`.

mod bed;
pub mod change;
mod configs;
mod ideal;
mod line;
pub mod loss;
mod probe;
pub mod rtt;
pub mod simulated;
pub mod throughput;

/// An error as a sentence.
fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
