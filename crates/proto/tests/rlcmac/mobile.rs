//! The MAC of a mobile, procedure by procedure and timer by timer: the network's side is said by hand.

mod broken;
mod room;

use crate::world::{octets, tlli};
use gannet_machine::frame::FramePool;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::rlcmac::block::{DownBlock, UpBlock};
use gannet_proto::rlcmac::ccch::{Layout, RachControl};
use gannet_proto::rlcmac::config::CellOptions;
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::{Mac, MobileConfig};
use gannet_proto::rlcmac::multiframe::BlockPeriod;
use gannet_proto::rlcmac::paging::PagingControl;
use gannet_proto::rlcmac::rlc::Report;
use gannet_proto::rlcmac::signal::{Burst, Common, Down, To, Up};
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::block::{Body, DownlinkHeader};
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;
use gannet_wire::rlcmac::value::AckType;

const SLOT: u8 = 4;
pub const TFI: u8 = 3;
const USF: u8 = 2;
pub const NOBODY: u8 = 7;
const FIVE: Duration = Duration::from_secs(5);

pub struct Bench {
    pub mac: Mac,
    rng: Rng,
    pool: FramePool,
    now: Instant,
    period: u64,
    /// LL-PDUs that came downlink.
    came: Vec<Vec<u8>>,
}

impl Bench {
    pub fn new(config: MobileConfig, options: CellOptions) -> Self {
        let mut mac = Mac::new(config, options);
        mac.assign_tlli(tlli(0));
        let (rng, pool) = (Rng::seeded(1), FramePool::new(64));
        Self { mac, rng, pool, now: Instant::ZERO, period: 0, came: Vec::new() }
    }

    fn plain() -> Self {
        Self::new(MobileConfig::default(), CellOptions::default())
    }

    pub fn request(&mut self, len: usize) {
        let frame = self.pool.copy_of(&octets(9, len)).unwrap();
        let pdu = LlPdu {
            mobile: 0,
            tlli: tlli(0),
            expires: Instant(u64::MAX),
            priority: RadioPriority::Four,
            frame,
        };
        self.mac.request(self.now, pdu).unwrap();
    }

    fn request_much(&mut self) {
        (0..10).for_each(|_| self.request(1000));
    }

    /// Lets time go on to the next timer; gives the burst that goes then.
    fn next(&mut self) -> Option<Burst> {
        self.now = self.mac.next_due().expect("a timer runs").max(self.now);
        self.mac.wake(self.now, &mut self.rng)
    }

    fn burst(&mut self) -> Burst {
        loop {
            if let Some(burst) = self.next() {
                return burst;
            }
        }
    }

    fn common(&mut self, message: Common) {
        self.mac.hear_common(self.now, &message);
    }

    pub fn one_phase(&mut self) {
        let reference = self.burst();
        self.common(Common::Uplink { reference, slot: SLOT, tfi: TFI, usf: USF, coding: Cs2 });
        self.period = BlockPeriod::at_or_after(self.now).0;
    }

    /// One block period on the timeslot: what the network sends in it, and what the mobile sends in the one after.
    fn block(&mut self, block: &DownBlock) -> Option<UpBlock> {
        self.now = BlockPeriod(self.period).end().max(self.now);
        self.mac.wake(self.now, &mut self.rng);
        let came = &mut self.came;
        self.mac.hear(self.now, (SLOT, self.period), block, |octets| came.push(octets.to_vec()));
        self.period += 1;
        self.now = BlockPeriod(self.period).start().max(self.now);
        self.mac.transmit(self.now, SLOT, self.period)
    }

    pub fn say(&mut self, usf: u8, rrbp: Option<u8>, message: Down) -> Option<UpBlock> {
        self.block(&DownBlock::Control { usf, rrbp, message })
    }

    pub fn usf(&mut self) -> Option<UpBlock> {
        self.say(USF, None, Down::Dummy)
    }

    pub fn ack(&mut self, ssn: u8, is_final: bool, whose: Option<u32>, rrbp: Option<u8>) -> Option<UpBlock> {
        let report = Report { ssn, bitmap: u64::MAX, is_final };
        let contention = whose.map(tlli);
        self.say(NOBODY, rrbp, Down::UplinkAckNack { tfi: TFI, coding: Cs2, report, contention })
    }

