//! What an operator wrote, as the BSS and its mobiles take it.

use super::Plan;
use core::net::{IpAddr, SocketAddr};
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_node::bss::radio::RadioConfig;
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ms::MsConfig;
use gannet_ops::config::bss::{BssConfig, Cells, GbDialect, PdpType, QosRequest, Radio};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::ns::sns::{LocalEndpoint, SnsSetup};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci, Rai};
use gannet_wire::l3::ie::{
    DelayClass, MeanThroughput, PdpAddress, PeakThroughput, PrecedenceClass, QosProfile, ReliabilityClass,
};
use gannet_wire::ns::IpElement;

/// LL-PDUs in the queues of each direction, for each of a few mobiles and at least: each place takes a frame.
const PDUS_PER_MOBILE: u32 = 64;
const PDUS_MIN: u32 = 2048;
/// Downlink N-PDUs of which segments are missing, in the same way.
const REASSEMBLIES_PER_MOBILE: usize = 2;
const REASSEMBLIES_MIN: usize = 64;

/// The configurations of both machines, and the sockets.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(config: &BssConfig) -> Result<Plan, String> {
    let cells: Vec<CellConfig> = (0..config.cells.count).map(|cell| self::cell(config, cell)).collect();
    let nses = config.cells.count.div_ceil(config.cells.per_nse.max(1));
    let remote = SocketAddr::new(IpAddr::V4(config.remote_ip), config.remote_port);
    let ports = config.ports_per_nse();
    let vc = |nse: u16| VcConfig {
        nsei: Nsei(config.cells.nsei_base + nse),
        nsvci: Nsvci(config.cells.nsvci_base + nse),
        port: gb_port(nse),
        peer: remote,
    };
    let sockets: Vec<_> = (0..nses * ports).map(|place| socket(config, place)).collect();
    let (vcs, ip_sns) = match config.dialect {
        GbDialect::Classic => ((0..nses).map(vc).collect(), Vec::new()),
        GbDialect::IpSns => (Vec::new(), (0..nses).map(|nse| ip_sns(config, nse, remote)).collect()),
    };
    let mut bss = bss::Config::new(vcs, cells);
    bss.ip_sns = ip_sns;
    bss.loss_percent = config.radio.loss_percent;
    bss.mobiles_max = config.mobiles.count.max(1);
    bss.pdus_max = config.mobiles.count.saturating_mul(PDUS_PER_MOBILE).max(PDUS_MIN).min(bss.pdus_max);
    bss.flow_control_interval = Duration::from_secs(config.radio.flow_control_interval_s.into());
    bss::Bss::new(bss.clone()).map_err(|error| error.to_string())?;
    let ids = bss.cells.iter().map(|cell| cell.id).collect();
    Ok(Plan { ms: mobiles(config, ids)?, sockets, bss })
}

/// The socket in this place, counted over all NSEs.
fn socket(config: &BssConfig, place: u16) -> (Port, SocketAddr) {
    (gb_port(place), SocketAddr::new(IpAddr::V4(config.local_ip), config.local_port + place))
}

/// An endpoint of an NSE, both counted from 0.
pub fn endpoint(config: &BssConfig, nse: u16, endpoint: u16, weights: (u8, u8)) -> LocalEndpoint {
    let (port, address) = socket(config, nse * config.ports_per_nse() + endpoint);
    let (signalling_weight, data_weight) = weights;
    LocalEndpoint { port, element: IpElement { endpoint: address, signalling_weight, data_weight } }
}

fn ip_sns(config: &BssConfig, nse: u16, remote: SocketAddr) -> SnsSetup {
    SnsSetup {
        nsei: Nsei(config.cells.nsei_base + nse),
        local: (0..config.ip_sns.count).map(|place| endpoint(config, nse, place, (1, 1))).collect(),
        spare: config.ip_sns.spare,
        initial: vec![remote],
    }
}

/// A cell by its number; the checks of the configuration have seen that the sums fit.
fn cell(config: &BssConfig, number: u16) -> CellConfig {
    let Cells { lac, rac, per_nse, per_routing_area, .. } = config.cells;
    let (nse, area) = (number / per_nse.max(1), number / per_routing_area.max(1));
    let rac = u8::try_from(u16::from(rac) + area).unwrap_or(u8::MAX);
    let rai = Rai { plmn: config.cells.plmn(), lac, rac };
    let radio = &config.radio;
    let direction = |octets_per_s: u32| RadioConfig {
        rate_bit_per_s: u64::from(octets_per_s) * 8,
        // More than the SGSN is told, since PDUs that were sent in their time may come close together.
        queue_octets: u64::from(radio.cell_bmax_octets) * 5 / 4,
        delay: Duration::from_millis(radio.delay_ms.into()),
    };
    CellConfig {
        nsei: Nsei(config.cells.nsei_base + nse),
        bvci: Bvci(config.cells.bvci_base + number),
        id: CellId { rai, ci: config.cells.ci_base + number },
        downlink: direction(radio.downlink_octets_per_s),
        uplink: direction(radio.uplink_octets_per_s),
        flow: flow(radio),
    }
}

