//! Activation that the network requests: a GGSN notifies, the mobile is asked.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::v1c::{PduNotificationRejectRequest, PduNotificationRequest};
use gannet_wire::gtp::{Cause, EndUserAddress, Message};
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn notification() -> PduNotificationRequest {
    PduNotificationRequest {
        imsi: imsi(0),
        teid_control: Teid(0x77),
        end_user_address: EndUserAddress::Ipv4(Some(address(NSAPI))),
        apn: "internet".parse().unwrap(),
        pco: None,
        ggsn_control: GGSN,
        private_extension: None,
    }
}

/// What the GGSN is told at once.
fn answer(bench: &mut Bench) -> Cause {
    let (_, header, message) = bench.next_control();
    let Message::PduNotificationResponse(response) = message else { panic!("{message:?}") };
    assert_eq!(header.teid, Teid(0x77));
    response.cause
}

fn asked() -> L3Message {
    let message =
        RequestActivation { address: PdpAddress::Ipv4(address(NSAPI)), apn: "internet".parse().ok() };
    L3Message::Sm { ti: 0, ti_flag: false, message: message.into() }
}

/// The GGSN is told that it came to nothing.
fn failure(bench: &mut Bench) -> Cause {
    match bench.next_control() {
        (GGSN, header, Message::PduNotificationRejectRequest(PduNotificationRejectRequest { cause, .. })) => {
            assert_eq!(header.teid, Teid(0x77));
            cause
        }
        other => panic!("{other:?}"),
    }
}

fn notified() -> Bench {
    let mut bench = Bench::attached(false);
    bench.ggsn_asks(Teid(0), notification());
    assert_eq!(answer(&mut bench), Cause::RequestAccepted);
    assert_eq!(bench.hear_l3(0), asked());
    bench
}

#[test]
fn the_mobile_activates() {
    let mut bench = notified();
    // One at a time.
    bench.ggsn_asks(Teid(0), notification());
    assert_eq!(answer(&mut bench), Cause::NoResourcesAvailable);
    let address = PdpAddress::Ipv4(address(NSAPI));
    bench.sm(0, 0, ActivateRequest { address, ..activate_request(NSAPI) });
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
    bench.pass_secs(10);
    assert!(bench.is_silent(), "T3385 is stopped");
    assert_eq!((bench.drops(), bench.sgsn.notifications.len()), (vec![], 0));
}

#[test]
fn the_mobile_activates_under_the_identifier_of_the_network() {
    let mut bench = notified();
    // For another address it is no answer, and the identifier is not the mobile's to begin with.
    let request = |address| L3Message::Sm {
        ti: 0,
        ti_flag: true,
        message: ActivateRequest { address, ..activate_request(NSAPI) }.into(),
    };
    bench.unitdata(0, Sapi::GMM, &request(PdpAddress::Ipv4Dynamic).to_vec());
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SmIgnored, 1)]);
    bench.unitdata(0, Sapi::GMM, &request(PdpAddress::Ipv4(address(NSAPI))).to_vec());
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    let answer = bench.hear_l3(0);
    let is_accept =
        matches!(answer, L3Message::Sm { ti: 0, ti_flag: false, message: SmMessage::ActivateAccept(_) });
    assert!(is_accept, "{answer:?}");
    bench.pass_secs(10);
    assert!(bench.is_silent(), "T3385 is stopped");
    assert_eq!(bench.sgsn.notifications.len(), 0);
}

#[test]
fn the_mobile_rejects() {
    let mut bench = notified();
    let cause = SmCause::InsufficientResources;
    let reject = L3Message::Sm { ti: 0, ti_flag: true, message: RequestActivationReject { cause }.into() };
    bench.unitdata(0, Sapi::GMM, &reject.to_vec());
    assert_eq!(failure(&mut bench), Cause::MsRefusesRequest);
    assert_eq!(bench.drops(), [(Drop::SmRejected, 1)]);
}

#[test]
fn the_mobile_does_not_answer() {
    let mut bench = notified();
    for _ in 0..4 {
        bench.pass_secs(9);
        // It stays READY.
        bench.beacon(0);
        assert_eq!(bench.hear_l3(0), asked());
    }
    bench.pass_secs(9);
    assert_eq!(failure(&mut bench), Cause::MsIsNotGprsRespondingRequest);
    assert_eq!(bench.dropped(Drop::SmNoAnswer), 1);
}

#[test]
fn who_cannot_be_asked() {
    let mut bench = Bench::attached(false);
    for (request, cause) in [
        (PduNotificationRequest { imsi: imsi(1), ..notification() }, Cause::ImsiNotKnown),
        (
            PduNotificationRequest { end_user_address: EndUserAddress::Ipv4(None), ..notification() },
            Cause::MandatoryIeIncorrect,
        ),
    ] {
        bench.ggsn_asks(Teid(0), request);
        assert_eq!(answer(&mut bench), cause);
    }
    // Nor by whom no operator has named.
    let stranger = "203.0.113.66".parse().unwrap();
    bench.answer(stranger, Teid(0), 99, notification());
    assert_eq!(answer(&mut bench), Cause::ServiceNotSupported);
    assert_eq!(bench.drops(), [(Drop::SgsnForeignGgsn, 1)]);
    assert!(bench.is_silent());
}
