//! What nobody who has not proved who he is can do: have the SGSN keep more than its limits, take what is another's, or read
//! a key. `docs/security.md` says which limit is meant.
//!
//! Each flood counts what is kept through what an operator sees, too.

use super::bench::*;
use super::subscribers::*;
use crate::sgsn::operation::OrderRefused;
use crate::sgsn::*;
use core::net::{Ipv4Addr, SocketAddr};
use gannet_machine::StreamState;
use gannet_machine::drops::Drop;
use gannet_proto::auth::key::Key128;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gsup::PDP_INFOS_MAX;
use gannet_proto::ns::sns::LocalEndpoint;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause as BssgpCause;
use gannet_wire::gsup::{Body, CancelType, PurgeResult};
use gannet_wire::gtp::v1c::{DeleteRequest, EchoRequest, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause as GtpCause, Message as GtpMessage};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci, PTmsi, Sapi};
use gannet_wire::ipa;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::ns::{self, IpElement};

const FLOOD: u32 = 3000;

fn stranger(number: u32) -> SocketAddr {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, a, b, c)), 1024 + u16::try_from(number % 60_000).unwrap())
}

fn some_imsi(number: u32) -> Imsi {
    format!("00101{number:010}").parse().unwrap()
}

impl Bench {
    fn stranger_says(&mut self, number: u32, port: Port, octets: &[u8]) {
        self.datagram(port, stranger(number), octets);
        self.sent.clear();
    }

    /// A GSN at an address that nobody knows.
    fn peer_says(&mut self, number: u32, port: Port, octets: &[u8]) {
        let udp = if port == GTP_C { 2123 } else { 2152 };
        self.datagram(port, SocketAddr::new(stranger(number).ip(), udp), octets);
        self.sent.clear();
    }

    /// What is kept of everybody together, by table.
    fn kept_of_all(&self) -> Vec<usize> {
        let (gb, gtp) = (self.sgsn.gb(), self.sgsn.gtp());
        vec![
            self.sgsn.mobiles_len(),
            self.sgsn.directory.len(),
            self.sgsn.contexts().len(),
            gb.ns.vcs().count(),
            gb.ns.nses().count(),
            gb.ns.sns_nses().count(),
            gb.bvcs.bvcs().count(),
            gb.bvcs.nses().count(),
            gb.flow.queued_pdus() as usize,
            gtp.paths().len(),
            gtp.outstanding(),
            gtp.answers(),
            self.sgsn.held_len(),
            self.sgsn.subscribers().waiting(),
            self.sgsn.subscribers().hlr().map_or(0, |hlr| hlr.outstanding()),
        ]
    }
}

// --------------------------------------------------------------------------------------------------- Gb

#[test]
fn bss_that_nobody_knows_have_a_table_and_no_more() {
    let mut bench = Bench::without_bss(|_| ());
    for number in 0..FLOOD {
        let id = u16::try_from(number).unwrap();
        let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(id), nsei: Nsei(id) };
        bench.stranger_says(number, GB, &reset.to_vec());
    }
    let (nses, vcs) = (bench.sgsn.gb().ns.nses().count(), bench.sgsn.gb().ns.vcs().count());
    assert_eq!((nses, bench.sgsn.config().nses_max), (4, 4));
    assert!(vcs <= bench.sgsn.gb().ns.config().vc_max, "{vcs}");
    assert!(bench.dropped(Drop::NsTableFull) > 0, "{:?}", bench.drops());
    // What is no NS-RESET makes nothing.
    let before = bench.kept_of_all();
    for number in 0..FLOOD {
        bench.stranger_says(number, GB, &number.to_be_bytes());
        bench.stranger_says(number, GB, &ns::Pdu::Alive.to_vec());
        bench.stranger_says(number, GB, &ns::Unitdata::of(Bvci(2)).emit());
    }
    assert_eq!(bench.kept_of_all(), before);
}