    fn data(&mut self, bsn: u8, is_final: bool, rrbp: Option<u8>, octets: &[u8]) -> Option<UpBlock> {
        let length = [u8::try_from(octets.len()).unwrap()];
        let body = Body::compose(Cs2, None, (&length, false), [octets]).unwrap();
        let header = DownlinkHeader { usf: NOBODY, rrbp, power_reduction: 0, tfi: TFI, is_final, bsn };
        self.block(&DownBlock::Data { header, body })
    }

    pub fn assigned_down(&mut self) {
        self.common(Common::Downlink { tlli: tlli(0), slot: SLOT, tfi: TFI, acknowledged: true });
        self.period = BlockPeriod::at_or_after(self.now).0;
    }

    /// A timer of five seconds ends: how long after `since`.
    fn expires(&mut self, since: Instant) -> Duration {
        let before = self.mac.counts().expiries;
        while self.mac.counts().expiries == before {
            self.next();
        }
        self.now.since(since)
    }
}

fn countdown(block: Option<UpBlock>) -> (u8, bool) {
    match block {
        Some(UpBlock::Data { header, body }) => (header.countdown, body.has_tlli()),
        other => panic!("no data block: {other:?}"),
    }
}

fn control(block: Option<UpBlock>) -> Up {
    match block {
        Some(UpBlock::Control(message)) => message,
        other => panic!("no control block: {other:?}"),
    }
}

#[test]
fn bursts_go_m_plus_one_times_s_apart_and_t3146_ends_the_access() {
    for (max_retrans, tx_integer) in [(1, 3), (2, 10), (4, 14), (7, 50)] {
        for layout in [Layout::Uncombined, Layout::Combined] {
            let rach = RachControl { max_retrans, tx_integer };
            let paging = PagingControl { layout, ..PagingControl::default() };
            let options = CellOptions { rach, paging, ..CellOptions::default() };
            let mut bench = Bench::new(MobileConfig::default(), options);
            bench.request(100);
            let bursts: Vec<Burst> = (0..=max_retrans).map(|_| bench.burst()).collect();
            let (s, t) = (rach.s(layout), u64::from(tx_integer));
            let places =
                |from: u64, to: u64| (1..).find(|count| layout.rach_after(from, *count) == to).unwrap();
            assert!((1..=t.max(8)).contains(&places(0, bursts[0].frame)), "{bursts:?}");
            for pair in bursts.windows(2) {
                assert!((s..s + t).contains(&places(pair[0].frame, pair[1].frame)), "{bursts:?}");
            }
            assert!(bursts.iter().all(|burst| burst.is_one_phase()));
            assert_eq!((bench.next(), bench.mac.counts().unanswered), (None, 1));
            assert_eq!(bench.now, rach.t3146(layout, bursts.last().unwrap().frame));
            assert!(bench.mac.is_busy(), "the access is made again");
        }
    }
}

#[test]
fn what_nobody_answers_is_given_up_after_five_accesses() {
    let mut bench = Bench::plain();
    bench.request(100);
    while bench.mac.next_due().is_some() {
        bench.next();
    }
    let counts = bench.mac.counts();
    assert_eq!((counts.accesses, counts.bursts, counts.unanswered, counts.given_up), (5, 25, 5, 1));
    assert!(bench.mac.pop_lost().is_some() && !bench.mac.is_busy());
}

#[test]
fn an_assignment_answers_one_of_the_last_three_bursts() {
    for (which, is_taken) in [(0, false), (1, false), (2, true), (3, true), (4, true)] {
        let mut bench = Bench::plain();
        bench.request(100);
        let bursts: Vec<Burst> = (0..5).map(|_| bench.burst()).collect();
        bench.common(Common::Uplink {
            reference: bursts[which],
            slot: SLOT,
            tfi: TFI,
            usf: USF,
            coding: Cs2,
        });
        assert_eq!(bench.mac.slots() == 1 << SLOT, is_taken, "burst {which}");
    }
    let mut bench = Bench::plain();
    bench.request(100);
    let burst = bench.burst();
    let other = Burst { frame: burst.frame + 1, ..burst };
    bench.common(Common::Uplink { reference: other, slot: SLOT, tfi: TFI, usf: USF, coding: Cs2 });
    assert_eq!(bench.mac.slots(), 0, "another frame is another mobile's");
}

