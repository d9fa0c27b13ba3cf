//! What a load is told: where the SGSN is, and what stands around it.

use super::security::Security;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::id::{Bvci, CellId, Nsei, Plmn, Rai};

/// The UDP port of GTP-C.
pub const GTP_C: Port = Port(0xff00);
/// The UDP port of GTP-U.
pub const GTP_U: Port = Port(0xff01);
/// NSEs at most: each has a port of its own below [`GTP_C`].
pub const NSES_MAX: u16 = 0xff00;
/// Cells of one NSE, at most.
pub const CELLS_PER_NSE: u32 = 65_000;
/// Procedures at the same time, unless told otherwise. A mobile may have two messages under way (ATTACH COMPLETE, and what it
/// asks for next), and the ring of a veth device has 256 places: what comes in one piece has to fit in there. A lost ATTACH
/// COMPLETE costs six seconds, since the SGSN waits for it until T3350 is over.
pub const WINDOW: u32 = 100;
/// The first PTP BVC of an NSE: 0 is signalling, 1 is point to multipoint.
const FIRST_BVCI: u32 = 2;

/// Everything about the two sides of the SGSN.
#[derive(Debug, Clone)]
pub struct LoadConfig {
    /// Our end of Gb: the NS-VC of NSE k is bound to this port plus k.
    pub gb_local: SocketAddr,
    /// The SGSN's end of Gb.
    pub sgsn_gb: SocketAddr,
    /// The address of our GGSN; it takes ports 2123 and 2152.
    pub ggsn_local: IpAddr,
    /// Users that may be attached, at most [`super::USERS_MAX`].
    pub users: u32,
    /// Cells, spread over the NSEs in turn; at most 65,000 for each NSE. User n starts in cell n modulo this number.
    pub cells: u32,
    /// Network service entities, each with one NS-VC.
    pub nses: u16,
    /// NSEI and NS-VCI of the first; the others follow.
    pub first_nsei: u16,
    /// The one routing area of all cells. Their cell identities count from 1.
    pub rai: Rai,
    /// Access point name that users ask for.
    pub apn: String,
    /// What FLOW-CONTROL-BVC says of each cell at first.
    pub flow: BvcParameters,
    /// From one FLOW-CONTROL-BVC, and from one FLOW-CONTROL-MS, to the next (08.18 clause 8.2.3.2: at least 1 s).
    pub flow_interval: Duration,
    /// The largest N201-U that mobiles accept, 140 to 1520; 500 refuses every enlargement.
    pub n201_u: u16,
    /// kD that mobiles propose where they establish a link in acknowledged mode; `None` proposes nothing, and table 9 holds.
    pub kd: Option<Proposal>,
    /// Procedures that run at the same time, at most: it begins with 32, grows while answers come, and halves when one
    /// is late.
    pub window: u32,
    /// From one try of a procedure to the next.
    pub retry: Duration,
    /// Tries of a procedure in all.
    pub tries: u8,
    /// How often a mobile is told to attach or to activate, in all, where it was refused or heard nothing: again when the
    /// others have had their turn.
    pub rounds: u8,
    /// From one NS-ALIVE to the next, Tns-test, and how long each waits for its answer, Tns-alive (08.16 clause 9.3).
    pub tns: (Duration, Duration),
    /// How often our GGSN was started (29.060 clause 11.2).
    pub restart_counter: u8,
    /// Mobiles have cards and cipher; `None` leaves them as strangers whom an SGSN has to serve without proof.
    pub security: Option<Security>,
    /// Seed of the dice.
    pub seed: u64,
}

