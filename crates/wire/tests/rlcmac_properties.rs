//! RLC/MAC control messages and CCCH blocks: what is written is read again, and nothing that is read panics.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::DecodeErrorKind;
use gannet_wire::id::{PTmsi, Tlli};
use gannet_wire::rlcmac::ccch::CcchMessage;
use gannet_wire::rlcmac::control::{ControlAddress, DownlinkControlHeader, OptionalOctets};
use gannet_wire::rlcmac::downlink::{PacketAccessReject, PacketDownlinkDummy, Reject, RejectAddress};
use gannet_wire::rlcmac::element::{GlobalTfi, RadioCapability, Wait};
use gannet_wire::rlcmac::paging::{PacketPagingRequest, Page, PagedIdentity};
use gannet_wire::rlcmac::value::{
    BlockPower, MultislotClass, PageMode, PersistenceLevel, Rrbp, Rti, Tfi, Usf, WaitIndication, WaitUnit,
};
use gannet_wire::rlcmac::{
    Bits, DownlinkControlBlock, DownlinkMessage, Later, UplinkControlBlock, UplinkMessage,
};
use proptest::prelude::*;

/// Types of messages that are read, downlink and uplink.
const DOWNLINK: [u8; 15] = [0x21, 1, 2, 0x25, 3, 0x22, 0x23, 4, 5, 6, 0x37, 8, 9, 10, 7];
const UPLINK: [u8; 7] = [0, 1, 2, 3, 4, 5, 6];
/// Types on AGCH and PCH, and octets that the pseudo length counts where nothing optional is there.
const CCCH: [(u8, u8); 6] = [(0x3f, 11), (0x39, 18), (0x3a, 19), (0x21, 5), (0x22, 11), (0x24, 19)];

/// Mostly zeros, so that most of the optional parts are absent, or as it comes.
fn content(octets: usize) -> impl Strategy<Value = Vec<u8>> {
    let sparse = (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(a, b, c)| a & b & c);
    prop_oneof![proptest::collection::vec(any::<u8>(), octets), proptest::collection::vec(sparse, octets),]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_downlink_message_that_is_read_is_written_and_read_again(
        kind in proptest::sample::select(&DOWNLINK[..]), mut octets in content(22),
    ) {
        octets[0] = octets[0] & 3 | kind << 2;
        if let Ok(message) = DownlinkMessage::parse(&octets) {
            prop_assert_eq!(message.message_type(), kind);
            let mut room = [0; 22];
            prop_assert!(message.emit(&mut room), "{message:?}");
            prop_assert_eq!(DownlinkMessage::parse(&room), Ok(message));
        }
    }

    #[test]
    fn an_uplink_message_that_is_read_is_written_and_read_again(
        kind in proptest::sample::select(&UPLINK[..]), mut octets in content(22),
    ) {
        octets[0] = octets[0] & 3 | kind << 2;
        if let Ok(message) = UplinkMessage::parse(&octets) {
            prop_assert_eq!(message.message_type(), kind);
            let mut room = [0; 22];
            prop_assert!(message.emit(&mut room), "{message:?}");
            prop_assert_eq!(UplinkMessage::parse(&room), Ok(message));
        }
    }

    #[test]
    fn a_block_that_is_read_is_written_and_read_again(octets in content(23)) {
        if let Ok(block) = DownlinkControlBlock::parse(&octets) {
            let again = block.emit().unwrap();
            prop_assert_eq!(DownlinkControlBlock::parse(&again), Ok(block));
        }
        if let Ok(block) = UplinkControlBlock::parse(&octets) {
            let again = block.emit().unwrap();
            prop_assert_eq!(UplinkControlBlock::parse(&again), Ok(block));
        }
    }

    #[test]
    fn a_ccch_block_that_is_read_is_written_and_read_again(
        (kind, len) in proptest::sample::select(&CCCH[..]), more in 0_u8..3, mut octets in content(23),
        plain in any::<bool>(),
    ) {
        octets[..3].copy_from_slice(&[(len + more).min(22) << 2 | 1, 6, kind]);
        // Without a mobile allocation, and with a mobile identity of one octet.
        if plain && kind != 0x39 {
            octets[if kind == 0x3f { 11 } else { 4 }] = u8::from(kind == 0x21);
        }
        if let Ok(message) = CcchMessage::parse(&octets) {
            prop_assert_eq!(message.message_type(), kind);
            let again = message.emit().unwrap();
            let second = CcchMessage::parse(&again).unwrap();
            prop_assert_eq!(second.emit(), Some(again));
            // Octets that are skipped leave more room to the rest octets.
            if more == 0 {
                prop_assert_eq!(second, message);
            }
        }
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..30)) {
        let _ = DownlinkControlBlock::parse(&octets);
        let _ = UplinkControlBlock::parse(&octets);
        let _ = CcchMessage::parse(&octets);
        let _ = DownlinkMessage::parse(&octets);
        let _ = UplinkMessage::parse(&octets);
    }

    #[test]
    fn spare_bits_behind_a_message_do_not_matter(octets in content(22)) {
        let mut block = [&[0x47, 0x94][..], &octets[1..]].concat();
        block[2] &= 0x3f;
        let dummy = PacketDownlinkDummy { page_mode: PageMode::Normal, persistence: None };
        let expected = DownlinkControlBlock {
            header: DownlinkControlHeader::new(Usf::lowest(7)),
            message: dummy.into(),
        };
        prop_assert_eq!(DownlinkControlBlock::parse(&block), Ok(expected));
    }

    #[test]
    fn a_multislot_class_is_found_again(power in 0_u8..8, class in 1_u8..30) {
        let class = MultislotClass::lowest(class);
        let capability = RadioCapability::gprs(1, power, class);
        prop_assert_eq!(capability.multislot_class(), Some(class));
        // Cut short it has none, or the same.
        for len in 0..capability.content.len() {
            let octets: Vec<u8> = bits_as_octets(&capability.content);
            let cut = RadioCapability { technology: 1, content: Bits::new(&octets, len) };
            prop_assert!(cut.multislot_class().is_none_or(|found| found == class));
        }
    }
}

