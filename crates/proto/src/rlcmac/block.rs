//! A radio block on its way, taken apart: a data block or a control block.

use super::signal::{Down, Up};
use gannet_wire::rlcmac::block::{Body, DownlinkHeader, UplinkHeader};
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme;

/// Downlink.
#[derive(Debug, Clone)]
pub enum DownBlock {
    /// An RLC data block.
    Data {
        /// Its headers.
        header: DownlinkHeader,
        /// Its data field.
        body: Body,
    },
    /// An RLC/MAC control block.
    Control {
        /// Who sends in the next uplink block of this PDCH.
        usf: u8,
        /// A poll: which block is for the answer.
        rrbp: Option<u8>,
        /// The message.
        message: Down,
    },
}

/// Uplink.
#[derive(Debug, Clone)]
pub enum UpBlock {
    /// An RLC data block.
    Data {
        /// Its headers.
        header: UplinkHeader,
        /// Its data field.
        body: Body,
    },
    /// An RLC/MAC control block.
    Control(Up),
    /// PACKET CONTROL ACKNOWLEDGEMENT as four access bursts of so many bits, alike, one in each TDMA frame of the block (44.060
    /// clause 11.2.2). They do not say whose they are.
    ControlAckBursts(AccessBurst),
}

impl DownBlock {
    /// Who sends in the next uplink block of this PDCH.
    #[must_use]
    pub const fn usf(&self) -> u8 {
        match self {
            Self::Data { header, .. } => header.usf,
            Self::Control { usf, .. } => *usf,
        }
    }

    /// How it is coded.
    #[must_use]
    pub const fn coding(&self) -> CodingScheme {
        match self {
            Self::Data { body, .. } => body.scheme(),
            Self::Control { .. } => CodingScheme::Cs1,
        }
    }
}

impl UpBlock {
    /// How it is coded. Access bursts count as a block of CS-1, since the channel has no curve of their own.
    #[must_use]
    pub const fn coding(&self) -> CodingScheme {
        match self {
            Self::Data { body, .. } => body.scheme(),
            Self::Control(_) | Self::ControlAckBursts(_) => CodingScheme::Cs1,
        }
    }

    /// It is PACKET CONTROL ACKNOWLEDGEMENT, in either form.
    #[must_use]
    pub const fn is_control_ack(&self) -> bool {
        matches!(self, Self::Control(Up::ControlAck { .. }) | Self::ControlAckBursts(_))
    }
}
