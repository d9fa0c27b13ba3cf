//! What an operator changes while the SGSN runs.

use super::bench::*;
use crate::sgsn::operation::NsvcOrder;
use crate::sgsn::*;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::auth::AuthPolicy;
use gannet_proto::ns::VcState;
use gannet_wire::bssgp::Message;
use gannet_wire::gtp::Message as GtpMessage;
use gannet_wire::gtp::v1c::{EchoResponse, emit_datagram};
use gannet_wire::id::{Bvci, Nsei, Nsvci, Teid};
use gannet_wire::l3::gmm::{GmmMessage, PTmsiReallocationComplete};
use gannet_wire::l3::ie::{MobileIdentity, NetworkName};
use gannet_wire::ns;

const NSE: Nsei = Nsei(1);

fn known(config: &mut SgsnConfig) {
    config.open.clear();
    config.nsvcs =
        vec![NsvcConfig { nsei: NSE, nsvci: Some(Nsvci(1)), port: GB, peer: bss(NSE), weights: (1, 1) }];
}

#[test]
fn a_configured_bss_is_reset_at_the_start() {
    let mut bench = Bench::without_bss(known);
    let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(1), nsei: NSE };
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), reset));
    bench.ns(NSE, &ns::Pdu::ResetAck { nsvci: Nsvci(1), nsei: NSE });
    bench.ns(NSE, &ns::Pdu::Unblock);
    assert!(bench.sgsn.gb().ns.is_available(NSE));
}

#[test]
fn ns_vcs_are_blocked_and_reset_by_order() {
    let mut bench = Bench::new(|_| ());
    let vc = bench.sgsn.gb().ns.find(NSE, Nsvci(1)).unwrap();
    let state = |bench: &Bench| bench.sgsn.gb().ns.vc(vc).unwrap().state();
    let order = |bench: &mut Bench, order| {
        bench.sgsn.order_nsvc(&mut bench.around.context(), vc, order);
        bench.collect();
    };
    order(&mut bench, NsvcOrder::Block);
    assert!(matches!(bench.next(), Sent::Ns(_, ns::Pdu::Block { nsvci: Nsvci(1), .. })));
    bench.ns(NSE, &ns::Pdu::BlockAck { nsvci: Nsvci(1) });
    assert_eq!(state(&bench), VcState::BlockedLocally);
    order(&mut bench, NsvcOrder::Unblock);
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), ns::Pdu::Unblock));
    order(&mut bench, NsvcOrder::Reset);
    assert!(matches!(bench.next(), Sent::Ns(_, ns::Pdu::Reset { nsvci: Nsvci(1), .. })));
    assert_eq!(state(&bench), VcState::Resetting);
}

#[test]
fn a_cell_is_reset_by_order() {
    let mut bench = Bench::new(|_| ());
    let bvc = bench.sgsn.gb().bvcs.find(cell(0).nsei, cell(0).bvci).unwrap();
    bench.sgsn.reset_bvc(&mut bench.around.context(), bvc);
    bench.collect();
    assert!(matches!(bench.next_bssgp(), Message::BvcReset { bvci, .. } if bvci == cell(0).bvci));
}

#[test]
fn a_mobile_is_paged_by_order() {
    let mut bench = Bench::attached(false);
    // READY is over.
    bench.pass_secs(60);
    bench.sent.clear();
    assert!(bench.sgsn.page_subscriber(&mut bench.around.context(), imsi(0)));
    bench.collect();
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(page) if page.imsi == imsi(0)));
    assert!(!bench.sgsn.page_subscriber(&mut bench.around.context(), imsi(5)));
}

#[test]
fn a_mobile_gets_a_new_ptmsi_and_the_networks_names_by_order() {
    let mut bench = Bench::attached(false);
    let mut config = bench.sgsn.config().clone();
    config.gmm.names.short = Some("Gannet".to_owned());
    bench.sgsn.reconfigure(&mut bench.around.context(), config);
    assert!(bench.sgsn.inform_subscriber(&mut bench.around.context(), imsi(0)));
    bench.collect();
    let GmmMessage::GmmInformation(information) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(information.short_name, Some(NetworkName::from_text("Gannet")));
    // READY is over: it is paged first.
    bench.pass_secs(60);
    bench.sent.clear();
    let former = bench.phones[0].ptmsi;
    assert!(bench.sgsn.reallocate_ptmsi(&mut bench.around.context(), imsi(0)));
    bench.collect();
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(page) if page.imsi == imsi(0)));
    bench.sent.clear();
    bench.beacon(0);
    let GmmMessage::PTmsiReallocationCommand(command) = bench.hear_gmm(0) else { panic!() };
    bench.take_ptmsi(0, Some(command.allocated_ptmsi), command.ptmsi_signature);
    bench.gmm(0, PTmsiReallocationComplete {});
    assert_eq!(bench.mobile(0).gmm.ptmsi(), bench.phones[0].ptmsi);
    assert_ne!(bench.mobile(0).gmm.ptmsi(), former);
    assert!(!bench.sgsn.reallocate_ptmsi(&mut bench.around.context(), imsi(5)));
}

