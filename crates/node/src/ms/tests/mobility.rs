use super::super::*;
use super::bench::*;
use gannet_machine::time::Duration;
use gannet_proto::gmm::ms::{GmmMsState, Service};
use gannet_proto::um::{BROADCAST, PagedIdentity, UmKind};
use gannet_wire::id::{Sapi, Tlli, TlliKind};
use gannet_wire::l3::GmmMessage;
use gannet_wire::l3::gmm::{AttachReject, DetachAcceptMo, DetachRequestMt, IdentityRequest, RauReject};
use gannet_wire::l3::ie::{DetachTypeMt, ForceToStandby, IdentityType, MobileIdentity};

fn state(bench: &Bench) -> GmmMsState {
    bench.ms.mobile(0).unwrap().gmm.state()
}

/// An LL-PDU without content.
fn is_null_frame(up: Option<(u32, Up)>, tlli: Tlli) -> bool {
    matches!(up, Some((0, Up::Other(with, ll_pdu))) if with == tlli && ll_pdu.len() == 5 && ll_pdu[1] == 0xe0)
}

#[test]
fn attach_with_identity_requests() {
    let mut bench = Bench::new(|_| ());
    bench.order(MsCommand::Attach { mobile: 0 });
    assert_eq!(bench.up.pop_front(), Some((0, Up::Um(UmKind::CampOn, Tlli::UNASSIGNED, vec![]))));
    let (tlli, message) = bench.next_gmm(0);
    assert_eq!(tlli.kind(), TlliKind::Random);
    let GmmMessage::AttachRequest(request) = message else { panic!("{message:?}") };
    assert_eq!(request.identity, MobileIdentity::Imsi(imsi(0)));
    for (kind, answer) in [
        (IdentityType::Imei, MobileIdentity::Imei("350000000000000".parse().unwrap())),
        (IdentityType::Imsi, MobileIdentity::Imsi(imsi(0))),
    ] {
        bench.gmm(0, IdentityRequest { identity_type: kind, force_to_standby: ForceToStandby::NotIndicated });
        let (with, message) = bench.next_gmm(0);
        let GmmMessage::IdentityResponse(response) = message else { panic!("{message:?}") };
        assert_eq!((with, response.identity), (tlli, answer));
    }
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    let local = Tlli::local(PTMSI);
    assert_eq!(bench.up.pop_front(), Some((0, Up::Um(UmKind::CampOn, local, vec![]))));
    assert!(matches!(bench.next_gmm(0), (tlli, GmmMessage::AttachComplete(_)) if tlli == local));
    let event = bench.events.pop_front();
    assert!(matches!(event, Some(MsEvent::Attached { mobile: 0, ptmsi: Some(PTMSI) })), "{event:?}");
    let directory = bench.ms.directory();
    assert_eq!(directory.by_ptmsi(bench.rai(0), PTMSI), Some(0));
    assert_eq!((directory.by_tlli(0, local), directory.by_tlli(0, tlli)), (Some(0), Some(0)));
    assert_eq!(bench.drops(), []);
    bench.all_frames_are_back();
}

#[test]
fn a_lost_attach_request_is_sent_again() {
    let mut bench = Bench::new(|_| ());
    bench.order(MsCommand::Attach { mobile: 0 });
    bench.next_gmm(0);
    bench.pass(Duration::from_secs(14));
    assert!(bench.is_silent());
    bench.pass(Duration::from_secs(1));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachRequest(_))));
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    assert_eq!(state(&bench), GmmMsState::Registered);
}

#[test]
fn nobody_answers_and_the_mobile_tries_again_later() {
    let mut bench = Bench::new(|_| ());
    bench.order(MsCommand::Attach { mobile: 0 });
    bench.pass(Duration::from_secs(75));
    let event = bench.events.pop_front();
    let (procedure, cause) = (Procedure::Attach, Failure::NoAnswer);
    assert!(
        matches!(event, Some(MsEvent::Rejected { mobile: 0, procedure: p, cause: c }) if (p, c) == (procedure, cause)),
        "{event:?}"
    );
    bench.up.clear();
    bench.pass(Duration::from_secs(15));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachRequest(_))));
}

#[test]
fn reject_causes_are_told() {
    let mut bench = Bench::new(|_| ());
    bench.order(MsCommand::Attach { mobile: 0 });
    bench.next_gmm(0);
    bench.gmm(0, AttachReject { cause: GmmCause::GprsNotAllowed, t3302: None });
    let event = bench.events.pop_front();
    let cause = Failure::Gmm(GmmCause::GprsNotAllowed);
    assert!(
        matches!(event, Some(MsEvent::Rejected { procedure: Procedure::Attach, cause: c, .. }) if c == cause)
    );
    assert!(bench.events.is_empty(), "it was never attached");
    assert_eq!(bench.ms.mobile(0).unwrap().gmm.service(), Service::NoImsi);
    assert!(bench.is_silent());
}

