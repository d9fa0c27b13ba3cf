//! What `show …` of a GGSN prints: osmo-ggsn's lines with its labels, and more behind them.

use super::{Or, Qos, Volumes};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_wire::id::{Imsi, Nsapi, Teid};
use gannet_wire::l3::ie::PacketFilter;

/// `show ggsn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnSummary {
    /// Its name.
    pub name: String,
    /// The address of GTP.
    pub gtp_address: IpAddr,
    /// The restart counter of GTP.
    pub restart_counter: u8,
    /// Its access points.
    pub apns: Vec<GgsnApn>,
    /// The SGSNs that have contexts there.
    pub sgsns: Vec<GgsnSgsn>,
}

/// An access point: a line of `show ggsn`, and `show apn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnApn {
    /// Its name.
    pub name: String,
    /// Its TUN device.
    pub device: Option<String>,
    /// The pools of addresses, as they are configured.
    pub pools: Vec<String>,
    /// IPv4 addresses in use, and in all.
    pub ipv4: (u64, u64),
    /// IPv6 prefixes in use, and in all.
    pub ipv6: (u64, u64),
    /// What has passed.
    pub counters: ApnCounters,
}

/// What has passed at an access point since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApnCounters {
    /// PDP contexts there are.
    pub pdp_contexts: u64,
    /// PDP contexts created.
    pub created: u64,
    /// PDP contexts deleted.
    pub deleted: u64,
    /// Requests refused.
    pub refused: u64,
    /// PDP contexts that have ended for want of traffic.
    pub idle: u64,
    /// N-PDUs and octets.
    pub volumes: Volumes,
    /// N-PDUs of mobiles that were dropped: wrong source address, or for another mobile.
    pub uplink_dropped: u64,
    /// N-PDUs beyond the maximum bit rate.
    pub over_rate: u64,
}

/// An SGSN as a GGSN sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnSgsn {
    /// Its address.
    pub address: IpAddr,
    /// Its version of GTP.
    pub gtp_version: u8,
    /// Its restart counter, where it said one.
    pub restart_counter: Option<u8>,
    /// PDP contexts whose requests came from there.
    pub pdp_contexts: u64,
    /// Echo Requests that wait for an answer.
    pub echo_outstanding: u64,
    /// `up`, `down` or `unknown`: control and user plane.
    pub planes: [&'static str; 2],
}

/// One PDP context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnContext {
    /// Whose.
    pub imsi: Imsi,
    /// Which.
    pub nsapi: Nsapi,
    /// His telephone number.
    pub msisdn: Option<String>,
    /// The SGSN's version of GTP.
    pub gtp_version: u8,
    /// The number of other contexts of its address where it is the first; `None` for one of these.
    pub secondaries: Option<usize>,
    /// Our ends: address and TEID (or flow label) of control and of user data.
    pub here: [(IpAddr, Teid); 2],
    /// The SGSN's ends.
    pub there: [(Option<IpAddr>, Teid); 2],
    /// The access point that was asked for.
    pub apn_requested: String,
    /// The one that serves.
    pub apn: String,
    /// The mobile's IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The mobile's IPv6 prefix.
    pub ipv6: Option<Ipv6Addr>,
    /// G-PDUs to the mobile have sequence numbers.
    pub sequence_numbers: bool,
    /// The state's name.
    pub state: &'static str,
    /// For how long it has had no traffic, in s.
    pub idle_s: u64,
    /// Quality of service.
    pub qos: Qos,
    /// Its packet filters.
    pub filters: Vec<PacketFilter>,
    /// N-PDUs and octets.
    pub volumes: Volumes,
}

