//! LLC and SNDCP: what was emitted is read back, and no octets make a parser panic.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::llc::{Control, FrmrInformation, Header, SackBitmap, Supervisory, UFunction, xid};
use gannet_wire::sndcp;
use proptest::collection::vec;
use proptest::prelude::*;

fn supervisory() -> impl Strategy<Value = Supervisory> {
    prop_oneof![
        Just(Supervisory::Rr),
        Just(Supervisory::Ack),
        Just(Supervisory::Rnr),
        vec(any::<u8>(), 1..=32).prop_map(|octets| Supervisory::Sack(SackBitmap::new(&octets).unwrap())),
    ]
}

fn function() -> impl Strategy<Value = UFunction> {
    prop_oneof![
        Just(UFunction::Null),
        Just(UFunction::Dm),
        Just(UFunction::Disc),
        Just(UFunction::Ua),
        Just(UFunction::Sabm),
        Just(UFunction::Frmr),
        Just(UFunction::Xid),
        prop_oneof![Just(2_u8), Just(3), Just(5), 9..=10_u8, 12..=15_u8].prop_map(UFunction::Other),
    ]
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        (any::<bool>(), 0..512_u16, 0..512_u16, supervisory())
            .prop_map(|(ack_request, ns, nr, supervisory)| Control::I { ack_request, ns, nr, supervisory }),
        (any::<bool>(), 0..512_u16, supervisory()).prop_map(|(ack_request, nr, supervisory)| Control::S {
            ack_request,
            nr,
            supervisory
        }),
        (0..512_u16, any::<bool>(), any::<bool>()).prop_map(|(nu, encrypted, protected)| Control::Ui {
            nu,
            encrypted,
            protected
        }),
        (any::<bool>(), function()).prop_map(|(poll_final, function)| Control::U { poll_final, function }),
    ]
}

fn parameter() -> impl Strategy<Value = xid::Parameter> {
    use xid::Parameter as X;
    prop_oneof![
        any::<u8>().prop_map(X::Version),
        any::<u32>().prop_map(X::IovUi),
        any::<u32>().prop_map(X::IovI),
        any::<u16>().prop_map(X::T200),
        any::<u8>().prop_map(X::N200),
        any::<u16>().prop_map(X::N201U),
        any::<u16>().prop_map(X::N201I),
        any::<u16>().prop_map(X::MD),
        any::<u16>().prop_map(X::MU),
        any::<u8>().prop_map(X::KD),
        any::<u8>().prop_map(X::KU),
        vec(any::<u8>(), 0..=255).prop_map(X::Layer3),
        Just(X::Reset),
        (13..32_u8, vec(any::<u8>(), 0..=255)).prop_map(|(kind, value)| X::Unknown { kind, value }),
    ]
}

fn entity() -> impl Strategy<Value = sndcp::xid::Entity> {
    (0..32_u8, proptest::option::of(0..32_u8), vec(any::<u8>(), 0..20))
        .prop_map(|(number, algorithm, fields)| sndcp::xid::Entity { number, algorithm, fields })
}

fn sndcp_parameter() -> impl Strategy<Value = sndcp::xid::Parameter> {
    use sndcp::xid::Parameter as X;
    prop_oneof![
        (0..16_u8).prop_map(X::Version),
        vec(entity(), 0..5).prop_map(X::Data),
        vec(entity(), 0..5).prop_map(X::Protocol),
        (3..=255_u8, vec(any::<u8>(), 0..=255)).prop_map(|(kind, value)| X::Unknown { kind, value }),
    ]
}

fn sndcp_header() -> impl Strategy<Value = sndcp::Header> {
    let compression = || (0..16_u8, 0..16_u8).prop_map(|(dcomp, pcomp)| sndcp::Compression { dcomp, pcomp });
    let pdu = prop_oneof![
        proptest::option::of((compression(), any::<u8>())).prop_map(|first| sndcp::Pdu::Data { first }),
        (proptest::option::of(compression()), 0..16_u8, 0..4096_u16)
            .prop_map(|(first, segment, number)| sndcp::Pdu::Unitdata { first, segment, number }),
    ];
    (0..16_u8, any::<bool>(), pdu).prop_map(|(nsapi, more, pdu)| sndcp::Header {
        nsapi: Nsapi(nsapi),
        more,
        pdu,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn llc_header_comes_back(cr: bool, sapi in 0..16_u8, control in control(), info in vec(any::<u8>(), 0..40)) {
        // In an S frame with SACK the bitmap ends at the FCS, so there is no information.
        let info = if matches!(control, Control::S { .. }) { vec![] } else { info };
        let header = Header { cr, sapi: Sapi(sapi), control };
        let mut frame = header.emit().to_vec();
        let header_len = frame.len();
        frame.extend(&info);
        frame.extend(fcs24(&frame[..header_len + header.covered_info(info.len())]));
        let layout = Header::parse(&frame).unwrap();
        prop_assert_eq!(layout.header, header);
        prop_assert_eq!(&frame[layout.info()], &info);
        prop_assert!(layout.fcs_is_right(&frame));
        for flipped in 0..layout.covered().end * 8 {
            frame[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert!(!layout.fcs_is_right(&frame));
            frame[flipped / 8] ^= 1 << (flipped % 8);
        }
    }

    #[test]
    fn xid_comes_back(parameters in vec(parameter(), 0..8)) {
        let mut octets = Vec::new();
        xid::emit(&parameters, &mut octets);
        prop_assert_eq!(xid::parse(&octets).unwrap(), parameters);
    }

    #[test]
    fn sndcp_header_comes_back(header in sndcp_header(), segment in vec(any::<u8>(), 0..9)) {
        let mut pdu = header.emit().to_vec();
        pdu.extend(&segment);
        let (read, start) = sndcp::Header::parse(&pdu).unwrap();
        prop_assert_eq!(read, header);
        prop_assert_eq!(&pdu[start..], &segment);
    }

    #[test]
    fn sndcp_xid_comes_back(parameters in vec(sndcp_parameter(), 0..5)) {
        let mut octets = Vec::new();
        sndcp::xid::emit(&parameters, &mut octets);
        prop_assert_eq!(sndcp::xid::parse(&octets).unwrap(), parameters);
    }

    #[test]
    fn frmr_comes_back(octets: [u8; 10]) {
        let information = FrmrInformation::parse(&octets).unwrap();
        prop_assert_eq!(FrmrInformation::parse(&information.emit()), Ok(information));
    }

    #[test]
    fn no_octets_make_a_parser_panic(octets in vec(any::<u8>(), 0..80)) {
        if let Ok(layout) = Header::parse(&octets) {
            let _ = layout.fcs_is_right(&octets);
            let _ = layout.fcs_is_right(&octets[..octets.len() / 2]);
            let _ = FrmrInformation::parse(&octets[layout.info()]);
        }
        let _ = xid::parse(&octets);
        let _ = sndcp::Header::parse(&octets);
        if let Ok(parameters) = sndcp::xid::parse(&octets) {
            let mut out = Vec::new();
            sndcp::xid::emit(&parameters, &mut out);
        }
    }
}
