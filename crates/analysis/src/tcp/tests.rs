use super::report::{ConnectionReport, Kind, Spurious};
use super::{Settings, Tcp};
use crate::record::{Proof, Seen, Stamp, TcpSegment};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const MSS: u32 = 1_000;
const HEADERS: u32 = 52;

/// A segment of the connection whose both directions begin at 0xffff_0000, so that numbers wrap.
fn segment(is_forward: bool, from: u32, length: u32, acknowledged: u32) -> TcpSegment {
    const START: u32 = 0xffff_0000;
    TcpSegment {
        connection: 0,
        is_forward,
        sequence: START.wrapping_add(from),
        acknowledgement: START.wrapping_add(acknowledged),
        length,
        flags: super::half::ACK,
        window: 60_000,
        sack: Vec::new(),
        timestamps: None,
        scale: None,
        mss: None,
        identification: 0,
        ip_octets: length + HEADERS,
    }
}

/// Segments with their times in milliseconds; frames are counted from 1.
fn analysed(segments: Vec<(u64, TcpSegment)>) -> ConnectionReport {
    let mut tcp = Tcp::new(Settings::default());
    for ((at, what), frame) in segments.into_iter().zip(1..) {
        tcp.take(&Seen { at: Stamp(at * MS), proof: Proof { file: 0, frame }, place: 0, what });
    }
    tcp.finish().remove(0)
}

/// SYN, SYN-ACK and ACK with a round trip of 600 ms at the sender.
fn opened() -> Vec<(u64, TcpSegment)> {
    let syn = |is_forward, acknowledged| {
        let mut syn = segment(is_forward, 0, 0, acknowledged);
        syn.flags = super::half::SYN | if is_forward { 0 } else { super::half::ACK };
        (syn.mss, syn.scale) = (Some(1_000), Some(3));
        syn
    };
    vec![(0, syn(true, 0)), (600, syn(false, 1)), (600, segment(true, 1, 0, 1))]
}

fn data(at: u64, number: u32) -> (u64, TcpSegment) {
    (at, segment(true, 1 + number * MSS, MSS, 1))
}

fn ack(at: u64, number: u32) -> (u64, TcpSegment) {
    (at, segment(false, 1, 0, 1 + number * MSS))
}

fn with(mut made: (u64, TcpSegment), timestamps: (u32, u32)) -> (u64, TcpSegment) {
    made.1.timestamps = Some(timestamps);
    made
}

#[test]
fn throughput_round_trips_and_outstanding_data_are_counted() {
    let mut all = opened();
    all.extend([data(700, 0), data(701, 1), ack(1_400, 2), data(1_500, 2), ack(2_300, 3)]);
    let report = analysed(all);
    let half = &report.forward;
    assert_eq!((half.octets, half.acknowledged_octets, half.data_segments), (3_000, 3_000, 3));
    assert_eq!(
        half.throughput.sums(),
        [2_000, 1_000],
        "by seconds from the first acknowledgement on, at 600 ms"
    );
    let rtts: Vec<(u64, u64, u64)> = half
        .round_trips
        .points()
        .iter()
        .map(|rtt| (rtt.rtt_ns / MS, rtt.sent.frame, rtt.answered.frame))
        .collect();
    assert_eq!(rtts, [(600, 1, 2), (699, 5, 6), (800, 7, 8)]);
    assert_eq!(half.idle_rtt.map(|idle| idle.rtt_ns), Some(600 * MS));
    assert_eq!(half.rtt_quantile(0.5), Some(699 * MS));
    assert_eq!(half.outstanding_max.map(|most| (most.octets, most.proof.frame)), Some((2_000, 5)));
    assert_eq!((half.segment.octets, half.segment.header_octets), (1_000, 52));
    assert_eq!(half.window_max, 480_000, "scaled by 3");
    assert!(half.retransmissions.is_empty() && half.outages.is_empty());
    assert_eq!(half.mean_rate(), Some(3_000.0 / 0.8));
}

