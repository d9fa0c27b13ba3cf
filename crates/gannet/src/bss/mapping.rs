//! What an operator wrote, as the BSS and its mobiles take it.

use super::Plan;
use crate::{cells, fleet};
use gannet_ops::config::bss::BssConfig;

/// The configurations of both machines, and the sockets.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(config: &BssConfig) -> Result<Plan, String> {
    let cells = cells::Plan::new(&config.gb, config.fleet.mobiles.count)?;
    let mut ms = fleet::plan(&config.fleet, cells.ids())?;
    if cells.has_air() {
        ms.mobiles = 0;
    }
    Ok(Plan { ms, cells })
}

/// Addresses and cells are the same.
pub fn same_cells(old: &BssConfig, new: &BssConfig) -> bool {
    let of = |config: &BssConfig| {
        let dialect = (config.gb.dialect, config.gb.ip_sns);
        (
            config.gb.remote_ip,
            config.gb.remote_port,
            config.gb.local_ip,
            config.gb.local_port,
            config.gb.cells,
            dialect,
        )
    };
    of(old) == of(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::time::Duration;
    use gannet_node::bss::radio::RlcMacConfig;
    use gannet_ops::config::bss::GbDialect;
    use gannet_ops::config::cells as ops;
    use gannet_proto::auth::cards::{Cards, Variant};
    use gannet_proto::auth::key::Key128;
    use gannet_proto::rlcmac::ccch::Layout;
    use gannet_wire::id::{Bvci, Nsei, Nsvci, Sapi};
    use gannet_wire::rlcmac::cell::AccessBurst;
    use gannet_wire::rlcmac::value::AckType;

    #[test]
    fn mobiles_have_the_ciphers_of_their_cards_or_those_that_are_said() {
        let mut config = BssConfig::default();
        let geas = |config: &BssConfig| -> Vec<u8> {
            let capability = plan(config).unwrap().ms.gmm.network_capability;
            (1..=7).filter(|gea| capability.supports_gea(*gea)).collect()
        };
        assert_eq!(geas(&config), [1, 2, 3]);
        let (k, variant) = (Key128([1; 16]), Variant::Opc(Key128([2; 16])));
        config.fleet.mobiles.cards = Cards::Usim { k, variant };
        assert_eq!(geas(&config), [1, 2, 3, 4]);
        config.fleet.mobiles.geas = Some(0b101);
        assert_eq!(geas(&config), [2]);
        config.fleet.mobiles.combined = true;
        assert!(plan(&config).unwrap().ms.gmm.combined);
        assert!(!plan(&config).unwrap().ms.sm.follows_requests);
        config.fleet.mobiles.follows_requests = true;
        assert!(plan(&config).unwrap().ms.sm.follows_requests);
        assert_eq!(plan(&config).unwrap().ms.cards, config.fleet.mobiles.cards);
        config.fleet.links.of_mut(Sapi::DATA3).unwrap().shared.n200 = Some(7);
        assert_eq!(plan(&config).unwrap().ms.user_plane.links, config.fleet.links);
    }

    /// A mobile has the timeslots that its class permits beside one uplink, and its rate is theirs.
    #[test]
    fn tbfs_are_as_their_words_have_it() {
        let of = |class: u8| {
            let mut config = BssConfig::default();
            let coding = gannet_wire::rlcmac::coding::CodingScheme::Cs4;
            config.gb.radio.rlcmac = Some(ops::RlcMac { slots: 4, coding, c_over_i_db: None });
            config.gb.radio.pcu = ops::Pcu {
                multislot_class: class,
                idle_ms: 2000,
                idle_poll_ms: 270,
                has_combined_ccch: class == 8,
                control_ack: if class == 8 { ops::ControlAck::Bursts11 } else { ops::ControlAck::Block },
                ..ops::Pcu::default()
            };
            plan(&config).unwrap().cells.bss
        };
        let slots = [1, 4, 6, 8, 12].map(|class| of(class).rlcmac.unwrap().network.downlink_slots);
        assert_eq!(slots, [1, 3, 3, 4, 4]);
        let bss = of(8);
        // 50 octets in each of 50 blocks a second.
        assert_eq!(bss.cells[0].flow.default_ms.rate_bit_per_s, 4 * 50 * 50 * 8);
        let RlcMacConfig { network, mobile, options, .. } = bss.rlcmac.unwrap();
        let layouts = [1, 8].map(|class| of(class).rlcmac.unwrap().options.paging.layout);
        assert_eq!(layouts, [Layout::Uncombined, options.paging.layout]);
        assert_eq!(options.paging.layout, Layout::Combined);
        assert_eq!((options.control_ack, options.access_burst), (AckType::AccessBursts, AccessBurst::Bits11));
        assert_eq!((network.multislot_class.number(), mobile.multislot_class), (8, 8));
        assert_eq!(network.delayed_release, Duration::from_secs(2));
        assert_eq!(network.idle_poll, Duration::from_millis(270));
        assert!(plan(&BssConfig::default()).unwrap().cells.bss.rlcmac.is_none());
    }

    #[test]
    fn cells_are_numbered_from_their_bases() {
        let mut config = BssConfig::default();
        config.gb.cells.count = 5;
        config.gb.cells.per_nse = 2;
        config.gb.cells.per_routing_area = 3;
        let plan = plan(&config).unwrap();
        let last = plan.cells.bss.cells[4];
        assert_eq!((last.nsei, last.bvci, last.id.ci, last.id.rai.rac), (Nsei(103), Bvci(6), 5, 1));
        assert_eq!(plan.cells.sockets().len(), 3);
        assert_eq!(plan.cells.sockets()[2].1.port(), 22_002);
        assert_eq!(plan.cells.bss.vcs[2].nsvci, Nsvci(103));
        assert_eq!(plan.ms.cells.len(), 5);
        config.gb.dialect = GbDialect::IpSns;
        (config.gb.ip_sns.count, config.gb.ip_sns.spare) = (2, 1);
        let plan = super::plan(&config).unwrap();
        assert_eq!(
            (plan.cells.sockets().len(), plan.cells.bss.vcs.len(), plan.cells.bss.ip_sns.len()),
            (9, 0, 3)
        );
        let last = &plan.cells.bss.ip_sns[2];
        assert_eq!((last.nsei, last.local[1].element.endpoint.port()), (Nsei(103), 22_007));
        assert_eq!(plan.cells.sockets()[7], (last.local[1].port, last.local[1].element.endpoint));
    }
}
