//! READY timer, periodic update, reachability: clause 4.7.2, and 03.60 clauses 6.1.2 and 6.6.1 [23.060]. The timers of
//! the procedures stand with these.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent};
use gannet_proto::gmm::network::{GmmAction, GmmEvent};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// The mobile reachable timer: T3312 and four minutes.
const REACHABLE: u64 = 54 * 60 + 4 * 60;

#[test]
fn c4_7_2_1_t3314_in_the_network() {
    let mut network = Network::attached();
    network.pass(43);
    network.frame();
    network.pass(43);
    assert_eq!(network.context.mm_state(), MmState::Ready, "any LLC frame starts it anew");
    network.pass(1);
    assert_eq!(network.actions, [GmmAction::MmStateChanged(MmState::Standby)]);
}

#[test]
fn c4_7_2_1_t3314_in_the_mobile() {
    let mut mobile = Mobile::attached();
    mobile.pass(43);
    mobile.event(GmmMsEvent::LlcFrameSent);
    mobile.pass(43);
    assert_eq!(mobile.mobile.mm_state(), MmState::Ready);
    mobile.pass(1);
    assert_eq!(mobile.actions, [GmmMsAction::MmStateChanged(MmState::Standby)]);
}

#[test]
fn c4_7_2_1_t3314_is_negotiated() {
    for (asked, granted, after_an_hour) in [
        (GprsTimer(5), GprsTimer(5), MmState::Standby),
        (GprsTimer(0), GprsTimer(0), MmState::Standby),
        (GprsTimer::DEACTIVATED, GprsTimer::DEACTIVATED, MmState::Ready),
    ] {
        let mut network = Network::new();
        network.cfg.t3314_max = GprsTimer::DEACTIVATED;
        network.message(AttachRequest { requested_ready_timer: Some(asked), ..attach_by_imsi() });
        let GmmMessage::AttachAccept(accept) = network.only() else { panic!() };
        assert_eq!(accept.negotiated_ready_timer, Some(granted));
        network.confirm(AttachComplete {});
        network.pass(3600);
        assert_eq!(network.context.mm_state(), after_an_hour);
        let mut mobile = Mobile::attaching();
        mobile.message(AttachAccept { negotiated_ready_timer: Some(granted), ..attach_accept(P1) });
        mobile.pass(3000);
        assert_eq!(mobile.mobile.mm_state(), after_an_hour);
    }
    let mut network = Network::new();
    network.cfg.t3314_max = GprsTimer(10);
    network
        .message(AttachRequest { requested_ready_timer: Some(GprsTimer::DEACTIVATED), ..attach_by_imsi() });
    let GmmMessage::AttachAccept(accept) = network.only() else { panic!() };
    assert_eq!(accept.negotiated_ready_timer, Some(GprsTimer(10)), "within the operator's limit");
}

#[test]
fn c4_7_2_1_forced_to_standby() {
    let mut mobile = Mobile::attaching();
    mobile.message(AttachAccept { force_to_standby: ForceToStandby::Indicated, ..attach_accept(P1) });
    assert_eq!(mobile.mobile.mm_state(), MmState::Standby);
}

#[test]
fn c4_7_2_2_t3312_runs_in_standby_only() {
    let mut mobile = Mobile::attached();
    assert_eq!(mobile.pass(44 + 54 * 60 - 1), []);
    mobile.event(GmmMsEvent::LlcFrameSent);
    assert_eq!(mobile.pass(44 + 54 * 60), [(44 + 54 * 60, "RauRequest")], "it begins when READY is over");
    let mut mobile = Mobile::attaching();
    mobile.message(AttachAccept { periodic_ra_update_timer: GprsTimer::DEACTIVATED, ..attach_accept(P1) });
    assert_eq!(mobile.pass(100_000), [], "deactivated by the network");
}

#[test]
fn c4_7_2_2_mobile_reachable_timer_and_implicit_detach() {
    let mut network = Network::standby();
    network.pass(REACHABLE - 1);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.pages(), 1, "it may still be paged");
    let mut network = Network::standby();
    network.pass(REACHABLE);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.actions, [GmmAction::PagingFailed], "the paging proceed flag is cleared");
    assert_eq!(network.drops(Drop::GmmUnreachable), 1);
    network.pass(60 * 60 - 1);
    assert!(!network.has(&GmmAction::Released));
    network.pass(1);
    assert!(network.is_released() && network.sent().is_empty(), "the mobile is not told");
    assert!(network.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(network.drops(Drop::GmmImplicitDetach), 1);
}

#[test]
fn c4_7_2_2_a_frame_in_time_makes_the_mobile_reachable_again() {
    let mut network = Network::standby();
    network.pass(REACHABLE + 10);
    network.frame();
    network.pass(44 + REACHABLE - 1);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.pages(), 1);
    let mut network = Network::attached();
    network.cfg.t3312 = GprsTimer::DEACTIVATED;
    network.pass(100_000);
    network.event(GmmEvent::DownlinkData);
    assert_eq!(network.pages(), 1, "without T3312 there is nothing that could have failed to come");
}
