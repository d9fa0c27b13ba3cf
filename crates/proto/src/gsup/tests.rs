//! An SGSN's entity and an HLR that a test plays: what it gets are messages, what it sends are octets.

use super::*;
use gannet_machine::time::Instant;
use gannet_machine::trace::Quiet;
use gannet_machine::{StreamState, Surroundings};
use gannet_wire::gsup::{AuthVectors, Cancel, DeleteData, PurgeResult, Triplet};
use gannet_wire::ipa::{self, Ccm, IdTag};

const PORT: Port = Port(3);

struct Sgsn {
    entity: GsupEntity,
    around: Surroundings<Quiet>,
    out: Batch<GsupOutput>,
}

/// What the entity has done.
#[derive(Debug, Default)]
struct Done {
    ccm: Vec<Ccm>,
    sent: Vec<Message>,
    confirms: Vec<(Imsi, GsupConfirm)>,
    indications: Vec<(GsupTransaction, GsupIndication)>,
    /// `true` up, `false` down.
    link: Vec<bool>,
    disconnects: usize,
}

fn imsi(number: u64) -> Imsi {
    format!("{}", 262_420_000_000_000 + number).parse().unwrap()
}

fn tuple(number: u8) -> AuthTuple {
    let triplet = Some(Triplet { sres: [number; 4], kc: [number; 8] });
    AuthTuple { rand: [number; 16], triplet, quintuplet: None }
}

fn subscription(cn_domain: Option<CnDomain>) -> Subscription {
    let (msisdn, hlr_number, pdp_infos, charging) = (None, None, Vec::new(), None);
    Subscription { msisdn, hlr_number, pdp_info_complete: true, pdp_infos, charging, cn_domain }
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

impl Sgsn {
    /// One whose link is not there.
    fn new(change: impl FnOnce(&mut GsupConfig)) -> Self {
        let mut config = GsupConfig::new(PORT, "SGSN-9", 7);
        change(&mut config);
        let around = Surroundings::new(1, 64, Quiet::default());
        Self { entity: GsupEntity::new(config), around, out: Batch::default() }
    }

    /// One whose link is up.
    fn up() -> Self {
        let mut sgsn = Self::new(|_| ());
        sgsn.connect();
        let done = sgsn.done();
        assert_eq!((done.link, done.ccm.len()), (vec![true], 2));
        sgsn
    }

    fn stream(&mut self, state: StreamState) {
        self.entity.stream(&mut self.around.context(), state, &mut self.out);
    }

    fn connect(&mut self) {
        self.stream(StreamState::Connected);
        self.ccm(&Ccm::IdGet(vec![IdTag::UnitId, IdTag::SerialNumber, IdTag::Location1]));
        self.ccm(&Ccm::IdAck);
    }

    fn octets(&mut self, octets: &[u8]) {
        self.entity.receive(&mut self.around.context(), octets, &mut self.out);
    }

    fn ccm(&mut self, ccm: &Ccm) {
        self.octets(&ccm.to_vec());
    }

    fn gsup(&mut self, content: &[u8]) {
        let mut octets = Vec::new();
        assert!(ipa::put_extension(ipa::EXTENSION_GSUP, content, &mut octets));
        self.octets(&octets);
    }

    fn hear(&mut self, imsi: Imsi, body: Body) {
        self.gsup(&Message::new(imsi, body).to_vec());
    }

    fn ask(&mut self, imsi: Imsi, request: GsupRequest) {
        self.entity.request(&mut self.around.context(), imsi, request, &mut self.out);
    }

    fn respond(&mut self, transaction: GsupTransaction, result: Result<(), GmmCause>) {
        self.entity.respond(&mut self.around.context(), transaction, result, &mut self.out);
    }

    fn pass(&mut self, span: Duration) {
        let until = self.around.now + span;
        while let Some(at) = self.around.timers.next().filter(|at| *at <= until) {
            self.around.now = at;
            let key = self.around.timers.pop_due(at).unwrap();
            assert!(self.entity.owns(key));
            self.entity.wake(&mut self.around.context(), key, &mut self.out);
        }
        self.around.now = until;
    }

    fn done(&mut self) -> Done {
        let mut done = Done::default();
        while let Some(output) = self.out.pop() {
            match output {
                GsupOutput::Transmit { port, frame } => {
                    assert_eq!(port, PORT);
                    let content = &frame[ipa::HEADER_LEN..];
                    if frame[2] == ipa::PROTOCOL_CCM {
                        done.ccm.push(Ccm::parse(content).unwrap());
                    } else {
                        done.sent.push(Message::parse(&content[1..]).unwrap());
                    }
                }
                GsupOutput::Disconnect(port) => {
                    assert_eq!(port, PORT);
                    done.disconnects += 1;
                }
                GsupOutput::Confirm(imsi, confirm) => done.confirms.push((imsi, confirm)),
                GsupOutput::Indication(transaction, indication) => {
                    done.indications.push((transaction, indication))
                }
                GsupOutput::LinkUp => done.link.push(true),
                GsupOutput::LinkDown => done.link.push(false),
            }
        }
        done
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }
}

fn kinds(messages: &[Message]) -> Vec<&'static str> {
    messages.iter().map(|message| message.body.name()).collect()
}

