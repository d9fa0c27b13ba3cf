//! The Gb interface: binds, NSEs, NS-VCs, BVCs. Lines are those of osmo-sgsn; what it does not say follows them.

use super::{Ago, Endpoint};
use crate::metrics::text::{KnownLine, known_lines};
use crate::metrics::{Metric, osmocom};
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::time::Duration;
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci};

/// A socket of the network service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsBind {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its weights for signalling and data by IP-SNS.
    pub weights: (u8, u8),
    /// The NS-VCs of it.
    pub vcs: Vec<NsVc>,
}

impl fmt::Display for NsBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (signalling, data) = self.weights;
        writeln!(f, "UDP bind: {} DSCP: 0 Priority: 0, {}", self.listen, self.name)?;
        writeln!(f, "  IP-SNS signalling weight: {signalling} data weight: {data}")?;
        writeln!(f, "  {} NS-VC:", self.vcs.len())?;
        self.vcs.iter().try_for_each(|vc| vc.fmt(f))
    }
}

/// An NSE with its NS-VCs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nse {
    /// Its identifier.
    pub nsei: Nsei,
    /// How far IP-SNS has come, of one that speaks it.
    pub ip_sns: Option<IpSns>,
    /// Its NS-VCs.
    pub vcs: Vec<NsVc>,
}

/// IP-SNS of an NSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpSns {
    /// `SIZE`, `CONFIG-BSS`, `CONFIG-SGSN`, `CONFIGURED`, or `IDLE` before it begins.
    pub state: String,
    /// Our endpoints with their weights for signalling and data.
    pub local: Vec<(SocketAddr, u8, u8)>,
    /// The peer's.
    pub remote: Vec<(SocketAddr, u8, u8)>,
}

impl fmt::Display for IpSns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " IP-SNS, State: '{}'", self.state)?;
        for (whose, endpoints) in [("Local", &self.local), ("Remote", &self.remote)] {
            writeln!(f, " {whose} IPv4 Endpoints:")?;
            for (endpoint, signalling, data) in endpoints {
                writeln!(f, "  {endpoint}, Signalling Weight: {signalling}, Data Weight: {data}")?;
            }
        }
        Ok(())
    }
}

impl Nse {
    /// It has a living NS-VC; since when the NSE is as it is.
    fn life(&self) -> (bool, Option<Duration>) {
        let is_alive = self.vcs.iter().any(NsVc::is_alive);
        let since = self.vcs.iter().filter(|vc| vc.is_alive() == is_alive).map(|vc| vc.since);
        (is_alive, since.max())
    }
}

impl fmt::Display for Nse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is_alive, since) = self.life();
        let state = if is_alive { "ALIVE" } else { "DEAD" };
        write!(f, "NSEI {:05}: UDP, {state} since {}", self.nsei.0, Ago(since.unwrap_or(Duration(0))))?;
        f.write_str("\n")?;
        self.ip_sns.iter().try_for_each(|ip_sns| ip_sns.fmt(f))?;
        writeln!(f, "  {} NS-VC:", self.vcs.len())?;
        self.vcs.iter().try_for_each(|vc| vc.fmt(f))
    }
}

/// An NS-VC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsVc {
    /// Its number in this node.
    pub number: u32,
    /// Its identifier, where it has one.
    pub nsvci: Option<Nsvci>,
    /// Our end, where the node can say.
    pub local: Option<SocketAddr>,
    /// Where its peer is.
    pub remote: SocketAddr,
    /// `UNBLOCKED`, `BLOCKED`, `DEAD`, `RESET`, …
    pub state: &'static str,
    /// How long it has this state.
    pub since: Duration,
    /// It is configured here; others come and go.
    pub is_configured: bool,
    /// Weights for signalling and data, of an IP endpoint.
    pub weights: Option<(u8, u8)>,
    /// Its counters, where they were asked for.
    pub stats: Option<NsVcStats>,
}

/// Counters of an NS-VC, or of all of an NSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NsVcStats {
    /// PDUs received.
    pub rx_pdus: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// PDUs sent.
    pub tx_pdus: u64,
    /// Octets sent.
    pub tx_octets: u64,
    /// How often it came to be blocked.
    pub blocked: u64,
    /// How often it came into service.
    pub unblocked: u64,
    /// How often the test procedure found it dead.
    pub deaths: u64,
    /// How often it moved to another address.
    pub moves: u64,
    /// PDUs that named an NS-VCI that is not there.
    pub nsvci_invalid: u64,
    /// PDUs that named another NSEI.
    pub nsei_invalid: u64,
    /// NS-ALIVE without an answer.
    pub alive_lost: u64,
    /// NS-RESET without an answer.
    pub reset_lost: u64,
    /// How often it was reset.
    pub resets: u64,
    /// How long the last NS-ALIVE waited for its answer, in milliseconds.
    pub alive_delay_ms: u64,
}

