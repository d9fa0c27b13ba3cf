//! Contexts that share an address, and the traffic flow templates that tell their packets apart.

use super::*;
use gannet_wire::l3::ie::{Component, FilterDirection, PacketFilter, TftOperation, TftRepr};

/// Endpoints of the SGSN for the context of an NSAPI.
fn sgsn_data(nsapi: u8) -> Teid {
    Teid(0x300 + u32::from(nsapi))
}

fn filter(identifier: u8, precedence: u8, component: Component) -> PacketFilter {
    PacketFilter { identifier, direction: FilterDirection::Unsaid, precedence, components: vec![component] }
}

fn octets(operation: TftOperation) -> Option<Vec<u8>> {
    Some(TftRepr::new(operation).to_element().0)
}

fn create_tft(precedence: u8, component: Component) -> Option<Vec<u8>> {
    octets(TftOperation::Create(vec![filter(0, precedence, component)]))
}

/// A template, whatever it fits.
pub(super) fn any_template() -> Option<Vec<u8>> {
    create_tft(20, Component::SourcePort(53))
}

impl Net {
    /// Asks for a context beside that of NSAPI 5 of subscriber 1.
    pub(super) fn secondary(
        &mut self,
        nsapi: u8,
        linked: u8,
        tft: Option<Vec<u8>>,
    ) -> Result<Created, Cause> {
        let linked_to = self.ggsn.context(imsi(1), Nsapi(linked));
        let first = linked_to.map_or(Teid(0x0123_4567), |first| first.control_teid);
        let request = CreateRequest {
            imsi: None,
            teid_data: sgsn_data(nsapi),
            teid_control: None,
            nsapi: Nsapi(nsapi),
            linked_nsapi: Some(Nsapi(linked)),
            end_user_address: None,
            apn: None,
            tft,
            ..create_request(1, "internet")
        };
        let (_, message) = self.control(SGSN, first, request);
        let Message::CreateResponse(response) = message else { panic!("{message:?}") };
        if !response.cause.is_accepted() {
            return Err(response.cause);
        }
        // The SGSN has the endpoint for signalling from the first one (29.060 clause 7.3.2).
        assert_eq!(response.teid_control, None);
        Ok(CreateResponse { teid_control: Some(first), ..response }.created().unwrap())
    }

    pub(super) fn update(&mut self, nsapi: u8, tft: Option<Vec<u8>>) -> Cause {
        let teid = self.ggsn.context(imsi(1), Nsapi(nsapi)).unwrap().control_teid;
        let request = UpdateRequest {
            teid_data: Some(sgsn_data(nsapi)),
            sgsn_control: Some(SGSN),
            sgsn_user: Some(SGSN),
            qos: Some(qos()),
            tft,
            ..UpdateRequest::new(Nsapi(nsapi))
        };
        let (_, message) = self.control(SGSN, teid, request);
        let Message::UpdateResponse(response) = message else { panic!("{message:?}") };
        response.cause
    }

    /// The endpoint to which a downlink UDP packet with this source port goes.
    fn way_of(&mut self, source_port: u16, tos: u8) -> Option<Teid> {
        let mut packet = packet(HOST, Ipv4Addr::new(10, 0, 0, 2));
        packet[1] = tos;
        packet[20..22].copy_from_slice(&source_port.to_be_bytes());
        let sent = self.downlink(Peer::Slot(0), &packet);
        sent.first().map(|(_, _, octets)| GPdu::parse(octets).unwrap().0.teid)
    }
}

fn with_first() -> Net {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    net
}

const FIRST: Teid = Teid(0x201);

#[test]
fn packets_find_their_context_by_precedence() {
    let mut net = with_first();
    let created = net.secondary(6, 5, create_tft(20, Component::SourcePort(53))).unwrap();
    assert_eq!(address_of(&created), Ipv4Addr::new(10, 0, 0, 2));
    let tos = Component::TypeOfService { value: 0xb8, mask: 0xff };
    net.secondary(7, 6, create_tft(10, tos)).unwrap();
    assert_eq!(net.way_of(80, 0), Some(FIRST), "fits no filter");
    assert_eq!(net.way_of(53, 0), Some(sgsn_data(6)));
    assert_eq!(net.way_of(80, 0xb8), Some(sgsn_data(7)));
    assert_eq!(net.way_of(53, 0xb8), Some(sgsn_data(7)), "the lower precedence is tried first");
    // Uplink, the address is that of each of them.
    let up = packet(Ipv4Addr::new(10, 0, 0, 2), HOST);
    assert_eq!(net.uplink(created.teid_data, &up).len(), 1);
    assert_eq!(net.ggsn.context(imsi(1), Nsapi(6)).unwrap().downlink.t_pdus, 1);
    assert_eq!(net.drops(), []);
}

#[test]
fn a_context_outlives_that_to_which_it_was_linked() {
    let mut net = with_first();
    net.secondary(6, 5, create_tft(20, Component::SourcePort(53))).unwrap();
    let teid = net.ggsn.context(imsi(1), Nsapi(5)).unwrap().control_teid;
    let request = DeleteRequest { teardown: None, ..delete_request(5) };
    let (_, Message::DeleteResponse(response)) = net.control(SGSN, teid, request) else { panic!() };
    assert_eq!((response.cause, net.ggsn.context_count()), (Cause::RequestAccepted, 1));
    assert_eq!(net.way_of(53, 0), Some(sgsn_data(6)));
    assert_eq!((net.way_of(80, 0), net.drops()), (None, vec![(Drop::GgsnNoFilter, 1)]));
    // Another one may be without a template now, and has the same address.
    net.secondary(7, 6, None).unwrap();
    assert_eq!(net.way_of(80, 0), Some(sgsn_data(7)));
    let (used, _) = net.ggsn.access_points().next().unwrap().ipv4_use();
    assert_eq!(used, 1);
    // All of them go at once.
    let teid = net.ggsn.context(imsi(1), Nsapi(6)).unwrap().control_teid;
    assert_eq!(net.delete(teid, 6).1, Cause::RequestAccepted);
    assert_eq!(net.ggsn.context_count(), 0);
    net.assert_empty();
}

