//! What an operator changes while the SGSN runs.

use super::bench::*;
use crate::sgsn::operation::NsvcOrder;
use crate::sgsn::*;
use gannet_proto::ns::VcState;
use gannet_proto::time::Duration;
use gannet_wire::bssgp::Message;
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::l3::gmm::{GmmMessage, PTmsiReallocationComplete};
use gannet_wire::l3::ie::NetworkName;
use gannet_wire::ns;

const NSE: Nsei = Nsei(1);

fn known(config: &mut SgsnConfig) {
    config.accept_dynamic = false;
    config.nsvcs = vec![NsvcConfig { nsei: NSE, nsvci: Nsvci(1), peer: bss(NSE) }];
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
    config.apns = vec![ApnRoute { apn: "*".to_owned(), ggsn: 1 }];
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
