//! Layer 3: every message survives emission and parsing, and no octets make the parser panic.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code fails by panicking")]

use gannet_wire::id::{Imei, Imsi, Nsapi, PTmsi, Plmn, Rai, Sapi};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::{
    ActivateAccept, ActivateReject, ActivateRequest, ActivateSecondaryAccept, ActivateSecondaryReject,
    ActivateSecondaryRequest, DeactivateAccept, DeactivateRequest, ModifyAcceptMo, ModifyAcceptMt,
    ModifyReject, ModifyRequestMo, ModifyRequestMt, RequestActivation, RequestActivationReject, SmMessage,
    SmStatus,
};
use gannet_wire::l3::{Direction, Element, HalfElement, L3Message};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// One of several strategies, each on the heap: together they are too large for a test's stack.
macro_rules! one_of {
    ($($arm:expr),* $(,)?) => { proptest::strategy::Union::new([$($arm.boxed()),*]) };
}

fn half<E: HalfElement + std::fmt::Debug + 'static>() -> BoxedStrategy<E> {
    (0_u8..16).prop_filter_map("reserved", E::from_half).boxed()
}

/// An element from random octets of a suitable number: whatever it reads from them is a value of it.
fn element<E: Element + std::fmt::Debug + 'static>(
    length: impl Into<proptest::collection::SizeRange>,
) -> BoxedStrategy<E> {
    vec(any::<u8>(), length).prop_filter_map("incorrect", |octets| E::parse_value(&octets).ok()).boxed()
}

fn digits(length: std::ops::RangeInclusive<usize>) -> BoxedStrategy<Vec<u8>> {
    vec(0_u8..10, length).boxed()
}

fn identity() -> BoxedStrategy<MobileIdentity> {
    one_of![
        Just(MobileIdentity::None),
        any::<u32>().prop_map(|ptmsi| MobileIdentity::PTmsi(PTmsi(ptmsi))),
        digits(1..=15).prop_map(|d| MobileIdentity::Imsi(Imsi::from_digits(d).unwrap())),
        digits(15..=15).prop_map(|d| MobileIdentity::Imei(Imei::from_digits(d).unwrap())),
        digits(16..=16).prop_map(|d| MobileIdentity::Imeisv(Imei::from_digits(d).unwrap())),
    ]
    .boxed()
}

fn plmn() -> BoxedStrategy<Plmn> {
    any::<[u8; 3]>().prop_map(Plmn::from_octets).boxed()
}

fn rai() -> BoxedStrategy<Rai> {
    (plmn(), any::<u16>(), any::<u8>()).prop_map(|(plmn, lac, rac)| Rai { plmn, lac, rac }).boxed()
}

fn plmns() -> BoxedStrategy<EquivalentPlmns> {
    vec(plmn(), 1..=15).prop_map(EquivalentPlmns).boxed()
}

fn timer() -> BoxedStrategy<GprsTimer> {
    any::<u8>().prop_map(GprsTimer).boxed()
}

fn gmm_cause() -> BoxedStrategy<GmmCause> {
    any::<u8>().prop_map(GmmCause::from_code).boxed()
}

fn sm_cause() -> BoxedStrategy<SmCause> {
    any::<u8>().prop_map(SmCause::from_code).boxed()
}

fn signature() -> BoxedStrategy<PTmsiSignature> {
    (0_u32..1 << 24).prop_map(PTmsiSignature).boxed()
}

fn status() -> BoxedStrategy<PdpContextStatus> {
    any::<u16>().prop_map(PdpContextStatus).boxed()
}

fn numbers() -> BoxedStrategy<ReceiveNpduNumbers> {
    vec(((0_u8..16).prop_map(Nsapi), any::<u8>()), 1..=11).prop_map(ReceiveNpduNumbers).boxed()
}

fn capability() -> BoxedStrategy<MsNetworkCapability> {
    element(1..=8).boxed()
}

fn radio() -> BoxedStrategy<MsRadioAccessCapability> {
    element(0..=50).boxed()
}

fn name() -> BoxedStrategy<NetworkName> {
    element(1..=40).boxed()
}

fn time() -> BoxedStrategy<UniversalTime> {
    (0_u8..100, 1_u8..13, 1_u8..32, 0_u8..24, 0_u8..60, 0_u8..60, zone())
        .prop_map(|(year, month, day, hour, minute, second, zone)| UniversalTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
            zone,
        })
        .boxed()
}

fn zone() -> BoxedStrategy<TimeZone> {
    (-79_i8..=79).prop_map(TimeZone).boxed()
}