const NS_VC: [osmocom::Row<NsVcStats>; 15] = [
    ("rx_pdus", "NS PDUs received", "packets:in", "Packets at NS Level  ( In)", |of| of.rx_pdus),
    ("tx_pdus", "NS PDUs sent", "packets:out", "Packets at NS Level  (Out)", |of| of.tx_pdus),
    ("tx_pdus_lost", "always 0: sockets count it", "packets:out:drop", "Dropped Packets      (Out)", |_| 0),
    ("rx_octets", "octets received", "bytes:in", "Bytes at NS Level    ( In)", |of| of.rx_octets),
    ("tx_octets", "octets sent", "bytes:out", "Bytes at NS Level    (Out)", |of| of.tx_octets),
    ("tx_octets_lost", "always 0: sockets count it", "bytes:out:drop", "Dropped Bytes        (Out)", |_| 0),
    ("blocked", "how often it came to be blocked", "blocked", "NS-VC Block count         ", |of| of.blocked),
    ("into_service", "how often it came into service", "unblocked", "NS-VC Unblock count       ", |of| {
        of.unblocked
    }),
    ("deaths", "how often the test procedure found it dead", "dead", "NS-VC gone dead count     ", |of| {
        of.deaths
    }),
    ("moves", "how often it moved to another address", "replaced", "NS-VC replaced other count", |of| {
        of.moves
    }),
    (
        "nsei_changes",
        "always 0: another NSEI is another NS-VC",
        "nsei-chg",
        "NS-VC changed NSEI count  ",
        |_| 0,
    ),
    (
        "nsvci_invalid",
        "NS PDUs that named an NS-VCI that is not there",
        "inv-nsvci",
        "NS-VCI was invalid count  ",
        |of| of.nsvci_invalid,
    ),
    ("nsei_invalid", "NS PDUs that named another NSEI", "inv-nsei", "NSEI was invalid count    ", |of| {
        of.nsei_invalid
    }),
    ("alive_lost", "NS-ALIVE without an answer", "lost:alive", "ALIVE ACK missing count   ", |of| {
        of.alive_lost
    }),
    ("reset_lost", "NS-RESET without an answer", "lost:reset", "RESET ACK missing count   ", |of| {
        of.reset_lost
    }),
];

impl NsVcStats {
    /// The counters that osmo-sgsn has, in its order. What leaves a socket is counted for all NS-VCs in one
    /// (`rt_send_queue_full` and its like), and none changes its NSEI: another NSEI is another NS-VC.
    #[must_use]
    pub fn counters(&self) -> [Metric; 15] {
        osmocom::counters(&NS_VC, self)
    }

    /// What osmo-sgsn has of an NS-VC beside its counters.
    #[must_use]
    pub const fn delay(&self) -> Metric {
        let help = "milliseconds that the last NS-ALIVE waited for its answer";
        let known = osmocom::Known { name: "alive.delay", label: "ALIVE response time        ", unit: "ms" };
        Metric::gauge("alive_delay_ms", help, self.alive_delay_ms).known_as_gauge(known)
    }

    /// Adds those of another NS-VC.
    pub fn add(&mut self, other: &Self) {
        self.rx_pdus += other.rx_pdus;
        self.rx_octets += other.rx_octets;
        self.tx_pdus += other.tx_pdus;
        self.tx_octets += other.tx_octets;
        self.blocked += other.blocked;
        self.unblocked += other.unblocked;
        self.deaths += other.deaths;
        self.moves += other.moves;
        self.nsvci_invalid += other.nsvci_invalid;
        self.nsei_invalid += other.nsei_invalid;
        self.alive_lost += other.alive_lost;
        self.reset_lost += other.reset_lost;
        self.resets += other.resets;
    }
}

impl NsVc {
    fn is_alive(&self) -> bool {
        self.state != "DEAD" && self.state != "RESETTING"
    }

    /// What a statsd calls it, as osmo-sgsn does.
    #[must_use]
    pub fn title(&self, nsei: Nsei) -> String {
        let end = |at: SocketAddr| format!("{}:{}", at.ip().to_string().replace('.', "_"), at.port());
        let local = self.local.map(end).unwrap_or_default();
        let remote = end(self.remote);
        match self.nsvci {
            Some(nsvci) => format!("UDP-NSE{:05}-NSVC{:05}-{local}-{remote}", nsei.0, nsvci.0),
            None => format!("NSE{:05}-NSVC-UDP-{local}-{remote}", nsei.0),
        }
    }
}

