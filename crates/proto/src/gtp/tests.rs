//! Two GSNs, each with its own clock, dice and counters, and the datagrams between them as values.

mod lost_paths;

use super::*;
use core::net::Ipv4Addr;
use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_wire::gtp::header::{ExtensionHeader, Header, Repr, message_type};
use gannet_wire::gtp::v1c::{DeleteRequest, DeleteResponse, EchoRequest, EchoResponse};
use gannet_wire::gtp::{PORT_CONTROL, PORT_USER, PORT_V0};
use gannet_wire::id::Nsapi;

const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const CONTROL: Port = Port(1);
const USER: Port = Port(2);
const V0: Port = Port(3);

struct Gsn {
    entity: GtpEntity,
    around: Surroundings<Quiet>,
    out: Batch<GtpOutput>,
}

impl Gsn {
    fn new(address: IpAddr, change: impl FnOnce(&mut GtpConfig)) -> Self {
        let mut config = GtpConfig::new(Role::Ggsn, [CONTROL, USER, V0], address, 9);
        change(&mut config);
        let around = Surroundings::new(1, 64, Quiet::default());
        Self { entity: GtpEntity::new(config), around, out: Batch::default() }
    }

    fn open(&mut self, peer: IpAddr, recovery: Option<u8>) -> GtpTunnel {
        let ends = ((peer, Teid(0xc)), (peer, Teid(0xd)));
        let recovery = recovery.map(|counter| (peer, counter));
        self.entity.open(&mut self.around.context(), Version::V1, ends.0, ends.1, recovery).unwrap()
    }

    fn ask(&mut self, user: u64, peer: IpAddr, message: &Message) -> Option<u16> {
        self.entity.request(
            &mut self.around.context(),
            user,
            peer,
            Endpoint::Teid(Teid(5)),
            message,
            &mut self.out,
        )
    }

    fn receive(&mut self, from: IpAddr, port: Port, octets: &[u8]) -> Option<ReceivedGPdu> {
        let frame = self.around.frames.copy_of(octets).unwrap();
        let mut cx = self.around.context();
        if port == CONTROL {
            let peer = Peer::Udp(SocketAddr::new(from, PORT_CONTROL));
            self.entity.receive_control(&mut cx, peer, &frame, &mut self.out);
            return None;
        }
        if port == V0 {
            let peer = Peer::Udp(SocketAddr::new(from, PORT_V0));
            return self.entity.receive_v0(&mut cx, peer, frame, &mut self.out);
        }
        let peer = Peer::Udp(SocketAddr::new(from, PORT_USER));
        self.entity.receive_user(&mut cx, peer, frame, &mut self.out)
    }

    /// Lets time pass until `until` and gives the entity its wake-ups.
    fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.around.timers.next().filter(|at| *at <= until) {
            self.around.now = at;
            let key = self.around.timers.pop_due(at).unwrap();
            assert!(self.entity.owns(key));
            self.entity.wake(&mut self.around.context(), key, &mut self.out);
        }
        self.around.now = until;
    }

    /// What the entity wants to be sent, and what it tells.
    fn outputs(&mut self) -> (Vec<(Port, Vec<u8>)>, Vec<GtpOutput>) {
        let (mut sent, mut told) = (Vec::new(), Vec::new());
        while let Some(output) = self.out.pop() {
            match output {
                GtpOutput::Transmit { port, frame, .. } => sent.push((port, frame.to_vec())),
                other => told.push(other),
            }
        }
        (sent, told)
    }

    fn sent(&mut self) -> Vec<(Port, Vec<u8>)> {
        let (sent, told) = self.outputs();
        assert!(told.is_empty(), "{told:?}");
        sent
    }

    fn told(&mut self) -> Vec<GtpOutput> {
        let (sent, told) = self.outputs();
        assert!(sent.is_empty(), "{sent:?}");
        told
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }
}

fn tid() -> Tid {
    Tid { imsi: "240010123456789".parse().unwrap(), nsapi: Nsapi(5) }
}

