//! The queued ingress: who is served, who waits, and what a driver is told. That a driver's rules are those of the active
//! contexts is asserted after every step of every test.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::classifier::{Block, Key, Policer, Rule};
use gannet_proto::gtp::SourceCheck;
use gannet_proto::sm::network::SmEvent;
use gannet_qos::class::{CellClass, Class, Precedence};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::gtp::v1c::{UpdateRequest, UpdateResponse};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::value::Qos;
use gannet_wire::gtp::{Cause as GtpCause, Message as GtpMessage};
use gannet_wire::id::{Bvci, Nsei, Sapi};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::{ActivateRequest, DeactivateRequest, ModifyAcceptMo, ModifyRequestMo, SmMessage};

pub fn profile(delay: u8, peak: u8, precedence: u8) -> QosProfile {
    QosProfile {
        delay: DelayClass(delay),
        peak: PeakThroughput(peak),
        precedence: PrecedenceClass(precedence),
        ..QosProfile::BEST_EFFORT
    }
}

impl Bench {
    pub fn activate_with(&mut self, phone: usize, nsapi: Nsapi, qos: QosProfile) {
        self.sm(phone, nsapi.0 - 5, ActivateRequest { qos, ..activate_request(nsapi) });
        let (from, sequence, request) = self.next_create();
        self.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
        assert!(matches!(self.hear_sm(phone), SmMessage::ActivateAccept(_)));
    }

    fn teid(&self, phone: usize) -> Teid {
        self.sgsn.teid(self.slot(phone), NSAPI).unwrap()
    }

    fn context_name(&self, phone: usize) -> ContextName {
        self.sgsn.context_name(self.slot(phone), NSAPI).unwrap()
    }

    fn rule(&self, phone: usize) -> Rule {
        self.rules.owner(Key::Teid(self.teid(phone))).unwrap().rule
    }

    fn is_blocked(&self, phone: usize) -> bool {
        self.is_blocked_by(phone, Block::QueueFull)
    }

    fn is_blocked_by(&self, phone: usize, why: Block) -> bool {
        self.rules.owner(Key::Teid(self.teid(phone))).unwrap().blocked.contains(&why)
    }

    /// A mobile has a bucket of 1000 octets, of which 1000 leak in a second.
    fn with_small_buckets() -> Self {
        let mut bench = Self::attached(true);
        let bucket = |bmax_octets, rate_bit_per_s| Bucket { bmax_octets, rate_bit_per_s };
        let parameters = BvcParameters { bvc: bucket(50_000, 800_000), default_ms: bucket(1000, 8000) };
        bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlBvc(parameters.to_message(77)));
        bench.pass_secs(10);
        bench.sent.clear();
        bench
    }

    /// A G-PDU arrives, and nothing is served yet.
    fn offer(&mut self, phone: usize, t_pdu: &[u8]) {
        let header = GPdu { teid: self.teid(phone), sequence: None, npdu_number: None };
        let mut octets = vec![0; header.buffer_len()];
        assert!(header.emit(t_pdu.len(), &mut octets));
        octets.extend(t_pdu);
        let frame = self.around.frames.copy_of(&octets).unwrap();
        let mut inputs = Batch::default();
        let peer = Peer::Udp(core::net::SocketAddr::new(GGSN, 2152));
        inputs.push(Input::Datagram { port: GTP_U, peer, frame });
        self.sgsn.handle_input(&mut self.around.context(), &mut inputs);
    }

    /// One batch of the scheduler.
    fn serve_once(&mut self) {
        let mut outputs = Batch::default();
        self.sgsn.poll_output(&mut self.around.context(), &mut outputs);
        self.take_outputs(&mut outputs);
    }

    /// A T-PDU whose owner the driver has read.
    fn classified(&mut self, teid: Teid, t_pdu: &[u8]) {
        let frame = self.around.frames.copy_of(t_pdu).unwrap();
        let name = self.sgsn.teid_key().name(teid).0;
        self.input(Input::Classified { port: GTP_U, name, frame });
    }

    fn block_cell(&mut self, bvci: u16) {
        self.signal(&Message::BvcBlock { bvci: Bvci(bvci), cause: Cause::OamIntervention });
        self.sent.clear();
    }

    fn unblock_cell(&mut self, bvci: u16) {
        self.signal(&Message::BvcUnblock { bvci: Bvci(bvci) });
        assert!(matches!(self.next_bssgp(), Message::BvcUnblockAck { .. }));
    }

    /// All that a phone hears now, by its first octet.
    fn numbers(&mut self, phone: usize, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.hear(phone).1[4]).collect()
    }
}