#[test]
fn a_segment_sent_twice_is_no_sample() {
    let mut all = opened();
    all.extend([data(700, 0), data(2_600, 0), ack(3_300, 1)]);
    let report = analysed(all);
    assert_eq!(report.forward.round_trips.seen(), 1, "the SYN's alone");
    let [again] = report.forward.retransmissions[..] else { panic!() };
    assert_eq!((again.kind, again.start, again.end, again.begins), (Kind::Timeout, 1, 1_001, true));
    assert_eq!(
        (again.proof.frame, again.before.map(|(_, proof)| proof.frame), again.spurious),
        (5, Some(4), None)
    );
}

#[test]
fn three_duplicates_bring_a_fast_retransmission_which_is_needed() {
    let mut all = opened();
    all.extend((0..5).map(|n| data(700 + u64::from(n), n)));
    all.extend((0..4).map(|n| ack(1_400 + n, 0)));
    all.extend([data(1_404, 0), ack(2_050, 5)]);
    let report = analysed(all);
    assert_eq!(report.forward.count(Kind::Fast), (1, 1, 0));
    assert_eq!(report.forward.retransmissions.len(), 1);
}

#[test]
fn a_late_acknowledgement_of_the_first_copy_shows_a_spurious_timeout() {
    let run = |echo: u32| {
        let mut all = opened();
        all.extend([
            with(data(700, 0), (700, 0)),
            with(data(2_600, 0), (2_600, 0)),
            with(ack(3_300, 1), (9_000, echo)),
        ]);
        let report = analysed(all);
        let again = report.forward.retransmissions[0];
        assert_eq!((again.kind, again.begins), (Kind::Timeout, true));
        again.spurious
    };
    assert_eq!((run(700), run(2_600)), (Some(Spurious::Eifel), None));
}

#[test]
fn an_acknowledgement_that_is_too_soon_and_a_duplicate_report_show_it_too() {
    let mut all = opened();
    all.extend([data(700, 0), data(2_000, 0), ack(2_010, 1)]);
    assert_eq!(analysed(all.clone()).forward.retransmissions[0].spurious, Some(Spurious::TooSoon));
    all.truncate(5);
    all.extend([ack(2_650, 1)]);
    assert_eq!(analysed(all.clone()).forward.retransmissions[0].spurious, None);
    let mut duplicate = segment(false, 1, 0, 1 + MSS);
    let left = segment(true, 1, 0, 0).sequence;
    duplicate.sack = vec![(left, left.wrapping_add(MSS))];
    all.push((2_700, duplicate));
    assert_eq!(analysed(all.clone()).forward.retransmissions[0].spurious, Some(Spurious::Duplicate));
    all.push(data(5_000, 0));
    assert_eq!(analysed(all).forward.retransmissions[1].spurious, Some(Spurious::Acknowledged));
}

#[test]
fn an_outage_ends_when_the_other_end_is_heard_and_is_recovered_when_all_is_acknowledged() {
    let mut all = opened();
    all.extend((0..4).map(|n| data(700 + u64::from(n), n)));
    all.extend([
        ack(1_400, 1),
        data(3_000, 1),
        data(6_000, 1),
        ack(6_700, 2),
        data(6_701, 2),
        data(6_702, 3),
    ]);
    all.push(ack(7_500, 4));
    let report = analysed(all);
    let [outage] = report.forward.outages[..] else { panic!("{:?}", report.forward.outages) };
    assert_eq!((outage.length_ns() / MS, outage.recovery_ns().map(|ns| ns / MS)), (5_300, Some(800)));
    assert_eq!((outage.from.1.frame, outage.until.1.frame, outage.outstanding), (8, 11, 3_000));
    assert_eq!(outage.sent_again, 4, "two before and two after its end");
}

