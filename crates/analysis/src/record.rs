//! One record for each unit of each layer, as it was seen at one place.

use gannet_wire::rlcmac::coding::CodingScheme;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// The frame that proves a record. Written out, its file counts from 1, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Proof {
    /// The file, in the order in which files were named, from 0.
    pub file: u16,
    /// The frame's number in that file, from 1, as Wireshark counts.
    pub frame: u64,
}

impl Serialize for Proof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Proof", 2)?;
        fields.serialize_field("file", &(u32::from(self.file) + 1))?;
        fields.serialize_field("frame", &self.frame)?;
        fields.end()
    }
}

/// Nanoseconds since the beginning of 1970, UTC, after the offset of the file's clock was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Downlink: RRBP, where the network asks for a report: 0 to 3 for a block 13, 17, 21 or 26 frames later (44.060, 10.4.5).
    pub rrbp: Option<u8>,
    /// Its last LL-PDU goes on in the next block: there is more to send.
    pub goes_on: bool,
    /// It begins with the length 0: the LL-PDU before had ended with its block (44.060, 10.4.14).
    pub ends_before: bool,
    /// It has nothing but a dummy command of LLC (44.064, 6.4.2.2), by which a TBF goes on without data.
    pub is_filler: bool,
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
    /// Of a downlink TBF: the mobile asks for an uplink TBF (Channel Request Description).
    pub asks: bool,
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
    /// The TBF by whose PACCH the mobile hears of it, where the message names that instead.
    pub through: Option<(Direction, u8)>,
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

/// One unit of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// An RLC/MAC block or access burst.
    Radio(RadioBlock),
    /// A PDU that controls an NS-VC.
    Ns(NsPdu),
    /// A BSSGP PDU, LL-PDUs among them.
    Bssgp(BssgpPdu),
    /// An LL-PDU, from Gb or put together from RLC blocks.
    Llc(LlPdu),
    /// A layer 3 message of a mobile or to it.
    Layer3(Layer3),
    /// An SN-PDU: a segment of an N-PDU.
    Segment(SnPdu),
    /// An IP packet: put together from SN-PDUs, in a G-PDU, or plain.
    Packet(Packet),
    /// A segment of TCP. The packet that carries it is a record before it.
    Tcp(TcpSegment),
    /// A signalling message of GTP.
    Gtp(GtpMessage),
    /// It belongs to a layer and cannot be read.
    Unreadable(Unreadable),
}

/// A PDU that controls an NS-VC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsPdu {
    /// Its name, such as `NS-RESET`.
    pub name: &'static str,
}

/// A BSSGP PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BssgpPdu {
    /// Its name, such as `DL-UNITDATA`.
    pub name: &'static str,
    /// The BVC.
    pub bvci: u16,
    /// The mobile, where the PDU names it.
    pub tlli: Option<u32>,
    /// The same as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// What it says beyond that.
    pub what: BssgpWhat,
}

/// What a BSSGP PDU says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BssgpWhat {
    /// It carries an LL-PDU of so many octets.
    Unitdata {
        /// Up or down.
        direction: Direction,
        /// Octets of the LL-PDU.
        octets: u32,
        /// How long it may wait in the BSS, in hundredths of a second; downlink.
        lifetime_cs: Option<u16>,
        /// The cell, uplink: routing area and cell identity, as on the wire.
        cell: Option<[u8; 8]>,
    },
    /// The bucket of a cell.
    FlowControlBvc {
        /// Bmax of the cell, octets.
        bmax_octets: u64,
        /// R of the cell, bit/s.
        leak_bits_per_s: u64,
        /// Bmax of a mobile without a bucket of its own, octets.
        ms_bmax_octets: u64,
        /// R of such a mobile, bit/s.
        ms_leak_bits_per_s: u64,
    },
    /// The bucket of a mobile.
    FlowControlMs {
        /// Bmax, octets.
        bmax_octets: u64,
        /// R, bit/s.
        leak_bits_per_s: u64,
    },
    /// LL-PDUs of a mobile are to be deleted or to go elsewhere.
    FlushLl {
        /// From this BVC.
        old_bvci: u16,
        /// To this one; without it they are deleted.
        new_bvci: Option<u16>,
    },
    /// They were.
    FlushLlAck {
        /// They went elsewhere.
        is_transferred: bool,
        /// So many octets.
        octets: u32,
    },
    /// The BSS discarded LL-PDUs.
    Discarded {
        /// So many.
        frames: u8,
        /// Of so many octets.
        octets: u32,
    },
    /// A mobile is paged.
    Paging {
        /// Its IMSI.
        imsi: gannet_wire::id::Imsi,
        /// Its P-TMSI, where it is paged by that.
        ptmsi: Option<u32>,
    },
    /// Nothing that concerns a trace.
    Other,
}

/// What the frame check sequence of an LL-PDU says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fcs {
    /// It is right.
    Right,
    /// It is wrong.
    Wrong,
    /// The LL-PDU is ciphered and no key opens it.
    Ciphered,
    /// The capture has not all of the LL-PDU.
    Cut,
}

