//! Segments of TCP.

use crate::record::TcpSegment;
use etherparse::{TcpOptionElement, TcpSlice};

/// Octets of a header without options.
const HEADER_LEN: usize = 20;

/// Reads a segment of `ip_octets` octets of IP, `payload_octets` of them behind the IP header, whose capture may have fewer.
/// Connection and direction are for others to say.
#[must_use]
pub fn parse(payload: &[u8], payload_octets: u32, ip_octets: u32, identification: u16) -> Option<TcpSegment> {
    let padded: Vec<u8>;
    let header_len = usize::from(payload.get(12)? >> 4) * 4;
    // A capture of headers may end within the options: what is there counts.
    let slice = match TcpSlice::from_slice(payload) {
        Ok(slice) => slice,
        Err(_) if payload.len() >= HEADER_LEN && header_len > payload.len() => {
            let mut octets = payload.to_vec();
            octets.resize(header_len, 0);
            padded = octets;
            TcpSlice::from_slice(&padded).ok()?
        }
        Err(_) => return None,
    };
    let mut segment = TcpSegment {
        connection: 0,
        is_forward: true,
        sequence: slice.sequence_number(),
        acknowledgement: slice.acknowledgment_number(),
        length: payload_octets.saturating_sub(u32::try_from(header_len).unwrap_or(u32::MAX)),
        flags: payload.get(13).copied()?,
        window: slice.window_size(),
        sack: Vec::new(),
        timestamps: None,
        scale: None,
        mss: None,
        identification,
        ip_octets,
    };
    for option in slice.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => segment.mss = Some(mss),
            TcpOptionElement::WindowScale(scale) => segment.scale = Some(scale),
            TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                segment.sack = core::iter::once(first).chain(more.into_iter().flatten()).collect();
            }
            TcpOptionElement::Timestamp(value, echo) => segment.timestamps = Some((value, echo)),
            TcpOptionElement::Noop | TcpOptionElement::SelectiveAcknowledgementPermitted => {}
        }
    }
    Some(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_with_options_whole_and_cut() {
        let mut octets = vec![0x1f, 0x90, 0, 80];
        octets.extend(1_000_u32.to_be_bytes());
        octets.extend(2_000_u32.to_be_bytes());
        octets.extend([0xb0, 0x18, 0x10, 0, 0, 0, 0, 0]);
        octets.extend([1, 1, 8, 10]);
        octets.extend(77_u32.to_be_bytes());
        octets.extend(66_u32.to_be_bytes());
        octets.extend([1, 1, 5, 10]);
        octets.extend(3_000_u32.to_be_bytes());
        octets.extend(3_500_u32.to_be_bytes());
        octets.extend([9; 11]);
        let segment = parse(&octets, 55, 75, 9).unwrap();
        assert_eq!((segment.sequence, segment.acknowledgement, segment.length), (1000, 2000, 11));
        assert_eq!((segment.flags, segment.window), (0x18, 4096));
        assert_eq!(segment.timestamps, Some((77, 66)));
        assert_eq!(segment.sack, [(3000, 3500)]);
        let cut = parse(&octets[..34], 55, 75, 9).unwrap();
        assert_eq!((cut.length, cut.timestamps, cut.sack.len()), (11, Some((77, 66)), 0));
        assert!(parse(&octets[..19], 55, 75, 9).is_none());
        assert!(parse(&[], 0, 20, 0).is_none());
    }
}
