//! NS, BSSGP and GSMTAP: what was emitted is read back, and no octets make a parser panic.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use core::net::{IpAddr, SocketAddr};
use gannet_wire::bssgp::ie::{
    Cause, FlushAction, Granularity, Lai, PagingArea, PduLifetime, Precedence, PriorityClass, QosProfile,
    RaCapUpdCause, RadioCause,
};
use gannet_wire::bssgp::signalling::{
    FlowControlBvc, FlowControlMs, FlushLlAck, LlcDiscarded, MobileRef, PagingCs, PagingPs,
    RaCapabilityUpdateAck, Status,
};
use gannet_wire::bssgp::{DlUnitdata, Message, UlUnitdata};
use gannet_wire::gsmtap;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsei, Nsvci, Plmn, Rai, Tlli};
use gannet_wire::ns;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn octets() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 120..300)]
}

fn imsi() -> impl Strategy<Value = Imsi> {
    vec(0..10_u8, 1..=15).prop_map(|digits| Imsi::from_digits(digits).unwrap())
}

fn rai() -> impl Strategy<Value = Rai> {
    any::<[u8; 6]>().prop_map(Rai::from_octets)
}

fn cell() -> impl Strategy<Value = CellId> {
    any::<[u8; 8]>().prop_map(CellId::from_octets)
}

fn tlli() -> impl Strategy<Value = Tlli> {
    any::<u32>().prop_map(Tlli)
}

fn bvci() -> impl Strategy<Value = Bvci> {
    any::<u16>().prop_map(Bvci)
}

fn nsei() -> impl Strategy<Value = Nsei> {
    any::<u16>().prop_map(Nsei)
}

fn cause() -> impl Strategy<Value = Cause> {
    any::<u8>().prop_map(Cause::from_octet)
}

fn qos() -> impl Strategy<Value = QosProfile> {
    (any::<u16>(), 0..4_u8, any::<[bool; 3]>(), 0..8_u8).prop_map(|(peak_bit_rate, granularity, flags, p)| {
        let [not_ack, data, rlc_unacknowledged] = flags;
        let precedence = Precedence(p);
        QosProfile { peak_bit_rate, granularity, not_ack, data, rlc_unacknowledged, precedence }
    })
}

fn area() -> impl Strategy<Value = PagingArea> {
    prop_oneof![
        bvci().prop_map(PagingArea::Bvc),
        (any::<[u8; 3]>(), any::<u16>())
            .prop_map(|(plmn, lac)| PagingArea::LocationArea(Lai { plmn: Plmn::from_octets(plmn), lac })),
        rai().prop_map(PagingArea::RoutingArea),
        any::<u8>().prop_map(PagingArea::BssArea),
    ]
}

fn mobile() -> impl Strategy<Value = MobileRef> {
    prop_oneof![
        tlli().prop_map(MobileRef::Tlli),
        any::<u32>().prop_map(MobileRef::Tmsi),
        imsi().prop_map(MobileRef::Imsi),
    ]
}

fn paging() -> impl Strategy<Value = Message> {
    let ps = (imsi(), of(any::<u16>()), area(), of(0..128_u8), qos(), of(any::<u32>())).prop_map(
        |(imsi, drx, area, pfi, qos, ptmsi)| Message::PagingPs(PagingPs { imsi, drx, area, pfi, qos, ptmsi }),
    );
    let cs = (imsi(), of(any::<u16>()), area(), of(tlli()), of(0..4_u8), of(0..8_u8), of(any::<u32>()))
        .prop_map(|(imsi, drx, area, tlli, channel_needed, emlpp_priority, tmsi)| {
            Message::PagingCs(PagingCs { imsi, drx, area, tlli, channel_needed, emlpp_priority, tmsi })
        });
    prop_oneof![ps, cs]
}

fn ra_capability() -> impl Strategy<Value = Message> {
    let ack =
        (tlli(), any::<u8>(), of(imsi()), any::<u8>(), octets()).prop_map(|(tlli, tag, imsi, cause, rac)| {
            let cause = RaCapUpdCause::from_octet(cause);
            let ms_ra_capability = (cause == RaCapUpdCause::Ok || tag % 2 == 0).then_some(rac);
            Message::RaCapabilityUpdateAck(RaCapabilityUpdateAck { tlli, tag, imsi, cause, ms_ra_capability })
        });
    prop_oneof![
        ack,
        (tlli(), octets())
            .prop_map(|(tlli, ms_ra_capability)| Message::RaCapability { tlli, ms_ra_capability }),
        (tlli(), any::<u8>()).prop_map(|(tlli, tag)| Message::RaCapabilityUpdate { tlli, tag }),
        (mobile(), any::<u8>()).prop_map(|(mobile, cause)| {
            Message::RadioStatus { mobile, cause: RadioCause::from_octet(cause) }
        }),
    ]
}