/// The properties above say something of each type: random octets are a message of it often enough.
#[test]
fn random_octets_are_messages_of_every_type() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut block = || {
        [0; 22].map(|_: u8| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[5]
        })
    };
    let mut read_of = |kind: u8, read: &dyn Fn(&[u8]) -> bool| {
        let blocks = (0..1000).map(|_| {
            let mut octets = block();
            octets[0] = octets[0] & 3 | kind << 2;
            octets
        });
        blocks.filter(|octets| read(octets)).count()
    };
    for kind in DOWNLINK {
        let read = read_of(kind, &|octets| DownlinkMessage::parse(octets).is_ok());
        assert!(read > 20, "type {kind:#x}: {read} in 1000");
    }
    for kind in UPLINK {
        let read = read_of(kind, &|octets| UplinkMessage::parse(octets).is_ok());
        assert!(read > 20, "type {kind:#x}: {read} in 1000");
    }
}

#[test]
fn a_long_message_goes_in_two_blocks() {
    let page = |number| Page::Packet(PagedIdentity::Temporary(PTmsi(number)));
    let message = |pages: u32| {
        DownlinkMessage::from(PacketPagingRequest {
            page_mode: PageMode::Normal,
            persistence: None,
            list: None,
            pages: (0..pages).map(|number| page(0xc000_0000 | number)).collect(),
            later: Later::NONE,
        })
    };
    let address = ControlAddress { power: BlockPower::lowest(1), tfi: GlobalTfi::Downlink(Tfi::lowest(9)) };
    let optional =
        OptionalOctets { is_second: false, rti: Rti::lowest(0), is_final: true, address: Some(address) };
    let plain = DownlinkControlHeader { poll: Some(Rrbp::N17), ..DownlinkControlHeader::new(Usf::lowest(2)) };
    let addressed = DownlinkControlHeader { optional: Some(optional), ..plain };
    // 10 bits and 35 for each page, of 336 and of 320.
    for (header, most) in [(plain, 9), (addressed, 8)] {
        for pages in 0..=most {
            let [first, second] =
                DownlinkControlBlock::emit_segments(header, Rti::lowest(21), &message(pages)).unwrap();
            assert_eq!(DownlinkControlBlock::parse_segments(&first, &second), Ok(message(pages)));
            let error = DownlinkControlBlock::parse(&first).unwrap_err();
            assert_eq!((error.ie, error.kind), ("FS", DecodeErrorKind::Conditional));
            let error = DownlinkControlBlock::parse_segments(&second, &first).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::OutOfSequence);
            let polls = [first, second].map(|block| DownlinkControlHeader::parse(&block).unwrap().0.poll);
            assert_eq!(polls, [None, Some(Rrbp::N17)]);
        }
        let rti = Rti::lowest(21);
        assert_eq!(DownlinkControlBlock::emit_segments(header, rti, &message(most + 1)), None);
    }
    let [first, _] = DownlinkControlBlock::emit_segments(plain, Rti::lowest(1), &message(6)).unwrap();
    let [_, other] = DownlinkControlBlock::emit_segments(plain, Rti::lowest(2), &message(6)).unwrap();
    let error = DownlinkControlBlock::parse_segments(&first, &other).unwrap_err();
    assert_eq!(error.to_string(), "RTI at octet 1: out of sequence");
}