fn delete_request() -> Message {
    DeleteRequest { teardown: None, nsapi: Nsapi(5), pco: None, private_extension: None }.into()
}

fn delete_response() -> Message {
    DeleteResponse { cause: Cause::RequestAccepted, pco: None, private_extension: None }.into()
}

fn datagram(message: impl Into<Message>, sequence: u16) -> Vec<u8> {
    let mut octets = Vec::new();
    assert!(v1c::emit_datagram(Teid(0), sequence, &message.into(), &mut octets));
    octets
}

fn messages(sent: &[(Port, Vec<u8>)]) -> Vec<(Port, u8)> {
    sent.iter().map(|(port, octets)| (*port, Header::parse(octets).unwrap().message)).collect()
}

#[test]
fn a_request_its_repetition_and_its_response() {
    let (mut sgsn, mut ggsn) = (Gsn::new(SGSN, |_| ()), Gsn::new(GGSN, |_| ()));
    sgsn.ask(77, GGSN, &delete_request()).unwrap();
    let request = sgsn.sent().remove(0).1;
    ggsn.receive(SGSN, CONTROL, &request);
    let told = ggsn.told();
    let [GtpOutput::Request { transaction, endpoint: Endpoint::Teid(Teid(5)), message }] = told.as_slice()
    else {
        panic!("{told:?}")
    };
    assert_eq!(**message, delete_request());
    // Repeated while the node works at it: nothing happens. Repeated after that: the same answer.
    ggsn.receive(SGSN, CONTROL, &request);
    assert!(ggsn.sent().is_empty());
    let mut cx = ggsn.around.context();
    ggsn.entity.respond(&mut cx, transaction, Teid(6), &delete_response(), &mut ggsn.out);
    let response = ggsn.sent();
    ggsn.receive(SGSN, CONTROL, &request);
    assert_eq!(ggsn.sent(), response);
    assert_eq!(ggsn.drops(), [(Drop::GtpRepeatedRequest, 2)]);
    // A new request under the old number is not a repetition.
    let mut other = request.clone();
    other[7] ^= 1;
    ggsn.receive(SGSN, CONTROL, &other);
    assert_eq!(ggsn.told().len(), 1);
    // The response counts once, and only from him who was asked.
    sgsn.receive(SGSN, CONTROL, &response[0].1);
    sgsn.receive(GGSN, CONTROL, &response[0].1);
    sgsn.receive(GGSN, CONTROL, &response[0].1);
    let told = sgsn.told();
    let [
        GtpOutput::Response { user: 77, peer: GGSN, asked: GGSN, version: Version::V1, message: Ok(message) },
    ] = told.as_slice()
    else {
        panic!("{told:?}")
    };
    assert_eq!(**message, delete_response());
    assert_eq!(sgsn.drops(), [(Drop::GtpUnexpectedResponse, 2)]);
    // Nothing is left when the time is over.
    sgsn.run_until(Instant::ZERO + Duration::from_secs(100));
    ggsn.run_until(Instant::ZERO + Duration::from_secs(100));
    assert_eq!((sgsn.entity.outstanding(), ggsn.entity.answers()), (0, 0));
    assert!(sgsn.sent().is_empty() && ggsn.sent().is_empty());
    assert!(ggsn.around.timers.is_empty());
}

#[test]
fn a_request_that_nobody_answers() {
    let mut sgsn = Gsn::new(SGSN, |config| config.n3_requests = 4);
    sgsn.ask(1, GGSN, &delete_request()).unwrap();
    let first = sgsn.sent();
    for n in 1..4 {
        sgsn.run_until(Instant::ZERO + Duration::from_secs(5 * n));
        assert_eq!(sgsn.sent(), first);
    }
    sgsn.run_until(Instant::ZERO + Duration::from_secs(20));
    assert!(matches!(sgsn.told().as_slice(), [GtpOutput::TimedOut { user: 1 }]));
    assert_eq!((sgsn.entity.outstanding(), sgsn.drops()), (0, vec![(Drop::GtpNoResponse, 1)]));
}

