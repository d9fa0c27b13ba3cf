//! Secondary contexts and modification by the mobile: what the GGSN is asked, and what becomes of its answers.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::v1c::{CreateResponse, DeleteRequest, UpdateRequest, UpdateResponse};
use gannet_wire::gtp::{Cause, Message, Qos};
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

const SECOND: Nsapi = Nsapi(6);

fn tft() -> TrafficFlowTemplate {
    TrafficFlowTemplate(vec![0x21, 0, 1, 2, 0x30, 17])
}

pub fn secondary() -> ActivateSecondaryRequest {
    ActivateSecondaryRequest {
        nsapi: SECOND,
        sapi: Sapi::DATA5,
        qos: QosProfile::BEST_EFFORT,
        linked_ti: LinkedTi { ti: 0, ti_flag: false },
        tft: Some(tft()),
    }
}

/// A phone with a context in NSAPI 5 and one beside it in NSAPI 6, of which the GGSN says no more than it must.
fn with_secondary() -> Bench {
    let mut bench = Bench::attached(true);
    bench.sm(0, 1, secondary());
    let (to, header, message) = bench.next_control();
    let Message::CreateRequest(request) = message else { panic!("{message:?}") };
    assert_eq!((to, header.teid), (GGSN, Teid(GGSN_CONTROL + 5)), "to the tunnel of the first");
    assert_eq!(
        (request.nsapi, request.linked_nsapi, request.tft.clone()),
        (SECOND, Some(NSAPI), Some(tft().0))
    );
    let left_out = (request.imsi, &request.apn, &request.end_user_address, request.selection_mode);
    assert_eq!(left_out, (None, &None, &None, None));
    let teid = bench.sgsn.teid(bench.slot(0), SECOND).unwrap();
    let response = CreateResponse { end_user_address: None, teid_control: None, ..created(&request) };
    bench.answer(to, teid, header.sequence.unwrap(), response);
    let SmMessage::ActivateSecondaryAccept(accept) = bench.hear_sm(0) else { panic!() };
    assert_eq!((accept.sapi, accept.qos), (Sapi::DATA5, QosProfile::BEST_EFFORT));
    bench
}

fn modify(tft: Option<TrafficFlowTemplate>) -> ModifyRequestMo {
    ModifyRequestMo { sapi: None, qos: None, tft }
}

