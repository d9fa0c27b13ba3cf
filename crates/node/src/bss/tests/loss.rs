//! What the radio loses.

use super::*;

#[test]
fn the_radio_loses_what_it_is_told_to() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    for (second, percent) in [(1, 0), (61, 50), (121, 90)] {
        world.bss.config.loss_percent = percent;
        let (lost, down, up) = (world.drops(Drop::BssRadioLoss), world.um.len(), world.unitdata.len());
        for turn in 0..60 {
            world.downlink(2, A, 20, 0xffff);
            world.mobile_sends(5, UmKind::LlPdu, 0, A, &[0x43, 0, 0, 0, 0]);
            world.run_until(1000 * (second + turn));
        }
        let arrived = [world.um.len() - down, world.unitdata.len() - up];
        let missing = 120 - arrived.iter().sum::<usize>() as u64;
        assert_eq!(world.drops(Drop::BssRadioLoss) - lost, missing);
        let expected = 60 * usize::from(100 - percent) / 100;
        assert!(arrived.iter().all(|arrived| arrived.abs_diff(expected) <= 15), "{percent}: {arrived:?}");
        assert_eq!(missing == 0, percent == 0);
    }
    assert_eq!(world.around.frames.free(), 64);
}
