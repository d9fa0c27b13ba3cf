//! What a mobile and a GGSN are told at the end: addresses, versions of IP, and profiles of which every value says something.

use super::bench::*;
use super::subscribers::*;
use gannet_machine::time::Duration;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse, UpdateRequest, UpdateResponse};
use gannet_wire::gtp::value::EndUserAddress;
use gannet_wire::gtp::{Cause, Message, Qos};
use gannet_wire::l3::Element;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

/// All values of all octets of a profile of R99 by turns, the others as a phone leaves them to its subscription or as reserved
/// values.
fn wishes() -> impl Iterator<Item = QosProfile> {
    [0, 0xff].into_iter().flat_map(|others| {
        (0..14).flat_map(move |place| {
            (0..=255_u8).step_by(3).map(move |value| {
                let mut octets = [others; 14];
                octets[place] = value;
                QosProfile::parse_value(&octets).unwrap()
            })
        })
    })
}

fn nothing_said() -> Qos {
    Qos { allocation_retention: 0, value: Octets::from_start(&[0; 14]) }
}

/// Every value says something: `gannet_wire` holds that against Wireshark.
#[track_caller]
fn says_all(profile: &QosProfile) {
    assert_eq!(*profile, profile.concrete());
}

impl Bench {
    /// The GGSN accepts a request, changed.
    fn accept(&mut self, change: impl FnOnce(&CreateRequest, &mut CreateResponse)) -> ActivateAccept {
        let (from, sequence, request) = self.next_create();
        let mut response = created(&request);
        change(&request, &mut response);
        self.answer(from, request.teid_control.unwrap(), sequence, response);
        let message = self.hear_sm(0);
        let SmMessage::ActivateAccept(accept) = message else { panic!("{message:?}") };
        accept
    }

    /// Asks for a context with this address or type.
    fn ask_with(&mut self, address: PdpAddress) {
        self.sm(0, 0, ActivateRequest { address, ..activate_request(NSAPI) });
    }

    fn end(&mut self) {
        self.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
        self.delete_answer(NSAPI);
        self.hear_sm(0);
    }
}

#[test]
fn what_the_ggsn_is_asked_for_says_all_and_so_does_the_answer_to_the_mobile() {
    let mut bench = Bench::attached(false);
    for qos in wishes() {
        bench.sm(0, 0, ActivateRequest { qos, ..activate_request(NSAPI) });
        let accept = bench.accept(|request, response| {
            says_all(&request.qos.profile());
            assert!(matches!(request.qos.allocation_retention, 1..=3));
            // A GGSN that gives back what the phone has sent.
            response.qos = Some(Qos::new(0, &qos));
        });
        says_all(&accept.qos);
        assert_eq!(accept.qos.r99.is_some(), qos.r99.is_some());
        bench.end();
        // The mobile's bucket runs empty.
        bench.pass(Duration::from_millis(500));
    }
}

#[test]
fn a_subscription_that_says_nothing_is_filled_in_as_well() {
    let nothing = QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() };
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription_of("internet", &nothing));
    bench.accept_attach(0);
    bench.sm(0, 0, ActivateRequest { qos: nothing, ..activate_request(NSAPI) });
    let accept = bench.accept(|request, _| says_all(&request.qos.profile()));
    says_all(&accept.qos);
    assert_eq!(accept.qos.r99.unwrap().traffic_class, TrafficClass::BACKGROUND);
}

