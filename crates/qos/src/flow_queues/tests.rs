mod asked;
mod room;

use super::*;
use gannet_machine::prefetch::Prefetch;

const FLOW: FlowConfig = FlowConfig {
    class: Class::BestEffort,
    precedence: Precedence::Normal,
    weight: 1,
    cell: 0,
    limit: Limit { pdus: 100, octets: 100_000 },
    high: Limit::NONE,
    low: Limit::NONE,
};

const CONFIG: Config = Config {
    flows_max: 8,
    cells_max: 2,
    nodes_max: 64,
    cell: CellConfig { limit: Limit { pdus: 64, octets: 64_000 }, real_time: None },
    node_real_time: None,
    cost: Cost { per_pdu_ns: 1000, per_1024_octets_ns: 0 },
    visit_best_effort: 2,
    ..Config::WITHOUT_ESTIMATES
};

/// Queues with these flows, named by their places.
fn queues(config: Config, flows: &[FlowConfig]) -> FlowQueues<u32> {
    let mut queues = FlowQueues::new(config);
    for (name, flow) in (0..).zip(flows) {
        assert!(queues.configure(name, flow));
    }
    queues
}

/// Offers a packet of 100 octets; what was dropped for it, by flow and name.
fn offer(queues: &mut FlowQueues<u32>, flow: u32, item: u32) -> (Enqueued, Vec<(u32, u32, Drop)>) {
    let mut dropped = Vec::new();
    let enqueued = queues.enqueue(Instant(item.into()), flow, 100, item, &mut |gone| {
        dropped.push((gone.flow, gone.item, gone.reason));
    });
    (enqueued, dropped)
}

fn fill(queues: &mut FlowQueues<u32>, flow: u32, items: core::ops::Range<u32>) {
    for item in items {
        assert_eq!(offer(queues, flow, item).1, []);
    }
}

/// Flow, item and turn of all that is served at `now`.
fn served(queues: &mut FlowQueues<u32>, now: Instant) -> Vec<(u32, u32, Turn)> {
    core::iter::from_fn(|| queues.dequeue(now)).map(|it| (it.flow, it.item, it.turn)).collect()
}

#[test]
fn a_full_queue_drops_what_comes() {
    let mut queues = queues(CONFIG, &[FlowConfig { limit: Limit { pdus: 2, octets: 100_000 }, ..FLOW }]);
    fill(&mut queues, 0, 0..2);
    let refused = Enqueued { accepted: false, crossed_high: false };
    assert_eq!(offer(&mut queues, 0, 2), (refused, vec![(0, 2, Drop::FlowQueueFull)]));
    // No such flow: it has no room.
    assert_eq!(offer(&mut queues, 1, 3), (refused, vec![(1, 3, Drop::FlowQueueFull)]));
    assert_eq!(offer(&mut queues, 99, 4), (refused, vec![(99, 4, Drop::FlowQueueFull)]));
    assert_eq!((queues.queued(), queues.totals().drops.total()), (Amount { pdus: 2, octets: 200 }, 3));
}

#[test]
fn the_lowest_gives_way_in_a_full_cell() {
    let level = |precedence, cell| FlowConfig { precedence, cell, ..FLOW };
    let flows = [
        level(Precedence::High, 0),
        level(Precedence::Normal, 0),
        level(Precedence::Low, 0),
        level(Precedence::Low, 0),
        level(Precedence::Low, 1),
    ];
    let limit = Limit { pdus: 6, octets: 64_000 };
    let mut queues = queues(Config { cell: CellConfig { limit, real_time: None }, ..CONFIG }, &flows);
    fill(&mut queues, 1, 10..12);
    fill(&mut queues, 2, 20..23);
    fill(&mut queues, 3, 30..31);
    fill(&mut queues, 4, 40..43);
    let gone = |name, item| vec![(name, item, Drop::FlowQueuePushedOut)];
    // Two of the longest, then one of the only one that has any.
    assert_eq!(offer(&mut queues, 0, 1).1, gone(2, 22));
    assert_eq!(offer(&mut queues, 1, 12).1, gone(2, 21));
    assert_eq!(offer(&mut queues, 0, 2).1, gone(2, 20));
    assert_eq!(offer(&mut queues, 0, 3).1, gone(3, 30));
    // No low one is left here, and the other cell's do not count: now normal ones go, but not for one of their like.
    assert_eq!(offer(&mut queues, 1, 13).1, [(1, 13, Drop::FlowQueueCellFull)]);
    assert_eq!(offer(&mut queues, 0, 4).1, gone(1, 12));
    // One that is blocked pushes nothing out.
    queues.block(0);
    assert_eq!(offer(&mut queues, 0, 5).1, [(0, 5, Drop::FlowQueueCellFull)]);
    queues.unblock(0);
    fill_by_push_out(&mut queues);
    assert_eq!(offer(&mut queues, 0, 9).1, [(0, 9, Drop::FlowQueueCellFull)]);
    assert_eq!(queues.cell(1).unwrap().queued[2].pdus, 3);
}

