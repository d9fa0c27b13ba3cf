//! From a G-PDU to DL-UNITDATA; paging, and what is held meanwhile.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::gmm::MmState;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{PagingArea, PduLifetime, Precedence, QosProfile};
use gannet_wire::bssgp::signalling::PagingPs;
use gannet_wire::fcs24::fcs24;
use gannet_wire::gtp::{Cause as GtpCause, Message as GtpMessage};
use gannet_wire::id::{Bvci, Nsei, Sapi, Teid};
use gannet_wire::l3::gmm::RauRequest;
use gannet_wire::l3::ie::{
    self, Cksn, MsRadioAccessCapability, PeakThroughput, PrecedenceClass, ReliabilityClass, UpdateKind,
    UpdateType,
};
use gannet_wire::l3::sm::{ActivateRequest, SmMessage};
use gannet_wire::sndcp::{Compression, Header, Pdu};

/// A bench whose mobile has fallen into STANDBY.
fn standby() -> Bench {
    standby_with(Ingress::Queued)
}

fn standby_with(ingress: Ingress) -> Bench {
    let mut bench = Bench::attached_with(true, ingress);
    bench.pass_secs(45);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    bench
}

fn octets(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

fn paging(bench: &Bench) -> Message {
    Message::PagingPs(PagingPs {
        imsi: imsi(0),
        drx: Some(0),
        area: PagingArea::RoutingArea(rai(1)),
        pfi: None,
        qos: QosProfile::default(),
        ptmsi: bench.phones[0].ptmsi.map(|ptmsi| ptmsi.0),
    })
}

/// The SGSN pages through both NSEs, since each has cells of the routing area.
fn expect_paging(bench: &mut Bench) {
    for nsei in [1, 2] {
        let page = Sent::Bssgp(Nsei(nsei), Bvci::SIGNALLING, paging(bench));
        assert_eq!(bench.next(), page);
    }
}

#[test]
fn what_dl_unitdata_tells_the_bss() {
    let mut bench = Bench::attached(true);
    bench.downlink(0, NSAPI, b"n-pdu");
    let down = bench.next_down();
    assert_eq!(down.cell, (Nsei(1), Bvci(2)));
    let header = down.header;
    assert_eq!((header.tlli, header.old_tlli), (bench.phones[0].tlli, None));
    assert_eq!((header.imsi, header.drx), (Some(imsi(0)), Some(0)));
    assert_eq!(down.capability.as_deref(), Some(&CAPABILITY[..]));
    assert_eq!(header.lifetime, PduLifetime(1000), "ten seconds");
    let qos = header.qos;
    assert_eq!((qos.precedence, qos.data, qos.not_ack), (Precedence::NORMAL, true, true));
    assert_eq!(qos.peak_bits_per_s(), Some(2_048_000), "in whole kbit/s");
    assert!(!qos.rlc_unacknowledged);
    let (sapi, sn_pdu) = bench.open(0, &down.ll_pdu);
    assert_eq!((sapi, &sn_pdu[4..]), (Sapi::DATA3, &b"n-pdu"[..]));
    assert_eq!(bench.sgsn.stats().n_pdu_downlink, 1);
    // Signalling goes before data, and has no peak rate.
    bench.sm(0, 1, activate_request(Nsapi(6)));
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, GtpCause::SystemFailure);
    let qos = bench.next_down().header.qos;
    assert_eq!((qos.precedence, qos.data, qos.peak_bits_per_s()), (Precedence::HIGH, false, None));
}

#[test]
fn both_tllis_are_told_while_the_new_one_is_not_confirmed() {
    let mut bench = Bench::new(|_| ());
    let random = bench.phones[0].tlli;
    bench.gmm(0, attach_request(ie::MobileIdentity::Imsi(imsi(0))));
    assert_eq!(bench.next_down().header.tlli, random);
    bench.pass_secs(6);
    let header = bench.next_down().header;
    assert_eq!((header.tlli, header.old_tlli), (random, None), "the old one is the one that is used");
}

