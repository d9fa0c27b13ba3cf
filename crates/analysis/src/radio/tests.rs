use super::report::{Again, Counts, End, RadioReport, Tbf};
use super::{Radio, Settings};
use crate::record::{
    AckNack, Assignment, BlockContents, Carrier, DataBlock, Direction, Packet, Proof, RadioBlock, Seen,
    Stamp, TcpSegment,
};
use gannet_wire::rlcmac::coding::CodingScheme;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const TFI: u8 = 5;

/// Blocks as they are made, each with the next frame number.
#[derive(Default)]
struct Made(Vec<Seen<RadioBlock>>);

impl Made {
    fn add(&mut self, at_ms: u64, direction: Direction, contents: BlockContents) -> &mut Self {
        self.add_in(at_ms, 4, direction, contents)
    }

    fn add_in(
        &mut self,
        at_ms: u64,
        timeslot: u8,
        direction: Direction,
        contents: BlockContents,
    ) -> &mut Self {
        let what = RadioBlock { arfcn: 871, timeslot, frame_number: 0, direction, contents };
        let frame = self.0.len() as u64 + 1;
        self.0.push(Seen { at: Stamp(at_ms * MS), proof: Proof { file: 0, frame }, place: 0, what });
        self
    }

    fn down(&mut self, at_ms: u64, bsn: u8) -> &mut Self {
        self.add(at_ms, Direction::Down, data(TFI, bsn, false))
    }

    fn up(&mut self, at_ms: u64, bsn: u8) -> &mut Self {
        self.add(at_ms, Direction::Up, data(TFI, bsn, false))
    }

    /// A report on a downlink TBF: blocks below `ssn` but for these have arrived.
    fn report(&mut self, at_ms: u64, of: Direction, ssn: u8, missing: &[u8]) -> &mut Self {
        let direction = if of == Direction::Down { Direction::Up } else { Direction::Down };
        self.add(at_ms, direction, acknack(of, ssn, missing, false))
    }

    fn analysed(&self) -> RadioReport {
        let mut radio = Radio::new(Settings::default());
        self.0.iter().for_each(|seen| radio.take(seen));
        radio.finish()
    }

    fn tbf(&self) -> Tbf {
        let mut tbfs = self.analysed().tbfs;
        assert_eq!(tbfs.len(), 1, "{tbfs:?}");
        tbfs.remove(0)
    }
}

fn data(tfi: u8, bsn: u8, polls_or_stalls: bool) -> BlockContents {
    BlockContents::Data(DataBlock {
        scheme: Some(CodingScheme::Cs2),
        tfi,
        bsn,
        countdown: 15,
        polls_or_stalls,
        rrbp: polls_or_stalls.then_some(0),
        user_octets: 30,
        digest: u64::from(bsn),
        ..DataBlock::default()
    })
}

fn acknack(of: Direction, ssn: u8, missing: &[u8], is_final: bool) -> BlockContents {
    let bit = |bsn: &u8| 1_u64 << (ssn.wrapping_sub(1).wrapping_sub(*bsn) % 128);
    let received = !missing.iter().map(bit).fold(0, |all, bit| all | bit);
    BlockContents::AckNack(AckNack { tfi: TFI, of, is_final, ssn, received, asks: false })
}

fn assignment(of: Direction, timeslots: u8, is_common: bool) -> BlockContents {
    BlockContents::Assignment(Assignment {
        of,
        tfi: Some(TFI),
        tlli: Some(0xc000_0001),
        through: None,
        timeslots,
        is_common,
    })
}

fn assigned(of: Direction, timeslots: u8) -> Assignment {
    Assignment { of, tfi: Some(TFI), tlli: None, through: None, timeslots, is_common: false }
}

fn asking(ssn: u8) -> BlockContents {
    let received = u64::MAX;
    let (of, is_final, asks) = (Direction::Down, false, true);
    BlockContents::AckNack(AckNack { tfi: TFI, of, is_final, ssn, received, asks })
}