fn fill_by_push_out(queues: &mut FlowQueues<u32>) {
    for item in [6, 7] {
        assert_eq!(offer(queues, 0, item).1[0].2, Drop::FlowQueuePushedOut);
    }
}

#[test]
fn a_long_packet_pushes_out_several_or_none() {
    let flows = [
        FlowConfig { precedence: Precedence::High, ..FLOW },
        FlowConfig { precedence: Precedence::Low, ..FLOW },
    ];
    let limit = Limit { pdus: 64, octets: 1000 };
    let mut queues = queues(Config { cell: CellConfig { limit, real_time: None }, ..CONFIG }, &flows);
    fill(&mut queues, 1, 0..10);
    let mut gone = Vec::new();
    let mut note = |dropped: Dropped<u32>| gone.push((dropped.item, dropped.reason));
    assert!(!queues.enqueue(Instant::ZERO, 0, 1001, 90, &mut note).accepted);
    assert!(queues.enqueue(Instant::ZERO, 0, 250, 91, &mut note).accepted);
    let pushed = |item| (item, Drop::FlowQueuePushedOut);
    assert_eq!(gone, [(90, Drop::FlowQueueCellFull), pushed(9), pushed(8), pushed(7)]);
}

#[test]
fn a_full_node_takes_from_the_same_cell_only() {
    let flows = [
        FlowConfig { precedence: Precedence::High, ..FLOW },
        FlowConfig { precedence: Precedence::Low, ..FLOW },
        FlowConfig { precedence: Precedence::Low, cell: 1, ..FLOW },
    ];
    let mut queues = queues(Config { nodes_max: 4, ..CONFIG }, &flows);
    fill(&mut queues, 1, 10..11);
    fill(&mut queues, 2, 20..23);
    assert_eq!(offer(&mut queues, 0, 1).1, [(1, 10, Drop::FlowQueuePushedOut)]);
    assert_eq!(offer(&mut queues, 0, 2).1, [(0, 2, Drop::FlowQueueNodeFull)]);
    assert_eq!(served(&mut queues, Instant::ZERO).len(), 4);
    fill(&mut queues, 0, 3..7);
}

#[test]
fn rounds_go_in_their_order() {
    let class = |class| FlowConfig { class, ..FLOW };
    let flows = [
        class(Class::BestEffort),
        class(Class::RealTime),
        class(Class::Signalling),
        FlowConfig { weight: 3, ..FLOW },
        class(Class::RealTime),
    ];
    let mut queues = queues(CONFIG, &flows);
    for flow in 0..5 {
        fill(&mut queues, flow, flow * 10..flow * 10 + 4);
    }
    let order: Vec<u32> = served(&mut queues, Instant::ZERO).iter().map(|(_, item, _)| *item).collect();
    // A visit of real time is one packet here, one of best effort two for each unit of weight.
    assert_eq!(order, [20, 21, 22, 23, 10, 40, 11, 41, 12, 42, 13, 43, 0, 1, 30, 31, 32, 33, 2, 3]);
    assert_eq!((queues.has_work(), queues.totals().served), (false, [4, 8, 0, 6, 2]));
}

