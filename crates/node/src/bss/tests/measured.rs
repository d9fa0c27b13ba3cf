//! Flow control of a radio that measures what it drains, against an SGSN's buckets.

use super::*;
use crate::bss::radio::RlcMacConfig;
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_wire::bssgp::ie::Precedence as Urgent;
use gannet_wire::rlcmac::coding::CodingScheme::{self, Cs1, Cs2};

/// What three PDCHs of CS-2 carry, in bit/s.
pub(super) const NOMINAL: u64 = 36_000;
const BEST_EFFORT: QosProfile = QosProfile {
    data: true,
    not_ack: true,
    precedence: Urgent::NORMAL,
    peak_bit_rate: 0,
    granularity: 0,
    rlc_unacknowledged: false,
};

pub(super) const fn mobile_tlli(mobile: u32) -> Tlli {
    Tlli(0xc000_0000 + mobile)
}

/// Cells with these PDCHs, and mobiles in the first.
fn world(pdchs: u8, coding: CodingScheme, c_over_i_db: Option<f64>, mobiles: u32) -> World {
    let mut world = World::with(|config| {
        let mut rlcmac = RlcMacConfig::new(NetworkConfig::new(pdchs, coding));
        rlcmac.channel.c_over_i_db = c_over_i_db;
        config.rlcmac = Some(rlcmac);
        for cell in &mut config.cells {
            cell.downlink.queue_octets = 100_000;
        }
    });
    for mobile in 0..mobiles {
        world.mobile_sends(mobile, UmKind::CampOn, 0, mobile_tlli(mobile), &[]);
    }
    world
}

pub(super) fn send(world: &mut World, mobile: u32, octets: usize, lifetime: PduLifetime) {
    let header = DlUnitdata::new(mobile_tlli(mobile), BEST_EFFORT, lifetime);
    let mut pdu = vec![0; header.buffer_len(octets)];
    assert!(header.emit(octets, &mut pdu));
    pdu.resize(pdu.len() + octets, 0x55);
    world.send(Bvci(2), &pdu);
}

/// The buckets of an SGSN, and what waits before them.
pub(super) struct Buckets {
    pub(super) control: FlowControl<Meta>,
    pub(super) around: Surroundings<Quiet>,
    bvc: Option<BvcParameters>,
    mobiles: Vec<Option<Bucket>>,
    /// FLOW-CONTROL PDUs of the cell.
    told: u32,
}

impl Buckets {
    pub(super) fn new(mobiles: u32) -> Self {
        let limit = Limit { pdus: 30, octets: 30_000 };
        let limits = Limits { ms: limit, cell: Limit { pdus: 300, octets: 300_000 } };
        Self {
            control: FlowControl::new(flow_control::Config {
                data: limits,
                ..flow_control::Config::default()
            }),
            around: Surroundings::new(3, 400, Quiet::default()),
            bvc: None,
            mobiles: vec![None; mobiles as usize],
            told: 0,
        }
    }

