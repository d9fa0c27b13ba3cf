//! Queueing, and nothing but queueing.
//!
//! Nothing here knows a protocol: of this project only the contract of nodes ([`gannet_machine`]) is imported. Every shaper answers
//! *when* the next PDU conforms, so that whoever uses it sleeps until then and never ticks.

pub mod class;
pub mod deadline_heap;
pub mod discipline;
pub mod edge;
pub mod flow_queues;
pub mod fq_codel;
pub mod leaky_bucket;
pub mod links;
pub mod shaped;
pub mod succession;
pub mod token_bucket;