#[test]
fn a_rule_says_from_where_packets_come_where_that_is_checked() {
    for (source_check, source) in
        [(SourceCheck::Strict, Some(GGSN)), (SourceCheck::Control, None), (SourceCheck::Off, None)]
    {
        let mut bench = Bench::new(|config| config.source_check = source_check);
        bench.attach(0);
        bench.activate_with(0, NSAPI, profile(4, 3, 2));
        assert_eq!(bench.rule(0).source, source, "{source_check:?}");
    }
}

#[test]
fn a_rule_says_what_was_negotiated() {
    let mut bench = Bench::attached(false);
    bench.activate_with(0, NSAPI, profile(1, 3, 1));
    let name = bench.context_name(0);
    let rule = bench.rule(0);
    assert_eq!((rule.name, rule.class, rule.precedence), (name.0, Class::RealTime, Precedence::High));
    assert_eq!(rule.policer, Some(Policer { rate_octets_per_s: 4000, burst_octets: 4000 }));
    let bearer = bench.mobile(0).bearer(NSAPI).unwrap();
    assert_eq!(
        (bearer.class, bearer.precedence, bearer.allocation_retention),
        (CellClass::RealTime, Precedence::High, 1)
    );
    let mut bench = Bench::new(|config| config.policing = None);
    bench.attach(0);
    bench.activate_with(0, NSAPI, profile(4, 3, 3));
    let rule = bench.rule(0);
    assert_eq!((rule.class, rule.precedence, rule.policer), (Class::BestEffort, Precedence::Low, None));
}

#[test]
fn ceilings_hold_for_the_mobile_and_the_ggsn() {
    let mut bench = Bench::new(|config| {
        (config.ceilings.peak, config.ceilings.real_time) = (PeakThroughput(2), false);
    });
    bench.attach(0);
    bench.sm(0, 0, ActivateRequest { qos: profile(1, 9, 1), ..activate_request(NSAPI) });
    let (from, sequence, request) = bench.next_create();
    assert_eq!(request.qos.profile(), profile(2, 2, 1));
    bench.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
    let SmMessage::ActivateAccept(accept) = bench.hear_sm(0) else { panic!() };
    assert_eq!(accept.qos, profile(2, 2, 1));
    assert_eq!(bench.rule(0).class, Class::BestEffort);
}

#[test]
fn real_time_is_served_first() {
    let mut bench = Bench::attached(true);
    bench.attach(1);
    bench.activate_with(1, NSAPI, profile(1, 9, 2));
    for number in 0..4 {
        bench.offer(0, &[number; 40]);
    }
    let now = bench.around.now;
    assert!(!bench.sgsn.is_in_a_hurry(now), "best effort waits for the end of a batch");
    bench.offer(1, &[9; 40]);
    assert!(bench.sgsn.is_in_a_hurry(now));
    assert!(!bench.sgsn.is_in_a_hurry(now + Duration::from_millis(100)), "no more of it came");
    bench.collect();
    assert_eq!(bench.numbers(1, 1), [9], "it came last");
    assert_eq!(bench.numbers(0, 4), [0, 1, 2, 3]);
    let served = bench.sgsn.flows().unwrap().queues().totals().served;
    assert_eq!((served, bench.drops()), ([0, 1, 0, 4, 0], vec![]));
}

