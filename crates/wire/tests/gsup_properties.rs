//! GSUP: messages of a real phone's attach, and properties of the parsers.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::gsup::{
    AuthRequest, AuthTuple, AuthVectors, Body, Cancel, CancelType, CnDomain, DeleteData, Domain, Envelope,
    IsdnAddress, LocationUpdate, Message, MessageClass, PdpInfo, Purge, PurgeResult, Quintuplet, Refusal,
    SubscribedApn, Subscription, Triplet, cause,
};
use gannet_wire::gtp::value::{Msisdn, Qos};
use gannet_wire::id::Imsi;
use gannet_wire::ipa::{Ccm, IdTag, put_extension};
use gannet_wire::l3::ie::{GmmCause, Octets, PdpAddress, QosProfile};
use gannet_wire::{DecodeErrorKind, ipa};
use proptest::option::of as some;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// TCP segments of a real core, from attach to the first keep-alive.
const CAPTURED: &[&str] = &[
    "000fee0508010800010100000000f1280101",
    concat!(
        "00c0ee050a010800010100000000f1",
        "0322201017c59020272e2a0fdc5385903805d7d821048b17cb4422089efdbf58ecdde800",
        "032220109f17ad3abca0c9cee1cf3735d460711221042619d2902208aa8d5e9f4e1ce800",
        "03222010e03082b04b88959b3409476206885c1a210415a7500b2208ed254e6221a77800",
        "0322201052fd5021269c148214a3479f0c61521b210476c5f843220804517672f2cd1800",
        "032220109cdb5c8efb2f4e02e416ab324332c07d2104753f37082208c9a22b2cc1edf000",
    ),
    "0012ee0504010800010100000000f12801012a0101",
    "001dee0510010800010100000000f1080302011005071001011202012a280101",
    "000fee0512010800010100000000f1280101",
    "000cee0506010800010100000000f1",
    "0001fe00",
    "0001fe01",
];

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn a_real_attach_is_read_and_written_again() {
    let stream: Vec<u8> = CAPTURED.iter().flat_map(|segment| octets(segment)).collect();
    let (mut again, mut bodies) = (Vec::new(), Vec::new());
    let mut rest = &stream[..];
    while let Some((message, taken)) = ipa::first(rest, 4096).unwrap() {
        rest = &rest[taken..];
        if message.protocol == ipa::PROTOCOL_CCM {
            Ccm::parse(message.payload).unwrap().emit(&mut again);
            continue;
        }
        let (extension, content) = message.extension().unwrap();
        let parsed = Message::parse(content).unwrap();
        assert_eq!(parsed.imsi.to_string(), "001010000000001");
        assert!(put_extension(extension, &parsed.to_vec(), &mut again));
        bodies.push(parsed.body);
    }
    assert_eq!(again, stream);
    let ps = Some(CnDomain::PacketSwitched);
    assert_eq!(bodies[0], Body::SendAuthInfoRequest(AuthRequest { auts: None, rand: None, cn_domain: ps }));
    let Body::SendAuthInfoResult(vectors) = &bodies[1] else { panic!("{bodies:?}") };
    assert_eq!(vectors.tuples.len(), 5);
    assert_eq!(vectors.tuples[0].rand.to_vec(), octets("17c59020272e2a0fdc5385903805d7d8"));
    let triplet = vectors.tuples[4].triplet.unwrap();
    assert_eq!(
        (triplet.sres.to_vec(), triplet.kc.to_vec()),
        (octets("753f3708"), octets("c9a22b2cc1edf000"))
    );
    assert_eq!(
        bodies[2],
        Body::UpdateLocationRequest(LocationUpdate { cn_domain: ps, current_rat: Some(1) })
    );
    let Body::InsertSubscriberDataRequest(data) = &bodies[3] else { panic!("{bodies:?}") };
    assert_eq!(data.msisdn.unwrap().to_string(), "1001");
    let any = Some(SubscribedApn::Any);
    assert_eq!(
        data.pdp_infos,
        [PdpInfo { context_id: 1, address: None, apn: any, qos: None, charging: None }]
    );
    assert_eq!(bodies[4], Body::InsertSubscriberDataResult(Domain { cn_domain: ps }));
}

