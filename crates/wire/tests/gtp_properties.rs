//! GTP: messages of a real phone's PDP context, and properties of the parsers.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::gtp::header::{ExtensionHeader, Repr, message_type};
use gannet_wire::gtp::v1c::{self, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::value::SelectionMode;
use gannet_wire::gtp::{
    Cause, EndUserAddress, Header, Message, Qos, UserLocation, UserLocationKind, cause, ie, pco,
};
use gannet_wire::id::{Nsapi, Plmn, Rai, Teid};
use gannet_wire::l3::ie::Octets;
use gannet_wire::{DecodeError, DecodeErrorKind};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn parse(datagram: &[u8]) -> (Header, Message) {
    let header = Header::parse(datagram).unwrap();
    let message = Message::parse(header.message, header.payload(datagram)).unwrap();
    (header, message)
}

fn emit(header: &Header, message: &Message) -> Vec<u8> {
    let mut datagram = Vec::new();
    assert!(emit_datagram(header.teid, header.sequence.unwrap(), message, &mut datagram));
    datagram
}

/// Create PDP Context Request of an SGSN for a real phone.
fn captured_request() -> Vec<u8> {
    octets(concat!(
        "321000750000000048000000",
        "0200010100000000f1",
        "0300f110fffeff",
        "0e12",
        "0ffc",
        "1000000001",
        "1100000001",
        "1406",
        "800002f121",
        "83000908696e7465726e6574",
        "8500047f000001",
        "8500047f000001",
        "860003020110",
        "87000f000000000000000000000000000000",
        "97000102",
        "98000800",
        "00f1100001001b",
        "9a00080000000000",
        "0000f0",
    ))
}

fn captured_response() -> Vec<u8> {
    octets(concat!(
        "321100420000000148000000",
        "0180",
        "08fe",
        "0e11",
        "1000000001",
        "1100000001",
        "7f00000001",
        "800006f121ac10de01",
        "8500047f000002",
        "8500047f000002",
        "87000f000000000000000000000000000000",
    ))
}

#[test]
fn a_real_create_request() {
    let datagram = captured_request();
    let (header, message) = parse(&datagram);
    assert_eq!((header.teid, header.sequence), (Teid(0), Some(0x4800)));
    let Message::CreateRequest(request) = &message else { panic!("{message:?}") };
    let plmn = Plmn::from_octets([0x00, 0xf1, 0x10]);
    let sgsn = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert_eq!(request.imsi.unwrap().to_string(), "001010000000001");
    assert_eq!(request.rai, Some(Rai { plmn, lac: 0xfffe, rac: 0xff }));
    assert_eq!(request.recovery, Some(18));
    assert_eq!(request.selection_mode, Some(SelectionMode::Verified));
    assert_eq!((request.teid_data, request.teid_control), (Teid(1), Some(Teid(1))));
    assert_eq!((request.nsapi, request.linked_nsapi), (Nsapi(6), None));
    assert_eq!(request.end_user_address, Some(EndUserAddress::Ipv4(None)));
    assert_eq!(request.apn.as_ref().unwrap().to_string(), "internet");
    assert_eq!((request.sgsn_control, request.sgsn_user), (sgsn, sgsn));
    assert_eq!(request.msisdn.unwrap().to_string(), "1001");
    assert_eq!(request.qos, Qos { allocation_retention: 0, value: Octets::from_start(&[0; 14]) });
    assert_eq!(request.rat_type, Some(v1c::RAT_TYPE_GERAN));
    let kind = UserLocationKind::Cgi;
    assert_eq!(request.user_location, Some(UserLocation { kind, plmn, lac: 1, code: 27 }));
    assert_eq!(request.imeisv.unwrap().to_string(), "000000000000000");
    assert_eq!(emit(&header, &message), datagram);
}

#[test]
fn a_real_create_response() {
    let datagram = captured_response();
    let (header, message) = parse(&datagram);
    let Message::CreateResponse(response) = &message else { panic!("{message:?}") };
    let created = response.created().unwrap();
    assert_eq!(response.cause, Cause::RequestAccepted);
    assert_eq!((created.teid_data, created.teid_control, created.charging_id), (Teid(1), Teid(1), 1));
    assert_eq!(created.end_user_address, EndUserAddress::Ipv4(Some(Ipv4Addr::new(172, 16, 222, 1))));
    assert_eq!(created.ggsn_user, IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)));
    assert!(!created.reordering_required);
    assert_eq!(emit(&header, &message), datagram);
    let refused = v1c::CreateResponse::refused(Cause::NonExistent);
    assert_eq!(refused.created(), Err(DecodeError::missing("Tunnel Endpoint Identifier Data I")));
}

