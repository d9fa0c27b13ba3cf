//! Streams come, change and go.

use super::*;

fn order(queues: &mut EdgeQueues<u32>) -> Vec<(u32, u32)> {
    core::iter::from_fn(|| take(queues)).collect()
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut queues = queues(exact(), &[stream(Service::Assured, 1500)]);
    let before = queues.view(0);
    let refused = queues.configure(Instant::ZERO, 1, &stream(Service::NetworkControl, 600));
    assert_eq!(refused, Err(StreamError::NoRoom { needs: 15_000, left: 12_500 }));
    assert!(refused.unwrap_err().to_string().contains("15000"));
    assert_eq!(
        queues.configure(Instant::ZERO, 8, &stream(Service::Assured, 1)),
        Err(StreamError::Unknown { streams_max: 8 })
    );
    // Its own allocation is no reason against it.
    assert_eq!(queues.configure(Instant::ZERO, 0, &stream(Service::Assured, 2000)), Ok(()));
    let too_fast = StreamConfig { rate: u32::MAX, burst: u32::MAX, ..stream(Service::Assured, 0) };
    assert!(matches!(
        queues.configure(Instant::ZERO, 0, &too_fast),
        Err(StreamError::NoRoom { left: 50_000, .. })
    ));
    assert_eq!(queues.configure(Instant::ZERO, 0, &stream(Service::Assured, 1500)), Ok(()));
    assert_eq!((queues.view(0), queues.view(1)), (before, None));
}

#[test]
fn an_allocation_waits_for_buffers_that_others_use() {
    let mut queues = queues(exact(), &[stream(Service::BestEffort, 0)]);
    assert_eq!(fill(&mut queues, 0, 1000).0, 26, "half of what is shared, and one");
    queues.configure(Instant::ZERO, 1, &stream(Service::Assured, 1200)).unwrap();
    queues.configure(Instant::ZERO, 2, &stream(Service::Assured, 400)).unwrap();
    let granted = |queues: &EdgeQueues<u32>| [1, 2].map(|at| queues.view(at).unwrap().granted);
    assert_eq!(granted(&queues), [24_000, 0]);
    // Until they have theirs nobody gets more shared buffers.
    assert_eq!(offer(&mut queues, 0, 20), Some(Drop::EdgeSharedFull));
    take(&mut queues).unwrap();
    assert_eq!(granted(&queues), [25_000, 0]);
    (0..8).for_each(|_| assert!(take(&mut queues).is_some()));
    assert_eq!(granted(&queues), [30_000, 3000], "in the order in which they came");
    // A stream's own excess counts for it at once.
    queues.configure(Instant::ZERO, 0, &stream(Service::BestEffort, 400)).unwrap();
    assert_eq!(queues.view(0).unwrap().granted, 10_000);
    // One that goes makes room for those who wait.
    queues.remove(1);
    assert_eq!(queues.view(2).unwrap().granted, 10_000);
}

#[test]
fn a_stream_that_goes_leaves_its_packets_to_be_served() {
    let mut queues = queues(exact(), &[stream(Service::Assured, 400), stream(Service::Assured, 400)]);
    (0..10).for_each(|_| assert_eq!(offer(&mut queues, 0, 1000), None));
    queues.block(0);
    queues.remove(0);
    assert_eq!((offer(&mut queues, 0, 1), queues.view(0)), (Some(Drop::EdgeUnknownStream), None));
    // Another one under its name begins where it has left off.
    queues.configure(Instant::ZERO, 0, &stream(Service::Assured, 400)).unwrap();
    assert_eq!(queues.view(0).unwrap().occupied, 10_000);
    assert_eq!(offer(&mut queues, 0, 7), None);
    let mut expected = vec![(0, 1000); 10];
    expected.push((0, 7));
    assert_eq!(order(&mut queues), expected);
}

#[test]
fn a_stream_that_changes_its_queue_keeps_its_order() {
    let expedited = |queues: &mut EdgeQueues<u32>, at| {
        queues.configure(Instant::ZERO, at, &StreamConfig { burst: 5000, ..stream(Service::Expedited, 200) })
    };
    let mut queues = queues(exact(), &[stream(Service::Assured, 400), stream(Service::Assured, 400)]);
    for octets in [1000, 1001, 1002] {
        offer(&mut queues, 0, octets);
        offer(&mut queues, 1, octets);
    }
    expedited(&mut queues, 0).unwrap();
    let view = queues.view(0).unwrap();
    assert!(view.moving && view.occupied == 0 && view.granted == 10_000, "{view:?}");
    // What it has in the former queue is shared there.
    assert_eq!(queues.queue(Lane::Assured), QueueView { pool: 50_000, granted: 10_000, free: 36_997 });
    assert_eq!(queues.configure(Instant::ZERO, 0, &stream(Service::Assured, 400)), Err(StreamError::Moving));
    for octets in [500, 501] {
        assert_eq!(offer(&mut queues, 0, octets), None);
    }
    assert_eq!(queues.view(0).unwrap().occupied, 1001, "counted where they will wait");
    let order = order(&mut queues);
    let of =
        |stream| order.iter().filter(|(of, _)| *of == stream).map(|(_, octets)| *octets).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (vec![1000, 1001, 1002, 500, 501], vec![1000, 1001, 1002]));
    assert!(!queues.view(0).unwrap().moving);
    // And back, now that it has arrived.
    assert_eq!(queues.configure(Instant::ZERO, 0, &stream(Service::Assured, 400)), Ok(()));
}

#[test]
fn a_blocked_stream_is_passed_and_returns_to_the_head() {
    let mut queues = queues(exact(), &[stream(Service::Assured, 400), stream(Service::Assured, 400)]);
    for octets in [100, 101, 102] {
        offer(&mut queues, 0, octets);
        offer(&mut queues, 1, octets + 10);
    }
    queues.block(0);
    assert_eq!([take(&mut queues), take(&mut queues)], [Some((1, 110)), Some((1, 111))]);
    offer(&mut queues, 0, 103);
    queues.unblock(0);
    assert_eq!(order(&mut queues), [(0, 100), (0, 101), (0, 102), (1, 112), (0, 103)]);
    // All that waits is blocked: nothing to come back for.
    queues.block(0);
    offer(&mut queues, 0, 104);
    assert_eq!((queues.next_conforming(Instant(9)), take(&mut queues)), (None, None));
    queues.unblock(0);
    assert_eq!((queues.next_conforming(Instant(9)), take(&mut queues)), (Some(Instant(9)), Some((0, 104))));
}
