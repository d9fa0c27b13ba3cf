//! Calls take the PDCHs of a cell: what the SGSN is told, and what becomes of LL-PDUs.

use super::measured::{Buckets, NOMINAL, delivered, mobile_tlli, send};
use super::*;
use crate::bss::calls::{CallPlan, Taken};
use crate::bss::radio::RlcMacConfig;
use gannet_proto::rlcmac::config::{NetworkConfig, Preempted};
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;

const PDCHS: u8 = 0b1110_0000;

fn world(preempted: Preempted, mobiles: u32, calls: Option<CallPlan>) -> World {
    let mut world = World::with(|config| {
        let network = NetworkConfig { preempted, ..NetworkConfig::new(PDCHS, Cs2) };
        config.rlcmac = Some(RlcMacConfig::new(network));
        config.calls = calls;
        for cell in &mut config.cells {
            cell.downlink.queue_octets = 100_000;
        }
    });
    for mobile in 0..mobiles {
        world.mobile_sends(mobile, UmKind::CampOn, 0, mobile_tlli(mobile), &[]);
    }
    world
}

fn hold(world: &mut World, timeslots: u8) {
    world.command(Command::HoldChannels { cell: 0, timeslots });
}

/// R of the cell in bit/s, as often as it was told since the last time.
fn cell_rates(world: &mut World) -> Vec<u64> {
    let rate = |message| match message {
        Message::FlowControlBvc(flow) => Some(BvcParameters::from(&flow).bvc.rate_bit_per_s),
        _ => None,
    };
    world.uplink.drain(..).filter_map(rate).collect()
}

/// R of mobiles, likewise.
fn mobile_rates(world: &mut World) -> Vec<(u32, u64)> {
    let rate = |message| match message {
        Message::FlowControlMs(flow) => {
            Some((flow.tlli.0 - mobile_tlli(0).0, Bucket::from(&flow).rate_bit_per_s))
        }
        _ => None,
    };
    world.uplink.drain(..).filter_map(rate).collect()
}

fn discarded(world: &World) -> u64 {
    let octets = |message: &Message| match message {
        Message::LlcDiscarded(discarded) => u64::from(discarded.octets),
        _ => 0,
    };
    world.uplink.iter().map(octets).sum()
}

#[test]
fn flush_says_r_0_for_the_mobile_and_waits_for_it_to_speak() {
    for is_downlink in [true, false] {
        let mut world = world(Preempted::Flush, 2, None);
        (0..20).for_each(|_| send(&mut world, 0, 500, PduLifetime::INFINITE));
        world.run_until(1000);
        world.uplink.clear();
        hold(&mut world, PDCHS);
        world.run_until(1050);
        let before = delivered(&world);
        let lost = 20 * 500 - before;
        assert_eq!((discarded(&world), world.drops(Drop::BssPreempted)), (lost, lost / 500));
        assert_eq!(mobile_rates(&mut world), [(0, 0)], "once, and for no other");
        // What comes meanwhile is discarded, too. R = 0 is told again each 10 s.
        world.run_until(5000);
        send(&mut world, 1, 500, PduLifetime::INFINITE);
        world.run_until(5010);
        assert_eq!((discarded(&world), mobile_rates(&mut world)), (500, vec![(1, 0)]));
        world.run_until(30_000);
        let again = mobile_rates(&mut world);
        assert_eq!((again.iter().filter(|told| **told == (0, 0)).count(), again.len()), (2, 4), "{again:?}");
        hold(&mut world, 0);
        world.run_until(40_000);
        assert_eq!(mobile_rates(&mut world), [], "after the return nothing is asked for");
        if is_downlink {
            send(&mut world, 0, 500, PduLifetime::INFINITE);
        } else {
            world.mobile_sends(0, UmKind::LlPdu, 0, mobile_tlli(0), &[0x43, 0, 0, 0, 0]);
        }
        world.run_until(42_000);
        assert_eq!(mobile_rates(&mut world), [(0, NOMINAL)]);
        assert_eq!(delivered(&world), before + 500 * u64::from(is_downlink));
        assert_eq!(world.unitdata.len(), usize::from(!is_downlink));
    }
}

