//! Mobiles, as the SGSN, the GGSN and the BSS emulator see them.

use super::{Or, Seconds};
use core::fmt;
use core::net::IpAddr;
use gannet_machine::time::Instant;
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
    /// When it was heard last, since the start.
    pub heard: Option<Instant>,
    /// Its PDP contexts, where they were asked for.
    pub pdp_contexts: Vec<PdpContext>,
}

impl fmt::Display for MmContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "MM context of IMSI {}, IMEI {}", Or(&self.imsi), Or(&self.imei))?;
        writeln!(f, "  P-TMSI: {} TLLI: {} (old {})", Or(&self.ptmsi), Or(&self.tlli), Or(&self.tlli_old))?;
        writeln!(f, "  state: {}, {}", self.gmm_state, self.mm_state)?;
        writeln!(f, "  routing area: {} cell: {}", Or(&self.rai), Or(&self.cell))?;
        if let Some(heard) = self.heard {
            writeln!(f, "  heard last at {}", Seconds(heard))?;
        }
        self.pdp_contexts.iter().try_for_each(|context| context.fmt(f))
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

/// One entry of `show pdp-context …`: its first line begins with the IMSI and has the only `NSAPI`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdpContext {
    /// Whose it is.
    pub imsi: Option<Imsi>,
    /// Its NSAPI.
    pub nsapi: Nsapi,
    /// Its SAPI; the GGSN knows none.
    pub sapi: Option<Sapi>,
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

impl fmt::Display for PdpContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PDP context: IMSI {} NSAPI {}", Or(&self.imsi), self.nsapi)?;
        if let Some(sapi) = self.sapi {
            write!(f, " SAPI {sapi}")?;
        }
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
            sapi: Some(Sapi(3)),
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
            "PDP context: IMSI 001010000000001 NSAPI 5 SAPI 3 PDP-ACTIVE APN internet address 172.16.222.2\n"
        ));
        assert_eq!(text.matches("NSAPI").count(), 1);
        let treatment = "  class guaranteed, precedence high, rate 8000 octets/s, guaranteed 4000 octets/s\n";
        assert!(text.contains(treatment), "{text}");
        let filter = "  TFT filter 1 precedence 7: ip_proto udp src_port 53\n";
        assert!(text.contains(filter), "{text}");
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