#[test]
fn keys_are_not_printed() {
    let tuple = AuthTuple {
        rand: [1; 16],
        triplet: Some(Triplet { sres: [222; 4], kc: [222; 8] }),
        quintuplet: Some(Quintuplet {
            ik: [222; 16],
            ck: [222; 16],
            autn: [222; 16],
            res: Octets::from_start(&[222; 8]),
        }),
    };
    let printed = format!("{tuple:?}");
    assert!(!printed.contains("222") && !printed.contains("de"), "{printed}");
}

#[test]
fn unknown_elements_are_skipped_and_known_ones_must_be_right() {
    let imsi = "010800010100000000f1";
    let parse = |hex: &str| Message::parse(&octets(hex));
    let known = parse(&format!("12{imsi}280101")).unwrap();
    assert_eq!(parse(&format!("12ff03010203{imsi}7700280101")), Ok(known.clone()));
    assert_eq!(
        parse(&format!("12{imsi}2801010200")),
        Ok(known),
        "a message has no cause that is not its own"
    );
    let faults = [
        ("", DecodeErrorKind::Truncated { needed: 1, have: 0 }, GmmCause::InvalidMandatoryInformation),
        ("77", DecodeErrorKind::UnknownMessage(0x77), GmmCause::MessageTypeNonExistent),
        ("12", DecodeErrorKind::Missing, GmmCause::InvalidMandatoryInformation),
        ("120101a1", DecodeErrorKind::BadValue(0xa1), GmmCause::InvalidMandatoryInformation),
        ("12010900010100000000f100", DecodeErrorKind::BadLength(9), GmmCause::InvalidMandatoryInformation),
        (
            "1201080001",
            DecodeErrorKind::Truncated { needed: 8, have: 2 },
            GmmCause::InvalidMandatoryInformation,
        ),
        ("05010100", DecodeErrorKind::Missing, GmmCause::InvalidMandatoryInformation),
    ];
    for (hex, kind, told) in faults {
        let error = parse(hex).unwrap_err();
        assert_eq!((error.kind, cause(&error)), (kind, told), "{hex}: {error}");
    }
    // Where it is, seen from the start of the message.
    let error = parse("1401010010020101").unwrap_err();
    assert_eq!((error.ie, error.offset), ("PDP Context ID", 6), "none is not all");
    let envelope = |hex: &str| Envelope::of(&octets(hex));
    let found = envelope("770101006002484c").unwrap();
    assert_eq!((found.kind, found.imsi, found.is_request()), (0x77, "00".parse().unwrap(), false));
    assert_eq!((found.source, envelope("1002")), (Some(b"HL".to_vec()), None));
    let told = envelope("3001010060024841").unwrap();
    assert!(told.is_request());
    assert_eq!(told.refusal(GmmCause::MessageTypeNonExistent), octets("3101010002016161024841"));
}

/// The subscription of one InsertSubscriberDataRequest, and the names of the elements that were left out.
fn inserted(hex: &str) -> (Subscription, Vec<&'static str>) {
    let (message, skipped) = Message::parse_naming(&octets(&format!("10010100{hex}"))).unwrap();
    let Body::InsertSubscriberDataRequest(data) = message.body else { panic!("{message:?}") };
    (data, skipped.into_iter().map(|error| error.ie).collect())
}

