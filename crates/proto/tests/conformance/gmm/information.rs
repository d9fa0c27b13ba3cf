//! GMM INFORMATION, both sides: clause 4.7.12.

use crate::harness::*;
use gannet_proto::gmm::network::{GmmEvent, GmmState, NetworkNames};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

fn names() -> NetworkNames {
    NetworkNames { full: Some("Gannet GPRS".to_owned()), short: Some("Gannet".to_owned()) }
}

fn information() -> GmmInformation {
    GmmInformation {
        full_name: Some(NetworkName::from_text("Gannet GPRS")),
        short_name: Some(NetworkName::from_text("Gannet")),
        time_zone: None,
        universal_time: None,
        lsa_identity: None,
        daylight_saving: None,
    }
}

#[test]
fn c4_7_12_1_who_has_attached_is_told_the_names() {
    let mut network = Network::accepted();
    network.cfg.names = names();
    network.confirm(AttachComplete {});
    assert_eq!(network.only(), information().into());
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    assert_eq!(network.pass(30), [], "nobody answers, and nothing is repeated");
    let mut network = Network::accepted();
    network.confirm(AttachComplete {});
    assert_eq!(network.sent().len(), 0, "there are no names");
}

#[test]
fn c4_7_12_1_by_order_in_standby_after_paging() {
    let mut network = Network::standby();
    network.cfg.names = names();
    network.event(GmmEvent::Inform);
    assert_eq!((network.pages(), network.sent().len()), (1, 0));
    network.frame();
    assert_eq!(network.only(), information().into());
}

#[test]
fn c4_7_12_2_the_mobile_takes_it_in_any_state() {
    for mut mobile in [Mobile::attaching(), Mobile::attached(), Mobile::updating(), Mobile::detaching()] {
        let (stands, next) = (mobile.stands(), mobile.mobile.deadlines.next());
        mobile.message(information());
        assert_eq!((mobile.sent().len(), mobile.stands()), (0, stands));
        assert_eq!(mobile.mobile.deadlines.next(), next);
    }
}
