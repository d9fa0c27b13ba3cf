//! User data of a mobile that has come into another routing area.

use super::*;
use gannet_wire::id::CellId;

const FOREIGN: Tlli = Tlli(0x8000_0001);
const NEW: Tlli = Tlli(0xc000_0002);
const RANDOM: Tlli = Tlli(0x7800_0001);
/// UI frames of SAPI 3, and of GMM.
const USER_DATA: u8 = 0x03;
const SIGNALLING: u8 = 0x01;

/// A mobile in cell 0 that has two LL-PDUs to send when it goes to cell 1, of another routing area, and asks for the update there.
fn came_elsewhere() -> World {
    let mut world = World::with(|config| {
        let CellId { rai, ci } = config.cells[1].id;
        config.cells[1].id = CellId { rai: Rai { rac: 8, ..rai }, ci };
    });
    for number in 0..3 {
        world.mobile_sends(5, UmKind::LlPdu, 0, A, &[&[USER_DATA, number], [0; 98].as_slice()].concat());
    }
    world.run_until(105);
    world.mobile_sends(5, UmKind::LlPdu, 1, FOREIGN, &[SIGNALLING, 3, 0, 0]);
    world.run_until(600);
    world
}

fn heard(world: &World) -> Vec<(Tlli, u8)> {
    world.unitdata.iter().map(|(header, octets)| (header.tlli, octets[1])).collect()
}

#[test]
fn c4_7_5_1_user_data_goes_behind_the_first_ll_pdu_with_a_local_tlli() {
    let mut world = came_elsewhere();
    assert_eq!(heard(&world), [(A, 0), (FOREIGN, 3)], "the update is under way");
    world.mobile_sends(5, UmKind::LlPdu, 1, NEW, &[SIGNALLING, 4, 0, 0]);
    world.run_until(1500);
    assert_eq!(heard(&world)[2..], [(NEW, 4), (NEW, 1), (NEW, 2)], "in their order, by the new name");
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn what_waited_for_too_long_or_for_an_attach_is_dropped_by_name() {
    let mut world = came_elsewhere();
    world.mobile_sends(5, UmKind::LlPdu, 1, RANDOM, &[SIGNALLING, 4, 0, 0]);
    world.run_until(1500);
    assert_eq!(heard(&world)[2..], [(RANDOM, 4)]);
    assert_eq!((world.drops(Drop::BssContactLost), world.around.frames.free()), (2, 64));

    let mut world = came_elsewhere();
    world.run_until(60_000);
    world.mobile_sends(5, UmKind::LlPdu, 1, NEW, &[SIGNALLING, 4, 0, 0]);
    world.run_until(62_000);
    assert_eq!(heard(&world)[2..], [(NEW, 4)]);
    assert_eq!((world.drops(Drop::BssLifetime), world.around.frames.free()), (2, 64));
}