#[test]
fn an_unreadable_element_is_an_absent_one_and_is_named() {
    // The wildcard and a name as plain characters; nothing is left out of these.
    let apn = |hex: &str| {
        let len = hex.len() / 2;
        let (data, skipped) = inserted(&format!("05{:02x}10010112{len:02x}{hex}", len + 5));
        (data.pdp_infos[0].apn.clone().unwrap(), skipped)
    };
    let name = |text: &str| SubscribedApn::Name(text.parse().unwrap());
    assert_eq!(apn("2a"), (SubscribedApn::Any, vec![]));
    assert_eq!(apn("696e7465726e6574"), (name("internet"), vec![]));
    assert_eq!(apn("08696e7465726e6574"), (name("internet"), vec![]));
    for unreadable in ["", "0561", "ff", "612062", "2a2a"] {
        assert_eq!(apn(unreadable), (SubscribedApn::Unreadable, vec!["Access Point Name"]), "{unreadable}");
    }
    // Quality of service: empty is not said, and two octets are the least. Address: the type stays.
    let (data, skipped) = inserted("050510010113000507100102130200000508100103110303210a");
    let infos = &data.pdp_infos;
    let qos: Vec<_> = infos.iter().map(|info| info.qos.map(|qos| qos.value.as_slice().to_vec())).collect();
    assert_eq!(qos, [None, Some(PdpInfo::LEAST_QOS.to_vec()), None]);
    assert_eq!(infos.len(), 3);
    assert_eq!(skipped, ["Quality of Service"; 2]);
    let (data, skipped) = inserted("0508100103110301210a");
    assert_eq!(data.pdp_infos[0].address, Some(PdpAddress::Ipv4Dynamic));
    assert_eq!(skipped.len(), 1);
    // A piece that cannot be taken apart, or whose type cannot be read, allows nothing under its number.
    for hex in ["0505100103111e", "0506100103110101"] {
        let (data, skipped) = inserted(hex);
        assert_eq!((data.pdp_infos[0].context_id, skipped.len()), (3, 1), "{hex}");
        assert_eq!(data.pdp_infos[0].apn, Some(SubscribedApn::Unreadable), "{hex}");
    }
    // A piece without a number, a telephone number, a domain and charging characteristics of impossible lengths.
    let (data, skipped) = inserted("0503110121080207f128010314010105031001072a0101");
    assert_eq!((data.pdp_infos.len(), data.msisdn, data.cn_domain, data.charging), (1, None, None, None));
    assert_eq!(skipped, ["MSISDN", "PDP Context ID", "PDP-Charging Characteristics", "CN Domain"]);
}

#[test]
fn a_vector_is_whole_or_is_none() {
    let of = |tuple: &str| {
        let hex = format!("0a01010003{:02x}{tuple}", tuple.len() / 2);
        let (message, skipped) = Message::parse_naming(&octets(&hex)).unwrap();
        let Body::SendAuthInfoResult(vectors) = message.body else { panic!("{message:?}") };
        (vectors.tuples, skipped.len())
    };
    let [rand, ik, ck, autn] = ["20", "23", "24", "25"].map(|iei| format!("{iei}10{}", "22".repeat(16)));
    let (sres, kc, res) = ("210400000000", "22080000000000000000", "270400000000");
    let (tuples, skipped) = of(&format!("{rand}{ik}{ck}{autn}{res}{sres}220101"));
    assert_eq!((tuples.len(), tuples[0].triplet, skipped), (1, None, 1));
    assert!(tuples[0].quintuplet.is_some());
    // The triplet of a quintuplet that is not whole: that mobile is not asked less.
    let (tuples, skipped) = of(&format!("{rand}{ik}{ck}250100{res}{sres}{kc}"));
    assert_eq!((tuples.len(), skipped), (0, 2));
    let (tuples, skipped) = of(&format!("{rand}{sres}"));
    assert_eq!((tuples.len(), skipped), (0, 1));
}

#[test]
fn numbers_of_both_kinds() {
    let data = |hex: &str| match Message::parse(&octets(&format!("1001010{hex}"))).unwrap().body {
        Body::InsertSubscriberDataRequest(data) => data.msisdn.unwrap(),
        other => panic!("{other:?}"),
    };
    let (told, untold) = (data("008039121f3"), data("00803022143"));
    assert_eq!((told.to_string().as_str(), untold.to_string().as_str()), ("123", "1234"));
    assert_eq!(Msisdn::from(untold).nature_and_plan, 0x91);
    assert_eq!(Msisdn::from(told).nature_and_plan, 0x91);
}

// -------------------------------------------------------------------------------------------------- any message

fn imsi() -> impl Strategy<Value = Imsi> {
    proptest::collection::vec(0..10_u8, 1..=15).prop_map(|digits| Imsi::from_digits(digits).unwrap())
}

fn domain() -> impl Strategy<Value = Option<CnDomain>> {
    some(proptest::sample::select(CnDomain::ALL))
}