#[test]
fn routes_and_timers_change_for_what_comes() {
    let mut bench = Bench::attached(true);
    let mut config = bench.sgsn.config().clone();
    config.apns = vec![ApnRoute { apn: "*".to_owned(), imsi_prefix: String::new(), ggsn: 1 }];
    config.gmm.t3350 = Duration::from_secs(2);
    config.ns.test = Duration::from_secs(7);
    config.mobiles_max = 1;
    bench.sgsn.reconfigure(&mut bench.around.context(), config);
    assert_eq!(bench.sgsn.config().gmm.t3350, Duration::from_secs(2));
    assert_eq!(bench.sgsn.gb().ns.config().tns_test, Duration::from_secs(7));
    // The tables stay as they were made, and so does the context that was there.
    assert_eq!(bench.sgsn.config().mobiles_max, 4);
    let t_pdu = [0x45; 40];
    bench.downlink(0, NSAPI, &t_pdu);
    assert_eq!(bench.next_down().cell, (cell(0).nsei, cell(0).bvci));
    bench.attach(1);
    bench.sent.clear();
    bench.sm(1, 0, activate_request(NSAPI));
    assert_eq!(bench.next_create().0, OTHER_GGSN);
}

#[test]
fn each_socket_of_ns_answers_by_itself_and_lets_in_whom_it_may() {
    let mut bench = Bench::without_bss(|config| config.open = vec![GB_FURTHER[0]]);
    let second = GB_FURTHER[0];
    let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(1), nsei: NSE };
    bench.datagram(GB, bss(NSE), &reset.to_vec());
    assert_eq!(bench.dropped(Drop::NsUnknownPeer), 1);
    bench.sent.clear();
    bench.datagram(second, bss(NSE), &reset.to_vec());
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), ns::Pdu::ResetAck { nsvci: Nsvci(1), nsei: NSE }));
    bench.datagram(second, bss(NSE), &ns::Pdu::Unblock.to_vec());
    let vc = bench.sgsn.gb().ns.find(NSE, Nsvci(1)).unwrap();
    assert_eq!(bench.sgsn.gb().ns.vc(vc).unwrap().port(), second);
    assert!(bench.sgsn.gb().ns.is_available(NSE));
    // Who may make himself known changes at any time.
    let open = SgsnConfig { open: vec![GB, GB_FURTHER[0]], ..bench.sgsn.config().clone() };
    bench.sgsn.reconfigure(&mut bench.around.context(), open);
    bench.sent.clear();
    let other = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(2), nsei: Nsei(2) };
    bench.datagram(GB, bss(Nsei(2)), &other.to_vec());
    assert_eq!(bench.next(), Sent::Ns(bss(Nsei(2)), ns::Pdu::ResetAck { nsvci: Nsvci(2), nsei: Nsei(2) }));
}

/// An NS-VC without NS-VCI that a person has configured: tested from the start, and in service with the first answer.
#[test]
fn a_configured_endpoint_of_a_bss_is_tested_and_never_reset() {
    let mut bench = Bench::without_bss(|config| config.ip_sns.open = vec![GB]);
    bench.silent_bss = true;
    changed(&mut bench, |config| {
        config.nsvcs = vec![NsvcConfig { nsei: NSE, nsvci: None, port: GB, peer: bss(NSE), weights: (1, 1) }];
    });
    bench.sgsn.add_configured_nsvcs(&mut bench.around.context()).unwrap();
    bench.collect();
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), ns::Pdu::Alive));
    let vc = |bench: &Bench| bench.sgsn.gb().ns.vcs().next().unwrap().state();
    assert_eq!(vc(&bench), VcState::Dead);
    bench.datagram(GB, bss(NSE), &ns::Pdu::AliveAck.to_vec());
    assert_eq!(vc(&bench), VcState::Unblocked);
    bench.reset_bvc(NSE, Bvci::SIGNALLING, None);
    // Neither NS-RESET nor SNS-SIZE takes it from its BSS, at a socket that is open for both.
    let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(9), nsei: Nsei(9) };
    let size =
        ns::Sns::Size { nsei: NSE, reset: true, ns_vcs_max: 8, ip4_endpoints: Some(1), ip6_endpoints: None };
    for pdu in [reset, ns::Pdu::Sns(size)] {
        bench.datagram(GB, bss(NSE), &pdu.to_vec());
        assert!(matches!(bench.next(), Sent::Ns(_, ns::Pdu::Status(_))), "{pdu:?}");
    }
    assert_eq!((vc(&bench), bench.sgsn.gb().ns.vcs().count()), (VcState::Unblocked, 1));
    // Once more changes nothing; a test that fails ends its service.
    bench.sgsn.add_configured_nsvcs(&mut bench.around.context()).unwrap();
    bench.pass_secs(120);
    assert_eq!(vc(&bench), VcState::Dead);
}

