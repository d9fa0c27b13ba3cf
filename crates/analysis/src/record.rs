//! One record for each unit of each layer, as it was seen at one place.

use gannet_wire::rlcmac::coding::CodingScheme;
use serde::Serialize;

/// The frame that proves a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Proof {
    /// The file, in the order in which files were named, from 0.
    pub file: u16,
    /// The frame's number in that file, from 1, as Wireshark counts.
    pub frame: u64,
}

/// Nanoseconds since the beginning of 1970, UTC, after the offset of the file's clock was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
pub struct Stamp(pub u64);

impl Stamp {
    /// Seconds from an earlier stamp to this one; negative where that one is later.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "differences of captures are far below 2^53 ns")]
    pub const fn seconds_since(self, earlier: Self) -> f64 {
        self.0.wrapping_sub(earlier.0).cast_signed() as f64 / 1e9
    }
}

/// What kind of place an interface of a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The radio, or the line between base station and PCU.
    Radio,
    /// Between BSS and SGSN: NS over UDP.
    Gb,
    /// Between SGSN and GGSN: GTP.
    Gn,
    /// Plain IP: Gi, a TUN device, a host's own interface.
    Ip,
}

/// A record, where and when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen<T> {
    /// When.
    pub at: Stamp,
    /// Which frame proves it.
    pub proof: Proof,
    /// Which place, as an index into the places of the reading.
    pub place: u16,
    /// What.
    pub what: T,
}

/// The direction of what crosses the radio, Gb or Gn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Direction {
    /// From the mobile.
    Up,
    /// To the mobile.
    Down,
}

/// One RLC/MAC block or access burst (44.060, clause 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RadioBlock {
    /// Absolute radio frequency channel number: which cell, as far as a capture says it.
    pub arfcn: u16,
    /// The timeslot, 0 to 7.
    pub timeslot: u8,
    /// TDMA frame number of its first burst.
    pub frame_number: u32,
    /// Up or down.
    pub direction: Direction,
    /// What is in it.
    pub contents: BlockContents,
}

/// What a block carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockContents {
    /// An RLC data block.
    Data(DataBlock),
    /// A report on a TBF: PACKET UPLINK ACK/NACK of the network, or PACKET DOWNLINK ACK/NACK of a mobile.
    AckNack(AckNack),
    /// Timeslots for a TBF: PACKET UPLINK or DOWNLINK ASSIGNMENT, PACKET TIMESLOT RECONFIGURE, IMMEDIATE ASSIGNMENT.
    Assignment(Assignment),
    /// Another control message, by the name that the specification gives.
    Control {
        /// Its name, such as `PACKET CONTROL ACKNOWLEDGEMENT`.
        name: &'static str,
        /// The mobile, where the message says it.
        tlli: Option<u32>,
    },
    /// A dummy block: nothing to send.
    Dummy,
    /// An access burst, or its request.
    Access,
    /// It cannot be read.
    Unreadable,
}

/// An RLC data block (44.060, 10.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataBlock {
    /// Its coding scheme, where the capture says it or its length tells.
    pub scheme: Option<CodingScheme>,
    /// Temporary flow identity.
    pub tfi: u8,
    /// Block sequence number, modulo 128.
    pub bsn: u8,
    /// Uplink: countdown value. Downlink: 0 where the final block indicator is set, else 15.
    pub countdown: u8,
    /// Uplink: the mobile asks for the time to answer (SI, stall). Downlink: the network asks for a report (RRBP valid).
    pub polls_or_stalls: bool,
    /// The mobile, in the first blocks of an uplink TBF.
    pub tlli: Option<u32>,
    /// Octets of LL-PDUs in it, without headers and filling.
    pub user_octets: u16,
    /// A digest of its octets behind the MAC header, by which a block sent again is known.
    pub digest: u64,
}

/// A report on received blocks (44.060, 9.1.8 and 12.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckNack {
    /// The TBF's temporary flow identity.
    pub tfi: u8,
    /// Which way the TBF goes: a report on a downlink TBF goes up.
    pub of: Direction,
    /// All has arrived.
    pub is_final: bool,
    /// Starting sequence number.
    pub ssn: u8,
    /// Bit n tells of block `ssn − 1 − n`, modulo 128: whether it has arrived.
    pub received: u64,
}

/// Timeslots for a TBF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Which way the TBF goes.
    pub of: Direction,
    /// Its temporary flow identity, where the message has one.
    pub tfi: Option<u8>,
    /// The mobile, where the message names it.
    pub tlli: Option<u32>,
    /// Bit n stands for timeslot n.
    pub timeslots: u8,
    /// On the common control channel (the mobile had no TBF).
    pub is_common: bool,
}

/// One segment of TCP, wherever it was seen: at a host, in a G-PDU, or put together from SN-PDUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSegment {
    /// The connection: index into the connections of the reading.
    pub connection: u32,
    /// From the end that opened it to the other.
    pub is_forward: bool,
    /// First sequence number, as on the wire.
    pub sequence: u32,
    /// Acknowledgement number, as on the wire.
    pub acknowledgement: u32,
    /// Octets of the stream.
    pub length: u32,
    /// CWR ECE URG ACK PSH RST SYN FIN, from bit 7 to bit 0.
    pub flags: u8,
    /// The window as written; the scale of the connection stands in its SYN.
    pub window: u16,
    /// Left and right edge of each block of selective acknowledgement.
    pub sack: Vec<(u32, u32)>,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Window scale of a SYN.
    pub scale: Option<u8>,
    /// Maximum segment size of a SYN.
    pub mss: Option<u16>,
    /// Identification of the IPv4 header, by which a copy at another place is known; 0 in IPv6.
    pub identification: u16,
    /// Octets of the IP packet.
    pub ip_octets: u32,
}
