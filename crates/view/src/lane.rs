//! What stands above each other in the page, and what kinds of rows there are.

use gannet_analysis::radio::report::Again;
use gannet_analysis::record::{BlockContents, BssgpWhat, Carrier, Direction, Fcs, Record, TcpSegment};
use gannet_analysis::tcp::report::Kind as SentAgain;
use serde::Serialize;

/// A layer's part of the page. The order is that of the page, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Segments of TCP.
    Tcp,
    /// IP packets at hosts, on Gi and TUN devices.
    Ip,
    /// G-PDUs.
    GPdu,
    /// Messages of GTP.
    Gtp,
    /// N-PDUs, put together from SN-PDUs.
    NPdu,
    /// SN-PDUs.
    Sndcp,
    /// Messages of GMM and SM.
    Layer3,
    /// LL-PDUs.
    Llc,
    /// BSSGP and NS, less the LL-PDUs in them.
    Bssgp,
    /// RLC/MAC blocks to mobiles.
    RadioDown,
    /// RLC/MAC blocks and access bursts of mobiles.
    RadioUp,
    /// What cannot be read.
    Unreadable,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Tcp,
        Self::Ip,
        Self::GPdu,
        Self::Gtp,
        Self::NPdu,
        Self::Sndcp,
        Self::Layer3,
        Self::Llc,
        Self::Bssgp,
        Self::RadioDown,
        Self::RadioUp,
        Self::Unreadable,
    ];

    /// What a person reads beside it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Ip => "IP",
            Self::GPdu => "G-PDUs",
            Self::Gtp => "GTP",
            Self::NPdu => "N-PDUs",
            Self::Sndcp => "SNDCP",
            Self::Layer3 => "GMM and SM",
            Self::Llc => "LLC",
            Self::Bssgp => "BSSGP and NS",
            Self::RadioDown => "RLC/MAC downlink",
            Self::RadioUp => "RLC/MAC uplink",
            Self::Unreadable => "Unreadable",
        }
    }

    /// Its place in [`Lane::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The lane of this number.
    #[must_use]
    pub fn at(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The lane of a record.
    #[must_use]
    pub const fn of(record: &Record) -> Self {
        match record {
            Record::Radio(block) => match block.direction {
                Direction::Down => Self::RadioDown,
                Direction::Up => Self::RadioUp,
            },
            Record::Ns(_) | Record::Bssgp(_) => Self::Bssgp,
            Record::Llc(_) => Self::Llc,
            Record::Layer3(_) => Self::Layer3,
            Record::Segment(_) => Self::Sndcp,
            Record::Packet(packet) => match packet.carrier {
                Carrier::Segments { .. } => Self::NPdu,
                Carrier::GPdu { .. } => Self::GPdu,
                Carrier::Plain => Self::Ip,
            },
            Record::Tcp(_) => Self::Tcp,
            Record::Gtp(_) => Self::Gtp,
            Record::Unreadable(_) => Self::Unreadable,
        }
    }
}

/// What a row is: its colour and its word in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// User data.
    Data,
    /// User data again, because a report or an acknowledgement asked for it.
    Needed,
    /// A block again that no report had asked for.
    Premature,
    /// A block again whose last copy could not have been reported.
    Repeated,
    /// A block again that asks for a report.
    Polling,
    /// A block again that had been acknowledged.
    NeedlessAgain,
    /// A segment again, after its timer.
    Timeout,
    /// A segment again, as a probe.
    Probe,
    /// A report, or an acknowledgement without data.
    Report,
    /// An assignment of timeslots, or the begin or end of a connection.
    SetUp,
    /// Control.
    Control,
    /// Nothing to send.
    Dummy,
    /// An access burst.
    Access,
    /// Discarded or deleted.
    Discarded,
    /// Flow control.
    FlowControl,
    /// Ciphered.
    Ciphered,
    /// It has errors, or cannot be read.
    Broken,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Data,
        Self::Needed,
        Self::Premature,
        Self::Repeated,
        Self::Polling,
        Self::NeedlessAgain,
        Self::Timeout,
        Self::Probe,
        Self::Report,
        Self::SetUp,
        Self::Control,
        Self::Dummy,
        Self::Access,
        Self::Discarded,
        Self::FlowControl,
        Self::Ciphered,
        Self::Broken,
    ];

    /// Its word in the legend.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Needed => "again, needed",
            Self::Premature => "again, premature",
            Self::Repeated => "again, repeated",
            Self::Polling => "again, to ask for a report",
            Self::NeedlessAgain => "again after it was acknowledged",
            Self::Timeout => "again, timeout",
            Self::Probe => "again, probe",
            Self::Report => "acknowledgement",
            Self::SetUp => "set-up and release",
            Self::Control => "control",
            Self::Dummy => "dummy",
            Self::Access => "access burst",
            Self::Discarded => "discarded",
            Self::FlowControl => "flow control",
            Self::Ciphered => "ciphered",
            Self::Broken => "broken",
        }
    }

    /// Of a block that was sent again.
    #[must_use]
    pub const fn of_again(why: Again) -> Self {
        match why {
            Again::Needed => Self::Needed,
            Again::Premature => Self::Premature,
            Again::Repeated => Self::Repeated,
            Again::Polling => Self::Polling,
            Again::Acknowledged => Self::NeedlessAgain,
        }
    }

    /// Of a segment that was sent again.
    #[must_use]
    pub const fn of_segment_again(why: SentAgain) -> Self {
        match why {
            SentAgain::Fast => Self::Needed,
            SentAgain::Timeout => Self::Timeout,
            SentAgain::Tail => Self::Probe,
        }
    }

    /// Of a record, as far as it tells by itself.
    #[must_use]
    pub const fn of(record: &Record) -> Self {
        match record {
            Record::Radio(block) => match block.contents {
                BlockContents::Data(_) => Self::Data,
                BlockContents::AckNack(_) => Self::Report,
                BlockContents::Assignment(_) => Self::SetUp,
                BlockContents::Control { .. } => Self::Control,
                BlockContents::Dummy => Self::Dummy,
                BlockContents::Access => Self::Access,
                BlockContents::Unreadable => Self::Broken,
            },
            Record::Bssgp(pdu) => match pdu.what {
                BssgpWhat::Unitdata { .. } => Self::Data,
                BssgpWhat::FlowControlBvc { .. } | BssgpWhat::FlowControlMs { .. } => Self::FlowControl,
                BssgpWhat::Discarded { .. } | BssgpWhat::FlushLlAck { is_transferred: false, .. } => {
                    Self::Discarded
                }
                _ => Self::Control,
            },
            Record::Llc(ll_pdu) => match ll_pdu.fcs {
                Fcs::Wrong => Self::Broken,
                Fcs::Ciphered => Self::Ciphered,
                Fcs::Right | Fcs::Cut => Self::Data,
            },
            Record::Segment(_) | Record::Packet(_) => Self::Data,
            Record::Tcp(segment) => Self::of_segment(segment),
            Record::Ns(_) | Record::Layer3(_) | Record::Gtp(_) => Self::Control,
            Record::Unreadable(_) => Self::Broken,
        }
    }

    const fn of_segment(segment: &TcpSegment) -> Self {
        const FIN_SYN_RST: u8 = 7;
        match (segment.flags & FIN_SYN_RST, segment.length) {
            (0, 0) => Self::Report,
            (0, _) => Self::Data,
            _ => Self::SetUp,
        }
    }
}