/// A changed configuration, in force at once.
fn changed(bench: &mut Bench, change: impl FnOnce(&mut SgsnConfig)) {
    let mut config = bench.sgsn.config().clone();
    change(&mut config);
    bench.sgsn.reconfigure(&mut bench.around.context(), config);
    bench.collect();
}

/// Answers the Echo Requests that went out, and says how many those were.
fn echoes(bench: &mut Bench) -> usize {
    let mut count = 0;
    for sent in core::mem::take(&mut bench.sent) {
        let Sent::Control(ggsn, header, GtpMessage::EchoRequest(_)) = sent else { continue };
        let answer = EchoResponse { recovery: 9, private_extension: None }.into();
        let mut octets = Vec::new();
        assert!(emit_datagram(Teid(0), header.sequence.unwrap(), &answer, &mut octets));
        bench.datagram(GTP_C, SocketAddr::new(ggsn, 2123), &octets);
        count += 1;
    }
    count
}

#[test]
fn the_interval_of_echo_requests_changes_at_once() {
    let mut bench = Bench::attached(true);
    bench.silent_ggsn = true;
    bench.sent.clear();
    bench.pass_secs(10);
    assert_eq!(echoes(&mut bench), 0);
    let every = |bench: &mut Bench, seconds| {
        changed(bench, |config| config.echo_intervals = vec![(GGSN, Duration::from_secs(seconds))]);
    };
    every(&mut bench, 5);
    bench.pass_secs(6);
    assert_eq!(echoes(&mut bench), 1);
    every(&mut bench, 0);
    bench.pass_secs(120);
    assert_eq!(echoes(&mut bench), 0);
    every(&mut bench, 30);
    bench.pass_secs(31);
    assert_eq!(echoes(&mut bench), 1);
    // And the time for an answer, as of the next request.
    changed(&mut bench, |config| (config.t3_response, config.n3_requests) = (Duration::from_secs(1), 2));
    bench.sent.clear();
    bench.pass_secs(31);
    let is_echo = |sent: &&Sent| matches!(sent, Sent::Control(_, _, GtpMessage::EchoRequest(_)));
    assert_eq!(bench.sent.iter().filter(is_echo).count(), 2, "after 30 s, and once more after T3-RESPONSE");
}

#[test]
fn who_may_attach_changes_at_once() {
    let mut bench = Bench::new(|_| ());
    bench.attach(0);
    changed(&mut bench, |config| config.subscribers.policy = AuthPolicy::AclOnly);
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(1))));
    assert!(matches!(bench.hear_gmm(1), GmmMessage::AttachReject(_)));
    assert!(bench.sgsn.subscribers().hlr().is_none());
    changed(&mut bench, |config| config.subscribers.policy = AuthPolicy::Remote);
    let name = "SGSN-changed".to_owned();
    changed(&mut bench, |config| config.subscribers.unit_name = name.clone());
    assert_eq!(
        bench.sgsn.subscribers().hlr().map(|hlr| hlr.config().unit_name.as_str()),
        Some("SGSN-changed")
    );
    // There is no connection: the mobile is refused in time, and not accepted.
    bench.gmm(2, attach_request(MobileIdentity::Imsi(imsi(2))));
    bench.pass_secs(60);
    assert!(matches!(bench.hear_gmm(2), GmmMessage::AttachReject(_)));
    changed(&mut bench, |config| config.subscribers.policy = AuthPolicy::AcceptAll);
    bench.attach(3);
}

#[test]
fn flow_control_changes_at_once() {
    let mut bench = Bench::new(|_| ());
    let bvc = bench.sgsn.gb().bvcs.find(cell(0).nsei, cell(0).bvci).unwrap();
    let rate =
        |bench: &Bench| bench.sgsn.gb().flow.cell_view(bench.around.now, bvc).unwrap().bucket.rate_bit_per_s;
    let former = bench.sgsn.config().flow.initial.bvc.rate_bit_per_s;
    assert_eq!(rate(&bench), former);
    changed(&mut bench, |config| config.flow.initial.bvc.rate_bit_per_s = former / 2);
    assert_eq!(rate(&bench), former / 2, "the BSS has said nothing");
    changed(&mut bench, |config| config.flow.data.ms.pdus = 3);
    assert_eq!(bench.sgsn.gb().flow.config().data.ms.pdus, 3);
    assert_eq!(bench.sgsn.gb().flow.config().pdus_max, 128, "the size of a table stays");
}
