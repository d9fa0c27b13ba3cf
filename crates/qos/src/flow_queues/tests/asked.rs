//! Whoever takes packets out is asked before.

use super::*;

#[test]
fn what_may_not_go_stays_where_it_is_and_keeps_nobody_else() {
    let real_time = FlowConfig { class: Class::RealTime, ..FLOW };
    for flows in [[FLOW; 3], [real_time; 3], [real_time, FLOW, real_time]] {
        // Real time of the cell has a token each 100 µs, so that flows wait for those as well.
        let rate = Some(Rate { per_s: 1_000_000, burst: 1 });
        let mut queues = queues(CONFIG, &flows);
        queues.set_cell(Instant::ZERO, 0, CellConfig { limit: Limit::NONE, real_time: rate });
        for flow in 0..3 {
            fill(&mut queues, flow, flow * 100..flow * 100 + 12);
        }
        let (mut items, mut now) = ([vec![], vec![], vec![]], Instant::ZERO);
        let mut serve_all = |queues: &mut FlowQueues<u32>, most_of_first: usize| {
            let left = most_of_first - items[0].len();
            let mut asked = 0;
            while let Some(it) = queues.dequeue_where(now, |flow, octets| {
                assert_eq!(octets, 100);
                asked += usize::from(flow == 0);
                flow > 0 || asked <= left
            }) {
                items[it.flow as usize].push(it.item);
                now = Instant(now.0 + 10_000);
            }
            items.each_ref().map(Vec::len)
        };
        assert_eq!(serve_all(&mut queues, 3), [3, 12, 12], "{flows:?}");
        let view = queues.view(0).unwrap();
        assert!(view.blocked && view.queued.pdus == 9, "{view:?}");
        assert_eq!((queues.ready(), queues.has_work()), (0, false));
        queues.unblock(0);
        assert_eq!(serve_all(&mut queues, 12), [12; 3], "{flows:?}");
        for (flow, items) in (0..).zip(items) {
            assert_eq!(items, (flow * 100..flow * 100 + 12).collect::<Vec<_>>(), "in order, each once");
        }
    }
}

#[test]
fn one_call_asks_of_few_that_may_not_go() {
    let mut queues = queues(Config { flows_max: 50, ..CONFIG }, &[FLOW; 50]);
    for flow in 0..50 {
        fill(&mut queues, flow, flow * 100..flow * 100 + 1);
    }
    let (mut asked, mut calls) = (0, 0);
    while queues.has_work() {
        let before = asked;
        assert_eq!(queues.dequeue_where(Instant::ZERO, |_, _| (asked += 1, false).1), None);
        assert!((1..=16).contains(&(asked - before)), "{before} {asked}");
        calls += 1;
    }
    assert_eq!((asked, calls), (50, 4), "each once");
}