#[test]
fn detach_by_order_and_by_switching_off() {
    let mut bench = Bench::attached(true);
    bench.order(MsCommand::Detach { mobile: 0, power_off: false });
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::DetachRequestMo(_))));
    bench.gmm(0, DetachAcceptMo { force_to_standby: ForceToStandby::NotIndicated });
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Deactivated { nsapi: NSAPI, .. })));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Detached { mobile: 0, cause: None })));
    assert_eq!(bench.ms.mobile(0).unwrap().llc.tlli(), None);
    bench.order(MsCommand::Attach { mobile: 0 });
    let (tlli, _) = bench.next_gmm(0);
    assert_eq!(tlli, Tlli::foreign(PTMSI));
    bench.gmm(0, attach_accept(bench.rai(0), None));
    assert!(bench.is_silent(), "orders ended with the detach");
    bench.events.clear();
    bench.order(MsCommand::Detach { mobile: 0, power_off: true });
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::DetachRequestMo(_))));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Detached { .. })));
    assert_eq!(state(&bench), GmmMsState::Null);
    bench.all_frames_are_back();
}

#[test]
fn after_a_detach_by_the_network_contexts_come_back() {
    let mut bench = Bench::attached(true);
    let request = DetachRequestMt {
        detach_type: DetachTypeMt::ReattachRequired,
        force_to_standby: ForceToStandby::NotIndicated,
        cause: None,
    };
    bench.gmm(0, request);
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::DetachAcceptMt(_))));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachRequest(_))));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Deactivated { .. })));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Detached { .. })));
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachComplete(_))));
    assert!(matches!(bench.next_sm(0), gannet_wire::l3::SmMessage::ActivateRequest(_)));
}

#[test]
fn paging_finds_one_mobile_of_the_cell() {
    let mut bench = Bench::attached(false);
    bench.attach(1);
    bench.pass(Duration::from_secs(45));
    assert!(bench.is_silent());
    bench.page(0, PagedIdentity::PTmsi(PTMSI));
    assert!(is_null_frame(bench.up.pop_front(), Tlli::local(PTMSI)));
    assert!(bench.is_silent());
    assert_eq!(bench.ms.stats().pagings, 1);
    bench.page(0, PagedIdentity::PTmsi(PTmsi(0xc0ff_ffff)));
    bench.page(1, PagedIdentity::PTmsi(PTMSI));
    bench.page(9, PagedIdentity::PTmsi(PTMSI));
    bench.um(BROADCAST, UmKind::PagingCs, 0, Tlli(0), &PTMSI.0.to_be_bytes());
    bench.um(BROADCAST, UmKind::PagingPs, 0, Tlli(0), &[1, 2, 3]);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::UmMalformed, 1), (Drop::MsPagingNobody, 3), (Drop::MsPagingCs, 1)]);
}

#[test]
fn paging_by_imsi_means_that_the_network_lost_the_mobile() {
    let mut bench = Bench::attached(false);
    bench.page(0, PagedIdentity::Imsi(imsi(0)));
    let (_, message) = bench.next_gmm(0);
    let GmmMessage::AttachRequest(request) = message else { panic!("{message:?}") };
    assert_eq!(request.identity, MobileIdentity::Imsi(imsi(0)));
    assert_eq!(bench.ms.directory().by_ptmsi(bench.rai(0), PTMSI), None);
}

#[test]
fn another_cell_of_the_routing_area_is_told_by_a_null_frame() {
    let mut bench = Bench::attached(false);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    assert_eq!(bench.up.pop_front(), Some((0, Up::Um(UmKind::CampOn, Tlli::local(PTMSI), vec![]))));
    assert!(is_null_frame(bench.up.pop_front(), Tlli::local(PTMSI)));
    assert_eq!(bench.ms.directory().by_tlli(1, Tlli::local(PTMSI)), Some(0));
    bench.pass(Duration::from_secs(45));
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 0 });
    assert!(bench.is_silent(), "not in STANDBY");
}

