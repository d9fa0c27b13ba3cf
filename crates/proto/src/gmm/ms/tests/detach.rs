//! Clause 4.7.4.

use super::*;

fn detaching() -> Mobile {
    let mut bench = Mobile::attached();
    bench.mobile.active_nsapis.set(Nsapi(5));
    bench.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(bench.sent(), ["DetachRequestMo"]);
    assert_eq!(bench.mobile.state(), GmmMsState::DeregisteredInitiated);
    bench
}

fn accepted() -> DetachAcceptMo {
    DetachAcceptMo { force_to_standby: ForceToStandby::NotIndicated }
}

fn by_network(detach_type: DetachTypeMt, cause: Option<GmmCause>) -> DetachRequestMt {
    DetachRequestMt { detach_type, force_to_standby: ForceToStandby::NotIndicated, cause }
}

#[test]
fn detach_by_the_mobile_of_clause_4_7_4_1() {
    let mut bench = detaching();
    bench.message(accepted());
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Normal));
    assert!(bench.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert!(bench.has(&GmmMsAction::UnassignTlli { old: Tlli::local(P1) }));
    assert_eq!((bench.mobile.deadlines.next(), bench.mobile.mm_state()), (None, MmState::Idle));
}

#[test]
fn switching_off_waits_for_no_answer() {
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::Detach { power_off: true });
    assert_eq!(bench.sent(), ["DetachRequestMo"]);
    assert_eq!((bench.mobile.state(), bench.mobile.deadlines.next()), (GmmMsState::Null, None));
    bench.event(GmmMsEvent::Detach { power_off: true });
    bench.message(by_network(DetachTypeMt::ReattachRequired, None));
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
    let mut bench = detaching();
    bench.event(GmmMsEvent::Detach { power_off: true });
    assert_eq!(bench.mobile.state(), GmmMsState::Null);
}

#[test]
fn t3321_repeats_the_request_and_then_detaches_of_clause_4_7_4_1_4() {
    let mut bench = detaching();
    bench.pass(75);
    assert_eq!(bench.sent(), ["DetachRequestMo"; 4]);
    assert_eq!(bench.mobile.state(), GmmMsState::Deregistered);
    let mut bench = detaching();
    bench.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!(bench.mobile.state(), GmmMsState::Deregistered);
    let mut bench = detaching();
    bench.event(GmmMsEvent::CellLost);
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoCell));
}

#[test]
fn an_attach_waits_for_the_end_of_the_detach() {
    let mut bench = detaching();
    bench.event(GmmMsEvent::Attach);
    assert_eq!(bench.actions, []);
    bench.message(accepted());
    assert_eq!(bench.sent(), ["AttachRequest"]);
    bench.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(bench.sent(), ["DetachRequestMo"], "clause 4.7.3.1.5 f");
}

#[test]
fn a_new_routing_area_during_detach_of_clause_4_7_4_1_4_e() {
    let mut bench = detaching();
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 2)));
    assert_eq!(bench.sent(), ["RauRequest"]);
    bench.message(update_accept(cell(7, 2, 2).rai, Some(P2)));
    assert_eq!(bench.sent(), ["RauComplete", "DetachRequestMo"]);
    for reject in [GmmCause::ImplicitlyDetached, GmmCause::NetworkFailure, GmmCause::RoamingNotAllowed] {
        let mut bench = detaching();
        bench.event(GmmMsEvent::CellSelected(cell(7, 2, 2)));
        let force_to_standby = ForceToStandby::NotIndicated;
        bench.message(RauReject { cause: reject, force_to_standby, t3302: None });
        assert_eq!((bench.sent().len(), bench.mobile.state()), (0, GmmMsState::Deregistered));
        assert_eq!(bench.mobile.deadlines.next(), None);
    }
}

#[test]
fn detach_by_the_network_of_clause_4_7_4_2_2() {
    let mut bench = Mobile::attached();
    bench.message(by_network(DetachTypeMt::Imsi, None));
    assert_eq!((bench.sent(), bench.mobile.state()), (vec!["DetachAcceptMt"], GmmMsState::Registered));
    bench.message(by_network(DetachTypeMt::ReattachRequired, Some(GmmCause::ImplicitlyDetached)));
    let (local, foreign) = (Tlli::local(P1), Tlli::foreign(P1));
    assert_eq!(named(&bench), [("DetachAcceptMt", local), ("AttachRequest", foreign)]);
    bench.message(by_network(DetachTypeMt::ReattachRequired, None));
    assert_eq!(bench.drops(Drop::GmmIgnored), 1, "clause 4.7.3.1.5 g");
    bench.message(by_network(DetachTypeMt::ReattachNotRequired, None));
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Normal));
    for (cause, service) in
        [(GmmCause::GprsNotAllowed, Service::NoImsi), (GmmCause::PlmnNotAllowed, Service::Limited)]
    {
        let mut bench = Mobile::attached();
        bench.message(by_network(DetachTypeMt::ReattachNotRequired, Some(cause)));
        assert_eq!(bench.sent(), ["DetachAcceptMt"]);
        assert_eq!((bench.mobile.service(), bench.mobile.ptmsi()), (service, None));
    }
}

#[test]
fn both_ends_detach_at_once() {
    let mut bench = detaching();
    bench.message(by_network(DetachTypeMt::ReattachRequired, None));
    assert_eq!(bench.sent(), ["DetachAcceptMt"]);
    bench.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(bench.drops(Drop::GmmIgnored), 1);
    bench.message(accepted());
    assert_eq!(bench.mobile.state(), GmmMsState::Deregistered);
}