#[test]
fn what_comes_is_told_before_it_is_served() {
    let flows: Vec<FlowConfig> = (0..20).map(|flow| FlowConfig { cell: flow % 2, ..FLOW }).collect();
    let mut queues = queues(Config { flows_max: 20, nodes_max: 64, ..CONFIG }, &flows);
    for flow in 0..20 {
        fill(&mut queues, flow, flow * 10..flow * 10 + 3);
    }
    let look = |queues: &mut FlowQueues<u32>| {
        let (mut far, mut nearer, mut near) = (Vec::new(), Vec::new(), Vec::new());
        queues.look_ahead(Prefetch::NONE, |coming| match coming {
            Coming::Far(flow) => far.push(flow),
            Coming::Nearer(flow, cell) => {
                assert_eq!(cell, flow % 2, "its own");
                nearer.push(flow);
            }
            Coming::Near(_, item) => near.push(*item),
        });
        (far, nearer, near)
    };
    assert_eq!(look(&mut queues), ((0..12).collect(), (0..8).collect(), vec![0, 10, 20, 30]));
    // A visit is two packets: what is behind in the same queue, then what comes after the turn.
    queues.dequeue(Instant::ZERO);
    assert_eq!(look(&mut queues), (vec![], vec![], vec![1]));
    queues.dequeue(Instant::ZERO);
    // The first goes on behind those that had nothing waiting.
    assert_eq!(look(&mut queues), (vec![12, 0], vec![8, 0], vec![40, 2]));
}

#[test]
fn who_sends_less_than_its_share_waits_behind_nobody() {
    // A visit of best effort is two packets here.
    let mut queues = queues(CONFIG, &[FLOW; 4]);
    fill(&mut queues, 0, 0..8);
    fill(&mut queues, 1, 10..18);
    let next = |queues: &mut FlowQueues<u32>| queues.dequeue(Instant::ZERO).map(|it| (it.item, it.turn));
    let fresh: Vec<_> = (0..4).filter_map(|_| next(&mut queues)).collect();
    assert_eq!(fresh, [0, 1, 10, 11].map(|item| (item, Turn::Fresh)), "nobody had anything waiting");
    assert_eq!(next(&mut queues), Some((2, Turn::BestEffort)));
    fill(&mut queues, 2, 20..21);
    assert_eq!(next(&mut queues), Some((20, Turn::Fresh)));
    // What is left of its quantum, and no more before the others have gone round.
    fill(&mut queues, 2, 21..22);
    assert_eq!(next(&mut queues), Some((21, Turn::Fresh)));
    fill(&mut queues, 2, 22..23);
    let rest: Vec<u32> = core::iter::from_fn(|| next(&mut queues)).map(|(item, _)| item).take(8).collect();
    assert_eq!(rest, [3, 12, 13, 22, 4, 5, 14, 15]);
    // Now they have.
    fill(&mut queues, 2, 23..24);
    assert_eq!(next(&mut queues), Some((23, Turn::Fresh)));
}

#[test]
fn who_comes_back_to_a_backlog_goes_to_its_end() {
    let mut queues = queues(CONFIG, &[FLOW; 2]);
    let next = |queues: &mut FlowQueues<u32>| queues.dequeue(Instant::ZERO).map(|it| (it.item, it.turn));
    fill(&mut queues, 0, 0..6);
    fill(&mut queues, 1, 10..16);
    let fresh: Vec<_> = (0..4).filter_map(|_| next(&mut queues)).map(|(item, _)| item).collect();
    assert_eq!(fresh, [0, 1, 10, 11]);
    queues.block(1);
    let alone: Vec<_> = (0..3).filter_map(|_| next(&mut queues)).map(|(item, _)| item).collect();
    assert_eq!(alone, [2, 3, 4]);
    // The other had its turns meanwhile, but what waits is no news.
    queues.unblock(1);
    let rest: Vec<_> = core::iter::from_fn(|| next(&mut queues)).collect();
    assert_eq!(rest, [5, 12, 13, 14, 15].map(|item| (item, Turn::BestEffort)));
}

#[test]
fn real_time_arrives_ahead_of_a_visit_that_goes_on() {
    let mut queues = queues(CONFIG, &[FLOW, FlowConfig { class: Class::RealTime, ..FLOW }]);
    fill(&mut queues, 0, 0..3);
    assert_eq!(queues.dequeue(Instant(50)).map(|it| (it.item, it.since)), Some((0, Instant(0))));
    fill(&mut queues, 1, 10..11);
    let order: Vec<u32> = served(&mut queues, Instant::ZERO).iter().map(|(_, item, _)| *item).collect();
    assert_eq!(order, [10, 1, 2]);
}

