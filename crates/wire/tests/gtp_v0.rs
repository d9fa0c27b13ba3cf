//! GTPv0: vectors, and properties of its parsers.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::DecodeErrorKind;
use gannet_wire::gtp::v0::message::{self, CreateRequest, CreateResponse, DeleteRequest, UpdateRequest};
use gannet_wire::gtp::v0::{Header, LEN, Message, emit_datagram};
use gannet_wire::gtp::value::{QosR97, SelectionMode};
use gannet_wire::gtp::{Cause, EndUserAddress, Msisdn, cause};
use gannet_wire::id::{FlowLabel, Imsi, Nsapi, Tid};
use gannet_wire::l3::ie::Octets;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn tid() -> Tid {
    Tid { imsi: "240010123456789".parse().unwrap(), nsapi: Nsapi(5) }
}

/// A Create PDP Context Request by hand, element by element.
fn request_octets() -> Vec<u8> {
    octets(concat!(
        "1e1000344800", // header up to the sequence number
        "0000ffffffff",
        "4200012143658759",
        "0623121f",                 // quality of service
        "0e12",                     // recovery
        "0ffd",                     // selection mode
        "100102",                   // flow label data I
        "110304",                   // flow label signalling
        "800002f121",               // end user address
        "83000908696e7465726e6574", // APN
        "8500047f000001",
        "8500047f000001",
        "860003916407", // MSISDN
    ))
}

fn create_request() -> CreateRequest {
    CreateRequest {
        qos: QosR97([0x23, 0x12, 0x1f]),
        recovery: Some(0x12),
        selection_mode: SelectionMode::MsNotVerified,
        flow_data: FlowLabel(0x0102),
        flow_signalling: FlowLabel(0x0304),
        end_user_address: EndUserAddress::Ipv4(None),
        apn: "internet".parse().unwrap(),
        pco: None,
        sgsn_control: SGSN,
        sgsn_user: SGSN,
        msisdn: Msisdn { nature_and_plan: 0x91, tbcd: Octets::from_start(&[0x64, 0x07]) },
        private_extension: None,
    }
}

#[test]
fn a_create_request_by_hand() {
    let mut datagram = request_octets();
    datagram[3] = u8::try_from(datagram.len() - LEN).unwrap();
    let (header, range) = Header::parse(&datagram).unwrap();
    assert_eq!(header, Header::of_tunnel(16, 0x4800, tid(), FlowLabel(0)));
    let message = Message::parse(header.message, &datagram[range.clone()]).unwrap();
    assert_eq!(message, create_request().into());
    let mut again = Vec::new();
    assert!(emit_datagram(header, &message, &mut again));
    assert_eq!(again, datagram);
    assert_eq!(message::signalling_flow(&datagram[range.clone()]), Some(FlowLabel(0x0304)));
    // Without its MSISDN, which version 0 makes mandatory.
    let error = Message::parse(16, &datagram[range.start..range.end - 6]).unwrap_err();
    assert_eq!((error.kind, error.ie), (DecodeErrorKind::Missing, "MS International PSTN/ISDN Number"));
    assert_eq!(cause(&error), Cause::MandatoryIeMissing);
}

#[test]
fn elements_are_those_of_version_0() {
    // The NSAPI of version 1 is an unknown TV element; its endpoints are longer than flow labels.
    let kind = |payload: &[u8]| Message::parse(20, payload).unwrap_err().kind;
    assert_eq!(kind(&[20, 5]), DecodeErrorKind::Truncated { needed: 1, have: 1 });
    let error = Message::parse(17, &[1, 128, 16, 0, 0, 0, 1]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::OutOfSequence);
    assert_eq!(Message::parse(20, &[]), Ok(DeleteRequest { private_extension: None }.into()));
    // Anonymous access, and what only version 1 has.
    for kind in [22, 23, 24, 25, 31, 32, 255] {
        assert_eq!(Message::parse(kind, &[]).unwrap_err().kind, DecodeErrorKind::UnknownMessage(kind));
    }
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn messages() -> impl Strategy<Value = Message> {
    let request = (any::<[u8; 3]>(), any::<Option<u8>>(), any::<(u16, u16)>(), addresses(), addresses());
    let request = request.prop_map(|(qos, recovery, (data, signalling), sgsn_control, sgsn_user)| {
        let (flow_data, flow_signalling) = (FlowLabel(data), FlowLabel(signalling));
        let qos = QosR97(qos);
        CreateRequest {
            qos,
            recovery,
            flow_data,
            flow_signalling,
            sgsn_control,
            sgsn_user,
            ..create_request()
        }
    });
    let request = request.boxed();
    let update = request.clone().prop_map(|request| UpdateRequest {
        qos: request.qos,
        recovery: request.recovery,
        flow_data: request.flow_data,
        flow_signalling: request.flow_signalling,
        sgsn_control: request.sgsn_control,
        sgsn_user: request.sgsn_user,
        private_extension: None,
    });
    let response =
        (any::<u8>(), any::<Option<u32>>(), any::<Option<u16>>(), proptest::option::of(addresses()));
    let response = response.prop_map(|(cause, charging_id, flow, address)| CreateResponse {
        cause: Cause::from_octet(cause),
        qos: flow.map(|flow| QosR97([flow.to_be_bytes()[0], 2, 3])),
        reordering_required: flow.map(|flow| flow & 1 == 1),
        recovery: None,
        flow_data: flow.map(FlowLabel),
        flow_signalling: flow.map(FlowLabel),
        charging_id,
        end_user_address: address.map(|_| EndUserAddress::Ipv4(Some(Ipv4Addr::new(10, 0, 0, 1)))),
        pco: flow.map(|flow| flow.to_be_bytes().to_vec()),
        ggsn_control: address,
        ggsn_user: address,
        charging_gateway: None,
        private_extension: None,
    });
    prop_oneof![
        request.prop_map(Message::from),
        update.prop_map(Message::from),
        response.prop_map(Message::from)
    ]
}

fn tids() -> impl Strategy<Value = Tid> {
    (proptest::collection::vec(0_u8..10, 1..16), 0_u8..16)
        .prop_map(|(digits, nsapi)| Tid { imsi: Imsi::from_digits(digits).unwrap(), nsapi: Nsapi(nsapi) })
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in messages(), tid in tids(), numbers in any::<(u16, u16, Option<u8>)>()) {
        let (sequence, flow, llc_number) = numbers;
        let header = Header { llc_number, ..Header::of_tunnel(message.message_type(), sequence, tid, FlowLabel(flow)) };
        let mut datagram = Vec::new();
        prop_assert!(emit_datagram(header, &message, &mut datagram));
        let (read, range) = Header::parse(&datagram).unwrap();
        prop_assert_eq!((read, read.tid()), (header, Some(tid)));
        prop_assert_eq!(Message::parse(read.message, &datagram[range]).unwrap(), message);
    }

    #[test]
    fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..120), kind in any::<u8>()) {
        let _ = Message::parse(kind, &octets);
        let _ = message::signalling_flow(&octets);
        if let Ok((header, range)) = Header::parse(&octets) {
            prop_assert!(range.end <= octets.len());
            let _ = (header.tid(), Message::parse(header.message, &octets[range]));
        }
    }
}
