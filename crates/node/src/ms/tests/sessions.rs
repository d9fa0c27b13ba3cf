use super::super::*;
use super::bench::*;
use gannet_machine::time::Duration;
use gannet_wire::id::Sapi;
use gannet_wire::l3::sm::{ActivateReject, DeactivateAccept, DeactivateRequest};
use gannet_wire::l3::{GmmMessage, SmMessage};

#[test]
fn an_order_to_activate_attaches_first() {
    let mut bench = Bench::new(|_| ());
    bench.order_context(0, NSAPI);
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::AttachRequest(_))));
    bench.gmm(0, attach_accept(bench.rai(0), Some(PTMSI)));
    bench.next_gmm(0);
    let SmMessage::ActivateRequest(request) = bench.next_sm(0) else { panic!("no request") };
    assert_eq!((request.nsapi, request.sapi), (NSAPI, Sapi::DATA3));
    assert_eq!(request.apn.as_ref().map(|apn| apn.as_str()), Some("internet"));
    assert_eq!((request.address, request.qos), (PdpAddress::Ipv4Dynamic, QosProfile::default()));
    let asked = gannet_wire::gtp::pco::parse(&request.pco.unwrap().0).unwrap();
    let identifiers: Vec<u16> = asked.iter().map(|option| option.identifier).collect();
    assert_eq!(identifiers, [0x8021, 0x000d]);
    bench.sm(0, 0, activate_accept());
    bench.events.pop_front();
    let event = bench.events.pop_front();
    assert!(matches!(event, Some(MsEvent::Activated { mobile: 0, nsapi: NSAPI, address: ADDRESS, .. })));
    let view = bench.ms.view(0).unwrap().to_string();
    assert_eq!(view.lines().filter(|line| line.contains("pdp-active")).count(), 1, "{view}");
    assert!(view.contains("gmm-registered") && view.contains("10.0.0.7"), "{view}");
    assert_eq!(bench.ms.views().count(), 3);
    assert_eq!(bench.drops(), []);
    bench.all_frames_are_back();
}

#[test]
fn what_an_order_says_is_asked_for() {
    let mut bench = Bench::attached(false);
    let address = PdpAddress::Ipv4([10, 1, 2, 3].into());
    bench.order(MsCommand::Activate {
        mobile: 0,
        nsapi: Nsapi(7),
        apn: "other.net".parse().ok(),
        qos: Some(QosProfile::BEST_EFFORT),
        address: Some(address),
    });
    let SmMessage::ActivateRequest(request) = bench.next_sm(0) else { panic!("no request") };
    assert_eq!((request.nsapi, request.address, request.qos), (Nsapi(7), address, QosProfile::BEST_EFFORT));
    assert_eq!(request.apn.unwrap().as_str(), "other.net");
    bench.pass(Duration::from_secs(31));
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)), "T3380");
}

#[test]
fn a_refused_context_is_told_and_not_asked_for_again() {
    let mut bench = Bench::attached(false);
    bench.order_context(0, NSAPI);
    bench.next_sm(0);
    bench.sm(0, 0, ActivateReject { cause: SmCause::MissingOrUnknownApn, pco: None });
    let event = bench.events.pop_front();
    let expected = Failure::Sm(SmCause::MissingOrUnknownApn);
    let procedure = Procedure::Activate(NSAPI);
    assert!(
        matches!(event, Some(MsEvent::Rejected { procedure: p, cause, .. }) if (p, cause) == (procedure, expected))
    );
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    bench.up.pop_back();
    assert!(bench.is_silent());
}

#[test]
fn deactivation_from_either_side() {
    let mut bench = Bench::attached(true);
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    assert!(matches!(bench.next_sm(0), SmMessage::DeactivateRequest(_)));
    bench.sm(0, 0, DeactivateAccept {});
    let event = bench.events.pop_front();
    assert!(matches!(event, Some(MsEvent::Deactivated { cause: Some(SmCause::RegularDeactivation), .. })));
    bench.activate(0);
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::NetworkFailure, tear_down: None });
    assert!(matches!(bench.next_sm(0), SmMessage::DeactivateAccept(_)));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Deactivated { .. })));
    assert!(bench.is_silent(), "the network's will");
    bench.activate(0);
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::ReactivationRequired, tear_down: None });
    assert!(matches!(bench.next_sm(0), SmMessage::DeactivateAccept(_)));
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
}

#[test]
fn a_context_that_the_network_has_lost_is_activated_again() {
    let mut bench = Bench::attached(true);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    bench.next_gmm(0);
    bench.gmm(0, rau_accept(bench.rai(0), None, 0));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Deactivated { nsapi: NSAPI, .. })));
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
}

#[test]
fn an_order_waits_for_the_end_of_an_update() {
    let mut bench = Bench::attached(false);
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    bench.next_gmm(0);
    bench.order_context(0, NSAPI);
    assert!(bench.is_silent());
    bench.gmm(0, rau_accept(bench.rai(0), None, 0));
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    assert!(matches!(bench.next_sm(0), SmMessage::DeactivateRequest(_)));
}

#[test]
fn sm_messages_that_cannot_be_read_are_answered() {
    let mut bench = Bench::attached(true);
    bench.ll_unitdata(0, Sapi::GMM, &[0x8a, 0x6f]);
    assert!(matches!(bench.next_sm(0), SmMessage::SmStatus(_)));
    bench.ll_unitdata(0, Sapi::GMM, &[0x08, 0x6f]);
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::GmmStatus(_))));
    for ignored in [&[][..], &[0x08], &[0x18, 0x6f], &[0x05, 1, 2]] {
        bench.ll_unitdata(0, Sapi::GMM, ignored);
    }
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::GmmMalformed, 5), (Drop::SmMalformed, 1)]);
}

#[test]
fn name_servers_of_both_manners_once_each() {
    let octets = [
        0x80, 0x80, 0x21, 16, 3, 0, 0, 16, 129, 6, 8, 8, 8, 8, 131, 6, 0, 0, 0, 0, 0, 0x0d, 4, 8, 8, 8, 8, 0,
        0x0d, 4, 9, 9, 9, 9,
    ];
    let servers = name_servers(&ProtocolConfiguration(octets.to_vec()));
    assert_eq!(servers, [core::net::Ipv4Addr::new(8, 8, 8, 8), core::net::Ipv4Addr::new(9, 9, 9, 9)]);
    for broken in
        [&[][..], &[0x80, 0x80, 0x21, 5, 3, 0, 0, 5, 129], &[0x80, 0x80, 0x21, 6, 3, 0, 0, 6, 129, 0]]
    {
        assert!(name_servers(&ProtocolConfiguration(broken.to_vec())).is_empty());
    }
}
