//! Procedures: when they began and ended, how, and how often somebody asked again.

use super::followed::{accept, attach};
use super::gb::{Made, S, cell, found, imsi, layer3, number, rai};
use gannet_analysis::findings::Report;
use gannet_analysis::procedures::Kind;
use gannet_analysis::procedures::report::{Outcome, Procedure};
use gannet_wire::bssgp::ie::PagingArea;
use gannet_wire::bssgp::signalling::PagingPs;
use gannet_wire::bssgp::{Message, QosProfile};
use gannet_wire::id::{Nsapi, PTmsi, Sapi};
use gannet_wire::l3::gmm::{
    AttachComplete, AttachReject, DetachRequestMo, IdentityRequest, IdentityResponse, RauAccept, RauReject,
    RauRequest,
};
use gannet_wire::l3::ie::{
    Cksn, DetachKindMo, DetachTypeMo, ForceToStandby, GmmCause, GprsTimer, IdentityType, MobileIdentity,
    MsRadioAccessCapability, PdpAddress, QosProfile as PdpQos, SmCause, UpdateKind, UpdateType,
};
use gannet_wire::l3::sm::{ActivateReject, ActivateRequest, DeactivateAccept, DeactivateRequest};
use gannet_wire::l3::{GmmMessage, L3Message, SmMessage};

const RANDOM: u32 = 0x7800_0001;
const LOCAL: u32 = 0xc000_1111;

pub fn update(kind: UpdateKind) -> GmmMessage {
    GmmMessage::RauRequest(RauRequest {
        update_type: UpdateType { kind, follow_on: false },
        cksn: Cksn::NO_KEY,
        old_rai: rai(1),
        ms_radio_access_capability: MsRadioAccessCapability::typical(4),
        old_ptmsi_signature: None,
        requested_ready_timer: None,
        drx: None,
        tmsi_status: None,
        ptmsi: None,
        ms_network_capability: None,
        pdp_context_status: None,
    })
}

pub fn updated() -> GmmMessage {
    GmmMessage::RauAccept(RauAccept::new(rai(1), GprsTimer(0x49)))
}

pub fn refused(cause: GmmCause) -> GmmMessage {
    let force_to_standby = ForceToStandby::NotIndicated;
    GmmMessage::RauReject(RauReject { cause, force_to_standby, t3302: None })
}

fn sm(ti: u8, ti_flag: bool, message: SmMessage) -> L3Message {
    L3Message::Sm { ti, ti_flag, message }
}

fn activate() -> SmMessage {
    SmMessage::ActivateRequest(ActivateRequest {
        nsapi: Nsapi(5),
        sapi: Sapi(3),
        qos: PdpQos::default(),
        address: PdpAddress::Ipv4Dynamic,
        apn: None,
        pco: None,
    })
}

fn of(report: &Report, kind: Kind) -> Vec<&Procedure> {
    report.procedures.procedures.iter().filter(|it| it.kind == kind).collect()
}

fn frames(procedure: &Procedure) -> Vec<u64> {
    procedure.proofs().map(|proof| proof.frame).collect()
}

#[test]
fn an_attach_with_what_belongs_to_it() {
    let mut made = Made::default();
    layer3(&mut made, true, RANDOM, 1, attach(MobileIdentity::PTmsi(PTmsi(0xc000_9999))));
    // The answer to T3310: the mobile asks again.
    layer3(made.at(15 * S), true, RANDOM, 1, attach(MobileIdentity::PTmsi(PTmsi(0xc000_9999))));
    let force_to_standby = ForceToStandby::NotIndicated;
    let request = IdentityRequest { identity_type: IdentityType::Imsi, force_to_standby };
    layer3(made.at(16 * S), false, RANDOM, 1, GmmMessage::IdentityRequest(request));
    let response = IdentityResponse { identity: MobileIdentity::Imsi(imsi()) };
    layer3(made.at(17 * S), true, RANDOM, 1, GmmMessage::IdentityResponse(response));
    layer3(made.at(18 * S), false, RANDOM, 1, accept(LOCAL));
    layer3(made.at(20 * S), false, RANDOM, 1, accept(LOCAL));
    layer3(made.at(21 * S), true, LOCAL, 1, GmmMessage::AttachComplete(AttachComplete {}));
    let report = made.report();
    let [attach] = of(&report, Kind::Attach)[..] else { panic!() };
    assert_eq!(attach.outcome, Outcome::Accepted);
    assert_eq!((attach.repeats, attach.answers_again), (1, 1));
    assert_eq!(attach.duration_ns(), Some(18_000_000_000));
    assert_eq!(frames(attach), [1, 5, 7, 2]);
    let [identification] = of(&report, Kind::Identification)[..] else { panic!() };
    assert_eq!((identification.duration_ns(), frames(identification)), (Some(1_000_000_000), vec![3, 4]));
    let row = &report.procedures.rows[0];
    assert_eq!((row.count, row.accepted, row.repeats, row.worst_ns), (1, 1, 1, Some(18_000_000_000)));
}