#[test]
fn bss_that_are_not_asked_for_are_not_kept() {
    let mut bench = Bench::without_bss(|config| config.open.clear());
    for number in 0..FLOOD {
        let nsei = Nsei(u16::try_from(number).unwrap());
        let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(nsei.0), nsei };
        bench.stranger_says(number, GB, &reset.to_vec());
        let (ip4_endpoints, ip6_endpoints) = (Some(1), None);
        let size = ns::Sns::Size { nsei, reset: true, ns_vcs_max: 8, ip4_endpoints, ip6_endpoints };
        bench.stranger_says(number, GB, &ns::Pdu::Sns(size).to_vec());
    }
    assert_eq!(bench.kept_of_all(), [0; 15]);
}

#[test]
fn endpoints_of_ip_sns_have_a_table_and_no_more() {
    let endpoint = |number| IpElement { endpoint: stranger(number), signalling_weight: 1, data_weight: 1 };
    let mut bench = Bench::without_bss(|config| {
        config.open.clear();
        let own = SocketAddr::new(SGSN, 23_000);
        config.ip_sns = IpSns {
            endpoints: vec![LocalEndpoint { port: GB, element: IpElement { endpoint: own, ..endpoint(0) } }],
            open: vec![GB],
            ..IpSns::default()
        };
    });
    for number in 0..FLOOD {
        let nsei = Nsei(u16::try_from(number).unwrap());
        let (ip4_endpoints, ip6_endpoints) = (Some(200), None);
        let size = ns::Sns::Size { nsei, reset: true, ns_vcs_max: u16::MAX, ip4_endpoints, ip6_endpoints };
        bench.stranger_says(number, GB, &ns::Pdu::Sns(size).to_vec());
        let elements: ns::IpElements = (0..100).map(|n| endpoint(number + n)).collect();
        let config = ns::Sns::Config { nsei, end: true, elements };
        bench.stranger_says(number, GB, &ns::Pdu::Sns(config).to_vec());
    }
    let ns = &bench.sgsn.gb().ns;
    assert!(ns.sns_nses().count() <= bench.sgsn.config().nses_max, "{}", ns.sns_nses().count());
    assert!(ns.vcs().count() <= ns.config().vc_max, "{}", ns.vcs().count());
}

#[test]
fn cells_have_a_table_and_no_more() {
    let mut bench = Bench::new(|_| ());
    for bvci in 2..5000 {
        let cell = Some(CellId { rai: rai(1), ci: bvci });
        let reset =
            Message::BvcReset { bvci: Bvci(bvci), cause: BssgpCause::OamIntervention, cell, features: None };
        bench.signal(&reset);
        bench.sent.clear();
    }
    assert_eq!(bench.sgsn.gb().bvcs.bvcs().count(), bench.sgsn.config().cells_max as usize);
    // Who speaks for a cell that is not there makes none.
    let before = bench.kept_of_all();
    for bvci in 5000..9000 {
        bench.pdu(Nsei(1), Bvci(bvci), &[0; 40]);
        bench.sent.clear();
    }
    assert_eq!(bench.kept_of_all(), before);
}

// ----------------------------------------------------------------------------------------------- mobiles

#[test]
fn garbage_of_tllis_leaves_nothing() {
    let mut bench = Bench::new(|_| ());
    let before = bench.kept_of_all();
    for number in 0..FLOOD {
        for tlli in [Tlli::random(number), Tlli::foreign(PTmsi(number)), Tlli::local(PTmsi(number))] {
            bench.phones[0].power_cycle(tlli);
            let garbage = [number.to_be_bytes(), [0x5a; 4]].concat();
            bench.unitdata(0, Sapi::GMM, &garbage);
            bench.unitdata(0, Sapi::DATA3, &garbage);
            bench.up(0, &garbage);
            bench.sent.clear();
        }
    }
    assert_eq!(bench.kept_of_all(), before);
    // Answers to them are few: to signalling a hundred a second, and twice as many at once; to user data ten in a cell.
    let answered = bench.events.iter().filter(|event| matches!(event, SgsnEvent::StrangerAnswered { .. }));
    assert!(answered.count() <= 200 + 10);
    assert_eq!(bench.around.frames.free(), FRAMES);
}

