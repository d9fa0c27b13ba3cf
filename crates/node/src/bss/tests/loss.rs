//! What the radio loses.

use super::*;

#[test]
fn the_radio_loses_what_it_is_told_to() {
    for percent in [0, 50, 90] {
        let mut world = World::with(|config| config.loss_percent = percent);
        world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
        for turn in 0..60 {
            world.downlink(2, A, 20, 0xffff);
            world.mobile_sends(5, UmKind::LlPdu, 0, A, &[0x43, 0, 0, 0, 0]);
            world.run_until(1000 * (1 + turn));
        }
        let arrived = [world.um.len(), world.unitdata.len()];
        let missing = 120 - arrived.iter().sum::<usize>() as u64;
        assert_eq!(world.drops(Drop::BssRadioLoss), missing);
        let expected = 60 * usize::from(100 - percent) / 100;
        assert!(arrived.iter().all(|arrived| arrived.abs_diff(expected) <= 15), "{percent}: {arrived:?}");
        assert_eq!((missing == 0, world.around.frames.free()), (percent == 0, 64));
    }
}
