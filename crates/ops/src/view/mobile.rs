//! Mobiles, as the SGSN, the GGSN and the BSS emulator see them.

use super::Or;
use crate::metrics::text::known_lines;
use crate::metrics::{Metric, osmocom};
use core::fmt;
use core::net::IpAddr;
use gannet_wire::id::{CellId, Imei, Imsi, Nsapi, PTmsi, Rai, Sapi, Teid, Tlli};
use gannet_wire::l3::ie::PacketFilter;

/// One line of `show subscriber …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Its IMSI, where it is known yet.
    pub imsi: Option<Imsi>,
    /// Its number, where an HLR said so.
    pub msisdn: Option<String>,
    /// Its equipment.
    pub imei: Option<Imei>,
    /// Its P-TMSI.
    pub ptmsi: Option<PTmsi>,
    /// `GMM-REGISTERED` and its like.
    pub gmm_state: &'static str,
    /// `IDLE`, `STANDBY`, `READY`.
    pub mm_state: &'static str,
    /// Active PDP contexts.
    pub pdp_contexts: usize,
}

impl fmt::Display for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "IMSI: {:<15} P-TMSI: {:<8} ",
            Or(&self.imsi.map(|imsi| imsi.to_string())),
            Or(&self.ptmsi)
        )?;
        if let Some(msisdn) = &self.msisdn {
            write!(f, "MSISDN: {msisdn} ")?;
        }
        if let Some(imei) = self.imei {
            write!(f, "IMEI: {imei} ")?;
        }
        writeln!(f, "{} {} PDP contexts: {}", self.gmm_state, self.mm_state, self.pdp_contexts)
    }
}

/// One entry of `show subscriber cache`. Vectors and their keys are never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedSubscriber {
    /// In one line.
    pub line: Subscriber,
    /// It may be served.
    pub is_authorized: bool,
    /// Where it is.
    pub rai: Option<Rai>,
    /// Its number as GSUP has it: the length, then two digits an octet.
    pub msisdn: Option<Vec<u8>>,
    /// What it has subscribed to: number, PDP type, access point.
    pub pdp_infos: Vec<(u8, u16, String)>,
}

impl fmt::Display for CachedSubscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  Subscriber:\n    Authorized: {}", u8::from(self.is_authorized))?;
        if let Some(rai) = self.rai {
            writeln!(f, "    LAC: {}/0x{:x}", rai.lac, rai.lac)?;
        }
        if let Some(imsi) = self.line.imsi {
            writeln!(f, "    IMSI: {imsi}")?;
        }
        if let Some(msisdn) = &self.msisdn {
            f.write_str("    MSISDN (BCD): ")?;
            msisdn.iter().try_for_each(|octet| write!(f, "{octet:02x} "))?;
            f.write_str("\n")?;
        }
        if let Some(imei) = self.line.imei {
            writeln!(f, "    IMEI: {imei}")?;
        }
        for (number, kind, apn) in &self.pdp_infos {
            writeln!(f, "    PDP info: Id: {number}, Type: 0x{kind:04x}, APN: '{apn}'")?;
        }
        let Subscriber { ptmsi, gmm_state, mm_state, pdp_contexts, .. } = &self.line;
        writeln!(f, "    P-TMSI: {} {gmm_state} {mm_state} PDP contexts: {pdp_contexts}", Or(ptmsi))
    }
}

/// Counters of a mobile's signalling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MmCounters {
    /// Messages of layer 3 received.
    pub messages_in: u64,
    /// Messages of layer 3 sent.
    pub messages_out: u64,
    /// PDP contexts that were activated.
    pub activations: u64,
    /// SUSPEND that was obeyed.
    pub suspends: u64,
    /// Pagings for packets.
    pub pagings: u64,
    /// Routing area updates that ended well.
    pub updates: u64,
}

const MM: [osmocom::Row<MmCounters>; 7] = [
    ("", "", "sign:packets:in", "Signalling Messages ( In)", |of| of.messages_in),
    ("", "", "sign:packets:out", "Signalling Messages (Out)", |of| of.messages_out),
    ("", "", "pdp_ctx_act", "PDP Context Activations  ", |of| of.activations),
    ("", "", "suspend", "SUSPEND Count            ", |of| of.suspends),
    ("", "", "paging:ps", "Paging Packet Switched   ", |of| of.pagings),
    ("", "", "paging:cs", "Paging Circuit Switched  ", |_| 0),
    ("", "", "ra_update", "Routing Area Update      ", |of| of.updates),
];