/// Invented subscribers take turns in the table; who is attached stays.
#[test]
fn attach_requests_have_a_table_and_no_more() {
    for policy in [AuthPolicy::AcceptAll, AuthPolicy::Remote] {
        let mut bench = match policy {
            AuthPolicy::Remote => with_hlr(|_| ()),
            _ => Bench::new(|_| ()),
        };
        match policy {
            AuthPolicy::Remote => attach_with_hlr(&mut bench),
            _ => bench.attach(0),
        }
        let attached = bench.slot(0);
        for number in 0..FLOOD {
            let tlli = if number % 2 == 0 { Tlli::random(number) } else { Tlli::foreign(PTmsi(number)) };
            bench.phones[1].power_cycle(tlli);
            bench.gmm(1, attach_request(MobileIdentity::Imsi(some_imsi(number + 100))));
            // And again as somebody else, from the same place.
            bench.gmm(1, attach_request(MobileIdentity::Imsi(some_imsi(number + 1_000_000))));
            bench.sent.clear();
        }
        let max = bench.sgsn.config().mobiles_max;
        assert_eq!((bench.sgsn.mobiles_len(), bench.slot(0)), (max, attached));
        assert!(bench.sgsn.directory.len() <= 4 * max, "{}", bench.sgsn.directory.len());
        assert!(bench.sgsn.subscribers().waiting() <= max);
        let outstanding = bench.sgsn.subscribers().hlr().map_or(0, |hlr| hlr.outstanding());
        assert!(outstanding <= 1 << 14, "{outstanding}");
        assert!(bench.dropped(Drop::SgsnEvicted) > 0);
        assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
        // Wake-ups for who is gone last until they would have been due; with time all of them are gone.
        assert!(bench.around.timers.len() <= 4 * FLOOD as usize, "{}", bench.around.timers.len());
        bench.silent_ggsn = true;
        // Whose ATTACH ACCEPT stayed without answer may yet have taken its P-TMSI, for an hour (04.08 clause 4.7.3.1.6 c).
        bench.pass_secs(3700);
        bench.sent.clear();
        assert_eq!(bench.sgsn.mobiles().filter(|(_, mobile)| mobile.imsi() != Some(imsi(0))).count(), 0);
        assert_eq!(bench.sgsn.subscribers().waiting(), 0);
        assert!(bench.around.timers.len() < 100, "{}", bench.around.timers.len());
    }
}

/// Who is one subscriber beyond doubt and then says that he is another proves that with what belongs to the other one.
#[test]
fn a_subscriber_that_says_it_is_another_is_asked_anew() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    // There are more vectors than are used.
    say_of(&mut bench, imsi(0), vectors(&[RAND, [0x22; 16], [0x33; 16]]));
    let request = challenge(&mut bench);
    answer(&mut bench, &request, &mut card());
    heard(&mut bench);
    located(&mut bench, subscription("*", 9));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::AttachAccept(_)));
    assert_eq!(bench.slot(0), bench.sgsn.mobile_of(imsi(0)).unwrap().0);
    // From the same place, by the same TLLI.
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(1))));
    assert!(matches!(heard(&mut bench), Some(Body::PurgeMsRequest(_))), "it is not here any more");
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))), "its vectors are no other's");
    assert!(
        bench.is_silent()
            && bench.sgsn.mobile_of(imsi(0)).is_none()
            && bench.sgsn.mobile_of(imsi(1)).is_none()
    );
    say_of(&mut bench, imsi(1), vectors(&[[0x44; 16]]));
    let request = challenge(&mut bench);
    assert_eq!(request.rand, Some(Rand([0x44; 16])));
    let mut own = gannet_proto::auth::card::GsmSim { ki: Key128([7; 16]), ..card() };
    answer(&mut bench, &request, &mut own);
    assert!(matches!(heard(&mut bench), Some(Body::AuthFailureReport(_))));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::AuthenticationReject(_)));
    assert!(bench.sgsn.mobile_of(imsi(1)).is_none());
}

