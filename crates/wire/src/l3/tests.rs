//! Vectors from a capture of a real phone on a real core, and the error handling of clause 8.

use super::gmm::{self, *};
use super::ie::*;
use super::sm::{self, *};
use super::*;
use crate::id::{Nsapi, PTmsi, Rai, Sapi};
use Direction::{Downlink, Uplink};

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Reads a message that must give the same octets when emitted.
fn exact(direction: Direction, hex: &str) -> L3Message {
    let message = L3Message::parse(direction, &octets(hex)).unwrap();
    assert_eq!(message.to_vec(), octets(hex), "{message:?}");
    message
}

fn gmm(direction: Direction, hex: &str) -> GmmMessage {
    match L3Message::parse(direction, &octets(hex)).unwrap() {
        L3Message::Gmm(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn attach_request_of_a_phone() {
    // The last octet is the P-TMSI type of a later release: unknown, of type 1, skipped.
    let hex = "08010497070000010a0005f40000000000f00000000000190000001716e1";
    let GmmMessage::AttachRequest(request) = gmm(Uplink, hex) else { panic!() };
    assert_eq!(request.identity, MobileIdentity::PTmsi(PTmsi(0)));
    assert_eq!(request.attach_type, AttachType { kind: AttachKind::Gprs, follow_on: false });
    assert_eq!(request.drx.split_pg_cycle, 10);
    assert_eq!(request.old_rai, Rai::from_octets([0, 0xf0, 0, 0, 0, 0]));
    assert_eq!(request.ms_radio_access_capability.0, []);
    assert_eq!(request.old_ptmsi_signature, Some(PTmsiSignature(0)));
    assert_eq!(request.requested_ready_timer.unwrap().seconds(), Some(44));
    assert_eq!(request.tmsi_status, None);
    let capability = request.ms_network_capability;
    assert!(capability.supports_gea(1) && !capability.supports_gea(3) && capability.supports_gea(7));
    assert!(capability.revision_r99() && capability.ucs2() && !capability.sms_gprs());
    assert_eq!(L3Message::from(GmmMessage::from(request)).to_vec(), octets(&hex[..hex.len() - 2]));
}

#[test]
fn ciphers_of_a_mobile() {
    let typical = MsNetworkCapability::typical();
    let geas = |capability: MsNetworkCapability| -> Vec<u8> {
        (0..=8).filter(|gea| capability.supports_gea(*gea)).collect()
    };
    assert_eq!(geas(typical), [1, 2, 3]);
    assert_eq!(geas(typical.with_geas(0xff)), [1, 2, 3, 4, 5, 6, 7]);
    let two_and_four = typical.with_geas(1 << 2 | 1 << 4);
    assert_eq!(geas(two_and_four), [2, 4]);
    assert_eq!(two_and_four.0.as_slice(), [0x65, 0xd0]);
    // The rest is as it was, and what is short gets its second octet.
    assert!(two_and_four.revision_r99() && two_and_four.packet_flow_contexts());
    let short = MsNetworkCapability(Octets::from_start(&[0xe4])).with_geas(1 << 1 | 1 << 3);
    assert_eq!(short.0.as_slice(), [0xe4, 0x20]);
    assert_eq!(MsNetworkCapability(Octets::from_start(&[1, 2, 3])).with_geas(0).0.as_slice(), [1, 0, 3]);
}

#[test]
fn identity_and_authentication() {
    exact(Downlink, "081502");
    exact(Downlink, "081501");
    let L3Message::Gmm(GmmMessage::IdentityResponse(response)) = exact(Uplink, "0816080a00000000000000")
    else {
        panic!()
    };
    assert_eq!(response.identity.to_string(), "IMEI 000000000000000");
    let L3Message::Gmm(GmmMessage::IdentityResponse(response)) = exact(Uplink, "0816080910100000000010")
    else {
        panic!()
    };
    assert_eq!(response.identity, MobileIdentity::Imsi("001010000000001".parse().unwrap()));
    let message = exact(Downlink, "081210102117c59020272e2a0fdc5385903805d7d880");
    let L3Message::Gmm(GmmMessage::AuthenticationRequest(request)) = message else { panic!() };
    assert_eq!(request.reference, AcReference(1));
    assert_eq!(request.imeisv_request, ImeisvRequest::Requested);
    assert_eq!(request.rand.unwrap().0[..3], [0x17, 0xc5, 0x90]);
    assert_eq!(request.cksn, Some(Cksn(0)));
    let message = exact(Uplink, "081301228b17cb4423090300000000000000f0");
    let L3Message::Gmm(GmmMessage::AuthenticationResponse(response)) = message else { panic!() };
    assert_eq!(response.response, Some(AuthParameterResponse([0x8b, 0x17, 0xcb, 0x44])));
    assert_eq!(response.imeisv.unwrap().to_string(), "IMEISV 0000000000000000");
}

#[test]
fn attach_accept_of_a_core() {
    let message = exact(Downlink, "0802012a4400f11000010017161805f4d1992173");
    let L3Message::Gmm(GmmMessage::AttachAccept(accept)) = message else { panic!() };
    assert_eq!(accept.result, AttachResult::Gprs);
    assert_eq!(accept.periodic_ra_update_timer.seconds(), Some(600));
    assert_eq!(accept.rai.to_string(), "001-01-1-0");
    assert_eq!(accept.allocated_ptmsi, Some(MobileIdentity::PTmsi(PTmsi(0xd199_2173))));
    exact(Uplink, "0803");
}

#[test]
fn pdp_activation() {
    let L3Message::Sm { ti: 0, ti_flag: true, message: SmMessage::ActivateRequest(request) } =
        L3Message::parse(
            Uplink,
            &octets("8a4106030e0000000000000000000000000000020121280908696e7465726e6574"),
        )
        .unwrap()
    else {
        panic!()
    };
    assert_eq!((request.nsapi, request.sapi), (Nsapi(6), Sapi::DATA3));
    assert_eq!(request.address, PdpAddress::Ipv4Dynamic);
    assert_eq!(request.apn.unwrap().as_str(), "internet");
    assert_eq!(request.qos.delay, DelayClass::SUBSCRIBED);

    let hex = "0a42030e23621f72993f3f1143ffff000000042b060121ac10de01";
    let L3Message::Sm { ti: 0, ti_flag: false, message: SmMessage::ActivateAccept(accept) } =
        L3Message::parse(Downlink, &octets(hex)).unwrap()
    else {
        panic!()
    };
    assert_eq!(accept.address, Some(PdpAddress::Ipv4([172, 16, 222, 1].into())));
    assert_eq!(accept.qos.peak.octets_per_s(), Some(32_000));
    let r99 = accept.qos.r99.unwrap();
    assert_eq!(r99.traffic_class, TrafficClass::INTERACTIVE);
    assert_eq!((r99.max_sdu_octets(), r99.transfer_delay_ms()), (Some(1520), Some(200)));
    assert_eq!((r99.mbr_down.kbps(), r99.gbr_down.kbps()), (Some(63), Some(0)));
}

/// The causes that answer octets from a mobile.
fn causes(hex: &str) -> (Option<GmmCause>, Option<SmCause>) {
    let error = L3Message::parse(Uplink, &octets(hex)).unwrap_err();
    (gmm::cause(&error), sm::cause(&error))
}

#[test]
fn what_is_ignored() {
    for hex in ["", "08", "0a", "7a87", "7a", "7a0741", "7a0341", "0341", "0c", "1801", "f8"] {
        assert_eq!(causes(hex), (None, None), "{hex}");
    }
}

#[test]
fn unknown_types_and_directions() {
    for hex in ["08ff", "0802012a", "0a42", "0a7f", "0817"] {
        assert_eq!(
            causes(hex),
            (Some(GmmCause::MessageTypeNonExistent), Some(SmCause::MessageTypeNonExistent)),
            "{hex}"
        );
    }
}

#[test]
fn mandatory_elements() {
    for hex in [
        "0801",                              // nothing at all
        "0801049707000001",                  // ends in the DRX parameter
        "0801049707000001 0a00 05f4000000 ", // ends in the identity
        "081600",                            // an identity of no length
        "08160105",                          // a TMGI
        "081603f4d199",                      // a P-TMSI of two octets
        "0816020a1f",                        // an IMSI with a digit that is none
        "0a41040303000000020121",            // NSAPI 4
        "0a41050403000000020121",            // SAPI 4
        "0a410503020000020121",              // a QoS of two octets
        "0a4105030300000005012101020328",    // an address of three octets
    ] {
        let hex = hex.replace(' ', "");
        assert_eq!(
            causes(&hex),
            (Some(GmmCause::InvalidMandatoryInformation), Some(SmCause::InvalidMandatoryInformation)),
            "{hex}"
        );
    }
}

/// An Activate PDP Context Request with `tail` as its optional part.
fn activate(tail: &str) -> Result<ActivateRequest, DecodeError> {
    let head = "0a4105030323921f020121".to_owned();
    match L3Message::parse(Uplink, &octets(&(head + &tail.replace(' ', ""))))? {
        L3Message::Sm { message: SmMessage::ActivateRequest(request), .. } => Ok(request),
        other => panic!("{other:?}"),
    }
}

#[test]
fn optional_elements() {
    let apn = |request: &ActivateRequest| request.apn.as_ref().map(|apn| apn.to_string());
    let pco = |request: &ActivateRequest| request.pco.as_ref().map(|pco| pco.0.clone());
    for (tail, name, options) in [
        ("", None, None),
        ("28 02 01 61 27 01 80", Some("a"), Some(vec![0x80])),
        // Unknown, of type 1 or 2 and of type 4.
        ("9f 28 02 01 61 a1 77 01 00 27 01 80", Some("a"), Some(vec![0x80])),
        // Repeated: the first counts.
        ("28 02 01 61 28 02 01 62", Some("a"), None),
        // Out of sequence.
        ("27 01 80 28 02 01 61", None, Some(vec![0x80])),
        // Incorrect: absent.
        ("28 02 05 61 27 01 80", None, Some(vec![0x80])),
        ("28 00 27 01 80", None, Some(vec![0x80])),
        // Ends behind the message.
        ("28 05 01 61", None, None),
        ("28", None, None),
    ] {
        let request = activate(tail).unwrap();
        assert_eq!((apn(&request).as_deref(), pco(&request)), (name, options), "{tail}");
    }
    let error = activate("28 02 01 61 0f 00").unwrap_err();
    assert_eq!(sm::cause(&error), Some(SmCause::InvalidMandatoryInformation));
    assert_eq!((error.ie, error.offset), (COMPREHENSION_REQUIRED, 15));
}

#[test]
fn transaction_identifiers() {
    let status = SmMessage::from(SmStatus { cause: SmCause::InvalidTi });
    for (ti, ti_flag, hex) in
        [(0, false, "0a5551"), (6, true, "ea5551"), (7, false, "7a875551"), (127, true, "faff5551")]
    {
        let message = L3Message::Sm { ti, ti_flag, message: status.clone() };
        assert_eq!(message.to_vec(), octets(hex));
        assert_eq!(exact(Uplink, hex), message);
    }
}

#[test]
fn conditional_errors_have_their_cause() {
    let error = DecodeError::new("x", 0, DecodeErrorKind::Conditional);
    assert_eq!(gmm::cause(&error), Some(GmmCause::ConditionalIeError));
    assert_eq!(sm::cause(&error), Some(SmCause::ConditionalIeError));
}

/// A P-TMSI signature without its length, as in ATTACH REQUEST.
#[test]
fn a_detach_request_with_a_signature_without_its_length() {
    let signature_of = |tail: &str| match L3Message::parse(Uplink, &octets(&format!("080509{tail}"))).unwrap()
    {
        L3Message::Gmm(GmmMessage::DetachRequestMo(request)) => request.ptmsi_signature,
        other => panic!("{other:?}"),
    };
    let signature = Some(PTmsiSignature(0x0d_8fe1));
    for tail in ["19030d8fe1", "190d8fe1", "1805f4c123456719030d8fe1", "1805f4c1234567190d8fe1"] {
        assert_eq!(signature_of(tail), signature, "{tail}");
    }
    for tail in ["", "1805f4c1234567", "19020d8f00", "190d8f", "1805f4c12345671903"] {
        assert_eq!(signature_of(tail), None, "{tail}");
    }
}

/// A phone that writes a short transaction identifier with the extension octet means the same, and is answered without.
#[test]
fn a_short_transaction_identifier_in_the_extension_octet() {
    let [short, long] = ["3a4624", "7a834624"].map(|hex| L3Message::parse(Uplink, &octets(hex)).unwrap());
    assert_eq!(short, long);
    assert_eq!(long.to_vec(), octets("3a4624"));
}

/// What stands in front of octets that fit no element counts, what stands behind is absent (a deviation from clause 8.5, for
/// phones that leave out an identifier).
#[test]
fn octets_that_fit_no_element_end_the_requests_of_phones() {
    let parse = |hex: &str| match L3Message::parse(Uplink, &octets(hex)).unwrap() {
        L3Message::Gmm(message) => message,
        other => panic!("{other:?}"),
    };
    let rau = "08080000f1100001000117";
    for (tail, signature, timer) in [
        ("0a00", None, None),
        ("190000011716", Some(PTmsiSignature(1)), Some(GprsTimer(0x16))),
        ("190000010a001716", Some(PTmsiSignature(1)), None),
        ("0a00190000011716", None, None),
    ] {
        let GmmMessage::RauRequest(request) = parse(&format!("{rau}{tail}")) else { panic!() };
        assert_eq!(
            (request.old_ptmsi_signature, request.requested_ready_timer),
            (signature, timer),
            "{tail}"
        );
    }
    let GmmMessage::DetachRequestMo(request) = parse("0805200a0005f4c1234567") else { panic!() };
    assert_eq!((request.detach_type.power_off, request.ptmsi, request.ptmsi_signature), (false, None, None));
    let error = L3Message::parse(Uplink, &octets("080a0a00")).unwrap_err();
    assert_eq!((error.ie, error.offset), (COMPREHENSION_REQUIRED, 2));
}