impl MmCounters {
    /// The counters that osmo-sgsn has, in its order, without those of user data, which nobody counts for each mobile.
    /// There is no Gs interface: no mobile is paged here for calls.
    #[must_use]
    pub fn counters(&self) -> [Metric; 7] {
        osmocom::counters(&MM, self)
    }
}

/// One entry of `show mm-context …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MmContext {
    /// Its IMSI, where it is known yet.
    pub imsi: Option<Imsi>,
    /// Its equipment.
    pub imei: Option<Imei>,
    /// Its P-TMSI.
    pub ptmsi: Option<PTmsi>,
    /// Its TLLI.
    pub tlli: Option<Tlli>,
    /// Its TLLI before the last assignment, while that is valid.
    pub tlli_old: Option<Tlli>,
    /// `GMM-REGISTERED` and its like.
    pub gmm_state: &'static str,
    /// `IDLE`, `STANDBY`, `READY`.
    pub mm_state: &'static str,
    /// Where it is.
    pub rai: Option<Rai>,
    /// The cell it was heard in last.
    pub cell: Option<CellId>,
    /// Its number, where an HLR said so.
    pub msisdn: Option<String>,
    /// The number of its HLR, where that said so.
    pub hlr: Option<String>,
    /// What its signalling has been.
    pub counters: MmCounters,
    /// Its PDP contexts, where they were asked for.
    pub pdp_contexts: Vec<PdpContext>,
}

impl fmt::Display for MmContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: Option<String>| value.unwrap_or_default();
        let (imsi, imei) = (self.imsi.map(|imsi| imsi.to_string()), self.imei.map(|imei| imei.to_string()));
        let (ptmsi, tlli) = (self.ptmsi.unwrap_or(PTmsi(u32::MAX)), self.tlli.unwrap_or(Tlli::UNASSIGNED));
        writeln!(f, "MM Context for IMSI {}, IMEI {}, P-TMSI {ptmsi}", text(imsi), text(imei))?;
        let (msisdn, hlr) = (text(self.msisdn.clone()), text(self.hlr.clone()));
        writeln!(f, "  MSISDN: {msisdn}, TLLI: {tlli} HLR: {hlr}")?;
        let cell = self.cell.map_or(0, |cell| cell.ci);
        let gmm = osmocom_state(self.gmm_state);
        writeln!(f, "  GMM State: {gmm}, Routeing Area: {}, Cell ID: {cell}", Or(&self.rai))?;
        writeln!(f, "  MM State: {}, RAN Type: GPRS/EDGE via Gb", osmocom_state(self.mm_state))?;
        f.write_str("  SGSN MM Context Statistics:\n")?;
        known_lines("   ", &self.counters.counters(), f)?;
        for context in &self.pdp_contexts {
            context.to_string().lines().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "  state: {}, {}", self.gmm_state, self.mm_state)?;
        writeln!(f, "  old TLLI: {}", Or(&self.tlli_old))?;
        writeln!(f, "  routing area: {} cell: {}", Or(&self.rai), Or(&self.cell))
    }
}

/// The word that osmo-sgsn has for a state of GMM or MM.
fn osmocom_state(state: &'static str) -> &'static str {
    match state {
        "GMM-DEREGISTERED" => "Deregistered",
        "GMM-COMMON-PROCEDURE-INITIATED" => "CommonProcedureInitiated",
        "GMM-REGISTERED" => "Registered.NORMAL",
        "GMM-REGISTERED.SUSPENDED" => "Registered.SUSPENDED",
        "GMM-DEREGISTERED-INITIATED" => "DeregisteredInitiated",
        "IDLE" => "Idle",
        "STANDBY" => "Standby",
        "READY" => "Ready",
        other => other,
    }
}

/// A negotiated QoS profile: the classes of R97 (04.08 clause 10.5.6.5 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Qos {
    /// Precedence class.
    pub precedence: u8,
    /// Delay class.
    pub delay: u8,
    /// Reliability class.
    pub reliability: u8,
    /// Peak throughput class.
    pub peak: u8,
    /// Mean throughput class.
    pub mean: u8,
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { precedence, delay, reliability, peak, mean } = self;
        write!(f, "precedence {precedence} delay {delay} reliability {reliability} peak {peak} mean {mean}")
    }
}

