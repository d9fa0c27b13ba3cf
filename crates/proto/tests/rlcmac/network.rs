//! The PCU of a cell, counter by counter and timer by timer: the mobile's side is said by hand.

mod broken;

use crate::world::{PDCHS, octets, tlli};
use gannet_machine::frame::FramePool;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::rlcmac::block::{DownBlock, UpBlock};
use gannet_proto::rlcmac::ccch::{Layout, block_ends};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::multiframe::{BlockPeriod, frame_at, frame_start};
use gannet_proto::rlcmac::network::fair::Class;
use gannet_proto::rlcmac::network::{Loss, Pcu};
use gannet_proto::rlcmac::rlc::{Mode, Receiver, Report};
use gannet_proto::rlcmac::signal::{Burst, Common, Down, To, Up};
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::block::{Body, UplinkHeader};
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;
use gannet_wire::rlcmac::value::AckType;

/// The timeslot of a cell with one PDCH.
const SHARED: u8 = 7;

pub struct Bench {
    pub pcu: Pcu,
    pool: FramePool,
    now: Instant,
    period: u64,
    /// What the network sent last on each timeslot.
    heard: [Option<DownBlock>; 8],
    /// LL-PDUs that came uplink.
    pub came: Vec<Vec<u8>>,
}

impl Bench {
    pub fn new(config: NetworkConfig, options: CellOptions) -> Self {
        let pcu = Pcu::new(config, options);
        let (pool, heard) = (FramePool::new(64), Default::default());
        Self { pcu, pool, now: Instant::ZERO, period: 0, heard, came: Vec::new() }
    }

    fn plain() -> Self {
        Self::new(config(), CellOptions::default())
    }

    fn pdu(&self, name: u32, len: usize, expires: Instant) -> LlPdu {
        let frame = self.pool.copy_of(&octets(name, len)).unwrap();
        LlPdu { mobile: 0, tlli: tlli(0), expires, priority: RadioPriority::Four, frame }
    }

    pub fn request(&mut self, name: u32, len: usize) {
        let pdu = self.pdu(name, len, Instant(u64::MAX));
        self.pcu.request(pdu, Class::Weighted(1), true).unwrap();
    }

    /// The next message on the CCCH.
    pub fn common(&mut self) -> Common {
        assert!(self.pcu.has_common());
        let first = Layout::Uncombined.block_from(self.now);
        self.now = frame_start(first);
        let message = self.pcu.next_common(self.now, first).unwrap();
        self.now = block_ends(first);
        self.pcu.common_sent(&message);
        self.period = BlockPeriod::at_or_after(self.now).0;
        message
    }

    /// A block period in which these are sent uplink.
    pub fn period(&mut self, sent: &[(u8, UpBlock)]) {
        let at = BlockPeriod(self.period);
        self.now = at.start().max(self.now);
        self.pcu.begin(self.now, at.0);
        for slot in 0..8 {
            let is_pdch = self.pcu.pdchs() >> slot & 1 == 1;
            self.heard[usize::from(slot)] =
                is_pdch.then(|| self.pcu.downlink(self.now, slot, at.0)).flatten();
        }
        self.now = at.end();
        for slot in 0..8 {
            let block = sent.iter().find(|(on, _)| *on == slot).map(|(_, block)| block);
            let came = &mut self.came;
            self.pcu.uplink(self.now, (slot, at.0), block, |_, octets| came.push(octets.to_vec()));
        }
        self.period += 1;
    }

    /// A block period in which each mobile uses the block that its USF gave it, with nothing to say.
    fn used_by_all(&mut self) {
        let says = UpBlock::Control(Up::Dummy { tlli: tlli(0) });
        let all: Vec<_> = (0..8).map(|slot| (slot, says.clone())).collect();
        self.period(&all);
    }

    pub fn heard(&self, slot: u8) -> Option<&DownBlock> {
        self.heard[usize::from(slot)].as_ref()
    }