fn attach() -> BoxedStrategy<GmmMessage> {
    let request = (
        (capability(), half(), half(), element(2), identity(), rai(), radio()),
        (of(signature()), of(timer()), of(half())),
    )
        .prop_map(|((a, b, c, d, e, f, g), (h, i, j))| {
            GmmMessage::from(AttachRequest {
                ms_network_capability: a,
                attach_type: b,
                cksn: c,
                drx: d,
                identity: e,
                old_rai: f,
                ms_radio_access_capability: g,
                old_ptmsi_signature: h,
                requested_ready_timer: i,
                tmsi_status: j,
            })
        });
    let accept = (
        (half(), half(), timer(), half(), half(), rai()),
        (of(signature()), of(timer()), of(identity()), of(identity()), of(gmm_cause()), of(timer())),
        (of(Just(CellNotification)), of(plmns()), of(half())),
    )
        .prop_map(|((a, b, c, d, e, f), (g, h, i, j, k, l), (m, n, o))| {
            GmmMessage::from(AttachAccept {
                result: a,
                force_to_standby: b,
                periodic_ra_update_timer: c,
                radio_priority_sms: d,
                radio_priority_tom8: e,
                rai: f,
                ptmsi_signature: g,
                negotiated_ready_timer: h,
                allocated_ptmsi: i,
                ms_identity: j,
                gmm_cause: k,
                t3302: l,
                cell_notification: m,
                equivalent_plmns: n,
                network_feature_support: o,
            })
        });
    one_of![
        request,
        accept,
        Just(AttachComplete {}.into()),
        (gmm_cause(), of(timer())).prop_map(|(cause, t3302)| AttachReject { cause, t3302 }.into()),
    ]
    .boxed()
}

fn update() -> BoxedStrategy<GmmMessage> {
    let request = (
        (half(), half(), rai(), radio()),
        (
            of(signature()),
            of(timer()),
            of(element(2)),
            of(half()),
            of(identity()),
            of(capability()),
            of(status()),
        ),
    )
        .prop_map(|((a, b, c, d), (e, f, g, h, i, j, k))| {
            GmmMessage::from(RauRequest {
                update_type: a,
                cksn: b,
                old_rai: c,
                ms_radio_access_capability: d,
                old_ptmsi_signature: e,
                requested_ready_timer: f,
                drx: g,
                tmsi_status: h,
                ptmsi: i,
                ms_network_capability: j,
                pdp_context_status: k,
            })
        });
    let accept = (
        (half(), half(), timer(), rai()),
        (of(signature()), of(identity()), of(identity()), of(numbers()), of(timer()), of(gmm_cause())),
        (of(timer()), of(Just(CellNotification)), of(plmns()), of(status()), of(half())),
    )
        .prop_map(|((a, b, c, d), (e, f, g, h, i, j), (k, l, m, n, o))| {
            GmmMessage::from(RauAccept {
                force_to_standby: a,
                result: b,
                periodic_ra_update_timer: c,
                rai: d,
                ptmsi_signature: e,
                allocated_ptmsi: f,
                ms_identity: g,
                receive_npdu_numbers: h,
                negotiated_ready_timer: i,
                gmm_cause: j,
                t3302: k,
                cell_notification: l,
                equivalent_plmns: m,
                pdp_context_status: n,
                network_feature_support: o,
            })
        });
    one_of![
        request,
        accept,
        of(numbers()).prop_map(|receive_npdu_numbers| RauComplete { receive_npdu_numbers }.into()),
        (gmm_cause(), half(), of(timer())).prop_map(|(cause, force_to_standby, t3302)| RauReject {
            cause,
            force_to_standby,
            t3302
        }
        .into()),
        (half(), half(), identity(), of(status())).prop_map(
            |(cksn, service_type, ptmsi, pdp_context_status)| {
                ServiceRequest { cksn, service_type, ptmsi, pdp_context_status }.into()
            }
        ),
        of(status()).prop_map(|pdp_context_status| ServiceAccept { pdp_context_status }.into()),
        gmm_cause().prop_map(|cause| ServiceReject { cause }.into()),
    ]
    .boxed()
}

fn detach() -> BoxedStrategy<GmmMessage> {
    one_of![
        (half(), half(), of(gmm_cause())).prop_map(|(detach_type, force_to_standby, cause)| {
            GmmMessage::from(DetachRequestMt { detach_type, force_to_standby, cause })
        }),
        (half(), of(identity()), of(signature())).prop_map(|(detach_type, ptmsi, ptmsi_signature)| {
            DetachRequestMo { detach_type, ptmsi, ptmsi_signature }.into()
        }),
        Just(DetachAcceptMt {}.into()),
        half().prop_map(|force_to_standby| DetachAcceptMo { force_to_standby }.into()),
    ]
    .boxed()
}

