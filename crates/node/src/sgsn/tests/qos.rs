//! What is negotiated is what a mobile's LL-PDUs get: at the BSS, in the cell, and when the subscription changes.

use super::bench::*;
use super::subscribers::{authenticated, heard, located, say, subscription_of, with_hlr};
use crate::sgsn::admission::{AdmissionConfig, Otherwise};
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_qos::class::CellClass;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{PduLifetime, Precedence as RadioPriority, QosProfile as RadioQos};
use gannet_wire::gsup::{Body, Subscription};
use gannet_wire::gtp::v1c::{UpdateRequest, UpdateResponse};
use gannet_wire::gtp::value::Qos;
use gannet_wire::gtp::{Cause as GtpCause, Message as GtpMessage};
use gannet_wire::id::Bvci;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::{ActivateRequest, DeactivateRequest, ModifyAcceptMo, SmMessage};

const GUARANTEED_KBPS: u32 = 128;

/// Of R99, with this guaranteed bit rate.
fn r99(traffic_class: TrafficClass, guaranteed_kbps: u32, mbr_kbps: u32) -> QosProfile {
    let r99 = QosR99 {
        traffic_class,
        delivery_order: 2,
        erroneous_sdus: 3,
        max_sdu: 150,
        mbr_up: BitRate::from_kbps(mbr_kbps),
        mbr_down: BitRate::from_kbps(mbr_kbps),
        residual_ber: 7,
        sdu_error_ratio: 4,
        transfer_delay: 10,
        handling_priority: 3,
        gbr_up: BitRate::from_kbps(guaranteed_kbps),
        gbr_down: BitRate::from_kbps(guaranteed_kbps),
        signalling: None,
    };
    QosProfile { r99: Some(r99), ..QosProfile::BEST_EFFORT }
}

fn streaming() -> QosProfile {
    r99(TrafficClass::STREAMING, GUARANTEED_KBPS, 2 * GUARANTEED_KBPS)
}

impl Bench {
    fn ask_for(&mut self, phone: usize, nsapi: Nsapi, qos: QosProfile) {
        self.sm(phone, nsapi.0 - 5, ActivateRequest { qos, ..activate_request(nsapi) });
    }

    /// Activates a context; gives what the GGSN was asked for, and what the mobile is told.
    fn activate_for(&mut self, phone: usize, nsapi: Nsapi, qos: QosProfile) -> (QosProfile, QosProfile) {
        self.ask_for(phone, nsapi, qos);
        let (from, sequence, request) = self.next_create();
        self.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
        let message = self.hear_sm(phone);
        let SmMessage::ActivateAccept(accept) = message else { panic!("{message:?}") };
        (request.qos.profile(), accept.qos)
    }

    fn admitted(&self, phone: usize) -> Option<bool> {
        self.sgsn.admission().is_admitted(self.sgsn.context_name(self.slot(phone), NSAPI).unwrap())
    }

    fn guarantee(&self, phone: usize) -> Option<u64> {
        self.sgsn.gb().flow.guarantee(self.slot(phone).index)
    }

    /// A cell leaks so many octets in a second.
    fn leaks(&mut self, n: usize, octets_per_s: u64) {
        let bucket = Bucket { bmax_octets: 50_000, rate_bit_per_s: octets_per_s * 8 };
        let message = BvcParameters { bvc: bucket, default_ms: bucket }.to_message(7);
        self.bssgp(cell(n).nsei, cell(n).bvci, &Message::FlowControlBvc(message));
        assert!(matches!(self.next_bssgp(), Message::FlowControlBvcAck { .. }));
    }

    /// The next Update PDP Context Request; accepted, with this profile or what it asks for.
    fn update_answer(&mut self, qos: Option<QosProfile>) -> UpdateRequest {
        let (from, header, message) = self.next_control();
        let GtpMessage::UpdateRequest(request) = message else { panic!("{message:?}") };
        assert_eq!(header.teid, Teid(GGSN_CONTROL + u32::from(request.nsapi.0)));
        let qos = qos.map_or(request.qos, |qos| Some(Qos::new(1, &qos)));
        let response = UpdateResponse { qos, ..UpdateResponse::refused(GtpCause::RequestAccepted) };
        self.answer(from, request.teid_control.unwrap(), header.sequence.unwrap(), response);
        request
    }
}

