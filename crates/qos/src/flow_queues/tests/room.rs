//! What is free is shared, and who waits for the processor has a share of its time.

use super::*;

#[test]
fn some_room_is_left_for_others() {
    let config = Config { room_part: 4, ..CONFIG };
    let high = FlowConfig { precedence: Precedence::High, ..FLOW };
    let flows = [FLOW, FLOW, FLOW, high, FlowConfig { class: Class::RealTime, ..FLOW }];
    let mut queues = queues(config, &flows);
    // Who is told of sends no more; the others go on until they are told of as well.
    let mut told = Vec::new();
    for item in 0..13 {
        for name in (0..3).filter(|name| !told.contains(name)).collect::<Vec<u32>>() {
            if offer(&mut queues, name, item).0.crossed_high {
                told.push(name);
            }
        }
    }
    assert_eq!(told, [1, 2, 0]);
    assert_eq!([0, 1, 2].map(|name| queues.backlog(name).pdus), [9, 9, 9], "a quarter of what is left");
    // Where nobody listens it is dropped, and told of once.
    let refused = Enqueued { accepted: false, crossed_high: false };
    assert_eq!(offer(&mut queues, 0, 99), (refused, vec![(0, 99, Drop::FlowQueueNodeFull)]));
    // Who has other limits is not told of.
    for name in [3, 4] {
        assert!(!(0..15).any(|item| offer(&mut queues, name, item).0.crossed_high));
    }
    // As it comes down to half of a share the driver is told; the more room there is the sooner.
    let mut left = Vec::new();
    while let Some(served) = queues.dequeue(Instant::ZERO) {
        left.extend(served.crossed_low.then(|| (served.flow, queues.backlog(served.flow).pdus)));
    }
    left.sort_unstable();
    assert_eq!(left.iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), [0, 1, 2], "{left:?}");
    assert!(left.iter().all(|(_, pdus)| (1..9).contains(pdus)), "{left:?}");
}

/// The processor has always had something to do, packets that take it so long.
fn work_on(queues: &mut FlowQueues<u32>, now: &mut Instant, each_ns: u64) {
    let waiting = queues.backlog(3).pdus;
    for _ in 0..100 {
        now.0 += each_ns;
        queues.enqueue(*now, 3, 100, 0, &mut |gone| panic!("{gone:?}"));
        assert_eq!(queues.dequeue(*now).map(|served| served.flow), Some(3));
    }
    assert_eq!(queues.backlog(3).pdus, waiting);
}

#[test]
fn who_waits_for_the_processor_has_a_share_of_its_time() {
    let limit = Limit { pdus: 400, octets: u32::MAX };
    let cell = CellConfig { limit, real_time: None };
    let config = Config { nodes_max: 400, room_part: 4, behind: Duration::from_micros(61), cell, ..CONFIG };
    let urgent = FlowConfig { class: Class::RealTime, ..FLOW };
    let mut queues = queues(config, &[FLOW, FLOW, FLOW, urgent]);
    let until_told = |queues: &mut FlowQueues<u32>, flow| {
        (0..100).find(|item| offer(queues, flow, *item).0.crossed_high).map(|item| item + 1)
    };
    let mut now = Instant(1);
    // What is blocked does not wait for the processor.
    queues.block(2);
    assert_eq!(until_told(&mut queues, 2), Some(15 + 65), "a quarter of all, and of what that leaves");
    queues.remove(2, |_, _| {});
    assert!(queues.configure(2, &FLOW));
    // One waits all the time, and packets take a microsecond each.
    assert!(queues.enqueue(now, 3, 100, 0, &mut |_| {}).accepted);
    work_on(&mut queues, &mut now, 1000);
    assert_eq!(until_told(&mut queues, 0), Some(12), "a quarter of what it leaves itself");
    assert_eq!(until_told(&mut queues, 1), Some(10));
    let mut left = Vec::new();
    while let Some(served) = queues.dequeue(now) {
        left.extend(served.crossed_low.then(|| (served.flow, queues.backlog(served.flow).pdus)));
    }
    left.sort_unstable();
    assert_eq!(left.iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), [0, 1], "{left:?}");
    // A dearer packet: less room, but for the least.
    assert!(queues.enqueue(now, 3, 100, 0, &mut |_| {}).accepted);
    work_on(&mut queues, &mut now, 3000);
    assert_eq!(until_told(&mut queues, 0), Some(4), "a quarter of a third");
    work_on(&mut queues, &mut now, 60_000);
    assert_eq!(until_told(&mut queues, 1), Some(2), "the least");
}

#[test]
fn what_a_pause_of_the_processor_has_gathered_is_no_crowd() {
    let after = Duration::from_millis(8);
    let mut queues = queues(Config { flows_max: 30, crowd: 16, behind_after: after, ..CONFIG }, &[FLOW; 30]);
    for name in 0..30 {
        assert!(offer(&mut queues, name, 0).0.accepted, "{name}");
    }
    // A millisecond of work later there are as many again.
    let mut now = Instant(0);
    for _ in 0..999 {
        now.0 += 1000;
        let Some(served) = queues.dequeue(now) else { panic!() };
        assert!(!queues.has_enough());
        queues.enqueue(now, served.flow, 100, 0, &mut |gone| panic!("{gone:?}"));
    }
    let Some(served) = queues.dequeue(now) else { panic!() };
    assert_eq!((queues.backlog(served.flow).pdus, queues.has_enough()), (0, true));
    assert_eq!(offer(&mut queues, served.flow, 0).1, [(served.flow, 0, Drop::FlowQueueNodeFull)]);
    // Once everybody has had his turn a crowd may come again.
    while queues.dequeue(now).is_some() {}
    assert!((0..30).all(|name| offer(&mut queues, name, 0).0.accepted));
}