const VECTORS: GsupRequest = GsupRequest::AuthInfo { resync: None };

#[test]
fn identities_then_the_link_is_up() {
    let mut sgsn = Sgsn::new(|_| ());
    sgsn.stream(StreamState::Connected);
    assert!(!sgsn.entity.is_up() && sgsn.done().ccm.is_empty());
    // The HLR can't ask about subscribers before it knows us.
    sgsn.hear(imsi(1), Body::LocationCancelRequest(Cancel { cancel_type: None, cn_domain: None }));
    sgsn.ccm(&Ccm::IdGet(vec![IdTag::UnitId, IdTag::SerialNumber, IdTag::Location1]));
    let identities = [(IdTag::UnitId, "0/0/0"), (IdTag::SerialNumber, "SGSN-9"), (IdTag::Location1, "")];
    let identities = identities.map(|(tag, value)| (tag, value.as_bytes().to_vec())).to_vec();
    assert_eq!(sgsn.done().ccm, [Ccm::IdResp(identities), Ccm::IdAck]);
    assert!(!sgsn.entity.is_up());
    sgsn.ccm(&Ccm::IdAck);
    assert!(sgsn.entity.is_up());
    assert_eq!(sgsn.done().link, [true]);
    sgsn.ccm(&Ccm::IdResp(vec![]));
    assert_eq!(sgsn.drops(), [(Drop::GsupUnexpected, 2)]);
}

