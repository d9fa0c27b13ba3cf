//! Rules of the RFCs, seen from outside.

use super::super::config::{Config, Detection};
use super::super::endpoint::{Ending, State};
use super::super::path::Path;
use super::super::record::{Point, Reason, Record};
use super::super::segment::{Flags, Options, Segment};
use super::{lossy, path_of, profile, run};
use crate::link::model::{Outage, Profile};
use gannet_machine::time::{Duration, Instant};

const MS: u64 = 1_000_000;

/// Runs until nothing happens or `until`.
fn pass(path: &mut Path, until: Instant) {
    path.settle();
    while path.now() < until && path.step() {
        path.settle();
    }
}

/// A path with an open connection.
fn opened(config: &Config) -> Path {
    let mut path = path_of(config);
    path.keep_packets();
    path.settle();
    while path.ends.iter().any(|end| end.state() != State::Established) {
        assert!(path.step());
        path.settle();
    }
    path
}

/// Packets from the near end, or to it, from the `from`-th packet on.
fn segments(path: &Path, near: bool, from: usize) -> Vec<Segment> {
    let all = path.packets().iter().skip(from).map(|(_, packet)| Segment::parse(packet).unwrap());
    all.filter(|segment| (segment.source.port() == 40_000) == near).collect()
}

fn again(record: &Record) -> Vec<(u64, Reason)> {
    let sent = record.sequence.iter().filter_map(|(_, point)| match point {
        Point::Sent(start, _, reason) if *reason != Reason::New => Some((*start, *reason)),
        Point::Sent(..) | Point::Acknowledged(_) => None,
    });
    sent.collect()
}

/// Loses the data segments of these numbers, each once.
fn losing(config: Config, octets: u64, numbers: &[usize]) -> (Path, Vec<(u64, Reason)>) {
    let mut path = opened(&config);
    path.ends[0].keep_points();
    let mut written = 0;
    let mut data = 0;
    let mut now = path.now();
    let mut air: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
    while path.ends[0].acknowledged() < octets {
        written += path.ends[0].write(&vec![5; usize::try_from(octets).unwrap() - written]);
        for (from, end) in path.ends.iter_mut().enumerate() {
            while let Some(packet) = end.poll_transmit(now) {
                let is_data = from == 0 && !Segment::parse(&packet).unwrap().payload.is_empty();
                data += usize::from(is_data);
                if !is_data || !numbers.contains(&(data - 1)) {
                    air.push((now + Duration::from_millis(50), 1 - from, packet));
                }
            }
        }
        let wakes = path.ends.iter().filter_map(super::super::Endpoint::next_wake);
        let next = wakes.chain(air.iter().map(|(at, ..)| *at)).min().unwrap();
        now = now.max(next);
        path.ends.iter_mut().for_each(|end| end.wake(now));
        let due: Vec<_> = air.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, to, packet) in due {
            path.ends[to].receive(&packet, now).unwrap();
        }
        path.ends[1].read();
    }
    let again = again(path.ends[0].record());
    (path, again)
}

const BULK: Config = Config { initial_window: 10, mss: 1000, timestamps: false, ..Config::rfc() };
const AT: fn(usize) -> u64 = |segment| 1 + 1000 * segment as u64;

/// RFC 9293 clauses 3.5 and 3.6: three packets open it, FINs of both sides end it, and TIME-WAIT lasts twice the MSL.
#[test]
fn a_connection_opens_and_ends() {
    let config = Config::rfc();
    let mut path = opened(&config);
    let flags = |path: &Path| -> Vec<Flags> {
        path.packets().iter().map(|(_, packet)| Segment::parse(packet).unwrap().flags).collect()
    };
    assert_eq!(flags(&path), [Flags::SYN, Flags::SYN.and(Flags::ACK), Flags::ACK]);
    path.ends[0].close();
    path.settle();
    assert_eq!(path.ends[0].state(), State::FinWait1);
    while path.ends[0].state() != State::FinWait2 {
        assert!(path.step());
        path.settle();
    }
    assert_eq!(path.ends[1].state(), State::CloseWait);
    // The other half is still open.
    path.ends[1].write(b"late");
    path.ends[1].close();
    path.settle();
    assert_eq!(path.ends[1].state(), State::LastAck);
    while path.ends[0].state() != State::TimeWait {
        assert!(path.step());
        path.settle();
    }
    assert_eq!(path.ends[0].read(), b"late");
    let waits_from = path.now();
    pass(&mut path, Instant(u64::MAX));
    assert_eq!(path.ends.each_ref().map(|end| end.ending()), [Some(Ending::Finished); 2]);
    assert_eq!(path.now().since(waits_from), config.time_wait);
}

