//! LL-PDUs over TBFs of one mobile.

use crate::world::{FRAMES, Plan, World, octets};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::air::Direction::{Down, Up};

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
