//! What GGSNs leave out and what they are told, and what becomes of contexts whose GGSN is gone.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::v1c::CreateResponse;
use gannet_wire::gtp::value::{SelectionMode, UserLocationKind};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

#[test]
fn a_path_that_has_failed_ends_its_contexts_after_the_delay() {
    let mut bench = Bench::attached(true);
    bench.silent_ggsn = true;
    let pass = |bench: &mut Bench, count| {
        for _ in 0..count {
            bench.pass_secs(5);
            bench.beacon(0);
        }
    };
    pass(&mut bench, 26);
    assert!(bench.dropped(Drop::SgsnPathFailed) >= 1);
    assert_eq!(bench.mobile(0).bearers().count(), 1, "its contexts wait for it");
    pass(&mut bench, 2);
    bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
    let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
    assert_eq!(request.cause, SmCause::NetworkFailure);
    assert_eq!(bench.dropped(Drop::SgsnTunnelLost), 1);
    bench.sm(0, 0, gannet_wire::l3::sm::DeactivateAccept {});
    assert_eq!(bench.mobile(0).bearers().count(), 0);
}

#[test]
fn contexts_stay_where_the_configuration_says_so_and_it_holds_at_once() {
    let mut bench = Bench::attached(true);
    bench.silent_ggsn = true;
    let config = SgsnConfig { failure_delay: None, ..bench.sgsn.config().clone() };
    bench.sgsn.reconfigure(&mut bench.around.context(), config);
    for _ in 0..60 {
        bench.pass_secs(5);
        bench.beacon(0);
    }
    assert!(bench.dropped(Drop::SgsnPathFailed) >= 1);
    assert_eq!(bench.mobile(0).bearers().count(), 1);
}

/// What a GGSN leaves out of its answer, whether there is a context all the same, and what the line says.
#[test]
fn a_context_lives_without_what_a_ggsn_leaves_out_where_it_can() {
    type LeaveOut = fn(&mut CreateResponse);
    let cases: [(LeaveOut, bool, &str); 7] = [
        (|response| response.end_user_address = None, true, "is taken without End User Address"),
        (|response| response.charging_id = None, true, "is taken without Charging ID"),
        (|response| response.qos = None, true, "is taken without Quality of Service Profile"),
        (|response| response.ggsn_user = None, true, "is taken without GSN Address"),
        (|response| (response.ggsn_control, response.ggsn_user) = (None, None), false, "GSN Address"),
        (|response| response.teid_data = None, false, "refused, Create response"),
        (|response| response.teid_control = None, false, "Tunnel Endpoint Identifier Control Plane"),
    ];
    for (leave_out, lives, line) in cases {
        let mut bench = Bench::attached(false);
        bench.around.trace.is_listening = true;
        bench.sm(0, 0, activate_request(NSAPI));
        let (from, sequence, request) = bench.next_create();
        let mut response = created(&request);
        leave_out(&mut response);
        bench.answer(from, request.teid_control.unwrap(), sequence, response);
        assert_eq!(bench.lines_with(line), 1, "{line}");
        bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
        match bench.hear_sm(0) {
            SmMessage::ActivateAccept(_) => assert!(lives, "{line}"),
            SmMessage::ActivateReject(reject) => {
                assert_eq!((reject.cause, lives), (SmCause::NetworkFailure, false), "{line}");
            }
            other => panic!("{other:?}"),
        }
        if lives {
            assert_eq!(bench.dropped(Drop::GtpElementAbsent), 1, "{line}");
            assert_eq!(bench.mobile(0).bearers().count(), 1, "{line}");
        } else {
            assert_eq!(bench.dropped(Drop::GtpIncomplete), 1, "{line}");
        }
    }
}

#[test]
fn a_ggsn_is_told_where_the_mobile_is() {
    let mut bench = Bench::new(|config| config.gmm.ask_imei = true);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.hear_gmm(0);
    let imei = "490154203237518".parse().unwrap();
    bench.gmm(0, gannet_wire::l3::gmm::IdentityResponse { identity: MobileIdentity::Imei(imei) });
    bench.accept_attach(0);
    bench.sm(0, 0, activate_request(NSAPI));
    let (_, _, request) = bench.next_create();
    let cell = bench.mobile(0).gmm.cell().id;
    let location = request.user_location.unwrap();
    assert_eq!((location.plmn, location.lac, location.code), (cell.rai.plmn, cell.rai.lac, cell.ci));
    assert_eq!(location.kind, UserLocationKind::Cgi);
    assert_eq!((request.rat_type, request.selection_mode), (Some(2), Some(SelectionMode::MsNotVerified)));
    assert_eq!(request.imeisv, Some(imei));
}
