//! Ten reselections during a transfer: what ours and the study's SGSN make of them.

use super::course::Effect;
use super::drive::{cells, city, road};
use super::*;
use crate::radio::packet::ipv4;
use crate::radio::world::HOST;
use gannet_node::bss::calls::CallPlan;
use gannet_node::ms::travel::TravelFaults;
use gannet_node::sgsn::LeftBehind;

/// The mobile stands while its context becomes active.
const STANDS_S: u32 = 60;
const CELLS: usize = 11;
/// Most of a routing area update that goes well, with its access.
const UPDATE_MS: u64 = 4000;

/// The window of hosts of that age: eleven segments.
fn tcp() -> TcpConfig {
    TcpConfig { receive_buffer: 16_384, ..TcpConfig::linux_2_4_2() }
}

/// A row of eleven cells, 600 m apart, at 11 m/s: a reselection each 55 s.
fn travel(racs: [u8; CELLS]) -> TravelConfig {
    let sites: Vec<f64> = (0..11).map(|site| 600.0 * f64::from(site)).collect();
    TravelConfig::new(cells(&racs), vec![road(&sites, 11.0, STANDS_S)])
}

fn drive(travel: TravelConfig, change: CellChange, way: Way) -> (Outcome, Vec<Effect>) {
    let span = Duration::from_secs(680);
    let outcome =
        run(Drive { travel, change, tcp: tcp(), way, qos: None, slots: (3, 1), span, seed: 7 }).unwrap();
    assert_eq!(outcome.faults, Vec::<String>::new());
    let effects = outcome.course.effects();
    (outcome, effects)
}

fn lost(effects: &[Effect]) -> u64 {
    effects.iter().map(|of| of.lost).sum()
}

fn are_within(effects: &[Effect], least_ms: u64, most_ms: u64) -> bool {
    effects.iter().all(|of| (least_ms..=most_ms).contains(&of.outage.as_millis()))
}

fn dropped(outcome: &Outcome, drop: Drop) -> u64 {
    outcome.drops.iter().filter(|(_, of, _)| *of == drop).map(|(.., count)| count).sum()
}

#[test]
fn ten_reselections_inside_a_routing_area_lose_nothing() {
    let (ours, effects) = drive(travel([0; CELLS]), CellChange::default(), Way::Downlink);
    assert!(effects.len() == 10 && effects.iter().all(|of| !of.change.has_update), "{effects:?}");
    assert_eq!(lost(&effects), 0, "{effects:?}");
    assert!(ours.flushed.0 > 0 && ours.flushed.1 == 0, "{:?}", ours.flushed);
    assert!(are_within(&effects, 2000, 5000), "{effects:?}");
    let discards = CellChange { left_behind: LeftBehind::Discard, ..CellChange::default() };
    let (theirs, effects) = drive(travel([0; CELLS]), discards, Way::Downlink);
    assert_eq!(effects.len(), 10, "{effects:?}");
    assert!((30..=120).contains(&lost(&effects)), "3 to 12 a reselection: {effects:?}");
    assert!(ours.octets > theirs.octets, "{} {}", ours.octets, theirs.octets);
}

#[test]
fn between_routing_areas_each_reselection_has_an_update() {
    let (outcome, effects) =
        drive(travel([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]), CellChange::default(), Way::Downlink);
    assert!(effects.len() == 10 && effects.iter().all(|of| of.change.has_update), "{effects:?}");
    assert_eq!(outcome.flushed.0, 0, "no LL-PDU goes into another routing area");
    assert!(are_within(&effects, 2000, 3500 + UPDATE_MS), "{effects:?}");
}

#[test]
fn an_upload_waits_in_the_mobile() {
    let (_, effects) = drive(travel([0; CELLS]), CellChange::default(), Way::Uplink);
    assert!(effects.len() == 10 && effects.iter().all(|of| of.lost <= 1), "{effects:?}");
    assert!(effects.iter().all(|of| of.spike >= Duration::from_secs(2)), "{effects:?}");
}