#[test]
fn a_rejected_mobile_waits_for_t3142() {
    let mut bench = Bench::plain();
    bench.request(100);
    let reference = bench.burst();
    let (at, wait) = (bench.now, Duration::from_secs(7));
    bench.common(Common::Reject { reference, wait });
    bench.request(100);
    assert!(!bench.mac.is_busy());
    bench.next();
    assert_eq!((bench.now.since(at), bench.mac.is_busy()), (wait, true));
}

#[test]
fn contention_is_resolved_by_the_tlli() {
    let mut bench = Bench::plain();
    bench.request(300);
    bench.one_phase();
    assert_eq!(countdown(bench.usf()), (15, true));
    assert_eq!(countdown(bench.usf()), (15, true));
    assert!(bench.ack(2, false, None, None).is_none(), "it does not say whose the TBF is");
    assert!(countdown(bench.usf()).1);
    bench.ack(3, false, Some(0), None);
    assert!(!countdown(bench.usf()).1, "resolved: no TLLI any more");
}

#[test]
fn who_loses_a_contention_begins_again_and_loses_nothing() {
    let mut bench = Bench::plain();
    bench.request(300);
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(5), None);
    assert_eq!((bench.mac.counts().contentions_lost, bench.mac.slots()), (1, 0));
    assert_eq!(bench.mac.waiting(), (1, 300));
    bench.one_phase();
    assert_eq!(countdown(bench.usf()), (15, true));
    assert_eq!(bench.mac.counts().accesses, 2);
}

#[test]
fn the_last_blocks_count_down_and_the_final_acknowledgement_is_answered() {
    let mut bench = Bench::plain();
    bench.request(100);
    bench.one_phase();
    let values: Vec<u8> = (0..4).map(|_| countdown(bench.usf()).0).collect();
    assert_eq!(values, [3, 2, 1, 0]);
    bench.request(50);
    assert!(bench.ack(4, true, Some(0), Some(1)).is_none());
    assert!((0..2).all(|_| bench.usf().is_none()), "nothing is sent before the answer");
    assert_eq!(control(bench.say(NOBODY, None, Down::Dummy)), Up::ControlAck { tlli: tlli(0) });
    assert_eq!((bench.mac.slots(), bench.mac.counts().accesses), (0, 2), "what came later needs another TBF");
}

#[test]
fn t3164_without_a_usf() {
    let mut bench = Bench::plain();
    bench.request(100);
    bench.one_phase();
    let since = bench.now;
    assert_eq!(bench.expires(since), FIVE);
    assert_eq!((bench.mac.waiting(), bench.mac.counts().accesses), ((1, 100), 2));
}

#[test]
fn t3166_without_contention_resolution() {
    let mut bench = Bench::plain();
    bench.request_much();
    bench.one_phase();
    bench.usf();
    let since = bench.now;
    while bench.mac.counts().expiries == 0 {
        // Fewer blocks than N3104 permits.
        bench.usf();
        for _ in 0..20 {
            bench.say(NOBODY, None, Down::Dummy);
        }
    }
    let after = bench.now.since(since);
    assert!(after >= FIVE && after.0 - FIVE.0 < 21 * 25_000_000, "{after}");
    assert_eq!((bench.mac.waiting(), bench.mac.is_busy()), ((10, 10_000), true));
}

#[test]
fn n3104_blocks_without_contention_resolution() {
    for bs_cv_max in [0, 7, 15] {
        let mut bench =
            Bench::new(MobileConfig::default(), CellOptions { bs_cv_max, ..CellOptions::default() });
        bench.request_much();
        bench.one_phase();
        let begin = bench.now;
        let sent = (0..100).take_while(|_| bench.usf().is_some()).count();
        assert_eq!(sent, 3 * (usize::from(bs_cv_max) + 3), "BS_CV_MAX {bs_cv_max}");
        assert!(bench.now.since(begin) < FIVE, "T3166 has not ended");
        let counts = bench.mac.counts();
        assert_eq!((counts.expiries, counts.accesses, bench.mac.waiting()), (1, 2, (10, 10_000)));
    }
}

