//! Packets by streams, for every node that forwards IP packets: rules that say whose stream a packet is of ([`RuleBase`]), the fast
//! path in front of them ([`Classifier`]), and the queues of the streams behind the rate of a line ([`WayOut`]).

mod classifier;
pub(crate) mod header;
mod rule_index;
mod rules;
mod way_out;

pub use classifier::{Classifier, Found, Paths};
pub use header::{Flow, Subscriber};
pub use rules::{Rule, RuleBase, Verdict};
pub use way_out::{Line, Unqueued, WayOut, WayOutConfig, WayOutError};

/// The stream of packets that no rule knows, or whose stream is not configured on their way out.
pub const BEST_EFFORT: u32 = 0;