#[test]
fn an_old_signature_takes_nothing() {
    let mut bench = Bench::attached(true);
    let (slot, ptmsi, old) = (bench.slot(0), bench.phones[0].ptmsi.unwrap(), bench.phones[0].signature);
    // The mobile gets a new P-TMSI and signature.
    bench.sgsn.gmm(&mut bench.around.context(), slot, GmmEvent::ReallocatePtmsi);
    bench.sgsn.send_queued(&mut bench.around.context());
    bench.collect();
    let GmmMessage::PTmsiReallocationCommand(command) = bench.hear_gmm(0) else { panic!() };
    bench.take_ptmsi(0, Some(command.allocated_ptmsi), command.ptmsi_signature);
    bench.gmm(0, PTmsiReallocationComplete {});
    let new = bench.phones[0].ptmsi.unwrap();
    assert!((new, bench.phones[0].signature) != (ptmsi, old));
    // Another phone heard the old signature, and has the new P-TMSI.
    for signature in [old, None] {
        bench.phones[1].power_cycle(Tlli::foreign(new));
        let request =
            AttachRequest { old_ptmsi_signature: signature, ..attach_request(MobileIdentity::PTmsi(new)) };
        bench.gmm(1, request);
        assert!(matches!(bench.hear_gmm(1), GmmMessage::IdentityRequest(_)));
        assert_eq!(
            (bench.slot(0), bench.mobile(0).bearers().count()),
            (slot, 1),
            "nothing has happened to it"
        );
        bench.sent.clear();
    }
    // The old P-TMSI is nobody's.
    assert_eq!(bench.sgsn.directory.by_ptmsi(ptmsi), None);
}

// -------------------------------------------------------------------------------------------------- Gn

#[test]
fn peers_of_gtp_that_nobody_asked_leave_nothing() {
    let mut bench = Bench::attached(true);
    let before = bench.kept_of_all();
    let echo: GtpMessage = EchoRequest { private_extension: None }.into();
    for number in 0..FLOOD {
        let sequence = u16::try_from(number % 65_536).unwrap();
        for port in [GTP_C, GTP_U] {
            let mut octets = Vec::new();
            assert!(emit_datagram(Teid(0), sequence, &echo, &mut octets));
            bench.peer_says(number, port, &octets);
            bench.peer_says(number, port, &number.to_be_bytes());
        }
        // G-PDUs for endpoints that nobody has.
        let header =
            GPdu { teid: Teid(number.wrapping_mul(0x9e37_79b9)), sequence: Some(1), npdu_number: None };
        let mut octets = vec![0; header.buffer_len()];
        assert!(header.emit(4, &mut octets));
        octets.extend([0x45; 4]);
        bench.peer_says(number, GTP_U, &octets);
    }
    assert_eq!(bench.kept_of_all(), before);
    assert_eq!(bench.around.frames.free(), FRAMES);
    bench.downlink(0, NSAPI, b"still there");
    assert_eq!(bench.hear(0).1[4..], *b"still there");
}

#[test]
fn answers_for_repeated_requests_have_a_limit_and_an_end() {
    let mut bench = Bench::attached(true);
    for number in 0..FLOOD {
        let request: GtpMessage =
            DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None }.into();
        let mut octets = Vec::new();
        let sequence = u16::try_from(number).unwrap();
        assert!(emit_datagram(Teid(number + 7), sequence, &request, &mut octets));
        bench.datagram(GTP_C, SocketAddr::new(stranger(number).ip(), 2123), &octets);
        bench.sent.clear();
    }
    assert!(bench.sgsn.gtp().answers() <= 1 << 14);
    assert_eq!(bench.sgsn.gtp().paths().len(), 1, "the GGSN alone");
    bench.silent_ggsn = true;
    bench.pass_secs(120);
    assert_eq!(bench.sgsn.gtp().answers(), 0);
}