/// An LL-PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlPdu {
    /// Up or down.
    pub direction: Direction,
    /// The mobile, where it is known.
    pub tlli: Option<u32>,
    /// The same as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// Address and control field; none where they cannot be read.
    pub header: Option<gannet_wire::llc::Header>,
    /// Frame check sequence.
    pub fcs: Fcs,
    /// It was ciphered like this, and a key has opened it.
    pub deciphered: Option<gannet_proto::llc::Algorithm>,
    /// Octets, header and FCS included.
    pub octets: u32,
    /// Octets of information.
    pub info_octets: u32,
    /// A digest of its octets, by which the same LL-PDU is known at another place.
    pub digest: u64,
    /// When its first RLC block was seen; on Gb the time of the record.
    pub began: Stamp,
    /// The frame of that block.
    pub first: Proof,
    /// RLC blocks that carried it; 0 on Gb.
    pub blocks: u16,
    /// The BVC; none on the radio.
    pub bvci: Option<u16>,
}

/// A layer 3 message of SAPI 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer3 {
    /// Up or down.
    pub direction: Direction,
    /// The mobile, by TLLI.
    pub tlli: Option<u32>,
    /// The same as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// The message.
    pub message: Box<gannet_wire::l3::L3Message>,
}

/// An SN-PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnPdu {
    /// Up or down.
    pub direction: Direction,
    /// The mobile, by TLLI.
    pub tlli: Option<u32>,
    /// The same as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// Its header.
    pub header: gannet_wire::sndcp::Header,
    /// Octets behind the header.
    pub octets: u32,
}

/// What carries a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// SN-PDUs.
    Segments {
        /// Whose context.
        nsapi: u8,
        /// N-PDU number; none in acknowledged mode beyond eight bits.
        number: u16,
        /// How many.
        count: u8,
    },
    /// A G-PDU.
    GPdu {
        /// The receiver's endpoint; of version 0 the flow label.
        teid: u32,
        /// Sequence number, where it has one.
        sequence: Option<u16>,
    },
    /// Nothing of GPRS.
    Plain,
}

/// What an IP packet's headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpSummary {
    /// From where.
    pub source: core::net::IpAddr,
    /// To where.
    pub destination: core::net::IpAddr,
    /// Protocol above IP: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6.
    pub protocol: u8,
    /// Identification of IPv4; 0 in IPv6.
    pub identification: u16,
    /// Ports of TCP and UDP. Of an echo of ICMP its identifier and sequence number.
    pub ports: Option<(u16, u16)>,
    /// Of ICMP the type.
    pub icmp_type: Option<u8>,
    /// It is a fragment.
    pub is_fragment: bool,
}

/// An IP packet at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Up or down, where the place or the mobile's address tells.
    pub direction: Option<Direction>,
    /// The mobile, as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// A digest of what no router changes, by which the packet is known at another place: headers less TTL and checksum,
    /// and the first 40 octets behind the IP header. None where the capture has less.
    pub digest: Option<u64>,
    /// Its headers; none where it is no IP, compressed, or cut too short.
    pub ip: Option<IpSummary>,
    /// Octets of the packet; where it is compressed, as it is.
    pub octets: u32,
    /// When its first SN-PDU was seen, on the radio the first block of that; elsewhere the time of the record.
    pub began: Stamp,
    /// The frame of that.
    pub first: Proof,
    /// What carries it.
    pub carrier: Carrier,
}

/// A signalling message of GTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtpMessage {
    /// Version: 0 or 1.
    pub version: u8,
    /// Its name, such as `Create PDP Context Request`.
    pub name: &'static str,
    /// Endpoint in the header; of version 0 the flow label.
    pub teid: u32,
    /// Joins request and response.
    pub sequence: Option<u16>,
    /// The mobile, where the message or what went before tells.
    pub mobile: Option<u32>,
    /// Its cause, in a response.
    pub cause: Option<u8>,
}

/// What belongs to a layer and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Which layer.
    pub layer: &'static str,
    /// Why.
    pub why: gannet_wire::DecodeError,
}

impl Record {
    /// The layer in one word.
    #[must_use]
    pub const fn layer(&self) -> &'static str {
        match self {
            Self::Radio(_) => "RLC/MAC",
            Self::Ns(_) => "NS",
            Self::Bssgp(_) => "BSSGP",
            Self::Llc(_) => "LLC",
            Self::Layer3(_) => "GMM/SM",
            Self::Segment(_) => "SNDCP",
            Self::Packet(_) => "IP",
            Self::Tcp(_) => "TCP",
            Self::Gtp(_) => "GTP",
            Self::Unreadable(unreadable) => unreadable.layer,
        }
    }

    /// The mobile, as an index into the mobiles of the reading, where it is known.
    #[must_use]
    pub const fn mobile(&self) -> Option<u32> {
        match self {
            Self::Bssgp(bssgp) => bssgp.mobile,
            Self::Llc(ll_pdu) => ll_pdu.mobile,
            Self::Layer3(layer3) => layer3.mobile,
            Self::Segment(segment) => segment.mobile,
            Self::Packet(packet) => packet.mobile,
            Self::Gtp(message) => message.mobile,
            Self::Radio(_) | Self::Ns(_) | Self::Tcp(_) | Self::Unreadable(_) => None,
        }
    }
}
