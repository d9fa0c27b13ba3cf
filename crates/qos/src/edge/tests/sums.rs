//! Buffer counts are never negative, and their sum is the pool, under any sequence.

use super::*;
use crate::edge::stream::DUE;
use proptest::prelude::*;

const STREAMS: u32 = 5;

#[derive(Debug, Clone)]
enum Step {
    Offer { stream: u32, octets: u32 },
    Take,
    Block { stream: u32, blocked: bool },
    Configure { stream: u32, config: StreamConfig },
    Remove { stream: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    use Service::{Assured, BestEffort, Expedited, NetworkControl};
    let service = prop::sample::select(vec![Expedited, Assured, NetworkControl, BestEffort]);
    let config = (service, 0..100_000_u32, 0..6000_u32).prop_map(|(service, rate, burst)| StreamConfig {
        service,
        rate,
        burst,
    });
    let octets =
        prop_oneof![Just(1_u32), Just(40), Just(200), Just(500), Just(1000), 1..3000_u32, Just(u32::MAX)];
    prop_oneof![
        20 => (0..STREAMS, octets).prop_map(|(stream, octets)| Step::Offer { stream, octets }),
        12 => Just(Step::Take),
        2 => (0..STREAMS, any::<bool>()).prop_map(|(stream, blocked)| Step::Block { stream, blocked }),
        3 => (0..STREAMS, config).prop_map(|(stream, config)| Step::Configure { stream, config }),
        1 => (0..STREAMS).prop_map(|stream| Step::Remove { stream }),
    ]
}

/// What a queue's streams have, added up anew.
fn check(queues: &EdgeQueues<u32>, lane: Lane) {
    let (mut granted, mut used, mut promised, mut due) = (0, 0, 0, 0);
    for at in 0..STREAMS {
        let (stream, rest) = queues.parts(at).unwrap();
        if stream.lane() == lane {
            granted += stream.share.granted;
            used += stream.share.excess();
            promised += rest.target;
            due += u32::from(stream.is(DUE));
            assert!(stream.share.granted <= rest.target);
            assert_eq!(stream.is(DUE), stream.share.granted < rest.target);
            // What it has reserved is not in the way of what it reserves.
            assert!(!stream.is(DUE) || stream.share.excess() == 0);
        } else {
            used += rest.before.excess();
        }
    }
    let queue = queues.queues.get(lane);
    let view = queues.queue(lane);
    assert_eq!((granted, granted + used + view.free), (view.granted, view.pool));
    assert_eq!((promised, due), (queue.promised, queue.due.len()));
    assert!(promised <= view.pool);
    // Nobody waits for buffers that are free.
    assert!(due == 0 || view.free == 0);
}

fn run(config: Config, steps: Vec<Step>) {
    let mut queues = queues(Config { streams_max: STREAMS, ..config }, &[]);
    for step in steps {
        match step {
            Step::Offer { stream, octets } => {
                offer(&mut queues, stream, octets);
            }
            Step::Take => {
                take(&mut queues);
            }
            Step::Block { stream, blocked: true } => queues.block(stream),
            Step::Block { stream, blocked: false } => queues.unblock(stream),
            Step::Configure { stream, config } => {
                queues.configure(Instant::ZERO, stream, &config).ok();
            }
            Step::Remove { stream } => queues.remove(stream),
        }
        check(&queues, Lane::Expedited);
        check(&queues, Lane::Assured);
    }
    for stream in 0..STREAMS {
        queues.remove(stream);
    }
    while take(&mut queues).is_some() {}
    for lane in [Lane::Expedited, Lane::Assured] {
        check(&queues, lane);
        let QueueView { pool, granted, free } = queues.queue(lane);
        assert_eq!((granted, free), (0, pool), "all came back");
    }
    assert_eq!(queues.waiting(), Waiting::default());
}

/// Small, so that everything is full most of the time.
fn small(config: Config) -> Config {
    let of = |queue: QueueConfig| QueueConfig {
        buffers: match queue.buffers {
            Accounting::BuffSize { octets, .. } => Accounting::BuffSize { buffers: 16, octets },
            Accounting::Exact { .. } => Accounting::Exact { octets: 7777 },
        },
        ..queue
    };
    Config { expedited: of(config.expedited), assured: of(config.assured), ..config }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn byte_exact_with_our_rule(steps in prop::collection::vec(step(), 1..200)) {
        run(small(exact()), steps);
    }

    #[test]
    fn in_buffers_with_the_papers_rule(steps in prop::collection::vec(step(), 1..200)) {
        run(small(paper()), steps);
    }
}