#[test]
fn the_lifetime_of_what_was_queued_is_shorter() {
    // With queues at the input they would wait there.
    let mut bench = Bench::attached_with(true, Ingress::Fifo);
    let tlli = bench.phones[0].tlli;
    // The second conforms after one second and more, the third after seven, the fourth after thirteen.
    let slow = gannet_proto::bssgp::flow_control::Bucket { bmax_octets: 600, rate_bit_per_s: 400 };
    bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlMs(slow.to_message(tlli, 1)));
    bench.sent.clear();
    for _ in 0..4 {
        bench.downlink(0, NSAPI, &octets(300));
    }
    assert_eq!(bench.next_down().header.lifetime, PduLifetime(1000));
    bench.pass_secs(20);
    let second = bench.next_down().header.lifetime;
    assert!(second < PduLifetime(900) && second > PduLifetime(800), "{second:?}");
    let third = bench.next_down().header.lifetime;
    assert!(third < PduLifetime(300) && third > PduLifetime(200), "{third:?}");
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::FlowLifetime, 1)]);
    // Without a lifetime it says so.
    let mut bench = Bench::new(|config| config.pdu_lifetime = PduLifetimes::all(None));
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.downlink(0, NSAPI, b"n-pdu");
    assert_eq!(bench.next_down().header.lifetime, PduLifetime::INFINITE);
}

#[test]
fn r_0_holds_the_queue_of_a_mobile_and_another_r_lets_it_go_at_once() {
    for asks_at_zero in [false, true] {
        let mut bench = Bench::new(|config| config.flow.asks_at_zero = asks_at_zero);
        bench.attach(0);
        bench.activate(0, NSAPI);
        let tlli = bench.phones[0].tlli;
        let bucket =
            |rate_bit_per_s| gannet_proto::bssgp::flow_control::Bucket { bmax_octets: 3200, rate_bit_per_s };
        bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlMs(bucket(0).to_message(tlli, 1)));
        bench.sent.clear();
        for _ in 0..3 {
            bench.downlink(0, NSAPI, &octets(100));
        }
        bench.pass_secs(5);
        if !asks_at_zero {
            assert!(bench.is_silent(), "{:?}", bench.sent);
            bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlMs(bucket(36_000).to_message(tlli, 2)));
            assert!(matches!(bench.next(), Sent::Bssgp(_, _, Message::FlowControlMsAck { .. })));
        }
        // With `asks_at_zero` each that came had the first of the queue go.
        for _ in 0..3 {
            assert_eq!(bench.next_down().header.tlli, tlli);
        }
        assert!(bench.is_silent() && bench.drops().is_empty());
    }
}

#[test]
fn a_long_n_pdu_is_cut_at_n201_u() {
    let mut bench = Bench::attached(true);
    let n_pdu = octets(1300);
    bench.downlink(0, NSAPI, &n_pdu);
    let mut whole: Vec<u8> = Vec::new();
    for segment in 0..3_u8 {
        let (sapi, sn_pdu) = bench.hear(0);
        assert_eq!(sapi, Sapi::DATA3);
        assert!(sn_pdu.len() <= 500);
        let (header, start) = Header::parse(&sn_pdu).unwrap();
        let first = (segment == 0).then_some(Compression::NONE);
        assert_eq!(header.pdu, Pdu::Unitdata { first, segment, number: 0 });
        assert_eq!((header.nsapi, header.more), (NSAPI, segment < 2));
        whole.extend(&sn_pdu[start..]);
    }
    assert!(whole == n_pdu && bench.is_silent());
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn an_n_pdu_that_is_too_long_or_empty() {
    let mut bench = Bench::attached(true);
    bench.downlink(0, NSAPI, &octets(1521));
    bench.downlink(0, NSAPI, &[]);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SndcpEmpty, 1), (Drop::SndcpTooLong, 1)]);
}

