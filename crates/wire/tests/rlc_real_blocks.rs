//! RLC data blocks that others sent: taken apart and put together again.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers, or any octet will do")]

use gannet_wire::rlcmac::block::{Body, DownlinkHeader, UplinkHeader};
use gannet_wire::rlcmac::coding::CodingScheme;

const BLOCKS: &str = include_str!("rlc_real_blocks.txt");

fn blocks() -> Vec<(bool, Vec<u8>)> {
    let lines = BLOCKS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (way, octets) = line.split_once(' ').unwrap();
            let octet = |at: usize| u8::from_str_radix(&octets[at..at + 2], 16).unwrap();
            (way == "up", (0..octets.len()).step_by(2).map(octet).collect())
        })
        .collect()
}

/// The same data field put together from what was read in it.
fn again(body: &Body) -> Body {
    let contents = body.contents().unwrap();
    let segments: Vec<_> = contents.segments().collect();
    let ended = segments.iter().filter(|segment| segment.is_last);
    let lengths: Vec<u8> = ended.map(|segment| segment.octets.len() as u8).collect();
    let more = segments.last().is_some_and(|segment| !segment.is_last);
    Body::compose(body.scheme(), contents.tlli, (&lengths, more), segments.iter().map(|s| s.octets)).unwrap()
}

#[test]
fn blocks_are_read_and_written_again() {
    let mut schemes = Vec::new();
    for (is_up, octets) in blocks() {
        let (body, written) = if is_up {
            let (header, body) = UplinkHeader::parse(&octets).unwrap();
            (body, header.emit(&again(&body)))
        } else {
            let (header, body) = DownlinkHeader::parse(&octets).unwrap();
            (body, header.emit(&again(&body)))
        };
        assert_eq!(&*written, octets);
        schemes.push((is_up, body.scheme()));
    }
    schemes.sort_unstable();
    schemes.dedup();
    let expected = [(false, CodingScheme::Cs2), (false, CodingScheme::Cs3), (false, CodingScheme::Cs4)];
    assert_eq!(schemes, [&expected[..], &[(true, CodingScheme::Cs4)]].concat());
}
