//! One cell, who is in it, and what was negotiated for whom.

use core::net::Ipv4Addr;
use gannet_machine::time::Duration;
use gannet_node::bss::radio::RadioConfig;
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsConfig, NPduDelivery};
use gannet_node::sgsn::{GgsnPeer, SgsnConfig};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_sim::gprs::{GGSN_GN, SGSN_GB, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::{BitRate, GprsTimer, QosProfile, QosR99, TrafficClass};

/// R of the cell: what four timeslots carry by CS-4 and a little more.
pub const LEAK_OCTETS_PER_S: u64 = 20_000;
/// Bmax: 0.2 s of it.
const BMAX_OCTETS: u64 = 4000;
/// Headers of SNDCP and LLC around an N-PDU.
const HEADERS_OCTETS: u64 = 10;

/// What a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Conversational.
    RealTime,
    /// Streaming.
    Guaranteed,
    /// Background.
    BestEffort,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RealTime, Self::Guaranteed, Self::BestEffort];

    /// For a person.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RealTime => "real time",
            Self::Guaranteed => "guaranteed rate",
            Self::BestEffort => "best effort",
        }
    }
}

/// A mobile with one context.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its service.
    pub service: Service,
    /// The guaranteed bit rate, 0 for none.
    guaranteed_kbps: u32,
    /// Octets of its N-PDUs.
    pub n_pdu_octets: u64,
}

const REAL_TIME: Member = Member { service: Service::RealTime, guaranteed_kbps: 16, n_pdu_octets: 200 };
const GUARANTEED: Member = Member { service: Service::Guaranteed, guaranteed_kbps: 16, n_pdu_octets: 490 };
const BEST_EFFORT: Member = Member { service: Service::BestEffort, guaranteed_kbps: 0, n_pdu_octets: 490 };
/// Asks for more than the cell has left, and sends nothing.
const TOO_MUCH: Member = Member { service: Service::Guaranteed, guaranteed_kbps: 64, n_pdu_octets: 490 };

/// Who sends.
pub const MEMBERS: [Member; 12] = [
    REAL_TIME,
    REAL_TIME,
    GUARANTEED,
    GUARANTEED,
    GUARANTEED,
    GUARANTEED,
    BEST_EFFORT,
    BEST_EFFORT,
    BEST_EFFORT,
    BEST_EFFORT,
    BEST_EFFORT,
    BEST_EFFORT,
];
/// Who is there: one more.
pub const MOBILES: u32 = 13;

impl Member {
    /// The mobile of this number.
    pub fn of(mobile: u32) -> Self {
        MEMBERS.get(mobile as usize).copied().unwrap_or(TOO_MUCH)
    }

    /// What was guaranteed, as octets/s of LL-PDUs.
    pub fn guaranteed_on_air(&self) -> u64 {
        u64::from(self.guaranteed_kbps) * 125 * self.on_air() / self.n_pdu_octets
    }

    /// Octets of the LL-PDU of one of its N-PDUs.
    pub const fn on_air(&self) -> u64 {
        self.n_pdu_octets + HEADERS_OCTETS
    }

    /// What it sends where the cell is offered so much of its leak rate, in octets/s of LL-PDUs.
    pub fn offers(&self, load: f64) -> f64 {
        let of = |service: Service| MEMBERS.iter().filter(move |member| member.service == service);
        let count = |service: Service| super::as_f64(of(service).count() as u64);
        let real_time: u64 = of(Service::RealTime).map(Self::guaranteed_on_air).sum();
        match self.service {
            Service::RealTime => super::as_f64(self.guaranteed_on_air()),
            Service::Guaranteed | Service::BestEffort => {
                let rest = super::as_f64(LEAK_OCTETS_PER_S) * load - super::as_f64(real_time);
                rest / 2.0 / count(self.service)
            }
        }
    }

    /// What it asks for.
    pub fn profile(&self) -> QosProfile {
        let traffic_class = match self.service {
            Service::RealTime => TrafficClass::CONVERSATIONAL,
            Service::Guaranteed => TrafficClass::STREAMING,
            Service::BestEffort => TrafficClass::BACKGROUND,
        };
        let (mbr, guaranteed) = (64, self.guaranteed_kbps);
        let r99 = QosR99 {
            traffic_class,
            delivery_order: 2,
            erroneous_sdus: 3,
            max_sdu: 150,
            mbr_up: BitRate::from_kbps(mbr),
            mbr_down: BitRate::from_kbps(mbr),
            residual_ber: 7,
            sdu_error_ratio: 4,
            transfer_delay: 10,
            handling_priority: 0,
            gbr_up: BitRate::from_kbps(guaranteed),
            gbr_down: BitRate::from_kbps(guaranteed),
            signalling: None,
        };
        QosProfile { r99: Some(r99), ..QosProfile::BEST_EFFORT }
    }
}

/// Everything.
pub fn config(seed: u64) -> WorldConfig {
    let id = CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 0 }, ci: 100 };
    let rate_bit_per_s = LEAK_OCTETS_PER_S * 8;
    let bucket = |bmax_octets| Bucket { bmax_octets, rate_bit_per_s };
    let radio = RadioConfig {
        rate_bit_per_s,
        queue_octets: BMAX_OCTETS + BMAX_OCTETS / 4,
        delay: Duration::from_millis(20),
    };
    // A mobile may have all of the cell.
    let flow = BvcParameters { bvc: bucket(BMAX_OCTETS), default_ms: bucket(BMAX_OCTETS) };
    let cell = CellConfig { downlink: radio, flow, ..CellConfig::new(Nsei(101), Bvci(2), id) };
    let vc = VcConfig { nsei: Nsei(101), nsvci: Nsvci(201), port: gb_port(0), peer: SGSN_GB };
    let bss = bss::Config { mobiles_max: MOBILES, ..bss::Config::new(vec![vc], vec![cell]) };
    let mut sgsn = SgsnConfig {
        mobiles_max: MOBILES as usize,
        cells_max: 1,
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        n201_u: None,
        ..SgsnConfig::default()
    };
    // Nobody is to be paged: what mobiles send is not the matter here.
    sgsn.gmm.t3314 = GprsTimer(0x5f);
    let apn = ApnConfig::with_ipv4(
        "internet".parse().unwrap_or_else(|_| unreachable!("a valid name")),
        Ipv4Addr::new(10, 0, 0, 0),
        16,
    );
    let imsi = Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let imsi = imsi.unwrap_or_else(|| unreachable!("15 digits"));
    let ms = MsConfig { delivery: NPduDelivery::Event, ..MsConfig::new(MOBILES, imsi, vec![id]) };
    WorldConfig {
        seed,
        frames: 8192,
        gb: LinkProfile::default(),
        gn: LinkProfile::default(),
        sgsn,
        ggsn: GgsnConfig { default_apn: Some(0), ..GgsnConfig::new(GGSN_GN, vec![apn]) },
        bss,
        ms,
    }
}