fn common() -> BoxedStrategy<GmmMessage> {
    one_of![
        (identity(), rai(), half(), of(signature())).prop_map(
            |(a, rai, force_to_standby, ptmsi_signature)| {
                GmmMessage::from(PTmsiReallocationCommand {
                    allocated_ptmsi: a,
                    rai,
                    force_to_standby,
                    ptmsi_signature,
                })
            }
        ),
        Just(PTmsiReallocationComplete {}.into()),
        ((half(), half(), half(), half()), (of(element(16)), of(half()), of(element(16)))).prop_map(
            |((ciphering, imeisv_request, force_to_standby, reference), (rand, cksn, autn))| {
                AuthenticationRequest {
                    ciphering,
                    imeisv_request,
                    force_to_standby,
                    reference,
                    rand,
                    cksn,
                    autn,
                }
                .into()
            }
        ),
        (half(), of(element(4)), of(identity()), of(element(1..=12))).prop_map(
            |(reference, response, imeisv, extended_response)| {
                AuthenticationResponse { reference, response, imeisv, extended_response }.into()
            }
        ),
        Just(AuthenticationReject {}.into()),
        (gmm_cause(), of(element(14))).prop_map(|(cause, auts)| AuthenticationFailure { cause, auts }.into()),
        (half(), half()).prop_map(|(identity_type, force_to_standby)| {
            IdentityRequest { identity_type, force_to_standby }.into()
        }),
        identity().prop_map(|identity| IdentityResponse { identity }.into()),
        gmm_cause().prop_map(|cause| GmmStatus { cause }.into()),
        (of(name()), of(name()), of(zone()), of(time()), of(any::<Option<[u8; 3]>>()), of(0_u8..3)).prop_map(
            |(full_name, short_name, time_zone, universal_time, lsa, saving)| {
                GmmInformation {
                    full_name,
                    short_name,
                    time_zone,
                    universal_time,
                    lsa_identity: lsa.map(LsaIdentity),
                    daylight_saving: saving.map(DaylightSaving),
                }
                .into()
            }
        ),
    ]
    .boxed()
}

fn nsapi() -> BoxedStrategy<Nsapi> {
    (5_u8..16).prop_map(Nsapi).boxed()
}

fn sapi() -> BoxedStrategy<Sapi> {
    one_of![Just(Sapi::DATA3), Just(Sapi::DATA5), Just(Sapi::DATA9), Just(Sapi::DATA11), Just(Sapi(0))]
        .boxed()
}

fn qos() -> BoxedStrategy<QosProfile> {
    one_of![element(3), element(11), element(12), element(14)].boxed()
}

fn address() -> BoxedStrategy<PdpAddress> {
    one_of![
        Just(PdpAddress::Ipv4Dynamic),
        Just(PdpAddress::Ipv6Dynamic),
        Just(PdpAddress::Ppp),
        Just(PdpAddress::Empty),
        any::<[u8; 4]>().prop_map(|octets| PdpAddress::Ipv4(octets.into())),
        any::<[u8; 16]>().prop_map(|octets| PdpAddress::Ipv6(octets.into())),
        any::<u8>().prop_map(|number| PdpAddress::Other { organisation: 2, number }),
    ]
    .boxed()
}

fn apn() -> BoxedStrategy<Apn> {
    vec("[a-zA-Z0-9_-]{1,20}", 1..=4).prop_map(|labels| labels.join(".").parse().unwrap()).boxed()
}

fn pco() -> BoxedStrategy<ProtocolConfiguration> {
    element(1..=251).boxed()
}

fn flow() -> BoxedStrategy<PacketFlowIdentifier> {
    element(1).boxed()
}

fn tft() -> BoxedStrategy<TrafficFlowTemplate> {
    element(1..=255).boxed()
}

fn linked() -> BoxedStrategy<LinkedTi> {
    (0_u8..128, any::<bool>()).prop_map(|(ti, ti_flag)| LinkedTi { ti, ti_flag }).boxed()
}