#[test]
fn who_has_used_up_his_bucket_rests_at_the_input() {
    let mut bench = Bench::with_small_buckets();
    let waiting = |bench: &Bench| {
        let at_input = bench.sgsn.flows().unwrap().queues().queued().pdus;
        (bench.sent.len(), at_input, bench.sgsn.gb().flow.queued_pdus())
    };
    (0..5).for_each(|number| bench.offer(0, &[number; 480]));
    bench.collect();
    assert_eq!(waiting(&bench), (2, 3, 0), "1000 octets are two of them");
    // An N-PDU more fits after half a second, and a rest is over then.
    bench.pass(Duration::from_millis(400));
    assert_eq!(waiting(&bench), (2, 3, 0));
    bench.pass(Duration::from_millis(100));
    assert_eq!(waiting(&bench), (3, 2, 0));
}

#[test]
fn where_time_is_short_a_driver_drops_what_comes_for_one_who_rests() {
    let mut bench = Bench::with_small_buckets();
    let use_up = |bench: &mut Bench| {
        bench.pass_secs(2);
        (0..2).for_each(|number| bench.offer(0, &[number; 480]));
        bench.collect();
        bench.is_blocked_by(0, Block::FlowControl)
    };
    assert!(!use_up(&mut bench), "there is time");
    bench.sgsn.set_short_of_time(true);
    assert!(use_up(&mut bench), "the bucket is full from now on");
    // Another quality of service is another rule.
    bench.sgsn.flow_changed(bench.slot(0), NSAPI);
    bench.sgsn.set_short_of_time(false);
    bench.pass(Duration::from_millis(400));
    assert!(bench.is_blocked_by(0, Block::FlowControl), "until it has rested");
    bench.pass(Duration::from_millis(100));
    assert!(!bench.is_blocked_by(0, Block::FlowControl));
    assert!(!use_up(&mut bench));
    assert_eq!((bench.sent.len(), bench.drops()), (6, vec![]));
}

#[test]
fn what_the_driver_has_no_room_for_waits_in_its_queue() {
    let mut bench = Bench::attached(true);
    bench.sgsn.hold_back(true);
    (0..4).for_each(|number| bench.offer(0, &[number; 40]));
    bench.collect();
    assert!(bench.is_silent() && !bench.sgsn.has_work());
    assert_eq!(bench.sgsn.flows().unwrap().queues().queued().pdus, 4);
    bench.sgsn.hold_back(false);
    assert!(bench.sgsn.has_work());
    bench.collect();
    assert_eq!((bench.numbers(0, 4), bench.drops()), (vec![0, 1, 2, 3], vec![]));
}

#[test]
fn who_sends_too_much_hurts_only_himself() {
    // Big buckets: the processor is what is scarce here, one batch of 16 N-PDUs a round.
    let mut bench = Bench::new(|config| {
        let all = gannet_proto::bssgp::flow_control::Bucket { bmax_octets: 1 << 20, rate_bit_per_s: 1 << 30 };
        config.flow.initial = gannet_proto::bssgp::flow_control::BvcParameters { bvc: all, default_ms: all };
    });
    for phone in 0..4 {
        bench.attach(phone);
        bench.activate_with(phone, NSAPI, profile(4, 1, 2));
    }
    for round in 0..50 {
        for _ in 0..16 {
            bench.offer(2, &[round; 40]);
            bench.offer(3, &[round; 40]);
        }
        // Those who keep to their share come last.
        for phone in [0, 1].into_iter().cycle().take(6) {
            bench.offer(phone, &[round; 40]);
        }
        bench.serve_once();
    }
    bench.collect();
    let views = [0, 1, 2, 3].map(|phone| bench.sgsn.flow_of(bench.context_name(phone)).unwrap());
    assert_eq!(views.map(|view| view.served + u64::from(view.dropped)), [150, 150, 800, 800]);
    assert_eq!((views[0].dropped, views[1].dropped), (0, 0));
    assert!(views[2].dropped > 500 && views[3].dropped > 500, "{views:?}");
    let dropped = u64::from(views[2].dropped + views[3].dropped);
    assert_eq!(bench.drops(), [(Drop::FlowQueueFull, dropped)]);
    assert_eq!(bench.sent.len() as u64, 1900 - dropped);
}

