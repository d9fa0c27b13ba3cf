//! What mobiles and contexts have used, and when that is told.

use super::bench::*;
use super::places::{accept_of, move_to_other_area};
use super::uplink::sn_pdu;
use crate::sgsn::charging::{ChargedEvent, ChargedRecord, ChargedSession};
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::sndcp::NPdu;
use gannet_wire::bssgp::Message;
use gannet_wire::id::{Bvci, Sapi};
use gannet_wire::l3::gmm::RauComplete;
use gannet_wire::l3::ie::{PdpAddress, SmCause, UpdateKind};
use gannet_wire::l3::sm::DeactivateRequest;

const INTERVAL: Duration = Duration::from_secs(10);

fn charge(bench: &mut Bench, interval: Option<Duration>) {
    bench.sgsn.charge(&mut bench.around.context(), interval);
    bench.collect();
}

/// The records since it was asked last.
fn records(bench: &mut Bench) -> Vec<ChargedRecord> {
    let charged = bench.events.iter().filter_map(|event| match event {
        SgsnEvent::Charged(record) => Some((**record).clone()),
        _ => None,
    });
    let all = charged.collect();
    bench.events.clear();
    all
}

fn events(records: &[ChargedRecord]) -> Vec<ChargedEvent> {
    records.iter().map(|record| record.event).collect()
}

fn session(record: &ChargedRecord) -> &ChargedSession {
    record.session.as_ref().unwrap()
}

#[test]
fn nobody_is_charged_unless_somebody_takes_records() {
    let mut bench = Bench::attached(true);
    bench.pass_secs(30);
    charge(&mut bench, Some(INTERVAL));
    assert_eq!(events(&records(&mut bench)), [ChargedEvent::PdpActive], "active already");
    charge(&mut bench, None);
    bench.pass_secs(30);
    assert_eq!(records(&mut bench), []);
}

#[test]
fn octets_are_those_of_n_pdus_that_went_on() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    let [active] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((active.imsi, active.cell, active.lac), (imsi(0), cell(0).id.ci, rai(1).lac));
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, &[1; 30]));
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 1, &[2; 70]));
    // In two segments: its headers are not charged.
    bench.downlink(0, NSAPI, &[3; 700]);
    // Without a context nothing is counted.
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(Nsapi(6), 0, false, 0, &[4; 30]));
    bench.pass(INTERVAL);
    let [periodic] = &records(&mut bench)[..] else { panic!() };
    assert_eq!(periodic.event, ChargedEvent::PdpPeriodic);
    let used = session(periodic);
    assert_eq!((used.uplink_octets, used.downlink_octets, used.duration), (100, 700, INTERVAL));
    assert_eq!((used.ggsn, used.apn.as_str()), (GGSN, "internet"));
    assert!(matches!(used.address, PdpAddress::Ipv4(_)), "{used:?}");
    bench.pass(INTERVAL);
    let [again] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((session(again).uplink_octets, session(again).duration), (100, INTERVAL + INTERVAL));
}

#[test]
fn a_context_that_is_activated_has_the_id_of_its_ggsn_and_ends_with_two_records() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    records(&mut bench);
    bench.activate(0, Nsapi(6));
    let [active] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((active.event, session(active).charging_id), (ChargedEvent::PdpActive, Some(6)));
    let ti = bench.mobile(0).sm().get(Nsapi(6)).unwrap().ti().0;
    bench.sm(0, ti, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(Nsapi(6));
    let ended = records(&mut bench);
    assert_eq!(events(&ended), [ChargedEvent::PdpDeactivated, ChargedEvent::PdpFree]);
    assert!(ended.iter().all(|record| session(record).charging_id == Some(6)));
    // The other one goes on by itself, and the successor in that place begins anew.
    bench.pass_secs(4);
    bench.sent.clear();
    bench.activate(0, Nsapi(6));
    let [active] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((active.event, session(active).charging_id), (ChargedEvent::PdpActive, Some(6)));
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(Nsapi(6), 0, false, 0, &[1; 30]));
    bench.pass_secs(6);
    let left = records(&mut bench);
    assert_eq!((events(&left), session(&left[0]).charging_id), (vec![ChargedEvent::PdpPeriodic], None));
    assert_eq!(session(&left[0]).uplink_octets, 0);
    bench.pass_secs(4);
    let left = records(&mut bench);
    assert_eq!((events(&left), session(&left[0]).charging_id), (vec![ChargedEvent::PdpPeriodic], Some(6)));
    assert_eq!((session(&left[0]).uplink_octets, session(&left[0]).duration), (30, INTERVAL));
}