#[test]
fn each_procedure_and_its_refusal() {
    let mut sgsn = Sgsn::up();
    let who = imsi(1);
    let resync = Some(Resync { rand: [1; 16], auts: [2; 14] });
    sgsn.ask(who, GsupRequest::AuthInfo { resync });
    sgsn.ask(who, GsupRequest::UpdateLocation);
    sgsn.ask(who, GsupRequest::Purge);
    assert_eq!(sgsn.entity.outstanding(), 3);
    let sent = sgsn.done().sent;
    assert_eq!(kinds(&sent), ["SendAuthInfoRequest", "UpdateLocationRequest", "PurgeMsRequest"]);
    let Body::SendAuthInfoRequest(request) = &sent[0].body else { panic!("{sent:?}") };
    assert_eq!((request.rand, request.auts), (Some([1; 16]), Some([2; 14])));
    let cn_domain = None;
    sgsn.hear(who, Body::SendAuthInfoResult(AuthVectors { tuples: (0..9).map(tuple).collect(), cn_domain }));
    sgsn.hear(who, Body::UpdateLocationResult(subscription(None)));
    sgsn.hear(who, Body::PurgeMsResult(PurgeResult { freeze_ptmsi: true, cn_domain }));
    let mut done = sgsn.done();
    let vectors = (0..5).map(tuple).collect();
    let expected = [
        (who, GsupConfirm::AuthInfo(Ok(vectors))),
        (who, GsupConfirm::UpdateLocation(Ok(()))),
        (who, GsupConfirm::Purge(Ok(true))),
    ];
    assert_eq!(done.confirms, expected);
    // Data that came with the result; an answer to that interests nobody.
    let (transaction, indication) = done.indications.remove(0);
    assert_eq!(
        (transaction.imsi(), indication),
        (who, GsupIndication::InsertData(Box::new(subscription(None))))
    );
    sgsn.respond(transaction, Ok(()));
    assert!(sgsn.done().sent.is_empty() && sgsn.drops().is_empty());
    // Refusals, and an answer to nothing.
    let refusal = |cause| Refusal { cause, cn_domain };
    for request in [VECTORS, GsupRequest::UpdateLocation, GsupRequest::Purge, VECTORS] {
        sgsn.ask(who, request);
    }
    sgsn.done();
    sgsn.hear(who, Body::UpdateLocationError(refusal(GmmCause::PlmnNotAllowed)));
    sgsn.hear(who, Body::SendAuthInfoError(refusal(GmmCause::ImsiUnknownInHlr)));
    sgsn.hear(who, Body::PurgeMsError(refusal(GmmCause::ProtocolError)));
    sgsn.hear(who, Body::PurgeMsError(refusal(GmmCause::ProtocolError)));
    sgsn.ask(who, VECTORS);
    sgsn.hear(who, Body::SendAuthInfoResult(AuthVectors { tuples: vec![], cn_domain }));
    let refused = GsupFailure::Refused;
    let expected = [
        (who, GsupConfirm::UpdateLocation(Err(refused(GmmCause::PlmnNotAllowed)))),
        (who, GsupConfirm::AuthInfo(Err(refused(GmmCause::ImsiUnknownInHlr)))),
        (who, GsupConfirm::Purge(Err(refused(GmmCause::ProtocolError)))),
        (who, GsupConfirm::AuthInfo(Err(refused(GmmCause::GprsNotAllowed)))),
    ];
    assert_eq!(sgsn.done().confirms, expected);
    let drops = [(Drop::GsupUnexpected, 1), (Drop::GsupRefused, 4), (Drop::GsupRepeated, 1)];
    assert_eq!(sgsn.drops(), drops);
    assert_eq!(sgsn.entity.outstanding(), 0);
}

#[test]
fn what_the_hlr_asks_is_answered_where_it_asked() {
    let mut sgsn = Sgsn::up();
    let who = imsi(1);
    let cancel = |cn_domain| {
        Body::LocationCancelRequest(Cancel { cancel_type: Some(CancelType::Withdraw), cn_domain })
    };
    let insert = Body::InsertSubscriberDataRequest(subscription(Some(CnDomain::PacketSwitched)));
    sgsn.gsup(&Message { source: Some(b"HLR-2".to_vec()), ..Message::new(who, insert) }.to_vec());
    sgsn.hear(who, Body::DeleteSubscriberDataRequest(DeleteData { context_ids: vec![3], cn_domain: None }));
    sgsn.hear(who, cancel(None));
    let asked = sgsn.done().indications;
    let expected = [GsupIndication::DeleteData(vec![3]), GsupIndication::Cancel(CancelType::Withdraw)];
    assert_eq!([&asked[1].1, &asked[2].1], expected.each_ref());
    for ((transaction, _), result) in asked.into_iter().zip([Ok(()), Err(GmmCause::Congestion), Ok(())]) {
        sgsn.respond(transaction, result);
    }
    let sent = sgsn.done().sent;
    assert_eq!(
        kinds(&sent),
        ["InsertSubscriberDataResult", "DeleteSubscriberDataError", "LocationCancelResult"]
    );
    assert_eq!(sent[0].destination.as_deref(), Some(&b"HLR-2"[..]));
    assert_eq!(sent[1].destination, None);
    // For the other domain; too early for the next connection; what cannot be read.
    sgsn.hear(who, cancel(Some(CnDomain::CircuitSwitched)));
    assert_eq!(kinds(&sgsn.done().sent), ["LocationCancelError"]);
    sgsn.hear(who, cancel(None));
    let (transaction, _) = sgsn.done().indications.remove(0);
    sgsn.stream(StreamState::Lost);
    sgsn.connect();
    sgsn.done();
    sgsn.respond(transaction, Ok(()));
    sgsn.gsup(&[0x14, 1, 1, 0xf2, 0x10, 0]);
    let sent = sgsn.done().sent;
    let refusal = Refusal { cause: GmmCause::InvalidMandatoryInformation, cn_domain: None };
    assert_eq!(sent, [Message::new("2".parse().unwrap(), Body::DeleteSubscriberDataError(refusal))]);
    sgsn.gsup(&[0x77]);
    sgsn.ccm(&Ccm::Ping);
    assert_eq!(sgsn.done().ccm, [Ccm::Pong]);
    sgsn.octets(&[0, 1, 0xee, 9]);
    sgsn.octets(&[0, 1, 0x33, 9]);
    sgsn.octets(&[0, 1, 0xfe, 0x99]);
    let drops = [
        (Drop::GsupMalformed, 3),
        (Drop::GsupUnknownProtocol, 2),
        (Drop::GsupUnexpected, 1),
        (Drop::GsupLateResponse, 1),
    ];
    assert_eq!(sgsn.drops(), drops);
}