#[test]
fn a_cell_limits_its_real_time_and_no_other() {
    let real_time = |cell| FlowConfig { class: Class::RealTime, cell, ..FLOW };
    let mut queues = queues(CONFIG, &[real_time(0), real_time(0), real_time(1), FLOW]);
    // A packet each 100 µs, after the first.
    let rate = Some(Rate { per_s: 1_000_000, burst: 1 });
    queues.set_cell(Instant::ZERO, 0, CellConfig { limit: Limit::NONE, real_time: rate });
    for flow in 0..4 {
        fill(&mut queues, flow, flow * 100..flow * 100 + 14);
    }
    let mut order = Vec::new();
    let mut now = Instant::ZERO;
    while let Some(it) = queues.dequeue(now) {
        order.push((now.0 / 1000, it.flow, it.turn));
        now = Instant(now.0 + 10_000);
    }
    assert_eq!(order.len(), 14 * 4);
    let ahead = |cell_0: bool| {
        order.iter().filter(move |it| it.2 == Turn::RealTime && (it.1 < 2) == cell_0).collect::<Vec<_>>()
    };
    // The other cell has no limit: its packets come first, but for the tokens of this one.
    assert!(ahead(false).len() == 14 && ahead(false).iter().all(|it| it.0 < 200));
    let instants: Vec<u64> = ahead(true).iter().map(|it| it.0).collect();
    assert_eq!(instants, [0, 100, 200, 300, 400, 500], "one for each token");
    // The tokens of a cell go to its flows in turn.
    let flows: Vec<u32> = ahead(true).iter().map(|it| it.1).collect();
    assert_eq!(flows, [0, 1, 0, 1, 0, 1]);
    // What is beyond the limit has its share of best effort, and nothing waits while there is something to do.
    let best_effort = |flow| order.iter().take(35).filter(|it| it.1 == flow && it.2 >= Turn::Fresh).count();
    assert_eq!([0, 1, 3].map(best_effort), [5, 6, 6]);
}

#[test]
fn the_node_limits_all_real_time_together() {
    let config = Config {
        flows_max: 64,
        nodes_max: 64 * 200,
        // Three tenths of the node's time; each packet costs 1 µs.
        node_real_time: Some(Rate { per_s: 300_000_000, burst: 1000 }),
        cell: CellConfig { limit: Limit::NONE, real_time: None },
        ..CONFIG
    };
    let limit = Limit { pdus: 200, octets: u32::MAX };
    let flow = |name| FlowConfig {
        class: if name < 32 { Class::RealTime } else { Class::BestEffort },
        limit,
        ..FLOW
    };
    let flows: Vec<FlowConfig> = (0..64).map(flow).collect();
    let mut queues = queues(config, &flows);
    for flow in 0..64 {
        fill(&mut queues, flow, flow * 200..flow * 200 + 200);
    }
    let mut counts = [[0_u32; 5]; 2];
    let mut last = [None; 64];
    for step in 0..6400_u64 {
        let it = queues.dequeue(Instant(step * 1000)).unwrap();
        counts[usize::from(it.flow >= 32)][it.turn as usize] += 1;
        assert!(last[it.flow as usize].replace(it.item) < Some(it.item), "in order");
    }
    let ahead = counts[0][Turn::RealTime as usize];
    assert!((1918..=1922).contains(&ahead), "three tenths are served ahead: {counts:?}");
    // The rest is shared by all 64 flows alike.
    let shared = counts.map(|of| of[Turn::Fresh as usize] + of[Turn::BestEffort as usize]);
    assert!(shared[0].abs_diff(shared[1]) <= 2 * 64, "{counts:?}");
    // Alone it is not held back, and owes nothing for that later.
    let mut alone = 0;
    while queues.dequeue(Instant(6_400_000)).is_some() {
        alone += 1;
    }
    assert_eq!(alone, 6400);
    fill(&mut queues, 40, 1..3);
    fill(&mut queues, 1, 3..4);
    let later = Instant(6_500_000);
    assert_eq!(queues.dequeue(later).map(|it| (it.flow, it.turn)), Some((1, Turn::RealTime)));
}