#[test]
fn a_blocked_cell_holds_its_flows_and_nobody_is_dropped_behind_the_scheduler() {
    let mut bench = Bench::new(|config| config.flow.pdus_max = 128);
    for phone in 0..2 {
        bench.phones[phone].cell = phone;
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.block_cell(2);
    for number in 0..40 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    let at_output = bench.sgsn.gb().flow.queued_pdus();
    let at_input = bench.sgsn.flows().unwrap().queues().queued().pdus;
    assert_eq!((at_output + at_input, at_input > 20), (40, true), "{at_output} and {at_input}");
    assert!(!bench.sgsn.has_work() && bench.is_silent());
    bench.downlink(1, NSAPI, &[7; 40]);
    assert_eq!(bench.numbers(1, 1), [7], "the other cell");
    bench.unblock_cell(2);
    assert_eq!(bench.numbers(0, 40), (0..40).collect::<Vec<u8>>());
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_driver_is_told_at_the_watermarks() {
    let mut bench = Bench::attached(false);
    // 23 N-PDUs wait at most: 1000 octets/s, and four of full size.
    bench.activate_with(0, NSAPI, profile(4, 1, 2));
    bench.block_cell(2);
    let mut offered = 0;
    while !bench.is_blocked(0) {
        bench.downlink(0, NSAPI, &[1; 100]);
        offered += 1;
    }
    let queued = |bench: &Bench| bench.sgsn.flow_of(bench.context_name(0)).unwrap().queued.pdus;
    assert_eq!(queued(&bench), 21);
    for _ in 0..5 {
        bench.downlink(0, NSAPI, &[1; 100]);
    }
    assert_eq!((queued(&bench), bench.drops()), (23, vec![(Drop::FlowQueueFull, 3)]));
    bench.unblock_cell(2);
    assert!(!bench.is_blocked(0) && queued(&bench) == 0);
    assert_eq!(bench.sent.len(), offered + 2);
}

#[test]
fn an_old_teid_never_finds_the_next_context() {
    let mut bench = Bench::new(|config| config.contexts_max = Some(1));
    bench.attach(0);
    bench.activate(0, NSAPI);
    let (old, place) = (bench.teid(0), bench.context_name(0).place());
    bench.detach(0, true);
    bench.delete_answer(NSAPI);
    bench.attach(1);
    bench.activate(1, NSAPI);
    assert_eq!(bench.context_name(1).place(), place, "the same place");
    bench.classified(old, b"for phone 0");
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::GtpUnknownTeid, 1)]);
    let teid = bench.teid(1);
    bench.classified(teid, b"for phone 1");
    assert_eq!(bench.hear(1).1[4..], *b"for phone 1");
}

#[test]
fn a_backlog_moves_with_its_mobile_in_its_order() {
    let mut bench = Bench::attached(true);
    bench.block_cell(2);
    for number in 0..30 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    assert!(bench.sgsn.flows().unwrap().queues().queued().pdus > 0);
    bench.phones[0].cell = 1;
    bench.beacon(0);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
    assert!(bench.is_silent(), "the BSS moves what it has first");
    super::cell_change::moved(&mut bench, 3, 0);
    assert_eq!(bench.numbers(0, 30), (0..30).collect::<Vec<u8>>());
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_backlog_is_left_behind_where_the_operator_wants_it() {
    let mut bench = Bench::new(|config| config.cell_change.left_behind = LeftBehind::Discard);
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.events.clear();
    bench.block_cell(2);
    for number in 0..30 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    let waiting = u64::from(bench.sgsn.flows().unwrap().queues().queued().pdus);
    assert!(waiting > 0);
    bench.phones[0].cell = 1;
    bench.beacon(0);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { new_bvci: None, .. }));
    assert_eq!(bench.dropped(Drop::SgsnLeftBehind), waiting);
    assert_eq!(bench.dropped(Drop::SgsnLeftBehind) + bench.dropped(Drop::FlowFlushed), 30);
    assert_eq!(bench.sgsn.flows().unwrap().queues().queued().pdus, 0);
    bench.downlink(0, NSAPI, &[99; 40]);
    assert_eq!(bench.numbers(0, 1), [99], "what comes later is served");
}