#[test]
fn the_bss_is_told_the_class_of_each_ll_pdu() {
    let profile = |reliability, peak, precedence, of: QosProfile| QosProfile {
        reliability: ReliabilityClass(reliability),
        peak: PeakThroughput(peak),
        precedence: PrecedenceClass(precedence),
        ..of
    };
    let real_time = QosProfile { delay: DelayClass::ONE, ..QosProfile::BEST_EFFORT };
    // (profile, protected, RLC without acknowledgements, bit/s, lifetime in hundredths of a second).
    let cases = [
        (profile(3, 4, 1, real_time), true, false, 64_000, 100),
        (profile(4, 4, 2, QosProfile::BEST_EFFORT), true, true, 64_000, 1000),
        (profile(5, 1, 3, QosProfile::BEST_EFFORT), false, true, 8000, 1000),
        (profile(3, 9, 2, streaming()), true, false, 256_000, 400),
    ];
    for (qos, protected, unacknowledged, bits_per_s, lifetime) in cases {
        let mut bench = Bench::attached(false);
        bench.activate_for(0, NSAPI, qos);
        bench.downlink(0, NSAPI, &[1; 40]);
        let down = bench.next_down();
        let RadioQos { not_ack, data, rlc_unacknowledged, precedence, .. } = down.header.qos;
        assert_eq!((not_ack, data, rlc_unacknowledged), (true, true, unacknowledged));
        assert_eq!(precedence, RadioPriority(qos.precedence.0 - 1));
        assert_eq!(down.header.qos.peak_bits_per_s(), Some(bits_per_s));
        assert_eq!(down.header.lifetime, PduLifetime(lifetime));
        // PM of the control field of UI frames (04.64 clause 6.3.5.2).
        assert_eq!(down.ll_pdu[2] & 1 == 1, protected, "{:02x?}", down.ll_pdu);
    }
}

#[test]
fn what_lives_longer_than_its_class_is_dropped_in_the_queue() {
    let mut bench = Bench::attached(false);
    bench.activate_for(0, NSAPI, QosProfile { delay: DelayClass::ONE, ..QosProfile::BEST_EFFORT });
    bench.attach(1);
    bench.activate(1, NSAPI);
    bench.sent.clear();
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: gannet_wire::bssgp::ie::Cause::OamIntervention });
    for phone in 0..2 {
        bench.downlink(phone, NSAPI, &[1; 40]);
    }
    bench.pass_secs(2);
    assert_eq!(bench.dropped(Drop::FlowLifetime), 1, "of real time");
    bench.pass_secs(9);
    assert_eq!(bench.dropped(Drop::FlowLifetime), 2);
}

#[test]
fn a_reliability_that_gtp_does_not_have_is_granted_as_the_next() {
    for (wish, granted) in [(1, 2), (2, 2), (3, 3)] {
        let mut bench = Bench::attached(false);
        let wish = QosProfile { reliability: ReliabilityClass(wish), ..QosProfile::BEST_EFFORT };
        let (asked, told) = bench.activate_for(0, NSAPI, wish);
        assert_eq!([asked.reliability, told.reliability], [ReliabilityClass(granted); 2]);
    }
}

#[test]
fn what_a_cell_has_no_room_for_is_not_guaranteed() {
    let mut bench = Bench::attached(false);
    // 80 % of 50,000 octets/s: two of 16,000.
    bench.leaks(0, 50_000);
    for phone in 1..3 {
        bench.attach(phone);
    }
    for phone in 0..2 {
        assert_eq!(bench.activate_for(phone, NSAPI, streaming()), (streaming(), streaming()));
        assert_eq!((bench.admitted(phone), bench.guarantee(phone)), (Some(true), Some(16_000)));
        assert_eq!(bench.mobile(phone).bearer(NSAPI).unwrap().class, CellClass::Guaranteed);
    }
    let (asked, told) = bench.activate_for(2, NSAPI, streaming());
    assert_eq!(asked, told);
    let r99 = told.r99.unwrap();
    assert_eq!((r99.traffic_class, r99.gbr_down.kbps()), (TrafficClass::INTERACTIVE, Some(0)));
    assert_eq!((bench.admitted(2), bench.guarantee(2)), (None, None));
    assert_eq!(bench.mobile(2).bearer(NSAPI).unwrap().class, CellClass::BestEffort);
    let stats = *bench.sgsn.admission().stats();
    assert_eq!((stats.admitted, stats.lowered, stats.rejected), (2, 1, 0));
    assert_eq!(bench.sgsn.admission().cell_octets_per_s(0), 32_000);
    // Another cell has room.
    let (asked, _) = {
        bench.phones[2].cell = 1;
        bench.beacon(2);
        bench.sent.clear();
        bench.activate_for(2, Nsapi(6), streaming())
    };
    assert_eq!(asked, streaming());
    // Who goes makes room.
    for phone in 0..3 {
        bench.detach(phone, true);
    }
    assert_eq!((bench.sgsn.admission().len(), bench.sgsn.admission().node_octets_per_s()), ((0, 0), 0));
}

