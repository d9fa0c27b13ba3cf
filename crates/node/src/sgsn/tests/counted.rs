//! Each counter that operators' scripts read moves with its event, and with no other.

use super::bench::*;
use super::places::update_request;
use crate::sgsn::messages::MessageCounters;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::AuthPolicy;
use gannet_proto::bssgp::bvc::BvcCounters;
use gannet_proto::ns::VcCounters;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::gtp;
use gannet_wire::id::{Bvci, Nsei};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;
use gannet_wire::ns;

const NSE: Nsei = Nsei(1);
const CELL: Bvci = Bvci(2);

fn messages(bench: &Bench) -> MessageCounters {
    bench.sgsn.stats().messages
}

#[test]
fn mobility_management_by_message() {
    let mut bench = Bench::new(|_| ());
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    // ATTACH ACCEPT is repeated, and each time is one.
    bench.sent.clear();
    bench.pass_secs(7);
    bench.accept_attach(0);
    let mut expected = MessageCounters { attach_requests: 1, attach_accepts: 2, ..Default::default() };
    assert_eq!(messages(&bench), expected);
    let request = update_request(&bench, 0, UpdateKind::Periodic);
    bench.gmm(0, request);
    let GmmMessage::RauAccept(accept) = bench.hear_gmm(0) else { panic!() };
    bench.phones[0].signature = accept.ptmsi_signature;
    (expected.rau_requests, expected.rau_accepts) = (1, 1);
    assert_eq!(messages(&bench), expected);
    let mobile = *bench.mobile(0).counters();
    assert_eq!((mobile.messages_in, mobile.messages_out, mobile.updates), (2, 3, 1), "{mobile:?}");
    bench.detach(0, false);
    let accept = bench.hear_gmm(0);
    assert!(matches!(accept, GmmMessage::DetachAcceptMo(_)), "{accept:?}");
    (expected.detach_requests, expected.detach_accepts) = (1, 1);
    assert_eq!(messages(&bench), expected);
    // Nobody any more.
    let request = update_request(&bench, 0, UpdateKind::Ra);
    bench.gmm(0, request);
    (expected.rau_requests, expected.rau_rejects) = (2, 1);
    assert_eq!(messages(&bench), expected);
}

#[test]
fn a_refused_attach_is_no_accepted_one() {
    let mut bench = Bench::new(|config| config.subscribers.policy = AuthPolicy::AclOnly);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let expected = MessageCounters { attach_requests: 1, attach_rejects: 1, ..Default::default() };
    assert_eq!(messages(&bench), expected);
}

#[test]
fn session_management_by_message() {
    let mut bench = Bench::attached(true);
    let before = messages(&bench);
    assert_eq!((before.activate_requests, before.activate_accepts), (1, 1));
    assert_eq!(bench.mobile(0).counters().activations, 1);
    let mut expected = before;
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    (expected.deactivate_requests_received, expected.deactivate_accepts_sent) = (1, 1);
    assert_eq!(messages(&bench), expected);
    bench.activate(0, NSAPI);
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
    bench.sm(0, 0, DeactivateAccept {});
    (expected.activate_requests, expected.activate_accepts) = (2, 2);
    (expected.deactivate_requests_sent, expected.deactivate_accepts_received) = (1, 1);
    assert_eq!(messages(&bench), expected);
    // The GGSN has no room.
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, gtp::Cause::NoResourcesAvailable);
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateReject(_)));
    (expected.activate_requests, expected.activate_rejects) = (3, 1);
    assert_eq!(messages(&bench), expected);
}