fn suspension() -> impl Strategy<Value = Message> {
    (tlli(), rai(), any::<u8>(), of(cause()), 0..6_u8).prop_map(|(tlli, rai, reference, cause, which)| {
        match which {
            0 => Message::Suspend { tlli, rai },
            1 => Message::SuspendAck { tlli, rai, reference },
            2 => Message::SuspendNack { tlli, rai, cause },
            3 => Message::Resume { tlli, rai, reference },
            4 => Message::ResumeAck { tlli, rai },
            _ => Message::ResumeNack { tlli, rai, cause },
        }
    })
}

fn bvc() -> impl Strategy<Value = Message> {
    (bvci(), cause(), of(cell()), of(any::<u8>()), 0..6_u8).prop_map(
        |(bvci, cause, cell, features, which)| match which {
            0 => Message::BvcBlock { bvci, cause },
            1 => Message::BvcBlockAck { bvci },
            2 => Message::BvcUnblock { bvci },
            3 => Message::BvcUnblockAck { bvci },
            4 => Message::BvcReset { bvci, cause, cell, features },
            _ => Message::BvcResetAck { bvci, cell, features },
        },
    )
}

fn flow_control() -> impl Strategy<Value = Message> {
    let numbers =
        (tlli(), any::<u8>(), any::<[u16; 4]>(), of(any::<u8>()), of(any::<u16>()), 0..4_u8, 0..4_u8);
    numbers.prop_map(|(tlli, tag, sizes, bucket_full_ratio, measurement, granularity, which)| {
        let granularity = Granularity(granularity);
        let [bucket_size, leak_rate, bmax_default_ms, r_default_ms] = sizes;
        match which {
            0 => Message::FlowControlBvcAck { tag },
            1 => Message::FlowControlMsAck { tlli, tag },
            2 => Message::FlowControlMs(FlowControlMs {
                tlli,
                tag,
                bucket_size,
                leak_rate,
                bucket_full_ratio,
                granularity,
            }),
            _ => Message::FlowControlBvc(FlowControlBvc {
                tag,
                bucket_size,
                leak_rate,
                bmax_default_ms,
                r_default_ms,
                bucket_full_ratio,
                measurement,
                granularity,
            }),
        }
    })
}

fn others() -> impl Strategy<Value = Message> {
    let flush_ack = (tlli(), any::<u8>(), bvci(), any::<bool>(), 0..0x0100_0000_u32, of(nsei())).prop_map(
        |(tlli, action, bvci, with_bvci, octets, new_nsei)| {
            let action = FlushAction::from_octet(action % 4);
            let new_bvci = (with_bvci || action == FlushAction::Transferred).then_some(bvci);
            Message::FlushLlAck(FlushLlAck { tlli, action, new_bvci, octets, new_nsei })
        },
    );
    prop_oneof![
        flush_ack,
        (tlli(), bvci(), of(bvci()), of(nsei())).prop_map(|(tlli, old_bvci, new_bvci, new_nsei)| {
            Message::FlushLl { tlli, old_bvci, new_bvci, new_nsei }
        }),
        (tlli(), any::<u8>(), bvci(), 0..0x0100_0000_u32).prop_map(|(tlli, frames, bvci, octets)| {
            Message::LlcDiscarded(LlcDiscarded { tlli, frames, bvci, octets })
        }),
        (cause(), of(bvci()), of(octets())).prop_map(|(cause, bvci, pdu)| Message::Status(Status {
            cause,
            bvci,
            pdu
        })),
    ]
}

