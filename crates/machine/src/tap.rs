//! Sees everything that goes into a machine and comes out of it: for a recording. A driver without one pays for a look at an
//! option in each batch.

use crate::contract::{Input, Machine, Output};
use crate::time::Instant;
use core::fmt;

/// Told by a driver of what its machine takes and gives, in that order.
pub trait Tap<M: Machine>: fmt::Debug {
    /// `machine` takes `input` next; it has not seen it yet.
    fn takes(&mut self, now: Instant, machine: &M, input: &Input<M::Command>);
    /// `machine` has given `output`.
    fn gives(&mut self, now: Instant, machine: &M, output: &Output<M::Event, M::Rule>);
    /// Something else happened to the machine, which no input of it says.
    fn notes(&mut self, now: Instant, what: &str);
    /// What was told up to now belongs together: the driver turns to something else.
    fn rests(&mut self);
}
