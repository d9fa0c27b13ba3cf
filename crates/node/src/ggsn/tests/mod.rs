//! A GGSN and the far end of its Gn interface: messages and G-PDUs as an SGSN sends and reads them.

mod addresses;
mod durable;
mod endings;
mod hostile;
mod ipv6;
mod link;
mod marking;
mod moves;
mod options;
mod peers;
mod profiles;
mod rules;
mod secondary;
mod static_addresses;
mod traffic;
mod types;

use super::*;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::Surroundings;
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, Owner, TraceSink};
use gannet_proto::gtp::{ListedPeer, SourceCheck};
use gannet_wire::gtp::header::{Header, message_type};
use gannet_wire::gtp::v1c::{
    CreateRequest, CreateResponse, Created, DeleteRequest, DeleteResponse, EchoResponse, ErrorIndication,
    UpdateRequest, emit_datagram,
};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{EndUserAddress, Message, Qos};
use gannet_wire::id::Teid;
use gannet_wire::l3::ie::{Apn, Octets};

const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OTHER_SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

fn apn(name: &str, third: u8, prefix_length: u8) -> ApnConfig {
    let network = Ipv4Addr::new(10, 0, third, 0);
    ApnConfig {
        static_addresses: true,
        dns: [Some(Ipv4Addr::new(192, 0, 2, 53)), None],
        ..ApnConfig::with_ipv4(name.parse().unwrap(), network, prefix_length)
    }
}

/// The dynamic addresses of an access point, or how many there are.
fn set_network(config: &mut GgsnConfig, apn: usize, address: Option<Ipv4Addr>, length: u8) {
    let dynamic = config.apns[apn].v4.dynamic.as_mut().unwrap();
    *dynamic = Network { address: address.unwrap_or(dynamic.address), length };
}

/// Keeps what was dropped, and the lines that an operator reads by default.
#[derive(Default)]
struct Kept {
    drops: DropCounters,
    lines: Vec<String>,
    /// Keeps all lines.
    all: bool,
}

impl TraceSink for Kept {
    fn enabled(&self, _: Category, level: Level) -> bool {
        self.all || level >= Level::Notice
    }
    fn line(&mut self, _: Category, _: Level, line: core::fmt::Arguments<'_>) {
        self.lines.push(line.to_string());
    }
    fn dropped(&mut self, drop: Drop, _: Option<Owner>) {
        self.drops.add(drop);
    }
}

struct Net {
    ggsn: Ggsn,
    around: Surroundings<Kept>,
    next_sequence: u16,
    events: Vec<GgsnEvent>,
    /// For the driver.
    rules: Vec<ForwardChange>,
    /// The code point of each datagram that was sent.
    code_points: Vec<u8>,
}

/// What the GGSN sends: port, peer, octets.
type Sent = (Port, Peer, Vec<u8>);

impl Net {
    fn new(change: impl FnOnce(&mut GgsnConfig)) -> Self {
        let mut config = GgsnConfig::new(GGSN, vec![apn("internet", 0, 24), apn("small", 1, 30)]);
        config.restart_counter = 7;
        change(&mut config);
        let around = Surroundings::new(1, 128, Kept::default());
        Self {
            ggsn: Ggsn::new(config).unwrap(),
            around,
            next_sequence: 0,
            events: Vec::new(),
            rules: Vec::new(),
            code_points: Vec::new(),
        }
    }

    fn give(&mut self, input: Input<GgsnCommand>) -> Vec<Sent> {
        let (mut inputs, mut outputs) = (Batch::default(), Batch::default());
        inputs.push(input);
        let mut cx = self.around.context();
        self.ggsn.handle_input(&mut cx, &mut inputs);
        self.ggsn.poll_output(&mut cx, &mut outputs);
        let mut sent = Vec::new();
        while let Some(output) = outputs.pop() {
            match output {
                Output::Transmit { port, peer, frame } => {
                    self.code_points.push(frame.dscp());
                    sent.push((port, peer, frame.to_vec()));
                }
                Output::Classify(change) => self.rules.push(change),
                Output::Disconnect(_) => {}
                Output::Event(event) => self.events.push(event),
            }
        }
        sent
    }

    fn frame(&self, octets: &[u8]) -> Frame {
        self.around.frames.copy_of(octets).unwrap()
    }

