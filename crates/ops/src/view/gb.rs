//! The Gb interface: binds, NSEs, NS-VCs, BVCs.

use core::fmt;
use core::net::SocketAddr;
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci};

/// A socket of the network service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsBind {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
}

impl fmt::Display for NsBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "UDP bind {}: {}", self.name, self.listen)
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
        writeln!(f, "  IP-SNS {}", self.state)?;
        for (whose, endpoints) in [("local", &self.local), ("remote", &self.remote)] {
            for (endpoint, signalling, data) in endpoints {
                writeln!(f, "  {whose} {endpoint}, weights {signalling} signalling {data} data")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Nse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "NSEI {:05}: {} NS-VC", self.nsei.0, self.vcs.len())?;
        self.ip_sns.iter().try_for_each(|ip_sns| ip_sns.fmt(f))?;
        self.vcs.iter().try_for_each(|vc| vc.fmt(f))
    }
}

/// An NS-VC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsVc {
    /// Its identifier, where it has one.
    pub nsvci: Option<Nsvci>,
    /// Where its peer is.
    pub remote: SocketAddr,
    /// `UNBLOCKED`, `BLOCKED`, `DEAD`, `RESET`, …
    pub state: &'static str,
    /// Weights for signalling and data, of an IP endpoint.
    pub weights: Option<(u8, u8)>,
    /// `show ns stats`: PDUs and octets, received and sent.
    pub stats: Option<NsVcStats>,
}

/// Counters of an NS-VC.
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
    /// NS-ALIVE without an answer.
    pub alive_lost: u64,
    /// How often it was reset.
    pub resets: u64,
}

impl fmt::Display for NsVc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nsvci {
            Some(nsvci) => write!(f, "  NSVCI {:05}: {} {}", nsvci.0, self.state, self.remote)?,
            None => write!(f, "  NS-VC: {} {}", self.state, self.remote)?,
        }
        if let Some((signalling, data)) = self.weights {
            write!(f, ", weights {signalling} signalling {data} data")?;
        }
        f.write_str("\n")?;
        let Some(stats) = self.stats else { return Ok(()) };
        writeln!(f, "    received {} PDUs, {} octets", stats.rx_pdus, stats.rx_octets)?;
        writeln!(f, "    sent {} PDUs, {} octets", stats.tx_pdus, stats.tx_octets)?;
        writeln!(f, "    {} resets, {} ALIVE unanswered", stats.resets, stats.alive_lost)
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
    /// UL-UNITDATA received.
    pub rx_pdus: u64,
    /// Octets of LLC PDUs in them.
    pub rx_octets: u64,
    /// DL-UNITDATA sent.
    pub tx_pdus: u64,
    /// Octets of LLC PDUs in them.
    pub tx_octets: u64,
    /// PDUs dropped in its queues.
    pub dropped_pdus: u64,
}

impl fmt::Display for Bvc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NSEI {:05} BVCI {:05}: {}", self.nsei.0, self.bvci.0, self.state)?;
        match self.cell {
            Some(cell) => writeln!(f, ", cell {cell}")?,
            None => writeln!(f, ", signalling")?,
        }
        if let Some(flow) = self.flow_control {
            writeln!(
                f,
                "  bucket {} of {} octets, leak rate {} octets/s, of which {} are guaranteed",
                flow.bucket_octets, flow.bmax_octets, flow.rate_octets_per_s, flow.guaranteed_octets_per_s
            )?;
            writeln!(
                f,
                "  waiting: {} PDUs, {} octets, of {} mobiles",
                flow.queued_pdus, flow.queued_octets, flow.queued_ms
            )?;
        }
        let Some(stats) = self.stats else { return Ok(()) };
        writeln!(f, "  received {} PDUs, {} octets", stats.rx_pdus, stats.rx_octets)?;
        writeln!(f, "  sent {} PDUs, {} octets", stats.tx_pdus, stats.tx_octets)?;
        writeln!(f, "  dropped {} PDUs", stats.dropped_pdus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nse_lists_its_vcs() {
        let vc = NsVc {
            nsvci: Some(Nsvci(101)),
            remote: "127.0.0.1:22000".parse().unwrap(),
            state: "UNBLOCKED",
            weights: None,
            stats: Some(NsVcStats { rx_pdus: 7, ..NsVcStats::default() }),
        };
        let text = Nse { nsei: Nsei(101), ip_sns: None, vcs: vec![vc] }.to_string();
        assert!(text.starts_with("NSEI 00101: 1 NS-VC\n  NSVCI 00101: UNBLOCKED 127.0.0.1:22000\n"));
        assert!(text.contains("received 7 PDUs, 0 octets\n"));
    }
}