#[test]
fn what_waits_goes_with_its_context() {
    let mut bench = Bench::attached(true);
    bench.block_cell(2);
    for number in 0..30 {
        bench.downlink(0, NSAPI, &[number; 40]);
    }
    let waiting = u64::from(bench.sgsn.flows().unwrap().queues().queued().pdus);
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    assert_eq!(bench.dropped(Drop::FlowQueueContextGone), waiting);
    assert_eq!(bench.sgsn.flows().unwrap().queues().queued().pdus, 0);
}

#[test]
fn another_quality_of_service_takes_effect_with_its_backlog() {
    let mut bench = Bench::attached(true);
    let slot = bench.slot(0);
    for number in 0..3 {
        bench.offer(0, &[number; 40]);
    }
    let change = SmEvent::Modify { nsapi: NSAPI, qos: profile(1, 2, 1) };
    bench.sgsn.sm(&mut bench.around.context(), slot, change);
    bench.collect();
    assert_eq!(bench.rule(0).class, Class::BestEffort, "the mobile has not said yes");
    let heard: Vec<_> = (0..4).map(|_| bench.hear(0)).collect();
    assert_eq!(heard.iter().filter(|(sapi, _)| *sapi == Sapi::DATA3).count(), 3);
    bench.sm(0, 0, ModifyAcceptMo {});
    let rule = bench.rule(0);
    assert_eq!((rule.class, rule.precedence), (Class::RealTime, Precedence::High));
    assert_eq!(rule.policer.map(|policer| policer.rate_octets_per_s), Some(2000));
    bench.downlink(0, NSAPI, &[5; 40]);
    assert_eq!(bench.numbers(0, 1), [5]);
}

#[test]
fn a_mobile_that_travels_takes_its_rule_and_leaves_nothing() {
    let mut bench = Bench::attached(true);
    bench.attach(1);
    bench.activate(1, NSAPI);
    bench.block_cell(2);
    let teid = bench.teid(0);
    for number in 0..30 {
        bench.downlink(0, NSAPI, &[number; 40]);
        bench.downlink(1, NSAPI, &[100 + number; 40]);
    }
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    let gone = bench.dropped(Drop::FlowQueueContextGone) + bench.dropped(Drop::FlowFlushed);
    assert_eq!(gone, 30, "{:?}", bench.drops());
    bench.classified(teid, b"too early");
    assert_eq!(bench.dropped(Drop::GtpUnknownTeid), 1);
    bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    bench.collect();
    assert_eq!(bench.teid(0), teid);
    bench.downlink(0, NSAPI, &[99; 40]);
    bench.unblock_cell(2);
    let mut of_first = 0;
    let mut of_second = Vec::new();
    while let Some(Sent::Down(down)) = bench.sent.pop_front() {
        let phone = usize::from(down.header.tlli == bench.phones[1].tlli);
        let number = bench.open(phone, &down.ll_pdu).1[4];
        if phone == 0 {
            assert_eq!(number, 99);
            of_first += 1;
        } else {
            of_second.push(number);
        }
    }
    assert_eq!((of_first, of_second), (1, (100..130).collect::<Vec<u8>>()));
}

#[test]
fn more_is_not_held_for_a_mobile_that_is_paged_than_for_it_and_for_all() {
    let mut bench = Bench::attached(true);
    bench.attach(1);
    bench.activate(1, NSAPI);
    bench.pass(Duration::from_secs(45));
    bench.sent.clear();
    for _ in 0..6 {
        bench.downlink(0, NSAPI, b"n-pdu");
        bench.downlink(1, NSAPI, b"n-pdu");
    }
    // Four for each, six for all.
    assert_eq!(bench.sgsn.flows().unwrap().held(), 6);
    assert_eq!(bench.drops(), [(Drop::HeldFull, 6)]);
    bench.sent.clear();
    bench.beacon(0);
    assert_eq!((bench.sent.len(), bench.sgsn.flows().unwrap().held()), (3, 3));
}