fn activation() -> BoxedStrategy<SmMessage> {
    one_of![
        ((nsapi(), sapi(), qos(), address()), (of(apn()), of(pco()))).prop_map(
            |((nsapi, sapi, qos, address), (apn, pco))| {
                SmMessage::from(ActivateRequest { nsapi, sapi, qos, address, apn, pco })
            }
        ),
        ((sapi(), qos(), half()), (of(address()), of(pco()), of(flow()), of(sm_cause()))).prop_map(
            |((sapi, qos, radio_priority), (address, pco, packet_flow_identifier, cause))| {
                ActivateAccept { sapi, qos, radio_priority, address, pco, packet_flow_identifier, cause }
                    .into()
            }
        ),
        (sm_cause(), of(pco())).prop_map(|(cause, pco)| ActivateReject { cause, pco }.into()),
        (nsapi(), sapi(), qos(), linked(), of(tft())).prop_map(|(nsapi, sapi, qos, linked_ti, tft)| {
            ActivateSecondaryRequest { nsapi, sapi, qos, linked_ti, tft }.into()
        }),
        (sapi(), qos(), half(), of(flow())).prop_map(
            |(sapi, qos, radio_priority, packet_flow_identifier)| {
                ActivateSecondaryAccept { sapi, qos, radio_priority, packet_flow_identifier }.into()
            }
        ),
        sm_cause().prop_map(|cause| ActivateSecondaryReject { cause }.into()),
        (address(), of(apn())).prop_map(|(address, apn)| RequestActivation { address, apn }.into()),
        sm_cause().prop_map(|cause| RequestActivationReject { cause }.into()),
    ]
    .boxed()
}

fn modification() -> BoxedStrategy<SmMessage> {
    one_of![
        (half(), sapi(), qos(), of(address()), of(flow())).prop_map(
            |(radio_priority, sapi, qos, address, packet_flow_identifier)| {
                SmMessage::from(ModifyRequestMt {
                    radio_priority,
                    sapi,
                    qos,
                    address,
                    packet_flow_identifier,
                })
            }
        ),
        (of(sapi()), of(qos()), of(tft()))
            .prop_map(|(sapi, qos, tft)| ModifyRequestMo { sapi, qos, tft }.into()),
        Just(ModifyAcceptMo {}.into()),
        (of(qos()), of(sapi()), of(half()), of(flow())).prop_map(
            |(qos, sapi, radio_priority, packet_flow_identifier)| {
                ModifyAcceptMt { qos, sapi, radio_priority, packet_flow_identifier }.into()
            }
        ),
        sm_cause().prop_map(|cause| ModifyReject { cause }.into()),
        (sm_cause(), of(half())).prop_map(|(cause, tear_down)| DeactivateRequest { cause, tear_down }.into()),
        Just(DeactivateAccept {}.into()),
        sm_cause().prop_map(|cause| SmStatus { cause }.into()),
    ]
    .boxed()
}

fn message() -> BoxedStrategy<L3Message> {
    let gmm = one_of![attach(), update(), detach(), common()].prop_map(L3Message::Gmm);
    let sm = (0_u8..128, any::<bool>(), one_of![activation(), modification()])
        .prop_map(|(ti, ti_flag, message)| L3Message::Sm { ti, ti_flag, message });
    one_of![gmm, sm].boxed()
}

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_survives(message in message()) {
        let octets = message.to_vec();
        let read = DIRECTIONS.map(|direction| L3Message::parse(direction, &octets));
        prop_assert!(read.contains(&Ok(message)), "{read:?}");
    }

    #[test]
    fn a_cut_message_is_an_error_or_a_message(message in message(), cut in any::<prop::sample::Index>()) {
        let octets = message.to_vec();
        for direction in DIRECTIONS {
            if let Ok(shorter) = L3Message::parse(direction, &octets[..cut.index(octets.len())]) {
                prop_assert_eq!(L3Message::parse(direction, &shorter.to_vec()), Ok(shorter));
            }
        }
    }

    #[test]
    fn changed_octets_do_no_harm(
        message in message(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut octets = message.to_vec();
        for (at, value) in changes {
            let at = at.index(octets.len());
            octets[at] = value;
        }
        for direction in DIRECTIONS {
            if let Ok(read) = L3Message::parse(direction, &octets) {
                prop_assert_eq!(L3Message::parse(direction, &read.to_vec()), Ok(read));
            }
        }
    }

    #[test]
    fn any_octets_do_no_harm(kind in 0_usize..4, body in vec(any::<u8>(), 0..80)) {
        let mut octets: Vec<u8> = [&[][..], &[0x08], &[0x0a], &[0x8a]][kind].to_vec();
        octets.extend(body);
        for direction in DIRECTIONS {
            let _ = L3Message::parse(direction, &octets);
        }
    }
}