#[test]
fn what_a_ggsn_changes_says_all() {
    let mut bench = Bench::attached(false);
    let qos = QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() };
    bench.sm(0, 0, ActivateRequest { qos, ..activate_request(NSAPI) });
    let accept = bench.accept(|_, response| response.qos = Some(nothing_said()));
    says_all(&accept.qos);
    // The GGSN wants another profile, and leaves all of it open.
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    bench.ggsn_asks(teid, UpdateRequest { qos: Some(nothing_said()), ..UpdateRequest::new(NSAPI) });
    let SmMessage::ModifyRequestMt(modify) = bench.hear_sm(0) else { panic!() };
    assert_eq!(modify.qos, accept.qos, "as it was");
    bench.sm(0, 0, ModifyAcceptMo {});
    let (_, _, Message::UpdateResponse(response)) = bench.next_control() else { panic!() };
    says_all(&response.qos.unwrap().profile());
    assert!(matches!(response.qos.unwrap().allocation_retention, 1..=3));
    // The mobile wants another one, and the GGSN answers with nothing.
    bench.sm(0, 0, ModifyRequestMo { sapi: None, qos: Some(qos), tft: None });
    let (from, header, Message::UpdateRequest(request)) = bench.next_control() else { panic!() };
    says_all(&request.qos.unwrap().profile());
    let response =
        UpdateResponse { qos: Some(nothing_said()), ..UpdateResponse::refused(Cause::RequestAccepted) };
    bench.answer(from, request.teid_control.unwrap(), header.sequence.unwrap(), response);
    let SmMessage::ModifyAcceptMt(accept) = bench.hear_sm(0) else { panic!() };
    says_all(&accept.qos.unwrap());
}

#[test]
fn a_modem_that_asks_for_0_0_0_0_is_told_its_address() {
    let mut bench = Bench::attached(false);
    bench.ask_with(PdpAddress::Ipv4([0, 0, 0, 0].into()));
    let accept = bench.accept(|request, _| {
        assert_eq!(request.end_user_address, Some(EndUserAddress::Ipv4(None)), "a dynamic one is asked for");
    });
    assert_eq!((accept.address, accept.cause), (Some(PdpAddress::Ipv4(address(NSAPI))), None));
    bench.end();
    // Who asks for exactly that address knows it; who asks for another is told.
    for (asked, told) in [(address(NSAPI), None), ([10, 1, 2, 3].into(), Some(address(NSAPI)))] {
        bench.ask_with(PdpAddress::Ipv4(asked));
        assert_eq!(bench.accept(|_, _| ()).address, told.map(PdpAddress::Ipv4));
        bench.end();
    }
}

#[test]
fn who_asks_for_both_versions_of_ip_is_told_which_cause_the_ggsn_has() {
    let mut bench = Bench::attached(false);
    let both = EndUserAddress::Ipv4v6(Some(address(NSAPI)), Some(core::net::Ipv6Addr::LOCALHOST));
    for (gtp, given, sm) in [
        (Cause::NewPdpTypeNetworkPreference, None, Some(SmCause::Ipv4Only)),
        (Cause::NewPdpTypeSingleAddress, None, Some(SmCause::SingleAddressBearersOnly)),
        (Cause::RequestAccepted, None, Some(SmCause::Ipv4Only)),
        (Cause::RequestAccepted, Some(both), None),
    ] {
        bench.ask_with(PdpAddress::Ipv4v6Dynamic);
        let accept = bench.accept(|request, response| {
            assert_eq!(request.end_user_address, Some(EndUserAddress::Ipv4v6(None, None)));
            response.cause = gtp;
            response.end_user_address = given.or(response.end_user_address.take());
        });
        assert_eq!(accept.cause, sm, "{gtp}");
        bench.end();
    }
}

#[test]
fn a_subscription_is_found_by_the_network_s_part_of_its_name() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription_of("internet", &QosProfile::BEST_EFFORT));
    bench.accept_attach(0);
    let apn = |name: &str| name.parse::<Apn>().ok();
    bench.sm(0, 0, ActivateRequest { apn: apn("Internet.mnc001.mcc001.gprs"), ..activate_request(NSAPI) });
    bench.accept(|request, _| assert_eq!(request.apn, apn("internet.mnc001.mcc001.gprs")));
    bench.end();
    bench.sm(0, 0, ActivateRequest { apn: apn("other.mnc001.mcc001.gprs"), ..activate_request(NSAPI) });
    let SmMessage::ActivateReject(reject) = bench.hear_sm(0) else { panic!() };
    assert_eq!(reject.cause, SmCause::ServiceOptionNotSubscribed);
}