#[test]
fn whoever_is_not_the_ggsn_of_a_tunnel_is_refused() {
    let mut bench = Bench::attached(true);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let before = bench.kept_of_all();
    for from in [OTHER_GGSN, stranger(1).ip()] {
        let request =
            DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None };
        bench.answer(from, teid, 77, request);
        let (to, _, message) = bench.next_control();
        let GtpMessage::DeleteResponse(response) = message else { panic!("{message:?}") };
        assert_eq!((to, response.cause), (from, GtpCause::NonExistent));
        assert_eq!(bench.mobile(0).bearers().count(), 1);
    }
    assert_eq!(bench.dropped(Drop::SgsnForeignGgsn), 2);
    // What it would need to be believed: the address.
    assert_eq!(bench.kept_of_all()[..9], before[..9]);
    let request = DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None };
    bench.answer(GGSN, teid, 78, request);
    let (_, _, message) = bench.next_control();
    assert!(
        matches!(message, GtpMessage::DeleteResponse(response) if response.cause == GtpCause::RequestAccepted)
    );
}

// ------------------------------------------------------------------------------------------------ the HLR

#[test]
fn a_hostile_hlr_fills_nothing() {
    let mut bench = with_hlr(|_| ());
    let before = bench.kept_of_all();
    for number in 0..FLOOD {
        say_of(&mut bench, some_imsi(number), Body::InsertSubscriberDataRequest(subscription("*", 9)));
        assert!(matches!(heard(&mut bench), Some(Body::InsertSubscriberDataError(_))));
        // What nobody has asked for.
        say_of(&mut bench, some_imsi(number), vectors(&[[1; 16]]));
        say_of(&mut bench, some_imsi(number), Body::UpdateLocationResult(subscription("*", 9)));
        say_of(
            &mut bench,
            some_imsi(number),
            Body::PurgeMsResult(PurgeResult { freeze_ptmsi: false, cn_domain: None }),
        );
    }
    assert_eq!(bench.kept_of_all(), before);
    // Of somebody who is here it fills his subscription, as far as that goes, and makes no session.
    attach_with_hlr(&mut bench);
    let before = bench.kept_of_all();
    let mut refused = 0;
    for context_id in 0..=255 {
        let mut data = subscription("*", 9);
        data.pdp_info_complete = false;
        data.pdp_infos[0].context_id = context_id;
        say_of(&mut bench, imsi(0), Body::InsertSubscriberDataRequest(data));
        refused += u32::from(matches!(heard(&mut bench), Some(Body::InsertSubscriberDataError(_))));
        say_of(&mut bench, imsi(0), vectors(&[[1; 16], [2; 16], [3; 16], [4; 16], [5; 16]]));
    }
    let subscriber = bench.mobile(0).subscriber().unwrap();
    assert_eq!((subscriber.data().pdp_infos().len(), subscriber.vectors()), (PDP_INFOS_MAX, 0));
    assert!(refused > 200, "{refused}");
    assert_eq!(bench.kept_of_all(), before);
}

#[test]
fn an_hlr_that_speaks_without_end_is_hung_up_on() {
    let mut bench = with_hlr(|_| ());
    // A message of 65,535 octets, in pieces that never end.
    let head = [0xff, 0xff, ipa::PROTOCOL_OSMO, ipa::EXTENSION_GSUP];
    octets(&mut bench, &head);
    assert!(!bench.sgsn.subscribers().hlr().unwrap().is_up(), "it is too long to be waited for");
    assert_eq!(bench.drops(), [(Drop::GsupDeadLink, 1)]);
    for _ in 0..1000 {
        octets(&mut bench, &[0x5a; 1000]);
    }
    assert_eq!(bench.around.frames.free(), FRAMES);
    // Another connection starts from the beginning.
    bench.input(Input::Stream { port: HLR, state: StreamState::Lost });
    bench.input(Input::Stream { port: HLR, state: StreamState::Connected });
    for ccm in [ipa::Ccm::IdGet(Vec::new()), ipa::Ccm::IdAck] {
        octets(&mut bench, &ccm.to_vec());
    }
    assert!(bench.sgsn.subscribers().hlr().unwrap().is_up());
}