#[test]
fn reliability_class_5_is_unprotected() {
    for (reliability, protected, unacknowledged) in [
        (ReliabilityClass::THREE, true, false),
        (ReliabilityClass::FOUR, true, true),
        (ReliabilityClass::FIVE, false, true),
    ] {
        let mut bench = Bench::attached(false);
        let qos = ie::QosProfile {
            reliability,
            precedence: PrecedenceClass::HIGH,
            peak: PeakThroughput(1),
            ..ie::QosProfile::BEST_EFFORT
        };
        bench.sm(0, 0, ActivateRequest { qos, ..activate_request(NSAPI) });
        let (from, sequence, request) = bench.next_create();
        bench.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
        assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
        bench.downlink(0, NSAPI, &octets(100));
        let Down { header, ll_pdu, .. } = bench.next_down();
        assert_eq!(header.qos.rlc_unacknowledged, unacknowledged);
        assert_eq!(header.qos.precedence, Precedence::HIGH);
        assert_eq!(header.qos.peak_bits_per_s(), Some(8000));
        assert_eq!(ll_pdu[2] & 1 == 1, protected, "PM");
        let (octets, fcs) = ll_pdu.split_at(ll_pdu.len() - 3);
        // Header of three octets and N202.
        let covered = if protected { octets } else { &octets[..7] };
        assert_eq!(fcs24(covered), fcs, "{reliability:?}");
    }
}

#[test]
fn a_g_pdu_for_nobody_is_answered_with_an_error_indication() {
    let mut bench = Bench::attached(false);
    let header = gannet_wire::gtp::v1u::GPdu { teid: Teid(0x7777), sequence: None, npdu_number: None };
    let mut octets = vec![0; header.buffer_len()];
    assert!(header.emit(0, &mut octets));
    // The bench knows G-PDUs only, so the answer is read here.
    let frame = bench.around.frames.copy_of(&octets).unwrap();
    let peer = gannet_machine::Peer::Udp(core::net::SocketAddr::new(GGSN, 2152));
    let (mut inputs, mut outputs) = (Batch::default(), Batch::default());
    inputs.push(Input::Datagram { port: GTP_U, peer, frame });
    bench.sgsn.handle_input(&mut bench.around.context(), &mut inputs);
    bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
    let Some(Output::Transmit { frame, .. }) = outputs.pop() else { panic!() };
    let header = gannet_wire::gtp::header::Header::parse(&frame).unwrap();
    let GtpMessage::ErrorIndication(indication) =
        GtpMessage::parse(header.message, header.payload(&frame)).unwrap()
    else {
        panic!()
    };
    assert_eq!((indication.teid, indication.address), (Teid(0x7777), SGSN));
    assert_eq!(bench.drops(), [(Drop::GtpUnknownTeid, 1)]);
}

#[test]
fn a_queue_that_is_full() {
    let mut bench = Bench::new(|config| config.flow.data.ms.pdus = 2);
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.signal(&Message::BvcBlock { bvci: Bvci(2), cause: gannet_wire::bssgp::ie::Cause::OamIntervention });
    for _ in 0..5 {
        bench.downlink(0, NSAPI, b"n-pdu");
    }
    assert_eq!(bench.drops(), [(Drop::FlowMsQueueFull, 3)]);
    assert_eq!(bench.sgsn.leftovers().last(), Some(&("LL-PDUs queued", 2)));
}

#[test]
fn a_cell_that_is_gone() {
    let mut bench = Bench::attached(true);
    let frame = bench.around.frames.copy_of(b"n-pdu").unwrap();
    let mut stranger = cell(0);
    stranger.bvci = Bvci(99);
    let to = gannet_proto::gmm::network::Uplink { tlli: Tlli(1), cell: stranger };
    bench.sgsn.send_to_stranger(&mut bench.around.context(), to, frame);
    assert_eq!(bench.drops(), [(Drop::SgsnNoCell, 1)]);
}

