//! What mobiles and contexts have used, and when that is told.

use super::attach::detach_request;
use super::bench::*;
use super::uplink::sn_pdu;
use crate::sgsn::charging::{ChargedEvent, ChargedRecord, ChargedSession};
use crate::sgsn::*;
use gannet_proto::time::Duration;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::{PdpAddress, SmCause};
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
    let ti = bench.mobile(0).sm.get(Nsapi(6)).unwrap().ti().0;
    bench.sm(0, ti, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(Nsapi(6));
    let ended = records(&mut bench);
    assert_eq!(events(&ended), [ChargedEvent::PdpDeactivated, ChargedEvent::PdpFree]);
    assert!(ended.iter().all(|record| session(record).charging_id == Some(6)));
    // The other one goes on by itself, and its successor in that place begins anew.
    bench.pass(INTERVAL);
    let left = records(&mut bench);
    assert_eq!((events(&left), session(&left[0]).charging_id), (vec![ChargedEvent::PdpPeriodic], None));
}

#[test]
fn a_mobile_that_detaches_takes_its_contexts_with_it() {
    let mut bench = Bench::attached(true);
    charge(&mut bench, Some(INTERVAL));
    records(&mut bench);
    bench.gmm(0, detach_request(true));
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
