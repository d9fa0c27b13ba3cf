//! Of very many mobiles that are heard of once in a while, few have a place at a time, and that one is in the cache.

use super::*;

/// As many as are known before places go round, less the cells' own.
const KNOWN: u32 = 12_286;
const CELLS: u32 = 2;
/// How many places more there may be where the search for one ends before it finds one.
const SOME: usize = 16;

/// A bucket of 100 octets that leaks in a tenth of a millisecond.
fn crowded() -> Bench {
    Bench::with(|config| {
        config.initial = BvcParameters { bvc: bucket(1 << 40, 1 << 40), default_ms: bucket(200, 1_000_000) };
        config.ms_max = 100_000;
        config.active_ms_max = 40_000;
    })
}

impl Bench {
    /// A PDU of another mobile passes; gives the mobile's place.
    fn place_of_next(&mut self, ms: u32) -> u32 {
        let pdu = self.pdu(BestEffort, 0, 100);
        let offered = self.control.offer(&mut self.around.context(), (0, Some(ms)), pdu);
        assert!(matches!(offered, Offered::Passes(_)), "{ms}");
        self.control.find(ms).unwrap()
    }

    fn places(&self) -> usize {
        self.control.mobiles.len()
    }
}

#[test]
fn few_places_go_round_and_more_where_those_are_not_enough() {
    let mut bench = crowded();
    for ms in 0..KNOWN {
        assert_eq!(bench.at(u64::from(ms)).place_of_next(ms), CELLS + ms);
    }
    let places = bench.places();
    // One each millisecond: a thousand places, one after the other.
    for ms in KNOWN..KNOWN + 5000 {
        let at = bench.at(u64::from(ms)).place_of_next(ms);
        assert_eq!(at, CELLS + (ms - KNOWN) % 1024);
    }
    // Many at once: all are known, and the table has not grown.
    let many = 50_000..53_000;
    let mut taken: Vec<u32> = many.clone().map(|ms| bench.at(50_000).place_of_next(ms)).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), 3000);
    assert!(bench.places() < places + SOME, "{}", bench.places());
    assert!(many.into_iter().all(|ms| bench.control.find(ms).is_some()));
    // Some thousand again and again, as soon as they have leaked, and then few again.
    for round in 0..20 {
        for ms in 60_000..65_000 {
            bench.at(60_000 + round).place_of_next(ms + u32::try_from(round % 2).unwrap() * 10_000);
        }
    }
    assert!(bench.places() < places + SOME, "{}", bench.places());
    let last = (0..60_000).map(|ms| bench.at(100_000 + u64::from(ms)).place_of_next(ms)).skip(50_000);
    assert!(last.max().is_some_and(|at| at < CELLS + 1024));
    assert!(bench.places() < places + SOME, "{}", bench.places());
}

#[test]
fn where_nobody_has_leaked_the_table_grows() {
    let mut bench = crowded();
    for ms in 0..30_000 {
        assert_eq!(bench.at(0).place_of_next(ms), CELLS + ms);
    }
    assert_eq!(bench.places(), 30_002);
}