#[test]
fn rejects_have_their_cause_and_what_nobody_answers_is_said() {
    let mut made = Made::default();
    layer3(&mut made, true, LOCAL, 1, attach(MobileIdentity::Imsi(imsi())));
    let reject = AttachReject { cause: GmmCause::PlmnNotAllowed, t3302: None };
    layer3(made.at(S), false, LOCAL, 1, GmmMessage::AttachReject(reject));
    layer3(made.at(2 * S), true, LOCAL, 1, sm(0, false, activate()));
    let reject = ActivateReject { cause: SmCause::MissingOrUnknownApn, pco: None };
    layer3(made.at(3 * S), false, LOCAL, 1, sm(0, true, SmMessage::ActivateReject(reject)));
    // Another transaction: five times asked, never answered.
    for n in 0..5 {
        layer3(made.at((10 + 30 * n) * S), true, LOCAL, 1, sm(1, false, activate()));
    }
    // Long after that it is a new one, which waits when the capture ends.
    layer3(made.at(900 * S), true, LOCAL, 1, sm(1, false, activate()));
    layer3(made.at(910 * S), true, LOCAL, 1, update(UpdateKind::Periodic));
    layer3(made.at(911 * S), false, LOCAL, 1, updated());
    let report = made.report();
    let [attach] = of(&report, Kind::Attach)[..] else { panic!() };
    let Outcome::Rejected(cause) = &attach.outcome else { panic!() };
    assert_eq!((cause.number, &cause.name[..]), (Some(11), "PLMN not allowed"));
    let activations = of(&report, Kind::Activation);
    let ends: Vec<_> = activations.iter().map(|it| (it.repeats, it.ending())).collect();
    assert_eq!(
        ends,
        [
            (0, "rejected after 1.000 s: missing or unknown APN, cause 27".to_owned()),
            (4, "not answered".to_owned()),
            (0, "under way at the end of the capture".to_owned()),
        ]
    );
    let rejected = found(&report, "procedure-rejected");
    let causes: Vec<_> = rejected.iter().map(|it| number(it, "cause") as u8).collect();
    assert_eq!(causes, [11, 27]);
    assert_eq!(found(&report, "procedure-unanswered").len(), 1);
    assert_eq!(of(&report, Kind::PeriodicUpdate)[0].duration_ns(), Some(1_000_000_000));
    assert_eq!(of(&report, Kind::Update).len(), 0);
}

#[test]
fn both_sides_deactivate_and_detach() {
    let mut made = Made::default();
    let request = || DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None };
    layer3(&mut made, true, LOCAL, 1, sm(0, false, SmMessage::DeactivateRequest(request())));
    // At the same time, under the same number, of the transaction that the network began.
    layer3(made.at(S), false, LOCAL, 1, sm(0, false, SmMessage::DeactivateRequest(request())));
    layer3(made.at(2 * S), true, LOCAL, 1, sm(0, true, SmMessage::DeactivateAccept(DeactivateAccept {})));
    layer3(made.at(4 * S), false, LOCAL, 1, sm(0, true, SmMessage::DeactivateAccept(DeactivateAccept {})));
    let detach_type = DetachTypeMo { kind: DetachKindMo::Gprs, power_off: true };
    let detach = DetachRequestMo { detach_type, ptmsi: None, ptmsi_signature: None };
    layer3(made.at(5 * S), true, LOCAL, 1, GmmMessage::DetachRequestMo(detach));
    layer3(made.at(500 * S), true, LOCAL, 1, attach(MobileIdentity::Imsi(imsi())));
    let report = made.report();
    let by_mobile = of(&report, Kind::DeactivationByMobile)[0];
    let by_network = of(&report, Kind::DeactivationByNetwork)[0];
    assert_eq!((by_mobile.duration_ns(), frames(by_mobile)), (Some(4_000_000_000), vec![1, 4]));
    assert_eq!((by_network.duration_ns(), frames(by_network)), (Some(1_000_000_000), vec![2, 3]));
    assert_eq!(of(&report, Kind::DetachByMobile)[0].outcome, Outcome::NoAnswerWanted);
    assert_eq!(of(&report, Kind::Attach)[0].outcome, Outcome::UnderWay);
}

#[test]
fn a_paging_ends_with_whatever_the_mobile_sends() {
    let mut made = Made::default();
    layer3(&mut made, true, LOCAL, 1, attach(MobileIdentity::Imsi(imsi())));
    layer3(made.at(1), false, LOCAL, 1, accept(LOCAL));
    let page = |made: &mut Made, ptmsi| {
        let area = PagingArea::RoutingArea(rai(1));
        let qos = QosProfile::default();
        let paging = PagingPs { imsi: imsi(), drx: None, area, pfi: None, qos, ptmsi };
        made.signalling(false, &Message::PagingPs(paging));
    };
    page(made.at(10 * S), Some(LOCAL));
    page(made.at(14 * S), Some(LOCAL));
    let null = super::gb::u(true, true, Sapi::GMM, gannet_wire::llc::UFunction::Null, &[]);
    made.at(15 * S).up(LOCAL, cell(1), &null);
    page(made.at(100 * S), None);
    page(made.at(200 * S), None);
    made.at(201 * S).up(LOCAL, cell(1), &null);
    let report = made.report();
    let pagings: Vec<_> = of(&report, Kind::Paging)
        .iter()
        .map(|it| (it.repeats, it.outcome.clone(), it.duration_ns()))
        .collect();
    assert_eq!(
        pagings,
        [
            (1, Outcome::Accepted, Some(5_000_000_000)),
            (0, Outcome::Unanswered, None),
            (0, Outcome::Accepted, Some(1_000_000_000)),
        ]
    );
}