fn later() -> impl Strategy<Value = Message> {
    let plmn = || any::<[u8; 3]>().prop_map(Plmn::from_octets);
    prop_oneof![
        imsi().prop_map(|imsi| Message::MsRegistrationEnquiry { imsi }),
        (imsi(), of(plmn())).prop_map(|(imsi, plmn)| Message::MsRegistrationEnquiryResponse { imsi, plmn }),
        of(any::<u8>()).prop_map(|octet| Message::Overload { classes: octet.map(PriorityClass) }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![paging(), ra_capability(), suspension(), bvc(), flow_control(), others(), later()]
}

fn ns_pdu() -> impl Strategy<Value = ns::Pdu> {
    use ns::Pdu;
    let nsvci = || any::<u16>().prop_map(Nsvci);
    let cause = || any::<u8>().prop_map(ns::Cause::from_octet);
    prop_oneof![
        (cause(), nsvci(), nsei()).prop_map(|(cause, nsvci, nsei)| Pdu::Reset { cause, nsvci, nsei }),
        (nsvci(), nsei()).prop_map(|(nsvci, nsei)| Pdu::ResetAck { nsvci, nsei }),
        (cause(), nsvci()).prop_map(|(cause, nsvci)| Pdu::Block { cause, nsvci }),
        nsvci().prop_map(|nsvci| Pdu::BlockAck { nsvci }),
        Just(Pdu::Unblock),
        Just(Pdu::UnblockAck),
        Just(Pdu::Alive),
        Just(Pdu::AliveAck),
        (cause(), of(nsvci()), of(octets()), of(bvci()))
            .prop_map(|(cause, nsvci, pdu, bvci)| Pdu::Status(ns::Status { cause, nsvci, pdu, bvci })),
    ]
}

fn ip_elements() -> impl Strategy<Value = ns::IpElements> {
    let endpoint = prop_oneof![
        any::<([u8; 4], u16)>().prop_map(SocketAddr::from),
        any::<([u8; 16], u16)>().prop_map(SocketAddr::from),
    ];
    let element =
        (endpoint, any::<u8>(), any::<u8>()).prop_map(|(endpoint, signalling_weight, data_weight)| {
            ns::IpElement { endpoint, signalling_weight, data_weight }
        });
    vec(element, 1..20).prop_map(|elements| elements.into_iter().collect())
}

fn sns() -> impl Strategy<Value = ns::Sns> {
    use ns::Sns;
    let cause = || of(any::<u8>().prop_map(ns::Cause::from_octet));
    let number = || of(any::<u16>());
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(|octets| Some(IpAddr::from(octets))),
        any::<[u8; 16]>().prop_map(|octets| Some(IpAddr::from(octets))),
        Just(None),
    ];
    prop_oneof![
        (nsei(), any::<bool>(), any::<u16>(), number(), number()).prop_map(
            |(nsei, reset, ns_vcs_max, ip4_endpoints, ip6_endpoints)| Sns::Size {
                nsei,
                reset,
                ns_vcs_max,
                ip4_endpoints,
                ip6_endpoints
            }
        ),
        (nsei(), cause()).prop_map(|(nsei, cause)| Sns::SizeAck { nsei, cause }),
        (nsei(), any::<bool>(), ip_elements()).prop_map(|(nsei, end, elements)| Sns::Config {
            nsei,
            end,
            elements
        }),
        (nsei(), cause()).prop_map(|(nsei, cause)| Sns::ConfigAck { nsei, cause }),
        (nsei(), any::<u8>(), ip_elements()).prop_map(|(nsei, transaction, elements)| Sns::Add {
            nsei,
            transaction,
            elements
        }),
        (nsei(), any::<u8>(), address, ip_elements()).prop_map(|(nsei, transaction, address, elements)| {
            Sns::Delete { nsei, transaction, address, elements }
        }),
        (nsei(), any::<u8>(), ip_elements()).prop_map(|(nsei, transaction, elements)| Sns::Changeweight {
            nsei,
            transaction,
            elements
        }),
        (nsei(), any::<u8>(), cause(), ip_elements()).prop_map(|(nsei, transaction, cause, elements)| {
            Sns::Ack { nsei, transaction, cause, elements }
        }),
    ]
}

/// Other elements in front, between and behind change nothing, since none is one that a PDU has.
fn with_unknown_elements(pdu: &[u8], fixed: usize, junk: &[u8]) -> Vec<u8> {
    let unknown = [&[0x77, 0x80 | u8::try_from(junk.len()).unwrap()][..], junk].concat();
    [&pdu[..fixed], &unknown, &pdu[fixed..], &unknown].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn ns_pdu_comes_back(pdu in ns_pdu(), junk in vec(any::<u8>(), 0..20)) {
        let octets = pdu.to_vec();
        prop_assert_eq!(&ns::Pdu::parse(&octets).unwrap(), &pdu);
        prop_assert_eq!(ns::Pdu::parse(&with_unknown_elements(&octets, 1, &junk)).unwrap(), pdu);
    }

    #[test]
    fn sns_comes_back(sns in sns(), junk in vec(any::<u8>(), 0..20), cut in 0..400_usize, octets in octets()) {
        let pdu = ns::Pdu::Sns(sns);
        let emitted = pdu.to_vec();
        prop_assert_eq!(&ns::Pdu::parse(&emitted).unwrap(), &pdu);
        let longer = with_unknown_elements(&emitted, emitted.len(), &junk);
        prop_assert_eq!(&ns::Pdu::parse(&longer).unwrap(), &pdu);
        // Cut short or made up: anything but a panic, and what can be read stays the same.
        let made_up = [&emitted[..1], &octets].concat();
        for octets in [&emitted[..cut.min(emitted.len())], &made_up] {
            if let Ok(read) = ns::Pdu::parse(octets) {
                prop_assert_eq!(ns::Pdu::parse(&read.to_vec()), Ok(read));
            }
        }
    }

    #[test]
    fn ns_unitdata_comes_back(control: u8, bvci in bvci(), sdu in octets()) {
        let header = ns::Unitdata { control, bvci };
        let pdu = [&header.emit()[..], &sdu].concat();
        prop_assert_eq!(ns::Unitdata::parse(&pdu), Ok(header));
    }

    #[test]
    fn message_comes_back(message in message(), junk in vec(any::<u8>(), 0..20)) {
        let octets = message.to_vec();
        prop_assert_eq!(&Message::parse(&octets).unwrap(), &message);
        prop_assert_eq!(Message::parse(&with_unknown_elements(&octets, 1, &junk)).unwrap(), message);
    }

    #[test]
    fn downlink_header_comes_back(
        (tlli, qos, lifetime) in (tlli(), qos(), any::<u16>()),
        (rac, lsa) in (of(octets()), of(octets())),
        (priority, drx, imsi, old_tlli) in (of(any::<u8>()), of(any::<u16>()), of(imsi()), of(tlli())),
        (pfi, service_utran_cco, alignment) in (of(0..128_u8), of(any::<u8>()), of(0..4_u8)),
        llc_pdu in octets(),
        junk in vec(any::<u8>(), 0..20),
    ) {
        let header = DlUnitdata {
            ms_ra_capability: rac.as_deref(),
            priority,
            drx,
            imsi,
            old_tlli,
            pfi,
            lsa_information: lsa.as_deref(),
            service_utran_cco,
            alignment,
            ..DlUnitdata::new(tlli, qos, PduLifetime(lifetime))
        };
        let mut pdu = vec![0; header.buffer_len(llc_pdu.len())];
        prop_assert!(header.emit(llc_pdu.len(), &mut pdu));
        pdu.extend(&llc_pdu);
        let (read, range) = DlUnitdata::parse(&pdu).unwrap();
        prop_assert_eq!((read, &pdu[range]), (header, &llc_pdu[..]));
        let padded = with_unknown_elements(&pdu, 8, &junk);
        let (read, range) = DlUnitdata::parse(&padded).unwrap();
        prop_assert_eq!((read, &padded[range]), (header, &llc_pdu[..]));
    }

    #[test]
    fn uplink_header_comes_back(
        (tlli, qos, cell) in (tlli(), qos(), cell()),
        (pfi, lsa, alignment) in (of(0..128_u8), of(octets()), of(0..4_u8)),
        llc_pdu in octets(),
        junk in vec(any::<u8>(), 0..20),
    ) {
        let header =
            UlUnitdata { pfi, lsa_identifiers: lsa.as_deref(), alignment, ..UlUnitdata::new(tlli, qos, cell) };
        let mut pdu = vec![0; header.buffer_len(llc_pdu.len())];
        prop_assert!(header.emit(llc_pdu.len(), &mut pdu));
        pdu.extend(&llc_pdu);
        let (read, range) = UlUnitdata::parse(&pdu).unwrap();
        prop_assert_eq!((read, &pdu[range]), (header, &llc_pdu[..]));
        let padded = with_unknown_elements(&pdu, 8, &junk);
        let (read, range) = UlUnitdata::parse(&padded).unwrap();
        prop_assert_eq!((read, &padded[range]), (header, &llc_pdu[..]));
    }

    #[test]
    fn gsmtap_comes_back(octets: [u8; 14], frame in octets()) {
        let header = [&[2, 4][..], &octets, &frame].concat();
        let (read, at) = gsmtap::Header::parse(&header).unwrap();
        prop_assert_eq!(&header[at..], &frame[..]);
        prop_assert_eq!(&read.emit()[..15], &header[..15]);
    }

    #[test]
    fn no_octets_make_a_parser_panic(mut octets in vec(any::<u8>(), 0..80), pdu_type: u8) {
        for first in [pdu_type, pdu_type % 0x30, 0, 1] {
            if let Some(octet) = octets.first_mut() {
                *octet = first;
            }
            if let Ok(message) = Message::parse(&octets) {
                prop_assert_eq!(Message::parse(&message.to_vec()), Ok(message));
            }
            if let Ok((_, range)) = UlUnitdata::parse(&octets) {
                prop_assert!(octets.get(range).is_some());
            }
            if let Ok((_, range)) = DlUnitdata::parse(&octets) {
                prop_assert!(octets.get(range).is_some());
            }
            if let Ok(pdu) = ns::Pdu::parse(&octets) {
                prop_assert_eq!(ns::Pdu::parse(&pdu.to_vec()), Ok(pdu));
            }
            let _ = ns::Unitdata::parse(&octets);
            let _ = gsmtap::Header::parse(&octets);
        }
    }
}
