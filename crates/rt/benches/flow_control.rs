//! What downlink flow control costs for each PDU, in and out, in ns: criterion's figure is that of a batch of [`BATCH`]
//! PDUs, as the node does them between two looks at its sockets. "Offered" is the node's way, where a PDU that conforms
//! passes; "queued" takes each through its queue.
//!
//! Time is virtual and goes on as if 600,000 PDUs arrived each second.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gannet_machine::Surroundings;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_proto::bssgp::flow_control::{
    Bucket, BvcParameters, Config, Dequeue, FlowControl, Limit, Limits, Offered, Pdu, PduMeta, Watermarks,
};
use gannet_qos::class::{CellClass, Precedence};
use gannet_rt::PREFETCH;
use gannet_wire::id::Imsi;
use std::hint::black_box;

const CELLS: u32 = 400;
const BATCH: u32 = 16;
const PDUS_PER_S: u64 = 600_000;
const OCTETS: usize = 400;

/// As large as what the SGSN ties to a PDU.
#[derive(Debug, Clone, Copy)]
struct Meta([u32; 10]);

impl PduMeta for Meta {
    fn whose(&self) -> Option<Imsi> {
        None
    }
}

struct World {
    around: Surroundings<Quiet>,
    control: FlowControl<Meta>,
    spare: Vec<Frame>,
    mobiles: u32,
    next: u32,
    /// From one PDU's mobile to the next's.
    stride: u64,
    offered: bool,
}

impl World {
    fn new(mobiles: u32, offered: bool) -> Self {
        let limits =
            Limits { ms: Limit { pdus: 8, octets: 100_000 }, cell: Limit { pdus: 4000, octets: 4_000_000 } };
        let config = Config {
            cells_max: CELLS,
            ms_max: mobiles,
            active_ms_max: mobiles,
            pdus_max: 65_536,
            initial: BvcParameters {
                bvc: Bucket { bmax_octets: 1_000_000, rate_bit_per_s: 6_000_000 },
                default_ms: OPEN,
            },
            ms_parameters_lifetime: Duration::from_secs(1_000_000),
            data: limits,
            signalling: limits,
            feedback: Some(Watermarks::default()),
            ..Config::default()
        };
        let frames = 70_000;
        Self {
            around: Surroundings::new(1, frames, Quiet::default()),
            control: FlowControl::new(config),
            spare: Vec::with_capacity(frames),
            mobiles,
            next: 0,
            stride: 1,
            offered,
        }
    }

    fn mobile(&self, ahead: u32) -> u32 {
        let number = u64::from(self.next + ahead) * self.stride % u64::from(self.mobiles);
        u32::try_from(number).unwrap()
    }

    fn batch(&mut self) {
        self.around.now += Duration(u64::from(BATCH) * 1_000_000_000 / PDUS_PER_S);
        if self.offered {
            (0..BATCH).for_each(|ahead| self.control.prefetch(self.mobile(ahead), PREFETCH));
            (0..BATCH).for_each(|ahead| self.control.prefetch_offer(self.mobile(ahead), PREFETCH));
        }
        let expires = self.around.now + Duration::from_secs(10);
        for _ in 0..BATCH {
            let ms = self.mobile(0);
            self.next = (self.next + 1) % self.mobiles;
            let mut frame = self.spare.pop().unwrap_or_else(|| self.around.frames.alloc().unwrap());
            assert!(frame.set_len(OCTETS));
            let (class, precedence, meta) = (CellClass::BestEffort, Precedence::Normal, Meta([ms; 10]));
            let pdu = Pdu { class, precedence, is_ahead: false, expires, meta, frame };
            let cx = &mut self.around.context();
            if !self.offered {
                self.control.enqueue(cx, ms % CELLS, Some(ms), pdu);
            } else if let Offered::Passes(pdu) = self.control.offer(cx, (ms % CELLS, Some(ms)), pdu) {
                black_box(pdu.meta.0);
                self.spare.push(pdu.frame);
            }
        }
        while let Dequeue::Pdu { pdu, .. } = self.control.dequeue(&mut self.around.context()) {
            black_box(pdu.meta.0);
            self.spare.push(pdu.frame);
        }
        while let Some(feedback) = self.control.take_feedback() {
            black_box(feedback);
        }
    }
}

/// Buckets that never fill.
const OPEN: Bucket = Bucket { bmax_octets: 20_000, rate_bit_per_s: 2_000_000 };

fn measure(criterion: &mut Criterion, what: &str, world: &mut World) {
    let how = if world.offered { "offered" } else { "queued" };
    let mut group = criterion.benchmark_group("flow control");
    group.throughput(Throughput::Elements(BATCH.into()));
    // Everyone is known, in the order of their names, and has had a second to settle; then each mobile is in another
    // part of the table than the one before.
    for _ in 0..2 {
        for _ in 0..PDUS_PER_S.max(u64::from(world.mobiles)) / u64::from(BATCH) {
            world.batch();
        }
        world.stride = 7919;
    }
    group.bench_function(format!("{} mobiles, {what}, {how}", world.mobiles), |bencher| {
        bencher.iter(|| world.batch());
    });
    group.finish();
    let dropped = world.around.trace.drops.total();
    println!("    {dropped} PDUs were dropped, {} are queued", world.control.queued_pdus());
}

fn open(criterion: &mut Criterion) {
    for offered in [false, true] {
        for mobiles in [10_000, 1_000_000] {
            measure(criterion, "buckets open", &mut World::new(mobiles, offered));
        }
    }
}

/// Half of the mobiles are offered 5 % more than their rate, and their buckets are full from the start.
fn limited(criterion: &mut Criterion) {
    let mobiles = 10_000;
    for offered in [false, true] {
        let mut world = World::new(mobiles, offered);
        let offered_bit_per_s = PDUS_PER_S / u64::from(mobiles) * OCTETS as u64 * 8;
        let limited = Bucket { bmax_octets: 20_000, rate_bit_per_s: offered_bit_per_s * 100 / 105 };
        world.around.now = Instant(1);
        // Of each cell half are of one kind and half of the other.
        for ms in (0..mobiles).filter(|ms| (ms / CELLS).is_multiple_of(2)) {
            assert!(world.control.set_ms(&mut world.around.context(), ms % CELLS, ms, limited, Some(100)));
        }
        measure(criterion, "half of them at their limit", &mut world);
    }
}

criterion_group!(benches, open, limited);
criterion_main!(benches);
