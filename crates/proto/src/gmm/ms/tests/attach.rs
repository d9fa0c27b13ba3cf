//! Clause 4.7.3.1.

use super::*;

fn request(bench: &Mobile) -> (AttachRequest, Tlli) {
    match bench.actions.iter().find_map(|action| match action {
        GmmMsAction::Send { message: GmmMessage::AttachRequest(request), tlli } => {
            Some((request.clone(), *tlli))
        }
        _ => None,
    }) {
        Some(found) => found,
        None => panic!("no ATTACH REQUEST in {:?}", bench.actions),
    }
}

fn reject(cause: GmmCause) -> AttachReject {
    AttachReject { cause, t3302: None }
}

#[test]
fn attach_by_imsi_with_a_random_tlli() {
    let mut bench = Mobile::attaching();
    let (first, random) = request(&bench);
    assert_eq!((first.identity, random.kind()), (MobileIdentity::Imsi(imsi()), TlliKind::Random));
    assert_eq!((first.old_rai.lac, first.old_rai.rac), (0xfffe, 0xff), "no RAI is stored");
    assert!(bench.has(&GmmMsAction::AssignTlli { new: random, old: None }));
    bench.message(attach_accept(P1));
    let local = Tlli::local(P1);
    assert_eq!(
        bench.actions,
        [
            GmmMsAction::AssignTlli { new: local, old: Some(random) },
            GmmMsAction::MmStateChanged(MmState::Ready),
            GmmMsAction::Send { message: AttachComplete {}.into(), tlli: local },
            GmmMsAction::Registered,
        ]
    );
    assert_eq!(bench.stands(), (GmmMsState::Registered, Service::Normal));
    bench.message(GmmStatus { cause: GmmCause::ProtocolError });
    assert_eq!(bench.actions, [GmmMsAction::UnassignTlli { old: random }], "the network uses the new one");
}

#[test]
fn attach_by_p_tmsi_with_a_foreign_tlli() {
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::Detach { power_off: true });
    bench.event(GmmMsEvent::Attach);
    let (request, tlli) = request(&bench);
    assert_eq!((request.identity, tlli), (MobileIdentity::PTmsi(P1), Tlli::foreign(P1)));
    assert_eq!(request.old_rai, cell(7, 1, 1).rai);
    assert_eq!(request.old_ptmsi_signature, Some(PTmsiSignature(0x1234)));
    // Without a new P-TMSI the old one is valid, and there is nothing to complete.
    bench.message(AttachAccept { allocated_ptmsi: None, ..attach_accept(P1) });
    assert_eq!((bench.sent().len(), bench.mobile.tlli()), (0, Tlli::local(P1)));
}

#[test]
fn an_attach_waits_for_a_cell() {
    let mut bench = Mobile::new();
    bench.event(GmmMsEvent::Attach);
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoCell));
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 1)));
    assert_eq!(bench.sent(), ["AttachRequest"]);
    bench.event(GmmMsEvent::Attach);
    assert_eq!(bench.drops(Drop::GmmIgnored), 1);
    bench.event(GmmMsEvent::CellLost);
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoCell));
    assert_eq!(bench.mobile.deadlines.next(), None);
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 1)));
    assert_eq!(bench.sent(), ["AttachRequest"]);
}

#[test]
fn t3310_repeats_the_request_with_the_same_tlli_of_case_c() {
    let mut bench = Mobile::attaching();
    let first = request(&bench);
    bench.pass(60);
    assert_eq!(named(&bench), [("AttachRequest", first.1); 4]);
    bench.pass(15);
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Attempting));
    assert_eq!(bench.drops(Drop::GmmNoAnswer), 1);
    bench.pass(15);
    assert_eq!(bench.sent(), ["AttachRequest"], "T3311");
}

#[test]
fn five_attempts_and_then_t3302_of_clause_4_7_3_1_5() {
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::Detach { power_off: true });
    bench.event(GmmMsEvent::Attach);
    for attempt in 1..=5 {
        assert_eq!(bench.mobile.ptmsi(), Some(P1), "attempt {attempt}");
        bench.message(reject(GmmCause::NetworkFailure));
        assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Attempting));
        if attempt < 5 {
            bench.pass(15);
            assert_eq!(bench.sent(), ["AttachRequest"]);
        }
    }
    assert_eq!(bench.mobile.ptmsi(), None, "it is deleted after the fifth");
    bench.pass(719);
    assert_eq!(bench.actions, []);
    bench.pass(1);
    assert_eq!(bench.sent(), ["AttachRequest"]);
}