#[test]
fn t3180_without_a_usf_after_a_block() {
    let mut bench = Bench::plain();
    bench.request(1000);
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(0), None);
    bench.usf();
    let since = bench.now;
    assert_eq!(bench.expires(since), FIVE);
    assert_eq!(bench.mac.waiting(), (1, 1000));
}

#[test]
fn t3182_without_an_acknowledgement_of_the_last_block() {
    let mut bench = Bench::plain();
    bench.request(60);
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(0), None);
    while countdown(bench.usf()).0 > 0 {}
    let since = bench.now;
    while bench.mac.counts().expiries == 0 {
        bench.usf();
    }
    let after = bench.now.since(since);
    assert!(after >= FIVE && after.0 - FIVE.0 < 25_000_000, "{after}");
}

#[test]
fn t3182_without_an_acknowledgement_of_a_stalled_window() {
    let mut bench = Bench::plain();
    bench.request_much();
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(0), None);
    let mut stalled = None;
    while bench.mac.counts().expiries == 0 {
        let block = bench.usf();
        if let (None, Some(UpBlock::Data { header, .. })) = (stalled, &block)
            && header.is_stalled
        {
            assert_eq!(header.bsn, 64, "64 blocks are out");
            stalled = Some(bench.now);
        }
    }
    let after = bench.now.since(stalled.unwrap());
    assert!(after >= FIVE && after.0 - FIVE.0 < 25_000_000, "{after}");
}

#[test]
fn t3184_without_any_acknowledgement_in_extended_mode() {
    let options = CellOptions { extended_uplink: Duration::from_secs(2), ..CellOptions::default() };
    let mut bench = Bench::new(MobileConfig::default(), options);
    bench.request(20);
    bench.one_phase();
    assert_eq!(countdown(bench.usf()).0, 15, "the TBF goes on");
    bench.ack(1, false, Some(0), None);
    let since = bench.now;
    assert_eq!(control(bench.usf()), Up::Dummy { tlli: tlli(0) });
    bench.request(20);
    assert_eq!(countdown(bench.usf()), (15, false), "new data in the same TBF");
    while bench.mac.counts().expiries == 0 {
        bench.usf();
    }
    let after = bench.now.since(since).0;
    assert!((FIVE.0 - 25_000_000..FIVE.0 + 25_000_000).contains(&after), "{after}");
}

#[test]
fn new_data_that_meet_a_final_acknowledgement_go_by_another_tbf() {
    let options = CellOptions { extended_uplink: Duration::from_secs(2), ..CellOptions::default() };
    let mut bench = Bench::new(MobileConfig::default(), options);
    bench.request(20);
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(0), None);
    assert_eq!(control(bench.usf()), Up::Dummy { tlli: tlli(0) });
    bench.request(20);
    assert_eq!(countdown(bench.usf()), (15, false));
    // The network has ended the TBF before this block came, if it came.
    bench.ack(2, true, Some(0), Some(0));
    bench.say(NOBODY, None, Down::Dummy);
    assert_eq!(control(bench.say(NOBODY, None, Down::Dummy)), Up::ControlAck { tlli: tlli(0) });
    assert_eq!((bench.mac.slots(), bench.mac.waiting(), bench.mac.counts().accesses), (0, (1, 20), 2));
}

fn two_phase() -> Bench {
    let mut bench =
        Bench::new(MobileConfig { two_phase: true, ..MobileConfig::default() }, CellOptions::default());
    bench.request(100);
    let reference = bench.burst();
    assert!(reference.is_single_block());
    let at = BlockPeriod::at_or_after(bench.now).after(3);
    bench.common(Common::SingleBlock { reference, slot: SLOT, frame: at.first_frame() });
    bench.now = at.start();
    bench.period = at.0;
    assert!(bench.mac.transmit(bench.now, SLOT, at.0 - 1).is_none(), "its block and no other");
    let asked = control(bench.mac.transmit(bench.now, SLOT, at.0));
    assert!(matches!(asked, Up::ResourceRequest { tlli: its, octets: 100, .. } if its == tlli(0)));
    bench
}

