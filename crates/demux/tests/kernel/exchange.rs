//! Pages that are exchanged, with the program run by hand: what arrives is in its slot, and the frame that comes out is the
//! one that was put.

use crate::common::frames;
use gannet_demux::bpf::TestRun;
use gannet_demux::device::Received;
use gannet_demux::exchange::Exchange;
use gannet_demux::{Classifier, Classify, Config, FRAME_MAX, METADATA_LEN, Metadata, Ring};
use gannet_machine::frame::{FRAME_SIZE, StaticBuffer};
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::Teid;

/// Verdicts of XDP programs.
pub(crate) const DROP: u32 = 1;
pub(crate) const PASS: u32 = 2;
const REDIRECT: u32 = 4;
/// Where frames come from that are run by hand, and where nothing really goes.
pub(crate) const LOOPBACK: u32 = 1;
pub(crate) const ELSEWHERE: u32 = 4_000_000;
/// Empty slots that the program has.
const EMPTY: u32 = 8;
/// Lengths of the rings: the signalling of Gn is the kernel's.
const RINGS: [u32; 4] = [0, 4096, 4096, 4096];

const REAL_TIME: u32 = 1;
const BEST_EFFORT: u32 = 2;
const BLOCKED: u32 = 3;

fn program() -> (Classifier, Exchange) {
    let config = Config { samples_per_s: 0, exchange: true, ..Config::default() };
    let mut program = Classifier::load(&config).unwrap();
    for (teid, class) in
        [(REAL_TIME, Class::RealTime), (BEST_EFFORT, Class::BestEffort), (BLOCKED, Class::BestEffort)]
    {
        let key = Key::Teid(Teid(teid));
        let rule =
            Rule { key, name: teid, class, precedence: Precedence::Normal, policer: None, source: None };
        program.apply(&RuleChange::Install(rule)).unwrap();
    }
    program.apply(&RuleChange::Block(Key::Teid(Teid(BLOCKED)), Block::FlowControl)).unwrap();
    let exchange = program.exchange(RINGS, EMPTY).unwrap();
    (program, exchange)
}

fn g_pdu(teid: u32, len: usize) -> Vec<u8> {
    let datagram =
        frames::gtp_v1(255, teid, (Some(1), None), &[], &vec![0x40 + u8::try_from(teid).unwrap(); len]);
    frames::usual(2152, &datagram)
}

/// A frame arrives: the verdict, and what the page holds then.
pub(crate) fn arrive(program: &Classifier, frame: &[u8]) -> (u32, Vec<u8>) {
    let mut page = vec![0; 4096];
    let run = TestRun {
        data: frame,
        data_out: Some(&mut page),
        context: None,
        context_out: None,
        repeat: 1,
        live_batch: None,
    };
    let result = program.run(run).unwrap();
    page.truncate(result.data_len);
    (result.verdict, page)
}

pub(crate) fn buffer() -> Option<StaticBuffer> {
    Some(Box::leak(Box::new([0; FRAME_SIZE])))
}

/// What waits in a ring: the name of its rule, and the octets of each frame.
pub(crate) fn received(exchange: &mut Exchange, ring: Ring, max: usize) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    exchange.receive(ring, max, buffer, |Received { buffer, start, end }| {
        let metadata = Metadata::from_octets(buffer[start - METADATA_LEN..].first_chunk().unwrap()).unwrap();
        assert_eq!(metadata.ring, ring);
        all.push((metadata.name, buffer[start..end].to_vec()));
    });
    all
}

fn taken_back(exchange: &mut Exchange, before: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    exchange.take_back(before, buffer, |buffer, len| all.push(buffer[..len].to_vec()));
    all
}

/// A frame to be sent, told from others by its first octet.
fn finished(number: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| number.wrapping_add(u8::try_from(at % 251).unwrap())).collect()
}

pub fn what_arrives_is_in_its_slot() {
    let (program, mut exchange) = program();
    let (urgent, other) = (g_pdu(REAL_TIME, 60), g_pdu(BEST_EFFORT, 1400));
    // Not before it is open: without a socket the kernel gets it.
    assert_eq!(arrive(&program, &urgent).0, PASS);
    exchange.open(LOOPBACK, ELSEWHERE);
    assert!(exchange.is_open());
    for frame in [&urgent, &other, &urgent] {
        assert_eq!(arrive(&program, frame).0, DROP, "the page goes back empty");
    }
    assert_eq!(arrive(&program, &g_pdu(BLOCKED, 100)).0, DROP);
    assert_eq!((exchange.waiting(Ring::RealTime), exchange.waiting(Ring::BestEffort)), (2, 1));
    let twice = [(REAL_TIME, urgent.clone()), (REAL_TIME, urgent.clone())];
    assert_eq!(received(&mut exchange, Ring::RealTime, 9), twice);
    assert_eq!(received(&mut exchange, Ring::BestEffort, 9), [(BEST_EFFORT, other.clone())]);
    // Five empty slots are left, and no more until there are others.
    for _ in 0..EMPTY {
        assert_eq!(arrive(&program, &other).0, DROP);
    }
    assert_eq!(exchange.statistics(Ring::BestEffort).rx_fill_ring_empty, 3);
    assert_eq!(received(&mut exchange, Ring::BestEffort, 2).len(), 2);
    exchange.refill();
    assert_eq!(arrive(&program, &urgent).0, DROP);
    assert_eq!(exchange.statistics(Ring::BestEffort).rx_fill_ring_empty, 3);
    assert_eq!((exchange.waiting(Ring::RealTime), exchange.waiting(Ring::BestEffort)), (1, 3));
    // A frame that no slot has room for goes its usual way, and so does everything after the end.
    assert_eq!(arrive(&program, &g_pdu(BEST_EFFORT, FRAME_MAX)).0, PASS);
    exchange.close();
    assert_eq!((arrive(&program, &other).0, exchange.is_open()), (PASS, false));
    assert_eq!(received(&mut exchange, Ring::BestEffort, 9).len(), 3, "what is there stays");
}