#[test]
fn high_precedence_is_lifted_before_it_comes_to_drops() {
    let high = Limit { pdus: 4, octets: u32::MAX };
    let low = Limit { pdus: 2, octets: u32::MAX };
    let flow = FlowConfig { high, low, ..FLOW };
    let flows = [
        flow,
        FlowConfig { precedence: Precedence::High, ..flow },
        FlowConfig { class: Class::RealTime, ..FLOW },
    ];
    let mut queues = queues(CONFIG, &flows);
    for name in [0, 1] {
        let crossed: Vec<bool> = (0..6).map(|item| offer(&mut queues, name, item).0.crossed_high).collect();
        assert_eq!(crossed, [false, false, false, true, false, false], "told once");
    }
    assert_eq!([0, 1, 2].map(|name| queues.view(name).unwrap().lifted), [false, true, false]);
    fill(&mut queues, 2, 50..51);
    let order: Vec<(u32, Turn, bool)> = core::iter::from_fn(|| queues.dequeue(Instant::ZERO))
        .map(|it| (it.flow, it.turn, it.crossed_low))
        .collect();
    let lifted = |crossed_low| (1, Turn::Lifted, crossed_low);
    let fresh = |flow| (flow, Turn::Fresh, false);
    let other = |flow, crossed_low| (flow, Turn::BestEffort, crossed_low);
    assert_eq!(order[0], (2, Turn::RealTime, false));
    assert_eq!(order[1..6], [lifted(false), lifted(false), lifted(false), lifted(true), lifted(false)]);
    assert_eq!(order[6..10], [fresh(0), fresh(0), fresh(1), other(0, false)]);
    assert_eq!(order[10..], [other(0, true), other(0, false), other(0, false)]);
    // And again, now told by octets.
    let config =
        FlowConfig { high: Limit { pdus: 99, octets: 200 }, low: Limit { pdus: 99, octets: 0 }, ..FLOW };
    assert!(queues.configure(0, &config));
    fill(&mut queues, 0, 1..2);
    assert!(offer(&mut queues, 0, 2).0.crossed_high && queues.view(0).unwrap().above);
    let crossed: Vec<bool> = (0..2).map(|_| queues.dequeue(Instant::ZERO).unwrap().crossed_low).collect();
    assert_eq!(crossed, [false, true]);
}

#[test]
fn blocked_flows_keep_what_they_have() {
    let mut queues = queues(CONFIG, &[FLOW, FLOW]);
    fill(&mut queues, 0, 0..5);
    fill(&mut queues, 1, 10..11);
    assert_eq!(queues.dequeue(Instant::ZERO).map(|it| it.item), Some(0));
    queues.block(0);
    queues.block(0);
    assert_eq!(queues.ready(), 1);
    assert_eq!(served(&mut queues, Instant::ZERO).len(), 1);
    fill(&mut queues, 0, 5..6);
    assert!(!queues.has_work() && queues.dequeue(Instant::ZERO).is_none());
    assert!(queues.view(0).unwrap().blocked);
    queues.unblock(0);
    queues.unblock(0);
    let items: Vec<u32> = served(&mut queues, Instant::ZERO).iter().map(|(_, item, _)| *item).collect();
    assert_eq!(items, [1, 2, 3, 4, 5]);
}

#[test]
fn a_blocked_cell_comes_back_whole() {
    let rate = Some(Rate { per_s: 1, burst: 1 });
    let flows: Vec<FlowConfig> = (0..8)
        .map(|name| FlowConfig {
            class: if name < 3 { Class::RealTime } else { Class::BestEffort },
            cell: u32::from(name == 7),
            ..FLOW
        })
        .collect();
    let mut queues = queues(CONFIG, &flows);
    queues.set_cell(Instant::ZERO, 0, CellConfig { limit: Limit::NONE, real_time: rate });
    for flow in 0..8 {
        fill(&mut queues, flow, flow * 10..flow * 10 + 2);
    }
    // Two real-time flows wait for a token when the cell is blocked, and the others' turns have not come.
    assert_eq!(queues.dequeue(Instant::ZERO).map(|it| it.item), Some(0));
    assert_eq!(queues.dequeue(Instant::ZERO).map(|it| it.item), Some(30));
    queues.block_cell(0);
    assert_eq!((queues.ready(), served(&mut queues, Instant::ZERO).len()), (2, 2));
    let much_later = Instant(u64::MAX / 2);
    assert!(!queues.has_work() && queues.dequeue(much_later).is_none());
    // Blocked, moved and unblocked again: still out of service, and in another cell in service.
    assert!(queues.move_cell(3, 1) && queues.move_cell(0, 1));
    queues.set_cell(much_later, 0, CellConfig { limit: Limit::NONE, real_time: rate });
    assert_eq!(served(&mut queues, much_later), [(0, 1, Turn::RealTime), (3, 31, Turn::BestEffort)]);
    queues.block(4);
    queues.unblock_cell(0);
    queues.block_cell(0);
    assert!(queues.dequeue(much_later).is_none());
    queues.unblock_cell(0);
    let mut items: Vec<u32> = served(&mut queues, much_later).iter().map(|(_, item, _)| *item).collect();
    assert_eq!(items.len(), 8);
    items.sort_unstable();
    assert_eq!(items, [10, 11, 20, 21, 50, 51, 60, 61]);
    queues.unblock(4);
    assert_eq!(served(&mut queues, much_later).len(), 2);
}