impl fmt::Display for NsVc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nsvci {
            Some(nsvci) => write!(f, "   NSVCI {:05}: ", nsvci.0)?,
            None => f.write_str("   ")?,
        }
        let origin = if self.is_configured { "PERSIST" } else { "DYNAMIC" };
        write!(f, "{} {origin} ", self.state)?;
        if let Some((signalling, data)) = self.weights {
            write!(f, "sig_weight={signalling} data_weight={data} ")?;
        }
        f.write_str("udp)")?;
        self.local.iter().try_for_each(|local| Endpoint(*local).fmt(f))?;
        match self.nsvci {
            Some(nsvci) => write!(f, "<{nsvci}>")?,
            None => f.write_str("<>")?,
        }
        let state = if self.is_alive() { "ALIVE" } else { "DEAD" };
        writeln!(f, "{} {state} since {}", Endpoint(self.remote), Ago(self.since))?;
        let Some(stats) = self.stats else { return Ok(()) };
        f.write_str("    NSVC Peer Statistics:\n")?;
        known_lines("     ", &stats.counters(), f)?;
        f.write_str("    NSVC Peer Statistics:\n")?;
        writeln!(f, "     {}", KnownLine(&stats.delay()))?;
        writeln!(f, "    {} resets", stats.resets)
    }
}

/// A BVC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bvc {
    /// Its NSE.
    pub nsei: Nsei,
    /// Its identifier; 0 is the signalling BVC.
    pub bvci: Bvci,
    /// Its cell, of a PTP BVC.
    pub cell: Option<CellId>,
    /// `UNBLOCKED`, `BLOCKED`, …
    pub state: &'static str,
    /// Flow control, of a PTP BVC.
    pub flow_control: Option<FlowControl>,
    /// `show bssgp stats`.
    pub stats: Option<BvcStats>,
}

/// Flow control of a cell (08.18 clause 8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControl {
    /// Bmax in octets.
    pub bmax_octets: u64,
    /// R in octets per second.
    pub rate_octets_per_s: u64,
    /// What the bucket holds now, in octets.
    pub bucket_octets: u64,
    /// PDUs that wait.
    pub queued_pdus: u64,
    /// PDUs that may wait.
    pub queued_pdus_max: u64,
    /// Octets that wait.
    pub queued_octets: u64,
    /// Mobiles with PDUs that wait.
    pub queued_ms: u64,
    /// What of the leak rate is guaranteed, in octets/s.
    pub guaranteed_octets_per_s: u64,
}

/// Counters of a BVC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BvcStats {
    /// BSSGP PDUs received.
    pub rx_pdus: u64,
    /// Octets of them.
    pub rx_octets: u64,
    /// BSSGP PDUs sent.
    pub tx_pdus: u64,
    /// Octets of them.
    pub tx_octets: u64,
    /// BVC-BLOCK received.
    pub blocked: u64,
    /// LLC-DISCARDED received; of an emulated BSS, PDUs dropped in its queues.
    pub discarded: u64,
    /// STATUS received.
    pub statuses: u64,
}

const BVC: [osmocom::Row<BvcStats>; 7] = [
    ("rx_pdus", "BSSGP PDUs received", "packets:in", "Packets at BSSGP Level ( In)", |of| of.rx_pdus),
    ("tx_pdus", "BSSGP PDUs sent", "packets:out", "Packets at BSSGP Level (Out)", |of| of.tx_pdus),
    ("rx_octets", "octets received", "bytes:in", "Bytes at BSSGP Level   ( In)", |of| of.rx_octets),
    ("tx_octets", "octets sent", "bytes:out", "Bytes at BSSGP Level   (Out)", |of| of.tx_octets),
    ("blockings", "BVC-BLOCK received", "blocked", "BVC Blocking count", |of| of.blocked),
    ("llc_discarded", "LLC-DISCARDED received", "discarded", "BVC LLC Discarded count", |of| of.discarded),
    ("statuses", "STATUS received", "status", "BVC Status count", |of| of.statuses),
];

impl BvcStats {
    /// The counters that osmo-sgsn has, in its order.
    #[must_use]
    pub fn counters(&self) -> [Metric; 7] {
        osmocom::counters(&BVC, self)
    }
}