#[test]
fn forward_closes_and_opens_the_cell_at_once_and_loses_nothing() {
    let mut world = world(Preempted::Forward, 1, None);
    (0..12).for_each(|_| send(&mut world, 0, 500, PduLifetime::INFINITE));
    world.run_until(1000);
    cell_rates(&mut world);
    // One of three is left, and then none.
    hold(&mut world, 0b1100_0000);
    world.run_until(1050);
    let some = cell_rates(&mut world);
    assert!(some.len() == 1 && some[0].abs_diff(NOMINAL / 3) < NOMINAL / 30, "{some:?}");
    hold(&mut world, PDCHS);
    world.run_until(1100);
    assert_eq!(cell_rates(&mut world), [0]);
    let shared = world.bss.cell(0).unwrap().shared.unwrap().channels;
    assert_eq!((shared.configured, shared.held, shared.usable), (PDCHS, PDCHS, 0));
    let before = delivered(&world);
    world.run_until(15_000);
    // The other cell says its own after T.
    let again: Vec<u64> = cell_rates(&mut world).into_iter().filter(|rate| *rate != NOMINAL).collect();
    assert_eq!((delivered(&world), again), (before, vec![0]), "and again after T");
    hold(&mut world, 0);
    let back = cell_rates(&mut world);
    assert!(back.len() == 1 && back[0].abs_diff(NOMINAL) < NOMINAL / 10, "{back:?}");
    world.run_until(20_000);
    assert_eq!((delivered(&world), world.drops(Drop::BssPreempted)), (12 * 500, 0));
    let counts = world.bss.cell(0).unwrap().shared.unwrap().channels.counts;
    assert_eq!((counts.partial, counts.complete, counts.returns), (1, 1, 1));
}

#[test]
fn hold_opens_the_cell_with_the_next_look() {
    let mut world = world(Preempted::Hold, 1, None);
    (0..12).for_each(|_| send(&mut world, 0, 500, PduLifetime::INFINITE));
    world.run_until(1000);
    hold(&mut world, PDCHS);
    world.run_until(1050);
    assert_eq!(cell_rates(&mut world).last(), Some(&0));
    world.run_until(4000);
    cell_rates(&mut world);
    hold(&mut world, 0);
    assert_eq!(cell_rates(&mut world), []);
    world.run_until(5001);
    let back = cell_rates(&mut world);
    assert!(back.len() == 1 && back[0] > NOMINAL * 9 / 10, "{back:?}");
    world.run_until(9000);
    let lost = world.drops(Drop::BssPreempted);
    assert!(lost <= 4 && delivered(&world) == (12 - lost) * 500, "{lost}");
}

/// With the buckets of an SGSN that holds more than three periods bring, nothing is dropped anywhere.
#[test]
fn an_sgsn_that_is_told_holds_what_the_air_cannot_carry() {
    let (span, between) = (Duration::from_secs(6), Duration::from_secs(20));
    let plan = CallPlan::Periodic { first: between, span, between, slots: 8 };
    let mut world = world(Preempted::Forward, 1, Some(plan));
    let mut buckets = Buckets::new(1);
    // 500 octets each 300 ms are 13 kbit/s of 36.
    let mut longest = 0;
    buckets.run(&mut world, (10, 97_000), 300, |_, world| {
        longest = longest.max(world.bss.cell(0).unwrap().queued.octets);
    });
    let drops = [Drop::BssOverrun, Drop::BssPreempted, Drop::BssLifetime];
    assert_eq!(drops.map(|drop| world.drops(drop)), [0; 3]);
    assert_eq!(buckets.around.trace.drops.get(Drop::FlowMsQueueFull), 0);
    assert_eq!(buckets.control.queued_pdus(), 0);
    let waiting = world.bss.cell(0).unwrap().queued.octets;
    let offered = 500 * (97_000 / 300);
    assert!(
        delivered(&world) + waiting + 1000 >= offered,
        "{} of {offered}, {waiting} wait",
        delivered(&world)
    );
    let shared = world.bss.cell(0).unwrap().shared.unwrap();
    assert_eq!((shared.channels.counts.complete, shared.channels.counts.returns), (3, 3), "{shared:?}");
    assert_eq!((shared.calls.offered, shared.calls.blocked), (9, 0));
    assert!(longest < 12_000, "{longest}");
}

#[test]
fn calls_need_a_radio_with_timeslots() {
    let taken = Taken { at: Duration::ZERO, span: Duration::from_secs(1), slots: 1 };
    let plan = CallPlan::Script(vec![taken]);
    let vc = VcConfig { nsei: NSE, nsvci: Nsvci(1), port: gb_port(0), peer: address(SGSN_ADDRESS) };
    let cells = vec![CellConfig::new(NSE, Bvci(2), cell_id(2))];
    let config = Config { calls: Some(plan), ..Config::new(vec![vc], cells) };
    assert!(matches!(Bss::new(config.clone()), Err(ConfigError::Calls)));
    let rlcmac = Some(RlcMacConfig::new(NetworkConfig::new(PDCHS, Cs2)));
    assert!(Bss::new(Config { rlcmac, ..config }).is_ok());
}