    fn datagram(&mut self, port: Port, from: IpAddr, octets: &[u8]) -> Vec<Sent> {
        let peer = Peer::Udp(SocketAddr::new(from, 2123));
        let frame = self.frame(octets);
        self.give(Input::Datagram { port, peer, frame })
    }

    fn control(&mut self, from: IpAddr, teid: Teid, message: impl Into<Message>) -> (Header, Message) {
        self.next_sequence += 1;
        let mut octets = Vec::new();
        assert!(emit_datagram(teid, self.next_sequence, &message.into(), &mut octets));
        let sent = self.datagram(PORT_GTP_C, from, &octets);
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert_eq!((sent[0].0, sent[0].1), (PORT_GTP_C, Peer::Udp(SocketAddr::new(from, 2123))));
        let (header, message) = read(&sent[0].2);
        assert_eq!(header.sequence, Some(self.next_sequence));
        (header, message)
    }

    fn create(&mut self, request: CreateRequest) -> Result<Created, Cause> {
        let from = request.sgsn_control;
        let reply_to = request.teid_control.unwrap_or_default();
        let (header, message) = self.control(from, Teid(0), request);
        assert_eq!(header.teid, reply_to);
        let Message::CreateResponse(response) = message else { panic!("{message:?}") };
        if response.cause.is_accepted() {
            assert_eq!(response.recovery, Some(7));
            return Ok(response.created().unwrap());
        }
        assert_eq!(response, CreateResponse::refused(response.cause));
        Err(response.cause)
    }

    fn delete(&mut self, teid: Teid, nsapi: u8) -> (Teid, Cause) {
        let (header, message) = self.control(SGSN, teid, delete_request(nsapi));
        let Message::DeleteResponse(response) = message else { panic!("{message:?}") };
        (header.teid, response.cause)
    }

    fn uplink(&mut self, teid: Teid, t_pdu: &[u8]) -> Vec<Sent> {
        self.datagram(PORT_GTP_U, SGSN, &g_pdu(teid, t_pdu))
    }

    fn downlink(&mut self, peer: Peer, packet: &[u8]) -> Vec<Sent> {
        let frame = self.frame(packet);
        self.give(Input::Datagram { port: PORT_TUN, peer, frame })
    }

    fn run_until(&mut self, until: Instant) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(at) = self.around.timers.next().filter(|at| *at <= until) {
            self.around.now = at;
            let key = self.around.timers.pop_due(at).unwrap();
            sent.extend(self.give(Input::Timeout(key)));
        }
        self.around.now = until;
        sent
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }

    /// Nothing is left: no context, address, path, request, answer or frame.
    fn assert_empty(&mut self) {
        self.run_until(self.around.now + Duration::from_secs(3600));
        assert_eq!((self.ggsn.context_count(), self.ggsn.paths().len()), (0, 0));
        assert_eq!((self.ggsn.outstanding(), self.ggsn.answers()), (0, 0));
        assert!(self.ggsn.access_points().all(|point| (point.ipv4_use().0, point.ipv6_use().0) == (0, 0)));
        assert_eq!(self.around.frames.free(), self.around.frames.capacity());
        assert!(self.around.timers.is_empty());
        let counters = self.ggsn.counters();
        assert_eq!(counters.created, counters.deleted);
    }
}

fn read(octets: &[u8]) -> (Header, Message) {
    let header = Header::parse(octets).unwrap();
    (header, Message::parse(header.message, header.payload(octets)).unwrap())
}

fn g_pdu(teid: Teid, t_pdu: &[u8]) -> Vec<u8> {
    let header = GPdu { teid, sequence: Some(1), npdu_number: None };
    let mut octets = vec![0; header.buffer_len()];
    assert!(header.emit(t_pdu.len(), &mut octets));
    octets.extend(t_pdu);
    octets
}

fn packet(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut octets = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0];
    octets.extend(source.octets());
    octets.extend(destination.octets());
    octets.extend([1, 2, 3, 4]);
    octets
}

fn imsi(n: u16) -> Imsi {
    format!("0010100000{n:05}").parse().unwrap()
}

fn qos() -> Qos {
    Qos { allocation_retention: 2, value: Octets::from_start(&[0x23, 0x12, 0x1f]) }
}

