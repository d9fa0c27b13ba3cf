//! Queueing, and nothing but queueing.
//!
//! Nothing here knows a protocol: the only imports from this crate are `time`, `rng`, `trace` and `frame`, and
//! [`classifier`] with [`rule_book`] alone knows the names that packets carry. Every shaper answers *when* the next PDU conforms, so that
//! whoever uses it sleeps until then and never ticks.

pub mod class;
pub mod classifier;
pub mod deadline_heap;
pub mod flow_queues;
pub mod leaky_bucket;
pub mod links;
pub mod rule_book;
pub mod token_bucket;
