//! Captures in the pcapng format: datagrams as raw IP packets (LINKTYPE_RAW), frames of an EtherType of our own as Ethernet
//! (LINKTYPE_ETHERNET), timestamps in nanoseconds, the direction in each block.
//!
//! [`Recorder`] never makes its caller wait for the disk: records go into a buffer of limited size which a thread of
//! its own writes out; a record that finds the buffer full is lost and counted ([`Recorder::lost`]). The thread
//! writes whole blocks in the order of recording, at the latest 50 ms after they came, so a file whose writer was
//! killed is readable up to the last whole block. A file that takes nothing (a full disk) is tried again each second and
//! goes on where it stopped ([`Recorder::failure`] says why); [`Reader`] takes an incomplete block at the end for the end.
//!
//! The first record behind lost ones has their number (`epb_dropcount`). What has no packet is an entry of systemd's journal.

mod block;
mod output;
mod packet;
pub(crate) mod pipe;
mod reader;
mod recorder;
mod watchers;

pub use block::{LinkType, Section};
pub use output::Ring;
pub(crate) use output::private;
pub use packet::{Segment, Udp, udp_of};
pub use reader::{ReadError, Reader, Record};
pub use recorder::{Beside, InterfaceId, LIMIT_DEFAULT, Packet, Recorder};

/// Which way a datagram went, seen from the node that records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The node received it.
    In,
    /// The node sent it.
    Out,
}

impl Direction {
    /// The direction bits of the flags option of an enhanced packet block.
    const fn flags(self) -> u32 {
        match self {
            Self::In => 1,
            Self::Out => 2,
        }
    }

    /// From those bits; `None` where the block does not say.
    const fn from_flags(flags: u32) -> Option<Self> {
        match flags & 3 {
            1 => Some(Self::In),
            2 => Some(Self::Out),
            _ => None,
        }
    }
}
