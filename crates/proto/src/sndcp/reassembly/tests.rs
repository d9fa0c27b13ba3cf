use super::*;
use gannet_machine::Surroundings;
use gannet_machine::frame::FramePool;
use gannet_machine::trace::Quiet;

const KEY: ReassemblyKey = ReassemblyKey { slot: 7, nsapi: Nsapi(5) };
const OWNER: TimerKey = TimerKey { owner: 0, slot: 0, generation: 0 };

struct Bench {
    around: Surroundings<Quiet>,
    table: Reassembler,
}

impl Bench {
    fn new() -> Self {
        let around = Surroundings::new(1, 40, Quiet::default());
        Self { around, table: Reassembler::new(2, Duration::from_secs(10)) }
    }

    fn give(
        &mut self,
        key: ReassemblyKey,
        number: u16,
        n: u8,
        more: bool,
        octets: &[u8],
    ) -> Result<Option<Vec<u8>>, Drop> {
        let frame = self.around.frames.copy_of(octets).unwrap();
        let compression = (n == 0).then_some(Compression::NONE);
        let segment = Segment { number, segment: n, more, compression };
        let whole = self.table.segment(&mut self.around.context(), key, None, segment, frame);
        whole.map(|whole| whole.map(|whole| whole.frame.to_vec()))
    }

    /// The counters that moved, and nothing held.
    fn end(&mut self) -> Vec<(Drop, u64)> {
        assert!(self.table.is_empty());
        assert_eq!((self.table.oldest, self.table.newest), (None, None));
        assert_eq!(self.table.free.len(), 2);
        let pool: &FramePool = &self.around.frames;
        assert_eq!(pool.free(), pool.capacity());
        self.around.trace.drops.raised().collect()
    }
}

#[test]
fn any_order_of_segments_gives_the_n_pdu() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut bench = Bench::new();
        let mut whole = None;
        for n in order {
            assert_eq!(whole, None);
            whole = bench.give(KEY, 4095, n, n < 2, &[n; 3]).unwrap();
        }
        assert_eq!(whole.unwrap(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!(bench.end(), []);
    }
}

#[test]
fn one_segment_never_enters_the_table() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(KEY, 3, 0, false, b"whole"), Ok(Some(b"whole".to_vec())));
    assert_eq!(bench.give(KEY, 4, 0, false, &[0; 1521]), Err(Drop::SndcpTooLong));
    assert_eq!(bench.end(), []);
}

#[test]
fn a_new_number_ends_the_old_one_and_a_late_segment_does_not() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(KEY, 4095, 0, true, b"a"), Ok(None));
    assert_eq!(bench.give(KEY, 0, 0, true, b"b"), Ok(None));
    assert_eq!(bench.give(KEY, 4095, 1, false, b"A"), Err(Drop::SndcpLate));
    assert_eq!(bench.give(KEY, 4094, 0, false, b"late but whole"), Ok(Some(b"late but whole".to_vec())));
    assert_eq!(bench.give(KEY, 0, 1, false, b"B"), Ok(Some(b"bB".to_vec())));
    assert_eq!(bench.end(), [(Drop::SndcpIncomplete, 1)]);
}

#[test]
fn duplicates_are_dropped_and_do_no_harm() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(KEY, 9, 0, true, b"a"), Ok(None));
    assert_eq!(bench.give(KEY, 9, 0, true, b"a"), Err(Drop::SndcpDuplicate));
    assert_eq!(bench.give(KEY, 9, 2, false, b"c"), Ok(None));
    assert_eq!(bench.give(KEY, 9, 2, false, b"c"), Err(Drop::SndcpDuplicate));
    assert_eq!(bench.give(KEY, 9, 1, true, b"b"), Ok(Some(b"abc".to_vec())));
    assert_eq!(bench.end(), []);
}

#[test]
fn contradictions_end_the_n_pdu() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(KEY, 9, 1, false, b"last"), Ok(None));
    assert_eq!(bench.give(KEY, 9, 2, false, b"last too"), Err(Drop::SndcpMalformed));
    assert_eq!(bench.give(KEY, 9, 3, true, b"far"), Ok(None));
    assert_eq!(bench.give(KEY, 9, 2, false, b"last before it"), Err(Drop::SndcpMalformed));
    assert_eq!(bench.give(KEY, 9, 0, true, &[0; 1000]), Ok(None));
    assert_eq!(bench.give(KEY, 9, 1, false, &[0; 521]), Err(Drop::SndcpTooLong));
    assert_eq!(bench.end(), []);
}

#[test]
fn a_first_frame_without_tailroom() {
    let mut bench = Bench::new();
    let mut frame = bench.around.frames.copy_of(&[0; gannet_machine::frame::FRAME_PAYLOAD_MAX]).unwrap();
    assert!(frame.pull(1700));
    let compression = Some(Compression::NONE);
    let first = Segment { number: 1, segment: 0, more: true, compression };
    let taken = bench.table.segment(&mut bench.around.context(), KEY, None, first, frame);
    assert!(matches!(taken, Ok(None)));
    assert_eq!(bench.give(KEY, 1, 1, false, b"no room"), Err(Drop::SndcpNoRoom));
    assert_eq!(bench.end(), []);
}

#[test]
fn time_ends_what_is_not_whole() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(KEY, 1, 0, true, b"a"), Ok(None));
    bench.table.arm(OWNER, &mut bench.around.timers);
    bench.around.now = Instant(4_000_000_000);
    let other = ReassemblyKey { slot: 8, ..KEY };
    assert_eq!(bench.give(other, 1, 0, true, b"b"), Ok(None));
    bench.table.arm(OWNER, &mut bench.around.timers);
    for (due, left) in [(10, 1), (14, 0)] {
        let due = Instant::ZERO + Duration::from_secs(due);
        assert_eq!(bench.around.timers.next(), Some(due));
        bench.around.now = due;
        assert_eq!(bench.around.timers.pop_due(due), Some(OWNER));
        bench.table.wake(&mut bench.around.context());
        bench.table.arm(OWNER, &mut bench.around.timers);
        assert_eq!(bench.table.len(), left);
    }
    assert_eq!(bench.around.timers.next(), None);
    assert_eq!(bench.end(), [(Drop::SndcpTimeout, 2)]);
}

#[test]
fn a_full_table_gives_up_its_oldest() {
    let mut bench = Bench::new();
    let keys = [1, 2, 3].map(|slot| ReassemblyKey { slot, ..KEY });
    for key in keys {
        assert_eq!(bench.give(key, 1, 0, true, b"a"), Ok(None));
    }
    assert_eq!(bench.table.len(), 2);
    assert_eq!(bench.give(keys[1], 1, 1, false, b"b"), Ok(Some(b"ab".to_vec())));
    bench.table.forget(&mut bench.around.context(), keys[0]);
    bench.table.forget_mobile(&mut bench.around.context(), 3);
    assert_eq!(bench.end(), [(Drop::SndcpIncomplete, 1), (Drop::SndcpTableFull, 1)]);
}