    /// Time passes while nobody answers, until nothing is left.
    fn silence(&mut self) -> Duration {
        let since = self.now;
        while self.pcu.tbfs() != (0, 0) {
            if self.pcu.is_active() {
                self.period(&[]);
            } else if !self.pcu.has_common() {
                self.now = self.pcu.next_due().expect("a timer runs").max(self.now);
                self.pcu.wake(self.now);
                self.period = BlockPeriod::at_or_after(self.now).0;
            }
            if self.pcu.has_common() {
                self.common();
            }
            assert!(self.now.since(since) < Duration::from_secs(120), "it never ends");
        }
        self.now.since(since)
    }

    pub fn one_phase(&mut self) -> (u8, u8, u8) {
        self.pcu.burst(Burst { code: 0x79, frame: frame_at(self.now) });
        let Common::Uplink { slot, tfi, usf, .. } = self.common() else { panic!("no TBF") };
        (slot, tfi, usf)
    }
}

pub fn config() -> NetworkConfig {
    NetworkConfig { downlink_slots: 1, ..NetworkConfig::new(PDCHS, Cs2) }
}

pub fn block(tfi: u8, bsn: u8, countdown: u8, whose: Option<u32>) -> UpBlock {
    let text = [bsn; 9];
    let body = Body::compose(Cs2, whose.map(tlli), (&[9], false), [&text[..]]).unwrap();
    let header = UplinkHeader { countdown, is_stalled: false, is_retry: false, tfi, bsn };
    UpBlock::Data { header, body }
}

/// How long after the T of `seconds` it took: less than half a second.
fn is_about(span: Duration, seconds: u64) -> bool {
    (Duration::from_secs(seconds)..Duration::from_millis(1000 * seconds + 500)).contains(&span)
}

#[test]
fn n3101_and_t3169_a_mobile_that_never_sends() {
    let mut bench = Bench::plain();
    let (slot, _, usf) = bench.one_phase();
    let mut given = 0;
    for _ in 0..40 {
        bench.period(&[]);
        given += u32::from(bench.heard(slot).is_some_and(|block| block.usf() == usf));
    }
    assert_eq!(given, u32::from(config().n3101_max) + 1, "one more was under way");
    assert_eq!(bench.pcu.tbfs(), (0, 1), "its TFI and USF are nobody's yet");
    let took = bench.silence();
    assert!(took > Duration::from_secs(4) && took < Duration::from_secs(6), "{took}");
}

#[test]
fn n3103_and_t3169_a_final_acknowledgement_that_nobody_answers() {
    let mut bench = Bench::plain();
    let (slot, tfi, _) = bench.one_phase();
    bench.period(&[]);
    bench.period(&[(slot, block(tfi, 0, 0, Some(0)))]);
    assert_eq!(bench.came, [vec![0; 9]]);
    let mut finals = 0;
    for _ in 0..60 {
        bench.period(&[]);
        let is_final =
            |message: &Down| matches!(message, Down::UplinkAckNack { report, .. } if report.is_final);
        if let Some(DownBlock::Control { rrbp: Some(_), message, .. }) = bench.heard(slot)
            && is_final(message)
        {
            finals += 1;
        }
    }
    assert_eq!((finals, bench.pcu.tbfs()), (config().n3103_max.into(), (0, 1)));
    assert!(bench.silence() > Duration::from_secs(3));
}

#[test]
fn an_answered_final_acknowledgement_ends_the_tbf() {
    let mut bench = Bench::plain();
    let (slot, tfi, _) = bench.one_phase();
    bench.period(&[]);
    bench.period(&[(slot, block(tfi, 1, 0, Some(0)))]);
    bench.period(&[]);
    let Some(DownBlock::Control { message: Down::UplinkAckNack { report, contention, .. }, .. }) =
        bench.heard(slot)
    else {
        panic!("{:?}", bench.heard(slot));
    };
    assert_eq!((report.ssn, report.bitmap, report.is_final, *contention), (2, 1, false, Some(tlli(0))));
    bench.period(&[(slot, block(tfi, 0, 1, Some(0)))]);
    bench.period(&[]);
    let Some(DownBlock::Control { rrbp: Some(rrbp), .. }) = bench.heard(slot) else { panic!("no poll") };
    for _ in 0..2 + rrbp {
        bench.period(&[]);
    }
    bench.period(&[(slot, UpBlock::Control(Up::ControlAck { tlli: tlli(0) }))]);
    assert_eq!((bench.pcu.tbfs(), bench.came.len(), bench.pcu.is_active()), ((0, 0), 2, false));
}

