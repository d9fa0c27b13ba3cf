use super::*;

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
    octets_max: 1520,
    visit_real_time: 1,
    visit_best_effort: 2,
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