#[test]
fn what_comes_late_at_the_receiver_is_reordered_or_sent_again() {
    let run = |late_ms: u64, value: Option<u32>| {
        let mut all = opened();
        all.push(data(700, 0));
        let mut others = vec![data(710, 2), data(710 + late_ms, 1)];
        if let Some(value) = value {
            others = vec![with(others.remove(0), (50, 0)), with(others.remove(0), (value, 0))];
        }
        all.extend(others);
        let report = analysed(all);
        (report.forward.reordered_octets, report.forward.retransmissions.len())
    };
    assert_eq!((run(2, None), run(900, None)), ((1_000, 0), (0, 1)));
    assert_eq!((run(900, Some(49)), run(2, Some(51))), ((1_000, 0), (0, 1)));
}

#[test]
fn what_the_capture_lacks_is_said() {
    let mut all = opened();
    all.extend([data(700, 0), data(702, 2), ack(1_400, 3)]);
    let report = analysed(all);
    assert_eq!((report.forward.unseen_octets, report.forward.retransmissions.len()), (1_000, 0));
}

#[test]
fn more_connections_than_there_is_room_for_are_counted() {
    let mut tcp = Tcp::new(Settings { connections_max: 2, ..Settings::default() });
    for connection in 0..5 {
        let what = TcpSegment { connection, ..segment(true, 0, 10, 0) };
        tcp.take(&Seen { at: Stamp(0), proof: Proof { file: 0, frame: 1 }, place: 0, what });
    }
    assert_eq!((tcp.left_out(), tcp.finish().len()), (3, 2));
}

/// A bulk transfer with Reno's slow start and NewReno's recovery over a bottleneck: times in microseconds.
struct Transfer {
    rate: u64,
    buffer: u64,
    one_way: u64,
    segments: u32,
    has_timestamps: bool,
    records: Vec<(u64, u16, TcpSegment)>,
    events: BTreeMap<(u64, u64), Event>,
    serial: u64,
    busy_until: u64,
    drops: u32,
    // The sender.
    next: u32,
    una: u32,
    window: f64,
    threshold: f64,
    duplicates: u32,
    recover: Option<u32>,
    timer: u64,
    echo: u32,
    // The receiver.
    expected: u32,
    beyond: std::collections::BTreeSet<u32>,
    recent: u32,
}

#[derive(Clone, Copy)]
enum Event {
    Data(u32, u32),
    Ack(u32, u32, u32),
    Timer,
}

impl Transfer {
    fn run(mut self) -> (Vec<ConnectionReport>, u32) {
        for (at, made) in opened() {
            // The receiver sees the SYN half of a round trip later.
            let at = at * self.one_way * 2 / 600;
            self.records.push((at, 0, made.clone()));
            let there = if made.is_forward { at + self.one_way } else { at - self.one_way };
            self.records.push((there, 1, made));
        }
        let start = self.one_way * 2 + 1_000;
        self.fill(start);
        while let Some(((now, _), event)) = self.events.pop_first() {
            match event {
                Event::Data(number, value) => self.arrived(now, number, value),
                Event::Ack(number, value, echo) => self.acknowledged(now, number, value, echo),
                Event::Timer => self.time_out(now),
            }
        }
        self.records.sort_by_key(|(at, ..)| *at);
        let mut tcp = Tcp::new(Settings::default());
        for ((at, place, what), frame) in self.records.into_iter().zip(1..) {
            tcp.take(&Seen { at: Stamp(at * 1_000), proof: Proof { file: place, frame }, place, what });
        }
        (tcp.finish(), self.drops)
    }