impl LoadConfig {
    /// 10,000 users in 400 cells of one NSE, each cell at the largest rate that R99 can say.
    #[must_use]
    pub fn new(gb_local: SocketAddr, sgsn_gb: SocketAddr, ggsn_local: IpAddr) -> Self {
        let second = |rate_bit_per_s| Bucket { bmax_octets: rate_bit_per_s / 8, rate_bit_per_s };
        Self {
            gb_local,
            sgsn_gb,
            ggsn_local,
            users: 10_000,
            cells: 400,
            nses: 1,
            first_nsei: 101,
            rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 1 },
            apn: "internet".to_owned(),
            flow: BvcParameters { bvc: second(6_553_500), default_ms: second(6_553_500) },
            flow_interval: Duration::from_secs(10),
            n201_u: 1520,
            kd: None,
            window: WINDOW,
            retry: Duration::from_secs(3),
            tries: 5,
            rounds: 1,
            tns: (Duration::from_secs(30), Duration::from_secs(3)),
            restart_counter: 1,
            security: None,
            seed: 1,
        }
    }

    /// The NSE of a cell, counted from 0: also the number of its socket.
    #[must_use]
    pub fn nse_of(&self, cell: u32) -> u16 {
        u16::try_from(cell % u32::from(self.nses.max(1))).unwrap_or(0)
    }

    /// NSEI of an NSE.
    #[must_use]
    pub const fn nsei(&self, nse: u16) -> Nsei {
        Nsei(self.first_nsei.wrapping_add(nse))
    }

    /// NSEI and BVCI of a cell.
    #[must_use]
    pub fn bvc_of(&self, cell: u32) -> (Nsei, Bvci) {
        let bvci = FIRST_BVCI + cell / u32::from(self.nses.max(1));
        (self.nsei(self.nse_of(cell)), Bvci(u16::try_from(bvci).unwrap_or(u16::MAX)))
    }

    /// The cell of a PTP BVC of an NSE.
    pub(super) fn cell_of(&self, nse: u16, bvci: Bvci) -> Option<u32> {
        let place = u32::from(bvci.0).checked_sub(FIRST_BVCI)?;
        Some(place * u32::from(self.nses.max(1)) + u32::from(nse)).filter(|cell| *cell < self.cells)
    }

    /// Name of a cell: more cells than identities are told apart by their NSE and BVCI alone.
    #[must_use]
    pub fn cell_id(&self, cell: u32) -> CellId {
        CellId { rai: self.rai, ci: u16::try_from((cell + 1) & 0xffff).unwrap_or(0) }
    }

    /// Where an NSE's NS-VC is bound.
    #[must_use]
    pub fn gb_endpoint(&self, nse: u16) -> SocketAddr {
        SocketAddr::new(self.gb_local.ip(), self.gb_local.port().wrapping_add(nse))
    }

    /// What does not fit, in a sentence.
    ///
    /// # Errors
    /// That sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.users == 0 || self.users > super::USERS_MAX {
            return Err(format!("--users: between 1 and {}, not {}", super::USERS_MAX, self.users));
        }
        if self.nses == 0 || self.nses >= NSES_MAX {
            return Err(format!("--nses: between 1 and {}, not {}", NSES_MAX - 1, self.nses));
        }
        let cells_max = CELLS_PER_NSE * u32::from(self.nses);
        if self.cells == 0 || self.cells > cells_max {
            return Err(format!(
                "--cells: between 1 and {cells_max} with --nses {}, not {}",
                self.nses, self.cells
            ));
        }
        if u32::from(self.gb_local.port()) + u32::from(self.nses) > 65_536 {
            return Err(format!(
                "--nses: {} NSEs do not fit above the port of --gb, {}",
                self.nses,
                self.gb_local.port()
            ));
        }
        self.apn.parse::<gannet_wire::l3::ie::Apn>().map_err(|error| format!("--apn: {error}"))?;
        Ok(())
    }
}

/// The window that some mobiles propose (04.64 clause 8.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// kD, 1 to 255 I frames.
    pub frames: u8,
    /// The first so many mobiles propose it, and the others nothing.
    pub users: u32,
}

impl Proposal {
    /// Every mobile proposes it.
    #[must_use]
    pub const fn by_all(frames: u8) -> Self {
        Self { frames, users: u32::MAX }
    }

    /// What does not fit of one that is made, where mobiles are in acknowledged mode or not, and answer when so many I frames have come
    /// behind the one that asked: at the end of the window nothing more comes.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn check(made: Option<Self>, is_acknowledged: bool, answer_after: u8) -> Result<(), String> {
        let Some(Self { frames, .. }) = made else { return Ok(()) };
        match frames {
            _ if !is_acknowledged => {
                Err("--kd is of acknowledged mode, for which mobiles ask with reliability class 1 or 2"
                    .to_owned())
            }
            0 => Err("--kd is between 1 and 255 I frames, not 0".to_owned()),
            frames if answer_after != 0 && answer_after.saturating_add(1) >= frames => Err(format!(
                "--answer-after: {answer_after} I frames behind the one that asked are more than a window of {frames} has before its last"
            )),
            _ => Ok(()),
        }
    }
}

impl Default for LoadConfig {
    fn default() -> Self {
        let any = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Self::new(SocketAddr::new(any, 22_000), SocketAddr::new(any, 23_000), any)
    }
}