/// Subscriber `n` at the SGSN, whose endpoints are 0x100 + n and 0x200 + n.
fn create_request(n: u16, name: &str) -> CreateRequest {
    CreateRequest {
        imsi: Some(imsi(n)),
        rai: None,
        recovery: Some(1),
        selection_mode: None,
        teid_data: Teid(0x200 + u32::from(n)),
        teid_control: Some(Teid(0x100 + u32::from(n))),
        nsapi: Nsapi(5),
        linked_nsapi: None,
        charging_characteristics: None,
        trace_reference: None,
        trace_type: None,
        end_user_address: Some(EndUserAddress::Ipv4(None)),
        apn: name.parse().ok(),
        pco: None,
        sgsn_control: SGSN,
        sgsn_user: SGSN,
        alternative_control: None,
        alternative_user: None,
        msisdn: None,
        qos: qos(),
        tft: None,
        trigger_id: None,
        omc_identity: None,
        common_flags: None,
        apn_restriction: None,
        rat_type: None,
        user_location: None,
        ms_time_zone: None,
        imeisv: None,
        private_extension: None,
    }
}

fn delete_request(nsapi: u8) -> DeleteRequest {
    DeleteRequest { teardown: Some(true), nsapi: Nsapi(nsapi), pco: None, private_extension: None }
}