/// RFC 7323 clause 2.2 and RFC 2018 clause 2: an option is used where both SYNs have it.
#[test]
fn options_are_agreed() {
    let without = Config { window_scaling: false, timestamps: false, sack: false, ..Config::rfc() };
    let large = Config { receive_buffer: 200_000, ..Config::rfc() };
    for (configs, agreed) in
        [([&large, &large], true), ([&large, &without], false), ([&without, &large], false)]
    {
        let mut path = Path::new(configs, [profile(); 2], 1, [1, 1]);
        path.keep_packets();
        path.ends[0].write(&[0; 100]);
        pass(&mut path, Instant(2000 * MS));
        let syns: Vec<Segment> =
            segments(&path, true, 0).into_iter().chain(segments(&path, false, 0)).collect();
        let answer = syns.iter().find(|segment| segment.flags == Flags::SYN.and(Flags::ACK)).unwrap();
        assert_eq!(answer.options.scale, agreed.then_some(2));
        assert_eq!((answer.options.sack_permitted, answer.options.timestamps.is_some()), (agreed, agreed));
        // The window of a SYN is not scaled; the next is.
        assert_eq!(answer.window, u16::MAX);
        let next = segments(&path, true, 2).into_iter().next().unwrap();
        let window = if agreed { 50_000 } else { u16::MAX };
        assert_eq!(next.window, window, "{}", configs[0].receive_buffer);
    }
}

/// RFC 9293 clause 3.10.7: a RST of the next number ends it, one beside it is answered (RFC 5961), and a closed end answers with one.
#[test]
fn resets() {
    let mut path = opened(&Config::rfc());
    path.ends[0].write(&[1; 500]);
    path.settle();
    let mut reset = segments(&path, true, 0).pop().unwrap();
    (reset.flags, reset.payload) = (Flags::RST, Vec::new());
    let now = path.now();
    let wrong = Segment { sequence: reset.sequence.wrapping_add(7), ..reset.clone() };
    path.ends[1].receive(&wrong.to_packet(1), now).unwrap();
    assert_eq!(path.ends[1].state(), State::Established);
    let challenge = path.ends[1].poll_transmit(now).map(|packet| Segment::parse(&packet).unwrap());
    assert!(challenge.is_some_and(|segment| segment.flags == Flags::ACK));
    path.ends[1].receive(&reset.to_packet(1), now).unwrap();
    assert_eq!(path.ends[1].ending(), Some(Ending::Reset));
    // The data that is still on its way meets a closed end.
    pass(&mut path, Instant(10_000 * MS));
    assert_eq!(path.ends[0].ending(), Some(Ending::Reset));
    let mut given_up = opened(&Config::rfc());
    given_up.ends[0].abort();
    pass(&mut given_up, Instant(10_000 * MS));
    assert_eq!(
        given_up.ends.each_ref().map(|end| end.ending()),
        [Some(Ending::Aborted), Some(Ending::Reset)]
    );
}

/// RFC 7323 clause 5: an older timestamp than the last is not taken, and is answered.
#[test]
fn old_timestamps_are_refused() {
    let mut path = opened(&Config::rfc());
    path.ends[0].write(&[1; 500]);
    path.settle();
    let data = segments(&path, true, 0).pop().unwrap();
    pass(&mut path, Instant(2000 * MS));
    assert_eq!(path.ends[1].arrived(), 500);
    let (value, echo) = data.options.timestamps.unwrap();
    let old = Segment {
        sequence: data.sequence.wrapping_add(500),
        options: Options { timestamps: Some((value.wrapping_sub(1000), echo)), ..Options::default() },
        ..data
    };
    let now = path.now();
    path.ends[1].receive(&old.to_packet(1), now).unwrap();
    assert_eq!((path.ends[1].arrived(), path.ends[1].refused().old_stamp), (500, 1));
    assert!(path.ends[1].poll_transmit(now).is_some());
}

