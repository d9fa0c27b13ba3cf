//! When a loop polls, and how much of each device.

use super::*;
use crate::event_loop::LoopConfig;

#[test]
fn an_adaptive_loop_spins_for_a_while_after_each_packet() {
    let mut busy = Busy::new(BusyPoll::Adaptive);
    let at = Instant(5_000_000);
    assert!(!busy.is_spinning(at));
    busy.traffic(at);
    assert!(busy.is_spinning(at + Duration::from_micros(999)));
    assert!(!busy.is_spinning(at + Duration::from_millis(1)));
    assert!(Busy::new(BusyPoll::Always).is_spinning(at));
    busy.mode = BusyPoll::Off;
    assert!(!busy.is_spinning(at));
}

#[test]
fn a_loop_without_a_device_to_poll_waits_awake_as_long_as_it_does_not_sleep() {
    let at = Instant(5_000_000);
    let mut busy = Busy::new(BusyPoll::Adaptive);
    assert_eq!(busy.waits_awake(at), None, "nothing has come");
    busy.traffic(at);
    let until = at + Duration::from_millis(1);
    assert_eq!(busy.waits_awake(at), Some(until));
    assert_eq!(busy.waits_awake(at + Duration::from_micros(999)), Some(until));
    assert_eq!(busy.waits_awake(until), None);
    // A device is polled once a turn, so that turns go on.
    busy.pollers.push(Poller::new(3, None));
    assert_eq!(busy.waits_awake(at), None);
    let mut always = Busy::new(BusyPoll::Always);
    assert_eq!(always.waits_awake(until), Some(until + Duration::from_millis(1)), "for a part of the time");
    always.mode = BusyPoll::Off;
    always.traffic(at);
    assert_eq!(always.waits_awake(at), None);
}

/// A hundred turns in which polls take so long and find so many packets.
fn turns(busy: &mut Busy, polled_us: u64, found: usize, span_us: u64) {
    for _ in 0..100 {
        let at = busy.counted_at;
        busy.polled(at, at + Duration::from_micros(polled_us));
        busy.found(found);
        busy.reckon(at + Duration::from_micros(span_us), None);
    }
}

#[test]
fn the_more_comes_the_sooner_it_is_polled_again() {
    let LoopConfig { slice: usual, slice_in_a_hurry: least, .. } = LoopConfig::default();
    let mut busy = Busy::new(BusyPoll::Always);
    assert_eq!((busy.slice(usual, least), busy.part(64)), (usual, 64));
    let due_after = |busy: &Busy| {
        (0..100).find(|us| busy.is_due(busy.polled_at + Duration::from_micros(*us))).unwrap_or(100)
    };
    // At an eighth of a million packets/s, none of them dropped, slices are as long as usual, at a quarter half as long.
    turns(&mut busy, 60, 75, 600);
    assert_eq!((busy.gap_ns, busy.slice(usual, least)), (8000, usual));
    turns(&mut busy, 60, 75, 300);
    assert_eq!((busy.gap_ns, busy.slice(usual, least)), (4000, Duration::from_micros(77)));
    // At half a million they are brief, and half a queue with room may come.
    turns(&mut busy, 60, 75, 150);
    assert_eq!((busy.gap_ns, busy.slice(usual, least).0 / 1000, busy.part(64)), (2000, 40, 64));
    assert_eq!(due_after(&busy), 100);
    // And at a million.
    turns(&mut busy, 60, 100, 100);
    assert_eq!((busy.gap_ns, busy.slice(usual, least)), (1000, Duration::from_micros(40)));
    // Two million, nine of ten dropped.
    turns(&mut busy, 60, 12, 63);
    assert!((430..460).contains(&busy.gap_ns), "{}", busy.gap_ns);
    assert_eq!((busy.slice(usual, least).0 / 1000, busy.part(64), due_after(&busy)), (14, 18, 15));
    // However much it is, something is done; and after a pause it is as before.
    turns(&mut busy, 100, 0, 10);
    assert_eq!((busy.slice(usual, least), busy.part(64)), (least, 16));
    turns(&mut busy, 1, 0, 1000);
    assert_eq!((busy.slice(usual, least), busy.part(64), due_after(&busy)), (usual, 64, 100));
}