#[test]
fn templates_are_changed() {
    let mut net = with_first();
    net.secondary(6, 5, create_tft(20, Component::SourcePort(53))).unwrap();
    let more = octets(TftOperation::Add(vec![filter(1, 30, Component::SourcePort(80))]));
    assert_eq!(net.update(6, more), Cause::RequestAccepted);
    assert_eq!(net.way_of(80, 0), Some(sgsn_data(6)));
    assert_eq!(net.update(6, octets(TftOperation::DeleteFilters(vec![0]))), Cause::RequestAccepted);
    assert_eq!((net.way_of(53, 0), net.way_of(80, 0)), (Some(FIRST), Some(sgsn_data(6))));
    // Without a change of the template it stays.
    assert_eq!(net.update(6, None), Cause::RequestAccepted);
    assert_eq!(net.way_of(80, 0), Some(sgsn_data(6)));
    // A template for the first one, and none for the other.
    assert_eq!(net.update(5, create_tft(1, Component::SourcePort(22))), Cause::RequestAccepted);
    assert_eq!(net.update(6, octets(TftOperation::Delete)), Cause::RequestAccepted);
    assert_eq!((net.way_of(22, 0), net.way_of(80, 0)), (Some(sgsn_data(5)), Some(sgsn_data(6))));
}

#[test]
fn what_is_wrong_has_its_cause() {
    let mut net = with_first();
    assert_eq!(net.secondary(6, 9, create_tft(1, Component::Protocol(17))).unwrap_err(), Cause::NonExistent);
    assert_eq!(net.secondary(6, 5, None).unwrap_err(), Cause::ContextWithoutTftActivated);
    net.secondary(6, 5, create_tft(20, Component::SourcePort(53))).unwrap();
    for (tft, cause) in [
        (octets(TftOperation::Delete), Cause::SemanticErrorInTft),
        (Some(vec![0x20]), Cause::SyntacticErrorInTft),
        (create_tft(1, Component::SourcePorts(2, 1)), Cause::SemanticErrorInPacketFilter),
        (create_tft(20, Component::Protocol(6)), Cause::SyntacticErrorInPacketFilter),
    ] {
        assert_eq!(net.secondary(7, 5, tft).unwrap_err(), cause);
    }
    for (tft, cause) in [
        (octets(TftOperation::Delete), Cause::SemanticErrorInTft),
        (octets(TftOperation::DeleteFilters(vec![0])), Cause::SemanticErrorInTft),
        (octets(TftOperation::DeleteFilters(vec![3])), Cause::SyntacticErrorInTft),
        (
            octets(TftOperation::Replace(vec![filter(3, 1, Component::Protocol(6))])),
            Cause::SyntacticErrorInTft,
        ),
        (create_tft(1, Component::SourcePorts(2, 1)), Cause::SemanticErrorInPacketFilter),
        (
            octets(TftOperation::Add(vec![filter(0, 1, Component::Protocol(6))])),
            Cause::SyntacticErrorInPacketFilter,
        ),
    ] {
        assert_eq!(net.update(6, tft), cause);
    }
    assert_eq!(net.ggsn.context_count(), 2);
    assert_eq!(net.way_of(53, 0), Some(sgsn_data(6)));
}

/// The endpoint for signalling is one for all contexts of an address, and lives as long as any of them (29.060 clause 5); that
/// for G-PDUs goes with its context.
#[test]
fn the_endpoint_for_signalling_outlives_the_first_context() {
    let mut net = with_first();
    let shared = net.ggsn.context(imsi(1), Nsapi(5)).unwrap().teid;
    for (nsapi, port) in [(6, 53), (7, 80)] {
        net.secondary(nsapi, 5, create_tft(nsapi, Component::SourcePort(port))).unwrap();
        assert_eq!(net.ggsn.context(imsi(1), Nsapi(nsapi)).unwrap().control_teid, shared);
    }
    let delete = |net: &mut Net, nsapi| {
        let request = DeleteRequest { teardown: None, ..delete_request(nsapi) };
        let (_, Message::DeleteResponse(response)) = net.control(SGSN, shared, request) else { panic!() };
        response.cause
    };
    assert_eq!(delete(&mut net, 5), Cause::RequestAccepted);
    assert_eq!(net.update(6, None), Cause::RequestAccepted);
    let up = packet(Ipv4Addr::new(10, 0, 0, 2), HOST);
    assert_eq!(read(&net.uplink(shared, &up)[0].2).0.message, message_type::ERROR_INDICATION);
    // Its place is taken again and again; the endpoint stays theirs.
    for n in 0..600 {
        let created = net.create(create_request(2, "internet")).unwrap();
        assert_ne!(created.teid_control, shared, "{n}");
    }
    assert_eq!(delete(&mut net, 6), Cause::RequestAccepted);
    // By that of the second, which nobody was told, none is found.
    assert_eq!(net.update(7, None), Cause::RequestAccepted);
    assert_eq!(delete(&mut net, 7), Cause::RequestAccepted);
    assert_eq!(delete(&mut net, 7), Cause::NonExistent);
    assert_eq!(net.ggsn.context_count(), 1);
}