    fn later(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn stamps(&self, at: u64, echo: u32) -> Option<(u32, u32)> {
        self.has_timestamps.then_some((u32::try_from(at / 1_000).unwrap(), echo))
    }

    fn send(&mut self, now: u64, number: u32) {
        let (_, mut made) = data(0, number);
        made.timestamps = self.stamps(now, self.echo);
        self.records.push((now, 0, made));
        let octets = u64::from(MSS + HEADERS);
        self.busy_until = self.busy_until.max(now);
        if (self.busy_until - now) * self.rate / 1_000_000 + octets > self.buffer {
            self.drops += 1;
        } else {
            self.busy_until += octets * 1_000_000 / self.rate;
            let value = u32::try_from(now / 1_000).unwrap();
            self.later(self.busy_until + self.one_way, Event::Data(number, value));
        }
        self.timer = now + 20_000_000;
        self.later(self.timer, Event::Timer);
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn fill(&mut self, now: u64) {
        while self.next < self.segments && self.next - self.una < self.window as u32 {
            self.next += 1;
            self.send(now, self.next - 1);
        }
    }

    fn arrived(&mut self, now: u64, number: u32, value: u32) {
        let (_, mut made) = data(0, number);
        made.timestamps = self.has_timestamps.then_some((value, 0)).map(|(value, _)| {
            let of = self.records.iter().rev().find(|(_, place, sent)| {
                *place == 0
                    && sent.length > 0
                    && sent.sequence == made.sequence
                    && sent.timestamps.unwrap().0 == value
            });
            of.unwrap().2.timestamps.unwrap()
        });
        self.records.push((now, 1, made));
        if number == self.expected {
            self.recent = value;
            self.expected += 1;
            while self.beyond.remove(&self.expected) {
                self.expected += 1;
            }
        } else if number > self.expected {
            self.beyond.insert(number);
        }
        let (_, mut answer) = ack(0, self.expected);
        answer.timestamps = self.stamps(now, self.recent);
        self.records.push((now, 1, answer));
        let value = u32::try_from(now / 1_000).unwrap();
        self.later(now + self.one_way, Event::Ack(self.expected, value, self.recent));
    }

    fn acknowledged(&mut self, now: u64, number: u32, value: u32, echo: u32) {
        let (_, mut answer) = ack(0, number);
        answer.timestamps = self.stamps(value.into(), echo).map(|_| (value, echo));
        self.records.push((now, 0, answer));
        self.echo = value;
        if number > self.una {
            self.una = number;
            self.next = self.next.max(number);
            self.duplicates = 0;
            self.timer = now + 20_000_000;
            self.later(self.timer, Event::Timer);
            match self.recover {
                Some(until) if number < until => self.send(now, number),
                Some(_) => {
                    self.recover = None;
                    self.window = self.threshold;
                }
                None if self.window < self.threshold => self.window += 1.0,
                None => self.window += 1.0 / self.window,
            }
        } else if self.next > self.una {
            self.duplicates += 1;
            if self.duplicates == 3 && self.recover.is_none() {
                self.threshold = (f64::from(self.next - self.una) / 2.0).max(2.0);
                self.recover = Some(self.next);
                self.window = self.threshold;
                self.send(now, number);
            }
        }
        self.fill(now);
    }

    fn time_out(&mut self, now: u64) {
        if now == self.timer && self.una < self.segments {
            (self.window, self.recover, self.duplicates) = (1.0, None, 0);
            self.next = self.una + 1;
            self.send(now, self.una);
        }
    }
}

fn transfer(rate: u64, buffer: u64, rtt_ms: u64, has_timestamps: bool) -> (Vec<ConnectionReport>, u32) {
    Transfer {
        rate,
        buffer,
        one_way: rtt_ms * 500,
        segments: 400,
        has_timestamps,
        records: Vec::new(),
        events: BTreeMap::new(),
        serial: 0,
        busy_until: 0,
        drops: 0,
        next: 0,
        una: 0,
        window: 2.0,
        threshold: 1e9,
        duplicates: 0,
        recover: None,
        timer: 0,
        echo: 0,
        expected: 0,
        beyond: std::collections::BTreeSet::new(),
        recent: 0,
    }
    .run()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The buffer of the bottleneck is found from either host alone, within three segments.
    #[test]
    fn the_buffer_is_found_at_either_end(rate in 3_000_u64..40_000, buffer in 8_000_u64..60_000, rtt_ms in 200_u64..1_100) {
        let (reports, drops) = transfer(rate, buffer, rtt_ms, true);
        prop_assert!(drops > 0);
        for report in &reports {
            let estimate = report.forward.buffer().copied();
            // Where the buffer is small against the pipe nothing can be said, and is not.
            let Some(estimate) = estimate else {
                prop_assert!(buffer * 1_000 < rate * rtt_ms * 2, "{buffer} {rate} {rtt_ms}");
                continue;
            };
            prop_assert_eq!(estimate.is_before, report.place == 0);
            let off = estimate.ip_octets.abs_diff(buffer);
            prop_assert!(off <= 3 * u64::from(MSS + HEADERS), "place {}: {estimate:?} of {buffer}", report.place);
        }
    }

    /// What was dropped is what was sent again, and nothing that was needed is called needless.
    #[test]
    fn each_loss_is_sent_again(rate in 3_000_u64..40_000, buffer in 8_000_u64..60_000, has_timestamps: bool) {
        let (reports, drops) = transfer(rate, buffer, 600, has_timestamps);
        let sender = &reports[0].forward;
        let needless = sender.retransmissions.iter().filter(|again| again.spurious.is_some()).count();
        prop_assert!(sender.retransmissions.len() >= drops as usize);
        prop_assert!(sender.retransmissions.len() - needless <= drops as usize + 1);
        prop_assert_eq!(sender.acknowledged_octets, 400 * u64::from(MSS));
        prop_assert_eq!(sender.unseen_octets + reports[1].forward.unseen_octets, 0);
    }

    /// Any segments at all are taken, and the report is bounded.
    #[test]
    fn no_segments_do_harm(all in prop::collection::vec(
        (any::<bool>(), any::<[u32; 3]>(), any::<u8>(), any::<u64>(), any::<Option<(u32, u32)>>(), prop::collection::vec(any::<(u32, u32)>(), 0..4)),
        0..200,
    )) {
        let mut tcp = Tcp::new(Settings { points_max: 16, ..Settings::default() });
        let mut between = super::between::Between::default();
        for ((is_forward, [sequence, acknowledgement, length], flags, at, timestamps, sack), frame) in all.into_iter().zip(1..) {
            let near = length % 5_000;
            let what = TcpSegment {
                sequence: if at % 3 == 0 { sequence } else { near },
                acknowledgement: if at % 5 == 0 { acknowledgement } else { near },
                length: if at % 7 == 0 { length } else { near },
                flags, timestamps, sack, mss: Some(flags.into()), scale: Some(flags),
                ..segment(is_forward, 0, 0, 0)
            };
            let seen = Seen { at: Stamp(at), proof: Proof { file: 0, frame }, place: (at % 2) as u16, what };
            tcp.take(&seen);
            between.take(&seen);
        }
        for report in tcp.finish() {
            for half in [report.forward, report.backward] {
                prop_assert!(half.marks.points().len() <= 16 && half.throughput.sums().len() <= 16);
                prop_assert!(serde_json::to_string(&half).is_ok());
            }
        }
        prop_assert!(between.finish().len() <= 2);
    }
}

#[test]
fn segments_that_one_of_two_places_lacks_are_lost_between_them() {
    let mut between = super::between::Between::default();
    let mut take = |at: u64, place: u16, number: u32, frame: u64| {
        let (_, what) = data(0, number);
        between.take(&Seen { at: Stamp(at * MS), proof: Proof { file: place, frame }, place, what });
    };
    for (number, frame) in (0..10).zip(1..) {
        let at = u64::from(number) * 10;
        take(at, 1, number, frame);
        if number != 4 && number != 7 {
            take(at + 5, 0, number, frame);
        }
    }
    // The same octets once more, as they were lost before.
    take(200, 1, 4, 11);
    take(206, 0, 4, 9);
    let [way] = &between.finish()[..] else { panic!() };
    assert_eq!((way.from, way.to, way.arrived), (1, 0, 9));
    assert_eq!(way.delay_ns, (5_000_000, 6_000_000));
    assert_eq!((way.lost, way.lost_first[0].proof.frame, way.lost_first[1].proof.frame), (2, 5, 8));
}