fn packet(direction: Direction, began: Stamp, first: Proof) -> Packet {
    let carrier = Carrier::Segments { nsapi: 5, number: 0, count: 1 };
    let (direction, mobile) = (Some(direction), None);
    Packet { direction, mobile, digest: None, ip: None, octets: 40, began, first, carrier }
}

fn segment(is_forward: bool, (sequence, length): (u32, u32), acknowledgement: u32) -> TcpSegment {
    TcpSegment {
        connection: 0,
        is_forward,
        sequence,
        acknowledgement,
        length,
        flags: 16,
        window: 8192,
        sack: Vec::new(),
        timestamps: None,
        scale: None,
        mss: None,
        identification: 0,
        ip_octets: 40 + length,
    }
}

fn counts(again: Counts) -> [u64; 5] {
    Again::ALL.map(|why| again.of(why))
}

#[test]
fn a_block_that_a_report_asks_for_is_needed() {
    let mut made = Made::default();
    for bsn in 0..10 {
        made.down(u64::from(bsn) * 20, bsn);
    }
    made.report(300, Direction::Down, 10, &[3]).down(320, 3);
    let tbf = made.tbf();
    assert_eq!((counts(tbf.again), tbf.blocks, tbf.user_octets), ([1, 0, 0, 0, 0], 10, 300));
    let again = tbf.sent_again[0];
    assert_eq!((again.before.frame, again.report.map(|proof| proof.frame), again.bsn), (4, Some(11), 3));
    assert_eq!(tbf.round_trip_ns, Some(120 * MS), "from block 9 to the report");
    assert_eq!(tbf.line_rate, 12_000.0);
}

#[test]
fn a_block_that_no_report_asks_for_is_premature() {
    let mut made = Made::default();
    made.down(0, 0).down(20, 1).down(40, 0).down(60, 1).down(80, 0);
    assert_eq!(counts(made.tbf().again), [0, 4 - 1, 0, 0, 0]);
    // A report before the last copy does not ask for another one.
    let mut made = Made::default();
    made.down(0, 0).down(20, 1).report(200, Direction::Down, 2, &[0]).down(220, 0).down(500, 0);
    assert_eq!(counts(made.tbf().again), [1, 1, 0, 0, 0]);
}

#[test]
fn a_copy_for_a_report_from_before_the_last_copy_is_repeated_and_a_later_one_is_needed() {
    let run = |second_report: u64| {
        let mut made = Made::default();
        made.down(0, 0).down(20, 1).report(140, Direction::Down, 2, &[0]).down(160, 0);
        made.report(second_report, Direction::Down, 2, &[0]).down(second_report + 20, 0);
        made.tbf()
    };
    let repeated = run(175);
    assert_eq!((counts(repeated.again), repeated.round_trip_ns), ([1, 0, 1, 0, 0], Some(120 * MS)));
    assert_eq!(repeated.sent_again[1].report.map(|proof| proof.frame), Some(5));
    assert_eq!(counts(run(180).again), [2, 0, 0, 0, 0]);
}

#[test]
fn a_block_that_has_arrived_is_not_sent_again_with_reason() {
    let mut made = Made::default();
    made.down(0, 0).down(20, 1).report(140, Direction::Down, 2, &[]).down(160, 0);
    assert_eq!(counts(made.tbf().again), [0, 0, 0, 1, 0]);
}

#[test]
fn two_reports_before_the_first_uplink_copy_comes_bring_two() {
    let mut made = Made::default();
    made.up(0, 0).up(20, 2).report(40, Direction::Up, 3, &[1]).report(60, Direction::Up, 3, &[1]);
    made.up(160, 1).up(180, 1);
    let tbf = made.tbf();
    assert_eq!((counts(tbf.again), tbf.late), ([0, 0, 1, 0, 0], 1));
    assert_eq!(tbf.sent_again[0].report.map(|proof| proof.frame), Some(4), "the second report asked");
}