#[test]
fn the_blocks_of_who_loses_a_contention_count_for_nothing() {
    let mut bench = Bench::plain();
    let (slot, tfi, _) = bench.one_phase();
    bench.period(&[]);
    bench.period(&[(slot, block(tfi, 0, 15, Some(0)))]);
    bench.period(&[(slot, block(tfi, 1, 0, Some(1)))]);
    bench.period(&[]);
    assert_eq!(bench.came, [vec![0; 9]]);
}

#[test]
fn n3105_and_t3195_a_mobile_that_never_answers_is_sought_and_given_up() {
    let mut bench = Bench::plain();
    bench.request(1, 100);
    let mut sought = 0;
    while bench.pcu.pop_lost().map(|(pdu, loss)| (pdu.frame.len(), loss)) != Some((100, Loss::Contact)) {
        if bench.pcu.has_common() {
            assert!(matches!(bench.common(), Common::Downlink { tlli: its, .. } if its == tlli(0)));
            sought += 1;
        } else if bench.pcu.is_active() {
            bench.period(&[]);
        } else {
            bench.now = bench.pcu.next_due().unwrap();
            bench.pcu.wake(bench.now);
        }
    }
    let each = bench.now.0 / 1_000_000_000 / u64::from(sought);
    assert_eq!((sought, each), (u32::from(config().assignments_max), 5), "{}", bench.now);
    assert_eq!(bench.pcu.waiting(), (0, 0));
}

/// A mobile that hears everything of its downlink TBF.
struct Listener {
    slot: u8,
    receiver: Receiver,
    answers: Vec<u64>,
    came: usize,
}

impl Listener {
    fn new(bench: &mut Bench) -> Self {
        let Common::Downlink { slot, .. } = bench.common() else { panic!("no TBF") };
        Self { slot, receiver: Receiver::new(Mode::Acknowledged), answers: Vec::new(), came: 0 }
    }

    fn period(&mut self, bench: &mut Bench, answers: bool) -> Option<Report> {
        let at = bench.period;
        let is_due = self.answers.contains(&at) && answers;
        let report = is_due.then(|| self.receiver.report());
        let up = report.map(|report| Up::DownlinkAckNack { tfi: 0, report, wants_uplink: None });
        let sent: Vec<_> = up.map(|up| (self.slot, UpBlock::Control(up))).into_iter().collect();
        bench.period(&sent);
        if let Some(DownBlock::Data { header, body }) = bench.heard(self.slot) {
            let came = &mut self.came;
            self.receiver.receive(header.bsn, header.is_final, body, |_| *came += 1).unwrap();
            self.answers.extend(header.rrbp.map(|rrbp| BlockPeriod(at).reserved(rrbp).0));
        }
        report
    }
}

#[test]
fn the_mobile_is_polled_with_each_tenth_block() {
    let mut bench = Bench::plain();
    (0..4).for_each(|name| bench.request(name, 1000));
    let mut mobile = Listener::new(&mut bench);
    let mut polls = Vec::new();
    for at in 0..60 {
        mobile.period(&mut bench, true);
        if let Some(DownBlock::Data { header, .. }) = bench.heard(mobile.slot)
            && header.rrbp.is_some()
        {
            polls.push(at);
        }
    }
    assert_eq!(polls, [9, 19, 29, 39, 49, 59]);
}