#[test]
fn a_cancelled_request_and_too_many() {
    let mut sgsn = Gsn::new(SGSN, |config| config.request_limit = 1);
    let sequence = sgsn.ask(1, GGSN, &delete_request()).unwrap();
    assert_eq!(sgsn.ask(2, GGSN, &delete_request()), None);
    assert_eq!(sgsn.drops(), [(Drop::GtpTooManyRequests, 1)]);
    assert!(sgsn.entity.cancel(sequence, 1));
    assert!(sgsn.ask(3, GGSN, &delete_request()).is_some());
    assert_eq!(sgsn.sent().len(), 2);
}

#[test]
fn a_response_that_cannot_be_read_still_ends_the_request() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    let sequence = sgsn.ask(4, GGSN, &delete_request()).unwrap();
    sgsn.sent();
    let mut response = datagram(delete_response(), sequence);
    response.truncate(12);
    response[3] = 4;
    sgsn.receive(GGSN, CONTROL, &response);
    let told = sgsn.told();
    assert!(matches!(told.as_slice(), [GtpOutput::Response { user: 4, message: Err(_), .. }]), "{told:?}");
    assert_eq!(sgsn.drops(), [(Drop::GtpMalformed, 1)]);
}

#[test]
fn paths_are_tested_fail_and_come_back() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    let tunnel = sgsn.open(GGSN, Some(7));
    sgsn.run_until(Instant::ZERO + Duration::from_secs(60));
    let echoes = sgsn.sent();
    assert_eq!(messages(&echoes), [(CONTROL, 1), (USER, 1)]);
    for (port, octets) in &echoes {
        let sequence = Header::parse(octets).unwrap().sequence.unwrap();
        sgsn.receive(GGSN, *port, &datagram(EchoResponse { recovery: 7, private_extension: None }, sequence));
    }
    assert!(sgsn.told().is_empty());
    // The next ones are lost: failure is told once a plane.
    sgsn.run_until(Instant::ZERO + Duration::from_secs(134));
    assert_eq!(sgsn.outputs().0.len(), 6);
    sgsn.run_until(Instant::ZERO + Duration::from_secs(179));
    let told = sgsn.told();
    assert!(
        matches!(
            told.as_slice(),
            [
                GtpOutput::PathFailed { path: 0, plane: Plane::Control, .. },
                GtpOutput::PathFailed { path: 0, plane: Plane::User, .. },
            ]
        ),
        "{told:?}"
    );
    sgsn.run_until(Instant::ZERO + Duration::from_secs(180));
    let (port, echo) = sgsn.sent().remove(0);
    let sequence = Header::parse(&echo).unwrap().sequence.unwrap();
    sgsn.receive(GGSN, port, &datagram(EchoResponse { recovery: 8, private_extension: None }, sequence));
    let told = sgsn.told();
    assert!(
        matches!(
            told.as_slice(),
            [GtpOutput::PeerRestarted { path: 0, .. }, GtpOutput::PathRestored { plane: Plane::Control, .. }]
        ),
        "{told:?}"
    );
    // Without tunnels nobody is tested.
    sgsn.entity.close(tunnel);
    assert!(sgsn.entity.paths().is_empty());
    sgsn.run_until(Instant::ZERO + Duration::from_secs(1000));
    assert_eq!(sgsn.entity.outstanding(), 0);
    assert!(sgsn.around.timers.is_empty());
}

#[test]
fn no_echo_where_it_is_switched_off() {
    let mut sgsn = Gsn::new(SGSN, |config| config.echo_interval = Duration::ZERO);
    sgsn.open(GGSN, None);
    sgsn.run_until(Instant::ZERO + Duration::from_secs(1000));
    assert!(sgsn.sent().is_empty());
}

