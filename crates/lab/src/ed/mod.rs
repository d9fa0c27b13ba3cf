//! Early demultiplexing, measured: chapter 7 of the thesis on today's machine, against what must hold.
//!
//! One file is one experiment, written against [`crate::measure`]; `throughput` has parts of its own. `real` has the chain of
//! processes and network namespaces, `bed` where they run; the tests have a chain that is arithmetic.

pub mod abm_cost;
pub mod bare;
pub mod bed;
pub mod check;
pub mod compare;
pub mod delay;
pub mod flood;
pub mod isolation;
pub mod near;
mod one_step;
pub mod overhead;
pub mod peers;
pub mod precedence;
pub mod pulse;
pub mod real;
mod run;
pub mod scale;
mod shape;
pub mod slabs;
pub mod step;
pub mod thesis;
pub mod throughput;
pub mod trace_cost;
mod tracing;
pub mod uplink;

#[cfg(test)]
mod fake;

pub use run::{run, run_ciphered};