#[test]
fn what_cannot_be_read_is_answered_at_once() {
    let mut sgsn = Sgsn::up();
    let who: Imsi = "2".parse().unwrap();
    let unreadable = Err(GsupFailure::Unreadable);
    // Answers without what they must have: an error without its cause, vectors of which none is whole.
    for request in [VECTORS, GsupRequest::UpdateLocation, GsupRequest::Purge] {
        sgsn.ask(who, request);
    }
    sgsn.done();
    sgsn.gsup(&[0x0a, 1, 1, 0xf2, 3, 3, 0x20, 1, 0]);
    sgsn.gsup(&[0x05, 1, 1, 0xf2]);
    sgsn.gsup(&[0x0e, 1, 1, 0xf2, 7, 9]);
    let expected = [
        (who, GsupConfirm::AuthInfo(unreadable.map(|()| Vec::new()))),
        (who, GsupConfirm::UpdateLocation(unreadable)),
        (who, GsupConfirm::Purge(unreadable.map(|()| false))),
    ];
    assert_eq!((sgsn.done().confirms, sgsn.entity.outstanding()), (expected.to_vec(), 0));
    // Data that cannot be taken apart: the HLR is told, and so is who waits for them.
    sgsn.ask(who, GsupRequest::UpdateLocation);
    sgsn.done();
    sgsn.gsup(&[0x10, 1, 1, 0xf2, 5, 9]);
    let done = sgsn.done();
    assert_eq!(done.confirms, [(who, GsupConfirm::UpdateLocation(unreadable))]);
    assert_eq!(kinds(&done.sent), ["InsertSubscriberDataError"]);
    // Requests that are not for an SGSN, and one without a name here.
    sgsn.gsup(&[0x08, 1, 1, 0xf2]);
    sgsn.gsup(&[0x30, 1, 1, 0xf2]);
    // Nor is this one, but it asks nothing.
    sgsn.gsup(&[0x0b, 1, 1, 0xf2]);
    let told: Vec<Vec<u8>> = core::iter::from_fn(|| sgsn.out.pop())
        .filter_map(|output| match output {
            GsupOutput::Transmit { frame, .. } => Some(frame[ipa::HEADER_LEN + 1..].to_vec()),
            _ => None,
        })
        .collect();
    assert_eq!(told, [[0x09, 1, 1, 0xf2, 2, 1, 97], [0x31, 1, 1, 0xf2, 2, 1, 97]]);
    // One element that cannot be read: the data come without it.
    sgsn.gsup(&[0x10, 1, 1, 0xf2, 4, 0, 5, 5, 0x10, 1, 1, 0x13, 0]);
    let [(_, GsupIndication::InsertData(data))] = &sgsn.done().indications[..] else { panic!() };
    assert_eq!((data.pdp_infos.len(), data.pdp_info_complete), (1, true));
    let drops = [
        (Drop::GsupMalformed, 4),
        (Drop::GsupElementSkipped, 2),
        (Drop::GsupUnreadableAnswer, 4),
        (Drop::GsupUnexpected, 2),
    ];
    assert_eq!(sgsn.drops(), drops);
}