/// RFC 5681 clause 3.2: three duplicates, one segment again, no timeout; with and without selective acknowledgements.
#[test]
fn one_loss_is_repaired_by_fast_retransmit() {
    for config in [BULK, Config { sack: false, ..BULK }, Config { detection: Detection::Rack, ..BULK }] {
        let (path, again) = losing(config, 30_000, &[4]);
        assert_eq!(again, [(AT(4), Reason::Fast)]);
        let record = path.ends[0].record();
        assert_eq!((record.recoveries, record.timeouts, record.spurious), (1, 0, 0));
    }
}

/// RFC 6582: a partial acknowledgement has the next hole filled, one a round trip. RFC 6675 fills all in one.
#[test]
fn several_losses_of_a_window() {
    let lost = [3, 5, 6];
    let holes = lost.map(|number| (AT(number), Reason::Fast));
    let (slow, again) = losing(Config { sack: false, ..BULK }, 30_000, &lost);
    assert_eq!(again, holes);
    let (fast, again) = losing(BULK, 30_000, &lost);
    assert_eq!(again, holes);
    let span = |path: &Path| {
        let record = path.ends[0].record();
        let mut times = record.sequence.iter().filter_map(|(at, point)| match point {
            Point::Sent(_, _, Reason::Fast) => Some(*at),
            Point::Sent(..) | Point::Acknowledged(_) => None,
        });
        let first = times.next().unwrap();
        times.next_back().unwrap().since(first)
    };
    // Two round trips of 100 ms, and within one.
    assert_eq!(span(&slow), Duration::from_millis(200));
    assert!(span(&fast) < Duration::from_millis(100), "{}", span(&fast));
    assert_eq!([&slow, &fast].map(|path| path.ends[0].record().timeouts), [0, 0]);
}

/// RFC 3042: with four segments in flight two duplicates bring two new ones, whose acknowledgements are the third. Without it a
/// timeout repairs it.
#[test]
fn limited_transmit_saves_a_timeout() {
    let small = Config { initial_window: 3, ..BULK };
    let (path, again) = losing(small, 12_000, &[0]);
    assert_eq!((again[0], path.ends[0].record().timeouts), ((AT(0), Reason::Fast), 0));
    let (path, again) = losing(Config { limited_transmit: false, ..small }, 12_000, &[0]);
    assert_eq!((again[0], path.ends[0].record().timeouts), ((AT(0), Reason::Timeout), 1));
}

/// A segment that is lost again: RFC 6675 waits for the timeout, RFC 8985 does not.
#[test]
fn a_second_loss_of_a_segment() {
    // The tenth departure is the first retransmission.
    let numbers = |config: Config| {
        let (path, _) = losing(config, 60_000, &[2]);
        let sent =
            path.ends[0].record().sequence.iter().filter(|(_, point)| matches!(point, Point::Sent(..)));
        sent.take_while(|(_, point)| !matches!(point, Point::Sent(_, _, Reason::Fast))).count()
    };
    let rack = Config { detection: Detection::Rack, ..BULK };
    let (path, again) = losing(BULK, 60_000, &[2, numbers(BULK)]);
    assert_eq!(again.iter().filter(|(start, _)| *start == AT(2)).count(), 2);
    assert_eq!(path.ends[0].record().timeouts, 1);
    let (path, again) = losing(rack, 60_000, &[2, numbers(rack)]);
    assert_eq!(again, [(AT(2), Reason::Fast); 2]);
    assert_eq!(path.ends[0].record().timeouts, 0);
}

/// RFC 6298 clause 5: 1, 2, 4 s for a SYN that nobody answers.
#[test]
fn the_timeout_doubles() {
    let config = Config::rfc();
    let mut path = Path::new([&config; 2], [lossy(1.0), profile()], 1, [1, 1]);
    path.keep_packets();
    pass(&mut path, Instant(20_000 * MS));
    let times: Vec<u64> = path.packets().iter().map(|(at, _)| at.0 / MS).collect();
    assert_eq!(times[..5], [0, 1000, 3000, 7000, 15_000]);
}

