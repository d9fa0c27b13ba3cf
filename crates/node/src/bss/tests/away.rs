//! A mobile that has left the air of its cell and is in no other yet.

use super::*;

#[test]
fn what_comes_for_a_mobile_between_two_cells_waits_for_it() {
    let mut world = World::new();
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.downlink(2, A, 100, 0xffff);
    world.mobile_sends(5, UmKind::Away, 0, A, &[]);
    world.downlink(2, A, 200, 0xffff);
    assert_eq!(world.bss.cell(0).unwrap().away.octets, 300);
    world.run_until(3000);
    assert_eq!(lengths(&world), [0; 0], "it hears nothing");
    // It comes back where it was.
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.run_until(4000);
    assert_eq!(lengths(&world), [100, 200]);
    // And goes to another cell, whose SGSN learns of it later.
    world.um.clear();
    world.mobile_sends(5, UmKind::Away, 0, A, &[]);
    world.downlink(2, A, 70, 0xffff);
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    let new_bvci = Some(Bvci(3));
    let flush = Message::FlushLl { tlli: A, old_bvci: Bvci(2), new_bvci, new_nsei: None };
    world.send(Bvci::SIGNALLING, &flush.to_vec());
    assert_eq!(world.uplink, [moved(A, 70)]);
    world.run_until(5000);
    assert_eq!((lengths(&world), world.around.frames.free()), (vec![70], 64));
}
