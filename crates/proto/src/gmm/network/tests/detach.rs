//! Clause 4.7.4.

use super::*;

fn detach(kind: DetachKindMo, power_off: bool) -> DetachRequestMo {
    DetachRequestMo {
        detach_type: DetachTypeMo { kind, power_off },
        ptmsi: None,
        ptmsi_signature: Some(PTmsiSignature(1)),
    }
}

#[test]
fn detach_by_the_mobile_of_clause_4_7_4_1() {
    for (power_off, answer) in [(false, vec!["DetachAcceptMo"]), (true, vec![])] {
        let mut bench = Network::attached();
        bench.context.rest.active_nsapis = PdpContextStatus(1 << 5);
        bench.message(detach(DetachKindMo::Gprs, power_off));
        assert_eq!(bench.sent(), answer);
        assert!(bench.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
        assert_eq!(bench.actions.last(), Some(&GmmAction::Released));
        assert_eq!(bench.context.gmm_state(), GmmState::Deregistered);
        assert_eq!((bench.context.mm_state(), bench.context.rest.deadlines.next()), (MmState::Idle, None));
    }
}

#[test]
fn an_imsi_detach_leaves_gprs_as_it_is() {
    let mut bench = Network::attached();
    bench.message(detach(DetachKindMo::Imsi, false));
    assert_eq!(bench.sent(), ["DetachAcceptMo"]);
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
}

#[test]
fn a_detach_ends_an_attach_of_clause_4_7_3_1_6_g() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    bench.message(detach(DetachKindMo::Gprs, false));
    assert_eq!(bench.sent(), ["DetachAcceptMo"]);
    assert!(bench.has(&GmmAction::Released));
}

fn detaching(kind: DetachTypeMt, cause: Option<GmmCause>) -> Network {
    let mut bench = Network::attached();
    bench.context.rest.active_nsapis = PdpContextStatus(1 << 5);
    bench.event(GmmEvent::OperatorDetach { kind, cause });
    let request =
        DetachRequestMt { detach_type: kind, force_to_standby: ForceToStandby::NotIndicated, cause };
    assert_eq!(bench.messages(), [&request.into()]);
    assert_eq!(bench.context.gmm_state(), GmmState::DeregisteredInitiated);
    bench
}

#[test]
fn detach_by_the_network_of_clause_4_7_4_2() {
    for kind in [DetachTypeMt::ReattachRequired, DetachTypeMt::ReattachNotRequired] {
        let mut bench = detaching(kind, Some(GmmCause::NetworkFailure));
        assert!(bench.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
        bench.message(DetachAcceptMt {});
        assert!(bench.has(&GmmAction::Released));
    }
    let mut bench = detaching(DetachTypeMt::Imsi, None);
    assert_eq!(bench.context.rest.active_nsapis, PdpContextStatus(1 << 5));
    bench.message(DetachAcceptMt {});
    assert_eq!((bench.context.gmm_state(), bench.has(&GmmAction::Released)), (GmmState::Registered, false));
}

#[test]
fn t3322_repeats_detach_request_and_then_detaches_of_clause_4_7_4_2_4_a() {
    let mut bench = detaching(DetachTypeMt::ReattachNotRequired, None);
    bench.pass(30);
    assert_eq!(bench.sent(), ["DetachRequestMt"; 4]);
    assert!(bench.has(&GmmAction::Released));
    let mut bench = detaching(DetachTypeMt::ReattachNotRequired, None);
    bench.event(GmmEvent::LowerLayerFailure);
    assert!(bench.has(&GmmAction::Released), "case b");
}

#[test]
fn a_mobile_in_standby_is_paged_before_it_is_detached() {
    let mut bench = Network::attached();
    bench.pass(44);
    bench.event(GmmEvent::OperatorDetach { kind: DetachTypeMt::ReattachNotRequired, cause: None });
    assert_eq!(bench.pages(), 1);
    bench.frame();
    assert_eq!(bench.sent(), ["DetachRequestMt"]);
}

#[test]
fn both_ends_detach_at_once_of_case_c() {
    let mut bench = detaching(DetachTypeMt::ReattachRequired, None);
    bench.message(detach(DetachKindMo::Gprs, false));
    assert_eq!(bench.sent(), ["DetachAcceptMo"]);
    assert!(bench.has(&GmmAction::Released));
}

#[test]
fn an_attach_request_during_detach_of_case_d() {
    let mut bench = detaching(DetachTypeMt::ReattachNotRequired, None);
    bench.message(attach_by_imsi());
    assert_eq!((bench.sent().len(), bench.drops(Drop::GmmIgnored)), (0, 1));
    let mut bench = detaching(DetachTypeMt::ReattachRequired, None);
    bench.message(attach_by_imsi());
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn an_update_during_detach_of_case_e() {
    for (kind, answered) in [
        (DetachTypeMt::ReattachNotRequired, false),
        (DetachTypeMt::ReattachRequired, false),
        (DetachTypeMt::Imsi, true),
    ] {
        let mut bench = detaching(kind, None);
        let signature = bench.context.rest.current.unwrap().signature();
        bench.message(update_request(UpdateKind::Ra, signature));
        assert_eq!(bench.sent() == ["RauAccept"], answered, "{kind:?}");
    }
}

#[test]
fn a_second_order_to_detach_is_ignored_and_one_during_attach_rejects_it() {
    let mut bench = detaching(DetachTypeMt::ReattachRequired, None);
    bench.event(GmmEvent::OperatorDetach { kind: DetachTypeMt::ReattachNotRequired, cause: None });
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    let order = GmmEvent::OperatorDetach {
        kind: DetachTypeMt::ReattachNotRequired,
        cause: Some(GmmCause::IllegalMe),
    };
    bench.event(order);
    let reject: GmmMessage = AttachReject { cause: GmmCause::IllegalMe, t3302: None }.into();
    assert_eq!(bench.messages(), [&reject]);
}