#[test]
fn a_flow_moves_changes_and_goes_with_its_backlog() {
    let mut queues = queues(CONFIG, &[FLOW, FLOW]);
    fill(&mut queues, 0, 0..3);
    fill(&mut queues, 1, 10..13);
    assert!(queues.move_cell(0, 1) && !queues.move_cell(0, 2) && !queues.move_cell(5, 1));
    assert!(!queues.configure(8, &FLOW) && !queues.configure(2, &FlowConfig { cell: 2, ..FLOW }));
    assert!(
        queues.configure(
            0,
            &FlowConfig { cell: 1, class: Class::RealTime, precedence: Precedence::High, ..FLOW }
        )
    );
    let held = queues.cell(1).unwrap().queued;
    assert_eq!(held[0], Amount { pdus: 3, octets: 300 });
    assert_eq!(queues.dequeue(Instant::ZERO).map(|it| (it.item, it.turn)), Some((0, Turn::RealTime)));
    let mut gone = Vec::new();
    queues.remove(0, |item, octets| gone.push((item, octets)));
    queues.remove(0, |_, _| unreachable!());
    assert_eq!((gone, queues.view(0), queues.totals().drained), (vec![(1, 100), (2, 100)], None, 2));
    // The place is taken anew while its former turns still stand in the rings.
    assert!(queues.configure(0, &FLOW));
    fill(&mut queues, 0, 20..21);
    let order: Vec<u32> = served(&mut queues, Instant::ZERO).iter().map(|(flow, ..)| *flow).collect();
    assert_eq!(order, [0, 1, 1, 1]);
    assert_eq!(queues.queued(), Amount::default());
}

#[test]
fn a_visit_is_never_in_vain() {
    // A cost that rises a thousandfold leaves a debt; the next visit serves a packet all the same.
    let mut queues = queues(CONFIG, &[FLOW, FLOW]);
    queues.set_cost(Cost { per_pdu_ns: u32::MAX, per_1024_octets_ns: u32::MAX });
    fill(&mut queues, 0, 0..3);
    fill(&mut queues, 1, 10..13);
    assert!(queues.dequeue(Instant::ZERO).is_some());
    queues.set_cost(Cost { per_pdu_ns: 0, per_1024_octets_ns: 0 });
    let order: Vec<u32> = served(&mut queues, Instant::ZERO).iter().map(|(_, item, _)| *item).collect();
    assert_eq!(order.len(), 5);
}

#[test]
fn what_has_waited_too_long() {
    let high = Limit { pdus: 5, octets: 10_000 };
    let low = Limit { pdus: 2, octets: 10_000 };
    let mut queues = queues(CONFIG, &[FlowConfig { high, low, ..FLOW }, FLOW]);
    fill(&mut queues, 0, 0..6);
    fill(&mut queues, 1, 0..2);
    queues.block(0);
    let mut gone = Vec::new();
    assert!(!queues.expire(0, Instant(3), |item, octets| gone.push((item, octets))));
    assert_eq!(gone, [(0, 100), (1, 100), (2, 100)]);
    assert!(queues.expire(0, Instant(4), |item, octets| gone.push((item, octets))), "two are left");
    assert_eq!((gone.last(), queues.backlog(0)), (Some(&(3, 100)), Amount { pdus: 2, octets: 200 }));
    assert_eq!((queues.ready(), queues.totals().drained), (2, 4));
    queues.unblock(0);
    assert!(!queues.expire(1, Instant(9), |_, _| ()));
    assert_eq!(
        (queues.ready(), queues.backlog(1), queues.backlog(99)),
        (2, Amount::default(), Amount::default())
    );
    let left: Vec<u32> = served(&mut queues, Instant(9)).into_iter().map(|(_, item, _)| item).collect();
    assert_eq!(left, [4, 5]);
    assert!(!queues.has_work() && queues.queued() == Amount::default());
}