#[test]
fn each_peer_has_its_own_interval() {
    let seconds = Duration::from_secs;
    let mut sgsn = Gsn::new(SGSN, |config| {
        config.echo_interval = Duration::ZERO;
        config.echo_intervals = vec![(GGSN, seconds(70))];
    });
    sgsn.open(GGSN, None);
    sgsn.run_until(Instant::ZERO + seconds(69));
    assert!(sgsn.sent().is_empty());
    sgsn.run_until(Instant::ZERO + seconds(70));
    assert_eq!(messages(&sgsn.sent()), [(CONTROL, 1), (USER, 1)]);
    let mut sgsn = Gsn::new(SGSN, |config| config.echo_intervals = vec![(GGSN, Duration::ZERO)]);
    sgsn.open(GGSN, None);
    sgsn.run_until(Instant::ZERO + seconds(1000));
    assert!(sgsn.sent().is_empty());
}

#[test]
fn echo_is_answered_on_both_planes() {
    let mut ggsn = Gsn::new(GGSN, |config| config.restart_counter = 42);
    for port in [CONTROL, USER] {
        ggsn.receive(SGSN, port, &datagram(EchoRequest { private_extension: None }, 0x1234));
        let sent = ggsn.sent();
        assert_eq!(sent, [(port, datagram(EchoResponse { recovery: 42, private_extension: None }, 0x1234))]);
    }
    assert!(ggsn.entity.paths().is_empty());
}

#[test]
fn t_pdus_through_a_tunnel() {
    let (mut sgsn, mut ggsn) = (Gsn::new(SGSN, |_| ()), Gsn::new(GGSN, |_| ()));
    let mut tunnel = sgsn.open(GGSN, None);
    for n in 0..3 {
        let frame = sgsn.around.frames.copy_of(b"T-PDU").unwrap();
        tunnel.sequenced = n < 2;
        sgsn.entity.send_user(&mut sgsn.around.context(), tid(), &mut tunnel, frame, &mut sgsn.out);
        let (port, octets) = sgsn.sent().remove(0);
        let received = ggsn.receive(SGSN, port, &octets).unwrap();
        assert_eq!((received.endpoint, received.sequence), (Endpoint::Teid(Teid(0xd)), (n < 2).then_some(n)));
        assert_eq!(&*received.frame, b"T-PDU");
    }
    // The path is gone, or the frame is too full.
    let mut frame = sgsn.around.frames.copy_of(b"T-PDU").unwrap();
    assert!(frame.push(frame.headroom()).is_some());
    sgsn.entity.send_user(&mut sgsn.around.context(), tid(), &mut tunnel, frame, &mut sgsn.out);
    sgsn.entity.close(tunnel);
    let frame = sgsn.around.frames.copy_of(b"T-PDU").unwrap();
    sgsn.entity.send_user(&mut sgsn.around.context(), tid(), &mut tunnel, frame, &mut sgsn.out);
    assert!(sgsn.sent().is_empty());
    assert_eq!(sgsn.drops(), [(Drop::GtpNoPath, 1), (Drop::GtpNoHeadroom, 1)]);
    assert_eq!(sgsn.around.frames.free(), sgsn.around.frames.capacity());
}

