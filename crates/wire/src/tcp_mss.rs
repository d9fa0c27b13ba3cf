//! The maximum segment size that a TCP connection is opened with (RFC 9293 clause 3.7.1), made smaller where it is larger than what
//! a path carries.
//!
//! Only a whole SYN is changed: a packet that is no TCP, a fragment, or a header that does not fit stays as it is.

const TCP: u8 = 6;
const SYN: u8 = 0x02;
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const MSS_LEN: u8 = 4;
const IPV6_HEADER_LEN: usize = 40;
/// Headers of IPv6 that may stand in front: hop-by-hop options, routing, destination options.
const IPV6_IN_FRONT: [u8; 3] = [0, 43, 60];

/// Makes the maximum segment size of a SYN no larger than `v4` octets in a packet of IPv4, `v6` octets in one of IPv6, and corrects
/// the checksum (RFC 1624). True where it was larger.
pub fn clamp(packet: &mut [u8], v4: u16, v6: u16) -> bool {
    let (at, most) = match packet.first().map(|octet| octet >> 4) {
        Some(4) => (tcp_of_ipv4(packet), v4),
        Some(6) => (tcp_of_ipv6(packet), v6),
        _ => return false,
    };
    at.and_then(|at| packet.get_mut(at..)).and_then(|segment| clamp_segment(segment, most)).is_some()
}

fn tcp_of_ipv4(packet: &[u8]) -> Option<usize> {
    let [first, _, _, _, _, _, fragment @ .., _, protocol] = packet.first_chunk::<10>()?;
    let offset = u16::from_be_bytes(*fragment.first_chunk::<2>()?) & 0x1fff;
    (*protocol == TCP && offset == 0).then_some(usize::from(first & 0x0f) * 4)
}

fn tcp_of_ipv6(packet: &[u8]) -> Option<usize> {
    let (mut kind, mut at) = (*packet.get(6)?, IPV6_HEADER_LEN);
    while IPV6_IN_FRONT.contains(&kind) {
        let [next, units] = *packet.get(at..)?.first_chunk::<2>()?;
        (kind, at) = (next, at + 8 * (usize::from(units) + 1));
    }
    (kind == TCP).then_some(at)
}

fn clamp_segment(segment: &mut [u8], most: u16) -> Option<()> {
    let (offset, flags) = (*segment.get(12)?, *segment.get(13)?);
    let header = segment.get_mut(..usize::from(offset >> 4) * 4)?;
    if flags & SYN == 0 {
        return None;
    }
    let mut at = 20;
    loop {
        match *header.get(at..)? {
            [] | [END, ..] => return None,
            [NO_OPERATION, ..] => at += 1,
            [MSS, MSS_LEN, high, low, ..] => return replace(header, at + 2, [high, low], most),
            [_, len, ..] if len >= 2 => at += usize::from(len),
            _ => return None,
        }
    }
}

