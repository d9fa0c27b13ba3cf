//! The checksum that a sender's kernel has left to its device (`TP_STATUS_CSUMNOTREADY`), finished in its place.

use crate::inet::{fold, sum_of};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Finishes the checksum of TCP or UDP of an IP packet, whose field has the sum of the pseudo-header alone. False, and nothing
/// has changed, where there is no such header at its place: behind another protocol or an extension header.
pub fn finish_checksum(packet: &mut [u8]) -> bool {
    let Some((protocol, start, end)) = segment(packet) else { return false };
    let at = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return false,
    };
    let Some(segment) = packet.get_mut(start..end) else { return false };
    if segment.len() < at + 2 {
        return false;
    }
    let mut sum: u32 = 0;
    for pair in segment.chunks(2) {
        let high = pair.first().copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([high, pair.get(1).copied().unwrap_or(0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let [.., high, low] = (!sum).to_be_bytes();
    // UDP has no zero there: that would mean that there is none (RFC 768).
    let sum = if protocol == UDP && (high, low) == (0, 0) { [0xff, 0xff] } else { [high, low] };
    let Some(field) = segment.get_mut(at..at + 2) else { return false };
    field.copy_from_slice(&sum);
    true
}

/// Does the checksum of TCP or UDP look like one that was left to a device: the sum of the pseudo-header alone? One right checksum in
/// 65,536 looks so too; finishing it does no harm.
pub(crate) fn is_unfinished(packet: &[u8]) -> bool {
    let Some((protocol, start, end)) = segment(packet) else { return false };
    let (at, addresses) = match (protocol, packet.first().map(|first| first >> 4)) {
        (TCP, Some(4)) => (16, 12..20),
        (UDP, Some(4)) => (6, 12..20),
        (TCP, _) => (16, 8..40),
        (UDP, _) => (6, 8..40),
        _ => return false,
    };
    let is_fragment =
        addresses.end == 20 && packet.get(6..8).is_none_or(|field| field != [0, 0] && field != [0x40, 0]);
    let Some(field) = packet.get(start..end).and_then(|segment| segment.get(at..at + 2)) else {
        return false;
    };
    let Some(addresses) = packet.get(addresses) else { return false };
    let len = u32::try_from(end - start).unwrap_or(0);
    !is_fragment && field == fold(sum_of(addresses) + u32::from(protocol) + len).to_be_bytes()
}

/// The protocol, and where its header begins and the packet ends.
fn segment(packet: &[u8]) -> Option<(u8, usize, usize)> {
    let length = |at: usize| Some(usize::from(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?)));
    match packet.first()? >> 4 {
        4 => Some((*packet.get(9)?, usize::from(packet.first()? & 15) * 4, length(2)?)),
        6 => Some((*packet.get(6)?, 40, 40 + length(4)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram of `tcpdump`'s from 192.0.2.1:1000 to 192.0.2.2:2000 with the payload "abc".
    fn datagram() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, UDP, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        packet.extend([3, 0xe8, 7, 0xd0, 0, 11, 0, 0, b'a', b'b', b'c']);
        packet
    }

    /// Sum of the pseudo-header, not complemented.
    fn pseudo() -> u32 {
        let words = [0xc000, 0x0201, 0xc000, 0x0202, u32::from(UDP), 11];
        let sum: u32 = words.iter().sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn what_is_finished_sums_up_to_all_ones() {
        let mut packet = datagram();
        let [.., high, low] = pseudo().to_be_bytes();
        packet[26..28].copy_from_slice(&[high, low]);
        assert!(finish_checksum(&mut packet));
        let words = packet[20..]
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b)));
        let mut sum = words.sum::<u32>() + pseudo();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!(sum, 0xffff);
    }

    #[test]
    fn what_a_sender_left_to_its_device_is_told_from_the_rest() {
        let mut packet = datagram();
        assert!(!is_unfinished(&packet), "none at all");
        let [.., high, low] = pseudo().to_be_bytes();
        packet[26..28].copy_from_slice(&[high, low]);
        assert!(is_unfinished(&packet));
        for (at, octet) in [(6, 0x20), (7, 1), (9, 1), (17, 9)] {
            let mut other = packet.clone();
            other[at] = octet;
            assert!(!is_unfinished(&other), "{at}");
        }
        assert!(finish_checksum(&mut packet) && !is_unfinished(&packet));
        // TCP over IPv6, from ::1 to ::2, with nothing behind its header.
        let mut packet = [vec![0x60, 0, 0, 0, 0, 20, TCP, 64], vec![0; 52]].concat();
        (packet[23], packet[39], packet[57]) = (1, 2, 1 + 2 + TCP + 20);
        assert!(is_unfinished(&packet));
        packet[57] += 1;
        assert!(!is_unfinished(&packet));
        (0..28).for_each(|len| assert!(!is_unfinished(&packet[..len])));
    }

    #[test]
    fn what_has_no_checksum_stays() {
        let mut packet = datagram();
        packet[9] = 1;
        let before = packet.clone();
        assert!(!finish_checksum(&mut packet));
        assert_eq!(packet, before);
        for len in 0..28 {
            assert!(!finish_checksum(&mut datagram()[..len]), "{len}");
        }
    }
}
