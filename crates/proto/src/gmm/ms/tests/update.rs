//! Clause 4.7.5.1, cell updates, and the periodic update of clause 4.7.2.2.

use super::*;

fn reject(cause: GmmCause) -> RauReject {
    RauReject { cause, force_to_standby: ForceToStandby::NotIndicated, t3302: None }
}

fn updating() -> Mobile {
    let mut bench = Mobile::attached();
    bench.mobile.active_nsapis = PdpContextStatus(1 << 5 | 1 << 6);
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 3)));
    assert_eq!(bench.mobile.state(), GmmMsState::RoutingAreaUpdatingInitiated);
    bench
}

#[test]
fn a_new_routing_area_is_told_with_a_foreign_tlli() {
    let mut bench = updating();
    let Some(GmmMsAction::Send { message: GmmMessage::RauRequest(request), tlli }) = bench.actions.last()
    else {
        panic!("{:?}", bench.actions)
    };
    assert_eq!(*tlli, Tlli::foreign(P1));
    assert_eq!((request.update_type.kind, request.old_rai), (UpdateKind::Ra, cell(7, 1, 1).rai));
    assert_eq!(request.old_ptmsi_signature, Some(PTmsiSignature(0x1234)));
    assert_eq!(request.pdp_context_status, Some(PdpContextStatus(1 << 5 | 1 << 6)));
    let pdp_context_status = Some(PdpContextStatus(1 << 6));
    bench.message(RauAccept { pdp_context_status, ..update_accept(cell(7, 2, 3).rai, Some(P2)) });
    assert_eq!(named(&bench), [("RauComplete", Tlli::local(P2))]);
    assert!(bench.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert!(bench.has(&GmmMsAction::Updated));
    assert_eq!(bench.mobile.routing_area(), Some(cell(7, 2, 3).rai));
}

#[test]
fn n_pdu_numbers_are_told_and_answered_even_without_a_new_name() {
    let mut bench = updating();
    let numbers = ReceiveNpduNumbers(vec![(Nsapi(5), 200)]);
    let accept = update_accept(cell(7, 2, 3).rai, None);
    bench.message(RauAccept { receive_npdu_numbers: Some(numbers.clone()), ..accept });
    assert_eq!(named(&bench), [("RauComplete", Tlli::local(P1))]);
    assert!(bench.has(&GmmMsAction::NPduNumbers(numbers)));
}

#[test]
fn a_cell_update_is_made_in_ready_only() {
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 2)));
    assert_eq!(bench.actions, [GmmMsAction::SendCellUpdate]);
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 2)));
    assert_eq!(bench.actions, [], "the same cell");
    bench.pass(44);
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 3)));
    assert_eq!(bench.actions, [], "STANDBY: the routing area is known");
}

#[test]
fn t3312_makes_a_periodic_update_of_clause_4_7_2_2() {
    let mut bench = Mobile::attached();
    bench.pass(44 + 54 * 60 - 1);
    assert_eq!(bench.sent().len(), 0);
    bench.pass(1);
    assert_eq!(named(&bench), [("RauRequest", Tlli::local(P1))]);
    bench.message(update_accept(cell(7, 1, 1).rai, None));
    assert_eq!((bench.sent().len(), bench.mobile.tlli()), (0, Tlli::local(P1)));
    bench.message(update_accept(cell(7, 1, 1).rai, None));
    assert_eq!((bench.sent().len(), bench.drops(Drop::GmmIgnored)), (0, 1), "repeated");
    bench.message(update_accept(cell(7, 1, 1).rai, Some(P2)));
    assert_eq!(named(&bench), [("RauComplete", Tlli::local(P2))], "the COMPLETE was lost");
}

#[test]
fn a_periodic_update_without_a_cell_is_made_up_for() {
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::CellLost);
    assert_eq!(bench.stands(), (GmmMsState::Registered, Service::NoCell));
    bench.pass(44 + 54 * 60);
    assert_eq!(bench.sent().len(), 0);
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 1)));
    assert_eq!(bench.sent(), ["RauRequest"]);
    let mut bench = Mobile::attached();
    bench.event(GmmMsEvent::CellLost);
    bench.event(GmmMsEvent::CellSelected(cell(7, 1, 2)));
    assert_eq!(bench.actions, [GmmMsAction::SendCellUpdate]);
}

#[test]
fn t3330_repeats_the_request_and_t3311_and_t3302_the_attempt_of_clause_4_7_5_1_5() {
    let mut bench = updating();
    bench.pass(75);
    assert_eq!(named(&bench), [("RauRequest", Tlli::foreign(P1)); 4]);
    assert_eq!(bench.stands(), (GmmMsState::Registered, Service::Attempting));
    for _ in 2..=5 {
        bench.pass(15);
        assert_eq!(bench.sent(), ["RauRequest"], "T3311");
        bench.event(GmmMsEvent::LowerLayerFailure);
    }
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 4)));
    bench.pass(719);
    assert_eq!(bench.sent().len(), 0);
    bench.event(GmmMsEvent::CellSelected(cell(7, 3, 5)));
    assert_eq!(bench.sent(), ["RauRequest"], "another routing area sets the counter back");
}

#[test]
fn another_routing_area_starts_the_update_anew_of_case_e() {
    let mut bench = updating();
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 4)));
    assert_eq!(bench.actions, [GmmMsAction::SendCellUpdate], "case f");
    bench.event(GmmMsEvent::CellSelected(cell(7, 3, 4)));
    assert_eq!(bench.sent(), ["RauRequest"]);
    // An ACCEPT for the area before is not the last word.
    bench.message(update_accept(cell(7, 2, 3).rai, Some(P2)));
    assert_eq!(named(&bench), [("RauComplete", Tlli::local(P2)), ("RauRequest", Tlli::foreign(P2))]);
}

#[test]
fn causes_9_and_10_make_the_mobile_attach_again_of_clause_4_7_5_1_4() {
    for (cause, identity) in [(GmmCause::IdentityUnknown, None), (GmmCause::ImplicitlyDetached, Some(P1))] {
        let mut bench = updating();
        bench.message(reject(cause));
        assert!(bench.has(&GmmMsAction::Deregistered { cause: Some(cause) }));
        assert!(bench.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5 | 1 << 6))));
        assert_eq!((bench.sent(), bench.mobile.ptmsi()), (vec!["AttachRequest"], identity));
    }
}

#[test]
fn other_causes_of_clause_4_7_5_1_4() {
    for (cause, stands) in [
        (GmmCause::IllegalMs, (GmmMsState::Deregistered, Service::NoImsi)),
        (GmmCause::PlmnNotAllowed, (GmmMsState::Deregistered, Service::Limited)),
        (GmmCause::LocationAreaNotAllowed, (GmmMsState::Deregistered, Service::Limited)),
        (GmmCause::RoamingNotAllowed, (GmmMsState::Registered, Service::Limited)),
        (GmmCause::NoSuitableCells, (GmmMsState::Registered, Service::Limited)),
        (GmmCause::NetworkFailure, (GmmMsState::Registered, Service::Attempting)),
    ] {
        let mut bench = updating();
        bench.message(reject(cause));
        assert_eq!(bench.stands(), stands, "{cause}");
    }
    let mut bench = updating();
    bench.message(reject(GmmCause::RoamingNotAllowed));
    bench.event(GmmMsEvent::CellSelected(cell(7, 3, 4)));
    assert_eq!(bench.sent().len(), 0);
    bench.event(GmmMsEvent::CellSelected(cell(8, 1, 5)));
    assert_eq!(bench.sent(), ["RauRequest"]);
}