fn address_of(created: &Created) -> Ipv4Addr {
    match created.end_user_address {
        EndUserAddress::Ipv4(Some(address)) => address,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_context_from_its_creation_to_its_end() {
    let mut net = Net::new(|_| ());
    let mut request = create_request(1, "Internet.mnc001.mcc001.gprs");
    request.pco = Some(vec![0x80, 0x00, 0x0d, 0]);
    let created = net.create(request).unwrap();
    let address = address_of(&created);
    assert_eq!(address, Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!((created.qos, created.ggsn_control, created.ggsn_user), (qos(), GGSN, GGSN));
    assert_eq!(net.ggsn.context(imsi(1), Nsapi(5)).unwrap().teid, created.teid_data);

    let up = packet(address, HOST);
    assert_eq!(net.uplink(created.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    let down = packet(HOST, address);
    for (n, peer) in [Peer::Slot(0), Peer::Link].into_iter().enumerate() {
        let sent = net.downlink(peer, &down);
        assert_eq!((sent[0].0, sent[0].1), (PORT_GTP_U, Peer::Udp(SocketAddr::new(SGSN, 2152))));
        let (header, _, range) = GPdu::parse(&sent[0].2).unwrap();
        assert_eq!((header.teid, header.sequence), (Teid(0x201), u16::try_from(n).ok()));
        assert_eq!(sent[0].2[range], down);
    }
    let context = net.ggsn.context(imsi(1), Nsapi(5)).unwrap();
    assert_eq!(context.uplink, Volume { t_pdus: 1, octets: 24 });
    assert_eq!(context.downlink, Volume { t_pdus: 2, octets: 48 });

    assert_eq!(net.delete(created.teid_control, 5), (Teid(0x101), Cause::RequestAccepted));
    assert_eq!(net.delete(created.teid_control, 5), (Teid(0), Cause::NonExistent));
    let (imsi, nsapi) = (imsi(1), Nsapi(5));
    let reason = DeleteReason::Sgsn;
    assert_eq!(
        net.events,
        [
            GgsnEvent::Created { imsi, nsapi, apn: 0, address: address.into() },
            GgsnEvent::Deleted { imsi, nsapi, address: address.into(), reason },
            GgsnEvent::Refused { imsi: None, cause: Cause::NonExistent },
        ]
    );
    assert_eq!(net.drops(), [(Drop::GgsnRefused, 1)]);
    net.assert_empty();
}

#[test]
fn the_options_of_a_phone_are_answered() {
    let mut net = Net::new(|_| ());
    let mut request = create_request(1, "internet");
    request.pco = Some(vec![0x80, 0x00, 0x0d, 0]);
    let (_, message) = net.control(SGSN, Teid(0), request);
    let Message::CreateResponse(response) = message else { panic!("{message:?}") };
    assert_eq!(response.pco, Some(vec![0x80, 0x00, 0x0d, 4, 192, 0, 2, 53]));
}

#[test]
fn requests_that_are_refused() {
    let mut net = Net::new(|_| ());
    let with = |change: fn(&mut CreateRequest)| {
        let mut request = create_request(1, "internet");
        change(&mut request);
        request
    };
    let refused = [
        (with(|r| r.apn = "unknown".parse().ok()), Cause::MissingOrUnknownApn),
        (with(|r| r.apn = None), Cause::MissingOrUnknownApn),
        (with(|r| r.end_user_address = Some(EndUserAddress::Ppp)), Cause::UnknownPdpAddressOrType),
        (with(|r| r.end_user_address = Some(EndUserAddress::Ipv6(None))), Cause::UnknownPdpAddressOrType),
        (with(|r| r.end_user_address = None), Cause::MandatoryIeMissing),
        (with(|r| r.imsi = None), Cause::MandatoryIeMissing),
        (with(|r| r.teid_control = None), Cause::MandatoryIeMissing),
        (with(|r| r.linked_nsapi = Some(Nsapi(6))), Cause::NonExistent),
        (
            with(|r| r.end_user_address = Some(EndUserAddress::Ipv4(Some(HOST)))),
            Cause::UnknownPdpAddressOrType,
        ),
    ];
    let count = refused.len();
    for (request, cause) in refused {
        assert_eq!(net.create(request), Err(cause));
    }
    assert_eq!(net.ggsn.counters().refused, count as u64);
    assert_eq!(net.drops(), [(Drop::GtpIncomplete, 3), (Drop::GgsnRefused, count as u64)]);
    net.assert_empty();
}

#[test]
fn static_addresses() {
    let mut net = Net::new(|config| config.apns[1].static_addresses = false);
    let mut request = create_request(1, "internet");
    let address = Ipv4Addr::new(10, 0, 0, 2);
    request.end_user_address = Some(EndUserAddress::Ipv4(Some(address)));
    assert_eq!(address_of(&net.create(request.clone()).unwrap()), address);
    request.imsi = Some(imsi(2));
    assert_eq!(net.create(request.clone()), Err(Cause::UnknownPdpAddressOrType));
    assert_eq!(address_of(&net.create(create_request(3, "internet")).unwrap()), Ipv4Addr::new(10, 0, 0, 3));
    request.apn = "small".parse().ok();
    request.end_user_address = Some(EndUserAddress::Ipv4(Some(Ipv4Addr::new(10, 0, 1, 2))));
    assert_eq!(net.create(request.clone()), Err(Cause::UnknownPdpAddressOrType));
    request.end_user_address = Some(EndUserAddress::Ipv4(Some(Ipv4Addr::UNSPECIFIED)));
    assert_eq!(address_of(&net.create(request).unwrap()), Ipv4Addr::new(10, 0, 1, 2));
}

#[test]
fn full_pools_and_a_full_table() {
    let mut net = Net::new(|config| config.context_limit = 2);
    let first = net.create(create_request(1, "small")).unwrap();
    assert_eq!(net.create(create_request(2, "small")), Err(Cause::AllDynamicAddressesOccupied));
    net.create(create_request(2, "internet")).unwrap();
    assert_eq!(net.create(create_request(3, "internet")), Err(Cause::NoResourcesAvailable));
    // The address that was refused is free again once there is room.
    assert_eq!(net.delete(first.teid_control, 5).1, Cause::RequestAccepted);
    assert_eq!(address_of(&net.create(create_request(3, "small")).unwrap()), address_of(&first));
    let used: Vec<u32> = net.ggsn.access_points().map(|point| point.ipv4_use().0).collect();
    assert_eq!(used, [1, 1]);
}

#[test]
fn a_default_access_point() {
    let mut net = Net::new(|config| config.default_apn = Some(1));
    let created = net.create(create_request(1, "whatever")).unwrap();
    assert_eq!(address_of(&created), Ipv4Addr::new(10, 0, 1, 2));
    // An SGSN whose mobile has named none sends an element without octets.
    let unnamed = || CreateRequest { apn: Some(Apn::UNNAMED), ..create_request(1, "whatever") };
    let mut net = Net::new(|config| config.default_apn = Some(1));
    assert_eq!(address_of(&net.create(unnamed()).unwrap()), Ipv4Addr::new(10, 0, 1, 2));
    let mut net = Net::new(|_| ());
    assert_eq!(net.create(unnamed()).unwrap_err(), Cause::MissingOrUnknownApn);
}

#[test]
fn a_repeated_create_and_one_anew() {
    let mut net = Net::new(|_| ());
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), 1, &create_request(1, "internet").into(), &mut octets));
    let first = net.datagram(PORT_GTP_C, SGSN, &octets);
    assert_eq!(net.datagram(PORT_GTP_C, SGSN, &octets), first);
    assert_eq!((net.ggsn.context_count(), net.ggsn.counters().created), (1, 1));
    assert_eq!(net.drops(), [(Drop::GtpRepeatedRequest, 1)]);
    let (_, Message::CreateResponse(old)) = read(&first[0].2) else { panic!() };
    let old = old.created().unwrap();
    // The same subscriber again, with other endpoints: the old context is replaced.
    let mut request = create_request(1, "internet");
    request.teid_data = Teid(0x999);
    net.next_sequence = 1;
    let new = net.create(request).unwrap();
    assert_eq!(net.ggsn.context_count(), 1);
    assert_ne!(new.teid_control, old.teid_control);
    assert!(matches!(net.events[1], GgsnEvent::Deleted { reason: DeleteReason::Replaced, .. }));
    let sent = net.uplink(old.teid_data, &packet(address_of(&old), HOST));
    assert_eq!(read(&sent[0].2).0.message, message_type::ERROR_INDICATION);
    let sent = net.downlink(Peer::Slot(0), &packet(HOST, address_of(&new)));
    assert_eq!(GPdu::parse(&sent[0].2).unwrap().0.teid, Teid(0x999));
    // Another NSAPI is another context.
    let mut request = create_request(1, "internet");
    request.nsapi = Nsapi(6);
    net.create(request).unwrap();
    assert_eq!(net.ggsn.context_count(), 2);
}

#[test]
fn an_update_moves_the_tunnel() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let other_qos = Qos { allocation_retention: 1, ..qos() };
    let update = UpdateRequest {
        recovery: Some(4),
        teid_data: Some(Teid(0x888)),
        teid_control: Some(Teid(0x777)),
        sgsn_control: Some(OTHER_SGSN),
        sgsn_user: Some(OTHER_SGSN),
        qos: Some(other_qos),
        ..UpdateRequest::new(Nsapi(5))
    };
    let (header, message) = net.control(OTHER_SGSN, created.teid_control, update.clone());
    let Message::UpdateResponse(response) = message else { panic!("{message:?}") };
    assert_eq!((header.teid, response.cause), (Teid(0x777), Cause::RequestAccepted));
    assert_eq!((response.teid_data, response.qos), (Some(created.teid_data), Some(other_qos)));
    assert_eq!((response.gsn_first, response.charging_id), (Some(GGSN), Some(created.charging_id)));
    let sent = net.downlink(Peer::Slot(0), &packet(HOST, address_of(&created)));
    assert_eq!(sent[0].1, Peer::Udp(SocketAddr::new(OTHER_SGSN, 2152)));
    assert_eq!(GPdu::parse(&sent[0].2).unwrap().0.teid, Teid(0x888));
    let peers: Vec<IpAddr> = net.ggsn.paths().iter().map(|(_, path)| path.address).collect();
    assert_eq!(peers, [OTHER_SGSN]);
    // Without what an SGSN must send, for another NSAPI, and for nobody.
    let cause_of = |(header, message): (Header, Message)| match message {
        Message::UpdateResponse(response) => (header.teid, response.cause),
        other => panic!("{other:?}"),
    };
    let empty = UpdateRequest::new(Nsapi(5));
    let refused = net.control(OTHER_SGSN, created.teid_control, empty);
    assert_eq!(cause_of(refused), (Teid(0x777), Cause::MandatoryIeMissing));
    let wrong = UpdateRequest { nsapi: Nsapi(6), ..update.clone() };
    let refused = net.control(OTHER_SGSN, created.teid_control, wrong);
    assert_eq!(cause_of(refused), (Teid(0), Cause::NonExistent));
    let refused = net.control(OTHER_SGSN, Teid(0xffff_ffff), update);
    assert_eq!(cause_of(refused), (Teid(0), Cause::NonExistent));
    assert_eq!(net.ggsn.counters().updated, 1);
}

#[test]
fn a_restarted_sgsn_loses_its_contexts_and_no_others() {
    let mut net = Net::new(|_| ());
    for n in 1..=3 {
        net.create(create_request(n, "internet")).unwrap();
    }
    let elsewhere =
        CreateRequest { sgsn_control: OTHER_SGSN, sgsn_user: OTHER_SGSN, ..create_request(4, "internet") };
    net.create(elsewhere).unwrap();
    let restarted = CreateRequest { recovery: Some(2), ..create_request(5, "internet") };
    net.create(restarted).unwrap();
    let left: Vec<Imsi> = net.ggsn.contexts().map(|context| context.imsi).collect();
    assert_eq!(left, [imsi(4), imsi(5)]);
    let reason =
        |event: &GgsnEvent| matches!(event, GgsnEvent::Deleted { reason: DeleteReason::PeerRestarted, .. });
    assert_eq!(net.events.iter().filter(|event| reason(event)).count(), 3);
    // The counter that is known now is no news.
    net.create(CreateRequest { recovery: Some(2), ..create_request(6, "internet") }).unwrap();
    assert_eq!(net.ggsn.context_count(), 3);
}

#[test]
fn an_sgsn_that_answers_no_echo_is_lost() {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    let sent = net.run_until(Instant::ZERO + Duration::from_secs(61));
    let kinds: Vec<_> = sent.iter().map(|(port, _, octets)| (*port, octets[1])).collect();
    assert_eq!(kinds, [(PORT_GTP_C, message_type::ECHO_REQUEST), (PORT_GTP_U, message_type::ECHO_REQUEST)]);
    for (port, _, octets) in sent {
        let sequence = Header::parse(&octets).unwrap().sequence.unwrap();
        let mut answer = Vec::new();
        let message = EchoResponse { recovery: 1, private_extension: None }.into();
        assert!(emit_datagram(Teid(0), sequence, &message, &mut answer));
        assert!(net.datagram(port, SGSN, &answer).is_empty());
    }
    net.run_until(Instant::ZERO + Duration::from_secs(119));
    assert_eq!(net.ggsn.context_count(), 1);
    net.run_until(Instant::ZERO + Duration::from_secs(194));
    assert_eq!(net.ggsn.context_count(), 1, "its path has failed at 135 s");
    net.run_until(Instant::ZERO + Duration::from_secs(195));
    assert!(matches!(net.events[1], GgsnEvent::Deleted { reason: DeleteReason::PathFailed, .. }));
    net.assert_empty();
}

#[test]
fn error_indications_from_the_sgsn() {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    net.create(create_request(2, "internet")).unwrap();
    let indicate = |net: &mut Net, teid| {
        let indication = ErrorIndication { teid: Teid(teid), address: SGSN, private_extension: None };
        let mut octets = Vec::new();
        assert!(emit_datagram(Teid(0), 0, &indication.into(), &mut octets));
        assert!(net.datagram(PORT_GTP_U, SGSN, &octets).is_empty());
    };
    indicate(&mut net, 0x201);
    indicate(&mut net, 0x201);
    let left: Vec<Imsi> = net.ggsn.contexts().map(|context| context.imsi).collect();
    assert_eq!(left, [imsi(2)]);
    assert!(matches!(net.events[2], GgsnEvent::Deleted { reason: DeleteReason::ErrorIndication, .. }));
    assert_eq!(net.drops(), [(Drop::GtpUnexpectedErrorIndication, 1)]);
}

#[test]
fn contexts_that_we_delete() {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    net.create(create_request(2, "internet")).unwrap();
    let sent = net.give(Input::Command(GgsnCommand::Delete { imsi: imsi(1), nsapi: Nsapi(5) }));
    let (header, message) = read(&sent[0].2);
    assert_eq!((header.teid, &message), (Teid(0x101), &delete_request(5).into()));
    assert_eq!(sent[0].1, Peer::Udp(SocketAddr::new(SGSN, 2123)));
    // Asked again, nothing more is sent, nor for a context that is not there.
    assert!(net.give(Input::Command(GgsnCommand::Delete { imsi: imsi(1), nsapi: Nsapi(5) })).is_empty());
    assert!(net.give(Input::Command(GgsnCommand::Delete { imsi: imsi(9), nsapi: Nsapi(5) })).is_empty());
    let mut answer = Vec::new();
    let response = DeleteResponse { cause: Cause::RequestAccepted, pco: None, private_extension: None };
    assert!(emit_datagram(Teid(0), header.sequence.unwrap(), &response.into(), &mut answer));
    assert!(net.datagram(PORT_GTP_C, SGSN, &answer).is_empty());
    assert_eq!(net.ggsn.context_count(), 1);
    // The other's deletion gets no answer, and takes place all the same.
    assert_eq!(net.give(Input::Command(GgsnCommand::DeleteAll)).len(), 1);
    net.run_until(Instant::ZERO + Duration::from_secs(15));
    assert_eq!(net.ggsn.context_count(), 0);
    net.assert_empty();
    assert_eq!(net.drops(), [(Drop::GtpNoResponse, 1)]);
}

#[test]
fn many_subscribers_come_and_go() {
    let mut net = Net::new(|_| ());
    for round in 0..4 {
        let created: Vec<Created> =
            (0..253).map(|n| net.create(create_request(n, "internet")).unwrap()).collect();
        let mut addresses: Vec<Ipv4Addr> = created.iter().map(address_of).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 253);
        let full = net.create(create_request(999, "internet"));
        assert_eq!(full, Err(Cause::AllDynamicAddressesOccupied));
        // Taken down in another order each round.
        for n in 0..253 {
            let at = (n * (2 * round + 3)) % 253;
            assert_eq!(net.delete(created[at].teid_control, 5).1, Cause::RequestAccepted);
        }
    }
    net.assert_empty();
}