/// The Update PDP Context Request that went to the GGSN, and its number.
fn next_update(bench: &mut Bench) -> (u16, UpdateRequest) {
    match bench.next_control() {
        (GGSN, header, Message::UpdateRequest(request)) => (header.sequence.unwrap(), request),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_secondary_context_has_a_tunnel_of_its_own() {
    let mut bench = with_secondary();
    bench.downlink(0, SECOND, b"down");
    let (sapi, sn_pdu) = bench.hear(0);
    assert_eq!((sapi, sn_pdu[0] & 0xf, &sn_pdu[4..]), (Sapi::DATA5, 6, &b"down"[..]));
    assert_eq!(bench.drops(), []);
    // It alone ends; then the first, which is the last.
    for (ti, nsapi, teardown) in [(1, SECOND, Some(false)), (0, NSAPI, Some(true))] {
        bench.sm(0, ti, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
        let (to, header, message) = bench.next_control();
        assert_eq!(header.teid, Teid(GGSN_CONTROL + 5));
        assert_eq!(message, DeleteRequest { teardown, nsapi, pco: None, private_extension: None }.into());
        let response = gannet_wire::gtp::v1c::DeleteResponse {
            cause: Cause::RequestAccepted,
            pco: None,
            private_extension: None,
        };
        bench.answer(to, Teid(0), header.sequence.unwrap(), response);
        assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    }
    assert!(bench.mobile(0).sm().is_empty() && bench.sgsn.contexts().is_empty());
}

#[test]
fn the_ggsn_takes_all_contexts_of_an_address_down() {
    let mut bench = with_secondary();
    // It may name the second by the endpoint of the first.
    let first = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let request = DeleteRequest { teardown: Some(true), nsapi: SECOND, pco: None, private_extension: None };
    bench.ggsn_asks(first, request);
    let (_, _, Message::DeleteResponse(response)) = bench.next_control() else { panic!() };
    assert_eq!(response.cause, Cause::RequestAccepted);
    let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
    assert_eq!(request.tear_down, Some(TearDownIndicator::AllOfAddress));
    bench.sm(0, 1, DeactivateAccept {});
    assert!(bench.mobile(0).sm().is_empty() && bench.sgsn.contexts().is_empty());
    assert!(bench.is_silent());
}

#[test]
fn the_ggsn_takes_one_context_of_an_address_down() {
    for teardown in [None, Some(false)] {
        let mut bench = with_secondary();
        // The other goes on; then it is the last, and the mobile is told so (23.060 clause 9.2.4.3).
        for (nsapi, ti, tear_down) in [(SECOND, 1, None), (NSAPI, 0, Some(TearDownIndicator::AllOfAddress))] {
            let teid = bench.sgsn.teid(bench.slot(0), nsapi).unwrap();
            bench.ggsn_asks(teid, DeleteRequest { teardown, nsapi, pco: None, private_extension: None });
            let (_, _, Message::DeleteResponse(response)) = bench.next_control() else { panic!() };
            assert_eq!(response.cause, Cause::RequestAccepted);
            let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
            assert_eq!(request.tear_down, tear_down);
            bench.sm(0, ti, DeactivateAccept {});
            assert!(bench.is_silent());
        }
        assert!(bench.mobile(0).sm().is_empty() && bench.sgsn.contexts().is_empty());
    }
}

#[test]
fn the_mobile_modifies_a_context() {
    let mut bench = with_secondary();
    bench.sm(0, 1, modify(Some(tft())));
    let (sequence, request) = next_update(&mut bench);
    let teid = bench.sgsn.teid(bench.slot(0), SECOND).unwrap();
    assert_eq!((request.nsapi, request.tft.clone(), request.teid_data), (SECOND, Some(tft().0), Some(teid)));
    let qos = QosProfile { delay: DelayClass::TWO, ..QosProfile::BEST_EFFORT };
    let accepted =
        UpdateResponse { qos: Some(Qos::new(2, &qos)), ..UpdateResponse::refused(Cause::RequestAccepted) };
    bench.answer(GGSN, teid, sequence, accepted);
    let SmMessage::ModifyAcceptMt(accept) = bench.hear_sm(0) else { panic!() };
    assert_eq!((accept.qos, accept.radio_priority), (Some(qos), Some(RadioPriority::Two)));
    assert_eq!(bench.mobile(0).bearer(SECOND).unwrap().allocation_retention, 2);
    assert_eq!(bench.drops(), []);
    // The GGSN refuses; and it has lost the context.
    let other = TrafficFlowTemplate(vec![0x21, 0, 1, 2, 0x30, 6]);
    bench.sm(0, 1, modify(Some(other.clone())));
    let (sequence, _) = next_update(&mut bench);
    bench.answer(GGSN, teid, sequence, UpdateResponse::refused(Cause::SyntacticErrorInPacketFilter));
    let reject = |cause| SmMessage::from(ModifyReject { cause });
    assert_eq!(bench.hear_sm(0), reject(SmCause::FilterSyntaxError));
    bench.sm(0, 1, modify(Some(other.clone())));
    let (sequence, _) = next_update(&mut bench);
    bench.answer(GGSN, teid, sequence, UpdateResponse::refused(Cause::NonExistent));
    assert_eq!(bench.hear_sm(0), reject(SmCause::ProtocolError));
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
    let drops = [(Drop::SmRejected, 2), (Drop::SgsnGgsnRefused, 2), (Drop::SgsnTunnelLost, 1)];
    assert_eq!(bench.drops(), drops);
}