fn bits_as_octets(bits: &Bits) -> Vec<u8> {
    let mut octets = vec![0; bits.len().div_ceil(8)];
    for (at, bit) in bits.iter().enumerate() {
        octets[at / 8] |= u8::from(bit) << (7 - at % 8);
    }
    octets
}

fn reject(tlli: u32, wait: Option<Wait>) -> Reject {
    Reject { address: RejectAddress::Tlli(Tlli(tlli)), wait }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let wait = Wait { value: WaitIndication::lowest(100), unit: WaitUnit::TwentyMilliseconds };
    assert_eq!(wait.milliseconds(), 2000);
    let message = |more: usize| PacketAccessReject {
        page_mode: PageMode::Normal,
        reject: reject(0xc000_0001, Some(wait)),
        more: (0..more).map(|_| reject(0xc000_0002, None)).collect(),
        later: Later::NONE,
    };
    let mut room = [0; 22];
    // 6 + 2 + 43 bits and 35 for each more, of 176: three fit, and the end may be cut.
    for more in 0..=3 {
        assert!(DownlinkMessage::from(message(more)).emit(&mut room));
        assert_eq!(DownlinkMessage::parse(&room), Ok(message(more).into()));
    }
    assert!(!DownlinkMessage::from(message(4)).emit(&mut room));
}

#[test]
fn a_message_for_egprs_is_an_error_that_says_so() {
    // Uplink assignment to a TLLI, with a one where the message escape is.
    let mut octets = [0x2b; 22];
    octets[..6].copy_from_slice(&[0b0010_1000, 0b0101_1000, 0, 0, 0, 0b0001_0000]);
    let error = DownlinkMessage::parse(&octets).unwrap_err();
    assert_eq!(
        (error.ie, error.offset, error.kind),
        ("Packet Uplink Assignment", 5, DecodeErrorKind::BadValue(1))
    );
    let error = DownlinkControlBlock::parse(&[&[0x47][..], &octets].concat()).unwrap_err();
    assert_eq!(error.to_string(), "Packet Uplink Assignment at octet 6: undefined value 0x1");
}

#[test]
fn what_is_cut_off_is_an_error_and_what_may_be_cut_is_zero() {
    let dummy = PacketDownlinkDummy {
        page_mode: PageMode::Extended,
        persistence: Some([3, 5, 7, 9].map(PersistenceLevel::lowest)),
    };
    let mut room = [0; 4];
    assert!(DownlinkMessage::from(dummy.clone()).emit(&mut room));
    assert_eq!(DownlinkMessage::parse(&room), Ok(dummy.into()));
    for len in 0..4 {
        let error = DownlinkMessage::parse(&room[..len]).unwrap_err();
        assert!(matches!(error.kind, DecodeErrorKind::Truncated { .. }), "{error}");
    }
    // 10 octets hold two pages of P-TMSIs, and not the zero that ends their list.
    let page = |number| Page::Packet(PagedIdentity::Temporary(PTmsi(number)));
    let message = |pages| PacketPagingRequest {
        page_mode: PageMode::Normal,
        persistence: None,
        list: None,
        pages,
        later: Later::NONE,
    };
    let paging: DownlinkMessage = message(vec![page(0xc000_0001), page(0xffff_ffff)]).into();
    let mut room = [0; 10];
    assert!(paging.emit(&mut room));
    assert_eq!(DownlinkMessage::parse(&room), Ok(paging));
    assert!(!DownlinkMessage::from(message(vec![page(1), page(2), page(3)])).emit(&mut room));
}