#[test]
fn or_it_is_rejected() {
    let mut bench = Bench::new(|config| {
        config.admission = AdmissionConfig {
            cell_percent: 100,
            node_octets_per_s: Some(20_000),
            otherwise: Otherwise::Reject,
        };
    });
    for phone in 0..2 {
        bench.attach(phone);
    }
    bench.leaks(0, 1_000_000);
    bench.activate_for(0, NSAPI, streaming());
    bench.ask_for(1, NSAPI, streaming());
    let SmMessage::ActivateReject(reject) = bench.hear_sm(1) else { panic!() };
    assert_eq!(reject.cause, SmCause::InsufficientResources);
    assert_eq!((bench.sgsn.admission().stats().rejected, bench.drops()), (1, vec![(Drop::SmRejected, 1)]));
    // Real time of R97 claims its mean throughput, 13,889 octets/s.
    let mean = QosProfile { delay: DelayClass::ONE, mean: MeanThroughput(18), ..QosProfile::BEST_EFFORT };
    bench.ask_for(1, NSAPI, mean);
    assert!(matches!(bench.hear_sm(1), SmMessage::ActivateReject(_)));
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(NSAPI);
    bench.hear_sm(0);
    bench.activate_for(1, NSAPI, mean);
    assert_eq!(
        (bench.admitted(1), bench.guarantee(1)),
        (Some(true), None),
        "real time has the share of the cell"
    );
    assert_eq!(bench.sgsn.admission().node_octets_per_s(), 13_889);
}