#[test]
fn error_indications_are_limited_and_name_a_path() {
    let mut ggsn = Gsn::new(GGSN, |config| config.answers_per_second = 1);
    let from = Peer::Udp(SocketAddr::new(SGSN, 40_000));
    for _ in 0..100 {
        ggsn.entity.unknown_endpoint(
            &mut ggsn.around.context(),
            from,
            (Endpoint::Teid(Teid(9)), false),
            &mut ggsn.out,
        );
    }
    let sent = ggsn.sent();
    assert_eq!(sent.len(), 10);
    assert_eq!(ggsn.drops(), [(Drop::GtpUnknownTeid, 100), (Drop::GtpErrorIndicationLimited, 90)]);
    let (port, indication) = &sent[0];
    let header = Header::parse(indication).unwrap();
    assert_eq!((*port, header.message, header.teid), (USER, message_type::ERROR_INDICATION, Teid(0)));

    let mut sgsn = Gsn::new(SGSN, |_| ());
    sgsn.receive(GGSN, USER, indication);
    assert_eq!(sgsn.drops(), [(Drop::GtpUnexpectedErrorIndication, 1)]);
    sgsn.open(GGSN, None);
    sgsn.receive(GGSN, USER, indication);
    let told = sgsn.told();
    assert!(
        matches!(
            told.as_slice(),
            [GtpOutput::ErrorIndication { path: 0, endpoint: Endpoint::Teid(Teid(9)), .. }]
        ),
        "{told:?}"
    );
    // Whether a stranger is believed depends upon the tunnel, which the node has.
    let stranger = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));
    sgsn.receive(stranger, USER, indication);
    assert!(matches!(sgsn.told()[..], [GtpOutput::ErrorIndication { peer, .. }] if peer == stranger));
    assert_eq!(sgsn.drops(), [(Drop::GtpUnexpectedErrorIndication, 1)]);
}

#[test]
fn a_restarted_peer_is_told_before_its_request() {
    let mut ggsn = Gsn::new(GGSN, |_| ());
    ggsn.open(SGSN, Some(1));
    let mut request = v1c::UpdateRequest::new(Nsapi(5));
    request.recovery = Some(2);
    ggsn.receive(SGSN, CONTROL, &datagram(request, 1));
    let told = ggsn.told();
    assert!(
        matches!(told.as_slice(), [GtpOutput::PeerRestarted { peer: SGSN, .. }, GtpOutput::Request { .. }]),
        "{told:?}"
    );
}

#[test]
fn a_malformed_request_is_the_nodes_to_refuse() {
    let mut ggsn = Gsn::new(GGSN, |_| ());
    let mut octets = Vec::new();
    let repr =
        Repr { message: message_type::CREATE_REQUEST, teid: Teid(0), sequence: Some(3), npdu_number: None };
    octets.resize(12, 0);
    let payload = [16, 0, 0, 0, 1, 17, 0, 0, 0, 2];
    assert!(repr.emit(payload.len(), &mut octets));
    octets.extend(payload);
    ggsn.receive(SGSN, CONTROL, &octets);
    let told = ggsn.told();
    let [
        GtpOutput::Malformed {
            transaction,
            endpoint: Endpoint::Teid(Teid(0)),
            reply_to: Some(Teid(2)),
            cause,
        },
    ] = told.as_slice()
    else {
        panic!("{told:?}")
    };
    assert_eq!(*cause, Cause::MandatoryIeMissing);
    let mut cx = ggsn.around.context();
    ggsn.entity.refuse(&mut cx, transaction, Teid(2), *cause, &mut ggsn.out);
    let (_, response) = ggsn.sent().remove(0);
    let header = Header::parse(&response).unwrap();
    assert_eq!((header.message, header.teid, header.sequence), (17, Teid(2), Some(3)));
    assert_eq!(header.payload(&response), [1, 202]);
}