/// How the SGSN treats the packets of a PDP context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Treatment {
    /// `real time`, `guaranteed` or `best effort`.
    pub class: &'static str,
    /// `high`, `normal` or `low`.
    pub precedence: &'static str,
    /// What they may be, in octets/s.
    pub rate_octets_per_s: u32,
    /// What of it is guaranteed; 0 for nothing.
    pub guaranteed_octets_per_s: u32,
    /// Its cell has room for that.
    pub is_admitted: bool,
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, precedence, rate_octets_per_s, guaranteed_octets_per_s, is_admitted } = self;
        write!(f, "class {class}, precedence {precedence}, rate {rate_octets_per_s} octets/s")?;
        if *guaranteed_octets_per_s == 0 {
            return Ok(());
        }
        write!(f, ", guaranteed {guaranteed_octets_per_s} octets/s")?;
        if *is_admitted { Ok(()) } else { f.write_str(" as soon as its cell has room") }
    }
}

/// What an SGSN knows of a context beside what a GGSN does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSgsn {
    /// Its SAPI.
    pub sapi: Sapi,
    /// Its transaction identifier.
    pub ti: u8,
    /// Our address of GTP.
    pub local: IpAddr,
}

/// One entry of `show pdp-context …`: its first line has the IMSI and the only `NSAPI`. That of an SGSN has osmo-sgsn's lines, and
/// then one of our own, which begins with IMSI and NSAPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdpContext {
    /// Whose it is.
    pub imsi: Option<Imsi>,
    /// Its NSAPI.
    pub nsapi: Nsapi,
    /// What the SGSN alone knows.
    pub at_sgsn: Option<AtSgsn>,
    /// `PDP-ACTIVE` and its like.
    pub state: &'static str,
    /// The access point.
    pub apn: String,
    /// The mobile's address.
    pub address: Option<IpAddr>,
    /// The other GSN.
    pub peer: Option<IpAddr>,
    /// The version of GTP between both.
    pub gtp_version: u8,
    /// TEIDs of the control plane, of GTPv0 flow labels: ours and the other's.
    pub teid_control: (Teid, Teid),
    /// TEIDs of the user plane: ours and the other's.
    pub teid_user: (Teid, Teid),
    /// The negotiated QoS.
    pub qos: Option<Qos>,
    /// What that gives, where the node has queues.
    pub treatment: Option<Treatment>,
    /// The filters of its traffic flow template, those first that are tried first; the SGSN only hands them on.
    pub filters: Vec<PacketFilter>,
    /// What went through it, where the node counts that for each context.
    pub volumes: Option<Volumes>,
}

/// What went through a PDP context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volumes {
    /// N-PDUs towards the mobile.
    pub downlink_n_pdus: u64,
    /// Octets in them.
    pub downlink_octets: u64,
    /// N-PDUs from the mobile.
    pub uplink_n_pdus: u64,
    /// Octets in them.
    pub uplink_octets: u64,
}

impl PdpContext {
    fn at_sgsn(&self, own: &AtSgsn, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtSgsn { sapi, ti, local } = own;
        writeln!(f, "PDP Context IMSI: {}, SAPI: {sapi}, NSAPI: {}, TI: {ti}", Or(&self.imsi), self.nsapi)?;
        writeln!(f, "  APN: {}", self.apn)?;
        match self.address {
            Some(IpAddr::V4(address)) => writeln!(f, "  PDP Address: IPv4 {address}")?,
            Some(IpAddr::V6(address)) => writeln!(f, "  PDP Address: IPv6 {address}")?,
            None => writeln!(f, "  PDP Address: none")?,
        }
        let peer = self.peer.map_or_else(|| "none".to_owned(), |peer| peer.to_string());
        let (ours, theirs) = (self.teid_control.0.0, self.teid_control.1.0);
        let (data, peer_data) = (self.teid_user.0.0, self.teid_user.1.0);
        let version = self.gtp_version;
        for (whose, address, control, data) in
            [("Local", local.to_string(), ours, data), ("Remote", peer, theirs, peer_data)]
        {
            writeln!(
                f,
                "  GTPv{version} {whose} Control({address} / TEIC: 0x{control:08x}) Data({address} / TEID: 0x{data:08x})"
            )?;
        }
        writeln!(f, "  State: {}", self.state)?;
        self.qos.iter().try_for_each(|qos| writeln!(f, "  QoS: {qos}"))?;
        write!(f, "  IMSI {} NSAPI {}", Or(&self.imsi), self.nsapi)?;
        match &self.treatment {
            Some(treatment) => writeln!(f, ": {treatment}"),
            None => writeln!(f, ": served in order of arrival"),
        }
    }
}