#[test]
fn an_ll_pdu_without_room_for_its_header() {
    let mut bench = Bench::attached(true);
    let to = gannet_proto::gmm::network::Uplink { tlli: Tlli(1), cell: cell(0) };
    let mut frame = bench.around.frames.copy_of(&octets(100)).unwrap();
    let headroom = frame.headroom();
    frame.push(headroom - 10).unwrap().fill(0);
    bench.sgsn.send_to_stranger(&mut bench.around.context(), to, frame);
    bench.sgsn.send_queued(&mut bench.around.context());
    assert_eq!(bench.drops(), [(Drop::SgsnNoHeadroom, 1)]);
}

#[test]
fn an_n_pdu_whose_context_is_not_there() {
    let mut bench = standby_with(Ingress::Fifo);
    bench.downlink(0, NSAPI, b"n-pdu");
    expect_paging(&mut bench);
    // The context ends while its N-PDU is held.
    let slot = bench.slot(0);
    bench.sgsn.mobiles.get_mut(slot).unwrap().take_bearer(NSAPI);
    bench.beacon(0);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SgsnNoContext, 1)]);
}

#[test]
fn paging_and_what_was_held() {
    let mut bench = standby();
    for n in 0..3 {
        bench.downlink(0, NSAPI, &[n; 20]);
    }
    expect_paging(&mut bench);
    assert!(bench.is_silent(), "once for all");
    bench.beacon(0);
    for n in 0..3 {
        assert_eq!(bench.hear(0).1[4..], [n; 20], "in their order");
    }
    assert!(bench.is_silent());
    assert_eq!(bench.sgsn.stats().pagings, 2);
    assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
}

#[test]
fn a_mobile_that_answers_elsewhere_gets_it_there() {
    let mut bench = standby();
    bench.downlink(0, NSAPI, b"n-pdu");
    expect_paging(&mut bench);
    bench.phones[0].cell = 2;
    bench.beacon(0);
    assert!(matches!(bench.next(), Sent::Bssgp(Nsei(1), Bvci::SIGNALLING, Message::FlushLl { .. })));
    assert_eq!(bench.hear(0).1[4..], *b"n-pdu");
}

#[test]
fn a_session_message_to_a_mobile_in_standby_pages_it_first() {
    let mut bench = standby();
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    bench.delete_answer(NSAPI);
    expect_paging(&mut bench);
    assert!(bench.is_silent());
    bench.beacon(0);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
}

#[test]
fn a_mobile_that_does_not_answer_its_paging() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        let mut bench = Bench::new(|config| {
            (config.held_lifetime, config.ingress) = (Duration::from_secs(100), ingress);
        });
        bench.attach(0);
        bench.activate(0, NSAPI);
        bench.pass_secs(45);
        bench.downlink(0, NSAPI, b"n-pdu");
        for _ in 0..3 {
            expect_paging(&mut bench);
            bench.pass_secs(10);
        }
        assert!(bench.is_silent());
        assert_eq!(bench.drops(), [(Drop::GmmPagingFailed, 1), (Drop::HeldUnanswered, 1)]);
        assert_eq!(bench.around.frames.free(), FRAMES);
    }
}

#[test]
fn room_for_what_is_held() {
    let mut bench = Bench::new(|_| ());
    for phone in [0, 1] {
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.pass_secs(45);
    bench.sent.clear();
    for _ in 0..5 {
        bench.downlink(0, NSAPI, b"n-pdu");
        bench.downlink(1, NSAPI, b"n-pdu");
    }
    // Six in all, four for one mobile.
    assert_eq!(bench.drops(), [(Drop::HeldFull, 4)]);
}

#[test]
fn what_was_held_too_long() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        let mut bench = Bench::new(|config| {
            (config.held_lifetime, config.ingress) = (Duration::from_secs(5), ingress);
        });
        bench.attach(0);
        bench.activate(0, NSAPI);
        bench.pass_secs(45);
        bench.downlink(0, NSAPI, b"old");
        bench.pass_secs(4);
        bench.downlink(0, NSAPI, b"new");
        bench.pass_secs(2);
        bench.sent.clear();
        bench.beacon(0);
        assert_eq!(bench.hear(0).1[4..], *b"new");
        assert_eq!(bench.drops(), [(Drop::HeldTooLong, 1)]);
        bench.downlink(0, NSAPI, b"more");
        assert_eq!(bench.hear(0).1[4..], *b"more");
    }
}