#[test]
fn what_is_not_understood() {
    let mut ggsn = Gsn::new(GGSN, |_| ());
    // Version 0 and 2 are told our version; our own message of that kind, GTP' and garbage are not.
    for octets in [[0x1e, 1, 0, 0, 0, 0, 0, 0], [0x48, 1, 0, 4, 0, 0, 0, 0]] {
        ggsn.receive(SGSN, CONTROL, &octets);
        assert_eq!(messages(&ggsn.sent()), [(CONTROL, message_type::VERSION_NOT_SUPPORTED)]);
    }
    for octets in [&[0x1e, 3, 0, 0, 0, 0, 0, 0][..], &[0x2e, 1, 0, 0, 0, 0, 0, 0], &[0x1e], &[], b"garbage"] {
        ggsn.receive(SGSN, CONTROL, octets);
        ggsn.receive(SGSN, USER, octets);
    }
    ggsn.receive(SGSN, CONTROL, &datagram(v1c::VersionNotSupported {}, 0));
    // Unknown messages, messages of the other plane, and a response that nobody waits for.
    ggsn.receive(SGSN, CONTROL, &[0x30, 99, 0, 0, 0, 0, 0, 0]);
    ggsn.receive(SGSN, CONTROL, &[0x30, 255, 0, 0, 0, 0, 0, 0]);
    ggsn.receive(SGSN, USER, &datagram(delete_request(), 1));
    ggsn.receive(SGSN, CONTROL, &datagram(delete_response(), 1));
    ggsn.receive(SGSN, USER, &[0x30, message_type::ERROR_INDICATION, 0, 0, 0, 0, 0, 0]);
    assert!(ggsn.sent().is_empty());
    assert_eq!(
        ggsn.drops(),
        [
            (Drop::GtpMalformed, 3),
            (Drop::GtpVersion, 10),
            (Drop::GtpUnknownMessage, 3),
            (Drop::GtpUnexpectedResponse, 3),
        ]
    );
}

#[test]
fn an_extension_header_that_must_be_known() {
    let mut ggsn = Gsn::new(GGSN, |_| ());
    let repr = |message| Repr { message, teid: Teid(1), sequence: Some(1), npdu_number: None };
    let unknown = [ExtensionHeader { kind: 0x90, content: &[0, 0] }];
    let mut octets = Vec::new();
    assert!(repr(255).emit_extended(&unknown, b"T-PDU", &mut octets));
    assert!(ggsn.receive(SGSN, USER, &octets).is_none());
    assert_eq!(messages(&ggsn.sent()), [(USER, message_type::SUPPORTED_EXTENSION_HEADERS)]);
    octets.clear();
    assert!(repr(message_type::DELETE_REQUEST).emit_extended(&unknown, &[20, 5], &mut octets));
    ggsn.receive(SGSN, CONTROL, &octets);
    let (sent, told) = ggsn.outputs();
    assert_eq!(messages(&sent), [(CONTROL, message_type::SUPPORTED_EXTENSION_HEADERS)]);
    let cause = Cause::UnknownMandatoryExtensionHeader;
    assert!(matches!(told.as_slice(), [GtpOutput::Malformed { cause: c, .. }] if *c == cause), "{told:?}");
    assert_eq!(ggsn.drops(), [(Drop::GtpExtensionHeader, 2)]);
    // One that need not be known does no harm.
    octets.clear();
    let optional = [ExtensionHeader { kind: 0x40, content: &[0, 0] }];
    assert!(repr(255).emit_extended(&optional, b"T-PDU", &mut octets));
    assert_eq!(&*ggsn.receive(SGSN, USER, &octets).unwrap().frame, b"T-PDU");
}

#[test]
fn a_full_table_of_paths() {
    let mut ggsn = Gsn::new(GGSN, |config| config.path_limit = 1);
    ggsn.open(SGSN, None);
    let other = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
    let mut cx = ggsn.around.context();
    assert!(ggsn.entity.open(&mut cx, Version::V1, (SGSN, Teid(1)), (other, Teid(1)), None).is_none());
    assert_eq!(ggsn.entity.paths().get(0).unwrap().control.tunnels, 1);
    assert_eq!(ggsn.drops(), [(Drop::GtpPathTableFull, 1)]);
}

#[test]
fn without_a_free_frame_nothing_is_sent_and_the_request_goes_on() {
    let mut sgsn = Gsn::new(SGSN, |_| ());
    let held: Vec<Frame> = core::iter::from_fn(|| sgsn.around.frames.alloc()).collect();
    sgsn.ask(1, GGSN, &delete_request()).unwrap();
    assert!(sgsn.sent().is_empty());
    drop(held);
    sgsn.run_until(Instant::ZERO + Duration::from_secs(5));
    assert_eq!(sgsn.sent().len(), 1);
    assert_eq!(sgsn.drops(), [(Drop::NoFrame, 1)]);
}

