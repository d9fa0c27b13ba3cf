//! What is known of NSEs and BVCs.

use gannet_proto::bssgp::flow_control::BvcParameters;

/// One NSE.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nse {
    /// Its signalling BVC was reset.
    pub(super) up: bool,
    /// And a reset of that is without an answer.
    pub(super) pending: bool,
}

/// One cell, a PTP BVC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) flow: BvcParameters,
    /// The refresh that counts.
    pub(super) due_ms: u32,
    /// When FLOW-CONTROL-BVC was sent last.
    pub(super) told_ms: Option<u32>,
    pub(super) up: bool,
    /// A reset is without an answer.
    pub(super) pending: bool,
    pub(super) tag: u8,
}

impl Cell {
    pub(super) const fn new(flow: BvcParameters) -> Self {
        Self { flow, due_ms: 0, told_ms: None, up: false, pending: false, tag: 0 }
    }
}

/// A BVC that is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bvc {
    /// The signalling BVC of an NSE.
    Signalling(u16),
    /// That of a cell.
    Ptp(u32),
}