#[test]
fn a_turn_in_which_nothing_comes_is_no_packet() {
    let mut busy = Busy::new(BusyPoll::Always);
    turns(&mut busy, 60, 75, 150);
    // A packet each millisecond, turns of 5 µs.
    for turn in 1..=4000_u64 {
        busy.found(usize::from(turn.is_multiple_of(200)));
        busy.reckon(Instant(15_000_000 + turn * 5_000), Some(0));
    }
    assert!(busy.gap_ns >= 900_000, "{}", busy.gap_ns);
}

#[test]
fn what_a_poll_costs_by_itself_is_no_packet() {
    let mut busy = Busy::new(BusyPoll::Always);
    for round in 1..=200_u64 {
        let at = busy.counted_at;
        for us in [4, 5] {
            busy.poll_took(at, 0, Duration::from_micros(us), None);
        }
        busy.polled(at, at + Duration::from_micros(9));
        busy.found(1);
        busy.reckon(at + Duration::from_micros(20), None);
        if round == 100 {
            assert!(busy.gap_ns < 2_000, "taken for packets that were dropped: {}", busy.gap_ns);
            busy.forget_polls();
        }
    }
    assert!(busy.gap_ns > 9_000, "{}", busy.gap_ns);
    // Programs at the driver say it exactly.
    for round in 1..=100 {
        busy.found(1);
        busy.reckon(busy.counted_at + Duration::from_micros(20), Some(round * 19));
    }
    assert_eq!(busy.gap_ns, 1000);
}

#[test]
fn a_poll_in_which_something_else_had_the_processor_counts_once() {
    let mut busy = Busy::new(BusyPoll::Always);
    turns(&mut busy, 60, 75, 600);
    assert_eq!(busy.gap_ns, 8000);
    // As long as 25,000 dropped packets would take.
    let at = busy.counted_at;
    busy.polled(at, at + Duration::from_millis(10));
    busy.found(75);
    busy.reckon(at + Duration::from_millis(10), None);
    assert!((4000..4100).contains(&busy.gap_ns), "{}", busy.gap_ns);
    turns(&mut busy, 60, 75, 600);
    assert!(busy.gap_ns > 7900, "{}", busy.gap_ns);
}

#[test]
fn a_device_at_which_nothing_comes_is_polled_rarely_while_another_is_busy() {
    let mut busy = Busy::new(BusyPoll::Always);
    busy.pollers.push(Poller::new(3, None));
    let (mut now, empty) = (Instant(1_000_000), Duration::from_micros(4));
    busy.poll_took(now, 3, empty, None);
    busy.forget_polls();
    (0..IDLE_POLLS).for_each(|_| busy.poll_took(now, 3, empty, None));
    assert!(!busy.is_idle(now, &busy.pollers[0]), "there is nothing else to do");
    turns(&mut busy, 60, 75, 150);
    assert!(busy.is_idle(now, &busy.pollers[0]) && !busy.is_idle(now + IDLE_EVERY, &busy.pollers[0]));
    busy.short_of_time = true;
    busy.counted_at = now + IDLE_EVERY * LONGER_WHEN_SHORT;
    assert!(busy.is_idle(now + IDLE_EVERY, &busy.pollers[0]));
    assert!(!busy.is_idle(now + IDLE_EVERY * LONGER_WHEN_SHORT, &busy.pollers[0]));
    busy.short_of_time = false;
    busy.poll_took(now, 3, Duration::from_micros(5), None);
    assert!(!busy.is_idle(now, &busy.pollers[0]), "something came");
    assert!(!busy.pollers[0].is_full, "nobody said so");
    // However long it takes: programs at the driver say it exactly.
    let slow = Duration::from_micros(9);
    (0..=IDLE_POLLS).for_each(|_| busy.poll_took(now, 3, slow, Some(17)));
    assert!(busy.is_idle(now, &busy.pollers[0]));
    busy.poll_took(now, 3, empty, Some(18));
    assert!(!busy.is_idle(now, &busy.pollers[0]), "one more has come");
    // A turn without packets between two with some does not end the business, a pause does.
    (0..=IDLE_POLLS).for_each(|_| busy.poll_took(now, 3, slow, Some(18)));
    now = busy.counted_at;
    busy.pollers[0].polled_at = now;
    busy.reckon(now, None);
    assert!(busy.is_idle(now, &busy.pollers[0]) && !busy.is_idle(now + LATELY, &busy.pollers[0]));
}