#[test]
fn t3191_without_the_last_acknowledgement() {
    let mut bench = Bench::plain();
    bench.request(1, 100);
    let mut mobile = Listener::new(&mut bench);
    let (mut first_final, mut last) = (None, bench.now);
    // Polls are answered, and with nothing: N3105 does not end it.
    while bench.pcu.is_active() {
        let at = bench.period;
        let empty = Up::DownlinkAckNack { tfi: 0, report: Report::default(), wants_uplink: None };
        let sent = [(mobile.slot, UpBlock::Control(empty))];
        bench.period(if mobile.answers.contains(&at) { &sent } else { &[] });
        if let Some(DownBlock::Data { header, .. }) = bench.heard(mobile.slot) {
            last = bench.now;
            if header.is_final {
                first_final.get_or_insert(last);
            }
            mobile.answers.extend(header.rrbp.map(|rrbp| BlockPeriod(at).reserved(rrbp).0));
        }
    }
    assert!(is_about(bench.now.since(first_final.unwrap()), 5), "T3191");
    assert_eq!(bench.pcu.tbfs(), (1, 0), "the mobile may still listen to what was sent last");
    bench.now = bench.pcu.next_due().unwrap();
    bench.pcu.wake(bench.now);
    assert!(is_about(bench.now.since(last), 5), "T3195");
    assert!(bench.pcu.has_common(), "it is sought again");
}

#[test]
fn t3193_ends_the_tbf_and_until_then_the_next_begins_on_the_pacch() {
    for is_followed in [false, true] {
        let mut bench = Bench::plain();
        bench.request(1, 100);
        let mut mobile = Listener::new(&mut bench);
        while mobile.period(&mut bench, true).is_none_or(|report| !report.is_final) {}
        let since = bench.now;
        assert_eq!((mobile.came, bench.pcu.tbfs()), (1, (1, 0)));
        if is_followed {
            bench.request(2, 50);
            assert!(!bench.pcu.has_common());
            bench.period(&[]);
            let Some(DownBlock::Control { rrbp: Some(rrbp), message, .. }) = bench.heard(mobile.slot) else {
                panic!("no poll");
            };
            let Down::DownlinkAssignment { to: To::DownlinkTfi(0), tfi: 1, slots, is_new: true, .. } =
                *message
            else {
                panic!("{message:?}");
            };
            let rrbp = *rrbp;
            for _ in 0..2 + rrbp {
                bench.period(&[]);
                assert!(bench.heard(mobile.slot).is_none(), "not before it is answered");
            }
            bench.period(&[(mobile.slot, UpBlock::Control(Up::ControlAck { tlli: tlli(0) }))]);
            bench.period(&[]);
            let next = u8::try_from(slots.trailing_zeros()).unwrap();
            let is_next =
                matches!(bench.heard(next), Some(DownBlock::Data { header, .. }) if header.tfi == 1);
            assert!(is_next && bench.pcu.tbfs() == (1, 0), "the former is over");
        } else {
            assert!(!bench.pcu.is_active());
            bench.now = bench.pcu.next_due().unwrap();
            bench.pcu.wake(bench.now);
            assert_eq!(bench.now.since(since), Duration::from_millis(600), "T3192 and a little more");
            assert_eq!(bench.pcu.tbfs(), (0, 0));
            bench.request(2, 50);
            assert!(bench.pcu.has_common());
        }
    }
}

#[test]
fn delayed_release_keeps_the_tbf_with_polls_and_then_ends_it() {
    let network = NetworkConfig { delayed_release: Duration::from_secs(2), ..config() };
    let mut bench = Bench::new(network, CellOptions::default());
    bench.request(1, 100);
    let mut mobile = Listener::new(&mut bench);
    let (mut reports, mut is_final) = (0, false);
    while bench.pcu.is_active() {
        if let Some(report) = mobile.period(&mut bench, true) {
            reports += 1;
            assert!(!is_final, "nothing comes behind it");
            is_final = report.is_final;
        }
    }
    assert!(is_final && (8..=14).contains(&reports), "{reports} reports in 2 s");
    assert!(is_about(Duration(bench.now.0), 2), "{}", bench.now);
}

#[test]
fn what_is_too_old_is_not_sent() {
    let mut bench = Bench::plain();
    bench.request(1, 1500);
    let pdu = bench.pdu(2, 100, Instant(500_000_000));
    bench.pcu.request(pdu, Class::Weighted(1), true).unwrap();
    bench.request(3, 100);
    let mut mobile = Listener::new(&mut bench);
    while bench.pcu.is_active() {
        mobile.period(&mut bench, true);
    }
    let lost = bench.pcu.pop_lost().map(|(pdu, loss)| (pdu.frame.to_vec(), loss));
    assert_eq!((lost, mobile.came), (Some((octets(2, 100), Loss::Lifetime)), 2));
}