fn address() -> impl Strategy<Value = IsdnAddress> {
    let kind = some(0x80..=0xff_u8);
    (kind, proptest::collection::vec(any::<u8>(), 0..=8)).prop_map(|(nature_and_plan, digits)| IsdnAddress {
        nature_and_plan,
        tbcd: Octets::from_start(&digits),
    })
}

fn qos() -> impl Strategy<Value = Qos> {
    let value = proptest::collection::vec(any::<u8>(), 3..=19);
    (any::<u8>(), value).prop_map(|(allocation_retention, value)| Qos {
        allocation_retention,
        value: Octets::from_start(&value),
    })
}

fn pdp_info() -> impl Strategy<Value = PdpInfo> {
    let addresses = prop_oneof![
        Just(PdpAddress::Ipv4Dynamic),
        any::<[u8; 4]>().prop_map(|octets| PdpAddress::Ipv4(Ipv4Addr::from(octets))),
        any::<[u8; 16]>().prop_map(|octets| PdpAddress::Ipv6(Ipv6Addr::from(octets))),
        Just(PdpAddress::Ppp),
    ];
    let apns = prop_oneof![
        Just(SubscribedApn::Any),
        "[a-z0-9]{1,20}(\\.[a-z0-9-]{1,20}){0,3}".prop_map(|name| SubscribedApn::Name(name.parse().unwrap())),
    ];
    (any::<u8>(), some(addresses), some(apns), some(qos()), some(any::<u16>())).prop_map(
        |(context_id, address, apn, qos, charging)| PdpInfo { context_id, address, apn, qos, charging },
    )
}

fn tuple() -> impl Strategy<Value = AuthTuple> {
    let triplet = any::<([u8; 4], [u8; 8])>().prop_map(|(sres, kc)| Triplet { sres, kc });
    let res = proptest::collection::vec(any::<u8>(), 4..=16).prop_map(|res| Octets::from_start(&res));
    let quintuplet =
        (any::<[[u8; 16]; 3]>(), res).prop_map(|([ik, ck, autn], res)| Quintuplet { ik, ck, autn, res });
    (any::<[u8; 16]>(), some(triplet), some(quintuplet))
        .prop_filter("one at least", |(_, triplet, quintuplet)| triplet.is_some() || quintuplet.is_some())
        .prop_map(|(rand, triplet, quintuplet)| AuthTuple { rand, triplet, quintuplet })
}