impl fmt::Display for PdpContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(own) = &self.at_sgsn {
            return self.at_sgsn(own, f);
        }
        write!(f, "PDP context: IMSI {} NSAPI {}", Or(&self.imsi), self.nsapi)?;
        writeln!(f, " {} APN {} address {}", self.state, self.apn, Or(&self.address))?;
        let end = if self.gtp_version == 0 { "flow label" } else { "TEID" };
        let ((control, peer_control), (user, peer_user)) = (self.teid_control, self.teid_user);
        writeln!(
            f,
            "  peer {} by GTPv{}: {end} of control {control} here, {peer_control} there; of user data {user} here, \
             {peer_user} there",
            Or(&self.peer),
            self.gtp_version
        )?;
        if let Some(qos) = self.qos {
            writeln!(f, "  QoS: {qos}")?;
        }
        if let Some(treatment) = self.treatment {
            writeln!(f, "  {treatment}")?;
        }
        for filter in &self.filters {
            writeln!(f, "  TFT {filter}")?;
        }
        let Some(volumes) = self.volumes else { return Ok(()) };
        writeln!(
            f,
            "  downlink {} N-PDUs, {} octets; uplink {} N-PDUs, {} octets",
            volumes.downlink_n_pdus, volumes.downlink_octets, volumes.uplink_n_pdus, volumes.uplink_octets
        )
    }
}

/// One line of the BSS's `show mobile`: state words are `detached`, `attaching`, `attached`, `pdp-activating`,
/// `pdp-active`, `detaching`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mobile {
    /// From 1.
    pub number: u32,
    /// Its IMSI.
    pub imsi: Imsi,
    /// Where it is in its life.
    pub state: &'static str,
    /// The cell it camps on, from 0.
    pub cell: u16,
    /// Its TLLI.
    pub tlli: Option<Tlli>,
    /// Its address.
    pub address: Option<IpAddr>,
    /// Its TUN device.
    pub tun: Option<String>,
}

impl fmt::Display for Mobile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, imsi, state, cell, .. } = self;
        write!(f, "{number:>6} IMSI {imsi} {state:<14} cell {cell} TLLI {}", Or(&self.tlli))?;
        if let Some(address) = self.address {
            write!(f, " address {address}")?;
        }
        if let Some(tun) = &self.tun {
            write!(f, " device {tun}")?;
        }
        f.write_str("\n")
    }
}

