//! Paging, both sides: clause 4.7.9. That it goes to every cell of the routing area, and what is held meanwhile, is the
//! node's.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, PagedBy, Service};
use gannet_proto::gmm::network::{GmmAction, GmmEvent};
use gannet_wire::id::TlliKind;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

#[test]
fn c4_7_9_1_1_the_network_pages_by_ptmsi() {
    let mut network = Network::standby();
    network.event(GmmEvent::DownlinkData);
    let page = GmmAction::Page {
        imsi: imsi(),
        ptmsi: network.context.ptmsi(),
        rai: rai(7, 1),
        drx: DrxParameter::default(),
    };
    assert_eq!(network.actions, [page]);
    network.frame();
    assert_eq!(network.actions, [GmmAction::MmStateChanged(MmState::Ready)], "any LLC frame answers");
    network.pass(43);
    assert_eq!(network.actions, [], "T3313 is stopped");
}

#[test]
fn c4_7_9_1_1_t3313_time_out() {
    let mut network = Network::standby();
    network.event(GmmEvent::DownlinkData);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.pages(), 0, "T3313 runs");
    network.pass(9);
    assert_eq!(network.pages(), 0);
    network.pass(1);
    assert_eq!(network.pages(), 1, "10 s");
    network.pass(10);
    assert_eq!(network.pages(), 1, "20 s");
    network.pass(10);
    assert_eq!(network.actions, [GmmAction::PagingFailed], "30 s, as often as the operator wants");
    assert_eq!(network.drops(Drop::GmmPagingFailed), 1);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.pages(), 1, "the next data page anew");
}

#[test]
fn c4_7_9_1_1_an_update_answers_too() {
    let mut network = Network::standby();
    network.event(GmmEvent::DownlinkData);
    network.message(update_request(UpdateKind::Ra));
    assert!(network.has(&GmmAction::MmStateChanged(MmState::Ready)));
    assert_eq!(network.sent(), ["RauAccept"]);
    network.pass(30);
    assert_eq!(network.pages(), 0);
}

#[test]
fn c4_7_9_1_1_the_mobile_answers_with_any_frame() {
    let mut mobile = Mobile::attached();
    mobile.pass(44);
    mobile.event(GmmMsEvent::Paged(PagedBy::PTmsi));
    assert_eq!(mobile.actions, [GmmMsAction::SendCellUpdate, GmmMsAction::MmStateChanged(MmState::Ready)]);
}

#[test]
fn c4_7_9_1_2_paging_by_imsi() {
    for mut mobile in [Mobile::attached(), Mobile::updating()] {
        mobile.event(GmmMsEvent::Paged(PagedBy::Imsi));
        assert!(mobile.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
        let (GmmMessage::AttachRequest(request), tlli) = mobile.only() else { panic!() };
        assert_eq!((request.identity, tlli.kind()), (MobileIdentity::Imsi(imsi()), TlliKind::Random));
        assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.routing_area()), (None, None));
        assert_eq!(mobile.stands(), (GmmMsState::RegisteredInitiated, Service::Normal));
    }
}

#[test]
fn c4_7_9_1_who_is_not_attached_or_has_a_request_under_way_does_not_answer() {
    for mut mobile in [Mobile::new(), Mobile::attaching(), Mobile::detaching()] {
        for by in [PagedBy::PTmsi, PagedBy::Imsi] {
            mobile.event(GmmMsEvent::Paged(by));
            assert_eq!(mobile.actions, []);
        }
        assert_eq!(mobile.drops(Drop::GmmIgnored), 2);
    }
}

#[test]
fn c4_7_9_1_who_is_not_attached_or_not_reachable_is_not_paged() {
    let mut network = Network::new();
    network.event(GmmEvent::DownlinkData);
    assert_eq!(
        (network.actions.clone(), network.drops(Drop::GmmNotAttached)),
        (vec![GmmAction::PagingFailed], 1)
    );
    let mut network = Network::attached();
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.actions, [], "READY");
    let mut network = Network::standby();
    network.event(GmmEvent::Suspend);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.actions, [], "suspended");
}