#[test]
fn another_routing_area_is_told_by_an_update_during_which_no_data_go() {
    let mut bench = Bench::attached(true);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    let (tlli, message) = bench.next_gmm(0);
    let GmmMessage::RauRequest(request) = message else { panic!("{message:?}") };
    assert_eq!(tlli, Tlli::foreign(PTMSI));
    assert_eq!(request.old_rai, cell(1, 10).rai);
    assert_eq!(request.pdp_context_status.map(|status| status.0), Some(1 << 5));
    bench.packet(0, &[0x45; 40]);
    assert_eq!(bench.drops(), [(Drop::MsUpdating, 1)]);
    bench.gmm(0, rau_accept(bench.rai(0), Some(PTmsi(PTMSI.0 + 9)), 1 << 5));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::RauComplete(_))));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Updated { rai, .. }) if rai == cell(2, 20).rai));
    bench.packet(0, &[0x45; 40]);
    let up = bench.up.pop_front();
    assert!(matches!(up, Some((0, Up::Sn(tlli, _))) if tlli == Tlli::local(PTmsi(PTMSI.0 + 9))), "{up:?}");
}

#[test]
fn a_rejected_update_is_told_and_the_mobile_attaches_again() {
    let mut bench = Bench::attached(false);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    bench.next_gmm(0);
    bench.gmm(
        0,
        RauReject {
            cause: GmmCause::ImplicitlyDetached,
            force_to_standby: ForceToStandby::NotIndicated,
            t3302: None,
        },
    );
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachRequest(_))));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Detached { cause: Some(_), .. })));
    let event = bench.events.pop_front();
    assert!(matches!(event, Some(MsEvent::Rejected { procedure: Procedure::RoutingAreaUpdate, .. })));
}

#[test]
fn nothing_passes_while_gprs_is_suspended() {
    let mut bench = Bench::attached(true);
    let local = Tlli::local(PTMSI);
    bench.um(0, UmKind::SuspendAck, 0, local, &[7]);
    assert_eq!(bench.drops(), [(Drop::MsNotSuspended, 1)]);
    bench.order(MsCommand::Suspend { mobile: 0 });
    let rai = bench.rai(0).to_octets();
    assert_eq!(bench.up.pop_front(), Some((0, Up::Um(UmKind::Suspend, local, rai.to_vec()))));
    bench.um(0, UmKind::SuspendAck, 0, local, &[7]);
    bench.packet(0, &[0x45; 40]);
    bench.ll_unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, 1]);
    assert!(bench.is_silent() && bench.tun.is_empty());
    assert_eq!(bench.around.trace.drops.get(Drop::MsSuspended), 2);
    bench.order(MsCommand::Resume { mobile: 0 });
    let octets = [&rai[..], &[7]].concat();
    assert_eq!(bench.up.pop_front(), Some((0, Up::Um(UmKind::Resume, local, octets))));
    bench.order(MsCommand::Suspend { mobile: 0 });
    bench.up.clear();
    bench.order(MsCommand::Resume { mobile: 0 });
    assert!(is_null_frame(bench.up.pop_front(), local), "the BSS knows of no suspension");
    bench.order(MsCommand::Resume { mobile: 0 });
    bench.order(MsCommand::Suspend { mobile: 1 });
    assert_eq!(bench.around.trace.drops.get(Drop::MsBadOrder), 2);
}

#[test]
fn a_mobile_without_a_cell_attaches_when_it_has_one() {
    let mut bench = Bench::new(|config| config.cells = vec![]);
    bench.order(MsCommand::Attach { mobile: 0 });
    assert!(bench.is_silent());
    let mut bench = Bench::attached(true);
    bench.order(MsCommand::LoseCell { mobile: 0 });
    bench.packet(0, &[0x45; 40]);
    assert_eq!(bench.drops(), [(Drop::MsNoCell, 1)]);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    assert!(is_null_frame(bench.up.pop_back(), Tlli::local(PTMSI)));
}

#[test]
fn orders_that_mean_nothing_are_counted() {
    let mut bench = Bench::attached(false);
    bench.order(MsCommand::Attach { mobile: 9 });
    bench.order(MsCommand::Detach { mobile: 9, power_off: true });
    bench.order(MsCommand::LoseCell { mobile: 9 });
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 9 });
    bench.order(MsCommand::Deactivate { mobile: 9, nsapi: NSAPI });
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    bench.order_context(0, Nsapi(4));
    assert!(bench.is_silent() && bench.events.is_empty());
    assert_eq!(bench.drops(), [(Drop::MsBadOrder, 7)]);
    let order = format!("IMSI {}: order not carried out: ", imsi(0));
    let expected = [
        "there is no mobile 10: it is to attach".to_owned(),
        "there is no mobile 10: it is to detach".to_owned(),
        "there is no mobile 10: it is to lose its cell".to_owned(),
        format!("{order}there is no cell 9"),
        "there is no mobile 10: NSAPI 5 is to be deactivated".to_owned(),
        format!("{order}it has no PDP context with NSAPI 5 to be deactivated"),
        format!("{order}no PDP context can have NSAPI 4"),
    ];
    assert_eq!(bench.around.trace.lines, expected);
}
