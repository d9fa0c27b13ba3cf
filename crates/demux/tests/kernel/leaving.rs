//! What the program leaves to user space, with the program run by hand: it is decided as the model has it, and nothing
//! overtakes another packet.

use crate::agreement::{CONTEXTS, change, same_flows, seen, teid_key, teid_of, tid};
use crate::common::frames::{self, Generator};
use crate::exchange::{DROP, ELSEWHERE, LOOPBACK, PASS, arrive, buffer, received};
use fastrand::Rng;
use gannet_demux::device::Received;
use gannet_demux::exchange::Exchange;
use gannet_demux::model::{Model, Verdict};
use gannet_demux::{Classifier, Classify, Config, METADATA_LEN, Metadata, Ring};
use gannet_machine::prefetch::Prefetch;
use gannet_proto::classifier::{Key, Rule, RuleChange};
use gannet_proto::gtp::ContextName;
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::Teid;

const FRAMES: u32 = 100_000;

fn config() -> Config {
    Config {
        contexts: CONTEXTS,
        tids: 64,
        samples_per_s: 500,
        exchange: true,
        concurrent: false,
        ..Config::default()
    }
}

/// All that waits, of the rings in their order.
fn all(exchange: &mut Exchange) -> Vec<(Metadata, Vec<u8>)> {
    let mut all = Vec::new();
    for ring in Ring::ALL {
        exchange.receive(ring, 9, buffer, |Received { buffer, start, end }| {
            let metadata = Metadata::from_octets(buffer[start - METADATA_LEN..].first_chunk().unwrap());
            all.push((metadata.unwrap(), buffer[start..end].to_vec()));
        });
    }
    all
}

pub fn what_is_left_is_decided_as_by_the_program() {
    let config = Config { teid_key: teid_key(), ..config() };
    let mut kernel = Classifier::load(&config).unwrap();
    let mut exchange = kernel.exchange([4096; 4], 8).unwrap();
    let mut model = Model::new(config).unwrap();
    exchange.open(LOOPBACK, ELSEWHERE);
    assert!(exchange.leave());
    let mut rng = Rng::with_seed(7);
    let teids = (0..60).map(|_| teid_of(&mut rng).0).collect();
    let tids = (0..40).map(|number| tid(number).to_u64()).collect();
    let mut generator = Generator { rng: rng.fork(), teids, tids, tllis: Vec::new() };
    let mut now_ns = 1_000_000_000_u64;
    let (mut left, mut samples) = (0, 0);
    for number in 0..FRAMES {
        while rng.u32(..12) == 0 {
            let change = change(&mut rng);
            assert_eq!(kernel.apply(&change).is_ok(), model.apply(&change).is_ok(), "{change:?}");
        }
        now_ns += if rng.u32(..500) == 0 { rng.u64(..2_000_000_000) } else { rng.u64(..200_000) };
        kernel.tables().lend_clock(now_ns);
        let frame = generator.frame();
        let expected = model.classify(&frame, 0, now_ns);
        let verdict = arrive(&kernel, &frame).0;
        left += exchange.left();
        exchange.decide(Prefetch::NONE);
        let came = all(&mut exchange);
        exchange.refill();
        match (expected, &came[..]) {
            (Verdict::Drop(why), came) => assert!(verdict == DROP && came.is_empty(), "{number}: {why:?}"),
            (Verdict::Pass, []) => assert_eq!(verdict, PASS, "{number}: {frame:02x?}"),
            (Verdict::Pass, [(of, octets)]) => {
                assert_eq!((verdict, of.class, octets), (DROP, Class::Signalling, &frame), "{number}");
                // The whole message, so that its sender can be told.
                let at = usize::from(of.pdu_offset);
                let message = &frame[at..at + usize::from(of.pdu_len)];
                let teid = teid_key().teid(ContextName(of.name));
                assert_eq!(
                    (message[0] >> 5, message[1], &message[4..8]),
                    (1, 255, &teid.0.to_be_bytes()[..])
                );
                samples += 1;
            }
            (Verdict::Redirect(expected), [(of, octets)]) => {
                assert_eq!((verdict, of, octets), (DROP, &expected, &frame), "{number}");
            }
            (expected, came) => panic!("{number}: {expected:?}, {came:?}, {frame:02x?}"),
        }
        if number % 64 == 0 {
            assert_eq!(kernel.totals(), model.totals(), "{number}: {frame:02x?}");
        }
    }
    assert_eq!(kernel.totals(), model.totals());
    same_flows(&kernel, &model);
    for (name, count) in seen(&model.totals()) {
        assert!(count >= 100 || name.contains("tlli") || name.contains("udp"), "{name}: {count}");
    }
    assert!(left > FRAMES / 4 && samples > 100, "{left} were left, {samples} samples");
}

pub fn nothing_overtakes_where_it_begins() {
    const URGENT: u32 = 1;
    const OTHER: u32 = 2;
    let mut kernel = Classifier::load(&config()).unwrap();
    for (teid, class) in [(URGENT, Class::RealTime), (OTHER, Class::BestEffort)] {
        let key = Key::Teid(Teid(teid));
        let rule =
            Rule { key, name: teid, class, precedence: Precedence::Normal, policer: None, source: None };
        kernel.apply(&RuleChange::Install(rule)).unwrap();
    }
    let mut exchange = kernel.exchange([4096; 4], 64).unwrap();
    exchange.open(LOOPBACK, ELSEWHERE);
    let frame =
        |teid, len| frames::usual(2152, &frames::gtp_v1(255, teid, (None, None), &[], &vec![0x40; len]));
    let lengths = |came: Vec<(u32, Vec<u8>)>| came.iter().map(|(_, frame)| frame.len()).collect::<Vec<_>>();
    let base = frame(OTHER, 0).len();
    // Two are decided by the program, the rest here; a short ring takes no more than its length of these.
    for len in 100..108 {
        if len == 102 {
            assert!(exchange.leave());
            exchange.set_length(Ring::BestEffort, 4);
        }
        arrive(&kernel, &frame(OTHER, len));
        arrive(&kernel, &frame(URGENT, len));
    }
    assert_eq!((exchange.waiting(Ring::BestEffort), exchange.left()), (2, 12));
    exchange.decide(Prefetch::NONE);
    assert_eq!((exchange.waiting(Ring::BestEffort), exchange.left()), (6, 0));
    assert_eq!(exchange.statistics(Ring::BestEffort).rx_ring_full, 2);
    let expected = |range: core::ops::Range<usize>| range.map(|len| base + len).collect::<Vec<_>>();
    assert_eq!(lengths(received(&mut exchange, Ring::BestEffort, 3)), expected(100..103));
    assert_eq!(lengths(received(&mut exchange, Ring::BestEffort, 99)), expected(103..106));
    assert_eq!(lengths(received(&mut exchange, Ring::RealTime, 99)), expected(100..108));
    // Slots come back whatever became of their packets.
    for _ in 0..200 {
        exchange.refill();
        (0..60).for_each(|_| assert_eq!(arrive(&kernel, &frame(OTHER, 300)).0, DROP));
        exchange.decide(Prefetch::NONE);
        assert_eq!(received(&mut exchange, Ring::BestEffort, 99).len(), 4);
    }
    assert_eq!(exchange.statistics(Ring::BestEffort).rx_fill_ring_empty, 0);
    // Where the program runs on several CPUs nothing is left to us.
    let mut several = Classifier::load(&Config { concurrent: true, ..config() }).unwrap();
    assert!(!several.exchange([4096; 4], 8).unwrap().leave());
}