#[test]
fn limits() {
    let mut sgsn = Sgsn::new(|config| {
        config.request_limit = 2;
        config.indication_limit = 2;
    });
    sgsn.connect();
    for number in 0..3 {
        sgsn.ask(imsi(number), VECTORS);
        sgsn.hear(
            imsi(number),
            Body::DeleteSubscriberDataRequest(DeleteData { context_ids: vec![], cn_domain: None }),
        );
    }
    let mut done = sgsn.done();
    assert_eq!(done.confirms, [(imsi(2), GsupConfirm::AuthInfo(Err(GsupFailure::TooMany)))]);
    let Some(Body::DeleteSubscriberDataError(refusal)) = done.sent.last().map(|message| &message.body) else {
        panic!("{done:?}")
    };
    assert_eq!((refusal.cause, done.indications.len()), (GmmCause::Congestion, 2));
    // One that was answered makes room for another.
    sgsn.respond(done.indications.remove(0).0, Ok(()));
    sgsn.hear(imsi(5), Body::LocationCancelRequest(Cancel { cancel_type: None, cn_domain: None }));
    assert_eq!(sgsn.done().indications.len(), 1);
    // The same again costs nothing; with other parameters it is refused.
    sgsn.ask(imsi(0), VECTORS);
    sgsn.ask(imsi(0), GsupRequest::AuthInfo { resync: Some(Resync { rand: [0; 16], auts: [0; 14] }) });
    let done = sgsn.done();
    assert_eq!(done.confirms, [(imsi(0), GsupConfirm::AuthInfo(Err(GsupFailure::Busy)))]);
    assert!(done.sent.is_empty());
    // A message that is too long.
    sgsn.octets(&[0xff, 0xff, 0xee]);
    let done = sgsn.done();
    assert_eq!((done.disconnects, done.link), (1, vec![false]));
    let drops = [
        (Drop::GsupDeadLink, 1),
        (Drop::GsupRepeated, 2),
        (Drop::GsupTooManyRequests, 1),
        (Drop::GsupTooManyIndications, 1),
    ];
    assert_eq!(sgsn.drops(), drops);
}

#[test]
fn a_link_that_does_not_answer_is_given_up() {
    let mut sgsn = Sgsn::up();
    sgsn.pass(secs(20));
    assert_eq!(sgsn.done().ccm, [Ccm::Ping]);
    sgsn.ccm(&Ccm::Pong);
    sgsn.pass(secs(20));
    assert_eq!(sgsn.done().ccm, [Ccm::Ping]);
    sgsn.pass(secs(5));
    let done = sgsn.done();
    assert_eq!((done.disconnects, done.link), (1, vec![false]));
    // The driver says so too; what was on its way is of no interest.
    sgsn.ccm(&Ccm::Ping);
    sgsn.stream(StreamState::Lost);
    let done = sgsn.done();
    assert!(done.ccm.is_empty() && done.link.is_empty());
    // Nobody who introduces himself.
    sgsn.stream(StreamState::Connected);
    sgsn.pass(secs(5));
    assert_eq!(sgsn.done().disconnects, 1);
    assert_eq!(sgsn.drops(), [(Drop::GsupDeadLink, 2)]);
    assert!(sgsn.around.timers.len() <= 2, "nothing ticks without a link");
}