#[test]
fn what_was_held_for_a_mobile_that_is_gone() {
    let held = (Drop::HeldMobileGone, 1);
    let gone = [(Ingress::Fifo, held), (Ingress::Queued, (Drop::FlowQueueContextGone, 1))];
    for (ingress, raised) in gone {
        let mut bench = standby_with(ingress);
        bench.downlink(0, NSAPI, b"n-pdu");
        bench.sent.clear();
        // Its subscriber attaches with another phone.
        bench.gmm(1, attach_request(ie::MobileIdentity::Imsi(imsi(0))));
        assert_eq!(bench.drops(), [raised]);
    }
}

#[test]
fn a_suspended_mobile_gets_nothing_until_it_resumes() {
    let mut bench = Bench::attached(true);
    let (tlli, rai) = (bench.phones[0].tlli, rai(1));
    bench.pass_secs(30);
    bench.signal(&Message::Suspend { tlli, rai });
    let Message::SuspendAck { reference, .. } = bench.next_bssgp() else { panic!() };
    bench.downlink(0, NSAPI, b"one");
    bench.pass_secs(20);
    bench.downlink(0, NSAPI, b"two");
    assert!(bench.is_silent(), "nor is it paged");
    bench.signal(&Message::Resume { tlli, rai, reference });
    assert!(matches!(bench.next_bssgp(), Message::ResumeAck { .. }));
    expect_paging(&mut bench);
    bench.beacon(0);
    assert_eq!(bench.hear(0).1[4..], *b"one");
    assert_eq!(bench.hear(0).1[4..], *b"two");
    // READY all the while: it comes at once.
    bench.signal(&Message::Suspend { tlli, rai });
    bench.downlink(0, NSAPI, b"three");
    bench.signal(&Message::Resume { tlli, rai, reference });
    bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
    assert_eq!(bench.hear(0).1[4..], *b"three");
    // Nobody's.
    let tlli = Tlli(0xc000_0001);
    bench.signal(&Message::Suspend { tlli, rai });
    assert!(matches!(bench.next_bssgp(), Message::SuspendNack { .. }));
    bench.signal(&Message::Resume { tlli, rai, reference });
    assert!(matches!(bench.next_bssgp(), Message::ResumeNack { .. }));
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 2)]);
}

#[test]
fn a_routing_area_update_ends_the_suspension() {
    let mut bench = Bench::attached(true);
    bench.signal(&Message::Suspend { tlli: bench.phones[0].tlli, rai: rai(1) });
    bench.sent.clear();
    bench.downlink(0, NSAPI, b"n-pdu");
    assert!(bench.is_silent());
    let request = RauRequest {
        update_type: UpdateType { kind: UpdateKind::Ra, follow_on: false },
        cksn: Cksn::NO_KEY,
        old_rai: rai(1),
        ms_radio_access_capability: MsRadioAccessCapability(CAPABILITY.to_vec()),
        old_ptmsi_signature: bench.phones[0].signature,
        requested_ready_timer: None,
        drx: None,
        tmsi_status: None,
        ptmsi: None,
        ms_network_capability: None,
        pdp_context_status: None,
    };
    bench.gmm(0, request);
    assert!(matches!(bench.hear_gmm(0), gannet_wire::l3::gmm::GmmMessage::RauAccept(_)));
    assert_eq!(bench.hear(0).1[4..], *b"n-pdu", "what was held comes now");
}