#[test]
fn a_guarantee_that_moves_into_a_full_cell_is_suspended_until_there_is_room() {
    let mut bench = Bench::attached(false);
    bench.attach(1);
    for n in 0..2 {
        bench.leaks(n, 25_000);
    }
    bench.phones[1].cell = 1;
    bench.beacon(1);
    bench.sent.clear();
    for phone in 0..2 {
        bench.activate_for(phone, NSAPI, streaming());
    }
    bench.phones[0].cell = 1;
    bench.beacon(0);
    bench.sent.clear();
    assert_eq!(
        (bench.admitted(0), bench.guarantee(0), bench.guarantee(1)),
        (Some(false), None, Some(16_000))
    );
    assert_eq!((bench.sgsn.admission().stats().suspended, bench.sgsn.admission().len()), (1, (2, 1)));
    assert_eq!(bench.sgsn.admission().cell_octets_per_s(0), 0);
    // What was negotiated is not taken back.
    assert_eq!(bench.mobile(0).sm().get(NSAPI).unwrap().qos(), streaming());
    bench.leaks(1, 50_000);
    assert_eq!((bench.admitted(0), bench.guarantee(0)), (Some(true), Some(16_000)), "a faster cell");
    bench.leaks(1, 10_000);
    assert_eq!(bench.sgsn.admission().cell_octets_per_s(1), 32_000, "a slower one keeps what it has");
    // Back and forth: there is no room any more.
    for n in [0, 1] {
        bench.phones[0].cell = n;
        bench.beacon(0);
        bench.sent.clear();
    }
    assert_eq!(bench.admitted(0), Some(false));
    bench.leaks(1, 25_000);
    assert_eq!(bench.admitted(0), Some(false));
    bench.sm(1, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(NSAPI);
    assert_eq!(
        (bench.admitted(0), bench.sgsn.admission().stats().resumed),
        (Some(true), 2),
        "who goes makes room"
    );
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    assert_eq!(bench.sgsn.admission().len(), (0, 0));
    bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    bench.collect();
    assert_eq!((bench.admitted(0), bench.guarantee(0)), (Some(true), Some(16_000)));
}

#[test]
fn room_at_the_node_is_for_whoever_waits_in_any_cell() {
    let admission = AdmissionConfig { node_octets_per_s: Some(32_000), ..AdmissionConfig::default() };
    let mut bench = Bench::new(|config| config.admission = admission);
    for phone in 0..3 {
        bench.attach(phone);
    }
    for n in 0..2 {
        bench.leaks(n, 25_000);
    }
    bench.phones[1].cell = 1;
    bench.beacon(1);
    bench.sent.clear();
    for phone in 0..2 {
        bench.activate_for(phone, NSAPI, streaming());
    }
    // The GGSN says more than it was asked for.
    bench.ask_for(2, NSAPI, QosProfile::BEST_EFFORT);
    let (from, sequence, mut request) = bench.next_create();
    request.qos = Qos::new(1, &r99(TrafficClass::CONVERSATIONAL, 32, 64));
    bench.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
    bench.sent.clear();
    assert_eq!(bench.admitted(2), None, "a mobile of R97 has no profile of R99");
    bench.phones[0].cell = 1;
    bench.beacon(0);
    bench.sent.clear();
    assert_eq!((bench.admitted(0), bench.sgsn.admission().node_octets_per_s()), (Some(false), 16_000));
    let config = SgsnConfig {
        admission: AdmissionConfig { cell_percent: 100, node_octets_per_s: Some(16_000), ..admission },
        ..bench.sgsn.config().clone()
    };
    bench.leaks(1, 50_000);
    assert_eq!(bench.admitted(0), Some(true));
    bench.leaks(1, 25_000);
    bench.sgsn.reconfigure(&mut bench.around.context(), config);
    bench.collect();
    assert_eq!(bench.sgsn.admission().node_octets_per_s(), 32_000, "what was admitted stays");
    bench.phones[0].cell = 0;
    bench.beacon(0);
    bench.sent.clear();
    assert_eq!(bench.admitted(0), Some(false), "the node's bound");
    bench.sm(1, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    bench.delete_answer(NSAPI);
    assert_eq!(bench.admitted(0), Some(true), "room in another cell is room at the node");
}

fn hlr_says(bench: &mut Bench, data: Subscription) {
    say(bench, Body::InsertSubscriberDataRequest(data), 0);
    assert!(matches!(heard(bench), Some(Body::InsertSubscriberDataResult(_))));
}

/// Phone 0 is attached, with this subscription.
fn with_subscription(qos: &QosProfile) -> Bench {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    located(&mut bench, subscription_of("internet", qos));
    bench.accept_attach(0);
    bench
}

#[test]
fn who_asks_for_more_than_it_has_subscribed_gets_the_subscription_everywhere() {
    let subscribed = QosProfile {
        delay: DelayClass::TWO,
        precedence: PrecedenceClass(3),
        peak: PeakThroughput(4),
        mean: MeanThroughput(10),
        ..r99(TrafficClass::INTERACTIVE, 0, 48)
    };
    let mut bench = with_subscription(&subscribed);
    let wish = QosProfile {
        delay: DelayClass::ONE,
        precedence: PrecedenceClass::HIGH,
        peak: PeakThroughput(9),
        mean: MeanThroughput(18),
        ..r99(TrafficClass::CONVERSATIONAL, 256, 1024)
    };
    let (at_ggsn, on_air) = bench.activate_for(0, NSAPI, wish);
    for (whose, got) in [("the GGSN", at_ggsn), ("the mobile", on_air)] {
        let classes = (got.delay, got.precedence, got.peak, got.mean);
        assert_eq!(
            classes,
            (subscribed.delay, subscribed.precedence, subscribed.peak, subscribed.mean),
            "{whose}"
        );
        let r99 = got.r99.unwrap();
        assert_eq!(
            (r99.traffic_class, r99.mbr_down.kbps()),
            (TrafficClass::INTERACTIVE, Some(48)),
            "{whose}"
        );
        assert_eq!((r99.mbr_up.kbps(), r99.gbr_down.kbps()), (Some(48), Some(0)), "{whose}");
    }
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let view = bench.sgsn.flow_of(bench.sgsn.context_name(bench.slot(0), NSAPI).unwrap()).unwrap();
    assert_eq!(view.class, gannet_qos::class::Class::BestEffort);
    assert_eq!(view.precedence, gannet_qos::class::Precedence::Low);
    assert_eq!(view.weight, 1);
    let rule = bench.rules.owner(gannet_proto::classifier::Key::Teid(teid)).unwrap().rule;
    assert_eq!(rule.policer.map(|policer| policer.rate_octets_per_s), Some(6000), "48 kbit/s");
    assert_eq!(bench.admitted(0), None);
}

#[test]
fn a_subscription_that_changes_changes_the_active_contexts_down_and_up() {
    let peak = |class| QosProfile { peak: PeakThroughput(class), ..QosProfile::BEST_EFFORT };
    let mut bench = with_subscription(&peak(6));
    let (asked, _) = bench.activate_for(0, NSAPI, peak(9));
    assert_eq!(asked.peak, PeakThroughput(6));
    let rate = |bench: &Bench| {
        let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
        let rule = bench.rules.owner(gannet_proto::classifier::Key::Teid(teid)).unwrap().rule;
        rule.policer.unwrap().rate_octets_per_s
    };
    // Down, up again, and no further than the mobile has wished.
    for (subscribed, expected) in [(3, 3), (7, 7), (9, 9)] {
        let before = rate(&bench);
        hlr_says(&mut bench, subscription_of("internet", &peak(subscribed)));
        let request = bench.update_answer(None);
        assert_eq!(request.sgsn_initiated().unwrap().qos.profile().peak, PeakThroughput(expected));
        let message = bench.hear_sm(0);
        let SmMessage::ModifyRequestMt(modify) = message else { panic!("{message:?}") };
        assert_eq!(
            (modify.qos.peak, rate(&bench)),
            (PeakThroughput(expected), before),
            "it has not said yes"
        );
        bench.sm(0, 0, ModifyAcceptMo {});
        assert_eq!(rate(&bench), 1000 << (expected - 1));
    }
    // The same again changes nothing.
    hlr_says(&mut bench, subscription_of("internet", &peak(9)));
    assert!(bench.is_silent() && bench.sent.is_empty());
    // The GGSN has the last word.
    hlr_says(&mut bench, subscription_of("internet", &peak(8)));
    bench.update_answer(Some(peak(5)));
    let SmMessage::ModifyRequestMt(modify) = bench.hear_sm(0) else { panic!() };
    assert_eq!(modify.qos.peak, PeakThroughput(5));
    bench.sm(0, 0, ModifyAcceptMo {});
    assert_eq!(rate(&bench), 16_000);
}

#[test]
fn a_ggsn_that_refuses_another_quality_keeps_the_one_it_has() {
    let peak = |class| QosProfile { peak: PeakThroughput(class), ..QosProfile::BEST_EFFORT };
    for (cause, lost) in [(GtpCause::NoResourcesAvailable, false), (GtpCause::NonExistent, true)] {
        let mut bench = with_subscription(&peak(6));
        bench.activate_for(0, NSAPI, peak(9));
        hlr_says(&mut bench, subscription_of("internet", &peak(3)));
        let (from, header, _) = bench.next_control();
        let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
        bench.answer(from, teid, header.sequence.unwrap(), UpdateResponse::refused(cause));
        assert_eq!(bench.dropped(Drop::SgsnGgsnRefused), 1);
        if lost {
            assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)), "it has no such context");
        } else {
            assert!(bench.is_silent());
            assert_eq!(bench.mobile(0).sm().get(NSAPI).unwrap().qos().peak, PeakThroughput(6));
        }
    }
}

#[test]
fn what_was_wished_travels_with_the_mobile() {
    let peak = |class| QosProfile { peak: PeakThroughput(class), ..QosProfile::BEST_EFFORT };
    let mut bench = with_subscription(&peak(3));
    bench.activate_for(0, NSAPI, peak(7));
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi(0)).unwrap();
    bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    bench.collect();
    hlr_says(&mut bench, subscription_of("internet", &peak(9)));
    let request = bench.update_answer(None);
    assert_eq!(request.qos.unwrap().profile().peak, PeakThroughput(7));
}