#[test]
fn numbers_wrap_and_the_same_number_with_other_octets_is_another_tbf() {
    let mut made = Made::default();
    (0..300_u64).for_each(|n| {
        made.down(n * 20, u8::try_from(n % 128).unwrap());
        if n % 16 == 15 {
            made.report(n * 20 + 1, Direction::Down, u8::try_from((n + 1) % 128).unwrap(), &[]);
        }
    });
    let tbf = made.tbf();
    assert_eq!((tbf.blocks, tbf.again.all(), tbf.stalls.len(), tbf.reports), (300, 0, 0, 18));
    assert_eq!((tbf.report_interval(), tbf.user_rate().map(f64::round)), (Some(16), Some(12_000.0)));
    let mut other = data(TFI, 43, false);
    if let BlockContents::Data(block) = &mut other {
        block.digest = 999;
    }
    made.add(6_001, Direction::Down, other);
    let ends: Vec<(End, u64)> = made.analysed().tbfs.iter().map(|tbf| (tbf.end, tbf.blocks)).collect();
    assert_eq!(ends, [(End::Replaced, 300), (End::Open, 1)]);
}

#[test]
fn a_full_window_is_a_stall_until_a_report_moves_it() {
    let mut made = Made::default();
    for bsn in 0..64 {
        made.down(u64::from(bsn) * 20, bsn);
    }
    made.down(1_300, 0).report(1_500, Direction::Down, 64, &[]).down(1_520, 64);
    let tbf = made.tbf();
    assert_eq!(tbf.stalls.len(), 1);
    assert_eq!(tbf.stalls[0].from.1.frame, 64);
    assert_eq!((tbf.stalls[0].until.map(|(_, proof)| proof.frame), tbf.stalled_ns()), (Some(66), 240 * MS));
    assert_eq!(counts(tbf.again), [0, 1, 0, 0, 0]);
}

#[test]
fn a_tbf_is_set_up_held_and_released() {
    let mut made = Made::default();
    made.add(0, Direction::Up, BlockContents::Access);
    made.add(90, Direction::Down, assignment(Direction::Up, 0b0001_0000, true));
    made.up(200, 0).up(220, 1);
    made.add(500, Direction::Down, acknack(Direction::Up, 2, &[], true));
    made.add(600, Direction::Down, assignment(Direction::Down, 0b0011_0000, false));
    made.down(700, 0).add(760, Direction::Down, BlockContents::Dummy);
    made.add_in(780, 5, Direction::Down, BlockContents::Dummy).add_in(
        780,
        6,
        Direction::Down,
        BlockContents::Dummy,
    );
    made.add(900, Direction::Up, acknack(Direction::Down, 1, &[], true));
    let report = made.analysed();
    let [up, down] = &report.tbfs[..] else { panic!("{:?}", report.tbfs) };
    let (up, down) = if up.direction == Direction::Up { (up, down) } else { (down, up) };
    assert_eq!((up.asked.map(|(_, proof)| proof.frame), up.set_up_ns()), (Some(1), Some(200 * MS)));
    assert_eq!(
        (up.end, up.tlli, up.lasted_ns(), up.held_ns()),
        (End::Released, Some(0xc000_0001), 300 * MS, 280 * MS)
    );
    assert_eq!((down.asked, down.set_up_ns(), down.timeslots), (None, Some(100 * MS), 0b0011_0000));
    assert_eq!(
        (down.end, down.dummies, down.line_rate),
        (End::Released, 2, 24_000.0),
        "slot 6 is not its own"
    );
    let cell = &report.cells[0];
    assert_eq!((cell.accesses, cell.common_assignments, cell.down.assignments), (1, 1, 1));
    assert_eq!(
        (cell.down.dummy, cell.down.new, cell.down.reports, cell.up.new, cell.up.reports),
        (3, 1, 1, 2, 1)
    );
    assert_eq!((cell.down.all(), cell.down.signalling()), (6, 2));
}

#[test]
fn blocks_after_the_release_that_are_known_do_not_make_a_tbf() {
    let mut made = Made::default();
    made.up(0, 0).up(20, 1).add(100, Direction::Down, acknack(Direction::Up, 2, &[], true)).up(120, 1);
    let tbf = made.tbf();
    assert_eq!((tbf.end, counts(tbf.again)), (End::Released, [0, 0, 0, 1, 0]));
    made.add(1_000, Direction::Down, assignment(Direction::Up, 16, true)).up(1_100, 0);
    assert_eq!(made.analysed().tbfs.len(), 2);
}