fn flow(radio: &Radio) -> BvcParameters {
    let bucket = |octets: u32, octets_per_s: u32| Bucket {
        bmax_octets: octets.into(),
        rate_bit_per_s: u64::from(octets_per_s) * 8,
    };
    BvcParameters {
        bvc: bucket(radio.cell_bmax_octets, radio.downlink_octets_per_s),
        default_ms: bucket(radio.ms_bmax_octets, radio.ms_rate_octets_per_s),
    }
}

fn mobiles(config: &BssConfig, cells: Vec<CellId>) -> Result<MsConfig, String> {
    let mobiles = &config.mobiles;
    let apn = match mobiles.apn.as_str() {
        "" => None,
        apn => Some(apn.parse().map_err(|_| format!("'apn {apn}' is no access point name"))?),
    };
    let mut ms = MsConfig::new(mobiles.count, mobiles.imsi_base, cells);
    ms.imei = Some(mobiles.imei_base);
    let reassemblies = (mobiles.count as usize).saturating_mul(REASSEMBLIES_PER_MOBILE);
    ms.reassembly_max = reassemblies.max(REASSEMBLIES_MIN).min(ms.reassembly_max);
    ms.insert(mobiles.cards);
    if let Some(geas) = mobiles.geas {
        ms.gmm.network_capability = ms.gmm.network_capability.with_geas(geas);
    }
    ms.gmm.combined = mobiles.combined;
    ms.sm.follows_requests = mobiles.follows_requests;
    ms.sm.sets_flag = mobiles.sets_flag;
    ms.pdp.apn = apn;
    ms.pdp.address = match mobiles.pdp_type {
        PdpType::Ipv4 => PdpAddress::Ipv4Dynamic,
        PdpType::Ipv6 => PdpAddress::Ipv6Dynamic,
        PdpType::Ipv4v6 => PdpAddress::Ipv4v6Dynamic,
    };
    ms.pdp.qos = qos(&config.qos);
    ms.user_plane.sndcp.compression = config.compression;
    ms.user_plane.links = config.links;
    Ok(ms)
}

fn qos(wish: &QosRequest) -> QosProfile {
    QosProfile {
        delay: DelayClass(wish.delay),
        reliability: ReliabilityClass(wish.reliability),
        peak: PeakThroughput(wish.peak),
        precedence: PrecedenceClass(wish.precedence),
        mean: MeanThroughput(wish.mean),
        r99: None,
    }
}

/// Addresses and cells are the same.
pub fn same_cells(old: &BssConfig, new: &BssConfig) -> bool {
    let of = |config: &BssConfig| {
        let dialect = (config.dialect, config.ip_sns);
        (config.remote_ip, config.remote_port, config.local_ip, config.local_port, config.cells, dialect)
    };
    of(old) == of(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::auth::cards::{Cards, Variant};
    use gannet_proto::auth::key::Key128;
    use gannet_wire::id::Sapi;

    #[test]
    fn mobiles_have_the_ciphers_of_their_cards_or_those_that_are_said() {
        let mut config = BssConfig::default();
        let geas = |config: &BssConfig| -> Vec<u8> {
            let capability = plan(config).unwrap().ms.gmm.network_capability;
            (1..=7).filter(|gea| capability.supports_gea(*gea)).collect()
        };
        assert_eq!(geas(&config), [1, 2, 3]);
        let (k, variant) = (Key128([1; 16]), Variant::Opc(Key128([2; 16])));
        config.mobiles.cards = Cards::Usim { k, variant };
        assert_eq!(geas(&config), [1, 2, 3, 4]);
        config.mobiles.geas = Some(0b101);
        assert_eq!(geas(&config), [2]);
        config.mobiles.combined = true;
        assert!(plan(&config).unwrap().ms.gmm.combined);
        assert!(!plan(&config).unwrap().ms.sm.follows_requests);
        config.mobiles.follows_requests = true;
        assert!(plan(&config).unwrap().ms.sm.follows_requests);
        assert_eq!(plan(&config).unwrap().ms.cards, config.mobiles.cards);
        config.links.of_mut(Sapi::DATA3).unwrap().shared.n200 = Some(7);
        assert_eq!(plan(&config).unwrap().ms.user_plane.links, config.links);
    }

    #[test]
    fn cells_are_numbered_from_their_bases() {
        let mut config = BssConfig::default();
        config.cells.count = 5;
        config.cells.per_nse = 2;
        config.cells.per_routing_area = 3;
        let plan = plan(&config).unwrap();
        let last = plan.bss.cells[4];
        assert_eq!((last.nsei, last.bvci, last.id.ci, last.id.rai.rac), (Nsei(103), Bvci(6), 5, 1));
        assert_eq!(plan.sockets.len(), 3);
        assert_eq!(plan.sockets[2].1.port(), 22_002);
        assert_eq!(plan.bss.vcs[2].nsvci, Nsvci(103));
        assert_eq!(plan.ms.cells.len(), 5);
        config.dialect = GbDialect::IpSns;
        (config.ip_sns.count, config.ip_sns.spare) = (2, 1);
        let plan = super::plan(&config).unwrap();
        assert_eq!((plan.sockets.len(), plan.bss.vcs.len(), plan.bss.ip_sns.len()), (9, 0, 3));
        let last = &plan.bss.ip_sns[2];
        assert_eq!((last.nsei, last.local[1].element.endpoint.port()), (Nsei(103), 22_007));
        assert_eq!(plan.sockets[7], (last.local[1].port, last.local[1].element.endpoint));
    }
}
