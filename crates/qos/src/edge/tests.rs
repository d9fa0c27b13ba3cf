//! What the paper says of buffers and of the two queues, and that nothing is counted wrongly under any sequence.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod changes;
mod order;
mod sums;

use super::*;

/// 2 Mbit/s, in octets/s.
const LINK: u32 = 250_000;

fn queue(buffers: Accounting, excess: Excess) -> QueueConfig {
    QueueConfig { buffers, rate: LINK, weight: LINK, excess }
}

/// Byte-exact pools of 50,000 octets, our rule.
fn exact() -> Config {
    let queue = queue(Accounting::Exact { octets: 50_000 }, Excess::Present);
    Config { streams_max: 8, expedited: queue, assured: queue }
}

/// 100 buffers of 500 octets, the paper's rule.
fn paper() -> Config {
    let queue = queue(Accounting::BuffSize { buffers: 100, octets: 500 }, Excess::Resulting);
    Config { streams_max: 8, expedited: queue, assured: queue }
}

fn stream(service: Service, kbit_per_s: u32) -> StreamConfig {
    StreamConfig { service, rate: kbit_per_s * 125, burst: 0 }
}

fn queues(config: Config, streams: &[StreamConfig]) -> EdgeQueues<u32> {
    let mut queues = EdgeQueues::new(config).unwrap();
    for (at, stream) in (0..).zip(streams) {
        queues.configure(Instant::ZERO, at, stream).unwrap();
    }
    queues
}

/// Offers a packet named by its length; the name under which it was dropped.
fn offer(queues: &mut EdgeQueues<u32>, flow: u32, octets: u32) -> Option<Drop> {
    let mut reason = None;
    let packet = Packet { flow, octets, item: octets };
    let offered = queues.offer(Instant::ZERO, packet, &mut |gone| reason = Some(gone.reason));
    assert_eq!(offered.accepted, reason.is_none());
    reason
}

/// So many packets until one is refused, and why.
fn fill(queues: &mut EdgeQueues<u32>, flow: u32, octets: u32) -> (u32, Drop) {
    let mut taken = 0;
    loop {
        match offer(queues, flow, octets) {
            None => taken += 1,
            Some(reason) => return (taken, reason),
        }
    }
}

fn take(queues: &mut EdgeQueues<u32>) -> Option<(u32, u32)> {
    queues.take(Instant::ZERO).map(|taken| (taken.packet.flow, taken.packet.octets))
}

#[test]
fn the_papers_example_of_holes() {
    // Two streams with 20 % and 50 % of the link: 0.3 B are shared, of which each has at most 0.15 B alone and 0.1 B beside the other.
    let both = [stream(Service::Assured, 400), stream(Service::Assured, 1000)];
    let mut alone = queues(paper(), &both);
    assert_eq!(alone.queue(Lane::Assured), QueueView { pool: 50_000, granted: 35_000, free: 15_000 });
    // 20 buffers of its own and 15 shared.
    assert_eq!(fill(&mut alone, 0, 500), (35, Drop::EdgeShareTaken));
    let mut both = queues(paper(), &both);
    for _ in 0..30 {
        assert_eq!(offer(&mut both, 0, 500), None);
    }
    for _ in 0..60 {
        assert_eq!(offer(&mut both, 1, 500), None);
    }
    for stream in [0, 1] {
        assert_eq!(offer(&mut both, stream, 500), Some(Drop::EdgeShareTaken));
    }
    assert_eq!(both.totals().drops.get(Drop::EdgeShareTaken), 2);
    assert_eq!(both.queue(Lane::Assured).free, 5000, "shared buffers that neither gets");
}