impl fmt::Display for GgsnSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, gtp_address, restart_counter, .. } = self;
        writeln!(f, "GGSN {name}: Bound to {gtp_address}, restart counter {restart_counter}")?;
        for apn in &self.apns {
            let ((v4, v4_all), (v6, v6_all)) = (apn.ipv4, apn.ipv6);
            write!(f, " APN: {}, device {}, pool {}", apn.name, Or(&apn.device), apn.pools.join(", "))?;
            if v4_all > 0 {
                write!(f, ", {v4} of {v4_all} addresses in use")?;
            }
            if v6_all > 0 {
                write!(f, ", {v6} of {v6_all} prefixes in use")?;
            }
            f.write_str("\n")?;
        }
        self.sgsns.iter().try_for_each(|sgsn| sgsn.lines(f, " "))
    }
}

impl fmt::Display for GgsnApn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((v4, v4_all), (v6, v6_all)) = (self.ipv4, self.ipv6);
        let of = &self.counters;
        writeln!(f, "APN {}: device {}, pool {}", self.name, Or(&self.device), self.pools.join(", "))?;
        writeln!(f, "  {v4} of {v4_all} IPv4 addresses and {v6} of {v6_all} IPv6 prefixes in use")?;
        writeln!(
            f,
            "  {} PDP contexts; {} created, {} deleted ({} without traffic), {} requests refused",
            of.pdp_contexts, of.created, of.deleted, of.idle, of.refused
        )?;
        volumes(f, "  ", of.volumes)?;
        writeln!(
            f,
            "  {} N-PDUs of mobiles dropped, {} N-PDUs beyond the maximum bit rate",
            of.uplink_dropped, of.over_rate
        )
    }
}

fn volumes(f: &mut fmt::Formatter<'_>, indent: &str, volumes: Volumes) -> fmt::Result {
    writeln!(
        f,
        "{indent}downlink {} N-PDUs, {} octets; uplink {} N-PDUs, {} octets",
        volumes.downlink_n_pdus, volumes.downlink_octets, volumes.uplink_n_pdus, volumes.uplink_octets
    )
}

impl GgsnSgsn {
    fn lines(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        let [control, user] = self.planes;
        writeln!(f, "{indent}(S)GSN {}, GTPv{}", self.address, self.gtp_version)?;
        writeln!(f, "{indent} Restart Counter: {}", Or(&self.restart_counter))?;
        writeln!(f, "{indent} PDP contexts: {}", self.pdp_contexts)?;
        writeln!(
            f,
            "{indent} Echo Requests in-flight: {}; control plane {control}, user plane {user}",
            self.echo_outstanding
        )
    }
}

impl fmt::Display for GgsnSgsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines(f, "")
    }
}

