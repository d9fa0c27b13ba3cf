//! The contract between a node and its driver, and nothing of any protocol.
//!
//! A node is a [`Machine`]: inputs in batches, outputs in batches. Time, dice, wake-ups, log and frames are lent with each call
//! ([`Context`]). Nothing here reads a clock, throws dice that no seed decides, opens a socket or starts a thread, so the simulator
//! and the network run the same node.
//!
//! | module | what it has |
//! |---|---|
//! | [`time`], [`rng`] | instants in nanoseconds, seeded dice |
//! | [`timers`] | wake-ups of a node, and deadlines by name that move with what they concern |
//! | [`frame`], [`kept`] | frames of a pool; octets that are kept for long, in memory of the node |
//! | [`trace`], [`drops`] | log lines by category, drops by name |
//! | [`tap`] | sees what goes in and what comes out, for a recording |
//! | [`fabric`] | what stands between two parties in virtual time |
//! | [`prefetch`], [`load`] | what a driver in real time tells of its processor |

mod contract;
pub mod drops;
pub mod fabric;
pub mod frame;
pub mod kept;
pub mod load;
pub mod prefetch;
pub mod rng;
pub mod tap;
pub mod time;
pub mod timers;
pub mod trace;

pub use contract::{
    Batch, Context, EthernetAddress, Fold, Input, Machine, Output, Peer, Port, StreamState, Surroundings,
};
