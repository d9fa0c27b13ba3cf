//! The laboratory: reproduces the papers, measures Gannet against its peers, and shows the main job.
//!
//! An experiment is one file. It takes [`report::Options`], shows its progress, and gives back a
//! [`report::Report`], which is written as JSON, as one SVG a figure and as `index.html`. A simulated experiment gives
//! the same octets for the same seed; a real-time one states the machine.

pub mod abm;
pub mod bearer;
pub mod busy;
mod contexts;
pub mod counters;
pub mod demo;
pub mod demo_ms;
pub mod ed;
pub mod edge;
pub mod experiments;
pub mod figure;
pub mod forwarding;
pub mod ggsn_cost;
pub mod ggsn_tcp;
pub mod hlr;
pub mod http;
pub mod interop;
pub mod iperf;
pub mod link;
mod llc_end;
pub mod load;
pub mod losses;
pub mod measure;
pub mod mobility;
pub mod mock_cipher;
mod ms_control;
mod osmo_bss;
mod parallel;
pub mod preempt;
pub mod qos_cell;
pub mod radio;
pub mod radio_interop;
pub mod report;
mod settings;
pub mod tcp;
pub mod tcp_model;
pub mod testbed;
pub mod trace;
pub mod trace_read;
pub mod way;
pub mod world;
