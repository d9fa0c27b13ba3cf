//! User data through a GGSN: who sends it, and what counts it at the other end.

use crate::contexts::Tunnel;
use crate::demo::configs::address;
use crate::forwarding::{Counted, Load};
use crate::way::Way;
use core::net::Ipv4Addr;
use gannet_wire::gtp::PORT_USER;
use gannet_wire::gtp::v1u::GPdu;

/// Octets of UDP's payload in each T-PDU, and of the whole T-PDU.
pub const PAYLOAD: u16 = 200;
const T_PDU: u16 = PAYLOAD + 28;
/// The UDP port of host and mobiles, by which the sinks know what they count.
const PORT: u16 = 7007;

/// What arrives at the end of a way.
#[must_use]
pub const fn counted(way: Way) -> Counted {
    Counted { tunnelled: matches!(way, Way::Down), port: PORT, octets: T_PDU }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// T-PDUs one way, one of each context.
///
/// # Errors
/// Where an address of the stage cannot be read.
pub fn load(way: Way, tunnels: &[Tunnel]) -> Result<Load, String> {
    let [sgsn, ggsn, host] = [address::GN_SGSN, address::GN_GGSN, address::GI_HOST]
        .map(|address| address.parse::<Ipv4Addr>().map_err(text));
    let (sgsn, ggsn, host) = (sgsn?, ggsn?, host?);
    Ok(match way {
        Way::Up => Load {
            from: (sgsn, PORT_USER).into(),
            datagrams: tunnels.iter().map(|tunnel| ((ggsn, PORT_USER).into(), g_pdu(tunnel, host))).collect(),
        },
        Way::Down => Load {
            from: (host, PORT).into(),
            datagrams: tunnels
                .iter()
                .map(|tunnel| ((tunnel.address, PORT).into(), vec![0; usize::from(PAYLOAD)]))
                .collect(),
        },
    })
}

/// A mobile's T-PDU to the host in a G-PDU: UDP in IPv4, no checksum of UDP (RFC 768).
fn g_pdu(tunnel: &Tunnel, host: Ipv4Addr) -> Vec<u8> {
    let header = GPdu { teid: tunnel.teid, sequence: None, npdu_number: None };
    let mut octets = vec![0; header.buffer_len()];
    // The length fits its field.
    let _ = header.emit(T_PDU.into(), &mut octets);
    let mut ip = vec![0x45, 0];
    ip.extend(T_PDU.to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend(tunnel.address.octets());
    ip.extend(host.octets());
    let sum = checksum(&ip);
    ip.splice(10..12, sum);
    octets.extend(ip);
    octets.extend([PORT, PORT, PAYLOAD + 8, 0].map(u16::to_be_bytes).concat());
    octets.extend(vec![0; PAYLOAD.into()]);
    octets
}

/// The checksum of the Internet (RFC 1071) over an even number of octets.
fn checksum(octets: &[u8]) -> [u8; 2] {
    let mut sum: u32 = octets.as_chunks().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap_or(0)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::id::Teid;

    /// The header of a datagram to the host, with the checksum worked out by hand.
    #[test]
    fn a_g_pdu_holds_the_mobiles_packet() {
        let tunnel = Tunnel { teid: Teid(0x0102_0304), address: Ipv4Addr::new(198, 18, 0, 2) };
        let octets = g_pdu(&tunnel, Ipv4Addr::new(192, 0, 2, 10));
        let (g_pdu, _, range) = GPdu::parse(&octets).unwrap();
        assert_eq!((g_pdu.teid, range.len()), (tunnel.teid, usize::from(T_PDU)));
        let t_pdu = &octets[range];
        // 4500+00e4+4011+c612+0002+c000+020a = 20e13, so 0e15, and its complement.
        assert_eq!(t_pdu[10..12], [0xf1, 0xea]);
        assert_eq!(t_pdu[12..20], [198, 18, 0, 2, 192, 0, 2, 10]);
        assert_eq!(t_pdu[20..28], [0x1b, 0x5f, 0x1b, 0x5f, 0, 208, 0, 0]);
        assert_eq!(t_pdu.len(), 228);
    }

    #[test]
    fn each_context_has_its_turn() {
        let tunnels = [1, 2].map(|n| Tunnel { teid: Teid(n.into()), address: Ipv4Addr::new(198, 18, 0, n) });
        let down = load(Way::Down, &tunnels).unwrap();
        let to: Vec<_> = down.datagrams.iter().map(|(to, octets)| (to.to_string(), octets.len())).collect();
        assert_eq!(to, [("198.18.0.1:7007".to_owned(), 200), ("198.18.0.2:7007".to_owned(), 200)]);
        let up = load(Way::Up, &tunnels).unwrap();
        assert!(up.datagrams.iter().all(|(to, _)| to.to_string() == "192.0.2.6:2152"));
    }
}