    /// Takes what the BSS says.
    pub(super) fn hear(&mut self, world: &mut World) {
        for message in core::mem::take(&mut world.uplink) {
            let mut cx = self.around.context();
            match &message {
                Message::FlowControlBvc(flow) => {
                    self.bvc = Some(BvcParameters::from(flow));
                    self.told += 1;
                    self.control.set_bvc(&mut cx, 0, BvcParameters::from(flow), None);
                }
                Message::FlowControlMs(flow) => {
                    let mobile = flow.tlli.0 - mobile_tlli(0).0;
                    self.mobiles[mobile as usize] = Some(Bucket::from(flow));
                    self.control.set_ms(&mut cx, 0, mobile, Bucket::from(flow), None);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn offer(&mut self, mobile: u32, octets: usize) {
        let mut frame = self.around.frames.alloc().unwrap();
        assert!(frame.set_len(octets));
        let (class, precedence) = (CellClass::BestEffort, Precedence::Normal);
        let expires = Instant(u64::MAX);
        let pdu = Pdu { class, precedence, is_ahead: false, expires, meta: Meta(mobile), frame };
        self.control.enqueue(&mut self.around.context(), 0, Some(mobile), pdu);
    }

    /// Runs on, while each mobile is offered LL-PDUs of 500 octets at intervals; `look` sees the world each 10 ms.
    pub(super) fn run(
        &mut self,
        world: &mut World,
        (from, to): (u64, u64),
        interval_ms: u64,
        mut look: impl FnMut(&Self, &World),
    ) {
        for ms in (from..to).step_by(10) {
            self.around.now = Instant(ms * 1_000_000);
            world.run_until(ms);
            self.hear(world);
            if ms % interval_ms == 0 {
                (0_u32..).zip(0..self.mobiles.len()).for_each(|(mobile, _)| self.offer(mobile, 500));
            }
            while let Dequeue::Pdu { pdu, .. } = self.control.dequeue(&mut self.around.context()) {
                send(world, pdu.meta.0, pdu.frame.len(), PduLifetime::INFINITE);
            }
            look(self, world);
        }
    }
}

fn is_near(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

pub(super) fn delivered(world: &World) -> u64 {
    world.bss.cell(0).unwrap().counters.downlink.octets
}

#[test]
fn under_three_times_the_load_the_sgsn_holds_the_backlog() {
    // Of blocks of CS-2 a tenth is lost at 14 dB.
    let of = [(None, 1, 90), (Some(14.0), 1, 70), (None, 4, 90), (Some(12.0), 4, 50)];
    for (c_over_i_db, mobiles, least_percent) in of {
        let mut world = world(0b1110_0000, Cs2, c_over_i_db, mobiles);
        let mut buckets = Buckets::new(mobiles);
        let mut longest = 0;
        // 108 kbit/s: 500 octets each 37 ms, for all together.
        let interval = 40 * u64::from(mobiles);
        buckets.run(&mut world, (10, 30_000), interval, |_, _| ());
        let before = delivered(&world);
        buckets.run(&mut world, (30_000, 90_000), interval, |buckets, world| {
            let queued = world.bss.cell(0).unwrap().queued.octets;
            longest = longest.max(queued);
            let bmax = buckets.bvc.unwrap().bvc.bmax_octets;
            // A mobile that does not answer for a while has its own bucket in it.
            let most = if c_over_i_db.is_none() { 2 * bmax } else { 3 * bmax };
            assert!(queued <= most, "{c_over_i_db:?}: {queued} octets with Bmax {bmax}");
        });
        let went = (delivered(&world) - before) * 8 / 60;
        let about =
            format!("{c_over_i_db:?}, {mobiles} mobiles: {went} bit/s, {longest} octets, {:?}", buckets.bvc);
        assert_eq!(world.drops(Drop::BssOverrun), 0, "{about}");
        let told = buckets.bvc.unwrap().bvc.rate_bit_per_s;
        // Mobiles that stall or are silent leave blocks that the cell could use for others.
        let is_steady = c_over_i_db != Some(12.0);
        assert!(is_near(told, went, 20) || !is_steady && told > went && told < NOMINAL, "{about}");
        assert!(went > NOMINAL * least_percent / 100 && longest > 0, "{about}");
        let held: u64 = buckets
            .control
            .cell_view(buckets.around.now, 0)
            .map_or(0, |view| view.queued.iter().map(|of| of.octets).sum());
        assert!(
            held > longest && buckets.around.trace.drops.get(Drop::FlowMsQueueFull) > 500,
            "{about}: {held}"
        );
        if mobiles > 1 && is_steady {
            for bucket in &buckets.mobiles {
                let rate = bucket.expect("its rate is not the default").rate_bit_per_s;
                assert!(is_near(rate, went / u64::from(mobiles), 30), "{about}: {:?}", buckets.mobiles);
            }
        }
    }
}

#[test]
fn a_cell_with_little_to_do_is_told_what_its_air_can_do() {
    let mut world = world(0b1110_0000, Cs2, None, 2);
    let mut buckets = Buckets::new(2);
    // 500 octets each second for each: a fifth of what goes.
    buckets.run(&mut world, (10, 60_000), 1000, |buckets, world| {
        let bvc = buckets.bvc;
        assert!(bvc.is_none_or(|bvc| bvc.bvc.rate_bit_per_s >= NOMINAL * 8 / 10), "{bvc:?}");
        assert!(world.bss.cell(0).unwrap().queued.octets <= 1500);
    });
    // They get their LL-PDUs at the same time, and share the air while that takes.
    let ok = |bucket: &Option<Bucket>| bucket.is_none_or(|bucket| bucket.rate_bit_per_s >= NOMINAL * 4 / 10);
    assert!(buckets.mobiles.iter().all(ok), "{:?}", buckets.mobiles);
    // T is 10 s, and what has changed by a tenth is told.
    assert!((6..=15).contains(&buckets.told), "{}", buckets.told);
    assert_eq!(delivered(&world), 2 * 59 * 500);
}

#[test]
fn what_waits_longer_than_its_lifetime_is_discarded_and_told_of() {
    // One PDCH of CS-1: 1000 octets a second.
    let mut world = world(0b1000_0000, Cs1, None, 1);
    for _ in 0..30 {
        send(&mut world, 0, 1500, PduLifetime(6300));
    }
    let half = PduLifetime(3000);
    send(&mut world, 0, 700, half);
    for _ in 0..8 {
        send(&mut world, 0, 1500, PduLifetime(6300));
    }
    world.run_until(29_000);
    let lost = |world: &World| {
        let discarded = |message: &&Message| matches!(message, Message::LlcDiscarded(_));
        world.uplink.iter().filter(discarded).cloned().collect::<Vec<_>>()
    };
    assert_eq!(lost(&world), []);
    world.run_until(70_000);
    let told = LlcDiscarded { tlli: mobile_tlli(0), frames: 1, bvci: Bvci(2), octets: 700 };
    assert_eq!(lost(&world), [Message::LlcDiscarded(told)], "those of 63 s have all been sent");
    assert_eq!((world.um.len(), world.drops(Drop::BssLifetime)), (38, 1));
    assert!(world.bss.cell(0).unwrap().counters.downlink.octets == 38 * 1500);
}

#[test]
fn what_dl_unitdata_says_is_how_urgent_it_is() {
    use crate::bss::radio::Urgency;
    let second = Duration::from_secs(1);
    let of = |qos, lifetime, pfi| {
        Urgency::of(&DlUnitdata { pfi, ..DlUnitdata::new(A, qos, PduLifetime(lifetime)) }, second)
    };
    let with = |precedence| QosProfile { precedence, ..BEST_EFFORT };
    assert_eq!(of(QosProfile { data: false, ..BEST_EFFORT }, 1000, None), Urgency::Signalling);
    assert_eq!(of(BEST_EFFORT, 100, None), Urgency::RealTime);
    assert_eq!(of(BEST_EFFORT, 101, None), Urgency::Normal);
    assert_eq!(of(with(Urgent::HIGH), 0xffff, None), Urgency::High);
    assert_eq!(of(with(Urgent::LOW), 1000, None), Urgency::Low);
    assert_eq!(of(with(Urgent(7)), 1000, None), Urgency::Normal);
    assert_eq!(
        [1, 2, 3, 0, 9].map(|pfi| of(with(Urgent::HIGH), 1000, Some(pfi))),
        [Urgency::Signalling, Urgency::Signalling, Urgency::Signalling, Urgency::Low, Urgency::High]
    );
}