#[test]
fn a_cell_without_room_rejects() {
    let network = NetworkConfig { tbfs_per_pdch_max: 1, pdchs: 0b1000_0000, ..config() };
    let mut bench = Bench::new(network, CellOptions::default());
    bench.one_phase();
    bench.pcu.burst(Burst { code: 0x7a, frame: frame_at(bench.now) });
    assert!(matches!(bench.common(), Common::Reject { reference: Burst { code: 0x7a, .. }, .. }));
    // In two phases: the block is given, and then the TBF is refused.
    bench.pcu.burst(Burst { code: 0x71, frame: frame_at(bench.now) });
    let Common::SingleBlock { slot, frame, .. } = bench.common() else { panic!("no block") };
    while BlockPeriod(bench.period).first_frame() < frame {
        bench.period(&[]);
    }
    let asks =
        Up::ResourceRequest { tlli: tlli(5), multislot_class: 6, octets: 10, priority: RadioPriority::Four };
    bench.period(&[(slot, UpBlock::Control(asks))]);
    bench.period(&[]);
    let message = bench.heard(slot);
    assert!(
        matches!(message, Some(DownBlock::Control { message: Down::AccessReject { to: To::Tlli(its), .. }, .. }) if *its == tlli(5)),
        "{message:?}"
    );
}

/// Access in two phases, in which the mobile says its radio priority. Gives its USF.
fn two_phases(bench: &mut Bench, mobile: u32, priority: RadioPriority) -> u8 {
    bench.pcu.burst(Burst { code: 0x70, frame: frame_at(bench.now) });
    let Common::SingleBlock { slot, frame, .. } = bench.common() else { panic!("no block") };
    while BlockPeriod(bench.period).first_frame() < frame {
        bench.used_by_all();
    }
    let asks = Up::ResourceRequest { tlli: tlli(mobile), multislot_class: 6, octets: 10, priority };
    bench.period(&[(slot, UpBlock::Control(asks))]);
    loop {
        bench.used_by_all();
        if let Some(DownBlock::Control { message: Down::UplinkAssignment { to, usfs, .. }, .. }) =
            bench.heard(slot)
        {
            assert_eq!(*to, To::Tlli(tlli(mobile)));
            return usfs[usize::from(slot)].unwrap();
        }
    }
}

#[test]
fn blocks_uplink_go_by_radio_priority() {
    let network = NetworkConfig { pdchs: 1 << SHARED, ..config() };
    let mut bench = Bench::new(network, CellOptions::default());
    let priorities = [RadioPriority::Four, RadioPriority::Three, RadioPriority::Two];
    let mut usfs: Vec<u8> =
        (1..).zip(priorities).map(|(mobile, priority)| two_phases(&mut bench, mobile, priority)).collect();
    // In one phase it is not said.
    let (_, _, usf) = bench.one_phase();
    usfs.push(usf);
    let shares = |bench: &mut Bench, usfs: &[u8]| {
        let mut had = vec![0; usfs.len()];
        for _ in 0..90 {
            bench.used_by_all();
            let usf = bench.heard(SHARED).map(DownBlock::usf);
            had[usfs.iter().position(|its| Some(*its) == usf).expect("somebody's turn")] += 1;
        }
        had
    };
    assert_eq!(shares(&mut bench, &usfs), [10, 20, 40, 20]);
    usfs.push(two_phases(&mut bench, 9, RadioPriority::One));
    assert_eq!(shares(&mut bench, &usfs), [0, 0, 0, 0, 90], "real time goes first");
}