#[test]
fn two_phases_need_no_contention_resolution() {
    let mut bench = two_phase();
    let mut usfs = [None; 8];
    usfs[usize::from(SLOT)] = Some(USF);
    let assignment = |to| Down::UplinkAssignment { to, tfi: TFI, usfs, coding: Cs2 };
    bench.say(NOBODY, None, assignment(To::Tlli(tlli(1))));
    assert!(bench.usf().is_none(), "another mobile's");
    bench.say(NOBODY, None, assignment(To::Tlli(tlli(0))));
    assert_eq!(countdown(bench.usf()), (3, false));
}

#[test]
fn t3168_without_an_assignment() {
    let mut bench = two_phase();
    let since = bench.now;
    assert_eq!(bench.expires(since), CellOptions::default().t3168);
    assert_eq!((bench.mac.counts().accesses, bench.mac.waiting()), (2, (1, 100)));
}

#[test]
fn t3172_after_a_reject() {
    let mut bench = two_phase();
    let wait = Duration::from_millis(700);
    bench.say(NOBODY, None, Down::AccessReject { to: To::Tlli(tlli(0)), wait });
    let since = bench.now;
    assert!(!bench.mac.is_busy());
    bench.next();
    let after = bench.now.since(since).0;
    assert!(after <= wait.0 && after > wait.0 - 10_000_000, "{after}");
    assert!(bench.mac.is_busy());
}

#[test]
fn t3190_without_blocks() {
    let mut bench = Bench::plain();
    bench.assigned_down();
    bench.data(0, false, None, b"some octets");
    let since = BlockPeriod(bench.period - 1).end();
    assert_eq!(bench.expires(since), FIVE);
    assert_eq!((bench.mac.slots(), bench.mac.is_on_ccch()), (0, true));
}

#[test]
fn a_poll_is_answered_with_what_came_and_what_is_wanted() {
    let mut bench = Bench::plain();
    bench.assigned_down();
    bench.data(0, false, None, b"zero");
    bench.data(2, false, Some(0), b"two");
    bench.request(10);
    assert!(bench.say(NOBODY, None, Down::Dummy).is_none());
    let Up::DownlinkAckNack { tfi, report, wants_uplink } = control(bench.say(NOBODY, None, Down::Dummy))
    else {
        panic!("no report");
    };
    assert_eq!(
        (tfi, report.ssn, report.bitmap & 7, report.is_final, wants_uplink),
        (TFI, 3, 0b101, false, Some(RadioPriority::Four))
    );
    assert_eq!(bench.came, [b"zero"], "in order");
}

#[test]
fn t3192_keeps_the_tfi_for_a_tbf_that_follows() {
    for is_followed in [false, true] {
        let mut bench = Bench::plain();
        bench.assigned_down();
        bench.data(0, true, Some(0), b"all of it");
        bench.say(NOBODY, None, Down::Dummy);
        let Up::DownlinkAckNack { report, .. } = control(bench.say(NOBODY, None, Down::Dummy)) else {
            panic!()
        };
        assert!(report.is_final);
        let since = bench.now;
        if is_followed {
            let to = To::DownlinkTfi(TFI);
            let (slots, acknowledged, is_new) = (1 << SLOT, true, true);
            bench.say(
                NOBODY,
                None,
                Down::DownlinkAssignment { to, tfi: TFI + 1, slots, acknowledged, is_new },
            );
            assert_eq!(bench.expires(since).as_millis() / 1000, 5, "T3190 runs, T3192 no more");
        } else {
            bench.next();
            assert_eq!(bench.now.since(since), CellOptions::default().t3192);
            assert!(bench.mac.is_on_ccch());
        }
    }
}