fn replace(header: &mut [u8], at: usize, was: [u8; 2], most: u16) -> Option<()> {
    if u16::from_be_bytes(was) <= most {
        return None;
    }
    let is = most.to_be_bytes();
    header.get_mut(at..at + 2)?.copy_from_slice(&is);
    // A number that begins at an odd place is in the sum with its octets exchanged.
    let in_sum = |[high, low]: [u8; 2]| match at % 2 {
        0 => u32::from(u16::from_be_bytes([high, low])),
        _ => u32::from(u16::from_be_bytes([low, high])),
    };
    let checksum = header.get_mut(16..18)?.first_chunk_mut::<2>()?;
    let old = u32::from(!u16::from_be_bytes(*checksum));
    let mut sum = old + (0xffff - in_sum(was)) + in_sum(is);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    *checksum = (!u16::try_from(sum).ok()?).to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of RFC 1071 over pseudo-header and segment; 0xffff where the checksum is right.
    fn sum(addresses: &[u8], segment: &[u8]) -> u16 {
        let length = [0, TCP, 0, u8::try_from(segment.len()).unwrap()];
        let all = [addresses, &length, segment].concat();
        let mut sum: u32 = all
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::try_from(sum).unwrap()
    }

    /// A segment with these flags and options, its checksum right.
    fn segment(flags: u8, options: &[u8], addresses: &[u8]) -> Vec<u8> {
        let offset = u8::try_from((20 + options.len()) / 4).unwrap() << 4;
        let mut segment =
            vec![0x04, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, offset, flags, 0xfa, 0xf0, 0, 0, 0, 0];
        segment.extend(options);
        let checksum = !sum(addresses, &segment);
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(sum(addresses, &segment), 0xffff);
        segment
    }

    fn ipv4(segment: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 2, 198, 51, 100, 1];
        packet.extend(segment);
        packet
    }

    const ADDRESSES: [u8; 8] = [10, 0, 0, 2, 198, 51, 100, 1];

    #[test]
    fn a_syn_says_no_more_than_it_may() {
        for options in [
            &[2, 4, 0x05, 0xb4][..],
            &[1, 1, 4, 2, 2, 4, 0x05, 0xb4],
            // At an odd place.
            &[1, 2, 4, 0x05, 0xb4, 1, 1, 1],
            &[8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 4, 0x05, 0xb4, 0],
        ] {
            for flags in [SYN, SYN | 0x10] {
                let mut packet = ipv4(&segment(flags, options, &ADDRESSES));
                assert!(clamp(&mut packet, 1380, 1360), "{options:?}");
                assert_eq!(sum(&ADDRESSES, &packet[20..]), 0xffff, "{options:?}");
                let at = 40 + options.windows(2).position(|pair| pair == [2, 4]).unwrap();
                assert_eq!(packet[at..at + 4], [2, 4, 0x05, 0x64], "{options:?}");
                let before = packet.clone();
                assert!(!clamp(&mut packet, 1380, 1360));
                assert_eq!(packet, before);
            }
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let unchanged = |packet: &[u8]| {
            let mut clamped = packet.to_vec();
            assert!(!clamp(&mut clamped, 500, 500), "{packet:?}");
            assert_eq!(clamped, packet);
        };
        let syn = ipv4(&segment(SYN, &[2, 4, 0x05, 0xb4], &ADDRESSES));
        let with = |at: usize, octet: u8| {
            let mut packet = syn.clone();
            packet[at] = octet;
            packet
        };
        // No SYN, UDP, a later fragment, an option without end or length, a header that is cut.
        unchanged(&ipv4(&segment(0x10, &[2, 4, 0x05, 0xb4], &ADDRESSES)));
        unchanged(&with(9, 17));
        unchanged(&with(7, 1));
        unchanged(&with(41, 0));
        unchanged(&with(41, 200));
        unchanged(&with(32, 0xf0));
        for cut in 0..syn.len() {
            unchanged(&syn[..cut]);
        }
        unchanged(&ipv4(&segment(SYN, &[], &ADDRESSES)));
        unchanged(&ipv4(&segment(SYN, &[0, 2, 4, 5], &ADDRESSES)));
    }

    #[test]
    fn behind_the_headers_of_ipv6() {
        let addresses = [[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat();
        let syn = segment(SYN, &[2, 4, 0x05, 0xa0], &addresses);
        let packet = |next: u8, front: &[u8]| {
            let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
            packet.extend(&addresses);
            packet.extend(front);
            packet.extend(&syn);
            packet
        };
        for mut packet in [packet(TCP, &[]), packet(0, &[60, 0, 1, 4, 0, 0, 0, 0, TCP, 0, 1, 4, 0, 0, 0, 0])]
        {
            assert!(clamp(&mut packet, 1380, 1360));
            let segment = &packet[packet.len() - syn.len()..];
            assert_eq!((sum(&addresses, segment), &segment[20..]), (0xffff, &[2, 4, 0x05, 0x50][..]));
        }
        assert!(!clamp(&mut packet(44, &[TCP, 0, 0, 0, 0, 0, 0, 0]), 1380, 1360), "a fragment");
    }
}
