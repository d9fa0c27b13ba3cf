//! What traffic is to be made: flows, cells, pacing, and where generator and sink stand.

use crate::load::UserCipher;
use core::net::Ipv4Addr;
use gannet_rig::layout::{GROUPS, N_PDU_MAX, N_PDU_MIN};
use std::time::Duration;

/// Which way a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the GGSN to the mobile.
    Down,
    /// From the mobile to the GGSN.
    Up,
}

/// Time between two N-PDUs of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Always the same.
    Fixed,
    /// Exponentially distributed: 4096 values, the longest nine times the mean.
    Exponential,
}

/// When N-PDUs leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Each when it is due, to about a microsecond.
    Exact,
    /// All that is due within an interval at its beginning, the users in random order, what one user has to send in one
    /// piece: the generator of the thesis (section 7.1.2), whose interval is 10 ms.
    Burst(Duration),
}

/// Users that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(pub u8);

impl Group {
    /// Users who keep to their rate.
    pub const GOOD: Self = Self(0);
    /// Users who exceed it.
    pub const BAD: Self = Self(1);
    /// Real-time users.
    pub const REAL_TIME: Self = Self(2);
    /// Users of high precedence.
    pub const HIGH: Self = Self(3);

    /// The same users on their way up.
    #[must_use]
    pub const fn up(self) -> Self {
        Self(self.0 | 8)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        let name = match self.0 & 7 {
            0 => "good".to_owned(),
            1 => "bad".to_owned(),
            2 => "real time".to_owned(),
            3 => "high precedence".to_owned(),
            other => format!("group {other}"),
        };
        if self.0 & 8 == 0 { name } else { format!("{name} up") }
    }
}

/// The traffic of one user in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSpec {
    /// Its direction.
    pub direction: Direction,
    /// Downlink: the SGSN's TEID, to which G-PDUs go. Uplink: the GGSN's, at which they have to arrive.
    pub teid: u32,
    /// The mobile's TLLI.
    pub tlli: u32,
    /// The mobile's cell, an index into [`TrafficConfig::cells`].
    pub cell: u32,
    /// The mobile's PDP address.
    pub address: Ipv4Addr,
    /// N-PDUs a second within the mobile's rate; 0 is silent.
    pub rate_pps: f64,
    /// What it really sends, as a multiple of that: 1 for who keeps to it.
    pub excess: f64,
    /// Octets of an N-PDU, [`N_PDU_MIN`] to [`N_PDU_MAX`].
    pub size: u16,
    /// With whom it is counted.
    pub group: Group,
    /// Its spacing.
    pub spacing: Spacing,
    /// So long after a step's beginning its first N-PDU may leave.
    pub begins: Duration,
    /// SAPI of its LL-PDUs, for the uplink.
    pub sapi: u8,
    /// NSAPI of its context, for the uplink.
    pub nsapi: u8,
    /// How its LL-PDUs come ciphered, downlink.
    pub cipher: Option<UserCipher>,
    /// Of its LL-PDUs that come ciphered each one's mark is read.
    pub each: bool,
    /// V(R) of its LLE at the beginning, where it comes in acknowledged mode, downlink.
    pub received: Option<u16>,
}

impl FlowSpec {
    /// Downlink of a well-behaved user: fixed spacing, N-PDUs of 378 octets as in the thesis.
    #[must_use]
    pub const fn down(teid: u32, tlli: u32, cell: u32, address: Ipv4Addr, rate_pps: f64) -> Self {
        Self {
            direction: Direction::Down,
            teid,
            tlli,
            cell,
            address,
            rate_pps,
            excess: 1.0,
            size: 378,
            group: Group::GOOD,
            spacing: Spacing::Fixed,
            begins: Duration::ZERO,
            sapi: 3,
            nsapi: 5,
            cipher: None,
            each: false,
            received: None,
        }
    }

    /// The same user's uplink; `ggsn_teid` is the GGSN's endpoint.
    #[must_use]
    pub fn up(&self, ggsn_teid: u32) -> Self {
        let group = self.group.up();
        Self { direction: Direction::Up, teid: ggsn_teid, group, received: None, ..self.clone() }
    }

    /// Mean time between two N-PDUs in ns; `None` for a silent flow.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and below the limit that is tested"
    )]
    pub fn gap_ns(&self) -> Option<u64> {
        let pps = self.rate_pps * self.excess;
        (pps > 1e-3).then(|| (1e9 / pps).round().max(1.0) as u64)
    }
}

/// A cell as it stands in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSpec {
    /// BVCI of its PTP BVC.
    pub bvci: u16,
    /// UDP port of its NSE on our side.
    pub port: u16,
    /// Cell Identifier (08.18 clause 11.3.9): RAI and cell identity.
    pub identifier: [u8; 8],
}