#[test]
fn a_vector_that_was_used_is_refused() {
    let mut bench = with_hlr(|_| ());
    attach_with_hlr(&mut bench);
    // The HLR, or who plays it, sends the same vector when another one is asked for.
    assert_eq!(bench.authenticate(), Ok(()));
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    say_of(&mut bench, imsi(0), vectors(&[RAND]));
    assert!(bench.is_silent(), "no challenge");
    assert_eq!(bench.drops(), [(Drop::GsupVectorRefused, 1)]);
    // The mobile stays what it is, and the next order is followed.
    assert_eq!(bench.authenticate(), Ok(()));
    heard(&mut bench);
    say_of(&mut bench, imsi(0), vectors(&[[0x33; 16]]));
    let request = challenge(&mut bench);
    answer(&mut bench, &request, &mut card());
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    assert!(bench.is_silent());
}

// ------------------------------------------------------------------------------------------- by the operator

impl Bench {
    fn authenticate(&mut self) -> Result<(), OrderRefused> {
        let result = self.sgsn.authenticate_again(&mut self.around.context(), imsi(0));
        self.collect();
        result
    }
}

#[test]
fn orders_that_cannot_be_followed_say_why() {
    let mut bench = Bench::attached(false);
    assert_eq!(bench.authenticate(), Err(OrderRefused::NoAuthentication));
    let mut bench = with_hlr(|_| ());
    assert_eq!(bench.authenticate(), Err(OrderRefused::Unknown));
    attach_with_hlr(&mut bench);
    bench.pass_secs(60);
    bench.sent.clear();
    assert_eq!(bench.authenticate(), Ok(()), "it is paged for that");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
    let cx = &mut bench.around.context();
    assert_eq!(bench.sgsn.answer_location(cx, imsi(0), Ok(())), Err(OrderRefused::NotAwaited));
    assert_eq!(bench.sgsn.cancel_subscriber(cx, imsi(3), CancelType::Update), Err(OrderRefused::Unknown));
    assert_eq!(bench.sgsn.forget_subscriber(cx, imsi(3)), Err(OrderRefused::Unknown));
}

#[test]
fn an_operator_stands_in_for_the_hlr() {
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    // The HLR says nothing; the operator does.
    bench
        .sgsn
        .answer_location(&mut bench.around.context(), imsi(0), Err(GmmCause::RoamingNotAllowed))
        .unwrap();
    bench.collect();
    let GmmMessage::AttachReject(reject) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(reject.cause, GmmCause::RoamingNotAllowed);
    bench.phones[0].power_cycle(Tlli::random(5));
    let mut bench = with_hlr(|_| ());
    authenticated(&mut bench);
    bench.sgsn.answer_location(&mut bench.around.context(), imsi(0), Ok(())).unwrap();
    bench.collect();
    bench.accept_attach(0);
    // It withdraws the subscription.
    bench.sgsn.cancel_subscriber(&mut bench.around.context(), imsi(0), CancelType::Withdraw).unwrap();
    bench.collect();
    assert!(matches!(bench.hear_gmm(0), GmmMessage::DetachRequestMt(_)));
}

#[test]
fn all_is_forgotten_by_order() {
    let mut bench = with_hlr(|_| ());
    attach_with_hlr(&mut bench);
    bench.activate(0, NSAPI);
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(1))));
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    assert_eq!(bench.sgsn.forget_all(&mut bench.around.context()), 2);
    bench.collect();
    assert!(matches!(heard(&mut bench), Some(Body::PurgeMsRequest(_))), "who was located");
    bench.delete_answer(NSAPI);
    assert_eq!(bench.sgsn.leftovers(), []);
    assert_eq!(bench.sgsn.subscribers().waiting(), 0);
}
