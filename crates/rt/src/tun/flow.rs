//! Of which flow a packet of IP is, as a number.

const FRAGMENT: u16 = 0x3fff;
/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with ports.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// The same for all packets with the same addresses, protocol and ports. Fragments, and IPv6 behind extension headers, have no ports here.
pub(crate) fn flow_hash(packet: &[u8]) -> u32 {
    let at = |range: core::ops::Range<usize>| packet.get(range).unwrap_or_default();
    let first = packet.first().copied().unwrap_or(0);
    let (addresses, protocol, ports) = if first >> 4 == 6 {
        (at(8..40), packet.get(6).copied(), Some(40))
    } else {
        let is_part = at(6..8).first_chunk().is_some_and(|two| u16::from_be_bytes(*two) & FRAGMENT != 0);
        (at(12..20), packet.get(9).copied(), (!is_part).then_some(usize::from(first & 15) * 4))
    };
    let has_ports = protocol.is_some_and(|protocol| WITH_PORTS.contains(&protocol));
    let ports = ports.filter(|_| has_ports).map_or(&[][..], |from| at(from..from + 4));
    let octets = addresses.iter().chain(protocol.as_slice()).chain(ports);
    // FNV-1a, and its upper half into the lower, by which queues are chosen.
    let hash =
        octets.fold(0x811c_9dc5_u32, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(source_port: u16, fragment: u16) -> Vec<u8> {
        let mut packet = vec![0; 28];
        (packet[0], packet[9]) = (0x45, 17);
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 0, 2, 1]);
        packet[20..22].copy_from_slice(&source_port.to_be_bytes());
        packet
    }

    #[test]
    fn flows_are_told_apart_and_fragments_stay_together() {
        assert_eq!(flow_hash(&v4(1, 0x4000)), flow_hash(&v4(1, 0)), "may not be fragmented");
        assert_ne!(flow_hash(&v4(1, 0)), flow_hash(&v4(2, 0)));
        assert_eq!(flow_hash(&v4(1, 0x2000)), flow_hash(&v4(2, 185)), "the first fragment and another");
        let mut v6 = vec![0; 44];
        (v6[0], v6[6]) = (0x60, 6);
        let other = [&v6[..43], &[1]].concat();
        assert_ne!(flow_hash(&v6), flow_hash(&other));
        (0..44).for_each(|len| _ = flow_hash(&v6[..len]));
    }
}