/// A delay in place of a loss: RFC 5682 finds the timeout spurious and sends nothing again but the first segment.
#[test]
fn a_delay_is_no_loss() {
    let with = |config: Config| {
        let mut path = opened(&config);
        path.ends[0].keep_points();
        path.ends[0].write(&[3; 80_000]);
        let mut held: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut now = path.now();
        let end = now + Duration::from_secs(10);
        while now < end {
            for (from, end) in path.ends.iter_mut().enumerate() {
                end.wake(now);
                while let Some(packet) = end.poll_transmit(now) {
                    held.push((1 - from, packet));
                }
            }
            // A round trip is 20 ms, but for 1.5 s nothing arrives.
            now += Duration::from_millis(10);
            let silent = (Instant(200 * MS)..Instant(1_700 * MS)).contains(&now);
            if !silent {
                for (to, packet) in std::mem::take(&mut held) {
                    path.ends[to].receive(&packet, now).unwrap();
                    path.ends[to].read();
                    // Each segment has an acknowledgement of its own.
                    held.extend(path.ends[to].poll_transmit(now).map(|packet| (1 - to, packet)));
                }
            }
        }
        path
    };
    let base = Config { delayed_ack: None, undo: false, rto_min: Duration::from_millis(300), ..BULK };
    let path = with(base);
    let conventional = with(Config { frto: false, ..base });
    let [ours, others] = [&path, &conventional].map(|path| path.ends[0].record().clone());
    assert_eq!(path.ends[1].arrived(), 80_000);
    assert!(ours.timeouts >= 1, "{ours:?}");
    assert_eq!((ours.spurious_timeouts, ours.undone), (1, 1), "{:?}", again(&ours));
    assert!(again(&ours).iter().all(|(start, _)| *start == again(&ours)[0].0), "{:?}", again(&ours));
    assert!(others.after_timeout > ours.after_timeout, "{} and {}", others.after_timeout, ours.after_timeout);
    // RFC 3522 alone finds it as well, by the echo of a timestamp.
    let eifel = with(Config { frto: false, undo: true, timestamps: true, ..base });
    assert_eq!(eifel.ends[0].record().spurious_timeouts, 1);
}

/// RFC 9293 clause 3.8.6.1: a window that is shut is asked for, and the transfer goes on.
#[test]
fn a_shut_window_is_asked_for() {
    let mut path = opened(&Config { receive_buffer: 4000, ..BULK });
    path.ends[0].write(&[1; 9000]);
    pass(&mut path, Instant(30_000 * MS));
    assert_eq!(path.ends[1].arrived(), 4000);
    let probes = segments(&path, true, 3).into_iter().filter(|segment| segment.payload.is_empty()).count();
    assert!((3..10).contains(&probes), "{probes}");
    assert_eq!(path.ends[1].read().len(), 4000);
    pass(&mut path, Instant(100_000 * MS));
    assert_eq!((path.ends[1].read().len(), path.ends[1].arrived()), (4000, 8000));
    pass(&mut path, Instant(300_000 * MS));
    assert_eq!(path.ends[1].arrived(), 9000);
}

/// RFC 5681 clause 3.1: the window doubles in a round trip without a loss; a timeout makes it one segment.
#[test]
fn the_window_over_time() {
    let outage = Some(Outage { after: 60, span: Duration::from_secs(3) });
    let config = Config { delayed_ack: None, ..Config::rfc() };
    let outcome = run(config, Profile { outage, ..profile() }, 300_000);
    let record = outcome.path.ends[0].record();
    assert!(record.timeouts >= 1 && record.after_timeout >= 1);
    let least = record.windows.iter().map(|(_, cwnd, _)| *cwnd).min();
    assert_eq!(least, Some(1));
    let at = |ms: u64| {
        record.windows.iter().take_while(|(at, ..)| at.0 <= ms * MS).last().map_or(0, |(_, cwnd, _)| *cwnd)
    };
    assert_eq!((at(110), at(290)), (3, 6), "{:?}", record.windows);
    assert!(!record.round_trips.is_empty());
}

/// Nagle's rule: a small segment waits for the acknowledgement of what is in flight (RFC 1122 clause 4.2.3.4).
#[test]
fn small_segments_wait_for_an_acknowledgement() {
    let mut path = opened(&BULK);
    let from = path.packets().len();
    for _ in 0..5 {
        path.ends[0].write(&[1; 10]);
        path.settle();
    }
    pass(&mut path, Instant(2_000 * MS));
    let sizes: Vec<usize> = segments(&path, true, from).iter().map(|segment| segment.payload.len()).collect();
    assert_eq!(sizes, [10, 40]);
}