/// Every mandatory element of a request, taken away, makes the cause "mandatory IE missing"; cut short anywhere, the
/// request is refused and never half read.
#[test]
fn mandatory_elements_of_a_create_request() {
    let datagram = captured_request();
    let payload = &datagram[12..];
    for (element, len) in [(&[0x10, 0, 0, 0, 1][..], 5), (&[0x14, 6], 2), (&[0x87, 0, 15], 18)] {
        let at = payload.windows(element.len()).position(|window| window == element).unwrap();
        let without = [&payload[..at], &payload[at + len..]].concat();
        let error = Message::parse(message_type::CREATE_REQUEST, &without).unwrap_err();
        assert_eq!(cause(&error), Cause::MandatoryIeMissing, "{error}");
        assert_eq!(v1c::control_teid(&without), Some(Teid(1)));
    }
    // A quality of service of two octets.
    let mut short = payload.to_vec();
    let at = short.windows(3).position(|window| window == [0x87, 0, 15]).unwrap();
    short.splice(at..at + 18, [0x87, 0, 2, 1, 2]);
    let error = Message::parse(message_type::CREATE_REQUEST, &short).unwrap_err();
    assert_eq!((cause(&error), error.offset), (Cause::MandatoryIeIncorrect, at));
    // An optional element that cannot be read counts as absent.
    let mut strange = payload.to_vec();
    let at = strange.windows(4).position(|window| window == [0x98, 0, 8, 0]).unwrap();
    strange[at + 3] = 77;
    match Message::parse(message_type::CREATE_REQUEST, &strange).unwrap() {
        Message::CreateRequest(request) => assert_eq!(request.user_location, None),
        other => panic!("{other:?}"),
    }
}

#[test]
fn refusals_fit_their_requests() {
    for kind in 0..=255 {
        let refusal = v1c::refusal(kind, Cause::SystemFailure);
        if let Some(message) = &refusal {
            assert_eq!(Some(message.message_type()), v1c::response_to(kind));
        }
        assert_eq!(refusal.is_some(), v1c::is_request(kind) && kind != message_type::ECHO_REQUEST);
    }
    let error = Message::parse(99, &[]).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::UnknownMessage(99));
}

/// Elements in ascending order, some of them repeated, some unknown, with values of plausible length.
fn elements() -> impl Strategy<Value = Vec<u8>> {
    let tlv = prop_oneof![128_u8..=154, Just(251), Just(255)];
    let kind = prop_oneof![
        3 => prop::sample::select(vec![1_u8, 2, 3, 8, 14, 15, 16, 17, 19, 20, 20, 26, 27, 28, 127]),
        3 => tlv,
    ];
    let value = prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..24),
        1 => Just(vec![192, 0, 2, 1]),
        1 => Just(vec![0xf1, 0x21]),
        1 => Just(b"\x03abc".to_vec()),
        1 => Just(vec![0; 8]),
    ];
    // What every message wants, so that many soups are messages.
    let always = [(16, vec![0, 0, 0, 1]), (17, vec![0; 4]), (20, vec![5]), (1, vec![128]), (14, vec![1])];
    let more = [(133, vec![1, 2, 3, 4]), (133, vec![1, 2, 3, 4]), (135, vec![1; 4]), (141, vec![0xc0])];
    let rest = [(2, vec![0x11; 8]), (128, vec![0xf1, 0x21]), (131, b"\x01a".to_vec())];
    prop::collection::vec((kind, value), 0..12).prop_map(move |mut list| {
        list.extend(always.iter().chain(&more).chain(&rest).cloned());
        list.sort_by_key(|(kind, _)| *kind);
        let mut payload = Vec::new();
        for (kind, mut value) in list {
            payload.push(kind);
            match ie::tv_len(kind) {
                Some(len) => value.resize(len, 0),
                None if kind == ie::EXTENSION_HEADER_TYPES => {
                    payload.push(u8::try_from(value.len()).unwrap())
                }
                None => payload.extend(u16::try_from(value.len()).unwrap().to_be_bytes()),
            }
            payload.extend(value);
        }
        payload
    })
}