#[test]
fn configurations_that_are_refused() {
    let refused = |change: fn(&mut GgsnConfig)| {
        let mut config = GgsnConfig::new(GGSN, vec![apn("internet", 0, 24), apn("small", 1, 30)]);
        change(&mut config);
        Ggsn::new(config).unwrap_err()
    };
    assert_eq!(
        refused(|config| config.apns[1].v4 = Ranges::dynamic([10, 0, 1, 0].into(), 31)),
        GgsnConfigError::PrefixLength(1)
    );
    assert_eq!(
        refused(|config| config.apns[1].name = "INTERNET".parse().unwrap()),
        GgsnConfigError::DuplicateName(1)
    );
    assert_eq!(refused(|config| config.default_apn = Some(2)), GgsnConfigError::DefaultApn(2));
    assert_eq!(
        refused(|config| config.context_limit = PLACES + 1),
        GgsnConfigError::ContextLimit(PLACES + 1)
    );
}

#[test]
fn what_an_operator_changes_holds_at_once() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let down = packet(HOST, address_of(&created));
    let sequence_of = |net: &mut Net| {
        let sent = net.downlink(Peer::Slot(0), &down);
        GPdu::parse(&sent[0].2).unwrap().0.sequence
    };
    assert_eq!(sequence_of(&mut net), Some(0));
    let mut changed = net.ggsn.config().clone();
    changed.apns[0].sequence_numbers = false;
    changed.apns[0].dns = [Some(HOST), None];
    changed.default_apn = Some(0);
    changed.echo_interval = Duration::from_secs(5);
    net.ggsn.reconfigure(&mut net.around.context(), &changed);
    assert_eq!(sequence_of(&mut net), None, "no g-pdu tx-sequence-numbers");
    assert_eq!(net.ggsn.access_points().next().unwrap().config().dns, [Some(HOST), None]);
    let other = net.create(create_request(2, "unheard-of")).unwrap();
    assert_eq!(net.ggsn.context(imsi(2), Nsapi(5)).unwrap().apn, 0, "default-apn");
    let until = net.around.now + Duration::from_secs(6);
    assert!(!net.run_until(until).is_empty(), "an Echo Request");
    // An access point that is shut down has no contexts, and gets none.
    changed.apns.remove(0);
    changed.default_apn = None;
    net.ggsn.reconfigure(&mut net.around.context(), &changed);
    let mut asked = Batch::default();
    net.ggsn.poll_output(&mut net.around.context(), &mut asked);
    assert_eq!(asked.len(), 2, "both are to be deleted");
    assert_eq!(net.create(create_request(3, "internet")), Err(Cause::MissingOrUnknownApn));
    assert!(net.create(create_request(3, "small")).is_ok());
    drop((other, asked));
}