#[test]
fn requests_are_repeated_on_the_next_link_in_their_order() {
    let mut sgsn = Sgsn::up();
    sgsn.ask(imsi(1), GsupRequest::Purge);
    sgsn.ask(imsi(2), GsupRequest::Purge);
    sgsn.ask(imsi(3), VECTORS);
    sgsn.ask(imsi(4), GsupRequest::UpdateLocation);
    sgsn.done();
    sgsn.stream(StreamState::Lost);
    // The first is back before its purge is through.
    sgsn.ask(imsi(1), GsupRequest::UpdateLocation);
    sgsn.entity.report_auth_failure(&mut sgsn.around.context(), imsi(8), &mut sgsn.out);
    let done = sgsn.done();
    assert_eq!(done.confirms, [(imsi(1), GsupConfirm::Purge(Err(GsupFailure::Superseded)))]);
    assert_eq!((done.link, done.sent.len()), (vec![false], 0));
    sgsn.pass(secs(4));
    sgsn.connect();
    let sent = sgsn.done().sent;
    let whose: Vec<Imsi> = sent.iter().map(|message| message.imsi).collect();
    assert_eq!(whose, [imsi(2), imsi(3), imsi(4), imsi(1)]);
    let expected =
        ["PurgeMsRequest", "SendAuthInfoRequest", "UpdateLocationRequest", "UpdateLocationRequest"];
    assert_eq!(kinds(&sent), expected);
    // The guard time goes on from the first try.
    sgsn.pass(secs(11));
    let confirms = sgsn.done().confirms;
    assert_eq!(confirms.len(), 4);
    assert_eq!(confirms[0], (imsi(2), GsupConfirm::Purge(Err(GsupFailure::NoAnswer))));
    sgsn.entity.report_auth_failure(&mut sgsn.around.context(), imsi(8), &mut sgsn.out);
    assert_eq!(kinds(&sgsn.done().sent), ["AuthFailureReport"]);
    let drops = [(Drop::GsupNoAnswer, 4), (Drop::GsupLinkDown, 1), (Drop::GsupSuperseded, 1)];
    assert_eq!(sgsn.drops(), drops);
}

#[test]
fn nobody_waits_long_for_a_link_that_is_away() {
    let mut sgsn = Sgsn::new(|_| ());
    sgsn.ask(imsi(1), VECTORS);
    sgsn.pass(secs(4));
    sgsn.ask(imsi(2), GsupRequest::UpdateLocation);
    assert!(sgsn.done().confirms.is_empty());
    sgsn.pass(secs(1));
    let down = GsupFailure::LinkDown;
    let expected =
        [(imsi(1), GsupConfirm::AuthInfo(Err(down))), (imsi(2), GsupConfirm::UpdateLocation(Err(down)))];
    assert_eq!(sgsn.done().confirms, expected);
    sgsn.ask(imsi(3), VECTORS);
    assert_eq!(sgsn.done().confirms, [(imsi(3), GsupConfirm::AuthInfo(Err(down)))]);
    // Back again it serves again, and when it goes requests wait again.
    sgsn.connect();
    sgsn.ask(imsi(3), VECTORS);
    assert_eq!(sgsn.done().sent.len(), 1);
    sgsn.stream(StreamState::Lost);
    assert_eq!((sgsn.done().confirms.len(), sgsn.entity.outstanding()), (0, 1));
    sgsn.pass(secs(5));
    assert_eq!(sgsn.done().confirms, [(imsi(3), GsupConfirm::AuthInfo(Err(down)))]);
    assert_eq!(sgsn.drops(), [(Drop::GsupLinkDown, 4)]);
}

#[test]
fn a_stream_in_single_octets_and_without_frames() {
    let mut sgsn = Sgsn::up();
    let held: Vec<Frame> = core::iter::from_fn(|| sgsn.around.frames.alloc()).collect();
    sgsn.ask(imsi(1), VECTORS);
    assert_eq!(sgsn.drops(), [(Drop::NoFrame, 1)]);
    drop(held);
    let vectors = AuthVectors { tuples: vec![tuple(1)], cn_domain: None };
    let mut octets = Vec::new();
    let content = Message::new(imsi(1), Body::SendAuthInfoResult(vectors)).to_vec();
    assert!(ipa::put_extension(ipa::EXTENSION_GSUP, &content, &mut octets));
    octets.iter().for_each(|octet| sgsn.octets(&[*octet]));
    assert_eq!(sgsn.done().confirms, [(imsi(1), GsupConfirm::AuthInfo(Ok(vec![tuple(1)])))]);
    assert_eq!(sgsn.around.now, Instant::ZERO);
}
