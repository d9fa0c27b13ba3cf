//! What a packet costs in the input queues, enqueued and dequeued, by the number of flows that have a backlog, in ns.
//!
//! `cargo bench -p gannet-rt --bench flow_queues`. Each measure is of 16 packets that arrive for random flows, and 16
//! that are served. "few wait": the node keeps up, and 64 packets are queued. "all wait": every flow has a backlog, so
//! beyond the caches each packet costs a miss for its flow and for its place in the table when it comes and when it
//! goes. "ahead": the arrivals' flows and the next turns are asked for ahead, as the SGSN does it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gannet_machine::time::Instant;
use gannet_qos::class::{Class, Precedence};
use gannet_qos::flow_queues::{CellConfig, Config, Cost, FlowConfig, FlowQueues, Limit};
use gannet_rt::PREFETCH;
use std::hint::black_box;
use std::num::NonZeroU64;

/// Stands for a frame: 40 octets and a value that none of them has, so a packet in the table is one line of the cache.
type Item = (NonZeroU64, [u64; 4]);

const CELLS: u32 = 400;
const BATCH: usize = 16;

/// Queues with `flows` flows and `waiting` packets, which came in random order.
fn queues(flows: u32, waiting: u32) -> FlowQueues<Item> {
    let mut queues = FlowQueues::new(Config {
        flows_max: flows,
        cells_max: CELLS,
        nodes_max: waiting.max(65_536) + 64,
        cell: CellConfig { limit: Limit::NONE, real_time: None },
        cost: Cost { per_pdu_ns: 800, per_1024_octets_ns: 200 },
        ..Config::default()
    });
    for flow in 0..flows {
        let config = FlowConfig {
            class: Class::BestEffort,
            precedence: Precedence::Normal,
            weight: 1,
            cell: flow % CELLS,
            limit: Limit { pdus: 1000, octets: 1_000_000 },
            high: Limit { pdus: 700, octets: 700_000 },
            low: Limit { pdus: 300, octets: 300_000 },
        };
        assert!(queues.configure(flow, &config));
    }
    let mut order: Vec<u32> = (0..flows).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    for flow in order.iter().cycle().take(waiting as usize) {
        put(&mut queues, *flow);
    }
    queues
}

fn put(queues: &mut FlowQueues<Item>, flow: u32) {
    let enqueued = queues.enqueue(Instant(5), flow, 378, (NonZeroU64::MIN, [7; 4]), &mut |_| unreachable!());
    assert!(enqueued.accepted);
}

/// A batch of arrivals for random flows, then as many packets served.
fn batch(queues: &mut FlowQueues<Item>, arrivals: &[u32], ahead: bool) {
    if ahead {
        arrivals.iter().for_each(|flow| queues.prefetch(*flow, PREFETCH));
        (0..).zip(arrivals).for_each(|(before, flow)| queues.prefetch_end(*flow, before, PREFETCH));
    }
    for flow in arrivals {
        put(queues, *flow);
    }
    for _ in 0..BATCH {
        if ahead {
            queues.look_ahead(PREFETCH, |_| ());
        }
        black_box(queues.dequeue(Instant(9)));
    }
}

fn by_flows(criterion: &mut Criterion) {
    for (name, few, ahead) in [
        ("few wait", true, false),
        ("few wait, ahead", true, true),
        ("all wait", false, false),
        ("all wait, ahead", false, true),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(BATCH as u64));
        for flows in [1_u32, 1000, 100_000, 1_000_000] {
            let mut queues = queues(flows, if few { 64 } else { (flows * 2).max(64) });
            let mut rng = fastrand::Rng::with_seed(2);
            group.bench_function(BenchmarkId::from_parameter(flows), |bencher| {
                bencher.iter_batched(
                    || [(); BATCH].map(|()| rng.u32(..flows)),
                    |arrivals| batch(&mut queues, &arrivals, ahead),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
}

criterion_group!(benches, by_flows);
criterion_main!(benches);