#[test]
fn flush_ll_to_the_new_cell_loses_what_waits_in_both() {
    let fault = CellChange { flushes_new_cell: true, ..CellChange::default() };
    let (outcome, effects) = drive(travel([0; CELLS]), fault, Way::Downlink);
    assert!(lost(&effects) > 10, "{effects:?}");
    assert!(dropped(&outcome, Drop::BssContactLost) > 0, "what waits in the old cell waits in vain");
}

#[test]
fn a_reselection_of_two_minutes() {
    let mut fails = travel([0; CELLS]);
    fails.faults = TravelFaults { fails_every: 4, ..TravelFaults::NONE };
    let (_, effects) = drive(fails, CellChange::default(), Way::Downlink);
    let long = effects.iter().filter(|of| of.outage >= Duration::from_secs(122)).count();
    assert!(long >= 1, "{effects:?}");
}

#[test]
fn a_drive_through_a_city_loses_nothing() {
    let signal = city(5, 3, 600.0, 11.0, (STANDS_S, 500));
    let travel = TravelConfig::new(cells(&[0; 9]), vec![signal]);
    let (outcome, effects) = drive(travel, CellChange::default(), Way::Downlink);
    assert!(effects.len() >= 5, "{effects:?}");
    assert_eq!(lost(&effects), 0, "{effects:?}");
    assert!(outcome.octets > 500_000, "{}", outcome.octets);
}

/// Three mobiles in a city of nine cells in two routing areas, with a download, an upload and pings, where the air loses blocks and calls
/// take all PDCHs of a cell for two seconds each quarter of a minute. Gives what does not add up, reselections, octets, and preemptions.
fn random_world(seed: u64) -> (Vec<String>, usize, u64, u64) {
    const MOBILES: u32 = 3;
    let racs: Vec<u8> = (0..9).map(|cell| u8::from(cell % 3 == 2)).collect();
    let way = |mobile: u32| city(10 * seed + u64::from(mobile), 3, 400.0, 20.0, (STANDS_S, 200));
    let signals = (0..MOBILES).map(way).collect();
    let mut radio = radio(CodingScheme::Cs2, 3, 1).unwrap();
    radio.channel.c_over_i_db = Some(14.0);
    let calls = CallPlan::Periodic {
        first: Duration::from_secs(60),
        span: Duration::from_secs(2),
        between: Duration::from_secs(13),
        slots: 8,
    };
    let setup = Setup {
        cells: 9,
        travel: Some(TravelConfig::new(cells(&racs), signals)),
        calls: Some(calls),
        ..Setup::one_cell(radio, MOBILES, 1520, seed)
    };
    let mut world = World::new(&setup).unwrap();
    world.connect(0, Way::Downlink, &tcp());
    world.connect(1, Way::Uplink, &tcp());
    let address = world.address(2).unwrap();
    for second in 0..180_u64 {
        let ping = ipv4(HOST, address, 253, &second.to_be_bytes().repeat(10));
        world.host_sends(&ping);
        world.run_until(world.gprs.now + Duration::from_secs(1));
    }
    let octets = world.connections.iter().map(Connection::came).sum();
    let changes = world.stages.iter().filter(|(_, stage)| *stage == Stage::Camps).count();
    let preemptions = world.probe.preemptions().complete;
    (world.close(DRAIN), changes, octets, preemptions)
}

#[test]
fn random_drives_conserve_ll_pdus_blocks_and_frames() {
    let all: Vec<_> = (1..=4).map(random_world).collect();
    for (seed, (faults, ..)) in (1..).zip(&all) {
        assert_eq!(*faults, Vec::<String>::new(), "seed {seed}");
    }
    let changes: usize = all.iter().map(|(_, changes, ..)| changes).sum();
    assert!(changes >= 10, "{all:?}");
    assert!(all.iter().all(|(.., octets, preemptions)| *octets > 10_000 && *preemptions > 0), "{all:?}");
}