#[test]
fn the_network_may_choose_t3302() {
    let mut bench = Mobile::attaching();
    bench.cfg.attempts = 1;
    bench.message(AttachReject { cause: GmmCause::Congestion, t3302: Some(GprsTimer(5)) });
    bench.pass(10);
    assert_eq!(bench.sent(), ["AttachRequest"]);
}

#[test]
fn causes_that_end_the_service_of_clause_4_7_3_1_4() {
    for cause in [
        GmmCause::IllegalMs,
        GmmCause::IllegalMe,
        GmmCause::GprsNotAllowed,
        GmmCause::GprsAndNonGprsNotAllowed,
    ] {
        let mut bench = Mobile::attaching();
        bench.message(reject(cause));
        assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoImsi));
        assert!(bench.has(&GmmMsAction::Deregistered { cause: Some(cause) }));
        assert_eq!((bench.mobile.deadlines.next(), bench.drops(Drop::GmmRejected)), (None, 1));
        bench.event(GmmMsEvent::CellSelected(cell(8, 1, 1)));
        bench.event(GmmMsEvent::CellLost);
        assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoImsi));
    }
}

#[test]
fn causes_that_forbid_a_place_of_clause_4_7_3_1_4() {
    let other_plmn =
        CellId { rai: Rai { plmn: Plmn::from_octets([0x00, 0xf2, 0x20]), ..cell(7, 1, 1).rai }, ci: 1 };
    for (cause, still_forbidden, free) in [
        (GmmCause::PlmnNotAllowed, cell(8, 1, 1), other_plmn),
        (GmmCause::GprsNotAllowedInPlmn, cell(8, 1, 1), other_plmn),
        (GmmCause::LocationAreaNotAllowed, cell(7, 2, 1), cell(8, 1, 1)),
        (GmmCause::RoamingNotAllowed, cell(7, 2, 1), cell(8, 1, 1)),
        (GmmCause::NoSuitableCells, cell(7, 2, 1), cell(8, 1, 1)),
    ] {
        let mut bench = Mobile::attaching();
        bench.message(reject(cause));
        assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Limited), "{cause}");
        bench.event(GmmMsEvent::CellSelected(still_forbidden));
        assert_eq!((bench.sent().len(), bench.mobile.service()), (0, Service::Limited), "{cause}");
        bench.event(GmmMsEvent::CellSelected(free));
        assert_eq!(bench.sent(), ["AttachRequest"], "{cause}");
    }
}

#[test]
fn a_new_routing_area_starts_the_attach_anew_of_case_e() {
    let mut bench = Mobile::attaching();
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 2)));
    assert_eq!(bench.actions, [], "the same routing area");
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 3)));
    assert_eq!(bench.sent(), ["AttachRequest"]);
    bench.message(reject(GmmCause::NetworkFailure));
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 4)));
    assert_eq!(bench.actions, [], "T3311 goes on");
    bench.event(GmmMsEvent::CellSelected(cell(7, 3, 4)));
    assert_eq!(bench.sent(), ["AttachRequest"]);
}

#[test]
fn a_lower_layer_failure_is_case_b() {
    let mut bench = Mobile::attaching();
    bench.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::Attempting));
}

#[test]
fn a_repeated_attach_accept_is_completed_again() {
    let mut bench = Mobile::attached();
    bench.mobile.active_nsapis.set(Nsapi(5));
    bench.message(attach_accept(P1));
    assert_eq!(named(&bench), [("AttachComplete", Tlli::local(P1))]);
    assert!(!bench.has(&GmmMsAction::Registered));
    assert_eq!(bench.mobile.active_nsapis, PdpContextStatus(1 << 5));
    bench.message(attach_accept(P2));
    assert_eq!(named(&bench), [("AttachComplete", Tlli::local(P2))]);
    assert!(bench.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))), "the network began anew");
    let mut bench = Mobile::new();
    bench.message(attach_accept(P1));
    assert_eq!(
        (bench.actions.len(), bench.drops(Drop::GmmUnexpected)),
        (0, 1),
        "there is no link to answer on"
    );
}