impl fmt::Display for Bvc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rai, ci) = match self.cell {
            Some(cell) => (cell.rai.to_string(), cell.ci),
            None => ("000-00-0-0".to_owned(), 0),
        };
        let (nsei, bvci, state) = (self.nsei.0, self.bvci.0, self.state);
        writeln!(f, "NSEI {nsei:5}, BVCI {bvci:5}, RA-ID: {rai}, CID: {ci}, STATE: {state}")?;
        if let Some(stats) = self.stats {
            f.write_str(" BSSGP Peer Statistics:\n")?;
            known_lines("  ", &stats.counters(), f)?;
        }
        let Some(flow) = self.flow_control else { return Ok(()) };
        writeln!(
            f,
            "FC-BVC(bucket_max: {}oct, leak_rate: {}oct/s, cur_tokens: {}oct, max_q_d: {}, cur_q_d: {})",
            flow.bmax_octets,
            flow.rate_octets_per_s,
            flow.bucket_octets,
            flow.queued_pdus_max,
            flow.queued_pdus
        )?;
        writeln!(
            f,
            "  waiting: {} PDUs, {} octets, of {} mobiles; guaranteed {} octets/s",
            flow.queued_pdus, flow.queued_octets, flow.queued_ms, flow.guaranteed_octets_per_s
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vc() -> NsVc {
        NsVc {
            number: 0,
            nsvci: Some(Nsvci(101)),
            local: "192.0.2.2:23000".parse().ok(),
            remote: "192.0.2.1:22000".parse().unwrap(),
            state: "UNBLOCKED",
            since: Duration::from_secs(90_061),
            is_configured: false,
            weights: None,
            stats: None,
        }
    }

    /// As osmo-sgsn 1.9.0 has printed it.
    #[test]
    fn an_nse_has_the_lines_of_osmo_sgsn() {
        let line = "   NSVCI 00101: UNBLOCKED DYNAMIC udp)[192.0.2.2]:23000<101>[192.0.2.1]:22000 ALIVE since 1d 1h 1m 1s\n";
        let nse = Nse { nsei: Nsei(101), ip_sns: None, vcs: vec![vc()] };
        let head = "NSEI 00101: UDP, ALIVE since 1d 1h 1m 1s\n  1 NS-VC:\n";
        assert_eq!(nse.to_string(), format!("{head}{line}"));
        let weights = (1, 2);
        let bind = NsBind { name: "local".into(), listen: vc().local.unwrap(), weights, vcs: vec![vc()] }
            .to_string();
        let head = "UDP bind: 192.0.2.2:23000 DSCP: 0 Priority: 0, local\n  IP-SNS signalling weight: 1 data weight: 2\n";
        assert_eq!(bind, format!("{head}  1 NS-VC:\n{line}"));
        assert_eq!(vc().title(Nsei(101)), "UDP-NSE00101-NSVC00101-192_0_2_2:23000-192_0_2_1:22000");
        let unnamed = NsVc { nsvci: None, weights: Some((1, 2)), ..vc() };
        assert_eq!(unnamed.title(Nsei(101)), "NSE00101-NSVC-UDP-192_0_2_2:23000-192_0_2_1:22000");
        let start =
            "   UNBLOCKED DYNAMIC sig_weight=1 data_weight=2 udp)[192.0.2.2]:23000<>[192.0.2.1]:22000 ALIVE ";
        assert!(unnamed.to_string().starts_with(start), "{unnamed}");
        let stats = Some(NsVcStats { rx_pdus: 15, unblocked: 1, ..NsVcStats::default() });
        let text = NsVc { stats, ..vc() }.to_string();
        for line in [
            "    NSVC Peer Statistics:\n     Packets at NS Level  ( In):       15 (-/s -/m -/h -/d)\n",
            "\n     NS-VC Unblock count       :        1 (",
            "    NSVC Peer Statistics:\n     ALIVE response time        :        0 ms\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_bvc_has_the_lines_of_osmo_sgsn() {
        let flow = FlowControl {
            bmax_octets: 50_000,
            rate_octets_per_s: 100_000,
            bucket_octets: 13,
            queued_pdus: 0,
            queued_pdus_max: 30,
            queued_octets: 0,
            queued_ms: 0,
            guaranteed_octets_per_s: 0,
        };
        let bvc = Bvc {
            nsei: Nsei(101),
            bvci: Bvci(2),
            cell: Some(CellId::from_octets([0x00, 0xf1, 0x10, 0, 1, 0, 0, 1])),
            state: "UNBLOCKED",
            flow_control: Some(flow),
            stats: Some(BvcStats { rx_pdus: 10, ..BvcStats::default() }),
        };
        let text = bvc.to_string();
        for line in [
            "NSEI   101, BVCI     2, RA-ID: 001-01-1-0, CID: 1, STATE: UNBLOCKED\n BSSGP Peer Statistics:\n",
            "\n  Packets at BSSGP Level ( In):       10 (",
            "\n  BVC Status count:        0 (",
            "\nFC-BVC(bucket_max: 50000oct, leak_rate: 100000oct/s, cur_tokens: 13oct, max_q_d: 30, cur_q_d: 0)\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let signalling = Bvc { bvci: Bvci(0), cell: None, flow_control: None, stats: None, ..bvc };
        let line = "NSEI   101, BVCI     0, RA-ID: 000-00-0-0, CID: 0, STATE: UNBLOCKED\n";
        assert_eq!(signalling.to_string(), line);
    }
}