#[test]
fn ll_pdus_by_their_octets() {
    let mut bench = Bench::attached(true);
    let before = *bench.sgsn.stats();
    let bvc = |bench: &Bench| bench.sgsn.gb().bvcs.bvcs().next().unwrap().1.counters;
    let passed = bvc(&bench);
    bench.downlink(0, NSAPI, b"n-pdu");
    let octets = bench.next_down().ll_pdu.len() as u64;
    let after = *bench.sgsn.stats();
    assert_eq!(after.ll_octets_downlink - before.ll_octets_downlink, octets);
    assert_eq!(after.ll_octets_uplink, before.ll_octets_uplink);
    assert_eq!(bvc(&bench).pdus_out, passed.pdus_out + 1);
    assert!(bvc(&bench).octets_out > passed.octets_out + octets, "with the header of BSSGP");
    let beacon = bench.ll_pdu(0, gannet_wire::id::Sapi::DATA3, b"x");
    bench.up(0, &beacon);
    let grown = bench.sgsn.stats().ll_octets_uplink - before.ll_octets_uplink;
    assert_eq!(grown, beacon.len() as u64);
    let now = bvc(&bench);
    assert_eq!(now.pdus_in, passed.pdus_in + 1);
    assert!(now.octets_in > passed.octets_in + grown);
}

#[test]
fn bvcs_by_what_a_bss_says() {
    let mut bench = Bench::attached(false);
    let cell = |bench: &Bench| bench.sgsn.gb().bvcs.bvcs().next().unwrap().1.counters;
    let signalling = |bench: &Bench| bench.sgsn.gb().bvcs.nses().next().unwrap().counters;
    let (before, signalled) = (cell(&bench), signalling(&bench));
    assert!(signalled.pdus_in > 0 && signalled.pdus_out > 0);
    bench.signal(&Message::BvcBlock { bvci: CELL, cause: Cause::OamIntervention });
    assert_eq!(cell(&bench), BvcCounters { blocked: before.blocked + 1, ..before });
    assert_eq!(
        (signalling(&bench).pdus_in, signalling(&bench).pdus_out),
        (signalled.pdus_in + 1, signalled.pdus_out + 1)
    );
    bench.signal(&Message::BvcUnblock { bvci: CELL });
    bench.signal(&Message::Status(Status { cause: Cause::BvciBlocked, bvci: Some(CELL), pdu: None }));
    assert_eq!(cell(&bench).statuses, before.statuses + 1);
    assert_eq!(signalling(&bench).statuses, 0);
    let tlli = bench.phones[0].tlli;
    let discarded = gannet_wire::bssgp::signalling::LlcDiscarded { tlli, frames: 1, bvci: CELL, octets: 9 };
    bench.signal(&Message::LlcDiscarded(discarded));
    assert_eq!(cell(&bench).discarded, before.discarded + 1);
    assert_eq!(bench.dropped(Drop::SgsnDiscardedByBss), 1);
}

#[test]
fn ns_vcs_by_their_states_and_answers() {
    let mut bench = Bench::new(|_| ());
    let counters = |bench: &Bench| bench.sgsn.gb().ns.vcs().next().unwrap().counters();
    let before = counters(&bench);
    assert_eq!((before.blocked, before.unblocked, before.deaths), (1, 1, 0), "a reset leaves it blocked");
    bench.ns(NSE, &ns::Pdu::Block { cause: ns::Cause::OamIntervention, nsvci: gannet_wire::id::Nsvci(1) });
    bench.ns(NSE, &ns::Pdu::Unblock);
    let VcCounters { blocked, unblocked, pdus_in, octets_in, pdus_out, .. } = counters(&bench);
    assert_eq!((blocked, unblocked), (2, 2));
    assert_eq!((pdus_in, pdus_out), (before.pdus_in + 2, before.pdus_out + 2));
    assert!(octets_in > before.octets_in + 2);
    // Names that are not there.
    bench.ns(NSE, &ns::Pdu::Block { cause: ns::Cause::OamIntervention, nsvci: gannet_wire::id::Nsvci(77) });
    assert_eq!((counters(&bench).nsvci_invalid, counters(&bench).nsei_invalid), (1, 0));
    bench.ns(NSE, &ns::Pdu::ResetAck { nsvci: gannet_wire::id::Nsvci(1), nsei: Nsei(9) });
    assert_eq!((counters(&bench).nsvci_invalid, counters(&bench).nsei_invalid), (1, 1));
    // Silence, and a reset of the SGSN that stays without answer.
    bench.silent_bss = true;
    bench.order(SgsnCommand::ResetNs);
    bench.pass_secs(4);
    assert_eq!(counters(&bench).resets_unanswered, 1);
}
