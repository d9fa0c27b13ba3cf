//! A mobile between two cells, or out of reach: its user data wait.

use super::*;

fn hold(bench: &mut Bench, cell: u32, ms: u32, on: bool) -> bool {
    bench.control.hold(&mut bench.around.context(), cell, ms, on)
}

fn offered(bench: &mut Bench, ms: u32, name: u32, octets: usize) -> bool {
    let pdu = bench.pdu(BestEffort, name, octets);
    matches!(bench.control.offer(&mut bench.around.context(), (0, Some(ms)), pdu), Offered::Passes(_))
}

#[test]
fn user_data_of_one_who_is_held_wait_and_keep_their_order() {
    let mut bench = Bench::new();
    assert!(hold(&mut bench, 0, 1, true) && bench.control.is_held(1));
    assert!(!offered(&mut bench, 1, 1, 100), "although its bucket is empty");
    assert!(
        bench.put(1, RealTime, 2, 100) && bench.put(1, Signalling, 3, 50) && bench.put(1, BestEffort, 4, 100)
    );
    assert_eq!(bench.drain(), (vec![3], None), "signalling goes");
    assert!(offered(&mut bench, 2, 5, 100), "and so does another mobile");
    assert!(hold(&mut bench, 0, 1, false) && !bench.control.is_held(1));
    assert_eq!(bench.drain(), (vec![2, 1, 4], None));
    assert!(offered(&mut bench, 1, 6, 10));
    assert_eq!(bench.around.frames.free(), 64);
}

#[test]
fn it_moves_with_its_mobile_and_with_what_waits() {
    let mut bench = Bench::new();
    for name in 1..=3 {
        assert!(bench.put(1, BestEffort, name, 300));
    }
    assert!(hold(&mut bench, 0, 1, true));
    assert_eq!(bench.control.move_ms(&mut bench.around.context(), 1, 1).pdus, 3);
    assert_eq!(bench.drain(), (vec![], None));
    // What the BSS has moved is in the bucket before the first of them goes.
    bench.control.put_in(&mut bench.around.context(), 1, 1, 500);
    assert!(hold(&mut bench, 1, 1, false));
    assert_eq!(bench.drain(), (vec![], Some(400)));
    assert_eq!(bench.at(2000).drain().0, [1, 2]);
}

#[test]
fn limits_and_lifetimes_hold_as_ever() {
    let mut bench = Bench::new();
    assert!(hold(&mut bench, 0, 1, true));
    for name in 0..4 {
        assert!(bench.put_living(1, BestEffort, name, 10, 100 + u64::from(name)));
    }
    assert!(!bench.put(1, BestEffort, 9, 10));
    assert_eq!(bench.drops(Drop::FlowMsQueueFull), 1);
    assert_eq!(bench.drain(), (vec![], Some(100)), "it asks to be woken for the end of the first lifetime");
    assert_eq!(bench.at(100).drain(), (vec![], Some(101)));
    assert_eq!(bench.at(200).drain(), (vec![], None));
    assert_eq!((bench.drops(Drop::FlowLifetime), bench.around.frames.free()), (4, 64));
}

#[test]
fn who_is_held_keeps_his_place_in_a_full_table_and_loses_it_with_his_name() {
    let mut bench = Bench::new();
    assert!((0..3).all(|ms| hold(&mut bench, 0, ms, true)));
    assert!(!hold(&mut bench, 0, 3, true), "no room is left");
    assert!(hold(&mut bench, 0, 3, false), "and then nothing is to be let go");
    bench.control.forget(&mut bench.around.context(), 0);
    assert!(!bench.control.is_held(0) && hold(&mut bench, 0, 3, true));
}