/// An Update PDP Context Request of the GGSN for phone 0.
fn update(qos: Option<QosProfile>) -> UpdateRequest {
    UpdateRequest { qos: qos.map(|qos| Qos::new(2, &qos)), ..UpdateRequest::new(NSAPI) }
}

fn next_update(bench: &mut Bench) -> UpdateResponse {
    match bench.next_control() {
        (GGSN, header, GtpMessage::UpdateResponse(response)) => {
            assert_eq!(header.teid, Teid(GGSN_CONTROL + 5));
            response
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ggsn_changes_the_quality_of_service() {
    let mut bench = Bench::attached(true);
    let teid = bench.teid(0);
    bench.ggsn_asks(teid, update(Some(profile(1, 4, 3))));
    assert!(matches!(bench.hear_sm(0), SmMessage::ModifyRequestMt(_)));
    assert!(bench.is_silent(), "the mobile is asked first");
    bench.sm(0, 0, ModifyAcceptMo {});
    let response = next_update(&mut bench);
    assert_eq!((response.cause, response.teid_data), (GtpCause::RequestAccepted, Some(teid)));
    assert_eq!(response.qos.map(|qos| qos.profile()), Some(profile(1, 4, 3)));
    assert_eq!((bench.rule(0).class, bench.rule(0).precedence), (Class::RealTime, Precedence::Low));
    // Without a profile there is nothing to ask the mobile.
    bench.ggsn_asks(teid, update(None));
    assert_eq!(next_update(&mut bench).cause, GtpCause::RequestAccepted);
    assert!(bench.is_silent());
    // For an endpoint that is not there.
    bench.ggsn_asks(Teid(0x0100_0009), update(None));
    let (_, _, GtpMessage::UpdateResponse(response)) = bench.next_control() else { panic!() };
    assert_eq!(response.cause, GtpCause::NonExistent);
}

/// GGSN and mobile want something at once: the mobile gets its answer before it is asked, and the GGSN has its own only then.
#[test]
fn a_ggsn_changes_what_the_mobile_is_changing() {
    let mut bench = Bench::attached(true);
    let teid = bench.teid(0);
    bench.sm(0, 0, ModifyRequestMo { sapi: None, qos: Some(profile(3, 4, 3)), tft: None });
    let (to, header, GtpMessage::UpdateRequest(_)) = bench.next_control() else { panic!() };
    bench.ggsn_asks(teid, update(Some(profile(1, 4, 3))));
    assert!(bench.is_silent());
    let qos = Some(Qos::new(2, &profile(3, 4, 3)));
    let accepted = UpdateResponse { qos, ..UpdateResponse::refused(GtpCause::RequestAccepted) };
    bench.answer(to, teid, header.sequence.unwrap(), accepted);
    assert!(matches!(bench.hear_sm(0), SmMessage::ModifyAcceptMt(_)));
    assert!(bench.is_silent(), "the mobile may not have its answer");
    bench.pass_secs(11);
    assert!(matches!(bench.hear_sm(0), SmMessage::ModifyRequestMt(_)));
    assert!(bench.is_silent(), "the mobile has not accepted yet");
    bench.sm(0, 0, ModifyAcceptMo {});
    assert_eq!(next_update(&mut bench).qos.map(|qos| qos.profile()), Some(profile(1, 4, 3)));
    assert_eq!((bench.sgsn.updates.len(), bench.drops()), (0, vec![]));
}

#[test]
fn an_update_of_a_context_that_ends_is_refused() {
    let mut bench = Bench::attached(true);
    let teid = bench.teid(0);
    bench.ggsn_asks(teid, update(Some(profile(1, 4, 3))));
    assert!(matches!(bench.hear_sm(0), SmMessage::ModifyRequestMt(_)));
    let deactivate = DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None };
    bench.sm(0, 0, deactivate);
    let response = next_update(&mut bench);
    assert_eq!(response.cause, GtpCause::NonExistent);
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    assert_eq!((bench.sgsn.updates.len(), bench.rules.owner(Key::Teid(teid))), (0, None));
}
