//! RLC data blocks: what is put together is taken apart again, and no octets make the reader panic.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers, or any octet will do")]

use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::{Body, DownlinkHeader, FILLER, Payload, TLLI_LEN, UplinkHeader};
use gannet_wire::rlcmac::coding::{CodingScheme, HEADER_LEN};
use proptest::prelude::*;

fn scheme() -> impl Strategy<Value = CodingScheme> {
    prop::sample::select(CodingScheme::ALL.to_vec())
}

fn tlli() -> impl Strategy<Value = Option<Tlli>> {
    prop::option::of(any::<u32>().prop_map(Tlli))
}

prop_compose! {
    fn downlink()(
        usf in 0..8_u8, rrbp in prop::option::of(0..4_u8), power_reduction in 0..4_u8, tfi in 0..32_u8,
        is_final in any::<bool>(), bsn in 0..128_u8,
    ) -> DownlinkHeader {
        DownlinkHeader { usf, rrbp, power_reduction, tfi, is_final, bsn }
    }
}

prop_compose! {
    fn uplink()(
        countdown in 0..16_u8, is_stalled in any::<bool>(), is_retry in any::<bool>(), tfi in 0..32_u8,
        bsn in 0..128_u8,
    ) -> UplinkHeader {
        UplinkHeader { countdown, is_stalled, is_retry, tfi, bsn }
    }
}

/// LL-PDUs that end in a block, and the octets of one that goes on, cut so that they fit.
fn fitting(
    scheme: CodingScheme,
    tlli: Option<Tlli>,
    wanted: &[Vec<u8>],
    tail: &[u8],
) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut space = scheme.data_octets() - tlli.map_or(0, |_| TLLI_LEN);
    let mut ended = Vec::new();
    for pdu in wanted {
        if pdu.len() + 1 > space {
            break;
        }
        space -= pdu.len() + 1;
        ended.push(pdu.clone());
    }
    // What goes on fills the block, or there is none.
    let tail = if space > 0 && tail.len() >= space { tail[..space].to_vec() } else { Vec::new() };
    (ended, tail)
}

proptest! {
    #[test]
    fn bodies_are_read_as_they_were_put_together(
        scheme in scheme(),
        tlli in tlli(),
        wanted in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let (ended, tail) = fitting(scheme, tlli, &wanted, &tail);
        prop_assume!(!ended.is_empty() || !tail.is_empty());
        let lengths: Vec<u8> = ended.iter().map(|pdu| pdu.len() as u8).collect();
        let pieces = ended.iter().map(Vec::as_slice).chain([tail.as_slice()]);
        let body = Body::compose(scheme, tlli, (&lengths, !tail.is_empty()), pieces).unwrap();
        let contents = body.contents().unwrap();
        prop_assert_eq!(contents.tlli, tlli);
        let mut expected: Vec<(Vec<u8>, bool)> = ended.iter().map(|pdu| (pdu.clone(), true)).collect();
        expected.extend((!tail.is_empty()).then(|| (tail.clone(), false)));
        let read: Vec<(Vec<u8>, bool)> =
            contents.segments().map(|segment| (segment.octets.to_vec(), segment.is_last)).collect();
        prop_assert_eq!(read, expected);
        let used: usize = lengths.iter().map(|length| usize::from(*length)).sum();
        let rest = scheme.data_octets() - lengths.len() - tlli.map_or(0, |_| TLLI_LEN) - used - tail.len();
        prop_assert_eq!(contents.filler, rest);
        prop_assert!(body.octets()[scheme.data_octets() - rest..].iter().all(|octet| *octet == FILLER));
    }

    #[test]
    fn blocks_are_read_as_they_were_written(
        scheme in scheme(), tlli in tlli(), down in downlink(), up in uplink(), octets in prop::collection::vec(any::<u8>(), 46),
    ) {
        let space = scheme.data_octets() - tlli.map_or(0, |_| TLLI_LEN);
        let piece = &octets[..space.min(octets.len())];
        let body = Body::compose(scheme, None, (&[], false), [piece]).unwrap();
        let block = down.emit(&body);
        prop_assert_eq!(block.len(), scheme.block_octets());
        prop_assert_eq!(Payload::of(&block), Some(Payload::Data));
        prop_assert_eq!(DownlinkHeader::parse(&block).unwrap(), (down, body));
        let body = Body::compose(scheme, tlli, (&[], false), [piece]).unwrap();
        let block = up.emit(&body);
        prop_assert_eq!(block.len(), scheme.block_octets());
        prop_assert_eq!(UplinkHeader::parse(&block).unwrap(), (up, body));
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..60), scheme in scheme()) {
        let mut fitting = octets.clone();
        fitting.resize(scheme.block_octets(), 0x2b);
        for block in [&octets, &fitting] {
            let is_data = Payload::of(block) == Some(Payload::Data) && CodingScheme::of_block(block.len()).is_some();
            let downlink = DownlinkHeader::parse(block);
            let uplink = UplinkHeader::parse(block);
            prop_assert_eq!(downlink.is_ok(), is_data);
            prop_assert_eq!(uplink.is_ok(), is_data);
            let (Ok((down, down_body)), Ok((up, up_body))) = (downlink, uplink) else { continue };
            for body in [&down_body, &up_body] {
                let Ok(contents) = body.contents() else { continue };
                let read: usize = contents.segments().map(|segment| segment.octets.len()).sum();
                prop_assert!(read + contents.filler <= body.octets().len());
            }
            // What was read is written again but for the spare bits, an RRBP without S/P, and bit 8 of the second octet uplink.
            let end = HEADER_LEN + down_body.octets().len();
            let mut known = block[..end].to_vec();
            if known[0] & 8 == 0 {
                known[0] &= 7;
            }
            prop_assert_eq!(&down.emit(&down_body)[..end], &known[..]);
            let mut known = block[..end].to_vec();
            known[1] &= 0x7f;
            prop_assert_eq!(&up.emit(&up_body)[..end], &known[..]);
        }
    }
}

#[test]
fn too_much_does_not_fit() {
    let octets = [0_u8; 60];
    for scheme in CodingScheme::ALL {
        let space = scheme.data_octets();
        assert!(Body::compose(scheme, None, (&[], false), [&octets[..space]]).is_some());
        assert_eq!(Body::compose(scheme, None, (&[], false), [&octets[..=space]]), None);
        assert_eq!(Body::compose(scheme, Some(Tlli(1)), (&[], false), [&octets[..space]]), None);
        assert_eq!(Body::compose(scheme, None, (&[1], true), [&octets[..space]]), None);
    }
}
