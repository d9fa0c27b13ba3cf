//! LL-PDUs over TBFs of one mobile.

use crate::world::{FRAMES, Plan, World, octets};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::rlcmac::air::Direction::{Down, Up};
use gannet_proto::rlcmac::air::Faults;
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::CellOptions;
use gannet_proto::rlcmac::network::Loss;

#[test]
fn one_ll_pdu_goes_down_and_the_cell_is_silent_again() {
    let mut world = World::new(&Plan::default());
    assert_eq!(world.cell.next_event(), None, "nothing ticks");
    world.down(0, &octets(1, 500));
    let took = world.settle();
    assert_eq!(world.arrived(Down), [(0, octets(1, 500))]);
    let after = world.told[0].at.0;
    assert!((200_000_000..300_000_000).contains(&after), "{after} ns");
    assert!(took < Duration::from_secs(3), "{took}");
    assert_eq!(world.cell.pcu().tbfs(), (0, 0));
    assert_eq!(world.around.frames.free(), FRAMES);
}

#[test]
fn one_ll_pdu_goes_up_and_the_cell_is_silent_again() {
    let mut world = World::new(&Plan::default());
    world.up(0, &octets(1, 500));
    let took = world.settle();
    assert_eq!(world.arrived(Up), [(0, octets(1, 500))]);
    assert!(took < Duration::from_secs(3), "{took}");
    assert_eq!((world.cell.pcu().tbfs(), world.cell.next_event()), ((0, 0), None));
    assert_eq!(world.mobiles[0].mac.counts().bursts, 1);
    assert_eq!(world.around.frames.free(), FRAMES);
}

#[test]
fn many_ll_pdus_go_both_ways_in_their_order() {
    let mut world = World::new(&Plan::default());
    let names: Vec<u32> = (0..40).collect();
    for name in &names {
        world.down(0, &octets(*name, 700));
        world.up(0, &octets(1000 + name, 300));
    }
    world.settle();
    let down: Vec<_> = names.iter().map(|name| (0, octets(*name, 700))).collect();
    let up: Vec<_> = names.iter().map(|name| (0, octets(1000 + name, 300))).collect();
    assert_eq!(world.arrived(Down), down);
    assert_eq!(world.arrived(Up), up);
    assert_eq!(world.cell.pcu().tbfs(), (0, 0));
}

#[test]
fn a_tbf_whose_ll_pdus_are_gone_ends() {
    let mut world = World::new(&Plan::default());
    world.down_until(0, &octets(1, 500), Instant(1));
    world.settle();
    assert_eq!((world.told.len(), world.told[0].loss), (1, Some(Loss::Lifetime)));
    world.down(0, &octets(2, 500));
    let mut taken = Vec::new();
    world.cell.pcu_mut().take_waiting(Some(0), |pdu| taken.push(pdu.frame.to_vec()));
    world.cell.touched(world.around.now, None, &world.mobiles);
    assert_eq!(taken, [octets(2, 500)]);
    world.settle();
    assert_eq!((world.told.len(), world.cell.pcu().tbfs(), world.cell.next_event()), (1, (0, 0), None));
}

#[test]
fn a_mobile_that_leaves_takes_what_has_not_arrived() {
    let mut world = World::new(&Plan::default());
    for name in 0..6 {
        world.down(0, &octets(name, 900));
        world.up(0, &octets(100 + name, 500));
    }
    world.pass(Duration::from_millis(1300));
    let (down, up) = (world.arrived(Down).len(), world.arrived(Up).len());
    assert!((1..6).contains(&down) && (1..6).contains(&up), "{down} {up}");
    let mut left = [Vec::new(), Vec::new()];
    world.cell.pcu_mut().forget_mobile(0, |pdu| left[0].push(pdu.frame.to_vec()));
    world.cell.leave(0);
    let mac = &mut world.mobiles[0].mac;
    mac.change_cell(CellOptions::default());
    mac.take_queue(|pdu| left[1].push(pdu.frame.to_vec()));
    let of = |from: usize, base: u32, len| {
        (from as u32..6).map(|name| octets(base + name, len)).collect::<Vec<_>>()
    };
    assert_eq!(left, [of(down, 0, 900), of(up, 100, 500)]);
    world.cell.touched(world.around.now, None, &world.mobiles);
    world.settle();
    assert_eq!((world.cell.pcu().tbfs(), world.around.frames.free()), ((0, 0), FRAMES));
}

#[test]
fn a_bulk_transfer_fills_its_blocks() {
    // CS-2, three timeslots, acknowledged, a report with each tenth block: nothing is sent twice and little beside the data.
    let mut world = World::new(&Plan::default());
    for name in 0..60 {
        world.down(0, &octets(name, 800));
    }
    world.settle();
    let counts = *world.cell.pcu().counts();
    let [new, needed, repeated, stalled, _] = counts.data;
    assert_eq!((needed, repeated, stalled), (0, 0, 0), "{counts:?}");
    // 60 times 800 octets and a length indicator each.
    assert!((1602..1612).contains(&new), "{counts:?}");
    assert!(counts.control + counts.dummy < new / 50, "{counts:?}");
    let last = world.told.iter().map(|told| told.at.0).max().unwrap();
    let rate = 60.0 * 800.0 * 8.0 / (last as f64 / 1e9);
    assert!(rate > 0.95 * 36_000.0 && rate < 36_000.0, "{rate} bit/s");
}

/// A mobile that asks for an uplink TBF in several reports, since it has not heard the first assignment, gets one: what the TBF has
/// carried is not carried again by another.
#[test]
fn what_a_mobile_asks_for_twice_it_gets_once() {
    for seed in 0..60 {
        let link = Link::with_rate(0.1 + 0.01 * (seed % 30) as f64);
        let mut plan = Plan { seed, link, ..Plan::default() };
        plan.network.policy.poll_every = 2 + (seed % 5) as u16;
        let mut world = World::new(&plan);
        for name in 0..40 {
            world.down(0, &octets(name, 600));
            world.up(0, &octets(1000 + name, 60 + 20 * (name as usize % 9)));
            world.pass(Duration::from_millis(130 + 17 * u64::from(name % 7)));
        }
        world.settle_of(seed);
        assert_eq!(world.cell.counts().faults, Faults::default(), "seed {seed}");
        for (way, first) in [(Down, 0), (Up, 1000)] {
            let told = world.told.iter().filter(|told| told.direction == way).map(|told| told.octets.clone());
            let mut told: Vec<Vec<u8>> = told.collect();
            told.sort();
            let name = |octets: &Vec<u8>| u32::from_be_bytes(octets[..4].try_into().unwrap()) - first;
            assert_eq!(told.iter().map(name).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}