/// What a node sends to itself would come back, and go round until its hop count ends.
#[test]
fn a_tunnel_to_the_node_itself_carries_nothing() {
    let second: IpAddr = "2001:db8::2".parse().unwrap();
    let mut ggsn = Gsn::new(GGSN, |config| {
        config.second = Some(SecondAddress { address: second, ports: [Port(4), Port(5)] });
    });
    let tid = Tid { imsi: "24001".parse().unwrap(), nsapi: Nsapi(5) };
    for (peer, is_sent) in [(GGSN, false), (second, false), (SGSN, true)] {
        let mut tunnel = ggsn.open(peer, None);
        let frame = ggsn.around.frames.copy_of(&[0x45; 20]).unwrap();
        let mut cx = ggsn.around.context();
        let sent = ggsn.entity.send_user(&mut cx, tid, &mut tunnel, frame, &mut ggsn.out);
        assert_eq!(sent, is_sent, "{peer}");
    }
    assert_eq!(ggsn.around.trace.drops.get(Drop::GtpOwnAddress), 2);
}

/// The answer to another version has the number of what it answers, so that its sender knows.
#[test]
fn version_not_supported_names_its_request() {
    let mut ggsn = Gsn::new(GGSN, |_| ());
    let v0 = [&[0x1e, 1, 0, 0, 0x12, 0x34, 0, 0, 0xff, 0xff, 0xff, 0xff][..], &[0; 8]].concat();
    let v2 = vec![0x40, 1, 0, 9, 0, 0x12, 0x34, 0, 3, 0, 1, 0, 7];
    let v2_of_tunnel = vec![0x48, 32, 0, 8, 0, 0, 0, 0, 0, 0x12, 0x34, 0];
    for octets in [v0, v2, v2_of_tunnel] {
        ggsn.receive(SGSN, CONTROL, &octets);
        let (sent, _) = ggsn.outputs();
        let header = Header::parse(&sent[0].1).unwrap();
        assert_eq!((header.message, header.sequence), (message_type::VERSION_NOT_SUPPORTED, Some(0x1234)));
    }
}

/// A tunnel to a mobile behind the node leads back into the node, and a mobile is no peer.
#[test]
fn mobiles_behind_the_node_are_no_peers() {
    let mobile: IpAddr = Ipv4Addr::new(10, 0, 0, 2).into();
    let mut ggsn = Gsn::new(GGSN, |config| config.inside = Inside::new([(mobile, 24)]));
    let tid = Tid { imsi: "24001".parse().unwrap(), nsapi: Nsapi(5) };
    for (peer, is_sent) in [(mobile, false), (Ipv4Addr::new(10, 0, 1, 2).into(), true)] {
        assert_eq!(ggsn.entity.is_reachable(peer), is_sent);
        let mut tunnel = ggsn.open(peer, None);
        let frame = ggsn.around.frames.copy_of(&[0x45; 20]).unwrap();
        let mut cx = ggsn.around.context();
        let sent = ggsn.entity.send_user(&mut cx, tid, &mut tunnel, frame, &mut ggsn.out);
        assert_eq!(sent, is_sent, "{peer}");
    }
    ggsn.outputs();
    let v1 = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 9, 0, 0];
    let v0 = [&[0x1e, 1, 0, 0, 0, 9, 0, 0, 0xff, 0xff, 0xff, 0xff][..], &[0; 8]].concat();
    for (port, octets) in [(CONTROL, &v1[..]), (USER, &v1[..]), (V0, &v0[..])] {
        assert!(ggsn.receive(mobile, port, octets).is_none());
        assert_eq!(ggsn.sent().len(), 0);
        assert!(ggsn.receive(SGSN, port, octets).is_none());
        assert_eq!(ggsn.sent().len(), 1, "an Echo Response");
    }
    assert_eq!(ggsn.drops(), [(Drop::GtpToMobile, 1), (Drop::GtpFromMobile, 3)]);
}