#[test]
fn five_silent_seconds_end_a_tbf() {
    let mut made = Made::default();
    made.down(0, 0).down(6_000, 0);
    let ends: Vec<End> = made.analysed().tbfs.iter().map(|tbf| tbf.end).collect();
    assert_eq!(ends, [End::Silent, End::Open]);
}

#[test]
fn a_poll_without_a_report_is_unanswered() {
    let mut made = Made::default();
    let poll = |bsn| data(TFI, bsn, true);
    made.add(0, Direction::Down, poll(0)).report(60, Direction::Down, 1, &[]);
    made.add(200, Direction::Down, poll(1)).add(500, Direction::Down, poll(1)).add(
        520,
        Direction::Down,
        poll(1),
    );
    made.report(900, Direction::Down, 3, &[]);
    let tbf = made.tbf();
    assert_eq!((tbf.polls_or_stalls, tbf.polls_unanswered), (4, 3), "the block of the last was at 580 ms");
    assert_eq!(counts(tbf.again), [0, 1, 0, 0, 1], "the second need not poll yet");
    assert_eq!(tbf.poll_intervals.points(), [1, 1, 1, 1]);
}

#[test]
fn a_premature_block_takes_the_place_of_others_only_where_others_have_data() {
    let mut made = Made::default();
    let mut other = data(6, 1, false);
    if let BlockContents::Data(block) = &mut other {
        block.goes_on = true;
    }
    made.down(0, 0).add(20, Direction::Down, data(6, 0, false)).down(40, 0);
    made.add(60, Direction::Down, other).down(80, 0);
    made.add(100, Direction::Down, data(6, 2, false)).down(1_000, 0);
    let report = made.analysed();
    let tbf = report.tbfs.iter().find(|tbf| tbf.tfi == TFI).unwrap();
    assert_eq!((tbf.again.premature, tbf.again.premature_beside_others), (3, 1));
}