/// One end of a link between us and the SGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Our interface.
    pub device: String,
    /// Our address.
    pub local: Ipv4Addr,
    /// The SGSN's address.
    pub peer: Ipv4Addr,
    /// The SGSN's MAC address; `None` asks for it.
    pub peer_mac: Option<[u8; 6]>,
}

/// Everything about generator and sink.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficConfig {
    /// The GGSN's end of Gn.
    pub gn: Side,
    /// The BSS's end of Gb.
    pub gb: Side,
    /// UDP port of GTP-U, on both sides.
    pub gtp_port: u16,
    /// UDP port of the first NSE on our side; the others follow.
    pub gb_port: u16,
    /// NSEs.
    pub nses: u16,
    /// UDP port of the SGSN on Gb.
    pub sgsn_gb_port: u16,
    /// The cells.
    pub cells: Vec<CellSpec>,
    /// The flows; their numbers are their places here.
    pub flows: Vec<FlowSpec>,
    /// Seed of all flows' dice.
    pub seed: u64,
    /// When N-PDUs leave.
    pub pacing: Pacing,
    /// N-PDUs a second at the most, over all flows: what is late is made up for at this rate. The driver's ring has 256
    /// places, and a receiver that polls every 60 µs empties it in time.
    pub line_pps: u32,
    /// How long the control plane waits for its turn.
    pub turn: Duration,
    /// Frames of one batch of the generator, at most 256; `None` chooses by the rate: 2, 8, 16 or 64, and 16, 64 or 256 once
    /// it is late. What was made in a batch is handed to the driver at its end at the latest, so that a short one holds a packet
    /// back for less; and the kernel keeps as many frames for use again, so that a long one saves making new ones.
    pub batch: Option<u32>,
    /// Frames of the longest batch, however late it is.
    pub longest_batch: u32,
    /// From one look of the sink at its device to the next, part of each latency; `None` chooses by the rate: 10 µs below
    /// 200,000 N-PDUs a second, 30 µs below 1,200,000, 60 µs above.
    pub sink_interval: Option<Duration>,
    /// After a step, how long what is still under way may take at the most, and how long nothing may have come.
    pub drain: (Duration, Duration),
    /// N-PDUs longer than the mobiles' N201-U come down in several segments.
    pub segmented: bool,
    /// Of LL-PDUs that come ciphered the mark is read in one of so many, a power of two.
    pub read_every: u32,
    /// And all octets in one of so many, a power of two; of I frames the FCS.
    pub whole_every: u32,
    /// An acknowledgement is sent when so many I frames have come behind the one that asked for it; 0 is at once.
    pub answer_after: u8,
}

impl TrafficConfig {
    /// No flows yet; the ports are those of GTP-U and of Osmocom's NS.
    #[must_use]
    pub fn new(gn: Side, gb: Side) -> Self {
        Self {
            gn,
            gb,
            gtp_port: gannet_wire::gtp::PORT_USER,
            gb_port: 22_000,
            nses: 1,
            sgsn_gb_port: gannet_wire::ns::UDP_PORT,
            cells: Vec::new(),
            flows: Vec::new(),
            seed: 1,
            pacing: Pacing::Exact,
            line_pps: 3_500_000,
            turn: Duration::from_millis(5),
            batch: None,
            longest_batch: 256,
            sink_interval: None,
            drain: (Duration::from_secs(3), Duration::from_millis(300)),
            segmented: false,
            read_every: 16,
            whole_every: 256,
            answer_after: 0,
        }
    }

    /// What does not fit, in a sentence.
    ///
    /// # Errors
    /// That sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.flows.is_empty() || self.flows.len() > 4_000_000 {
            return Err(format!("between 1 and 4,000,000 flows, not {}", self.flows.len()));
        }
        if self.cells.is_empty() {
            return Err("no cell".to_owned());
        }
        for (number, flow) in self.flows.iter().enumerate() {
            let size = usize::from(flow.size);
            if !(N_PDU_MIN..=N_PDU_MAX).contains(&size) {
                return Err(format!(
                    "flow {number}: N-PDUs of {N_PDU_MIN} to {N_PDU_MAX} octets, not {size}"
                ));
            }
            if flow.cell as usize >= self.cells.len() {
                return Err(format!("flow {number}: there is no cell {}", flow.cell));
            }
            if usize::from(flow.group.0) >= GROUPS {
                return Err(format!("flow {number}: there is no group {}", flow.group.0));
            }
        }
        self.check_ciphers()?;
        self.check_acknowledged()
    }
}