#[test]
fn a_device_at_which_a_packet_comes_for_many_elsewhere_is_polled_for_some_at_once() {
    let time = Duration::from_micros(9);
    // Which of the loop's turns poll it, where a packet comes to it in each `each`th and to all others together every 10 µs.
    let polled = |each: u64, hurry: bool, short_of_time: bool| {
        let mut busy = Busy::new(BusyPoll::Always);
        (busy.hurry, busy.short_of_time) = (hurry, short_of_time);
        busy.pollers.push(Poller::new(3, Some(0)));
        (1..=10_000_u64).fold((0, 0_u64), |(polls, longest), turn| {
            let now = Instant(turn * 10_000);
            busy.found(1);
            busy.reckon(now, Some(0));
            let since = now.since(busy.pollers[0].polled_at).0;
            if busy.is_idle(now, &busy.pollers[0]) {
                return (polls, longest);
            }
            busy.poll_took(now, 3, time, Some(turn / each));
            (polls + 1, if turn > 100 { longest.max(since) } else { longest })
        })
    };
    for short_of_time in [false, true] {
        assert_eq!(polled(2, false, short_of_time), (10_000, 10_000), "one of three");
        assert_eq!(polled(8, true, short_of_time), (10_000, 10_000), "in a hurry");
    }
    for each in [5, 8] {
        let (polls, longest) = polled(each, false, false);
        assert!((500..700).contains(&polls) && longest == 200_000, "{polls} {longest}");
        let (polls, longest) = polled(each, false, true);
        assert!((90..150).contains(&polls) && longest == 1_000_000, "{polls} {longest}");
    }
}

#[test]
fn a_device_at_which_much_comes_is_polled_in_each_turn_whatever_it_was_before() {
    let (mut busy, time) = (Busy::new(BusyPoll::Always), Duration::from_micros(9));
    // Chosen anew after each hundred turns, in one of four of which nothing comes.
    let mut seen = 0;
    for turn in 1..=1000_u64 {
        let now = Instant(turn * 10_000);
        if turn % 100 == 1 {
            busy.pollers = vec![Poller::new(3, Some(0))];
        }
        seen += if turn % 4 == 1 { 0 } else { 10 };
        busy.found(if turn % 4 == 1 { 0 } else { 10 });
        busy.reckon(now, Some(0));
        assert!(!busy.is_idle(now, &busy.pollers[0]), "{turn}");
        busy.poll_took(now, 3, time, Some(seen));
    }
    // One packet in a long time, and then many.
    for turn in 1001..=1100_u64 {
        let now = Instant(turn * 10_000);
        busy.found(1);
        busy.reckon(now, Some(0));
        if !busy.is_idle(now, &busy.pollers[0]) {
            busy.poll_took(now, 3, time, Some(seen + turn / 90));
        }
    }
    let at = busy.pollers[0].polled_at;
    assert!(busy.is_idle(at + Duration::from_micros(199), &busy.pollers[0]));
    busy.poll_took(at + IDLE_EVERY, 3, time, Some(seen + 100));
    busy.found(1);
    busy.reckon(at + Duration::from_micros(201), Some(0));
    assert!(!busy.is_idle(at + Duration::from_micros(210), &busy.pollers[0]));
}

#[test]
fn a_poll_in_a_hurry_is_short_where_is_known_that_more_has_come() {
    let mut busy = Busy::new(BusyPoll::Always);
    busy.pollers = vec![Poller::new(3, Some(0)), Poller::new(4, None)];
    assert_eq!([3, 4, 5].map(|index| busy.budget(index)), [256; 3]);
    busy.hurry = true;
    assert_eq!([3, 4, 5].map(|index| busy.budget(index)), [16, 128, 128]);
    let (now, time) = (Instant(1_000_000), Duration::from_micros(9));
    // So many has the program seen by then; after it was loaded anew it begins at 0.
    for (seen, is_full) in [(16, true), (31, false), (63, true), (63, false), (2, false)] {
        busy.poll_took(now, 3, time, Some(seen));
        assert_eq!(busy.pollers[0].is_full, is_full, "{seen}");
    }
    busy.poll_took(now, 4, time, None);
    assert!(!busy.pollers[1].is_full);
}

#[test]
fn a_device_without_such_settings_is_an_error() {
    assert!(Busy::new(BusyPoll::Always).defer("no-such-device").is_err());
}