const MESSAGES: &[u8] = &[1, 2, 3, 16, 17, 18, 19, 20, 21, 26, 27, 28, 29, 30, 31];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What was read and is written is read alike.
    #[test]
    fn messages_are_kept(kind in prop::sample::select(MESSAGES), payload in elements()) {
        if let Ok(message) = Message::parse(kind, &payload) {
            let mut again = Vec::new();
            message.emit(&mut again);
            prop_assert_eq!(Message::parse(kind, &again), Ok(message));
        }
    }

    /// No octets make a parser panic; a payload lies within its datagram.
    #[test]
    fn any_octets(octets in prop::collection::vec(any::<u8>(), 0..96), flags in 0x30_u8..0x38, kind: u8) {
        let _ = Header::parse(&octets);
        let _ = pco::parse(&octets);
        let _ = Message::parse(kind, &octets);
        for kind in MESSAGES {
            let _ = Message::parse(*kind, &octets);
        }
        let mut datagram = octets;
        if let [first, _, high, low, ..] = datagram.as_mut_slice() {
            (*first, *high, *low) = (flags, 0, *low & 0x3f);
        }
        if let Ok(header) = Header::parse(&datagram) {
            prop_assert!(header.payload_range().end <= datagram.len());
            prop_assert_eq!(header.payload(&datagram).len(), header.payload_range().len());
        }
    }

    /// A real request with some octets changed or cut.
    #[test]
    fn damaged_requests(at in 0_usize..125, octet: u8, len in 0_usize..126) {
        let mut datagram = captured_request();
        datagram[at] = octet;
        let _ = Header::parse(&datagram).map(|header| Message::parse(header.message, header.payload(&datagram)));
        let payload = &datagram[12..];
        let _ = Message::parse(16, &payload[..len.min(payload.len())]);
    }

    /// Headers with any fields and extension headers are read as they were written.
    #[test]
    fn headers_are_kept(
        teid: u32,
        sequence: Option<u16>,
        npdu_number: Option<u8>,
        payload in prop::collection::vec(any::<u8>(), 0..40),
        extensions in prop::collection::vec((1_u8.., 0_usize..4), 0..4),
    ) {
        let g_pdu = GPdu { teid: Teid(teid), sequence, npdu_number };
        let mut datagram = vec![0; g_pdu.buffer_len()];
        prop_assert!(g_pdu.emit(payload.len(), &mut datagram));
        datagram.extend(&payload);
        let (read, _, range) = GPdu::parse(&datagram).unwrap();
        prop_assert_eq!((read, &datagram[range]), (g_pdu, payload.as_slice()));

        let content = [7; 14];
        let chain: Vec<_> = extensions
            .iter()
            .map(|(kind, units)| ExtensionHeader { kind: *kind, content: &content[..units * 4 + 2] })
            .collect();
        let repr = Repr { message: 255, teid: Teid(teid), sequence, npdu_number };
        let mut extended = Vec::new();
        prop_assert!(repr.emit_extended(&chain, &payload, &mut extended));
        let (read, found, range) = GPdu::parse(&extended).unwrap();
        prop_assert_eq!((read, &extended[range]), (g_pdu, payload.as_slice()));
        prop_assert_eq!(usize::from(found.count), chain.len());
        let wanted = extensions.iter().map(|(kind, _)| *kind).find(|kind| *kind >= 0x80 && *kind != 0xc0);
        prop_assert_eq!(found.not_comprehended, wanted);
    }
}