#[test]
fn other_timeslots_for_a_tbf_that_is_complete_do_not_prolong_it() {
    let mut bench = Bench::plain();
    bench.assigned_down();
    bench.data(0, true, Some(0), b"all of it");
    bench.say(NOBODY, None, Down::Dummy);
    assert!(matches!(control(bench.say(NOBODY, None, Down::Dummy)), Up::DownlinkAckNack { .. }));
    let since = bench.now;
    let (to, slots, acknowledged, is_new) = (To::DownlinkTfi(TFI), 0b11 << SLOT, true, false);
    bench.say(NOBODY, None, Down::DownlinkAssignment { to, tfi: TFI, slots, acknowledged, is_new });
    bench.next();
    assert_eq!((bench.now.since(since), bench.mac.slots()), (CellOptions::default().t3192, 0));
}

#[test]
fn an_access_gives_way_to_a_downlink_tbf() {
    let mut bench = Bench::plain();
    bench.request(10);
    bench.burst();
    bench.assigned_down();
    assert_eq!((bench.mac.slots(), bench.mac.is_on_ccch()), (1 << SLOT, false));
    bench.data(0, false, Some(0), b"zero");
    bench.say(NOBODY, None, Down::Dummy);
    let answer = control(bench.say(NOBODY, None, Down::Dummy));
    assert!(matches!(answer, Up::DownlinkAckNack { wants_uplink: Some(_), .. }));
    let mut usfs = [None; 8];
    usfs[usize::from(SLOT)] = Some(USF);
    bench.say(NOBODY, None, Down::UplinkAssignment { to: To::DownlinkTfi(TFI), tfi: 9, usfs, coding: Cs2 });
    assert_eq!(countdown(bench.usf()).0, 0, "it sends on the PACCH's timeslot");
}

#[test]
fn a_released_uplink_tbf_ends_at_once_and_the_release_is_answered() {
    let mut bench = Bench::plain();
    bench.request(1000);
    bench.one_phase();
    bench.usf();
    let release = Down::TbfRelease { to: To::UplinkTfi(TFI), is_both: false };
    assert!(bench.say(NOBODY, Some(0), release).is_none());
    assert_eq!(bench.mac.slots(), 1 << SLOT, "its contention is not resolved: it is not meant");
    bench.ack(1, false, Some(0), None);
    assert!(bench.say(USF, Some(0), release).is_none(), "it sends nothing any more");
    assert!(bench.mac.is_active() && bench.mac.is_on_ccch());
    assert!(bench.usf().is_none());
    assert_eq!(control(bench.usf()), Up::ControlAck { tlli: tlli(0) });
    let counts = bench.mac.counts();
    assert_eq!((bench.mac.waiting(), counts.accesses, counts.released), ((1, 1000), 2, 1));
}

#[test]
fn a_polling_request_is_answered_by_the_mobile_that_it_names() {
    let mut bench = Bench::plain();
    bench.assigned_down();
    for (to, is_its) in [
        (To::DownlinkTfi(TFI), true),
        (To::DownlinkTfi(TFI + 1), false),
        (To::Tlli(tlli(0)), true),
        (To::Tlli(tlli(1)), false),
    ] {
        bench.say(NOBODY, Some(0), Down::Polling { to, answer: AckType::ControlBlock });
        bench.say(NOBODY, None, Down::Dummy);
        let answer = bench.say(NOBODY, None, Down::Dummy);
        assert_eq!(
            answer.map(|answer| control(Some(answer))),
            is_its.then_some(Up::ControlAck { tlli: tlli(0) })
        );
    }
}

#[test]
fn a_released_tbf_is_over_and_a_suspended_mobile_hears_nothing() {
    let mut bench = Bench::plain();
    bench.assigned_down();
    bench.say(NOBODY, None, Down::TbfRelease { to: To::DownlinkTfi(TFI), is_both: false });
    assert_eq!(bench.mac.slots(), 0);
    bench.mac.suspend(bench.now, true);
    bench.assigned_down();
    assert_eq!((bench.mac.slots(), bench.mac.is_on_ccch()), (0, false));
    bench.mac.suspend(bench.now, false);
    bench.assigned_down();
    assert_eq!(bench.mac.slots(), 1 << SLOT);
}