#[test]
fn an_extended_uplink_tbf_ends_after_its_time() {
    let options = CellOptions { extended_uplink: Duration::from_secs(1), ..CellOptions::default() };
    let mut bench = Bench::new(config(), options);
    let (slot, tfi, usf) = bench.one_phase();
    bench.period(&[]);
    bench.period(&[(slot, block(tfi, 0, 15, Some(0)))]);
    let (mut asked, mut is_asked, since) = (0, true, bench.now);
    loop {
        let dummy = [(slot, UpBlock::Control(Up::Dummy { tlli: tlli(0) }))];
        bench.period(if is_asked { &dummy } else { &[] });
        is_asked = bench.heard(slot).is_some_and(|block| block.usf() == usf);
        asked += u32::from(is_asked);
        if let Some(DownBlock::Control { message: Down::UplinkAckNack { report, .. }, .. }) =
            bench.heard(slot)
            && report.is_final
        {
            break;
        }
    }
    assert!(
        is_about(bench.now.since(since), 1) && (4..8).contains(&asked),
        "{asked} in {}",
        bench.now.since(since)
    );
}

/// Periods until a control block is heard on any timeslot; the timeslot, its RRBP and the message.
fn control(bench: &mut Bench) -> (u8, Option<u8>, Down) {
    for _ in 0..20 {
        bench.period(&[]);
        for slot in 0..8 {
            if let Some(DownBlock::Control { rrbp, message, .. }) = bench.heard(slot)
                && *message != Down::Dummy
            {
                return (slot, *rrbp, *message);
            }
        }
    }
    panic!("nothing is said");
}

/// The block that a poll has reserved: this is sent there.
fn answer(bench: &mut Bench, slot: u8, rrbp: Option<u8>, up: Up) {
    for _ in 0..2 + rrbp.expect("a poll") {
        bench.period(&[]);
    }
    bench.period(&[(slot, UpBlock::Control(up))]);
}

const ACK: Up = Up::ControlAck { tlli: tlli(0) };

#[test]
fn an_assignment_that_is_to_be_confirmed_is_polled_for_and_told_again() {
    let network = NetworkConfig { confirm_assignment: true, ..config() };
    let mut bench = Bench::new(network, CellOptions::default());
    bench.request(1, 100);
    for _ in 0..2 {
        let Common::Downlink { slot, tfi, .. } = bench.common() else { panic!("no TBF") };
        let (on, rrbp, message) = control(&mut bench);
        assert_eq!(
            (on, message),
            (slot, Down::Polling { to: To::DownlinkTfi(tfi), answer: AckType::ControlBlock })
        );
        let after = 3 + rrbp.unwrap();
        (0..after).for_each(|_| bench.period(&[]));
        assert!(bench.pcu.has_common(), "nobody has answered: it is told again");
        assert_eq!(bench.pcu.counts().data, [0; 5], "no data before that");
    }
    let Common::Downlink { slot, .. } = bench.common() else { panic!("no TBF") };
    let (_, rrbp, _) = control(&mut bench);
    answer(&mut bench, slot, rrbp, ACK);
    bench.period(&[]);
    assert!(matches!(bench.heard(slot), Some(DownBlock::Data { .. })) && !bench.pcu.has_common());
}

#[test]
fn n3105_ends_the_search_for_a_mobile_that_confirms_nothing() {
    let network = NetworkConfig { confirm_assignment: true, assignments_max: 1, ..config() };
    let mut bench = Bench::new(network, CellOptions::default());
    bench.request(1, 100);
    let took = bench.silence();
    let told = bench.pcu.access_counts().downlink;
    assert_eq!((told, bench.pcu.counts().data), (u64::from(config().n3105_max), [0; 5]));
    let lost = bench.pcu.pop_lost().map(|(_, loss)| loss);
    assert!(took > Duration::from_secs(5) && lost == Some(Loss::Contact), "T3195: {took}");
}

