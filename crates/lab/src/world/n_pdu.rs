//! The N-PDUs of the experiment: IPv4 packets that say whose they are and which, so that each is recognised at the
//! other end.

use core::net::Ipv4Addr;

/// Octets of each N-PDU: one LL-PDU each, also before longer ones are negotiated.
pub const LEN: usize = 476;
/// Octets of the IPv4 header.
const IP_HEADER_LEN: usize = 20;
/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;
/// The host behind the GGSN.
pub const HOST: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// Which N-PDU it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// The mobile's index.
    pub mobile: u32,
    /// How often the mobile attached before.
    pub round: u32,
    /// Its number in its direction.
    pub number: u32,
    /// From the mobile.
    pub uplink: bool,
}

/// The octets of an N-PDU between a mobile's address and the host.
#[must_use]
pub fn emit(label: Label, address: Ipv4Addr) -> Vec<u8> {
    let (source, destination) = if label.uplink { (address, HOST) } else { (HOST, address) };
    let mut octets = vec![0x45, 0];
    octets.extend(u16::try_from(LEN).unwrap_or(u16::MAX).to_be_bytes());
    octets.extend([0, 0, 0, 0, 64, PROTOCOL, 0, 0]);
    octets.extend(source.octets());
    octets.extend(destination.octets());
    let sum: u32 =
        octets.chunks(2).map(|pair| pair.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet))).sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or(u16::MAX);
    if let Some(checksum) = octets.get_mut(10..12) {
        checksum.copy_from_slice(&sum.to_be_bytes());
    }
    for number in [label.mobile, label.round, label.number, u32::from(label.uplink)] {
        octets.extend(number.to_be_bytes());
    }
    // The rest depends on the label, so that octets of another N-PDU do not pass for these.
    let seed = label.mobile.wrapping_mul(31).wrapping_add(label.number).wrapping_mul(7);
    let filler = (octets.len()..LEN).zip(0_u32..).map(|(_, n)| seed.wrapping_add(n).to_be_bytes()[3]);
    octets.extend(filler.collect::<Vec<u8>>());
    octets
}

/// The label of an N-PDU; `None` where its octets are not as they were sent.
#[must_use]
pub fn parse(octets: &[u8]) -> Option<Label> {
    let number = |at: usize| {
        let octets = octets.get(IP_HEADER_LEN + 4 * at..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*octets))
    };
    let label = Label { mobile: number(0)?, round: number(1)?, number: number(2)?, uplink: number(3)? == 1 };
    let end = if label.uplink { 12..16 } else { 16..20 };
    let address: [u8; 4] = octets.get(end)?.try_into().ok()?;
    (emit(label, Ipv4Addr::from(address)) == octets).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back_and_damage_is_seen() {
        let label = Label { mobile: 7, round: 2, number: 300, uplink: true };
        let mut octets = emit(label, Ipv4Addr::new(10, 0, 0, 7));
        assert_eq!(octets.len(), LEN);
        assert_eq!(parse(&octets), Some(label));
        octets[100] ^= 1;
        assert_eq!(parse(&octets), None);
    }
}