fn subscription() -> impl Strategy<Value = Subscription> {
    let infos = proptest::collection::vec(pdp_info(), 0..=10);
    (some(address()), some(address()), any::<bool>(), infos, some(any::<u16>()), domain()).prop_map(
        |(msisdn, hlr_number, pdp_info_complete, pdp_infos, charging, cn_domain)| Subscription {
            msisdn,
            hlr_number,
            pdp_info_complete,
            pdp_infos,
            charging,
            cn_domain,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let refusal = || {
        (any::<u8>(), domain())
            .prop_map(|(code, cn_domain)| Refusal { cause: GmmCause::from_code(code), cn_domain })
    };
    let plain = || domain().prop_map(|cn_domain| Domain { cn_domain });
    prop_oneof![
        (domain(), some(any::<u8>())).prop_map(|(cn_domain, current_rat)| {
            Body::UpdateLocationRequest(LocationUpdate { cn_domain, current_rat })
        }),
        subscription().prop_map(Body::UpdateLocationResult),
        subscription().prop_map(Body::InsertSubscriberDataRequest),
        (some(any::<[u8; 14]>()), some(any::<[u8; 16]>()), domain()).prop_map(|(auts, rand, cn_domain)| {
            Body::SendAuthInfoRequest(AuthRequest { auts, rand, cn_domain })
        }),
        (proptest::collection::vec(tuple(), 0..=5), domain())
            .prop_map(|(tuples, cn_domain)| Body::SendAuthInfoResult(AuthVectors { tuples, cn_domain })),
        (some(address()), domain())
            .prop_map(|(hlr_number, cn_domain)| Body::PurgeMsRequest(Purge { hlr_number, cn_domain })),
        (any::<bool>(), domain()).prop_map(|(freeze_ptmsi, cn_domain)| Body::PurgeMsResult(PurgeResult {
            freeze_ptmsi,
            cn_domain
        })),
        (proptest::collection::vec(any::<u8>(), 0..=10), domain()).prop_map(|(context_ids, cn_domain)| {
            Body::DeleteSubscriberDataRequest(DeleteData { context_ids, cn_domain })
        }),
        (some(proptest::sample::select(CancelType::ALL)), domain()).prop_map(|(cancel_type, cn_domain)| {
            Body::LocationCancelRequest(Cancel { cancel_type, cn_domain })
        }),
        refusal().prop_map(Body::UpdateLocationError),
        refusal().prop_map(Body::SendAuthInfoError),
        refusal().prop_map(Body::PurgeMsError),
        refusal().prop_map(Body::InsertSubscriberDataError),
        refusal().prop_map(Body::DeleteSubscriberDataError),
        refusal().prop_map(Body::LocationCancelError),
        plain().prop_map(Body::AuthFailureReport),
        plain().prop_map(Body::InsertSubscriberDataResult),
        plain().prop_map(Body::DeleteSubscriberDataResult),
        plain().prop_map(Body::LocationCancelResult),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let name = || some(proptest::collection::vec(any::<u8>(), 0..=255));
    (imsi(), some(proptest::sample::select(MessageClass::ALL)), body(), name(), name()).prop_map(
        |(imsi, class, body, source, destination)| Message { imsi, class, body, source, destination },
    )
}

fn ccm() -> impl Strategy<Value = Ccm> {
    let tag = || any::<u8>().prop_map(IdTag::from_octet);
    let value = proptest::collection::vec(1..=255_u8, 0..40);
    prop_oneof![
        Just(Ccm::Ping),
        Just(Ccm::Pong),
        Just(Ccm::IdAck),
        proptest::collection::vec(tag(), 0..10).prop_map(Ccm::IdGet),
        proptest::collection::vec((tag(), value), 0..10).prop_map(Ccm::IdResp),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        prop_assert_eq!(Message::parse(&message.to_vec()), Ok(message));
    }

    #[test]
    fn link_management_is_read_back(ccm in ccm()) {
        prop_assert_eq!(Ccm::parse(&ccm.to_vec()[ipa::HEADER_LEN..]), Ok(ccm));
    }

    #[test]
    fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (Envelope::of(&octets), Ccm::parse(&octets));
        if let Ok(message) = Message::parse(&octets) {
            prop_assert_eq!(Message::parse(&message.to_vec()), Ok(message));
        }
        let mut rest = &octets[..];
        while let Ok(Some((message, taken))) = ipa::first(rest, 64) {
            prop_assert!(message.payload.len() <= 64 && taken == ipa::HEADER_LEN + message.payload.len());
            rest = &rest[taken..];
        }
    }

    /// Whatever one octet is changed to, or where the message is cut.
    #[test]
    fn damage_is_an_error_or_another_message(message in message(), at in any::<prop::sample::Index>(), octet in any::<u8>()) {
        let mut octets = message.to_vec();
        let at = at.index(octets.len());
        let _ = Message::parse(&octets[..at]);
        octets[at] = octet;
        if let Ok(other) = Message::parse(&octets) {
            prop_assert_eq!(Message::parse(&other.to_vec()), Ok(other));
        }
    }
}

#[test]
fn subscribed_quality_of_service() {
    let profile = QosProfile::BEST_EFFORT;
    let r97 = Qos::new(0, &profile);
    assert_eq!(r97.value.len(), 3);
    let info = |qos| PdpInfo { context_id: 3, address: None, apn: None, qos: Some(qos), charging: None };
    for (qos, len) in [(r97, 3), (Qos::new(2, &profile), 4)] {
        let subscription = Subscription {
            msisdn: None,
            hlr_number: None,
            pdp_info_complete: true,
            pdp_infos: vec![info(qos)],
            charging: None,
            cn_domain: None,
        };
        let message = Message::new("262".parse().unwrap(), Body::InsertSubscriberDataRequest(subscription));
        let octets = message.to_vec();
        assert_eq!(octets[12..14], [0x13, len]);
        assert_eq!(Message::parse(&octets), Ok(message));
        assert_eq!(qos.profile(), profile);
    }
}