#[test]
fn a_crowd_that_the_processor_cannot_serve_soon_grows_no_more() {
    let high = FlowConfig { precedence: Precedence::High, ..FLOW };
    let mut flows = [FLOW; 24];
    flows[22] = high;
    flows[23] = FlowConfig { class: Class::RealTime, ..FLOW };
    let config = Config { flows_max: 24, crowd: 20, ..CONFIG };
    let mut queues = queues(config, &flows);
    for name in 0..20 {
        assert!(offer(&mut queues, name, 0).0.accepted, "{name}");
    }
    assert_eq!(offer(&mut queues, 20, 0).1, [(20, 0, Drop::FlowQueueNodeFull)]);
    // Who waits already, is urgent or precious is not part of it.
    for name in [5, 22, 23] {
        assert!(offer(&mut queues, name, 1).0.accepted, "{name}");
    }
    // Some are served, and others may come.
    assert_eq!((0..4).filter_map(|_| queues.dequeue(Instant::ZERO)).count(), 4);
    assert!(offer(&mut queues, 20, 0).0.accepted);
}

#[test]
fn of_very_many_that_come_once_in_a_while_few_wait() {
    let mut queues = queues(Config { flows_max: 1000, crowd: 32, ..CONFIG }, &[FLOW; 1000]);
    // Served at once, one after the other: more flows than could wait.
    for name in 0..64 {
        assert!(offer(&mut queues, name, 0).0.accepted && queues.dequeue(Instant::ZERO).is_some());
    }
    assert!(!queues.has_enough());
    for name in 100..102 {
        assert!(offer(&mut queues, name, 0).0.accepted && queues.has_enough(), "{name}");
    }
    assert_eq!(offer(&mut queues, 102, 0).1, [(102, 0, Drop::FlowQueueNodeFull)]);
    // Who waits already may have more, and with a backlog he does not keep others from coming.
    assert!(offer(&mut queues, 100, 1).0.accepted && offer(&mut queues, 101, 1).0.accepted);
    assert_eq!((0..2).filter_map(|_| queues.dequeue(Instant::ZERO)).count(), 2);
    assert!(offer(&mut queues, 103, 0).0.accepted);
    assert_eq!((0..3).filter_map(|_| queues.dequeue(Instant::ZERO)).count(), 3);
    // A few that come again and again may wait all together, as always.
    for at in 0..64 {
        assert!(offer(&mut queues, at % 20, 0).0.accepted && queues.dequeue(Instant::ZERO).is_some());
    }
    for name in 0..32 {
        assert!(offer(&mut queues, name, 0).0.accepted && !queues.has_enough(), "{name}");
    }
}

#[test]
fn one_that_is_pushed_out_can_end_a_backlog() {
    let high = Limit { pdus: 3, octets: u32::MAX };
    let low =
        FlowConfig { precedence: Precedence::Low, high, low: Limit { pdus: 2, octets: u32::MAX }, ..FLOW };
    let flows = [low, FlowConfig { precedence: Precedence::High, ..FLOW }];
    let mut queues = queues(Config { nodes_max: 3, ..CONFIG }, &flows);
    fill(&mut queues, 0, 0..3);
    let mut told = Vec::new();
    for item in [10, 11] {
        queues.enqueue(Instant::ZERO, 1, 100, item, &mut |gone| told.push((gone.item, gone.crossed_low)));
    }
    assert_eq!(told, [(2, true), (1, false)]);
    assert_eq!(queues.view(0).map(|view| (view.queued.pdus, view.above, view.dropped)), Some((1, false, 2)));
}

/// What half of the flows, which send so many times their share, get of what the others get, which send twice theirs. Packets
/// come independently of each other, and one is served in each microsecond.
fn part_of_the_others(config: Config, times: f64) -> f64 {
    const FLOWS: u32 = 400;
    let room = CellConfig { limit: Limit { pdus: 60_000, octets: u32::MAX }, real_time: None };
    let config = Config { flows_max: FLOWS, nodes_max: 60_000, cell: room, behind: Duration::ZERO, ..config };
    let config = Config { behind_after: Duration::ZERO, behind_least: 0, ..config };
    let mut queues = queues(config, &[FLOW; FLOWS as usize]);
    let mut dice = gannet_machine::rng::Rng::seeded(7);
    let mut after = |flow: u32, at_us: f64| {
        let share = if flow < FLOWS / 2 { times } else { 2.0 };
        at_us - f64::from(FLOWS) / share * (1.0 - dice.unit()).ln()
    };
    let mut next: Vec<f64> = (0..FLOWS).map(|flow| after(flow, 0.0)).collect();
    let mut served = [0_u32; 2];
    for now_us in 0..200 * FLOWS {
        let now = Instant(u64::from(now_us) * 1000);
        for (flow, due) in (0..FLOWS).zip(&mut next) {
            while *due <= f64::from(now_us) {
                queues.enqueue(now, flow, 100, 0, &mut |_| {});
                *due = after(flow, *due);
            }
        }
        if let Some(packet) = queues.dequeue(now) {
            served[usize::from(packet.flow >= FLOWS / 2)] += 1;
        }
    }
    f64::from(served[0]) / f64::from(served[1])
}

#[test]
fn shares_are_equal_though_few_packets_of_each_flow_wait() {
    let defaults = Config::default();
    let least = |room_least| Config { room_least, ..defaults.clone() };
    for (times, part) in [(1.2, 0.98), (1.5, 0.99)] {
        let got = part_of_the_others(defaults.clone(), times);
        assert!((part..1.02).contains(&got), "{got} of what the others get at {times} times the share");
    }
    // Where a flow has room for a single packet, what comes unevenly is lost.
    assert!(part_of_the_others(least(1), 1.2) < 0.8);
}