#[test]
fn what_is_dropped_is_not_charged_for() {
    let mut bench = Bench::new(|config| config.flow.data.ms.pdus = 3);
    bench.attach(0);
    bench.activate(0, NSAPI);
    charge(&mut bench, Some(INTERVAL));
    records(&mut bench);
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: gannet_wire::bssgp::ie::Cause::OamIntervention });
    // Of the third N-PDU one segment finds room, and of the fourth none.
    for octets in [&[1; 40][..], &[2; 50], &[3; 700], &[4; 60]] {
        bench.downlink(0, NSAPI, octets);
    }
    assert_eq!(bench.drops(), [(Drop::FlowMsQueueFull, 2)]);
    // A context that its GGSN has lost sends to nobody.
    let slot = bench.slot(0);
    let tunnel = bench.sgsn.mobiles.get_mut(slot).unwrap().bearer_mut(NSAPI).unwrap().tunnel.take();
    let frame = bench.around.frames.copy_of(&[1; 30]).unwrap();
    bench.sgsn.n_pdu_uplink(&mut bench.around.context(), slot, NPdu::plain(NSAPI, frame));
    bench.sgsn.mobiles.get_mut(slot).unwrap().bearer_mut(NSAPI).unwrap().tunnel = tunnel;
    bench.pass(INTERVAL);
    let [periodic] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((session(periodic).uplink_octets, session(periodic).downlink_octets), (0, 90));
}

#[test]
fn an_attach_and_an_update_are_told() {
    let mut bench = Bench::new(|_| ());
    charge(&mut bench, Some(INTERVAL));
    bench.attach(0);
    assert_eq!(events(&records(&mut bench)), [ChargedEvent::Attach]);
    move_to_other_area(&mut bench, UpdateKind::Ra);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
    let accept = accept_of(bench.hear_gmm(0));
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    bench.gmm(0, RauComplete { receive_npdu_numbers: None });
    let [update] = &records(&mut bench)[..] else { panic!() };
    assert_eq!((update.event, update.imsi, update.cell), (ChargedEvent::Update, imsi(0), cell(3).id.ci));
    assert_eq!(update.session, None);
}

/// As after a restart, and whenever somebody begins to take records.
#[test]
fn many_that_are_due_at_once_are_told_a_few_at_a_time() {
    let mut bench = Bench::new(|config| {
        config.mobiles_max = 64;
        config.flow.active_ms_max = 64;
        config.flow.pdus_max = 1024;
        config.contexts_max = Some(400);
    });
    bench.phones = (0..40).map(Phone::new).collect();
    for phone in 0..40 {
        bench.attach(phone);
        (5..12).for_each(|nsapi| bench.activate(phone, Nsapi(nsapi)));
    }
    bench.events.clear();
    charge(&mut bench, Some(INTERVAL));
    assert_eq!(events(&records(&mut bench)), [ChargedEvent::PdpActive; 256]);
    // Who ends before its turn was active nevertheless.
    bench.detach(39, true);
    let of_context = [ChargedEvent::PdpActive, ChargedEvent::PdpTerminated, ChargedEvent::PdpFree];
    let mut wanted = of_context.repeat(7);
    wanted.extend([ChargedEvent::Detach, ChargedEvent::Free]);
    assert_eq!(events(&records(&mut bench)), wanted);
    bench.pass(INTERVAL);
    let all = records(&mut bench);
    let count = |event| all.iter().filter(|record| record.event == event).count();
    assert_eq!((count(ChargedEvent::PdpActive), count(ChargedEvent::PdpPeriodic)), (17, 256));
    bench.pass_secs(1);
    assert_eq!(events(&records(&mut bench)), [ChargedEvent::PdpPeriodic; 17]);
}

#[test]
fn a_mobile_that_detaches_takes_its_contexts_with_it() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    records(&mut bench);
    bench.detach(0, true);
    let all = records(&mut bench);
    let wanted =
        [ChargedEvent::PdpTerminated, ChargedEvent::PdpFree, ChargedEvent::Detach, ChargedEvent::Free];
    assert_eq!(events(&all), wanted);
    bench.pass_secs(60);
    assert_eq!(records(&mut bench), []);
}

#[test]
fn another_interval_holds_at_once() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, &[1; 30]));
    records(&mut bench);
    charge(&mut bench, Some(Duration::from_secs(2)));
    bench.pass_secs(4);
    let all = records(&mut bench);
    assert_eq!(events(&all), [ChargedEvent::PdpPeriodic; 2]);
    assert!(all.iter().all(|record| session(record).uplink_octets == 30));
}

#[test]
fn a_mobile_that_arrives_begins_anew() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    let slot = bench.slot(0);
    let octets = bench.sgsn.copy_out(slot).unwrap();
    bench.sgsn.forget_all(&mut bench.around.context());
    bench.collect();
    records(&mut bench);
    bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    bench.collect();
    assert_eq!(events(&records(&mut bench)), [ChargedEvent::PdpActive]);
}