/// One line of the BSS's `show cells`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// From 0.
    pub number: u16,
    /// Its identity.
    pub cell: CellId,
    /// Its NSE.
    pub nsei: gannet_wire::id::Nsei,
    /// Its BVC.
    pub bvci: gannet_wire::id::Bvci,
    /// State of its BVC.
    pub state: &'static str,
    /// Mobiles that camp on it.
    pub mobiles: u32,
    /// PDUs that wait for its radio.
    pub queued_pdus: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, cell, nsei, bvci, state, mobiles, queued_pdus } = self;
        writeln!(
            f,
            "{number:>5} {cell} NSEI {nsei} BVCI {bvci} {state}, {mobiles} mobiles, {queued_pdus} PDUs wait"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::l3::ie::{Component, FilterDirection};

    #[test]
    fn a_context_has_one_line_with_its_nsapi() {
        let context = PdpContext {
            imsi: "001010000000001".parse().ok(),
            nsapi: Nsapi(5),
            at_sgsn: None,
            state: "PDP-ACTIVE",
            apn: "internet".into(),
            address: "172.16.222.2".parse().ok(),
            peer: "127.0.0.2".parse().ok(),
            gtp_version: 1,
            teid_control: (Teid(1), Teid(2)),
            teid_user: (Teid(3), Teid(4)),
            qos: Some(Qos::default()),
            treatment: Some(Treatment {
                class: "guaranteed",
                precedence: "high",
                rate_octets_per_s: 8000,
                guaranteed_octets_per_s: 4000,
                is_admitted: true,
            }),
            filters: vec![PacketFilter {
                identifier: 1,
                direction: FilterDirection::Unsaid,
                precedence: 7,
                components: vec![Component::Protocol(17), Component::SourcePort(53)],
            }],
            volumes: Some(Volumes::default()),
        };
        let text = context.to_string();
        assert!(text.starts_with(
            "PDP context: IMSI 001010000000001 NSAPI 5 PDP-ACTIVE APN internet address 172.16.222.2\n"
        ));
        assert_eq!(text.matches("NSAPI").count(), 1);
        let treatment = "  class guaranteed, precedence high, rate 8000 octets/s, guaranteed 4000 octets/s\n";
        assert!(text.contains(treatment), "{text}");
        let filter = "  TFT filter 1 precedence 7: ip_proto udp src_port 53\n";
        assert!(text.contains(filter), "{text}");
        // As osmo-sgsn 1.9.0 has printed it.
        let local = "127.0.0.1".parse().unwrap();
        let at_sgsn = Some(AtSgsn { sapi: Sapi(3), ti: 0, local });
        let text = PdpContext { at_sgsn, ..context }.to_string();
        let lines = "PDP Context IMSI: 001010000000001, SAPI: 3, NSAPI: 5, TI: 0\n  APN: internet\n  PDP Address: IPv4 172.16.222.2\n  \
             GTPv1 Local Control(127.0.0.1 / TEIC: 0x00000001) Data(127.0.0.1 / TEID: 0x00000003)\n  \
             GTPv1 Remote Control(127.0.0.2 / TEIC: 0x00000002) Data(127.0.0.2 / TEID: 0x00000004)\n";
        assert!(text.starts_with(lines), "{text}");
        let own = "\n  IMSI 001010000000001 NSAPI 5: class guaranteed, precedence high, rate 8000";
        assert!(text.contains(own), "{text}");
    }

    #[test]
    fn a_mobile_has_the_lines_of_osmo_sgsn() {
        let mut cell = CellId::from_octets([0x00, 0xf1, 0x10, 0, 1, 0, 0, 1]);
        cell.ci = 7;
        let context = MmContext {
            imsi: "001010000000001".parse().ok(),
            imei: None,
            ptmsi: Some(PTmsi(0xfec4_828a)),
            tlli: Some(Tlli(0xfec4_828a)),
            tlli_old: None,
            gmm_state: "GMM-REGISTERED",
            mm_state: "STANDBY",
            rai: Some(cell.rai),
            cell: Some(cell),
            msisdn: Some("1001".to_owned()),
            hlr: None,
            counters: MmCounters { messages_in: 4, updates: 2, ..MmCounters::default() },
            pdp_contexts: Vec::new(),
        };
        let text = context.to_string();
        let head = "MM Context for IMSI 001010000000001, IMEI , P-TMSI fec4828a\n  MSISDN: 1001, TLLI: fec4828a HLR: \n  \
             GMM State: Registered.NORMAL, Routeing Area: 001-01-1-0, Cell ID: 7\n  \
             MM State: Standby, RAN Type: GPRS/EDGE via Gb\n  SGSN MM Context Statistics:\n   \
             Signalling Messages ( In):        4 (-/s -/m -/h -/d)\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("   Routing Area Update      :        2 ("), "{text}");
        let line = Subscriber {
            imsi: context.imsi,
            msisdn: None,
            imei: None,
            ptmsi: context.ptmsi,
            gmm_state: "GMM-REGISTERED",
            mm_state: "READY",
            pdp_contexts: 1,
        };
        let msisdn = Some(vec![2, 0x01, 0x10]);
        let pdp_infos = vec![(1, 0, "*".to_owned())];
        let cached = CachedSubscriber { line, is_authorized: true, rai: context.rai, msisdn, pdp_infos };
        assert_eq!(
            cached.to_string(),
            "  Subscriber:\n    Authorized: 1\n    LAC: 1/0x1\n    IMSI: 001010000000001\n    \
             MSISDN (BCD): 02 01 10 \n    PDP info: Id: 1, Type: 0x0000, APN: '*'\n    \
             P-TMSI: fec4828a GMM-REGISTERED READY PDP contexts: 1\n"
        );
    }

    #[test]
    fn a_mobile_is_one_line() {
        let mobile = Mobile {
            number: 1,
            imsi: "001010000000001".parse().unwrap(),
            state: "pdp-active",
            cell: 0,
            tlli: Some(Tlli(0xc000_0001)),
            address: "172.16.222.2".parse().ok(),
            tun: Some("ms0".into()),
        };
        let text = mobile.to_string();
        assert_eq!(
            text,
            "     1 IMSI 001010000000001 pdp-active     cell 0 TLLI c0000001 address 172.16.222.2 device ms0\n"
        );
    }
}