impl fmt::Display for GgsnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let msisdn = self.msisdn.as_deref().unwrap_or("(NONE)");
        writeln!(f, "IMSI: {}, NSAPI: {}, MSISDN: {msisdn}", self.imsi, self.nsapi)?;
        match self.secondaries {
            Some(others) => {
                writeln!(f, " Version: {}, Primary, Num Secondaries: {others}", self.gtp_version)?;
            }
            None => writeln!(f, " Version: {}, Secondary", self.gtp_version)?,
        }
        for ((plane, here), there) in ["Control", "Data"].iter().zip(self.here).zip(self.there) {
            let ((own, own_teid), (peer, peer_teid)) = (here, there);
            writeln!(f, " {plane}: {own}:{:08x} <-> {}:{:08x}", own_teid.0, Or(&peer), peer_teid.0)?;
        }
        writeln!(f, " APN requested: {}", self.apn_requested)?;
        writeln!(f, " APN in use: {}", self.apn)?;
        if let Some(v4) = self.ipv4 {
            writeln!(f, " End-User Address (IPv4): {v4}")?;
        }
        if let Some(v6) = self.ipv6 {
            writeln!(f, " End-User Address (IPv6): {v6}")?;
        }
        let sequenced = if self.sequence_numbers { "Yes" } else { "No" };
        writeln!(f, " Transmit GTP Sequence Number for G-PDU: {sequenced}")?;
        writeln!(f, " State: {}, without traffic for {} s", self.state, self.idle_s)?;
        writeln!(f, " QoS: {}", self.qos)?;
        self.filters.iter().try_for_each(|filter| writeln!(f, " TFT {filter}"))?;
        volumes(f, " ", self.volumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What osmo-ggsn 1.9.0 has answered to `show pdp-context` and `show ggsn`, line by line: ours begin so.
    #[test]
    fn lines_of_osmo_ggsn() {
        let ours: [IpAddr; 2] = ["127.0.0.2".parse().unwrap(); 2];
        let context = GgsnContext {
            imsi: "001010000000119".parse().unwrap(),
            nsapi: Nsapi(5),
            msisdn: None,
            gtp_version: 1,
            secondaries: Some(0),
            here: ours.map(|own| (own, Teid(0x13))),
            there: [0x213, 0x113].map(|teid| ("127.0.0.1".parse().ok(), Teid(teid))),
            apn_requested: "inet46".to_owned(),
            apn: "inet46".to_owned(),
            ipv4: "172.16.46.1".parse().ok(),
            ipv6: "2001:780:44:2101::".parse().ok(),
            sequence_numbers: true,
            state: "PDP-ACTIVE",
            idle_s: 7,
            qos: Qos { precedence: 2, delay: 4, reliability: 3, peak: 9, mean: 31 },
            filters: Vec::new(),
            volumes: Volumes::default(),
        };
        let shown = context.to_string();
        let theirs = "IMSI: 001010000000119, NSAPI: 5, MSISDN: (NONE)\n Version: 1, Primary, Num Secondaries: 0\n \
                      Control: 127.0.0.2:00000013 <-> 127.0.0.1:00000213\n Data: 127.0.0.2:00000013 <-> 127.0.0.1:00000113\n \
                      APN requested: inet46\n APN in use: inet46\n End-User Address (IPv4): 172.16.46.1\n \
                      End-User Address (IPv6): 2001:780:44:2101::\n Transmit GTP Sequence Number for G-PDU: Yes\n";
        assert!(shown.starts_with(theirs), "{shown}");
        assert_eq!(shown.matches("NSAPI").count(), 1, "scripts count contexts by it");
        let secondary = GgsnContext { secondaries: None, sequence_numbers: false, ..context }.to_string();
        assert!(secondary.contains(" Version: 1, Secondary\n") && secondary.contains("G-PDU: No\n"));
        let sgsn = GgsnSgsn {
            address: ours[0],
            gtp_version: 1,
            restart_counter: Some(1),
            pdp_contexts: 21,
            echo_outstanding: 0,
            planes: ["up", "unknown"],
        };
        let apn = GgsnApn {
            name: "internet".to_owned(),
            device: Some("tun4".to_owned()),
            pools: vec!["172.16.222.0/24".to_owned()],
            ipv4: (2, 253),
            ipv6: (0, 0),
            counters: ApnCounters { pdp_contexts: 2, created: 3, ..ApnCounters::default() },
        };
        assert!(apn.to_string().contains("\n  2 PDP contexts; 3 created, 0 deleted"), "{apn}");
        let summary = GgsnSummary {
            name: "ggsn0".to_owned(),
            gtp_address: ours[0],
            restart_counter: 4,
            apns: vec![apn],
            sgsns: vec![sgsn],
        };
        let shown = summary.to_string();
        let lines = [
            "GGSN ggsn0: Bound to 127.0.0.2",
            " APN: internet",
            " (S)GSN 127.0.0.2",
            "  Restart Counter: 1",
            "  PDP contexts: 21",
            "  Echo Requests in-flight: 0",
        ];
        assert_eq!(shown.lines().count(), lines.len(), "{shown}");
        for (own, theirs) in shown.lines().zip(lines) {
            assert!(own.starts_with(theirs), "{own:?} {theirs:?}");
        }
    }
}