/// The starting number says that none from there on has arrived: a block that could have is asked for, one that could not is not.
#[test]
fn a_report_tells_of_what_lies_behind_its_starting_number() {
    let mut made = Made::default();
    made.down(0, 0).down(20, 1).down(60, 2).report(75, Direction::Down, 1, &[]).down(100, 1).down(120, 2);
    let tbf = made.tbf();
    assert_eq!(counts(tbf.again), [1, 1, 0, 0, 0]);
    assert_eq!(tbf.sent_again.iter().map(|again| again.bsn).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(tbf.sent_again[0].report.map(|proof| proof.frame), Some(4));
}

#[test]
fn blocks_with_a_dummy_command_hold_a_tbf() {
    let mut made = Made::default();
    made.down(0, 0);
    for bsn in 1..4 {
        let mut filler = data(TFI, bsn, false);
        if let BlockContents::Data(block) = &mut filler {
            block.is_filler = true;
        }
        made.add(u64::from(bsn) * 200, Direction::Down, filler);
    }
    let tbf = made.tbf();
    assert_eq!((tbf.blocks, tbf.fillers, tbf.first_filler.map(|(_, proof)| proof.frame)), (4, 3, Some(2)));
}

/// The TBF is known by the frame of the first block, the segment by its number.
#[test]
fn acknowledgements_of_tcp_belong_to_their_tbf_and_to_the_segment_that_they_answer() {
    let mut radio = Radio::new(Settings::default());
    let mut made = Made::default();
    made.down(0, 0).down(20, 1);
    made.add(80, Direction::Up, asking(1));
    let through = Assignment { through: Some((Direction::Down, TFI)), ..assigned(Direction::Up, 16) };
    made.add(120, Direction::Down, BlockContents::Assignment(through));
    made.up(200, 0).up(220, 1).up(240, 2);
    let proof = |frame| Proof { file: 0, frame };
    for seen in &made.0 {
        radio.take(seen);
        let frame = seen.proof.frame;
        let (direction, first, acknowledgement, length) = match frame {
            2 => (Direction::Down, 1, 0, 500),
            6 | 7 => (Direction::Up, frame - 1, 1500, 0),
            _ => continue,
        };
        let packet = packet(direction, Stamp(seen.at.0 - 20 * MS), proof(first));
        radio.take_packet(&Seen { at: seen.at, proof: seen.proof, place: 0, what: &packet });
        let segment = segment(direction == Direction::Down, (1000, length), acknowledgement);
        radio.take_segment(&Seen { at: seen.at, proof: seen.proof, place: 0, what: &segment });
    }
    let report = radio.finish();
    let tbf = report.tbfs.iter().find(|tbf| tbf.direction == Direction::Up).unwrap();
    assert_eq!((tbf.packets, tbf.acks.seen(), tbf.is_of_acks()), (2, 2, true));
    assert_eq!((tbf.asked.map(|(_, proof)| proof.frame), tbf.set_up_ns()), (Some(3), Some(120 * MS)));
    assert_eq!(tbf.tlli, None, "nobody has said it");
    let [first, second] = tbf.acks.points() else { panic!("{:?}", tbf.acks) };
    assert_eq!((first.waited_ns(), first.round_trip_ns()), (Some(180 * MS), Some(220 * MS)));
    assert_eq!((first.answers.map(|(_, proof)| proof.frame), second.answers), (Some(2), None));
}

#[test]
fn more_tbfs_than_there_is_room_for_are_counted() {
    let mut radio = Radio::new(Settings { tbfs_max: 3, ..Settings::default() });
    let mut made = Made::default();
    for tfi in 0..8 {
        made.add(0, Direction::Down, data(tfi, 0, false));
    }
    made.0.iter().for_each(|seen| radio.take(seen));
    let report = radio.finish();
    assert_eq!((report.tbfs.len(), report.tbfs_besides), (3, 5));
}

fn any_contents() -> impl Strategy<Value = BlockContents> {
    prop_oneof![
        (0_u8..4, 0_u8..128, any::<bool>(), 0_u64..3).prop_map(|(tfi, bsn, polls, digest)| {
            let mut made = data(tfi, bsn, polls);
            if let BlockContents::Data(block) = &mut made {
                block.digest = digest;
            }
            made
        }),
        (0_u8..4, any::<bool>(), any::<bool>(), any::<u8>(), any::<u64>()).prop_map(
            |(tfi, is_up, is_final, ssn, received)| {
                let of = if is_up { Direction::Up } else { Direction::Down };
                BlockContents::AckNack(AckNack { tfi, of, is_final, ssn, received, asks: is_up })
            }
        ),
        any::<(bool, u8, bool)>().prop_map(|(is_up, timeslots, is_common)| {
            assignment(if is_up { Direction::Up } else { Direction::Down }, timeslots, is_common)
        }),
        Just(BlockContents::Dummy),
        Just(BlockContents::Access),
        Just(BlockContents::Unreadable),
    ]
}

proptest! {
    /// Any blocks at all are taken, none is lost from the sums.
    #[test]
    fn no_blocks_do_harm(all in prop::collection::vec((any_contents(), any::<bool>(), any::<u8>(), 0_u64..2_000), 0..300)) {
        let (mut made, mut at) = (Made::default(), 0);
        for (contents, is_up, timeslot, later) in all {
            at += later;
            made.add_in(at, timeslot, if is_up { Direction::Up } else { Direction::Down }, contents);
        }
        let report = made.analysed();
        let data: u64 = report.tbfs.iter().map(|tbf| tbf.blocks + tbf.again.all()).sum();
        let counted: u64 = report.cells.iter().map(|cell| cell.up.new + cell.up.again + cell.down.new + cell.down.again).sum();
        let sent = made.0.iter().filter(|seen| matches!(seen.what.contents, BlockContents::Data(_))).count();
        prop_assert_eq!((data, counted), (sent as u64, sent as u64));
        prop_assert!(serde_json::to_string(&report).is_ok());
    }
}