#[test]
fn short_packets_fill_an_allocation_by_their_number() {
    let assured = [stream(Service::Assured, 400), stream(Service::Assured, 1600)];
    // Section III-A: of 50 buffers a stream with 20 % has 10, however short its packets are.
    let mut by_buffers = queues(paper(), &assured);
    assert_eq!(fill(&mut by_buffers, 0, 200), (20, Drop::EdgeSharedFull));
    let mut by_octets = queues(exact(), &assured);
    assert_eq!(fill(&mut by_octets, 0, 200), (50, Drop::EdgeSharedFull));
    // Longer ones count what they are.
    let mut long = queues(paper(), &assured);
    assert_eq!(fill(&mut long, 0, 1000), (10, Drop::EdgeSharedFull));
}

#[test]
fn best_effort_has_shared_buffers_or_a_floor() {
    let streams =
        [stream(Service::Assured, 1000), stream(Service::BestEffort, 0), stream(Service::BestEffort, 200)];
    let mut queues = queues(exact(), &streams);
    let granted = |queues: &EdgeQueues<u32>, at| queues.view(at).unwrap().granted;
    assert_eq!([0, 1, 2].map(|at| granted(&queues, at)), [25_000, 0, 5000]);
    // 20,000 are shared: the one without a floor gets half of them and a packet.
    assert_eq!(fill(&mut queues, 1, 500), (21, Drop::EdgeShareTaken));
    // The floor is there however full the rest is.
    assert_eq!(fill(&mut queues, 2, 500).0, 10 + 10);
    assert_eq!(fill(&mut queues, 0, 500).0, 50 + 5, "and so is what is reserved");
    // What a stream has beyond its own is released first, and so is there for others.
    let free = queues.queue(Lane::Assured).free;
    assert_eq!(take(&mut queues), Some((1, 500)));
    assert_eq!(queues.queue(Lane::Assured).free, free + 500);
}

#[test]
fn a_burst_allowance_is_room_beside_the_rate() {
    let burst = StreamConfig { burst: 1600, ..stream(Service::Assured, 100) };
    let mut queues = queues(exact(), &[burst, stream(Service::Assured, 1836)]);
    // σ + B · r / R = 1600 + 50,000 · 100 / 2000.
    assert_eq!(queues.view(0).unwrap().allocation, 4100);
    assert_eq!(queues.queue(Lane::Assured).free, 0);
    assert_eq!(fill(&mut queues, 0, 200), (20, Drop::EdgeSharedFull));
}

#[test]
fn a_stream_of_the_expedited_queue_is_policed() {
    let mut queues = queues(exact(), &[stream(Service::Expedited, 100), stream(Service::Expedited, 150)]);
    let at = |queues: &mut EdgeQueues<u32>, us: u64, flow| {
        let packet = Packet { flow, octets: 200, item: 0 };
        queues.offer(Instant(us * 1000), packet, &mut |_| ()).accepted
    };
    // 200 octets each 16 ms are 100 kbit/s: what comes in between is too much, whatever room there is.
    let accepted = (0..100).filter(|at_ms| at(&mut queues, at_ms * 1000, 0)).count();
    assert_eq!(accepted, 7, "at 0, 16, ... 96 ms");
    assert_eq!(queues.totals().drops.get(Drop::EdgeOverRate), 93);
    assert!(at(&mut queues, 99_000, 1), "the other one is not concerned");
    assert_eq!(queues.view(0).unwrap().dropped_pdus, 93);
}

#[test]
fn a_packet_for_nobody_is_dropped_by_name() {
    let mut queues = queues(exact(), &[stream(Service::BestEffort, 0)]);
    for nobody in [1, 7, 8, u32::MAX] {
        assert_eq!(offer(&mut queues, nobody, 100), Some(Drop::EdgeUnknownStream));
    }
    assert_eq!(queues.totals().drops.get(Drop::EdgeUnknownStream), 4);
    // One that is longer than any pool does no harm.
    assert_eq!(offer(&mut queues, 0, u32::MAX), Some(Drop::EdgeSharedFull));
    assert_eq!(queues.totals().drops.get(Drop::EdgeSharedFull), 1);
}