pub fn a_ring_takes_no_more_than_its_length() {
    let (program, mut exchange) = program();
    exchange.open(LOOPBACK, ELSEWHERE);
    let (urgent, other) = (g_pdu(REAL_TIME, 60), g_pdu(BEST_EFFORT, 200));
    let full = |exchange: &Exchange| exchange.statistics(Ring::BestEffort).rx_ring_full;
    exchange.set_length(Ring::BestEffort, 3);
    for round in 1..=5000 {
        (0..4).for_each(|_| assert_eq!(arrive(&program, &other).0, DROP));
        assert_eq!((exchange.waiting(Ring::BestEffort), full(&exchange)), (3, round), "round {round}");
        assert_eq!(arrive(&program, &urgent).0, DROP);
        assert_eq!(received(&mut exchange, Ring::RealTime, 9), [(REAL_TIME, urgent.clone())]);
        assert_eq!(received(&mut exchange, Ring::BestEffort, 9).len(), 3);
        exchange.refill();
    }
    // Shorter than what waits, longer again, and never none at all.
    (0..3).for_each(|_| assert_eq!(arrive(&program, &other).0, DROP));
    exchange.set_length(Ring::BestEffort, 0);
    assert_eq!(arrive(&program, &other).0, DROP);
    assert_eq!((exchange.waiting(Ring::BestEffort), full(&exchange)), (3, 5001));
    assert_eq!(received(&mut exchange, Ring::BestEffort, 9).len(), 3);
    (0..2).for_each(|_| assert_eq!(arrive(&program, &other).0, DROP));
    exchange.set_length(Ring::BestEffort, 4096);
    assert_eq!(arrive(&program, &other).0, DROP);
    assert_eq!((exchange.waiting(Ring::BestEffort), full(&exchange)), (2, 5002));
}

pub fn a_page_leaves_with_the_next_frame() {
    let (program, mut exchange) = program();
    exchange.open(LOOPBACK, ELSEWHERE);
    let (forwarded, dropped) = (g_pdu(BEST_EFFORT, 300), g_pdu(BLOCKED, 300));
    let frames = [finished(1, 430), finished(2, 60), finished(3, 1500)];
    for frame in &frames {
        assert!(exchange.put(frame));
    }
    // In pages of what is forwarded and of what is dropped, shorter and longer ones.
    for (arriving, leaving) in [&forwarded, &dropped, &dropped].into_iter().zip(&frames) {
        let (verdict, page) = arrive(&program, arriving);
        assert_eq!((verdict, &page), (REDIRECT, leaving));
    }
    assert_eq!(arrive(&program, &dropped).0, DROP, "nothing waits");
    assert_eq!(received(&mut exchange, Ring::BestEffort, 9), [(BEST_EFFORT, forwarded)]);
    assert_eq!((exchange.carried(), exchange.refused(), exchange.is_clear()), (3, 0, true));
    assert!(!exchange.put(&finished(1, FRAME_MAX + 1)) && !exchange.put(&[]));
}

pub fn what_no_page_comes_for_is_taken_back() {
    let (program, mut exchange) = program();
    exchange.open(LOOPBACK, ELSEWHERE);
    let dropped = g_pdu(BLOCKED, 300);
    // Often enough to go round the queue more than once.
    for round in 0..400 {
        let frames = [0, 1, 2, 3].map(|number| finished(number, 100 + round));
        for frame in &frames {
            assert!(exchange.put(frame));
        }
        let second = exchange.position() - 2;
        let (verdict, page) = arrive(&program, &dropped);
        assert_eq!((verdict, &page), (REDIRECT, &frames[0]));
        assert_eq!(taken_back(&mut exchange, second), frames[1..2]);
        assert!(!exchange.is_clear());
        // What was taken back is passed.
        assert_eq!(arrive(&program, &dropped), (REDIRECT, frames[2].clone()));
        assert_eq!(taken_back(&mut exchange, usize::MAX), frames[3..]);
        assert!(exchange.is_clear());
    }
    assert_eq!(arrive(&program, &dropped).0, DROP);
    // So many find room, until pages come.
    let room = (0..10_000).take_while(|_| exchange.put(&dropped)).count();
    assert_eq!((room, exchange.has_room()), (512, false));
    assert_eq!(arrive(&program, &dropped).0, REDIRECT);
    assert!(exchange.has_room() && exchange.put(&dropped) && !exchange.has_room() && !exchange.put(&dropped));
    exchange.close();
    assert_eq!(taken_back(&mut exchange, usize::MAX).len(), 512);
}