#[test]
fn a_pdch_that_goes_is_left_by_its_downlink_tbf_and_what_has_not_arrived_goes_on_another() {
    let mut bench = Bench::plain();
    bench.request(1, 300);
    let Common::Downlink { slot, tfi, .. } = bench.common() else { panic!("no TBF") };
    bench.period(&[]);
    let left = config().pdchs & !(1 << slot);
    bench.pcu.reconfigure(NetworkConfig { pdchs: left, ..config() });
    assert_eq!(bench.pcu.pdchs(), config().pdchs, "until all is said there");
    let (on, rrbp, message) = control(&mut bench);
    assert_eq!((on, message), (slot, Down::TbfRelease { to: To::DownlinkTfi(tfi), is_both: false }));
    answer(&mut bench, slot, rrbp, ACK);
    let Common::Downlink { slot: next, .. } = bench.common() else { panic!("no TBF") };
    bench.period(&[]);
    assert_eq!((bench.pcu.pdchs(), left >> next & 1, bench.pcu.waiting().1 > 0), (left, 1, true));
    assert!(matches!(bench.heard(next), Some(DownBlock::Data { header, .. }) if header.bsn == 0));
}

#[test]
fn a_release_of_an_uplink_tbf_that_nobody_answers_is_repeated_and_ends_with_t3169() {
    let mut bench = Bench::plain();
    let (slot, tfi, usf) = bench.one_phase();
    bench.period(&[]);
    bench.period(&[(slot, block(tfi, 0, 15, Some(0)))]);
    bench.pcu.reconfigure(NetworkConfig { pdchs: config().pdchs & !(1 << slot), ..config() });
    let begin = bench.now;
    let (mut said, mut usfs) = (0, 0);
    while bench.pcu.pdchs() >> slot & 1 == 1 {
        assert!(bench.now.since(begin) < Duration::from_secs(3), "the PDCH is not given up");
        bench.period(&[]);
        let heard = bench.heard(slot);
        usfs += u32::from(heard.is_some_and(|block| block.usf() == usf));
        let release = Down::TbfRelease { to: To::UplinkTfi(tfi), is_both: false };
        said += u32::from(matches!(heard, Some(DownBlock::Control { message, .. }) if *message == release));
    }
    assert_eq!((said, usfs, bench.pcu.tbfs()), (u32::from(config().n3105_max), 0, (0, 1)));
    assert!(bench.silence() > Duration::from_secs(4) && bench.now.since(begin) < Duration::from_secs(8));
}

#[test]
fn an_assignment_that_waits_for_its_block_is_made_anew_where_its_pdch_goes() {
    let mut bench = Bench::plain();
    bench.request(1, 300);
    bench.pcu.reconfigure(NetworkConfig { pdchs: 0b1000_0000, ..config() });
    assert!(matches!(bench.common(), Common::Downlink { slot: 7, .. }));
    assert_eq!((bench.pcu.tbfs(), bench.pcu.counts().releases), ((1, 0), 0), "nobody had been told");
}

#[test]
fn a_mobile_that_asks_again_is_told_of_the_same_tbf() {
    let mut bench = Bench::plain();
    let (other, first, _) = bench.one_phase();
    bench.request(1, 1000);
    let mut mobile = Listener::new(&mut bench);
    let slot = mobile.slot;
    let ask = |bench: &mut Bench| {
        let report = Report::default();
        let up = Up::DownlinkAckNack { tfi: 0, report, wants_uplink: Some(RadioPriority::Four) };
        bench.period(&[(slot, UpBlock::Control(up))]);
        let (_, _, message) = control(bench);
        let Down::UplinkAssignment { tfi, usfs, .. } = message else { panic!("{message:?}") };
        (tfi, usfs)
    };
    let told = ask(&mut bench);
    assert_ne!(told.0, first);
    // A lower TFI, and a USF with it, are free again: they must not become those of a TBF that the mobile may have.
    bench.period(&[(other, block(first, 0, 0, Some(1)))]);
    let (on, rrbp, _) = control(&mut bench);
    answer(&mut bench, on, rrbp, Up::ControlAck { tlli: tlli(1) });
    assert_eq!(bench.pcu.tbfs(), (1, 1));
    assert_eq!(ask(&mut bench), told);
    assert_eq!(bench.pcu.tbfs(), (1, 1));
    mobile.period(&mut bench, false);
    // What it sends it has from this TBF: if it asks now, it has left that.
    let sent = block(told.0, 0, 15, None);
    bench.period(&[(told.1.iter().position(Option::is_some).unwrap() as u8, sent)]);
    assert_ne!(ask(&mut bench).0, told.0);
}
